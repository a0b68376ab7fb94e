/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter_properties.c: cudairfilter's properties: dependencies, pole radii, live changes, bad
 * filters, and frames that are passed through unchanged. */
#include "common.h"

#include <glib/gstdio.h>

/* y(n) = (x(n) + y(n - 1)) / 2 along the rows, for the quadrant se. */
#define HALF "0.5"
#define HALF_B "0 0.5; 0 0"
#define SE(more) "{ \"m\": 2, \"se\": { \"a\": [[0.5, 0], [0, 0]], \"b\": [[0, 0.5], [0, 0]] }" more " }"

static const guint8 ramp[4] = { 10, 20, 30, 41 };
/* 10, 15, 22.5 (halves round to even), 31.75 */
static const guint8 halved[4] = { 10, 15, 22, 32 };

GST_START_TEST (defaults)
{
  static const gchar *const rows[][2] = {
    { "preset", "smooth" }, { "sigma", "3" }, { "amount", "1" }, { "length", "9" }, { "angle", "0" },
    { "numerator", NULL }, { "denominator", NULL }, { "coefficients", NULL }, { "quadrants", "se+sw+ne+nw" },
    { "border", "replicate" }, { "apply-to", "all" }
  };
  GstElement *element = gst_element_factory_make ("cudairfilter", NULL);
  GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), "pole-radius");
  gdouble before, after;

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    expect_value (element, rows[i][0], rows[i][1]);
    expect_live (element, rows[i][0]);
  }
  fail_unless (spec && spec->flags & G_PARAM_READABLE && !(spec->flags & G_PARAM_WRITABLE));
  fail_unless (!g_object_class_find_property (G_OBJECT_GET_CLASS (element), "file-text"));
  /* The default is the pole radius of the default filter. */
  g_object_get (element, "pole-radius", &before, NULL);
  g_object_set (element, "sigma", 3.0, NULL);
  g_object_get (element, "pole-radius", &after, NULL);
  fail_unless (ABS (before - after) < 1e-15, "%.17g, %.17g", before, after);
  gst_object_unref (element);
}
GST_END_TEST

/* ---- dependent properties --------------------------------------------- */

GST_START_TEST (the_last_filter_counts)
{
  GstElement *element = new_irfilter (NULL);
  gchar *path = temporary_file (SE (""));
  gint presets = 0, files = 0;

  g_signal_connect (element, "notify::preset", G_CALLBACK (count_notify), &presets);
  g_signal_connect (element, "notify::coefficients", G_CALLBACK (count_notify), &files);
  for (gint playing = 0; playing < 2; playing++) {
    if (playing)
      fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
    gst_util_set_object_arg (G_OBJECT (element), "preset", "soft");
    g_object_set (element, "denominator", HALF_B, NULL);
    expect_value (element, "preset", "custom");
    g_object_set (element, "numerator", HALF, NULL);
    expect_value (element, "denominator", HALF_B);
    g_object_set (element, "coefficients", path, NULL);
    expect_value (element, "numerator", NULL);
    expect_value (element, "denominator", NULL);
    expect_value (element, "coefficients", path);
    /* A preset is used while it is set; custom returns to the file. */
    gst_util_set_object_arg (G_OBJECT (element), "preset", "highpass");
    expect_value (element, "coefficients", path);
    gst_util_set_object_arg (G_OBJECT (element), "preset", "custom");
    g_object_set (element, "numerator", HALF, NULL);
    expect_value (element, "coefficients", NULL);
    expect_value (element, "denominator", NULL);
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

/* With rows u and columns v: the largest r with D = 0 at |u| = |v| = 1 / r. */
static const struct {
  const gchar *denominator;
  gdouble radius; /* 0: refused, or without feedback */
} poles[] = {
  { "0", 0 },
  { "0 0; 0 0", 0 },
  { "0 0.75; 0 0", 0.75 },
  { "0 0; -0.75 0", 0.75 },
  { "0 0; 0 0.25", 0.5 },                               /* r^2 = 0.25 */
  { "0 0.5; 0.75 -0.375", 0.75 },                       /* (1 - 0.75 u) (1 - 0.5 v) */
  { "0 -0.5; 0.75 0.375", 0.75 },
  { "0 0.5; 0.5 -0.25", 0.5 },                          /* (1 - u / 2) (1 - v / 2) */
  { "0 0.25; 0.5 0", 0.75 },                            /* 1 - u / 2 - v / 4: |a| + |b| */
  { "0 -0.25; 0.5 0", 0.75 },
  { "0 0.5; 0.5 0", 0 },                                /* on the border, where u = v = 1 */
  { "0 0.5; -0.5 0", 0 },
  { "0 1; 0 0", 0 },
  { "0 0.5; 0.49999 0", 0.99999 },
  { "0 0 0; 0.75 0 0; -0.5625 0 0", 0.75 },             /* a pair at 60 degrees, down the columns */
  { "0 0.75 -0.5625; 0 0 0; 0 0 0", 0.75 },
  { "0 0.75 -0.5625; 0.5 -0.375 0.28125; 0 0 0", 0.75 }, /* times 1 - u / 2 */
  { "0 0.5 0; 0.75 -0.375 0; -0.5625 0.28125 0", 0.75 },
  { "0 1 -0.25; 0 0 0; 0 0 0", 0.5 },                   /* (1 - v / 2)^2 */
  { "0 0.2 0.1; 0.2 0.1 0; 0.1 0 0", 0.783095189 },     /* at u = v: r^2 = 0.4 r + 0.3 */
  { "0 0 0; 0 0 0; 0 0 0.4096", 0.8 },
  { "0 1.5 -0.75; 0 0 0; 0 0 0", 0.866025404 },         /* |v| = 1 / sqrt (0.75) */
  { "0 1.5 -1; 0 0 0; 0 0 0", 0 },                      /* a pair on the circle */
  { "0 0 0 0 0 0 0 0.0078125; 0 0 0 0 0 0 0 0; 0 0 0 0 0 0 0 0; 0 0 0 0 0 0 0 0;"
    "0 0 0 0 0 0 0 0; 0 0 0 0 0 0 0 0; 0 0 0 0 0 0 0 0; 0 0 0 0 0 0 0 0", 0.5 }, /* 0.5^7 */
};

GST_START_TEST (pole_radius)
{
  GstElement *element = new_irfilter (NULL);
  gint notes = 0, wanted = 0;
  gdouble radius, last;

  g_signal_connect (element, "notify::pole-radius", G_CALLBACK (count_notify), &notes);
  g_object_get (element, "pole-radius", &last, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (poles); i++) {
    g_object_set (element, "denominator", poles[i].denominator, NULL);
    g_object_get (element, "pole-radius", &radius, NULL);
    fail_unless (ABS (radius - poles[i].radius) < 1e-5, "\"%s\" has %.9g, not %.9g", poles[i].denominator, radius,
        poles[i].radius);
    wanted += radius < last || radius > last;
    last = radius;
  }
  fail_unless_equals_int (notes, wanted);
  /* Counts only the quadrants in use, of presets as well. */
  gst_util_set_object_arg (G_OBJECT (element), "preset", "soft");
  g_object_get (element, "pole-radius", &radius, NULL);
  fail_unless (radius > 0.4 && radius < 0.5, "%g", radius);
  fail_unless (pop_message (element, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR) == NULL);
  gst_object_unref (element);
}
GST_END_TEST

/* ---- live changes ------------------------------------------------------- */

GST_START_TEST (change_between_two_frames)
{
  static const struct {
    const gchar *name, *value;
    guint8 right[4];
  } steps[] = {
    { "numerator", "1", { 40, 80, 120, 164 } },         /* four quadrants */
    { "quadrants", "se+nw", { 20, 40, 60, 82 } },
    { "quadrants", "se", { 10, 20, 30, 41 } },
    { "numerator", "0 1; 0 0", { 10, 10, 20, 30 } },
    { "border", "zero", { 0, 10, 20, 30 } },
    { "quadrants", "sw", { 20, 30, 41, 0 } },
    { "border", "replicate", { 20, 30, 41, 41 } },
    { "quadrants", "ne", { 10, 10, 20, 30 } },
    { "quadrants", "se", { 10, 10, 20, 30 } },
    { "numerator", HALF, { 5, 10, 15, 20 } },
    { "denominator", HALF_B, { 10, 15, 22, 32 } },
    { "border", "zero", { 5, 12, 21, 31 } },            /* 5, 12.5, 21.25, 31.125 */
    { "quadrants", "sw", { 16, 23, 25, 20 } },          /* from the right 20.5, 25.25, 22.625, 16.3125 */
    { "border", "replicate", { 19, 28, 36, 41 } },      /* 41, 35.5, 27.75, 18.875 */
  };
  GstElement *element = new_irfilter (NULL);
  GstHarness *h = new_harness (element);
  GstVideoInfo info;

  set_caps (h, video_caps ("GRAY8", 4, 1, NULL), &info);
  for (gsize i = 0; i < G_N_ELEMENTS (steps); i++) {
    set_value (element, steps[i].name, steps[i].value);
    expect_samples (h, &info, ramp, steps[i].right, steps[i].value);
  }
  fail_unless (pop_message (element, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR) == NULL);
  close_harness (h, G_N_ELEMENTS (steps));
}
GST_END_TEST

/* Blurs of any width leave a flat frame flat, and so do the presets that undo blur; the high pass
 * makes it gray. */
GST_START_TEST (flat_stays_flat)
{
  static const gchar *const presets[] = { "smooth", "soft", "sharpen", "highpass", "deblur", "motion-deblur" };
  GstElement *element = new_irfilter (NULL);
  GstHarness *h = new_harness (element);
  GstVideoInfo info;
  guint8 flat[64 * 4], right[64 * 4];
  gint n = 0;

  set_caps (h, video_caps ("GRAY8", 64, 4, NULL), &info);
  for (gdouble sigma = 0.1; sigma < 200; sigma *= 1.3)
    for (gsize p = 0; p < G_N_ELEMENTS (presets); p++, n++) {
      memset (flat, n % 256, sizeof flat);
      memset (right, p == 3 ? 128 : n % 256, sizeof flat);
      gst_util_set_object_arg (G_OBJECT (element), "preset", "smooth"); /* which accepts any sigma */
      g_object_set (element, "sigma", p == 4 ? CLAMP (sigma, 0.5, 3) : sigma, "amount", n % 101 * 0.1, NULL);
      g_object_set (element, "length", 3 + n % 13, "angle", n % 4 * 45, NULL);
      gst_util_set_object_arg (G_OBJECT (element), "preset", presets[p]);
      expect_samples (h, &info, flat, right, presets[p]);
    }
  fail_unless (pop_message (element, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR) == NULL);
  close_harness (h, n);
}
GST_END_TEST

/* ---- bad filters -------------------------------------------------------- */

static const struct {
  const gchar *name, *value;
  const gchar *where; /* part of the message */
} bad[] = {
  { "numerator", "", "row 1, column 1" },
  { "numerator", "1 2;;3 4", "row 2, column 1" },
  { "numerator", "1 2;3", "row 2, column 2" },
  { "numerator", "1 2;3 x", "row 2, column 2: \"x\"" },
  { "numerator", "1 nan", "row 1, column 2: \"nan\"" },
  { "numerator", "1 1e999", "row 1, column 2" },
  { "numerator", "1 2 1", "1 row and 3 columns" },
  { "numerator", "1; 2", "2 rows and 1 column;" },
  { "numerator", "1 2; 3 -2e6", "row 2, column 2" },
  { "numerator", "1 2 3 4 5 6 7 8 9", "row 1, column 9" },
  { "numerator", "1;1;1;1;1;1;1;1;1", "row 9, column 1" },
  { "numerator", "@", "row 1, column 9" },
  { "denominator", "1", "row 1, column 1" },
  { "denominator", "0 1e5; 0 0", "row 1, column 2" },
  { "denominator", "0 0.5; 0.5 0", "quadrant se: the filter is unstable; its pole radius is 1, at 0 cycles" },
  { "denominator", "0 -1.1; 0 0", "1.1, at 0.5 cycles per sample along a row and 0 down" },
  { "denominator", "0 0; -2 0", "2, at 0 cycles per sample along a row and 0.5 down" },
  { "denominator", "0 0 0; 1.2 0 0; -1.44 0 0", "1.2, at 0 cycles per sample along a row and 0.1667 down" },
  { "denominator", "0 1.2 -1.44; 0 0 0; 0 0 0", "0.1667 cycles per sample along a row and 0 down" },
  { "coefficients", "/nonexistent/set.json", "/nonexistent/set.json" },
  { "coefficients", "/", "directory" },
  { "coefficients", "@", "no object" },
  { "coefficients", "@{ \"m\": 1,\n\"se\": { \"a\": [[1,]] } }", "line 2, character " },
  { "coefficients", "@[1, 2]", "no object" },
  { "coefficients", "@{ \"m\": 2 }", "no quadrant" },
  { "coefficients", "@{ \"m\": 9, \"se\": {} }", "\"m\" is 9" },
  { "coefficients", "@{ \"se\": { \"a\": [[1]] } }", "\"m\" is 0" },
  { "coefficients", "@{ \"m\": 1, \"es\": { \"a\": [[1]] } }", "\"es\" is not known" },
  { "coefficients", "@{ \"m\": 1, \"se\": { \"b\": [[0]] } }", "\"se\": there is no \"a\"" },
  { "coefficients", "@{ \"m\": 2, \"ne\": { \"a\": [[1, 2], [3]] } }", "\"ne\", \"a\", row 2: numbers are missing" },
  { "coefficients", "@{ \"m\": 2, \"ne\": { \"a\": [[1, 2], [3, true]] } }", "\"ne\", \"a\", row 2, column 2" },
  { "coefficients", "@{ \"m\": 2, \"ne\": { \"a\": [[1, 2], [3, 1e9]] } }", "row 2, column 2: 1e+09 is too large" },
  { "coefficients", "@{ \"m\": 1, \"ne\": { \"a\": [[99999999999999999999]] } }", "more than 18 digits" },
  { "coefficients", "@{ \"m\": 1, \"nw\": { \"a\": [[1]], \"b\": [[0.5]] } }", "\"nw\", \"b\", row 1, column 1" },
  { "coefficients", "@{ \"m\": 1, \"nw\": { \"a\": [[1]] }, \"offset\": \"1\" }", "\"offset\"" },
  { "coefficients", "@" SE (", \"nw\": { \"a\": [[1, 0], [0, 0]], \"b\": [[0, 0.75], [0.75, 0]] }"),
    "quadrant nw: the filter is unstable; its pole radius is 1.5" },
  { "coefficients", "@brackets", "brackets" },
  { "quadrants", "0", "at least one of se, sw, ne and nw" },
  { "angle", "30", "0, 45, 90 and 135" },
  { "preset", "custom", "denominator" },
  { "preset", "deblur", "sigma is 3.25; with preset=deblur it must be between 0.5 and 3" },
};

static gchar *
value_of_row (gint row)
{
  const gchar *value = bad[row].value;
  gchar *text, *path;

  if (value[0] != '@')
    return g_strdup (value);
  if (strcmp (bad[row].name, "coefficients") != 0)
    return repeated ("1 ", 1 << 19);
  if (strcmp (value, "@brackets") != 0)
    return temporary_file (value + 1);
  text = repeated ("[", 1 << 20);
  path = temporary_file (text);
  g_free (text);
  return path;
}

GST_START_TEST (bad_before_start)
{
  GstElement *element = new_irfilter ("sigma", "3.25", NULL);
  gchar *value = value_of_row (__i__), *text;
  gboolean unstable = strstr (bad[__i__].where, "cycles") != NULL;
  gdouble radius;

  set_value (element, bad[__i__].name, value);
  g_object_get (element, "pole-radius", &radius, NULL);
  fail_unless (!unstable || !(radius > 0), "%g", radius);
  fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  text = only_message (element, GST_MESSAGE_ERROR, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
  expect_message (text, bad[__i__].name, bad[__i__].where);
  gst_element_set_state (element, GST_STATE_NULL);
  /* With a valid filter it starts. */
  g_object_set (element, "denominator", HALF_B, "numerator", HALF, "quadrants", 1, "angle", 45, NULL);
  fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_object_unref (element);
  g_free (text);
  free_value (value, bad[__i__].value[0] == '@' && strcmp (bad[__i__].name, "coefficients") == 0);
}
GST_END_TEST

GST_START_TEST (bad_while_playing)
{
  /* `halved` and the sum with nw: 18.875, 27.75, 35.5, 41. */
  static const guint8 both[4] = { 29, 43, 58, 73 }, twice[4] = { 20, 40, 60, 82 };
  /* "custom" is refused if there is no filter to return to. */
  gboolean preset = strcmp (bad[__i__].name, "preset") == 0;
  const guint8 *right = preset ? ramp : both;
  GstElement *element = new_irfilter ("quadrants", "se+nw", "preset", "sharpen", "amount", "0", "sigma",
      "3.25", NULL);
  gchar *value = value_of_row (__i__), *text;
  GstHarness *h = new_harness (element);
  GstVideoInfo info;
  gdouble radius;

  if (!preset)
    g_object_set (element, "numerator", HALF, "denominator", HALF_B, NULL);
  set_caps (h, video_caps ("GRAY8", 4, 1, NULL), &info);
  expect_samples (h, &info, ramp, right, "before");
  set_value (element, bad[__i__].name, value);
  expect_value (element, "preset", preset ? "sharpen" : "custom");
  expect_value (element, "numerator", preset ? NULL : HALF);
  expect_value (element, "denominator", preset ? NULL : HALF_B);
  expect_value (element, "coefficients", NULL);
  expect_value (element, "quadrants", "se+nw");
  expect_value (element, "angle", "0");
  g_object_get (element, "pole-radius", &radius, NULL);
  fail_unless (preset || ABS (radius - 0.5) < 1e-9, "%g", radius);
  expect_samples (h, &info, ramp, right, "after");
  text = only_message (element, GST_MESSAGE_WARNING, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
  expect_message (text, bad[__i__].name, bad[__i__].where);
  fail_unless (pop_message (element, GST_MESSAGE_ERROR) == NULL);
  /* A valid filter is accepted afterwards. */
  g_object_set (element, "numerator", "1", NULL);
  g_object_set (element, "denominator", "0", NULL);
  expect_samples (h, &info, ramp, twice, "a good one");
  close_harness (h, 3);
  g_free (text);
  free_value (value, bad[__i__].value[0] == '@' && strcmp (bad[__i__].name, "coefficients") == 0);
}
GST_END_TEST

/* ---- the file ----------------------------------------------------------- */

/* The file is read once, when the property is set. Setting the file clears the typed texts. */
GST_START_TEST (file_is_read_once)
{
  GstElement *element = new_irfilter ("preset", "sharpen", "amount", "0", NULL);
  gchar *path = temporary_file (SE ("")), *other = temporary_file (SE (", \"offset\": 12.25, \"passthrough\": -0.5"));
  GstHarness *h = new_harness (element);
  GstVideoInfo info;

  set_caps (h, video_caps ("GRAY8", 4, 1, NULL), &info);
  expect_samples (h, &info, ramp, ramp, "nothing yet");
  g_object_set (element, "coefficients", path, NULL);
  g_unlink (path);
  expect_samples (h, &info, ramp, halved, path);
  gst_util_set_object_arg (G_OBJECT (element), "preset", "sharpen");
  expect_samples (h, &info, ramp, ramp, path);
  gst_util_set_object_arg (G_OBJECT (element), "preset", "custom");
  expect_samples (h, &info, ramp, halved, path);
  g_object_set (element, "coefficients", other, NULL);
  /* 17.25, 17.25, 19.75, 23.5 */
  expect_samples (h, &info, ramp, (const guint8[4]) { 17, 17, 20, 24 }, other);
  fail_unless (pop_message (element, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR) == NULL);
  close_harness (h, 5);
  g_unlink (other);
  g_free (other);
  g_free (path);
}
GST_END_TEST

/* Quadrants that the file lacks: none would be left. */
GST_START_TEST (quadrants_of_the_file)
{
  GstElement *element = new_irfilter ("quadrants", "sw+ne", NULL);
  gchar *path = temporary_file (SE ("")), *text;

  g_object_set (element, "coefficients", path, NULL);
  fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  text = only_message (element, GST_MESSAGE_ERROR, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
  fail_unless (strstr (text, "quadrants") != NULL, "%s", text);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_object_unref (element);
  g_unlink (path);
  g_free (path);
  g_free (text);
}
GST_END_TEST

/* ---- frames that filtering would not change ------------------------------ */

GST_START_TEST (sharpening_by_nothing_passes)
{
  static const struct {
    const gchar *name, *value;
    gboolean passes_through;
  } steps[] = {
    { "preset", "sharpen", FALSE }, { "amount", "0", TRUE }, { "preset", "highpass", FALSE },
    { "preset", "smooth", FALSE }, { "apply-to", "chroma", FALSE }, { "preset", "sharpen", TRUE },
    { "amount", "0.001", FALSE },
  };
  GstElement *element = new_irfilter (NULL);
  GstHarness *h = new_harness (element);
  GstVideoInfo info;
  guint seed = 1;

  set_caps (h, video_caps ("NV12", 32, 16, NULL), &info);
  fail_unless (!passes_through (h, &info, seed++));
  for (gsize i = 0; i < G_N_ELEMENTS (steps); i++) {
    set_value (element, steps[i].name, steps[i].value);
    for (gint again = 0; again < 2; again++)
      fail_unless (passes_through (h, &info, seed++) == steps[i].passes_through, "%s=%s", steps[i].name,
          steps[i].value);
  }
  /* GRAY8 has no chroma. */
  set_caps (h, video_caps ("GRAY8", 32, 16, NULL), &info);
  fail_unless (passes_through (h, &info, seed++));
  fail_unless (pop_message (element, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR) == NULL);
  close_harness (h, (gint) seed - 1);
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("irfilter_properties");

  tcase_add_test (tests, defaults);
  tcase_add_test (tests, the_last_filter_counts);
  tcase_add_test (tests, pole_radius);
  tcase_add_test (tests, change_between_two_frames);
  tcase_add_test (tests, flat_stays_flat);
  tcase_add_loop_test (tests, bad_before_start, 0, G_N_ELEMENTS (bad));
  tcase_add_loop_test (tests, bad_while_playing, 0, G_N_ELEMENTS (bad));
  tcase_add_test (tests, file_is_read_once);
  tcase_add_test (tests, quadrants_of_the_file);
  tcase_add_test (tests, sharpening_by_nothing_passes);
  return run_suite (argc, argv, "irfilter_properties", tests, FALSE);
}
