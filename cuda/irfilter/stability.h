/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * irfilter/stability.h: how long a recursive filter remembers, and whether it is
 * stable at all. */
#ifndef CF_IRFILTER_STABILITY_H
#define CF_IRFILTER_STABILITY_H

#include "irfilter.h"

typedef struct {
  double radius;      /* the largest pole radius: stable if it is below 1 */
  double along, down; /* where: cycles per sample along a row, and down a column */
} CfIrPole;

/* The largest pole radius of a set. Windows of 2 x 2 have a formula; others take
 * some milliseconds the first time, and the sets asked for last are remembered.
 * Good to 1e-9, but where poles coincide 1e-5 too large or so, as the doubles
 * that are reckoned with cannot tell them apart. `b` is m x m of 8 x 8. Any
 * thread. */
CfIrPole cf_ir_pole (const float b[CF_IR_MAX][CF_IR_MAX], int m);

#endif
