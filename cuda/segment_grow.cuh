/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment_grow.cuh: the graph kernel's frame, its components and growth: steps 4 to 6
 * of the segmentation.
 *
 * A round is two phases. In A what has a border puts the best partner of its region
 * into `best`, by an atomic minimum over distance and root, which no order changes. In B
 * each region's root follows the picks to where they end, adds its sums there and hangs
 * itself below. `best` is used in turns, so that B can clear the other one. */
#ifndef SEGMENT_GROW_CUH
#define SEGMENT_GROW_CUH

#include "segment_list.cuh"

namespace cf {

constexpr int sg_threads = 1024;

/* What the block's threads share: the sums stand in the same memory as what the pairs and
 * the last rounds need. */
struct SgBlock {
  SgSums *sums;
  unsigned cells, roots, picks, used; /* lengths of this block's lists, and whether any region picked */
};

/* All blocks of the launch. */
struct SgGrid {
  SgControl *control;
  unsigned arrivals; /* that open the next barrier */

  __device__ unsigned first () const { return blockIdx.x * sg_threads + threadIdx.x; }
  __device__ unsigned step () const { return gridDim.x * sg_threads; }

  /* What a block wrote before it, every block reads behind it. */
  __device__ void
  barrier ()
  {
    arrivals += gridDim.x;
    __syncthreads ();
    if (threadIdx.x == 0) {
      __threadfence ();
      atomicAdd (&control->arrived, 1u);
      while (*(volatile unsigned *) &control->arrived < arrivals)
        ;
      __threadfence ();
    }
    __syncthreads ();
  }
};

__device__ __forceinline__ unsigned long long
sg_key (unsigned p, unsigned q, unsigned root)
{
  return (unsigned long long) sg_distance (p, q) << 32 | root;
}

/* A cell's neighbours above, left, right and below; itself where there is none. */
__device__ __forceinline__ void
sg_neighbours (const SgWork &work, unsigned c, unsigned (&to)[4])
{
  const unsigned columns = (unsigned) work.columns, row = c / columns, column = c - row * columns;

  to[0] = row > 0 ? c - columns : c;
  to[1] = column > 0 ? c - 1 : c;
  to[2] = column + 1 < columns ? c + 1 : c;
  to[3] = row + 1 < (unsigned) work.rows ? c + columns : c;
}

/* ---- step 4: components ------------------------------------------------- */

/* Joins the lanes' pairs of cells. Their tiles' components are the same for many lanes, which
 * would else wait for each other at the root: one lane joins for all of them. */
__device__ __forceinline__ void
sg_unite_lanes (const SgWork &work, bool has, unsigned a, unsigned b)
{
  const unsigned lane = threadIdx.x & 31, ra = has ? work.joined[a] : 0, rb = has ? work.joined[b] : 0;
  unsigned rest = __ballot_sync (~0u, has);
  bool joins = false;

  while (rest) {
    const int leader = __ffs ((int) rest) - 1;
    const unsigned la = __shfl_sync (~0u, ra, leader), lb = __shfl_sync (~0u, rb, leader);

    joins = joins || lane == (unsigned) leader;
    rest &= ~__ballot_sync (~0u, has && ra == la && rb == lb);
  }
  if (joins)
    sg_unite_mixed (work.joined, a, b);
}

/* Joins cell c of a tile's edge with its neighbour outside, (dx, dy) away, or, where that is of
 * another kind, with the two beside that one; (ex, ey) is along the edge. All lanes call. */
__device__ void
sg_join_across (const SgWork &work, bool inside, unsigned c, int dx, int dy, int ex, int ey)
{
  const int columns = work.columns, x = (int) (c % (unsigned) columns), y = (int) (c / (unsigned) columns);
  const unsigned kind = inside ? work.kind[c] : 0;
  const unsigned other = (unsigned) ((y + dy) * columns + x + dx);
  const unsigned along = (unsigned) (ey * columns + ex);
  const bool before = ex ? x > 0 : y > 0, behind = ex ? x + 1 < columns : y + 1 < work.rows;
  const unsigned at = kind ? work.kind[other] : 0;
  const unsigned one = kind && before ? work.kind[other - along] : 0;
  const unsigned two = kind && behind ? work.kind[other + along] : 0;
  const bool same = kind && at == kind, apart = kind && !same;

  sg_unite_lanes (work, same || (apart && one == kind), c, same ? other : other - along);
  sg_unite_lanes (work, apart && two == kind, c, other + along);
}

__device__ void
sg_join_tiles (const SgWork &work, const SgGrid &grid)
{
  const unsigned columns = (unsigned) work.columns, rows = (unsigned) work.rows;
  const unsigned across = (rows - 1) / sg_tile_rows * columns, down = (columns - 1) / sg_tile * rows;

  /* a warp of each block after the other, so that all have some */
  for (unsigned base = (threadIdx.x / 32 * gridDim.x + blockIdx.x) * 32; base < across; base += grid.step ()) {
    const unsigned i = base + (threadIdx.x & 31);

    sg_join_across (work, i < across, (i / columns + 1) * sg_tile_rows * columns + i % columns, 0, -1, 1, 0);
  }
  for (unsigned base = (threadIdx.x / 32 * gridDim.x + blockIdx.x) * 32; base < down; base += grid.step ()) {
    const unsigned i = base + (threadIdx.x & 31);

    sg_join_across (work, i < down, i % rows * columns + (i / rows + 1) * sg_tile, -1, 0, 0, 1);
  }
}

/* The sums of the tiles' components to their roots, and each root's smallest cell. */
__device__ void
sg_add_locals (const SgWork &work, const SgGrid &grid, SgBlock *block)
{
  const unsigned n = work.control->locals;

  for (unsigned i = grid.first (); i - threadIdx.x < n; i += grid.step ()) {
    const unsigned c = i < n ? work.local_list[i] : 0, root = i < n ? sg_root_mixed (work.joined, c) : 0;
    const bool has = i < n && root != c;

    sg_add_record (block->sums, work.record, has, root, sg_record_if (work.record, has, c));
    if (has)
      work.joined[c] = sg_mix (root);
    if (i < n && c < __ldcg (work.smallest + root))
      atomicMin (work.smallest + root, c);
  }
  sg_flush_sums (block->sums, work.record);
}

__device__ void
sg_find_largest (const SgWork &work, const SgGrid &grid)
{
  const unsigned n = work.control->locals;

  for (unsigned i = grid.first (); i < n; i += grid.step ()) {
    const unsigned c = work.local_list[i];

    if (work.kind[c] >= 2 && work.joined[c] == sg_mix (c))
      atomicMax (work.largest + (work.kind[c] - 2),
          (unsigned long long) sg_cells (sg_load_record (work.record + c)) << 32 | (0xffffffffu - work.smallest[c]));
  }
}

/* Is cell c of a component a fragment's, and so free again? The largest component of an old
 * region carries it on. `record`: the component's. The root takes it over. */
__device__ __forceinline__ bool
sg_settle_cell (const SgWork &work, unsigned c, unsigned root, unsigned kind, SgRecord record)
{
  const unsigned long long largest = kind >= 2 ? work.largest[kind - 2] : 0;
  const bool carries = kind >= 2 && 0xffffffffu - (unsigned) largest == root;

  if (c == root) {
    if (carries)
      work.claim[c] = largest >> 32 << 32 | (0xffffffffu - (kind - 2));
    record.x |= carries ? sg_old : 0;
    work.record[c] = record;
  }
  return kind >= 2 && !carries && sg_cells (record) < work.min_cells;
}

/* Each cell of a component right below its smallest cell, which is its root from here on;
 * those that are free again go to the list of free ones. */
__device__ void
sg_settle (const SgWork &work, const SgGrid &grid)
{
  const unsigned n = (unsigned) work.n, step = grid.step ();
  constexpr int each = 4;

  for (unsigned base = grid.first () - threadIdx.x; base < n; base += each * step) {
    unsigned cell[each], at[each], root[each], kind[each];

#pragma unroll
    for (int k = 0; k < each; k++) {
      cell[k] = base + threadIdx.x + (unsigned) k * step;
      kind[k] = cell[k] < n ? work.kind[cell[k]] : 0;
      at[k] = kind[k] ? work.joined[cell[k]] : 0;
    }
#pragma unroll
    for (int k = 0; k < each; k++) /* add_locals has left two steps */
      at[k] = kind[k] ? sg_unmix (work.joined[sg_unmix (at[k])]) : 0;
#pragma unroll
    for (int k = 0; k < each; k++)
      root[k] = kind[k] ? work.smallest[at[k]] : 0;
#pragma unroll
    for (int k = 0; k < each; k++) {
      bool freed = false;

      if (kind[k] >= 2 || (kind[k] && root[k] == cell[k]))
        freed = sg_settle_cell (work, cell[k], root[k], kind[k], sg_load_record (work.record + at[k]));
      if (kind[k])
        work.parent[cell[k]] = freed ? cell[k] : root[k] | sg_settled;
      if (work.follow)
        sg_append (work.free_list, &work.control->free, freed, cell[k]);
    }
  }
}

__device__ void
sg_free_fragments (const SgWork &work, const SgGrid &grid, unsigned from)
{
  for (unsigned i = from + grid.first (); i < work.control->free; i += grid.step ()) {
    const unsigned c = work.free_list[i];

    work.record[c] = sg_record_of (work.after.p[c]); /* others have looked at its component's till now */
  }
  for (unsigned i = grid.first (); i < work.before.scalars[0]; i += grid.step ())
    work.largest[i] = 0; /* for the next frame */
}

__device__ void
sg_find_components (const SgWork &work, SgGrid &grid, SgBlock *block)
{
  const unsigned listed = work.control->free;

  sg_join_tiles (work, grid);
  grid.barrier ();
  sg_add_locals (work, grid, block);
  grid.barrier ();
  if (work.follow) {
    sg_find_largest (work, grid);
    grid.barrier ();
  }
  sg_settle (work, grid);
  grid.barrier ();
  if (work.follow) {
    sg_free_fragments (work, grid, listed);
    grid.barrier ();
  }
}

/* ---- step 6: growth ----------------------------------------------------- */

/* The best of a cell's neighbours that are of other regions; sg_never: there are none. */
__device__ __forceinline__ unsigned long long
sg_best_neighbour (const SgWork &work, const unsigned (&root)[4], unsigned own, unsigned mean)
{
  unsigned long long best = sg_never;
  SgRecord record[4];

#pragma unroll
  for (int k = 0; k < 4; k++)
    record[k] = sg_load_record (work.record + (root[k] & ~sg_settled));
#pragma unroll
  for (int k = 0; k < 4; k++)
    if ((root[k] & ~sg_settled) != own)
      best = min (best, sg_key (mean, sg_mean (record[k]), root[k] & ~sg_settled));
  return best;
}

/* Phase A of the first round: free cells are regions of one cell. */
__device__ void
sg_pick_cells (const SgWork &work, const SgGrid &grid, unsigned n)
{
  for (unsigned i = grid.first (); i < n; i += grid.step ()) {
    const unsigned c = work.free_list[i];
    unsigned to[4], root[4];

    sg_neighbours (work, c, to);
    sg_find<4> (work.parent, to, root);
    work.best[0][c] = sg_best_neighbour (work, root, c, work.after.p[c]);
  }
}

/* Phase A of the others: a cell of a free region that has a border asks for each
 * neighbour; what is enclosed or has grown leaves the list. */
__device__ void
sg_pick_borders (const SgWork &work, SgBlock *block, int turn, const unsigned *list, unsigned n, unsigned *next)
{
  unsigned long long *best = work.best[turn & 1];

  for (unsigned base = threadIdx.x & ~31u; base < n; base += sg_threads) {
    const unsigned i = base + (threadIdx.x & 31);
    unsigned long long key = sg_never;
    unsigned c = 0;

    if (i < n) {
      unsigned cell[5], root[5], to[4], other[4];

      c = list[i];
      sg_neighbours (work, c, to);
#pragma unroll
      for (int k = 0; k < 4; k++)
        cell[k] = to[k];
      cell[4] = c;
      sg_find<5, true> (work.parent, cell, root);
      if (!(root[4] & sg_settled)) {
#pragma unroll
        for (int k = 0; k < 4; k++)
          other[k] = root[k];
        key = sg_best_neighbour (work, other, root[4], sg_mean (sg_load_record (work.record + root[4])));
        if (key < __ldcg (best + root[4]))
          atomicMin (best + root[4], key);
      }
    }
    sg_append (next, &block->cells, key != sg_never, c);
  }
}

/* Where the picks lead from r, whose own is `to`; with sg_settled where that has a seed. */
__device__ __forceinline__ unsigned
sg_follow_picks (const SgWork &work, const unsigned long long *best, unsigned r, unsigned to)
{
  for (;;) {
    const unsigned long long flags = work.record[to].x, next = best[to];

    if (flags & sg_seeded)
      return to | sg_settled;
    if (next == sg_never)
      return to;
    if ((unsigned) next == r)
      return min (r, to);
    r = to;
    to = (unsigned) next;
  }
}

/* Phase B: a free region's root r joins where its picks lead, or stays; so does, in the
 * first round, its only cell. */
__device__ __forceinline__ void
sg_grow_root (const SgWork &work, SgBlock *block, int turn, bool has, unsigned r, unsigned *cells, unsigned *roots)
{
  const unsigned long long *best = work.best[turn & 1];
  const unsigned long long pick = has ? best[r] : sg_never;
  const unsigned end = pick != sg_never ? sg_follow_picks (work, best, r, (unsigned) pick) : r;
  const unsigned to = end & ~sg_settled;
  const bool joined = has && to != r;

  if (joined)
    work.parent[r] = end;
  else if (has)
    work.best[~turn & 1][r] = sg_never;
  sg_add_record (block->sums, work.record, joined, to, sg_record_if (work.record, joined, r));
  if (__any_sync (~0u, joined) && (threadIdx.x & 31) == 0)
    sg_poke (&block->picks, 1);
  if (cells)
    sg_append (cells, &block->cells, has && !(end & sg_settled), r);
  sg_append (roots, &block->roots, has && !joined, r);
}

/* Each block has its share of all lists, which only shrink. */
__device__ void
sg_grow (const SgWork &work, SgGrid &grid, SgBlock *block)
{
  SgControl *control = work.control;
  const unsigned n = control->free, step = grid.step ();
  const unsigned share = (n + step - 1) / step * sg_threads, mine = blockIdx.x * share;
  unsigned cells = 0, roots = 0;

  for (int turn = 0; n > 0; turn++) {
    unsigned *cells_before = work.cell_list[turn & 1] + mine, *cells_after = work.cell_list[~turn & 1] + mine;
    unsigned *roots_before = work.root_list[turn & 1] + mine, *roots_after = work.root_list[~turn & 1] + mine;

    if (threadIdx.x == 0)
      block->cells = block->roots = block->picks = 0;
    __syncthreads ();
    if (turn == 0)
      sg_pick_cells (work, grid, n);
    else
      sg_pick_borders (work, block, turn, cells_before, cells, cells_after);
    grid.barrier ();
    if (grid.first () == 0)
      control->picks[(turn + 1) % 3] = 0;
    if (turn == 0)
      for (unsigned i = grid.first (); i - threadIdx.x < n; i += step)
        sg_grow_root (work, block, turn, i < n, i < n ? work.free_list[i] : 0, cells_after, roots_after);
    else
      for (unsigned i = threadIdx.x; i - threadIdx.x < roots; i += sg_threads)
        sg_grow_root (work, block, turn, i < roots, i < roots ? roots_before[i] : 0, NULL, roots_after);
    sg_flush_sums (block->sums, work.record);
    if (threadIdx.x == 0 && block->picks)
      control->picks[turn % 3] = 1;
    cells = block->cells;
    roots = block->roots;
    grid.barrier ();
    if (!control->picks[turn % 3])
      return;
  }
}

} // namespace cf

#endif
