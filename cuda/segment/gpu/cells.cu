/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment/gpu/cells.cu: steps 1 to 3 of the segmentation, and its components inside
 * tiles of 32 x 32 cells: a block a tile, a warp some rows, a lane a column. What is known of a row's
 * cells is a word, a bit a cell, and a run of equal cells is joined with those above as one. Where the
 * samples can be read by words, the tile's block makes the colours, of the cells around it as well. */
#include "list.cuh"
#include "samples.cuh"
#include "similarity.cuh"

namespace cf {

namespace {

constexpr int side = sg_tile, tall = sg_tile_rows, each = 4; /* rows of a warp */
constexpr int warps = tall / each, threads = 32 * warps;
static_assert (side == 32 && warps <= 32, "a lane a column, a lane a warp");

constexpr int wide = side + 2, high = tall + 2; /* a tile and the cells around it */

struct Tile {
  unsigned color[wide * high]; /* outside the picture that of some cell inside */
  unsigned label[side * tall]; /* a cell of the tile nearer to the root; of a run's cells its first one's counts */
  unsigned luma[side * tall], cb[side * tall], cr[side * tall]; /* sums at a root; luma: cells << 18 | Y */
  unsigned last[warps][32];    /* kinds of each warp's last row */
  unsigned clicked[tall];
  unsigned frees[warps], locals[warps], locals_at; /* how many there are, and where the tile's go */
};

/* A warp's rows; of the words each bit is a column's. */
struct Rows {
  unsigned kind[each]; /* of this lane's cells */
  unsigned any[each];  /* the cells that are not free */
  unsigned west[each]; /* those of their left neighbour's kind */
};

/* How a row touches the one above: the cells that join with the one above, above left and above right. */
struct Links {
  unsigned straight, left, right;
};

/* (sum + n / 2) / n of component c over a cell's pixels. Where the cell holds whole
 * samples of a subsampled component, each counts once instead of once a pixel. SIZE: the
 * cell's, for one that is not cut off, so that all loads go at once; 0: any. */
template<int SIZE> __device__ __forceinline__ unsigned
cell_mean (const SgWork &work, const SgComponent &c, int x0, int y0, int x1, int y1)
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
cell_color (const SgWork &work, int x0, int y0, int x1, int y1)
{
  const unsigned a = cell_mean<SIZE> (work, work.component[0], x0, y0, x1, y1);

  if (work.n_colors == 1)
    return sg_color (work, a, 0, 0);
  return sg_color (work, a, cell_mean<SIZE> (work, work.component[1], x0, y0, x1, y1),
      cell_mean<SIZE> (work, work.component[2], x0, y0, x1, y1));
}

/* The same of a cell whose samples are read by words. */
template<int SIZE> __device__ __forceinline__ unsigned
square_color (const SgWork &work, SgLayout layout, int x, int y)
{
  constexpr unsigned n = SIZE * SIZE;
  const unsigned chroma = sg_square_chroma (layout, n);
  unsigned sum[3];

  sg_sum_square<SIZE> (work, layout, x, y, sum);
  const unsigned a = (sum[0] + n / 2) / n, b = (sum[1] + chroma / 2) / chroma, c = (sum[2] + chroma / 2) / chroma;

  return layout == SG_GRAY ? a | 0x808000u
      : layout == SG_PACKED ? sg_color (work, a, b, c) : a | b << 8 | c << 16; /* in planes there is no RGB */
}

/* Step 1, a thread a cell. */
__global__ void __launch_bounds__ (256, 4)
segment_colors (const __grid_constant__ SgWork work)
{
  const int column = (int) (blockIdx.x * 32 + threadIdx.x % 32), row = (int) (blockIdx.y * 8 + threadIdx.x / 32);
  const int size = work.size, x0 = column * size, y0 = row * size;
  const int x1 = min (x0 + size, work.width), y1 = min (y0 + size, work.height);
  const bool whole = x1 - x0 == size && y1 - y0 == size;

  if (column >= work.columns || row >= work.rows)
    return;
  work.after.p[row * work.columns + column] = !whole ? cell_color<0> (work, x0, y0, x1, y1)
      : work.layout && size == 2 ? square_color<2> (work, work.layout, x0, y0)
      : work.layout && size == 4 ? square_color<4> (work, work.layout, x0, y0)
      : size == 1 ? cell_color<1> (work, x0, y0, x1, y1)
      : size == 2 ? cell_color<2> (work, x0, y0, x1, y1)
      : size == 4 ? cell_color<4> (work, x0, y0, x1, y1)
      : cell_color<0> (work, x0, y0, x1, y1);
}

/* Step 2. */
__device__ __forceinline__ bool
is_kept (const SgWork &work, unsigned p, unsigned c, unsigned old)
{
  const unsigned mean = work.before.mean[old];

  return sg_near (p, mean, work.keep[0])
      || (sg_near (p, work.before.p[c], work.keep[1]) && sg_near (p, mean, work.keep[2]));
}

/* rel, of two colours whose squares add up to `squares`: 131072 d < n squares. */
__device__ __forceinline__ bool
is_near (unsigned p, unsigned q, unsigned squares, unsigned n)
{
  return sg_distance (p, q) < (unsigned) (((unsigned long long) n * squares + 131071) >> 17);
}

/* The colour of a cell, made here or by segment_colors (SIZE is 0). */
template<int SIZE> __device__ __forceinline__ unsigned
color_at (const SgWork &work, SgLayout layout, int x, int y)
{
  const int column = min (max (x, 0), work.columns - 1), row = min (max (y, 0), work.rows - 1);

  return SIZE > 0 ? square_color<SIZE == 4 ? 4 : 2> (work, layout, column * SIZE, row * SIZE)
      : work.after.p[row * work.columns + column];
}

/* The colours of the tile and of the cells around it: of the last rows, which not all warps have, the others
 * make what is left and right of it. LAYOUT: work.layout, so that all loads go at once. */
template<int SIZE, SgLayout LAYOUT> __device__ __forceinline__ void
fill_tile (const SgWork &work, Tile *tile, int x0, int y0)
{
  constexpr int turns = high / warps, rest = high % warps;
  const int lane = (int) (threadIdx.x & 31), warp = (int) (threadIdx.x / 32), beside = (int) threadIdx.x - 32 * rest;
  unsigned color[turns + 1];
  static_assert (32 * (warps - rest) >= 2 * high, "what is beside the tile fits");

#pragma unroll
  for (int i = 0; i < turns; i++)
    color[i] = color_at<SIZE> (work, LAYOUT, x0 + lane, y0 - 1 + warp + i * warps);
  const int x = beside < 0 ? lane : beside < high ? -1 : side;
  const int y = beside < 0 ? warp + turns * warps : beside < high ? beside : beside - high;

  color[turns] = color_at<SIZE> (work, LAYOUT, x0 + x, y0 - 1 + y);
#pragma unroll
  for (int i = 0; i < turns; i++)
    tile->color[(warp + i * warps) * wide + lane + 1] = color[i];
  if (beside < 2 * high)
    tile->color[y * wide + x + 1] = color[turns];
}

template<int SIZE> __device__ __forceinline__ void
fill_tile (const SgWork &work, Tile *tile, int x0, int y0)
{
  if (SIZE == 0)
    fill_tile<SIZE, SG_ANY> (work, tile, x0, y0);
  else if (work.layout == SG_GRAY)
    fill_tile<SIZE, SG_GRAY> (work, tile, x0, y0);
  else if (work.layout == SG_PLANAR_420)
    fill_tile<SIZE, SG_PLANAR_420> (work, tile, x0, y0);
  else if (work.layout == SG_SEMI_420)
    fill_tile<SIZE, SG_SEMI_420> (work, tile, x0, y0);
  else
    fill_tile<SIZE, SG_PACKED> (work, tile, x0, y0);
}

/* The pairs across the tile's left edge, one a lane, a bit each: of `each` rows those beside each other; of each + 1
 * pairs of rows those where the right one is lower, then those where it is upper. */
__device__ __forceinline__ unsigned
near_across (const SgWork &work, const Tile *tile, int x0, int row)
{
  const int lane = (int) (threadIdx.x & 31), straight = lane < each, fall = lane < 2 * each + 1;
  const int k = straight ? lane : fall ? lane - each : min (lane - (2 * each + 1), each);
  const int left_y = row + (straight || !fall ? k : k - 1), right_y = row + (straight || fall ? k : k - 1);
  const unsigned *colors = tile->color + wide - row / tall * tall * wide;
  const unsigned p = colors[left_y * wide], q = colors[right_y * wide + 1];
  const bool inside = x0 > 0 && min (left_y, right_y) >= 0 && max (left_y, right_y) < work.rows;

  return __ballot_sync (~0u, !inside || is_near (p, q, sg_square (p) + sg_square (q), work.seed));
}

/* Step 3, the first part, for all of a warp's rows: which cells are alike all their neighbours? Each pair of cells
 * is looked at once, by the left one's lane, and pairs with cells outside count as alike. */
__device__ __forceinline__ void
find_smooth (const SgWork &work, const Tile *tile, int x0, int row, unsigned (&p)[each + 2], unsigned (&smooth)[each])
{
  const unsigned *at = tile->color + row % tall * wide + (int) (threadIdx.x & 31) + 1;
  const int left = work.columns - 1 - x0;
  const unsigned beyond = left < 32 ? ~0u << left : 0; /* what has nothing to its right */
  unsigned east[each + 2], square[each + 2], square_east[each + 2];

#pragma unroll
  for (int k = 0; k < each + 2; k++) {
    p[k] = at[k * wide];
    east[k] = at[k * wide + 1];
    square[k] = sg_square (p[k]);
    square_east[k] = sg_square (east[k]);
  }
  const unsigned across = near_across (work, tile, x0, row);

#pragma unroll
  for (int k = 0; k < each; k++) {
    const unsigned same
        = __ballot_sync (~0u, is_near (p[k + 1], east[k + 1], square[k + 1] + square_east[k + 1], work.seed)) | beyond;

    smooth[k] = same & (same << 1 | (across >> k & 1));
  }
#pragma unroll
  for (int k = 0; k < each + 1; k++) { /* the rows k - 1 and k */
    const unsigned any = row + k <= 0 || row + k >= work.rows ? ~0u : 0;
    const unsigned down = any | __ballot_sync (~0u, is_near (p[k], p[k + 1], square[k] + square[k + 1], work.seed));
    const unsigned fall
        = any | beyond | __ballot_sync (~0u, is_near (p[k], east[k + 1], square[k] + square_east[k + 1], work.seed));
    const unsigned rise
        = any | beyond | __ballot_sync (~0u, is_near (east[k], p[k + 1], square_east[k] + square[k + 1], work.seed));

    if (k > 0)
      smooth[k - 1] &= down & fall & (rise << 1 | (across >> (2 * each + 1 + k) & 1));
    if (k < each)
      smooth[k] &= down & rise & (fall << 1 | (across >> (each + k) & 1));
  }
}

/* The kinds of a warp's cells; old: their regions before, p: their colours, from the row above on. `inside`: the
 * columns. */
template<bool FOLLOW> __device__ __forceinline__ void
find_kinds (const SgWork &work, const Tile *tile, int x0, int row, unsigned inside, const unsigned (&old)[each],
    unsigned (&p)[each + 2], Rows *rows)
{
  const int lane = (int) (threadIdx.x & 31), column = min (x0 + lane, work.columns - 1);
  unsigned seeds[each];

  find_smooth (work, tile, x0, row, p, seeds);
#pragma unroll
  for (int j = 0; j < each; j++) {
    const int c = min (row + j, work.rows - 1) * work.columns + column;
    const unsigned here = row + j < work.rows ? inside : 0;
    const unsigned clicked = work.n_clicks > 0 ? tile->clicked[row % tall + j] : 0;

    if (work.similarity)
      seeds[j] &= __ballot_sync (~0u, (int) work.rough[c] > work.control->threshold);
    rows->any[j] = here & (seeds[j] | clicked);
    rows->kind[j] = rows->any[j] >> lane & 1;
    if (FOLLOW) {
      if ((here & ~clicked) >> lane & 1 && is_kept (work, p[j + 1], (unsigned) c, old[j]))
        rows->kind[j] = 2 + old[j];
      rows->any[j] = __ballot_sync (~0u, rows->kind[j] != 0);
      const unsigned left = __shfl_up_sync (~0u, rows->kind[j], 1);

      rows->west[j] = __ballot_sync (~0u, lane > 0 && rows->kind[j] && left == rows->kind[j]);
    } else {
      rows->west[j] = rows->any[j] & rows->any[j] << 1;
    }
  }
}

/* Row j and the one above, whose kinds are `above`, a lane each. A run is joined where it first touches another. */
template<bool FOLLOW> __device__ __forceinline__ Links
find_links (const Rows &rows, int j, unsigned above)
{
  const unsigned kind = rows.kind[j], west = rows.west[j], lane = threadIdx.x & 31;
  unsigned north, north_west, north_east;

  if (FOLLOW) {
    const unsigned left = __shfl_up_sync (~0u, above, 1), right = __shfl_down_sync (~0u, above, 1);

    north = __ballot_sync (~0u, kind && above == kind);
    north_west = __ballot_sync (~0u, lane > 0 && kind && left == kind);
    north_east = __ballot_sync (~0u, lane < 31 && kind && right == kind);
  } else {
    const unsigned row = __ballot_sync (~0u, above != 0);

    north = rows.any[j] & row;
    north_west = rows.any[j] & row << 1;
    north_east = rows.any[j] & row >> 1;
  }
  return Links { north & ~(west & north_west), ~north & north_west & ~west, ~north & north_east & ~(west >> 1) };
}

/* The roots of a lane's cells at once; nobody joins trees meanwhile. */
__device__ __forceinline__ void
find_all (const unsigned *label, unsigned (&at)[each])
{
  bool again = true;

  while (again) {
    again = false;
#pragma unroll
    for (int j = 0; j < each; j++) {
      const unsigned to = label[at[j]];

      again = again || to != at[j];
      at[j] = to;
    }
  }
}

/* On the way each cell is hung one higher. */
__device__ __forceinline__ unsigned
find_now (unsigned *label, unsigned t)
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
unite (unsigned *label, unsigned a, unsigned b)
{
  for (;;) {
    a = find_now (label, a);
    b = find_now (label, b);
    if (a == b)
      return;
    const unsigned low = min (a, b), high = max (a, b), old = atomicMin (label + high, low);

    if (old == high)
      return;
    a = old;
    b = low;
  }
}

/* Joins this lane's run, which hangs below `mine`, with those above that `links` names; t: the lane's cell. */
__device__ __forceinline__ void
unite_links (unsigned *label, const Links &links, unsigned mine, unsigned t)
{
  const unsigned lane = t & 31;

  if (links.straight >> lane & 1)
    unite (label, mine, sg_peek (label + t - side));
  if (links.left >> lane & 1)
    unite (label, mine, sg_peek (label + t - side - 1));
  if (links.right >> lane & 1)
    unite (label, mine, sg_peek (label + t - side + 1));
}

/* Components of equal kinds inside the warp's rows: a run hangs below the first one above that it touches, without
 * an atomic access; where it touches more of them, those are joined. at: what each cell hangs below. */
template<bool FOLLOW> __device__ __forceinline__ void
join_rows (Tile *tile, const Rows &rows, unsigned t, unsigned (&at)[each])
{
  const unsigned lane = t & 31;
  Links more[each];

#pragma unroll
  for (int j = 0; j < each; j++) {
    const unsigned starts = ~rows.west[j], from = 31 - (unsigned) __clz ((int) (starts & (~0u >> (31 - lane))));
    const unsigned later = starts & ~1u << from, run = (later ? (later & -later) - 1 : ~0u) & ~0u << from;

    at[j] = t + (unsigned) j * side - lane + from;
    more[j] = Links { 0, 0, 0 };
    if (j == 0)
      continue;
    const Links links = find_links<FOLLOW> (rows, j, rows.kind[j - 1]);
    const unsigned all = links.straight | links.left | links.right, touching = all & run;
    const unsigned first = touching ? (unsigned) __ffs ((int) touching) - 1 : lane;
    const unsigned firsts = __ballot_sync (~0u, touching && first == lane);
    const unsigned above = links.straight >> first & 1 ? first : links.left >> first & 1 ? first - 1 : first + 1;
    const unsigned to = __shfl_sync (~0u, at[j - 1], (int) above);

    at[j] = touching ? to : at[j];
    more[j] = Links { links.straight & ~firsts, links.left & ~firsts, links.right & ~(firsts & ~links.left) };
  }
#pragma unroll
  for (int j = 0; j < each; j++)
    tile->label[t + j * side] = at[j];
  __syncwarp ();
#pragma unroll
  for (int j = 1; j < each; j++)
    if (more[j].straight | more[j].left | more[j].right)
      unite_links (tile->label, more[j], at[j], t + (unsigned) j * side);
}

/* What a lane has found of one component. */
struct Sums {
  unsigned root, luma, chroma; /* luma: cells << 18 | Y; chroma: Cb | Cr << 16, of one warp no more than 16 bits each */
};

__device__ __forceinline__ void
add_sums (Tile *tile, const Sums &s)
{
  atomicAdd (&tile->luma[s.root], s.luma);
  atomicAdd (&tile->cb[s.root], s.chroma & 0xffff);
  atomicAdd (&tile->cr[s.root], s.chroma >> 16);
}

/* Adds the cells' colours to their roots' sums: down each column as long as they are of one component, then
 * across the columns for the first two components that are met; most warps have no more. */
__device__ __forceinline__ void
add_colors (Tile *tile, const Rows &rows, const unsigned (&p)[each + 2], const unsigned (&root)[each])
{
  const unsigned lane = threadIdx.x & 31;
  Sums s = { sg_none, 0, 0 };

#pragma unroll
  for (int j = 0; j < each; j++) {
    if (!rows.kind[j])
      continue;
    if (root[j] != s.root) {
      if (s.root != sg_none)
        add_sums (tile, s);
      s = Sums { root[j], 0, 0 };
    }
    s.luma += 1u << 18 | (p[j + 1] & 255);
    s.chroma += (p[j + 1] >> 8 & 255) | (p[j + 1] & 0xff0000);
  }
  unsigned rest = __ballot_sync (~0u, s.root != sg_none);

  for (int i = 0; i < 2 && rest; i++) {
    const int leader = __ffs ((int) rest) - 1;
    const unsigned root_0 = __shfl_sync (~0u, s.root, leader);
    const bool mine = s.root == root_0;
    const Sums all = { root_0, sg_reduce (~0u, mine ? s.luma : 0), sg_reduce (~0u, mine ? s.chroma : 0) };

    if (lane == (unsigned) leader)
      add_sums (tile, all);
    rest &= ~__ballot_sync (~0u, mine);
    s.root = mine ? sg_none : s.root;
  }
  if (s.root != sg_none)
    add_sums (tile, s);
}

/* The cells of the tile that the user's seeds are in. All of the block's threads call. */
__device__ void
mark_clicks (const SgWork &work, Tile *tile, int x0, int y0)
{
  for (int i = (int) threadIdx.x; i < tall; i += threads)
    tile->clicked[i] = 0;
  __syncthreads ();
  for (int i = (int) threadIdx.x; i < work.n_clicks; i += threads) {
    const int x = work.clicks[i] % work.columns - x0, y = work.clicks[i] / work.columns - y0;

    if ((unsigned) x < side && (unsigned) y < tall)
      atomicOr (&tile->clicked[y], 1u << x);
  }
  __syncthreads ();
}

/* How many of all warps' entries stand before this warp's; *all: how many there are. */
__device__ __forceinline__ unsigned
entries_before (const unsigned *counts, unsigned *all)
{
  const unsigned lane = threadIdx.x & 31, count = lane < warps ? counts[lane] : 0;

  *all = sg_reduce (~0u, count);
  return sg_reduce (~0u, lane < threadIdx.x / 32 ? count : 0);
}

/* What the graph's launch is told of one cell; t: its number in the tile. */
template<int SIZE> __device__ __forceinline__ void
write_cell (const SgWork &work, const Tile &tile, unsigned c, unsigned kind, unsigned p, unsigned t, unsigned root)
{
  if (SIZE > 0)
    work.after.p[c] = p;
  work.kind[c] = kind;
  work.parent[c] = c;
  if (!kind) {
    work.record[c] = sg_record_of (p);
    return;
  }
  work.joined[c] = sg_mix (c - (t / side - root / side) * (unsigned) work.columns - (t % side - root % side));
  if (t != root)
    return;
  const unsigned long long luma = tile.luma[t];

  work.record[c] = SgRecord { sg_seeded | luma >> 18 << 32 | (luma & 0x3ffff),
    (unsigned long long) tile.cb[t] << 32 | tile.cr[t] };
  work.claim[c] = 0;
  work.count[c] = 0;
  work.smallest[c] = sg_none;
  work.best[0][c] = work.best[1][c] = sg_never;
}

template<bool FOLLOW, int SIZE> __global__ void __launch_bounds__ (threads, 1024 / threads)
segment_cells (const __grid_constant__ SgWork work)
{
  __shared__ Tile tile;
  const int lane = (int) (threadIdx.x & 31), warp = (int) (threadIdx.x / 32);
  const int x0 = (int) blockIdx.x * side, y0 = (int) blockIdx.y * tall, row = y0 + warp * each;
  const unsigned t = (unsigned) (warp * each * side + lane), below = (1u << lane) - 1;
  const unsigned c = (unsigned) (row * work.columns + x0 + lane);
  const unsigned inside = work.columns - x0 < 32 ? (1u << (work.columns - x0)) - 1 : ~0u;
  unsigned old[each] = { 0 }, p[each + 2], at[each], local[each], n_free = 0, n_local = 0, all;
  Rows rows;

#pragma unroll
  for (int j = 0; FOLLOW && j < each; j++)
    old[j] = work.before.label[min (row + j, work.rows - 1) * work.columns + min (x0 + lane, work.columns - 1)];
  fill_tile<SIZE> (work, &tile, x0, y0);
  if (work.n_clicks > 0)
    mark_clicks (work, &tile, x0, y0);
  __syncthreads ();
  find_kinds<FOLLOW> (work, &tile, x0, row, inside, old, p, &rows);
  join_rows<FOLLOW> (&tile, rows, t, at);
#pragma unroll
  for (int j = 0; j < each; j++) {
    tile.luma[t + j * side] = tile.cb[t + j * side] = tile.cr[t + j * side] = 0;
    n_free += row + j < work.rows ? (unsigned) __popc (inside & ~rows.any[j]) : 0;
  }
  tile.last[warp][lane] = rows.kind[each - 1];
  if (lane == 0)
    tile.frees[warp] = n_free;
  __syncthreads ();
  if (warp > 0)
    unite_links (tile.label, find_links<FOLLOW> (rows, 0, tile.last[warp - 1][lane]), at[0], t);
  entries_before (tile.frees, &all);
  if (threadIdx.x == 0 && all)
    atomicAdd (&work.control->free, all);
  __syncthreads ();
  find_all (tile.label, at);
  add_colors (&tile, rows, p, at);
#pragma unroll
  for (int j = 0; j < each; j++) {
    local[j] = __ballot_sync (~0u, rows.kind[j] && at[j] == t + (unsigned) j * side);
    n_local += (unsigned) __popc (local[j]);
  }
  if (lane == 0)
    tile.locals[warp] = n_local;
  __syncthreads ();
  unsigned local_at = entries_before (tile.locals, &all);

  if (threadIdx.x == 0 && all)
    tile.locals_at = atomicAdd (&work.control->locals, all);
#pragma unroll
  for (int j = 0; j < each; j++) {
    const unsigned cell = c + (unsigned) (j * work.columns);

    if (row + j < work.rows && (inside >> lane & 1))
      write_cell<SIZE> (work, tile, cell, rows.kind[j], p[j + 1], t + (unsigned) j * side, at[j]);
  }
  __syncthreads ();
  local_at += tile.locals_at;
#pragma unroll
  for (int j = 0; j < each; j++) {
    if (local[j] >> lane & 1)
      work.local_list[local_at + (unsigned) __popc (local[j] & below)] = c + (unsigned) (j * work.columns);
    local_at += (unsigned) __popc (local[j]);
  }
}

using Kernel = void (*) (const SgWork);

/* size: of the cells whose colours it makes; 0: they are there. */
Kernel
cells_kernel (bool follow, int size)
{
  return size == 2 ? (follow ? segment_cells<true, 2> : segment_cells<false, 2>)
      : size == 4 ? (follow ? segment_cells<true, 4> : segment_cells<false, 4>)
      : follow ? segment_cells<true, 0> : segment_cells<false, 0>;
}

/* Where all cells are whole and read by words, their colours need no launch. Similarity looks at all before. */
int
size_of_colors (const SgWork &work)
{
  const bool whole = work.width % work.size == 0 && work.height % work.size == 0;

  return work.layout && whole && !work.similarity && (work.size == 2 || work.size == 4) ? work.size : 0;
}

CfCode
launch_colors (const SgWork &work, cudaStream_t stream, CfStatus *status)
{
  const dim3 grid ((unsigned) (work.columns + 31) / 32, (unsigned) (work.rows + 7) / 8);
  CfCode code;

  segment_colors<<<grid, 256, 0, stream>>> (work);
  code = cf_cuda_launched ("segment_colors", status);
  return code == CF_OK && work.similarity ? launch_similarity (work, stream, status) : code;
}

} // namespace

CfCode
segment_launch_cells (const SgWork &work, cudaStream_t stream, CfStatus *status)
{
  const dim3 grid ((unsigned) (work.columns + side - 1) / side, (unsigned) (work.rows + tall - 1) / tall);
  const int size = size_of_colors (work);

  if (size == 0) {
    const CfCode code = launch_colors (work, stream, status);

    if (code != CF_OK)
      return code;
  }
  cells_kernel (work.follow, size)<<<grid, threads, 0, stream>>> (work);
  return cf_cuda_launched ("segment_cells", status);
}

CfCode
segment_init_cells (CfStatus *status)
{
  CfCode code = segment_load ({ (const void *) segment_colors, (const void *) segment_roughness,
      (const void *) segment_histogram, (const void *) segment_otsu }, status);

  for (int size = 0; code == CF_OK && size <= 4; size += 2)
    code = segment_load ({ (const void *) cells_kernel (false, size), (const void *) cells_kernel (true, size) },
        status);
  return code;
}

} // namespace cf
