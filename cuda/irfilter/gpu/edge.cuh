/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/gpu/edge.cuh: quadrants.cu's edge, the warp that provides the values to the left of the strip. */
#ifndef CF_IRFILTER_GPU_EDGE_CUH
#define CF_IRFILTER_GPU_EDGE_CUH

#include "strip.cuh"

namespace cf {

namespace {

/* The column to the left of a window, which the border rule defines: t[n1] of irfilter.h. */
template<IrSource SOURCE> struct IrBorderColumn {
  float t[M - 1];         /* the same in all lanes */
  unsigned x[M];          /* lane i: the input of row i of the next four chunks; used as late as possible */

  /* Loads x for four chunks from the L1, where an earlier prefetch has put it: a pending
   * load would delay the shuffles, which share a scoreboard with it. Prefetches the next. */
  __device__ __forceinline__ void
  load (const IrWork &work, const IrRun &run, int first_row)
  {
    const IrView &v = work.view[run.w.view];
    const unsigned column = ir_column_offset<SOURCE> (v, run, 0);
    const int n1 = first_row + (int) (threadIdx.x & 31) - (M - 2);

    asm volatile ("prefetch.global.L1 [%0];" ::"l"(ir_row (v, run, n1 + 32) + column));

#pragma unroll
    for (int k = 0; k < M; k++)
      x[k] = ir_fetch_bits<SOURCE> (v, ir_row (v, run, n1 - k), column);
  }

  /* Returns the sum over the input of row first_row + lane. */
  __device__ __forceinline__ float
  sum (const IrWork &work, const IrRun &run, const CfIrSet &set, int first_row) const
  {
    const int n1 = first_row + (int) (threadIdx.x & 31) - (M - 2);
    float acc = CF_IR_TINY;

#pragma unroll
    for (int k = 0; k < M; k++) {
      const float sample = __uint_as_float (x[k] | ir_exponent_bits<SOURCE> ())
          - ir_fetch_bias<SOURCE> (work.view[run.w.view]);

      acc = __fmaf_rn (run.zero_left ? 0 : set.left_a[k], n1 - k < 0 && run.zero_top ? 0 : sample, acc);
    }
    return acc;
  }

  /* Returns t of the next row; `y` is the sum over its input, the same in all lanes. */
  __device__ __forceinline__ float
  next (const float *left_b, float y)
  {
#pragma unroll
    for (int k = M - 1; k >= 1; k--)
      y = __fmaf_rn (left_b[k], t[k - 1], y);
#pragma unroll
    for (int k = M - 2; k >= 1; k--)
      t[k] = t[k - 1];
    t[0] = y;
    return y;
  }
};

/* Waits until the slot of chunk i is free. */
__device__ __forceinline__ void
ir_wait_slot (const IrRun &run, int i)
{
  if (i >= ir_lag)
    run.barrier.wait_done (i - ir_lag);
}

/* Takes part in the rounds after the run's last chunk. */
__device__ __forceinline__ void
ir_end_edge (const IrRun &run)
{
#pragma unroll 1
  for (int i = run.n; i < run.n + ir_slots; i++) {
    ir_wait_slot (run, i);
    if (i < run.n + ir_lag)
      run.barrier.arrive_full (i);
  }
}

/* Returns where the chain reads the edge of a chunk's row. */
__device__ __forceinline__ float *
ir_edge_row (IrShared &sh, int chunk, int row)
{
  return sh.edge[(unsigned) (chunk * ir_chunk + row + 1) % ir_ring_rows];
}

/* Arrives at FULL of chunk i, whose edge values are in its slot; records the block in the trace. */
__device__ __forceinline__ void
ir_fill_slot (const IrWork &work, const IrRun &run, int i)
{
  ir_be_late (work, run, i);
  if (work.test.owner && (threadIdx.x & 31) == 0)
    work.test.owner[(long long) run.strip * work.test.owner_chunks + run.from + i] = (int) blockIdx.x;
  run.barrier.arrive_full (i);
}

/* The edge of a window's first strip: computes the border rule's column. */
template<IrSource SOURCE> __device__ __forceinline__ void
ir_run_border_edge (const IrWork &work, const IrRun &run, IrShared &sh)
{
  const int lane = (int) (threadIdx.x & 31);
  const CfIrSet &set = work.set[run.w.quadrant];
  float *saved = work.saved + (long long) run.strip * ir_saved (M) + 32 * ir_saved_by_lane (M);
  float left_b[M], sums = 0, last = 0;
  IrBorderColumn<SOURCE> border;

  const float corner = ir_corner<SOURCE> (work, run);

#pragma unroll
  for (int k = 1; k < M; k++) {
    left_b[k] = run.zero_left ? 0 : set.left_b[k];
    border.t[k - 1] = run.from ? __ldcg (saved + k - 1) : corner;
  }
  border.load (work, run, run.from * ir_chunk);
#pragma unroll 1
  for (int i = 0; i < run.n;) {
    const int end = min (i + 4, run.n);

    sums = border.sum (work, run, set, (run.from + i) * ir_chunk);
    border.load (work, run, (run.from + i + 4) * ir_chunk);
#pragma unroll 1
    for (; i < end; i++) {
      float mine = 0;

#pragma unroll
      for (int r = 0; r < ir_chunk; r++) {
        const float sum = __shfl_sync (~0u, sums, i % 4 * ir_chunk + r);
        const bool before = run.from + i == 0 && r < M - 2; /* the window: the chain's results are 0 */
        const float t = before ? 0 : border.next (left_b, sum);

        mine = lane == r ? t : mine;
      }
#pragma unroll
      for (int j = 0; j < M - 1; j++)
        last = lane == j ? border.t[j] : last;
      ir_wait_slot (run, i);
      if (lane < ir_chunk)
#pragma unroll
        for (int j = 0; j < ir_handed; j++)
          ir_edge_row (sh, i, lane)[j] = mine;
      ir_fill_slot (work, run, i);
    }
  }
  if (lane < M - 1)
    saved[lane] = last;
  ir_end_edge (run);
}

/* The edge of all other strips: receives what the strip to the left hands over. It polls the next 32 rows, one a
 * lane, passes on the chunks that are complete and sets their words to ir_empty_word again for the next launch. A poll
 * is a round trip to the L2. Several of them in flight would share a scoreboard, so that the oldest waited for the
 * newest; one poll at a time looks at all rows that may be there. */
__device__ __forceinline__ void
ir_run_inner_edge (const IrWork &work, const IrRun &run, IrShared &sh)
{
  const int lane = (int) (threadIdx.x & 31);
  float *in = ir_handover (work, run.strip - 1, run.from * ir_chunk + lane);
  unsigned w[ir_handed];
  float *row = in;
  int first = 0, end = 0; /* of the last poll: its first chunk, the one behind the last complete one */

#pragma unroll 1
  for (int i = lane * 32; i < run.n * ir_chunk * ir_handed; i += 32 * 32)
    asm volatile ("prefetch.global.L2 [%0];" ::"l"(ir_handover (work, run.strip - 1, run.from * ir_chunk) + i));
#pragma unroll 1
  for (int chunk = 0; chunk < run.n; chunk++) {
    ir_wait_slot (run, chunk); /* before the poll: the chunk's helper waits at that barrier for this warp */
#pragma unroll 1
    while (chunk >= end) {
      bool complete = chunk * ir_chunk + lane < run.n * ir_chunk;

      row = in + (long long) chunk * (ir_chunk * ir_handed);
      if (complete)
        ir_poll_row (row, w);
#pragma unroll
      for (int j = 0; j < ir_handed; j++)
        complete = complete && w[j] != ir_empty_word;

      const unsigned missing = ~__ballot_sync (~0u, complete);

      first = chunk;
      end = chunk + (missing ? __ffs ((int) missing) - 1 : 32) / ir_chunk;
    }
    if (lane / ir_chunk == chunk - first)
#pragma unroll
      for (int j = 0; j < ir_handed; j++) {
        ir_edge_row (sh, chunk, lane % ir_chunk)[j] = __uint_as_float (w[j]);
        row[j] = __uint_as_float (ir_empty_word);
      }
    ir_fill_slot (work, run, chunk);
  }
  ir_end_edge (run);
}

} // namespace

} // namespace cf

#endif
