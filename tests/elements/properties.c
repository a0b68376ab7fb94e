/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * properties.c: defaults, live changes, bad values before and after start. */
#include "common.h"

static gint
get_int (GstElement *element, const gchar *name)
{
  gint value;

  g_object_get (element, name, &value, NULL);
  return value;
}

GST_START_TEST (defaults)
{
  static const struct {
    const gchar *name;
    gint value;
  } ints[] = {
    { "kernel-size", 3 }, { "kernel-width", 0 }, { "kernel-height", 0 }, { "percentile", 50 }, { "threshold", 0 },
    { "temporal-depth", 1 }, { "cuda-device-id", -1 }, { "frames-in-flight", 1 }, { "color-order", 0 },
    { "apply-to", 0 }, { "backend", 0 }, { "on-gpu-error", 0 }
  };
  GstElement *element = gst_element_factory_make ("cudamedian", NULL);
  gboolean qos;

  for (gsize i = 0; i < G_N_ELEMENTS (ints); i++)
    fail_unless (get_int (element, ints[i].name) == ints[i].value, "%s is %d", ints[i].name,
        get_int (element, ints[i].name));
  g_object_get (element, "qos", &qos, NULL);
  fail_unless (qos);
  gst_object_unref (element);
}
GST_END_TEST

GST_START_TEST (flags)
{
  static const gchar *const live[] = { "kernel-size", "kernel-width", "kernel-height", "percentile", "threshold",
    "temporal-depth", "color-order", "apply-to" };
  static const gchar *const ready[] = { "backend", "cuda-device-id", "frames-in-flight" };
  GstElement *element = gst_element_factory_make ("cudamedian", NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (live); i++) {
    GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), live[i]);

    fail_unless (spec && spec->flags & GST_PARAM_CONTROLLABLE && spec->flags & GST_PARAM_MUTABLE_PLAYING, "%s",
        live[i]);
    fail_unless (g_param_spec_get_blurb (spec) && *g_param_spec_get_blurb (spec));
  }
  for (gsize i = 0; i < G_N_ELEMENTS (ready); i++) {
    GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), ready[i]);

    fail_unless (spec && spec->flags & GST_PARAM_MUTABLE_READY, "%s", ready[i]);
  }
  gst_object_unref (element);
}
GST_END_TEST

static void
expect_frame (GstHarness *h, const GstVideoInfo *info, guint seed, const Expect *e)
{
  GstBuffer *in = random_frame (info, seed, 0), *out = gst_harness_push_and_pull (h, gst_buffer_ref (in));

  fail_unless (out != NULL);
  assert_filtered (info, out, &in, 1, e);
  gst_buffer_unref (in);
  gst_buffer_unref (out);
}

GST_START_TEST (change_between_two_frames)
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
    expect_frame (h, &info, (guint) i, &e);
  }
  g_object_set (element, "kernel-size", 3, "percentile", 50, NULL);
  gst_util_set_object_arg (G_OBJECT (element), "apply-to", "luma");
  e = (Expect) EXPECT (3);
  e.chroma = FALSE;
  expect_frame (h, &info, 9, &e);
  /* A new depth clears the history. */
  g_object_set (element, "temporal-depth", 3, NULL);
  e.depth = 3;
  expect_frame (h, &info, 10, &e);
  g_object_set (element, "temporal-depth", 1, NULL);
  e.depth = 1;
  expect_frame (h, &info, 11, &e);
  fail_unless (pop_message (element, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR) == NULL);
  close_harness (h, 3 + G_N_ELEMENTS (sizes));
}
GST_END_TEST

static const struct {
  const gchar *name, *bad, *format; /* format: bad with these caps only */
} bad_values[] = {
  { "kernel-size", "4", NULL }, { "kernel-width", "2", NULL }, { "kernel-height", "254", NULL },
  { "temporal-depth", "2", NULL }, { "color-order", "packed", "NV12" }, { "color-order", "packed", "GRAY8" },
  { "color-order", "packed", "AYUV" }, { "apply-to", "luma", "RGB" }, { "apply-to", "chroma", "xBGR" },
};

GST_START_TEST (bad_before_start)
{
  const gchar *format = bad_values[__i__].format;
  GstElement *element = new_element (bad_values[__i__].name, bad_values[__i__].bad, NULL);
  gchar *text;

  if (!format) {
    fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
    text = only_message (element, GST_MESSAGE_ERROR, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
    gst_element_set_state (element, GST_STATE_NULL);
    /* With a valid value it starts. */
    gst_util_set_object_arg (G_OBJECT (element), bad_values[__i__].name, "5");
    fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
    gst_element_set_state (element, GST_STATE_NULL);
    gst_object_unref (element);
  } else {
    GstHarness *h = new_harness (element);
    GstVideoInfo info;

    set_caps (h, video_caps (format, 16, 8, NULL), &info);
    text = only_message (element, GST_MESSAGE_ERROR, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
    gst_harness_teardown (h);
  }
  fail_unless (strstr (text, bad_values[__i__].name) != NULL, "the message does not name the property: %s", text);
  g_free (text);
}
GST_END_TEST

GST_START_TEST (bad_while_playing)
{
  const gchar *format = bad_values[__i__].format ? bad_values[__i__].format : "I420";
  GstElement *element = new_element (NULL);
  GstHarness *h = new_harness (element);
  gint before = get_int (element, bad_values[__i__].name);
  Expect e = EXPECT (3);
  GstVideoInfo info;
  gchar *text;

  set_caps (h, video_caps (format, 16, 8, NULL), &info);
  expect_frame (h, &info, 1, &e);
  gst_util_set_object_arg (G_OBJECT (element), bad_values[__i__].name, bad_values[__i__].bad);
  fail_unless_equals_int (get_int (element, bad_values[__i__].name), before);
  expect_frame (h, &info, 2, &e);
  text = only_message (element, GST_MESSAGE_WARNING, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
  fail_unless (strstr (text, bad_values[__i__].name) != NULL, "the message does not name the property: %s", text);
  fail_unless (pop_message (element, GST_MESSAGE_ERROR) == NULL);
  g_free (text);
  /* A valid value is accepted afterwards. */
  g_object_set (element, "kernel-size", 5, NULL);
  e.width = e.height = 5;
  expect_frame (h, &info, 3, &e);
  close_harness (h, 3);
}
GST_END_TEST

static gpointer
change_properties (gpointer data)
{
  gint *stop = g_object_get_data (data, "stop");

  for (gint i = 0; !g_atomic_int_get (stop); i++) {
    g_object_set (data, "kernel-size", 1 + 2 * (i % 4), "percentile", i % 101, "threshold", i % 3, NULL);
    g_usleep (200);
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
    gst_buffer_unref (gst_harness_push_and_pull (h, random_frame (&info, i, 0)));
  g_atomic_int_set (&stop, 1);
  g_thread_join (thread);
  g_object_set (element, "kernel-size", 3, "percentile", 50, "threshold", 0, NULL);
  expect_frame (h, &info, 1, &e);
  fail_unless (pop_message (element, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR) == NULL);
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
    expect_frame (h, &info, i, &e);
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

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("properties");

  tcase_add_test (tests, defaults);
  tcase_add_test (tests, flags);
  tcase_add_test (tests, change_between_two_frames);
  tcase_add_loop_test (tests, bad_before_start, 0, G_N_ELEMENTS (bad_values));
  tcase_add_loop_test (tests, bad_while_playing, 0, G_N_ELEMENTS (bad_values));
  tcase_add_test (tests, storm);
  tcase_add_test (tests, statistics);
  return run_suite (argc, argv, "properties", tests, FALSE);
}
