/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/gpu/sum.cu: adds up the quadrants' results, the input and the offset in the
 * contract's order, and rounds; views that are not filtered are copied. One further block
 * resets the strip scheduler for the next launch of ir_quadrants.
 *
 * Map: a block is 8 warps, 128 x 32 samples of a view; a lane computes four samples of a row, a warp the rows 8 apart.
 * No shared memory, and each sample is written by one lane, so there are no races. Bound by memory: 16 bytes a sample
 * read with four quadrants, from the L2 as far as it holds them (33 MB for 1080p), 1 or 2 bytes written. */
#include "internal.cuh"

namespace cf {

namespace {

constexpr int ir_sum_warps = 8, ir_sum_rows = 4, ir_tile_w = 128, ir_tile_h = ir_sum_warps * ir_sum_rows;

__device__ __forceinline__ void
ir_reset_scheduler (const IrScheduler &scheduler)
{
  for (int i = (int) threadIdx.x; i <= scheduler.n; i += (int) blockDim.x)
    scheduler.word[i] = 0;
}

__device__ __forceinline__ void
ir_load_samples (const Plane &j, const uint8_t *row, int x, int mid, float *v)
{
#pragma unroll
  for (int i = 0; i < 4; i++)
    v[i] = (float) ((int) load_sample (j, row, min (x + i, j.width - 1)) - mid);
}

__device__ __forceinline__ unsigned
ir_round_sample (float r, float max)
{
  return __float2uint_rn (fminf (fmaxf (r, 0.0f), max));
}

__device__ __forceinline__ void
ir_sum_quad (const IrSum &s, const Plane &j, int view, int x, int y)
{
  const long long at = (long long) y * s.y_pitch[view] + x;
  const float *from = s.y[view] + at;
  float4 q[CF_IR_QUADRANTS];
  float v[4] = { };

#pragma unroll
  for (int i = 0; i < CF_IR_QUADRANTS; i++)
    if (i < s.n_quadrants)
      q[i] = __ldcs ((const float4 *) (from + i * s.y_quadrant[view]));
  if (s.through != 0) {
    if (s.x[view]) {
      const float4 f = *(const float4 *) (s.x[view] + at);

      v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;
    } else
      ir_load_samples (j, j.in + y * j.in_pitch, x, s.mid[view], v);
  }
#pragma unroll
  for (int i = 0; i < 4; i++)
    v[i] = __fmaf_rn (s.through, v[i], s.offset[view]);
#pragma unroll
  for (int i = 0; i < CF_IR_QUADRANTS; i++)
    if (i < s.n_quadrants) {
      v[0] = __fadd_rn (v[0], q[i].x);
      v[1] = __fadd_rn (v[1], q[i].y);
      v[2] = __fadd_rn (v[2], q[i].z);
      v[3] = __fadd_rn (v[3], q[i].w);
    }
  if (!s.last) {
    *(float4 *) (s.r[view] + at) = make_float4 (v[0], v[1], v[2], v[3]);
    return;
  }
  const float max = (float) ((1u << j.bits) - 1);
  unsigned w[4];
  Quad out;

#pragma unroll
  for (int i = 0; i < 4; i++)
    w[i] = ir_round_sample (v[i], max);
  if (j.bytes == 1)
    out = Quad { w[0] | w[1] << 8 | w[2] << 16 | w[3] << 24, 0 };
  else
    out = Quad { w[0] | w[1] << 16, w[2] | w[3] << 16 };
  store_quad (j, j.out + y * j.out_pitch, x, out);
}

__global__ void __launch_bounds__ (32 * ir_sum_warps)
ir_sum (const __grid_constant__ IrSum s)
{
  const int block = (int) blockIdx.x, lane = (int) (threadIdx.x & 31), warp = (int) (threadIdx.x >> 5);
  int view = 0;

  if (block == s.launch.blocks) {
    ir_reset_scheduler (s.scheduler);
    return;
  }
  while (view + 1 < s.launch.n && block >= s.launch.plane[view + 1].first_block)
    view++;
  const Plane &j = s.launch.plane[view];
  const int x0 = (block - j.first_block) % j.blocks_x * ir_tile_w;
  const int y0 = (block - j.first_block) / j.blocks_x * ir_tile_h;

  if (!j.filtered) {
    if (s.last)
      copy_tile (j, x0, y0, ir_tile_w, ir_tile_h, (int) threadIdx.x, 32 * ir_sum_warps);
    return;
  }
  if (x0 + 4 * lane >= j.width)
    return;
#pragma unroll
  for (int i = 0; i < ir_sum_rows; i++)
    if (y0 + warp + ir_sum_warps * i < j.height)
      ir_sum_quad (s, j, view, x0 + 4 * lane, y0 + warp + ir_sum_warps * i);
}

} // namespace

CfCode
ir_launch_sum (const IrSum &sum, cudaStream_t stream, CfStatus *status)
{
  IrSum s = sum;

  deal_blocks (&s.launch, ir_tile_w, ir_tile_h);
  ir_sum<<<s.launch.blocks + 1, 32 * ir_sum_warps, 0, stream>>> (s);
  return cf_cuda_launched ("adding up the quadrants", status);
}

CfCode
ir_load_sum (CfStatus *status)
{
  return load_kernels ({ (const void *) ir_sum }, ir_loading, status);
}

} // namespace cf
