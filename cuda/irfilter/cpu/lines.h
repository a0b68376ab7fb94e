/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/cpu/lines.h: the separable presets along columns and rows on the CPU: the inner loops (lines_simd.c), which
 * are compiled once for each instruction set.
 *
 * A vector holds one sample of several lines that lie side by side, its lanes. The plane between columns and rows lies
 * in blocks of 32 columns, row by row, so that both passes read and write it without gaps: a task of the columns makes
 * one block, a task of the rows takes 16 rows of all blocks. It has whole segments: rows and columns behind the view's
 * last ones hold numbers that are never used. */
#ifndef CF_IRFILTER_CPU_LINES_H
#define CF_IRFILTER_CPU_LINES_H

#include "irfilter/irfilter.h"

#define CF_IR_LINES_COLUMNS 32         /* of a block */
#define CF_IR_LINES_ROWS CF_IR_SEGMENT /* of a task */

typedef struct {
  const CfIrLines *lines;
  bool zero, chroma; /* border; role */
  const CfView *in, *out;
  void *between;  /* uint16_t (samples of 8 bits) or float; cf_ir_lines_between bytes */
  float *scratch; /* cf_ir_lines_scratch bytes */
} CfIrLinesTask;

typedef struct {
  /* Filters the columns x .. x + 31, as far as the view has them, from `in` to `between`. */
  void (*columns) (const CfIrLinesTask *t, int x);
  /* Filters the rows y .. y + 15, as far as the view has them, from `between` to `out`. */
  void (*rows) (const CfIrLinesTask *t, int y);
} CfIrLinesSimd;

extern const CfIrLinesSimd cf_ir_lines_avx512bw, cf_ir_lines_avx2, cf_ir_lines_sse4_1, cf_ir_lines_baseline;

/* Returns the segments of a line of n samples. */
static inline int
cf_ir_segments (int n)
{
  return (n + CF_IR_SEGMENT - 1) / CF_IR_SEGMENT;
}

/* Returns the bytes of the plane between columns and rows. */
static inline size_t
cf_ir_lines_between (const CfView *v)
{
  size_t blocks = (size_t) (v->width + CF_IR_LINES_COLUMNS - 1) / CF_IR_LINES_COLUMNS;

  return blocks * CF_IR_LINES_COLUMNS * (size_t) cf_ir_segments (v->height) * CF_IR_SEGMENT * 2 * v->bytes;
}

/* Returns the bytes of scratch memory of a task: a block's samples and the carries of its segments. */
static inline size_t
cf_ir_lines_scratch (const CfView *v)
{
  size_t columns = (size_t) cf_ir_segments (v->height) * CF_IR_LINES_COLUMNS;
  size_t rows = (size_t) cf_ir_segments (v->width) * CF_IR_LINES_ROWS;

  return (columns > rows ? columns : rows) * (CF_IR_SEGMENT + 2) * sizeof (float);
}

#endif
