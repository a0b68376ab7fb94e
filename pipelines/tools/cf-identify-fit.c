/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cf-identify-fit.c: finds a recursive filter for cf-identify.
 *
 * For given poles the numerators a enter the result linearly: y = sum a x_i, where
 * x_i is the image after the recursion 1 / (1 - sum b ..) without a numerator,
 * shifted by up to m - 1 samples. Least squares give the numerators, and only the
 * poles are searched. The search tries stable poles only, so every result is stable.
 *
 * A denominator is a product of polynomials of one variable. Each polynomial is
 * given by its reflection coefficients (the Schur-Cohn recursion backwards): all
 * coefficients between -1 and 1 give a stable polynomial, and each stable polynomial
 * has such coefficients. The roots are then scaled by max_radius.
 *
 * The sums of the least squares are kept twice: for the samples that the numerators
 * are fitted to, and for the samples held out, which choose the poles. */

#include "cf-identify.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

#define MAX_TAPS (QUADRANTS * MAX_M * MAX_M)
#define MAX_ORDER (MAX_M - 1)
#define STARTS 4     /* best candidates of the grid, in each family, that are refined */
#define FINALISTS 2  /* best of those, which get more poles */
#define SEARCHED 128 /* side of the part that poles are searched on; the numerators use the whole fragment */
#define BLOCK 16     /* side of the squares that are held out */
#define RIDGE 1e-12  /* of the mean square; keeps weights small that can replace each other; 1e-9 loses 1 dB */

/* Families of denominators. AXES: a polynomial of the rows times one of the columns, in all
 * quadrants. SAME: the same polynomial for both. DOWN, UP: poles along a diagonal in the two
 * quadrants on it, rows times columns in the others. */
typedef enum { AXES, SAME, DOWN, UP, FAMILIES } Family;

static const char *const family_words[FAMILIES] = { "poles along rows and columns",
  "the same poles along rows and columns", "poles along the falling diagonal", "poles along the rising diagonal" };

typedef struct {
  Family family;
  int order;               /* of each polynomial */
  double p[2 * MAX_ORDER]; /* reflection coefficients: rows (or the diagonal) first */
  double held;
} Candidate;

/* Sums over samples of the products of the regressors and the target. */
typedef struct {
  double g[MAX_TAPS + 1][MAX_TAPS + 1];
  gint64 n;
} Sums;

/* A problem on its fragment, with the buffers that every candidate needs. */
typedef struct {
  Problem problem;
  Image *x, *y; /* blurred and sharp minus their means, which depend on the exposure */
  int n;        /* unknowns */
  int unknown[QUADRANTS][MAX_M * MAX_M];
  Sums train, held;
  double *w[QUADRANTS]; /* x after each recursion, with m - 1 more rows and columns before the near edges */
} Fit;

gboolean
fit_held_out (int x, int y)
{
  return (x / BLOCK + 2 * (y / BLOCK)) % 4 == 0;
}

int
fit_margin (const Problem *problem)
{
  return MIN (12, MIN (problem->fragment.w, problem->fragment.h) / 8);
}

/* ---- the recursion ------------------------------------------------------ */

/* Returns the sample (n1, n2) counted in the quadrant's direction. */
static inline double
quadrant_sample (const Image *x, int q, int n1, int n2)
{
  return x->v[(gsize) (q & 2 ? x->h - 1 - n1 : n1) * x->w + (q & 1 ? x->w - 1 - n2 : n2)];
}

/* Returns where recurse() has put the image's sample (x, y) in w. */
static inline const double *
settled_sample (const Image *image, int q, int m, const double *w, int x, int y)
{
  int n1 = q & 2 ? image->h - 1 - y : y, n2 = q & 1 ? image->w - 1 - x : x;

  return w + (gsize) (n1 + m - 1) * (image->w + m - 1) + n2 + m - 1;
}

/* Applies the recursion along one row or column in place; there are m - 1 samples before s. */
static void
settle (const double *b, int m, double *s, int n)
{
  for (int i = 0; i < n; i++)
    for (int l = 1; l < m; l++)
      s[i] += b[l] * s[i - l];
}

/* Computes w = x / D with the contract's border mode replicate, in the quadrant's direction; the
 * array w has (x->w + m - 1) x (x->h + m - 1) samples. */
static void
recurse (const Image *x, int q, const double *b, int m, double *w)
{
  int pad = m - 1, stride = x->w + pad;
  double top[MAX_M] = { 0 }, left[MAX_M] = { 0 }, top_gain = 1, left_gain = 1, sum = 0;
  double *above = w + pad, *side = g_new (double, x->h + pad);

  for (int k = 0; k < m; k++)
    for (int l = 0; l < m; l++) {
      sum += b[k * m + l];
      top[l] += b[k * m + l];
      left[k] += b[k * m + l];
    }
  top_gain = 1 / (1 - top[0]);
  left_gain = 1 / (1 - left[0]);
  for (int l = 1; l < m; l++) {
    top[l] *= top_gain;
    left[l] *= left_gain;
  }
  for (int i = 0; i < pad; i++)
    w[i] = side[i] = quadrant_sample (x, q, 0, 0) / (1 - sum);
  for (int n2 = 0; n2 < x->w; n2++)
    above[n2] = quadrant_sample (x, q, 0, n2) * top_gain;
  for (int n1 = 0; n1 < x->h; n1++)
    side[pad + n1] = quadrant_sample (x, q, n1, 0) * left_gain;
  settle (top, m, above, x->w);
  settle (left, m, side + pad, x->h);
  for (int i = 1; i < pad; i++)
    memcpy (w + i * stride, w, stride * sizeof *w);

  for (int n1 = 0; n1 < x->h; n1++) {
    const double *in = x->v + (gsize) (q & 2 ? x->h - 1 - n1 : n1) * x->w;
    double *row = w + (gsize) (n1 + pad) * stride + pad;

    for (int i = 1; i <= pad; i++)
      row[-i] = side[pad + n1];
    if (q & 1)
      for (int n2 = 0; n2 < x->w; n2++)
        row[n2] = in[x->w - 1 - n2];
    else
      memcpy (row, in, x->w * sizeof *row);
    for (int k = 1; k < m; k++)
      for (int l = 0; l < m; l++) {
        const double *earlier = row - (gsize) k * stride - l;
        double c = b[k * m + l];

        for (int n2 = 0; c != 0 && n2 < x->w; n2++)
          row[n2] += c * earlier[n2];
      }
    settle (b, m, row, x->w);
  }
  g_free (side);
}

Image *
design_apply (const Design *design, const Image *image)
{
  int m = design->m, stride = image->w + m - 1;
  Image *out = image_new (image->w, image->h);
  g_autofree double *w = g_new (double, (gsize) stride *(image->h + m - 1));

  for (int q = 0; q < QUADRANTS; q++) {
    recurse (image, q, design->b[q], m, w);
    for (int y = 0; y < image->h; y++)
      for (int x = 0; x < image->w; x++) {
        const double *at = settled_sample (image, q, m, w, x, y);
        double acc = 0;

        for (int k = 0; k < m; k++)
          for (int l = 0; l < m; l++)
            acc += design->a[q][k * m + l] * at[-k * stride - l];
        out->v[(gsize) y * image->w + x] += acc;
      }
  }
  return out;
}

/* The root of the sum of squares of the impulse response. */
double
design_noise_gain (const Design *design)
{
  g_autoptr (Image) point = image_new (257, 257);
  g_autoptr (Image) response = NULL;
  double sum = 0;

  point->v[128 * 257 + 128] = 1;
  response = design_apply (design, point);
  for (int i = 0; i < 257 * 257; i++)
    sum += response->v[i] * response->v[i];
  return sqrt (sum);
}

/* ---- least squares for given poles -------------------------------------- */

/* Numbers the unknowns. Weights that are equal by symmetry share a number. */
static void
number_unknowns (Fit *fit)
{
  Symmetry s = fit->problem.symmetry;
  gboolean exchange = s == SYMMETRY_FULL || s == SYMMETRY_DIAGONAL;
  int m = fit->problem.m;

  for (int q = 0; q < QUADRANTS; q++)
    for (int k = 0; k < m; k++)
      for (int l = 0; l < m; l++) {
        /* The first quadrant with equal weights; opposite quadrants are q and 3 - q. */
        int first = s >= SYMMETRY_MIRROR ? 0 : s == SYMMETRY_NONE ? q : MIN (q, 3 - q);
        gboolean transpose = exchange && l < k;
        int *number = &fit->unknown[q][k * m + l];

        if (first != q)
          *number = fit->unknown[first][k * m + l];
        else
          *number = transpose ? fit->unknown[q][l * m + k] : fit->n++;
      }
}

static void
add_products (Sums *sums, int n, const double *r)
{
  for (int i = 0; i <= n; i++)
    for (int j = 0; j <= i; j++)
      sums->g[i][j] += r[i] * r[j];
  sums->n++;
}

/* Fills fit->train and fit->held for the denominators of design. */
static void
sum_products (Fit *fit, const Design *design)
{
  int m = design->m, stride = fit->x->w + m - 1, margin = fit_margin (&fit->problem);

  memset (&fit->train, 0, sizeof fit->train);
  memset (&fit->held, 0, sizeof fit->held);
  for (int q = 0; q < QUADRANTS; q++)
    recurse (fit->x, q, design->b[q], m, fit->w[q]);
  for (int y = margin; y < fit->x->h - margin; y++)
    for (int x = margin; x < fit->x->w - margin; x++) {
      double r[MAX_TAPS + 1] = { 0 };

      for (int q = 0; q < QUADRANTS; q++) {
        const double *at = settled_sample (fit->x, q, m, fit->w[q], x, y);

        for (int k = 0; k < m; k++)
          for (int l = 0; l < m; l++)
            r[fit->unknown[q][k * m + l]] += at[-k * stride - l];
      }
      r[fit->n] = fit->y->v[(gsize) y * fit->x->w + x];
      add_products (fit_held_out (x, y) ? &fit->held : &fit->train, fit->n, r);
    }
}

static double
mean_square (const Sums *sums, int n, const double *c)
{
  double sum = sums->g[n][n];

  for (int i = 0; i < n; i++) {
    sum += c[i] * (sums->g[i][i] * c[i] - 2 * sums->g[n][i]);
    for (int j = 0; j < i; j++)
      sum += 2 * c[i] * c[j] * sums->g[i][j];
  }
  return sums->n ? sum / sums->n : HUGE_VAL;
}

/* Computes the numerators for the denominators in design: least squares with the condition that
 * flat areas keep their level. Returns FALSE if the equations cannot be solved. */
static gboolean
solve (Fit *fit, Design *design)
{
  static double g[MAX_TAPS + 1][MAX_TAPS + 1];
  static double right[MAX_TAPS][2]; /* right sides (the sums, `flat`), replaced by the solutions */
  double c[MAX_TAPS] = { 0 }, flat[MAX_TAPS] = { 0 }, trace = 0, missing = 1, gain = 0;
  int n = fit->n, mm = design->m * design->m;

  sum_products (fit, design);
  for (int q = 0; q < QUADRANTS; q++) {
    double sum = 1;

    for (int i = 0; i < mm; i++)
      sum -= design->b[q][i];
    for (int i = 0; i < mm; i++)
      flat[fit->unknown[q][i]] += 1 / sum;
  }
  memcpy (g, fit->train.g, sizeof g);
  for (int i = 0; i < n; i++)
    trace += g[i][i];
  for (int i = 0; i < n; i++) {
    g[i][i] += RIDGE * trace / n;
    right[i][0] = g[n][i];
    right[i][1] = flat[i];
  }
  if (LAPACKE_dposv (LAPACK_ROW_MAJOR, 'L', n, 2, g[0], MAX_TAPS + 1, right[0], 2) != 0)
    return FALSE;
  for (int i = 0; i < n; i++) {
    missing -= flat[i] * right[i][0];
    gain += flat[i] * right[i][1];
  }
  for (int i = 0; i < n; i++)
    c[i] = right[i][0] + missing / gain * right[i][1];
  for (int q = 0; q < QUADRANTS; q++)
    for (int i = 0; i < mm; i++)
      design->a[q][i] = (float) c[fit->unknown[q][i]];
  design->held = mean_square (&fit->held, n, c);
  return isfinite (design->held);
}

/* ---- denominators ------------------------------------------------------- */

/* Computes the coefficients of z^0 .. z^-order from reflection coefficients; the roots lie within
 * radius. */
static void
from_reflections (const double *reflection, int order, double radius, double *c)
{
  double scale = 1;

  c[0] = 1;
  for (int i = 1; i <= order; i++) {
    double before[MAX_M];

    memcpy (before, c, i * sizeof *c);
    c[i] = reflection[i - 1];
    for (int j = 1; j < i; j++)
      c[j] = before[j] + reflection[i - 1] * before[i - j];
  }
  for (int i = 0; i <= order; i++, scale *= radius)
    c[i] *= scale;
}

/* Returns the largest radius of the roots of c[0] z^n + .. + c[n], the eigenvalues of its companion
 * matrix. */
static double
outermost (const double *c, int order)
{
  double matrix[MAX_ORDER * MAX_ORDER] = { 0 }, re[MAX_ORDER] = { 0 }, im[MAX_ORDER] = { 0 }, radius = 0;

  for (int i = 0; i < order; i++) {
    matrix[i] = -c[i + 1] / c[0];
    if (i + 1 < order)
      matrix[(i + 1) * order + i] = 1;
  }
  LAPACKE_dhseqr (LAPACK_ROW_MAJOR, 'E', 'N', order, 1, order, matrix, order, re, im, NULL, order);
  for (int i = 0; i < order; i++)
    radius = MAX (radius, hypot (re[i], im[i]));
  return radius;
}

static gboolean
is_diagonal (const Candidate *candidate, int q)
{
  return candidate->family == (q == 0 || q == 3 ? DOWN : UP);
}

static void
make_denominators (const Candidate *candidate, double max_radius, Design *design)
{
  int order = candidate->order, m = design->m;
  gboolean one = candidate->family == SAME;
  double first[MAX_M] = { 0 }, second[MAX_M] = { 0 }, r[2];
  gboolean diagonals = candidate->family == DOWN || candidate->family == UP;

  /* A step along a diagonal is a step along both axes, so its root is squared. */
  from_reflections (candidate->p, order, diagonals ? max_radius * max_radius : max_radius, first);
  from_reflections (candidate->p + (one ? 0 : order), order, max_radius, second);
  r[0] = outermost (first, order);
  r[1] = outermost (second, order);
  design->radius = MAX (diagonals ? sqrt (r[0]) : r[0], r[1]);
  design->family = family_words[candidate->family];
  for (int q = 0; q < QUADRANTS; q++) {
    const double *rows = diagonals ? second : first;

    memset (design->b[q], 0, sizeof design->b[q]);
    for (int k = 0; k < m; k++)
      for (int l = 0; l < m; l++)
        if (is_diagonal (candidate, q))
          design->b[q][k * m + l] = k == l ? (float) -first[k] : 0;
        else
          design->b[q][k * m + l] = (float) -(second[k] * rows[l]);
    design->b[q][0] = 0;
  }
}

/* ---- the search --------------------------------------------------------- */

static int
n_parameters (const Candidate *candidate)
{
  return candidate->family == SAME ? candidate->order : 2 * candidate->order;
}

static void
judge (Fit *fit, Candidate *candidate)
{
  Design design = { .m = fit->problem.m };

  make_denominators (candidate, fit->problem.max_radius, &design);
  candidate->held = solve (fit, &design) ? design.held : HUGE_VAL;
}

/* Inserts the candidate into the n best, which are sorted. */
static void
keep (Candidate *best, int n, Candidate candidate)
{
  for (int i = 0; i < n; i++)
    if (candidate.held < best[i].held) {
      Candidate worse = best[i];

      best[i] = candidate;
      candidate = worse;
    }
}

/* Descends along one parameter after the other, in steps that become smaller. */
static void
refine (Fit *fit, Candidate *candidate)
{
  int n = n_parameters (candidate);

  for (double step = 0.16; step > 0.004; step /= 2)
    for (int round = 0; round < 8; round++) {
      double before = candidate->held;

      for (int i = 0; i < 2 * n; i++) {
        Candidate next = *candidate;

        next.p[i / 2] = CLAMP (next.p[i / 2] + (i & 1 ? -step : step), -0.999, 0.999);
        judge (fit, &next);
        if (next.held < candidate->held)
          *candidate = next;
      }
      if (!(candidate->held < before * 0.9999))
        break;
    }
}

/* Writes the reflection coefficients of a polynomial of order 1 or 2 with poles at radius u and
 * angle +-v (pair), or at u and v on the real axis. */
static void
set_poles (double *p, int order, double u, double v, gboolean pair)
{
  double c1 = pair ? -2 * u * cos (v) : -(u + v), c2 = pair ? u * u : u * v;

  p[0] = order < 2 ? -u : c1 / (1 + c2);
  if (order >= 2)
    p[1] = c2;
}

/* Tries pairs of poles on a grid: in the first polynomial, in the second, in both. */
static void
try_grid (Fit *fit, Family family, int order, Candidate *best)
{
  static const double radii[] = { 0.3, 0.5, 0.7, 0.85, 0.95 }, reals[] = { -0.9, -0.6, -0.3, 0, 0.3, 0.6, 0.9 };
  int pairs = G_N_ELEMENTS (radii) * 11, n = pairs + G_N_ELEMENTS (reals) * G_N_ELEMENTS (reals);

  for (int where = 0; where < (family == SAME ? 1 : family == AXES ? 3 : 2); where++)
    for (int i = 0; i < n; i++) {
      Candidate candidate = { .family = family, .order = order };
      int real = i - pairs;
      double u = i < pairs ? radii[i / 11] : reals[real / 7];
      double v = i < pairs ? (i % 11 + 1) * G_PI / 12 : reals[real % 7];

      if (where != 1)
        set_poles (candidate.p, order, u, v, i < pairs);
      if (where > 0)
        set_poles (candidate.p + order, order, u, v, i < pairs);
      judge (fit, &candidate);
      keep (best, STARTS, candidate);
    }
}

/* Adds one pole to each polynomial, at 0, where it has no effect before it is refined. */
static void
raise_order (Candidate *candidate)
{
  int order = candidate->order;

  if (candidate->family != SAME)
    memmove (candidate->p + order + 1, candidate->p + order, order * sizeof (double));
  candidate->p[order] = 0;
  candidate->order++;
  if (candidate->family != SAME)
    candidate->p[2 * order + 1] = 0;
}

/* Returns whether the family is searched for this symmetry. AXES includes SAME, which is for
 * symmetries that exchange rows and columns. */
static gboolean
has_symmetry (Family family, Symmetry symmetry)
{
  switch (symmetry) {
    case SYMMETRY_FULL:
      return family == SAME;
    case SYMMETRY_DIAGONAL:
      return family != AXES;
    case SYMMETRY_MIRROR:
      return family == AXES;
    default:
      return family != SAME;
  }
}

/* Returns the middle of the fragment, at most SEARCHED x SEARCHED. */
static Rect
middle (Rect f)
{
  Rect part = { f.x, f.y, MIN (f.w, SEARCHED), MIN (f.h, SEARCHED) };

  part.x += (f.w - part.w) / 2;
  part.y += (f.h - part.h) / 2;
  return part;
}

static Fit *
fit_new (const Problem *problem)
{
  Fit *fit = g_new0 (Fit, 1);
  Rect f = problem->fragment;
  gsize n = (gsize) f.w * f.h, padded = (gsize) (f.w + problem->m - 1) * (f.h + problem->m - 1);
  double mean_x = 0, mean_y = 0;

  fit->problem = *problem;
  fit->x = image_part (problem->blurred, f);
  fit->y = image_part (problem->sharp, f);
  for (gsize i = 0; i < n; i++) {
    mean_x += fit->x->v[i] / n;
    mean_y += fit->y->v[i] / n;
  }
  for (gsize i = 0; i < n; i++) {
    fit->x->v[i] -= mean_x;
    fit->y->v[i] -= mean_y;
  }
  for (int q = 0; q < QUADRANTS; q++)
    fit->w[q] = g_new (double, padded);
  number_unknowns (fit);
  return fit;
}

static void
fit_free (Fit *fit)
{
  image_free (fit->x);
  image_free (fit->y);
  for (int q = 0; q < QUADRANTS; q++)
    g_free (fit->w[q]);
  g_free (fit);
}

gboolean
fit_fir (const Problem *problem, Design *fir)
{
  Fit *fit = fit_new (problem);
  gboolean good;

  *fir = (Design) { .m = problem->m, .family = "no poles" };
  good = solve (fit, fir);
  fit_free (fit);
  return good;
}

/* Searches one family of denominators; *winner becomes its best candidate if that is better. */
static void
search_family (Fit *fit, Family family, Candidate *winner)
{
  Candidate starts[STARTS], finalists[FINALISTS];
  int last = fit->problem.m - 1;

  for (int i = 0; i < STARTS; i++)
    starts[i].held = HUGE_VAL;
  for (int i = 0; i < FINALISTS; i++)
    finalists[i].held = HUGE_VAL;
  try_grid (fit, family, MIN (2, last), starts);
  for (int i = 0; i < STARTS && isfinite (starts[i].held); i++) {
    refine (fit, &starts[i]);
    keep (finalists, FINALISTS, starts[i]);
  }
  for (int i = 0; i < FINALISTS && isfinite (finalists[i].held); i++) {
    while (finalists[i].order < last) {
      raise_order (&finalists[i]);
      refine (fit, &finalists[i]);
    }
    keep (winner, 1, finalists[i]);
  }
}

gboolean
fit_recursive (const Problem *problem, Design *best)
{
  Problem part = *problem;
  Candidate winner = { .held = HUGE_VAL };
  gboolean good;
  Fit *fit;

  part.fragment = middle (problem->fragment);
  fit = fit_new (&part);
  for (int family = 0; family < FAMILIES; family++)
    if (has_symmetry (family, problem->symmetry)) {
      search_family (fit, family, &winner);
      g_printerr ("tried %s: error %.3f levels\n", family_words[family], sqrt (winner.held));
    }
  fit_free (fit);

  fit = fit_new (problem);
  *best = (Design) { .m = problem->m };
  make_denominators (&winner, problem->max_radius, best);
  good = isfinite (winner.held) && solve (fit, best);
  fit_free (fit);
  return good;
}
