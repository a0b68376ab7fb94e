/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfnvmm.h: frames of NVIDIA's own elements (nvv4l2decoder, DeepStream's), whose caps have the feature memory:NVMM.
 * Such a buffer holds no pixels, but a description of surfaces, here in declarations of our own by the layout that
 * DeepStream publishes in nvbufsurface.h. NVIDIA's library is loaded where it is installed.
 *
 * Only a buffer's first surface is used: behind it the layout differs between versions of DeepStream, and each camera
 * of a batch would need a filter with a history of its own. Frames are read from one buffer and written to another one,
 * never in place, because a decoder may still need what it has pushed. */
#ifndef GST_CF_NVMM_H
#define GST_CF_NVMM_H

#include "cf.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

#define GST_CF_NVMM_FEATURE "memory:NVMM"
/* Added to the map flags: the buffer is one of these. */
#define GST_CF_MAP_NVMM ((GstMapFlags) (GST_MAP_FLAG_LAST << 2))

/* The kinds of memory, and the layout, that we know by name. */
enum {
  GST_CF_NV_DEFAULT, /* for new surfaces: what suits the machine */
  GST_CF_NV_PINNED,
  GST_CF_NV_DEVICE,
  GST_CF_NV_UNIFIED,
  GST_CF_NV_SURFACE_ARRAY, /* of Jetson; this one and the next have no address before they are mapped */
  GST_CF_NV_HANDLE,
  GST_CF_NV_SYSTEM
};
enum { GST_CF_NV_PITCH };

typedef struct {
  guint32 n;
  guint32 width[4], height[4], pitch[4], offset[4], size[4], sample_bytes[4]; /* in bytes but for width and height */
  gpointer reserved[16];
} GstCfNvPlanes;

typedef struct {
  guint32 width, height, pitch;
  gint32 format, layout;
  guint64 fd;
  guint32 size;
  gpointer data;
  GstCfNvPlanes planes;
  gpointer mapped[4]; /* each plane for the CPU. More follows */
} GstCfNvSurface;

typedef struct {
  guint32 gpu, batch, filled; /* `batch`: of `surface`, of which `filled` have a frame */
  guint8 contiguous;
  gint32 memory;
  GstCfNvSurface *surface;
  guint8 imported;
  gpointer reserved[4];
} GstCfNvBuffer;

typedef struct {
  guint32 gpu, width, height, size;
  guint8 contiguous;
  gint32 format, layout, memory;
  gpointer reserved[4];
} GstCfNvRequest;

#if GLIB_SIZEOF_VOID_P == 8
G_STATIC_ASSERT (sizeof (GstCfNvPlanes) == 232);
G_STATIC_ASSERT (G_STRUCT_OFFSET (GstCfNvSurface, fd) == 24 && G_STRUCT_OFFSET (GstCfNvSurface, data) == 40);
G_STATIC_ASSERT (G_STRUCT_OFFSET (GstCfNvSurface, planes) == 48 && G_STRUCT_OFFSET (GstCfNvSurface, mapped) == 280);
G_STATIC_ASSERT (sizeof (GstCfNvBuffer) == 72 && G_STRUCT_OFFSET (GstCfNvBuffer, surface) == 24);
G_STATIC_ASSERT (sizeof (GstCfNvRequest) == 64 && G_STRUCT_OFFSET (GstCfNvRequest, memory) == 28);
#endif

/* Returns whether NVIDIA's library (libnvbufsurface.so) is there. Any thread; looks once. */
gboolean gst_cf_nvmm_available (void);
gboolean gst_cf_nvmm_has_format (GstVideoFormat format);
/* Returns a pool, without a configuration, whose buffers have a surface of that video on that GPU; and sets the size of
 * its buffers. */
GstBufferPool *gst_cf_nvmm_pool_new (const GstVideoInfo *info, gint device, GstAllocator **allocator, guint *size);
/* Returns whether the GPU copies from and to the surface; else the CPU maps it. */
gboolean gst_cf_nvmm_is_on_gpu (GstBuffer *buffer);
/* Maps the surface: with GST_CF_MAP_CUDA for copies by the GPU, else for the CPU. Returns the buffer's description, for
 * gst_cf_nvmm_unmap; NULL and a status where it is not a frame of that video, or cannot be mapped so. */
GstCfNvBuffer *
gst_cf_nvmm_map (GstBuffer *buffer, const GstVideoInfo *info, GstMapFlags flags, CfImage *image, CfStatus *status);
void gst_cf_nvmm_unmap (GstCfNvBuffer *surfaces, GstMapFlags flags);
/* Notes on the output what the input's caps do not say: how it writes colours. */
void gst_cf_nvmm_copy_format (GstBuffer *to, GstBuffer *from);

G_END_DECLS
#endif
