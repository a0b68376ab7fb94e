/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * properties_median.c: the table of cudamedian. */
#include "properties.h"

static const Setting good_start[] = { { "kernel-size", "5" }, { "kernel-width", "5" }, { "kernel-height", "5" },
  { "temporal-depth", "5" }, { "temporal-center", "true" }, { "zones", "" }, { NULL } };

static const Setting good[] = { { "kernel-size", "5" }, { NULL } };

/* The history of a deeper window takes every frame. In formats of 10 and 12 bits, values that are too large are
 * clamped. */
static const Pass passes[] = { { NULL, "the defaults", FALSE }, { "kernel-size", "1", TRUE },
  { "percentile", "100", TRUE }, { "kernel-height", "3", FALSE }, { "kernel-height", "0", TRUE },
  { "temporal-depth", "3", FALSE }, { "temporal-depth", "1", TRUE }, { "kernel-size", "5", FALSE },
  { "threshold", "254", FALSE }, { "threshold", "255", TRUE }, { "temporal-depth", "3", FALSE, TRUE },
  { "temporal-depth", "1", TRUE }, { "caps", "P012_LE", FALSE }, { "threshold", "65535", FALSE },
  { "caps", "GRAY16_LE", TRUE }, { "threshold", "65534", FALSE }, { "caps", "RGBP", TRUE },
  { "color-order", "packed", TRUE }, { "threshold", "254", FALSE }, { "kernel-size", "1", TRUE },
  { "color-order", "per-channel", TRUE }, { "caps", "I420_10LE", FALSE }, { "caps", "GRAY8", TRUE },
  { "kernel-size", "3", FALSE }, { "apply-to", "chroma", TRUE }, { "caps", "A420", FALSE }, { NULL } };

static const Bad bad[] = { { "kernel-size", "4" }, { "kernel-width", "2" }, { "kernel-height", "254" },
  { "temporal-depth", "2" }, { "zones", "door: 0,0 1,1" }, { "zones", "0,0 1,0 1,1" },
  { "color-order", "packed", NULL, "NV12" }, { "color-order", "packed", NULL, "GRAY8" },
  { "color-order", "packed", NULL, "AYUV" }, { "apply-to", "luma", NULL, "RGB" },
  { "apply-to", "chroma", NULL, "xBGR" }, { NULL } };

static void
show (GstHarness *h, const GstVideoInfo *info, const Refusal *r, guint n)
{
  Expect e = EXPECT (n < 2 ? 3 : 5);

  (void) r;
  expect_filtered (h, info, random_frame (info, n + 1, 0), &e);
}

GST_START_TEST (median_changes)
{
  static const gint sizes[] = { 3, 5, 1, 13, 31, 3 };
  GstElement *element = new_element (NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "NV12", 23, 15, &info);
  Expect e = EXPECT (3);

  for (gsize i = 0; i < G_N_ELEMENTS (sizes); i++) {
    g_object_set (element, "kernel-size", sizes[i], "percentile", (gint) i * 20, NULL);
    e.width = e.height = sizes[i];
    e.percentile = (gint) i * 20;
    expect_filtered (h, &info, random_frame (&info, (guint) i, 0), &e);
  }
  g_object_set (element, "kernel-size", 3, "percentile", 50, NULL);
  gst_util_set_object_arg (G_OBJECT (element), "apply-to", "luma");
  e = (Expect) EXPECT (3);
  e.chroma = FALSE;
  expect_filtered (h, &info, random_frame (&info, 9, 0), &e);
  /* A new depth clears the history. */
  g_object_set (element, "temporal-depth", 3, NULL);
  e.depth = 3;
  expect_filtered (h, &info, random_frame (&info, 10, 0), &e);
  g_object_set (element, "temporal-depth", 1, NULL);
  e.depth = 1;
  expect_filtered (h, &info, random_frame (&info, 11, 0), &e);
  expect_no_messages (element);
  close_harness (h, 3 + G_N_ELEMENTS (sizes));
}
GST_END_TEST

GST_START_TEST (statistics)
{
  static const gchar *const times[] = { "kernel", "total" };
  GstElement *element = new_element (NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "NV12", 32, 16, &info);
  Expect e = EXPECT (3);

  for (guint i = 0; i < 20; i++)
    expect_filtered (h, &info, random_frame (&info, i, 0), &e);
  fail_unless_equals_uint64 (stat_of (element, "bytes"), 20 * 32 * 16 * 3 / 2);
  for (gsize i = 0; i < G_N_ELEMENTS (times); i++) {
    static const gchar *const order[] = { "p50", "p99", "max" };
    guint64 last = 0;

    for (gsize j = 0; j < G_N_ELEMENTS (order); j++) {
      gchar *name = g_strdup_printf ("%s-%s", times[i], order[j]);

      fail_unless (stat_of (element, name) >= last && stat_of (element, name) > 0, "%s", name);
      last = stat_of (element, name);
      g_free (name);
    }
  }
  close_harness (h, 20);
}
GST_END_TEST

/* 25 % of the way from rank 0 to rank 2 is rank 0.5, which is rounded up. */
GST_START_TEST (rank_at_a_half)
{
  GstVideoInfo info;
  GstHarness *h = new_stream (new_element ("kernel-width", "3", "kernel-height", "1", "percentile", "25", NULL),
      "GRAY8", 4, 1, &info);

  expect_samples (h, &info, ramp, (const guint8[4]) { 10, 20, 30, 41 }, "percentile");
  close_harness (h, 1);
}
GST_END_TEST

GST_START_TEST (enabled)
{
  GstElement *element = new_element ("kernel-size", "3", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "NV12", 64, 48, &info);
  Expect median = EXPECT (3);
  GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), "enabled");

  fail_unless (spec->flags & GST_PARAM_CONTROLLABLE);
  for (guint i = 0; i < 12; i++) {
    GstBuffer *in = random_frame (&info, i, 0), *copy = gst_buffer_copy_deep (in), *out;
    const gboolean on = i / 3 % 2 == 0;

    set_value (element, "enabled", on ? "true" : "false");
    out = push_pull (h, in);
    fail_unless ((out == in) == !on);
    if (on)
      assert_filtered (&info, out, &copy, 1, &median);
    else
      assert_same (&info, out, copy);
    gst_buffer_unref (copy);
    gst_buffer_unref (out);
  }
  fail_unless_equals_uint64 (stat_of (element, "frames-passed"), 6);
  fail_unless_equals_uint64 (stat_of (element, "bytes"), 12 * GST_VIDEO_INFO_SIZE (&info));
  expect_no_messages (element);
  close_harness (h, 12);
}
GST_END_TEST

/* Frames from before those that passed are no history of later ones. */
GST_START_TEST (enabled_again)
{
  GstElement *element = new_element ("kernel-size", "1", "temporal-depth", "3", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", 64, 48, &info);
  Expect median = EXPECT (1);

  median.depth = 3;
  for (guint i = 0; i < 3; i++)
    gst_buffer_unref (push_pull (h, random_frame (&info, i, 0)));
  set_value (element, "enabled", "false");
  gst_buffer_unref (push_pull (h, random_frame (&info, 3, 0)));
  set_value (element, "enabled", "true");
  expect_filtered (h, &info, random_frame (&info, 4, 0), &median);
  close_harness (h, 5);
}
GST_END_TEST

static void
add (TCase *tests)
{
  tcase_add_test (tests, enabled);
  tcase_add_test (tests, enabled_again);
  tcase_add_test (tests, rank_at_a_half);
  tcase_add_test (tests, median_changes);
  tcase_add_test (tests, statistics);
}

const Properties median_properties = {
  .factory = "cudamedian",
  .passes = passes,
  .bad = bad,
  .good_start = good_start,
  .bad_format = "I420",
  .bad_width = 16,
  .bad_height = 8,
  .good = good,
  .show = show,
  .add = add,
};
