/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/cpu/walk.c: filters one core on the CPU.
 *
 * The two quadrants that run down are filtered together, slice by slice of rows: a slice's samples are converted to
 * floats once for both, the outputs stay in the cache, and their sums go to the plane. Then the two that run up do the
 * same from below and complete the sums. So no quadrant's outputs are ever stored for the whole plane, and the sums
 * are added in the contract's order. */
#include "internal.h"

#include <string.h>

#define MAX_TAPS (CF_IR_MAX * (2 * CF_IR_MAX - 1))
#define BEFORE (CF_IR_MAX - 1) /* rows above a slice that its taps reach */

/* Floats of a slice that stay in the cache of a CPU core. */
#define SLICE_FLOATS (96 << 10)

/* The two quadrants of a core that run down, or the two that run up. */
typedef struct {
  const CfIrCpu *m;
  const CfIrPass *pass;
  int number, view, first_quadrant;
  bool begins, ends; /* this half is the first, the last to add to the sums */
  bool zero_top;
  CfIrSpan rows, cols[2]; /* [0]: the quadrant that runs right, [1]: left */
  bool zero_side[2];
  int x0, width; /* columns x0 .. x0 + width - 1: the union of the two windows */
  int blocks;
  int groups;            /* of `lanes` rows, in a slice */
  ptrdiff_t pitch, size; /* floats of a row, of all rows */
  float *x;              /* row 0 of the slice, column x0 */
  float *y[2];
  float *sum;
  float *left[2]; /* t of the slice's rows, and of BEFORE rows above */
} Half;

static int
direction_of (int side)
{
  return side ? -1 : 1;
}

static bool
is_used (const Half *h, int side)
{
  return h->pass->used[h->first_quadrant + side];
}

/* Computes the sizes and positions of `h`, all but the pointers. */
static void
lay_out (Half *h, const CfIrCpu *m, int pass, int view, int i, int j, bool up)
{
  const CfIrPass *p = &m->design.pass[pass];
  const CfIrSimd *simd = m->simd;
  const CfView *v = &m->in[view];
  int nx = cf_ir_grid (v->width, p->warmup_margin), ny = cf_ir_grid (v->height, p->warmup_margin), end, widest = 0;

  *h = (Half) { .m = m, .pass = p, .number = pass, .view = view, .first_quadrant = up ? CF_IR_NE : CF_IR_SE };
  h->rows = cf_ir_span (v->height, ny, j, p->warmup_margin, up ? -1 : 1);
  h->zero_top = h->rows.outer && m->design.border == CF_IR_ZERO;
  for (int side = 0; side < 2; side++) {
    CfIrSpan *cols = &h->cols[side];

    *cols = cf_ir_span (v->width, nx, i, p->warmup_margin, direction_of (side));
    h->zero_side[side] = cols->outer && m->design.border == CF_IR_ZERO;
    if (is_used (h, side))
      widest = cf_max (widest, cols->window_end - cols->window);
  }
  h->x0 = is_used (h, 0) ? h->cols[0].window : h->cols[0].core;
  end = is_used (h, 1) ? h->cols[1].window_end : h->cols[0].core_end;
  h->width = end - h->x0;
  h->blocks = cf_max ((widest + simd->lanes - 1) / simd->lanes, simd->lanes);
  /* a window's last block may run over its end, into the padding of a row */
  h->pitch = (cf_max (h->blocks * simd->lanes, h->width) + 2 * CF_IR_PAD + 15) & ~15;
  h->groups = (int) (SLICE_FLOATS / (3 * h->pitch * simd->lanes));
  h->groups = cf_max (2, h->groups < 8 ? h->groups : 8);
  /* the rows above, the slice, `lanes` rows behind its last (see simd.h), one row of padding at each end */
  h->size = (BEFORE + (h->groups + 1) * simd->lanes + 2) * h->pitch;
}

/* Returns the size of the scratch memory in floats; sets the pointers unless `scratch` is NULL. */
static size_t
assign_pointers (Half *h, float *scratch)
{
  ptrdiff_t first = (BEFORE + 1) * h->pitch + CF_IR_PAD, t = BEFORE + h->groups * h->m->simd->lanes;

  if (scratch) {
    h->x = scratch + first;
    h->y[0] = h->x + h->size;
    h->y[1] = h->y[0] + h->size;
    h->sum = scratch + 3 * h->size;
    h->left[0] = h->sum + h->pitch + BEFORE;
    h->left[1] = h->left[0] + t;
  }
  return (size_t) (3 * h->size + h->pitch + 2 * t);
}

size_t
cf_ir_scratch (const CfIrCpu *m, int pass, int view)
{
  const CfView *v = &m->in[view];
  int margin = m->design.pass[pass].warmup_margin;
  int nx = cf_ir_grid (v->width, margin), ny = cf_ir_grid (v->height, margin);
  size_t largest = 0;

  for (int k = 0; k < 2 * nx * ny; k++) {
    Half h;
    size_t size;

    lay_out (&h, m, pass, view, k / 2 % nx, k / 2 / nx, k % 2);
    size = assign_pointers (&h, NULL);
    largest = size > largest ? size : largest;
  }
  return largest;
}

/* Returns the view's row of the window's row n1. */
static int
view_row (const Half *h, int n1)
{
  return h->first_quadrant == CF_IR_SE ? h->rows.window + n1 : h->rows.window_end - 1 - n1;
}

/* ---- x ------------------------------------------------------------------- */

static void
fill (float *at, int n, int direction, float value)
{
  for (int i = 0; i < n; i++)
    at[i * direction] = value;
}

static void
fetch (const Half *h, int y, float *x)
{
  const CfIrCpu *m = h->m;
  const CfView *v = &m->in[h->view];

  if (h->number > 0)
    memcpy (x, m->plane[(h->number - 1) & 1][h->view] + (size_t) y * (size_t) v->width + h->x0,
        (size_t) h->width * sizeof *x);
  else
    m->simd->load[v->bytes - 1](v->data + (size_t) y * v->pitch + (size_t) h->x0 * v->step * v->bytes, v->step,
        h->width, v->shift, m->design.max, cf_ir_is_chroma (m, h->view) ? m->design.mid : 0, x);
  fill (x - 1, CF_IR_PAD, -1, h->zero_side[0] ? 0 : x[0]);
  fill (x + h->width, CF_IR_PAD, 1, h->zero_side[1] ? 0 : x[h->width - 1]);
}

/* ---- y outside ----------------------------------------------------------- */

static const float none[CF_IR_MAX]; /* the constants of a zero border */

/* Returns the address in a row of the column at the window's near edge. */
static float *
near_end (const Half *h, int side, float *row)
{
  return side ? row + h->width - 1 : row;
}

/* Computes s, the row above the window, into the row at y. */
static void
settle_above (const Half *h, int side, float corner, float *y)
{
  const CfIrSet *set = &h->pass->set[h->first_quadrant + side];
  int d = direction_of (side), n = h->cols[side].window_end - h->cols[side].window;
  float *s = near_end (h, side, y);

  fill (s - d, CF_IR_PAD, -d, corner);
  h->m->simd->settle (h->pass->m, h->zero_top ? none : set->top_a, h->zero_top ? none : set->top_b,
      near_end (h, side, h->x), d, n, s, d);
}

/* Computes t of the slice's rows, and copies it to the columns beside them. */
static void
settle_left (const Half *h, int side, int rows)
{
  const CfIrSet *set = &h->pass->set[h->first_quadrant + side];
  bool zero = h->zero_side[side];
  int d = direction_of (side);
  float *y = near_end (h, side, h->y[side]) - d;

  h->m->simd->settle (h->pass->m, zero ? none : set->left_a, zero ? none : set->left_b, near_end (h, side, h->x),
      h->pitch, rows, h->left[side], 1);
  for (int i = 0; i < rows; i++)
    fill (y + i * h->pitch, CF_IR_PAD, -d, h->left[side][i]);
}

/* Fills the rows above the window's first row, which has been fetched. */
static void
begin_window (const Half *h)
{
  bool zero = h->m->design.border == CF_IR_ZERO;
  size_t bytes = (size_t) h->pitch * sizeof *h->x;

  for (int k = 1; k < h->pass->m; k++)
    if (h->zero_top)
      memset (h->x - CF_IR_PAD - k * h->pitch, 0, bytes);
    else
      memcpy (h->x - CF_IR_PAD - k * h->pitch, h->x - CF_IR_PAD, bytes);
  for (int side = 0; side < 2; side++) {
    float corner, *above = h->y[side] - h->pitch;

    if (!is_used (h, side))
      continue;
    corner = zero && (h->zero_top || h->zero_side[side])
        ? 0
        : h->pass->set[h->first_quadrant + side].corner * *near_end (h, side, h->x);
    fill (h->left[side] - 1, BEFORE, -1, corner);
    settle_above (h, side, corner, above);
    for (int k = 2; k < h->pass->m; k++)
      memcpy (above - (k - 1) * h->pitch - CF_IR_PAD, above - CF_IR_PAD, bytes);
  }
}

/* Moves the last rows of a slice above the first one, for the next slice. */
static void
carry (const Half *h, int rows)
{
  int k = h->pass->m - 1;
  size_t bytes = (size_t) (k * h->pitch) * sizeof *h->x;
  ptrdiff_t to = -k * h->pitch - CF_IR_PAD, from = to + rows * h->pitch;

  memmove (h->x + to, h->x + from, bytes);
  for (int side = 0; side < 2; side++)
    if (is_used (h, side)) {
      memmove (h->y[side] + to, h->y[side] + from, bytes);
      memmove (h->left[side] - k, h->left[side] + rows - k, (size_t) k * sizeof *h->x);
    }
}

/* ---- the walk and the sums ----------------------------------------------- */

static int
list_taps (const Half *h, int side, CfIrTap taps[MAX_TAPS])
{
  const CfIrSet *set = &h->pass->set[h->first_quadrant + side];
  int m = h->pass->m, d = direction_of (side), n = 0;
  bool is_recursive = false;

  for (int k = 0; k < m; k++)
    for (int l = 0; l < m; l++) {
      is_recursive = is_recursive || set->b[k][l] != 0;
      /* a weight of 0 does not change a sum of finite numbers, and samples are finite */
      if (set->a[k][l] != 0)
        taps[n++] = (CfIrTap) { .at = -k * h->pitch - l * d, .weight = set->a[k][l] };
    }
  for (int k = m - 1; k > 0 && is_recursive; k--)
    for (int l = m - 1; l >= 0; l--)
      taps[n++] = (CfIrTap) { .at = h->y[side] - h->x - k * h->pitch - l * d, .weight = set->b[k][l] };
  return n;
}

static void
sum_row (const Half *h, int row, int y)
{
  const CfIrCpu *m = h->m;
  const CfIrSimd *simd = m->simd;
  const CfView *out = &m->out[h->view];
  int core = h->cols[0].core, n = h->cols[0].core_end - core;
  ptrdiff_t at = row * h->pitch + core - h->x0;
  float *plane = m->plane[h->number & 1][h->view] + (size_t) y * (size_t) out->width + core;

  bool is_last = h->ends && h->number == m->design.n - 1;
  CfIrSum sum = {
    .begins = h->begins,
    .from = h->begins ? h->x + at : plane,
    .p = h->pass->through,
    .o = h->pass->offset[cf_ir_is_chroma (m, h->view)],
    .y = { is_used (h, 0) ? h->y[0] + at : NULL, is_used (h, 1) ? h->y[1] + at : NULL },
  };

  simd->sum (&sum, n, is_last ? h->sum : plane);
  if (is_last)
    simd->store[out->bytes - 1](h->sum, n, out->step, out->shift, m->design.max,
        out->data + (size_t) y * out->pitch + (size_t) core * out->step * out->bytes);
}

static void
filter_half (const Half *h)
{
  const CfIrSimd *simd = h->m->simd;
  int height = h->rows.window_end - h->rows.window, slice = h->groups * simd->lanes;
  CfIrTap taps[2][MAX_TAPS];
  CfIrWalk walks[2];

  for (int side = 0; side < 2; side++)
    walks[side] = (CfIrWalk) {
      .used = is_used (h, side),
      .x = h->x,
      .y = h->y[side] - h->x,
      .pitch = h->pitch,
      .first = side ? h->width - simd->lanes : 0,
      .taps = taps[side],
      .n_taps = list_taps (h, side, taps[side]),
      .own = h->pass->set[h->first_quadrant + side].b[0],
      .left = h->left[side],
    };
  for (int n1 = 0; n1 < height; n1 += slice) {
    int rows = height - n1 < slice ? height - n1 : slice;

    for (int i = 0; i < rows; i++)
      fetch (h, view_row (h, n1 + i), h->x + i * h->pitch);
    if (n1 == 0)
      begin_window (h);
    for (int side = 0; side < 2; side++)
      if (is_used (h, side))
        settle_left (h, side, rows);
    simd->walk (walks, h->pass->m, h->blocks, (rows + simd->lanes - 1) / simd->lanes);
    for (int i = 0; i < rows; i++) {
      int y = view_row (h, n1 + i);

      if (y >= h->rows.core && y < h->rows.core_end)
        sum_row (h, i, y);
    }
    if (rows == slice)
      carry (h, rows);
  }
}

void
cf_ir_core (const CfIrCpu *m, int pass, int view, int i, int j, float *scratch)
{
  const bool *used = m->design.pass[pass].used;
  bool up_used = used[CF_IR_NE] || used[CF_IR_NW], down_used = used[CF_IR_SE] || used[CF_IR_SW];

  for (int up = 0; up < 2; up++) {
    Half h;

    /* one half runs even if no quadrant is in use, to compute the sum */
    if (up ? !up_used : !down_used && up_used)
      continue;
    lay_out (&h, m, pass, view, i, j, up);
    h.begins = !up || !down_used;
    h.ends = up || !up_used;
    assign_pointers (&h, scratch);
    filter_half (&h);
  }
}
