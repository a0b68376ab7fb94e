/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/cpu/rounding.c: the constants that turn sums into samples, and the
 * tests for how few bits that takes. simd.h says what each constant means. */
#include "internal.h"

/* Sets the constants for x + (A (D x - S) + add) / (256 D), divided by the power of two that A and 256 have in common.
 * |D x - S| is at most D max. */
static void
set_reduced (CfRounding *r, int64_t d)
{
  int common = r->amount ? __builtin_ctz ((unsigned) r->amount) : 8;
  int64_t add;

  common = common < 8 ? common : 8;
  add = r->add >> common;
  r->is_reduced = r->log2 >= 8 && d < 1 << 15 && add < 1 << 30 && add > -(1 << 30) &&
      (r->amount >> common) * d * r->max < 1 << 30;
  if (!r->is_reduced)
    return;
  r->gain = r->amount >> common;
  r->add_reduced = (int) add;
  r->log2_reduced = r->log2 - common;
  r->log2_d = r->log2 - 8;
}

/* D and all sums are 2^reduced times smaller than in convolve.h. The bits that are shifted out of `add` cannot change
 * a quotient, but ties can only happen if all of them are 0. */
void
cf_convolve_set_rounding (CfConvolveCpu *m, int kind, int reduced)
{
  const CfConvolution *c = &m->c;
  CfRounding *r = &m->rounding[kind];
  int64_t cut = ((int64_t) 1 << reduced) - 1, d = c->divisor >> reduced;
  bool unsharp = c->op == CF_CONVOLVE_UNSHARP;

  *r = (CfRounding) {
    .max = c->max,
    .add = c->add[kind] >> reduced,
    .d2 = (unsharp ? 256 : 2) * d,
    .magic = c->magic,
    .shift = c->shift - 32,
    .amount = c->amount,
    /* an odd numerator is never a multiple of 2 D */
    .ties = c->ties_even[kind] && !(c->add[kind] & cut) && !(c->add[kind] >> reduced & 1),
  };
  r->top = r->d2 * (c->max + 1) - 1;
  r->inverse = 1.0 / (double) r->d2;
  r->log2 = cf_exact_log2 (r->d2);
  r->inverse_float = (float) r->inverse;
  r->by_float = r->d2 * (c->max + 1) <= 1 << 21 && c->abs_sum * c->max < 1 << 21 && r->add > -(1 << 21) &&
      r->add < 1 << 21;
  r->by_scale = r->by_float && c->bits == 8 && r->add <= r->d2 && r->add >= -r->d2;
  r->by_odd = c->op == CF_CONVOLVE_LINEAR && c->bits == 16 && r->log2 < 0 && r->add & 1 && r->d2 < 80 && !(r->d2 & 1) &&
      c->abs_sum * c->max < 1 << 24 && r->add <= r->d2 && r->add >= -r->d2;
  r->offset_odd = (float) ((double) r->add * r->inverse);
  r->scale = (float) (2 * r->inverse);
  r->offset = (float) (((double) r->add + 0.5) * r->inverse);
  m->narrow[kind] = c->narrow;
  /* a shift needs no multiplier, and 32 bits may hold the reduced sums */
  if (c->op == CF_CONVOLVE_LINEAR && r->log2 >= 0 && r->log2 < 31 && r->add > -(1 << 30) && r->add < 1 << 30 &&
      (c->abs_sum >> reduced) < (1 << 29) / c->max)
    m->narrow[kind] = true;
  if (c->op == CF_CONVOLVE_MAGNITUDE) {
    int64_t factor = c->factor < 0 ? -c->factor : c->factor, add = r->add < 0 ? -r->add : r->add;

    m->narrow[kind] = r->log2 >= 0 && r->log2 < 31 && factor < 1 << 20 && add < 1 << 30 &&
        2 * factor * c->abs_sum * c->max < 1 << 30;
  } else if (unsharp) {
    int64_t high;

    set_reduced (r, d);
    /* unsharp32 takes S / D in units of 2^-16 and `add` in units of 2^-24 */
    r->up = 24 - r->log2;
    m->narrow[kind] = r->is_reduced || (c->bits == 8 && r->up >= 0);
    if (r->is_reduced || !m->narrow[kind])
      return;
    high = r->add * ((int64_t) 1 << r->up) / 256;
    m->narrow[kind] = high < 1 << 30 && high > -(1 << 30);
    if (m->narrow[kind])
      r->add *= (int64_t) 1 << r->up;
  }
}

/* 2 S + add over 2 D is S + add / 2 over D, without the lowest bit of an odd `add`. */
bool
cf_convolve_fits16 (CfRounding *r, int64_t limit)
{
  uint64_t d = (uint64_t) r->d2 / 2, one, error;

  if (r->add < 0 || limit >= 1 << 16)
    return false;
  if (r->log2 >= 0)
    return r->log2 <= 16;
  if (d >= 1 << 16)
    return false;
  /* n magic16 / 2^k is too large by n error / (D 2^k), which must be less than 1 / D */
  r->shift16 = 31 - __builtin_clz ((unsigned) d);
  one = (uint64_t) 1 << (16 + r->shift16);
  r->magic16 = (uint32_t) ((one + d - 1) / d);
  error = r->magic16 * d - one;
  return (uint64_t) limit * error < one;
}

/* floor ((gain D x - gain S + add) / D) = gain x - ceil ((gain S - add) / D), as gain x is an integer;
 * ceil ((gain S - add) / D) = (gain S + add16) >> log2 of D with add16 = D - 1 - add. */
bool
cf_convolve_sharpen_fits16 (CfRounding *r, int64_t limit)
{
  r->add16 = (1 << r->log2_reduced) - 1 - r->add_reduced;
  /* the quotient is taken from (1 + gain) x, and what is left must be a signed number of 16 bits */
  return r->is_reduced && r->max == 255 && r->log2_reduced == r->log2_d && r->add16 >= 0 &&
      r->gain * limit + r->add16 < 1 << 16 && (r->gain * limit + r->add16) >> r->log2_reduced < 1 << 15;
}

/* Returns whether D is a power of two and rounding without ties is floor ((S + *add) / D). For an unsharp mask with an
 * amount of 1 that quotient is (256 S - r->add) / (256 D), rounded up, where the lower byte of r->add has no effect;
 * the output is 2 x minus the quotient. */
static bool
truncating_form (const CfConvolution *c, const CfRounding *r, int64_t *d, int64_t *add)
{
  bool unsharp = c->op == CF_CONVOLVE_UNSHARP;

  *d = unsharp ? r->d2 >> 8 : r->d2 >> 1;
  *add = unsharp ? *d - 1 - (r->add >> 8) : r->add >> 1;
  return r->log2 >= 0 && *d >= 1 && *add >= 0 && (unsharp ? r->amount == 256 : !r->ties);
}

bool
cf_convolve_fits_bytes (const CfConvolution *c, CfRounding *r, int64_t abs_sum)
{
  int64_t d, add;

  if (c->bits != 16 || !truncating_form (c, r, &d, &add) || d > 256 || abs_sum > d || add >= d)
    return false;
  r->log2_bytes = cf_exact_log2 (d);
  r->add_bytes = (int) add;
  return true;
}

bool
cf_convolve_fits_halves (const CfConvolution *c, CfRounding *r, int64_t limit)
{
  int64_t d, add;

  if (!truncating_form (c, r, &d, &add) || d <= 1 << 16 || add >= (int64_t) 1 << 46 || limit + add >= (int64_t) 1 << 48)
    return false;
  r->log2_halves = cf_exact_log2 (d);
  r->add_halves = add;
  return true;
}
