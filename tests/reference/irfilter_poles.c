/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter_poles.c: the largest pole radius. With z1 = t and z2 = t e^(i f), 1 - sum b[k,l] z1^k z2^l is a polynomial
 * in t alone,
 *   1 - c_1 t - c_2 t^2 - ...,  c_n = sum over k + l = n of b[k,l] e^(i l f),
 * and every point with |z1| = |z2| lies on one of these lines. So the radius is the largest |s| over all f with
 * s^n = c_1 s^(n-1) + ... + c_n: all roots at once on a grid of f (O. Aberth, "Iteration methods for finding all zeros
 * of a polynomial simultaneously", 1973), then a refinement at the maxima of the grid. */
#include "irfilter.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846
#ifndef CMPLX /* glibc defines it for gcc only */
#define CMPLX(re, im) __builtin_complex ((double) (re), (double) (im))
#endif
#define GRID 1024
#define STEP (PI / GRID)
#define MAX_TOPS 8 /* maxima of the grid that are refined */
#define MAX_CROSSINGS 64
#define REFINEMENTS 26
#define KNOWN 2048 /* results that are cached */
#define DEGREE (2 * (REF_IR_SIDE - 1))

typedef double complex Complex;

typedef struct {
  int degree;
  double (*b)[REF_IR_SIDE];
  Complex root[DEGREE]; /* of the last line: the start of the iteration for the next one */
} Lines;

static Complex
over (Complex p, Complex q)
{
  return p * conj (q) / (creal (q) * creal (q) + cimag (q) * cimag (q));
}

/* One step for root i of s^n + c_1 s^(n-1) + ... + c_n; `large`: the magnitudes of the coefficients. Returns false if
 * it has converged. */
static bool
improve (const Lines *l, const Complex *c, const double *large, Complex *root, int i)
{
  Complex z = root[i], p = 1, d = 0, others = 0, step;
  double size = 1, r = cabs (z);

  for (int n = 1; n <= l->degree; n++) {
    d = d * z + p;
    p = p * z + c[n];
    size = size * r + large[n];
  }
  /* The value is only rounding error: a double root stops here. */
  if (cabs (p) <= 4e-16 * size || d == 0)
    return false;
  for (int j = 0; j < l->degree; j++)
    if (j != i && z != root[j])
      others += over (1, z - root[j]);
  step = over (p, d);
  step = over (step, 1 - step * others);
  root[i] = z - step;
  return cabs (step) > 1e-15 * r;
}

/* Returns the largest root on line f. */
static double
radius_at (Lines *l, double f)
{
  Complex c[DEGREE + 1] = { 1 };
  double largest = 0, large[DEGREE + 1], real[REF_IR_SIDE], imaginary[REF_IR_SIDE];
  bool moved = true;

  for (int i = 0; i < REF_IR_SIDE; i++) {
    real[i] = cos (i * f);
    imaginary[i] = sin (i * f);
  }
  for (int k = 0; k < REF_IR_SIDE; k++)
    for (int i = 0; i < REF_IR_SIDE; i++)
      if (k + i > 0 && k + i <= l->degree)
        c[k + i] += CMPLX (-l->b[k][i] * real[i], -l->b[k][i] * imaginary[i]);
  /* Roots that coincide must be able to separate again. */
  for (int i = 0; i < l->degree; i++)
    l->root[i] *= CMPLX (1 + 1e-7 * cos (i * 2.4), 1e-7 * sin (i * 2.4));
  for (int n = 0; n <= l->degree; n++)
    large[n] = cabs (c[n]);
  for (int round = 0; moved && round < 200; round++) {
    moved = false;
    for (int i = 0; i < l->degree; i++)
      moved = improve (l, c, large, l->root, i) || moved;
  }
  for (int i = 0; i < l->degree; i++)
    largest = fmax (largest, cabs (l->root[i]));
  return largest;
}

/* Returns the largest value between two lines, by golden section search. */
static double
climb (Lines *l, double from, double to)
{
  double g = 0.6180339887498949, p = to - g * (to - from), q = from + g * (to - from);
  double at_p = radius_at (l, p), at_q = radius_at (l, q), best = fmax (at_p, at_q);

  while (to - from > 1e-13) {
    if (at_p > at_q) {
      to = q, q = p, at_q = at_p;
      p = to - g * (to - from);
      at_p = radius_at (l, p);
    } else {
      from = p, p = q, at_p = at_q;
      q = from + g * (to - from);
      at_q = radius_at (l, q);
    }
    best = fmax (best, fmax (at_p, at_q));
  }
  return best;
}

/* Samples around f, ever closer to it, then climbs from the best sample. */
static double
search (Lines *l, double f, double step)
{
  enum { N = 2 * REFINEMENTS + 1 };
  double at[N], value[N];
  int best = 0;

  at[REFINEMENTS] = f;
  for (int i = 1; i <= REFINEMENTS; i++, step *= 0.5) {
    at[i - 1] = f - step;
    at[N - i] = f + step;
  }
  for (int i = 0; i < N; i++) {
    value[i] = radius_at (l, at[i]);
    best = value[i] > value[best] ? i : best;
  }
  return climb (l, at[best > 0 ? best - 1 : 0], at[best < N - 1 ? best + 1 : N - 1]);
}

/* Searches from the highest maxima of the grid. On a plateau, which a product of two axes gives, nearly every point is
 * a maximum. */
static double
search_tops (Lines *l, const double at[GRID + 1])
{
  bool done[GRID + 1] = { false };
  double best = 0;

  for (int n = 0; n < MAX_TOPS; n++) {
    int top = -1;

    for (int i = 0; i <= GRID; i++)
      if (!done[i] && (top < 0 || at[i] > at[top]) && (i == 0 || at[i] >= at[i - 1]) &&
          (i == GRID || at[i] >= at[i + 1]))
        top = i;
    if (top < 0)
      break;
    done[top] = true;
    best = fmax (best, fmax (at[top], search (l, STEP * top, STEP)));
  }
  return best;
}

static double
angle_between (Complex p, Complex q)
{
  return fabs (carg (p * conj (q)));
}

/* Where two of the largest roots coincide, as those of equal axes do, the rounding of the coefficients separates them
 * by as much as the square root of the rounding error: a maximum that may lie entirely between two lines. The angle
 * between the two roots says where. */
static double
search_crossings (Lines *l, Complex root[GRID + 1][DEGREE], double largest)
{
  double best = 0;
  int n = 0;

  for (int i = 0; i + 2 <= GRID; i++)
    for (int p = 0; p < l->degree; p++)
      for (int q = 0; q < p && cabs (root[i][p]) >= 0.999 * largest; q++) {
        double from, to;

        if (cabs (root[i][q]) < 0.999 * largest)
          continue;
        from = angle_between (root[i][p], root[i][q]);
        to = angle_between (root[i + 2][p], root[i + 2][q]);
        if (from + to > 8 * STEP || fabs (from - to) < 0.1 * STEP || n == MAX_CROSSINGS)
          continue;
        best = fmax (best, search (l, STEP * (i + 2 * from / (from + to)), STEP));
        n++;
      }
  return best;
}

static double
pole_radius (int m, double b[REF_IR_SIDE][REF_IR_SIDE])
{
  Lines l = { .b = b };
  static Complex root[GRID + 1][DEGREE];
  double at[GRID + 1], bound = 0, best = 0;

  for (int k = 0; k < m; k++)
    for (int i = 0; i < m; i++) {
      if (!isfinite (b[k][i]))
        return INFINITY;
      if (b[k][i] != 0 && k + i > l.degree)
        l.degree = k + i;
      if (k + i > 0)
        bound = fmax (bound, pow (fabs (b[k][i]), 1.0 / (k + i)));
    }
  if (l.degree == 0)
    return 0;
  for (int i = 0; i < l.degree; i++)
    l.root[i] = CMPLX (1.3 * bound * cos (0.4 + 2 * PI * i / l.degree),
        1.3 * bound * sin (0.4 + 2 * PI * i / l.degree));
  for (int i = 0; i <= GRID; i++) {
    at[i] = radius_at (&l, STEP * i);
    best = fmax (best, at[i]);
    memcpy (root[i], l.root, sizeof l.root);
  }
  best = fmax (best, search_crossings (&l, root, best));
  return fmax (best, search_tops (&l, at));
}

/* Caches the last results: a case asks for the same set many times, and many cases have the same one. */
double
ref_ir_pole_radius (int m, double b[REF_IR_SIDE][REF_IR_SIDE])
{
  static struct {
    int m;
    double b[REF_IR_SIDE][REF_IR_SIDE], radius;
  } known[KNOWN];
  static unsigned next;
  double full[REF_IR_SIDE][REF_IR_SIDE] = { 0 };

  for (int k = 0; k < m; k++)
    memcpy (full[k], b[k], (size_t) m * sizeof **b);
  full[0][0] = 0;
  for (int i = 0; i < KNOWN; i++)
    if (known[i].m == m && memcmp (known[i].b, full, sizeof full) == 0)
      return known[i].radius;
  next = (next + 1) % KNOWN;
  memcpy (known[next].b, full, sizeof full);
  known[next].m = m;
  return known[next].radius = pole_radius (m, full);
}
