/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * prune.h: deletes the pieces that a camera's settings do not keep. */
#ifndef PIPELINES_WATCH_PRUNE_H
#define PIPELINES_WATCH_PRUNE_H

#include "keep.h"

/* Deletes what `keep_days` and `keep_bytes` do not keep, in a thread of the pool, and posts the events. It looks at
 * regular files only, whose name is one that the recorder gives to files of this camera. The newest one stays. */
void prune_pieces (Keep *keep, CameraSettings *settings);

#endif
