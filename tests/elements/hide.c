/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * hide.c: an object that moves, which a detector finds in every fifth frame only, stays hidden in all of them. Its
 * samples are black and white in turns, so every mean of a cell is far from both, and those of what is around it are
 * gray: a black or a white sample is one of the object that was not hidden. */
#include "common.h"

#define WIDTH 192
#define HEIGHT 128
#define FRAMES 60
#define EVERY 5 /* the frames with metadata */
#define OBJECT_WIDTH 24
#define OBJECT_HEIGHT 20
#define BLACK 5
#define WHITE 250
/* Of roi-grow, in pixels on each side: more than the way of the object between two detections. */
#define GROW "100"
#define GROW_X 12
#define GROW_Y 10
#define HOLD "500"
#define HOLD_FRAMES 12

typedef struct {
  gint x, y, width, height;
} Rect;

typedef enum { LAST, HELD, ALL } Mode;

static const gchar *const presets[] = { "fill", "mosaic", "privacy" };
static const gchar *const formats[] = { "NV12", "RGBA" };

#define CASES (3 * 2 * 3) /* presets, formats, modes */

/* Returns where the object is: at even pixels where a detector looks, so that its region has whole chroma samples. */
static Rect
object_at (gint frame)
{
  return (Rect) { GROW_X + 2 * frame + (frame % EVERY != 0), GROW_Y + 6 * frame / EVERY, OBJECT_WIDTH, OBJECT_HEIGHT };
}

/* Returns the region of a detection. */
static Rect
region_at (gint frame)
{
  const Rect r = object_at (frame);

  return (Rect) { r.x - GROW_X, r.y - GROW_Y, r.width + 2 * GROW_X, r.height + 2 * GROW_Y };
}

static gboolean
is_inside (const GstVideoFormatInfo *f, gint c, gint x, gint y, const Rect *r)
{
  const gint w_sub = GST_VIDEO_FORMAT_INFO_W_SUB (f, c), h_sub = GST_VIDEO_FORMAT_INFO_H_SUB (f, c);

  return (x + 1) << w_sub > r->x && x << w_sub < r->x + r->width && (y + 1) << h_sub > r->y &&
      y << h_sub < r->y + r->height;
}

/* Returns a frame with the object. */
static GstBuffer *
new_frame (const GstVideoInfo *info, gint number)
{
  GstBuffer *buffer = random_frame (info, (guint) number, 0);
  const Rect object = object_at (number);
  GstVideoFrame f;

  fail_unless (gst_video_frame_map (&f, info, buffer, GST_MAP_READWRITE));
  for (gint c = 0; c < (gint) GST_VIDEO_INFO_N_COMPONENTS (info); c++)
    for (gint y = 0; y < GST_VIDEO_INFO_COMP_HEIGHT (info, c); y++)
      for (gint x = 0; x < GST_VIDEO_INFO_COMP_WIDTH (info, c); x++) {
        guint8 *word = word_at (&f, c, x, y);

        if (!is_inside (info->finfo, c, x, y, &object))
          *word = (guint8) (100 + *word % 50);
        else
          *word = (guint8) ((x + y) % 2 ? WHITE + *word % (256 - WHITE) : *word % (BLACK + 1));
      }
  gst_video_frame_unmap (&f);
  return buffer;
}

/* Copies a part of a frame to the first samples of another one, or (`back`) those to the part. */
static void
copy_part (const GstVideoFrame *frame, const Rect *r, const GstVideoFrame *part, gboolean back)
{
  for (gint c = 0; c < (gint) GST_VIDEO_FRAME_N_COMPONENTS (part); c++)
    for (gint y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT (part, c); y++)
      for (gint x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH (part, c); x++) {
        guint8 *at = word_at (frame, c, x + (r->x >> GST_VIDEO_FORMAT_INFO_W_SUB (part->info.finfo, c)),
            y + (r->y >> GST_VIDEO_FORMAT_INFO_H_SUB (part->info.finfo, c)));
        guint8 *other = word_at (part, c, x, y);

        if (back)
          *at = *other;
        else
          *other = *at;
      }
}

/* Returns a copy of a frame of which the rectangle has been filtered, as a frame of its own, by `h`. */
static GstBuffer *
filtered_in (GstHarness *h, const gchar *format, const GstVideoInfo *info, GstBuffer *in, const Rect *r)
{
  GstBuffer *all = gst_buffer_copy_deep (in), *part;
  GstVideoFrame to, from;
  GstVideoInfo small;

  set_caps (h, video_caps (format, r->width, r->height, NULL), &small);
  part = gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (&small), NULL);
  fail_unless (gst_video_frame_map (&to, info, all, GST_MAP_READWRITE));
  fail_unless (gst_video_frame_map (&from, &small, part, GST_MAP_WRITE));
  copy_part (&to, r, &from, FALSE);
  gst_video_frame_unmap (&from);
  part = push_pull (h, part);
  fail_unless (gst_video_frame_map (&from, &small, part, GST_MAP_READ));
  copy_part (&to, r, &from, TRUE);
  gst_video_frame_unmap (&from);
  gst_video_frame_unmap (&to);
  gst_buffer_unref (part);
  return all;
}

/* Lists the regions of a frame. Returns their number. */
static gint
list_regions (Mode mode, gint frame, Rect *regions)
{
  gint n = 0;

  if (mode == ALL && frame % EVERY) {
    regions[0] = (Rect) { 0, 0, WIDTH, HEIGHT };
    return 1;
  }
  for (gint i = frame - frame % EVERY; i >= 0; i -= EVERY)
    if (n == 0 || (mode == HELD && frame - i <= HOLD_FRAMES))
      regions[n++] = region_at (i);
  return n;
}

/* Fails unless the frame has its regions filtered as one frame, the rest as it was, and no sample of the object. */
static void
assert_hidden (GstHarness *h, const GstVideoInfo *info, GstBuffer *in, GstBuffer *out, Mode mode, gint number)
{
  Rect regions[FRAMES], all = { WIDTH, HEIGHT, 0, 0 };
  const gint n = list_regions (mode, number, regions);
  gint right = 0, below = 0;
  GstVideoFrame from, filtered, got;
  GstBuffer *wanted;

  for (gint i = 0; i < n; i++) {
    all.x = MIN (all.x, regions[i].x);
    all.y = MIN (all.y, regions[i].y);
    right = MAX (right, regions[i].x + regions[i].width);
    below = MAX (below, regions[i].y + regions[i].height);
  }
  all.width = right - all.x;
  all.height = below - all.y;
  wanted = filtered_in (h, info->finfo->name, info, in, &all);
  fail_unless (gst_video_frame_map (&from, info, in, GST_MAP_READ));
  fail_unless (gst_video_frame_map (&filtered, info, wanted, GST_MAP_READ));
  fail_unless (gst_video_frame_map (&got, info, out, GST_MAP_READ));
  for (gint c = 0; c < (gint) GST_VIDEO_INFO_N_COMPONENTS (info); c++)
    for (gint y = 0; y < GST_VIDEO_INFO_COMP_HEIGHT (info, c); y++)
      for (gint x = 0; x < GST_VIDEO_INFO_COMP_WIDTH (info, c); x++) {
        const guint value = value_of (&got, c, x, y);
        gboolean inside = FALSE;

        for (gint i = 0; i < n; i++)
          inside = inside || is_inside (info->finfo, c, x, y, &regions[i]);
        if (c < 3 && (value <= BLACK || value >= WHITE))
          fail ("%s, frame %d, component %d: (%d, %d) is %u, of the object", info->finfo->name, number, c, x, y, value);
        if (value != value_of (inside ? &filtered : &from, c, x, y))
          fail ("%s, frame %d, component %d: (%d, %d), %s the regions, is %u, not %u", info->finfo->name, number, c, x,
              y, inside ? "in" : "outside of", value, value_of (inside ? &filtered : &from, c, x, y));
      }
  gst_video_frame_unmap (&from);
  gst_video_frame_unmap (&filtered);
  gst_video_frame_unmap (&got);
  gst_buffer_unref (wanted);
}

/* With ALL the first detection is in frame 5, and the frames without one are hidden as a whole. */
static void
hide (const gchar *preset, const gchar *format, Mode mode, const gchar *frames_in_flight)
{
  GstElement *element = new_convolve ("preset", preset, "fill-color", "0xff404040", "roi-meta", "true", "roi-grow",
      GROW, "roi-hold", mode == HELD ? HOLD : "0", "roi-missing", mode == ALL ? "all" : "last", "frames-in-flight",
      frames_in_flight, NULL);
  GstHarness *whole = new_harness (new_convolve ("preset", preset, "fill-color", "0xff404040", NULL));
  const gint start = mode == ALL ? 1 : 0;
  GstBuffer *in[FRAMES];
  GstVideoInfo info;
  GstHarness *h = new_stream (element, format, WIDTH, HEIGHT, &info);

  for (gint i = start; i < FRAMES; i++) {
    const Rect object = object_at (i);
    GstBuffer *copy;

    in[i] = new_frame (&info, i);
    copy = gst_buffer_copy_deep (in[i]);
    if (i % EVERY == 0)
      gst_buffer_add_video_region_of_interest_meta (copy, "face", (guint) object.x, (guint) object.y,
          (guint) object.width, (guint) object.height);
    fail_unless_equals_int (gst_harness_push (h, copy), GST_FLOW_OK);
  }
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  for (gint i = start; i < FRAMES; i++) {
    GstBuffer *out = gst_harness_pull (h);

    assert_hidden (whole, &info, in[i], out, mode, i);
    gst_buffer_unref (in[i]);
    gst_buffer_unref (out);
  }
  expect_no_messages (element);
  fail_unless_equals_uint64 (stat_of (element, "frames-passed"), 0);
  close_harness (h, FRAMES - start);
  close_harness (whole, FRAMES - start);
}

GST_START_TEST (stays_hidden)
{
  hide (presets[__i__ % 3], formats[__i__ / 3 % 2], (Mode) (__i__ / 6), "1");
  hide (presets[__i__ % 3], formats[__i__ / 3 % 2], (Mode) (__i__ / 6), "3");
}
GST_END_TEST

/* The object stays hidden in frames of another size, on its place there; where they have another shape, its place is
 * not known, and the whole frame is hidden, until the next detection. */
GST_START_TEST (size_changes)
{
  static const struct {
    gint width, height;
    Rect r;
  } frames[] = {
    { WIDTH, HEIGHT, { 24, 20, 24, 20 } },
    { WIDTH / 2, HEIGHT / 2, { 12, 10, 12, 10 } },
    { WIDTH * 2, HEIGHT * 2, { 48, 40, 48, 40 } },
    { WIDTH + 1, HEIGHT - 1, { 24, 19, 25, 21 } },
    { WIDTH + 1, HEIGHT / 2, { 0, 0, WIDTH + 1, HEIGHT / 2 } },
    { WIDTH, HEIGHT, { 0, 0, WIDTH, HEIGHT } },
  };
  GstVideoInfo info[G_N_ELEMENTS (frames)];
  GstElement *element = new_convolve ("preset", "fill", "fill-color", "0xffffffff", "roi-meta", "true", "roi-hold",
      __i__ % 2 ? HOLD : "0", "roi-missing", __i__ % 2 ? "pass" : "last", "frames-in-flight", __i__ / 2 ? "3" : "1",
      NULL);
  GstHarness *h = new_stream (element, "GRAY8", WIDTH, HEIGHT, &info[0]);

  for (guint i = 0; i < G_N_ELEMENTS (frames); i++) {
    GstBuffer *in;

    set_caps (h, video_caps ("GRAY8", frames[i].width, frames[i].height, NULL), &info[i]);
    in = gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (&info[i]), NULL);
    gst_buffer_memset (in, 0, 0, GST_VIDEO_INFO_SIZE (&info[i]));
    GST_BUFFER_PTS (in) = i * 80 * GST_MSECOND;
    if (i == 0)
      gst_buffer_add_video_region_of_interest_meta (in, "face", 24, 20, 24, 20);
    fail_unless_equals_int (gst_harness_push (h, in), GST_FLOW_OK);
  }
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  for (guint i = 0; i < G_N_ELEMENTS (frames); i++) {
    GstBuffer *out = gst_harness_pull (h);
    GstVideoFrame got;

    fail_unless (gst_video_frame_map (&got, &info[i], out, GST_MAP_READ));
    for (gint y = 0; y < frames[i].height; y++)
      for (gint x = 0; x < frames[i].width; x++) {
        const gboolean inside = is_inside (info[i].finfo, 0, x, y, &frames[i].r);

        if (value_of (&got, 0, x, y) != (inside ? 255u : 0u))
          fail ("frame %u: (%d, %d) is %u", i, x, y, value_of (&got, 0, x, y));
      }
    gst_video_frame_unmap (&got);
    gst_buffer_unref (out);
  }
  expect_no_messages (element);
  close_harness (h, G_N_ELEMENTS (frames));
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("hide");

  tcase_add_loop_test (tests, stays_hidden, 0, CASES);
  tcase_add_loop_test (tests, size_changes, 0, 4);
  return run_suite (argc, argv, "hide", tests, FALSE);
}
