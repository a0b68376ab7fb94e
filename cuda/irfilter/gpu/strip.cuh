/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/gpu/strip.cuh: what the warps of a block of quadrants.cu share: the run (the claimed chunks of a strip),
 * the ring in shared memory, and how samples are fetched. For one m (CF_IR_M). */
#ifndef CF_IRFILTER_GPU_STRIP_CUH
#define CF_IRFILTER_GPU_STRIP_CUH

#include "round_barrier.cuh"

namespace cf {

namespace {

constexpr int M = CF_IR_M, C = ir_lane_columns (M), ir_columns = ir_strip_columns (M);
constexpr int ir_span = M - 1 + C; /* a lane's columns and the m - 1 to their left */
constexpr int ir_handed = ir_handover_floats (M); /* the last results of a row; m - 1 of them are needed */
constexpr int ir_ring_rows = ir_slots * ir_chunk;

struct IrShared {
  float ring[ir_ring_rows][ir_columns];
  float edge[ir_ring_rows][ir_handed];
  IrClaim claim;
  int rotation; /* see quadrants.cu */
  IrBarriers barriers;
};

/* The chunks of a strip that the block has claimed; the same in all warps. */
struct IrRun {
  IrRoundBarrier barrier;
  IrWindow w;
  int strip, from, n; /* chunks from .. from + n - 1 of strip number `strip` */
  bool to_end;        /* the last of them is the strip's last */
  bool zero_top, zero_left; /* the border is zero above, to the left of the window */
};

/* Returns the set of the run's quadrant. SAME: the compiler knows its address, and so keeps the weights in uniform
 * registers: a multiply-add that reads three others takes up to two cycles instead of one. */
template<bool SAME> __device__ __forceinline__ const CfIrSet &
ir_set (const IrWork &work, const IrRun &run)
{
  return work.set[SAME ? 0 : run.w.quadrant];
}

/* May make the warp late at a chunk of the run, for the test. */
__device__ __forceinline__ void
ir_be_late (const IrWork &work, const IrRun &run, int chunk)
{
  if (work.test.late.ns > 0)
    sleep_ns (late_ns (work.test.late, (unsigned) run.strip << 16 ^ (unsigned) (run.from + chunk)));
}

/* ---- the ring ----------------------------------------------------------- */

__device__ __forceinline__ void
ir_load_columns (const float *at, float *v)
{
  if (C == 4) {
    const float4 f = *(const float4 *) at;

    v[0] = f.x, v[1 % C] = f.y, v[2 % C] = f.z, v[3 % C] = f.w;
  } else if (C == 1)
    v[0] = *at;
  else {
    const float2 f = *(const float2 *) at;

    v[0] = f.x, v[1 % C] = f.y;
  }
}

__device__ __forceinline__ void
ir_store_columns (float *at, const float *v)
{
  if (C == 4)
    *(float4 *) at = make_float4 (v[0], v[1 % C], v[2 % C], v[3 % C]);
  else if (C == 1)
    *at = v[0];
  else
    *(float2 *) at = make_float2 (v[0], v[1 % C]);
}

/* Returns this lane's columns of a row of the run in the ring: i + 1 rows further down for lane i, which is i + 1 rows
 * behind in a pass. */
__device__ __forceinline__ float *
ir_ring_columns (IrShared &sh, int row)
{
  const int lane = (int) (threadIdx.x & 31);

  return &sh.ring[(unsigned) (row + 1 + lane) % ir_ring_rows][lane * C];
}

/* ---- what strips hand over ---------------------------------------------- */

constexpr unsigned ir_empty_word = 0xffffffffu; /* a NaN that no operation produces: theirs is 0x7fffffff */

/* Returns where strip number `strip` hands over the end of a row; row -1: the end of the row above the window. */
__device__ __forceinline__ float *
ir_handover (const IrWork &work, int strip, int row)
{
  return work.handover + ((long long) strip * (work.rows + 1) + row + 1) * ir_handed;
}

/* Writes the end of a row, ir_handed floats, for the strip to the right, with one store a vector. */
__device__ __forceinline__ void
ir_hand_over (float *at, const float *v)
{
  if (ir_handed == 1)
    asm volatile ("st.relaxed.gpu.global.f32 [%0], %1;" ::"l"(at), "f"(v[0]) : "memory");
  else if (ir_handed == 2)
    asm volatile ("st.relaxed.gpu.global.v2.f32 [%0], {%1, %2};" ::"l"(at), "f"(v[0]), "f"(v[1 % ir_handed])
        : "memory");
  else
#pragma unroll
    for (int j = 0; j < ir_handed; j += 4)
      asm volatile ("st.relaxed.gpu.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(at + j), "f"(v[j]),
          "f"(v[(j + 1) % ir_handed]), "f"(v[(j + 2) % ir_handed]), "f"(v[(j + 3) % ir_handed]) : "memory");
}

/* Loads what the strip to the left hands over of one row. */
__device__ __forceinline__ void
ir_poll_row (const float *row, unsigned *w)
{
  if (ir_handed == 1)
    asm volatile ("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(w[0]) : "l"(row) : "memory");
  else if (ir_handed == 2)
    asm volatile ("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1 % ir_handed]) : "l"(row)
        : "memory");
  else
#pragma unroll
    for (int j = 0; j < ir_handed; j += 4)
      asm volatile ("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w[j]), "=r"(w[(j + 1) % ir_handed]),
          "=r"(w[(j + 2) % ir_handed]), "=r"(w[(j + 3) % ir_handed]) : "l"(row + j) : "memory");
}

/* Waits until the strip to the left has handed over a row, and sets its words to ir_empty_word again for the next
 * launch. All lanes of a warp get the row. */
__device__ __forceinline__ void
ir_receive_row (float *row, float *v)
{
  unsigned w[ir_handed];
  bool complete;

  do {
    ir_poll_row (row, w);
    complete = true;
#pragma unroll
    for (int j = 0; j < ir_handed; j++)
      complete = complete && w[j] != ir_empty_word;
  } while (!__all_sync (~0u, complete));
#pragma unroll
  for (int j = 0; j < ir_handed; j++) {
    v[j] = __uint_as_float (w[j]);
    if ((threadIdx.x & 31) == 0)
      row[j] = __uint_as_float (ir_empty_word);
  }
}

/* ---- samples ------------------------------------------------------------ */

/* Returns an integer sample, to become the lower bits of a float, or a float's bits. */
template<IrSource SOURCE> __device__ __forceinline__ unsigned
ir_fetch_bits (const IrView &v, const uint8_t *row, unsigned offset)
{
  if (SOURCE == IR_FLOATS)
    return *(const unsigned *) (row + offset);
  if (SOURCE == IR_BYTES)
    return row[offset];
  return min ((unsigned) *(const uint16_t *) (row + offset) >> v.shift, (unsigned) v.max);
}

/* Returns the bits to be ORed to an integer sample: they make it the float 2^23 + sample. A
 * subtraction of ir_fetch_bias () then gives the sample, which is faster than a conversion. */
template<IrSource SOURCE> __device__ __forceinline__ unsigned
ir_exponent_bits ()
{
  return SOURCE == IR_FLOATS ? 0 : 0x4b000000u;
}

template<IrSource SOURCE> __device__ __forceinline__ float
ir_fetch_bias (const IrView &v)
{
  return SOURCE == IR_FLOATS ? 0 : (float) (0x800000 + v.mid);
}

template<IrSource SOURCE> __device__ __forceinline__ float
ir_fetch (const IrView &v, const uint8_t *row, unsigned offset)
{
  return __uint_as_float (ir_fetch_bits<SOURCE> (v, row, offset) | ir_exponent_bits<SOURCE> ())
      - ir_fetch_bias<SOURCE> (v);
}

/* Returns the address of the window's row n1, counted in the quadrant's direction; clamped
 * to its first and last row. */
__device__ __forceinline__ const uint8_t *
ir_row (const IrView &v, const IrRun &run, int n1)
{
  const int rows = run.w.y.window_end - run.w.y.window, n = min (max (n1, 0), rows - 1);
  const int y = cf_ir_sy (run.w.quadrant) > 0 ? run.w.y.window + n : run.w.y.window_end - 1 - n;

  return (const uint8_t *) v.in + y * v.pitch;
}

/* Returns the byte offset in a row of the window's column n2, clamped alike. */
template<IrSource SOURCE> __device__ __forceinline__ unsigned
ir_column_offset (const IrView &v, const IrRun &run, int n2)
{
  const int width = run.w.x.window_end - run.w.x.window, n = min (max (n2, 0), width - 1);
  const int x = cf_ir_sx (run.w.quadrant) > 0 ? run.w.x.window + n : run.w.x.window_end - 1 - n;

  return (unsigned) (x * (SOURCE == IR_FLOATS ? 4 : v.step));
}

/* Returns y above and to the left of the window. */
template<IrSource SOURCE> __device__ __forceinline__ float
ir_corner (const IrWork &work, const IrRun &run)
{
  const IrView &v = work.view[run.w.view];

  if (run.zero_top || run.zero_left)
    return 0;
  return __fmul_rn (work.set[run.w.quadrant].corner,
      ir_fetch<SOURCE> (v, ir_row (v, run, 0), ir_column_offset<SOURCE> (v, run, 0)));
}

} // namespace

} // namespace cf

#endif
