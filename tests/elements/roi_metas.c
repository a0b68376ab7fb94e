/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * roi_metas.c: the regions that frames carry: which of them count, for how long, and where there are none; and
 * `enabled`. */
#include "roi.h"

#ifdef HAVE_GST_ANALYTICS
#include <gst/analytics/analytics.h>
#endif

static GstBuffer *
at (guint ms)
{
  GstBuffer *in = gst_buffer_new ();

  GST_BUFFER_PTS (in) = ms * GST_MSECOND;
  return in;
}

GST_START_TEST (metadata)
{
  GstVideoRegionOfInterestMeta *meta;
  GstBuffer *in;
  Fixture f;

  open_fixture (&f);
  start (&f);
  expect (&f, with (gst_buffer_new (), "person", 1, 1, 2, 2, -1), "all");
  set_value (f.element, "roi-meta", "true");
  expect (&f, gst_buffer_new (), "none"); /* nothing was detected yet */
  expect (&f, with (with (gst_buffer_new (), "person", 1, 1, 2, 2, -1), "", 8, 4, 2, 2, 0.1), "1,1,2,2 8,4,2,2");
  expect (&f, with (gst_buffer_new (), "person", G_MAXUINT, 1, G_MAXUINT, 2, -1), "none");
  expect (&f, with (gst_buffer_new (), "person", 2, 1, G_MAXUINT, 2, -1), "2,1,14,2");
  expect (&f, with (gst_buffer_new (), "person", (guint) -3, (guint) -1, 5, 3, -1), "0,0,2,2");
  expect (&f, with (gst_buffer_new (), "person", (guint) -3, 1, 3, 2, -1), "none");
  set_value (f.element, "roi-grow", "100");
  expect (&f, with (gst_buffer_new (), "face", 4, 4, 2, 2, -1), "3,3,4,4");
  set_value (f.element, "roi-grow", "0");

  set_value (f.element, "roi-type", " face ,person,");
  expect (&f, with (with (gst_buffer_new (), "car", 1, 1, 2, 2, -1), "face", 8, 4, 2, 2, -1), "8,4,2,2");
  expect (&f, with (gst_buffer_new (), "car", 1, 1, 2, 2, -1), "none");
  set_value (f.element, "roi-type", NULL);

  set_value (f.element, "roi-min-confidence", "0.9");
  in = with (with (gst_buffer_new (), "a", 1, 1, 2, 2, 0.9), "b", 8, 4, 2, 2, 0.89);
  meta = gst_buffer_add_video_region_of_interest_meta (in, "c", 5, 1, 1, 1);
  gst_video_region_of_interest_meta_add_param (meta, gst_structure_new_empty ("detection"));
  gst_video_region_of_interest_meta_add_param (meta,
      gst_structure_new ("other", "confidence", G_TYPE_FLOAT, 0.9f, NULL));
  gst_video_region_of_interest_meta_add_param (meta,
      gst_structure_new ("third", "confidence", G_TYPE_FLOAT, 0.3f, NULL));
  expect (&f, with (in, "d", 12, 1, 1, 1, -1), "1,1,2,2 5,1,1,1 12,1,1,1");
  set_value (f.element, "roi-min-confidence", "0");

  /* With the other sources, and inverted. */
  set_value (f.element, "roi", "14,6,1,1");
  expect (&f, with (gst_buffer_new (), "a", 1, 1, 2, 2, -1), "1,1,2,2 14,6,1,1");
  set_value (f.element, "mask-polygons", "0.5,0 0.625,0 0.625,0.25 0.5,0.25");
  expect (&f, with (gst_buffer_new (), "a", 1, 1, 2, 2, -1), "1,1,2,2 14,6,1,1 8,0,2,2");
  set_value (f.element, "roi", "");
  set_value (f.element, "mask-polygons", "");
  set_value (f.element, "roi-invert", "true");
  expect (&f, with (gst_buffer_new (), "a", 0, 0, 8, 8, -1), "8,0,8,8");
  expect (&f, with (gst_buffer_new (), "a", 0, 0, 16, 8, -1), "none");
  close_fixture (&f);
}
GST_END_TEST

/* An area is kept for the frame behind only if that has the same rectangles: not where some come, go or move, or are
 * those of a frame long ago. */
GST_START_TEST (rectangles_change)
{
  static const struct {
    guint x[2]; /* of the rectangles of a frame; the second may be missing */
    const gchar *right;
  } rows[] = {
    { { 1 }, "1,1,2,2 15,7,1,1" },
    { { 1, 8 }, "1,1,2,2 8,1,2,2 15,7,1,1" },
    { { 4, 8 }, "4,1,2,2 8,1,2,2 15,7,1,1" },
    { { 1 }, "1,1,2,2 15,7,1,1" },
    { { 1, 8 }, "1,1,2,2 8,1,2,2 15,7,1,1" },
    { { 8, 1 }, "8,1,2,2 1,1,2,2 15,7,1,1" },
    { { 8 }, "8,1,2,2 15,7,1,1" },
    { { 9 }, "9,1,2,2 15,7,1,1" },
  };
  Fixture f;

  open_fixture (&f);
  set_value (f.element, "roi-meta", "true");
  set_value (f.element, "roi", "15,7,1,1");
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    GstBuffer *in = with (gst_buffer_new (), "a", rows[i].x[0], 1, 2, 2, -1);

    if (rows[i].x[1])
      with (in, "b", rows[i].x[1], 1, 2, 2, -1);
    expect (&f, in, rows[i].right);
  }
  close_fixture (&f);
}
GST_END_TEST

#ifdef HAVE_GST_ANALYTICS
static GstBuffer *
analysed (void)
{
  GstBuffer *in = gst_buffer_new ();
  GstAnalyticsRelationMeta *meta = gst_buffer_add_analytics_relation_meta (in);
  GstAnalyticsODMtd o;

  gst_analytics_relation_meta_add_od_mtd (meta, g_quark_from_string ("person"), 1, 1, 2, 2, 0.9f, &o);
  gst_analytics_relation_meta_add_od_mtd (meta, g_quark_from_string ("car"), -2, 4, 4, 9, 0.5f, &o);
#if GST_CHECK_VERSION(1, 26, 0)
  gst_analytics_relation_meta_add_oriented_od_mtd (meta, 0, 8, 3, 6, 2, (gfloat) G_PI_2, 0.9f, &o);
#else
  gst_analytics_relation_meta_add_od_mtd (meta, 0, 10, 1, 2, 6, 0.9f, &o);
#endif
  return in;
}

GST_START_TEST (analytics)
{
  Fixture f;

  open_fixture (&f);
  set_value (f.element, "roi-meta", "true");
  expect (&f, with (analysed (), "face", 15, 0, 1, 1, -1), "1,1,2,2 0,4,2,4 10,1,2,6 15,0,1,1");
  set_value (f.element, "roi-min-confidence", "0.7");
  expect (&f, analysed (), "1,1,2,2 10,1,2,6");
  set_value (f.element, "roi-type", "person,car");
  expect (&f, analysed (), "1,1,2,2");
  close_fixture (&f);
}
GST_END_TEST
#endif

/* Regions are in pixels of the frame in the buffer, of which a part is filtered. A meta of no format is not printed. */
GST_START_TEST (cropped)
{
  GstBuffer *in = gst_buffer_new_allocate (NULL, 32 * 16, NULL);
  GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta (in);
  GstVideoMeta *meta;
  Fixture f;

  crop->x = 10;
  crop->y = 5;
  crop->width = WIDTH;
  crop->height = HEIGHT;
  meta = gst_buffer_add_video_meta (in, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 32, 16);
  with (with (in, "a", 12, 6, 3, 2, -1), "b", 0, 0, 11, 6, -1);
  open_fixture (&f);
  set_value (f.element, "roi-meta", "true");
  expect (&f, gst_buffer_ref (in), "2,1,3,2 0,0,1,1");
  meta->format = GST_VIDEO_FORMAT_UNKNOWN;
  expect (&f, in, "12,6,3,2 0,0,11,6");
  close_fixture (&f);
}
GST_END_TEST

/* Returns a frame of which the part at (x, y) is filtered. */
static GstBuffer *
part_at (guint ms, guint x, guint y)
{
  GstBuffer *in = at (ms);
  GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta (in);

  crop->x = x;
  crop->y = y;
  crop->width = WIDTH;
  crop->height = HEIGHT;
  gst_buffer_add_video_meta (in, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 3 * WIDTH, 3 * HEIGHT);
  return in;
}

/* The regions of earlier frames are where they were in the larger frame, of which the next ones show another part, also
 * those outside of the part that was shown. A frame that is no such part says nothing of the place of the others, and
 * neither does a crop in frames of another size. */
GST_START_TEST (panned)
{
  const gboolean holds = __i__ > 0;
  Fixture f;

  open_fixture (&f);
  set_value (f.element, "roi-meta", "true");
  set_value (f.element, "roi-hold", holds ? "1000" : "0");
  set_value (f.element, "roi-missing", holds ? "pass" : "last");
  gst_cf_roi_resize (f.roi, WIDTH, HEIGHT);
  expect (&f, with (with (part_at (0, 10, 5), "a", 12, 6, 3, 2, -1), "b", 4, 8, 2, 2, -1), "2,1,3,2");
  expect (&f, part_at (10, 10, 5), "2,1,3,2");
  expect (&f, part_at (20, 4, 6), "8,0,3,2 0,2,2,2");
  expect (&f, at (30), "8,0,3,2 0,2,2,2");
  expect (&f, part_at (40, 0, 0), "12,6,3,2");
  expect (&f, part_at (50, 10, 5), "2,1,3,2");
  gst_cf_roi_resize (f.roi, 2 * WIDTH, 2 * HEIGHT);
  expect (&f, part_at (60, 20, 10), "4,2,6,4");
  close_fixture (&f);
}
GST_END_TEST

GST_START_TEST (missing)
{
  Fixture f;

  open_fixture (&f);
  set_value (f.element, "roi-meta", "true");
  set_value (f.element, "roi-type", "face");
  for (gint again = 0; again < 2; again++) {
    expect (&f, gst_buffer_new (), "none");
    expect (&f, with (gst_buffer_new (), "face", 1, 1, 2, 2, -1), "1,1,2,2");
    expect (&f, gst_buffer_new (), "1,1,2,2");
    expect (&f, gst_buffer_new (), "1,1,2,2");
    expect (&f, with (gst_buffer_new (), "car", 4, 1, 2, 2, -1), "none"); /* there is metadata, but no face */
    expect (&f, gst_buffer_new (), "none");
    expect (&f, with (gst_buffer_new (), "face", 1, 1, 2, 2, -1), "1,1,2,2");
    gst_cf_roi_reset (f.roi);
  }
  expect (&f, with (gst_buffer_new (), "face", 1, 1, 2, 2, -1), "1,1,2,2");
  set_value (f.element, "roi-missing", "pass");
  expect (&f, gst_buffer_new (), "none");
  set_value (f.element, "roi-missing", "all");
  expect (&f, gst_buffer_new (), "all");
  set_value (f.element, "roi-invert", "true");
  expect (&f, gst_buffer_new (), "all");
  set_value (f.element, "roi-invert", "false");
  set_value (f.element, "roi-missing", "last");
  expect (&f, gst_buffer_new (), "1,1,2,2");
  for (gint asks = 0; asks < 2; asks++) {
    expect (&f, with (gst_buffer_new (), "face", 1, 1, 2, 2, -1), "1,1,2,2");
    set_value (f.element, "roi-meta", "false");
    if (asks)
      expect (&f, gst_buffer_new (), "all");
    else
      gst_cf_roi_sync (f.roi); /* the element asks for no area, because there are no regions */
    set_value (f.element, "roi-meta", "true");
    expect (&f, gst_buffer_new (), "none");
  }
  close_fixture (&f);
}
GST_END_TEST

/* An empty region ends what stays of its type, and nothing else. With roi-type=motion a frame says what moves, or that
 * nothing does, or the whole frame is filtered. */
GST_START_TEST (empty_regions)
{
  Fixture f;

  open_fixture (&f);
  expect_value (f.element, "roi-missing", "auto");
  set_value (f.element, "roi-meta", "true");
  expect (&f, with (gst_buffer_new (), "motion", 0, 0, 0, 0, -1), "none");
  expect (&f, with (with (gst_buffer_new (), "motion", 1, 1, 2, 2, -1), "face", 8, 1, 2, 2, -1), "1,1,2,2 8,1,2,2");
  expect (&f, gst_buffer_new (), "1,1,2,2 8,1,2,2");
  expect (&f, with (gst_buffer_new (), "motion", 5, 5, 0, 2, -1), "8,1,2,2");
  expect (&f, gst_buffer_new (), "8,1,2,2");
  expect (&f, with (gst_buffer_new (), "face", 0, 0, 0, 0, -1), "none");
  set_value (f.element, "roi-type", "face,motion");
  expect (&f, gst_buffer_new (), "all");
  expect (&f, with (gst_buffer_new (), "face", 8, 1, 2, 2, -1), "all");
  expect (&f, with (gst_buffer_new (), "motion", 0, 0, 0, 0, -1), "8,1,2,2");
  expect (&f, with (gst_buffer_new (), "motion", 1, 1, 2, 2, -1), "1,1,2,2");
  set_value (f.element, "roi-invert", "true");
  expect (&f, gst_buffer_new (), "all");
  set_value (f.element, "roi-invert", "false");
  set_value (f.element, "roi-missing", "last");
  expect (&f, gst_buffer_new (), "1,1,2,2");
  set_value (f.element, "roi-missing", "all");
  expect (&f, with (gst_buffer_new (), "motion", 0, 0, 0, 0, -1), "all");
  set_value (f.element, "roi-missing", "auto");
  set_value (f.element, "roi-hold", "100");
  expect (&f, with (at (0), "motion", 1, 1, 2, 2, -1), "1,1,2,2");
  expect (&f, with (at (100), "motion", 0, 0, 0, 0, -1), "1,1,2,2");
  expect (&f, with (at (101), "motion", 0, 0, 0, 0, -1), "none");
  close_fixture (&f);
}
GST_END_TEST

GST_START_TEST (held)
{
  Fixture f;
  GstBuffer *in;

  open_fixture (&f);
  set_value (f.element, "roi-meta", "true");
  set_value (f.element, "roi-hold", "100");
  set_value (f.element, "roi-missing", "pass");
  expect (&f, with (at (0), "a", 1, 1, 2, 2, -1), "1,1,2,2");
  expect (&f, with (at (40), "a", 4, 1, 2, 2, -1), "1,1,2,2 4,1,2,2");
  expect (&f, at (80), "1,1,2,2 4,1,2,2");
  expect (&f, gst_buffer_new (), "1,1,2,2 4,1,2,2"); /* no time: that of the frame before */
  expect (&f, at (100), "1,1,2,2 4,1,2,2");
  expect (&f, at (101), "4,1,2,2");
  expect (&f, with (at (140), "a", 4, 1, 2, 2, -1), "4,1,2,2");
  expect (&f, at (240), "4,1,2,2");
  expect (&f, at (241), "none");
  expect (&f, with (at (300), "a", 1, 1, 2, 2, -1), "1,1,2,2");
  gst_cf_roi_reset (f.roi);
  expect (&f, with (gst_buffer_new (), "a", 4, 1, 2, 2, -1), "4,1,2,2");
  expect (&f, gst_buffer_new (), "4,1,2,2"); /* without any time it is held */
  expect (&f, at (310), "4,1,2,2");
  expect (&f, at (410), "4,1,2,2");
  expect (&f, at (411), "none");
  gst_cf_roi_reset (f.roi);
  expect (&f, at (310), "none");
  expect (&f, with (gst_buffer_new (), "a", 4, 1, 2, 2, -1), "4,1,2,2");
  expect (&f, at (410), "4,1,2,2");
  expect (&f, at (411), "none");
  gst_cf_roi_reset (f.roi);
  expect (&f, with (at (320), "a", 1, 1, 2, 2, -1), "1,1,2,2");
  set_value (f.element, "roi-hold", "0");
  expect (&f, at (330), "none");
  set_value (f.element, "roi-hold", "60000");
  expect (&f, at (340), "none");
  /* The time of a frame without a timestamp is that of the frame before, whether that was to be held or not. */
  gst_cf_roi_reset (f.roi);
  set_value (f.element, "roi-hold", "0");
  expect (&f, at (1000), "none");
  set_value (f.element, "roi-hold", "100");
  expect (&f, with (gst_buffer_new (), "a", 1, 1, 2, 2, -1), "1,1,2,2");
  expect (&f, at (1100), "1,1,2,2");
  expect (&f, at (1101), "none");
  gst_cf_roi_reset (f.roi);
  set_value (f.element, "roi-hold", "60000");
  /* Too many to hold each by itself: none is lost. */
  in = at (350);
  for (guint i = 0; i < 3000; i++)
    with (in, "a", 20 + i, 20, 1, 1, -1);
  expect (&f, in, "none");
  expect (&f, with (at (360), "a", 0, 0, 1, 1, -1), "0,0,16,8");
  expect (&f, at (60349), "0,0,16,8");
  close_fixture (&f);
}
GST_END_TEST

/* Where the time jumps back without a flush, what is held has the age that it had; small steps back are taken as they
 * are. */
GST_START_TEST (held_while_time_jumps)
{
  Fixture f;

  open_fixture (&f);
  set_value (f.element, "roi-meta", "true");
  set_value (f.element, "roi-hold", "100");
  set_value (f.element, "roi-missing", "pass");
  expect (&f, with (at (1000), "a", 1, 1, 2, 2, -1), "1,1,2,2");
  expect (&f, with (at (1060), "a", 4, 1, 2, 2, -1), "1,1,2,2 4,1,2,2");
  expect (&f, at (20), "1,1,2,2 4,1,2,2");
  expect (&f, at (60), "1,1,2,2 4,1,2,2");
  expect (&f, at (61), "4,1,2,2");
  expect (&f, at (120), "4,1,2,2");
  expect (&f, at (121), "none");
  expect (&f, with (at (500), "a", 1, 1, 2, 2, -1), "1,1,2,2");
  expect (&f, at (440), "1,1,2,2");
  expect (&f, at (400), "1,1,2,2");
  expect (&f, at (399), "none");
  expect (&f, with (at (500), "a", 1, 1, 2, 2, -1), "1,1,2,2");
  expect (&f, at (560), "1,1,2,2");
  f.segment.base = G_MAXUINT64 - 2000 * GST_MSECOND; /* a difference that no 64 bits hold */
  expect (&f, at (561), "none");
  f.segment.base = 0;
  expect (&f, with (at (0), "a", 1, 1, 2, 2, -1), "1,1,2,2");
  expect (&f, at (100), "1,1,2,2");
  expect (&f, at (101), "none");
  close_fixture (&f);
}
GST_END_TEST

/* The regions of frames of another size are rounded outward; those found since are not scaled. */
GST_START_TEST (resized)
{
  Fixture f;

  open_fixture (&f);
  set_value (f.element, "roi-meta", "true");
  set_value (f.element, "roi-hold", "100");
  set_value (f.element, "roi-missing", "pass");
  gst_cf_roi_resize (f.roi, WIDTH, HEIGHT);
  expect (&f, with (at (0), "a", 3, 1, 3, 3, -1), "3,1,3,3");
  gst_cf_roi_resize (f.roi, WIDTH, HEIGHT);
  expect (&f, at (10), "3,1,3,3");
  gst_cf_roi_resize (f.roi, WIDTH / 2, HEIGHT / 2);
  expect (&f, with (at (50), "a", 10, 1, 1, 1, -1), "1,0,2,2 10,1,1,1");
  expect (&f, with (at (60), "a", 1, 0, 2, 2, -1), "1,0,2,2 10,1,1,1"); /* held under its new rectangle */
  expect (&f, at (160), "1,0,2,2");
  gst_cf_roi_resize (f.roi, WIDTH, HEIGHT);
  expect (&f, at (160), "2,0,4,4");
  expect (&f, at (161), "none");
  set_value (f.element, "roi-hold", "0");
  set_value (f.element, "roi-missing", "last");
  expect (&f, with (gst_buffer_new (), "a", 3, 1, 3, 3, -1), "3,1,3,3");
  for (gint i = 0; i < 3; i++) { /* nothing is lost or added on the way back */
    gst_cf_roi_resize (f.roi, WIDTH / 3, HEIGHT / 2 - 1);
    expect (&f, gst_buffer_new (), "0,0,2,2");
    gst_cf_roi_resize (f.roi, WIDTH, HEIGHT);
    expect (&f, gst_buffer_new (), "3,1,3,3");
  }
  close_fixture (&f);
}
GST_END_TEST

/* In frames of another shape the regions of earlier ones may be anywhere. */
GST_START_TEST (reshaped)
{
  Fixture f;

  open_fixture (&f);
  set_value (f.element, "roi-meta", "true");
  set_value (f.element, "roi-shape", "ellipse");
  gst_cf_roi_resize (f.roi, WIDTH / 2, HEIGHT);
  gst_cf_roi_resize (f.roi, WIDTH, HEIGHT);
  expect (&f, gst_buffer_new (), "none");
  gst_cf_roi_resize (f.roi, WIDTH / 2, HEIGHT);
  expect (&f, with (gst_buffer_new (), "a", 3, 1, 1, 1, -1), "3,1,1,1");
  gst_cf_roi_resize (f.roi, WIDTH, HEIGHT);
  expect (&f, gst_buffer_new (), "all");
  set_value (f.element, "roi-invert", "true");
  expect (&f, gst_buffer_new (), "all");
  set_value (f.element, "roi-invert", "false");
  set_value (f.element, "roi-type", "b");
  expect (&f, gst_buffer_new (), "none");
  set_value (f.element, "roi-type", NULL);
  set_value (f.element, "roi-missing", "pass");
  expect (&f, gst_buffer_new (), "none");
  set_value (f.element, "roi-missing", "last");
  gst_cf_roi_resize (f.roi, WIDTH / 2, HEIGHT / 2);
  expect (&f, gst_buffer_new (), "all");
  expect (&f, with (gst_buffer_new (), "a", 3, 1, 1, 1, -1), "3,1,1,1");
  expect (&f, gst_buffer_new (), "3,1,1,1");

  gst_cf_roi_reset (f.roi);
  set_value (f.element, "roi-hold", "100");
  set_value (f.element, "roi-missing", "pass");
  expect (&f, with (at (0), "a", 3, 1, 1, 1, -1), "3,1,1,1");
  gst_cf_roi_resize (f.roi, WIDTH, HEIGHT);
  gst_cf_roi_resize (f.roi, WIDTH, HEIGHT - 5);
  expect (&f, with (at (50), "a", 6, 2, 2, 2, -1), "all"); /* what was held before may be elsewhere */
  expect (&f, at (100), "all");
  expect (&f, at (101), "6,2,2,2");
  expect (&f, at (151), "none");
  close_fixture (&f);
}
GST_END_TEST

/* The rectangle that more than 1024 regions end with is around the last of them: whichever side they are on, and no
 * larger. */
GST_START_TEST (held_too_many)
{
  static const struct {
    guint x, y, w, h;
    const gchar *right;
  } rows[] = {
    { 9, 4, 2, 1, "6,3,5,2" },
    { 1, 1, 2, 1, "1,1,7,3" },
    { 4, 2, 9, 5, "4,2,9,5" },
    { 7, 3, 1, 1, "6,3,2,1" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    GstBuffer *in = at (0);
    Fixture f;

    open_fixture (&f);
    set_value (f.element, "roi-meta", "true");
    set_value (f.element, "roi-hold", "100");
    set_value (f.element, "roi-missing", "pass");
    for (guint n = 0; n < 1023; n++)
      with (in, "outside", 20 + n, 20, 1, 1, -1);
    with (with (in, "last", 6, 3, 2, 1, -1), "more", rows[i].x, rows[i].y, rows[i].w, rows[i].h, -1);
    expect (&f, in, rows[i].right);
    expect (&f, at (100), rows[i].right);
    expect (&f, at (101), "none");
    close_fixture (&f);
  }
}
GST_END_TEST

/* The regions of frames that pass count, too; a frame that cannot pass has an empty area. */
GST_START_TEST (not_enabled)
{
  GstBuffer *in;
  Fixture f;

  open_fixture (&f);
  set_value (f.element, "enabled", "false");
  expect (&f, gst_buffer_new (), "none");
  fail_unless (gst_cf_roi_is_used (f.roi) && !gst_cf_roi_is_enabled (f.roi));
  set_value (f.element, "roi-meta", "true");
  expect (&f, with (gst_buffer_new (), "a", 1, 1, 2, 2, -1), "none");
  in = with (gst_buffer_new (), "a", 4, 1, 2, 2, -1);
  gst_cf_roi_see (f.roi, in, &f.segment, &f.info);
  gst_buffer_unref (in);
  set_value (f.element, "enabled", "true");
  expect (&f, gst_buffer_new (), "4,1,2,2");
  close_fixture (&f);
}
GST_END_TEST

void
add_meta_tests (TCase *tests)
{
  tcase_add_test (tests, metadata);
  tcase_add_test (tests, rectangles_change);
#ifdef HAVE_GST_ANALYTICS
  tcase_add_test (tests, analytics);
#endif
  tcase_add_test (tests, cropped);
  tcase_add_loop_test (tests, panned, 0, 2);
  tcase_add_test (tests, missing);
  tcase_add_test (tests, empty_regions);
  tcase_add_test (tests, held);
  tcase_add_test (tests, held_while_time_jumps);
  tcase_add_test (tests, held_too_many);
  tcase_add_test (tests, resized);
  tcase_add_test (tests, reshaped);
  tcase_add_test (tests, not_enabled);
}
