/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * irfilter/cpu/internal.h: the recursive filter's plan on the CPU, between plan.c
 * (the plan and its jobs) and walk.c, which filters a core. */
#ifndef CF_IRFILTER_CPU_INTERNAL_H
#define CF_IRFILTER_CPU_INTERNAL_H

#include "simd.h"

typedef struct {
  const CfIrSimd *simd;
  CfFormat format;
  CfIrDesign design;
  CfView in[CF_MAX_VIEWS], out[CF_MAX_VIEWS]; /* of the frame in work */
  int n_views;
  /* The sums so far, and what a pass leaves to the next, which reads one and
   * writes the other: as many floats as a view has samples, in the first
   * min (2, passes). */
  float *plane[2][CF_MAX_VIEWS];
  float *memory;          /* the planes, then scratch_size floats a thread */
  size_t size, scratch_size;
  float *scratch;
} CfIrCpu;

/* Is the view one whose samples are counted from mid-level? */
static inline bool
cf_ir_is_chroma (const CfIrCpu *m, int view)
{
  return cf_format_info (m->format)->comp[m->in[view].component].role == CF_ROLE_CHROMA;
}

/* Floats of scratch memory that the cores of a view may need in a pass; it
 * begins as zeros. */
size_t cf_ir_scratch (const CfIrCpu *m, int pass, int view);
/* Core (i, j) of a view, all quadrants. */
void cf_ir_core (const CfIrCpu *m, int pass, int view, int i, int j, float *scratch);

#endif
