/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/cpu/pixels.c: the labels of pixels on the CPU, as runs of pixels along rows, and the sums of the regions'
 * pixels: step 11 of segment/segment.h. Single pixels are read only in cells that touch other regions. */
#include "internal.h"

#include <string.h>

#define INLINE static inline __attribute__ ((always_inline))

/* ---- a pixel's colour ---------------------------------------------------- */

/* The components of one row of pixels. */
typedef struct {
  const uint8_t *row[3];
  int step[3], w_sub[3];
  int n, shift, max, down;
  bool wide, rgb;
} Source;

static Source
source_of (const CfSgCpu *m, int y)
{
  Source s = { .n = m->n_colors,
    .shift = m->info->shift,
    .max = (1 << m->info->bits) - 1,
    .down = m->info->bits - 8,
    .wide = m->info->bytes == 2,
    .rgb = m->info->rgb };

  for (int k = 0; k < s.n; k++) {
    s.row[k] = m->in[k].data + (size_t) (y >> m->info->comp[k].h_sub) * m->in[k].pitch;
    s.step[k] = m->in[k].step;
    s.w_sub[k] = m->info->comp[k].w_sub;
  }
  return s;
}

/* The layout of the samples, which selects the loop. A constant in each inlined copy. */
typedef enum { GRAY_8, YUV_8, RGB_8, OTHER } Layout;

static Layout
layout_of (const Source *s)
{
  return s->wide ? OTHER : s->n == 1 ? GRAY_8 : s->rgb ? RGB_8 : YUV_8;
}

/* Returns sample i of component k, without its shift and limited to the range of the format. */
INLINE uint32_t
value_of (const Source *s, bool wide, int k, int i)
{
  uint16_t word;

  if (!wide)
    return s->row[k][i * s->step[k]];
  memcpy (&word, s->row[k] + 2 * i * s->step[k], 2);
  word >>= s->shift;
  return word < s->max ? word : (uint32_t) s->max;
}

/* Returns the colour of pixel x in 8-bit YCbCr. */
INLINE uint32_t
color_at (const Source *s, Layout layout, int x)
{
  const bool wide = layout == OTHER;
  const int down = wide ? s->down : 0;
  const uint32_t a = value_of (s, wide, 0, x >> (layout == YUV_8 || layout == GRAY_8 ? 0 : s->w_sub[0])) >> down;
  uint32_t b, c;

  if (layout == GRAY_8 || (wide && s->n == 1))
    return a | 0x808000u;
  b = value_of (s, wide, 1, x >> s->w_sub[1]) >> down;
  c = value_of (s, wide, 2, x >> s->w_sub[2]) >> down;
  return layout == RGB_8 || (wide && s->rgb) ? cf_sg_ycbcr (a, b, c) : a | b << 8 | c << 16;
}

/* ---- runs ---------------------------------------------------------------- */

/* A row of pixels, and the row of cells to which it belongs. */
typedef struct {
  const uint32_t *at, *beyond; /* labels of these cells, and of those above or below */
  const uint32_t *mean;
  Source source;
  int size, width;
  uint32_t *run, n; /* the resulting runs, and how many */
} Walk;

/* Where the next run is written, and the label of the previous one. emit () is called at most once for a pixel, so
 * a run that does not stay is also inside the space of the row. */
typedef struct {
  uint32_t *run, last;
} Cursor;

INLINE Cursor
emit (Cursor out, uint32_t label, int x)
{
  *out.run = (uint32_t) x << 16 | label; /* stays only where the label differs from the previous one */
  return (Cursor) { out.run + (label != out.last), label };
}

/* Step 11: returns which of the three regions is nearest to pixel x. */
INLINE uint32_t
nearest (const Walk *w, Layout layout, int x, uint32_t own, uint32_t beside, uint32_t beyond)
{
  const uint32_t p = color_at (&w->source, layout, x);
  const uint32_t d = cf_sg_distance (p, w->mean[own]), e = cf_sg_distance (p, w->mean[beside]);
  const uint32_t f = cf_sg_distance (p, w->mean[beyond]), best = e < d ? e : d;

  return f < best ? beyond : e < d ? beside : own;
}

/* Emits the pixels of a cell that touches other regions. */
INLINE Cursor
walk_cell (const Walk *w, Layout layout, int cell, Cursor out)
{
  const uint32_t own = w->at[cell], beyond = w->beyond[cell];
  const int first = cell * w->size, end = first + w->size < w->width ? first + w->size : w->width;

  for (int x = first; x < end; x++) {
    const int side = 2 * (x - first) + 1 - w->size;
    uint32_t beside = w->at[cell + (side > 0) - (side < 0)];

    beside = beside == CF_SG_OUTSIDE ? own : beside;
    out = emit (out, beside == own && beyond == own ? own : nearest (w, layout, x, own, beside, beyond), x);
  }
  return out;
}

INLINE void
walk_row_of (Walk *w, Layout layout, int n, const uint8_t *mixed)
{
  Cursor out = { w->run, CF_SG_OUTSIDE };

  if (!mixed[0])
    out = emit (out, w->at[0], 0);
  for (int x = cf_sg_next (mixed, 0, n); x < n; x = cf_sg_next (mixed, x + 1, n)) {
    out = walk_cell (w, layout, x, out);
    if (x + 1 < n && !mixed[x + 1])
      out = emit (out, w->at[x + 1], (x + 1) * w->size);
  }
  w->n = (uint32_t) (out.run - w->run);
}

static void
walk_row (Walk *w, int n, const uint8_t *mixed)
{
  const Layout layout = layout_of (&w->source);

  if (layout == GRAY_8)
    walk_row_of (w, GRAY_8, n, mixed);
  else if (layout == YUV_8)
    walk_row_of (w, YUV_8, n, mixed);
  else if (layout == RGB_8)
    walk_row_of (w, RGB_8, n, mixed);
  else
    walk_row_of (w, OTHER, n, mixed);
}

/* ---- sums ---------------------------------------------------------------- */

/* Sums one component over each run of a row into sum[4 * run]; for planes that CfSgSimd.sum_runs does not handle. */
static void
sum_component (const Walk *w, int k, int w_sub, uint32_t *sum)
{
  const uint32_t round = (1u << w_sub) - 1;
  int x = 0;

  for (uint32_t i = 0; i < w->n; i++) {
    const uint32_t last = i + 1 < w->n ? w->run[i + 1] >> 16 : (uint32_t) w->width;
    const int end = (int) ((last + round) >> w_sub);
    uint32_t v = 0;

    for (; x < end; x++)
      v += value_of (&w->source, w->source.wide, k, x);
    sum[4 * i] = v;
  }
}

/* Sums the components of a plane over each run of row y into sum[4 * run + offset of the component]. */
static void
sum_plane (const CfSgCpu *m, const Walk *w, int p, int y, uint32_t *sum)
{
  const CfSgPlane *plane = &m->plane[p];
  const int bytes = m->info->bytes, group = plane->group / bytes;
  const CfSgSamples samples = { (const uint8_t *) m->in_image->plane[p].data +
        m->in_image->plane[p].pitch * (size_t) (y >> plane->h_sub),
    group, plane->w_sub, m->video.width, m->info->shift, (1 << m->info->bits) - 1 };

  if (!plane->uneven && group != 3) {
    m->simd->sum_runs[bytes - 1](&samples, w->run, w->n, sum);
    return;
  }
  for (int k = 0; k < m->n_colors; k++)
    if (m->info->comp[k].plane == p)
      sum_component (w, k, m->info->comp[k].w_sub, sum + m->info->comp[k].offset);
}

static void
count_position (CfSegmentRegion *r, uint32_t from, uint32_t end, uint32_t y)
{
  r->sum_x += (uint64_t) (end - from) * (from + end - 1) / 2;
  r->sum_y += (uint64_t) (end - from) * y;
  r->left = from < r->left ? from : r->left;
  r->right = end - 1 > r->right ? end - 1 : r->right;
  r->top = y < r->top ? y : r->top;
  r->bottom = y > r->bottom ? y : r->bottom;
}

static void
count_component (const CfSgCpu *m, const Walk *w, int k, CfSegmentRegion *region, const uint32_t *sum)
{
  const int w_sub = m->info->comp[k].w_sub;
  const uint32_t round = (1u << w_sub) - 1;

  for (uint32_t i = 0; i < w->n; i++) {
    const uint32_t from = w->run[i] >> 16, end = i + 1 < w->n ? w->run[i + 1] >> 16 : (uint32_t) w->width;
    CfSegmentRegion *r = &region[w->run[i] & 0xffff];

    r->n[k] += ((end + round) >> w_sub) - ((from + round) >> w_sub);
    r->sum[k] += sum[4 * i];
  }
}

/* Adds the runs of row y to the sums of their regions; a subsampled component has samples in some rows only. */
static void
count_row (const CfSgCpu *m, const Walk *w, int y, CfSegmentRegion *region, uint32_t *sum)
{
  for (int p = 0; p < m->info->n_planes; p++) {
    if (y & ((1 << m->plane[p].h_sub) - 1))
      continue;
    sum_plane (m, w, p, y, sum);
    for (int k = 0; k < m->n_colors; k++)
      if (m->info->comp[k].plane == p)
        count_component (m, w, k, region, sum + m->info->comp[k].offset);
  }
  if (!m->setup.reports)
    return;
  for (uint32_t i = 0; i < w->n; i++)
    count_position (&region[w->run[i] & 0xffff], w->run[i] >> 16,
        i + 1 < w->n ? w->run[i + 1] >> 16 : (uint32_t) w->width, (uint32_t) y);
}

/* ---- tasks --------------------------------------------------------------- */

/* Makes the runs of all rows of pixels of a row of cells. The vertical neighbours of a row of pixels are in the row
 * of cells above (dy = -1) or below (1), or there are none (0). With `region` also adds up the sums. Returns where
 * the next run goes. */
static uint32_t *
walk_cells (CfSgCpu *m, int row, uint32_t *run, CfSegmentRegion *region, uint8_t *scratch)
{
  const int size = m->setup.size, n = m->setup.columns;
  const int from = row * size, end = from + size < m->video.height ? from + size : m->video.height;
  const uint32_t *label = m->label[m->now] + cf_sg_row_start (m, row);
  uint32_t *sums = (uint32_t *) (scratch + ((size_t) n + 2 * CF_SG_PAD) / 4 * 4);
  int last_dy = 2;

  for (int y = from; y < end; y++) {
    const int side = 2 * (y - from) + 1 - size, dy = side < 0 ? -1 : side > 0;
    const bool inside = row + dy >= 0 && row + dy < m->setup.rows;
    Walk w = { label, inside ? label + dy * (ptrdiff_t) m->pitch : label, m->found_mean[m->now], source_of (m, y), size,
      m->video.width, run, 0 };

    if (size == 1 && y == from)
      m->simd->differ (label, label - 1, n, scratch);
    else if (dy != last_dy)
      m->simd->mixed (w.at, w.beyond, n, scratch);
    last_dy = dy;
    walk_row (&w, n, scratch);
    m->row_pixel_run[2 * y] = (size_t) (run - m->pixel_run);
    run += w.n;
    m->row_pixel_run[2 * y + 1] = (size_t) (run - m->pixel_run);
    if (region)
      count_row (m, &w, y, region, sums);
  }
  return run;
}

static void
walk_strip (CfSgCpu *m, int strip, CfSegmentRegion *region, uint8_t *scratch)
{
  const int first = strip * CF_SG_STRIP_ROWS;
  uint32_t *run = m->pixel_run + (size_t) first * (size_t) m->setup.size * (size_t) m->video.width;

  for (int row = first; row < cf_sg_strip_end (m, strip); row++)
    run = walk_cells (m, row, run, region, scratch);
}

static void
walk_task (CfSgCpu *m, int strip, uint8_t *scratch)
{
  walk_strip (m, strip, NULL, scratch);
}

/* Makes the runs of a slice of the frame, and the sums of its regions in the slice's own part of region[]. */
static void
count_task (CfSgCpu *m, int slice, uint8_t *scratch)
{
  const int from = slice * m->n_strips / m->n_slices, end = (slice + 1) * m->n_strips / m->n_slices;
  CfSegmentRegion *region = m->region + (size_t) slice * m->region_capacity;

  for (uint32_t i = 0; i < m->n_found; i++)
    region[i] = (CfSegmentRegion) { .left = UINT32_MAX, .top = UINT32_MAX };
  for (int strip = from; strip < end; strip++)
    walk_strip (m, strip, region, scratch);
}

static void
add_slice (CfSegmentRegion *to, const CfSegmentRegion *from)
{
  for (int k = 0; k < 3; k++) {
    to->sum[k] += from->sum[k];
    to->n[k] += from->n[k];
  }
  to->sum_x += from->sum_x;
  to->sum_y += from->sum_y;
  to->left = from->left < to->left ? from->left : to->left;
  to->top = from->top < to->top ? from->top : to->top;
  to->right = from->right > to->right ? from->right : to->right;
  to->bottom = from->bottom > to->bottom ? from->bottom : to->bottom;
}

void
cf_sg_find_pixels (CfSgCpu *m, bool count)
{
  if (!count) {
    cf_sg_run (m, m->n_strips, walk_task);
    return;
  }
  cf_sg_run (m, m->n_slices, count_task);
  for (int slice = 1; slice < m->n_slices; slice++)
    for (uint32_t i = 0; i < m->n_found; i++)
      add_slice (&m->region[i], &m->region[(size_t) slice * m->region_capacity + i]);
  for (uint32_t i = 0; i < m->n_found; i++) {
    m->region[i].id = m->found_id[m->now][i];
    m->region[i].birth = m->found_birth[m->now][i];
  }
}
