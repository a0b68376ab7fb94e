/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcudasegmentreport.c: writes regions to metas and messages. */
#include "gstcudasegmentreport.h"
#include "gstcudasegmentmeta.h"

#include <string.h>

/* Applications that read "regions" without the header depend on this size. */
G_STATIC_ASSERT (sizeof (GstCudaSegmentRegion) == 72);

/* ---- one region --------------------------------------------------------- */

static GstStructure *
describe_region (const CfRegion *r)
{
  return gst_structure_new ("cudasegment", "id", G_TYPE_UINT, r->id, "age", G_TYPE_UINT, r->age, "area", G_TYPE_UINT,
      r->area, "mean-y", G_TYPE_DOUBLE, r->mean[0], "mean-cb", G_TYPE_DOUBLE, r->mean[1], "mean-cr", G_TYPE_DOUBLE,
      r->mean[2], "centroid-x", G_TYPE_DOUBLE, r->centroid_x, "centroid-y", G_TYPE_DOUBLE, r->centroid_y, NULL);
}

GstStructure *
gst_cuda_segment_describe_region (const CfRegion *r)
{
  GstStructure *s = describe_region (r);

  gst_structure_set (s, "x", G_TYPE_UINT, (guint) r->x, "y", G_TYPE_UINT, (guint) r->y, "width", G_TYPE_UINT,
      (guint) r->width, "height", G_TYPE_UINT, (guint) r->height, NULL);
  return s;
}

void
gst_cuda_segment_add_regions (GstBuffer *buffer, const CfRegions *regions)
{
  for (unsigned i = 0; i < regions->n; i++) {
    const CfRegion *r = &regions->region[i];
    GstVideoRegionOfInterestMeta *meta;

    if (r->area == 0)
      continue;
    meta = gst_buffer_add_video_region_of_interest_meta (buffer, "region", (guint) r->x, (guint) r->y, (guint) r->width,
        (guint) r->height);
    meta->id = (gint) r->id;
    gst_video_region_of_interest_meta_add_param (meta, describe_region (r));
  }
#ifdef HAVE_GST_ANALYTICS
  gst_cuda_segment_add_tracking (buffer, regions);
#endif
}

/* ---- the message -------------------------------------------------------- */

GstStructure *
gst_cuda_segment_describe (GstBuffer *buffer, const GstSegment *segment, const GstVideoInfo *info,
    const CfRegions *regions)
{
  gboolean timed = segment->format == GST_FORMAT_TIME;
  GstClockTime time = GST_BUFFER_PTS (buffer);
  GstClockTime running = timed ? gst_segment_to_running_time (segment, GST_FORMAT_TIME, time) : GST_CLOCK_TIME_NONE;
  GstClockTime stream = timed ? gst_segment_to_stream_time (segment, GST_FORMAT_TIME, time) : GST_CLOCK_TIME_NONE;
  GstStructure *s = gst_structure_new ("cudasegment", "timestamp", G_TYPE_UINT64, time, "stream-time", G_TYPE_UINT64,
      stream, "running-time", G_TYPE_UINT64, running, "duration", G_TYPE_UINT64, GST_BUFFER_DURATION (buffer), "width",
      G_TYPE_INT, GST_VIDEO_INFO_WIDTH (info), "height", G_TYPE_INT, GST_VIDEO_INFO_HEIGHT (info), NULL);
  GValue list = G_VALUE_INIT;

  g_value_init (&list, GST_TYPE_ARRAY);
  for (unsigned i = 0; i < regions->n; i++) {
    const CfRegion *r = &regions->region[i];
    GValue value = G_VALUE_INIT;

    if (r->area == 0)
      continue;
    g_value_init (&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed (&value, gst_cuda_segment_describe_region (r));
    gst_value_array_append_and_take_value (&list, &value);
  }
  gst_structure_take_value (s, "regions", &list);
  return s;
}

/* ---- the label map ------------------------------------------------------ */

/* Attaches a label map with the fields of `from`, whose blocks it shares. */
static void
share (GstBuffer *buffer, const GstStructure *from)
{
  static const gchar *const fields[] = { "width", "height", "pitch", "labels", "regions" };
  GstCustomMeta *meta = gst_buffer_add_custom_meta (buffer, GST_CUDA_SEGMENT_META_NAME);

  for (gsize i = 0; i < G_N_ELEMENTS (fields); i++)
    if (gst_structure_has_field (from, fields[i]))
      gst_structure_set_value (gst_custom_meta_get_structure (meta), fields[i],
          gst_structure_get_value (from, fields[i]));
}

/* Keeps the map on copies of the whole buffer and on frames converted without scaling; drops it on all others. */
static gboolean
transform_map (GstBuffer *to, GstCustomMeta *meta, GstBuffer *from, GQuark type, gpointer data, gpointer user)
{
  (void) from;
  (void) user;
  if (GST_META_TRANSFORM_IS_COPY (type)) {
    const GstMetaTransformCopy *copy = data;

    if (copy->region)
      return FALSE;
  } else if (GST_VIDEO_META_TRANSFORM_IS_SCALE (type)) {
    const GstVideoMetaTransform *scale = data;

    if (GST_VIDEO_INFO_WIDTH (scale->in_info) != GST_VIDEO_INFO_WIDTH (scale->out_info) ||
        GST_VIDEO_INFO_HEIGHT (scale->in_info) != GST_VIDEO_INFO_HEIGHT (scale->out_info))
      return FALSE;
  } else {
    return FALSE;
  }
  share (to, gst_custom_meta_get_structure (meta));
  return TRUE;
}

void
gst_cuda_segment_register_meta (void)
{
  static const gchar *tags[] = { GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR, NULL };
  static gsize once;

  if (!g_once_init_enter (&once))
    return;
  gst_meta_register_custom (GST_CUDA_SEGMENT_META_NAME, tags, transform_map, NULL, NULL);
  g_once_init_leave (&once, 1);
}

/* Blocks of label maps that no buffer refers to any more: a new map of 8000 x 8000 pixels would be 128 MB of fresh
 * pages a frame. */
#define MAX_IDLE 4

struct _GstCudaSegmentMaps {
  gint refs; /* atomic: the element's and one of each block in use */
  GMutex lock;
  gsize size; /* of each idle block */
  guint n_idle;
  gpointer idle[MAX_IDLE];
};

typedef struct {
  GstCudaSegmentMaps *maps;
  gpointer data;
  gsize size;
} Block;

GstCudaSegmentMaps *
gst_cuda_segment_maps_new (void)
{
  GstCudaSegmentMaps *maps = g_new0 (GstCudaSegmentMaps, 1);

  maps->refs = 1;
  g_mutex_init (&maps->lock);
  return maps;
}

/* Lock held. */
static void
free_idle (GstCudaSegmentMaps *maps)
{
  while (maps->n_idle > 0)
    g_free (maps->idle[--maps->n_idle]);
  maps->size = 0;
}

void
gst_cuda_segment_maps_trim (GstCudaSegmentMaps *maps)
{
  g_mutex_lock (&maps->lock);
  free_idle (maps);
  g_mutex_unlock (&maps->lock);
}

void
gst_cuda_segment_maps_unref (GstCudaSegmentMaps *maps)
{
  if (!g_atomic_int_dec_and_test (&maps->refs))
    return;
  free_idle (maps);
  g_mutex_clear (&maps->lock);
  g_free (maps);
}

/* Called by the thread that drops the last reference to a map. */
static void
release_block (gpointer data)
{
  Block *block = data;
  GstCudaSegmentMaps *maps = block->maps;

  g_mutex_lock (&maps->lock);
  if (block->size == maps->size && maps->n_idle < MAX_IDLE) {
    maps->idle[maps->n_idle++] = block->data;
    block->data = NULL;
  }
  g_mutex_unlock (&maps->lock);
  g_free (block->data);
  g_free (block);
  gst_cuda_segment_maps_unref (maps);
}

/* Returns NULL where there is no memory. */
static gpointer
take_block (GstCudaSegmentMaps *maps, gsize size)
{
  gpointer data = NULL;

  g_mutex_lock (&maps->lock);
  if (maps->size != size)
    free_idle (maps);
  maps->size = size;
  if (maps->n_idle > 0)
    data = maps->idle[--maps->n_idle];
  g_mutex_unlock (&maps->lock);
  return data ? data : g_try_malloc (size);
}

static GBytes *
labels_of (GstCudaSegmentMaps *maps, const GstVideoInfo *info, const CfRegions *regions)
{
  gsize row = 2 * (gsize) GST_VIDEO_INFO_WIDTH (info), rows = (gsize) GST_VIDEO_INFO_HEIGHT (info);
  guint8 *labels = take_block (maps, row * rows);
  Block *block;

  if (!labels)
    return NULL;
  for (gsize y = 0; y < rows; y++)
    memcpy (labels + y * row, (const guint8 *) regions->label + y * regions->pitch, row);
  block = g_new (Block, 1);
  *block = (Block) { maps, labels, row * rows };
  g_atomic_int_inc (&maps->refs);
  return g_bytes_new_with_free_func (labels, row * rows, release_block, block);
}

/* Returns NULL where there is no memory. */
static GBytes *
list_of (const CfRegions *regions)
{
  GstCudaSegmentRegion *list = g_try_new0 (GstCudaSegmentRegion, MAX (regions->n, 1));

  if (!list)
    return NULL;
  for (unsigned i = 0; i < regions->n; i++) {
    const CfRegion *r = &regions->region[i];

    list[i] = (GstCudaSegmentRegion) { .id = r->id,
      .age = r->age,
      .area = r->area,
      .x = (guint32) r->x,
      .y = (guint32) r->y,
      .width = (guint32) r->width,
      .height = (guint32) r->height,
      .centroid_x = r->centroid_x,
      .centroid_y = r->centroid_y,
      .mean_y = r->mean[0],
      .mean_cb = r->mean[1],
      .mean_cr = r->mean[2] };
  }
  return g_bytes_new_take (list, regions->n * sizeof *list);
}

gboolean
gst_cuda_segment_add_labels (GstBuffer *buffer, GstCudaSegmentMaps *maps, const GstVideoInfo *info,
    const CfRegions *regions)
{
  GstCustomMeta *meta = gst_buffer_get_custom_meta (buffer, GST_CUDA_SEGMENT_META_NAME);
  GBytes *labels = labels_of (maps, info, regions), *list = labels ? list_of (regions) : NULL;

  if (!list) {
    g_clear_pointer (&labels, g_bytes_unref);
    return FALSE;
  }
  if (!meta)
    meta = gst_buffer_add_custom_meta (buffer, GST_CUDA_SEGMENT_META_NAME);
  gst_structure_set (gst_custom_meta_get_structure (meta), "width", G_TYPE_UINT, (guint) GST_VIDEO_INFO_WIDTH (info),
      "height", G_TYPE_UINT, (guint) GST_VIDEO_INFO_HEIGHT (info), "pitch", G_TYPE_UINT,
      2 * (guint) GST_VIDEO_INFO_WIDTH (info), "labels", G_TYPE_BYTES, labels, "regions", G_TYPE_BYTES, list, NULL);
#ifdef HAVE_GST_ANALYTICS
  gst_cuda_segment_add_segmentation (buffer, info, labels, regions);
#endif
  g_bytes_unref (labels);
  g_bytes_unref (list);
  return TRUE;
}
