/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcudasegmentanalytics.c: regions and label maps as GstAnalytics metadata. Built where its library is. */
#include "gstcudasegmentreport.h"

#include <gst/analytics/analytics.h>
#include <stdlib.h>

/* Each entry of a GstAnalyticsRelationMeta costs a byte for every other one, and a region is two of them: 8335 regions
 * would be 278 MB a frame. */
#define MAX_TRACKED 256

static int
by_area (const void *a, const void *b)
{
  const CfRegion *first = *(const CfRegion *const *) a, *second = *(const CfRegion *const *) b;

  if (first->area != second->area)
    return first->area < second->area ? 1 : -1;
  return first->id < second->id ? -1 : 1;
}

void
gst_cuda_segment_add_tracking (GstBuffer *buffer, const CfRegions *regions)
{
  const GstClockTime now = GST_BUFFER_PTS (buffer), duration = GST_BUFFER_DURATION (buffer);
  const gboolean timed = GST_CLOCK_TIME_IS_VALID (now) && GST_CLOCK_TIME_IS_VALID (duration);
  g_autofree const CfRegion **region = g_new (const CfRegion *, MAX (regions->n, 1));
  GstAnalyticsRelationMetaInitParams sizes;
  GstAnalyticsRelationMeta *meta;
  unsigned n = 0;

  for (unsigned i = 0; i < regions->n; i++)
    if (regions->region[i].area > 0)
      region[n++] = &regions->region[i];
  qsort (region, n, sizeof *region, by_area);
  n = MIN (n, MAX_TRACKED);
  /* The segmentation is one entry more. */
  sizes = (GstAnalyticsRelationMetaInitParams) { 2 * n + 1, 256 * (n + 1) };
  meta = gst_buffer_add_analytics_relation_meta_full (buffer, &sizes);
  for (unsigned i = 0; i < n; i++) {
    const CfRegion *r = region[i];
    const GstClockTime life = timed ? r->age * duration : 0;
    GstAnalyticsTrackingMtd track;
    GstAnalyticsODMtd object;

    if (!gst_analytics_relation_meta_add_od_mtd (meta, g_quark_from_static_string ("region"), r->x, r->y, r->width,
            r->height, 1, &object) ||
        !gst_analytics_relation_meta_add_tracking_mtd (meta, r->id, timed ? now - MIN (life, now) : now, &track))
      return;
    gst_analytics_tracking_mtd_update_last_seen (&track, now);
    gst_analytics_relation_meta_set_relation (meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, object.id, track.id);
    gst_analytics_relation_meta_set_relation (meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, track.id, object.id);
  }
}

#if GST_CHECK_VERSION(1, 26, 0)
void
gst_cuda_segment_add_segmentation (GstBuffer *buffer, const GstVideoInfo *info, GBytes *labels,
    const CfRegions *regions)
{
  const GstVideoFormat format = G_BYTE_ORDER == G_LITTLE_ENDIAN ? GST_VIDEO_FORMAT_GRAY16_LE
                                                                : GST_VIDEO_FORMAT_GRAY16_BE;
  const guint width = (guint) GST_VIDEO_INFO_WIDTH (info), height = (guint) GST_VIDEO_INFO_HEIGHT (info);
  const gsize offset[GST_VIDEO_MAX_PLANES] = { 0 };
  const gint stride[GST_VIDEO_MAX_PLANES] = { (gint) (2 * width) };
  g_autofree guint *id = g_new (guint, MAX (regions->n, 1));
  GstAnalyticsRelationMeta *meta = gst_buffer_add_analytics_relation_meta (buffer);
  GstBuffer *map = gst_buffer_new_wrapped_bytes (labels);
  GstAnalyticsSegmentationMtd segmentation;

  for (unsigned i = 0; i < regions->n; i++)
    id[i] = regions->region[i].id;
  gst_buffer_add_video_meta_full (map, GST_VIDEO_FRAME_FLAG_NONE, format, width, height, 1, offset, stride);
  gst_analytics_relation_meta_add_segmentation_mtd (meta, map, GST_SEGMENTATION_TYPE_INSTANCE, regions->n, id, 0, 0,
      width, height, &segmentation);
}
#else
void
gst_cuda_segment_add_segmentation (GstBuffer *buffer, const GstVideoInfo *info, GBytes *labels,
    const CfRegions *regions)
{
  (void) buffer;
  (void) info;
  (void) labels;
  (void) regions;
}
#endif
