/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * pipeline.c: one pipeline of a camera: the branch that encodes, start and stop. source.c has what stands before the
 * filter. */
#include "pipeline.h"

#include "elements.h"
#include "filter.h"
#include "gpu.h"
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
  GstElement *bin, *filter; /* bin: all of it */
  Source *source;
  GstBus *bus;
  int gpu;
  GstStructure *size; /* a new size, not reported before its first frame; of the thread behind the filter */

  /* Written by streaming threads. */
  _Atomic guint64 frames;
  _Atomic gint64 last_frame;

  /* The branch that encodes. */
  Queue encode;
  GstElement *encoder, *crop, *sink; /* NULL: there is none */
  gboolean on_gpu;
  gboolean unfit;  /* the encoder does not take this size; of the thread behind the filter */
  gint64 last_key; /* ns; of the appsink's thread */
  GMutex taking;   /* of `takers`; held while they are called */
  GArray *takers;  /* of Taker */
  _Atomic int draining;
  GMutex lock;      /* of `drained` */
  gboolean drained; /* all that was encoded has come out */
  GCond drain;

  GMutex starting; /* held while the pipeline is started or stopped */
  gboolean ended;  /* it is stopped, and is not started any more */
};

/* ---- the branch that encodes ---------------------------------------------- */

/* The branch's own queue drops the frames for which the encoder has no time; all others go on. */

typedef struct {
  const char *factory;
  gboolean on_gpu;
  const char *settings; /* properties; a value %u: the quality */
} Encoder;

/* In the order in which they are tried. Properties that a version lacks are left alone. Where the scene changes, x264
 * would make frames that h264parse calls key frames, though later ones refer to frames before them. */
static const Encoder encoders[] = {
  { "nvh264enc", TRUE,
      "rc-mode=constqp qp-const=%u qp-const-i=%u qp-const-p=%u bframes=0 zerolatency=true gop-size=-1" },
  { "x264enc", FALSE,
      "pass=qual quantizer=%u tune=zerolatency speed-preset=superfast key-int-max=600 threads=2 bframes=0 "
      "option-string=scenecut=0" },
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

/* Returns the time of day of a frame: now, less what it has been under way. */
static gint64
wall_time (Pipeline *pipeline, GstClockTime running)
{
  GstClockTime now = gst_element_get_current_running_time (pipeline->sink);
  gint64 age = GST_CLOCK_TIME_IS_VALID (now) ? GST_CLOCK_DIFF (running, now) / 1000 : 0;

  return g_get_real_time () - CLAMP (age, 0, 30 * G_USEC_PER_SEC);
}

/* Gives a frame to all takers. Returns whether one of them wants a key frame. */
static gboolean
give (Pipeline *pipeline, GstBuffer *buffer, GstCaps *caps, gint64 wall)
{
  gboolean key_wanted = FALSE;

  g_mutex_lock (&pipeline->taking);
  for (guint i = 0; i < pipeline->takers->len; i++) {
    const Taker *taker = &g_array_index (pipeline->takers, Taker, i);

    key_wanted |= taker->take (buffer, caps, wall, taker->data);
  }
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
    keep_keys_coming (pipeline, buffer,
        give (pipeline, buffer, gst_sample_get_caps (sample), wall_time (pipeline, running)));
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
  [PARSE] = { "h264parse", "parse" },
  [PACKETS] = { "appsink", "packets" },
};

/* Adds the branch behind the tee. Where that cannot be, says why in `note`: the camera goes on without. */
static void
add_encoder (Pipeline *pipeline, const PipelinePlan *plan, GstElement *tee, GString *note)
{
  GstAppSinkCallbacks callbacks = { .new_sample = on_sample, .eos = on_eos };
  GstElement *parts[N_PARTS], *last = NULL;
  gboolean ok = TRUE;

  elements_for_encoding (plan->settings, note);
  if (note->len)
    return;
  if (!(parts[ENCODER] = make_encoder (plan, &pipeline->on_gpu))) {
    g_string_append (note, "no encoder for H.264 but that of GPUs: install x264enc (gstreamer1.0-plugins-ugly)");
    return;
  }
  for (guint i = 0; i < N_PARTS; i++) {
    if (i != ENCODER && !(parts[i] = gst_element_factory_make (branch[i][0], branch[i][1]))) {
      ok &= i == DOWNLOAD;
      continue;
    }
    gst_bin_add (GST_BIN (pipeline->bin), parts[i]);
    ok = ok && (!last || gst_element_link (last, parts[i]));
    last = parts[i];
  }
  if (!ok || !gst_element_link (tee, parts[ENCODE])) {
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
  element_add_probe (parts[ENCODE], "sink", GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, leave_out,
      pipeline);
  queue_count (&pipeline->encode);
  gst_util_set_object_arg (G_OBJECT (parts[I420]), "caps", "video/x-raw, format = I420");
  gst_util_set_object_arg (G_OBJECT (parts[PACKETS]), "caps", "video/x-h264, stream-format = avc, alignment = au");
  g_object_set (parts[PACKETS], "sync", FALSE, "async", FALSE, NULL);
  gst_app_sink_set_callbacks (GST_APP_SINK (parts[PACKETS]), &callbacks, pipeline, NULL);
}

/* ---- what streaming threads note ----------------------------------------- */

static void
post (Pipeline *pipeline, GstStructure *structure)
{
  gst_element_post_message (pipeline->bin, gst_message_new_application (GST_OBJECT (pipeline->bin), structure));
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

  (void) pad;
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
  return GST_PAD_PROBE_OK;
}

PipelineCounts
pipeline_counts (Pipeline *pipeline)
{
  PipelineCounts counts = { .frames = atomic_load (&pipeline->frames),
    .last_frame = atomic_load (&pipeline->last_frame) };

  counts.dropped = source_dropped (pipeline->source);
  counts.not_encoded = queue_dropped (&pipeline->encode);
  return counts;
}

/* ---- the pipeline -------------------------------------------------------- */

static gboolean
build (Pipeline *pipeline, const PipelinePlan *plan, GString *wrong, GString *note)
{
  const char *line = *pipeline->settings->filter ? pipeline->settings->filter : "identity";
  GstElement *convert, *sink = element_add (pipeline->bin, "fakesink", "end", wrong),
                       *tee = element_add (pipeline->bin, "tee", "tee", wrong);

  if (!sink || !tee || !(pipeline->source = source_new (pipeline->bin, pipeline->settings, &convert, wrong)) ||
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
  if (plan->encodes)
    add_encoder (pipeline, plan, tee, note);
  return source_link (pipeline->source, wrong);
}

Pipeline *
pipeline_new (const PipelinePlan *plan, GString *wrong, GString *note)
{
  Pipeline *pipeline = g_new0 (Pipeline, 1);

  g_atomic_ref_count_init (&pipeline->count);
  g_mutex_init (&pipeline->lock);
  g_cond_init (&pipeline->drain);
  g_mutex_init (&pipeline->starting);
  g_mutex_init (&pipeline->taking);
  pipeline->takers = g_array_new (FALSE, FALSE, sizeof (Taker));
  pipeline->settings = camera_settings_ref ((CameraSettings *) plan->settings);
  pipeline->gpu = plan->gpu;
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
  if (pipeline->on_gpu && object == GST_OBJECT_CAST (pipeline->encoder))
    return PART_GPU_ENCODER;
  for (guint i = 0; pipeline->encoder && i < N_PARTS; i++)
    if (GST_OBJECT_PARENT (object) == GST_OBJECT_CAST (pipeline->bin) &&
        !g_strcmp0 (GST_OBJECT_NAME (object), branch[i][1]))
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
  in_pool (stop_in_thread, stop);
}

void
pipeline_abandon (Pipeline *pipeline)
{
  gst_bus_set_flushing (pipeline->bus, TRUE);
}
