/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convolve/cpu/rounding.c: the convolution on the CPU: the numbers that rounding
 * needs, and in how few bits it can be done. */
#include "internal.h"

/* x + (A (D x - S) + add) / (256 D), less what A and 256 have in common; |D x - S| is D max at most. */
static void
set_part (CfRounding *r, int64_t d)
{
  int common = r->amount ? __builtin_ctz ((unsigned) r->amount) : 8;
  int64_t rest;

  common = common < 8 ? common : 8;
  rest = r->add >> common;
  r->is_part = r->log2 >= 8 && d < 1 << 15 && rest < 1 << 30 && rest > -(1 << 30) &&
      (r->amount >> common) * d * r->max < 1 << 30;
  if (!r->is_part)
    return;
  r->part = r->amount >> common;
  r->rest = (int) rest;
  r->rest_log2 = r->log2 - common;
  r->whole_log2 = r->log2 - 8;
}

/* D and all sums are 2^reduced times smaller than in the contract: what is cut
 * off `add` could not have changed a quotient, but it shows that there are no
 * ties. */
void
cf_convolve_set_rounding (CfConvolveCpu *m, int kind, int reduced)
{
  const CfConvolution *c = &m->c;
  CfRounding *r = &m->rounding[kind];
  int64_t cut = ((int64_t) 1 << reduced) - 1, d = c->divisor >> reduced;
  bool unsharp = c->op == CF_CONVOLVE_UNSHARP;

  *r = (CfRounding) {
    .max = c->max, .add = c->add[kind] >> reduced, .d2 = (unsharp ? 256 : 2) * d, .magic = c->magic,
    .shift = c->shift - 32, .amount = c->amount,
    /* an odd numerator is no multiple of 2 D */
    .ties = c->ties_even[kind] && !(c->add[kind] & cut) && !(c->add[kind] >> reduced & 1),
  };
  r->top = r->d2 * (c->max + 1) - 1;
  r->inverse = 1.0 / (double) r->d2;
  r->log2 = cf_log2_of (r->d2);
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
  /* a shift needs no magic, and with smaller sums 32 bits may do after all */
  if (c->op == CF_CONVOLVE_LINEAR && r->log2 >= 0 && r->log2 < 31 && r->add > -(1 << 30) && r->add < 1 << 30 &&
      (c->abs_sum >> reduced) < (1 << 29) / c->max)
    m->narrow[kind] = true;
  if (c->op == CF_CONVOLVE_MAGNITUDE) {
    int64_t factor = c->factor < 0 ? -c->factor : c->factor, add = r->add < 0 ? -r->add : r->add;

    m->narrow[kind] = r->log2 >= 0 && r->log2 < 31 && factor < 1 << 20 && add < 1 << 30 &&
        2 * factor * c->abs_sum * c->max < 1 << 30;
  } else if (unsharp) {
    int64_t high;

    set_part (r, d);
    /* over 2^16 for unsharp32 */
    r->up = 24 - r->log2;
    m->narrow[kind] = r->is_part || (c->bits == 8 && r->up >= 0);
    if (r->is_part || !m->narrow[kind])
      return;
    high = r->add * ((int64_t) 1 << r->up) / 256;
    m->narrow[kind] = high < 1 << 30 && high > -(1 << 30);
    if (m->narrow[kind])
      r->add *= (int64_t) 1 << r->up;
  }
}

/* Can 16 bits hold numerators up to `most` (S + add / 2), and divide them? */
bool
cf_convolve_is_small (CfRounding *r, int64_t most)
{
  uint64_t d = (uint64_t) r->d2 / 2, one, error;

  if (r->add < 0 || most >= 1 << 16)
    return false;
  if (r->log2 >= 0)
    return r->log2 <= 16;
  if (d >= 1 << 16)
    return false;
  /* n magic / 2^k is too large by n error / (D 2^k): not as much as 1 / D */
  r->shift16 = 31 - __builtin_clz ((unsigned) d);
  one = (uint64_t) 1 << (16 + r->shift16);
  r->magic16 = (uint32_t) ((one + d - 1) / d);
  error = r->magic16 * d - one;
  return (uint64_t) most * error < one;
}

/* floor ((part D x - part S + rest) / D) = part x - ceil ((part S - rest) / D), where what x is times is whole. */
bool
cf_convolve_sharpens_small (CfRounding *r, int64_t most)
{
  r->rest16 = (1 << r->rest_log2) - 1 - r->rest;
  return r->is_part && r->max == 255 && r->rest_log2 == r->whole_log2 && r->rest16 >= 0 &&
      r->part * most + r->rest16 < 1 << 16;
}

/* D is a power of two; S / D is rounded without ties as (S + rest) / D, cut off. Of an unsharp mask with an amount of 1
 * that is (256 S - add) / (256 D), rounded up, where add's lower byte changes nothing, to be taken off 2 x. */
static bool
rounds_up (const CfConvolution *c, const CfRounding *r, int64_t *d, int64_t *rest)
{
  bool unsharp = c->op == CF_CONVOLVE_UNSHARP;

  *d = unsharp ? r->d2 >> 8 : r->d2 >> 1;
  *rest = unsharp ? *d - 1 - (r->add >> 8) : r->add >> 1;
  return r->log2 >= 0 && *d >= 1 && *rest >= 0 && (unsharp ? r->amount == 256 : !r->ties);
}

bool
cf_convolve_goes_by_bytes (const CfConvolution *c, CfRounding *r, int64_t abs_sum)
{
  int64_t d, rest;

  if (c->bits != 16 || !rounds_up (c, r, &d, &rest) || d > 256 || abs_sum > d || rest >= d)
    return false;
  r->log2_bytes = cf_log2_of (d);
  r->rest_bytes = (int) rest;
  return true;
}

bool
cf_convolve_goes_by_halves (const CfConvolution *c, CfRounding *r, int64_t most)
{
  int64_t d, rest;

  if (!rounds_up (c, r, &d, &rest) || d <= 1 << 16 || rest >= (int64_t) 1 << 46 || most + rest >= (int64_t) 1 << 48)
    return false;
  r->log2_halves = cf_log2_of (d);
  r->rest_halves = rest;
  return true;
}
