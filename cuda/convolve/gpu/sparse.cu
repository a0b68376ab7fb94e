/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/sparse.cu: any kernel up to 63 x 63 on 8-bit samples, on the tensor units of compute capability 9.0: one
 * half of a sparse operand is zero, and need not be multiplied.
 *
 * Map: one block an SM, of two pairs of warp groups. A pair makes tiles of 128 x 64 pixels one after the other: the
 * producers fill the stages of a ring with the planes of tiles, the consumers multiply, round and store them.
 *
 * A product (wgmma) is a row of a kernel of up to 32 columns for 64 x 128 outputs:
 *   left operand, 64 x 64, sparse: the weights for 32 neighbours in two rows. A window of up to 32 columns, for any of
 *     32 neighbours, is in 64 samples, and of the samples i and i + 32 it never has both. So of four samples in the
 *     order i, i + 1, i + 32, i + 33 (i even) a row of the operand has two taps at most: the sparsity that the tensor
 *     units know. The taps of a neighbour, folded at 32, are the kernel's row turned by its position. Which of the two
 *     samples a tap belongs to is the same for all rows of the kernel, one register a lane.
 *   right operand, 64 x 128: samples, in that order. A column are the 64 samples of 32 neighbours; four of these side
 *     by side, and 32 pairs of rows.
 * h + 1 products make 8192 outputs. At 31 x 31, 961 of 1024 taps of the left operands are those of the kernel.
 *
 * Of kernels with more columns a row takes two products, for 64 neighbours in one row: a window of up to 64 columns,
 * for any of them, is in 128 samples, and never has both of i and i + 64. A column are the 128 samples of 64
 * neighbours; two of these side by side, and 64 rows. 2 h products make 8192 outputs.
 *
 * Stages: a plane of a tile, in cores of 16 bytes by 8 columns, as the tensor units read it: [16 of the samples][even
 * and odd rows][pair of rows][column], with 64 neighbours [16 of the samples][row][column]. Samples in the middle are
 * in two columns, twice. The sixteens begin 16 bytes apart modulo 128, so that eight lanes of a store share no bank.
 *
 * Left operands: [limb][kernel row, from the last up][16 neighbours][even and odd ones][half of the taps]: 1 KB for 32
 * neighbours. The second row of outputs takes the kernel row before, which is 1 KB further, so one row of the kernel
 * serves both. Zeros before the first and behind the last row.
 *   With 64 neighbours: 16 taps of 16 neighbours depend only on how many times 16 samples the taps begin after the
 * neighbours, -3 to 3: [limb][kernel row][that, from -3 on][even and odd neighbours], 1792 bytes a row. So that the
 * address grows with both, the sixteens of neighbours of a product are in falling order. Where the operands of all rows
 * do not fit shared memory, as with several limbs, a warp group makes them again and again in a ring, for both pairs at
 * once, 16 rows a stage, and one warp group fills the stages of both pairs.
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
constexpr int tile_w = 128, tile_h = 64, plane_bytes = tile_w * tile_h;
constexpr int most_stages = 3; /* of a ring */
constexpr int chunk_rows = 16; /* of the kernel, in a stage of left operands */

/* Sizes of a launch's shared memory. NEIGHBOURS: of a product, 32 or 64. */
template<int NEIGHBOURS> struct Layout {
  static constexpr int columns = tile_w / NEIGHBOURS; /* of a right operand, side by side */
  static constexpr int kernel_row = NEIGHBOURS == 32 ? 1024 : 1792; /* bytes of a left operand */
  static constexpr bool single = NEIGHBOURS == 64; /* planes are loaded one by one */

  int left;         /* samples of the first window before x0, a multiple of 8 */
  int rows;         /* of samples in a stage */
  int odd, quarter; /* bytes from even rows to odd ones, and from 16 samples of a column to the next ones */
  int stage_bytes, stages; /* stages: of a pair */
  int planes;       /* of results */
  int pairs;
  int limb_bytes;   /* of left operands */
};

/* Returns the bytes of all pairs' results. */
template<int NEIGHBOURS> __host__ __device__ inline int
results_of (const Layout<NEIGHBOURS> &l)
{
  return l.pairs * l.planes * plane_bytes;
}

/* Returns the bytes of the left operands. STREAMS: they come through a ring. */
template<bool STREAMS, int NEIGHBOURS> __host__ __device__ inline int
operands_of (const Layout<NEIGHBOURS> &l, int limbs)
{
  return STREAMS ? most_stages * chunk_rows * l.kernel_row : limbs * l.limb_bytes;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

constexpr int words = product_sums / 4;      /* of a lane's results */
/* Rows that a thread of the producers fills. */
template<int NEIGHBOURS> constexpr int rows_apart = team_threads * 8 / NEIGHBOURS;

/* Named barriers: 0 is __syncthreads (). */
constexpr int team_barrier = 1, all_consumers = team_barrier + 2 * most_pairs;

/* ---- producers ----------------------------------------------------------- */

/* Returns the offset of the samples `at` and `at` + 1 (even) of column 0 in a row of a stage. */
template<int NEIGHBOURS> __device__ __forceinline__ int
stage_offset (const Layout<NEIGHBOURS> &l, int row, int at)
{
  const int row_at = NEIGHBOURS == 64 ? row * 16 * l.columns : (row & 1) * l.odd + (row >> 1) * 16 * l.columns;

  return (at >> 3 & (NEIGHBOURS / 8 - 1)) * l.quarter + row_at + (at & 6) * 2 + (int) ((unsigned) at / NEIGHBOURS) * 2;
}

/* Writes again the samples of a plane that are in no piece of eight inside the image. Out of line: only tiles at the
 * left and right edges need it. */
template<int NEIGHBOURS> static __device__ __noinline__ void
put_edges (const Work &work, int group, int plane, const Layout<NEIGHBOURS> &l, uint8_t *stage, int x0, int y0,
    int thread)
{
  const Group &g = work.group[group];
  const int x = x0 - l.left, left = max (-x, 0) >> 3, right = max ((g.width - x) >> 3, left);
  const int pieces = left + max (min (NEIGHBOURS / 8 * (l.columns + 1), (g.width + work.w - x + 7) >> 3) - right, 0);

  if (pieces == 0)
    return;
#pragma unroll 1
  for (int i = thread; i < l.rows * pieces * 2; i += team_threads) {
    const int row = i / (2 * pieces), k = i - row * 2 * pieces, half = k >> 1;
    const int piece = half < left ? half : half + right - left;
    const int at = 8 * piece + 4 * (k & 1), block = (int) ((unsigned) at / NEIGHBOURS);
    const unsigned word = edge_word (work, group, plane, x + at, y0 - work.ay + row).x;
    uint8_t *to = stage + stage_offset (l, row, at & (NEIGHBOURS - 1)) + 16 * block;

    if (block < l.columns)
      *(uint16_t *) to = (uint16_t) word, *(uint16_t *) (to + 4) = (uint16_t) (word >> 16);
    if (block > 0)
      *(uint16_t *) (to - 14) = (uint16_t) word, *(uint16_t *) (to - 10) = (uint16_t) (word >> 16);
  }
}

/* The samples of eight pixels of each block of NEIGHBOURS, two pixels to a word: planes 0 and 1, and plane 2. SINGLE:
 * those of one plane, four pixels to a word, in first[0] and [1]. */
template<int NEIGHBOURS> struct Samples {
  unsigned first[Layout<NEIGHBOURS>::columns + 1][4], third[Layout<NEIGHBOURS>::columns + 1][4];
};

/* Sorts the samples of eight pixels; SINGLE: of a plane. */
template<int STEP, bool SINGLE> __device__ __forceinline__ void
sort_samples (const Group &g, int plane, const unsigned *w, unsigned *first, unsigned *third)
{
  const unsigned o0 = (unsigned) g.plane_offset (0), o1 = (unsigned) g.plane_offset (1);
  const unsigned two = o0 | (o0 + STEP) << 4 | o1 << 8 | (o1 + STEP) << 12;
  const unsigned o2 = (unsigned) g.plane_offset (2), one = o2 | (o2 + STEP) << 4;

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int at = 2 * STEP * i / 4, skip = 2 * STEP * i % 4; /* the word and the byte in which two pixels begin */
    const unsigned low = w[at], high = STEP > 2 ? w[at + 1] : w[at];

    first[i] = SINGLE ? pick_bytes<STEP> (w + (i & 1) * STEP, (unsigned) g.plane_offset (plane))
        : __byte_perm (low, high, two + 0x1111 * skip);
    third[i] = !SINGLE && STEP > 2 ? __byte_perm (low, high, one + 0x11 * skip) : 0;
  }
}

/* Repeats the first or the last one of eight pixels. */
template<bool SINGLE> __device__ __forceinline__ void
repeat_pixel (unsigned *word, bool last)
{
  const unsigned v = last ? __byte_perm (word[3], 0, SINGLE ? 0x3333 : 0x3311)
      : __byte_perm (word[0], 0, SINGLE ? 0 : 0x2200);

#pragma unroll
  for (int i = 0; i < 4; i++)
    word[i] = v;
}

/* The pixels that a thread has loaded: 8 k to 8 k + 7 of each block of NEIGHBOURS, in COUNT rows. */
template<int NEIGHBOURS, int STEP> struct Pixels {
  static constexpr int COUNT = STEP == 1 ? (NEIGHBOURS == 64 ? 4 : 3) : STEP == 2 ? 2 : 1;
  unsigned word[COUNT][Layout<NEIGHBOURS>::columns + 1][2 * STEP];
  bool outside[COUNT];
};

/* Loads pixels from x on in every 32nd or 16th row from row y on, up to row y_last. EDGE: some may be outside the
 * image. */
template<int STEP, bool EDGE, int NEIGHBOURS> __device__ __forceinline__ void
load_rows (const Work &work, const Group &g, int x, int y, int y_last, Pixels<NEIGHBOURS, STEP> &pixels)
{
  const int last = (g.width & ~7) - 8;

#pragma unroll
  for (int i = 0; i < pixels.COUNT; i++) {
    const int row = min (y + i * rows_apart<NEIGHBOURS>, y_last);
    const int mapped = EDGE ? image_row (work.border, row, g.height) : row;
    const uint8_t *line = g.in + max (mapped, 0) * g.in_pitch + (EDGE ? 0 : x * STEP);

    pixels.outside[i] = mapped < 0;
#pragma unroll
    for (int j = 0; j <= tile_w / NEIGHBOURS; j++)
      load_words<2 * STEP, STEP % 2 ? 2 : 4> (line + (EDGE ? min (max (x + NEIGHBOURS * j, 0), last) * STEP
          : NEIGHBOURS * j * STEP), pixels.word[i][j]);
  }
}

/* Writes eight samples of a plane from each block to the columns. */
template<bool SINGLE, int NEIGHBOURS> __device__ __forceinline__ void
put_samples (uint8_t *to, const Samples<NEIGHBOURS> &s, int plane)
{
#pragma unroll
  for (int i = 0; i < tile_w / NEIGHBOURS; i++) {
    unsigned v[4];

#pragma unroll
    for (int k = 0; k < 4; k++)
      v[k] = SINGLE ? __byte_perm (s.first[i][k / 2], s.first[i + 1][k / 2], k % 2 ? 0x7632 : 0x5410)
          : plane == 2 ? __byte_perm (s.third[i][k], s.third[i + 1][k], 0x5410)
          : __byte_perm (s.first[i][k], s.first[i + 1][k], plane == 1 ? 0x7632 : 0x5410);
    *(uint4 *) (to + 16 * i) = make_uint4 (v[0], v[1], v[2], v[3]);
  }
}

/* Sets what is outside the image: left and right of it, pixels are repeated; above and below only with a constant. */
template<bool SINGLE, int NEIGHBOURS> __device__ __forceinline__ void
set_outside (const Work &work, const Group &g, int plane, Samples<NEIGHBOURS> &s, int x, bool outside)
{
#pragma unroll
  for (int j = 0; j <= tile_w / NEIGHBOURS; j++) {
    const int at = x + NEIGHBOURS * j;

    if (at < 0 || at >= g.width) {
      repeat_pixel<SINGLE> (s.first[j], at > 0);
      repeat_pixel<SINGLE> (s.third[j], at > 0);
    }
    if (outside)
#pragma unroll
      for (int k = 0; k < 4; k++) {
        s.first[j][k] = (unsigned) work.outside[g.plane_chroma (plane)] * (SINGLE ? 0x01010101u : 0x0101u);
        if (!SINGLE)
          s.first[j][k] |= (unsigned) work.outside[g.plane_chroma (1)] * 0x01010000u;
        s.third[j][k] = (unsigned) work.outside[g.plane_chroma (2)] * 0x0101u;
      }
  }
}

/* Fills a stage for each plane from `plane` on, up to plane `end`, with the tile at (x0, y0). EDGE: it has samples
 * outside the image. */
template<int STEP, bool EDGE, int NEIGHBOURS> __device__ __forceinline__ void
fill_stages (const Work &work, const Group &g, const Layout<NEIGHBOURS> &l, const Ring &ring, int plane, int end,
    int x0, int y0, int thread)
{
  constexpr bool single = STEP == 1 || l.single;
  constexpr int apart = rows_apart<NEIGHBOURS>, step = Pixels<NEIGHBOURS, STEP>::COUNT * apart;
  const int quad = thread >> 2, swapped = (quad & ~3) | (quad & 1) << 1 | (quad >> 1 & 1);
  const int first = NEIGHBOURS == 64 ? thread >> 3 : swapped, k = thread & (NEIGHBOURS / 8 - 1);
  const int x = x0 - l.left + 8 * k, y = y0 - work.ay, y_last = y + l.rows - 1;
  Pixels<NEIGHBOURS, STEP> pixels;

#pragma unroll 1
  for (int row = first; row < l.rows + first; row += step) {
    Samples<NEIGHBOURS> samples[pixels.COUNT];
    Ring stage = ring;

    load_rows<STEP, EDGE> (work, g, x, y + row, y_last, pixels);
#pragma unroll
    for (int i = 0; i < pixels.COUNT; i++) {
#pragma unroll
      for (int j = 0; j <= l.columns; j++)
        sort_samples<STEP, single> (g, plane, pixels.word[i][j], samples[i].first[j], samples[i].third[j]);
      if (EDGE)
        set_outside<single> (work, g, plane, samples[i], x, pixels.outside[i]);
    }
#pragma unroll
    for (int p = 0; p < (single ? 1 : STEP > 2 ? 3 : STEP); p++) {
      if (!single && p >= end)
        break;
      if (row == first)
        stage.wait_empty ();
#pragma unroll
      for (int i = 0; i < pixels.COUNT; i++)
        if (row + i * apart < l.rows)
          put_samples<single> (stage.at () + stage_offset (l, row + i * apart, 8 * k), samples[i], p);
      stage.next ();
    }
  }
}

template<int STEP, int NEIGHBOURS> __device__ __forceinline__ void
fill_tile_stages (const Work &work, const Group &g, const Layout<NEIGHBOURS> &l, const Ring &ring, int plane, int end,
    int x0, int y0, bool edge, int thread)
{
  const int y = y0 - work.ay;

  if (edge || y < 0 || y + l.rows > g.height)
    fill_stages<STEP, true> (work, g, l, ring, plane, end, x0, y0, thread);
  else
    fill_stages<STEP, false> (work, g, l, ring, plane, end, x0, y0, thread);
}

/* Fills the stages of the planes from `plane` to `end` - 1 of a tile and hands them over. */
template<int NEIGHBOURS> __device__ __forceinline__ void
produce_planes (const Work &work, const Group &g, const Layout<NEIGHBOURS> &l, Ring &ring, int plane, int end, int x0,
    int y0, int team, int thread)
{
  const bool edge = x0 < l.left || x0 - l.left + NEIGHBOURS * (l.columns + 1) > g.width; /* at the left or right */

  if (g.step == 1)
    fill_tile_stages<1> (work, g, l, ring, plane, end, x0, y0, edge, thread);
  else if (g.step == 2)
    fill_tile_stages<2> (work, g, l, ring, plane, end, x0, y0, edge, thread);
  else if (g.step == 3)
    fill_tile_stages<3> (work, g, l, ring, plane, end, x0, y0, edge, thread);
  else
    fill_tile_stages<4> (work, g, l, ring, plane, end, x0, y0, edge, thread);
  if (edge && (work.border != CF_BORDER_REPLICATE || (g.width & 7) != 0)) {
    Ring stage = ring;

    wait_for_threads (team_barrier + team, team_threads);
#pragma unroll 1
    for (int p = plane; p < end; p++, stage.next ())
      put_edges (work, g.index, p, l, stage.at (), x0, y0, thread);
  }
  fence_shared ();
  __syncwarp ();
#pragma unroll 1
  for (int p = plane; p < end; p++, ring.next ()) {
    sleep_ns (ring.late);
    if ((thread & 31) < arrivals)
      ring.set_full ();
  }
}

/* ---- left operands ------------------------------------------------------- */

/* Makes the left operands of all limbs, for 32 neighbours. `raw`: room for the rows of the weights, twice each. All
 * consumers call this. A thread makes the taps of a neighbour in a row of the kernel. `shift`: samples of its window
 * before the taps. */
__device__ __forceinline__ void
make_operands (const Layout<32> &l, const uint4 *weights, int limbs, int h, int shift, uint8_t *operands,
    unsigned *raw, int thread, int n_threads)
{
  constexpr int row_words = 2 * 32 / 4; /* of raw */
  const int neighbour = 16 * (thread >> 4 & 1) + 2 * (thread & 7) + (thread >> 3 & 1), start = neighbour + shift;
  const int from = -start & 31;                                     /* the tap that sample 0 or 32 has */
  const int mixed = start % 2 && start < 32 ? (start - 1) >> 2 : -1; /* word in which sample i + 1 is before i + 32 */

  for (int i = thread; i < limbs * h * row_words / 4; i += n_threads)
    ((uint4 *) raw)[i] = read_argument (weights + (i >> 2) * 2 + (i & 1));
  for (int i = thread; i < limbs * 2 * l.kernel_row / 16; i += n_threads) {
    const int row = i / (l.kernel_row / 16), limb = row >> 1;

    ((uint4 *) (operands + (limb * (h + 2) + (row & 1 ? h + 1 : 0)) * l.kernel_row))[i % (l.kernel_row / 16)]
        = make_uint4 (0, 0, 0, 0);
  }
  wait_for_threads (all_consumers, n_threads);
#pragma unroll 1
  for (int i = thread >> 5; i < limbs * h; i += n_threads / 32) {
    const int limb = i / h, row = i - limb * h;
    const unsigned *taps = raw + i * row_words + (from >> 2);
    uint8_t *at = operands + (limb * (h + 2) + h - row) * l.kernel_row;
    uint4 *to = (uint4 *) (at + (thread >> 3 & 3) * 256) + (thread & 7);
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

/* Copies the rows of the weights of all limbs to shared memory. A barrier must follow. */
__device__ __forceinline__ void
load_weights (const uint4 *weights, int rows, unsigned *raw, int thread, int n_threads)
{
  for (int i = thread; i < rows * 64 / 16; i += n_threads)
    ((uint4 *) raw)[i] = read_argument (weights + i);
}

/* Makes the left operands of rows of the weights, for 64 neighbours. A thread makes 16 taps of a neighbour, row after
 * row. `shift`: as above. */
__device__ __forceinline__ void
make_rows (const Layout<64> &l, const unsigned *raw, int rows, int shift, uint8_t *to, int thread, int n_threads)
{
  constexpr int row_words = 64 / 4;
  const int vector = thread & (team_threads - 1);
  const int start = 2 * (vector & 7) + (vector >> 3 & 1) + shift; /* the first tap's sample of the first neighbours */
  const int further = 16 * ((vector >> 4) - 3);                   /* samples from the neighbours to the taps */
  const int from = further - start;      /* tap, modulo 64 */
  const int mixed = start - 1 - further; /* if even: sample i; i + 1 is before i + 64 */

#pragma unroll 4
  for (int row = thread / team_threads; vector < l.kernel_row / 16 && row < rows; row += n_threads / team_threads) {
    unsigned w[5];

#pragma unroll
    for (int k = 0; k < 5; k++)
      w[k] = raw[row * row_words + ((from >> 2) + k & (row_words - 1))];
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const unsigned order = mixed == 4 * k ? 0x3201 : mixed == 4 * k + 2 ? 0x2310 : 0x3210;

      w[k] = __byte_perm (__funnelshift_r (w[k], w[k + 1], 8 * (from & 3)), 0, order);
    }
    ((uint4 *) (to + row * l.kernel_row))[vector] = make_uint4 (w[0], w[1], w[2], w[3]);
  }
}

/* As above, for 64 neighbours. */
__device__ __forceinline__ void
make_operands (const Layout<64> &l, const uint4 *weights, int limbs, int h, int shift, uint8_t *operands, unsigned *raw,
    int thread, int n_threads)
{
  load_weights (weights, limbs * h, raw, thread, n_threads);
  wait_for_threads (all_consumers, n_threads);
  make_rows (l, raw, limbs * h, shift, operands, thread, n_threads);
  fence_shared ();
  wait_for_threads (all_consumers, n_threads);
}

/* ---- consumers ----------------------------------------------------------- */

/* Returns the first of the 16 neighbours of a warp. */
template<int NEIGHBOURS> __device__ __forceinline__ int
neighbours_of (int warp)
{
  return NEIGHBOURS == 64 ? 48 - 16 * warp : 16 * (warp & 1);
}

/* Returns where the taps of a lane's part of the left operands are, two bits for each: of four samples the two that
 * have taps. Lane 4 g + t has the row g + 8 (t % 2) of its warp, in samples first + 16 (t / 2) to first + 16 (t / 2) +
 * 15 and those NEIGHBOURS further. */
template<int NEIGHBOURS> __device__ __forceinline__ unsigned
tap_positions (int shift, int first, int warp, int lane)
{
  const int start = neighbours_of<NEIGHBOURS> (warp) + 2 * (lane >> 2) + (lane & 1) + shift;
  unsigned positions = 0;

#pragma unroll
  for (int k = 0; k < 8; k++) {
    const int i = first + 16 * (lane >> 1 & 1) + 2 * k;

    positions |= (i >= start ? 0x4u : i + 1 == start ? 0x9u : 0xeu) << 4 * k;
  }
  return positions;
}

/* Queues the products of rows of the kernel, for 64 neighbours. */
__device__ __forceinline__ void
queue_rows (int *sum, const Layout<64> &l, int rows, unsigned long long a, unsigned long long *b,
    const unsigned *positions)
{
#pragma unroll 4
  for (; rows > 0; rows--, a += l.kernel_row / 16, *b += l.columns) {
    queue_product (sum, a, *b, positions[0]);
    queue_product (sum, a + 512 / 16, *b + 4 * (unsigned) l.quarter / 16, positions[1]);
  }
}

/* Adds the products of all limbs of a plane. chunks: the ring of left operands, with STREAMS. */
template<bool STREAMS, int NEIGHBOURS> __device__ __forceinline__ void
add_products (int *sum, const Work &work, const Layout<NEIGHBOURS> &l, const uint8_t *operands, Ring &chunks,
    const uint8_t *stage, const unsigned *positions, int lane)
{
#pragma unroll 1
  for (int limb = work.limbs - 1; limb >= 0; limb--) {
    const uint8_t *left = operands + limb * l.limb_bytes;
    unsigned long long b = descriptor (stage, l.quarter, 128);

#pragma unroll
    for (int i = 0; i < product_sums; i++)
      sum[i] <<= 8;
    if constexpr (STREAMS) {
#pragma unroll 1
      for (int first = 0; first < work.h; first += chunk_rows, chunks.next ()) {
        chunks.wait_full ();
        begin_products (sum);
        queue_rows (sum, l, min (chunk_rows, work.h - first), descriptor (chunks.at (), 256, 128), &b, positions);
        wait_for_products (sum);
        sleep_ns (chunks.late);
        if (lane < arrivals)
          chunks.set_empty ();
      }
      continue;
    }
    begin_products (sum);
    if constexpr (NEIGHBOURS == 64) {
      queue_rows (sum, l, work.h, descriptor (left, 256, 128), &b, positions);
    } else {
      unsigned long long a = descriptor (left + work.h * l.kernel_row, 128, 256);

#pragma unroll 4
      for (int pairs = (work.h + 1) / 2; pairs > 0; pairs--, a -= 2 * l.kernel_row / 16, b += l.columns) {
        queue_product (sum, a, b, positions[0]);
        queue_product (sum, a - l.kernel_row / 16, b + (unsigned) l.odd / 16, positions[0]);
      }
      if (work.h % 2 == 0)
        queue_product (sum, a, b, positions[0]);
    }
    wait_for_products (sum);
  }
}

/* Returns the address of a result, and of those behind it up to a multiple of 16. */
template<int NEIGHBOURS> __device__ __forceinline__ uint8_t *
result_at (uint8_t *results, int row, int x)
{
  return results + row * tile_w + (x ^ (NEIGHBOURS == 64 ? row << 4 & 48 : row << 3 & 16));
}

/* Rounds a lane's sums of plane p, whose samples are in `stage`, and writes them to the plane's results. */
template<int NEIGHBOURS> __device__ __forceinline__ void
put_results (const int *sum, const Work &work, const Group &g, const Layout<NEIGHBOURS> &l, const uint8_t *stage, int p,
    int warp, int lane, uint8_t *results)
{
  constexpr bool pairs = NEIGHBOURS == 32; /* of rows */
  const int first = neighbours_of<NEIGHBOURS> (warp), at = first + 2 * (lane >> 2) + l.left;
  const int column = pairs ? 2 * (lane & 1) : 0, row = pairs ? (lane & 2) + (warp >> 1) : lane & 3;
  const int matrix_row = 4 * (lane >> 3) + (pairs ? (lane >> 1 & 2) + (warp >> 1) : lane >> 1 & 3);
  const int x = NEIGHBOURS * (lane & (l.columns - 1)) + first;
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
    store_transposed (result_at<NEIGHBOURS> (results, 4 * i + matrix_row, x), word + i);
}

/* Stores a tile's rows from the results of its planes. */
template<int NEIGHBOURS> __device__ __forceinline__ void
store_tile (const Work &work, const Group &g, uint8_t *results, int x0, int y0, int thread)
{
  const int lane = thread & 31, row = (thread >> 5) * (tile_h / 4);

  if (g.step == 1 && x0 + tile_w <= g.width && (((uintptr_t) g.out | (uintptr_t) g.out_pitch) & 15) == 0) {
#pragma unroll
    for (int i = 0; i < tile_h; i += team_threads / 8) {
      const int r = i + (thread >> 3), x = 16 * (thread & 7);

      if (y0 + r < g.height)
        *(uint4 *) (g.out + (y0 + r) * g.out_pitch + x0 + x) = *(const uint4 *) result_at<NEIGHBOURS> (results, r, x);
    }
    return;
  }
  store_results<tile_h / 4> (work, g, x0, y0 + row, lane,
      [&] (int r, int p, int x) { return result_at<NEIGHBOURS> (results + p * plane_bytes, row + r, x); });
}

/* Filters a tile, whose planes are the next stages of the ring. */
template<bool STREAMS, int NEIGHBOURS> __device__ __forceinline__ void
consume_tile (const Work &work, const Group &g, const Layout<NEIGHBOURS> &l, Ring &ring, const uint8_t *operands,
    Ring &chunks, const unsigned *positions, uint8_t *results, int team, int x0, int y0, int thread)
{
  const int warp = thread >> 5, lane = thread & 31;
  const bool needs_samples = !work.rounding.narrow && work.rounding.quick == QUICK_NONE;

  wait_for_threads (team_barrier + team, team_threads); /* the results before have been stored */
#pragma unroll 1
  for (int p = 0; p < g.planes; p++, ring.next ()) {
    int sum[product_sums] = { };

    ring.wait_full ();
    add_products<STREAMS> (sum, work, l, operands, chunks, ring.at (), positions, lane);
    if (lane < arrivals && !needs_samples)
      ring.set_empty ();
    put_results (sum, work, g, l, ring.at (), p, warp, lane, results + p * plane_bytes);
    sleep_ns (ring.late);
    __syncwarp ();
    if (lane < arrivals && needs_samples)
      ring.set_empty ();
  }
  wait_for_threads (team_barrier + team, team_threads);
  store_tile<NEIGHBOURS> (work, g, results, x0, y0, thread);
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
template<int NEIGHBOURS, typename Make> __device__ __forceinline__ void
for_tiles (const Work &work, const Layout<NEIGHBOURS> &l, int pair, Make make)
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

/* Fills the stages of tiles plane by plane: those of all pairs. */
__device__ __forceinline__ void
produce_all (const Work &work, const Layout<64> &l, Ring ring, int team, int thread)
{
  const int grid = (int) gridDim.x, begin = (int) blockIdx.x;
  const Group &begins = group_of_block (work, begin);
  const int2 at = block_position (begins, begin);

  prefetch_tile (begins, at.x * tile_w, at.y * tile_h, thread);
  griddep_wait ();
#pragma unroll 1
  for (int first = begin; first < work.blocks; first += l.pairs * grid)
#pragma unroll 1
    for (int p = 0; p < group_of_block (work, first).planes; p++, ring.next ())
#pragma unroll 1
      for (int i = 0; i < l.pairs && first + i * grid < work.blocks; i++) {
        const Group g = group_of_block (work, first + i * grid);
        const int2 position = block_position (g, first + i * grid);
        Ring stage = ring;

        stage.memory += i * l.stages * l.stage_bytes;
        stage.barriers += 16 * i * l.stages;
        produce_planes (work, g, l, stage, p, p + 1, position.x * tile_w, position.y * tile_h, team, thread);
      }
}

/* Fills the ring of left operands for the products of all tiles of the pairs. */
__device__ __forceinline__ void
stream_all_operands (const Work &work, const Layout<64> &l, const uint4 *weights, Ring ring, unsigned *raw,
    int team, int thread)
{
  load_weights (weights, work.limbs * work.h, raw, thread, team_threads);
  wait_for_threads (team_barrier + team, team_threads);
#pragma unroll 1
  for (int i = (int) blockIdx.x; i < work.blocks; i += l.pairs * (int) gridDim.x)
#pragma unroll 1
    for (int p = 0; p < group_of_block (work, i).planes; p++)
#pragma unroll 1
      for (int limb = work.limbs - 1; limb >= 0; limb--)
#pragma unroll 1
        for (int row = 0; row < work.h; row += chunk_rows, ring.next ()) {
          ring.wait_empty ();
          make_rows (l, raw + (limb * work.h + row) * 16, min (chunk_rows, work.h - row), l.left - work.ax, ring.at (),
              thread, team_threads);
          fence_shared ();
          __syncwarp ();
          sleep_ns (ring.late);
          if ((thread & 31) < arrivals)
            ring.set_full ();
        }
}

/* Leaves out the left operands of a tile that the pair does not have, unlike the first one. */
__device__ __forceinline__ void
skip_operands (const Work &work, const Layout<64> &l, Ring chunks, int pair, int lane)
{
  const int round = l.pairs * (int) gridDim.x, last = (work.blocks - 1 - (int) blockIdx.x) / round * round;

  if ((int) blockIdx.x + last + pair * (int) gridDim.x < work.blocks)
    return;
#pragma unroll 1
  for (int n = l.planes * work.limbs * ((work.h + chunk_rows - 1) / chunk_rows); n > 0; n--, chunks.next ()) {
    chunks.wait_full ();
    if (lane < arrivals)
      chunks.set_empty ();
  }
}

/* Filters the tiles of the thread's pair. Teams are numbered pair by pair, the consumers first. With
 * STREAMS, left operands come through a ring: the second producers fill it, and the first ones serve both pairs. */
template<bool LATE, bool STREAMS, int NEIGHBOURS> __device__ __forceinline__ void
filter (const Work &work, const Layout<NEIGHBOURS> &l, const uint4 *weights, uint8_t *memory, unsigned barriers)
{
  const int team = __shfl_sync (0xffffffffu, (int) threadIdx.x / team_threads, 0), pair = team >> 1;
  const int thread = (int) threadIdx.x % team_threads, warp = __shfl_sync (0xffffffffu, thread >> 5, 0);
  uint8_t *all_results = memory + operands_of<STREAMS> (l, work.limbs);
  uint8_t *results = all_results + pair * l.planes * plane_bytes;
  Ring ring = { all_results + results_of (l) + pair * l.stages * l.stage_bytes, barriers + 16 * pair * l.stages,
    l.stages, l.stage_bytes, 0, 0, LATE ? late_ns (work.late, 0) : 0 };
  Ring chunks = { memory, barriers + 16 * most_pairs * most_stages, most_stages, chunk_rows * l.kernel_row, 0, 0,
    ring.late };

  if constexpr (STREAMS) {
    if (team == 1)
      produce_all (work, l, ring, team, thread);
    else if (team == 3)
      stream_all_operands (work, l, weights, chunks,
          (unsigned *) (all_results + results_of (l) + l.pairs * l.stages * l.stage_bytes), team, thread);
    if (team & 1 || pair >= l.pairs)
      return;
  }
  if (team & 1) {
    bool waited = false;

    for_tiles (work, l, pair, [&] (const Group &g, int x0, int y0) {
      if (!waited) {
        prefetch_tile (g, x0, y0, thread);
        griddep_wait ();
        waited = true;
      }
      if (!l.single && g.planes > 0)
        produce_planes (work, g, l, ring, 0, g.planes, x0, y0, team, thread);
#pragma unroll 1
      for (int p = 0; l.single && p < g.planes; p++)
        produce_planes (work, g, l, ring, p, p + 1, x0, y0, team, thread);
    });
  } else {
    const int shift = l.left - work.ax;
    const unsigned positions[2] = { tap_positions<NEIGHBOURS> (shift, 0, warp, thread & 31),
      tap_positions<NEIGHBOURS> (shift, 32, warp, thread & 31) };

    if constexpr (!STREAMS)
      make_operands (l, weights, work.limbs, work.h, shift, memory, (unsigned *) all_results,
          pair * team_threads + thread, l.pairs * team_threads);
    griddep_wait ();
    for_tiles (work, l, pair, [&] (const Group &g, int x0, int y0) {
      if (g.planes > 0)
        consume_tile<STREAMS> (work, g, l, ring, memory, chunks, positions, results, team, x0, y0, thread);
      else
        copy_group (work, g, x0, y0, tile_w, tile_h, thread, team_threads);
    });
    if constexpr (STREAMS)
      skip_operands (work, l, chunks, pair, thread & 31);
  }
}

#endif /* __CUDA_ARCH_FEAT_SM90_ALL */

/* Empty unless compiled for what only capability 9.0 has. LATE: for the test override. */
template<int NEIGHBOURS, int SIZE, bool LATE, bool STREAMS> __global__ void
__launch_bounds__ (most_pairs * pair_threads, 1)
convolve_sparse_kernel (const __grid_constant__ Work work, const __grid_constant__ Layout<NEIGHBOURS> l,
    const __grid_constant__ DenseWeights<SIZE> weights)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__ (128) uint8_t memory[];
  __shared__ uint64_t barrier[(most_pairs + STREAMS) * 2 * most_stages];
  const unsigned barriers = shared_address (barrier);

  if ((int) threadIdx.x < 2 * l.pairs * l.stages) /* all have as many arrivals: the warps of a warp group */
    asm volatile ("mbarrier.init.shared.b64 [%0], %1;"
        : : "r" (barriers + 8 * threadIdx.x), "n" (team_threads / 32 * arrivals) : "memory");
  if (STREAMS && threadIdx.x < 2 * most_stages) /* a stage of left operands is emptied by all consumers */
    asm volatile ("mbarrier.init.shared.b64 [%0], %1;"
        : : "r" (barriers + 8 * (2 * most_pairs * most_stages + threadIdx.x)),
        "r" ((threadIdx.x < most_stages ? 1 : l.pairs) * team_threads / 32 * arrivals) : "memory");
  fetch_arguments (&work, sizeof work);
  __syncthreads ();
  filter<LATE, STREAMS> (work, l, weights.bytes, memory, barriers);
#endif
}

/* Small arguments are launched sooner. */
#define CF_SPARSE(neighbours, size, late, streams) \
  { neighbours, size, late, streams, (const void *) convolve_sparse_kernel<neighbours, size, late, streams> }
const struct Variant {
  int neighbours, size;
  bool late, streams;
  const void *kernel;
} variants[] = {
  CF_SPARSE (32, sparse_small, false, false), CF_SPARSE (32, sparse_large, false, false),
  CF_SPARSE (32, sparse_large, true, false), CF_SPARSE (64, sparse_wide, false, false),
  CF_SPARSE (64, sparse_wide, true, false), CF_SPARSE (64, sparse_ring, false, true),
  CF_SPARSE (64, sparse_ring, true, true),
};
#undef CF_SPARSE

/* Ways to share the work of a block, the best first. */
const struct Mode {
  bool streams;
  int pairs;
} modes[] = { { false, 2 }, { true, 2 }, { true, 1 }, { false, 1 } };

template<int NEIGHBOURS> int
shared_of (const Layout<NEIGHBOURS> &l, const CfConvolution &c, int limbs, bool streams)
{
  return (streams ? operands_of<true> (l, limbs) + limbs * c.h * NEIGHBOURS : operands_of<false> (l, limbs))
      + results_of (l) + l.pairs * l.stages * l.stage_bytes;
}

/* Sets the sizes for groups of up to `planes` planes, `equal`: all of so many; returns false if the kernel does not
 * fit. Unless they stay, the weights need room where the results will be. */
template<int NEIGHBOURS> bool
set_layout (const CfConvolution &c, int limbs, int planes, bool equal, int max_shared, Layout<NEIGHBOURS> *l,
    bool *streams)
{
  const int left = (c.ax + 7) & ~7, rows = tile_h + c.h - 1, odd = (rows + 1) / 2 * 16 * l->columns;
  const int quarter = (2 * odd + 127) / 128 * 128 + 16, stage_bytes = (NEIGHBOURS / 8 * quarter + 127) / 128 * 128;
  const int least = l->single ? 1 : planes > 1 ? planes : 2; /* stages */

  *l = Layout<NEIGHBOURS> { left, rows, odd, quarter, stage_bytes, 0, planes, 0,
    (l->single ? c.h : c.h + 2) * l->kernel_row };
  /* the window of the last of 32 neighbours ends with sample 63; of 33 columns it would have two samples 32 apart */
  if (c.w > NEIGHBOURS || NEIGHBOURS - 1 + left - c.ax + c.w > 2 * NEIGHBOURS || limbs > sparse_limbs)
    return false;
  for (const Mode &mode : modes) {
    *streams = mode.streams;
    l->pairs = mode.pairs;
    if (mode.streams && (!l->single || limbs == 1 || (mode.pairs > 1 && !equal)))
      continue;
    for (l->stages = most_stages; l->stages >= least; l->stages--)
      if (shared_of (*l, c, limbs, mode.streams) <= max_shared - fixed_shared
          && (mode.streams || limbs * c.h * 64 <= results_of (*l)))
        return true;
  }
  return false;
}

/* Launches the kernel of NEIGHBOURS; returns false if the frame or the weights do not fit it. */
template<int NEIGHBOURS> bool
launch (Frame *f, int planes, bool equal)
{
  Work *work = &f->work;
  const CfConvolution &c = f->c;
  const Variant *v = variants;
  Layout<NEIGHBOURS> l;
  bool streams;

  if (!set_layout (c, work->limbs, planes, equal, f->max_shared, &l, &streams))
    return false;
  while (v->neighbours != NEIGHBOURS || v->streams != streams || v->late != (work->late.ns > 0)
      || work->limbs * c.h * NEIGHBOURS > v->size)
    v++;
  if (convolve_renew (f->operands, v->kernel, NULL, 0))
    convolve_split_weights (c.weights, c.w, c.h, work->limbs, 1, NEIGHBOURS, NEIGHBOURS * c.h, f->operands->bytes);
  convolve_assign_blocks (work, tile_w, tile_h);
  return f->launch ("convolve sparse", v->kernel, work->blocks < work->sms ? work->blocks : work->sms,
      (streams ? most_pairs : l.pairs) * pair_threads, shared_of (l, c, work->limbs, streams), work, &l,
      f->operands->bytes);
}

} // namespace

CfCode
convolve_load_sparse (int max_shared, bool *there, CfStatus *status)
{
  cudaFuncAttributes attributes;
  CfCode code = cf_cuda_check (cudaFuncGetAttributes (&attributes, variants[0].kernel),
      "loading the convolution's kernels", status);

  *there = code == CF_OK && attributes.sharedSizeBytes > 0; /* an empty kernel has no barriers */
  return *there ? convolve_load<variants, true> (max_shared, status) : code;
}

bool
convolve_sparse_launch (Frame *f)
{
  const int planes = convolve_most_planes (f->work);
  bool equal = true;

  /* dense.cu would be faster with less work, as measured on an H200: it needs half the products up to 15 columns. Of
   * kernels with less than 10 columns only large ones were measured. */
  if (f->c.bits != 8 || f->work.limbs * f->c.h * (f->c.w > 15 ? 2 : 1) < (f->c.w < 10 ? 30 : 10))
    return false;
  for (int i = 0; i < f->work.n; i++) {
    const Group &g = f->work.group[i];

    if (g.planes > 0 && (!g.in_vectors || g.gray || g.width < 8))
      return false;
    equal = equal && g.planes == planes;
  }
  return launch<32> (f, planes, equal) || launch<64> (f, planes, equal);
}

} // namespace cf
