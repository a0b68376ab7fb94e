/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/sparse.cu: kernels of up to 32 columns on 8-bit samples, on the tensor units of compute capability 9.0:
 * one half of a sparse operand is zero, and need not be multiplied.
 *
 * Map: one block an SM, of two pairs of warp groups. A pair makes tiles of 128 x 64 pixels one after the other: the
 * producers fill the stages of a ring with the planes of tiles, the consumers multiply, round and store them.
 *
 * A product (wgmma) is a row of the kernel for 64 x 128 outputs:
 *   left operand, 64 x 64, sparse: the weights for 32 neighbours in two rows. A window of up to 32 columns, for any of
 *     32 neighbours, is in 64 samples, and of the samples i and i + 32 it never has both. So of four samples in the
 *     order i, i + 1, i + 32, i + 33 (i even) a row of the operand has two taps at most: the sparsity that the tensor
 *     units know. The taps of a neighbour, folded at 32, are the kernel's row turned by its position. Which of the two
 *     samples a tap belongs to is the same for all rows of the kernel, one register a lane.
 *   right operand, 64 x 128: samples, in that order. A column are the 64 samples of 32 neighbours; four of these side
 *     by side, and 32 pairs of rows.
 * h + 1 products make 8192 outputs. At 31 x 31, 961 of 1024 taps of the left operands are those of the kernel.
 *
 * Stages: a plane of a tile, in cores of 16 bytes by 8 columns, as the tensor units read it: [quarter of the 64
 * samples][even and odd rows][pair of rows][column]. Samples in the middle are in two columns, twice. The quarters
 * begin 16 bytes apart modulo 128, so that the eight lanes of a store share no bank.
 *
 * Left operands: [limb][kernel row, from the last up][16 neighbours][even and odd ones][half of the taps]: 1 KB for 32
 * neighbours. The second row of outputs takes the kernel row before, which is 1 KB further, so one row of the kernel
 * serves both. Zeros before the first and behind the last row.
 *
 * A lane's sums are two neighbours of each column; transposed on their way to shared memory (stmatrix), the results of
 * a warp for a column are 16 neighbours. They are a plane of 128 x 64 bytes, whose vectors of 16 bytes are swapped in
 * every other pair of rows, against bank conflicts.
 *
 * Late warps: a stage's barriers are gates, and count the arrivals of one round. A late warp still finds its own round:
 * `full` cannot go on before the consumers have emptied the stage, nor `empty` before the producers have filled it. So
 * neither is ever more than one round ahead, and the parity suffices.
 *
 * Bound by shared memory, of which a product reads 10 KB: docs/notes/convolve.md. */
#include "dense.cuh"
#include "sums.cuh"
#include "tile.cuh"
#include "warp_groups.cuh"

namespace cf {

namespace {

constexpr int team_threads = 128, pair_threads = 2 * team_threads, most_pairs = 2;
constexpr int tile_w = 128, tile_h = 64, columns = tile_w / 32;
constexpr int plane_bytes = tile_w * tile_h, kernel_row = 1024, row_taps = 32;
constexpr int most_stages = 3; /* of a pair */

/* Sizes of a launch's shared memory. */
struct Layout {
  int left;         /* samples of the first window before x0, a multiple of 8 */
  int rows;         /* of samples in a stage */
  int odd, quarter; /* bytes from even rows to odd ones, and from a quarter of the samples to the next one */
  int stage_bytes, stages; /* stages: of a pair */
  int planes;       /* of results */
  int pairs;
  int limb_bytes;   /* of left operands */
};

/* Returns the bytes of all pairs' results. */
__host__ __device__ inline int
results_of (const Layout &l)
{
  return l.pairs * l.planes * plane_bytes;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

constexpr int words = product_sums / 4;      /* of a lane's results */
constexpr int rows_apart = team_threads / 4; /* rows that a thread of the producers fills */

/* Named barriers: 0 is __syncthreads (). */
constexpr int team_barrier = 1, all_consumers = team_barrier + 2 * most_pairs;

/* ---- producers ----------------------------------------------------------- */

/* Returns the offset of the samples `at` and `at` + 1 (even) of column 0 in a row of a stage. */
__device__ __forceinline__ int
stage_offset (const Layout &l, int row, int at)
{
  return (at >> 3 & 3) * l.quarter + (row & 1) * l.odd + (row >> 1) * 16 * columns + (at & 6) * 2 + (at >> 5) * 2;
}

/* Loads eight pixels. */
template<int STEP> __device__ __forceinline__ void
load_eight (const uint8_t *from, unsigned *w)
{
  if constexpr (STEP == 4) {
    load_pixels<4, true> (from, w);
    load_pixels<4, true> (from + 16, w + 4);
  } else if constexpr (STEP == 2) {
    const uint4 v = *(const uint4 *) from;

    w[0] = v.x, w[1] = v.y, w[2] = v.z, w[3] = v.w;
  } else {
#pragma unroll
    for (int i = 0; i < STEP; i++) {
      const uint2 v = ((const uint2 *) from)[i];

      w[2 * i] = v.x, w[2 * i + 1] = v.y;
    }
  }
}

/* Writes again the samples of a plane that are in no piece of eight inside the image. Out of line: only tiles at the
 * left and right edges need it. */
static __device__ __noinline__ void
put_edges (const Work &work, int group, int plane, const Layout &l, uint8_t *stage, int x0, int y0, int thread)
{
  const Group &g = work.group[group];
  const int x = x0 - l.left, left = max (-x, 0) >> 3, right = max ((g.width - x) >> 3, left);
  const int pieces = left + max (min (4 * (columns + 1), (g.width + work.w - x + 7) >> 3) - right, 0);

  if (pieces == 0)
    return;
#pragma unroll 1
  for (int i = thread; i < l.rows * pieces * 2; i += team_threads) {
    const int row = i / (2 * pieces), k = i - row * 2 * pieces, half = k >> 1;
    const int piece = half < left ? half : half + right - left;
    const int at = 8 * piece + 4 * (k & 1), block = at >> 5;
    const unsigned word = edge_word (work, group, plane, x + at, y0 - work.ay + row).x;
    uint8_t *to = stage + stage_offset (l, row, at & 31) + 16 * block;

    if (block < columns)
      *(uint16_t *) to = (uint16_t) word, *(uint16_t *) (to + 4) = (uint16_t) (word >> 16);
    if (block > 0)
      *(uint16_t *) (to - 14) = (uint16_t) word, *(uint16_t *) (to - 10) = (uint16_t) (word >> 16);
  }
}

/* Returns the row of the image for row y, which may be outside; -1: none. */
__device__ __forceinline__ int
image_row (const Work &work, const Group &g, int y)
{
  const int clamped = min (max (y, 0), g.height - 1);

  return y == clamped || work.border == CF_BORDER_REPLICATE ? clamped : edge_row (work.border, y, g.height);
}

/* The samples of eight pixels of each of five blocks of 32, two pixels to a word: planes 0 and 1, and plane 2. Pixels
 * of one sample are as they are loaded. */
struct Samples {
  unsigned first[columns + 1][4], third[columns + 1][4];
};

/* Sorts the samples of eight pixels. */
template<int STEP> __device__ __forceinline__ void
sort_samples (const Group &g, const unsigned *w, unsigned *first, unsigned *third)
{
  const unsigned o0 = (unsigned) g.plane_offset (0), o1 = (unsigned) g.plane_offset (1);
  const unsigned two = o0 | (o0 + STEP) << 4 | o1 << 8 | (o1 + STEP) << 12;
  const unsigned o2 = (unsigned) g.plane_offset (2), one = o2 | (o2 + STEP) << 4;

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int at = 2 * STEP * i / 4, skip = 2 * STEP * i % 4; /* the word and the byte in which two pixels begin */
    const unsigned low = w[at], high = STEP > 2 ? w[at + 1] : w[at];

    first[i] = STEP == 1 ? w[i & 1] : __byte_perm (low, high, two + 0x1111 * skip);
    third[i] = STEP > 2 ? __byte_perm (low, high, one + 0x11 * skip) : 0;
  }
}

/* Repeats the first or the last one of eight pixels. */
template<int STEP> __device__ __forceinline__ void
repeat_pixel (unsigned *word, bool last)
{
  const unsigned v = last ? __byte_perm (word[3], 0, STEP == 1 ? 0x3333 : 0x3311)
      : __byte_perm (word[0], 0, STEP == 1 ? 0 : 0x2200);

#pragma unroll
  for (int i = 0; i < 4; i++)
    word[i] = v;
}

/* The pixels that a thread has loaded: 8 k to 8 k + 7 of five blocks of 32, in COUNT rows. */
template<int STEP> struct Pixels {
  static constexpr int COUNT = STEP == 1 ? 3 : STEP == 2 ? 2 : 1;
  unsigned word[COUNT][columns + 1][2 * STEP];
  bool outside[COUNT];
};

/* Loads pixels from x on in every 32nd row from row y on, up to row y_last. EDGE: some may be outside the image. */
template<int STEP, bool EDGE> __device__ __forceinline__ void
load_rows (const Work &work, const Group &g, int x, int y, int y_last, Pixels<STEP> &pixels)
{
  const int last = (g.width & ~7) - 8;

#pragma unroll
  for (int i = 0; i < pixels.COUNT; i++) {
    const int row = min (y + i * rows_apart, y_last), mapped = EDGE ? image_row (work, g, row) : row;
    const uint8_t *line = g.in + max (mapped, 0) * g.in_pitch + (EDGE ? 0 : x * STEP);

    pixels.outside[i] = mapped < 0;
#pragma unroll
    for (int j = 0; j <= columns; j++)
      load_eight<STEP> (line + (EDGE ? min (max (x + 32 * j, 0), last) * STEP : 32 * j * STEP), pixels.word[i][j]);
  }
}

/* Writes eight samples of a plane from each of five blocks to the four columns. */
template<int STEP> __device__ __forceinline__ void
put_samples (uint8_t *to, const Samples &s, int plane)
{
#pragma unroll
  for (int i = 0; i < columns; i++) {
    unsigned v[4];

#pragma unroll
    for (int k = 0; k < 4; k++)
      v[k] = STEP == 1 ? __byte_perm (s.first[i][k / 2], s.first[i + 1][k / 2], k % 2 ? 0x7632 : 0x5410)
          : plane == 2 ? __byte_perm (s.third[i][k], s.third[i + 1][k], 0x5410)
          : __byte_perm (s.first[i][k], s.first[i + 1][k], plane == 1 ? 0x7632 : 0x5410);
    *(uint4 *) (to + 16 * i) = make_uint4 (v[0], v[1], v[2], v[3]);
  }
}

/* Sets what is outside the image: left and right of it, pixels are repeated; above and below only with a constant. */
template<int STEP> __device__ __forceinline__ void
set_outside (const Work &work, const Group &g, Samples &s, int x, bool outside)
{
#pragma unroll
  for (int j = 0; j <= columns; j++) {
    if (x + 32 * j < 0 || x + 32 * j >= g.width) {
      repeat_pixel<STEP> (s.first[j], x + 32 * j > 0);
      repeat_pixel<STEP> (s.third[j], x + 32 * j > 0);
    }
    if (outside)
#pragma unroll
      for (int k = 0; k < 4; k++) {
        s.first[j][k] = (unsigned) work.outside[g.plane_chroma (0)] * (STEP == 1 ? 0x01010101u : 0x0101u);
        if (STEP > 1)
          s.first[j][k] |= (unsigned) work.outside[g.plane_chroma (1)] * 0x01010000u;
        s.third[j][k] = (unsigned) work.outside[g.plane_chroma (2)] * 0x0101u;
      }
  }
}

/* Fills as many stages as the group has planes with the tile at (x0, y0). EDGE: it has samples outside the image. */
template<int STEP, bool EDGE> __device__ __forceinline__ void
fill_stages (const Work &work, const Group &g, const Layout &l, const Ring &ring, int x0, int y0, int thread)
{
  const int quad = thread >> 2, first = (quad & ~3) | (quad & 1) << 1 | (quad >> 1 & 1), k = thread & 3;
  const int x = x0 - l.left + 8 * k, y = y0 - work.ay, y_last = y + l.rows - 1;
  Pixels<STEP> pixels;
  constexpr int step = pixels.COUNT * rows_apart;

#pragma unroll 1
  for (int row = first; row < l.rows + first; row += step) {
    Samples samples[pixels.COUNT];
    Ring stage = ring;

    load_rows<STEP, EDGE> (work, g, x, y + row, y_last, pixels);
#pragma unroll
    for (int i = 0; i < pixels.COUNT; i++) {
#pragma unroll
      for (int j = 0; j <= columns; j++)
        sort_samples<STEP> (g, pixels.word[i][j], samples[i].first[j], samples[i].third[j]);
      if (EDGE)
        set_outside<STEP> (work, g, samples[i], x, pixels.outside[i]);
    }
#pragma unroll
    for (int p = 0; p < (STEP > 2 ? 3 : STEP); p++) {
      if (p >= g.planes)
        break;
      if (row == first)
        stage.wait_empty ();
#pragma unroll
      for (int i = 0; i < pixels.COUNT; i++)
        if (row + i * rows_apart < l.rows)
          put_samples<STEP> (stage.at () + stage_offset (l, row + i * rows_apart, 8 * k), samples[i], p);
      stage.next ();
    }
  }
}

template<int STEP> __device__ __forceinline__ void
fill_tile_stages (const Work &work, const Group &g, const Layout &l, const Ring &ring, int x0, int y0, bool edge,
    int thread)
{
  const int y = y0 - work.ay;

  if (edge || y < 0 || y + l.rows > g.height)
    fill_stages<STEP, true> (work, g, l, ring, x0, y0, thread);
  else
    fill_stages<STEP, false> (work, g, l, ring, x0, y0, thread);
}

/* Fills the stages of a tile and hands them over. */
__device__ __forceinline__ void
produce_tile (const Work &work, const Group &g, const Layout &l, Ring &ring, int x0, int y0, int team, int thread)
{
  const bool edge = x0 < l.left || x0 - l.left + 32 * (columns + 1) > g.width; /* at the left or right */

  if (g.step == 1)
    fill_tile_stages<1> (work, g, l, ring, x0, y0, edge, thread);
  else if (g.step == 2)
    fill_tile_stages<2> (work, g, l, ring, x0, y0, edge, thread);
  else if (g.step == 3)
    fill_tile_stages<3> (work, g, l, ring, x0, y0, edge, thread);
  else
    fill_tile_stages<4> (work, g, l, ring, x0, y0, edge, thread);
  if (edge && (work.border != CF_BORDER_REPLICATE || (g.width & 7) != 0)) {
    Ring stage = ring;

    wait_for_threads (team_barrier + team, team_threads);
#pragma unroll 1
    for (int p = 0; p < g.planes; p++, stage.next ())
      put_edges (work, g.index, p, l, stage.at (), x0, y0, thread);
  }
  fence_shared ();
  __syncwarp ();
#pragma unroll 1
  for (int p = 0; p < g.planes; p++, ring.next ()) {
    sleep_ns (ring.late);
    if ((thread & 31) == 0)
      ring.set_full ();
  }
}

/* ---- consumers ----------------------------------------------------------- */

/* Makes the left operands of all limbs. `raw`: room for the rows of the weights, twice each. All consumers call this.
 * A thread makes the taps of a neighbour in a row of the kernel. `shift`: samples of its window before the taps. */
__device__ __forceinline__ void
make_operands (const uint4 *weights, int limbs, int h, int shift, uint8_t *operands, unsigned *raw, int thread,
    int n_threads)
{
  constexpr int row_words = 2 * row_taps / 4;
  const int neighbour = 16 * (thread >> 4 & 1) + 2 * (thread & 7) + (thread >> 3 & 1), start = neighbour + shift;
  const int from = -start & 31;                                     /* the tap that sample 0 or 32 has */
  const int mixed = start % 2 && start < 32 ? (start - 1) >> 2 : -1; /* word in which sample i + 1 is before i + 32 */

  for (int i = thread; i < limbs * h * row_words / 4; i += n_threads)
    ((uint4 *) raw)[i] = read_argument (weights + (i >> 2) * 2 + (i & 1));
  for (int i = thread; i < limbs * 2 * kernel_row / 16; i += n_threads) {
    const int row = i / (kernel_row / 16), limb = row >> 1;

    ((uint4 *) (operands + (limb * (h + 2) + (row & 1 ? h + 1 : 0)) * kernel_row))[i % (kernel_row / 16)]
        = make_uint4 (0, 0, 0, 0);
  }
  wait_for_threads (all_consumers, n_threads);
#pragma unroll 1
  for (int i = thread >> 5; i < limbs * h; i += n_threads / 32) {
    const int limb = i / h, row = i - limb * h;
    const unsigned *taps = raw + i * row_words + (from >> 2);
    uint4 *to = (uint4 *) (operands + (limb * (h + 2) + h - row) * kernel_row + (thread >> 3 & 3) * 256) + (thread & 7);
    unsigned w[9];

#pragma unroll
    for (int k = 0; k < 9; k++)
      w[k] = taps[k];
#pragma unroll
    for (int k = 0; k < 8; k++) {
      w[k] = __funnelshift_r (w[k], w[k + 1], 8 * (from & 3));
      if (k == mixed)
        w[k] = __byte_perm (w[k], 0, (start - 1) & 2 ? 0x2310 : 0x3201);
    }
    to[0] = make_uint4 (w[0], w[1], w[2], w[3]);
    to[8] = make_uint4 (w[4], w[5], w[6], w[7]);
  }
  fence_shared ();
  wait_for_threads (all_consumers, n_threads);
}

/* Returns where the taps of a lane's part of the left operands are, two bits for each: of four samples the two that
 * have taps. Lane 4 g + t has the row g + 8 (t % 2) of its warp, in samples 32 (t / 2) to 32 (t / 2) + 31. */
__device__ __forceinline__ unsigned
tap_positions (int shift, int warp, int lane)
{
  const int start = 16 * (warp & 1) + 2 * (lane >> 2) + (lane & 1) + shift;
  unsigned positions = 0;

#pragma unroll
  for (int k = 0; k < 8; k++) {
    const int i = 16 * (lane >> 1 & 1) + 2 * k;

    positions |= (i >= start ? 0x4u : i + 1 == start ? 0x9u : 0xeu) << 4 * k;
  }
  return positions;
}

/* Adds the products of all limbs of a plane. */
__device__ __forceinline__ void
add_products (int *sum, const Work &work, const Layout &l, const uint8_t *operands, const uint8_t *stage,
    unsigned positions)
{
#pragma unroll 1
  for (int limb = work.limbs - 1; limb >= 0; limb--) {
    unsigned long long a = descriptor (operands + limb * l.limb_bytes + work.h * kernel_row, 128, 256);
    unsigned long long b = descriptor (stage, l.quarter, 128);

#pragma unroll
    for (int i = 0; i < product_sums; i++)
      sum[i] <<= 8;
    begin_products (sum);
#pragma unroll 4
    for (int pairs = (work.h + 1) / 2; pairs > 0; pairs--, a -= 2 * kernel_row / 16, b += columns) {
      queue_product (sum, a, b, positions);
      queue_product (sum, a - kernel_row / 16, b + (unsigned) l.odd / 16, positions);
    }
    if (work.h % 2 == 0)
      queue_product (sum, a, b, positions);
    wait_for_products (sum);
  }
}

/* Returns the address of a result, and of those behind it up to a multiple of 16. */
__device__ __forceinline__ uint8_t *
result_at (uint8_t *results, int row, int x)
{
  return results + row * tile_w + (x ^ (row << 3 & 16));
}

/* Rounds a lane's sums of plane p, whose samples are in `stage`, and writes them to the plane's results. */
__device__ __forceinline__ void
put_results (const int *sum, const Work &work, const Group &g, const Layout &l, const uint8_t *stage, int p, int warp,
    int lane, uint8_t *results)
{
  const int at = 16 * (warp & 1) + 2 * (lane >> 2) + l.left, column = 2 * (lane & 1);
  const int row = 2 * (lane >> 1 & 1) + (warp >> 1), matrix_row = 2 * (lane >> 2 & 1) + (warp >> 1) + 4 * (lane >> 3);
  const int x = 32 * (lane & 3) + 16 * (warp & 1);
  int ordered[words][4];
  unsigned word[words];

#pragma unroll
  for (int i = 0; i < words; i++)
#pragma unroll
    for (int k = 0; k < 4; k++)
      ordered[i][k] = sum[4 * i + k / 2 + k % 2 * 2];
  round_words<words, 16, true> (work.rounding, g.plane_chroma (p), ordered, word,
      [&] (int i) { return stage + stage_offset (l, work.ay + 4 * i + row, at) + 16 * column; });
#pragma unroll
  for (int i = 0; i < words; i += 4)
    store_transposed (result_at (results, 4 * i + matrix_row, x), word + i);
}

/* Stores a tile's rows from the results of its planes. */
__device__ __forceinline__ void
store_tile (const Work &work, const Group &g, uint8_t *results, int x0, int y0, int thread)
{
  const int lane = thread & 31, row = (thread >> 5) * (tile_h / 4);

  if (g.step == 1 && x0 + tile_w <= g.width && (((uintptr_t) g.out | (uintptr_t) g.out_pitch) & 15) == 0) {
#pragma unroll
    for (int i = 0; i < tile_h; i += team_threads / 8) {
      const int r = i + (thread >> 3), x = 16 * (thread & 7);

      if (y0 + r < g.height)
        *(uint4 *) (g.out + (y0 + r) * g.out_pitch + x0 + x) = *(const uint4 *) result_at (results, r, x);
    }
    return;
  }
  store_results<tile_h / 4> (work, g, x0, y0 + row, lane,
      [&] (int r, int p, int x) { return result_at (results + p * plane_bytes, row + r, x); });
}

/* Filters a tile, whose planes are the next stages of the ring. */
__device__ __forceinline__ void
consume_tile (const Work &work, const Group &g, const Layout &l, Ring &ring, const uint8_t *operands,
    unsigned positions, uint8_t *results, int team, int x0, int y0, int thread)
{
  const int warp = thread >> 5, lane = thread & 31;
  const bool needs_samples = !work.rounding.narrow && work.rounding.quick == QUICK_NONE;

  wait_for_threads (team_barrier + team, team_threads); /* the results before have been stored */
#pragma unroll 1
  for (int p = 0; p < g.planes; p++, ring.next ()) {
    int sum[product_sums] = { };

    ring.wait_full ();
    add_products (sum, work, l, operands, ring.at (), positions);
    if (lane == 0 && !needs_samples)
      ring.set_empty ();
    put_results (sum, work, g, l, ring.at (), p, warp, lane, results + p * plane_bytes);
    sleep_ns (ring.late);
    __syncwarp ();
    if (lane == 0 && needs_samples)
      ring.set_empty ();
  }
  wait_for_threads (team_barrier + team, team_threads);
  store_tile (work, g, results, x0, y0, thread);
}

/* Reads all of an argument, a line of the constant cache a time, by all warps at once: one after the other, as they are
 * needed, they would take the time of the first tile. */
__device__ __forceinline__ void
fetch_arguments (const void *argument, size_t bytes)
{
#pragma unroll 2
  for (size_t i = threadIdx.x / 32; i < bytes / 64; i += blockDim.x / 32)
    asm volatile ("" : : "r" (((const int *) argument)[16 * i]));
}

/* Prefetches the rows of a tile into the L2 cache. */
__device__ __forceinline__ void
prefetch_tile (const Group &g, int x0, int y0, int thread)
{
  for (int i = thread; i < tile_h * g.step; i += team_threads) {
    const int y = y0 + i % tile_h, byte = x0 * g.step + i / tile_h * 128;

    if (y < g.height && byte < g.width * g.step)
      asm volatile ("prefetch.global.L2 [%0];" : : "l" (__cvta_generic_to_global (g.in + y * g.in_pitch + byte)));
  }
}

/* Calls make (group, x, y) for each tile of a pair. */
template<typename Make> __device__ __forceinline__ void
for_tiles (const Work &work, const Layout &l, int pair, Make make)
{
  int i = pair * (int) gridDim.x + (int) blockIdx.x;

#pragma unroll 1
  for (int n = 0; n < work.n; n++) {
    const Group g = work.group[n];
    const int end = n + 1 < work.n ? work.group[n + 1].first_block : work.blocks;

#pragma unroll 1
    for (; i < end; i += l.pairs * (int) gridDim.x) {
      const int2 position = block_position (g, i);

      make (g, position.x * tile_w, position.y * tile_h);
    }
  }
}

/* Filters the tiles of the thread's pair. Teams are numbered pair by pair, the consumers first. */
template<bool LATE> __device__ __forceinline__ void
filter (const Work &work, const Layout &l, const uint4 *weights, uint8_t *memory, unsigned barriers)
{
  const int team = __shfl_sync (0xffffffffu, (int) threadIdx.x / team_threads, 0), pair = team >> 1;
  const int thread = (int) threadIdx.x % team_threads, warp = __shfl_sync (0xffffffffu, thread >> 5, 0);
  uint8_t *all_results = memory + work.limbs * l.limb_bytes, *results = all_results + pair * l.planes * plane_bytes;
  Ring ring = { all_results + results_of (l) + pair * l.stages * l.stage_bytes, barriers + 16 * pair * l.stages,
    l.stages, l.stage_bytes, 0, 0, LATE ? late_ns (work.late, 0) : 0 };

  if (team & 1) {
    bool waited = false;

    for_tiles (work, l, pair, [&] (const Group &g, int x0, int y0) {
      if (!waited) {
        prefetch_tile (g, x0, y0, thread);
        griddep_wait ();
        waited = true;
      }
      if (g.planes > 0)
        produce_tile (work, g, l, ring, x0, y0, team, thread);
    });
  } else {
    const unsigned positions = tap_positions (l.left - work.ax, warp, thread & 31);

    make_operands (weights, work.limbs, work.h, l.left - work.ax, memory, (unsigned *) all_results,
        pair * team_threads + thread, l.pairs * team_threads);
    griddep_wait ();
    for_tiles (work, l, pair, [&] (const Group &g, int x0, int y0) {
      if (g.planes > 0)
        consume_tile (work, g, l, ring, memory, positions, results, team, x0, y0, thread);
      else
        copy_group (work, g, x0, y0, tile_w, tile_h, thread, team_threads);
    });
  }
}

#endif /* __CUDA_ARCH_FEAT_SM90_ALL */

/* Empty unless compiled for what only capability 9.0 has. LATE: for the test override. */
template<int SIZE, bool LATE> __global__ void
__launch_bounds__ (most_pairs * pair_threads, 1)
convolve_sparse_kernel (const __grid_constant__ Work work, const __grid_constant__ Layout l,
    const __grid_constant__ DenseWeights<SIZE> weights)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__ (128) uint8_t memory[];
  __shared__ uint64_t barrier[most_pairs * 2 * most_stages];
  const unsigned barriers = shared_address (barrier);

  if ((int) threadIdx.x < 2 * l.pairs * l.stages) /* all have as many arrivals: the warps of a warp group */
    asm volatile ("mbarrier.init.shared.b64 [%0], %1;"
        : : "r" (barriers + 8 * threadIdx.x), "n" (team_threads / 32) : "memory");
  fetch_arguments (&work, sizeof work);
  __syncthreads ();
  filter<LATE> (work, l, weights.bytes, memory, barriers);
#endif
}

/* Small arguments are launched sooner. */
const struct Variant {
  int size;
  const void *kernel;
} variants[] = {
  { sparse_small, (const void *) convolve_sparse_kernel<sparse_small, false> },
  { sparse_large, (const void *) convolve_sparse_kernel<sparse_large, false> },
  { sparse_large, (const void *) convolve_sparse_kernel<sparse_large, true> },
};

int
shared_of (const Layout &l, int limbs)
{
  return limbs * l.limb_bytes + results_of (l) + l.pairs * l.stages * l.stage_bytes;
}

/* Sets the sizes for groups of up to `planes` planes; returns false if the kernel does not fit. The rows of the weights
 * need room where the results will be. */
bool
set_layout (const CfConvolution &c, int limbs, int planes, int max_shared, Layout *l)
{
  const int left = (c.ax + 7) & ~7, rows = tile_h + c.h - 1, odd = (rows + 1) / 2 * 16 * columns;
  const int quarter = (2 * odd + 127) / 128 * 128 + 16, stage_bytes = (4 * quarter + 127) / 128 * 128;

  *l = Layout { left, rows, odd, quarter, stage_bytes, 0, planes, 0, (c.h + 2) * kernel_row };
  /* the window of the last of 32 neighbours ends with sample 63; of 33 columns it would have two samples 32 apart */
  if (c.w > row_taps || 31 + left - c.ax + c.w > 64 || limbs > sparse_limbs)
    return false;
  for (l->pairs = most_pairs; l->pairs > 0; l->pairs--)
    for (l->stages = most_stages; l->stages >= planes && l->stages > 1; l->stages--)
      if (shared_of (*l, limbs) <= max_shared - fixed_shared && limbs * c.h * 2 * row_taps <= results_of (*l))
        return true;
  return false;
}

/* Returns true if dense.cu would take longer, as measured on an H200. It needs half the products up to 15 columns. Of
 * kernels with less than 10 columns only large ones were measured. */
bool
has_enough_work (const CfConvolution &c, int limbs)
{
  return limbs * c.h * (c.w > 15 ? 2 : 1) >= (c.w < 10 ? 30 : 10);
}

} // namespace

CfCode
convolve_sparse_init (int max_shared, bool *there, CfStatus *status)
{
  cudaFuncAttributes attributes;
  CfCode code = cf_cuda_check (cudaFuncGetAttributes (&attributes, variants[0].kernel),
      "loading the convolution's kernels", status);

  *there = code == CF_OK && attributes.sharedSizeBytes > 0; /* an empty kernel has no barriers */
  return *there ? convolve_load_variants (variants, max_shared, status) : code;
}

bool
convolve_sparse_launch (Work *work, const CfConvolution &c, int max_shared, Operands *operands, cudaStream_t stream,
    CfCode *code, CfStatus *status)
{
  const void *kernel = variants[work->late.ns > 0 ? 2 : work->limbs * c.h * row_taps > sparse_small].kernel;
  int planes = 1;
  Layout l;
  void *arguments[] = { work, &l, operands->bytes };

  for (int i = 0; i < work->n; i++) {
    const Group &g = work->group[i];

    if (g.planes > 0 && (!g.in_vectors || g.gray || g.width < 8))
      return false;
    planes = g.planes > planes ? g.planes : planes;
  }
  if (c.bits != 8 || !has_enough_work (c, work->limbs) || !set_layout (c, work->limbs, planes, max_shared, &l))
    return false;
  if (convolve_renew (operands, kernel, NULL, 0))
    convolve_split_weights (c.weights, c.w, c.h, work->limbs, 1, row_taps, row_taps * c.h, operands->bytes);
  convolve_assign_blocks (work, tile_w, tile_h);
  *code = launch_kernel ("convolve sparse", kernel, work->blocks < work->sms ? work->blocks : work->sms,
      l.pairs * pair_threads, arguments, (size_t) shared_of (l, work->limbs), work->pdl, stream, status);
  return true;
}

} // namespace cf
