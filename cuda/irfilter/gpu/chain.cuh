/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/gpu/chain.cuh: quadrants.cu's chain, the warp that computes the recursion. */
#ifndef CF_IRFILTER_GPU_CHAIN_CUH
#define CF_IRFILTER_GPU_CHAIN_CUH

#include "strip.cuh"

namespace cf {

namespace {

struct IrChain {
  float h[M - 1][ir_span]; /* results of the rows above, the nearest first */
};

struct IrWeights {
  float b[M][M];
};

/* Computes this lane's columns of one row: from the input sums u to the results in
 * now[M - 1 ..]; now[0 .. M - 2] are the results to their left. `first`: the border's row. */
__device__ __forceinline__ void
ir_chain_step (IrChain &s, const IrWeights &k, const float *row_taps, const float *u, const float *edge, int lane,
    bool first, float *now)
{
#pragma unroll
  for (int j = 0; j < M - 1; j++) {
    const float left = __shfl_up_sync (~0u, s.h[0][C + j], 1);

    now[j] = lane == 0 ? edge[j] : left;
  }
#pragma unroll
  for (int c = 0; c < C; c++) {
    float acc = u[c];

#pragma unroll
    for (int i = M - 1; i >= 1; i--)
#pragma unroll
      for (int l = M - 1; l >= 0; l--)
        acc = __fmaf_rn (k.b[i][l], s.h[i - 1][M - 1 + c - l], acc);
    now[M - 1 + c] = first ? u[c] : acc; /* the border's row has no rows above it */
  }
#pragma unroll
  for (int c = 0; c < C; c++) {
    float acc = now[M - 1 + c];

#pragma unroll
    for (int l = M - 1; l >= 1; l--)
      acc = __fmaf_rn (row_taps[l], now[M - 1 + c - l], acc);
    now[M - 1 + c] = acc;
  }
}

__device__ __forceinline__ void
ir_load_columns (const float *at, float *v)
{
  if (C == 4) {
    const float4 f = *(const float4 *) at;

    v[0] = f.x, v[1] = f.y, v[2 % C] = f.z, v[3 % C] = f.w;
  } else {
    const float2 f = *(const float2 *) at;

    v[0] = f.x, v[1] = f.y;
  }
}

__device__ __forceinline__ void
ir_store_columns (float *at, const float *v)
{
  if (C == 4)
    *(float4 *) at = make_float4 (v[0], v[1], v[2 % C], v[3 % C]);
  else
    *(float2 *) at = make_float2 (v[0], v[1]);
}

__device__ __forceinline__ void
ir_load_edge (const float *at, float *v)
{
#pragma unroll
  for (int j = 0; j < M - 1; j++)
    v[j] = at[ir_handed - (M - 1) + j];
}

/* Writes the end of a row for the strip to the right, with one store a vector. */
__device__ __forceinline__ void
ir_hand_over (float *at, const float *now)
{
  const float *v = now + ir_span - ir_handed;

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

/* Computes eight steps in which not all lanes are inside the run, or one lane is in the
 * border's row; lane 0 is at row t0 of the run in the first of them. */
__device__ __forceinline__ void
ir_chain_ragged_chunk (const IrRun &run, IrShared &sh, IrChain &s, const IrWeights &k, const float *top_b, int t0,
    float *out)
{
  const int lane = (int) (threadIdx.x & 31);

#pragma unroll 1
  for (int t = t0; t < t0 + ir_chunk; t++) {
    const int row = t - lane;
    const bool active = row >= 0 && row < run.n * ir_chunk, first = row == 0 && run.from == 0;
    float *at = &sh.ring[(unsigned) (row + ir_ring_rows) % ir_ring_rows][lane * C];
    float u[C] = { }, edge[M - 1] = { }, now[ir_span], taps[M];

    if (active)
      ir_load_columns (at, u);
    if (t < run.n * ir_chunk)
      ir_load_edge (sh.edge[t % ir_ring_rows], edge);
#pragma unroll
    for (int l = 1; l < M; l++)
      taps[l] = first ? top_b[l] : k.b[0][l];
    ir_chain_step (s, k, taps, u, edge, lane, first, now);
    if (!active)
      continue;
    ir_store_columns (at, now + M - 1);
    if (lane == 31 && out)
      ir_hand_over (out + (long long) row * ir_handed, now);
#pragma unroll
    for (int j = 0; j < ir_span; j++) {
#pragma unroll
      for (int i = M - 2; i >= 1; i--)
        s.h[i][j] = first ? now[j] : s.h[i - 1][j];
      s.h[0][j] = now[j];
    }
  }
}

/* Where in a run a chunk's eight steps are: in IR_BEGIN the lanes begin one after another,
 * in IR_END they end one after another. */
enum IrPhase { IR_BEGIN, IR_MIDDLE, IR_END };

/* Computes eight steps; `chunk` is the one that lane 0 is in. The next row's u is loaded while this row is computed.
 * IR_BEGIN is for runs that start at the strip's first row, IR_END for runs up to its last. Lanes that have not begun
 * or have ended read one of their rows that exists and store nothing: the compiler does not hoist a load that only
 * some lanes execute. */
template<IrPhase PHASE> __device__ __forceinline__ void
ir_chain_chunk (const IrRun &run, IrShared &sh, IrChain &s, const IrWeights &k, const float *top_b, int chunk, int lane,
    float *out)
{
  constexpr unsigned pitch = sizeof sh.ring[0];
  char *const ring = (char *) &sh.ring[0][lane * C];
  const int row = chunk * ir_chunk - lane, end = run.n * ir_chunk, slot = chunk % ir_slots;
  const auto where = [&] (int i) {
    const int r = PHASE == IR_BEGIN ? max (row + i, 0) : PHASE == IR_END ? min (row + i, end - 1) : row + i;

    return (float *) (ring + (unsigned) r * pitch % (unsigned) sizeof sh.ring);
  };
  float u[2][C], edge[2][M - 1] = { }, now[ir_span], taps[M];
  float *at = where (0);

  ir_load_columns (at, u[0]);
  if (PHASE != IR_END)
    ir_load_edge (sh.edge[slot * ir_chunk], edge[0]);
#pragma unroll
  for (int i = 0; i < ir_chunk; i++) {
    float *next = where (i + 1);
    const bool active = PHASE == IR_MIDDLE || (PHASE == IR_BEGIN && row + i >= 0) || (PHASE == IR_END && row + i < end);
    const bool first = PHASE == IR_BEGIN && row + i == 0;

    if (i < ir_chunk - 1) {
      ir_load_columns (next, u[(i + 1) % 2]);
      if (PHASE != IR_END)
        ir_load_edge (sh.edge[slot * ir_chunk + i + 1], edge[(i + 1) % 2]);
    }
#pragma unroll
    for (int l = 1; l < M; l++)
      taps[l] = first ? top_b[l] : k.b[0][l];
    ir_chain_step (s, k, taps, u[i % 2], edge[i % 2], lane, first, now);
    if (active)
      ir_store_columns (at, now + M - 1);
    if (active && lane == 31 && out)
      ir_hand_over (out + i * ir_handed, now);
#pragma unroll
    for (int r = M - 2; r >= 1; r--)
#pragma unroll
      for (int j = 0; j < ir_span; j++)
        s.h[r][j] = first ? now[j] : s.h[r - 1][j];
#pragma unroll
    for (int j = 0; j < ir_span; j++)
      s.h[0][j] = now[j];
    at = next;
  }
}

__device__ __forceinline__ void
ir_run_chain (const IrWork &work, const IrRun &run, IrShared &sh)
{
  const int lane = (int) (threadIdx.x & 31);
  const CfIrSet &set = work.set[run.w.quadrant];
  const bool quick_begin = run.from == 0 && run.n >= 4, quick_end = run.to_end && run.n >= 4;
  const bool delay = work.test.delay > 0;
  float *saved = work.saved + (long long) run.strip * ir_saved (M) + lane;
  float *out = work.handover + ((long long) run.strip * work.rows + run.from * ir_chunk) * ir_handed;
  float *here = out - lane * ir_handed; /* of the row that this lane computes when lane 0 begins a chunk */
  IrChain s;
  IrWeights k;
  float top_b[M];

  if (run.w.index == run.w.strips - 1)
    out = here = NULL;
#pragma unroll
  for (int i = 0; i < M; i++) {
    top_b[i] = run.zero_top ? 0 : set.top_b[i];
#pragma unroll
    for (int l = 0; l < M; l++)
      k.b[i][l] = set.b[i][l];
  }
#pragma unroll
  for (int i = 0; i < (M - 1) * ir_span; i++)
    s.h[i / ir_span][i % ir_span] = run.from ? __ldcg (saved + 32 * i) : 0;
#pragma unroll 1
  for (int i = 0; i < run.n && i < ir_lag; i++) {
    run.barrier.wait_full (i);
    if (quick_begin)
      ir_chain_chunk<IR_BEGIN> (run, sh, s, k, top_b, i, lane, here);
    else
      ir_chain_ragged_chunk (run, sh, s, k, top_b, i * ir_chunk, out);
    here += here ? ir_chunk * ir_handed : 0;
  }
#pragma unroll 1
  for (int i = ir_lag; i < run.n; i++) {
    run.barrier.wait_full (i);
    ir_chain_chunk<IR_MIDDLE> (run, sh, s, k, top_b, i, lane, here);
    run.barrier.arrive_done (i - ir_lag);
    here += here ? ir_chunk * ir_handed : 0;
    if (delay)
      ir_test_delay (work, run.strip, i);
  }
#pragma unroll 1
  for (int i = run.n; i < run.n + ir_lag; i++) {
    if (quick_end)
      ir_chain_chunk<IR_END> (run, sh, s, k, top_b, i, lane, here);
    else
      ir_chain_ragged_chunk (run, sh, s, k, top_b, i * ir_chunk, out);
    here += here ? ir_chunk * ir_handed : 0;
    if (i >= ir_lag)
      run.barrier.arrive_done (i - ir_lag);
  }
  if (!run.to_end)
#pragma unroll
    for (int j = 0; j < (M - 1) * ir_span; j++)
      saved[32 * j] = s.h[j / ir_span][j % ir_span];
}

} // namespace

} // namespace cf

#endif
