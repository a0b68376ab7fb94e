/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/cpu/simd.h: the inner loops of the recursive filter on the CPU, compiled from
 * simd.c once for each instruction set.
 *
 * Along a row each output depends on the one before, so a vector does not hold neighbours of a row but one column of
 * several rows, its LANES: lane i is at row i, and one block (as many columns as there are lanes) behind lane i - 1,
 * whose outputs it needs. A block is filtered in two steps. The taps of x and of the rows above, which are independent
 * along the row, are summed with vectors along the columns; then the block is transposed and the taps of its own row
 * are summed with the lanes.
 *
 * Rows are filtered in slices. A lane that reaches the end of its row continues with the row `lanes` below, so that
 * lanes idle only at the beginning and end of a slice. There a lane works on a row behind the slice's last one (there
 * are `lanes` such rows), whose contents are never used. */
#ifndef CF_IRFILTER_CPU_SIMD_H
#define CF_IRFILTER_CPU_SIMD_H

#include "irfilter/irfilter.h"

#define CF_IR_MAX_LANES 8
#define CF_IR_PAD 8 /* floats beside a row for what lies outside: CF_IR_MAX - 1 are read */

/* A weight, and the offset of the float that it applies to, in floats from the sample of x. */
typedef struct {
  ptrdiff_t at;
  float weight;
} CfIrTap;

/* The state of a quadrant in a slice of rows. Rows are counted in the quadrant's direction, columns as in the plane. */
typedef struct {
  bool used;
  float *x;            /* the slice's first row, the window's first column */
  ptrdiff_t y;         /* floats from a sample of x to its output */
  ptrdiff_t pitch;     /* floats from row to row */
  ptrdiff_t first;     /* from x to the first column of the first block */
  const CfIrTap *taps; /* those of x and of the rows above, in the contract's order */
  int n_taps;
  const float *own;  /* b[0, l], the taps of the own row */
  const float *left; /* y beside each of the slice's rows: t */
  /* private to `walk` */
  float *row[CF_IR_MAX_LANES];                               /* of each lane */
  _Alignas (64) float state[CF_IR_MAX - 1][CF_IR_MAX_LANES]; /* the last m - 1 columns, oldest first */
} CfIrWalk;

/* r = fma (p, from, o) if `begins`, else from; then both y (NULL: none) are added in order. */
typedef struct {
  bool begins;
  const float *from;
  float p, o;
  const float *y[2];
} CfIrSum;

typedef struct {
  int lanes;
  /* Filters a slice of groups x lanes rows of `blocks` blocks (at least as many as lanes) in
   * two quadrants: [0] runs right, [1] left. */
  void (*walk) (CfIrWalk walks[2], int m, int blocks, int groups);
  /* Computes the settled state along an edge: s = 2^-60 + sum of a[i] x[-i] + sum of b[i] s[-i]. */
  void (*settle) (int m, const float *a, const float *b, const float *x, ptrdiff_t x_step, int n, float *s,
      ptrdiff_t s_step);
  /* Convert n samples of 1 [0] or 2 [1] bytes, `step` samples apart: load to floats, minus
   * mid; store from floats, rounded and clamped. */
  void (*load[2]) (const void *from, int step, int n, int shift, int max, int mid, float *x);
  void (*store[2]) (const float *r, int n, int step, int shift, int max, void *to);
  /* Computes n floats r. */
  void (*sum) (const CfIrSum *s, int n, float *r);
} CfIrSimd;

extern const CfIrSimd cf_ir_simd_avx512bw, cf_ir_simd_avx2, cf_ir_simd_sse4_1, cf_ir_simd_baseline;

#endif
