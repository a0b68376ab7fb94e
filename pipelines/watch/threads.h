/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * threads.h: calls between the main thread and threads that may wait for a camera, a disk or the network. */
#ifndef PIPELINES_WATCH_THREADS_H
#define PIPELINES_WATCH_THREADS_H

#include <glib.h>

/* Calls the function in the main thread. */
void in_main (GSourceFunc function, gpointer data);
/* Calls the function in a thread of the pool, which has as many as are needed. */
void in_pool (void (*function) (gpointer data), gpointer data);

#endif
