/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * pixels.c: compares every sample of every format with a median by sorting. */
#include "common.h"

static const gchar *const formats[] = { "GRAY8", "GRAY16_LE", "NV12", "NV21", "I420", "YV12", "NV16", "Y42B", "Y444",
  "YUY2", "UYVY", "AYUV", "RGB", "BGR", "RGBA", "BGRA", "ARGB", "ABGR", "RGBx", "BGRx", "xRGB", "xBGR", "GBR",
  "P010_10LE", "P016_LE", "I420_10LE", "I422_10LE", "Y444_10LE", "Y444_16LE", NULL };
#define N_FORMATS (G_N_ELEMENTS (formats) - 1)

/* Pushes `n` frames; fails unless each is filtered right. */
static void
filter (GstHarness *h, const gchar *format, gint width, gint height, const gchar *more, gint n, const Expect *e)
{
  GstBuffer *in[16] = { NULL };
  GstVideoInfo info;

  set_caps (h, video_caps (format, width, height, more), &info);
  for (gint i = 0; i < n; i++) {
    GstBuffer *out;

    memmove (in + 1, in, 15 * sizeof in[0]);
    in[0] = random_frame (&info, (guint) i + 1, i % 3);
    out = gst_harness_push_and_pull (h, gst_buffer_ref (in[0]));
    fail_unless (out != NULL, "no frame came out");
    assert_filtered (&info, out, in, MIN (i + 1, e->depth), e);
    gst_buffer_unref (out);
  }
  for (gint i = 0; i < n; i++)
    gst_buffer_unref (in[i]);
}

GST_START_TEST (every_format)
{
  static const gint sizes[][2] = { { 1, 1 }, { 1, 7 }, { 6, 1 }, { 3, 3 }, { 17, 10 }, { 37, 21 } };
  static const struct {
    const gchar *width, *height;
    gint w, h;
  } windows[] = {
    { "3", "3", 3, 3 }, { "5", "1", 5, 1 }, { "1", "9", 1, 9 }, { "5", "5", 5, 5 }, { "13", "13", 13, 13 }
  };

  for (gsize w = 0; w < G_N_ELEMENTS (windows); w++) {
    GstHarness *h = new_harness (new_element ("kernel-width", windows[w].width, "kernel-height", windows[w].height,
            NULL));
    Expect e = EXPECT (0);

    e.width = windows[w].w;
    e.height = windows[w].h;
    for (gsize s = 0; s < G_N_ELEMENTS (sizes); s++)
      filter (h, formats[__i__], sizes[s][0], sizes[s][1], NULL, 2, &e);
    close_harness (h, 2 * G_N_ELEMENTS (sizes));
  }
}
GST_END_TEST

/* The list above equals the element's pad template. */
GST_START_TEST (all_formats_are_tested)
{
  GstElement *element = new_element (NULL);
  GstPad *pad = gst_element_get_static_pad (element, "sink");
  GstCaps *caps = gst_pad_get_pad_template_caps (pad);
  const GValue *list = gst_structure_get_value (gst_caps_get_structure (caps, gst_caps_get_size (caps) - 1), "format");

  fail_unless_equals_int (gst_value_list_get_size (list), N_FORMATS);
  for (guint i = 0; i < gst_value_list_get_size (list); i++)
    fail_unless (g_strv_contains (formats, g_value_get_string (gst_value_list_get_value (list, i))));
  gst_caps_unref (caps);
  gst_object_unref (pad);
  gst_object_unref (element);
}
GST_END_TEST

GST_START_TEST (percentile_and_threshold)
{
  static const gint percentiles[] = { 0, 1, 25, 50, 99, 100 };
  Expect e = EXPECT (3);

  for (gsize i = 0; i < G_N_ELEMENTS (percentiles); i++) {
    gchar *text = g_strdup_printf ("%d", percentiles[i]);
    GstHarness *h = new_harness (new_element ("percentile", text, "threshold", "40", NULL));

    e.percentile = percentiles[i];
    e.threshold = 40;
    filter (h, "I420", 21, 13, NULL, 2, &e);
    close_harness (h, 2);
    g_free (text);
  }
}
GST_END_TEST

GST_START_TEST (apply_to)
{
  for (gint luma = 0; luma < 2; luma++) {
    Expect e = EXPECT (5);
    GstHarness *h = new_harness (new_element ("kernel-size", "5", "apply-to", luma ? "luma" : "chroma", NULL));

    e.luma = luma;
    e.chroma = !luma;
    filter (h, "NV12", 22, 14, NULL, 1, &e);
    filter (h, "YUY2", 22, 14, NULL, 1, &e);
    filter (h, "AYUV", 9, 14, NULL, 1, &e);
    close_harness (h, 3);
  }
}
GST_END_TEST

GST_START_TEST (packed_pixels)
{
  static const gchar *const rgb[] = { "RGB", "BGR", "RGBA", "xBGR", "GBR" };
  GstHarness *h = new_harness (new_element ("color-order", "packed", "threshold", "3", NULL));
  Expect e = EXPECT (3);

  e.packed = TRUE;
  e.threshold = 3;
  for (gsize i = 0; i < G_N_ELEMENTS (rgb); i++)
    filter (h, rgb[i], 19, 11, NULL, 2, &e);
  close_harness (h, 2 * G_N_ELEMENTS (rgb));
}
GST_END_TEST

GST_START_TEST (frames_before)
{
  for (gint depth = 3; depth <= 7; depth += 2) {
    gchar *text = g_strdup_printf ("%d", depth);
    GstHarness *h = new_harness (new_element ("temporal-depth", text, "kernel-size", depth == 7 ? "1" : "3", NULL));
    Expect e = EXPECT (depth == 7 ? 1 : 3);

    e.depth = depth;
    /* New caps clear the history. */
    filter (h, "NV12", 15, 9, NULL, 9, &e);
    filter (h, "RGB", 15, 9, NULL, 4, &e);
    close_harness (h, 13);
    g_free (text);
  }
}
GST_END_TEST

GST_START_TEST (interlaced_fields)
{
  static const gint heights[] = { 1, 2, 5, 12 };
  GstHarness *h = new_harness (new_element ("kernel-size", "3", "temporal-depth", "3", NULL));
  Expect e = EXPECT (3);

  e.interlaced = TRUE;
  e.depth = 3;
  for (gsize i = 0; i < G_N_ELEMENTS (heights); i++) {
    filter (h, "NV12", 13, heights[i], "interlace-mode=interleaved,field-order=top-field-first", 4, &e);
    filter (h, "RGBA", 13, heights[i], "interlace-mode=interleaved,field-order=top-field-first", 1, &e);
  }
  close_harness (h, 5 * G_N_ELEMENTS (heights));
}
GST_END_TEST

/* In mixed streams each buffer's flags decide, and the history continues. */
GST_START_TEST (mixed_fields)
{
  GstHarness *h = new_harness (new_element ("temporal-depth", "3", NULL));
  Expect e = EXPECT (3);
  GstBuffer *in[6] = { NULL };
  GstVideoInfo info;

  e.depth = 3;
  set_caps (h, video_caps ("I420", 11, 8, "interlace-mode=mixed"), &info);
  for (gint i = 0; i < 6; i++) {
    GstBuffer *out;

    memmove (in + 1, in, 5 * sizeof in[0]);
    in[0] = random_frame (&info, (guint) i + 1, 0);
    e.interlaced = i % 3 == 1;
    if (e.interlaced)
      GST_BUFFER_FLAG_SET (in[0], GST_VIDEO_BUFFER_FLAG_INTERLACED);
    out = gst_harness_push_and_pull (h, gst_buffer_ref (in[0]));
    assert_filtered (&info, out, in, MIN (i + 1, 3), &e);
    gst_buffer_unref (out);
  }
  for (gint i = 0; i < 6; i++)
    gst_buffer_unref (in[i]);
  close_harness (h, 6);
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("pixels");

  tcase_add_loop_test (tests, every_format, 0, N_FORMATS);
  tcase_add_test (tests, all_formats_are_tested);
  tcase_add_test (tests, percentile_and_threshold);
  tcase_add_test (tests, apply_to);
  tcase_add_test (tests, packed_pixels);
  tcase_add_test (tests, frames_before);
  tcase_add_test (tests, interlaced_fields);
  tcase_add_test (tests, mixed_fields);
  return run_suite (argc, argv, "pixels", tests, FALSE);
}
