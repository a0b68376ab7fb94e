/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfmemory.h: host memory that the GPU reaches directly (pinned), as a
 * GstAllocator, and a video buffer pool of it. Without a context both give
 * ordinary memory. Fresh memory is zero, so that padding never shows what was
 * there before. */
#ifndef GST_GSTCFMEMORY_H
#define GST_GSTCFMEMORY_H

#include <gst/video/gstvideopool.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

#define GST_TYPE_CF_ALLOCATOR (gst_cf_allocator_get_type ())
G_DECLARE_FINAL_TYPE (GstCfAllocator, gst_cf_allocator, GST, CF_ALLOCATOR, GstAllocator)

/* `context` (a CUDA context, or NULL) is kept for as long as any memory lives. */
GstAllocator *gst_cf_allocator_new (GstObject *context);
/* Does all of the buffer's memory come from such an allocator, pinned? */
gboolean gst_cf_buffer_is_pinned (GstBuffer *buffer);
/* Hands the buffer new memory of the same size and takes its old memory out of
 * circulation for good: something may still read or write it. Returns how many
 * memories were given up; 0 if there was no memory for the exchange. */
guint gst_cf_buffer_give_up_memory (GstBuffer *buffer, const GstVideoInfo *info);
/* The same without the exchange, for a buffer that is only read. */
guint gst_cf_buffer_pin_memory (GstBuffer *buffer);

#define GST_TYPE_CF_POOL (gst_cf_pool_get_type ())
G_DECLARE_FINAL_TYPE (GstCfPool, gst_cf_pool, GST, CF_POOL, GstVideoBufferPool)

GstBufferPool *gst_cf_pool_new (GstAllocator *allocator);

G_END_DECLS
#endif
