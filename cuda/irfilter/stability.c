/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * irfilter/stability.c: the largest pole radius of a two-dimensional recursion.
 *
 * With u = z1^-1 (down the rows) and v = z2^-1 (along the columns) a set's
 * denominator is D(u, v) = 1 - sum b[k,l] u^k v^l. It has no zero with |u| <= 1/r
 * and |v| <= 1/r, that is, r is more than the pole radius, if and only if
 *   D(u, 0) has none with |u| <= 1/r, and
 *   for every |u| = 1/r, D(u, .) has none with |v| <= 1/r    (Huang's theorem).
 * Both are questions about a polynomial in one variable, which the recursion of
 * Schur and Cohn answers without finding roots. The radius is raised from 0
 * until no u is left that refuses it: each u that does is bisected, which few
 * of them need, as the radius only grows.
 *
 * Between the points of a grid of u two things could hide. A maximum is looked
 * for around every local minimum of the margin by which the test is passed. And
 * a root v(u) may pass close by 0, and so through a sharp peak of 1/|v|, where
 * D(u, 0) is nearly 0: poles that coincide, as in a product of equal filters
 * along rows and columns, do that. So the grid has points ever closer to the
 * angles of the roots of D(u, 0). */
#include "stability.h"

#include <complex.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846
/* Angles of u from 0 to pi, both ends included: b is real, so that the other
 * half is the mirror image. */
#define GRID 513
/* On each side of a root's angle: from a step of the grid down to 1e-8. */
#define CLOSER 16
/* Nearer angles are one where a maximum is looked for: sums are not exact. */
#define NEAR 1e-6
#define MAX_ANGLES (GRID + (CF_IR_MAX - 1) * (2 * CLOSER + 1))
/* Largest radius looked at: |b| <= 1e4 at 63 places keeps below it. */
#define TOO_FAR 1e6
#define EXACT 1e-11

typedef struct {
  int rows, columns; /* b's last ones that are not all 0, at least 1 */
  double b[CF_IR_MAX][CF_IR_MAX];
  double radius, angle; /* the largest so far, and its angle of u */
} Search;

/* Are all zeros of sum c[l] v^l, l = 0 .. degree, outside the unit circle? The
 * margin: 1 in a polynomial without memory, 0 with a zero on the circle; below
 * 0: no. Destroys c. */
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

/* D(u, v / radius), u = e^-i angle / radius, as a polynomial in v. */
static void
slice (const Search *s, double radius, double angle, double complex *c)
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

  slice (s, radius, angle, c);
  return margin_of (c, s->columns - 1);
}

/* The margin of D(u, 0). */
static double
margin_of_rows (const Search *s, double radius)
{
  double complex c[CF_IR_MAX] = { 1 };
  double scale = 1;

  for (int k = 1; k < s->rows; k++)
    c[k] = -s->b[k][0] * (scale /= radius);
  return margin_of (c, s->rows - 1);
}

/* At this angle; < 0: D(u, 0). */
static bool
refuses (const Search *s, double radius, double angle)
{
  return (angle < 0 ? margin_of_rows (s, radius) : margin_at (s, radius, angle)) < 0;
}

/* A radius above `low`, which `angle` refuses, where it no longer does. */
static double
radius_at (const Search *s, double low, double angle)
{
  double high = low > 0 ? low * 1.001 : 1e-3;

  while (high < TOO_FAR && refuses (s, high, angle)) {
    low = high;
    high *= low < 0.5 ? 4 : 1.2;
  }
  while (high - low > EXACT / 10 * high) {
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

/* Raises the radius to what `angle` needs. */
static void
raise_to (Search *s, double angle)
{
  double above = s->radius * (1 + EXACT);

  if (refuses (s, above > 0 ? above : 1e-9, angle)) {
    s->radius = radius_at (s, above, angle);
    s->angle = angle;
  }
}

/* How bad an angle is: by how much it needs a larger radius; or, below 0, the
 * margin by which it does not. */
static double
badness (const Search *s, double angle)
{
  double margin = margin_at (s, s->radius, angle);

  return margin < 0 ? radius_at (s, s->radius, angle) - s->radius : -margin;
}

/* Looks for the worst angle between two, by golden sections about `best`, which
 * is worse than both. */
static void
look_between (Search *s, double left, double best, double right)
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

/* The roots z of z^n + c[1] / c[0] z^(n-1) + .. + c[n] / c[0], all at once, by
 * Weierstrass's iteration. */
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

/* The grid, in order; returns how many angles. `worst`: of the largest pole of
 * D(u, 0). */
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

    /* One of a pair is enough. */
    if (!(cabs (z[i]) > 0) || cimag (z[i]) < -1e-9 * cabs (z[i]))
      continue;
    if (cabs (z[i]) > largest) {
      largest = cabs (z[i]);
      *worst = angle;
    }
    angles[n++] = angle;
    for (int k = 0; k < CLOSER; k++, step *= 0.42) {
      if (angle + step < PI)
        angles[n++] = angle + step;
      if (angle - step > 0)
        angles[n++] = angle - step;
    }
  }
  qsort (angles, (size_t) n, sizeof *angles, compare);
  return n;
}

/* The frequency along a row at which D is 0. */
static double
frequency_along (const Search *s)
{
  double complex c[CF_IR_MAX], z[CF_IR_MAX], largest = 1;
  double size = 0;

  slice (s, s->radius, s->angle, c);
  find_roots (c, s->columns - 1, z);
  for (int i = 0; i < s->columns - 1; i++)
    if (cabs (z[i]) > size) {
      size = cabs (z[i]);
      largest = z[i];
    }
  return carg (largest) / (2 * PI);
}

/* Around the angles that are worse than their neighbours. */
static void
look_around (Search *s, const double *angles, int n)
{
  double bad[MAX_ANGLES];

  for (int i = 0; i < n; i++)
    bad[i] = badness (s, angles[i]);
  for (int i = 0; i < n; i++) {
    int left = i > 0 ? i - 1 : 0, right = i < n - 1 ? i + 1 : n - 1;

    /* of a plateau only where it begins */
    if ((i > 0 && bad[i] <= bad[left]) || bad[i] < bad[right])
      continue;
    while (left > 0 && angles[i] - angles[left] < NEAR)
      left--;
    while (right < n - 1 && angles[right] - angles[i] < NEAR)
      right++;
    look_between (s, angles[left], angles[i], angles[right]);
  }
}

static CfIrPole
search (Search *s)
{
  double angles[MAX_ANGLES], worst;
  int n = make_angles (s, angles, &worst);

  raise_to (s, -1);
  s->angle = worst;
  /* D (u, v) is D (u, 0) */
  if (s->columns == 1)
    return (CfIrPole) { s->radius, 0, worst / (2 * PI) };
  /* Not in order, in which the radius might grow with every one. The step is a
   * prime larger than n. */
  for (int i = 0, at = 0; i < n; i++, at = (at + 7919) % n)
    raise_to (s, angles[at]);
  look_around (s, angles, n);
  return (CfIrPole) { s->radius, s->radius > 0 ? frequency_along (s) : 0, s->angle / (2 * PI) };
}

/* Where u and v appear at most once each, v(u) takes circles to circles, with
 * their centres on the real axis, so that the |v| that counts is at u = +-1 / r
 * and D is 0 where r^2 - (sv b01 + su b10) r - su sv b11 is. */
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

/* ---- what was asked last -------------------------------------------------- */

#define REMEMBERED 16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  float b[CF_IR_MAX][CF_IR_MAX];
  CfIrPole pole;
} memory[REMEMBERED];
static unsigned n_memory;

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
  for (unsigned i = 0; i < REMEMBERED && i < n_memory && !found; i++)
    if (memcmp (memory[i].b, key, sizeof key) == 0) {
      pole = memory[i].pole;
      found = true;
    }
  pthread_mutex_unlock (&lock);
  if (found)
    return pole;
  pole = search (&s);
  pthread_mutex_lock (&lock);
  memcpy (memory[n_memory % REMEMBERED].b, key, sizeof key);
  memory[n_memory++ % REMEMBERED].pole = pole;
  pthread_mutex_unlock (&lock);
  return pole;
}
