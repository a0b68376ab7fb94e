/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/gpu/chain.cuh: quadrants.cu's chain, the warp that computes the recursion. */
#ifndef CF_IRFILTER_GPU_CHAIN_CUH
#define CF_IRFILTER_GPU_CHAIN_CUH

#include "border.cuh"

#include <limits.h>

namespace cf {

namespace {

/* A lane's state between two rows. Each row's results go to the sums of the m - 1 rows below at the next row's
 * beginning, while the shuffles are under way. A sum receives the rows above it from the farthest to the nearest, as
 * the contract has it, and takes fewer registers than the results of m - 1 rows. */
struct IrChain {
  float acc[M - 1][C]; /* sums of the next row and of the m - 2 rows below it */
  float last[ir_span]; /* results of the last row, after the m - 1 to their left */
  float left[M - 1];   /* what the lane to the left has just computed; in lane 0 anything */
};

struct IrWeights {
  float b[M][M];
};

/* Computes this lane's columns of one row: the results are in s.last[M - 1 ..], those to their left before them.
 * u: sums of the row m - 2 further down. */
__device__ __forceinline__ void
ir_chain_step (IrChain &s, const IrWeights &k, const float *u, const float *edge, int lane)
{
  float now[ir_span];

#pragma unroll
  for (int c = 0; c < C; c++)
    s.acc[M - 2][c] = u[c];
#pragma unroll
  for (int l = M - 1; l >= 0; l--)
#pragma unroll
    for (int i = 0; i < M - 1; i++)
#pragma unroll
      for (int c = 0; c < C; c++)
        s.acc[i][c] = __fmaf_rn (k.b[i + 1][l], s.last[M - 1 + c - l], s.acc[i][c]);
#pragma unroll
  for (int j = 0; j < M - 1; j++)
    now[j] = lane == 0 ? edge[j] : s.left[j];
#pragma unroll
  for (int c = 0; c < C; c++) {
    now[M - 1 + c] = s.acc[0][c];
#pragma unroll
    for (int l = M - 1; l >= 1; l--)
      now[M - 1 + c] = __fmaf_rn (k.b[0][l], now[M - 1 + c - l], now[M - 1 + c]);
  }
#pragma unroll
  for (int j = 0; j < M - 1; j++)
    s.left[j] = __shfl_up_sync (~0u, now[C + j], 1);
#pragma unroll
  for (int i = 0; i < (M - 2) * C; i++)
    s.acc[i / C][i % C] = s.acc[i / C + 1][i % C];
#pragma unroll
  for (int j = 0; j < ir_span; j++)
    s.last[j] = now[j];
}

__device__ __forceinline__ void
ir_load_edge (const float *at, float *v)
{
#pragma unroll
  for (int j = 0; j < M - 1; j++)
    v[j] = at[ir_handed - (M - 1) + j];
}

/* Computes the eight steps of a pass in which not all lanes are inside a run that begins or ends within the strip: a
 * lane outside keeps its state. */
__device__ __forceinline__ void
ir_chain_ragged_pass (const IrRun &run, IrShared &sh, IrChain &s, const IrWeights &k, int pass, bool hand_over,
    float *out)
{
  const int lane = (int) (threadIdx.x & 31);

#pragma unroll 1
  for (int t = pass * ir_chunk; t < (pass + 1) * ir_chunk; t++) {
    const int row = t - 1 - lane;
    const bool active = row >= 0 && row < run.n * ir_chunk;
    float *at = &sh.ring[t % ir_ring_rows][lane * C];
    float u[C] = { }, edge[M - 1] = { };
    IrChain next = s;

    if (active)
      ir_load_columns (at, u);
    if (t > 0 && t <= run.n * ir_chunk)
      ir_load_edge (sh.edge[t % ir_ring_rows], edge);
    ir_chain_step (next, k, u, edge, lane);
#pragma unroll
    for (int j = 0; j < M - 1; j++)
      s.left[j] = next.left[j];
    if (!active)
      continue;
    s = next;
    ir_store_columns (at, s.last + M - 1);
    if (hand_over)
      ir_hand_over (out + (long long) row * ir_handed, s.last + ir_span - ir_handed);
  }
}

/* What the next step reads from the ring, loaded while a step is computed. */
struct IrStepInput {
  float u[C], edge[M - 1];
};

__device__ __forceinline__ void
ir_load_input (const IrShared &sh, int row, int lane, IrStepInput *in)
{
  ir_load_columns (&sh.ring[row][lane * C], in->u);
  ir_load_edge (sh.edge[row], in->edge);
}

/* Computes the eight steps of a pass. What the first one reads is in *in, what the next pass begins with comes to lie
 * there. to: where the lane hands over its rows, if it does. */
__device__ __forceinline__ void
ir_chain_pass (IrShared &sh, IrChain &s, const IrWeights &k, int pass, int lane, bool hand_over, float *to,
    IrStepInput *in)
{
  const int first = pass % ir_slots * ir_chunk;

#pragma unroll ir_shape (M).chain_rows
  for (int i = 0; i < ir_chunk; i++) {
    IrStepInput next;

    ir_load_input (sh, i < ir_chunk - 1 ? first + i + 1 : (first + ir_chunk) % ir_ring_rows, lane, &next);
    ir_chain_step (s, k, in->u, in->edge, lane);
    ir_store_columns (&sh.ring[first + i][lane * C], s.last + M - 1);
    if (hand_over)
      ir_hand_over (to + i * ir_handed, s.last + ir_span - ir_handed);
    *in = next;
  }
}

/* Sets to 0 what the lanes read before they begin: the second four slots, which are filled after DONE (0) to (3). */
__device__ __forceinline__ void
ir_clear_ring (IrShared &sh, int lane)
{
  const float zero[C] = { };

#pragma unroll 1
  for (int t = 0; t <= lane; t++)
    ir_store_columns (&sh.ring[t][lane * C], zero);
  if (lane < ir_handed)
    sh.edge[0][lane] = 0;
  __syncwarp ();
}

/* Computes the row above the window and adds it to the first sums. In a run that begins further down, only waits for
 * its first sums. */
template<IrSource SOURCE> __device__ __forceinline__ void
ir_begin_rows (const IrWork &work, const IrRun &run, IrShared &sh)
{
  float s[ir_span] = { };

  if (run.from == 0)
    ir_border_row<SOURCE> (work, run, s);
  ir_be_late (work, run, -1);
  run.barrier.wait_first ();
  if (run.from == 0)
    ir_add_border (work.set[run.w.quadrant], s, sh);
}

template<IrSource SOURCE, bool SAME> __device__ __forceinline__ void
ir_run_chain (const IrWork &work, const IrRun &run, IrShared &sh)
{
  const int lane = (int) (threadIdx.x & 31);
  const CfIrSet &set = ir_set<SAME> (work, run);
  const bool late = work.test.late.ns > 0;
  float *saved = work.saved + (long long) run.strip * ir_saved (M) + lane;
  float *out = ir_handover (work, run.strip, run.from * ir_chunk), *to;
  const bool hands_over = lane == 31 && run.w.index < run.w.strips - 1;
  const int first_handed = hands_over ? ir_lag : INT_MAX; /* pass */
  const int quick_end = run.to_end ? run.n + ir_lag : run.n;
  IrStepInput in;
  IrChain s;
  IrWeights k;
  int i = 0;

  if (run.from == 0)
    ir_clear_ring (sh, lane);
  ir_begin_rows<SOURCE> (work, run, sh);
#pragma unroll
  for (int j = 0; j < M * M; j++)
    k.b[j / M][j % M] = set.b[j / M][j % M];
#pragma unroll
  for (int j = 0; j < (M - 2) * C; j++)
    s.acc[j / C][j % C] = run.from ? __ldcg (saved + 32 * j) : 0;
#pragma unroll
  for (int j = 0; j < ir_span; j++)
    s.last[j] = run.from ? __ldcg (saved + 32 * ((M - 2) * C + j)) : 0;
#pragma unroll
  for (int j = 0; j < M - 1; j++)
    s.left[j] = 0;
#pragma unroll 1
  for (; run.from && i < ir_lag; i++) {
    run.barrier.wait_full (i);
    ir_chain_ragged_pass (run, sh, s, k, i, hands_over, out);
    run.barrier.arrive_done (i);
  }
  ir_load_input (sh, i * ir_chunk % ir_ring_rows, lane, &in);
  to = out + (i - ir_lag) * ir_chunk * ir_handed;
#pragma unroll 1
  while (i < quick_end) {
    const int stop = late ? i + 1 : quick_end;

#pragma unroll 1
    for (; i < stop; i++) {
      run.barrier.wait_full (i);
      ir_chain_pass (sh, s, k, i, lane, i >= first_handed, to, &in);
      run.barrier.arrive_done (i);
      to += ir_chunk * ir_handed;
    }
    ir_be_late (work, run, i);
  }
#pragma unroll 1
  for (; i < run.n + ir_lag; i++) {
    run.barrier.wait_full (i);
    ir_chain_ragged_pass (run, sh, s, k, i, hands_over, out);
    run.barrier.arrive_done (i);
  }
  if (!run.to_end) {
#pragma unroll
    for (int j = 0; j < (M - 2) * C; j++)
      saved[32 * j] = s.acc[j / C][j % C];
#pragma unroll
    for (int j = 0; j < ir_span; j++)
      saved[32 * ((M - 2) * C + j)] = s.last[j];
  }
}

} // namespace

} // namespace cf

#endif
