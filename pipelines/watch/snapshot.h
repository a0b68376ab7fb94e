/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * snapshot.h: writes a frame of a camera as a picture. */
#ifndef PIPELINES_WATCH_SNAPSHOT_H
#define PIPELINES_WATCH_SNAPSHOT_H

#include "json.h"

/* Takes the answer, once. Called in the main thread. */
typedef void (*SnapshotAnswer) (gpointer from, JsonObject *answer);

/* Writes the next frame that leaves the filter as JPEG or PNG, and posts the event "snapshot" when the file is there.
 * Returns an error, or NULL: `answer` is called within 10 s, whatever the camera and the disk do. Main thread. */
JsonObject *snapshot_take (GstElement *filter, const char *camera, const char *file, gboolean overwrite,
    SnapshotAnswer answer, gpointer from);

#endif
