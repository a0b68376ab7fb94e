/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/separable.cu: separable kernels (gauss, box, unsharp and others found to be separable) at
 * 8 bit, both passes on the integer tensor units in one launch.
 *
 * Map: 8 warps a block, a block makes 128 x 64 pixels, plane after plane.
 *
 * Shared memory: the tile of samples, the results T of the first pass, and the results of the planes. T has
 * 16 bits a sample and is transposed: word q of column x holds the low bytes of rows 4 q .. 4 q + 3, a second
 * array the high bytes. Columns are an odd number of words apart, so both passes have two lanes a bank at
 * most. Barriers separate writing and reading of tile and T; a thread reads only its own results.
 *
 * Row pass: a warp takes four rows at a time; one mma makes 128 outputs of a row, as in dense.cu. Column
 * pass: the left operand is the column's weights, 16 rows of outputs by 32 rows of T; the right operand is
 * T, 32 rows by 8 columns, low and high bytes in separate products: S = low + 256 high. The eight columns of
 * an mma are chosen so that a lane gets eight neighbours and stores 8 bytes.
 *
 * So 1 + 2 mma make 128 outputs up to 17 x 17, 2 + 4 up to 49: the time hardly depends on the size. Bound by
 * latency: half of the issue slots are busy, two lanes share a bank, and the rest is waiting at the three
 * barriers of a plane. Times: docs/notes/convolve.md. */
#include "tile.cuh"
#include "sums.cuh"
#include "store.cuh"

namespace cf {

namespace {

constexpr int warps = 8, threads = 32 * warps, tile_w = 128, tile_h = 64;
constexpr int strip_w = 32, strip_h = 16; /* outputs that a warp makes at a time in the column pass */
constexpr int across = tile_w / strip_w, strips = across * (tile_h / strip_h) / warps;

/* Sizes of a launch's shared memory. */
struct Layout {
  int pitch, left, rows; /* of the tile */
  int column_words;      /* words from a column of T to the next */
};

/* The parts of the block's shared memory; low, high: T. */
struct Shared {
  uint8_t *tile;
  unsigned *low, *high, *results;
  int *rows;
};

/* Returns the four weights from byte `start` of an axis on. */
__device__ __forceinline__ unsigned
four_weights (const unsigned *axis, int start)
{
  return __funnelshift_r (axis[start >> 2], axis[(start >> 2) + 1], 8 * (start & 3));
}

/* Row pass: filters all rows of the tile and writes T. */
template<int ROW_STEPS, bool SIGNED> __device__ __forceinline__ void
filter_rows (const Layout &l, const unsigned *samples, const unsigned *axis, int pad, unsigned *low, unsigned *high,
    int thread)
{
  const int lane = thread & 31, group = lane >> 2, in_group = lane & 3;
  unsigned b[ROW_STEPS][2];

#pragma unroll
  for (int s = 0; s < 2 * ROW_STEPS; s++)
    b[s / 2][s % 2] = four_weights (axis, 32 + 16 * s + 4 * in_group - group - pad);
#pragma unroll 2
  for (int q = thread >> 5; q < l.rows / 4; q += warps) {
    int sum[4][4] = { };

#pragma unroll
    for (int r = 0; r < 4; r++) {
      const unsigned *row = samples + (4 * q + r) * (l.pitch / 4) + 2 * group + in_group;

#pragma unroll
      for (int s = 0; s < ROW_STEPS; s++) {
        const unsigned a[4] = { row[8 * s], row[8 * s + 16], row[8 * s + 4], row[8 * s + 20] };

        multiply<false, SIGNED> (sum[r], a, b[s][0], b[s][1]);
      }
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int x = 8 * group + 2 * in_group + (i & 1) + 32 * (i & 2);
      const unsigned a = __byte_perm ((unsigned) sum[0][i], (unsigned) sum[1][i], 0x5140);
      const unsigned c = __byte_perm ((unsigned) sum[2][i], (unsigned) sum[3][i], 0x5140);

      low[x * l.column_words + q] = __byte_perm (a, c, 0x5410);
      high[x * l.column_words + q] = __byte_perm (a, c, 0x7632);
    }
  }
}

/* Column pass: makes the sums of a strip. With g = lane / 4 and t = lane % 4, sum[j] are those of the columns
 * x = 8 t + 2 j and x + 1 in row g ([0], [1]) and in row g + 8 ([2], [3]). */
template<int STEPS, bool SIGNED> __device__ __forceinline__ void
filter_columns (const unsigned *low, const unsigned *high, const unsigned (*a)[4], int column_words, int lane,
    int (*sum)[4])
{
  const int n = lane >> 2, in_group = lane & 3;

#pragma unroll
  for (int j = 0; j < 4; j++) {
    const int at = (8 * (n >> 1) + 2 * j + (n & 1)) * column_words + in_group;
    int top[4] = { };

#pragma unroll
    for (int s = 0; s < STEPS; s++) {
      multiply<SIGNED, false> (sum[j], a[s], low[at + 8 * s], low[at + 8 * s + 4]);
      multiply<SIGNED, SIGNED> (top, a[s], high[at + 8 * s], high[at + 8 * s + 4]);
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
      sum[j][i] += top[i] << 8;
  }
}

/* Stores eight pixels of a row from x on. whole: the block is inside the image and may store words. */
template<int PLANES> __device__ __forceinline__ void
store_eight (const Work &work, const Group &g, const Assembly &a, bool whole, int x, int y, const unsigned (*word)[2])
{
  if (g.step == 1 && g.out_words && y < g.height && x + 7 < g.width) {
    unsigned *to = (unsigned *) (g.out + y * g.out_pitch + x);

    to[0] = word[0][0];
    to[1] = word[0][1];
    return;
  }
  uint8_t *to = g.out + y * g.out_pitch + x * g.step;
  const uint8_t *from = g.in + y * g.in_pitch + x * 4;

#pragma unroll
  for (int i = 0; i < 4; i++) {
    unsigned v[PLANES];

#pragma unroll
    for (int p = 0; p < PLANES; p++)
      v[p] = word[p][i / 2] >> 16 * (i % 2) & 0xffff;
    if (whole)
      put_pair<PLANES> (a, g.step, to + 2 * i * g.step, base_of (a, from + 8 * i), v);
    else
      store_pair<PLANES> (work, g, a, x + 2 * i, y, v);
  }
}

/* Filters the planes of the block. A thread's results stay in shared memory until all planes are done. */
template<int ROW_STEPS, int STEPS, bool SIGNED> __device__ __forceinline__ void
make_planes (const Work &work, const Group &g, const Layout &l, const unsigned *axes, const Shared &m, int x0, int y0,
    int thread)
{
  const int lane = thread & 31, group = lane >> 2, in_group = lane & 3, left = (work.ax + 3) & ~3;
  const Tile t = tile_of (work, g, m.tile, m.rows, l.pitch, l.rows, l.left, x0, y0, thread);

#pragma unroll 1
  for (int p = 0; p < g.planes; p++) {
    unsigned a[STEPS][4];

    __syncthreads ();
    fill_tile<0, 1> (work, g, t, p, thread, threads);
    __pipeline_wait_prior (0);
    __syncthreads ();
    filter_rows<ROW_STEPS, SIGNED> (l, (const unsigned *) (m.tile + l.left - left), axes, left - work.ax, m.low, m.high,
        thread);
    __syncthreads ();
#pragma unroll
    for (int s = 0; s < 4 * STEPS; s++)
      a[s / 4][s % 4] = four_weights (axes + 36,
          32 + 32 * (s / 4) + 16 * (s % 4 / 2) - 8 * (s % 2) + 4 * in_group - group);
#pragma unroll
    for (int i = 0; i < strips; i++) {
      const int strip = (thread >> 5) + i * warps, x = strip % across * strip_w, y = strip / across * strip_h;
      const int at = x * l.column_words + y / 4;
      int sum[4][4] = { };
      unsigned bytes[4];

      filter_columns<STEPS, SIGNED> (m.low + at, m.high + at, a, l.column_words, lane, sum);
      const uint8_t *centre = m.tile + (y + group + work.ay) * l.pitch + l.left + x + 8 * in_group;
      const int row[4][4] = { { sum[0][0], sum[0][1], sum[1][0], sum[1][1] },
        { sum[2][0], sum[2][1], sum[3][0], sum[3][1] }, { sum[0][2], sum[0][3], sum[1][2], sum[1][3] },
        { sum[2][2], sum[2][3], sum[3][2], sum[3][3] } };

      /* eight neighbours of row `group` and of the row eight below it */
      round_words<4, 2, false> (work.rounding, g.plane_chroma (p), row, bytes,
          [&] (int k) { return centre + 8 * (k / 2) * l.pitch + 4 * (k % 2); });
#pragma unroll
      for (int k = 0; k < 4; k++)
        m.results[((i * 3 + p) * 4 + k) * threads + thread] = bytes[k];
    }
  }
}

/* Stores the results of the block, eight pixels of each of a thread's rows. */
__device__ __forceinline__ void
store_planes (const Work &work, const Group &g, const unsigned *results, int x0, int y0, int thread)
{
  const Assembly a = assembly_of (work, g);
  const bool whole = a.words && x0 + tile_w <= g.width && y0 + tile_h <= g.height;

#pragma unroll 2
  for (int i = 0; i < 2 * strips; i++) {
    const int strip = (thread >> 5) + i / 2 * warps;
    const int x = x0 + strip % across * strip_w + 8 * (thread & 3);
    const int y = y0 + strip / across * strip_h + (thread >> 2 & 7) + 8 * (i % 2);
    unsigned word[3][2];

#pragma unroll
    for (int k = 0; k < 6; k++) {
      const int plane = k / 2 < g.planes ? k / 2 : 0;

      word[k / 2][k % 2] = results[((i / 2 * 3 + plane) * 4 + i % 2 * 2 + k % 2) * threads + thread];
    }
    store_eight<3> (work, g, a, whole, x, y, word);
  }
}

template<int ROW_STEPS, int STEPS, bool SIGNED> __global__ void __launch_bounds__ (threads)
convolve_separable_kernel (const __grid_constant__ Work work, const __grid_constant__ Layout l,
    const __grid_constant__ AxisWeights weights)
{
  extern __shared__ __align__ (16) uint8_t tile[];
  __shared__ uint4 axes[18];
  __shared__ int rows[max_rows];
  const Group g = group_of_block (work, (int) blockIdx.x);
  const int2 position = block_position (g, (int) blockIdx.x);
  const int thread = (int) threadIdx.x, x0 = position.x * tile_w, y0 = position.y * tile_h;
  unsigned *low = (unsigned *) (tile + l.rows * l.pitch), *high = low + tile_w * l.column_words;
  const Shared m = { tile, low, high, high + tile_w * l.column_words, rows };

  if (g.planes == 0) {
    griddep_wait ();
    copy_group (work, g, x0, y0, tile_w, tile_h, thread, threads);
    return;
  }
  if (thread < 18)
    axes[thread] = ((const uint4 *) &weights)[thread];
  griddep_wait ();
  make_planes<ROW_STEPS, STEPS, SIGNED> (work, g, l, (const unsigned *) axes, m, x0, y0, thread);
  store_planes (work, g, m.results, x0, y0, thread);
}

/* A kernel with more steps than needed makes the same sums: the weights of the others are 0. */
const struct Variant {
  int row_steps, column_steps;
  bool is_signed;
  const void *kernel;
} variants[] = {
  { 1, 1, false, (const void *) convolve_separable_kernel<1, 1, false> },
  { 1, 2, false, (const void *) convolve_separable_kernel<1, 2, false> },
  { 2, 2, false, (const void *) convolve_separable_kernel<2, 2, false> },
  { 3, 3, false, (const void *) convolve_separable_kernel<3, 3, false> },
  { 1, 1, true, (const void *) convolve_separable_kernel<1, 1, true> },
  { 3, 3, true, (const void *) convolve_separable_kernel<3, 3, true> },
};

const Variant &
variant_of (int w, int h, int ax, bool is_signed)
{
  const int row_steps = (8 + w - 1 + ((ax + 3) & ~3) - ax + 31) / 32, column_steps = (strip_h + h - 1 + 31) / 32;
  int i = 0;

  while (variants[i].is_signed != is_signed || variants[i].row_steps < row_steps
      || variants[i].column_steps < column_steps)
    i++;
  return variants[i];
}

Layout
layout_of (const Variant &v, int h, int ax)
{
  const int left = (ax + 15) & ~15;

  return Layout { (left + tile_w + 24 + 32 * (v.row_steps - 1) + 15) & ~15, left, (tile_h + h - 1 + 3) & ~3,
    (tile_h - strip_h + 32 * v.column_steps) / 4 | 1 };
}

size_t
shared_of (const Layout &l)
{
  return (size_t) (l.rows * l.pitch + 2 * 4 * tile_w * l.column_words + strips * 3 * 4 * threads * 4);
}

} // namespace

CfCode
convolve_separable_init (int max_shared, CfStatus *status)
{
  return convolve_load_variants (variants, max_shared, status);
}

bool
convolve_separable_fits (const CfConvolution &c, bool is_signed, int max_shared)
{
  return (int) shared_of (layout_of (variant_of (c.w, c.h, c.ax, is_signed), c.h, c.ax)) <= max_shared - fixed_shared;
}

CfCode
convolve_separable_launch (Work *work, const AxisWeights &weights, bool is_signed, cudaStream_t stream,
    CfStatus *status)
{
  const Variant &v = variant_of (work->w, work->h, work->ax, is_signed);
  Layout l = layout_of (v, work->h, work->ax);
  void *arguments[] = { work, &l, const_cast<AxisWeights *> (&weights) };

  convolve_assign_blocks (work, tile_w, tile_h);
  return launch_kernel ("convolve separable", v.kernel, work->blocks, threads, arguments, shared_of (l), work->pdl,
      stream, status);
}

} // namespace cf
