/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * pipeline.c: one pipeline of a camera. */
#include "pipeline.h"

#include "elements.h"
#include "encode.h"
#include "filter.h"
#include "gpu.h"
#include "pipeline-private.h"
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
post (Pipeline *pipeline, GstStructure *structure)
{
  gst_element_post_message (pipeline->bin, gst_message_new_application (GST_OBJECT (pipeline->bin), structure));
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
pipeline_count_queue (PipelineQueue *queue)
{
  add_probe (queue->queue, "sink", GST_PAD_PROBE_TYPE_BUFFER, count, &queue->arrived);
  add_probe (queue->queue, "src", GST_PAD_PROBE_TYPE_BUFFER, count, &queue->taken);
}

static guint64
count_dropped (PipelineQueue *queue)
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
note_caps (Pipeline *pipeline, GstEvent *event)
{
  g_autofree char *unfit = NULL;
  GstVideoInfo info;
  GstCaps *caps;

  gst_event_parse_caps (event, &caps);
  if (!gst_video_info_from_caps (&info, caps))
    return;
  atomic_store (&pipeline->width, GST_VIDEO_INFO_WIDTH (&info));
  atomic_store (&pipeline->height, GST_VIDEO_INFO_HEIGHT (&info));
  if (pipeline->encoder &&
      (unfit = pipeline_fit_encoder (pipeline, GST_VIDEO_INFO_WIDTH (&info), GST_VIDEO_INFO_HEIGHT (&info))))
    post (pipeline, gst_structure_new (PIPELINE_UNFIT, "reason", G_TYPE_STRING, unfit, NULL));
  gst_clear_structure (&pipeline->size);
  pipeline->size = gst_structure_new (PIPELINE_SIZE, "width", G_TYPE_INT, GST_VIDEO_INFO_WIDTH (&info), "height",
      G_TYPE_INT, GST_VIDEO_INFO_HEIGHT (&info), "format", G_TYPE_STRING,
      gst_video_format_to_string (GST_VIDEO_INFO_FORMAT (&info)), "rate", GST_TYPE_FRACTION,
      GST_VIDEO_INFO_FPS_N (&info), GST_VIDEO_INFO_FPS_D (&info), NULL);
}

/* Sees what leaves the filter. A size counts with its first frame: turned pictures have another one before. */
static GstPadProbeReturn
on_output (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Pipeline *pipeline = data;

  if (info->type & GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM) {
    if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_CAPS)
      note_caps (pipeline, GST_PAD_PROBE_INFO_EVENT (info));
    return GST_PAD_PROBE_OK;
  }
  atomic_store (&pipeline->last_frame, g_get_monotonic_time ());
  if (pipeline->size)
    post (pipeline, g_steal_pointer (&pipeline->size));
  if (atomic_fetch_add (&pipeline->frames, 1) == 0)
    post (pipeline, gst_structure_new_empty (PIPELINE_FIRST_FRAME));
  if (atomic_load (&pipeline->wants_shot))
    pipeline_take_shot (pipeline, pad, GST_PAD_PROBE_INFO_BUFFER (info));
  return GST_PAD_PROBE_OK;
}

PipelineCounts
pipeline_counts (Pipeline *pipeline)
{
  PipelineCounts counts = { .frames = atomic_load (&pipeline->frames),
    .last_frame = atomic_load (&pipeline->last_frame),
    .width = atomic_load (&pipeline->width),
    .height = atomic_load (&pipeline->height) };

  counts.dropped = count_dropped (&pipeline->input);
  counts.not_encoded = count_dropped (&pipeline->encode);
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
  Pipeline *pipeline = data;
  const CameraSettings *s = pipeline->settings;
  GObject *object = G_OBJECT (source);
  GstElementFactory *factory = gst_element_get_factory (source);
  g_autofree char *latency = g_strdup_printf ("%u", s->latency), *us = g_strdup_printf ("%u000000", s->timeout);

  (void) decoder;
  if (s->live || s->http) /* a file is no longer than it is */
    pipeline_limit_bytes (pipeline, source);
  trust_set_up (source, pipeline->bin, s);
  if (!factory || g_strcmp0 (GST_OBJECT_NAME (factory), "rtspsrc"))
    return;
  pipeline_limit_streams (pipeline, source);
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
  Pipeline *pipeline = data;

  (void) decoder;
  (void) bin;
  pipeline_limit_size (pipeline, element);
  if (pipeline->settings->http && factory && !g_strcmp0 (GST_OBJECT_NAME (factory), "cf-watch-parts"))
    gst_util_set_object_arg (G_OBJECT (pipeline->input.queue), "leaky", "downstream");
}

/* Has only what may hold pictures decoded. The first kind that may not is for the sentence of on_no_more_pads (). */
static gboolean
continue_decoding (GstElement *decoder, GstPad *pad, GstCaps *caps, gpointer data)
{
  const char *none = NULL;
  Pipeline *pipeline = data;

  (void) decoder;
  (void) pad;
  if (trust_caps (caps))
    return TRUE;
  atomic_compare_exchange_strong (&pipeline->refused, &none,
      g_intern_string (gst_structure_get_name (gst_caps_get_structure (caps, 0))));
  return FALSE;
}

/* Links the first picture that a decoder finds; everything else that it finds ends nowhere. */
static void
on_pad (GstElement *decoder, GstPad *pad, gpointer data)
{
  Pipeline *pipeline = data;
  GstPad *sink = gst_element_get_static_pad (pipeline->head, "sink");
  GstCaps *caps = gst_pad_get_current_caps (pad);

  (void) decoder;
  if (!caps)
    caps = gst_pad_query_caps (pad, NULL);
  if (gst_caps_get_size (caps) > 0 && !gst_pad_is_linked (sink) &&
      g_str_has_prefix (gst_structure_get_name (gst_caps_get_structure (caps, 0)), "video/x-raw")) {
    pipeline_turn_pictures (pipeline, pad);
    if (GST_PAD_LINK_FAILED (gst_pad_link (pad, sink)))
      GST_ELEMENT_ERROR (pipeline->bin, STREAM, FORMAT, ("The pictures have a format that nothing here takes"), (NULL));
  }
  gst_caps_unref (caps);
  gst_object_unref (sink);
}

/* Sees that a file has no more streams. */
static void
on_no_more_pads (GstElement *decoder, gpointer data)
{
  Pipeline *pipeline = data;
  const char *refused = atomic_load (&pipeline->refused);
  GstPad *sink = gst_element_get_static_pad (pipeline->head, "sink");

  (void) decoder;
  if (!gst_pad_is_linked (sink))
    GST_ELEMENT_ERROR (pipeline->bin, STREAM, WRONG_TYPE,
        ("There is no picture in it%s%s%s", refused ? ", but " : "", refused ? refused : "",
            refused && !g_str_has_prefix (refused, "audio/") ? "; playlists and the like are not followed" : ""),
        (NULL));
  gst_object_unref (sink);
}

/* Adds an element to the pipeline. Returns NULL with a sentence if there is no such element. */
static GstElement *
add (Pipeline *pipeline, const char *factory, const char *name, GString *wrong)
{
  GstElement *element = gst_element_factory_make (factory, name);

  if (element)
    gst_bin_add (GST_BIN (pipeline->bin), element);
  else
    element_missing (factory, wrong);
  return element;
}

static GstElement *
add_size (Pipeline *pipeline, gboolean jpeg, GString *wrong)
{
  const CameraSettings *s = pipeline->settings;
  GstElement *filter = add (pipeline, "capsfilter", NULL, wrong);
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
add_test (Pipeline *pipeline, GString *wrong)
{
  GstElement *source = add (pipeline, "videotestsrc", "source", wrong), *size = add_size (pipeline, FALSE, wrong);
  GValue value = G_VALUE_INIT;

  if (!source || !size)
    return FALSE;
  g_value_init (&value, g_object_class_find_property (G_OBJECT_GET_CLASS (source), "pattern")->value_type);
  if (!gst_value_deserialize (&value, pipeline->settings->place)) {
    g_string_append_printf (wrong, "videotestsrc has no pattern \"%s\"; gst-inspect-1.0 videotestsrc lists them",
        pipeline->settings->place);
    return FALSE;
  }
  g_object_set_property (G_OBJECT (source), "pattern", &value);
  g_object_set (source, "is-live", TRUE, NULL);
  if (gst_element_link_many (source, size, pipeline->head, NULL))
    return TRUE;
  g_string_append_printf (wrong, "filter '%s': it takes no pictures of %u x %u with %u a second",
      pipeline->settings->filter, pipeline->settings->width, pipeline->settings->height, pipeline->settings->rate);
  return FALSE;
}

static gboolean
add_device (Pipeline *pipeline, GString *wrong)
{
  GstElement *source = add (pipeline, "v4l2src", "source", wrong),
             *size = source ? add_size (pipeline, TRUE, wrong) : NULL;
  GstElement *decoder = size ? add (pipeline, "decodebin", "decoder", wrong) : NULL;

  if (!decoder)
    return FALSE;
  g_object_set (source, "device", pipeline->settings->place, NULL);
  g_signal_connect (decoder, "deep-element-added", G_CALLBACK (set_up_part), pipeline);
  g_signal_connect (decoder, "pad-added", G_CALLBACK (on_pad), pipeline);
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
make_uri (Pipeline *pipeline, GString *wrong)
{
  const CameraSettings *s = pipeline->settings;
  g_autofree char *user = s->user ? g_strdup (s->user) : secrets_user (s->name), *password = secrets_password (s->name);
  g_autoptr (GString) uri = g_string_new (s->place);

  if (!fill_in (uri, "{user}", user, wrong) || !fill_in (uri, "{password}", password, wrong))
    return NULL;
  return g_steal_pointer (&uri->str);
}

/* A camera that sends one picture when it is asked. */
static gboolean
add_pictures (Pipeline *pipeline, GString *wrong)
{
  g_autofree char *uri = make_uri (pipeline, wrong);
  g_autoptr (GError) error = NULL;
  GstElement *parts, *decoder;

  if (!uri)
    return FALSE;
  if (!(pipeline->source = gst_element_make_from_uri (GST_URI_SRC, uri, "source", &error))) {
    g_string_append (wrong, error->message);
    return FALSE;
  }
  gst_bin_add (GST_BIN (pipeline->bin), pipeline->source);
  parts = add (pipeline, "cf-watch-parts", "parts", wrong);
  decoder = add (pipeline, "decodebin", "decoder", wrong);
  if (!parts || !decoder)
    return FALSE;
  set_up_source (NULL, pipeline->source, pipeline);
  pipeline_ask_again (pipeline, parts);
  gst_util_set_object_arg (G_OBJECT (pipeline->input.queue), "leaky", "downstream");
  g_signal_connect (decoder, "deep-element-added", G_CALLBACK (set_up_part), pipeline);
  g_signal_connect (decoder, "pad-added", G_CALLBACK (on_pad), pipeline);
  return gst_element_link_many (pipeline->source, parts, decoder, NULL);
}

static gboolean
add_uri (Pipeline *pipeline, GString *wrong)
{
  GstElement *source = add (pipeline, "uridecodebin", "source", wrong);
  g_autofree char *uri = source ? make_uri (pipeline, wrong) : NULL;

  if (!uri)
    return FALSE;
  g_object_set (source, "uri", uri, NULL);
  g_signal_connect (source, "source-setup", G_CALLBACK (set_up_source), pipeline);
  g_signal_connect (source, "deep-element-added", G_CALLBACK (set_up_part), pipeline);
  g_signal_connect (source, "autoplug-continue", G_CALLBACK (continue_decoding), pipeline);
  g_signal_connect (source, "pad-added", G_CALLBACK (on_pad), pipeline);
  if (!pipeline->settings->live)
    g_signal_connect (source, "no-more-pads", G_CALLBACK (on_no_more_pads), pipeline);
  return TRUE;
}

/* ---- the pipeline -------------------------------------------------------- */

/* Makes what stands between source and filter. Files are played at their own speed, and wait for the filter; of a
 * camera's frames those that the filter has no time for are dropped. */
static gboolean
add_head (Pipeline *pipeline, GstElement **last, GString *wrong)
{
  GstElement *clock = pipeline->settings->live ? NULL : add (pipeline, "identity", "pace", wrong);
  GstElement *convert = add (pipeline, "videoconvert", "convert", wrong);

  pipeline->input.queue = add (pipeline, "queue", "input", wrong);
  if (!pipeline->input.queue || !convert || (!pipeline->settings->live && !clock))
    return FALSE;
  g_object_set (pipeline->input.queue, "max-size-buffers", QUEUED, "max-size-bytes", QUEUED_BYTES, "max-size-time",
      (guint64) 0, NULL);
  if (pipeline->settings->live)
    gst_util_set_object_arg (G_OBJECT (pipeline->input.queue), "leaky", "downstream");
  if (clock) {
    g_object_set (clock, "sync", TRUE, NULL);
    if (!gst_element_link (clock, pipeline->input.queue))
      return FALSE;
  }
  pipeline->head = clock ? clock : pipeline->input.queue;
  add_probe (pipeline->head, "sink", GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, pipeline_on_input,
      pipeline);
  pipeline_count_queue (&pipeline->input);
  *last = convert;
  return gst_element_link (pipeline->input.queue, convert);
}

static gboolean
build (Pipeline *pipeline, const PipelinePlan *plan, GString *wrong, GString *note)
{
  const char *line = *pipeline->settings->filter ? pipeline->settings->filter : "identity";
  GstElement *convert, *sink = add (pipeline, "fakesink", "end", wrong), *tee = add (pipeline, "tee", "tee", wrong);

  if (!sink || !tee || !add_head (pipeline, &convert, wrong) ||
      !(pipeline->filter = filter_new ("filter ", line, wrong)))
    return FALSE;
  gst_bin_add (GST_BIN (pipeline->bin), pipeline->filter);
  g_object_set (sink, "sync", FALSE, "async", FALSE, "enable-last-sample", FALSE, NULL);
  /* A camera that nothing encodes for goes on without. */
  g_object_set (tee, "allow-not-linked", TRUE, NULL);
  if (!gst_element_link_many (convert, pipeline->filter, tee, sink, NULL)) {
    g_string_append_printf (wrong, "filter '%s': it takes no raw video of the formats that there are", line);
    return FALSE;
  }
  add_probe (pipeline->filter, "src", GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_output,
      pipeline);
  if (plan->packet)
    pipeline_add_encoder (pipeline, plan, tee, note);
  switch (pipeline->settings->kind) {
    case SOURCE_TEST:
      return add_test (pipeline, wrong);
    case SOURCE_DEVICE:
      return add_device (pipeline, wrong);
    default:
      return pipeline->settings->every ? add_pictures (pipeline, wrong) : add_uri (pipeline, wrong);
  }
}

Pipeline *
pipeline_new (const PipelinePlan *plan, GString *wrong, GString *note)
{
  Pipeline *pipeline = g_new0 (Pipeline, 1);

  g_atomic_ref_count_init (&pipeline->count);
  g_mutex_init (&pipeline->lock);
  g_cond_init (&pipeline->drain);
  g_mutex_init (&pipeline->starting);
  pipeline->settings = camera_settings_ref ((CameraSettings *) plan->settings);
  pipeline->gpu = plan->gpu;
  pipeline->stamped = GST_CLOCK_TIME_NONE;
  pipeline->bin = gst_pipeline_new (plan->settings->name);
  gst_object_ref_sink (pipeline->bin);
  if (!build (pipeline, plan, wrong, note)) {
    if (!wrong->len)
      g_string_append (wrong, "the pipeline cannot be linked");
    pipeline_unref (pipeline);
    return NULL;
  }
  pipeline->bus = gst_element_get_bus (pipeline->bin);
  gpu_assign (pipeline->bin, pipeline->filter, plan->gpu);
  return pipeline;
}

Pipeline *
pipeline_ref (Pipeline *pipeline)
{
  g_atomic_ref_count_inc (&pipeline->count);
  return pipeline;
}

void
pipeline_unref (Pipeline *pipeline)
{
  if (!g_atomic_ref_count_dec (&pipeline->count))
    return;
  gst_clear_object (&pipeline->bus);
  gst_clear_structure (&pipeline->size);
  gst_object_unref (pipeline->bin); /* its state is NULL */
  camera_settings_unref (pipeline->settings);
  g_mutex_clear (&pipeline->lock);
  g_cond_clear (&pipeline->drain);
  g_mutex_clear (&pipeline->starting);
  g_free (pipeline);
}

GstBus *
pipeline_bus (Pipeline *pipeline)
{
  return pipeline->bus;
}

GstElement *
pipeline_filter (Pipeline *pipeline)
{
  return pipeline->filter;
}

int
pipeline_gpu (Pipeline *pipeline)
{
  return pipeline->gpu;
}

gboolean
pipeline_is_filter_part (Pipeline *pipeline, GstObject *object)
{
  return object && gst_object_has_as_ancestor (object, GST_OBJECT (pipeline->filter));
}

gboolean
pipeline_is_endless (Pipeline *pipeline)
{
  gint64 duration;

  return !gst_element_query_duration (pipeline->bin, GST_FORMAT_TIME, &duration) || duration <= 0;
}

/* ---- start and stop ------------------------------------------------------ */

static void
start_in_thread (gpointer data)
{
  Pipeline *pipeline = data;

  g_mutex_lock (&pipeline->starting);
  if (!pipeline->ended) {
    gpu_warm_up (pipeline->filter, pipeline->gpu);
    if (gst_element_set_state (pipeline->bin, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE)
      GST_ELEMENT_ERROR (pipeline->bin, CORE, STATE_CHANGE, ("The camera does not start"), (NULL));
  }
  g_mutex_unlock (&pipeline->starting);
  pipeline_unref (pipeline);
}

void
pipeline_start (Pipeline *pipeline)
{
  in_pool (start_in_thread, pipeline_ref (pipeline));
}

typedef struct {
  Pipeline *pipeline;
  PipelineDone drained, done;
  gpointer data;
} Stop;

static gboolean
drained (gpointer data)
{
  Stop *stop = data;

  stop->drained (stop->pipeline, stop->data);
  return G_SOURCE_REMOVE;
}

static gboolean
stopped (gpointer data)
{
  Stop *stop = data;

  stop->done (stop->pipeline, stop->data);
  pipeline_unref (stop->pipeline);
  g_free (stop);
  return G_SOURCE_REMOVE;
}

static void
stop_in_thread (gpointer data)
{
  Stop *stop = data;

  if (stop->pipeline->encoder)
    pipeline_drain_encoder (stop->pipeline);
  in_main (drained, stop); /* before `stopped` */
  /* This thread waits for a start that is under way, and so does the camera. One that has not begun, because the pool's
   * threads do not keep the order, does nothing any more. */
  g_mutex_lock (&stop->pipeline->starting);
  stop->pipeline->ended = TRUE;
  /* uridecodebin, whose source has just failed, refuses the first step down, and takes the next. */
  for (guint i = 0; i < 3 && gst_element_set_state (stop->pipeline->bin, GST_STATE_NULL) == GST_STATE_CHANGE_FAILURE;
      i++)
    ;
  g_mutex_unlock (&stop->pipeline->starting);
  in_main (stopped, stop);
}

void
pipeline_stop (Pipeline *pipeline, PipelineDone when_drained, PipelineDone done, gpointer data)
{
  Stop *stop = g_new (Stop, 1);

  stop->pipeline = pipeline_ref (pipeline);
  stop->drained = when_drained;
  stop->done = done;
  stop->data = data;
  in_pool (stop_in_thread, stop);
}

void
pipeline_abandon (Pipeline *pipeline)
{
  atomic_store (&pipeline->abandoned, 1);
  gst_bus_set_flushing (pipeline->bus, TRUE);
}
