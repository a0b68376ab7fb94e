/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * fmp4.h: H.264 as fragmented MP4 (ISO/IEC 14496-12), a fragment a frame, as browsers play it. No muxer does that
 * without a thread and a delay of its own. */
#ifndef PIPELINES_WATCH_FMP4_H
#define PIPELINES_WATCH_FMP4_H

#include <gst/base/gstbytewriter.h>
#include <gst/gst.h>

/* A frame's own duration is not known before the next one comes. One that does not wait for that says this one: longer
 * than a camera's gaps, since browsers skip to a key frame behind a frame that comes later than twice the duration. */
#define FMP4_DURATION GST_SECOND

/* Returns what browsers call the codec, "avc1.64001F", or NULL: the caps are not H.264 in the form "avc". Free it. */
char *fmp4_codec (const GstCaps *caps);
/* Appends what a stream begins with: the same caps as for fmp4_codec (). */
void fmp4_begin (GstByteWriter *out, const GstCaps *caps);
/* Appends the fragment of a frame but for its data, which has to follow. `number` rises with each; `dts` is the frame's
 * DTS or later. */
void fmp4_frame (GstByteWriter *out, guint32 number, GstClockTime dts, GstClockTime duration, GstBuffer *frame);
/* Returns the frame's data, which whoever sends it shares. Takes the frame. */
GBytes *fmp4_data (GstBuffer *frame);

#endif
