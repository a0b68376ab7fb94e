/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * median/gpu/network.cuh: the median by selection networks, windows of 3 x 3 to
 * 17 x 17.
 *
 * Samples sit in the 16-bit halves ("lanes") of a register, two at a time: lane
 * 0 works on the upper half of the block's tile, lane 1 on the lower half. A
 * thread computes TX x TY outputs a lane with the network for that tile
 * (median/networks.c), entirely in registers.
 *
 * Block: 32 x BY threads, tile 32 TX x 2 BY TY outputs. Thread (tx, ty) makes
 * the outputs from (tx TX, ty TY), and from BY TY rows below in lane 1.
 *
 * Shared memory: BY TY + K - 1 rows of 32-bit words, word (r, c) = sample
 * (x0 - RA + c, y0 - R + r) | sample (same, r + BY TY) << 16, where RA is R
 * rounded up to 4 so that rows are filled from aligned quads. Columns are kept
 * in four phases (c mod 4, c / 4): threads are TX = 4 columns apart, so a warp
 * reads 32 consecutive words, without conflicts, at a constant offset. Written
 * before the one barrier, read after it: no races.
 *
 * Bound: the minima and maxima, and fetching the instructions. The ALU does 64
 * lanes of minima a clock and SM (two samples each). For samples of at most 11
 * bits there is a second way on the FMA pipe: a sample's bits, read as a half
 * float, are a subnormal or one of the first normals, spaced 2^-24 apart, so
 * that sums and differences are exact integers: with d = max (b - a, 0),
 * max = a + d and min = b - d. Three operations instead of two, on a pipe that
 * would idle otherwise; two sorts of five go there.
 * A network runs once from its first instruction to its last, so warps at
 * different places fight for the instruction caches (128 KB a SM: the 17 x 17
 * does not fit). Hence: large blocks, a barrier now and then (CF_PACE) that
 * keeps their warps together, and rare paths out of line. On an H200 this took
 * 7 x 7 at 4K from 59 to 38 us. What 3 x 3 does beside its 304 operations,
 * filling the shared rows and storing, costs more than they do. */
#ifndef CF_MEDIAN_GPU_NETWORK_CUH
#define CF_MEDIAN_GPU_NETWORK_CUH

#include "core/gpu/launch.cuh"
#include "internal.h"

/* CF_WIDE: all 16 bits of a sample count; set by the file that includes this.
 * Architectures before 9.0 have no 16-bit integer minimum on two lanes: from
 * 8.0 on narrow samples use the one of halves, which orders them alike; the
 * rest is put together from 32-bit ones, for small windows only. */
#define CF_LOAD(d, address) "ld.shared.b32 " d ", [" address "];"
#if !defined (__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define CF_LARGEST_NETWORK 17
#define CF_MIN(d, a, b) "min.u16x2 " d "," a "," b ";"
#define CF_MAX(d, a, b) "max.u16x2 " d "," a "," b ";"
#elif __CUDA_ARCH__ >= 800 && !CF_WIDE
#define CF_LARGEST_NETWORK 17
#define CF_MIN(d, a, b) "min.f16x2 " d "," a "," b ";"
#define CF_MAX(d, a, b) "max.f16x2 " d "," a "," b ";"
#else
#define CF_LARGEST_NETWORK 5
#define CF_EACH_LANE(op, d, a, b) "{ .reg .b32 p, q, r, s;" \
  "and.b32 p," a ",0xffff; and.b32 q," b ",0xffff; " op ".u32 p,p,q;" \
  "shr.u32 r," a ",16; shr.u32 s," b ",16; " op ".u32 r,r,s; prmt.b32 " d ",p,r,0x5410; }"
#define CF_MIN(d, a, b) CF_EACH_LANE ("min", d, a, b)
#define CF_MAX(d, a, b) CF_EACH_LANE ("max", d, a, b)
#endif

#define CF_PACE "bar.sync 0;" /* all threads of a block run the network */
#define CF_SORT_ALU(d, e, a, b) CF_MIN (d, a, b) CF_MAX (e, a, b)
#if (!defined (__CUDA_ARCH__) || __CUDA_ARCH__ >= 800) && !CF_WIDE && !defined (CF_NO_FMA)
#define CF_BEGIN "mov.b32 minus, 0xbc00bc00;" /* -1, -1 */
#define CF_SORT_FMA(d, e, a, b) \
  "fma.rn.relu.f16x2 t," a ",minus," b "; add.rn.f16x2 " e "," a ",t; sub.rn.f16x2 " d "," b ",t;"
#else
#define CF_BEGIN ""
#define CF_SORT_FMA CF_SORT_ALU
#endif

namespace cf {

#include "median_networks.cuh"

template<int K> struct NetworkBlock {
  static constexpr int BY = K <= 5 ? 4 : 8; /* rows of threads */
  static constexpr int TX = Network<K>::TX, TY = Network<K>::TY;
  static constexpr int R = K / 2, RA = Network<K>::RA;
  static constexpr int TILE_W = 32 * TX, HALF_H = BY * TY, TILE_H = 2 * HALF_H;
  static constexpr int QUADS = Network<K>::QUADS; /* a row; also the phases' distance in words */
  static constexpr int ROWS = HALF_H + K - 1;
  static_assert (TX == 4, "the phases of the shared rows are for tiles of four columns");
};

/* Two quads, of the upper and of the lower half, into four words. */
template<int BYTES> __device__ __forceinline__ void
put_quad (unsigned *word, int phase, Quad a, Quad b)
{
  if (BYTES == 1) {
    unsigned low = __byte_perm (a.lo, b.lo, 0x5410), high = __byte_perm (a.lo, b.lo, 0x7632);

    word[0] = low & 0x00ff00ff;
    word[phase] = __byte_perm (low, 0, 0x4341);
    word[2 * phase] = high & 0x00ff00ff;
    word[3 * phase] = __byte_perm (high, 0, 0x4341);
  } else {
    word[0] = __byte_perm (a.lo, b.lo, 0x5410);
    word[phase] = __byte_perm (a.lo, b.lo, 0x7632);
    word[2 * phase] = __byte_perm (a.hi, b.hi, 0x5410);
    word[3 * phase] = __byte_perm (a.hi, b.hi, 0x7632);
  }
}

/* The quad of one lane of four results. */
__device__ __forceinline__ Quad
take_quad (const Plane &j, const unsigned *v, int lane)
{
  unsigned pick = lane ? 0x7632 : 0x5410;
  unsigned lo = __byte_perm (v[0], v[1], pick), hi = __byte_perm (v[2], v[3], pick);

  return j.bytes == 1 ? Quad { __byte_perm (lo, hi, 0x6420), 0 } : Quad { lo, hi };
}

/* The threshold rule on two lanes: keep the sample where |x - m| <= threshold. */
__device__ __forceinline__ unsigned
keep_close (unsigned x, unsigned m, unsigned threshold2)
{
  unsigned distance = __vsub2 (__vmaxu2 (x, m), __vminu2 (x, m));
  unsigned far = __vcmpgtu2 (distance, threshold2);

  return (m & far) | (x & ~far);
}

/* One row of a quad across the picture's edge, or of a picture that does not lie
 * on words. Out of line, as it is rare. */
template<int K, int BYTES> __device__ __noinline__ void
fill_samples (unsigned *tile, const Plane &j, int x, int y0, int q, int r)
{
  typedef NetworkBlock<K> B;
  const int y = y0 - B::R + r;
  const Quad upper = load_quad_clamped (j, j.in + min (max (y, 0), j.height - 1) * j.in_pitch, x);
  const Quad lower = load_quad_clamped (j, j.in + min (max (y + B::HALF_H, 0), j.height - 1) * j.in_pitch, x);

  put_quad<BYTES> (&tile[r * 4 * B::QUADS + q], B::QUADS, upper, lower);
}

/* Rows r0, r0 + BY, ... of quad q: all are loaded before the first is used, so
 * that their latencies overlap. INSIDE: no row of the tile is above or below the
 * picture. */
template<int K, int BYTES, int STEP, int COUNT, bool INSIDE> __device__ __forceinline__ void
fill_rows (unsigned *tile, const Plane &j, int x0, int y0, int q, int r0)
{
  typedef NetworkBlock<K> B;
  const QuadColumn column = quad_column (j, x0 - B::RA + 4 * q);
  Quad upper[COUNT], lower[COUNT];

  if (!column.words) {
#pragma unroll 1
    for (int i = 0; i < COUNT; i++)
      fill_samples<K, BYTES> (tile, j, column.x, y0, q, r0 + i * B::BY);
    return;
  }
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    const int y = y0 - B::R + r0 + i * B::BY;
    const uint8_t *row = j.in + (INSIDE ? y : min (max (y, 0), j.height - 1)) * j.in_pitch;
    const uint8_t *below = INSIDE ? row + B::HALF_H * j.in_pitch
        : j.in + min (max (y + B::HALF_H, 0), j.height - 1) * j.in_pitch;

    upper[i] = load_quad<BYTES, STEP> (j, row, column);
    lower[i] = load_quad<BYTES, STEP> (j, below, column);
  }
#pragma unroll
  for (int i = 0; i < COUNT; i++)
    put_quad<BYTES> (&tile[(r0 + i * B::BY) * 4 * B::QUADS + q], B::QUADS, upper[i], lower[i]);
}

/* Lane tx loads quad tx of every row; the few quads beyond the 32nd are dealt
 * out over the block. */
template<int K, int BYTES, int STEP, bool INSIDE> __device__ __forceinline__ void
fill_quads (unsigned *tile, const Plane &j, int x0, int y0, int tx, int ty)
{
  typedef NetworkBlock<K> B;
  constexpr int EXTRA = B::QUADS - 32, FULL = B::ROWS / B::BY, REST = B::ROWS % B::BY;
  const int thread = ty * 32 + tx;

  fill_rows<K, BYTES, STEP, FULL, INSIDE> (tile, j, x0, y0, tx, ty);
  if (ty < REST)
    fill_rows<K, BYTES, STEP, 1, INSIDE> (tile, j, x0, y0, tx, ty + FULL * B::BY);
  for (int i = thread; i < B::ROWS * EXTRA; i += 32 * B::BY)
    fill_rows<K, BYTES, STEP, 1, INSIDE> (tile, j, x0, y0, 32 + i % EXTRA, i / EXTRA);
}

template<int K, int BYTES, int STEP> __device__ __forceinline__ void
fill_format (unsigned *tile, const Plane &j, int x0, int y0, int tx, int ty)
{
  typedef NetworkBlock<K> B;

  /* the usual format's usual blocks have no rows to clamp; the others are few */
  if (BYTES == 1 && STEP == 1 && y0 >= B::R && y0 + B::TILE_H + B::R <= j.height)
    fill_quads<K, BYTES, STEP, true> (tile, j, x0, y0, tx, ty);
  else
    fill_quads<K, BYTES, STEP, false> (tile, j, x0, y0, tx, ty);
}

template<int K> __device__ __forceinline__ void
fill_tile (unsigned *tile, const Plane &j, int x0, int y0, int tx, int ty)
{
  if (j.bytes == 2) {
    if (j.step == 1)
      fill_format<K, 2, 1> (tile, j, x0, y0, tx, ty);
    else
      fill_format<K, 2, 2> (tile, j, x0, y0, tx, ty);
    return;
  }
#if !CF_WIDE
  if (j.step == 1)
    fill_format<K, 1, 1> (tile, j, x0, y0, tx, ty);
  else if (j.step == 2)
    fill_format<K, 1, 2> (tile, j, x0, y0, tx, ty);
  else if (j.step == 3)
    fill_format<K, 1, 3> (tile, j, x0, y0, tx, ty);
  else
    fill_format<K, 1, 4> (tile, j, x0, y0, tx, ty);
#endif
}

/* Both lanes' results of a thread, from (x, y) on. */
template<int K> __device__ __forceinline__ void
store_tile (const Plane &j, int x0, int y0, int x, int y, const unsigned *result)
{
  typedef NetworkBlock<K> B;

  if (j.out_words && j.bytes == 1 && x0 + B::TILE_W <= j.width && y0 + B::TILE_H <= j.height) {
    uint8_t *row = j.out + y * j.out_pitch + x;

#pragma unroll
    for (int o = 0; o < B::TY; o++, row += j.out_pitch) {
      const unsigned *v = &result[o * B::TX];
      const unsigned low = __byte_perm (v[0], v[1], 0x6240), high = __byte_perm (v[2], v[3], 0x6240);

      *(unsigned *) row = __byte_perm (low, high, 0x5410);
      *(unsigned *) (row + B::HALF_H * j.out_pitch) = __byte_perm (low, high, 0x7632);
    }
    return;
  }
#pragma unroll
  for (int o = 0; o < B::TY; o++) {
    if (x < j.width && y + o < j.height)
      store_quad (j, j.out + (y + o) * j.out_pitch, x, take_quad (j, &result[o * B::TX], 0));
    if (x < j.width && y + o + B::HALF_H < j.height)
      store_quad (j, j.out + (y + o + B::HALF_H) * j.out_pitch, x, take_quad (j, &result[o * B::TX], 1));
  }
}

template<int K> __global__ void __launch_bounds__ (32 * NetworkBlock<K>::BY)
median_network_kernel (const __grid_constant__ Launch launch)
{
  typedef NetworkBlock<K> B;
  __shared__ unsigned tile[B::ROWS * 4 * B::QUADS];
  const Plane j = plane_of_block (launch, (int) blockIdx.x);
  const int block = (int) blockIdx.x - j.first_block;
  const int x0 = block % j.blocks_x * B::TILE_W, y0 = block / j.blocks_x * B::TILE_H;
  const int tx = (int) threadIdx.x, ty = (int) threadIdx.y, thread = ty * 32 + tx;

  if (!j.filtered) {
    copy_tile (j, x0, y0, B::TILE_W, B::TILE_H, thread, 32 * B::BY);
    return;
  }
  fill_tile<K> (tile, j, x0, y0, tx, ty);
  __syncthreads ();

  const int x = x0 + tx * B::TX, y = y0 + ty * B::TY;
  const unsigned *corner = &tile[ty * B::TY * 4 * B::QUADS + tx];
  unsigned result[B::TY * B::TX];

  Network<K>::run ((unsigned) __cvta_generic_to_shared (corner), result);
  if (launch.threshold > 0) {
    const unsigned threshold2 = (unsigned) launch.threshold * 0x10001u;

#pragma unroll
    for (int o = 0; o < B::TY * B::TX; o++) {
      const int c = o % B::TX + B::RA; /* the window's centre */

      result[o] = keep_close (corner[(o / B::TX + B::R) * 4 * B::QUADS + (c & 3) * B::QUADS + (c >> 2)], result[o],
          threshold2);
    }
  }
  store_tile<K> (j, x0, y0, x, y, result);
}

/* ---- the variants of one width of sample -------------------------------- */

template<int K> NetworkVariant
network_variant (const char *name)
{
  typedef NetworkBlock<K> B;

  return NetworkVariant { K, name, (const void *) median_network_kernel<K>, B::TILE_W, B::TILE_H, B::BY };
}

#define CF_NETWORK_VARIANTS \
  { \
    network_variant<3> ("network 3x3"), network_variant<5> ("network 5x5"), network_variant<7> ("network 7x7"), \
    network_variant<9> ("network 9x9"), network_variant<11> ("network 11x11"), network_variant<13> ("network 13x13"), \
    network_variant<15> ("network 15x15"), network_variant<17> ("network 17x17"), \
  }

} // namespace cf

#endif
