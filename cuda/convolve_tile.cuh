/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convolve_tile.cuh: what the convolution's kernels share on the device: a tile
 * of samples in shared memory with its border in place, the integer tensor
 * operation, sums to samples, and pixels back to memory. */
#ifndef CONVOLVE_TILE_CUH
#define CONVOLVE_TILE_CUH

#include "convolve_cuda.h"

#include <cuda_pipeline.h>

namespace cf {

/* The block's group; to be copied: what lies in the launch's arguments at a
 * place that is not known when compiling is fetched again and again. */
__device__ __forceinline__ const Group &
group_of_block (const Work &work, int block)
{
  int i = 0;

  while (i + 1 < work.n && block >= work.group[i + 1].first_block)
    i++;
  return work.group[i];
}

/* The block's first pixel, in blocks. */
__device__ __forceinline__ int2
place_of_block (const Group &g, int block)
{
  const unsigned at = (unsigned) (block - g.first_block), y = g.blocks_inverse ? __umulhi (at, g.blocks_inverse) : at;

  return make_int2 ((int) (at - y * (unsigned) g.blocks_x), (int) y);
}

/* Hides from the compiler where a value comes from. At the head of each of several
 * ways through a kernel it keeps what they could share, addresses above all, from
 * being worked out for all of them in advance. */
static __device__ __forceinline__ void
hide (int &v)
{
  asm volatile ("" : "+r" (v));
}

/* ---- tiles -------------------------------------------------------------- */

/* Rows of bytes, one plane behind the other: byte c of row r of plane p stands
 * for the sample (x0 + c, y0 + r). 16-bit samples have two planes each, the low
 * bytes first. The block's own 128 columns begin at `left`; `before` and `after`
 * them so many are wanted, too. */
struct Tile {
  uint8_t *at;
  const int *row; /* of each row the picture's, in shared memory; -1: from outside */
  int pitch, rows; /* pitch: bytes, a multiple of 16 */
  int x0, y0;
  int left, before, after; /* left: a multiple of 16 */
};

constexpr int max_rows = 128; /* of a tile */

static __device__ __noinline__ int
edge_row (int border, int y, int height)
{
  return cf_border_map ((CfBorder) border, y, height);
}

/* The tile of the block at (x0, y0); works out where its rows come from. Follow
 * with a barrier. */
static __device__ __forceinline__ Tile
tile_of (const Work &work, const Group &g, uint8_t *at, int *row, int pitch, int rows, int left, int x0, int y0,
    int thread)
{
  const int y = y0 - work.ay + thread, clamped = min (max (y, 0), g.height - 1);

  if (thread < rows)
    row[thread] = y == clamped || work.border == CF_BORDER_REPLICATE ? clamped : edge_row (work.border, y, g.height);
  return Tile { at, row, pitch, rows, x0 - left, y0 - work.ay, left, work.ax, work.w - 1 - work.ax };
}

/* One sample of a plane, wherever it lies: out of line, for the few at edges and
 * for pictures that do not lie on words. */
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
      sum = g.weight[0] * *p + g.weight[1] * g.in2[0][my * g.in_pitch2[0] + mx]
          + g.weight[2] * g.in2[1][my * g.in_pitch2[1] + mx];
    else
      sum = g.weight[0] * p[0] + g.weight[1] * p[1] + g.weight[2] * p[2] + g.weight[3] * (g.step == 4 ? p[3] : 0);
    return work.gray == CF_GRAY_MEAN ? sum / 3 : (sum + 128) >> 8;
  }
  if (g.bytes == 1)
    return p[g.plane_offset (plane)];
  return min ((unsigned) ((const uint16_t *) p)[g.plane_offset (plane)] >> g.shift, (1u << g.bits) - 1);
}

/* Four samples: low bytes, high bytes. The loads do not wait for each other. */
static __device__ __noinline__ uint2
edge_word (const Work &work, int group, int plane, int x, int y)
{
  const Group &g = work.group[group];
  const int my = cf_border_map ((CfBorder) work.border, y, g.height);
  const uint8_t *row = g.in + max (my, 0) * g.in_pitch + g.plane_offset (plane) * g.bytes;
  unsigned s[4], lo = 0, hi = 0;

  if (g.gray) {
#pragma unroll 1
    for (int i = 0; i < 4; i++)
      lo |= edge_sample (work, group, plane, x + i, y) << 8 * i;
    return make_uint2 (lo, 0);
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

/* Bytes o, o + step, o + 2 step, o + 3 step of the words of four pixels. */
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

/* The gray of four pixels; weights sum to 3 or to 256. */
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

/* The words of four pixels, all inside the row; VECTOR: they lie on as many bytes. */
template<int STEP, bool VECTOR> __device__ __forceinline__ void
load_pixels (const uint8_t *from, unsigned *w)
{
  if constexpr (VECTOR && STEP == 4) {
    const uint4 v = __ldg ((const uint4 *) from);

    w[0] = v.x, w[1] = v.y, w[2] = v.z, w[3] = v.w;
  } else if constexpr (VECTOR && STEP == 2) {
    const uint2 v = __ldg ((const uint2 *) from);

    w[0] = v.x, w[1] = v.y;
  } else {
#pragma unroll
    for (int i = 0; i < STEP; i++)
      w[i] = __ldg ((const unsigned *) from + i);
  }
}

/* Four pixels to word c of row r of their planes; of step 4 with three planes
 * the fourth sample follows as a plane of its own, for store_rows to put back. */
template<int STEP, int PLANES> __device__ __forceinline__ void
put_pixels (const Work &work, const Group &g, const Tile &t, int first, int r, int c, const unsigned *w)
{
  unsigned *to = (unsigned *) (t.at + r * t.pitch + 4 * c);

  if (PLANES == 1 && STEP >= 3 && g.gray)
    *to = gray_word<STEP == 3 ? 3 : 4> (work, g, w);
  else
#pragma unroll
    for (int p = 0; p < PLANES; p++)
      to[p * t.rows * (t.pitch / 4)] = pick_bytes<STEP> (w, (unsigned) g.plane_offset (first + p));
  if (STEP == 4 && PLANES == 3)
    to[3 * t.rows * (t.pitch / 4)] = pick_bytes<STEP> (w, (unsigned) g.plane_offset (3));
}

/* The words of the tile's own columns that are inside: a warp a row, COUNT rows
 * loaded before the first is used. All rows are the picture's here. */
template<int STEP, int PLANES, bool VECTOR> __device__ __forceinline__ void
fill_columns (const Work &work, const Group &g, const Tile &t, int first, int thread, int threads)
{
  constexpr int COUNT = STEP == 1 ? 8 : 11; /* of 4 warps: up to 44 rows at once */
  const int warps = threads / 32, c = t.left / 4 + (thread & 31), x = t.x0 + 4 * c, pitch = (int) g.in_pitch;
  const uint8_t *column = g.in + x * STEP;

  if (x + 3 >= g.width)
    return;
#pragma unroll 1
  for (int r = thread >> 5; r < t.rows; r += COUNT * warps) {
    unsigned w[COUNT][STEP];

#pragma unroll
    for (int i = 0; i < COUNT; i++)
      load_pixels<STEP, VECTOR> (column + (long long) t.row[min (r + i * warps, t.rows - 1)] * pitch, w[i]);
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      if (r + i * warps < t.rows)
        put_pixels<STEP, PLANES> (work, g, t, first, r + i * warps, c, w[i]);
  }
}

/* Those beside them. */
template<int STEP, int PLANES> __device__ __forceinline__ void
fill_sides (const Work &work, const Group &g, const Tile &t, int first, int thread, int threads)
{
  const int before = (t.before + 3) >> 2, beside = before + ((t.after + 3) >> 2);

#pragma unroll 1
  for (int i = thread; i < t.rows * beside; i += threads) {
    const int r = i / beside, k = i - r * beside, c = t.left / 4 + (k < before ? k - before : 32 + k - before);
    const int x = t.x0 + 4 * c;
    unsigned w[STEP];

    if (x < 0 || x + 3 >= g.width)
      continue;
    load_pixels<STEP, false> (g.in + x * STEP + (long long) t.row[r] * (int) g.in_pitch, w);
    put_pixels<STEP, PLANES> (work, g, t, first, r, c, w);
  }
}

/* The words of a vector that are inside. */
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

/* Step 1: 16 bytes at a time where they lie so, straight into shared memory. At
 * most two vectors stand on each side of the tile's own eight. */
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

/* Words with samples from outside, in rows from outside, or of pictures that do
 * not lie on words: the columns left and right of those that are inside, or all. */
template<int PLANES> __device__ __forceinline__ void
fill_edges (const Work &work, const Group &g, const Tile &t, int first, int thread, int threads)
{
  const int begin = (t.left - t.before) >> 2, end = (min (t.left + 128, g.width - t.x0) + t.after + 3) >> 2;
  const bool rows = work.border == CF_BORDER_CONSTANT && (t.y0 < 0 || t.y0 + t.rows > g.height);
  /* from .. to - 1 are inside */
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

template<int STEP, int PLANES> __device__ __forceinline__ void
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
    fill_columns<STEP, PLANES, true> (work, g, t, first, thread, threads);
  else
    fill_columns<STEP, PLANES, false> (work, g, t, first, thread, threads);
  fill_sides<STEP, PLANES> (work, g, t, first, thread, threads);
}

/* PLANES planes of 8-bit samples from plane `first` on, of pixels of STEP samples
 * (0: g.step, for one plane). Follow with __pipeline_wait_prior (0) and a
 * barrier. */
template<int STEP, int PLANES> __device__ __forceinline__ void
fill_tile (const Work &work, const Group &g, const Tile &t, int first, int thread, int threads)
{
  const bool constant_rows = work.border == CF_BORDER_CONSTANT && (t.y0 < 0 || t.y0 + t.rows > g.height);

  if (g.in_words && !constant_rows) {
    if constexpr (STEP != 0)
      fill_inside<STEP, PLANES> (work, g, t, first, thread, threads);
    else if (g.step == 1)
      fill_inside<1, 1> (work, g, t, first, thread, threads);
    else if (g.step == 2)
      fill_inside<2, 1> (work, g, t, first, thread, threads);
    else if (g.step == 3)
      fill_inside<3, 1> (work, g, t, first, thread, threads);
    else
      fill_inside<4, 1> (work, g, t, first, thread, threads);
  }
  if (!g.in_words || constant_rows || t.x0 + t.left < t.before || t.x0 + t.left + 128 + ((t.after + 3) & ~3) > g.width)
    fill_edges<STEP == 4 && PLANES == 3 ? 4 : PLANES> (work, g, t, first, thread, threads);
  __pipeline_commit ();
}

/* 16-bit samples of a plane: low bytes, then high bytes. */
static __device__ __forceinline__ void
fill_halves (const Work &work, const Group &g, const Tile &t, int plane, int thread, int threads)
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

/* ---- the tensor operation ----------------------------------------------- */

/* d += a b: a 16 x 32 bytes, b 32 x 8, with the fragments of mma.m16n8k32: with
 * g = lane / 4 and t = lane % 4, a[0], a[1] hold bytes 4 t .. 4 t + 3 of rows g and
 * g + 8, a[2], a[3] those from 16 on; b0, b1 rows 4 t .. and 16 + 4 t .. of column
 * g; d[0], d[1] row g, columns 2 t and 2 t + 1; d[2], d[3] row g + 8. */
template<bool A_SIGNED, bool B_SIGNED> __device__ __forceinline__ void
multiply (int *d, const unsigned *a, unsigned b0, unsigned b1)
{
#if !defined (__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define CF_MMA(ta, tb) \
  asm ("mma.sync.aligned.m16n8k32.row.col.s32." ta "." tb ".s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
      : "+r" (d[0]), "+r" (d[1]), "+r" (d[2]), "+r" (d[3]) \
      : "r" (a[0]), "r" (a[1]), "r" (a[2]), "r" (a[3]), "r" (b0), "r" (b1))
#else
#define CF_MMA_PART(ta, tb, i, a, b) \
  asm ("mma.sync.aligned.m8n8k16.row.col.s32." ta "." tb ".s32 {%0,%1}, {%2}, {%3}, {%0,%1};" \
      : "+r" (d[i]), "+r" (d[i + 1]) : "r" (a), "r" (b))
#define CF_MMA(ta, tb) \
  CF_MMA_PART (ta, tb, 0, a[0], b0); CF_MMA_PART (ta, tb, 2, a[1], b0); \
  CF_MMA_PART (ta, tb, 0, a[2], b1); CF_MMA_PART (ta, tb, 2, a[3], b1)
#endif
  if (A_SIGNED && B_SIGNED) {
    CF_MMA ("s8", "s8");
  } else if (A_SIGNED) {
    CF_MMA ("s8", "u8");
  } else if (B_SIGNED) {
    CF_MMA ("u8", "s8");
  } else {
    CF_MMA ("u8", "u8");
  }
#undef CF_MMA
}

/* ---- sums to samples ---------------------------------------------------- */

static __device__ __forceinline__ int
saturate (const Rounding &k, long long v)
{
  return v < 0 ? 0 : v > k.max ? k.max : (int) v;
}

/* n / (2 D) rounded down, ties to even: any n. */
static __device__ __noinline__ int
round_any (const Rounding &k, long long n, int chroma)
{
  long long q, rest;

  if (n < 0)
    return 0;
  if (k.pow2) {
    q = n >> k.shift;
    rest = n & (k.divisor2 - 1);
  } else {
    q = n / k.divisor2;
    rest = n - q * k.divisor2;
  }
  if ((chroma ? k.ties[1] : k.ties[0]) && rest == 0)
    q -= q & 1;
  return saturate (k, q);
}

/* v[0..3], saturated, to the bytes of a word. */
static __device__ __forceinline__ unsigned
pack_bytes (const int *v)
{
  unsigned high, all;

  asm ("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r" (high) : "r" (v[3]), "r" (v[2]), "r" (0));
  asm ("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r" (all) : "r" (v[1]), "r" (v[0]), "r" (high));
  return all;
}

/* Four sums to bytes, for narrow kernels of 8-bit samples: SHIFT: D is a power of
 * two; EVEN: ties can occur and go to even. */
template<bool SHIFT, bool EVEN> static __device__ __forceinline__ unsigned
round_four (const Rounding &k, const int *sum, int add)
{
  int v[4];

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int n = 2 * sum[i] + add;

    if (SHIFT) {
      v[i] = n >> k.shift;
      if (EVEN && (n & ((int) k.divisor2 - 1)) == 0)
        v[i] &= ~1;
    } else {
      const unsigned m = (unsigned) max (n, 0), q = __umulhi (m, k.magic) >> k.shift;

      v[i] = (int) (EVEN && m == q * (unsigned) k.divisor2 ? q & ~1u : q);
    }
  }
  return pack_bytes (v);
}

static __device__ __noinline__ int
round_unsharp (const Rounding &k, long long s, int x, int chroma)
{
  const long long dx = (k.divisor2 >> 1) * x, n = 256 * dx + k.amount * (dx - s) + (chroma ? k.add[1] : k.add[0]);

  return saturate (k, n >> (k.shift + 7));
}

static __device__ __noinline__ int
round_magnitude (const Rounding &k, long long gx, long long gy)
{
  const long long square = gx * gx + gy * gy;
  long long r = (long long) sqrt ((double) square);

  r -= r * r > square;
  r += (r + 1) * (r + 1) <= square;
  r += square - r * r > r;
  return round_any (k, 2 * k.factor * r + k.add[0], 0);
}

/* A sum of LINEAR or UNSHARP; x: the sample at the anchor. */
static __device__ __forceinline__ int
round_sum (const Rounding &k, long long s, int x, int chroma)
{
  return k.op == CF_CONVOLVE_UNSHARP ? round_unsharp (k, s, x, chroma)
      : round_any (k, 2 * s + (chroma ? k.add[1] : k.add[0]), chroma);
}

/* Four sums to bytes, whatever the kernel: out of line. The samples at their
 * anchors are at centre[0], [1], [second], [second + 1]. */
static __device__ __noinline__ unsigned
round_four_any (const Rounding &k, int s0, int s1, int s2, int s3, const uint8_t *centre, int second, int chroma)
{
  return (unsigned) round_sum (k, s0, centre[0], chroma) | (unsigned) round_sum (k, s1, centre[1], chroma) << 8
      | (unsigned) round_sum (k, s2, centre[second], chroma) << 16
      | (unsigned) round_sum (k, s3, centre[second + 1], chroma) << 24;
}

/* COUNT times four sums of a plane of 8-bit samples to the bytes of a word each;
 * centre (i): where the samples at the anchors of the sums i are. */
template<int COUNT, int SECOND, typename Centre> static __device__ __forceinline__ void
round_words (const Rounding &k, int chroma, const int (*sum)[4], unsigned *word, Centre centre)
{
  const int add = (int) (chroma ? k.add[1] : k.add[0]);
  const bool even = chroma ? k.ties[1] : k.ties[0];

#define CF_ROUND_ALL(f) \
  do { \
    _Pragma ("unroll") for (int i = 0; i < COUNT; i++) \
      word[i] = f; \
  } while (0)
  if (!k.narrow)
    CF_ROUND_ALL (round_four_any (k, sum[i][0], sum[i][1], sum[i][2], sum[i][3], centre (i), SECOND, chroma));
  else if (k.pow2 && !even)
    CF_ROUND_ALL ((round_four<true, false> (k, sum[i], add)));
  else if (k.pow2)
    CF_ROUND_ALL ((round_four<true, true> (k, sum[i], add)));
  else if (!even)
    CF_ROUND_ALL ((round_four<false, false> (k, sum[i], add)));
  else
    CF_ROUND_ALL ((round_four<false, true> (k, sum[i], add)));
#undef CF_ROUND_ALL
}

/* ---- pixels back to memory ---------------------------------------------- */

static __device__ __forceinline__ void
store_value (const Group &g, uint8_t *p, unsigned value)
{
  if (g.bytes == 1)
    *p = (uint8_t) value;
  else
    *(uint16_t *) p = (uint16_t) (value << g.shift);
}

/* One pixel, sample by sample; value[p] of plane p. */
static __device__ __noinline__ void
store_pixel (const Work &work, int group, int x, int y, unsigned v0, unsigned v1, unsigned v2)
{
  const Group &g = work.group[group];

  if (x >= g.width || y >= g.height)
    return;
  const uint8_t *from = g.in + y * g.in_pitch + (long long) x * g.step * g.bytes;
  uint8_t *to = g.out + y * g.out_pitch + (long long) x * g.step * g.bytes;

#pragma unroll 1
  for (int i = 0; i < g.step; i++, from += g.bytes, to += g.bytes) {
    const unsigned v = g.plane[i] == 0 ? v0 : g.plane[i] == 1 ? v1 : v2;

    switch (g.fate[i]) {
      case COPIED:
        if (g.bytes == 1)
          *to = *from;
        else
          *(uint16_t *) to = *(const uint16_t *) from;
        break;
      case MID:
        store_value (g, to, (unsigned) work.rounding.mid);
        break;
      case FILTERED:
      case GRAYED:
        store_value (g, to, v);
        break;
      default:
        break;
    }
  }
  for (int i = 0; g.gray && g.in2[0] && i < 2; i++)
    g.out2[i][y * g.out_pitch2[i] + x] = (uint8_t) v0;
}

/* How two pixels are put together in words; the same for the whole group. */
struct Assembly {
  unsigned pick; /* a pixel's bytes out of its planes' (0..2) and what was there (4..7) */
  unsigned mid;
  bool words, copies;
};

static __device__ __forceinline__ Assembly
assembly_of (const Work &work, const Group &g)
{
  Assembly a = { 0, 0x01010101u * (unsigned) work.rounding.mid, g.out_words, false };

#pragma unroll
  for (int i = 0; i < 4; i++) {
    a.pick |= (g.fate[i] == FILTERED ? g.plane[i] : g.fate[i] == GRAYED ? 0 : 4 + i) << 4 * i;
    a.copies = a.copies || g.fate[i] == COPIED; /* of step 4 only, and then nothing is mid-level: see_alignment */
  }
  return a;
}

static __device__ __noinline__ void
store_pair_samples (const Work &work, int group, int x, int y, unsigned v0, unsigned v1, unsigned v2)
{
#pragma unroll 1
  for (int i = 0; i < 2; i++)
    store_pixel (work, group, x + i, y, v0 >> 8 * i & 0xff, v1 >> 8 * i & 0xff, v2 >> 8 * i & 0xff);
}

/* Four samples of a picture of step 1. */
static __device__ __noinline__ void
store_samples (const Work &work, int group, int x, int y, unsigned word)
{
#pragma unroll 1
  for (int i = 0; i < 4; i++)
    store_pixel (work, group, x + i, y, word >> 8 * i & 0xff, 0, 0);
}

/* What two pixels are before their planes come in; `from`: the input's, of step 4. */
static __device__ __forceinline__ uint2
base_of (const Assembly &a, const uint8_t *from)
{
  return a.copies ? __ldg ((const uint2 *) from) : make_uint2 (a.mid, a.mid);
}

/* Two pixels in words; v[p]: both samples of plane p in its low bytes. */
template<int PLANES> __device__ __forceinline__ void
assemble (const Assembly &a, uint2 base, const unsigned *v, unsigned *pixel)
{
#pragma unroll
  for (int i = 0; i < 2; i++) {
    unsigned c = PLANES > 1 ? __byte_perm (v[0], v[1], i ? 0x51 : 0x40) : v[0] >> 8 * i;

    c = PLANES > 2 ? __byte_perm (c, v[2], i ? 0x0510 : 0x0410) : c;
    pixel[i] = __byte_perm (c, i ? base.y : base.x, a.pick);
  }
}

/* The same at `to`. */
template<int PLANES> __device__ __forceinline__ void
put_pair (const Assembly &a, int step, uint8_t *to, uint2 base, const unsigned *v)
{
  unsigned pixel[2];

  if (step == 1) {
    *(uint16_t *) to = (uint16_t) v[0];
    return;
  }
  assemble<PLANES> (a, base, v, pixel);
  if (step == 4)
    *(uint2 *) to = make_uint2 (pixel[0], pixel[1]);
  else if (step == 2)
    *(unsigned *) to = __byte_perm (pixel[0], pixel[1], 0x5410);
  else {
    ((uint16_t *) to)[0] = (uint16_t) pixel[0];
    ((uint16_t *) to)[1] = (uint16_t) __byte_perm (pixel[0], pixel[1], 0x42);
    ((uint16_t *) to)[2] = (uint16_t) (pixel[1] >> 8);
  }
}

/* Two 8-bit pixels from x (even) on. */
template<int PLANES> __device__ __forceinline__ void
store_pair (const Work &work, const Group &g, const Assembly &a, int x, int y, const unsigned *v)
{
  if (y >= g.height)
    return;
  if (a.words && x + 1 < g.width)
    put_pair<PLANES> (a, g.step, g.out + y * g.out_pitch + x * g.step, base_of (a, g.in + y * g.in_pitch + x * 4), v);
  else
    store_pair_samples (work, g.index, x, y, v[0], v[PLANES > 1 ? 1 : 0], v[PLANES > 2 ? 2 : 0]);
}

/* The block's part of a group of which nothing is filtered. */
static __device__ __forceinline__ void
copy_group (const Work &work, const Group &g, int x0, int y0, int tile_w, int tile_h, int thread, int threads)
{
  const int pixel = g.step * g.bytes, vectors = tile_w * pixel / 16;
  const Assembly a = assembly_of (work, g);

  for (int i = thread; g.copy_vectors && i < vectors * tile_h; i += threads) {
    const int y = y0 + i / vectors, at = x0 * pixel + 16 * (i % vectors);

    if (y < g.height && at + 16 <= g.width * pixel)
      *(uint4 *) (g.out + y * g.out_pitch + at) = *(const uint4 *) (g.in + y * g.in_pitch + at);
    else if (y < g.height)
      for (int b = at; b < g.width * pixel; b++)
        g.out[y * g.out_pitch + b] = g.in[y * g.in_pitch + b];
  }
  for (int i = thread; !g.copy_vectors && i < tile_w / 2 * tile_h; i += threads) {
    const int x = x0 + i % (tile_w / 2) * 2, y = y0 + i / (tile_w / 2);

    if (g.out_words && (g.step > 1 || g.fate[0] == MID))
      store_pair<1> (work, g, a, x, y, &a.mid);
    else
#pragma unroll 1
      for (int k = 0; k < 2; k++)
        store_pixel (work, g.index, x + k, y, 0, 0, 0);
  }
}

} // namespace cf

#endif
