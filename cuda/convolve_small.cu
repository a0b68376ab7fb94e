/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convolve_small.cu: kernels of up to 9 x 10 taps, and 3 x 3 magnitudes, on the
 * integer tensor units.
 *
 * Block: 4 warps, 128 x 32 pixels; warp i makes rows 8 i .. 8 i + 7. Shared
 * memory: the tile's planes, rows of 160 bytes from x0 - 16 on (whole 16-byte
 * vectors), and the weights; written before the one barrier, read after it.
 *
 * One mma makes 16 x 8 = 128 outputs of a row out of TWO rows of samples: row g
 * of its left operand is the 16 bytes from 8 g on of one row and those of the
 * next row behind them; column n of its right operand holds two rows of the
 * kernel, n bytes down. So h / 2 (up) mma make 128 outputs, a row's words are
 * loaded once and used for all output rows of the warp. Weights beyond signed
 * bytes are split into limbs of base 256, each of which repeats the work.
 *
 * Bound: bytes. 1080p takes 16,200 (h + 1) / 2 mma, at 152e9 a second 0.2 us for
 * 3 x 3. What counts is the latency of one load, a barrier, one store. */
#include "convolve_tile.cuh"

namespace cf {

namespace {

constexpr int warps = 4, rows_of_warp = 8, tile_w = 128, tile_h = warps * rows_of_warp;
constexpr int pitch = 160, left = 16;

template<int PAIRS> struct Rows {
  static constexpr int ALL = tile_h + 2 * PAIRS - 1; /* of the tile; the last meets zeros only where h is odd */
};

/* The right operand's fragments for the rows 2 p and 2 p + 1 of a limb. */
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

/* Adds a limb's sums to eight rows of 128 outputs. */
template<int PAIRS> __device__ __forceinline__ void
add_products (int (*sum)[4], const unsigned *samples, const unsigned (*b)[2])
{
  unsigned a[4] = { samples[0], samples[16] };

#pragma unroll
  for (int r = 0; r < rows_of_warp + 2 * (PAIRS - 1); r++) {
    a[2] = samples[(r + 1) * (pitch / 4)];
    a[3] = samples[(r + 1) * (pitch / 4) + 16];
#pragma unroll
    for (int p = 0; p < PAIRS; p++)
      if (r - 2 * p >= 0 && r - 2 * p < rows_of_warp)
        multiply<false, true> (sum[r - 2 * p], a, b[p][0], b[p][1]);
    a[0] = a[2];
    a[1] = a[3];
  }
}

/* Four sums of a row to the bytes of x, x + 1, x + 64, x + 65. */
template<typename F> __device__ __forceinline__ unsigned
round_row (const int *sum, F round)
{
  unsigned v = 0;

#pragma unroll
  for (int i = 0; i < 4; i++)
    v |= (unsigned) round (sum[i], i) << 8 * i;
  return v;
}

/* All sums of a plane to bytes. */
__device__ __forceinline__ void
round_plane (const Rounding &k, int chroma, const int (*sum)[4], const uint8_t *centre, unsigned *result)
{
  const int add = (int) k.add[chroma];
  const bool ties = k.ties[chroma];

  if (k.narrow && k.pow2) {
#pragma unroll
    for (int r = 0; r < rows_of_warp; r++)
      result[r] = round_row (sum[r], [&] (int s, int) { return round_shift (k, 2 * s + add, ties); });
  } else if (k.narrow) {
#pragma unroll
    for (int r = 0; r < rows_of_warp; r++)
      result[r] = round_row (sum[r], [&] (int s, int) { return round_narrow (k, 2 * s + add, ties); });
  } else {
#pragma unroll
    for (int r = 0; r < rows_of_warp; r++)
      result[r] = round_row (sum[r], [&] (int s, int i) {
        return round_sum (k, s, centre[r * pitch + (i & 1) + 32 * (i & 2)], chroma); });
  }
}

/* A plane's results for this warp; `samples` is the lane's first word. */
template<int PAIRS, bool MAGNITUDE> __device__ __forceinline__ void
make_plane (const Work &work, const Group &g, int p, const uint8_t *plane, const unsigned *weights, int lane, unsigned *result)
{
  const int group = lane >> 2, t = lane & 3;
  const unsigned *samples = (const unsigned *) (plane + left - 4) + 2 * group + t;
  int sum[rows_of_warp][4] = { }, other[MAGNITUDE ? rows_of_warp : 1][4] = { };
  unsigned b[PAIRS][2];

  for (int limb = MAGNITUDE ? 0 : work.limbs - 1; limb >= 0; limb--) {
    if (!MAGNITUDE && limb < work.limbs - 1)
#pragma unroll
      for (int i = 0; i < 4 * rows_of_warp; i++)
        sum[i / 4][i % 4] <<= 8;
    load_weights<PAIRS> (weights, limb, 8 + 4 * t - group + work.ax, b);
    add_products<PAIRS> (sum, samples, b);
  }
  if (!MAGNITUDE) {
    round_plane (work.rounding, g.chroma[p], sum, plane + work.ay * pitch + left + 8 * group + 2 * t, result);
    return;
  }
  load_weights<PAIRS> (weights, 1, 8 + 4 * t - group + work.ax, b);
  add_products<PAIRS> (other, samples, b);
#pragma unroll
  for (int r = 0; r < rows_of_warp; r++)
    result[r] = round_row (sum[r], [&] (int s, int i) { return round_magnitude (work.rounding, s, other[MAGNITUDE ? r : 0][i]); });
}

/* One plane of step 1: lanes in pairs put two rows' halves together to words. */
__device__ __forceinline__ void
store_words (const Work &work, const Group &g, int x, int y, const unsigned *result, int lane)
{
  const bool odd = lane & 1;

#pragma unroll
  for (int r = 0; r < rows_of_warp; r += 2)
#pragma unroll
    for (int side = 0; side < 2; side++) {
      const unsigned mine = __byte_perm (result[r], result[r + 1], side ? 0x7632 : 0x5410);
      const unsigned other = __shfl_xor_sync (~0u, mine, 1);
      const unsigned word = odd ? __byte_perm (mine, other, 0x3276) : __byte_perm (mine, other, 0x5410);
      const int at = x - (odd ? 2 : 0) + 64 * side, row = y + r + odd;

      if (row >= g.height || at >= g.width)
        continue;
      if (at + 3 < g.width && g.out_words)
        *(unsigned *) (g.out + row * g.out_pitch + at) = word;
      else
#pragma unroll 1
        for (int i = 0; i < 4; i++)
          store_pixel (work, g, at + i, row, word >> 8 * i & 0xff, 0, 0);
    }
}

template<int PLANES> __device__ __forceinline__ void
store_rows (const Work &work, const Group &g, int x, int y, const unsigned (*result)[rows_of_warp], int lane)
{
  if (PLANES == 1 && g.step == 1) {
    store_words (work, g, x, y, result[0], lane);
    return;
  }
#pragma unroll
  for (int r = 0; r < rows_of_warp; r++)
#pragma unroll
    for (int side = 0; side < 2; side++) {
      unsigned v[PLANES];

#pragma unroll
      for (int p = 0; p < PLANES; p++)
        v[p] = result[p][r] >> 16 * side & 0xffff;
      store_pair<PLANES> (work, g, x + 64 * side, y + r, v);
    }
}

template<int PAIRS, int PLANES, bool MAGNITUDE> __device__ __forceinline__ void
make_block (const Work &work, const Group &g, int x0, int y0, uint8_t *tile, const unsigned *weights, int thread)
{
  const int warp = thread >> 5, lane = thread & 31;
  const Tile t = { tile, pitch, Rows<PAIRS>::ALL, x0 - left, y0 - work.ay, x0 - work.ax, x0 + tile_w + work.w - 1 - work.ax };
  unsigned result[PLANES][rows_of_warp];

  fill_tile<PLANES> (work, g, t, 0, thread, 32 * warps);
  __pipeline_wait_prior (0);
  __syncthreads ();
#pragma unroll
  for (int p = 0; p < PLANES; p++)
    make_plane<PAIRS, MAGNITUDE> (work, g, p, tile + (p * t.rows + rows_of_warp * warp) * pitch, weights, lane, result[p]);
  store_rows<PLANES> (work, g, x0 + 8 * (lane >> 2) + 2 * (lane & 3), y0 + rows_of_warp * warp, result, lane);
}

template<int PAIRS, bool MAGNITUDE> __global__ void __launch_bounds__ (32 * warps)
convolve_small_kernel (const __grid_constant__ Work work, const __grid_constant__ SmallWeights small)
{
  __shared__ __align__ (16) uint8_t tile[3 * Rows<PAIRS>::ALL * pitch];
  __shared__ uint4 weights[max_limbs * 10 * 2];
  const Group &g = group_of_block (work, (int) blockIdx.x);
  const int block = (int) blockIdx.x - g.first_block, thread = (int) threadIdx.x;
  const int x0 = block % g.blocks_x * tile_w, y0 = block / g.blocks_x * tile_h;
  const uint4 *from = (const uint4 *) &small;

  if (g.planes == 0) {
    copy_group (work, g, x0, y0, tile_w, tile_h, thread, 32 * warps);
    return;
  }
  for (int i = thread; i < (MAGNITUDE ? 2 : work.limbs) * 20; i += 32 * warps)
    weights[i] = from[i];
  if (g.planes == 1)
    make_block<PAIRS, 1, MAGNITUDE> (work, g, x0, y0, tile, (const unsigned *) weights, thread);
  else if (g.planes == 2)
    make_block<PAIRS, 2, MAGNITUDE> (work, g, x0, y0, tile, (const unsigned *) weights, thread);
  else
    make_block<PAIRS, 3, MAGNITUDE> (work, g, x0, y0, tile, (const unsigned *) weights, thread);
}

typedef void (*Kernel) (Work, SmallWeights);

Kernel
kernel_of (int pairs, bool magnitude)
{
  static const Kernel kernels[] = {
    convolve_small_kernel<1, false>, convolve_small_kernel<2, false>, convolve_small_kernel<3, false>,
    convolve_small_kernel<4, false>, convolve_small_kernel<5, false>, convolve_small_kernel<2, true>,
  };

  return kernels[magnitude ? 5 : pairs - 1];
}

} // namespace

CfCode
convolve_small_init (CfStatus *status)
{
  CfCode code = CF_OK;

  for (int i = 1; code == CF_OK && i <= 6; i++) {
    cudaFuncAttributes attributes;

    code = cf_cuda_check (cudaFuncGetAttributes (&attributes, (const void *) kernel_of (i > 5 ? 2 : i, i > 5)),
        "loading the convolution's kernels", status);
  }
  return code;
}

CfCode
convolve_launch_small (Work *work, const SmallWeights &weights, cudaStream_t stream, CfStatus *status)
{
  deal_groups (work, tile_w, tile_h);
  kernel_of ((work->h + 1) / 2, work->rounding.op == CF_CONVOLVE_MAGNITUDE)
      <<<(unsigned) work->blocks, 32 * warps, 0, stream>>> (*work, weights);
  return cf_cuda_launched ("convolve dense small", status);
}

} // namespace cf
