/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * tamper.c: what cudamedian reports of the camera and of its light: a drawn view of each case, and the events that it
 * must have, no others. */
#include "common.h"

#include <string.h>

#define WIDTH 160
#define HEIGHT 120
#define FPS 15
#define TAMPER "temporal-method", "running", "tamper", "true"

/* ---- frames ------------------------------------------------------------- */

static guint32
next_random (guint32 *random)
{
  *random = *random * 1664525 + 1013904223;
  return *random >> 16;
}

/* Draws a view: rectangles of any level on gray. */
static void
draw (guint8 *view, guint32 seed, guint rectangles)
{
  memset (view, (gint) (100 + 4 * seed), WIDTH * HEIGHT);
  for (guint i = 0; i < rectangles; i++) {
    const gint left = (gint) (next_random (&seed) % WIDTH), top = (gint) (next_random (&seed) % HEIGHT);
    const gint w = 8 + (gint) (next_random (&seed) % 24), h = 8 + (gint) (next_random (&seed) % 24);
    const guint8 level = (guint8) (40 + next_random (&seed) % 160);

    for (gint y = top; y < MIN (top + h, HEIGHT); y++)
      memset (view + y * WIDTH + left, level, (gsize) MIN (w, WIDTH - left));
  }
}

/* Blurs: each sample becomes the mean of 2 r + 1 by 2 r + 1. */
static void
blur (guint8 *view, gint r)
{
  guint8 copy[WIDTH * HEIGHT];

  for (gint pass = 0; pass < 2; pass++) {
    memcpy (copy, view, sizeof copy);
    for (gint y = 0; y < HEIGHT; y++)
      for (gint x = 0; x < WIDTH; x++) {
        gint sum = 0;

        for (gint i = -r; i <= r; i++)
          sum += pass ? copy[CLAMP (y + i, 0, HEIGHT - 1) * WIDTH + x] : copy[y * WIDTH + CLAMP (x + i, 0, WIDTH - 1)];
        view[y * WIDTH + x] = (guint8) (sum / (2 * r + 1));
      }
  }
}

static void
change (guint8 *view, gdouble gain, gint offset, gint from)
{
  for (gint i = 0; i < WIDTH * HEIGHT; i++)
    if (i % WIDTH >= from)
      view[i] = (guint8) CLAMP (view[i] * gain + offset, 0, 250);
}

static void
fill (guint8 *view, gint left, gint top, gint w, gint h, guint8 level)
{
  for (gint y = top; y < top + h; y++)
    for (gint x = MAX (left, 0); x < MIN (left + w, WIDTH); x++)
      view[y * WIDTH + x] = level;
}

/* ---- cases ---------------------------------------------------------------- */

#define FROM 60 /* frames in which it is so, in most cases */
#define TO 120

/* Returns 0 .. 1: how much of it is so, if it takes 30 frames to come and to go. */
static gdouble
ramp (guint n)
{
  return n < FROM ? 0 : n < FROM + 30 ? (n - FROM) / 30.0 : n < TO ? 1 : n < TO + 30 ? (TO + 30 - n) / 30.0 : 0;
}

static gboolean
is_on (guint n)
{
  return n >= FROM && n < TO;
}

static void
noise_only (guint8 *view, guint n)
{
  (void) view;
  (void) n;
}

static void
strong_noise (guint8 *view, guint n)
{
  guint32 random = n;

  for (gint i = 0; i < WIDTH * HEIGHT; i++)
    view[i] = (guint8) (view[i] + next_random (&random) % 40);
}

static void
walker (guint8 *view, guint n)
{
  fill (view, (gint) (2 * n) % 240 - 30, 40, 20, 60, 30);
  fill (view, (gint) (2 * n) % 240 - 26, 30, 12, 12, 190);
}

static void
switched (guint8 *view, guint n)
{
  if (is_on (n))
    change (view, 0.7, 0, 0);
}

static void
lamp (guint8 *view, guint n)
{
  if (n >= FROM)
    change (view, 1.25, 0, WIDTH / 2);
}

static void
flash (guint8 *view, guint n)
{
  if (n == FROM)
    change (view, 1, 40, 0);
}

/* Moves the view by up to 3 times this many pixels. */
static void
shake (guint8 *view, guint n, gint by)
{
  static const gint way[] = { 2, -1, -2, 3, 0, -3, 1 };
  guint8 copy[WIDTH * HEIGHT];
  const gint dx = by * way[n % 7], dy = by * way[(3 * n + 2) % 7];

  memcpy (copy, view, sizeof copy);
  for (gint y = 0; y < HEIGHT; y++)
    for (gint x = 0; x < WIDTH; x++)
      view[y * WIDTH + x] = copy[CLAMP (y + dy, 0, HEIGHT - 1) * WIDTH + CLAMP (x + dx, 0, WIDTH - 1)];
}

static void
shaken (guint8 *view, guint n)
{
  if (is_on (n))
    shake (view, n, 1);
}

static void
shaken_much (guint8 *view, guint n)
{
  if (is_on (n))
    shake (view, n, 3);
}

static void
shaken_little (guint8 *view, guint n)
{
  if (is_on (n))
    shake (view, n & 1, 1);
}

/* Turns to another view, 8 columns a frame. */
static void
panned (guint8 *view, guint n)
{
  guint8 first[WIDTH * HEIGHT], other[WIDTH * HEIGHT];
  const gint by = n < FROM ? 0 : MIN (8 * ((gint) n - FROM), WIDTH);

  memcpy (first, view, sizeof first);
  draw (other, 7, 60);
  for (gint y = 0; y < HEIGHT; y++)
    for (gint x = 0; x < WIDTH; x++)
      view[y * WIDTH + x] = x + by < WIDTH ? first[y * WIDTH + x + by] : other[y * WIDTH + x + by - WIDTH];
}

/* Stays a pixel beside where it was. */
static void
nudged (guint8 *view, guint n)
{
  shake (view, n < FROM ? 4 : 6, 1);
}

static void
covered (guint8 *view, guint n)
{
  if (is_on (n))
    memset (view, 70, WIDTH * HEIGHT);
}

/* A hand that comes from the side, and goes there. */
static void
hand (guint8 *view, guint n)
{
  const gint w = n < TO ? ((gint) n - FROM) * 60 : WIDTH - ((gint) n - TO) * 60;

  fill (view, 0, 0, w, HEIGHT, 60);
}

static void
covered_briefly (guint8 *view, guint n)
{
  if (n >= FROM && n < FROM + 10)
    memset (view, 70, WIDTH * HEIGHT);
}

static void
covered_long (guint8 *view, guint n)
{
  if (n >= FROM && n < FROM + 750)
    memset (view, 70, WIDTH * HEIGHT);
}

/* The glass becomes milky. */
static void
sprayed (guint8 *view, guint n)
{
  change (view, 1 - 0.9 * ramp (n), (gint) (100 * ramp (n)), 0);
}

static void
covered_black (guint8 *view, guint n)
{
  if (is_on (n))
    memset (view, 4, WIDTH * HEIGHT);
}

static void
blinded (guint8 *view, guint n)
{
  if (is_on (n))
    change (view, 1, 180, 0);
}

static void
dark (guint8 *view, guint n)
{
  change (view, 1 - 0.95 * ramp (n), 0, 0);
}

static void
defocused (guint8 *view, guint n)
{
  blur (view, (gint) (12 * ramp (n)));
}

static void
turned (guint8 *view, guint n)
{
  if (n >= FROM)
    draw (view, 7, 60);
}

static void
turned_to_little (guint8 *view, guint n)
{
  if (n >= FROM)
    draw (view, 7, 9);
}

static void
turned_back (guint8 *view, guint n)
{
  if (is_on (n))
    draw (view, 7, 60);
}

static void
turned_and_covered (guint8 *view, guint n)
{
  turned (view, n);
  if (n >= 300 && n < 360)
    memset (view, 70, WIDTH * HEIGHT);
}

static const struct {
  const gchar *name, *events;
  void (*apply) (guint8 *view, guint n);
  guint frames;
  gdouble seconds; /* that the first stop says */
  gboolean frozen;
} cases[] = {
  { "noise", "", noise_only, 400, 0, FALSE },
  { "strong noise", "", strong_noise, 400, 0, FALSE },
  { "walker", "", walker, 400, 0, FALSE },
  { "switched", "light light ", switched, 200, 0, FALSE },
  { "lamp", "light ", lamp, 200, 0, FALSE },
  { "flash", "light ", flash, 200, 0, FALSE },
  { "shaken", "shake-start shake-stop ", shaken, 200, 4, FALSE },
  { "shaken much", "shake-start shake-stop ", shaken_much, 200, 4, FALSE },
  { "shaken a little", "shake-start shake-stop ", shaken_little, 200, 4, FALSE },
  { "panned", "shake-start turned-start shake-stop turned-stop ", panned, 400, 2, FALSE },
  { "nudged", "", nudged, 200, 0, FALSE },
  { "covered", "covered-start covered-stop ", covered, 200, 4, FALSE },
  { "hand", "covered-start covered-stop ", hand, 200, 4, FALSE },
  { "covered briefly", "", covered_briefly, 200, 0, FALSE },
  { "covered long", "covered-start covered-stop ", covered_long, 850, 50, FALSE },
  { "sprayed", "covered-start covered-stop ", sprayed, 220, 3, FALSE },
  { "covered black", "covered-start covered-stop ", covered_black, 200, 4, FALSE },
  { "blinded", "blinded-start blinded-stop ", blinded, 200, 4, FALSE },
  { "dark", "light dark-start dark-stop light ", dark, 200, 3, FALSE },
  { "defocused", "defocused-start defocused-stop ", defocused, 220, 3, FALSE },
  { "turned", "turned-start turned-stop ", turned, 400, 11, FALSE },
  { "turned to little", "turned-start turned-stop ", turned_to_little, 400, 11, FALSE },
  { "turned back", "turned-start turned-stop ", turned_back, 200, 4, FALSE },
  { "turned and covered", "turned-start turned-stop covered-start covered-stop ", turned_and_covered, 400, 11, FALSE },
  { "frozen", "frozen-start frozen-stop ", noise_only, 200, 4, TRUE },
};

/* Returns a frame of a case: the view with noise. */
static GstBuffer *
frame_of_case (const GstVideoInfo *info, guint i, guint n)
{
  guint8 view[WIDTH * HEIGHT];
  guint32 random = 1 + 7919 * (cases[i].frozen && is_on (n) ? FROM : n);
  GstBuffer *buffer = random_frame (info, 0, 0);
  GstVideoFrame f;

  draw (view, 3, 60);
  cases[i].apply (view, n);
  fail_unless (gst_video_frame_map (&f, info, buffer, GST_MAP_WRITE));
  for (gint y = 0; y < HEIGHT; y++)
    for (gint x = 0; x < WIDTH; x++)
      put_value (&f, 0, x, y, view[y * WIDTH + x] + next_random (&random) % 6);
  gst_video_frame_unmap (&f);
  return buffer;
}

/* Frames with times, without, and with times that begin anew. */
typedef enum { TIMED, UNTIMED, AGAIN, N_TIMINGS } Timing;

static GstClockTime
time_of (guint n, Timing timing)
{
  if (timing == UNTIMED)
    return GST_CLOCK_TIME_NONE;
  return gst_util_uint64_scale (timing == AGAIN && n >= FROM + 8 ? n - FROM - 8 : n, GST_SECOND, FPS);
}

static void
push_frame (GstHarness *h, const GstVideoInfo *info, guint i, guint n, Timing timing)
{
  GstBuffer *in = frame_of_case (info, i, n), *out;

  GST_BUFFER_PTS (in) = time_of (n, timing);
  GST_BUFFER_DURATION (in) = GST_SECOND / FPS;
  out = push_pull (h, in);
  fail_unless (!gst_buffer_get_video_region_of_interest_meta (out));
  gst_buffer_unref (out);
}

/* Adds what the messages say, and fails where a field is missing. Returns the first `seconds`, else `seconds`. */
static gdouble
take_events (GstElement *element, GString *events, guint n, Timing timing, gdouble seconds)
{
  GstMessage *message;

  while ((message = pop_message (element, GST_MESSAGE_ELEMENT))) {
    const GstStructure *s = gst_message_get_structure (message);
    const gchar *event = gst_structure_get_string (s, "event");
    const guint64 time = time_of (n, timing);
    guint64 pts, running, stream, duration;
    gint width, height;
    gdouble value;

    fail_unless (gst_structure_has_name (s, "cudamedian") && event != NULL);
    fail_unless (gst_structure_get (s, "timestamp", G_TYPE_UINT64, &pts, "running-time", G_TYPE_UINT64, &running,
        "stream-time", G_TYPE_UINT64, &stream, "duration", G_TYPE_UINT64, &duration, "width", G_TYPE_INT, &width,
        "height", G_TYPE_INT, &height, NULL));
    fail_unless (pts == time && running == time && stream == time && duration == GST_SECOND / FPS);
    fail_unless (width == WIDTH && height == HEIGHT && n >= FPS);
    fail_unless_equals_int (gst_structure_n_fields (s),
        7 +
            (g_str_has_suffix (event, "stop")      ? 1
                    : g_str_equal (event, "light") ? 2
                                                   : 0));
    if (g_str_has_suffix (event, "stop")) {
      fail_unless (gst_structure_get_double (s, "seconds", &value));
      seconds = seconds < 0 ? value : seconds;
    } else if (g_str_equal (event, "light")) {
      gdouble from, to;

      fail_unless (gst_structure_get (s, "from", G_TYPE_DOUBLE, &from, "to", G_TYPE_DOUBLE, &to, NULL));
      fail_unless ((n >= FROM && n < FROM + 30) || (n >= TO && n <= TO + 30), "light in frame %u", n);
      fail_unless (from > 50 && to > 50 && from < 200 && to < 200 && ABS (to - from) > 1, "from %g to %g", from, to);
    }
    g_string_append_printf (events, "%s ", event);
    if (g_getenv ("CF_TEST_TRACE"))
      g_printerr ("frame %u: %" GST_PTR_FORMAT "\n", n, s);
    gst_message_unref (message);
  }
  return seconds;
}

/* ---- tests ------------------------------------------------------------------ */

/* Each case with each timing. */
GST_START_TEST (events)
{
  const guint i = (guint) __i__ / N_TIMINGS;
  const Timing timing = (Timing) (__i__ % N_TIMINGS);
  GstElement *element = new_element (TAMPER, "frames-in-flight", timing == TIMED ? "1" : "3", NULL);
  GString *events = g_string_new (NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", WIDTH, HEIGHT, &info);
  gdouble seconds = -1;

  for (guint n = 0; n < cases[i].frames; n++) {
    push_frame (h, &info, i, n, timing);
    seconds = take_events (element, events, n, timing, seconds);
  }
  fail_unless (g_str_equal (events->str, cases[i].events), "%s: %s", cases[i].name, events->str);
  fail_unless (ABS (MAX (seconds, 0) - cases[i].seconds) < 1, "%s: %g s", cases[i].name, seconds);
  g_string_free (events, TRUE);
  close_harness (h, (gint) cases[i].frames);
}
GST_END_TEST

typedef enum { OFF, LATER, ENDED, WINDOW, DISABLED, FLUSHED, CAPS, EOS, N_SWITCHES } Switch;

/* A covered camera: off by default, switched on later, and all that ends the state. */
GST_START_TEST (switches)
{
  static const gchar *const settings[N_SWITCHES][2] = { [LATER] = { "tamper", "true" },
    [ENDED] = { "tamper", "false" },
    [WINDOW] = { "temporal-method", "window" },
    [DISABLED] = { "enabled", "false" } };
  const Switch what = (Switch) __i__;
  GstElement *element = new_element ("temporal-method", "running", what <= LATER ? NULL : "tamper", "true", NULL);
  GString *events = g_string_new (NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", WIDTH, HEIGHT, &info);
  guint i = 0, n;
  gdouble seconds = -1;
  GstMessage *message;

  while (!g_str_equal (cases[i].name, "covered"))
    i++;
  for (n = 0; n < 100; n++) {
    if (n == 30 && what == LATER)
      set_value (element, settings[what][0], settings[what][1]);
    push_frame (h, &info, i, n, TIMED);
    seconds = take_events (element, events, n, TIMED, seconds);
    fail_unless ((events->len > 0) == (what != OFF && n >= FROM + FPS), "frame %u: %s", n, events->str);
  }
  fail_unless_equals_string (events->str, what == OFF ? "" : "covered-start ");
  if (what == FLUSHED)
    flush_harness (h, NULL);
  else if (what == CAPS)
    set_caps (h, video_caps ("I420", WIDTH, HEIGHT, NULL), &info);
  else if (what == EOS)
    fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  else if (what > LATER)
    set_value (element, settings[what][0], settings[what][1]);
  if (what != EOS)
    push_frame (h, &info, i, n, TIMED);
  seconds = take_events (element, events, what == EOS ? n - 1 : n, TIMED, seconds);
  fail_unless_equals_string (events->str,
      what == OFF         ? ""
          : what == LATER ? "covered-start "
                          : "covered-start covered-stop ");
  fail_unless (what <= LATER ? seconds < 0 : seconds > 2 && seconds < 3, "%g s", seconds);
  while ((message = pop_message (element, GST_MESSAGE_WARNING))) /* the advice that tamper needs the method */
    gst_message_unref (message);
  g_string_free (events, TRUE);
  close_harness (h, -1);
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("tamper");

  tcase_add_loop_test (tests, events, 0, N_TIMINGS * (int) G_N_ELEMENTS (cases));
  tcase_add_loop_test (tests, switches, 0, N_SWITCHES);
  return run_suite (argc, argv, "tamper", tests, FALSE);
}
