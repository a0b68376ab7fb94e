/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * look.h: reads files ahead, in a thread of the pool. The main thread, which all cameras share, sets the properties
 * that name them, and may not wait for a disk that does not answer. */
#ifndef PIPELINES_WATCH_LOOK_H
#define PIPELINES_WATCH_LOOK_H

#include <glib.h>

typedef struct Look Look;

/* Called in the main thread: with NULL when all have been read or are not there, or with what does not answer. */
typedef void (*LookDone) (const char *wrong, gpointer data);

/* Adds what may be a file's name: a value, or the values of a filter line. */
void look_add (GPtrArray *paths, const char *value);
void look_add_line (GPtrArray *paths, const char *line);
/* Begins to read them, one path or more, and takes the array. `done` is called later. */
Look *look_start (GPtrArray *paths, LookDone done, gpointer data);
/* Sees to it that `done` is not called. */
void look_cancel (Look *look);

#endif
