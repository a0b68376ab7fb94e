/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/dense.cuh: what dense.cu and sparse.cu share: storing whole pixels from the planes of results in shared
 * memory. */
#ifndef CF_CONVOLVE_GPU_DENSE_CUH
#define CF_CONVOLVE_GPU_DENSE_CUH

#include "store.cuh"

namespace cf {

/* Assembles four pixels of `step` samples and stores them; v[p]: a word of plane p. */
static __device__ __forceinline__ void
put_four (const Assembly &a, int step, uint8_t *to, uint4 base, unsigned *v)
{
  unsigned pixel[4];

  assemble<3> (a, make_uint2 (base.x, base.y), v, pixel);
  v[0] >>= 16, v[1] >>= 16, v[2] >>= 16;
  assemble<3> (a, make_uint2 (base.z, base.w), v, pixel + 2);
  if (step == 4)
    *(uint4 *) to = make_uint4 (pixel[0], pixel[1], pixel[2], pixel[3]);
  else if (step == 3) {
    ((unsigned *) to)[0] = __byte_perm (pixel[0], pixel[1], 0x4210);
    ((unsigned *) to)[1] = __byte_perm (pixel[1], pixel[2], 0x5421);
    ((unsigned *) to)[2] = __byte_perm (pixel[2], pixel[3], 0x6542);
  } else if (step == 2)
    *(uint2 *) to = make_uint2 (__byte_perm (pixel[0], pixel[1], 0x5410), __byte_perm (pixel[2], pixel[3], 0x5410));
  else
    *(unsigned *) to = __byte_perm (__byte_perm (pixel[0], pixel[1], 0x40), __byte_perm (pixel[2], pixel[3], 0x40),
        0x5410);
}

/* Stores ROWS rows of 128 pixels, a multiple of 8, from their results in shared memory: at (row, plane, column) is the
 * address of a result, and of the three behind it where the column is a multiple of 4. What is outside the image is
 * left out. Called by a warp. */
template<int ROWS, typename At> static __device__ __forceinline__ void
store_results (const Work &work, const Group &g, int x0, int y, int lane, At at)
{
  constexpr int batch = 8; /* rows of the input that are loaded at a time */
  const Assembly a = assembly_of (work, g);
  const uintptr_t lines = (uintptr_t) g.out | (uintptr_t) g.out_pitch | (uintptr_t) g.in | (uintptr_t) g.in_pitch;
  const bool aligned = a.words && (lines & 15) == 0;
  const int x = x0 + 4 * lane, rows = min (ROWS, g.height - y);

  if (aligned && x + 3 < g.width) {
    uint8_t *to = g.out + y * g.out_pitch + x * g.step;
    const uint8_t *from = g.in + y * g.in_pitch + 4 * x;
    const unsigned mid = a.mid;

#pragma unroll 1
    for (int first = 0; first < rows; first += batch) {
      uint4 base[batch];

#pragma unroll
      for (int r = 0; r < batch; r++)
        base[r] = a.copies && first + r < rows ? *(const uint4 *) (from + r * g.in_pitch)
            : make_uint4 (mid, mid, mid, mid);
#pragma unroll
      for (int r = 0; r < batch; r++) {
        unsigned v[3];

        if (first + r >= rows)
          break;
#pragma unroll
        for (int p = 0; p < 3; p++)
          v[p] = *(const unsigned *) at (first + r, p < g.planes ? p : 0, 4 * lane);
        put_four (a, g.step, to + r * g.out_pitch, base[r], v);
      }
      from += batch * g.in_pitch;
      to += batch * g.out_pitch;
    }
    return;
  }
#pragma unroll 1
  for (int r = 0; r < rows; r++)
#pragma unroll
    for (int side = 0; side < 2; side++) {
      /* where rows are aligned, the lane's own four pixels at the right edge */
      const int column = aligned ? 4 * lane + 2 * side : 2 * lane + 64 * side;
      unsigned v[3];

#pragma unroll
      for (int p = 0; p < 3; p++)
        v[p] = *(const uint16_t *) at (r, p < g.planes ? p : 0, column);
      if (x0 + column < g.width)
        store_pair<3> (work, g, a, x0 + column, y + r, v);
    }
}

} // namespace cf

#endif
