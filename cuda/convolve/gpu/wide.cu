/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/wide.cu: separable kernels and magnitudes at any depth, with 64-bit sums on the integer units:
 * for weights and sums that do not fit the bytes of the tensor units.
 *
 * Map: 256 threads a block, a block makes 64 x 16 pixels, plane after plane. A thread makes four pixels, the
 * i-th at index thread + 256 i of the block's pixels, row by row.
 *
 * Shared memory: the samples with their halo, 16 bits each, and the sums of the row pass, 64 bits each, one
 * for each column of the block and row of the samples. The samples are written between two barriers; the
 * sums are written after the second barrier and read by the column pass after a third. The first barrier of
 * the next plane separates these reads from its writes. Magnitudes need no row pass.
 *
 * Bound by w + h multiply-adds of 64 bits a sample. */
#include "tile.cuh"
#include "sums.cuh"
#include "store.cuh"

namespace cf {

namespace {

constexpr int threads = 256, tile_w = 64, tile_h = 16, own = tile_w * tile_h / threads;

/* Returns the samples from a row of the samples to the next, a multiple of 4. */
__host__ __device__ inline int
sample_pitch (int w)
{
  return (tile_w + w - 1 + 3) & ~3;
}

/* Returns the bytes of dynamic shared memory. */
int
shared_of (int w, int h)
{
  return (tile_h + h - 1) * (8 * tile_w + 2 * sample_pitch (w)) + 16;
}

/* Loads the samples of plane p with their halo. */
__device__ __forceinline__ void
fill_samples (const Work &work, const Group &g, int p, uint16_t *samples, int x0, int y0, int thread)
{
  const int pitch = sample_pitch (work.w), words = pitch / 4;

#pragma unroll 2
  for (int i = thread; i < (tile_h + work.h - 1) * words; i += threads) {
    const int r = i / words, c = i % words * 4;
    const uint2 v = edge_word (work, g.index, p, x0 - work.ax + c, y0 - work.ay + r);

    *(uint2 *) (samples + r * pitch + c) = make_uint2 (__byte_perm (v.x, v.y, 0x5140), __byte_perm (v.x, v.y, 0x7362));
  }
}

/* Makes value[i], the results of this thread's pixels, by a row pass and a column pass. */
__device__ __forceinline__ void
filter_separable (const Work &work, const SeparableWeights &weights, int chroma, const uint16_t *samples,
    long long *rows, int thread, unsigned *value)
{
  const int pitch = sample_pitch (work.w);

  for (int i = thread; i < (tile_h + work.h - 1) * tile_w; i += threads) {
    const uint16_t *s = samples + i / tile_w * pitch + i % tile_w;
    long long sum = 0;

    for (int k = 0; k < work.w; k++)
      sum += (long long) weights.row[k] * s[k];
    rows[i] = sum;
  }
  __syncthreads ();
#pragma unroll
  for (int i = 0; i < own; i++) {
    const int at = thread + i * threads;
    long long sum = 0;

    for (int k = 0; k < work.h; k++)
      sum += weights.col[k] * rows[at + k * tile_w];
    value[i] = (unsigned) round_sum (work.rounding, sum,
        samples[(at / tile_w + work.ay) * pitch + at % tile_w + work.ax], chroma);
  }
}

/* Makes value[i] from the sums of two 3 x 3 kernels. */
__device__ __forceinline__ void
filter_magnitude (const Work &work, const SeparableWeights &weights, const uint16_t *samples, int thread,
    unsigned *value)
{
  const int pitch = sample_pitch (work.w);

#pragma unroll
  for (int i = 0; i < own; i++) {
    const int at = thread + i * threads;
    long long x = 0, y = 0;

    for (int k = 0; k < 9; k++) {
      const int s = samples[(at / tile_w + k / 3) * pitch + at % tile_w + k % 3];

      x += (long long) weights.row[k] * s;
      y += (long long) weights.col[k] * s;
    }
    value[i] = (unsigned) round_magnitude (work.rounding, x, y);
  }
}

__global__ void __launch_bounds__ (threads)
convolve_wide_kernel (const __grid_constant__ Work work, const __grid_constant__ SeparableWeights weights)
{
  extern __shared__ __align__ (16) long long rows[];
  uint16_t *samples = (uint16_t *) (rows + (tile_h + work.h - 1) * tile_w);
  const Group g = group_of_block (work, (int) blockIdx.x);
  const int2 position = block_position (g, (int) blockIdx.x);
  const int thread = (int) threadIdx.x, x0 = position.x * tile_w, y0 = position.y * tile_h;
  unsigned value[3][own] = { };

  griddep_wait ();
  if (g.planes == 0) {
    copy_group (work, g, x0, y0, tile_w, tile_h, thread, threads);
    return;
  }
#pragma unroll
  for (int p = 0; p < 3; p++) {
    if (p >= g.planes)
      break;
    __syncthreads ();
    fill_samples (work, g, p, samples, x0, y0, thread);
    __syncthreads ();
    if (work.rounding.op == CF_CONVOLVE_MAGNITUDE)
      filter_magnitude (work, weights, samples, thread, value[p]);
    else
      filter_separable (work, weights, g.plane_chroma (p), samples, rows, thread, value[p]);
  }
#pragma unroll
  for (int i = 0; i < own; i++) {
    const int at = thread + i * threads;

    store_pixel (work, g.index, x0 + at % tile_w, y0 + at / tile_w, value[0][i], value[1][i], value[2][i]);
  }
}

const Kernel kernels[] = { { (const void *) convolve_wide_kernel } };

} // namespace

const Load convolve_load_wide = convolve_load<kernels, true>;

bool
convolve_wide_launch (Frame *f, const SeparableWeights &weights)
{
  convolve_assign_blocks (&f->work, tile_w, tile_h);
  return f->launch ("convolve wide", kernels[0].kernel, f->work.blocks, threads, shared_of (f->work.w, f->work.h),
      &f->work, &weights);
}

} // namespace cf
