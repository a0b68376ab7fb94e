/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve_cases.c: the settings with which the convolution is tested. In this file ',' separates the numbers of a
 * kernel. */
#include "convolve.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A setting may abbreviate a kernel:
 *   any=WxH, sym=WxH, outer=WxH   random weights; equal when rotated by 180 degrees; a column times a row
 *   weights=B (4)   signed integers of B bits; 0: decimal fractions
 *   seed=N (1)      another random kernel
 * ref_convolve_expand replaces these by `kernel`, and adds a divisor if the sum is small. The list has a kernel at
 * every side length at which a variant could begin or end. */
const char *const ref_convolve_settings[] = {
  /* all_formats in sweep.c combines the first six with every format. */
  "preset=gauss", "kernel=1,-2,3;-4,50,6;7,-8,-9 bias=3 gray=mean", "preset=box kernel-size=7 border=wrap",
  "preset=sobel", "preset=unsharp kernel-size=9 gray=luma border=reflect101",
  "kernel=0.1,0.2;0.3,0.25 border=constant border-value=90",
  /* Presets. */
  "preset=identity", "preset=identity gray=luma", "preset=identity bias=-3.5", "preset=identity divisor=-2 bias=200",
  "preset=box kernel-size=1", "preset=box kernel-size=3", "preset=box kernel-size=5",
  "preset=box kernel-size=5 divisor=24", "preset=box kernel-size=9 bias=0.5", "preset=box kernel-size=15 gray=mean",
  "preset=box kernel-size=31 border=constant", "preset=box kernel-size=63 border=reflect101",
  "preset=gauss kernel-size=1", "preset=gauss kernel-size=3",
  "preset=gauss kernel-size=3 border=constant border-value=65535", "preset=gauss kernel-size=7 gray=mean",
  "preset=gauss kernel-size=9 border=wrap bias=-7.25", "preset=gauss kernel-size=5 sigma=0.01",
  "preset=gauss kernel-size=15 sigma=100", "preset=gauss kernel-size=25 border=reflect101",
  "preset=gauss kernel-size=31 sigma=4.5 bias=1e-9", "preset=gauss kernel-size=63 sigma=9.7",
  "preset=gauss kernel-size=63 border=wrap",
  /* Sides and sigmas that differ, and sizes that follow from sigma. */
  "preset=gauss kernel-width=1 kernel-height=9", "preset=gauss kernel-width=31 kernel-height=1",
  "preset=gauss kernel-width=7 kernel-height=63 sigma-y=11", "preset=gauss sigma=1.7", "preset=gauss sigma=20",
  "preset=gauss sigma=0.4 sigma-y=6 border=wrap", "preset=gauss sigma-y=3", "preset=gauss kernel-size=1 sigma=9",
  "preset=gauss kernel-size=9 kernel-width=3 sigma=1 sigma-y=0.01", "preset=box kernel-width=1",
  "preset=box kernel-width=63 kernel-height=3", "preset=box kernel-width=3 kernel-height=31 border=reflect101",
  "preset=box kernel-height=1 sigma=9", "preset=unsharp sigma=2.5", "preset=unsharp kernel-width=1 kernel-height=15",
  "preset=unsharp kernel-size=3 kernel-width=31 sigma-y=0.7 amount=2", "preset=log sigma=1.4 divisor=0.1 bias=128",
  "preset=log sigma=3 sigma-y=1 divisor=0.05", "preset=log kernel-width=9 kernel-height=5 divisor=0.1",
  "preset=motion kernel-width=3 sigma=9",
  /* Sides above 63. */
  "preset=gauss kernel-size=65", "preset=gauss kernel-size=255 border=reflect101", "preset=gauss sigma=42.3",
  "preset=gauss sigma=100 border=wrap bias=-3", "preset=gauss kernel-width=255 kernel-height=3 sigma=31 gray=luma",
  "preset=gauss kernel-width=5 kernel-height=101", "preset=gauss kernel-size=255 sigma=0.01",
  "preset=box kernel-size=65", "preset=box kernel-size=255 border=constant",
  "preset=box kernel-width=255 kernel-height=1", "preset=box kernel-width=3 kernel-height=255 border=wrap",
  "preset=box kernel-width=129 kernel-height=7 divisor=-90.3 bias=200 flip=1",
  "preset=box kernel-width=71 kernel-height=65 divisor=0.7", "preset=box kernel-size=127 divisor=1 gray=mean",
  "preset=box kernel-width=67 kernel-height=1 divisor=1e9", "preset=unsharp kernel-size=127",
  "preset=unsharp kernel-width=1 kernel-height=255 amount=3.3 bias=1", "preset=sharpen kernel-size=255",
  "preset=sharpen", "preset=sharpen amount=0", "preset=sharpen amount=0.3", "preset=sharpen amount=9.9999 border=wrap",
  "preset=laplace bias=128", "preset=laplace divisor=-3.7", "preset=unsharp", "preset=unsharp kernel-size=1 amount=3",
  "preset=unsharp kernel-size=1 bias=-40000", "preset=unsharp kernel-size=3 amount=0",
  "preset=unsharp kernel-size=31 amount=10 bias=-0.5",
  "preset=unsharp kernel-size=63 sigma=12 amount=0.502 border=wrap", "preset=emboss bias=128", "preset=emboss angle=45",
  "preset=emboss angle=-112.5 flip=1", "preset=emboss angle=360", "preset=sobel divisor=4 border=reflect101",
  "preset=sobel divisor=0.3 bias=-11.75 gray=luma", "preset=prewitt divisor=-1 bias=255",
  "preset=scharr divisor=16 border=wrap", "preset=scharr gray=mean border=constant", "preset=scharr divisor=0.0001",
  "preset=sobel divisor=1e9", "preset=sobel-x", "preset=sobel-x divisor=8 border=wrap flip=1",
  "preset=sobel-x divisor=-0.3 bias=1e-9", "preset=sobel-y divisor=5",
  "preset=sobel-y divisor=4.7 gray=luma bias=-11.5", "preset=sobel-y divisor=1e9 border=constant",
  "preset=log bias=128", "preset=log kernel-size=1", "preset=log kernel-size=9 sigma=1.4 divisor=0.125",
  "preset=log kernel-size=31 sigma=5 divisor=0.01", "preset=motion", "preset=motion kernel-size=9 angle=30",
  "preset=motion kernel-size=31 angle=-75 border=reflect101", "preset=motion kernel-size=63 angle=45",
  "preset=motion kernel-size=15 angle=90",
  /* Presets that hide. */
  "preset=fill", "preset=fill fill-color=0x80f01234 border=wrap", "preset=mosaic", "preset=mosaic blocks=2",
  "preset=mosaic blocks=3", "preset=mosaic blocks=64", "preset=mosaic blocks=17", "preset=privacy",
  "preset=privacy blocks=2", "preset=privacy blocks=5 border=wrap", "preset=privacy blocks=64",
  "preset=privacy blocks=16",
  /* Dense kernels of small weights, at every side length at which variants change. */
  "any=1x1", "any=2x2", "any=3x3", "any=4x4", "any=5x5", "any=6x6", "any=7x7", "any=8x8", "any=9x9", "any=10x10",
  "any=15x15", "any=16x16", "any=22x22", "any=23x23", "any=25x25 flip=1", "any=26x26", "any=31x31 border=wrap",
  "any=32x32", "any=33x33", "any=54x54", "any=58x58 border=reflect101", "any=63x63", "any=63x1", "any=1x63 flip=1",
  "any=3x9", "any=9x3", "any=4x5 flip=1", "any=2x63", "any=63x2 border=constant", "any=31x3",
  "any=17x15 border=constant",
  /* 8 bit, 16 bit and 31 bit weights, fractions. */
  "any=3x3 weights=8", "any=5x5 weights=8 border=wrap", "any=7x7 weights=8 flip=1", "any=8x7 weights=8",
  "any=9x9 weights=8", "any=13x13 weights=8 border=reflect101", "any=15x15 weights=8", "any=25x25 weights=8",
  "any=31x31 weights=8", "any=33x31 weights=8 flip=1", "any=63x63 weights=8", "any=3x3 weights=16",
  "any=5x5 weights=16", "any=7x7 weights=16 border=wrap", "any=15x15 weights=12", "any=31x31 weights=11",
  "any=2x1 weights=22", "any=3x3 weights=0", "any=7x7 weights=0", "any=15x15 weights=0",
  "any=31x31 weights=0 border=wrap", "any=63x63 weights=0", "any=9x9 weights=8 divisor=-12.5 bias=99.75",
  "any=5x5 weights=8 divisor=0.3", "any=5x5 weights=8 divisor=1e9 bias=-0.5", "any=4x4 weights=8 bias=1e-200",
  /* Separable and symmetric kernels. */
  "sym=3x3 weights=8", "sym=7x7 weights=8", "sym=15x15", "outer=3x3", "outer=5x5", "outer=7x5 border=wrap", "outer=2x2",
  "outer=9x9 weights=8", "outer=16x16 flip=1", "outer=31x31", "outer=63x63 border=reflect101", "outer=15x15 weights=8",
  "outer=7x7 weights=8 bias=0.25", "kernel=1,2,1;2,4,2;1,2,1", "kernel=1,0,-1;2,0,-2;1,0,-1 bias=128",
  "kernel=8421504 divisor=8421504", "kernel=1,1,1;1,-8,1;1,1,1 gray=luma", "kernel=0", "kernel=0,0;0,0 bias=17",
  "kernel=2 divisor=2", "kernel=0,0,0;0,0.7,0;0,0,0", "kernel=-1", "kernel=0,0,5;0,0,0;0,0,0",
  "kernel=0,0,0;0,0,0;0,0,3;0,0,0;0,0,0", NULL
};

/* These know the formats by their components' roles, so each format has them all. */
const char *const ref_convolve_format_settings[] = { "preset=fill fill-color=0x00a05010", "preset=mosaic blocks=3",
  "preset=privacy blocks=4", NULL };

/* Whole frames, on which the reference is slow. */
const char *const ref_convolve_large_settings[] = { "any=3x3 weights=8", "preset=gauss kernel-size=7",
  "any=7x7 weights=8", "preset=box kernel-size=31", "any=5x5 weights=16", "preset=gauss kernel-size=63 sigma=9",
  "any=15x15 weights=8 border=reflect101", "preset=sobel", "preset=unsharp", "preset=fill", "preset=mosaic",
  "preset=privacy", "preset=privacy blocks=64", "preset=mosaic blocks=2", NULL };

/* Separable kernels (cuda/convolve/gpu/passes.cu) in frames of more blocks than the GPU holds at once, 4 an SM in GRAY8
 * and 2 in RGBA: 800 and 861 of three blocks of columns, 580 and 609 of five, 360 and 399 in RGBA. A frame of
 * 1920 x 1080 has 510 of three and 255. Then dense kernels in frames above 5 MB, which quads.cu filters with eight
 * groups of rows a warp, each with both rules of rounding. */
const KcWhole ref_convolve_whole[] = { { "preset=gauss kernel-size=7", CF_FORMAT_GRAY8, 2560, 1280 },
  { "preset=gauss kernel-size=7 border=wrap", CF_FORMAT_RGBA, 2304, 1280 },
  { "preset=box kernel-width=3 kernel-height=11 border=reflect101", CF_FORMAT_GRAY8, 2561, 1283 },
  { "preset=box kernel-width=3 kernel-height=11", CF_FORMAT_RGBA, 2309, 1283 },
  { "preset=gauss kernel-size=7", CF_FORMAT_GRAY8, 2560, 1811 },
  { "preset=box kernel-width=3 kernel-height=11 border=reflect101", CF_FORMAT_GRAY8, 2561, 1811 },
  { "preset=gauss kernel-size=31", CF_FORMAT_GRAY8, 2560, 1283 },
  { "preset=gauss kernel-size=31", CF_FORMAT_RGBA, 2309, 1283 },
  { "preset=box kernel-size=31 border=wrap", CF_FORMAT_GRAY8, 2561, 1283 },
  { "preset=box kernel-size=31 border=reflect101", CF_FORMAT_RGBA, 2304, 1280 },
  { "any=3x3 weights=8 divisor=301", CF_FORMAT_GRAY8, 2576, 2051 },
  { "any=3x3 weights=8 divisor=302", CF_FORMAT_GRAY8, 2576, 2051 },
  { "any=5x5 weights=8 divisor=301", CF_FORMAT_GRAY8, 2576, 2051 },
  { "any=5x5 weights=8 divisor=302", CF_FORMAT_GRAY8, 2576, 2051 },
  { "any=7x7 weights=8 divisor=301", CF_FORMAT_GRAY8, 2576, 2051 },
  { "any=7x7 weights=8 divisor=302", CF_FORMAT_GRAY8, 2576, 2051 },
  { "any=9x9 weights=8 divisor=301", CF_FORMAT_GRAY8, 2576, 2051 },
  { "any=9x9 weights=8 divisor=302", CF_FORMAT_GRAY8, 2576, 2051 }, { "any=4x3 weights=8", CF_FORMAT_NV12, 2080, 1710 },
  { 0 } };

/* Under a sanitizer: each code path once. */
const char *const ref_convolve_sanitize_settings[] = { "preset=identity", "preset=identity gray=luma",
  "preset=gauss kernel-size=3", "preset=gauss kernel-size=15 border=wrap", "preset=gauss kernel-size=63",
  "preset=unsharp border=constant", "preset=unsharp kernel-width=1 kernel-height=255 amount=3.3 bias=1",
  "preset=box kernel-size=7", "preset=box kernel-size=31 border=reflect101", "preset=box kernel-size=63",
  "preset=gauss kernel-size=255", "preset=box kernel-size=65", "preset=unsharp kernel-width=65", "preset=sobel",
  "preset=scharr gray=mean border=wrap", "preset=laplace", "any=2x2", "any=3x3 weights=8",
  "any=3x3 weights=16 border=wrap", "any=4x5 flip=1", "any=5x5 weights=8", "any=5x5 weights=16", "any=7x7 weights=8",
  "any=7x7 weights=0", "any=9x9 weights=8 border=reflect101", "any=15x15 weights=8", "any=15x15 weights=12",
  "any=25x25", "any=31x31 weights=8 border=wrap", "any=31x31 weights=0", "any=63x63", "any=33x63 weights=12",
  "any=63x1", "any=1x63", "outer=5x5", "outer=15x15 weights=8", "outer=63x63 border=constant", "preset=fill",
  "preset=mosaic", "preset=privacy", NULL };

const char *const ref_convolve_bad_settings[] = { "kernel=", "kernel=;", "kernel=1,2;3", "kernel=1,x,3", "kernel=nan",
  "kernel=1,inf", "kernel=-infinity", "kernel=0x", "kernel=1e999", "any=64x1", "any=1x64", "any=64x64",
  "kernel-file=/nonexistent/kernel.txt", "kernel-file=/", "preset=custom", "kernel-size=4", "kernel-size=-1",
  "kernel-size=257", "preset=log kernel-size=65", "preset=log kernel-height=65", "preset=motion kernel-size=65",
  "kernel-size=64", "kernel-width=2", "kernel-width=257", "kernel-height=62", "kernel-height=-1", "sigma-y=-1",
  "sigma-y=nan", "sigma-y=100.1", "sigma=-1", "sigma=nan", "sigma=100.1", "angle=361", "amount=-0.1", "amount=10.5",
  "divisor=inf", "divisor=1e10", "bias=65537", "bias=nan", "border=9", "border-value=65536", "border-value=-1",
  "gray=5", "preset=99", "blocks=1", "blocks=65", "preset=fill gray=mean", "preset=mosaic gray=luma",
  "preset=privacy gray=luma", NULL };

/* These overflow sums of 32 bits, but not those of 62 bits. */
const char *const ref_convolve_bad_8bit_settings[] = { "kernel=8421505", "kernel=-8421505", "any=3x3 weights=31",
  "kernel=8421504,1", "kernel=2147483647 divisor=3", "preset=box kernel-size=255 divisor=2e-9", NULL };

/* These overflow sums of 62 bits of 16-bit samples, but not of 10-bit ones. */
const char *const ref_convolve_bad_16bit_settings[] = { "preset=box kernel-size=255 divisor=1e-9",
  "preset=box kernel-size=255 divisor=-7e-10", NULL };

/* ---- random ------------------------------------------------------------- */

static uint64_t
below (uint64_t *state, uint64_t n)
{
  return kc_random (state) % n;
}

static int
random_side (uint64_t *state)
{
  static const int limits[] = { 1, 3, 5, 9, 9, 16, 32, 63 };

  return 1 + (int) below (state, (uint64_t) limits[below (state, 8)]);
}

/* Returns an odd side, or 0. */
static int
random_odd (uint64_t *state)
{
  if (below (state, 12) == 0)
    return 65 + 2 * (int) below (state, 96);
  return below (state, 4) ? random_side (state) / 2 * 2 + 1 : 0;
}

/* Returns a divisor or a bias: an integer, a multiple of a half or a quarter, or any number. */
static double
random_value (double range, uint64_t *state)
{
  static const double steps[] = { 1, 4, 1000 };
  const double value = (2 * kc_random_double (state) - 1) * range;
  const uint64_t which = below (state, 4);

  return which < 3 ? round (value * steps[which]) / steps[which] : value;
}

void
ref_convolve_random (GString *text, uint64_t *state)
{
  static const char *const presets[] = { "identity", "box", "gauss", "sharpen", "laplace", "unsharp", "emboss", "sobel",
    "prewitt", "scharr", "sobel-x", "sobel-y", "log", "motion", "fill", "mosaic", "privacy" };
  static const char *const borders[] = { "replicate", "reflect101", "wrap", "constant" };
  static const char *const grays[] = { "none", "none", "mean", "luma" };
  static const char *const kinds[] = { "any", "any", "any", "sym", "outer" };
  static const int weights[] = { 0, 0, 2, 4, 4, 8, 8, 8, 12, 16, 16, 31 };

  g_string_append_printf (text, "border=%s gray=%s flip=%d border-value=%d", borders[below (state, 4)],
      grays[below (state, 4)], (int) below (state, 2), (int) below (state, below (state, 2) ? 65536 : 256));
  if (below (state, 3) == 0)
    g_string_append_printf (text, " preset=%s kernel-size=%d", presets[below (state, 17)], random_odd (state));
  else
    g_string_append_printf (text, " %s=%dx%d weights=%d seed=%d", kinds[below (state, 5)], random_side (state),
        random_side (state), weights[below (state, 12)], (int) below (state, 1000000));
  if (below (state, 2))
    g_string_append_printf (text, " blocks=%d fill-color=%u", 2 + (int) below (state, below (state, 2) ? 8 : 63),
        (unsigned) kc_random (state));
  if (below (state, 2))
    g_string_append_printf (text, " sigma=%.17g",
        below (state, 2) ? kc_random_double (state) * 10 : kc_random_double (state) * 100);
  if (below (state, 4) == 0)
    g_string_append_printf (text, " sigma-y=%.17g", kc_random_double (state) * 20);
  if (below (state, 4) == 0)
    g_string_append_printf (text, " kernel-width=%d kernel-height=%d", random_odd (state), random_odd (state));
  if (below (state, 2))
    g_string_append_printf (text, " angle=%.17g",
        below (state, 2) ? round (kc_random_double (state) * 16 - 8) * 22.5 : kc_random_double (state) * 720 - 360);
  if (below (state, 2))
    g_string_append_printf (text, " amount=%.17g", fabs (random_value (10, state)));
  if (below (state, 3) == 0)
    g_string_append_printf (text, " divisor=%.17g", random_value (below (state, 4) ? 5000 : 1e9, state));
  if (below (state, 2))
    g_string_append_printf (text, " bias=%.17g", random_value (below (state, 4) ? 300 : 65536, state));
}

/* ---- abbreviated kernels ---------------------------------------------- */

typedef struct {
  char kind; /* 'a'ny, 'o'uter, 's'ym */
  int w, h, weights;
  uint64_t seed;
} Shape;

/* Returns a signed integer of `bits` bits; 0: a fraction. */
static double
random_weight (int bits, uint64_t *state)
{
  if (bits == 0)
    return round ((2 * kc_random_double (state) - 1) * 1e6) / 1e6;
  return (double) (int64_t) below (state, (uint64_t) 1 << bits) - ldexp (1, bits - 1);
}

static void
make_shape (const Shape *s, double *t)
{
  uint64_t state = s->seed * 131 + (uint64_t) (s->w * 64 + s->h);
  int n = s->w * s->h;
  double row[64], column[64], sum = 0;

  for (int i = 0; i < 64; i++) {
    row[i] = random_weight ((s->weights + 1) / 2, &state);
    column[i] = random_weight ((s->weights + 1) / 2, &state);
  }
  for (int i = 0; i < n; i++) {
    t[i] = s->kind == 'o'                 ? row[i % s->w] * column[i / s->w]
        : s->kind == 's' && i > n - 1 - i ? t[n - 1 - i]
                                          : random_weight (s->weights, &state);
    sum += t[i];
  }
  /* A negative sum would saturate most samples at 0; the range stays. */
  for (int i = 0; sum < 0 && s->kind != 'o' && i < n; i++)
    t[i] = s->weights ? -1 - t[i] : -t[i];
}

/* Reads a word; returns whether it is one of those explained above. */
static bool
read_word (Shape *s, const char *word)
{
  static const char *const kinds[] = { "any=", "outer=", "sym=" };

  for (size_t i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (g_str_has_prefix (word, kinds[i])) {
      if (sscanf (word + strlen (kinds[i]), "%dx%d", &s->w, &s->h) == 2 && s->w >= 1 && s->w <= 64 && s->h >= 1 &&
          s->h <= 64)
        s->kind = kinds[i][0];
      return true;
    }
  return sscanf (word, "weights=%d", &s->weights) == 1 || sscanf (word, "seed=%" SCNu64, &s->seed) == 1;
}

char *
ref_convolve_expand (const char *text)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  GString *out = g_string_new ("kernel="), *others = g_string_new ("");
  Shape s = { .weights = 4, .seed = 1 };
  double t[64 * 64], sum = 0, size = 0;

  for (char **word = words; *word; word++)
    if (!read_word (&s, *word))
      g_string_append_printf (others, " %s", *word);
  if (!s.kind) {
    g_string_free (out, true);
    g_string_free (others, true);
    return NULL;
  }
  make_shape (&s, t);
  for (int i = 0; i < s.w * s.h; i++) {
    g_string_append_printf (out, "%s%.10g", i == 0 ? "" : i % s.w ? "," : ";", t[i]);
    sum += t[i];
    size += t[i] * t[i];
  }
  /* With this divisor most results are within the range. */
  if (fabs (sum) < sqrt (size) / 3)
    g_string_append_printf (out, " divisor=%.0f", fmin (1e9, ceil (sqrt (size) / 2)));
  g_string_append (out, others->str);
  g_string_free (others, true);
  return g_string_free (out, false);
}
