/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * motion.c: the running background of cudamedian: backgrounds worked out by hand, where something moves as metas and
 * messages report it, what is no motion, and what begins anew. */
#include "gate.h"

#include <string.h>

#define N_FORMATS 42
#define RUNNING "temporal-method", "running"
#define METAS RUNNING, "motion-meta", "true"
#define METAS_TEXT "temporal-method=running motion-meta=true"
#define WIDTH 160
#define HEIGHT 96

typedef struct {
  gint x, y, width, height;
} Rect;

static const Rect nowhere = { 0, 0, 0, 0 };
/* Two cells by two, at the edges of cells. */
static const Rect square = { 32, 16, 32, 32 };
/* Has edges within cells. */
static const Rect across = { 36, 20, 24, 24 };

/* ---- frames ------------------------------------------------------------- */

/* Returns by how many bits a component's samples are wider than 8. */
static guint
shift_of (const GstVideoInfo *info, gint c)
{
  return (guint) MAX (0, (gint) GST_VIDEO_INFO_COMP_DEPTH (info, c) - 8);
}

/* Draws a rectangle of one level (of 8 bits) in all components, and noise of up to so many levels. */
static void
paint (const GstVideoInfo *info, GstBuffer *buffer, const Rect *rect, guint level, guint noise)
{
  static guint32 random = 1;
  const GstVideoFormatInfo *finfo = info->finfo;
  GstVideoFrame f;

  fail_unless (gst_video_frame_map (&f, info, buffer, GST_MAP_WRITE));
  for (gint c = 0; c < (gint) GST_VIDEO_INFO_N_COMPONENTS (info); c++)
    for (gint y = 0; y < GST_VIDEO_INFO_COMP_HEIGHT (info, c); y++)
      for (gint x = 0; x < GST_VIDEO_INFO_COMP_WIDTH (info, c); x++) {
        const gint left = x << GST_VIDEO_FORMAT_INFO_W_SUB (finfo, c),
                   top = y << GST_VIDEO_FORMAT_INFO_H_SUB (finfo, c);

        if (left < rect->x || left >= rect->x + rect->width || top < rect->y || top >= rect->y + rect->height)
          continue;
        random = random * 1664525 + 1013904223;
        put_value (&f, c, x, y, (level + (noise ? (random >> 16) % (noise + 1) : 0)) << shift_of (info, c));
      }
  gst_video_frame_unmap (&f);
}

/* Returns a frame of one level, with a rectangle of another one, and noise. */
static GstBuffer *
new_frame (const GstVideoInfo *info, guint level, const Rect *rect, guint inside, guint noise)
{
  const Rect all = { 0, 0, GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info) };
  GstBuffer *buffer = random_frame (info, 0, 0);

  paint (info, buffer, &all, level, noise);
  paint (info, buffer, rect, inside, noise);
  return buffer;
}

/* Numbers the frame, 40 ms each, and pushes it. */
static GstBuffer *
push_at (GstHarness *h, guint number, GstBuffer *in)
{
  GST_BUFFER_PTS (in) = number * 40 * GST_MSECOND;
  GST_BUFFER_DURATION (in) = 40 * GST_MSECOND;
  return push_pull (h, in);
}

/* ---- what is reported ----------------------------------------------------- */

/* Counts the boxes, or the empty ones, which say that nothing moves. */
static guint
count_metas (GstBuffer *buffer, gboolean empty)
{
  gpointer state = NULL;
  guint n = 0;
  GstMeta *meta;

  while ((meta = gst_buffer_iterate_meta_filtered (buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))) {
    const GstVideoRegionOfInterestMeta *r = (const GstVideoRegionOfInterestMeta *) meta;

    n += r->roi_type == g_quark_from_string ("motion") && (r->w == 0 && r->h == 0) == empty;
  }
  return n;
}

static guint
n_boxes (GstBuffer *buffer)
{
  return count_metas (buffer, FALSE);
}

/* Fails unless the frame says that nothing moves, or says nothing. */
static void
expect_still (GstBuffer *buffer, gboolean says)
{
  fail_unless_equals_int (count_metas (buffer, TRUE), says ? 1 : 0);
}

/* Fails unless the frame has exactly this box, all of which or nothing of which is confirmed, or none. */
static void
expect_box (GstBuffer *buffer, const Rect *box, gboolean confirmed, const gchar *what)
{
  GstVideoRegionOfInterestMeta *meta = gst_buffer_get_video_region_of_interest_meta_id (buffer, 1);
  GstStructure *s;
  gdouble x, y;
  guint area, sure;

  fail_unless_equals_int (n_boxes (buffer), box ? 1 : 0);
  if (!box)
    return;
  fail_unless (meta && meta->x == (guint) box->x && meta->y == (guint) box->y && meta->w == (guint) box->width &&
          meta->h == (guint) box->height,
      "%s: %u %u %u %u", what, meta->x, meta->y, meta->w, meta->h);
  s = gst_video_region_of_interest_meta_get_param (meta, "motion");
  fail_unless (s &&
      gst_structure_get (s, "area", G_TYPE_UINT, &area, "confirmed", G_TYPE_UINT, &sure, "centroid-x", G_TYPE_DOUBLE,
          &x, "centroid-y", G_TYPE_DOUBLE, &y, NULL));
  fail_unless_equals_int (sure, confirmed ? area : 0);
  fail_unless (area == meta->w * meta->h && x == box->x + (box->width - 1) / 2.0 &&
          y == box->y + (box->height - 1) / 2.0,
      "%s: %u %g %g", what, area, x, y);
}

/* Fails unless the next message is this event of that frame, with so many boxes; NULL: unless there is none. */
static void
expect_event (GstElement *element, const gchar *event, guint frame, guint boxes)
{
  GstMessage *message = pop_message (element, GST_MESSAGE_ELEMENT);
  const GstStructure *s = message ? gst_message_get_structure (message) : NULL;
  guint64 pts, running, stream, duration;
  gint width, height;
  guint area;

  if (!event) {
    fail_unless (message == NULL, "an event in frame %u: %" GST_PTR_FORMAT, frame, s);
    return;
  }
  fail_unless (message != NULL, "frame %u: no %s", frame, event);
  fail_unless_equals_string (gst_structure_get_name (s), "cudamedian");
  fail_unless_equals_string (gst_structure_get_string (s, "event"), event);
  fail_unless (gst_structure_get (s, "timestamp", G_TYPE_UINT64, &pts, "running-time", G_TYPE_UINT64, &running,
      "stream-time", G_TYPE_UINT64, &stream, "duration", G_TYPE_UINT64, &duration, "width", G_TYPE_INT, &width,
      "height", G_TYPE_INT, &height, "area", G_TYPE_UINT, &area, NULL));
  fail_unless_equals_uint64 (pts, frame * 40 * GST_MSECOND);
  fail_unless_equals_uint64 (running, frame * 40 * GST_MSECOND);
  fail_unless_equals_uint64 (stream, frame * 40 * GST_MSECOND);
  fail_unless_equals_uint64 (duration, 40 * GST_MSECOND);
  fail_unless (width > 0 && height > 0 && (area > 0) == (boxes > 0));
  fail_unless_equals_int (gst_value_array_get_size (gst_structure_get_value (s, "boxes")), boxes);
  gst_message_unref (message);
}

/* ---- the background ------------------------------------------------------- */

/* Fails unless all samples of the frame are of such levels in the rectangle (in != FALSE), or outside of it. */
static void
expect_levels (const GstVideoInfo *info, GstBuffer *buffer, const Rect *rect, gboolean in, guint from, guint to)
{
  GstVideoFrame f;

  fail_unless (gst_video_frame_map (&f, info, buffer, GST_MAP_READ));
  for (gint c = 0; c < (gint) GST_VIDEO_INFO_N_COMPONENTS (info); c++)
    for (gint y = 0; y < GST_VIDEO_INFO_COMP_HEIGHT (info, c); y++)
      for (gint x = 0; x < GST_VIDEO_INFO_COMP_WIDTH (info, c); x++) {
        const gint left = x << GST_VIDEO_FORMAT_INFO_W_SUB (info->finfo, c),
                   top = y << GST_VIDEO_FORMAT_INFO_H_SUB (info->finfo, c);
        const gboolean inside = left >= rect->x && left < rect->x + rect->width && top >= rect->y &&
            top < rect->y + rect->height;
        const guint v = value_of (&f, c, x, y);

        fail_unless (inside != in || (v >= from && v <= to), "component %d at %d, %d: %u", c, x, y, v);
      }
  gst_video_frame_unmap (&f);
}

/* Pushes a gray frame with the square; fails unless the one that comes out has these levels in it and around it. */
static void
expect_square (GstHarness *h, const GstVideoInfo *info, guint number, guint level, guint inside, guint right,
    guint right_inside)
{
  GstBuffer *out = push_at (h, number, new_frame (info, level, &square, inside, 0));

  expect_levels (info, out, &square, FALSE, right, right);
  expect_levels (info, out, &square, TRUE, right_inside, right_inside);
  gst_buffer_unref (out);
}

/* What moves holds the background, which follows it by a level in each 16th frame, and anything else by one in each
 * frame. */
GST_START_TEST (by_hand)
{
  GstElement *element = new_element (RUNNING, "output", "background", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", WIDTH, HEIGHT, &info);
  guint n = 0;

  expect_square (h, &info, n++, 60, 60, 60, 60);
  while (n < 16)
    expect_square (h, &info, n++, 60, 200, 60, 60);
  expect_square (h, &info, n++, 60, 200, 60, 61);
  set_value (element, "output", "still");
  expect_square (h, &info, n++, 60, 200, 60, 61);
  set_value (element, "output", "difference");
  expect_square (h, &info, n++, 60, 200, 0, 139);
  set_value (element, "output", "mask");
  expect_square (h, &info, n++, 60, 200, 0, 255);
  expect_square (h, &info, n++, 60, 60, 0, 0);
  set_value (element, "output", "background"); /* 60 everywhere by now */
  for (guint level = 61; level <= 63; level++)
    expect_square (h, &info, n++, 63, 63, level, level);
  expect_square (h, &info, n++, 63, 60, 63, 62);
  set_value (element, "output", "result"); /* passes, so that the background begins anew after it */
  expect_square (h, &info, n++, 10, 20, 10, 20);
  fail_unless_equals_uint64 (stat_of (element, "frames-passed"), 1);
  set_value (element, "output", "background");
  expect_square (h, &info, n++, 90, 30, 90, 30);
  expect_square (h, &info, n++, 90, 200, 90, 30);
  set_value (element, "output", "result");
  set_value (element, "temporal-method", "window");
  expect_square (h, &info, n++, 40, 40, 40, 40);
  expect_no_messages (element);
  close_harness (h, (gint) n);
}
GST_END_TEST

/* output=still removes a square that walks: each sample is the background's. In the result it is there.
 * Every 16th frame the background may be a level off where something moves. */
GST_START_TEST (still)
{
  static const gchar *const formats[] = { "NV12", "I420_10LE", "BGRx", "Y444" };
  GstElement *element = new_element (METAS, "output", "still", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, formats[__i__], WIDTH, HEIGHT, &info);
  GstBuffer *empty = new_frame (&info, 90, &nowhere, 0, 60), *out, *in;

  for (guint n = 0; n < 60; n++) {
    const Rect walker = { n ? 2 * (gint) n : WIDTH, 20, 24, 24 };
    const guint shift = shift_of (&info, 0);
    guint seen = 0, most = 0;
    GstVideoFrame f, g;

    if (n == 50)
      set_value (element, "output", "result");
    in = gst_buffer_copy_deep (empty);
    paint (&info, in, &walker, 250, 0);
    out = push_at (h, n, in);
    fail_unless (gst_video_frame_map (&f, &info, out, GST_MAP_READ));
    fail_unless (gst_video_frame_map (&g, &info, empty, GST_MAP_READ));
    for (gint c = 0; c < (gint) GST_VIDEO_INFO_N_COMPONENTS (&info); c++)
      for (gint y = 0; y < GST_VIDEO_INFO_COMP_HEIGHT (&info, c); y++)
        for (gint x = 0; x < GST_VIDEO_INFO_COMP_WIDTH (&info, c); x++) {
          const guint off = (guint) abs ((gint) value_of (&f, c, x, y) - (gint) value_of (&g, c, x, y));

          seen += off > 0;
          most = MAX (most, off);
        }
    gst_video_frame_unmap (&g);
    gst_video_frame_unmap (&f);
    fail_unless (n < 50 ? most <= (n < 16 ? 0U : 1U << shift) : seen > 300, "frame %u: %u samples are off, by up to %u",
        n, seen, most);
    fail_unless_equals_int (n_boxes (out), n > 0);
    gst_buffer_unref (out);
  }
  gst_buffer_unref (empty);
  close_harness (h, 60);
}
GST_END_TEST

/* What has no effect is said once. */
GST_START_TEST (advice)
{
  GstElement *element = new_element (NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", 4, 1, &info);
  gchar *text;

  set_value (element, "motion-meta", "true");
  text = only_message (element, GST_MESSAGE_WARNING, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
  fail_unless (strstr (text, "temporal-method=running") != NULL, "%s", text);
  set_value (element, "temporal-method", "running");
  expect_no_messages (element);
  gst_buffer_unref (push_pull (h, random_frame (&info, 1, 0)));
  close_harness (h, 1);
  g_free (text);
}
GST_END_TEST

/* ---- motion ----------------------------------------------------------------- */

/* Every format: a square comes and goes. Its box is there at once, and its message when it is confirmed, in the third
 * frame. The picture is not touched. */
GST_START_TEST (start_and_stop)
{
  GstElement *element = new_element (METAS, "motion-hold", "2", NULL);
  gchar **formats = formats_of ("cudamedian", FALSE, N_FORMATS);
  GstHarness *h = new_harness (element);
  GstVideoInfo info;

  set_caps (h, video_caps (formats[__i__], WIDTH - 1, HEIGHT - 1, __i__ % 3 ? NULL : "interlace-mode=interleaved"),
      &info);
  for (guint n = 0; n < 14; n++) {
    const gboolean there = n >= 4 && n < 8, held = n >= 4 && n < 10;
    GstBuffer *in = new_frame (&info, 60, there ? &square : &nowhere, 150, 5), *copy = gst_buffer_copy_deep (in), *out;

    out = push_at (h, n, in);
    assert_same (&info, out, copy);
    expect_box (out, held ? &square : NULL, n >= 6, formats[__i__]);
    expect_still (out, n > 0 && !held); /* the first frame is compared with nothing */
    if (n == 6)
      expect_event (element, "motion-start", n, 1);
    else if (n == 10)
      expect_event (element, "motion-stop", n, 0);
    expect_event (element, NULL, n, 0);
    gst_buffer_unref (out);
    gst_buffer_unref (copy);
  }
  expect_no_messages (element);
  close_harness (h, 14);
  g_strfreev (formats);
}
GST_END_TEST

/* Pushes a gray frame with two squares and returns how many boxes it has; `last`: the one of the last of them. */
static guint
boxes_of (GstHarness *h, const GstVideoInfo *info, guint number, const Rect rects[2], Rect *last)
{
  GstBuffer *frame = new_frame (info, 60, &rects[0], 200, 0), *out;
  GstVideoRegionOfInterestMeta *meta;
  guint n;

  paint (info, frame, &rects[1], 200, 0);
  out = push_at (h, number, frame);
  n = n_boxes (out);
  meta = gst_buffer_get_video_region_of_interest_meta_id (out, (gint) n);
  *last = meta ? (Rect) { (gint) meta->x, (gint) meta->y, (gint) meta->w, (gint) meta->h } : nowhere;
  gst_buffer_unref (out);
  return n;
}

/* Two squares apart are two boxes, three in a row that touch at corners are one; small ones are none. */
GST_START_TEST (boxes)
{
  static const struct {
    Rect rects[2];
    guint boxes;
    Rect last;
    const gchar *min_area;
  } rows[] = {
    { { { 0, 0, 16, 16 }, { 64, 48, 20, 16 } }, 2, { 64, 48, 32, 16 }, "37" }, /* 4 of 16 blocks of the second cell */
    { { { 0, 0, 16, 16 }, { 16, 16, 16, 16 } }, 1, { 0, 0, 32, 32 }, "37" },
    { { { 112, 16, 8, 8 } }, 1, { 112, 16, 16, 16 }, "64" }, /* 4 blocks of 16 pixels */
    { { { 112, 16, 8, 8 } }, 0, { 0 }, "65" }, { { { 112, 48, 8, 4 } }, 1, { 112, 48, 16, 16 }, "0" },
    { { { 112, 64, 4, 4 } }, 0, { 0 }, "0" }, /* a block alone is none, */
    { { { 44, 64, 8, 4 } }, 0, { 0 }, "0" },  /* nor are two in different cells */
  };
  GstElement *element = new_element (METAS, "motion-hold", "0", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", WIDTH, HEIGHT, &info);

  gst_buffer_unref (push_at (h, 0, new_frame (&info, 60, &nowhere, 0, 0)));
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    Rect last;

    set_value (element, "motion-min-area", rows[i].min_area);
    fail_unless_equals_int (boxes_of (h, &info, i + 1, rows[i].rects, &last), rows[i].boxes);
    fail_unless (memcmp (&last, &rows[i].last, sizeof last) == 0, "row %u: %d %d %d %d", i, last.x, last.y, last.width,
        last.height);
  }
  close_harness (h, 1 + G_N_ELEMENTS (rows));
}
GST_END_TEST

/* A second square comes in the frame that confirms the first: two boxes, of which the event has one. */
GST_START_TEST (event_has_what_is_confirmed)
{
  static const Rect two = { 112, 48, 16, 16 };
  GstElement *element = new_element (METAS, NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", WIDTH, HEIGHT, &info);
  const GstStructure *s, *box;
  GstMessage *message;
  guint area, sure;

  for (guint n = 0; n < 4; n++) {
    GstBuffer *frame = new_frame (&info, 60, n ? &square : &nowhere, 200, 0), *out;

    if (n == 3)
      paint (&info, frame, &two, 200, 0);
    out = push_at (h, n, frame);
    fail_unless_equals_int (n_boxes (out), n == 3 ? 2 : n > 0);
    gst_buffer_unref (out);
  }
  message = pop_message (element, GST_MESSAGE_ELEMENT);
  fail_unless (message != NULL);
  s = gst_message_get_structure (message);
  fail_unless_equals_int (gst_value_array_get_size (gst_structure_get_value (s, "boxes")), 1);
  box = gst_value_get_structure (gst_value_array_get_value (gst_structure_get_value (s, "boxes"), 0));
  fail_unless (gst_structure_get (s, "area", G_TYPE_UINT, &area, NULL) &&
      gst_structure_get (box, "confirmed", G_TYPE_UINT, &sure, NULL));
  fail_unless (area == 32 * 32 && sure == area, "%u of %u", sure, area);
  gst_message_unref (message);
  close_harness (h, 4);
}
GST_END_TEST

/* What differs by 7 levels from a background that was still for long is no motion, by 8 it is. */
GST_START_TEST (least_difference)
{
  GstElement *element = new_element (METAS, "motion-hold", "0", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", WIDTH, HEIGHT, &info);
  GstBuffer *out;

  for (guint n = 0; n < 100; n++)
    gst_buffer_unref (push_at (h, n, new_frame (&info, 60, &nowhere, 0, 0)));
  out = push_at (h, 100, new_frame (&info, 60, &square, 67, 0));
  expect_box (out, NULL, FALSE, "7 levels");
  gst_buffer_unref (out);
  gst_buffer_unref (push_at (h, 101, new_frame (&info, 60, &nowhere, 0, 0)));
  out = push_at (h, 102, new_frame (&info, 60, &(Rect) { 96, 32, 32, 32 }, 68, 0));
  expect_box (out, &(Rect) { 96, 32, 32, 32 }, FALSE, "8 levels");
  gst_buffer_unref (out);
  close_harness (h, 103);
}
GST_END_TEST

/* What was there in the first frame and goes: the background takes what is behind in the seventh frame. What comes and
 * stands still moves on. */
GST_START_TEST (goes_or_comes)
{
  const gboolean goes = __i__ == 0;
  const Rect cells = { 32, 16, 32, 32 };
  GstElement *element = new_element (METAS, "motion-hold", "0", "output", "background", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "I420", WIDTH, HEIGHT, &info);

  for (guint n = 0; n < 60; n++) {
    const gboolean moves = n > 0 && (!goes || n < 7);
    GstBuffer *out = push_at (h, n, new_frame (&info, 60, (n == 0) == goes ? &across : &nowhere, 200, 0));

    expect_box (out, moves ? &cells : NULL, n >= 3, "what goes or comes");
    if (n == 3)
      expect_event (element, "motion-start", n, 1);
    if (goes && n == 7)
      expect_event (element, "motion-stop", n, 0);
    expect_event (element, NULL, n, 0);
    if (goes && n >= 7)
      expect_levels (&info, out, &nowhere, FALSE, 60, 60);
    else if (!goes)
      expect_levels (&info, out, &nowhere, FALSE, 60, 60 + n / 16);
    gst_buffer_unref (out);
  }
  close_harness (h, 60);
}
GST_END_TEST

/* ---- what is no motion ---------------------------------------------------------- */

typedef enum { LAMP, GAIN, SWITCH, N_LIGHTS } Light;

/* Changes the light of a gray frame: a lamp at its left, the camera's gain, or any other light. */
static void
shine (const GstVideoInfo *info, GstBuffer *buffer, Light light, guint frame)
{
  GstVideoFrame f;

  fail_unless (gst_video_frame_map (&f, info, buffer, GST_MAP_READWRITE));
  for (gint y = 0; y < HEIGHT; y++)
    for (gint x = 0; x < WIDTH; x++) {
      const gdouble gain = light == LAMP ? 1 + 0.6 * MAX (0, 96 - x) / 96
          : light == GAIN                ? 1 + 0.01 * MIN (frame, 40)
                                         : 1.8;

      put_value (&f, 0, x, y, (guint) (value_of (&f, 0, x, y) * gain));
    }
  gst_video_frame_unmap (&f);
}

/* A lamp goes on and off, the gain rises, the light of a room is switched on: nothing starts. A switch changes the
 * whole frame, of which then is not known what moves. Who comes afterwards is seen. */
GST_START_TEST (light)
{
  const Light light = (Light) __i__;
  GstElement *element = new_element (METAS, "motion-hold", "3", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", WIDTH, HEIGHT, &info);
  const Rect tile = { 8, 8, 8, 8 };

  for (guint n = 0; n < 200; n++) {
    GstBuffer *frame = new_frame (&info, 60, &nowhere, 0, 6), *out;
    Rect rect = tile;

    for (rect.y = 0; rect.y < HEIGHT; rect.y += 16)
      for (rect.x = rect.y % 32 / 2; rect.x < WIDTH; rect.x += 24)
        paint (&info, frame, &rect, 100, 6);
    if (n >= 100 && (light != LAMP || n < 140))
      shine (&info, frame, light, n - 100);
    if (n >= 195)
      paint (&info, frame, &across, 220, 0);
    out = push_at (h, n, frame);
    fail_unless (n < 195 ? n_boxes (out) == 0 : n_boxes (out) > 0, "frame %u: %u boxes", n, n_boxes (out));
    if (n < 195)
      expect_still (out, n > 0 && (light != SWITCH || n != 100));
    if (n == 197)
      expect_event (element, "motion-start", n, 1);
    expect_event (element, NULL, n, 0);
    gst_buffer_unref (out);
  }
  close_harness (h, 200);
}
GST_END_TEST

/* A thousand frames of a scene in which nothing moves. Noise of 20 levels is no motion. Noise of 40 makes single cells
 * move while they learn how strong it is; nothing is confirmed. */
GST_START_TEST (noise)
{
  const gboolean strong = __i__ / 2;
  GstElement *element = new_element (METAS, "frames-in-flight", __i__ % 2 ? "3" : "1", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", WIDTH, HEIGHT, &info);
  guint moves = 0;

  for (guint n = 0; n < 1000; n++) {
    GstBuffer *out = push_at (h, n, new_frame (&info, 100, &square, 130, strong ? 40 : 20));

    moves += n_boxes (out) > 0;
    gst_buffer_unref (out);
  }
  fail_unless (strong ? moves > 20 : moves == 0, "something moves in %u frames", moves);
  expect_event (element, NULL, 1000, 0);
  close_harness (h, 1000);
}
GST_END_TEST

/* ---- what begins anew, and what ends motion ---------------------------------- */

typedef enum { FLUSH, CAPS, APPLY, DISCONT, PICTURE, N_CHANGES } Change;

GST_START_TEST (begins_anew)
{
  const Change change = (Change) __i__;
  GstElement *element = new_element (METAS, "motion-hold", "5", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "I420", WIDTH, HEIGHT, &info);
  GstBuffer *in, *out;

  for (guint n = 0; n < 4; n++)
    gst_buffer_unref (push_at (h, n, new_frame (&info, 60, n ? &square : &nowhere, 200, 0)));
  expect_event (element, "motion-start", 3, 1);
  if (change == FLUSH)
    flush_harness (h, NULL);
  else if (change == CAPS)
    set_caps (h, video_caps ("I420", WIDTH + 16, HEIGHT, NULL), &info);
  else if (change == APPLY)
    set_value (element, "apply-to", "luma");
  in = new_frame (&info, change == PICTURE ? 130 : 60, &square, 200, 0);
  if (change == DISCONT)
    GST_BUFFER_FLAG_SET (in, GST_BUFFER_FLAG_DISCONT);
  out = push_at (h, 4, in);
  expect_box (out, change == DISCONT ? &square : NULL, TRUE, "what was there before");
  expect_still (out, FALSE);
  gst_buffer_unref (out);
  if (change != DISCONT && change != PICTURE)
    expect_event (element, "motion-stop", 4, 0);
  expect_event (element, NULL, 4, 0);
  if (change == PICTURE) { /* what was confirmed before is held */
    for (guint n = 5; n < 10; n++) {
      expect_event (element, NULL, n, 0);
      out = push_at (h, n, new_frame (&info, 130, &square, 200, 0));
      expect_box (out, n < 9 ? &square : NULL, TRUE, "what is held");
      gst_buffer_unref (out);
    }
    expect_event (element, "motion-stop", 9, 0);
  }
  expect_no_messages (element);
  close_harness (h, change == PICTURE ? 10 : 5);
}
GST_END_TEST

typedef enum { END, METAS_OFF, WINDOW, DISABLED, N_ENDS } End;

GST_START_TEST (motion_ends)
{
  static const gchar *const settings[N_ENDS][2] = { [METAS_OFF] = { "motion-meta", "false" },
    [WINDOW] = { "temporal-method", "window" },
    [DISABLED] = { "enabled", "false" } };
  const End end = (End) (__i__ / 2);
  GstElement *element = new_element (METAS, "frames-in-flight", __i__ % 2 ? "4" : "1", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", WIDTH, HEIGHT, &info);
  GstMessage *message;

  for (guint n = 0; n < 4; n++)
    gst_buffer_unref (push_at (h, n, new_frame (&info, 60, n ? &square : &nowhere, 200, 0)));
  expect_event (element, "motion-start", 3, 1);
  if (end == END) {
    fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  } else {
    set_value (element, settings[end][0], settings[end][1]);
    gst_buffer_unref (push_at (h, 4, new_frame (&info, 60, &square, 200, 0)));
  }
  expect_event (element, "motion-stop", end == END ? 3 : 4, 0);
  expect_event (element, NULL, 4, 0);
  while ((message = pop_message (element, GST_MESSAGE_WARNING))) /* the advice that motion-meta needs the method */
    gst_message_unref (message);
  close_harness (h, -1);
}
GST_END_TEST

static GstPadProbeReturn
open_at_end (GstPad *pad, GstPadProbeInfo *info, gpointer gate)
{
  (void) pad;
  if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_EOS)
    gate_set (gate, FALSE, GST_FLOW_OK);
  return GST_PAD_PROBE_OK;
}

/* The end comes while a frame is at the gate and one behind it. Motion in that one is said before its end, whichever
 * thread is faster: hence many rounds. */
GST_START_TEST (ends_after_the_last_frame)
{
  GstElement *element = new_element (METAS, "frames-in-flight", "4", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", WIDTH, HEIGHT, &info);
  GstPad *pad = gst_element_get_static_pad (element, "sink");
  Gate gate;

  gst_buffer_unref (push_at (h, 0, new_frame (&info, 60, &nowhere, 0, 0)));
  gst_buffer_unref (push_at (h, 1, new_frame (&info, 60, &square, 200, 0)));
  gate_new (&gate, h, TRUE);
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, open_at_end, &gate, NULL);
  for (guint n = 2; n < 4; n++) {
    GstBuffer *in = new_frame (&info, 60, &square, 200, 0);

    GST_BUFFER_PTS (in) = n * 40 * GST_MSECOND;
    GST_BUFFER_DURATION (in) = 40 * GST_MSECOND;
    fail_unless_equals_int (gst_harness_push (h, in), GST_FLOW_OK);
  }
  fail_unless_equals_int (wait_for (&gate, &gate.waiting, 1, WAIT_US), 1);
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  expect_event (element, "motion-start", 3, 1);
  expect_event (element, "motion-stop", 3, 0);
  expect_event (element, NULL, 3, 0);
  gst_object_unref (pad);
  close_harness (h, 4);
}
GST_END_TEST

/* ---- in pipelines --------------------------------------------------------------- */

/* cudaconvolve covers what moves, all of a frame of which that is not known (the first one, and one in which the
 * picture is another, while something moves), and nothing any more when it has gone. On the GPU also with the frames in
 * its memory. */
GST_START_TEST (hides_what_moves)
{
  const gboolean in_cuda_memory = __i__ == 1;
  const gchar *backend = on_gpu () ? "cuda" : "cpu";
  gchar *line;
  GstHarness *h;
  GstVideoInfo info;

  if (in_cuda_memory && !on_gpu ())
    return;
  line = g_strdup_printf ("%scudamedian name=m backend=%s " METAS_TEXT " ! cudaconvolve name=c backend=%s "
                          "preset=fill fill-color=0xff000000 roi-meta=true roi-type=motion%s",
      in_cuda_memory ? "cudaupload ! video/x-raw(" CUDA_FEATURE ") ! " : "", backend, backend,
      in_cuda_memory ? " ! cudadownload" : "");
  h = parse_harness (line);
  set_caps (h, video_caps ("NV12", WIDTH, HEIGHT, NULL), &info);
  for (guint n = 0; n < 60; n++) {
    const gboolean gone = n >= 40, unknown = n == 0 || n == 20;
    const Rect object = { gone ? WIDTH : (gint) (3 * n), 40, 20, 30 };
    GstBuffer *out = push_at (h, n, new_frame (&info, n < 20 ? 60 : 90, n ? &object : &nowhere, 220, 4));
    guint bright = 0, black = 0;
    GstVideoFrame f;

    fail_unless (gst_video_frame_map (&f, &info, out, GST_MAP_READ));
    for (gint y = 0; y < HEIGHT; y++)
      for (gint x = 0; x < WIDTH; x++) {
        bright += value_of (&f, 0, x, y) > 200;
        black += value_of (&f, 0, x, y) < 30;
      }
    gst_video_frame_unmap (&f);
    gst_buffer_unref (out);
    /* A cell in which one block has changed does not move: up to 16 pixels at each of the object's corners. */
    fail_unless (bright <= 4 * 16 && (unknown ? black == WIDTH * HEIGHT : (gone || black > 500) && black < 70 * HEIGHT),
        "frame %u: %u bright, %u black", n, bright, black);
    fail_unless (n < 51 || black == 0, "frame %u: %u black, where nothing moves", n, black); /* motion-hold is 10 */
  }
  fail_unless_equals_uint64 (stat_of (child_of (h, "m"), on_gpu () ? "frames-gpu" : "frames-cpu"), 60);
  free_harness (h);
  g_free (line);
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("motion");

  tcase_add_test (tests, by_hand);
  tcase_add_loop_test (tests, still, 0, 4);
  tcase_add_test (tests, advice);
  tcase_add_loop_test (tests, start_and_stop, 0, N_FORMATS);
  tcase_add_test (tests, boxes);
  tcase_add_test (tests, event_has_what_is_confirmed);
  tcase_add_test (tests, least_difference);
  tcase_add_loop_test (tests, goes_or_comes, 0, 2);
  tcase_add_loop_test (tests, light, 0, N_LIGHTS);
  tcase_add_loop_test (tests, noise, 0, 4);
  tcase_add_loop_test (tests, begins_anew, 0, N_CHANGES);
  tcase_add_loop_test (tests, motion_ends, 0, 2 * N_ENDS);
  tcase_add_loop_test (tests, ends_after_the_last_frame, 0, 20);
  tcase_add_loop_test (tests, hides_what_moves, 0, 2);
  return run_suite (argc, argv, "motion", tests, FALSE);
}
