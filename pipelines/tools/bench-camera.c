/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-camera.c: a source that takes next to no CPU time, and a sink that counts.
 *
 * The source fills frames once, in buffers of the pool that the filter proposes.
 * Then it sends the same memory in rotation, each time in a new GstBuffer, so no
 * sample is written while the clock runs. A filter that works in place has to copy
 * the shared memory first; that copy counts as the filter's time. */

#include "bench-camera.h"

#include <gst/base/gstbasesink.h>
#include <gst/base/gstpushsrc.h>
#include <string.h>
#include <time.h>

guint64
bench_now (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (guint64) t.tv_sec * GST_SECOND + (guint64) t.tv_nsec;
}

guint64
bench_camera_due (const BenchCamera *camera, guint64 index)
{
  return (guint64) camera->start_gate->start * 1000 + camera->phase + (index - BENCH_PRIMERS) * camera->interval;
}

/* ---- the source --------------------------------------------------------- */

struct _BenchSource {
  GstPushSrc parent;
  BenchCamera *camera;
};

G_DECLARE_FINAL_TYPE (BenchSource, bench_source, BENCH, SOURCE, GstPushSrc)
G_DEFINE_TYPE (BenchSource, bench_source, GST_TYPE_PUSH_SRC)

/* Longest sleep before the source looks again whether it has to stop. */
#define MAX_SLEEP (20 * GST_MSECOND)

static GstCaps *
source_get_caps (GstBaseSrc *base, GstCaps *filter)
{
  GstCaps *caps = BENCH_SOURCE (base)->camera->caps;

  return filter ? gst_caps_intersect (filter, caps) : gst_caps_ref (caps);
}

/* Returns the proposed pool, configured for all frames; NULL if there is none or it refuses. */
static GstBufferPool *
take_pool (BenchCamera *camera, GstQuery *query)
{
  GstBufferPool *pool = NULL;
  GstStructure *config;
  guint size, min, max;

  if (camera->memory != BENCH_PLAIN && gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
  if (!pool)
    return NULL;
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, camera->caps, size, MIN (min, 1), max);
  if (gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL))
    gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (!gst_buffer_pool_set_config (pool, config))
    gst_clear_object (&pool);
  return pool;
}

static gboolean
source_decide_allocation (GstBaseSrc *base, GstQuery *query)
{
  BenchCamera *camera = BENCH_SOURCE (base)->camera;
  GstBufferPool *pool = take_pool (camera, query);

  while (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_remove_nth_allocation_pool (query, 0);
  if (pool) {
    gst_query_add_allocation_pool (query, pool, (guint) GST_VIDEO_INFO_SIZE (&camera->info), 0, 0);
    gst_object_unref (pool);
  }
  return TRUE;
}

/* Waits for the start gate. Returns FALSE if the run is over or the source is flushing. */
static gboolean
wait_start_gate (BenchCamera *camera)
{
  BenchStartGate *start_gate = camera->start_gate;

  if (!g_atomic_int_get (&start_gate->open)) {
    g_mutex_lock (&start_gate->lock);
    while (!start_gate->over && !camera->flushing && !start_gate->open)
      g_cond_wait (&start_gate->changed, &start_gate->lock);
    g_mutex_unlock (&start_gate->lock);
  }
  return !g_atomic_int_get (&start_gate->over) && !g_atomic_int_get (&camera->flushing);
}

/* Polls instead of waiting on a condition, which hundreds of cameras would share. Returns FALSE
 * if the run ends or the source is flushing before `due`. */
static gboolean
sleep_until (BenchCamera *camera, guint64 due)
{
  guint64 now = bench_now ();

  while (now < due && !g_atomic_int_get (&camera->start_gate->over) && !g_atomic_int_get (&camera->flushing)) {
    guint64 until = MIN (due, now + MAX_SLEEP);
    struct timespec t = { .tv_sec = (time_t) (until / GST_SECOND), .tv_nsec = (long) (until % GST_SECOND) };

    clock_nanosleep (CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    now = bench_now ();
  }
  return now >= due;
}

/* A camera does not wait for the pipeline: it drops the frames that exceed BENCH_WAITING. */
static void
skip_missed (BenchCamera *camera)
{
  guint64 now = bench_now ();

  while (now > bench_camera_due (camera, camera->next + BENCH_WAITING)) {
    if (camera->next >= camera->first && camera->next < camera->end) {
      g_mutex_lock (&camera->lock);
      camera->skipped++;
      g_mutex_unlock (&camera->lock);
    }
    camera->next++;
  }
}

/* Waits until the next frame is due. Returns FALSE at the end. */
static gboolean
next_frame (BenchCamera *camera)
{
  if (camera->next < BENCH_PRIMERS)
    return !g_atomic_int_get (&camera->flushing);
  if (camera->next == BENCH_PRIMERS)
    g_atomic_int_inc (&camera->start_gate->ready);
  if (!wait_start_gate (camera))
    return FALSE;
  if (!camera->real_time)
    return TRUE;
  skip_missed (camera);
  return sleep_until (camera, bench_camera_due (camera, camera->next));
}

/* Gets the frames; caps and pool are negotiated by then. */
static gboolean
find_frames (BenchSource *self)
{
  GstBufferPool *pool = gst_base_src_get_buffer_pool (GST_BASE_SRC (self));

  self->camera->frames = bench_frames (self->camera, pool);
  gst_clear_object (&pool);
  if (!self->camera->frames)
    GST_ELEMENT_ERROR (self, RESOURCE, FAILED,
        ("%s", self->camera->video ? "no frames could be made of the video" : "there is no memory for the frames"),
        (NULL));
  return self->camera->frames != NULL;
}

static void
record_sent (BenchCamera *camera, guint64 index)
{
  gboolean due = camera->real_time && index >= BENCH_PRIMERS;

  g_mutex_lock (&camera->lock);
  camera->sent[index % BENCH_RING].index = index;
  camera->sent[index % BENCH_RING].time = due ? bench_camera_due (camera, index) : bench_now ();
  g_mutex_unlock (&camera->lock);
}

/* Returns a buffer of which nothing is shared, as a decoder's: elements may filter it in place. Its content is any. */
static GstBuffer *
own_frame (BenchSource *self)
{
  BenchCamera *camera = self->camera;
  const guint width = (guint) camera->info.width, height = (guint) camera->info.height, n = (guint) camera->regions;
  GstBufferPool *pool = gst_base_src_get_buffer_pool (GST_BASE_SRC (self));
  GstBuffer *buffer = NULL;

  if (pool)
    gst_buffer_pool_acquire_buffer (pool, &buffer, NULL);
  else
    buffer = gst_buffer_new_allocate (NULL, camera->info.size, NULL);
  gst_clear_object (&pool);
  for (guint i = 0; buffer && i < n; i++) {
    /* together 4 % of the frame, each on a way of its own */
    const guint w = width / 10, h = height * 2 / 5 / n, at = (guint) camera->next * (3 + i) + 97 * i;

    gst_buffer_add_video_region_of_interest_meta (buffer, "person", at % (width - w), at * 2 % (height - h), w, h);
  }
  return buffer;
}

static GstFlowReturn
source_create (GstPushSrc *push, GstBuffer **out)
{
  BenchCamera *camera = BENCH_SOURCE (push)->camera;
  GstBuffer *buffer;

  if (!camera->frames && !find_frames (BENCH_SOURCE (push)))
    return GST_FLOW_ERROR;
  if (!next_frame (camera))
    return g_atomic_int_get (&camera->flushing) ? GST_FLOW_FLUSHING : GST_FLOW_EOS;
  buffer = camera->regions ? own_frame (BENCH_SOURCE (push)) : gst_buffer_new ();
  if (!buffer)
    return GST_FLOW_FLUSHING;
  if (!camera->regions &&
      !gst_buffer_copy_into (buffer, camera->frames->frame[(camera->next + (guint) camera->skew) % camera->frames->n],
          GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_META | GST_BUFFER_COPY_MEMORY, 0, -1)) {
    gst_buffer_unref (buffer);
    return GST_FLOW_ERROR;
  }
  GST_BUFFER_PTS (buffer) = camera->next * camera->interval;
  GST_BUFFER_DURATION (buffer) = camera->interval;
  GST_BUFFER_OFFSET (buffer) = camera->next;
  record_sent (camera, camera->next++);
  *out = buffer;
  return GST_FLOW_OK;
}

static gboolean
set_flushing (GstBaseSrc *base, gboolean flushing)
{
  BenchCamera *camera = BENCH_SOURCE (base)->camera;

  g_mutex_lock (&camera->start_gate->lock);
  g_atomic_int_set (&camera->flushing, flushing);
  g_cond_broadcast (&camera->start_gate->changed);
  g_mutex_unlock (&camera->start_gate->lock);
  return TRUE;
}

static gboolean
source_unlock (GstBaseSrc *base)
{
  return set_flushing (base, TRUE);
}

static gboolean
source_unlock_stop (GstBaseSrc *base)
{
  return set_flushing (base, FALSE);
}

static void
bench_source_class_init (BenchSourceClass *klass)
{
  GstBaseSrcClass *base = GST_BASE_SRC_CLASS (klass);

  gst_element_class_add_pad_template (GST_ELEMENT_CLASS (klass),
      gst_pad_template_new ("src", GST_PAD_SRC, GST_PAD_ALWAYS, gst_caps_new_any ()));
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass), "Benchmark source", "Source/Video",
      "Sends frames that are ready", "gst-cuda-filters");
  base->get_caps = source_get_caps;
  base->decide_allocation = source_decide_allocation;
  base->unlock = source_unlock;
  base->unlock_stop = source_unlock_stop;
  GST_PUSH_SRC_CLASS (klass)->create = source_create;
}

static void
bench_source_init (BenchSource *self)
{
  gst_base_src_set_format (GST_BASE_SRC (self), GST_FORMAT_TIME);
}

GstElement *
bench_source_new (BenchCamera *camera)
{
  BenchSource *self = g_object_new (bench_source_get_type (), NULL);

  self->camera = camera;
  gst_base_src_set_live (GST_BASE_SRC (self), camera->real_time);
  return GST_ELEMENT (self);
}

/* ---- the sink ----------------------------------------------------------- */

struct _BenchSink {
  GstBaseSink parent;
  BenchCamera *camera;
};

G_DECLARE_FINAL_TYPE (BenchSink, bench_sink, BENCH, SINK, GstBaseSink)
G_DEFINE_TYPE (BenchSink, bench_sink, GST_TYPE_BASE_SINK)

/* The sink takes CUDA memory only where its caps feature is named. */
static GstCaps *
sink_get_caps (GstBaseSink *base, GstCaps *filter)
{
  gboolean cuda = BENCH_SINK (base)->camera->memory == BENCH_CUDA;
  GstCaps *caps = cuda ? gst_caps_from_string ("video/x-raw(memory:CUDAMemory)") : gst_caps_new_any ();
  GstCaps *both = filter ? gst_caps_intersect_full (filter, caps, GST_CAPS_INTERSECT_FIRST) : gst_caps_ref (caps);

  gst_caps_unref (caps);
  return both;
}

static gboolean
sink_propose_allocation (GstBaseSink *base, GstQuery *query)
{
  (void) base;
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  return TRUE;
}

static void
count_real_time (BenchCamera *camera, guint64 index, guint64 took, gboolean known)
{
  if (index < camera->first || index >= camera->end)
    return;
  camera->arrived++;
  camera->late += known && took > camera->interval;
  if (known)
    g_array_append_val (camera->latency, took);
}

/* The first frame only starts the clock. */
static void
count_flat_out (BenchCamera *camera, guint64 now, guint64 took, gboolean known)
{
  if (!g_atomic_int_get (&camera->start_gate->counting) || (camera->wanted && camera->arrived >= camera->wanted))
    return;
  camera->last_time = now;
  if (!camera->first_time) {
    camera->first_time = now;
    return;
  }
  camera->arrived++;
  if (known)
    g_array_append_val (camera->latency, took);
}

static GstFlowReturn
sink_render (GstBaseSink *base, GstBuffer *buffer)
{
  BenchCamera *camera = BENCH_SINK (base)->camera;
  guint64 now = bench_now (), index, took = 0, time = GST_CLOCK_TIME_NONE;
  gboolean known;

  /* Encoders shift time stamps and the segment alike; the running time stays. */
  if (base->segment.format == GST_FORMAT_TIME && GST_BUFFER_PTS_IS_VALID (buffer))
    time = gst_segment_to_running_time (&base->segment, GST_FORMAT_TIME, GST_BUFFER_PTS (buffer));
  index = GST_CLOCK_TIME_IS_VALID (time) ? (time + camera->interval / 2) / camera->interval : G_MAXUINT64;
  g_mutex_lock (&camera->lock);
  known = camera->sent[index % BENCH_RING].index == index;
  if (known && now > camera->sent[index % BENCH_RING].time)
    took = now - camera->sent[index % BENCH_RING].time;
  if (camera->real_time)
    count_real_time (camera, index, took, known);
  else
    count_flat_out (camera, now, took, known);
  g_mutex_unlock (&camera->lock);
  return GST_FLOW_OK;
}

static void
bench_sink_class_init (BenchSinkClass *klass)
{
  gst_element_class_add_pad_template (GST_ELEMENT_CLASS (klass),
      gst_pad_template_new ("sink", GST_PAD_SINK, GST_PAD_ALWAYS, gst_caps_new_any ()));
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass), "Benchmark sink", "Sink/Video", "Counts frames",
      "gst-cuda-filters");
  GST_BASE_SINK_CLASS (klass)->get_caps = sink_get_caps;
  GST_BASE_SINK_CLASS (klass)->propose_allocation = sink_propose_allocation;
  GST_BASE_SINK_CLASS (klass)->render = sink_render;
}

static void
bench_sink_init (BenchSink *self)
{
  gst_base_sink_set_sync (GST_BASE_SINK (self), FALSE);
  gst_base_sink_set_async_enabled (GST_BASE_SINK (self), FALSE);
}

GstElement *
bench_sink_new (BenchCamera *camera)
{
  BenchSink *self = g_object_new (bench_sink_get_type (), NULL);

  self->camera = camera;
  return GST_ELEMENT (self);
}
