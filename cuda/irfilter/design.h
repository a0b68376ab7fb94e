/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/design.h: the coefficients of a recursive filter as the user gives them, before
 * they are rounded to float32. */
#ifndef CF_IRFILTER_DESIGN_H
#define CF_IRFILTER_DESIGN_H

#include "irfilter.h"

/* Bounds of |a| and |b|; the bound of a also applies to passthrough and offset. */
#define CF_IR_MAX_A 1e6
#define CF_IR_MAX_B 1e4

/* One pass. */
typedef struct {
  int m; /* 1..8, not rounded up yet */
  bool used[CF_IR_QUADRANTS];
  double a[CF_IR_QUADRANTS][CF_IR_MAX][CF_IR_MAX], b[CF_IR_QUADRANTS][CF_IR_MAX][CF_IR_MAX];
  double through, offset;
} CfIrTaps;

/* "se", "sw", "ne", "nw" */
extern const char *const cf_ir_quadrant_names[CF_IR_QUADRANTS];

/* Parses the text of a JSON file. Fills all of `taps`, or returns CF_BAD_VALUE; `status` says what is wrong and where.
 * Thread-safe. */
CfCode cf_ir_read_json (const char *text, CfIrTaps *taps, CfStatus *status);

/* ---- stability ---------------------------------------------------------- */

typedef struct {
  double radius;      /* the largest pole radius: stable if it is below 1 */
  double along, down; /* frequency of that pole: cycles per sample along a row, and down a column */
} CfIrPole;

/* Returns the largest pole radius of a set. Windows of 2 x 2 have a formula; others take some milliseconds, and the
 * last results are cached. The error is about 1e-9; where poles coincide, the result is about 1e-5 too large, because
 * doubles cannot separate them. `b` is m x m of 8 x 8. Thread-safe. */
CfIrPole cf_ir_pole (const float b[CF_IR_MAX][CF_IR_MAX], int m);

#endif
