/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfbackend-questions.c: what the submitting thread asks before it submits a frame. */
#include "gstcfbackend.h"
#include "gstcfcuda.h"

/* On the GPU, an area of up to one part in so many of a frame is filtered in place: its rows go up and down the link,
 * and the host copies its part once more, which is slower than the link. With one frame at a time the host does so
 * while the GPU works (docs/notes/regions.md). */
#define IN_PLACE_SHARE 8
#define IN_PLACE_SHARE_OF_ONE 3

gboolean
gst_cf_backend_is_identity (const GstCfBackend *b)
{
  return b->configured && b->traits.identity;
}

gboolean
gst_cf_backend_may_pass (const GstCfBackend *b, GstBuffer *in)
{
  return b->configured && !gst_cf_frame_crops (in, &b->info);
}

/* Plans with a history take the input after the frame. */
gboolean
gst_cf_backend_is_in_place (GstCfBackend *b, GstBuffer *in, const CfArea *area)
{
  const guint64 pixels = (guint64) GST_VIDEO_INFO_WIDTH (&b->info) * (guint64) GST_VIDEO_INFO_HEIGHT (&b->info);
  gboolean on_gpu;

  g_mutex_lock (&b->lock); /* the finishing thread may give the GPU up */
  on_gpu = b->use_gpu;
  g_mutex_unlock (&b->lock);
  if (on_gpu && cf_area_info (area).pixels * (b->slots > 1 ? IN_PLACE_SHARE : IN_PLACE_SHARE_OF_ONE) > pixels)
    return FALSE;
  return b->configured && b->traits.history == 0 && !gst_cf_cuda_buffer_context (in) &&
      !gst_cf_frame_crops (in, &b->info) && gst_buffer_is_writable (in) && gst_buffer_is_all_memory_writable (in);
}

gboolean
gst_cf_backend_needs_all (const GstCfBackend *b)
{
  return b->traits.history > 0 || b->traits.stateful;
}

gboolean
gst_cf_backend_needs_reset (GstCfBackend *b)
{
  gboolean gap;

  g_mutex_lock (&b->lock);
  gap = b->gap;
  g_mutex_unlock (&b->lock);
  return gap && gst_cf_backend_needs_all (b);
}

GstObject *
gst_cf_backend_context (const GstCfBackend *b)
{
  return b->cut_short ? b->cut_short : b->transfer.context;
}

gboolean
gst_cf_backend_is_elsewhere (GstCfBackend *b, GstObject *context)
{
  gboolean elsewhere;

  g_mutex_lock (&b->lock);
  elsewhere = b->use_gpu && b->transfer.context != context;
  g_mutex_unlock (&b->lock);
  return elsewhere;
}
