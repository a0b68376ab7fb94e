/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfcuda.c: gstcfcuda.h with GStreamer's CUDA library. Uses only functions that have had the same arguments and
 * meaning since 1.22 and, where the library has them, the functions for streams. */
#include "gstcfcuda.h"

#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>
#include <gst/cuda/gstcudautils.h>

/* GStreamer 1.24 introduced streams. Its elements agree on a stream with their neighbours through the configuration of
 * a pool, and their work on it may be unfinished when they push a frame or release its buffer. The memory has a flag
 * for pending writes. It is not used here, because it does not cover pending reads, and because gst_cuda_memory_sync
 * clears the flag before it waits. */
#if GST_CHECK_VERSION(1, 24, 0)
#define HAS_STREAMS TRUE
#else
/* A build against 1.22 may run with 1.24, whose library has these functions. */
typedef struct _GstCudaStream GstCudaStream;
GstCudaStream *gst_cuda_memory_get_stream (GstCudaMemory *memory) __attribute__ ((weak));
CUstream gst_cuda_stream_get_handle (GstCudaStream *stream) __attribute__ ((weak));
#define HAS_STREAMS (gst_cuda_memory_get_stream && gst_cuda_stream_get_handle)
#endif

G_STATIC_ASSERT (GST_CF_MAP_CUDA == (GstMapFlags) GST_MAP_CUDA);

static gboolean
load_library (void)
{
  static gsize loaded;

  if (g_once_init_enter (&loaded)) {
    gboolean ok = gst_cuda_load_library ();

    /* Registers the allocator, which the pools find by name. */
    if (ok)
      gst_cuda_memory_init_once ();
    g_once_init_leave (&loaded, ok ? 2 : 1);
  }
  return loaded == 2;
}

gboolean
gst_cf_cuda_available (CfStatus *status)
{
  /* Without the driver library, the functions that create a context abort the process. */
  if (cf_gpu_count (status) == 0)
    return FALSE;
  if (cf_gpu_lost ())
    cf_fail_lost (status);
  else if (load_library ())
    return TRUE;
  else
    cf_fail (status, CF_NO_GPU, "GStreamer could not load the CUDA driver library");
  return FALSE;
}

gboolean
gst_cf_cuda_has_format (GstVideoFormat format)
{
  /* The formats of the CUDA allocator of 1.22, which ends the process on any other format. Later versions have more. */
  switch (format) {
    case GST_VIDEO_FORMAT_I420:
    case GST_VIDEO_FORMAT_YV12:
    case GST_VIDEO_FORMAT_NV12:
    case GST_VIDEO_FORMAT_NV21:
    case GST_VIDEO_FORMAT_P010_10LE:
    case GST_VIDEO_FORMAT_P016_LE:
    case GST_VIDEO_FORMAT_I420_10LE:
    case GST_VIDEO_FORMAT_Y42B:
    case GST_VIDEO_FORMAT_I422_10LE:
    case GST_VIDEO_FORMAT_I422_12LE:
    case GST_VIDEO_FORMAT_Y444:
    case GST_VIDEO_FORMAT_Y444_16LE:
    case GST_VIDEO_FORMAT_YUY2:
    case GST_VIDEO_FORMAT_UYVY:
    case GST_VIDEO_FORMAT_GBR:
    case GST_VIDEO_FORMAT_RGBP:
    case GST_VIDEO_FORMAT_BGRP:
    case GST_VIDEO_FORMAT_RGB:
    case GST_VIDEO_FORMAT_BGR:
    case GST_VIDEO_FORMAT_RGBA:
    case GST_VIDEO_FORMAT_BGRA:
    case GST_VIDEO_FORMAT_ARGB:
    case GST_VIDEO_FORMAT_ABGR:
    case GST_VIDEO_FORMAT_RGBx:
    case GST_VIDEO_FORMAT_BGRx:
    case GST_VIDEO_FORMAT_RGB10A2_LE:
    case GST_VIDEO_FORMAT_BGR10A2_LE:
      return TRUE;
    default:
      return FALSE;
  }
}

gboolean
gst_cf_cuda_ensure_context (GstElement *element, gint device, GstObject **context)
{
  if (!gst_cf_cuda_available (NULL))
    return FALSE;
  /* The number is for a new context. The library first queries the neighbours and the application for one, and
   * set_context checks the device of what they offer. */
  return gst_cuda_ensure_element_context (element, device, (GstCudaContext **) context);
}

void
gst_cf_cuda_set_context (GstElement *element, GstContext *message, gint device, GstObject **context)
{
  /* No load_library: only a program that has loaded the library can create such a context. */
  if (g_strcmp0 (gst_context_get_context_type (message), GST_CUDA_CONTEXT_TYPE) == 0)
    gst_cuda_handle_set_context (element, message, device, (GstCudaContext **) context);
}

gboolean
gst_cf_cuda_context_query (GstElement *element, GstQuery *query, GstObject *context)
{
  return context && gst_cuda_handle_context_query (element, query, GST_CUDA_CONTEXT (context));
}

gint
gst_cf_cuda_device (GstObject *context)
{
  guint device = 0;

  g_object_get (context, "cuda-device-id", &device, NULL);
  return (gint) device;
}

gboolean
gst_cf_cuda_push (GstObject *context)
{
  return context && !cf_gpu_state ().forked && gst_cuda_context_push (GST_CUDA_CONTEXT (context));
}

void
gst_cf_cuda_pop (void)
{
  gst_cuda_context_pop (NULL);
}

gpointer
gst_cf_cuda_stream_new (void)
{
  CUstream stream = NULL;

  return CuStreamCreate (&stream, CU_STREAM_DEFAULT) == CUDA_SUCCESS ? stream : NULL;
}

void
gst_cf_cuda_stream_free (gpointer stream)
{
  if (CuStreamDestroy ((CUstream) stream) != CUDA_SUCCESS)
    GST_WARNING ("could not free a CUDA stream");
}

GstObject *
gst_cf_cuda_memory_context (GstMemory *memory)
{
  return gst_is_cuda_memory (memory) ? GST_OBJECT_CAST (GST_CUDA_MEMORY_CAST (memory)->context) : NULL;
}

gpointer
gst_cf_cuda_buffer_stream (GstBuffer *buffer)
{
  GstCudaStream *stream = NULL;

  if (HAS_STREAMS && gst_cf_cuda_buffer_context (buffer))
    stream = gst_cuda_memory_get_stream (GST_CUDA_MEMORY_CAST (gst_buffer_peek_memory (buffer, 0)));
  return stream ? gst_cuda_stream_get_handle (stream) : NULL;
}

GstBufferPool *
gst_cf_cuda_pool_new (GstObject *context)
{
  return gst_cuda_buffer_pool_new (GST_CUDA_CONTEXT (context));
}

gboolean
gst_cf_cuda_pool_is_on (GstBufferPool *pool, GstObject *context)
{
  return GST_IS_CUDA_BUFFER_POOL (pool) && GST_OBJECT_CAST (GST_CUDA_BUFFER_POOL_CAST (pool)->context) == context;
}
