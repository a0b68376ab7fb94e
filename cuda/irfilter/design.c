/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/design.c: computes the float32 constants of each pass from the parameters, for
 * both backends. irfilter.h has the formulas. */
#include "design.h"
#include "tables.h"
#include "core/text.h"

#include <math.h>
#include <string.h>

const char *const cf_ir_quadrant_names[CF_IR_QUADRANTS] = { "se", "sw", "ne", "nw" };

/* ---- numerator and denominator ------------------------------------------ */

#define EXAMPLE_A "\"0.1 0; 0 0\""
#define EXAMPLE_B "\"0 0.5; 0.4 -0.2\""

/* Parses one of the two; *m: its side. */
static CfCode
read_square (const char *what, const char *example, const char *text, double max, int *m, double (*square)[CF_IR_MAX],
    CfStatus *status)
{
  const CfTextKind kind = { what, "a window", example, CF_IR_MAX };
  double t[CF_IR_MAX * CF_IR_MAX];
  int w, h;
  CfCode code = cf_text_parse (&kind, text, t, &w, &h, status);

  if (code != CF_OK)
    return code;
  if (w != h)
    return cf_fail (status, CF_BAD_VALUE,
        "%s has %d row%s and %d column%s; it must have as many rows as columns, padded with zeros, as in %s", what, h,
        h == 1 ? "" : "s", w, w == 1 ? "" : "s", example);
  for (int k = 0; k < h; k++)
    for (int l = 0; l < w; l++) {
      if (fabs (t[k * w + l]) > max)
        return cf_fail (status, CF_BAD_VALUE, "%s, row %d, column %d: %g is too large; the maximum is %g", what, k + 1,
            l + 1, t[k * w + l], max);
      square[k][l] = t[k * w + l];
    }
  *m = w;
  return CF_OK;
}

/* Reads `numerator` and `denominator`, one of which may be NULL. Fills all of `taps`. */
static CfCode
read_texts (const char *numerator, const char *denominator, CfIrTaps *taps, CfStatus *status)
{
  CfCode code = CF_OK;
  int m_a = 1, m_b = 1;

  memset (taps, 0, sizeof *taps);
  taps->a[0][0][0] = 1;
  if (numerator)
    code = read_square ("numerator", EXAMPLE_A, numerator, CF_IR_MAX_A, &m_a, taps->a[0], status);
  if (code == CF_OK && denominator)
    code = read_square ("denominator", EXAMPLE_B, denominator, CF_IR_MAX_B, &m_b, taps->b[0], status);
  if (code != CF_OK)
    return code;
  if (taps->b[0][0][0] != 0)
    return cf_fail (status, CF_BAD_VALUE,
        "denominator, row 1, column 1: %g must be 0, because an output sample cannot "
        "depend on itself; as in " EXAMPLE_B,
        taps->b[0][0][0]);
  taps->m = m_a > m_b ? m_a : m_b;
  for (int q = 0; q < CF_IR_QUADRANTS; q++) {
    taps->used[q] = true;
    memcpy (taps->a[q], taps->a[0], sizeof taps->a[0]);
    memcpy (taps->b[q], taps->b[0], sizeof taps->b[0]);
  }
  return CF_OK;
}

/* ---- presets ------------------------------------------------------------ */

static double
nu_of (double sigma)
{
  double lambda = sigma * sigma / 2;

  return (1 + 2 * lambda - sqrt (1 + 4 * lambda)) / (2 * lambda);
}

/* The smoother, with numerators times `factor`. b is rounded to float already here, so
 * that the gain is the one for the rounded b. */
static void
make_smooth (double sigma, double factor, CfIrTaps *taps)
{
  double nu = nu_of (sigma);
  double b1 = (float) nu, b2 = (float) -(nu * nu);
  double gain = (1 - (b1 + b1 + b2)) / (4 * (1 + nu) * (1 + nu));

  taps->m = 2;
  for (int q = 0; q < CF_IR_QUADRANTS; q++) {
    taps->used[q] = true;
    taps->b[q][0][1] = taps->b[q][1][0] = b1;
    taps->b[q][1][1] = b2;
    taps->a[q][0][0] = factor * gain;
    taps->a[q][0][1] = taps->a[q][1][0] = factor * (gain * nu);
    taps->a[q][1][1] = factor * (gain * (nu * nu));
  }
}

/* `turned`: uses the set for a blur at right angles to that of the entry, with rows and columns exchanged and the
 * quadrants mirrored. */
static void
use_entry (const CfIrTableEntry *entry, bool turned, CfIrTaps *taps)
{
  int m = taps->m = entry->m;

  for (int q = 0; q < CF_IR_QUADRANTS; q++) {
    bool is_second = (q == CF_IR_SW || q == CF_IR_NE) != turned;

    taps->used[q] = true;
    for (int i = 0; i < m * m; i++) {
      int k = turned ? i % m : i / m, l = turned ? i / m : i % m;

      taps->a[q][k][l] = entry->a[is_second][i];
      taps->b[q][k][l] = entry->b[is_second][i];
    }
  }
}

/* Returns the first tables for at least this noise, the last ones if there are none. */
static const CfIrTables *
tables_for (double noise)
{
  static const CfIrTables *const steps[] = { &cf_ir_tables_0, &cf_ir_tables_2, &cf_ir_tables_5 };
  size_t i = 0;

  while (i + 1 < sizeof steps / sizeof steps[0] && noise > steps[i]->noise)
    i++;
  return steps[i];
}

/* Mixes the image with what the set makes of it. */
static void
mix (double amount, CfIrTaps *taps)
{
  taps->through = 1 - amount;
  for (int q = 0; q < CF_IR_QUADRANTS; q++)
    for (int k = 0; k < CF_IR_MAX; k++)
      for (int l = 0; l < CF_IR_MAX; l++)
        taps->a[q][k][l] *= amount;
}

/* Uses the entry of the nearest sigma; of two at the same distance the smaller one. */
static CfCode
make_deblur (const CfIrFilterParams *p, CfIrTaps *taps, CfStatus *status)
{
  const CfIrTables *tables = tables_for (p->noise);
  const CfIrTableEntry *table = tables->deblur.entry;
  double sigma = p->sigma_is_set ? p->sigma : 1;
  int n = tables->deblur.n, nearest = 0;

  if (sigma < table[0].sigma || sigma > table[n - 1].sigma)
    return cf_fail (status, CF_BAD_VALUE, "sigma is %g; with preset=deblur it must be between %g and %g", sigma,
        table[0].sigma, table[n - 1].sigma);
  for (int i = 1; i < n; i++)
    if (fabs (table[i].sigma - sigma) < fabs (table[nearest].sigma - sigma))
      nearest = i;
  use_entry (&table[nearest], false, taps);
  mix (p->amount, taps);
  return CF_OK;
}

static CfCode
make_motion (const CfIrFilterParams *p, CfIrTaps *taps, CfStatus *status)
{
  const CfIrTables *tables = tables_for (p->noise);
  const CfIrTableEntry *table = tables->motion.entry;
  int n = tables->motion.n;

  for (int i = 0; i < n; i++)
    if (table[i].length == p->length && (table[i].angle == p->angle || table[i].angle + 90 == p->angle)) {
      use_entry (&table[i], table[i].angle != p->angle, taps);
      mix (p->amount, taps);
      return CF_OK;
    }
  return cf_fail (status, CF_BAD_VALUE,
      "preset=motion-deblur has no set for length %d at angle %d; lengths go from %d "
      "to %d, angles are 0, 45, 90 and 135",
      p->length, p->angle, table[0].length, table[n - 1].length);
}

static CfCode
make_custom (const CfIrFilterParams *p, CfIrTaps *taps, CfStatus *status)
{
  if (p->numerator || p->denominator)
    return read_texts (p->numerator, p->denominator, taps, status);
  if (p->file_text)
    return cf_ir_read_json (p->file_text, taps, status);
  if (p->coefficients)
    return cf_text_unread ("coefficients", p->coefficients, status);
  return cf_fail (status, CF_BAD_VALUE,
      "preset=custom needs coefficients; set numerator and denominator, as in "
      "denominator=\"0 0.5; 0.4 -0.2\", or coefficients");
}

/* Fills the passes of a preset, before they are rounded; *n: their number. */
static CfCode
make_passes (const CfIrFilterParams *p, CfIrTaps taps[CF_IR_MAX_PASSES], int *n, int mid, CfStatus *status)
{
  memset (taps, 0, CF_IR_MAX_PASSES * sizeof *taps);
  *n = 1;
  switch (p->preset) {
    case CF_IR_SMOOTH:
      make_smooth (p->sigma, 1, taps);
      break;
    case CF_IR_SOFT:
      *n = 3;
      for (int i = 0; i < *n; i++)
        make_smooth (p->sigma / sqrt (3), 1, &taps[i]);
      break;
    case CF_IR_HIGHPASS:
      make_smooth (p->sigma, -p->amount, taps);
      taps->through = p->amount;
      taps->offset = mid;
      break;
    case CF_IR_SHARPEN:
      make_smooth (p->sigma, -p->amount, taps);
      taps->through = 1 + p->amount;
      break;
    case CF_IR_DEBLUR:
      return make_deblur (p, taps, status);
    case CF_IR_MOTION_DEBLUR:
      return make_motion (p, taps, status);
    case CF_IR_CUSTOM:
      return make_custom (p, taps, status);
    default:
      return cf_fail (status, CF_BAD_VALUE, "preset has no value number %d", p->preset);
  }
  return CF_OK;
}

/* ---- passes ------------------------------------------------------------- */

/* Computes the constants of the replicate border. The divisors are positive because the set is stable. */
static void
settle (CfIrSet *s, int m)
{
  double column = 0, row = 0, sum_a = 0, sum_b = 0;

  for (int i = 1; i < m; i++) {
    column += s->b[i][0];
    row += s->b[0][i];
  }
  for (int i = 0; i < m; i++) {
    double top_a = 0, top_b = 0, left_a = 0, left_b = 0;

    for (int j = 0; j < m; j++) {
      top_a += s->a[j][i];
      top_b += s->b[j][i];
      left_a += s->a[i][j];
      left_b += s->b[i][j];
      sum_a += s->a[i][j];
      sum_b += s->b[i][j];
    }
    s->top_a[i] = (float) (top_a / (1 - column));
    s->left_a[i] = (float) (left_a / (1 - row));
    s->top_b[i] = i ? (float) (top_b / (1 - column)) : 0;
    s->left_b[i] = i ? (float) (left_b / (1 - row)) : 0;
  }
  s->corner = (float) (sum_a / (1 - sum_b));
}

/* Raises *radius to the set's pole radius, or fails if the set is unstable. `from`: the
 * parameter that defines the set, followed by a comma; may be empty. */
static CfCode
find_radius (const CfIrSet *set, int m, const char *from, int q, double *radius, CfStatus *status)
{
  CfIrPole pole = cf_ir_pole (set->b, m);

  if (pole.radius < 1) {
    *radius = fmax (*radius, pole.radius);
    return CF_OK;
  }
  return cf_fail (status, CF_BAD_VALUE,
      "%squadrant %s: the filter is unstable; its pole radius is %.7g, at %.4g "
      "cycles per sample along a row and %.4g down a column; it must be below 1: make the feedback weights (b) "
      "smaller",
      from, cf_ir_quadrant_names[q], pole.radius, pole.along, pole.down);
}

static CfCode
round_pass (const CfIrFilterParams *p, const CfIrTaps *taps, CfIrPass *pass, double *radius, CfStatus *status)
{
  const char *from = p->preset != CF_IR_CUSTOM ? ""
      : p->denominator                         ? "denominator, "
      : p->numerator                           ? "numerator, "
                                               : "coefficients, ";
  double largest = 0, margin;
  CfCode code = CF_OK;

  pass->m = taps->m <= 2 ? 2 : taps->m <= 5 ? taps->m : CF_IR_MAX;
  pass->through = (float) taps->through;
  for (int q = 0; q < CF_IR_QUADRANTS && code == CF_OK; q++) {
    CfIrSet *set = &pass->set[q];

    pass->used[q] = taps->used[q] && p->quadrants >> q & 1;
    if (!pass->used[q])
      continue;
    for (int k = 0; k < CF_IR_MAX; k++)
      for (int l = 0; l < CF_IR_MAX; l++) {
        set->a[k][l] = (float) taps->a[q][k][l];
        set->b[k][l] = (float) taps->b[q][k][l];
      }
    code = find_radius (set, pass->m, from, q, &largest, status);
    settle (set, pass->m);
  }
  if (code != CF_OK)
    return code;
  margin = largest > 0 ? ceil (16.6 / log (1 / largest)) : 0;
  pass->warmup_margin = (int) fmin (fmax (margin, pass->m), CF_MAX_SIZE);
  *radius = fmax (*radius, largest);
  return CF_OK;
}

/* ---- lines -------------------------------------------------------------- */

/* Returns nu^n, and 0 below 2^-60, where it would become a denormal number in the end. */
static float
power (double nu, int n)
{
  double p = pow (nu, n);

  return p < 0x1p-60 ? 0 : (float) p;
}

static bool
is_by_lines (const CfIrFilterParams *p)
{
  return p->method == CF_IR_AUTO && p->preset <= CF_IR_SHARPEN && p->quadrants == (1 << CF_IR_QUADRANTS) - 1;
}

static void
make_lines (const CfIrFilterParams *p, CfIrDesign *design)
{
  CfIrLines *l = &design->lines;
  double nu, growth, k, gain;

  l->rounds = p->preset == CF_IR_SOFT ? CF_IR_ROUNDS : 1;
  l->nu = (float) nu_of (p->sigma / sqrt (l->rounds));
  nu = l->nu;
  l->settled = (float) (1 / (1 - nu));
  for (int i = 0; i < CF_IR_EIGHT; i++)
    l->power[i] = power (nu, CF_IR_SEGMENT * i);
  l->eight = power (nu, CF_IR_SEGMENT * CF_IR_EIGHT);
  growth = (1 + nu) / (1 - nu);
  k = pow (growth, -l->rounds);
  l->between = design->bits == 8 ? (float) (255 * k) : 0;
  gain = design->bits == 8 ? k / 255 : k * k;
  for (int i = 0; i < l->rounds; i++)
    for (int chroma = 0; chroma < 2; chroma++) {
      double z = (chroma ? design->mid + 1 : 1) * pow (growth, i);

      l->outside[chroma][0][i] = (float) z;
      l->outside[chroma][1][i] = (float) (design->bits == 8 ? 255 * z : z / k);
    }
  l->mixed = p->preset == CF_IR_HIGHPASS || p->preset == CF_IR_SHARPEN;
  l->gain = (float) (l->mixed ? -p->amount * gain : gain);
  l->through = (float) (p->preset == CF_IR_SHARPEN ? 1 + p->amount : p->amount);
  l->offset = (float) (p->preset == CF_IR_SHARPEN ? p->amount : design->mid + p->amount);
}

static bool
any_quadrant (const CfIrTaps *taps, int quadrants)
{
  for (int q = 0; q < CF_IR_QUADRANTS; q++)
    if (taps->used[q] && quadrants >> q & 1)
      return true;
  return false;
}

CfCode
cf_ir_design (const CfIrFilterParams *p, CfFormat format, CfIrDesign *design, CfStatus *status)
{
  const CfFormatInfo *info = cf_format_info (format);
  CfIrTaps taps[CF_IR_MAX_PASSES];
  CfCode code;

  if (!info)
    return cf_fail (status, CF_UNSUPPORTED, "unknown pixel format number %d", (int) format);
  memset (design, 0, sizeof *design);
  design->bits = info->bits;
  design->max = (1 << info->bits) - 1;
  design->mid = 1 << (info->bits - 1);
  design->border = (CfIrBorder) p->border;
  code = make_passes (p, taps, &design->n, design->mid, status);
  if (code == CF_OK && !any_quadrant (taps, p->quadrants))
    return cf_fail (status, CF_BAD_VALUE,
        p->quadrants ? "quadrants selects no quadrant that the file in coefficients "
                       "defines; name one of those"
                     : "quadrants is empty; name at least one of se, sw, ne and nw, as in se+sw");
  for (int i = 0; i < design->n && code == CF_OK; i++)
    code = round_pass (p, &taps[i], &design->pass[i], &design->pole_radius, status);
  if (code != CF_OK)
    return code;
  design->pass[design->n - 1].offset[0] = (float) taps[design->n - 1].offset;
  design->pass[design->n - 1].offset[1] = (float) design->mid;
  design->by_lines = is_by_lines (p);
  if (design->by_lines)
    make_lines (p, design);
  return CF_OK;
}
