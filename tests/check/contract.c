/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * contract.c: checks what cf.h promises besides filtering: the format table against sizes and offsets worked out by
 * hand, refused values, and copies to and from the device. */
#include "kernelcheck.h"

#include <string.h>

/* A 5 x 3 image of each format: bytes per row and rows of each plane. YUY2's row ends with the complete group of its
 * last chroma sample. */
static const struct {
  const char *name;
  int planes, bits, row[4], rows[4];
} geometry[] = {
  { "GRAY8", 1, 8, { 5 }, { 3 } },
  { "GRAY16_LE", 1, 16, { 10 }, { 3 } },
  { "NV12", 2, 8, { 5, 6 }, { 3, 2 } },
  { "NV21", 2, 8, { 5, 6 }, { 3, 2 } },
  { "I420", 3, 8, { 5, 3, 3 }, { 3, 2, 2 } },
  { "YV12", 3, 8, { 5, 3, 3 }, { 3, 2, 2 } },
  { "NV16", 2, 8, { 5, 6 }, { 3, 3 } },
  { "Y42B", 3, 8, { 5, 3, 3 }, { 3, 3, 3 } },
  { "Y444", 3, 8, { 5, 5, 5 }, { 3, 3, 3 } },
  { "YUY2", 1, 8, { 12 }, { 3 } },
  { "UYVY", 1, 8, { 12 }, { 3 } },
  { "AYUV", 1, 8, { 20 }, { 3 } },
  { "RGB", 1, 8, { 15 }, { 3 } },
  { "BGR", 1, 8, { 15 }, { 3 } },
  { "RGBA", 1, 8, { 20 }, { 3 } },
  { "BGRA", 1, 8, { 20 }, { 3 } },
  { "ARGB", 1, 8, { 20 }, { 3 } },
  { "ABGR", 1, 8, { 20 }, { 3 } },
  { "RGBx", 1, 8, { 20 }, { 3 } },
  { "BGRx", 1, 8, { 20 }, { 3 } },
  { "xRGB", 1, 8, { 20 }, { 3 } },
  { "xBGR", 1, 8, { 20 }, { 3 } },
  { "GBR", 3, 8, { 5, 5, 5 }, { 3, 3, 3 } },
  { "P010_10LE", 2, 10, { 10, 12 }, { 3, 2 } },
  { "P016_LE", 2, 16, { 10, 12 }, { 3, 2 } },
  { "I420_10LE", 3, 10, { 10, 6, 6 }, { 3, 2, 2 } },
  { "I422_10LE", 3, 10, { 10, 6, 6 }, { 3, 3, 3 } },
  { "Y444_10LE", 3, 10, { 10, 10, 10 }, { 3, 3, 3 } },
  { "Y444_16LE", 3, 16, { 10, 10, 10 }, { 3, 3, 3 } },
  { "P012_LE", 2, 12, { 10, 12 }, { 3, 2 } },
  { "I420_12LE", 3, 12, { 10, 6, 6 }, { 3, 2, 2 } },
  { "I422_12LE", 3, 12, { 10, 6, 6 }, { 3, 3, 3 } },
  { "Y444_12LE", 3, 12, { 10, 10, 10 }, { 3, 3, 3 } },
  { "NV24", 2, 8, { 5, 10 }, { 3, 3 } },
  { "VUYA", 1, 8, { 20 }, { 3 } },
  { "A420", 4, 8, { 5, 3, 3, 5 }, { 3, 2, 2, 3 } },
  { "RGBP", 3, 8, { 5, 5, 5 }, { 3, 3, 3 } },
  { "BGRP", 3, 8, { 5, 5, 5 }, { 3, 3, 3 } },
  { "GBR_10LE", 3, 10, { 10, 10, 10 }, { 3, 3, 3 } },
  { "Y410", 1, 10, { 20 }, { 3 } },
  { "RGB10A2_LE", 1, 10, { 20 }, { 3 } },
  { "BGR10A2_LE", 1, 10, { 20 }, { 3 } },
};

/* Offsets of some components: the byte of sample number 1 in a row, and whether the component is filtered with apply-to
 * all, luma, chroma. */
static const struct {
  const char *name;
  CfRole role;
  int nth; /* index among the components of this role */
  int plane, byte;
  const char *filtered;
  int bit, bits; /* of a packed format */
} offsets[] = {
  { "NV12", CF_ROLE_CHROMA, 0, 1, 2, "yny" },
  { "NV12", CF_ROLE_CHROMA, 1, 1, 3, "yny" },
  { "NV21", CF_ROLE_CHROMA, 0, 1, 3, "yny" },
  { "YV12", CF_ROLE_CHROMA, 0, 2, 1, "yny" },
  { "YUY2", CF_ROLE_LUMA, 0, 0, 2, "yyn" },
  { "YUY2", CF_ROLE_CHROMA, 0, 0, 5, "yny" },
  { "YUY2", CF_ROLE_CHROMA, 1, 0, 7, "yny" },
  { "UYVY", CF_ROLE_LUMA, 0, 0, 3, "yyn" },
  { "UYVY", CF_ROLE_CHROMA, 0, 0, 4, "yny" },
  { "AYUV", CF_ROLE_ALPHA, 0, 0, 4, "nnn" },
  { "AYUV", CF_ROLE_LUMA, 0, 0, 5, "yyn" },
  { "RGB", CF_ROLE_RED, 0, 0, 3, "y--" },
  { "BGR", CF_ROLE_RED, 0, 0, 5, "y--" },
  { "xRGB", CF_ROLE_ALPHA, 0, 0, 4, "n--" },
  { "BGRA", CF_ROLE_RED, 0, 0, 6, "y--" },
  { "BGRA", CF_ROLE_ALPHA, 0, 0, 7, "n--" },
  { "ABGR", CF_ROLE_GREEN, 0, 0, 6, "y--" },
  { "GBR", CF_ROLE_GREEN, 0, 0, 1, "y--" },
  { "GBR", CF_ROLE_BLUE, 0, 1, 1, "y--" },
  { "GBR", CF_ROLE_RED, 0, 2, 1, "y--" },
  { "P010_10LE", CF_ROLE_CHROMA, 1, 1, 6, "yny" },
  { "GRAY16_LE", CF_ROLE_LUMA, 0, 0, 2, "yyn" },
  { "P012_LE", CF_ROLE_CHROMA, 1, 1, 6, "yny" },
  { "NV24", CF_ROLE_CHROMA, 0, 1, 2, "yny" },
  { "NV24", CF_ROLE_CHROMA, 1, 1, 3, "yny" },
  { "VUYA", CF_ROLE_LUMA, 0, 0, 6, "yyn" },
  { "VUYA", CF_ROLE_CHROMA, 0, 0, 5, "yny" },
  { "VUYA", CF_ROLE_CHROMA, 1, 0, 4, "yny" },
  { "VUYA", CF_ROLE_ALPHA, 0, 0, 7, "nnn" },
  { "A420", CF_ROLE_CHROMA, 1, 2, 1, "yny" },
  { "A420", CF_ROLE_ALPHA, 0, 3, 1, "nnn" },
  { "RGBP", CF_ROLE_RED, 0, 0, 1, "y--" },
  { "RGBP", CF_ROLE_BLUE, 0, 2, 1, "y--" },
  { "BGRP", CF_ROLE_RED, 0, 2, 1, "y--" },
  { "BGRP", CF_ROLE_GREEN, 0, 1, 1, "y--" },
  { "GBR_10LE", CF_ROLE_GREEN, 0, 0, 2, "y--" },
  { "GBR_10LE", CF_ROLE_BLUE, 0, 1, 2, "y--" },
  { "GBR_10LE", CF_ROLE_RED, 0, 2, 2, "y--" },
  { "Y410", CF_ROLE_CHROMA, 0, 0, 4, "yny", 0, 10 },
  { "Y410", CF_ROLE_LUMA, 0, 0, 4, "yyn", 10, 10 },
  { "Y410", CF_ROLE_CHROMA, 1, 0, 4, "yny", 20, 10 },
  { "Y410", CF_ROLE_ALPHA, 0, 0, 4, "nnn", 30, 2 },
  { "RGB10A2_LE", CF_ROLE_RED, 0, 0, 4, "y--", 0, 10 },
  { "RGB10A2_LE", CF_ROLE_GREEN, 0, 0, 4, "y--", 10, 10 },
  { "RGB10A2_LE", CF_ROLE_BLUE, 0, 0, 4, "y--", 20, 10 },
  { "RGB10A2_LE", CF_ROLE_ALPHA, 0, 0, 4, "n--", 30, 2 },
  { "BGR10A2_LE", CF_ROLE_RED, 0, 0, 4, "y--", 20, 10 },
  { "BGR10A2_LE", CF_ROLE_GREEN, 0, 0, 4, "y--", 10, 10 },
  { "BGR10A2_LE", CF_ROLE_BLUE, 0, 0, 4, "y--", 0, 10 },
  { "BGR10A2_LE", CF_ROLE_ALPHA, 0, 0, 4, "n--", 30, 2 },
};

static void
check_geometry (KcRun *run)
{
  const size_t n = G_N_ELEMENTS (geometry);

  kc_result (run, n == CF_N_FORMATS - 1, "the format table has %d formats, %zu are checked", CF_N_FORMATS - 1, n);
  for (size_t i = 0; i < n; i++) {
    CfFormat format = cf_format_from_name (geometry[i].name);
    const CfFormatInfo *info = cf_format_info (format);
    int shift = strcmp (geometry[i].name, "P010_10LE") == 0 ? 6 : strcmp (geometry[i].name, "P012_LE") == 0 ? 4 : 0;
    CfImage image;
    size_t total = 0;
    bool good = info && info->n_planes == geometry[i].planes && info->bits == geometry[i].bits &&
        info->bytes ==
            (info->unpacked          ? 4
                    : info->bits > 8 ? 2
                                     : 1) &&
        info->shift == shift;

    for (int p = 0; good && p < info->n_planes; p++) {
      good = cf_plane_row_bytes (format, 5, p) == (size_t) geometry[i].row[p] &&
          cf_plane_rows (format, 3, p) == geometry[i].rows[p];
      total += (size_t) (geometry[i].row[p] * geometry[i].rows[p]);
    }
    kc_result (run, good, "the geometry of %s differs from the one worked out by hand", geometry[i].name);
    kc_result (run, good && cf_image_layout (&image, format, 5, 3, 1) == total,
        "cf_image_layout of %s has another size", geometry[i].name);
    cf_image_layout (&image, format, 5, 3, 64);
    for (int p = 0; good && p < info->n_planes; p++)
      good = image.plane[p].pitch == 64 && (size_t) image.plane[p].data % 64 == 0;
    kc_result (run, good, "cf_image_layout of %s is not aligned to 64", geometry[i].name);
  }
}

static void
check_offsets (KcRun *run)
{
  for (size_t i = 0; i < G_N_ELEMENTS (offsets); i++) {
    const CfFormatInfo *info = cf_format_info (cf_format_from_name (offsets[i].name));
    int nth = 0, found = -1;

    for (int c = 0; info && c < info->n_components; c++)
      if (info->comp[c].role == offsets[i].role && nth++ == offsets[i].nth)
        found = c;
    if (found < 0) {
      kc_result (run, false, "%s lacks a component", offsets[i].name);
      continue;
    }
    kc_result (run,
        info->comp[found].plane == offsets[i].plane &&
            (info->comp[found].offset + info->comp[found].step) * info->bytes == offsets[i].byte &&
            info->comp[found].bit == offsets[i].bit && info->comp[found].bits == offsets[i].bits,
        "%s component %d is not at the offset worked out by hand", offsets[i].name, found);
    for (int a = 0; a < 3; a++)
      if (offsets[i].filtered[a] != '-')
        kc_result (run,
            kc_is_filtered (info, found, &(CfCommon) { .apply_to = (CfApplyTo) a }) == (offsets[i].filtered[a] == 'y'),
            "%s component %d: apply-to %d selects the wrong components", offsets[i].name, found, a);
  }
  kc_result (run,
      !cf_format_info (CF_FORMAT_NONE) && !cf_format_info (CF_N_FORMATS) &&
          cf_format_from_name ("NV99") == CF_FORMAT_NONE && cf_format_from_name ("") == CF_FORMAT_NONE,
      "cf_format_info or cf_format_from_name knows a format that does not exist");
}

static CfCode
check_setting (const CfFilter *filter, const CfVideo *video, CfApplyTo apply, const char *set, CfStatus *status)
{
  CfStatus why = { 0 };
  void *params = kc_params_new (filter, set, &why);

  /* A file that cannot be read is refused when the parameter is set. */
  if (params)
    (void) cf_filter_check (filter, video, &(CfCommon) { .apply_to = apply }, params, &why);
  cf_params_free (filter, params);
  if (status)
    *status = why;
  return why.code;
}

/* Returns whether a plan is made and updated, and the status says no more than the codes. */
static bool
makes_plan (CfContext *context, const CfFilter *filter, const CfVideo *video, const char *set)
{
  const CfCommon common = { 0 };
  CfStatus status = { 0 };
  void *params = kc_params_new (filter, set, &status);
  CfPlan *plan = params ? cf_plan_new (context, filter, video, &common, params, &status) : NULL;
  bool good = plan && status.code == CF_OK;

  good = good && cf_plan_update (plan, &common, params, &status) == CF_OK && status.code == CF_OK;
  cf_plan_free (plan);
  cf_params_free (filter, params);
  return good;
}

static void
check_values (KcRun *run, const KcFilter *kc)
{
  const CfFilter *filter = cf_filter_find (kc->stem);
  CfVideo yuv = { CF_FORMAT_I420, 64, 48, false }, rgb = { CF_FORMAT_RGB, 64, 48, false };
  CfVideo none = { CF_FORMAT_I420, 0, 48, false };
  CfVideo deep = { CF_FORMAT_I420_10LE, 64, 48, false }, deepest = { CF_FORMAT_GRAY16_LE, 64, 48, false };
  CfVideo huge = { CF_FORMAT_GRAY8, CF_MAX_SIZE + 1, 1, false };
  CfStatus status;

  /* What all cases need. */
  g_assert (filter && kc->reference && kc->right && kc->wrong);
  g_assert (kc->settings && kc->large_settings && kc->bad_settings);
  for (const char *const *set = kc->settings; *set; set++)
    kc_result (run,
        check_setting (filter, &yuv, CF_APPLY_ALL, *set, NULL) == CF_OK &&
            check_setting (filter, NULL, CF_APPLY_LUMA, *set, NULL) == CF_OK,
        "%s %s is refused", kc->stem, *set);
  for (const char *const *set = kc->settings; run->cpu && *set; set++)
    kc_result (run, makes_plan (run->cpu, filter, &yuv, *set), "%s %s makes no plan, or one with an error", kc->stem,
        *set);
  for (const char *const *set = kc->bad_settings; *set; set++) {
    kc_result (run,
        check_setting (filter, &yuv, CF_APPLY_ALL, *set, &status) == CF_BAD_VALUE && strlen (status.message) > 10,
        "%s %s is not refused, or without a sentence", kc->stem, *set);
    kc_result (run, check_setting (filter, NULL, CF_APPLY_ALL, *set, NULL) == CF_BAD_VALUE,
        "%s %s is not refused without caps", kc->stem, *set);
  }
  for (const char *const *set = kc->bad_8bit_settings; set && *set; set++)
    kc_result (run,
        check_setting (filter, &yuv, CF_APPLY_ALL, *set, NULL) == CF_BAD_VALUE &&
            check_setting (filter, &deep, CF_APPLY_ALL, *set, NULL) == CF_OK &&
            check_setting (filter, NULL, CF_APPLY_ALL, *set, NULL) == CF_OK,
        "%s %s is not refused at 8 bit only", kc->stem, *set);
  for (const char *const *set = kc->bad_16bit_settings; set && *set; set++)
    kc_result (run,
        check_setting (filter, &deepest, CF_APPLY_ALL, *set, NULL) == CF_BAD_VALUE &&
            check_setting (filter, &deep, CF_APPLY_ALL, *set, NULL) == CF_OK &&
            check_setting (filter, NULL, CF_APPLY_ALL, *set, NULL) == CF_OK,
        "%s %s is not refused at 16 bit, or at 10 bit", kc->stem, *set);
  for (const char *const *set = kc->rgb_settings; set && *set; set++) {
    kc_result (run, check_setting (filter, &rgb, CF_APPLY_ALL, *set, NULL) == CF_OK, "%s %s is refused", kc->stem,
        *set);
    kc_result (run, check_setting (filter, &yuv, CF_APPLY_ALL, *set, NULL) == CF_BAD_VALUE, "%s %s is accepted for YUV",
        kc->stem, *set);
  }
  kc_result (run,
      check_setting (filter, &rgb, CF_APPLY_LUMA, "", NULL) == CF_BAD_VALUE &&
          check_setting (filter, &rgb, CF_APPLY_CHROMA, "", NULL) == CF_BAD_VALUE,
      "%s accepts apply-to on RGB", kc->stem);
  kc_result (run,
      check_setting (filter, &none, CF_APPLY_ALL, "", NULL) == CF_BAD_VALUE &&
          check_setting (filter, &huge, CF_APPLY_ALL, "", NULL) == CF_BAD_VALUE,
      "%s accepts an impossible size", kc->stem);
  kc_result (run, strcmp (cf_filter_info (filter)->stem, kc->stem) == 0, "%s has another stem", kc->stem);
}

/* Uploads and downloads an image between pitches that differ and pitches that are equal. */
static void
check_copies (KcRun *run)
{
  static const KcLayout layouts[][2] = { { KC_TIGHT, KC_ODD }, { KC_WIDE, KC_WIDE }, { KC_ODD, KC_FRONT } };

  for (int f = CF_FORMAT_NONE + 1; f < CF_N_FORMATS; f++)
    for (int l = 0; l < 3; l++) {
      CfVideo video = { (CfFormat) f, 45, 23, false };
      KcImage in, out;
      CfImage device, layout;
      CfStatus status = { 0 };
      uint8_t *memory = cf_gpu_alloc (CF_DEVICE, cf_image_layout (&layout, video.format, 45, 23, 256), &status);
      bool good = memory != NULL;

      kc_image_new (&in, &video, layouts[l][0], 1);
      kc_image_new (&out, &video, layouts[l][1], 3);
      kc_image_fill (&in, KC_RANDOM, 0, 5);
      cf_image_at (&device, &layout, memory);
      good = good && cf_stream_copy (run->stream, CF_UPLOAD, &device, &in.image, NULL, &status) == CF_OK &&
          cf_stream_copy (run->stream, CF_DOWNLOAD, &out.image, &device, NULL, &status) == CF_OK &&
          cf_stream_wait (run->stream, 10000000000u, NULL, &status) == CF_OK &&
          kc_same_words (&video, &in.image, &out.image);
      kc_result (run, good, "%s is not the same after upload and download: %s", cf_format_info (video.format)->name,
          status.message);
      cf_gpu_free (CF_DEVICE, memory);
      kc_image_free (&in);
      kc_image_free (&out);
    }
}

void
kc_contract (KcRun *run)
{
  check_geometry (run);
  check_offsets (run);
  for (const KcFilter *const *kc = kc_filters; *kc; kc++)
    check_values (run, *kc);
  kc_result (run, cf_filter_find ("nothing") == NULL, "cf_filter_find finds a filter \"nothing\"");
  if (run->gpu)
    check_copies (run);
}
