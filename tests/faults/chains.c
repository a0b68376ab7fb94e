/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * chains.c: chains of elements on the fake GPU, with frames in CUDA memory that are pushed before the GPU has finished
 * them. The fake GPU executes only the work that a wait requires, so a frame that is accessed too early and an input
 * buffer that is released too early have wrong bytes. The first run has no fault, and only the last element may wait;
 * then each call fails in turn, as in faults.c. In some setups the neighbours are those of GStreamer 1.24, which write
 * the input and read the output on streams of their own, without waiting. In every case, every frame that arrives has
 * the bytes of the CPU backend; and all frames arrive, or an element error is posted.
 *
 *   chains [CALL CODE]   only this call with this error
 *   chains --one-in N    every Nth fault */
#include "elements/stats.h"
#include "common.h"
#include "fake.h"
#include "transfer/chain.h"
#include "gstcfcuda.h"
#include "gstcudaconvolve.h"
#include "gstcudamedian.h"

#include <gst/video/video.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES 10
#define FLUSH_AT 4  /* the stream is flushed before this frame */
#define CHANGE_AT 6 /* a property of the first element changes before this frame */
#define WIDTH 32
#define HEIGHT 14
#define FIELDS "format=I420,width=32,height=14,framerate=25/1"
#define SIZE (WIDTH * HEIGHT * 3 / 2) /* without padding */
#define MOST 3

typedef struct {
  int n;            /* number of elements */
  gboolean cuda_in; /* else the input is in host memory that the first element proposes */
  gboolean cuda_out;
  int lag;             /* frames held between the first element and the second */
  int in_flight[MOST]; /* frames-in-flight; 0: the default */
  gboolean temporal;   /* temporal-depth=3 in the last element */
  gboolean strict;     /* backend=cuda on-gpu-error=error */
  int streams;         /* the memory of the neighbours has streams; 2: downstream also declares that it
                       * takes unfinished frames, and waits for its own stream only */
  const char *roi;     /* of all elements; NULL: they filter whole frames */
  int turn_at;         /* before this frame downstream changes to the other memory, without an event; 0: never */
} Setup;

typedef struct {
  const Setup *setup;
  gboolean plain; /* no CUDA memory, which elements on the CPU do not accept */
  GstElement *element[MOST];
  GstPad *src, *sink;         /* of the neighbours */
  GstPad *lag_sink, *lag_src; /* between the first element and the second */
  GQueue waiting;
  GstBufferPool *pool;
  GMutex lock;
  guint8 sent[FRAMES][SIZE], bytes[FRAMES][SIZE];
  gboolean arrived[FRAMES];
  int n_out, twice, starved;
  gboolean started, turned, eos;
  GstFlowReturn flow;
} Run;

typedef struct {
  int frames, right, errors, warnings, waits;
  GstFlowReturn flow;
  gboolean odd; /* a frame arrived twice, or the input pool was empty */
} Result;

static GstBus *bus; /* of all runs, one after the other; empty between them */
static guint8 expected[FRAMES][SIZE];
static const guint8 nothing[SIZE];
static guint8 stream_before, stream_behind; /* the streams of the neighbours: only the addresses count */

/* ---- neighbours ---------------------------------------------------------- */

static GstBufferPool *
new_pool (gpointer stream)
{
  GstObject *context = NULL;
  GstBufferPool *pool;

  gst_cf_cuda_ensure_context (NULL, -1, &context);
  pool = fake_pool_new (context, stream);
  gst_object_unref (context);
  return pool;
}

/* Copies bytes to or from a buffer; on the neighbour's stream, if the memory has one. */
static void
copy_bytes (GstBuffer *buffer, guint8 *bytes, GstMapFlags flags)
{
  gpointer queue = gst_cf_cuda_buffer_stream (buffer);
  GstMapInfo map;

  if (!gst_buffer_map (buffer, &map, flags | (queue ? GST_CF_MAP_CUDA : 0)))
    return;
  if (queue)
    fake_copy (queue, flags & GST_MAP_WRITE ? map.data : bytes, flags & GST_MAP_WRITE ? bytes : map.data, SIZE);
  else
    memcpy (flags & GST_MAP_WRITE ? map.data : bytes, flags & GST_MAP_WRITE ? bytes : map.data, SIZE);
  gst_buffer_unmap (buffer, &map);
}

static GstFlowReturn
take (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  Run *run = gst_pad_get_element_private (pad);
  guint frame = (guint) (GST_BUFFER_PTS (buffer) / (40 * GST_MSECOND));

  (void) parent;
  g_mutex_lock (&run->lock);
  if (frame < FRAMES) {
    run->twice += run->arrived[frame];
    run->arrived[frame] = TRUE;
    run->n_out++;
    copy_bytes (buffer, run->bytes[frame], GST_MAP_READ);
    if (run->setup->streams == 2)
      fake_finish (&stream_behind);
  }
  g_mutex_unlock (&run->lock);
  gst_buffer_unref (buffer);
  return GST_FLOW_OK;
}

static gboolean
end_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  Run *run = gst_pad_get_element_private (pad);

  (void) parent;
  run->eos |= GST_EVENT_TYPE (event) == GST_EVENT_EOS;
  gst_event_unref (event);
  return TRUE;
}

static int
overlap_of (const Setup *setup)
{
  return setup->in_flight[0] + setup->in_flight[1] + setup->in_flight[2];
}

/* Proposes the smallest possible pool, so that a released buffer is written again at once. */
static gboolean
offer_pool (Run *run, GstQuery *query)
{
  GstBufferPool *pool = run->setup->streams && !run->plain ? new_pool (&stream_behind) : NULL;

  if (pool) {
    gst_query_add_allocation_pool (query, pool, SIZE, 1, overlap_of (run->setup) > 0 ? 0 : 1);
    gst_object_unref (pool);
  }
  if (run->setup->streams == 2)
    gst_query_add_allocation_meta (query, GST_CF_CHAIN_API, NULL);
  return TRUE;
}

static gboolean
end_query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  Run *run = gst_pad_get_element_private (pad);
  GstCaps *caps;

  if (GST_QUERY_TYPE (query) == GST_QUERY_ALLOCATION)
    return offer_pool (run, query);
  if (GST_QUERY_TYPE (query) != GST_QUERY_CAPS)
    return gst_pad_query_default (pad, parent, query);
  caps = gst_caps_from_string (
      run->setup->cuda_out != run->turned && !run->plain ? "video/x-raw(memory:CUDAMemory)" : "video/x-raw");
  gst_query_set_caps_result (query, caps);
  gst_caps_unref (caps);
  return TRUE;
}

static GstFlowReturn
push_held (Run *run, int n_kept)
{
  GstFlowReturn flow = GST_FLOW_OK;

  while (flow == GST_FLOW_OK && (int) g_queue_get_length (&run->waiting) > n_kept)
    flow = gst_pad_push (run->lag_src, g_queue_pop_head (&run->waiting));
  return flow;
}

static GstFlowReturn
lag_chain (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  Run *run = gst_pad_get_element_private (pad);

  (void) parent;
  g_queue_push_tail (&run->waiting, buffer);
  return push_held (run, run->setup->lag);
}

static gboolean
lag_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  Run *run = gst_pad_get_element_private (pad);

  (void) parent;
  if (pad == run->lag_src)
    return gst_pad_push_event (run->lag_sink, event);
  if (GST_EVENT_TYPE (event) == GST_EVENT_EOS)
    push_held (run, 0);
  if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP) /* drops the frames, finished or not */
    while (!g_queue_is_empty (&run->waiting))
      gst_buffer_unref (g_queue_pop_head (&run->waiting));
  return gst_pad_push_event (run->lag_src, event);
}

static gboolean
lag_query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  Run *run = gst_pad_get_element_private (pad);

  (void) parent;
  return gst_pad_peer_query (pad == run->lag_src ? run->lag_sink : run->lag_src, query);
}

/* ---- a stream ------------------------------------------------------------ */

static GstPad *
new_pad (Run *run, const gchar *name, GstPadDirection direction)
{
  GstPad *pad = faults_pad (name, direction);

  gst_pad_set_element_private (pad, run);
  return pad;
}

static void
join (GstPad *from, GstElement *a, GstElement *b, GstPad *to)
{
  GstPad *src = a ? gst_element_get_static_pad (a, "src") : gst_object_ref (from);
  GstPad *sink = b ? gst_element_get_static_pad (b, "sink") : gst_object_ref (to);

  gst_pad_link_full (src, sink, GST_PAD_LINK_CHECK_NOTHING);
  gst_object_unref (src);
  gst_object_unref (sink);
}

static void
open_elements (Run *run, const gchar *backend)
{
  const Setup *setup = run->setup;

  for (int i = 0; i < setup->n; i++) {
    GstElement *e = g_object_new (i == 1 ? gst_cuda_convolve_get_type () : gst_cuda_median_get_type (), NULL);

    run->element[i] = gst_object_ref_sink (e);
    gst_element_set_bus (e, bus);
    gst_util_set_object_arg (G_OBJECT (e), "backend", backend);
    gst_util_set_object_arg (G_OBJECT (e), "on-gpu-error", setup->strict ? "error" : "fallback");
    g_object_set (e, "roi", setup->roi, NULL);
    if (setup->in_flight[i])
      g_object_set (e, "frames-in-flight", setup->in_flight[i], NULL);
    if (i == setup->n - 1 && setup->temporal)
      g_object_set (e, "temporal-depth", 3, NULL);
  }
}

static void
open_run (Run *run, const Setup *setup, gboolean plain)
{
  memset (run, 0, sizeof *run);
  run->setup = setup;
  run->plain = plain;
  g_mutex_init (&run->lock);
  g_queue_init (&run->waiting);
  open_elements (run, plain ? "cpu" : setup->strict ? "cuda" : "auto");
  run->src = new_pad (run, "src", GST_PAD_SRC);
  run->sink = new_pad (run, "sink", GST_PAD_SINK);
  run->lag_src = new_pad (run, "src", GST_PAD_SRC);
  run->lag_sink = new_pad (run, "sink", GST_PAD_SINK);
  gst_pad_set_chain_function (run->sink, take);
  gst_pad_set_event_function (run->sink, end_event);
  gst_pad_set_query_function (run->sink, end_query);
  gst_pad_set_chain_function (run->lag_sink, lag_chain);
  gst_pad_set_event_function (run->lag_sink, lag_event);
  gst_pad_set_event_function (run->lag_src, lag_event);
  gst_pad_set_query_function (run->lag_sink, lag_query);
  gst_pad_set_query_function (run->lag_src, lag_query);
  join (run->src, NULL, run->element[0], NULL);
  join (NULL, run->element[0], NULL, run->lag_sink);
  if (setup->n > 1)
    join (run->lag_src, NULL, run->element[1], NULL);
  for (int i = 1; i + 1 < setup->n; i++)
    join (NULL, run->element[i], run->element[i + 1], NULL);
  join (run->lag_src, setup->n > 1 ? run->element[setup->n - 1] : NULL, NULL, run->sink);
  gst_pad_set_active (run->sink, TRUE);
  gst_pad_set_active (run->lag_src, TRUE);
  gst_pad_set_active (run->lag_sink, TRUE);
  gst_pad_set_active (run->src, TRUE);
  run->started = TRUE;
  for (int i = setup->n - 1; i >= 0; i--)
    run->started = run->started &&
        gst_element_set_state (run->element[i], GST_STATE_PLAYING) == GST_STATE_CHANGE_SUCCESS;
}

static void
use_pool (Run *run, GstBufferPool *pool, GstCaps *caps, guint max)
{
  GstStructure *config = gst_buffer_pool_get_config (pool);

  gst_buffer_pool_config_set_params (config, caps, SIZE, 0, max);
  if (gst_buffer_pool_set_config (pool, config) && gst_buffer_pool_set_active (pool, TRUE))
    run->pool = gst_object_ref (pool);
}

/* Opens the smallest possible pool for the input, so that a released buffer is written again at once. */
static void
open_pool (Run *run, GstCaps *caps)
{
  GstQuery *query = gst_query_new_allocation (caps, TRUE);
  GstBufferPool *pool = NULL;

  if (gst_pad_peer_query (run->src, query) && gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, &pool, NULL, NULL, NULL);
  if (run->setup->cuda_in && !run->plain) {
    gst_clear_object (&pool); /* as a decoder, which has its own pool */
    pool = new_pool (run->setup->streams ? &stream_before : NULL);
  }
  if (pool)
    use_pool (run, pool, caps, overlap_of (run->setup) > 0 ? 0 : (guint) run->setup->lag + 1);
  gst_clear_object (&pool);
  gst_query_unref (query);
}

static GstBuffer *
make_frame (Run *run, int frame)
{
  GstBufferPoolAcquireParams no_wait = { .flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT };
  guint32 noise = (guint32) frame * 2654435761u + 1;
  GstBuffer *buffer = NULL;
  guint8 *bytes = run->sent[frame];

  for (int i = 0; i < SIZE; i++) {
    noise = noise * 1664525u + 1013904223u;
    bytes[i] = (guint8) (noise >> 24);
  }
  if (run->pool && gst_buffer_pool_acquire_buffer (run->pool, &buffer, &no_wait) != GST_FLOW_OK)
    run->starved++;
  if (!buffer)
    buffer = gst_buffer_new_allocate (NULL, SIZE, NULL);
  copy_bytes (buffer, bytes, GST_MAP_WRITE);
  GST_BUFFER_PTS (buffer) = (GstClockTime) frame * 40 * GST_MSECOND;
  GST_BUFFER_DURATION (buffer) = 40 * GST_MSECOND;
  return buffer;
}

static void
stream (Run *run)
{
  GstCaps *caps = gst_caps_from_string (
      run->setup->cuda_in && !run->plain ? "video/x-raw(memory:CUDAMemory)," FIELDS : "video/x-raw," FIELDS);

  gst_pad_push_event (run->src, gst_event_new_stream_start ("chains"));
  gst_pad_push_event (run->src, gst_event_new_caps (caps));
  faults_push_segment (run->src);
  open_pool (run, caps);
  gst_caps_unref (caps);
  for (int i = 0; i < FRAMES && run->flow == GST_FLOW_OK; i++) {
    if (i == FLUSH_AT) {
      gst_pad_push_event (run->src, gst_event_new_flush_start ());
      gst_pad_push_event (run->src, gst_event_new_flush_stop (TRUE));
      faults_push_segment (run->src);
    }
    if (i == CHANGE_AT)
      gst_util_set_object_arg (G_OBJECT (run->element[0]), "kernel-size", "5");
    if (run->setup->turn_at > 0 && run->setup->turn_at == i) {
      run->turned = TRUE;
      gst_pad_push_event (run->sink, gst_event_new_reconfigure ());
    }
    run->flow = gst_pad_push (run->src, make_frame (run, i));
  }
  gst_pad_push_event (run->src, gst_event_new_eos ());
}

static void
close_run (Run *run)
{
  GstPad *const pads[] = { run->src, run->lag_sink, run->lag_src, run->sink };

  for (int i = run->setup->n - 1; i >= 0; i--)
    gst_element_set_state (run->element[i], GST_STATE_NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (pads); i++)
    gst_pad_set_active (pads[i], FALSE);
  while (!g_queue_is_empty (&run->waiting))
    gst_buffer_unref (g_queue_pop_head (&run->waiting));
  if (run->pool)
    gst_buffer_pool_set_active (run->pool, FALSE);
  gst_clear_object (&run->pool);
  fake_settle ();
  for (int i = 0; i < run->setup->n; i++) {
    gst_element_set_bus (run->element[i], NULL);
    gst_object_unref (run->element[i]);
  }
  for (gsize i = 0; i < G_N_ELEMENTS (pads); i++)
    gst_object_unref (pads[i]);
  g_mutex_clear (&run->lock);
}

/* `learn`: runs on the CPU and stores the frames as the expected ones. The flush drops none of them there. */
static Result
run_once (const Setup *setup, gboolean learn)
{
  Result r = { 0 };
  Run run;

  open_run (&run, setup, learn);
  if (run.started)
    stream (&run);
  close_run (&run);
  faults_count_messages (bus, &r.errors, &r.warnings);
  r.flow = run.flow;
  r.odd = run.twice || run.starved;
  r.frames = run.n_out;
  for (int i = 0; i < MIN (fake.calls, FAKE_MAX_CALLS); i++)
    r.waits += fake.kind[i] == FAKE_WAIT;
  for (int i = 0; i < FRAMES; i++) {
    if (learn)
      memcpy (expected[i], run.bytes[i], SIZE);
    r.right += run.arrived[i] &&
        (memcmp (expected[i], run.bytes[i], SIZE) == 0
            /* the neighbour's read was lost with the GPU */
            || (setup->streams && fake_is_lost () && memcmp (nothing, run.bytes[i], SIZE) == 0));
  }
  return r;
}

/* ---- what must hold ------------------------------------------------------ */

static const char *
judge_rest (void)
{
  gboolean given_up = cf_gpu_lost () || fake.hung || fake.unreachable;

  if (fake.after)
    return "calls on a lost GPU";
  if (fake.misuse)
    return "calls without a context, or a free of memory in use";
  if (fake.blocked)
    return "calls that may block, on a GPU that hangs";
  if (fake.pushed)
    return "contexts pushed and not popped";
  if (fake.live && !given_up)
    return "memory or a stream is left";
  if (fake.contexts && !fake.hung && !fake.unreachable)
    return "a context is left";
  return NULL;
}

static const char *
judge (const Result *r, int least, gboolean fails)
{
  if (fails != (gboolean) fake.fired)
    return "the call was not made";
  if (r->right != r->frames)
    return "a frame with wrong bytes";
  if (r->odd && !r->errors && !fake.hung && !fake.unreachable)
    return "a frame twice, or an input buffer that did not come back";
  if (r->flow == GST_FLOW_OK && r->errors == 0 && r->frames < least)
    return "frames are missing without an error";
  if (r->flow == GST_FLOW_ERROR && r->errors == 0)
    return "a flow error without a message";
  if (!fails && (r->errors || r->warnings))
    return "messages";
  return judge_rest ();
}

static const char *
name_of (const Setup *s)
{
  static const char *const streams[] = { "", ", streams", ", one reads on a stream" };
  static char name[200];

  snprintf (name, sizeof name, "%d elements, %s to %s, %d between, in flight %d %d %d%s%s%s%s%s", s->n,
      s->cuda_in ? "CUDA" : "host", s->cuda_out ? "CUDA" : "host", s->lag, s->in_flight[0], s->in_flight[1],
      s->in_flight[2], s->temporal ? ", temporal" : "", s->strict ? ", on-gpu-error=error" : "", streams[s->streams],
      s->roi ? ", areas" : "", s->turn_at ? ", memory changes" : "");
  return name;
}

static void
note (const char *wrong, const Setup *setup, const Result *r, int call, int code, gboolean for_good)
{
  if (faults_count (!wrong)) {
    printf ("%s, call %d (%s) fails with %d %s: %s\n", name_of (setup), call,
        call >= 0 ? fake_kind_name (fake.fired_kind) : "none", code, for_good ? "and all later calls" : "once", wrong);
    printf ("  %d frames, %d right, %d warnings, %d errors, flow %s, %d waits; %d calls after, %d that may block, "
            "%d misuses, %d alive, %d contexts, odd %d\n",
        r->frames, r->right, r->warnings, r->errors, gst_flow_get_name (r->flow), r->waits, fake.after, fake.blocked,
        fake.misuse, fake.live, fake.contexts, r->odd);
    faults_stop ();
  }
}

static void
sweep (const Setup *setup, int only_call, int only_code)
{
  static const int codes[] = { 2, 700, 999, FAKE_TIMEOUT };
  FakeReport calls;
  Setup slow = *setup;
  int overlap = 0, least;
  const char *wrong;
  Result r;

  for (int i = 0; i < setup->n; i++) {
    slow.in_flight[i] = 0;
    overlap += setup->in_flight[i];
  }
  slow.lag = 0;
  fake_arm (-1, 0, false);
  r = run_once (&slow, TRUE);
  note (r.right == FRAMES ? NULL : "frames are missing on the CPU", setup, &r, -1, 0, FALSE);
  fake_arm (-1, 0, false);
  r = run_once (setup, FALSE);
  calls = fake;
  /* The flush drops pending frames. */
  least = FRAMES - setup->lag - overlap;
  wrong = judge (&r, least, FALSE);
  if (!wrong && ((!overlap && r.frames != least) || calls.calls >= FAKE_MAX_CALLS))
    wrong = "the clean run fails";
  /* One wait per frame, and one for the change of the property. An input that is released before the elements behind
   * have read it needs more. */
  if (!wrong && !overlap && r.waits > r.frames + 1)
    wrong = "more waits than frames";
  note (wrong, setup, &r, -1, 0, FALSE);
  printf ("%s: %d calls, %d frames, %d waits\n", name_of (setup), calls.calls, r.frames, r.waits);
  for (int call = 0; !setup->temporal && call < calls.calls; call++)
    for (gsize c = 0; c < G_N_ELEMENTS (codes); c++)
      for (int for_good = 0; for_good < 2; for_good++) {
        if (codes[c] == FAKE_TIMEOUT && (for_good || calls.kind[call] != FAKE_WAIT))
          continue;
        if (only_call >= 0 && (call != only_call || codes[c] != only_code))
          continue;
        if (!faults_is_ours ())
          continue;
        fake_arm (call, codes[c], for_good);
        r = run_once (setup, FALSE);
        /* With several threads the order of the calls varies, and there may be fewer. */
        wrong = overlap && !fake.fired ? NULL : judge (&r, least, TRUE);
        note (wrong, setup, &r, call, codes[c], for_good);
        if (fake_is_lost ()) /* all later calls fail anyway: the next case is the same */
          break;
      }
}

int
main (int argc, char **argv)
{
  static const Setup setups[] = {
    { 1, TRUE, TRUE, 0, { 0 }, FALSE, FALSE },
    { 2, TRUE, TRUE, 0, { 0 }, FALSE, FALSE },
    { 2, FALSE, FALSE, 0, { 0 }, FALSE, FALSE },
    { 2, TRUE, FALSE, 2, { 0 }, FALSE, FALSE },
    { 3, FALSE, TRUE, 2, { 0 }, FALSE, FALSE },
    { 3, TRUE, FALSE, 1, { 0 }, FALSE, TRUE },
    { 3, TRUE, TRUE, 2, { 0 }, TRUE, FALSE },
    { 3, FALSE, FALSE, 1, { 0 }, TRUE, FALSE },
    { 3, TRUE, FALSE, 1, { 0, 0, 3 }, FALSE, FALSE },
    { 2, FALSE, TRUE, 1, { 3 }, FALSE, FALSE },
    { 3, TRUE, TRUE, 1, { 0, 4 }, FALSE, FALSE },
    { 3, FALSE, FALSE, 2, { 2, 3, 4 }, TRUE, FALSE },
    { 1, TRUE, TRUE, 0, { 0 }, FALSE, FALSE, 1 },
    { 2, TRUE, TRUE, 1, { 0 }, FALSE, FALSE, 1 },
    { 3, TRUE, TRUE, 1, { 0, 0, 3 }, FALSE, TRUE, 1 },
    { 1, FALSE, TRUE, 0, { 0 }, FALSE, FALSE, 2 },
    { 2, TRUE, TRUE, 0, { 0 }, FALSE, FALSE, 0, "3,1,9,6; 20,5,7,8" },
    { 2, FALSE, FALSE, 0, { 0 }, FALSE, FALSE, 0, "4,2,4,4" }, /* in place on the way up and down */
    { 3, TRUE, FALSE, 1, { 0, 0, 3 }, FALSE, FALSE, 0, "3,1,9,6; 20,5,7,8" },
    { 3, FALSE, TRUE, 2, { 0, 4 }, TRUE, FALSE, 0, "3,1,9,6; 20,5,7,8" },
    { 2, TRUE, TRUE, 1, { 0 }, FALSE, FALSE, 1, "3,1,9,6; 20,5,7,8" },
    { 1, FALSE, FALSE, 0, { 4 }, FALSE, FALSE, .turn_at = 3 }, /* while frames are under way */
    { 1, FALSE, TRUE, 0, { 4 }, FALSE, FALSE, .turn_at = 8 },
  };

  fake_cuda_memory = true;
  gboolean one = !faults_take_share (argc, argv) && argc == 3;

  faults_without_workers ();
  faults_start ();
  bus = gst_bus_new ();
  for (gsize i = 0; i < G_N_ELEMENTS (setups); i++)
    sweep (&setups[i], one ? atoi (argv[1]) : -1, one ? atoi (argv[2]) : 0);
  fake_arm (-1, 0, false);
  gst_object_unref (bus);
  return faults_end ();
}
