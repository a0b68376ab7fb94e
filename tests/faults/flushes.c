/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * flushes.c: elements that are flushed or stopped while a frame waits for the GPU: every wait ends at once, or soon,
 * and what the GPU may still use is neither freed nor used again. */
#include "onefilter.h"
#include "gstcfcuda.h"
#include "gstcudamedian.h"
#include "transfer/chain.h"
#include "transfer/linkslots.h"

static gint n_pushed; /* atomic */

static gpointer
push_one (gpointer user)
{
  GstFlowReturn flow = push_frames (user, 1);

  g_atomic_int_inc (&n_pushed);
  return GINT_TO_POINTER (flow);
}

/* Pushes a frame in a thread. Returns when it waits for a slot, or was not made to wait. */
static GThread *
push_waiting (Filter *f, GstCfLinkSlots *slots)
{
  GThread *thread;

  g_atomic_int_set (&n_pushed, 0);
  thread = g_thread_new ("pusher", push_one, f);
  while (gst_cf_link_slots_waiting (slots) == 0 && g_atomic_int_get (&n_pushed) == 0)
    g_thread_yield ();
  return thread;
}

/* A frame that waits for those of other elements goes at once when its element is flushed or stopped, which is no
 * failure. */
static void
flushed (gboolean by_stop)
{
  guint slot[GST_CF_LINK_SLOTS];
  const gint never = FALSE;
  CfStatus status = { 0 };
  GstCfLinkSlots *slots;
  GThread *thread;
  gboolean alone;
  Filter f;

  fake_arm (-1, 0, false);
  start (&f, "auto", -1, 1);
  push_frames (&f, 1);
  slots = gst_cf_link_slots_open (gst_cf_filter_context (GST_CF_FILTER (f.element)));
  for (int i = 0; i < GST_CF_LINK_SLOTS; i++)
    faults_check (gst_cf_link_slots_take (slots, &never, SECOND, &slot[i], &alone, &status) == CF_OK, "no slot");
  thread = push_waiting (&f, slots);
  if (by_stop)
    gst_element_set_state (f.element, GST_STATE_READY);
  else
    gst_pad_push_event (f.src, gst_event_new_flush_start ());
  faults_check ((GstFlowReturn) GPOINTER_TO_INT (g_thread_join (thread)) == GST_FLOW_FLUSHING,
      "a frame that was flushed is not refused as such");
  f.sent--;
  if (!by_stop) {
    gst_pad_push_event (f.src, gst_event_new_flush_stop (TRUE));
    faults_push_segment (f.src);
    thread = push_waiting (&f, slots);
  }
  for (int i = 0; i < GST_CF_LINK_SLOTS; i++)
    gst_cf_link_slots_release (slots, slot[i]);
  if (!by_stop)
    faults_check (g_thread_join (thread) == GINT_TO_POINTER (GST_FLOW_OK) && on_gpu (&f) == 2,
        "no frame after a flush");
  faults_check (stat_of (f.element, "frames-fallback") == 0, "a flush counts as a failure");
  gst_cf_link_slots_close (slots);
  stop (&f, 0, 0, NULL);
  check_calls ();
}

static GQueue kept = G_QUEUE_INIT;   /* frames downstream: an unfinished one that is let go is waited for */
static GQueue copies = G_QUEUE_INIT; /* of their bytes, as they came */

static GstFlowReturn
keep (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  Filter *f = gst_pad_get_element_private (pad);

  (void) parent;
  f->came++;
  f->right++; /* looked at later */
  g_queue_push_tail (&kept, buffer);
  g_queue_push_tail (&copies, gst_buffer_copy_deep (buffer));
  return GST_FLOW_OK;
}

static void
let_go (void)
{
  g_queue_clear_full (&kept, (GDestroyNotify) gst_buffer_unref);
  g_queue_clear_full (&copies, (GDestroyNotify) gst_buffer_unref);
}

/* The GPU goes on, and writes no frame that has come since. */
static void
expect_untouched (Filter *f)
{
  gst_pad_set_chain_function (f->sink, keep);
  push_frames (f, 6);
  drain (f);
  faults_check (fake.blocked == 0, "a call that may block, on a GPU that hangs");
  fake_settle ();
  for (GList *a = kept.head, *b = copies.head; a; a = a->next, b = b->next) {
    GstMapInfo map;

    gst_buffer_map (b->data, &map, GST_MAP_READ);
    faults_check (gst_buffer_memcmp (a->data, 0, map.data, map.size) == 0, "the GPU writes a frame that was flushed");
    gst_buffer_unmap (b->data, &map);
  }
  let_go ();
}

/* A frame that waits for the GPU ends soon when its element is flushed or stopped, which is no failure of the stream.
 * If the GPU goes on, it is used again after the flush. Otherwise elements that start, or go on, find it out. */
static void
cut_short (gint in_flight, gboolean by_stop, gboolean hangs, gboolean in_cuda)
{
  CfGpuState state;
  Filter f, next;
  GThread *thread;

  fake_cuda_memory = in_cuda;
  fake_arm (-1, 0, false);
  if (in_cuda) {
    open_filter (&f, "auto", -1, in_flight);
    begin_stream (&f, "(memory:CUDAMemory)");
    f.pool = open_pool (gst_cf_filter_context (GST_CF_FILTER (f.element)));
  } else {
    start (&f, "auto", -1, in_flight);
  }
  push_frames (&f, 2);
  faults_check (on_gpu (&f) == 2, "frames not on the GPU");
  fake_wait_for_hurry ();
  thread = g_thread_new ("pusher", push_one, &f);
  fake_await_wait ();
  if (by_stop)
    gst_element_set_state (f.element, GST_STATE_READY);
  else
    gst_pad_push_event (f.src, gst_event_new_flush_start ());
  faults_check (GPOINTER_TO_INT (g_thread_join (thread)) == (in_flight == 1 ? GST_FLOW_FLUSHING : GST_FLOW_OK),
      "a frame that was flushed is not refused as such");
  f.sent--;
  if (!by_stop)
    gst_pad_push_event (f.src, gst_event_new_flush_stop (TRUE));
  state = cf_gpu_state ();
  faults_check ((state.doubt | state.hung) == 1, "a wait that was cut short leaves no doubt");
  faults_check (stat_of (f.element, "frames-fallback") == 0 && stat_of (f.element, "abandoned") > 0,
      "a frame that was flushed is filtered, or what the GPU may use is not given up");
  if (!hangs) {
    faults_check (fake.blocked == 0, "a call that may block, on a GPU that hangs");
    fake_settle ();
  }
  if (!by_stop) {
    faults_push_segment (f.src);
    push_frames (&f, 2);
    faults_check (on_gpu (&f) == (hangs ? 2 : 4), "the GPU is not used again after a flush, or although it hangs");
  }
  start (&next, "auto", -1, in_flight);
  push_frames (&next, 2);
  faults_check (on_gpu (&next) == (hangs ? 0 : 2), "a GPU is not used, or although it hangs");
  if (hangs && !by_stop && !in_cuda)
    expect_untouched (&f);
  stop (&next, 0, hangs, "hangs");
  if (f.pool)
    gst_buffer_pool_set_active (f.pool, FALSE);
  gst_clear_object (&f.pool);
  stop (&f, 0, hangs && !by_stop, "hangs");
  faults_check (fake_frees_blocked == 0, "CUDA memory is freed while the GPU may use it");
  check_calls ();
  fake_cuda_memory = false;
}

/* Takes CUDA memory, and frames that the GPU has not finished. */
static gboolean
take_unfinished (GstPad *pad, GstObject *parent, GstQuery *query)
{
  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return accept_cuda (pad, parent, query);
  gst_query_add_allocation_meta (query, GST_CF_CHAIN_API, NULL);
  return TRUE;
}

static gpointer
push_new_caps (gpointer user)
{
  push_caps (user, "(memory:CUDAMemory)", 50);
  return NULL;
}

static gint n_stopping; /* atomic: lines of the log that say why a stop did not wait for the GPU */

static void
count_stopping (GstDebugCategory *category, GstDebugLevel level, const gchar *file, const gchar *function, gint line,
    GObject *object, GstDebugMessage *message, gpointer user)
{
  (void) category;
  (void) file;
  (void) function;
  (void) line;
  (void) object;
  (void) user;
  if (level == GST_LEVEL_WARNING && g_str_has_prefix (gst_debug_message_get (message), "stopping: "))
    g_atomic_int_inc (&n_stopping);
}

/* Frames have left before the GPU has finished them, and what comes next waits for them: new caps, or the stop. */
static void
cut_short_after (gboolean by_stop)
{
  GThread *thread = NULL;
  Filter f;

  g_atomic_int_set (&n_stopping, 0);
  fake_cuda_memory = true;
  fake_arm (-1, 0, false);
  open_filter (&f, "auto", -1, 1);
  gst_pad_set_query_function (f.sink, take_unfinished);
  gst_pad_set_chain_function (f.sink, keep);
  begin_stream (&f, "(memory:CUDAMemory)");
  f.pool = open_pool (gst_cf_filter_context (GST_CF_FILTER (f.element)));
  push_frames (&f, 3);
  faults_check (stat_of (f.element, "frames-gpu") == 3, "frames not on the GPU");
  fake_wait_for_hurry ();
  if (by_stop) {
    gst_element_set_state (f.element, GST_STATE_READY);
  } else {
    thread = g_thread_new ("caps", push_new_caps, &f);
    fake_await_wait ();
    gst_pad_push_event (f.src, gst_event_new_flush_start ());
    g_thread_join (thread);
    gst_pad_push_event (f.src, gst_event_new_flush_stop (TRUE));
  }
  faults_check (fake.blocked == 0 && stat_of (f.element, "abandoned") > 0, "what the GPU may use is not given up");
  fake_settle ();
  if (!by_stop) {
    push_caps (&f, "(memory:CUDAMemory)", 50);
    faults_push_segment (f.src);
    push_frames (&f, 2);
    faults_check (stat_of (f.element, "frames-gpu") == 5, "the GPU is not used again after a flush");
  }
  let_go ();
  gst_buffer_pool_set_active (f.pool, FALSE);
  gst_clear_object (&f.pool);
  stop (&f, 0, 0, NULL);
  faults_check (g_atomic_int_get (&n_stopping) == by_stop, "the log does not say of a GPU in doubt, or of another one");
  faults_check (fake_frees_blocked == 0, "CUDA memory is freed while the GPU may use it");
  check_calls ();
  fake_cuda_memory = false;
}

/* ---- a frame that passes ------------------------------------------------------ */

static int
count_waits (void)
{
  int n = 0;

  for (int i = 0; i < MIN (fake.calls, FAKE_MAX_CALLS); i++)
    n += fake.kind[i] == FAKE_WAIT;
  return n;
}

/* Has the element decide what becomes of a frame before that comes to it. */
static GstPadProbeReturn
ask (GstPad *pad, GstPadProbeInfo *info, gpointer user)
{
  GstBaseTransform *second = GST_BASE_TRANSFORM (GST_PAD_PARENT (pad));
  const int waits = fake_own_waits ();
  GstBuffer *out = NULL;

  GST_BASE_TRANSFORM_GET_CLASS (second)->prepare_output_buffer (second, GST_PAD_PROBE_INFO_BUFFER (info), &out);
  faults_check (out == GST_PAD_PROBE_INFO_BUFFER (info), "a frame does not pass");
  faults_check (fake_own_waits () == waits, "a question waits for the GPU");
  ++*(int *) user;
  return GST_PAD_PROBE_OK;
}

/* A frame comes to an element unfinished, and passes to where it has to be finished. The element waits for it where it
 * waits for frames: not before it has decided that the frame passes, and with frames in flight not in the thread that
 * submits them. A flush ends the wait. A GPU that hangs, or is lost, ends the stream. */
static void
passing (gint in_flight, int error)
{
  GstElement *second = gst_object_ref_sink (g_object_new (gst_cuda_median_get_type (), "enabled", FALSE, NULL));
  GstPad *in = gst_element_get_static_pad (second, "sink"), *out = gst_element_get_static_pad (second, "src"), *first;
  int asked = 0, errors = 0, warnings = 0;
  GThread *thread;
  GstFlowReturn flow;
  GstBus *bus = gst_bus_new ();
  Filter f;

  fake_cuda_memory = true;
  fake_arm (-1, 0, false);
  open_filter (&f, "auto", -1, 1);
  gst_pad_set_query_function (f.sink, accept_cuda);
  first = gst_pad_get_peer (f.sink);
  gst_pad_unlink (first, f.sink);
  gst_element_set_bus (second, bus);
  g_object_set (second, "frames-in-flight", in_flight, NULL);
  gst_pad_link_full (first, in, GST_PAD_LINK_CHECK_NOTHING);
  gst_pad_link_full (out, f.sink, GST_PAD_LINK_CHECK_NOTHING);
  gst_element_set_state (second, GST_STATE_PLAYING);
  begin_stream (&f, "(memory:CUDAMemory)");
  f.pool = open_pool (gst_cf_filter_context (GST_CF_FILTER (f.element)));
  push_frames (&f, 1);
  gst_pad_add_probe (in, GST_PAD_PROBE_TYPE_BUFFER, ask, &asked, NULL);
  push_frames (&f, 3);
  drain (&f);
  faults_check (asked == 3 && stat_of (second, "frames-passed") == 4 && f.came == 4, "frames do not pass");
  faults_check (count_waits () >= (in_flight == 1 ? 4 : 1) && f.right == 4, "frames leave unfinished");
  if (error) {
    fake_fail_next (FAKE_WAIT, error, error > 0);
    flow = push_frames (&f, 1);
    drain (&f);
    faults_check (in_flight > 1 || flow == GST_FLOW_ERROR, "a frame that cannot be read passes");
    f.sent--;
  } else {
    fake_wait_for_hurry ();
    thread = g_thread_new ("pusher", push_one, &f);
    fake_await_wait ();
    gst_pad_push_event (f.src, gst_event_new_flush_start ());
    flow = GPOINTER_TO_INT (g_thread_join (thread));
    faults_check (flow == (in_flight == 1 ? GST_FLOW_FLUSHING : GST_FLOW_OK), "a flush does not end the wait");
    f.sent--;
    gst_pad_push_event (f.src, gst_event_new_flush_stop (TRUE));
    fake_settle ();
    faults_push_segment (f.src);
    push_frames (&f, 2);
    drain (&f);
    faults_check (f.came == 6, "no frame after a flush");
  }
  gst_buffer_pool_set_active (f.pool, FALSE);
  gst_clear_object (&f.pool);
  gst_element_set_state (second, GST_STATE_NULL);
  faults_count_messages (bus, &errors, &warnings);
  faults_check (errors == (error != 0) && warnings == 0, "not one error, or a message without one");
  stop (&f, 0, 0, NULL);
  gst_element_set_bus (second, NULL);
  gst_object_unref (bus);
  gst_object_unref (first);
  gst_object_unref (in);
  gst_object_unref (out);
  gst_object_unref (second);
  check_calls ();
  fake_cuda_memory = false;
}

int
main (void)
{
  faults_start ();
  fake_arm (-1, 0, false);
  fake_cuda_memory = true; /* for the pad templates, which are made now */
  learn ();
  fake_cuda_memory = false;
  flushed (FALSE);
  flushed (TRUE);
  for (int in_flight = 1; in_flight <= 3; in_flight += 2)
    for (int i = 0; i < 6; i++)
      cut_short (in_flight, i & 1, i >> 1 == 1, i >> 1 == 2);
  gst_debug_remove_log_function (gst_debug_log_default);
  gst_debug_add_log_function (count_stopping, NULL, NULL);
  gst_debug_set_default_threshold (GST_LEVEL_WARNING);
  cut_short_after (FALSE);
  cut_short_after (TRUE);
  for (int in_flight = 1; in_flight <= 3; in_flight += 2) {
    passing (in_flight, 0);
    passing (in_flight, FAKE_TIMEOUT);
    passing (in_flight, 700);
  }
  fake_arm (-1, 0, false);
  return faults_end ();
}
