/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment/gpu/merge.cuh: the graph of regions: steps 7 to 9 of the segmentation.
 *
 * The pairs of touching regions are counted some tiles at a time in shared memory and then
 * in a hash table of the frame. Where regions and edges fit the shared memory of
 * one block, that block makes the rounds of merging alone (single_block.cuh). Until
 * then all blocks make rounds, as in grow.cuh. */
#ifndef CF_SEGMENT_GPU_MERGE_CUH
#define CF_SEGMENT_GPU_MERGE_CUH

#include "single_block.cuh"

namespace cf {

/* ---- pairs -------------------------------------------------------------- */

constexpr unsigned sg_batch = 4;     /* tiles whose pairs are counted at once */
constexpr unsigned sg_pairs = 2048;  /* of a batch's hash table; what finds no place goes to the frame's */
constexpr unsigned sg_around = 1024; /* of its table of perimeters, likewise */
constexpr unsigned sg_wide = sg_tile + 1, sg_margin = 2 * sg_tile + 1;
static_assert (sg_tile * sg_tile == sg_threads && sg_batch * sg_margin <= sg_threads, "a thread's share of a batch");

struct SgTilePairs {
  unsigned root[sg_batch][sg_wide * sg_wide];
  unsigned long long key[sg_pairs];
  unsigned count[sg_pairs]; /* pairs << 16 | weak ones */
  uint16_t used[sg_pairs], fresh[sg_pairs]; /* places of the table; those that are new to the frame's */
  unsigned roots, roots_at, n_fresh, fresh_at; /* how many, and where they go to in the frame's lists */
  unsigned region[sg_around], perimeter[sg_around];
};

/* A 64-bit word, as the other sg_peek. */
__device__ __forceinline__ unsigned long long
sg_peek (unsigned long long *p)
{
#ifdef CF_WATCHED
  return atomicOr (p, 0ull);
#else
  return *(volatile unsigned long long *) p;
#endif
}

/* A block's tiles; those that follow each other share regions. */
struct SgBatch {
  unsigned first, n; /* tiles */
};

__device__ __forceinline__ unsigned
sg_hash (unsigned long long key)
{
  return (unsigned) (key * 0x9e3779b97f4a7c15ull >> 32);
}

/* A pair of regions to the frame's table; true: it is the first of its kind. */
__device__ __forceinline__ bool
sg_add_pair (const SgWork &work, unsigned long long key, unsigned weak, unsigned *slot)
{
  unsigned at = sg_hash (key) & (work.slots - 1);
  unsigned long long old;

  while ((old = atomicCAS (&work.key[at], sg_never, key)) != sg_never && old != key)
    at = (at + 1) & (work.slots - 1);
  if (weak)
    atomicAdd (work.weak_count + at, weak);
  *slot = at;
  return old == sg_never;
}

/* The block adds up what it has of a region's perimeter: a large region would else wait for all of
 * its neighbours, one by one. */
__device__ __forceinline__ void
sg_add_perimeter (const SgWork &work, SgTilePairs *tile, unsigned root, unsigned n)
{
  unsigned at = root * 2654435769u >> 22;

  for (int i = 0; i < 4; i++, at = (at + 1) % sg_around) {
    unsigned there = sg_peek (tile->region + at);

    if (there == sg_none)
      there = atomicCAS (&tile->region[at], sg_none, root);
    if (there == sg_none || there == root) {
      atomicAdd (&tile->perimeter[at], n);
      return;
    }
  }
  atomicAdd (work.count + root, n);
}
static_assert (sg_around == 1u << (32 - 22), "its hash has as many values");

/* A touching pair of cells of two regions to the batch's table, or, where that is crowded, to the
 * frame's. */
__device__ void
sg_count_pair (const SgWork &work, SgBlock *block, SgTilePairs *tile, unsigned a, unsigned b, unsigned weak)
{
  const unsigned long long key = (unsigned long long) min (a, b) << 32 | max (a, b);
  unsigned at = sg_hash (key) % sg_pairs, slot;

  for (int i = 0; i < 16; i++, at = (at + 1) % sg_pairs) {
    unsigned long long there = sg_peek (tile->key + at);

    if (there == sg_never) {
      there = atomicCAS (&tile->key[at], sg_never, key);
      if (there == sg_never)
        tile->used[atomicAdd (&block->used, 1u)] = (uint16_t) at;
    }
    if (there == sg_never || there == key) {
      atomicAdd (&tile->count[at], 1u << 16 | weak);
      return;
    }
  }
  atomicAdd (work.count + a, 1u);
  atomicAdd (work.count + b, 1u);
  if (sg_add_pair (work, key, weak, &slot)) {
    at = atomicAdd (&work.control->slots, 1u);
    work.slot_list[at] = slot;
    work.edge[0][at] = key;
  }
}

/* Where (x, y) of a batch's tile lies; sg_none: outside the picture, or there is no such tile. */
__device__ __forceinline__ unsigned
sg_cell_of (const SgWork &work, SgBatch batch, unsigned k, unsigned x, unsigned y)
{
  const unsigned columns = (unsigned) work.columns, tiles_x = (columns + sg_tile - 1) / sg_tile;
  const unsigned row = (batch.first + k) / tiles_x, column = batch.first + k - row * tiles_x;

  x += column * sg_tile;
  y += row * sg_tile;
  return k < batch.n && x < columns && y < (unsigned) work.rows ? y * columns + x : sg_none;
}

/* The roots of a batch's cells and of those right of its tiles and below. Each cell is put right
 * below its root. The bits of those that are roots; the thread's own cells. */
__device__ __forceinline__ unsigned
sg_find_batch (const SgWork &work, SgTilePairs *tile, SgBatch batch, unsigned (&cell)[sg_batch + 1])
{
  const unsigned t = threadIdx.x, x = t % sg_tile, y = t / sg_tile;
  /* of the first threads: one on a tile's margin */
  const unsigned k_margin = t / sg_margin, i = t % sg_margin;
  const unsigned x_margin = i <= sg_tile ? i : sg_tile, y_margin = i <= sg_tile ? sg_tile : i - sg_tile - 1;
  unsigned from[sg_batch + 1], root[sg_batch + 1], roots = 0;

#pragma unroll
  for (unsigned k = 0; k < sg_batch; k++)
    cell[k] = sg_cell_of (work, batch, k, x, y);
  cell[sg_batch] = k_margin < sg_batch ? sg_cell_of (work, batch, k_margin, x_margin, y_margin) : sg_none;
#pragma unroll
  for (unsigned k = 0; k <= sg_batch; k++)
    from[k] = cell[k] != sg_none ? cell[k] : 0;
  sg_find<sg_batch + 1> (work.parent, from, root);
#pragma unroll
  for (unsigned k = 0; k < sg_batch; k++) {
    const unsigned r = cell[k] != sg_none ? root[k] & ~sg_settled : sg_none;

    tile->root[k][y * sg_wide + x] = r;
    if (r != sg_none)
      work.parent[cell[k]] = r;
    if (r != sg_none && r == cell[k]) {
      work.best[0][r] = work.best[1][r] = sg_never;
      roots |= 1u << k;
    }
  }
  if (k_margin < sg_batch)
    tile->root[k_margin][y_margin * sg_wide + x_margin] = cell[sg_batch] != sg_none ? root[sg_batch] & ~sg_settled
        : sg_none;
  return roots;
}

/* Not 0 where a region carries old ones on; that matters only where frames follow each other. */
__device__ __forceinline__ unsigned
sg_old_of (const SgWork &work, unsigned root)
{
  return work.follow && root != sg_none ? (unsigned) (work.record[root].x >> 32) & (unsigned) (sg_old >> 32) : 0;
}

/* This thread's pairs, across and down in each tile: bits of what is a border, and of the weak ones. All
 * loads are on their way at once, also for pairs that are no border. */
__device__ __forceinline__ void
sg_find_pairs (const SgWork &work, const SgTilePairs *tile, const unsigned (&cell)[sg_batch + 1], unsigned *borders,
    unsigned *weak)
{
  const unsigned at = threadIdx.x / sg_tile * sg_wide + threadIdx.x % sg_tile, columns = (unsigned) work.columns;
  unsigned p[sg_batch][3], old[sg_batch][3], is_border = 0, is_weak = 0;

#pragma unroll
  for (unsigned k = 0; k < sg_batch; k++) {
    const unsigned root = tile->root[k][at], right = tile->root[k][at + 1], below = tile->root[k][at + sg_wide];
    const unsigned c = root != sg_none ? cell[k] : 0;
    const bool across = root != sg_none && right != sg_none && right != root;
    const bool down = root != sg_none && below != sg_none && below != root;

    is_border |= (unsigned) across << 2 * k | (unsigned) down << (2 * k + 1);
    p[k][0] = __ldg (work.after.p + c);
    p[k][1] = __ldg (work.after.p + (across ? c + 1 : c));
    p[k][2] = __ldg (work.after.p + (down ? c + columns : c));
    old[k][0] = sg_old_of (work, across || down ? root : sg_none);
    old[k][1] = sg_old_of (work, across ? right : sg_none);
    old[k][2] = sg_old_of (work, down ? below : sg_none);
  }
#pragma unroll
  for (unsigned k = 0; k < sg_batch; k++)
#pragma unroll
    for (unsigned d = 1; d <= 2; d++)
      is_weak |= (unsigned) sg_near (p[k][0], p[k][d], work.weak[(old[k][0] & old[k][d]) != 0]) << (2 * k + d - 1);
  *borders = is_border;
  *weak = is_weak;
}

/* Where the warp's roots begin in the block's list; behind that the thread's `places`, of 8 bits each. */
__device__ unsigned
sg_place_roots (SgTilePairs *tile, unsigned roots, unsigned *places)
{
  const unsigned lane = threadIdx.x & 31;
  unsigned mine = 0, all = 0, at = 0;

#pragma unroll
  for (unsigned k = 0; k < sg_batch; k++) {
    const unsigned mask = __ballot_sync (~0u, roots >> k & 1);

    mine |= (all + (unsigned) __popc (mask & ((1u << lane) - 1))) << 8 * k;
    all += (unsigned) __popc (mask);
  }
  if (lane == 0 && all)
    at = atomicAdd (&tile->roots, all);
  *places = mine;
  return __shfl_sync (~0u, at, 0);
}

/* The batch's table to the frame's. */
__device__ void
sg_add_batch (const SgWork &work, SgBlock *block, SgTilePairs *tile)
{
  for (unsigned i = threadIdx.x; i < block->used; i += sg_threads) {
    const unsigned at = tile->used[i], count = tile->count[at];
    const unsigned long long key = tile->key[at];
    unsigned slot;

    sg_add_perimeter (work, tile, (unsigned) (key >> 32), count >> 16);
    sg_add_perimeter (work, tile, (unsigned) key, count >> 16);
    if (sg_add_pair (work, key, count & 0xffff, &slot)) {
      tile->fresh[atomicAdd (&tile->n_fresh, 1u)] = (uint16_t) at;
      tile->count[at] = slot;
    }
  }
}

/* What is new to the frame's table is listed, with its place there; the perimeters. */
__device__ void
sg_list_fresh (const SgWork &work, const SgTilePairs *tile)
{
  for (unsigned i = threadIdx.x; i < tile->n_fresh; i += sg_threads) {
    work.slot_list[tile->fresh_at + i] = tile->count[tile->fresh[i]];
    work.edge[0][tile->fresh_at + i] = tile->key[tile->fresh[i]];
  }
  for (unsigned i = threadIdx.x; i < sg_around; i += sg_threads)
    if (tile->region[i] != sg_none)
      atomicAdd (work.count + tile->region[i], tile->perimeter[i]);
}

__device__ void
sg_clear_pairs (SgBlock *block, SgTilePairs *tile)
{
  for (unsigned i = threadIdx.x; i < sg_pairs; i += sg_threads) {
    tile->key[i] = sg_never;
    tile->count[i] = 0;
  }
  for (unsigned i = threadIdx.x; i < sg_around; i += sg_threads) {
    tile->region[i] = sg_none;
    tile->perimeter[i] = 0;
  }
  if (threadIdx.x == 0)
    block->used = tile->roots = tile->n_fresh = 0;
}

/* The waits for memory are those of one tile. What all blocks ask of one place in memory waits for each
 * other, so the lengths of the frame's lists are asked for once. */
__device__ void
sg_count_batch (const SgWork &work, SgBlock *block, SgTilePairs *tile, SgBatch batch)
{
  const unsigned at = threadIdx.x / sg_tile * sg_wide + threadIdx.x % sg_tile;
  unsigned cell[sg_batch + 1], borders, weak, places;
  const unsigned roots = sg_find_batch (work, tile, batch, cell);

  __syncthreads ();
  sg_find_pairs (work, tile, cell, &borders, &weak);
  for (; borders; borders &= borders - 1) {
    const unsigned i = (unsigned) __ffs ((int) borders) - 1;
    const unsigned *root = tile->root[i / 2] + at;

    sg_count_pair (work, block, tile, root[0], i & 1 ? root[sg_wide] : root[1], weak >> i & 1);
  }
  __syncwarp ();
  const unsigned first = sg_place_roots (tile, roots, &places);

  __syncthreads ();
  sg_add_batch (work, block, tile);
  __syncthreads ();
  if (threadIdx.x == 0)
    tile->fresh_at = atomicAdd (&work.control->slots, tile->n_fresh);
  if (threadIdx.x == 32)
    tile->roots_at = atomicAdd (&work.control->roots[0], tile->roots);
  __syncthreads ();
  sg_list_fresh (work, tile);
#pragma unroll
  for (unsigned k = 0; k < sg_batch; k++)
    if (roots >> k & 1)
      work.root_list[0][tile->roots_at + first + (places >> 8 * k & 0xff)] = cell[k];
}

__device__ void
sg_count_pairs (const SgWork &work, SgBlock *block, SgTilePairs *tile)
{
  const unsigned tiles = (unsigned) ((work.columns + sg_tile - 1) / sg_tile * ((work.rows + sg_tile - 1) / sg_tile));
  const unsigned first = (unsigned) ((unsigned long long) tiles * blockIdx.x / gridDim.x);
  const unsigned end = (unsigned) ((unsigned long long) tiles * (blockIdx.x + 1) / gridDim.x);

  for (unsigned number = first; number < end; number += sg_batch) {
    __syncthreads ();
    sg_clear_pairs (block, tile);
    sg_count_batch (work, block, tile, SgBatch { number, min (end - number, sg_batch) });
  }
}

/* ---- step 7: weak borders ----------------------------------------------- */

/* The pairs leave the table, which is empty then; they are the list of edges. */
__device__ void
sg_join_weak (const SgWork &work, const SgGrid &grid)
{
  const unsigned n = work.control->slots;

  for (unsigned i = sg_spread (); i < n; i += grid.step ()) {
    const unsigned slot = work.slot_list[i];
    const unsigned long long key = work.edge[0][i];
    const unsigned a = (unsigned) (key >> 32), b = (unsigned) key, weak = work.weak_count[slot];
    const unsigned perimeter = min (work.count[a], work.count[b]);

    work.key[slot] = sg_never;
    work.weak_count[slot] = 0;
    if ((unsigned long long) weak << 16 > (unsigned long long) work.fraction * perimeter)
      sg_unite (work.parent, a, b);
  }
}

/* What a region that is joined leaves to its new root besides its sums. */
__device__ __forceinline__ void
sg_hand_on_claim (const SgWork &work, unsigned r, unsigned to)
{
  if (work.record[r].x & sg_old) {
    atomicMax (work.claim + to, work.claim[r]);
    atomicOr (&work.record[to].x, sg_old);
  }
}

__device__ void
sg_add_weak (const SgWork &work, const SgGrid &grid, SgBlock *block)
{
  const unsigned n = work.control->roots[0];

  for (unsigned i = sg_spread (); i - (threadIdx.x & 31) < n; i += grid.step ()) {
    const unsigned r = i < n ? work.root_list[0][i] : 0, to = i < n ? sg_find_now (work.parent, r) : 0;
    const bool joined = i < n && to != r;

    if (joined)
      sg_hand_on_claim (work, r, to);
    sg_add_record (block->sums, work.record, joined, to, sg_record_if (work.record, joined, r));
    sg_append (work.root_list[1], &work.control->roots[1], i < n && !joined, r);
  }
  sg_flush_sums (block->sums, work.record);
}

/* ---- steps 8 and 9: rounds of all blocks -------------------------------- */

__device__ __forceinline__ void
sg_offer (unsigned long long *best, unsigned region, unsigned long long key)
{
  if (key < __ldcg (best + region))
    atomicMin (best + region, key);
}

/* Phase A over the edges; those inside a region leave the list. */
__device__ void
sg_pick_edges (const SgWork &work, const SgGrid &grid, const SgMerge &m, unsigned *next_n)
{
  const unsigned long long *list = work.edge[m.turn & 1];
  unsigned long long *best = work.best[m.turn & 1];

  for (unsigned i = sg_spread (); i - (threadIdx.x & 31) < m.edges; i += grid.step ()) {
    unsigned a = 0, b = 0;

    if (i < m.edges) {
      const unsigned cell[2] = { (unsigned) (list[i] >> 32), (unsigned) list[i] };
      unsigned root[2];

      sg_find<2> (work.parent, cell, root);
      a = root[0] & ~sg_settled;
      b = root[1] & ~sg_settled;
    }
    if (a != b) {
      const SgRecord ra = sg_load_record (work.record + a), rb = sg_load_record (work.record + b);
      const unsigned ma = sg_mean (ra), mb = sg_mean (rb);
      const bool alike = m.min_cells == 0 && sg_near (ma, mb, work.merge[(ra.x & rb.x & sg_old) != 0]);

      if (alike || sg_cells (ra) < m.min_cells)
        sg_offer (best, a, sg_key (ma, mb, b));
      if (alike || sg_cells (rb) < m.min_cells)
        sg_offer (best, b, sg_key (ma, mb, a));
    }
    sg_append (work.edge[~m.turn & 1], next_n, a != b, (unsigned long long) a << 32 | b);
  }
}

/* Phase B: where the picks lead from r, whose own is `to`. */
__device__ __forceinline__ unsigned
sg_end_of_picks (const unsigned long long *best, unsigned r, unsigned to)
{
  for (;;) {
    const unsigned long long next = best[to];

    if (next == sg_never)
      return to;
    if ((unsigned) next == r)
      return min (r, to);
    r = to;
    to = (unsigned) next;
  }
}

__device__ void
sg_join_picks (const SgWork &work, const SgGrid &grid, SgBlock *block, const SgMerge &m, unsigned *next_n)
{
  const unsigned *list = work.root_list[~m.turn & 1];
  const unsigned long long *best = work.best[m.turn & 1];
  unsigned long long *other = work.best[~m.turn & 1];

  for (unsigned i = sg_spread (); i - (threadIdx.x & 31) < m.roots; i += grid.step ()) {
    const unsigned r = i < m.roots ? list[i] : 0;
    const unsigned long long pick = i < m.roots ? best[r] : sg_never;
    const unsigned to = pick != sg_never ? sg_end_of_picks (best, r, (unsigned) pick) : r;
    const bool joined = i < m.roots && to != r;

    if (joined) {
      work.parent[r] = to;
      sg_hand_on_claim (work, r, to);
      work.control->picks[m.turn % 3] = 1;
    } else if (i < m.roots) {
      other[r] = sg_never;
    }
    sg_add_record (block->sums, work.record, joined, to, sg_record_if (work.record, joined, r));
    sg_append (work.root_list[m.turn & 1], next_n, i < m.roots && !joined, r);
  }
  sg_flush_sums (block->sums, work.record);
}

/* One round; the next stage where it changed nothing. false: that was the last. */
__device__ bool
sg_merge_round (const SgWork &work, SgGrid &grid, SgBlock *block, SgMerge *m)
{
  SgControl *control = work.control;
  const int now = m->turn % 3, next = (m->turn + 1) % 3, after = (m->turn + 2) % 3;

  sg_pick_edges (work, grid, *m, &control->edges[next]);
  grid.barrier ();
  if (grid.first () == 0)
    control->edges[after] = control->roots[after] = control->picks[after] = 0;
  sg_join_picks (work, grid, block, *m, &control->roots[next]);
  grid.barrier ();
  m->edges = control->edges[next];
  m->roots = control->roots[next];
  m->turn++;
  return control->picks[now] || sg_next_stage (work, m);
}

/* From the edges to the last merge. true: what is left is told in the order of the indices, and `count`
 * has places for which there are indices, in `told`; else it is listed in root_list[turn & 1]. */
__device__ bool
sg_merge_all (const SgWork &work, SgGrid &grid, SgBlock *block, unsigned char *memory, size_t size, SgGathered *told)
{
  /* turns begin with 2: its lists are edge[0] and root_list[1] */
  SgMerge m = { 2, work.control->slots, work.control->roots[1], 0 };
  bool again = true;

  while (again && !sg_fits_local (m.roots, m.edges, size)) {
    if (m.turn == 2 && grid.first () == 0)
      work.control->roots[0] = 0;
    again = sg_merge_round (work, grid, block, &m);
  }
  if (!again) {
    if (grid.first () == 0) {
      work.control->regions = m.roots;
      work.control->turn = (unsigned) ~m.turn & 1;
    }
    return false;
  }
  unsigned *edges = &work.control->edges[(m.turn + 1) % 3];

  sg_rank (work, grid, m, (unsigned *) (memory + sizeof (SgSums)));
  grid.barrier ();
  sg_gather (work, grid, m, edges);
  grid.barrier ();
  sg_clear_table (work, grid, m);
  if (blockIdx.x == 0)
    sg_merge_alone (work, block, memory, size, m, *edges);
  *told = sg_gathered (work, m);
  return true;
}

} // namespace cf

#endif
