/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/cpu/lanes.h: loops that work in lanes of 16 bytes: separable kernels on 8-bit samples, all in 16 bits, and
 * on 16-bit samples by products of pairs. Included by simd.c. */

/* ---- sums of 8 bit in 16 bits, by lanes ---------------------------------- */

#ifdef NO_BYTE_LANES
#define horizontal_bytes horizontal16_1
#define vertical_bytes vertical16_1
#define horizontal16_bytes horizontal16_1
#else
/* Fills the shuffles that restore the order of two vectors that were interleaved by lanes: `lower` picks the first
 * half of the elements, `upper` the second. */
static inline void
lane_order (U8 *lower, U8 *upper)
{
  for (int i = 0; i < N8; i++) {
    (*lower)[i] = (uint64_t) (i / 4 * 2 + i % 2 + i / 2 % 2 * N8);
    (*upper)[i] = (*lower)[i] + N8 / 2;
  }
}

/* Returns whether all weights are signed bytes and signed 16 bits hold the sum of two neighbouring products. */
static bool
fit_bytes (const int32_t *c, int w)
{
  for (int i = 0; i < w; i++)
    if (c[i] > 127 || c[i] < -127 || (i + 1 < w && abs (c[i]) + abs (c[i + 1]) > 128))
      return false;
  return true;
}

static inline void
horizontal_bytes_body (const uint8_t *x, int w, int step, const int32_t *c, bool bytes, int n, uint16_t *sums,
    bool in_order)
{
  U8 lower, upper;

  lane_order (&lower, &upper);
  for (int p = 0; p < n; p += V_SIZE) {
    U2 low = { 0 }, high = { 0 }, zero = { 0 };
    int i = 0;

    for (; bytes && i + 1 < w; i += 2) {
      U4 a = *(const U4u *) (const void *) (x + p + i * step);
      U4 b = *(const U4u *) (const void *) (x + p + (i + 1) * step);
      U2 weight = (U2) { 0 } + (uint16_t) ((c[i] & 0xff) | (uint32_t) c[i + 1] << 8);

      keep_in_register (a);
      keep_in_register (b);
      low += multiply_bytes (interleave_low (a, b), weight);
      high += multiply_bytes (interleave_high (a, b), weight);
    }
    for (; i < w; i++) {
      U4 a = *(const U4u *) (const void *) (x + p + i * step);
      U2 weight = (U2) { 0 } + (uint16_t) c[i];

      low += interleave_low (a, zero) * weight;
      high += interleave_high (a, zero) * weight;
    }
    in_order = in_order && V_SIZE > 16;
    *(U2u *) (void *) (sums + p) = in_order ? (U2) shuffle8 ((U8) low, (U8) high, lower) : low;
    *(U2u *) (void *) (sums + p + N2) = in_order ? (U2) shuffle8 ((U8) low, (U8) high, upper) : high;
  }
}

static void
horizontal_bytes (const void *row, int w, int step, const int32_t *c, bool symmetric, int n, uint16_t *sums)
{
  (void) symmetric;
  if (w == 3 && c[0] == 1 && c[1] == 2 && c[2] == 1)
    horizontal_bytes_body (row, 3, step, (const int32_t[]) { 1, 2, 1 }, true, n, sums, false);
  else if (w == 5 && fit_bytes (c, w))
    horizontal_bytes_body (row, 5, step, c, true, n, sums, false);
  else
    horizontal_bytes_body (row, w, step, c, fit_bytes (c, w), n, sums, false);
}

/* As horizontal16, whose sums are in the order of samples. */
static void
horizontal16_bytes (const void *row, int w, int step, const int32_t *c, bool symmetric, int n, uint16_t *sums)
{
  if (fit_bytes (c, w) && w == 7)
    horizontal_bytes_body (row, 7, step, c, true, n, sums, true);
  else if (fit_bytes (c, w) && w > 3)
    horizontal_bytes_body (row, w, step, c, true, n, sums, true);
  else
    horizontal16_1 (row, w, step, c, symmetric, n, sums);
}

static void
vertical_bytes (const CfTap *rows, int h, int n, const CfRounding *r, const CfKeep *keep, void *out)
{
  if (r->ties)
    vertical16_body_1 (rows, h, n, r, keep, out, r->log2 >= 0, true, ANY, true);
  else if (h == 3 && r->log2 >= 0 && rows[0].weight[0] == 1 && rows[1].weight[0] == 2 && rows[2].weight[0] == 1)
    vertical16_body_1 (rows, 3, n, r, keep, out, true, false, ONE_TWO_ONE, true);
  else
    vertical16_body_1 (rows, h, n, r, keep, out, r->log2 >= 0, false, ANY, true);
}

/* ---- 3 x 3 and 5 x 5, 8 bit: both passes in registers ---------------------- */

/* Makes two vectors of horizontal sums. Pairs of neighbours that lie side by side need no interleaving: with `step` 1
 * the first vector has the sums of even samples, the second those of odd ones. */
ALWAYS_INLINE void
small_sums (const uint8_t *x, int size, int step, bool ones, U2 s[2])
{
  static const uint8_t weights[][CF_SMALL_SIZE + 2] = { { 0, 1, 1, 1, 1, 1 }, { 0, 1, 2, 1 }, { 0, 1, 4, 6, 4, 1 } };
  const uint8_t *c = weights[ones ? 0 : size / 2];

  s[0] = s[1] = (U2) { 0 };
#pragma GCC unroll 3
  for (int i = 0; i < size; i += 2) {
    U4 a = *(const U4u *) (const void *) (x + i * step), b = { 0 };
    U2 even = (U2) { 0 } + (uint16_t) (c[i + 1] | c[i + 2] << 8), odd = (U2) { 0 } + (uint16_t) (c[i] | c[i + 1] << 8);

    keep_in_register (a);
    if (step == 1) {
      s[0] += i + 1 < size ? multiply_bytes (a, even) : (U2) a & 255;
      s[1] += i ? multiply_bytes (a, odd) : (U2) a >> 8;
    } else if (i + 1 < size) {
      b = *(const U4u *) (const void *) (x + (i + 1) * step);
      keep_in_register (b);
      s[0] += multiply_bytes (interleave_low (a, b), even);
      s[1] += multiply_bytes (interleave_high (a, b), even);
    } else {
      s[0] += interleave_low (a, b);
      s[1] += interleave_high (a, b);
    }
  }
}

/* The weights 1 2 1 and 1 4 6 4 1 are sums of two neighbours, twice or four times over, which rows of outputs share. */
ALWAYS_INLINE void
small_body (const uint8_t *const *rows, int size, int step, int n, const CfRounding *r, const CfKeep *keep,
    uint8_t *const *out, CfSmall kind)
{
  U2 magic = (U2) { 0 } + (uint16_t) r->magic16,
     add = (U2) { 0 } + (uint16_t) (kind == CF_SMALL_SHARPEN ? r->add16 : r->add / 2);
  int shift = kind == CF_SMALL_BOX ? r->shift16 : kind == CF_SMALL_SHARPEN ? r->log2_reduced : r->log2 - 1;

  for (int p = 0; p < n; p += V_SIZE) {
    U2 sums[CF_SMALL_SIZE + CF_SMALL_ROWS - 1][2], before[CF_SMALL_SIZE - 1][2], all[2] = { add, add };

#pragma GCC unroll 16
    for (int j = 0; j < size + CF_SMALL_ROWS - 1; j++) {
      int o = j - size + 1;
      U2 q[2];
      U4 bytes;

      small_sums (rows[j] + p, size, step, kind == CF_SMALL_BOX, sums[j]);
#pragma GCC unroll 2
      for (int v = 0; v < 2; v++) {
        U2 s = sums[j][v], other;

        if (kind == CF_SMALL_BOX) {
          all[v] += s;
          q[v] = multiply_high (all[v], magic) >> shift;
          if (o >= 0)
            all[v] -= sums[o][v];
          continue;
        }
#pragma GCC unroll 4
        for (int k = 0; k < CF_SMALL_SIZE - 1; k++) {
          other = s;
          if (k < size - 1 && k < j)
            s += before[k][v];
          before[k][v] = other;
        }
        q[v] = ((kind == CF_SMALL_SHARPEN ? s * (uint16_t) r->gain : s) + add) >> shift;
      }
      if (o < 0)
        continue;
      if (kind == CF_SMALL_SHARPEN) {
        U4 x = *(const U4u *) (const void *) (rows[o + size / 2] + p + size / 2 * step);
        U2 zero = { 0 }, gain = zero + (uint16_t) (r->gain + 1);

        q[0] = (step == 1 ? (U2) x & 255 : interleave_low (x, zero)) * gain - q[0];
        q[1] = (step == 1 ? (U2) x >> 8 : interleave_high (x, zero)) * gain - q[1];
      }
      if (step != 1)
        bytes = pack_bytes (q[0], q[1]);
      else if (kind == CF_SMALL_SHARPEN)
        bytes = (U4) interleave_low (pack_bytes (q[0], q[0]), pack_bytes (q[1], q[1]));
      else
        bytes = (U4) (q[0] | q[1] << 8);
      store_bytes (bytes, p, n, &keep[o], out[o]);
    }
  }
}

#define SMALL(name, kind) \
  static void name (const uint8_t *const *rows, int size, int step, int n, const CfRounding *r, const CfKeep *keep, \
      uint8_t *const *out) \
  { \
    if (size == 3 && step == 1) \
      small_body (rows, 3, 1, n, r, keep, out, kind); \
    else if (size == 3) \
      small_body (rows, 3, step, n, r, keep, out, kind); \
    else if (step == 1) \
      small_body (rows, 5, 1, n, r, keep, out, kind); \
    else \
      small_body (rows, 5, step, n, r, keep, out, kind); \
  }

SMALL (small_box, CF_SMALL_BOX)
SMALL (small_binomial, CF_SMALL_BINOMIAL)
SMALL (small_sharpen, CF_SMALL_SHARPEN)
#undef SMALL
#endif

/* ---- separable, 16 bit: products of pairs in both passes ------------------ */

#ifndef NO_BYTE_LANES
static void
horizontal_words (const uint16_t *x, int w, int step, const int32_t *c, int32_t initial, int n, int32_t *sums)
{
  U2 flip = (U2) { 0 } + 0x8000, zero = { 0 };
  U8 lower, upper;

  lane_order (&lower, &upper);
  for (int p = 0; p < n; p += N2) {
    U4 low = (U4) { 0 } + (uint32_t) initial, high = low;

    for (int i = 0; i < w; i += 2) {
      U2 a = *(const U2u *) (const void *) (x + p + i * step) ^ flip;
      U2 b = i + 1 < w ? (U2) (*(const U2u *) (const void *) (x + p + (i + 1) * step) ^ flip) : zero;
      U4 weight = (U4) { 0 } + ((uint32_t) (uint16_t) c[i] | (i + 1 < w ? (uint32_t) c[i + 1] << 16 : 0));

      low += multiply_pairs (words_low (a, b), weight);
      high += multiply_pairs (words_high (a, b), weight);
    }
    *(U4u *) (void *) (sums + p) = (U4) (V_SIZE == 16 ? (U8) low : shuffle8 ((U8) low, (U8) high, lower));
    *(U4u *) (void *) (sums + p + N4) = (U4) (V_SIZE == 16 ? (U8) high : shuffle8 ((U8) low, (U8) high, upper));
  }
}

static void
split_pairs (const int32_t *restrict a, const int32_t *restrict b, int n, uint32_t *restrict upper,
    uint32_t *restrict lower)
{
  for (int i = 0; i < n; i++) {
    uint32_t first = (uint32_t) a[i], second = (uint32_t) b[i];

    upper[i] = first >> 16 | (second & 0xffff0000u);
    lower[i] = ((first & 0xffff) | second << 16) ^ 0x80008000u;
  }
}

/* The lower 16 bits of the sum contribute only a carry. */
static void
halves_out (const int32_t *upper, const int32_t *lower, int n, int64_t offset, const CfRounding *r, const uint16_t *x,
    uint16_t *out)
{
  int64_t all = offset + r->add_halves;
  uint32_t above = (uint32_t) (all >> 16), below = (uint32_t) (all & 0xffff);
  U2 max = (U2) { 0 } + (uint16_t) r->max;

  for (int p = 0; p < n; p += N2) {
    uint16_t block[N2], *to = n - p < N2 ? block : out + p;
    U4 q[2];

    for (int v = 0; v < 2; v++) {
      U4 low = *(const U4u *) (const void *) (lower + p + v * N4);

      q[v] = *(const U4u *) (const void *) (upper + p + v * N4) + above + (U4) ((S4) low >> 16);
      q[v] = (q[v] + (((low & 0xffff) + below) >> 16)) >> (r->log2_halves - 16);
      if (x)
        q[v] = 2 * load4_2 (x + p + v * N4) - q[v];
    }
    *(U2u *) (void *) to = saturate2 ((S4) q[0], (S4) q[1], max);
    if (to == block)
      memcpy (out + p, block, (size_t) (n - p) * sizeof *out);
  }
}
#endif

/* ---- separable, 16 bit: sums of upper and of lower bytes, in 16 bits ------ */

static inline void
horizontal_upper_lower_body (const uint16_t *x, int w, int step, const int32_t *c, bool symmetric, int n,
    uint16_t *sums)
{
  int half = symmetric ? w / 2 : 0;

  for (int p = 0; p < n; p += N2) {
    U2 upper = { 0 }, lower = { 0 };

    for (int i = 0; i < w - half; i++) {
      U2 a = *(const U2u *) (const void *) (x + p + i * step), high, low;
      U2 weight = (U2) { 0 } + (uint16_t) c[i];

      if (w > 3) /* with three taps two loads of each are faster */
        keep_in_register (a);
      high = a >> 8;
      low = a & 255;
      if (i < half) {
        U2 b = *(const U2u *) (const void *) (x + p + (w - 1 - i) * step);

        if (w > 3)
          keep_in_register (b);
        high += b >> 8;
        low += b & 255;
      }
      upper += high * weight;
      lower += low * weight;
    }
    *(U2u *) (void *) (sums + 2 * p) = upper;
    *(U2u *) (void *) (sums + 2 * p + N2) = lower;
  }
}

static void
horizontal_upper_lower (const uint16_t *x, int w, int step, const int32_t *c, bool symmetric, int n, uint16_t *sums)
{
  if (symmetric && w == 3 && c[0] == 1 && c[1] == 2)
    horizontal_upper_lower_body (x, 3, step, (const int32_t[]) { 1, 2, 1 }, true, n, sums);
  else if (symmetric && w == 5)
    horizontal_upper_lower_body (x, 5, step, c, true, n, sums);
  else
    horizontal_upper_lower_body (x, w, step, c, symmetric, n, sums);
}

ALWAYS_INLINE void
vertical_upper_lower_body (const CfTap *rows, int h, int half, int n, const CfRounding *r, const uint16_t *x,
    uint16_t *out, CfWeights weights)
{
  const uint16_t *at[CF_CONVOLVE_LONG]; /* copies: the compiler need not reload them after stores to `out` */
  uint16_t weight_of[CF_CONVOLVE_LONG];
  U2 add = (U2) { 0 } + (uint16_t) r->add_bytes;
  int shift = r->log2_bytes;

  for (int j = 0; j < h; j++) {
    at[j] = rows[j].data;
    weight_of[j] = (uint16_t) (weights == ONE_TWO_ONE ? 1 + j % 2 : rows[j].weight[0]);
  }
  for (int p = 0; p < n; p += N2) {
    U2 upper = { 0 }, lower = add, q;

    for (int j = 0; j < h - half; j++) {
      const U2u *a = (const void *) (at[j] + 2 * p);
      U2 weight = (U2) { 0 } + weight_of[j];
      U2 high = a[0], low = a[1];

      if (j < half) {
        const U2u *b = (const void *) (at[h - 1 - j] + 2 * p);

        high += b[0];
        low += b[1];
      }
      upper += high * weight;
      lower += low * weight;
    }
    q = (upper << (8 - shift)) + (lower >> shift);
    if (x) {
      U2 in = *(const U2u *) (const void *) (x + p), least = minimum2 (in, q), excess = in - least;

      /* x + (x - q), saturated: x > q adds the difference up to 65535, x < q subtracts it down to 0 */
      in += minimum2 (excess, ~in);
      q -= least;
      q = in - minimum2 (in, q);
    }
    if (n - p < N2) {
      uint16_t block[N2];

      *(U2u *) (void *) block = q;
      memcpy (out + p, block, (size_t) (n - p) * sizeof *out);
      return;
    }
    *(U2u *) (void *) (out + p) = q;
  }
}

static void
vertical_upper_lower (const CfTap *rows, int h, int n, const CfRounding *r, const uint16_t *x, uint16_t *out)
{
  int half = symmetric_rows (rows, h);

  if (h == 3 && half && rows[0].weight[0] == 1 && rows[1].weight[0] == 2 && !x)
    vertical_upper_lower_body (rows, 3, 1, n, r, NULL, out, ONE_TWO_ONE);
  else if (h == 5 && half && !x)
    vertical_upper_lower_body (rows, 5, 2, n, r, NULL, out, ANY);
  else if (h == 5 && half)
    vertical_upper_lower_body (rows, 5, 2, n, r, x, out, ANY);
  else
    vertical_upper_lower_body (rows, h, half, n, r, x, out, ANY);
}
