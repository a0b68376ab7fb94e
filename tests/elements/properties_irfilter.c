/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * properties_irfilter.c: the table of cudairfilter. */
#include "properties.h"

/* y(n) = (x(n) + y(n - 1)) / 2 along the rows, for the quadrant se. */
#define HALF "0.5"
#define HALF_B "0 0.5; 0 0"
#define SE(more) "{ \"m\": 2, \"se\": { \"a\": [[0.5, 0], [0, 0]], \"b\": [[0, 0.5], [0, 0]] }" more " }"

static const Setting last_counts[] = { { "preset", "soft" }, { "denominator", HALF_B }, { "=preset", "custom" },
  { "numerator", HALF }, { "=denominator", HALF_B }, { "coefficients", "@" }, { "=numerator", NULL },
  { "=denominator", NULL }, { "=coefficients", "@" },
  /* A preset is used while it is set; custom returns to the file. */
  { "preset", "highpass" }, { "=coefficients", "@" }, { "preset", "custom" }, { "numerator", HALF },
  { "=coefficients", NULL }, { "=denominator", NULL }, { "=preset", "custom" }, { NULL } };

static const Step steps[] = { { "numerator", "1", { 40, 80, 120, 164 } }, /* four quadrants */
  { "quadrants", "se+nw", { 20, 40, 60, 82 } }, { "quadrants", "se", { 10, 20, 30, 41 } },
  { "numerator", "0 1; 0 0", { 10, 10, 20, 30 } }, { "border", "zero", { 0, 10, 20, 30 } },
  { "quadrants", "sw", { 20, 30, 41, 0 } }, { "border", "replicate", { 20, 30, 41, 41 } },
  { "quadrants", "ne", { 10, 10, 20, 30 } }, { "quadrants", "se", { 10, 10, 20, 30 } },
  { "numerator", HALF, { 5, 10, 15, 20 } }, { "denominator", HALF_B, { 10, 15, 22, 32 } },
  { "border", "zero", { 5, 12, 21, 31 } },       /* 5, 12.5, 21.25, 31.125 */
  { "quadrants", "sw", { 16, 23, 25, 20 } },     /* from the right 20.5, 25.25, 22.625, 16.3125 */
  { "border", "replicate", { 19, 28, 36, 41 } }, /* 41, 35.5, 27.75, 18.875 */
  { NULL } };

/* Setting the file clears the typed texts. */
static const Setting sharpen_by_0[] = { { "preset", "sharpen" }, { "amount", "0" }, { NULL } };

static const Step file_steps[] = { { "coefficients", "@" SE (""),
                                       { 10, 15, 22, 32 } }, /* 10, 15, 22.5 (halves round to even), 31.75 */
  { "preset", "sharpen", { 10, 20, 30, 41 } }, { "preset", "custom", { 10, 15, 22, 32 } },
  /* 17.25, 17.25, 19.75, 23.5 */
  { "coefficients", "@" SE (", \"offset\": 12.25, \"passthrough\": -0.5"), { 17, 17, 20, 24 } }, { NULL } };

static const Pass passes[] = { { NULL, "the defaults", FALSE }, { "preset", "sharpen", FALSE }, { "amount", "0", TRUE },
  { "preset", "highpass", FALSE }, { "preset", "smooth", FALSE }, { "apply-to", "chroma", FALSE },
  { "preset", "sharpen", TRUE }, { "amount", "0.001", FALSE }, { "caps", "GRAY8", TRUE }, /* has no chroma */
  { NULL } };

static const Bad bad[] = { { "numerator", "", "row 1, column 1" }, { "numerator", "1 2;;3 4", "row 2, column 1" },
  { "numerator", "1 2;3", "row 2, column 2" }, { "numerator", "1 2;3 x", "row 2, column 2: \"x\"" },
  { "numerator", "1 nan", "row 1, column 2: \"nan\"" }, { "numerator", "1 1e999", "row 1, column 2" },
  { "numerator", "1 2 1", "1 row and 3 columns" }, { "numerator", "1; 2", "2 rows and 1 column;" },
  { "numerator", "1 2; 3 -2e6", "row 2, column 2" }, { "numerator", "1 2 3 4 5 6 7 8 9", "row 1, column 9" },
  { "numerator", "1;1;1;1;1;1;1;1;1", "row 9, column 1" }, { "numerator", "@", "row 1, column 9" },
  { "denominator", "1", "row 1, column 1" }, { "denominator", "0 1e5; 0 0", "row 1, column 2" },
  { "denominator", "0 0.5; 0.5 0", "quadrant se: the filter is unstable; its pole radius is 1, at 0 cycles" },
  { "denominator", "0 -1.1; 0 0", "1.1, at 0.5 cycles per sample along a row and 0 down" },
  { "denominator", "0 0; -2 0", "2, at 0 cycles per sample along a row and 0.5 down" },
  { "denominator", "0 0 0; 1.2 0 0; -1.44 0 0", "1.2, at 0 cycles per sample along a row and 0.1667 down" },
  { "denominator", "0 1.2 -1.44; 0 0 0; 0 0 0", "0.1667 cycles per sample along a row and 0 down" },
  { "coefficients", "/nonexistent/set.json", "/nonexistent/set.json" }, { "coefficients", "/", "directory" },
  { "coefficients", "@", "no object" },
  { "coefficients", "@{ \"m\": 1,\n\"se\": { \"a\": [[1,]] } }", "line 2, character " },
  { "coefficients", "@" SE ("") "{}", "line 1: something is behind the object" },
  { "coefficients", "@" SE ("") "\n[]", "line 2: something is behind the object" },
  { "coefficients", "@[1, 2]", "no object" }, { "coefficients", "@{ \"m\": 2 }", "no quadrant" },
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
  { "coefficients", "@brackets", "brackets" }, { "quadrants", "0", "at least one of se, sw, ne and nw" },
  { "angle", "30", "0, 45, 90 and 135" }, { "preset", "custom", "denominator" },
  { "preset", "deblur", "sigma is 3.25; with preset=deblur it must be between 0.5 and 3" }, { NULL } };

static gchar *
make (const Bad *row)
{
  if (strcmp (row->name, "coefficients") != 0)
    return repeated ("1 ", 1 << 19);
  return strcmp (row->value, "@brackets") == 0 ? repeated ("[", 1 << 20) : g_strdup (row->value + 1);
}

/* "custom" is refused if there is no filter to return to. */
#define START { "quadrants", "se+nw" }, { "preset", "sharpen" }, { "amount", "0" }, { "sigma", "3.25" }
static const Setting start[] = { START, { NULL } };
static const Setting with_filter[] = { START, { "numerator", HALF }, { "denominator", HALF_B }, { NULL } };
static const Setting kept_filter[] = { { "preset", "custom" }, { "numerator", HALF }, { "denominator", HALF_B },
  { "coefficients", NULL }, { "quadrants", "se+nw" }, { "angle", "0" }, { NULL } };
static const Setting kept_sharpen[] = { { "preset", "sharpen" }, { "numerator", NULL }, { "denominator", NULL },
  { "coefficients", NULL }, { "quadrants", "se+nw" }, { "angle", "0" }, { NULL } };
static const Setting bad_start[] = { { "sigma", "3.25" }, { NULL } };
static const Setting good_start[] = { { "denominator", HALF_B }, { "numerator", HALF }, { "quadrants", "se" },
  { "angle", "45" }, { NULL } };
static const Setting good[] = { { "numerator", "1" }, { "denominator", "0" }, { NULL } };

static void
show (GstHarness *h, const GstVideoInfo *info, const Refusal *r, guint n)
{
  expect_samples (h, info, ramp, n < 2 ? r->right : (const guint8[4]) { 20, 40, 60, 82 }, n ? "after" : "before");
}

static void
refused (GstElement *element, const Bad *row, const Refusal *r)
{
  gdouble radius;

  g_object_get (element, "pole-radius", &radius, NULL);
  if (r)
    fail_unless (r->settings == start || ABS (radius - 0.5) < 1e-9, "%g", radius);
  else
    fail_unless (!strstr (row->where, "cycles") || !(radius > 0), "%g", radius);
}

/* With rows u and columns v: the largest r with D = 0 at |u| = |v| = 1 / r. */
static const struct {
  const gchar *denominator;
  gdouble radius; /* 0: refused, or without feedback */
} poles[] = {
  { "0", 0 }, { "0 0; 0 0", 0 }, { "0 0.75; 0 0", 0.75 }, { "0 0; -0.75 0", 0.75 },
  { "0 0; 0 0.25", 0.5 },                                      /* r^2 = 0.25 */
  { "0 0.5; 0.75 -0.375", 0.75 },                              /* (1 - 0.75 u) (1 - 0.5 v) */
  { "0 -0.5; 0.75 0.375", 0.75 }, { "0 0.5; 0.5 -0.25", 0.5 }, /* (1 - u / 2) (1 - v / 2) */
  { "0 0.25; 0.5 0", 0.75 },                                   /* 1 - u / 2 - v / 4: |a| + |b| */
  { "0 -0.25; 0.5 0", 0.75 }, { "0 0.5; 0.5 0", 0 },           /* on the border, where u = v = 1 */
  { "0 0.5; -0.5 0", 0 }, { "0 1; 0 0", 0 }, { "0 0.5; 0.49999 0", 0.99999 },
  { "0 0 0; 0.75 0 0; -0.5625 0 0", 0.75 }, /* a pair at 60 degrees, down the columns */
  { "0 0.75 -0.5625; 0 0 0; 0 0 0", 0.75 }, { "0 0.75 -0.5625; 0.5 -0.375 0.28125; 0 0 0", 0.75 }, /* times 1 - u / 2 */
  { "0 0.5 0; 0.75 -0.375 0; -0.5625 0.28125 0", 0.75 }, { "0 1 -0.25; 0 0 0; 0 0 0", 0.5 },       /* (1 - v / 2)^2 */
  { "0 0.2 0.1; 0.2 0.1 0; 0.1 0 0", 0.783095189 },                                  /* at u = v: r^2 = 0.4 r + 0.3 */
  { "0 0 0; 0 0 0; 0 0 0.4096", 0.8 }, { "0 1.5 -0.75; 0 0 0; 0 0 0", 0.866025404 }, /* |v| = 1 / sqrt (0.75) */
  { "0 1.5 -1; 0 0 0; 0 0 0", 0 },                                                   /* a pair on the circle */
  { "0 0 0 0 0 0 0 0.0078125; 0 0 0 0 0 0 0 0; 0 0 0 0 0 0 0 0; 0 0 0 0 0 0 0 0;"
    "0 0 0 0 0 0 0 0; 0 0 0 0 0 0 0 0; 0 0 0 0 0 0 0 0; 0 0 0 0 0 0 0 0",
      0.5 }, /* 0.5^7 */
};

GST_START_TEST (pole_radius)
{
  GstElement *element = new_irfilter (NULL);
  GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), "pole-radius");
  gint notes = 0, wanted = 0;
  gdouble radius, last;

  fail_unless (spec && spec->flags & G_PARAM_READABLE && !(spec->flags & G_PARAM_WRITABLE));
  /* The default is the pole radius of the default filter. */
  g_object_get (element, "pole-radius", &last, NULL);
  g_object_set (element, "sigma", 3.0, NULL);
  g_object_get (element, "pole-radius", &radius, NULL);
  fail_unless (ABS (last - radius) < 1e-15, "%.17g, %.17g", last, radius);
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
  expect_no_messages (element);
  gst_object_unref (element);
}
GST_END_TEST

/* Blurs of any width leave a flat frame flat, and so do the presets that undo blur; the high pass
 * makes it gray. */
GST_START_TEST (flat_stays_flat)
{
  static const gchar *const presets[] = { "smooth", "soft", "sharpen", "highpass", "deblur", "motion-deblur" };
  GstElement *element = new_irfilter (NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", 64, 4, &info);
  guint8 flat[64 * 4], right[64 * 4];
  gint n = 0;

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
  expect_no_messages (element);
  close_harness (h, n);
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
  free_value (path, TRUE);
  g_free (text);
}
GST_END_TEST

/* A sigma half way between two of the table uses the set of the smaller one. */
GST_START_TEST (deblur_between_two_sets)
{
  static const gdouble sigmas[] = { 0.5, 0.625, 0.75 };
  GstElement *element = new_irfilter ("preset", "deblur", NULL);
  gdouble radius[3];

  for (gint i = 0; i < 3; i++) {
    g_object_set (element, "sigma", sigmas[i], NULL);
    g_object_get (element, "pole-radius", &radius[i], NULL);
  }
  fail_unless (ABS (radius[1] - radius[0]) < 1e-12);
  fail_unless (ABS (radius[1] - radius[2]) > 1e-6);
  gst_object_unref (element);
}
GST_END_TEST

static gdouble
radius_at (GstElement *element, const gchar *property, gdouble value)
{
  gdouble radius;

  g_object_set (element, property, value, NULL);
  g_object_get (element, "pole-radius", &radius, NULL);
  return radius;
}

/* The first set for at least the noise is used, the last one beyond; sigma is 1 unless it is set. */
GST_START_TEST (deblur_for_noise)
{
  GstElement *element = new_irfilter ("preset", "deblur", NULL);
  gdouble unset = radius_at (element, "noise", 2),
          at[] = { radius_at (element, "noise", 0), unset, radius_at (element, "noise", 5) };

  fail_unless (ABS (at[0] - at[1]) > 1e-6 && ABS (at[1] - at[2]) > 1e-6 && ABS (at[0] - at[2]) > 1e-6);
  fail_unless (ABS (radius_at (element, "noise", 0.01) - at[1]) < 1e-12);
  fail_unless (ABS (radius_at (element, "noise", 2.01) - at[2]) < 1e-12);
  fail_unless (ABS (radius_at (element, "noise", 10) - at[2]) < 1e-12);
  radius_at (element, "noise", 2);
  fail_unless (ABS (radius_at (element, "sigma", 3) - unset) > 1e-6);
  fail_unless (ABS (radius_at (element, "sigma", 1) - unset) < 1e-12);
  gst_object_unref (element);
}
GST_END_TEST

/* amount mixes the frame with the restored one: nothing of it, a half, all of it. */
GST_START_TEST (amount_of_deblur)
{
  GstElement *element = new_irfilter ("preset", "deblur", "amount", "0", NULL);
  static const guint8 edge[8] = { 100, 100, 100, 100, 140, 140, 140, 140 };
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", 8, 1, &info);
  guint8 restored[8], half[8];
  GstBuffer *out;

  expect_samples (h, &info, edge, edge, "amount 0");
  for (gint i = 0; i < 2; i++) {
    g_object_set (element, "amount", i ? 0.5 : 1.0, NULL);
    out = push_pull (h, gst_buffer_new_memdup (edge, sizeof edge));
    gst_buffer_extract (out, 0, i ? half : restored, sizeof edge);
    gst_buffer_unref (out);
  }
  fail_unless (restored[2] < 98 && restored[5] > 142, "%d %d", restored[2], restored[5]);
  for (gint i = 0; i < 8; i++)
    fail_unless (ABS (2 * half[i] - edge[i] - restored[i]) <= 2, "sample %d: %d", i, half[i]);
  close_harness (h, 3);
}
GST_END_TEST

#define SIDE 32

/* Turned by 90 degrees, a frame and the direction of its blur give the turned result. */
GST_START_TEST (motion_turns_with_the_frame)
{
  static const gint angles[] = { 0, 45 };
  GstElement *element = new_irfilter ("preset", "motion-deblur", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", SIDE, SIDE, &info);

  for (gsize i = 0; i < G_N_ELEMENTS (angles); i++) {
    GstBuffer *in = random_frame (&info, 1, 0), *turned = gst_buffer_copy_deep (in), *out, *turned_out;
    GstMapInfo a, b;

    gst_buffer_map (in, &a, GST_MAP_READ);
    gst_buffer_map (turned, &b, GST_MAP_WRITE);
    for (gint n = 0; n < SIDE * SIDE; n++)
      b.data[(SIDE - 1 - n % SIDE) * SIDE + n / SIDE] = a.data[n];
    gst_buffer_unmap (turned, &b);
    gst_buffer_unmap (in, &a);
    g_object_set (element, "angle", angles[i], NULL);
    out = push_pull (h, in);
    g_object_set (element, "angle", angles[i] + 90, NULL);
    turned_out = push_pull (h, turned);
    gst_buffer_map (out, &a, GST_MAP_READ);
    gst_buffer_map (turned_out, &b, GST_MAP_READ);
    for (gint n = 0; n < SIDE * SIDE; n++)
      fail_unless (ABS (b.data[(SIDE - 1 - n % SIDE) * SIDE + n / SIDE] - a.data[n]) <= 1, "angle %d", angles[i]);
    gst_buffer_unmap (turned_out, &b);
    gst_buffer_unmap (out, &a);
    gst_buffer_unref (turned_out);
    gst_buffer_unref (out);
  }
  close_harness (h, 4);
}
GST_END_TEST

static void
add (TCase *tests)
{
  tcase_add_test (tests, deblur_between_two_sets);
  tcase_add_test (tests, deblur_for_noise);
  tcase_add_test (tests, amount_of_deblur);
  tcase_add_test (tests, motion_turns_with_the_frame);
  tcase_add_test (tests, pole_radius);
  tcase_add_test (tests, flat_stays_flat);
  tcase_add_test (tests, quadrants_of_the_file);
}

const Properties irfilter_properties = {
  .factory = "cudairfilter",
  .file = "coefficients",
  .last_counts = last_counts,
  .format = "GRAY8",
  .width = 4,
  .height = 1,
  .samples = ramp,
  .steps = steps,
  .file_start = sharpen_by_0,
  .file_steps = file_steps,
  .passes = passes,
  .bad = bad,
  .bad_start = bad_start,
  .good_start = good_start,
  .bad_format = "GRAY8",
  .bad_width = 4,
  .bad_height = 1,
  /* The sum of 10, 15, 22.5, 31.75 and, with nw, 18.875, 27.75, 35.5, 41. */
  .refusal = { with_filter, kept_filter, (const guint8[4]) { 29, 43, 58, 73 } },
  .preset_refusal = { start, kept_sharpen, ramp },
  .good = good,
  .show = show,
  .make = make,
  .refused = refused,
  .add = add,
};
