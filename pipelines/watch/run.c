/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * run.c: one pipeline of a camera. */
#include "run.h"

#include "elements.h"
#include "encode.h"
#include "filter.h"
#include "gpu.h"
#include "run-private.h"
#include "secrets.h"
#include "trust.h"

#include <gst/video/video.h>
#include <string.h>

#define QUEUED 10 /* frames that may wait for the filter: a third of a second, as an encoder needs to start */
#define QUEUED_BYTES (512 << 20) /* of them: ten of the largest pictures would be gigabytes */

/* ---- threads ------------------------------------------------------------- */

void
in_main (GSourceFunc function, gpointer data)
{
  g_idle_add_full (G_PRIORITY_DEFAULT, function, data, NULL);
}

typedef struct {
  void (*function) (gpointer data);
  gpointer data;
} Job;

static void
do_job (gpointer job, gpointer data)
{
  Job it = *(Job *) job;

  (void) data;
  g_free (job);
  it.function (it.data);
}

void
in_pool (void (*function) (gpointer data), gpointer data)
{
  static GThreadPool *pool; /* for the life of the process */
  static gsize made;
  Job *job = g_new (Job, 1);

  if (g_once_init_enter (&made)) {
    pool = g_thread_pool_new (do_job, NULL, -1, FALSE, NULL); /* does not fail without a limit */
    g_once_init_leave (&made, 1);
  }
  job->function = function;
  job->data = data;
  g_thread_pool_push (pool, job, NULL);
}

/* ---- what streaming threads note ----------------------------------------- */

static void
post (Run *run, GstStructure *structure)
{
  gst_element_post_message (run->pipeline, gst_message_new_application (GST_OBJECT (run->pipeline), structure));
}

static GstPadProbeReturn
count (GstPad *pad, GstPadProbeInfo *info, gpointer counter)
{
  (void) pad;
  (void) info;
  atomic_fetch_add ((_Atomic guint64 *) counter, 1);
  return GST_PAD_PROBE_OK;
}

static void
add_probe (GstElement *element, const char *pad_name, GstPadProbeType type, GstPadProbeCallback probe, gpointer data)
{
  GstPad *pad = gst_element_get_static_pad (element, pad_name);

  gst_pad_add_probe (pad, type, probe, data, NULL);
  gst_object_unref (pad);
}

void
run_count_queue (RunQueue *queue)
{
  add_probe (queue->queue, "sink", GST_PAD_PROBE_TYPE_BUFFER, count, &queue->arrived);
  add_probe (queue->queue, "src", GST_PAD_PROBE_TYPE_BUFFER, count, &queue->taken);
}

static guint64
count_dropped (RunQueue *queue)
{
  guint64 taken = atomic_load (&queue->taken), arrived = atomic_load (&queue->arrived);
  guint waiting = 0;

  if (!queue->queue)
    return 0;
  /* The three are not read at one moment: the queue's own frames are left out with one to spare. */
  g_object_get (queue->queue, "current-level-buffers", &waiting, NULL);
  if (arrived > taken + waiting + 1)
    queue->dropped = MAX (queue->dropped, arrived - taken - waiting - 1);
  return queue->dropped;
}

static void
note_caps (Run *run, GstEvent *event)
{
  g_autofree char *unfit = NULL;
  GstVideoInfo info;
  GstCaps *caps;

  gst_event_parse_caps (event, &caps);
  if (!gst_video_info_from_caps (&info, caps))
    return;
  atomic_store (&run->width, GST_VIDEO_INFO_WIDTH (&info));
  atomic_store (&run->height, GST_VIDEO_INFO_HEIGHT (&info));
  if (run->encoder && (unfit = run_fit_encoder (run, GST_VIDEO_INFO_WIDTH (&info), GST_VIDEO_INFO_HEIGHT (&info))))
    post (run, gst_structure_new (RUN_UNFIT, "reason", G_TYPE_STRING, unfit, NULL));
  gst_clear_structure (&run->size);
  run->size = gst_structure_new (RUN_SIZE, "width", G_TYPE_INT, GST_VIDEO_INFO_WIDTH (&info), "height", G_TYPE_INT,
      GST_VIDEO_INFO_HEIGHT (&info), "format", G_TYPE_STRING,
      gst_video_format_to_string (GST_VIDEO_INFO_FORMAT (&info)), "rate", GST_TYPE_FRACTION,
      GST_VIDEO_INFO_FPS_N (&info), GST_VIDEO_INFO_FPS_D (&info), NULL);
}

/* Sees what leaves the filter. A size counts with its first frame: turned pictures have another one before. */
static GstPadProbeReturn
on_output (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Run *run = data;

  if (info->type & GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM) {
    if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_CAPS)
      note_caps (run, GST_PAD_PROBE_INFO_EVENT (info));
    return GST_PAD_PROBE_OK;
  }
  atomic_store (&run->last_frame, g_get_monotonic_time ());
  if (run->size)
    post (run, g_steal_pointer (&run->size));
  if (atomic_fetch_add (&run->frames, 1) == 0)
    post (run, gst_structure_new_empty (RUN_FIRST_FRAME));
  if (atomic_load (&run->wants_shot))
    run_take_shot (run, pad, GST_PAD_PROBE_INFO_BUFFER (info));
  return GST_PAD_PROBE_OK;
}

RunCounts
run_counts (Run *run)
{
  RunCounts counts = { .frames = atomic_load (&run->frames),
    .last_frame = atomic_load (&run->last_frame),
    .width = atomic_load (&run->width),
    .height = atomic_load (&run->height) };

  counts.dropped = count_dropped (&run->input);
  counts.not_encoded = count_dropped (&run->encode);
  return counts;
}

/* ---- sources ------------------------------------------------------------- */

static void
set_if_there (GObject *object, const char *property, const char *value)
{
  if (g_object_class_find_property (G_OBJECT_GET_CLASS (object), property))
    gst_util_set_object_arg (object, property, value);
}

/* Sets what a source of this kind has. */
static void
set_up_source (GstElement *decoder, GstElement *source, gpointer data)
{
  static const char *const protocols
      [] = { [TRANSPORT_TCP] = "tcp", [TRANSPORT_UDP] = "udp+udp-mcast", [TRANSPORT_AUTO] = "tcp+udp+udp-mcast" };
  Run *run = data;
  const CameraSettings *s = run->settings;
  GObject *object = G_OBJECT (source);
  GstElementFactory *factory = gst_element_get_factory (source);
  g_autofree char *latency = g_strdup_printf ("%u", s->latency), *us = g_strdup_printf ("%u000000", s->timeout);

  (void) decoder;
  if (s->live || s->http) /* a file is no longer than it is */
    run_limit_bytes (run, source);
  trust_set_up (source, run->pipeline, s);
  if (!factory || g_strcmp0 (GST_OBJECT_NAME (factory), "rtspsrc"))
    return;
  run_limit_streams (run, source);
  set_if_there (object, "protocols", protocols[s->transport]);
  set_if_there (object, "latency", latency);
  set_if_there (object, "tcp-timeout", us); /* a server that does not answer */
  set_if_there (object, "timeout", us);
}

/* Sees each element that a decoder takes. A camera over HTTP has no clock of its own, and its JPEGs are not waited
 * for. */
static void
set_up_part (GstBin *decoder, GstBin *bin, GstElement *element, gpointer data)
{
  GstElementFactory *factory = gst_element_get_factory (element);
  Run *run = data;

  (void) decoder;
  (void) bin;
  run_limit_size (run, element);
  if (run->settings->http && factory && !g_strcmp0 (GST_OBJECT_NAME (factory), "cf-watch-parts"))
    gst_util_set_object_arg (G_OBJECT (run->input.queue), "leaky", "downstream");
}

/* Has only what may hold pictures decoded. The first kind that may not is for the sentence of on_no_more_pads (). */
static gboolean
continue_decoding (GstElement *decoder, GstPad *pad, GstCaps *caps, gpointer data)
{
  const char *none = NULL;
  Run *run = data;

  (void) decoder;
  (void) pad;
  if (trust_caps (caps))
    return TRUE;
  atomic_compare_exchange_strong (&run->refused, &none,
      g_intern_string (gst_structure_get_name (gst_caps_get_structure (caps, 0))));
  return FALSE;
}

/* Links the first picture that a decoder finds; everything else that it finds ends nowhere. */
static void
on_pad (GstElement *decoder, GstPad *pad, gpointer data)
{
  Run *run = data;
  GstPad *sink = gst_element_get_static_pad (run->head, "sink");
  GstCaps *caps = gst_pad_get_current_caps (pad);

  (void) decoder;
  if (!caps)
    caps = gst_pad_query_caps (pad, NULL);
  if (gst_caps_get_size (caps) > 0 && !gst_pad_is_linked (sink) &&
      g_str_has_prefix (gst_structure_get_name (gst_caps_get_structure (caps, 0)), "video/x-raw")) {
    run_turn_pictures (run, pad);
    if (GST_PAD_LINK_FAILED (gst_pad_link (pad, sink)))
      GST_ELEMENT_ERROR (run->pipeline, STREAM, FORMAT, ("The pictures have a format that nothing here takes"), (NULL));
  }
  gst_caps_unref (caps);
  gst_object_unref (sink);
}

/* Sees that a file has no more streams. */
static void
on_no_more_pads (GstElement *decoder, gpointer data)
{
  Run *run = data;
  const char *refused = atomic_load (&run->refused);
  GstPad *sink = gst_element_get_static_pad (run->head, "sink");

  (void) decoder;
  if (!gst_pad_is_linked (sink))
    GST_ELEMENT_ERROR (run->pipeline, STREAM, WRONG_TYPE,
        ("There is no picture in it%s%s%s", refused ? ", but " : "", refused ? refused : "",
            refused && !g_str_has_prefix (refused, "audio/") ? "; playlists and the like are not followed" : ""),
        (NULL));
  gst_object_unref (sink);
}

/* Adds an element to the pipeline. Returns NULL with a sentence if there is no such element. */
static GstElement *
add (Run *run, const char *factory, const char *name, GString *wrong)
{
  GstElement *element = gst_element_factory_make (factory, name);

  if (element)
    gst_bin_add (GST_BIN (run->pipeline), element);
  else
    element_missing (factory, wrong);
  return element;
}

static GstElement *
add_size (Run *run, gboolean jpeg, GString *wrong)
{
  const CameraSettings *s = run->settings;
  GstElement *filter = add (run, "capsfilter", NULL, wrong);
  GstCaps *caps = gst_caps_new_empty_simple ("video/x-raw");

  if (!jpeg) /* what decoders make; of test pictures any format could come */
    gst_caps_set_simple (caps, "format", G_TYPE_STRING, "I420", NULL);
  else
    gst_caps_append (caps, gst_caps_new_empty_simple ("image/jpeg"));
  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    GstStructure *structure = gst_caps_get_structure (caps, i);

    if (s->width)
      gst_structure_set (structure, "width", G_TYPE_INT, (int) s->width, NULL);
    if (s->height)
      gst_structure_set (structure, "height", G_TYPE_INT, (int) s->height, NULL);
    if (s->rate)
      gst_structure_set (structure, "framerate", GST_TYPE_FRACTION, (int) s->rate, 1, NULL);
  }
  if (filter)
    g_object_set (filter, "caps", caps, NULL);
  gst_caps_unref (caps);
  return filter;
}

static gboolean
add_test (Run *run, GString *wrong)
{
  GstElement *source = add (run, "videotestsrc", "source", wrong), *size = add_size (run, FALSE, wrong);
  GValue value = G_VALUE_INIT;

  if (!source || !size)
    return FALSE;
  g_value_init (&value, g_object_class_find_property (G_OBJECT_GET_CLASS (source), "pattern")->value_type);
  if (!gst_value_deserialize (&value, run->settings->place)) {
    g_string_append_printf (wrong, "videotestsrc has no pattern \"%s\"; gst-inspect-1.0 videotestsrc lists them",
        run->settings->place);
    return FALSE;
  }
  g_object_set_property (G_OBJECT (source), "pattern", &value);
  g_object_set (source, "is-live", TRUE, NULL);
  if (gst_element_link_many (source, size, run->head, NULL))
    return TRUE;
  g_string_append_printf (wrong, "filter '%s': it takes no pictures of %u x %u with %u a second", run->settings->filter,
      run->settings->width, run->settings->height, run->settings->rate);
  return FALSE;
}

static gboolean
add_device (Run *run, GString *wrong)
{
  GstElement *source = add (run, "v4l2src", "source", wrong), *size = source ? add_size (run, TRUE, wrong) : NULL;
  GstElement *decoder = size ? add (run, "decodebin", "decoder", wrong) : NULL;

  if (!decoder)
    return FALSE;
  g_object_set (source, "device", run->settings->place, NULL);
  g_signal_connect (decoder, "deep-element-added", G_CALLBACK (set_up_part), run);
  g_signal_connect (decoder, "pad-added", G_CALLBACK (on_pad), run);
  return gst_element_link_many (source, size, decoder, NULL);
}

/* Puts the secret in the place of its name in braces: some cameras want it in the address. Returns FALSE if it is
 * missing. */
static gboolean
fill_in (GString *uri, const char *braced, const char *secret, GString *wrong)
{
  g_autofree char *escaped = secret ? g_uri_escape_string (secret, NULL, FALSE) : NULL;

  if (!strstr (uri->str, braced))
    return TRUE;
  if (escaped)
    g_string_replace (uri, braced, escaped, 0);
  else
    g_string_append_printf (wrong, "the source has %s, and the secrets have none for this camera", braced);
  return escaped != NULL;
}

/* Returns the address, with its secrets; NULL with what is wrong. */
static char *
make_uri (Run *run, GString *wrong)
{
  const CameraSettings *s = run->settings;
  g_autofree char *user = s->user ? g_strdup (s->user) : secrets_user (s->name), *password = secrets_password (s->name);
  g_autoptr (GString) uri = g_string_new (s->place);

  if (!fill_in (uri, "{user}", user, wrong) || !fill_in (uri, "{password}", password, wrong))
    return NULL;
  return g_steal_pointer (&uri->str);
}

/* A camera that sends one picture when it is asked. */
static gboolean
add_pictures (Run *run, GString *wrong)
{
  g_autofree char *uri = make_uri (run, wrong);
  g_autoptr (GError) error = NULL;
  GstElement *parts, *decoder;

  if (!uri)
    return FALSE;
  if (!(run->source = gst_element_make_from_uri (GST_URI_SRC, uri, "source", &error))) {
    g_string_append (wrong, error->message);
    return FALSE;
  }
  gst_bin_add (GST_BIN (run->pipeline), run->source);
  parts = add (run, "cf-watch-parts", "parts", wrong);
  decoder = add (run, "decodebin", "decoder", wrong);
  if (!parts || !decoder)
    return FALSE;
  set_up_source (NULL, run->source, run);
  run_ask_again (run, parts);
  gst_util_set_object_arg (G_OBJECT (run->input.queue), "leaky", "downstream");
  g_signal_connect (decoder, "deep-element-added", G_CALLBACK (set_up_part), run);
  g_signal_connect (decoder, "pad-added", G_CALLBACK (on_pad), run);
  return gst_element_link_many (run->source, parts, decoder, NULL);
}

static gboolean
add_uri (Run *run, GString *wrong)
{
  GstElement *source = add (run, "uridecodebin", "source", wrong);
  g_autofree char *uri = source ? make_uri (run, wrong) : NULL;

  if (!uri)
    return FALSE;
  g_object_set (source, "uri", uri, NULL);
  g_signal_connect (source, "source-setup", G_CALLBACK (set_up_source), run);
  g_signal_connect (source, "deep-element-added", G_CALLBACK (set_up_part), run);
  g_signal_connect (source, "autoplug-continue", G_CALLBACK (continue_decoding), run);
  g_signal_connect (source, "pad-added", G_CALLBACK (on_pad), run);
  if (!run->settings->live)
    g_signal_connect (source, "no-more-pads", G_CALLBACK (on_no_more_pads), run);
  return TRUE;
}

/* ---- the pipeline -------------------------------------------------------- */

/* Makes what stands between source and filter. Files are played at their own speed, and wait for the filter; of a
 * camera's frames those that the filter has no time for are dropped. */
static gboolean
add_head (Run *run, GstElement **last, GString *wrong)
{
  GstElement *clock = run->settings->live ? NULL : add (run, "identity", "pace", wrong);
  GstElement *convert = add (run, "videoconvert", "convert", wrong);

  run->input.queue = add (run, "queue", "input", wrong);
  if (!run->input.queue || !convert || (!run->settings->live && !clock))
    return FALSE;
  g_object_set (run->input.queue, "max-size-buffers", QUEUED, "max-size-bytes", QUEUED_BYTES, "max-size-time",
      (guint64) 0, NULL);
  if (run->settings->live)
    gst_util_set_object_arg (G_OBJECT (run->input.queue), "leaky", "downstream");
  if (clock) {
    g_object_set (clock, "sync", TRUE, NULL);
    if (!gst_element_link (clock, run->input.queue))
      return FALSE;
  }
  run->head = clock ? clock : run->input.queue;
  add_probe (run->head, "sink", GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, run_on_input, run);
  run_count_queue (&run->input);
  *last = convert;
  return gst_element_link (run->input.queue, convert);
}

static gboolean
build (Run *run, const RunPlan *plan, GString *wrong, GString *note)
{
  const char *line = *run->settings->filter ? run->settings->filter : "identity";
  GstElement *convert, *sink = add (run, "fakesink", "end", wrong), *tee = add (run, "tee", "tee", wrong);

  if (!sink || !tee || !add_head (run, &convert, wrong) || !(run->filter = filter_new ("filter ", line, wrong)))
    return FALSE;
  gst_bin_add (GST_BIN (run->pipeline), run->filter);
  g_object_set (sink, "sync", FALSE, "async", FALSE, "enable-last-sample", FALSE, NULL);
  /* A camera that nothing encodes for goes on without. */
  g_object_set (tee, "allow-not-linked", TRUE, NULL);
  if (!gst_element_link_many (convert, run->filter, tee, sink, NULL)) {
    g_string_append_printf (wrong, "filter '%s': it takes no raw video of the formats that there are", line);
    return FALSE;
  }
  add_probe (run->filter, "src", GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_output, run);
  if (plan->packet)
    run_add_encoder (run, plan, tee, note);
  switch (run->settings->kind) {
    case SOURCE_TEST:
      return add_test (run, wrong);
    case SOURCE_DEVICE:
      return add_device (run, wrong);
    default:
      return run->settings->every ? add_pictures (run, wrong) : add_uri (run, wrong);
  }
}

Run *
run_new (const RunPlan *plan, GString *wrong, GString *note)
{
  Run *run = g_new0 (Run, 1);

  g_atomic_ref_count_init (&run->count);
  g_mutex_init (&run->lock);
  g_cond_init (&run->drain);
  g_mutex_init (&run->starting);
  run->settings = camera_settings_ref ((CameraSettings *) plan->settings);
  run->gpu = plan->gpu;
  run->stamped = GST_CLOCK_TIME_NONE;
  run->pipeline = gst_pipeline_new (plan->settings->name);
  gst_object_ref_sink (run->pipeline);
  if (!build (run, plan, wrong, note)) {
    if (!wrong->len)
      g_string_append (wrong, "the pipeline cannot be linked");
    run_unref (run);
    return NULL;
  }
  run->bus = gst_element_get_bus (run->pipeline);
  gpu_assign (run->pipeline, run->filter, plan->gpu);
  return run;
}

Run *
run_ref (Run *run)
{
  g_atomic_ref_count_inc (&run->count);
  return run;
}

void
run_unref (Run *run)
{
  if (!g_atomic_ref_count_dec (&run->count))
    return;
  gst_clear_object (&run->bus);
  gst_clear_structure (&run->size);
  gst_object_unref (run->pipeline); /* its state is NULL */
  camera_settings_unref (run->settings);
  g_mutex_clear (&run->lock);
  g_cond_clear (&run->drain);
  g_mutex_clear (&run->starting);
  g_free (run);
}

GstBus *
run_bus (Run *run)
{
  return run->bus;
}

GstElement *
run_filter (Run *run)
{
  return run->filter;
}

int
run_gpu (Run *run)
{
  return run->gpu;
}

gboolean
run_is_filter_part (Run *run, GstObject *object)
{
  return object && gst_object_has_as_ancestor (object, GST_OBJECT (run->filter));
}

gboolean
run_is_endless (Run *run)
{
  gint64 duration;

  return !gst_element_query_duration (run->pipeline, GST_FORMAT_TIME, &duration) || duration <= 0;
}

/* ---- start and stop ------------------------------------------------------ */

static void
start_in_thread (gpointer data)
{
  Run *run = data;

  g_mutex_lock (&run->starting);
  if (!run->ended) {
    gpu_warm_up (run->filter, run->gpu);
    if (gst_element_set_state (run->pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE)
      GST_ELEMENT_ERROR (run->pipeline, CORE, STATE_CHANGE, ("The camera does not start"), (NULL));
  }
  g_mutex_unlock (&run->starting);
  run_unref (run);
}

void
run_start (Run *run)
{
  in_pool (start_in_thread, run_ref (run));
}

typedef struct {
  Run *run;
  RunDone drained, done;
  gpointer data;
} Stop;

static gboolean
drained (gpointer data)
{
  Stop *stop = data;

  stop->drained (stop->run, stop->data);
  return G_SOURCE_REMOVE;
}

static gboolean
stopped (gpointer data)
{
  Stop *stop = data;

  stop->done (stop->run, stop->data);
  run_unref (stop->run);
  g_free (stop);
  return G_SOURCE_REMOVE;
}

static void
stop_in_thread (gpointer data)
{
  Stop *stop = data;

  if (stop->run->encoder)
    run_drain_encoder (stop->run);
  in_main (drained, stop); /* before `stopped` */
  /* This thread waits for a start that is under way, and so does the camera. One that has not begun, because the pool's
   * threads do not keep the order, does nothing any more. */
  g_mutex_lock (&stop->run->starting);
  stop->run->ended = TRUE;
  /* uridecodebin, whose source has just failed, refuses the first step down, and takes the next. */
  for (guint i = 0; i < 3 && gst_element_set_state (stop->run->pipeline, GST_STATE_NULL) == GST_STATE_CHANGE_FAILURE;
      i++)
    ;
  g_mutex_unlock (&stop->run->starting);
  in_main (stopped, stop);
}

void
run_stop (Run *run, RunDone when_drained, RunDone done, gpointer data)
{
  Stop *stop = g_new (Stop, 1);

  stop->run = run_ref (run);
  stop->drained = when_drained;
  stop->done = done;
  stop->data = data;
  in_pool (stop_in_thread, stop);
}

void
run_abandon (Run *run)
{
  atomic_store (&run->abandoned, 1);
  gst_bus_set_flushing (run->bus, TRUE);
}
