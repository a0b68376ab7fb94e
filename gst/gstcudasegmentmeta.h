/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcudasegmentmeta.h: the label map that cudasegment label-meta=true attaches
 * to its buffers, for applications. Only GStreamer's core is needed with it:
 * nothing here has to be linked, and where the plugin is not, buffers have no
 * such map.
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
 * It is a GstCustomMeta of GStreamer, which other languages read by the name
 * "GstCudaSegmentMeta" as well. The fields of its structure:
 *
 *   width, height  uint   the picture that it was made for
 *   pitch          uint   bytes from a row of labels to the next
 *   labels         GBytes of each pixel a guint16, the index of its region
 *   regions        GBytes the regions, GstCudaSegmentRegion each
 *
 * The two blocks are never changed: a copy of the buffer shares them, and who
 * wants to keep one takes a reference. A buffer that is scaled loses the map. An
 * element that cuts a picture and hands all metas on leaves width and height,
 * which tell that the map is not this picture's. */
#ifndef GST_CUDA_SEGMENT_META_H
#define GST_CUDA_SEGMENT_META_H

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_CUDA_SEGMENT_META_NAME "GstCudaSegmentMeta"

/* 72 bytes, in the byte order of the host; also what "regions" consists of. */
typedef struct {
  guint32 id;   /* 1..; the same as long as the region persists */
  guint32 age;  /* frames before this one that had it */
  guint32 area; /* pixels; 0: it has lost all of them, what follows says nothing */
  guint32 x, y, width, height; /* the smallest rectangle about it */
  guint32 reserved;
  gdouble centroid_x, centroid_y;
  gdouble mean_y, mean_cb, mean_cr; /* levels of 8 bits, of RGB full range BT.601 */
} GstCudaSegmentRegion;

/* All pointers are the buffer's and last as long as it does. */
typedef struct {
  guint width, height;
  gsize pitch;           /* bytes */
  const guint16 *label;  /* row y begins pitch * y bytes from here */
  guint n_regions;
  const GstCudaSegmentRegion *region;
} GstCudaSegmentMap;

/* FALSE where the buffer has none. */
static inline gboolean
gst_cuda_segment_map_get (GstBuffer *buffer, GstCudaSegmentMap *map)
{
  GstCustomMeta *meta = gst_buffer_get_custom_meta (buffer, GST_CUDA_SEGMENT_META_NAME);
  GstStructure *s = meta ? gst_custom_meta_get_structure (meta) : NULL;
  const GValue *labels, *regions;
  gsize n_label_bytes, n_region_bytes;
  guint pitch;

  if (!s || !gst_structure_get_uint (s, "width", &map->width) || !gst_structure_get_uint (s, "height", &map->height)
      || !gst_structure_get_uint (s, "pitch", &pitch))
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

/* The index of the region that has pixel (x, y), which is inside the map. */
static inline guint
gst_cuda_segment_map_index_at (const GstCudaSegmentMap *map, guint x, guint y)
{
  return *(const guint16 *) ((const guint8 *) map->label + y * map->pitch + 2 * (gsize) x);
}

/* The region that has pixel (x, y); NULL outside the map. */
static inline const GstCudaSegmentRegion *
gst_cuda_segment_map_region_at (const GstCudaSegmentMap *map, guint x, guint y)
{
  guint index = x < map->width && y < map->height ? gst_cuda_segment_map_index_at (map, x, y) : map->n_regions;

  return index < map->n_regions ? &map->region[index] : NULL;
}

G_END_DECLS
#endif
