/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfframe.c: maps buffers and checks the planes. gst_video_frame_map trusts the offsets and strides of a
 * GstVideoMeta; they come from other elements, so this file checks them. */
#include "gstcfframe.h"
#include "gstcfnvmm.h"

#include <stdio.h>
#include <string.h>

static gboolean refuse (CfStatus *status, const gchar *format, ...) G_GNUC_PRINTF (2, 3);

static gboolean
refuse (CfStatus *status, const gchar *format, ...)
{
  va_list args;

  status->code = CF_BAD_VALUE;
  status->cuda = 0;
  va_start (args, format);
  vsnprintf (status->message, sizeof status->message, format, args);
  va_end (args);
  return FALSE;
}

/* Returns the format's name, also of a format that does not exist. */
static const gchar *
name_of (GstVideoFormat format)
{
  const gchar *name = format != GST_VIDEO_FORMAT_UNKNOWN ? gst_video_format_to_string (format) : NULL;

  return name ? name : "an unknown format";
}

gboolean
gst_cf_frame_crops (GstBuffer *buffer, const GstVideoInfo *info)
{
  GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);

  return meta &&
      (meta->width != (guint) GST_VIDEO_INFO_WIDTH (info) || meta->height != (guint) GST_VIDEO_INFO_HEIGHT (info));
}

/* Sets x and y to the origin of the cropped frame, rounded down to whole chroma samples, so that all planes are cropped
 * at the same position. */
static gboolean
crop_origin (GstBuffer *buffer, const GstVideoMeta *meta, const GstVideoInfo *info, guint *x, guint *y,
    CfStatus *status)
{
  const CfFormatInfo *f = cf_format_info (cf_format_from_name (gst_video_format_to_string (meta->format)));
  GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta (buffer);
  guint width = (guint) GST_VIDEO_INFO_WIDTH (info), height = (guint) GST_VIDEO_INFO_HEIGHT (info);
  guint w_sub = 0, h_sub = 0;

  *x = *y = 0;
  if (meta->width < width || meta->height < height || meta->width > 4 * CF_MAX_SIZE || meta->height > 4 * CF_MAX_SIZE)
    return refuse (status, "the buffer's video meta is for %u x %u, its caps are for %u x %u", meta->width,
        meta->height, width, height);
  if (!crop || crop->width != width || crop->height != height)
    return TRUE;
  if (crop->x > meta->width - width || crop->y > meta->height - height)
    return refuse (status, "the crop of %u x %u at %u, %u extends beyond the %u x %u frame", width, height, crop->x,
        crop->y, meta->width, meta->height);
  for (guint i = 0; f && i < f->n_components; i++) {
    w_sub = MAX (w_sub, f->comp[i].w_sub);
    h_sub = MAX (h_sub, f->comp[i].h_sub);
  }
  *x = crop->x >> w_sub << w_sub;
  *y = crop->y >> h_sub << h_sub;
  return TRUE;
}

/* Returns the bytes from the start of a plane to its sample (x, y). */
static gsize
origin_bytes (const CfFormatInfo *f, guint plane, guint x, guint y, gsize stride)
{
  for (guint i = 0; i < f->n_components; i++)
    if (f->comp[i].plane == plane) {
      gsize step = (gsize) f->comp[i].step * f->bytes;

      return (gsize) (y >> f->comp[i].h_sub) * stride + (gsize) (x >> f->comp[i].w_sub) * step;
    }
  return 0;
}

void
gst_cf_frame_origin (GstBuffer *buffer, const GstVideoInfo *info, guint *x, guint *y)
{
  GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  CfStatus status;

  *x = *y = 0;
  /* A meta of another format is refused when the frame is mapped. */
  if (!gst_cf_frame_crops (buffer, info) || meta->format != GST_VIDEO_INFO_FORMAT (info) ||
      !crop_origin (buffer, meta, info, x, y, &status))
    *x = *y = 0;
}

static gboolean
map_plane (GstCfFrame *frame, const GstVideoInfo *info, guint plane, GstMapFlags flags, guint x, guint y,
    CfStatus *status)
{
  const CfFormatInfo *f = cf_format_info (frame->image.format);
  guint64 size = gst_buffer_get_size (frame->buffer);
  guint64 offset = frame->meta ? frame->meta->offset[plane] : GST_VIDEO_INFO_PLANE_OFFSET (info, plane);
  gint stride = frame->meta ? frame->meta->stride[plane] : GST_VIDEO_INFO_PLANE_STRIDE (info, plane);
  guint64 row = cf_plane_row_bytes (f->format, frame->image.width, (int) plane);
  guint64 rows = (guint64) cf_plane_rows (f->format, frame->image.height, (int) plane);
  guint64 skip, need;
  GstMapInfo *map;
  gpointer data;

  if (stride < 0)
    return refuse (status, "plane %u has a negative stride of %d bytes; only top-down frames are supported", plane,
        stride);
  if ((guint64) stride < row)
    return refuse (status, "plane %u has a stride of %d bytes; a row of %d samples needs %" G_GUINT64_FORMAT, plane,
        stride, frame->image.width, row);
  skip = origin_bytes (f, plane, x, y, (gsize) stride);
  need = skip + (guint64) stride * (rows - 1) + row;
  if (offset >= size || need > size - offset)
    return refuse (status,
        "plane %u starts at byte %" G_GUINT64_FORMAT " and ends at byte %" G_GUINT64_FORMAT
        " with its stride of %d; the buffer has %" G_GUINT64_FORMAT " bytes",
        plane, offset, offset + need, stride, size);

  /* With a meta, each plane may be in a memory of its own. Without one, the whole buffer is mapped once. */
  if (frame->meta || plane == 0) {
    gboolean ok;

    map = &frame->map[frame->n_maps];
    if (frame->meta) {
      ok = gst_video_meta_map (frame->meta, plane, map, &data, &stride, flags);
    } else {
      ok = gst_buffer_map (frame->buffer, map, flags);
      data = ok ? map->data + offset : NULL;
    }
    if (!ok)
      return refuse (status, "plane %u could not be mapped for %s", plane,
          flags & GST_MAP_WRITE ? "writing" : "reading");
    frame->n_maps++;
  } else {
    map = &frame->map[0];
    data = map->data + offset;
  }
  offset = (guint64) ((guint8 *) data - map->data);
  if ((guint8 *) data < map->data || offset > map->size || need > map->size - offset)
    return refuse (status,
        "plane %u needs %" G_GUINT64_FORMAT " bytes from byte %" G_GUINT64_FORMAT
        " of its memory, which has %" G_GSIZE_FORMAT,
        plane, need, offset, map->size);
  data = (guint8 *) data + skip;
  if (((guintptr) data | (guintptr) stride) & (f->bytes - 1u))
    return refuse (status, "plane %u needs an address and a stride in steps of %u bytes", plane, f->bytes);
  frame->image.plane[plane].data = data;
  frame->image.plane[plane].pitch = (size_t) stride;
  return TRUE;
}

gboolean
gst_cf_frame_map (GstCfFrame *frame, GstBuffer *buffer, const GstVideoInfo *info, CfFormat format, GstMapFlags flags,
    CfStatus *status)
{
  const CfFormatInfo *f = cf_format_info (format);
  guint x = 0, y = 0;
  gboolean ok = TRUE;

  memset (frame, 0, sizeof *frame);
  frame->buffer = buffer;
  frame->meta = gst_buffer_get_video_meta (buffer);
  frame->image.format = format;
  frame->image.width = GST_VIDEO_INFO_WIDTH (info);
  frame->image.height = GST_VIDEO_INFO_HEIGHT (info);
  if (flags & GST_CF_MAP_NVMM) {
    frame->flags = flags;
    frame->surfaces = gst_cf_nvmm_map (buffer, info, flags, &frame->image, status);
    return frame->surfaces != NULL;
  }
  if (frame->meta) {
    if (frame->meta->format != GST_VIDEO_INFO_FORMAT (info) || frame->meta->n_planes != f->n_planes)
      return refuse (status, "the buffer's video meta is for %s in %u planes, its caps are for %s",
          name_of (frame->meta->format), frame->meta->n_planes, f->name);
    if (gst_cf_frame_crops (buffer, info))
      ok = crop_origin (buffer, frame->meta, info, &x, &y, status);
  }
  for (guint plane = 0; ok && plane < f->n_planes; plane++)
    ok = map_plane (frame, info, plane, flags, x, y, status);
  if (!ok)
    gst_cf_frame_unmap (frame);
  return ok;
}

void
gst_cf_frame_unmap (GstCfFrame *frame)
{
  if (frame->surfaces)
    gst_cf_nvmm_unmap (g_steal_pointer (&frame->surfaces), frame->flags);
  while (frame->n_maps > 0) {
    frame->n_maps--;
    if (frame->meta)
      gst_video_meta_unmap (frame->meta, frame->n_maps, &frame->map[frame->n_maps]);
    else
      gst_buffer_unmap (frame->buffer, &frame->map[frame->n_maps]);
  }
}
