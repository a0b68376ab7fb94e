/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/gpu/registers.cu: the medians of 3 x 3 and 5 x 5 of 8-bit planes in registers, without shared memory: planes
 * of one component, and of pairs of them (the chroma of NV12). Only for rows that are aligned to 8 bytes and a multiple
 * of 8 bytes long, and without a threshold; network.cuh has the others.
 *
 * Map: a thread makes TY rows of 8 bytes from byte 8 i and row TY j of the plane on; threads are numbered row by row of
 * those. It loads its 8 bytes of TY + K - 1 rows, and the quads left and right of them: neighbours load the same
 * samples, from the L1 cache. A register holds two samples in its 16-bit halves ("lanes").
 * 3 x 3: even and odd columns lie in the lanes, columns -1 and 8 in a register of their own. The three samples of a
 * column are sorted once for the three windows that it is in. The median is the middle one of the largest of the lows,
 * the middle one of the middles, and the smallest of the highs. The middle one of three is their sum less the smallest
 * and the largest, which the FMA pipe does.
 * 5 x 5: columns c and c + 4 lie in the lanes of a register, and a network (median/networks.c) runs on them.
 * Pairs: the two samples of a pixel lie in the lanes of a register, the windows of four pixels are medians of lanes.
 * Races: none; each thread stores only its own outputs.
 *
 * Bound: minima and maxima, and in small frames the latency of the loads. Figures: docs/notes/median.md. */
#define CF_MEDIAN_WIDE 0
#include "network.cuh"

#include <climits>

namespace cf {

/* ---- rows ----------------------------------------------------------------- */

/* Selectors of __byte_perm () that repeat the outermost sample, or pair, of the first and of the last quad. */
struct MedianEdges {
  unsigned left, right; /* 0x3210: none */
};

/* A row of 16 samples, from four columns left of the thread's own on. words (): the bytes of four registers
 * of outputs, eight. */
template<int K> struct MedianRow {
  unsigned v[K + 3]; /* columns c - K / 2 and c - K / 2 + 4 */

  __device__ __forceinline__ void
  set_bytes (const unsigned (&in)[4], MedianEdges edges)
  {
    const unsigned w[4] = { __byte_perm (in[0], 0, edges.left), in[1], in[2], __byte_perm (in[3], 0, edges.right) };

#pragma unroll
    for (int c = 0; c < K + 3; c++) {
      const int at = c + 4 - K / 2; /* column of the 16 */
      const unsigned a = at & 1 ? __byte_perm (w[at / 4], 0, 0x4341) : w[at / 4] & 0x00ff00ff;
      const unsigned b = at & 1 ? __byte_perm (w[at / 4 + 1], 0, 0x4341) : w[at / 4 + 1] & 0x00ff00ff;

      v[c] = __byte_perm (a, b, at & 2 ? 0x7632 : 0x5410);
    }
  }
  static __device__ __forceinline__ uint2
  words (const unsigned *r)
  {
    const unsigned low = __byte_perm (r[0], r[1], 0x6240), high = __byte_perm (r[2], r[3], 0x6240);

    return make_uint2 (__byte_perm (low, high, 0x5410), __byte_perm (low, high, 0x7632));
  }
};

template<> struct MedianRow<3> {
  unsigned v[5]; /* columns 0, 2 and 4, 6; columns 1, 3 and 5, 7; columns -1, 8 */

  /* 8-bit samples lie in the high bytes; what lies in the low bytes does no harm. */
  __device__ __forceinline__ void
  set_bytes (const unsigned (&w)[4], MedianEdges edges)
  {
    v[0] = w[1] << 8;
    v[1] = w[2] << 8;
    v[2] = w[1];
    v[3] = w[2];
    v[4] = __byte_perm (w[0], w[3], (edges.left >> 8 & 0xf0) | (edges.right << 12) | 0x4000);
  }
  static __device__ __forceinline__ uint2
  words (const unsigned *r)
  {
    return make_uint2 (__byte_perm (r[0], r[2], 0x7351), __byte_perm (r[1], r[3], 0x7351));
  }
};

/* A row of pairs of samples: eight pixels, from two left of the thread's own four on. */
template<int K> struct MedianPairs {
  unsigned v[K + 3]; /* pixel c - K / 2 */

  __device__ __forceinline__ void
  set_bytes (const unsigned (&in)[4], MedianEdges edges)
  {
    const unsigned w[4] = { __byte_perm (in[0], 0, edges.left), in[1], in[2], __byte_perm (in[3], 0, edges.right) };

#pragma unroll
    for (int c = 0; c < K + 3; c++) {
      const int at = c + 2 - K / 2; /* pixel of the eight */

      v[c] = __byte_perm (w[at / 2], 0, at & 1 ? 0x4342 : 0x4140);
    }
  }
  static __device__ __forceinline__ uint2
  words (const unsigned *r)
  {
    return make_uint2 (__byte_perm (r[0], r[1], 0x6420), __byte_perm (r[2], r[3], 0x6420));
  }
};

/* Loads N rows of MedianRow or MedianPairs from row y on; x is in bytes. At the plane's edges the quad beside the
 * thread's own bytes is the outermost one, of which `edges` repeat the outermost sample or pair. */
template<bool PAIRS, typename Row, int N> __device__ __forceinline__ void
load_rows (const Plane &plane, int x, int y, Row (&rows)[N])
{
  const int last = plane.height - 1, width = PAIRS ? 2 * plane.width : plane.width;
  const int from[3] = { max (x - 4, 0), x, min (x + 8, width - 4) };
  const MedianEdges edges = { x == 0 ? PAIRS ? 0x1010u : 0u : 0x3210u,
    x + 8 == width ? PAIRS ? 0x3232u : 0x3333u : 0x3210u };
  const uint8_t *column[3];
  int pitch = (int) plane.in_pitch;
  unsigned w[N][4];

  asm ("" : "+r"(pitch)); /* an address is one multiplication of 32 bits */
#pragma unroll
  for (int k = 0; k < 3; k++) {
    column[k] = plane.in + from[k];
    asm ("" : "+l"(column[k]));
  }
  /* volatile: all are loaded before the first is used, so that their latencies overlap */
#pragma unroll
  for (int i = 0; i < N; i++) {
    const long long row = (long long) min (max (y + i, 0), last) * pitch;

    asm volatile ("ld.global.u32 %0, [%1];" : "=r"(w[i][0]) : "l"(column[0] + row));
    asm volatile ("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(w[i][1]), "=r"(w[i][2]) : "l"(column[1] + row));
    asm volatile ("ld.global.u32 %0, [%1];" : "=r"(w[i][3]) : "l"(column[2] + row));
  }
#pragma unroll
  for (int i = 0; i < N; i++)
    rows[i].set_bytes (w[i], edges);
}

/* ---- 3 x 3 ---------------------------------------------------------------- */

/* Returns a + b factor, for factors of 1 and -1 that the compiler does not see: a sum on the FMA pipe. */
__device__ __forceinline__ unsigned
add_fma (unsigned a, unsigned b, unsigned factor)
{
  unsigned sum;

  asm ("mad.lo.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(b), "r"(factor), "r"(a));
  return sum;
}

/* Returns the middle one of three in each lane; `lo` and `hi` are the smallest and the largest one. */
__device__ __forceinline__ unsigned
middle (unsigned a, unsigned b, unsigned c, unsigned lo, unsigned hi, unsigned one)
{
  const unsigned sum = add_fma (add_fma (a, b, one), c, one);

  return add_fma (add_fma (sum, lo, 0u - one), hi, 0u - one);
}

/* Sorts the N columns of three rows. `one`: 1, which the compiler does not see. */
template<int N> __device__ __forceinline__ void
sort_columns (const unsigned (&a)[N], const unsigned (&b)[N], const unsigned (&c)[N], unsigned one, unsigned *lo,
    unsigned *mid, unsigned *hi)
{
#pragma unroll
  for (int k = 0; k < N; k++) {
    lo[k] = __vimin3_u16x2 (a[k], b[k], c[k]);
    hi[k] = __vimax3_u16x2 (a[k], b[k], c[k]);
    mid[k] = middle (a[k], b[k], c[k], lo[k], hi[k], one);
  }
}

/* Makes one row of outputs, even and odd columns as in MedianRow<3>. */
__device__ __forceinline__ void
median_3x3 (const MedianRow<3> &a, const MedianRow<3> &b, const MedianRow<3> &c, unsigned one, unsigned (&result)[4])
{
  unsigned lo[5], mid[5], hi[5];

  sort_columns (a.v, b.v, c.v, one, lo, mid, hi);
#pragma unroll
  for (int k = 0; k < 2; k++) {
    const unsigned below = __vminu2 (mid[k], mid[2 + k]), above = __vmaxu2 (mid[k], mid[2 + k]);

#pragma unroll
    for (int odd = 0; odd < 2; odd++) {
      /* the third column: left of the even ones, right of the odd ones */
      const int from = odd ? (k ? 1 : 0) : (k ? 2 : 4), to = odd ? (k ? 4 : 1) : 2 + k;
      const unsigned pick = odd ? (k ? 0x7632 : 0x5432) : (k ? 0x5432 : 0x5410);
      const unsigned lo3 = __byte_perm (lo[from], lo[to], pick), hi3 = __byte_perm (hi[from], hi[to], pick);
      const unsigned x = __vimax3_u16x2 (lo3, lo[k], lo[2 + k]), z = __vimin3_u16x2 (hi3, hi[k], hi[2 + k]);
      const unsigned y = __vmaxu2 (below, __vminu2 (above, __byte_perm (mid[from], mid[to], pick)));

      result[2 * odd + k] = middle (x, y, z, __vimin3_u16x2 (x, y, z), __vimax3_u16x2 (x, y, z), one);
    }
  }
}

/* Makes one row of four pixels' pairs. */
__device__ __forceinline__ void
median_3x3 (const MedianPairs<3> &a, const MedianPairs<3> &b, const MedianPairs<3> &c, unsigned one,
    unsigned (&result)[4])
{
  unsigned lo[6], mid[6], hi[6];

  sort_columns (a.v, b.v, c.v, one, lo, mid, hi);
#pragma unroll
  for (int k = 0; k < 4; k++) {
    /* the two middle columns of pixels 2 i and 2 i + 1 are the same, and sorted once */
    const int both = (k & ~1) + 1, third = k & 1 ? k + 2 : k;
    const unsigned below = __vminu2 (mid[both], mid[both + 1]), above = __vmaxu2 (mid[both], mid[both + 1]);
    const unsigned x = __vimax3_u16x2 (lo[k], lo[k + 1], lo[k + 2]), z = __vimin3_u16x2 (hi[k], hi[k + 1], hi[k + 2]);
    const unsigned y = __vmaxu2 (below, __vminu2 (above, mid[third]));

    result[k] = middle (x, y, z, __vimin3_u16x2 (x, y, z), __vimax3_u16x2 (x, y, z), one);
  }
}

/* ---- tiles ---------------------------------------------------------------- */

/* `one` is 1 where the compiler does not see it. */
template<int TY, template<int> class Row> __device__ __forceinline__ void
make_tile (const Row<3> (&rows)[TY + 2], unsigned one, uint2 (&out)[TY])
{
#pragma unroll
  for (int o = 0; o < TY; o++) {
    unsigned v[4];

    median_3x3 (rows[o], rows[o + 1], rows[o + 2], one, v);
    out[o] = Row<3>::words (v);
  }
}

template<int TY, template<int> class Row, int K> __device__ __forceinline__ void
make_tile (const Row<K> (&rows)[TY + K - 1], unsigned /* one */, uint2 (&out)[TY])
{
  unsigned in[(TY + K - 1) * (K + 3)], v[TY * 4];

#pragma unroll
  for (int i = 0; i < (TY + K - 1) * (K + 3); i++)
    in[i] = rows[i / (K + 3)].v[i % (K + 3)];
  MedianRegisterNetwork<K>::run (in, v);
#pragma unroll
  for (int o = 0; o < TY; o++)
    out[o] = Row<K>::words (&v[4 * o]);
}

/* ---- the kernel ----------------------------------------------------------- */

constexpr int registers_threads = 128;
constexpr int copy_tile_w = 256, copy_tile_h = 16; /* a block's tile of a plane that is copied */

/* Filters the 8 x TY bytes from (x, y) on. */
template<bool PAIRS, int TY, typename Row, int N> __device__ __forceinline__ void
filter_tile (const Plane &plane, int x, int y, unsigned one, Row (&rows)[N])
{
  uint2 out[TY];

  load_rows<PAIRS> (plane, x, y - (N - TY) / 2, rows);
  make_tile<TY> (rows, one, out);
#pragma unroll
  for (int o = 0; o < TY; o++)
    if (y + o < plane.height)
      *(uint2 *) (plane.out + (y + o) * plane.out_pitch + x) = out[o];
}

/* Where a thread's tile begins, the x in bytes: tiles are numbered row by row, `across` in a row. */
template<int TY> struct TilePosition {
  int x, y;

  __device__ __forceinline__
  TilePosition (int i, int across)
  {
    const int j = (int) __fdividef ((float) i + 0.5f, (float) across); /* i / across, for i below 2^20 */

    x = 8 * (i - j * across);
    y = TY * j;
  }
};

/* Prefetches the rows of a block's tiles into the L2 cache, as prefetch_rows (), but where a row of tiles ends the
 * block goes on with the next one. A line of 128 bytes is for 16 threads; each thread fetches one line of one row. */
template<int K, int TY> __device__ __forceinline__ void
prefetch_tiles (const Plane &plane, int block)
{
  constexpr int lines = registers_threads / 16, rows = TY + K - 1;
  const int thread = (int) threadIdx.x;

  static_assert (lines * rows <= registers_threads, "one line a thread");
  if (has_griddep && thread < lines * rows) {
    const TilePosition<TY> at (block * registers_threads + thread % lines * 16, plane.blocks_x);
    const int y = min (max (at.y - K / 2 + thread / lines, 0), plane.height - 1);

    asm volatile ("prefetch.global.L2 [%0];" : : "l" (__cvta_generic_to_global (plane.in + y * plane.in_pitch + at.x)));
  }
}

/* PAIRS: some planes are pairs, those with step 2. A kernel without them is smaller. */
template<int K, int TY, bool PAIRS> __global__ void __launch_bounds__ (registers_threads)
median_registers_kernel (const __grid_constant__ Launch launch)
{
  const Plane &plane = plane_of_block (launch, (int) blockIdx.x);
  const int block = (int) blockIdx.x - plane.first_block, across = plane.blocks_x;
  const unsigned one = (unsigned) min (launch.n, 1); /* 1 where the compiler does not see it */

  if (plane.filtered)
    prefetch_tiles<K, TY> (plane, block);
  griddep_wait ();
  if (!plane.filtered) {
    copy_tile (plane, block % across * copy_tile_w, block / across * copy_tile_h, copy_tile_w, copy_tile_h,
        (int) threadIdx.x, registers_threads);
    return;
  }

  const TilePosition<TY> at (block * registers_threads + (int) threadIdx.x, across);

  if (at.y >= plane.height)
    return;
  if (PAIRS && plane.step == 2) {
    MedianPairs<K> rows[TY + K - 1];

    filter_tile<true, TY> (plane, at.x, at.y, one, rows);
  } else {
    MedianRow<K> rows[TY + K - 1];

    filter_tile<false, TY> (plane, at.x, at.y, one, rows);
  }
}

/* ---- launch --------------------------------------------------------------- */

/* Returns the index of the plane with the other samples of the plane's pairs, or -1. */
static int
find_partner (const Launch &launch, int i)
{
  const Plane &p = launch.plane[i];
  const uintptr_t pair = (uintptr_t) p.in & ~(uintptr_t) 1, out = (uintptr_t) p.out & ~(uintptr_t) 1;

  for (int k = 0; k < launch.n; k++) {
    const Plane &other = launch.plane[k];

    if (k != i && other.filtered && other.step == 2 && ((uintptr_t) other.in & ~(uintptr_t) 1) == pair
        && ((uintptr_t) other.out & ~(uintptr_t) 1) == out)
      return k;
  }
  return -1;
}

bool
median_registers_fit (const Launch &launch)
{
  for (int i = 0; i < launch.n; i++) {
    const Plane &p = launch.plane[i];
    const uintptr_t in_pixel = p.step == 2 ? 1 : 0; /* a pair's second sample */
    const uintptr_t all = ((uintptr_t) p.in & ~in_pixel) | ((uintptr_t) p.out & ~in_pixel) | (uintptr_t) p.in_pitch
        | (uintptr_t) p.out_pitch | (uintptr_t) (p.width * p.step);

    /* the kernel has rows of 32-bit addresses and 2^20 threads */
    if (p.filtered && (p.step > 2 || p.bytes != 1 || (all & 7) != 0 || p.in_pitch > INT_MAX
        || (long long) p.width * p.step * p.height >= 1ll << 25 || (p.step == 2 && find_partner (launch, i) < 0)))
      return false;
  }
  return launch.threshold == 0;
}

constexpr int tile_rows = 4; /* of outputs, per thread */

/* Each without and with pairs. */
static const void *const registers_kernels[median_n_registers][2] = {
  { (const void *) median_registers_kernel<3, tile_rows, false>,
    (const void *) median_registers_kernel<3, tile_rows, true> },
  { (const void *) median_registers_kernel<5, tile_rows, false>,
    (const void *) median_registers_kernel<5, tile_rows, true> },
};

CfCode
median_launch_registers (Launch *launch, int variant, bool pdl, cudaStream_t stream, CfStatus *status)
{
  void *arguments[] = { launch };
  bool pairs = false;

  launch->blocks = 0;
  for (int i = 0; i < launch->n; i++) {
    Plane &p = launch->plane[i];
    const bool is_pair = p.filtered && p.step == 2;
    const int tile_w = is_pair ? 4 : p.filtered ? 8 : copy_tile_w, tile_h = p.filtered ? tile_rows : copy_tile_h;

    p.first_block = launch->blocks;
    p.blocks_x = (p.width + tile_w - 1) / tile_w;

    const int tiles = p.blocks_x * ((p.height + tile_h - 1) / tile_h);

    if (is_pair) {
      pairs = true;
      if (find_partner (*launch, i) < i)
        continue; /* the partner's blocks filter it */
      p.in -= (uintptr_t) p.in & 1;
      p.out -= (uintptr_t) p.out & 1;
    }
    launch->blocks += p.filtered ? (tiles + registers_threads - 1) / registers_threads : tiles;
  }
  return launch_kernel ("median: registers", registers_kernels[variant][pairs], launch->blocks,
      dim3 (registers_threads), arguments, 0, pdl, stream, status);
}

CfCode
median_registers_init (bool *pdl, CfStatus *status)
{
  CfCode code = CF_OK;

  *pdl = true;
  for (const auto &kernels : registers_kernels)
    for (const void *kernel : kernels) {
      cudaFuncAttributes attributes;

      if (code == CF_OK)
        code = cf_cuda_check (cudaFuncGetAttributes (&attributes, kernel), median_loading, status);
      /* griddep_wait () depends on what the kernel was compiled for, not on the device that runs it */
      *pdl = *pdl && code == CF_OK && attributes.ptxVersion >= 90;
    }
  return code;
}

} // namespace cf
