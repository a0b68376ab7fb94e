/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/packed_quads.cu: the kernels of quads.cu for pixels of four bytes of which three are filtered, which
 * they split into planes: kernels of up to 7 x 9 taps that fit signed bytes.
 *
 * Map: 4 warps a block, a warp makes four groups of four rows of 64 pixels. Lane 4 g + t loads the eight pixels from
 * 8 g on and four on each side, of row t of every four rows (a set), and splits them. As in quads.cu, one mma makes 128
 * outputs of a plane, four rows of 32 pixels, from a set and 8 columns of the window. A lane ends up with 8 neighbours
 * of row t in two mma for each of the three sets that meet an output: 3 mma for 128 outputs of a plane. Sets begin
 * four rows above an output, so a lane has the fourth bytes of its pixels in the middle one.
 *
 * No shared memory, no barriers. A set is loaded while the products of an earlier one are made.
 *
 * Bound by latency at 1080p, by loads and stores at 4K. Times: docs/notes/convolve.md. */
#include "packed_rgb.cuh"
#include "sums.cuh"

namespace cf {

namespace {

constexpr int warps = 4, threads = 32 * warps, groups = 4, tile_w = 64, tile_h = 4 * groups * warps;
constexpr int sets = 3, all_sets = groups + sets - 1;
constexpr int reach = 3, rows_above = 4; /* columns to each side, and rows above and below, that taps may reach */

struct PackedFragments {
  uint2 of[sets][32];
};

/* Splits a row's pixels and cuts the parts of its windows: p[k][n][0] are four samples of plane k from 4 n - 3 on, and
 * p[k][n][1] those two further. */
__device__ __forceinline__ void
cut_planes (const Selectors &s, const uint4 *w, unsigned (*p)[3][2])
{
  unsigned plane[3][4];

#pragma unroll
  for (int i = 0; i < 4; i++)
    unpack (s, w[i], plane[0][i], plane[1][i], plane[2][i]);
#pragma unroll
  for (int i = 0; i < 9; i++) {
    const unsigned *from = plane[i / 3] + i % 3;

    p[i / 3][i % 3][0] = __byte_perm (from[0], from[1], 0x4321);
    p[i / 3][i % 3][1] = __byte_perm (from[0], from[1], 0x6543);
  }
}

/* Stores a lane's eight pixels, all inside the row. Two lanes beside each other exchange four, so that each of the two
 * stores writes whole sectors of memory. odd: the lane is the right one. */
__device__ __forceinline__ void
store_pair_of_lanes (const Group &g, const Selectors &s, int x, int y, bool odd, const unsigned (*word)[3],
    const uint4 *input)
{
  uint8_t *to = g.out + (long long) y * g.out_pitch + 4 * (odd ? x - 4 : x);
  uint4 pixels[2], other;

#pragma unroll
  for (int i = 0; i < 2; i++)
    pixels[i] = pack_four (s, word[i], input[i]);
  other = odd ? pixels[0] : pixels[1];
  other.x = __shfl_xor_sync (~0u, other.x, 4);
  other.y = __shfl_xor_sync (~0u, other.y, 4);
  other.z = __shfl_xor_sync (~0u, other.z, 4);
  other.w = __shfl_xor_sync (~0u, other.w, 4);
  if (odd)
    pixels[0] = other;
  else
    pixels[1] = other;
  if (y < g.height) {
    *(uint4 *) to = pixels[0];
    *(uint4 *) (to + 32) = pixels[1];
  }
}

/* Filters a warp's rows. x: the lane's first pixel; lane_row: the image's row of the warp's row `lane`. */
template<Rule RULE, Beside BESIDE> __device__ __forceinline__ void
filter_packed (const Work &work, const Group &g, const uint2 *b, int x, int y0, int lane, int lane_row)
{
  const Selectors s = selectors_of (g);
  const int t = lane & 3, columns[4] = { x - 4, x, x + 4, x + 8 };
  unsigned p[all_sets][3][3][2];
  uint4 w[all_sets][4];

  const auto load = [&] (int r) {
    const int row = __shfl_sync (~0u, lane_row, 4 * r + t), rows[4] = { row, row, row, row };

    load_fours<4, BESIDE> (work, g, columns, rows, w[r]);
  };
  const auto cut = [&] (int r) {
#pragma unroll
    for (int i = 0; i < 4 && BESIDE == REPEAT; i++)
      w[r][i] = repeat_pixels (w[r][i], columns[i], g.width);
    cut_planes (s, w[r], p[r]);
  };

#pragma unroll
  for (int r = 0; r < sets; r++)
    load (r);
#pragma unroll
  for (int r = 0; r < sets - 1; r++)
    cut (r);
#pragma unroll
  for (int q = 0; q < groups; q++) {
    unsigned word[2][3];

    if (q + sets < all_sets)
      load (q + sets);
    cut (q + sets - 1);
#pragma unroll
    for (int k = 0; k < 3; k++) {
      const int begin = work.rounding.init[g.plane_chroma (k)], init[4] = { begin, begin, begin, begin };
      int sum[2][4];

#pragma unroll
      for (int d = 0; d < sets; d++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
          const unsigned (*part)[2] = p[q + d][k] + i, a[4] = { part[0][0], part[0][1], part[1][0], part[1][1] };

          multiply_to<false, true> (sum[i], d == 0 ? init : sum[i], a, b[d].x, b[d].y);
        }
      if (work.rounding.clips)
#pragma unroll
        for (int i = 0; i < 8; i++)
          sum[i / 4][i % 4] = max (sum[i / 4][i % 4], 0);
      word[0][k] = round_four_ruled<RULE> (work.rounding, sum[0]);
      word[1][k] = round_four_ruled<RULE> (work.rounding, sum[1]);
    }
    if (BESIDE == NOTHING)
      store_pair_of_lanes (g, s, x, y0 + 4 * q + t, lane >> 2 & 1, word, w[q + 1] + 1);
    else {
      store_four (g, s, x, y0 + 4 * q + t, word[0], w[q + 1][1]);
      store_four (g, s, x + 4, y0 + 4 * q + t, word[1], w[q + 1][2]);
    }
  }
}

template<Rule RULE> __global__ void __launch_bounds__ (threads, 4)
convolve_packed_quads_kernel (const __grid_constant__ Work work, const __grid_constant__ PackedFragments fragments)
{
  const Group g = group_of_block (work, (int) blockIdx.x);
  const int2 position = block_position (g, (int) blockIdx.x);
  const int warp = (int) threadIdx.x >> 5, lane = (int) threadIdx.x & 31;
  const int x0 = position.x * tile_w, y0 = position.y * tile_h + 4 * groups * warp, x = x0 + 8 * (lane >> 2);
  const int wanted = y0 - rows_above + lane;
  int lane_row = min (max (wanted, 0), g.height - 1);
  uint2 b[sets];

  static_assert (4 * all_sets <= 32, "a row for each lane");
#pragma unroll
  for (int i = 0; i < sets; i++)
    b[i] = read_argument (&fragments.of[i][lane]);
  if (work.border != CF_BORDER_REPLICATE && lane_row != wanted)
    lane_row = edge_row (work.border, wanted, g.height);

  const Beside beside = beside_of (work, g, x0 >= 4 && x0 + tile_w + 4 <= g.width
      && __all_sync (~0u, lane_row >= 0 || lane >= 4 * all_sets));

  prefetch_rows<4 * tile_w, tile_h, threads> (g.in, g.in_pitch, 4 * g.width, g.height, 4 * x0, position.y * tile_h);
  griddep_wait ();
  if (y0 >= g.height)
    return;
  if (beside == NOTHING)
    filter_packed<RULE, NOTHING> (work, g, b, x, y0, lane, lane_row);
  else if (beside == REPEAT)
    filter_packed<RULE, REPEAT> (work, g, b, x, y0, lane, lane_row);
  else
    filter_packed<RULE, MAP> (work, g, b, x, y0, lane, lane_row);
}

/* ---- launches ----------------------------------------------------------- */

const struct Variant {
  Rule rule;
  const void *kernel;
} variants[] = { { RULE_ONE, (const void *) convolve_packed_quads_kernel<RULE_ONE> },
  { RULE_EVEN, (const void *) convolve_packed_quads_kernel<RULE_EVEN> } };

} // namespace

CfCode
convolve_packed_quads_init (CfStatus *status)
{
  return convolve_load_variants (variants, 0, status);
}

bool
convolve_packed_quads_launch (Work *work, const CfConvolution &c, Operands *operands, cudaStream_t stream,
    CfCode *code, CfStatus *status)
{
  void *arguments[] = { work, operands->bytes };

  if (work->limbs > 1 || c.ax > reach || c.w - 1 - c.ax > reach || c.ay > rows_above || c.h - 1 - c.ay > rows_above
      || !is_packed_rgb (*work, 16))
    return false;
  for (const Variant &v : variants)
    if (v.rule == work->rounding.rule) {
      if (convolve_renew (operands, v.kernel, NULL, 0))
        convolve_fill_quads (c, 2, sets, 1, rows_above - c.ay, (uint2 *) operands->bytes);
      convolve_assign_blocks (work, tile_w, tile_h);
      *code = launch_kernel ("convolve packed quads", v.kernel, work->blocks, threads, arguments, 0, work->pdl, stream,
          status);
      return true;
    }
  return false;
}

} // namespace cf
