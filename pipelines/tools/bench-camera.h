/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-camera.h: a measured pipeline: source, filter line and sink, and their common data. A
 * START GATE holds the sources of a run back until all are ready; it also holds
 * whether frames count and whether the run is over. FRAMES are made once per process
 * for each kind of memory, and all cameras share them. */
#ifndef PIPELINES_TOOLS_BENCH_CAMERA_H
#define PIPELINES_TOOLS_BENCH_CAMERA_H

#include "bench.h"
#include "cf.h"

#include <gst/video/video.h>

#define BENCH_FRAMES 256 /* different frames, at most */
#define BENCH_PRIMERS 3  /* frames before the start gate; they load kernels and allocate buffers */
#define BENCH_WAITING 2  /* frames that a camera keeps while the pipeline is busy */
#define BENCH_RING 1024  /* frames under way whose sending time is stored */

typedef struct {
  GMutex lock;
  GCond changed;
  gint open, over; /* read atomically, written with the lock */
  gint counting;   /* atomic; not in real time: arriving frames count */
  gint ready;      /* atomic: cameras that have sent their primers */
  gint64 start;    /* us, monotonic: the time at which the gate opened */
} BenchStartGate;

/* Different frames that sources send in rotation. */
typedef struct {
  GstBuffer *frame[BENCH_FRAMES];
  int n;
  char memory[48];
} BenchFrames;

typedef struct {
  /* constant after the start */
  BenchStartGate *start_gate;
  GstVideoInfo info;
  GstCaps *caps;
  BenchMemory memory;
  int gpu;           /* the GPU of CUDA memory */
  const char *video; /* file of the frames; NULL: made ones */
  int wanted_frames; /* number of different frames */
  int skew;          /* index of the first of them */
  guint64 interval;  /* ns, between two frames */
  gboolean real_time;
  int regions;
  guint64 phase;      /* ns, from the opening of the start gate to the first frame */
  guint64 first, end; /* real time: the frames that count */
  guint64 wanted;     /* otherwise: the number of frames that count; 0: all */

  /* used by the source */
  const BenchFrames *frames;
  guint64 next;
  gint flushing; /* atomic */

  GMutex lock; /* of all members below */
  struct {
    guint64 index, time;
  } sent[BENCH_RING];
  GArray *latency; /* of guint64, ns */
  guint64 arrived, late, skipped;
  guint64 first_time, last_time; /* ns, of arrivals; not in real time */
} BenchCamera;

/* Returns the monotonic time in ns. */
guint64 bench_now (void);

GstElement *bench_source_new (BenchCamera *camera);
GstElement *bench_sink_new (BenchCamera *camera);

/* Returns the time in ns at which frame `index` is due. */
guint64 bench_camera_due (const BenchCamera *camera, guint64 index);

/* ---- bench-frames.c ---- */

/* Returns frames from the pool (NULL: plain memory). Frames of the same kind
 * are made once and kept until the process ends. Returns NULL on failure. Thread-safe. */
const BenchFrames *bench_frames (const BenchCamera *camera, GstBufferPool *pool);

/* Makes `n` images: different ones like those of a street camera, with noise; or those of a video file (not NULL).
 * Returns FALSE for formats that it cannot fill, and for files that cannot be read. */
gboolean bench_images (const GstVideoInfo *info, const char *video, GstBuffer **images, int n);

/* ---- bench-line.c: the filter line of a case: its bin, its properties, its stats ---- */

/* Returns the line's bin with the properties of the case for this camera; on failure returns NULL
 * and sets row->note and row->state. */
GstElement *bench_line_new (const BenchCase *c, int camera, BenchRow *row);
/* Returns a format that the bin takes: that of the case, or any of a baseline's. On failure returns
 * NULL and sets row->note and row->state. */
const char *bench_line_format (GstElement *bin, const BenchCase *c, BenchRow *row);

/* Returns the element's filter ("median" of cudamedian), or NULL. */
const CfFilter *bench_line_filter (GstElement *element);
/* Copies the element's properties that differ from their defaults; the filter adjusts others that depend on them.
 * Returns FALSE with a status. */
gboolean bench_line_params (GstElement *element, const CfFilter *filter, void *params, CfStatus *status);

/* The `stats` of this project's elements of a line, at the begin of the measurement and after it. */
typedef struct {
  GstElement *element[BENCH_ELEMENTS];
  BenchElement before[BENCH_ELEMENTS];
  int n;
} BenchStats;

void bench_stats_find (BenchStats *stats, GstElement *bin);
void bench_stats_begin (BenchStats *stats);
/* Fills row->element with the differences since bench_stats_begin(). */
void bench_stats_read (BenchStats *stats, BenchRow *row);
void bench_stats_clear (BenchStats *stats);

#endif
