/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * properties_convolve.c: the table of cudaconvolve, and results on frames small enough to compute the samples by
 * hand. */
#include "properties.h"

#define SHARPEN "0 -1 0; -1 5 -1; 0 -1 0"

static const Setting last_counts[] = { { "preset", "box" }, { "kernel", "1 2 1" }, { "=preset", "custom" },
  { "=kernel", "1 2 1" }, { "kernel-file", "@" }, { "=kernel", NULL }, { "=kernel-file", "@" },
  /* A preset is used while it is set; custom returns to the file. */
  { "preset", "gauss" }, { "=kernel-file", "@" }, { "preset", "custom" }, { "kernel", SHARPEN },
  { "=kernel-file", NULL }, { "=preset", "custom" }, { NULL } };

static const Setting size_3[] = { { "kernel-size", "3" }, { NULL } };

static const Step steps[] = { { "kernel", "1 0", { 10, 10, 20, 30 } }, { "kernel", "0 0 1", { 20, 30, 41, 41 } },
  { "bias", "5", { 25, 35, 46, 46 } }, { "flip", "true", { 15, 15, 25, 35 } }, { "flip", "false", { 25, 35, 46, 46 } },
  { "bias", "0", { 20, 30, 41, 41 } }, { "divisor", "2", { 10, 15, 20, 20 } }, { "divisor", "0", { 20, 30, 41, 41 } },
  { "preset", "identity", { 10, 20, 30, 41 } }, { "preset", "custom", { 20, 30, 41, 41 } },
  { "border", "wrap", { 20, 30, 41, 10 } }, { "preset", "box", { 24, 20, 30, 27 } },
  { "kernel-size", "1", { 10, 20, 30, 41 } }, { "preset", "custom", { 20, 30, 41, 10 } }, { NULL } };

static const Setting identity[] = { { "preset", "identity" }, { NULL } };

static const Step file_steps[] = { { "kernel-file", "@1 0\n", { 10, 10, 20, 30 } },
  { "preset", "identity", { 10, 20, 30, 41 } }, { "preset", "custom", { 10, 10, 20, 30 } },
  { "kernel-file", "@0 -1 0\n-1 5 -1\n0 -1 0\n", { 0, 20, 29, 52 } }, { "kernel-file", "@1 0", { 10, 10, 20, 30 } },
  { "kernel-file", "@0 -1 0;\r\n-1 5 -1;\r\n0 -1 0\r\n\r\n", { 0, 20, 29, 52 } },
  { "kernel-file", "@1 0", { 10, 10, 20, 30 } }, { "kernel-file", "@0,-1,0;-1,5,-1;0,-1,0", { 0, 20, 29, 52 } },
  { NULL } };

static const Pass passes[] = { { NULL, "the defaults", FALSE }, { "preset", "identity", TRUE },
  { "preset", "gauss", FALSE }, { "kernel-size", "1", TRUE }, { "kernel-height", "3", FALSE },
  { "kernel-height", "0", TRUE }, { "sigma", "20", TRUE }, { "kernel-size", "0", FALSE }, { "sigma", "0", FALSE },
  { "kernel", "0 0 0; 0 1 0; 0 0 0", TRUE }, { "bias", "1", FALSE }, { "bias", "0", TRUE }, { "gray", "luma", FALSE },
  { "apply-to", "luma", TRUE }, { "gray", "none", TRUE }, { "apply-to", "all", TRUE }, { "divisor", "2", FALSE },
  { "kernel", "2", TRUE }, { "kernel", "1 0", FALSE }, { "preset", "identity", FALSE }, { "divisor", "0", TRUE },
  /* With RGB, gray changes every sample; new caps decide again. */
  { "gray", "mean", FALSE }, { "caps", "RGB", FALSE }, { "caps", "GRAY8", TRUE }, { "caps", "NV12", FALSE },
  /* Whatever hides changes a frame, unless apply-to selects nothing of it. */
  { "gray", "none", TRUE }, { "preset", "fill", FALSE }, { "preset", "privacy", FALSE }, { "preset", "mosaic", FALSE },
  { "blocks", "64", FALSE }, { "caps", "GRAY8", FALSE }, { "apply-to", "chroma", TRUE }, { NULL } };

/* What a message shows of a long path: its last 116 characters. */
#define TWENTY "0123456789abcdefghij"
#define LONG_TAIL TWENTY TWENTY TWENTY TWENTY TWENTY "0123456789ab.txt"

static const Bad bad[] = { { "kernel", "", "row 1, column 1" }, { "kernel", " ; ", "row 1, column 1" },
  { "kernel", "1 2;;3 4", "row 2, column 1" }, { "kernel", "1 2 3;4 5 6;7 8", "row 3, column 3" },
  { "kernel", "1 2;3 4 5", "row 2, column 3" }, { "kernel", "1 2;3 x", "row 2, column 2: \"x\"" },
  { "kernel", "1 nan", "row 1, column 2: \"nan\"" }, { "kernel", "inf", "row 1, column 1: \"inf\"" },
  { "kernel", "1 2 -Infinity", "row 1, column 3" }, { "kernel", "0x10", "row 1, column 1" },
  { "kernel", "1 1e999", "row 1, column 2" }, { "kernel", "1,,2", "row 1, column 2" },
  { "kernel", "1,2,,", "row 1, column 3" }, { "kernel", "@64x64", "row 1, column 64" },
  { "kernel", "@1x64", "row 64, column 1" }, { "kernel", "@megabyte of letters", "row 1, column 1" },
  { "kernel", "@megabyte of numbers", "row 1, column 64" }, { "kernel", "@megabyte of blanks", "row 1, column 1" },
  { "kernel", "1e308 1e308", "row 1, column 1" }, { "kernel", "1 9000000; 1 1", "row 1, column 2", "GRAY8" },
  { "kernel", "1 1; -9000000 1", "row 2, column 1", "I420" },
  { "kernel-file", "/nonexistent/kernel.txt", "/nonexistent/kernel.txt" }, { "kernel-file", "/", "directory" },
  { "kernel-file", "/nonexistent/" LONG_TAIL, "\"..." LONG_TAIL "\"" }, { "kernel-file", "@1 2;3", "row 2, column 2" },
  { "kernel-file", "@1 2\n3 nan\n", "row 2, column 2" }, { "kernel-file", "@", "row 1, column 1" },
  { "kernel-size", "4", "3 or 5" }, { "kernel-width", "2", "1 or 3" }, { "kernel-height", "62", "61 or 63" },
  { "preset", "custom", "kernel" }, { NULL } };

static gchar *
make (const Bad *row)
{
  const gchar *value = row->value;
  gchar *line, *text;

  if (strcmp (row->name, "kernel-file") == 0)
    return g_strdup (value + 1);
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

/* "custom" is refused if there is no kernel to return to. */
static const Setting with_kernel[] = { { "preset", "identity" }, { "kernel", "1 0" }, { NULL } };
static const Setting kept_kernel[] = { { "preset", "custom" }, { "kernel", "1 0" }, { "kernel-size", "0" },
  { "kernel-file", NULL }, { NULL } };
static const Setting kept_identity[] = { { "preset", "identity" }, { "kernel", NULL }, { "kernel-size", "0" },
  { "kernel-file", NULL }, { NULL } };
static const Setting good_start[] = { { "kernel", SHARPEN }, { "kernel-size", "3" }, { "kernel-width", "3" },
  { "kernel-height", "0" }, { NULL } };
static const Setting good[] = { { "kernel", "1" }, { NULL } };

static void
show (GstHarness *h, const GstVideoInfo *info, const Refusal *r, guint n)
{
  expect_samples (h, info, ramp, n < 2 ? r->right : ramp, n ? "after" : "before");
}

/* A late frame is dropped and not counted, filtered or not. */
GST_START_TEST (late_frames_are_dropped)
{
  for (gint pass = 0; pass < 2; pass++) {
    GstElement *element = new_convolve ("preset", pass ? "identity" : "box", NULL);
    GstVideoInfo info;
    GstHarness *h = new_stream (element, "GRAY8", 32, 16, &info);
    GstBuffer *in, *out;

    gst_buffer_unref (push_pull (h, random_frame (&info, 1, 0)));
    fail_unless (gst_harness_push_upstream_event (h,
        gst_event_new_qos (GST_QOS_TYPE_UNDERFLOW, 2.0, GST_SECOND, 40 * GST_MSECOND)));
    fail_unless_equals_int (gst_harness_push (h, random_frame (&info, 2, 0)), GST_FLOW_OK);
    fail_unless (gst_harness_try_pull (h) == NULL, "a late frame came out");
    in = random_frame (&info, 100, 0);
    out = push_pull (h, in);
    fail_unless ((out == in) == pass);
    gst_buffer_unref (out);
    close_harness (h, 2);
  }
}
GST_END_TEST

/* ---- samples by hand ---------------------------------------------------- */

typedef struct {
  const gchar *properties[5][2];
  guint8 right[24];
} ByHand;

/* Each plane's rows are four or eight bytes long. */
static const guint8 gray[12] = { 10, 20, 30, 40, 50, 60, 70, 80, 91, 100, 110, 255 };

static const ByHand kernels[] = {
  { { { "preset", "identity" } }, { 10, 20, 30, 40, 50, 60, 70, 80, 91, 100, 110, 255 } },
  { { { "preset", "box" }, { "kernel-size", "3" } }, { 27, 33, 43, 50, 54, 60, 85, 107, 80, 87, 127, 163 } },
  { { { "preset", "box" }, { "kernel-width", "3" }, { "kernel-height", "1" } },
      { 13, 20, 30, 37, 53, 60, 70, 77, 94, 100, 155, 207 } },
  { { { "preset", "sharpen" } }, { 0, 0, 0, 10, 39, 60, 70, 0, 123, 139, 15, 255 } },
  { { { "preset", "sharpen" }, { "amount", "0" } }, { 10, 20, 30, 40, 50, 60, 70, 80, 91, 100, 110, 255 } },
  { { { "preset", "laplace" } }, { 50, 40, 40, 30, 11, 0, 0, 125, 0, 0, 95, 0 } },
  { { { "preset", "laplace" }, { "bias", "128" } }, { 178, 168, 168, 158, 139, 128, 128, 253, 96, 89, 223, 0 } },
  { { { "preset", "emboss" } }, { 160, 200, 210, 190, 255, 255, 255, 255, 241, 255, 255, 255 } },
  { { { "preset", "emboss" }, { "angle", "90" } }, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 37, 185, 165 } },
  { { { "kernel", "0 -1 0; -1 5 -1; 0 -1 0" } }, { 0, 0, 0, 10, 39, 60, 70, 0, 123, 139, 15, 255 } },
  { { { "kernel", "0,-1,0;-1, 5 ,-1;0\t-1\t0;" } }, { 0, 0, 0, 10, 39, 60, 70, 0, 123, 139, 15, 255 } },
  { { { "kernel", "0 -2e0 0; -.2e+1 10. -2; 0 -2 0" } }, { 0, 0, 0, 10, 39, 60, 70, 0, 123, 139, 15, 255 } },
  /* One tap on the left of the anchor: the image moves to the right. */
  { { { "kernel", "1 0" } }, { 10, 10, 20, 30, 50, 50, 60, 70, 91, 91, 100, 110 } },
  { { { "kernel", "1 0" }, { "flip", "true" } }, { 20, 30, 40, 40, 60, 70, 80, 80, 100, 110, 255, 255 } },
  { { { "kernel", "1; 0" }, { "flip", "true" } }, { 50, 60, 70, 80, 91, 100, 110, 255, 91, 100, 110, 255 } },
  { { { "kernel", "1 0 0 0 0" }, { "border", "reflect101" } }, { 30, 20, 10, 20, 70, 60, 50, 60, 110, 100, 91, 100 } },
  { { { "kernel", "1 0 0 0 0" }, { "border", "wrap" } }, { 30, 40, 10, 20, 70, 80, 50, 60, 110, 255, 91, 100 } },
  { { { "kernel", "1 0 0 0 0" }, { "border", "constant" }, { "border-value", "7" } },
      { 7, 7, 10, 20, 7, 7, 50, 60, 7, 7, 91, 100 } },
  { { { "kernel", "1 0 0 0 0" }, { "border", "constant" }, { "border-value", "9999" } },
      { 255, 255, 10, 20, 255, 255, 50, 60, 255, 255, 91, 100 } },
  /* Halves round to even: 45.5 to 46, 127.5 to 128, 2.5 to 2. */
  { { { "kernel", "1" }, { "divisor", "2" } }, { 5, 10, 15, 20, 25, 30, 35, 40, 46, 50, 55, 128 } },
  { { { "kernel", "1" }, { "divisor", "4" } }, { 2, 5, 8, 10, 12, 15, 18, 20, 23, 25, 28, 64 } },
  { { { "kernel", "1" }, { "divisor", "1" }, { "bias", "0.5" } },
      { 10, 20, 30, 40, 50, 60, 70, 80, 92, 100, 110, 255 } },
  { { { "kernel", "-1" }, { "divisor", "1" }, { "bias", "255" } },
      { 245, 235, 225, 215, 205, 195, 185, 175, 164, 155, 145, 0 } },
  { { { "kernel", "0.5" }, { "divisor", "1" } }, { 5, 10, 15, 20, 25, 30, 35, 40, 46, 50, 55, 128 } },
  /* 0.114 255 = 29.07. A cell has 4 pixels at least, so this is one: 916 / 12 = 76.3. */
  { { { "preset", "fill" }, { "fill-color", "0x0000ff" } }, { 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29 } },
  { { { "preset", "mosaic" }, { "blocks", "2" } }, { 76, 76, 76, 76, 76, 76, 76, 76, 76, 76, 76, 76 } },
  { { { NULL } } }
};

/* A Gaussian rounds halves up; other kernels round halves to even. */
static const guint8 halves[4] = { 0, 2, 0, 0 };

static const ByHand gauss[] = { { { { "preset", "gauss" }, { "kernel-size", "3" } }, { 1, 1, 1, 0 } },
  { { { NULL } } } };

static const guint8 colours[12] = { 10, 20, 40, 10, 20, 40, 0, 0, 0, 255, 255, 255 };

static const ByHand grays[] = {
  /* (10 + 20 + 40) / 3 = 23.3; (770 + 3000 + 1160 + 128) / 256 = 19.8 */
  { { { "preset", "identity" }, { "gray", "mean" } }, { 23, 23, 23, 23, 23, 23, 0, 0, 0, 255, 255, 255 } },
  { { { "preset", "identity" }, { "gray", "luma" } }, { 19, 19, 19, 19, 19, 19, 0, 0, 0, 255, 255, 255 } },
  { { { "kernel", "0 0 1" }, { "gray", "mean" } }, { 23, 23, 23, 0, 0, 0, 255, 255, 255, 255, 255, 255 } },
  { { { "preset", "fill" } }, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
  { { { "preset", "fill" }, { "fill-color", "0x80112233" } }, { 17, 34, 51, 17, 34, 51, 17, 34, 51, 17, 34, 51 } },
  { { { NULL } } }
};

/* Luma 4 x 4, then two rows of two chroma pairs. */
static const guint8 nv12[24] = { 0, 0, 100, 100, 0, 0, 100, 100, 0, 0, 100, 100, 0, 0, 100, 100, 1, 2, 3, 4, 5, 6, 7,
  8 };

static const ByHand yuvs[] = {
  /* The gradient is 400 on both sides of the step. */
  { { { "preset", "sobel" }, { "divisor", "4" } },
      { 0, 100, 100, 0, 0, 100, 100, 0, 0, 100, 100, 0, 0, 100, 100, 0, 128, 128, 128, 128, 128, 128, 128, 128 } },
  { { { "preset", "sobel" }, { "divisor", "4" }, { "apply-to", "luma" } },
      { 0, 100, 100, 0, 0, 100, 100, 0, 0, 100, 100, 0, 0, 100, 100, 0, 1, 2, 3, 4, 5, 6, 7, 8 } },
  { { { "preset", "prewitt" }, { "divisor", "3" }, { "bias", "5" } },
      { 5, 105, 105, 5, 5, 105, 105, 5, 5, 105, 105, 5, 5, 105, 105, 5, 128, 128, 128, 128, 128, 128, 128, 128 } },
  { { { "preset", "scharr" } },
      { 0, 255, 255, 0, 0, 255, 255, 0, 0, 255, 255, 0, 0, 255, 255, 0, 128, 128, 128, 128, 128, 128, 128, 128 } },
  /* 400 to the right in luma, nothing downward; 8 and 16 in chroma. */
  { { { "preset", "sobel-x" }, { "divisor", "8" } },
      { 128, 178, 178, 128, 128, 178, 178, 128, 128, 178, 178, 128, 128, 178, 178, 128, 129, 129, 129, 129, 129, 129,
          129, 129 } },
  { { { "preset", "sobel-y" }, { "divisor", "-8" }, { "bias", "2" } },
      { 130, 130, 130, 130, 130, 130, 130, 130, 130, 130, 130, 130, 130, 130, 130, 130, 126, 126, 126, 126, 126, 126,
          126, 126 } },
  /* Identity with gray: luma unchanged, chroma neutral. */
  { { { "preset", "identity" }, { "gray", "luma" } },
      { 0, 0, 100, 100, 0, 0, 100, 100, 0, 0, 100, 100, 0, 0, 100, 100, 128, 128, 128, 128, 128, 128, 128, 128 } },
  /* Chroma is doubled about its middle, luma about zero; 128 - 2 * 127 is under 0. */
  { { { "kernel", "2" }, { "divisor", "1" }, { "bias", "3" } },
      { 3, 3, 203, 203, 3, 3, 203, 203, 3, 3, 203, 203, 3, 3, 203, 203, 0, 0, 0, 0, 0, 0, 0, 0 } },
  { { { "kernel", "0.5" }, { "divisor", "1" }, { "apply-to", "chroma" } },
      { 0, 0, 100, 100, 0, 0, 100, 100, 0, 0, 100, 100, 0, 0, 100, 100, 64, 65, 66, 66, 66, 67, 68, 68 } },
  /* Black is 16 in limited range, and has the middle levels of chroma. One cell: the means of 0 and 100, of 1, 3, 5, 7
   * and of 2, 4, 6, 8. */
  { { { "preset", "fill" } },
      { 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 128, 128, 128, 128, 128, 128, 128, 128 } },
  { { { "preset", "mosaic" }, { "blocks", "2" } },
      { 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 4, 5, 4, 5, 4, 5, 4, 5 } },
  { { { "preset", "privacy" }, { "blocks", "2" }, { "apply-to", "luma" } },
      { 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 1, 2, 3, 4, 5, 6, 7, 8 } },
  { { { NULL } } }
};

static const struct {
  const gchar *format;
  gint width, height;
  const guint8 *in;
  const ByHand *rows;
} by_hand[] = { { "GRAY8", 4, 3, gray, kernels }, { "GRAY8", 4, 1, halves, gauss }, { "RGB", 4, 1, colours, grays },
  { "NV12", 4, 4, nv12, yuvs } };

/* Each row is for an element of its own. */
GST_START_TEST (samples_by_hand)
{
  for (const ByHand *row = by_hand[__i__].rows; row->properties[0][0]; row++) {
    GstElement *element = new_convolve (NULL);
    GstHarness *h = new_harness (element);
    GstVideoInfo info;

    for (gsize i = 0; i < 5 && row->properties[i][0]; i++)
      set_value (element, row->properties[i][0], row->properties[i][1]);
    set_caps (h, video_caps (by_hand[__i__].format, by_hand[__i__].width, by_hand[__i__].height, NULL), &info);
    expect_samples (h, &info, by_hand[__i__].in, row->right, row->properties[0][1]);
    close_harness (h, 1);
  }
}
GST_END_TEST

/* Blurs of every size leave a flat frame flat; motion ends at 63. */
GST_START_TEST (flat_stays_flat)
{
  static const gchar *const presets[] = { "box", "gauss", "unsharp", "sharpen", "motion" };
  GstElement *element = new_convolve (NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", 64, 4, &info);
  guint8 flat[64 * 4];
  gint n = 0;

  for (gint size = 1; size <= 255; size += size < 63 ? 2 : 64)
    for (gsize p = 0; p < G_N_ELEMENTS (presets) - (size > 63); p++, n++) {
      memset (flat, size * 4, sizeof flat);
      set_value (element, "preset", presets[p]);
      g_object_set (element, "kernel-size", size, "angle", size % 64 * 5.5, "amount", size % 64 * 0.1, NULL);
      expect_samples (h, &info, flat, flat, presets[p]);
    }
  close_harness (h, n);
}
GST_END_TEST

static void
set_with_points (void)
{
  GstElement *element = new_convolve (NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", 4, 1, &info);
  gdouble sigma = 0;

  g_object_set (element, "sigma", 1.25, NULL);
  g_object_get (element, "sigma", &sigma, NULL);
  fail_unless (sigma > 1.2 && sigma < 1.3);
  g_object_set (element, "kernel", "0.5 0 0.5", NULL);
  expect_samples (h, &info, ramp, (const guint8[4]) { 15, 20, 30, 36 }, "kernel");
  expect_no_messages (element);
  close_harness (h, 1);
}

/* Numbers have a point as their decimal sign, in all locales. */
GST_START_TEST (decimal_comma)
{
  in_comma_locale (set_with_points);
}
GST_END_TEST

/* A text and a file of 1 MB are read, of one byte more they are not. */
GST_START_TEST (length_of_a_text)
{
  GstElement *element = new_convolve (NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", 4, 1, &info);

  for (gint i = 0; i < 4; i++) {
    gchar *blanks = repeated (" ", (1 << 20) - (i & 1 ? 0 : 1)), *text = g_strconcat ("1", blanks, NULL);
    gchar *value = i & 2 ? temporary_file (text) : g_strdup (text);

    g_object_set (element, i & 2 ? "kernel-file" : "kernel", value, NULL);
    if (i & 1)
      g_free (only_message (element, GST_MESSAGE_WARNING, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS));
    else
      expect_no_messages (element);
    free_value (value, (i & 2) != 0);
    g_free (text);
    g_free (blanks);
  }
  close_harness (h, 0);
}
GST_END_TEST

static void
add (TCase *tests)
{
  tcase_add_test (tests, length_of_a_text);
  tcase_add_test (tests, decimal_comma);
  tcase_add_test (tests, late_frames_are_dropped);
  tcase_add_loop_test (tests, samples_by_hand, 0, G_N_ELEMENTS (by_hand));
  tcase_add_test (tests, flat_stays_flat);
}

const Properties convolve_properties = {
  .factory = "cudaconvolve",
  .file = "kernel-file",
  .last_counts = last_counts,
  .start = size_3,
  .format = "GRAY8",
  .width = 4,
  .height = 1,
  .samples = ramp,
  .steps = steps,
  .file_start = identity,
  .file_steps = file_steps,
  .passes = passes,
  .bad = bad,
  .good_start = good_start,
  .bad_format = "GRAY8",
  .bad_width = 4,
  .bad_height = 1,
  .refusal = { with_kernel, kept_kernel, (const guint8[4]) { 10, 10, 20, 30 } },
  .preset_refusal = { identity, kept_identity, ramp },
  .good = good,
  .show = show,
  .make = make,
  .add = add,
};
