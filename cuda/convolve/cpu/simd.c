/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/cpu/simd.c: the convolution's inner loops, compiled once for each
 * instruction set (CF_ISA). simd.h says what they do.
 *
 * vectors.h has the vectors, mostly the compiler's own vector types. Loops that
 * the compiler vectorises well by itself are plain loops. Functions NAME_body are
 * inlined with constant arguments, so that the compiler unrolls their loops. */
#include "simd.h"
#include "core/simd.h"

#include <stdlib.h>
#include <string.h>

#include "vectors.h"

#define N(name) GLUE (name##_, SIZE)

static void
blend (uint8_t *to, const uint8_t *from, uint32_t keep, int n, const uint8_t *row, bool spreads)
{
  for (int i = 0; i < n; i++) {
    uint32_t old, pixel = row[i] * 0x01010101u;

    memcpy (&old, from + 4 * i, 4);
    if (!spreads)
      memcpy (&pixel, row + 4 * i, 4);
    pixel = (old & keep) | (pixel & ~keep);
    memcpy (to + 4 * i, &pixel, 4);
  }
}

/* Calls `loop` with constants for how r rounds: by a power of two, with ties, by a scale. */
#define EACH_ROUNDING(r, loop, ...) \
  if (r->log2 >= 0 && r->ties) \
    loop (__VA_ARGS__, true, true, false); \
  else if (r->log2 >= 0) \
    loop (__VA_ARGS__, true, false, false); \
  else if (r->by_scale && !r->ties) \
    loop (__VA_ARGS__, false, false, true); \
  else \
    loop (__VA_ARGS__, false, r->ties, false);

/* The weights of rows, where a loop is specialised for them. */
typedef enum { ANY, ONES, ONE_TWO_ONE, PIXELS } CfWeights; /* PIXELS: ones, for are_neighbours */

/* Returns whether rows lie `bytes` bytes apart and shuffles of two vectors are faster than a load for each row, most of
 * which cross a cache line. */
static bool
are_neighbours (const CfTap *rows, int bytes)
{
  return V_SIZE == 64 && (const uint8_t *) rows[1].data == (const uint8_t *) rows[0].data + bytes;
}

/* Returns a vector of memory from 4 * by bytes behind x on: elements of the vectors at x and behind it. */
ALWAYS_INLINE U4
following (const void *x, int by)
{
  const U4u *from = x;
  U4 order;

  for (int l = 0; l < N4; l++)
    order[l] = (uint32_t) (by + l);
  return by ? shuffle4 (from[0], from[1], order) : from[0];
}

/* ---- rows of samples of 1 and 2 bytes; G: integers for their gradients --- */

#define SIZE 1
#define T uint8_t
#define G int16_t
#include "rows_tmpl.h"
#undef SIZE
#undef T
#undef G

#define SIZE 2
#define T uint16_t
#define G int32_t
#include "rows_tmpl.h"
#undef SIZE
#undef T
#undef G

/* ---- 8-bit RGB ----------------------------------------------------------- */

static inline void
gray_body (int step, const uint8_t *restrict r, const uint8_t *restrict g, const uint8_t *restrict b, int n,
    uint8_t *restrict row, bool luma)
{
  if (luma)
    for (int i = 0; i < n; i++)
      row[i] = (uint8_t) ((77 * r[i * step] + 150 * g[i * step] + 29 * b[i * step] + 128) >> 8);
  else /* 21846 = (2^16 + 2) / 3: exact below 2^15 */
    for (int i = 0; i < n; i++)
      row[i] = (uint8_t) ((uint32_t) (r[i * step] + g[i * step] + b[i * step]) * 21846 >> 16);
}

static void
gray (const uint8_t *const from[3], int step, int n, uint8_t *row, bool luma)
{
  EACH_STEP (step, gray_body, from[0], from[1], from[2], n, row, luma)
}

/* ---- dense -------------------------------------------------------------- */

static void
pair_bytes (const uint16_t *restrict a, const uint16_t *restrict b, int n, uint32_t *restrict upper,
    uint32_t *restrict lower)
{
  for (int i = 0; i < n; i++) {
    uint32_t both = (uint32_t) b[i] << 16 | a[i];

    upper[i] = both >> 8 & 0x00ff00ffu;
    lower[i] = both & 0x00ff00ffu;
  }
}

ALWAYS_INLINE void
make_streams_body (const uint32_t *const *rows, int levels, int n, uint32_t *const *to)
{
  for (int p = 0; p < n; p += N4) {
    U2 first[CF_FAST_MAX_STREAMS], second[CF_FAST_MAX_STREAMS];
    U2 *from = first, *into = second, *other;
    int length = (2 << levels) - 1, n_streams = 1;

#pragma GCC unroll 16
    for (int k = 0; k < length; k++)
      from[k] = *(const U2u *) (const void *) (rows[k] + p);
#pragma GCC unroll 3
    for (int l = 0; l < levels; l++) {
      int half = length / 2;

#pragma GCC unroll 9
      for (int t = 0; t < n_streams; t++)
#pragma GCC unroll 7
        for (int k = 0; k < half; k++) {
          const U2 *x = from + t * length + 2 * k;

          into[3 * t * half + k] = x[0] - x[1];
          into[(3 * t + 1) * half + k] = x[1];
          into[(3 * t + 2) * half + k] = x[2] - x[1];
        }
      length = half;
      n_streams *= 3;
      other = from;
      from = into;
      into = other;
    }
#pragma GCC unroll 27
    for (int t = 0; t < n_streams; t++)
      *(U2u *) (void *) (to[t] + p) = from[t];
  }
}

static void
make_streams (const uint32_t *const *rows, int levels, int n, uint32_t *const *to)
{
  if (levels == 1)
    make_streams_body (rows, 1, n, to);
  else if (levels == 2)
    make_streams_body (rows, 2, n, to);
  else
    make_streams_body (rows, 3, n, to);
}

/* Vectors of a row for which the sums of CF_FAST_ROWS rows of outputs stay in registers. */
#define FAST_V (V_SIZE == 64 ? 4 : 2)
typedef U4 FastSums[CF_FAST_ROWS][FAST_V];

/* Joins the sums of streams to those of phases: y0 = P0 + P1, y1 = P1 + P2, from the last level to the first. */
ALWAYS_INLINE void
join_streams (FastSums *streams, int levels, int row, int v, U4 *sums)
{
  U4 buffer[2][CF_FAST_MAX_STREAMS];
  U4 *from = buffer[0], *to = buffer[1], *other;
  int phases = 1, n_streams = cf_fast_streams (levels);

#pragma GCC unroll 27
  for (int t = 0; t < n_streams; t++)
    from[t] = streams[t][row][v];
#pragma GCC unroll 3
  for (int l = 0; l < levels; l++) {
    n_streams /= 3;
#pragma GCC unroll 9
    for (int t = 0; t < n_streams; t++)
#pragma GCC unroll 4
      for (int k = 0; k < phases; k++) {
        const U4 *p = from + 3 * t * phases + k;

        to[2 * (t * phases + k)] = p[0] + p[phases];
        to[2 * (t * phases + k) + 1] = p[phases] + p[2 * phases];
      }
    phases *= 2;
    other = from;
    from = to;
    to = other;
  }
#pragma GCC unroll 8
  for (int k = 0; k < phases; k++)
    sums[k] = from[k];
}

#define P(name) name##_plain
#define add_pairs(s, a, b) ((s) + multiply_pairs (a, b))
#include "products_tmpl.h"
#undef P
#undef add_pairs

#if defined __AVX512BW__
/* One VNNI instruction multiplies and adds, on processors that have it. */
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512vnni"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512vnni")
#endif
#define P(name) name##_vnni
#define add_pairs(s, a, b) ((U4) _mm512_dpwssd_epi32 ((__m512i) (s), (__m512i) (a), (__m512i) (b)))
#include "products_tmpl.h"
#undef P
#undef add_pairs
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#define HAS_VNNI __builtin_cpu_supports ("avx512vnni")
#else
#define HAS_VNNI 0
#define products_vnni products_plain
#define fast_vnni fast_plain
#endif

#define EITHER(name, ...) (HAS_VNNI ? name##_vnni (__VA_ARGS__) : name##_plain (__VA_ARGS__))

static void
products (const CfTap *taps, int n_taps, int n, int32_t initial, int32_t *const high[2], int32_t *const s[2],
    const CfRounding *r, const CfKeep keep[2], uint8_t *const out[2])
{
  EITHER (products, taps, n_taps, n, initial, high, s, r, keep, out);
}

static void
fast (const CfFast *f, int n, int32_t *const *s)
{
  EITHER (fast, f, n, s);
}

static void
combine (const int32_t *restrict upper, const int32_t *restrict lower, int n, int factor, int64_t offset,
    int64_t *restrict s)
{
  for (int i = 0; i < n; i++)
    s[i] = (int64_t) upper[i] * factor + lower[i] + offset;
}

/* Returns how many rows can be added to their mirror image before the multiplication: h / 2 if weights are symmetric,
 * else 0. */
static int
symmetric_rows (const CfTap *rows, int h)
{
  for (int j = 0; j < h / 2; j++)
    if (rows[j].weight[0] != rows[h - 1 - j].weight[0])
      return 0;
  return h / 2;
}

#include "lanes.h"

/* ---- separable ----------------------------------------------------------- */

ALWAYS_INLINE void
vertical32_body (const CfTap *rows, int h, int half, int n, int32_t *s, const CfRounding *r, uint16_t *out, bool rounds,
    bool power, bool ties, bool scaled)
{
  for (int p = 0; p < n; p += 4 * N4) {
    U4 sum[4] = { { 0 } };

    for (int j = 0; j < half; j++) {
      const uint32_t *x = (const uint32_t *) rows[j].data + p, *y = (const uint32_t *) rows[h - 1 - j].data + p;
      U4 weight = (U4) { 0 } + (uint32_t) rows[j].weight[0];

      for (int v = 0; v < 4; v++)
        sum[v] += (*(const U4u *) (const void *) (x + v * N4) + *(const U4u *) (const void *) (y + v * N4)) * weight;
    }
    for (int j = half; j < h - half; j++) {
      const uint32_t *x = (const uint32_t *) rows[j].data + p;
      U4 weight = (U4) { 0 } + (uint32_t) rows[j].weight[0];

      for (int v = 0; v < 4; v++)
        sum[v] += *(const U4u *) (const void *) (x + v * N4) * weight;
    }
    for (int v = 0; !rounds && v < 4; v++)
      *(U4u *) (void *) (s + p + v * N4) = sum[v];
    if (rounds)
      round_store_2 (sum, p, n, r, NULL, out, power, ties, scaled);
  }
}

static void
vertical32 (const CfTap *rows, int h, int n, int32_t *s, const CfRounding *r, uint16_t *out)
{
  int half = symmetric_rows (rows, h);

  if (s)
    vertical32_body (rows, h, half, n, s, NULL, NULL, false, false, false, false);
  else
    EACH_ROUNDING (r, vertical32_body, rows, h, half, n, NULL, r, out, true)
}

static void
vertical64_unsigned (const CfTap *rows, int h, int n, int64_t *s)
{
  U8 lower, upper; /* the shuffles that interleave vectors of even and of odd sums */

  for (int i = 0; i < N8; i++) {
    lower[i] = (uint64_t) (i / 2 + i % 2 * N8);
    upper[i] = lower[i] + N8 / 2;
  }
  for (int p = 0; p < n; p += 2 * N4) {
    U8 even[2] = { { 0 } }, odd[2] = { { 0 } };

    for (int j = 0; j < h; j++) {
      const uint32_t *x = (const uint32_t *) rows[j].data + p;
      U4 weight = (U4) { 0 } + (uint32_t) rows[j].weight[0];

      for (int v = 0; v < 2; v++) {
        U4 sums = *(const U4u *) (const void *) (x + v * N4);

        even[v] += multiply_even (sums, weight);
        odd[v] += multiply_even ((U8) sums >> 32, weight);
      }
    }
    for (int v = 0; v < 2; v++) {
      *(U8u *) (void *) (s + p + v * N4) = shuffle8 (even[v], odd[v], lower);
      *(U8u *) (void *) (s + p + v * N4 + N8) = shuffle8 (even[v], odd[v], upper);
    }
  }
}

static void
vertical64 (const CfTap *rows, int h, int n, bool is_signed, int64_t *restrict s)
{
  if (!is_signed) { /* no weight is negative, either */
    vertical64_unsigned (rows, h, n, s);
    return;
  }
  memset (s, 0, (size_t) n * sizeof *s);
  for (int j = 0; j < h; j++) {
    int32_t weight = rows[j].weight[0];
    const int32_t *restrict x = rows[j].data;

    for (int i = 0; i < n; i++)
      s[i] += (int64_t) weight * x[i];
  }
}

#include "box.h"

/* ---- unsharp at 8 bit ---------------------------------------------------- */

/* With S in units of 2^-16 the numerator, in units of 2^-24, needs more than 32
 * bits. Its lowest 8 bits contribute only a carry:
 * floor (floor (v / 2^8) / 2^16) = floor (v / 2^24). */
static void
unsharp32 (const int32_t *restrict s, const uint8_t *restrict x, int n, const CfRounding *r, uint8_t *restrict out)
{
  int32_t x_factor = (256 + r->amount) * 256, amount = r->amount;
  int32_t low = (int32_t) (r->add & 255), high = (int32_t) (r->add >> 8);

  for (int i = 0; i < n; i++) {
    int32_t sum = s[i] << r->up;
    int32_t v = x_factor * x[i] - amount * (sum >> 8) + ((low - amount * (sum & 255)) >> 8) + high;

    v >>= 16;
    v = v < 0 ? 0 : v;
    out[i] = (uint8_t) (v < 255 ? v : 255);
  }
}

/* ---- the table ---------------------------------------------------------- */

#define BOTH(name) { name##_1, name##_2 }

const CfConvolveSimd GLUE (cf_convolve_simd_, CF_ISA) = {
  .gather = BOTH (gather),
  .scatter = BOTH (scatter),
  .gray = gray,
  .blend = blend,
  .pair = BOTH (pair),
  .pair_bytes = pair_bytes,
  .products = products,
  .make_streams = make_streams,
  .fast = fast,
  .wide = BOTH (wide),
  .combine = combine,
  .horizontal16 = { horizontal16_bytes, horizontal16_2 },
  .horizontal_upper_lower = horizontal_upper_lower,
  .vertical_upper_lower = vertical_upper_lower,
  .horizontal8 = horizontal_bytes,
  .vertical8 = vertical_bytes,
#ifndef NO_BYTE_LANES
  .small = { small_box, small_binomial, small_sharpen },
  .horizontal_words = horizontal_words,
  .split_pairs = split_pairs,
  .halves_out = halves_out,
#endif
  .horizontal32 = BOTH (horizontal32),
  .vertical32 = vertical32,
  .vertical64 = vertical64,
  .vertical16 = BOTH (vertical16),
  .update_columns16 = BOTH (update_columns16),
  .update_columns32 = BOTH (update_columns32),
  .add_shifted = add_shifted,
  .add_columns_out = add_columns_out,
  .scan = scan,
  .between = BOTH (between),
  .gradient = BOTH (gradient),
  .round32 = BOTH (round32),
  .round64 = BOTH (round64),
  .unsharp32 = unsharp32,
  .unsharp_reduced = BOTH (unsharp_reduced),
  .unsharp64 = BOTH (unsharp64),
};
