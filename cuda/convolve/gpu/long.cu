/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/long.cu: boxes and separable kernels without negative weights, of any size and depth: two passes on the
 * integer tensor units, a launch each. Device memory holds the sums of the rows between them. A box is summed with
 * weights of 1, and its sum is scaled.
 *
 * Limbs: samples have XL bytes, weights WL, the sums of the rows TL. Bytes are multiplied with bytes, the products of
 * the highest order first, and the sum is moved up by eight bits from order to order.
 *   8 bit: 1, 1, 2, as 256 x 255 and 255 x 255 are below 2^16, and sums of both passes below 2^24.
 *   above 8 bit: box 2, 1, 3, sums below 2^32; gauss and unsharp 2, 2, 4, sums below 2^48.
 *
 * Product: the left operand are 32 lines, the right one is a band of weights: column n of it has the weights of output
 * n, one sample further than column n - 1. A warp makes 32 outputs, with 8 mma for each 32 samples (multiply_band ()).
 * Lane 4 g + t ends up with four lines of the outputs 16 j + 4 t .. 16 j + 4 t + 3.
 *
 * Rows: 8 warps a block; it makes 32 rows of 256 sums, lines are rows, 4 g .. 4 g + 3 in a lane. Four rows of a byte of
 * the sums are a word, the words of four neighbours a vector, and as such they are stored: for each byte a plane of
 * `quads` x `columns` words, with the rows above and below the image that the columns need.
 * Columns: a warp makes 32 rows of 32 columns, lines are columns, 2 g, 2 g + 1, 16 + 2 g and 17 + 2 g in a lane; so its
 * operands are pairs of words. Lanes beside each other exchange two of these, and each has four neighbours.
 *
 * Shared memory: the weights; the samples of the rows, or the sums of a plane's columns. Barriers separate filling from
 * reading, and in the columns one plane's reads from the next one's filling. Distances of rows are such that what a
 * load reads meets all banks. */
#include "tile.cuh"
#include "sums.cuh"
#include "dense.cuh"

namespace cf {

namespace {

constexpr int lines = 32, outputs = 32; /* of a warp */
constexpr int row_threads = 256, row_columns = row_threads / 32 * outputs, column_threads = 128;
constexpr int table_row = sizeof (LongAxis::at[0]), quad_bytes = 160; /* of the columns' tile: 128 and 32 */

/* Returns the bytes of a line of samples in the rows' tile, and of such a tile; and the quads of the columns' tile. */
__host__ __device__ constexpr int
row_tile_line (int chunks)
{
  return row_columns - outputs + 32 * chunks;
}

__host__ __device__ constexpr int
row_tile_bytes (int line)
{
  return lines * line + lines / 4 * 16;
}

__host__ __device__ constexpr int
columns_tile_quads (int down, int chunks)
{
  return outputs / 4 * (down - 1) + 8 * chunks;
}

/* Loads four matrices of 8 rows of 16 bytes: lane 8 i + r has the address of row r of matrix i, and of each matrix
 * lane 4 g + t gets the word t of row g. */
__device__ __forceinline__ void
load_matrices (unsigned at, unsigned *to)
{
  asm volatile ("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r" (to[0]), "=r" (to[1]), "=r" (to[2]), "=r" (to[3]) : "r" (at) : "memory");
}

__device__ __forceinline__ void
load_pair (unsigned at, unsigned *to)
{
  asm volatile ("ld.shared.v2.u32 {%0,%1}, [%2];" : "=r" (to[0]), "=r" (to[1]) : "r" (at) : "memory");
}

/* What a launch filters of a group: rows from y on, with their sums. */
struct BandGroup {
  unsigned *sums; /* [plane][byte][quads][columns] */
  int y, quads, columns;
};

struct Band {
  BandGroup group[CF_MAX_VIEWS];
  int chunks; /* of 32 samples that a warp's outputs need */
  long long scale;
};

template<int WL> struct Tables {
  LongAxis limb[WL];
};

/* Copies the weights to shared memory. */
template<int WL> __device__ __forceinline__ void
stage_tables (const Tables<WL> &tables, uint4 *to)
{
  constexpr int n = sizeof tables / 16, batch = 4;
  const uint4 *from = &tables.limb[0].at[0][0];
  const int step = (int) blockDim.x;

  for (int first = (int) threadIdx.x; first < n; first += batch * step) {
    uint4 v[batch];

#pragma unroll
    for (int i = 0; i < batch; i++)
      v[i] = read_argument (from + min (first + i * step, n - 1));
#pragma unroll
    for (int i = 0; i < batch; i++)
      if (first + i * step < n)
        to[first + i * step] = v[i];
  }
}

/* The sums of a warp's 32 lines and outputs in a lane. */
using Sums = int[2][2][2][4];

/* sum[j][p][m] += the products of 32 lines and the weights, for outputs 16 j + 4 t + 2 p + (0, 1) and the lines
 * g and g + 8 of the m-th left operand. load (a) loads the left operands of the next 32 samples. */
template<typename Load> __device__ __forceinline__ void
multiply_band (unsigned table, int chunks, Load load, Sums &sum)
{
  const int lane = (int) threadIdx.x & 31;
  unsigned at = table + (8 * (lane >> 4) + (lane & 7)) * table_row + 16 * (lane >> 3 & 1) + 16;

#pragma unroll 2
  for (int c = 0; c < chunks; c++) {
    unsigned a[2][4], b[2][4];

    load (a);
    load_matrices (at, b[0]);
    load_matrices (at - 16, b[1]);
    at += 32;
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const unsigned *w = b[i / 4] + i / 2 % 2 * 2;

      multiply<false> (sum[i / 4][i / 2 % 2][i % 2], sum[i / 4][i / 2 % 2][i % 2], a[i % 2], w[0], w[1]);
    }
  }
}

template<typename Change> __device__ __forceinline__ void
for_sums (Sums &sum, Change change)
{
#pragma unroll
  for (int i = 0; i < outputs; i++)
    change (sum[i / 16][i / 8 % 2][i / 4 % 2][i % 4], i);
}

/* ---- rows --------------------------------------------------------------- */

/* The samples of a block's rows in shared memory: for each plane or byte of them `size` bytes. */
struct RowTile {
  uint8_t *at;
  const int *row; /* the image's row of each line; -1: outside the image */
  int line, size; /* bytes; four lines are followed by 16 bytes */
  int x, words;   /* x: of the first sample, a multiple of 16; words: of four samples that are needed */

  __device__ __forceinline__ unsigned *
  word (int plane, int r, int c) const
  {
    return (unsigned *) (at + plane * size + r * line + (r >> 2) * 16 + 4 * c);
  }
};

/* Can samples be loaded by words? */
template<int XL> __device__ __forceinline__ bool
loads_words (const Group &g)
{
  const uintptr_t all = ((uintptr_t) g.in & ~(uintptr_t) (g.step == 2 ? 3 : 0)) | (uintptr_t) g.in_pitch;

  return XL == 1 ? g.in_words : g.step <= 2 && !g.gray && (all & (8u * g.step - 1)) == 0;
}

/* Copies the words of a plane of bytes that are inside the image: eight threads a row. */
__device__ __forceinline__ void
fill_bytes (const Group &g, const RowTile &t)
{
  const int k = (int) threadIdx.x & 7, end = min (t.words, (g.width - t.x) >> 2), whole = end & ~3;
  const bool vectors = g.in_vectors, rest = !vectors || t.x + 4 * whole + 16 > g.width;

  const int r = (int) threadIdx.x >> 3, y = t.row[r];
  const uint8_t *from = g.in + (long long) y * g.in_pitch + t.x;
  unsigned *to = t.word (0, r, 0);

  static_assert (row_threads == 8 * lines, "eight threads a row");
  if (y < 0)
    return;
#pragma unroll
  for (int i = 0; i < 5; i++) {
    const int c = 4 * (k + 8 * i), x = t.x + 4 * c;

    if (vectors && c < t.words && x >= 0 && x + 16 <= g.width)
      __pipeline_memcpy_async (to + c, from + 4 * c, 16);
  }
  if (rest)
#pragma unroll 1
    for (int c = k + (vectors ? whole : max (0, -t.x) / 4); c < end; c += 8)
      __pipeline_memcpy_async (to + c, from + 4 * c, 4);
}

/* Loads the words that are inside the image, of pixels of STEP samples of XL bytes. */
template<int XL, int STEP> __device__ __forceinline__ void
fill_pixels (const Work &work, const Group &g, const RowTile &t)
{
  constexpr int count = 8, size = XL * STEP; /* bytes of a pixel */
  const bool second = STEP == 2 && ((uintptr_t) g.in & 2) != 0; /* of two 16-bit samples */
  const int first = max (0, -t.x) / 4, n = min (t.words, (g.width - t.x) / 4) - first;
  const unsigned inverse = 0xffffffffu / (unsigned) max (n, 1) + 1;

#pragma unroll 1
  for (int at = (int) threadIdx.x; at < lines * n; at += count * row_threads) {
    unsigned w[count][size];
    int r[count], c[count];

#pragma unroll
    for (int i = 0; i < count; i++) {
      const int k = min (at + i * row_threads, lines * n - 1);

      r[i] = n == 1 ? k : (int) __umulhi ((unsigned) k, inverse);
      c[i] = first + k - r[i] * n;
      const uint8_t *from = g.in + (long long) max (t.row[r[i]], 0) * g.in_pitch + (t.x + 4 * c[i]) * size
          - (XL == 2 && second ? 2 : 0);

      if (XL == 2 || g.in_vectors)
        load_words<size, size == 3 ? 1 : size> (from, w[i]);
      else
        load_words<size, 1> (from, w[i]);
    }
#pragma unroll
    for (int i = 0; i < count; i++) {
      if (at + i * row_threads >= lines * n || t.row[r[i]] < 0)
        continue;
      if constexpr (XL == 2) {
        const unsigned top = ((1u << g.bits) - 1) * 0x10001u, mask = (0xffffu >> g.shift) * 0x10001u;
        const unsigned pick = second ? 0x7632 : 0x5410;
        unsigned a = w[i][0], b = w[i][1];

        if constexpr (STEP == 2)
          a = __byte_perm (a, b, pick), b = __byte_perm (w[i][2], w[i][3], pick);
        a = __vminu2 (a >> g.shift & mask, top);
        b = __vminu2 (b >> g.shift & mask, top);
        *t.word (0, r[i], c[i]) = __byte_perm (a, b, 0x6420);
        *t.word (1, r[i], c[i]) = __byte_perm (a, b, 0x7531);
      } else if (STEP >= 3 && g.gray)
        *t.word (0, r[i], c[i]) = gray_word<STEP == 3 ? 3 : 4> (work, g, w[i]);
      else
        for (int p = 0; p < g.planes; p++)
          *t.word (p, r[i], c[i]) = pick_bytes<size> (w[i], (unsigned) g.plane_offset (p));
    }
  }
}

/* Fills the words that the functions above leave out. Where the outermost samples are repeated, words outside the image
 * are not written yet. */
template<int XL> __device__ __forceinline__ void
fill_edges (const Work &work, const Group &g, const RowTile &t, bool fast)
{
  const bool all = !fast || work.border == CF_BORDER_CONSTANT;
  const int from = all ? t.words : max (0, -t.x) / 4, to = all ? t.words : min (t.words, max (0, g.width - t.x) / 4);
  const int n = from + t.words - to;

#pragma unroll 1
  for (int i = (int) threadIdx.x; i < lines * n; i += row_threads) {
    const int r = i / n, k = i - r * n, c = k < from ? k : to + k - from, x = t.x + 4 * c;
    const bool outside = x < 0 || x >= g.width || t.row[r] < 0;

    if (fast && t.row[r] >= 0 && x >= 0 && x + 3 < g.width)
      continue;
    if (outside && work.border == CF_BORDER_REPLICATE)
      continue;
#pragma unroll 1
    for (int p = 0; p < g.planes; p++) {
      const unsigned v = (unsigned) (g.plane_chroma (p) ? work.outside[1] : work.outside[0]);
      const uint2 word = outside && work.border == CF_BORDER_CONSTANT
          ? make_uint2 (0x01010101u * (v & 0xff), 0x01010101u * (v >> 8))
          : edge_word (work, g.index, p, x, t.row[r] < 0 ? -1 : t.row[r]);

      *t.word (p, r, c) = word.x;
      if (XL == 2)
        *t.word (1, r, c) = word.y;
    }
  }
}

/* Repeats the outermost samples of the rows. */
__device__ __forceinline__ void
repeat_edges (const Group &g, const RowTile &t, int planes)
{
  const int left = max (0, -t.x) / 4, right = min (t.words, (g.width - t.x + 3) / 4);
  const int r = (int) threadIdx.x >> 3, k = (int) threadIdx.x & 7;

  for (int p = 0; p < planes; p++) {
    const uint8_t *bytes = (const uint8_t *) t.word (p, r, 0);
    const unsigned first = 0x01010101u * bytes[4 * left];
    const unsigned last = 0x01010101u * bytes[min (g.width - 1 - t.x, 4 * t.words - 1)];

    for (int c = k; c < left; c += 8)
      *t.word (p, r, c) = first;
    for (int c = right + k; c < t.words; c += 8)
      *t.word (p, r, c) = last;
  }
}

/* Fills the tile, with barriers before and behind. */
template<int XL> __device__ __forceinline__ void
fill_rows (const Work &work, const Group &g, const RowTile &t)
{
  const bool fast = loads_words<XL> (g), is_edge = t.x < 0 || t.x + 4 * t.words > g.width;

  if (fast && XL == 2 && g.step == 1)
    fill_pixels<2, 1> (work, g, t);
  else if (fast && XL == 2)
    fill_pixels<2, 2> (work, g, t);
  else if (fast && g.step == 1)
    fill_bytes (g, t);
  else if (fast && g.step == 2)
    fill_pixels<1, 2> (work, g, t);
  else if (fast && g.step == 3)
    fill_pixels<1, 3> (work, g, t);
  else if (fast)
    fill_pixels<1, 4> (work, g, t);
  if (!fast || work.border == CF_BORDER_CONSTANT
      || (is_edge && (work.border != CF_BORDER_REPLICATE || g.width % 4 != 0)))
    fill_edges<XL> (work, g, t, fast);
  __pipeline_commit ();
  __pipeline_wait_prior (0);
  __syncthreads ();
  if (is_edge && work.border == CF_BORDER_REPLICATE) {
    repeat_edges (g, t, XL * g.planes);
    __syncthreads ();
  }
}

/* Stores the sums of a plane: their bytes. */
template<int TL> __device__ __forceinline__ void
store_sums (const BandGroup &b, int plane, int quad, int x, const Sums &sum)
{
  const long long plane_words = (long long) b.quads * b.columns;
  unsigned *to = b.sums + plane * TL * plane_words + quad * b.columns + x;

#pragma unroll
  for (int j = 0; j < 2; j++) {
    unsigned word[4][4];

#pragma unroll
    for (int i = 0; i < 4; i++) {
      unsigned v[4];

#pragma unroll
      for (int k = 0; k < 4; k++)
        v[k] = (unsigned) sum[j][i / 2][k / 2][k % 2 * 2 + i % 2];
      const unsigned low = __byte_perm (v[0], v[1], 0x5140), next = __byte_perm (v[2], v[3], 0x5140);

      word[0][i] = __byte_perm (low, next, 0x5410);
      word[1][i] = __byte_perm (low, next, 0x7632);
      if (TL > 2) {
        const unsigned third = __byte_perm (v[0], v[1], 0x7362), fourth = __byte_perm (v[2], v[3], 0x7362);

        word[2][i] = __byte_perm (third, fourth, 0x5410);
        word[3][i] = __byte_perm (third, fourth, 0x7632);
      }
    }
#pragma unroll
    for (int l = 0; l < TL; l++)
      *(uint4 *) (to + l * plane_words + 16 * j) = make_uint4 (word[l][0], word[l][1], word[l][2], word[l][3]);
  }
}

template<int XL, int WL, int TL> __global__ void __launch_bounds__ (row_threads)
convolve_long_rows_kernel (const __grid_constant__ Work work, const __grid_constant__ Band band,
    const __grid_constant__ Tables<WL> tables)
{
  extern __shared__ uint4 shared[];
  __shared__ int row[lines];
  uint8_t *const table = (uint8_t *) shared;
  const Group g = group_of_block (work, (int) blockIdx.x);
  const BandGroup b = band.group[g.index];
  const int2 position = block_position (g, (int) blockIdx.x);
  const int warp = (int) threadIdx.x >> 5, lane = (int) threadIdx.x & 31;
  const int x0 = position.x * row_columns, left = (work.ax + 15) & ~15, quad = lines / 4 * position.y + (lane >> 2);
  const int line = row_tile_line (band.chunks);
  const RowTile t = { table + sizeof tables, row, line, row_tile_bytes (line), x0 - left,
    (min (row_columns, g.width - x0) + left - work.ax + work.w - 1 + 3) / 4 };
  const unsigned from = shared_address (t.word (0, 4 * (lane & 7) + (lane >> 3 & 1),
      outputs / 4 * warp + 4 * (lane >> 4)));

  if (threadIdx.x < lines)
    row[threadIdx.x] = edge_row (work.border, b.y - work.ay + lines * position.y + (int) threadIdx.x, g.height);
  stage_tables (tables, shared);
  griddep_wait ();
  __syncthreads ();
  fill_rows<XL> (work, g, t);
  if (x0 + outputs * warp >= b.columns)
    return;
#pragma unroll 1
  for (int p = 0; p < g.planes; p++) {
    Sums sum = { };

#pragma unroll
    for (int order = XL + WL - 2; order >= 0; order--) {
#pragma unroll
      for (int w = 0; w < WL; w++)
        if (order - w >= 0 && order - w < XL) {
          unsigned at = from + (p + order - w) * t.size;

          multiply_band (shared_address (table) + w * sizeof (LongAxis), band.chunks, [&] (unsigned (*a)[4]) {
            load_matrices (at, a[0]);
            load_matrices (at + 2 * line, a[1]);
            at += 32;
          }, sum);
        }
      if (order > 0)
        for_sums (sum, [] (int &s, int) { s <<= 8; });
    }
    if (quad < b.quads)
      store_sums<TL> (b, p, quad, x0 + outputs * warp + 4 * (lane & 3), sum);
    __syncwarp ();
  }
}

/* ---- columns ------------------------------------------------------------ */

constexpr int lane_rows = 8;

/* Returns how far the lane's row i is below its first one. */
__device__ constexpr int
down_of (int i)
{
  return i / 4 * 16 + i % 4;
}

/* Copies the sums' bytes of 32 columns to shared memory: [byte][quads]. */
template<int TL> __device__ __forceinline__ void
fill_columns (const BandGroup &b, int plane, int quad, int quads, int x, uint8_t *tile)
{
  const int there = min (quads, b.quads - quad), first = (int) threadIdx.x >> 3, step = (int) blockDim.x >> 3;
  const int k = (int) threadIdx.x & 7;

#pragma unroll 1
  for (int l = 0; l < TL; l++) {
    const unsigned *from = b.sums + ((long long) (plane * TL + l) * b.quads + quad + first) * b.columns + x + 4 * k;
    uint8_t *to = tile + (l * quads + first) * quad_bytes + 16 * k;

#pragma unroll 4
    for (int r = first; r < there; r += step, from += step * b.columns, to += step * quad_bytes)
      __pipeline_memcpy_async (to, from, 16);
  }
  __pipeline_commit ();
  __pipeline_wait_prior (0);
}

/* Gives lanes beside each other, g and g + 1, four neighbours each, or takes them back: a lane's word has two bytes of
 * the columns 2 g and two of the columns 16 + 2 g. All lanes call it. */
__device__ __forceinline__ unsigned
exchange (unsigned word)
{
  return __byte_perm (word, __shfl_xor_sync (~0u, word, 4), threadIdx.x & 4 ? 0x3276 : 0x5410);
}

/* Returns the four samples of a plane from (x, y) on; any where these are not inside the image. */
__device__ __forceinline__ unsigned
centre_word (const Work &work, const Group &g, int p, int x, int y)
{
  const uint8_t *row = g.in + min (y, g.height - 1) * g.in_pitch + g.plane_offset (p);
  unsigned word = 0;

  if (g.gray)
    return edge_word (work, g.index, p, x, y).x;
  if (g.in_words && g.step == 1 && x + 3 < g.width)
    return *(const unsigned *) (row + x);
#pragma unroll
  for (int i = 0; i < 4; i++)
    word |= (unsigned) row[min (x + i, g.width - 1) * g.step] << 8 * i;
  return word;
}

/* Rounds four sums of unsharp to bytes: round_unsharp () for results that fit an integer. */
__device__ __forceinline__ unsigned
round_four_unsharp (const Rounding &k, const int *sum, unsigned centre, int chroma)
{
  const long long of_sample = (k.divisor2 >> 1) * (256 + k.amount), add = chroma ? k.add[1] : k.add[0];
  int v[4];

#pragma unroll
  for (int i = 0; i < 4; i++)
    v[i] = (int) ((of_sample * (int) (centre >> 8 * i & 0xff) - (long long) k.amount * sum[i] + add) >> (k.shift + 7));
  return pack_bytes (v);
}

/* Stores four pixels of bytes from (x, y) on, sample by sample. */
__device__ __noinline__ void
store_four_samples (const Work &work, int group, int x, int y, unsigned v0, unsigned v1, unsigned v2)
{
#pragma unroll 1
  for (int i = 0; i < 4; i++, v0 >>= 8, v1 >>= 8, v2 >>= 8)
    store_pixel (work, group, x + i, y, v0 & 0xff, v1 & 0xff, v2 & 0xff);
}

/* Stores a lane's 8 rows of four pixels from (x, y) on; value[p]: the samples of plane p. */
template<int PLANES> __device__ __forceinline__ void
store_bytes (const Work &work, const Group &g, int x, int y, const unsigned (*value)[lane_rows])
{
  const uintptr_t in = (uintptr_t) g.in | (uintptr_t) g.in_pitch, out = (uintptr_t) g.out | (uintptr_t) g.out_pitch;
  const Assembly a = assembly_of (work, g);
  const bool aligned = a.words && x + 3 < g.width && ((g.step == 1 ? out << 2 : a.copies ? in | out : out) & 15) == 0;
  const bool single = PLANES == 1 && g.step == 1;
  uint8_t *to = g.out + y * g.out_pitch + (long long) x * g.step;
  const uint8_t *from = g.in + y * g.in_pitch + 4 * x;
  uint4 base[lane_rows];

#pragma unroll
  for (int i = 0; i < lane_rows; i++) {
    base[i] = make_uint4 (a.mid, a.mid, a.mid, a.mid);
    if (!single && aligned && a.copies && y + down_of (i) < g.height)
      base[i] = *(const uint4 *) (from + down_of (i) * g.in_pitch);
  }
#pragma unroll
  for (int i = 0; i < lane_rows; i++) {
    unsigned v[3] = { value[0][i], value[PLANES == 3 ? 1 : 0][i], value[PLANES - 1][i] };

    if (y + down_of (i) >= g.height)
      continue;
    if (!aligned)
      store_four_samples (work, g.index, x, y + down_of (i), v[0], v[1], v[2]);
    else if (single)
      *(unsigned *) (to + down_of (i) * g.out_pitch) = v[0];
    else
      put_four (a, g.step, to + down_of (i) * g.out_pitch, base[i], v);
  }
}

/* Returns a 16-bit sample of the sum s. */
__device__ __forceinline__ unsigned
round_wide (const Work &work, const Group &g, int x, int y, long long s)
{
  const Rounding &k = work.rounding;
  const int chroma = g.plane_chroma (0);

  if (k.narrow && k.pow2 == 0) {
    const unsigned n = (unsigned) max (2 * (int) s + (int) (chroma ? k.add[1] : k.add[0]), 0);
    const unsigned q = __umulhi (n, k.magic) >> k.shift;

    return min (n == q * (unsigned) k.divisor2 && (chroma ? k.ties[1] : k.ties[0]) ? q & ~1u : q, (unsigned) k.max);
  }
  return (unsigned) round_sum (k, s, k.op == CF_CONVOLVE_UNSHARP ? (int) edge_sample (work, g.index, 0, x, y) : 0,
      chroma);
}

/* Returns the number of the k-th of four neighbours, in the lane's row i, among its sums. */
__device__ constexpr int
index_of (int i, int k)
{
  return i / 2 * 8 + k / 2 * 4 + k % 2 * 2 + i % 2;
}

/* Rounds a lane's sums to words of four neighbours; (x, y): the first one, rows as in the kernel. */
__device__ __forceinline__ void
round_bytes (const Work &work, const Group &g, int p, const Sums &sum, int scale, int x, int y,
    unsigned *word)
{
  const int *all = sum[0][0][0], chroma = g.plane_chroma (p);
  int four[lane_rows][4];

#pragma unroll
  for (int i = 0; i < outputs; i++)
    four[i / 4][i % 4] = all[index_of (i / 4, i % 4)] * scale;
  if (work.rounding.op == CF_CONVOLVE_UNSHARP)
#pragma unroll
    for (int i = 0; i < lane_rows; i++)
      word[i] = round_four_unsharp (work.rounding, four[i],
          exchange (centre_word (work, g, p, x, y + down_of (i))), chroma);
  else
    round_words<lane_rows, 2, false> (work.rounding, chroma, four, word,
        [&] (int) { return &work.border; }); /* any bytes */
#pragma unroll
  for (int i = 0; i < lane_rows; i++)
    word[i] = exchange (word[i]);
}

/* Rounds a lane's sums to 16-bit samples and stores them. column: of the lane's first sum. */
__device__ __forceinline__ void
store_wide (const Work &work, const Group &g, const Sums &sum, const unsigned *high, long long scale,
    int column, int x, int y)
{
  const int *all = sum[0][0][0];
  const bool odd = threadIdx.x & 4, plain = g.action[0] == CF_ACTION_FILTER && x + 3 < g.width;
  const bool aligned = plain && g.step == 1 && (((uintptr_t) g.out | (uintptr_t) g.out_pitch) & 7) == 0;

#pragma unroll
  for (int i = 0; i < lane_rows; i++) {
    const int at_y = y + down_of (i);
    unsigned v[4];

#pragma unroll
    for (int k = 0; k < 4; k++)
      v[k] = round_wide (work, g, column + k / 2 * 16 + k % 2, at_y,
          (((long long) high[index_of (i, k)] << 16) + (unsigned) all[index_of (i, k)]) * scale);
    const unsigned left = v[0] | v[1] << 16, right = v[2] | v[3] << 16;
    const unsigned other = __shfl_xor_sync (~0u, odd ? left : right, 4);
    const uint2 four = odd ? make_uint2 (other, right) : make_uint2 (left, other);

    if (at_y >= g.height)
      continue;
    uint8_t *to = g.out + at_y * g.out_pitch + 2 * x * g.step;

    if (aligned)
      *(uint2 *) to = make_uint2 (four.x << g.shift, four.y << g.shift);
    else
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const unsigned sample = (k < 2 ? four.x : four.y) >> 16 * (k % 2) & 0xffff;

        if (plain)
          store_value (g, to + 2 * k * g.step, sample);
        else
          store_pixel (work, g.index, x + k, at_y, sample, 0, 0);
      }
  }
}

/* PLANES: the most that a group has filtered; their samples are kept until whole pixels are stored. */
template<int XL, int WL, int TL, int PLANES> __global__ void __launch_bounds__ (column_threads, XL == 1 ? 5 : 4)
convolve_long_columns_kernel (const __grid_constant__ Work work, const __grid_constant__ Band band,
    const __grid_constant__ Tables<WL> tables)
{
  extern __shared__ uint4 shared[];
  uint8_t *const table = (uint8_t *) shared, *const tile = table + sizeof tables;
  const Group g = group_of_block (work, (int) blockIdx.x);
  const BandGroup b = band.group[g.index];
  const int2 position = block_position (g, (int) blockIdx.x);
  const int warp = (int) threadIdx.x >> 5, lane = (int) threadIdx.x & 31, threads = (int) blockDim.x;
  const int rows = outputs * threads / 32, x0 = position.x * lines, y0 = position.y * rows; /* y0: in the band */
  const int quads = columns_tile_quads (threads / 32, band.chunks);
  const int x = x0 + 16 * (lane >> 2 & 1) + 4 * (lane >> 3), y = b.y + y0 + outputs * warp + 4 * (lane & 3);
  const unsigned from = shared_address (tile) + (outputs / 4 * warp + (lane & 3)) * quad_bytes + 8 * (lane >> 2);
  const bool below = b.y + y0 + outputs * warp >= g.height; /* the whole warp */
  unsigned value[PLANES][lane_rows] = { };

  stage_tables (tables, shared);
  griddep_wait ();
  if (g.planes == 0) {
    copy_group (work, g, x0, b.y + y0, lines, rows, (int) threadIdx.x, threads);
    return;
  }
#pragma unroll 1
  for (int p = 0; p < g.planes; p++) {
    Sums sum = { };
    unsigned high[outputs] = { };

    __syncthreads ();
    fill_columns<TL> (b, p, y0 / 4, quads, x0, tile);
    __syncthreads ();
    if (below)
      continue;
#pragma unroll
    for (int order = TL + WL - 2; order >= 0; order--) {
#pragma unroll
      for (int w = 0; w < WL; w++)
        if (order - w >= 0 && order - w < TL) {
          unsigned at = from + (order - w) * quads * quad_bytes;

          multiply_band (shared_address (table) + w * sizeof (LongAxis), band.chunks, [&] (unsigned (*a)[4]) {
#pragma unroll
            for (int i = 0; i < 4; i++)
              load_pair (at + i / 2 * 64 + i % 2 * 4 * quad_bytes, a[i / 2] + i % 2 * 2);
            at += 8 * quad_bytes;
          }, sum);
        }
      /* 48 bits: high has the upper 32 of them, the sum what is below */
      if (TL == 4 && order == 2)
        for_sums (sum, [&] (int &s, int i) { high[i] = (unsigned) s, s = 0; });
      else if (TL == 4 && order == 1)
        for_sums (sum, [&] (int &s, int i) { high[i] += (unsigned) s >> 8, s = (s & 0xff) << 8; });
      else if (order > 0)
        for_sums (sum, [] (int &s, int) { s <<= 8; });
    }
    if (XL == 2)
      store_wide (work, g, sum, high, band.scale, x0 + 2 * (lane >> 2), x, y);
    else {
      unsigned word[lane_rows];

      round_bytes (work, g, p, sum, (int) band.scale, x, y, word);
#pragma unroll
      for (int i = 0; i < lane_rows * PLANES; i++) {
        unsigned *to = &value[i / lane_rows][i % lane_rows];

        *to = i / lane_rows == p ? word[i % lane_rows] : *to;
      }
    }
  }
  if (XL == 1 && !below)
    store_bytes<PLANES> (work, g, x, y, value);
}

/* ---- launches ----------------------------------------------------------- */

#define CF_COLUMNS(xl, wl, tl, planes) { (const void *) convolve_long_columns_kernel<xl, wl, tl, planes> }
/* Rows: 8 bit, box above, others above. Columns: the same, and 8 bit with several planes. */
const Kernel kernels[] = { { (const void *) convolve_long_rows_kernel<1, 1, 2> },
  { (const void *) convolve_long_rows_kernel<2, 1, 3> }, { (const void *) convolve_long_rows_kernel<2, 2, 4> },
  CF_COLUMNS (1, 1, 2, 1), CF_COLUMNS (2, 1, 3, 1), CF_COLUMNS (2, 2, 4, 1), CF_COLUMNS (1, 1, 2, 3) };
#undef CF_COLUMNS
constexpr int sample_bytes[] = { 1, 2, 2 }, weight_bytes[] = { 1, 1, 2 }, sum_bytes[] = { 2, 3, 4 };

constexpr size_t usual_bytes = 40u << 20; /* of sums: what stays in the L2 cache of a large device */
constexpr int band_step = 256;            /* rows: whole blocks of the columns */

/* Returns the rows of a band of `n`. */
int
band_rows (int height, int n)
{
  return cf_divide_up (height, n * band_step) * band_step;
}

/* Returns the bytes of the sums of a band of `n`. */
size_t
sums_of (int width, int height, int n, int h, int bytes)
{
  const int rows = band_rows (height, n) < height ? band_rows (height, n) : height;

  return (size_t) ((width + 63) / 64 * 64) * (size_t) ((rows + h + 2) / 4) * 4 * (size_t) bytes;
}

/* Filters band `index` of `n`. */
void
launch_band (Frame *f, const LongWeights &weights, void *memory, int index, int n)
{
  Work *work = &f->work;
  const int v = weights.kind, tables = (int) sizeof (LongAxis) * weight_bytes[v];
  Band band = { };
  uint8_t *at = static_cast<uint8_t *> (memory);
  const int planes = convolve_most_planes (*work);
  int down = column_threads / 32, rows[CF_MAX_VIEWS], lines_of_sums[CF_MAX_VIEWS];
  const auto columns_shared = [&] {
    return tables + sum_bytes[v] * columns_tile_quads (down, band.chunks) * quad_bytes;
  };

  for (int i = 0; i < work->n; i++) {
    const Group &g = work->group[i];
    const int all = band_rows (g.height, n), y = all * index < g.height ? all * index : g.height;
    const int quads = ((rows[i] = all < g.height - y ? all : g.height - y) + work->h + 2) / 4;

    band.group[i] = BandGroup { reinterpret_cast<unsigned *> (at), y, quads, (g.width + 63) / 64 * 64 };
    lines_of_sums[i] = g.planes > 0 && rows[i] > 0 ? 4 * quads : 0;
    at += (size_t) g.planes * (size_t) lines_of_sums[i] * (size_t) (band.group[i].columns * sum_bytes[v]);
  }
  band.scale = weights.scale;
  band.chunks = weights.row_chunks;
  convolve_assign_blocks (work, row_columns, lines, lines_of_sums);
  if (work->blocks > 0)
    f->launch ("convolve long rows", kernels[v].kernel, work->blocks, row_threads,
        tables + planes * sample_bytes[v] * row_tile_bytes (row_tile_line (band.chunks)), work, &band, weights.row);
  band.chunks = weights.col_chunks;
  if (columns_shared () > f->max_shared - fixed_shared)
    down = 1; /* a block of one warp has the smallest tile */
  convolve_assign_blocks (work, lines, outputs * down, rows);
  if (f->code == CF_OK && work->blocks > 0)
    f->launch ("convolve long columns", kernels[planes == 1 ? 3 + v : 6].kernel, work->blocks, 32 * down,
        columns_shared (), work, &band, weights.col);
}

} // namespace

const Load convolve_load_long = convolve_load<kernels, true>;

bool
convolve_fill_long (const CfConvolution &c, LongWeights *weights)
{
  const int32_t *const axis[2] = { c.row, c.col };
  const int sides[2] = { c.w, c.h }, pads[2] = { ((c.ax + 15) & ~15) - c.ax, 0 };
  int *const chunks[2] = { &weights->row_chunks, &weights->col_chunks };
  int64_t sum[2] = { }, all;
  int most = 0;

  *weights = LongWeights ();
  weights->scale = 1;
  if (!c.separable || (c.op != CF_CONVOLVE_LINEAR && c.op != CF_CONVOLVE_UNSHARP))
    return false;
  for (int a = 0; a < 2; a++) {
    LongAxis *limbs = a == 0 ? weights->row : weights->col;
    const int n = sides[a], middle = axis[a][n / 2];
    bool same = middle != 0;

    /* a factor of all weights that are not zero: of a box's, or of the only one */
    for (int i = 0; i < n; i++)
      same = same && (axis[a][i] == middle || axis[a][i] == 0);
    weights->scale *= same ? middle : 1;
    for (int i = 0; i < n; i++) {
      const int weight = same ? axis[a][i] / middle : axis[a][i];

      if (weight < 0)
        return false;
      most = weight > most ? weight : most;
      sum[a] += weight;
      for (int k = 0; k < 16; k++)
        for (int l = 0; l < 2; l++)
          reinterpret_cast<uint8_t *> (limbs[l].at[k])[16 + pads[a] + 4 * (k % 8 / 2) + 2 * (k / 8) + k % 2 + i] =
              (uint8_t) (weight >> 8 * l);
    }
    *chunks[a] = (outputs - 1 + pads[a] + n + 31) / 32;
  }
  all = sum[0] * sum[1];
  weights->kind = c.bits == 8 ? 0 : most <= 255 && sum[0] * c.max < 1 << 24 && all * c.max < 1ll << 32 ? 1 : 2;
  return c.bits == 8 ? most <= 255 && sum[0] * c.max < 1 << 16
      : most <= 65535 && sum[0] * c.max < 1ll << 32 && all * c.max < 1ll << 48;
}

size_t
convolve_long_bytes (const CfVideo *largest, const CfCommon *common)
{
  const CfImage none = { };
  CfView view[CF_MAX_VIEWS];
  const int n_views = cf_image_views (largest, common, &none, view);
  size_t bytes;
  int n = 0;

  do {
    n++;
    bytes = 0;
    for (int i = 0; i < n_views; i++)
      bytes += sums_of (view[i].width, view[i].height, n, CF_CONVOLVE_LONG, view[i].bytes == 1 ? 2 : 4);
  } while (bytes > usual_bytes && n * band_step < largest->height);
  return bytes;
}

bool
convolve_long_launch (Frame *f, const LongWeights &weights, void *memory, size_t memory_bytes)
{
  int n = 0;

  for (size_t bytes = memory_bytes + 1; bytes > memory_bytes; ) {
    n++;
    bytes = 0;
    for (int i = 0; i < f->work.n; i++) {
      const Group &g = f->work.group[i];

      bytes += g.planes * sums_of (g.width, g.height, n, f->work.h, sum_bytes[weights.kind]);
    }
  }
  f->code = CF_OK;
  for (int i = 0; f->code == CF_OK && i < n; i++)
    launch_band (f, weights, memory, i, n);
  return true;
}

} // namespace cf
