/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * reference/convolve.c: the convolution filter written from its contract
 * (cuda/convolve/convolve.h) alone: every sample is a sum in 64 bits over the taps. A Gaussian is
 * summed along columns and then along rows, which gives the same integer. */
#include "convolve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sums --------------------------------------------------------------- */

/* A plane with the border samples that the kernel needs. */
typedef struct {
  int32_t *v;
  int pitch;
} Padded;

/* Pads a plane and subtracts `base` from all samples. `outside` is the value of samples outside
 * for border=constant. */
static Padded
pad (const KcPlane *plane, const RefKernel *k, const char *border, int base, int outside)
{
  Padded p = { .pitch = plane->w + k->w - 1 };

  p.v = malloc (sizeof *p.v * (size_t) p.pitch * (size_t) (plane->h + k->h - 1));
  for (int y = 0; p.v && y < plane->h + k->h - 1; y++)
    for (int x = 0; x < p.pitch; x++) {
      int from_x = ref_border (border, x - k->ax, plane->w), from_y = ref_border (border, y - k->ay, plane->h);
      int value = from_x < 0 || from_y < 0 ? outside
          : (int) plane->v[(size_t) from_y * (size_t) plane->w + (size_t) from_x];

      p.v[(size_t) y * (size_t) p.pitch + (size_t) x] = value - base;
    }
  return p;
}

static void
sum_row (const Padded *p, const RefKernel *k, const int64_t *c, int y, int w, int64_t *sums)
{
  memset (sums, 0, sizeof *sums * (size_t) w);
  for (int j = 0; j < k->h; j++)
    for (int i = 0; i < k->w; i++) {
      const int32_t *from = p->v + (size_t) (y + j) * (size_t) p->pitch + (size_t) i;
      int64_t weight = c[j * k->w + i];

      for (int x = 0; weight != 0 && x < w; x++)
        sums[x] += weight * from[x];
    }
}

/* Sums with the weights axis[i] axis[j]: all columns first, into `column`. */
static void
sum_row_axes (const Padded *p, const RefKernel *k, int y, int w, int64_t *column, int64_t *sums)
{
  memset (column, 0, sizeof *column * (size_t) p->pitch);
  for (int j = 0; j < k->h; j++) {
    const int32_t *from = p->v + (size_t) (y + j) * (size_t) p->pitch;

    for (int x = 0; x < p->pitch; x++)
      column[x] += k->axis[j] * from[x];
  }
  for (int x = 0; x < w; x++) {
    sums[x] = 0;
    for (int i = 0; i < k->w; i++)
      sums[x] += k->axis[i] * column[x + i];
  }
}

/* ---- one plane ---------------------------------------------------------- */

typedef struct {
  const RefKernel *k;
  const char *border;
  int outside, base, max;
  double bias;
} PlaneFilter;

static uint32_t
saturate (int64_t value, int max)
{
  return (uint32_t) (value < 0 ? 0 : value > max ? max : value);
}

/* Computes the result of one sample from its sums; x is the sample less base. */
static uint32_t
finish (const PlaneFilter *pf, int64_t s, int64_t t, int64_t x)
{
  const RefKernel *k = pf->k;

  switch (k->kind) {
    case REF_GAUSS:
      return saturate (ref_round (s, k->divisor, pf->bias, REF_HALF_UP) + pf->base, pf->max);
    case REF_UNSHARP:
      return saturate (ref_round (256 * k->divisor * x + k->amount * (k->divisor * x - s), 256 * k->divisor, pf->bias,
          REF_HALF_UP) + pf->base, pf->max);
    case REF_MAGNITUDE:
      return saturate (ref_round ((__int128) ref_root (s * s + t * t) * k->factor, k->divisor, pf->bias,
          REF_HALF_EVEN), pf->max);
    default:
      return saturate (ref_round (s, k->divisor, pf->bias, REF_HALF_EVEN) + pf->base, pf->max);
  }
}

static bool
filter_plane (const PlaneFilter *pf, KcPlane *plane)
{
  const RefKernel *k = pf->k;
  int64_t across[9] = { 0 };
  Padded p;
  bool good;

  if (plane->h == 0) /* the second field of a frame of one row */
    return true;
  p = pad (plane, k, pf->border, pf->base, pf->outside);
  good = p.v != NULL;
  for (int i = 0; i < 9; i++)
    across[i] = k->c[i % 3 * 3 + i / 3];
#ifdef _OPENMP
#pragma omp parallel if (good && (long) plane->w * plane->h * k->w * k->h > 4000000)
#endif
  {
    int64_t *sums = malloc (sizeof *sums * 3 * (size_t) p.pitch), *t = sums + p.pitch;

    if (!sums)
#ifdef _OPENMP
#pragma omp atomic write
#endif
      good = false;
#ifdef _OPENMP
#pragma omp for schedule(static)
#endif
    for (int y = 0; y < plane->h; y++) {
      const int32_t *here = p.v + (size_t) (y + k->ay) * (size_t) p.pitch + k->ax;

      if (!sums || !p.v)
        continue;
      memset (t, 0, sizeof *t * (size_t) plane->w);
      if (k->kind == REF_GAUSS || k->kind == REF_UNSHARP)
        sum_row_axes (&p, k, y, plane->w, t + p.pitch, sums);
      else
        sum_row (&p, k, k->c, y, plane->w, sums);
      if (k->kind == REF_MAGNITUDE)
        sum_row (&p, k, across, y, plane->w, t);
      for (int x = 0; x < plane->w; x++)
        plane->v[(size_t) y * (size_t) plane->w + (size_t) x] = finish (pf, sums[x], t[x], here[x]);
    }
    free (sums);
  }
  free (p.v);
  return good;
}

/* ---- frames ----------------------------------------------------------- */

static RefSetting
setting_of (const CfFilter *filter, const void *params)
{
  const char *typed = kc_param_text (filter, params, "kernel");

  return (RefSetting) {
    .preset = kc_param_name (filter, params, "preset"),
    .kernel = typed ? typed : kc_param_text (filter, params, "file-text"),
    .border = kc_param_name (filter, params, "border"),
    .gray = kc_param_name (filter, params, "gray"),
    .kernel_size = kc_param_int (filter, params, "kernel-size", 5),
    .border_value = kc_param_int (filter, params, "border-value", 0),
    .flip = kc_param_int (filter, params, "flip", 0) != 0,
    .sigma = kc_param_double (filter, params, "sigma"),
    .angle = kc_param_double (filter, params, "angle"),
    .amount = kc_param_double (filter, params, "amount"),
    .divisor = kc_param_double (filter, params, "divisor"),
    .bias = kc_param_double (filter, params, "bias"),
  };
}

typedef struct {
  const CfVideo *video;
  const CfFormatInfo *info;
  const RefSetting *s;
  const RefKernel *k;
  const CfImage *in, *out;
} Frame;

static PlaneFilter
plane_filter_for (const Frame *p, bool chroma)
{
  int max = (1 << p->info->bits) - 1, mid = 1 << (p->info->bits - 1);
  int outside = p->s->border_value > max ? max : p->s->border_value;

  return (PlaneFilter) {
    .k = p->k,
    .border = p->s->border,
    .outside = chroma ? mid : outside,
    .base = chroma ? mid : 0,
    .max = max,
    .bias = chroma ? 0 : p->s->bias,
  };
}

static bool
filter_component (const Frame *p, int component, int field)
{
  KcPlane plane = kc_unpack (p->video, p->in, component, field);
  PlaneFilter pf = plane_filter_for (p, p->info->comp[component].role == CF_ROLE_CHROMA);
  bool good = plane.v && filter_plane (&pf, &plane);

  if (good)
    kc_pack (p->video, p->out, component, field, &plane);
  free (plane.v);
  return good;
}

static bool
write_mid (const Frame *p, int component, int field)
{
  KcPlane plane = kc_unpack (p->video, p->in, component, field);

  for (size_t i = 0; plane.v && i < (size_t) plane.w * (size_t) plane.h; i++)
    plane.v[i] = 1u << (p->info->bits - 1);
  if (plane.v)
    kc_pack (p->video, p->out, component, field, &plane);
  free (plane.v);
  return plane.v != NULL;
}

/* Filters the gray plane of R, G and B of a field and writes it to all three. */
static bool
filter_gray (const Frame *p, int field)
{
  KcPlane rgb[3] = { 0 };
  PlaneFilter pf = plane_filter_for (p, false);
  bool mean = strcmp (p->s->gray, "mean") == 0, good = true;

  for (int c = 0; c < p->info->n_components; c++) {
    int which = (int) p->info->comp[c].role - CF_ROLE_RED;

    if (which >= 0 && which < 3)
      rgb[which] = kc_unpack (p->video, p->in, c, field);
  }
  for (int i = 0; i < 3; i++)
    good = good && rgb[i].v;
  for (size_t i = 0; good && i < (size_t) rgb[0].w * (size_t) rgb[0].h; i++) {
    uint32_t r = rgb[0].v[i], g = rgb[1].v[i], b = rgb[2].v[i];

    rgb[0].v[i] = mean ? (r + g + b) / 3 : (77 * r + 150 * g + 29 * b + 128) >> 8;
  }
  good = good && (p->k->identity || filter_plane (&pf, &rgb[0]));
  for (int c = 0; good && c < p->info->n_components; c++)
    if (p->info->comp[c].role >= CF_ROLE_RED && p->info->comp[c].role <= CF_ROLE_BLUE)
      kc_pack (p->video, p->out, c, field, &rgb[0]);
  for (int i = 0; i < 3; i++)
    free (rgb[i].v);
  return good;
}

static bool
reference (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params,
    const CfImage *const *seen, int n_seen, const CfImage *out)
{
  RefSetting s = setting_of (filter, params);
  RefKernel *k = malloc (sizeof *k);
  Frame p = { video, cf_format_info (video->format), &s, k, seen[0], out };
  bool gray = strcmp (s.gray, "none") != 0, good = k && ref_kernel_make (&s, p.info->bits, k);

  (void) n_seen;
  for (int c = 0; good && c < p.info->n_components; c++) {
    bool chroma = p.info->comp[c].role == CF_ROLE_CHROMA, filtered = kc_is_filtered (p.info, c, common);
    bool mid = filtered && chroma && (gray || k->kind == REF_MAGNITUDE);

    if (filtered && gray && p.info->rgb)
      continue;
    if (!filtered || (!mid && k->identity))
      kc_copy_component (seen[0], out, c);
    for (int f = 0; filtered && f < kc_fields (video); f++)
      if (mid || !k->identity)
        good = (mid ? write_mid (&p, c, f) : filter_component (&p, c, f)) && good;
  }
  for (int f = 0; good && gray && p.info->rgb && f < kc_fields (video); f++)
    good = filter_gray (&p, f);
  free (k);
  return good;
}

static bool
accepts (const CfFilter *filter, const CfVideo *video, const void *params)
{
  RefSetting s = setting_of (filter, params);
  RefKernel *k = malloc (sizeof *k);
  bool good = k && ref_kernel_make (&s, cf_format_info (video->format)->bits, k);

  free (k);
  return good;
}

/* ---- the reference against results by hand ---------------------------- */

static const RefSetting plain = { .preset = "custom", .border = "replicate", .gray = "none", .kernel_size = 3,
  .amount = 1 };

/* Filters a small 8-bit plane with a setting; returns 0 if the result is the expected one, else 1. */
static int
wrong_plane (const char *what, RefSetting s, int w, int h, const uint32_t *in, const uint32_t *expected)
{
  uint32_t v[64];
  RefKernel *k = malloc (sizeof *k);
  KcPlane plane = { v, w, h };
  PlaneFilter pf = { .k = k, .border = s.border, .outside = s.border_value, .max = 255, .bias = s.bias };
  bool good;

  memcpy (v, in, sizeof *v * (size_t) (w * h));
  good = k && ref_kernel_make (&s, 8, k) && (k->identity || filter_plane (&pf, &plane)) &&
      memcmp (v, expected, sizeof *v * (size_t) (w * h)) == 0;
  if (!good) {
    printf ("the reference of %s:", what);
    for (int i = 0; i < w * h; i++)
      printf (" %u (%u)", v[i], expected[i]);
    printf ("\n");
  }
  free (k);
  return !good;
}

static int
wrong_number (const char *what, int64_t got, int64_t expected)
{
  if (got != expected)
    printf ("the reference's %s: %lld instead of %lld\n", what, (long long) got, (long long) expected);
  return got != expected;
}

#define ROW(...) ((const uint32_t[]) { __VA_ARGS__ })

static int
check_planes (void)
{
  RefSetting s = plain;
  int failures = 0;

  /* A step of 10 to 20: 5 x 10 - 10 - 10 - 10 - 20 = 0, and 5 x 20 - 10 - 60 = 30. */
  s.preset = "sharpen";
  failures += wrong_plane ("sharpen", s, 4, 3, ROW (10, 10, 20, 20, 10, 10, 20, 20, 10, 10, 20, 20),
      ROW (10, 0, 30, 20, 10, 0, 30, 20, 10, 0, 30, 20));
  /* An even side: the anchor is the second of two taps, so the left neighbour is used. */
  s = plain;
  s.kernel = "1 0";
  failures += wrong_plane ("1 0", s, 4, 1, ROW (1, 2, 3, 4), ROW (1, 1, 2, 3));
  /* Flipped: 0 1 with the anchor on the first tap: the right neighbour. */
  s.flip = true;
  failures += wrong_plane ("1 0 flipped", s, 4, 1, ROW (1, 2, 3, 4), ROW (2, 3, 4, 4));
  s.kernel = "1 2 4", s.divisor = 1;
  failures += wrong_plane ("1 2 4 flipped", s, 3, 1, ROW (1, 0, 0), ROW (6, 4, 0));
  s.flip = false;
  failures += wrong_plane ("1 2 4", s, 3, 1, ROW (0, 1, 0), ROW (4, 2, 1));
  s.kernel = "1,0;0,0", s.divisor = 0;
  failures += wrong_plane ("1,0;0,0", s, 2, 2, ROW (1, 2, 3, 4), ROW (1, 1, 1, 1));
  /* Halves round to even: 1, 3, 5, 7 by 2 are 0, 2, 2, 4; gauss rounds them up. */
  s.kernel = "1", s.divisor = 2;
  failures += wrong_plane ("halves", s, 4, 1, ROW (1, 3, 5, 7), ROW (0, 2, 2, 4));
  s.bias = -0.5;
  failures += wrong_plane ("halves less a half", s, 4, 1, ROW (1, 2, 4, 6), ROW (0, 0, 2, 2));
  s.bias = 254;
  failures += wrong_plane ("saturated", s, 4, 1, ROW (1, 2, 4, 60), ROW (254, 255, 255, 255));
  s = plain;
  s.preset = "gauss";
  /* 1 2 1 by 4 of 0 0 2 0: 0.5 1 0.5. */
  failures += wrong_plane ("gauss", s, 4, 1, ROW (0, 0, 2, 0), ROW (0, 1, 1, 1));
  s.kernel_size = 63, s.sigma = 7.3;
  failures += wrong_plane ("flat gauss", s, 3, 2, ROW (77, 77, 77, 77, 77, 77), ROW (77, 77, 77, 77, 77, 77));
  /* A step of 8 at sobel: gx = 8 x 4, in the middle of it. */
  s = plain;
  s.preset = "sobel", s.divisor = 2;
  failures += wrong_plane ("sobel", s, 4, 2, ROW (0, 0, 8, 8, 0, 0, 8, 8), ROW (0, 16, 16, 0, 0, 16, 16, 0));
  /* Borders, three taps: left, middle, right. */
  s = plain;
  s.kernel = "1 10 100", s.divisor = 1, s.border = "wrap";
  failures += wrong_plane ("wrap 3", s, 3, 1, ROW (0, 1, 2), ROW (102, 210, 21));
  s.border = "reflect101";
  failures += wrong_plane ("reflect101 3", s, 3, 1, ROW (0, 1, 2), ROW (101, 210, 121));
  failures += wrong_plane ("reflect101 1", s, 1, 1, ROW (2), ROW (222));
  s.border = "constant", s.border_value = 2;
  failures += wrong_plane ("constant", s, 2, 1, ROW (0, 1), ROW (102, 210));
  return failures;
}

static int
check_reference (void)
{
  static const struct { const char *border; int n, at[9]; } borders[] = { /* -4 .. 4 */
    { "wrap", 1, { 0, 0, 0, 0, 0, 0, 0, 0, 0 } }, { "wrap", 2, { 0, 1, 0, 1, 0, 1, 0, 1, 0 } },
    { "wrap", 3, { 2, 0, 1, 2, 0, 1, 2, 0, 1 } }, { "reflect101", 1, { 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
    { "reflect101", 2, { 0, 1, 0, 1, 0, 1, 0, 1, 0 } }, { "reflect101", 3, { 0, 1, 2, 1, 0, 1, 2, 1, 0 } },
    { "replicate", 2, { 0, 0, 0, 0, 0, 1, 1, 1, 1 } }, { "constant", 2, { -1, -1, -1, -1, 0, 1, -1, -1, -1 } },
  };
  int failures = check_planes ();
  RefSetting s = plain;
  RefKernel *k = malloc (sizeof *k);

  for (size_t b = 0; b < sizeof borders / sizeof *borders; b++)
    for (int i = 0; i < 9; i++)
      failures += wrong_number (borders[b].border, ref_border (borders[b].border, i - 4, borders[b].n),
          borders[b].at[i]);
  /* 12 is nearer to 3^2 than to 4^2; 12.25 = 3.5^2, so 13 is nearer to 4. */
  failures += wrong_number ("root of 12", ref_root (12), 3) + wrong_number ("root of 13", ref_root (13), 4) +
      wrong_number ("root of 0", ref_root (0), 0) + wrong_number ("root of 2", ref_root (2), 1) +
      wrong_number ("root of 3", ref_root (3), 2);
  /* 5 / 2 is a half; the smallest bias moves it off the half. */
  failures += wrong_number ("5/2", ref_round (5, 2, 0, REF_HALF_EVEN), 2) +
      wrong_number ("5/2 + 1e-300", ref_round (5, 2, 1e-300, REF_HALF_EVEN), 3) +
      wrong_number ("7/2 - 1e-300", ref_round (7, 2, -1e-300, REF_HALF_EVEN), 3) +
      wrong_number ("-5/2", ref_round (-5, 2, 0, REF_HALF_EVEN), -2) +
      wrong_number ("-5/2 up", ref_round (-5, 2, 0, REF_HALF_UP), -2) +
      wrong_number ("-7/2 up", ref_round (-7, 2, 0, REF_HALF_UP), -3) +
      wrong_number ("-7/2 - 0 up, with a bias", ref_round (-5, 2, -1, REF_HALF_UP), -3) +
      wrong_number ("1/4 + 1/4", ref_round (1, 4, 0.25, REF_HALF_EVEN), 0) +
      wrong_number ("3/4 + 3/4", ref_round (3, 4, 0.75, REF_HALF_EVEN), 2) +
      wrong_number ("1/3 + 0.1666", ref_round (1, 3, 0.1666, REF_HALF_EVEN), 0) +
      wrong_number ("1/3 + 0.1667", ref_round (1, 3, 0.1667, REF_HALF_EVEN), 1);
  /* Weights: halves become whole at n = 1; thirds are rounded, and the centre
   * takes what is missing: 3 x 21845 = 65535. */
  s.kernel = "0.5 1 0.5";
  failures += !k || !ref_kernel_make (&s, 8, k) || k->c[0] != 1 || k->c[1] != 2 || k->divisor != 4;
  s.kernel = "0.1 0.1 0.1";
  failures += !k || !ref_kernel_make (&s, 8, k) || k->c[0] != 21845 || k->c[1] != 21846 || k->divisor != 65536;
  s.kernel = "0.1 0 -0.1";
  failures += !k || !ref_kernel_make (&s, 8, k) || k->c[0] != 6554 || k->c[1] != 0 || k->divisor != 65536;
  /* 255 x 8421505 is over 2^31, and at 16 bit it fits. */
  s.kernel = "8421504", s.divisor = 1;
  failures += !k || !ref_kernel_make (&s, 8, k);
  s.kernel = "8421505";
  failures += !k || ref_kernel_make (&s, 8, k) || !ref_kernel_make (&s, 16, k);
  free (k);
  return failures;
}

#define BENCH_SIZES "3,5,7,9,15,31"

static const KcBench bench[] = {
  { "dense", "any=%dx%d weights=8", BENCH_SIZES, "dense" },
  { "gauss", "preset=gauss kernel-size=%d", BENCH_SIZES, "gauss" },
  { "box", "preset=box kernel-size=%d", BENCH_SIZES, "box" },
  { "16 bit", "any=%dx%d weights=16", "3", "dense" },
  { "fraction", "any=%dx%d weights=0", "3,7,15", "dense" },
  { 0 }
};

const KcFilter kc_convolve = {
  .stem = "convolve",
  .reference = reference,
  .check_reference = check_reference,
  .accepts = accepts,
  .random_setting = ref_convolve_random,
  .expand = ref_convolve_expand,
  .settings = ref_convolve_settings,
  .sanitize_settings = ref_convolve_sanitize_settings,
  .large_settings = ref_convolve_large_settings,
  .bad_settings = ref_convolve_bad_settings,
  .bad_8bit_settings = ref_convolve_bad_8bit_settings,
  .right = "kernel=1,2,1;2,4,2;1,2,1",
  .wrong = "kernel=1,2,1;2,4,2;1,2,2",
  .bench = bench,
  .bench_formats = "GRAY8,RGBA",
};
