/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * mjpeg.h: filtered pictures without an end, for other programs than the page. Main thread. */
#ifndef PIPELINES_WATCH_MJPEG_H
#define PIPELINES_WATCH_MJPEG_H

#include "watch.h"

#ifdef HAVE_SOUP
#include <libsoup/soup.h>

/* Answers with pictures of the camera, as long as it is up, the login holds, and the client takes them. */
void mjpeg_answer (Watch *watch, const char *camera, SoupServerMessage *message);
#endif

#endif
