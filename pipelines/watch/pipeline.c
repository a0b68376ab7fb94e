/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * pipeline.c: one pipeline of a camera. */
#include "pipeline.h"

#include "elements.h"
#include "filter.h"
#include "gpu.h"
#include "pipeline-private.h"

#include <gst/video/video.h>
#include <string.h>

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

void
pipeline_add_probe (GstElement *element, const char *pad_name, GstPadProbeType type, GstPadProbeCallback probe,
    gpointer data)
{
  GstPad *pad = gst_element_get_static_pad (element, pad_name);

  gst_pad_add_probe (pad, type, probe, data, NULL);
  gst_object_unref (pad);
}

void
pipeline_count_queue (PipelineQueue *queue)
{
  pipeline_add_probe (queue->queue, "sink", GST_PAD_PROBE_TYPE_BUFFER, count, &queue->arrived);
  pipeline_add_probe (queue->queue, "src", GST_PAD_PROBE_TYPE_BUFFER, count, &queue->taken);
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
    .last_frame = atomic_load (&pipeline->last_frame) };

  counts.dropped = count_dropped (&pipeline->input);
  counts.not_encoded = count_dropped (&pipeline->encode);
  return counts;
}

/* ---- the pipeline -------------------------------------------------------- */

GstElement *
pipeline_add (Pipeline *pipeline, const char *factory, const char *name, GString *wrong)
{
  GstElement *element = gst_element_factory_make (factory, name);

  if (element)
    gst_bin_add (GST_BIN (pipeline->bin), element);
  else
    element_missing (factory, wrong);
  return element;
}

static gboolean
build (Pipeline *pipeline, const PipelinePlan *plan, GString *wrong, GString *note)
{
  const char *line = *pipeline->settings->filter ? pipeline->settings->filter : "identity";
  GstElement *convert, *sink = pipeline_add (pipeline, "fakesink", "end", wrong),
                       *tee = pipeline_add (pipeline, "tee", "tee", wrong);

  if (!sink || !tee || !source_add_head (pipeline, &convert, wrong) ||
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
  pipeline_add_probe (pipeline->filter, "src", GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
      on_output, pipeline);
  if (plan->packet)
    pipeline_add_encoder (pipeline, plan, tee, note);
  return source_add (pipeline, wrong);
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
