/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * run.h: one pipeline of a camera, from its start to its end. A camera that is lost gets a new one.
 *
 *   source ! queue ! videoconvert ! FILTER ! tee ! fakesink
 *                                            tee ! queue ! videoconvert ! encoder ! h264parse ! appsink
 *
 * The second branch is there only where something is recorded. Whatever may wait for a camera happens in threads of a
 * pool; a run has two of them at most. */
#ifndef PIPELINES_WATCH_RUN_H
#define PIPELINES_WATCH_RUN_H

#include "config.h"

typedef struct Run Run;

/* An encoded frame: called from a streaming thread, with a buffer whose PTS is the running time, its caps, and the
 * time of day of the frame in µs. Returns whether a key frame is wanted now. */
typedef gboolean (*RunPacketFunc) (GstBuffer *buffer, GstCaps *caps, gint64 wall, gpointer data);

typedef struct {
  const CameraSettings *settings;
  int gpu;                   /* -1: none */
  gboolean software_encoder; /* the GPU's has failed */
  RunPacketFunc packet;      /* NULL: nothing is recorded */
  gpointer packet_data;      /* a GObject's or other counted reference is not taken: it outlives the run */
} RunPlan;

typedef struct {
  guint64 frames, dropped; /* after the filter; before it, since it was too slow */
  guint64 not_encoded;     /* for the recorder, since the encoder was too slow */
  gint64 last_frame;       /* monotonic µs, 0: none yet */
  int width, height;       /* of the filter's output, 0: none yet */
} RunCounts;

/* Messages on the pipeline's bus, of the type APPLICATION. */
#define RUN_FIRST_FRAME "cf-first-frame"
#define RUN_UNFIT "cf-unfit" /* reason: nothing is recorded at this size */
#define RUN_SIZE "cf-size"   /* width, height, format, rate */

/* Returns a pipeline that has not been started, or NULL with what is wrong. `note` receives what it does without. Main
 * thread. */
Run *run_new (const RunPlan *plan, GString *wrong, GString *note);
Run *run_ref (Run *run);
void run_unref (Run *run);
/* The pipeline's bus, and the bin of the filter line. They belong to the run. */
GstBus *run_bus (Run *run);
GstElement *run_filter (Run *run);
RunCounts run_counts (Run *run);
int run_gpu (Run *run);
/* Returns whether the object is an element of the filter line. */
gboolean run_is_filter_part (Run *run, GstObject *object);
/* Returns whether no part of the pipeline knows how long the stream is. */
gboolean run_is_endless (Run *run);
/* Returns whether the object is the encoder of the GPU, whose failure means that the CPU has to encode. */
gboolean run_is_gpu_encoder (Run *run, GstObject *object);
/* Returns whether the object is of the branch that encodes. */
gboolean run_is_recording_part (Run *run, GstObject *object);

typedef void (*RunDone) (Run *run, gpointer data);
/* Begins to start the pipeline; failures arrive on the bus. */
void run_start (Run *run);
/* Begins to stop it. `drained` is called when the recorder gets no more frames, and `done` when the pipeline has ended,
 * however late; both in the main thread. */
void run_stop (Run *run, RunDone drained, RunDone done, gpointer data);
/* Has one that does not end say and record nothing any more. */
void run_abandon (Run *run);

typedef void (*RunSnapshotDone) (const char *error, int width, int height, gpointer data);
/* Writes the next filtered frame as JPEG or PNG. `done` is called in the main thread, with what went wrong or NULL;
 * not before a frame has come, so the caller sets a deadline of its own and calls run_snapshot_cancel (). Returns FALSE
 * if one is under way. */
gboolean run_snapshot (Run *run, const char *path, gboolean overwrite, RunSnapshotDone done, gpointer data);
/* Forgets a snapshot that no frame has come for. Returns FALSE if there is none such: `done` will be called. */
gboolean run_snapshot_cancel (Run *run);

/* Calls the function in the main thread. */
void in_main (GSourceFunc function, gpointer data);
/* Calls the function in a thread of the pool, which has as many as are needed. */
void in_pool (void (*function) (gpointer data), gpointer data);

#endif
