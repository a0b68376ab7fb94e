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
 *   minimum2        the smaller of two numbers of 16 bits
 *   saturate        four vectors of 32 bits to one of 0 .. 255 */
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

/* By lanes of 16 bytes: bytes (words) interleaved, products of two bytes with signed bytes added up to 16 bits, and 16
 * bits packed to what they were interleaved from. Words are packed in their order. */
#if defined __AVX512BW__
#define interleave_low(a, b) ((U2) _mm512_unpacklo_epi8 ((__m512i) (a), (__m512i) (b)))
#define interleave_high(a, b) ((U2) _mm512_unpackhi_epi8 ((__m512i) (a), (__m512i) (b)))
#define multiply_bytes(a, b) ((U2) _mm512_maddubs_epi16 ((__m512i) (a), (__m512i) (b)))
#define words_low(a, b) ((U4) _mm512_unpacklo_epi16 ((__m512i) (a), (__m512i) (b)))
#define words_high(a, b) ((U4) _mm512_unpackhi_epi16 ((__m512i) (a), (__m512i) (b)))
#define pack_bytes(a, b) ((U4) _mm512_packus_epi16 ((__m512i) (a), (__m512i) (b)))
#define pack_words(a, b) \
  ((U2) _mm512_permutexvar_epi64 (_mm512_setr_epi64 (0, 2, 4, 6, 1, 3, 5, 7), \
      _mm512_packus_epi32 ((__m512i) (a), (__m512i) (b))))
#elif defined __AVX2__
#define interleave_low(a, b) ((U2) _mm256_unpacklo_epi8 ((__m256i) (a), (__m256i) (b)))
#define interleave_high(a, b) ((U2) _mm256_unpackhi_epi8 ((__m256i) (a), (__m256i) (b)))
#define multiply_bytes(a, b) ((U2) _mm256_maddubs_epi16 ((__m256i) (a), (__m256i) (b)))
#define words_low(a, b) ((U4) _mm256_unpacklo_epi16 ((__m256i) (a), (__m256i) (b)))
#define words_high(a, b) ((U4) _mm256_unpackhi_epi16 ((__m256i) (a), (__m256i) (b)))
#define pack_bytes(a, b) ((U4) _mm256_packus_epi16 ((__m256i) (a), (__m256i) (b)))
#define pack_words(a, b) \
  ((U2) _mm256_permute4x64_epi64 (_mm256_packus_epi32 ((__m256i) (a), (__m256i) (b)), 0xd8))
#elif defined __SSE4_1__
#include <smmintrin.h>
#define interleave_low(a, b) ((U2) _mm_unpacklo_epi8 ((__m128i) (a), (__m128i) (b)))
#define interleave_high(a, b) ((U2) _mm_unpackhi_epi8 ((__m128i) (a), (__m128i) (b)))
#define multiply_bytes(a, b) ((U2) _mm_maddubs_epi16 ((__m128i) (a), (__m128i) (b)))
#define words_low(a, b) ((U4) _mm_unpacklo_epi16 ((__m128i) (a), (__m128i) (b)))
#define words_high(a, b) ((U4) _mm_unpackhi_epi16 ((__m128i) (a), (__m128i) (b)))
#define pack_bytes(a, b) ((U4) _mm_packus_epi16 ((__m128i) (a), (__m128i) (b)))
#define pack_words(a, b) ((U2) _mm_packus_epi32 ((__m128i) (a), (__m128i) (b)))
#else
#define NO_BYTES
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
typedef int16_t HalfS2 __attribute__ ((vector_size (V_SIZE / 2)));
typedef uint32_t Half4 __attribute__ ((vector_size (V_SIZE / 2), aligned (1), may_alias));
typedef float Float4 __attribute__ ((vector_size (V_SIZE)));
typedef uint32_t Double4 __attribute__ ((vector_size (2 * V_SIZE)));

static inline U4
saturate (const S4 v[4])
{
#if defined __AVX512BW__
  __m512i low = _mm512_packs_epi32 ((__m512i) v[0], (__m512i) v[1]);
  __m512i high = _mm512_packs_epi32 ((__m512i) v[2], (__m512i) v[3]);

  /* packing goes by lanes of 16 bytes */
  return (U4) _mm512_permutexvar_epi32 (_mm512_setr_epi32 (0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
      _mm512_packus_epi16 (low, high));
#elif defined __AVX2__
  __m256i low = _mm256_packs_epi32 ((__m256i) v[0], (__m256i) v[1]);
  __m256i high = _mm256_packs_epi32 ((__m256i) v[2], (__m256i) v[3]);

  return (U4) _mm256_permutevar8x32_epi32 (_mm256_packus_epi16 (low, high), _mm256_setr_epi32 (0, 4, 1, 5, 2, 6, 3, 7));
#elif defined __SSE2__
  return (U4) _mm_packus_epi16 (_mm_packs_epi32 ((__m128i) v[0], (__m128i) v[1]),
      _mm_packs_epi32 ((__m128i) v[2], (__m128i) v[3]));
#else
  uint8_t bytes[V_SIZE];
  U4 all;

  for (int k = 0; k < 4; k++) {
    S4 q = v[k] & ~(v[k] >> 31);

    q = (q & (S4) (q < 255)) | (255 & (S4) (q >= 255));
    *(Quarter1 *) (void *) (bytes + k * V_SIZE / 4) = __builtin_convertvector (q, Quarter1);
  }
  memcpy (&all, bytes, sizeof all);
  return all;
#endif
}

#define N2 (V_SIZE / 2)
#define N4 (V_SIZE / 4)
#define N8 (V_SIZE / 8)

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_ (a, b)
#define N(name) GLUE (name##_, SIZE)

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

/* Numbers of 16 bits that 8 will hold, in their order. */
static inline U4
pack_in_order (const U2 v[2])
{
#if defined __AVX512BW__
  return (U4) _mm512_permutexvar_epi64 (_mm512_setr_epi64 (0, 2, 4, 6, 1, 3, 5, 7), (__m512i) pack_bytes (v[0], v[1]));
#elif defined __AVX2__
  return (U4) _mm256_permute4x64_epi64 ((__m256i) pack_bytes (v[0], v[1]), 0xd8);
#elif defined pack_bytes
  return pack_bytes (v[0], v[1]);
#else
  Half1 halves[2] = { __builtin_convertvector (v[0], Half1), __builtin_convertvector (v[1], Half1) };
  U4 all;

  memcpy (&all, halves, sizeof all);
  return all;
#endif
}

/* What rows weigh, where it is known beforehand. */
typedef enum { ANY, ONES, ONE_TWO_ONE } CfWeights;

/* ---- rows of 1 and 2 bytes; G holds what their gradients need ------------ */

#define SIZE 1
#define T uint8_t
#define G int16_t
#include "convolve_rows.h"
#undef SIZE
#undef T
#undef G

/* ---- sums of 8 bit in 16 bits, by lanes ---------------------------------- */

#ifdef NO_BYTES
#define across_bytes across16_1
#define down_bytes down16_1
#else
/* Can two neighbours' products be added in 15 bits, and all weights be signed bytes? */
static bool
are_bytes (const int32_t *c, int w)
{
  for (int i = 0; i < w; i++)
    if (c[i] > 127 || (i + 1 < w && c[i] + c[i + 1] > 128))
      return false;
  return true;
}

static inline void
across_bytes_by (const uint8_t *x, int w, int step, const int32_t *c, bool bytes, int n, uint16_t *sums)
{
  for (int p = 0; p < n; p += V_SIZE) {
    U2 low = { 0 }, high = { 0 }, zero = { 0 };
    int i = 0;

    for (; bytes && i + 1 < w; i += 2) {
      U4 a = *(const U4u *) (const void *) (x + p + i * step);
      U4 b = *(const U4u *) (const void *) (x + p + (i + 1) * step);
      U2 weight = (U2) { 0 } + (uint16_t) (c[i] | c[i + 1] << 8);

      low += multiply_bytes (interleave_low (a, b), weight);
      high += multiply_bytes (interleave_high (a, b), weight);
    }
    for (; i < w; i++) {
      U4 a = *(const U4u *) (const void *) (x + p + i * step);
      U2 weight = (U2) { 0 } + (uint16_t) c[i];

      low += interleave_low (a, zero) * weight;
      high += interleave_high (a, zero) * weight;
    }
    *(U2u *) (void *) (sums + p) = low;
    *(U2u *) (void *) (sums + p + N2) = high;
  }
}

static void
across_bytes (const void *row, int w, int step, const int32_t *c, bool even, int n, uint16_t *sums)
{
  (void) even;
  if (w == 3 && c[0] == 1 && c[1] == 2 && c[2] == 1)
    across_bytes_by (row, 3, step, (const int32_t[]) { 1, 2, 1 }, true, n, sums);
  else if (w == 5 && are_bytes (c, w))
    across_bytes_by (row, 5, step, c, true, n, sums);
  else
    across_bytes_by (row, w, step, c, are_bytes (c, w), n, sums);
}

static inline void
down_bytes_by (const CfTap *rows, int h, int n, const CfRounding *r, const CfKeep *keep, uint8_t *out, bool power, bool ties,
    CfWeights weights)
{
  U2 max = (U2) { 0 } + (uint16_t) r->max, d = (U2) { 0 } + (uint16_t) (r->d2 / 2);
  U2 magic = (U2) { 0 } + (uint16_t) r->magic16;
  int shift = power ? r->log2 - 1 : r->shift16;

  for (int p = 0; p < n; p += V_SIZE) {
    U2 s[2];
    U4 bytes;

    for (int v = 0; v < 2; v++)
      s[v] = (U2) { 0 } + (uint16_t) (r->add / 2);
    for (int j = 0; j < h; j++) {
      const uint16_t *x = (const uint16_t *) rows[j].at + p;
      U2 weight = (U2) { 0 } + (uint16_t) (weights == ONE_TWO_ONE ? 1 + j % 2 : rows[j].weight);

      for (int v = 0; v < 2; v++)
        s[v] += *(const U2u *) (const void *) (x + v * N2) * weight;
    }
    for (int v = 0; v < 2; v++) {
      U2 q = (power ? s[v] : multiply_high (s[v], magic)) >> shift;

      if (ties)
        q -= q & 1 & (U2) (q * d == s[v]);
      s[v] = weights == ANY ? minimum2 (q, max) : q;
    }
    bytes = pack_bytes (s[0], s[1]);
    if (n - p < V_SIZE) {
      uint8_t block[V_SIZE];

      memcpy (block, &bytes, V_SIZE);
      store_rest_1 (out + p, block, n - p, keep, p);
      return;
    }
    if (keep->bytes)
      bytes = (bytes & ~keep->bytes) | (*(const U4u *) (const void *) (keep->from + p) & keep->bytes);
    *(U4u *) (void *) (out + p) = bytes;
  }
}

static void
down_bytes (const CfTap *rows, int h, int n, const CfRounding *r, const CfKeep *keep, void *out)
{
  bool binomial = h == 3 && rows[0].weight == 1 && rows[1].weight == 2 && rows[2].weight == 1;

  if (r->ties)
    down_bytes_by (rows, h, n, r, keep, out, r->log2 >= 0, true, ANY);
  else if (r->log2 > 1 && binomial)
    down_bytes_by (rows, 3, n, r, keep, out, true, false, ONE_TWO_ONE);
  else if (r->log2 >= 0 && h == 5)
    down_bytes_by (rows, 5, n, r, keep, out, true, false, ANY);
  else
    down_bytes_by (rows, h, n, r, keep, out, r->log2 >= 0, false, ANY);
}
#endif

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

/* As round32, of sums p .. p + 4 N4 - 1 of a row of n. */
static inline void
round_at (const U4 s[4], int p, int n, const CfRounding *r, const CfKeep *keep, uint8_t *out, bool power, bool ties)
{
  S4 mask = (S4) { 0 } + (int32_t) (power ? (1u << r->log2) - 1 : 0), q[4];
  uint8_t block[V_SIZE];
  U4 bytes;

  for (int v = 0; v < 4; v++) {
    if (power) {
      S4 number = (S4) (2 * s[v] + (uint32_t) r->add);

      q[v] = number >> r->log2;
      if (ties)
        q[v] -= q[v] & 1 & (S4) ((number & mask) == 0);
    } else
      q[v] = __builtin_convertvector (__builtin_convertvector ((S4) s[v], Float4) * r->scale + r->offset, S4);
  }
  bytes = saturate (q);
  if (p + V_SIZE > n) {
    memcpy (block, &bytes, V_SIZE);
    store_rest_1 (out + p, block, n - p, keep, p);
    return;
  }
  if (keep->bytes)
    bytes = (bytes & ~keep->bytes) | (*(const U4u *) (const void *) (keep->from + p) & keep->bytes);
  *(U4u *) (void *) (out + p) = bytes;
}

#define P(name) name##_plain
#define add_pairs(s, a, b) ((s) + multiply_pairs (a, b))
#include "convolve_products.h"
#undef P
#undef add_pairs

#if defined __AVX512BW__
/* Products and sum in one instruction, where the processor has it. */
#pragma GCC push_options
#pragma GCC target("avx512vnni")
#define P(name) name##_vnni
#define add_pairs(s, a, b) ((U4) _mm512_dpwssd_epi32 ((__m512i) (s), (__m512i) (a), (__m512i) (b)))
#include "convolve_products.h"
#undef P
#undef add_pairs
#pragma GCC pop_options
#define HAS_VNNI __builtin_cpu_supports ("avx512vnni")
#else
#define HAS_VNNI 0
#define products_vnni products_plain
#define products_out_vnni products_out_plain
#endif

static void
products (const CfPairTap *taps, int n_taps, int n, int32_t start, int32_t *const high[2], int32_t *const s[2])
{
  if (HAS_VNNI)
    products_vnni (taps, n_taps, n, start, high, s);
  else
    products_plain (taps, n_taps, n, start, high, s);
}

static void
products_out (const CfPairTap *taps, int n_taps, int n, int32_t start, int32_t *const high[2], const CfRounding *r,
    const CfKeep keep[2], uint8_t *const out[2])
{
  if (HAS_VNNI)
    products_out_vnni (taps, n_taps, n, start, high, r, keep, out);
  else
    products_out_plain (taps, n_taps, n, start, high, r, keep, out);
}

static void
combine (const int32_t *restrict upper, const int32_t *restrict lower, int n, int factor, int64_t more,
    int64_t *restrict s)
{
  for (int i = 0; i < n; i++)
    s[i] = (int64_t) upper[i] * factor + lower[i] + more;
}

static void
widen (const int32_t *restrict s32, int n, int64_t *restrict s)
{
  for (int i = 0; i < n; i++)
    s[i] = s32[i];
}

/* Two vectors of sums to one of samples of 10 or 16 bit. */
static inline U2
saturate2 (S4 a, S4 b, U2 max)
{
#ifdef pack_words
  return minimum2 (pack_words (a, b), max);
#else
  Half2 halves[2];
  S4 both[2] = { a, b };
  U2 all;

  for (int v = 0; v < 2; v++) {
    S4 q = both[v] & ~(both[v] >> 31);

    halves[v] = __builtin_convertvector ((q & (S4) (q < 65535)) | (65535 & (S4) (q >= 65535)), Half2);
  }
  memcpy (&all, halves, sizeof all);
  return minimum2 (all, max);
#endif
}

/* As round32 to samples of 2 bytes, of sums p .. p + 4 N4 - 1 of a row of n. */
static inline void
round2_at (const U4 s[4], int p, int n, const CfRounding *r, uint16_t *out, bool power, bool ties)
{
  S4 mask = (S4) { 0 } + (int32_t) (power ? (1u << r->log2) - 1 : 0), q[4];
  U4 magic = (U4) { 0 } + r->magic, d2 = (U4) { 0 } + (uint32_t) r->d2;
  U8 upper = (U8) { 0 } + 0xffffffff00000000u;
  U2 max = (U2) { 0 } + (uint16_t) r->max;
  uint16_t block[4 * N4], *to = n - p < 4 * N4 ? block : out + p;

  for (int v = 0; v < 4; v++) {
    S4 number = (S4) (2 * s[v] + (uint32_t) r->add);

    if (power) {
      q[v] = number >> r->log2;
      if (ties)
        q[v] -= q[v] & 1 & (S4) ((number & mask) == 0);
    } else {
      U4 u = (U4) (number & ~(number >> 31)), quotient;

      quotient = (U4) (multiply_even (u, magic) >> 32 | (multiply_even ((U8) u >> 32, magic) & upper)) >> r->shift;
      q[v] = (S4) (ties ? quotient - (quotient & 1 & (U4) (quotient * d2 == u)) : quotient);
    }
  }
  for (int v = 0; v < 2; v++)
    *(U2u *) (void *) (to + v * N2) = saturate2 (q[2 * v], q[2 * v + 1], max);
  if (to == block)
    memcpy (out + p, block, (size_t) (n - p) * sizeof *out);
}

/* ---- separable, of words: products of pairs across as well -------------- */

#ifndef NO_BYTES
static inline void
across_words_by (const uint16_t *x, int w, int step, const int32_t *c, int32_t start, int n, int32_t *sums)
{
  U2 flip = (U2) { 0 } + 0x8000, zero = { 0 };
  U8 lower, upper; /* lanes in the order of samples */

  for (int i = 0; i < N8; i++) {
    lower[i] = (uint64_t) (i / 4 * 2 + i % 2 + i / 2 % 2 * N8);
    upper[i] = lower[i] + N8 / 2;
  }
  for (int p = 0; p < n; p += N2) {
    U4 low = (U4) { 0 } + (uint32_t) start, high = low;

    for (int i = 0; i < w; i += 2) {
      U2 a = *(const U2u *) (const void *) (x + p + i * step) ^ flip;
      U2 b = i + 1 < w ? (U2) (*(const U2u *) (const void *) (x + p + (i + 1) * step) ^ flip) : zero;
      U4 weight = (U4) { 0 } + ((uint32_t) (uint16_t) c[i] | (i + 1 < w ? (uint32_t) c[i + 1] << 16 : 0));

      low += multiply_pairs (words_low (a, b), weight);
      high += multiply_pairs (words_high (a, b), weight);
    }
    *(U4u *) (void *) (sums + p) = (U4) (V_SIZE == 16 ? (U8) low : __builtin_shuffle ((U8) low, (U8) high, lower));
    *(U4u *) (void *) (sums + p + N4) =
        (U4) (V_SIZE == 16 ? (U8) high : __builtin_shuffle ((U8) low, (U8) high, upper));
  }
}

static void
across_words (const uint16_t *x, int w, int step, const int32_t *c, int32_t start, int n, int32_t *sums)
{
  if (w == 3)
    across_words_by (x, 3, step, c, start, n, sums);
  else if (w == 5)
    across_words_by (x, 5, step, c, start, n, sums);
  else
    across_words_by (x, w, step, c, start, n, sums);
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

/* What stands below 2^16 only carries. */
static void
halves_out (const int32_t *upper, const int32_t *lower, int n, int64_t more, const CfRounding *r, uint16_t *out)
{
  int64_t all = more + (r->add >> 1);
  uint32_t above = (uint32_t) (all >> 16), below = (uint32_t) (all & 0xffff);
  U2 max = (U2) { 0 } + (uint16_t) r->max;

  for (int p = 0; p < n; p += N2) {
    uint16_t block[N2], *to = n - p < N2 ? block : out + p;
    U4 q[2];

    for (int v = 0; v < 2; v++) {
      U4 low = *(const U4u *) (const void *) (lower + p + v * N4);

      q[v] = *(const U4u *) (const void *) (upper + p + v * N4) + above + (U4) ((S4) low >> 16);
      q[v] = (q[v] + (((low & 0xffff) + below) >> 16)) >> (r->log2 - 17);
    }
    *(U2u *) (void *) to = saturate2 ((S4) q[0], (S4) q[1], max);
    if (to == block)
      memcpy (out + p, block, (size_t) (n - p) * sizeof *out);
  }
}
#endif

/* ---- separable ----------------------------------------------------------- */

/* Rows that weigh the same are added first: which are those? */
static int
same_rows (const CfTap *rows, int h)
{
  for (int j = 0; j < h / 2; j++)
    if (rows[j].weight != rows[h - 1 - j].weight)
      return 0;
  return h / 2;
}

static inline void
down32_at (const CfTap *rows, int h, int half, int p, U4 sum[4], CfWeights weights)
{
  for (int v = 0; v < 4; v++)
    sum[v] = (U4) { 0 };
  for (int j = 0; j < half; j++) {
    const uint32_t *x = (const uint32_t *) rows[j].at + p, *y = (const uint32_t *) rows[h - 1 - j].at + p;
    U4 weight = (U4) { 0 } + (uint32_t) (weights == ONE_TWO_ONE ? 1 : rows[j].weight);

    for (int v = 0; v < 4; v++)
      sum[v] += (*(const U4u *) (const void *) (x + v * N4) + *(const U4u *) (const void *) (y + v * N4)) * weight;
  }
  for (int j = half; j < h - half; j++) {
    const uint32_t *x = (const uint32_t *) rows[j].at + p;
    U4 weight = (U4) { 0 } + (uint32_t) (weights == ONE_TWO_ONE ? 2 : rows[j].weight);

    for (int v = 0; v < 4; v++)
      sum[v] += *(const U4u *) (const void *) (x + v * N4) * weight;
  }
}

static inline void
down32_out_by (const CfTap *rows, int h, int half, int n, const CfRounding *r, uint16_t *out, bool power, bool ties,
    CfWeights weights)
{
  for (int p = 0; p < n; p += 4 * N4) {
    U4 sum[4];

    down32_at (rows, h, half, p, sum, weights);
    round2_at (sum, p, n, r, out, power, ties);
  }
}

static void
down32_out (const CfTap *rows, int h, int n, const CfRounding *r, uint16_t *out)
{
  int half = same_rows (rows, h);
  bool binomial = h == 3 && half && rows[0].weight == 1 && rows[1].weight == 2;

  if (r->ties)
    down32_out_by (rows, h, half, n, r, out, r->log2 >= 0, true, ANY);
  else if (r->log2 >= 0 && binomial)
    down32_out_by (rows, 3, 1, n, r, out, true, false, ONE_TWO_ONE);
  else
    down32_out_by (rows, h, half, n, r, out, r->log2 >= 0, false, ANY);
}

static void
down32 (const CfTap *rows, int h, int n, int32_t *s)
{
  int half = same_rows (rows, h);

  for (int p = 0; p < n; p += 4 * N4) {
    U4 sum[4];

    down32_at (rows, h, half, p, sum, ANY);
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

#if N4 == 16
#define LANES(f) { f (0), f (1), f (2), f (3), f (4), f (5), f (6), f (7), f (8), f (9), f (10), f (11), f (12), \
  f (13), f (14), f (15) }
#elif N4 == 8
#define LANES(f) { f (0), f (1), f (2), f (3), f (4), f (5), f (6), f (7) }
#else
#define LANES(f) { f (0), f (1), f (2), f (3) }
#endif
#define UP(l) ((l) < by ? (l) : N4 + (l) - by)
#define LAST(l) (N4 - step + (l) % step)

/* x[l - by], 0 where there is none */
static inline U4
moved_up (U4 x, int by)
{
  return __builtin_shuffle ((U4) { 0 }, x, (U4) LANES (UP));
}

/* The sums of a vector's differences, each of all lanes of its channel up to
 * it, take log (N4 / step) additions; what came before is added in the end. */
static inline void
scan_by (const uint16_t *column, int w, int step, int n, int32_t *s, const CfRounding *r, const CfKeep *keep,
    uint8_t *out)
{
  const uint16_t *add = column + (w - 1) * step, *sub = column - step;
  U4 before = { 0 }, last = LANES (LAST);

  for (int l = 0; l < N4; l++)
    for (int i = 0; i < w - 1; i++)
      before[l] += column[i * step + l % step];
  for (int p = 0; p < n; p += 4 * N4) {
    U4 sum[4];

    for (int v = 0; v < 4; v++) {
      U4 x = load4_2 (add + p + v * N4) - load4_2 (sub + p + v * N4);

      x += moved_up (x, step);
      if (2 * step < N4)
        x += moved_up (x, 2 * step);
      if (4 * step < N4)
        x += moved_up (x, 4 * step);
      if (8 * step < N4)
        x += moved_up (x, 8 * step);
      sum[v] = x + before;
      /* both are the same; the first makes the longer chain */
      before = N4 % step ? __builtin_shuffle (sum[v], last) : before + __builtin_shuffle (x, last);
    }
    if (out)
      round_at (sum, p, n, r, keep, out, false, false);
    for (int v = 0; !out && v < 4; v++)
      *(U4u *) (void *) (s + p + v * N4) = sum[v];
  }
}

/* Of four channels, a vector is what lies a whole vector before it plus the
 * columns of as many pixels that have come since, less those that have left. */
static void
scan_pixels (const uint16_t *column, int w, int n, const CfRounding *r, const CfKeep *keep, uint8_t *out)
{
  const uint16_t *add = column + (w - 1) * 4, *sub = column - 4;
  U4 s = { 0 };

  for (int l = 0; l < N4; l++)
    for (int i = l / 4 - N4 / 4; i < l / 4 - N4 / 4 + w; i++)
      s[l] += column[i * 4 + l % 4]; /* a 0, where i < 0 */
  for (int p = 0; p < n; p += 4 * N4) {
    U4 sum[4];

    for (int v = 0; v < 4; v++) {
      Half2 change = { 0 };

      for (int i = 0; i < N4; i += 4)
        change += *(const Half2 *) (const void *) (add + p + v * N4 - i) -
            *(const Half2 *) (const void *) (sub + p + v * N4 - i);
      s += (U4) __builtin_convertvector ((HalfS2) change, S4);
      sum[v] = s;
    }
    round_at (sum, p, n, r, keep, out, false, false);
  }
}

static void
scan (const uint16_t *column, int w, int step, int n, int32_t *s)
{
  if (step == 1)
    scan_by (column, w, 1, n, s, NULL, NULL, NULL);
  else if (step == 2)
    scan_by (column, w, 2, n, s, NULL, NULL, NULL);
  else if (step == 3)
    scan_by (column, w, 3, n, s, NULL, NULL, NULL);
  else
    scan_by (column, w, 4, n, s, NULL, NULL, NULL);
}

static void
scan_out (const uint16_t *column, int w, int step, int most, int n, const CfRounding *r, const CfKeep *keep,
    uint8_t *out)
{
  if (step == 4 && most * (N4 / 4) < 1 << 15)
    scan_pixels (column, w, n, r, keep, out);
  else if (step == 1)
    scan_by (column, w, 1, n, NULL, r, keep, out);
  else if (step == 2)
    scan_by (column, w, 2, n, NULL, r, keep, out);
  else if (step == 3)
    scan_by (column, w, 3, n, NULL, r, keep, out);
  else
    scan_by (column, w, 4, n, NULL, r, keep, out);
}

static inline void
levels_at (const CfTap *narrow, int n_narrow, const CfTap *wide, int n_wide, int p, U4 sum[4])
{
  for (int v = 0; v < 4; v++)
    sum[v] = (U4) { 0 };
  for (int k = 0; k < n_narrow; k++)
    for (int v = 0; v < 4; v++)
      sum[v] += load4_2 ((const uint16_t *) narrow[k].at + p + v * N4);
  for (int k = 0; k < n_wide; k++)
    for (int v = 0; v < 4; v++)
      sum[v] += *(const U4u *) (const void *) ((const uint32_t *) wide[k].at + p + v * N4);
}

static void
add_levels (const CfTap *narrow, int n_narrow, const CfTap *wide, int n_wide, int n, int32_t *s)
{
  for (int p = 0; p < n; p += 4 * N4) {
    U4 sum[4];

    levels_at (narrow, n_narrow, wide, n_wide, p, sum);
    for (int v = 0; v < 4; v++)
      *(U4u *) (void *) (s + p + v * N4) = sum[v];
  }
}

static inline void
add_levels_out_by (const CfTap *wide, int n_wide, int n, const CfRounding *r, uint16_t *out, bool power, bool ties)
{
  for (int p = 0; p < n; p += 4 * N4) {
    U4 sum[4];

    levels_at (NULL, 0, wide, n_wide, p, sum);
    round2_at (sum, p, n, r, out, power, ties);
  }
}

static void
add_levels_out (const CfTap *wide, int n_wide, int n, const CfRounding *r, uint16_t *out)
{
  if (r->log2 >= 0 || r->ties)
    add_levels_out_by (wide, n_wide, n, r, out, r->log2 >= 0, r->ties);
  else if (n_wide == 3)
    add_levels_out_by (wide, 3, n, r, out, false, false);
  else
    add_levels_out_by (wide, n_wide, n, r, out, false, false);
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
  .products_out = products_out,
  .wide = BOTH (wide),
  .combine = combine,
  .widen = widen,
  .across16 = BOTH (across16),
  .across8 = across_bytes,
  .down8 = down_bytes,
#ifndef NO_BYTES
  .across_words = across_words,
  .split_pairs = split_pairs,
  .halves_out = halves_out,
#endif
  .across32 = BOTH (across32),
  .down32 = down32,
  .down32_out = down32_out,
  .down64 = down64,
  .down16 = BOTH (down16),
  .column16 = BOTH (column16),
  .column32 = BOTH (column32),
  .twice16 = twice16,
  .twice32 = twice32,
  .add_levels = add_levels,
  .add_levels_out = add_levels_out,
  .scan = scan,
  .scan_out = scan_out,
  .gradient = BOTH (gradient),
  .round32 = BOTH (round32),
  .round64 = BOTH (round64),
  .unsharp32 = unsharp32,
  .unsharp64 = BOTH (unsharp64),
};
