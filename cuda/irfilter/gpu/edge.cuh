/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * irfilter/gpu/edge.cuh: quadrants.cu's edge, the warp that knows what stands left of
 * the strip. */
#ifndef CF_IRFILTER_GPU_EDGE_CUH
#define CF_IRFILTER_GPU_EDGE_CUH

#include "strip.cuh"

namespace cf {

namespace {

/* What stands left of the picture: the border rule's column. */
template<IrSource SOURCE> struct Border {
  float corner, t[M - 1]; /* the same in all lanes */
  unsigned x[M];          /* lane i: what row i of the next four chunks is made of; not looked at before it is needed */

  /* From the L1, where they are by now: a load under way would hold up the
   * shuffles, with which it shares a scoreboard. */
  __device__ __forceinline__ void
  load (const IrWork &work, const Run &run, int first_row)
  {
    const IrView &v = work.view[run.w.view];
    const unsigned column = column_of<SOURCE> (v, run, 0);
    const int n1 = first_row + (int) (threadIdx.x & 31) - 1;

    asm volatile ("prefetch.global.L1 [%0];" ::"l"(row_of (v, run, n1 + 32) + column));

#pragma unroll
    for (int k = 0; k < M; k++)
      x[k] = fetch_bits<SOURCE> (v, row_of (v, run, n1 - k), column);
  }

  __device__ __forceinline__ float
  sum (const IrWork &work, const Run &run, const CfIrSet &set, int first_row) const
  {
    const int n1 = first_row + (int) (threadIdx.x & 31) - 1;
    float acc = CF_IR_TINY;

#pragma unroll
    for (int k = 0; k < M; k++) {
      const float sample = __uint_as_float (x[k] | bits_around<SOURCE> ()) - too_much<SOURCE> (work.view[run.w.view]);

      acc = __fmaf_rn (run.zero_left ? 0 : set.left_a[k], n1 - k < 0 && run.zero_top ? 0 : sample, acc);
    }
    return acc;
  }

  /* Row r of the chunk, of whose sum all lanes know `y`. */
  __device__ __forceinline__ float
  next (const float *left_b, float y, bool is_corner)
  {
#pragma unroll
    for (int k = M - 1; k >= 1; k--)
      y = __fmaf_rn (left_b[k], t[k - 1], y);
    y = is_corner ? corner : y;
#pragma unroll
    for (int k = M - 2; k >= 1; k--)
      t[k] = t[k - 1];
    t[0] = y;
    return y;
  }
};

/* Is chunk i's place free? */
__device__ __forceinline__ void
wait_for_slot (const Run &run, int i)
{
  if (i >= slots)
    run.meet.wait_done (i - slots);
}

__device__ __forceinline__ void
give_slot (const IrWork &work, const Run &run, int i)
{
  if (work.test.delay)
    dawdle (work, run.strip, i);
  if (work.test.owner && (threadIdx.x & 31) == 0)
    work.test.owner[(long long) run.strip * work.test.owner_chunks + run.from + i] = (int) blockIdx.x;
  run.meet.arrive_full (i);
}

template<IrSource SOURCE> __device__ __forceinline__ void
run_border (const IrWork &work, const Run &run, Shared &sh)
{
  const int lane = (int) (threadIdx.x & 31);
  const CfIrSet &set = work.set[run.w.quadrant];
  const IrView &v = work.view[run.w.view];
  float *saved = work.saved + (long long) run.strip * ir_saved (M) + 32 * (M - 1) * span;
  float left_b[M], sums = 0, last = 0;
  Border<SOURCE> border;

  border.corner = run.zero_top || run.zero_left
      ? 0 : __fmul_rn (set.corner, fetch<SOURCE> (v, row_of (v, run, 0), column_of<SOURCE> (v, run, 0)));
#pragma unroll
  for (int k = 1; k < M; k++) {
    left_b[k] = run.zero_left ? 0 : set.left_b[k];
    border.t[k - 1] = run.from ? __ldcg (saved + k - 1) : border.corner;
  }
  border.load (work, run, run.from * ir_chunk);
#pragma unroll 1
  for (int i = 0; i < run.n + slots; i++) {
    const int slot = i % slots;

    if (i == run.n && lane < M - 1)
      saved[lane] = last;
    wait_for_slot (run, i);
    if (i < run.n) {
      if (i % 4 == 0) {
        sums = border.sum (work, run, set, (run.from + i) * ir_chunk);
        border.load (work, run, (run.from + i + 4) * ir_chunk);
      }
#pragma unroll
      for (int r = 0; r < ir_chunk; r++) {
        const float t = border.next (left_b, __shfl_sync (~0u, sums, i % 4 * ir_chunk + r),
            run.from + i == 0 && r == 0);

        if (lane < handed)
          sh.edge[slot * ir_chunk + r][lane] = t;
      }
#pragma unroll
      for (int j = 0; j < M - 1; j++)
        last = lane == j ? border.t[j] : last;
      give_slot (work, run, i);
    }
  }
}

constexpr int words = ir_chunk * handed, words_of_lane = (words + 31) / 32, ahead = 4;
constexpr unsigned nothing = 0xffffffffu; /* a NaN that no operation makes: theirs is 0x7fffffff */

__device__ __forceinline__ unsigned
look (const float *word)
{
  unsigned w;

  asm volatile ("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(w) : "l"(word) : "memory");
  return w;
}

/* What the strip to the left hands over, a word once it is there; it is made
 * `nothing` again for the next launch. A look takes 0.3 us, so looks for some
 * chunks ahead are under way. */
__device__ __forceinline__ void
run_follower (const IrWork &work, const Run &run, Shared &sh)
{
  const int lane = (int) (threadIdx.x & 31);
  float *in = work.words + ((long long) (run.strip - 1) * work.rows + run.from * ir_chunk) * handed + lane;
  unsigned w[ahead][words_of_lane];

#pragma unroll
  for (int i = 0; i < ahead; i++)
#pragma unroll
    for (int j = 0; j < words_of_lane; j++)
      if (i < run.n && lane + 32 * j < words)
        w[i][j] = look (in + i * words + 32 * j);
#pragma unroll 1
  for (int i = 0; i < run.n + slots; i += ahead)
#pragma unroll
    for (int d = 0; d < ahead; d++) {
      const int chunk = i + d, slot = chunk % slots;

      if (chunk < run.n + slots)
        wait_for_slot (run, chunk);
      if (chunk >= run.n)
        continue;
#pragma unroll
      for (int j = 0; j < words_of_lane; j++)
        if (lane + 32 * j < words) {
          float *at = in + chunk * words + 32 * j;

          while (w[d][j] == nothing)
            w[d][j] = look (at);
          (&sh.edge[slot * ir_chunk][0])[lane + 32 * j] = __uint_as_float (w[d][j]);
          *at = __uint_as_float (nothing);
          if (chunk + ahead < run.n)
            w[d][j] = look (at + ahead * words);
        }
      give_slot (work, run, chunk);
    }
}

} // namespace

} // namespace cf

#endif
