/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * hangs.c: elements on GPUs that hang, are slow, or cannot be had. After a hang no element makes a call on that GPU
 * that may block, whatever it does next: start, filter, change, stop. Another GPU is not affected, and one that goes
 * on is used again by new elements. Each frame has the bytes of the CPU backend, and a message says why the CPU
 * filters. */
#include "onefilter.h"
#include "gstcfcuda.h"
#include "gstcffilter.h"

static void
check_gpu_error (Filter *f, const gchar *text)
{
  GstStructure *stats = NULL;
  const gchar *error;

  g_object_get (f->element, "stats", &stats, NULL);
  error = gst_structure_get_string (stats, "gpu-error");
  faults_check (text ? error && strstr (error, text) : !error, "stats say another error, or none");
  gst_structure_free (stats);
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
  check_gpu_error (&second,
      "GPU 0 hangs: an earlier frame of this process was not finished in time; last kernel "
      "launched: " FAKE_KERNEL);
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
  stop (&other, 0, what < 4,
      "GPU 0 hangs: an earlier frame of this process was not finished in time; last kernel "
      "launched: " FAKE_KERNEL);
  stop (&first, 0, 1, "did not finish a frame");
  faults_check (cf_gpu_state ().hung != 0, "the GPU does not hang any more");
  check_calls ();
}

/* An element loses the GPU for the process. All others say the first error, whatever they do next: filter, change,
 * start. `strict`: on-gpu-error=error. */
static void
lost_by_another (gint in_flight, gboolean strict)
{
  const gchar *text = "this process has lost the GPU and must restart: " FAKE_KERNEL
                      ": a kernel accessed an illegal address "
                      "(CUDA error 700)";
  Filter first, filters, changes, starts, refused;

  fake_arm (-1, 0, false);
  start (&first, "auto", -1, in_flight);
  start (&filters, "auto", -1, in_flight);
  open_filter (&changes, "auto", -1, in_flight);
  gst_element_set_state (changes.element, GST_STATE_NULL);
  gst_util_set_object_arg (G_OBJECT (changes.element), "on-gpu-error", strict ? "error" : "fallback");
  gst_element_set_state (changes.element, GST_STATE_PLAYING);
  begin_stream (&changes, "");
  push_frames (&filters, 2);
  push_frames (&changes, 2);
  faults_check (on_gpu (&filters) == 2 && on_gpu (&changes) == 2, "frames not on the GPU");
  check_gpu_error (&filters, NULL);
  fake_fail_next (FAKE_LAUNCH, 700, false);
  push_frames (&first, 2);
  drain (&first);
  check_gpu_error (&first, FAKE_KERNEL ": ");
  push_frames (&filters, 2);
  drain (&filters);
  check_gpu_error (&filters, text);
  push_caps (&changes, "", 50);
  if (!strict)
    push_frames (&changes, 2);
  drain (&changes);
  check_gpu_error (&changes, text);
  start (&starts, "auto", -1, in_flight);
  push_frames (&starts, 2);
  check_gpu_error (&starts, text);
  open_filter (&refused, "cuda", -1, in_flight);
  faults_check (!refused.started, "backend=cuda starts without a GPU");
  check_gpu_error (&refused, text);
  stop (&refused, 1, 0, text);
  stop (&starts, 0, 1, text);
  stop (&changes, strict, !strict, text);
  stop (&filters, 0, 1, text);
  stop (&first, 0, 1, FAKE_KERNEL ": ");
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
  stop (&third, 0, 1, "GPU 1 hangs");
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
  gpointer params = cf_params_new (filter, NULL);
  CfCommon common = { 0 };
  const CfCommon other = { .apply_to = CF_APPLY_CHROMA };
  CfStatus status = { 0 };
  CfContext *context;
  CfStream *stream;
  CfPlan *plan;

  bytes[0][0] = 255; /* which the median removes */
  fake_arm (-1, 0, false);
  fake_push (0);
  context = cf_context_new (CF_BACKEND_CUDA, &status);
  plan = cf_plan_new (context, filter, &video, &common, params, &status);
  stream = cf_stream_new (NULL, &status);
  faults_check (cf_plan_enqueue (plan, stream, &(CfFrame) { .in = &in, .out = &out }, &status) == CF_OK,
      "no frame on the GPU");
  fake_fail_next (FAKE_DEVICE_ALLOC, 2, false);
  faults_check (cf_plan_update (plan, &other, params, &status) == CF_NO_MEMORY &&
          cf_plan_enqueue (plan, stream, &(CfFrame) { .in = &in, .out = &out }, &status) == CF_OK &&
          cf_stream_wait (stream, SECOND, NULL, &status) == CF_OK && bytes[1][0] == 0,
      "an update that failed is in force");
  fake_fail_next (FAKE_WAIT, FAKE_TIMEOUT, false);
  faults_check (cf_stream_wait (stream, SECOND, NULL, &status) == CF_TIMEOUT && cf_gpu_state ().hung == 1, "no hang");
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
          cf_stream_wait (stream, SECOND, NULL, &status) == CF_OK,
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
      fake_runtime.slow_ns = late ? limit + SECOND / 10 : limit - SECOND / 10;
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
      /* An old driver finds no GPU, which is no reason for a warning. */
      const gboolean none = rows[i].code == 35 && kinds[k] == FAKE_COUNT;
      const gchar *says = none ? "the NVIDIA driver supports CUDA 13.0; this build needs" : rows[i].says;

      fake_arm (-1, 0, false);
      fake_fail_next (kinds[k], rows[i].code, true);
      start (&f, "auto", -1, 1);
      push_frames (&f, 2);
      faults_check (on_gpu (&f) == 0, "frames on a GPU that cannot be had");
      check_gpu_error (&f, none ? NULL : says);
      stop (&f, 0, !none, says);
      fake_arm (-1, 0, false);
      fake_fail_next (kinds[k], rows[i].code, true);
      open_filter (&f, "cuda", -1, 1);
      faults_check (!f.started, "backend=cuda starts without a GPU");
      stop (&f, 1, 0, says);
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

/* An element that is started again says again that the GPU fails. */
static void
said_again (void)
{
  Filter f;

  fake_arm (-1, 0, false);
  start (&f, "auto", -1, 1);
  fail_frames (&f, 2);
  gst_element_set_state (f.element, GST_STATE_NULL);
  gst_element_set_state (f.element, GST_STATE_PLAYING);
  begin_stream (&f, "");
  fail_frames (&f, 2);
  stop (&f, 0, 2, "not enough memory");
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
  faults_check (gst_cf_filter_context (GST_CF_FILTER (f.element)) == context && on_gpu (&f) == 4,
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
  pool = open_pool (gst_cf_filter_context (GST_CF_FILTER (other.element)));
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
  context = gst_object_ref (gst_cf_filter_context (GST_CF_FILTER (f.element)));
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
    lost_by_another (in_flight, FALSE);
    lost_by_another (in_flight, TRUE);
  }
  two_gpus ();
  library ();
  errors_at_start ();
  forgiveness ();
  said_again ();
  adoption ();
  memory_of_hung ();
  memory_of_other ();
  fake_arm (-1, 0, false);
  return faults_end ();
}
