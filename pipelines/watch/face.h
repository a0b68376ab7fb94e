/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * face.h: shows how much of a face a filter's setting leaves. No camera's picture is in it. Main thread. */
#ifndef PIPELINES_WATCH_FACE_H
#define PIPELINES_WATCH_FACE_H

#include "snapshot.h"

#define FACE_LEAST 16 /* pixels that a face is wide */
#define FACE_MOST 256

/* Makes a JPEG of a drawn face, `width` pixels wide, and beside it the same face as an area that an element of this
 * kind filters, on the CPU, with the same settings but for its regions. Returns FALSE if it has no presets for areas;
 * else `done` is called later. */
gboolean face_show (GstElement *element, guint width, SnapshotPicture done, gpointer from);

#endif
