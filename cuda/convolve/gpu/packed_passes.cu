/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/packed_passes.cu: the kernels of passes.cu for pixels of four bytes of which three are filtered, which
 * they split into planes.
 *
 * Map: as in passes.cu with pixels for bytes: 4 warps a block, a warp makes 16 rows of BLOCKS - 1 blocks of 32 pixels,
 * from BLOCKS blocks of samples: taps reach 16 pixels to each side. Lane 4 g + t takes four pixels, those from 4 g on
 * of each block, of every fourth row from row t on. Turning four rows of a pixel into columns takes its bytes apart:
 * seven byte permutations for three columns of four. The products are, for a plane, those of passes.cu; the columns of
 * the row pass are chosen so that a lane ends up with four neighbours twice, 16 pixels apart, which are a vector each.
 *
 * Shared memory: the block's pixels with those around them, all loaded at once (fill_tile ()); rows are 32 bytes longer
 * than a multiple of 128, so that vectors of four rows beside each other meet all banks. Barriers: fill_tile ()'s.
 *
 * 5.3 mma make 128 outputs of a plane up to 17 rows, 6.7 up to 33, where passes.cu, whose taps are four bytes apart,
 * needs 8 and 14. Times: docs/notes/convolve.md. */
#include "packed_rgb.cuh"
#include "passes.cuh"

namespace cf {

namespace {

constexpr int warps = 4, threads = 32 * warps, tile_h = 16 * warps;

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

/* Filters a warp's rows. from: the lane's first vector in the tile; input: its first pixels that are filtered. Two
 * blocks a turn: sums of columns take turns in the two operands. */
template<int ROW_PARTS, int BLOCKS, int PITCH, bool TAKES> __device__ __forceinline__ void
filter_packed (const Work &work, const Group &g, const uint2 *column, const uint2 (*row)[2], int x0, int y0, int lane,
    const uint8_t *from, const uint8_t *input)
{
  const Selectors s = selectors_of (g);
  unsigned low[3][2][4], high[3][2][4];

#pragma unroll 1
  for (int first = 0; first < BLOCKS; first += 2)
#pragma unroll
    for (int operand = 0; operand < 2; operand++) {
      const int b = first + operand, x = x0 + 32 * (b - 1) + 4 * (lane & 3), y = y0 + (lane >> 2);
      unsigned turned[3][ROW_PARTS][4], word[3][2][2];
      uint4 w[4 * ROW_PARTS];

      if (b == BLOCKS)
        break;
#pragma unroll
      for (int i = 0; i < 4 * ROW_PARTS; i++)
        w[i] = *(const uint4 *) (from + 4 * i * PITCH + 128 * b);
      turn_pixels<ROW_PARTS> (s, w, turned);
#pragma unroll
      for (int p = 0; p < 3; p++)
        filter_columns<ROW_PARTS> (turned[p], column, low[p][operand], high[p][operand]);
      if (b == 0)
        continue;
#pragma unroll
      for (int p = 0; p < 3; p++) {
        const int begin = work.rounding.init[g.plane_chroma (p)], init[4] = { begin, begin, begin, begin };
        int sum[4][4];

        filter_rows<1> (low[p], high[p], operand ^ 1, row, init, sum);
        round_sums<TAKES> (work.rounding, sum, word[p]);
      }
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const unsigned v[3] = { word[0][i / 2][i % 2], word[1][i / 2][i % 2], word[2][i / 2][i % 2] };

        store_pixels (g, x + 16 * (i % 2), y + 8 * (i / 2), pack_four (s, v,
            *(const uint4 *) (input + 8 * (i / 2) * PITCH + 128 * (b - 1) + 64 * (i % 2))));
      }
    }
}

/* Returns the bytes of a row of the tile, and those of the tile. */
__host__ __device__ constexpr int
pitch_of (int blocks)
{
  return 128 * blocks + 32;
}

constexpr int
tile_bytes (int row_parts, int blocks)
{
  return (tile_h + 16 * (row_parts - 1)) * pitch_of (blocks);
}

template<int ROW_PARTS, int BLOCKS, int PER_SM, bool TAKES> __global__ void __launch_bounds__ (threads, PER_SM)
convolve_packed_passes_kernel (const __grid_constant__ Work work,
    const __grid_constant__ PassFragments<ROW_PARTS, 1, 1> fragments)
{
  constexpr int tile_w = 32 * (BLOCKS - 1), rows = tile_h + 16 * (ROW_PARTS - 1), pitch = pitch_of (BLOCKS);
  extern __shared__ uint4 shared[];
  uint8_t *tile = (uint8_t *) shared;
  const Group g = group_of_block (work, (int) blockIdx.x);
  const int2 position = block_position (g, (int) blockIdx.x);
  const int warp = (int) threadIdx.x >> 5, lane = (int) threadIdx.x & 31;
  const int x0 = position.x * tile_w, y_block = position.y * tile_h, y0 = y_block + 16 * warp;
  const TileSource source = packed_source (work, g);
  uint2 column[ROW_PARTS], row[4][2];

#pragma unroll
  for (int i = 0; i < ROW_PARTS; i++)
    column[i] = read_argument (&fragments.column[i][lane]);
#pragma unroll
  for (int i = 0; i < 8; i++)
    row[i / 2][i % 2] = read_argument (&fragments.row[0][i / 2][i % 2][lane]);
  prefetch_rows<4 * tile_w, tile_h, threads> (g.in, g.in_pitch, 4 * g.width, g.height, 4 * x0, y_block);
  griddep_wait ();
  fill_tile<8 * BLOCKS, rows, pitch, threads> (source, 4 * x0 - 64, y_block - work.ay, tile);
  if (y0 < g.height)
    filter_packed<ROW_PARTS, BLOCKS, pitch, TAKES> (work, g, column, row, x0, y0, lane,
        tile + (16 * warp + (lane & 3)) * pitch + 16 * (lane >> 2),
        tile + (16 * warp + (lane >> 2) + work.ay) * pitch + 64 + 16 * (lane & 3));
}

/* ---- launches ----------------------------------------------------------- */

/* The first that fits is taken. at_once: for launches whose blocks the device holds at once, per_sm on an SM. */
#define CF_PACKED(rows, blocks, per_sm, at_once) \
  { rows, blocks, per_sm, at_once, true, (const void *) convolve_packed_passes_kernel<rows, blocks, per_sm, true> }, \
  { rows, blocks, per_sm, at_once, false, (const void *) convolve_packed_passes_kernel<rows, blocks, per_sm, false> }
const struct Variant {
  int row_parts, blocks, per_sm;
  bool at_once, takes;
  const void *kernel;
} variants[] = {
  CF_PACKED (2, 3, 4, true), CF_PACKED (2, 4, 4, false), CF_PACKED (3, 3, 4, true), CF_PACKED (3, 4, 4, false),
};
#undef CF_PACKED

} // namespace

const Load convolve_load_packed_passes = convolve_load<variants, true>;

bool
convolve_packed_passes_launch (Frame *f)
{
  uint2 *fragments = (uint2 *) f->operands->bytes;
  const Variant *v = variants;
  const bool takes = takes_bytes (f->c, f->work.rounding);

  if (!is_packed_rgb (f->work, 16))
    return false;
  const auto fits = [&] {
    convolve_assign_blocks (&f->work, 32 * (v->blocks - 1), tile_h);
    return v->takes == takes && f->c.h <= 16 * v->row_parts - 15
        && (!v->at_once || fits_at_once (f->work, f->work.blocks, v->per_sm));
  };

  while (!fits ())
    v++;
  if (convolve_renew (f->operands, v->kernel, NULL, 0)) {
    fill_column_operand (f->c, v->row_parts, fragments);
    fill_row_operands (f->c, 1, 1, true, fragments + 32 * v->row_parts);
  }
  return f->launch ("convolve packed passes", v->kernel, f->work.blocks, threads, tile_bytes (v->row_parts, v->blocks),
      &f->work, fragments);
}

} // namespace cf
