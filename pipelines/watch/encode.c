/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * encode.c: the branch of a camera's pipeline that makes H.264. Frames that the encoder has no time for are dropped
 * there, and only there. No encoder reorders frames, so that PTS and DTS are the same. */
#include "elements.h"
#include "pipeline-private.h"

#include <gst/app/gstappsink.h>
#include <gst/video/video.h>

/* Between two key frames, whatever the frame rate: pieces begin with one. The request takes a frame or two. */
#define KEY_FRAMES (1900 * GST_MSECOND)
#define DRAINS_WITHIN (G_USEC_PER_SEC / 2)
#define QUEUED 15 /* frames that may wait for the encoder */

typedef struct {
  const char *factory;
  gboolean on_gpu;
  const char *settings; /* %1$u: the quality */
} Encoder;

/* In the order in which they are tried. Properties that a version lacks are left alone. */
static const Encoder encoders[] = {
  { "nvh264enc", TRUE,
      "rc-mode=constqp qp-const=%u qp-const-i=%u qp-const-p=%u bframes=0 zerolatency=true gop-size=-1" },
  { "x264enc", FALSE,
      "pass=qual quantizer=%u tune=zerolatency speed-preset=superfast key-int-max=600 threads=2 bframes=0" },
  { "openh264enc", FALSE, "rate-control=off qp-min=%u qp-max=%u complexity=low gop-size=600 multi-thread=2" },
};

static void
set_properties (GstElement *element, const char *text, guint quality)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  GObjectClass *klass = G_OBJECT_GET_CLASS (element);

  for (char **word = words; *word; word++) {
    char *value = strchr (*word, '=');
    g_autofree char *number = g_strdup_printf ("%u", quality);

    *value++ = '\0';
    if (g_object_class_find_property (klass, *word))
      gst_util_set_object_arg (G_OBJECT (element), *word, strcmp (value, "%u") ? value : number);
  }
}

static GstElement *
make_encoder (const PipelinePlan *plan, gboolean *on_gpu)
{
  for (guint i = 0; i < G_N_ELEMENTS (encoders); i++) {
    GstElement *element;

    if (encoders[i].on_gpu && (plan->gpu < 0 || plan->software_encoder))
      continue;
    if (!(element = gst_element_factory_make (encoders[i].factory, "encoder")))
      continue;
    set_properties (element, encoders[i].settings, plan->settings->record.quality);
    *on_gpu = encoders[i].on_gpu;
    return element;
  }
  return NULL;
}

/* Asks the encoder for a key frame when the last one is too old, or the recorder waits for one. */
static void
keep_keys_coming (Pipeline *pipeline, GstBuffer *buffer, gboolean wanted)
{
  gint64 pts = (gint64) GST_BUFFER_PTS (buffer);

  if (!GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_DELTA_UNIT))
    pipeline->last_key = pts;
  else if (wanted || pts - pipeline->last_key >= (gint64) KEY_FRAMES) {
    GstPad *pad = gst_element_get_static_pad (pipeline->sink, "sink");

    pipeline->last_key = pts; /* the request takes some frames; no second one meanwhile */
    gst_pad_push_event (pad, gst_video_event_new_upstream_force_key_unit (GST_CLOCK_TIME_NONE, TRUE, 0));
    gst_object_unref (pad);
  }
}

/* Returns the time of day of a frame: now, less what it has been under way. */
static gint64
wall_time (Pipeline *pipeline, GstClockTime running)
{
  GstClockTime now = gst_element_get_current_running_time (pipeline->sink);
  gint64 age = GST_CLOCK_TIME_IS_VALID (now) ? GST_CLOCK_DIFF (running, now) / 1000 : 0;

  return g_get_real_time () - CLAMP (age, 0, 30 * G_USEC_PER_SEC);
}

static GstFlowReturn
on_sample (GstAppSink *sink, gpointer data)
{
  Pipeline *pipeline = data;
  GstSample *sample = gst_app_sink_pull_sample (sink);
  const GstSegment *segment;
  GstBuffer *buffer;
  GstClockTime running;

  if (!sample)
    return GST_FLOW_EOS;
  segment = gst_sample_get_segment (sample);
  buffer = gst_sample_get_buffer (sample);
  running = buffer ? gst_segment_to_running_time (segment, GST_FORMAT_TIME, GST_BUFFER_PTS (buffer))
                   : GST_CLOCK_TIME_NONE;
  if (GST_CLOCK_TIME_IS_VALID (running) && !atomic_load (&pipeline->abandoned)) {
    buffer = gst_buffer_copy (buffer); /* shares the memory */
    GST_BUFFER_PTS (buffer) = GST_BUFFER_DTS (buffer) = running;
    keep_keys_coming (pipeline, buffer,
        pipeline->packet (buffer, gst_sample_get_caps (sample), wall_time (pipeline, running), pipeline->packet_data));
    gst_buffer_unref (buffer);
  }
  gst_sample_unref (sample);
  return GST_FLOW_OK;
}

/* Keeps out of the branch what the encoder refuses, since its error would end the whole pipeline, and what comes while
 * the branch is being drained. */
static GstPadProbeReturn
leave_out (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  gboolean is_event = (info->type & GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM) != 0;
  gboolean is_caps = is_event && GST_EVENT_TYPE (info->data) == GST_EVENT_CAPS;
  Pipeline *pipeline = data;

  (void) pad;
  if ((pipeline->unfit && (!is_event || is_caps)) || (atomic_load (&pipeline->draining) && !is_event))
    return GST_PAD_PROBE_DROP;
  return GST_PAD_PROBE_OK;
}

char *
pipeline_fit_encoder (Pipeline *pipeline, int width, int height)
{
  GstPad *pad = gst_element_get_static_pad (pipeline->encoder, "sink");
  GstCaps *taken = gst_pad_get_pad_template_caps (pad);
  GstCaps *caps = gst_caps_new_simple ("video/x-raw", "format", G_TYPE_STRING, "I420", "width", G_TYPE_INT, width & ~1,
      "height", G_TYPE_INT, height & ~1, NULL);

  /* Encoders of 4:2:0 take even sizes only. */
  g_object_set (pipeline->crop, "right", width & 1, "bottom", height & 1, NULL);
  pipeline->unfit = width < 2 || height < 2 || !gst_caps_can_intersect (caps, taken);
  gst_caps_unref (caps);
  gst_caps_unref (taken);
  gst_object_unref (pad);
  return pipeline->unfit ? g_strdup_printf ("%s encodes no pictures of %d x %d",
                               GST_OBJECT_NAME (gst_element_get_factory (pipeline->encoder)), width, height)
                         : NULL;
}

static void
on_eos (GstAppSink *sink, gpointer data)
{
  Pipeline *pipeline = data;

  (void) sink;
  g_mutex_lock (&pipeline->lock);
  pipeline->drained = TRUE;
  g_cond_broadcast (&pipeline->drain);
  g_mutex_unlock (&pipeline->lock);
}

void
pipeline_drain_encoder (Pipeline *pipeline)
{
  gint64 until = g_get_monotonic_time () + DRAINS_WITHIN;
  GstPad *pad = gst_element_get_static_pad (pipeline->encode.queue, "sink");

  atomic_store (&pipeline->draining, 1);
  if (gst_pad_send_event (pad, gst_event_new_eos ())) { /* an end of its own came before otherwise, or an error */
    g_mutex_lock (&pipeline->lock);
    while (!pipeline->drained && g_cond_wait_until (&pipeline->drain, &pipeline->lock, until))
      ;
    g_mutex_unlock (&pipeline->lock);
  }
  gst_object_unref (pad);
}

void
pipeline_add_encoder (Pipeline *pipeline, const PipelinePlan *plan, GstElement *tee, GString *note)
{
  GstAppSinkCallbacks callbacks = { .new_sample = on_sample, .eos = on_eos };
  GstElement *parts[8] = { NULL }, *encoder = make_encoder (plan, &pipeline->on_gpu);
  gboolean ok = encoder != NULL;
  GstCaps *caps;
  GstPad *pad;
  guint n = 0;

  elements_for_recording (plan->settings->record.format == 1, note);
  if (!ok && note->len == 0)
    g_string_append (note, "no encoder for H.264 but that of GPUs: install x264enc (gstreamer1.0-plugins-ugly)");
  if (note->len)
    return;
  parts[n++] = gst_element_factory_make ("queue", "encode");
  parts[n] = gst_element_factory_make ("cudadownload", "download"); /* where the filter's frames are in CUDA memory */
  n += parts[n] != NULL;
  parts[n++] = gst_element_factory_make ("videoconvert", "yuv");
  parts[n++] = gst_element_factory_make ("capsfilter", "i420");
  parts[n++] = gst_element_factory_make ("videocrop", "even");
  parts[n++] = encoder;
  parts[n++] = gst_element_factory_make ("h264parse", "parse");
  parts[n++] = gst_element_factory_make ("appsink", "packets");
  for (guint i = 0; i < n; i++)
    ok = parts[i] && gst_bin_add (GST_BIN (pipeline->bin), parts[i]) && ok;
  for (guint i = 1; ok && i < n; i++)
    ok = gst_element_link (parts[i - 1], parts[i]);
  if (!ok || !gst_element_link (tee, parts[0])) {
    g_string_append (note, "the elements that encode cannot be linked");
    return;
  }
  caps = gst_caps_from_string ("video/x-raw, format = I420");
  g_object_set (parts[n - 5], "caps", caps, NULL);
  gst_caps_unref (caps);
  g_object_set (parts[0], "max-size-buffers", QUEUED, "max-size-bytes", 0, "max-size-time", (guint64) 0, NULL);
  if (plan->settings->live) /* a file waits */
    gst_util_set_object_arg (G_OBJECT (parts[0]), "leaky", "downstream");
  caps = gst_caps_from_string ("video/x-h264, stream-format = avc, alignment = au");
  pipeline->crop = parts[n - 4];
  pipeline->encode.queue = parts[0];
  pad = gst_element_get_static_pad (parts[0], "sink");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, leave_out, pipeline, NULL);
  gst_object_unref (pad);
  pipeline_count_queue (&pipeline->encode);
  pipeline->encoder = encoder;
  pipeline->sink = parts[n - 1];
  g_object_set (pipeline->sink, "caps", caps, "sync", FALSE, "async", FALSE, NULL);
  gst_caps_unref (caps);
  pipeline->packet = plan->packet;
  pipeline->packet_data = plan->packet_data;
  gst_app_sink_set_callbacks (GST_APP_SINK (pipeline->sink), &callbacks, pipeline, NULL);
}

gboolean
pipeline_is_gpu_encoder (Pipeline *pipeline, GstObject *object)
{
  return pipeline->on_gpu && object == GST_OBJECT_CAST (pipeline->encoder);
}

gboolean
pipeline_is_recording_part (Pipeline *pipeline, GstObject *object)
{
  static const char *const names[] = { "encode", "download", "yuv", "i420", "even", "encoder", "parse", "packets" };

  if (!pipeline->encoder || GST_OBJECT_PARENT (object) != GST_OBJECT_CAST (pipeline->bin))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (!g_strcmp0 (GST_OBJECT_NAME (object), names[i]))
      return TRUE;
  return FALSE;
}
