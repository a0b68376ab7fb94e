/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/simd.c: the median filter's inner loops for one instruction set (CF_ISA); simd.h describes them.
 *
 * V is a vector of V_SIZE bytes, with a thin layer of operations over it. Loops
 * that the compiler vectorises well are plain C. */
#include "simd.h"
#include "core/simd.h"

#include <stdlib.h>
#include <string.h>

#if defined __SSE2__
#include <immintrin.h>
#endif
#if defined __AVX512BW__
#define V_SIZE 64
#define INTRINSIC(name) _mm512_##name
typedef __m512i V;
#elif defined __AVX2__
#define V_SIZE 32
#define INTRINSIC(name) _mm256_##name
typedef __m256i V;
#elif defined __SSE2__
#define V_SIZE 16
#define INTRINSIC(name) _mm_##name
typedef __m128i V;
#else /* any other processor: the compiler's vectors */
#define V_SIZE 16
typedef uint8_t V __attribute__ ((vector_size (16)));
typedef uint16_t V2 __attribute__ ((vector_size (16)));
#endif
typedef int32_t V4 __attribute__ ((vector_size (V_SIZE))); /* of packed colours, which have 24 bits */

/* A vector at any address. */
typedef V VAnywhere __attribute__ ((aligned (1), may_alias));

ALWAYS_INLINE V
v_load (const void *p)
{
  return *(const VAnywhere *) p;
}

ALWAYS_INLINE void
v_store (void *p, V v)
{
  *(VAnywhere *) p = v;
}

#define v_lt(T, a, b) ((V) ((T) (a) < (T) (b)))
#define v_pick(a, b, m) (((a) & (m)) | ((b) & ~(m)))
#if defined __SSE2__
#define v_min_1(a, b) INTRINSIC (min_epu8) (a, b)
#define v_max_1(a, b) INTRINSIC (max_epu8) (a, b)
#if defined __SSE4_1__
#define v_min_2(a, b) INTRINSIC (min_epu16) (a, b)
#define v_max_2(a, b) INTRINSIC (max_epu16) (a, b)
#define v_min_4(a, b) INTRINSIC (min_epu32) (a, b)
#define v_max_4(a, b) INTRINSIC (max_epu32) (a, b)
#else
#define v_min_2(a, b) _mm_sub_epi16 (a, _mm_subs_epu16 (a, b))
#define v_max_2(a, b) _mm_add_epi16 (b, _mm_subs_epu16 (a, b))
#define v_min_4(a, b) v_pick (a, b, v_lt (V4, a, b))
#define v_max_4(a, b) v_pick (b, a, v_lt (V4, a, b))
#endif
#elif defined __ARM_NEON
#include <arm_neon.h>
#define v_min_1(a, b) ((V) vminq_u8 ((uint8x16_t) (a), (uint8x16_t) (b)))
#define v_max_1(a, b) ((V) vmaxq_u8 ((uint8x16_t) (a), (uint8x16_t) (b)))
#define v_min_2(a, b) ((V) vminq_u16 ((uint16x8_t) (a), (uint16x8_t) (b)))
#define v_max_2(a, b) ((V) vmaxq_u16 ((uint16x8_t) (a), (uint16x8_t) (b)))
#define v_min_4(a, b) ((V) vminq_u32 ((uint32x4_t) (a), (uint32x4_t) (b)))
#define v_max_4(a, b) ((V) vmaxq_u32 ((uint32x4_t) (a), (uint32x4_t) (b)))
#else
#define v_min_1(a, b) v_pick (a, b, v_lt (V, a, b))
#define v_max_1(a, b) v_pick (b, a, v_lt (V, a, b))
#define v_min_2(a, b) v_pick (a, b, v_lt (V2, a, b))
#define v_max_2(a, b) v_pick (b, a, v_lt (V2, a, b))
#define v_min_4(a, b) v_pick (a, b, v_lt (V4, a, b))
#define v_max_4(a, b) v_pick (b, a, v_lt (V4, a, b))
#endif

typedef int16_t V2s __attribute__ ((vector_size (V_SIZE)));

/* Forces the value into a register here. */
#if defined __SSE2__
#define keep_in_register(v) __asm__ ("" : "+v"(v))
#elif defined __aarch64__
#define keep_in_register(v) __asm__ ("" : "+w"(v))
#else
#define keep_in_register(v) ((void) 0)
#endif

#define N(name) GLUE (name##_, SIZE)
#define V_MIN(a, b) GLUE (v_min_, SIZE) (a, b)
#define V_MAX(a, b) GLUE (v_max_, SIZE) (a, b)

/* Calls `loop` with 1, 2, 4 or 8 parts as a constant, with which the compiler vectorises the loop. */
#define EACH_PARTS(parts, loop, ...) \
  if (parts == 1) \
    loop (1, __VA_ARGS__); \
  else if (parts == 2) \
    loop (2, __VA_ARGS__); \
  else if (parts == 4) \
    loop (4, __VA_ARGS__); \
  else \
    loop (8, __VA_ARGS__)

static inline int
clamp (int x, int low, int high)
{
  return x < low ? low : x > high ? high : x;
}

#include "motion_tmpl.h"

/* ---- rows of 1, 2 and 4 bytes ------------------------------------------- */

#define SIZE 1
#define T uint8_t
#include "rows_tmpl.h"
#undef SIZE
#undef T

#define SIZE 2
#define T uint16_t
#include "rows_tmpl.h"
#undef SIZE
#undef T

#define SIZE 4
#define T uint32_t
#include "rows_tmpl.h"
#undef SIZE
#undef T

/* ---- histograms --------------------------------------------------------- */

static inline int
group_of (int value)
{
  return (value - (value > 0)) / CF_MEDIAN_GROUP;
}

/* Computes for 32 samples how many entries of a set do not count them, 0 .. 32. */
ALWAYS_INLINE void
entries (const uint16_t *restrict sample, int set, uint8_t *restrict entry)
{
  const uint16_t low = (uint16_t) (CF_MEDIAN_GROUP * set);

  if (set == CF_MEDIAN_COARSE)
    for (int i = 0; i < CF_MEDIAN_BLOCK; i++) /* (v - 1) / 31 for 0 < v < 1024 */
      entry[i] = (uint8_t) ((uint32_t) (sample[i] - (sample[i] > 0)) * 2115 >> 16);
  else
    for (int i = 0; i < CF_MEDIAN_BLOCK; i++) {
      const uint16_t up = sample[i] > low ? (uint16_t) (sample[i] - low) : 0;

      entry[i] = (uint8_t) (up < 32 ? up : 32);
    }
}

/* narrow: at most 127 samples per column and 32768 per window */
#define COLUMN int8_t
#define COUNT int16_t
#define H(name) name##_narrow
#define N_SUM (64 / V_SIZE)

typedef struct {
  V2s v[N_SUM];
} H (Sum);

/* Returns the differences of bytes as a vector of 16-bit values. */
ALWAYS_INLINE V
v_step (const void *p, const void *q)
{
#if defined __AVX512BW__
  return _mm512_cvtepi8_epi16 (_mm256_sub_epi8 (_mm256_loadu_si256 (p), _mm256_loadu_si256 (q)));
#elif defined __AVX2__
  return _mm256_cvtepi8_epi16 (_mm_sub_epi8 (_mm_loadu_si128 (p), _mm_loadu_si128 (q)));
#elif defined __SSE2__
  const V step = _mm_sub_epi8 (_mm_loadl_epi64 (p), _mm_loadl_epi64 (q));

  return _mm_srai_epi16 (_mm_unpacklo_epi8 (step, step), 8);
#else
  typedef int8_t Half __attribute__ ((vector_size (8), aligned (1), may_alias));

  return (V) __builtin_convertvector (*(const Half *) p - *(const Half *) q, V2s);
#endif
}

ALWAYS_INLINE void
H (slide) (H (Sum) * sum, const COLUMN *more, const COLUMN *less)
{
  for (int i = 0; i < N_SUM; i++)
    sum->v[i] += (V2s) v_step (more + i * V_SIZE / 2, less + i * V_SIZE / 2);
}

ALWAYS_INLINE int
H (negative) (const H (Sum) * sum)
{
#if defined __AVX512BW__
  return __builtin_popcount (_mm512_movepi16_mask ((V) sum->v[0]));
#elif defined __AVX2__
  return __builtin_popcount ((unsigned) _mm256_movemask_epi8 (_mm256_packs_epi16 ((V) sum->v[0], (V) sum->v[1])));
#elif defined __SSE2__
  unsigned mask = (unsigned) _mm_movemask_epi8 (_mm_packs_epi16 ((V) sum->v[0], (V) sum->v[1])) |
      (unsigned) _mm_movemask_epi8 (_mm_packs_epi16 ((V) sum->v[2], (V) sum->v[3])) << 16;

  return mask ? 32 - __builtin_ctz (mask) : 0;
#else
  V2s n = { 0 };

  for (int i = 0; i < N_SUM; i++)
    n -= sum->v[i] < 0;
  for (int i = 1; i < V_SIZE / 2; i++)
    n[0] = (int16_t) (n[0] + n[i]);
  return n[0];
#endif
}

#include "columns_tmpl.h"
#undef COLUMN
#undef COUNT
#undef H

/* wide: all other windows */
#define COLUMN int16_t
#define COUNT int32_t
#define H(name) name##_wide

typedef struct {
  COUNT v[32];
} H (Sum);

ALWAYS_INLINE void
H (slide) (H (Sum) * sum, const COLUMN *more, const COLUMN *less)
{
  for (int i = 0; i < 32; i++)
    sum->v[i] += more[i] - less[i];
}

ALWAYS_INLINE int
H (negative) (const H (Sum) * sum)
{
  int n = 0;

  for (int i = 0; i < 32; i++)
    n += sum->v[i] < 0;
  return n;
}

#include "columns_tmpl.h"

/* ---- sorted samples ------------------------------------------------------ */

#if defined __AVX512BW__
#define mask_below_1(v, least) _mm512_cmplt_epi8_mask ((V) (v), _mm512_set1_epi8 ((char) (least)))
#define mask_below_2(v, least) _mm512_cmplt_epi16_mask ((V) (v), _mm512_set1_epi16 ((short) (least)))
#else
/* Returns a bit for each of n bytes that is not 0 but 255. */
ALWAYS_INLINE uint64_t
mask_of (const void *flags, int n)
{
  uint64_t mask = 0;

#if defined __AVX2__
#define mask_below_2(v, least) ((unsigned) _mm256_movemask_epi8 ((V) ((V2s) (v) < (int16_t) (least))))
  if (n == 32)
    return (uint32_t) _mm256_movemask_epi8 (v_load (flags));
#endif
#if defined __SSE2__
  if (n == 16)
    return (uint32_t) _mm_movemask_epi8 (_mm_loadu_si128 (flags));
#endif
  for (int i = 0; i < n; i += 8) {
    uint64_t eight;

    memcpy (&eight, (const uint8_t *) flags + i, sizeof eight); /* byte k becomes bit 56 + k */
    mask |= (eight & 0x0101010101010101) * 0x0102040810204080 >> 56 << i;
  }
  return mask;
}
#endif

/* Returns the index of the set bit number n, from 0 on, without branches: nobody could foresee them. */
ALWAYS_INLINE int
nth_bit (uint64_t bits, int n)
{
#if defined __AVX2__ && defined __x86_64__ /* with BMI2, which core/cpu.c asks for */
  uint64_t bit = (uint64_t) 1 << n;

  __asm__ ("pdep %1, %0, %0" : "+r"(bit) : "r"(bits));
  return __builtin_ctzll (bit);
#else
  int at = 0;

  for (int half = 32; half > 0; half /= 2) {
    const int low = __builtin_popcountll (bits >> at & ((1ull << half) - 1)), skip = -(n >= low);

    n -= low & skip;
    at += half & skip;
  }
  return at;
#endif
}

typedef int16_t V2l __attribute__ ((vector_size (V_SIZE), aligned (2), may_alias));

/* Returns how many of n numbers are below `block`, less how many of n others are; reads up to 31 more of each. */
ALWAYS_INLINE int
change (const int16_t *more, const int16_t *less, int n, int block)
{
  int sum = 0;
#if defined __AVX2__
  const int bits = V_SIZE > 32 ? 1 : 2; /* of a number in a mask */

  for (int i = 0; i < n; i += V_SIZE / 2) {
    const uint32_t kept = n - i < V_SIZE / 2 ? (1u << bits * (n - i)) - 1 : ~0u;

    sum += __builtin_popcount (mask_below_2 (v_load (more + i), block) & kept);
    sum -= __builtin_popcount (mask_below_2 (v_load (less + i), block) & kept);
  }
  return sum / bits;
#else
  static const int16_t keep[64] = { [0 ... 31] = -1 };
  V2s sums = { 0 };

  for (int i = 0; i < n; i += V_SIZE / 2)
    sums += ((*(const V2l *) (less + i) < (int16_t) block) - (*(const V2l *) (more + i) < (int16_t) block)) &
        *(const V2l *) (keep + (n - i < 32 ? 32 - (n - i) : 0));
  for (int i = 0; i < V_SIZE / 2; i++)
    sum += sums[i];
  return sum;
#endif
}

#define SIZE 1
#define T char
#include "search_tmpl.h"
#undef SIZE
#undef T

#define SIZE 2
#define T short
#include "search_tmpl.h"
#undef SIZE
#undef T

/* ---- the table ---------------------------------------------------------- */

#define ALL(name) { name##_1, name##_2, name##_4 }
#define CODES(size) code5_##size, code7_##size, code9_##size
#define LARGE_CODES(size) code11_##size, code13_##size, code15_##size, code17_##size

const CfMedianSimd GLUE (cf_median_simd_, CF_ISA) = {
  .unpack = ALL (unpack),
  .pack = ALL (pack),
  .choose = ALL (choose),
  .split = ALL (split),
  .join = ALL (join),
  .network = ALL (network),
#if V_SIZE > 16 && defined __OPTIMIZE__
  .code = { { CODES (1), LARGE_CODES (1) }, { CODES (2), LARGE_CODES (2), code19_2, code21_2 } },
#elif V_SIZE > 16
  .code = { { CODES (1), code11_1 }, { CODES (2), code11_2 } },
#else
  .code = { { CODES (1) }, { CODES (2) } },
#endif
  .median3 = ALL (median3),
  .columns = { columns_narrow, columns_wide },
  .sweep = { sweep_narrow, sweep_wide },
  .search = { search_1, search_2 },
  .follow = { follow_1, follow_2 },
  .sum4 = { sum4_1, sum4_2 },
  .compare = compare,
  .survey = survey,
  .near = near,
  .quiet = quiet,
};
