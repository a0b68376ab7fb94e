/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-run.c: one row: pipelines of source ! LINE ! sink, as many as there are
 * cameras, started together, timed, and ended. Frames count from the first that
 * arrives behind the warm-up, so that neither end of the time is rounded to frames.
 * Where several processes share the cameras, all wait for each other at the gate. */

#include "bench.h"
#include "bench-camera.h"
#include "bench-context.h"
#include "bench-gpu.h"
#include "bench-line.h"
#include "bench-numbers.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define STARTED_WITHIN 120 /* seconds: contexts and kernels of many pipelines take their time */
#define NOTHING_FOR 60     /* seconds without a frame are a failure */
#define ENDED_WITHIN 10
#define GPU_EVERY 100000   /* us */
#define FRAMES_MEMORY 1e9  /* bytes that different frames may take */
#define GPU_CACHE (64 << 20) /* bytes: more than a GPU's L2 holds */

typedef struct {
  const BenchOptions *opt;
  const BenchJob *job;
  BenchMeeting *meeting;
  BenchRow *row;
  BenchGate gate;
  BenchCamera *cameras;
  GstElement **pipelines;
  int n; /* pipelines that were made */
  BenchStats stats; /* of the first one's elements */
  double cpu_before, cpu; /* seconds */
  guint64 from, to;       /* ns: when cpu_before and cpu were read */
  double gpu_use[BENCH_GPUS], gpu_memory[BENCH_GPUS]; /* sums, maxima */
  int gpu_n, n_gpus;
} Run;

static gboolean
fail (Run *run, const char *text)
{
  if (run->row->state == BENCH_GOOD) {
    run->row->state = BENCH_FAILED;
    g_strlcpy (run->row->note, text, sizeof run->row->note);
  }
  return FALSE;
}

/* ---- made --------------------------------------------------------------- */

/* Enough to go round more memory than the caches hold, and no more than the machine
 * can spare. All cameras of a process share them. */
static int
count_frames_wanted (const BenchJob *job, gsize bytes)
{
  long cache = job->memory == BENCH_CUDA ? GPU_CACHE : MAX (sysconf (_SC_LEVEL3_CACHE_SIZE), 32 << 20);
  double wanted = 2.5 * (double) cache / (double) bytes;
  double room = FRAMES_MEMORY / (double) bytes / job->processes;

  return (int) CLAMP (MIN (wanted, room) + 1, 3, BENCH_FRAMES);
}

static gboolean
find_info (Run *run, GstVideoInfo *info, const char *format)
{
  const BenchJob *job = run->job;

  if (!gst_video_info_set_format (info, gst_video_format_from_string (format), (guint) job->size.width,
          (guint) job->size.height))
    return fail (run, "there is no such format or size");
  gst_util_double_to_fraction (job->rate > 0 ? job->rate : 30, &info->fps_n, &info->fps_d);
  g_strlcpy (run->row->format, format, sizeof run->row->format);
  run->row->frame_bytes = GST_VIDEO_INFO_SIZE (info);
  return TRUE;
}

static void
init_camera (Run *run, BenchCamera *camera, int number, const GstVideoInfo *info)
{
  const BenchJob *job = run->job;
  double rate = job->rate > 0 ? job->rate : 30;

  *camera = (BenchCamera) { .gate = &run->gate, .info = *info, .memory = job->memory, .real_time = job->rate > 0,
    .wanted_frames = count_frames_wanted (job, GST_VIDEO_INFO_SIZE (info)), .skew = number * 7,
    .gpu = job->gpus ? number % job->gpus : 0, .interval = (guint64) (GST_SECOND / rate) };
  camera->caps = gst_video_info_to_caps (info);
  if (job->memory == BENCH_CUDA)
    gst_caps_set_features_simple (camera->caps, gst_caps_features_new ("memory:CUDAMemory", NULL));
  camera->phase = camera->interval * (guint64) number / (guint64) job->cameras; /* they are not in step */
  camera->first = BENCH_PRIMERS + (guint64) (run->opt->warm_up * rate);
  camera->end = camera->first + (run->opt->frames ? (guint64) run->opt->frames :
      MAX (1, (guint64) (run->opt->seconds * rate)));
  camera->wanted = (guint64) run->opt->frames;
  camera->latency = g_array_sized_new (FALSE, FALSE, sizeof (guint64), 4096);
  g_mutex_init (&camera->lock);
}

/* A short one: what waits in it counts as time that a frame takes. */
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
  bench_context_share (pipeline, run->job->gpus ? camera->gpu : -1);
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

  for (int i = 0; i < run->job->cameras; i++) {
    GstElement *bin = bench_line_new (run->job, i, run->row);
    const char *format = bin && i == 0 ? bench_line_format (bin, run->job, run->row) : run->row->format;

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

/* ---- watched ------------------------------------------------------------ */

/* What the pipelines say; FALSE after an error. */
static gboolean
read_bus (Run *run, int i)
{
  GstBus *bus = gst_element_get_bus (run->pipelines[i]);
  GstMessage *message;

  while ((message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING | GST_MESSAGE_LATENCY))) {
    g_autoptr (GError) error = NULL;
    g_autofree char *debug = NULL;

    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_LATENCY) {
      gst_bin_recalculate_latency (GST_BIN (run->pipelines[i]));
    } else if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
      gst_message_parse_error (message, &error, &debug);
      fail (run, g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED) && debug &&
          strstr (debug, "not-negotiated") ? "the line does not take such video" : error->message);
    } else if (!run->row->note[0]) {
      gst_message_parse_warning (message, &error, NULL);
      g_strlcpy (run->row->note, error->message, sizeof run->row->note);
    }
    gst_message_unref (message);
  }
  gst_object_unref (bus);
  return run->row->state == BENCH_GOOD;
}

static gboolean
all_well (Run *run)
{
  for (int i = 0; i < run->n; i++)
    if (!read_bus (run, i))
      return FALSE;
  return TRUE;
}

static void
watch_gpu (Run *run)
{
  static gint64 last;
  double use[BENCH_GPUS], memory[BENCH_GPUS];
  int n;

  if (g_get_monotonic_time () - last < GPU_EVERY || (n = bench_gpu_use (BENCH_GPUS, use, memory)) == 0)
    return;
  last = g_get_monotonic_time ();
  for (int i = 0; i < n; i++) {
    run->gpu_use[i] += use[i];
    run->gpu_memory[i] = MAX (run->gpu_memory[i], memory[i]);
  }
  run->n_gpus = n;
  run->gpu_n++;
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

/* Sleeps for a little, with an eye on all. FALSE where it has to end. */
static gboolean
idle (Run *run, const char *what, double passed)
{
  static gint64 said;
  guint64 least, n = arrived (run, &least);

  if (g_get_monotonic_time () - said > 250000) {
    said = g_get_monotonic_time ();
    bench_progress ("%s %s: %.1f s, %" G_GUINT64_FORMAT " frames", run->job->line, what, passed, n);
  }
  /* Looking at hundreds of cameras costs the time that is measured. */
  g_usleep (run->n > 16 ? 50000 : 5000);
  return !bench_stop && all_well (run);
}

/* ---- timed -------------------------------------------------------------- */

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

/* All play, and have sent what comes before the gate. */
static gboolean
start_all (Run *run)
{
  guint64 begin;

  for (int i = 0; i < run->n; i++)
    if (gst_element_set_state (run->pipelines[i], GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE) {
      all_well (run);
      return fail (run, "the pipeline does not start");
    }
  begin = bench_now ();
  while (g_atomic_int_get (&run->gate.ready) < run->n) {
    if (!idle (run, "starts", since (begin)))
      return FALSE;
    if (since (begin) > STARTED_WITHIN)
      return fail (run, "it did not come past its first frames within two minutes");
  }
  return TRUE;
}

/* Waits until all processes are here. */
static gboolean
meet (Run *run)
{
  guint64 begin = bench_now ();

  if (run->meeting)
    g_atomic_int_inc (&run->meeting->here);
  while (run->meeting && g_atomic_int_get (&run->meeting->here) < g_atomic_int_get (&run->meeting->expected)) {
    g_usleep (1000);
    if (bench_stop || !all_well (run))
      return FALSE;
    if (since (begin) > STARTED_WITHIN)
      return fail (run, "another process did not come past its first frames within two minutes");
  }
  return TRUE;
}

/* Lets the cameras through, or ends them. */
static void
set_gate (Run *run, gboolean over)
{
  g_mutex_lock (&run->gate.lock);
  if (!run->gate.open)
    run->gate.start = g_get_monotonic_time () + 1000;
  g_atomic_int_set (&run->gate.over, over);
  g_atomic_int_set (&run->gate.open, TRUE);
  g_cond_broadcast (&run->gate.changed);
  g_mutex_unlock (&run->gate.lock);
}

/* Have all cameras what is wanted of them? In real time the clock says so. */
static gboolean
enough (Run *run, guint64 last_due)
{
  guint64 least;

  arrived (run, &least);
  if (run->job->rate > 0)
    return bench_now () > last_due;
  if (run->opt->frames)
    return least >= (guint64) run->opt->frames;
  return since (run->from) >= run->opt->seconds && least >= 2;
}

/* Open gate, warm-up, counting. FALSE where it has to end before anything counts. */
static gboolean
count_frames (Run *run)
{
  const BenchCamera *last = &run->cameras[run->n - 1];
  guint64 begin, progress = 0, moved, least;

  set_gate (run, FALSE);
  begin = bench_now ();
  while (since (begin) < run->opt->warm_up)
    if (!idle (run, "warms up", since (begin)))
      return FALSE;
  bench_stats_mark (&run->stats);
  run->from = bench_now ();
  run->cpu_before = cpu_seconds ();
  g_atomic_int_set (&run->gate.counting, 1);
  moved = run->from;
  /* A frame that is due last may still come in time for two more intervals. */
  while (!enough (run, bench_camera_due (last, last->end) + 2 * last->interval)) {
    if (arrived (run, &least) != progress) {
      progress = arrived (run, &least);
      moved = bench_now ();
    }
    if (since (moved) > NOTHING_FOR)
      return fail (run, "no frame came out for a minute");
    watch_gpu (run);
    if (!idle (run, "", since (run->from)))
      break;
  }
  g_atomic_int_set (&run->gate.counting, 0);
  run->cpu = cpu_seconds ();
  run->to = bench_now ();
  bench_stats_read (&run->stats, run->row);
  return run->row->state == BENCH_GOOD;
}

/* Sends the end through, so that frames under way arrive, and takes all down. */
static void
end_all (Run *run)
{
  guint64 begin = bench_now ();

  set_gate (run, TRUE);
  for (int i = 0; i < run->n && run->row->state == BENCH_GOOD; i++) {
    GstBus *bus = gst_element_get_bus (run->pipelines[i]);
    double left = MAX (0, ENDED_WITHIN - since (begin));
    GstMessage *message = gst_bus_timed_pop_filtered (bus, (GstClockTime) (left * 1e9),
        GST_MESSAGE_EOS | GST_MESSAGE_ERROR);

    g_clear_pointer (&message, gst_message_unref);
    gst_object_unref (bus);
  }
  for (int i = 0; i < run->n; i++) {
    gst_element_set_state (run->pipelines[i], GST_STATE_NULL);
    gst_object_unref (run->pipelines[i]);
  }
  bench_stats_clear (&run->stats);
}

/* ---- told --------------------------------------------------------------- */

/* In real time: frames that were due until the end, or until Ctrl-C. */
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
tell (Run *run)
{
  BenchRow *row = run->row;
  GArray *latency = g_array_new (FALSE, FALSE, sizeof (guint64));
  const guint64 *sorted;

  for (int i = 0; i < run->n; i++)
    sum_camera (run, &run->cameras[i], latency);
  row->seconds = (double) (run->to - run->from) / 1e9;
  if (run->job->rate > 0 && row->due)
    row->fps = (double) row->frames * run->job->rate * run->n / (double) row->due;
  row->ms = row->fps > 0 ? 1e3 / row->fps : 0;
  bench_sort ((guint64 *) latency->data, latency->len);
  sorted = (const guint64 *) latency->data;
  row->p50 = (double) bench_percentile (sorted, latency->len, 50) / 1e6;
  row->p99 = (double) bench_percentile (sorted, latency->len, 99) / 1e6;
  row->max = (double) bench_percentile (sorted, latency->len, 100) / 1e6;
  row->cores = row->seconds > 0 ? (run->cpu - run->cpu_before) / row->seconds : 0;
  row->cpu_ms = row->fps > 0 ? 1e3 * row->cores / row->fps : 0;
  row->n_gpus = run->gpu_n ? run->n_gpus : 0;
  for (int i = 0; i < row->n_gpus; i++) {
    row->gpu[i].use = run->gpu_use[i] / run->gpu_n;
    row->gpu[i].memory = run->gpu_memory[i];
  }
  for (guint i = 0; i < latency->len; i++)
    bench_took (row, sorted[i]);
  g_array_unref (latency);
  /* In real time that is a result, too: all were dropped. */
  if (row->frames == 0 && row->due == 0)
    fail (run, row->interrupted ? "ended before a frame could be counted" : "no frame came out");
}

static void
free_cameras (Run *run)
{
  for (int i = 0; i < run->job->cameras && run->cameras[i].caps; i++) {
    gst_caps_unref (run->cameras[i].caps);
    g_array_unref (run->cameras[i].latency);
    g_mutex_clear (&run->cameras[i].lock);
  }
  g_free (run->cameras);
  g_free (run->pipelines);
  g_mutex_clear (&run->gate.lock);
  g_cond_clear (&run->gate.changed);
}

void
bench_run (const BenchOptions *opt, const BenchJob *job, BenchMeeting *meeting, BenchRow *row)
{
  Run run = { .opt = opt, .job = job, .meeting = meeting, .row = row };
  gboolean counted;

  g_mutex_init (&run.gate.lock);
  g_cond_init (&run.gate.changed);
  run.cameras = g_new0 (BenchCamera, job->cameras);
  run.pipelines = g_new0 (GstElement *, job->cameras);
  counted = make_all (&run) && start_all (&run) && meet (&run) && count_frames (&run);
  row->interrupted = bench_stop;
  if (run.cameras[0].frames) {
    g_strlcpy (row->memory, run.cameras[0].frames->memory, sizeof row->memory);
    row->rotating = run.cameras[0].frames->n;
  }
  end_all (&run);
  if (counted)
    tell (&run);
  else if (row->state == BENCH_GOOD)
    fail (&run, "ended before it could be measured");
  free_cameras (&run);
}
