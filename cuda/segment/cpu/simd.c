/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/cpu/simd.c: the segmentation's loops over rows, compiled once for each instruction set
 * (CF_ISA); simd.h documents the functions. They are plain loops that the compiler vectorises:
 * all lanes have 32 bits, flags are bytes. */
#include "simd.h"
#include "core/simd.h"

#include <math.h>
#include <string.h>

/* ---- cells' colours ------------------------------------------------------ */

static void
add_1 (const void *row, int n, int shift, int max, uint32_t weight, uint32_t *restrict sum)
{
  const uint8_t *restrict from = row;

  (void) shift;
  (void) max;
  for (int x = 0; x < n; x++)
    sum[x] += weight * from[x];
}

static void
add_2 (const void *row, int n, int shift, int max, uint32_t weight, uint32_t *restrict sum)
{
  const uint16_t *restrict from = row;

  for (int x = 0; x < n; x++) {
    const int v = from[x] >> shift;

    sum[x] += weight * (uint32_t) (v < max ? v : max);
  }
}

/* Cells of `each` samples that all lie inside the frame. */
ALWAYS_INLINE void
gather_whole (int step, const uint32_t *restrict from, int each, uint32_t weight, int n, uint32_t *restrict cell)
{
  for (int i = 0; i < n; i++) {
    uint32_t sum = 0;

    for (int j = 0; j < each; j++)
      sum += from[(i * each + j) * step];
    cell[i] = weight * sum;
  }
}

/* The sizes and steps of most frames, as constants so that the loops are unrolled. */
static void
gather_all (const uint32_t *from, int each, int step, uint32_t weight, int n, uint32_t *cell)
{
  if (each == 1)
    EACH_STEP (step, gather_whole, from, 1, weight, n, cell)
  else if (each == 2)
    EACH_STEP (step, gather_whole, from, 2, weight, n, cell)
  else if (each == 4)
    EACH_STEP (step, gather_whole, from, 4, weight, n, cell)
  else
    gather_whole (step, from, each, weight, n, cell);
}

static void
gather (const CfSgColumns *f, int n, uint32_t *cell)
{
  int whole = f->width / f->size; /* cells that are not cut off */

  if (f->w_sub == 0)
    gather_all (f->column, f->size, f->step, 1, whole, cell);
  else if (f->size % 2 == 0)
    gather_all (f->column, f->size / 2, f->step, 2, whole, cell);
  else
    whole = 0;
  for (int i = whole; i < n; i++) {
    const int end = (i + 1) * f->size < f->width ? (i + 1) * f->size : f->width;

    cell[i] = 0;
    for (int x = i * f->size; x < end; x++)
      cell[i] += f->column[(x >> f->w_sub) * f->step];
  }
}

/* Replaces each sum by (sum + area div 2) div area, >> down. The division is done in floating point and cut off.
 * This is exact where the type holds the dividend: a quotient that is no integer is at least 1 / area below the
 * next integer, which rounding does not reach. */
static void
divide (uint32_t *restrict sum, int n, uint32_t area, int down)
{
  const int shift = __builtin_ctz (area);
  const uint32_t half = area / 2;

  if (area == 1u << shift)
    for (int i = 0; i < n; i++)
      sum[i] = (sum[i] + half) >> shift >> down;
  else if (down == 0)
    for (int i = 0; i < n; i++)
      sum[i] = (uint32_t) (int32_t) ((float) (int32_t) (sum[i] + half) / (float) (int32_t) area);
  else
    for (int i = 0; i < n; i++)
      sum[i] = (uint32_t) (int32_t) ((double) (int32_t) (sum[i] + half) / (double) (int32_t) area) >> down;
}

static void
color (uint32_t *const sum[3], int n, uint32_t area, int bits, bool rgb, uint32_t *restrict to)
{
  const uint32_t *restrict y = sum[0], *restrict b = sum[1], *restrict r = sum[2];

  for (int k = 0; k < 3 && sum[k]; k++)
    divide (sum[k], n, area, bits - 8);
  if (!b)
    for (int i = 0; i < n; i++)
      to[i] = y[i] | 0x808000u;
  else if (rgb)
    for (int i = 0; i < n; i++)
      to[i] = cf_sg_ycbcr (y[i], b[i], r[i]);
  else
    for (int i = 0; i < n; i++)
      to[i] = y[i] | b[i] << 8 | r[i] << 16;
}

/* A sum needs 12 bits. Sums of Y and Cr share a word, with 16 bits each; sums of Cb have a word of their own. */
static void
mean (const uint32_t *const row[3], int n, uint32_t *const sums[2], uint32_t *restrict to)
{
  const uint32_t *restrict a = row[0], *restrict b = row[1], *restrict c = row[2];
  uint32_t *restrict yr = sums[0], *restrict cb = sums[1];

  for (int x = -1; x <= n; x++) {
    yr[x] = (a[x] & 0xff00ff) + 2 * (b[x] & 0xff00ff) + (c[x] & 0xff00ff);
    cb[x] = (a[x] & 0xff00) + 2 * (b[x] & 0xff00) + (c[x] & 0xff00);
  }
  for (int x = 0; x < n; x++) {
    const uint32_t s = yr[x - 1] + 2 * yr[x] + yr[x + 1] + 0x80008, t = cb[x - 1] + 2 * cb[x] + cb[x + 1] + 0x800;

    to[x] = (s >> 4 & 0xff00ff) | (t >> 4 & 0xff00);
  }
}

/* ---- seeds and kept cells ------------------------------------------------ */

static void
lengths (const uint32_t *restrict p, int n, uint32_t *restrict length)
{
  for (int x = 0; x < n; x++)
    length[x] = cf_sg_length (p[x]);
}

ALWAYS_INLINE uint8_t
link (uint32_t p, uint32_t q, uint32_t lengths_, uint32_t threshold)
{
  return (uint8_t) ((p | q) >> 31 | (uint32_t) cf_sg_near (cf_sg_distance (p, q), lengths_, threshold));
}

static void
links (const uint32_t *p, ptrdiff_t pitch, const uint32_t *const length[2], int n, uint32_t t, uint8_t *const to[4])
{
  const uint32_t *restrict q = p + pitch, *restrict s = length[0], *restrict l = length[1];
  uint8_t *restrict right = to[0], *restrict below = to[1], *restrict right_below = to[2], *restrict left_below = to[3];

  for (int x = 0; x < n; x++)
    right[x] = link (p[x], p[x + 1], s[x] + s[x + 1], t);
  for (int x = 0; x < n; x++)
    below[x] = link (p[x], q[x], s[x] + l[x], t);
  for (int x = 0; x < n; x++)
    right_below[x] = link (p[x], q[x + 1], s[x] + l[x + 1], t);
  for (int x = 0; x < n; x++)
    left_below[x] = link (p[x], q[x - 1], s[x] + l[x - 1], t);
}

static void
smooth (uint8_t *const at[4], uint8_t *const up[4], int n, uint8_t *restrict seed)
{
  const uint8_t *restrict e = at[0], *restrict s = at[1], *restrict se = at[2], *restrict sw = at[3];
  const uint8_t *restrict u = up[1], *restrict use = up[2], *restrict usw = up[3];

  for (int x = 0; x < n; x++)
    seed[x] = e[x] & e[x - 1] & s[x] & se[x] & sw[x] & u[x] & use[x - 1] & usw[x + 1];
}

/* Returns isqrt of step 3 over the nine 8-bit values around cell x. The operand is so small that the float root,
 * cut off, is exact. */
ALWAYS_INLINE int32_t
deviation (const uint32_t *const row[3], int x, int shift)
{
  int32_t sum = 0, squares = 0;

  for (int j = 0; j < 3; j++)
    for (int i = -1; i <= 1; i++) {
      const int32_t v = (int32_t) (row[j][x + i] >> shift & 255);

      sum += v;
      squares += v * v;
    }
  return (int32_t) sqrtf ((float) (9 * squares - sum * sum));
}

static void
roughness (const uint32_t *const row[3], int n, uint16_t *restrict to)
{
  const uint32_t *const r[3] = { row[0], row[1], row[2] };

  for (int x = 0; x < n; x++)
    to[x] = (uint16_t) (deviation (r, x, 0) + deviation (r, x, 8) + deviation (r, x, 16));
}

static void
kinds (const uint32_t *restrict p, const uint8_t *restrict seed, int row, int n, uint32_t *restrict kind)
{
  for (int x = 0; x < n; x++)
    kind[x] = cf_sg_kind (p[x], x, row) & -(uint32_t) seed[x];
}

static void
keep (const uint32_t *restrict p, const uint32_t *restrict before, const uint32_t *restrict mean,
    const uint32_t *restrict label, int n, const uint32_t threshold[3], uint32_t *restrict kind)
{
  const uint32_t t = threshold[0], t_change = threshold[1], t_far = threshold[2];

  for (int x = 0; x < n; x++) {
    const uint32_t d = cf_sg_distance (p[x], mean[x]), s = cf_sg_length (p[x]), l = s + cf_sg_length (mean[x]);
    const bool same = cf_sg_near (cf_sg_distance (p[x], before[x]), s + cf_sg_length (before[x]), t_change);
    const bool close = cf_sg_near (d, l, t), not_far = cf_sg_near (d, l, t_far), kept = close | (same & not_far);

    kind[x] = kept ? label[x] + CF_SG_KEPT : kind[x];
  }
}

/* ---- regions ------------------------------------------------------------- */

static bool
differ (const uint32_t *a, const uint32_t *b, int n, uint8_t *restrict differs)
{
  uint8_t any = 0;

  for (int x = 0; x < n; x++) {
    differs[x] = a[x] != b[x];
    any |= differs[x];
  }
  return any;
}

static void
pick (const CfSgNeighbours *at, uint32_t first, int n, uint32_t *restrict picked)
{
  const uint32_t *const mean = at->mean, *const root = at->root;
  const ptrdiff_t step[4] = { -at->pitch, -1, 1, at->pitch };

  for (int x = 0; x < n; x++) {
    const uint32_t p = mean[x];
    uint32_t best = UINT32_MAX, with = first + (uint32_t) x;

    for (int k = 0; k < 4; k++) {
      const uint32_t q = mean[x + step[k]], r = root[x + step[k]];
      const uint32_t d = cf_sg_distance (p, q) | (q & CF_SG_OUTSIDE ? UINT32_MAX : 0);
      const bool better = (d < best) | ((d == best) & (r < with) & (d != UINT32_MAX));

      best = better ? d : best;
      with = better ? r : with;
    }
    picked[x] = p & CF_SG_SEEDED ? root[x] : with;
  }
}

static void
grow (const uint32_t *at, ptrdiff_t pitch, int n, uint8_t *restrict right, uint8_t *restrict below)
{
  const uint32_t *const up = at - pitch, *const down = at + pitch;

  for (int x = 0; x < n; x++) {
    const uint32_t a = at[x], b = at[x + 1];

    right[x] = (a != b) & !(a & b & CF_SG_SEEDED) & !((up[x] == a) & (up[x + 1] == b)) & (b != CF_SG_OUTSIDE);
  }
  for (int x = 0; x < n; x++) {
    const uint32_t a = at[x], b = down[x];

    below[x] = (a != b) & !(a & b & CF_SG_SEEDED) & !((at[x - 1] == a) & (down[x - 1] == b)) & (b != CF_SG_OUTSIDE);
  }
}

static bool
mixed (const uint32_t *at, const uint32_t *v, int n, uint8_t *restrict to)
{
  uint8_t any = 0;

  for (int x = 0; x < n; x++) {
    to[x] = (at[x] != at[x - 1]) | (at[x] != at[x + 1]) | (at[x] != v[x]);
    any |= to[x];
  }
  return any;
}

static void
border (const uint32_t *at, ptrdiff_t pitch, int n, uint8_t *restrict to)
{
  for (int x = 0; x < n; x++)
    to[x] = (at[x] != at[x - pitch]) | (at[x] != at[x - 1]) | (at[x] != at[x + 1]) | (at[x] != at[x + pitch]);
}

static void
beside (const uint8_t *flag, ptrdiff_t pitch, int n, uint8_t *restrict to)
{
  for (int x = 0; x < n; x++)
    to[x] = flag[x - pitch] | flag[x - 1] | flag[x + 1] | flag[x + pitch];
}

/* ---- sums of samples ----------------------------------------------------- */

/* Vectors of 16 bytes, which the compiler supports on every architecture. */
typedef uint8_t Bytes __attribute__ ((vector_size (16)));
typedef uint16_t Words __attribute__ ((vector_size (16)));
typedef uint32_t Longs __attribute__ ((vector_size (16)));

#define MOST_LOADS 128 /* vectors of bytes whose sums fit the 16-bit lanes */

/* Returns the first n of 16 bytes, the others as 0. Reads nothing from `limit` on. */
ALWAYS_INLINE Bytes
load_some (const uint8_t *from, size_t n, const uint8_t *limit)
{
  static const uint8_t ones[32] = { 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255 };
  Bytes v = { 0 }, mask;

  if (n < 16 && limit - from < 16) {
    memcpy (&v, from, n);
    return v;
  }
  memcpy (&v, from, 16);
  memcpy (&mask, ones + 16 - (n < 16 ? n : 16), 16);
  return v & mask;
}

/* Adds up the lanes of `even` and `odd`, the sums of the samples at even and at odd positions: into sum[0] for
 * groups of 1 sample, into sum[0] and sum[1] for groups of 2. */
ALWAYS_INLINE void
fold (Longs even, Longs odd, int group, uint32_t sum[4])
{
  if (group == 1) {
    even += odd;
    sum[0] = even[0] + even[1] + even[2] + even[3];
  } else {
    sum[0] = even[0] + even[1] + even[2] + even[3];
    sum[1] = odd[0] + odd[1] + odd[2] + odd[3];
  }
}

ALWAYS_INLINE void
sum_bytes (const uint8_t *from, const uint8_t *end, const uint8_t *limit, int group, uint32_t sum[4])
{
  Longs total[4] = { { 0 } }; /* of byte 0, 1, 2, 3 of each 4 */

  while (from < end) {
    const uint8_t *part = end - from > 16 * MOST_LOADS ? from + 16 * MOST_LOADS : end;
    Words even = { 0 }, odd = { 0 };

    for (; from < part; from += 16) {
      const Words v = (Words) load_some (from, (size_t) (part - from), limit);

      even += v & 255;
      odd += v >> 8;
    }
    total[0] += (Longs) even & 0xffff;
    total[1] += (Longs) odd & 0xffff;
    total[2] += (Longs) even >> 16;
    total[3] += (Longs) odd >> 16;
  }
  if (group == 4)
    for (int i = 0; i < 4; i++)
      sum[i] = total[i][0] + total[i][1] + total[i][2] + total[i][3];
  else
    fold (total[0] + total[2], total[1] + total[3], group, sum);
}

ALWAYS_INLINE void
sum_words (const uint8_t *from, const uint8_t *end, const uint8_t *limit, int shift, int max, int group,
    uint32_t sum[4])
{
  const Words top = (Words) { 0 } + (uint16_t) max;
  Longs even = { 0 }, odd = { 0 };

  for (; from < end; from += 16) {
    Words v = (Words) load_some (from, (size_t) (end - from), limit) >> shift;
    const Words less = (Words) (v < top);

    v = (v & less) | (top & ~less);
    even += (Longs) v & 0xffff;
    odd += (Longs) v >> 16;
  }
  fold (even, odd, group, sum);
}

ALWAYS_INLINE void
sum_runs (const CfSgSamples *s, const uint32_t *run, uint32_t n, int bytes, int group, uint32_t *sum)
{
  const size_t round = ((size_t) 1 << s->w_sub) - 1, size = (size_t) (bytes * group);
  const uint8_t *limit = s->row + (((size_t) s->width + round) >> s->w_sub) * size;

  for (uint32_t i = 0; i < n; i++) {
    const size_t first = run[i] >> 16, last = i + 1 < n ? run[i + 1] >> 16 : (size_t) s->width;
    const uint8_t *from = s->row + ((first + round) >> s->w_sub) * size;
    const uint8_t *end = s->row + ((last + round) >> s->w_sub) * size;

    if (bytes == 1)
      sum_bytes (from, end, limit, group, sum + 4 * i);
    else
      sum_words (from, end, limit, s->shift, s->max, group, sum + 4 * i);
  }
}

static void
sum_runs_1 (const CfSgSamples *s, const uint32_t *run, uint32_t n, uint32_t *sum)
{
  if (s->group == 1)
    sum_runs (s, run, n, 1, 1, sum);
  else if (s->group == 2)
    sum_runs (s, run, n, 1, 2, sum);
  else
    sum_runs (s, run, n, 1, 4, sum);
}

static void
sum_runs_2 (const CfSgSamples *s, const uint32_t *run, uint32_t n, uint32_t *sum)
{
  if (s->group == 1)
    sum_runs (s, run, n, 2, 1, sum);
  else
    sum_runs (s, run, n, 2, 2, sum);
}

const CfSgSimd GLUE (cf_sg_simd_, CF_ISA) = {
  .add = { add_1, add_2 },
  .gather = gather,
  .color = color,
  .mean = mean,
  .lengths = lengths,
  .links = links,
  .smooth = smooth,
  .roughness = roughness,
  .kinds = kinds,
  .keep = keep,
  .differ = differ,
  .pick = pick,
  .grow = grow,
  .mixed = mixed,
  .border = border,
  .beside = beside,
  .sum_runs = { sum_runs_1, sum_runs_2 },
};
