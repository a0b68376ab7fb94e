/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/gpu/select.cu: the padded planes, and the rank filter for small windows of
 * any shape, depth and rank: each thread finds its output's value bit by bit.
 *
 * Pad: a block of 32 x 8 threads has 128 x 8 elements of a padded plane; a thread has four neighbours of one row.
 * Select: a block of 32 x 8 threads has 32 x 8 outputs, one per thread. From the top bit down, a thread sets a bit if
 * at most `rank` samples of its window are below the value with this bit set. It loads bits * n samples; a window
 * of one sample of each frame is loaded once, into registers.
 * Small windows, of one frame: a block of 32 x 8 threads has 32 x 32 outputs, a thread every eighth one of a column.
 * The block copies their samples; then a thread sorts each window in registers.
 *
 * Shared memory: the samples of small windows, a word each.
 * Races: none; a thread writes only its own elements or output, and select is launched behind pad on the same stream.
 * Bound: select by its loads, which come from the L1 cache at 32 lanes per clock and SM; small windows by minima and
 * maxima. Figures: docs/notes/median.md. */
#include "internal.h"

namespace cf {

constexpr int block_w = 32, block_h = 8;

/* ---- padding ------------------------------------------------------------ */

/* Copies a plane with its border into a padded plane, four elements per thread. */
template<typename T> __global__ void __launch_bounds__ (block_w * block_h)
median_pad_kernel (const __grid_constant__ Launch launch, const __grid_constant__ MedianPadded padded, uint8_t *frame)
{
  const Plane &plane = plane_of_block (launch, (int) blockIdx.x);
  const int block = (int) blockIdx.x - plane.first_block, index = (int) (&plane - launch.plane);
  const int x = (block % plane.blocks_x * block_w + (int) threadIdx.x) * 4;
  const int y = block / plane.blocks_x * block_h + (int) threadIdx.y;
  T *to = (T *) (frame + padded.offset[index] + (long long) y * padded.pitch[index]) + x;
  const int from_y = min (max (y - median_pad, 0), plane.height - 1);
  T value[4];

  if (y >= plane.height + median_pad + median_pad_below || x * (int) sizeof (T) >= padded.pitch[index])
    return;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int from_x = min (max (x + i - median_pad, 0), plane.width - 1);

    value[i] = (T) load_value (launch, index, sizeof (T) == 4 ? padded.n_primary : 0, from_x, from_y);
  }
#pragma unroll
  for (int i = 0; i < 4; i++)
    to[i] = value[i];
}

CfCode
median_launch_pad (Launch *launch, const MedianPadded &padded, uint8_t *frame, cudaStream_t stream, CfStatus *status)
{
  const void *kernel = padded.bytes == 1 ? (const void *) median_pad_kernel<uint8_t>
      : padded.bytes == 2 ? (const void *) median_pad_kernel<uint16_t> : (const void *) median_pad_kernel<uint32_t>;
  void *arguments[] = { launch, const_cast<MedianPadded *> (&padded), &frame };

  launch->blocks = 0;
  for (int i = 0; i < launch->n; i++) {
    Plane &plane = launch->plane[i];

    plane.first_block = launch->blocks;
    plane.blocks_x = (padded.pitch[i] / padded.bytes + 4 * block_w - 1) / (4 * block_w);
    if (plane.filtered && (padded.n_primary == 0 || i < padded.n_primary))
      launch->blocks += plane.blocks_x * ((plane.height + median_pad + median_pad_below + block_h - 1) / block_h);
  }
  return launch_kernel ("median: padding a frame", kernel, launch->blocks, dim3 (block_w, block_h), arguments, 0, false,
      stream, status);
}

/* ---- select ------------------------------------------------------------- */

/* Returns the value of the wanted rank in the window of output (x, y). */
template<typename T> __device__ __forceinline__ unsigned
select_rank (const MedianPadded &p, int index, int x, int y)
{
  const long long corner = p.offset[index] + (long long) (y + median_pad - p.h / 2) * p.pitch[index]
      + (long long) (x + median_pad - p.w / 2) * (int) sizeof (T);
  unsigned value = 0;

  for (int bit = p.bits - 1; bit >= 0; bit--) {
    const unsigned t = value | 1u << bit;
    int below = 0;

    for (int s = 0; s < p.depth; s++)
      for (int j = 0; j < p.h; j++) {
        const T *row = (const T *) (p.frame[s] + corner + (long long) j * p.pitch[index]);

#pragma unroll 4
        for (int i = 0; i < p.w; i++)
          below += __ldg (row + i) < t;
      }
    if (below <= p.rank)
      value = t;
  }
  return value;
}

/* The same for the samples at one place of up to DEPTH frames. */
template<typename T, int DEPTH> __device__ __forceinline__ unsigned
select_sample (const MedianPadded &p, int index, int x, int y)
{
  const long long at = p.offset[index] + (long long) (y + median_pad) * p.pitch[index]
      + (long long) (x + median_pad) * (int) sizeof (T);
  unsigned sample[DEPTH], value = 0;

#pragma unroll
  for (int s = 0; s < DEPTH; s++) /* what is not there is above all values */
    sample[s] = s < p.depth ? __ldg ((const T *) (p.frame[s] + at)) : ~0u;
#pragma unroll 1
  for (int bit = p.bits - 1; bit >= 0; bit--) {
    const unsigned t = value | 1u << bit;
    int below = 0;

#pragma unroll
    for (int s = 0; s < DEPTH; s++)
      below += sample[s] < t;
    if (below <= p.rank)
      value = t;
  }
  return value;
}

/* DEPTH: 0, or for windows of one sample of up to so many frames. */
template<typename T, int DEPTH> __global__ void __launch_bounds__ (block_w * block_h)
median_select_kernel (const __grid_constant__ Launch launch, const __grid_constant__ MedianPadded padded)
{
  const Plane &plane = plane_of_block (launch, (int) blockIdx.x);
  const int block = (int) blockIdx.x - plane.first_block, index = (int) (&plane - launch.plane);
  const int x0 = block % plane.blocks_x * block_w, y0 = block / plane.blocks_x * block_h;
  const int x = x0 + (int) threadIdx.x, y = y0 + (int) threadIdx.y;

  if (!plane.filtered) {
    copy_tile (plane, x0, y0, block_w, block_h, (int) (threadIdx.y * block_w + threadIdx.x), block_w * block_h);
    return;
  }
  if (x >= plane.width || y >= plane.height)
    return;
  unsigned value;

  if constexpr (DEPTH > 0)
    value = select_sample<T, DEPTH> (padded, index, x, y);
  else
    value = select_rank<T> (padded, index, x, y);
  const T *centre = (const T *) (padded.frame[0] + padded.offset[index]
      + (long long) (y + median_pad) * padded.pitch[index]) + x + median_pad;

  store_result (launch, index, sizeof (T) == 4 ? padded.n_primary : 0, x, y, *centre, value);
}

/* The kernels for samples of 1, 2 and 4 bytes, each for any window, for one sample of up to 15, and of more frames. */
template<typename T> const void *const select_kernels[3] = { (const void *) median_select_kernel<T, 0>,
  (const void *) median_select_kernel<T, 15>, (const void *) median_select_kernel<T, CF_MEDIAN_MAX_DEPTH> };

CfCode
median_launch_select (Launch *launch, const MedianPadded &padded, cudaStream_t stream, CfStatus *status)
{
  const int kind = padded.w > 1 || padded.h > 1 ? 0 : padded.depth <= 15 ? 1 : 2;
  const void *kernel = padded.bytes == 1 ? select_kernels<uint8_t>[kind]
      : padded.bytes == 2 ? select_kernels<uint16_t>[kind] : select_kernels<uint32_t>[kind];
  void *arguments[] = { launch, const_cast<MedianPadded *> (&padded) };

  deal_blocks (launch, block_w, block_h, padded.n_primary);
  return launch_kernel ("median: select", kernel, launch->blocks,
      dim3 (block_w, block_h), arguments, 0, false, stream, status);
}

/* ---- small windows ------------------------------------------------------- */

constexpr int small_rows = 4; /* of outputs, per thread */

/* Sorts by Batcher's merge exchange, from its step (P, K) on. */
template<int P, int K, int N> __device__ __forceinline__ void
sort_samples (unsigned (&v)[N])
{
#pragma unroll
  for (int i = K % P; i + K < N; i++)
    if ((i - K % P) / K % 2 == 0 && i / (2 * P) == (i + K) / (2 * P)) {
      const unsigned low = min (v[i], v[i + K]);

      v[i + K] = max (v[i], v[i + K]);
      v[i] = low;
    }
  if constexpr (K > 1)
    sort_samples<P, K / 2> (v);
  else if constexpr (2 * P < N)
    sort_samples<2 * P, 2 * P> (v);
}

/* SAMPLES: the window has so many at most. RANK: -1, or the window's. */
template<int SAMPLES, int RANK> __global__ void __launch_bounds__ (block_w * block_h)
median_small_kernel (const __grid_constant__ Launch launch, int w, int h, int rank, int n_primary)
{
  __shared__ unsigned tile[block_w * (small_rows * block_h + median_small - 1)]; /* of 1 x 15 samples, the most */
  const Plane &plane = plane_of_block (launch, (int) blockIdx.x);
  const int block = (int) blockIdx.x - plane.first_block, index = (int) (&plane - launch.plane);
  const int x0 = block % plane.blocks_x * block_w, y0 = block / plane.blocks_x * (small_rows * block_h);
  const int thread = (int) (threadIdx.y * block_w + threadIdx.x), pitch = block_w + w - 1;
  const int x = x0 + (int) threadIdx.x;

  griddep_wait ();
  if (!plane.filtered) {
    copy_tile (plane, x0, y0, block_w, small_rows * block_h, thread, block_w * block_h);
    return;
  }
  for (int j = (int) threadIdx.y; j < small_rows * block_h + h - 1; j += block_h)
    for (int i = (int) threadIdx.x; i < pitch; i += block_w)
      tile[j * pitch + i] = load_value (launch, index, n_primary, min (max (x0 + i - w / 2, 0), plane.width - 1),
          min (max (y0 + j - h / 2, 0), plane.height - 1));
  __syncthreads ();
#pragma unroll
  for (int k = 0; k < small_rows; k++) {
    const int row = k * block_h + (int) threadIdx.y, y = y0 + row;
    const unsigned *corner = tile + row * pitch + (int) threadIdx.x;
    unsigned sample[SAMPLES], value = 0;

#pragma unroll
    for (int s = 0, i = 0, at = 0; s < SAMPLES; s++) { /* what is not there is above all values */
      sample[s] = s < w * h ? corner[at] : ~0u;
      i = i + 1 == w ? 0 : i + 1;
      at += i > 0 ? 1 : block_w;
    }
    sort_samples<1, 1> (sample);
#pragma unroll
    for (int s = 0; s < SAMPLES; s++)
      value = s == (RANK < 0 ? rank : RANK) ? sample[s] : value;
    if (x < plane.width && y < plane.height)
      store_result (launch, index, n_primary, x, y, corner[h / 2 * pitch + w / 2], value);
  }
}

static const void *
small_kernel (int n, int rank)
{
  return n > 9                  ? (const void *) median_small_kernel<median_small, -1>
      : n == 9 && rank == 9 / 2 ? (const void *) median_small_kernel<9, 9 / 2>
                                : (const void *) median_small_kernel<9, -1>;
}

CfCode
median_launch_small (Launch *launch, const CfMedianWindow &window, int n_primary, bool pdl, cudaStream_t stream,
    CfStatus *status)
{
  int w = window.w, h = window.h, rank = window.rank;
  void *arguments[] = { launch, &w, &h, &rank, &n_primary };

  deal_blocks (launch, block_w, small_rows * block_h, n_primary);
  return launch_kernel ("median: small", small_kernel (window.n, rank), launch->blocks, dim3 (block_w, block_h),
      arguments, 0, pdl, stream, status);
}

CfCode
median_select_init (CfStatus *status)
{
  CfCode code = load_kernels ({ (const void *) median_pad_kernel<uint8_t>, (const void *) median_pad_kernel<uint16_t>,
      (const void *) median_pad_kernel<uint32_t> }, median_loading, status);

  for (int i = 0; code == CF_OK && i < 3; i++)
    code = load_kernels ({ select_kernels<uint8_t>[i], select_kernels<uint16_t>[i], select_kernels<uint32_t>[i] },
        median_loading, status);
  for (int n = 8; code == CF_OK && n <= 10; n++)
    code = load_kernels ({ small_kernel (n, 9 / 2) }, median_loading, status);
  return code;
}

} // namespace cf
