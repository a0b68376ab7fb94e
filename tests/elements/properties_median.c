/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * properties_median.c: the table of cudamedian. */
#include "properties.h"

static const Setting default_values[] = { { "kernel-size", "3" }, { "kernel-width", "0" }, { "kernel-height", "0" },
  { "percentile", "50" }, { "threshold", "0" }, { "temporal-depth", "1" }, { "color-order", "per-channel" },
  { "apply-to", "all" }, { NULL } };

static const Setting good_start[] = { { "kernel-size", "5" }, { "kernel-width", "5" }, { "kernel-height", "5" },
  { "temporal-depth", "5" }, { NULL } };

static const Setting good[] = { { "kernel-size", "5" }, { NULL } };

static const Bad bad[] = {
  { "kernel-size", "4" }, { "kernel-width", "2" }, { "kernel-height", "254" }, { "temporal-depth", "2" },
  { "color-order", "packed", NULL, "NV12" }, { "color-order", "packed", NULL, "GRAY8" },
  { "color-order", "packed", NULL, "AYUV" }, { "apply-to", "luma", NULL, "RGB" },
  { "apply-to", "chroma", NULL, "xBGR" }, { NULL }
};

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
  GstHarness *h = new_harness (element);
  GstVideoInfo info;
  Expect e = EXPECT (3);

  set_caps (h, video_caps ("NV12", 23, 15, NULL), &info);
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

static gpointer
change_properties (gpointer data)
{
  gint *stop = g_object_get_data (data, "stop");

  for (gint i = 0; !g_atomic_int_get (stop); i++) {
    g_object_set (data, "kernel-size", 1 + 2 * (i % 4), "percentile", i % 101, "threshold", i % 3, NULL);
    g_thread_yield ();
  }
  return NULL;
}

/* Another thread changes properties all the time: every frame comes, and the last values hold. */
GST_START_TEST (storm)
{
  GstElement *element = new_element (NULL);
  GstHarness *h = new_harness (element);
  Expect e = EXPECT (3);
  GstVideoInfo info;
  GThread *thread;
  gint stop = 0;

  set_caps (h, video_caps ("NV12", 32, 16, NULL), &info);
  g_object_set_data (G_OBJECT (element), "stop", &stop);
  thread = g_thread_new ("setter", change_properties, element);
  for (guint i = 0; i < 300; i++)
    gst_buffer_unref (push_pull (h, random_frame (&info, i, 0)));
  g_atomic_int_set (&stop, 1);
  g_thread_join (thread);
  g_object_set (element, "kernel-size", 3, "percentile", 50, "threshold", 0, NULL);
  expect_filtered (h, &info, random_frame (&info, 1, 0), &e);
  expect_no_messages (element);
  close_harness (h, 301);
}
GST_END_TEST

GST_START_TEST (statistics)
{
  static const gchar *const times[] = { "kernel", "total" };
  GstElement *element = new_element (NULL);
  GstHarness *h = new_harness (element);
  Expect e = EXPECT (3);
  GstVideoInfo info;

  set_caps (h, video_caps ("NV12", 32, 16, NULL), &info);
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

static void
add (TCase *tests)
{
  tcase_add_test (tests, median_changes);
  tcase_add_test (tests, storm);
  tcase_add_test (tests, statistics);
}

const Properties median_properties = {
  .factory = "cudamedian",
  .defaults = default_values,
  .bad = bad,
  .good_start = good_start,
  .bad_format = "I420",
  .bad_width = 16,
  .bad_height = 8,
  .good = good,
  .show = show,
  .add = add,
};
