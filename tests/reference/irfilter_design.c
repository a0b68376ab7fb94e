/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter_design.c: the constants of presets, of texts and of files, as the contract defines them. Where the contract
 * does not say in which order doubles are added, they are added row by row; floats of similar size add exactly in a
 * double, so that any order gives the same sum. */
#include "irfilter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SIZE 16384

/* A pass before it is rounded. */
typedef struct {
  bool used[REF_IR_QUADRANTS];
  RefIrTaps taps[REF_IR_QUADRANTS];
  double through, offset;
} Taps;

/* ---- texts -------------------------------------------------------------- */

/* Parses m x m numbers, rows separated by ';'. */
static bool
read_square (const char *text, int *m, double t[REF_IR_SIDE][REF_IR_SIDE])
{
  double v[REF_IR_SIDE * REF_IR_SIDE];
  int h;

  if (!kc_read_matrix (text, ";", false, REF_IR_SIDE, v, m, &h))
    return false;
  for (int i = 0; i < *m * h; i++)
    t[i / *m][i % *m] = v[i];
  return h == *m;
}

static bool
read_texts (const RefIrSetting *s, RefIrTaps *taps)
{
  int above = 1, below = 1;

  if (!s->numerator && !s->denominator)
    return false;
  if (s->numerator && !read_square (s->numerator, &above, taps->a))
    return false;
  if (s->denominator && !read_square (s->denominator, &below, taps->b))
    return false;
  if (!s->numerator)
    taps->a[0][0] = 1;
  taps->m = above > below ? above : below;
  return taps->b[0][0] == 0;
}

/* ---- files -------------------------------------------------------------- */

/* Returns the position behind `"name":` between `at` and `end`; NULL if there is none. */
static const char *
value_of (const char *at, const char *end, const char *name)
{
  size_t n = strlen (name);

  for (; at && at < end; at++)
    if (at[0] == '"' && strncmp (at + 1, name, n) == 0 && at[n + 1] == '"') {
      at += n + 2;
      at += strspn (at, " \t\r\n");
      return *at == ':' ? at + 1 + strspn (at + 1, " \t\r\n") : NULL;
    }
  return NULL;
}

/* Parses [[1, 2], [3, 4]]. */
static bool
read_matrix (const char *at, int m, double t[REF_IR_SIDE][REF_IR_SIDE])
{
  for (int i = 0; at && i < m * m; i++) {
    char *end;

    at += strspn (at, " \t\r\n[],");
    t[i / m][i % m] = strtod (at, &end);
    at = end == at ? NULL : end;
  }
  return at != NULL;
}

/* Parses valid files only: refused ones have tests of their own. */
static bool
read_file (const char *text, Taps *p)
{
  static const char *const names[REF_IR_QUADRANTS] = { "se", "sw", "ne", "nw" };
  const char *end = text + strlen (text), *at = value_of (text, end, "m");
  int m = at ? atoi (at) : 0;
  bool any = false;

  if (m < 1 || m > REF_IR_SIDE)
    return false;
  for (int q = 0; q < REF_IR_QUADRANTS; q++) {
    const char *set = value_of (text, end, names[q]), *close = set ? strchr (set, '}') : NULL, *b;

    if (!set)
      continue;
    any = p->used[q] = true;
    p->taps[q].m = m;
    if (!close || !read_matrix (value_of (set, close, "a"), m, p->taps[q].a))
      return false;
    b = value_of (set, close, "b");
    if ((b && !read_matrix (b, m, p->taps[q].b)) || p->taps[q].b[0][0] != 0)
      return false;
  }
  at = value_of (text, end, "offset");
  p->offset = at ? strtod (at, NULL) : 0;
  at = value_of (text, end, "passthrough");
  p->through = at ? strtod (at, NULL) : 0;
  return any;
}

/* ---- presets ------------------------------------------------------------ */

/* Uses the same taps in all quadrants. */
static void
use_everywhere (const RefIrTaps *taps, Taps *p)
{
  for (int q = 0; q < REF_IR_QUADRANTS; q++) {
    p->used[q] = true;
    p->taps[q] = *taps;
  }
}

/* Fills a pass of smooth, times `factor`. */
static void
smooth (double sigma, double factor, Taps *p)
{
  double lambda = sigma * sigma / 2;
  double nu = (1 + 2 * lambda - sqrt (1 + 4 * lambda)) / (2 * lambda);
  float b1 = (float) nu, b2 = (float) -(nu * nu);
  double g = (1 - ((double) b1 + (double) b1 + (double) b2)) / (4 * ((1 + nu) * (1 + nu)));
  RefIrTaps taps = { .m = 2 };

  taps.b[0][1] = taps.b[1][0] = b1;
  taps.b[1][1] = b2;
  taps.a[0][0] = factor * g;
  taps.a[0][1] = taps.a[1][0] = factor * (g * nu);
  taps.a[1][1] = factor * (g * (nu * nu));
  use_everywhere (&taps, p);
}

/* Fills the passes of a setting. Returns their number; 0 if it is refused. */
static int
make_passes (const RefIrSetting *s, int bits, Taps p[3])
{
  RefIrTaps taps = { 0 };

  memset (p, 0, 3 * sizeof *p);
  if (g_str_equal (s->preset, "custom")) {
    if (s->file)
      return read_file (s->file, p);
    if (!read_texts (s, &taps))
      return 0;
    use_everywhere (&taps, p);
  } else if (g_str_equal (s->preset, "smooth")) {
    smooth (s->sigma, 1, p);
  } else if (g_str_equal (s->preset, "soft")) {
    for (int i = 0; i < 3; i++)
      smooth (s->sigma / sqrt (3), 1, &p[i]);
    return 3;
  } else if (g_str_equal (s->preset, "highpass")) {
    smooth (s->sigma, -s->amount, p);
    p->through = s->amount;
    p->offset = ldexp (1, bits - 1);
  } else if (g_str_equal (s->preset, "sharpen")) {
    smooth (s->sigma, -s->amount, p);
    p->through = 1 + s->amount;
  } else {
    return 0;
  }
  return 1;
}

/* ---- one set ------------------------------------------------------------ */

static bool
round_taps (const RefIrTaps *taps, RefIrSet *set)
{
  bool good = true;

  for (int k = 0; k < taps->m; k++)
    for (int l = 0; l < taps->m; l++) {
      good = good && fabs (taps->a[k][l]) <= 1e6 && fabs (taps->b[k][l]) <= 1e4;
      set->a[k][l] = (float) taps->a[k][l];
      set->b[k][l] = (float) taps->b[k][l];
    }
  return good;
}

/* Computes the constants of the state outside a plane that is extended by its edge samples. */
static void
settle (int m, RefIrSet *set)
{
  double a = 0, b = 0, up = 0, left = 0;

  for (int k = 0; k < m; k++)
    for (int l = 0; l < m; l++) {
      a += set->a[k][l];
      b += set->b[k][l];
    }
  set->corner = (float) (a / (1 - b));
  for (int i = 1; i < m; i++) {
    up += set->b[i][0];
    left += set->b[0][i];
  }
  for (int i = 0; i < m; i++) {
    double top_a = 0, top_b = 0, left_a = 0, left_b = 0;

    for (int j = 0; j < m; j++) {
      top_a += set->a[j][i];
      top_b += set->b[j][i];
      left_a += set->a[i][j];
      left_b += set->b[i][j];
    }
    set->top_a[i] = (float) (top_a / (1 - up));
    set->left_a[i] = (float) (left_a / (1 - left));
    set->top_b[i] = i ? (float) (top_b / (1 - up)) : 0;
    set->left_b[i] = i ? (float) (left_b / (1 - left)) : 0;
  }
}

static double
radius_of (int m, const RefIrSet *set)
{
  double b[REF_IR_SIDE][REF_IR_SIDE] = { 0 };

  for (int k = 0; k < m; k++)
    for (int l = 0; l < m; l++)
      b[k][l] = set->b[k][l];
  return ref_ir_pole_radius (m, b);
}

static int
rounded_side (int m)
{
  return m <= 2 ? 2 : m <= 5 ? m : 8;
}

static int
margin_of (double radius, int m)
{
  double margin = radius > 0 ? ceil (16.6 / log (1 / radius)) : 0;

  return (int) CLAMP (margin, m, MAX_SIZE);
}

bool
ref_ir_design (const RefIrSetting *s, int bits, RefIrDesign *d)
{
  Taps plain[3];

  memset (d, 0, sizeof *d);
  d->zero = s->zero;
  d->by_lines = s->auto_method && s->quadrants == 15 &&
      (g_str_equal (s->preset, "smooth") || g_str_equal (s->preset, "soft") || g_str_equal (s->preset, "highpass") ||
          g_str_equal (s->preset, "sharpen"));
  d->n = make_passes (s, bits, plain);
  for (int i = 0; i < d->n; i++) {
    RefIrPass *pass = &d->pass[i];
    bool last = i + 1 == d->n, any = false;
    double radius = 0;

    for (int q = 0; q < REF_IR_QUADRANTS; q++)
      if (plain[i].used[q])
        pass->m = rounded_side (plain[i].taps[q].m);
    for (int q = 0; q < REF_IR_QUADRANTS; q++) {
      pass->set[q].used = plain[i].used[q] && (s->quadrants >> q & 1);
      any = any || pass->set[q].used;
      if (!round_taps (&plain[i].taps[q], &pass->set[q]))
        return false;
      if (pass->set[q].used)
        radius = fmax (radius, radius_of (pass->m, &pass->set[q]));
      settle (pass->m, &pass->set[q]);
    }
    if (!any || !(radius < 1))
      return false;
    pass->warmup_margin = margin_of (radius, pass->m);
    pass->through = (float) plain[i].through;
    pass->luma_offset = last ? (float) plain[i].offset : 0;
    pass->chroma_offset = last ? (float) ldexp (1, bits - 1) : 0;
    d->radius = fmax (d->radius, radius);
  }
  return d->n > 0;
}
