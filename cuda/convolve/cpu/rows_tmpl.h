/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/cpu/rows_tmpl.h: loops over rows of samples of type T. simd.c includes
 * it for each SIZE, the bytes of T; N (name) makes the names distinct. */

#include "core/rows_tmpl.h"

/* ---- sums --------------------------------------------------------------- */

static void
N (pair) (const void *a_, const void *b_, int n, uint32_t *restrict pairs, bool signed_)
{
  const T *restrict a = a_, *restrict b = b_;
  uint32_t flip = signed_ ? 0x80008000u : 0;

  for (int i = 0; i < n; i++)
    pairs[i] = ((uint32_t) b[i] << 16 | a[i]) ^ flip;
}

static void
N (wide) (const CfTap *taps, int n_taps, int n, int64_t *restrict s)
{
  memset (s, 0, (size_t) n * sizeof *s);
  for (int k = 0; k < n_taps; k++) {
    const T *restrict x = taps[k].data;
    int32_t c = taps[k].weight[0];

    for (int i = 0; i < n; i++)
      s[i] += (int64_t) c * (int32_t) x[i];
  }
}

/* Loads a vector of samples as 16-bit numbers. */
static inline U2
N (load2) (const T *x)
{
#if SIZE == 1
  return __builtin_convertvector (*(const Half1 *) (const void *) x, U2);
#else
  return *(const U2u *) (const void *) x;
#endif
}

/* Stores two vectors of 16-bit numbers that fit T; `keep`, and `lanes` (bytes interleaved by lanes), are for 8-bit
 * samples only. */
static inline void
N (store2) (T *x, const U2 v[2], uint32_t keep, const uint8_t *from, bool lanes)
{
  (void) lanes;
#if SIZE == 1
#ifdef NO_BYTE_LANES
  U4 bytes = pack_in_order (v);
#else
  U4 bytes = lanes ? pack_bytes (v[0], v[1]) : pack_in_order (v);
#endif

  if (keep)
    bytes = (bytes & ~keep) | (*(const U4u *) (const void *) from & keep);
  *(U4u *) (void *) x = bytes;
#else
  (void) keep;
  (void) from;
  *(U2u *) (void *) x = v[0];
  *(U2u *) (void *) (x + N2) = v[1];
#endif
}

static inline U4
N (load4) (const T *x)
{
#if SIZE == 1
  return load_bytes (x);
#else
  return __builtin_convertvector (*(const Half2 *) (const void *) x, U4);
#endif
}

/* Weighted sums along a row, in vectors of the type U, which have `lanes` numbers of the type C. */
#define HORIZONTAL(name, C, U, lanes, load) \
  static void N (name) (const void *row, int w, int step, const int32_t *c, bool symmetric, int n, C *sums) \
  { \
    const T *x = row; \
    int half = symmetric ? w / 2 : 0; \
\
    for (int p = 0; p < n; p += 4 * lanes) { \
      U s[4] = { { 0 } }; \
\
      for (int i = 0; i < half; i++) { \
        const T *left = x + p + i * step, *right = x + p + (w - 1 - i) * step; \
        U weight = (U) { 0 } + (C) c[i]; \
\
        for (int v = 0; v < 4; v++) \
          s[v] += (N (load) (left + v * lanes) + N (load) (right + v * lanes)) * weight; \
      } \
      for (int i = half; i < w - half; i++) { \
        U weight = (U) { 0 } + (C) c[i]; \
\
        for (int v = 0; v < 4; v++) \
          s[v] += N (load) (x + p + i * step + v * lanes) * weight; \
      } \
      for (int v = 0; v < 4; v++) \
        *(U##u *) (void *) (sums + p + v * lanes) = s[v]; \
    } \
  }

HORIZONTAL (horizontal16, uint16_t, U2, N2, load2)
HORIZONTAL (horizontal32, uint32_t, U4, N4, load4)
#undef HORIZONTAL

/* Stores the last n samples of a row, from sample p on, which do not fill whole vectors. */
static inline void
N (store_tail) (T *out, const T *block, int n, const CfKeep *keep, int p)
{
  if (SIZE == 1 && keep->mask)
    blend ((uint8_t *) out, keep->src + p, keep->mask, n / 4, (const uint8_t *) block, false);
  else
    memcpy (out, block, (size_t) n * sizeof (T));
}

#if SIZE == 1
/* Stores a vector of samples from sample p of a row on. The row has n samples; what is behind its end is left out. */
ALWAYS_INLINE void
store_bytes (U4 bytes, int p, int n, const CfKeep *keep, uint8_t *out)
{
  uint8_t block[V_SIZE];

  if (n - p < V_SIZE) {
    memcpy (block, &bytes, V_SIZE);
    store_tail_1 (out + p, block, n - p, keep, p);
    return;
  }
  if (keep->mask)
    bytes = (bytes & ~keep->mask) | (*(const U4u *) (const void *) (keep->src + p) & keep->mask);
  *(U4u *) (void *) (out + p) = bytes;
}
#endif

/* Saturates quotients and stores them as samples p .. p + 4 N4 - 1 of a row of n; `keep` is for 8-bit samples only. */
ALWAYS_INLINE void
N (store4) (const S4 q[4], int p, int n, int max, const CfKeep *keep, T *out)
{
#if SIZE == 1
  (void) max;
  store_bytes (saturate (q), p, n, keep, out);
#else
  T block[4 * N4], *to = n - p < 4 * N4 ? block : out + p;

  (void) keep;
  for (int v = 0; v < 2; v++)
    *(U2u *) (void *) (to + v * N2) = saturate2 (q[2 * v], q[2 * v + 1], (U2) { 0 } + (uint16_t) max);
  if (to == block)
    memcpy (out + p, block, (size_t) (n - p) * sizeof *out);
#endif
}

/* Rounds sums and stores them as store4: by a power of two, by a scale or by `magic`. */
ALWAYS_INLINE void
N (round_store) (const U4 s[4], int p, int n, const CfRounding *r, const CfKeep *keep, T *out, bool power, bool ties,
    bool scaled)
{
  S4 mask = (S4) { 0 } + (int32_t) (power ? (1u << r->log2) - 1 : 0), q[4];
  U4 magic = (U4) { 0 } + r->magic, d2 = (U4) { 0 } + (uint32_t) r->d2;
  U4 odd_lanes;

  for (int l = 0; l < N4; l++)
    odd_lanes[l] = (uint32_t) (l % 2 ? N4 + l : l + 1);
  for (int v = 0; v < 4; v++) {
    S4 number = (S4) (2 * s[v] + (uint32_t) r->add);

    if (power) {
      q[v] = number >> r->log2;
      if (ties)
        q[v] -= q[v] & 1 & (S4) ((number & mask) == 0);
    } else if (scaled)
      q[v] = __builtin_convertvector (__builtin_convertvector ((S4) s[v], Float4) * r->scale + r->offset, S4);
    else {
      U4 u = (U4) (number & ~(number >> 31)), quotient;

      quotient = shuffle4 ((U4) multiply_even (u, magic), (U4) multiply_even ((U8) u >> 32, magic), odd_lanes);
      quotient >>= r->shift;
      q[v] = (S4) (ties ? quotient - (quotient & 1 & (U4) (quotient * d2 == u)) : quotient);
    }
  }
  N (store4) (q, p, n, r->max, keep, out);
}

ALWAYS_INLINE void
N (vertical16_body) (const CfTap *rows, int h, int n, const CfRounding *r, const CfKeep *keep, T *out, bool power,
    bool ties, CfWeights weights, bool lanes)
{
  U2 max = (U2) { 0 } + (uint16_t) r->max, d = (U2) { 0 } + (uint16_t) (r->d2 / 2);
  U2 magic = (U2) { 0 } + (uint16_t) r->magic16, add = (U2) { 0 } + (uint16_t) (r->add / 2);
  int shift = power ? r->log2 - 1 : r->shift16;

  for (int p = 0; p < n; p += 4 * N2) {
    U2 s[4];
    T block[4 * N2];
    T *to = n - p < 4 * N2 ? block : out + p;

    for (int v = 0; v < 4; v++)
      s[v] = add;
    for (int v = 0; weights == PIXELS && v < 4; v++) {
      const uint16_t *x = (const uint16_t *) rows[0].data + p + v * N2;

      for (int j = 0; j < h; j++)
        s[v] += (U2) following (x, 2 * j);
    }
    for (int j = 0; weights != PIXELS && j < h; j++) {
      const uint16_t *x = (const uint16_t *) rows[j].data + p;
      int c = weights == ONES ? 1 : weights == ONE_TWO_ONE ? 1 + j % 2 : rows[j].weight[0];
      U2 weight = (U2) { 0 } + (uint16_t) c;

      for (int v = 0; v < 4; v++)
        s[v] += *(const U2u *) (const void *) (x + v * N2) * weight;
    }
    for (int v = 0; v < 4; v++) {
      U2 q = (power ? s[v] : multiply_high (s[v], magic)) >> shift;

      s[v] = minimum2 (ties ? q - (q & 1 & (U2) (q * d == s[v])) : q, max);
    }
    for (int v = 0; v < 4; v += 2)
      N (store2) (to + v * N2, s + v, to == block ? 0 : keep->mask, keep->src + p + v * N2, lanes);
    if (to == block)
      N (store_tail) (out + p, block, n - p, keep, p);
  }
}

static void
N (vertical16) (const CfTap *rows, int h, int n, const CfRounding *r, const CfKeep *keep, void *out)
{
  bool ones = true;

  for (int j = 0; j < h; j++)
    ones = ones && rows[j].weight[0] == 1;
  if (r->ties)
    N (vertical16_body) (rows, h, n, r, keep, out, r->log2 >= 0, true, ANY, false);
  else if (r->log2 >= 0)
    N (vertical16_body) (rows, h, n, r, keep, out, true, false, ANY, false);
  else if (ones && h == 5 && are_neighbours (rows, 8))
    N (vertical16_body) (rows, 5, n, r, keep, out, false, false, PIXELS, false);
  else if (ones && h == 3)
    N (vertical16_body) (rows, 3, n, r, keep, out, false, false, ONES, false);
  else if (ones)
    N (vertical16_body) (rows, h, n, r, keep, out, false, false, ONES, false);
  else
    N (vertical16_body) (rows, h, n, r, keep, out, false, false, ANY, false);
}

#define COLUMN(name, C) \
  static void N (name) (const void *add_, const void *sub_, int n, C *restrict column) \
  { \
    const T *restrict add = add_, *restrict sub = sub_; \
\
    if (sub) \
      for (int i = 0; i < n; i++) \
        column[i] = (C) (column[i] + add[i] - sub[i]); \
    else \
      for (int i = 0; i < n; i++) \
        column[i] = (C) (column[i] + add[i]); \
  }

COLUMN (update_columns16, uint16_t)
COLUMN (update_columns32, uint32_t)
#undef COLUMN

static void
N (between) (const uint32_t *restrict a, const uint32_t *restrict b, uint32_t f, int n, int shift, void *out_)
{
  T *restrict out = out_;

  for (int i = 0; i < n; i++)
    out[i] = (T) (((256 - f) * a[i] + f * b[i] + 32768) >> 16 << shift);
}

/* gx = -m 0 m; -middle 0 middle; -m 0 m, gy its transpose. r is the integer nearest to the exact root. At 8 bit the
 * float root is a first estimate that is corrected; above, a double is precise enough (the exact root is more than
 * 2^-24 away from any integer plus 1/2). */
static void
N (gradient) (const void *const row[3], int step, int n, int m, int middle, int32_t *scratch, int32_t *restrict r)
{
  const T *restrict a = row[0], *restrict b = row[1], *restrict c = row[2];
  G *restrict smooth = (G *) scratch, *restrict slope = smooth + n + 2 * step;

  for (int i = 0; i < n + 2 * step; i++) {
    smooth[i] = (G) (m * (a[i] + c[i]) + middle * b[i]);
    slope[i] = (G) (c[i] - a[i]);
  }
  for (int i = 0; i < n; i++) {
    int32_t gx = smooth[i + 2 * step] - smooth[i];
    int32_t gy = m * (slope[i] + slope[i + 2 * step]) + middle * slope[i + step];
#if SIZE == 1
    int32_t square = gx * gx + gy * gy, root = (int32_t) (__builtin_sqrtf ((float) square) + 0.5f);

    root -= (root * root - root >= square) & (root > 0);
    r[i] = root + (root * root + root < square);
#else
    r[i] = (int32_t) (__builtin_sqrt ((double) gx * gx + (double) gy * gy) + 0.5);
#endif
  }
}

/* ---- rounding ----------------------------------------------------------- */

ALWAYS_INLINE void
N (round32_body) (const int32_t *s, int n, const CfRounding *r, T *out, bool power, bool ties, bool scaled)
{
  const CfKeep none = { 0 };

  for (int p = 0; p < n; p += 4 * N4) {
    U4 sum[4];

    for (int v = 0; v < 4; v++)
      sum[v] = *(const U4u *) (const void *) (s + p + v * N4);
    N (round_store) (sum, p, n, r, &none, out, power, ties, scaled);
  }
}

static void
N (round32) (const int32_t *s, int n, const CfRounding *r, void *out)
{
  EACH_ROUNDING (r, N (round32_body), s, n, r, out)
}

/* The estimate q is off by one at most before the correction: q is far below 2^52. */
static void
N (round64) (const int64_t *restrict s, int n, const CfRounding *r, void *out_)
{
  T *restrict out = out_;
  const int64_t add = r->add, d2 = r->d2, top = r->top, odd = r->ties;

  if (r->log2 >= 0)
    for (int i = 0; i < n; i++) {
      int64_t v = 2 * s[i] + add, q;

      v = v < 0 ? 0 : v > top ? top : v;
      q = v >> r->log2;
      out[i] = (T) (q - ((v & (d2 - 1)) == 0 ? q & odd : 0));
    }
  else
    for (int i = 0; i < n; i++) {
      int64_t v = 2 * s[i] + add, q, rem;

      v = v < 0 ? 0 : v > top ? top : v;
      q = (int64_t) ((double) v * r->inverse);
      rem = v - q * d2;
      q += (rem >= d2) - (rem < 0);
      out[i] = (T) (q - (q * d2 == v ? q & odd : 0));
    }
}

static inline void
N (unsharp_reduced_body) (const int32_t *s, const T *x, int n, const CfRounding *r, T *out, bool once)
{

  const CfKeep none = { 0 };

  for (int p = 0; p < n; p += 4 * N4) {
    S4 q[4];

    for (int v = 0; v < 4; v++) {
      /* unsigned: behind the end of the row are any values, whose results may wrap and are not stored */
      U4 in = N (load4) (x + p + v * N4);
      U4 change = (in << r->log2_d) - *(const U4u *) (const void *) (s + p + v * N4);

      change = (once ? change : change * (uint32_t) r->gain) + (uint32_t) r->add_reduced;
      q[v] = (S4) (in + (U4) ((S4) change >> r->log2_reduced));
    }
    N (store4) (q, p, n, r->max, &none, out);
  }
}

static void
N (unsharp_reduced) (const int32_t *s, const void *x, int n, const CfRounding *r, void *out)
{
  if (r->gain == 1)
    N (unsharp_reduced_body) (s, x, n, r, out, true);
  else
    N (unsharp_reduced_body) (s, x, n, r, out, false);
}

static void
N (unsharp64) (const int64_t *restrict s, const void *x_, int n, const CfRounding *r, void *out_)
{
  const T *restrict x = x_;
  T *restrict out = out_;
  int64_t top = r->top, amount = r->amount, x_factor = r->d2 + amount * (r->d2 / 256), add = r->add;

  for (int i = 0; i < n; i++) {
    int64_t v = x_factor * x[i] - amount * s[i] + add;

    v = v < 0 ? 0 : v > top ? top : v;
    out[i] = (T) (v >> r->log2);
  }
}
