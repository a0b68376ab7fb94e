/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment_pixels.cu: steps 11 and 12 of the segmentation: each pixel's region and
 * what is counted of it, a table of what to paint, and the picture. */
#include "segment_list.cuh"
#include "segment_samples.cuh"

#include <algorithm>

namespace cf {

namespace {

constexpr int most_warps = 16;
constexpr int most = 4; /* pixels a side of a lane's square */

/* Squares below each other that a lane makes. */
__host__ __device__ constexpr int
rows_of (int size)
{
  return size <= 2 ? 4 : 2;
}

/* A square of pixels inside one cell, a lane's; of a cell wider than `most` it is a part. */
struct Square {
  int x, y, width, height; /* none inside the picture: width or height is 0 or less */
  int column, row;         /* the cell */
  int rest_x, rest_y;      /* where it begins inside the cell */
};

/* SIZE: the sides of a square; below `most` the cell's as well. */
template<int SIZE> __device__ __forceinline__ Square
square_at (const SgWork &work, int across, int down)
{
  const int size = SIZE < most ? SIZE : work.size;
  const int each = SIZE < most ? 1 : (size + most - 1) / most; /* squares a side of a cell */
  Square s;

  s.column = SIZE < most ? across : across / each;
  s.row = SIZE < most ? down : down / each;
  s.rest_x = (across - s.column * each) * most;
  s.rest_y = (down - s.row * each) * most;
  s.x = s.column * size + s.rest_x;
  s.y = s.row * size + s.rest_y;
  s.width = min (min (most, size - s.rest_x), work.width - s.x);
  s.height = min (min (most, size - s.rest_y), work.height - s.y);
  return s;
}

/* A cell's region, and whether one beside it has another: never where a cell is a pixel. */
template<int SIZE> __device__ __forceinline__ unsigned
label_of (const SgWork &work, const Square &at, bool *mixed)
{
  const int c = at.row * work.columns + at.column;
  const unsigned own = work.after.label[c];

  *mixed = false;
  if (SIZE == 1)
    return own;
  const unsigned left = work.after.label[at.column > 0 ? c - 1 : c];
  const unsigned right = work.after.label[at.column + 1 < work.columns ? c + 1 : c];
  const unsigned above = work.after.label[at.row > 0 ? c - work.columns : c];
  const unsigned below = work.after.label[at.row + 1 < work.rows ? c + work.columns : c];

  *mixed = left != own || right != own || above != own || below != own;
  return own;
}

/* What is counted of a region. Additions to one place in memory wait for each other, and all
 * blocks have some to a large region's: so a block adds up its own first. Coordinates
 * are from the block's first pixel. */
constexpr int places = 64;
struct Place {
  unsigned label, n, n_chroma, sum[3], sum_x, sum_y, left, right, top, bottom;
};

/* How much of it is counted: nothing, what the means need, all. */
enum Count { NOTHING, MEANS, ALL };

__device__ __forceinline__ Place
no_place ()
{
  return Place { sg_none, 0, 0, { 0, 0, 0 }, 0, 0, 0xffffffffu, 0, 0xffffffffu, 0 };
}

template<int COUNT> __device__ __forceinline__ void
add_to_region (const SgWork &work, const Square &first, const Place &s)
{
  CfSegmentRegion *r = work.found + s.label;

  atomicAdd (&r->n[0], s.n);
  atomicAdd ((unsigned long long *) &r->sum[0], (unsigned long long) s.sum[0]);
  if (work.n_colors > 1 && s.n_chroma) {
    atomicAdd (&r->n[1], s.n_chroma);
    atomicAdd ((unsigned long long *) &r->sum[1], (unsigned long long) s.sum[1]);
    atomicAdd ((unsigned long long *) &r->sum[2], (unsigned long long) s.sum[2]);
  }
  if (COUNT != ALL)
    return;
  atomicAdd ((unsigned long long *) &r->sum_x, s.sum_x + (unsigned long long) s.n * (unsigned) first.x);
  atomicAdd ((unsigned long long *) &r->sum_y, s.sum_y + (unsigned long long) s.n * (unsigned) first.y);
  atomicMin (&r->left, s.left + (unsigned) first.x);
  atomicMax (&r->right, s.right + (unsigned) first.x);
  atomicMin (&r->top, s.top + (unsigned) first.y);
  atomicMax (&r->bottom, s.bottom + (unsigned) first.y);
}

template<int COUNT> __device__ __forceinline__ void
add_to_place (const SgWork &work, const Square &first, Place *place, const Place &s)
{
  Place *to = place + s.label % places;
  const unsigned old = work.collect ? atomicCAS (&to->label, sg_none, s.label) : s.label + 1;

  if (old != sg_none && old != s.label) {
    add_to_region<COUNT> (work, first, s);
    return;
  }
  atomicAdd (&to->n, s.n);
  atomicAdd (&to->n_chroma, s.n_chroma);
#pragma unroll
  for (int k = 0; k < 3; k++)
    atomicAdd (&to->sum[k], s.sum[k]);
  if (COUNT != ALL)
    return;
  atomicAdd (&to->sum_x, s.sum_x);
  atomicAdd (&to->sum_y, s.sum_y);
  atomicMin (&to->left, s.left);
  atomicMax (&to->right, s.right);
  atomicMin (&to->top, s.top);
  atomicMax (&to->bottom, s.bottom);
}

/* What all lanes have, where `mine`; of a warp's pixels neither count takes more than 16 bits. */
template<int COUNT> __device__ __forceinline__ Place
sum_of_lanes (const SgWork &work, bool mine, unsigned label, const Place &s)
{
  const unsigned counts = sg_reduce (~0u, mine ? s.n | s.n_chroma << 16 : 0);
  Place all = no_place ();

  all.label = label;
  all.n = counts & 0xffff;
  all.n_chroma = counts >> 16;
  all.sum[0] = sg_reduce (~0u, mine ? s.sum[0] : 0);
  if (work.n_colors > 1) {
    all.sum[1] = sg_reduce (~0u, mine ? s.sum[1] : 0);
    all.sum[2] = sg_reduce (~0u, mine ? s.sum[2] : 0);
  }
  if (COUNT == ALL) {
    all.sum_x = sg_reduce (~0u, mine ? s.sum_x : 0);
    all.sum_y = sg_reduce (~0u, mine ? s.sum_y : 0);
    all.left = sg_reduce_min (~0u, mine ? s.left : 0xffffffffu);
    all.right = sg_reduce_max (~0u, mine ? s.right : 0);
    all.top = sg_reduce_min (~0u, mine ? s.top : 0xffffffffu);
    all.bottom = sg_reduce_max (~0u, mine ? s.bottom : 0);
  }
  return all;
}

/* The lanes that have something add it to the block's sums: together those of the first regions
 * that are met, of which most warps have no more, then each by itself. */
template<int COUNT> __device__ __forceinline__ void
flush (const SgWork &work, const Square &first, Place *place, bool has, const Place &s)
{
  constexpr int together = 2;
  unsigned rest = __ballot_sync (~0u, has);

  for (int i = 0; i < together && rest && work.collect; i++) {
    const int leader = __ffs ((int) rest) - 1;
    const unsigned label = __shfl_sync (~0u, s.label, leader);
    const bool mine = has && s.label == label;
    const Place all = sum_of_lanes<COUNT> (work, mine, label, s);

    if ((threadIdx.x & 31) == (unsigned) leader)
      add_to_place<COUNT> (work, first, place, all);
    rest &= ~__ballot_sync (~0u, mine);
  }
  if (rest >> (threadIdx.x & 31) & 1)
    add_to_place<COUNT> (work, first, place, s);
}

__device__ __forceinline__ bool
has_chroma (const SgWork &work, int x, int y)
{
  const SgComponent &c = work.component[1];

  return work.n_colors > 1 && (x & ((1 << c.w_sub) - 1)) == 0 && (y & ((1 << c.h_sub) - 1)) == 0;
}

__device__ __forceinline__ void
add_samples (const SgWork &work, int x, int y, Place *s)
{
  s->sum[0] += sg_sample (work, work.component[0], x, y);
  if (has_chroma (work, x, y)) {
    s->n_chroma++;
    s->sum[1] += sg_sample (work, work.component[1], x, y);
    s->sum[2] += sg_sample (work, work.component[2], x, y);
  }
}

/* A square of one region, or what of it is inside the picture. */
template<int SIZE> __device__ __forceinline__ void
sum_square (const SgWork &work, const Square &at, Place *s)
{
  const bool whole = at.width == SIZE && at.height == SIZE;

  s->n = (unsigned) (at.width * at.height);
  if (whole && (SIZE == 2 || SIZE == 4) && work.layout) {
    sg_sum_square<SIZE == 2 ? 2 : 4> (work, at.x, at.y, s->sum);
    s->n_chroma = work.n_colors > 1 ? sg_square_chroma (work, SIZE * SIZE) : 0;
  } else if (whole) {
#pragma unroll
    for (int j = 0; j < SIZE; j++)
#pragma unroll
      for (int i = 0; i < SIZE; i++)
        add_samples (work, at.x + i, at.y + j, s);
  } else {
    for (int j = 0; j < at.height; j++)
      for (int i = 0; i < at.width; i++)
        add_samples (work, at.x + i, at.y + j, s);
  }
}

/* To `s` a square of the same region whose samples are in `t`. */
template<int COUNT> __device__ __forceinline__ void
add_square (const Square &first, const Square &at, const Place &t, Place *s)
{
  const unsigned w = (unsigned) at.width, h = (unsigned) at.height;
  const unsigned left = (unsigned) (at.x - first.x), top = (unsigned) (at.y - first.y);

  s->label = t.label;
  s->n += t.n;
  s->n_chroma += t.n_chroma;
#pragma unroll
  for (int k = 0; k < 3; k++)
    s->sum[k] += t.sum[k];
  if (COUNT != ALL)
    return;
  s->sum_x += h * (w * left + w * (w - 1) / 2);
  s->sum_y += w * (h * top + h * (h - 1) / 2);
  s->left = min (s->left, left);
  s->right = max (s->right, left + w - 1);
  s->top = min (s->top, top);
  s->bottom = max (s->bottom, top + h - 1);
}

/* The block's squares that have other regions beside their cells. Their pixels are gone
 * through by all threads: few lanes of a warp have one, but most warps have some. */
template<int SIZE> struct Mixed {
  unsigned n;
  uint16_t square[32 * most_warps * rows_of (SIZE)]; /* across | down << 5, from the block's first */
};

/* Step 11: the pixel's own cell's region, or one beside it that is nearer in colour. (i, j):
 * where in the cell it is. */
template<int SIZE> __device__ __forceinline__ unsigned
pixel_label (const SgWork &work, const Square &at, int i, int j, unsigned color, unsigned *own)
{
  const int size = SIZE < most ? SIZE : work.size, c = at.row * work.columns + at.column;
  const int west = 2 * i + 1 < size && at.column > 0, east = 2 * i + 1 > size && at.column + 1 < work.columns;
  const int north = 2 * j + 1 < size && at.row > 0, south = 2 * j + 1 > size && at.row + 1 < work.rows;
  const unsigned here = work.after.label[c], across = work.after.label[c + east - west];
  const unsigned along = work.after.label[c + (south - north) * work.columns];
  const unsigned d = sg_distance (color, work.after.mean[here]);
  const unsigned e = sg_distance (color, work.after.mean[across]), f = sg_distance (color, work.after.mean[along]);

  *own = here;
  return f < min (d, e) ? along : e < d ? across : here;
}

/* A pixel's samples, and its colour. */
__device__ __forceinline__ unsigned
pixel_color (const SgWork &work, int x, int y, unsigned (&sample)[3])
{
  sample[0] = sg_sample (work, work.component[0], x, y);
  sample[1] = work.n_colors > 1 ? sg_sample (work, work.component[1], x, y) : 0;
  sample[2] = work.n_colors > 1 ? sg_sample (work, work.component[2], x, y) : 0;
  return sg_color (work, sample[0], sample[1], sample[2]);
}

template<int SIZE, int COUNT> __device__ __forceinline__ void
refine_squares (const SgWork &work, const Square &first, int across, int down, const Mixed<SIZE> &mixed, Place *place)
{
  constexpr unsigned each = SIZE * SIZE;

  for (unsigned base = threadIdx.x & ~31u; base < mixed.n * each; base += blockDim.x) {
    const unsigned k = base + (threadIdx.x & 31), number = mixed.square[min (k / each, mixed.n - 1)];
    const Square at = square_at<SIZE> (work, across + (int) (number & 31), down + (int) (number >> 5));
    const int i = (int) (k % each % SIZE), j = (int) (k % each / SIZE), x = at.x + i, y = at.y + j;
    const bool has = k < mixed.n * each && i < at.width && j < at.height;
    Place one = no_place ();

    if (has) {
      unsigned sample[3], own;

      one.label = pixel_label<SIZE> (work, at, at.rest_x + i, at.rest_y + j, pixel_color (work, x, y, sample), &own);
      if (one.label != own)
        work.map[(long long) y * work.width + x] = (uint16_t) one.label;
      one.n = 1;
      one.n_chroma = has_chroma (work, x, y);
      one.sum[0] = sample[0];
      one.sum[1] = one.n_chroma ? sample[1] : 0;
      one.sum[2] = one.n_chroma ? sample[2] : 0;
      one.sum_x = one.left = one.right = (unsigned) (x - first.x);
      one.sum_y = one.top = one.bottom = (unsigned) (y - first.y);
    }
    if (COUNT)
      flush<COUNT> (work, first, place, has, one);
  }
}

/* `label` to all of the square. */
template<int SIZE> __device__ __forceinline__ void
store_square (const SgWork &work, const Square &at, unsigned label)
{
  uint16_t *to = work.map + (long long) at.y * work.width + at.x;

  const bool aligned = (SIZE == 2 || SIZE == 4) && work.size % SIZE == 0 && work.width % SIZE == 0;

  if (aligned && at.width == SIZE && at.height == SIZE) {
#pragma unroll
    for (int j = 0; j < SIZE; j++, to += work.width)
      if (SIZE == 2)
        *(unsigned *) to = label * 0x10001u;
      else
        *(uint2 *) to = make_uint2 (label * 0x10001u, label * 0x10001u);
    return;
  }
  for (int j = 0; j < at.height; j++, to += work.width)
    for (int i = 0; i < at.width; i++)
      to[i] = (uint16_t) label;
}

/* The warp's squares that are mixed, a bit a lane of each row, go to the block's list. */
template<int SIZE> __device__ __forceinline__ void
list_squares (Mixed<SIZE> *mixed, int row, const unsigned (&later)[rows_of (SIZE)])
{
  const unsigned lane = threadIdx.x & 31, below = (1u << lane) - 1;
  unsigned all = 0, to = 0;

#pragma unroll
  for (int i = 0; i < rows_of (SIZE); i++)
    all += (unsigned) __popc (later[i]);
  if (!all)
    return;
  if (lane == 0)
    to = atomicAdd (&mixed->n, all);
  to = __shfl_sync (~0u, to, 0);
#pragma unroll
  for (int i = 0; i < rows_of (SIZE); i++) {
    if (later[i] >> lane & 1)
      mixed->square[to + (unsigned) __popc (later[i] & below)] = (uint16_t) (lane | (unsigned) (row + i) << 5);
    to += (unsigned) __popc (later[i]);
  }
}

/* A warp makes 32 squares in each of some rows, and a lane counts as long as it stays in a
 * region. SIZE: the sides of a square. */
template<int SIZE, int COUNT> __global__ void __launch_bounds__ (32 * most_warps, 2)
segment_pixels (const __grid_constant__ SgWork work)
{
  constexpr int rows = rows_of (SIZE);
  const int across = (int) (blockIdx.x * 32), down = (int) (blockIdx.y * (blockDim.x / 32)) * rows;
  const int lane = (int) (threadIdx.x % 32), row = (int) (threadIdx.x / 32) * rows;
  const Square first = square_at<SIZE> (work, across, down);
  __shared__ Place place[places];
  __shared__ Mixed<SIZE> mixed;
  unsigned later[rows];
  bool has[rows], beside[rows];
  Square at[rows];
  Place t[rows], s = no_place ();

  if (threadIdx.x == 0)
    mixed.n = 0;
  for (unsigned i = threadIdx.x; COUNT && i < places; i += blockDim.x)
    place[i] = no_place ();
#pragma unroll
  for (int i = 0; i < rows; i++) { /* all loads go before the first store */
    at[i] = square_at<SIZE> (work, across + lane, down + row + i);
    has[i] = at[i].width > 0 && at[i].height > 0;
    beside[i] = false;
    t[i] = no_place ();
    if (has[i])
      t[i].label = label_of<SIZE> (work, at[i], &beside[i]);
    if (COUNT && has[i])
      sum_square<SIZE> (work, at[i], &t[i]);
  }
  __syncthreads ();
#pragma unroll
  for (int i = 0; i < rows; i++) {
    if (has[i])
      store_square<SIZE> (work, at[i], t[i].label);
    later[i] = __ballot_sync (~0u, beside[i]);
    if (!COUNT || !has[i] || beside[i])
      continue;
    if (s.n > 0 && t[i].label != s.label) {
      add_to_place<COUNT> (work, first, place, s);
      s = no_place ();
    }
    add_square<COUNT> (first, at[i], t[i], &s);
  }
  if (SIZE > 1)
    list_squares<SIZE> (&mixed, row, later);
  if (COUNT)
    flush<COUNT> (work, first, place, s.n > 0, s);
  __syncthreads ();
  if (SIZE > 1) {
    refine_squares<SIZE, COUNT> (work, first, across, down, mixed, place);
    __syncthreads ();
  }
  for (unsigned i = threadIdx.x; COUNT && i < places; i += blockDim.x)
    if (place[i].label != sg_none)
      add_to_region<COUNT> (work, first, place[i]);
}

/* ---- the table ---------------------------------------------------------- */

__device__ unsigned
label_color (const SgWork &work, unsigned id)
{
  const unsigned h = id * 2654435769u;
  const unsigned r = 64 + 3 * (h >> 24) / 4, g = 64 + 3 * (h >> 16 & 255) / 4, b = 64 + 3 * (h >> 8 & 255) / 4;

  if (work.rgb)
    return r | g << 8 | b << 16;
  return (19595 * r + 38470 * g + 7471 * b + 32768) >> 16
      | (unsigned) ((-11059 * (int) r - 21709 * (int) g + 32768 * (int) b + 8421375) >> 16) << 8
      | (unsigned) ((32768 * (int) r - 27439 * (int) g - 5329 * (int) b + 8421375) >> 16) << 16;
}

/* A thread a region: what is painted of it, and what is told. The counters are cleared
 * for the next frame. */
__global__ void
segment_table (const __grid_constant__ SgWork work)
{
  const unsigned n = work.after.scalars[0], first = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned *control = (unsigned *) work.control;

  for (unsigned i = first; i < n; i += gridDim.x * blockDim.x) {
    CfSegmentRegion r = work.found[i];
    const unsigned color = label_color (work, r.id);
    unsigned word = 0;

    r.n[2] = r.n[1]; /* counted once */
    for (int k = 0; k < work.n_colors; k++) {
      const unsigned long long count = r.n[k] ? r.n[k] : 1;
      const unsigned sample = work.output == CF_SEGMENT_LABELS ? (color >> 8 * k & 255) << (work.bits - 8)
          : work.output == CF_SEGMENT_MEAN ? (unsigned) ((2 * r.sum[k] + count) / (2 * count)) : 0;

      if (work.quick)
        word |= sample << work.place[k];
      else
        work.paint[3 * i + k] = sample;
    }
    if (work.quick)
      work.paint[i] = word;
    if (work.reports)
      work.told[i] = r;
  }
  if (work.reports && first == 0)
    *work.told_n = n;
  for (unsigned i = first; i < sizeof (SgControl) / 4; i += gridDim.x * blockDim.x)
    control[i] = 0;
}

/* ---- the picture -------------------------------------------------------- */

__device__ __forceinline__ bool
is_border (const SgWork &work, int x, int y)
{
  const uint16_t *at = work.map + (long long) y * work.width + x;

  return (x + 1 < work.width && at[1] != at[0]) || (y + 1 < work.height && at[work.width] != at[0]);
}

__device__ __forceinline__ unsigned
load_word (const SgWork &work, const uint8_t *p)
{
  return work.bytes == 1 ? *p : *(const uint16_t *) p;
}

__device__ __forceinline__ void
store_word (const SgWork &work, uint8_t *p, unsigned word)
{
  if (work.bytes == 1)
    *p = (uint8_t) word;
  else
    *(uint16_t *) p = (uint16_t) word;
}

/* A word of component k. copied: as it was; else painted. */
__device__ __forceinline__ unsigned
painted_word (const SgWork &work, int k, bool copied, int x, int y)
{
  const SgComponent &c = work.component[k];
  const int at_x = x << c.w_sub, at_y = y << c.h_sub;

  if (!copied && work.output != CF_SEGMENT_BOUNDARIES)
    return work.paint[3 * work.map[(long long) at_y * work.width + at_x] + k] << work.shift;
  if (!copied && is_border (work, at_x, at_y))
    return (work.color >> 8 * k & 255) << (work.bits - 8 + work.shift);
  return load_word (work, c.in + y * c.in_pitch + (long long) x * c.step);
}

/* Four bytes at once, of regions' colours; x is a multiple of 4 and so is the map's width. */
__device__ __forceinline__ unsigned
painted_bytes (const SgWork &work, int k, int x, int y)
{
  const SgComponent &c = work.component[k];
  const uint16_t *map = work.map + (long long) (y << c.h_sub) * work.width + (x << c.w_sub);
  const unsigned *paint = work.paint + k;
  uint2 label = *(const uint2 *) map;

  if (c.w_sub == 1) {
    const uint2 more = *(const uint2 *) (map + 4);

    label = make_uint2 (__byte_perm (label.x, label.y, 0x5410), __byte_perm (more.x, more.y, 0x5410));
  }
  return paint[3 * (label.x & 0xffff)] | paint[3 * (label.x >> 16)] << 8 | paint[3 * (label.y & 0xffff)] << 16
      | paint[3 * (label.y >> 16)] << 24;
}

/* Where a component's bytes lie side by side, a thread makes four in each of some rows. Words of
 * the picture's right edge go one by one. */
constexpr int paint_rows = 4;

__device__ __forceinline__ void
paint_wide (const SgWork &work, int k, bool copied, int x, int y0)
{
  const SgComponent &c = work.component[k];
  const bool by_words = x + 4 <= c.width && (copied || work.output != CF_SEGMENT_BOUNDARIES);
  const int rows = min (c.height - y0, paint_rows);
  unsigned words[paint_rows];

  if (!by_words) {
    for (int i = 0; i < rows; i++)
      for (int at = x; at < min (x + 4, c.width); at++)
        store_word (work, c.out + (y0 + i) * c.out_pitch + at, painted_word (work, k, copied, at, y0 + i));
    return;
  }
#pragma unroll
  for (int i = 0; i < paint_rows; i++) {
    const int y = min (y0 + i, c.height - 1);

    words[i] = copied ? *(const unsigned *) (c.in + y * c.in_pitch + x) : painted_bytes (work, k, x, y);
  }
#pragma unroll
  for (int i = 0; i < paint_rows; i++)
    if (i < rows)
      *(unsigned *) (c.out + (y0 + i) * c.out_pitch + x) = words[i];
}

/* A block makes 128 x 32 words. */
__global__ void __launch_bounds__ (256)
segment_paint (const __grid_constant__ SgWork work)
{
  const int k = (int) blockIdx.z, lane = (int) (threadIdx.x % 32), warp = (int) (threadIdx.x / 32);
  const SgComponent &c = work.component[k];
  const bool copied = !c.filtered || work.output == CF_SEGMENT_PASSTHROUGH;
  const bool wide = c.wide && work.bytes == 1 && c.w_sub <= 1 && work.width % 8 == 0;
  const int x0 = (int) blockIdx.x * 128, y0 = (int) blockIdx.y * 32 + warp * paint_rows;

  if (wide) {
    if (x0 + 4 * lane < c.width)
      paint_wide (work, k, copied, x0 + 4 * lane, y0);
    return;
  }
  for (int x = x0 + lane; x < min (x0 + 128, c.width); x += 32) {
    unsigned words[paint_rows];

#pragma unroll
    for (int i = 0; i < paint_rows; i++)
      words[i] = painted_word (work, k, copied, x, min (y0 + i, c.height - 1));
#pragma unroll
    for (int i = 0; i < paint_rows; i++)
      if (y0 + i < c.height)
        store_word (work, c.out + (y0 + i) * c.out_pitch + (long long) x * c.step, words[i]);
  }
}

/* ---- the picture where a region's pixel is a word of bytes -------------------- */

constexpr int quick_rows = 4;

/* Four bytes a pixel: a lane makes every 32nd of some, in each of some rows. */
__device__ __forceinline__ void
paint_packed (const SgWork &work, int x0, int y0)
{
  const SgComponent &c = work.component[0];
  const int lane = (int) (threadIdx.x % 32);

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int x = x0 + 32 * i + lane;
    unsigned words[quick_rows];

    if (x >= work.width)
      return;
#pragma unroll
    for (int j = 0; j < quick_rows; j++) {
      const int y = min (y0 + j, work.height - 1);
      const unsigned kept = work.kept ? *(const unsigned *) (work.words + y * c.in_pitch + 4ll * x) & work.kept : 0;

      words[j] = kept | work.paint[work.map[y * (long long) work.width + x]];
    }
#pragma unroll
    for (int j = 0; j < quick_rows; j++)
      if (y0 + j < work.height)
        *(unsigned *) (work.out_words + (y0 + j) * c.out_pitch + 4ll * x) = words[j];
  }
}

/* A row's four pixels: their regions' words. */
__device__ __forceinline__ uint4
painted_words (const SgWork &work, int x, int y)
{
  const uint2 label = *(const uint2 *) (work.map + (long long) y * work.width + x);

  return make_uint4 (work.paint[label.x & 0xffff], work.paint[label.x >> 16], work.paint[label.y & 0xffff],
      work.paint[label.y >> 16]);
}

/* Byte k of each word. */
__device__ __forceinline__ unsigned
bytes_of (const uint4 &words, unsigned k)
{
  const unsigned both = k * 0x11 + 0x40;

  return __byte_perm (__byte_perm (words.x, words.y, both), __byte_perm (words.z, words.w, both), 0x5410);
}

/* Planes of bytes: a lane makes four pixels of each of some rows, and what chroma belongs to them. */
__device__ __forceinline__ void
paint_planes (const SgWork &work, int x, int y0)
{
  const SgComponent *c = work.component;
  uint4 words[quick_rows];

#pragma unroll
  for (int j = 0; j < quick_rows; j++)
    words[j] = painted_words (work, x, min (y0 + j, work.height - 1));
#pragma unroll
  for (int j = 0; j < quick_rows; j++) {
    if (y0 + j >= work.height)
      return;
    *(unsigned *) (c[0].out + (y0 + j) * c[0].out_pitch + x) = bytes_of (words[j], 0);
    if (j % 2 || work.quick == SG_GRAY)
      continue;
    const unsigned both = __byte_perm (words[j].x, words[j].z, 0x6521); /* chroma of one, chroma of the other */
    const long long row = (y0 + j) / 2;

    if (work.quick == SG_SEMI_420) {
      *(unsigned *) (work.out_words + row * c[1].out_pitch + x) = both;
    } else {
      *(uint16_t *) (c[1].out + row * c[1].out_pitch + x / 2) = (uint16_t) __byte_perm (both, 0, 0x4420);
      *(uint16_t *) (c[2].out + row * c[2].out_pitch + x / 2) = (uint16_t) __byte_perm (both, 0, 0x4431);
    }
  }
}

/* A block makes 128 x 32 pixels. */
__global__ void __launch_bounds__ (256)
segment_paint_quick (const __grid_constant__ SgWork work)
{
  const int x0 = (int) blockIdx.x * 128, x = x0 + 4 * (int) (threadIdx.x % 32);
  const int y0 = (int) (blockIdx.y * 8 + threadIdx.x / 32) * quick_rows;

  if (y0 >= work.height)
    return;
  if (work.quick == SG_PACKED)
    paint_packed (work, x0, y0);
  else if (x < work.width)
    paint_planes (work, x, y0);
}

using Kernel = void (*) (const SgWork);

Kernel
pixels_kernel (int size, int count)
{
  static const Kernel kernels[most][3] = {
    { segment_pixels<1, NOTHING>, segment_pixels<1, MEANS>, segment_pixels<1, ALL> },
    { segment_pixels<2, NOTHING>, segment_pixels<2, MEANS>, segment_pixels<2, ALL> },
    { segment_pixels<3, NOTHING>, segment_pixels<3, MEANS>, segment_pixels<3, ALL> },
    { segment_pixels<4, NOTHING>, segment_pixels<4, MEANS>, segment_pixels<4, ALL> },
  };

  return kernels[std::min (size, most) - 1][count];
}

} // namespace

CfCode
segment_launch_pixels (const SgWork &work, cudaStream_t stream, CfStatus *status)
{
  const unsigned each = (unsigned) (work.size + most - 1) / most;
  const unsigned warps = (unsigned) work.warps, rows = warps * (unsigned) rows_of (std::min (work.size, most));
  const dim3 squares (((unsigned) work.columns * each + 31) / 32, ((unsigned) work.rows * each + rows - 1) / rows);
  const dim3 grid ((unsigned) (work.width + 127) / 128, (unsigned) (work.height + 31) / 32,
      work.quick ? 1 : (unsigned) work.n_components);
  const int count = work.reports ? ALL : work.output == CF_SEGMENT_MEAN ? MEANS : NOTHING;
  CfCode code;

  pixels_kernel (work.size, count)<<<squares, 32 * warps, 0, stream>>> (work);
  code = cf_cuda_launched ("segment_pixels", status);
  if (code != CF_OK)
    return code;
  segment_table<<<32, 128, 0, stream>>> (work);
  code = cf_cuda_launched ("segment_table", status);
  if (code != CF_OK)
    return code;
  (work.quick ? segment_paint_quick : segment_paint)<<<grid, 256, 0, stream>>> (work);
  return cf_cuda_launched ("segment_paint", status);
}

CfCode
segment_init_pixels (CfStatus *status)
{
  CfCode code = segment_load ({ (const void *) segment_table, (const void *) segment_paint,
      (const void *) segment_paint_quick }, status);

  for (int size = 1; code == CF_OK && size <= most; size++)
    for (int count = NOTHING; code == CF_OK && count <= ALL; count++)
      code = segment_load ({ (const void *) pixels_kernel (size, count) }, status);
  return code;
}

} // namespace cf
