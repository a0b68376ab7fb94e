/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/kernel.h: the weights of the convolution before they become integers. */
#ifndef CF_CONVOLVE_KERNEL_H
#define CF_CONVOLVE_KERNEL_H

#include "convolve.h"

/* The taps as typed or as a preset defines them: t(i, j) = t[j * w + i]; ax, ay: the anchor. */
typedef struct {
  int w, h, ax, ay;
  double t[CF_CONVOLVE_MAX * CF_CONVOLVE_MAX];
} CfTaps;

/* Returns the nick of a CfConvolvePreset, such as "gauss", or "" for any other number. */
const char *cf_convolve_preset_name (int preset);

#endif
