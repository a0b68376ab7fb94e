/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfmemory.c: the allocator of pinned host memory and its pool. */
#include "gstcfmemory.h"
#include "gstcfcuda.h"
#include "cf.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY_TYPE "CfHostMemory"
#define ALIGNMENT 256 /* pageable memory, too: whole cache lines, and fast copies */

typedef struct {
  GstMemory memory;
  gpointer block;
  gboolean pinned;
} GstCfMemory;

struct _GstCfAllocator {
  GstAllocator parent;
  GstObject *context;
};

G_DEFINE_TYPE (GstCfAllocator, gst_cf_allocator, GST_TYPE_ALLOCATOR)

static GstMemory *
allocator_alloc (GstAllocator *allocator, gsize size, GstAllocationParams *params)
{
  GstCfAllocator *self = GST_CF_ALLOCATOR (allocator);
  gsize align = MAX (params->align, ALIGNMENT - 1);
  gsize needed = size + params->prefix + params->padding;
  gsize total;
  GstCfMemory *memory;
  gboolean pinned = FALSE;
  gpointer block = NULL;

  if (needed < size || needed > G_MAXSIZE - 2 * align)
    return NULL;
  total = (needed + align) & ~align;
  /* Pinned memory is aligned to a page; a larger alignment takes pageable memory. */
  if (align < 4096 && !cf_gpu_lost () && gst_cf_cuda_push (self->context)) {
    block = cf_gpu_alloc (CF_PINNED, total, NULL);
    gst_cf_cuda_pop ();
    pinned = block != NULL;
  }
  if (!block)
    block = aligned_alloc (align + 1, total);
  if (!block)
    return NULL;
  memset (block, 0, total);
  memory = g_new0 (GstCfMemory, 1);
  memory->block = block;
  memory->pinned = pinned;
  gst_memory_init (&memory->memory, params->flags, allocator, NULL, total, align, params->prefix, size);
  return &memory->memory;
}

static void
allocator_free (GstAllocator *allocator, GstMemory *base)
{
  GstCfAllocator *self = GST_CF_ALLOCATOR (allocator);
  GstCfMemory *memory = (GstCfMemory *) base;

  /* A shared memory does not own its block. Where the context cannot be used (GPU lost, or after a fork), the block is
   * not freed. */
  if (!base->parent && !memory->pinned) {
    free (memory->block);
  } else if (!base->parent && !cf_gpu_lost () && gst_cf_cuda_push (self->context)) {
    cf_gpu_free (CF_PINNED, memory->block);
    gst_cf_cuda_pop ();
  }
  g_free (memory);
}

static gpointer
memory_map (GstMemory *base, gsize size, GstMapFlags flags)
{
  (void) size;
  (void) flags;
  return ((GstCfMemory *) base)->block;
}

static void
memory_unmap (GstMemory *base)
{
  (void) base;
}

static GstMemory *
memory_share (GstMemory *base, gssize offset, gssize size)
{
  GstMemory *parent = base->parent ? base->parent : base;
  GstCfMemory *share = g_new0 (GstCfMemory, 1);

  share->block = ((GstCfMemory *) base)->block;
  share->pinned = ((GstCfMemory *) base)->pinned;
  if (size == -1)
    size = (gssize) base->size - offset;
  gst_memory_init (&share->memory, GST_MINI_OBJECT_FLAGS (parent) | GST_MINI_OBJECT_FLAG_LOCK_READONLY, base->allocator,
      parent, base->maxsize, base->align, base->offset + (gsize) offset, (gsize) size);
  return &share->memory;
}

/* Copies into pageable memory of the default allocator: the GPU does not access copies, and pinned memory is scarce. */
static GstMemory *
memory_copy (GstMemory *base, gssize offset, gssize size)
{
  GstMemory *copy;
  GstMapInfo from, to;

  if (size == -1)
    size = (gssize) base->size > offset ? (gssize) base->size - offset : 0;
  if (!gst_memory_map (base, &from, GST_MAP_READ))
    return NULL;
  copy = gst_allocator_alloc (NULL, (gsize) size, NULL);
  if (copy && gst_memory_map (copy, &to, GST_MAP_WRITE)) {
    memcpy (to.data, from.data + offset, (gsize) size);
    gst_memory_unmap (copy, &to);
  } else if (copy) {
    gst_memory_unref (copy);
    copy = NULL;
  }
  gst_memory_unmap (base, &from);
  return copy;
}

static gboolean
memory_is_span (GstMemory *a, GstMemory *b, gsize *offset)
{
  (void) a;
  (void) b;
  (void) offset;
  return FALSE;
}

static void
gst_cf_allocator_init (GstCfAllocator *self)
{
  GstAllocator *allocator = GST_ALLOCATOR (self);

  allocator->mem_type = MEMORY_TYPE;
  allocator->mem_map = memory_map;
  allocator->mem_unmap = memory_unmap;
  allocator->mem_share = memory_share;
  allocator->mem_copy = memory_copy;
  allocator->mem_is_span = memory_is_span;
}

static void
gst_cf_allocator_finalize (GObject *object)
{
  GstCfAllocator *self = GST_CF_ALLOCATOR (object);

  gst_clear_object (&self->context);
  G_OBJECT_CLASS (gst_cf_allocator_parent_class)->finalize (object);
}

static void
gst_cf_allocator_class_init (GstCfAllocatorClass *klass)
{
  GST_ALLOCATOR_CLASS (klass)->alloc = allocator_alloc;
  GST_ALLOCATOR_CLASS (klass)->free = allocator_free;
  G_OBJECT_CLASS (klass)->finalize = gst_cf_allocator_finalize;
}

GstAllocator *
gst_cf_allocator_new (GstObject *context)
{
  GstCfAllocator *self = g_object_new (GST_TYPE_CF_ALLOCATOR, NULL);

  gst_object_ref_sink (self);
  self->context = context ? gst_object_ref (context) : NULL;
  return GST_ALLOCATOR (self);
}

gboolean
gst_cf_buffer_is_pinned (GstBuffer *buffer)
{
  guint n = gst_buffer_n_memory (buffer);

  for (guint i = 0; i < n; i++) {
    GstMemory *memory = gst_buffer_peek_memory (buffer, i);

    if (!gst_memory_is_type (memory, MEMORY_TYPE) || !((GstCfMemory *) memory)->pinned)
      return FALSE;
  }
  return n > 0;
}

guint
gst_cf_buffer_pin_memory (GstBuffer *buffer)
{
  guint n = gst_buffer_n_memory (buffer);

  /* The references are never released. So the pool finds that the memory is shared when the buffer is released, and
   * discards the buffer instead of reusing it. */
  for (guint i = 0; i < n; i++)
    gst_memory_ref (gst_buffer_peek_memory (buffer, i));
  return n;
}

guint
gst_cf_buffer_give_up_memory (GstBuffer *buffer)
{
  const gsize size = gst_buffer_get_size (buffer);
  GstMemory *replacement = gst_allocator_alloc (NULL, size, NULL);
  GstMapInfo map;
  guint n;

  if (!replacement || !gst_memory_map (replacement, &map, GST_MAP_WRITE)) {
    g_clear_pointer (&replacement, gst_memory_unref);
    return 0;
  }
  gst_buffer_extract (buffer, 0, map.data, size);
  gst_memory_unmap (replacement, &map);
  n = gst_cf_buffer_pin_memory (buffer);
  gst_buffer_replace_all_memory (buffer, replacement);
  return n;
}

/* ---- pool --------------------------------------------------------------- */

struct _GstCfPool {
  GstVideoBufferPool parent;
  GstAllocator *allocator;
};

G_DEFINE_TYPE (GstCfPool, gst_cf_pool, GST_TYPE_VIDEO_BUFFER_POOL)

/* Replaces the allocator of the configuration by the pool's own. */
static gboolean
pool_set_config (GstBufferPool *pool, GstStructure *config)
{
  GstAllocationParams params;

  if (!gst_buffer_pool_config_get_allocator (config, NULL, &params))
    gst_allocation_params_init (&params);
  gst_buffer_pool_config_set_allocator (config, GST_CF_POOL (pool)->allocator, &params);
  return GST_BUFFER_POOL_CLASS (gst_cf_pool_parent_class)->set_config (pool, config);
}

static void
gst_cf_pool_init (GstCfPool *self)
{
  (void) self;
}

static void
gst_cf_pool_finalize (GObject *object)
{
  gst_clear_object (&GST_CF_POOL (object)->allocator);
  G_OBJECT_CLASS (gst_cf_pool_parent_class)->finalize (object);
}

static void
gst_cf_pool_class_init (GstCfPoolClass *klass)
{
  GST_BUFFER_POOL_CLASS (klass)->set_config = pool_set_config;
  G_OBJECT_CLASS (klass)->finalize = gst_cf_pool_finalize;
}

GstBufferPool *
gst_cf_pool_new (GstAllocator *allocator)
{
  GstCfPool *self = g_object_new (GST_TYPE_CF_POOL, NULL);

  gst_object_ref_sink (self);
  self->allocator = gst_object_ref (allocator);
  return GST_BUFFER_POOL (self);
}
