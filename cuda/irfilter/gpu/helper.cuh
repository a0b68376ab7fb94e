/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/gpu/helper.cuh: quadrants.cu's helpers, the warps that compute the sums over the
 * input and write the results to memory. */
#ifndef CF_IRFILTER_GPU_HELPER_CUH
#define CF_IRFILTER_GPU_HELPER_CUH

#include "border.cuh"

namespace cf {

namespace {

constexpr int ir_part = ir_shape (M).sum_rows;

/* Words of 8-bit samples that follow each other: where a strip's columns and a chunk's rows are all inside the plane,
 * a lane reads its samples of a row as two or three aligned words. */
struct IrWords {
  static constexpr int n = (ir_span + 6) / 4;

  bool usable;
  bool reversed;  /* the quadrant runs to the left */
  int first;      /* byte offset of the first word in a row */
  unsigned shift; /* bits before the first sample */

  __device__ __forceinline__ void
  prepare (const IrView &v, const IrRun &run)
  {
    const int lane = (int) (threadIdx.x & 31), n2 = run.w.index * ir_columns + lane * C - (M - 1);
    const int x = reversed ? run.w.x.window_end - n2 - ir_span : run.w.x.window + n2;

    first = x & ~3;
    shift = 8 * (unsigned) (x & 3);
    usable = __all_sync (~0u, v.step == 1 && n2 >= 0 && first >= 0 && first + 4 * n <= v.width
        && (((uintptr_t) v.in | (uintptr_t) v.pitch) & 3) == 0);
  }

  /* Loads x = sample - bias + 2^23. */
  __device__ __forceinline__ void
  load (const uint8_t *row, float bias, float *x) const
  {
    const unsigned *w = (const unsigned *) row;
    const unsigned w0 = w[0], w1 = w[1], w2 = n > 2 ? w[n - 1] : 0;
    const unsigned low = __funnelshift_r (w0, w1, shift), high = __funnelshift_r (w1, w2, shift), top = w2 >> shift;
    unsigned four[3];

    static_assert (ir_span >= 4 && ir_span <= 9, "of three words at most");
    if (ir_span == 9) {
      four[0] = __byte_perm (reversed ? top : low, high, reversed ? 0x5670 : 0x3210);
      four[1] = __byte_perm (low, high, reversed ? 0x1234 : 0x7654);
    } else {
      four[0] = __byte_perm (low, high, reversed ? (ir_span - 1) * 0x1111 - 0x3210 : 0x3210);
      four[1] = __byte_perm (low, high, reversed ? (0x1111 * (ir_span + 7) - 0x7654) & 0x7777 : 0x7654);
    }
    four[2] = reversed ? low : top;
#pragma unroll
    for (int j = 0; j < ir_span; j++)
      x[j] = __uint_as_float (__byte_perm (four[j / 4], 0x4b000000u, 0x7440 | j % 4)) - bias;
  }
};

/* A lane's part of the sums over the input. */
template<IrSource SOURCE> struct IrHelper {
  float a[M][M];
  unsigned low, bytes; /* the strip's part of a row */
  IrColumns<SOURCE> columns;
  IrWords words;

  /* Computes the sums of ir_part rows, of which row `last` is the last. The contract adds rows r, r - 1, .. in this
   * order to row r: so the loop over the input goes from the last row to the first. WORDS: by words. */
  template<bool WORDS> __device__ __forceinline__ void
  sum_part (const IrView &v, const IrRun &run, int last, float (*u)[C]) const
  {
    const int rows = run.w.y.window_end - run.w.y.window;
    const long long up = cf_ir_sy (run.w.quadrant) * v.pitch;
    const uint8_t *row = ir_row (v, run, last) + (WORDS ? words.first : 0);
    float x[ir_span];

#pragma unroll
    for (int i = 0; i < ir_part * C; i++)
      u[i / C][i % C] = CF_IR_TINY;
#pragma unroll
    for (int i = ir_part - 1; i > -M; i--) {
      const int n1 = last - (ir_part - 1 - i);

      if (WORDS) {
        words.load (row, ir_fetch_bias<SOURCE> (v), x);
        row -= up;
      } else {
        columns.load_row (v, row, i <= 0 && n1 < 0 && run.zero_top ? 0 : 1, x);
        row -= n1 > 0 && n1 < rows ? up : 0;
      }
#pragma unroll
      for (int r = i < 0 ? 0 : i; r < ir_part && r < i + M; r++)
#pragma unroll
        for (int l = 0; l < M; l++)
#pragma unroll
          for (int c = 0; c < C; c++)
            u[r][c] = __fmaf_rn (a[r - i][l], x[M - 1 + c - l], u[r][c]);
    }
  }

  /* Computes the chunk's sums, part by part with the same code. */
  template<bool WORDS> __device__ __forceinline__ void
  sum_chunk (const IrView &v, const IrRun &run, int chunk, float (*u)[C]) const
  {
#pragma unroll 1
    for (int end = ir_part; end <= ir_chunk; end += ir_part) {
      float part[ir_part][C];

      sum_part<WORDS> (v, run, chunk * ir_chunk + end - 1, part);
#pragma unroll
      for (int i = 0; i < ir_chunk * C; i++)
        u[i / C][i % C] = i < (ir_chunk - ir_part) * C ? u[(i / C + ir_part) % ir_chunk][i % C]
            : part[i / C % ir_part][i % C];
    }
  }

  /* Computes the chunk's sums by words where that is possible. */
  __device__ __forceinline__ void
  sum (const IrView &v, const IrRun &run, int chunk, float (*u)[C]) const
  {
    const int rows = run.w.y.window_end - run.w.y.window, first = chunk * ir_chunk - (M - 1);

    if (SOURCE == IR_BYTES && words.usable && first >= 0 && (chunk + 1) * ir_chunk <= rows)
      sum_chunk<SOURCE == IR_BYTES> (v, run, chunk, u);
    else
      sum_chunk<false> (v, run, chunk, u);
  }

  /* Prefetches a chunk's rows into the L1: a chunk takes a helper less time than a load from the L2. */
  __device__ __forceinline__ void
  prefetch_chunk (const IrView &v, const IrRun &run, int chunk) const
  {
    const unsigned lane = threadIdx.x & 31;
    const uint8_t *row = ir_row (v, run, chunk * ir_chunk + (int) (lane % ir_chunk)) + low;

#pragma unroll 1
    for (unsigned i = lane / ir_chunk * 128; i < bytes + 128; i += 32 / ir_chunk * 128)
      asm volatile ("prefetch.global.L1 [%0];" ::"l"(row + min (i, bytes)));
  }
};

/* Where a lane writes its columns of the strip. */
struct IrDrain {
  float *to;        /* address of the leftmost one in the strip's row 0 */
  unsigned kept;    /* bit c: column c belongs to the core */
  bool reversed;    /* the quadrant runs to the left: column c is C - 1 - c to the right of `to` */
  bool vectors;     /* each lane writes all of its columns or none, and `to` is aligned for one store */
  int first, rows;  /* rows first .. rows - 1 of the window belong to the core, and none is above the run's */
  long long pitch;  /* floats; negative where the quadrant runs up */
};

__device__ __forceinline__ void
ir_make_drain (const IrView &v, const IrRun &run, int quadrant_index, IrDrain *d)
{
  const int lane = (int) (threadIdx.x & 31), sx = cf_ir_sx (run.w.quadrant), sy = cf_ir_sy (run.w.quadrant);
  const int width = run.w.x.window_end - run.w.x.window, skip = width - (run.w.x.core_end - run.w.x.core);
  const int n2 = run.w.index * ir_columns + lane * C;
  const int x = sx > 0 ? run.w.x.window + n2 : run.w.x.window_end - n2 - C;

  d->rows = run.w.y.window_end - run.w.y.window;
  d->first = max (d->rows - (run.w.y.core_end - run.w.y.core), run.from * ir_chunk - (M - 2));
  d->pitch = (long long) sy * v.y_pitch;
  d->to = v.y + quadrant_index * v.y_quadrant
      + (long long) (sy > 0 ? run.w.y.window : run.w.y.window_end - 1) * v.y_pitch + x;
  d->reversed = sx < 0;
  d->kept = 0;
#pragma unroll
  for (int c = 0; c < C; c++)
    d->kept |= n2 + c >= skip && n2 + c < width ? 1u << c : 0;
  d->vectors = __all_sync (~0u, d->kept == 0 || (d->kept == (1u << C) - 1 && x % C == 0));
}

/* Writes the results of a chunk, y, to memory by vectors. */
template<bool REVERSED> __device__ __forceinline__ void
ir_write_vectors (const IrDrain &d, int n1, const float (*y)[C])
{
  float *to = d.to + n1 * d.pitch;

#pragma unroll
  for (int r = 0; r < ir_chunk; r++) {
    float v[C];

#pragma unroll
    for (int c = 0; c < C; c++)
      v[c] = y[r][REVERSED ? C - 1 - c : c];
    if (d.kept && n1 + r >= d.first && n1 + r < d.rows)
      ir_store_columns (to, v);
    to += d.pitch;
  }
}

/* Writes the results of a chunk, whose first row in the ring is `first`, to memory one by one. */
__device__ __forceinline__ void
ir_write_floats (const IrDrain &d, int n1, IrShared &sh, int first)
{
#pragma unroll 1
  for (int r = max (d.first - n1, 0); r < min (ir_chunk, d.rows - n1); r++) {
    float y[C];

    ir_load_columns (ir_ring_columns (sh, first + r), y);
#pragma unroll
    for (int c = 0; c < C; c++)
      if (d.kept >> c & 1)
        d.to[(n1 + r) * d.pitch + (d.reversed ? C - 1 - c : c)] = y[c];
  }
}

/* Helper `which` has the chunks which, which + ir_helpers, .. of the run. */
template<IrSource SOURCE, bool SAME> __device__ __forceinline__ void
ir_run_helper (const IrWork &work, const IrRun &run, IrShared &sh, int which)
{
  const CfIrSet &set = ir_set<SAME> (work, run);
  const IrView v = work.view[run.w.view];
  IrHelper<SOURCE> helper;
  IrDrain drain;
  int quadrant_index = 0;

  while (work.quadrant[quadrant_index] != run.w.quadrant)
    quadrant_index++;
  ir_make_drain (v, run, quadrant_index, &drain);
#pragma unroll
  for (int i = 0; i < M * M; i++)
    helper.a[i / M][i % M] = set.a[i / M][i % M];
  helper.columns.prepare (v, run);
  const unsigned left = __shfl_sync (~0u, helper.columns.offset[0], 0);
  const unsigned right = __shfl_sync (~0u, helper.columns.offset[ir_span - 1], 31);

  helper.low = min (left, right);
  helper.bytes = max (left, right) - helper.low;
  helper.words.reversed = cf_ir_sx (run.w.quadrant) < 0;
  helper.words.prepare (v, run);
  helper.prefetch_chunk (v, run, run.from + which);
#pragma unroll 1
  for (int i = which; i < run.n + ir_slots; i += ir_helpers) {
    /* the first row of the results in the slot, which are m - 2 rows behind the sums; before chunk 0 none is written */
    const int n1 = (run.from + i - ir_slots) * ir_chunk - (M - 2);
    float u[ir_chunk][C], y[ir_chunk][C];

    ir_be_late (work, run, i); /* here the warp is late for DONE and for FULL */
    if (i + ir_helpers < run.n)
      helper.prefetch_chunk (v, run, run.from + i + ir_helpers);
    if (i < run.n)
      helper.sum (v, run, run.from + i, u);
    ir_wait_slot (run, i);
    if (!drain.vectors)
      ir_write_floats (drain, n1, sh, i * ir_chunk);
#pragma unroll
    for (int r = 0; r < ir_chunk; r++) {
      float *at = ir_ring_columns (sh, i * ir_chunk + r);

      ir_load_columns (at, y[r]);
      if (i < run.n)
        ir_store_columns (at, u[r]);
    }
    if (i == 0)
      run.barrier.arrive_first ();
    if (i < run.n + ir_lag)
      run.barrier.arrive_full (i);
    if (drain.vectors && drain.reversed) /* only now: the chain does not wait for these stores */
      ir_write_vectors<true> (drain, n1, y);
    else if (drain.vectors)
      ir_write_vectors<false> (drain, n1, y);
  }
}

} // namespace

} // namespace cf

#endif
