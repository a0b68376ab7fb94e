/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * pipeline-private.h: the pipeline as pipeline.c, source.c, encode.c and snapshot.c share it. */
#ifndef PIPELINES_WATCH_PIPELINE_PRIVATE_H
#define PIPELINES_WATCH_PIPELINE_PRIVATE_H

#include "pipeline.h"

#include <stdatomic.h>

typedef struct Shot Shot;

/* A queue that drops frames when what follows is too slow. */
typedef struct {
  GstElement *queue;
  _Atomic guint64 arrived, taken; /* written by streaming threads */
  guint64 dropped;                /* of the main thread */
} PipelineQueue;

struct Pipeline {
  gatomicrefcount count;
  CameraSettings *settings;
  GstElement *bin, *head, *filter; /* bin: all of it */
  PipelineQueue input, encode;     /* encode.queue NULL: nothing is encoded */
  GstBus *bus;
  int gpu;
  GstStructure *size; /* of the filter's next frame, where it is another; of the thread behind the filter */

  /* The frames' running times; of the source's thread. */
  GstClockTime stamped; /* the last one, NONE: there was none */
  GstClockTime shift;   /* what is added to the source's own */
  gboolean turned;      /* they lie on their side */
  const char *exif;     /* how, as the last JPEG says; NULL: it does not */
  guint standing;       /* frames in a row whose time was not later than the last one */

  /* Written by streaming threads. */
  _Atomic guint64 unseen; /* bytes that came since the last picture */
  _Atomic guint senders;  /* that came since then */
  _Atomic guint64 frames;
  _Atomic gint64 last_frame;
  const char *_Atomic refused; /* the first kind of stream in it that is not decoded; NULL: none */

  /* The branch that encodes. */
  GstElement *encoder, *crop, *sink; /* NULL: there is none */
  gboolean on_gpu;
  gboolean unfit; /* the encoder does not take this size; of the thread behind the filter */
  PipelinePacketFunc packet;
  gpointer packet_data;
  gint64 last_key;       /* ns; of the appsink's thread */
  _Atomic int abandoned; /* it records nothing any more */
  _Atomic int draining;
  gboolean drained; /* all that was encoded has come out */
  GCond drain;

  GstElement *source; /* of single pictures over HTTP, which is asked again and again; NULL: of another kind */
  gint64 asked;       /* monotonic µs; guarded by `starting`, but for its first value */

  GMutex starting; /* held while the pipeline is started or stopped */
  gboolean ended;  /* it is stopped, and is not started any more */

  GMutex lock; /* of `shot` and `drained` */
  Shot *shot;  /* waits for a frame */
  _Atomic int wants_shot;
};

/* pipeline.c: adds an element. Returns NULL with a sentence if there is no such element. */
GstElement *pipeline_add (Pipeline *pipeline, const char *factory, const char *name, GString *wrong);
void pipeline_add_probe (GstElement *element, const char *pad_name, GstPadProbeType type, GstPadProbeCallback probe,
    gpointer data);
/* Counts what the queue drops. */
void pipeline_count_queue (PipelineQueue *queue);

/* source.c: what stands before the filter. It goes on behind `last`, and the source is linked to it. */
gboolean source_add_head (Pipeline *pipeline, GstElement **last, GString *wrong);
gboolean source_add (Pipeline *pipeline, GString *wrong);

/* encode.c: adds the branch that makes H.264 behind the tee. Where that cannot be, says why in `note`: the camera goes
 * on without. */
void pipeline_add_encoder (Pipeline *pipeline, const PipelinePlan *plan, GstElement *tee, GString *note);
/* Prepares the branch for frames of this size. Returns why they cannot be encoded (free it), or NULL. */
char *pipeline_fit_encoder (Pipeline *pipeline, int width, int height);
/* Has the encoder give what it holds back, and waits for that, half a second at most. */
void pipeline_drain_encoder (Pipeline *pipeline);

/* snapshot.c: takes the frame for the snapshot that waits. Called from a streaming thread. */
void pipeline_take_shot (Pipeline *pipeline, GstPad *pad, GstBuffer *buffer);

#endif
