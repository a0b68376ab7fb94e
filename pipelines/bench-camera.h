/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-camera.h: the two ends of a pipeline that is measured, and what they know
 * of each other. A GATE holds all cameras of a run back until all are ready, says
 * when frames begin to count and when it is over. */
#ifndef BENCH_CAMERA_H
#define BENCH_CAMERA_H

#include <gst/video/video.h>

#define BENCH_FRAMES 256 /* different ones, at most */
#define BENCH_PRIMERS 3  /* frames before the gate: kernels get loaded, buffers made */
#define BENCH_WAITING 2  /* frames that a camera keeps while the pipeline is busy */
#define BENCH_RING 1024  /* frames under way that are remembered */

typedef struct {
  GMutex lock;
  GCond changed;
  gboolean open, over;
  gint counting;    /* atomic; flat out: frames that arrive count */
  gint ready;       /* atomic: cameras that have sent their primers */
  gint64 start;     /* us, monotonic: when it opened */
} BenchGate;

typedef struct {
  /* set before the start */
  BenchGate *gate;
  GstVideoInfo info;
  GstCaps *caps;
  gboolean plain;
  GstBuffer *const *pictures; /* the frames, in plain memory */
  int n_pictures;
  guint64 interval;           /* ns, between two frames */
  gboolean real_time;
  guint64 phase;              /* ns: how much later than the gate its first frame is due */
  guint64 first, end;         /* real time: the frames that count */
  guint64 wanted;             /* flat out: how many count */

  /* the source's */
  GstBuffer *frame[BENCH_FRAMES];
  int n_frames;
  guint64 next;
  char memory[48];

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

/* bench-picture.c: makes so many different pictures that look like a street
 * camera's, noise and all. FALSE if the format is none that it can fill. */
gboolean bench_pictures (const GstVideoInfo *info, GstBuffer **pictures, int n);

#endif
