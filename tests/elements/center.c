/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * center.c: temporal-center: a frame is filtered with those after it as well, so frames wait in the element. Each comes
 * out once, in order, with what is its own, and with the window that the documentation gives it. */
#include "gate.h"

#include <stdlib.h>

#define MOST 24

static const gchar *const in_flight[] = { "1", "4" };

static GstHarness *
new_center (const gchar *frames_in_flight, const gchar *depth, const gchar *format, GstVideoInfo *info)
{
  GstElement *element = new_element ("kernel-size", "3", "temporal-center", "true", "temporal-depth", depth,
      "frames-in-flight", frames_in_flight, NULL);

  return new_stream (element, format, 26, 14, info);
}

/* Pulls n frames; fails unless they are in[0] to in[n - 1], each filtered with the frames around it. Those before in[0]
 * count as in[0], those after in[last] as in[last]. */
static void
expect_center (GstHarness *h, const GstVideoInfo *info, GstBuffer *const *in, gint n, gint last, const Expect *e)
{
  for (gint t = 0; t < n; t++) {
    GstBuffer *window[63] = { in[t] }, *out = pull (h);

    for (gint i = 1; i < e->depth; i++) {
      const gint distance = i <= e->depth / 2 ? -i : i - e->depth / 2;

      window[i] = in[CLAMP (t + distance, 0, last)];
    }
    fail_unless_equals_uint64 (GST_BUFFER_PTS (out), GST_BUFFER_PTS (in[t]));
    fail_unless_equals_uint64 (GST_BUFFER_OFFSET (out), GST_BUFFER_OFFSET (in[t]));
    fail_unless (
        GST_BUFFER_FLAG_IS_SET (out, GST_BUFFER_FLAG_MARKER) == GST_BUFFER_FLAG_IS_SET (in[t], GST_BUFFER_FLAG_MARKER));
    assert_filtered (info, out, window, e->depth, e);
    gst_buffer_unref (out);
  }
}

static void
make_frames (const GstVideoInfo *info, GstBuffer **in, gint n)
{
  for (gint i = 0; i < n; i++) {
    in[i] = random_frame (info, (guint) i, 0);
    GST_BUFFER_OFFSET (in[i]) = 100 + (guint) i;
    if (i % 5 == 2)
      GST_BUFFER_FLAG_SET (in[i], GST_BUFFER_FLAG_MARKER);
  }
}

static void
push_frames (GstHarness *h, GstBuffer *const *in, gint n)
{
  for (gint t = 0; t < n; t++)
    push_ok (h, gst_buffer_ref (in[t]));
}

static void
free_frames (GstBuffer **in, gint n)
{
  for (gint i = 0; i < n; i++)
    gst_buffer_unref (in[i]);
}

/* ---- windows ------------------------------------------------------------ */

static const struct {
  const gchar *depth, *size, *format, *property, *value;
} rows[] = {
  { "3", "3", "NV12", NULL, NULL },
  { "5", "3", "RGB", NULL, NULL },
  { "9", "1", "I420", NULL, NULL },
  { "21", "1", "GRAY8", NULL, NULL },
  { "15", "3", "GRAY16_LE", NULL, NULL },
  { "3", "5", "NV12", "threshold", "40" },
  { "5", "3", "YUY2", "apply-to", "luma" },
  { "5", "1", "NV12", "apply-to", "chroma" },
  { "7", "1", "RGBA", "percentile", "25" },
  { "3", "3", "BGR", "color-order", "packed" },
};

/* Streams of one frame, of fewer than a half window, and of many. */
GST_START_TEST (windows)
{
  static const gint lengths[] = { 1, 2, 4, MOST };
  const gint row = __i__ / 2;
  GstElement *element = new_element ("temporal-center", "true", "temporal-depth", rows[row].depth, "kernel-size",
      rows[row].size, "frames-in-flight", in_flight[__i__ % 2], NULL);
  GstHarness *h = new_harness (element);
  Expect e = EXPECT (atoi (rows[row].size));
  GstBuffer *in[MOST];
  GstVideoInfo info;
  gint frames = 0;

  e.depth = atoi (rows[row].depth);
  if (rows[row].property)
    set_value (element, rows[row].property, rows[row].value);
  e.threshold = g_strcmp0 (rows[row].property, "threshold") == 0 ? atoi (rows[row].value) : 0;
  e.percentile = g_strcmp0 (rows[row].property, "percentile") == 0 ? atoi (rows[row].value) : 50;
  e.packed = g_strcmp0 (rows[row].property, "color-order") == 0;
  e.luma = g_strcmp0 (rows[row].value, "chroma") != 0;
  e.chroma = g_strcmp0 (rows[row].value, "luma") != 0;
  for (gsize i = 0; i < G_N_ELEMENTS (lengths); i++) {
    const gint n = lengths[i];

    set_caps (h, video_caps (rows[row].format, 26, 10 + 2 * (gint) i, NULL), &info);
    make_frames (&info, in, n);
    push_frames (h, in, n);
    /* A gap or the end of the stream: all frames come before. */
    if (i + 1 < G_N_ELEMENTS (lengths))
      fail_unless (gst_harness_push_event (h, gst_event_new_gap (0, GST_SECOND)));
    else
      fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
    expect_center (h, &info, in, n, n - 1, &e);
    fail_unless (gst_harness_try_pull (h) == NULL);
    free_frames (in, n);
    frames += n;
  }
  expect_no_messages (element);
  close_harness (h, frames);
}
GST_END_TEST

/* A frame comes when the last one of its window has, and not later. */
GST_START_TEST (in_time)
{
  GstVideoInfo info;
  GstHarness *h = new_center (in_flight[__i__], "7", "NV12", &info);
  GstBuffer *in[MOST], *out;

  make_frames (&info, in, MOST);
  for (gint t = 0; t < MOST; t++) {
    push_ok (h, gst_buffer_ref (in[t]));
    if (t < 3)
      continue;
    out = pull (h);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (out), GST_BUFFER_PTS (in[t - 3]));
    fail_unless (gst_harness_try_pull (h) == NULL);
    gst_buffer_unref (out);
  }
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  for (gint i = 0; i < 3; i++)
    gst_buffer_unref (pull (h));
  free_frames (in, MOST);
  close_harness (h, MOST);
}
GST_END_TEST

/* Frames of mixed streams are filtered as their own flags say, with a history that goes on. */
GST_START_TEST (mixed_interlacing)
{
  GstElement *element = new_element ("temporal-center", "true", "temporal-depth", "3", "frames-in-flight",
      in_flight[__i__], NULL);
  GstHarness *h = new_harness (element);
  GstBuffer *in[8];
  GstVideoInfo info;

  set_caps (h, video_caps ("I420", 11, 8, "interlace-mode=mixed"), &info);
  make_frames (&info, in, 8);
  for (gint t = 0; t < 8; t++) {
    if (t % 3 == 1)
      GST_BUFFER_FLAG_SET (in[t], GST_VIDEO_BUFFER_FLAG_INTERLACED);
    push_ok (h, gst_buffer_ref (in[t]));
  }
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  for (gint t = 0; t < 8; t++) {
    GstBuffer *window[3] = { in[t], in[MAX (t - 1, 0)], in[MIN (t + 1, 7)] }, *out = pull (h);
    Expect e = EXPECT (3);

    e.depth = 3;
    e.interlaced = t % 3 == 1;
    assert_filtered (&info, out, window, 3, &e);
    gst_buffer_unref (out);
  }
  free_frames (in, 8);
  close_harness (h, 8);
}
GST_END_TEST

/* ---- changes ------------------------------------------------------------ */

/* A change of the half window ends the windows: the frames that wait come out with the old one. */
GST_START_TEST (live_changes)
{
  GstVideoInfo info;
  GstHarness *h = new_center (in_flight[__i__], "5", "NV12", &info);
  Expect e = EXPECT (3);
  GstBuffer *in[6 + 5 + 4];

  make_frames (&info, in, 15);
  e.depth = 5;
  push_frames (h, in, 6);
  set_value (h->element, "temporal-depth", "3");
  push_frames (h, in + 6, 5);
  expect_center (h, &info, in, 6, 5, &e);
  e.depth = 3;
  expect_center (h, &info, in + 6, 4, 4, &e);
  set_value (h->element, "temporal-center", "false");
  push_frames (h, in + 11, 4);
  for (gint i = 0; i < 5; i++)
    gst_buffer_unref (pull (h));
  expect_no_messages (h->element);
  free_frames (in, 15);
  close_harness (h, 15);
}
GST_END_TEST

/* So does a change of what is filtered, with frames before and after, or before only. Other parameters do not. */
GST_START_TEST (other_components)
{
  const gboolean center = __i__ / 2 == 0;
  GstElement *element = new_element ("kernel-size", "1", "temporal-center", center ? "true" : "false", "temporal-depth",
      "3", "apply-to", "luma", "frames-in-flight", in_flight[__i__ % 2], NULL);
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "I420", 26, 14, &info);
  GstBuffer *in[12];

  make_frames (&info, in, 12);
  for (gint t = 0; t < 12; t++) {
    if (t == 6)
      set_value (element, "apply-to", "chroma");
    if (t == 3 || t == 9) /* an old value anew */
      set_value (element, "percentile", "50");
    push_ok (h, gst_buffer_ref (in[t]));
  }
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  for (gint t = 0; t < 12; t++) {
    const gint first = t < 6 ? 0 : 6, last = first + 5;
    GstBuffer *window[3] = { in[t], in[MAX (t - 1, first)], center ? in[MIN (t + 1, last)] : in[MAX (t - 2, first)] };
    GstBuffer *out = pull (h);
    Expect e = EXPECT (1);

    e.depth = 3;
    e.luma = t < 6;
    e.chroma = t >= 6;
    assert_filtered (&info, out, window, 3, &e);
    gst_buffer_unref (out);
  }
  free_frames (in, 12);
  close_harness (h, 12);
}
GST_END_TEST

GST_START_TEST (latency)
{
  GstVideoInfo info;
  GstHarness *h = new_center (in_flight[__i__], "7", "NV12", &info); /* 25 frames a second */
  const GstClockTime slots = __i__ ? 3 * 40 * GST_MSECOND : 0;
  GstMessage *message;

  push_ok (h, random_frame (&info, 0, 0));
  fail_unless_equals_uint64 (gst_harness_query_latency (h), slots + 3 * 40 * GST_MSECOND);
  message = pop_message (h->element, GST_MESSAGE_LATENCY);
  fail_unless (message != NULL);
  gst_message_unref (message);
  set_value (h->element, "temporal-depth", "3");
  push_ok (h, random_frame (&info, 1, 0));
  fail_unless_equals_uint64 (gst_harness_query_latency (h), slots + 40 * GST_MSECOND);
  message = pop_message (h->element, GST_MESSAGE_LATENCY);
  fail_unless (message != NULL);
  gst_message_unref (message);
  set_value (h->element, "temporal-method", "running");
  push_ok (h, random_frame (&info, 2, 0));
  fail_unless_equals_uint64 (gst_harness_query_latency (h), slots);
  for (gint i = 0; i < 3; i++)
    gst_buffer_unref (pull (h));
  close_harness (h, -1);
}
GST_END_TEST

/* Upstream has as many buffers as the element asks for, and no more: the frames that are held do not stop it. */
GST_START_TEST (buffers_of_upstream)
{
  GstVideoInfo info;
  GstHarness *h = new_center (in_flight[__i__], "9", "GRAY8", &info);
  GstCaps *caps = gst_video_info_to_caps (&info);
  GstQuery *query = gst_query_new_allocation (caps, FALSE);
  GstBufferPoolAcquireParams now = { .flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT };
  GstBufferPool *pool = gst_buffer_pool_new ();
  GstStructure *config = gst_buffer_pool_get_config (pool);
  guint n = 0;

  fail_unless (gst_pad_peer_query (h->srcpad, query));
  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, NULL, NULL, &n, NULL);
  n = MAX (n, 2);
  gst_buffer_pool_config_set_params (config, caps, (guint) info.size, n, n);
  fail_unless (gst_buffer_pool_set_config (pool, config) && gst_buffer_pool_set_active (pool, TRUE));
  for (guint i = 0; i < MOST; i++) {
    GstBuffer *in;

    fail_unless_equals_int (gst_buffer_pool_acquire_buffer (pool, &in, &now), GST_FLOW_OK);
    gst_buffer_memset (in, 0, (guint8) i, info.size);
    push_ok (h, in);
  }
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  fail_unless (gst_buffer_pool_set_active (pool, FALSE));
  gst_object_unref (pool);
  gst_query_unref (query);
  gst_caps_unref (caps);
  close_harness (h, MOST);
}
GST_END_TEST

/* Frames pass untouched and in order; the windows around them are those of the whole stream. */
GST_START_TEST (not_enabled)
{
  GstVideoInfo info;
  GstHarness *h = new_center (in_flight[__i__], "3", "NV12", &info);
  Expect e = EXPECT (3);
  GstBuffer *in[9];

  e.depth = 3;
  make_frames (&info, in, 9);
  for (gint t = 0; t < 9; t++) {
    set_value (h->element, "enabled", t >= 4 && t < 7 ? "false" : "true");
    push_ok (h, gst_buffer_ref (in[t]));
  }
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  for (gint t = 0; t < 9; t++) {
    GstBuffer *window[3] = { in[t], in[MAX (t - 1, 0)], in[MIN (t + 1, 8)] }, *out = pull (h);

    fail_unless_equals_uint64 (GST_BUFFER_PTS (out), GST_BUFFER_PTS (in[t]));
    if (t >= 3 && t < 6)
      assert_same (&info, out, in[t]);
    else
      assert_filtered (&info, out, window, 3, &e);
    gst_buffer_unref (out);
  }
  fail_unless_equals_uint64 (stat_of (h->element, "frames-passed"), 3);
  free_frames (in, 9);
  close_harness (h, 9);
}
GST_END_TEST

/* ---- events ------------------------------------------------------------- */

/* A flush drops the frames that wait; those after it begin anew. */
GST_START_TEST (flush)
{
  GstVideoInfo info;
  GstHarness *h = new_center (in_flight[__i__], "5", "NV12", &info);
  Expect e = EXPECT (3);
  GstBuffer *in[4], *out;

  e.depth = 5;
  make_frames (&info, in, 4);
  for (gint round = 0; round < 3; round++) {
    push_frames (h, in, 4);
    flush_harness (h, NULL);
    while ((out = gst_harness_try_pull (h)))
      gst_buffer_unref (out);
  }
  push_frames (h, in, 4);
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  expect_center (h, &info, in, 4, 3, &e);
  for (gint t = 0; t < 4; t++) /* nothing holds them any more */
    ASSERT_BUFFER_REFCOUNT (in[t], "frame", 1);
  free_frames (in, 4);
  close_harness (h, -1);
}
GST_END_TEST

/* Frames on either side of a gap have nothing to do with each other. */
GST_START_TEST (gap)
{
  GstVideoInfo info;
  GstHarness *h = new_center (in_flight[__i__], "5", "NV12", &info);
  Expect e = EXPECT (3);
  GstBuffer *in[9];

  e.depth = 5;
  make_frames (&info, in, 9);
  push_frames (h, in, 4);
  fail_unless (gst_harness_push_event (h, gst_event_new_gap (4 * 40 * GST_MSECOND, GST_SECOND)));
  push_frames (h, in + 4, 5);
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  expect_center (h, &info, in, 4, 3, &e);
  expect_center (h, &info, in + 4, 5, 4, &e);
  free_frames (in, 9);
  close_harness (h, 9);
}
GST_END_TEST

static GstPadProbeReturn
note_order (GstPad *pad, GstPadProbeInfo *info, gpointer order)
{
  (void) pad;
  if (info->type & GST_PAD_PROBE_TYPE_BUFFER)
    g_string_append_c (order, 'f');
  else if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_GAP)
    g_string_append_c (order, 'g');
  else if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_CAPS)
    g_string_append_c (order, 'c');
  else if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_EOS)
    g_string_append_c (order, 'e');
  return GST_PAD_PROBE_OK;
}

/* No frame comes after an event that ends its window. */
GST_START_TEST (order_of_events)
{
  GString *order = g_string_new (NULL);
  GstVideoInfo info;
  GstHarness *h = new_center (in_flight[__i__], "5", "NV12", &info);
  GstPad *pad = gst_element_get_static_pad (h->element, "src");

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, note_order, order, NULL);
  for (guint t = 0; t < 3; t++)
    push_ok (h, random_frame (&info, t, 0));
  fail_unless (gst_harness_push_event (h, gst_event_new_gap (3 * 40 * GST_MSECOND, GST_SECOND)));
  push_ok (h, random_frame (&info, 3, 0));
  set_caps (h, video_caps ("RGB", 12, 8, NULL), &info);
  for (guint t = 4; t < 9; t++)
    push_ok (h, random_frame (&info, t, 0));
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  fail_unless_equals_string (order->str, "fffgfcfffffe");
  for (gint i = 0; i < 9; i++)
    gst_buffer_unref (pull (h));
  g_string_free (order, TRUE);
  gst_object_unref (pad);
  close_harness (h, 9);
}
GST_END_TEST

static GstPadProbeReturn
refuse (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  (void) pad;
  (void) data;
  gst_clear_buffer ((GstBuffer **) &info->data);
  GST_PAD_PROBE_INFO_FLOW_RETURN (info) = GST_FLOW_ERROR;
  return GST_PAD_PROBE_HANDLED;
}

/* What downstream said of the frames that waited is forgotten with a flush. */
GST_START_TEST (refused_before_a_flush)
{
  GstVideoInfo info;
  GstHarness *h = new_center (in_flight[__i__], "5", "NV12", &info);
  GstPad *pad = gst_element_get_static_pad (h->element, "src");
  gulong probe;

  for (guint t = 0; t < 4; t++)
    push_ok (h, random_frame (&info, t, 0));
  for (gint i = 0; i < 2; i++)
    gst_buffer_unref (pull (h));
  probe = gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, refuse, NULL, NULL);
  fail_unless (gst_harness_push_event (h, gst_event_new_gap (0, GST_SECOND)));
  gst_pad_remove_probe (pad, probe);
  flush_harness (h, NULL);
  push_ok (h, random_frame (&info, 4, 0));
  gst_object_unref (pad);
  close_harness (h, -1);
}
GST_END_TEST

/* The stream does not end as if it were complete where downstream refuses a frame that waited. */
GST_START_TEST (refused_at_the_end)
{
  GString *order = g_string_new (NULL);
  GstVideoInfo info;
  GstHarness *h = new_center (in_flight[__i__], "5", "NV12", &info);
  GstPad *pad = gst_element_get_static_pad (h->element, "src");

  for (guint t = 0; t < 4; t++)
    push_ok (h, random_frame (&info, t, 0));
  for (gint i = 0; i < 2; i++)
    gst_buffer_unref (pull (h));
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, refuse, NULL, NULL);
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, note_order, order, NULL);
  gst_harness_push_event (h, gst_event_new_eos ());
  fail_unless_equals_string (order->str, "");
  g_free (only_message (h->element, GST_MESSAGE_ERROR, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED));
  g_string_free (order, TRUE);
  gst_object_unref (pad);
  close_harness (h, -1);
}
GST_END_TEST

/* The element keeps no frame that waits beyond the stream. */
GST_START_TEST (stop)
{
  GstVideoInfo info;
  GstHarness *h = new_center (in_flight[__i__], "9", "NV12", &info);
  GstBuffer *in[3];

  make_frames (&info, in, 3);
  push_frames (h, in, 3);
  fail_unless_equals_int (gst_element_set_state (h->element, GST_STATE_READY), GST_STATE_CHANGE_SUCCESS);
  for (gint t = 0; t < 3; t++)
    ASSERT_BUFFER_REFCOUNT (in[t], "frame", 1);
  free_frames (in, 3);
  free_harness (h);
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("center");

  tcase_add_loop_test (tests, windows, 0, 2 * G_N_ELEMENTS (rows));
  tcase_add_loop_test (tests, in_time, 0, 2);
  tcase_add_loop_test (tests, mixed_interlacing, 0, 2);
  tcase_add_loop_test (tests, live_changes, 0, 2);
  tcase_add_loop_test (tests, other_components, 0, 4);
  tcase_add_loop_test (tests, latency, 0, 2);
  tcase_add_loop_test (tests, buffers_of_upstream, 0, 2);
  tcase_add_loop_test (tests, not_enabled, 0, 2);
  tcase_add_loop_test (tests, flush, 0, 2);
  tcase_add_loop_test (tests, gap, 0, 2);
  tcase_add_loop_test (tests, order_of_events, 0, 2);
  tcase_add_loop_test (tests, refused_before_a_flush, 0, 2);
  tcase_add_loop_test (tests, refused_at_the_end, 0, 2);
  tcase_add_loop_test (tests, stop, 0, 2);
  return run_suite (argc, argv, "center", tests, FALSE);
}
