/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfcaps.c: the caps of the elements' pads, and the video that they name. */
#include "gstcfcaps.h"
#include "gstcfcuda.h"
#include "gstcfnvmm.h"

#include <string.h>

typedef enum { SYSTEM, CUDA, NVMM } Memory;

static gboolean
has_format (Memory memory, GstVideoFormat format)
{
  return memory == SYSTEM || (memory == CUDA ? gst_cf_cuda_has_format (format) : gst_cf_nvmm_has_format (format));
}

/* Returns NULL for system memory. */
static GstCapsFeatures *
features_of (Memory memory)
{
  return memory == SYSTEM ? NULL
                          : gst_caps_features_new_single (memory == CUDA ? GST_CF_CUDA_FEATURE : GST_CF_NVMM_FEATURE);
}

static void
add_structure (GstCaps *caps, Memory memory)
{
  GstStructure *s = gst_structure_new ("video/x-raw", "width", GST_TYPE_INT_RANGE, 1, CF_MAX_SIZE, "height",
      GST_TYPE_INT_RANGE, 1, CF_MAX_SIZE, "framerate", GST_TYPE_FRACTION_RANGE, 0, 1, G_MAXINT, 1, NULL);
  GValue list = G_VALUE_INIT;

  g_value_init (&list, GST_TYPE_LIST);
  for (int f = CF_FORMAT_NONE + 1; f < CF_N_FORMATS; f++) {
    const gchar *name = cf_format_info ((CfFormat) f)->name;
    GstVideoFormat format = gst_video_format_from_string (name);
    GValue value = G_VALUE_INIT;

    if (format == GST_VIDEO_FORMAT_UNKNOWN || !has_format (memory, format))
      continue;
    g_value_init (&value, G_TYPE_STRING);
    g_value_set_static_string (&value, name);
    gst_value_list_append_and_take_value (&list, &value);
  }
  if (gst_value_list_get_size (&list) == 0) {
    g_value_unset (&list);
    gst_structure_free (s);
    return;
  }
  gst_structure_take_value (s, "format", &list);
  gst_caps_append_structure_full (caps, s, features_of (memory));
}

GstCaps *
gst_cf_caps_all (gboolean cuda)
{
  static GstCaps *made[2]; /* every query of caps asks for them */
  static gsize done;

  if (g_once_init_enter (&done)) {
    for (int i = 0; i < 2; i++) {
      made[i] = gst_caps_new_empty ();
      if (i)
        add_structure (made[i], CUDA);
      add_structure (made[i], SYSTEM);
      if (gst_cf_nvmm_available ())
        add_structure (made[i], NVMM);
      GST_MINI_OBJECT_FLAG_SET (made[i], GST_MINI_OBJECT_FLAG_MAY_BE_LEAKED);
    }
    g_once_init_leave (&done, 1);
  }
  return gst_caps_ref (made[!!cuda]);
}

GstCaps *
gst_cf_caps_template (void)
{
  return gst_cf_caps_all (cf_gpu_state ().runtime > 0);
}

static Memory
memory_of (const GstCaps *caps, guint i)
{
  GstCapsFeatures *features = gst_caps_get_features (caps, i);

  if (!features || gst_caps_features_is_any (features))
    return SYSTEM;
  return gst_caps_features_contains (features, GST_CF_CUDA_FEATURE) ? CUDA
      : gst_caps_features_contains (features, GST_CF_NVMM_FEATURE)  ? NVMM
                                                                    : SYSTEM;
}

gboolean
gst_cf_caps_name_cuda (const GstCaps *caps)
{
  guint n = gst_caps_is_any (caps) ? 0 : gst_caps_get_size (caps);

  for (guint i = 0; i < n; i++)
    if (memory_of (caps, i) == CUDA)
      return TRUE;
  return FALSE;
}

gboolean
gst_cf_caps_is_cuda (const GstCaps *caps)
{
  return caps && gst_caps_is_fixed (caps) && memory_of (caps, 0) == CUDA;
}

gboolean
gst_cf_caps_is_nvmm (const GstCaps *caps)
{
  return caps && gst_caps_is_fixed (caps) && memory_of (caps, 0) == NVMM;
}

/* Appends structure `i` of `caps` with its memory replaced by another one. NVMM stays itself. */
static void
append_with (GstCaps *out, const GstCaps *caps, guint i, Memory memory)
{
  if ((memory == NVMM) == (memory_of (caps, i) == NVMM))
    gst_caps_append_structure_full (out, gst_structure_copy (gst_caps_get_structure (caps, i)), features_of (memory));
}

GstCaps *
gst_cf_caps_transform (GstCaps *caps, gboolean cuda, gboolean prefer_cuda)
{
  GstCaps *all = gst_cf_caps_all (cuda);
  GstCaps *taken = gst_caps_intersect_full (caps, all, GST_CAPS_INTERSECT_FIRST);
  GstCaps *wide = gst_caps_new_empty ();
  GstCaps *out;
  guint n = gst_caps_get_size (taken);

  /* The last intersection removes formats that CUDA memory cannot hold. */
  for (guint i = 0; cuda && prefer_cuda && i < n; i++)
    append_with (wide, taken, i, CUDA);
  for (guint i = 0; i < n; i++)
    append_with (wide, taken, i, SYSTEM);
  for (guint i = 0; cuda && !prefer_cuda && i < n; i++)
    if (memory_of (taken, i) == CUDA)
      append_with (wide, taken, i, CUDA);
  for (guint i = 0; i < n; i++)
    append_with (wide, taken, i, NVMM);
  out = gst_caps_intersect_full (wide, all, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref (wide);
  gst_caps_unref (taken);
  gst_caps_unref (all);
  return out;
}

/* ---- the video of caps --------------------------------------------------- */

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
