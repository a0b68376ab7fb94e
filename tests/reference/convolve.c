/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * reference/convolve.c: the convolution filter written from its contract (cuda/convolve/convolve.h) alone: every sample
 * is a sum in 64 bits over the taps. A Gaussian is summed along columns and then along rows, which gives the same
 * integer. */
#include "convolve.h"

#include <stdio.h>
#include <string.h>

/* ---- sums --------------------------------------------------------------- */

/* A plane with the border samples that the kernel needs. */
typedef struct {
  int32_t *v;
  int pitch;
} Padded;

/* Pads a plane and subtracts `base` from all samples. `outside` is the value of samples outside for border=constant. */
static Padded
pad (const KcPlane *plane, const RefKernel *k, const char *border, int base, int outside)
{
  Padded p = { .pitch = plane->w + k->w - 1 };

  p.v = g_new (int32_t, p.pitch *(plane->h + k->h - 1));
  for (int y = 0; y < plane->h + k->h - 1; y++)
    for (int x = 0; x < p.pitch; x++) {
      int from_x = ref_border (border, x - k->ax, plane->w), from_y = ref_border (border, y - k->ay, plane->h);
      int value = from_x < 0 || from_y < 0 ? outside : (int) plane->v[from_y * plane->w + from_x];

      p.v[y * p.pitch + x] = value - base;
    }
  return p;
}

static KC_VECTORS void
sum_row (const Padded *p, const RefKernel *k, const int64_t *c, int y, int w, int64_t *sums)
{
  memset (sums, 0, sizeof *sums * (size_t) w);
  for (int j = 0; j < k->h; j++)
    for (int i = 0; i < k->w; i++) {
      const int32_t *from = p->v + (y + j) * p->pitch + i;
      int64_t weight = c[j * k->w + i];

      for (int x = 0; weight != 0 && x < w; x++)
        sums[x] += weight * from[x];
    }
}

/* Sums with the weights across[i] down[j]: all columns first, into `column`. */
static void
sum_row_axes (const Padded *p, const RefKernel *k, int y, int w, int64_t *column, int64_t *sums)
{
  memset (column, 0, sizeof *column * (size_t) p->pitch);
  for (int j = 0; j < k->h; j++) {
    const int32_t *from = p->v + (y + j) * p->pitch;

    for (int x = 0; x < p->pitch; x++)
      column[x] += k->down[j] * from[x];
  }
  for (int x = 0; x < w; x++) {
    sums[x] = 0;
    for (int i = 0; i < k->w; i++)
      sums[x] += k->across[i] * column[x + i];
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
  return (uint32_t) CLAMP (value, 0, max);
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
      return saturate (
          ref_round (256 * k->divisor * x + k->amount * (k->divisor * x - s), 256 * k->divisor, pf->bias, REF_HALF_UP) +
              pf->base,
          pf->max);
    case REF_MAGNITUDE:
      return saturate (ref_round ((RefWide) ref_root (s * s + t * t) * k->factor, k->divisor, pf->bias, REF_HALF_EVEN),
          pf->max);
    default:
      return saturate (ref_round (s, k->divisor, pf->bias, REF_HALF_EVEN) + (k->signed_ ? pf->max / 2 + 1 : pf->base),
          pf->max);
  }
}

static void
filter_plane (const PlaneFilter *pf, KcPlane *plane)
{
  const RefKernel *k = pf->k;
  int64_t across[9] = { 0 };
  Padded p;

  if (plane->h == 0) /* the second field of a frame of one row */
    return;
  p = pad (plane, k, pf->border, pf->base, pf->outside);
  for (int i = 0; i < 9; i++)
    across[i] = k->c[i % 3 * 3 + i / 3];
#ifdef _OPENMP
#pragma omp parallel if ((long) plane->w * plane->h * k->w * k->h > 4000000)
#endif
  {
    g_autofree int64_t *sums = g_new (int64_t, 3 * p.pitch);
    int64_t *t = sums + p.pitch;

#ifdef _OPENMP
#pragma omp for schedule(static)
#endif
    for (int y = 0; y < plane->h; y++) {
      const int32_t *here = p.v + (y + k->ay) * p.pitch + k->ax;

      memset (t, 0, sizeof *t * (size_t) plane->w);
      if (k->kind == REF_GAUSS || k->kind == REF_UNSHARP)
        sum_row_axes (&p, k, y, plane->w, t + p.pitch, sums);
      else
        sum_row (&p, k, k->c, y, plane->w, sums);
      if (k->kind == REF_MAGNITUDE)
        sum_row (&p, k, across, y, plane->w, t);
      for (int x = 0; x < plane->w; x++)
        plane->v[y * plane->w + x] = finish (pf, sums[x], t[x], here[x]);
    }
  }
  g_free (p.v);
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
    .kernel_size = kc_param_int (filter, params, "kernel-size", 0),
    .kernel_width = kc_param_int (filter, params, "kernel-width", 0),
    .kernel_height = kc_param_int (filter, params, "kernel-height", 0),
    .border_value = kc_param_int (filter, params, "border-value", 0),
    .blocks = kc_param_int (filter, params, "blocks", 0),
    .fill_color = (uint32_t) kc_param_int (filter, params, "fill-color", 0),
    .flip = kc_param_int (filter, params, "flip", 0) != 0,
    .sigma = kc_param_double (filter, params, "sigma"),
    .sigma_y = kc_param_double (filter, params, "sigma-y"),
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

  return (PlaneFilter) {
    .k = p->k,
    .border = p->s->border,
    .outside = chroma ? mid : MIN (p->s->border_value, max),
    .base = chroma ? mid : 0,
    .max = max,
    .bias = chroma ? 0 : p->s->bias,
  };
}

/* Filters a component of a field, or fills it with the middle level. */
static void
filter_component (const Frame *p, int component, int field, bool mid)
{
  KcPlane plane = kc_unpack (p->video, p->in, component, field);
  PlaneFilter pf = plane_filter_for (p, p->info->comp[component].role == CF_ROLE_CHROMA);

  if (!mid)
    filter_plane (&pf, &plane);
  for (int i = 0; mid && i < plane.w * plane.h; i++)
    plane.v[i] = 1u << (p->info->bits - 1);
  kc_pack (p->video, p->out, component, field, &plane);
  g_free (plane.v);
}

/* Filters the gray plane of R, G and B of a field and writes it to all three. */
static void
filter_gray (const Frame *p, int field)
{
  const bool mean = g_str_equal (p->s->gray, "mean");
  PlaneFilter pf = plane_filter_for (p, false);
  int components[3] = { 0 };
  KcPlane rgb[3];

  kc_rgb_components (p->info, components);
  for (int i = 0; i < 3; i++)
    rgb[i] = kc_unpack (p->video, p->in, components[i], field);
  for (int i = 0; i < rgb[0].w * rgb[0].h; i++) {
    uint32_t r = rgb[0].v[i], g = rgb[1].v[i], b = rgb[2].v[i];

    rgb[0].v[i] = mean ? (r + g + b) / 3 : (77 * r + 150 * g + 29 * b + 128) >> 8;
  }
  if (!p->k->identity)
    filter_plane (&pf, &rgb[0]);
  for (int i = 0; i < 3; i++)
    kc_pack (p->video, p->out, components[i], field, &rgb[0]);
  for (int i = 0; i < 3; i++)
    g_free (rgb[i].v);
}

static void
hide_component (const Frame *p, int component, int field)
{
  KcPlane plane = kc_unpack (p->video, p->in, component, field);

  ref_hide (p->s, p->video, component, &plane);
  kc_pack (p->video, p->out, component, field, &plane);
  g_free (plane.v);
}

static bool
reference (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params,
    const CfImage *const *seen, int n_seen, const CfImage *out)
{
  g_autofree RefKernel *k = g_new (RefKernel, 1);
  RefSetting s = setting_of (filter, params);
  Frame p = { video, cf_format_info (video->format), &s, k, seen[0], out };
  const bool gray = !g_str_equal (s.gray, "none");

  (void) n_seen;
  s.colors = common->colors;
  for (int c = 0; ref_hides (&s) && c < p.info->n_components; c++)
    if (!kc_is_filtered (p.info, c, common))
      kc_copy_component (seen[0], out, c);
    else
      for (int f = 0; f < kc_fields (video); f++)
        hide_component (&p, c, f);
  if (ref_hides (&s))
    return !gray;
  if (!ref_kernel_make (&s, p.info->bits, k))
    return false;
  for (int c = 0; c < p.info->n_components; c++) {
    bool chroma = p.info->comp[c].role == CF_ROLE_CHROMA, filtered = kc_is_filtered (p.info, c, common);
    bool mid = filtered && chroma && (gray || k->kind == REF_MAGNITUDE);

    if (filtered && gray && p.info->rgb)
      continue;
    if (!filtered || (!mid && k->identity))
      kc_copy_component (seen[0], out, c);
    else
      for (int f = 0; f < kc_fields (video); f++)
        filter_component (&p, c, f, mid);
  }
  for (int f = 0; gray && p.info->rgb && f < kc_fields (video); f++)
    filter_gray (&p, f);
  return true;
}

static bool
accepts (const CfFilter *filter, const CfVideo *video, const void *params)
{
  g_autofree RefKernel *k = g_new (RefKernel, 1);
  RefSetting s = setting_of (filter, params);

  if (ref_hides (&s))
    return g_str_equal (s.gray, "none") && (s.kernel_size == 0 || s.kernel_size % 2 == 1) &&
        (s.kernel_width == 0 || s.kernel_width % 2 == 1) && (s.kernel_height == 0 || s.kernel_height % 2 == 1);
  return ref_kernel_make (&s, cf_format_info (video->format)->bits, k);
}

/* ---- the reference against results by hand ---------------------------- */

/* Filters a small 8-bit plane with a setting; returns 0 if the result is the expected one, else 1. */
static int
wrong_plane (const char *what, RefSetting s, int w, int h, const uint32_t *in, const uint32_t *expected)
{
  g_autofree RefKernel *k = g_new (RefKernel, 1);
  g_autofree uint32_t *v = g_memdup2 (in, sizeof *in * (size_t) (w * h));
  KcPlane plane = { v, w, h };
  PlaneFilter pf = { .k = k, .border = s.border, .outside = s.border_value, .max = 255, .bias = s.bias };
  bool hides = ref_hides (&s), good = hides || ref_kernel_make (&s, 8, k);

  if (hides)
    ref_hide (&s, &(CfVideo) { .format = CF_FORMAT_GRAY8, .width = w, .height = h }, 0, &plane);
  else if (good && !k->identity)
    filter_plane (&pf, &plane);
  return kc_wrong_samples (what, good, v, expected, w * h);
}

static int
check_planes (void)
{
  /* Without a preset: custom; without a border: replicate. */
  static const struct {
    const char *what;
    RefSetting s;
    int w, h;
    uint32_t in[12], expected[12];
  } cases[] = {
    /* A step of 10 to 20: 5 x 10 - 10 - 10 - 10 - 20 = 0, and 5 x 20 - 10 - 60 = 30. */
    { "sharpen", { .preset = "sharpen", .amount = 1 }, 4, 3, { 10, 10, 20, 20, 10, 10, 20, 20, 10, 10, 20, 20 },
        { 10, 0, 30, 20, 10, 0, 30, 20, 10, 0, 30, 20 } },
    /* An even side: the anchor is the second of two taps, so the left neighbour is used. */
    { "1 0", { .kernel = "1 0" }, 4, 1, { 1, 2, 3, 4 }, { 1, 1, 2, 3 } },
    /* Flipped: 0 1 with the anchor on the first tap: the right neighbour. */
    { "1 0 flipped", { .kernel = "1 0", .flip = true }, 4, 1, { 1, 2, 3, 4 }, { 2, 3, 4, 4 } },
    { "1 2 4 flipped", { .kernel = "1 2 4", .flip = true, .divisor = 1 }, 3, 1, { 1, 0, 0 }, { 6, 4, 0 } },
    { "1 2 4", { .kernel = "1 2 4", .divisor = 1 }, 3, 1, { 0, 1, 0 }, { 4, 2, 1 } },
    { "1,0;0,0", { .kernel = "1,0;0,0" }, 2, 2, { 1, 2, 3, 4 }, { 1, 1, 1, 1 } },
    /* Halves round to even: 1, 3, 5, 7 by 2 are 0, 2, 2, 4; gauss rounds them up. */
    { "halves", { .kernel = "1", .divisor = 2 }, 4, 1, { 1, 3, 5, 7 }, { 0, 2, 2, 4 } },
    { "halves less a half", { .kernel = "1", .divisor = 2, .bias = -0.5 }, 4, 1, { 1, 2, 4, 6 }, { 0, 0, 2, 2 } },
    { "saturated", { .kernel = "1", .divisor = 2, .bias = 254 }, 4, 1, { 1, 2, 4, 60 }, { 254, 255, 255, 255 } },
    /* 1 2 1 by 4 of 0 0 2 0: 0.5 1 0.5. */
    { "gauss", { .preset = "gauss", .kernel_size = 3 }, 4, 1, { 0, 0, 2, 0 }, { 0, 1, 1, 1 } },
    { "flat gauss", { .preset = "gauss", .kernel_size = 63, .sigma = 7.3 }, 3, 2, { 77, 77, 77, 77, 77, 77 },
        { 77, 77, 77, 77, 77, 77 } },
    /* A step of 8 at sobel: gx = 8 x 4, in the middle of it. */
    { "sobel", { .preset = "sobel", .divisor = 2 }, 4, 2, { 0, 0, 8, 8, 0, 0, 8, 8 }, { 0, 16, 16, 0, 0, 16, 16, 0 } },
    /* 8 x 4 by 4 and 128: brighter to the right is above the middle; downward nothing changes. */
    { "sobel-x", { .preset = "sobel-x", .divisor = 4 }, 4, 2, { 0, 8, 8, 0, 0, 8, 8, 0 },
        { 136, 136, 120, 120, 136, 136, 120, 120 } },
    { "sobel-y", { .preset = "sobel-y", .divisor = 4 }, 4, 2, { 0, 8, 8, 0, 0, 8, 8, 0 },
        { 128, 128, 128, 128, 128, 128, 128, 128 } },
    { "sobel-y downward", { .preset = "sobel-y", .divisor = 4 }, 2, 2, { 0, 0, 8, 8 }, { 136, 136, 136, 136 } },
    /* Sides that differ: 1 2 1 by 4 downward only; a sigma of 0.6 needs 5 samples, of which the outer ones are 0. */
    { "gauss 1 x 3", { .preset = "gauss", .kernel_size = 3, .kernel_width = 1 }, 2, 3, { 0, 8, 8, 0, 0, 0 },
        { 2, 6, 4, 2, 2, 0 } },
    { "box 3 x 1", { .preset = "box", .kernel_width = 3, .kernel_height = 1 }, 3, 1, { 0, 3, 9 }, { 1, 4, 7 } },
    { "box of the default size", { .preset = "box", .sigma = 9, .kernel_height = 1 }, 5, 1, { 0, 0, 0, 0, 10 },
        { 0, 0, 2, 4, 6 } },
    /* Borders, three taps: left, middle, right. */
    { "wrap 3", { .kernel = "1 10 100", .divisor = 1, .border = "wrap" }, 3, 1, { 0, 1, 2 }, { 102, 210, 21 } },
    { "reflect101 3", { .kernel = "1 10 100", .divisor = 1, .border = "reflect101" }, 3, 1, { 0, 1, 2 },
        { 101, 210, 121 } },
    { "reflect101 1", { .kernel = "1 10 100", .divisor = 1, .border = "reflect101" }, 1, 1, { 2 }, { 222 } },
    { "constant", { .kernel = "1 10 100", .divisor = 1, .border = "constant", .border_value = 2 }, 2, 1, { 0, 1 },
        { 102, 210 } },
    /* 0.299 255 = 76.2 */
    { "fill", { .preset = "fill", .fill_color = 0x12ff0000 }, 2, 2, { 1, 2, 3, 4 }, { 76, 76, 76, 76 } },
    /* A cell has 4 pixels at least, so one here, and two in 8: 10 / 4 and 43 / 4, halves up. */
    { "mosaic of 3", { .preset = "mosaic", .blocks = 2 }, 3, 1, { 7, 8, 9 }, { 8, 8, 8 } },
    { "mosaic of 8", { .preset = "mosaic", .blocks = 8 }, 8, 1, { 1, 2, 3, 4, 10, 10, 10, 13 },
        { 3, 3, 3, 3, 11, 11, 11, 11 } },
    /* The centres are at 2 and 6; (2 x + 1) 2 - 8 of 16 is the way from the first one to the second one. */
    { "privacy of 8", { .preset = "privacy", .blocks = 2 }, 8, 1, { 0, 0, 0, 0, 255, 255, 255, 255 },
        { 0, 0, 32, 96, 159, 223, 255, 255 } },
  };
  int failures = 0;

  for (size_t i = 0; i < G_N_ELEMENTS (cases); i++) {
    RefSetting s = cases[i].s;

    s.preset = s.preset ? s.preset : "custom";
    s.border = s.border ? s.border : "replicate";
    failures += wrong_plane (cases[i].what, s, cases[i].w, cases[i].h, cases[i].in, cases[i].expected);
  }
  return failures;
}

static int
wrong_number (const char *what, int64_t got, int64_t expected)
{
  if (got != expected)
    printf ("the reference's %s: %" G_GINT64_FORMAT " instead of %" G_GINT64_FORMAT "\n", what, got, expected);
  return got != expected;
}

/* The levels of BT.601 and BT.709 that color bars have, and the ends of the ranges. */
static int
check_colors (void)
{
  static const struct {
    CfColors colors;
    bool rgb;
    uint32_t argb, level[3];
  } known[] = {
    { { 0, 0, false }, false, 0xff000000, { 0, 128, 128 } },
    { { 0, 0, false }, false, 0xffffffff, { 255, 128, 128 } },
    { { 0, 0, false }, false, 0xff0000ff, { 29, 255, 107 } },
    { { 0, 0, false }, false, 0xffffff00, { 226, 0, 149 } },
    { { 2990, 1140, true }, false, 0x00ff0000, { 81, 90, 240 } },
    { { 2990, 1140, true }, false, 0x0000ff00, { 145, 54, 34 } },
    { { 0, 0, true }, false, 0x000000ff, { 41, 240, 110 } },
    { { 2126, 722, true }, false, 0x00ff0000, { 63, 102, 240 } },
    { { 2126, 722, true }, false, 0x0000ff00, { 173, 42, 26 } },
    { { 2126, 722, true }, false, 0x000000ff, { 32, 240, 118 } },
    { { 2627, 593, true }, false, 0xffffffff, { 235, 128, 128 } },
    { { 2627, 593, true }, false, 0xff404040, { 71, 128, 128 } },
    { { 0, 0, false }, true, 0xff010280, { 1, 2, 128 } },
    { { 0, 0, true }, true, 0xffff0080, { 235, 16, 126 } },
  };
  int failures = 0;

  for (size_t i = 0; i < G_N_ELEMENTS (known); i++)
    for (int k = 0; k < 3; k++)
      failures += wrong_number ("color", kc_color_level (&known[i].colors, known[i].rgb, known[i].argb, k),
          known[i].level[k]);
  return failures;
}

static int
check_numbers (void)
{
  static const struct {
    const char *border;
    int n, at[9];
  } borders[] = {
    /* -4 .. 4 */
    { "wrap", 1, { 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
    { "wrap", 2, { 0, 1, 0, 1, 0, 1, 0, 1, 0 } },
    { "wrap", 3, { 2, 0, 1, 2, 0, 1, 2, 0, 1 } },
    { "reflect101", 1, { 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
    { "reflect101", 2, { 0, 1, 0, 1, 0, 1, 0, 1, 0 } },
    { "reflect101", 3, { 0, 1, 2, 1, 0, 1, 2, 1, 0 } },
    { "replicate", 2, { 0, 0, 0, 0, 0, 1, 1, 1, 1 } },
    { "constant", 2, { -1, -1, -1, -1, 0, 1, -1, -1, -1 } },
  };
  /* 12 is nearer to 3^2 than to 4^2; 12.25 = 3.5^2, so 13 is nearer to 4. */
  static const int roots[][2] = { { 12, 3 }, { 13, 4 }, { 0, 0 }, { 2, 1 }, { 3, 2 } };
  /* 5 / 2 is a half; the smallest bias moves it off the half. */
  static const struct {
    int n, d;
    double bias;
    RefRounding rounding;
    int expected;
  } rounded[] = {
    { 5, 2, 0, REF_HALF_EVEN, 2 },
    { 5, 2, 1e-300, REF_HALF_EVEN, 3 },
    { 7, 2, -1e-300, REF_HALF_EVEN, 3 },
    { -5, 2, 0, REF_HALF_EVEN, -2 },
    { -5, 2, 0, REF_HALF_UP, -2 },
    { -7, 2, 0, REF_HALF_UP, -3 },
    { -5, 2, -1, REF_HALF_UP, -3 },
    { 1, 4, 0.25, REF_HALF_EVEN, 0 },
    { 3, 4, 0.75, REF_HALF_EVEN, 2 },
    { 1, 3, 0.1666, REF_HALF_EVEN, 0 },
    { 1, 3, 0.1667, REF_HALF_EVEN, 1 },
  };
  int failures = 0;

  for (size_t b = 0; b < G_N_ELEMENTS (borders); b++)
    for (int i = 0; i < 9; i++)
      failures += wrong_number (borders[b].border, ref_border (borders[b].border, i - 4, borders[b].n),
          borders[b].at[i]);
  for (size_t i = 0; i < G_N_ELEMENTS (roots); i++)
    failures += wrong_number ("root", ref_root (roots[i][0]), roots[i][1]);
  for (size_t i = 0; i < G_N_ELEMENTS (rounded); i++)
    failures += wrong_number ("rounding", ref_round (rounded[i].n, rounded[i].d, rounded[i].bias, rounded[i].rounding),
        rounded[i].expected);
  return failures;
}

/* Returns 0 if a kernel of 8 bits has these first two weights and this divisor; 0 0 0: if it is refused. */
static int
wrong_weights (const char *text, double divisor, int64_t first, int64_t second, int64_t expected)
{
  const RefSetting s = { .preset = "custom", .kernel = text, .divisor = divisor };
  g_autofree RefKernel *k = g_new (RefKernel, 1);

  if (!ref_kernel_make (&s, 8, k))
    return wrong_number (text, 0, expected) + !ref_kernel_make (&s, 16, k);
  return wrong_number (text, k->c[0], first) + wrong_number (text, k->c[1], second) +
      wrong_number (text, k->divisor, expected);
}

static int
check_reference (void)
{
  /* Weights: halves become whole at n = 1; thirds are rounded, and the centre takes what is missing: 3 x 21845 = 65535.
   * 255 x 8421505 is over 2^31, and at 16 bit it fits. */
  return check_planes () + check_numbers () + check_colors () + wrong_weights ("0.5 1 0.5", 0, 1, 2, 4) +
      wrong_weights ("0.1 0.1 0.1", 0, 21845, 21846, 65536) + wrong_weights ("0.1 0 -0.1", 0, 6554, 0, 65536) +
      wrong_weights ("8421504", 1, 8421504, 0, 1) + wrong_weights ("8421505", 1, 0, 0, 0);
}

#define BENCH_SIZES "3,5,7,9,15,31"

static const KcBench bench[] = { { "dense", "any=%dx%d weights=8", BENCH_SIZES ",63", "dense" },
  { "gauss", "preset=gauss kernel-size=%d", BENCH_SIZES ",101,255", "gauss" },
  { "box", "preset=box kernel-size=%d", BENCH_SIZES ",101,255", "box" },
  { "16 bit", "any=%dx%d weights=16", "3", "dense" }, { "fraction", "any=%dx%d weights=0", "3,7,15", "dense" },
  { "fill", "preset=fill blocks=%d", "8" }, { "mosaic", "preset=mosaic blocks=%d", "8" },
  { "privacy", "preset=privacy blocks=%d", "8" }, { 0 } };

const KcFilter kc_convolve = {
  .stem = "convolve",
  .reference = reference,
  .check_reference = check_reference,
  .accepts = accepts,
  .random_setting = ref_convolve_random,
  .expand = ref_convolve_expand,
  .settings = ref_convolve_settings,
  .format_settings = ref_convolve_format_settings,
  .sanitize_settings = ref_convolve_sanitize_settings,
  .large_settings = ref_convolve_large_settings,
  .whole = ref_convolve_whole,
  .bad_settings = ref_convolve_bad_settings,
  .bad_8bit_settings = ref_convolve_bad_8bit_settings,
  .bad_16bit_settings = ref_convolve_bad_16bit_settings,
  .right = "kernel=1,2,1;2,4,2;1,2,1",
  .wrong = "kernel=1,2,1;2,4,2;1,2,2",
  .bench = bench,
  .bench_formats = "GRAY8,RGBA",
};
