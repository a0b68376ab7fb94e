/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * pipeline.h: one pipeline of a camera, from its start to its end. A camera that is lost gets a new one.
 *
 *   source ! queue ! videoconvert ! FILTER ! tee ! fakesink
 *                                            tee ! queue ! videoconvert ! encoder ! h264parse ! appsink
 *
 * The second branch is there only where something is recorded. Whatever may wait for a camera happens in threads of a
 * pool; a pipeline has two of them at most. */
#ifndef PIPELINES_WATCH_PIPELINE_H
#define PIPELINES_WATCH_PIPELINE_H

#include "config.h"

typedef struct Pipeline Pipeline;

/* An encoded frame: called from a streaming thread, with a buffer whose PTS is the running time, its caps, and the
 * time of day of the frame in µs. Returns whether a key frame is wanted now. */
typedef gboolean (*PipelinePacketFunc) (GstBuffer *buffer, GstCaps *caps, gint64 wall, gpointer data);

typedef struct {
  const CameraSettings *settings;
  int gpu;                   /* -1: none */
  gboolean software_encoder; /* the GPU's has failed */
  PipelinePacketFunc packet; /* NULL: nothing is recorded */
  gpointer packet_data;      /* a GObject's or other counted reference is not taken: it outlives the pipeline */
} PipelinePlan;

typedef struct {
  guint64 frames, dropped; /* after the filter; before it, since it was too slow */
  guint64 not_encoded;     /* for the recorder, since the encoder was too slow */
  gint64 last_frame;       /* monotonic µs, 0: none yet */
} PipelineCounts;

/* Messages on the pipeline's bus, of the type APPLICATION. */
#define PIPELINE_FIRST_FRAME "cf-first-frame"
#define PIPELINE_UNFIT "cf-unfit" /* reason: nothing is recorded at this size */
#define PIPELINE_SIZE "cf-size"   /* width, height, format, rate */

/* Returns a pipeline that has not been started, or NULL with what is wrong. `note` receives what it does without. Main
 * thread. */
Pipeline *pipeline_new (const PipelinePlan *plan, GString *wrong, GString *note);
Pipeline *pipeline_ref (Pipeline *pipeline);
void pipeline_unref (Pipeline *pipeline);
/* Its bus, and the bin of the filter line. They belong to the pipeline. */
GstBus *pipeline_bus (Pipeline *pipeline);
GstElement *pipeline_filter (Pipeline *pipeline);
PipelineCounts pipeline_counts (Pipeline *pipeline);
/* Returns whether the object is an element of the filter line. */
gboolean pipeline_is_filter_part (Pipeline *pipeline, GstObject *object);
/* Returns whether no part of the pipeline knows how long the stream is. */
gboolean pipeline_is_endless (Pipeline *pipeline);
/* Returns whether the object is the encoder of the GPU, whose failure means that the CPU has to encode. */
gboolean pipeline_is_gpu_encoder (Pipeline *pipeline, GstObject *object);
/* Returns whether the object is of the branch that encodes. */
gboolean pipeline_is_recording_part (Pipeline *pipeline, GstObject *object);

typedef void (*PipelineDone) (Pipeline *pipeline, gpointer data);
/* Begins to start the pipeline; failures arrive on the bus. */
void pipeline_start (Pipeline *pipeline);
/* Begins to stop it. `drained` is called when the recorder gets no more frames, and `done` when the pipeline has ended,
 * however late; both in the main thread. */
void pipeline_stop (Pipeline *pipeline, PipelineDone drained, PipelineDone done, gpointer data);
/* Has one that does not end say and record nothing any more. */
void pipeline_abandon (Pipeline *pipeline);

typedef void (*PipelineSnapshotDone) (const char *error, int width, int height, gpointer data);
/* Writes the next filtered frame as JPEG or PNG. `done` is called in the main thread, with what went wrong or NULL;
 * not before a frame has come, so the caller sets a deadline of its own and calls pipeline_snapshot_cancel (). Returns
 * FALSE if one is under way. */
gboolean
pipeline_snapshot (Pipeline *pipeline, const char *path, gboolean overwrite, PipelineSnapshotDone done, gpointer data);
/* Forgets a snapshot that no frame has come for. Returns FALSE if there is none such: `done` will be called. */
gboolean pipeline_snapshot_cancel (Pipeline *pipeline);

/* Calls the function in the main thread. */
void in_main (GSourceFunc function, gpointer data);
/* Calls the function in a thread of the pool, which has as many as are needed. */
void in_pool (void (*function) (gpointer data), gpointer data);

#endif
