/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convolve_simd.c: the convolution's inner loops for the instruction set that
 * this compilation is for (CF_ISA); convolve_simd.h says what they do.
 *
 * Vectors are the compiler's own, V_SIZE bytes long, and what it turns into
 * vectors well by itself is left as plain loops. What it does not find there:
 *   multiply_pairs  two products of signed 16 bits, and their sum of 32
 *   multiply_high   the upper half of a product of 16 bits
 *   multiply_even   products of 64 bits of every other number of 32
 *   minimum2        the smaller of two numbers of 16 bits */
#include "convolve_simd.h"

#include <string.h>

#ifndef CF_ISA
#define CF_ISA baseline
#endif

#if defined __AVX512BW__
#include <immintrin.h>
#define V_SIZE 64
#define multiply_pairs(a, b) ((U4) _mm512_madd_epi16 ((__m512i) (a), (__m512i) (b)))
#define multiply_high(a, b) ((U2) _mm512_mulhi_epu16 ((__m512i) (a), (__m512i) (b)))
#define multiply_even(a, b) ((U8) _mm512_mul_epu32 ((__m512i) (a), (__m512i) (b)))
#define minimum2(a, b) ((U2) _mm512_min_epu16 ((__m512i) (a), (__m512i) (b)))
#elif defined __AVX2__
#include <immintrin.h>
#define V_SIZE 32
#define multiply_pairs(a, b) ((U4) _mm256_madd_epi16 ((__m256i) (a), (__m256i) (b)))
#define multiply_high(a, b) ((U2) _mm256_mulhi_epu16 ((__m256i) (a), (__m256i) (b)))
#define multiply_even(a, b) ((U8) _mm256_mul_epu32 ((__m256i) (a), (__m256i) (b)))
#define minimum2(a, b) ((U2) _mm256_min_epu16 ((__m256i) (a), (__m256i) (b)))
#elif defined __SSE2__
#include <emmintrin.h>
#define V_SIZE 16
#define multiply_pairs(a, b) ((U4) _mm_madd_epi16 ((__m128i) (a), (__m128i) (b)))
#define multiply_high(a, b) ((U2) _mm_mulhi_epu16 ((__m128i) (a), (__m128i) (b)))
#define multiply_even(a, b) ((U8) _mm_mul_epu32 ((__m128i) (a), (__m128i) (b)))
#define minimum2(a, b) ((U2) _mm_sub_epi16 ((__m128i) (a), _mm_subs_epu16 ((__m128i) (a), (__m128i) (b))))
#else
#define V_SIZE 16
#define multiply_pairs(a, b) \
  ((U4) ((((S4) (a) << 16) >> 16) * (((S4) (b) << 16) >> 16) + ((S4) (a) >> 16) * ((S4) (b) >> 16)))
#define multiply_high(a, b) \
  __builtin_convertvector (__builtin_convertvector (a, Double4) * __builtin_convertvector (b, Double4) >> 16, U2)
#define multiply_even(a, b) (((U8) (a) & 0xffffffffu) * ((U8) (b) & 0xffffffffu))
#define minimum2(a, b) (((a) & (U2) ((a) < (b))) | ((b) & (U2) ((a) >= (b))))
#endif

/* The numbers in them; u: anywhere in memory; Half, Quarter: as many as are in
 * a vector of twice, four times their size. */
typedef uint16_t U2 __attribute__ ((vector_size (V_SIZE)));
typedef uint32_t U4 __attribute__ ((vector_size (V_SIZE)));
typedef int32_t S4 __attribute__ ((vector_size (V_SIZE)));
typedef uint64_t U8 __attribute__ ((vector_size (V_SIZE)));
typedef U2 U2u __attribute__ ((aligned (1), may_alias));
typedef U4 U4u __attribute__ ((aligned (1), may_alias));
typedef U8 U8u __attribute__ ((aligned (1), may_alias));
typedef uint8_t Half1 __attribute__ ((vector_size (V_SIZE / 2), aligned (1), may_alias));
typedef uint8_t Quarter1 __attribute__ ((vector_size (V_SIZE / 4), aligned (1), may_alias));
typedef uint16_t Half2 __attribute__ ((vector_size (V_SIZE / 2), aligned (1), may_alias));
typedef uint32_t Double4 __attribute__ ((vector_size (2 * V_SIZE)));

#define N2 (V_SIZE / 2)
#define N4 (V_SIZE / 4)
#define N8 (V_SIZE / 8)

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_ (a, b)
#define N(name) GLUE (name##_, SIZE)

/* ---- rows of 1 and 2 bytes; G holds what their gradients need ------------ */

#define SIZE 1
#define T uint8_t
#define G int16_t
#include "convolve_rows.h"
#undef SIZE
#undef T
#undef G

#define SIZE 2
#define T uint16_t
#define G int32_t
#include "convolve_rows.h"
#undef SIZE
#undef T
#undef G

/* ---- colour of 8 bit ----------------------------------------------------- */

static inline void
gray_by (const uint8_t *restrict r, const uint8_t *restrict g, const uint8_t *restrict b, int step, int n,
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
  if (step == 1)
    gray_by (from[0], from[1], from[2], 1, n, row, luma);
  else if (step == 3)
    gray_by (from[0], from[1], from[2], 3, n, row, luma);
  else
    gray_by (from[0], from[1], from[2], 4, n, row, luma);
}

static void
blend (uint8_t *to, const uint8_t *from, uint32_t keep, int n, const uint8_t *row)
{
  for (int i = 0; i < n; i++) {
    uint32_t old, pixel;

    memcpy (&old, from + 4 * i, 4);
    memcpy (&pixel, row + 4 * i, 4);
    pixel = (old & keep) | (pixel & ~keep);
    memcpy (to + 4 * i, &pixel, 4);
  }
}

static void
spread (uint8_t *to, const uint8_t *from, uint32_t keep, int n, const uint8_t *row)
{
  for (int i = 0; i < n; i++) {
    uint32_t old, pixel = row[i] * 0x01010101u;

    memcpy (&old, from + 4 * i, 4);
    pixel = (old & keep) | (pixel & ~keep);
    memcpy (to + 4 * i, &pixel, 4);
  }
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

/* Two rows share what is loaded, which costs more than to multiply: most loads
 * cross a cache line. */
static void
products (const CfPairTap *taps, int n_taps, int n, int32_t start, int32_t *const high[2], int32_t *const s[2])
{
  for (int p = 0; p < n; p += 4 * N4) {
    U4 first[4], second[4];

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

        first[v] += multiply_pairs (x, for_first);
        second[v] += multiply_pairs (x, for_second);
      }
    }
    for (int v = 0; v < 4; v++) {
      *(U4u *) (void *) (s[0] + p + v * N4) = first[v];
      *(U4u *) (void *) (s[1] + p + v * N4) = second[v];
    }
  }
}

static void
combine (const int32_t *restrict upper, const int32_t *restrict lower, int n, int64_t *restrict s)
{
  for (int i = 0; i < n; i++)
    s[i] = (int64_t) upper[i] * 256 + lower[i];
}

static void
widen (const int32_t *restrict s32, int n, int64_t *restrict s)
{
  for (int i = 0; i < n; i++)
    s[i] = s32[i];
}

/* ---- separable ----------------------------------------------------------- */

static void
down32 (const CfTap *rows, int h, int n, int32_t *s)
{
  int half = h / 2;

  /* rows that weigh the same are added first */
  for (int j = 0; j < h / 2; j++)
    if (rows[j].weight != rows[h - 1 - j].weight)
      half = 0;
  for (int p = 0; p < n; p += 4 * N4) {
    U4 sum[4] = { { 0 } };

    for (int j = 0; j < half; j++) {
      const uint32_t *x = (const uint32_t *) rows[j].at + p, *y = (const uint32_t *) rows[h - 1 - j].at + p;
      U4 weight = (U4) { 0 } + (uint32_t) rows[j].weight;

      for (int v = 0; v < 4; v++)
        sum[v] += (*(const U4u *) (const void *) (x + v * N4) + *(const U4u *) (const void *) (y + v * N4)) * weight;
    }
    for (int j = half; j < h - half; j++) {
      const uint32_t *x = (const uint32_t *) rows[j].at + p;
      U4 weight = (U4) { 0 } + (uint32_t) rows[j].weight;

      for (int v = 0; v < 4; v++)
        sum[v] += *(const U4u *) (const void *) (x + v * N4) * weight;
    }
    for (int v = 0; v < 4; v++)
      *(U4u *) (void *) (s + p + v * N4) = sum[v];
  }
}

static void
down64_unsigned (const CfTap *rows, int h, int n, int64_t *s)
{
  U8 lower, upper; /* which of even and odd sums stand in a vector of both */

  for (int i = 0; i < N8; i++) {
    lower[i] = (uint64_t) (i / 2 + i % 2 * N8);
    upper[i] = lower[i] + N8 / 2;
  }
  for (int p = 0; p < n; p += 2 * N4) {
    U8 even[2] = { { 0 } }, odd[2] = { { 0 } };

    for (int j = 0; j < h; j++) {
      const uint32_t *x = (const uint32_t *) rows[j].at + p;
      U4 weight = (U4) { 0 } + (uint32_t) rows[j].weight;

      for (int v = 0; v < 2; v++) {
        U4 sums = *(const U4u *) (const void *) (x + v * N4);

        even[v] += multiply_even (sums, weight);
        odd[v] += multiply_even ((U8) sums >> 32, weight);
      }
    }
    for (int v = 0; v < 2; v++) {
      *(U8u *) (void *) (s + p + v * N4) = __builtin_shuffle (even[v], odd[v], lower);
      *(U8u *) (void *) (s + p + v * N4 + N8) = __builtin_shuffle (even[v], odd[v], upper);
    }
  }
}

static void
down64 (const CfTap *rows, int h, int n, bool is_signed, int64_t *restrict s)
{
  if (!is_signed) { /* neither is any weight */
    down64_unsigned (rows, h, n, s);
    return;
  }
  memset (s, 0, (size_t) n * sizeof *s);
  for (int j = 0; j < h; j++) {
    int32_t weight = rows[j].weight;
    const int32_t *restrict x = rows[j].at;

    for (int i = 0; i < n; i++)
      s[i] += (int64_t) weight * x[i];
  }
}

/* ---- box ---------------------------------------------------------------- */

static void
twice16 (const uint16_t *restrict from, int shift, int n, void *to, bool wide)
{
  uint16_t *restrict narrow_to = to;
  uint32_t *restrict wide_to = to;

  if (wide)
    for (int i = 0; i < n; i++)
      wide_to[i] = (uint32_t) from[i] + from[i + shift];
  else
    for (int i = 0; i < n; i++)
      narrow_to[i] = (uint16_t) (from[i] + from[i + shift]);
}

static void
twice32 (const uint32_t *restrict from, int shift, int n, uint32_t *restrict to)
{
  for (int i = 0; i < n; i++)
    to[i] = from[i] + from[i + shift];
}

static void
add_levels (const CfTap *narrow, int n_narrow, const CfTap *wide, int n_wide, int n, int32_t *s)
{
  for (int p = 0; p < n; p += 4 * N4) {
    U4 sum[4] = { { 0 } };

    for (int k = 0; k < n_narrow; k++)
      for (int v = 0; v < 4; v++)
        sum[v] += load4_2 ((const uint16_t *) narrow[k].at + p + v * N4);
    for (int k = 0; k < n_wide; k++)
      for (int v = 0; v < 4; v++)
        sum[v] += *(const U4u *) (const void *) ((const uint32_t *) wide[k].at + p + v * N4);
    for (int v = 0; v < 4; v++)
      *(U4u *) (void *) (s + p + v * N4) = sum[v];
  }
}

/* ---- unsharp at 8 bit ---------------------------------------------------- */

/* With S over 2^16 the numerator over 2^24 needs more than 32 bits, but its
 * lowest 8 only ever carry: floor (floor (v / 2^8) / 2^16) = floor (v / 2^24). */
static void
unsharp32 (const int32_t *restrict s, const uint8_t *restrict x, int n, const CfRounding *r, uint8_t *restrict out)
{
  int32_t whole = (256 + r->amount) * 256, amount = r->amount;
  int32_t low = (int32_t) (r->add & 255), high = (int32_t) (r->add >> 8);

  for (int i = 0; i < n; i++) {
    int32_t sum = s[i] << r->up;
    int32_t v = whole * x[i] - amount * (sum >> 8) + ((low - amount * (sum & 255)) >> 8) + high;

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
  .spread = spread,
  .pair = BOTH (pair),
  .pair_bytes = pair_bytes,
  .products = products,
  .wide = BOTH (wide),
  .combine = combine,
  .widen = widen,
  .across16 = BOTH (across16),
  .across32 = BOTH (across32),
  .down32 = down32,
  .down64 = down64,
  .down16 = BOTH (down16),
  .column16 = BOTH (column16),
  .column32 = BOTH (column32),
  .twice16 = twice16,
  .twice32 = twice32,
  .add_levels = add_levels,
  .gradient = BOTH (gradient),
  .round32 = BOTH (round32),
  .round64 = BOTH (round64),
  .unsharp32 = unsharp32,
  .unsharp64 = BOTH (unsharp64),
};
