/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/blend.h: the blend of an area on the CPU, row by row; blend_simd.c is compiled once for each instruction set. */
#ifndef CF_CORE_BLEND_H
#define CF_CORE_BLEND_H

#include "area.h"

typedef struct {
  const CfArea *area;
  const CfImage *in, *filtered, *out; /* `out` may be `in` */
} CfBlend;

typedef struct {
  /* Blends the rows begin..end - 1 of a plane of the box. */
  void (*rows) (const CfBlend *blend, const CfBox *box, int plane, int begin, int end);
} CfBlendSimd;

extern const CfBlendSimd cf_blend_simd_avx512bw, cf_blend_simd_avx2, cf_blend_simd_sse4_1, cf_blend_simd_baseline;

#endif
