/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/packed_quads.cu: the kernels of quads.cu for pixels of four bytes of which three are filtered, which
 * they split into planes: kernels of up to 7 x 9 taps that fit signed bytes.
 *
 * Map: 4 warps a block, a warp makes GROUPS groups of four rows of 64 pixels. Lane 4 g + t takes two times four
 * pixels, those from 4 g on and 32 further, of row t of every four rows (a set), with four on each side, and splits
 * them: all that is stored then is whole lines of 128 bytes. As in quads.cu, one mma makes 128 outputs of a plane, four
 * rows of 32 pixels, from a set and 8 columns of the window. A lane ends up with 4 neighbours of row t in each of two
 * mma for each of the three sets that meet an output: 3 mma for 128 outputs of a plane. Sets begin four rows above an
 * output, so a lane has the fourth bytes of its pixels in the middle one.
 *
 * Shared memory: the block's pixels with those around them, all loaded at once (fill_tile ()); rows are 32 bytes longer
 * than a multiple of 128, so that vectors of four rows beside each other meet all banks. Barriers: fill_tile ()'s.
 *
 * Bound by latency at 1080p, by loads and stores at 4K. Times: docs/notes/convolve.md. */
#include "packed_rgb.cuh"
#include "sums.cuh"

namespace cf {

namespace {

constexpr int warps = 4, threads = 32 * warps, per_sm = 4, tile_w = 64, sets = 3; /* per_sm: blocks */
constexpr int reach = 3, rows_above = 4; /* columns to each side, and rows above and below, that taps may reach */
constexpr int chunks = tile_w / 4 + 2, pitch = 16 * chunks; /* a row of the tile: vectors, bytes */

struct PackedFragments {
  uint2 of[sets][32];
};

/* A lane's samples of a set. part[k][h][n][0] are four samples of plane k and half h from 4 n - 3 on, and [1] those two
 * further; pixels[h]: its own pixels. */
struct Set {
  unsigned part[3][2][2][2];
  uint4 pixels[2];
};

/* Takes a lane's samples from the tile; from: the pixels beside its first ones. */
__device__ __forceinline__ void
take_set (const Selectors &s, const uint8_t *from, Set *set)
{
#pragma unroll
  for (int h = 0; h < 2; h++) {
    unsigned plane[3][3];

#pragma unroll
    for (int n = 0; n < 3; n++) {
      const uint4 w = *(const uint4 *) (from + 128 * h + 16 * n);

      unpack (s, w, plane[0][n], plane[1][n], plane[2][n]);
      if (n == 1)
        set->pixels[h] = w;
    }
#pragma unroll
    for (int i = 0; i < 6; i++) {
      const unsigned *w = plane[i / 2] + i % 2;

      set->part[i / 2][h][i % 2][0] = __byte_perm (w[0], w[1], 0x4321);
      set->part[i / 2][h][i % 2][1] = __byte_perm (w[0], w[1], 0x6543);
    }
  }
}

/* Filters a warp's rows. (x, y): the lane's first output; from: the pixels beside it in the tile. */
template<Rule RULE, int GROUPS> __device__ __forceinline__ void
filter_packed (const Work &work, const Group &g, const uint2 *b, int x, int y, const uint8_t *from)
{
  constexpr int turn = GROUPS % sets == 0 ? sets : GROUPS; /* groups a turn, which begins with the same set */
  const Selectors s = selectors_of (g);
  Set set[sets];

#pragma unroll
  for (int i = 0; i < sets - 1; i++, from += 4 * pitch)
    take_set (s, from, &set[i]);
#pragma unroll 1
  for (int i = 0; i < GROUPS / turn; i++)
#pragma unroll
    for (int q = 0; q < turn; q++, y += 4, from += 4 * pitch) {
      unsigned word[2][3];

      take_set (s, from, &set[(q + sets - 1) % sets]);
#pragma unroll
      for (int k = 0; k < 3; k++) {
        const int begin = work.rounding.init[g.plane_chroma (k)], init[4] = { begin, begin, begin, begin };

#pragma unroll
        for (int h = 0; h < 2; h++) {
          int sum[4];

#pragma unroll
          for (int d = 0; d < sets; d++) {
            const unsigned (*part)[2] = set[(q + d) % sets].part[k][h];
            const unsigned a[4] = { part[0][0], part[0][1], part[1][0], part[1][1] };

            multiply<true> (sum, d == 0 ? init : sum, a, b[d].x, b[d].y);
          }
          if (work.rounding.clips)
#pragma unroll
            for (int i = 0; i < 4; i++)
              sum[i] = max (sum[i], 0);
          word[h][k] = round_four_ruled<RULE> (work.rounding, sum);
        }
      }
#pragma unroll
      for (int h = 0; h < 2; h++)
        store_pixels (g, x + 32 * h, y, pack_four (s, word[h], set[(q + 1) % sets].pixels[h]));
    }
}

template<Rule RULE, int GROUPS> __global__ void __launch_bounds__ (threads, per_sm)
convolve_packed_quads_kernel (const __grid_constant__ Work work, const __grid_constant__ PackedFragments fragments)
{
  constexpr int tile_h = 4 * GROUPS * warps, rows = tile_h + 2 * rows_above;
  __shared__ __align__ (16) uint8_t tile[rows * pitch];
  const Group g = group_of_block (work, (int) blockIdx.x);
  const int2 position = block_position (g, (int) blockIdx.x);
  const int warp = (int) threadIdx.x >> 5, lane = (int) threadIdx.x & 31;
  const int x0 = position.x * tile_w, y_block = position.y * tile_h, y0 = y_block + 4 * GROUPS * warp;
  const TileSource source = packed_source (work, g);
  uint2 b[sets];

#pragma unroll
  for (int i = 0; i < sets; i++)
    b[i] = read_argument (&fragments.of[i][lane]);
  prefetch_rows<4 * tile_w, tile_h, threads> (g.in, g.in_pitch, 4 * g.width, g.height, 4 * x0, y_block);
  griddep_wait ();
  fill_tile<chunks, rows, pitch, threads> (source, 4 * x0 - 16, y_block - rows_above, tile);
  if (y0 < g.height)
    filter_packed<RULE, GROUPS> (work, g, b, x0 + 4 * (lane >> 2), y0 + (lane & 3),
        tile + (4 * GROUPS * warp + (lane & 3)) * pitch + 16 * (lane >> 2));
}

/* ---- launches ----------------------------------------------------------- */

/* The first that fits is taken. at_once: for launches whose blocks the device holds at once. */
#define CF_PACKED(groups, at_once) \
  { groups, at_once, RULE_ONE, (const void *) convolve_packed_quads_kernel<RULE_ONE, groups> }, \
  { groups, at_once, RULE_EVEN, (const void *) convolve_packed_quads_kernel<RULE_EVEN, groups> }
const struct Variant {
  int groups;
  bool at_once;
  Rule rule;
  const void *kernel;
} variants[] = { CF_PACKED (4, true), CF_PACKED (6, false) };
#undef CF_PACKED

} // namespace

const Load convolve_load_packed_quads = convolve_load<variants, false>;

bool
convolve_packed_quads_launch (Frame *f)
{
  const CfConvolution &c = f->c;

  if (f->work.limbs > 1 || c.ax > reach || c.w - 1 - c.ax > reach || c.ay > rows_above || c.h - 1 - c.ay > rows_above
      || !is_packed_rgb (f->work, 16))
    return false;
  for (const Variant &v : variants) {
    convolve_assign_blocks (&f->work, tile_w, 4 * v.groups * warps);
    if (v.rule != f->work.rounding.rule || (v.at_once && !fits_at_once (f->work, f->work.blocks, per_sm)))
      continue;
    if (convolve_renew (f->operands, v.kernel, NULL, 0))
      convolve_fill_quads (c, 2, sets, 1, rows_above - c.ay, (uint2 *) f->operands->bytes);
    return f->launch ("convolve packed quads", v.kernel, f->work.blocks, threads, 0, &f->work, f->operands->bytes);
  }
  return false;
}

} // namespace cf
