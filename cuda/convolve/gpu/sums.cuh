/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/sums.cuh: the product of the integer tensor units, and the rounding of sums to samples. */
#ifndef CF_CONVOLVE_GPU_SUMS_CUH
#define CF_CONVOLVE_GPU_SUMS_CUH

#include "internal.cuh"

namespace cf {

/* ---- the tensor operation ----------------------------------------------- */

/* d = c + a b with a of 16 x 32 unsigned bytes and b of 32 x 8 bytes, in the fragments of mma.m16n8k32 (PTX ISA,
 * "Matrix Fragments for mma.m16n8k32"). With g = lane / 4 and t = lane % 4, a lane holds
 *   a[0], a[1]: bytes 4 t .. 4 t + 3 of the rows g and g + 8; a[2], a[3]: bytes 16 + 4 t .. 16 + 4 t + 3
 *   b0: rows 4 t .. 4 t + 3 of column g; b1: rows 16 + 4 t .. 16 + 4 t + 3
 *   c, d: [0], [1] row g, columns 2 t and 2 t + 1; [2], [3] row g + 8, the same columns
 * Below capability 8.0 four m8n8k16 make the same sums. The kernels call g `group` and t `in_group`. */
template<bool B_SIGNED> __device__ __forceinline__ void
multiply (int *d, const int *c, const unsigned *a, unsigned b0, unsigned b1)
{
#if !defined (__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define CF_MMA(tb) \
  asm ("mma.sync.aligned.m16n8k32.row.col.s32.u8." tb ".s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, \
{%10,%11,%12,%13};" : "=r" (d[0]), "=r" (d[1]), "=r" (d[2]), "=r" (d[3]) \
      : "r" (a[0]), "r" (a[1]), "r" (a[2]), "r" (a[3]), "r" (b0), "r" (b1), "r" (c[0]), "r" (c[1]), "r" (c[2]), \
      "r" (c[3]))
#else
#define CF_MMA_PART(tb, c, i, a, b) \
  asm ("mma.sync.aligned.m8n8k16.row.col.s32.u8." tb ".s32 {%0,%1}, {%2}, {%3}, {%4,%5};" \
      : "=r" (d[i]), "=r" (d[i + 1]) : "r" (a), "r" (b), "r" (c[i]), "r" (c[i + 1]))
#define CF_MMA(tb) \
  CF_MMA_PART (tb, c, 0, a[0], b0); CF_MMA_PART (tb, c, 2, a[1], b0); \
  CF_MMA_PART (tb, d, 0, a[2], b1); CF_MMA_PART (tb, d, 2, a[3], b1)
#endif
  if (B_SIGNED) {
    CF_MMA ("s8");
  } else {
    CF_MMA ("u8");
  }
#undef CF_MMA
}

/* ---- rounding ----------------------------------------------------------- */

static __device__ __forceinline__ int
saturate (const Rounding &k, long long v)
{
  return v < 0 ? 0 : v > k.max ? k.max : (int) v;
}

/* Returns n / (2 D) rounded down (with k.ties a quotient without remainder to even), saturated; for any n. */
static __device__ __noinline__ int
round_any (const Rounding &k, long long n, int chroma)
{
  long long q, remainder;

  if (n < 0)
    return 0;
  if (k.pow2) {
    q = n >> k.shift;
    remainder = n & (k.divisor2 - 1);
  } else {
    q = n / k.divisor2;
    remainder = n - q * k.divisor2;
  }
  if ((chroma ? k.ties[1] : k.ties[0]) && remainder == 0)
    q -= q & 1;
  return saturate (k, q);
}

/* Returns a word of the bytes v[0..3], saturated to 0..255. */
static __device__ __forceinline__ unsigned
pack_bytes (const int *v)
{
  unsigned high, all;

  asm ("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r" (high) : "r" (v[3]), "r" (v[2]), "r" (0));
  asm ("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r" (all) : "r" (v[1]), "r" (v[0]), "r" (high));
  return all;
}

/* Rounds four sums, which include their base, to bytes. The bits of an integer up to 2^24 are those of the
 * float integer 2^-149, so a sum is used as a float without conversion, and the bits of the result are the
 * rounded quotient; a negative result has its sign bit set and saturates to 0. See make_quick () in rounding.cu. */
template<Quick HOW> static __device__ __forceinline__ unsigned
round_four_quick (const Rounding &k, const int *sum)
{
  const float offset = __uint_as_float (k.offset);
  int v[4];

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const float sample = __int_as_float (sum[i]);

    v[i] = __float_as_int (HOW == QUICK_EVEN ? __fmaf_rn (__fmaf_rn (sample, k.inverse, k.lift), k.lift, offset)
        : __fmaf_rn (sample, k.inverse, offset));
  }
  return pack_bytes (v);
}

/* The same for sums without their base, which may be negative with it. */
template<Quick HOW> static __device__ __forceinline__ unsigned
round_four_clipped (const Rounding &k, const int *sum, int base)
{
  int clipped[4];

#pragma unroll
  for (int i = 0; i < 4; i++)
    clipped[i] = __viaddmax_s32 (sum[i], base, 0);
  return round_four_quick<HOW> (k, clipped);
}

/* Rounds four sums of a narrow kernel (n fits 32 bits) to bytes. SHIFT: D is a power of two. EVEN: ties can
 * occur and go to even. */
template<bool SHIFT, bool EVEN> static __device__ __forceinline__ unsigned
round_four (const Rounding &k, const int *sum, int add)
{
  int v[4];

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int n = 2 * sum[i] + add;

    if (SHIFT) {
      v[i] = n >> k.shift;
      if (EVEN && (n & ((int) k.divisor2 - 1)) == 0)
        v[i] &= ~1;
    } else {
      const unsigned m = (unsigned) max (n, 0), q = __umulhi (m, k.magic) >> k.shift;

      v[i] = (int) (EVEN && m == q * (unsigned) k.divisor2 ? q & ~1u : q);
    }
  }
  return pack_bytes (v);
}

/* Rounds four sums whose initial value was k.init to bytes. */
template<Rule RULE> static __device__ __forceinline__ unsigned
round_four_ruled (const Rounding &k, const int *sum)
{
  if constexpr (RULE == RULE_ONE || RULE == RULE_EVEN)
    return round_four_quick<RULE == RULE_ONE ? QUICK_ONE : QUICK_EVEN> (k, sum);
  else {
    int v[4];

#pragma unroll
    for (int i = 0; i < 4; i++) {
      v[i] = RULE == RULE_SHIFT ? sum[i] >> k.rule_shift
          : (int) (__umulhi ((unsigned) sum[i], k.rule_magic) >> k.rule_shift);
      if (RULE == RULE_DIVIDE && k.ties[0] && v[i] * k.rule_divisor == sum[i])
        v[i] &= ~1;
    }
    return pack_bytes (v);
  }
}

/* Returns the sample of UNSHARP for the sum s and the sample x at the anchor. */
static __device__ __noinline__ int
round_unsharp (const Rounding &k, long long s, int x, int chroma)
{
  const long long dx = (k.divisor2 >> 1) * x, n = 256 * dx + k.amount * (dx - s) + (chroma ? k.add[1] : k.add[0]);

  return saturate (k, n >> (k.shift + 7));
}

/* Returns the sample of MAGNITUDE. The root r of gx^2 + gy^2 is rounded to the nearest integer: the float
 * root is corrected to the integer part, and one more where the square is above (r + 1/2)^2. */
static __device__ __noinline__ int
round_magnitude (const Rounding &k, long long gx, long long gy)
{
  const long long square = gx * gx + gy * gy;
  long long r = (long long) sqrt ((double) square);

  r -= r * r > square;
  r += (r + 1) * (r + 1) <= square;
  r += square - r * r > r;
  return round_any (k, 2 * k.factor * r + k.add[0], 0);
}

/* Returns the sample of LINEAR or UNSHARP for the sum s; x: the sample at the anchor. */
static __device__ __forceinline__ int
round_sum (const Rounding &k, long long s, int x, int chroma)
{
  return k.op == CF_CONVOLVE_UNSHARP ? round_unsharp (k, s, x, chroma)
      : round_any (k, 2 * s + (chroma ? k.add[1] : k.add[0]), chroma);
}

/* Rounds four sums to bytes, by any rule; out of line because it is rare. The samples at the anchors are
 * centre[0], centre[1], centre[second], centre[second + 1]. */
static __device__ __noinline__ unsigned
round_four_any (const Rounding &k, int s0, int s1, int s2, int s3, const uint8_t *centre, int second, int chroma)
{
  return (unsigned) round_sum (k, s0, centre[0], chroma) | (unsigned) round_sum (k, s1, centre[1], chroma) << 8
      | (unsigned) round_sum (k, s2, centre[second], chroma) << 16
      | (unsigned) round_sum (k, s3, centre[second + 1], chroma) << 24;
}

#define CF_ROUND_ALL(f) \
  do { \
    _Pragma ("unroll") for (int i = 0; i < COUNT; i++) \
      word[i] = f; \
  } while (0)

/* Rounds COUNT times four sums whose initial value was k.init. Launches take one limb only with a float rule whose sums
 * are never negative, so such kernels have no code for the others. */
template<int LIMBS, int COUNT> __device__ __forceinline__ void
round_words_ruled (const Rounding &k, int (*sum)[4], unsigned *word)
{
  if (LIMBS > 1 && k.clips)
#pragma unroll
    for (int i = 0; i < 4 * COUNT; i++)
      sum[i / 4][i % 4] = max (sum[i / 4][i % 4], 0);
  if (k.rule == RULE_ONE)
    CF_ROUND_ALL (round_four_ruled<RULE_ONE> (k, sum[i]));
  else if (LIMBS == 1 || k.rule == RULE_EVEN)
    CF_ROUND_ALL (round_four_ruled<RULE_EVEN> (k, sum[i]));
  else if (k.rule == RULE_SHIFT)
    CF_ROUND_ALL (round_four_ruled<RULE_SHIFT> (k, sum[i]));
  else
    CF_ROUND_ALL (round_four_ruled<RULE_DIVIDE> (k, sum[i]));
}

/* Rounds COUNT times four sums of a plane of 8-bit samples to a word of bytes each. centre (i): address of
 * the samples at the anchors of sum[i]. IS_QUICK: with the float rules; long.cu leaves them out, as
 * the D of gauss (F^2) is too large for them and the unused code makes the kernel slower. */
template<int COUNT, int SECOND, bool IS_QUICK, typename Centre> static __device__ __forceinline__ void
round_words (const Rounding &k, int chroma, const int (*sum)[4], unsigned *word, Centre centre)
{
  const int add = (int) (chroma ? k.add[1] : k.add[0]), base = chroma ? k.base[1] : k.base[0];
  const bool even = chroma ? k.ties[1] : k.ties[0];

  if (IS_QUICK && k.quick == QUICK_ONE)
    CF_ROUND_ALL (round_four_clipped<QUICK_ONE> (k, sum[i], base));
  else if (IS_QUICK && k.quick == QUICK_EVEN)
    CF_ROUND_ALL (round_four_clipped<QUICK_EVEN> (k, sum[i], base));
  else if (!k.narrow)
    CF_ROUND_ALL (round_four_any (k, sum[i][0], sum[i][1], sum[i][2], sum[i][3], centre (i), SECOND, chroma));
  else if (k.pow2 && !even)
    CF_ROUND_ALL ((round_four<true, false> (k, sum[i], add)));
  else if (k.pow2)
    CF_ROUND_ALL ((round_four<true, true> (k, sum[i], add)));
  else if (!even)
    CF_ROUND_ALL ((round_four<false, false> (k, sum[i], add)));
  else
    CF_ROUND_ALL ((round_four<false, true> (k, sum[i], add)));
}
#undef CF_ROUND_ALL

} // namespace cf

#endif
