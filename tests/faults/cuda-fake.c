/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cuda-fake.c: gstcfcuda.h for the fake GPU: contexts that are plain objects and, where a test needs it, CUDA memory
 * that is host memory. Mapping does not wait, and shows the bytes that the GPU has written so far. Only memory with a
 * stream, as GStreamer has from 1.24 on, waits for its stream, unless it is mapped for the GPU. */
#include "core/gpu/cuda.h"
#include "gstcfcuda.h"
#include "gstcfmemory.h"
#include "common.h"
#include "fake.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

bool fake_cuda_memory;
_Atomic int fake_maps_blocked, fake_frees_blocked;
static GstObject *shared_context[FAKE_MAX_DEVICES]; /* without a reference */

G_DECLARE_FINAL_TYPE (FakeContext, fake_context, FAKE, CONTEXT, GstObject)

struct _FakeContext {
  GstObject parent;
  gint number;
};

G_DEFINE_TYPE (FakeContext, fake_context, GST_TYPE_OBJECT)

static void
fake_context_finalize (GObject *object)
{
  fake.contexts--;
  G_OBJECT_CLASS (fake_context_parent_class)->finalize (object);
}

static void
fake_context_class_init (FakeContextClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = fake_context_finalize;
}

static void
fake_context_init (FakeContext *self)
{
  (void) self;
  fake.contexts++;
}

/* ---- memory ------------------------------------------------------------- */

G_DECLARE_FINAL_TYPE (FakeAllocator, fake_allocator, FAKE, ALLOCATOR, GstAllocator)

struct _FakeAllocator {
  GstAllocator parent;
  GstObject *context;
  gpointer stream;
};

typedef struct {
  GstMemory memory;
  guint8 *data;
} FakeMemory;

G_DEFINE_TYPE (FakeAllocator, fake_allocator, GST_TYPE_ALLOCATOR)

static GstMemory *
fake_alloc (GstAllocator *allocator, gsize size, GstAllocationParams *params)
{
  FakeMemory *memory = g_new0 (FakeMemory, 1);

  (void) params;
  memory->data = aligned_alloc (256, (size + 255) & ~(gsize) 255);
  memset (memory->data, 0, size);
  gst_memory_init (&memory->memory, 0, allocator, NULL, size, 255, 0, size);
  return &memory->memory;
}

/* Waits, as cuMemFree does. Memory that a hung GPU may use is not freed. */
static void
fake_free (GstAllocator *allocator, GstMemory *base)
{
  const CfGpuState state = cf_gpu_state ();

  fake_frees_blocked += (gint) ((state.hung | state.doubt) >>
          ((FakeContext *) ((FakeAllocator *) allocator)->context)->number &
      1);
  if (!fake.hung) {
    fake_settle ();
    free (((FakeMemory *) base)->data);
  }
  g_free (base);
}

static gpointer
fake_map (GstMemory *base, gsize size, GstMapFlags flags)
{
  gpointer stream = ((FakeAllocator *) base->allocator)->stream;
  FakeContext *context = (FakeContext *) ((FakeAllocator *) base->allocator)->context;

  (void) size;
  fake_maps_blocked += !(flags & GST_CF_MAP_CUDA) && (cf_gpu_state ().hung >> context->number & 1);
  if (stream && !(flags & GST_CF_MAP_CUDA))
    fake_finish (stream);
  return ((FakeMemory *) base)->data;
}

static void
fake_unmap (GstMemory *base)
{
  (void) base;
}

static void
fake_allocator_finalize (GObject *object)
{
  gst_clear_object (&((FakeAllocator *) object)->context);
  G_OBJECT_CLASS (fake_allocator_parent_class)->finalize (object);
}

static void
fake_allocator_class_init (FakeAllocatorClass *klass)
{
  GST_ALLOCATOR_CLASS (klass)->alloc = fake_alloc;
  GST_ALLOCATOR_CLASS (klass)->free = fake_free;
  G_OBJECT_CLASS (klass)->finalize = fake_allocator_finalize;
}

static void
fake_allocator_init (FakeAllocator *self)
{
  GST_ALLOCATOR (self)->mem_type = "FakeCudaMemory";
  GST_ALLOCATOR (self)->mem_map = fake_map;
  GST_ALLOCATOR (self)->mem_unmap = fake_unmap;
}

/* ---- gstcfcuda.h -------------------------------------------------------- */

gboolean
gst_cf_cuda_available (CfStatus *status)
{
  if (!cf_gpu_lost ())
    return cf_gpu_count (status) > 0;
  cf_fail_lost (status);
  return FALSE;
}

gboolean
gst_cf_cuda_has_format (GstVideoFormat format)
{
  return fake_cuda_memory && format == GST_VIDEO_FORMAT_I420;
}

GstObject *
fake_context_new (gint number)
{
  FakeContext *context = g_object_new (fake_context_get_type (), NULL);

  context->number = MAX (number, 0);
  return gst_object_ref_sink (context);
}

/* With CUDA memory all elements share one context, as in a pipeline. */
gboolean
gst_cf_cuda_ensure_context (GstElement *element, gint device, GstObject **context)
{
  GstObject **shared = &shared_context[MAX (device, 0)];

  (void) element;
  if (!*context && fake_cuda_memory && *shared)
    *context = gst_object_ref (*shared);
  if (*context)
    return TRUE;
  *context = fake_context_new (device);
  if (fake_cuda_memory) {
    *shared = *context;
    g_object_add_weak_pointer (G_OBJECT (*shared), (gpointer *) shared);
  }
  return TRUE;
}

void
gst_cf_cuda_set_context (GstElement *element, GstContext *message, gint device, GstObject **context)
{
  GstObject *offered = NULL;

  (void) element;
  if (!gst_structure_get (gst_context_get_structure (message), "context", GST_TYPE_OBJECT, &offered, NULL))
    return;
  if (!*context && (device < 0 || gst_cf_cuda_device (offered) == device))
    *context = g_steal_pointer (&offered);
  gst_clear_object (&offered);
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
  return ((FakeContext *) context)->number;
}

gboolean
gst_cf_cuda_push (GstObject *context)
{
  if (!context || fake_call (FAKE_PUSH) != 0)
    return FALSE;
  fake_push (((FakeContext *) context)->number);
  return TRUE;
}

void
gst_cf_cuda_pop (void)
{
  fake_pop ();
}

gpointer
gst_cf_cuda_stream_new (void)
{
  cudaStream_t stream = NULL;

  cf_cuda_check (cudaStreamCreateWithFlags (&stream, cudaStreamNonBlocking), "making a stream", NULL);
  return stream;
}

void
gst_cf_cuda_stream_free (gpointer stream)
{
  if (!cf_gpu_lost ())
    cf_cuda_check (cudaStreamDestroy (stream), "freeing a stream", NULL);
}

GstObject *
gst_cf_cuda_memory_context (GstMemory *memory)
{
  return gst_memory_is_type (memory, "FakeCudaMemory") ? FAKE_ALLOCATOR (memory->allocator)->context : NULL;
}

gpointer
gst_cf_cuda_buffer_stream (GstBuffer *buffer)
{
  return gst_cf_cuda_buffer_context (buffer) ? FAKE_ALLOCATOR (gst_buffer_peek_memory (buffer, 0)->allocator)->stream
                                             : NULL;
}

GstBufferPool *
gst_cf_cuda_pool_new (GstObject *context)
{
  return fake_pool_new (context, NULL);
}

GstBufferPool *
fake_pool_new (GstObject *context, gpointer stream)
{
  FakeAllocator *allocator = g_object_new (fake_allocator_get_type (), NULL);
  GstBufferPool *pool;

  gst_object_ref_sink (allocator);
  allocator->context = gst_object_ref (context);
  allocator->stream = stream;
  pool = gst_cf_pool_new (GST_ALLOCATOR (allocator));
  g_object_set_data (G_OBJECT (pool), "fake-context", context);
  gst_object_unref (allocator);
  return pool;
}

gboolean
gst_cf_cuda_pool_is_on (GstBufferPool *pool, GstObject *context)
{
  return g_object_get_data (G_OBJECT (pool), "fake-context") == context;
}
