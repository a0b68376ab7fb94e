/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * parts.h: the element "cf-watch-parts", which finds the JPEGs in what a camera sends over HTTP: the parts of a
 * multipart/x-mixed-replace, or one JPEG behind the other. uridecodebin takes it before multipartdemux, which is
 * particular about headers and can be brought to crash. */
#ifndef PIPELINES_WATCH_PARTS_H
#define PIPELINES_WATCH_PARTS_H

#include <gst/gst.h>

/* Makes the element, and the type that it reads, known to this process. */
void parts_register (void);

/* Called from the streaming thread at the end of the stream. */
typedef void (*PartsEnd) (gpointer data);
/* Has the element keep its output open at the end of its input, and call the function: the source is started again, and
 * what it sends then goes on in the same stream. */
void parts_keep_open (GstElement *parts, PartsEnd end, gpointer data);

#endif
