/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * chaos.c: four threads at the same element: one pushes caps and frames, good and bad, one changes states, one sets
 * properties, one flushes and sends other events. Nothing crashes or hangs, and the frames that arrive are in order.
 *
 *   fuzz_chaos [--rounds N] [--seed N] [--element N]
 *
 * A round is a push. Without --element it runs each element, with one and with three frames in flight. */
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* After so many seconds in one element it hangs. */
#define TIMEOUT 300

/* Upstream does not know that the element was stopped and forgot its events. */
static const gchar *const tolerated[] = { "Got data flow before", "Sticky event misordering", NULL };

enum { STATES, PROPERTIES, EVENTS, THREADS };

/* By so many frames the pushing thread goes ahead of the others. */
#define LEAD 8

static gint rounds = 2000, seed = 1, only = -1;

typedef struct {
  GstElement *element;
  GstPad *src, *sink;
  GstBus *bus;
  GMutex lock; /* for the rest */
  GCond changed;
  guint64 number;          /* of frames pushed */
  guint64 target[THREADS]; /* the frame for which each of the other threads waits */
  gboolean done;           /* all frames were pushed */
  guint64 last;            /* the last frame that arrived */
  guint64 arrived, states;
} Chaos;

/* ---- random bytes ------------------------------------------------------- */

typedef struct {
  guint8 bytes[64];
  guint32 next;
} Random;

static FuzzBytes
more (Random *r)
{
  fuzz_fill (r->bytes, sizeof r->bytes, r->next++);
  return (FuzzBytes) { r->bytes, sizeof r->bytes };
}

/* Waits, in thread `i`, until that many more frames were pushed. Returns FALSE after the last. */
static gboolean
wait_for_push (Chaos *c, guint i, guint frames)
{
  gboolean more_follow;

  g_mutex_lock (&c->lock);
  c->target[i] = c->number + frames;
  g_cond_broadcast (&c->changed);
  while (c->number < c->target[i] && !c->done)
    g_cond_wait (&c->changed, &c->lock);
  more_follow = !c->done;
  g_mutex_unlock (&c->lock);
  return more_follow;
}

/* Counts a frame, and waits for the threads that are behind. */
static void
count_push (Chaos *c)
{
  g_mutex_lock (&c->lock);
  c->number++;
  g_cond_broadcast (&c->changed);
  for (guint i = 0; i < THREADS; i++)
    while (c->number > c->target[i] + LEAD)
      g_cond_wait (&c->changed, &c->lock);
  g_mutex_unlock (&c->lock);
}

static void
end_pushes (Chaos *c)
{
  g_mutex_lock (&c->lock);
  c->done = TRUE;
  g_cond_broadcast (&c->changed);
  g_mutex_unlock (&c->lock);
}

/* ---- the threads -------------------------------------------------------- */

static GstFlowReturn
chain (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  Chaos *c = gst_pad_get_element_private (pad);

  (void) parent;
  g_mutex_lock (&c->lock);
  if (GST_BUFFER_OFFSET (buffer) <= c->last)
    fuzz_fail ("frame %" G_GUINT64_FORMAT " comes after frame %" G_GUINT64_FORMAT, GST_BUFFER_OFFSET (buffer), c->last);
  c->last = GST_BUFFER_OFFSET (buffer);
  c->arrived++;
  g_mutex_unlock (&c->lock);
  gst_buffer_unref (buffer);
  return GST_FLOW_OK;
}

/* Begins the stream, which the element may have forgotten. */
static void
begin_stream (Chaos *c, GstCaps *caps)
{
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_pad_push_event (c->src, gst_event_new_stream_start ("chaos"));
  gst_pad_push_event (c->src, gst_event_new_caps (caps));
  gst_pad_push_event (c->src, gst_event_new_segment (&segment));
}

static void
push (Chaos *c)
{
  Random r = { .next = (guint32) seed };
  GstFlowReturn flow = GST_FLOW_NOT_NEGOTIATED;
  GstCaps *caps = gst_caps_from_string ("video/x-raw, format=GRAY8, width=16, height=16, framerate=25/1");
  GstVideoInfo info;

  gst_video_info_from_caps (&info, caps);
  for (gint i = 0; i < rounds; i++) {
    FuzzBytes bytes = more (&r);
    guint what = fuzz_byte (&bytes);

    if (what < 16) {
      GstCaps *new = stream_caps (&bytes);

      if (gst_video_info_from_caps (&info, new) && GST_VIDEO_INFO_SIZE (&info) > 0 &&
          GST_VIDEO_INFO_SIZE (&info) < 1 << 11)
        gst_caps_replace (&caps, new);
      else
        gst_video_info_from_caps (&info, caps);
      gst_caps_unref (new);
    }
    if (what < 32 || flow != GST_FLOW_OK)
      begin_stream (c, caps);
    count_push (c);
    flow = gst_pad_push (c->src, stream_buffer (&bytes, &info, what % 16 == 0, (guint64) i + 1));
  }
  end_pushes (c);
  gst_caps_unref (caps);
}

static gpointer
change_states (gpointer data)
{
  Chaos *c = data;
  Random r = { .next = (guint32) seed + 1000000 };

  while (wait_for_push (c, STATES, r.bytes[0] % 32)) {
    FuzzBytes bytes = more (&r);
    GstState state = fuzz_byte (&bytes) & 1 ? GST_STATE_PLAYING : (GstState) (GST_STATE_NULL + fuzz_below (&bytes, 4));

    /* Before a start bad values are accepted. */
    if (gst_element_set_state (c->element, state) == GST_STATE_CHANGE_FAILURE)
      stream_defaults (c->element);
    stream_check_bus (c->bus);
    c->states++;
  }
  return NULL;
}

static gpointer
set_properties (gpointer data)
{
  Chaos *c = data;
  Random r = { .next = (guint32) seed + 2000000 };

  while (wait_for_push (c, PROPERTIES, r.bytes[0] % 8)) {
    FuzzBytes bytes = more (&r);

    /* Large windows make frames slow: not for long. */
    if (fuzz_below (&bytes, 2) == 0)
      stream_defaults (c->element);
    stream_property (&bytes, c->element);
  }
  return NULL;
}

static gpointer
send_events (gpointer data)
{
  Chaos *c = data;
  Random r = { .next = (guint32) seed + 3000000 };

  while (wait_for_push (c, EVENTS, r.bytes[0] % 64)) {
    FuzzBytes bytes = more (&r);

    if (fuzz_byte (&bytes) & 1) {
      gst_pad_push_event (c->src, gst_event_new_flush_start ());
      gst_pad_push_event (c->src, gst_event_new_flush_stop (fuzz_byte (&bytes) & 1));
    } else {
      gst_pad_push_event (c->sink, stream_event_up (&bytes));
    }
  }
  return NULL;
}

/* ---- one element -------------------------------------------------------- */

static void
link_pads (Chaos *c)
{
  c->src = stream_pad (c->element, "upstream", GST_PAD_SRC, c);
  c->sink = stream_pad (c->element, "downstream", GST_PAD_SINK, c);
  gst_pad_set_chain_function (c->sink, chain);
  gst_pad_set_active (c->src, TRUE);
  gst_pad_set_active (c->sink, TRUE);
}

static void
run (guint element, gint frames_in_flight)
{
  Chaos c = { .element = stream_element (element, frames_in_flight), .bus = gst_bus_new () };
  GThread *threads[THREADS];

  alarm (TIMEOUT);
  g_mutex_init (&c.lock);
  g_cond_init (&c.changed);
  gst_element_set_bus (c.element, c.bus);
  link_pads (&c);
  threads[STATES] = g_thread_new ("states", change_states, &c);
  threads[PROPERTIES] = g_thread_new ("properties", set_properties, &c);
  threads[EVENTS] = g_thread_new ("events", send_events, &c);
  push (&c);
  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  gst_element_set_state (c.element, GST_STATE_NULL);
  printf ("%s, %d in flight: %" G_GUINT64_FORMAT " frames pushed, %" G_GUINT64_FORMAT " arrived, %" G_GUINT64_FORMAT
          " states\n",
      GST_OBJECT_NAME (c.element), frames_in_flight, c.number, c.arrived, c.states);
  gst_element_set_bus (c.element, NULL);
  gst_pad_set_active (c.src, FALSE);
  gst_pad_set_active (c.sink, FALSE);
  g_object_add_weak_pointer (G_OBJECT (c.element), (gpointer *) &c.element);
  gst_object_unref (c.element);
  stream_check_bus (c.bus);
  if (c.element)
    fuzz_fail ("the element still has references");
  gst_object_unref (c.src);
  gst_object_unref (c.sink);
  gst_object_unref (c.bus);
  g_mutex_clear (&c.lock);
  g_cond_clear (&c.changed);
}

int
main (int argc, char **argv)
{
  for (int i = 1; i + 1 < argc; i += 2)
    *(strcmp (argv[i], "--rounds") == 0       ? &rounds
            : strcmp (argv[i], "--seed") == 0 ? &seed
                                              : &only) = atoi (argv[i + 1]);
  setvbuf (stdout, NULL, _IOLBF, 0);
  stream_init (tolerated);
  for (gint i = 0; i < 2 * CF_N_FILTERS; i++)
    if (only < 0 || only == i / 2)
      run ((guint) i / 2, i % 2 ? 3 : 1);
  puts ("1 passed, 0 failed, 0 skipped");
  return 0;
}
