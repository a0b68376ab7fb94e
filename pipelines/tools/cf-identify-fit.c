/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cf-identify-fit.c: finds a recursive filter for cf-identify.
 *
 * With the poles given, what is left to find, the numerators a, enters the
 * result linearly: y = sum a x_i, where x_i is the picture behind the bare
 * recursion 1 / (1 - sum b ..), shifted by up to m - 1 samples. So they are
 * solved for, by least squares, and it is the poles that are searched: only
 * stable ones, so nothing that comes out can be unstable.
 *
 * A denominator is a product of polynomials of one variable. Each is written by
 * its reflection coefficients (the Schur-Cohn recursion backwards): every choice
 * between -1 and 1 is a stable polynomial, and every stable one is such a choice.
 * Their roots are then drawn in by the factor max_radius.
 *
 * The sums of the least squares are kept twice, for the samples that the
 * numerators come from and for those held out, by which poles are chosen. */

#include "cf-identify.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

#define MAX_TAPS (QUADRANTS * MAX_M * MAX_M)
#define MAX_ORDER (MAX_M - 1)
#define STARTS 4      /* of the grid's best, in each family, that are followed */
#define FINALISTS 2   /* of those, that get more poles */
#define SEARCHED 128  /* side of what poles are searched on; the numerators come from the whole fragment */
#define BLOCK 16      /* side of the squares that are held out */
#define RIDGE 1e-12   /* of the mean square: of weights that can be traded for each other, small ones; 1e-9 cost a dB */

/* Which denominators: all quadrants' rows . columns; the same for both; poles
 * along a diagonal in the two quadrants on it, rows . columns in the others. */
typedef enum { AXES, SAME, DOWN, UP, FAMILIES } Family;

static const char *const family_words[FAMILIES] = { "poles along rows and columns",
  "the same poles along rows and columns", "poles along the falling diagonal", "poles along the rising diagonal" };

typedef struct {
  Family family;
  int order;                 /* of each polynomial */
  double p[2 * MAX_ORDER];   /* reflection coefficients: rows (or the diagonal) first */
  double held;
} Candidate;

/* What is summed over samples: products of the regressors and the target. */
typedef struct {
  double g[MAX_TAPS + 1][MAX_TAPS + 1];
  gint64 n;
} Sums;

/* A problem on its fragment, with what every candidate needs. */
typedef struct {
  Problem problem;
  Picture *x, *y; /* less their means: another exposure is not the filter's business */
  int n;          /* unknowns */
  int unknown[QUADRANTS][MAX_M * MAX_M];
  Sums train, held;
  double *w[QUADRANTS]; /* x behind the bare recursions, m - 1 rows and columns more before the near edges */
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

/* The picture's sample in the quadrant's own direction. */
static inline double
turned (const Picture *x, int q, int n1, int n2)
{
  return x->v[(gsize) (q & 2 ? x->h - 1 - n1 : n1) * x->w + (q & 1 ? x->w - 1 - n2 : n2)];
}

/* What 1 / (1 - sum b) makes of n samples that nothing but themselves comes before. */
static void
settle (const double *b, int m, double *s, int n)
{
  for (int i = 0; i < n; i++)
    for (int l = 1; l < m; l++)
      s[i] += b[l] * s[i - l];
}

/* w = x / D as the contract's border replicate has it, in the quadrant's
 * direction; w has (w + m - 1) x (h + m - 1) samples. */
static void
recurse (const Picture *x, int q, const double *b, int m, double *w)
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
    w[i] = side[i] = turned (x, q, 0, 0) / (1 - sum);
  for (int n2 = 0; n2 < x->w; n2++)
    above[n2] = turned (x, q, 0, n2) * top_gain;
  for (int n1 = 0; n1 < x->h; n1++)
    side[pad + n1] = turned (x, q, n1, 0) * left_gain;
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

Picture *
design_apply (const Design *design, const Picture *picture)
{
  int m = design->m, pad = m - 1, stride = picture->w + pad;
  Picture *out = picture_new (picture->w, picture->h);
  g_autofree double *w = g_new (double, (gsize) stride * (picture->h + pad));

  for (int q = 0; q < QUADRANTS; q++) {
    recurse (picture, q, design->b[q], m, w);
    for (int y = 0; y < picture->h; y++)
      for (int x = 0; x < picture->w; x++) {
        int n1 = q & 2 ? picture->h - 1 - y : y, n2 = q & 1 ? picture->w - 1 - x : x;
        const double *at = w + (gsize) (n1 + pad) * stride + n2 + pad;
        double acc = 0;

        for (int k = 0; k < m; k++)
          for (int l = 0; l < m; l++)
            acc += design->a[q][k * m + l] * at[-k * stride - l];
        out->v[(gsize) y * picture->w + x] += acc;
      }
  }
  return out;
}

/* By how much white noise's standard deviation grows: the root of the sum of
 * the response's squares. */
double
design_noise_gain (const Design *design)
{
  g_autoptr (Picture) point = picture_new (257, 257);
  g_autoptr (Picture) response = NULL;
  double sum = 0;

  point->v[128 * 257 + 128] = 1;
  response = design_apply (design, point);
  for (int i = 0; i < 257 * 257; i++)
    sum += response->v[i] * response->v[i];
  return sqrt (sum);
}

/* ---- least squares for given poles -------------------------------------- */

/* Numbers the unknowns: weights that symmetry makes one share a number. */
static void
number_unknowns (Fit *fit)
{
  Symmetry s = fit->problem.symmetry;
  gboolean exchange = s == SYMMETRY_FULL || s == SYMMETRY_DIAGONAL;
  int m = fit->problem.m;

  for (int q = 0; q < QUADRANTS; q++)
    for (int k = 0; k < m; k++)
      for (int l = 0; l < m; l++) {
        /* The first of its kind; opposite quadrants are q and 3 - q. */
        int first = s >= SYMMETRY_MIRROR ? 0 : s == SYMMETRY_NONE ? q : MIN (q, 3 - q);
        gboolean turn = exchange && l < k;
        int *number = &fit->unknown[q][k * m + l];

        if (first != q)
          *number = fit->unknown[first][k * m + l];
        else
          *number = turn ? fit->unknown[q][l * m + k] : fit->n++;
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
  int m = design->m, pad = m - 1, stride = fit->x->w + pad, margin = fit_margin (&fit->problem);

  memset (&fit->train, 0, sizeof fit->train);
  memset (&fit->held, 0, sizeof fit->held);
  for (int q = 0; q < QUADRANTS; q++)
    recurse (fit->x, q, design->b[q], m, fit->w[q]);
  for (int y = margin; y < fit->x->h - margin; y++)
    for (int x = margin; x < fit->x->w - margin; x++) {
      double r[MAX_TAPS + 1] = { 0 };

      for (int q = 0; q < QUADRANTS; q++) {
        int n1 = q & 2 ? fit->x->h - 1 - y : y, n2 = q & 1 ? fit->x->w - 1 - x : x;
        const double *at = fit->w[q] + (gsize) (n1 + pad) * stride + n2 + pad;

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

/* The numerators for the denominators in design: least squares with the one
 * condition that flat areas keep their level. FALSE if that cannot be solved. */
static gboolean
solve (Fit *fit, Design *design)
{
  static double g[MAX_TAPS + 1][MAX_TAPS + 1];
  static double right[MAX_TAPS][2]; /* right sides, then solutions: of the sums, and of `flat` */
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

/* z^0 .. z^-order of the polynomial with these reflection coefficients, its
 * roots within radius. */
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

/* Are all roots of c[0] z^n + .. + c[n] within the circle of that radius? */
static gboolean
within (const double *c, int order, double radius)
{
  double d[MAX_M], scale = 1;

  for (int i = 0; i <= order; i++, scale /= radius)
    d[i] = c[i] * scale;
  for (int n = order; n > 0; n--) {
    double k = d[n] / d[0], next[MAX_M];

    if (!(fabs (k) < 1))
      return FALSE;
    for (int i = 0; i < n; i++)
      next[i] = d[i] - k * d[n - i];
    memcpy (d, next, n * sizeof *d);
  }
  return TRUE;
}

static double
outermost (const double *c, int order)
{
  double low = 0, high = 1;

  for (int i = 0; i < 50; i++) {
    double middle = (low + high) / 2;

    if (within (c, order, middle))
      high = middle;
    else
      low = middle;
  }
  return high;
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

  /* A step along a diagonal is one along both axes: a root there counts as its root. */
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

/* Keeps the best, the very best first. */
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

/* Goes downhill along each parameter in turn, in steps that become smaller. */
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

/* Puts the poles of one polynomial of order 1 or 2 at radius and angle, or on
 * the real axis at both, as reflection coefficients. */
static void
place (double *p, int order, double u, double v, gboolean pair)
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
        place (candidate.p, order, u, v, i < pairs);
      if (where > 0)
        place (candidate.p + order, order, u, v, i < pairs);
      judge (fit, &candidate);
      keep (best, STARTS, candidate);
    }
}

/* One more pole for each polynomial, at first at 0, where it changes nothing. */
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

/* AXES has all that SAME has; SAME is for where rows and columns may be exchanged. */
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

/* The middle of the fragment, where that is larger than is searched on. */
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
  fit->x = picture_part (problem->blurred, f);
  fit->y = picture_part (problem->sharp, f);
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
  picture_free (fit->x);
  picture_free (fit->y);
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

/* The best of one family of denominators. */
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
      g_printerr ("%s tried: error %.3f levels\n", family_words[family], sqrt (winner.held));
    }
  fit_free (fit);

  fit = fit_new (problem);
  *best = (Design) { .m = problem->m };
  make_denominators (&winner, problem->max_radius, best);
  good = isfinite (winner.held) && solve (fit, best);
  fit_free (fit);
  return good;
}
