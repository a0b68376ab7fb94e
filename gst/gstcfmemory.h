/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfmemory.h: a GstAllocator of pinned host memory, which the GPU accesses directly, and a video buffer pool that
 * uses it. Without a CUDA context both provide pageable memory. New memory is cleared, so that padding never exposes
 * earlier contents. */
#ifndef GST_GSTCFMEMORY_H
#define GST_GSTCFMEMORY_H

#include <gst/video/video.h>

G_BEGIN_DECLS

#define GST_TYPE_CF_ALLOCATOR (gst_cf_allocator_get_type ())
G_DECLARE_FINAL_TYPE (GstCfAllocator, gst_cf_allocator, GST, CF_ALLOCATOR, GstAllocator)

/* Returns a new allocator. It keeps a reference to `context` (a CUDA context, or NULL), and each memory one to it. */
GstAllocator *gst_cf_allocator_new (GstObject *context);
/* Returns whether all of the buffer's memory is pinned memory of such an allocator. */
gboolean gst_cf_buffer_is_pinned (GstBuffer *buffer);
/* Replaces the buffer's memory by new memory with the same contents and never frees or reuses the old memory, which the
 * GPU may still read or write. Returns the number of memories given up; 0 if the new memory cannot be allocated. */
guint gst_cf_buffer_give_up_memory (GstBuffer *buffer);
/* Keeps the buffer's memory from ever being freed or reused, without replacing it: for a buffer that is only read.
 * Returns the number of memories given up. */
guint gst_cf_buffer_pin_memory (GstBuffer *buffer);

#define GST_TYPE_CF_POOL (gst_cf_pool_get_type ())
G_DECLARE_FINAL_TYPE (GstCfPool, gst_cf_pool, GST, CF_POOL, GstVideoBufferPool)

/* Returns a new pool of buffers with memory of that allocator. */
GstBufferPool *gst_cf_pool_new (GstAllocator *allocator);

G_END_DECLS
#endif
