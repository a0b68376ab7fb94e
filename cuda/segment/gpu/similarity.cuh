/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/gpu/similarity.cuh: three kernels for the seed-similarity option (step 3 of the contract).
 *
 * Map: sg_roughness_kernel and sg_histogram_kernel have one thread per cell, in blocks of 256 threads;
 * sg_otsu_kernel is one thread. Shared memory: 256 counters in sg_histogram_kernel.
 * Race free: `roughest` and the histogram are changed by atomics only, and each kernel reads them after the launch
 * that wrote them has ended. Integer sums and maxima do not depend on the order of threads.
 * Bound: no profile is recorded; the last launch is one thread that goes over 256 counters twice. */
#ifndef CF_SEGMENT_GPU_SIMILARITY_CUH
#define CF_SEGMENT_GPU_SIMILARITY_CUH

#include "internal.cuh"

namespace cf {

namespace {

__device__ unsigned
sg_square_root (unsigned v)
{
  unsigned r = (unsigned) sqrtf ((float) v);

  while (r * r > v)
    r--;
  while ((r + 1) * (r + 1) <= v)
    r++;
  return r;
}

__global__ void
sg_roughness_kernel (const __grid_constant__ SgWork work)
{
  const int c = (int) (blockIdx.x * blockDim.x + threadIdx.x), column = c % work.columns, row = c / work.columns;
  unsigned sum[3] = { 0 }, squares[3] = { 0 }, rough = 0;

  if (c < work.n) {
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++) {
        const int x = min (max (column + dx, 0), work.columns - 1), y = min (max (row + dy, 0), work.rows - 1);
        const unsigned p = work.raw[y * work.columns + x];

        for (int k = 0; k < 3; k++) {
          const unsigned v = p >> 8 * k & 255;

          sum[k] += v;
          squares[k] += v * v;
        }
      }
    for (int k = 0; k < 3; k++)
      rough += sg_square_root (9 * squares[k] - sum[k] * sum[k]);
    work.rough[c] = rough;
  }
  for (int i = 16; i > 0; i /= 2)
    rough = max (rough, __shfl_xor_sync (~0u, rough, i));
  if ((threadIdx.x & 31) == 0)
    atomicMax (&work.control->roughest, rough);
}

__global__ void
sg_histogram_kernel (const __grid_constant__ SgWork work)
{
  __shared__ unsigned count[256];
  const int c = (int) (blockIdx.x * blockDim.x + threadIdx.x);

  count[threadIdx.x] = 0;
  __syncthreads ();
  if (c < work.n) {
    const unsigned most = work.control->roughest;
    const unsigned h = most > 0 ? 255 - 255 * work.rough[c] / most : 255;

    work.rough[c] = h;
    atomicAdd (&count[h], 1u);
  }
  __syncthreads ();
  if (count[threadIdx.x])
    atomicAdd (&work.control->histogram[threadIdx.x], count[threadIdx.x]);
}

__global__ void
sg_otsu_kernel (const __grid_constant__ SgWork work)
{
  long long n0 = 0, s0 = 0, n = 0, s = 0;
  double best = -1;
  int threshold = -1;

  for (int i = 0; i < 256; i++) {
    n += work.control->histogram[i];
    s += (long long) i * work.control->histogram[i];
  }
  for (int t = 0; t < 255; t++) {
    n0 += work.control->histogram[t];
    s0 += (long long) t * work.control->histogram[t];
    if (n0 == 0 || n0 == n)
      continue;
    const double d = (double) s0 * (double) (n - n0) - (double) (s - s0) * (double) n0;
    const double v = d * d / ((double) n0 * (double) (n - n0));

    if (v > best) {
      best = v;
      threshold = t;
    }
  }
  work.control->threshold = threshold;
}

CfCode
sg_launch_similarity (const SgWork &work, cudaStream_t stream, CfStatus *status)
{
  const unsigned blocks = (unsigned) (work.n + 255) / 256;
  CfCode code;

  sg_roughness_kernel<<<blocks, 256, 0, stream>>> (work);
  code = cf_cuda_launched ("sg_roughness_kernel", status);
  if (code != CF_OK)
    return code;
  sg_histogram_kernel<<<blocks, 256, 0, stream>>> (work);
  code = cf_cuda_launched ("sg_histogram_kernel", status);
  if (code != CF_OK)
    return code;
  sg_otsu_kernel<<<1, 1, 0, stream>>> (work);
  return cf_cuda_launched ("sg_otsu_kernel", status);
}

} // namespace

} // namespace cf

#endif
