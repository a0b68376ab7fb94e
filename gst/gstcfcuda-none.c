/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfcuda-none.c: gstcfcuda.h for a build without GStreamer's CUDA library. */
#include "gstcfcuda.h"

gboolean
gst_cf_cuda_available (CfStatus *status)
{
  cf_fail (status, CF_NO_GPU, "this build does not support CUDA");
  return FALSE;
}

gboolean
gst_cf_cuda_has_format (GstVideoFormat format)
{
  (void) format;
  return FALSE;
}

gboolean
gst_cf_cuda_ensure_context (GstElement *element, gint device, GstObject **context)
{
  (void) element;
  (void) device;
  (void) context;
  return FALSE;
}

void
gst_cf_cuda_set_context (GstElement *element, GstContext *message, gint device, GstObject **context)
{
  (void) element;
  (void) message;
  (void) device;
  (void) context;
}

gboolean
gst_cf_cuda_context_query (GstElement *element, GstQuery *query, GstObject *context)
{
  (void) element;
  (void) query;
  (void) context;
  return FALSE;
}

gint
gst_cf_cuda_device (GstObject *context)
{
  (void) context;
  return -1;
}

gboolean
gst_cf_cuda_push (GstObject *context)
{
  (void) context;
  return FALSE;
}

void
gst_cf_cuda_pop (void)
{
}

gpointer
gst_cf_cuda_stream_new (void)
{
  return NULL;
}

void
gst_cf_cuda_stream_free (gpointer stream)
{
  (void) stream;
}

GstObject *
gst_cf_cuda_memory_context (GstMemory *memory)
{
  (void) memory;
  return NULL;
}

gpointer
gst_cf_cuda_buffer_stream (GstBuffer *buffer)
{
  (void) buffer;
  return NULL;
}

GstBufferPool *
gst_cf_cuda_pool_new (GstObject *context)
{
  (void) context;
  return NULL;
}

gboolean
gst_cf_cuda_pool_is_on (GstBufferPool *pool, GstObject *context)
{
  (void) pool;
  (void) context;
  return FALSE;
}
