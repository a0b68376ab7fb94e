/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfcuda.h: what the elements need of GStreamer's CUDA library, behind one
 * small wall. gstcfcuda.c has it, gstcfcuda-none.c stands in for it in a build
 * without that library: then nothing is available and nothing is CUDA memory.
 * No other file of gst/ knows the difference.
 *
 * A context is a GstCudaContext seen as a GstObject. After a fork every
 * function here refuses: no CUDA call may follow one. */
#ifndef GST_CF_CUDA_H
#define GST_CF_CUDA_H

#include <gst/gst.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

#define GST_CF_CUDA_FEATURE "memory:CUDAMemory"

/* Is there a driver, a device and a build with kernels? Where not, `why` (if
 * given) gets a sentence to be freed. May be asked at any time, cheaply. */
gboolean gst_cf_cuda_available (gchar **why);
/* The video formats that CUDA memory of this GStreamer can hold. */
gboolean gst_cf_cuda_has_format (GstVideoFormat format);

/* Contexts: shared with the neighbours and the application as GStreamer's own
 * CUDA elements do. `device` is -1 for any: gstcfdevices.h has the rule. */
gboolean gst_cf_cuda_ensure_context (GstElement *element, gint device, GstObject **context);
void gst_cf_cuda_set_context (GstElement *element, GstContext *message, gint device, GstObject **context);
gboolean gst_cf_cuda_context_query (GstElement *element, GstQuery *query, GstObject *context);
gint gst_cf_cuda_device (GstObject *context);
/* Makes `context` current in this thread, until the pop. */
gboolean gst_cf_cuda_push (GstObject *context);
void gst_cf_cuda_pop (void);
/* A stream that the legacy default stream waits for and that waits for it; NULL
 * if it cannot be had. For both the context is current. */
gpointer gst_cf_cuda_stream_new (void);
void gst_cf_cuda_stream_free (gpointer stream);

/* Memory. Added to the map flags, GST_CF_MAP_CUDA asks for the device's side. */
#define GST_CF_MAP_CUDA ((GstMapFlags) (GST_MAP_FLAG_LAST << 1))
/* The context that the buffer's memory lives in (borrowed), or NULL if it is
 * not one piece of CUDA memory. */
GstObject *gst_cf_cuda_buffer_context (GstBuffer *buffer);
/* The CUDA stream on which the neighbours may still read and write the buffer's CUDA
 * memory; NULL where it has none, as in all of GStreamer 1.22: then they have waited.
 * Ask when it is mapped, for that may upload it there. */
gpointer gst_cf_cuda_buffer_stream (GstBuffer *buffer);
GstBufferPool *gst_cf_cuda_pool_new (GstObject *context);
gboolean gst_cf_cuda_pool_is_on (GstBufferPool *pool, GstObject *context);

G_END_DECLS
#endif
