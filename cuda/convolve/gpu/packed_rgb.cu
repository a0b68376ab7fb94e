/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/packed_rgb.cu: kernels of up to 9 x 9 taps on pixels of four 8-bit samples of which three are
 * filtered, on the integer tensor units, from global memory to global memory without a tile in shared memory.
 *
 * Map: 4 warps a block, a warp makes 8 rows of 128 pixels, two rows at a time. A lane loads four pixels at a
 * time and splits them itself: seven byte permutations make a word of each of the three planes.
 *
 * One mma makes 128 outputs of a row of a plane from TWO rows of samples, as in small.cu: row g of its left
 * operand is the 16 samples from 8 g - 4 on of one row, followed by those of the next row; column n of its
 * right operand holds two kernel rows, shifted down by n bytes. Each row of samples is in one operand only,
 * whose words are in adjacent registers: even output rows meet the kernel rows 2 p and 2 p + 1 there, odd
 * ones 2 p - 1 and 2 p. So (h + 1) / 2 mma make 128 outputs, and no register is moved.
 *
 * Shared memory: the kernel rows, and the fragments of the right operands; each is written before a barrier
 * and read after it. Two rows of results are made while the next rows of samples are being loaded, which
 * keeps a thread within 128 registers, so at 1080p all blocks are resident at once.
 *
 * Bound: neither by the tensor units nor by the loads, as the time hardly depends on the kernel's size;
 * probably all warps load, compute and store at the same time. Times: docs/notes/convolve.md. */
#include "packed_rgb.cuh"
#include "sums.cuh"

namespace cf {

namespace {

constexpr int warps = 4, tile_w = 128;
constexpr int max_h = 9, max_packed_limbs = 3, rows_of_warp = 8;
constexpr int halo = 4; /* pixels on each side of an output that taps may reach */

/* Where a lane loads its pixels: of each row four from x on and four from x + 64 on. */
struct Source {
  const uint8_t *first;   /* the first four, in row 0, clamped to the row */
  int second;             /* offset of the second four from there, in bytes */
  int x, pitch, lane_row; /* lane r's `lane_row` is the image's row to load as row r; -1: outside */
  bool repeats;           /* pixels beside the image repeat the outermost ones: load_pair () as inside */
  bool slow;              /* other pixels outside the image: load_edge_pixels () */
};

__device__ __forceinline__ Source
source_of (const Work &work, const Group &g, int x0, int x, int lane_row)
{
  const bool inside = x0 > 0 && x0 + tile_w + halo <= g.width && __all_sync (~0u, lane_row >= 0);
  const bool repeats = work.border == CF_BORDER_REPLICATE && g.width % 4 == 0;
  const int last = g.width - 4, at = min (max (x, 0), last);
  Source s = { g.in + 4 * at, 4 * (min (x + 64, last) - at), x, (int) g.in_pitch, lane_row, !inside && repeats,
    !inside && !repeats };

  keep_whole (s.first);
  return s;
}

/* Loads two rows: w[0], w[1] the pixels of row r, w[2], w[3] those of row r + 1. */
__device__ __forceinline__ void
load_pair (const Work &work, const Group &g, const Source &s, int r, uint4 *w)
{
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const int y = __shfl_sync (~0u, s.lane_row, r + i);
    const uint8_t *row = s.first + (long long) y * s.pitch;

    if (s.slow) {
      w[2 * i] = load_edge_pixels (work, g.index, s.x, y);
      w[2 * i + 1] = load_edge_pixels (work, g.index, s.x + 64, y);
    } else {
      w[2 * i] = *(const uint4 *) row;
      w[2 * i + 1] = *(const uint4 *) (row + s.second);
    }
  }
}

/* Splits the pixels of two rows into the words of the left operand of each plane. */
__device__ __forceinline__ void
unpack_rows (const Selectors &p, const Group &g, const Source &s, uint4 *w, unsigned (*a)[4])
{
#pragma unroll
  for (int i = 0; i < 4; i++) {
    if (s.repeats)
      w[i] = repeat_pixels (w[i], s.x + i % 2 * 64, g.width);
    unpack (p, w[i], a[0][i], a[1][i], a[2][i]);
  }
}

/* Makes the fragments of the right operands, [limb][odd][pair]: for even output rows of the warp the kernel
 * rows 2 p and 2 p + 1; for odd ones 2 p - 1 and 2 p, because the pair of sample rows that they share with
 * the even row above begins a row earlier. */
template<int PAIRS, int LIMBS> __device__ __forceinline__ void
make_pair_fragments (const unsigned *weights, uint2 *fragment, int start, int warp, int lane)
{
  constexpr int n = LIMBS * 2 * PAIRS;
  const int word = start >> 2, bit = 8 * (start & 3);

#pragma unroll
  for (int i = 0; i < (n + warps - 1) / warps; i++) {
    const int f = i * warps + warp, limb = f / (2 * PAIRS), first = f % PAIRS * 2 - f / PAIRS % 2;
    const unsigned *row = weights + (min (limb, LIMBS - 1) * 10 + first) * 8 + word;
    const unsigned b0 = first < 0 ? 0 : __funnelshift_r (row[0], row[1], bit);

    if (f < n)
      fragment[f * 32 + lane] = make_uint2 (b0, __funnelshift_r (row[8], row[9], bit));
  }
}

/* Makes the sums of two rows of a plane, of each those at x, x + 1, x + 64, x + 65; a: pairs of sample rows. */
template<int PAIRS, int LIMBS> __device__ __forceinline__ void
add_pairs (int (*sum)[4], const unsigned (*a)[3][4], int plane, const uint2 *fragment, int begin)
{
  const int init = LIMBS == 1 ? begin : 0, first[4] = { init, init, init, init };

#pragma unroll
  for (int limb = LIMBS - 1; limb >= 0; limb--)
#pragma unroll
    for (int odd = 0; odd < 2; odd++) {
      if (limb < LIMBS - 1)
#pragma unroll
        for (int i = 0; i < 4; i++)
          sum[odd][i] = sum[odd][i] * 256 + (limb == 0 ? begin : 0);
#pragma unroll
      for (int p = 0; p < PAIRS; p++) {
        const uint2 b = fragment[((limb * 2 + odd) * PAIRS + p) * 32];

        multiply<true> (sum[odd], limb == LIMBS - 1 && p == 0 ? first : sum[odd], a[p][plane], b.x, b.y);
      }
    }
}

/* Loads the input's pixels at x, x + 1, x + 64, x + 65 of two rows; `whole`: all are inside the image. */
__device__ __forceinline__ void
load_pixels_at (const Group &g, bool whole, int x, int y, uint2 *input)
{
  const uint8_t *from = g.in + (long long) y * (int) g.in_pitch + 4 * x;

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const uint8_t *at = from + (i / 2) * g.in_pitch + i % 2 * 256;

    if (whole)
      input[i] = *(const uint2 *) at;
    else {
      const bool has_row = y + i / 2 < g.height;

      input[i].x = has_row && x + i % 2 * 64 < g.width ? ((const unsigned *) at)[0] : 0;
      input[i].y = has_row && x + i % 2 * 64 + 1 < g.width ? ((const unsigned *) at)[1] : 0;
    }
  }
}

/* Stores those pixels: word[k] has plane k of both rows. */
__device__ __forceinline__ void
store_pixels_at (const Group &g, const Selectors &p, bool whole, int x, int y, const unsigned (*word)[2],
    const uint2 *input)
{
  uint8_t *to = g.out + (long long) y * (int) g.out_pitch + 4 * x;

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const uint2 pixels = pack (p, word[0][i / 2], word[1][i / 2], word[2][i / 2], input[i], i % 2);
    uint8_t *at = to + (i / 2) * g.out_pitch + i % 2 * 256;

    if (whole)
      *(uint2 *) at = pixels;
    else if (y + i / 2 < g.height) {
      if (x + i % 2 * 64 < g.width)
        ((unsigned *) at)[0] = pixels.x;
      if (x + i % 2 * 64 + 1 < g.width)
        ((unsigned *) at)[1] = pixels.y;
    }
  }
}

template<int H, int LIMBS> __global__ void __launch_bounds__ (32 * warps, 4)
convolve_packed_rgb_kernel (const __grid_constant__ Work work, const __grid_constant__ SmallWeights small)
{
  constexpr int pairs = (H + 1) / 2, row_pairs = (rows_of_warp + H - 1) / 2;
  constexpr int prefetched = pairs + (H < 7 ? 2 : H < 9 ? 1 : 0);
  __shared__ uint4 staged[LIMBS * 20];
  __shared__ uint2 fragment[LIMBS * 2 * pairs * 32];
  const Group g = group_of_block (work, (int) blockIdx.x);
  const int2 position = block_position (g, (int) blockIdx.x);
  const int thread = (int) threadIdx.x, warp = thread >> 5, lane = thread & 31;
  const int group = lane >> 2, in_group = lane & 3;
  const int x0 = position.x * tile_w, y0 = (position.y * warps + warp) * rows_of_warp, wanted = y0 - work.ay + lane;
  const Selectors p = selectors_of (g);
  int lane_row = min (max (wanted, 0), g.height - 1);
  unsigned a[row_pairs][3][4];
  uint4 w[row_pairs][4];

  if (thread < LIMBS * 20)
    staged[thread] = (&small.row[0][0][0])[thread];
  if (work.border != CF_BORDER_REPLICATE && lane_row != wanted)
    lane_row = edge_row (work.border, wanted, g.height);
  const Source s = source_of (work, g, x0, x0 + 8 * group - halo + 4 * in_group, lane_row);

  __syncthreads ();
  make_pair_fragments<pairs, LIMBS> ((const unsigned *) staged, fragment, 8 + 4 * in_group - group + work.ax, warp,
      lane);
  __syncthreads ();
  griddep_wait ();
  if (y0 >= g.height)
    return;
  const bool whole = x0 + tile_w <= g.width && y0 + rows_of_warp <= g.height;

#pragma unroll
  for (int q = 0; q < min (prefetched, row_pairs); q++)
    load_pair (work, g, s, 2 * q, w[q]);
#pragma unroll
  for (int q = 0; q < pairs - 1; q++)
    unpack_rows (p, g, s, w[q], a[q]);
#pragma unroll
  for (int i = 0; i < rows_of_warp / 2; i++) {
    const int x = x0 + 8 * group + 2 * in_group, y = y0 + 2 * i;
    unsigned word[3][2];
    uint2 input[4];
    int at = lane;

    unpack_rows (p, g, s, w[i + pairs - 1], a[i + pairs - 1]);
    if (i + prefetched < row_pairs)
      load_pair (work, g, s, 2 * (i + prefetched), w[i + prefetched]);
    load_pixels_at (g, whole, x, y, input);
#pragma unroll
    for (int k = 0; k < 3; k++) {
      int sum[2][4];

      if (k == 0 || LIMBS > 1)
        hide (at); /* keeps the compiler from holding all fragments in registers, which would spill */
      add_pairs<pairs, LIMBS> (sum, a + i, k, fragment + at, work.rounding.init[g.plane_chroma (k)]);
      round_words_ruled<LIMBS, 2> (work.rounding, sum, word[k]);
    }
    store_pixels_at (g, p, whole, x, y, word, input);
  }
}

#define CF_PACKED_RGB(h) { h, 1, (const void *) convolve_packed_rgb_kernel<h, 1> }, \
  { h, 2, (const void *) convolve_packed_rgb_kernel<h, 2> }, { h, 3, (const void *) convolve_packed_rgb_kernel<h, 3> }
const struct Variant {
  int h, limbs;
  const void *kernel;
} variants[] = { CF_PACKED_RGB (3), CF_PACKED_RGB (5), CF_PACKED_RGB (7), CF_PACKED_RGB (9) };
#undef CF_PACKED_RGB

} // namespace

const Load convolve_load_packed_rgb = convolve_load<variants, false>;

bool
convolve_packed_rgb_fits (const CfConvolution &c, const Rounding &k, int limbs)
{
  return c.bits == 8 && c.dense && c.op == CF_CONVOLVE_LINEAR && k.rule != RULE_NONE && limbs <= max_packed_limbs
      && c.h <= max_h && c.ax <= halo && c.w - 1 - c.ax <= halo;
}

bool
convolve_packed_rgb_launch (Frame *f, const SmallWeights &weights)
{
  const int limbs = max (f->work.limbs, f->work.rounding.quick != QUICK_NONE && !f->work.rounding.clips ? 1 : 2);
  const Variant *v = variants;

  if (convolve_packed_quads_launch (f))
    return true;
  if (!is_packed_rgb (f->work, 8))
    return false;
  while (v->h < f->work.h || v->limbs < limbs)
    v++;
  convolve_assign_blocks (&f->work, tile_w, warps * rows_of_warp);
  return f->launch ("convolve packed rgb", v->kernel, f->work.blocks, 32 * warps, 0, &f->work, &weights);
}

} // namespace cf
