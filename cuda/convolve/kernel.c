/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/kernel.c: resolves the parameters to integer weights, for both backends. convolve.h has the formulas. Only
 * floating-point arithmetic in this file can influence a result by its own rounding. */
#include "convolve.h"
#include "core/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TWO31 2147483648.0
/* The finest unit of weights is 1 / 2^16. */
#define MAX_SHIFT 16

/* The taps as typed or as a preset defines them: t(i, j) = t[j * w + i]; ax, ay: the anchor. n: how many there are, or
 * 1 if all of them are t[0]. */
typedef struct {
  int w, h, ax, ay, n;
  double t[CF_CONVOLVE_MAX * CF_CONVOLVE_MAX];
} CfTaps;

/* A kernel along one axis: k samples; sigma_set is 0 where sigma is chosen from k. */
typedef struct {
  int k;
  double sigma_set, sigma;
} Axis;

/* Returns the largest side that kernel-size, -width and -height may have: with any other preset they have no effect. */
static int
max_side (const CfConvolveParams *p)
{
  return p->preset == CF_PRESET_LOG || p->preset == CF_PRESET_MOTION ? CF_CONVOLVE_MAX : CF_CONVOLVE_LONG;
}

/* Returns the axis of a preset whose sides or sigmas can differ. */
static Axis
make_axis (const CfConvolveParams *p, bool is_y)
{
  const int side = is_y ? p->kernel_height : p->kernel_width;
  const double sigma = is_y && p->sigma_y > 0 ? p->sigma_y : p->sigma;
  const bool fits_sigma = p->preset == CF_PRESET_GAUSS || p->preset == CF_PRESET_UNSHARP || p->preset == CF_PRESET_LOG;
  Axis axis = { .k = side ? side : p->kernel_size, .sigma_set = sigma };

  if (!axis.k && fits_sigma && sigma > 0)
    axis.k = (int) fmin (max_side (p), 2 * ceil (3 * sigma) + 1);
  axis.k = axis.k ? axis.k : CF_CONVOLVE_DEFAULT;
  axis.sigma = fmax (0.01, sigma > 0 ? sigma : 0.3 * ((axis.k - 1) / 2 - 1) + 0.8);
  return axis;
}

/* Fails for a side that is even or too large. */
static CfCode
check_sides (const CfConvolveParams *p, CfStatus *status)
{
  const char *const names[3] = { "kernel-size", "kernel-width", "kernel-height" };
  const int sides[3] = { p->kernel_size, p->kernel_width, p->kernel_height };
  CfCode code = CF_OK;

  for (int i = 0; i < 3 && code == CF_OK; i++) {
    if (sides[i])
      code = cf_check_odd (names[i], sides[i], max_side (p), status);
    if (sides[i] > max_side (p) && (i == 0 || p->preset == CF_PRESET_LOG))
      code = cf_fail (status, CF_BAD_VALUE, "%s is %d, but preset=%s has kernels up to %d x %d", names[i], sides[i],
          cf_convolve_preset_name (p->preset), max_side (p), max_side (p));
  }
  return code;
}

/* ---- presets ------------------------------------------------------------ */

static void
set_sides (CfTaps *taps, int w, int h)
{
  taps->w = w;
  taps->h = h;
  taps->ax = w / 2;
  taps->ay = h / 2;
  taps->n = w * h;
}

static void
set_taps (CfTaps *taps, int side, const double *t)
{
  set_sides (taps, side, side);
  memcpy (taps->t, t, (size_t) (side * side) * sizeof *t);
}

static void
make_emboss (CfTaps *taps, double angle)
{
  static const double base[9] = { -2, -1, 0, -1, 1, 1, 0, 1, 2 };
  static const int ring[8] = { 0, 3, 6, 7, 8, 5, 2, 1 }; /* counterclockwise from the upper left */
  int steps = (int) floor (angle / 45 + 0.5) & 7;

  set_taps (taps, 3, base);
  for (int n = 0; n < 8; n++)
    taps->t[ring[(n + steps) & 7]] = base[ring[n]];
}

static void
make_log (CfTaps *taps, const Axis *x, const Axis *y)
{
  int rx = (x->k - 1) / 2, ry = (y->k - 1) / 2, n = x->k * y->k;
  double x2 = x->sigma * x->sigma, y2 = y->sigma * y->sigma, sum_g = 0, sum = 0;

  set_sides (taps, x->k, y->k);
  for (int j = -ry; j <= ry; j++)
    for (int i = -rx; i <= rx; i++)
      sum_g += exp (-i * i / (2 * x2) - j * j / (2 * y2));
  for (int j = -ry; j <= ry; j++)
    for (int i = -rx; i <= rx; i++) {
      double g = exp (-i * i / (2 * x2) - j * j / (2 * y2));
      double t = g * ((i * i - x2) / (x2 * x2) + (j * j - y2) / (y2 * y2)) / sum_g;

      taps->t[(j + ry) * x->k + i + rx] = t;
      sum += t;
    }
  for (int i = 0; i < n; i++)
    taps->t[i] -= sum / n;
}

static void
make_motion (CfTaps *taps, int k, double angle)
{
  double a = angle * 3.14159265358979323846 / 180, along = cos (a), across = sin (a);
  int r = (k - 1) / 2;

  set_sides (taps, k, k);
  for (int j = -r; j <= r; j++)
    for (int i = -r; i <= r; i++) {
      double p = i * along - j * across, q = i * across + j * along;

      taps->t[(j + r) * k + i + r] = fmax (0, 1 - fabs (q)) * fmin (1, fmax (0, r + 1 - fabs (p)));
    }
}

/* Returns the property that a custom kernel comes from. */
static const char *
source_of (const CfConvolveParams *p)
{
  return p->kernel ? "kernel" : "kernel-file";
}

static CfCode
make_custom (const CfConvolveParams *p, CfTaps *taps, CfStatus *status)
{
  const CfTextKind kind = { source_of (p), "a kernel", "\"0 -1 0; -1 5 -1; 0 -1 0\"", CF_CONVOLVE_MAX };
  const char *text = p->kernel ? p->kernel : p->file_text;
  CfCode code;

  if (!text && !p->kernel_file)
    return cf_fail (status, CF_BAD_VALUE,
        "preset=custom needs a kernel; set kernel, as in \"0 -1 0; -1 5 -1; 0 -1 0\", or kernel-file");
  if (!text)
    return cf_text_unread (kind.what, p->kernel_file, status);
  code = cf_text_parse (&kind, text, taps->t, &taps->w, &taps->h, status);
  set_sides (taps, taps->w, taps->h);
  return code;
}

/* Makes the taps of all presets whose result is S / D with weights by convolve.h's "Weights". */
static CfCode
make_taps (const CfConvolveParams *p, CfTaps *taps, CfStatus *status)
{
  const Axis x = make_axis (p, false), y = make_axis (p, true);
  const double a = p->amount;

  switch (p->preset) {
    case CF_PRESET_IDENTITY:
      set_taps (taps, 1, (const double[1]) { 1 });
      break;
    case CF_PRESET_BOX:
      set_sides (taps, x.k, y.k);
      taps->n = 1;
      taps->t[0] = 1;
      break;
    case CF_PRESET_SHARPEN:
      set_taps (taps, 3, (const double[9]) { 0, -a, 0, -a, 1 + 4 * a, -a, 0, -a, 0 });
      break;
    case CF_PRESET_LAPLACE:
      set_taps (taps, 3, (const double[9]) { 0, 1, 0, 1, -4, 1, 0, 1, 0 });
      break;
    case CF_PRESET_SOBEL_X:
      set_taps (taps, 3, (const double[9]) { -1, 0, 1, -2, 0, 2, -1, 0, 1 });
      break;
    case CF_PRESET_SOBEL_Y:
      set_taps (taps, 3, (const double[9]) { -1, -2, -1, 0, 0, 0, 1, 2, 1 });
      break;
    case CF_PRESET_EMBOSS:
      make_emboss (taps, p->angle);
      break;
    case CF_PRESET_LOG:
      make_log (taps, &x, &y);
      break;
    case CF_PRESET_MOTION:
      make_motion (taps, p->kernel_size ? p->kernel_size : CF_CONVOLVE_DEFAULT, p->angle);
      break;
    case CF_PRESET_CUSTOM:
      return make_custom (p, taps, status);
    default:
      return cf_fail (status, CF_BAD_VALUE, "preset has no value number %d", p->preset);
  }
  return CF_OK;
}

/* ---- weights ------------------------------------------------------------ */

/* Fills sum and abs_sum. Returns whether the sums S of samples fit 32 bits (8-bit samples) or 62, which leaves room for
 * 2 S + add (CfConvolution.add). */
static bool
sums_fit (CfConvolution *c, const CfTaps *taps)
{
  const int times = taps->w * taps->h / taps->n;

  c->sum = c->abs_sum = 0;
  for (int i = 0; i < taps->n; i++) {
    c->sum += (int64_t) c->weights[i] * times;
    c->abs_sum += llabs ((long long) c->weights[i]) * times;
  }
  return c->abs_sum <= (c->bits == 8 ? INT32_MAX : INT64_MAX / 4) / c->max;
}

/* Returns whether t 2^n is an integer below 2^31. */
static bool
is_integer (double t, int n)
{
  double v = ldexp (t, n);

  return fabs (v) < TWO31 && v == trunc (v);
}

/* Returns the smallest n for which the taps t 2^n and d 2^n are integers below 2^31, or -1. */
static int
find_scale (const double *t, int n_taps, double d)
{
  for (int n = 0; n <= MAX_SHIFT; n++) {
    bool integral = is_integer (d, n);

    for (int i = 0; integral && i < n_taps; i++)
      integral = is_integer (t[i], n);
    if (integral)
      return n;
  }
  return -1;
}

static bool
exact_weights (CfConvolution *c, const CfTaps *taps, double d, int n)
{
  double sign = d < 0 ? -1 : 1;

  for (int i = 0; i < taps->n; i++)
    c->weights[i] = (int32_t) ldexp (sign * taps->t[i], n);
  c->divisor = (int64_t) ldexp (sign * d, n);
  return sums_fit (c, taps);
}

/* Makes weights in units of 2^-s. `target` is the sum that they must have, in units of 1, or NAN for any, as always for
 * uniform taps: D = w h makes their weights exact. Returns false where they or their sums do not fit. */
static bool
rounded_weights (CfConvolution *c, const CfTaps *taps, double d, double target, int s)
{
  int centre = taps->ay * taps->w + taps->ax;
  int64_t sum = 0;

  for (int i = 0; i < taps->n; i++) {
    double v = round (ldexp (taps->t[i] / d, s));

    if (!(fabs (v) < TWO31))
      return false;
    c->weights[i] = (int32_t) v;
    sum += c->weights[i];
  }
  c->divisor = (int64_t) 1 << s;
  if (!isnan (target)) {
    int64_t anchor = c->weights[centre] + (int64_t) ldexp (target, s) - sum;

    if (anchor > INT32_MAX || anchor < -INT32_MAX)
      return false;
    c->weights[centre] = (int32_t) anchor;
  }
  return sums_fit (c, taps);
}

/* Fails with a message about the largest weight. `sum` is the sum of all absolute weights, divided by `d`. */
static CfCode
too_large (const CfConvolveParams *p, int bits, const CfTaps *taps, double sum, double d, CfStatus *status)
{
  double limit = floor (2147483647.0 / (bits == 8 ? 255 : 1));
  char divided[40] = "";
  bool custom = p->preset == CF_PRESET_CUSTOM;
  int largest = 0;

  for (int i = 1; i < taps->n; i++)
    if (fabs (taps->t[i]) > fabs (taps->t[largest]))
      largest = i;
  if (d != 1)
    snprintf (divided, sizeof divided, " divided by %g", d);
  return cf_fail (status, CF_BAD_VALUE,
      "%s%s, row %d, column %d: the weight %g is too large for %d-bit video; the "
      "absolute weights%s must add up to at most %.0f, not %g",
      custom ? "" : "preset=", custom ? source_of (p) : cf_convolve_preset_name (p->preset), largest / taps->w + 1,
      largest % taps->w + 1, taps->t[largest], bits, divided, limit, sum);
}

/* Makes weights and divisor of S / D, before flip and the division by a common power of two. */
static CfCode
make_weights (const CfConvolveParams *p, const CfTaps *taps, CfConvolution *c, CfStatus *status)
{
  double sum = 0, abs_sum = 0, d = p->divisor, target = NAN;
  int n, times = taps->w * taps->h / taps->n;

  c->w = taps->w;
  c->h = taps->h;
  c->ax = taps->ax;
  c->ay = taps->ay;
  for (int i = 0; i < taps->n; i++) {
    sum += taps->t[i] * times;
    abs_sum += fabs (taps->t[i]) * times;
  }
  if (!isfinite (abs_sum))
    return too_large (p, c->bits, taps, abs_sum, 1, status);
  if (d == 0) {
    bool none = fabs (sum) <= 1e-9 * abs_sum;

    d = none ? 1 : sum;
    target = none ? 0 : 1;
  }
  n = find_scale (taps->t, taps->n, d);
  if (n >= 0 && exact_weights (c, taps, d, n))
    return CF_OK;
  for (int s = MAX_SHIFT; s >= 0 && n != 0; s--)
    if (rounded_weights (c, taps, d, target, s))
      return CF_OK;
  d = n == 0 ? 1 : d;
  return too_large (p, c->bits, taps, abs_sum / fabs (d), d, status);
}

static void
flip_weights (CfConvolution *c)
{
  for (int a = 0, b = c->w * c->h - 1; a < b; a++, b--) {
    int32_t weight = c->weights[a];

    c->weights[a] = c->weights[b];
    c->weights[b] = weight;
  }
  c->ax = c->w - 1 - c->ax;
  c->ay = c->h - 1 - c->ay;
}

static void
divide_by_two_power (CfConvolution *c, int n)
{
  uint64_t all = (uint64_t) c->divisor;
  int shift;

  for (int i = 0; i < n; i++)
    all |= (uint64_t) (int64_t) c->weights[i];
  shift = __builtin_ctzll (all);
  for (int i = 0; i < n; i++)
    c->weights[i] /= 1 << shift;
  c->divisor >>= shift;
  c->sum /= (int64_t) 1 << shift;
  c->abs_sum >>= shift;
}

static int32_t
common_divisor (int32_t a, int32_t b)
{
  while (b) {
    int32_t rem = a % b;

    a = b;
    b = rem;
  }
  return a < 0 ? -a : a;
}

/* Returns whether the matrix is the product of a column and a row, and fills them. The row is divided by its greatest
 * common divisor: if the matrix is separable at all, the column then consists of integers. */
static bool
separate (CfConvolution *c)
{
  const int32_t *first;
  int32_t divisor = 0;
  int at = 0, lead;

  while (at < c->w * c->h && !c->weights[at])
    at++;
  if (at == c->w * c->h)
    return true; /* all weights are 0 */
  lead = at % c->w;
  first = &c->weights[at - lead];
  for (int i = 0; i < c->w; i++)
    divisor = common_divisor (divisor, first[i]);
  for (int i = 0; i < c->w; i++)
    c->row[i] = first[i] / (first[lead] < 0 ? -divisor : divisor);
  for (int j = 0; j < c->h; j++) {
    const int32_t *row = &c->weights[j * c->w];

    c->col[j] = row[lead] / c->row[lead];
    for (int i = 0; i < c->w; i++)
      if ((int64_t) c->col[j] * c->row[i] != row[i])
        return false;
  }
  return true;
}

/* Makes all weights the first one. */
static void
spread_weight (CfConvolution *c)
{
  const int32_t weight = c->weights[0];

  for (int i = 0; i < c->w; i++)
    c->row[i] = 1;
  for (int j = 0; j < c->h; j++)
    c->col[j] = weight;
  for (int i = 0; c->dense && i < c->w * c->h; i++)
    c->weights[i] = weight;
  c->separable = true;
  c->box = weight == 1;
}

/* ---- gauss -------------------------------------------------------------- */

static void
gauss_axis (const Axis *axis, int32_t one, int32_t *out)
{
  static const double small[3][4] = { { 2, 1 }, { 6, 4, 1 }, { 9, 7, 3.5, 1 } };
  double g[CF_CONVOLVE_LONG / 2 + 1], sum = 0, carry = 0;
  int r = (axis->k - 1) / 2;
  int32_t left = one;

  if (axis->sigma_set == 0 && r >= 1 && r <= 3)
    memcpy (g, small[r - 1], sizeof small[0]);
  else
    for (int i = 0; i <= r; i++)
      g[i] = exp (-(double) (i * i) / (2 * axis->sigma * axis->sigma));
  for (int i = -r; i <= r; i++)
    sum += g[abs (i)];
  for (int i = r; i > 0; i--) {
    double exact = g[i] / sum * one + carry;
    double n = rint (exact);

    carry = exact - n;
    out[r - i] = out[r + i] = (int32_t) n;
    left -= 2 * (int32_t) n;
  }
  out[r] = left;
}

static void
make_gauss (const CfConvolveParams *p, CfConvolution *c)
{
  int32_t one = c->bits == 8 ? 256 : 65536;
  const Axis x = make_axis (p, false), y = make_axis (p, true);

  c->w = x.k;
  c->h = y.k;
  c->ax = (x.k - 1) / 2;
  c->ay = (y.k - 1) / 2;
  gauss_axis (&x, one, c->row);
  gauss_axis (&y, one, c->col);
  c->separable = true;
  c->divisor = c->sum = c->abs_sum = (int64_t) one * one;
  c->dense = c->bits == 8 && cf_max (c->w, c->h) <= CF_CONVOLVE_MAX;
  for (int i = 0; c->dense && i < c->w * c->h; i++)
    c->weights[i] = c->row[i % c->w] * c->col[i / c->w];
}

/* ---- rounding ----------------------------------------------------------- */

/* Returns floor (scale value), exactly, for scale < 2^53. *integral: scale value is an integer. */
static int64_t
floor_product (int64_t scale, double value, bool *integral)
{
  double high = (double) scale * value, low = fma ((double) scale, value, -high);

  /* Rounding to `high` never crosses an integer, so `low` matters only where `high` is an integer. */
  *integral = high == floor (high) && low == floor (low);
  return (int64_t) floor (high) + (high == floor (high) ? (int64_t) floor (low) : 0);
}

static void
round_linear (CfConvolution *c, double bias, bool half_even)
{
  bool integral;

  c->add[CF_CONVOLVE_LUMA] = floor_product (2 * c->divisor, bias, &integral) + c->divisor;
  /* With a bias that is no multiple of 1 / (2 D) no result lies half way between two integers. */
  c->ties_even[CF_CONVOLVE_LUMA] = half_even && integral;
  c->add[CF_CONVOLVE_CHROMA] = 2 * c->mid * (c->divisor - c->sum) + c->divisor;
  c->ties_even[CF_CONVOLVE_CHROMA] = half_even;
}

/* Sets `narrow` where 32 bits hold the numerators, with the multiplier that replaces the division. */
static void
find_magic (CfConvolution *c)
{
  int64_t up = (c->abs_sum + c->sum) / 2 * c->max * 2, down = (c->abs_sum - c->sum) / 2 * c->max * 2;
  uint64_t d = 2 * (uint64_t) c->divisor;

  c->narrow = d < (uint64_t) 1 << 31;
  for (int i = 0; i < 2; i++)
    c->narrow = c->narrow && up + c->add[i] <= INT32_MAX && down - c->add[i] <= INT32_MAX && c->add[i] <= INT32_MAX &&
        c->add[i] >= -INT32_MAX;
  if (!c->narrow)
    return;
  /* With d at most 2^(shift - 31), magic = 2^shift / d rounded up is too large by less than 1, which adds less than
   * 2^31 / 2^shift <= 1 / d to any quotient. */
  c->shift = 31 + (64 - __builtin_clzll (d - 1));
  c->magic = (uint32_t) ((((uint64_t) 1 << c->shift) + d - 1) / d);
}

static bool
is_identity (const CfConvolution *c, double bias)
{
  int centre = c->ay * c->w + c->ax;

  if (bias != 0)
    return false;
  if (!c->dense)
    return c->sum == c->divisor && (int64_t) c->row[c->ax] * c->col[c->ay] == c->divisor;
  return c->weights[centre] == c->divisor && c->sum == c->divisor && c->abs_sum == c->divisor;
}

/* ---- gradients ---------------------------------------------------------- */

static void
make_magnitude (const CfConvolveParams *p, CfConvolution *c)
{
  const int m = p->preset == CF_PRESET_SCHARR ? 3 : 1;
  const int n = p->preset == CF_PRESET_SCHARR ? 10 : p->preset == CF_PRESET_SOBEL ? 2 : 1;
  const int32_t x[9] = { -m, 0, m, -n, 0, n, -m, 0, m };
  double d = p->divisor == 0 ? 1 : p->divisor, sign = d < 0 ? -1 : 1;
  /* 2^40: with this factor every gradient other than 0 saturates. */
  const double limit = 1099511627776.0;
  const int shift = find_scale (NULL, 0, d);

  c->op = CF_CONVOLVE_MAGNITUDE;
  c->w = c->h = 3;
  c->ax = c->ay = 1;
  c->dense = true;
  for (int i = 0; i < 9; i++) {
    c->weights[i] = x[i];
    c->weights_y[i] = x[i % 3 * 3 + i / 3];
  }
  c->abs_sum = 4 * m + 2 * n;
  if (shift >= 0) {
    c->factor = (int64_t) sign * (1 << shift);
    c->divisor = (int64_t) ldexp (sign * d, shift);
  } else {
    c->factor = (int64_t) fmax (-limit, fmin (limit, round (65536 / d)));
    c->divisor = 65536;
  }
  round_linear (c, p->bias, true);
}

/* ---- resolving ---------------------------------------------------------- */

static CfCode
make_linear (const CfConvolveParams *p, CfConvolution *c, CfStatus *status)
{
  CfTaps taps;
  CfCode code = make_taps (p, &taps, status);

  if (code != CF_OK)
    return code;
  code = make_weights (p, &taps, c, status);
  if (code != CF_OK)
    return code;
  c->dense = cf_max (c->w, c->h) <= CF_CONVOLVE_MAX;
  if (p->flip && taps.n > 1)
    flip_weights (c);
  divide_by_two_power (c, taps.n);
  if (taps.n == 1) {
    spread_weight (c);
    return CF_OK;
  }
  c->separable = separate (c);
  c->box = c->sum == c->w * c->h && c->abs_sum == c->sum;
  for (int i = 0; c->box && i < c->w * c->h; i++)
    c->box = c->weights[i] == 1;
  return CF_OK;
}

/* Resolves fill, mosaic and privacy; `c` has what is the format's. */
static CfCode
resolve_hide (const CfConvolveParams *p, const CfColors *colors, const CfFormatInfo *info, CfConvolution *c,
    CfStatus *status)
{
  int level[3];

  if (p->gray != CF_GRAY_NONE)
    return cf_fail (status, CF_BAD_VALUE,
        "preset=%s takes no gray; set gray=none, and convert frames with preset=identity gray=luma before it",
        cf_convolve_preset_name (p->preset));
  c->op = p->preset == CF_PRESET_FILL ? CF_CONVOLVE_FILL
      : p->preset == CF_PRESET_MOSAIC ? CF_CONVOLVE_MOSAIC
                                      : CF_CONVOLVE_PRIVACY;
  c->w = c->h = 1;
  c->divisor = 1;
  c->blocks = p->blocks;
  cf_color_levels (colors, info->rgb, p->fill_color, level);
  for (int i = 0; i < info->n_components; i++) {
    const CfRole role = info->comp[i].role;
    const int of = role == CF_ROLE_CHROMA ? i : role == CF_ROLE_GREEN ? 1 : role == CF_ROLE_BLUE ? 2 : 0;

    c->fill[i] = (uint16_t) (level[of] << (c->bits - 8));
  }
  return CF_OK;
}

CfCode
cf_convolution_resolve (const CfConvolveParams *p, const CfCommon *common, CfFormat format, CfConvolution *c,
    CfStatus *status)
{
  const CfFormatInfo *info = cf_format_info (format);
  bool gauss = p->preset == CF_PRESET_GAUSS, unsharp = p->preset == CF_PRESET_UNSHARP;
  CfCode code = check_sides (p, status);

  if (code != CF_OK)
    return code;
  if (!info)
    return cf_fail (status, CF_UNSUPPORTED, "unknown pixel format number %d", (int) format);
  memset (c, 0, sizeof *c);
  c->bits = info->bits;
  c->max = (1 << c->bits) - 1;
  c->mid = 1 << (c->bits - 1);
  c->border = (CfBorder) p->border;
  c->outside[CF_CONVOLVE_LUMA] = p->border_value < c->max ? p->border_value : c->max;
  c->outside[CF_CONVOLVE_CHROMA] = c->mid;
  c->gray = (CfGray) p->gray;
  c->op = CF_CONVOLVE_LINEAR;
  if (p->preset == CF_PRESET_FILL || p->preset == CF_PRESET_MOSAIC || p->preset == CF_PRESET_PRIVACY)
    return resolve_hide (p, &common->colors, info, c, status);
  if (p->preset == CF_PRESET_SOBEL || p->preset == CF_PRESET_PREWITT || p->preset == CF_PRESET_SCHARR) {
    make_magnitude (p, c);
    return CF_OK;
  }
  if (gauss || unsharp)
    make_gauss (p, c);
  else
    code = make_linear (p, c, status);
  if (code != CF_OK)
    return code;
  if (unsharp) {
    bool integral;

    c->op = CF_CONVOLVE_UNSHARP;
    c->amount = (int) floor (p->amount * 256 + 0.5);
    c->add[CF_CONVOLVE_LUMA] = floor_product (256 * c->divisor, p->bias, &integral) + 128 * c->divisor;
    c->add[CF_CONVOLVE_CHROMA] = 128 * c->divisor;
    return CF_OK;
  }
  round_linear (c, p->bias, !gauss);
  /* mid-level is even, so it changes no tie */
  if (p->preset == CF_PRESET_SOBEL_X || p->preset == CF_PRESET_SOBEL_Y)
    c->add[CF_CONVOLVE_LUMA] += 2 * c->divisor * c->mid;
  find_magic (c);
  if (is_identity (c, p->bias))
    c->op = CF_CONVOLVE_COPY;
  return CF_OK;
}

CfConvolveAction
cf_convolve_action (const CfConvolution *c, CfFormat format, const CfView *view)
{
  const CfFormatInfo *info = cf_format_info (format);

  if (!view->filtered)
    return CF_ACTION_COPY;
  if (info->rgb && c->gray != CF_GRAY_NONE)
    return CF_ACTION_GRAY;
  if (info->comp[view->component].role == CF_ROLE_CHROMA && (c->gray != CF_GRAY_NONE || c->op == CF_CONVOLVE_MAGNITUDE))
    return CF_ACTION_MID;
  return c->op == CF_CONVOLVE_COPY ? CF_ACTION_COPY : CF_ACTION_FILTER;
}

/* ---- presets that hide: cells ------------------------------------------- */

void
cf_convolve_cells (const CfConvolution *c, const CfVideo *video, int width, int height, int *nx, int *ny)
{
  const bool wide = video->width > video->height;
  const int s = cf_min (video->width, video->height), longer = cf_max (video->width, video->height);
  const int n = cf_min (c->blocks, s < 4 ? 1 : s / 4),
            n_longer = cf_min ((2 * longer * n + s) / (2 * s), longer < 4 ? 1 : longer / 4);

  *nx = c->op == CF_CONVOLVE_FILL ? 1 : cf_min (width, wide ? n_longer : n);
  *ny = c->op == CF_CONVOLVE_FILL ? 1 : cf_min (height, wide ? n : n_longer);
}

/* With n = s there are n L cells; with n < s at most n (n L / s + 1 / 2), which is less. */
size_t
cf_convolve_max_cells (const CfVideo *video)
{
  return (size_t) cf_min (cf_min (video->width, video->height), CF_CONVOLVE_MAX_BLOCKS) *
      (size_t) cf_max (video->width, video->height);
}
