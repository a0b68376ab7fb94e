/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * hls.h: the frames of a hub as HLS (RFC 8216): a list, and segments of fragmented MP4. Main thread. */
#ifndef PIPELINES_WATCH_HLS_H
#define PIPELINES_WATCH_HLS_H

#include "hub.h"

#define HLS_LIST "index.m3u8"

/* Returns the parts of a file of the stream, each a GBytes; NULL: there is no such file (any more), or not yet. While
 * the list is asked for now and then, the hub keeps what it names. */
GPtrArray *hls_file (Hub *hub, const char *file);

#endif
