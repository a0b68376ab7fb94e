/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment/gpu/pixels.cu: steps 11 and 12 of the segmentation: each pixel's region and
 * what is counted of it, and the launches of paint.cuh. */
#include "list.cuh"
#include "paint.cuh"
#include "samples.cuh"

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
    sg_sum_square<SIZE == 2 ? 2 : 4> (work, work.layout, at.x, at.y, s->sum);
    s->n_chroma = work.n_colors > 1 ? sg_square_chroma (work.layout, SIZE * SIZE) : 0;
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

/* A piece of such a square, a lane's: some whole rows of it. */
template<int SIZE> struct Piece {
  static constexpr int rows = SIZE == 2 ? 2 : 1, pixels = rows * SIZE, of_square = SIZE / rows;
  Square at;                  /* the piece */
  unsigned label[pixels];     /* sg_none outside the picture */
  unsigned sample[pixels][3], color[pixels], chroma; /* chroma: a bit a pixel that has its own */
};

/* Beside the picture those of its edge. */
template<int SIZE> __device__ __forceinline__ void
load_samples (const SgWork &work, Piece<SIZE> *piece)
{
  constexpr int n = Piece<SIZE>::pixels, words = SIZE == 2 ? 2 : 4;
  const Square &at = piece->at;

  if ((SIZE == 2 || SIZE == 4) && work.layout && at.x + SIZE <= work.width && at.y + Piece<SIZE>::rows <= work.height) {
#pragma unroll
    for (int r = 0; r < Piece<SIZE>::rows; r++) {
      unsigned word[words];

      sg_load_row<words> (work, at.x, at.y + r, word);
#pragma unroll
      for (int k = 0; k < 3 * SIZE; k++)
        piece->sample[r * SIZE + k / 3][k % 3] = word[k / 3 % words] >> 8 * (k % 3) & 255;
    }
  } else {
#pragma unroll
    for (int k = 0; k < n; k++) {
      const int x = min (at.x + k % SIZE, work.width - 1), y = min (at.y + k / SIZE, work.height - 1);

      piece->sample[k][0] = sg_sample (work, work.component[0], x, y);
      piece->sample[k][1] = work.n_colors > 1 ? sg_sample (work, work.component[1], x, y) : 0;
      piece->sample[k][2] = work.n_colors > 1 ? sg_sample (work, work.component[2], x, y) : 0;
    }
  }
  piece->chroma = 0;
#pragma unroll
  for (int k = 0; k < n; k++)
    piece->chroma |= (unsigned) has_chroma (work, at.x + k % SIZE, at.y + k / SIZE) << k;
#pragma unroll
  for (int k = 0; k < n; k++)
    piece->color[k] = sg_color (work, piece->sample[k][0], piece->sample[k][1], piece->sample[k][2]);
}

/* Step 11: each pixel's own cell's region, or one beside it that is nearer in colour. */
template<int SIZE> __device__ __forceinline__ unsigned
choose_labels (const SgWork &work, Piece<SIZE> *piece)
{
  const Square &at = piece->at;
  const int size = SIZE < most ? SIZE : work.size, c = at.row * work.columns + at.column;
  const uint16_t *label = work.after.label;
  const unsigned own = label[c], left = label[at.column > 0 ? c - 1 : c];
  const unsigned right = label[at.column + 1 < work.columns ? c + 1 : c];
  unsigned along[Piece<SIZE>::rows], mean_along[Piece<SIZE>::rows];

#pragma unroll
  for (int r = 0; r < Piece<SIZE>::rows; r++) {
    const int j = 2 * (at.rest_y + r) + 1;

    along[r] = label[j < size && at.row > 0 ? c - work.columns
        : j > size && at.row + 1 < work.rows ? c + work.columns : c];
  }
  const unsigned mean = work.after.mean[own], mean_left = work.after.mean[left], mean_right = work.after.mean[right];

#pragma unroll
  for (int r = 0; r < Piece<SIZE>::rows; r++)
    mean_along[r] = work.after.mean[along[r]];
#pragma unroll
  for (int k = 0; k < Piece<SIZE>::pixels; k++) {
    const int r = k / SIZE, i = 2 * (at.rest_x + k % SIZE) + 1;
    const unsigned color = piece->color[k], across = i < size ? left : i > size ? right : own;
    const unsigned d = sg_distance (color, mean);
    const unsigned e = sg_distance (color, i < size ? mean_left : i > size ? mean_right : mean);
    const unsigned f = sg_distance (color, mean_along[r]);

    piece->label[k] = k % SIZE >= at.width || r >= at.height ? sg_none : f < min (d, e) ? along[r]
        : e < d ? across : own;
  }
  return own;
}

/* To `s` the piece's pixel k. */
template<int SIZE, int COUNT> __device__ __forceinline__ void
add_pixel (const Square &first, const Piece<SIZE> &piece, int k, Place *s)
{
  const unsigned x = (unsigned) (piece.at.x + k % SIZE - first.x), y = (unsigned) (piece.at.y + k / SIZE - first.y);
  const bool chroma = piece.chroma >> k & 1;

  s->label = piece.label[k];
  s->n++;
  s->n_chroma += chroma;
  s->sum[0] += piece.sample[k][0];
  s->sum[1] += chroma ? piece.sample[k][1] : 0;
  s->sum[2] += chroma ? piece.sample[k][2] : 0;
  if (COUNT != ALL)
    return;
  s->sum_x += x;
  s->sum_y += y;
  s->left = min (s->left, x);
  s->right = max (s->right, x);
  s->top = min (s->top, y);
  s->bottom = max (s->bottom, y);
}

/* Counts a piece's pixels: those of its own cell's region, those of the first other one, and the few that
 * there may be besides. */
template<int SIZE, int COUNT> __device__ __forceinline__ void
count_piece (const SgWork &work, const Square &first, Place *place, const Piece<SIZE> &piece, unsigned own)
{
  Place mine = no_place (), other = no_place ();

#pragma unroll
  for (int k = 0; k < Piece<SIZE>::pixels; k++) {
    const unsigned label = piece.label[k];

    if (label == own) {
      add_pixel<SIZE, COUNT> (first, piece, k, &mine);
    } else if (label != sg_none && (other.n == 0 || label == other.label)) {
      add_pixel<SIZE, COUNT> (first, piece, k, &other);
    } else if (label != sg_none) {
      Place one = no_place ();

      add_pixel<SIZE, COUNT> (first, piece, k, &one);
      add_to_place<COUNT> (work, first, place, one);
    }
  }
  flush<COUNT> (work, first, place, mine.n > 0, mine);
  flush<COUNT> (work, first, place, other.n > 0, other);
}

template<int SIZE, int COUNT> __device__ __forceinline__ void
refine_squares (const SgWork &work, const Square &first, int across, int down, const Mixed<SIZE> &mixed, Place *place)
{
  constexpr unsigned each = Piece<SIZE>::of_square;

  for (unsigned base = threadIdx.x & ~31u; base < mixed.n * each; base += blockDim.x) {
    const unsigned k = base + (threadIdx.x & 31), number = mixed.square[min (k / each, mixed.n - 1)];
    Piece<SIZE> piece;
    Square &at = piece.at;
    const int from = (int) (k % each) * Piece<SIZE>::rows;

    at = square_at<SIZE> (work, across + (int) (number & 31), down + (int) (number >> 5));
    at.y += from;
    at.rest_y += from;
    at.height = k < mixed.n * each ? at.height - from : 0;
    load_samples<SIZE> (work, &piece);
    const unsigned own = choose_labels<SIZE> (work, &piece);

#pragma unroll
    for (int i = 0; i < Piece<SIZE>::pixels; i++)
      if (piece.label[i] != sg_none && piece.label[i] != own)
        work.map[(long long) (at.y + i / SIZE) * work.width + at.x + i % SIZE] = (uint16_t) piece.label[i];
    if (COUNT)
      count_piece<SIZE, COUNT> (work, first, place, piece, own);
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
