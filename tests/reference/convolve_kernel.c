/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * reference/convolve_kernel.c: the weights of every preset and of typed kernels as the contract
 * defines them, and the exact rounding. */
#include "convolve.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

/* The taps as typed or as a preset defines them. */
typedef struct {
  int w, h;
  double t[REF_LONG_SIDE * REF_LONG_SIDE];
} Taps;

static double *
tap (Taps *taps, int i, int j)
{
  return &taps->t[j * taps->w + i];
}

/* ---- presets ------------------------------------------------------------ */

static void
three_by_three (Taps *taps, const double t[9])
{
  taps->w = taps->h = 3;
  memcpy (taps->t, t, 9 * sizeof *t);
}

static double
sigma_for (const RefSetting *s, bool down)
{
  return down && s->sigma_y != 0 ? s->sigma_y : s->sigma;
}

/* Returns kx, or ky for `down`. */
static int
side_of (const RefSetting *s, bool down)
{
  const int side = down ? s->kernel_height : s->kernel_width;
  const double sigma = sigma_for (s, down);
  const bool has_sigma = g_str_equal (s->preset, "gauss") || g_str_equal (s->preset, "unsharp") ||
      g_str_equal (s->preset, "log");

  if (side != 0 || s->kernel_size != 0)
    return side != 0 ? side : s->kernel_size;
  for (int r = 0; has_sigma && sigma > 0; r++)
    if (r >= 3 * sigma || 2 * r + 1 >= (s->preset[0] == 'l' ? REF_SIDE : REF_LONG_SIDE))
      return 2 * r + 1;
  return 5;
}

/* Returns sx, or sy for `down`. */
static double
sigma_of (const RefSetting *s, bool down)
{
  double r = (side_of (s, down) - 1) / 2, set = sigma_for (s, down);

  return MAX (set == 0 ? 0.3 * (r - 1) + 0.8 : set, 0.01);
}

static void
make_emboss (const RefSetting *s, Taps *taps)
{
  static const double flat[9] = { -2, -1, 0, -1, 1, 1, 0, 1, 2 };
  /* The outer taps counterclockwise from the right. */
  static const int ring[8] = { 5, 2, 1, 0, 3, 6, 7, 8 };
  int shift = (int) floor (s->angle / 45 + 0.5) % 8;

  three_by_three (taps, flat);
  for (int p = 0; p < 8; p++)
    taps->t[ring[(p + shift + 8) % 8]] = flat[ring[p]];
}

static void
make_log (const RefSetting *s, Taps *taps)
{
  int w = side_of (s, false), h = side_of (s, true), n = w * h;
  double sx = sigma_of (s, false), sy = sigma_of (s, true), sum = 0, mean = 0;

  taps->w = w;
  taps->h = h;
  for (int j = 0; j < h; j++)
    for (int i = 0; i < w; i++) {
      double x = i - w / 2, y = j - h / 2, g = exp (-(x * x / (sx * sx) + y * y / (sy * sy)) / 2);

      *tap (taps, i, j) = g * (x * x / (sx * sx) - 1) / (sx * sx) + g * (y * y / (sy * sy) - 1) / (sy * sy);
      sum += g;
    }
  for (int i = 0; i < n; i++) {
    taps->t[i] /= sum;
    mean += taps->t[i] / n;
  }
  for (int i = 0; i < n; i++)
    taps->t[i] -= mean;
}

static void
make_motion (const RefSetting *s, Taps *taps)
{
  int k = s->kernel_size != 0 ? s->kernel_size : 5, r = (k - 1) / 2;
  double a = s->angle * PI / 180;

  taps->w = taps->h = k;
  for (int j = -r; j <= r; j++)
    for (int i = -r; i <= r; i++) {
      double p = i * cos (a) - j * sin (a), q = i * sin (a) + j * cos (a);

      *tap (taps, i + r, j + r) = fmax (0, 1 - fabs (q)) * fmin (1, fmax (0, r + 1 - fabs (p)));
    }
}

/* Returns whether log and motion have no side above 63. */
static bool
sides_allowed (const RefSetting *s)
{
  if (g_str_equal (s->preset, "motion"))
    return s->kernel_size <= REF_SIDE;
  return !g_str_equal (s->preset, "log") || MAX (s->kernel_size, MAX (s->kernel_width, s->kernel_height)) <= REF_SIDE;
}

static bool
make_taps (const RefSetting *s, Taps *taps)
{
  double a = s->amount;

  if (!sides_allowed (s))
    return false;
  memset (taps, 0, sizeof *taps);
  taps->w = taps->h = 1;
  if (g_str_equal (s->preset, "custom"))
    return s->kernel && kc_read_matrix (s->kernel, ";\n", true, REF_SIDE, taps->t, &taps->w, &taps->h);
  if (g_str_equal (s->preset, "identity"))
    taps->t[0] = 1;
  if (g_str_equal (s->preset, "box")) {
    taps->w = side_of (s, false);
    taps->h = side_of (s, true);
    for (int i = 0; i < taps->w * taps->h; i++)
      taps->t[i] = 1;
  }
  if (g_str_equal (s->preset, "sharpen"))
    three_by_three (taps, (double[]) { 0, -a, 0, -a, 1 + 4 * a, -a, 0, -a, 0 });
  if (g_str_equal (s->preset, "laplace"))
    three_by_three (taps, (double[]) { 0, 1, 0, 1, -4, 1, 0, 1, 0 });
  if (g_str_equal (s->preset, "sobel-x"))
    three_by_three (taps, (double[]) { -1, 0, 1, -2, 0, 2, -1, 0, 1 });
  if (g_str_equal (s->preset, "sobel-y"))
    three_by_three (taps, (double[]) { -1, -2, -1, 0, 0, 0, 1, 2, 1 });
  if (g_str_equal (s->preset, "emboss"))
    make_emboss (s, taps);
  if (g_str_equal (s->preset, "log"))
    make_log (s, taps);
  if (g_str_equal (s->preset, "motion"))
    make_motion (s, taps);
  return true;
}

/* ---- integers from doubles ---------------------------------------------- */

static bool
sums_fit (const int64_t *c, int n, int bits)
{
  RefWide sum = 0, most = bits == 8 ? INT32_MAX : ((RefWide) 1 << 61) - 1;

  for (int i = 0; i < n; i++) {
    if (c[i] > INT32_MAX || c[i] < -INT32_MAX)
      return false;
    sum += c[i] < 0 ? -c[i] : c[i];
  }
  return sum * ((1 << bits) - 1) <= most;
}

static bool
is_integer (double value, int64_t *integer)
{
  if (!(fabs (value) < 2147483648.0) || value != floor (value))
    return false;
  *integer = (int64_t) value;
  return true;
}

/* Scales by the smallest 2^n at which all taps and the divisor are integers, and returns n; -1: there is none. */
static int
make_exact (const Taps *taps, double d, RefKernel *k)
{
  int cells = taps->w * taps->h;

  for (int n = 0; n <= 16; n++) {
    bool good = is_integer (ldexp (d, n), &k->divisor);

    for (int i = 0; good && i < cells; i++)
      good = is_integer (ldexp (taps->t[i], n), &k->c[i]);
    if (!good)
      continue;
    for (int i = 0; k->divisor < 0 && i < cells; i++)
      k->c[i] = -k->c[i];
    k->divisor = k->divisor < 0 ? -k->divisor : k->divisor;
    return n;
  }
  return -1;
}

static bool
make_rounded (const Taps *taps, double d, bool automatic, bool none, int bits, RefKernel *k)
{
  int cells = taps->w * taps->h;

  for (int s = 16; s >= 0; s--) {
    int64_t sum = 0;
    bool good = true;

    for (int i = 0; i < cells; i++) {
      double c = round (ldexp (taps->t[i] / d, s));

      good = good && fabs (c) < 2147483648.0;
      k->c[i] = good ? (int64_t) c : 0;
      sum += k->c[i];
    }
    k->divisor = (int64_t) 1 << s;
    if (automatic)
      k->c[taps->h / 2 * taps->w + taps->w / 2] += (none ? 0 : k->divisor) - sum;
    if (good && sums_fit (k->c, cells, bits))
      return true;
  }
  return false;
}

static bool
make_linear (const RefSetting *s, int bits, RefKernel *k)
{
  Taps taps;
  double sum = 0, size = 0, d = s->divisor;
  int cells, n, centre;
  bool none;

  if (!make_taps (s, &taps))
    return false;
  cells = taps.w * taps.h;
  for (int i = 0; i < cells; i++) {
    sum += taps.t[i];
    size += fabs (taps.t[i]);
  }
  none = fabs (sum) <= 1e-9 * size;
  if (d == 0)
    d = none ? 1 : sum;
  k->w = taps.w;
  k->h = taps.h;
  n = make_exact (&taps, d, k);
  if (n < 0 || !sums_fit (k->c, cells, bits)) {
    if (n == 0 || !make_rounded (&taps, d, s->divisor == 0, none, bits, k))
      return false;
  }
  centre = taps.h / 2 * taps.w + taps.w / 2;
  k->identity = s->bias == 0;
  for (int i = 0; i < cells; i++)
    k->identity = k->identity && k->c[i] == (i == centre ? k->divisor : 0);
  k->ax = taps.w / 2;
  k->ay = taps.h / 2;
  if (s->flip) {
    k->ax = taps.w - 1 - taps.w / 2;
    k->ay = taps.h - 1 - taps.h / 2;
    for (int i = 0; i < cells / 2; i++) {
      int64_t other = k->c[cells - 1 - i];

      k->c[cells - 1 - i] = k->c[i];
      k->c[i] = other;
    }
  }
  return true;
}

/* ---- gauss, unsharp, magnitudes ----------------------------------------- */

/* Makes the weights of an axis, in units of 1 / one. */
static void
make_axis (const RefSetting *s, bool down, int64_t one, int64_t *axis)
{
  static const double three[] = { 1 / 4., 2 / 4., 1 / 4. }, five[] = { 1 / 16., 4 / 16., 6 / 16., 4 / 16., 1 / 16. },
                      seven[] = { 1 / 32., 3.5 / 32, 7 / 32., 9 / 32., 7 / 32., 3.5 / 32, 1 / 32. };
  int size = side_of (s, down), r = (size - 1) / 2;
  const double *fixed = sigma_for (s, down) != 0 ? NULL
      : size == 3                                ? three
      : size == 5                                ? five
      : size == 7                                ? seven
                                                 : NULL;
  double g[REF_LONG_SIDE], sigma = sigma_of (s, down), sum = 0, carried = 0;
  int64_t left = one;

  for (int i = 0; i < size; i++) {
    g[i] = exp (-((i - r) * (i - r)) / (2 * sigma * sigma));
    sum += g[i];
  }
  for (int i = 0; i < size; i++)
    g[i] = fixed ? fixed[i] : g[i] / sum;
  for (int i = 0; i < r; i++) {
    double exact = g[i] * (double) one + carried, n = nearbyint (exact);

    carried = exact - n;
    axis[i] = axis[size - 1 - i] = (int64_t) n;
    left -= 2 * (int64_t) n;
  }
  axis[r] = left;
}

static void
make_gauss (const RefSetting *s, int bits, RefKernel *k)
{
  int64_t one = bits == 8 ? 256 : 65536;

  k->w = side_of (s, false);
  k->h = side_of (s, true);
  k->ax = k->w / 2;
  k->ay = k->h / 2;
  make_axis (s, false, one, k->across);
  make_axis (s, true, one, k->down);
  k->divisor = one * one;
  k->identity = s->bias == 0 && k->across[k->ax] == one && k->down[k->ay] == one;
}

static bool
make_magnitude (const RefSetting *s, RefKernel *k)
{
  int m = g_str_equal (s->preset, "scharr") ? 3 : 1, n = g_str_equal (s->preset, "sobel") ? 2 : m == 3 ? 10 : 1;
  double d = s->divisor == 0 ? 1 : s->divisor;
  int64_t c[9] = { -m, 0, m, -n, 0, n, -m, 0, m };
  bool exact = false;

  memcpy (k->c, c, sizeof c);
  k->w = k->h = 3;
  k->ax = k->ay = 1;
  for (int shift = 0; !exact && shift <= 16; shift++) {
    exact = is_integer (ldexp (d, shift), &k->divisor) && k->divisor != 0;
    k->factor = (int64_t) 1 << shift;
  }
  if (!exact) {
    k->divisor = 65536;
    k->factor = llround (65536 / d);
  }
  if (k->divisor < 0) {
    k->divisor = -k->divisor;
    k->factor = -k->factor;
  }
  return true;
}

bool
ref_kernel_make (const RefSetting *s, int bits, RefKernel *k)
{
  memset (k, 0, sizeof *k);
  if (g_str_equal (s->preset, "gauss") || g_str_equal (s->preset, "unsharp")) {
    make_gauss (s, bits, k);
    k->kind = REF_GAUSS;
    if (s->preset[0] == 'u') {
      k->kind = REF_UNSHARP;
      k->amount = (int) floor (s->amount * 256 + 0.5);
      k->identity = false;
    }
    return true;
  }
  if (g_str_equal (s->preset, "sobel") || g_str_equal (s->preset, "prewitt") || g_str_equal (s->preset, "scharr")) {
    k->kind = REF_MAGNITUDE;
    return make_magnitude (s, k);
  }
  k->kind = REF_LINEAR;
  k->signed_ = g_str_equal (s->preset, "sobel-x") || g_str_equal (s->preset, "sobel-y");
  return make_linear (s, bits, k);
}

/* ---- numbers ------------------------------------------------------------ */

/* Returns -1, 0 or 1: 2 d f is less than, equal to or greater than z, for a double 0 <= f < 1. */
static int
compare_part (double f, int64_t d, int64_t z)
{
  int exponent, up;
  RefWide left, right = z;

  if (f == 0 || z <= 0)
    return z < 0 || (z == 0 && f > 0) ? 1 : z == 0 ? 0 : -1;
  left = (RefWide) ldexp (frexp (f, &exponent), 53) * 2 * d;
  up = 53 - exponent; /* left / 2^up is compared with z; left is below 2^96 */
  for (; up > 0 && right < (RefWide) 1 << 100; up--)
    right *= 2;
  return up > 0 || left < right ? -1 : left > right;
}

/* Rounds n / d + bias to the nearest integer, bias >= 0; `half` rounds halves: 0 to even, 1 up, -1 down. */
static int64_t
round_part (RefWide n, int64_t d, double bias, int half)
{
  double whole = floor (bias);
  RefWide q = n / d, rest = n % d;

  if (rest < 0) {
    rest += d;
    q--;
  }
  q += (RefWide) whole;
  /* rest / d + part lies in 0 .. 2: has it passed 1/2, and 3/2? */
  for (int halves = 1; halves <= 3; halves += 2) {
    const int passed = compare_part (bias - whole, d, halves * d - 2 * (int64_t) rest);

    if (passed < 0 || (passed == 0 && (half < 0 || (half == 0 && q % 2 == 0))))
      break;
    q++;
  }
  return (int64_t) CLAMP (q, -INT64_MAX, INT64_MAX);
}

int64_t
ref_round (RefWide n, int64_t d, double bias, RefRounding rounding)
{
  int half = rounding == REF_HALF_UP;

  return bias < 0 ? -round_part (-n, d, -bias, -half) : round_part (n, d, bias, half);
}

int64_t
ref_root (int64_t n)
{
  const int64_t r = kc_root (n);

  return r + (n - r * r > r);
}

int
ref_border (const char *border, int at, int n)
{
  if (at >= 0 && at < n)
    return at;
  if (g_str_equal (border, "constant"))
    return -1;
  if (g_str_equal (border, "wrap")) {
    while (at < 0)
      at += n;
    return at % n;
  }
  if (g_str_equal (border, "reflect101")) {
    while (n > 1 && (at < 0 || at >= n))
      at = at < 0 ? -at : 2 * (n - 1) - at;
    return n > 1 ? at : 0;
  }
  return at < 0 ? 0 : n - 1;
}
