/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve_hide.c: the presets that hide what is in a frame, as the contract defines them: each sample of each
 * component by itself, from a table of the means of all cells. */
#include "convolve.h"

bool
ref_hides (const RefSetting *s)
{
  return g_str_equal (s->preset, "fill") || g_str_equal (s->preset, "mosaic") || g_str_equal (s->preset, "privacy");
}

static uint32_t
fill_sample (const RefSetting *s, const CfFormatInfo *info, int component)
{
  int rgb[3] = { 0 }, k = component;

  if (info->rgb) {
    kc_rgb_components (info, rgb);
    k = component == rgb[0] ? 0 : component == rgb[1] ? 1 : 2;
  }
  return kc_color_level (&s->colors, info->rgb, s->fill_color, k) << (info->bits - 8);
}

/* Returns how many cells lie along a side of the frame; all have at least 4 pixels, where the side has. */
static int
cells_along (int side, int other, int blocks)
{
  const int shorter = MIN (side, other), n = MIN (blocks, MAX (shorter / 4, 1));

  /* side n / shorter, rounded half up; n itself along the shorter side */
  return MIN ((2 * side * n + shorter) / (2 * shorter), MAX (side / 4, 1));
}

typedef struct {
  uint64_t *mean; /* nx by ny */
  int nx, ny;
} Cells;

static Cells
make_cells (const CfVideo *video, int blocks, const KcPlane *plane)
{
  Cells cells = {
    .nx = MIN (plane->w, cells_along (video->width, video->height, blocks)),
    .ny = MIN (plane->h, cells_along (video->height, video->width, blocks)),
  };

  cells.mean = g_new (uint64_t, cells.nx *cells.ny);
  for (int j = 0; j < cells.ny; j++)
    for (int i = 0; i < cells.nx; i++) {
      uint64_t sum = 0, n = 0;

      for (int y = j * plane->h / cells.ny; y < (j + 1) * plane->h / cells.ny; y++)
        for (int x = i * plane->w / cells.nx; x < (i + 1) * plane->w / cells.nx; x++) {
          sum += plane->v[y * plane->w + x];
          n++;
        }
      cells.mean[j * cells.nx + i] = (2 * sum + n) / (2 * n);
    }
  return cells;
}

static void
paint_mosaic (const Cells *cells, KcPlane *plane)
{
  for (int j = 0; j < cells->ny; j++)
    for (int i = 0; i < cells->nx; i++)
      for (int y = j * plane->h / cells->ny; y < (j + 1) * plane->h / cells->ny; y++)
        for (int x = i * plane->w / cells->nx; x < (i + 1) * plane->w / cells->nx; x++)
          plane->v[y * plane->w + x] = (uint32_t) cells->mean[j * cells->nx + i];
}

/* Returns the cell whose centre is the last one before sample `at` of `size`, and how far from it, in 1 / 256. */
static int
locate (int at, int size, int n, uint64_t *fraction)
{
  const int64_t p = (2 * (int64_t) at + 1) * n - size, d = 2 * (int64_t) size;

  *fraction = p < 0 ? 0 : (uint64_t) (256 * (p - p / d * d) / d);
  return p < 0 ? 0 : (int) (p / d);
}

static void
paint_smooth (const Cells *cells, KcPlane *plane)
{
  for (int y = 0; y < plane->h; y++)
    for (int x = 0; x < plane->w; x++) {
      uint64_t f, g;
      const int i = locate (x, plane->w, cells->nx, &f), j = locate (y, plane->h, cells->ny, &g);
      const int k = MIN (i + 1, cells->nx - 1), l = MIN (j + 1, cells->ny - 1);
      const uint64_t *upper = cells->mean + j * cells->nx, *lower = cells->mean + l * cells->nx;

      plane->v[y * plane->w + x] = (uint32_t) (((256 - f) * (256 - g) * upper[i] + f * (256 - g) * upper[k] +
                                                   (256 - f) * g * lower[i] + f * g * lower[k] + 32768) >>
          16);
    }
}

void
ref_hide (const RefSetting *s, const CfVideo *video, int component, KcPlane *plane)
{
  Cells cells;

  if (plane->h == 0) /* the second field of a frame of one row */
    return;
  if (g_str_equal (s->preset, "fill")) {
    for (int i = 0; i < plane->w * plane->h; i++)
      plane->v[i] = fill_sample (s, cf_format_info (video->format), component);
    return;
  }
  cells = make_cells (video, s->blocks, plane);
  if (g_str_equal (s->preset, "mosaic"))
    paint_mosaic (&cells, plane);
  else
    paint_smooth (&cells, plane);
  g_free (cells.mean);
}
