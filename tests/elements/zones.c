/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * zones.c: the events of cudamedian and of cudasegment, one message an event, for a rectangle that is drawn at known
 * places. */
#include "common.h"

#include <string.h>

#define WIDTH 160
#define HEIGHT 96
#define SIDE 16

/* Returns a gray frame with a white square at (x, y), without one for x < 0, at 40 ms times its number. */
static GstBuffer *
new_frame (const GstVideoInfo *info, guint number, gint x, gint y, gint side)
{
  GstBuffer *buffer = random_frame (info, 0, 0);
  GstVideoFrame f;

  fail_unless (gst_video_frame_map (&f, info, buffer, GST_MAP_WRITE));
  for (gint c = 0; c < (gint) GST_VIDEO_INFO_N_COMPONENTS (info); c++)
    for (gint v = 0; v < GST_VIDEO_INFO_COMP_HEIGHT (info, c); v++)
      for (gint u = 0; u < GST_VIDEO_INFO_COMP_WIDTH (info, c); u++)
        *word_at (&f, c, u, v) = (guint8) (c > 0                             ? 128
                : x >= 0 && u >= x && u < x + side && v >= y && v < y + side ? 220
                                                                             : 60);
  gst_video_frame_unmap (&f);
  GST_BUFFER_PTS (buffer) = number * 40 * GST_MSECOND;
  GST_BUFFER_DURATION (buffer) = 40 * GST_MSECOND;
  return buffer;
}

static void
push (GstHarness *h, const GstVideoInfo *info, guint number, gint x, gint y, gint side)
{
  gst_buffer_unref (push_pull (h, new_frame (info, number, x, y, side)));
}

/* Returns the events since the last call, "motion-start; enter-zone door", in the order in which they came. Fails
 * unless they are of that frame. `ids`: each is followed by the id of its region. */
static gchar *
events_of (GstElement *element, guint frame, gboolean ids)
{
  GString *text = g_string_new (NULL);
  GstMessage *message;

  while ((message = pop_message (element, GST_MESSAGE_ELEMENT))) {
    const GstStructure *s = gst_message_get_structure (message);
    const gchar *zone = gst_structure_get_string (s, "zone");
    guint64 running;

    fail_unless (gst_structure_get (s, "running-time", G_TYPE_UINT64, &running, NULL));
    fail_unless_equals_uint64 (running, frame * 40 * GST_MSECOND);
    g_string_append_printf (text, "%s%s%s%s", text->len ? "; " : "", gst_structure_get_string (s, "event"),
        zone ? " " : "", zone ? zone : "");
    if (ids) {
      const GstStructure *region = gst_value_get_structure (gst_structure_get_value (s, "region"));
      guint id;

      fail_unless (gst_structure_get (region, "id", G_TYPE_UINT, &id, NULL));
      fail_unless (gst_structure_has_field (region, "width") && gst_structure_has_field (region, "area"));
      g_string_append_printf (text, " %u", id);
    }
    gst_message_unref (message);
  }
  return g_string_free (text, FALSE);
}

static void
expect_events (GstElement *element, guint frame, const gchar *right)
{
  gchar *text = events_of (element, frame, FALSE);

  fail_unless (strcmp (text, right) == 0, "frame %u: \"%s\" instead of \"%s\"", frame, text, right);
  g_free (text);
}

/* Sets zones that are refused, with a sentence that has `part`; nothing changes. */
static void
expect_refused (GstElement *element, const gchar *zones, const gchar *part)
{
  gchar *text;

  set_value (element, "zones", zones);
  text = only_message (element, GST_MESSAGE_WARNING, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
  fail_unless (strstr (text, part) != NULL, "\"%s\": %s", zones, text);
  g_free (text);
}

/* ---- motion ----------------------------------------------------------------- */

/* left: half the frame; dot: smaller than the square, in the cell at (32, 48); far: never reached. */
/* Each place is taken for three frames: in the last one the motion there is confirmed, and that at the place before is
 * held no longer. */
#define ZONES " left : 0,0 0.5,0 .5,1 0,1.0;dot: 0.21,0.52 0.25,0.52 0.25,0.6; ; far: 0.9,0.9 1,0.9 1,1 0.9,1;"

GST_START_TEST (motion_in_zones)
{
  static const struct {
    gint x, y;
    const gchar *events;
  } frames[] = { { -1, 0, "" }, { 128, 48, "motion-start" }, { 80, 48, "" }, { 64, 48, "enter-zone left" },
    { 32, 48, "enter-zone dot" }, { 0, 0, "leave-zone dot" }, { 96, 48, "leave-zone left" },
    { 32, 48, "enter-zone left; enter-zone dot" }, { -1, 0, "leave-zone left; leave-zone dot; motion-stop" },
    { 64, 0, "motion-start; enter-zone left" } };
  GstElement *element = new_element ("temporal-method", "running", "motion-meta", "true", "motion-hold", "2", "zones",
      ZONES, "frames-in-flight", __i__ ? "4" : "1", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "NV12", WIDTH, HEIGHT, &info);
  guint n = 0;

  for (guint i = 0; i < G_N_ELEMENTS (frames); i++)
    for (guint k = 0; k < 3; k++, n++) {
      push (h, &info, n, frames[i].x, frames[i].y, SIDE);
      expect_events (element, n, k == 2 ? frames[i].events : "");
    }
  set_value (element, "zones", "right: 0.5,0 1,0 1,1 0.5,1");
  for (guint k = 0; k < 2; k++, n++) {
    push (h, &info, n, 128, 0, SIDE);
    expect_events (element, n, "");
  }
  push (h, &info, n, 128, 0, SIDE);
  expect_events (element, n, "enter-zone right");
  expect_refused (element, "right: 0.5,0", "three corners");
  expect_refused (element, "right: 0.5 0 1 0 1 1", "from 0 to 1");
  expect_value (element, "zones", "right: 0.5,0 1,0 1,1 0.5,1");
  push (h, &info, n + 1, 128, 0, SIDE);
  expect_events (element, n + 1, "");
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  expect_events (element, n + 1, "leave-zone right; motion-stop");
  close_harness (h, (gint) n + 2);
}
GST_END_TEST

/* A message has text in UTF-8 only. */
GST_START_TEST (zone_in_latin_1)
{
  GstElement *element = new_element ("temporal-method", "running", "motion-meta", "true", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", WIDTH, HEIGHT, &info);

  set_value (element, "zones", "T\xfcr: 0,0 1,0 1,1 0,1");
  push (h, &info, 0, -1, 0, SIDE);
  for (guint n = 1; n < 4; n++)
    push (h, &info, n, 32, 32, SIDE);
  expect_events (element, 3, "motion-start; enter-zone T\xef\xbf\xbdr");
  close_harness (h, 4);
}
GST_END_TEST

/* x: a frame with the square; >, <: the frame of the events. A square of three frames is confirmed in the third. */
static const struct {
  const gchar *hold, *min_age, *there, *events;
} flickers[] = {
  { "0", "0", "-xx-xxx-xxxx--", "......><..>.<." },
  /* What is confirmed in two frames or less is no event, nor is what is gone for two. */
  { "1", "2", "-xxxx-xxxxx-xxx--xxxxx", "..........>.......<..>" },
  /* The frames that hold confirmed motion do not count, but do not break it either. */
  { "3", "2", "-xxx-xxx-xxx-----xxx", "...........>.....<.." },
  /* A flash is no event, however long it is held, nor are many. */
  { "10", "10", "------------------------------x-----------------------------", NULL },
  { "10", "0", "-x---------x----xx----x-x--xx-xx-xx-x-x-x--", NULL },
  { "10", "10", "-xxx---------------xxx---------------xxx-------------", NULL },
};
#define N_FLICKERS (gint) G_N_ELEMENTS (flickers)

GST_START_TEST (flicker)
{
  const gchar *there = flickers[__i__].there, *events = flickers[__i__].events;
  GstElement *element = new_element ("temporal-method", "running", "motion-meta", "true", "motion-hold",
      flickers[__i__].hold, "min-age", flickers[__i__].min_age, "zones", "all: 0,0 1,0 1,1 0,1", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", WIDTH, HEIGHT, &info);
  const guint n = (guint) strlen (there);
  gboolean on = FALSE;

  for (guint i = 0; i < n; i++) {
    const gchar event = events ? events[i] : '.';

    push (h, &info, i, there[i] == 'x' ? 32 : -1, 32, SIDE);
    expect_events (element, i,
        event == '>'       ? "motion-start; enter-zone all"
            : event == '<' ? "leave-zone all; motion-stop"
                           : "");
    on = event == '>' || (on && event != '<');
  }
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ())); /* does not wait for frames more */
  expect_events (element, n - 1, on ? "leave-zone all; motion-stop" : "");
  close_harness (h, (gint) n);
}
GST_END_TEST

/* An event has the frame's own time, its running time, and its time in the stream, from which it was sought to. */
GST_START_TEST (times_of_events)
{
  GstElement *element = new_element ("temporal-method", "running", "motion-meta", "true", NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", WIDTH, HEIGHT, &info);
  GstBus *bus = gst_element_get_bus (element);
  const gchar *const names[] = { "timestamp", "running-time", "stream-time" };
  GstSegment segment;
  GstMessage *message;
  guint64 time[3];

  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.base = 3 * GST_SECOND;
  segment.time = 7 * GST_SECOND;
  fail_unless (gst_harness_push_event (h, gst_event_new_segment (&segment)));
  push (h, &info, 0, -1, 0, SIDE);
  for (guint n = 1; n < 4; n++)
    push (h, &info, n, 32, 32, SIDE);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ELEMENT);
  fail_unless (message != NULL);
  for (guint i = 0; i < 3; i++)
    fail_unless (gst_structure_get_uint64 (gst_message_get_structure (message), names[i], &time[i]));
  fail_unless_equals_uint64 (time[1], time[0] + 3 * GST_SECOND);
  fail_unless_equals_uint64 (time[2], time[0] + 7 * GST_SECOND);
  gst_message_unref (message);
  gst_object_unref (bus);
  close_harness (h, 4);
}
GST_END_TEST

/* ---- regions ---------------------------------------------------------------- */

#define SQUARE 24
#define AGE 2
#define GATE "gate: 0.4,0 0.6,0 0.6,0.3 0.4,0.3"

/* Returns whether the centroid of the square at (x, 4) is in the gate. */
static gboolean
in_gate (gint x)
{
  const gdouble at = (x + SQUARE / 2.0) / WIDTH;

  return x >= 0 && at >= 0.4 && at < 0.6;
}

/* A square passes the gate, and goes. The rest of the frame is the other region. */
GST_START_TEST (regions_in_zones)
{
  GstElement *element = new_segment ("output", "passthrough", "events", "true", "min-age", "2", "zones", GATE, NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, __i__ ? "I420" : "GRAY8", WIDTH, HEIGHT, &info);
  guint since = 0, n = 0;
  gboolean inside = FALSE;
  gchar *text, *square = NULL;

  for (gint x = 0; x < WIDTH - SQUARE; x += 3, n++) {
    since = in_gate (x) == inside ? 0 : since + 1;
    push (h, &info, n, x, 4, SQUARE);
    text = events_of (element, n, TRUE);
    if (n == AGE) {
      fail_unless (strcmp (text, "appear 1; appear 4") == 0, "%s", text); /* 2 and 3 have lost all pixels */
    } else if (since > AGE) {
      gchar *right = g_strdup_printf ("%s gate", inside ? "leave-zone" : "enter-zone");

      fail_unless (g_str_has_prefix (text, right) && strlen (text) == strlen (right) + 2, "frame %u: %s", n, text);
      fail_unless (!square || strcmp (square, text + strlen (right)) == 0, "another id: %s, %s", square, text);
      g_free (square);
      square = g_strdup (text + strlen (right));
      inside = !inside;
      since = 0;
      g_free (right);
    } else {
      fail_unless (text[0] == '\0', "frame %u: %s", n, text);
    }
    g_free (text);
  }
  fail_unless (!inside && square);
  for (guint i = 0; i <= AGE; i++, n++) {
    gchar *right = i == AGE ? g_strdup_printf ("leave%s", square) : g_strdup ("");

    push (h, &info, n, -1, 0, SQUARE);
    text = events_of (element, n, TRUE);
    fail_unless (strcmp (text, right) == 0, "frame %u: %s", n, text);
    g_free (right);
    g_free (text);
  }
  expect_no_messages (element);
  close_harness (h, (gint) n);
  g_free (square);
}
GST_END_TEST

/* A region that begins in a zone enters it in the frame in which it appears, and leaves both in one. */
GST_START_TEST (appears_in_a_zone)
{
  GstElement *element = new_segment ("output", "passthrough", "events", "true", "min-age", "2", "zones", GATE, NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", WIDTH, HEIGHT, &info);

  for (guint n = 0; n < 8; n++) {
    push (h, &info, n, n < 5 ? 70 : -1, 4, SQUARE);
    expect_events (element, n, n == 2 ? "appear; appear; enter-zone gate" : n == 7 ? "leave-zone gate; leave" : "");
  }
  close_harness (h, 8);
}
GST_END_TEST

/* A flush begins the ids anew: the regions of before leave. Without events, none is posted. */
GST_START_TEST (regions_after_a_flush)
{
  GstElement *element = new_segment ("output", "passthrough", "events", "true", "min-age", "0", "zones", GATE, NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", WIDTH, HEIGHT, &info);
  gchar *text;

  push (h, &info, 0, 70, 4, SQUARE);
  expect_events (element, 0, "appear; appear; enter-zone gate");
  push (h, &info, 1, 70, 4, SQUARE);
  expect_events (element, 1, "");
  flush_harness (h, NULL);
  push (h, &info, 2, 70, 4, SQUARE);
  text = events_of (element, 2, FALSE);
  fail_unless (strcmp (text, "leave; appear; leave-zone gate; leave; appear; enter-zone gate") == 0, "%s", text);
  g_free (text);
  set_value (element, "events", "false");
  push (h, &info, 3, -1, 4, SQUARE);
  expect_events (element, 3, "");
  set_value (element, "events", "true");
  push (h, &info, 4, -1, 4, SQUARE);
  expect_events (element, 4, "appear");
  close_harness (h, -1);
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("zones");

  tcase_add_loop_test (tests, motion_in_zones, 0, 2);
  tcase_add_test (tests, zone_in_latin_1);
  tcase_add_loop_test (tests, flicker, 0, N_FLICKERS);
  tcase_add_test (tests, times_of_events);
  tcase_add_loop_test (tests, regions_in_zones, 0, 2);
  tcase_add_test (tests, appears_in_a_zone);
  tcase_add_test (tests, regions_after_a_flush);
  return run_suite (argc, argv, "zones", tests, FALSE);
}
