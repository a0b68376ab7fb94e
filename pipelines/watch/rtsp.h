/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * rtsp.h: limits for RTSP servers. */
#ifndef PIPELINES_WATCH_RTSP_H
#define PIPELINES_WATCH_RTSP_H

/* Breaks the connections to servers whose message has no end. Call it once a second. */
void rtsp_check (void);

#endif
