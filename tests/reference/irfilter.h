/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter.h: the reference of the recursive filter, written from its contract (cuda/irfilter/irfilter.h) alone.
 * irfilter_poles.c computes the pole radius, irfilter_design.c turns settings into constants, irfilter.c filters with
 * them, irfilter_lines.c filters along lines, irfilter_cases.c lists the settings of the tests. */
#ifndef TESTS_REFERENCE_IRFILTER_H
#define TESTS_REFERENCE_IRFILTER_H

#include "check/kernelcheck.h"

#define REF_IR_SIDE 8
#define REF_IR_QUADRANTS 4 /* se, sw, ne, nw: bit 0 set: runs left; bit 1 set: runs up */

/* Entry [k][l]: k rows and l columns back. */
typedef struct {
  int m;
  double a[REF_IR_SIDE][REF_IR_SIDE], b[REF_IR_SIDE][REF_IR_SIDE];
} RefIrTaps;

/* The filter's parameters; the texts may be NULL. `file`: contents of the JSON file. */
typedef struct {
  const char *preset, *numerator, *denominator, *file;
  double sigma, amount;
  int length, angle;
  unsigned quadrants;
  bool zero, auto_method;
} RefIrSetting;

typedef struct {
  bool used;
  float a[REF_IR_SIDE][REF_IR_SIDE], b[REF_IR_SIDE][REF_IR_SIDE];
  float top_a[REF_IR_SIDE], top_b[REF_IR_SIDE], left_a[REF_IR_SIDE], left_b[REF_IR_SIDE];
  float corner;
} RefIrSet;

typedef struct {
  int m, warmup_margin;
  RefIrSet set[REF_IR_QUADRANTS];
  float through, luma_offset, chroma_offset;
} RefIrPass;

typedef struct {
  int n;
  RefIrPass pass[3];
  bool zero;
  bool by_lines; /* a preset whose method is auto: irfilter_lines.c */
  double radius; /* the largest pole radius */
} RefIrDesign;

/* Returns the largest pole radius of an m x m window; +inf if b is not finite. */
double ref_ir_pole_radius (int m, double b[REF_IR_SIDE][REF_IR_SIDE]);
/* Filters a plane along its lines, with a setting for which RefIrDesign.by_lines is set. */
void ref_ir_filter_lines (const RefIrSetting *s, bool chroma, int bits, KcPlane *plane);
/* Fills `d` for samples of `bits` bits; returns false if the setting is refused. */
bool ref_ir_design (const RefIrSetting *s, int bits, RefIrDesign *d);

extern const char *const ref_ir_settings[], *const ref_ir_format_settings[], *const ref_ir_large_settings[];
extern const char *const ref_ir_bad_settings[], *const ref_ir_sanitize_settings[];
/* Appends random parameters; not all of them are stable. */
void ref_ir_random (GString *text, uint64_t *state);
/* Replaces the words that irfilter_cases.c explains by coefficients; NULL if `text` has no such words. */
char *ref_ir_expand (const char *text);

#endif
