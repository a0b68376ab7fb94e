/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/passes.cu: separable kernels without negative weights up to 33 x 33, at 8 bit, both passes on the
 * integer tensor units.
 *
 * A row is filtered as bytes, as in direct.cu, with taps `step` bytes apart.
 *
 * Map: 4 warps a block, a warp makes 16 rows of BLOCKS - REACH blocks of 32 bytes, from BLOCKS blocks of samples: taps
 * reach 16 REACH bytes to each side. Lane 4 g + t takes the word 4 g of each block, of every fourth row from row t on:
 * from global memory; or, where that is quicker, from a tile in shared memory, which the block fills before. Then every
 * sample is loaded from global memory once, in whole vectors, and edges need no code of their own. Rows of the tile are
 * an odd multiple of 32 bytes, so that four of them meet all banks; its barriers are those of fill_tile ().
 *
 * Columns first: the left operand are the column's weights, 16 rows of outputs by 32 rows of samples; the right
 * operand are 32 rows of samples by 8 columns, which the lane makes of its words by byte permutation. The sums have 16
 * bits, and a lane holds 8 neighbours of the rows g and g + 8: just what it has to hold of the left operand of the row
 * pass, whose columns are taken in the order in which they lie there, low and high bytes in separate products. So
 * nothing is exchanged between the passes. The eight columns of a product of the row pass are chosen so that a lane
 * ends up with 8 neighbours again; beside a tile, lanes exchange half of those of two blocks, so that each of their
 * stores writes 64 bytes of a row.
 *
 * The fragments of the weights are made by the host; a lane reads its own from the kernel's argument.
 *
 * ROW_PARTS parts of 16 rows of samples meet an output: (ROW_PARTS + 1) / 2 mma make 128 outputs of the columns, and
 * 8 (REACH + 1) make 512 of the rows: 5 to 7 for 128 of gray up to 33 x 33. Times: docs/notes/convolve.md. */
#include "direct.cuh"
#include "passes.cuh"

namespace cf {

namespace {

constexpr int warps = 4, threads = 32 * warps;

/* Returns the words from `at` on of four rows (already mapped, or -1), mapped by the border. All loads are independent
 * of each other. */
__device__ __noinline__ uint4
words_past_edge (const DirectLaunch &launch, int index, int at, int4 y)
{
  const DirectGroup &d = launch.group[index];
  const int rows[4] = { y.x, y.y, y.z, y.w };
  unsigned value[16], word[4] = { };
  long long offset[4];

#pragma unroll
  for (int i = 0; i < 4; i++)
    offset[i] = offset_of_byte (launch, index, at + i, 0);
#pragma unroll
  for (int i = 0; i < 16; i++)
    value[i] = d.in[max (offset[i % 4], 0ll) + (long long) max (rows[i / 4], 0) * d.in_pitch];
#pragma unroll
  for (int i = 0; i < 16; i++)
    word[i / 4] |= (offset[i % 4] < 0 || rows[i / 4] < 0 ? d.outside.x >> 8 * (i % 4) & 0xff : value[i])
        << 8 * (i % 4);
  return make_uint4 (word[0], word[1], word[2], word[3]);
}

/* Loads the lane's words: w[b][i] is that of block b, row y[i]; `at`: its first byte in block 0. All of them are inside
 * the image. */
template<int ROWS, int BLOCKS> __device__ __forceinline__ void
load_inside (const DirectGroup &d, int at, const int *y, unsigned (*w)[ROWS])
{
  const GlobalBytes first (d.in + at);

#pragma unroll
  for (int i = 0; i < ROWS; i++) {
    const uint8_t *from = first.row (y[i], d.in_pitch);

#pragma unroll
    for (int b = 0; b < BLOCKS; b++)
      load_words<1> (from + 32 * b, &w[b][i]);
  }
}

/* The same at an edge of the image. */
template<int ROWS, int BLOCKS> __device__ __forceinline__ void
load_edge (const DirectLaunch &launch, const DirectGroup &d, int index, int at, const int *y, unsigned (*w)[ROWS])
{
#pragma unroll
  for (int b = 0; b < BLOCKS; b++) {
    const int x = at + 32 * b, last = (d.bytes & ~3) - 4;
    const uint8_t *from = d.in + min (max (x, 0), last);

#pragma unroll
    for (int i = 0; i < ROWS; i++)
      load_words<1> (from + (long long) max (y[i], 0) * d.in_pitch, &w[b][i]);
  }
#pragma unroll
  for (int b = 0; b < BLOCKS; b++) {
    const int x = at + 32 * b;

    if (d.repeats && d.step != 3) {
      const unsigned pick = x < 0 ? d.repeat[0] & 0xffff : x >= d.bytes ? d.repeat[1] & 0xffff : 0x3210;

#pragma unroll
      for (int i = 0; i < ROWS; i++)
        w[b][i] = __byte_perm (w[b][i], 0, pick);
      continue;
    }
#pragma unroll
    for (int i = 0; i < ROWS; i += 4) {
      const int4 rows = make_int4 (y[i], y[i + 1], y[i + 2], y[i + 3]);

      if (x < 0 || x + 3 >= d.bytes || min (min (rows.x, rows.y), min (rows.z, rows.w)) < 0) {
        const uint4 v = words_past_edge (launch, index, x, rows);

        w[b][i] = v.x, w[b][i + 1] = v.y, w[b][i + 2] = v.z, w[b][i + 3] = v.w;
      }
    }
  }
}

/* Turns a block's words, four rows of four bytes each, into columns: column[h][j] is column j of the rows of part h. */
template<int ROW_PARTS> __device__ __forceinline__ void
turn_words (const unsigned *w, unsigned (*column)[4])
{
#pragma unroll
  for (int h = 0; h < ROW_PARTS; h++) {
    const unsigned *row = w + 4 * h;
    const unsigned a = __byte_perm (row[0], row[1], 0x5140), b = __byte_perm (row[2], row[3], 0x5140);
    const unsigned c = __byte_perm (row[0], row[1], 0x7362), d = __byte_perm (row[2], row[3], 0x7362);

    column[h][0] = __byte_perm (a, b, 0x5410);
    column[h][1] = __byte_perm (a, b, 0x7632);
    column[h][2] = __byte_perm (c, d, 0x5410);
    column[h][3] = __byte_perm (c, d, 0x7632);
  }
}

/* Keeps those of eight bytes that are not filtered, and stores the others; (x, y): the first one. */
__device__ __noinline__ void
store_eight (const DirectLaunch &launch, int index, uint2 word, int x, int y)
{
  const DirectGroup &d = launch.group[index];
  uint8_t *row = d.out + (long long) y * d.out_pitch;

  if (d.keeps) { /* rows are whole words */
    const uint8_t *from = d.in + (long long) y * d.in_pitch;

    word.x = __byte_perm (word.x, *(const unsigned *) (from + min (x, d.bytes - 4)), d.pick);
    word.y = __byte_perm (word.y, *(const unsigned *) (from + min (x + 4, d.bytes - 4)), d.pick);
  }
  if (d.pairs && x + 8 <= d.bytes) {
    *(uint2 *) (row + x) = word;
    return;
  }
  store_word (d, row, x, word.x);
  store_word (d, row, x + 4, word.y);
}

/* Stores the results of two blocks beside each other, all columns inside the image. Lanes beside each other exchange
 * eight bytes: each then has 16, and a store writes 64 bytes of a row. (x, y): the first byte of the left block. */
__device__ __forceinline__ void
store_two_blocks (const DirectGroup &d, const unsigned (*word)[2][2], int x, int y, int lane)
{
  const bool odd = lane & 1;
  const GlobalBytes to (d.out + x + (odd ? 32 : 0) + 8 * (lane & 2));

#pragma unroll
  for (int e = 0; e < 2; e++) {
    const uint2 left = make_uint2 (word[0][e][0], word[0][e][1]), right = make_uint2 (word[1][e][0], word[1][e][1]);
    const unsigned other[2] = { __shfl_xor_sync (~0u, odd ? left.x : right.x, 1),
      __shfl_xor_sync (~0u, odd ? left.y : right.y, 1) };

    if (y + 8 * e < d.height)
      *(uint4 *) to.row (y + 8 * e, d.out_pitch) = odd ? make_uint4 (other[0], other[1], right.x, right.y)
          : make_uint4 (left.x, left.y, other[0], other[1]);
  }
}

/* Stores the results of a block; (x, y): the lane's first byte, in row 0 at `to`. INSIDE: all columns are inside the
 * image. */
template<bool INSIDE> __device__ __forceinline__ void
store_block (const DirectLaunch &launch, const DirectGroup &d, int index, const GlobalBytes &to,
    const unsigned (*word)[2], int x, int y)
{
#pragma unroll
  for (int e = 0; e < 2; e++)
    if (y + 8 * e < d.height && d.plain && (INSIDE || x + 8 <= d.bytes))
      *(uint2 *) to.row (y + 8 * e, d.out_pitch) = make_uint2 (word[e][0], word[e][1]);
    else if (y + 8 * e < d.height && (INSIDE || x < d.bytes))
      store_eight (launch, index, make_uint2 (word[e][0], word[e][1]), x, y + 8 * e);
}

/* Copies the lane's bytes of a group that is not filtered. */
template<int BYTES> __device__ __forceinline__ void
copy_rows (const DirectGroup &d, int x0, int y0, int lane)
{
#pragma unroll 1
  for (int y = y0; y < min (y0 + 16, d.height); y++)
#pragma unroll 1
    for (int x = x0 + 4 * lane; x < min (x0 + BYTES, d.bytes); x += 128) {
      const uint8_t *from = d.in + (long long) y * d.in_pitch + x;
      uint8_t *to = d.out + (long long) y * d.out_pitch + x;

      if (x + 4 <= d.bytes)
        *(unsigned *) to = *(const unsigned *) from;
      else
        for (int i = 0; i < d.bytes - x; i++)
          to[i] = from[i];
    }
}

/* Filters a warp's rows. load (b) returns the words of block b; finish (out, sum) takes the sums of results `out`. */
template<int ROW_PARTS, int REACH, int BLOCKS, typename Load, typename Finish> __device__ __forceinline__ void
filter_blocks (const DirectGroup &d, const uint2 *column, const uint2 (*row)[REACH + 1], Load load, Finish finish)
{
  const int init[4] = { d.init[0], d.init[1], d.init[2], d.init[3] };
  unsigned low[REACH + 1][4], high[REACH + 1][4];

#pragma unroll
  for (int b = 0; b < BLOCKS; b++) {
    unsigned turned[ROW_PARTS][4];
    int sum[4][4];

    turn_words<ROW_PARTS> (load (b), turned);
    filter_columns<ROW_PARTS> (turned, column, low[b % (REACH + 1)], high[b % (REACH + 1)]);
    if (b < REACH)
      continue;
    filter_rows<REACH> (low, high, b - REACH, row, init, sum);
    finish (b - REACH, sum);
  }
}

/* Filters a warp's rows from global memory. INSIDE: all samples that are loaded are inside the image, or lie above or
 * below it and are those of the outermost row. Inside the image and at its edges are code of their own, so that what
 * most warps do lies together. */
template<int ROW_PARTS, int REACH, int BLOCKS, bool TAKES, bool INSIDE> __device__ __forceinline__ void
filter_passes (const DirectLaunch &launch, const DirectGroup &d, int index, const uint2 *column,
    const uint2 (*row)[REACH + 1], int x0, int y0, int lane)
{
  constexpr int rows = 4 * ROW_PARTS;
  unsigned w[BLOCKS][rows];
  int y[rows]; /* the image's rows that the lane loads */

#pragma unroll
  for (int i = 0; i < rows; i++) {
    const int wanted = y0 - launch.ay + 4 * i + (lane & 3);

    y[i] = min (max (wanted, 0), d.height - 1);
    if (!INSIDE && launch.border != CF_BORDER_REPLICATE && y[i] != wanted)
      y[i] = edge_row (launch.border, wanted, d.height);
  }

  if (INSIDE)
    load_inside<rows, BLOCKS> (d, x0 - 16 * REACH + 4 * (lane >> 2), y, w);
  else
    load_edge<rows, BLOCKS> (launch, d, index, x0 - 16 * REACH + 4 * (lane >> 2), y, w);
  filter_blocks<ROW_PARTS, REACH, BLOCKS> (d, column, row, [&] (int b) { return w[b]; },
      [&] (int out, int (*sum)[4]) {
        const int x = x0 + 32 * out + 8 * (lane & 3);
        const GlobalBytes to (d.out + x);
        unsigned word[2][2];

        round_sums<TAKES> (launch.rounding, sum, word);
        store_block<INSIDE> (launch, d, index, to, word, x, y0 + (lane >> 2));
      });
}

/* Filters a warp's rows from the tile; from: the lane's first word in it. */
template<int ROW_PARTS, int REACH, int BLOCKS, int PITCH, bool TAKES> __device__ __forceinline__ void
filter_tile (const DirectLaunch &launch, const DirectGroup &d, int index, const uint2 *column,
    const uint2 (*row)[REACH + 1], int x0, int y0, int lane, const uint8_t *from)
{
  const bool pairs = d.vectors && x0 + 32 * (BLOCKS - REACH) <= d.bytes;
  unsigned w[4 * ROW_PARTS], word[2][2][2];

  static_assert ((BLOCKS - REACH) % 2 == 0, "blocks are stored in pairs");
  filter_blocks<ROW_PARTS, REACH, BLOCKS> (d, column, row,
      [&] (int b) {
#pragma unroll
        for (int i = 0; i < 4 * ROW_PARTS; i++)
          w[i] = *(const unsigned *) (from + 4 * i * PITCH + 32 * b);
        return w;
      },
      [&] (int out, int (*sum)[4]) {
        const int x = x0 + 32 * out, y = y0 + (lane >> 2);

        round_sums<TAKES> (launch.rounding, sum, word[out % 2]);
        if (!pairs)
          store_block<false> (launch, d, index, GlobalBytes (d.out + x + 8 * (lane & 3)), word[out % 2],
              x + 8 * (lane & 3), y);
        else if (out % 2 == 1)
          store_two_blocks (d, word, x - 32, y, lane);
      });
}

/* Reads a lane's fragments of both passes; spread: those of the row pass. */
template<int ROW_PARTS, int REACH> __device__ __forceinline__ void
read_fragments (const PassFragments<ROW_PARTS, REACH, max_spreads> &fragments, int spread, int lane, uint2 *column,
    uint2 (*row)[REACH + 1])
{
#pragma unroll
  for (int i = 0; i < ROW_PARTS; i++)
    column[i] = read_argument (&fragments.column[i][lane]);
#pragma unroll
  for (int i = 0; i < 4 * (REACH + 1); i++)
    row[i % 4][i / 4] = read_argument (&fragments.row[spread][i % 4][i / 4][lane]);
}

template<int ROW_PARTS, int REACH, int BLOCKS, int PER_SM, bool TAKES> __global__ void
__launch_bounds__ (threads, PER_SM)
convolve_passes_kernel (const __grid_constant__ DirectLaunch launch,
    const __grid_constant__ PassFragments<ROW_PARTS, REACH, max_spreads> fragments)
{
  constexpr int rows = 4 * ROW_PARTS, strip_bytes = 32 * (BLOCKS - REACH);
  const int warp = (int) threadIdx.x >> 5, lane = (int) threadIdx.x & 31;
  const int index = index_of_block (launch, (int) blockIdx.x);
  const DirectGroup d = launch.group[index];
  const int2 position = block_position (d, (int) blockIdx.x);
  const int x0 = position.x * strip_bytes, y0 = (position.y * warps + warp) * 16, from = x0 - 16 * REACH;
  const bool inside = from >= 0 && from + 32 * BLOCKS <= d.bytes && (launch.border == CF_BORDER_REPLICATE
      || (y0 >= launch.ay && y0 - launch.ay + 4 * rows <= d.height));
  uint2 column[ROW_PARTS], row[4][REACH + 1];

  read_fragments (fragments, d.spread, lane, column, row);
  prefetch_rows<strip_bytes, 16 * warps, threads> (d.in, d.in_pitch, d.bytes, d.height, x0,
      position.y * warps * 16);
  griddep_wait ();
  if (y0 >= d.height)
    return;
  if (!d.filtered) {
    copy_rows<strip_bytes> (d, x0, y0, lane);
    return;
  }
  if (__builtin_expect (inside, true))
    filter_passes<ROW_PARTS, REACH, BLOCKS, TAKES, true> (launch, d, index, column, row, x0, y0, lane);
  else
    filter_passes<ROW_PARTS, REACH, BLOCKS, TAKES, false> (launch, d, index, column, row, x0, y0, lane);
}

/* The same from a tile in shared memory, which the block fills. */
template<int ROW_PARTS, int REACH, int BLOCKS, int PER_SM, bool TAKES> __global__ void
__launch_bounds__ (threads, PER_SM)
convolve_tile_passes_kernel (const __grid_constant__ DirectLaunch launch,
    const __grid_constant__ PassFragments<ROW_PARTS, REACH, max_spreads> fragments)
{
  constexpr int strip_bytes = 32 * (BLOCKS - REACH), tile_rows = 16 * (warps + ROW_PARTS - 1);
  constexpr int pitch = 32 * (BLOCKS | 1); /* four rows of 32 bytes meet all banks */
  __shared__ __align__ (16) uint8_t tile[tile_rows * pitch];
  const int warp = (int) threadIdx.x >> 5, lane = (int) threadIdx.x & 31;
  const int index = index_of_block (launch, (int) blockIdx.x);
  const DirectGroup d = launch.group[index];
  const int2 position = block_position (d, (int) blockIdx.x);
  const int y_block = position.y * warps * 16, x0 = position.x * strip_bytes, y0 = y_block + 16 * warp;
  uint2 column[ROW_PARTS], row[4][REACH + 1];

  read_fragments (fragments, d.spread, lane, column, row);
  prefetch_rows<strip_bytes, 16 * warps, threads> (d.in, d.in_pitch, d.bytes, d.height, x0, y_block);
  griddep_wait ();
  if (!d.filtered)
    copy_rows<strip_bytes> (d, x0, y0, lane);
  else {
    const TileSource source = { d.in, d.in_pitch, d.bytes, d.height, d.step, launch.border, d.outside.x, d.clamps,
      { d.repeat[0] & 0xffff, d.repeat[1] & 0xffff } };

    fill_tile<2 * BLOCKS, tile_rows, pitch, threads> (source, x0 - 16 * REACH, y_block - launch.ay, tile);
    if (y0 < d.height)
      filter_tile<ROW_PARTS, REACH, BLOCKS, pitch, TAKES> (launch, d, index, column, row, x0, y0, lane,
          tile + (16 * warp + (lane & 3)) * pitch + 4 * (lane >> 2));
  }
}

/* ---- launches ----------------------------------------------------------- */

/* The first that fits is taken. `per_sm`: how many blocks an SM shall hold; it bounds the registers of a thread. TILED:
 * for frames whose rows begin on 16 bytes. Where edges of such frames are not just clamped, they take long from global
 * memory: CLAMPED are not for them, nor AT_ONCE, for launches whose blocks the device holds at once, and MORE, for
 * those of more blocks. */
enum Frames : uint8_t { ANY, AT_ONCE, MORE, CLAMPED, TILED };
#define CF_VARIANTS(kernel, rows, reach, blocks, per_sm, frames) \
  { rows, reach, 32 * (blocks - reach), per_sm, frames, true, \
    (const void *) kernel<rows, reach, blocks, per_sm, true> }, \
  { rows, reach, 32 * (blocks - reach), per_sm, frames, false, \
    (const void *) kernel<rows, reach, blocks, per_sm, false> }
#define CF_PASSES(rows, reach, blocks, per_sm, frames) \
  CF_VARIANTS (convolve_passes_kernel, rows, reach, blocks, per_sm, frames)
#define CF_TILED(rows, reach, blocks, per_sm) \
  CF_VARIANTS (convolve_tile_passes_kernel, rows, reach, blocks, per_sm, TILED)
const struct Variant {
  int row_parts, reach, strip_bytes, per_sm;
  Frames frames;
  bool takes;
  const void *kernel;
} variants[] = {
  CF_PASSES (2, 1, 3, 4, AT_ONCE), CF_PASSES (2, 1, 5, 4, MORE), CF_PASSES (2, 1, 3, 5, CLAMPED), CF_TILED (2, 1, 5, 5),
  CF_PASSES (3, 1, 3, 4, AT_ONCE), CF_TILED (3, 1, 5, 5), CF_PASSES (3, 1, 4, 4, ANY),
  CF_PASSES (2, 2, 6, 3, CLAMPED), CF_TILED (2, 2, 6, 4), CF_TILED (3, 2, 6, 4), CF_PASSES (3, 2, 6, 3, ANY),
  CF_TILED (2, 4, 8, 4), CF_PASSES (2, 4, 8, 2, ANY), CF_TILED (3, 4, 8, 4), CF_PASSES (3, 4, 8, 2, ANY),
};
#undef CF_VARIANTS
#undef CF_PASSES
#undef CF_TILED
static_assert (sizeof (PassFragments<3, 4, max_spreads>) <= sizeof (Operands::bytes), "Operands are too small");

/* Returns true if the taps for samples `step` bytes apart are within reach. */
bool
window_fits (const Variant &v, const CfConvolution &c, int step)
{
  return c.h <= 16 * v.row_parts - 15 && max (c.ax, c.w - 1 - c.ax) * step <= 16 * v.reach;
}

} // namespace

const Load convolve_load_passes = convolve_load<variants, false>;

bool
convolve_passes_fits (const CfConvolution &c, const Rounding &k, int step)
{
  int sum = 0;

  if (c.bits != 8 || !c.separable || c.op != CF_CONVOLVE_LINEAR || k.rule == RULE_NONE
      || !window_fits (variants[sizeof variants / sizeof *variants - 1], c, step))
    return false;
  for (int i = 0; i < c.w; i++)
    if (c.row[i] < 0 || c.row[i] > 255)
      return false;
  for (int i = 0; i < c.h; i++) {
    if (c.col[i] < 0 || c.col[i] > 255)
      return false;
    sum += c.col[i];
  }
  return sum * c.max <= 65535;
}

bool
convolve_passes_launch (Frame *f)
{
  const CfConvolution &c = f->c;
  uint2 *fragments = (uint2 *) f->operands->bytes;
  const Variant *v = variants;
  DirectLaunch launch;
  const bool takes = takes_bytes (c, f->work.rounding);
  bool aligned = true, clamps = true;
  int steps[max_spreads], n_steps;

  if (convolve_packed_passes_launch (f))
    return true;
  if (!convolve_fill_direct (f->work, &launch, steps, &n_steps))
    return false;
  for (int i = 0; i < launch.n; i++) {
    aligned = aligned && f->work.group[i].in_vectors;
    clamps = clamps && (launch.group[i].clamps || !launch.group[i].filtered);
  }
  const auto fits = [&] {
    convolve_assign_blocks (&launch, v->strip_bytes, 16 * warps);
    for (int i = 0; i < n_steps; i++)
      if (!window_fits (*v, c, steps[i]))
        return false;
    const bool at_once = fits_at_once (f->work, launch.blocks, v->per_sm);

    return v->takes == takes && (v->frames == ANY || (v->frames == TILED ? aligned : clamps || !aligned))
        && (v->frames != AT_ONCE || at_once) && (v->frames != MORE || !at_once);
  };

  while (!fits ())
    v++;

  const bool fresh = convolve_renew (f->operands, v->kernel, steps, n_steps);

  if (fresh)
    fill_column_operand (c, v->row_parts, fragments);
  for (int i = 0; fresh && i < n_steps; i++)
    fill_row_operands (c, v->reach, steps[i], false, fragments + 32 * (v->row_parts + i * 4 * (v->reach + 1)));
  return f->launch ("convolve passes", v->kernel, launch.blocks, threads, 0, &launch, fragments);
}

} // namespace cf
