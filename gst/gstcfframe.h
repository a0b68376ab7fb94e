/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfframe.h: a buffer mapped as a picture of the filter library, with every
 * plane proven to lie inside its memory. */
#ifndef GST_CF_FRAME_H
#define GST_CF_FRAME_H

#include "cf.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

typedef struct {
  CfImage image;
  GstBuffer *buffer;
  GstVideoMeta *meta;
  guint n_maps;
  GstMapInfo map[CF_MAX_PLANES];
} GstCfFrame;

/* Maps `buffer`, which has the caps of `info`. Flags: read or write, with
 * GST_CF_MAP_CUDA for device addresses. Offsets and strides come from the
 * GstVideoMeta where there is one; a meta larger than the caps is cropped to
 * them (by the GstVideoCropMeta if that has the caps' size). FALSE and a
 * sentence in `status` where a plane does not fit its memory. */
gboolean gst_cf_frame_map (GstCfFrame *frame, GstBuffer *buffer, const GstVideoInfo *info, CfFormat format,
    GstMapFlags flags, CfStatus *status);
void gst_cf_frame_unmap (GstCfFrame *frame);

/* Is the meta's picture larger than the caps', so that mapping crops it? */
gboolean gst_cf_frame_crops (GstBuffer *buffer, const GstVideoInfo *info);

G_END_DECLS
#endif
