/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/cpu/internal.h: the recursive filter's plan on the CPU, shared by plan.c (the plan and its tasks) and
 * walk.c, which filters one core. */
#ifndef CF_IRFILTER_CPU_INTERNAL_H
#define CF_IRFILTER_CPU_INTERNAL_H

#include "lines.h"
#include "simd.h"

typedef struct {
  const CfIrSimd *simd;
  const CfIrLinesSimd *lines;
  CfFormat format;
  CfIrDesign design;
  CfView in[CF_MAX_VIEWS], out[CF_MAX_VIEWS]; /* of the current frame */
  int n_views;
  /* Partial sums, and the result of a pass for the next one, which reads one plane and writes the other. Each has as
   * many floats as the view has samples. The first min (2, passes) are used. Along lines: plane[0] is the plane between
   * columns and rows (lines.h). */
  float *plane[2][CF_MAX_VIEWS];
  float *memory; /* scratch_size floats a thread, then the planes */
  size_t size, scratch_size;
  float *scratch;
} CfIrCpu;

/* Returns whether the view is chroma, whose samples are relative to mid-level. */
static inline bool
cf_ir_is_chroma (const CfIrCpu *m, int view)
{
  return cf_format_info (m->format)->comp[m->in[view].component].role == CF_ROLE_CHROMA;
}

/* Returns how many floats of scratch memory a core of the view needs at most in a pass. The
 * memory has to be zeros before its first use. */
size_t cf_ir_scratch (const CfIrCpu *m, int pass, int view);
/* Filters core (i, j) of a view, all quadrants of one pass. */
void cf_ir_core (const CfIrCpu *m, int pass, int view, int i, int j, float *scratch);

#endif
