/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * areas.c: frames of which a part is filtered: inside of the regions they are those of the same filter without regions,
 * outside the input. */
#include "common.h"

#include <string.h>

#define WIDTH 70
#define HEIGHT 50
#define FRAMES 4

typedef struct {
  gint x, y, width, height;
} Rect;

typedef struct {
  const gchar *factory, *properties; /* "name=value name=value" */
} Filter;

#define DEFAULTS(stem) { "cuda" #stem, "" },
static const Filter filters[] = {
  CF_FILTERS (DEFAULTS) /* all filters, and these settings: */
  { "cudamedian", "kernel-size=5" },
  { "cudamedian", "kernel-width=1 kernel-height=9 temporal-depth=3" },
  { "cudamedian", "kernel-size=3 temporal-depth=3 temporal-center=true" },
  { "cudaconvolve", "preset=gauss kernel-size=9" },
  { "cudaconvolve", "preset=emboss border=wrap" },
  { "cudairfilter", "preset=smooth sigma=2" },
  { "cudasegment", "cell-size=2" },
};
static const gchar *const formats[] = { "GRAY8", "NV12", "I420_10LE", "YUY2", "RGB", "Y410" };

#define CASES (G_N_ELEMENTS (filters) * G_N_ELEMENTS (formats))

static GstElement *
new_filter (const Filter *filter, const gchar *frames_in_flight)
{
  GstElement *element = new_element_of (filter->factory, "frames-in-flight", frames_in_flight, NULL);
  gchar **words = g_strsplit (filter->properties, " ", -1);

  for (guint i = 0; words[i]; i++) {
    gchar *value = strchr (words[i], '=');

    *value = '\0';
    set_value (element, words[i], value + 1);
  }
  g_strfreev (words);
  return element;
}

/* Returns whether a pixel of the sample (x, y) of component `c` is in one of the rectangles. */
static gboolean
is_inside (const GstVideoInfo *info, gint c, gint x, gint y, const Rect *rects)
{
  const gint w_sub = GST_VIDEO_FORMAT_INFO_W_SUB (info->finfo, c), h_sub = GST_VIDEO_FORMAT_INFO_H_SUB (info->finfo, c);

  for (const Rect *r = rects; r->width > 0; r++)
    if ((x + 1) << w_sub > r->x && x << w_sub < r->x + r->width && (y + 1) << h_sub > r->y &&
        y << h_sub < r->y + r->height)
      return TRUE;
  return FALSE;
}

/* Fails unless `out` is `filtered` in the rectangles (NULL: not compared) and `in` around them. */
static void
assert_area (const GstVideoInfo *info, GstBuffer *in, GstBuffer *filtered, GstBuffer *out, const Rect *rects)
{
  GstVideoFrame from, wanted, got;

  fail_unless (gst_video_frame_map (&from, info, in, GST_MAP_READ));
  fail_unless (gst_video_frame_map (&wanted, info, filtered ? filtered : in, GST_MAP_READ));
  fail_unless (gst_video_frame_map (&got, info, out, GST_MAP_READ));
  for (gint c = 0; c < (gint) GST_VIDEO_INFO_N_COMPONENTS (info); c++)
    for (gint y = 0; y < GST_VIDEO_INFO_COMP_HEIGHT (info, c); y++)
      for (gint x = 0; x < GST_VIDEO_INFO_COMP_WIDTH (info, c); x++) {
        const gboolean inside = is_inside (info, c, x, y, rects);

        if (inside && !filtered)
          continue;
        if (value_of (&got, c, x, y) != value_of (inside ? &wanted : &from, c, x, y))
          fail ("%s, component %d, sample (%d, %d), %s the regions: %u, not %u", info->finfo->name, c, x, y,
              inside ? "in" : "outside of", value_of (&got, c, x, y), value_of (inside ? &wanted : &from, c, x, y));
      }
  gst_video_frame_unmap (&from);
  gst_video_frame_unmap (&wanted);
  gst_video_frame_unmap (&got);
}

/* Sends the frames through the same filter with and without regions: of `roi`, and then of metadata. */
static void
compare (const Filter *filter, const gchar *format, const gchar *frames_in_flight)
{
  static const Rect fixed[] = { { 3, 5, 11, 9 }, { 60, 44, 40, 40 }, { 14, 5, 2, 20 }, { 0, 0, 0, 0 } };
  static const Rect all[] = { { 3, 5, 11, 9 }, { 60, 44, 40, 40 }, { 14, 5, 2, 20 }, { 40, 0, 7, 3 }, { 0, 0, 0, 0 } };
  GstBuffer *in[FRAMES], *right, *out;
  GstVideoInfo info;
  GstHarness *whole = new_stream (new_filter (filter, "1"), format, WIDTH, HEIGHT, &info);
  GstHarness *part = new_stream (new_filter (filter, frames_in_flight), format, WIDTH, HEIGHT, &info);

  set_value (part->element, "roi", "3,5,11,9; 60,44,40,40; 14,5,2,20");
  set_value (part->element, "roi-meta", "true");
  for (guint i = 0; i < FRAMES; i++) {
    GstBuffer *copy;

    in[i] = random_frame (&info, i, 0);
    copy = gst_buffer_copy_deep (in[i]);
    GST_BUFFER_PTS (copy) = i * GST_SECOND / 25;
    if (i % 2)
      gst_buffer_add_video_region_of_interest_meta (copy, "face", 40, 0, 7, 3);
    if (i == 2)
      set_value (part->element, "roi-missing", "pass");
    fail_unless_equals_int (gst_harness_push (part, copy), GST_FLOW_OK);
    fail_unless_equals_int (gst_harness_push (whole, gst_buffer_copy_deep (in[i])), GST_FLOW_OK);
  }
  fail_unless (gst_harness_push_event (part, gst_event_new_eos ()));
  fail_unless (gst_harness_push_event (whole, gst_event_new_eos ()));
  for (guint i = 0; i < FRAMES; i++) {
    right = gst_harness_pull (whole);
    out = gst_harness_pull (part);
    assert_area (&info, in[i], right, out, i % 2 ? all : fixed);
    gst_buffer_unref (right);
    gst_buffer_unref (out);
  }
  for (guint i = 0; i < FRAMES; i++)
    gst_buffer_unref (in[i]);
  expect_no_messages (part->element);
  close_harness (part, FRAMES);
  close_harness (whole, FRAMES);
}

GST_START_TEST (inside_and_outside)
{
  const Filter *filter = &filters[(gsize) __i__ / G_N_ELEMENTS (formats)];

  compare (filter, formats[(gsize) __i__ % G_N_ELEMENTS (formats)], "1");
  compare (filter, formats[(gsize) __i__ % G_N_ELEMENTS (formats)], "3");
}
GST_END_TEST

/* A frame of which nothing is filtered passes; what else has a reference to a frame keeps it as it was. */
GST_START_TEST (passes_or_copies)
{
  static const Rect one[] = { { 8, 8, 8, 8 }, { 0, 0, 0, 0 } };
  GstElement *element = new_element ("kernel-size", "5", "roi-meta", "true", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "NV12", WIDTH, HEIGHT, &info);
  GstBuffer *in = random_frame (&info, 1, 0), *copy = gst_buffer_copy_deep (in), *out;

  out = push_pull (h, in);
  fail_unless (out == in);
  assert_same (&info, out, copy);
  fail_unless_equals_uint64 (stat_of (element, "frames-passed"), 1);

  set_value (element, "roi", "8,8,8,8");
  gst_buffer_ref (in);
  gst_buffer_unref (out);
  out = push_pull (h, gst_buffer_ref (in));
  fail_unless (out != in);
  assert_same (&info, in, copy);
  assert_area (&info, copy, NULL, out, one);
  fail_unless_equals_uint64 (stat_of (element, "frames-passed"), 1);
  gst_buffer_unref (out);
  gst_buffer_unref (in);
  gst_buffer_unref (copy);
  close_harness (h, 2);
}
GST_END_TEST

/* Frames without a region still belong to the history of those with one. */
GST_START_TEST (empty_frames_count)
{
  static const Filter filter = { "cudamedian", "kernel-size=3 temporal-depth=3" };
  static const Rect one[] = { { 8, 8, 8, 8 }, { 0, 0, 0, 0 } };
  static const Rect none[] = { { 0, 0, 0, 0 } };
  GstVideoInfo info;
  GstHarness *whole = new_stream (new_filter (&filter, "1"), "GRAY8", WIDTH, HEIGHT, &info);
  GstHarness *part = new_stream (new_filter (&filter, "1"), "GRAY8", WIDTH, HEIGHT, &info);

  set_value (part->element, "roi-meta", "true");
  set_value (part->element, "roi-missing", "pass");
  for (guint i = 0; i < 6; i++) {
    GstBuffer *in = random_frame (&info, i, 0), *sent = gst_buffer_copy_deep (in), *right, *out;

    if (i > 2)
      gst_buffer_add_video_region_of_interest_meta (sent, "face", 8, 8, 8, 8);
    out = push_pull (part, sent);
    right = push_pull (whole, gst_buffer_copy_deep (in));
    assert_area (&info, in, right, out, i > 2 ? one : none);
    gst_buffer_unref (right);
    gst_buffer_unref (out);
    gst_buffer_unref (in);
  }
  close_harness (part, 6);
  close_harness (whole, 6);
}
GST_END_TEST

/* Frames that are dropped because they are late (QoS) have regions, too, which later frames have if they carry none. */
static void
drop_a_frame_with_regions (const gchar *property, const gchar *value, const gchar *frames_in_flight)
{
  static const Filter filter = { "cudaconvolve", "preset=fill" };
  static const Rect old[] = { { 8, 8, 8, 8 }, { 0, 0, 0, 0 } };
  static const Rect last[] = { { 40, 20, 12, 8 }, { 0, 0, 0, 0 } };
  static const Rect both[] = { { 8, 8, 8, 8 }, { 40, 20, 12, 8 }, { 0, 0, 0, 0 } };
  GstVideoInfo info;
  GstHarness *whole = new_stream (new_filter (&filter, "1"), "NV12", WIDTH, HEIGHT, &info);
  GstHarness *part = new_stream (new_filter (&filter, frames_in_flight), "NV12", WIDTH, HEIGHT, &info);
  GstBuffer *in[8], *out;
  guint n = 0, late = 0;

  set_value (part->element, "roi-meta", "true");
  set_value (part->element, property, value);
  for (guint i = 0; i < G_N_ELEMENTS (in); i++) {
    GstBuffer *sent;

    in[i] = random_frame (&info, i, 0);
    sent = gst_buffer_copy_deep (in[i]);
    if (i == 0)
      gst_buffer_add_video_region_of_interest_meta (sent, "face", 8, 8, 8, 8);
    if (i == 3)
      gst_buffer_add_video_region_of_interest_meta (sent, "face", 40, 20, 12, 8);
    if (i == 3)
      gst_harness_push_upstream_event (part,
          gst_event_new_qos (GST_QOS_TYPE_UNDERFLOW, 2, 2 * 40 * GST_MSECOND, 2 * 40 * GST_MSECOND));
    push_ok (part, sent);
  }
  fail_unless (gst_harness_push_event (part, gst_event_new_eos ()));
  for (; (out = gst_harness_try_pull (part)); n++) {
    const guint frame = (guint) (GST_BUFFER_PTS (out) / (40 * GST_MSECOND));
    GstBuffer *right = push_pull (whole, gst_buffer_copy_deep (in[frame]));

    fail_unless (frame != 3);
    late += frame > 3;
    assert_area (&info, in[frame], right, out, frame < 3 ? old : strcmp (property, "roi-hold") ? last : both);
    gst_buffer_unref (right);
    gst_buffer_unref (out);
  }
  fail_unless (late > 0);
  for (guint i = 0; i < G_N_ELEMENTS (in); i++)
    gst_buffer_unref (in[i]);
  close_harness (part, (gint) n);
  close_harness (whole, (gint) n);
}

GST_START_TEST (dropped_frames_count)
{
  drop_a_frame_with_regions ("roi-missing", "last", __i__ ? "3" : "1");
  drop_a_frame_with_regions ("roi-hold", "1000", __i__ ? "3" : "1");
}
GST_END_TEST

/* A frame that is dropped because downstream was not linked for the one before has regions, too. */
GST_START_TEST (refused_frames_count)
{
  static const Filter filter = { "cudaconvolve", "preset=fill" };
  static const Rect last[] = { { 40, 20, 12, 8 }, { 0, 0, 0, 0 } };
  GstVideoInfo info;
  GstHarness *whole = new_stream (new_filter (&filter, "1"), "NV12", WIDTH, HEIGHT, &info);
  GstHarness *part = new_stream (new_filter (&filter, "3"), "NV12", WIDTH, HEIGHT, &info);
  GstPad *pad = gst_element_get_static_pad (part->element, "src");
  GstQuery *drain = gst_query_new_drain ();
  GstBuffer *in[4], *right, *out;

  set_value (part->element, "roi-meta", "true");
  for (guint i = 0; i < G_N_ELEMENTS (in); i++)
    in[i] = random_frame (&info, i, 0);
  gst_buffer_add_video_region_of_interest_meta (in[0], "face", 8, 8, 8, 8);
  gst_buffer_add_video_region_of_interest_meta (in[2], "face", 40, 20, 12, 8);
  push_ok (part, in[0]);
  gst_buffer_unref (pull (part));
  fail_unless (gst_pad_unlink (pad, part->sinkpad));
  push_ok (part, in[1]);
  gst_pad_peer_query (part->srcpad, drain);
  fail_unless_equals_int (gst_pad_link (pad, part->sinkpad), GST_PAD_LINK_OK);
  fail_unless_equals_int (gst_harness_push (part, in[2]), GST_FLOW_NOT_LINKED);
  push_ok (part, gst_buffer_copy_deep (in[3]));
  out = pull (part);
  right = push_pull (whole, gst_buffer_copy_deep (in[3]));
  assert_area (&info, in[3], right, out, last);
  fail_unless (GST_BUFFER_IS_DISCONT (out));
  gst_buffer_unref (right);
  gst_buffer_unref (out);
  gst_buffer_unref (in[3]);
  gst_query_unref (drain);
  gst_object_unref (pad);
  close_harness (part, 3);
  close_harness (whole, 1);
}
GST_END_TEST

/* Regions are those of earlier frames, whatever of the caps changes; in frames of another size they are scaled, and in
 * those of another shape they may be anywhere. */
GST_START_TEST (regions_and_new_caps)
{
  static const Filter filter = { "cudaconvolve", "preset=fill" };
  static const struct {
    const gchar *format, *more;
    gint width, height;
    Rect regions[2];
  } rows[] = {
    { "NV12", "pixel-aspect-ratio=4/3", WIDTH, HEIGHT, { { 8, 8, 8, 8 } } },
    { "I420", "interlace-mode=interleaved", WIDTH, HEIGHT, { { 8, 8, 8, 8 } } },
    { "I420", NULL, 2 * WIDTH, 2 * HEIGHT, { { 16, 16, 16, 16 } } },
    { "NV12", NULL, WIDTH + 2, HEIGHT, { { 8, 8, 9, 8 } } },
    { "NV12", NULL, WIDTH, HEIGHT, { { 8, 8, 8, 8 } } },
    { "NV12", NULL, WIDTH, HEIGHT / 2, { { 0, 0, WIDTH, HEIGHT / 2 } } },
  };
  GstVideoInfo info;
  GstHarness *whole = new_stream (new_filter (&filter, "1"), "NV12", WIDTH, HEIGHT, &info);
  GstHarness *part = new_stream (new_filter (&filter, __i__ ? "3" : "1"), "NV12", WIDTH, HEIGHT, &info);
  GstBuffer *in = random_frame (&info, 0, 0);

  set_value (part->element, "roi-meta", "true");
  gst_buffer_add_video_region_of_interest_meta (in, "face", 8, 8, 8, 8);
  gst_buffer_unref (push_pull (part, in));
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    GstBuffer *right, *out;

    set_caps (whole, video_caps (rows[i].format, rows[i].width, rows[i].height, rows[i].more), &info);
    set_caps (part, video_caps (rows[i].format, rows[i].width, rows[i].height, rows[i].more), &info);
    in = random_frame (&info, 1 + i, 0);
    out = push_pull (part, gst_buffer_copy_deep (in));
    right = push_pull (whole, gst_buffer_copy_deep (in));
    assert_area (&info, in, right, out, rows[i].regions);
    gst_buffer_unref (right);
    gst_buffer_unref (out);
    gst_buffer_unref (in);
  }
  close_harness (part, 1 + G_N_ELEMENTS (rows));
  close_harness (whole, G_N_ELEMENTS (rows));
}
GST_END_TEST

/* A frame that has to be copied, because the element crops it, is not filtered while the element is not enabled. */
GST_START_TEST (cropped_and_not_enabled)
{
  GstElement *element = new_element ("kernel-size", "5", "enabled", "false", NULL);
  GstVideoInfo large, info;
  GstHarness *h = new_stream (element, "NV12", WIDTH, HEIGHT, &info);
  GstVideoFrame from, to;
  GstVideoCropMeta *crop;
  GstBuffer *in, *out;

  gst_video_info_set_format (&large, GST_VIDEO_FORMAT_NV12, 96, 64);
  in = random_frame (&large, 1, 0);
  gst_buffer_add_video_meta_full (in, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, 96, 64, 2, large.offset,
      large.stride);
  crop = gst_buffer_add_video_crop_meta (in);
  crop->x = 10;
  crop->y = 4;
  crop->width = WIDTH;
  crop->height = HEIGHT;
  out = push_pull (h, gst_buffer_ref (in));
  fail_unless (out != in);
  fail_unless (gst_video_frame_map (&from, &large, in, GST_MAP_READ));
  fail_unless (gst_video_frame_map (&to, &info, out, GST_MAP_READ));
  for (gint y = 0; y < HEIGHT; y++)
    for (gint x = 0; x < WIDTH; x++)
      for (gint c = 0; c < 3; c++)
        if (value_of (&to, c, c ? x / 2 : x, c ? y / 2 : y) !=
            value_of (&from, c, c ? (x + 10) / 2 : x + 10, c ? (y + 4) / 2 : y + 4))
          fail ("component %d, pixel (%d, %d)", c, x, y);
  gst_video_frame_unmap (&from);
  gst_video_frame_unmap (&to);
  gst_buffer_unref (in);
  gst_buffer_unref (out);
  free_harness (h); /* a copy launches nothing */
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("areas");

  tcase_add_loop_test (tests, inside_and_outside, 0, CASES);
  tcase_add_test (tests, passes_or_copies);
  tcase_add_test (tests, empty_frames_count);
  tcase_add_loop_test (tests, dropped_frames_count, 0, 2);
  tcase_add_test (tests, refused_frames_count);
  tcase_add_loop_test (tests, regions_and_new_caps, 0, 2);
  tcase_add_test (tests, cropped_and_not_enabled);
  return run_suite (argc, argv, "areas", tests, FALSE);
}
