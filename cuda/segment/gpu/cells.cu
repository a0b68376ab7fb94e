/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/gpu/cells.cu: steps 1 to 3 of the segmentation, and the components of seeds and kept cells inside tiles.
 *
 * Map: a block makes a tile of 32 x 32 cells, a warp warp_rows rows of it, a lane one column. A property of a row's
 * cells is one word, a bit per cell. sg_colors_kernel has a thread per cell; it runs only where sg_cells_kernel
 * cannot make the cells' own colours itself (cells that are cut off or cannot be read by words, or the seed-similarity
 * option).
 * Shared memory: SgTile: the own colours of the tile and of two cells around it, the smoothed ones of the tile and of
 * one cell around it, a union-find forest over the tile's cells, and the sums of each component at its root. Bits of a
 * row are joined as runs: a run hangs below the first run above that it touches.
 * Race free: trees are joined by atomicMin, under which the smaller root stays whatever the order, and a path that
 * is halved meanwhile still ends at the same root. A block barrier stands between the own colours, the smoothed ones,
 * the joins inside each warp's rows (the sums, in the memory of the own colours, are cleared there), the joins of those
 * rows, and the sums, which are integer atomics. The order of local_list is undefined; nothing depends on it.
 * Bound: no profile is recorded; docs/notes/segment.md has the times and what was tried. */
#include "list.cuh"
#include "samples.cuh"
#include "similarity.cuh"

namespace cf {

namespace {

constexpr int tile_width = sg_tile, tile_height = sg_tile_rows, warp_rows = 4;
constexpr int warps = tile_height / warp_rows, threads = 32 * warps;
static_assert (tile_width == 32 && warps <= 32, "a lane per column, a lane per warp");

constexpr int halo_width = tile_width + 2, halo_height = tile_height + 2; /* a tile and the cells around it */
constexpr int raw_width = halo_width + 2, raw_height = halo_height + 2;   /* and the cells around these */

struct SgTile {
  unsigned color[halo_width * halo_height]; /* smoothed; beyond the frame's edge any colour */
  /* a cell of the tile nearer to the root; in a run only the label of its first cell counts */
  unsigned label[tile_width * tile_height];
  /* sums at a root; luma: cells << 18 | Y */
  union {
    unsigned luma[tile_width * tile_height];
    unsigned raw[raw_width * raw_height]; /* own colours, before there are sums; beyond the edge the nearest cell's */
  };
  unsigned cb[tile_width * tile_height], cr[tile_width * tile_height];
  unsigned last[warps][32];    /* kinds of the last row of each warp */
  unsigned clicked[tile_height];
  unsigned frees[warps], locals[warps], locals_at; /* counts per warp, and where the tile's entries begin in the list */
};

/* The rows of one warp. Each bit of a word is a column. */
struct SgRows {
  unsigned kind[warp_rows]; /* of this lane's cells */
  unsigned any[warp_rows];  /* the cells that are not free */
  unsigned west[warp_rows]; /* the cells whose left neighbour is of the same kind */
};

/* Returns (sum + n / 2) / n of component c over the pixels of a cell. Where the cell holds whole samples of a
 * subsampled component, each sample counts once instead of once per pixel. SIZE > 0 is the size of a cell that is
 * not cut off, so that all of its loads are issued at once; 0 stands for any cell. */
template<int SIZE> __device__ __forceinline__ unsigned
sg_cell_mean (const SgWork &work, const SgComponent &c, int x0, int y0, int x1, int y1)
{
  const int dx = ((x0 | x1) & ((1 << c.w_sub) - 1)) == 0 ? 1 << c.w_sub : 1;
  const int dy = ((y0 | y1) & ((1 << c.h_sub) - 1)) == 0 ? 1 << c.h_sub : 1;
  unsigned sum = 0, n = 0;

  if (SIZE > 0) {
#pragma unroll
    for (int j = 0; j < SIZE; j++)
#pragma unroll
      for (int i = 0; i < SIZE; i++)
        if (i % dx == 0 && j % dy == 0) {
          sum += sg_sample (work, c, x0 + i, y0 + j);
          n++;
        }
  } else {
    for (int y = y0; y < y1; y += dy)
      for (int x = x0; x < x1; x += dx, n++)
        sum += sg_sample (work, c, x, y);
  }
  return (sum + n / 2) / n;
}

template<int SIZE> __device__ unsigned
sg_cell_color (const SgWork &work, int x0, int y0, int x1, int y1)
{
  const unsigned a = sg_cell_mean<SIZE> (work, work.component[0], x0, y0, x1, y1);

  if (work.n_colors == 1)
    return sg_color (work, a, 0, 0);
  return sg_color (work, a, sg_cell_mean<SIZE> (work, work.component[1], x0, y0, x1, y1),
      sg_cell_mean<SIZE> (work, work.component[2], x0, y0, x1, y1));
}

/* Returns the colour of a cell whose samples are read by words. */
template<int SIZE> __device__ __forceinline__ unsigned
sg_square_color (const SgWork &work, SgLayout layout, int x, int y)
{
  constexpr unsigned n = SIZE * SIZE;
  const unsigned chroma = sg_square_chroma (layout, n);
  unsigned sum[3];

  sg_sum_square<SIZE> (work, layout, x, y, sum);
  const unsigned a = (sum[0] + n / 2) / n, b = (sum[1] + chroma / 2) / chroma, c = (sum[2] + chroma / 2) / chroma;

  return layout == SG_GRAY ? a | 0x808000u
      : layout == SG_PACKED ? sg_color (work, a, b, c) : a | b << 8 | c << 16; /* planar layouts are never RGB */
}

/* Step 1 without the smoothing, one thread per cell. */
__global__ void __launch_bounds__ (256, 4)
sg_colors_kernel (const __grid_constant__ SgWork work)
{
  const int column = (int) (blockIdx.x * 32 + threadIdx.x % 32), row = (int) (blockIdx.y * 8 + threadIdx.x / 32);
  const int size = work.size, x0 = column * size, y0 = row * size;
  const int x1 = min (x0 + size, work.width), y1 = min (y0 + size, work.height);
  const bool whole = x1 - x0 == size && y1 - y0 == size;

  if (column >= work.columns || row >= work.rows)
    return;
  work.raw[row * work.columns + column] = !whole ? sg_cell_color<0> (work, x0, y0, x1, y1)
      : work.layout && size == 2 ? sg_square_color<2> (work, work.layout, x0, y0)
      : work.layout && size == 4 ? sg_square_color<4> (work, work.layout, x0, y0)
      : size == 1 ? sg_cell_color<1> (work, x0, y0, x1, y1)
      : size == 2 ? sg_cell_color<2> (work, x0, y0, x1, y1)
      : size == 4 ? sg_cell_color<4> (work, x0, y0, x1, y1)
      : sg_cell_color<0> (work, x0, y0, x1, y1);
}

/* Lets no cell of an old region be kept that holds two or more new seeds: its mean becomes 0, to which no colour is
 * near. One block. first_piece is 0 before and after. */
__global__ void __launch_bounds__ (1024)
sg_divide_kernel (const __grid_constant__ SgWork work)
{
  for (int i = (int) threadIdx.x; i < work.n_clicks; i += (int) blockDim.x) {
    const unsigned old = work.before.label[work.clicks[i]];

    if (atomicAdd (work.first_piece + old, 1u) == 1)
      work.before.mean[old] = 0;
  }
  __syncthreads ();
  for (int i = (int) threadIdx.x; i < work.n_clicks; i += (int) blockDim.x)
    work.first_piece[work.before.label[work.clicks[i]]] = 0;
}

/* Step 2: returns whether cell c of colour p stays in the old region of index `old`. */
__device__ __forceinline__ bool
sg_is_kept (const SgWork &work, unsigned p, unsigned c, unsigned old)
{
  const unsigned mean = work.before.mean[old];

  return sg_near (p, mean, work.keep[0])
      || (sg_near (p, work.before.p[c], work.keep[1]) && sg_near (p, mean, work.keep[2]));
}

/* Returns the relation `rel` of two colours whose squares add up to `squares`: 131072 d < n squares. */
__device__ __forceinline__ bool
sg_is_near (unsigned p, unsigned q, unsigned squares, unsigned n)
{
  return sg_distance (p, q) < (unsigned) (((unsigned long long) n * squares + 131071) >> 17);
}

/* Returns the own colour of a cell: computed here, or, if SIZE is 0, loaded as sg_colors_kernel has stored it. */
template<int SIZE> __device__ __forceinline__ unsigned
sg_color_at (const SgWork &work, SgLayout layout, int x, int y)
{
  const int column = min (max (x, 0), work.columns - 1), row = min (max (y, 0), work.rows - 1);

  return SIZE > 0 ? sg_square_color<SIZE == 4 ? 4 : 2> (work, layout, column * SIZE, row * SIZE)
      : work.raw[row * work.columns + column];
}

/* Stores the own colours of the tile and of two cells around it. Where it makes them, it stores the tile's in device
 * memory, too. LAYOUT is work.layout as a constant, for all loads to be issued at once. */
template<int SIZE, SgLayout LAYOUT> __device__ __forceinline__ void
sg_fill_tile (const SgWork &work, SgTile *tile, int x0, int y0)
{
  constexpr int n = raw_width * raw_height, rounds = (n + threads - 1) / threads;
  unsigned color[rounds];

#pragma unroll
  for (int i = 0; i < rounds; i++) {
    const int at = min ((int) threadIdx.x + i * threads, n - 1);

    color[i] = sg_color_at<SIZE> (work, LAYOUT, x0 - 2 + at % raw_width, y0 - 2 + at / raw_width);
  }
#pragma unroll
  for (int i = 0; i < rounds; i++) {
    const int at = (int) threadIdx.x + i * threads, x = at % raw_width - 2, y = at / raw_width - 2;

    if (at < n)
      tile->raw[at] = color[i];
    if (SIZE > 0 && (unsigned) x < tile_width && (unsigned) y < tile_height && x0 + x < work.columns
        && y0 + y < work.rows)
      work.raw[(y0 + y) * work.columns + x0 + x] = color[i];
  }
}

template<int SIZE> __device__ __forceinline__ void
sg_fill_tile (const SgWork &work, SgTile *tile, int x0, int y0)
{
  if (SIZE == 0)
    sg_fill_tile<SIZE, SG_ANY> (work, tile, x0, y0);
  else if (work.layout == SG_GRAY)
    sg_fill_tile<SIZE, SG_GRAY> (work, tile, x0, y0);
  else if (work.layout == SG_PLANAR_420)
    sg_fill_tile<SIZE, SG_PLANAR_420> (work, tile, x0, y0);
  else if (work.layout == SG_SEMI_420)
    sg_fill_tile<SIZE, SG_SEMI_420> (work, tile, x0, y0);
  else
    sg_fill_tile<SIZE, SG_PACKED> (work, tile, x0, y0);
}

/* Returns a + 2 b + c of components of colours, one or two of them in 16 bits each. */
__device__ __forceinline__ unsigned
sg_weigh (unsigned a, unsigned b, unsigned c)
{
  return a + 2 * b + c;
}

/* Step 1: makes the smoothed colours of the tile and of one cell around it. */
__device__ __forceinline__ void
sg_smooth_tile (SgTile *tile)
{
  for (int at = (int) threadIdx.x; at < halo_width * halo_height; at += threads) {
    const unsigned *q = tile->raw + at / halo_width * raw_width + at % halo_width; /* the upper left of the nine */
    unsigned even[3], odd[3]; /* of each row: Y and Cr; Cb */

#pragma unroll
    for (int j = 0; j < 3; j++) {
      const unsigned a = q[j * raw_width], b = q[j * raw_width + 1], c = q[j * raw_width + 2];

      even[j] = sg_weigh (a & 0xff00ff, b & 0xff00ff, c & 0xff00ff);
      odd[j] = sg_weigh (a >> 8 & 255, b >> 8 & 255, c >> 8 & 255);
    }
    tile->color[at] = ((sg_weigh (even[0], even[1], even[2]) + 0x80008) >> 4 & 0xff00ff)
        | (sg_weigh (odd[0], odd[1], odd[2]) + 8) >> 4 << 8;
  }
}

/* Compares the pairs of cells across the tile's left edge, one pair a lane, and returns one bit for each: the pairs
 * of warp_rows rows that lie side by side, then the diagonal pairs of warp_rows + 1 pairs of rows whose right cell
 * is the lower one, then those whose right cell is the upper one. */
__device__ __forceinline__ unsigned
sg_near_across (const SgWork &work, const SgTile *tile, int x0, int row)
{
  const int lane = (int) (threadIdx.x & 31), straight = lane < warp_rows, fall = lane < 2 * warp_rows + 1;
  const int k = straight ? lane : fall ? lane - warp_rows : min (lane - (2 * warp_rows + 1), warp_rows);
  const int left_y = row + (straight || !fall ? k : k - 1), right_y = row + (straight || fall ? k : k - 1);
  const unsigned *colors = tile->color + halo_width - row / tile_height * tile_height * halo_width;
  const unsigned p = colors[left_y * halo_width], q = colors[right_y * halo_width + 1];
  const bool inside = x0 > 0 && min (left_y, right_y) >= 0 && max (left_y, right_y) < work.rows;

  return __ballot_sync (~0u, !inside || sg_is_near (p, q, sg_square (p) + sg_square (q), work.seed));
}

/* Step 3, first part, for all rows of a warp: finds the cells that are similar to all of their neighbours. Each pair
 * of cells is compared once, by the lane of the left cell. Pairs with a cell outside the frame count as similar. */
__device__ __forceinline__ void
sg_find_smooth (const SgWork &work, const SgTile *tile, int x0, int row, unsigned (&p)[warp_rows + 2],
    unsigned (&smooth)[warp_rows])
{
  const unsigned *at = tile->color + row % tile_height * halo_width + (int) (threadIdx.x & 31) + 1;
  const int left = work.columns - 1 - x0;
  const unsigned beyond = left < 32 ? ~0u << left : 0; /* columns without a right neighbour */
  unsigned east[warp_rows + 2], square[warp_rows + 2], square_east[warp_rows + 2];

#pragma unroll
  for (int k = 0; k < warp_rows + 2; k++) {
    p[k] = at[k * halo_width];
    east[k] = at[k * halo_width + 1];
    square[k] = sg_square (p[k]);
    square_east[k] = sg_square (east[k]);
  }
  const unsigned across = sg_near_across (work, tile, x0, row);

#pragma unroll
  for (int k = 0; k < warp_rows; k++) {
    const unsigned same
        = __ballot_sync (~0u, sg_is_near (p[k + 1], east[k + 1], square[k + 1] + square_east[k + 1], work.seed))
        | beyond;

    smooth[k] = same & (same << 1 | (across >> k & 1));
  }
#pragma unroll
  for (int k = 0; k < warp_rows + 1; k++) { /* the rows k - 1 and k */
    const unsigned any = row + k <= 0 || row + k >= work.rows ? ~0u : 0;
    const unsigned down = any | __ballot_sync (~0u, sg_is_near (p[k], p[k + 1], square[k] + square[k + 1], work.seed));
    const unsigned fall
        = any | beyond | __ballot_sync (~0u, sg_is_near (p[k], east[k + 1], square[k] + square_east[k + 1], work.seed));
    const unsigned rise
        = any | beyond | __ballot_sync (~0u, sg_is_near (east[k], p[k + 1], square_east[k] + square[k + 1], work.seed));

    if (k > 0)
      smooth[k - 1] &= down & fall & (rise << 1 | (across >> (2 * warp_rows + 1 + k) & 1));
    if (k < warp_rows)
      smooth[k] &= down & rise & (fall << 1 | (across >> (warp_rows + k) & 1));
  }
}

/* Finds the kinds of a warp's cells. `old`: the regions to which they belonged in the last frame. `p`: their
 * colours, from the row above on. `inside`: the columns inside the frame. */
template<bool RECURRENT> __device__ __forceinline__ void
sg_find_kinds (const SgWork &work, const SgTile *tile, int x0, int row, unsigned inside,
    const unsigned (&old)[warp_rows], unsigned (&p)[warp_rows + 2], SgRows *rows)
{
  const int lane = (int) (threadIdx.x & 31), column = min (x0 + lane, work.columns - 1);
  unsigned seeds[warp_rows];

  sg_find_smooth (work, tile, x0, row, p, seeds);
#pragma unroll
  for (int j = 0; j < warp_rows; j++) {
    const int c = min (row + j, work.rows - 1) * work.columns + column;
    const unsigned here = row + j < work.rows ? inside : 0;
    const unsigned clicked = work.n_clicks > 0 ? tile->clicked[row % tile_height + j] : 0;

    if (work.similarity)
      seeds[j] &= __ballot_sync (~0u, (int) work.rough[c] > work.control->threshold);
    rows->any[j] = here & (seeds[j] | clicked);
    rows->kind[j] = rows->any[j] >> lane & 1 ? sg_seed_kind (p[j + 1], x0 + lane, row + j) : 0;
    if (RECURRENT) {
      if (here >> lane & 1 && sg_is_kept (work, p[j + 1], (unsigned) c, old[j]))
        rows->kind[j] = sg_kept + old[j];
      rows->any[j] = __ballot_sync (~0u, rows->kind[j] != 0);
    }
    const unsigned left = __shfl_up_sync (~0u, rows->kind[j], 1);

    rows->west[j] = __ballot_sync (~0u, lane > 0 && rows->kind[j] && left == rows->kind[j]);
  }
}

/* Returns the cells of row j that join the cell above them. `above`: the kinds of the row above, one per lane. A run is
 * joined at the cells where it first touches another run. */
__device__ __forceinline__ unsigned
sg_find_links (const SgRows &rows, int j, unsigned above)
{
  const unsigned kind = rows.kind[j], left = __shfl_up_sync (~0u, above, 1);
  const unsigned north = __ballot_sync (~0u, kind && above == kind);
  const unsigned north_west = __ballot_sync (~0u, kind && left == kind); /* lane 0 has no west, so its bit is unused */

  return north & ~(rows.west[j] & north_west);
}

/* Finds the roots of all cells of a lane at once. No thread may join trees meanwhile. */
__device__ __forceinline__ void
sg_tile_find_all (const unsigned *label, unsigned (&at)[warp_rows])
{
  bool again = true;

  while (again) {
    again = false;
#pragma unroll
    for (int j = 0; j < warp_rows; j++) {
      const unsigned to = label[at[j]];

      again = again || to != at[j];
      at[j] = to;
    }
  }
}

/* Returns the root of t. Halves the path on the way. */
__device__ __forceinline__ unsigned
sg_tile_find (unsigned *label, unsigned t)
{
  unsigned to = sg_peek (label + t);

  while (to != t) {
    const unsigned next = sg_peek (label + to);

    if (next != to)
      sg_poke (label + t, next);
    t = to;
    to = next;
  }
  return t;
}

__device__ __forceinline__ void
sg_tile_unite (unsigned *label, unsigned a, unsigned b)
{
  for (;;) {
    a = sg_tile_find (label, a);
    b = sg_tile_find (label, b);
    if (a == b)
      return;
    const unsigned low = min (a, b), halo_height = max (a, b), old = atomicMin (label + halo_height, low);

    if (old == halo_height)
      return;
    a = old;
    b = low;
  }
}

/* Joins this lane's run, whose tree holds `mine`, with the run above if `links` names the lane. t is its cell. */
__device__ __forceinline__ void
sg_unite_links (unsigned *label, unsigned links, unsigned mine, unsigned t)
{
  if (links >> (t & 31) & 1)
    sg_tile_unite (label, mine, sg_peek (label + t - tile_width));
}

/* Finds the components of equal kinds inside the rows of a warp. A run is attached to the first run above that it
 * touches, without an atomic access; if it touches more of them, those are united with it. at: the cell to which
 * each cell is attached. */
__device__ __forceinline__ void
sg_join_rows (SgTile *tile, const SgRows &rows, unsigned t, unsigned (&at)[warp_rows])
{
  const unsigned lane = t & 31;
  unsigned more[warp_rows];

#pragma unroll
  for (int j = 0; j < warp_rows; j++) {
    const unsigned starts = ~rows.west[j], from = 31 - (unsigned) __clz ((int) (starts & (~0u >> (31 - lane))));
    const unsigned later = starts & ~1u << from, run = (later ? (later & -later) - 1 : ~0u) & ~0u << from;

    at[j] = t + (unsigned) j * tile_width - lane + from;
    more[j] = 0;
    if (j == 0)
      continue;
    const unsigned links = sg_find_links (rows, j, rows.kind[j - 1]), touching = links & run;
    const unsigned first = touching ? (unsigned) __ffs ((int) touching) - 1 : lane;
    const unsigned to = __shfl_sync (~0u, at[j - 1], (int) first);

    more[j] = links & ~__ballot_sync (~0u, touching && first == lane);
    at[j] = touching ? to : at[j];
  }
#pragma unroll
  for (int j = 0; j < warp_rows; j++)
    tile->label[t + j * tile_width] = at[j];
  __syncwarp ();
#pragma unroll
  for (int j = 1; j < warp_rows; j++)
    if (more[j])
      sg_unite_links (tile->label, more[j], at[j], t + (unsigned) j * tile_width);
}

/* The sums that one lane has collected of one component. */
struct SgLaneSums {
  unsigned root, luma, chroma; /* luma: cells << 18 | Y; chroma: Cb | Cr << 16; the sums of a warp need at most 16
                                * bits each */
};

__device__ __forceinline__ void
sg_add_lane_sums (SgTile *tile, const SgLaneSums &s)
{
  atomicAdd (&tile->luma[s.root], s.luma);
  atomicAdd (&tile->cb[s.root], s.chroma & 0xffff);
  atomicAdd (&tile->cr[s.root], s.chroma >> 16);
}

/* Adds the colours of the cells to the sums at their roots: first down each column while the component stays the
 * same, then across the columns for the first two components of the warp. Most warps have no more than two. */
__device__ __forceinline__ void
sg_add_colors (SgTile *tile, const SgRows &rows, const unsigned (&p)[warp_rows + 2], const unsigned (&root)[warp_rows])
{
  const unsigned lane = threadIdx.x & 31;
  SgLaneSums s = { sg_none, 0, 0 };

#pragma unroll
  for (int j = 0; j < warp_rows; j++) {
    if (!rows.kind[j])
      continue;
    if (root[j] != s.root) {
      if (s.root != sg_none)
        sg_add_lane_sums (tile, s);
      s = SgLaneSums { root[j], 0, 0 };
    }
    s.luma += 1u << 18 | (p[j + 1] & 255);
    s.chroma += (p[j + 1] >> 8 & 255) | (p[j + 1] & 0xff0000);
  }
  unsigned rest = __ballot_sync (~0u, s.root != sg_none);

  for (int i = 0; i < 2 && rest; i++) {
    const int leader = __ffs ((int) rest) - 1;
    const unsigned root_0 = __shfl_sync (~0u, s.root, leader);
    const bool mine = s.root == root_0;
    const SgLaneSums all = { root_0, sg_reduce (~0u, mine ? s.luma : 0), sg_reduce (~0u, mine ? s.chroma : 0) };

    if (lane == (unsigned) leader)
      sg_add_lane_sums (tile, all);
    rest &= ~__ballot_sync (~0u, mine);
    s.root = mine ? sg_none : s.root;
  }
  if (s.root != sg_none)
    sg_add_lane_sums (tile, s);
}

/* Marks the cells of the tile that hold user seeds. All threads of the block must call. */
__device__ void
sg_mark_clicks (const SgWork &work, SgTile *tile, int x0, int y0)
{
  for (int i = (int) threadIdx.x; i < tile_height; i += threads)
    tile->clicked[i] = 0;
  __syncthreads ();
  for (int i = (int) threadIdx.x; i < work.n_clicks; i += threads) {
    const int x = work.clicks[i] % work.columns - x0, y = work.clicks[i] / work.columns - y0;

    if ((unsigned) x < tile_width && (unsigned) y < tile_height)
      atomicOr (&tile->clicked[y], 1u << x);
  }
  __syncthreads ();
}

/* Returns how many entries the warps before this one have. Sets `*all` to the entries of all warps. */
__device__ __forceinline__ unsigned
sg_entries_before (const unsigned *counts, unsigned *all)
{
  const unsigned lane = threadIdx.x & 31, count = lane < warps ? counts[lane] : 0;

  *all = sg_reduce (~0u, count);
  return sg_reduce (~0u, lane < threadIdx.x / 32 ? count : 0);
}

/* Stores what the graph kernel reads of one cell, except its component. t is the number of the cell in the tile. */
__device__ __forceinline__ void
sg_write_cell (const SgWork &work, const SgTile &tile, unsigned c, unsigned kind, unsigned p, unsigned t, unsigned root)
{
  work.after.p[c] = p;
  work.kind[c] = kind;
  work.parent[c] = c;
  if (!kind) {
    work.record[c] = sg_record_of (p);
    return;
  }
  if (t != root)
    return;
  const unsigned long long luma = tile.luma[t];

  work.record[c] = SgRecord { sg_seeded | luma >> 18 << 32 | (luma & 0x3ffff),
    (unsigned long long) tile.cb[t] << 32 | tile.cr[t] };
  work.claim[c] = 0;
  if (work.weak_borders)
    work.perimeter[c] = 0;
  work.best[0][c] = work.best[1][c] = sg_none_64;
}

template<bool RECURRENT, int SIZE> __global__ void __launch_bounds__ (threads, 1024 / threads)
sg_cells_kernel (const __grid_constant__ SgWork work)
{
  __shared__ SgTile tile;
  const int lane = (int) (threadIdx.x & 31), warp = (int) (threadIdx.x / 32);
  const int x0 = (int) blockIdx.x * tile_width, y0 = (int) blockIdx.y * tile_height, row = y0 + warp * warp_rows;
  const unsigned t = (unsigned) (warp * warp_rows * tile_width + lane), below = (1u << lane) - 1;
  const unsigned c = (unsigned) (row * work.columns + x0 + lane);
  const unsigned inside = work.columns - x0 < 32 ? (1u << (work.columns - x0)) - 1 : ~0u;
  unsigned old[warp_rows] = { 0 }, p[warp_rows + 2], at[warp_rows], local[warp_rows], n_free = 0, n_local = 0, all;
  SgRows rows;

#pragma unroll
  for (int j = 0; RECURRENT && j < warp_rows; j++)
    old[j] = work.before.label[min (row + j, work.rows - 1) * work.columns + min (x0 + lane, work.columns - 1)];
  sg_fill_tile<SIZE> (work, &tile, x0, y0);
  __syncthreads ();
  sg_smooth_tile (&tile);
  if (work.n_clicks > 0)
    sg_mark_clicks (work, &tile, x0, y0);
  __syncthreads ();
  sg_find_kinds<RECURRENT> (work, &tile, x0, row, inside, old, p, &rows);
  sg_join_rows (&tile, rows, t, at);
#pragma unroll
  for (int j = 0; j < warp_rows; j++) {
    tile.luma[t + j * tile_width] = tile.cb[t + j * tile_width] = tile.cr[t + j * tile_width] = 0;
    n_free += row + j < work.rows ? (unsigned) __popc (inside & ~rows.any[j]) : 0;
  }
  tile.last[warp][lane] = rows.kind[warp_rows - 1];
  if (lane == 0)
    tile.frees[warp] = n_free;
  __syncthreads ();
  if (warp > 0)
    sg_unite_links (tile.label, sg_find_links (rows, 0, tile.last[warp - 1][lane]), at[0], t);
  sg_entries_before (tile.frees, &all);
  if (threadIdx.x == 0 && all)
    atomicAdd (&work.control->free, all);
  __syncthreads ();
  sg_tile_find_all (tile.label, at);
  sg_add_colors (&tile, rows, p, at);
#pragma unroll
  for (int j = 0; j < warp_rows; j++) {
    local[j] = __ballot_sync (~0u, rows.kind[j] && at[j] == t + (unsigned) j * tile_width);
    n_local += (unsigned) __popc (local[j]);
  }
  if (lane == 0)
    tile.locals[warp] = n_local;
  __syncthreads ();
  unsigned local_at = sg_entries_before (tile.locals, &all);

  if (threadIdx.x == 0 && all)
    tile.locals_at = atomicAdd (&work.control->locals, all);
#pragma unroll
  for (int j = 0; j < warp_rows; j++) {
    const unsigned cell = c + (unsigned) (j * work.columns);

    if (row + j < work.rows && (inside >> lane & 1))
      sg_write_cell (work, tile, cell, rows.kind[j], p[j + 1], t + (unsigned) j * tile_width, at[j]);
  }
  __syncthreads ();
  local_at += tile.locals_at;
#pragma unroll
  for (int j = 0; j < warp_rows; j++) {
    const unsigned number = local_at + (unsigned) __popc (local[j] & below);

    if (local[j] >> lane & 1) {
      work.local_list[number] = c + (unsigned) (j * work.columns);
      tile.label[t + (unsigned) j * tile_width] = number;
    }
    local_at += (unsigned) __popc (local[j]);
  }
  __syncthreads ();
#pragma unroll
  for (int j = 0; j < warp_rows; j++)
    if (row + j < work.rows && (inside >> lane & 1))
      work.local[c + (unsigned) (j * work.columns)] = rows.kind[j] ? tile.label[at[j]] : sg_none;
}

using Kernel = void (*) (const SgWork);

/* size: of the cells whose colours the kernel makes; 0: the colours have been stored before. */
Kernel
sg_select_cells_kernel (bool recurrent, int size)
{
  return size == 2 ? (recurrent ? sg_cells_kernel<true, 2> : sg_cells_kernel<false, 2>)
      : size == 4 ? (recurrent ? sg_cells_kernel<true, 4> : sg_cells_kernel<false, 4>)
      : recurrent ? sg_cells_kernel<true, 0> : sg_cells_kernel<false, 0>;
}

/* Returns the cell size if sg_cells_kernel can make the colours itself, else 0: all cells must be whole and readable
 * by words, and the similarity must not need the colours of all cells before. */
int
sg_size_of_colors (const SgWork &work)
{
  const bool whole = work.width % work.size == 0 && work.height % work.size == 0;

  return work.layout && whole && !work.similarity && (work.size == 2 || work.size == 4) ? work.size : 0;
}

CfCode
sg_launch_colors (const SgWork &work, cudaStream_t stream, CfStatus *status)
{
  const dim3 grid ((unsigned) (work.columns + 31) / 32, (unsigned) (work.rows + 7) / 8);
  CfCode code;

  sg_colors_kernel<<<grid, 256, 0, stream>>> (work);
  code = cf_cuda_launched ("sg_colors_kernel", status);
  return code == CF_OK && work.similarity ? sg_launch_similarity (work, stream, status) : code;
}

} // namespace

CfCode
sg_launch_cells (const SgWork &work, cudaStream_t stream, CfStatus *status)
{
  const dim3 grid ((unsigned) (work.columns + tile_width - 1) / tile_width,
      (unsigned) (work.rows + tile_height - 1) / tile_height);
  const int size = sg_size_of_colors (work);
  CfCode code = CF_OK;

  if (work.divides) {
    sg_divide_kernel<<<1, 1024, 0, stream>>> (work);
    code = cf_cuda_launched ("sg_divide_kernel", status);
  }
  if (code == CF_OK && size == 0)
    code = sg_launch_colors (work, stream, status);
  if (code != CF_OK)
    return code;
  sg_select_cells_kernel (work.recurrent, size)<<<grid, threads, 0, stream>>> (work);
  return cf_cuda_launched ("sg_cells_kernel", status);
}

CfCode
sg_init_cells (CfStatus *status)
{
  CfCode code = load_kernels ({ (const void *) sg_divide_kernel, (const void *) sg_colors_kernel,
      (const void *) sg_roughness_kernel, (const void *) sg_histogram_kernel, (const void *) sg_otsu_kernel },
      sg_loading, status);

  for (int size = 0; code == CF_OK && size <= 4; size += 2)
    code = load_kernels ({ (const void *) sg_select_cells_kernel (false, size),
        (const void *) sg_select_cells_kernel (true, size) }, sg_loading, status);
  return code;
}

} // namespace cf
