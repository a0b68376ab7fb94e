/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * faults.c: one element on a GPU that fails. Counts the CUDA calls of a stream without faults; then lets each call
 * fail, once and permanently, with every kind of error. In every case, every frame arrives with its timestamp and the
 * bytes of the CPU backend, one message is posted, no call is made on a lost GPU, and nothing stays allocated except
 * what such a GPU may still use. A segmentation that tracks its regions, and a running median, may restart once, at the
 * frame on which the GPU fails.
 *
 *   faults [CALL CODE]   only this call with this error
 *   faults --one-in N    every Nth fault */
#include "elements/stats.h"
#include "common.h"
#include "fake.h"
#include "gstcudamedian.h"
#include "gstcudasegment.h"

#include <gst/video/video.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES 10
#define FLUSH_AT 4      /* the stream is flushed before this frame */
#define MOST_FAILURES 4 /* after which the GPU is not tried again */
#define CHANGE_AT 8     /* a property changes before this frame, which follows a sliced one */
#define WIDTH 8
#define HEIGHT 16
#define TALL 960 /* rows of a frame that is cut into slices */
#define CAPS "video/x-raw,format=I420,width=8,height=%d,framerate=25/1"
#define SIZE_OF(height) (WIDTH * (height) * 3 / 2) /* without padding */
#define SIZE SIZE_OF (setup->tall ? TALL : HEIGHT)

typedef struct {
  gboolean segment; /* the filter: segmentation or median */
  /* The value of temporal or temporal-depth; "running": temporal-method=running; "center": temporal-depth=5 around the
   * current frame */
  const char *depth;
  gboolean pinned; /* the input is in memory that the element proposes */
  gboolean strict; /* backend=cuda on-gpu-error=error; else auto and fallback */
  gint in_flight;  /* frames-in-flight; 0: 1 */
  gboolean tall;   /* frames are cut into slices */
  const char *roi; /* NULL: the whole frame is filtered */
} Setup;

typedef struct {
  GstElement *element;
  GstPad *src, *sink; /* of the neighbours */
  GstBufferPool *pool;
  GstBuffer *out[FRAMES + 1];
  int n_out, start_calls;
  gboolean started;
  GstFlowReturn flow;
  guint64 frames_gpu, frames_fallback;
} Run;

/* The result of a stream. */
typedef struct {
  int frames, right, warnings, errors;
  gboolean started, misleads; /* a warning says something false of earlier frames */
  GstFlowReturn flow;
  guint64 frames_gpu, frames_fallback;
  int start_calls;
} Result;

/* The expected frames: those of the CPU backend that restarts at frame i (0: that does not restart), with the number of
 * regions of each. */
static struct {
  guint8 bytes[SIZE_OF (TALL)];
  guint n_regions;
} expected[FRAMES][FRAMES];

/* Of all elements, one after the other; empty between them. */
static GstBus *bus;

/* The input frames, the same in all runs of a setup. */
static guint8 input[FRAMES][SIZE_OF (TALL)];

static GstClockTime
time_of (int frame)
{
  return (GstClockTime) frame * 40 * GST_MSECOND + 7;
}

/* ---- a stream through one element ---------------------------------------- */

static GstFlowReturn
take (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  Run *run = gst_pad_get_element_private (pad);

  (void) parent;
  /* All buffers are held until the end, so that a later write to one of them is detected. */
  if (run->n_out <= FRAMES)
    run->out[run->n_out++] = buffer;
  else
    gst_buffer_unref (buffer);
  return GST_FLOW_OK;
}

static gboolean
is_running (const Setup *setup)
{
  return strcmp (setup->depth, "running") == 0;
}

static gboolean
is_centered (const Setup *setup)
{
  return strcmp (setup->depth, "center") == 0;
}

static void
open_run (Run *run, const Setup *setup, const gchar *backend)
{
  memset (run, 0, sizeof *run);
  run->element = gst_object_ref_sink (
      g_object_new (setup->segment ? gst_cuda_segment_get_type () : gst_cuda_median_get_type (), NULL));
  gst_element_set_bus (run->element, bus);
  gst_util_set_object_arg (G_OBJECT (run->element), "backend", backend);
  gst_util_set_object_arg (G_OBJECT (run->element), "on-gpu-error", setup->strict ? "error" : "fallback");
  if (is_running (setup)) {
    gst_util_set_object_arg (G_OBJECT (run->element), "temporal-method", "running");
    gst_util_set_object_arg (G_OBJECT (run->element), "output", "difference");
    g_object_set (run->element, "motion-meta", TRUE, NULL);
  } else if (is_centered (setup))
    g_object_set (run->element, "temporal-depth", 5, "temporal-center", TRUE, NULL);
  else
    gst_util_set_object_arg (G_OBJECT (run->element), setup->segment ? "temporal" : "temporal-depth", setup->depth);
  g_object_set (run->element, "frames-in-flight", MAX (setup->in_flight, 1), "roi", setup->roi, NULL);
  if (setup->segment) {
    gst_util_set_object_arg (G_OBJECT (run->element), "output", "labels");
    g_object_set (run->element, "region-meta", TRUE, NULL);
  }
  faults_link (run->element, &run->src, &run->sink, take, run);
  run->started = gst_element_set_state (run->element, GST_STATE_PLAYING) == GST_STATE_CHANGE_SUCCESS;
  run->start_calls = fake.calls;
}

/* Makes the input frames of noise; for a segmentation, noise on constant blocks. */
static void
make_input (const Setup *setup)
{
  for (guint32 frame = 0; frame < FRAMES; frame++) {
    guint32 noise = frame * 2654435761u + 1;

    for (gsize i = 0; i < SIZE; i++) {
      noise = noise * 1664525u + 1013904223u;
      input[frame][i] = (guint8) (setup->segment ? (i / 8 * 77 & 0xc0) + (noise >> 27) : noise >> 24);
    }
  }
}

static GstBuffer *
make_frame (Run *run, const Setup *setup, int frame)
{
  GstBuffer *buffer = NULL;

  if (!run->pool || gst_buffer_pool_acquire_buffer (run->pool, &buffer, NULL) != GST_FLOW_OK)
    buffer = gst_buffer_new_allocate (NULL, SIZE, NULL);
  gst_buffer_fill (buffer, 0, input[frame], SIZE);
  GST_BUFFER_PTS (buffer) = time_of (frame);
  GST_BUFFER_DURATION (buffer) = 40 * GST_MSECOND;
  return buffer;
}

static void
flush (Run *run)
{
  gst_pad_push_event (run->src, gst_event_new_flush_start ());
  gst_pad_push_event (run->src, gst_event_new_flush_stop (TRUE));
  faults_push_segment (run->src);
}

/* Pushes the stream. `restart`: flushes before this frame, too. */
static void
stream (Run *run, const Setup *setup, int restart)
{
  gchar *text = g_strdup_printf (CAPS, setup->tall ? TALL : HEIGHT);
  GstCaps *caps = gst_caps_from_string (text);

  g_free (text);
  gst_pad_push_event (run->src, gst_event_new_stream_start ("faults"));
  gst_pad_push_event (run->src, gst_event_new_caps (caps));
  faults_push_segment (run->src);
  if (setup->pinned)
    run->pool = faults_proposed_pool (run->src, caps);
  gst_caps_unref (caps);
  for (int i = 0; i < FRAMES && run->flow == GST_FLOW_OK; i++) {
    /* With frames in flight, a flush would discard an error that is not yet returned to upstream. */
    if ((i == FLUSH_AT && !(setup->strict && setup->in_flight)) || (i == restart && i > 0)) {
      /* A gap waits for all pending frames, so the flush discards none. */
      gst_pad_push_event (run->src, gst_event_new_gap (time_of (i), GST_CLOCK_TIME_NONE));
      flush (run);
    }
    if (i == CHANGE_AT)
      gst_util_set_object_arg (G_OBJECT (run->element), setup->segment ? "max-regions" : "kernel-size", "5");
    run->flow = gst_pad_push (run->src, make_frame (run, setup, i));
  }
  gst_pad_push_event (run->src, gst_event_new_eos ());
}

static guint
count_regions (GstBuffer *buffer)
{
  return gst_buffer_get_n_meta (buffer, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE);
}

static gboolean
is_right (const Setup *setup, GstBuffer *buffer, int restart, int frame)
{
  return GST_BUFFER_PTS (buffer) == time_of (frame) && GST_BUFFER_DURATION (buffer) == 40 * GST_MSECOND &&
      gst_buffer_get_size (buffer) == SIZE &&
      gst_buffer_memcmp (buffer, 0, expected[restart][frame].bytes, SIZE) == 0 &&
      count_regions (buffer) == expected[restart][frame].n_regions;
}

/* Returns whether a failure changes the expected frames. */
static gboolean
can_restart (const Setup *setup)
{
  return is_running (setup) || (setup->segment && strcmp (setup->depth, "0") != 0);
}

static const char *
name_of (const Setup *setup)
{
  static char name[100];

  snprintf (name, sizeof name, "%s=%s%s%s%s%s%.*s",
      setup->segment           ? "segmentation, temporal"
          : is_running (setup) ? "median, temporal-method"
                               : "median, temporal-depth",
      setup->depth, setup->roi ? ", area" : "", setup->tall ? ", sliced" : "", setup->pinned ? ", pinned input" : "",
      setup->strict ? ", on-gpu-error=error" : "", setup->in_flight ? 99 : 0, ", frames in flight");
  return name;
}

/* Returns the number of right frames, for the restart with the most right frames. */
static int
count_right (const Run *run, const Setup *setup)
{
  int most = 0;

  for (int restart = 0; restart < (can_restart (setup) ? FRAMES : 1); restart++) {
    int right = 0;

    for (int i = 0; i < MIN (run->n_out, FRAMES); i++)
      right += is_right (setup, run->out[i], restart, i);
    most = MAX (most, right);
  }
  return most;
}

/* Counts the messages, and looks whether a warning of a failed GPU says what of earlier frames is lost. */
static void
take_messages (const Setup *setup, Result *result)
{
  GstMessage *message;

  while ((message = gst_bus_pop (bus))) {
    result->errors += GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR;
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING) {
      GError *error;

      gst_message_parse_warning (message, &error, NULL);
      result->warnings++;
      if (g_str_has_prefix (error->message, "The GPU failed: "))
        result->misleads = result->misleads ||
            !!strstr (error->message, "earlier frames have taught is lost") != can_restart (setup) ||
            !!strstr (error->message, "region ids start again") != can_restart (setup);
      g_error_free (error);
    }
    gst_message_unref (message);
  }
}

/* Ends the stream; a hung GPU continues after the element has stopped, while the frames still exist. `learn`: stores
 * the frames as the expected ones for that restart; -1: compares them. */
static void
close_run (Run *run, const Setup *setup, int learn, Result *result)
{
  *result = (Result) { .frames = run->n_out,
    .started = run->started,
    .flow = run->flow,
    .start_calls = run->start_calls,
    .frames_gpu = stat_of (run->element, "frames-gpu"),
    .frames_fallback = stat_of (run->element, "frames-fallback") };
  if (run->pool)
    gst_buffer_pool_set_active (run->pool, FALSE);
  gst_clear_object (&run->pool);
  gst_element_set_state (run->element, GST_STATE_NULL);
  fake_settle ();
  for (int i = 0; learn >= 0 && i < MIN (run->n_out, FRAMES); i++) {
    gst_buffer_extract (run->out[i], 0, expected[learn][i].bytes, SIZE);
    expected[learn][i].n_regions = count_regions (run->out[i]);
  }
  result->right = count_right (run, setup);
  for (int i = 0; i < run->n_out; i++)
    gst_buffer_unref (run->out[i]);
  gst_pad_set_active (run->src, FALSE);
  gst_pad_set_active (run->sink, FALSE);
  gst_element_set_bus (run->element, NULL);
  gst_object_unref (run->element);
  gst_object_unref (run->src);
  gst_object_unref (run->sink);
  take_messages (setup, result);
}

static Result
run_once (const Setup *setup, const gchar *backend, int learn)
{
  Result result;
  Run run;

  open_run (&run, setup, backend);
  if (run.started)
    stream (&run, setup, learn);
  close_run (&run, setup, learn, &result);
  return result;
}

/* ---- what must hold ------------------------------------------------------ */

/* Returns NULL, or what is wrong, for the checks that apply to every fault. */
static const char *
judge_rest (const Setup *setup)
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
  /* A thread that cannot make the context current cannot wait for pending frames, and treats the GPU as hung. */
  if (fake.contexts && !fake.hung && !(setup->in_flight && fake.unreachable))
    return "a context is left";
  return NULL;
}

/* Returns whether the failure of such a call must be posted: not for pinned memory, which is optional, or for frees. */
static gboolean
matters (FakeKind kind)
{
  return kind != FAKE_COUNT && kind != FAKE_PUSH && kind != FAKE_PINNED_ALLOC && kind != FAKE_FREE;
}

static const char *
judge (const Setup *setup, const Result *r, const Result *clean, int call, FakeKind kind, int code, gboolean for_good)
{
  gboolean at_start = call < clean->start_calls;
  gboolean whole = r->frames == FRAMES && r->flow == GST_FLOW_OK;

  if (!fake.fired)
    return "the call was not made";
  if (r->right != r->frames)
    return "a frame with a wrong timestamp or wrong bytes";
  if (r->errors + r->warnings > 1)
    return "more than one message";
  if (r->misleads)
    return "a warning does not say what of earlier frames is lost";
  if (matters (kind) && r->errors + r->warnings != 1)
    return "no message";
  if (!setup->strict) {
    if (!r->started || !whole || r->errors)
      return "the stream ended";
    if (r->frames_fallback > MOST_FAILURES && !setup->in_flight)
      return "a GPU that fails all the time is not given up";
    /* After a failed wait it is not known whether the work ever ends: that GPU is given up. */
    if (!for_good && !at_start && kind != FAKE_WAIT && !(kind == FAKE_SIGNAL && fake.hung) &&
        strcmp (setup->depth, setup->segment ? "0" : "1") == 0 && kind >= FAKE_EVENT && (code == 2 || code == 999) &&
        (r->frames_gpu != FRAMES - 1 || r->frames_fallback != 1))
      return "the GPU was not tried again on the next frame";
  } else if (r->warnings) {
    return "a warning instead of an error";
  } else if (r->errors ? (at_start ? r->started : whole || (r->flow == GST_FLOW_OK && !setup->in_flight)) : !whole) {
    return "an error without the end of the stream, or the end without an error";
  }
  return judge_rest (setup);
}

static void
note (const char *wrong, const Setup *setup, const Result *r, int call, FakeKind kind, int code, gboolean for_good)
{
  if (faults_count (!wrong)) {
    printf ("%s, call %d (%s) fails with %d %s: %s\n", name_of (setup), call, fake_kind_name (kind), code,
        for_good ? "and all later calls" : "once", wrong);
    printf ("  %d frames, %d right, %d warnings, %d errors, flow %s; ", r->frames, r->right, r->warnings, r->errors,
        gst_flow_get_name (r->flow));
    printf ("%d calls after, %d that may block, %d misuses, %d alive, %d contexts\n", fake.after, fake.blocked,
        fake.misuse, fake.live, fake.contexts);
    faults_stop ();
  }
}

static void
sweep (const Setup *setup, int only_call, int only_code)
{
  static const int codes[] = { 2, 46, 214, 700, 709, 719, 802, 999, FAKE_TIMEOUT };
  FakeReport calls;
  Result clean, r;
  const char *wrong;

  make_input (setup);
  for (int restart = 0; restart < (can_restart (setup) ? FRAMES : 1); restart++) {
    fake_arm (-1, 0, false);
    run_once (setup, "cpu", restart);
  }
  fake_arm (-1, 0, false);
  clean = run_once (setup, setup->strict ? "cuda" : "auto", -1);
  calls = fake;
  wrong = clean.right != FRAMES || clean.frames_gpu != FRAMES || clean.errors + clean.warnings ||
          calls.calls >= FAKE_MAX_CALLS
      ? "the clean run fails"
      : judge_rest (setup);
  note (wrong, setup, &clean, -1, FAKE_COUNT, 0, FALSE);
  for (int call = 0; call < calls.calls; call++)
    for (gsize c = 0; c < G_N_ELEMENTS (codes); c++)
      for (int for_good = 0; for_good < 2; for_good++) {
        FakeKind kind;

        if (codes[c] == FAKE_TIMEOUT && (for_good || calls.kind[call] != FAKE_WAIT))
          continue;
        if (only_call >= 0 && (call != only_call || codes[c] != only_code))
          continue;
        if (!faults_is_ours ())
          continue;
        fake_arm (call, codes[c], for_good);
        r = run_once (setup, setup->strict ? "cuda" : "auto", -1);
        /* With two threads, another kind of call may have taken this number. */
        kind = fake.fired ? fake.fired_kind : calls.kind[call];
        wrong = judge (setup, &r, &clean, call, kind, codes[c], for_good);
        note (wrong, setup, &r, call, kind, codes[c], for_good);
        if (fake_is_lost ()) /* all later calls fail anyway: the next case is the same */
          break;
      }
  printf ("%s: %d calls, %d of them at the start\n", name_of (setup), calls.calls, clean.start_calls);
}

int
main (int argc, char **argv)
{
  static const Setup setups[] = {
    { FALSE, "1", FALSE, FALSE },
    { FALSE, "1", TRUE, FALSE },
    { FALSE, "1", FALSE, FALSE, 0, TRUE },
    { FALSE, "3", FALSE, FALSE },
    { FALSE, "3", TRUE, FALSE },
    { FALSE, "1", TRUE, TRUE },
    { FALSE, "3", FALSE, TRUE },
    { TRUE, "0.15", FALSE, FALSE },
    { TRUE, "0", TRUE, FALSE },
    { TRUE, "0.15", TRUE, TRUE },
    { FALSE, "1", FALSE, FALSE, 3 },
    { FALSE, "3", FALSE, FALSE, 2 },
    { FALSE, "1", FALSE, TRUE, 4 },
    { TRUE, "0.15", FALSE, FALSE, 3 },
    { FALSE, "1", TRUE, FALSE, 0, FALSE, "2,2,2,2; 6,12,2,2" }, /* in place */
    { FALSE, "1", FALSE, FALSE, 0, FALSE, "2,2,2,2; 6,12,2,2" },
    { FALSE, "1", TRUE, FALSE, 3, FALSE, "2,2,2,2; 6,12,2,2" },
    { FALSE, "1", FALSE, FALSE, 3, FALSE, "1,2,3,5; 5,12,3,4" },
    { FALSE, "3", TRUE, FALSE, 2, FALSE, "1,2,3,5; 5,12,3,4" },
    { FALSE, "3", TRUE, FALSE, 0, FALSE, "2,2,2,2; 6,12,2,2" },
    { TRUE, "0.15", TRUE, FALSE, 0, FALSE, "2,2,2,2; 6,12,2,2" },
    { FALSE, "1", TRUE, FALSE, 0, TRUE, "2,2,2,2; 2,20,2,2; 2,40,2,2" }, /* together */
    { FALSE, "running", FALSE, FALSE },
    { FALSE, "running", TRUE, FALSE, 3 },
    { FALSE, "center", FALSE, FALSE },
    { FALSE, "center", TRUE, FALSE, 3 },
    { FALSE, "center", FALSE, TRUE, 2 },
  };

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
