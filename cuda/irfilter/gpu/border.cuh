/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/gpu/border.cuh: the row above the window, which the border rule defines, and the columns of a lane, whose
 * samples it needs. The chain of quadrants.cu computes it while the helpers compute the sums of the first chunks. */
#ifndef CF_IRFILTER_GPU_BORDER_CUH
#define CF_IRFILTER_GPU_BORDER_CUH

#include "strip.cuh"

namespace cf {

namespace {

/* The columns of a lane and the m - 1 to their left. Where one lies outside a zero border, `keep` clears its sample and
 * `fill` holds mid-level instead. */
template<IrSource SOURCE> struct IrColumns {
  unsigned offset[ir_span], keep[ir_span], fill[ir_span];

  __device__ __forceinline__ void
  prepare (const IrView &v, const IrRun &run)
  {
#pragma unroll
    for (int j = 0; j < ir_span; j++) {
      const int n2 = run.w.index * ir_columns + (int) (threadIdx.x & 31) * C + j - (M - 1);

      offset[j] = ir_column_offset<SOURCE> (v, run, n2);
      keep[j] = n2 < 0 && run.zero_left ? 0 : ~0u;
      fill[j] = ir_exponent_bits<SOURCE> () | (n2 < 0 && run.zero_left && SOURCE != IR_FLOATS ? (unsigned) v.mid : 0);
    }
  }

  /* Loads x = scale (sample - mid); scale is 1, or 0 above a zero border. */
  __device__ __forceinline__ void
  load_row (const IrView &v, const uint8_t *row, float scale, float *x) const
  {
#pragma unroll
    for (int j = 0; j < ir_span; j++) {
      const unsigned bits = (ir_fetch_bits<SOURCE> (v, row, offset[j]) & keep[j]) | fill[j];

      x[j] = __fmaf_rn (__uint_as_float (bits), scale, -scale * ir_fetch_bias<SOURCE> (v));
    }
  }
};

/* Computes the row above the window by the border rule: `s` gets the lane's columns after the m - 1 to their left.
 * The row is one chain of operations along its columns: all lanes compute all of it, so that a column costs little
 * more than one multiply-add's latency, and the strip to the right gets its end long before the first row. */
template<IrSource SOURCE> __device__ __forceinline__ void
ir_border_row (const IrWork &work, const IrRun &run, float *s)
{
  const IrView &v = work.view[run.w.view];
  const CfIrSet &set = work.set[run.w.quadrant];
  const int lane = (int) (threadIdx.x & 31);
  float x[ir_span], sum[C], top_b[M], t[ir_handed + C] = { }; /* t: what is handed over, and the next columns */
  IrColumns<SOURCE> columns;

  columns.prepare (v, run);
  columns.load_row (v, ir_row (v, run, 0), 1, x);
#pragma unroll
  for (int l = 0; l < M; l++)
    top_b[l] = run.zero_top ? 0 : set.top_b[l];
#pragma unroll
  for (int c = 0; c < C; c++) {
    sum[c] = CF_IR_TINY;
#pragma unroll
    for (int l = 0; l < M; l++)
      sum[c] = __fmaf_rn (run.zero_top ? 0 : set.top_a[l], x[M - 1 + c - l], sum[c]);
  }
  if (run.w.index == 0) {
    const float corner = ir_corner<SOURCE> (work, run);

#pragma unroll
    for (int j = 0; j < ir_handed; j++)
      t[j] = corner;
  } else
    ir_receive_row (ir_handover (work, run.strip - 1, -1), t);
#pragma unroll 4
  for (int i = 0; i < 32; i++) {
#pragma unroll
    for (int c = 0; c < C; c++) {
      float y = __shfl_sync (~0u, sum[c], i);

#pragma unroll
      for (int l = M - 1; l >= 1; l--)
        y = __fmaf_rn (top_b[l], t[ir_handed + c - l], y);
      t[ir_handed + c] = y;
    }
#pragma unroll
    for (int j = 0; j < ir_span; j++)
      s[j] = lane == i ? t[ir_handed - (M - 1) + j] : s[j];
#pragma unroll
    for (int j = 0; j < ir_handed; j++)
      t[j] = t[C + j];
  }
  if (run.w.index < run.w.strips - 1 && lane == 0)
    ir_hand_over (ir_handover (work, run.strip, -1), t);
}

/* Adds the row above the window to the sums of the first m - 1 rows, in the ring, as all the rows above them. */
__device__ __forceinline__ void
ir_add_border (const CfIrSet &set, const float *s, IrShared &sh)
{
#pragma unroll 1
  for (int r = 0; r < M - 1; r++)
#pragma unroll 1
    for (int k = M - 1; k > r; k--) {
      float *at = ir_ring_columns (sh, r);
      float u[C];

      ir_load_columns (at, u);
#pragma unroll
      for (int l = M - 1; l >= 0; l--)
#pragma unroll
        for (int c = 0; c < C; c++)
          u[c] = __fmaf_rn (set.b[k][l], s[M - 1 + c - l], u[c]);
      ir_store_columns (at, u);
    }
}

} // namespace

} // namespace cf

#endif
