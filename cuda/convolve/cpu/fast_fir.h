/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convolve/cpu/fast_fir.h: between fast_fir.c, dense kernels with fewer products, and the plan and the tasks. */
#ifndef CF_CONVOLVE_CPU_FAST_FIR_H
#define CF_CONVOLVE_CPU_FAST_FIR_H

#include "tile.h"

/* Lists the kernel's weights; false: it is none of this kind, or 16 bits do not hold what is to be multiplied. */
bool cf_fast_prepare (CfConvolveCpu *m);
/* Is that faster than products of pairs of rows, whose taps are listed? */
bool cf_fast_pays (const CfConvolveCpu *m);
/* Rows of outputs that are made together; rows of input that they need at once. */
int cf_fast_batch (const CfConvolveCpu *m);
int cf_fast_span (const CfConvolveCpu *m);
/* Rows of a tile's rings. */
void cf_fast_rings (const CfConvolveCpu *m, int *x, int *a, int *b);
void cf_fast_take (const Tile *tile, int i, const uint8_t *x);
void cf_fast_sums (const Tile *tile, int o);

#endif
