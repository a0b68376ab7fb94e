/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convolve/kernel.h: the convolution's weights as they are typed. */
#ifndef CF_CONVOLVE_KERNEL_H
#define CF_CONVOLVE_KERNEL_H

#include "convolve.h"

/* The weights before they become integers: t(i, j) = t[j * w + i]. */
typedef struct {
  int w, h, ax, ay;
  double t[CF_CONVOLVE_MAX * CF_CONVOLVE_MAX];
} CfTaps;

/* As typed in a pipeline: "gauss". "" for a number that is no preset's. */
const char *cf_convolve_preset_name (int preset);

#endif
