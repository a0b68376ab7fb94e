/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/stability.h: the largest pole radius of a recursive filter: whether it is stable,
 * and how fast its response decays. */
#ifndef CF_IRFILTER_STABILITY_H
#define CF_IRFILTER_STABILITY_H

#include "irfilter.h"

typedef struct {
  double radius;      /* the largest pole radius: stable if it is below 1 */
  double along, down; /* frequency of that pole: cycles per sample along a row, and down a column */
} CfIrPole;

/* Returns the largest pole radius of a set. Windows of 2 x 2 have a formula; others take some
 * milliseconds, and the last results are cached. The error is about 1e-9; where poles
 * coincide, the result is about 1e-5 too large, because doubles cannot separate them. `b` is
 * m x m of 8 x 8. Thread-safe. */
CfIrPole cf_ir_pole (const float b[CF_IR_MAX][CF_IR_MAX], int m);

#endif
