/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * irfilter/gpu/strip.cuh: what the warps of quadrants.cu share: the strip at hand, its
 * ring, samples. For one m (CF_IR_M). */
#ifndef CF_IRFILTER_GPU_STRIP_CUH
#define CF_IRFILTER_GPU_STRIP_CUH

#include "round_barrier.cuh"

namespace cf {

namespace {

constexpr int M = CF_IR_M, C = ir_lane_columns (M), columns = ir_strip_columns (M);
constexpr int span = M - 1 + C; /* a lane's columns and those to their left that it looks at */
constexpr int handed = ir_handed (M); /* of a row, to the right: m - 1 values and what fills the vector up */
constexpr int ring_rows = slots * ir_chunk;

struct Shared {
  float ring[ring_rows][columns];
  float edge[ring_rows][handed];
  FollowClaim claim;
  Rounds rounds;
};

/* What all warps know of the strip at hand. */
struct Run {
  Meet meet;
  IrWindow w;
  int strip, from, n; /* chunks from .. from + n - 1 */
  bool to_end;        /* of the strip */
  bool zero_top, zero_left;
};

/* For tests: lets a warp sleep now and then. */
__device__ __noinline__ void
dawdle (const IrWork &work, int strip, int chunk)
{
  unsigned h = work.test.seed ^ (unsigned) strip * 0x9e3779b1u ^ (unsigned) chunk * 0x85ebca6bu
      ^ (threadIdx.x >> 5) * 0xc2b2ae35u ^ blockIdx.x * 0x27d4eb2fu;

  h = (h ^ h >> 15) * 0x2c1b3c6du;
  h = (h ^ h >> 12) * 0x297a2d39u;
  h ^= h >> 15;
#if __CUDA_ARCH__ >= 700
  if ((h & 7) == 0)
    __nanosleep ((h >> 3) % (unsigned) work.test.delay);
#endif
}

/* ---- samples ------------------------------------------------------------ */

/* A sample as the lower bits of a float's pattern, or a float's. */
template<IrSource SOURCE> __device__ __forceinline__ unsigned
fetch_bits (const IrView &v, const uint8_t *row, unsigned offset)
{
  if (SOURCE == IR_FLOATS)
    return *(const unsigned *) (row + offset);
  if (SOURCE == IR_BYTES)
    return row[offset];
  return min ((unsigned) *(const uint16_t *) (row + offset) >> v.shift, (unsigned) v.max);
}

/* With these bits around it a sample is a float that is 2^23 more: an addition
 * makes it one, which is quicker than a conversion. */
template<IrSource SOURCE> __device__ __forceinline__ unsigned
bits_around ()
{
  return SOURCE == IR_FLOATS ? 0 : 0x4b000000u;
}

template<IrSource SOURCE> __device__ __forceinline__ float
too_much (const IrView &v)
{
  return SOURCE == IR_FLOATS ? 0 : (float) (0x800000 + v.mid);
}

template<IrSource SOURCE> __device__ __forceinline__ float
fetch (const IrView &v, const uint8_t *row, unsigned offset)
{
  return __uint_as_float (fetch_bits<SOURCE> (v, row, offset) | bits_around<SOURCE> ()) - too_much<SOURCE> (v);
}

/* The window's row n1, in the quadrant's direction; rows outside are its first or last. */
__device__ __forceinline__ const uint8_t *
row_of (const IrView &v, const Run &run, int n1)
{
  const int rows = run.w.y.window_end - run.w.y.window, n = min (max (n1, 0), rows - 1);
  const int y = cf_ir_sy (run.w.quadrant) > 0 ? run.w.y.window + n : run.w.y.window_end - 1 - n;

  return (const uint8_t *) v.in + y * v.pitch;
}

/* The byte offset of its column n2 in a row; columns outside are its first or last. */
template<IrSource SOURCE> __device__ __forceinline__ unsigned
column_of (const IrView &v, const Run &run, int n2)
{
  const int width = run.w.x.window_end - run.w.x.window, n = min (max (n2, 0), width - 1);
  const int x = cf_ir_sx (run.w.quadrant) > 0 ? run.w.x.window + n : run.w.x.window_end - 1 - n;

  return (unsigned) (x * (SOURCE == IR_FLOATS ? 4 : v.step));
}

} // namespace

} // namespace cf

#endif
