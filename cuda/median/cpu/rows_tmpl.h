/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/rows_tmpl.h: loops over rows of values of type T. simd.c includes it once per SIZE. */

#define LANES ((int) (V_SIZE / sizeof (T)))

/* ---- between images and rows -------------------------------------------- */

#if SIZE < 4

#include "core/rows_tmpl.h"

static void
N (unpack) (const CfView *view, int y, int x0, int n, void *row_)
{
  const int first = clamp (x0, 0, view->width - 1), left = clamp (-x0, 0, n - 1);
  const int end = left + clamp (view->width - first, 1, n - left);
  const T *from = (const T *) (const void *) (view->data + view->pitch * (size_t) clamp (y, 0, view->height - 1));
  T *row = row_;

  from += (size_t) first * view->step;
  if (view->step == 1 && view->bits == 8 * SIZE)
    memcpy (row + left, from, (size_t) (end - left) * sizeof (T));
  else
    N (gather) (from, view->step, end - left, row + left, view->shift, (T) ((1u << view->bits) - 1));
  for (int i = 0; i < left; i++)
    row[i] = row[left];
  for (int i = end; i < n; i++)
    row[i] = row[end - 1];
}

static void
N (choose) (void *result_, const void *input_, int n, int threshold)
{
  const T *restrict input = input_, most = threshold < (T) -1 ? (T) threshold : (T) -1;
  T *restrict result = result_;

  for (int i = 0; i < n; i++) {
    const T difference = input[i] > result[i] ? (T) (input[i] - result[i]) : (T) (result[i] - input[i]);

    result[i] = difference > most ? result[i] : input[i];
  }
}

static void
N (pack) (const CfView *view, int y, int x0, int n, const void *row)
{
  T *to = (T *) (void *) (view->data + view->pitch * (size_t) y) + (size_t) x0 * view->step;

  if (view->step == 1 && view->shift == 0)
    memcpy (to, row, (size_t) n * sizeof (T));
  else
    N (scatter) (to, view->step, n, row, view->shift);
}

/* ---- the running background ----------------------------------------------- */

/* Moves each value of `background` towards that of `x`, by at most `step`, and leaves their distance in `distance`. */
static void
N (follow) (void *background, const void *x_, void *distance, int n, int step_, int largest_)
{
  T *restrict b = background, *restrict d = distance;
  const T *restrict x = x_;
  const T step = (T) step_, largest = (T) largest_;

  for (int i = 0; i < n; i++) {
    const T low = b[i] > step ? (T) (b[i] - step) : 0;
    const T high = b[i] < (T) (largest - step) ? (T) (b[i] + step) : largest;
    const T up = x[i] > low ? x[i] : low, to = up < high ? up : high;

    b[i] = to;
    d[i] = x[i] > to ? (T) (x[i] - to) : (T) (to - x[i]);
  }
}

#else /* whole pixels of three 8-bit views R, G, B */

static void
N (unpack) (const CfView *view, int y, int x0, int n, void *row_)
{
  const uint8_t *from[3];
  T *row = row_;

  y = clamp (y, 0, view->height - 1);
  for (int c = 0; c < 3; c++)
    from[c] = view[c].data + view[c].pitch * (size_t) y;
  for (int i = 0; i < n; i++) {
    int x = clamp (x0 + i, 0, view->width - 1) * view->step;

    row[i] = (T) from[0][x] << 16 | (T) from[1][x] << 8 | from[2][x];
  }
}

static void
N (choose) (void *result_, const void *input_, int n, int threshold)
{
  const T *input = input_;
  T *result = result_;

  for (int i = 0; i < n; i++) {
    bool differs = false;

    for (int c = 0; c < 24; c += 8)
      differs |= abs ((int) (result[i] >> c & 255) - (int) (input[i] >> c & 255)) > threshold;
    result[i] = differs ? result[i] : input[i];
  }
}

static void
N (pack) (const CfView *view, int y, int x0, int n, const void *row)
{
  for (int i = 0; i < n; i++)
    for (int c = 0; c < 3; c++)
      view[c].data[view[c].pitch * (size_t) y + (size_t) (x0 + i) * view[c].step] = (uint8_t) (((const T *) row)[i] >>
          (16 - 8 * c));
}

#endif

/* ---- between rows and their parts --------------------------------------- */

ALWAYS_INLINE void
N (split_body) (int parts, const T *restrict row, int n, T *restrict part, size_t pitch)
{
  const int end = n / parts;

  SAME_OR_APART
  for (int i = 0; i < end; i++)
    for (int p = 0; p < parts; p++)
      part[pitch * (size_t) p + (size_t) i] = row[i * parts + p];
}

ALWAYS_INLINE void
N (join_body) (int parts, T *restrict row, int n, const T *restrict part, size_t pitch)
{
  for (int i = 0; i < n / parts; i++)
    for (int p = 0; p < parts; p++)
      row[i * parts + p] = part[pitch * (size_t) p + (size_t) i];
}

static void
N (split) (const void *row, int n, int parts, void *part, size_t pitch)
{
  EACH_PARTS (parts, N (split_body), row, n, part, pitch);
}

static void
N (join) (void *row, int n, int parts, const void *part, size_t pitch)
{
  EACH_PARTS (parts, N (join_body), row, n, part, pitch);
}

/* ---- networks ----------------------------------------------------------- */

/* Reads the vectors of both operands before it writes to their slots. */
ALWAYS_INLINE void
N (network_) (const CfMedianStep *steps, int n, uint8_t *arena, int bytes)
{
  for (const CfMedianStep *s = steps; s < steps + n; s++) {
    const uint8_t *a = arena + s->a, *b = arena + s->b;
    uint8_t *d = arena + s->d, *e = arena + s->e;

    /* Addresses in registers of their own: indexed stores may use the address units of the loads, which bound this. */
    __asm__ ("" : "+r"(d), "+r"(e));
    for (int i = 0; i < bytes; i += V_SIZE) {
      V low = v_load (a + i), high = v_load (b + i);

      v_store (d + i, V_MIN (low, high));
      v_store (e + i, V_MAX (low, high));
    }
  }
}

static void
N (network) (const CfMedianStep *steps, int n, uint8_t *arena, int lanes)
{
  const int bytes = (lanes + LANES - 1) / LANES * V_SIZE;

  if (bytes == CF_MEDIAN_SLOT)
    N (network_) (steps, n, arena, CF_MEDIAN_SLOT);
  else
    N (network_) (steps, n, arena, bytes);
}

#if SIZE < 4
#include "median_code.h"

#define CODE(k) \
  static void N (code##k) (const void *const *row, size_t pitch, void *out, size_t out_pitch, int n) \
  { \
    for (int i = 0; i < n; i += LANES) { \
      const T *at[CF_MEDIAN_CODE_H (k) + k - 1]; \
\
      for (int y = 0; y < CF_MEDIAN_CODE_H (k) + k - 1; y++) \
        at[y] = (const T *) row[y] + i; \
      N (code##k##_) (at, pitch, (T *) out + i, out_pitch); \
    } \
  }
CODE (5)
CODE (7)
CODE (9)
#if V_SIZE > 16
CODE (11)
#if defined __OPTIMIZE__
#ifndef __clang__ /* with more, gcc takes minutes, to no gain */
#pragma GCC push_options
#pragma GCC optimize("O2", "no-schedule-insns2")
#endif
CODE (13)
CODE (15)
CODE (17)
#if SIZE > 1
CODE (19)
CODE (21)
#endif
#ifndef __clang__
#pragma GCC pop_options
#endif
#endif
#endif
#undef CODE
#endif

/* ---- 3x3 ---------------------------------------------------------------- */

#define MIDDLE(a, b, c) V_MAX (V_MIN (a, b), V_MIN (V_MAX (a, b), c))

/* Loads a vector that is used more than once into a register. Most of these loads cross a cache line, and the compiler
 * would repeat them as operands of minima and maxima. */
ALWAYS_INLINE V
N (load_once) (const T *p)
{
  V v = v_load (p);

  keep_in_register (v);
  return v;
}

/* Filters a vector of two rows at sample x, whose neighbours are at x - left and x + right. The columns of rows 0 1 2
 * (i = 0) and of rows 1 2 3 (i = 1) are sorted at each of the three places where a vector needs them, which costs less
 * than storing and loading them. A median of nine is that of the greatest low, the middle middle and the least high.
 * One row after the other: both at once are more values than AVX2 has registers. */
ALWAYS_INLINE void
N (median3_vector) (const T *const in[4], T *const out[2], ptrdiff_t x, ptrdiff_t left, ptrdiff_t right, const T *keep)
{
  const ptrdiff_t at[3] = { x - left, x, x + right };
  V min[3], max[3];

  for (int k = 0; k < 3; k++) {
    const V b = N (load_once) (in[1] + at[k]), c = N (load_once) (in[2] + at[k]);

    min[k] = V_MIN (b, c);
    max[k] = V_MAX (b, c);
  }
  for (int i = 0; i < 2; i++) {
    V low[3], middle[3], high[3];

    for (int k = 0; k < 3; k++) {
      const V a = N (load_once) (in[3 * i] + at[k]), m = V_MAX (a, min[k]);

      low[k] = V_MIN (a, min[k]);
      middle[k] = V_MIN (m, max[k]);
      high[k] = V_MAX (m, max[k]);
    }
    low[0] = V_MAX (V_MAX (low[0], low[1]), low[2]);
    middle[0] = MIDDLE (middle[0], middle[1], middle[2]);
    high[0] = V_MIN (V_MIN (high[0], high[1]), high[2]);
    low[0] = MIDDLE (low[0], middle[0], high[0]);
    if (keep) {
      const V kept = v_load (keep);

      low[0] = (v_load (in[1 + i] + x) & kept) | (low[0] & ~kept);
    }
    v_store (out[i] + x, low[0]);
  }
}

/* Filters two rows. The vectors at both ends are right only where samples have no neighbour on one side; the vectors
 * beside them, which come after them, overwrite the rest. Fetches the two rows behind in[3], which the next call needs:
 * a processor does not foresee them. */
ALWAYS_INLINE void
N (median3_rows) (const T *const in[4], T *const out[2], int n, int step, const T *keep)
{
  const int last = n - step - LANES;
  const ptrdiff_t pitch = (const uint8_t *) in[3] - (const uint8_t *) in[2];

  N (median3_vector) (in, out, 0, 0, step, keep);
  for (ptrdiff_t x = step; x < last; x += LANES) {
    __builtin_prefetch ((const uint8_t *) (in[3] + x) + pitch);
    __builtin_prefetch ((const uint8_t *) (in[3] + x) + 2 * pitch);
    N (median3_vector) (in, out, x, step, step, keep);
  }
  N (median3_vector) (in, out, n - LANES, step, 0, keep);
  N (median3_vector) (in, out, last, step, step, keep);
}

/* The same for rows that are shorter than a vector and its neighbours: copies of them have the border on both sides. */
static void
N (median3_short) (const T *const in[4], T *const out[2], int n, int step, const T *keep)
{
  T rows[4][LANES + 16] = { 0 }, results[2][LANES + 16]; /* step is at most 4, and n at most LANES + 7 */
  const T *from[4] = { rows[0], rows[1], rows[2], rows[3] };
  T *to[2] = { results[0], results[1] };

  for (int i = 0; i < 4; i++) {
    memcpy (rows[i], in[i], (size_t) step * sizeof (T));
    memcpy (rows[i] + step, in[i], (size_t) n * sizeof (T));
    memcpy (rows[i] + step + n, in[i] + n - step, (size_t) step * sizeof (T));
  }
  N (median3_vector) (from, to, step, step, step, keep);
  if (n > LANES)
    N (median3_vector) (from, to, n + step - LANES, step, step, keep);
  for (int i = 0; i < 2; i++)
    memcpy (out[i], results[i] + step, (size_t) n * sizeof (T));
}

static void
N (median3) (const void *const in_[4], void *const out_[2], int n, int step, const void *keep)
{
  const T *in[4] = { in_[0], in_[1], in_[2], in_[3] };
  T *out[2] = { out_[0], out_[1] };

  if (n < LANES + 2 * step)
    N (median3_short) (in, out, n, step, keep);
  else if (keep)
    N (median3_rows) (in, out, n, step, keep);
  else
    N (median3_rows) (in, out, n, step, NULL);
}

#undef LANES
#undef MIDDLE
