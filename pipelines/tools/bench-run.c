/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-run.c: measures one row: one pipeline of source ! LINE ! sink per camera.
 * The pipelines start together, are timed, and end. The time runs from the first
 * frame that arrives after the warm-up to the last one, so neither end is rounded to
 * a frame. Processes that share the cameras wait for each other at the start gate. */

#include "bench.h"
#include "bench-camera.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define STARTED_WITHIN 120   /* seconds: many pipelines load contexts and kernels slowly */
#define NOTHING_FOR 60       /* seconds without a frame that count as a failure */
#define ENDED_WITHIN 10      /* seconds for frames under way to arrive */
#define FRAMES_MEMORY 1e9    /* bytes of all different frames, at most */
#define GPU_CACHE (64 << 20) /* bytes: more than a GPU's L2 holds */

typedef struct {
  const BenchOptions *opt;
  const BenchCase *c;
  BenchBarrier *barrier;
  BenchRow *row;
  BenchStartGate start_gate;
  BenchCamera *cameras;
  GstElement **pipelines;
  int n;                  /* pipelines made so far */
  BenchStats stats;       /* of the first pipeline's elements */
  double cpu_before, cpu; /* seconds */
  guint64 from, to;       /* ns: when cpu_before and cpu were read */
} Run;

static gboolean
fail (Run *run, const char *text)
{
  return bench_fail (run->row, bench_failure (run->c), "%s%s", run->c->baseline ? "it does not run here: " : "", text);
}

/* ---- one CUDA context for all pipelines ---------------------------------- */

/* As GStreamer's manual asks of applications: each element gets the context of the first element. */

#define CUDA_CONTEXT "gst.cuda.context"

static GMutex contexts_lock;
static GstContext *contexts[BENCH_GPUS]; /* one per GPU, until the process ends */

static void
keep_context (GstContext *context)
{
  guint gpu = 0;

  gst_structure_get_uint (gst_context_get_structure (context), "cuda-device-id", &gpu);
  g_mutex_lock (&contexts_lock);
  if (gpu < BENCH_GPUS && !contexts[gpu])
    contexts[gpu] = gst_context_ref (context);
  g_mutex_unlock (&contexts_lock);
}

static GstContext *
find_context (int gpu)
{
  GstContext *found = NULL;

  g_mutex_lock (&contexts_lock);
  for (int i = MAX (gpu, 0); i < (gpu < 0 ? BENCH_GPUS : MIN (gpu + 1, BENCH_GPUS)) && !found; i++)
    if (contexts[i])
      found = gst_context_ref (contexts[i]);
  g_mutex_unlock (&contexts_lock);
  return found;
}

/* Runs in the thread that posts the message; the element continues after the answer. */
static GstBusSyncReply
on_context_message (GstBus *bus, GstMessage *message, gpointer gpu)
{
  const gchar *type = NULL;
  GstContext *context = NULL;

  (void) bus;
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_HAVE_CONTEXT) {
    gst_message_parse_have_context (message, &context);
    if (gst_context_has_context_type (context, CUDA_CONTEXT))
      keep_context (context);
  } else if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_NEED_CONTEXT &&
      gst_message_parse_context_type (message, &type) && g_str_equal (type, CUDA_CONTEXT) &&
      (context = find_context (GPOINTER_TO_INT (gpu)))) {
    gst_element_set_context (GST_ELEMENT (GST_MESSAGE_SRC (message)), context);
  }
  g_clear_pointer (&context, gst_context_unref);
  return GST_BUS_PASS;
}

/* Shares the contexts with the pipeline's elements; `gpu` is the pipeline's GPU, -1: any. */
static void
share_context (GstElement *pipeline, int gpu)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);

  gst_bus_set_sync_handler (bus, on_context_message, GINT_TO_POINTER (gpu), NULL);
}

/* ---- construction -------------------------------------------------------- */

/* Returns how many different frames the sources send in rotation: more than the caches hold,
 * within FRAMES_MEMORY. All cameras of a process share them. */
static int
count_frames_wanted (const BenchCase *c, gsize bytes)
{
  long cache = c->memory == BENCH_CUDA ? GPU_CACHE : MAX (sysconf (_SC_LEVEL3_CACHE_SIZE), 32 << 20);
  double wanted = 2.5 * (double) cache / (double) bytes;
  double room = FRAMES_MEMORY / (double) bytes / c->processes;

  return (int) CLAMP (MIN (wanted, room) + 1, 3, BENCH_FRAMES);
}

static gboolean
find_info (Run *run, GstVideoInfo *info, const char *format)
{
  const BenchCase *c = run->c;

  if (!gst_video_info_set_format (info, gst_video_format_from_string (format), (guint) c->size.width,
          (guint) c->size.height))
    return fail (run, "there is no such format or size");
  gst_util_double_to_fraction (c->rate > 0 ? c->rate : 30, &info->fps_n, &info->fps_d);
  g_strlcpy (run->row->format, format, sizeof run->row->format);
  run->row->frame_bytes = GST_VIDEO_INFO_SIZE (info);
  return TRUE;
}

static void
init_camera (Run *run, BenchCamera *camera, int number, const GstVideoInfo *info)
{
  const BenchCase *c = run->c;
  double rate = c->rate > 0 ? c->rate : 30;

  *camera = (BenchCamera) { .start_gate = &run->start_gate,
    .info = *info,
    .memory = c->memory,
    .regions = c->regions,
    .video = c->video,
    .real_time = c->rate > 0,
    .wanted_frames = count_frames_wanted (c, GST_VIDEO_INFO_SIZE (info)),
    .skew = number * 7,
    .gpu = c->gpus ? number % c->gpus : 0,
    .interval = (guint64) (GST_SECOND / rate) };
  camera->caps = gst_video_info_to_caps (info);
  if (c->memory == BENCH_CUDA)
    gst_caps_set_features_simple (camera->caps, gst_caps_features_new ("memory:CUDAMemory", NULL));
  camera->phase = camera->interval * (guint64) number / (guint64) c->cameras; /* spread over one interval */
  camera->first = BENCH_PRIMERS + (guint64) (run->opt->warm_up * rate);
  camera->end = camera->first +
      (run->opt->frames ? (guint64) run->opt->frames : MAX (1, (guint64) (run->opt->seconds * rate)));
  camera->wanted = (guint64) run->opt->frames;
  camera->latency = g_array_sized_new (FALSE, FALSE, sizeof (guint64), 4096);
  g_mutex_init (&camera->lock);
}

/* Short queues: the time that a frame waits in them counts as latency. */
static GstElement *
make_queue (Run *run)
{
  GstElement *queue = run->opt->queue ? gst_element_factory_make ("queue", NULL) : NULL;

  if (queue)
    g_object_set (queue, "max-size-buffers", 4, "max-size-bytes", 0, "max-size-time", (guint64) 0, NULL);
  return queue;
}

/* source ! [queue !] LINE ! [queue !] sink */
static gboolean
make_pipeline (Run *run, GstElement *bin, BenchCamera *camera)
{
  GstElement *pipeline = gst_pipeline_new (NULL), *last = bench_source_new (camera);
  GstElement *chain[] = { make_queue (run), bin, make_queue (run), bench_sink_new (camera) };
  gboolean good = TRUE;

  run->pipelines[run->n++] = pipeline;
  share_context (pipeline, run->c->gpus ? camera->gpu : -1);
  gst_bin_add (GST_BIN (pipeline), last);
  for (guint i = 0; i < G_N_ELEMENTS (chain); i++)
    if (chain[i]) {
      gst_bin_add (GST_BIN (pipeline), chain[i]);
      good = good && gst_element_link (last, chain[i]);
      last = chain[i];
    }
  return good || fail (run, "the line cannot be linked behind a source of such video");
}

static gboolean
make_all (Run *run)
{
  GstVideoInfo info;

  for (int i = 0; i < run->c->cameras; i++) {
    GstElement *bin = bench_line_new (run->c, i, run->row);
    const char *format = bin && i == 0 ? bench_line_format (bin, run->c, run->row) : run->row->format;

    if (!bin || !format || (i == 0 && !find_info (run, &info, format))) {
      g_clear_object (&bin);
      return FALSE;
    }
    init_camera (run, &run->cameras[i], i, &info);
    if (i == 0)
      bench_stats_find (&run->stats, bin);
    if (!make_pipeline (run, bin, &run->cameras[i]))
      return FALSE;
  }
  return TRUE;
}

/* ---- supervision --------------------------------------------------------- */

/* Handles the messages of pipeline i. Returns FALSE after an error. */
static gboolean
read_bus (Run *run, int i)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (run->pipelines[i]);
  GstMessage *message;

  while ((message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING | GST_MESSAGE_LATENCY))) {
    g_autoptr (GError) error = NULL;
    g_autofree char *debug = NULL;

    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_LATENCY) {
      gst_bin_recalculate_latency (GST_BIN (run->pipelines[i]));
    } else if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
      gst_message_parse_error (message, &error, &debug);
      fail (run,
          g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED) && debug &&
                  strstr (debug, "not-negotiated")
              ? "the line does not take such video"
              : error->message);
    } else if (!run->row->note[0]) {
      gst_message_parse_warning (message, &error, NULL);
      g_strlcpy (run->row->note, error->message, sizeof run->row->note);
    }
    gst_message_unref (message);
  }
  return run->row->state == BENCH_GOOD;
}

static gboolean
check_all (Run *run)
{
  for (int i = 0; i < run->n; i++)
    if (!read_bus (run, i))
      return FALSE;
  return TRUE;
}

static guint64
arrived (Run *run, guint64 *least)
{
  guint64 sum = 0;

  *least = G_MAXUINT64;
  for (int i = 0; i < run->n; i++) {
    BenchCamera *camera = &run->cameras[i];

    g_mutex_lock (&camera->lock);
    sum += camera->arrived;
    *least = MIN (*least, camera->arrived);
    g_mutex_unlock (&camera->lock);
  }
  return sum;
}

/* Sleeps briefly and checks all pipelines. Returns FALSE if the measurement has to end. */
static gboolean
idle (Run *run, const char *what, double passed)
{
  static gint64 said;
  guint64 least, n = arrived (run, &least);

  if (g_get_monotonic_time () - said > 250000) {
    said = g_get_monotonic_time ();
    bench_progress ("%s %s: %.1f s, %" G_GUINT64_FORMAT " frames", run->c->line, what, passed, n);
  }
  /* Checking hundreds of cameras often would take CPU time from the measurement. */
  g_usleep (run->n > 16 ? 50000 : 5000);
  return !bench_stop && check_all (run);
}

/* ---- timing -------------------------------------------------------------- */

static double
cpu_seconds (void)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  return (double) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
      (double) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static double
since (guint64 from)
{
  return (double) (bench_now () - from) / 1e9;
}

/* Starts all pipelines and waits until their sources have sent the frames before the start gate. */
static gboolean
start_all (Run *run)
{
  guint64 begin;

  for (int i = 0; i < run->n; i++)
    if (gst_element_set_state (run->pipelines[i], GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE) {
      check_all (run);
      return fail (run, "the pipeline does not start");
    }
  begin = bench_now ();
  while (g_atomic_int_get (&run->start_gate.ready) < run->n) {
    if (!idle (run, "starts", since (begin)))
      return FALSE;
    if (since (begin) > STARTED_WITHIN)
      return fail (run, "it did not come past its first frames within two minutes");
  }
  return TRUE;
}

/* Waits until all processes have arrived at the start gate. */
static gboolean
wait_for_processes (Run *run)
{
  guint64 begin = bench_now ();

  if (run->barrier)
    g_atomic_int_inc (&run->barrier->arrived);
  while (run->barrier && g_atomic_int_get (&run->barrier->arrived) < g_atomic_int_get (&run->barrier->expected)) {
    g_usleep (1000);
    if (bench_stop || !check_all (run))
      return FALSE;
    if (since (begin) > STARTED_WITHIN)
      return fail (run, "another process did not come past its first frames within two minutes");
  }
  return TRUE;
}

/* Opens the start gate; `over` makes the sources end their streams. */
static void
set_start_gate (Run *run, gboolean over)
{
  g_mutex_lock (&run->start_gate.lock);
  if (!run->start_gate.open)
    run->start_gate.start = g_get_monotonic_time () + 1000;
  g_atomic_int_set (&run->start_gate.over, over);
  g_atomic_int_set (&run->start_gate.open, TRUE);
  g_cond_broadcast (&run->start_gate.changed);
  g_mutex_unlock (&run->start_gate.lock);
}

/* Returns whether all cameras have counted enough frames; in real time, whether the time is over. */
static gboolean
counted_enough (Run *run, guint64 last_due)
{
  guint64 least;

  arrived (run, &least);
  if (run->c->rate > 0)
    return bench_now () > last_due;
  if (run->opt->frames)
    return least >= (guint64) run->opt->frames;
  return since (run->from) >= run->opt->seconds && least >= 2;
}

/* Opens the start gate, waits for the warm-up and counts frames. Returns FALSE if the run fails. */
static gboolean
count_frames (Run *run)
{
  const BenchCamera *last = &run->cameras[run->n - 1];
  guint64 begin, progress = 0, moved, least;

  set_start_gate (run, FALSE);
  begin = bench_now ();
  while (since (begin) < run->opt->warm_up)
    if (!idle (run, "warms up", since (begin)))
      return FALSE;
  bench_stats_begin (&run->stats);
  run->from = bench_now ();
  run->cpu_before = cpu_seconds ();
  g_atomic_int_set (&run->start_gate.counting, 1);
  moved = run->from;
  /* The last frames that are due may still arrive during two more intervals. */
  while (!counted_enough (run, bench_camera_due (last, last->end) + 2 * last->interval)) {
    if (arrived (run, &least) != progress) {
      progress = arrived (run, &least);
      moved = bench_now ();
    }
    if (since (moved) > NOTHING_FOR)
      return fail (run, "no frame came out for a minute");
    if (!idle (run, "", since (run->from)))
      break;
  }
  g_atomic_int_set (&run->start_gate.counting, 0);
  run->cpu = cpu_seconds ();
  run->to = bench_now ();
  bench_stats_read (&run->stats, run->row);
  return run->row->state == BENCH_GOOD;
}

/* Ends the streams, waits until frames under way have arrived, and frees the pipelines. */
static void
end_all (Run *run)
{
  guint64 begin = bench_now ();

  set_start_gate (run, TRUE);
  for (int i = 0; i < run->n && run->row->state == BENCH_GOOD; i++) {
    g_autoptr (GstBus) bus = gst_element_get_bus (run->pipelines[i]);
    double left = MAX (0, ENDED_WITHIN - since (begin));
    GstMessage *message = gst_bus_timed_pop_filtered (bus, (GstClockTime) (left * 1e9),
        GST_MESSAGE_EOS | GST_MESSAGE_ERROR);

    g_clear_pointer (&message, gst_message_unref);
  }
  for (int i = 0; i < run->n; i++) {
    gst_element_set_state (run->pipelines[i], GST_STATE_NULL);
    gst_object_unref (run->pipelines[i]);
  }
  bench_stats_clear (&run->stats);
}

/* ---- results ------------------------------------------------------------- */

/* Returns the frames of a camera in real time that were due by the end, or by Ctrl-C. */
static guint64
count_due (const Run *run, const BenchCamera *camera)
{
  guint64 due = camera->end - camera->first;

  if (run->row->interrupted)
    while (due > camera->arrived && bench_camera_due (camera, camera->first + due - 1) + camera->interval > run->to)
      due--;
  return due;
}

static void
sum_camera (Run *run, const BenchCamera *camera, GArray *latency)
{
  BenchRow *row = run->row;

  row->frames += camera->arrived;
  g_array_append_vals (latency, camera->latency->data, camera->latency->len);
  if (camera->real_time) {
    guint64 due = count_due (run, camera);

    row->due += due;
    row->late += camera->late;
    row->dropped += due > camera->arrived ? due - camera->arrived : 0;
  } else if (camera->arrived) {
    row->fps += (double) camera->arrived / ((double) (camera->last_time - camera->first_time) / 1e9);
  }
}

static void
fill_row (Run *run)
{
  BenchRow *row = run->row;
  g_autoptr (GArray) latency = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (int i = 0; i < run->n; i++)
    sum_camera (run, &run->cameras[i], latency);
  row->seconds = (double) (run->to - run->from) / 1e9;
  if (run->c->rate > 0 && row->due)
    row->fps = (double) row->frames * run->c->rate * run->n / (double) row->due;
  row->ms = row->fps > 0 ? 1e3 / row->fps : 0;
  bench_set_latencies (row, latency);
  row->cores = row->seconds > 0 ? (run->cpu - run->cpu_before) / row->seconds : 0;
  row->cpu_ms = row->fps > 0 ? 1e3 * row->cores / row->fps : 0;
  for (guint i = 0; i < latency->len; i++)
    bench_add_latency (row, g_array_index (latency, guint64, i));
  /* In real time no frame is a result, too: all were dropped. */
  if (row->frames == 0 && row->due == 0)
    fail (run, row->interrupted ? "ended before a frame could be counted" : "no frame came out");
}

static void
free_cameras (Run *run)
{
  for (int i = 0; i < run->c->cameras && run->cameras[i].caps; i++) {
    gst_caps_unref (run->cameras[i].caps);
    g_array_unref (run->cameras[i].latency);
    g_mutex_clear (&run->cameras[i].lock);
  }
  g_free (run->cameras);
  g_free (run->pipelines);
  g_mutex_clear (&run->start_gate.lock);
  g_cond_clear (&run->start_gate.changed);
}

void
bench_run (const BenchOptions *opt, const BenchCase *c, BenchBarrier *barrier, BenchRow *row)
{
  Run run = { .opt = opt, .c = c, .barrier = barrier, .row = row };
  gboolean counted;

  g_mutex_init (&run.start_gate.lock);
  g_cond_init (&run.start_gate.changed);
  run.cameras = g_new0 (BenchCamera, c->cameras);
  run.pipelines = g_new0 (GstElement *, c->cameras);
  counted = make_all (&run) && start_all (&run) && wait_for_processes (&run) && count_frames (&run);
  row->interrupted = bench_stop;
  if (run.cameras[0].frames) {
    g_strlcpy (row->memory, run.cameras[0].frames->memory, sizeof row->memory);
    row->rotating = run.cameras[0].frames->n;
  }
  end_all (&run);
  if (counted)
    fill_row (&run);
  else if (row->state == BENCH_GOOD)
    fail (&run, "ended before it could be measured");
  free_cameras (&run);
}
