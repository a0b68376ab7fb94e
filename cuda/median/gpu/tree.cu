/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/gpu/tree.cu: the rank filter for large windows, by counting samples under
 * thresholds; its time hardly depends on the window.
 *
 * An output is found bit by bit: a bit is set if at most `rank` samples of its window are below t = the bits so far
 * with this bit set. The bits so far are a node of a tree of thresholds. For each node where outputs of the tile are
 * (an active node), a warp counts the samples below t in ALL windows of 32 rows with running sums, and moves the
 * outputs at the node on. The first three levels have too few nodes for all warps and are done at once: 7 thresholds
 * for all outputs, whose 1 bits are added up.
 *
 * Map: a block has 8 warps and a tile of tile.w x 64 outputs; a warp takes every eighth active node of a level. First
 * lane l runs down N words of four columns (slide_rows), then lane r runs along row r (sum_row).
 * Shared memory: column counts of 32 rows per warp, with an odd pitch in words and so
 * without bank conflicts in either direction; values so far; bits that this level
 * sets; bitmaps of the active nodes of this level and of the next, per 32 rows.
 * Races: none. During a level, values and active nodes are only read. New bits (atomicAdd to zero bits) and next nodes
 * (atomicOr) go to other words, which are joined between two barriers.
 * Bound: instructions, most of them for outputs that are not at the node. A tile has
 * about as many nodes as its results have range. Figures: docs/notes/median.md. */
#include "internal.h"

#include <algorithm>

namespace cf {

constexpr int warps = 8, tile_h = 64, chunk = 32, chunks = tile_h / chunk;
constexpr int top_bits = 3; /* found at once, with 7 thresholds */
constexpr int batch = 4;    /* rows that are loaded before the first is used */

struct TreeTile {
  int w;     /* outputs in a row, a multiple of 4 */
  int shift; /* column of the first word where the first output's window begins */
};

/* Returns the words of four column counts that a lane holds. */
static int
lane_words (int w)
{
  return w <= 49 ? 1 : w <= 129 ? 2 : 3;
}

static TreeTile
tree_tile (const MedianPadded &p)
{
  const int shift = (median_pad - p.w / 2) & 3;

  return TreeTile { (128 * lane_words (p.w) - (p.w - 1) - shift) & ~3, shift };
}

static int
bitmap_words (int bits)
{
  return std::max (1, (1 << (bits - 1)) / 32);
}

static size_t
shared_bytes (const MedianPadded &p)
{
  const size_t counts = (size_t) warps * chunk * (32 * (size_t) lane_words (p.w) + 1);
  const size_t values = (size_t) tile_h * ((size_t) (tree_tile (p).w / 4) * (size_t) p.bytes + 1);

  return 4 * (counts + 2 * values + 2 * chunks * (size_t) bitmap_words (p.bits));
}

/* ---- four samples below t, as bytes 0 or 1 ------------------------------- */

/* t as the comparisons need it: in each lane of a word its low bits, its top bit. */
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

/* Returns the borrow of p - t in the top bit of each lane. Without the top bits the difference borrows where its own
 * top bit stays clear; the top bits are then added as in a full subtractor. */
template<unsigned TOP> __device__ __forceinline__ unsigned
borrows (unsigned p, Threshold t)
{
  const unsigned d = (p | TOP) - t.low;

  return (~p & t.top) | (~p & ~d) | (t.top & ~d);
}

/* Four samples of a row, and those of them that are below t. */
template<typename T> struct FourSamples {
  uint2 v;

  __device__ __forceinline__ void
  load (const uint8_t *p)
  {
    v = sizeof (T) == 1 ? make_uint2 (__ldg ((const unsigned *) p), 0) : __ldg ((const uint2 *) p);
  }
  __device__ __forceinline__ unsigned
  below (Threshold t) const
  {
    if (sizeof (T) == 1)
      return borrows<0x80808080u> (v.x, t) >> 7 & 0x01010101u;
    return __byte_perm (borrows<0x80008000u> (v.x, t), borrows<0x80008000u> (v.y, t), 0x7531) >> 7 & 0x01010101u;
  }
};

/* ---- the values so far, four outputs at a time --------------------------- */

/* Returns a word with the top bit of each lane set where e's lane is zero. */
template<unsigned TOP> __device__ __forceinline__ unsigned
zero_lanes (unsigned e)
{
  return ~(((e & ~TOP) + ~TOP) | e) & TOP;
}

/* Returns which of four outputs are at a node, in the top bit of each byte. */
template<typename T> __device__ __forceinline__ unsigned
at_node (const unsigned *word, unsigned value)
{
  if (sizeof (T) == 1)
    return zero_lanes<0x80808080u> (word[0] ^ value * 0x01010101u);
  return __byte_perm (zero_lanes<0x80008000u> (word[0] ^ value * 0x00010001u),
      zero_lanes<0x80008000u> (word[1] ^ value * 0x00010001u), 0x7531);
}

/* Sets `bit` in those of `outputs`, given in the same form. */
template<typename T> __device__ __forceinline__ void
set_bits (unsigned *word, unsigned outputs, int bit)
{
  if (sizeof (T) == 1) {
    atomicAdd (word, outputs >> (7 - bit));
    return;
  }
  /* the top bits of bytes 0..3 become `bit` of four 16-bit halves */
  const unsigned a = __byte_perm (outputs, 0, 0x1404) >> (15 - bit);
  const unsigned b = __byte_perm (outputs, 0, 0x3424) >> (15 - bit);

  if (a)
    atomicAdd (word, a);
  if (b)
    atomicAdd (word + 1, b);
}

/* Returns sum + the sum of the products of four unsigned counts and signed factors. */
__device__ __forceinline__ int
dot4 (unsigned counts, unsigned factors, int sum)
{
  int result;

  asm ("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(counts), "r"(factors), "r"(sum));
  return result;
}

/* ---- the stages --------------------------------------------------------- */

/* Adds the samples below t in row y of every frame to the lane's column counts. ONE: there is one frame, the usual
 * case, whose loop disappears at compile time. */
template<typename T, int N, bool ONE> __device__ __forceinline__ void
count_row (const MedianPadded &p, long long corner, int pitch, int y, Threshold t, unsigned (&count)[N])
{
  for (int s = 0; s < (ONE ? 1 : p.depth); s++) {
    const uint8_t *row = p.frame[s] + corner + y * pitch;

#pragma unroll
    for (int i = 0; i < N; i++) {
      FourSamples<T> q;

      q.load (row + i * 128 * (int) sizeof (T));
      count[i] += q.below (t);
    }
  }
}

/* Writes the column counts of `batch` rows of windows from row y on to `counts`. After each row the samples below t of
 * the row that enters the window are added and those of the row that leaves it are subtracted. Counts are bytes and do
 * not overflow, because a window has at most 255 rows. Lane l has columns 4 l .. 4 l + 3, and for N > 1 those 128 and
 * 256 further on. */
template<typename T, int N, bool ONE> __device__ __forceinline__ void
slide_rows (const MedianPadded &p, long long corner, int pitch, int y, Threshold t, unsigned (&count)[N],
    unsigned *counts)
{
  const int counts_pitch = 32 * N + 1;
  unsigned change[batch][N] = { };

  for (int s = 0; s < (ONE ? 1 : p.depth); s++) {
    const uint8_t *leaves = p.frame[s] + corner + y * pitch, *enters = leaves + p.h * pitch;
    FourSamples<T> a[batch][N], b[batch][N];

#pragma unroll
    for (int r = 0; r < batch; r++)
#pragma unroll
      for (int i = 0; i < N; i++) {
        a[r][i].load (enters + r * pitch + i * 128 * (int) sizeof (T));
        b[r][i].load (leaves + r * pitch + i * 128 * (int) sizeof (T));
      }
#pragma unroll
    for (int r = 0; r < batch; r++)
#pragma unroll
      for (int i = 0; i < N; i++)
        change[r][i] += a[r][i].below (t) - b[r][i].below (t);
  }
#pragma unroll
  for (int r = 0; r < batch; r++)
#pragma unroll
    for (int i = 0; i < N; i++) {
      counts[r * counts_pitch + 32 * i] = count[i];
      count[i] += change[r][i];
    }
}

/* Runs along one row of counts, with two dp4a per output for the column that enters the window and the one that leaves
 * it, and moves the outputs that are at the node `value` (FIRST: all outputs) to its children. Returns the children
 * that have outputs: bit 0 the lower one, bit 1 the upper one. */
template<typename T, bool FIRST> __device__ __forceinline__ int
sum_row (const unsigned *counts, const unsigned *values, unsigned *pending, const MedianPadded &p, TreeTile tile,
    unsigned value, int bit)
{
  const int first = tile.shift, last = tile.shift + p.w; /* columns of the first window */
  const int leave_bits = 8 * (first & 3), enter_bits = 8 * (last & 3);
  int left = p.rank; /* rank - samples below t; the bit is set if this is not negative */
  unsigned upper = 0, lower = 0;

  for (int i = 0; i <= (last - 1) >> 2; i++) {
    unsigned ones = 0xffffffffu;

    if (i == 0)
      ones <<= leave_bits;
    if (i == last >> 2)
      ones &= ~(0xffffffffu << enter_bits);
    left = dot4 (counts[i], ones, left);
  }
  unsigned leave = counts[0], enter = counts[last >> 2];

#pragma unroll 2
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

    /* few outputs are at any one node: a warp seldom has something to do here */
    const unsigned here = FIRST ? 0x80808080u : at_node<T> (values + g * (int) sizeof (T), value);

    if (here) {
      const unsigned negative = __byte_perm (__byte_perm ((unsigned) d0, (unsigned) d1, 0x73),
          __byte_perm ((unsigned) d2, (unsigned) d3, 0x73), 0x5410);
      const unsigned set = here & ~negative;

      upper |= set;
      lower |= here & negative;
      if (set)
        set_bits<T> (pending + g * (int) sizeof (T), set, bit);
    }
  }
  return (upper ? 2 : 0) | (lower ? 1 : 0);
}

/* The parts of a block's shared memory. */
struct TreeShared {
  unsigned *counts;               /* of this warp */
  unsigned *values, *pending;     /* the outputs' bits so far, and those that this level sets */
  unsigned *active, *next_active; /* bitmaps of nodes, one per chunk of 32 rows */
  int bitmap;                     /* words per bitmap */
};

/* Visits node `prefix` for chunk c of the rows, by one warp: t_value = the node's value with `bit` set. */
template<typename T, int N, bool ONE, bool FIRST> __device__ __forceinline__ void
visit_node (const MedianPadded &p, long long corner, int pitch, const TreeShared &b, TreeTile tile, int c,
    unsigned prefix, unsigned t_value, int bit)
{
  const int lane = (int) threadIdx.x & 31, counts_pitch = 32 * N + 1;
  const int row = (c * chunk + lane) * (tile.w / 4 * (int) sizeof (T) + 1);
  const Threshold t = threshold_lanes<T> (t_value);
  unsigned count[N] = { };

  corner += (long long) (c * chunk) * pitch;
#pragma unroll 4
  for (int y = 0; y < p.h; y++)
    count_row<T, N, ONE> (p, corner, pitch, y, t, count);
  for (int r = 0; r < chunk; r += batch)
    slide_rows<T, N, ONE> (p, corner, pitch, r, t, count, b.counts + r * counts_pitch + lane);
  __syncwarp ();
  const int children = sum_row<T, FIRST> (b.counts + lane * counts_pitch, b.values + row, b.pending + row, p, tile,
      prefix << (bit + 1), bit);

  /* the children are nodes 2 prefix and 2 prefix + 1 of the next level */
  if (!FIRST && bit > 0 && children)
    atomicOr (&b.next_active[c * b.bitmap + (2 * prefix >> 5)], (unsigned) children << (2 * prefix & 31));
  __syncwarp ();
}

/* Does the first levels at once, with the 7 thresholds that cut the range into 8. */
template<typename T, int N, bool ONE> __device__ __forceinline__ void
visit_first (const MedianPadded &p, long long corner, int pitch, const TreeShared &b, TreeTile tile)
{
  const int bit = p.bits - top_bits, thresholds = (1 << top_bits) - 1;

  for (int i = (int) threadIdx.x / 32; i < chunks * thresholds; i += warps)
    visit_node<T, N, ONE, true> (p, corner, pitch, b, tile, i / thresholds, 0, (unsigned) (1 + i % thresholds) << bit,
        bit);
}

/* Visits the active nodes of a level: warp k takes the k-th, (k + 8)-th, ... */
template<typename T, int N, bool ONE> __device__ __forceinline__ void
visit_level (const MedianPadded &p, long long corner, int pitch, const TreeShared &b, TreeTile tile, int bit)
{
  const int warp = (int) threadIdx.x / 32, level = p.bits - 1 - bit;
  const int words = level < 5 ? 1 : 1 << (level - 5);
  int task = 0;

  for (int i = 0; i < chunks * words; i++) {
    const int c = i / words, word = i % words;

    for (unsigned nodes = b.active[c * b.bitmap + word]; nodes; nodes &= nodes - 1, task++)
      if (task % warps == warp) {
        const unsigned prefix = 32 * (unsigned) word + (unsigned) __ffs ((int) nodes) - 1;

        visit_node<T, N, ONE, false> (p, corner, pitch, b, tile, c, prefix, (2 * prefix + 1) << bit, bit);
      }
  }
}

/* Joins a level's bits to the values. `activate`: also makes the nodes active that
 * the outputs are at after the first levels. */
template<typename T> __device__ __forceinline__ void
join_values (const MedianPadded &p, const TreeShared &b, int values_words, int values_pitch, bool activate)
{
  for (int i = (int) threadIdx.x; i < values_words; i += warps * 32) {
    const unsigned v = b.values[i] |= b.pending[i];

    b.pending[i] = 0;
    if (activate) {
      const int down = p.bits - top_bits;
      unsigned nodes = 0;

#pragma unroll
      for (int k = 0; k < 32; k += 8 * (int) sizeof (T))
        nodes |= 1u << ((v >> k & (sizeof (T) == 1 ? 0xff : 0xffff)) >> down);
      if (i % values_pitch != values_pitch - 1)
        atomicOr (&b.active[i / values_pitch / chunk * b.bitmap], nodes);
    }
  }
}

template<typename T> __device__ __forceinline__ void
store_values (const Launch &launch, const Plane &plane, const MedianPadded &p, int index, const unsigned *values,
    TreeTile tile, int x0, int y0)
{
  const int quads = tile.w / 4, values_pitch = quads * (int) sizeof (T) + 1;

  for (int i = (int) threadIdx.x; i < quads * tile_h; i += warps * 32) {
    const int g = i % quads, r = i / quads, x = x0 + 4 * g, y = y0 + r;
    const unsigned *word = values + r * values_pitch + g * (int) sizeof (T);
    unsigned sample[4];

    if (x >= plane.width || y >= plane.height)
      continue;
    const T *input = (const T *) (p.frame[0] + p.offset[index]
        + (long long) (y + median_pad) * p.pitch[index]) + x + median_pad;
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const unsigned value = sizeof (T) == 1 ? word[0] >> (8 * k) & 255 : word[k / 2] >> (16 * (k & 1)) & 65535;

      sample[k] = abs ((int) value - (int) input[k]) > launch.threshold ? value : input[k];
    }
    store_quad (plane, plane.out + y * plane.out_pitch, x, sizeof (T) == 1
        ? Quad { sample[0] | sample[1] << 8 | sample[2] << 16 | sample[3] << 24, 0 }
        : Quad { sample[0] | sample[1] << 16, sample[2] | sample[3] << 16 });
  }
}

template<typename T, int N, bool ONE> __global__ void __launch_bounds__ (warps * 32)
median_tree_kernel (const __grid_constant__ Launch launch, const __grid_constant__ MedianPadded p, const TreeTile tile,
    const int bitmap)
{
  extern __shared__ unsigned shared[];
  const Plane &plane = plane_of_block (launch, (int) blockIdx.x);
  const int block = (int) blockIdx.x - plane.first_block, index = (int) (&plane - launch.plane);
  const int thread = (int) threadIdx.x;
  const int x0 = block % plane.blocks_x * tile.w, y0 = block / plane.blocks_x * tile_h, pitch = p.pitch[index];
  const int counts_words = chunk * (32 * N + 1), values_pitch = tile.w / 4 * (int) sizeof (T) + 1;
  const int values_words = tile_h * values_pitch;
  unsigned *values = shared + warps * counts_words, *bitmaps = values + 2 * values_words;
  TreeShared b = { shared + thread / 32 * counts_words, values, values + values_words, bitmaps,
    bitmaps + chunks * bitmap, bitmap };
  /* the lane's first column, rounded down to whole words */
  const long long corner = p.offset[index] + (long long) (y0 + median_pad - p.h / 2) * pitch
      + (long long) (((x0 + median_pad - p.w / 2) & ~3) + 4 * (thread & 31)) * (int) sizeof (T);

  if (!plane.filtered) {
    copy_tile (plane, x0, y0, tile.w, tile_h, thread, warps * 32);
    return;
  }
  for (int i = thread; i < 2 * values_words + 2 * chunks * bitmap; i += warps * 32)
    values[i] = 0;
  __syncthreads ();
  visit_first<T, N, ONE> (p, corner, pitch, b, tile);
  __syncthreads ();
  join_values<T> (p, b, values_words, values_pitch, true);
  __syncthreads ();
  for (int bit = p.bits - 1 - top_bits; bit >= 0; bit--) {
    unsigned *done = b.active;

    visit_level<T, N, ONE> (p, corner, pitch, b, tile, bit);
    __syncthreads ();
    join_values<T> (p, b, values_words, values_pitch, false);
    for (int i = thread; i < chunks * bitmap; i += warps * 32)
      done[i] = 0;
    __syncthreads ();
    b.active = b.next_active;
    b.next_active = done;
  }
  store_values<T> (launch, plane, p, index, values, tile, x0, y0);
}

/* ---- launch ------------------------------------------------------------- */

template<typename T, bool ONE> const void *const tree_kernels[] = { (const void *) median_tree_kernel<T, 1, ONE>,
  (const void *) median_tree_kernel<T, 2, ONE>, (const void *) median_tree_kernel<T, 3, ONE> };

static const void *
tree_kernel (const MedianPadded &p)
{
  const int i = lane_words (p.w) - 1;

  if (p.depth == 1)
    return p.bytes == 1 ? tree_kernels<uint8_t, true>[i] : tree_kernels<uint16_t, true>[i];
  return p.bytes == 1 ? tree_kernels<uint8_t, false>[i] : tree_kernels<uint16_t, false>[i];
}

bool
median_tree_fits (const MedianPadded &p, int max_shared)
{
  return p.n_primary == 0 && p.h * p.depth <= 255 && shared_bytes (p) <= (size_t) max_shared;
}

CfCode
median_launch_tree (Launch *launch, const MedianPadded &p, cudaStream_t stream, CfStatus *status)
{
  TreeTile tile = tree_tile (p);
  int bitmap = bitmap_words (p.bits);
  void *arguments[] = { launch, const_cast<MedianPadded *> (&p), &tile, &bitmap };

  deal_blocks (launch, tile.w, tile_h);
  return launch_kernel ("median: tree", tree_kernel (p), launch->blocks, warps * 32, arguments, shared_bytes (p), false,
      stream, status);
}

CfCode
median_tree_init (int max_shared, CfStatus *status)
{
  CfCode code = CF_OK;

  for (int i = 0; code == CF_OK && i < 12; i++) {
    const int widths[] = { 3, 101, 255 };
    MedianPadded p = { };

    p.w = widths[i % 3];
    p.bytes = 1 + i / 3 % 2;
    p.depth = i < 6 ? 1 : 3;
    code = cf_cuda_check (cudaFuncSetAttribute (tree_kernel (p), cudaFuncAttributeMaxDynamicSharedMemorySize,
        max_shared), median_loading, status);
    /* every node reads the tile's samples again: the L1 cache has room for them beside the blocks' shared memory */
    if (code == CF_OK)
      code = cf_cuda_check (cudaFuncSetAttribute (tree_kernel (p), cudaFuncAttributePreferredSharedMemoryCarveout, 64),
          median_loading, status);
  }
  return code;
}

} // namespace cf
