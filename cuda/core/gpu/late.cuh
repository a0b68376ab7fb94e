/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/gpu/late.cuh: late warps, a test override of the kernels whose blocks or warps wait for each other: at each wait
 * some of them sleep before they arrive, others before they look whether all have arrived. Whatever the order, the
 * bytes must be the same.
 *
 * | what waits | where | tried by |
 * | blocks of the segmentation, at the grid barrier | segment/gpu/components.cuh | kernelcheck --segment |
 * | blocks of the recursive filter, for a strip or for what the strip to the left hands over; warps of such a block,
 *   for each other | irfilter/gpu/quadrants.cu | kernelcheck --schedule |
 * | warp groups of the convolution's sparse kernel, for a stage | convolve/gpu/sparse.cu | kernelcheck --schedule |
 * All other kernels wait at __syncthreads () and __syncwarp () only, or for the whole kernel before (griddep_wait ()).
 */
#ifndef CF_CORE_GPU_LATE_CUH
#define CF_CORE_GPU_LATE_CUH

#include "core/filter.h"

#include <string.h>

namespace cf {

constexpr int late_most_ns = 1000000;

struct Late {
  int ns; /* upper bound of a sleep, up to late_most_ns; 0: no warp is late */
  unsigned seed;
};

/* Sets the override "delay" (ns) or "seed". Returns false if `name` is neither. */
inline bool
set_late (Late *late, const char *name, int value)
{
  if (strcmp (name, "delay") == 0)
    late->ns = value;
  else if (strcmp (name, "seed") == 0)
    late->seed = (unsigned) value;
  else
    return false;
  return true;
}

#ifdef __CUDACC__

/* Returns how long the warp is to sleep at a wait, or at several: 0 for three warps in four. `place` is another number
 * for each of its waits. Out of line: kernels that wait for each other are short of the instruction cache. */
static __device__ __noinline__ unsigned
late_ns (Late late, unsigned place)
{
  unsigned h = (late.seed ^ place ^ blockIdx.x << 16 ^ threadIdx.x >> 5 << 8) * 0x9e3779b1u;

  h = (h ^ h >> 15) * 0x2c1b3c6du;
  return h >> 30 == 0 ? __umulhi (h << 2, (unsigned) late.ns) : 0;
}

/* One instruction, which is skipped for 0. */
__device__ __forceinline__ void
sleep_ns (unsigned ns)
{
#if __CUDA_ARCH__ >= 700
  if (ns > 0)
    __nanosleep (ns);
#endif
}

#endif

} // namespace cf

#endif
