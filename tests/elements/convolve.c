/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve.c: results of cudaconvolve on frames small enough to compute the samples by hand. */
#include "common.h"

#include <glib/gstdio.h>
#include <unistd.h>

/* Each plane's rows are four or eight bytes long. */
static const guint8 gray[12] = { 10, 20, 30, 40, 50, 60, 70, 80, 91, 100, 110, 255 };

static GstHarness *
harness_of (const gchar *const properties[5][2])
{
  GstElement *element = new_convolve (NULL);

  for (gsize i = 0; i < 5 && properties[i][0]; i++)
    gst_util_set_object_arg (G_OBJECT (element), properties[i][0], properties[i][1]);
  return new_harness (element);
}

static void
try_case (const gchar *const properties[5][2], const gchar *format, gint width, gint height, const guint8 *in,
    const guint8 *right)
{
  GstHarness *h = harness_of (properties);
  GstVideoInfo info;
  GstBuffer *out;

  set_caps (h, video_caps (format, width, height, NULL), &info);
  out = gst_harness_push_and_pull (h, frame_of (&info, in));
  fail_unless (out != NULL);
  assert_samples (&info, out, right, properties[0][1]);
  gst_buffer_unref (out);
  close_harness (h, 1);
}

static const struct {
  const gchar *properties[5][2];
  guint8 right[12];
} kernels[] = {
  { { { "preset", "identity" } }, { 10, 20, 30, 40, 50, 60, 70, 80, 91, 100, 110, 255 } },
  { { { "preset", "box" }, { "kernel-size", "3" } }, { 27, 33, 43, 50, 54, 60, 85, 107, 80, 87, 127, 163 } },
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
};

GST_START_TEST (kernels_by_hand)
{
  try_case (kernels[__i__].properties, "GRAY8", 4, 3, gray, kernels[__i__].right);
}
GST_END_TEST

/* A Gaussian rounds halves up; other kernels round halves to even. */
GST_START_TEST (gauss_rounds_up)
{
  static const guint8 in[4] = { 0, 2, 0, 0 }, right[4] = { 1, 1, 1, 0 };
  static const gchar *const properties[5][2] = { { "preset", "gauss" }, { "kernel-size", "3" } };

  try_case (properties, "GRAY8", 4, 1, in, right);
}
GST_END_TEST

/* Blurs of every size leave a flat frame flat. */
GST_START_TEST (flat_stays_flat)
{
  static const gchar *const presets[] = { "box", "gauss", "unsharp", "sharpen", "motion" };
  GstElement *element = new_convolve (NULL);
  GstHarness *h = new_harness (element);
  GstVideoInfo info;
  guint8 flat[64 * 4];
  gint n = 0;

  set_caps (h, video_caps ("GRAY8", 64, 4, NULL), &info);
  for (gint size = 1; size <= 63; size += 2)
    for (gsize p = 0; p < G_N_ELEMENTS (presets); p++) {
      GstBuffer *out;

      memset (flat, size * 4, sizeof flat);
      gst_util_set_object_arg (G_OBJECT (element), "preset", presets[p]);
      g_object_set (element, "kernel-size", size, "angle", size * 5.5, "amount", size * 0.1, NULL);
      out = gst_harness_push_and_pull (h, frame_of (&info, flat));
      assert_samples (&info, out, flat, presets[p]);
      gst_buffer_unref (out);
      n++;
    }
  close_harness (h, n);
}
GST_END_TEST

static const struct {
  const gchar *properties[5][2];
  guint8 right[12];
} grays[] = {
  /* (10 + 20 + 40) / 3 = 23.3; (770 + 3000 + 1160 + 128) / 256 = 19.8 */
  { { { "preset", "identity" }, { "gray", "mean" } }, { 23, 23, 23, 23, 23, 23, 0, 0, 0, 255, 255, 255 } },
  { { { "preset", "identity" }, { "gray", "luma" } }, { 19, 19, 19, 19, 19, 19, 0, 0, 0, 255, 255, 255 } },
  { { { "kernel", "0 0 1" }, { "gray", "mean" } }, { 23, 23, 23, 0, 0, 0, 255, 255, 255, 255, 255, 255 } },
};

GST_START_TEST (gray_of_colours)
{
  static const guint8 in[12] = { 10, 20, 40, 10, 20, 40, 0, 0, 0, 255, 255, 255 };

  try_case (grays[__i__].properties, "RGB", 4, 1, in, grays[__i__].right);
}
GST_END_TEST

/* Luma 4 x 4, then two rows of two chroma pairs. */
static const guint8 nv12[24] = { 0, 0, 100, 100, 0, 0, 100, 100, 0, 0, 100, 100, 0, 0, 100, 100,
  1, 2, 3, 4, 5, 6, 7, 8 };

static const struct {
  const gchar *properties[5][2];
  guint8 right[24];
} yuvs[] = {
  /* The gradient is 400 on both sides of the step. */
  { { { "preset", "sobel" }, { "divisor", "4" } },
    { 0, 100, 100, 0, 0, 100, 100, 0, 0, 100, 100, 0, 0, 100, 100, 0, 128, 128, 128, 128, 128, 128, 128, 128 } },
  { { { "preset", "sobel" }, { "divisor", "4" }, { "apply-to", "luma" } },
    { 0, 100, 100, 0, 0, 100, 100, 0, 0, 100, 100, 0, 0, 100, 100, 0, 1, 2, 3, 4, 5, 6, 7, 8 } },
  { { { "preset", "prewitt" }, { "divisor", "3" }, { "bias", "5" } },
    { 5, 105, 105, 5, 5, 105, 105, 5, 5, 105, 105, 5, 5, 105, 105, 5, 128, 128, 128, 128, 128, 128, 128, 128 } },
  { { { "preset", "scharr" } },
    { 0, 255, 255, 0, 0, 255, 255, 0, 0, 255, 255, 0, 0, 255, 255, 0, 128, 128, 128, 128, 128, 128, 128, 128 } },
  /* Identity with gray: luma unchanged, chroma neutral. */
  { { { "preset", "identity" }, { "gray", "luma" } },
    { 0, 0, 100, 100, 0, 0, 100, 100, 0, 0, 100, 100, 0, 0, 100, 100, 128, 128, 128, 128, 128, 128, 128, 128 } },
  /* Chroma is doubled about its middle, luma about zero; 128 - 2 * 127 is under 0. */
  { { { "kernel", "2" }, { "divisor", "1" }, { "bias", "3" } },
    { 3, 3, 203, 203, 3, 3, 203, 203, 3, 3, 203, 203, 3, 3, 203, 203, 0, 0, 0, 0, 0, 0, 0, 0 } },
  { { { "kernel", "0.5" }, { "divisor", "1" }, { "apply-to", "chroma" } },
    { 0, 0, 100, 100, 0, 0, 100, 100, 0, 0, 100, 100, 0, 0, 100, 100, 64, 65, 66, 66, 66, 67, 68, 68 } },
};

GST_START_TEST (luma_and_chroma)
{
  try_case (yuvs[__i__].properties, "NV12", 4, 4, nv12, yuvs[__i__].right);
}
GST_END_TEST

GST_START_TEST (kernel_from_a_file)
{
  static const gchar *const texts[] = { "0 -1 0\n-1 5 -1\n0 -1 0\n", "0 -1 0;\r\n-1 5 -1;\r\n0 -1 0\r\n\r\n",
    "0,-1,0;-1,5,-1;0,-1,0" };

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++) {
    gchar *path = g_build_filename (g_get_tmp_dir (), "cf-kernel-XXXXXX", NULL);
    const gchar *const properties[5][2] = { { "kernel-file", path } };
    gint file = g_mkstemp (path);

    fail_unless (file >= 0 && g_file_set_contents (path, texts[i], -1, NULL));
    try_case (properties, "GRAY8", 4, 3, gray, kernels[2].right);
    close (file);
    unlink (path);
    g_free (path);
  }
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("convolve");

  tcase_add_loop_test (tests, kernels_by_hand, 0, G_N_ELEMENTS (kernels));
  tcase_add_test (tests, gauss_rounds_up);
  tcase_add_test (tests, flat_stays_flat);
  tcase_add_loop_test (tests, gray_of_colours, 0, G_N_ELEMENTS (grays));
  tcase_add_loop_test (tests, luma_and_chroma, 0, G_N_ELEMENTS (yuvs));
  tcase_add_test (tests, kernel_from_a_file);
  return run_suite (argc, argv, "convolve", tests, FALSE);
}
