/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * flight.c: frames-in-flight: frames that the element's output thread pushes come without delay,
 * in order, and with the same bytes as with one frame at a time. */
#include "gate.h"
#include "regions.h"

#include <stdlib.h>
#include <string.h>

static const gchar *const depths[] = { "1", "2", "3", "5", "8" };

static GstHarness *
stream_of (const gchar *depth, GstVideoInfo *info)
{
  return new_stream (new_element ("frames-in-flight", depth, NULL), "NV12", 16, 8, info);
}

static GstEvent *
own_event (void)
{
  return gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_new_empty ("test"));
}

/* ---- frames ------------------------------------------------------------- */

/* Frames that are all pushed before the first one is pulled: `each` of every format. */
static const struct {
  const gchar *temporal_depth;
  const gchar *sizes[3]; /* kernel-size: changes after every second frame */
  guint each;
  struct {
    const gchar *format;
    gint width, height;
  } caps[6];
} streams[] = {
  { "1", { "3", "3", "3" }, 30,
      { { "NV12", 33, 17 }, { "RGB", 33, 17 }, { "I420_10LE", 33, 17 }, { "GRAY8", 33, 17 } } },
  { "3", { "3", "3", "3" }, 20, { { "NV12", 32, 16 } } },
  /* Frames that need no filtering keep their order among the filtered ones. */
  { "1", { "1", "3", "5" }, 24, { { "NV12", 32, 16 } } },
  /* New caps in mid-stream. */
  { "1", { "3", "3", "3" }, 4,
      { { "I420", 32, 16 }, { "I420", 31, 17 }, { "RGB", 31, 17 }, { "P010_10LE", 64, 32 }, { "GRAY8", 1, 1 },
          { "I420", 32, 16 } } },
};

/* A discontinuity alone does not clear a history; new caps do. */
GST_START_TEST (frames_are_right)
{
  const gint row = __i__ % (gint) G_N_ELEMENTS (streams);
  const guint each = streams[row].each, depth = (guint) atoi (streams[row].temporal_depth);
  GstElement *element = new_element ("frames-in-flight", depths[__i__ / (gint) G_N_ELEMENTS (streams)],
      "temporal-depth", streams[row].temporal_depth, NULL);
  GstHarness *h = new_harness (element);
  GstVideoInfo info[6];
  GstBuffer *in[120];
  guint n = 0;

  for (guint c = 0; c < 6 && streams[row].caps[c].format; c++) {
    set_caps (h,
        video_caps (streams[row].caps[c].format, streams[row].caps[c].width, streams[row].caps[c].height, NULL),
        &info[c]);
    for (guint i = 0; i < each; i++, n++) {
      set_value (element, "kernel-size", streams[row].sizes[n / 2 % 3]);
      in[n] = random_frame (&info[c], n, 0);
      GST_BUFFER_DTS (in[n]) = GST_BUFFER_PTS (in[n]) + 5;
      GST_BUFFER_OFFSET (in[n]) = 100 + n;
      if (n % 7 == 3)
        GST_BUFFER_FLAG_SET (in[n], GST_BUFFER_FLAG_CORRUPTED | GST_BUFFER_FLAG_MARKER | GST_BUFFER_FLAG_DISCONT);
      if (n % 7 == 4)
        GST_BUFFER_PTS (in[n]) = GST_BUFFER_DTS (in[n]) = GST_BUFFER_DURATION (in[n]) = GST_CLOCK_TIME_NONE;
      if (n % 7 == 5)
        GST_MINI_OBJECT_FLAG_SET (gst_buffer_peek_memory (in[n], 0), GST_MEMORY_FLAG_READONLY);
      push_ok (h, gst_buffer_ref (in[n]));
    }
  }
  for (guint i = 0; i < n; i++) {
    GstBuffer *past[3] = { in[i], in[i > 0 ? i - 1 : 0], in[i > 1 ? i - 2 : 0] }, *out = pull (h);
    Expect e = EXPECT (atoi (streams[row].sizes[i / 2 % 3]));

    e.depth = (gint) depth;
    fail_unless_equals_uint64 (GST_BUFFER_PTS (out), GST_BUFFER_PTS (in[i]));
    fail_unless_equals_uint64 (GST_BUFFER_DTS (out), GST_BUFFER_DTS (in[i]));
    fail_unless_equals_uint64 (GST_BUFFER_DURATION (out), GST_BUFFER_DURATION (in[i]));
    fail_unless_equals_uint64 (GST_BUFFER_OFFSET (out), GST_BUFFER_OFFSET (in[i]));
    fail_unless (GST_BUFFER_FLAG_IS_SET (out, GST_BUFFER_FLAG_CORRUPTED) == (i % 7 == 3));
    fail_unless (GST_BUFFER_FLAG_IS_SET (out, GST_BUFFER_FLAG_MARKER) == (i % 7 == 3));
    assert_filtered (&info[i / each], out, past, (gint) MIN (i % each + 1, depth), &e);
    gst_buffer_unref (out);
  }
  for (guint i = 0; i < n; i++)
    gst_buffer_unref (in[i]);
  close_harness (h, (gint) n);
}
GST_END_TEST

/* Frames that several threads copy, from and to memory that is not pinned. */
GST_START_TEST (large_frames)
{
  GstVideoInfo info;
  GstHarness *cpu = new_stream (new_element ("backend", "cpu", NULL), "NV12", 1930, 1086, &info);
  GstHarness *h = new_stream (new_element ("frames-in-flight", depths[__i__], NULL), "NV12", 1930, 1086, &info);

  for (guint i = 0; i < 3; i++)
    push_ok (h, random_frame (&info, i, 0));
  for (guint i = 0; i < 3; i++) {
    GstBuffer *right = push_pull (cpu, random_frame (&info, i, 0)), *out = pull (h);

    assert_same (&info, out, right);
    gst_buffer_unref (right);
    gst_buffer_unref (out);
  }
  free_harness (cpu);
  close_harness (h, 3);
}
GST_END_TEST

/* The reported regions are those of the same frame. */
GST_START_TEST (reports)
{
  GstHarness *one = new_harness (new_segment ("region-meta", "true", "label-meta", "true", NULL));
  GstHarness *h = new_harness (
      new_segment ("region-meta", "true", "label-meta", "true", "frames-in-flight", "4", NULL));
  GstVideoInfo info;

  set_caps (one, video_caps ("NV12", 98, 66, NULL), &info);
  set_caps (h, video_caps ("NV12", 98, 66, NULL), &info);
  for (guint n = 0; n < 12; n++)
    push_ok (h, regions_frame (&info, n));
  for (guint n = 0; n < 12; n++) {
    GstBuffer *right = push_pull (one, regions_frame (&info, n)), *out = pull (h);
    Found *all = found_in_map (right), *found = found_in_map (out), *metas = found_in_metas (out);

    assert_same (&info, out, right);
    fail_unless (memcmp (found, all, sizeof *all) == 0, "other regions of frame %u", n);
    assert_same_regions (all, metas);
    g_free (all);
    g_free (found);
    g_free (metas);
    gst_buffer_unref (right);
    gst_buffer_unref (out);
  }
  close_harness (one, 12);
  close_harness (h, 12);
}
GST_END_TEST

/* ---- events and queries ------------------------------------------------- */

/* The items that arrived, in order: 'f' frame, 's' segment, 'g' gap, 't' tag, 'c' custom event,
 * 'e' EOS; and how long the probe holds each frame, in case another item overtakes it. */
typedef struct {
  GString *order;
  gint64 us;
  GMutex lock;
  GCond changed;
} Log;

static GstPadProbeReturn
log_item (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  static const struct {
    GstEventType type;
    gchar letter;
  } rows[] = { { GST_EVENT_SEGMENT, 's' }, { GST_EVENT_GAP, 'g' }, { GST_EVENT_TAG, 't' },
    { GST_EVENT_CUSTOM_DOWNSTREAM, 'c' }, { GST_EVENT_EOS, 'e' } };
  Log *log = data;

  (void) pad;
  g_mutex_lock (&log->lock);
  if (info->type & GST_PAD_PROBE_TYPE_BUFFER) {
    const gint64 end = g_get_monotonic_time () + log->us;
    const gsize before = log->order->len;

    while (log->order->len == before && g_cond_wait_until (&log->changed, &log->lock, end))
      continue;
    g_string_append_c (log->order, 'f');
  } else {
    for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
      if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == rows[i].type)
        g_string_append_c (log->order, rows[i].letter);
  }
  g_cond_broadcast (&log->changed);
  g_mutex_unlock (&log->lock);
  return GST_PAD_PROBE_OK;
}

static void
watch (GstHarness *h, Log *log)
{
  gst_pad_add_probe (h->sinkpad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, log_item, log, NULL);
}

GST_START_TEST (serialized_events_keep_their_order)
{
  static const gchar script[] = "fffcffgfffftfsfffcfffe";
  Log log = { .order = g_string_new (NULL), .us = 2000 };
  GstVideoInfo info;
  GstHarness *h = stream_of (depths[__i__], &info);
  GstSegment segment;
  gint frames = 0;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  watch (h, &log);
  for (const gchar *c = script; *c; c++) {
    GstEvent *event = NULL;

    if (*c == 'f')
      push_ok (h, random_frame (&info, (guint) frames++, 0));
    else if (*c == 'c')
      event = own_event ();
    else if (*c == 'g')
      event = gst_event_new_gap (0, 1);
    else if (*c == 't')
      event = gst_event_new_tag (gst_tag_list_new (GST_TAG_TITLE, "test", NULL));
    else if (*c == 's')
      event = gst_event_new_segment (&segment);
    else
      event = gst_event_new_eos ();
    if (event)
      fail_unless (gst_harness_push_event (h, event));
  }
  /* The last event was EOS: everything has arrived. */
  fail_unless_equals_string (log.order->str, script);
  close_harness (h, frames);
  g_string_free (log.order, TRUE);
}
GST_END_TEST

GST_START_TEST (serialized_queries_wait)
{
  Log log = { .order = g_string_new (NULL), .us = 5000 };
  GstCaps *caps = video_caps ("NV12", 16, 8, NULL);
  GstVideoInfo info;
  GstHarness *h = stream_of ("4", &info);

  watch (h, &log);
  for (guint i = 0; i < 2; i++) {
    GstQuery *query = i == 0 ? gst_query_new_allocation (caps, TRUE) : gst_query_new_drain ();

    for (guint n = 0; n < 4; n++)
      push_ok (h, random_frame (&info, n, 0));
    gst_pad_peer_query (h->srcpad, query);
    fail_unless_equals_int ((gint) log.order->len, (gint) (4 * (i + 1)));
    gst_query_unref (query);
  }
  gst_caps_unref (caps);
  close_harness (h, 8);
  g_string_free (log.order, TRUE);
}
GST_END_TEST

GST_START_TEST (latency)
{
  static const struct {
    const gchar *depth;
    gint rate;
    GstClockTime latency;
  } rows[] = { { "1", 25, 0 }, { "4", 25, 120 * GST_MSECOND }, { "8", 50, 140 * GST_MSECOND }, { "4", 0, 0 } };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    GstElement *element = new_element ("frames-in-flight", rows[i].depth, NULL);
    GstHarness *h = new_harness (element);
    GstCaps *caps = video_caps ("NV12", 16, 8, NULL);
    GstMessage *message;
    GstVideoInfo info;

    gst_caps_set_simple (caps, "framerate", GST_TYPE_FRACTION, rows[i].rate, 1, NULL);
    set_caps (h, caps, &info);
    push_ok (h, random_frame (&info, 1, 0));
    fail_unless_equals_uint64 (gst_harness_query_latency (h), rows[i].latency);
    message = pop_message (element, GST_MESSAGE_LATENCY);
    fail_unless ((message != NULL) == (rows[i].latency > 0), "row %u", (guint) i);
    gst_clear_message (&message);
    fail_unless (pop_message (element, GST_MESSAGE_LATENCY) == NULL);
    gst_buffer_unref (pull (h));
    close_harness (h, 1);
  }
}
GST_END_TEST

static gboolean
answer_latency (GstPad *pad, GstObject *parent, GstQuery *query)
{
  if (GST_QUERY_TYPE (query) != GST_QUERY_LATENCY)
    return gst_pad_query_default (pad, parent, query);
  gst_query_set_latency (query, TRUE, 10 * GST_MSECOND, 60 * GST_MSECOND);
  return TRUE;
}

/* The frames in flight add to the minimum of upstream, and to its maximum where there is one. */
GST_START_TEST (latency_of_a_live_source)
{
  GstQuery *query = gst_query_new_latency ();
  GstClockTime min, max;
  GstVideoInfo info;
  GstHarness *h = stream_of ("3", &info);
  gboolean live;

  push_ok (h, random_frame (&info, 1, 0)); /* 25 frames a second */
  gst_pad_set_query_function (h->srcpad, answer_latency);
  fail_unless (gst_pad_peer_query (h->sinkpad, query));
  gst_query_parse_latency (query, &live, &min, &max);
  fail_unless (live);
  fail_unless_equals_uint64 (min, 90 * GST_MSECOND);
  fail_unless_equals_uint64 (max, 140 * GST_MSECOND);
  gst_query_unref (query);
  gst_buffer_unref (pull (h));
  close_harness (h, 1);
}
GST_END_TEST

static gboolean
answer_nothing (GstPad *pad, GstObject *parent, GstQuery *query)
{
  return GST_QUERY_TYPE (query) != GST_QUERY_LATENCY && gst_pad_query_default (pad, parent, query);
}

/* Where upstream does not know its latency, the element does not make one up. */
GST_START_TEST (latency_unknown)
{
  GstQuery *query = gst_query_new_latency ();
  GstVideoInfo info;
  GstHarness *h = stream_of ("3", &info);

  push_ok (h, random_frame (&info, 1, 0));
  gst_pad_set_query_function (h->srcpad, answer_nothing);
  fail_if (gst_pad_peer_query (h->sinkpad, query));
  gst_query_unref (query);
  gst_buffer_unref (pull (h));
  close_harness (h, 1);
}
GST_END_TEST

/* ---- downstream that blocks or refuses -------------------------------- */

/* The frames that the element accepts while downstream blocks: frames-in-flight, and one that is
 * being pushed. */
static gint
accepted (const gchar *depth)
{
  return atoi (depth) > 1 ? atoi (depth) + 1 : 0;
}

GST_START_TEST (waits_when_all_slots_are_taken)
{
  gint most = accepted (depths[__i__]);
  GstVideoInfo info;
  GstHarness *h = stream_of (depths[__i__], &info);
  Gate gate;
  Pusher p = { h, &info, &gate, 20, 0, 0, GST_FLOW_OK };
  GThread *thread;

  gate_new (&gate, h, TRUE);
  thread = g_thread_new ("pusher", push_all, &p);
  fail_unless_equals_int (wait_for (&gate, &p.done, most, WAIT_US), most);
  fail_unless_equals_int (wait_for (&gate, &p.done, most + 1, G_USEC_PER_SEC / 10), most);
  gate_set (&gate, FALSE, GST_FLOW_OK);
  g_thread_join (thread);
  fail_unless_equals_int (p.most, most);
  for (guint i = 0; i < 20; i++) {
    GstBuffer *out = pull (h);

    fail_unless_equals_uint64 (GST_BUFFER_PTS (out), i * 40 * GST_MSECOND);
    gst_buffer_unref (out);
  }
  close_harness (h, 20);
}
GST_END_TEST

/* A flush unblocks all threads, drops the frames in flight, and clears the history. */
GST_START_TEST (flush)
{
  GstHarness *h = new_harness (new_element ("frames-in-flight", depths[__i__], "temporal-depth", "3", NULL));
  Expect e = EXPECT (3);
  GstVideoInfo info;
  Gate gate;

  e.depth = 3;
  set_caps (h, video_caps ("NV12", 16, 8, NULL), &info);
  gate_new (&gate, h, TRUE);
  for (gint round = 0; round < 5; round++) {
    Pusher p = { h, &info, &gate, 20, 0, 0, GST_FLOW_OK };
    GThread *thread = g_thread_new ("pusher", push_all, &p);
    GstBuffer *in[2] = { random_frame (&info, 99, 0), random_frame (&info, 98, 0) };

    /* With the first frame downstream, or with all slots taken. */
    fail_unless_equals_int (wait_for (&gate, &gate.waiting, 1, WAIT_US), 1);
    if (round % 2)
      fail_unless (wait_for (&gate, &p.done, accepted (depths[__i__]), WAIT_US) == accepted (depths[__i__]));
    flush_harness (h, thread);
    fail_unless_equals_int (p.flow, GST_FLOW_FLUSHING);
    gate_set (&gate, FALSE, GST_FLOW_OK);
    for (gint i = 1; i >= 0; i--) {
      GstBuffer *out = push_pull (h, gst_buffer_ref (in[i]));

      assert_filtered (&info, out, in + i, 2 - i, &e);
      gst_buffer_unref (out);
      fail_unless_equals_int (gst_harness_buffers_in_queue (h), 0);
    }
    gst_buffer_unref (in[0]);
    gst_buffer_unref (in[1]);
    gate_set (&gate, TRUE, GST_FLOW_OK);
  }
  gate_set (&gate, FALSE, GST_FLOW_OK);
  close_harness (h, -1);
  fail_unless_equals_int (living_frames (), 0);
}
GST_END_TEST

/* A frame that waits for a slot is refused at once, even while downstream goes on with the frame that it has. */
GST_START_TEST (flush_does_not_wait_for_downstream)
{
  GstVideoInfo info;
  GstHarness *h = stream_of ("3", &info);
  Gate gate;
  Pusher p = { h, &info, &gate, 20, 0, 0, GST_FLOW_OK };
  GstSegment segment;
  GThread *thread;

  gate_new (&gate, h, TRUE);
  gate.deaf = TRUE;
  thread = g_thread_new ("pusher", push_all, &p);
  fail_unless_equals_int (wait_for (&gate, &gate.waiting, 1, WAIT_US), 1);
  fail_unless_equals_int (wait_for (&gate, &p.done, accepted ("3"), WAIT_US), accepted ("3"));
  fail_unless (gst_harness_push_event (h, gst_event_new_flush_start ()));
  g_thread_join (thread);
  fail_unless_equals_int (p.flow, GST_FLOW_FLUSHING);
  fail_unless_equals_int (gate.waiting, 1);
  gate_set (&gate, FALSE, GST_FLOW_OK);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  fail_unless (gst_harness_push_event (h, gst_event_new_flush_stop (TRUE)));
  fail_unless (gst_harness_push_event (h, gst_event_new_segment (&segment)));
  gst_buffer_unref (pull (h)); /* which downstream had when the flush came */
  gst_buffer_unref (push_pull (h, random_frame (&info, 99, 0)));
  close_harness (h, 2);
  fail_unless_equals_int (living_frames (), 0);
}
GST_END_TEST

/* stats counts the frame that was pushed when the flush came, and none of those that the flush dropped. */
GST_START_TEST (dropped_frames_are_not_counted)
{
  static const gchar *const presets[] = { "identity", "box" }; /* frames that pass unfiltered, and filtered ones */

  for (gsize i = 0; i < G_N_ELEMENTS (presets); i++) {
    GstElement *element = new_convolve ("frames-in-flight", depths[__i__], "preset", presets[i], NULL);
    GstHarness *h = new_harness (element);
    GstVideoInfo info;
    Gate gate;
    Pusher p = { h, &info, &gate, 20, 0, 0, GST_FLOW_OK };
    GThread *thread;

    set_caps (h, video_caps ("NV12", 16, 8, NULL), &info);
    gate_new (&gate, h, TRUE);
    thread = g_thread_new ("pusher", push_all, &p);
    fail_unless_equals_int (wait_for (&gate, &gate.waiting, 1, WAIT_US), 1);
    fail_unless (wait_for (&gate, &p.done, accepted (depths[__i__]), WAIT_US) == accepted (depths[__i__]));
    flush_harness (h, thread);
    gate_set (&gate, FALSE, GST_FLOW_OK);
    fail_unless_equals_uint64 (stat_of (element, "frames"), 1);
    close_harness (h, -1);
    fail_unless_equals_int (living_frames (), 0);
  }
}
GST_END_TEST

/* The flow return of downstream reaches upstream with one of the next frames, once. */
GST_START_TEST (flow_returns_reach_upstream)
{
  static const GstFlowReturn flows[] = { GST_FLOW_EOS, GST_FLOW_NOT_LINKED, GST_FLOW_ERROR };

  for (gsize f = 0; f < G_N_ELEMENTS (flows); f++) {
    gint depth = atoi (depths[__i__]), n = 0;
    GstVideoInfo info;
    GstHarness *h = stream_of (depths[__i__], &info);
    GstFlowReturn flow = GST_FLOW_OK;
    Gate gate;

    gate_new (&gate, h, FALSE);
    gst_buffer_unref (push_pull (h, random_frame (&info, 1, 0)));
    gate_set (&gate, FALSE, flows[f]);
    for (; flow == GST_FLOW_OK && n < depth + 3; n++)
      flow = gst_harness_push (h, random_frame (&info, 1, 0));
    fail_unless_equals_int (flow, flows[f]);
    fail_unless (n <= depth + 2, "only frame %d returned it", n);
    gate_set (&gate, FALSE, GST_FLOW_OK);
    fail_unless_equals_int (gst_harness_buffers_in_queue (h), 0);
    gst_buffer_unref (push_pull (h, random_frame (&info, 1, 0)));
    close_harness (h, -1);
  }
}
GST_END_TEST

/* So does that of a frame behind which others wait, which are dropped. */
GST_START_TEST (dropped_frames_keep_the_flow)
{
  GstVideoInfo info;
  GstHarness *h = stream_of (depths[__i__], &info);
  Gate gate;

  gate_new (&gate, h, TRUE);
  for (gint n = 0; n < accepted (depths[__i__]); n++)
    push_ok (h, random_frame (&info, 1, 0));
  gate_set (&gate, FALSE, GST_FLOW_EOS);
  fail_unless_equals_int (gst_harness_push (h, random_frame (&info, 1, 0)), GST_FLOW_EOS);
  fail_unless_equals_int (gate.passed, 1);
  gate_set (&gate, FALSE, GST_FLOW_OK);
  gst_buffer_unref (push_pull (h, random_frame (&info, 1, 0)));
  close_harness (h, -1);
}
GST_END_TEST

/* Pushes twelve frames; after the fourth, downstream's QoS event makes those before the seventh late. */
static void
push_late_frames (GstHarness *h, const GstVideoInfo *info)
{
  for (guint n = 0; n < 12; n++) {
    if (n == 4) {
      gst_harness_push_event (h, own_event ());
      fail_unless (gst_harness_push_upstream_event (h,
          gst_event_new_qos (GST_QOS_TYPE_UNDERFLOW, 2, 3 * 40 * GST_MSECOND, 4 * 40 * GST_MSECOND)));
    }
    push_ok (h, random_frame (info, n, 0));
  }
}

/* Pushes late frames before and after a flush. Returns as text the frames that come, which of them have DISCONT, and
 * the QoS messages, whose counts begin again with the flush. */
static gchar *
late_frames_of (const gchar *depth)
{
  GstElement *element = new_element ("frames-in-flight", depth, NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "NV12", 16, 8, &info);
  GString *all = g_string_new (NULL);
  GstMessage *message;

  push_late_frames (h, &info);
  gst_harness_push_event (h, own_event ());
  flush_harness (h, NULL);
  push_late_frames (h, &info);
  gst_harness_push_event (h, gst_event_new_eos ());
  while (gst_harness_buffers_in_queue (h) > 0) {
    GstBuffer *out = pull (h);

    g_string_append_printf (all, "%u%s ", (guint) (GST_BUFFER_PTS (out) / (40 * GST_MSECOND)),
        GST_BUFFER_IS_DISCONT (out) ? "!" : "");
    gst_buffer_unref (out);
  }
  while ((message = pop_message (element, GST_MESSAGE_QOS))) {
    guint64 processed, dropped;

    gst_message_parse_qos_stats (message, NULL, &processed, &dropped);
    g_string_append_printf (all, "(%u %u) ", (guint) processed, (guint) dropped);
    gst_message_unref (message);
  }
  close_harness (h, -1);
  return g_string_free (all, FALSE);
}

GST_START_TEST (late_frames)
{
  gchar *right = late_frames_of ("1"), *reported = late_frames_of (depths[__i__]);

  fail_unless (strstr (right, "!") && strstr (right, "("), "nothing was dropped: %s", right);
  fail_unless_equals_string (reported, right);
  g_free (reported);
  g_free (right);
}
GST_END_TEST

/* ---- states ------------------------------------------------------------- */

/* State changes down from PAUSED, where the sink holds a frame, and from PLAYING, after a few frames
 * have gone into the element. */
GST_START_TEST (states)
{
  gchar *line = g_strdup_printf (
      "videotestsrc pattern=snow ! video/x-raw,format=NV12,width=64,height=48,"
      "framerate=500/1 ! cudamedian name=f frames-in-flight=%s backend=%s on-gpu-error=error ! fakesink sync=true",
      depths[__i__], on_gpu () ? "cuda" : "cpu");
  GstElement *pipeline = gst_parse_launch (line, NULL), *f;
  Gate gate = { .passed = 0 };

  fail_unless (pipeline != NULL);
  f = gst_bin_get_by_name (GST_BIN (pipeline), "f");
  add_probe (f, "sink", count_frame, &gate);
  for (gint i = 0; i < 12; i++) {
    const gint frames = i % 2 ? i : MIN (i, atoi (depths[__i__]));

    g_mutex_lock (&gate.lock);
    gate.passed = 0;
    g_mutex_unlock (&gate.lock);
    fail_if (
        gst_element_set_state (pipeline, i % 2 ? GST_STATE_PLAYING : GST_STATE_PAUSED) == GST_STATE_CHANGE_FAILURE);
    fail_unless_equals_int (gst_element_get_state (pipeline, NULL, NULL, 30 * GST_SECOND), GST_STATE_CHANGE_SUCCESS);
    fail_unless (wait_for (&gate, &gate.passed, frames, WAIT_US) >= frames);
    fail_unless_equals_int (gst_element_set_state (pipeline, i % 3 ? GST_STATE_READY : GST_STATE_NULL),
        GST_STATE_CHANGE_SUCCESS);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (f);
  gst_object_unref (pipeline);
  g_free (line);
}
GST_END_TEST

static GstPadProbeReturn
drop_frame (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  (void) pad;
  (void) info;
  (void) data;
  return GST_PAD_PROBE_DROP;
}

/* In a running stream a thousand frames, in memory of the element's pools and in other memory,
 * allocate no GPU memory and no pinned memory. Downstream keeps no frame: holding frames would
 * make the pool of output buffers grow. */
GST_START_TEST (no_allocation_under_way)
{
  for (gint plain = 0; plain < 2; plain++) {
    GstCaps *caps = video_caps ("NV12", 16, 8, NULL);
    GstQuery *query = gst_query_new_allocation (caps, TRUE);
    GstVideoInfo info;
    GstHarness *h = stream_of (depths[__i__], &info);
    GstBufferPool *pool = NULL;
    guint64 before = 0;

    fail_unless (gst_pad_peer_query (h->srcpad, query));
    fail_unless (gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL));
    if (!plain && gst_query_get_n_allocation_pools (query) > 0)
      gst_query_parse_nth_allocation_pool (query, 0, &pool, NULL, NULL, NULL);
    fail_unless ((pool != NULL) == (on_gpu () && !plain));
    if (pool)
      fail_unless (gst_buffer_pool_set_active (pool, TRUE));
    gst_pad_add_probe (h->sinkpad, GST_PAD_PROBE_TYPE_BUFFER, drop_frame, NULL, NULL);
    for (guint i = 0; i < 1100; i++) {
      GstBuffer *in = NULL;

      if (i == 100)
        before = stat_of (h->element, "gpu-allocations");
      if (!pool || gst_buffer_pool_acquire_buffer (pool, &in, NULL) != GST_FLOW_OK)
        in = gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (&info), NULL);
      gst_buffer_memset (in, 0, (guint8) i, GST_VIDEO_INFO_SIZE (&info));
      push_ok (h, in);
    }
    fail_unless_equals_uint64 (stat_of (h->element, "gpu-allocations"), before);
    fail_unless (on_gpu () == (before > 0));
    gst_harness_push_event (h, gst_event_new_eos ());
    if (pool) {
      gst_buffer_pool_set_active (pool, FALSE);
      gst_object_unref (pool);
    }
    gst_query_unref (query);
    gst_caps_unref (caps);
    close_harness (h, 1100);
  }
}
GST_END_TEST

int
main (int argc, char **argv)
{
  static const gint all = G_N_ELEMENTS (depths);
  TCase *tests = tcase_create ("flight");

  tcase_add_loop_test (tests, frames_are_right, 0, all * (gint) G_N_ELEMENTS (streams));
  tcase_add_loop_test (tests, large_frames, 0, all);
  tcase_add_test (tests, reports);
  tcase_add_loop_test (tests, serialized_events_keep_their_order, 0, all);
  tcase_add_test (tests, serialized_queries_wait);
  tcase_add_test (tests, latency);
  tcase_add_test (tests, latency_of_a_live_source);
  tcase_add_test (tests, latency_unknown);
  tcase_add_loop_test (tests, waits_when_all_slots_are_taken, 0, all);
  tcase_add_loop_test (tests, flush, 0, all);
  tcase_add_test (tests, flush_does_not_wait_for_downstream);
  tcase_add_loop_test (tests, dropped_frames_are_not_counted, 0, all);
  tcase_add_loop_test (tests, flow_returns_reach_upstream, 0, all);
  tcase_add_loop_test (tests, dropped_frames_keep_the_flow, 1, all);
  tcase_add_loop_test (tests, late_frames, 1, all);
  tcase_add_loop_test (tests, states, 0, all);
  tcase_add_loop_test (tests, no_allocation_under_way, 0, all);
  return run_suite (argc, argv, "flight", tests, FALSE);
}
