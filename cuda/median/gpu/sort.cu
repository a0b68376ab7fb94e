/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/gpu/sort.cu: what flat.cu needs to filter samples of 10 to 16 bits: tiles whose samples are sorted.
 *
 * A tile has outputs of `strips` warps of flat, side by side, in `rows` rows, and all samples of their windows, those
 * beyond the image repeated. They are sorted; the first `bucket` samples of the order get the code 0, the next ones 1,
 * and so on, 256 codes at most. Flat finds the code of an output's result and how many samples with this code come
 * before it. The result is then searched among those few samples, whatever the content is.
 *
 * Sorting: a block has a tile. The first pass, by the lowest 11 bits, may leave equal ones in any order: atomic adds
 * count them and then find their places. The others keep the order of those with the same digit: each warp counts the
 * digits of its part of the samples; sums over the digits and the warps are the places; each warp puts its samples
 * there in order, 32 at a time. Lanes with the same digit find each other by ballots.
 * Samples of 10 bits need one pass. Where a tile's samples fit beside their places, median_count_kernel () has no lists
 * of numbers: a sample goes to its place with its column and row, and the search finds the sample itself there.
 * Shared memory: counts; bytes of n samples, low, high and, of packed colours, middle ones apart; two lists of sample
 * numbers; the second one begins where the low bytes were. A sample's code takes the place of its high byte.
 * Races: none. Each count belongs to a warp or is added to by atomics, and each place of a list to one sample; barriers
 * are between the steps.
 *
 * Searching: a thread has an output. It counts the samples in its window, eight at a time, where a byte each says in
 * which column and row a sample is. Four bytes are compared at once: they have their top bit set and none of the
 * differences borrows. Columns and rows have seven bits, although a tile has more: all windows of a tile share some
 * columns, which count as one, and so with rows.
 * Bound: instructions and latencies of shared memory. Figures: docs/notes/median.md. */
#include "internal.h"

#include <algorithm>

namespace cf {

constexpr int first_bits = 11; /* by which the first pass sorts; of samples of 10 bits the only one */
constexpr int few_bits = 10;   /* of samples that median_count_kernel () sorts */

/* ---- tiles -------------------------------------------------------------- */

/* So many that an SM of 8.0 and later has 32 in blocks of as much shared memory. */
static int
sort_warps (const MedianTiles &tiles)
{
  return tiles.n > 21000 ? 32 : tiles.n > 9600 || tiles.values ? 16 : 8;
}

static int
sort_shared (const MedianTiles &tiles)
{
  const int counts = tiles.n_primary ? 256 * (sort_warps (tiles) + 1) : 0;

  return 4 * std::max (counts, 1 << first_bits) + 4 * 32 + (tiles.n_primary || tiles.values ? 6 : 5) * tiles.n + 16;
}

bool
median_sort_fits (int columns, const CfMedianWindow &window, int bits, int max_shared, MedianTiles *tiles)
{
  tiles->above = window.h / 2;
  tiles->rows = 64;
  tiles->height = tiles->rows + window.h - 1;
  for (tiles->strips = 2; tiles->strips > 0; tiles->strips--) {
    tiles->pitch = 32 * (tiles->strips - 1) + columns;
    tiles->n = tiles->pitch * tiles->height;
    tiles->by_pitch = 0xffffffffu / (unsigned) tiles->pitch + 1;
    tiles->bucket = (tiles->n / 256 + 8) & ~7;
    tiles->places = (tiles->n + 15) & ~15;
    tiles->list = tiles->places + ((2 * tiles->n + 15) & ~15);
    tiles->results = tiles->list + ((2 * tiles->n + 15) & ~15);
    tiles->bytes = tiles->results + 64 * tiles->strips * tiles->rows;
    for (int few = bits == few_bits; few >= 0; few--) {
      tiles->values = few;
      if (sort_shared (*tiles) <= max_shared)
        return true;
    }
  }
  return false;
}

/* ---- sorting ------------------------------------------------------------ */

/* Sets counts[0 .. n - 1] to 0. */
__device__ __forceinline__ void
clear (unsigned *counts, int n)
{
  for (int i = (int) threadIdx.x; i < n; i += (int) blockDim.x)
    counts[i] = 0;
  __syncthreads ();
}

/* Replaces each count by the sum of those before it. sums: one of each warp. */
__device__ __forceinline__ void
sum_counts (unsigned *counts, int n, unsigned *sums)
{
  const int each = (n + (int) blockDim.x - 1) / (int) blockDim.x, from = (int) threadIdx.x * each;
  const int end = min (from + each, n), lane = (int) threadIdx.x & 31, warp = (int) threadIdx.x / 32;
  unsigned own = 0, before;

  __syncthreads ();
  for (int i = from; i < end; i++)
    own += counts[i];
  before = own;
#pragma unroll
  for (int k = 1; k < 32; k *= 2) {
    const unsigned other = __shfl_up_sync (0xffffffffu, before, k);

    before += lane >= k ? other : 0;
  }
  if (lane == 31)
    sums[warp] = before;
  before -= own;
  __syncthreads ();
  for (int i = 0; i < warp; i++)
    before += sums[i];
  for (int i = from; i < end; i++) {
    const unsigned count = counts[i];

    counts[i] = before;
    before += count;
  }
  __syncthreads ();
}

/* Calls use (sample, its place) for each sample in the order of digit (sample), equal ones in any order. */
template<class Digit, class Use> __device__ __forceinline__ void
sort_first (int n, unsigned *counts, unsigned *sums, Digit digit, Use use)
{
  clear (counts, 1 << first_bits);
#pragma unroll 4
  for (int i = (int) threadIdx.x; i < n; i += (int) blockDim.x)
    atomicAdd (counts + digit (i), 1u);
  sum_counts (counts, 1 << first_bits, sums);
#pragma unroll 4
  for (int i = (int) threadIdx.x; i < n; i += (int) blockDim.x)
    use (i, atomicAdd (counts + digit (i), 1u));
  __syncthreads ();
}

/* The same for digits of BITS bits, and samples in their order in `list`, which those with the same digit keep. */
template<int BITS, class Digit, class Use> __device__ __forceinline__ void
sort_next (int n, const uint16_t *list, unsigned *counts, unsigned *sums, Digit digit_of, Use use)
{
  constexpr int batch = 4;
  const int warps = (int) blockDim.x / 32, warp = (int) threadIdx.x / 32, lane = (int) threadIdx.x & 31;
  const int each = (n + 32 * warps - 1) / (32 * warps) * 32, begin = warp * each, end = min (begin + each, n);
  /* the warps' counts of a digit lie side by side; one more leaves fewer of them in the same bank */
  const int stride = warps + 1;

  clear (counts, stride << BITS);
#pragma unroll 4
  for (int i = begin + lane; i < end; i += 32)
    atomicAdd (counts + digit_of (list[i]) * stride + warp, 1u);
  sum_counts (counts, stride << BITS, sums);
#pragma unroll 1
  for (int from = begin; from < end; from += 32 * batch) {
    int sample[batch], digit[batch];

#pragma unroll
    for (int k = 0; k < batch; k++) {
      const int i = from + 32 * k + lane;

      sample[k] = i < end ? list[i] : 0;
      digit[k] = i < end ? digit_of (sample[k]) : 0; /* another warp may have sample 0 */
    }
#pragma unroll
    for (int k = 0; k < batch; k++) {
      const bool valid = from + 32 * k + lane < end;
      unsigned *count = counts + digit[k] * stride + warp, same = __ballot_sync (0xffffffffu, valid);

#pragma unroll
      for (int bit = 0; bit < BITS; bit++) {
        const unsigned ones = __ballot_sync (0xffffffffu, digit[k] >> bit & 1);

        same &= digit[k] >> bit & 1 ? ones : ~ones;
      }
      const unsigned before = same & ((1u << lane) - 1), place = *count + (unsigned) __popc (before);

      __syncwarp ();
      if (valid && before == 0)
        *count += (unsigned) __popc (same);
      __syncwarp ();
      if (valid)
        use (sample[k], place);
    }
  }
  __syncthreads ();
}

/* Returns the byte for a column or row of a tile: x, counted from where the first of 32 or 64 windows of `size` begins.
 * Windows then have `kept` columns or rows. Those outside of all windows get 255. */
__device__ __forceinline__ unsigned
window_byte (int x, int size, int kept)
{
  return 128 + (unsigned) (x < 0 ? 127 : x < kept ? x : min (max (x - (size - kept), kept - 1), 127));
}

/* Writes a tile's codes, then of its sorted samples the bytes of row and column, and the numbers. LAST: bits that are
 * left behind the first pass, or, of packed colours, of the second one. */
template<int LAST, bool PACKED> __global__ void __launch_bounds__ (1024)
median_sort_kernel (const __grid_constant__ Launch launch, const __grid_constant__ MedianTiles tiles,
    const __grid_constant__ CfMedianWindow window)
{
  extern __shared__ __align__ (16) uint8_t sort_memory[];
  const int n = tiles.n, warps = (int) blockDim.x / 32, warp = (int) threadIdx.x / 32;
  unsigned *sums = (unsigned *) sort_memory, *counts = sums + 32;
  uint16_t *first = (uint16_t *) (counts + max (PACKED ? 256 * (warps + 1) : 0, 1 << first_bits));
  uint8_t *high = (uint8_t *) (first + n), *middle = high + n, *low = PACKED ? middle + n : middle;
  uint16_t *second = (uint16_t *) low; /* and as many bytes behind the low ones; n is a multiple of 4 */
  const uint8_t *next = PACKED ? middle : high; /* the bytes above the low ones */
  const Plane &plane = plane_of_block (launch, (int) blockIdx.x);
  const int block = (int) blockIdx.x - plane.first_block, index = (int) (&plane - launch.plane);
  const int x0 = block % plane.blocks_x * 32 * tiles.strips - tiles.left;
  const int y0 = block / plane.blocks_x * tiles.rows - tiles.above;
  uint8_t *to = tiles.memory + (long long) blockIdx.x * tiles.bytes;
  const unsigned by_bucket = 0xffffffffu / (unsigned) tiles.bucket + 1; /* for quotients of numbers below 65536 */
  const auto low_bits = [=] (int i) { return low[i] | (next[i] & ((1 << (first_bits - 8)) - 1)) << 8; };
  const auto next_bits = [=] (int i) { return next[i] >> (first_bits - 8); };

  griddep_wait ();
  for (int y = warp; y < tiles.height; y += warps)
#pragma unroll 4
    for (int x = (int) threadIdx.x & 31; x < tiles.pitch; x += 32) {
      const int i = y * tiles.pitch + x;
      const unsigned value = load_value (launch, index, PACKED ? tiles.n_primary : 0,
          min (max (x0 + x, 0), plane.width - 1), min (max (y0 + y, 0), plane.height - 1));

      low[i] = (uint8_t) value;
      if (PACKED)
        middle[i] = (uint8_t) (value >> 8);
      high[i] = (uint8_t) (value >> (PACKED ? 16 : 8));
    }
  if constexpr (LAST == 0) {
    second = first;
    sort_first (n, counts, sums, low_bits, [=] (int i, unsigned place) {
      high[i] = (uint8_t) __umulhi (place, by_bucket);
      second[place] = (uint16_t) i;
    });
  } else {
    sort_first (n, counts, sums, low_bits, [=] (int i, unsigned place) { first[place] = (uint16_t) i; });
    if constexpr (PACKED) {
      sort_next<16 - first_bits> (n, first, counts, sums, next_bits,
          [=] (int i, unsigned place) { second[place] = (uint16_t) i; });
      first = second;
      second = (uint16_t *) high - n;
    }
    const auto last_bits = [=] (int i) { return high[i] >> (PACKED ? 0 : first_bits - 8); };

    sort_next<LAST> (n, first, counts, sums, last_bits, [=] (int i, unsigned place) {
      high[i] = (uint8_t) __umulhi (place, by_bucket);
      second[place] = (uint16_t) i;
    });
  }
  for (int i = (int) threadIdx.x; i < n / 4; i += (int) blockDim.x)
    ((unsigned *) to)[i] = ((unsigned *) high)[i];
  for (int i = (int) threadIdx.x; i < ((n + 7) & ~7); i += (int) blockDim.x) { /* whole vectors */
    const int sample = i < n ? second[i] : 0, y = (int) __umulhi ((unsigned) sample, tiles.by_pitch);
    const int x = sample - y * tiles.pitch - (tiles.left - window.w / 2);

    ((uint16_t *) (to + tiles.places))[i] = (uint16_t) (window_byte (y, window.h, min (window.h, tiles.rows)) << 8
        | window_byte (x, window.w, min (window.w, 32 * tiles.strips)));
    ((uint16_t *) (to + tiles.list))[i] = (uint16_t) sample;
  }
}

/* The same for samples of few bits, without a list of numbers: each value is counted as it is read. Writes the samples
 * themselves in the place of their numbers. */
__global__ void __launch_bounds__ (1024)
median_count_kernel (const __grid_constant__ Launch launch, const __grid_constant__ MedianTiles tiles,
    const __grid_constant__ CfMedianWindow window)
{
  extern __shared__ __align__ (16) uint8_t sort_memory[];
  const int n = tiles.n, warps = (int) blockDim.x / 32, warp = (int) threadIdx.x / 32, lane = (int) threadIdx.x & 31;
  unsigned *sums = (unsigned *) sort_memory, *counts = sums + 32, *sorted = counts + (1 << few_bits);
  uint16_t *values = (uint16_t *) (sorted + n); /* then codes; n is a multiple of 4 */
  const Plane &plane = plane_of_block (launch, (int) blockIdx.x);
  const int block = (int) blockIdx.x - plane.first_block;
  const int x0 = block % plane.blocks_x * 32 * tiles.strips - tiles.left;
  const int y0 = block / plane.blocks_x * tiles.rows - tiles.above;
  uint8_t *to = tiles.memory + (long long) blockIdx.x * tiles.bytes;
  const unsigned by_bucket = 0xffffffffu / (unsigned) tiles.bucket + 1;

  clear (counts, 1 << few_bits);
  griddep_wait ();
  for (int y = warp; y < tiles.height; y += warps) {
    const uint8_t *row = plane.in + min (max (y0 + y, 0), plane.height - 1) * plane.in_pitch;

#pragma unroll 2
    for (int x = lane; x < tiles.pitch; x += 32) {
      const unsigned value = load_sample (plane, row, min (max (x0 + x, 0), plane.width - 1));

      values[y * tiles.pitch + x] = (uint16_t) value;
      atomicAdd (counts + value, 1u);
    }
  }
  sum_counts (counts, 1 << few_bits, sums);
  for (int y = warp; y < tiles.height; y += warps) {
    const unsigned row = window_byte (y, window.h, min (window.h, tiles.rows)) << 8;

#pragma unroll 2
    for (int x = lane; x < tiles.pitch; x += 32) {
      const unsigned value = values[y * tiles.pitch + x], place = atomicAdd (counts + value, 1u);

      sorted[place] = value << 16 | row
          | window_byte (x - (tiles.left - window.w / 2), window.w, min (window.w, 32 * tiles.strips));
      values[y * tiles.pitch + x] = (uint16_t) __umulhi (place, by_bucket);
    }
  }
  __syncthreads ();
  for (int i = (int) threadIdx.x; i < (n + 7) / 8 * 2; i += (int) blockDim.x) { /* whole vectors of 8 */
    const uint4 four = i < n / 4 ? ((const uint4 *) sorted)[i] : make_uint4 (~0u, ~0u, ~0u, ~0u);

    ((uint2 *) (to + tiles.places))[i] = make_uint2 (__byte_perm (four.x, four.y, 0x5410),
        __byte_perm (four.z, four.w, 0x5410));
    ((uint2 *) (to + tiles.list))[i] = make_uint2 (__byte_perm (four.x, four.y, 0x7632),
        __byte_perm (four.z, four.w, 0x7632));
    if (i < n / 4)
      ((unsigned *) to)[i] = __byte_perm (((const uint2 *) values)[i].x, ((const uint2 *) values)[i].y, 0x6420);
  }
}

/* ---- searching ---------------------------------------------------------- */

constexpr int search_rows = 8; /* of outputs, by a block */

/* Returns the number of the sample in the window that `equal` others come before. places: of samples in their order,
 * from a multiple of eight on; origin and size: of the window, as four bytes. */
__device__ __forceinline__ unsigned
find_sample (const uint4 *places, unsigned origin, unsigned size, int equal)
{
  for (int i = 0;; i++) {
    const uint4 eight = places[i];
    const unsigned word[4] = { eight.w, eight.z, eight.y, eight.x };
    unsigned inside = 0; /* the first of two: bits 7 to 10; the second: bits 23 to 26 */

#pragma unroll
    for (int k = 0; k < 4; k++) {
      const unsigned from = word[k] - origin, behind = (from | 0x80808080u) - size, both = from & ~behind;

      inside = 2 * inside + (both & both >> 8 & 0x00800080u);
    }
    const int n = __popc (inside);

    if (equal < n) {
      unsigned k = 0;

#pragma unroll
      for (unsigned j = 0; j < 8; j++) {
        const bool is = inside >> (7 + j / 2 + 16 * (j & 1)) & 1;

        k = is && equal == 0 ? j : k;
        equal -= is;
      }
      return 8 * (unsigned) i + k;
    }
    equal -= n;
  }
}

/* A block of 32 x 8 threads has 8 rows of a tile's outputs; a thread has one of each strip. */
template<bool VALUES> __global__ void __launch_bounds__ (32 * search_rows)
median_search_kernel (const __grid_constant__ Launch launch, const __grid_constant__ MedianTiles tiles,
    const __grid_constant__ CfMedianWindow window, int slices)
{
  const Plane &plane = plane_of_block (launch, (int) blockIdx.x);
  const int index = (int) (&plane - launch.plane), block = (int) blockIdx.x - plane.first_block;
  const int tile = block / slices, y = (int) (block % slices * search_rows + threadIdx.y);
  const int x0 = tile % plane.blocks_x * 32 * tiles.strips, y0 = tile / plane.blocks_x * tiles.rows;
  const uint8_t *memory = tiles.memory + (long long) (blockIdx.x / (unsigned) slices) * tiles.bytes;
  const uint16_t *found = (const uint16_t *) (memory + tiles.results) + y * 32 * tiles.strips;
  const unsigned size = (unsigned) (min (window.h, tiles.rows) << 8 | min (window.w, 32 * tiles.strips)) * 0x10001u;

  griddep_wait ();
  if (y >= tiles.rows || y0 + y >= plane.height)
    return;
  for (int x = (int) threadIdx.x; x < 32 * tiles.strips && x0 + x < plane.width; x += 32) {
    const unsigned first = found[x] / 256 * (unsigned) tiles.bucket, equal = found[x] & 255;
    unsigned result = ((const uint16_t *) (memory + tiles.list))[first + find_sample (
        (const uint4 *) (memory + tiles.places + 2 * first), ((unsigned) y << 8 | (unsigned) x) * 0x10001u, size,
        (int) equal)];

    if (!VALUES) {
      const int row = (int) __umulhi (result, tiles.by_pitch), column = (int) result - row * tiles.pitch;

      result = load_value (launch, index, tiles.n_primary, min (max (x0 - tiles.left + column, 0), plane.width - 1),
          min (max (y0 - tiles.above + row, 0), plane.height - 1));
    }
    store_result (launch, index, tiles.n_primary, x0 + x, y0 + y,
        load_value (launch, index, tiles.n_primary, x0 + x, y0 + y), result);
  }
}

/* ---- launch ------------------------------------------------------------- */

static void
deal_tiles (Launch *launch, MedianTiles *tiles, int blocks_per_tile)
{
  launch->blocks = blocks_per_tile * median_count_tiles (launch->plane, launch->n, tiles);
  for (int i = 0; i < launch->n; i++) {
    launch->plane[i].first_block = blocks_per_tile * tiles->first[i];
    launch->plane[i].blocks_x = (launch->plane[i].width + 32 * tiles->strips - 1) / (32 * tiles->strips);
  }
}

static const void *
sort_kernel (int bits, bool values)
{
  return values    ? (const void *) median_count_kernel
      : bits == 8  ? (const void *) median_sort_kernel<8, true>
      : bits == 10 ? (const void *) median_sort_kernel<0, false>
      : bits == 12 ? (const void *) median_sort_kernel<12 - first_bits, false>
                   : (const void *) median_sort_kernel<16 - first_bits, false>;
}

static const void *const search_kernels[] = { (const void *) median_search_kernel<false>,
  (const void *) median_search_kernel<true> };

CfCode
median_launch_sort (Launch *launch, const CfMedianWindow &window, MedianTiles *tiles, bool pdl, cudaStream_t stream,
    CfStatus *status)
{
  void *arguments[] = { launch, tiles, const_cast<CfMedianWindow *> (&window) };

  deal_tiles (launch, tiles, 1);
  return launch->blocks == 0 ? CF_OK : launch_kernel ("median: sort",
      sort_kernel (launch->plane[0].bits, tiles->values), launch->blocks, 32 * (unsigned) sort_warps (*tiles),
      arguments, (size_t) sort_shared (*tiles), pdl, stream, status);
}

CfCode
median_launch_search (Launch *launch, const CfMedianWindow &window, MedianTiles *tiles, bool pdl, cudaStream_t stream,
    CfStatus *status)
{
  int slices = (tiles->rows + search_rows - 1) / search_rows;
  void *arguments[] = { launch, tiles, const_cast<CfMedianWindow *> (&window), &slices };

  deal_tiles (launch, tiles, slices);
  return launch->blocks == 0 ? CF_OK : launch_kernel ("median: search", search_kernels[tiles->values], launch->blocks,
      dim3 (32, search_rows), arguments, 0, pdl, stream, status);
}

CfCode
median_sort_init (int max_shared, CfStatus *status)
{
  CfCode code = load_kernels ({ search_kernels[0], search_kernels[1] }, median_loading, status);

  for (int bits = 8; code == CF_OK && bits <= 16; bits += 2)
    code = cf_cuda_check (cudaFuncSetAttribute (sort_kernel (bits, bits == 16),
        cudaFuncAttributeMaxDynamicSharedMemorySize, max_shared), median_loading, status);
  return code;
}

} // namespace cf
