/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/cpu/vector_tmpl.h: vectors of LANES floats and their fused multiply-add, for the instruction set of this
 * compilation (CF_ISA). simd.c and lines_simd.c define LANES and include it.
 *
 * Without an instruction for it, a fused multiply-add is emulated in double: the product of two floats is exact there;
 * the rounding error of the sum is known (Knuth's TwoSum), and with it the sum is rounded to odd instead. The rounding
 * to float then gives the same result as a single rounding, also for subnormal results. Source: S. Boldo, G.
 * Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE
 * Transactions on Computers 57 (2008). */
#include "core/simd.h"

#include <string.h>

#if defined __AVX2__ || defined __SSE2__
#include <immintrin.h>
#endif

typedef float V __attribute__ ((vector_size (4 * LANES)));
typedef V Vu __attribute__ ((aligned (4), may_alias));

/* ---- a b + c, rounded once ---------------------------------------------- */

#if LANES == 16

ALWAYS_INLINE V
fma_v (V a, V b, V c)
{
  return (V) _mm512_fmadd_ps ((__m512) a, (__m512) b, (__m512) c);
}

#elif defined __AVX2__

ALWAYS_INLINE V
fma_v (V a, V b, V c)
{
  return (V) _mm256_fmadd_ps ((__m256) a, (__m256) b, (__m256) c);
}

#elif defined __SSE2__

ALWAYS_INLINE __m128
fma_2 (__m128d a, __m128d b, __m128d c)
{
  const __m128d zero = _mm_setzero_pd ();
  const __m128i one = _mm_set1_epi64x (1);
  __m128d p = _mm_mul_pd (a, b), s = _mm_add_pd (p, c), from_c = _mm_sub_pd (s, p);
  __m128d error = _mm_add_pd (_mm_sub_pd (p, _mm_sub_pd (s, from_c)), _mm_sub_pd (c, from_c));
  /* false for NaN, which infinite operands produce */
  __m128i inexact = _mm_castpd_si128 (_mm_or_pd (_mm_cmplt_pd (error, zero), _mm_cmpgt_pd (error, zero)));
  __m128i bits = _mm_castpd_si128 (s), even = _mm_sub_epi64 (_mm_and_si128 (bits, one), one);
  /* one unit in the last place away from 0 if the error has the sum's sign, else towards 0 */
  __m128i inwards = _mm_srli_epi64 (_mm_xor_si128 (bits, _mm_castpd_si128 (error)), 63);
  __m128i to_odd = _mm_sub_epi64 (one, _mm_add_epi64 (inwards, inwards));

  bits = _mm_add_epi64 (bits, _mm_and_si128 (_mm_and_si128 (inexact, even), to_odd));
  return _mm_cvtpd_ps (_mm_castsi128_pd (bits));
}

ALWAYS_INLINE V
fma_v (V a_, V b_, V c_)
{
  __m128 a = (__m128) a_, b = (__m128) b_, c = (__m128) c_;
  __m128 low = fma_2 (_mm_cvtps_pd (a), _mm_cvtps_pd (b), _mm_cvtps_pd (c));
  __m128 high = fma_2 (_mm_cvtps_pd (_mm_movehl_ps (a, a)), _mm_cvtps_pd (_mm_movehl_ps (b, b)),
      _mm_cvtps_pd (_mm_movehl_ps (c, c)));

  return (V) _mm_movelh_ps (low, high);
}

ALWAYS_INLINE float
fma_1 (float a, float b, float c)
{
  return _mm_cvtss_f32 (fma_2 (_mm_set_sd (a), _mm_set_sd (b), _mm_set_sd (c)));
}

#else

ALWAYS_INLINE V
fma_v (V a, V b, V c)
{
  for (int i = 0; i < LANES; i++)
    c[i] = __builtin_fmaf (a[i], b[i], c[i]);
  return c;
}

#endif

#if defined __AVX2__ || !defined __SSE2__
#define fma_1 __builtin_fmaf
#endif

/* ---- constants ---------------------------------------------------------- */

#if LANES == 16
#define all_v(f) ((V) _mm512_set1_ps (f))
#elif defined __AVX2__
#define all_v(f) ((V) _mm256_set1_ps (f))
#elif defined __SSE2__
#define all_v(f) ((V) _mm_set1_ps (f))
#else
#define all_v(f) ((V) { (f), (f), (f), (f) })
#endif
