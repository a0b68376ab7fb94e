/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/text.c: parses a recursive filter given as numerator and denominator. */
#include "design.h"
#include "core/text.h"

#include <math.h>
#include <string.h>

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

CfCode
cf_ir_read_texts (const char *numerator, const char *denominator, CfIrTaps *taps, CfStatus *status)
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
