/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * keep.h: where a camera's pieces go, and which of them this process writes or has written. */
#ifndef PIPELINES_WATCH_KEEP_H
#define PIPELINES_WATCH_KEEP_H

#include "config.h"

typedef struct Keep Keep;

Keep *keep_new (void);
Keep *keep_ref (Keep *keep);
void keep_unref (Keep *keep);
/* Makes the folder if it is missing. Returns why nothing can be recorded there (free it), or NULL. Nothing goes into
 * the place of a disk that was mounted and is not any more. It may wait for a disk; any thread. */
char *keep_check_folder (Keep *keep, const char *folder);
/* A file is going to be made, and is not written any more. Between the two it is not deleted. Any thread. */
void keep_begin (Keep *keep, const char *file);
void keep_end (Keep *keep, const char *file);
/* Is the file being written? `begun` gets the monotonic time of keep_begin () in µs; 0: it is from an earlier process.
 * Any thread. */
gboolean keep_is_open (Keep *keep, const char *file, gint64 *begun);
/* Forgets a file that was deleted; NULL: all that are not written any more. Any thread. */
void keep_forget (Keep *keep, const char *file);
/* Notes what prune.c has found out about the clock, 0 at first. Returns whether that has changed. Main thread. */
gboolean keep_note_clock (Keep *keep, int clock);

#endif
