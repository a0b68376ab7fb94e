/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfstats.c: the "stats" property. */
#include "gstcfstats.h"

#include <stdlib.h>
#include <string.h>

void
gst_cf_stats_init (GstCfStats *stats)
{
  memset (stats, 0, sizeof *stats);
  g_mutex_init (&stats->lock);
}

void
gst_cf_stats_clear (GstCfStats *stats)
{
  g_mutex_clear (&stats->lock);
  g_free (stats->gpu_error);
}

void
gst_cf_stats_reset (GstCfStats *stats)
{
  g_mutex_lock (&stats->lock);
  stats->frames_gpu = stats->frames_cpu = stats->frames_fallback = stats->frames_passed = 0;
  stats->bytes = stats->abandoned = 0;
  stats->estimates = FALSE;
  g_clear_pointer (&stats->gpu_error, g_free);
  for (int i = 0; i < GST_CF_N_TIMES; i++)
    stats->time[i].n = stats->time[i].sum = stats->time[i].max = 0;
  g_mutex_unlock (&stats->lock);
}

void
gst_cf_stats_frame (GstCfStats *stats, GstCfBy by, gsize bytes, const guint64 time[GST_CF_N_TIMES])
{
  g_mutex_lock (&stats->lock);
  stats->bytes += bytes;
  if (by == GST_CF_BY_GPU)
    stats->frames_gpu++;
  else if (by == GST_CF_PASSED)
    stats->frames_passed++;
  else
    stats->frames_cpu++;
  if (by == GST_CF_BY_FALLBACK)
    stats->frames_fallback++;
  for (int i = 0; i < GST_CF_N_TIMES; i++) {
    GstCfSeries *s = &stats->time[i];

    if (time[i] == 0)
      continue;
    s->last[s->n++ % GST_CF_STATS_KEPT] = time[i];
    s->sum += time[i];
    s->max = MAX (s->max, time[i]);
  }
  g_mutex_unlock (&stats->lock);
}

void
gst_cf_stats_noise (GstCfStats *stats, const gdouble noise[CF_NOISE_ZONES])
{
  g_mutex_lock (&stats->lock);
  stats->estimates = noise != NULL;
  if (noise)
    memcpy (stats->noise, noise, sizeof stats->noise);
  g_mutex_unlock (&stats->lock);
}

void
gst_cf_stats_abandon (GstCfStats *stats, guint n)
{
  g_mutex_lock (&stats->lock);
  stats->abandoned += n;
  g_mutex_unlock (&stats->lock);
}

void
gst_cf_stats_gpu_error (GstCfStats *stats, const gchar *message)
{
  g_mutex_lock (&stats->lock);
  if (!stats->gpu_error)
    stats->gpu_error = g_strdup (message);
  g_mutex_unlock (&stats->lock);
}

static int
compare (const void *a, const void *b)
{
  guint64 x = *(const guint64 *) a, y = *(const guint64 *) b;

  return x < y ? -1 : x > y;
}

/* Adds NAME-mean, NAME-p50, NAME-p99 and NAME-max, all 0 without measured times. */
static void
add_series (GstStructure *out, const gchar *name, const GstCfSeries *s)
{
  gsize n = MIN (s->n, GST_CF_STATS_KEPT);
  guint64 *sorted = n ? g_memdup2 (s->last, n * sizeof *sorted) : NULL;
  const struct {
    const gchar *what;
    guint64 value;
  } rows[] = {
    { "mean", s->n ? s->sum / s->n : 0 },
    { "p50", 0 },
    { "p99", 0 },
    { "max", s->max },
  };

  if (n)
    qsort (sorted, n, sizeof *sorted, compare);
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    gchar *field = g_strdup_printf ("%s-%s", name, rows[i].what);
    guint64 value = rows[i].value;

    if (n && i == 1)
      value = sorted[(n - 1) / 2];
    else if (n && i == 2)
      value = sorted[(n - 1) * 99 / 100];
    gst_structure_set (out, field, G_TYPE_UINT64, value, NULL);
    g_free (field);
  }
  g_free (sorted);
}

gboolean
gst_cf_stats_get_noise (GstCfStats *stats, gdouble noise[CF_NOISE_ZONES])
{
  gboolean estimates;

  g_mutex_lock (&stats->lock);
  estimates = stats->estimates;
  memcpy (noise, stats->noise, sizeof stats->noise);
  g_mutex_unlock (&stats->lock);
  return estimates;
}

void
gst_cf_stats_add_noise (GstStructure *out, const gchar *name, const gdouble noise[CF_NOISE_ZONES])
{
  GValue array = G_VALUE_INIT, value = G_VALUE_INIT;

  g_value_init (&array, GST_TYPE_ARRAY);
  g_value_init (&value, G_TYPE_DOUBLE);
  for (int z = 0; z < CF_NOISE_ZONES; z++) {
    g_value_set_double (&value, noise[z]);
    gst_value_array_append_value (&array, &value);
  }
  gst_structure_take_value (out, name, &array);
}

GstStructure *
gst_cf_stats_get (GstCfStats *stats)
{
  static const gchar *const names[GST_CF_N_TIMES] = { "upload", "kernel", "download", "total" };
  const CfGpuState gpu = cf_gpu_state ();
  CfStatus lost = { 0 };
  GstStructure *out;

  if (cf_gpu_lost ())
    cf_fail_lost (&lost);
  g_mutex_lock (&stats->lock);
  out = gst_structure_new ("cudafilters-stats", "frames", G_TYPE_UINT64,
      stats->frames_gpu + stats->frames_cpu + stats->frames_passed, "frames-gpu", G_TYPE_UINT64, stats->frames_gpu,
      "frames-cpu", G_TYPE_UINT64, stats->frames_cpu, "frames-fallback", G_TYPE_UINT64, stats->frames_fallback,
      "frames-passed", G_TYPE_UINT64, stats->frames_passed, "bytes", G_TYPE_UINT64, stats->bytes, "abandoned",
      G_TYPE_UINT64, stats->abandoned, "gpu-launches", G_TYPE_UINT64, gpu.launches, "gpu-allocations", G_TYPE_UINT64,
      gpu.allocations, NULL);
  if (stats->gpu_error || lost.message[0])
    gst_structure_set (out, "gpu-error", G_TYPE_STRING, stats->gpu_error ? stats->gpu_error : lost.message, NULL);
  if (stats->estimates)
    gst_cf_stats_add_noise (out, "noise-estimate", stats->noise);
  for (int i = 0; i < GST_CF_N_TIMES; i++)
    add_series (out, names[i], &stats->time[i]);
  g_mutex_unlock (&stats->lock);
  return out;
}
