/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment.c: compares the regions that cudasegment reports by metas, label map and messages with
 * the image that it paints; and checks how long a region keeps its id. */
#include "regions.h"

#define ALL_METAS "region-meta", "true", "label-meta", "true"

#define N_FORMATS 42

static GstBuffer *
push (GstHarness *h, const GstVideoInfo *info, guint n)
{
  return push_pull (h, regions_frame (info, n));
}

/* ---- reported regions equal painted ones ------------------------------ */

/* Pushes a frame (output=labels): map, metas, message and image must agree. The caller frees the regions. */
static Found *
expect_regions (GstHarness *h, const GstVideoInfo *info, GstBuffer *in)
{
  GstBuffer *out = push_pull (h, gst_buffer_ref (in));
  Found *map = found_in_map (out), *metas = found_in_metas (out), *message_regions;
  GstMessage *message = pop_regions (h->element);

  fail_unless (message != NULL);
  message_regions = found_in_message (message);
  assert_regions (info, in, out, map);
  assert_same_regions (map, metas);
  assert_same_regions (map, message_regions);
#ifdef HAVE_GST_ANALYTICS
  assert_analytics (out, map);
#endif
  gst_message_unref (message);
  gst_buffer_unref (out);
  gst_buffer_unref (in);
  g_free (message_regions);
  g_free (metas);
  return map;
}

/* One stream of every format in several sizes, each after new caps. */
GST_START_TEST (every_format)
{
  /* width, height, cell-size */
  static const gint sizes[][3] = { { 97, 65, 0 }, { 98, 66, 3 }, { 1, 1, 0 }, { 2, 37, 16 }, { 1600, 1000, 0 } };
  const guint n_sizes = __i__ % 8 ? G_N_ELEMENTS (sizes) - 1 : G_N_ELEMENTS (sizes);
  GstElement *element = new_segment ("output", "labels", "message-interval", "1", ALL_METAS, NULL);
  gchar **formats = formats_of ("cudasegment", FALSE, N_FORMATS);
  GstHarness *h = new_harness (element);
  GstVideoInfo info;

  for (guint i = 0; i < n_sizes + 1; i++) { /* the first size again at the end */
    const gint *size = sizes[i % n_sizes];

    g_object_set (element, "cell-size", size[2], NULL);
    set_caps (h, video_caps (formats[__i__], size[0], size[1], NULL), &info);
    for (guint n = 0; n < 3; n++) {
      Found *map = expect_regions (h, &info, regions_frame (&info, n));

      fail_unless (size[0] <= 90 || map->n >= 4, "%u regions", map->n);
      g_free (map);
    }
  }
  expect_no_messages (element);
  close_harness (h, 3 * ((gint) n_sizes + 1));
  g_strfreev (formats);
}
GST_END_TEST

/* A region may lose its last pixel to its neighbours. Then only the map has it, whose labels are
 * indices of the list. Here it is the third cell, a seed, whose left half is black and whose right
 * half is white. */
GST_START_TEST (region_without_pixels)
{
  static const guint8 samples[24] = { 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 255, 255, 255,
    255, 255, 255, 255 };
  GstElement *element = new_segment ("output", "labels", "cell-size", "2", "min-size", "1", "merge-threshold", "0",
      "weak-fraction", "1", "seed-threshold", "0.0001", "message-interval", "1", ALL_METAS, NULL);
  GstHarness *h = new_harness (element);
  GstVideoInfo info;
  Found *map;

  g_object_set (element, "seeds", "0,0;4,0;8,0", NULL);
  set_caps (h, video_caps ("GRAY8", 12, 2, NULL), &info);
  map = expect_regions (h, &info, frame_of (&info, samples));
  fail_unless (map->n == 3 && map->region[0].area == 10 && map->region[1].area == 0 && map->region[2].area == 14);
  g_free (map);
  close_harness (h, 1);
}
GST_END_TEST

/* Metas and messages come only if requested. */
GST_START_TEST (only_what_is_requested)
{
  GstElement *element = new_segment (NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "I420", 64, 48, &info);
  GstCudaSegmentMap map;

  for (guint n = 0; n < 8; n++) {
    GstMessage *message;
    GstBuffer *out;
    Found *metas;

    g_object_set (element, "region-meta", n & 1, "label-meta", n >> 1 & 1, "message-interval", n >> 2 & 1, NULL);
    out = push (h, &info, n);
    metas = found_in_metas (out);
    message = pop_regions (element);
    fail_unless ((metas->n > 0) == (n & 1));
    fail_unless (gst_cuda_segment_map_get (out, &map) == (gint) (n >> 1 & 1));
    fail_unless ((message != NULL) == (n >> 2 & 1));
    gst_clear_message (&message);
    gst_buffer_unref (out);
    g_free (metas);
  }
  close_harness (h, 8);
}
GST_END_TEST

/* ---- the label map downstream ----------------------------------------- */

static gboolean
survives_scaling (GstBuffer *from, const GstVideoInfo *info, gint width, gint height)
{
  const GstMetaInfo *meta_info = gst_meta_get_info (GST_CUDA_SEGMENT_META_NAME);
  GstVideoInfo other = *info, same = *info;
  GstVideoMetaTransform transform = { &same, &other };
  GstBuffer *to = gst_buffer_new ();
  GstCudaSegmentMap map;
  gboolean survives;

  gst_video_info_set_format (&other, GST_VIDEO_FORMAT_RGB, (guint) width, (guint) height);
  survives = meta_info->transform_func (to, (GstMeta *) gst_buffer_get_custom_meta (from, GST_CUDA_SEGMENT_META_NAME),
      from, gst_video_meta_transform_scale_get_quark (), &transform);
  fail_unless (gst_cuda_segment_map_get (to, &map) == survives);
  gst_buffer_unref (to);
  return survives;
}

GST_START_TEST (map_goes_with_copies)
{
  GstVideoInfo info;
  GstHarness *h = new_stream (new_segment ("label-meta", "true", NULL), "I420", 64, 48, &info);
  GstCudaSegmentMap map, other;
  GstBuffer *out, *copy, *part;

  out = push (h, &info, 1);
  fail_unless (gst_cuda_segment_map_get (out, &map));
  /* All copies share one block of memory. */
  copy = gst_buffer_copy_deep (out);
  fail_unless (gst_cuda_segment_map_get (copy, &other));
  fail_unless (other.label == map.label && other.region == map.region && other.n_regions == map.n_regions);
  /* A part of the buffer is no frame, so it has no map. */
  part = gst_buffer_copy_region (out, GST_BUFFER_COPY_ALL, 0, 64);
  fail_unless (!gst_cuda_segment_map_get (part, &other));
  fail_unless (survives_scaling (out, &info, 64, 48));
  fail_unless (!survives_scaling (out, &info, 32, 48));
  fail_unless (!survives_scaling (out, &info, 64, 24));
  /* The map outlives the buffer and the element that it came from. */
  gst_buffer_unref (part);
  gst_buffer_unref (out);
  close_harness (h, 1);
  fail_unless (gst_cuda_segment_map_get (copy, &other) && other.label == map.label);
  fail_unless (gst_cuda_segment_map_region_at (&other, 63, 47) != NULL);
  fail_unless (gst_cuda_segment_map_region_at (&other, 64, 47) == NULL);
  fail_unless (gst_cuda_segment_map_region_at (&other, 63, 48) == NULL);
  gst_buffer_unref (copy);
}
GST_END_TEST

/* Through a tee, a queue and two other filters, one of which copies. The map of a second
 * segmentation replaces that of the first. */
GST_START_TEST (map_goes_down_the_pipeline)
{
  const gchar *backend = on_gpu () ? "cuda" : "cpu";
  gchar *line = g_strdup_printf (
      "cudasegment backend=%s label-meta=true output=passthrough ! tee ! queue ! cudamedian "
      "backend=%s ! cudaconvolve backend=%s preset=identity ! capsfilter name=c ! cudasegment name=s backend=%s "
      "label-meta=false output=labels ! capsfilter caps=video/x-raw",
      backend, backend, backend, backend);
  GstHarness *h = parse_harness (line);
  GstVideoInfo info;

  set_caps (h, video_caps ("Y444", 64, 48, NULL), &info);
  for (guint n = 0; n < 4; n++) {
    GstBuffer *out;
    Found *found;

    g_object_set (child_of (h, "s"), "label-meta", n >= 2, "max-regions", n == 3 ? 1 : 65535, NULL);
    out = push (h, &info, n);
    found = found_in_map (out);
    fail_unless (n == 3 ? found->n == 1 : found->n >= 4, "frame %u has %u regions", n, found->n);
    gst_buffer_unref (out);
    g_free (found);
  }
  free_harness (h);
  g_free (line);
}
GST_END_TEST

/* ---- messages ----------------------------------------------------------- */

/* Fails unless the structure has these times: running-time, stream-time. */
static void
expect_times (const GstStructure *s, guint64 running, guint64 stream)
{
  guint64 got[2];

  fail_unless (
      gst_structure_get (s, "running-time", G_TYPE_UINT64, &got[0], "stream-time", G_TYPE_UINT64, &got[1], NULL));
  fail_unless_equals_uint64 (got[0], running * GST_MSECOND);
  fail_unless_equals_uint64 (got[1], stream * GST_MSECOND);
}

/* Frames of 40 ms: a message at 0, 120, 240. */
GST_START_TEST (messages_by_running_time)
{
  GstElement *element = new_segment ("message-interval", "100", "output", "passthrough", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "I420", 64, 48, &info);

  for (guint n = 0; n < 9; n++) {
    GstMessage *message;

    gst_buffer_unref (push (h, &info, n));
    message = pop_regions (element);
    fail_unless ((message != NULL) == (n % 3 == 0), "frame %u", n);
    fail_unless (pop_regions (element) == NULL);
    if (message) {
      const GstStructure *s = gst_message_get_structure (message);
      guint64 timestamp, duration;
      gint width, height;

      fail_unless (gst_structure_get (s, "width", G_TYPE_INT, &width, "height", G_TYPE_INT, &height, "timestamp",
          G_TYPE_UINT64, &timestamp, "duration", G_TYPE_UINT64, &duration, NULL));
      fail_unless (width == 64 && height == 48);
      fail_unless_equals_uint64 (timestamp, n * 40 * GST_MSECOND);
      fail_unless_equals_uint64 (duration, 40 * GST_MSECOND);
      expect_times (s, n * 40, n * 40);
      gst_message_unref (message);
    }
  }
  close_harness (h, 9);
}
GST_END_TEST

/* In a segment that does not begin at 0, and at twice the speed. */
GST_START_TEST (messages_in_a_segment)
{
  GstElement *element = new_segment ("message-interval", "100", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "I420", 64, 48, &info);
  GstSegment segment;
  guint n_messages = 0;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.rate = 2;
  segment.start = segment.time = 80 * GST_MSECOND;
  fail_unless (gst_harness_push_event (h, gst_event_new_segment (&segment)));
  for (guint n = 2; n < 12; n++) { /* a frame every 20 ms of running time */
    GstMessage *message;

    gst_buffer_unref (push (h, &info, n));
    message = pop_regions (element);
    if (message)
      expect_times (gst_message_get_structure (message), n_messages++ * 100, n * 40);
    gst_clear_message (&message);
  }
  fail_unless_equals_int ((gint) n_messages, 2);
  close_harness (h, 10);
}
GST_END_TEST

static gboolean
posts_without_time (GstElement *element, GstHarness *h, const GstVideoInfo *info)
{
  GstBuffer *in = regions_frame (info, 1);
  GstMessage *message;
  gboolean posts;
  guint64 timestamp;

  GST_BUFFER_PTS (in) = GST_CLOCK_TIME_NONE;
  gst_buffer_unref (push_pull (h, in));
  message = pop_regions (element);
  posts = message != NULL;
  fail_unless (!posts ||
      (gst_structure_get_uint64 (gst_message_get_structure (message), "timestamp", &timestamp) &&
          timestamp == GST_CLOCK_TIME_NONE));
  gst_clear_message (&message);
  return posts;
}

GST_START_TEST (messages_by_the_clock)
{
  GstElement *element = new_segment ("message-interval", "3600000", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "I420", 64, 48, &info);
  gint64 first, then;

  first = g_get_monotonic_time ();
  fail_unless (posts_without_time (element, h, &info));
  fail_unless (!posts_without_time (element, h, &info));
  g_object_set (element, "message-interval", 20, NULL);
  while (!posts_without_time (element, h, &info))
    fail_unless (g_get_monotonic_time () - first < 30 * G_USEC_PER_SEC, "no message");
  then = g_get_monotonic_time ();
  fail_unless (then - first >= 20000, "after %d us", (gint) (then - first));
  g_object_set (element, "message-interval", 0, NULL);
  do
    fail_unless (!posts_without_time (element, h, &info));
  while (g_get_monotonic_time () - then < 25000);
  close_harness (h, -1);
}
GST_END_TEST

/* The first frame after each start has a message. */
GST_START_TEST (messages_after_a_restart)
{
  GstElement *element = new_segment ("message-interval", "3600000", NULL);
  GstHarness *h = new_harness (element);
  GstVideoInfo info;

  for (gint round = 0; round < 3; round++) {
    GstMessage *message;

    fail_unless_equals_int (gst_element_set_state (element, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
    fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
    set_caps (h, video_caps ("I420", 64, 48, NULL), &info);
    gst_buffer_unref (push (h, &info, 5));
    message = pop_regions (element);
    fail_unless (message != NULL);
    gst_message_unref (message);
  }
  close_harness (h, 1);
}
GST_END_TEST

/* ---- how long an id lasts --------------------------------------------- */

/* The centres of the areas of regions_frame, in sixteenths. */
static const gint centres[][2] = { { 4, 4 }, { 10, 4 }, { 4, 12 }, { 12, 12 } };

/* Checks the regions at the centres of the areas: their ids are `ids` (for age 0: stores them
 * there), their age is `age`. */
static void
expect_ids (GstBuffer *buffer, guint ids[4], guint age, const gchar *what)
{
  GstCudaSegmentMap map;

  fail_unless (gst_cuda_segment_map_get (buffer, &map));
  for (gsize i = 0; i < G_N_ELEMENTS (centres); i++) {
    const GstCudaSegmentRegion *r = gst_cuda_segment_map_region_at (&map, (guint) centres[i][0] * map.width / 16,
        (guint) centres[i][1] * map.height / 16);

    if (age == 0) {
      ids[i] = r->id;
      fail_unless (r->id >= 1 && r->id <= map.n_regions, "%s: id %u of %u", what, r->id, map.n_regions);
      for (gsize j = 0; j < i; j++)
        fail_unless (ids[j] != ids[i]);
    }
    fail_unless (r->id == ids[i] && r->age == age, "%s: region %u has id %u and age %u, not %u and %u", what, (guint) i,
        r->id, r->age, ids[i], age);
  }
  gst_buffer_unref (buffer);
}

GST_START_TEST (ids_last)
{
  GstElement *element = new_segment ("label-meta", "true", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "NV12", 160, 120, &info);
  guint ids[4];

  for (guint n = 0; n < 8; n++)
    expect_ids (push (h, &info, n), ids, n, "from the start");
  /* New properties alone change no id. */
  g_object_set (element, "merge-threshold", 0.12, "seeds", "1,1;2,2", NULL);
  gst_util_set_object_arg (G_OBJECT (element), "output", "boundaries");
  expect_ids (push (h, &info, 8), ids, 8, "after new properties");
  /* Nor does a discontinuity alone. */
  expect_ids (push (h, &info, 3), ids, 9, "after a jump in time");

  flush_harness (h, NULL);
  for (guint n = 0; n < 2; n++)
    expect_ids (push (h, &info, 3 + n), ids, n, "after a flush");
  set_caps (h, video_caps ("NV12", 128, 96, NULL), &info);
  for (guint n = 0; n < 2; n++)
    expect_ids (push (h, &info, n), ids, n, "after new caps");
  g_object_set (element, "cell-size", 2, NULL);
  for (guint n = 0; n < 2; n++)
    expect_ids (push (h, &info, n), ids, n, "after cells of another size");
  g_object_set (element, "temporal", 0.0, NULL);
  for (guint n = 0; n < 2; n++)
    expect_ids (push (h, &info, n), ids, 0, "without memory");
  g_object_set (element, "temporal", 0.15, NULL);
  expect_ids (push (h, &info, 2), ids, 1, "with memory again");
  expect_no_messages (element);
  close_harness (h, 19);
}
GST_END_TEST

/* Frames that were passed through unchanged are not segmented. */
GST_START_TEST (ids_after_untouched_frames)
{
  GstElement *element = new_segment ("label-meta", "true", "output", "passthrough", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "NV12", 160, 120, &info);
  guint ids[4];

  for (guint n = 0; n < 9; n++) {
    GstBuffer *out;

    g_object_set (element, "label-meta", n % 3 != 2, NULL);
    out = push (h, &info, 0);
    if (n % 3 == 2)
      gst_buffer_unref (out);
    else
      expect_ids (out, ids, n % 3, "between untouched frames");
  }
  fail_unless_equals_uint64 (stat_of (element, "frames-passed"), 3);
  close_harness (h, 9);
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("segment");

  tcase_add_loop_test (tests, every_format, 0, N_FORMATS);
  tcase_add_test (tests, region_without_pixels);
  tcase_add_test (tests, only_what_is_requested);
  tcase_add_test (tests, map_goes_with_copies);
  tcase_add_test (tests, map_goes_down_the_pipeline);
  tcase_add_test (tests, messages_by_running_time);
  tcase_add_test (tests, messages_in_a_segment);
  tcase_add_test (tests, messages_by_the_clock);
  tcase_add_test (tests, messages_after_a_restart);
  tcase_add_test (tests, ids_last);
  tcase_add_test (tests, ids_after_untouched_frames);
  return run_suite (argc, argv, "segment", tests, FALSE);
}
