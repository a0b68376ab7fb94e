/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * reference/convolve.h: the reference of the convolution filter, written from its contract (cuda/convolve/convolve.h)
 * alone. convolve_kernel.c turns settings into integer weights, convolve.c filters with them, convolve_hide.c has the
 * presets that hide, convolve_cases.c lists the settings to test. */
#ifndef TESTS_REFERENCE_CONVOLVE_H
#define TESTS_REFERENCE_CONVOLVE_H

#include "check/kernelcheck.h"

#define REF_SIDE 63       /* of typed kernels, log and motion */
#define REF_LONG_SIDE 255 /* of box, gauss and unsharp */

/* The parameters by their names; `kernel` is the typed text or the file's. */
typedef struct {
  const char *preset, *kernel, *border, *gray;
  int kernel_size, kernel_width, kernel_height, border_value, blocks;
  uint32_t fill_color;
  CfColors colors; /* no parameter, but the video's */
  bool flip;
  double sigma, sigma_y, angle, amount, divisor, bias;
} RefSetting;

typedef enum { REF_LINEAR, REF_GAUSS, REF_UNSHARP, REF_MAGNITUDE } RefKind;

/* LINEAR: weights c / divisor. GAUSS, UNSHARP: across[i] down[j] / divisor. MAGNITUDE: c and its transpose, factor r /
 * divisor. */
typedef struct {
  RefKind kind;
  int w, h, ax, ay;
  int64_t c[REF_LONG_SIDE * REF_LONG_SIDE], across[REF_LONG_SIDE], down[REF_LONG_SIDE];
  int64_t divisor, factor;
  int amount;    /* in 1/256 */
  bool signed_;  /* a sum of 0 becomes mid-level */
  bool identity; /* the output words are the input words */
} RefKernel;

__extension__ typedef __int128 RefWide;

typedef enum { REF_HALF_EVEN, REF_HALF_UP } RefRounding;

/* Makes the integer kernel of a setting, for samples of `bits` bits. Returns false if the text or the size of the sums
 * must be refused. */
bool ref_kernel_make (const RefSetting *s, int bits, RefKernel *k);
/* Returns n / d + bias, computed exactly and rounded to the nearest integer; d > 0. */
int64_t ref_round (RefWide n, int64_t d, double bias, RefRounding rounding);
/* Returns the integer nearest to sqrt (n). */
int64_t ref_root (int64_t n);
/* Returns the index of the sample that border handling uses for index `at` of n samples; -1: outside. */
int ref_border (const char *border, int at, int n);

/* Returns whether the preset is fill, mosaic or privacy. */
bool ref_hides (const RefSetting *s);
/* Filters a component of a field with such a preset. */
void ref_hide (const RefSetting *s, const CfVideo *video, int component, KcPlane *plane);

extern const char *const ref_convolve_settings[], *const ref_convolve_large_settings[];
extern const KcWhole ref_convolve_whole[];
extern const char *const ref_convolve_format_settings[];
extern const char *const ref_convolve_bad_settings[], *const ref_convolve_bad_8bit_settings[],
                                                          *const ref_convolve_bad_16bit_settings[];
extern const char *const ref_convolve_sanitize_settings[];
/* Appends random parameters; their sums may be too large. */
void ref_convolve_random (GString *text, uint64_t *state);
/* Replaces the abbreviations that convolve_cases.c explains by a kernel; NULL if there are none. */
char *ref_convolve_expand (const char *text);

#endif
