/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/tile.cuh: what the convolution's kernels share on the device: finding the group of a block, and loading
 * a tile of samples with its border into shared memory. Products and rounding are in sums.cuh, stores to the output
 * image in store.cuh. */
#ifndef CF_CONVOLVE_GPU_TILE_CUH
#define CF_CONVOLVE_GPU_TILE_CUH

#include "internal.cuh"

#include <cuda_pipeline.h>

namespace cf {

/* Returns the index of a block's group. */
template<typename T> static __device__ __forceinline__ int
index_of_block (const T &launch, int block)
{
  int i = 0;

  while (i + 1 < launch.n && block >= launch.group[i + 1].first_block)
    i++;
  return i;
}

/* Returns that group. Callers copy it: members of a kernel argument at an index that is not known at compile time are
 * loaded again at each use. */
static __device__ __forceinline__ const Group &
group_of_block (const Work &work, int block)
{
  return work.group[index_of_block (work, block)];
}

/* Returns the column and row of a block in the grid of its group, in blocks. */
template<typename T> static __device__ __forceinline__ int2
block_position (const T &g, int block)
{
  const unsigned at = (unsigned) block - (unsigned) g.first_block;
  const unsigned y = g.blocks_inverse ? __umulhi (at, g.blocks_inverse) : at;

  return make_int2 ((int) (at - y * (unsigned) g.blocks_x), (int) y);
}

/* Hides from the compiler where a value comes from. Called at the start of each of several branches of a
 * kernel, it keeps the compiler from hoisting what they share, above all addresses, out of the branches. */
template<typename T> static __device__ __forceinline__ void
hide (T &v)
{
  asm volatile ("" : "+r" (v));
}

/* Makes the compiler treat a pointer as one value instead of a base and an offset: adding a row's index
 * times the pitch is then one instruction. */
template<typename T> static __device__ __forceinline__ void
keep_whole (T *&p)
{
  asm ("" : "+l" (p));
}

/* The address of bytes in global memory, as one value: the compiler would keep a base and an offset, and add them for
 * each row; so a row's address is one multiply-add. */
struct GlobalBytes {
  size_t at;

  GlobalBytes () = default;
  __device__ __forceinline__ explicit
  GlobalBytes (const uint8_t *from)
  {
    at = __cvta_generic_to_global (from);
    asm ("" : "+l" (at));
  }
  /* Returns the address `y` times the pitch further. */
  __device__ __forceinline__ uint8_t *
  row (int y, int pitch) const
  {
    return (uint8_t *) __cvta_global_to_generic (at + (size_t) ((long long) y * pitch));
  }
};

static __device__ __forceinline__ unsigned
shared_address (const void *p)
{
  return (unsigned) __cvta_generic_to_shared (p);
}

/* Read a vector of the kernel's argument at an index that differs between lanes: constant memory would be read in
 * turns, address by address. */
static __device__ __forceinline__ uint2
read_argument (const uint2 *from)
{
  uint2 v;

  asm ("ld.v2.u32 {%0,%1}, [%2];" : "=r" (v.x), "=r" (v.y) : "l" (from));
  return v;
}

static __device__ __forceinline__ uint4
read_argument (const uint4 *from)
{
  uint4 v;

  asm ("ld.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r" (v.x), "=r" (v.y), "=r" (v.z), "=r" (v.w) : "l" (from));
  return v;
}

/* Loads WORDS words, EACH (1, 2 or 4) at a time, from a multiple of their size on. */
template<int WORDS, int EACH = WORDS> __device__ __forceinline__ void
load_words (const uint8_t *from, unsigned *w)
{
#pragma unroll
  for (int i = 0; i < WORDS; i += EACH)
    if constexpr (EACH == 1)
      w[i] = *(const unsigned *) (from + 4 * i);
    else if constexpr (EACH == 2) {
      const uint2 v = *(const uint2 *) (from + 4 * i);

      w[i] = v.x, w[i + 1] = v.y;
    } else {
      const uint4 v = *(const uint4 *) (from + 4 * i);

      w[i] = v.x, w[i + 1] = v.y, w[i + 2] = v.z, w[i + 3] = v.w;
    }
}

/* ---- tiles -------------------------------------------------------------- */

/* A tile in shared memory: rows of bytes, plane after plane; byte c of row r of a plane is the sample (x0 + c,
 * y0 + r). A plane of 16-bit samples takes two planes of the tile, the low bytes first. The block's own 128 columns
 * begin at column `left`; the kernel also needs `before` columns before and `after` columns after them. */
struct Tile {
  uint8_t *at;
  const int *row;  /* in shared memory: the image's row for each row of the tile; -1: outside the image */
  int pitch, rows; /* pitch: bytes, a multiple of 16 */
  int x0, y0;
  int left, before, after; /* left: a multiple of 16 */
};

constexpr int max_rows = 128; /* of a tile */

/* cf_border_map () of a row, out of line: only blocks at the top and bottom need it. */
static __device__ __noinline__ int
edge_row (int border, int y, int height)
{
  return cf_border_map ((CfBorder) border, y, height);
}

/* Returns the row of the image for row y, mapped by the border; -1: outside. */
static __device__ __forceinline__ int
image_row (int border, int y, int height)
{
  const int clamped = min (max (y, 0), height - 1);

  return y == clamped || border == CF_BORDER_REPLICATE ? clamped : edge_row (border, y, height);
}

/* Returns the tile of the block at (x0, y0) and fills its table `row`. The caller must have a barrier
 * before the table is read. */
static __device__ __forceinline__ Tile
tile_of (const Work &work, const Group &g, uint8_t *at, int *row, int pitch, int rows, int left, int x0, int y0,
    int thread)
{
  const int y = y0 - work.ay + thread, clamped = min (max (y, 0), g.height - 1);

  if (thread < rows)
    row[thread] = y == clamped || work.border == CF_BORDER_REPLICATE ? clamped : edge_row (work.border, y, g.height);
  return Tile { at, row, pitch, rows, x0 - left, y0 - work.ay, left, work.ax, work.w - 1 - work.ax };
}

/* Returns the value of the sample at an address. */
static __device__ __forceinline__ unsigned
value_at (const Group &g, const uint8_t *p)
{
  return g.bytes == 1 ? *p : min ((unsigned) *(const uint16_t *) p >> g.shift, (1u << g.bits) - 1);
}

/* Returns the sample (x, y) of a plane, mapped by the border. Out of line: only samples at edges and of
 * images that are not aligned to words need it. */
static __device__ __noinline__ unsigned
edge_sample (const Work &work, int group, int plane, int x, int y)
{
  const Group &g = work.group[group];
  const int mx = cf_border_map ((CfBorder) work.border, x, g.width);
  const int my = cf_border_map ((CfBorder) work.border, y, g.height);

  if (mx < 0 || my < 0)
    return (unsigned) (g.plane_chroma (plane) ? work.outside[1] : work.outside[0]);
  const uint8_t *p = g.in + my * g.in_pitch + (long long) mx * g.step * g.bytes;

  if (g.gray) {
    unsigned sum;

    if (g.in2[0])
      sum = g.weight[0] * value_at (g, p) + g.weight[1] * value_at (g, g.in2[0] + my * g.in_pitch2[0] + mx * g.bytes)
          + g.weight[2] * value_at (g, g.in2[1] + my * g.in_pitch2[1] + mx * g.bytes);
    else
      sum = g.weight[0] * p[0] + g.weight[1] * p[1] + g.weight[2] * p[2] + g.weight[3] * (g.step == 4 ? p[3] : 0);
    return work.gray == CF_GRAY_MEAN ? sum / 3 : (sum + 128) >> 8;
  }
  return value_at (g, p + g.plane_offset (plane) * g.bytes);
}

/* Returns the samples x .. x + 3 of row y, mapped by the border: their low bytes in .x, their high bytes
 * in .y. The four loads are independent of each other. */
static __device__ __noinline__ uint2
edge_word (const Work &work, int group, int plane, int x, int y)
{
  const Group &g = work.group[group];
  const int my = cf_border_map ((CfBorder) work.border, y, g.height);
  const uint8_t *row = g.in + max (my, 0) * g.in_pitch + g.plane_offset (plane) * g.bytes;
  unsigned s[4], lo = 0, hi = 0;

  if (g.gray) {
#pragma unroll 1
    for (int i = 0; i < 4; i++) {
      const unsigned v = edge_sample (work, group, plane, x + i, y);

      lo |= (v & 0xff) << 8 * i;
      hi |= (v >> 8) << 8 * i;
    }
    return make_uint2 (lo, hi);
  }
  int mx[4];

#pragma unroll
  for (int i = 0; i < 4; i++)
    mx[i] = cf_border_map ((CfBorder) work.border, x + i, g.width);
  if (g.bytes == 1) {
#pragma unroll
    for (int i = 0; i < 4; i++)
      s[i] = row[(long long) max (mx[i], 0) * g.step];
  } else {
#pragma unroll
    for (int i = 0; i < 4; i++)
      s[i] = *(const uint16_t *) (row + (long long) max (mx[i], 0) * g.step * 2);
#pragma unroll
    for (int i = 0; i < 4; i++)
      s[i] = min (s[i] >> g.shift, (1u << g.bits) - 1);
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const unsigned v = mx[i] < 0 || my < 0
        ? (unsigned) (g.plane_chroma (plane) ? work.outside[1] : work.outside[0]) : s[i];

    lo |= (v & 0xff) << 8 * i;
    hi |= (v >> 8) << 8 * i;
  }
  return make_uint2 (lo, hi);
}

/* Returns the bytes o, o + STEP, o + 2 STEP, o + 3 STEP of the words of four pixels. */
template<int STEP> __device__ __forceinline__ unsigned
pick_bytes (const unsigned *w, unsigned o)
{
  if (STEP == 1)
    return w[0];
  if (STEP == 2)
    return __byte_perm (w[0], w[1], 0x6420 + 0x1111 * o);
  if (STEP == 3)
    return __byte_perm (__byte_perm (w[0], w[1], 0x30 + 0x11 * o), __byte_perm (w[1], w[2], 0x52 + 0x11 * o), 0x5410);
  return __byte_perm (__byte_perm (w[0], w[1], 0x40 + 0x11 * o), __byte_perm (w[2], w[3], 0x40 + 0x11 * o), 0x5410);
}

/* Returns the gray values of four pixels; their weights sum to 3 (mean) or 256 (luma). */
template<int STEP> __device__ __forceinline__ unsigned
gray_word (const Work &work, const Group &g, const unsigned *w)
{
  const unsigned weights = g.weight[0] | g.weight[1] << 8 | g.weight[2] << 16 | (STEP == 4 ? g.weight[3] << 24 : 0);
  unsigned result = 0;

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const unsigned pixel = STEP == 4 ? w[i] : i == 0 ? w[0] : i == 3 ? w[2] >> 8
        : __funnelshift_r (w[i - 1], w[i], 32 - 8 * i);
    const unsigned sum = __dp4a (pixel, weights, work.gray == CF_GRAY_MEAN ? 0u : 128u);

    result |= (work.gray == CF_GRAY_MEAN ? sum / 3 : sum >> 8) << 8 * i;
  }
  return result;
}

/* Writes four pixels to word c of row r of their planes. REST: the fourth samples of pixels of which three planes are
 * filtered go to a plane of their own, from which store_rows () in small.cu copies them to the output. */
template<int STEP, int PLANES, bool REST> __device__ __forceinline__ void
put_pixels (const Work &work, const Group &g, const Tile &t, int first, int r, int c, const unsigned *w)
{
  unsigned *to = (unsigned *) (t.at + r * t.pitch + 4 * c);

  if (PLANES == 1 && STEP >= 3 && g.gray)
    *to = gray_word<STEP == 3 ? 3 : 4> (work, g, w);
  else
#pragma unroll
    for (int p = 0; p < PLANES; p++)
      to[p * t.rows * (t.pitch / 4)] = pick_bytes<STEP> (w, (unsigned) g.plane_offset (first + p));
  if (REST && STEP == 4 && PLANES == 3)
    to[3 * t.rows * (t.pitch / 4)] = pick_bytes<STEP> (w, (unsigned) g.plane_offset (3));
}

/* Fills the words of the tile that are inside the image, COUNT of a thread loaded before the first one is used. No row
 * of the tile may be outside (-1). */
template<int STEP, int PLANES, bool REST, bool VECTOR> __device__ __forceinline__ void
fill_words (const Work &work, const Group &g, const Tile &t, int first, int thread, int threads)
{
  constexpr int COUNT = 8;
  const int before = (t.before + 3) >> 2, words = before + 32 + ((t.after + 3) >> 2), n = t.rows * words;
  const int last = (g.width & ~3) - 4, pitch = (int) g.in_pitch;
  const unsigned inverse = 0xffffffffu / (unsigned) words + 1; /* exact: n is far below 2^32 / words */

  if (last < 0)
    return;
#pragma unroll 1
  for (int at = thread; at < n; at += COUNT * threads) {
    unsigned w[COUNT][STEP];
    int r[COUNT], c[COUNT];

#pragma unroll
    for (int i = 0; i < COUNT; i++) {
      const int k = min (at + i * threads, n - 1);

      r[i] = (int) __umulhi ((unsigned) k, inverse);
      c[i] = t.left / 4 - before + k - r[i] * words;
      load_words<STEP, VECTOR && STEP != 3 ? STEP : 1> (g.in + min (max (t.x0 + 4 * c[i], 0), last) * STEP
          + (long long) t.row[r[i]] * pitch, w[i]);
    }
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      if (at + i * threads < n && t.x0 + 4 * c[i] >= 0 && t.x0 + 4 * c[i] <= last)
        put_pixels<STEP, PLANES, REST> (work, g, t, first, r[i], c[i], w[i]);
  }
}

/* Copies the words of a vector of 16 bytes that are inside the image. */
static __device__ __forceinline__ void
copy_vector (const Group &g, const Tile &t, int r, int c)
{
  const int x = t.x0 + c;
  const uint8_t *from = g.in + (long long) t.row[r] * (int) g.in_pitch + x;
  uint8_t *to = t.at + r * t.pitch + c;

  if (x >= 0 && x + 15 < g.width)
    __pipeline_memcpy_async (to, from, 16);
  else
#pragma unroll 1
    for (int q = 0; q < 16; q += 4)
      if (x + q >= 0 && x + q + 3 < g.width)
        __pipeline_memcpy_async (to + q, from + q, 4);
}

/* Step 1 with aligned rows: copies 16 bytes at a time to shared memory, without registers (cp.async). A row
 * of the tile has eight vectors of its own and at most two more on each side. */
static __device__ __forceinline__ void
fill_vectors (const Group &g, const Tile &t, int thread, int threads)
{
  const int c = t.left + 16 * (thread & 7), x = t.x0 + c, pitch = (int) g.in_pitch;
  const int before = (t.before + 15) >> 4, beside = before + ((t.after + 15) >> 4), k = thread & 3;
  const uint8_t *column = g.in + x;

  if (x + 15 < g.width)
#pragma unroll 4
    for (int r = thread >> 3; r < t.rows; r += threads / 8)
      __pipeline_memcpy_async (t.at + r * t.pitch + c, column + (long long) t.row[r] * pitch, 16);
  else
#pragma unroll 1
    for (int r = thread >> 3; r < t.rows; r += threads / 8)
      copy_vector (g, t, r, c);
  if (k < beside)
#pragma unroll 1
    for (int r = thread >> 2; r < t.rows; r += threads / 4)
      copy_vector (g, t, r, t.left + 16 * (k < before ? k - before : 8 + k - before));
}

/* Fills the words that fill_inside () leaves out: those with samples outside the image, and all words of
 * the tile where rows are outside or the image is not aligned to words. */
template<int PLANES> __device__ __forceinline__ void
fill_edges (const Work &work, const Group &g, const Tile &t, int first, int thread, int threads)
{
  const int begin = (t.left - t.before) >> 2, end = (min (t.left + 128, g.width - t.x0) + t.after + 3) >> 2;
  const bool rows = work.border == CF_BORDER_CONSTANT && (t.y0 < 0 || t.y0 + t.rows > g.height);
  /* the words from .. to - 1 are inside */
  const int from = max (begin, (3 - t.x0) >> 2), to = max (from, min (end, (g.width - t.x0) >> 2));
  const int left = g.in_words && !rows ? from - begin : end - begin;
  const int all = g.in_words && !rows ? left + max (end - to, 0) : left;

  if (all <= 0)
    return;
#pragma unroll 1
  for (int i = thread; i < t.rows * all; i += threads) {
    const int r = i / all, k = i - r * all, c = k < left ? begin + k : to + k - left;

#pragma unroll 1
    for (int p = 0; p < PLANES; p++)
      *(unsigned *) (t.at + (p * t.rows + r) * t.pitch + 4 * c) =
          edge_word (work, g.index, first + p, t.x0 + 4 * c, t.y0 + r).x;
  }
}

/* Fills the words of the tile that are inside an image with in_words. */
template<int STEP, int PLANES, bool REST> __device__ __forceinline__ void
fill_inside (const Work &work, const Group &g, Tile t, int first, int thread, int threads)
{
  hide (t.x0);
  hide (t.y0);
  hide (thread);
  if (STEP == 1 && g.in_vectors) {
    fill_vectors (g, t, thread, threads);
    return;
  }
  if (g.in_vectors)
    fill_words<STEP, PLANES, REST, true> (work, g, t, first, thread, threads);
  else
    fill_words<STEP, PLANES, REST, false> (work, g, t, first, thread, threads);
}

/* Fills the tile with PLANES planes of 8-bit samples from plane `first` on, of pixels of STEP samples (0: g.step, for
 * one plane). The caller must call __pipeline_wait_prior (0) and have a barrier before the tile is read. */
template<int STEP, int PLANES, bool REST = false> __device__ __forceinline__ void
fill_tile (const Work &work, const Group &g, const Tile &t, int first, int thread, int threads)
{
  const bool constant_rows = work.border == CF_BORDER_CONSTANT && (t.y0 < 0 || t.y0 + t.rows > g.height);

  if (g.in_words && !constant_rows) {
    if constexpr (STEP != 0)
      fill_inside<STEP, PLANES, REST> (work, g, t, first, thread, threads);
    else if (g.step == 1)
      fill_inside<1, 1, false> (work, g, t, first, thread, threads);
    else if (g.step == 2)
      fill_inside<2, 1, false> (work, g, t, first, thread, threads);
    else if (g.step == 3)
      fill_inside<3, 1, false> (work, g, t, first, thread, threads);
    else
      fill_inside<4, 1, false> (work, g, t, first, thread, threads);
  }
  if (!g.in_words || constant_rows || t.x0 + t.left < t.before || t.x0 + t.left + 128 + ((t.after + 3) & ~3) > g.width)
    fill_edges<REST && STEP == 4 && PLANES == 3 ? 4 : PLANES> (work, g, t, first, thread, threads);
  __pipeline_commit ();
}

/* Fills the tile with the 16-bit samples of a plane: the low bytes, and t.rows further down the high bytes. */
static __device__ __forceinline__ void
fill_16bit (const Work &work, const Group &g, const Tile &t, int plane, int thread, int threads)
{
  const int begin = (t.left - t.before) >> 2, words = ((t.left + 128 + t.after + 3) >> 2) - begin;

#pragma unroll 2
  for (int i = thread; i < t.rows * words; i += threads) {
    const int r = i / words, c = begin + i % words;
    const uint2 word = edge_word (work, g.index, plane, t.x0 + 4 * c, t.y0 + r);

    *(unsigned *) (t.at + r * t.pitch + 4 * c) = word.x;
    *(unsigned *) (t.at + (t.rows + r) * t.pitch + 4 * c) = word.y;
  }
}

} // namespace cf

#endif
