/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/rounding.cu: how sums become samples: derives the kernels' constants from those of a CfConvolution. The
 * kernels' part is in sums.cuh. */
#include "internal.cuh"

#include <math.h>

namespace cf {

namespace {

/* Returns the float above 1 / D that is nearest to it. */
float
inverse_above (int64_t divisor)
{
  const float nearest = (float) (1.0 / (double) divisor);

  return (double) nearest * (double) divisor > 1 ? nearest : nextafterf (nearest, 2); /* exact: 24 bits times 23 */
}

/* Returns an odd number of bits that hold QUICK_EVEN's quotients, which are below 258 + m. */
int
quotient_bits (int64_t m)
{
  return (64 - __builtin_clzll ((unsigned long long) (257 + m))) | 1;
}

/* Returns true if QUICK_EVEN is exact: make_quick () says why. */
bool
evens_fit (int64_t d, int64_t m)
{
  const double inverse = (double) (float) (1.0 / (double) d);
  const double error = (double) (258 + m) * fabs (inverse * (double) d - 1), half = ldexp (1, quotient_bits (m) - 24);

  return error < half && error + half < 1.0 / (double) d;
}

/* Returns true if results for x beyond the exact range might not saturate: make_quick () says why. */
bool
is_too_large (int64_t d, int64_t m, bool is_exact)
{
  return is_exact ? (255 + m) * d > 1 << 24 : (257 + m) * d >= 1 << 23;
}

/* Derives the rounding by a float multiply-add, if the kernel permits it.
 *
 * out = (S + c) / D to the nearest integer is computed as x r - m with x = S + c + m D >= 0 and r = 1 / D as
 * a float: one fused multiply-add of floats that are integers times 2^-149, so it is rounded once. The
 * relative error of r is below 2^-23, so with x < 2^23 the error of the quotient is below 1 / D, or half of
 * that where r is the nearest float. This is too small to reach a half: the quotient is at a half, or at
 * least 1 / D away from it (1 / (2 D) with an odd D). At a half itself:
 *   D odd: does not occur.
 *   D a power of two: r is exact, and the multiply-add rounds ties to even.
 *   Halves up: r is above 1 / D.
 *   Ties to even, other D: two multiply-adds. The first one adds 2^b, above all quotients x / D, times 2^k, so its
 *     result has 23 - b bits after the point; the second one takes 2^b and m away again, rounds to an integer, and ties
 *     to even. The error of the first product is below half of its last bit, so a half stays a half; and with that half
 *     bit it is below 1 / D, so no other quotient becomes one (evens_fit ()). With b odd and k = (149 - b) / 2, the
 *     first one adds 2^-k, and the second one multiplies by 2^-k: one register (`lift`).
 * Larger x are above 256 D and give results above 255. x must not be negative: either m is large enough for
 * all sums, or `clips` is set.
 * With a power of two and ties to even, all x up to 2^24 are exact; above, the bits of x are no longer x times
 * 2^-149. There x >= (255 + m) D, so the result is 255 or above. */
void
make_quick (const CfConvolution &c, Rounding *k)
{
  const int64_t d = c.divisor, down = (c.abs_sum - c.sum) / 2 * c.max, up = (c.abs_sum + c.sum) / 2 * c.max;
  const bool odd = d & 1, ties = k->ties[0], is_exact = k->pow2 && ties, to_even = ties && !k->pow2;
  int64_t centre[2], m = 0;

  if (c.bits != 8 || c.op != CF_CONVOLVE_LINEAR || k->ties[0] != k->ties[1] || (ties && odd)
      || is_too_large (d, 1, is_exact) || (to_even && !evens_fit (d, 1)))
    return;
  for (int i = 0; i < 2; i++) {
    /* halves up means floor ((S + floor (add / 2)) / D) */
    centre[i] = ties ? (c.add[i] - d) / 2 : (c.add[i] >> 1) - d / 2;
    m = centre[i] - down < -m * d ? (down - centre[i] + d - 1) / d : m;
  }
  k->clips = is_too_large (d, m, is_exact) || (to_even && !evens_fit (d, m));
  if (k->clips)
    m = 1;
  for (int i = 0; i < 2; i++) {
    const int64_t base = centre[i] + m * d;

    if (base - down <= INT32_MIN || base + up >= 0x7f000000 || base >= INT32_MAX || base <= INT32_MIN)
      return;
    k->base[i] = (int) base;
  }
  k->offset = 0x80000000u | (unsigned) (to_even ? m + (1 << quotient_bits (m)) : m);
  k->lift = (float) ldexp (1, (quotient_bits (m) - 149) / 2);
  k->inverse = to_even ? (float) (1.0 / (double) d) / k->lift : ties || odd ? (float) (1.0 / (double) d)
      : inverse_above (d);
  k->quick = to_even ? QUICK_EVEN : QUICK_ONE;
}

/* Derives the rounding of 32-bit sums without branches: the float rounding if there is one; with D a power of
 * two and no ties a shift of x = S + add / 2; otherwise floor (x / D) as (x magic) >> (32 + shift).
 *
 * The latter is exact: x is at least 0, or set to 0 (`clips`), and below 2^30. magic = 2^(32 + shift) / D is rounded
 * up, so it is too large by less than 1, and the quotient by less than 2^30 / 2^(32 + shift). With 2^(shift + 2) >= D
 * that is at most 1 / D, too little to reach the next integer. 2^shift <= D / 2, so magic fits 32 bits. */
void
make_rule (const CfConvolution &c, Rounding *k)
{
  k->rule = k->quick == QUICK_ONE ? RULE_ONE : k->quick == QUICK_EVEN ? RULE_EVEN : RULE_NONE;
  for (int i = 0; i < 2; i++)
    k->init[i] = k->quick == QUICK_NONE ? (int) (k->add[i] >> 1) : k->base[i];
  if (k->rule != RULE_NONE || !k->narrow || c.op != CF_CONVOLVE_LINEAR || c.divisor < 2 || k->ties[0] != k->ties[1])
    return;
  if (k->pow2 && !k->ties[0]) {
    k->rule = RULE_SHIFT;
    k->rule_shift = k->shift - 1;
    k->clips = false;
    return;
  }
  k->rule = RULE_DIVIDE;
  while (c.divisor >> k->rule_shift > 3)
    k->rule_shift++;
  k->rule_magic = (unsigned) (((1ull << (32 + k->rule_shift)) + (uint64_t) c.divisor - 1) / (uint64_t) c.divisor);
  k->rule_divisor = (int) c.divisor;
  k->clips = true;
}

} // namespace

Rounding
convolve_rounding_of (const CfConvolution &c)
{
  Rounding k = { };

  k.divisor2 = 2 * c.divisor;
  k.add[0] = c.add[0];
  k.add[1] = c.add[1];
  k.factor = c.factor;
  k.magic = c.magic;
  k.max = c.max;
  k.mid = c.mid;
  k.amount = c.amount;
  k.op = (uint8_t) c.op;
  k.narrow = (c.op == CF_CONVOLVE_LINEAR || c.op == CF_CONVOLVE_COPY) && c.narrow;
  k.pow2 = (k.divisor2 & (k.divisor2 - 1)) == 0;
  k.shift = k.pow2 ? __builtin_ctzll ((unsigned long long) k.divisor2) : c.shift - 32;
  /* with an odd `add` the dividend is odd, never a multiple of 2 D: there are no ties */
  k.ties[0] = c.ties_even[0] && c.add[0] % 2 == 0;
  k.ties[1] = c.ties_even[1] && c.add[1] % 2 == 0;
  make_quick (c, &k);
  make_rule (c, &k);
  return k;
}

} // namespace cf
