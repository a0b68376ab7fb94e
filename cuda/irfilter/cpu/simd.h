/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * irfilter/cpu/simd.h: the inner loops of the recursive filter on the CPU, compiled
 * once an instruction set from simd.c.
 *
 * Along a row each output waits for the one before, so a vector does not hold
 * neighbours of a row but one column of several rows, its LANES: lane i is at
 * row i, and a block (as many columns) behind lane i - 1, whose outputs it
 * needs. A block is worked on in two steps. What does not wait, the taps of x
 * and of the rows above, is done with vectors along the columns; then the block
 * is turned over and the taps of its own row are done with the lanes.
 *
 * A lane that comes to the end of its row goes on with the row `lanes` below, so
 * that none is idle but at a band's beginning and end. Then a lane works on a
 * row behind the band's last (there are `lanes` of them), whose contents nobody
 * needs. */
#ifndef CF_IRFILTER_CPU_SIMD_H
#define CF_IRFILTER_CPU_SIMD_H

#include "irfilter/irfilter.h"

#define CF_IR_MOST_LANES 8
#define CF_IR_PAD 8        /* floats beside a row for what lies outside: CF_IR_MAX - 1 are read */

/* A weight, and where what it weighs lies, counted from the sample of x. */
typedef struct {
  ptrdiff_t at;
  float weight;
} CfIrTap;

/* A quadrant on its way through a band of rows. Rows go in its direction,
 * columns as in the picture. */
typedef struct {
  bool used;
  float *x;                /* of the band's first row and the window's first column */
  ptrdiff_t y;             /* the outputs lie this far behind x */
  ptrdiff_t pitch;         /* floats from row to row */
  ptrdiff_t first;         /* from x to the first column of the first block */
  const CfIrTap *taps;     /* all that do not wait, in their order */
  int n_taps;
  const float *own;        /* b[0, l] */
  const float *left;       /* y beside each of the band's rows: t */
  /* the walk's own */
  float *row[CF_IR_MOST_LANES]; /* the lanes' */
  _Alignas (64) float state[CF_IR_MAX - 1][CF_IR_MOST_LANES]; /* the last m - 1 columns, oldest first */
} CfIrWalk;

/* r = fma (p, from, o), or from, and the y (or NULL) added in their order. */
typedef struct {
  bool begins;
  const float *from;
  float p, o;
  const float *y[2];
} CfIrSum;

typedef struct {
  int lanes;
  /* Two quadrants, [0] to the right and [1] to the left, through a band of
   * groups x lanes rows of `blocks` blocks, at least as many as lanes. */
  void (*walk) (CfIrWalk walks[2], int m, int blocks, int groups);
  /* Along an edge: s = 2^-60 + sum of a[i] x[-i] + sum of b[i] s[-i]. */
  void (*settle) (int m, const float *a, const float *b, const float *x, ptrdiff_t x_step, int n, float *s,
      ptrdiff_t s_step);
  /* n samples of 1 [0] or 2 [1] bytes, `step` apart, less mid, to floats and back
   * from them. */
  void (*load[2]) (const void *from, int step, int n, int shift, int max, int mid, float *x);
  void (*store[2]) (const float *r, int n, int step, int shift, int max, void *to);
  void (*sum) (const CfIrSum *s, int n, float *r);
} CfIrSimd;

extern const CfIrSimd cf_ir_simd_avx512bw, cf_ir_simd_avx2, cf_ir_simd_sse4_1, cf_ir_simd_baseline;

#endif
