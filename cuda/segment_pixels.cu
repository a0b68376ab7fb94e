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
  return size <= 2 ? 2 : 1;
}

/* A square of pixels inside one cell, a lane's; of a cell wider than `most` it is a part. */
struct Square {
  int x, y, width, height; /* none inside the picture: width or height is 0 or less */
  int column, row;         /* the cell */
  int rest_x, rest_y;      /* where it begins inside the cell */
};

__device__ __forceinline__ Square
square_at (const SgWork &work, int across, int down)
{
  const int each = (work.size + most - 1) / most; /* squares a side of a cell */
  Square s;

  s.column = across / each;
  s.row = down / each;
  s.rest_x = (across - s.column * each) * most;
  s.rest_y = (down - s.row * each) * most;
  s.x = s.column * work.size + s.rest_x;
  s.y = s.row * work.size + s.rest_y;
  s.width = min (min (most, work.size - s.rest_x), work.width - s.x);
  s.height = min (min (most, work.size - s.rest_y), work.height - s.y);
  return s;
}

/* The regions of a cell and of those around it; its own where there is none, and where
 * a cell is a pixel. */
struct Labels {
  unsigned own, left, right, above, below;

  __device__ __forceinline__ bool
  mixed () const
  {
    return left != own || right != own || above != own || below != own;
  }
};

__device__ __forceinline__ Labels
labels_about (const SgWork &work, int column, int row)
{
  const uint16_t *at = work.after.label + (long long) row * work.columns + column;

  if (work.size == 1)
    return Labels { at[0], at[0], at[0], at[0], at[0] };
  return Labels { at[0], at[column > 0 ? -1 : 0], at[column + 1 < work.columns], at[row > 0 ? -work.columns : 0],
    at[row + 1 < work.rows ? work.columns : 0] };
}

__device__ __forceinline__ unsigned
pixel_color (const SgWork &work, int x, int y)
{
  const unsigned a = sg_sample (work, work.component[0], x, y);

  if (work.n_colors == 1)
    return sg_color (work, a, 0, 0);
  return sg_color (work, a, sg_sample (work, work.component[1], x, y), sg_sample (work, work.component[2], x, y));
}

/* Step 11: the pixel's own cell's region, or one beside it that is nearer in colour. (i, j):
 * where in the cell it is. */
__device__ __forceinline__ unsigned
pixel_label (const SgWork &work, const Labels &l, int x, int y, int i, int j)
{
  const unsigned across = 2 * i + 1 < work.size ? l.left : 2 * i + 1 > work.size ? l.right : l.own;
  const unsigned along = 2 * j + 1 < work.size ? l.above : 2 * j + 1 > work.size ? l.below : l.own;

  if (across == l.own && along == l.own)
    return l.own;
  const unsigned p = pixel_color (work, x, y), own = sg_distance (p, work.after.mean[l.own]);
  const unsigned d = sg_distance (p, work.after.mean[across]), e = sg_distance (p, work.after.mean[along]);

  return e < min (own, d) ? along : d < own ? across : l.own;
}

/* What is counted of a region. Additions to one place in memory wait for each other, and all
 * blocks have some to a large region's: so a block adds up its own first. Coordinates
 * are from the block's first pixel. */
constexpr int places = 64;
struct Place {
  unsigned label, n, n_chroma, sum[3], sum_x, sum_y, left, right, top, bottom;
};

__device__ __forceinline__ Place
no_place ()
{
  return Place { sg_none, 0, 0, { 0, 0, 0 }, 0, 0, 0xffffffffu, 0, 0xffffffffu, 0 };
}

__device__ void
add_to_region (const SgWork &work, const Square &first, const Place &s)
{
  CfSegmentRegion *r = work.found + s.label;

#pragma unroll
  for (int k = 0; k < 3; k++)
    if (k < work.n_colors) {
      atomicAdd ((unsigned long long *) &r->sum[k], (unsigned long long) s.sum[k]);
      atomicAdd (&r->n[k], k == 0 ? s.n : s.n_chroma);
    }
  if (!work.reports)
    return;
  atomicAdd ((unsigned long long *) &r->sum_x, s.sum_x + (unsigned long long) s.n * (unsigned) first.x);
  atomicAdd ((unsigned long long *) &r->sum_y, s.sum_y + (unsigned long long) s.n * (unsigned) first.y);
  atomicMin (&r->left, s.left + (unsigned) first.x);
  atomicMax (&r->right, s.right + (unsigned) first.x);
  atomicMin (&r->top, s.top + (unsigned) first.y);
  atomicMax (&r->bottom, s.bottom + (unsigned) first.y);
}

__device__ void
add_to_place (const SgWork &work, const Square &first, Place *place, const Place &s)
{
  Place *to = place + s.label % places;
  const unsigned old = atomicCAS (&to->label, sg_none, s.label);

  if (old != sg_none && old != s.label) {
    add_to_region (work, first, s);
    return;
  }
  atomicAdd (&to->n, s.n);
  atomicAdd (&to->n_chroma, s.n_chroma);
#pragma unroll
  for (int k = 0; k < 3; k++)
    atomicAdd (&to->sum[k], s.sum[k]);
  if (!work.reports)
    return;
  atomicAdd (&to->sum_x, s.sum_x);
  atomicAdd (&to->sum_y, s.sum_y);
  atomicMin (&to->left, s.left);
  atomicMax (&to->right, s.right);
  atomicMin (&to->top, s.top);
  atomicMax (&to->bottom, s.bottom);
}

/* The lanes that have something add it to the block's sums, those of one region together. */
__device__ void
flush (const SgWork &work, const Square &first, Place *place, bool has, const Place &s)
{
  const unsigned peers = __match_any_sync (~0u, has ? s.label : sg_none);
  Place all = no_place ();

  if (!work.collect && has)
    add_to_region (work, first, s);
  if (!has || !work.collect)
    return;
  all.label = s.label;
  all.n = sg_reduce (peers, s.n);
  all.n_chroma = sg_reduce (peers, s.n_chroma);
#pragma unroll
  for (int k = 0; k < 3; k++)
    all.sum[k] = k < work.n_colors ? sg_reduce (peers, s.sum[k]) : 0;
  if (work.reports) {
    all.sum_x = sg_reduce (peers, s.sum_x);
    all.sum_y = sg_reduce (peers, s.sum_y);
    all.left = sg_reduce_min (peers, s.left);
    all.right = sg_reduce_max (peers, s.right);
    all.top = sg_reduce_min (peers, s.top);
    all.bottom = sg_reduce_max (peers, s.bottom);
  }
  if ((threadIdx.x & 31) == (unsigned) __ffs ((int) peers) - 1)
    add_to_place (work, first, place, all);
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

__device__ __forceinline__ void
add_pixel (const SgWork &work, const Square &first, int x, int y, Place *s)
{
  const unsigned at_x = (unsigned) (x - first.x), at_y = (unsigned) (y - first.y);

  s->n++;
  add_samples (work, x, y, s);
  s->sum_x += at_x;
  s->sum_y += at_y;
  s->left = min (s->left, at_x);
  s->right = max (s->right, at_x);
  s->top = min (s->top, at_y);
  s->bottom = max (s->bottom, at_y);
}

/* A square of one region. SIZE: its sides, so that all loads go at once; 0: any. */
template<int SIZE> __device__ __forceinline__ void
add_square (const SgWork &work, const Square &first, const Square &at, Place *s)
{
  const unsigned w = (unsigned) at.width, h = (unsigned) at.height;

  if ((SIZE == 2 || SIZE == 4) && work.layout) {
    sg_sum_square<SIZE == 2 ? 2 : 4> (work, at.x, at.y, s->sum);
    s->n_chroma = sg_square_chroma (work, SIZE * SIZE);
  } else if (SIZE > 0) {
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
  s->n = w * h;
  s->left = (unsigned) (at.x - first.x);
  s->top = (unsigned) (at.y - first.y);
  s->right = s->left + w - 1;
  s->bottom = s->top + h - 1;
  s->sum_x = h * (w * s->left + w * (w - 1) / 2);
  s->sum_y = w * (h * s->top + h * (h - 1) / 2);
}

/* The block's squares that have other regions beside their cells. Their pixels are gone
 * through by all threads: few lanes of a warp have one, but most warps have some. */
struct Mixed {
  unsigned n;
  uint16_t square[32 * most_warps * rows_of (1)]; /* across | down << 5, from the block's first */
};

template<int SIZE, bool COUNT> __device__ __forceinline__ void
refine_squares (const SgWork &work, const Square &first, int across, int down, const Mixed &mixed, Place *place)
{
  constexpr unsigned each = SIZE * SIZE;

  for (unsigned base = threadIdx.x & ~31u; base < mixed.n * each; base += blockDim.x) {
    const unsigned k = base + (threadIdx.x & 31), number = mixed.square[min (k / each, mixed.n - 1)];
    const Square at = square_at (work, across + (int) (number & 31), down + (int) (number >> 5));
    const int i = (int) (k % each % SIZE), j = (int) (k % each / SIZE), x = at.x + i, y = at.y + j;
    const bool has = k < mixed.n * each && i < at.width && j < at.height;
    Place one = no_place ();

    if (has) {
      const Labels labels = labels_about (work, at.column, at.row);

      one.label = pixel_label (work, labels, x, y, at.rest_x + i, at.rest_y + j);
      if (one.label != labels.own)
        work.map[(long long) y * work.width + x] = (uint16_t) one.label;
      if (COUNT)
        add_pixel (work, first, x, y, &one);
    }
    if (COUNT)
      flush (work, first, place, has, one);
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

/* What a lane's square is and holds: all that is loaded of it. */
template<int SIZE, bool COUNT> __device__ __forceinline__ void
look_at_square (const SgWork &work, const Square &first, const Square &at, Labels *labels, Place *s)
{
  *s = no_place ();
  if (at.width <= 0 || at.height <= 0)
    return;
  *labels = labels_about (work, at.column, at.row);
  s->label = labels->own;
  if (COUNT && at.width == SIZE && at.height == SIZE)
    add_square<SIZE> (work, first, at, s);
  else if (COUNT)
    add_square<0> (work, first, at, s);
}

/* To `s` what has been counted of the same region. */
__device__ __forceinline__ void
add_place (const Place &t, Place *s)
{
  s->label = t.label;
  s->n += t.n;
  s->n_chroma += t.n_chroma;
#pragma unroll
  for (int k = 0; k < 3; k++)
    s->sum[k] += t.sum[k];
  s->sum_x += t.sum_x;
  s->sum_y += t.sum_y;
  s->left = min (s->left, t.left);
  s->right = max (s->right, t.right);
  s->top = min (s->top, t.top);
  s->bottom = max (s->bottom, t.bottom);
}

/* A warp makes 32 squares in each of some rows, and a lane counts as long as it stays in a
 * region. SIZE: the sides of a square. */
template<int SIZE, bool COUNT> __global__ void __launch_bounds__ (32 * most_warps, 2)
segment_pixels (const __grid_constant__ SgWork work)
{
  constexpr int rows = rows_of (SIZE);
  const int across = (int) (blockIdx.x * 32), down = (int) (blockIdx.y * (blockDim.x / 32)) * rows;
  const int lane = (int) (threadIdx.x % 32), row = (int) (threadIdx.x / 32) * rows;
  const Square first = square_at (work, across, down);
  __shared__ Place place[places];
  __shared__ Mixed mixed;
  Place s = no_place ();

  if (threadIdx.x == 0)
    mixed.n = 0;
  for (unsigned i = threadIdx.x; COUNT && i < places; i += blockDim.x)
    place[i] = no_place ();
  __syncthreads ();
  Square at[rows];
  Labels labels[rows];
  Place t[rows];

#pragma unroll
  for (int i = 0; i < rows; i++) { /* all loads go before the first store */
    at[i] = square_at (work, across + lane, down + row + i);
    look_at_square<SIZE, COUNT> (work, first, at[i], &labels[i], &t[i]);
  }
#pragma unroll
  for (int i = 0; i < rows; i++) {
    const bool has = t[i].label != sg_none, later = SIZE > 1 && has && labels[i].mixed ();

    if (has)
      store_square<SIZE> (work, at[i], t[i].label);
    if (SIZE > 1)
      sg_append (mixed.square, &mixed.n, later, (uint16_t) (lane | (row + i) << 5));
    if (!COUNT)
      continue;
    const bool counts = has && !later, leaves = s.n > 0 && counts && t[i].label != s.label;

    if (__any_sync (~0u, leaves)) {
      flush (work, first, place, leaves, s);
      s = leaves ? no_place () : s;
    }
    if (counts)
      add_place (t[i], &s);
  }
  if (COUNT)
    flush (work, first, place, s.n > 0, s);
  __syncthreads ();
  if (SIZE > 1) {
    refine_squares<SIZE, COUNT> (work, first, across, down, mixed, place);
    __syncthreads ();
  }
  for (unsigned i = threadIdx.x; COUNT && i < places; i += blockDim.x)
    if (place[i].label != sg_none)
      add_to_region (work, first, place[i]);
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
    const CfSegmentRegion r = work.found[i];
    const unsigned color = label_color (work, r.id);

    for (int k = 0; k < 3; k++) {
      const unsigned long long count = r.n[k] ? r.n[k] : 1;

      work.paint[3 * i + k] = work.output == CF_SEGMENT_LABELS ? (color >> 8 * k & 255) << (work.bits - 8)
          : work.output == CF_SEGMENT_MEAN ? (unsigned) ((2 * r.sum[k] + count) / (2 * count)) : 0;
    }
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

using Kernel = void (*) (const SgWork);

Kernel
pixels_kernel (int size, bool count)
{
  static const Kernel kernels[most][2] = {
    { segment_pixels<1, false>, segment_pixels<1, true> }, { segment_pixels<2, false>, segment_pixels<2, true> },
    { segment_pixels<3, false>, segment_pixels<3, true> }, { segment_pixels<4, false>, segment_pixels<4, true> },
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
      (unsigned) work.n_components);
  CfCode code;

  pixels_kernel (work.size, work.output == CF_SEGMENT_MEAN || work.reports)<<<squares, 32 * warps, 0,
      stream>>> (work);
  code = cf_cuda_launched ("segment_pixels", status);
  if (code != CF_OK)
    return code;
  segment_table<<<32, 128, 0, stream>>> (work);
  code = cf_cuda_launched ("segment_table", status);
  if (code != CF_OK)
    return code;
  segment_paint<<<grid, 256, 0, stream>>> (work);
  return cf_cuda_launched ("segment_paint", status);
}

CfCode
segment_init_pixels (CfStatus *status)
{
  CfCode code = segment_load ({ (const void *) segment_table, (const void *) segment_paint }, status);

  for (int size = 1; code == CF_OK && size <= most; size++)
    code = segment_load ({ (const void *) pixels_kernel (size, false), (const void *) pixels_kernel (size, true) },
        status);
  return code;
}

} // namespace cf
