/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * onefilter.h: one cudamedian between two pads of the test, on the fake GPU. Each frame that comes is compared with
 * that of the CPU backend. */
#ifndef ONEFILTER_H
#define ONEFILTER_H

#include "elements/stats.h"
#include "common.h"
#include "fake.h"

#define WIDTH 8
#define HEIGHT 16
#define SIZE (WIDTH * HEIGHT * 3 / 2)
#define CONTENTS 4 /* different frames */
#define SECOND G_GUINT64_CONSTANT (1000000000)

typedef struct {
  GstElement *element;
  GstPad *src, *sink; /* of the neighbours */
  GstBus *bus;
  gboolean started;
  int size; /* kernel-size */
  int sent, came, right;
  GstBufferPool *pool; /* of CUDA memory; NULL: frames are in system memory */
} Filter;

/* Learns the frames of the CPU backend. First of all. */
void learn (void);

/* Makes an element and sets it to PLAYING; `started` says whether that went well. */
void open_filter (Filter *f, const gchar *backend, gint device, gint in_flight);
/* Pushes the events before the first frame. `feature`: "" or "(memory:CUDAMemory)". */
void begin_stream (Filter *f, const gchar *feature);
void push_caps (Filter *f, const gchar *feature, int rate);
/* Opens an element, which has to start, for frames in system memory. */
void start (Filter *f, const gchar *backend, gint device, gint in_flight);
/* Stops the element. Checks the frames, and the messages: how many, and that the first one contains `text`. */
void stop (Filter *f, int errors, int warnings, const gchar *text);

/* A query function of `sink`: takes frames in CUDA memory. */
gboolean accept_cuda (GstPad *pad, GstObject *parent, GstQuery *query);
/* Returns a pool of CUDA memory, and the next frame in a buffer of it. */
GstBufferPool *open_pool (GstObject *context);
GstBuffer *frame_from (Filter *f, GstBufferPool *pool);
GstFlowReturn push_frames (Filter *f, int n);
/* Waits for the frames under way. */
void drain (Filter *f);
/* The same, and returns how many frames the GPU has filtered. */
guint64 on_gpu (Filter *f);
void set_size (Filter *f, int size);
/* A frame of the element hangs; it is filtered on the CPU. */
void hang (Filter *f);
/* Checks that no call was made that must not be, and has the GPU go on. */
void check_calls (void);

#endif
