/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcudasegmentmeta.h: reads the label map that cudasegment label-meta=true attaches to its buffers. For applications:
 * the header needs only GStreamer's core library, and an application does not link the plugin. On a host without the
 * plugin no buffer has a label map.
 *
 *   GstCudaSegmentMap map;
 *
 *   if (gst_cuda_segment_map_get (buffer, &map)) {
 *     const GstCudaSegmentRegion *r = gst_cuda_segment_map_region_at (&map, 320, 240);
 *
 *     if (r)
 *       g_print ("region %u, %u pixels\n", r->id, r->area);
 *   }
 *
 * The map is a GstCustomMeta of the name "GstCudaSegmentMeta", which can be read from other languages, too. The fields
 * of its structure:
 *
 *   width, height  uint   the size of the frame that was segmented
 *   pitch          uint   bytes from a row of labels to the next
 *   labels         GBytes a guint16 per pixel, the index of its region
 *   regions        GBytes a GstCudaSegmentRegion per region
 *
 * The two blocks never change. Copies of the buffer share them, and an application can keep a block by taking a
 * reference. Scaled buffers lose the map. An element that crops frames and copies all metas keeps width and height as
 * they were: a map whose size differs from the frame's does not belong to that frame. */
#ifndef GST_CUDA_SEGMENT_META_H
#define GST_CUDA_SEGMENT_META_H

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_CUDA_SEGMENT_META_NAME "GstCudaSegmentMeta"

/* A region: 72 bytes in the byte order of the host. The block "regions" is an array of them. */
typedef struct {
  guint32 id;                  /* from 1 on (after 2^31 - 1: from 0); constant as long as the region persists */
  guint32 age;                 /* earlier frames that had the region */
  guint32 area;                /* pixels; 0: the region has lost all of them, and the fields below are not set */
  guint32 x, y, width, height; /* the smallest rectangle around it, pixels */
  guint32 reserved;
  gdouble centroid_x, centroid_y;
  gdouble mean_y, mean_cb, mean_cr; /* levels of 8 bits; RGB formats: full range BT.601 */
} GstCudaSegmentRegion;

/* The buffer owns the memory of all pointers, which are valid as long as the buffer. */
typedef struct {
  guint width, height;
  gsize pitch;          /* bytes */
  const guint16 *label; /* row y begins at byte pitch * y */
  guint n_regions;
  const GstCudaSegmentRegion *region;
} GstCudaSegmentMap;

/* Fills `map` from a buffer. Returns FALSE if the buffer has no valid label map. */
static inline gboolean
gst_cuda_segment_map_get (GstBuffer *buffer, GstCudaSegmentMap *map)
{
  GstCustomMeta *meta = gst_buffer_get_custom_meta (buffer, GST_CUDA_SEGMENT_META_NAME);
  GstStructure *s = meta ? gst_custom_meta_get_structure (meta) : NULL;
  const GValue *labels, *regions;
  gsize n_label_bytes, n_region_bytes;
  guint pitch;

  if (!s || !gst_structure_get_uint (s, "width", &map->width) || !gst_structure_get_uint (s, "height", &map->height) ||
      !gst_structure_get_uint (s, "pitch", &pitch))
    return FALSE;
  labels = gst_structure_get_value (s, "labels");
  regions = gst_structure_get_value (s, "regions");
  if (!labels || !regions || !G_VALUE_HOLDS (labels, G_TYPE_BYTES) || !G_VALUE_HOLDS (regions, G_TYPE_BYTES))
    return FALSE;
  map->pitch = pitch;
  map->label = (const guint16 *) g_bytes_get_data ((GBytes *) g_value_get_boxed (labels), &n_label_bytes);
  map->region = (const GstCudaSegmentRegion *) g_bytes_get_data ((GBytes *) g_value_get_boxed (regions),
      &n_region_bytes);
  map->n_regions = (guint) (n_region_bytes / sizeof (GstCudaSegmentRegion));
  return n_label_bytes / MAX (pitch, 1) >= map->height && pitch / 2 >= map->width;
}

/* Returns the index of the region of pixel (x, y), which must be inside the map. */
static inline guint
gst_cuda_segment_map_index_at (const GstCudaSegmentMap *map, guint x, guint y)
{
  return *(const guint16 *) ((const guint8 *) map->label + y * map->pitch + 2 * (gsize) x);
}

/* Returns the region of pixel (x, y); NULL outside the map. */
static inline const GstCudaSegmentRegion *
gst_cuda_segment_map_region_at (const GstCudaSegmentMap *map, guint x, guint y)
{
  guint index = x < map->width && y < map->height ? gst_cuda_segment_map_index_at (map, x, y) : map->n_regions;

  return index < map->n_regions ? &map->region[index] : NULL;
}

G_END_DECLS
#endif
