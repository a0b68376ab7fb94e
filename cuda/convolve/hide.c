/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/hide.c: resolves the presets that hide, for both backends. convolve.h has the formulas. */
#include "convolve.h"

CfCode
cf_convolve_resolve_hide (const CfConvolveParams *p, const CfColors *colors, const CfFormatInfo *info, CfConvolution *c,
    CfStatus *status)
{
  int level[3];

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
  cf_color_levels (colors, info->rgb, p->fill_color, level);
  for (int i = 0; i < info->n_components; i++) {
    const CfRole role = info->comp[i].role;
    const int of = role == CF_ROLE_CHROMA ? i : role == CF_ROLE_GREEN ? 1 : role == CF_ROLE_BLUE ? 2 : 0;

    c->fill[i] = (uint16_t) (level[of] << (c->bits - 8));
  }
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
