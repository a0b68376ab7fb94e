/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/hide.c: resolves the presets that hide, for both backends. convolve.h has the formulas. */
#include "convolve.h"

static uint16_t
fill_of (CfRole role, int component, uint32_t argb)
{
  const int r = argb >> 16 & 255, g = argb >> 8 & 255, b = argb & 255;

  switch (role) {
    case CF_ROLE_RED:
      return (uint16_t) r;
    case CF_ROLE_GREEN:
      return (uint16_t) g;
    case CF_ROLE_BLUE:
      return (uint16_t) b;
    case CF_ROLE_CHROMA:
      return (uint16_t) ((component == 1 ? -11059 * r - 21709 * g + 32768 * b + 8421375
                                         : 32768 * r - 27439 * g - 5329 * b + 8421375) >>
          16);
    default:
      return (uint16_t) ((19595 * r + 38470 * g + 7471 * b + 32768) >> 16);
  }
}

CfCode
cf_convolve_resolve_hide (const CfConvolveParams *p, const CfFormatInfo *info, CfConvolution *c, CfStatus *status)
{
  if (p->gray != CF_GRAY_NONE)
    return cf_fail (status, CF_BAD_VALUE,
        "preset=%s takes no gray; set gray=none, and convert frames with preset=identity gray=luma before it",
        cf_convolve_preset_name (p->preset));
  c->op = p->preset == CF_PRESET_FILL ? CF_CONVOLVE_FILL
      : p->preset == CF_PRESET_MOSAIC ? CF_CONVOLVE_MOSAIC
                                      : CF_CONVOLVE_PRIVACY;
  c->w = c->h = 1;
  c->divisor = 1;
  c->blocks = p->blocks;
  for (int i = 0; i < info->n_components; i++)
    c->fill[i] = (uint16_t) (fill_of (info->comp[i].role, i, p->fill_color) << (c->bits - 8));
  return CF_OK;
}

static int
min_int (int a, int b)
{
  return a < b ? a : b;
}

void
cf_convolve_cells (const CfConvolution *c, const CfVideo *video, int width, int height, int *nx, int *ny)
{
  const bool wide = video->width > video->height;
  const int s = wide ? video->height : video->width, longer = wide ? video->width : video->height;
  const int n = min_int (c->blocks, s < 4 ? 1 : s / 4),
            n_longer = min_int ((2 * longer * n + s) / (2 * s), longer < 4 ? 1 : longer / 4);

  if (c->op == CF_CONVOLVE_FILL) {
    *nx = *ny = 1;
    return;
  }
  *nx = min_int (width, wide ? n_longer : n);
  *ny = min_int (height, wide ? n : n_longer);
}

/* With n = s there are n L cells; with n < s at most n (n L / s + 1 / 2), which is less. */
size_t
cf_convolve_max_cells (const CfVideo *video)
{
  const bool wide = video->width > video->height;
  const int s = wide ? video->height : video->width, longer = wide ? video->width : video->height;

  return (size_t) min_int (s, CF_CONVOLVE_MAX_BLOCKS) * (size_t) longer;
}
