/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-frames.c: the frames that sources send. Pinned memory and CUDA memory take
 * long to get, and hundreds of cameras would fill the machine with copies: frames
 * of one kind of memory, format and size are made once in a process. */

#include "bench-camera.h"

#include <string.h>

/* As GStreamer's CUDA library has it: asks for the device's side of the memory. */
#define MAP_CUDA ((GstMapFlags) (GST_MAP_FLAG_LAST << 1))

typedef struct {
  BenchFrames frames;
  GstVideoInfo info;
  int gpu, wanted;
  char kind[48];
  GstVideoInfo layout; /* strides and offsets as the buffers have them */
} Kept;

static GMutex lock;      /* of both lists */
static GPtrArray *kept;  /* of Kept */
static GPtrArray *plain; /* of Kept: the pictures themselves */

static const char *
kind_of (GstBuffer *buffer)
{
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);

  return memory->allocator && memory->allocator->mem_type ? memory->allocator->mem_type : "memory";
}

static gboolean
same_pictures (const GstVideoInfo *a, const GstVideoInfo *b)
{
  return GST_VIDEO_INFO_FORMAT (a) == GST_VIDEO_INFO_FORMAT (b) && a->width == b->width && a->height == b->height;
}

static Kept *
find (GPtrArray *list, const BenchCamera *camera, const char *kind, const GstVideoInfo *layout)
{
  for (guint i = 0; list && i < list->len; i++) {
    Kept *k = g_ptr_array_index (list, i);

    if (same_pictures (&k->info, &camera->info) && k->gpu == camera->gpu &&
        k->wanted >= camera->wanted_frames && !strcmp (k->kind, kind) &&
        !memcmp (k->layout.stride, layout->stride, sizeof layout->stride) &&
        !memcmp (k->layout.offset, layout->offset, sizeof layout->offset))
      return k;
  }
  return NULL;
}

static Kept *
keep (GPtrArray **list, const BenchCamera *camera, const char *kind, const GstVideoInfo *layout)
{
  Kept *k = g_new0 (Kept, 1);

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

/* Lock held. */
static const Kept *
pictures (const BenchCamera *camera)
{
  Kept *k = find (plain, camera, "", &camera->info);

  if (k)
    return k->frames.n ? k : NULL;
  k = keep (&plain, camera, "", &camera->info);
  if (bench_pictures (&camera->info, k->frames.frame, camera->wanted_frames))
    k->frames.n = camera->wanted_frames;
  g_strlcpy (k->frames.memory, k->frames.n ? kind_of (k->frames.frame[0]) : "", sizeof k->frames.memory);
  return k->frames.n ? k : NULL;
}

/* The picture in the buffer; CUDA memory is made to cross now and not when the
 * filter looks at it first. */
static gboolean
fill (const GstVideoInfo *info, GstBuffer *buffer, GstBuffer *picture, gboolean cuda)
{
  GstVideoFrame from, to;
  gboolean good;

  if (!gst_video_frame_map (&from, info, picture, GST_MAP_READ))
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

/* As many of the pool's buffers as are wanted, or as it has. Lock held. */
static const BenchFrames *
from_pool (const BenchCamera *camera, GstBufferPool *pool, const Kept *from)
{
  GstBufferPoolAcquireParams params = { .flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT };
  gboolean cuda = camera->memory == BENCH_CUDA;
  GstBuffer *buffer = NULL;
  GstVideoInfo layout;
  Kept *k;

  if (gst_buffer_pool_acquire_buffer (pool, &buffer, &params) != GST_FLOW_OK)
    return NULL;
  read_layout (&camera->info, buffer, &layout);
  if ((k = find (kept, camera, kind_of (buffer), &layout))) {
    gst_buffer_unref (buffer);
    return k->frames.n ? &k->frames : NULL;
  }
  k = keep (&kept, camera, kind_of (buffer), &layout);
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
  const Kept *from;

  g_mutex_lock (&lock);
  from = pictures (camera);
  if (from && pool)
    frames = from_pool (camera, pool, from);
  if (from && !frames && camera->memory != BENCH_CUDA)
    frames = &from->frames;
  g_mutex_unlock (&lock);
  return frames;
}
