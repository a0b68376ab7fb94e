/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * irfilter/gpu/helper.cuh: quadrants.cu's helpers, the warps that make the sums over the
 * input and take results to memory. */
#ifndef CF_IRFILTER_GPU_HELPER_CUH
#define CF_IRFILTER_GPU_HELPER_CUH

#include "strip.cuh"

namespace cf {

namespace {

/* A lane's part of the sums over the input. Where a column is left of a zero
 * border, `inside` takes its sample away and `around` has mid-level instead. */
template<IrSource SOURCE> struct Helper {
  float a[M][M];
  unsigned offset[span], inside[span], around[span];

  /* x = scale (sample - mid), scale 1, or 0 above a zero border. */
  __device__ __forceinline__ void
  load_row (const IrView &v, const uint8_t *row, float scale, float *x) const
  {
#pragma unroll
    for (int j = 0; j < span; j++) {
      const unsigned bits = (fetch_bits<SOURCE> (v, row, offset[j]) & inside[j]) | around[j];

      x[j] = __fmaf_rn (__uint_as_float (bits), scale, -scale * too_much<SOURCE> (v));
    }
  }

  /* Row r of the chunk needs rows r, r - 1, .. in this order: so from below. */
  __device__ __forceinline__ void
  sum_chunk (const IrView &v, const Run &run, int chunk, float (*u)[C]) const
  {
    const int rows = run.w.y.window_end - run.w.y.window, last = (chunk + 1) * ir_chunk - 2;
    const long long up = cf_ir_sy (run.w.quadrant) * v.pitch;
    const uint8_t *row = row_of (v, run, last);
    float x[span];

#pragma unroll
    for (int i = 0; i < ir_chunk * C; i++)
      u[i / C][i % C] = CF_IR_TINY;
#pragma unroll
    for (int i = ir_chunk - 1; i > -M; i--) {
      const int n1 = last - (ir_chunk - 1 - i);

      load_row (v, row, i <= 0 && n1 < 0 && run.zero_top ? 0 : 1, x);
      row -= n1 > 0 && n1 < rows ? up : 0;
#pragma unroll
      for (int r = i < 0 ? 0 : i; r < ir_chunk && r < i + M; r++)
#pragma unroll
        for (int l = 0; l < M; l++)
#pragma unroll
          for (int c = 0; c < C; c++)
            u[r][c] = __fmaf_rn (a[r - i][l], x[M - 1 + c - l], u[r][c]);
    }
  }

  /* Has a chunk's rows brought near: it takes a helper less time than the way to
   * the L2 and back does. */
  __device__ __forceinline__ void
  prefetch_chunk (const IrView &v, const Run &run, int chunk) const
  {
    const int lane = (int) (threadIdx.x & 31);
    const unsigned first = __shfl_sync (~0u, offset[0], 0), last = __shfl_sync (~0u, offset[span - 1], 31);
    const unsigned low = min (first, last), lines = (max (first, last) - low) / 128 + 2;

#pragma unroll 1
    for (int i = lane; i < (ir_chunk + M - 1) * (int) lines; i += 32) {
      const int r = i / (int) lines;
      const uint8_t *at = row_of (v, run, chunk * ir_chunk - M + r)
          + min (low + (unsigned) (i - r * (int) lines) * 128, max (first, last));

      asm volatile ("prefetch.global.L1 [%0];" ::"l"(at));
    }
  }

  /* The row above the window, as the border rule makes it. */
  __device__ __forceinline__ void
  sum_border (const IrView &v, const Run &run, const CfIrSet &set, float *u) const
  {
    float x[span];

    load_row (v, row_of (v, run, 0), 1, x);
#pragma unroll
    for (int c = 0; c < C; c++) {
      u[c] = CF_IR_TINY;
#pragma unroll
      for (int l = 0; l < M; l++)
        u[c] = __fmaf_rn (run.zero_top ? 0 : set.top_a[l], x[M - 1 + c - l], u[c]);
    }
  }
};

/* Where a lane takes out and writes columns 32 c + lane of the strip, counted in
 * the picture's direction. */
struct Drain {
  float *to;        /* of the strip's row 0 */
  int column[C];    /* in the ring */
  bool kept[C], whole; /* whole: all of all lanes */
  int first, rows;  /* of the window's rows: those to be kept */
  long long pitch;  /* floats; negative upwards */
};

__device__ __forceinline__ void
make_drain (const IrView &v, const Run &run, int quadrant_index, Drain *d)
{
  const int lane = (int) (threadIdx.x & 31), sx = cf_ir_sx (run.w.quadrant), sy = cf_ir_sy (run.w.quadrant);
  const int width = run.w.x.window_end - run.w.x.window, skip = width - (run.w.x.core_end - run.w.x.core);
  const int x = sx > 0 ? run.w.x.window + run.w.column * columns : run.w.x.window_end - (run.w.column + 1) * columns;

  d->rows = run.w.y.window_end - run.w.y.window;
  d->first = d->rows - (run.w.y.core_end - run.w.y.core);
  d->pitch = (long long) sy * v.y_pitch;
  d->to = v.y + quadrant_index * v.y_quadrant
      + (long long) (sy > 0 ? run.w.y.window : run.w.y.window_end - 1) * v.y_pitch + x + lane;
#pragma unroll
  for (int c = 0; c < C; c++) {
    const int k = 32 * c + lane;

    d->column[c] = sx > 0 ? k : columns - 1 - k;
    d->kept[c] = run.w.column * columns + d->column[c] >= skip && run.w.column * columns + d->column[c] < width;
  }
  d->whole = run.w.column * columns >= skip && (run.w.column + 1) * columns <= width;
}

/* From the ring to memory; a few rows at a time, for the next chunk's sums are in
 * registers meanwhile. */
__device__ __forceinline__ void
write_chunk (const Drain &d, int chunk, const float (*ring)[columns])
{
  constexpr int some = ir_chunk / 2;
  const int n1 = chunk * ir_chunk - 1;
  const bool whole = d.whole && n1 >= d.first && n1 + ir_chunk <= d.rows;
  float *to = d.to + n1 * d.pitch;

#pragma unroll
  for (int from = 0; from < ir_chunk; from += some) {
    float y[some][C];

#pragma unroll
    for (int i = 0; i < some * C; i++)
      y[i / C][i % C] = ring[from + i / C][d.column[i % C]];
    if (whole)
#pragma unroll
      for (int r = 0; r < some; r++) {
#pragma unroll
        for (int c = 0; c < C; c++)
          to[32 * c] = y[r][c];
        to += d.pitch;
      }
    else
#pragma unroll
      for (int r = 0; r < some; r++) {
        const bool row = n1 + from + r >= d.first && n1 + from + r < d.rows;

#pragma unroll
        for (int c = 0; c < C; c++)
          if (row && d.kept[c])
            to[32 * c] = y[r][c];
        to += d.pitch;
      }
  }
}

template<IrSource SOURCE> __device__ __forceinline__ void
run_helper (const IrWork &work, const Run &run, Shared &sh, int which)
{
  const int lane = (int) (threadIdx.x & 31);
  const CfIrSet &set = work.set[run.w.quadrant];
  const IrView v = work.view[run.w.view];
  Helper<SOURCE> helper;
  Drain drain;
  float u[ir_chunk][C];
  int quadrant_index = 0;

  while (work.quadrant[quadrant_index] != run.w.quadrant)
    quadrant_index++;
  make_drain (v, run, quadrant_index, &drain);
#pragma unroll
  for (int i = 0; i < M * M; i++)
    helper.a[i / M][i % M] = set.a[i / M][i % M];
#pragma unroll
  for (int j = 0; j < span; j++) {
    const int n2 = run.w.column * columns + lane * C + j - (M - 1);

    helper.offset[j] = column_of<SOURCE> (v, run, n2);
    helper.inside[j] = n2 < 0 && run.zero_left ? 0 : ~0u;
    helper.around[j] = bits_around<SOURCE> () | (n2 < 0 && run.zero_left && SOURCE != IR_FLOATS ? (unsigned) v.mid : 0);
  }
  helper.prefetch_chunk (v, run, run.from + which);
#pragma unroll 1
  for (int i = which; i < run.n + slots; i += helpers) {
    const int slot = i % slots;
    float(*ring)[columns] = &sh.ring[slot * ir_chunk];

    if (work.test.delay) /* here it is late for DONE and for FULL */
      dawdle (work, run.strip, i);
    if (i + helpers < run.n)
      helper.prefetch_chunk (v, run, run.from + i + helpers);
    if (i < run.n)
      helper.sum_chunk (v, run, run.from + i, u);
    if (run.from + i == 0)
      helper.sum_border (v, run, set, u[0]);
    if (i >= slots) {
      wait_for_slot (run, i);
      write_chunk (drain, run.from + i - slots, ring);
    }
    if (i < run.n) {
      __syncwarp (); /* all lanes have taken out what others put their sums upon */
#pragma unroll
      for (int r = 0; r < ir_chunk; r++)
        store_columns (&ring[r][lane * C], u[r]);
      run.meet.arrive_full (i);
    }
  }
}

} // namespace

} // namespace cf

#endif
