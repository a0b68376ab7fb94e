/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve_properties.c: cudaconvolve's properties: dependencies, live changes, bad kernels, and
 * frames that are passed through unchanged. */
#include "common.h"

#include <glib/gstdio.h>
#include <unistd.h>

#define SHARPEN "0 -1 0; -1 5 -1; 0 -1 0"

static gchar *
get_string (GstElement *element, const gchar *name)
{
  gchar *value;

  g_object_get (element, name, &value, NULL);
  return value;
}

GST_START_TEST (defaults)
{
  static const gchar *const rows[][2] = {
    { "preset", "gauss" }, { "kernel", NULL }, { "kernel-file", NULL }, { "kernel-size", "5" }, { "sigma", "0" },
    { "angle", "0" }, { "amount", "1" }, { "divisor", "0" }, { "bias", "0" }, { "border", "replicate" },
    { "border-value", "0" }, { "flip", "false" }, { "gray", "none" }, { "apply-to", "all" }
  };
  GstElement *element = gst_element_factory_make ("cudaconvolve", NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    expect_value (element, rows[i][0], rows[i][1]);
    expect_live (element, rows[i][0]);
  }
  fail_unless (!g_object_class_find_property (G_OBJECT_GET_CLASS (element), "file-text"));
  gst_object_unref (element);
}
GST_END_TEST

/* ---- dependent properties --------------------------------------------- */

GST_START_TEST (the_last_kernel_counts)
{
  GstElement *element = new_convolve (NULL);
  gchar *path = temporary_file (SHARPEN);
  gint presets = 0, files = 0;

  g_signal_connect (element, "notify::preset", G_CALLBACK (count_notify), &presets);
  g_signal_connect (element, "notify::kernel-file", G_CALLBACK (count_notify), &files);
  for (gint playing = 0; playing < 2; playing++) {
    if (playing)
      fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
    gst_util_set_object_arg (G_OBJECT (element), "preset", "box");
    g_object_set (element, "kernel", "1 2 1", NULL);
    expect_value (element, "preset", "custom");
    expect_value (element, "kernel", "1 2 1");
    g_object_set (element, "kernel-file", path, NULL);
    expect_value (element, "kernel", NULL);
    expect_value (element, "kernel-file", path);
    /* A preset is used while it is set; custom returns to the file. */
    gst_util_set_object_arg (G_OBJECT (element), "preset", "gauss");
    expect_value (element, "kernel-file", path);
    gst_util_set_object_arg (G_OBJECT (element), "preset", "custom");
    g_object_set (element, "kernel", SHARPEN, NULL);
    expect_value (element, "kernel-file", NULL);
    expect_value (element, "preset", "custom");
  }
  fail_unless_equals_int (presets, 8);
  fail_unless_equals_int (files, 4);
  fail_unless (pop_message (element, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR) == NULL);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_object_unref (element);
  g_unlink (path);
  g_free (path);
}
GST_END_TEST

/* ---- live changes ------------------------------------------------------- */

static const guint8 ramp[4] = { 10, 20, 30, 41 };

GST_START_TEST (change_between_two_frames)
{
  static const struct {
    const gchar *name, *value;
    guint8 right[4];
  } steps[] = {
    { "kernel", "1 0", { 10, 10, 20, 30 } }, { "kernel", "0 0 1", { 20, 30, 41, 41 } },
    { "bias", "5", { 25, 35, 46, 46 } }, { "flip", "true", { 15, 15, 25, 35 } },
    { "flip", "false", { 25, 35, 46, 46 } },
    { "bias", "0", { 20, 30, 41, 41 } }, { "divisor", "2", { 10, 15, 20, 20 } }, { "divisor", "0", { 20, 30, 41, 41 } },
    { "preset", "identity", { 10, 20, 30, 41 } }, { "preset", "custom", { 20, 30, 41, 41 } },
    { "border", "wrap", { 20, 30, 41, 10 } }, { "preset", "box", { 24, 20, 30, 27 } },
    { "kernel-size", "1", { 10, 20, 30, 41 } }, { "preset", "custom", { 20, 30, 41, 10 } }
  };
  GstElement *element = new_convolve ("kernel-size", "3", NULL);
  GstHarness *h = new_harness (element);
  GstVideoInfo info;

  set_caps (h, video_caps ("GRAY8", 4, 1, NULL), &info);
  for (gsize i = 0; i < G_N_ELEMENTS (steps); i++) {
    gst_util_set_object_arg (G_OBJECT (element), steps[i].name, steps[i].value);
    expect_samples (h, &info, ramp, steps[i].right, steps[i].value);
  }
  fail_unless (pop_message (element, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR) == NULL);
  close_harness (h, G_N_ELEMENTS (steps));
}
GST_END_TEST

/* ---- bad kernels -------------------------------------------------------- */

static const struct {
  const gchar *name, *value;
  const gchar *where;  /* part of the message */
  const gchar *format; /* bad with these caps only */
} bad[] = {
  { "kernel", "", "row 1, column 1", NULL },
  { "kernel", " ; ", "row 1, column 1", NULL },
  { "kernel", "1 2;;3 4", "row 2, column 1", NULL },
  { "kernel", "1 2 3;4 5 6;7 8", "row 3, column 3", NULL },
  { "kernel", "1 2;3 4 5", "row 2, column 3", NULL },
  { "kernel", "1 2;3 x", "row 2, column 2: \"x\"", NULL },
  { "kernel", "1 nan", "row 1, column 2: \"nan\"", NULL },
  { "kernel", "inf", "row 1, column 1: \"inf\"", NULL },
  { "kernel", "1 2 -Infinity", "row 1, column 3", NULL },
  { "kernel", "0x10", "row 1, column 1", NULL },
  { "kernel", "1 1e999", "row 1, column 2", NULL },
  { "kernel", "1,,2", "row 1, column 2", NULL },
  { "kernel", "1,2,", "row 1, column 3", NULL },
  { "kernel", "@64x64", "row 1, column 64", NULL },
  { "kernel", "@1x64", "row 64, column 1", NULL },
  { "kernel", "@megabyte of letters", "row 1, column 1", NULL },
  { "kernel", "@megabyte of numbers", "row 1, column 64", NULL },
  { "kernel", "@megabyte of blanks", "row 1, column 1", NULL },
  { "kernel", "1e308 1e308", "row 1, column 1", NULL },
  { "kernel", "1 9000000; 1 1", "row 1, column 2", "GRAY8" },
  { "kernel", "1 1; -9000000 1", "row 2, column 1", "I420" },
  { "kernel-file", "/nonexistent/kernel.txt", "/nonexistent/kernel.txt", NULL },
  { "kernel-file", "/", "directory", NULL },
  { "kernel-file", "@1 2;3", "row 2, column 2", NULL },
  { "kernel-file", "@1 2\n3 nan\n", "row 2, column 2", NULL },
  { "kernel-file", "@", "row 1, column 1", NULL },
  { "kernel-size", "4", "3 or 5", NULL },
  { "preset", "custom", "kernel", NULL },
};

static gchar *
value_of_row (gint row)
{
  const gchar *value = bad[row].value;
  gchar *line, *text;

  if (value[0] != '@')
    return g_strdup (value);
  if (strcmp (bad[row].name, "kernel-file") == 0)
    return temporary_file (value + 1);
  if (strstr (value, "letters"))
    return repeated ("kernel; ", 1 << 17);
  if (strstr (value, "numbers"))
    return repeated ("1 ", 1 << 19);
  if (strstr (value, "blanks"))
    return repeated (" ", 1 << 20);
  if (strcmp (value, "@1x64") == 0)
    return repeated ("1;", 64);
  line = repeated ("1 ", 64);
  line[127] = ';';
  text = repeated (line, 64);
  g_free (line);
  return text;
}

GST_START_TEST (bad_before_start)
{
  GstElement *element = new_convolve (NULL);
  gchar *value = value_of_row (__i__), *text;

  set_value (element, bad[__i__].name, value);
  if (!bad[__i__].format) {
    fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
    text = only_message (element, GST_MESSAGE_ERROR, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
    expect_message (text, bad[__i__].name, bad[__i__].where);
    gst_element_set_state (element, GST_STATE_NULL);
    /* With a valid kernel it starts. */
    g_object_set (element, "kernel", SHARPEN, "kernel-size", 3, NULL);
    fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
    gst_element_set_state (element, GST_STATE_NULL);
    gst_object_unref (element);
  } else {
    GstHarness *h = new_harness (element);
    GstVideoInfo info;

    set_caps (h, video_caps (bad[__i__].format, 16, 8, NULL), &info);
    text = only_message (element, GST_MESSAGE_ERROR, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
    expect_message (text, bad[__i__].name, bad[__i__].where);
    gst_harness_teardown (h);
  }
  g_free (text);
  free_value (value, bad[__i__].value[0] == '@' && strcmp (bad[__i__].name, "kernel-file") == 0);
}
GST_END_TEST

GST_START_TEST (bad_while_playing)
{
  /* "custom" is refused if there is no kernel to return to. */
  gboolean preset = strcmp (bad[__i__].name, "preset") == 0;
  const gchar *kernel = preset ? NULL : "1 0", *before = preset ? "identity" : "custom";
  static const guint8 shifted[4] = { 10, 10, 20, 30 };
  const guint8 *right = preset ? ramp : shifted;
  GstElement *element = new_convolve (NULL);
  gchar *value = value_of_row (__i__), *text, *file;
  GstHarness *h = new_harness (element);
  GstVideoInfo info;

  gst_util_set_object_arg (G_OBJECT (element), "preset", "identity");
  if (kernel)
    g_object_set (element, "kernel", kernel, NULL);
  set_caps (h, video_caps ("GRAY8", 4, 1, NULL), &info);
  expect_samples (h, &info, ramp, right, "before");
  set_value (element, bad[__i__].name, value);
  expect_value (element, "preset", before);
  expect_value (element, "kernel", kernel);
  expect_value (element, "kernel-size", "5");
  file = get_string (element, "kernel-file");
  fail_unless (file == NULL);
  expect_samples (h, &info, ramp, right, "after");
  text = only_message (element, GST_MESSAGE_WARNING, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
  expect_message (text, bad[__i__].name, bad[__i__].where);
  fail_unless (pop_message (element, GST_MESSAGE_ERROR) == NULL);
  /* A valid kernel is accepted afterwards. */
  g_object_set (element, "kernel", "1", NULL);
  expect_samples (h, &info, ramp, ramp, "a good one");
  close_harness (h, 3);
  g_free (text);
  free_value (value, bad[__i__].value[0] == '@' && strcmp (bad[__i__].name, "kernel-file") == 0);
}
GST_END_TEST

/* The file is read once, when the property is set. */
GST_START_TEST (file_is_read_once)
{
  static const guint8 shifted[4] = { 10, 10, 20, 30 };
  GstElement *element = new_convolve (NULL);
  gchar *path = temporary_file ("1 0\n");
  GstVideoInfo info;
  GstHarness *h;

  g_object_set (element, "kernel-file", path, NULL);
  g_unlink (path);
  h = new_harness (element);
  set_caps (h, video_caps ("GRAY8", 4, 1, NULL), &info);
  expect_samples (h, &info, ramp, shifted, path);
  gst_util_set_object_arg (G_OBJECT (element), "preset", "identity");
  expect_samples (h, &info, ramp, ramp, path);
  gst_util_set_object_arg (G_OBJECT (element), "preset", "custom");
  expect_samples (h, &info, ramp, shifted, path);
  fail_unless (pop_message (element, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR) == NULL);
  close_harness (h, 3);
  g_free (path);
}
GST_END_TEST

/* ---- frames that filtering would not change ------------------------------ */

GST_START_TEST (identity_passes)
{
  static const struct {
    const gchar *name, *value;
    gboolean passes_through;
  } steps[] = {
    { "preset", "identity", TRUE }, { "preset", "gauss", FALSE }, { "kernel-size", "1", TRUE },
    { "kernel-size", "3", FALSE }, { "kernel", "0 0 0; 0 1 0; 0 0 0", TRUE }, { "bias", "1", FALSE },
    { "bias", "0", TRUE }, { "gray", "luma", FALSE }, { "apply-to", "luma", TRUE }, { "gray", "none", TRUE },
    { "apply-to", "all", TRUE }, { "divisor", "2", FALSE }, { "kernel", "2", TRUE }, { "kernel", "1 0", FALSE },
    { "preset", "identity", FALSE }, { "divisor", "0", TRUE },
  };
  GstElement *element = new_convolve (NULL);
  GstHarness *h = new_harness (element);
  guint seed = 1, passed = 0;
  GstVideoInfo info;

  set_caps (h, video_caps ("NV12", 32, 16, NULL), &info);
  fail_unless (!passes_through (h, &info, seed++));
  for (gsize i = 0; i < G_N_ELEMENTS (steps); i++) {
    gst_util_set_object_arg (G_OBJECT (element), steps[i].name, steps[i].value);
    for (gint again = 0; again < 2; again++)
      fail_unless (passes_through (h, &info, seed++) == steps[i].passes_through, "%s=%s", steps[i].name,
          steps[i].value);
    passed += steps[i].passes_through ? 2 : 0;
  }
  fail_unless_equals_uint64 (stat_of (element, "frames-passed"), passed);
  fail_unless_equals_uint64 (stat_of (element, "bytes"), (seed - 1) * 32 * 16 * 3 / 2);
  fail_unless (pop_message (element, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR) == NULL);
  close_harness (h, (gint) seed - 1);
}
GST_END_TEST

/* With RGB, gray changes every sample; new caps decide again. */
GST_START_TEST (passing_depends_on_the_format)
{
  GstElement *element = new_convolve ("preset", "identity", "gray", "mean", NULL);
  GstHarness *h = new_harness (element);
  GstVideoInfo info;

  set_caps (h, video_caps ("RGB", 32, 16, NULL), &info);
  fail_unless (!passes_through (h, &info, 1));
  set_caps (h, video_caps ("GRAY8", 32, 16, NULL), &info);
  fail_unless (passes_through (h, &info, 2));
  set_caps (h, video_caps ("NV12", 32, 16, NULL), &info);
  fail_unless (!passes_through (h, &info, 3));
  close_harness (h, 3);
}
GST_END_TEST

/* A late frame is dropped and not counted, filtered or not. */
GST_START_TEST (late_frames_are_dropped)
{
  for (gint pass = 0; pass < 2; pass++) {
    GstElement *element = new_convolve ("preset", pass ? "identity" : "box", NULL);
    GstHarness *h = new_harness (element);
    GstVideoInfo info;
    GstBuffer *late;

    set_caps (h, video_caps ("GRAY8", 32, 16, NULL), &info);
    passes_through (h, &info, 1);
    fail_unless (gst_harness_push_upstream_event (h, gst_event_new_qos (GST_QOS_TYPE_UNDERFLOW, 2.0,
                GST_SECOND, 40 * GST_MSECOND)));
    late = random_frame (&info, 2, 0);
    fail_unless_equals_int (gst_harness_push (h, late), GST_FLOW_OK);
    fail_unless (gst_harness_try_pull (h) == NULL, "a late frame came out");
    fail_unless (passes_through (h, &info, 100) == pass);
    close_harness (h, 2);
  }
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("convolve_properties");

  tcase_add_test (tests, defaults);
  tcase_add_test (tests, the_last_kernel_counts);
  tcase_add_test (tests, change_between_two_frames);
  tcase_add_loop_test (tests, bad_before_start, 0, G_N_ELEMENTS (bad));
  tcase_add_loop_test (tests, bad_while_playing, 0, G_N_ELEMENTS (bad));
  tcase_add_test (tests, file_is_read_once);
  tcase_add_test (tests, identity_passes);
  tcase_add_test (tests, passing_depends_on_the_format);
  tcase_add_test (tests, late_frames_are_dropped);
  return run_suite (argc, argv, "convolve_properties", tests, FALSE);
}
