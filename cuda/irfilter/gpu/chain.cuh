/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/gpu/chain.cuh: quadrants.cu's chain, the warp that computes the recursion. */
#ifndef CF_IRFILTER_GPU_CHAIN_CUH
#define CF_IRFILTER_GPU_CHAIN_CUH

#include "strip.cuh"

namespace cf {

namespace {

/* A lane's state between two rows. Each row's results go to the sums of the m - 1 rows below at the next row's
 * beginning, while the shuffles are under way. A sum receives the rows above it from the farthest to the nearest, as
 * the contract has it, and takes fewer registers than the results of m - 1 rows. */
struct IrChain {
  float acc[M - 1][C]; /* sums of the next row and of the m - 2 rows below it */
  float last[ir_span]; /* results of the last row, after the m - 1 to their left */
};

struct IrWeights {
  float b[M][M];
};

/* Computes this lane's columns of one row: the results are in s.last[M - 1 ..], those to their left before them.
 * u: sums of the row m - 2 further down. */
__device__ __forceinline__ void
ir_chain_step (IrChain &s, const IrWeights &k, const float *u, const float *edge, int lane)
{
  float left[M - 1], now[ir_span];

#pragma unroll
  for (int j = 0; j < M - 1; j++)
    left[j] = __shfl_up_sync (~0u, s.last[C + j], 1);
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
    now[j] = lane == 0 ? edge[j] : left[j];
#pragma unroll
  for (int c = 0; c < C; c++) {
    now[M - 1 + c] = s.acc[0][c];
#pragma unroll
    for (int l = M - 1; l >= 1; l--)
      now[M - 1 + c] = __fmaf_rn (k.b[0][l], now[M - 1 + c - l], now[M - 1 + c]);
  }
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

/* Computes eight steps in which not all lanes are inside the run; lane 0 is at row t0 of the run in the first of
 * them. */
__device__ __forceinline__ void
ir_chain_ragged_chunk (const IrRun &run, IrShared &sh, IrChain &s, const IrWeights &k, int t0, float *out)
{
  const int lane = (int) (threadIdx.x & 31);

#pragma unroll 1
  for (int t = t0; t < t0 + ir_chunk; t++) {
    const int row = t - lane;
    const bool active = row >= 0 && row < run.n * ir_chunk;
    float *at = &sh.ring[(unsigned) (row + ir_ring_rows) % ir_ring_rows][lane * C];
    float u[C] = { }, edge[M - 1] = { };
    IrChain next = s;

    if (active)
      ir_load_columns (at, u);
    if (t < run.n * ir_chunk)
      ir_load_edge (sh.edge[t % ir_ring_rows], edge);
    ir_chain_step (next, k, u, edge, lane);
    if (!active)
      continue;
    s = next;
    ir_store_columns (at, s.last + M - 1);
    if (lane == 31 && out)
      ir_hand_over (out + (long long) row * ir_handed, s.last + ir_span - ir_handed);
  }
}

/* Where in a run a chunk's eight steps are: in IR_BEGIN the lanes begin one after another,
 * in IR_END they end one after another. */
enum IrPhase { IR_BEGIN, IR_MIDDLE, IR_END };

/* Computes eight steps; `chunk` is the one that lane 0 is in. The next row's u is loaded while this row is computed.
 * IR_BEGIN is for runs that start at the strip's first row, IR_END for runs up to its last. Lanes that have not begun
 * or have ended read one of their rows that exists and store nothing: the compiler does not hoist a load that only
 * some lanes execute. The state of a lane that has not begun stays 0. */
template<IrPhase PHASE> __device__ __forceinline__ void
ir_chain_chunk (const IrRun &run, IrShared &sh, IrChain &s, const IrWeights &k, int chunk, int lane, float *out)
{
  constexpr unsigned pitch = sizeof sh.ring[0];
  char *const ring = (char *) &sh.ring[0][lane * C];
  const int row = chunk * ir_chunk - lane, end = run.n * ir_chunk, slot = chunk % ir_slots;
  const auto where = [&] (int i) {
    const int r = PHASE == IR_BEGIN ? max (row + i, 0) : PHASE == IR_END ? min (row + i, end - 1) : row + i;

    return (float *) (ring + (unsigned) r * pitch % (unsigned) sizeof sh.ring);
  };
  float u[C], edge[M - 1] = { };
  float *at = where (0);

  ir_load_columns (at, u);
  if (PHASE != IR_END)
    ir_load_edge (sh.edge[slot * ir_chunk], edge);
#pragma unroll ir_shape (M).chain_rows
  for (int i = 0; i < ir_chunk; i++) {
    float *next = where (i + 1);
    const bool active = PHASE == IR_MIDDLE || (PHASE == IR_BEGIN && row + i >= 0) || (PHASE == IR_END && row + i < end);
    float next_u[C] = { }, next_edge[M - 1] = { };

    if (i < ir_chunk - 1) {
      ir_load_columns (next, next_u);
      if (PHASE != IR_END)
        ir_load_edge (sh.edge[slot * ir_chunk + i + 1], next_edge);
    }
    if (PHASE == IR_BEGIN)
#pragma unroll
      for (int c = 0; c < C; c++)
        u[c] = active ? u[c] : 0;
    ir_chain_step (s, k, u, edge, lane);
    if (active)
      ir_store_columns (at, s.last + M - 1);
    if (active && lane == 31 && out)
      ir_hand_over (out + i * ir_handed, s.last + ir_span - ir_handed);
    at = next;
#pragma unroll
    for (int c = 0; c < C; c++)
      u[c] = next_u[c];
#pragma unroll
    for (int j = 0; j < M - 1; j++)
      edge[j] = next_edge[j];
  }
}

__device__ __forceinline__ void
ir_run_chain (const IrWork &work, const IrRun &run, IrShared &sh)
{
  const int lane = (int) (threadIdx.x & 31);
  const CfIrSet &set = work.set[run.w.quadrant];
  const bool quick_begin = run.from == 0 && run.n >= ir_lag, quick_end = run.to_end && run.n >= ir_lag;
  const bool delay = work.test.delay > 0;
  float *saved = work.saved + (long long) run.strip * ir_saved (M) + lane;
  float *out = ir_handover (work, run.strip, run.from * ir_chunk);
  float *here = out - lane * ir_handed; /* of the row that this lane computes when lane 0 begins a chunk */
  IrChain s;
  IrWeights k;

  if (run.w.index == run.w.strips - 1)
    out = here = NULL;
#pragma unroll
  for (int i = 0; i < M * M; i++)
    k.b[i / M][i % M] = set.b[i / M][i % M];
#pragma unroll
  for (int i = 0; i < (M - 2) * C; i++)
    s.acc[i / C][i % C] = run.from ? __ldcg (saved + 32 * i) : 0;
#pragma unroll
  for (int j = 0; j < ir_span; j++)
    s.last[j] = run.from ? __ldcg (saved + 32 * ((M - 2) * C + j)) : 0;
#pragma unroll 1
  for (int i = 0; i < run.n && i < ir_lag; i++) {
    run.barrier.wait_full (i);
    if (quick_begin)
      ir_chain_chunk<IR_BEGIN> (run, sh, s, k, i, lane, here);
    else
      ir_chain_ragged_chunk (run, sh, s, k, i * ir_chunk, out);
    here += here ? ir_chunk * ir_handed : 0;
  }
#pragma unroll 1
  for (int i = ir_lag; i < run.n; i++) {
    run.barrier.wait_full (i);
    ir_chain_chunk<IR_MIDDLE> (run, sh, s, k, i, lane, here);
    run.barrier.arrive_done (i - ir_lag);
    here += here ? ir_chunk * ir_handed : 0;
    if (delay)
      ir_test_delay (work, run.strip, i);
  }
#pragma unroll 1
  for (int i = run.n; i < run.n + ir_lag; i++) {
    if (quick_end)
      ir_chain_chunk<IR_END> (run, sh, s, k, i, lane, here);
    else
      ir_chain_ragged_chunk (run, sh, s, k, i * ir_chunk, out);
    here += here ? ir_chunk * ir_handed : 0;
    if (i >= ir_lag)
      run.barrier.arrive_done (i - ir_lag);
  }
  if (!run.to_end) {
#pragma unroll
    for (int i = 0; i < (M - 2) * C; i++)
      saved[32 * i] = s.acc[i / C][i % C];
#pragma unroll
    for (int j = 0; j < ir_span; j++)
      saved[32 * ((M - 2) * C + j)] = s.last[j];
  }
}

} // namespace

} // namespace cf

#endif
