/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * median_tree.cu: the rank filter for large windows, by counting under
 * thresholds; its time hardly depends on the window.
 *
 * An output's value is found bit by bit: the next bit is set if at most `rank`
 * samples of its window are below t = the value so far with that bit set. Which
 * t an output asks about depends on its value so far, but the outputs of a tile
 * ask about few: about as many as the range of their results. So a block goes
 * down the tree of thresholds level by level, and for each node that some output
 * of the tile is at, a warp counts the samples below t in ALL windows of the
 * tile with running sums, and moves the outputs at that node on.
 *
 * Block: 8 warps, a tile of tile_w x 64 outputs. A warp takes every eighth node
 * of a level, and for it, for 32 rows of outputs at a time:
 *  - columns: lane l holds the counts of 4 N columns from 4 l (and 128 on, ...)
 *    as bytes; a row down adds the entering row's samples below t and takes away
 *    the leaving row's. Counts go to the warp's rows in shared memory.
 *  - rows: lane r runs along row r, adding the entering and taking away the
 *    leaving column's count (two dp4a an output), and compares with the rank.
 * Shared: counts 8 x 32 rows (pitch odd in words: lanes of either stage are in
 * different banks), the values so far, and for each 32 rows a bitmap of the nodes
 * that are asked for on this level and on the next; the bits that this level sets.
 * Races: during a level the values and this level's bitmap are only read; the
 * bits to set and the next level's bitmap are gathered with atomicOr, and joined
 * to the values between two barriers.
 *
 * Bound: about 10 integer operations an output and node, of which a tile has as
 * many as its results have range, plus its depth: 20 to 60 on pictures. */
#include "median_cuda.h"

#include <algorithm>

namespace cf {

constexpr int warps = 8, tile_h = 64, chunk = 32, chunks = tile_h / chunk;

struct TreeTile {
  int w;     /* outputs across, a multiple of 4 */
  int shift; /* the first output's window begins at this column of the first word */
};

/* Columns that a warp holds, in words of four a lane. */
static int
lane_words (int w)
{
  return w <= 49 ? 1 : w <= 129 ? 2 : 3;
}

static TreeTile
tree_tile (const Padded &p)
{
  const int shift = (pad - p.w / 2) & 3;

  return TreeTile { (128 * lane_words (p.w) - (p.w - 1) - shift) & ~3, shift };
}

static int
bitmap_words (int bits)
{
  return std::max (1, (1 << (bits - 1)) / 32);
}

static size_t
shared_bytes (const Padded &p)
{
  const size_t counts = (size_t) warps * chunk * (32 * (size_t) lane_words (p.w) + 1);
  const size_t values = (size_t) tile_h * ((size_t) (tree_tile (p).w / 4) * (size_t) p.element + 1);

  return 4 * (counts + 2 * values + 2 * chunks * (size_t) bitmap_words (p.bits));
}

/* ---- four samples below t, as bytes 0 or 1 ------------------------------- */

/* t, as the comparisons want it: its low bits and its top bit in every lane. */
struct Threshold {
  unsigned low, top;
};

template<typename T> __device__ __forceinline__ Threshold
threshold_lanes (unsigned t)
{
  if (sizeof (T) == 1)
    return Threshold { (t & 0x7f) * 0x01010101u, t & 0x80 ? 0x80808080u : 0 };
  return Threshold { (t & 0x7fff) * 0x00010001u, t & 0x8000 ? 0x80008000u : 0 };
}

/* The top bit of each lane: the borrow of p - t. Without the top bits the
 * difference borrows where its own top bit stays clear; then the top bits join
 * as in a full subtractor. */
template<unsigned TOP> __device__ __forceinline__ unsigned
borrows (unsigned p, Threshold t)
{
  const unsigned d = (p | TOP) - t.low;

  return (~p & t.top) | (~p & ~d) | (t.top & ~d);
}

template<typename T> struct FourSamples;

template<> struct FourSamples<uint8_t> {
  unsigned v;
  __device__ __forceinline__ void
  load (const uint8_t *p)
  {
    v = __ldg ((const unsigned *) p);
  }
  __device__ __forceinline__ unsigned
  below (Threshold t) const
  {
    return borrows<0x80808080u> (v, t) >> 7 & 0x01010101u;
  }
};

template<> struct FourSamples<uint16_t> {
  uint2 v;
  __device__ __forceinline__ void
  load (const uint8_t *p)
  {
    v = __ldg ((const uint2 *) p);
  }
  __device__ __forceinline__ unsigned
  below (Threshold t) const
  {
    const unsigned a = borrows<0x80008000u> (v.x, t), b = borrows<0x80008000u> (v.y, t);

    return __byte_perm (a, b, 0x7531) >> 7 & 0x01010101u;
  }
};

/* ---- the values so far, four outputs at a time --------------------------- */

/* What a lane needs to know of its four outputs at a node: which are there (top
 * bit of each byte), and how to set the node's bit in them. */
template<typename T> struct Values;

/* Top bit of each lane set where e's lane is zero. */
template<unsigned TOP> __device__ __forceinline__ unsigned
zero_lanes (unsigned e)
{
  return ~(((e & ~TOP) + ~TOP) | e) & TOP;
}

template<> struct Values<uint8_t> {
  static __device__ __forceinline__ unsigned
  at_node (const unsigned *word, unsigned value)
  {
    return zero_lanes<0x80808080u> (word[0] ^ value * 0x01010101u);
  }
  static __device__ __forceinline__ void
  set (unsigned *word, unsigned outputs, int bit)
  {
    atomicOr (word, outputs >> (7 - bit));
  }
};

template<> struct Values<uint16_t> {
  static __device__ __forceinline__ unsigned
  at_node (const unsigned *word, unsigned value)
  {
    const unsigned a = zero_lanes<0x80008000u> (word[0] ^ value * 0x00010001u);
    const unsigned b = zero_lanes<0x80008000u> (word[1] ^ value * 0x00010001u);

    return __byte_perm (a, b, 0x7531);
  }
  static __device__ __forceinline__ void
  set (unsigned *word, unsigned outputs, int bit)
  {
    /* byte tops 0..3 to the bit of four halves */
    const unsigned a = __byte_perm (outputs, 0, 0x1404) >> (15 - bit), b = __byte_perm (outputs, 0, 0x3424) >> (15 - bit);

    if (a)
      atomicOr (word, a);
    if (b)
      atomicOr (word + 1, b);
  }
};

__device__ __forceinline__ int
dot4 (unsigned counts, unsigned factors, int sum)
{
  int result;

  asm ("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(counts), "r"(factors), "r"(sum));
  return result;
}

/* ---- the stages --------------------------------------------------------- */

/* Counts of the lane's columns: adds (or takes away) the samples below t of row
 * y of every frame of the window. */
template<typename T, int N> __device__ __forceinline__ void
count_row (const Padded &p, long long corner, int pitch, int y, Threshold t, unsigned (&count)[N])
{
  for (int s = 0; s < p.depth; s++) {
    const uint8_t *row = p.frame[s] + corner + (long long) y * pitch;

#pragma unroll
    for (int i = 0; i < N; i++) {
      FourSamples<T> q;

      q.load (row + i * 128 * (int) sizeof (T));
      count[i] += q.below (t);
    }
  }
}

/* The window one row down: row y leaves, row y + h enters. */
template<typename T, int N> __device__ __forceinline__ void
slide_row (const Padded &p, long long corner, int pitch, int y, Threshold t, unsigned (&count)[N])
{
  for (int s = 0; s < p.depth; s++) {
    const uint8_t *leaves = p.frame[s] + corner + (long long) y * pitch;
    const uint8_t *enters = leaves + (long long) p.h * pitch;

#pragma unroll
    for (int i = 0; i < N; i++) {
      FourSamples<T> a, b;

      a.load (enters + i * 128 * (int) sizeof (T));
      b.load (leaves + i * 128 * (int) sizeof (T));
      /* bytes never wrap: a column's count stays within 0..255 */
      count[i] += a.below (t) - b.below (t);
    }
  }
}

/* The running sum along one row of counts: moves the outputs that are at the
 * node `value`. Returns what they did: bit 0 some stayed, bit 1 some moved up. */
template<typename T> __device__ __forceinline__ int
sum_row (const unsigned *counts, const unsigned *values, unsigned *pending, const Padded &p, TreeTile tile, unsigned value,
    int bit)
{
  const int first = tile.shift, last = tile.shift + p.w; /* columns of the first window */
  const int leave_bits = 8 * (first & 3), enter_bits = 8 * (last & 3);
  int left = p.rank; /* rank - samples below: not negative = the bit is set */
  unsigned up = 0, stay = 0;

  for (int i = 0; i <= (last - 1) >> 2; i++) {
    unsigned ones = 0xffffffffu;

    if (i == 0)
      ones <<= leave_bits;
    if (i == last >> 2)
      ones &= ~(0xffffffffu << enter_bits);
    left = dot4 (counts[i], ones, left);
  }
  unsigned leave = counts[0], enter = counts[last >> 2];

  for (int g = 0; g < tile.w / 4; g++) {
    const unsigned next_leave = counts[g + 1], next_enter = counts[(last >> 2) + g + 1];
    const unsigned out = __funnelshift_r (leave, next_leave, leave_bits);
    const unsigned in = __funnelshift_r (enter, next_enter, enter_bits);
    const int d0 = left;
    const int d1 = dot4 (in, 0x000000ffu, dot4 (out, 0x00000001u, d0));
    const int d2 = dot4 (in, 0x0000ff00u, dot4 (out, 0x00000100u, d1));
    const int d3 = dot4 (in, 0x00ff0000u, dot4 (out, 0x00010000u, d2));

    left = dot4 (in, 0xff000000u, dot4 (out, 0x01000000u, d3));
    leave = next_leave;
    enter = next_enter;

    const unsigned here = Values<T>::at_node (values + g * (int) sizeof (T), value);
    const unsigned negative = __byte_perm (__byte_perm ((unsigned) d0, (unsigned) d1, 0x73),
        __byte_perm ((unsigned) d2, (unsigned) d3, 0x73), 0x5410);
    const unsigned moves = here & ~negative;

    up |= moves;
    stay |= here & negative;
    if (moves)
      Values<T>::set (pending + g * (int) sizeof (T), moves, bit);
  }
  return (up ? 2 : 0) | (stay ? 1 : 0);
}

/* One node: t = value with `bit` set, for the whole tile. */
template<typename T, int N> __device__ void
visit_node (const Padded &p, long long corner, int pitch, unsigned *counts, const unsigned *values, unsigned *pending,
    TreeTile tile, unsigned value, int bit, unsigned prefix, const unsigned *asked, unsigned *next, int bitmap)
{
  const int lane = (int) threadIdx.x & 31, counts_pitch = 32 * N + 1;
  const int values_pitch = tile.w / 4 * (int) sizeof (T) + 1;
  const Threshold t = threshold_lanes<T> (value | 1u << bit);
  const unsigned word = prefix >> 5, mask = 1u << (prefix & 31);
  unsigned count[N] = { };

#pragma unroll 2
  for (int y = 0; y < p.h; y++)
    count_row<T, N> (p, corner, pitch, y, t, count);
  for (int c = 0; c < chunks; c++) {
#pragma unroll 2
    for (int r = 0; r < chunk; r++) {
#pragma unroll
      for (int i = 0; i < N; i++)
        counts[r * counts_pitch + 32 * i + lane] = count[i];
      slide_row<T, N> (p, corner, pitch, c * chunk + r, t, count);
    }
    __syncwarp ();
    if (asked[c * bitmap + word] & mask) {
      const int row = (c * chunk + lane) * values_pitch;
      const int did = sum_row<T> (counts + lane * counts_pitch, values + row, pending + row, p, tile, value, bit);

      /* below: 2 prefix for those that stayed, 2 prefix + 1 for those that moved */
      if (bit > 0 && did)
        atomicOr (&next[c * bitmap + (2 * prefix >> 5)], (unsigned) did << (2 * prefix & 31));
    }
    __syncwarp ();
  }
}

/* All nodes of a level: warp k takes the k-th, (k + 8)-th ... that is asked for. */
template<typename T, int N> __device__ void
visit_level (const Padded &p, long long corner, int pitch, unsigned *counts, const unsigned *values, unsigned *pending,
    TreeTile tile, int bit, const unsigned *asked, unsigned *next, int bitmap)
{
  const int warp = (int) threadIdx.x / 32, level = p.bits - 1 - bit;
  const int words = level < 5 ? 1 : 1 << (level - 5);
  int node = 0;

  for (int i = 0; i < words; i++) {
    unsigned nodes = asked[i] | asked[bitmap + i];

    static_assert (chunks == 2, "a bitmap for each 32 rows");
    for (; nodes; nodes &= nodes - 1, node++)
      if (node % warps == warp) {
        const unsigned prefix = 32 * (unsigned) i + (unsigned) __ffs ((int) nodes) - 1;

        visit_node<T, N> (p, corner, pitch, counts, values, pending, tile, prefix << (bit + 1), bit, prefix, asked, next, bitmap);
      }
  }
}

template<typename T> __device__ __forceinline__ void
store_tile (const Jobs &jobs, const Job &j, const Padded &p, int job, const unsigned *values, TreeTile tile, int x0, int y0)
{
  const int quads = tile.w / 4, values_pitch = quads * (int) sizeof (T) + 1;

  for (int i = (int) threadIdx.x; i < quads * tile_h; i += warps * 32) {
    const int g = i % quads, r = i / quads, x = x0 + 4 * g, y = y0 + r;
    const unsigned *word = values + r * values_pitch + g * (int) sizeof (T);
    unsigned sample[4];

    if (x >= j.width || y >= j.height)
      continue;
    const T *was = (const T *) (p.frame[0] + p.offset[job] + (long long) (y + pad) * p.pitch[job]) + x + pad;
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const unsigned value = sizeof (T) == 1 ? word[0] >> (8 * k) & 255 : word[k / 2] >> (16 * (k & 1)) & 65535;

      sample[k] = abs ((int) value - (int) was[k]) > jobs.threshold ? value : was[k];
    }
    store_quad (j, j.out + y * j.out_pitch, x, sizeof (T) == 1
        ? Quad { sample[0] | sample[1] << 8 | sample[2] << 16 | sample[3] << 24, 0 }
        : Quad { sample[0] | sample[1] << 16, sample[2] | sample[3] << 16 });
  }
}

template<typename T, int N> __global__ void __launch_bounds__ (warps * 32)
median_tree_kernel (const __grid_constant__ Jobs jobs, const __grid_constant__ Padded p, const TreeTile tile, const int bitmap)
{
  extern __shared__ unsigned shared[];
  const Job &j = job_of_block (jobs, (int) blockIdx.x);
  const int block = (int) blockIdx.x - j.first_block, job = (int) (&j - jobs.job);
  const int x0 = block % j.blocks_x * tile.w, y0 = block / j.blocks_x * tile_h;
  const int counts_words = chunk * (32 * N + 1), values_words = tile_h * (tile.w / 4 * (int) sizeof (T) + 1);
  const int thread = (int) threadIdx.x;
  unsigned *values = shared + warps * counts_words, *pending = values + values_words;
  unsigned *asked = pending + values_words, *next = asked + chunks * bitmap;
  /* the lane's first column, rounded down to whole words */
  const long long corner = p.offset[job] + (long long) (y0 + pad - p.h / 2) * p.pitch[job]
      + (long long) (((x0 + pad - p.w / 2) & ~3) + 4 * (thread & 31)) * (int) sizeof (T);

  if (!j.filtered) {
    copy_tile (j, x0, y0, tile.w, tile_h, thread, warps * 32);
    return;
  }
  for (int i = thread; i < 2 * values_words + 2 * chunks * bitmap; i += warps * 32)
    values[i] = 0;
  __syncthreads ();
  if (thread < chunks)
    asked[thread * bitmap] = 1;
  __syncthreads ();
  for (int bit = p.bits - 1; bit >= 0; bit--) {
    visit_level<T, N> (p, corner, p.pitch[job], shared + thread / 32 * counts_words, values, pending, tile, bit, asked, next,
        bitmap);
    __syncthreads ();
    for (int i = thread; i < values_words; i += warps * 32) {
      values[i] |= pending[i];
      pending[i] = 0;
    }
    for (int i = thread; i < chunks * bitmap; i += warps * 32)
      asked[i] = 0;
    __syncthreads ();
    unsigned *done = asked;

    asked = next;
    next = done;
  }
  store_tile<T> (jobs, j, p, job, values, tile, x0, y0);
}

/* ---- launch ------------------------------------------------------------- */

static const void *
tree_kernel (const Padded &p)
{
  static const void *const kernels[2][3] = {
    { (const void *) median_tree_kernel<uint8_t, 1>, (const void *) median_tree_kernel<uint8_t, 2>,
        (const void *) median_tree_kernel<uint8_t, 3> },
    { (const void *) median_tree_kernel<uint16_t, 1>, (const void *) median_tree_kernel<uint16_t, 2>,
        (const void *) median_tree_kernel<uint16_t, 3> },
  };

  return kernels[p.element - 1][lane_words (p.w) - 1];
}

bool
median_tree_fits (const Padded &p, int max_shared)
{
  return p.leaders == 0 && p.h * p.depth <= 255 && shared_bytes (p) <= (size_t) max_shared;
}

CfCode
median_launch_tree (Jobs *jobs, const Padded &p, cudaStream_t stream, CfStatus *status)
{
  TreeTile tile = tree_tile (p);
  int bitmap = bitmap_words (p.bits);
  void *arguments[] = { jobs, const_cast<Padded *> (&p), &tile, &bitmap };
  CfCode code;

  deal_blocks (jobs, tile.w, tile_h);
  code = cf_cuda_check (cudaLaunchKernel (tree_kernel (p), dim3 ((unsigned) jobs->blocks), dim3 (warps * 32), arguments,
          shared_bytes (p), stream), "median: tree", status);
  return code == CF_OK ? cf_cuda_launched ("median: tree", status) : code;
}

CfCode
median_tree_init (int max_shared, CfStatus *status)
{
  CfCode code = CF_OK;

  for (int element = 1; element <= 2; element++)
    for (int w : { 3, 101, 255 }) {
      Padded p = { };

      p.element = element;
      p.w = w;
      if (code == CF_OK)
        code = cf_cuda_check (cudaFuncSetAttribute (tree_kernel (p), cudaFuncAttributeMaxDynamicSharedMemorySize, max_shared),
            "loading the median's kernels", status);
    }
  return code;
}

} // namespace cf
