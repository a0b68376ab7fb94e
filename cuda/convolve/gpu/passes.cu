/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/passes.cu: separable kernels without negative weights up to 33 x 33, at 8 bit, both passes on the
 * integer tensor units, from global memory to global memory.
 *
 * A row is filtered as bytes, as in direct.cu, with taps `step` bytes apart.
 *
 * Map: 4 warps a block, a warp makes 16 rows of BLOCKS - REACH blocks of 32 bytes, from BLOCKS blocks of samples: taps
 * reach 16 REACH bytes to each side. Lane 4 g + t loads the word 4 g of each block, of every fourth row from row t on.
 *
 * Columns first: the left operand are the column's weights, 16 rows of outputs by 32 rows of samples; the right
 * operand are 32 rows of samples by 8 columns, which the lane makes of its words by byte permutation. The sums have 16
 * bits, and a lane holds 8 neighbours of the rows g and g + 8: just what it has to hold of the left operand of the row
 * pass, whose columns are taken in the order in which they lie there, low and high bytes in separate products. So
 * nothing is exchanged, and there are neither shared memory nor barriers. The eight columns of a product of the row
 * pass are chosen so that a lane ends up with 8 neighbours again.
 *
 * The fragments of the weights are made by the host; a lane reads its own from the kernel's argument.
 *
 * ROW_PARTS parts of 16 rows of samples meet an output: (ROW_PARTS + 1) / 2 mma make 128 outputs of the columns, and
 * 8 (REACH + 1) make 512 of the rows: 5 to 7 for 128 of gray up to 33 x 33. Times: docs/notes/convolve.md. */
#include "direct.cuh"
#include "passes.cuh"

#include <limits.h>

namespace cf {

namespace {

constexpr int warps = 4, threads = 32 * warps;

/* The operands with the weights: those of the columns, and those of the rows ([step][quarter][block][lane]). */
template<int ROW_PARTS, int REACH> struct PassFragments {
  uint2 column[ROW_PARTS][32];
  uint2 row[max_spreads][4][REACH + 1][32];
};

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
      load_global<1> (from + 32 * b, &w[b][i]);
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
      load_global<1> (from + (long long) max (y[i], 0) * d.in_pitch, &w[b][i]);
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

/* Takes a block's results from its sums, of which they are the third bytes. */
__device__ __forceinline__ void
take_block (const int (*sum)[4], unsigned (*word)[2])
{
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int q = i % 2 * 2, e = i / 2 * 2;

    word[i / 2][i % 2] = __byte_perm (__byte_perm ((unsigned) sum[q][e], (unsigned) sum[q][e + 1], 0x62),
        __byte_perm ((unsigned) sum[q + 1][e], (unsigned) sum[q + 1][e + 1], 0x62), 0x5410);
  }
}

/* Rounds a block's sums and stores the results; (x, y): the lane's first byte. TAKES: they are bytes of the sums, as
 * gauss's are (takes_bytes ()). INSIDE: all columns are inside the image. */
template<bool TAKES, bool INSIDE> __device__ __forceinline__ void
finish_block (const DirectLaunch &launch, const DirectGroup &d, int index, int (*sum)[4], int x, int y)
{
  const GlobalBytes to (d.out + x);
  unsigned word[2][2];

  if (TAKES)
    take_block (sum, word);
  else if (launch.rounding.rule == RULE_SHIFT)
    round_block<true> (launch.rounding, sum, word);
  else
    round_block<false> (launch.rounding, sum, word);
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

/* Filters a warp's rows. INSIDE: all samples that are loaded are inside the image, or lie above or below it and are
 * those of the outermost row. Inside the image and at its edges are code of their own, so that what most warps do lies
 * together. */
template<int ROW_PARTS, int REACH, int BLOCKS, bool TAKES, bool INSIDE> __device__ __forceinline__ void
filter_passes (const DirectLaunch &launch, const DirectGroup &d, int index, const uint2 *column,
    const uint2 (*row)[REACH + 1], int x0, int y0, int lane)
{
  constexpr int rows = 4 * ROW_PARTS;
  const int init[4] = { d.init[0], d.init[1], d.init[2], d.init[3] };
  unsigned w[BLOCKS][rows], low[REACH + 1][4], high[REACH + 1][4];
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
#pragma unroll
  for (int b = 0; b < BLOCKS; b++) {
    unsigned turned[ROW_PARTS][4];
    int sum[4][4];

    turn_words<ROW_PARTS> (w[b], turned);
    filter_columns<ROW_PARTS> (turned, column, low[b % (REACH + 1)], high[b % (REACH + 1)]);
    if (b < REACH)
      continue;
    filter_rows<REACH> (low, high, b - REACH, row, init, sum);
    finish_block<TAKES, INSIDE> (launch, d, index, sum, x0 + 32 * (b - REACH) + 8 * (lane & 3), y0 + (lane >> 2));
  }
}

template<int ROW_PARTS, int REACH, int BLOCKS, int PER_SM, bool TAKES> __global__ void
__launch_bounds__ (threads, PER_SM)
convolve_passes_kernel (const __grid_constant__ DirectLaunch launch,
    const __grid_constant__ PassFragments<ROW_PARTS, REACH> fragments)
{
  constexpr int rows = 4 * ROW_PARTS, strip_bytes = 32 * (BLOCKS - REACH);
  const int warp = (int) threadIdx.x >> 5, lane = (int) threadIdx.x & 31;
  const int index = direct_group_of_block (launch);
  const DirectGroup d = launch.group[index];
  const int2 position = direct_position (d);
  const int x0 = position.x * strip_bytes, y0 = (position.y * warps + warp) * 16, from = x0 - 16 * REACH;
  const bool inside = from >= 0 && from + 32 * BLOCKS <= d.bytes && (launch.border == CF_BORDER_REPLICATE
      || (y0 >= launch.ay && y0 - launch.ay + 4 * rows <= d.height));
  uint2 column[ROW_PARTS], row[4][REACH + 1];

#pragma unroll
  for (int i = 0; i < ROW_PARTS; i++)
    column[i] = read_argument (&fragments.column[i][lane]);
#pragma unroll
  for (int i = 0; i < 4 * (REACH + 1); i++)
    row[i % 4][i / 4] = read_argument (&fragments.row[d.spread][i % 4][i / 4][lane]);
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

/* ---- launches ----------------------------------------------------------- */

/* The first that fits is taken. `per_sm`: how many blocks an SM shall hold; it bounds the registers of a thread.
 * at_once: all launches, those whose blocks the device holds at once then, or those of more blocks. */
enum Blocks : uint8_t { ANY, AT_ONCE, MORE };
#define CF_PASSES(rows, reach, blocks, per_sm, at_once) \
  { rows, reach, 32 * (blocks - reach), per_sm, at_once, true, \
    (const void *) convolve_passes_kernel<rows, reach, blocks, per_sm, true> }, \
  { rows, reach, 32 * (blocks - reach), per_sm, at_once, false, \
    (const void *) convolve_passes_kernel<rows, reach, blocks, per_sm, false> }
const struct Variant {
  int row_parts, reach, strip_bytes, per_sm;
  Blocks at_once;
  bool takes;
  const void *kernel;
} variants[] = {
  CF_PASSES (2, 1, 3, 4, AT_ONCE), CF_PASSES (2, 1, 5, 4, MORE), CF_PASSES (2, 1, 3, 5, ANY),
  CF_PASSES (3, 1, 3, 4, AT_ONCE), CF_PASSES (3, 1, 4, 4, ANY), CF_PASSES (2, 2, 6, 3, ANY),
  CF_PASSES (3, 2, 6, 3, ANY), CF_PASSES (2, 4, 8, 2, ANY), CF_PASSES (3, 4, 8, 2, ANY),
};
#undef CF_PASSES
constexpr int max_parts = 3, max_reach = 4;

/* Returns true if the taps for samples `step` bytes apart are within reach. */
bool
window_fits (const Variant &v, const CfConvolution &c, int step)
{
  return c.h <= 16 * v.row_parts - 15 && max (c.ax, c.w - 1 - c.ax) * step <= 16 * v.reach;
}

/* Returns true if the results are the third bytes of the sums: D is 65536, and no result is above 255 or negative. The
 * weights are not. */
bool
takes_bytes (const CfConvolution &c, const Rounding &k)
{
  int64_t row = 0, col = 0; /* the sums of the weights; those of `c` may have been reduced */

  for (int i = 0; i < c.w; i++)
    row += c.row[i];
  for (int i = 0; i < c.h; i++)
    col += c.col[i];
  return k.rule == RULE_SHIFT && k.rule_shift == 16 && k.init[0] >= 0 && k.init[1] >= 0
      && row * col * c.max + (k.init[0] > k.init[1] ? k.init[0] : k.init[1]) < 1 << 24;
}

} // namespace

CfCode
convolve_passes_init (int, CfStatus *status)
{
  const CfCode code = convolve_load_variants (variants, 0, status);

  return code == CF_OK ? convolve_packed_passes_init (status) : code;
}

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
convolve_passes_launch (Work *work, const CfConvolution &c, Operands *operands, cudaStream_t stream, CfCode *code,
    CfStatus *status)
{
  uint2 *fragments = (uint2 *) operands->bytes;
  const Variant *v = variants;
  DirectLaunch launch;
  void *arguments[] = { &launch, fragments };
  const bool takes = takes_bytes (c, work->rounding);
  int steps[max_spreads], n_steps;

  static_assert (32 * (max_parts + max_spreads * 4 * (max_reach + 1)) * sizeof (uint2) <= sizeof (Operands::bytes),
      "Operands are too small");
  if (convolve_packed_passes_launch (work, c, operands, stream, code, status))
    return true;
  if (!convolve_fill_direct (*work, &launch, steps, &n_steps))
    return false;
  const auto fits = [&] {
    deal_direct_blocks (&launch, v->strip_bytes, 16 * warps);
    for (int i = 0; i < n_steps; i++)
      if (!window_fits (*v, c, steps[i]))
        return false;
    return v->takes == takes
        && (v->at_once == ANY || fits_at_once (*work, launch.blocks, v->per_sm) == (v->at_once == AT_ONCE));
  };

  while (!fits ())
    v++;

  const bool fresh = convolve_renew (operands, v->kernel, steps, n_steps);

  if (fresh)
    fill_column_operand (c, v->row_parts, fragments);
  for (int i = 0; fresh && i < n_steps; i++)
    fill_row_operands (c, v->reach, steps[i], false, fragments + 32 * (v->row_parts + i * 4 * (v->reach + 1)));
  *code = launch_kernel ("convolve passes", v->kernel, launch.blocks, threads, arguments, 0, work->pdl, stream, status);
  return true;
}

} // namespace cf
