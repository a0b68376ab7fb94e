/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * record.h: a camera's recorder: what moves, what is to be recorded, and the last seconds before it. It outlives the
 * camera's pipelines. The main thread calls all functions but recorder_packet (). */
#ifndef PIPELINES_WATCH_RECORD_H
#define PIPELINES_WATCH_RECORD_H

#include "config.h"
#include "hub.h"
#include "proof.h"

typedef struct Recorder Recorder;

Recorder *recorder_new (CameraSettings *settings, Hub *hub);
void recorder_unref (Recorder *recorder);
/* A PipelineTaker: puts the frame into the hub, and records it. */
gboolean recorder_packet (GstBuffer *buffer, GstCaps *caps, gint64 wall, gpointer recorder);
/* Sets what the command `record` says: a RecordWhen, -1: as the settings say. Returns FALSE if the camera has no
 * folder. */
gboolean recorder_set_when (Recorder *recorder, int when);
/* Returns what that is now, -1: as the settings say. */
int recorder_when (const Recorder *recorder);
/* Motion has begun or ended, as `by` says ("cudamedian", "motioncells"). */
void recorder_motion (Recorder *recorder, gboolean on, const char *by);
/* As if something had moved now. */
void recorder_trigger (Recorder *recorder);
/* Finishes the files and forgets what is held back, because the camera's pipeline has ended. `next`: the settings from
 * here on; NULL: nothing is recorded any more. */
void recorder_pause (Recorder *recorder, CameraSettings *next);
/* Returns whether files are still being finished. */
gboolean recorder_is_busy (Recorder *recorder);
/* Returns the camera's, which the recorder keeps. */
Proof *recorder_proof (Recorder *recorder);
/* Returns the status for JSON: mode, on, motion, file, pieces, dropped. */
JsonObject *recorder_status (Recorder *recorder);

#endif
