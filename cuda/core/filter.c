/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/filter.c: errors, descriptors of filters, traits, and the checks of parameters and video. */
#include "filter.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

CfCode
cf_fail (CfStatus *status, CfCode code, const char *format, ...)
{
  va_list args;

  if (!status)
    return code;
  status->code = code;
  status->cuda = 0;
  va_start (args, format);
  vsnprintf (status->message, sizeof status->message, format, args);
  va_end (args);
  return code;
}

/* ---- descriptors -------------------------------------------------------- */

const CfFilter *
cf_filter_find (const char *stem)
{
  for (int i = 0; stem && cf_filters[i]; i++)
    if (strcmp (cf_filters[i]->info.stem, stem) == 0)
      return cf_filters[i];
  return NULL;
}

const CfFilterInfo *
cf_filter_info (const CfFilter *filter)
{
  return &filter->info;
}

CfTraits
cf_filter_traits (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params)
{
  CfTraits traits = { .halo = -1 };
  CfVideo unpacked;

  if (video) {
    unpacked = cf_unpacked_video (video);
    video = &unpacked;
  }
  filter = filter->method ? filter->method (params) : filter;
  if (filter->traits)
    filter->traits (video, common, params, &traits);
  if (traits.history > 0 || traits.stateful)
    traits.halo = -1;
  return traits;
}

/* ---- checks ------------------------------------------------------------- */

static CfCode
check_param (const CfParam *p, const void *params, CfStatus *status)
{
  const void *field = (const char *) params + p->offset;

  if (p->type == CF_TYPE_INT || p->type == CF_TYPE_DOUBLE) {
    double value = p->type == CF_TYPE_INT ? *(const int *) field : *(const double *) field;

    if (!isfinite (value) || value < p->min || value > p->max)
      return cf_fail (status, CF_BAD_VALUE, "%s is %g; it must be between %g and %g%s%s", p->name, value, p->min,
          p->max, p->unit[0] ? " " : "", p->unit);
  } else if (p->type == CF_TYPE_ENUM) {
    for (const CfEnumValue *v = p->values; v->name; v++)
      if (v->value == *(const int *) field)
        return CF_OK;
    return cf_fail (status, CF_BAD_VALUE, "%s has no value number %d", p->name, *(const int *) field);
  } else if (p->type == CF_TYPE_FLAGS) {
    int unknown = *(const int *) field;

    for (const CfEnumValue *v = p->values; v->name; v++)
      unknown &= ~v->value;
    if (unknown)
      return cf_fail (status, CF_BAD_VALUE, "%s has no values for the flags of the number %d", p->name, unknown);
  }
  return CF_OK;
}

bool
cf_any_filtered (const CfVideo *video, const CfCommon *common)
{
  CfView views[CF_MAX_VIEWS];
  CfImage image;
  int n;

  cf_image_layout (&image, video->format, video->width, video->height, 1);
  n = cf_image_views (video, common, &image, views);
  for (int i = 0; i < n; i++)
    if (views[i].filtered)
      return true;
  return false;
}

/* Returns n / d + offset, rounded to the nearest integer, halves up or down; the sum is positive. */
static int
rounded (int64_t n, int64_t d, int offset, bool up)
{
  return (int) ((2 * (n + offset * d) + d - !up) / (2 * d));
}

void
cf_color_levels (const CfColors *colors, bool rgb, uint32_t argb, int level[3])
{
  const int kr = colors->kr ? colors->kr : 2990, kb = colors->kb ? colors->kb : 1140;
  const int r = argb >> 16 & 255, g = argb >> 8 & 255, b = argb & 255, all[3] = { r, g, b };
  const int least = colors->limited ? 16 : 0, range = colors->limited ? 219 : 255;
  const int64_t chroma = colors->limited ? 224 : 255, luma = kr * r + (10000 - kr - kb) * g + kb * b;

  for (int i = 0; i < 3 && rgb; i++)
    level[i] = rounded (range * all[i], 255, least, true);
  if (rgb)
    return;
  level[0] = rounded (range * luma, 2550000, least, true);
  level[1] = rounded (chroma * (10000 * b - luma), 510 * (10000 - kb), 128, false);
  level[2] = rounded (chroma * (10000 * r - luma), 510 * (10000 - kr), 128, false);
}

CfCode
cf_check_odd (const char *name, int value, int max, CfStatus *status)
{
  if (value % 2)
    return CF_OK;
  if (value < 2)
    return cf_fail (status, CF_BAD_VALUE, "%s %d is even; use an odd number such as 1 or 3", name, value);
  if (value + 1 > max)
    return cf_fail (status, CF_BAD_VALUE, "%s %d is even; use an odd number such as %d", name, value, value - 1);
  return cf_fail (status, CF_BAD_VALUE, "%s %d is even; use an odd number such as %d or %d", name, value, value - 1,
      value + 1);
}

static CfCode
check_video (const CfVideo *video, const CfCommon *common, CfStatus *status)
{
  const CfFormatInfo *info = cf_format_info (video->format);

  if (!info)
    return cf_fail (status, CF_UNSUPPORTED, "unknown pixel format number %d", (int) video->format);
  if (video->width < 1 || video->height < 1 || video->width > CF_MAX_SIZE || video->height > CF_MAX_SIZE)
    return cf_fail (status, CF_BAD_VALUE, "the frame is %d x %d; width and height must be between 1 and %d",
        video->width, video->height, CF_MAX_SIZE);
  if (info->rgb && common->apply_to != CF_APPLY_ALL)
    return cf_fail (status, CF_BAD_VALUE, "apply-to is %s, but %s has neither luma nor chroma; use apply-to=all",
        common->apply_to == CF_APPLY_LUMA ? "luma" : "chroma", info->name);
  return CF_OK;
}

CfCode
cf_filter_check (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params,
    CfStatus *status)
{
  const CfFilterInfo *info = &filter->info;
  CfCode code = video ? check_video (video, common, status) : CF_OK;
  CfVideo unpacked;

  if (code == CF_OK && video) {
    unpacked = cf_unpacked_video (video);
    video = &unpacked;
  }

  for (unsigned i = 0; code == CF_OK && i < info->n_params; i++)
    code = check_param (&info->params[i], params, status);
  if (code == CF_OK && filter->check)
    code = filter->check (video, common, params, status);
  if (code == CF_OK)
    cf_fail (status, CF_OK, "%s", "");
  if (code == CF_OK && status && filter->advise)
    filter->advise (video, params, status);
  return code;
}
