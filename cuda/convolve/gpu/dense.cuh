/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/dense.cuh: what dense.cu and sparse.cu share: storing whole pixels from the planes of results in shared
 * memory. */
#ifndef CF_CONVOLVE_GPU_DENSE_CUH
#define CF_CONVOLVE_GPU_DENSE_CUH

#include "store.cuh"

namespace cf {

#ifdef __CUDACC__

/* Stores ROWS rows of 128 pixels, a multiple of 8, from their results in shared memory: at (row, plane, column) is the
 * address of a result, and of the three behind it where the column is a multiple of 4. Called by a warp. */
template<int ROWS, typename At> static __device__ __forceinline__ void
store_results (const Work &work, const Group &g, int x0, int y, bool whole, int lane, At at)
{
  constexpr int batch = 8; /* rows of the input that are loaded at a time */
  const Assembly a = assembly_of (work, g);
  const int x = x0 + 2 * lane, x4 = x0 + 4 * lane;
  const uintptr_t lines = (uintptr_t) g.out | (uintptr_t) g.out_pitch | (uintptr_t) g.in | (uintptr_t) g.in_pitch;
  uint8_t *to = g.out + y * g.out_pitch;
  const uint8_t *from = g.in + y * g.in_pitch;

  if (whole && a.words && g.step == 4 && (lines & 15) == 0) {
    const unsigned mid = a.mid;

#pragma unroll 1
    for (int first = 0; first < ROWS; first += batch) {
      uint4 base[batch];

#pragma unroll
      for (int r = 0; r < batch; r++)
        base[r] = a.copies ? *(const uint4 *) (from + r * g.in_pitch + 4 * x4) : make_uint4 (mid, mid, mid, mid);
#pragma unroll
      for (int r = 0; r < batch; r++) {
        unsigned v[3], pixel[4];

#pragma unroll
        for (int p = 0; p < 3; p++)
          v[p] = *(const unsigned *) at (first + r, p < g.planes ? p : 0, 4 * lane);
        assemble<3> (a, make_uint2 (base[r].x, base[r].y), v, pixel);
#pragma unroll
        for (int p = 0; p < 3; p++)
          v[p] >>= 16;
        assemble<3> (a, make_uint2 (base[r].z, base[r].w), v, pixel + 2);
        *(uint4 *) (to + r * g.out_pitch + 4 * x4) = make_uint4 (pixel[0], pixel[1], pixel[2], pixel[3]);
      }
      from += batch * g.in_pitch;
      to += batch * g.out_pitch;
    }
    return;
  }
#pragma unroll 1
  for (int r = 0; r < ROWS; r++, to += g.out_pitch, from += g.in_pitch) {
    if (whole && a.words && g.step == 1) {
      *(unsigned *) (to + x4) = *(const unsigned *) at (r, 0, 4 * lane);
      continue;
    }
#pragma unroll
    for (int side = 0; side < 2; side++) {
      unsigned v[3];

#pragma unroll
      for (int p = 0; p < 3; p++)
        v[p] = *(const uint16_t *) at (r, p < g.planes ? p : 0, 2 * lane + 64 * side);
      if (whole && a.words)
        put_pair<3> (a, g.step, to + (x + 64 * side) * g.step, base_of (a, from + 4 * x + 64 * 4 * side), v);
      else
        store_pair<3> (work, g, a, x + 64 * side, y + r, v);
    }
  }
}

#endif

} // namespace cf

#endif
