/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/cpu/fast_fir.h: dense kernels with fewer products (fast_fir.c), for plan.c and tile.c. */
#ifndef CF_CONVOLVE_CPU_FAST_FIR_H
#define CF_CONVOLVE_CPU_FAST_FIR_H

#include "tile.h"

/* Makes the weights of all streams. Returns false if the kernel is not supported or 16 bits do not hold the sums of
 * weights or the differences of samples. */
bool cf_fast_prepare (CfConvolveCpu *m);
/* Returns whether the kernel may be supported and this is faster than CF_PATH_PAIRS, by a model of the cost. */
bool cf_fast_is_faster (CfConvolveCpu *m);
/* Return the rows of outputs that are made together, and the rows of input that they need. */
int cf_fast_batch (const CfConvolveCpu *m);
int cf_fast_window (const CfConvolveCpu *m);
/* Sets the number of rows of each of a tile's rings. */
void cf_fast_rings (const CfConvolveCpu *m, int *x, int *a, int *b);
/* Adds row i of samples: pairs its neighbours, and makes the row of each stream for which it is the last input. */
void cf_fast_push_row (const Tile *tile, int i, const uint8_t *x);
/* Makes the sums of rows o .. o + cf_fast_batch () - 1 of outputs, in the first rows of ring b. */
void cf_fast_sums (const Tile *tile, int o);

#endif
