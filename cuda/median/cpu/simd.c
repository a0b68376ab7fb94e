/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/simd.c: the median filter's inner loops for one instruction set (CF_ISA); simd.h describes them.
 *
 * V is a vector of V_SIZE bytes, with a thin layer of operations over it. Loops
 * that the compiler vectorises well are plain C. */
#include "simd.h"
#include "core/simd.h"

#include <string.h>

#if defined __AVX512BW__
#include <immintrin.h>
#define V_SIZE 64
typedef __m512i V;
#define v_load(p) _mm512_loadu_si512 (p)
#define v_store(p, v) _mm512_storeu_si512 (p, v)
#define v_min_1(a, b) _mm512_min_epu8 (a, b)
#define v_max_1(a, b) _mm512_max_epu8 (a, b)
#define v_min_2(a, b) _mm512_min_epu16 (a, b)
#define v_max_2(a, b) _mm512_max_epu16 (a, b)
#define v_min_4(a, b) _mm512_min_epu32 (a, b)
#define v_max_4(a, b) _mm512_max_epu32 (a, b)
#define v_zero() _mm512_setzero_si512 ()
#define v_add_2(a, b) _mm512_add_epi16 (a, b)
#define v_sub_2(a, b) _mm512_sub_epi16 (a, b)
#define v_widen(p) _mm512_cvtepu8_epi16 (_mm256_loadu_si256 ((const void *) (p)))

#elif defined __AVX2__
#include <immintrin.h>
#define V_SIZE 32
typedef __m256i V;
#define v_load(p) _mm256_loadu_si256 ((const void *) (p))
#define v_store(p, v) _mm256_storeu_si256 ((void *) (p), v)
#define v_min_1(a, b) _mm256_min_epu8 (a, b)
#define v_max_1(a, b) _mm256_max_epu8 (a, b)
#define v_min_2(a, b) _mm256_min_epu16 (a, b)
#define v_max_2(a, b) _mm256_max_epu16 (a, b)
#define v_min_4(a, b) _mm256_min_epu32 (a, b)
#define v_max_4(a, b) _mm256_max_epu32 (a, b)
#define v_zero() _mm256_setzero_si256 ()
#define v_add_2(a, b) _mm256_add_epi16 (a, b)
#define v_sub_2(a, b) _mm256_sub_epi16 (a, b)
#define v_widen(p) _mm256_cvtepu8_epi16 (_mm_loadu_si128 ((const void *) (p)))

#elif defined __SSE2__
#include <emmintrin.h>
#define V_SIZE 16
typedef __m128i V;
#define v_load(p) _mm_loadu_si128 ((const void *) (p))
#define v_store(p, v) _mm_storeu_si128 ((void *) (p), v)
#define v_min_1(a, b) _mm_min_epu8 (a, b)
#define v_max_1(a, b) _mm_max_epu8 (a, b)
#ifdef __SSE4_1__
#include <smmintrin.h>
#define v_min_2(a, b) _mm_min_epu16 (a, b)
#define v_max_2(a, b) _mm_max_epu16 (a, b)
#define v_min_4(a, b) _mm_min_epu32 (a, b)
#define v_max_4(a, b) _mm_max_epu32 (a, b)
#else
#define v_min_2(a, b) _mm_sub_epi16 (a, _mm_subs_epu16 (a, b))
#define v_max_2(a, b) _mm_add_epi16 (b, _mm_subs_epu16 (a, b))
/* packed colours have 24 bits, so a signed comparison is enough */
#define v_pick(a, b, m) _mm_or_si128 (_mm_and_si128 (m, a), _mm_andnot_si128 (m, b))
#define v_min_4(a, b) v_pick (a, b, _mm_cmplt_epi32 (a, b))
#define v_max_4(a, b) v_pick (b, a, _mm_cmplt_epi32 (a, b))
#endif
#define v_zero() _mm_setzero_si128 ()
#define v_add_2(a, b) _mm_add_epi16 (a, b)
#define v_sub_2(a, b) _mm_sub_epi16 (a, b)
#define v_widen(p) _mm_unpacklo_epi8 (_mm_loadl_epi64 ((const void *) (p)), _mm_setzero_si128 ())

#else /* any other processor: the compiler's vectors */
#define V_SIZE 16
typedef uint8_t V __attribute__ ((vector_size (16)));
typedef uint16_t V2 __attribute__ ((vector_size (16)));
typedef uint32_t V4 __attribute__ ((vector_size (16)));
typedef uint8_t V1h __attribute__ ((vector_size (8)));

static inline V
v_load (const void *p)
{
  V v;

  memcpy (&v, p, sizeof v);
  return v;
}

static inline void
v_store (void *p, V v)
{
  memcpy (p, &v, sizeof v);
}

static inline V
v_widen (const void *p)
{
  V1h v;

  memcpy (&v, p, sizeof v);
  return (V) __builtin_convertvector (v, V2);
}

#ifdef __ARM_NEON
#include <arm_neon.h>
#define v_min_1(a, b) ((V) vminq_u8 ((uint8x16_t) (a), (uint8x16_t) (b)))
#define v_max_1(a, b) ((V) vmaxq_u8 ((uint8x16_t) (a), (uint8x16_t) (b)))
#define v_min_2(a, b) ((V) vminq_u16 ((uint16x8_t) (a), (uint16x8_t) (b)))
#define v_max_2(a, b) ((V) vmaxq_u16 ((uint16x8_t) (a), (uint16x8_t) (b)))
#define v_min_4(a, b) ((V) vminq_u32 ((uint32x4_t) (a), (uint32x4_t) (b)))
#define v_max_4(a, b) ((V) vmaxq_u32 ((uint32x4_t) (a), (uint32x4_t) (b)))
#else
#define v_lt(T, a, b) ((V) ((T) (a) < (T) (b)))
#define v_pick(a, b, m) (((a) & (m)) | ((b) & ~(m)))
#define v_min_1(a, b) v_pick (a, b, v_lt (V, a, b))
#define v_max_1(a, b) v_pick (b, a, v_lt (V, a, b))
#define v_min_2(a, b) v_pick (a, b, v_lt (V2, a, b))
#define v_max_2(a, b) v_pick (b, a, v_lt (V2, a, b))
#define v_min_4(a, b) v_pick (a, b, v_lt (V4, a, b))
#define v_max_4(a, b) v_pick (b, a, v_lt (V4, a, b))
#endif
#define v_zero() ((V) { 0 })
#define v_add_2(a, b) ((V) ((V2) (a) + (V2) (b)))
#define v_sub_2(a, b) ((V) ((V2) (a) - (V2) (b)))
#endif

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
#include "running_tmpl.h"
#undef SIZE
#undef T

#define SIZE 2
#define T uint16_t
#include "rows_tmpl.h"
#include "running_tmpl.h"
#undef SIZE
#undef T

#define SIZE 4
#define T uint32_t
#include "rows_tmpl.h"
#undef SIZE
#undef T

/* ---- histograms --------------------------------------------------------- */

/* Read from index 32 - b on, the table gives 0 before entry b and 1 from there on. */
#define ONES_8 1, 1, 1, 1, 1, 1, 1, 1
#define STEP_TABLE { [32] = ONES_8, ONES_8, ONES_8, ONES_8 }

/* narrow: at most 255 samples per column and 65535 per window */
#define COLUMN uint8_t
#define COUNT uint16_t
#define H(name) name##_narrow
#define N_SUM (64 / V_SIZE)

typedef struct {
  V v[N_SUM];
} H (Sum);

static inline void
H (add) (H (Sum) * sum, const COLUMN *column)
{
  for (int i = 0; i < N_SUM; i++)
    sum->v[i] = v_add_2 (sum->v[i], v_widen (column + i * V_SIZE / 2));
}

static inline void
H (sub) (H (Sum) * sum, const COLUMN *column)
{
  for (int i = 0; i < N_SUM; i++)
    sum->v[i] = v_sub_2 (sum->v[i], v_widen (column + i * V_SIZE / 2));
}

static inline void
H (get) (COUNT entries[32], const H (Sum) * sum)
{
  for (int i = 0; i < N_SUM; i++)
    v_store (entries + i * V_SIZE / 2, sum->v[i]);
}

/* Returns how many entries are not above r. They are the first ones, because entries never decrease. */
static inline int
H (not_above) (const H (Sum) * sum, uint32_t r)
{
#if defined __AVX512BW__
  return __builtin_popcount (_mm512_cmple_epu16_mask (sum->v[0], _mm512_set1_epi16 ((short) r)));
#elif defined __AVX2__
  __m256i rank = _mm256_set1_epi16 ((short) r), zero = _mm256_setzero_si256 ();
  __m256i low = _mm256_cmpeq_epi16 (_mm256_subs_epu16 (sum->v[0], rank), zero);
  __m256i high = _mm256_cmpeq_epi16 (_mm256_subs_epu16 (sum->v[1], rank), zero);

  return __builtin_popcount ((unsigned) _mm256_movemask_epi8 (_mm256_packs_epi16 (low, high)));
#elif defined __SSE2__
  __m128i rank = _mm_set1_epi16 ((short) r), zero = _mm_setzero_si128 (), le[4];
  unsigned mask;

  for (int i = 0; i < 4; i++)
    le[i] = _mm_cmpeq_epi16 (_mm_subs_epu16 (sum->v[i], rank), zero);
  mask = (unsigned) _mm_movemask_epi8 (_mm_packs_epi16 (le[0], le[1])) |
      (unsigned) _mm_movemask_epi8 (_mm_packs_epi16 (le[2], le[3])) << 16;
  return ~mask ? __builtin_ctz (~mask) : 32;
#else
  COUNT entries[32];
  int n = 0;

  H (get) (entries, sum);
  for (int i = 0; i < 32; i++)
    n += entries[i] <= r;
  return n;
#endif
}

#include "columns_tmpl.h"
#undef COLUMN
#undef COUNT
#undef H

/* wide: all other windows */
#define COLUMN uint16_t
#define COUNT uint32_t
#define H(name) name##_wide

typedef struct {
  COUNT v[32];
} H (Sum);

static inline void
H (add) (H (Sum) * sum, const COLUMN *column)
{
  for (int i = 0; i < 32; i++)
    sum->v[i] += column[i];
}

static inline void
H (sub) (H (Sum) * sum, const COLUMN *column)
{
  for (int i = 0; i < 32; i++)
    sum->v[i] -= column[i];
}

static inline void
H (get) (COUNT entries[32], const H (Sum) * sum)
{
  memcpy (entries, sum->v, sizeof sum->v);
}

static inline int
H (not_above) (const H (Sum) * sum, uint32_t r)
{
  int n = 0;

  for (int i = 0; i < 32; i++)
    n += sum->v[i] <= r;
  return n;
}

#include "columns_tmpl.h"

/* ---- the table ---------------------------------------------------------- */

#define ALL(name) { name##_1, name##_2, name##_4 }
#if V_SIZE > 16
#define CODES(size) { code5_##size, code7_##size, code9_##size, code11_##size, code13_##size, code15_##size }
#else
#define CODES(size) { code5_##size, code7_##size, code9_##size }
#endif

const CfMedianSimd GLUE (cf_median_simd_, CF_ISA) = {
  .unpack = ALL (unpack),
  .pack = ALL (pack),
  .split = ALL (split),
  .join = ALL (join),
  .network = ALL (network),
  .code = { CODES (1), CODES (2) },
  .median3 = ALL (median3),
  .digits = ALL (digits),
  .columns = { columns_narrow, columns_wide },
  .sweep = { sweep_narrow, sweep_wide },
  .follow = { follow_1, follow_2 },
  .sum4 = { sum4_1, sum4_2 },
  .compare = compare,
  .survey = survey,
  .near = near,
  .quiet = quiet,
};
