/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cudamemory.c: frames in CUDA memory on either pad or on both, with the stock cudaupload and
 * cudadownload around; each pipeline must give the same bytes. */
#include "regions.h"

#define GPU "video/x-raw(" CUDA_FEATURE ")"
#define MEDIAN "cudamedian backend=cuda on-gpu-error=error"
#define CONVOLVE "cudaconvolve backend=cuda on-gpu-error=error"
#define SEGMENT "cudasegment output=labels region-meta=true label-meta=true"
#define SEGMENT_ON_GPU SEGMENT " name=f backend=cuda on-gpu-error=error"

static const gchar *const formats[] = { "NV12", "NV21", "I420", "YV12", "Y42B", "Y444", "RGB", "BGR", "RGBA", "BGRA",
  "ARGB", "ABGR", "RGBx", "BGRx", "GBR", "P010_10LE", "P016_LE", "I420_10LE", "I422_10LE", "Y444_16LE" };

/* Pipelines from system memory to system memory, with CUDA memory in between. */
static const gchar *const pipelines[] = {
  MEDIAN " name=f ! capsfilter caps=video/x-raw",
  "cudaupload ! " GPU " ! " MEDIAN " name=f ! " GPU " ! cudadownload ! capsfilter caps=video/x-raw",
  "cudaupload ! " GPU " ! " MEDIAN " name=f ! capsfilter caps=video/x-raw",
  MEDIAN " name=f ! " GPU " ! cudadownload ! capsfilter caps=video/x-raw",
};

static void
try_pipeline (const gchar *pipeline, const gchar *format, gint width, gint height)
{
  GstHarness *h = gst_harness_new_parse (pipeline);
  GstElement *f = gst_bin_get_by_name (GST_BIN (h->element), "f");
  Expect e = EXPECT (3);
  GstVideoInfo info;

  gst_harness_set_sink_caps_str (h, "video/x-raw");
  set_caps (h, video_caps (format, width, height, NULL), &info);
  for (guint i = 0; i < 3; i++) {
    GstBuffer *in = random_frame (&info, i, 0), *out = gst_harness_push_and_pull (h, gst_buffer_ref (in));

    fail_unless (out != NULL, "%s: nothing came out", pipeline);
    assert_filtered (&info, out, &in, 1, &e);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
  }
  fail_unless_equals_uint64 (stat_of (f, "frames-gpu"), 3);
  fail_unless_equals_uint64 (stat_of (f, "frames"), 3);
  fail_unless (stat_of (f, "gpu-launches") > 0);
  gst_object_unref (f);
  gst_harness_teardown (h);
}

GST_START_TEST (every_pipeline)
{
  for (gsize w = 0; w < G_N_ELEMENTS (pipelines); w++) {
    try_pipeline (pipelines[w], formats[__i__], 66, 34);
    try_pipeline (pipelines[w], formats[__i__], 2, 2);
  }
}
GST_END_TEST

/* Three elements in a row negotiate CUDA memory between them; a downstream that accepts any memory
 * gets system memory. */
GST_START_TEST (chain_stays_on_the_gpu)
{
  GstHarness *h = gst_harness_new_parse (MEDIAN " name=a ! " MEDIAN " name=b percentile=0 ! " MEDIAN " name=c");
  static const gchar *const names[] = { "a", "b", "c" };
  GstVideoInfo info;
  GstBuffer *out;

  set_caps (h, video_caps ("NV12", 64, 32, NULL), &info);
  out = gst_harness_push_and_pull (h, random_frame (&info, 1, 0));
  fail_unless (out != NULL);
  gst_buffer_unref (out);
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++) {
    GstElement *element = gst_bin_get_by_name (GST_BIN (h->element), names[i]);
    GstPad *pad = gst_element_get_static_pad (element, "src");
    GstCaps *caps = gst_pad_get_current_caps (pad);

    fail_unless (gst_caps_features_contains (gst_caps_get_features (caps, 0), CUDA_FEATURE) == (i < 2), "after %s",
        names[i]);
    gst_caps_unref (caps);
    gst_object_unref (pad);
    gst_object_unref (element);
  }
  gst_harness_teardown (h);
}
GST_END_TEST

/* A history of frames in CUDA memory. */
GST_START_TEST (history)
{
  GstHarness *h = gst_harness_new_parse ("cudaupload ! " GPU " ! " MEDIAN " temporal-depth=3 ! " GPU
      " ! cudadownload ! capsfilter caps=video/x-raw");
  GstBuffer *in[5] = { NULL };
  Expect e = EXPECT (3);
  GstVideoInfo info;

  e.depth = 3;
  gst_harness_set_sink_caps_str (h, "video/x-raw");
  set_caps (h, video_caps ("NV12", 32, 16, NULL), &info);
  for (gint i = 0; i < 5; i++) {
    GstBuffer *out;

    memmove (in + 1, in, 4 * sizeof in[0]);
    in[0] = random_frame (&info, (guint) i, 0);
    out = gst_harness_push_and_pull (h, gst_buffer_ref (in[0]));
    assert_filtered (&info, out, in, MIN (i + 1, 3), &e);
    gst_buffer_unref (out);
  }
  for (gint i = 0; i < 5; i++)
    gst_buffer_unref (in[i]);
  gst_harness_teardown (h);
}
GST_END_TEST

/* GRAY8 has no CUDA memory: two elements negotiate system memory between them. */
GST_START_TEST (gray_crosses)
{
  GstHarness *h = gst_harness_new_parse (MEDIAN " ! " MEDIAN);
  GstVideoInfo info;
  GstBuffer *out;

  set_caps (h, video_caps ("GRAY8", 64, 32, NULL), &info);
  out = gst_harness_push_and_pull (h, random_frame (&info, 1, 0));
  fail_unless (out != NULL);
  gst_buffer_unref (out);
  gst_harness_teardown (h);
}
GST_END_TEST

/* Frames from a context other than the element's: the element switches to that context. */
GST_START_TEST (other_context)
{
  GstHarness *from = gst_harness_new_parse ("cudaupload ! capsfilter caps=\"" GPU "\"");
  GstHarness *h = gst_harness_new_parse (MEDIAN " name=f ! " GPU " ! cudadownload ! capsfilter caps=video/x-raw");
  GstElement *f = gst_bin_get_by_name (GST_BIN (h->element), "f");
  Expect e = EXPECT (3);
  GstVideoInfo info;
  GstCaps *caps;

  set_caps (from, video_caps ("NV12", 64, 32, NULL), &info);
  for (guint i = 0; i < 4; i++) {
    GstBuffer *in = random_frame (&info, i, 0), *out;
    GstBuffer *on_device = gst_harness_push_and_pull (from, gst_buffer_ref (in));

    if (i == 0) {
      caps = gst_pad_get_current_caps (from->sinkpad);
      gst_harness_set_src_caps (h, caps);
    }
    out = gst_harness_push_and_pull (h, on_device);
    fail_unless (out != NULL);
    assert_filtered (&info, out, &in, 1, &e);
    gst_buffer_unref (out);
    gst_buffer_unref (in);
  }
  fail_unless_equals_uint64 (stat_of (f, "frames-gpu"), 4);
  gst_object_unref (f);
  gst_harness_teardown (h);
  gst_harness_teardown (from);
}
GST_END_TEST

/* An identity hands the buffer on if both pads have the same memory, and copies it otherwise.
 * Switched to a filter and back, it works as before. */
GST_START_TEST (identity_passes)
{
  static const struct {
    const gchar *pipeline;
    gboolean passes_through;
  } rows[] = {
    { CONVOLVE " name=f ! capsfilter caps=video/x-raw", TRUE },
    { "cudaupload ! " GPU " ! " CONVOLVE " name=f ! " GPU " ! cudadownload ! capsfilter caps=video/x-raw", TRUE },
    { "cudaupload ! " GPU " ! " CONVOLVE " name=f ! capsfilter caps=video/x-raw", FALSE },
    { CONVOLVE " name=f ! " GPU " ! cudadownload ! capsfilter caps=video/x-raw", FALSE },
  };
  GstHarness *h = gst_harness_new_parse (rows[__i__].pipeline);
  GstElement *f = gst_bin_get_by_name (GST_BIN (h->element), "f");
  GstVideoInfo info;

  gst_harness_set_sink_caps_str (h, "video/x-raw");
  set_caps (h, video_caps ("NV12", 66, 34, NULL), &info);
  for (guint i = 0; i < 9; i++) {
    GstBuffer *in = random_frame (&info, i, 0), *out;
    gboolean filtered = i >= 3 && i < 6;

    if (filtered)
      g_object_set (f, "kernel", "1 1", NULL);
    else
      gst_util_set_object_arg (G_OBJECT (f), "preset", "identity");
    out = gst_harness_push_and_pull (h, gst_buffer_ref (in));
    fail_unless (out != NULL, "%s: nothing came out", rows[__i__].pipeline);
    if (!filtered)
      assert_same (&info, out, in);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
  }
  fail_unless_equals_uint64 (stat_of (f, "frames"), 9);
  fail_unless_equals_uint64 (stat_of (f, "frames-passed"), rows[__i__].passes_through ? 6 : 0);
  fail_unless_equals_uint64 (stat_of (f, "frames-gpu"), rows[__i__].passes_through ? 3 : 9);
  gst_object_unref (f);
  gst_harness_teardown (h);
}
GST_END_TEST

static GstPadProbeReturn
take_regions (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Found **found = data;

  (void) pad;
  found[0] = found_in_map (GST_PAD_PROBE_INFO_BUFFER (info));
  found[1] = found_in_metas (GST_PAD_PROBE_INFO_BUFFER (info));
  return GST_PAD_PROBE_OK;
}

/* The same image, numbers and metas as on the CPU, wherever the frames are. */
GST_START_TEST (segmentation)
{
  static const gchar *const segment_pipelines[] = {
    SEGMENT_ON_GPU " ! capsfilter caps=video/x-raw",
    "cudaupload ! " GPU " ! " SEGMENT_ON_GPU " ! " GPU " ! cudadownload ! capsfilter caps=video/x-raw",
    "cudaupload ! " GPU " ! " SEGMENT_ON_GPU " ! capsfilter caps=video/x-raw",
    SEGMENT_ON_GPU " ! " GPU " ! cudadownload ! capsfilter caps=video/x-raw",
  };
  static const gchar *const segment_formats[] = { "NV12", "Y444", "RGBA", "P010_10LE" };

  for (gsize w = 0; w < G_N_ELEMENTS (segment_pipelines); w++) {
    GstHarness *cpu = gst_harness_new_parse (SEGMENT " backend=cpu");
    GstHarness *h = gst_harness_new_parse (segment_pipelines[w]);
    GstElement *f = gst_bin_get_by_name (GST_BIN (h->element), "f");
    GstPad *pad = gst_element_get_static_pad (f, "src");
    Found *found[2] = { NULL };
    GstVideoInfo info;

    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, take_regions, found, NULL);
    gst_harness_set_sink_caps_str (h, "video/x-raw");
    set_caps (cpu, video_caps (segment_formats[__i__], 98, 66, NULL), &info);
    set_caps (h, video_caps (segment_formats[__i__], 98, 66, NULL), &info);
    for (guint n = 0; n < 4; n++) {
      GstBuffer *right = gst_harness_push_and_pull (cpu, regions_frame (&info, n));
      GstBuffer *out = gst_harness_push_and_pull (h, regions_frame (&info, n));
      Found *all = found_in_map (right);

      fail_unless (out != NULL && found[0] != NULL);
      assert_same (&info, out, right);
      fail_unless (found[0]->n == all->n && memcmp (found[0], all, sizeof *all) == 0, "regions on the GPU");
      assert_same_regions (all, found[1]);
      gst_buffer_unref (right);
      gst_buffer_unref (out);
      for (gint i = 0; i < 2; i++)
        g_clear_pointer (&found[i], g_free);
      g_free (all);
    }
    fail_unless_equals_uint64 (stat_of (f, "frames-gpu"), 4);
    gst_object_unref (pad);
    gst_object_unref (f);
    gst_harness_teardown (h);
    gst_harness_teardown (cpu);
  }
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("cudamemory");

  tcase_add_loop_test (tests, every_pipeline, 0, G_N_ELEMENTS (formats));
  tcase_add_loop_test (tests, identity_passes, 0, 4);
  tcase_add_test (tests, chain_stays_on_the_gpu);
  tcase_add_test (tests, history);
  tcase_add_test (tests, other_context);
  tcase_add_test (tests, gray_crosses);
  tcase_add_loop_test (tests, segmentation, 0, 4);
  return run_suite (argc, argv, "cudamemory", tests, TRUE);
}
