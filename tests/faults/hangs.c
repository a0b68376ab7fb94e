/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * hangs.c: elements on GPUs that hang, are slow, or cannot be had. After a hang no element makes a call on that GPU
 * that may block, whatever it does next: start, filter, change, stop. Another GPU is not affected, and one that goes
 * on is used again by new elements. Each frame has the bytes of the CPU backend, and a message says why the CPU
 * filters. */
#include "elements/stats.h"
#include "common.h"
#include "fake.h"
#include "gstcfcuda.h"
#include "gstcffilter-private.h"
#include "gstcudamedian.h"

#include <stdio.h>
#include <string.h>

#define WIDTH 8
#define HEIGHT 16
#define CAPS "video/x-raw%s,format=I420,width=8,height=16,framerate=%d/1"
#define SIZE (WIDTH * HEIGHT * 3 / 2)
#define CONTENTS 4 /* different frames */
#define SECOND G_GUINT64_CONSTANT (1000000000)

typedef struct {
  GstElement *element;
  GstPad *src, *sink; /* of the neighbours */
  GstBus *bus;
  gboolean started;
  int size; /* kernel-size */
  int sent, came, right;
} Filter;

static guint8 expected[2][CONTENTS][SIZE]; /* kernel-size 3 and 5 */
static gboolean learning;

/* ---- an element ----------------------------------------------------------- */

static GstFlowReturn
take (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  Filter *f = gst_pad_get_element_private (pad);
  guint8 *right = expected[f->size == 5][GST_BUFFER_OFFSET (buffer) % CONTENTS];

  (void) parent;
  if (learning)
    gst_buffer_extract (buffer, 0, right, SIZE);
  f->came++;
  f->right += gst_buffer_get_size (buffer) == SIZE && gst_buffer_memcmp (buffer, 0, right, SIZE) == 0;
  gst_buffer_unref (buffer);
  return GST_FLOW_OK;
}

static void
push_caps (Filter *f, const gchar *feature, int rate)
{
  gchar *text = g_strdup_printf (CAPS, feature, rate);
  GstCaps *caps = gst_caps_from_string (text);

  gst_pad_push_event (f->src, gst_event_new_caps (caps));
  gst_caps_unref (caps);
  g_free (text);
}

static void
open_filter (Filter *f, const gchar *backend, gint device, gint in_flight)
{
  memset (f, 0, sizeof *f);
  f->size = 3;
  f->element = gst_object_ref_sink (g_object_new (gst_cuda_median_get_type (), NULL));
  f->bus = gst_bus_new ();
  gst_element_set_bus (f->element, f->bus);
  gst_util_set_object_arg (G_OBJECT (f->element), "backend", backend);
  g_object_set (f->element, "cuda-device-id", device, "frames-in-flight", in_flight, NULL);
  faults_link (f->element, &f->src, &f->sink, take, f);
  GST_PAD_SET_ACCEPT_TEMPLATE (f->sink); /* any caps: it has none */
  f->started = gst_element_set_state (f->element, GST_STATE_PLAYING) == GST_STATE_CHANGE_SUCCESS;
}

static void
begin_stream (Filter *f, const gchar *feature)
{
  gst_pad_push_event (f->src, gst_event_new_stream_start ("hangs"));
  push_caps (f, feature, 25);
  faults_push_segment (f->src);
}

static void
fill (GstBuffer *buffer, int frame)
{
  guint32 noise = (guint32) (frame % CONTENTS) * 2654435761u + 1;
  guint8 bytes[SIZE];

  for (gsize i = 0; i < SIZE; i++) {
    noise = noise * 1664525u + 1013904223u;
    bytes[i] = (guint8) (noise >> 24);
  }
  gst_buffer_fill (buffer, 0, bytes, SIZE);
  GST_BUFFER_OFFSET (buffer) = (guint64) frame;
  GST_BUFFER_PTS (buffer) = (GstClockTime) frame * 40 * GST_MSECOND;
  GST_BUFFER_DURATION (buffer) = 40 * GST_MSECOND;
}

/* Returns a pool of CUDA memory. */
static GstBufferPool *
open_pool (GstObject *context)
{
  GstBufferPool *pool = fake_pool_new (context, NULL);
  GstCaps *caps = gst_caps_from_string ("video/x-raw(memory:CUDAMemory),format=I420,width=8,height=16");
  GstStructure *config = gst_buffer_pool_get_config (pool);

  gst_buffer_pool_config_set_params (config, caps, SIZE, 0, 0);
  faults_check (gst_buffer_pool_set_config (pool, config) && gst_buffer_pool_set_active (pool, TRUE), "no pool");
  gst_caps_unref (caps);
  return pool;
}

static GstBuffer *
frame_from (Filter *f, GstBufferPool *pool)
{
  GstBuffer *buffer = NULL;

  faults_check (gst_buffer_pool_acquire_buffer (pool, &buffer, NULL) == GST_FLOW_OK, "no buffer");
  fill (buffer, f->sent++);
  return buffer;
}

static GstFlowReturn
push_frames (Filter *f, int n)
{
  GstFlowReturn flow = GST_FLOW_OK;

  for (int i = 0; i < n && flow == GST_FLOW_OK; i++) {
    GstBuffer *buffer = gst_buffer_new_allocate (NULL, SIZE, NULL);

    fill (buffer, f->sent++);
    flow = gst_pad_push (f->src, buffer);
  }
  return flow;
}

/* Waits for the frames under way. */
static void
drain (Filter *f)
{
  gst_pad_push_event (f->src, gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM, NULL));
}

static guint64
on_gpu (Filter *f)
{
  drain (f);
  return stat_of (f->element, "frames-gpu");
}

static void
set_size (Filter *f, int size)
{
  drain (f);
  f->size = size;
  g_object_set (f->element, "kernel-size", size, NULL);
}

static void
start (Filter *f, const gchar *backend, gint device, gint in_flight)
{
  open_filter (f, backend, device, in_flight);
  faults_check (f->started, "an element does not start");
  begin_stream (f, "");
}

/* Stops the element. Checks the frames, and the messages: how many, and that the first one contains `text`. */
static void
stop (Filter *f, int errors, int warnings, const gchar *text)
{
  int n_errors = 0, n_warnings = 0;
  GError *error = NULL;
  GstMessage *message;

  if (GST_STATE (f->element) == GST_STATE_PLAYING)
    drain (f);
  gst_element_set_state (f->element, GST_STATE_NULL);
  message = gst_bus_pop_filtered (f->bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  if (message) {
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
      gst_message_parse_error (message, &error, NULL);
    else
      gst_message_parse_warning (message, &error, NULL);
    n_errors = GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR;
    n_warnings = !n_errors;
    if (!text || !strstr (error->message, text))
      printf ("a message: %s\n", error->message);
    faults_check (text && strstr (error->message, text), "a message does not say what is wrong");
    g_error_free (error);
    gst_message_unref (message);
  }
  faults_count_messages (f->bus, &n_errors, &n_warnings);
  faults_check (n_errors == errors && n_warnings == warnings, "too many messages, or too few");
  if (f->right != f->came || (f->started && f->came != f->sent))
    printf ("%d sent, %d came, %d right\n", f->sent, f->came, f->right);
  faults_check (f->right == f->came && (!f->started || f->came == f->sent), "a frame is missing or has wrong bytes");
  gst_pad_set_active (f->src, FALSE);
  gst_pad_set_active (f->sink, FALSE);
  gst_element_set_bus (f->element, NULL);
  gst_object_unref (f->element);
  gst_object_unref (f->src);
  gst_object_unref (f->sink);
  gst_object_unref (f->bus);
}

static void
check_calls (void)
{
  faults_check (fake.blocked == 0, "a call that may block, on a GPU that hangs");
  faults_check (fake.after == 0 && fake.misuse == 0 && fake.pushed == 0, "a call on a lost GPU, or a wrong one");
  fake_settle ();
}

/* A frame of the element hangs; it is filtered on the CPU. */
static void
hang (Filter *f)
{
  fake_fail_next (FAKE_WAIT, FAKE_TIMEOUT, false);
  faults_check (push_frames (f, 1) == GST_FLOW_OK, "a frame that hangs ends the stream");
  drain (f);
  faults_check (cf_gpu_state ().hung != 0 && stat_of (f->element, "frames-fallback") >= 1, "no hang");
}

/* ---- hangs ----------------------------------------------------------------- */

/* Elements that start while the GPU hangs, and after. */
static void
start_later (gint in_flight)
{
  Filter first, second, strict, last;
  int calls;

  fake_arm (-1, 0, false);
  start (&first, "auto", -1, in_flight);
  push_frames (&first, 3);
  faults_check (on_gpu (&first) == 3, "frames not on the GPU");
  hang (&first);
  calls = fake.calls;
  start (&second, "auto", -1, in_flight);
  push_frames (&second, 3);
  faults_check (on_gpu (&second) == 0 && second.came == 3, "an element starts on a GPU that hangs");
  for (int i = calls; i < fake.calls; i++)
    faults_check (fake.kind[i] == FAKE_COUNT, "an element calls a GPU that hangs");
  open_filter (&strict, "cuda", -1, in_flight);
  faults_check (!strict.started, "backend=cuda starts on a GPU that hangs");
  stop (&strict, 1, 0, "GPU 0 hangs");
  set_size (&second, 5);
  push_frames (&second, 1);
  stop (&second, 0, 1, "GPU 0 hangs");
  set_size (&first, 5);
  push_frames (&first, 1);
  push_caps (&first, "", 50);
  push_frames (&first, 1);
  faults_check (stat_of (first.element, "abandoned") > 0, "what a hung GPU may use is not counted");
  stop (&first, 0, 1, "did not finish a frame");
  check_calls ();
  start (&last, "auto", -1, in_flight);
  push_frames (&last, 2);
  faults_check (on_gpu (&last) == 2 && cf_gpu_state ().hung == 0, "a GPU that goes on is not used again");
  stop (&last, 0, 0, NULL);
  check_calls ();
}

/* What an element does first while another one hangs the GPU that both use. */
static void
already_there (int what, gint in_flight)
{
  Filter first, other;

  fake_arm (-1, 0, false);
  start (&first, "auto", -1, 1);
  start (&other, "auto", -1, in_flight);
  push_frames (&first, 1);
  push_frames (&other, 2);
  faults_check (on_gpu (&other) == 2, "frames not on the GPU");
  hang (&first);
  if (what == 1)
    set_size (&other, 5);
  if (what == 2)
    push_caps (&other, "", 50);
  if (what == 3) {
    gst_pad_push_event (other.src, gst_event_new_flush_start ());
    gst_pad_push_event (other.src, gst_event_new_flush_stop (TRUE));
    faults_push_segment (other.src);
  }
  if (what < 4)
    push_frames (&other, 2);
  drain (&other);
  if (what < 4)
    faults_check (stat_of (other.element, "frames-gpu") == 2, "an element uses a GPU that another one hangs");
  gst_element_set_state (other.element, GST_STATE_READY);
  faults_check (stat_of (other.element, "abandoned") > 0, "what is not freed is not counted");
  stop (&other, 0, what < 4, "the GPU hangs");
  stop (&first, 0, 1, "did not finish a frame");
  faults_check (cf_gpu_state ().hung != 0, "the GPU does not hang any more");
  check_calls ();
}

static void
two_gpus (void)
{
  Filter first, other, third, fourth;

  fake_devices = 2;
  fake_arm (-1, 0, false);
  start (&first, "auto", 0, 1);
  start (&other, "auto", 1, 1);
  push_frames (&other, 1);
  hang (&first);
  faults_check (cf_gpu_state ().hung == 1, "not the first GPU alone hangs");
  push_frames (&other, 3);
  set_size (&other, 5);
  push_frames (&other, 1);
  faults_check (on_gpu (&other) == 5, "a hang on one GPU affects the other one");
  start (&third, "auto", -1, 1);
  push_frames (&third, 2);
  faults_check (on_gpu (&third) == 2, "the GPU that does not hang is not taken");
  start (&fourth, "auto", 0, 1);
  stop (&fourth, 0, 1, "GPU 0 hangs");
  hang (&other);
  faults_check (cf_gpu_state ().hung == 3, "the second hang is not noted with the first");
  push_frames (&third, 1);
  faults_check (on_gpu (&third) == 2, "an element uses a GPU that hangs");
  start (&fourth, "auto", -1, 1);
  push_frames (&fourth, 1);
  faults_check (on_gpu (&fourth) == 0, "an element uses a GPU that hangs");
  stop (&fourth, 0, 1, "hangs");
  stop (&third, 0, 1, "the GPU hangs");
  stop (&other, 0, 1, "did not finish");
  stop (&first, 0, 1, "did not finish");
  check_calls ();
  fake_devices = 1;
}

/* The library without an element: its plans ask, too. */
static void
library (void)
{
  const CfFilter *filter = cf_filter_find ("median");
  const CfVideo video = { CF_FORMAT_GRAY8, WIDTH, HEIGHT, false };
  static guint8 bytes[2][WIDTH * HEIGHT];
  const CfImage in = { .format = CF_FORMAT_GRAY8, .width = WIDTH, .height = HEIGHT, .plane = { { bytes[0], WIDTH } } };
  const CfImage out = { .format = CF_FORMAT_GRAY8, .width = WIDTH, .height = HEIGHT, .plane = { { bytes[1], WIDTH } } };
  gpointer params = cf_params_new (filter);
  CfCommon common = { CF_APPLY_ALL };
  CfStatus status = { 0 };
  CfContext *context;
  CfStream *stream;
  CfPlan *plan;

  fake_arm (-1, 0, false);
  fake_push (0);
  context = cf_context_new (CF_BACKEND_CUDA, &status);
  plan = cf_plan_new (context, filter, &video, &common, params, &status);
  stream = cf_stream_new (NULL, &status);
  faults_check (cf_plan_enqueue (plan, stream, &(CfFrame) { .in = &in, .out = &out }, &status) == CF_OK,
      "no frame on the GPU");
  fake_fail_next (FAKE_WAIT, FAKE_TIMEOUT, false);
  faults_check (cf_stream_wait (stream, SECOND, &status) == CF_TIMEOUT && cf_gpu_state ().hung == 1, "no hang");
  faults_check (cf_plan_enqueue (plan, stream, &(CfFrame) { .in = &in, .out = &out }, &status) == CF_TIMEOUT,
      "a launch");
  faults_check (cf_plan_enqueue (plan, stream, &(CfFrame) { .in = &in }, &status) == CF_TIMEOUT, "a launch");
  faults_check (cf_plan_update (plan, &common, params, &status) == CF_TIMEOUT, "an update");
  faults_check (!cf_plan_new (context, filter, &video, &common, params, &status) && status.code == CF_TIMEOUT &&
          !cf_context_new (CF_BACKEND_CUDA, &status),
      "a plan or a context");
  faults_check (fake.blocked == 0, "a call that may block, on a GPU that hangs");
  fake_settle ();
  faults_check (cf_plan_enqueue (plan, stream, &(CfFrame) { .in = &in, .out = &out }, &status) == CF_OK &&
          cf_stream_wait (stream, SECOND, &status) == CF_OK,
      "a GPU that goes on is not used again");
  cf_plan_free (plan);
  cf_stream_free (stream);
  cf_context_free (context);
  cf_params_free (filter, params);
  fake_pop ();
  check_calls ();
  faults_check (fake.live == 0, "something is left");
}

/* A GPU that is slow, and one that is a little too slow: for the first frame and for later ones. */
static void
slow (gint in_flight)
{
  for (int late = 0; late < 2; late++)
    for (int first = 0; first < 2; first++) {
      const guint64 limit = (first ? 10 : 2) * SECOND;
      Filter f;

      fake_arm (-1, 0, false);
      start (&f, "auto", -1, in_flight);
      if (!first)
        push_frames (&f, 1);
      drain (&f);
      fake_slow (late ? limit + SECOND / 10 : limit - SECOND / 10);
      push_frames (&f, 1);
      faults_check (on_gpu (&f) == (guint64) (!first + !late),
          late ? "no deadline" : "a slow GPU taken for a hung one");
      stop (&f, 0, late, "did not finish a frame");
      check_calls ();
    }
}

/* ---- no hang --------------------------------------------------------------- */

/* Errors when an element starts: the CPU filters, and a message says why. */
static void
errors_at_start (void)
{
  static const struct {
    int code;
    const gchar *says;
  } rows[] = {
    { 3, "could not be initialised" },
    { 35, "older" },
    { 46, "exclusive" },
    { 802, "not ready" },
    { 803, "different versions" },
    { 804, "forward compatibility" },
    { 805, "MPS daemon" },
    { 807, "MPS server" },
    { 808, "room" },
    { 810, "GPU" },
    { 999, "unknown" },
  };
  static const FakeKind kinds[] = { FAKE_COUNT, FAKE_INIT };
  Filter f;

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    for (gsize k = 0; k < G_N_ELEMENTS (kinds); k++) {
      fake_arm (-1, 0, false);
      fake_fail_next (kinds[k], rows[i].code, true);
      start (&f, "auto", -1, 1);
      push_frames (&f, 2);
      faults_check (on_gpu (&f) == 0, "frames on a GPU that cannot be had");
      stop (&f, 0, 1, rows[i].says);
      fake_arm (-1, 0, false);
      fake_fail_next (kinds[k], rows[i].code, true);
      open_filter (&f, "cuda", -1, 1);
      faults_check (!f.started, "backend=cuda starts without a GPU");
      stop (&f, 1, 0, rows[i].says);
      faults_check (fake.contexts == 0 && fake.live == 0, "something is left");
      check_calls ();
    }
  fake_arm (-1, 0, false); /* a host without a GPU is no reason for a warning */
  fake_fail_next (FAKE_COUNT, 100, true);
  start (&f, "auto", -1, 1);
  push_frames (&f, 2);
  stop (&f, 0, 0, NULL);
}

static void
fail_frames (Filter *f, int n)
{
  for (int i = 0; i < n; i++) {
    fake_fail_next (FAKE_LAUNCH, 2, false);
    push_frames (f, 1);
  }
}

/* Three failures and then 10000 good frames, and the failures are forgotten; a fourth soon after is the last. */
static void
forgiveness (void)
{
  Filter f;

  fake_arm (-1, 0, false);
  start (&f, "auto", -1, 1);
  fail_frames (&f, 3);
  push_frames (&f, 10000);
  fail_frames (&f, 3);
  push_frames (&f, 9999);
  faults_check (on_gpu (&f) == 19999, "failures are not forgotten");
  fail_frames (&f, 1);
  push_frames (&f, 10);
  faults_check (on_gpu (&f) == 19999 && stat_of (f.element, "frames-fallback") == 7, "the GPU is tried for ever");
  stop (&f, 0, 1, "not enough memory");
  check_calls ();
}

/* Frames in CUDA memory of another context: the element moves there, and the context that it had is let go. */
static void
adoption (void)
{
  GstBufferPool *pool;
  GstObject *context;
  Filter f;

  fake_cuda_memory = true;
  fake_arm (-1, 0, false);
  open_filter (&f, "auto", -1, 1);
  begin_stream (&f, "(memory:CUDAMemory)");
  context = fake_context_new (0);
  pool = open_pool (context);
  for (int i = 0; i < 4; i++)
    faults_check (gst_pad_push (f.src, frame_from (&f, pool)) == GST_FLOW_OK, "the stream ends");
  faults_check (gst_cf_filter_private (GST_CF_FILTER (f.element))->context == context && on_gpu (&f) == 4,
      "the element does not move to the context of its input");
  faults_check (fake.contexts == 1, "the old context is kept");
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  stop (&f, 0, 0, NULL);
  gst_object_unref (context);
  faults_check (fake.contexts == 0 && fake.live == 0, "a context, memory or a stream is left");
  check_calls ();
  fake_cuda_memory = false;
}

static gboolean
accept_cuda (GstPad *pad, GstObject *parent, GstQuery *query)
{
  GstCaps *caps;

  if (GST_QUERY_TYPE (query) != GST_QUERY_CAPS)
    return gst_pad_query_default (pad, parent, query);
  caps = gst_caps_from_string ("video/x-raw(memory:CUDAMemory)");
  gst_query_set_caps_result (query, caps);
  gst_caps_unref (caps);
  return TRUE;
}

/* An element with frames in CUDA memory of one GPU takes new caps of that memory while another GPU hangs. */
static void
memory_of_other (void)
{
  GstBufferPool *pool;
  Filter first, other;

  fake_devices = 2;
  fake_cuda_memory = true;
  fake_arm (-1, 0, false);
  open_filter (&other, "auto", 1, 1);
  gst_pad_set_query_function (other.sink, accept_cuda);
  begin_stream (&other, "(memory:CUDAMemory)");
  pool = open_pool (gst_cf_filter_private (GST_CF_FILTER (other.element))->context);
  faults_check (gst_pad_push (other.src, frame_from (&other, pool)) == GST_FLOW_OK, "the stream ends");
  start (&first, "auto", 0, 1);
  hang (&first);
  push_caps (&other, "(memory:CUDAMemory)", 50);
  for (int i = 0; i < 3; i++)
    faults_check (gst_pad_push (other.src, frame_from (&other, pool)) == GST_FLOW_OK,
        "CUDA memory of a GPU that does not hang is refused");
  faults_check (on_gpu (&other) == 4, "a hang on one GPU affects the other one");
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  stop (&other, 0, 0, NULL);
  stop (&first, 0, 1, "did not finish");
  check_calls ();
  fake_cuda_memory = false;
  fake_devices = 1;
}

/* An element that was filtering frames in CUDA memory on the CPU, when another one hangs the GPU: nothing can be read
 * from there, so the stream ends with an error. To free the memory would wait for the GPU. */
static void
memory_of_hung (void)
{
  GstBufferPool *pool;
  GstObject *context;
  GstBuffer *buffer;
  Filter f, other;

  fake_cuda_memory = true;
  fake_arm (-1, 0, false);
  open_filter (&f, "auto", -1, 1);
  gst_pad_set_query_function (f.sink, accept_cuda);
  begin_stream (&f, "(memory:CUDAMemory)");
  context = gst_object_ref (gst_cf_filter_private (GST_CF_FILTER (f.element))->context);
  pool = open_pool (context);
  for (int i = 0; i < 4; i++) {
    fake_fail_next (FAKE_LAUNCH, 2, false);
    faults_check (gst_pad_push (f.src, frame_from (&f, pool)) == GST_FLOW_OK, "the stream ends");
  }
  faults_check (gst_pad_push (f.src, frame_from (&f, pool)) == GST_FLOW_OK && on_gpu (&f) == 0,
      "the GPU is still used");
  start (&other, "auto", -1, 1);
  buffer = frame_from (&f, pool);
  hang (&other);
  faults_check (gst_pad_push (f.src, buffer) == GST_FLOW_ERROR, "a frame is read from a GPU that hangs");
  faults_check (fake_maps_blocked == 0, "memory of a GPU that hangs is mapped for the host");
  f.sent--;
  fake_frees_blocked = 0;
  gst_element_set_state (f.element, GST_STATE_READY);
  faults_check (fake_frees_blocked == 0, "memory of a GPU that hangs is freed");
  stop (&f, 1, 1, "not enough memory");
  stop (&other, 0, 1, "did not finish");
  faults_check (fake.blocked == 0, "a call that may block, on a GPU that hangs");
  fake_settle ();
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  gst_object_unref (context);
  fake_cuda_memory = false;
}

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
  slots = gst_cf_link_slots_open (gst_cf_filter_private (GST_CF_FILTER (f.element))->context);
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

/* The GPU fails once while the caps are set, and on-gpu-error=error: one error, and no frame passes after it, although
 * the GPU would be good again. */
static void
refused_once (gint in_flight)
{
  Filter f;

  fake_arm (-1, 0, false);
  open_filter (&f, "cuda", -1, in_flight);
  gst_element_set_state (f.element, GST_STATE_NULL);
  gst_util_set_object_arg (G_OBJECT (f.element), "on-gpu-error", "error");
  gst_element_set_state (f.element, GST_STATE_PLAYING);
  fake_fail_next (FAKE_KERNELS, 2, false);
  begin_stream (&f, "");
  for (int i = 0; i < 3; i++) {
    push_caps (&f, "", 25);
    faults_check (push_frames (&f, 1) != GST_FLOW_OK, "a stream goes on after an error");
  }
  f.sent = 0;
  stop (&f, 1, 0, "on-gpu-error=error");
}

static void
learn (void)
{
  Filter f;

  learning = TRUE;
  start (&f, "cpu", -1, 1);
  push_frames (&f, CONTENTS);
  set_size (&f, 5);
  push_frames (&f, CONTENTS);
  stop (&f, 0, 0, NULL);
  learning = FALSE;
}

int
main (void)
{
  faults_start ();
  fake_arm (-1, 0, false);
  fake_cuda_memory = true; /* for the pad templates, which are made now */
  learn ();
  fake_cuda_memory = false;
  for (int in_flight = 1; in_flight <= 3; in_flight += 2) {
    start_later (in_flight);
    for (int what = 0; what < 5; what++)
      already_there (what, in_flight);
    slow (in_flight);
    refused_once (in_flight);
  }
  two_gpus ();
  library ();
  errors_at_start ();
  forgiveness ();
  adoption ();
  memory_of_hung ();
  memory_of_other ();
  flushed (FALSE);
  flushed (TRUE);
  fake_arm (-1, 0, false);
  return faults_end ();
}
