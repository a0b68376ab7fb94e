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

__device__ __forceinline__ const Group &
group_of_block (const Work &work, int block)
{
  int i = 0;

  while (i + 1 < work.n && block >= work.group[i + 1].first_block)
    i++;
  return work.group[i];
}

/* ---- tiles -------------------------------------------------------------- */

/* Rows of bytes, one plane behind the other: byte c of row r of plane p stands
 * for the sample (x0 + c, y0 + r). 16-bit samples have two planes each, the low
 * bytes first. Only columns from .. to - 1 are wanted. */
struct Tile {
  uint8_t *at;
  int pitch, rows; /* pitch: bytes, a multiple of 16 */
  int x0, y0;      /* x0: a multiple of 16 */
  int from, to;
};

/* One sample of a plane, wherever it lies: out of line, for the few at edges and
 * for pictures that do not lie on words. */
static __device__ __noinline__ unsigned
edge_sample (const Work &work, const Group &g, int plane, int x, int y)
{
  const int mx = cf_border_map ((CfBorder) work.border, x, g.width), my = cf_border_map ((CfBorder) work.border, y, g.height);

  if (mx < 0 || my < 0)
    return (unsigned) work.outside[g.chroma[plane]];
  const uint8_t *p = g.in + my * g.in_pitch + (long long) mx * g.step * g.bytes;

  if (g.gray) {
    unsigned sum;

    if (g.in2[0])
      sum = g.weight[0] * *p + g.weight[1] * g.in2[0][my * g.in_pitch2[0] + mx] + g.weight[2] * g.in2[1][my * g.in_pitch2[1] + mx];
    else
      sum = g.weight[0] * p[0] + g.weight[1] * p[1] + g.weight[2] * p[2] + g.weight[3] * (g.step == 4 ? p[3] : 0);
    return work.gray == CF_GRAY_MEAN ? sum / 3 : (sum + 128) >> 8;
  }
  if (g.bytes == 1)
    return p[g.offset[plane]];
  return min ((unsigned) ((const uint16_t *) p)[g.offset[plane]] >> g.shift, (1u << g.bits) - 1);
}

/* Four samples: low bytes, high bytes. The loads do not wait for each other. */
static __device__ __noinline__ uint2
edge_word (const Work &work, const Group &g, int plane, int x, int y)
{
  const int my = cf_border_map ((CfBorder) work.border, y, g.height);
  const uint8_t *row = g.in + max (my, 0) * g.in_pitch + g.offset[plane] * g.bytes;
  unsigned s[4], lo = 0, hi = 0;

  if (g.gray) {
#pragma unroll 1
    for (int i = 0; i < 4; i++)
      lo |= edge_sample (work, g, plane, x + i, y) << 8 * i;
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
    const unsigned v = mx[i] < 0 || my < 0 ? (unsigned) work.outside[g.chroma[plane]] : s[i];

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
    const unsigned pixel = STEP == 4 ? w[i] : i == 0 ? w[0] : i == 3 ? w[2] >> 8 : __funnelshift_r (w[i - 1], w[i], 32 - 8 * i);
    const unsigned sum = __dp4a (pixel, weights, work.gray == CF_GRAY_MEAN ? 0u : 128u);

    result |= (work.gray == CF_GRAY_MEAN ? sum / 3 : sum >> 8) << 8 * i;
  }
  return result;
}

/* Planes first .. first + PLANES - 1 of four pixels, all inside the row, which
 * begin on a word. */
template<int STEP, int PLANES> __device__ __forceinline__ void
load_words (const Work &work, const Group &g, const uint8_t *row, int x, int first, unsigned *word)
{
  unsigned w[STEP];
  const unsigned *p = (const unsigned *) (row + (long long) x * STEP);

#pragma unroll
  for (int i = 0; i < STEP; i++)
    w[i] = p[i];
  if (STEP >= 3 && g.gray) {
    word[0] = gray_word<STEP == 3 ? 3 : 4> (work, g, w);
    return;
  }
#pragma unroll
  for (int i = 0; i < PLANES; i++)
    word[i] = pick_bytes<STEP> (w, g.offset[first + i]);
}

/* Fills the tile's words of a row whose pixels lie STEP apart. */
template<int STEP, int PLANES> __device__ __forceinline__ void
fill_words (const Work &work, const Group &g, const Tile &t, int first, int thread, int threads)
{
  const int begin = (t.from - t.x0) >> 2, words = ((t.to - t.x0 + 3) >> 2) - begin;

#pragma unroll 4
  for (int i = thread; i < t.rows * words; i += threads) {
    const int r = i / words, c = begin + i % words, x = t.x0 + 4 * c;
    const int y = cf_border_map ((CfBorder) work.border, t.y0 + r, g.height);
    unsigned word[PLANES];

    if (x >= 0 && x + 3 < g.width && y >= 0 && g.in_words)
      load_words<STEP, PLANES> (work, g, g.in + y * g.in_pitch, x, first, word);
    else
#pragma unroll 1
      for (int p = 0; p < PLANES; p++)
        word[p] = edge_word (work, g, first + p, x, t.y0 + r).x;
#pragma unroll
    for (int p = 0; p < PLANES; p++)
      *(unsigned *) (t.at + (p * t.rows + r) * t.pitch + 4 * c) = word[p];
  }
}

/* Step 1: 16 bytes at a time where they lie so, straight into shared memory. */
static __device__ __forceinline__ void
fill_vectors (const Work &work, const Group &g, const Tile &t, int thread, int threads)
{
  const int begin = (t.from - t.x0) >> 4, vectors = ((t.to - t.x0 + 15) >> 4) - begin;

#pragma unroll 4
  for (int i = thread; i < t.rows * vectors; i += threads) {
    const int r = i / vectors, c = begin + i % vectors, x = t.x0 + 16 * c;
    const int y = cf_border_map ((CfBorder) work.border, t.y0 + r, g.height);
    uint8_t *to = t.at + r * t.pitch + 16 * c;

    if (x >= 0 && x + 15 < g.width && y >= 0) {
      __pipeline_memcpy_async (to, g.in + y * g.in_pitch + x, 16);
      continue;
    }
#pragma unroll 1
    for (int q = 0; q < 4; q++)
      if (x + 4 * q + 3 >= t.from && x + 4 * q < t.to) {
        const bool inside = y >= 0 && x + 4 * q >= 0 && x + 4 * q + 3 < g.width;

        *(unsigned *) (to + 4 * q) = inside ? *(const unsigned *) (g.in + y * g.in_pitch + x + 4 * q)
            : edge_word (work, g, 0, x + 4 * q, t.y0 + r).x;
      }
  }
}

/* PLANES planes of 8-bit samples from plane `first` on. Follow with
 * __pipeline_wait_prior (0) and a barrier. */
template<int PLANES> __device__ __forceinline__ void
fill_tile (const Work &work, const Group &g, const Tile &t, int first, int thread, int threads)
{
  if (PLANES == 1 && g.step == 1 && g.in_vectors && !g.gray)
    fill_vectors (work, g, t, thread, threads);
  else if (PLANES == 1 && g.step == 1)
    fill_words<1, PLANES> (work, g, t, first, thread, threads);
  else if (PLANES <= 2 && g.step == 2)
    fill_words<2, PLANES> (work, g, t, first, thread, threads);
  else if (g.step == 3)
    fill_words<3, PLANES> (work, g, t, first, thread, threads);
  else
    fill_words<4, PLANES> (work, g, t, first, thread, threads);
  __pipeline_commit ();
}

/* 16-bit samples of a plane: low bytes, then high bytes. */
static __device__ __forceinline__ void
fill_halves (const Work &work, const Group &g, const Tile &t, int plane, int thread, int threads)
{
  const int begin = (t.from - t.x0) >> 2, words = ((t.to - t.x0 + 3) >> 2) - begin;

#pragma unroll 2
  for (int i = thread; i < t.rows * words; i += threads) {
    const int r = i / words, c = begin + i % words, x = t.x0 + 4 * c;
    const uint2 word = edge_word (work, g, plane, x, t.y0 + r);

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
  asm volatile ("mma.sync.aligned.m16n8k32.row.col.s32." ta "." tb ".s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
      : "+r" (d[0]), "+r" (d[1]), "+r" (d[2]), "+r" (d[3]) : "r" (a[0]), "r" (a[1]), "r" (a[2]), "r" (a[3]), "r" (b0), "r" (b1))
#else
#define CF_MMA_PART(ta, tb, i, a, b) \
  asm volatile ("mma.sync.aligned.m8n8k16.row.col.s32." ta "." tb ".s32 {%0,%1}, {%2}, {%3}, {%0,%1};" \
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
  if (k.ties[chroma] && rest == 0)
    q -= q & 1;
  return saturate (k, q);
}

/* 0 <= n < 2^31 may be assumed of what is not clamped. */
static __device__ __forceinline__ int
round_narrow (const Rounding &k, int n, bool ties)
{
  const unsigned m = (unsigned) max (n, 0), q = __umulhi (m, k.magic) >> k.shift;
  const bool tie = ties && m == q * (unsigned) k.divisor2;

  return (int) min (q - (tie ? q & 1 : 0), (unsigned) k.max);
}

static __device__ __forceinline__ int
round_shift (const Rounding &k, int n, bool ties)
{
  int q = n >> k.shift;

  if (ties && (n & ((1 << k.shift) - 1)) == 0)
    q &= ~1;
  return min (max (q, 0), k.max);
}

static __device__ __noinline__ int
round_unsharp (const Rounding &k, long long s, int x, int chroma)
{
  const long long dx = (k.divisor2 >> 1) * x, n = 256 * dx + k.amount * (dx - s) + k.add[chroma];

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
  return k.op == CF_CONVOLVE_UNSHARP ? round_unsharp (k, s, x, chroma) : round_any (k, 2 * s + k.add[chroma], chroma);
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
store_pixel (const Work &work, const Group &g, int x, int y, unsigned v0, unsigned v1, unsigned v2)
{
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

/* Two 8-bit pixels from x (even) on; v[p]: both samples of plane p in its low
 * bytes. */
template<int PLANES> __device__ __forceinline__ void
store_pair (const Work &work, const Group &g, int x, int y, const unsigned *v)
{
  if (y >= g.height)
    return;
  if (!g.out_words || x + 1 >= g.width) {
#pragma unroll 1
    for (int i = 0; i < 2; i++)
      store_pixel (work, g, x + i, y, v[0] >> 8 * i & 0xff, v[PLANES > 1 ? 1 : 0] >> 8 * i & 0xff,
          v[PLANES > 2 ? 2 : 0] >> 8 * i & 0xff);
    return;
  }
  uint8_t *to = g.out + y * g.out_pitch + (long long) x * g.step;

  if (g.step == 1) {
    *(uint16_t *) to = (uint16_t) v[0];
    return;
  }
  /* bytes of a pixel out of its planes' and what was there or mid-level */
  unsigned pick = 0, mid = 0x01010101u * (unsigned) work.rounding.mid, base[2] = { mid, mid };

#pragma unroll
  for (int i = 0; i < 4; i++)
    pick |= (g.fate[i] == FILTERED ? g.plane[i] : g.fate[i] == GRAYED ? 0 : 4 + i) << 4 * i;
  if (g.step == 4) {
    bool copies = false;

#pragma unroll
    for (int i = 0; i < 4; i++)
      copies = copies || g.fate[i] == COPIED;
    if (copies) {
      const unsigned *from = (const unsigned *) (g.in + y * g.in_pitch + (long long) x * 4);

      /* mid-level and copies never meet in one group with out_words */
      base[0] = from[0];
      base[1] = from[1];
    }
  }
  unsigned pixel[2];

#pragma unroll
  for (int i = 0; i < 2; i++) {
    unsigned c = PLANES > 1 ? __byte_perm (v[0], v[1], i ? 0x51 : 0x40) : v[0] >> 8 * i;

    c = PLANES > 2 ? __byte_perm (c, v[2], i ? 0x0510 : 0x0410) : c;
    pixel[i] = __byte_perm (c, base[i], pick);
  }
  if (g.step == 4)
    *(uint2 *) to = make_uint2 (pixel[0], pixel[1]);
  else if (g.step == 2)
    *(unsigned *) to = __byte_perm (pixel[0], pixel[1], 0x5410);
  else {
    ((uint16_t *) to)[0] = (uint16_t) pixel[0];
    ((uint16_t *) to)[1] = (uint16_t) __byte_perm (pixel[0], pixel[1], 0x42);
    ((uint16_t *) to)[2] = (uint16_t) (pixel[1] >> 8);
  }
}

/* The block's part of a group of which nothing is filtered. */
static __device__ __forceinline__ void
copy_group (const Work &work, const Group &g, int x0, int y0, int tile_w, int tile_h, int thread, int threads)
{
  const int pixel = g.step * g.bytes, vectors = tile_w * pixel / 16;
  const unsigned mid = (unsigned) work.rounding.mid * 0x101u;

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
      store_pair<1> (work, g, x, y, &mid);
    else
#pragma unroll 1
      for (int k = 0; k < 2; k++)
        store_pixel (work, g, x + k, y, 0, 0, 0);
  }
}

} // namespace cf

#endif
