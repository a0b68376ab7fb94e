/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * pixels.c: compares every sample of every format with a median by sorting, and colours that properties name with those
 * that GStreamer's converter makes of them. */
#include "common.h"

#define N_FORMATS 42

/* Pushes `n` frames; fails unless each is filtered right. In a mixed stream every third one is interlaced. */
static void
filter (GstHarness *h, const gchar *format, gint width, gint height, const gchar *more, gint n, const Expect *expect)
{
  const gboolean mixed = more && strstr (more, "mixed");
  GstBuffer *in[16] = { NULL };
  Expect e = *expect;
  GstVideoInfo info;

  set_caps (h, video_caps (format, width, height, more), &info);
  for (gint i = 0; i < n; i++) {
    GstBuffer *out;

    memmove (in + 1, in, 15 * sizeof in[0]);
    in[0] = random_frame (&info, (guint) i + 1, i % 3);
    e.interlaced = mixed ? i % 3 == 1 : more != NULL;
    if (mixed && e.interlaced)
      GST_BUFFER_FLAG_SET (in[0], GST_VIDEO_BUFFER_FLAG_INTERLACED);
    out = push_pull (h, gst_buffer_ref (in[0]));
    assert_filtered (&info, out, in, MIN (i + 1, e.depth), &e);
    gst_buffer_unref (out);
  }
  for (gint i = 0; i < n; i++)
    gst_buffer_unref (in[i]);
}

GST_START_TEST (every_format)
{
  static const gint sizes[][2] = { { 1, 1 }, { 1, 7 }, { 6, 1 }, { 3, 3 }, { 17, 10 }, { 37, 21 } };
  static const gint windows[][2] = { { 3, 3 }, { 5, 1 }, { 1, 9 }, { 5, 5 }, { 13, 13 } };
  gchar **formats = formats_of ("cudamedian", FALSE, N_FORMATS);

  for (gsize w = 0; w < G_N_ELEMENTS (windows); w++) {
    GstElement *element = new_element (NULL);
    GstHarness *h = new_harness (element);
    Expect e = EXPECT (0);

    e.width = windows[w][0];
    e.height = windows[w][1];
    g_object_set (element, "kernel-width", e.width, "kernel-height", e.height, NULL);
    for (gsize s = 0; s < G_N_ELEMENTS (sizes); s++)
      filter (h, formats[__i__], sizes[s][0], sizes[s][1], NULL, 2, &e);
    close_harness (h, 2 * G_N_ELEMENTS (sizes));
  }
  g_strfreev (formats);
}
GST_END_TEST

#define INTERLACED "interlace-mode=interleaved,field-order=top-field-first"

/* Each row is an element with its properties, and the streams that it filters one after the other: new caps clear the
 * history. */
static const struct {
  const gchar *properties[3][2];
  Expect e;
  struct {
    const gchar *format;
    gint width, height, frames;
    const gchar *more;
  } streams[8];
} rows[] = {
#define PERCENTILE(text, value) \
  { \
    { { "percentile", text }, { "threshold", "40" } }, { 3, 3, 1, value, 40, FALSE, FALSE, TRUE, TRUE }, \
    { { "I420", 21, 13, 2 } } \
  }
  PERCENTILE ("0", 0),
  PERCENTILE ("1", 1),
  PERCENTILE ("25", 25),
  PERCENTILE ("50", 50),
  PERCENTILE ("99", 99),
  PERCENTILE ("100", 100),
  { { { "kernel-size", "5" }, { "apply-to", "chroma" } }, { 5, 5, 1, 50, 0, FALSE, FALSE, FALSE, TRUE },
      { { "NV12", 22, 14, 1 }, { "YUY2", 22, 14, 1 }, { "AYUV", 9, 14, 1 } } },
  { { { "kernel-size", "5" }, { "apply-to", "luma" } }, { 5, 5, 1, 50, 0, FALSE, FALSE, TRUE, FALSE },
      { { "NV12", 22, 14, 1 }, { "YUY2", 22, 14, 1 }, { "AYUV", 9, 14, 1 } } },
  { { { "color-order", "packed" }, { "threshold", "3" } }, { 3, 3, 1, 50, 3, TRUE, FALSE, TRUE, TRUE },
      { { "RGB", 19, 11, 2 }, { "BGR", 19, 11, 2 }, { "RGBA", 19, 11, 2 }, { "xBGR", 19, 11, 2 },
          { "GBR", 19, 11, 2 } } },
#define DEPTH(text, depth, size) \
  { \
    { { "temporal-depth", text }, { "kernel-size", #size } }, { size, size, depth, 50, 0, FALSE, FALSE, TRUE, TRUE }, \
    { \
      { "NV12", 15, 9, 9 }, { "RGB", 15, 9, 4 } \
    } \
  }
  DEPTH ("3", 3, 3),
  DEPTH ("5", 5, 3),
  DEPTH ("7", 7, 1),
  { { { "temporal-depth", "3" } }, { 3, 3, 3, 50, 0, FALSE, FALSE, TRUE, TRUE },
      { { "NV12", 13, 1, 4, INTERLACED }, { "RGBA", 13, 1, 1, INTERLACED }, { "NV12", 13, 2, 4, INTERLACED },
          { "RGBA", 13, 2, 1, INTERLACED }, { "NV12", 13, 5, 4, INTERLACED }, { "RGBA", 13, 5, 1, INTERLACED },
          { "NV12", 13, 12, 4, INTERLACED }, { "RGBA", 13, 12, 1, INTERLACED } } },
  /* In mixed streams each buffer's flags decide, and the history continues. */
  { { { "temporal-depth", "3" } }, { 3, 3, 3, 50, 0, FALSE, FALSE, TRUE, TRUE },
      { { "I420", 11, 8, 6, "interlace-mode=mixed" } } },
};

GST_START_TEST (properties)
{
  GstElement *element = new_element (NULL);
  GstHarness *h = new_harness (element);
  gint frames = 0;

  for (gsize i = 0; i < 3 && rows[__i__].properties[i][0]; i++)
    set_value (element, rows[__i__].properties[i][0], rows[__i__].properties[i][1]);
  for (gsize i = 0; i < 8 && rows[__i__].streams[i].format; i++) {
    filter (h, rows[__i__].streams[i].format, rows[__i__].streams[i].width, rows[__i__].streams[i].height,
        rows[__i__].streams[i].more, rows[__i__].streams[i].frames, &rows[__i__].e);
    frames += rows[__i__].streams[i].frames;
  }
  close_harness (h, frames);
}
GST_END_TEST

/* ---- colours ------------------------------------------------------------ */

/* Returns the frame as another format, with chroma samples that are taken as they are. Takes the frame. */
static GstBuffer *
converted (GstBuffer *frame, GstVideoInfo *from, GstVideoInfo *to)
{
  GstVideoConverter *converter = gst_video_converter_new (from, to,
      gst_structure_new ("options", GST_VIDEO_CONVERTER_OPT_DITHER_METHOD, GST_TYPE_VIDEO_DITHER_METHOD,
          GST_VIDEO_DITHER_NONE, GST_VIDEO_CONVERTER_OPT_CHROMA_MODE, GST_TYPE_VIDEO_CHROMA_MODE,
          GST_VIDEO_CHROMA_MODE_NONE, NULL));
  GstBuffer *out = gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (to), NULL);
  GstVideoFrame a, b;

  fail_unless (converter && gst_video_frame_map (&a, from, frame, GST_MAP_READ));
  fail_unless (gst_video_frame_map (&b, to, out, GST_MAP_WRITE));
  gst_video_converter_frame (converter, &a, &b);
  gst_video_frame_unmap (&a);
  gst_video_frame_unmap (&b);
  gst_video_converter_free (converter);
  gst_buffer_unref (frame);
  return out;
}

/* Returns a black frame whose right part, from column 15 on, is white. */
static GstBuffer *
two_halves (GstVideoInfo *rgb, GstVideoInfo *info)
{
  GstBuffer *frame = gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (rgb), NULL);
  GstVideoFrame f;

  fail_unless (gst_video_frame_map (&f, rgb, frame, GST_MAP_WRITE));
  for (gint i = 0; i < 3 * 32 * 16; i++)
    put_value (&f, i % 3, i / 3 % 32, i / 96, i / 3 % 32 < 15 ? 0 : 255);
  gst_video_frame_unmap (&f);
  return converted (frame, rgb, info);
}

/* Fails unless the element writes the colour so that a converter makes that colour of it. */
static void
expect_color (const gchar *factory, const gchar *property, const gchar *format, const gchar *more, guint color)
{
  GstElement *element = new_element_of (factory, NULL);
  GstHarness *h = new_harness (element);
  gchar *text = g_strdup_printf ("0x00%06x", color);
  GstVideoInfo info, rgb, deep;
  GstVideoFrame f;
  GstBuffer *out;

  if (strcmp (factory, "cudaconvolve") == 0)
    set_value (element, "preset", "fill");
  else
    g_object_set (element, "temporal", 0.0, "cell-size", 1, "min-size", 1, NULL);
  if (strcmp (factory, "cudasegment") == 0)
    set_value (element, "output", "boundaries");
  set_value (element, property, text);
  set_caps (h, video_caps (format, 32, 16, more), &info);
  gst_video_info_set_format (&rgb, GST_VIDEO_FORMAT_RGB, 32, 16);
  gst_video_info_set_format (&deep, GST_VIDEO_FORMAT_ARGB64, 32, 16); /* to 8 bits the converter is off by up to 5 */
  rgb.fps_n = deep.fps_n = info.fps_n;
  rgb.fps_d = deep.fps_d = info.fps_d;
  out = converted (push_pull (h, two_halves (&rgb, &info)), &info, &deep);
  fail_unless (gst_video_frame_map (&f, &deep, out, GST_MAP_READ));
  for (gint c = 0; c < 3; c++) {
    const gint got = (gint) value_of (&f, c, 14, 6) / 257, right = (gint) (color >> (16 - 8 * c) & 255);

    fail_unless (ABS (got - right) <= 2, "%s of %s, %s, #%06x: component %d is %d", property, format, more, color, c,
        got);
  }
  gst_video_frame_unmap (&f);
  gst_buffer_unref (out);
  g_free (text);
  close_harness (h, 1);
}

/* By name; by range, matrix, transfer function and primaries: full range BT.709, BT.2020 and BT.601; FCC. */
static const gchar *const colorimetry[] = { "colorimetry=bt601", "colorimetry=bt709", "colorimetry=bt2020",
  "colorimetry=smpte240m", "colorimetry=1:3:5:1", "colorimetry=1:6:5:7", "colorimetry=1:4:0:0", "colorimetry=2:2:5:3",
  NULL };

GST_START_TEST (colors)
{
  static const guint all[] = { 0x404040, 0x000000, 0xffffff, 0x00ff00, 0xff8000 };
  gchar **formats = formats_of ("cudaconvolve", FALSE, N_FORMATS);
  const GstVideoFormatInfo *format = gst_video_format_get_info (gst_video_format_from_string (formats[__i__]));
  const gboolean gray = GST_VIDEO_FORMAT_INFO_IS_GRAY (format), yuv = GST_VIDEO_FORMAT_INFO_IS_YUV (format);

  for (gsize i = 0; i < (gray ? 3 : G_N_ELEMENTS (all)); i++)
    for (gsize c = 0; colorimetry[c]; c++) {
      const gchar *more = yuv ? colorimetry[c] : NULL; /* RGB has no matrix */

      expect_color ("cudaconvolve", "fill-color", formats[__i__], more, all[i]);
      if (GST_VIDEO_FORMAT_INFO_W_SUB (format, 1) == 0 || gray)
        expect_color ("cudasegment", "boundary-color", formats[__i__], more, all[i]);
      if (!more)
        break;
    }
  g_strfreev (formats);
}
GST_END_TEST

/* With caps that differ in their colorimetry alone, the colour is converted anew. */
GST_START_TEST (colors_change)
{
  static const guint8 red[][3] = { { 81, 90, 240 }, { 63, 102, 240 }, { 76, 85, 255 } };
  static const gchar *const caps[] = { "colorimetry=bt601", "colorimetry=bt709", "colorimetry=1:4:0:0" };
  GstElement *element = new_convolve ("preset", "fill", "fill-color", "0xffff0000", NULL);
  GstHarness *h = new_harness (element);

  for (gsize i = 0; i < G_N_ELEMENTS (red); i++) {
    GstVideoInfo info;
    GstVideoFrame f;
    GstBuffer *out;

    set_caps (h, video_caps ("I420", 32, 16, caps[i]), &info);
    out = push_pull (h, random_frame (&info, (guint) i, 0));
    fail_unless (gst_video_frame_map (&f, &info, out, GST_MAP_READ));
    for (gint c = 0; c < 3; c++)
      fail_unless_equals_int (value_of (&f, c, 3, 3), red[i][c]);
    gst_video_frame_unmap (&f);
    gst_buffer_unref (out);
  }
  close_harness (h, 3);
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("pixels");

  tcase_add_loop_test (tests, every_format, 0, N_FORMATS);
  tcase_add_loop_test (tests, properties, 0, G_N_ELEMENTS (rows));
  tcase_add_loop_test (tests, colors, 0, N_FORMATS);
  tcase_add_test (tests, colors_change);
  return run_suite (argc, argv, "pixels", tests, FALSE);
}
