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
  GstVideoInfo layout; /* with the buffers' strides and offsets */
  int gpu, wanted;
  char kind[48]; /* of memory; empty: the images themselves */
} FrameSet;

static GMutex lock;     /* of the list */
static GPtrArray *sets; /* of FrameSet */

static const char *
kind_of (GstBuffer *buffer)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);

  return memory->allocator && memory->allocator->mem_type ? memory->allocator->mem_type : "memory";
}

/* Returns the set of such frames; a new one, for which *is_new becomes TRUE, has no frames. */
static BenchFrames *
get_set (const BenchCamera *camera, const char *kind, const GstVideoInfo *layout, gboolean *is_new)
{
  FrameSet *k;

  if (!sets)
    sets = g_ptr_array_new ();
  *is_new = FALSE;
  for (guint i = 0; i < sets->len; i++) {
    k = g_ptr_array_index (sets, i);
    if (k->gpu == camera->gpu && k->wanted >= camera->wanted_frames && !strcmp (k->kind, kind) &&
        gst_video_info_is_equal (&k->layout, layout))
      return &k->frames;
  }
  *is_new = TRUE;
  k = g_new0 (FrameSet, 1);
  k->layout = *layout;
  k->gpu = camera->gpu;
  k->wanted = camera->wanted_frames;
  g_strlcpy (k->kind, kind, sizeof k->kind);
  g_ptr_array_add (sets, k);
  return &k->frames;
}

/* Returns the images in plain memory, none if they cannot be made. Call with the lock held. */
static const BenchFrames *
get_images (const BenchCamera *camera)
{
  gboolean is_new;
  BenchFrames *images = get_set (camera, "", &camera->info, &is_new);

  if (is_new && bench_images (&camera->info, images->frame, camera->wanted_frames)) {
    images->n = camera->wanted_frames;
    g_strlcpy (images->memory, kind_of (images->frame[0]), sizeof images->memory);
  }
  return images;
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

/* Fills as many of the pool's buffers as are wanted and available. Call with the lock held. */
static const BenchFrames *
from_pool (const BenchCamera *camera, GstBufferPool *pool, const BenchFrames *images)
{
  GstBufferPoolAcquireParams params = { .flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT };
  GstVideoInfo layout = camera->info;
  const GstVideoMeta *meta;
  GstBuffer *buffer;
  BenchFrames *frames;
  gboolean is_new;

  if (gst_buffer_pool_acquire_buffer (pool, &buffer, &params) != GST_FLOW_OK)
    return NULL;
  meta = gst_buffer_get_video_meta (buffer);
  for (guint p = 0; meta && p < meta->n_planes; p++) {
    layout.stride[p] = meta->stride[p];
    layout.offset[p] = meta->offset[p];
  }
  frames = get_set (camera, kind_of (buffer), &layout, &is_new);
  while (is_new && fill (&camera->info, buffer, images->frame[frames->n], camera->memory == BENCH_CUDA)) {
    frames->frame[frames->n++] = g_steal_pointer (&buffer);
    if (frames->n == images->n || gst_buffer_pool_acquire_buffer (pool, &buffer, &params) != GST_FLOW_OK)
      break;
  }
  if (is_new && frames->n)
    g_snprintf (frames->memory, sizeof frames->memory, "proposed %s", kind_of (frames->frame[0]));
  g_clear_pointer (&buffer, gst_buffer_unref);
  return frames->n ? frames : NULL;
}

const BenchFrames *
bench_frames (const BenchCamera *camera, GstBufferPool *pool)
{
  const BenchFrames *images, *frames = NULL;

  g_mutex_lock (&lock);
  images = get_images (camera);
  if (images->n && pool)
    frames = from_pool (camera, pool, images);
  if (images->n && !frames && camera->memory != BENCH_CUDA)
    frames = images;
  g_mutex_unlock (&lock);
  return frames;
}
