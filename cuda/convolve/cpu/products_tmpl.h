/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/cpu/products_tmpl.h: sums of products of pairs. simd.c includes it for each instruction that adds two
 * products to a sum, add_pairs (s, a, b); P (name) makes the names distinct. */

/* Two rows of outputs share each load: loads cost more than products, since most of them cross a cache line. */
ALWAYS_INLINE void
P (products_body) (const CfTap *taps, int n_taps, int n, int32_t initial, int32_t *const high[2], int32_t *const s[2],
    const CfRounding *r, const CfKeep keep[2], uint8_t *const out[2], bool rounds, bool power, bool ties, bool scaled)
{
  for (int p = 0; p < n; p += 4 * N4) {
    U4 first[4], second[4];

    for (int v = 0; v < 4; v++)
      first[v] = second[v] = (U4) { 0 } + (uint32_t) initial;
    for (int v = 0; high && v < 4; v++) {
      first[v] += *(const U4u *) (const void *) (high[0] + p + v * N4) << 16;
      second[v] += *(const U4u *) (const void *) (high[1] + p + v * N4) << 16;
    }
    for (int k = 0; k < n_taps; k++) {
      const uint32_t *pairs = (const uint32_t *) taps[k].data + p;
      U4 for_first = (U4) { 0 } + (uint32_t) taps[k].weight[0], for_second = (U4) { 0 } + (uint32_t) taps[k].weight[1];

      for (int v = 0; v < 4; v++) {
        U4 x = *(const U4u *) (const void *) (pairs + v * N4);

        keep_in_register (x);
        first[v] = add_pairs (first[v], x, for_first);
        second[v] = add_pairs (second[v], x, for_second);
      }
    }
    for (int v = 0; !rounds && v < 4; v++) {
      *(U4u *) (void *) (s[0] + p + v * N4) = first[v];
      *(U4u *) (void *) (s[1] + p + v * N4) = second[v];
    }
    if (rounds) {
      round_store_1 (first, p, n, r, &keep[0], out[0], power, ties, scaled);
      round_store_1 (second, p, n, r, &keep[1], out[1], power, ties, scaled);
    }
  }
}

/* Aligned: its inner loop took up to half as long again where it lay otherwise. */
__attribute__ ((aligned (64))) static void
P (products) (const CfTap *taps, int n_taps, int n, int32_t initial, int32_t *const high[2], int32_t *const s[2],
    const CfRounding *r, const CfKeep keep[2], uint8_t *const out[2])
{
  if (s)
    P (products_body) (taps, n_taps, n, initial, high, s, NULL, NULL, NULL, false, false, false, false);
  else
    EACH_ROUNDING (r, P (products_body), taps, n_taps, n, initial, high, NULL, r, keep, out, true)
}

/* Makes the sums of a stream at sample p: row r of pairs contributes to rows r - height + 1 .. r of outputs. */
ALWAYS_INLINE void
P (fast_stream) (const CfFast *f, int height, const uint32_t *const *rows, const uint32_t *weights, int p,
    FastSums done)
{
  const uint32_t *x[CF_FAST_HEIGHT + CF_FAST_ROWS - 1];
  FastSums sums;

  for (int r = 0; r < height + CF_FAST_ROWS - 1; r++)
    x[r] = rows[r] + p;
  for (int q = 0; q < CF_FAST_ROWS; q++)
    for (int v = 0; v < FAST_V; v++)
      sums[q][v] = (U4) { 0 };
  for (int i = 0; i < f->pairs; i++) {
    U4 weight[CF_FAST_HEIGHT];

#pragma GCC unroll 8
    for (int j = 0; j < height; j++)
      weight[j] = (U4) { 0 } + weights[i * height + j];
#pragma GCC unroll 16
    for (int r = 0; r < height + CF_FAST_ROWS - 1; r++)
#pragma GCC unroll 4
      for (int v = 0; v < FAST_V; v++) {
        U4 in = *(const U4u *) (const void *) (x[r] + 2 * i * f->step + v * N4);

#pragma GCC unroll 4
        for (int q = 0; q < CF_FAST_ROWS; q++)
          if (r - q >= 0 && r - q < height)
            sums[q][v] = add_pairs (sums[q][v], in, weight[r - q]);
#pragma GCC unroll 4
        for (int q = 0; q < CF_FAST_ROWS; q++)
          if (r - q >= 0 && r - q < height)
            keep_in_register (sums[q][v]);
      }
  }
  memcpy (done, sums, sizeof sums);
}

ALWAYS_INLINE void
P (fast_body) (const CfFast *f, int height, int n, int32_t *const *s)
{
  int n_streams = cf_fast_streams (f->levels), n_rows = height + CF_FAST_ROWS - 1, phases = 1 << f->levels;
  FastSums sums[CF_FAST_MAX_STREAMS];

  for (int p = 0; p < n; p += FAST_V * N4) {
    for (int t = 0; t < n_streams; t++)
      P (fast_stream) (f, height, f->rows + t * n_rows, f->weights + t * height * f->pairs, p, sums[t]);
    for (int q = 0; q < CF_FAST_ROWS; q++)
      for (int v = 0; v < FAST_V; v++) {
        U4 done[1 << CF_FAST_LEVELS];

        if (f->levels == 1)
          join_streams (sums, 1, q, v, done);
        else if (f->levels == 2)
          join_streams (sums, 2, q, v, done);
        else
          join_streams (sums, 3, q, v, done);
        for (int k = 0; k < phases; k++)
          *(U4u *) (void *) (s[q * phases + k] + p + v * N4) = done[k];
      }
  }
}

static void
P (fast) (const CfFast *f, int n, int32_t *const *s)
{
  /* a constant height keeps weights and sums in registers */
#define HEIGHT(h) \
  if (f->height == h) \
    P (fast_body) (f, h, n, s);
  HEIGHT (1) HEIGHT (2) HEIGHT (3) HEIGHT (4) HEIGHT (5) HEIGHT (6) HEIGHT (7) HEIGHT (8)
#undef HEIGHT
}
