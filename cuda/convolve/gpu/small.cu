/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/small.cu: kernels of up to 9 x 10 taps and 3 x 3 magnitudes at 8 bit, on the integer tensor units.
 *
 * Map: 4 warps a block, a block makes 128 x 32 pixels; warp i makes the rows 8 i .. 8 i + 7.
 *
 * Shared memory: the planes of the tile, rows of 160 bytes from x0 - 16 on (whole vectors of 16 bytes), and
 * the weights. Both are written before one barrier and read after it. Where a kernel filters plane after
 * plane (make_any), barriers separate the reads of one plane from the writes of the next.
 *
 * One mma makes 16 x 8 = 128 outputs of a row from TWO rows of samples: row g of its left operand is the 16
 * bytes from 8 g on of one row, followed by those of the next row; column n of its right operand holds two
 * kernel rows, shifted down by n bytes. So h / 2 (rounded up) mma make 128 outputs, and the words of a row
 * are loaded once and used for all output rows of the warp. Weights wider than a signed byte are split into
 * limbs of base 256, each of which repeats the products.
 *
 * Bound by instructions, about 20 a sample (rounding 7, storing 4, filling the tile 4), and at 1080p by the
 * life of one block, as all blocks run at once. The floor is the bytes. Times: docs/notes/convolve.md. */
#include "tile.cuh"
#include "sums.cuh"
#include "store.cuh"

namespace cf {

namespace {

constexpr int warps = 4, rows_of_warp = 8, tile_w = 128, tile_h = warps * rows_of_warp;
constexpr int pitch = 160, left = 16;

/* Rows and bytes of the tile for kernels of up to 2 PAIRS rows. */
template<int PAIRS> struct Rows {
  static constexpr int ALL = tile_h + 2 * PAIRS - 1; /* of the tile; with odd h the last one meets only zeros */
  /* four planes, or one plane and the results of make_any () */
  static constexpr int ANY_BYTES = ALL * pitch + 3 * rows_of_warp * 32 * warps * 4;
  static constexpr int BYTES = 4 * ALL * pitch > ANY_BYTES ? 4 * ALL * pitch : ANY_BYTES;
};

/* Makes the fragments of the right operands of a limb; b[p]: the kernel rows 2 p and 2 p + 1. */
template<int PAIRS> __device__ __forceinline__ void
load_weights (const unsigned *weights, int limb, int start, unsigned (*b)[2])
{
  const int word = start >> 2, bit = 8 * (start & 3);

#pragma unroll
  for (int r = 0; r < 2 * PAIRS; r++) {
    const unsigned *row = weights + (limb * 10 + r) * 8 + word;

    b[r >> 1][r & 1] = __funnelshift_r (row[0], row[1], bit);
  }
}

/* Adds the products of a limb to eight rows of 128 outputs. Even rows of samples are in a[0], a[1] and odd
 * ones in a[2], a[3]; where a pair begins with an odd row, the two kernel rows are exchanged instead. */
template<int PAIRS> __device__ __forceinline__ void
add_products (int (*sum)[4], const unsigned *samples, const unsigned (*b)[2])
{
  unsigned a[4] = { samples[0], samples[16], 0, 0 };

#pragma unroll
  for (int r = 0; r < rows_of_warp + 2 * (PAIRS - 1); r++) {
    const int next = r & 1 ? 0 : 2;

    a[next] = samples[(r + 1) * (pitch / 4)];
    a[next + 1] = samples[(r + 1) * (pitch / 4) + 16];
#pragma unroll
    for (int p = 0; p < PAIRS; p++)
      if (r - 2 * p >= 0 && r - 2 * p < rows_of_warp)
        multiply<true> (sum[r - 2 * p], sum[r - 2 * p], a, b[p][r & 1], b[p][~r & 1]);
  }
}

/* Makes the warp's results of a plane, the bytes of x, x + 1, x + 64, x + 65 of each row. */
template<int PAIRS, bool MAGNITUDE> __device__ __forceinline__ void
make_plane (const Work &work, const Group &g, int p, const uint8_t *plane, const unsigned *weights, int lane,
    unsigned *result)
{
  const int group = lane >> 2, in_group = lane & 3;
  const unsigned *samples = (const unsigned *) (plane + left - 4) + 2 * group + in_group;
  int sum[rows_of_warp][4] = { }, other[MAGNITUDE ? rows_of_warp : 1][4] = { };
  unsigned b[PAIRS][2];

  for (int limb = MAGNITUDE ? 0 : work.limbs - 1; limb >= 0; limb--) {
    if (!MAGNITUDE && limb < work.limbs - 1)
#pragma unroll
      for (int i = 0; i < 4 * rows_of_warp; i++)
        sum[i / 4][i % 4] <<= 8;
    load_weights<PAIRS> (weights, limb, 8 + 4 * in_group - group + work.ax, b);
    add_products<PAIRS> (sum, samples, b);
  }
  if (!MAGNITUDE) {
    const uint8_t *centre = plane + work.ay * pitch + left + 8 * group + 2 * in_group;

    round_words<rows_of_warp, 64, true> (work.rounding, g.plane_chroma (p), sum, result,
        [&] (int r) { return centre + r * pitch; });
    return;
  }
  load_weights<PAIRS> (weights, 1, 8 + 4 * in_group - group + work.ax, b);
  add_products<PAIRS> (other, samples, b);
#pragma unroll
  for (int r = 0; r < rows_of_warp; r++) {
    result[r] = 0;
#pragma unroll
    for (int i = 0; i < 4; i++)
      result[r] |= (unsigned) round_magnitude (work.rounding, sum[r][i], other[MAGNITUDE ? r : 0][i]) << 8 * i;
  }
}

/* Stores the results of a plane of step 1: two neighbouring lanes exchange halves of two rows, so that each
 * stores words of one row. WHOLE: the block is inside the image and may store words. */
template<bool WHOLE> __device__ __forceinline__ void
store_words (const Work &work, const Group &g, int x, int y, const unsigned *result, int lane)
{
  const int odd = lane & 1, at = x - 2 * odd;
  const unsigned pick = odd ? 0x3276 : 0x5410;
  const long long two_rows = 2 * g.out_pitch;
  uint8_t *to = g.out + (y + odd) * g.out_pitch + at;

#pragma unroll
  for (int r = 0; r < rows_of_warp; r += 2, to += two_rows)
#pragma unroll
    for (int side = 0; side < 2; side++) {
      const unsigned mine = __byte_perm (result[r], result[r + 1], side ? 0x7632 : 0x5410);
      const unsigned word = __byte_perm (mine, __shfl_xor_sync (~0u, mine, 1), pick);

      if (WHOLE || (y + r + odd < g.height && at + 64 * side + 3 < g.width && g.out_words))
        *(unsigned *) (to + 64 * side) = word;
      else if (y + r + odd < g.height)
        store_samples (work, g.index, at + 64 * side, y + r + odd, word);
    }
}

/* Stores the results of pixels of STEP samples. `fourth`: address in the tile of the fourth samples of the
 * lane's first two pixels. */
template<int STEP, int PLANES, bool WHOLE> __device__ __forceinline__ void
store_rows (const Work &work, const Group &g, int x, int y, const unsigned (*result)[rows_of_warp],
    const uint8_t *fourth)
{
  const Assembly a = assembly_of (work, g);
  uint8_t *to = g.out + y * g.out_pitch + x * STEP;

#pragma unroll
  for (int r = 0; r < rows_of_warp; r++, to += g.out_pitch)
#pragma unroll
    for (int side = 0; side < 2; side++) {
      uint2 base = make_uint2 (a.mid, a.mid);
      unsigned v[PLANES];

      if (STEP == 4 && a.copies) {
        const unsigned two = *(const uint16_t *) (fourth + r * pitch + 64 * side);

        base = make_uint2 (__byte_perm (two, 0, 0x0000), __byte_perm (two, 0, 0x1111));
      }
#pragma unroll
      for (int p = 0; p < PLANES; p++)
        v[p] = side ? result[p][r] >> 16 : result[p][r];
      if (WHOLE || (a.words && x + 64 * side + 1 < g.width && y + r < g.height))
        put_pair<PLANES> (a, STEP, to + 64 * side * STEP, base, v);
      else if (y + r < g.height)
        store_pair_samples (work, g.index, x + 64 * side, y + r, v[0], v[PLANES > 1 ? 1 : 0], v[PLANES > 2 ? 2 : 0]);
    }
}

/* Filters the block with all PLANES planes of pixels of STEP samples in the tile at once. */
template<int PAIRS, int STEP, int PLANES, bool MAGNITUDE> __device__ __forceinline__ void
make_block (const Work &work, const Group &g, int x0, int y0, uint8_t *tile, int *rows, const unsigned *weights,
    int thread)
{
  hide (x0);
  hide (y0);
  hide (thread);
  const int warp = thread >> 5, lane = thread & 31;
  const Tile t = tile_of (work, g, tile, rows, pitch, Rows<PAIRS>::ALL, left, x0, y0, thread);
  unsigned result[PLANES][rows_of_warp];

  __syncthreads ();
  fill_tile<STEP, PLANES, true> (work, g, t, 0, thread, 32 * warps);
  __pipeline_wait_prior (0);
  __syncthreads ();
#pragma unroll
  for (int p = 0; p < PLANES; p++)
    make_plane<PAIRS, MAGNITUDE> (work, g, p, tile + (p * t.rows + rows_of_warp * warp) * pitch, weights, lane,
        result[p]);
  const int x = x0 + 8 * (lane >> 2) + 2 * (lane & 3), y = y0 + rows_of_warp * warp;

  const bool whole = g.out_words && x0 + tile_w <= g.width && y0 + tile_h <= g.height;

  if constexpr (STEP == 1) {
    if (whole)
      store_words<true> (work, g, x, y, result[0], lane);
    else
      store_words<false> (work, g, x, y, result[0], lane);
  } else {
    const uint8_t *fourth = tile + (3 * t.rows + rows_of_warp * warp + work.ay) * pitch + left + x - x0;

    if (whole)
      store_rows<STEP, PLANES, true> (work, g, x, y, result, fourth);
    else
      store_rows<STEP, PLANES, false> (work, g, x, y, result, fourth);
  }
}

/* Filters the block for any pixels, one plane after the other. The results stay in shared memory until all
 * planes are done; each thread reads only what it wrote. */
template<int PAIRS, bool MAGNITUDE> __device__ __forceinline__ void
make_any (const Work &work, const Group &g, int x0, int y0, uint8_t *tile, int *rows, const unsigned *weights,
    int thread)
{
  hide (x0);
  hide (y0);
  hide (thread);
  const int warp = thread >> 5, lane = thread & 31, x = x0 + 8 * (lane >> 2) + 2 * (lane & 3),
      y = y0 + rows_of_warp * warp;
  const Tile t = tile_of (work, g, tile, rows, pitch, Rows<PAIRS>::ALL, left, x0, y0, thread);
  const Assembly a = assembly_of (work, g);
  unsigned *results = (unsigned *) (tile + t.rows * pitch) + thread;

#pragma unroll 1
  for (int p = 0; p < g.planes; p++) {
    unsigned result[rows_of_warp];

    __syncthreads ();
    fill_tile<0, 1> (work, g, t, p, thread, 32 * warps);
    __pipeline_wait_prior (0);
    __syncthreads ();
    make_plane<PAIRS, MAGNITUDE> (work, g, p, tile + rows_of_warp * warp * pitch, weights, lane, result);
#pragma unroll
    for (int r = 0; r < rows_of_warp; r++)
      results[(p * rows_of_warp + r) * 32 * warps] = result[r];
  }
#pragma unroll 1
  for (int r = 0; r < 2 * rows_of_warp; r++) {
    unsigned v[3];

#pragma unroll
    for (int p = 0; p < 3; p++)
      v[p] = results[((p < g.planes ? p : 0) * rows_of_warp + r / 2) * 32 * warps] >> 16 * (r & 1) & 0xffff;
    store_pair<3> (work, g, a, x + 64 * (r & 1), y + r / 2, v);
  }
}

/* The pixels a kernel is for: step 1; step 4 with three planes filtered; any. A kernel with less code waits
 * less for instructions. */
enum Pixels { PLANAR, WORDS, ANY };

template<int PAIRS, int PIXELS, bool MAGNITUDE> __global__ void __launch_bounds__ (32 * warps, PIXELS == PLANAR ? 8 : 5)
convolve_small_kernel (const __grid_constant__ Work work, const __grid_constant__ SmallWeights small)
{
  __shared__ __align__ (16) uint8_t tile[PIXELS == PLANAR ? Rows<PAIRS>::ALL * pitch : Rows<PAIRS>::BYTES];
  __shared__ uint4 staged[max_limbs * 10 * 2];
  __shared__ int rows[Rows<PAIRS>::ALL];
  const Group g = group_of_block (work, (int) blockIdx.x);
  const int2 position = block_position (g, (int) blockIdx.x);
  const int thread = (int) threadIdx.x, x0 = position.x * tile_w, y0 = position.y * tile_h;
  const uint4 *from = (const uint4 *) &small;
  const unsigned *weights = (const unsigned *) staged;

  if (g.planes == 0) {
    griddep_wait ();
    copy_group (work, g, x0, y0, tile_w, tile_h, thread, 32 * warps);
    return;
  }
#pragma unroll 1
  for (int i = thread; i < (MAGNITUDE ? 2 : work.limbs) * 20; i += 32 * warps)
    staged[i] = from[i];
  griddep_wait ();
  if (PIXELS == PLANAR || (PIXELS == ANY && g.step == 1))
    make_block<PAIRS, 1, 1, MAGNITUDE> (work, g, x0, y0, tile, rows, weights, thread);
  else if (PIXELS == WORDS || (g.step == 4 && g.planes == 3))
    make_block<PAIRS, 4, 3, MAGNITUDE> (work, g, x0, y0, tile, rows, weights, thread);
  else if (g.step == 2 && g.planes == 2)
    make_block<PAIRS, 2, 2, MAGNITUDE> (work, g, x0, y0, tile, rows, weights, thread);
  else if (g.step == 3 && g.planes == 3)
    make_block<PAIRS, 3, 3, MAGNITUDE> (work, g, x0, y0, tile, rows, weights, thread);
  else
    make_any<PAIRS, MAGNITUDE> (work, g, x0, y0, tile, rows, weights, thread);
}

#define CF_SMALL(pairs) \
  { (const void *) convolve_small_kernel<pairs, PLANAR, false> }, \
  { (const void *) convolve_small_kernel<pairs, WORDS, false> }, \
  { (const void *) convolve_small_kernel<pairs, ANY, false> }
const Kernel kernels[] = { CF_SMALL (1), CF_SMALL (2), CF_SMALL (3), CF_SMALL (4), CF_SMALL (5),
  { (const void *) convolve_small_kernel<2, ANY, true> } };
#undef CF_SMALL
constexpr int magnitude = 15; /* its index */

Pixels
pixels_of (const Work &work)
{
  bool planar = true, words = true;

  for (int i = 0; i < work.n; i++) {
    planar = planar && work.group[i].step == 1;
    words = words && work.group[i].step == 4 && work.group[i].planes == 3;
  }
  return planar ? PLANAR : words ? WORDS : ANY;
}

} // namespace

CfCode
convolve_load_small (bool *pdl, CfStatus *status)
{
  cudaFuncAttributes attributes = { };
  const CfCode code = cf_cuda_check (cudaFuncGetAttributes (&attributes, kernels[0].kernel),
      "loading the convolution's kernels", status);

  /* griddep_wait () depends on what the kernel was compiled for, not on the device that runs it */
  *pdl = attributes.ptxVersion >= 90;
  return code == CF_OK ? convolve_load<kernels, false> (0, status) : code;
}

bool
convolve_small_launch (Frame *f, const SmallWeights &weights)
{
  const int v = f->c.op == CF_CONVOLVE_MAGNITUDE ? magnitude : 3 * ((f->work.h + 1) / 2 - 1) + pixels_of (f->work);

  convolve_assign_blocks (&f->work, tile_w, tile_h);
  return f->launch ("convolve small", kernels[v].kernel, f->work.blocks, 32 * warps, 0, &f->work, &weights);
}

} // namespace cf
