/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * irfilter/irfilter.h: the reference of the recursive filter, written from its
 * contract (cuda/irfilter/irfilter.h) alone. irfilter_poles.c has the pole
 * radius, irfilter_design.c turns settings into constants,
 * irfilter.c filters with them, irfilter_cases.c says with which
 * settings it is tried. */
#ifndef TESTS_REFERENCE_IRFILTER_H
#define TESTS_REFERENCE_IRFILTER_H

#include "check/kernelcheck.h"

#define REF_IR_SIDE 8
#define REF_IR_QUADRANTS 4 /* se, sw, ne, nw: bit 0 set runs left, bit 1 set runs up */

/* Entry [k][l]: k rows and l columns back. */
typedef struct {
  int m;
  double a[REF_IR_SIDE][REF_IR_SIDE], b[REF_IR_SIDE][REF_IR_SIDE];
} RefIrTaps;

/* The parameters by their names; the texts may be NULL. */
typedef struct {
  const char *preset, *numerator, *denominator, *file;
  double sigma, amount;
  int length, angle;
  unsigned quadrants;
  bool zero;
} RefIrSetting;

typedef struct {
  bool used;
  float a[REF_IR_SIDE][REF_IR_SIDE], b[REF_IR_SIDE][REF_IR_SIDE];
  float top_a[REF_IR_SIDE], top_b[REF_IR_SIDE], left_a[REF_IR_SIDE], left_b[REF_IR_SIDE];
  float corner;
} RefIrSet;

typedef struct {
  int m, warm;
  RefIrSet set[REF_IR_QUADRANTS];
  float through, luma_offset, chroma_offset;
} RefIrPass;

typedef struct {
  int n;
  RefIrPass pass[3];
  bool zero;
  double radius; /* of the poles, the largest */
} RefIrDesign;

/* The largest pole radius of an m x m window; +inf if b is not finite. */
double ref_ir_pole_radius (int m, double b[REF_IR_SIDE][REF_IR_SIDE]);
/* false: refused. Samples have `bits` bits. */
bool ref_ir_design (const RefIrSetting *s, int bits, RefIrDesign *d);

extern const char *const ref_ir_settings[], *const ref_ir_large_settings[];
extern const char *const ref_ir_bad_settings[], *const ref_ir_sanitize_settings[];
/* Random parameters as text; not all of them are stable. */
void ref_ir_random (char *text, size_t size, uint64_t *state);
/* Turns the words that irfilter_cases.c explains into coefficients; NULL where
 * there are none. To be freed. */
char *ref_ir_expand (const char *text);

#endif
