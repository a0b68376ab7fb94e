/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/stability.c: the largest pole radius of a two-dimensional recursion.
 *
 * With u = z1^-1 (down the rows) and v = z2^-1 (along the columns) a set's denominator is D(u, v) = 1 - sum b[k,l] u^k
 * v^l. It has no zero with |u| <= 1/r and |v| <= 1/r, that is, r is larger than the pole radius, if and only if
 *   D(u, 0) has none with |u| <= 1/r, and
 *   for every |u| = 1/r, D(u, .) has none with |v| <= 1/r    (Huang's theorem).
 * Both are questions about a polynomial in one variable, which the Schur-Cohn recursion answers without finding roots.
 * The radius is raised from 0 until no u on a grid refuses it. Each u that refuses it is bisected; few of them are,
 * because the radius only grows.
 *
 * Two things could hide between the points of the grid. First, a maximum: it is searched around every local minimum of
 * the margin by which the test is passed. Second, a root v(u) may pass close to 0, and so 1/|v| through a sharp peak,
 * where D(u, 0) is nearly 0: coinciding poles, as in a product of equal filters along rows and columns, do that. So
 * the grid becomes denser towards the angles of the roots of D(u, 0). */
#include "design.h"

#include <complex.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846
#ifndef CMPLX /* glibc defines it for gcc only */
#define CMPLX(re, im) __builtin_complex ((double) (re), (double) (im))
#endif
/* Angles of u from 0 to pi, both ends included; b is real, so the other half is the mirror image. */
#define GRID 513
/* Angles added on each side of a root's angle: from a step of the grid down to 1e-8. */
#define REFINEMENTS 16
/* In the search for a maximum, angles closer than this count as one: sums are not exact. */
#define MIN_DISTANCE 1e-6
#define MAX_ANGLES (GRID + (CF_IR_MAX - 1) * (2 * REFINEMENTS + 1))
/* Upper bound of the radius: 63 coefficients |b| <= 1e4 cannot exceed it. */
#define MAX_RADIUS 1e6
#define TOLERANCE 1e-11

typedef struct {
  int rows, columns; /* of b, without trailing ones that are all 0; at least 1 */
  double b[CF_IR_MAX][CF_IR_MAX];
  double radius, angle; /* the largest so far, and its angle of u */
} Search;

/* Tests whether all zeros of sum c[l] v^l, l = 0 .. degree, are outside the unit circle. Returns the margin: 1 for a
 * constant, 0 for a zero on the circle, below 0 if the test fails. Overwrites c. */
static double
margin_of (double complex *c, int degree)
{
  double margin = 1;

  for (int n = degree; n > 0; n--) {
    double re0 = creal (c[0]), im0 = cimag (c[0]), re = creal (c[n]), im = cimag (c[n]);
    double square = re0 * re0 + im0 * im0, ratio = (re * re + im * im) / square;
    /* k = c[n] / conj (c[0]) */
    double kr = (re * re0 - im * im0) / square, ki = (re * im0 + im * re0) / square;

    if (!(ratio < 1))
      return -1;
    margin = fmin (margin, 1 - ratio);
    /* c[l] - k conj (c[n - l]), in pairs, as each needs the other's old value */
    for (int l = 0, h = n; l <= h; l++, h--) {
      double lr = creal (c[l]), li = cimag (c[l]), hr = creal (c[h]), hi = cimag (c[h]);

      c[l] = CMPLX (lr - (kr * hr + ki * hi), li - (ki * hr - kr * hi));
      c[h] = CMPLX (hr - (kr * lr + ki * li), hi - (ki * lr - kr * li));
    }
  }
  return margin;
}

/* Fills c with D(u, v / radius), u = e^-i angle / radius, as a polynomial in v. */
static void
row_polynomial (const Search *s, double radius, double angle, double complex *c)
{
  double complex u = 1;
  double scale = 1;

  for (int l = 0; l < s->columns; l++)
    c[l] = 0;
  for (int k = 0; k < s->rows; k++) {
    for (int l = 0; l < s->columns; l++)
      c[l] -= s->b[k][l] * u;
    u = CMPLX (cos (angle * (k + 1)), -sin (angle * (k + 1))) * pow (radius, -(k + 1));
  }
  c[0] += 1;
  for (int l = 1; l < s->columns; l++)
    c[l] *= scale /= radius;
}

static double
margin_at (const Search *s, double radius, double angle)
{
  double complex c[CF_IR_MAX];

  row_polynomial (s, radius, angle, c);
  return margin_of (c, s->columns - 1);
}

/* Returns the margin of D(u, 0). */
static double
margin_of_rows (const Search *s, double radius)
{
  double complex c[CF_IR_MAX] = { 1 };
  double scale = 1;

  for (int k = 1; k < s->rows; k++)
    c[k] = -s->b[k][0] * (scale /= radius);
  return margin_of (c, s->rows - 1);
}

/* Returns whether the test at this angle (< 0: of D(u, 0)) fails, that is, the pole radius is larger. */
static bool
refuses (const Search *s, double radius, double angle)
{
  return (angle < 0 ? margin_of_rows (s, radius) : margin_at (s, radius, angle)) < 0;
}

/* Returns the smallest radius above `low` that `angle` does not refuse; it refuses `low`. */
static double
radius_at (const Search *s, double low, double angle)
{
  double high = low > 0 ? low * 1.001 : 1e-3;

  while (high < MAX_RADIUS && refuses (s, high, angle)) {
    low = high;
    high *= low < 0.5 ? 4 : 1.2;
  }
  while (high - low > TOLERANCE / 10 * high) {
    double middle = (low + high) / 2;

    if (!(middle > low && middle < high))
      break;
    if (refuses (s, middle, angle))
      low = middle;
    else
      high = middle;
  }
  return high;
}

/* Raises the radius to the one that `angle` requires. */
static void
raise_to (Search *s, double angle)
{
  double above = s->radius * (1 + TOLERANCE);

  if (refuses (s, above > 0 ? above : 1e-9, angle)) {
    s->radius = radius_at (s, above, angle);
    s->angle = angle;
  }
}

/* Returns by how much larger a radius the angle requires; if it requires none, minus the margin by which it passes. */
static double
badness (const Search *s, double angle)
{
  double margin = margin_at (s, s->radius, angle);

  return margin < 0 ? radius_at (s, s->radius, angle) - s->radius : -margin;
}

/* Searches the maximum of badness () between two angles by golden sections around `best`,
 * whose badness is larger than that of both. */
static void
refine_between (Search *s, double left, double best, double right)
{
  double worst = badness (s, best);

  while (right - left > 1e-11) {
    bool up = right - best > best - left;
    double at = best + 0.3819660112501051 * (up ? right - best : left - best);
    double bad = badness (s, at);

    if (bad > worst) {
      *(up ? &left : &right) = best;
      best = at;
      worst = bad;
    } else {
      *(up ? &right : &left) = at;
    }
  }
  raise_to (s, best);
}

/* Finds the roots z of z^n + c[1] / c[0] z^(n-1) + .. + c[n] / c[0], all at once, by the iteration of Weierstrass. */
static void
find_roots (const double complex *c, int n, double complex *z)
{
  double size = 0, moved = 1;

  for (int l = 1; l <= n; l++)
    size = fmax (size, pow (cabs (c[l] / c[0]), 1.0 / l));
  for (int i = 0; i < n; i++)
    z[i] = size * cpow (CMPLX (0.4, 0.9), i + 1);
  for (int round = 0; round < 500 && moved > 1e-15 * size; round++) {
    moved = 0;
    for (int i = 0; i < n; i++) {
      double complex value = 1, others = 1;

      for (int l = 1; l <= n; l++)
        value = value * z[i] + c[l] / c[0];
      for (int j = 0; j < n; j++)
        others *= j == i ? 1 : z[i] - z[j];
      if (others == 0)
        continue;
      z[i] -= value / others;
      moved = fmax (moved, cabs (value / others));
    }
  }
}

static int
compare (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

/* Fills the grid, sorted; returns the number of angles. *worst: angle of the largest pole of D(u, 0). */
static int
make_angles (const Search *s, double *angles, double *worst)
{
  double complex c[CF_IR_MAX] = { 1 }, z[CF_IR_MAX];
  double largest = 0;
  int n = 0;

  *worst = 0;
  for (int i = 0; i < GRID; i++)
    angles[n++] = PI * i / (GRID - 1);
  for (int k = 1; k < s->rows; k++)
    c[k] = -s->b[k][0];
  find_roots (c, s->rows - 1, z);
  for (int i = 0; i < s->rows - 1; i++) {
    double angle = fabs (carg (z[i])), step = PI / (GRID - 1);

    /* one of a conjugate pair is enough */
    if (!(cabs (z[i]) > 0) || cimag (z[i]) < -1e-9 * cabs (z[i]))
      continue;
    if (cabs (z[i]) > largest) {
      largest = cabs (z[i]);
      *worst = angle;
    }
    angles[n++] = angle;
    for (int k = 0; k < REFINEMENTS; k++, step *= 0.42) {
      if (angle + step < PI)
        angles[n++] = angle + step;
      if (angle - step > 0)
        angles[n++] = angle - step;
    }
  }
  qsort (angles, (size_t) n, sizeof *angles, compare);
  return n;
}

/* Returns the frequency along a row at which D is 0. */
static double
frequency_along (const Search *s)
{
  double complex c[CF_IR_MAX], z[CF_IR_MAX], largest = 1;
  double size = 0;

  row_polynomial (s, s->radius, s->angle, c);
  find_roots (c, s->columns - 1, z);
  for (int i = 0; i < s->columns - 1; i++)
    if (cabs (z[i]) > size) {
      size = cabs (z[i]);
      largest = z[i];
    }
  return carg (largest) / (2 * PI);
}

/* Searches around the angles whose badness is larger than that of their neighbours. */
static void
refine_maxima (Search *s, const double *angles, int n)
{
  double bad[MAX_ANGLES];

  for (int i = 0; i < n; i++)
    bad[i] = badness (s, angles[i]);
  for (int i = 0; i < n; i++) {
    int left = i > 0 ? i - 1 : 0, right = i < n - 1 ? i + 1 : n - 1;

    /* on a plateau only at its beginning */
    if ((i > 0 && bad[i] <= bad[left]) || bad[i] < bad[right])
      continue;
    while (left > 0 && angles[i] - angles[left] < MIN_DISTANCE)
      left--;
    while (right < n - 1 && angles[right] - angles[i] < MIN_DISTANCE)
      right++;
    refine_between (s, angles[left], angles[i], angles[right]);
  }
}

static CfIrPole
search (Search *s)
{
  double angles[MAX_ANGLES], worst;
  int n = make_angles (s, angles, &worst);

  raise_to (s, -1);
  s->angle = worst;
  /* D(u, v) is D(u, 0) */
  if (s->columns == 1)
    return (CfIrPole) { s->radius, 0, worst / (2 * PI) };
  /* Not in order of the angles, in which the radius might grow with every one. The step is a prime larger than n. */
  for (int i = 0, at = 0; i < n; i++, at = (at + 7919) % n)
    raise_to (s, angles[at]);
  refine_maxima (s, angles, n);
  return (CfIrPole) { s->radius, s->radius > 0 ? frequency_along (s) : 0, s->angle / (2 * PI) };
}

/* Windows of 2 x 2: D is of degree 1 in u and in v, so v(u) maps circles to circles with centres on the real axis. The
 * smallest |v| is therefore at u = +-1 / r, where D is 0 if and only if r^2 - (sv b01 + su b10) r - su sv b11 is 0. */
static CfIrPole
solve (const Search *s)
{
  CfIrPole pole = { 0, 0, 0 };

  for (int signs = 0; signs < 4; signs++) {
    double su = signs & 1 ? -1 : 1, sv = signs & 2 ? -1 : 1;
    double half = (sv * s->b[0][1] + su * s->b[1][0]) / 2, square = half * half + su * sv * s->b[1][1];
    double r = half + sqrt (square);

    if (r > pole.radius)
      pole = (CfIrPole) { r, sv < 0 ? 0.5 : 0, su < 0 ? 0.5 : 0 };
  }
  return pole;
}

/* ---- cache ---------------------------------------------------------------- */

#define MAX_CACHED 16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  float b[CF_IR_MAX][CF_IR_MAX];
  CfIrPole pole;
} cache[MAX_CACHED];
static unsigned n_cached;

CfIrPole
cf_ir_pole (const float b[CF_IR_MAX][CF_IR_MAX], int m)
{
  Search s = { .rows = 1, .columns = 1 };
  float key[CF_IR_MAX][CF_IR_MAX] = { 0 };
  CfIrPole pole;
  bool found = false;

  for (int k = 0; k < m; k++)
    for (int l = 0; l < m; l++)
      if (b[k][l] != 0) {
        s.b[k][l] = key[k][l] = b[k][l];
        s.rows = s.rows > k + 1 ? s.rows : k + 1;
        s.columns = s.columns > l + 1 ? s.columns : l + 1;
      }
  if (s.rows <= 2 && s.columns <= 2)
    return solve (&s);
  pthread_mutex_lock (&lock);
  for (unsigned i = 0; i < MAX_CACHED && i < n_cached && !found; i++)
    if (memcmp (cache[i].b, key, sizeof key) == 0) {
      pole = cache[i].pole;
      found = true;
    }
  pthread_mutex_unlock (&lock);
  if (found)
    return pole;
  pole = search (&s);
  pthread_mutex_lock (&lock);
  memcpy (cache[n_cached % MAX_CACHED].b, key, sizeof key);
  cache[n_cached++ % MAX_CACHED].pole = pole;
  pthread_mutex_unlock (&lock);
  return pole;
}
