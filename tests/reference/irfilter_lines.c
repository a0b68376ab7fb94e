/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter_lines.c: the separable presets along columns and rows, line by line and segment by segment, from the
 * paragraph "Lines" of the contract (cuda/irfilter/irfilter.h). */
#include "irfilter.h"

#include <math.h>
#include <string.h>

#define SEGMENT 16
#define MAX_SEGMENTS 1024 /* of the longest side */
#define MAGIC 0x1p23f

typedef struct {
  int rounds;
  float nu, e, q[8], big_q;
  double h, k; /* growth in a round; 1 / growth of a pass */
} Constants;

static float
clear_power (double nu, int n)
{
  double p = pow (nu, n);

  return p < 0x1p-60 ? 0 : (float) p;
}

static Constants
constants_of (const RefIrSetting *s)
{
  Constants c = { .rounds = g_str_equal (s->preset, "soft") ? 3 : 1 };
  double sigma = s->sigma / sqrt (c.rounds), lambda = sigma * sigma / 2, nu;

  c.nu = (float) ((1 + 2 * lambda - sqrt (1 + 4 * lambda)) / (2 * lambda));
  nu = c.nu;
  c.e = (float) (1 / (1 - nu));
  for (int i = 0; i < 8; i++)
    c.q[i] = clear_power (nu, 16 * i);
  c.big_q = clear_power (nu, 128);
  c.h = (1 + nu) / (1 - nu);
  c.k = pow (c.h, -c.rounds);
  return c;
}

/* Turns what segments add, in the direction of the recursion, into the state that each one starts from. */
static void
scan (const Constants *c, float settled, int n, float *state)
{
  float g = settled;

  for (int eight = 0; eight < n; eight += 8) {
    float u = 0;

    for (int s = eight; s < MIN (eight + 8, n); s++) {
      float added = state[s];

      state[s] = fmaf (c->q[s - eight], g, u);
      u = fmaf (c->q[1], u, added);
    }
    g = fmaf (c->big_q, g, u);
  }
}

/* Filters one round of a line; x has room for whole segments. */
#ifdef __x86_64__
__attribute__ ((target_clones ("fma", "default")))
#endif
static void
filter_line (const Constants *c, float *x, int n, float first, float last)
{
  int segments = (n + SEGMENT - 1) / SEGMENT;
  float right[MAX_SEGMENTS], left[MAX_SEGMENTS]; /* left: from the last segment on */

  for (int i = n; i < segments * SEGMENT; i++)
    x[i] = last;
  for (int s = 0; s < segments; s++) {
    const float *v = x + s * SEGMENT;
    float f = v[0], g = v[SEGMENT - 1];

    for (int j = 1; j < SEGMENT; j++)
      f = fmaf (c->nu, f, v[j]);
    for (int j = SEGMENT - 2; j >= 0; j--)
      g = fmaf (c->nu, g, v[j]);
    right[s] = f;
    left[segments - 1 - s] = g;
  }
  scan (c, c->e * first, segments, right);
  scan (c, c->e * last, segments, left);
  for (int s = 0; s < segments; s++) {
    float *v = x + s * SEGMENT, seen[SEGMENT], state = right[s], back = left[segments - 1 - s];

    for (int j = 0; j < SEGMENT; j++)
      seen[j] = state = fmaf (c->nu, state, v[j]);
    for (int j = SEGMENT - 1; j >= 0; j--) {
      float sample = v[j];

      v[j] = fmaf (c->nu, back, seen[j]);
      back = fmaf (c->nu, back, sample);
    }
  }
}

/* Filters `count` lines of n samples, which lie `line` floats apart and their samples `step`. z: what lies outside in
 * the first round; NAN: the nearest sample. */
static void
filter_lines (const Constants *c, float *plane, int count, int line, int n, int step, double z)
{
#ifdef _OPENMP
#pragma omp parallel for if (n * count > 20000)
#endif
  for (int i = 0; i < count; i++) {
    float x[MAX_SEGMENTS * SEGMENT];

    for (int j = 0; j < n; j++)
      x[j] = plane[(ptrdiff_t) i * line + (ptrdiff_t) j * step];
    for (int r = 0; r < c->rounds; r++) {
      float outside = (float) (z * pow (c->h, r));

      filter_line (c, x, n, isnan (z) ? x[0] : outside, isnan (z) ? x[n - 1] : outside);
    }
    for (int j = 0; j < n; j++)
      plane[(ptrdiff_t) i * line + (ptrdiff_t) j * step] = x[j];
  }
}

void
ref_ir_filter_lines (const RefIrSetting *s, bool chroma, int bits, KcPlane *plane)
{
  const Constants c = constants_of (s);
  int n = plane->w * plane->h;
  bool high = g_str_equal (s->preset, "highpass"), mixed = high || g_str_equal (s->preset, "sharpen");
  double z = s->zero ? (chroma ? ldexp (1, bits - 1) + 1 : 1) : NAN, gain = bits == 8 ? c.k / 255 : c.k * c.k;
  float through = (float) (high ? s->amount : 1 + s->amount);
  float offset = (float) (high ? ldexp (1, bits - 1) + s->amount : s->amount);
  float factor = (float) (mixed ? -s->amount * gain : gain), between = (float) (255 * c.k);
  g_autofree float *y = g_new (float, n);

  for (int i = 0; i < n; i++)
    y[i] = (float) plane->v[i] + 1;
  filter_lines (&c, y, plane->w, 1, plane->h, plane->w, z);
  for (int i = 0; bits == 8 && i < n; i++)
    y[i] = fmaf (between, y[i], MAGIC) - MAGIC;
  filter_lines (&c, y, plane->h, plane->w, plane->w, 1, bits == 8 ? 255 * z : z * pow (c.h, c.rounds));
  for (int i = 0; i < n; i++)
    if (mixed) {
      float r = fmaf (factor, y[i], fmaf (through, (float) plane->v[i], offset));

      plane->v[i] = (uint32_t) rintf (fminf (fmaxf (r, 0), (float) ldexp (1, bits) - 1));
    } else {
      plane->v[i] = (uint32_t) (fmaf (factor, y[i], MAGIC - 1) - MAGIC);
    }
}
