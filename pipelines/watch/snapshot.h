/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * snapshot.h: makes a frame of a camera a picture, in a file or in memory. */
#ifndef PIPELINES_WATCH_SNAPSHOT_H
#define PIPELINES_WATCH_SNAPSHOT_H

#include "json.h"

/* Takes the answer, once. Called in the main thread. */
typedef void (*SnapshotAnswer) (gpointer from, JsonObject *answer);

/* Writes the next frame that enters the filter as JPEG or PNG, and posts the event "snapshot" when the file is there.
 * Returns an error, or NULL: `answer` is called within 10 s, whatever the camera and the disk do. Main thread. */
JsonObject *snapshot_take (GstElement *filter, const char *camera, const char *file, gboolean overwrite,
    SnapshotAnswer answer, gpointer from);

/* Takes the picture, a JPEG, or NULL with what is wrong, once. Called in the main thread. */
typedef void (*SnapshotPicture) (gpointer from, GBytes *picture, const char *wrong);

typedef enum {
  SNAPSHOT_LARGE,
  SNAPSHOT_SCALED, /* SNAPSHOT_SMALL wide */
  SNAPSHOT_PAIR,   /* the same frame before and after the filter: 4 bytes with the length of the first JPEG, most
                    * significant first, and the two JPEGs */
} SnapshotKind;

#define SNAPSHOT_SMALL 320 /* the width of a small picture, unless the frame is narrower */

/* Makes a frame a JPEG in memory: the next that enters the filter, so that what is set counts in it. Whoever asks
 * before that frame has come out gets the same picture, so that a camera has one of each kind under way at most,
 * whatever number asks. `done` is called later, within 15 s or so. Main thread. */
void snapshot_show (GstElement *filter, SnapshotKind kind, SnapshotPicture done, gpointer from);
/* What was set hides: whoever still waits for a picture in memory, or for the frame of a file, gets one of a frame that
 * has not entered the filter yet. */
void snapshot_renew (GstElement *filter);
/* Tells everybody who asks for a picture in memory that the filter is being stopped, so that nobody waits. */
void snapshot_stop (GstElement *filter);

#endif
