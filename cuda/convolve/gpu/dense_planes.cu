/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/dense_planes.cu: kernels of up to 31 x 33 taps that fit signed bytes, on planes of 8-bit samples whose
 * rows begin on 16 bytes.
 *
 * Map: as in dense.cu, 4 warps a block, a warp makes two groups of four rows of 128 samples of a tile. There are as
 * many blocks as the device holds at once, or as there are tiles, and each makes every so many tiles.
 *
 * Shared memory: two tiles of samples, rows of 160 bytes, and the fragments of the right operands, which the host
 * makes. The next tile is copied to shared memory while a tile's products are made. One barrier a tile: behind it the
 * tile has been copied, and all warps have read the other one.
 *
 * Bound by the tensor units. Times: docs/notes/convolve.md. */
#include "dense.cuh"
#include "direct.cuh"

namespace cf {

namespace {

using namespace dense;

constexpr int parts = 4, reach = 4 * parts - 1, row_vectors = 10, max_sets = 9, max_h = 4 * max_sets - 3;
constexpr int blocks_per_sm = 4, tile_vectors = (tile_h + 4 * (max_sets - 1)) * row_vectors;
constexpr int fragment_vectors = max_sets * parts * 16;

/* Where a tile is. */
struct Place {
  int index, x0, y0;
};

__device__ __forceinline__ Place
place_of (const DirectLaunch &launch, int tile)
{
  int i = 0;

  while (i + 1 < launch.n && tile >= launch.group[i + 1].first_block)
    i++;
  const DirectGroup &d = launch.group[i];
  const unsigned at = (unsigned) (tile - d.first_block), y = d.blocks_inverse ? __umulhi (at, d.blocks_inverse) : at;

  return Place { i, (int) (at - y * (unsigned) d.blocks_x) * tile_w, (int) y * tile_h };
}

/* Makes the vector from x on of row y, which is not inside the image, mapped by the border. */
__device__ __noinline__ uint4
edge_vector (const DirectLaunch &launch, int index, int x, int y)
{
  const DirectGroup &d = launch.group[index];
  const int row = edge_row (launch.border, y, d.height);

  if (d.clamps) {
    const uint4 v = *(const uint4 *) (d.in + (long long) row * d.in_pitch + min (max (x, 0), d.bytes - 16));
    const unsigned word = x < 0 ? __byte_perm (v.x, 0, 0) : x >= d.bytes ? __byte_perm (v.w, 0, 0x3333) : 0;

    return x < 0 || x >= d.bytes ? make_uint4 (word, word, word, word) : v;
  }
  return make_uint4 (edge_word_of (launch, index, x, row), edge_word_of (launch, index, x + 4, row),
      edge_word_of (launch, index, x + 8, row), edge_word_of (launch, index, x + 12, row));
}

/* Begins to fill a tile. */
__device__ __forceinline__ void
fill (const DirectLaunch &launch, const Place &p, int rows, uint4 *tile, int thread)
{
  const DirectGroup &d = launch.group[p.index];
  const int x0 = p.x0 - 16, y0 = p.y0 - launch.ay, bytes = d.bytes, last = d.height - 1, n = rows * row_vectors;
  const bool columns = x0 >= 0 && x0 + 16 * row_vectors <= bytes;
  const bool inside = columns && (launch.border == CF_BORDER_REPLICATE || (y0 >= 0 && y0 + rows <= d.height));

#pragma unroll
  for (int k = 0; k < (tile_vectors + threads - 1) / threads; k++) {
    const int i = k * threads + thread, r = i / row_vectors, x = x0 + 16 * (i - r * row_vectors), y = y0 + r;
    const int clamped = min (max (y, 0), last);

    if (i >= n)
      break;
    if (inside || (x >= 0 && x + 16 <= bytes && (y == clamped || launch.border == CF_BORDER_REPLICATE)))
      __pipeline_memcpy_async (tile + i, d.in + (long long) clamped * d.in_pitch + x, 16);
    else if (x < bytes + 16)
      tile[i] = edge_vector (launch, p.index, x, y);
  }
  __pipeline_commit ();
}

/* Copies the tile of a group that is not filtered. */
__device__ __noinline__ void
copy_tile_rows (const DirectGroup &d, int x, int y)
{
#pragma unroll 1
  for (int q = 0; q < groups && y + 4 * q < d.height && x < d.bytes; q++) {
    const uint8_t *from = d.in + (long long) (y + 4 * q) * d.in_pitch + x;
    uint8_t *to = d.out + (long long) (y + 4 * q) * d.out_pitch + x;

    if (x + 16 <= d.bytes)
      *(uint4 *) to = *(const uint4 *) from;
    else
      for (int i = 0; i < d.bytes - x; i++)
        to[i] = from[i];
  }
}

__global__ void __launch_bounds__ (threads, blocks_per_sm)
convolve_dense_planes_kernel (const __grid_constant__ DirectLaunch launch, const __grid_constant__ Layout l,
    const __grid_constant__ DenseWeights<dense_medium> weights)
{
  __shared__ uint4 tiles[2][tile_vectors], fragments[fragment_vectors];
  const int thread = (int) threadIdx.x, lane = thread & 31, row = 4 * groups * (thread >> 5) + (lane & 3);
  const int rows = tile_h + 4 * (l.sets - 1);
  constexpr int count = (fragment_vectors + threads - 1) / threads;
  Place p = place_of (launch, (int) blockIdx.x);
  uint4 v[count];

#pragma unroll
  for (int i = 0; i < count; i++)
    v[i] = read_argument (&weights.bytes[min (i * threads + thread, fragment_vectors - 1)]);
  griddep_wait ();
  fill (launch, p, rows, tiles[0], thread);
#pragma unroll
  for (int i = 0; i < count; i++)
    if (i * threads + thread < fragment_vectors)
      fragments[i * threads + thread] = v[i];
#pragma unroll 1
  for (int tile = (int) blockIdx.x, at = 0; tile < launch.blocks; at ^= 1) {
    const Place here = p;
    const DirectGroup &d = launch.group[here.index];
    const int x = here.x0 + 16 * (lane >> 2), y = here.y0 + row;
    int sum[4 * groups][4];
    unsigned word[4 * groups];

    __pipeline_wait_prior (0);
    __syncthreads ();
    tile += (int) gridDim.x;
    if (tile < launch.blocks) {
      p = place_of (launch, tile);
      fill (launch, p, rows, tiles[at ^ 1], thread);
    }
    if (!d.filtered) {
      copy_tile_rows (d, x, y);
      continue;
    }
#pragma unroll
    for (int i = 0; i < 16 * groups; i++)
      sum[i / 4][i % 4] = d.init[0];
    add_products<parts> (sum, (const uint8_t *) (tiles[at] + row * row_vectors) + 16 * (lane >> 2), l,
        (const uint2 *) fragments + lane);
    round_sums (launch.rounding, sum, word);
#pragma unroll
    for (int q = 0; q < groups; q++) {
      const uint4 v = make_uint4 (word[4 * q], word[4 * q + 1], word[4 * q + 2], word[4 * q + 3]);
      uint8_t *to = d.out + (long long) (y + 4 * q) * d.out_pitch + x;

      if (y + 4 * q < d.height && x + 16 <= d.bytes)
        *(uint4 *) to = v;
      else if (y + 4 * q < d.height && x < d.bytes)
        store_bytes (to, v, d.bytes - x);
    }
  }
}

const struct Variant {
  const void *kernel;
} variants[] = { { (const void *) convolve_dense_planes_kernel } };

} // namespace

CfCode
convolve_dense_planes_init (CfStatus *status)
{
  return convolve_load_variants (variants, 0, status);
}

bool
convolve_dense_planes_launch (const Work &work, const CfConvolution &c, Operands *operands, cudaStream_t stream,
    CfCode *code, CfStatus *status)
{
  Layout l = { 16 * row_vectors, 16, 0, 1, (c.h + 6) / 4, 0, { 0x4321, 0x6543 } };
  const void *kernel = variants[0].kernel;
  DirectLaunch launch;
  int steps[max_spreads], n_steps;
  void *arguments[] = { &launch, &l, operands->bytes };

  static_assert (dense_medium <= sizeof (Operands::bytes), "Operands are too small");
  if (work.limbs > 1 || c.bits != 8 || c.op != CF_CONVOLVE_LINEAR || work.rounding.rule == RULE_NONE || c.ax > reach
      || c.w - 1 - c.ax > reach || c.h > max_h || !convolve_fill_direct (work, &launch, steps, &n_steps))
    return false;
  for (int i = 0; i < launch.n; i++)
    if (!launch.group[i].vectors || (launch.group[i].filtered && launch.group[i].step != 1))
      return false;
  if (convolve_renew (operands, kernel, NULL, 0))
    convolve_fill_quads (c, 2 * parts, l.sets, 1, 0, (uint2 *) operands->bytes);
  deal_direct_blocks (&launch, tile_w, tile_h);
  *code = launch_kernel ("convolve dense planes", kernel, min (launch.blocks, blocks_per_sm * work.sms), threads,
      arguments, 0, work.pdl, stream, status);
  return true;
}

} // namespace cf
