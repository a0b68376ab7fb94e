/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convolve/convolve.h: the reference of the convolution filter, written from
 * its contract (cuda/convolve/convolve.h) alone. convolve_kernel.c turns
 * settings into integer weights, convolve.c filters with them,
 * convolve_cases.c says with which settings it is tried. */
#ifndef TESTS_REFERENCE_CONVOLVE_H
#define TESTS_REFERENCE_CONVOLVE_H

#include "check/kernelcheck.h"

#define REF_SIDE 63

/* The parameters by their names; `kernel` is the text or the file's text. */
typedef struct {
  const char *preset, *kernel, *border, *gray;
  int kernel_size, border_value;
  bool flip;
  double sigma, angle, amount, divisor, bias;
} RefSetting;

typedef enum { REF_LINEAR, REF_GAUSS, REF_UNSHARP, REF_MAGNITUDE } RefKind;

/* LINEAR: c / divisor. GAUSS, UNSHARP: axis[i] axis[j] / divisor.
 * MAGNITUDE: c and its transpose, factor r / divisor. */
typedef struct {
  RefKind kind;
  int w, h, ax, ay;
  int64_t c[REF_SIDE * REF_SIDE], axis[REF_SIDE];
  int64_t divisor, factor;
  int amount;    /* in 1/256 */
  bool identity; /* words are copied */
} RefKernel;

typedef enum { REF_HALF_EVEN, REF_HALF_UP } RefRounding;

/* false: refused (the sums or the text). Samples have `bits` bits. */
bool ref_kernel_make (const RefSetting *s, int bits, RefKernel *k);
/* n / d + bias of the exact numbers, to the nearest integer; d > 0. */
int64_t ref_round (__int128 n, int64_t d, double bias, RefRounding rounding);
/* The integer nearest to sqrt (n). */
int64_t ref_root (int64_t n);
/* Sample `at` of a side of n samples; -1: outside. */
int ref_border (const char *border, int at, int n);

extern const char *const ref_convolve_settings[], *const ref_convolve_large_settings[];
extern const char *const ref_convolve_bad_settings[], *const ref_convolve_bad_8bit_settings[];
extern const char *const ref_convolve_sanitize_settings[];
/* Random parameters as text; their sums need not fit. */
void ref_convolve_random (char *text, size_t size, uint64_t *state);
/* Turns the words that convolve_cases.c explains into a kernel; NULL where
 * there are none. To be freed. */
char *ref_convolve_expand (const char *text);

#endif
