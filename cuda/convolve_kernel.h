/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convolve_kernel.h: the convolution's weights as they are typed. */
#ifndef CONVOLVE_KERNEL_H
#define CONVOLVE_KERNEL_H

#include "convolve.h"

/* The largest text of a kernel, in bytes without the end. */
#define CF_CONVOLVE_TEXT (1 << 20)

/* The weights before they become integers: t(i, j) = t[j * w + i]. */
typedef struct {
  int w, h, ax, ay;
  double t[CF_CONVOLVE_MAX * CF_CONVOLVE_MAX];
} CfTaps;

/* Reads rows of numbers, as convolve.h says for `kernel` and `kernel-file`,
 * whatever the locale. `what` begins the sentence of an error, which says row
 * and column. Sets all of `taps`. Any thread. */
CfCode cf_convolve_parse (const char *what, const char *text, CfTaps *taps, CfStatus *status);

/* The text of the file at `path`, for the caller to free; NULL and a sentence
 * with path and reason if it cannot be had. May wait for the disk. */
char *cf_convolve_read (const char *path, CfStatus *status);

/* `length` bytes of a text, as a sentence can have them: the first part (or, with
 * `tail`, the last) where it is long, and nothing that a terminal would obey.
 * `n` bytes of `out` with the end, at least 8; returns it. */
const char *cf_convolve_show (const char *text, size_t length, bool tail, char *out, size_t n);

/* As typed in a pipeline: "gauss". "" for a number that is no preset's. */
const char *cf_convolve_preset_name (int preset);

#endif
