/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfvideo.c: the library's words for GStreamer's and the other way round: videos of caps, errors of statuses. */
#include "gstcfbackend.h"

#include <string.h>

void
gst_cf_backend_post_error (GstElement *element, const CfStatus *status, const gchar *what)
{
  GQuark domain = GST_RESOURCE_ERROR;
  gint code = GST_RESOURCE_ERROR_FAILED;
  gchar *text = g_strdup_printf ("%s: %s", what, status->message);

  switch (status->code) {
    case CF_BAD_VALUE:
    case CF_UNSUPPORTED:
      domain = GST_STREAM_ERROR;
      code = GST_STREAM_ERROR_FORMAT;
      break;
    case CF_NO_MEMORY:
      code = GST_RESOURCE_ERROR_NO_SPACE_LEFT;
      break;
    case CF_NO_GPU:
      code = GST_RESOURCE_ERROR_NOT_FOUND;
      break;
    default:
      break;
  }
  gst_element_message_full (element, GST_MESSAGE_ERROR, domain, code, text, NULL, __FILE__, GST_FUNCTION, __LINE__);
}

gboolean
gst_cf_video_from_info (const CfFilter *filter, const GstVideoInfo *info, CfVideo *video, guint *modes,
    CfStatus *status)
{
  const gchar *name = gst_video_format_to_string (GST_VIDEO_INFO_FORMAT (info));
  const gchar *interlacing = gst_video_interlace_mode_to_string (GST_VIDEO_INFO_INTERLACE_MODE (info));

  memset (video, 0, sizeof *video);
  video->format = cf_format_from_name (name);
  video->width = GST_VIDEO_INFO_WIDTH (info);
  video->height = GST_VIDEO_INFO_HEIGHT (info);
  switch (GST_VIDEO_INFO_INTERLACE_MODE (info)) {
    case GST_VIDEO_INTERLACE_MODE_PROGRESSIVE:
      *modes = 1u << GST_CF_PROGRESSIVE;
      break;
    case GST_VIDEO_INTERLACE_MODE_INTERLEAVED:
      *modes = 1u << GST_CF_INTERLACED;
      video->interlaced = true;
      break;
    case GST_VIDEO_INTERLACE_MODE_MIXED:
      *modes = 1u << GST_CF_PROGRESSIVE | 1u << GST_CF_INTERLACED;
      break;
    default:
      cf_fail (status, CF_UNSUPPORTED, "interlace-mode %s is not handled; progressive, interleaved and mixed are",
          interlacing);
      return FALSE;
  }
  if (video->format == CF_FORMAT_NONE) {
    cf_fail (status, CF_UNSUPPORTED, "the pixel format %s is not handled", name);
    return FALSE;
  }
  if (cf_filter_info (filter)->whole_frames) {
    *modes = 1u << GST_CF_PROGRESSIVE;
    video->interlaced = false;
  }
  return TRUE;
}

CfColors
gst_cf_colors_from_info (const GstVideoInfo *info)
{
  const GstVideoColorimetry *c = &info->colorimetry;
  CfColors colors = { 0 };
  gdouble kr, kb;

  if (gst_video_color_matrix_get_Kr_Kb (c->matrix, &kr, &kb)) {
    colors.kr = (int) (10000 * kr + 0.5);
    colors.kb = (int) (10000 * kb + 0.5);
  }
  /* Where the range is not known, that of videoconvert, which is the usual one. */
  colors.limited = c->range == GST_VIDEO_COLOR_RANGE_16_235 ||
      (c->range == GST_VIDEO_COLOR_RANGE_UNKNOWN && GST_VIDEO_INFO_IS_YUV (info));
  return colors;
}

gsize
gst_cf_video_bytes (CfFormat format, const GstVideoInfo *info)
{
  gsize bytes = 0;

  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (info); p++)
    bytes += cf_plane_row_bytes (format, GST_VIDEO_INFO_WIDTH (info), (int) p) *
        (gsize) cf_plane_rows (format, GST_VIDEO_INFO_HEIGHT (info), (int) p);
  return bytes;
}
