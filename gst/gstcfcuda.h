/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfcuda.h: the elements' interface to GStreamer's CUDA library. gstcfcuda.c implements it with that library,
 * gstcfcuda-none.c for a build without: there CUDA is not available, and no buffer is in CUDA memory. No other file of
 * gst/ depends on which of the two is built.
 *
 * A context is a GstCudaContext, typed as a GstObject. In a process that was forked, gst_cf_cuda_available and
 * gst_cf_cuda_push fail, because no CUDA call may follow a fork. */
#ifndef GST_CF_CUDA_H
#define GST_CF_CUDA_H

#include "cf.h"

#include <gst/gst.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

#define GST_CF_CUDA_FEATURE "memory:CUDAMemory"

/* Returns whether a GPU can be used: there are a driver, a device, and kernels in this build.
 * Otherwise fills `status`, if given. Any thread; cheap. */
gboolean gst_cf_cuda_available (CfStatus *status);
/* Returns whether GStreamer's CUDA memory can hold the video format. */
gboolean gst_cf_cuda_has_format (GstVideoFormat format);

/* Contexts are shared with neighbours and the application as GStreamer's own CUDA elements share them. */

/* Sets `*context`, unless set already, to a context of a neighbour or the application, or to a new one on the device of
 * that number, which gstcfdevices.h chooses where the user did not. */
gboolean gst_cf_cuda_ensure_context (GstElement *element, gint device, GstObject **context);
/* Implements GstElement.set_context. `device` is -1 for any GPU. */
void gst_cf_cuda_set_context (GstElement *element, GstContext *message, gint device, GstObject **context);
/* Answers a context query. Returns FALSE for queries of other contexts. */
gboolean gst_cf_cuda_context_query (GstElement *element, GstQuery *query, GstObject *context);
/* Returns the device number of a context. */
gint gst_cf_cuda_device (GstObject *context);
/* Makes `context` current in this thread until gst_cf_cuda_pop. */
gboolean gst_cf_cuda_push (GstObject *context);
void gst_cf_cuda_pop (void);
/* Returns a CUDA stream that synchronises with the legacy default stream, NULL on failure. The context must be current,
 * for freeing the stream as well. */
gpointer gst_cf_cuda_stream_new (void);
void gst_cf_cuda_stream_free (gpointer stream);

/* Added to the map flags, GST_CF_MAP_CUDA maps device addresses. */
#define GST_CF_MAP_CUDA ((GstMapFlags) (GST_MAP_FLAG_LAST << 1))
/* Returns the context of a memory, without a reference; NULL if it is not CUDA memory. */
GstObject *gst_cf_cuda_memory_context (GstMemory *memory);
/* The same of a buffer; NULL if its memory is not one piece. */
static inline GstObject *
gst_cf_cuda_buffer_context (GstBuffer *buffer)
{
  return gst_buffer_n_memory (buffer) == 1 ? gst_cf_cuda_memory_context (gst_buffer_peek_memory (buffer, 0)) : NULL;
}
/* Returns the CUDA stream on which neighbours may still read or write the buffer's CUDA memory. Returns NULL where the
 * memory has no stream, as always with GStreamer 1.22; neighbours have then finished with it. To be called while the
 * buffer is mapped, because mapping may queue an upload on the stream. */
gpointer gst_cf_cuda_buffer_stream (GstBuffer *buffer);
/* Returns a new pool of buffers in CUDA memory. */
GstBufferPool *gst_cf_cuda_pool_new (GstObject *context);
/* Returns whether this is a pool of CUDA memory of that context. */
gboolean gst_cf_cuda_pool_is_on (GstBufferPool *pool, GstObject *context);

G_END_DECLS
#endif
