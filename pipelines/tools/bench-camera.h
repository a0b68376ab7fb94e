/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-camera.h: the two ends of a pipeline that is measured, and what they know
 * of each other. A GATE holds all cameras of a run back until all are ready, says
 * when frames begin to count and when it is over. FRAMES are made once in a
 * process for each kind of memory and shared by all cameras. */
#ifndef PIPELINES_TOOLS_BENCH_CAMERA_H
#define PIPELINES_TOOLS_BENCH_CAMERA_H

#include "bench.h"

#include <gst/video/video.h>

#define BENCH_FRAMES 256 /* different ones, at most */
#define BENCH_PRIMERS 3  /* frames before the gate: kernels get loaded, buffers made */
#define BENCH_WAITING 2  /* frames that a camera keeps while the pipeline is busy */
#define BENCH_RING 1024  /* frames under way that are remembered */

typedef struct {
  GMutex lock;
  GCond changed;
  gint open, over;  /* atomic to read, under the lock to write */
  gint counting;    /* atomic; flat out: frames that arrive count */
  gint ready;       /* atomic: cameras that have sent their primers */
  gint64 start;     /* us, monotonic: when it opened */
} BenchGate;

/* Different frames that sources send round and round. */
typedef struct {
  GstBuffer *frame[BENCH_FRAMES];
  int n;
  char memory[48];
} BenchFrames;

typedef struct {
  /* set before the start */
  BenchGate *gate;
  GstVideoInfo info;
  GstCaps *caps;
  BenchMemory memory;
  int gpu;                    /* that CUDA memory is on, where there are several */
  int wanted_frames;          /* so many different ones */
  int skew;                   /* with which of them it begins */
  guint64 interval;           /* ns, between two frames */
  gboolean real_time;
  guint64 phase;              /* ns: how much later than the gate its first frame is due */
  guint64 first, end;         /* real time: the frames that count */
  guint64 wanted;             /* flat out: how many count */

  /* the source's */
  const BenchFrames *frames;
  guint64 next;
  gint flushing; /* atomic */

  GMutex lock; /* of what follows */
  struct {
    guint64 index, time;
  } sent[BENCH_RING];
  GArray *latency; /* of guint64, ns */
  guint64 arrived, late, skipped;
  guint64 first_time, last_time; /* flat out: of arrivals */
} BenchCamera;

guint64 bench_now (void); /* ns */

GstElement *bench_source_new (BenchCamera *camera);
GstElement *bench_sink_new (BenchCamera *camera);

/* When the camera takes frame `index`, ns. */
guint64 bench_camera_due (const BenchCamera *camera, guint64 index);

/* bench-frames.c: frames like those of the pool, which may be NULL (plain memory),
 * from the cache or made now; NULL where they cannot be. They live as long as the
 * process. Any thread. */
const BenchFrames *bench_frames (const BenchCamera *camera, GstBufferPool *pool);

/* bench-picture.c: makes so many different pictures that look like a street
 * camera's, noise and all. FALSE if the format is none that it can fill. */
gboolean bench_pictures (const GstVideoInfo *info, GstBuffer **pictures, int n);

#endif
