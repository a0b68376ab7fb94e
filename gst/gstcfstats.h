/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfstats.h: counts and times of the frames between start and stop, and the GPU's first failure: the "stats"
 * property. */
#ifndef GST_CF_STATS_H
#define GST_CF_STATS_H

#include "cf.h"

#include <gst/gst.h>

G_BEGIN_DECLS

typedef enum { GST_CF_UPLOAD, GST_CF_KERNEL, GST_CF_DOWNLOAD, GST_CF_TOTAL, GST_CF_N_TIMES } GstCfTime;

/* Percentiles cover this many last frames, mean and maximum all frames. */
#define GST_CF_STATS_KEPT 1024

typedef struct {
  guint64 n, sum, max;
  guint64 last[GST_CF_STATS_KEPT];
} GstCfSeries;

typedef struct {
  GMutex lock;
  guint64 frames_gpu, frames_cpu;
  guint64 frames_fallback; /* part of frames_cpu: frames on which the GPU failed */
  guint64 frames_passed;   /* passed unchanged */
  guint64 bytes;
  guint64 abandoned;  /* buffers and streams given up because the GPU hung */
  gboolean estimates; /* a filter has estimated the noise */
  gdouble noise[CF_NOISE_ZONES];
  gchar *gpu_error; /* NULL, or how the GPU failed this element first */
  GstCfSeries time[GST_CF_N_TIMES];
} GstCfStats;

typedef enum { GST_CF_BY_GPU, GST_CF_BY_CPU, GST_CF_BY_FALLBACK, GST_CF_PASSED } GstCfBy;

void gst_cf_stats_init (GstCfStats *stats);
void gst_cf_stats_clear (GstCfStats *stats);
/* Sets all counts and times to zero. */
void gst_cf_stats_reset (GstCfStats *stats);
/* Counts a frame: where it was filtered, its bytes, its times in ns (0: not measured). */
void gst_cf_stats_frame (GstCfStats *stats, GstCfBy by, gsize bytes, const guint64 time[GST_CF_N_TIMES]);
/* Notes the noise that a filter has estimated; NULL: it does not estimate. */
void gst_cf_stats_noise (GstCfStats *stats, const gdouble noise[CF_NOISE_ZONES]);
/* Returns it, or FALSE where none has. */
gboolean gst_cf_stats_get_noise (GstCfStats *stats, gdouble noise[CF_NOISE_ZONES]);
/* Adds it to a structure, an array of numbers, the darkest zone first. */
void gst_cf_stats_add_noise (GstStructure *out, const gchar *name, const gdouble noise[CF_NOISE_ZONES]);
/* Counts `n` buffers or streams that were given up. */
void gst_cf_stats_abandon (GstCfStats *stats, guint n);
/* Notes how the GPU failed, unless it has failed before. */
void gst_cf_stats_gpu_error (GstCfStats *stats, const gchar *message);
/* Returns the value of the "stats" property. */
GstStructure *gst_cf_stats_get (GstCfStats *stats);

G_END_DECLS
#endif
