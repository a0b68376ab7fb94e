/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convolve_products.h: sums of products of pairs. Included by convolve_simd.c
 * once a way to add two products to a sum: add_pairs (s, a, b). */

/* Two rows share what is loaded, which costs more than to multiply: most loads
 * cross a cache line. */
static inline void
P (products_at) (const CfPairTap *taps, int n_taps, int p, int32_t start, int32_t *const high[2], U4 first[4],
    U4 second[4])
{
  for (int v = 0; v < 4; v++)
    first[v] = second[v] = (U4) { 0 } + (uint32_t) start;
  for (int v = 0; high && v < 4; v++) {
    first[v] += *(const U4u *) (const void *) (high[0] + p + v * N4) << 16;
    second[v] += *(const U4u *) (const void *) (high[1] + p + v * N4) << 16;
  }
  for (int k = 0; k < n_taps; k++) {
    const uint32_t *pairs = (const uint32_t *) taps[k].at + p;
    U4 for_first = (U4) { 0 } + (uint32_t) taps[k].weight[0], for_second = (U4) { 0 } + (uint32_t) taps[k].weight[1];

    for (int v = 0; v < 4; v++) {
      U4 x = *(const U4u *) (const void *) (pairs + v * N4);

      first[v] = add_pairs (first[v], x, for_first);
      second[v] = add_pairs (second[v], x, for_second);
    }
  }
}

static void
P (products) (const CfPairTap *taps, int n_taps, int n, int32_t start, int32_t *const high[2], int32_t *const s[2])
{
  for (int p = 0; p < n; p += 4 * N4) {
    U4 first[4], second[4];

    P (products_at) (taps, n_taps, p, start, high, first, second);
    for (int v = 0; v < 4; v++) {
      *(U4u *) (void *) (s[0] + p + v * N4) = first[v];
      *(U4u *) (void *) (s[1] + p + v * N4) = second[v];
    }
  }
}

static inline void
P (products_out_by) (const CfPairTap *taps, int n_taps, int n, int32_t start, int32_t *const high[2],
    const CfRounding *r, const CfKeep keep[2], uint8_t *const out[2], bool power, bool ties)
{
  for (int p = 0; p < n; p += 4 * N4) {
    U4 first[4], second[4];

    P (products_at) (taps, n_taps, p, start, high, first, second);
    round_at (first, p, n, r, &keep[0], out[0], power, ties);
    round_at (second, p, n, r, &keep[1], out[1], power, ties);
  }
}

static void
P (products_out) (const CfPairTap *taps, int n_taps, int n, int32_t start, int32_t *const high[2], const CfRounding *r,
    const CfKeep keep[2], uint8_t *const out[2])
{
  if (r->log2 >= 0 && r->ties)
    P (products_out_by) (taps, n_taps, n, start, high, r, keep, out, true, true);
  else if (r->log2 >= 0)
    P (products_out_by) (taps, n_taps, n, start, high, r, keep, out, true, false);
  else
    P (products_out_by) (taps, n_taps, n, start, high, r, keep, out, false, false);
}
