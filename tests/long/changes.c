/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * changes.c: `soak --changes`. Runs video through cudaconvolve while another thread changes preset,
 * kernel-size and kernel a hundred times a second, or through cudasegment with its output, cell-size
 * and merge-threshold. Every frame must come, in order, and must equal the result of one setting: one
 * that was in force at some time between the frame's arrival and its departure. At the end the
 * process must not hold more resources than after the first seconds.
 *
 * The expected results are computed first, on the CPU, by one element per setting that is not
 * changed. */
#include "elements/stats.h"
#include "soak.h"

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/video/video.h>
#include <stdio.h>
#include <string.h>

#define N_INPUTS 7 /* input frames, which repeat */
#define PATIENCE (60 * G_USEC_PER_SEC)

/* The properties that change, and their values. A setting has an index for each. */
typedef struct {
  const char *name, *values[11];
} Property;

typedef struct {
  int at[3];
} Setting;

/* kernel-size has an effect on the first presets only; `kernel` on the last one only, which setting it selects. */
static const Property convolve_properties[3] = {
  { "preset", { "box", "gauss", "unsharp", "log", "motion", "identity", "sharpen", "sobel", "emboss", "custom" } },
  { "kernel-size", { "1", "3", "7", "15", "31" } },
  { "kernel",
      { "0 -1 0; -1 5 -1; 0 -1 0", "1 0", "1; 0; 0; 0", "1 2 1; 2 4 2; 1 2 1", "-1.5 0.25 3; 1e-1 .5 7",
          "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "0 0 0; 0 1 0; 0 0 0" } },
};
#define N_SIZED 5
#define CUSTOM 9

/* With temporal=0 a result does not depend on the frames before. */
static const Property segment_properties[3] = {
  { "output", { "mean", "boundaries", "labels", "passthrough" } },
  { "cell-size", { "0", "1", "2", "5", "16" } },
  { "merge-threshold", { "0.1", "0", "0.03", "0.5" } },
};

#define N_RESULTS 80 /* of segment; convolve has 57 */

static gboolean segment; /* the filter */
static const Property *properties;

static int
n_values (int property)
{
  int n = 0;

  while (properties[property].values[n])
    n++;
  return n;
}

/* Returns the number that settings with the same result share. */
static int
result_of (const Setting *s)
{
  if (segment)
    return (s->at[0] * n_values (1) + s->at[1]) * n_values (2) + s->at[2];
  if (s->at[0] == CUSTOM)
    return CUSTOM * n_values (1) + s->at[2];
  return s->at[0] * n_values (1) + (s->at[0] < N_SIZED ? s->at[1] : 0);
}

static GstVideoInfo info;
static GstCaps *caps;
static GstBuffer *inputs[N_INPUTS];
static guint64 expected[N_RESULTS][N_INPUTS];

/* ---- frames and expected results -------------------------------------- */

/* Returns a hash of the visible samples. */
static guint64
hash_frame (GstBuffer *buffer)
{
  guint64 hash = 14695981039346656037u;
  GstVideoFrame f;

  if (!gst_video_frame_map (&f, &info, buffer, GST_MAP_READ))
    return 0;
  for (guint p = 0; p < GST_VIDEO_FRAME_N_PLANES (&f); p++) {
    gint comp[GST_VIDEO_MAX_COMPONENTS];
    gsize bytes;

    gst_video_format_info_component (info.finfo, p, comp);
    bytes = (gsize) GST_VIDEO_FRAME_COMP_WIDTH (&f, comp[0]) * (gsize) GST_VIDEO_FRAME_COMP_PSTRIDE (&f, comp[0]);
    for (gint y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT (&f, comp[0]); y++) {
      const guint8 *row = (const guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&f, p) +
          (gsize) y * (gsize) GST_VIDEO_FRAME_PLANE_STRIDE (&f, p);

      for (gsize x = 0; x < bytes; x++)
        hash = (hash ^ row[x]) * 1099511628211u;
    }
  }
  gst_video_frame_unmap (&f);
  return hash;
}

/* Blocks of random sizes and colours with noise: every kernel has a visible effect. */
static void
make_inputs (void)
{
  GRand *random = g_rand_new_with_seed (4);

  for (int i = 0; i < N_INPUTS; i++) {
    GstMapInfo map;
    guint8 level = 0;

    inputs[i] = gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (&info), NULL);
    if (!gst_buffer_map (inputs[i], &map, GST_MAP_WRITE))
      continue;
    for (gsize at = 0; at < map.size; at++) {
      if (g_rand_int (random) % 23 == 0)
        level = (guint8) g_rand_int (random);
      map.data[at] = (guint8) CLAMP (level + (int) (g_rand_int (random) % 9) - 4, 0, 255);
    }
    gst_buffer_unmap (inputs[i], &map);
  }
  g_rand_free (random);
}

static GstElement *
make_pipeline (const char *backend, const char *sink)
{
  gchar *line = g_strdup_printf ("appsrc name=src format=time ! %s name=f backend=%s on-gpu-error=error ! %s",
      segment ? "cudasegment temporal=0" : "cudaconvolve", backend, sink);
  GError *error = NULL;
  GstElement *pipeline = gst_parse_launch (line, &error), *src;

  if (error)
    printf ("%s: %s\n", line, error->message);
  g_free (line);
  if (error) {
    g_clear_error (&error);
    return NULL;
  }
  src = gst_bin_get_by_name (GST_BIN (pipeline), "src");
  gst_app_src_set_caps (GST_APP_SRC (src), caps);
  gst_object_unref (src);
  return pipeline;
}

static GstBuffer *
input_frame (guint64 number)
{
  GstBuffer *frame = gst_buffer_copy (inputs[number % N_INPUTS]);
  guint64 fps = options.fps ? (guint64) options.fps : 60;

  GST_BUFFER_PTS (frame) = gst_util_uint64_scale (number, GST_SECOND, fps);
  GST_BUFFER_DURATION (frame) = GST_SECOND / fps;
  GST_BUFFER_OFFSET (frame) = number;
  return frame;
}

static void
apply (GstElement *element, const Setting *s, int property)
{
  gst_util_set_object_arg (G_OBJECT (element), properties[property].name, properties[property].values[s->at[property]]);
}

static void
apply_all (GstElement *element, const Setting *s)
{
  for (int i = 0; i < (segment || s->at[0] == CUSTOM ? 3 : 2); i++)
    apply (element, s, i);
}

/* Computes the results of one setting for all inputs. */
static gboolean
expect_setting (const Setting *s)
{
  GstElement *pipeline = make_pipeline ("cpu", "appsink name=out sync=false"), *f, *src, *out;
  gboolean good = pipeline != NULL;

  if (!good)
    return FALSE;
  f = gst_bin_get_by_name (GST_BIN (pipeline), "f");
  src = gst_bin_get_by_name (GST_BIN (pipeline), "src");
  out = gst_bin_get_by_name (GST_BIN (pipeline), "out");
  apply_all (f, s);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  for (guint64 i = 0; good && i < N_INPUTS; i++) {
    GstSample *sample;

    gst_app_src_push_buffer (GST_APP_SRC (src), input_frame (i));
    sample = gst_app_sink_pull_sample (GST_APP_SINK (out));
    good = sample != NULL;
    if (sample) {
      expected[result_of (s)][i] = hash_frame (gst_sample_get_buffer (sample));
      gst_sample_unref (sample);
    }
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (f);
  gst_object_unref (src);
  gst_object_unref (out);
  gst_object_unref (pipeline);
  return good;
}

/* Computes all results. Returns their number, 0 on failure. */
static int
expect_all (void)
{
  gboolean known[N_RESULTS] = { FALSE };
  int n = 0;

  for (int i = 0; i < n_values (0) * n_values (1) * n_values (2); i++) {
    Setting s = { { i / n_values (2) / n_values (1), i / n_values (2) % n_values (1), i % n_values (2) } };

    if (known[result_of (&s)])
      continue;
    if (!expect_setting (&s))
      return 0;
    known[result_of (&s)] = TRUE;
    n++;
  }
  return n;
}

/* ---- the thread that changes settings --------------------------------- */

static Setting *history; /* the setting after each change; [0] is the initial one */
static gint history_size;
static gint begun, done; /* atomic: changes begun, changes done */

/* What follows changes under this lock. */
static GMutex lock;
static GCond changed;
static gint stop;                      /* 1: change no more, 2: end the stream */
static enum { NO, WANTED, HERE } rest; /* with the initial setting */
static guint64 left;                   /* frames that have left the element */

static void
change_to (GstElement *f, Setting s, int property)
{
  gint n = g_atomic_int_get (&done);

  history[n + 1] = s;
  g_atomic_int_set (&begun, n + 1);
  apply (f, &s, property);
  g_atomic_int_set (&done, n + 1);
}

static void
change_back (GstElement *f)
{
  static const int order[3] = { 1, 0, 2 };
  Setting s = history[g_atomic_int_get (&done)];

  for (int i = 0; i < 3; i++) {
    s.at[order[i]] = history[0].at[order[i]];
    change_to (f, s, order[i]);
  }
}

static void
change_one (GstElement *f, GRand *random)
{
  Setting s = history[g_atomic_int_get (&done)];
  int property = g_rand_int_range (random, 0, 3);

  s.at[property] = g_rand_int_range (random, 0, n_values (property));
  if (!segment && property == 2)
    s.at[0] = CUSTOM;
  change_to (f, s, property);
}

static gpointer
change_settings (gpointer f)
{
  GRand *random = g_rand_new_with_seed (5);
  gint64 next = g_get_monotonic_time ();

  g_mutex_lock (&lock);
  while (!stop && g_atomic_int_get (&done) + 4 < history_size) {
    const gboolean back = rest == WANTED, resting = rest == HERE;

    g_mutex_unlock (&lock);
    if (back)
      change_back (f);
    else if (!resting)
      change_one (f, random);
    g_mutex_lock (&lock);
    if (back)
      rest = HERE;
    g_cond_broadcast (&changed);
    next += 1000000 / options.hz;
    while (!stop && rest != WANTED && g_cond_wait_until (&changed, &lock, next))
      continue;
  }
  g_mutex_unlock (&lock);
  g_rand_free (random);
  return NULL;
}

/* ---- frames -------------------------------------------------------------- */

/* Used by the streaming thread; `pushed` by appsrc's. */
static guint64 pushed, entered, wrong, out_of_order;
static gint done_at_entry;
static gint64 entry_time, longest, gap, last_exit;
static gboolean seen[N_RESULTS];

static void
push_one (GstAppSrc *src, guint length, gpointer user)
{
  gboolean end;

  (void) length;
  (void) user;
  g_mutex_lock (&lock);
  end = stop > 1;
  g_mutex_unlock (&lock);
  if (end)
    gst_app_src_end_of_stream (src);
  else
    gst_app_src_push_buffer (src, input_frame (pushed++));
}

static GstPadProbeReturn
on_entry (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  (void) pad;
  (void) probe;
  (void) user;
  entered++;
  entry_time = g_get_monotonic_time ();
  done_at_entry = g_atomic_int_get (&done);
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn
on_exit_pad (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (probe);
  gint64 now = g_get_monotonic_time ();
  gint last = g_atomic_int_get (&begun), first = done_at_entry;
  guint64 hash = hash_frame (buffer), number = GST_BUFFER_OFFSET (buffer);
  gboolean right = FALSE;

  (void) pad;
  (void) user;
  for (gint n = first; n <= last && !right; n++) {
    int r = result_of (&history[n]);

    right = expected[r][number % N_INPUTS] == hash;
    seen[r] = seen[r] || right;
  }
  if (!right && wrong++ < 5)
    printf ("frame %" G_GUINT64_FORMAT " equals the result of none of changes %d to %d; last setting: %d, %d, %d\n",
        number, first, last, history[last].at[0], history[last].at[1], history[last].at[2]);
  g_mutex_lock (&lock);
  out_of_order += number != left;
  left++;
  g_cond_broadcast (&changed);
  g_mutex_unlock (&lock);
  longest = MAX (longest, now - entry_time);
  if (last_exit)
    gap = MAX (gap, now - last_exit);
  last_exit = now;
  return GST_PAD_PROBE_OK;
}

static void
add_probe (GstElement *f, const char *name, GstPadProbeCallback callback)
{
  GstPad *pad = gst_element_get_static_pad (f, name);

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, callback, NULL, NULL);
  gst_object_unref (pad);
}

/* Prints the messages of the bus until the end of the stream, an error or a time, and adds the number
 * of warnings and errors to *bad. Returns whether the stream has ended. */
static gboolean
read_bus (GstElement *pipeline, gint64 until, int *bad)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message;
  gboolean end = FALSE;

  while (!end &&
      (message = gst_bus_timed_pop_filtered (bus, (GstClockTime) MAX (0, until - g_get_monotonic_time ()) * GST_USECOND,
           GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING))) {
    GError *error = NULL;

    end = GST_MESSAGE_TYPE (message) != GST_MESSAGE_WARNING;
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
      gst_message_parse_error (message, &error, NULL);
    else if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING)
      gst_message_parse_warning (message, &error, NULL);
    *bad += error != NULL;
    if (error)
      printf ("%s: %s\n", GST_MESSAGE_TYPE_NAME (message), error->message);
    g_clear_error (&error);
    gst_message_unref (message);
  }
  gst_object_unref (bus);
  return end;
}

/* ---- the run ------------------------------------------------------------- */

static void
check_run (GstElement *f, int n_results)
{
  guint64 gpu = stat_of (f, "frames-gpu"), cpu = stat_of (f, "frames-cpu"), passed_by = stat_of (f, "frames-passed");
  gchar *text = g_strdup_printf ("%" G_GUINT64_FORMAT " pushed, %" G_GUINT64_FORMAT " in, %" G_GUINT64_FORMAT
                                 " out, %" G_GUINT64_FORMAT " counted",
      pushed, entered, left, gpu + cpu + passed_by);
  gboolean on_gpu = g_strcmp0 (options.backend, "cuda") == 0;
  int kinds = 0;

  for (int i = 0; i < N_RESULTS; i++)
    kinds += seen[i];
  printf ("%s: %s; %" G_GUINT64_FORMAT " by the GPU, %" G_GUINT64_FORMAT " by the CPU, %" G_GUINT64_FORMAT
          " passed; %d changes, %d of %d results seen\n",
      options.format, text, gpu, cpu, passed_by, done, kinds, n_results);
  printf ("longest time of a frame in the element %.1f ms, longest time between two frames %.1f ms\n",
      (double) longest / 1e3, (double) gap / 1e3);
  result (left == pushed && entered == pushed && gpu + cpu + passed_by == pushed && pushed > 0, "frames", text);
  result (out_of_order == 0, "order", "a frame came out of order");
  result (wrong == 0, "content", "a frame equals the result of no setting");
  result (kinds >= MIN (n_results, options.seconds * options.hz / 40), "changes", "few settings were seen");
  result (done >= options.seconds * options.hz / 2, "changes", "fewer than half of the requested ones");
  result ((on_gpu ? cpu : gpu) == 0 && stat_of (f, "frames-fallback") == 0, "backend",
      "the other backend filtered frames");
  g_free (text);
}

/* Waits until ten more frames have left the element; the bus says why they do not. With the lock. */
static void
wait_for_frames (void)
{
  const gint64 end = g_get_monotonic_time () + PATIENCE;
  const guint64 enough = left + 10;

  while (left < enough && g_cond_wait_until (&changed, &lock, end))
    continue;
}

/* Measures the resources with the initial setting, because the memory of a plan depends on its
 * setting. */
static Usage
usage_at_rest (const Usage *before)
{
  const gint64 end = g_get_monotonic_time () + PATIENCE;
  Usage usage;

  g_mutex_lock (&lock);
  rest = WANTED;
  g_cond_broadcast (&changed);
  while (rest != HERE && g_cond_wait_until (&changed, &lock, end))
    continue;
  wait_for_frames ();
  g_mutex_unlock (&lock);
  usage = usage_now (before);
  g_mutex_lock (&lock);
  rest = NO;
  g_mutex_unlock (&lock);
  return usage;
}

static void
set_stop (gint value)
{
  g_mutex_lock (&lock);
  stop = value;
  g_cond_broadcast (&changed);
  if (stop == 1)
    wait_for_frames (); /* with the last setting */
  g_mutex_unlock (&lock);
}

static void
play (int n_results)
{
  gchar *sink = g_strdup_printf ("fakesink sync=%s", options.fps ? "true" : "false");
  GstElement *pipeline = make_pipeline (options.backend, sink), *f, *src;
  gint64 start = g_get_monotonic_time ();
  Usage early, late;
  GThread *thread;
  gboolean end;
  int bad = 0;

  g_free (sink);
  result (pipeline != NULL, "pipeline", "could not be created");
  if (!pipeline)
    return;
  f = gst_bin_get_by_name (GST_BIN (pipeline), "f");
  src = gst_bin_get_by_name (GST_BIN (pipeline), "src");
  g_signal_connect (src, "need-data", G_CALLBACK (push_one), NULL);
  add_probe (f, "sink", on_entry);
  add_probe (f, "src", on_exit_pad);
  history_size = (options.seconds + 30) * options.hz * 2;
  history = g_new0 (Setting, history_size);
  history[0].at[0] = segment ? 0 : CUSTOM;
  apply_all (f, &history[0]);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  thread = g_thread_new ("setter", change_settings, f);
  end = read_bus (pipeline, start + MAX (1, options.seconds / 10) * G_USEC_PER_SEC, &bad);
  early = usage_at_rest (NULL);
  end = end || read_bus (pipeline, start + options.seconds * G_USEC_PER_SEC, &bad);
  late = usage_at_rest (&early);
  set_stop (1);
  g_thread_join (thread);
  set_stop (2);
  end = end || read_bus (pipeline, g_get_monotonic_time () + PATIENCE, &bad);
  result (end && bad == 0, "messages", "a warning, an error, or no end");
  check_run (f, n_results);
  print_usage ("after the first seconds:", &early);
  print_usage ("in the end:", &late);
  compare_usage ("usage", &early, &late);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (f);
  gst_object_unref (src);
  gst_object_unref (pipeline);
  g_free (history);
}

void
many_changes (void)
{
  gchar *text = g_strdup_printf ("video/x-raw,format=%s,width=%d,height=%d,framerate=%d/1", options.format,
      options.width, options.height, options.fps ? options.fps : 60);
  int n = 0;

  segment = g_strcmp0 (options.filter, "segment") == 0;
  properties = segment ? segment_properties : convolve_properties;
  caps = gst_caps_from_string (text);
  result (caps && gst_video_info_from_caps (&info, caps), "caps", text);
  g_free (text);
  if (failed)
    return;
  make_inputs ();
  n = expect_all ();
  result (n > 0, "expectation", "a setting could not be run");
  if (n > 0)
    play (n);
  for (int i = 0; i < N_INPUTS; i++)
    gst_buffer_unref (inputs[i]);
  gst_caps_unref (caps);
}
