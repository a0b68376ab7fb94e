/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * median/gpu/tree.cu: the rank filter for large windows, by counting under
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
 * The first three levels have too few nodes to go round, so they are done at
 * once: seven thresholds, asked for all outputs, whose yeses are added up.
 *
 * Block: 8 warps, a tile of tile_w x 64 outputs. A warp takes every eighth of a
 * level's tasks: a node for 32 rows of outputs of which some ask for it:
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
 * Bound: instructions (H200: 65 % of the issue slots busy, samples from the L1
 * cache with 99 % hits); reckoned from their number, about 11 a sample and node.
 * A tile has as many nodes as its results have range: on photographs 20 to 60,
 * on the benchmark's picture of edges and noise above 100, by the same reckoning.
 * Few outputs are at any one node, so most of the counting is for outputs that
 * do not ask. */
#include "internal.h"

#include <algorithm>

namespace cf {

constexpr int warps = 8, tile_h = 64, chunk = 32, chunks = tile_h / chunk;
constexpr int first_bits = 3; /* decided at once, by 7 thresholds */
constexpr int batch = 4;      /* rows loaded before the first is used */

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
    atomicAdd (word, outputs >> (7 - bit));
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
      atomicAdd (word, a);
    if (b)
      atomicAdd (word + 1, b);
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

/* The window's frames; a window of one frame, the usual one, has its loops over
 * them cut short at compile time. */
template<bool ONE> __device__ __forceinline__ int
frames_of (const Padded &p)
{
  return ONE ? 1 : p.depth;
}

/* Adds the samples below t of row y of every frame to the lane's columns. */
template<typename T, int N, bool ONE> __device__ __forceinline__ void
count_row (const Padded &p, long long corner, int pitch, int y, Threshold t, unsigned (&count)[N])
{
  for (int s = 0; s < frames_of<ONE> (p); s++) {
    const uint8_t *row = p.frame[s] + corner + y * pitch;

#pragma unroll
    for (int i = 0; i < N; i++) {
      FourSamples<T> q;

      q.load (row + i * 128 * (int) sizeof (T));
      count[i] += q.below (t);
    }
  }
}

/* The counts of `batch` rows from row y on: row y + h enters behind row y, row y
 * leaves. Bytes never wrap: a column's count stays within 0..255. */
template<typename T, int N, bool ONE> __device__ __forceinline__ void
slide_rows (const Padded &p, long long corner, int pitch, int y, Threshold t, unsigned (&count)[N], unsigned *counts)
{
  const int counts_pitch = 32 * N + 1;
  unsigned change[batch][N] = { };

  for (int s = 0; s < frames_of<ONE> (p); s++) {
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

/* The running sum along one row of counts: moves the outputs that are at the
 * node `value` (FIRST: all). Returns what they did: bit 0 some stayed, bit 1
 * some moved up. */
template<typename T, bool FIRST> __device__ __forceinline__ int
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

    /* few outputs are at any one node: mostly a warp has nothing to do here */
    const unsigned here = FIRST ? 0x80808080u : Values<T>::at_node (values + g * (int) sizeof (T), value);

    if (here) {
      const unsigned negative = __byte_perm (__byte_perm ((unsigned) d0, (unsigned) d1, 0x73),
          __byte_perm ((unsigned) d2, (unsigned) d3, 0x73), 0x5410);
      const unsigned moves = here & ~negative;

      up |= moves;
      stay |= here & negative;
      if (moves)
        Values<T>::set (pending + g * (int) sizeof (T), moves, bit);
    }
  }
  return (up ? 2 : 0) | (stay ? 1 : 0);
}

/* What the threads of a block share. */
struct Block {
  unsigned *counts;           /* this warp's */
  unsigned *values, *pending; /* the outputs' bits so far, and those that this level adds */
  unsigned *asked, *next;     /* bitmaps of nodes, one for each 32 rows */
  int bitmap;                 /* words of a bitmap */
};

/* One node for one chunk of rows: t_value = the node's value with `bit` set. */
template<typename T, int N, bool ONE, bool FIRST> __device__ __forceinline__ void
visit_node (const Padded &p, long long corner, int pitch, const Block &b, TreeTile tile, int c, unsigned prefix,
    unsigned t_value, int bit)
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
  const int did = sum_row<T, FIRST> (b.counts + lane * counts_pitch, b.values + row, b.pending + row, p, tile,
      prefix << (bit + 1), bit);

  /* below: 2 prefix for those that stayed, 2 prefix + 1 for those that moved */
  if (!FIRST && bit > 0 && did)
    atomicOr (&b.next[c * b.bitmap + (2 * prefix >> 5)], (unsigned) did << (2 * prefix & 31));
  __syncwarp ();
}

/* The first levels at once: each of the thresholds that cut the range into 8. */
template<typename T, int N, bool ONE> __device__ __forceinline__ void
visit_first (const Padded &p, long long corner, int pitch, const Block &b, TreeTile tile)
{
  const int bit = p.bits - first_bits, thresholds = (1 << first_bits) - 1;

  for (int i = (int) threadIdx.x / 32; i < chunks * thresholds; i += warps)
    visit_node<T, N, ONE, true> (p, corner, pitch, b, tile, i / thresholds, 0, (unsigned) (1 + i % thresholds) << bit, bit);
}

/* All tasks of a level: warp k takes the k-th, (k + 8)-th ... that is asked for. */
template<typename T, int N, bool ONE> __device__ __forceinline__ void
visit_level (const Padded &p, long long corner, int pitch, const Block &b, TreeTile tile, int bit)
{
  const int warp = (int) threadIdx.x / 32, level = p.bits - 1 - bit;
  const int words = level < 5 ? 1 : 1 << (level - 5);
  int task = 0;

  for (int i = 0; i < chunks * words; i++) {
    const int c = i / words, word = i % words;

    for (unsigned nodes = b.asked[c * b.bitmap + word]; nodes; nodes &= nodes - 1, task++)
      if (task % warps == warp) {
        const unsigned prefix = 32 * (unsigned) word + (unsigned) __ffs ((int) nodes) - 1;

        visit_node<T, N, ONE, false> (p, corner, pitch, b, tile, c, prefix, (2 * prefix + 1) << bit, bit);
      }
  }
}

/* Joins a level's bits to the values. `mark`: asks for the nodes that the
 * outputs are at now, of first_bits bits. */
template<typename T> __device__ __forceinline__ void
join_values (const Padded &p, const Block &b, int values_words, int values_pitch, bool mark)
{
  for (int i = (int) threadIdx.x; i < values_words; i += warps * 32) {
    const unsigned v = b.values[i] |= b.pending[i];

    b.pending[i] = 0;
    if (mark) {
      const int down = p.bits - first_bits;
      unsigned nodes = 0;

#pragma unroll
      for (int k = 0; k < 32; k += 8 * (int) sizeof (T))
        nodes |= 1u << ((v >> k & (sizeof (T) == 1 ? 0xff : 0xffff)) >> down);
      if (i % values_pitch != values_pitch - 1)
        atomicOr (&b.asked[i / values_pitch / chunk * b.bitmap], nodes);
    }
  }
}

template<typename T> __device__ __forceinline__ void
store_tile (const Launch &launch, const Plane &j, const Padded &p, int plane, const unsigned *values, TreeTile tile, int x0, int y0)
{
  const int quads = tile.w / 4, values_pitch = quads * (int) sizeof (T) + 1;

  for (int i = (int) threadIdx.x; i < quads * tile_h; i += warps * 32) {
    const int g = i % quads, r = i / quads, x = x0 + 4 * g, y = y0 + r;
    const unsigned *word = values + r * values_pitch + g * (int) sizeof (T);
    unsigned sample[4];

    if (x >= j.width || y >= j.height)
      continue;
    const T *was = (const T *) (p.frame[0] + p.offset[plane] + (long long) (y + pad) * p.pitch[plane]) + x + pad;
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const unsigned value = sizeof (T) == 1 ? word[0] >> (8 * k) & 255 : word[k / 2] >> (16 * (k & 1)) & 65535;

      sample[k] = abs ((int) value - (int) was[k]) > launch.threshold ? value : was[k];
    }
    store_quad (j, j.out + y * j.out_pitch, x, sizeof (T) == 1
        ? Quad { sample[0] | sample[1] << 8 | sample[2] << 16 | sample[3] << 24, 0 }
        : Quad { sample[0] | sample[1] << 16, sample[2] | sample[3] << 16 });
  }
}

template<typename T, int N, bool ONE> __global__ void __launch_bounds__ (warps * 32)
median_tree_kernel (const __grid_constant__ Launch launch, const __grid_constant__ Padded p, const TreeTile tile, const int bitmap)
{
  extern __shared__ unsigned shared[];
  const Plane &j = plane_of_block (launch, (int) blockIdx.x);
  const int block = (int) blockIdx.x - j.first_block, plane = (int) (&j - launch.plane), thread = (int) threadIdx.x;
  const int x0 = block % j.blocks_x * tile.w, y0 = block / j.blocks_x * tile_h, pitch = p.pitch[plane];
  const int counts_words = chunk * (32 * N + 1), values_pitch = tile.w / 4 * (int) sizeof (T) + 1;
  const int values_words = tile_h * values_pitch;
  unsigned *values = shared + warps * counts_words, *bitmaps = values + 2 * values_words;
  Block b = { shared + thread / 32 * counts_words, values, values + values_words, bitmaps, bitmaps + chunks * bitmap, bitmap };
  /* the lane's first column, rounded down to whole words */
  const long long corner = p.offset[plane] + (long long) (y0 + pad - p.h / 2) * pitch
      + (long long) (((x0 + pad - p.w / 2) & ~3) + 4 * (thread & 31)) * (int) sizeof (T);

  if (!j.filtered) {
    copy_tile (j, x0, y0, tile.w, tile_h, thread, warps * 32);
    return;
  }
  for (int i = thread; i < 2 * values_words + 2 * chunks * bitmap; i += warps * 32)
    values[i] = 0;
  __syncthreads ();
  visit_first<T, N, ONE> (p, corner, pitch, b, tile);
  __syncthreads ();
  join_values<T> (p, b, values_words, values_pitch, true);
  __syncthreads ();
  for (int bit = p.bits - 1 - first_bits; bit >= 0; bit--) {
    unsigned *done = b.asked;

    visit_level<T, N, ONE> (p, corner, pitch, b, tile, bit);
    __syncthreads ();
    join_values<T> (p, b, values_words, values_pitch, false);
    for (int i = thread; i < chunks * bitmap; i += warps * 32)
      done[i] = 0;
    __syncthreads ();
    b.asked = b.next;
    b.next = done;
  }
  store_tile<T> (launch, j, p, plane, values, tile, x0, y0);
}

/* ---- launch ------------------------------------------------------------- */

template<typename T, bool ONE> static const void *
tree_kernel (int words)
{
  return words == 1 ? (const void *) median_tree_kernel<T, 1, ONE>
      : words == 2 ? (const void *) median_tree_kernel<T, 2, ONE> : (const void *) median_tree_kernel<T, 3, ONE>;
}

static const void *
tree_kernel (const Padded &p)
{
  const int words = lane_words (p.w);

  if (p.depth == 1)
    return p.element == 1 ? tree_kernel<uint8_t, true> (words) : tree_kernel<uint16_t, true> (words);
  return p.element == 1 ? tree_kernel<uint8_t, false> (words) : tree_kernel<uint16_t, false> (words);
}

bool
median_tree_fits (const Padded &p, int max_shared)
{
  return p.primary == 0 && p.h * p.depth <= 255 && shared_bytes (p) <= (size_t) max_shared;
}

CfCode
median_launch_tree (Launch *launch, const Padded &p, cudaStream_t stream, CfStatus *status)
{
  TreeTile tile = tree_tile (p);
  int bitmap = bitmap_words (p.bits);
  void *arguments[] = { launch, const_cast<Padded *> (&p), &tile, &bitmap };
  CfCode code;

  deal_blocks (launch, tile.w, tile_h);
  code = cf_cuda_check (cudaLaunchKernel (tree_kernel (p), dim3 ((unsigned) launch->blocks), dim3 (warps * 32), arguments,
          shared_bytes (p), stream), "median: tree", status);
  return code == CF_OK ? cf_cuda_launched ("median: tree", status) : code;
}

/* The tile's samples are read again for each node: leave the L1 cache room for
 * them beside the shared memory of the blocks. */
static CfCode
prepare (const void *kernel, int max_shared, CfStatus *status)
{
  const char *what = "loading the median's kernels";
  CfCode code = cf_cuda_check (cudaFuncSetAttribute (kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, max_shared), what,
      status);

  return code == CF_OK ? cf_cuda_check (cudaFuncSetAttribute (kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 64),
      what, status) : code;
}

CfCode
median_tree_init (int max_shared, CfStatus *status)
{
  CfCode code = CF_OK;

  for (int i = 0; code == CF_OK && i < 12; i++) {
    const int widths[] = { 3, 101, 255 };
    Padded p = { };

    p.w = widths[i % 3];
    p.element = 1 + i / 3 % 2;
    p.depth = i < 6 ? 1 : 3;
    code = prepare (tree_kernel (p), max_shared, status);
  }
  return code;
}

} // namespace cf
