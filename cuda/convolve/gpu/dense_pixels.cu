/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/dense_pixels.cu: kernels of up to 31 x 33 taps that fit signed bytes, on pixels of four 8-bit samples of
 * which three are filtered and one is copied, in rows that begin on 16 bytes.
 *
 * Map: as in dense.cu, 4 warps a block, a warp makes two groups of four rows of 128 pixels of a tile, plane after
 * plane, and keeps the results in registers until it stores whole pixels. There are as many blocks as the device holds
 * at once, or as there are tiles, and each makes every so many tiles.
 *
 * Shared memory: a tile of pixels, the same as four planes, rows of 160 bytes, and the fragments of the right operands,
 * which the host makes. A tile's pixels are split into planes between two barriers: before them they have been copied
 * and all warps have read the planes of the tile before; behind them the next tile is copied while products are made.
 *
 * Bound by the tensor units. Times: docs/notes/convolve.md. */
#include "dense.cuh"
#include "packed_rgb.cuh"

namespace cf {

namespace {

using namespace dense;

constexpr int row_vectors = 40, left = 16; /* left: pixels of a row before the block's own */

/* Returns how many blocks an SM holds. */
__host__ __device__ constexpr int
blocks_per_sm (int parts)
{
  return parts == 4 ? 2 : 3;
}

/* Makes the four pixels from x on of row y, which are not all inside the image, mapped by the border. */
__device__ __noinline__ uint4
edge_pixels (const Work &work, int index, int x, int y)
{
  const Group &g = work.group[index];
  const int row = edge_row (work.border, y, g.height);

  if (work.border != CF_BORDER_REPLICATE || g.width % 4 != 0)
    return load_edge_pixels (work, index, x, row);
  const uint8_t *from = g.in + (long long) row * g.in_pitch;

  return repeat_pixels (*(const uint4 *) (from + 4 * min (max (x, 0), g.width - 4)), x, g.width);
}

/* Begins to fill a tile of pixels. */
__device__ __forceinline__ void
fill (const Work &work, const Group &g, int x0, int y0, int rows, uint4 *tile, int thread)
{
  const bool inside = x0 >= 0 && x0 + 4 * row_vectors <= g.width
      && (work.border == CF_BORDER_REPLICATE || (y0 >= 0 && y0 + rows <= g.height));
  const int n = rows * row_vectors, last = g.height - 1, pitch = (int) g.in_pitch;

#pragma unroll 4
  for (int i = thread; i < n; i += threads) {
    const int r = i / row_vectors, x = x0 + 4 * (i - r * row_vectors), y = y0 + r, clamped = min (max (y, 0), last);

    if (inside || (x >= 0 && x + 4 <= g.width && (y == clamped || work.border == CF_BORDER_REPLICATE)))
      __pipeline_memcpy_async (tile + i, g.in + (long long) clamped * pitch + 4 * x, 16);
    else if (x < g.width + left)
      tile[i] = edge_pixels (work, g.index, x, y);
  }
  __pipeline_commit ();
}

/* Splits a tile of pixels into planes. */
__device__ __forceinline__ void
split (const Selectors &s, const uint4 *tile, int n, unsigned *planes, int thread)
{
#pragma unroll 4
  for (int i = thread; i < n; i += threads) {
    unsigned plane[4];

    unpack_all (s, tile[i], plane);
#pragma unroll
    for (int p = 0; p < 4; p++)
      planes[p * n + i] = plane[p];
  }
}

template<int PARTS, int SIZE> __global__ void __launch_bounds__ (threads, blocks_per_sm (PARTS))
convolve_dense_pixels_kernel (const __grid_constant__ Work work, const __grid_constant__ Layout l,
    const __grid_constant__ DenseWeights<SIZE> weights)
{
  extern __shared__ __align__ (16) uint8_t memory[];
  constexpr int count = (SIZE / 16 + threads - 1) / threads;
  const int thread = (int) threadIdx.x, lane = thread & 31, row = 4 * groups * (thread >> 5) + (lane & 3);
  const int n = l.rows * row_vectors, column = 16 * (lane >> 2);
  uint4 *pixels = (uint4 *) memory, *fragments = pixels + n;
  unsigned *planes = (unsigned *) (fragments + SIZE / 16);
  Group g = group_of_block (work, (int) blockIdx.x);
  int2 position = block_position (g, (int) blockIdx.x);
  uint4 v[count];

#pragma unroll
  for (int i = 0; i < count; i++)
    v[i] = read_argument (&weights.bytes[min (i * threads + thread, SIZE / 16 - 1)]);
  griddep_wait ();
  fill (work, g, position.x * tile_w - left, position.y * tile_h - work.ay, l.rows, pixels, thread);
#pragma unroll
  for (int i = 0; i < count; i++)
    if (i * threads + thread < SIZE / 16)
      fragments[i * threads + thread] = v[i];
#pragma unroll 1
  for (int tile = (int) blockIdx.x; tile < work.blocks;) {
    const Group &here = work.group[g.index];
    const Selectors s = selectors_of (here);
    const int x = position.x * tile_w + column, y = position.y * tile_h + row;
    unsigned word[3][4 * groups];

    __pipeline_wait_prior (0);
    __syncthreads ();
    split (s, pixels, n, planes, thread);
    __syncthreads ();
    tile += (int) gridDim.x;
    if (tile < work.blocks) {
      g = group_of_block (work, tile);
      position = block_position (g, tile);
      fill (work, g, position.x * tile_w - left, position.y * tile_h - work.ay, l.rows, pixels, thread);
    }
#pragma unroll
    for (int p = 0; p < 3; p++) {
      const int init = work.rounding.init[here.plane_chroma (p)];
      int sum[4 * groups][4];

#pragma unroll
      for (int i = 0; i < 16 * groups; i++)
        sum[i / 4][i % 4] = init;
      add_products<PARTS> (sum, (const uint8_t *) (planes + p * n) + row * l.pitch + column, l,
          (const uint2 *) fragments + lane);
      round_sums (work.rounding, sum, word[p]);
    }
#pragma unroll
    for (int q = 0; q < groups; q++) {
      const uint4 copied = *(const uint4 *) ((const uint8_t *) (planes + 3 * n) + (row + 4 * q + work.ay) * l.pitch
          + left + column);
      const unsigned rest[4] = { copied.x, copied.y, copied.z, copied.w };
      uint8_t *to = here.out + (long long) (y + 4 * q) * (int) here.out_pitch + 4 * x;

#pragma unroll
      for (int i = 0; i < 4 && y + 4 * q < here.height; i++) {
        const unsigned plane[4] = { word[0][4 * q + i], word[1][4 * q + i], word[2][4 * q + i], rest[i] };

        store_all<false> (here, s, to + 16 * i, x + 4 * i, plane);
      }
    }
  }
}

#define CF_DENSE_PIXELS(parts, size) { parts, size, (const void *) convolve_dense_pixels_kernel<parts, size> }
const struct Variant {
  int parts, size;
  const void *kernel;
} variants[] = { CF_DENSE_PIXELS (2, dense_small), CF_DENSE_PIXELS (4, dense_medium) };
#undef CF_DENSE_PIXELS

} // namespace

CfCode
convolve_dense_pixels_init (int max_shared, CfStatus *status)
{
  return convolve_load_variants (variants, max_shared, status);
}

bool
convolve_dense_pixels_launch (Work *work, const CfConvolution &c, Operands *operands, cudaStream_t stream, CfCode *code,
    CfStatus *status)
{
  Layout l = { 4 * row_vectors, left, 0, 4, (c.h + 6) / 4, 0, { 0x4321, 0x6543 } };
  const int beside = c.ax > c.w - 1 - c.ax ? c.ax : c.w - 1 - c.ax;
  void *arguments[] = { work, &l, operands->bytes };

  if (work->limbs > 1 || c.bits != 8 || c.op != CF_CONVOLVE_LINEAR || work->rounding.rule == RULE_NONE
      || !is_packed_rgb (*work, 16))
    return false;
  for (const Variant &v : variants)
    if (beside <= 4 * v.parts - 1 && l.sets * v.parts * 256 <= v.size) {
      if (convolve_renew (operands, v.kernel, NULL, 0))
        convolve_fill_quads (c, 2 * v.parts, l.sets, 1, 0, (uint2 *) operands->bytes);
      l.rows = tile_h + 4 * (l.sets - 1);
      convolve_assign_blocks (work, tile_w, tile_h);
      *code = launch_kernel ("convolve dense pixels", v.kernel, min (work->blocks, blocks_per_sm (v.parts) * work->sms),
          threads, arguments, (size_t) (2 * l.rows * row_vectors * 16 + v.size), work->pdl, stream, status);
      return true;
    }
  return false;
}

} // namespace cf
