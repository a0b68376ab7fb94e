/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * pixels.c: compares every sample of every format with a median by sorting. */
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

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("pixels");

  tcase_add_loop_test (tests, every_format, 0, N_FORMATS);
  tcase_add_loop_test (tests, properties, 0, G_N_ELEMENTS (rows));
  return run_suite (argc, argv, "pixels", tests, FALSE);
}
