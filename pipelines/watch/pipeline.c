/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * pipeline.c: one pipeline of a camera: the branch that encodes, start and stop. source.c has what stands before the
 * filter. */
#include "pipeline.h"

#include "codec.h"
#include "elements.h"
#include "filter.h"
#include "gpu.h"
#include "hashes.h"
#include "hub.h"
#include "index.h"
#include "packets.h"
#include "source.h"
#include "threads.h"

#include <gst/app/gstappsink.h>
#include <gst/video/video.h>
#include <stdatomic.h>
#include <string.h>

/* Between two key frames, whatever the frame rate: pieces begin with one. The request takes a frame or two. */
#define KEY_FRAMES (1900 * GST_MSECOND)
#define DRAINS_WITHIN (G_USEC_PER_SEC / 2)
#define QUEUED 15 /* frames that may wait for the encoder */

typedef struct {
  PipelineTaker take;
  gpointer data;
} Taker;

struct Pipeline {
  gatomicrefcount count;
  CameraSettings *settings;
  PipelinePlan plan;
  GstElement *bin, *filter, *tee; /* bin: all of it */
  Source *source;
  GstBus *bus;
  GstStructure *size; /* a new size, not reported before its first frame; of the thread behind the filter */

  /* Written by streaming threads. */
  _Atomic guint64 frames;
  _Atomic gint64 last_frame;

  /* The branch that encodes. */
  Queue encode;
  _Atomic int encodes;  /* it is there */
  GstElement *encoding; /* all of it */
  GString *no_encoder;  /* why there is none, for `own` */
  GstElement *encoder, *crop, *sink;
  gboolean on_gpu;
  gboolean unfit;  /* the encoder does not take this size; of the thread behind the filter */
  gint64 last_key; /* ns; of the appsink's thread */
  Hashes *hashes;  /* NULL: none are wanted */
  GMutex taking;   /* of what follows; held while takers are called */
  GArray *takers;  /* of Taker */
  gboolean closed; /* packets and sound are not given to them any more */
  _Atomic int draining;
  GMutex lock;      /* of `drained` */
  gboolean drained; /* all that was encoded has come out */
  GCond drain;

  gboolean own;      /* the camera's own packets may come instead */
  gboolean taken_up; /* a branch was added for what comes; of the thread behind the filter */
  Packets *packets;

  GMutex starting; /* held while the pipeline is started or stopped */
  gboolean ended;  /* it is stopped, and is not started any more */
};

static void
post (Pipeline *pipeline, GstStructure *structure)
{
  gst_element_post_message (pipeline->bin, gst_message_new_application (GST_OBJECT (pipeline->bin), structure));
}

/* ---- the branch that encodes ---------------------------------------------- */

/* The branch's own queue drops the frames for which the encoder has no time; all others go on. */

/* Asks the encoder for a key frame when the last one is too old, or a taker waits for one. */
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

/* Gives a frame to all takers. Returns whether one of them wants a key frame. */
static gboolean
give (Pipeline *pipeline, GstBuffer *buffer, GstCaps *caps, gint64 wall)
{
  const gboolean sound = GST_BUFFER_FLAG_IS_SET (buffer, HUB_SOUND);
  gboolean key_wanted = FALSE, open;

  g_mutex_lock (&pipeline->taking);
  open = !pipeline->closed || (!sound && !pipeline_has_packets (pipeline));
  for (guint i = 0; i < pipeline->takers->len && open; i++) {
    const Taker *taker = &g_array_index (pipeline->takers, Taker, i);

    key_wanted |= taker->take (buffer, caps, wall, taker->data);
  }
  if (!sound)
    packets_let_sound (pipeline->packets);
  g_mutex_unlock (&pipeline->taking);
  return key_wanted;
}

void
pipeline_add_taker (Pipeline *pipeline, PipelineTaker taker, gpointer data)
{
  g_mutex_lock (&pipeline->taking);
  g_array_append_vals (pipeline->takers, &(Taker) { taker, data }, 1);
  g_mutex_unlock (&pipeline->taking);
}

void
pipeline_remove_taker (Pipeline *pipeline, gpointer data)
{
  g_mutex_lock (&pipeline->taking);
  for (guint i = pipeline->takers->len; i-- > 0;)
    if (g_array_index (pipeline->takers, Taker, i).data == data)
      g_array_remove_index (pipeline->takers, i);
  g_mutex_unlock (&pipeline->taking);
}

/* Returns a buffer's time stamp as running time. Before the first frame (DTS, where frames are reordered): 0. */
static GstClockTime
running_time (const GstSegment *segment, GstClockTime time)
{
  guint64 running;

  return gst_segment_to_running_time_full (segment, GST_FORMAT_TIME, time, &running) > 0 ? running : 0;
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
  if (GST_CLOCK_TIME_IS_VALID (running)) {
    buffer = gst_buffer_copy (buffer); /* shares the memory */
    GST_BUFFER_DTS (buffer) = MIN (running, running_time (segment, GST_BUFFER_DTS_OR_PTS (buffer)));
    GST_BUFFER_PTS (buffer) = running;
    if (pipeline->hashes)
      hashes_mark (pipeline->hashes, running, buffer);
    keep_keys_coming (pipeline, buffer,
        give (pipeline, buffer, gst_sample_get_caps (sample), wall_time (age_of (pipeline->bin, running))));
    gst_buffer_unref (buffer);
  }
  gst_sample_unref (sample);
  return GST_FLOW_OK;
}

/* Keeps frames out of the branch if the encoder refuses their size (its error would end the whole pipeline), or if the
 * branch is being drained. */
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

/* Prepares the branch for frames of this size. Returns why they cannot be encoded (free it), or NULL. */
static char *
fit_encoder (Pipeline *pipeline, int width, int height)
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
  return pipeline->unfit
      ? g_strdup_printf ("%s encodes no pictures of %d x %d", element_kind (pipeline->encoder), width, height)
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

/* Has the encoder give what it holds back, and waits for that, half a second at most. */
static void
drain_encoder (Pipeline *pipeline)
{
  gint64 until = g_get_monotonic_time () + DRAINS_WITHIN;
  GstPad *pad = gst_element_get_static_pad (pipeline->encode.element, "sink");

  atomic_store (&pipeline->draining, 1);
  if (gst_pad_send_event (pad, gst_event_new_eos ())) { /* FALSE: the stream has ended or failed already */
    g_mutex_lock (&pipeline->lock);
    while (!pipeline->drained && g_cond_wait_until (&pipeline->drain, &pipeline->lock, until))
      ;
    g_mutex_unlock (&pipeline->lock);
  }
  gst_object_unref (pad);
}

/* The branch, in its order. */
enum { ENCODE, DOWNLOAD, YUV, I420, EVEN, ENCODER, PARSE, PACKETS, N_PARTS };
static const char *const branch[N_PARTS][2] = {
  [ENCODE] = { "queue", "encode" },
  [DOWNLOAD] = { "cudadownload", "download" }, /* where the filter's frames are in CUDA memory; it may be missing */
  [YUV] = { "videoconvert", "yuv" },
  [I420] = { "capsfilter", "i420" },
  [EVEN] = { "videocrop", "even" },
  [ENCODER] = { NULL, "encoder" },
  [PARSE] = { NULL, "parse" },
  [PACKETS] = { "appsink", "packets" },
};

/* Puts a branch behind the tee. */
static gboolean
attach (Pipeline *pipeline, GstElement *part)
{
  return gst_bin_add (GST_BIN (pipeline->bin), part) && gst_element_link (pipeline->tee, part) &&
      gst_element_sync_state_with_parent (part);
}

/* Makes the branch that encodes. Where that cannot be, says why in `note`: the camera goes on without. */
static void
make_encoder (Pipeline *pipeline, const PipelinePlan *plan, GString *note)
{
  GstAppSinkCallbacks callbacks = { .new_sample = on_sample, .eos = on_eos };
  const Codec *codec = &codecs[plan->settings->codec];
  g_autoptr (GstElement) bin = gst_object_ref_sink (gst_bin_new ("encoding"));
  g_autofree char *caps = g_strdup_printf ("%s, %s", codec->kind, codec->form);
  GstElement *parts[N_PARTS], *last = NULL;
  g_autoptr (GstPad) pad = NULL;
  gboolean ok = TRUE;

  elements_for_encoding (plan->settings, note);
  if (note->len)
    return;
  if (!(parts[ENCODER] = codec_make_encoder (codec, plan->settings->record.quality,
            plan->gpu >= 0 && !plan->software_encoder, &pipeline->on_gpu))) {
    g_string_append_printf (note, "no encoder for %s but that of GPUs: install %s", codec->title, codec->install);
    return;
  }
  for (guint i = 0; i < N_PARTS; i++) {
    const char *factory = i == PARSE ? codec->parser : branch[i][0];

    if (i != ENCODER && !(parts[i] = gst_element_factory_make (factory, branch[i][1]))) {
      ok &= i == DOWNLOAD;
      continue;
    }
    gst_bin_add (GST_BIN (bin), parts[i]);
    ok = ok && (!last || gst_element_link (last, parts[i]));
    last = parts[i];
  }
  if (!ok) {
    g_string_append (note, "the elements that encode cannot be linked");
    return;
  }
  pipeline->encode.element = parts[ENCODE];
  pipeline->crop = parts[EVEN];
  pipeline->encoder = parts[ENCODER];
  pipeline->sink = parts[PACKETS];
  g_object_set (parts[ENCODE], "max-size-buffers", QUEUED, "max-size-bytes", 0, "max-size-time", (guint64) 0, NULL);
  if (plan->settings->live) /* a file waits */
    gst_util_set_object_arg (G_OBJECT (parts[ENCODE]), "leaky", "downstream");
  codec_name_rate (parts[ENCODER], parts[PARSE]);
  element_add_probe (parts[ENCODE], "sink", GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, leave_out,
      pipeline);
  queue_count (&pipeline->encode);
  gst_util_set_object_arg (G_OBJECT (parts[I420]), "caps", "video/x-raw, format = I420");
  gst_util_set_object_arg (G_OBJECT (parts[PACKETS]), "caps", caps);
  g_object_set (parts[PACKETS], "sync", FALSE, "async", FALSE, NULL);
  gst_app_sink_set_callbacks (GST_APP_SINK (parts[PACKETS]), &callbacks, pipeline, NULL);
  pad = gst_element_get_static_pad (parts[ENCODE], "sink");
  gst_element_add_pad (bin, gst_ghost_pad_new ("sink", pad));
  pipeline->encoding = gst_object_ref (bin);
}

static void
attach_encoder (Pipeline *pipeline, GString *note)
{
  atomic_store (&pipeline->encodes, pipeline->encoding != NULL);
  if (pipeline->encoding && !attach (pipeline, pipeline->encoding))
    g_string_append (note, "the elements that encode cannot be linked");
}

/* ---- the camera's own packets -------------------------------------------- */

static void
give_packet (GstBuffer *buffer, GstCaps *caps, gint64 wall, gpointer pipeline)
{
  give (pipeline, buffer, caps, wall);
}

/* When it returns, no packet is given any more. */
static void
close_packets (Pipeline *pipeline)
{
  g_mutex_lock (&pipeline->taking);
  pipeline->closed = TRUE;
  g_mutex_unlock (&pipeline->taking);
}

/* Gives no packets any more, and reports that the camera's own cannot pass. */
static void
refuse_packets (gpointer data)
{
  Pipeline *pipeline = data;

  close_packets (pipeline);
  post (pipeline, gst_structure_new_empty (PIPELINE_NO_PACKETS));
}

gboolean
pipeline_has_packets (Pipeline *pipeline)
{
  return packets_codec (pipeline->packets) != NULL;
}

/* Adds the branch that is needed for what comes: packets or pictures. */
static void
take_up (Pipeline *pipeline, GstCaps *caps)
{
  g_autoptr (GString) note = g_string_new (NULL);

  if (source_are_packets (caps)) {
    packets_begin (pipeline->packets, pipeline->tee, codec_of (caps));
  } else {
    g_string_append (note, pipeline->no_encoder->str);
    attach_encoder (pipeline, note);
  }
  if (note->len)
    post (pipeline, gst_structure_new (PIPELINE_NO_ENCODER, "reason", G_TYPE_STRING, note->str, NULL));
}

/* ---- what streaming threads note ----------------------------------------- */

static void
note_packets (Pipeline *pipeline, const GstStructure *caps)
{
  int width = 0, height = 0, n = 0, d = 1;

  gst_structure_get (caps, "width", G_TYPE_INT, &width, "height", G_TYPE_INT, &height, NULL);
  gst_structure_get (caps, "framerate", GST_TYPE_FRACTION, &n, &d, NULL);
  gst_clear_structure (&pipeline->size);
  pipeline->size = gst_structure_new (PIPELINE_SIZE, "width", G_TYPE_INT, width, "height", G_TYPE_INT, height, "format",
      G_TYPE_STRING, packets_codec (pipeline->packets)->title, "rate", GST_TYPE_FRACTION, n, d, NULL);
}

static void
note_caps (Pipeline *pipeline, GstEvent *event)
{
  g_autofree char *unfit = NULL;
  GstVideoInfo info;
  GstCaps *caps;

  gst_event_parse_caps (event, &caps);
  if (pipeline->own && !pipeline->taken_up)
    take_up (pipeline, caps);
  pipeline->taken_up = TRUE;
  if (pipeline_has_packets (pipeline)) {
    note_packets (pipeline, gst_caps_get_structure (caps, 0));
    return;
  }
  if (!gst_video_info_from_caps (&info, caps))
    return;
  if (pipeline->encoder &&
      (unfit = fit_encoder (pipeline, GST_VIDEO_INFO_WIDTH (&info), GST_VIDEO_INFO_HEIGHT (&info))))
    post (pipeline, gst_structure_new (PIPELINE_UNFIT, "reason", G_TYPE_STRING, unfit, NULL));
  gst_clear_structure (&pipeline->size);
  pipeline->size = gst_structure_new (PIPELINE_SIZE, "width", G_TYPE_INT, GST_VIDEO_INFO_WIDTH (&info), "height",
      G_TYPE_INT, GST_VIDEO_INFO_HEIGHT (&info), "format", G_TYPE_STRING,
      gst_video_format_to_string (GST_VIDEO_INFO_FORMAT (&info)), "rate", GST_TYPE_FRACTION,
      GST_VIDEO_INFO_FPS_N (&info), GST_VIDEO_INFO_FPS_D (&info), NULL);
}

/* Sees what leaves the filter. A size is reported with its first frame: before a picture is turned upright, there are
 * caps with its sides exchanged. */
static GstPadProbeReturn
on_output (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Pipeline *pipeline = data;

  if (info->type & GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM) {
    if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_CAPS)
      note_caps (pipeline, GST_PAD_PROBE_INFO_EVENT (info));
    else if (pipeline_has_packets (pipeline) && source_is_turned (GST_PAD_PROBE_INFO_EVENT (info)))
      refuse_packets (pipeline); /* nothing turns them upright */
    return GST_PAD_PROBE_OK;
  }
  atomic_store (&pipeline->last_frame, g_get_monotonic_time ());
  if (pipeline->hashes) {
    g_autoptr (GstPad) input = gst_element_get_static_pad (pipeline->filter, "sink");

    hashes_add (pipeline->hashes, pad, input, GST_PAD_PROBE_INFO_BUFFER (info));
  }
  if (pipeline->settings->record.folder)
    index_frame (pipeline->settings->name, pipeline->bin, pad, GST_PAD_PROBE_INFO_BUFFER (info));
  if (pipeline->size)
    post (pipeline, g_steal_pointer (&pipeline->size));
  if (atomic_fetch_add (&pipeline->frames, 1) == 0)
    post (pipeline, gst_structure_new_empty (PIPELINE_FIRST_FRAME));
  return GST_PAD_PROBE_OK;
}

PipelineCounts
pipeline_counts (Pipeline *pipeline)
{
  PipelineCounts counts = { .frames = atomic_load (&pipeline->frames),
    .last_frame = atomic_load (&pipeline->last_frame) };

  counts.dropped = source_dropped (pipeline->source);
  counts.not_encoded = atomic_load (&pipeline->encodes) ? queue_dropped (&pipeline->encode) : 0;
  return counts;
}

/* ---- the pipeline -------------------------------------------------------- */

static gboolean
build (Pipeline *pipeline, const PipelinePlan *plan, GString *wrong, GString *note)
{
  const char *line = *pipeline->settings->filter ? pipeline->settings->filter : "identity";
  GstElement *convert, *sink = element_add (pipeline->bin, "fakesink", "end", wrong),
                       *tee = element_add (pipeline->bin, "tee", "tee", wrong);

  pipeline->tee = tee;
  pipeline->own = plan->encodes && plan->own && !*pipeline->settings->filter;
  if (plan->encodes && pipeline->settings->record.hashes && *pipeline->settings->filter)
    pipeline->hashes = hashes_new ();
  if (!sink || !tee ||
      !(pipeline->source = source_new (pipeline->bin, pipeline->settings, pipeline->own, &convert, wrong)) ||
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
  element_add_probe (pipeline->filter, "src", GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
      on_output, pipeline);
  if (plan->encodes && pipeline->settings->audio)
    source_take_sound (pipeline->source, packets_take_sound, pipeline->packets);
  if (pipeline->own) { /* frames may come in place of packets, and would wait while it is made */
    make_encoder (pipeline, plan, pipeline->no_encoder);
  } else if (plan->encodes) {
    make_encoder (pipeline, plan, note);
    attach_encoder (pipeline, note);
  }
  return source_link (pipeline->source, wrong);
}

Pipeline *
pipeline_new (const PipelinePlan *plan, GString *wrong, GString *note)
{
  static const PacketsCalls calls = { .take = give_packet, .refuse = refuse_packets };
  Pipeline *pipeline = g_new0 (Pipeline, 1);

  g_atomic_ref_count_init (&pipeline->count);
  g_mutex_init (&pipeline->lock);
  g_cond_init (&pipeline->drain);
  g_mutex_init (&pipeline->starting);
  g_mutex_init (&pipeline->taking);
  pipeline->takers = g_array_new (FALSE, FALSE, sizeof (Taker));
  pipeline->settings = camera_settings_ref ((CameraSettings *) plan->settings);
  pipeline->plan = *plan;
  pipeline->no_encoder = g_string_new (NULL);
  pipeline->bin = gst_pipeline_new (plan->settings->name);
  gst_object_ref_sink (pipeline->bin);
  pipeline->packets = packets_new (pipeline->bin, pipeline->settings, &calls, pipeline);
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

static Pipeline *
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
  g_clear_pointer (&pipeline->source, source_unref);
  gst_object_unref (pipeline->bin); /* its state is NULL */
  gst_clear_object (&pipeline->encoding);
  g_string_free (pipeline->no_encoder, TRUE);
  packets_free (pipeline->packets);
  g_clear_pointer (&pipeline->hashes, hashes_free);
  g_array_unref (pipeline->takers);
  camera_settings_unref (pipeline->settings);
  g_mutex_clear (&pipeline->lock);
  g_cond_clear (&pipeline->drain);
  g_mutex_clear (&pipeline->starting);
  g_mutex_clear (&pipeline->taking);
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

PipelinePart
pipeline_part_of (Pipeline *pipeline, GstObject *object)
{
  if (!object)
    return PART_OTHER;
  if (gst_object_has_as_ancestor (object, GST_OBJECT (pipeline->filter)))
    return PART_FILTER;
  if (!atomic_load (&pipeline->encodes))
    return PART_OTHER;
  if (pipeline->on_gpu && object == GST_OBJECT_CAST (pipeline->encoder))
    return PART_GPU_ENCODER;
  if (gst_object_has_as_ancestor (object, GST_OBJECT (pipeline->encoding)))
    return PART_ENCODING;
  return PART_OTHER;
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
    gpu_warm_up (pipeline->filter, pipeline->plan.gpu);
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

  if (atomic_load (&stop->pipeline->encodes))
    drain_encoder (stop->pipeline);
  in_main (drained, stop); /* before `stopped` */
  /* Waits for a start that is under way. A start that comes later, since the pool's threads keep no order, sees
   * `ended`. */
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
  /* The settings that come next may have a filter: from here on, no packet that has not passed it. */
  close_packets (pipeline);
  if (pipeline_has_packets (pipeline))
    when_drained (pipeline, data);
  in_pool (stop_in_thread, stop);
}

void
pipeline_abandon (Pipeline *pipeline)
{
  gst_bus_set_flushing (pipeline->bus, TRUE);
}
