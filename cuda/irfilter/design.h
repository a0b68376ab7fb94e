/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * irfilter/design.h: a recursive filter as it is typed, before it is rounded. */
#ifndef CF_IRFILTER_DESIGN_H
#define CF_IRFILTER_DESIGN_H

#include "irfilter.h"

/* Bounds of a and of b; passthrough and offset share the one of a. */
#define CF_IR_MOST_A 1e6
#define CF_IR_MOST_B 1e4

/* One pass. */
typedef struct {
  int m; /* 1..8, as typed */
  bool used[CF_IR_QUADRANTS];
  double a[CF_IR_QUADRANTS][CF_IR_MAX][CF_IR_MAX], b[CF_IR_QUADRANTS][CF_IR_MAX][CF_IR_MAX];
  double through, offset;
} CfIrTaps;

/* "se", "sw", "ne", "nw" */
extern const char *const cf_ir_quadrant_names[CF_IR_QUADRANTS];

/* `numerator` and `denominator`, one of which may be NULL, and the text of a
 * JSON file: sets all of `taps`. CF_BAD_VALUE with what is wrong and where. */
CfCode cf_ir_read_texts (const char *numerator, const char *denominator, CfIrTaps *taps, CfStatus *status);
CfCode cf_ir_read_json (const char *text, CfIrTaps *taps, CfStatus *status);

#endif
