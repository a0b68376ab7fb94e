/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * irfilter/gpu/chain.cuh: quadrants.cu's chain, the warp that recurs. */
#ifndef CF_IRFILTER_GPU_CHAIN_CUH
#define CF_IRFILTER_GPU_CHAIN_CUH

#include "strip.cuh"

namespace cf {

namespace {

struct Chain {
  float h[M - 1][span]; /* rows above, the nearest first */
};

struct Weights {
  float b[M][M];
};

/* A row of this lane's: u in, y out. */
__device__ __forceinline__ void
step (Chain &s, const Weights &k, const float *row_taps, const float *u, const float *edge, int lane, bool first,
    float *now)
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
    now[M - 1 + c] = first ? u[c] : acc; /* above the first row there is nothing */
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
load_columns (const float *at, float *v)
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
store_columns (float *at, const float *v)
{
  if (C == 4)
    *(float4 *) at = make_float4 (v[0], v[1], v[2 % C], v[3 % C]);
  else
    *(float2 *) at = make_float2 (v[0], v[1]);
}

__device__ __forceinline__ void
load_edge (const float *at, float *v)
{
#pragma unroll
  for (int j = 0; j < M - 1; j++)
    v[j] = at[handed - (M - 1) + j];
}

/* The end of a row for the strip on the right. */
__device__ __forceinline__ void
hand_over (float *at, const float *now)
{
  const float *v = now + span - handed;

  if (handed == 1)
    asm volatile ("st.relaxed.gpu.global.f32 [%0], %1;" ::"l"(at), "f"(v[0]) : "memory");
  else if (handed == 2)
    asm volatile ("st.relaxed.gpu.global.v2.f32 [%0], {%1, %2};" ::"l"(at), "f"(v[0]), "f"(v[1 % handed]) : "memory");
  else
#pragma unroll
    for (int j = 0; j < handed; j += 4)
      asm volatile ("st.relaxed.gpu.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(at + j), "f"(v[j]),
          "f"(v[(j + 1) % handed]), "f"(v[(j + 2) % handed]), "f"(v[(j + 3) % handed]) : "memory");
}

/* Steps in which not all lanes are inside the run, or one is in the border's row. */
__device__ __forceinline__ void
ragged_chunk (const Run &run, Shared &sh, Chain &s, const Weights &k, const float *top_b, int t0, float *out)
{
  const int lane = (int) (threadIdx.x & 31);

#pragma unroll 1
  for (int t = t0; t < t0 + ir_chunk; t++) {
    const int row = t - lane;
    const bool active = row >= 0 && row < run.n * ir_chunk, first = row == 0 && run.from == 0;
    float *at = &sh.ring[(unsigned) (row + ring_rows) % ring_rows][lane * C];
    float u[C] = { }, edge[M - 1] = { }, now[span], taps[M];

    if (active)
      load_columns (at, u);
    if (t < run.n * ir_chunk)
      load_edge (sh.edge[t % ring_rows], edge);
#pragma unroll
    for (int l = 1; l < M; l++)
      taps[l] = first ? top_b[l] : k.b[0][l];
    step (s, k, taps, u, edge, lane, first, now);
    if (!active)
      continue;
    store_columns (at, now + M - 1);
    if (lane == 31 && out)
      hand_over (out + (long long) row * handed, now);
#pragma unroll
    for (int j = 0; j < span; j++) {
#pragma unroll
      for (int i = M - 2; i >= 1; i--)
        s.h[i][j] = first ? now[j] : s.h[i - 1][j];
      s.h[0][j] = now[j];
    }
  }
}

/* Where in a run a chunk's eight steps are: at first lanes begin one by one, at
 * last they end one by one. */
enum Phase { BEGIN, MIDDLE, END };

/* Eight steps; chunk: that of lane 0. The next row's u is on its way while this
 * one is worked on. BEGIN is for runs from the strip's first row, END for those to
 * its last; lanes that have not begun or have ended read a row of theirs that is
 * there and keep nothing: a load that not all lanes make would not be moved up. */
template<Phase PHASE> __device__ __forceinline__ void
chunk_steps (const Run &run, Shared &sh, Chain &s, const Weights &k, const float *top_b, int chunk, int lane,
    float *out)
{
  constexpr unsigned pitch = sizeof sh.ring[0];
  char *const ring = (char *) &sh.ring[0][lane * C];
  const int row = chunk * ir_chunk - lane, end = run.n * ir_chunk, slot = chunk % slots;
  const auto where = [&] (int i) {
    const int r = PHASE == BEGIN ? max (row + i, 0) : PHASE == END ? min (row + i, end - 1) : row + i;

    return (float *) (ring + (unsigned) r * pitch % (unsigned) sizeof sh.ring);
  };
  float u[2][C], edge[2][M - 1] = { }, now[span], taps[M];
  float *at = where (0);

  load_columns (at, u[0]);
  if (PHASE != END)
    load_edge (sh.edge[slot * ir_chunk], edge[0]);
#pragma unroll
  for (int i = 0; i < ir_chunk; i++) {
    float *next = where (i + 1);
    const bool active = PHASE == MIDDLE || (PHASE == BEGIN && row + i >= 0) || (PHASE == END && row + i < end);
    const bool first = PHASE == BEGIN && row + i == 0;

    if (i < ir_chunk - 1) {
      load_columns (next, u[(i + 1) % 2]);
      if (PHASE != END)
        load_edge (sh.edge[slot * ir_chunk + i + 1], edge[(i + 1) % 2]);
    }
#pragma unroll
    for (int l = 1; l < M; l++)
      taps[l] = first ? top_b[l] : k.b[0][l];
    step (s, k, taps, u[i % 2], edge[i % 2], lane, first, now);
    if (active)
      store_columns (at, now + M - 1);
    if (active && lane == 31 && out)
      hand_over (out + i * handed, now);
#pragma unroll
    for (int r = M - 2; r >= 1; r--)
#pragma unroll
      for (int j = 0; j < span; j++)
        s.h[r][j] = first ? now[j] : s.h[r - 1][j];
#pragma unroll
    for (int j = 0; j < span; j++)
      s.h[0][j] = now[j];
    at = next;
  }
}

__device__ __forceinline__ void
run_chain (const IrWork &work, const Run &run, Shared &sh)
{
  const int lane = (int) (threadIdx.x & 31);
  const CfIrSet &set = work.set[run.w.quadrant];
  const bool quick_begin = run.from == 0 && run.n >= 4, quick_end = run.to_end && run.n >= 4;
  const bool delay = work.test.delay > 0;
  float *saved = work.saved + (long long) run.strip * ir_saved (M) + lane;
  float *out = work.words + ((long long) run.strip * work.rows + run.from * ir_chunk) * handed;
  float *here = out - lane * handed; /* of the row that this lane is at when lane 0 begins a chunk */
  Chain s;
  Weights k;
  float top_b[M];

  if (run.w.column == run.w.strips - 1)
    out = here = NULL;
#pragma unroll
  for (int i = 0; i < M; i++) {
    top_b[i] = run.zero_top ? 0 : set.top_b[i];
#pragma unroll
    for (int l = 0; l < M; l++)
      k.b[i][l] = set.b[i][l];
  }
#pragma unroll
  for (int i = 0; i < (M - 1) * span; i++)
    s.h[i / span][i % span] = run.from ? __ldcg (saved + 32 * i) : 0;
#pragma unroll 1
  for (int i = 0; i < run.n && i < lag; i++) {
    run.meet.wait_full (i);
    if (quick_begin)
      chunk_steps<BEGIN> (run, sh, s, k, top_b, i, lane, here);
    else
      ragged_chunk (run, sh, s, k, top_b, i * ir_chunk, out);
    here += here ? ir_chunk * handed : 0;
  }
#pragma unroll 1
  for (int i = lag; i < run.n; i++) {
    run.meet.wait_full (i);
    chunk_steps<MIDDLE> (run, sh, s, k, top_b, i, lane, here);
    run.meet.arrive_done (i - lag);
    here += here ? ir_chunk * handed : 0;
    if (delay)
      dawdle (work, run.strip, i);
  }
#pragma unroll 1
  for (int i = run.n; i < run.n + lag; i++) {
    if (quick_end)
      chunk_steps<END> (run, sh, s, k, top_b, i, lane, here);
    else
      ragged_chunk (run, sh, s, k, top_b, i * ir_chunk, out);
    here += here ? ir_chunk * handed : 0;
    if (i >= lag)
      run.meet.arrive_done (i - lag);
  }
  if (!run.to_end)
#pragma unroll
    for (int j = 0; j < (M - 1) * span; j++)
      saved[32 * j] = s.h[j / span][j % span];
}

} // namespace

} // namespace cf

#endif
