/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * life.c: what a stream meets in a year: data that arrives while the element starts, frames that downstream refuses,
 * animated properties, a shortage of memory. */
#include "gate.h"

#include <gst/controller/controller.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const gchar *const elements[] = { CF_FILTERS (ELEMENT) };

/* ---- start -------------------------------------------------------------- */

typedef struct {
  GstHarness *h;
  const GstVideoInfo *info;
  gint end; /* atomic */
} Flood;

static gpointer
push_until_end (gpointer data)
{
  Flood *flood = data;
  GstPad *pad = flood->h->srcpad;

  while (!g_atomic_int_get (&flood->end)) {
    GstSegment segment;

    gst_segment_init (&segment, GST_FORMAT_TIME);
    gst_pad_push_event (pad, gst_event_new_stream_start ("flood"));
    gst_pad_push_event (pad, gst_event_new_caps (gst_video_info_to_caps (flood->info)));
    gst_pad_push_event (pad, gst_event_new_segment (&segment));
    for (guint i = 0; i < 4; i++)
      gst_pad_push (pad, random_frame (flood->info, i, 0));
  }
  return NULL;
}

GST_START_TEST (data_while_starting)
{
  GstElement *element = new_element_of (elements[__i__ / 2], "frames-in-flight", __i__ % 2 ? "3" : "1", NULL);
  const gint cycles = on_gpu () ? 30 : 300; /* a CUDA context takes .15 s */
  GstHarness *h = new_harness (element);
  GstBus *bus = gst_element_get_bus (element);
  GstVideoInfo info;
  Flood flood = { h, &info, FALSE };
  GThread *thread;

  set_caps (h, video_caps ("GRAY8", 16, 16, NULL), &info);
  gst_harness_set_drop_buffers (h, TRUE);
  _gst_check_expecting_log = TRUE; /* GStreamer warns where an element restarts between stream-start and caps */
  thread = g_thread_new ("flood", push_until_end, &flood);
  for (gint i = 0; i < cycles; i++) {
    fail_if (gst_element_set_state (element, GST_STATE_NULL) == GST_STATE_CHANGE_FAILURE);
    gst_bus_set_flushing (bus, TRUE); /* have-context messages hold the CUDA context */
    gst_bus_set_flushing (bus, FALSE);
    fail_if (gst_element_set_state (element, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE);
  }
  g_atomic_int_set (&flood.end, TRUE);
  g_thread_join (thread);
  _gst_check_expecting_log = FALSE;
  gst_object_unref (bus);
  free_harness (h);
}
GST_END_TEST

/* ---- refusals ----------------------------------------------------------- */

/* Downstream accepts the first frame and refuses the next two, after which EOS comes. */
GST_START_TEST (last_frames_refused)
{
  static const struct {
    GstFlowReturn flow;
    gboolean ends, error;
  } cases[] = { { GST_FLOW_ERROR, FALSE, TRUE }, { GST_FLOW_NOT_NEGOTIATED, FALSE, TRUE },
    { GST_FLOW_NOT_LINKED, FALSE, TRUE }, { GST_FLOW_EOS, TRUE, FALSE }, { GST_FLOW_OK, TRUE, FALSE } };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++) {
    GstHarness *h = new_harness (new_element ("frames-in-flight", "4", NULL));
    gboolean eos = FALSE;
    GstVideoInfo info;
    GstMessage *m;
    GstEvent *e;
    Gate gate;

    set_caps (h, video_caps ("GRAY8", 16, 16, NULL), &info);
    gate_new (&gate, h, FALSE);
    fail_unless_equals_int (gst_harness_push (h, random_frame (&info, 0, 0)), GST_FLOW_OK);
    fail_unless_equals_int (wait_for (&gate, &gate.passed, 1, WAIT_US), 1);
    gate_set (&gate, TRUE, cases[i].flow);
    for (guint frame = 1; frame < 3; frame++)
      fail_unless_equals_int (gst_harness_push (h, random_frame (&info, frame, 0)), GST_FLOW_OK);
    gate_set (&gate, FALSE, cases[i].flow);
    fail_unless_equals_int (gst_harness_push_event (h, gst_event_new_eos ()), cases[i].ends);
    while ((e = gst_harness_try_pull_event (h))) {
      eos = eos || GST_EVENT_TYPE (e) == GST_EVENT_EOS;
      gst_event_unref (e);
    }
    fail_unless_equals_int (eos, cases[i].ends);
    m = pop_message (h->element, GST_MESSAGE_ERROR);
    fail_unless_equals_int (m != NULL, cases[i].error);
    if (m)
      gst_message_unref (m);
    fail_unless (pop_message (h->element, GST_MESSAGE_ERROR) == NULL);
    free_harness (h);
  }
}
GST_END_TEST

/* Caps that the parameters do not allow arrive again and again: one error. A change of the parameters helps. */
GST_START_TEST (caps_refused_once)
{
  GstHarness *h = new_harness (new_element ("apply-to", "luma", NULL));
  GstCaps *caps = video_caps ("RGB", 16, 16, NULL);
  GstVideoInfo info, good;

  fail_unless (gst_video_info_from_caps (&info, caps));
  gst_harness_set_src_caps (h, gst_caps_ref (caps));
  for (guint i = 0; i < 5; i++) {
    gst_harness_push_event (h, gst_event_new_caps (caps));
    fail_if (gst_harness_push (h, random_frame (&info, i, 0)) == GST_FLOW_OK);
  }
  g_free (only_message (h->element, GST_MESSAGE_ERROR, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS));
  set_value (h->element, "apply-to", "all");
  set_caps (h, video_caps ("RGB", 16, 16, NULL), &good);
  gst_buffer_unref (gst_harness_push_and_pull (h, random_frame (&info, 9, 0)));
  gst_caps_unref (caps);
  close_harness (h, 1);
}
GST_END_TEST

/* Caps that fit the pad and are of no video that is handled. */
GST_START_TEST (caps_say_why)
{
  static const gchar *const modes[][2] = { { "alternate", "not those of raw video" }, { "fields", "fields" } };

  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++) {
    GstHarness *h = new_harness (new_element (NULL));
    gchar *mode = g_strdup_printf ("interlace-mode=%s", modes[i][0]);
    GstMessage *m;
    GError *error;

    gst_harness_set_src_caps (h, video_caps ("GRAY8", 16, 16, mode));
    m = pop_message (h->element, GST_MESSAGE_ERROR);
    fail_unless (m != NULL, "%s: no error", mode);
    gst_message_parse_error (m, &error, NULL);
    fail_unless (strstr (error->message, modes[i][1]) != NULL, "%s: %s", mode, error->message);
    fail_unless (pop_message (h->element, GST_MESSAGE_ERROR) == NULL);
    g_error_free (error);
    gst_message_unref (m);
    g_free (mode);
    free_harness (h);
  }
}
GST_END_TEST

/* ---- pools -------------------------------------------------------------- */

static GstPadProbeReturn
propose_pool (GstPad *pad, GstPadProbeInfo *info, gpointer pool)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);

  (void) pad;
  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_allocation_pool (query, pool, 256, 2, 8);
  return GST_PAD_PROBE_HANDLED;
}

/* The pool is downstream's, and so is its flushing. */
GST_START_TEST (foreign_pool_is_not_flushed)
{
  GstBufferPoolAcquireParams params = { .flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT };
  GstHarness *h = new_harness (new_element (NULL));
  GstBufferPool *pool = gst_video_buffer_pool_new ();
  GstBuffer *out, *other = NULL;
  GstVideoInfo info;

  gst_pad_add_probe (h->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH, propose_pool, pool,
      NULL);
  set_caps (h, video_caps ("GRAY8", 16, 16, NULL), &info);
  out = gst_harness_push_and_pull (h, random_frame (&info, 0, 0));
  fail_unless (out->pool == pool);
  gst_harness_push_event (h, gst_event_new_flush_start ());
  fail_unless_equals_int (gst_buffer_pool_acquire_buffer (pool, &other, &params), GST_FLOW_OK);
  gst_buffer_unref (other);
  gst_buffer_unref (out);
  gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
  close_harness (h, 1);
  gst_object_unref (pool);
}
GST_END_TEST

/* ---- properties --------------------------------------------------------- */

static void
animate (GstElement *element, const gchar *property, GstInterpolationMode mode, const gdouble (*points)[2], gsize n)
{
  GstControlSource *source = gst_interpolation_control_source_new ();

  g_object_set (source, "mode", mode, NULL);
  for (gsize i = 0; i < n; i++)
    fail_unless (gst_timed_value_control_source_set (GST_TIMED_VALUE_CONTROL_SOURCE (source),
        (GstClockTime) (points[i][0] * GST_SECOND), points[i][1]));
  fail_unless (gst_object_add_control_binding (GST_OBJECT (element),
      gst_direct_control_binding_new_absolute (GST_OBJECT (element), property, source)));
  gst_object_unref (source);
}

/* kernel-size grows through all whole numbers; the even ones are refused, and become odd without a word. That of
 * cudaconvolve begins with 0. */
GST_START_TEST (animated_size_is_odd)
{
  const gint first = __i__ ? 0 : 1;
  const gdouble points[][2] = { { 0, first }, { 6, first + 60 } };
  GstHarness *h = new_harness (__i__ ? new_convolve (NULL) : new_element (NULL));
  GstVideoInfo info;
  gint n = 0;

  animate (h->element, "kernel-size", GST_INTERPOLATION_MODE_LINEAR, points, G_N_ELEMENTS (points));
  set_caps (h, video_caps ("GRAY8", 16, 16, NULL), &info);
  for (gint i = 0; i < 60; i++) {
    GstBuffer *frame = random_frame (&info, (guint) i, 0);
    gint size;

    GST_BUFFER_PTS (frame) = (GstClockTime) i * GST_SECOND / 10;
    gst_buffer_unref (gst_harness_push_and_pull (h, frame));
    g_object_get (h->element, "kernel-size", &size, NULL);
    fail_unless (first + i == 0 ? size == 0 : size % 2 == 1 && ABS (size - (first + i)) <= 1,
        "kernel-size is %d in frame %d", size, i);
    n++;
  }
  fail_unless (pop_message (h->element, GST_MESSAGE_WARNING) == NULL);
  close_harness (h, n);
}
GST_END_TEST

/* Values that no neighbour makes good: one warning a second. */
GST_START_TEST (animated_nonsense_warns_once)
{
  static const gdouble points[][2] = { { 0, 0.2 }, { 6, 1 } };
  GstHarness *h = new_harness (new_irfilter ("preset", "deblur", NULL));
  GstMessage *m;
  GstVideoInfo info;

  animate (h->element, "sigma", GST_INTERPOLATION_MODE_LINEAR, points, G_N_ELEMENTS (points));
  set_caps (h, video_caps ("GRAY8", 16, 16, NULL), &info);
  for (gint i = 0; i < 10; i++) {
    GstBuffer *frame = random_frame (&info, (guint) i, 0);

    GST_BUFFER_PTS (frame) = (GstClockTime) i * GST_SECOND / 10;
    gst_buffer_unref (gst_harness_push_and_pull (h, frame));
  }
  m = pop_message (h->element, GST_MESSAGE_WARNING);
  fail_unless (m != NULL);
  gst_message_unref (m);
  fail_unless (pop_message (h->element, GST_MESSAGE_WARNING) == NULL);
  close_harness (h, 10);
}
GST_END_TEST

/* Control sources run in stream time: here 2 s before running time, and 10 s before the timestamps. */
GST_START_TEST (animation_follows_stream_time)
{
  static const gdouble points[][2] = { { 0, 0 }, { 10, 100 } };
  GstHarness *h = new_harness (new_element (NULL));
  GstSegment segment;
  GstVideoInfo info;

  animate (h->element, "percentile", GST_INTERPOLATION_MODE_LINEAR, points, G_N_ELEMENTS (points));
  set_caps (h, video_caps ("GRAY8", 16, 16, NULL), &info);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.start = 13 * GST_SECOND;
  segment.time = 3 * GST_SECOND;
  segment.base = 5 * GST_SECOND;
  fail_unless (gst_harness_push_event (h, gst_event_new_segment (&segment)));
  for (gint i = 0; i < 5; i++) {
    GstBuffer *frame = random_frame (&info, (guint) i, 0);
    gint percentile;

    GST_BUFFER_PTS (frame) = (GstClockTime) (13 + i) * GST_SECOND;
    gst_buffer_unref (gst_harness_push_and_pull (h, frame));
    g_object_get (h->element, "percentile", &percentile, NULL);
    fail_unless_equals_int (percentile, 10 * (3 + i));
  }
  close_harness (h, 5);
}
GST_END_TEST

/* Frames that wait for later ones are filtered, or pass, as the animation says for their own times, also those that the
 * end of the stream or a change of the window brings out, and the frame after that change. */
GST_START_TEST (animation_of_frames_that_wait)
{
  static const gdouble points[][2] = { { 0, 1 }, { 0.4, 0 }, { 0.8, 1 }, { 1.3, 0 }, { 1.4, 1 } };
  GstElement *element = new_element ("temporal-center", "true", "temporal-depth", "7", "frames-in-flight",
      __i__ % 2 ? "4" : "1", NULL);
  GstBuffer *in[15];
  GstVideoInfo info;
  GstHarness *h = new_stream (element, "GRAY8", 16, 16, &info);

  animate (element, "enabled", GST_INTERPOLATION_MODE_NONE, points, G_N_ELEMENTS (points));
  for (gint i = 0; i < 15; i++) {
    in[i] = random_frame (&info, (guint) i, 0);
    GST_BUFFER_PTS (in[i]) = (GstClockTime) i * GST_SECOND / 10;
    if (i == 8 && __i__ / 2)
      set_value (element, "temporal-center", "false");
    push_ok (h, gst_buffer_ref (in[i]));
  }
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  for (gint i = 0; i < 15; i++) {
    GstBuffer *out = pull (h);
    const gboolean passes = out == in[i];

    fail_unless_equals_uint64 (GST_BUFFER_PTS (out), GST_BUFFER_PTS (in[i]));
    fail_unless (passes == ((i >= 4 && i < 8) || i == 13), "frame %d %s", i, passes ? "passes" : "is filtered");
    gst_buffer_unref (out);
    gst_buffer_unref (in[i]);
  }
  close_harness (h, 15);
}
GST_END_TEST

GST_START_TEST (late_settings_are_said)
{
  GstHarness *h = new_harness (new_element (NULL));
  GstMessage *m;
  gint count;

  for (count = 0; count < 2; count++)
    g_object_set (h->element, "frames-in-flight", 3, NULL);
  for (count = 0; (m = pop_message (h->element, GST_MESSAGE_WARNING)); count++)
    gst_message_unref (m);
  fail_unless_equals_int (count, 1);
  free_harness (h);
}
GST_END_TEST

/* Values that are accepted and can hardly be meant: one warning each, when the frame's size is known. */
GST_START_TEST (advice_is_given_once)
{
  static const struct {
    const gchar *element, *values[4], *words;
  } cases[] = {
    { "cudaconvolve", { "preset", "emboss", "angle", "37" }, "angle=37 is taken as 45" },
    { "cudaconvolve", { "preset", "emboss", "angle", "90" }, NULL },
    { "cudaconvolve", { "kernel", "0,5 1 0,5", "divisor", "0" }, "kernel has both" },
    { "cudaconvolve", { "kernel", "0.5, 1, 0.5; 1,2,3; 3 4 5", "divisor", "0" }, NULL },
    { "cudairfilter", { "numerator", "0,1 0; 0 0 0; 0 0 0", "denominator", "0 0.2; 0 0" }, "numerator has both" },
    { "cudasegment", { "seeds", "1,1;16,3", "output", "labels" }, "point 2 of seeds, 16,3, is outside" },
    { "cudamedian", { "temporal-method", "running", "threshold", "5" }, "threshold has no effect with" },
    { "cudamedian", { "temporal-method", "running", "zones", "door: 0,0 1,0 1,1" }, "zones has no effect without" },
    { "cudamedian", { "motion-meta", "true", "min-age", "3" }, "motion-meta has no effect without" },
    { "cudamedian", { "temporal-method", "running", "min-age", "3" }, "min-age has no effect without" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++) {
    const gchar *const *v = cases[i].values;
    GstHarness *h = new_harness (new_element_of (cases[i].element, v[0], v[1], v[2], v[3], NULL));
    GstVideoInfo info;

    set_caps (h, video_caps ("GRAY8", 16, 16, NULL), &info);
    set_value (h->element, "apply-to", "all"); /* checks all properties again */
    gst_buffer_unref (gst_harness_push_and_pull (h, random_frame (&info, 0, 0)));
    if (cases[i].words) {
      gchar *text = only_message (h->element, GST_MESSAGE_WARNING, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);

      fail_unless (strstr (text, cases[i].words) != NULL, "%s", text);
      g_free (text);
    } else {
      fail_unless (pop_message (h->element, GST_MESSAGE_WARNING) == NULL, "%s", v[1]);
    }
    close_harness (h, 1);
  }
}
GST_END_TEST

/* ---- regions ------------------------------------------------------------ */

/* region-meta is switched off while a frame that came in with it is pending. */
GST_START_TEST (reports_belong_to_the_frame)
{
  GstHarness *h = new_harness (new_segment ("region-meta", "true", "frames-in-flight", "2", NULL));
  GstVideoInfo info;
  Gate gate;

  set_caps (h, video_caps ("GRAY8", 64, 64, NULL), &info);
  gate_new (&gate, h, TRUE);
  for (guint i = 0; i < 2; i++) /* the first one waits at the gate, the second one to be finished */
    fail_unless_equals_int (gst_harness_push (h, random_frame (&info, i, 1)), GST_FLOW_OK);
  fail_unless_equals_int (wait_for (&gate, &gate.waiting, 1, WAIT_US), 1);
  set_value (h->element, "region-meta", "false");
  gate_set (&gate, FALSE, GST_FLOW_OK);
  for (gint i = 0; i < 2; i++) {
    GstBuffer *out = gst_harness_pull (h);

    fail_unless (gst_buffer_get_meta (out, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE) != NULL,
        "frame %d has no regions", i);
    gst_buffer_unref (out);
  }
  close_harness (h, 2);
}
GST_END_TEST

/* Reads all properties of the element that posts a message, and sets one. Notes the message's type. */
static GstBusSyncReply
use_element (GstBus *bus, GstMessage *message, gpointer types)
{
  GObject *element = G_OBJECT (GST_MESSAGE_SRC (message));
  GParamSpec **specs;
  guint n;

  (void) bus;
  if (!GST_IS_BASE_TRANSFORM (element))
    return GST_BUS_PASS;
  specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);
  for (guint i = 0; i < n; i++) {
    GValue value = G_VALUE_INIT;

    if (!(specs[i]->flags & G_PARAM_READABLE))
      continue;
    g_value_init (&value, specs[i]->value_type);
    g_object_get_property (element, specs[i]->name, &value);
    g_value_unset (&value);
  }
  g_free (specs);
  set_value (GST_ELEMENT (element), "roi-grow", "0");
  gst_caps_unref (gst_pad_query_caps (GST_BASE_TRANSFORM_SINK_PAD (element), NULL));
  *(guint *) types |= (guint) GST_MESSAGE_TYPE (message);
  return GST_BUS_PASS;
}

/* An application uses the element in the thread that posts a message: no lock is held meanwhile. */
GST_START_TEST (messages_hold_no_lock)
{
  const gchar *const motion[] = { "temporal-method", "running", "motion-meta", "true" };
  GstElement *element = new_element_of (__i__ < 2 ? "cudamedian" : "cudasegment", "frames-in-flight",
      __i__ % 2 ? "3" : "1", "roi-meta", "true", __i__ < 2 ? motion[0] : "events", __i__ < 2 ? motion[1] : "true",
      __i__ < 2 ? motion[2] : "message-interval", __i__ < 2 ? motion[3] : "1", NULL);
  GstHarness *h = new_harness (element);
  GstBus *bus = gst_element_get_bus (element);
  GstVideoInfo info;
  guint types = 0;

  gst_bus_set_sync_handler (bus, use_element, &types, NULL);
  gst_harness_set_drop_buffers (h, TRUE);
  for (gint size = 64; size <= 96; size += 32) {
    set_caps (h, video_caps ("NV12", size, size, NULL), &info);
    for (guint i = 0; i < 6; i++) {
      GstBuffer *in = random_frame (&info, 0, 0);

      for (gsize y = 0; i > 1 && y < 16; y++) /* moves for four frames */
        gst_buffer_memset (in, y * (gsize) size, 255, 16);
      GST_BUFFER_PTS (in) = i * GST_SECOND;
      if (i == 3) /* refused, with a warning */
        set_value (element, "roi", "nowhere");
      fail_unless_equals_int (gst_harness_push (h, in), GST_FLOW_OK);
    }
  }
  gst_harness_push (h, gst_buffer_new_allocate (NULL, 3, NULL));
  gst_harness_push_event (h, gst_event_new_eos ());
  fail_unless_equals_int (types & (GST_MESSAGE_WARNING | GST_MESSAGE_ERROR | GST_MESSAGE_ELEMENT | GST_MESSAGE_LATENCY),
      GST_MESSAGE_WARNING | GST_MESSAGE_ERROR | GST_MESSAGE_ELEMENT | (__i__ % 2 ? GST_MESSAGE_LATENCY : 0));
  gst_bus_set_sync_handler (bus, NULL, NULL, NULL);
  gst_object_unref (bus);
  free_harness (h);
}
GST_END_TEST

/* Leaves the process that many bytes of new memory (RLIM_INFINITY: all). */
static void
limit_memory (rlim_t bytes)
{
  struct rlimit limit;
  gchar *text = NULL;
  gulong pages = 0;

  fail_unless (g_file_get_contents ("/proc/self/statm", &text, NULL, NULL) && sscanf (text, "%lu", &pages) == 1);
  g_free (text);
  fail_unless (getrlimit (RLIMIT_AS, &limit) == 0);
  limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : pages * (rlim_t) getpagesize () + bytes;
  fail_unless (setrlimit (RLIMIT_AS, &limit) == 0);
}

/* Caps for which there is no memory: one error, and no frame after it, even if memory comes back. */
GST_START_TEST (no_memory_for_caps)
{
  GstHarness *h = new_harness (new_segment ("cell-size", "1", NULL));
  GstCaps *caps = video_caps ("GRAY8", 8000, 8000, NULL);

  gst_harness_set_src_caps (h, video_caps ("GRAY8", 16, 16, NULL));
  limit_memory (64 << 20);
  for (gint i = 0; i < 5; i++) {
    if (i == 3)
      limit_memory (RLIM_INFINITY);
    gst_harness_push_event (h, gst_event_new_caps (caps));
    fail_if (gst_harness_push (h, gst_buffer_new ()) == GST_FLOW_OK);
  }
  g_free (only_message (h->element, GST_MESSAGE_ERROR, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT));
  gst_caps_unref (caps);
  free_harness (h);
}
GST_END_TEST

/* Without memory for the label map: an error in words. RLIMIT_AS leaves less than a map's size. */
GST_START_TEST (no_memory_for_labels)
{
  GstHarness *h = new_harness (new_segment ("label-meta", "true", "output", "passthrough", NULL));
  gchar *text = NULL;
  GstBuffer *in[2], *out;
  GstVideoInfo info;

  set_caps (h, video_caps ("GRAY8", 4000, 4000, NULL), &info);
  in[0] = gst_harness_create_buffer (h, GST_VIDEO_INFO_SIZE (&info));
  in[1] = gst_harness_create_buffer (h, GST_VIDEO_INFO_SIZE (&info));
  gst_buffer_memset (in[0], 0, 0, GST_VIDEO_INFO_SIZE (&info));
  gst_buffer_memset (in[1], 0, 0, GST_VIDEO_INFO_SIZE (&info));
  out = gst_harness_push_and_pull (h, in[0]); /* holds the first map */
  limit_memory (8 << 20);
  fail_unless_equals_int (gst_harness_push (h, in[1]), GST_FLOW_ERROR);
  text = only_message (h->element, GST_MESSAGE_ERROR, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT);
  fail_unless (strstr (text, "4000 x 4000") != NULL, "%s", text);
  g_free (text);
  gst_buffer_unref (out);
  free_harness (h);
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("life");

  tcase_add_loop_test (tests, data_while_starting, 0, 2 * G_N_ELEMENTS (elements));
  tcase_add_test (tests, last_frames_refused);
  tcase_add_test (tests, caps_refused_once);
  tcase_add_test (tests, caps_say_why);
  tcase_add_test (tests, foreign_pool_is_not_flushed);
  tcase_add_loop_test (tests, animated_size_is_odd, 0, 2);
  tcase_add_test (tests, animated_nonsense_warns_once);
  tcase_add_test (tests, animation_follows_stream_time);
  tcase_add_loop_test (tests, animation_of_frames_that_wait, 0, 4);
  tcase_add_test (tests, late_settings_are_said);
  tcase_add_test (tests, advice_is_given_once);
  tcase_add_test (tests, reports_belong_to_the_frame);
  tcase_add_loop_test (tests, messages_hold_no_lock, 0, 4);
  if (!on_gpu () && !g_getenv ("ASAN_OPTIONS")) {
    tcase_add_test (tests, no_memory_for_labels);
    tcase_add_test (tests, no_memory_for_caps);
  }
  return run_suite (argc, argv, "life", tests, FALSE);
}
