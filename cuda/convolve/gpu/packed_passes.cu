/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/packed_passes.cu: the kernels of passes.cu for pixels of four bytes of which three are filtered, which
 * they split into planes.
 *
 * Map: as in passes.cu with pixels for bytes: 4 warps a block, a warp makes 16 rows of BLOCKS - 1 blocks of 32 pixels,
 * from BLOCKS blocks of samples: taps reach 16 pixels to each side. Lane 8 r + c loads four pixels, those from 4 c on
 * of each block, of every fourth row from row r on: eight lanes beside each other load 128 bytes. Turning four rows of
 * a pixel into columns takes its bytes apart: seven byte permutations for three columns of four. The columns go to lane
 * 4 c + r, whose they are in the products. These are, for a plane, those of passes.cu; the columns of the row pass are
 * chosen so that a lane ends up with four neighbours twice, 16 pixels apart, which are a vector each.
 *
 * No shared memory, no barriers. A block of pixels is loaded while the one before is filtered.
 *
 * 5.3 mma make 128 outputs of a plane up to 17 rows, 6.7 up to 33, where passes.cu, whose taps are four bytes apart,
 * needs 8 and 14. Times: docs/notes/convolve.md. */
#include "packed_rgb.cuh"
#include "passes.cuh"

namespace cf {

namespace {

constexpr int warps = 4, threads = 32 * warps, tile_h = 16 * warps;

/* The operands with the weights: those of the columns, and those of the rows ([quarter][block][lane]). */
template<int ROW_PARTS> struct PassFragments {
  uint2 column[ROW_PARTS][32];
  uint2 row[4][2][32];
};

/* Turns the pixels of a lane's rows into columns: column[p][h][j] is column j of plane p of the rows of part h. */
template<int ROW_PARTS> __device__ __forceinline__ void
turn_pixels (const Selectors &s, const uint4 *w, unsigned (*column)[ROW_PARTS][4])
{
#pragma unroll
  for (int h = 0; h < ROW_PARTS; h++)
#pragma unroll
    for (int j = 0; j < 4; j++) {
      unsigned r[4];

#pragma unroll
      for (int i = 0; i < 4; i++) {
        const uint4 &v = w[4 * h + i];

        r[i] = j == 0 ? v.x : j == 1 ? v.y : j == 2 ? v.z : v.w;
      }
      unpack (s, make_uint4 (r[0], r[1], r[2], r[3]), column[0][h][j], column[1][h][j], column[2][h][j]);
    }
}

/* Loads the input's pixels at four places, or any where they are not all inside the image. */
__device__ __forceinline__ void
load_inputs (const Group &g, const int *x, const int *y, uint4 *input)
{
#pragma unroll
  for (int i = 0; i < 4; i++)
    input[i] = *(const uint4 *) (g.in + (long long) min (y[i], g.height - 1) * g.in_pitch
        + 4 * min (x[i], (g.width & ~3) - 4));
}

/* Loads a lane's pixels of a block. */
template<int ROWS> __device__ __forceinline__ void
load_block (const Work &work, const Group &g, Beside beside, const int *x, const int *y, uint4 *w)
{
  if (beside == MAP)
    load_fours<ROWS, MAP> (work, g, x, y, w);
  else
    load_fours<ROWS, REPEAT> (work, g, x, y, w);
}

/* Filters a warp's rows. from: the lane's first pixel; y: the image's rows that the lane loads. Two blocks a turn: sums
 * of columns take turns in the two operands. */
template<int ROW_PARTS, int BLOCKS, bool SHIFT> __device__ __forceinline__ void
filter_packed (const Work &work, const Group &g, Beside beside, const uint2 *column, const uint2 (*row)[2], int from,
    int x0, int y0, int lane, const int *y)
{
  constexpr int rows = 4 * ROW_PARTS;
  const Selectors s = selectors_of (g);
  unsigned low[3][2][4], high[3][2][4];
  uint4 w[rows];
  int x[rows];

  static_assert (BLOCKS % 2 == 1, "one block, and then pairs");
  const auto load = [&] {
#pragma unroll
    for (int i = 0; i < rows; i++)
      x[i] = from;
    load_block<rows> (work, g, beside, x, y, w);
    from += 32;
  };
  /* Makes the sums of the columns of the block that is loaded, and loads the one after it. */
  const auto make_columns = [&] (int operand, bool more) {
    unsigned turned[3][ROW_PARTS][4];

#pragma unroll
    for (int i = 0; i < rows && beside == REPEAT; i++)
      w[i] = repeat_pixels (w[i], from - 32, g.width);
    turn_pixels<ROW_PARTS> (s, w, turned);
#pragma unroll
    for (int i = 0; i < 12 * ROW_PARTS; i++) {
      unsigned &word = turned[i / (4 * ROW_PARTS)][i / 4 % ROW_PARTS][i % 4];

      word = __shfl_sync (~0u, word, 8 * (lane & 3) + (lane >> 2));
    }
    if (more)
      load ();
#pragma unroll
    for (int p = 0; p < 3; p++)
      filter_columns<ROW_PARTS> (turned[p], column, low[p][operand], high[p][operand]);
  };
  /* Makes and stores the results that end in block b. first: the operand of the block before it. */
  const auto make_rows = [&] (int b, int first) {
    unsigned word[3][2][2];
    uint4 input[4];
    int to_x[4], to_y[4];

#pragma unroll
    for (int i = 0; i < 4; i++) {
      to_x[i] = x0 + 32 * (b - 1) + 4 * (lane & 3) + 16 * (i % 2);
      to_y[i] = y0 + (lane >> 2) + 8 * (i / 2);
    }
    load_inputs (g, to_x, to_y, input);
#pragma unroll
    for (int p = 0; p < 3; p++) {
      const int begin = work.rounding.init[g.plane_chroma (p)], init[4] = { begin, begin, begin, begin };
      int sum[4][4];

      filter_rows<1> (low[p], high[p], first, row, init, sum);
      round_block<SHIFT> (work.rounding, sum, word[p]);
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const unsigned v[3] = { word[0][i / 2][i % 2], word[1][i / 2][i % 2], word[2][i / 2][i % 2] };

      store_four (g, s, to_x[i], to_y[i], v, input[i]);
    }
  };

  load ();
  make_columns (0, true);
#pragma unroll 1
  for (int b = 1; b < BLOCKS; b += 2) {
    make_columns (1, true);
    make_rows (b, 0);
    make_columns (0, b + 2 < BLOCKS);
    make_rows (b + 1, 1);
  }
}

template<int ROW_PARTS, int BLOCKS, int PER_SM, bool SHIFT> __global__ void __launch_bounds__ (threads, PER_SM)
convolve_packed_passes_kernel (const __grid_constant__ Work work,
    const __grid_constant__ PassFragments<ROW_PARTS> fragments)
{
  constexpr int rows = 4 * ROW_PARTS, tile_w = 32 * (BLOCKS - 1);
  const Group g = group_of_block (work, (int) blockIdx.x);
  const int2 position = block_position (g, (int) blockIdx.x);
  const int warp = (int) threadIdx.x >> 5, lane = (int) threadIdx.x & 31;
  const int x0 = position.x * tile_w, y0 = position.y * tile_h + 16 * warp, from = x0 - 16 + 4 * (lane & 7);
  bool inside = x0 >= 16 && x0 + tile_w + 16 <= g.width;
  uint2 column[ROW_PARTS], row[4][2];
  int y[rows];

#pragma unroll
  for (int i = 0; i < ROW_PARTS; i++)
    column[i] = read_argument (&fragments.column[i][lane]);
#pragma unroll
  for (int i = 0; i < 8; i++)
    row[i / 2][i % 2] = read_argument (&fragments.row[i / 2][i % 2][lane]);
#pragma unroll
  for (int i = 0; i < rows; i++) {
    const int wanted = y0 - work.ay + 4 * i + (lane >> 3);

    y[i] = min (max (wanted, 0), g.height - 1);
    if (work.border != CF_BORDER_REPLICATE && y[i] != wanted)
      y[i] = edge_row (work.border, wanted, g.height);
    inside = inside && y[i] >= 0;
  }
  const Beside beside = beside_of (work, g, __all_sync (~0u, inside));

  prefetch_rows<4 * tile_w, tile_h, threads> (g.in, g.in_pitch, 4 * g.width, g.height, 4 * x0, position.y * tile_h);
  griddep_wait ();
  if (y0 >= g.height)
    return;
  filter_packed<ROW_PARTS, BLOCKS, SHIFT> (work, g, beside, column, row, from, x0, y0, lane, y);
}

/* ---- launches ----------------------------------------------------------- */

/* The first that fits is taken. at_once: for launches whose blocks the device holds at once, per_sm on an SM. */
#define CF_PACKED(rows, blocks, per_sm, at_once) \
  { rows, 32 * (blocks - 1), per_sm, at_once, true, \
    (const void *) convolve_packed_passes_kernel<rows, blocks, per_sm, true> }, \
  { rows, 32 * (blocks - 1), per_sm, at_once, false, \
    (const void *) convolve_packed_passes_kernel<rows, blocks, per_sm, false> }
const struct Variant {
  int row_parts, tile_w, per_sm;
  bool at_once, shift;
  const void *kernel;
} variants[] = {
  CF_PACKED (2, 5, 2, true), CF_PACKED (2, 9, 2, false), CF_PACKED (3, 5, 2, true), CF_PACKED (3, 9, 2, false),
};
#undef CF_PACKED
constexpr int max_parts = 3;

} // namespace

CfCode
convolve_packed_passes_init (CfStatus *status)
{
  return convolve_load_variants (variants, 0, status);
}

bool
convolve_packed_passes_launch (Work *work, const CfConvolution &c, Operands *operands, cudaStream_t stream,
    CfCode *code, CfStatus *status)
{
  uint2 *fragments = (uint2 *) operands->bytes;
  void *arguments[] = { work, fragments };
  const Variant *v = variants;

  static_assert (32 * (max_parts + 8) * sizeof (uint2) <= sizeof (Operands::bytes), "Operands are too small");
  if (!is_packed_rgb (*work, 16))
    return false;
  const auto fits = [&] {
    convolve_assign_blocks (work, v->tile_w, tile_h);
    return v->shift == (work->rounding.rule == RULE_SHIFT) && c.h <= 16 * v->row_parts - 15
        && (!v->at_once || fits_at_once (*work, work->blocks, v->per_sm));
  };

  while (!fits ())
    v++;
  if (convolve_renew (operands, v->kernel, NULL, 0)) {
    fill_column_operand (c, v->row_parts, fragments);
    fill_row_operands (c, 1, 1, true, fragments + 32 * v->row_parts);
  }
  *code = launch_kernel ("convolve packed passes", v->kernel, work->blocks, threads, arguments, 0, work->pdl, stream,
      status);
  return true;
}

} // namespace cf
