/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * pipeline.h: one pipeline of a camera, from its start to its end. A camera that is lost gets a new one.
 *
 *   source ! queue ! videoconvert ! FILTER ! tee ! fakesink
 *                                            tee ! queue ! videoconvert ! encoder ! h264parse ! appsink
 *
 * The second branch is there only if the camera is recorded or shown to viewers. Its encoded frames go to the recorder,
 * and by the hub to all viewers. Whatever may wait for a camera or a disk happens in threads of a pool.
 *
 * Without a filter line nothing has to be decoded for that. If the source has H.264 or H.265, its own packets pass:
 *
 *   source ! queue ! identity ! tee ! fakesink
 *                               tee ! h264parse ! appsink
 *
 * With a filter line this pipeline is never made. */
#ifndef PIPELINES_WATCH_PIPELINE_H
#define PIPELINES_WATCH_PIPELINE_H

#include "config.h"

typedef struct Pipeline Pipeline;

/* Takes an encoded frame: a buffer whose PTS and DTS are running times, its caps, and its time of day in µs. Called
 * from a streaming thread. Returns whether it wants a key frame now. */
typedef gboolean (*PipelineTaker) (GstBuffer *buffer, GstCaps *caps, gint64 wall, gpointer data);

typedef struct {
  const CameraSettings *settings;
  int gpu;                   /* -1: none */
  gboolean software_encoder; /* the GPU's has failed */
  gboolean encodes;          /* there may be takers */
  gboolean own;              /* which get the camera's own packets, if it has such; there is no filter line */
} PipelinePlan;

typedef struct {
  guint64 frames, dropped; /* that left the filter, or packets; that were dropped before it, since it was too slow */
  guint64 not_encoded;     /* dropped before the encoder, since it was too slow */
  gint64 last_frame;       /* monotonic µs, 0: none yet */
} PipelineCounts;

/* Messages on the pipeline's bus, of the type APPLICATION. */
#define PIPELINE_FIRST_FRAME "cf-first-frame"
#define PIPELINE_UNFIT "cf-unfit"           /* reason: nothing is recorded at this size */
#define PIPELINE_SIZE "cf-size"             /* width, height, format, rate */
#define PIPELINE_NO_ENCODER "cf-no-encoder" /* reason: nothing can be recorded */
#define PIPELINE_NO_SOUND "cf-no-sound"     /* reason: the camera's sound is not passed on */
#define PIPELINE_NO_PACKETS "cf-no-packets" /* the camera's own packets cannot pass after all */

/* Returns a pipeline that has not been started, or NULL with what is wrong. `note` says why it lacks an encoder that it
 * was to have. Main thread. */
Pipeline *pipeline_new (const PipelinePlan *plan, GString *wrong, GString *note);
void pipeline_unref (Pipeline *pipeline);
/* Do the camera's own packets pass, and no pictures? */
gboolean pipeline_has_packets (Pipeline *pipeline);
/* Its bus, and the bin of the filter line. They belong to the pipeline. */
GstBus *pipeline_bus (Pipeline *pipeline);
GstElement *pipeline_filter (Pipeline *pipeline);
PipelineCounts pipeline_counts (Pipeline *pipeline);
/* Returns whether no part of the pipeline knows how long the stream is. */
gboolean pipeline_is_endless (Pipeline *pipeline);
typedef enum {
  PART_OTHER,
  PART_FILTER,      /* an element of the filter line */
  PART_GPU_ENCODER, /* the encoder of the GPU: where it fails, the CPU has to encode */
  PART_ENCODING,    /* anything else of the branch that encodes */
} PipelinePart;

/* Returns where in the pipeline the object, which may be NULL, stands. */
PipelinePart pipeline_part_of (Pipeline *pipeline, GstObject *object);

typedef void (*PipelineDone) (Pipeline *pipeline, gpointer data);
/* Begins to start the pipeline; failures arrive on the bus. */
void pipeline_start (Pipeline *pipeline);
/* Begins to stop it. `drained` is called when the takers get no more frames (at once, where packets pass), and `done`
 * when the pipeline has ended, however late; both in the main thread. */
void pipeline_stop (Pipeline *pipeline, PipelineDone drained, PipelineDone done, gpointer data);
/* Drops the bus messages of a pipeline that does not end. */
void pipeline_abandon (Pipeline *pipeline);

/* Gives the taker each frame that is encoded from now on. Takers may come and go at any time. When
 * pipeline_remove_taker () returns, no call of the taker is under way, and none follows. */
void pipeline_add_taker (Pipeline *pipeline, PipelineTaker taker, gpointer data);
void pipeline_remove_taker (Pipeline *pipeline, gpointer data);

#endif
