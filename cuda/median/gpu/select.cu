/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * median/gpu/select.cu: the padded planes, and the rank filter for small windows of
 * any shape, depth and rank: each thread finds its output's value bit by bit.
 *
 * Select: a thread an output, 32 x 8 a block. From the top bit down, a bit is
 * set if at most `rank` samples of the window are below the value with it set.
 * bits * n loads, all from the L1 cache: bound by its 32 lanes a clock and SM.
 * Threads write only their own output, so there are no races. */
#include "internal.h"

namespace cf {

constexpr int block_w = 32, block_h = 8;

/* ---- padding ------------------------------------------------------------ */

__device__ __forceinline__ unsigned
packed_colour (const Launch &launch, int leader, int primary, int x, int y)
{
  unsigned value = 0;

#pragma unroll
  for (int c = 0; c < 3; c++) { /* the components are in the order R, G, B */
    const Plane &j = launch.plane[leader + c * primary];

    value = value << 8 | load_sample (j, j.in + y * j.in_pitch, x);
  }
  return value;
}

/* A thread four elements side by side, a block 128 x 8 of them. */
template<typename T> __global__ void __launch_bounds__ (block_w * block_h)
median_pad_kernel (const __grid_constant__ Launch launch, const __grid_constant__ Padded padded, uint8_t *frame)
{
  const Plane &j = plane_of_block (launch, (int) blockIdx.x);
  const int block = (int) blockIdx.x - j.first_block, plane = (int) (&j - launch.plane);
  const int x = (block % j.blocks_x * block_w + (int) threadIdx.x) * 4, y = block / j.blocks_x * block_h + (int) threadIdx.y;
  T *to = (T *) (frame + padded.offset[plane] + (long long) y * padded.pitch[plane]) + x;
  const int from_y = min (max (y - pad, 0), j.height - 1);
  T value[4];

  if (y >= j.height + pad + pad_below || x * (int) sizeof (T) >= padded.pitch[plane])
    return;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int from_x = min (max (x + i - pad, 0), j.width - 1);

    value[i] = sizeof (T) == 4 ? (T) packed_colour (launch, plane, padded.primary, from_x, from_y)
        : (T) load_sample (j, j.in + from_y * j.in_pitch, from_x);
  }
#pragma unroll
  for (int i = 0; i < 4; i++)
    to[i] = value[i];
}

CfCode
median_launch_pad (Launch *launch, const Padded &padded, uint8_t *frame, cudaStream_t stream, CfStatus *status)
{
  const dim3 threads (block_w, block_h);

  launch->blocks = 0;
  for (int i = 0; i < launch->n; i++) {
    Plane &j = launch->plane[i];

    j.first_block = launch->blocks;
    j.blocks_x = (padded.pitch[i] / padded.element + 4 * block_w - 1) / (4 * block_w);
    if (j.filtered && (padded.primary == 0 || i < padded.primary))
      launch->blocks += j.blocks_x * ((j.height + pad + pad_below + block_h - 1) / block_h);
  }
  if (padded.element == 1)
    median_pad_kernel<uint8_t><<<launch->blocks, threads, 0, stream>>> (*launch, padded, frame);
  else if (padded.element == 2)
    median_pad_kernel<uint16_t><<<launch->blocks, threads, 0, stream>>> (*launch, padded, frame);
  else
    median_pad_kernel<uint32_t><<<launch->blocks, threads, 0, stream>>> (*launch, padded, frame);
  return cf_cuda_launched ("median: padding a frame", status);
}

/* ---- select ------------------------------------------------------------- */

template<typename T> __device__ __forceinline__ unsigned
select_rank (const Padded &p, int plane, int x, int y)
{
  const long long corner = p.offset[plane] + (long long) (y + pad - p.h / 2) * p.pitch[plane]
      + (long long) (x + pad - p.w / 2) * (int) sizeof (T);
  unsigned value = 0;

  for (int bit = p.bits - 1; bit >= 0; bit--) {
    const unsigned t = value | 1u << bit;
    int below = 0;

    for (int s = 0; s < p.depth; s++)
      for (int j = 0; j < p.h; j++) {
        const T *row = (const T *) (p.frame[s] + corner + (long long) j * p.pitch[plane]);

#pragma unroll 4
        for (int i = 0; i < p.w; i++)
          below += __ldg (row + i) < t;
      }
    if (below <= p.rank)
      value = t;
  }
  return value;
}

__device__ __forceinline__ int
distance (unsigned a, unsigned b)
{
  return abs ((int) a - (int) b);
}

/* Colours: the whole pixel is replaced if any channel is far from the result. */
__device__ __forceinline__ void
store_packed (const Launch &launch, int leader, int primary, int x, int y, unsigned was, unsigned is)
{
  const int t = launch.threshold;
  const bool far = distance (was >> 16, is >> 16) > t || distance (was >> 8 & 255, is >> 8 & 255) > t
      || distance (was & 255, is & 255) > t;
  const unsigned value = far ? is : was;

#pragma unroll
  for (int c = 0; c < 3; c++) {
    const Plane &j = launch.plane[leader + c * primary];

    store_sample (j, j.out + y * j.out_pitch, x, value >> (16 - 8 * c) & 255);
  }
}

template<typename T> __global__ void __launch_bounds__ (block_w * block_h)
median_select_kernel (const __grid_constant__ Launch launch, const __grid_constant__ Padded padded)
{
  const Plane &j = plane_of_block (launch, (int) blockIdx.x);
  const int block = (int) blockIdx.x - j.first_block, plane = (int) (&j - launch.plane);
  const int x0 = block % j.blocks_x * block_w, y0 = block / j.blocks_x * block_h;
  const int x = x0 + (int) threadIdx.x, y = y0 + (int) threadIdx.y;

  if (!j.filtered) {
    copy_tile (j, x0, y0, block_w, block_h, (int) (threadIdx.y * block_w + threadIdx.x), block_w * block_h);
    return;
  }
  if (x >= j.width || y >= j.height)
    return;
  const unsigned value = select_rank<T> (padded, plane, x, y);
  const T *centre = (const T *) (padded.frame[0] + padded.offset[plane] + (long long) (y + pad) * padded.pitch[plane]) + x + pad;
  const unsigned was = *centre;

  if (sizeof (T) == 4)
    store_packed (launch, plane, padded.primary, x, y, was, value);
  else
    store_sample (j, j.out + y * j.out_pitch, x, distance (was, value) > launch.threshold ? value : was);
}

CfCode
median_launch_select (Launch *launch, const Padded &padded, cudaStream_t stream, CfStatus *status)
{
  const dim3 threads (block_w, block_h);

  deal_blocks (launch, block_w, block_h, padded.primary);
  if (padded.element == 1)
    median_select_kernel<uint8_t><<<launch->blocks, threads, 0, stream>>> (*launch, padded);
  else if (padded.element == 2)
    median_select_kernel<uint16_t><<<launch->blocks, threads, 0, stream>>> (*launch, padded);
  else
    median_select_kernel<uint32_t><<<launch->blocks, threads, 0, stream>>> (*launch, padded);
  return cf_cuda_launched ("median: select", status);
}

CfCode
median_general_init (CfStatus *status)
{
  const void *kernels[] = { (const void *) median_pad_kernel<uint8_t>, (const void *) median_pad_kernel<uint16_t>,
    (const void *) median_pad_kernel<uint32_t>, (const void *) median_select_kernel<uint8_t>,
    (const void *) median_select_kernel<uint16_t>, (const void *) median_select_kernel<uint32_t> };
  CfCode code = CF_OK;

  for (const void *kernel : kernels) {
    cudaFuncAttributes attributes;

    if (code == CF_OK)
      code = cf_cuda_check (cudaFuncGetAttributes (&attributes, kernel), "loading the median's kernels", status);
  }
  return code;
}

} // namespace cf
