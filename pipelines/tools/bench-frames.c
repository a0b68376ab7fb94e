/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-frames.c: the frames that sources send. Pinned and CUDA memory are slow to
 * allocate, and hundreds of cameras with copies of their own would fill the machine.
 * Therefore frames of one kind of memory, format and size are made once per process. */

#include "bench-camera.h"

#include <string.h>

/* GST_MAP_CUDA of GStreamer's CUDA library: maps the device's side of the memory. */
#define MAP_CUDA ((GstMapFlags) (GST_MAP_FLAG_LAST << 1))

typedef struct {
  BenchFrames frames;
  GstVideoInfo info;
  int gpu, wanted;
  char kind[48];
  GstVideoInfo layout; /* the buffers' strides and offsets */
} FrameSet;

static GMutex lock;      /* of both lists */
static GPtrArray *pool_sets;  /* of FrameSet */
static GPtrArray *image_sets; /* of FrameSet: the images themselves */

static const char *
kind_of (GstBuffer *buffer)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);

  return memory->allocator && memory->allocator->mem_type ? memory->allocator->mem_type : "memory";
}

static gboolean
same_video (const GstVideoInfo *a, const GstVideoInfo *b)
{
  return GST_VIDEO_INFO_FORMAT (a) == GST_VIDEO_INFO_FORMAT (b) && a->width == b->width && a->height == b->height;
}

static FrameSet *
find_set (GPtrArray *list, const BenchCamera *camera, const char *kind, const GstVideoInfo *layout)
{
  for (guint i = 0; list && i < list->len; i++) {
    FrameSet *k = g_ptr_array_index (list, i);

    if (same_video (&k->info, &camera->info) && k->gpu == camera->gpu &&
        k->wanted >= camera->wanted_frames && !strcmp (k->kind, kind) &&
        !memcmp (k->layout.stride, layout->stride, sizeof layout->stride) &&
        !memcmp (k->layout.offset, layout->offset, sizeof layout->offset))
      return k;
  }
  return NULL;
}

static FrameSet *
add_set (GPtrArray **list, const BenchCamera *camera, const char *kind, const GstVideoInfo *layout)
{
  FrameSet *k = g_new0 (FrameSet, 1);

  k->info = camera->info;
  k->layout = *layout;
  k->gpu = camera->gpu;
  k->wanted = camera->wanted_frames;
  g_strlcpy (k->kind, kind, sizeof k->kind);
  if (!*list)
    *list = g_ptr_array_new ();
  g_ptr_array_add (*list, k);
  return k;
}

/* Returns the images in plain memory. Call with the lock held. */
static const FrameSet *
find_images (const BenchCamera *camera)
{
  FrameSet *k = find_set (image_sets, camera, "", &camera->info);

  if (k)
    return k->frames.n ? k : NULL;
  k = add_set (&image_sets, camera, "", &camera->info);
  if (bench_images (&camera->info, k->frames.frame, camera->wanted_frames))
    k->frames.n = camera->wanted_frames;
  g_strlcpy (k->frames.memory, k->frames.n ? kind_of (k->frames.frame[0]) : "", sizeof k->frames.memory);
  return k->frames.n ? k : NULL;
}

/* Copies the image into the buffer. CUDA memory is uploaded now, not when the filter first
 * maps it. */
static gboolean
fill (const GstVideoInfo *info, GstBuffer *buffer, GstBuffer *image, gboolean cuda)
{
  GstVideoFrame from, to;
  gboolean good;

  if (!gst_video_frame_map (&from, info, image, GST_MAP_READ))
    return FALSE;
  good = gst_video_frame_map (&to, info, buffer, GST_MAP_WRITE);
  if (good) {
    good = gst_video_frame_copy (&to, &from);
    gst_video_frame_unmap (&to);
  }
  gst_video_frame_unmap (&from);
  if (good && cuda) {
    good = gst_video_frame_map (&to, info, buffer, GST_MAP_READ | MAP_CUDA);
    if (good)
      gst_video_frame_unmap (&to);
  }
  return good;
}

static void
read_layout (const GstVideoInfo *info, GstBuffer *buffer, GstVideoInfo *layout)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);

  *layout = *info;
  for (guint p = 0; meta && p < meta->n_planes; p++) {
    layout->stride[p] = meta->stride[p];
    layout->offset[p] = meta->offset[p];
  }
}

/* Fills as many of the pool's buffers as are wanted and available. Call with the lock held. */
static const BenchFrames *
from_pool (const BenchCamera *camera, GstBufferPool *pool, const FrameSet *from)
{
  GstBufferPoolAcquireParams params = { .flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT };
  gboolean cuda = camera->memory == BENCH_CUDA;
  GstBuffer *buffer = NULL;
  GstVideoInfo layout;
  FrameSet *k;

  if (gst_buffer_pool_acquire_buffer (pool, &buffer, &params) != GST_FLOW_OK)
    return NULL;
  read_layout (&camera->info, buffer, &layout);
  if ((k = find_set (pool_sets, camera, kind_of (buffer), &layout))) {
    gst_buffer_unref (buffer);
    return k->frames.n ? &k->frames : NULL;
  }
  k = add_set (&pool_sets, camera, kind_of (buffer), &layout);
  g_snprintf (k->frames.memory, sizeof k->frames.memory, "proposed %s", k->kind);
  for (int i = 0; buffer; i++) {
    if (!fill (&camera->info, buffer, from->frames.frame[i], cuda)) {
      gst_buffer_unref (buffer);
      break;
    }
    k->frames.frame[k->frames.n++] = buffer;
    buffer = NULL;
    if (k->frames.n < from->frames.n && gst_buffer_pool_acquire_buffer (pool, &buffer, &params) != GST_FLOW_OK)
      buffer = NULL;
  }
  return k->frames.n ? &k->frames : NULL;
}

const BenchFrames *
bench_frames (const BenchCamera *camera, GstBufferPool *pool)
{
  const BenchFrames *frames = NULL;
  const FrameSet *from;

  g_mutex_lock (&lock);
  from = find_images (camera);
  if (from && pool)
    frames = from_pool (camera, pool, from);
  if (from && !frames && camera->memory != BENCH_CUDA)
    frames = &from->frames;
  g_mutex_unlock (&lock);
  return frames;
}
