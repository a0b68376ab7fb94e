/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/gpu/flat.cu: the rank filter for larger windows of 8-bit samples, by histograms that slide down the image. Its
 * time depends on the width of the window and not on the content of the image.
 *
 * Map: a warp makes 32 outputs side by side, one per lane, and slides down: a row of samples enters the windows,
 * another one leaves them. Four neighbouring lanes, a quad, have most columns of their windows in common. Each of the
 * four counts a quarter of those ("common"), and the few other columns of its own window ("private"). All warps of a
 * launch get equally many rows; a row costs the same everywhere, and a start counts as the rows that take as long.
 *
 * Shared memory, per warp: the fine level, 256 counts per lane; the coarse level, 16 counts per lane, each the sum of
 * 16 fine ones; and the words of the entering and of the leaving row. Word (i, lane) of a level lies in bank `lane`, so
 * that counting has no bank conflicts whatever the samples are.
 * Races: none between warps, which share nothing. In a warp, a lane's counts are written by that lane only, and read by
 * the others of its quad behind a __syncwarp ().
 * An output: the quad's common counts of the coarse level are summed by shuffles, and all 16 running sums are compared
 * with the rank; then the same with the 16 fine counts of the value's block, which are read from all four lanes.
 *
 * Bound: shared memory, more than half of it the updates of counts, and latencies. Figures: docs/notes/median.md. */
#include "internal.h"

#include <algorithm>

namespace cf {

extern __shared__ __align__ (16) unsigned char flat_shared[];

constexpr int flat_coarse_bytes = 16 * 32 * 4;

/* A window as the kernel needs it. */
struct FlatWindow {
  int w, h, rank;
  int full;       /* rounds of four common words, one word per lane of the quad */
  int staged;     /* words of a row */
  int shift;      /* the strips begin that many columns left of the image, so that words are aligned */
  int start;      /* what filling a histogram costs, in rows of outputs */
  int warp_bytes; /* shared memory */
};

/* ---- shared memory -------------------------------------------------------- */

__device__ __forceinline__ unsigned &
shared_word (unsigned at)
{
  return *(unsigned *) (flat_shared + at);
}

/* Returns base + byte `i` of `bytes` times `factor`, which is below 256. */
__device__ __forceinline__ unsigned
scaled_byte (unsigned bytes, int i, unsigned factor, unsigned base)
{
  return __dp4a (bytes, factor << (8 * i), base);
}

/* Counts of 8 bits: a word has the counts of two values, the even one in the low half; of each half the low byte
 * counts common samples and the high byte private ones. */
struct FlatBytes {
  static constexpr int bytes = 128 * 32 * 4, block = 8 * 128, pair = 128;
  /* Adds byte i of `w` (even: w & 0xfefefefe, odd: w & 0x01010101) to the counts, or subtracts it. */
  template<bool PRIVATE, bool LEAVE> static __device__ __forceinline__ void
  count (unsigned fine, unsigned /* w */, unsigned even, unsigned odd, int i)
  {
    constexpr unsigned one = (PRIVATE ? 0x100u : 1u) * (LEAVE ? ~0u : 1u);

    atomicAdd (&shared_word (scaled_byte (even, i, 64, fine)), scaled_byte (odd, i, 1, 0) * (0xffffu * one) + one);
  }
  /* Returns the lane's counts in block i, common | private << 16. */
  static __device__ __forceinline__ unsigned
  sum_block (unsigned fine, int i)
  {
    unsigned w = 0;

#pragma unroll
    for (int k = 0; k < 8; k++)
      w += shared_word (fine + i * block + k * pair);
    w += w >> 16;
    return __byte_perm (w, 0, 0x4140);
  }
  /* Returns the counts of two values in the lane's whole window; fine[0] is its own level, the others the quad's. */
  static __device__ __forceinline__ unsigned
  window_pair (const unsigned (&fine)[4], unsigned at)
  {
    const unsigned w = shared_word (fine[0] + at), a = shared_word (fine[1] + at), b = shared_word (fine[2] + at);
    const unsigned c = shared_word (fine[3] + at);

    return (w & 0xff00ff) + __byte_perm (w, 0, 0x4341) + (a & 0xff00ff) + (b & 0xff00ff) + (c & 0xff00ff);
  }
};

/* Counts of 16 bits: a word has the counts of two values, the even one in the low half; 128 words for common samples
 * and 128 for private ones. */
struct FlatHalves {
  static constexpr int bytes = 2 * 128 * 32 * 4, block = 8 * 128, pair = 128, own = 128 * 128;
  template<bool PRIVATE, bool LEAVE> static __device__ __forceinline__ void
  count (unsigned fine, unsigned /* w */, unsigned even, unsigned odd, int i)
  {
    constexpr unsigned one = LEAVE ? ~0u : 1u;

    atomicAdd (&shared_word (scaled_byte (even, i, 64, fine) + (PRIVATE ? own : 0)),
        scaled_byte (odd, i, 1, 0) * (0xffffu * one) + one);
  }
  static __device__ __forceinline__ unsigned
  sum_block (unsigned fine, int i)
  {
    unsigned c = 0, p = 0;

#pragma unroll
    for (int k = 0; k < 8; k++) {
      c += shared_word (fine + i * block + k * pair);
      p += shared_word (fine + i * block + k * pair + own);
    }
    return __byte_perm (c, p, 0x5410) + __byte_perm (c, p, 0x7632);
  }
  static __device__ __forceinline__ unsigned
  window_pair (const unsigned (&fine)[4], unsigned at)
  {
    return shared_word (fine[0] + at) + shared_word (fine[0] + at + own) + shared_word (fine[1] + at)
        + shared_word (fine[2] + at) + shared_word (fine[3] + at);
  }
};

/* ---- rows ----------------------------------------------------------------- */

/* Where a lane's words of a row come from, N at most: words of four samples of an aligned gray plane, else samples. */
template<int N> struct FlatSource {
  int at[N][4];     /* bytes from the row's start: of a word in at[i][0], or of four samples */
  unsigned pick[N]; /* repeats the outermost sample where the word is beyond the image */
  bool words;

  /* Finds the words from column x on, which is a multiple of 4. */
  __device__ __forceinline__ void
  find (const Plane &plane, int x, int staged)
  {
    const int lane = (int) threadIdx.x & 31;

    words = plane.step == 1;
#pragma unroll
    for (int i = 0; i < N; i++)
      words = words && (lane + 32 * i >= staged || quad_column (plane, x + 4 * (lane + 32 * i)).words);
    words = __all_sync (0xffffffffu, words);
#pragma unroll
    for (int i = 0; i < N; i++) {
      const int from = x + 4 * (lane + 32 * i);
      const QuadColumn c = quad_column (plane, from);

      pick[i] = c.pick;
#pragma unroll
      for (int k = 0; k < 4; k++)
        at[i][k] = words ? c.x : min (max (from + k, 0), plane.width - 1) * plane.step;
    }
  }
  /* Loads row y, or the nearest one of the image. */
  __device__ __forceinline__ void
  load (const Plane &plane, int y, int staged, unsigned (&raw)[N][4]) const
  {
    const uint8_t *row = plane.in + min (max (y, 0), plane.height - 1) * plane.in_pitch;

#pragma unroll
    for (int i = 0; i < N; i++)
      if ((int) (threadIdx.x & 31) + 32 * i < staged) {
        if (words)
          raw[i][0] = __ldg ((const unsigned *) (row + at[i][0]));
        else
#pragma unroll
          for (int k = 0; k < 4; k++)
            raw[i][k] = __ldg (row + at[i][k]);
      }
  }
  /* Writes the words that were loaded to shared memory. */
  __device__ __forceinline__ void
  stage (unsigned to, int staged, const unsigned (&raw)[N][4]) const
  {
    const int lane = (int) threadIdx.x & 31;

#pragma unroll
    for (int i = 0; i < N; i++)
      if (lane + 32 * i < staged)
        shared_word (to + 4 * (unsigned) (lane + 32 * i)) = words ? __byte_perm (raw[i][0], 0, pick[i])
            : raw[i][0] | raw[i][1] << 8 | raw[i][2] << 16 | raw[i][3] << 24;
  }
};

/* ---- counting ------------------------------------------------------------- */

/* The columns of a quad, in words of four from its first word on: the private ones of all four lanes are in the first
 * and in the last word. NARROW: the windows begin one column into the first word, and a lane has three private columns;
 * else it has five. */
template<class H, bool COARSE, bool PRIVATE, bool LEAVE, int COUNT> __device__ __forceinline__ void
count_bytes (unsigned fine, unsigned coarse, unsigned w)
{
  const unsigned even = w & 0xfefefefeu, odd = w & 0x01010101u, block = w & 0xf0f0f0f0u;

#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    H::template count<PRIVATE, LEAVE> (fine, w, even, odd, i);
    if (COARSE)
      atomicAdd (&shared_word (scaled_byte (block, i, 8, coarse)), (PRIVATE ? 0x10000u : 1u) * (LEAVE ? ~0u : 1u));
  }
}

/* Counts a lane's part of a staged row; `quad`: the quad's first word, j: the lane in the quad. FULL: the number of
 * rounds, or -1: `rounds` is. The word of a round is read one round ahead; behind the last one that is not used. */
template<class H, bool NARROW, int REST, int FULL, bool COARSE, bool LEAVE> __device__ __forceinline__ void
count_row (unsigned fine, unsigned coarse, unsigned quad, unsigned j, int rounds)
{
  const int full = FULL >= 0 ? FULL : rounds;
  const unsigned rest = quad + 4 + 16 * (unsigned) full, right_at = rest + 4 * REST;
  const unsigned left = shared_word (quad), right = shared_word (right_at);
  unsigned some = 0; /* byte j of the words of the last round, which is not full */

  if (REST > 0)
    some = __byte_perm (shared_word (rest), REST > 1 ? shared_word (rest + 4) : 0, 0x40 + 0x11 * j);
  if (REST > 2)
    some = __byte_perm (some, shared_word (rest + 8), 0x0410 + 0x100 * j);
  if (FULL >= 0) {
    unsigned w[FULL > 0 ? FULL : 1];

#pragma unroll
    for (int i = 0; i < FULL; i++)
      w[i] = shared_word (quad + 4 + 4 * j + 16 * i);
#pragma unroll
    for (int i = 0; i < FULL; i++)
      count_bytes<H, COARSE, false, LEAVE, 4> (fine, coarse, w[i]);
  } else {
    unsigned next = shared_word (quad + 4 + 4 * j);

#pragma unroll 1
    for (int i = 0; i < full; i++) {
      const unsigned w = next;

      next = shared_word (quad + 20 + 4 * j + 16 * (unsigned) i);
      count_bytes<H, COARSE, false, LEAVE, 4> (fine, coarse, w);
    }
  }
  count_bytes<H, COARSE, false, LEAVE, REST> (fine, coarse, some);
  count_bytes<H, COARSE, true, LEAVE, NARROW ? 3 : 4> (fine, coarse,
      __byte_perm (left, right, (NARROW ? 0x3321 : 0x3210) + 0x1111 * j));
  if (!NARROW)
    count_bytes<H, COARSE, true, LEAVE, 1> (fine, coarse, __byte_perm (right, 0, j));
}

/* ---- searching ------------------------------------------------------------ */

/* Returns sum - the number of halves of a and b whose top bit is set. */
__device__ __forceinline__ int
less_tops (unsigned a, unsigned b, int sum)
{
  unsigned signs;

  asm ("prmt.b32 %0, %1, %2, 0xfdb9;" : "=r"(signs) : "r"(a), "r"(b)); /* bytes 0 or -1 */
  return __dp4a ((int) signs, 0x01010101, sum);
}

/* Returns the largest of three in each half, signed. */
__device__ __forceinline__ unsigned
largest (unsigned a, unsigned b, unsigned c)
{
  return __vmaxs2 (__vmaxs2 (a, b), c);
}

/* Returns the value of the rank in the lane's window. Running sums are kept less rank + 1 and plus 0x8000, so that the
 * top bit of each half is set in those over the rank; median_flat_fits () has the windows with which they fit. */
template<class H> __device__ __forceinline__ unsigned
find_rank (const unsigned (&fine)[4], unsigned coarse, unsigned rank)
{
  const unsigned zero = 0x7fffu - rank, lanes = 0xffffffffu;
  unsigned sum = zero << 16, most = zero * 0x10001u, d[8];
  int block = 16, value = 16;

#pragma unroll
  for (int i = 0; i < 8; i++) {
    const unsigned a = sum + shared_word (coarse + 256 * i), b = a + shared_word (coarse + 256 * i + 128);
    unsigned common = __byte_perm (a, b, 0x5410);

    common += __shfl_xor_sync (lanes, common, 1);
    d[i] = common + __shfl_xor_sync (lanes, common, 2) + __byte_perm (a, b, 0x7632);
    sum = b;
  }
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    most = largest (most, d[i], d[i + 1]);
    block = less_tops (d[i], d[i + 1], block);
  }
  most = __vmaxs2 (most, __byte_perm (most, 0, 0x1032)); /* the last running sum that is not over the rank */

  unsigned total = __byte_perm (most, 0, 0x1010);

#pragma unroll
  for (int i = 0; i < 8; i++)
    d[i] = H::window_pair (fine, (unsigned) block * H::block + i * H::pair);
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const unsigned sums = d[i] * 0x10001u; /* of the even value, of both */

    d[i] = total + sums;
    total += __byte_perm (sums, 0, 0x3232);
  }
#pragma unroll
  for (int i = 0; i < 8; i += 2)
    value = less_tops (d[i], d[i + 1], value);
  return (unsigned) (block * 16 + value);
}

/* ---- the kernel ----------------------------------------------------------- */

/* Makes the outputs of the rows y0 .. y1 - 1 from column x0 on, by one warp. */
template<class H, bool NARROW, int REST, int FULL> __device__ __forceinline__ void
slide (const Plane &plane, const FlatWindow &f, int threshold, unsigned shared, int x0, int y0, int y1)
{
  constexpr int N = FULL >= 0 ? 1 : 3; /* staged words per lane */
  const int lane = (int) threadIdx.x & 31, r = f.h / 2, x = x0 + lane;
  const unsigned j = threadIdx.x & 3, l = threadIdx.x & 31, coarse = shared + H::bytes + 4 * l;
  const unsigned fine[4] = { shared + 4 * l, shared + 4 * (l ^ 1), shared + 4 * (l ^ 2), shared + 4 * (l ^ 3) };
  const unsigned stage = shared + H::bytes + flat_coarse_bytes, other = 4 * (unsigned) f.staged;
  const unsigned quad = stage + (l & ~3u);
  const uint8_t *input = plane.in + y0 * plane.in_pitch + (long long) x * plane.step;
  uint8_t *output = plane.out + y0 * plane.out_pitch + (long long) x * plane.step;
  unsigned a[N][4], b[N][4];
  FlatSource<N> source;

  source.find (plane, x0 - f.w / 2 - NARROW, f.staged);
  source.load (plane, y0 - r, f.staged, a);
  source.load (plane, y0 - r + 1, f.staged, b);
#pragma unroll 4
  for (int i = lane; i < H::bytes / 16; i += 32)
    *(uint4 *) (flat_shared + shared + 16 * i) = make_uint4 (0, 0, 0, 0);
  for (int y = y0 - r; y < y0 + r; y += 2) {
    __syncwarp ();
    source.stage (stage, f.staged, a);
    source.stage (stage + other, f.staged, b);
    __syncwarp ();
    source.load (plane, y + 2, f.staged, a);
    source.load (plane, y + 3, f.staged, b);
    count_row<H, NARROW, REST, FULL, false, false> (fine[0], 0, quad, j, f.full);
    count_row<H, NARROW, REST, FULL, false, false> (fine[0], 0, quad + other, j, f.full);
  }
  __syncwarp ();
  source.stage (stage, f.staged, a);
  __syncwarp ();
  source.load (plane, y0 + 1 + r, f.staged, a);
  source.load (plane, y0 - r, f.staged, b);
  count_row<H, NARROW, REST, FULL, false, false> (fine[0], 0, quad, j, f.full);
#pragma unroll 2
  for (int i = 0; i < 16; i++)
    shared_word (coarse + 128 * i) = H::sum_block (fine[0], i);

  for (int y = y0; y < y1; y++) {
    if (y > y0) {
      __syncwarp ();
      source.stage (stage, f.staged, a);
      source.stage (stage + other, f.staged, b);
      __syncwarp ();
      source.load (plane, y + 1 + r, f.staged, a);
      source.load (plane, y - r, f.staged, b);
      count_row<H, NARROW, REST, FULL, true, false> (fine[0], coarse, quad, j, f.full);
      count_row<H, NARROW, REST, FULL, true, true> (fine[0], coarse, quad + other, j, f.full);
    }
    __syncwarp ();
    unsigned value = find_rank<H> (fine, coarse, (unsigned) f.rank);

    if (x >= 0 && x < plane.width) {
      if (threshold > 0 && abs ((int) *input - (int) value) <= threshold)
        value = *input;
      *output = (uint8_t) value;
    }
    input += plane.in_pitch;
    output += plane.out_pitch;
  }
  __syncwarp ();
}

constexpr int copy_w = 512, copy_h = 16; /* a block's tile of a plane that is copied */

template<class H, bool NARROW, int REST, int FULL> __global__ void __launch_bounds__ (32 * (FULL >= 0 ? 12 : 6))
median_flat_kernel (const __grid_constant__ Launch launch, const __grid_constant__ FlatWindow f)
{
  const int warps = (int) blockDim.x / 32, warp = (int) threadIdx.x / 32, n = (int) gridDim.x * warps;
  const long long me = (long long) blockIdx.x * warps + warp;
  const int end = (int) ((me + 1) * launch.blocks / n);

  for (int at = (int) (me * launch.blocks / n), rows; at < end; at += rows) {
    const Plane &plane = plane_of_block (launch, at);
    const int per_strip = plane.height + f.start, strip = (at - plane.first_block) / per_strip;
    const int first = at - plane.first_block - strip * per_strip;
    const int y0 = max (first - f.start, 0);

    rows = min (per_strip - first, end - at);
    if (first + rows - f.start > y0)
      slide<H, NARROW, REST, FULL> (plane, f, launch.threshold, (unsigned) (warp * f.warp_bytes), 32 * strip - f.shift,
          y0, first + rows - f.start);
  }
  for (int i = 0; i < launch.n; i++) {
    const Plane &plane = launch.plane[i];
    const int across = (plane.width + copy_w - 1) / copy_w, tiles = across * ((plane.height + copy_h - 1) / copy_h);

    for (int tile = (int) blockIdx.x; !plane.filtered && tile < tiles; tile += (int) gridDim.x)
      copy_tile (plane, tile % across * copy_w, tile / across * copy_h, copy_w, copy_h, (int) threadIdx.x,
          (int) blockDim.x);
  }
}

/* ---- launch --------------------------------------------------------------- */

/* Returns the common words of a window: those of four columns that all windows of a quad have. */
static int
common_words (int w)
{
  return w % 4 == 3 ? w / 4 : w / 4 - 1;
}

/* Returns whether 8 bits suffice for a lane's counts of common and of private samples. Wider windows of a few rows, for
 * which they would, have no kernel of their own. */
static bool
in_bytes (const CfMedianWindow &window)
{
  return common_words (window.w) < 8 && std::max (common_words (window.w), window.w % 4 == 3 ? 3 : 5) * window.h <= 255;
}

static FlatWindow
flat_window (const CfMedianWindow &window)
{
  const int words = common_words (window.w), staged = words + 9, narrow = window.w % 4 == 3;
  const int fine = in_bytes (window) ? FlatBytes::bytes : FlatHalves::bytes;

  return FlatWindow { window.w, window.h, window.rank, words / 4, staged, -(window.w / 2 + narrow) & 3,
    window.h / 5 + 2, (fine + flat_coarse_bytes + 8 * staged + 31) & ~15 };
}

template<class H, int FULL> static const void *
flat_kernel (int w)
{
  static const void *const kernels[] = { (const void *) median_flat_kernel<H, false, 0, FULL>,
    (const void *) median_flat_kernel<H, false, 1, FULL>, (const void *) median_flat_kernel<H, false, 2, FULL>,
    (const void *) median_flat_kernel<H, false, 3, FULL>, (const void *) median_flat_kernel<H, true, 0, FULL>,
    (const void *) median_flat_kernel<H, true, 1, FULL>, (const void *) median_flat_kernel<H, true, 2, FULL>,
    (const void *) median_flat_kernel<H, true, 3, FULL> };

  return kernels[common_words (w) % 4 + (w % 4 == 3 ? 4 : 0)];
}

static const void *
flat_kernel (const CfMedianWindow &window)
{
  const int full = common_words (window.w) / 4;

  if (!in_bytes (window))
    return flat_kernel<FlatHalves, -1> (window.w);
  return full == 0 ? flat_kernel<FlatBytes, 0> (window.w) : flat_kernel<FlatBytes, 1> (window.w);
}

bool
median_flat_fits (const CfMedianWindow &window, int max_shared)
{
  /* running sums less the rank have 16 bits with a sign */
  return window.w >= 3 && window.depth == 1 && window.rank < 0x8000 && window.n - window.rank <= 0x8000
      && flat_window (window).warp_bytes <= max_shared;
}

CfCode
median_launch_flat (Launch *launch, const CfMedianWindow &window, const CfContext *context, cudaStream_t stream,
    CfStatus *status)
{
  FlatWindow f = flat_window (window);
  const int warps = std::min (in_bytes (window) ? 12 : 6, context->max_shared / f.warp_bytes);
  void *arguments[] = { launch, &f };

  launch->blocks = 0;
  for (int i = 0; i < launch->n; i++) {
    Plane &plane = launch->plane[i];

    plane.first_block = launch->blocks;
    plane.blocks_x = (plane.width + f.shift + 31) / 32;
    if (plane.filtered)
      launch->blocks += plane.blocks_x * (plane.height + f.start);
  }
  return launch_kernel ("median: flat", flat_kernel (window), context->sms, 32 * (unsigned) warps, arguments,
      (size_t) (warps * f.warp_bytes), false, stream, status);
}

CfCode
median_flat_init (int max_shared, CfStatus *status)
{
  CfCode code = CF_OK;

  for (int i = 0; code == CF_OK && i < 3 * 8; i++) {
    CfMedianWindow window = { };

    window.w = 3 + 2 * i; /* words: 0 .. 3, 4 .. 7 and, in 16 bits, 8 .. 11 */
    window.h = 1;
    code = cf_cuda_check (cudaFuncSetAttribute (flat_kernel (window), cudaFuncAttributeMaxDynamicSharedMemorySize,
        max_shared), median_loading, status);
  }
  return code;
}

} // namespace cf
