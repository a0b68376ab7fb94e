/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * regions.c: frames with regions in them, and the reported regions. */
#include "regions.h"

#ifdef HAVE_GST_ANALYTICS
#include <gst/analytics/analytics.h>
#endif
#include <string.h>

/* ---- frames ----------------------------------------------------------- */

/* The first area is the background. `color` has one value per component. */
static const struct {
  gint left, top, right, bottom; /* sixteenths of the frame */
  gint speed;
  guint8 color[4];
} areas[] = {
  { 0, 0, 16, 16, 0, { 90, 120, 134, 77 } },
  { 1, 1, 6, 6, 1, { 200, 100, 140, 0 } },
  { 8, 2, 13, 7, 0, { 30, 150, 110, 255 } },
  { 2, 9, 7, 15, 0, { 150, 30, 128, 9 } },
  { 9, 9, 15, 14, -1, { 235, 128, 20, 200 } },
};

static guint8
color_at (gint width, gint height, gint x, gint y, gint c, guint n)
{
  guint8 color = areas[0].color[c];

  for (gsize i = 1; i < G_N_ELEMENTS (areas); i++) {
    gint at = x - areas[i].speed * (gint) n;

    if (16 * at >= areas[i].left * width && 16 * at < areas[i].right * width && 16 * y >= areas[i].top * height &&
        16 * y < areas[i].bottom * height)
      color = areas[i].color[c];
  }
  return color;
}

GstBuffer *
regions_frame (const GstVideoInfo *info, guint n)
{
  GstBuffer *buffer = random_frame (info, n, 0);
  const GstVideoFormatInfo *f = info->finfo;
  guint32 noise = n + 1;
  GstVideoFrame frame;

  fail_unless (gst_video_frame_map (&frame, info, buffer, GST_MAP_WRITE));
  for (gint c = 0; c < (gint) GST_VIDEO_INFO_N_COMPONENTS (info); c++)
    for (gint y = 0; y < GST_VIDEO_INFO_COMP_HEIGHT (info, c); y++)
      for (gint x = 0; x < GST_VIDEO_INFO_COMP_WIDTH (info, c); x++) {
        guint v = color_at (info->width, info->height, x << GST_VIDEO_FORMAT_INFO_W_SUB (f, c),
            y << GST_VIDEO_FORMAT_INFO_H_SUB (f, c), c, n);

        noise = noise * 1664525 + 1013904223;
        v += noise >> 30;
        if (GST_VIDEO_FORMAT_INFO_DEPTH (f, c) <= 8)
          v = MIN (v, 255);
        put_value (&frame, c, x, y, v << MAX (0, (gint) GST_VIDEO_FORMAT_INFO_DEPTH (f, c) - 8));
      }
  gst_video_frame_unmap (&frame);
  return buffer;
}

/* ---- reported regions ------------------------------------------------- */

/* Reads what metas and messages have in common. */
static GstCudaSegmentRegion
region_of (const GstStructure *s)
{
  GstCudaSegmentRegion r = { 0 };

  fail_unless_equals_string (gst_structure_get_name (s), "cudasegment");
  fail_unless (gst_structure_get (s, "id", G_TYPE_UINT, &r.id, "age", G_TYPE_UINT, &r.age, "area", G_TYPE_UINT, &r.area,
      "centroid-x", G_TYPE_DOUBLE, &r.centroid_x, "centroid-y", G_TYPE_DOUBLE, &r.centroid_y, "mean-y", G_TYPE_DOUBLE,
      &r.mean_y, "mean-cb", G_TYPE_DOUBLE, &r.mean_cb, "mean-cr", G_TYPE_DOUBLE, &r.mean_cr, NULL));
  return r;
}

Found *
found_in_metas (GstBuffer *buffer)
{
  GQuark type = g_quark_from_static_string ("region");
  Found *found = g_new0 (Found, 1);
  gpointer at = NULL;
  GstMeta *meta;

  while ((meta = gst_buffer_iterate_meta_filtered (buffer, &at, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))) {
    GstVideoRegionOfInterestMeta *roi = (GstVideoRegionOfInterestMeta *) meta;
    GstStructure *param = gst_video_region_of_interest_meta_get_param (roi, "cudasegment");
    GstCudaSegmentRegion *r = &found->region[found->n];

    if (roi->roi_type != type)
      continue;
    fail_unless (param && found->n++ < MAX_REGIONS);
    *r = region_of (param);
    fail_unless_equals_int (roi->id, (gint) r->id);
    r->x = roi->x;
    r->y = roi->y;
    r->width = roi->w;
    r->height = roi->h;
  }
  return found;
}

Found *
found_in_map (GstBuffer *buffer)
{
  Found *found = g_new0 (Found, 1);
  GstCudaSegmentMap map;

  fail_unless (gst_cuda_segment_map_get (buffer, &map), "there is no label map");
  fail_unless (map.n_regions > 0 && map.n_regions <= MAX_REGIONS);
  found->n = map.n_regions;
  memcpy (found->region, map.region, map.n_regions * sizeof *map.region);
  return found;
}

Found *
found_in_message (GstMessage *message)
{
  const GValue *list = gst_structure_get_value (gst_message_get_structure (message), "regions");
  Found *found = g_new0 (Found, 1);

  fail_unless (list && GST_VALUE_HOLDS_ARRAY (list));
  found->n = gst_value_array_get_size (list);
  fail_unless (found->n <= MAX_REGIONS);
  for (guint i = 0; i < found->n; i++) {
    const GstStructure *s = gst_value_get_structure (gst_value_array_get_value (list, i));
    GstCudaSegmentRegion *r = &found->region[i];

    *r = region_of (s);
    fail_unless (gst_structure_get (s, "x", G_TYPE_UINT, &r->x, "y", G_TYPE_UINT, &r->y, "width", G_TYPE_UINT,
        &r->width, "height", G_TYPE_UINT, &r->height, NULL));
  }
  return found;
}

#ifdef HAVE_GST_ANALYTICS
static const GstCudaSegmentRegion *
region_with_id (const Found *all, guint64 id)
{
  for (guint i = 0; i < all->n; i++)
    if (all->region[i].id == id)
      return &all->region[i];
  return NULL;
}

static void
assert_segmentation (GstAnalyticsRelationMeta *meta, GstBuffer *buffer, const Found *all)
{
#if GST_CHECK_VERSION(1, 26, 0)
  GstAnalyticsSegmentationMtd segmentation;
  GstCudaSegmentMap map;
  gpointer at = NULL;
  gint x, y;
  guint width, height;
  gsize index;
  GstVideoMeta *video;
  GstBuffer *mask;
  GstMapInfo in;

  fail_unless (gst_cuda_segment_map_get (buffer, &map));
  fail_unless (
      gst_analytics_relation_meta_iterate (meta, &at, gst_analytics_segmentation_mtd_get_mtd_type (), &segmentation));
  fail_unless_equals_int ((gint) gst_analytics_segmentation_mtd_get_region_count (&segmentation), (gint) all->n);
  for (guint i = 0; i < all->n; i++)
    fail_unless (gst_analytics_segmentation_mtd_get_region_id (&segmentation, i) == all->region[i].id);
  mask = gst_analytics_segmentation_mtd_get_mask (&segmentation, &x, &y, &width, &height);
  fail_unless (mask && x == 0 && y == 0 && width == map.width && height == map.height);
  /* The metadata can only say this of the regions, not of the pixels: the mask's levels are their indices. */
  fail_unless (
      gst_analytics_segmentation_mtd_get_region_index (&segmentation, &index, all->region[0].id) && index == 0);
  video = gst_buffer_get_video_meta (mask);
  fail_unless (video && video->format == GST_VIDEO_FORMAT_GRAY16_LE && (gsize) video->stride[0] == map.pitch);
  fail_unless (gst_buffer_map (mask, &in, GST_MAP_READ));
  fail_unless (in.size == map.pitch * map.height && !memcmp (in.data, map.label, in.size));
  gst_buffer_unmap (mask, &in);
  gst_buffer_unref (mask);
#else
  (void) meta;
  (void) buffer;
  (void) all;
#endif
}

void
assert_analytics (GstBuffer *buffer, const Found *all)
{
  GstAnalyticsRelationMeta *meta = gst_buffer_get_analytics_relation_meta (buffer);
  guint n = 0, n_all = 0, smallest = G_MAXUINT, larger = 0;
  GstAnalyticsODMtd object;
  gpointer at = NULL;

  fail_unless (meta != NULL);
  while (gst_analytics_relation_meta_iterate (meta, &at, gst_analytics_od_mtd_get_mtd_type (), &object)) {
    GstClockTime first, last;
    gint x, y, width, height;
    const GstCudaSegmentRegion *r;
    GstAnalyticsTrackingMtd track;
    gpointer of = NULL;
    guint64 id;
    gboolean lost;
    gfloat confidence;

    fail_unless (gst_analytics_relation_meta_get_direct_related (meta, object.id, GST_ANALYTICS_REL_TYPE_RELATE_TO,
        gst_analytics_tracking_mtd_get_mtd_type (), &of, &track));
    fail_unless (gst_analytics_tracking_mtd_get_info (&track, &id, &first, &last, &lost) && !lost);
    r = region_with_id (all, id);
    fail_unless (r && r->area > 0 && last == GST_BUFFER_PTS (buffer) && first <= last);
    fail_unless (gst_analytics_od_mtd_get_location (&object, &x, &y, &width, &height, &confidence));
    fail_unless (x == (gint) r->x && y == (gint) r->y && width == (gint) r->width && height == (gint) r->height);
    smallest = MIN (smallest, r->area);
    n++;
  }
  for (guint i = 0; i < all->n; i++) {
    n_all += all->region[i].area > 0;
    larger += all->region[i].area > smallest;
  }
  fail_unless (n == MIN (n_all, 256) && larger < 256);
  assert_segmentation (meta, buffer, all);
}
#endif

void
assert_same_regions (const Found *all, const Found *reported)
{
  guint n = 0;

  for (guint i = 0; i < all->n; i++)
    if (all->region[i].area > 0) {
      if (n >= reported->n || memcmp (&all->region[i], &reported->region[n], sizeof all->region[i]) != 0)
        fail ("region %u is reported with other values", all->region[i].id);
      n++;
    }
  fail_unless_equals_int ((gint) reported->n, (gint) n);
}

GstMessage *
pop_regions (GstElement *element)
{
  GstMessage *message = pop_message (element, GST_MESSAGE_ELEMENT);

  fail_unless (!message || gst_message_has_name (message, "cudasegment"));
  return message;
}

/* ---- expected regions ------------------------------------------------- */

/* Computes the colour of an id as documented. */
static void
color_of (guint id, gboolean rgb, gint color[3])
{
  guint32 h = id * 2654435769u;
  gint r = 64 + 3 * (gint) (h >> 24) / 4, g = 64 + 3 * (gint) (h >> 16 & 255) / 4;
  gint b = 64 + 3 * (gint) (h >> 8 & 255) / 4;

  color[0] = rgb ? r : (19595 * r + 38470 * g + 7471 * b + 32768) >> 16;
  color[1] = rgb ? g : (-11059 * r - 21709 * g + 32768 * b + 8421375) >> 16;
  color[2] = rgb ? b : (32768 * r - 27439 * g - 5329 * b + 8421375) >> 16;
}

typedef struct {
  guint area, left, top, right, bottom, n[3];
  guint64 x, y, sum[3];
} Sums;

/* Sums up the samples of component `c` per region, and checks their painted colours. */
static void
sum_component (const GstVideoFrame *in, const GstVideoFrame *out, const GstCudaSegmentMap *map, gint c, Sums *sums)
{
  const GstVideoFormatInfo *f = in->info.finfo;

  for (gint y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT (in, c); y++)
    for (gint x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH (in, c); x++) {
      guint i = gst_cuda_segment_map_index_at (map, (guint) x << GST_VIDEO_FORMAT_INFO_W_SUB (f, c),
          (guint) y << GST_VIDEO_FORMAT_INFO_H_SUB (f, c));
      gint color[3];

      if (i >= map->n_regions) /* each check that passes is a message to libcheck: none for each sample */
        fail ("label %u of %u", i, map->n_regions);
      color_of (map->region[i].id, GST_VIDEO_FORMAT_INFO_IS_RGB (f), color);
      if (value_of (out, c, x, y) != (guint) color[c] << (GST_VIDEO_FORMAT_INFO_DEPTH (f, c) - 8))
        fail ("component %d, sample (%d, %d) is %u, not %u for region %u", c, x, y, value_of (out, c, x, y), color[c],
            map->region[i].id);
      sums[i].n[c]++;
      sums[i].sum[c] += value_of (in, c, x, y);
    }
}

static void
sum_pixels (const GstCudaSegmentMap *map, Sums *sums)
{
  for (guint y = 0; y < map->height; y++)
    for (guint x = 0; x < map->width; x++) {
      Sums *s = &sums[gst_cuda_segment_map_index_at (map, x, y)];

      s->left = s->area ? MIN (s->left, x) : x;
      s->top = s->area ? MIN (s->top, y) : y;
      s->right = MAX (s->right, x);
      s->bottom = MAX (s->bottom, y);
      s->area++;
      s->x += x;
      s->y += y;
    }
}

static gboolean
near (gdouble a, gdouble b)
{
  return ABS (a - b) < 1e-9 * (1 + ABS (b));
}

static void
check_region (const GstVideoFormatInfo *f, const GstCudaSegmentRegion *r, const Sums *s)
{
  gdouble v[3], mean[3];

  fail_unless_equals_int ((gint) r->area, (gint) s->area);
  if (s->area == 0)
    return;
  fail_unless (r->x == s->left && r->y == s->top && r->x + r->width == s->right + 1 &&
          r->y + r->height == s->bottom + 1,
      "region %u, box", r->id);
  fail_unless (near (r->centroid_x, (gdouble) s->x / s->area) && near (r->centroid_y, (gdouble) s->y / s->area));
  for (gint c = 0; c < 3; c++) {
    v[c] = s->n[c] ? (gdouble) s->sum[c] / s->n[c] / (1 << (GST_VIDEO_FORMAT_INFO_DEPTH (f, 0) - 8)) : 128;
    mean[c] = v[c];
  }
  if (GST_VIDEO_FORMAT_INFO_IS_RGB (f)) {
    mean[0] = (19595 * v[0] + 38470 * v[1] + 7471 * v[2]) / 65536;
    mean[1] = 128 + (-11059 * v[0] - 21709 * v[1] + 32768 * v[2]) / 65536;
    mean[2] = 128 + (32768 * v[0] - 27439 * v[1] - 5329 * v[2]) / 65536;
  }
  fail_unless (near (r->mean_y, mean[0]) && near (r->mean_cb, mean[1]) && near (r->mean_cr, mean[2]),
      "region %u, mean %g %g %g, not %g %g %g", r->id, r->mean_y, r->mean_cb, r->mean_cr, mean[0], mean[1], mean[2]);
}

void
assert_regions (const GstVideoInfo *info, GstBuffer *in, GstBuffer *out, const Found *all)
{
  Sums *sums = g_new0 (Sums, all->n);
  GstVideoFrame before, after;
  GstCudaSegmentMap map;

  fail_unless (gst_cuda_segment_map_get (out, &map));
  fail_unless (map.n_regions == all->n && map.width == (guint) info->width && map.height == (guint) info->height);
  fail_unless (gst_video_frame_map (&before, info, in, GST_MAP_READ));
  fail_unless (gst_video_frame_map (&after, info, out, GST_MAP_READ));
  for (gint c = 0; c < (gint) MIN (GST_VIDEO_INFO_N_COMPONENTS (info), 3); c++)
    sum_component (&before, &after, &map, c, sums);
  sum_pixels (&map, sums);
  for (guint i = 0; i < all->n; i++)
    check_region (info->finfo, &all->region[i], &sums[i]);
  gst_video_frame_unmap (&after);
  gst_video_frame_unmap (&before);
  g_free (sums);
}
