/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/gpu/network.cuh: the median by selection networks, windows of 3 x 3 to 17 x 17. CF_MEDIAN_WIDE is 1
 * where all 16 bits of a sample count, and 0 for samples of up to 10 bits; network.cu is compiled for both.
 *
 * Map: a block has 32 x BY threads and a tile of 32 TX x 2 BY TY outputs. A register holds two samples in its 16-bit
 * halves ("lanes"). In lane 0, thread (tx, ty) makes the TX x TY outputs from (tx TX, ty TY) on; in lane 1 it makes
 * those BY TY rows below. The network for that tile (median/networks.c) runs in registers.
 *
 * Columns: neighbouring tiles have sorted columns, and merged pairs of them, in common. So from 9 x 9 on each thread
 * first makes those of TX columns (mknetworks.c); then some make those of the columns left and right of the block's.
 *
 * Shared memory: vectors of four words of the columns, VECTORS for each of BY x LANES threads, those of a row of
 * threads side by side, so that a warp's accesses meet no bank twice. Then BY TY + K - 1 rows of 32-bit words, word
 * (r, c) = sample (x0 - RA + c, y0 - R + r) | sample (same column, r + BY TY) << 16. RA is R rounded up to a multiple
 * of 4, so that aligned quads fill the rows. Columns lie in TX phases (c mod TX, c / TX): threads are TX columns apart,
 * so a warp reads 32 consecutive words at a constant offset, without bank conflicts.
 * Races: none; the rows are written before the first __syncthreads () and only read after it, the columns before the
 * second, and each thread stores only its own outputs.
 *
 * Bound: the minima and maxima on the ALU, so half of the sorts run on the FMA pipe (CF_SORT_FMA); and instruction
 * fetch, hence rare paths out of line. Figures: docs/notes/median.md. */
#ifndef CF_MEDIAN_GPU_NETWORK_CUH
#define CF_MEDIAN_GPU_NETWORK_CUH

#include "core/gpu/launch.cuh"
#include "internal.h"

/* Architectures before 9.0 have no integer minimum on two 16-bit lanes. From 8.0 on narrow samples use the minimum of
 * half floats, which orders them alike; the other cases are composed of 32-bit minima, and only for small windows. */
#define CF_MEDIAN_LARGE_ARCH (CF_MEDIAN_WIDE ? 90 : 80) /* from this one on there are large networks */
#if defined (__CUDA_ARCH__) && __CUDA_ARCH__ < 10 * CF_MEDIAN_LARGE_ARCH
#define CF_MEDIAN_LARGEST_NETWORK 5
#else
#define CF_MEDIAN_LARGEST_NETWORK 17
#endif

#define CF_LOAD(d, address) "ld.shared.b32 " d ", [" address "];"
#if !defined (__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define CF_MIN(d, a, b) "min.u16x2 " d "," a "," b ";"
#define CF_MAX(d, a, b) "max.u16x2 " d "," a "," b ";"
#elif __CUDA_ARCH__ >= 800 && !CF_MEDIAN_WIDE
#define CF_MIN(d, a, b) "min.f16x2 " d "," a "," b ";"
#define CF_MAX(d, a, b) "max.f16x2 " d "," a "," b ";"
#else
#define CF_EACH_LANE(op, d, a, b) "{ .reg .b32 p, q, r, s;" \
  "and.b32 p," a ",0xffff; and.b32 q," b ",0xffff; " op ".u32 p,p,q;" \
  "shr.u32 r," a ",16; shr.u32 s," b ",16; " op ".u32 r,r,s; prmt.b32 " d ",p,r,0x5410; }"
#define CF_MIN(d, a, b) CF_EACH_LANE ("min", d, a, b)
#define CF_MAX(d, a, b) CF_EACH_LANE ("max", d, a, b)
#endif

#define CF_SORT_ALU(d, e, a, b) CF_MIN (d, a, b) CF_MAX (e, a, b)
/* A sort on the FMA pipe, which is idle otherwise: three operations instead of two. As half floats the bits of samples
 * of at most 11 bits are subnormals or the first normals, 2^-24 apart, so sums and differences are exact: with
 * d = max (b - a, 0), max = a + d and min = b - d. */
#if (!defined (__CUDA_ARCH__) || __CUDA_ARCH__ >= 800) && !CF_MEDIAN_WIDE && !defined (CF_NO_FMA)
#define CF_BEGIN "mov.b32 minus, 0xbc00bc00;" /* -1, -1 */
#define CF_SORT_FMA(d, e, a, b) \
  "fma.rn.relu.f16x2 t," a ",minus," b "; add.rn.f16x2 " e "," a ",t; sub.rn.f16x2 " d "," b ",t;"
#else
#define CF_BEGIN ""
#define CF_SORT_FMA CF_SORT_ALU
#endif

namespace cf {

/* The two compilations make different kernels, which must not share a name: the linker would take one for both. */
#if CF_MEDIAN_WIDE
#define median_network_kernel median_network_wide_kernel
#endif

#include "median_networks.cuh"

/* Windows of k x k, tiles of tx x ty outputs per thread and lane, by rows of threads, and registers for that many
 * blocks on an SM. */
template<int k, int tx, int ty, int by, int blocks> struct MedianNetworkBlock {
  typedef MedianNetwork<k, tx, ty> Network;
  static constexpr int K = k, TX = tx, TY = ty, BY = by, BLOCKS = blocks, R = K / 2, RA = (R + 3) / 4 * 4;
  static constexpr int TILE_W = 32 * TX, HALF_H = BY * TY, TILE_H = 2 * HALF_H;
  static constexpr int WORDS = TILE_W + 2 * RA, ROWS = HALF_H + K - 1; /* of the shared rows */
  static constexpr int COLUMNS = BY * Network::LANES * Network::VECTORS; /* vectors of four words */
  static constexpr int SHARED = 16 * COLUMNS + 4 * ROWS * WORDS;         /* bytes of shared memory */
  static_assert (TX == 4, "a thread stores quads; columns lie in TX phases");

  /* Returns where column c of a shared row lies. */
  static __device__ __forceinline__ int
  at (int c)
  {
    return (int) ((unsigned) c % TX * (WORDS / TX) + (unsigned) c / TX);
  }
};

/* Writes quad q of a shared row, of the upper (a) and the lower half (b) of the tile. */
template<typename B, int BYTES> __device__ __forceinline__ void
put_quad (unsigned *row, int q, Quad a, Quad b)
{
  if (BYTES == 1) {
    unsigned low = __byte_perm (a.lo, b.lo, 0x5410), high = __byte_perm (a.lo, b.lo, 0x7632);

    row[B::at (4 * q)] = low & 0x00ff00ff;
    row[B::at (4 * q + 1)] = __byte_perm (low, 0, 0x4341);
    row[B::at (4 * q + 2)] = high & 0x00ff00ff;
    row[B::at (4 * q + 3)] = __byte_perm (high, 0, 0x4341);
  } else {
    row[B::at (4 * q)] = __byte_perm (a.lo, b.lo, 0x5410);
    row[B::at (4 * q + 1)] = __byte_perm (a.lo, b.lo, 0x7632);
    row[B::at (4 * q + 2)] = __byte_perm (a.hi, b.hi, 0x5410);
    row[B::at (4 * q + 3)] = __byte_perm (a.hi, b.hi, 0x7632);
  }
}

/* Returns the quad of four results of one lane. */
__device__ __forceinline__ Quad
lane_quad (const Plane &plane, const unsigned *v, int lane)
{
  unsigned pick = lane ? 0x7632 : 0x5410;
  unsigned lo = __byte_perm (v[0], v[1], pick), hi = __byte_perm (v[2], v[3], pick);

  return plane.bytes == 1 ? Quad { __byte_perm (lo, hi, 0x6420), 0 } : Quad { lo, hi };
}

/* Returns, in each of two lanes, x where |x - m| <= threshold, else m. */
__device__ __forceinline__ unsigned
apply_threshold (unsigned x, unsigned m, unsigned threshold2)
{
  unsigned distance = __vsub2 (__vmaxu2 (x, m), __vminu2 (x, m));
  unsigned far = __vcmpgtu2 (distance, threshold2);

  return (m & far) | (x & ~far);
}

/* Fills one row of a quad that crosses the plane's edge, or of a plane that is
 * not aligned to words. Out of line because it is rare. */
template<typename B, int BYTES> __device__ __noinline__ void
fill_samples (unsigned *tile, const Plane &plane, int x, int y0, int q, int r)
{
  const int y = y0 - B::R + r;
  const Quad upper = load_quad_clamped (plane, plane.in + min (max (y, 0), plane.height - 1) * plane.in_pitch, x);
  const Quad lower = load_quad_clamped (plane,
      plane.in + min (max (y + B::HALF_H, 0), plane.height - 1) * plane.in_pitch, x);

  put_quad<B, BYTES> (&tile[r * B::WORDS], q, upper, lower);
}

/* Fills rows r0, r0 + BY, ... of quad q. All are loaded before the first is used, so that their latencies overlap.
 * INSIDE: no row of the tile is above or below the plane. */
template<typename B, int BYTES, int STEP, int COUNT, bool INSIDE> __device__ __forceinline__ void
fill_rows (unsigned *tile, const Plane &plane, int x0, int y0, int q, int r0)
{
  const QuadColumn column = quad_column (plane, x0 - B::RA + 4 * q);
  Quad upper[COUNT], lower[COUNT];

  if (!column.words) {
#pragma unroll 1
    for (int i = 0; i < COUNT; i++)
      fill_samples<B, BYTES> (tile, plane, column.x, y0, q, r0 + i * B::BY);
    return;
  }
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    const int y = y0 - B::R + r0 + i * B::BY;
    const uint8_t *row = plane.in + (INSIDE ? y : min (max (y, 0), plane.height - 1)) * plane.in_pitch;
    const uint8_t *below = INSIDE ? row + B::HALF_H * plane.in_pitch
        : plane.in + min (max (y + B::HALF_H, 0), plane.height - 1) * plane.in_pitch;

    upper[i] = load_quad<BYTES, STEP> (plane, row, column);
    lower[i] = load_quad<BYTES, STEP> (plane, below, column);
  }
#pragma unroll
  for (int i = 0; i < COUNT; i++)
    put_quad<B, BYTES> (&tile[(r0 + i * B::BY) * B::WORDS], q, upper[i], lower[i]);
}

/* Fills all rows: thread (tx, ty) loads quad tx of every BY-th row from ty on; the few quads beyond the 32nd are
 * distributed over the block. */
template<typename B, int BYTES, int STEP, bool INSIDE> __device__ __forceinline__ void
fill_quads (unsigned *tile, const Plane &plane, int x0, int y0, int tx, int ty)
{
  constexpr int EXTRA = B::WORDS / 4 - 32, FULL = B::ROWS / B::BY, REST = B::ROWS % B::BY;

  fill_rows<B, BYTES, STEP, FULL, INSIDE> (tile, plane, x0, y0, tx, ty);
  if (ty < REST)
    fill_rows<B, BYTES, STEP, 1, INSIDE> (tile, plane, x0, y0, tx, ty + FULL * B::BY);
  for (int i = ty * 32 + tx; i < B::ROWS * EXTRA; i += 32 * B::BY)
    fill_rows<B, BYTES, STEP, 1, INSIDE> (tile, plane, x0, y0, 32 + i % EXTRA, i / EXTRA);
}

template<typename B, int BYTES, int STEP> __device__ __forceinline__ void
fill_format (unsigned *tile, const Plane &plane, int x0, int y0, int tx, int ty)
{
  /* most blocks of the most common format have no rows to clamp */
  if (BYTES == 1 && STEP == 1 && y0 >= B::R && y0 + B::TILE_H + B::R <= plane.height)
    fill_quads<B, BYTES, STEP, true> (tile, plane, x0, y0, tx, ty);
  else
    fill_quads<B, BYTES, STEP, false> (tile, plane, x0, y0, tx, ty);
}

template<typename B> __device__ __forceinline__ void
fill_tile (unsigned *tile, const Plane &plane, int x0, int y0, int tx, int ty)
{
  if (plane.bytes == 2) {
    if (plane.step == 1)
      fill_format<B, 2, 1> (tile, plane, x0, y0, tx, ty);
    else
      fill_format<B, 2, 2> (tile, plane, x0, y0, tx, ty);
    return;
  }
#if !CF_MEDIAN_WIDE
  if (plane.step == 1)
    fill_format<B, 1, 1> (tile, plane, x0, y0, tx, ty);
  else if (plane.step == 2)
    fill_format<B, 1, 2> (tile, plane, x0, y0, tx, ty);
  else if (plane.step == 3)
    fill_format<B, 1, 3> (tile, plane, x0, y0, tx, ty);
  else
    fill_format<B, 1, 4> (tile, plane, x0, y0, tx, ty);
#endif
}

/* Stores 128 samples of a row from x on, four of each lane of a warp; omits those beyond the end of the row. In each of
 * four steps neighbouring lanes store neighbouring samples: where a component's samples lie apart, that is a quarter of
 * the sectors that a sample of each lane's own four would be. All lanes call it, with the same row and x. Out of line,
 * so that it is not fetched where samples are stored as words. */
static __device__ __noinline__ void
store_row_apart (const Plane &j, uint8_t *row, int x, Quad q)
{
  const int lane = (int) threadIdx.x & 31;

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int from = 8 * i + lane / 4, at = x + 32 * i + lane;
    unsigned word = __shfl_sync (~0u, q.lo, from);

    if (j.bytes == 1)
      word = word >> 8 * (lane & 3) & 0xff;
    else {
      const unsigned high = __shfl_sync (~0u, q.hi, from);

      word = (lane & 2 ? high : word) >> 16 * (lane & 1) & 0xffff;
    }
    if (at < j.width)
      store_sample (j, row, at, word);
  }
}

/* Stores a thread's results of both lanes, from (x, y) on. */
template<typename B> __device__ __forceinline__ void
store_tile (const Plane &plane, int x0, int y0, int x, int y, const unsigned *result)
{
  if (plane.out_words && plane.bytes == 1 && x0 + B::TILE_W <= plane.width && y0 + B::TILE_H <= plane.height) {
    uint8_t *row = plane.out + y * plane.out_pitch + x;

#pragma unroll
    for (int o = 0; o < B::TY; o++, row += plane.out_pitch) {
      const unsigned *v = &result[o * B::TX];
      const unsigned low = __byte_perm (v[0], v[1], 0x6240), high = __byte_perm (v[2], v[3], 0x6240);

      *(unsigned *) row = __byte_perm (low, high, 0x5410);
      *(unsigned *) (row + B::HALF_H * plane.out_pitch) = __byte_perm (low, high, 0x7632);
    }
    return;
  }
#pragma unroll
  for (int o = 0; o < 2 * B::TY; o++) {
    const int at = y + o / 2 + o % 2 * B::HALF_H;
    const Quad quad = lane_quad (plane, &result[o / 2 * B::TX], o % 2);
    uint8_t *row = plane.out + at * plane.out_pitch;

    if (at >= plane.height)
      continue;
    if (!plane.out_words)
      store_row_apart (plane, row, x0, quad);
    else if (x < plane.width)
      store_quad (plane, row, x, quad);
  }
}

/* Prefetches a block's rows into the L2 cache, as prefetch_rows (): of the first blocks, as many as a large GPU has at
 * once, because the rows of later ones are on their way before them; not in packed formats, where it takes more time
 * than it saves. */
template<typename B> __device__ __forceinline__ void
prefetch_tile (const Plane &plane, int x0, int y0, int thread)
{
  const int wide = plane.bytes - 1; /* 1: a row is two lines of 128 bytes, 0: one */

  if (plane.step > 1 || blockIdx.x >= 1024)
    return;
  for (int i = thread; has_griddep && i < (B::TILE_H + B::K - 1) << wide; i += 32 * B::BY) {
    const int at = x0 * plane.bytes + 128 * (i & wide), y = min (max (y0 - B::R + (i >> wide), 0), plane.height - 1);

    if (at < plane.width * plane.bytes)
      asm volatile ("prefetch.global.L2 [%0];" : : "l" (__cvta_generic_to_global (plane.in + y * plane.in_pitch + at)));
  }
}

/* Makes the columns of each row of threads, and those left and right of it. */
template<typename B> __device__ __forceinline__ void
make_columns (const unsigned *tile, uint4 *columns, int thread)
{
  typedef typename B::Network N;

#pragma unroll 1
  for (int i = thread; i < B::BY * N::LANES; i += 32 * B::BY) {
    const int ty = i / N::LANES, lane = i % N::LANES;
    const unsigned *corner = &tile[ty * B::TY * B::WORDS + lane - N::FIRST];

    N::columns ((unsigned) __cvta_generic_to_shared (corner),
        (unsigned) __cvta_generic_to_shared (&columns[ty * N::VECTORS * N::LANES + lane]));
  }
}

template<typename B> __global__ void __launch_bounds__ (32 * B::BY, B::BLOCKS)
median_network_kernel (const __grid_constant__ Launch launch)
{
  typedef typename B::Network N;
  extern __shared__ uint4 columns[];
  unsigned *const tile = (unsigned *) (columns + B::COLUMNS);
  const int index = block_in_turn (launch, (int) blockIdx.x);
  const Plane plane = plane_of_block (launch, index);
  const int block = index - plane.first_block;
  const int x0 = block % plane.blocks_x * B::TILE_W, y0 = block / plane.blocks_x * B::TILE_H;
  const int tx = (int) threadIdx.x, ty = (int) threadIdx.y, thread = ty * 32 + tx;

  if (B::K > 5)
    prefetch_tile<B> (plane, x0, y0, thread);
  griddep_wait ();
  if (!plane.filtered) {
    copy_tile (plane, x0, y0, B::TILE_W, B::TILE_H, thread, 32 * B::BY);
    return;
  }
  fill_tile<B> (tile, plane, x0, y0, tx, ty);
  __syncthreads ();
  if (N::VECTORS > 0) {
    make_columns<B> (tile, columns, thread);
    __syncthreads ();
  }

  const int x = x0 + tx * B::TX, y = y0 + ty * B::TY;
  const unsigned *corner = &tile[ty * B::TY * B::WORDS + tx];
  unsigned result[B::TY * B::TX];

  N::run ((unsigned) __cvta_generic_to_shared (corner),
      (unsigned) __cvta_generic_to_shared (&columns[ty * N::VECTORS * N::LANES + tx + N::FIRST]), result);
  if (launch.threshold > 0) {
    const unsigned threshold2 = (unsigned) launch.threshold * 0x10001u;

#pragma unroll
    for (int o = 0; o < B::TY * B::TX; o++) {
      const int c = o % B::TX + B::RA; /* the window's centre */

      result[o] = apply_threshold (corner[(o / B::TX + B::R) * B::WORDS + B::at (c)], result[o],
          threshold2);
    }
  }
  store_tile<B> (plane, x0, y0, x, y, result);
}

} // namespace cf

#endif
