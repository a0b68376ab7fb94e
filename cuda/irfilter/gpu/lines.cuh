/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/gpu/lines.cuh: what plan.cu needs of lines.cu, which filters along columns and rows. */
#ifndef CF_IRFILTER_GPU_LINES_CUH
#define CF_IRFILTER_GPU_LINES_CUH

#include "core/gpu/launch.cuh"
#include "irfilter/irfilter.h"

namespace cf {

/* Returns how many bytes the plane between columns and rows takes for these views. */
size_t ir_lines_memory (const CfView *views, int n);

/* Loads the kernels; *pdl: whether they can be launched with programmatic dependent launch. */
CfCode ir_load_lines (bool *pdl, CfStatus *status);

/* Filters a frame along columns and rows; `between` is memory of ir_lines_memory bytes. */
CfCode ir_launch_lines (const CfPlan *plan, const CfIrDesign &design, const CfImage *in, const CfImage *out,
    void *between, bool pdl, cudaStream_t stream, CfStatus *status);

} // namespace cf

#endif
