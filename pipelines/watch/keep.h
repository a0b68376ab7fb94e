/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * keep.h: deletes a camera's oldest pieces. */
#ifndef PIPELINES_WATCH_KEEP_H
#define PIPELINES_WATCH_KEEP_H

#include "config.h"

/* Deletes what `keep_days` and `keep_bytes` do not keep, in a thread of the pool. Only regular files with a name that
 * the recorder gives to files of this camera are looked at, and not those that are `open`. `deleted` is called for each
 * file, then `done`, in the main thread. */
void keep_prune (CameraSettings *settings, GPtrArray *open,
    void (*deleted) (const char *file, guint64 bytes, const char *reason, gpointer data), GDestroyNotify done,
    gpointer data);

#endif
