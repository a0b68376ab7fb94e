/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfnvmm.c: NVIDIA's surfaces: the library, a pool, mapping. */
#include "gstcfnvmm.h"
#include "gstcfcuda.h"

#include <dlfcn.h>

/* The library's functions; 0: good. Indices and planes: -1 for all. */
static struct {
  gint (*create) (GstCfNvBuffer **surfaces, guint32 n, GstCfNvRequest *request);
  gint (*destroy) (GstCfNvBuffer *surfaces);
  gint (*map) (GstCfNvBuffer *surfaces, gint index, gint plane, gint how); /* 0: read, 1: write, 2: both */
  gint (*unmap) (GstCfNvBuffer *surfaces, gint index, gint plane);
  gint (*for_cpu) (GstCfNvBuffer *surfaces, gint index, gint plane); /* what the GPU has written, the CPU sees */
  gint (*for_device) (GstCfNvBuffer *surfaces, gint index, gint plane);
} nv;

/* The library's numbers of formats. */
static const struct {
  GstVideoFormat format;
  gint number;
} formats[] = { { GST_VIDEO_FORMAT_GRAY8, 1 }, { GST_VIDEO_FORMAT_I420, 2 }, { GST_VIDEO_FORMAT_NV12, 6 },
  { GST_VIDEO_FORMAT_RGBA, 19 }, { GST_VIDEO_FORMAT_BGRA, 20 }, { GST_VIDEO_FORMAT_RGBx, 23 },
  { GST_VIDEO_FORMAT_BGRx, 24 } };

gboolean
gst_cf_nvmm_available (void)
{
  static gsize done;

  if (g_once_init_enter (&done)) {
    void *library = dlopen ("libnvbufsurface.so", RTLD_NOW | RTLD_LOCAL);

    if (library) {
      nv.create = dlsym (library, "NvBufSurfaceCreate");
      nv.destroy = dlsym (library, "NvBufSurfaceDestroy");
      nv.map = dlsym (library, "NvBufSurfaceMap");
      nv.unmap = dlsym (library, "NvBufSurfaceUnMap");
      nv.for_cpu = dlsym (library, "NvBufSurfaceSyncForCpu");
      nv.for_device = dlsym (library, "NvBufSurfaceSyncForDevice");
    }
    g_once_init_leave (&done,
        nv.create && nv.destroy && nv.map && nv.unmap && nv.for_cpu && nv.for_device && sizeof (gpointer) == 8 ? 2 : 1);
  }
  return done == 2;
}

static gint
number_of (GstVideoFormat format)
{
  for (gsize i = 0; i < G_N_ELEMENTS (formats); i++)
    if (formats[i].format == format)
      return formats[i].number;
  return 0;
}

gboolean
gst_cf_nvmm_has_format (GstVideoFormat format)
{
  return number_of (format) != 0;
}

/* ---- new surfaces ------------------------------------------------------- */

G_DECLARE_FINAL_TYPE (GstCfNvAllocator, gst_cf_nv_allocator, GST, CF_NV_ALLOCATOR, GstAllocator)

struct _GstCfNvAllocator {
  GstAllocator parent;
  GstCfNvRequest request;
};

typedef struct {
  GstMemory memory;
  GstCfNvBuffer *surfaces;
} NvMemory;

G_DEFINE_TYPE (GstCfNvAllocator, gst_cf_nv_allocator, GST_TYPE_ALLOCATOR)

static GstMemory *
allocator_alloc (GstAllocator *allocator, gsize size, GstAllocationParams *params)
{
  GstCfNvRequest request = GST_CF_NV_ALLOCATOR (allocator)->request;
  GstCfNvBuffer *surfaces = NULL;
  NvMemory *memory;

  if (nv.create (&surfaces, 1, &request) != 0 || !surfaces)
    return NULL;
  surfaces->filled = 1;
  memory = g_new0 (NvMemory, 1);
  memory->surfaces = surfaces;
  gst_memory_init (&memory->memory, params->flags | GST_MEMORY_FLAG_NO_SHARE, allocator, NULL, size, 0, 0, size);
  return &memory->memory;
}

static void
allocator_free (GstAllocator *allocator, GstMemory *memory)
{
  (void) allocator;
  nv.destroy (((NvMemory *) memory)->surfaces);
  g_free (memory);
}

static gpointer
memory_map (GstMemory *memory, gsize size, GstMapFlags flags)
{
  (void) size;
  (void) flags;
  return ((NvMemory *) memory)->surfaces;
}

static void
memory_unmap (GstMemory *memory)
{
  (void) memory;
}

static void
gst_cf_nv_allocator_init (GstCfNvAllocator *self)
{
  GstAllocator *allocator = GST_ALLOCATOR (self);

  GST_OBJECT_FLAG_SET (self, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
  allocator->mem_type = "CfNvmm";
  allocator->mem_map = memory_map;
  allocator->mem_unmap = memory_unmap;
}

static void
gst_cf_nv_allocator_class_init (GstCfNvAllocatorClass *klass)
{
  GST_ALLOCATOR_CLASS (klass)->alloc = allocator_alloc;
  GST_ALLOCATOR_CLASS (klass)->free = allocator_free;
}

GstBufferPool *
gst_cf_nvmm_pool_new (const GstVideoInfo *info, gint device, GstAllocator **allocator, guint *size)
{
  GstCfNvAllocator *self = gst_object_ref_sink (g_object_new (gst_cf_nv_allocator_get_type (), NULL));

  self->request = (GstCfNvRequest) { .gpu = (guint32) MAX (device, 0),
    .width = (guint32) GST_VIDEO_INFO_WIDTH (info),
    .height = (guint32) GST_VIDEO_INFO_HEIGHT (info),
    .format = number_of (GST_VIDEO_INFO_FORMAT (info)),
    .layout = GST_CF_NV_PITCH,
    .memory = GST_CF_NV_DEFAULT };
  *allocator = GST_ALLOCATOR (self);
  *size = sizeof (GstCfNvBuffer);
  return gst_object_ref_sink (gst_buffer_pool_new ());
}

/* ---- mapping ------------------------------------------------------------ */

/* Returns the description that a buffer holds, which lasts as long as the buffer. */
static GstCfNvBuffer *
surfaces_of (GstBuffer *buffer)
{
  GstCfNvBuffer *surfaces = NULL;
  GstMapInfo map;

  if (gst_buffer_n_memory (buffer) != 1 || !gst_buffer_map (buffer, &map, GST_MAP_READ))
    return NULL;
  if (map.size >= sizeof *surfaces)
    surfaces = (GstCfNvBuffer *) map.data;
  gst_buffer_unmap (buffer, &map);
  return surfaces && surfaces->surface ? surfaces : NULL;
}

gboolean
gst_cf_nvmm_is_on_gpu (GstBuffer *buffer)
{
  const GstCfNvBuffer *surfaces = surfaces_of (buffer);

  return surfaces && surfaces->surface->data && surfaces->memory >= GST_CF_NV_DEFAULT &&
      surfaces->memory <= GST_CF_NV_UNIFIED;
}

/* Returns whether the CPU reaches the surface only by the library's map. */
static gboolean
needs_map (const GstCfNvBuffer *surfaces)
{
  return surfaces->memory == GST_CF_NV_UNIFIED || surfaces->memory == GST_CF_NV_SURFACE_ARRAY ||
      surfaces->memory == GST_CF_NV_HANDLE;
}

/* Returns whether the surface is a frame of that video with rows one behind another. */
static gboolean
check (const GstCfNvBuffer *surfaces, const GstVideoInfo *info, CfFormat format, CfStatus *status)
{
  const GstCfNvSurface *s = surfaces->surface;
  const gint width = GST_VIDEO_INFO_WIDTH (info), height = GST_VIDEO_INFO_HEIGHT (info);
  const guint n = GST_VIDEO_INFO_N_PLANES (info);
  gboolean fits = s->planes.n == n;

  if (surfaces->filled > 1) {
    cf_fail (status, CF_UNSUPPORTED, "the buffer is a batch of %u frames; put the filter before nvstreammux",
        surfaces->filled);
    return FALSE;
  }
  if (s->layout != GST_CF_NV_PITCH) {
    cf_fail (status, CF_UNSUPPORTED, "the surface is block linear; put nvvidconv before the filter");
    return FALSE;
  }
  for (guint p = 0; fits && p < n; p++) {
    const guint64 row = cf_plane_row_bytes (format, width, (int) p);
    const guint64 rows = (guint64) cf_plane_rows (format, height, (int) p);

    fits = s->planes.pitch[p] >= row && s->planes.offset[p] + s->planes.pitch[p] * (rows - 1) + row <= s->size;
  }
  if (!fits || s->width != (guint) width || s->height != (guint) height)
    cf_fail (status, CF_BAD_VALUE, "the surface of %u x %u pixels in %u planes is not what the caps say, %d x %d in %u",
        s->width, s->height, s->planes.n, width, height, n);
  return fits && s->width == (guint) width && s->height == (guint) height;
}

GstCfNvBuffer *
gst_cf_nvmm_map (GstBuffer *buffer, const GstVideoInfo *info, GstMapFlags flags, CfImage *image, CfStatus *status)
{
  GstCfNvBuffer *surfaces = surfaces_of (buffer);
  const gboolean for_gpu = flags & GST_CF_MAP_CUDA, writes = flags & GST_MAP_WRITE, reads = flags & GST_MAP_READ;
  GstCfNvSurface *s;

  if (!surfaces) {
    cf_fail (status, CF_BAD_VALUE, "the buffer has no NVMM surface");
    return NULL;
  }
  if (!check (surfaces, info, image->format, status))
    return NULL;
  s = surfaces->surface;
  if (!for_gpu && needs_map (surfaces)) {
    if (nv.map (surfaces, 0, -1, writes ? reads ? 2 : 1 : 0) != 0 || nv.for_cpu (surfaces, 0, -1) != 0) {
      cf_fail (status, CF_UNSUPPORTED, "NvBufSurfaceMap failed for memory of the kind %d", surfaces->memory);
      return NULL;
    }
  } else if (!s->data || (!for_gpu && surfaces->memory != GST_CF_NV_PINNED && surfaces->memory != GST_CF_NV_SYSTEM)) {
    cf_fail (status, CF_UNSUPPORTED, "the frame is in NVMM memory of the kind %d, which only a GPU can read",
        surfaces->memory);
    return NULL;
  }
  for (guint p = 0; p < s->planes.n; p++) {
    image->plane[p].data = !for_gpu && needs_map (surfaces) ? s->mapped[p] : (guint8 *) s->data + s->planes.offset[p];
    image->plane[p].pitch = s->planes.pitch[p];
  }
  return surfaces;
}

void
gst_cf_nvmm_unmap (GstCfNvBuffer *surfaces, GstMapFlags flags)
{
  if ((flags & GST_CF_MAP_CUDA) || !needs_map (surfaces))
    return;
  if (flags & GST_MAP_WRITE)
    nv.for_device (surfaces, 0, -1);
  nv.unmap (surfaces, 0, -1);
}

void
gst_cf_nvmm_copy_format (GstBuffer *to, GstBuffer *from)
{
  GstCfNvBuffer *out = surfaces_of (to), *in = surfaces_of (from);

  if (out && in)
    out->surface->format = in->surface->format;
}
