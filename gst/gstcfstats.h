/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfstats.h: counts and times of the frames, from start to stop. */
#ifndef GST_CF_STATS_H
#define GST_CF_STATS_H

#include <gst/gst.h>

G_BEGIN_DECLS

typedef enum { GST_CF_UPLOAD, GST_CF_KERNEL, GST_CF_DOWNLOAD, GST_CF_TOTAL, GST_CF_N_TIMES } GstCfTime;

/* Percentiles are over this many of the last frames, mean and maximum over all. */
#define GST_CF_STATS_KEPT 1024

typedef struct {
  guint64 n, sum, max;
  guint64 last[GST_CF_STATS_KEPT];
} GstCfSeries;

typedef struct {
  GMutex lock;
  guint64 frames_gpu, frames_cpu;
  guint64 frames_fallback; /* of the CPU's: those that the GPU failed on */
  guint64 frames_passed;   /* went through as they were */
  guint64 bytes;
  guint64 abandoned; /* buffers and streams given up to a GPU that did not answer */
  GstCfSeries time[GST_CF_N_TIMES];
} GstCfStats;

typedef enum { GST_CF_BY_GPU, GST_CF_BY_CPU, GST_CF_BY_FALLBACK, GST_CF_PASSED } GstCfBy;

void gst_cf_stats_init (GstCfStats *stats);
void gst_cf_stats_clear (GstCfStats *stats);
/* From zero again. */
void gst_cf_stats_reset (GstCfStats *stats);
/* One frame more: who made it, its bytes, its times in ns (0 = did not happen). */
void gst_cf_stats_frame (GstCfStats *stats, GstCfBy by, gsize bytes, const guint64 time[GST_CF_N_TIMES]);
void gst_cf_stats_abandon (GstCfStats *stats, guint n);
GstStructure *gst_cf_stats_get (GstCfStats *stats);

G_END_DECLS
#endif
