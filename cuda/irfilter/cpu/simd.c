/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/cpu/simd.c: the recursive filter's inner loops for the instruction set of this
 * compilation (CF_ISA); simd.h describes them. */
#include "simd.h"

/* Lanes are rows in parallel, and columns of a block. 16 are no faster with AVX-512: most loads
 * are not aligned, and each unaligned load of 64 bytes crosses a cache line. */
#if defined __AVX2__
#define LANES 8
#else
#define LANES 4
#endif
#include "vector_tmpl.h"

/* ---- rows to columns and back ------------------------------------------- */

ALWAYS_INLINE void
transpose (V v[LANES])
{
#if defined __AVX2__
  __m256 a[8], b[8];

  for (int i = 0; i < 8; i += 2) {
    a[i] = _mm256_unpacklo_ps ((__m256) v[i], (__m256) v[i + 1]);
    a[i + 1] = _mm256_unpackhi_ps ((__m256) v[i], (__m256) v[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    b[i] = _mm256_shuffle_ps (a[i], a[i + 2], 0x44);
    b[i + 1] = _mm256_shuffle_ps (a[i], a[i + 2], 0xee);
    b[i + 2] = _mm256_shuffle_ps (a[i + 1], a[i + 3], 0x44);
    b[i + 3] = _mm256_shuffle_ps (a[i + 1], a[i + 3], 0xee);
  }
  for (int i = 0; i < 4; i++) {
    v[i] = (V) _mm256_permute2f128_ps (b[i], b[i + 4], 0x20);
    v[i + 4] = (V) _mm256_permute2f128_ps (b[i], b[i + 4], 0x31);
  }
#elif defined __SSE2__
  __m128 r[4] = { (__m128) v[0], (__m128) v[1], (__m128) v[2], (__m128) v[3] };

  _MM_TRANSPOSE4_PS (r[0], r[1], r[2], r[3]);
  for (int i = 0; i < 4; i++)
    v[i] = (V) r[i];
#else
  for (int i = 0; i < LANES; i++)
    for (int j = 0; j < i; j++) {
      float f = v[i][j];

      v[i][j] = v[j][i];
      v[j][i] = f;
    }
#endif
}

/* ---- a block of each lane ----------------------------------------------- */

/* Sums the block's taps of x and of the rows above. The sums of a row depend on each other,
 * those of different rows do not. */
ALWAYS_INLINE void
sum_taps (const CfIrWalk *w, ptrdiff_t at, V sum[LANES])
{
  const float *row[LANES];

  for (int i = 0; i < LANES; i++) {
    row[i] = w->row[i];
    sum[i] = all_v (CF_IR_TINY);
  }
  for (int t = 0; t < w->n_taps; t++) {
    V weight = all_v (w->taps[t].weight);
    ptrdiff_t from = w->taps[t].at + at;

    for (int i = 0; i < LANES; i++)
      sum[i] = fma_v (weight, *(const Vu *) (const void *) (row[i] + from), sum[i]);
  }
}

/* Column c of a block, counted in the quadrant's direction. */
#define COLUMN(c) (direction > 0 ? (c) : LANES - 1 - (c))

/* Filters one block of each lane; `at`: columns from the beginning of the slice, as in begin_row (). */
ALWAYS_INLINE void
filter_block (CfIrWalk *w, ptrdiff_t at, int m, int direction)
{
  V v[LANES], y[CF_IR_MAX - 1 + LANES], own[CF_IR_MAX];

  sum_taps (w, at, v);
  transpose (v);
  for (int l = 1; l < m; l++) {
    own[l] = all_v (w->own[l]);
    y[l - 1] = *(const Vu *) (const void *) w->state[l - 1];
  }
  for (int c = 0; c < LANES; c++) {
    V acc = v[COLUMN (c)];

    for (int l = m - 1; l > 0; l--)
      acc = fma_v (own[l], y[m - 1 + c - l], acc);
    y[m - 1 + c] = acc;
    v[COLUMN (c)] = acc;
  }
  for (int l = 1; l < m; l++)
    *(Vu *) (void *) w->state[l - 1] = y[LANES + l - 1];
  transpose (v);
  for (int i = 0; i < LANES; i++)
    *(Vu *) (void *) (w->row[i] + at + w->y) = v[i];
}

/* Lane i begins row `row` when the walk is at column `at`; w->row is set so that `at` addresses its first block. */
static void
begin_row (CfIrWalk *w, int i, int row, bool inside, ptrdiff_t at)
{
  w->row[i] = w->x + (w->first + row * w->pitch - at);
  for (int l = 0; inside && l < CF_IR_MAX - 1; l++)
    w->state[l][i] = w->left[row];
}

ALWAYS_INLINE void
walk_m (CfIrWalk walks[2], int m, int blocks, int groups)
{
  bool right = walks[0].used, left = walks[1].used;
  ptrdiff_t at = 0;

  for (int side = 0; side < 2; side++) {
    memset (walks[side].state, 0, sizeof walks[side].state);
    for (int i = 0; i < LANES; i++)
      begin_row (&walks[side], i, groups * LANES + i, false, 0);
  }
  for (int g = 0; g <= groups; g++)
    for (int j = 0; j < (g < groups ? blocks : LANES - 1); j++, at += LANES) {
      if (j < LANES) {
        begin_row (&walks[0], j, g * LANES + j, right && g < groups, at);
        begin_row (&walks[1], j, g * LANES + j, left && g < groups, -at);
      }
      if (right)
        filter_block (&walks[0], at, m, 1);
      if (left)
        filter_block (&walks[1], -at, m, -1);
    }
}

static void
walk (CfIrWalk walks[2], int m, int blocks, int groups)
{
  switch (m) {
    case 2:
      walk_m (walks, 2, blocks, groups);
      break;
    case 3:
      walk_m (walks, 3, blocks, groups);
      break;
    case 4:
      walk_m (walks, 4, blocks, groups);
      break;
    case 5:
      walk_m (walks, 5, blocks, groups);
      break;
    default:
      walk_m (walks, 8, blocks, groups);
  }
}

static void
settle (int m, const float *a, const float *b, const float *x, ptrdiff_t x_step, int n, float *s, ptrdiff_t s_step)
{
  for (int i = 0; i < n; i++, x += x_step, s += s_step) {
    float acc = CF_IR_TINY;

    for (int k = 0; k < m; k++)
      acc = fma_1 (a[k], x[-k * x_step], acc);
    for (int k = m - 1; k > 0; k--)
      acc = fma_1 (b[k], s[-k * s_step], acc);
    *s = acc;
  }
}

/* ---- samples and sums --------------------------------------------------- */

ALWAYS_INLINE void
load (int step, int bytes, const void *from, int n, int shift, int max, int mid, float *x)
{
  for (int i = 0; i < n; i++) {
    size_t at = (size_t) i * (size_t) step;
    int v = bytes == 1 ? ((const uint8_t *) from)[at] : ((const uint16_t *) from)[at] >> shift;

    /* every 8-bit value is a valid sample */
    v = bytes == 1 || v < max ? v : max;
    x[i] = (float) (v - mid);
  }
}

ALWAYS_INLINE void
store (int step, int bytes, const float *r, int n, int shift, int max, void *to)
{
  float top = (float) max;

  for (int i = 0; i < n; i++) {
    size_t at = (size_t) i * (size_t) step;
    float f = r[i] > 0 ? r[i] : 0;
    int v;

    f = f < top ? f : top;
    /* 1.5 2^23 has no fraction bits: the sum is rounded to an integer, halves to even */
    v = (int) ((f + 0x1.8p23f) - 0x1.8p23f) << shift;
    if (bytes == 1)
      ((uint8_t *) to)[at] = (uint8_t) v;
    else
      ((uint16_t *) to)[at] = (uint16_t) v;
  }
}

static void
load_1 (const void *from, int step, int n, int shift, int max, int mid, float *x)
{
  EACH_STEP (step, load, 1, from, n, shift, max, mid, x)
}

static void
load_2 (const void *from, int step, int n, int shift, int max, int mid, float *x)
{
  EACH_STEP (step, load, 2, from, n, shift, max, mid, x)
}

static void
store_1 (const float *r, int n, int step, int shift, int max, void *to)
{
  EACH_STEP (step, store, 1, r, n, shift, max, to)
}

static void
store_2 (const float *r, int n, int step, int shift, int max, void *to)
{
  EACH_STEP (step, store, 2, r, n, shift, max, to)
}

/* Reads and writes n floats only: those beside a core belong to other tasks. */
static void
sum (const CfIrSum *s, int n, float *r)
{
  const V p = all_v (s->p), o = all_v (s->o);

  for (int i = 0; i < n; i += LANES) {
    size_t bytes = (size_t) (n - i < LANES ? n - i : LANES) * sizeof *r;
    V v = o;

    if (bytes == sizeof v)
      v = *(const Vu *) (const void *) (s->from + i);
    else
      memcpy (&v, s->from + i, bytes);
    if (s->begins)
      v = fma_v (p, v, o);
    for (int k = 0; k < 2; k++)
      if (s->y[k])
        v += *(const Vu *) (const void *) (s->y[k] + i);
    if (bytes == sizeof v)
      *(Vu *) (void *) (r + i) = v;
    else
      memcpy (r + i, &v, bytes);
  }
}

const CfIrSimd GLUE (cf_ir_simd_, CF_ISA) = {
  .lanes = LANES,
  .walk = walk,
  .settle = settle,
  .load = { load_1, load_2 },
  .store = { store_1, store_2 },
  .sum = sum,
};
