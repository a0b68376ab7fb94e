/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * keep.h: where a camera's pieces go, which of them this process writes or has written, and how long they stay. */
#ifndef PIPELINES_WATCH_KEEP_H
#define PIPELINES_WATCH_KEEP_H

#include "config.h"

typedef struct Keep Keep;

Keep *keep_new (void);
Keep *keep_ref (Keep *keep);
void keep_unref (Keep *keep);
/* Makes the folder if it is missing. Returns why nothing can be recorded there (free it), or NULL. A folder whose disk
 * was unmounted is refused. Any thread; waits for the disk. */
char *keep_check_folder (Keep *keep, const char *folder);
/* Say that a file is going to be made, and that it is finished. Between the two it is not deleted. Any thread. */
void keep_begin (Keep *keep, const char *file);
void keep_end (Keep *keep, const char *file);
/* Deletes what `keep_days` and `keep_bytes` do not keep, in a thread of the pool, and posts the events. It looks at
 * regular files only, whose name is one that the recorder gives to files of this camera. The newest one stays. */
void keep_prune (Keep *keep, CameraSettings *settings);

#endif
