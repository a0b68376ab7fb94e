/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * stats.c: what the property `stats` makes of known times, with the base class linked into the program: a machine that
 * is busy changes nothing. */
#include "common.h"
#include "gstcfstats.h"

#include <string.h>

static void
expect_field (GstCfStats *stats, const gchar *name, guint64 right)
{
  GstStructure *all = gst_cf_stats_get (stats);
  guint64 value = 0;

  fail_unless (gst_structure_get_uint64 (all, name, &value), "stats have no %s", name);
  fail_unless (value == right, "%s is %" G_GUINT64_FORMAT ", not %" G_GUINT64_FORMAT, name, value, right);
  gst_structure_free (all);
}

/* Counts frames whose times are `first` to `first` + n - 1, mixed. `n` and 7 have no common divisor. */
static void
count_frames (GstCfStats *stats, GstCfTime which, guint64 first, guint64 n)
{
  for (guint64 i = 0; i < n; i++) {
    guint64 time[GST_CF_N_TIMES] = { 0 };

    time[which] = first + i * 7 % n;
    gst_cf_stats_frame (stats, GST_CF_BY_CPU, 10, time);
  }
}

/* A frame without a time does not count there. */
GST_START_TEST (times)
{
  static const gchar *const fields[] = { "upload", "kernel", "download", "total" };
  static const gchar *const kinds[] = { "mean", "p50", "p99", "max" };

  for (guint which = 0; which < GST_CF_N_TIMES; which++) {
    GstCfStats stats;

    gst_cf_stats_init (&stats);
    count_frames (&stats, which, 1, 100);
    for (guint i = 0; i < GST_CF_N_TIMES; i++)
      for (guint k = 0; k < G_N_ELEMENTS (kinds); k++) {
        static const guint64 right[] = { 50, 50, 99, 100 };
        gchar *name = g_strdup_printf ("%s-%s", fields[i], kinds[k]);

        expect_field (&stats, name, i == which ? right[k] : 0);
        g_free (name);
      }
    gst_cf_stats_clear (&stats);
  }
}
GST_END_TEST

/* Percentiles are of the last frames; mean and maximum of all. */
GST_START_TEST (many_frames)
{
  GstCfStats stats;

  gst_cf_stats_init (&stats);
  count_frames (&stats, GST_CF_TOTAL, 5000, 1);
  expect_field (&stats, "total-p99", 5000);
  count_frames (&stats, GST_CF_TOTAL, 1, GST_CF_STATS_KEPT);
  expect_field (&stats, "total-p50", 512);
  expect_field (&stats, "total-p99", 1013);
  expect_field (&stats, "total-max", 5000);
  expect_field (&stats, "total-mean", (5000 + 1024 * 1025 / 2) / 1025);
  gst_cf_stats_reset (&stats);
  expect_field (&stats, "total-max", 0);
  expect_field (&stats, "total-p99", 0);
  count_frames (&stats, GST_CF_TOTAL, 7, 1);
  expect_field (&stats, "total-max", 7);
  expect_field (&stats, "total-p50", 7);
  expect_field (&stats, "total-mean", 7);
  gst_cf_stats_clear (&stats);
}
GST_END_TEST

GST_START_TEST (counts)
{
  static const guint64 none[GST_CF_N_TIMES];
  static const guint n[] = { [GST_CF_BY_GPU] = 5, [GST_CF_BY_CPU] = 3, [GST_CF_BY_FALLBACK] = 2, [GST_CF_PASSED] = 7 };
  static const struct {
    const gchar *name;
    guint64 right;
  } rows[] = { { "frames", 17 }, { "frames-gpu", 5 }, { "frames-cpu", 5 }, { "frames-fallback", 2 },
    { "frames-passed", 7 }, { "bytes", 170 }, { "abandoned", 4 } };
  GstCfStats stats;

  gst_cf_stats_init (&stats);
  for (guint by = 0; by < G_N_ELEMENTS (n); by++)
    for (guint i = 0; i < n[by]; i++)
      gst_cf_stats_frame (&stats, by, 10, none);
  gst_cf_stats_abandon (&stats, 1);
  gst_cf_stats_abandon (&stats, 3);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    expect_field (&stats, rows[i].name, rows[i].right);
  gst_cf_stats_reset (&stats);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    expect_field (&stats, rows[i].name, 0);
  gst_cf_stats_clear (&stats);
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("stats");

  gst_init (&argc, &argv);
  tcase_add_test (tests, times);
  tcase_add_test (tests, many_frames);
  tcase_add_test (tests, counts);
  return run_suite (argc, argv, "stats", tests, FALSE);
}
