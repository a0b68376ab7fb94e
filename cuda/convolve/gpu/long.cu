/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/long.cu: box, gauss and unsharp with a side above 63, at any depth. Their weights are not negative, or
 * all equal: those are summed with weights of 1, and the sum is scaled.
 *
 * Map: 8 warps a block, a block makes 32 x 128 pixels (16 bit: 32 x 64), plane after plane. Row pass: a warp takes four
 * rows at a time, a lane makes four neighbours. Column pass: a lane makes 16 (16 bit: 8) pixels of a column.
 *
 * Shared memory: the weights of both axes with zeros around them; four rows of samples for each warp, which only that
 * warp writes and reads, between two __syncwarp (); the sums T of the row pass, 32 bits each. A barrier before the row
 * pass separates it from the column pass of the plane before, a second one the column pass from the row pass.
 *
 * BYTES, 8-bit samples and row weights up to 255: four products at a time in the row pass. T are floats, and so are the
 * sums of the column pass: integers below 2^24, exact in any order, as F^2 and 255 x 255 times 255 are below 2^24.
 * Else: T is below 2^32, as F times 65535 is, and the sums of the column pass have 64 bits.
 *
 * Bound by the multiply-adds: h for a pixel in the column pass, and w in the row pass for each of the
 * (tile_h + h - 1) / tile_h rows of T that a row of pixels needs. */
#include "tile.cuh"
#include "sums.cuh"
#include "store.cuh"

namespace cf {

namespace {

constexpr int warps = 8, threads = 32 * warps, tile_w = 32;
constexpr int max_words = 72;  /* of four samples in a staged row: 8 for the block's columns, 64 around them */
constexpr int axis_words = 288; /* the most that the loops read of an axis, zeros included */

/* Pixels of a column that a lane makes. */
template<bool BYTES> constexpr int own = BYTES ? 16 : 8;

/* Returns the steps of eight rows of the column pass. */
template<bool BYTES> __host__ __device__ inline int
column_steps (int h)
{
  return (h + own<BYTES> - 1 + 7) / 8;
}

/* Returns the rows of T, a multiple of the rows that all warps take at a time. */
template<bool BYTES> __host__ __device__ inline int
rows_of (int h)
{
  return ((warps - 1) * own<BYTES> + 8 * column_steps<BYTES> (h) + 4 * warps - 1) / (4 * warps) * (4 * warps);
}

template<bool BYTES> size_t
shared_of (int h)
{
  const int words = 2 * axis_words + 4 * warps * max_words * (BYTES ? 1 : 2) + rows_of<BYTES> (h) * tile_w;

  return (size_t) words * 4;
}

/* Where a row of samples begins, and the steps of four samples of the row pass. */
struct RowSteps {
  int left, pad, n; /* the first staged sample is x0 - left; the first tap of pixel x0 is the pad-th */
};

__device__ __forceinline__ RowSteps
row_steps_of (const Work &work)
{
  const int left = (work.ax + 3) & ~3, pad = left - work.ax;

  return RowSteps { left, pad, (work.w + 2 + pad) / 4 + 1 };
}

__device__ __forceinline__ unsigned
weight_at (const int *axis, int n, int i)
{
  return i >= 0 && i < n ? (unsigned) axis[i] : 0;
}

/* Writes the axes to shared memory. row: word 4 b + o has the weights of samples 4 b .. 4 b + 3 for the o-th of four
 * neighbours (BYTES), or word i the weight of tap i - pad - 4. col: word i has the weight of tap i - 16. */
template<bool BYTES> __device__ __forceinline__ void
stage_axes (const Work &work, const LongWeights &weights, int pad, unsigned *row, unsigned *col, int thread)
{
  for (int i = thread; i < axis_words; i += threads) {
    const unsigned down = weight_at (weights.col, work.h, i - 16);
    unsigned across = 0;

    if (BYTES)
      for (int k = 0; k < 4; k++)
        across |= weight_at (weights.row, work.w, (i & ~3) + k - (i & 3) - pad) << 8 * k;
    else
      across = weight_at (weights.row, work.w, i - pad - 4);
    row[i] = across;
    col[i] = BYTES ? __float_as_uint ((float) down) : down;
  }
}

/* Loads four rows of a plane's samples from (x, y) on: a word of bytes, or two words of halves, for four samples. */
template<bool BYTES> __device__ __forceinline__ void
stage_rows (const Work &work, const Group &g, int p, int x, int y, int words, unsigned *to, int lane)
{
  const bool direct = BYTES && g.in_words && g.step == 1 && !g.gray;

#pragma unroll 1
  for (int i = lane; i < 4 * max_words; i += 32) {
    const int r = i / max_words, c = i % max_words, at = x + 4 * c, row = y + r;

    if (c >= words)
      continue;
    if (direct && at >= 0 && at + 3 < g.width && row >= 0 && row < g.height) {
      to[i] = *(const unsigned *) (g.in + row * g.in_pitch + at);
      continue;
    }
    const uint2 v = edge_word (work, g.index, p, at, row);

    if (BYTES)
      to[i] = v.x;
    else
      *(uint2 *) (to + 2 * i) = make_uint2 (__byte_perm (v.x, v.y, 0x5140), __byte_perm (v.x, v.y, 0x7362));
  }
}

/* Returns the row sums of the lane's four neighbours. */
template<bool BYTES> __device__ __forceinline__ uint4
sum_row (const unsigned *samples, const unsigned *row, int n, int lane)
{
  unsigned sum[4] = { };

  if (BYTES) {
    const unsigned *s = samples + (lane >> 3) * max_words + (lane & 7);

#pragma unroll 4
    for (int b = 0; b < n; b++) {
      const uint4 w = *(const uint4 *) (row + 4 * b);

      sum[0] = __dp4a (s[b], w.x, sum[0]);
      sum[1] = __dp4a (s[b], w.y, sum[1]);
      sum[2] = __dp4a (s[b], w.z, sum[2]);
      sum[3] = __dp4a (s[b], w.w, sum[3]);
    }
    return make_uint4 (__float_as_uint ((float) sum[0]), __float_as_uint ((float) sum[1]),
        __float_as_uint ((float) sum[2]), __float_as_uint ((float) sum[3]));
  }
  const uint2 *s = (const uint2 *) samples + (lane >> 3) * max_words + (lane & 7);

#pragma unroll 2
  for (int b = 0; b < n; b++) {
    const uint4 before = *(const uint4 *) (row + 4 * b), after = *(const uint4 *) (row + 4 * b + 4);
    const unsigned w[8] = { before.x, before.y, before.z, before.w, after.x, after.y, after.z, after.w };
    const unsigned x[4] = { s[b].x & 0xffff, s[b].x >> 16, s[b].y & 0xffff, s[b].y >> 16 };

#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
      for (int o = 0; o < 4; o++)
        sum[o] += w[i - o + 4] * x[i];
  }
  return make_uint4 (sum[0], sum[1], sum[2], sum[3]);
}

/* Row pass: makes T of a plane. */
template<bool BYTES> __device__ __forceinline__ void
filter_rows (const Work &work, const Group &g, int p, const RowSteps &steps, const unsigned *row, unsigned *samples,
    unsigned *t, int x0, int y0, int thread)
{
  const int lane = thread & 31, rows = rows_of<BYTES> (work.h);
  unsigned *mine = samples + (thread >> 5) * 4 * max_words * (BYTES ? 1 : 2);

#pragma unroll 1
  for (int r = 4 * (thread >> 5); r < rows; r += 4 * warps) {
    stage_rows<BYTES> (work, g, p, x0 - steps.left, y0 - work.ay + r, steps.n + tile_w / 4 - 1, mine, lane);
    __syncwarp ();
    *(uint4 *) (t + (r + (lane >> 3)) * tile_w + 4 * (lane & 7)) = sum_row<BYTES> (mine, row, steps.n, lane);
    __syncwarp ();
  }
}

/* Column pass: the sums of the lane's pixels, from row `t` of T on. */
__device__ __forceinline__ void
sum_columns (const unsigned *t, const unsigned *col, int h, float *sum)
{
#pragma unroll 1
  for (int b = 0; b < column_steps<true> (h); b++) {
    alignas (16) float w[24];

#pragma unroll
    for (int i = 0; i < 6; i++)
      *(float4 *) (w + 4 * i) = *(const float4 *) (col + 8 * b + 4 * i);
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const float v = __uint_as_float (t[(8 * b + i) * tile_w]);

#pragma unroll
      for (int o = 0; o < own<true>; o++)
        sum[o] = __fmaf_rn (w[i - o + 16], v, sum[o]);
    }
  }
}

__device__ __forceinline__ void
sum_columns (const unsigned *t, const unsigned *col, int h, unsigned long long *sum)
{
#pragma unroll 1
  for (int b = 0; b < column_steps<false> (h); b++) {
    alignas (16) unsigned w[16];

#pragma unroll
    for (int i = 0; i < 4; i++)
      *(uint4 *) (w + 4 * i) = *(const uint4 *) (col + 8 * b + 8 + 4 * i);
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const unsigned v = t[(8 * b + i) * tile_w];

#pragma unroll
      for (int o = 0; o < own<false>; o++)
        sum[o] += (unsigned long long) w[i - o + 8] * v;
    }
  }
}

/* Stores the pixels of a lane from (x, y) down; value[p]: the samples of plane p, packed. */
template<bool BYTES> __device__ __forceinline__ void
store_column (const Work &work, const Group &g, int x, int y, const unsigned (*value)[4])
{
  constexpr int bits = BYTES ? 8 : 16, per_word = 32 / bits;
  constexpr unsigned mask = (1u << bits) - 1;
  const bool single = g.step == 1 && g.action[0] == CF_ACTION_FILTER;

#pragma unroll
  for (int o = 0; o < own<BYTES>; o++) {
    const int shift = bits * (o % per_word), i = o / per_word;
    const unsigned v = value[0][i] >> shift & mask;

    if (!single)
      store_pixel (work, g.index, x, y + o, v, value[1][i] >> shift & mask, value[2][i] >> shift & mask);
    else if (x < g.width && y + o < g.height)
      store_value (g, g.out + (y + o) * g.out_pitch + (long long) x * g.bytes, v);
  }
}

template<bool BYTES> __global__ void __launch_bounds__ (threads, 3)
convolve_long_kernel (const __grid_constant__ Work work, const __grid_constant__ LongWeights weights)
{
  using Sum = typename std::conditional<BYTES, float, unsigned long long>::type;
  constexpr int per_word = BYTES ? 4 : 2, tile_h = warps * own<BYTES>;
  extern __shared__ __align__ (16) unsigned shared[];
  unsigned *const row = shared, *const col = row + axis_words, *const samples = col + axis_words;
  unsigned *const t = samples + 4 * warps * max_words * (BYTES ? 1 : 2);
  const Group g = group_of_block (work, (int) blockIdx.x);
  const int2 position = block_position (g, (int) blockIdx.x);
  const int thread = (int) threadIdx.x, x0 = position.x * tile_w, y0 = position.y * tile_h;
  const int x = x0 + (thread & 31), first = (thread >> 5) * own<BYTES>;
  const RowSteps steps = row_steps_of (work);
  unsigned value[3][4] = { };

  if (g.planes == 0) {
    griddep_wait ();
    copy_group (work, g, x0, y0, tile_w, tile_h, thread, threads);
    return;
  }
  stage_axes<BYTES> (work, weights, steps.pad, row, col, thread);
  griddep_wait ();
#pragma unroll 1
  for (int p = 0; p < g.planes; p++) {
    unsigned word[4] = { };
    Sum sum[own<BYTES>] = { };

    __syncthreads ();
    filter_rows<BYTES> (work, g, p, steps, row, samples, t, x0, y0, thread);
    __syncthreads ();
    sum_columns (t + first * tile_w + (thread & 31), col, work.h, sum);
#pragma unroll
    for (int o = 0; o < own<BYTES>; o++) {
      const int centre = work.rounding.op == CF_CONVOLVE_UNSHARP
          ? (int) edge_sample (work, g.index, p, x, y0 + first + o) : 0;
      const long long s = (long long) sum[o] * weights.scale;

      word[o / per_word] |= (unsigned) round_sum (work.rounding, s, centre, g.plane_chroma (p))
          << 32 / per_word * (o % per_word);
    }
#pragma unroll
    for (int i = 0; i < 12; i++)
      value[i / 4][i % 4] = p == i / 4 ? word[i % 4] : value[i / 4][i % 4];
  }
  store_column<BYTES> (work, g, x, y0 + first, value);
}

} // namespace

CfCode
convolve_long_init (int max_shared, CfStatus *status)
{
  const void *const kernels[2] = { (const void *) convolve_long_kernel<false>,
    (const void *) convolve_long_kernel<true> };
  CfCode code = CF_OK;

  for (int i = 0; code == CF_OK && i < 2; i++)
    code = cf_cuda_check (cudaFuncSetAttribute (kernels[i], cudaFuncAttributeMaxDynamicSharedMemorySize, max_shared),
        "loading the convolution's kernels", status);
  return code;
}

CfCode
convolve_long_launch (Work *work, const LongWeights &weights, cudaStream_t stream, CfStatus *status)
{
  const void *kernel = weights.bytes ? (const void *) convolve_long_kernel<true>
      : (const void *) convolve_long_kernel<false>;
  const size_t shared = weights.bytes ? shared_of<true> (work->h) : shared_of<false> (work->h);
  void *arguments[] = { work, const_cast<LongWeights *> (&weights) };

  convolve_assign_blocks (work, tile_w, warps * (weights.bytes ? own<true> : own<false>));
  return launch_kernel ("convolve long", kernel, work->blocks, threads, arguments, shared, work->pdl, stream, status);
}

} // namespace cf
