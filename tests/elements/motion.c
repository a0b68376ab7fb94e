/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * motion.c: the running median of cudamedian: a background worked out by hand, where something moves as metas and
 * messages report it, and what begins anew. */
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

/* ---- frames ------------------------------------------------------------- */

/* Returns a frame of one level (of 8 bits) in all components, with a rectangle of another one, and noise of up to so
 * many levels. */
static GstBuffer *
new_frame (const GstVideoInfo *info, guint level, const Rect *rect, guint inside, guint noise)
{
  static guint32 random = 1;
  GstBuffer *buffer = random_frame (info, 0, 0);
  const GstVideoFormatInfo *finfo = info->finfo;
  GstVideoFrame f;

  fail_unless (gst_video_frame_map (&f, info, buffer, GST_MAP_WRITE));
  for (gint c = 0; c < (gint) GST_VIDEO_INFO_N_COMPONENTS (info); c++)
    for (gint y = 0; y < GST_VIDEO_INFO_COMP_HEIGHT (info, c); y++)
      for (gint x = 0; x < GST_VIDEO_INFO_COMP_WIDTH (info, c); x++) {
        const gint left = x << GST_VIDEO_FORMAT_INFO_W_SUB (finfo, c),
                   top = y << GST_VIDEO_FORMAT_INFO_H_SUB (finfo, c);
        const gboolean in = left >= rect->x && left < rect->x + rect->width && top >= rect->y &&
            top < rect->y + rect->height;
        guint v = in ? inside : level;

        random = random * 1664525 + 1013904223;
        v += noise ? (random >> 16) % (noise + 1) : 0;
        put_value (&f, c, x, y, v << MAX (0, (gint) GST_VIDEO_FORMAT_INFO_DEPTH (finfo, c) - 8));
      }
  gst_video_frame_unmap (&f);
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

/* Fails unless the frame has exactly this box, or none. */
static void
expect_box (GstBuffer *buffer, const Rect *box, const gchar *what)
{
  GstVideoRegionOfInterestMeta *meta = gst_buffer_get_video_region_of_interest_meta_id (buffer, 1);
  GstStructure *s;
  gdouble x, y;
  guint area;

  fail_unless_equals_int (n_boxes (buffer), box ? 1 : 0);
  if (!box)
    return;
  fail_unless (meta && meta->x == (guint) box->x && meta->y == (guint) box->y && meta->w == (guint) box->width &&
          meta->h == (guint) box->height,
      "%s: %u %u %u %u", what, meta->x, meta->y, meta->w, meta->h);
  s = gst_video_region_of_interest_meta_get_param (meta, "motion");
  fail_unless (s &&
      gst_structure_get (s, "area", G_TYPE_UINT, &area, "centroid-x", G_TYPE_DOUBLE, &x, "centroid-y", G_TYPE_DOUBLE,
          &y, NULL));
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

/* rate 10 / 255: the background moves by 10 levels a frame. */
GST_START_TEST (by_hand)
{
  static const guint8 one[4] = { 10, 20, 30, 40 }, two[4] = { 100, 25, 0, 40 };
  GstElement *element = new_element (RUNNING, "rate", "0.03921575", "output", "background", "threshold", "60", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", 4, 1, &info);

  expect_samples (h, &info, one, one, "the first frame");
  expect_samples (h, &info, two, (const guint8[4]) { 20, 25, 20, 40 }, "the second frame");
  expect_samples (h, &info, two, (const guint8[4]) { 30, 25, 10, 40 }, "the third frame");
  set_value (element, "output", "difference"); /* the background is 40, 25, 0, 40 now */
  expect_samples (h, &info, two, (const guint8[4]) { 60, 0, 0, 0 }, "difference");
  set_value (element, "output", "mask"); /* 30, 25, 10, 40 */
  expect_samples (h, &info, one, (const guint8[4]) { 0, 0, 0, 0 }, "mask of nothing");
  set_value (element, "rate", "0");
  expect_samples (h, &info, two, (const guint8[4]) { 255, 0, 0, 0 }, "mask");
  set_value (element, "output", "result"); /* passes, so that the background begins anew after it */
  expect_samples (h, &info, one, one, "result");
  fail_unless_equals_uint64 (stat_of (element, "frames-passed"), 1);
  set_value (element, "output", "background");
  expect_samples (h, &info, two, two, "the background begins anew");
  expect_samples (h, &info, one, two, "rate 0");
  set_value (element, "output", "result");
  set_value (element, "temporal-method", "window");
  set_value (element, "threshold", "0");
  expect_samples (h, &info, (const guint8[4]) { 9, 1, 8, 2 }, (const guint8[4]) { 9, 8, 2, 2 },
      "the median of a window");
  expect_no_messages (element);
  close_harness (h, 10);
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

/* Every format: a square comes and goes. The picture is not touched. */
GST_START_TEST (start_and_stop)
{
  GstElement *element = new_element (METAS, "motion-hold", "2", "rate", "0", NULL);
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
    expect_box (out, held ? &square : NULL, formats[__i__]);
    expect_still (out, n > 0 && !held); /* the first frame is compared with nothing */
    if (n == 4)
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

/* Two squares apart are two boxes, three in a row that touch at corners are one; small ones are none. */
GST_START_TEST (boxes)
{
  static const Rect apart[2] = { { 0, 0, 16, 16 }, { 64, 48, 20, 16 } }, dot = { 16, 16, 6, 6 };
  GstElement *element = new_element (METAS, "motion-hold", "0", "rate", "0", "motion-min-area", "37", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", WIDTH, HEIGHT, &info);
  GstVideoRegionOfInterestMeta *meta;
  GstVideoFrame f;
  GstBuffer *frame, *out;

  gst_buffer_unref (push_at (h, 0, new_frame (&info, 60, &nowhere, 0, 0)));
  frame = new_frame (&info, 60, &apart[0], 200, 0);
  fail_unless (gst_video_frame_map (&f, &info, frame, GST_MAP_WRITE));
  for (gint y = 0; y < 16; y++)
    memset (word_at (&f, 0, 64, 48 + y), 200, 20);
  gst_video_frame_unmap (&f);
  out = push_at (h, 1, frame);
  fail_unless_equals_int (n_boxes (out), 2);
  meta = gst_buffer_get_video_region_of_interest_meta_id (out, 2);
  fail_unless (meta->x == 64 && meta->y == 48 && meta->w == 32 && meta->h == 16); /* 4 of 16 columns: a quarter */
  gst_buffer_unref (out);
  frame = new_frame (&info, 60, &apart[0], 200, 0);
  fail_unless (gst_video_frame_map (&f, &info, frame, GST_MAP_WRITE));
  for (gint y = 0; y < 16; y++)
    memset (word_at (&f, 0, 16, 16 + y), 200, 16);
  gst_video_frame_unmap (&f);
  out = push_at (h, 2, frame);
  fail_unless_equals_int (n_boxes (out), 1);
  meta = gst_buffer_get_video_region_of_interest_meta_id (out, 1);
  fail_unless (meta->x == 0 && meta->y == 0 && meta->w == 32 && meta->h == 32);
  gst_buffer_unref (out);
  for (guint area = 37; area >= 36; area--) { /* 36 pixels move */
    g_object_set (element, "motion-min-area", (gint) area, NULL);
    out = push_at (h, 40 - area, new_frame (&info, 60, &dot, 200, 0));
    fail_unless_equals_int (n_boxes (out), area == 36);
    gst_buffer_unref (out);
  }
  close_harness (h, 5);
}
GST_END_TEST

/* Fails unless all samples of the frame are of such levels. */
static void
expect_levels (const GstVideoInfo *info, GstBuffer *buffer, guint from, guint to)
{
  GstVideoFrame f;

  fail_unless (gst_video_frame_map (&f, info, buffer, GST_MAP_READ));
  for (gint c = 0; c < (gint) GST_VIDEO_INFO_N_COMPONENTS (info); c++)
    for (gint y = 0; y < GST_VIDEO_INFO_COMP_HEIGHT (info, c); y++)
      for (gint x = 0; x < GST_VIDEO_INFO_COMP_WIDTH (info, c); x++) {
        const guint v = value_of (&f, c, x, y);

        fail_unless (v >= from && v <= to, "component %d at %d, %d: %u", c, x, y, v);
      }
  gst_video_frame_unmap (&f);
}

/* A light is switched on: motion once, and none any more within 2 / rate frames and the hold time. The background is
 * the new picture then, but for the noise. */
GST_START_TEST (light)
{
  const guint frames = 100; /* 2 / 0.02 */
  GstElement *element = new_element (METAS, "motion-hold", "3", "rate", "0.02", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "NV12", WIDTH, HEIGHT, &info);
  guint stopped = 0;
  GstBuffer *out;

  for (guint n = 0; n < 10 + 2 * frames; n++) {
    if (n == 10 + frames)
      set_value (element, "output", "background");
    out = push_at (h, n, new_frame (&info, n < 10 ? 40 : 200, &nowhere, 0, 6));
    fail_unless (n >= 10 || n_boxes (out) == 0);
    if (n >= 10 + frames)
      expect_levels (&info, out, 200, 206);
    if (n == 10)
      expect_event (element, "motion-start", n, 1);
    if (n > 10 && !stopped && n_boxes (out) == 0) {
      stopped = n;
      expect_event (element, "motion-stop", n, 0);
    }
    expect_event (element, NULL, n, 0);
    gst_buffer_unref (out);
  }
  fail_unless (stopped > 30 && stopped <= 10 + frames + 4, "motion stops in frame %u", stopped);
  close_harness (h, 10 + 2 * (gint) frames);
}
GST_END_TEST

/* Returns how many pixels of a mask are white. */
static guint
count_white (const GstVideoInfo *info, GstBuffer *mask)
{
  guint white = 0;
  GstVideoFrame f;

  fail_unless (gst_video_frame_map (&f, info, mask, GST_MAP_READ));
  for (gint y = 0; y < HEIGHT; y++)
    for (gint x = 0; x < WIDTH; x++)
      white += value_of (&f, 0, x, y) > 0;
  gst_video_frame_unmap (&f);
  return white;
}

/* A thousand frames of a scene in which nothing moves, with noise of 20 levels. The threshold is 16: single pixels
 * move while the background learns, a few in each cell, and no cell is active. */
GST_START_TEST (noise)
{
  GstElement *element = new_element (METAS, "output", "mask", "frames-in-flight", __i__ ? "3" : "1", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", WIDTH, HEIGHT, &info);
  guint white = 0;

  for (guint n = 0; n < 1000; n++) {
    GstBuffer *out = push_at (h, n, new_frame (&info, 100, &square, 130, 20));

    fail_unless_equals_int (n_boxes (out), 0);
    white += count_white (&info, out);
    gst_buffer_unref (out);
  }
  fail_unless (white > WIDTH * HEIGHT / 10, "the noise moves %u pixels only", white);
  expect_event (element, NULL, 1000, 0);
  close_harness (h, 1000);
}
GST_END_TEST

/* ---- what begins anew, and what ends motion ---------------------------------- */

typedef enum { FLUSH, CAPS, APPLY, DISCONT, N_CHANGES } Change;

GST_START_TEST (begins_anew)
{
  const Change change = (Change) __i__;
  GstElement *element = new_element (METAS, "motion-hold", "5", "rate", "0", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "I420", WIDTH, HEIGHT, &info);
  GstBuffer *in, *out;

  gst_buffer_unref (push_at (h, 0, new_frame (&info, 60, &nowhere, 0, 0)));
  gst_buffer_unref (push_at (h, 1, new_frame (&info, 60, &square, 200, 0)));
  expect_event (element, "motion-start", 1, 1);
  if (change == FLUSH)
    flush_harness (h, NULL);
  else if (change == CAPS)
    set_caps (h, video_caps ("I420", WIDTH + 16, HEIGHT, NULL), &info);
  else if (change == APPLY)
    set_value (element, "apply-to", "luma");
  in = new_frame (&info, 60, &square, 200, 0);
  if (change == DISCONT)
    GST_BUFFER_FLAG_SET (in, GST_BUFFER_FLAG_DISCONT);
  out = push_at (h, 2, in);
  expect_box (out, change == DISCONT ? &square : NULL, "what was there before");
  expect_still (out, FALSE);
  gst_buffer_unref (out);
  if (change != DISCONT)
    expect_event (element, "motion-stop", 2, 0);
  expect_event (element, NULL, 2, 0);
  expect_no_messages (element);
  close_harness (h, 3);
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

  gst_buffer_unref (push_at (h, 0, new_frame (&info, 60, &nowhere, 0, 0)));
  gst_buffer_unref (push_at (h, 1, new_frame (&info, 60, &square, 200, 0)));
  expect_event (element, "motion-start", 1, 1);
  if (end == END) {
    fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  } else {
    set_value (element, settings[end][0], settings[end][1]);
    gst_buffer_unref (push_at (h, 2, new_frame (&info, 60, &square, 200, 0)));
  }
  expect_event (element, "motion-stop", end == END ? 1 : 2, 0);
  expect_event (element, NULL, 2, 0);
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
  gate_new (&gate, h, TRUE);
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, open_at_end, &gate, NULL);
  for (guint n = 1; n < 3; n++) {
    GstBuffer *in = new_frame (&info, 60, n == 2 ? &square : &nowhere, 200, 0);

    GST_BUFFER_PTS (in) = n * 40 * GST_MSECOND;
    GST_BUFFER_DURATION (in) = 40 * GST_MSECOND;
    fail_unless_equals_int (gst_harness_push (h, in), GST_FLOW_OK);
  }
  fail_unless_equals_int (wait_for (&gate, &gate.waiting, 1, WAIT_US), 1);
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  expect_event (element, "motion-start", 2, 1);
  expect_event (element, "motion-stop", 2, 0);
  expect_event (element, NULL, 2, 0);
  gst_object_unref (pad);
  close_harness (h, 3);
}
GST_END_TEST

/* ---- in pipelines --------------------------------------------------------------- */

/* cudaconvolve covers what moves, all of the first frame, of which that is not known, and nothing any more when it has
 * gone. On the GPU also with the frames in its memory. */
GST_START_TEST (hides_what_moves)
{
  const gboolean in_cuda_memory = __i__ == 1;
  const gchar *backend = on_gpu () ? "cuda" : "cpu";
  gchar *line;
  GstHarness *h;
  GstVideoInfo info;

  if (in_cuda_memory && !on_gpu ())
    return;
  line = g_strdup_printf ("%scudamedian name=m backend=%s " METAS_TEXT " rate=0.0001 ! cudaconvolve name=c backend=%s "
                          "preset=fill fill-color=0xff000000 roi-meta=true roi-type=motion%s",
      in_cuda_memory ? "cudaupload ! video/x-raw(" CUDA_FEATURE ") ! " : "", backend, backend,
      in_cuda_memory ? " ! cudadownload" : "");
  h = parse_harness (line);
  set_caps (h, video_caps ("NV12", WIDTH, HEIGHT, NULL), &info);
  for (guint n = 0; n < 60; n++) {
    const gboolean gone = n >= 40;
    const Rect object = { gone ? WIDTH : (gint) (3 * n), 40, 20, 30 };
    GstBuffer *out = push_at (h, n, new_frame (&info, 60, n ? &object : &nowhere, 220, 4));
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
    /* A cell of which less than an eighth is covered is not active: up to 31 pixels of a cell at the object's edge. */
    fail_unless (bright <= 4 * 31 && (n ? (gone || black > 500) && black < 70 * HEIGHT : black == WIDTH * HEIGHT),
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
  tcase_add_test (tests, advice);
  tcase_add_loop_test (tests, start_and_stop, 0, N_FORMATS);
  tcase_add_test (tests, boxes);
  tcase_add_test (tests, light);
  tcase_add_loop_test (tests, noise, 0, 2);
  tcase_add_loop_test (tests, begins_anew, 0, N_CHANGES);
  tcase_add_loop_test (tests, motion_ends, 0, 2 * N_ENDS);
  tcase_add_loop_test (tests, ends_after_the_last_frame, 0, 20);
  tcase_add_loop_test (tests, hides_what_moves, 0, 2);
  return run_suite (argc, argv, "motion", tests, FALSE);
}
