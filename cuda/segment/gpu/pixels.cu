/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/gpu/pixels.cu: step 11 of the segmentation: the region of each pixel, and the sums and bounds of each
 * region's pixels; the launches of step 12 (paint.cuh).
 *
 * Map: a lane makes a square of up to 4 x 4 pixels inside one cell, a warp 32 squares side by side in each of
 * sg_square_rows rows, a block some warps below each other. Squares whose cell touches another region go to a list
 * of the block; all of its threads then refine them, one piece (some whole rows of a square) per lane, because few
 * lanes of a warp have such a square, but most warps have some.
 * Shared memory: 64 slots, in which the block adds up what it counts of a region, and the list of mixed squares.
 * Race free: a pixel of the map is stored by its square's lane first, and changed by the refining lane only after a
 * block barrier. Slots are claimed by atomicCAS, and all counts are integer atomics, so no order changes them; what
 * finds its slot taken by another region goes to device memory.
 * Bound, without the slots, by atomic additions to the few large regions; docs/notes/segment.md has the times. */
#include "list.cuh"
#include "paint.cuh"
#include "samples.cuh"

#include <algorithm>

namespace cf {

namespace {

constexpr int max_warps = 16;
constexpr int max_side = 4; /* largest side of a lane's square in pixels */

/* Returns the number of squares below each other that a lane makes. */
__host__ __device__ constexpr int
sg_square_rows (int size)
{
  return size <= 2 ? 2 : 1;
}

/* A lane's square of pixels inside one cell. A cell wider than max_side consists of several squares. */
struct SgSquare {
  int x, y, width, height; /* width or height is 0 or less where no pixel lies in the frame */
  int column, row;         /* of the cell */
  int offset_x, offset_y;      /* of the square inside the cell */
};

/* Returns the square at a position in the grid of squares. SIZE: its side; below max_side also the side of the cell. */
template<int SIZE> __device__ __forceinline__ SgSquare
sg_square_at (const SgWork &work, int across, int down)
{
  const int size = SIZE < max_side ? SIZE : work.size;
  const int per_side = SIZE < max_side ? 1 : (size + max_side - 1) / max_side; /* squares along a side of a cell */
  SgSquare s;

  s.column = SIZE < max_side ? across : across / per_side;
  s.row = SIZE < max_side ? down : down / per_side;
  s.offset_x = (across - s.column * per_side) * max_side;
  s.offset_y = (down - s.row * per_side) * max_side;
  s.x = s.column * size + s.offset_x;
  s.y = s.row * size + s.offset_y;
  s.width = min (min (max_side, size - s.offset_x), work.width - s.x);
  s.height = min (min (max_side, size - s.offset_y), work.height - s.y);
  return s;
}

/* Returns the region of a cell. Sets `*mixed` if a cell beside it belongs to another one; never for cells of one
 * pixel, which keep the region of their cell. */
template<int SIZE> __device__ __forceinline__ unsigned
sg_label_of (const SgWork &work, const SgSquare &at, bool *mixed)
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

/* What a block counts of a region. Atomic additions to one address wait for each other, and all blocks have pixels
 * of a large region; therefore a block adds up its own pixels first. Coordinates are relative to the block's first
 * pixel. */
constexpr int n_slots = 64;
struct SgSlot {
  unsigned label, n, n_chroma, sum[3], sum_x, sum_y, left, right, top, bottom;
};

/* How much is counted: nothing, only what the mean colours need, or all. */
enum SgCount { SG_COUNT_NOTHING, SG_COUNT_MEANS, SG_COUNT_ALL };

__device__ __forceinline__ SgSlot
sg_empty_slot ()
{
  return SgSlot { sg_none, 0, 0, { 0, 0, 0 }, 0, 0, 0xffffffffu, 0, 0xffffffffu, 0 };
}

template<int COUNT> __device__ __forceinline__ void
sg_add_to_region (const SgWork &work, const SgSquare &first, const SgSlot &s)
{
  CfSegmentRegion *r = work.found + s.label;

  atomicAdd (&r->n[0], s.n);
  atomicAdd ((unsigned long long *) &r->sum[0], (unsigned long long) s.sum[0]);
  if (work.n_colors > 1 && s.n_chroma) {
    atomicAdd (&r->n[1], s.n_chroma);
    atomicAdd ((unsigned long long *) &r->sum[1], (unsigned long long) s.sum[1]);
    atomicAdd ((unsigned long long *) &r->sum[2], (unsigned long long) s.sum[2]);
  }
  if (COUNT != SG_COUNT_ALL)
    return;
  atomicAdd ((unsigned long long *) &r->sum_x, s.sum_x + (unsigned long long) s.n * (unsigned) first.x);
  atomicAdd ((unsigned long long *) &r->sum_y, s.sum_y + (unsigned long long) s.n * (unsigned) first.y);
  atomicMin (&r->left, s.left + (unsigned) first.x);
  atomicMax (&r->right, s.right + (unsigned) first.x);
  atomicMin (&r->top, s.top + (unsigned) first.y);
  atomicMax (&r->bottom, s.bottom + (unsigned) first.y);
}

template<int COUNT> __device__ __forceinline__ void
sg_add_to_slot (const SgWork &work, const SgSquare &first, SgSlot *slot, const SgSlot &s)
{
  SgSlot *to = slot + s.label % n_slots;
  const unsigned old = work.block_sums ? atomicCAS (&to->label, sg_none, s.label) : s.label + 1;

  if (old != sg_none && old != s.label) {
    sg_add_to_region<COUNT> (work, first, s);
    return;
  }
  atomicAdd (&to->n, s.n);
  atomicAdd (&to->n_chroma, s.n_chroma);
#pragma unroll
  for (int k = 0; k < 3; k++)
    atomicAdd (&to->sum[k], s.sum[k]);
  if (COUNT != SG_COUNT_ALL)
    return;
  atomicAdd (&to->sum_x, s.sum_x);
  atomicAdd (&to->sum_y, s.sum_y);
  atomicMin (&to->left, s.left);
  atomicMax (&to->right, s.right);
  atomicMin (&to->top, s.top);
  atomicMax (&to->bottom, s.bottom);
}

/* Returns the sums over the lanes for which `mine` is set. For the pixels of a warp each count fits 16 bits. */
template<int COUNT> __device__ __forceinline__ SgSlot
sg_sum_of_lanes (const SgWork &work, bool mine, unsigned label, const SgSlot &s)
{
  const unsigned counts = sg_reduce (~0u, mine ? s.n | s.n_chroma << 16 : 0);
  SgSlot all = sg_empty_slot ();

  all.label = label;
  all.n = counts & 0xffff;
  all.n_chroma = counts >> 16;
  all.sum[0] = sg_reduce (~0u, mine ? s.sum[0] : 0);
  if (work.n_colors > 1) {
    all.sum[1] = sg_reduce (~0u, mine ? s.sum[1] : 0);
    all.sum[2] = sg_reduce (~0u, mine ? s.sum[2] : 0);
  }
  if (COUNT == SG_COUNT_ALL) {
    all.sum_x = sg_reduce (~0u, mine ? s.sum_x : 0);
    all.sum_y = sg_reduce (~0u, mine ? s.sum_y : 0);
    all.left = sg_reduce_min (~0u, mine ? s.left : 0xffffffffu);
    all.right = sg_reduce_max (~0u, mine ? s.right : 0);
    all.top = sg_reduce_min (~0u, mine ? s.top : 0xffffffffu);
    all.bottom = sg_reduce_max (~0u, mine ? s.bottom : 0);
  }
  return all;
}

/* Adds the counts of the lanes that have some to the block's slots. For the first `reduced` regions the lanes are
 * summed up before; most warps have no more regions. The other lanes add by themselves. */
template<int COUNT> __device__ __forceinline__ void
sg_flush (const SgWork &work, const SgSquare &first, SgSlot *slot, bool has, const SgSlot &s)
{
  constexpr int reduced = 2;
  unsigned rest = __ballot_sync (~0u, has);

  for (int i = 0; i < reduced && rest && work.block_sums; i++) {
    const int leader = __ffs ((int) rest) - 1;
    const unsigned label = __shfl_sync (~0u, s.label, leader);
    const bool mine = has && s.label == label;
    const SgSlot all = sg_sum_of_lanes<COUNT> (work, mine, label, s);

    if ((threadIdx.x & 31) == (unsigned) leader)
      sg_add_to_slot<COUNT> (work, first, slot, all);
    rest &= ~__ballot_sync (~0u, mine);
  }
  if (rest >> (threadIdx.x & 31) & 1)
    sg_add_to_slot<COUNT> (work, first, slot, s);
}

__device__ __forceinline__ bool
sg_has_chroma (const SgWork &work, int x, int y)
{
  const SgComponent &c = work.component[1];

  return work.n_colors > 1 && (x & ((1 << c.w_sub) - 1)) == 0 && (y & ((1 << c.h_sub) - 1)) == 0;
}

__device__ __forceinline__ void
sg_add_samples (const SgWork &work, int x, int y, SgSlot *s)
{
  s->sum[0] += sg_sample (work, work.component[0], x, y);
  if (sg_has_chroma (work, x, y)) {
    s->n_chroma++;
    s->sum[1] += sg_sample (work, work.component[1], x, y);
    s->sum[2] += sg_sample (work, work.component[2], x, y);
  }
}

/* Counts the pixels of a square that lie in the frame. All of them belong to one region. */
template<int SIZE> __device__ __forceinline__ void
sg_sum_pixels (const SgWork &work, const SgSquare &at, SgSlot *s)
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
        sg_add_samples (work, at.x + i, at.y + j, s);
  } else {
    for (int j = 0; j < at.height; j++)
      for (int i = 0; i < at.width; i++)
        sg_add_samples (work, at.x + i, at.y + j, s);
  }
}

/* Adds a square `at`, whose samples are summed up in `t`, to the counts `s` of the same region. */
template<int COUNT> __device__ __forceinline__ void
sg_add_square (const SgSquare &first, const SgSquare &at, const SgSlot &t, SgSlot *s)
{
  const unsigned w = (unsigned) at.width, h = (unsigned) at.height;
  const unsigned left = (unsigned) (at.x - first.x), top = (unsigned) (at.y - first.y);

  s->label = t.label;
  s->n += t.n;
  s->n_chroma += t.n_chroma;
#pragma unroll
  for (int k = 0; k < 3; k++)
    s->sum[k] += t.sum[k];
  if (COUNT != SG_COUNT_ALL)
    return;
  s->sum_x += h * (w * left + w * (w - 1) / 2);
  s->sum_y += w * (h * top + h * (h - 1) / 2);
  s->left = min (s->left, left);
  s->right = max (s->right, left + w - 1);
  s->top = min (s->top, top);
  s->bottom = max (s->bottom, top + h - 1);
}

/* The block's squares whose cell touches a cell of another region. */
template<int SIZE> struct SgMixed {
  unsigned n;
  uint16_t square[32 * max_warps * sg_square_rows (SIZE)]; /* column | row << 5, relative to the block's first square */
};

/* A lane's part of a mixed square: some whole rows. */
template<int SIZE> struct SgPiece {
  static constexpr int rows = SIZE == 2 ? 2 : 1, pixels = rows * SIZE, of_square = SIZE / rows;
  SgSquare at;                  /* position of the piece */
  unsigned label[pixels];     /* sg_none outside the frame */
  unsigned sample[pixels][3], color[pixels], chroma; /* chroma: one bit per pixel that has chroma samples of its own */
};

/* Loads the samples of a piece. Positions outside the frame take those of its edge. */
template<int SIZE> __device__ __forceinline__ void
sg_load_samples (const SgWork &work, SgPiece<SIZE> *piece)
{
  constexpr int n = SgPiece<SIZE>::pixels, words = SIZE == 2 ? 2 : 4;
  const SgSquare &at = piece->at;

  if ((SIZE == 2 || SIZE == 4) && work.layout && at.x + SIZE <= work.width
      && at.y + SgPiece<SIZE>::rows <= work.height) {
#pragma unroll
    for (int r = 0; r < SgPiece<SIZE>::rows; r++) {
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
    piece->chroma |= (unsigned) sg_has_chroma (work, at.x + k % SIZE, at.y + k / SIZE) << k;
#pragma unroll
  for (int k = 0; k < n; k++)
    piece->color[k] = sg_color (work, piece->sample[k][0], piece->sample[k][1], piece->sample[k][2]);
}

/* Step 11: chooses for each pixel the region of its own cell, or that of a cell beside it whose mean is nearer.
 * Returns the region of the cell itself. */
template<int SIZE> __device__ __forceinline__ unsigned
sg_choose_labels (const SgWork &work, SgPiece<SIZE> *piece)
{
  const SgSquare &at = piece->at;
  const int size = SIZE < max_side ? SIZE : work.size, c = at.row * work.columns + at.column;
  const uint16_t *label = work.after.label;
  const unsigned own = label[c], left = label[at.column > 0 ? c - 1 : c];
  const unsigned right = label[at.column + 1 < work.columns ? c + 1 : c];
  unsigned along[SgPiece<SIZE>::rows], mean_along[SgPiece<SIZE>::rows];

#pragma unroll
  for (int r = 0; r < SgPiece<SIZE>::rows; r++) {
    const int j = 2 * (at.offset_y + r) + 1;

    along[r] = label[j < size && at.row > 0 ? c - work.columns
        : j > size && at.row + 1 < work.rows ? c + work.columns : c];
  }
  const unsigned mean = work.after.mean[own], mean_left = work.after.mean[left], mean_right = work.after.mean[right];

#pragma unroll
  for (int r = 0; r < SgPiece<SIZE>::rows; r++)
    mean_along[r] = work.after.mean[along[r]];
#pragma unroll
  for (int k = 0; k < SgPiece<SIZE>::pixels; k++) {
    const int r = k / SIZE, i = 2 * (at.offset_x + k % SIZE) + 1;
    const unsigned color = piece->color[k], across = i < size ? left : i > size ? right : own;
    const unsigned d = sg_distance (color, mean);
    const unsigned e = sg_distance (color, i < size ? mean_left : i > size ? mean_right : mean);
    const unsigned f = sg_distance (color, mean_along[r]);

    piece->label[k] = k % SIZE >= at.width || r >= at.height ? sg_none : f < min (d, e) ? along[r]
        : e < d ? across : own;
  }
  return own;
}

/* Adds pixel k of the piece to `s`. */
template<int SIZE, int COUNT> __device__ __forceinline__ void
sg_add_pixel (const SgSquare &first, const SgPiece<SIZE> &piece, int k, SgSlot *s)
{
  const unsigned x = (unsigned) (piece.at.x + k % SIZE - first.x), y = (unsigned) (piece.at.y + k / SIZE - first.y);
  const bool chroma = piece.chroma >> k & 1;

  s->label = piece.label[k];
  s->n++;
  s->n_chroma += chroma;
  s->sum[0] += piece.sample[k][0];
  s->sum[1] += chroma ? piece.sample[k][1] : 0;
  s->sum[2] += chroma ? piece.sample[k][2] : 0;
  if (COUNT != SG_COUNT_ALL)
    return;
  s->sum_x += x;
  s->sum_y += y;
  s->left = min (s->left, x);
  s->right = max (s->right, x);
  s->top = min (s->top, y);
  s->bottom = max (s->bottom, y);
}

/* Counts the pixels of a piece: those of its own cell's region and those of the first other region together, the few
 * of any further region one by one. */
template<int SIZE, int COUNT> __device__ __forceinline__ void
sg_count_piece (const SgWork &work, const SgSquare &first, SgSlot *slot, const SgPiece<SIZE> &piece, unsigned own)
{
  SgSlot mine = sg_empty_slot (), other = sg_empty_slot ();

#pragma unroll
  for (int k = 0; k < SgPiece<SIZE>::pixels; k++) {
    const unsigned label = piece.label[k];

    if (label == own) {
      sg_add_pixel<SIZE, COUNT> (first, piece, k, &mine);
    } else if (label != sg_none && (other.n == 0 || label == other.label)) {
      sg_add_pixel<SIZE, COUNT> (first, piece, k, &other);
    } else if (label != sg_none) {
      SgSlot one = sg_empty_slot ();

      sg_add_pixel<SIZE, COUNT> (first, piece, k, &one);
      sg_add_to_slot<COUNT> (work, first, slot, one);
    }
  }
  sg_flush<COUNT> (work, first, slot, mine.n > 0, mine);
  sg_flush<COUNT> (work, first, slot, other.n > 0, other);
}

template<int SIZE, int COUNT> __device__ __forceinline__ void
sg_refine_squares (const SgWork &work, const SgSquare &first, int across, int down, const SgMixed<SIZE> &mixed,
    SgSlot *slot)
{
  constexpr unsigned pieces = SgPiece<SIZE>::of_square;

  for (unsigned base = threadIdx.x & ~31u; base < mixed.n * pieces; base += blockDim.x) {
    const unsigned k = base + (threadIdx.x & 31), number = mixed.square[min (k / pieces, mixed.n - 1)];
    SgPiece<SIZE> piece;
    SgSquare &at = piece.at;
    const int from = (int) (k % pieces) * SgPiece<SIZE>::rows;

    at = sg_square_at<SIZE> (work, across + (int) (number & 31), down + (int) (number >> 5));
    at.y += from;
    at.offset_y += from;
    at.height = k < mixed.n * pieces ? at.height - from : 0;
    sg_load_samples<SIZE> (work, &piece);
    const unsigned own = sg_choose_labels<SIZE> (work, &piece);

#pragma unroll
    for (int i = 0; i < SgPiece<SIZE>::pixels; i++)
      if (piece.label[i] != sg_none && piece.label[i] != own)
        work.map[(long long) (at.y + i / SIZE) * work.width + at.x + i % SIZE] = (uint16_t) piece.label[i];
    if (COUNT)
      sg_count_piece<SIZE, COUNT> (work, first, slot, piece, own);
  }
}

/* Stores `label` for all pixels of the square. */
template<int SIZE> __device__ __forceinline__ void
sg_store_square (const SgWork &work, const SgSquare &at, unsigned label)
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

/* Appends the mixed squares of a warp to the block's list. mixed_lanes: one word per row, a bit per lane. */
template<int SIZE> __device__ __forceinline__ void
sg_list_squares (SgMixed<SIZE> *mixed, int row, const unsigned (&mixed_lanes)[sg_square_rows (SIZE)])
{
  const unsigned lane = threadIdx.x & 31, below = (1u << lane) - 1;
  unsigned all = 0, to = 0;

#pragma unroll
  for (int i = 0; i < sg_square_rows (SIZE); i++)
    all += (unsigned) __popc (mixed_lanes[i]);
  if (!all)
    return;
  if (lane == 0)
    to = atomicAdd (&mixed->n, all);
  to = __shfl_sync (~0u, to, 0);
#pragma unroll
  for (int i = 0; i < sg_square_rows (SIZE); i++) {
    if (mixed_lanes[i] >> lane & 1)
      mixed->square[to + (unsigned) __popc (mixed_lanes[i] & below)] = (uint16_t) (lane | (unsigned) (row + i) << 5);
    to += (unsigned) __popc (mixed_lanes[i]);
  }
}

/* Labels and counts the pixels of a block. A lane counts on as long as its squares belong to one region. SIZE: the
 * side of a square. */
template<int SIZE, int COUNT> __global__ void __launch_bounds__ (32 * max_warps, 2)
sg_pixels_kernel (const __grid_constant__ SgWork work)
{
  constexpr int rows = sg_square_rows (SIZE);
  const int across = (int) (blockIdx.x * 32), down = (int) (blockIdx.y * (blockDim.x / 32)) * rows;
  const int lane = (int) (threadIdx.x % 32), row = (int) (threadIdx.x / 32) * rows;
  const SgSquare first = sg_square_at<SIZE> (work, across, down);
  __shared__ SgSlot slot[n_slots];
  __shared__ SgMixed<SIZE> mixed;
  unsigned mixed_lanes[rows];
  bool has[rows], is_mixed[rows];
  SgSquare at[rows];
  SgSlot t[rows], s = sg_empty_slot ();

  if (threadIdx.x == 0)
    mixed.n = 0;
  for (unsigned i = threadIdx.x; COUNT && i < n_slots; i += blockDim.x)
    slot[i] = sg_empty_slot ();
#pragma unroll
  for (int i = 0; i < rows; i++) { /* all loads are issued before the first store */
    at[i] = sg_square_at<SIZE> (work, across + lane, down + row + i);
    has[i] = at[i].width > 0 && at[i].height > 0;
    is_mixed[i] = false;
    t[i] = sg_empty_slot ();
    if (has[i])
      t[i].label = sg_label_of<SIZE> (work, at[i], &is_mixed[i]);
    if (COUNT && has[i])
      sg_sum_pixels<SIZE> (work, at[i], &t[i]);
  }
  __syncthreads ();
#pragma unroll
  for (int i = 0; i < rows; i++) {
    if (has[i])
      sg_store_square<SIZE> (work, at[i], t[i].label);
    mixed_lanes[i] = __ballot_sync (~0u, is_mixed[i]);
    if (!COUNT || !has[i] || is_mixed[i])
      continue;
    if (s.n > 0 && t[i].label != s.label) {
      sg_add_to_slot<COUNT> (work, first, slot, s);
      s = sg_empty_slot ();
    }
    sg_add_square<COUNT> (first, at[i], t[i], &s);
  }
  if (SIZE > 1)
    sg_list_squares<SIZE> (&mixed, row, mixed_lanes);
  if (COUNT)
    sg_flush<COUNT> (work, first, slot, s.n > 0, s);
  __syncthreads ();
  if (SIZE > 1) {
    sg_refine_squares<SIZE, COUNT> (work, first, across, down, mixed, slot);
    __syncthreads ();
  }
  for (unsigned i = threadIdx.x; COUNT && i < n_slots; i += blockDim.x)
    if (slot[i].label != sg_none)
      sg_add_to_region<COUNT> (work, first, slot[i]);
}

using Kernel = void (*) (const SgWork);

Kernel
sg_select_pixels_kernel (int size, int count)
{
  static const Kernel kernels[max_side][3] = {
    { sg_pixels_kernel<1, SG_COUNT_NOTHING>, sg_pixels_kernel<1, SG_COUNT_MEANS>, sg_pixels_kernel<1, SG_COUNT_ALL> },
    { sg_pixels_kernel<2, SG_COUNT_NOTHING>, sg_pixels_kernel<2, SG_COUNT_MEANS>, sg_pixels_kernel<2, SG_COUNT_ALL> },
    { sg_pixels_kernel<3, SG_COUNT_NOTHING>, sg_pixels_kernel<3, SG_COUNT_MEANS>, sg_pixels_kernel<3, SG_COUNT_ALL> },
    { sg_pixels_kernel<4, SG_COUNT_NOTHING>, sg_pixels_kernel<4, SG_COUNT_MEANS>, sg_pixels_kernel<4, SG_COUNT_ALL> },
  };

  return kernels[std::min (size, max_side) - 1][count];
}

} // namespace

CfCode
sg_launch_pixels (const SgWork &work, cudaStream_t stream, CfStatus *status)
{
  const unsigned per_side = (unsigned) (work.size + max_side - 1) / max_side;
  const unsigned warps = (unsigned) work.warps;
  const unsigned rows = warps * (unsigned) sg_square_rows (std::min (work.size, max_side));
  const dim3 squares (((unsigned) work.columns * per_side + 31) / 32,
      ((unsigned) work.rows * per_side + rows - 1) / rows);
  const dim3 grid ((unsigned) (work.width + 127) / 128, (unsigned) (work.height + 31) / 32,
      work.out_layout ? 1 : (unsigned) work.n_components);
  const int count = work.reports ? SG_COUNT_ALL : work.output == CF_SEGMENT_MEAN ? SG_COUNT_MEANS : SG_COUNT_NOTHING;
  CfCode code;

  sg_select_pixels_kernel (work.size, count)<<<squares, 32 * warps, 0, stream>>> (work);
  code = cf_cuda_launched ("sg_pixels_kernel", status);
  if (code != CF_OK)
    return code;
  sg_table_kernel<<<32, 128, 0, stream>>> (work);
  code = cf_cuda_launched ("sg_table_kernel", status);
  if (code != CF_OK)
    return code;
  (work.out_layout ? sg_paint_words_kernel : sg_paint_kernel)<<<grid, 256, 0, stream>>> (work);
  return cf_cuda_launched ("sg_paint_kernel", status);
}

CfCode
sg_init_pixels (CfStatus *status)
{
  CfCode code = load_kernels ({ (const void *) sg_table_kernel, (const void *) sg_paint_kernel,
      (const void *) sg_paint_words_kernel }, sg_loading, status);

  for (int size = 1; code == CF_OK && size <= max_side; size++)
    for (int count = SG_COUNT_NOTHING; code == CF_OK && count <= SG_COUNT_ALL; count++)
      code = load_kernels ({ (const void *) sg_select_pixels_kernel (size, count) }, sg_loading, status);
  return code;
}

} // namespace cf
