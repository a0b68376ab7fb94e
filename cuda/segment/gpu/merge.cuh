/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/gpu/merge.cuh: the graph of regions: steps 7 to 9 of the segmentation.
 *
 * Map: a block counts pairs of touching regions in batches of neighbouring tiles, a thread has one cell of each
 * tile. In weak borders and in merging, warps of all blocks take edges and roots in rotation. All blocks make
 * rounds, as in grow.cuh, until regions and edges fit the shared memory of one block; a single block makes the other
 * rounds (single_block.cuh).
 * Shared memory: SgTilePairs, a hash table of the batch's pairs and one of its perimeters. What finds no slot there
 * goes to the frame's table directly.
 * Race free: slots of both tables are claimed by atomicCAS and counted by atomics; a block barrier stands between
 * counting and emptying, a grid barrier between the uses of the frame's table. The order of the lists is arbitrary,
 * and nothing depends on it: ties of a pick are decided by the root.
 * Bound by latency: what all blocks request from one address waits, so perimeters and lengths of lists are collected
 * per block, and the loads of several tiles are issued together. Times: docs/notes/segment.md. */
#ifndef CF_SEGMENT_GPU_MERGE_CUH
#define CF_SEGMENT_GPU_MERGE_CUH

#include "single_block.cuh"

namespace cf {

/* ---- pairs -------------------------------------------------------------- */

constexpr unsigned sg_batch_tiles = 4;   /* tiles whose pairs are counted at once */
constexpr unsigned sg_pair_slots = 2048; /* slots of a batch's hash table */
constexpr unsigned sg_perimeters = 1024; /* slots of its table of perimeters */
constexpr unsigned sg_tile_pitch = sg_tile + 1, sg_margin_cells = 2 * sg_tile + 1;
static_assert (sg_tile * sg_tile == sg_threads && sg_batch_tiles * sg_margin_cells <= sg_threads,
    "a thread's share of a batch");

struct SgTilePairs {
  unsigned root[sg_batch_tiles][sg_tile_pitch * sg_tile_pitch];
  unsigned long long key[sg_pair_slots];
  unsigned count[sg_pair_slots]; /* pairs << 16 | weak pairs */
  /* slots in use; slots whose pairs this block added to the frame's table */
  uint16_t used[sg_pair_slots], added[sg_pair_slots];
  unsigned roots, roots_at, n_added, added_at; /* lengths, and where the entries begin in the frame's lists */
  unsigned region[sg_perimeters], perimeter[sg_perimeters];
};

/* Reads a 64-bit word as the other sg_peek. */
__device__ __forceinline__ unsigned long long
sg_peek (unsigned long long *p)
{
#ifdef CF_WATCHED
  return atomicOr (p, 0ull);
#else
  return *(volatile unsigned long long *) p;
#endif
}

/* Tiles of a block. Tiles that follow each other share regions. */
struct SgBatch {
  unsigned first, n; /* number of the first tile, number of tiles */
};

__device__ __forceinline__ unsigned
sg_hash (unsigned long long key)
{
  return (unsigned) (key * 0x9e3779b97f4a7c15ull >> 32);
}

/* Adds a pair of regions to the frame's table of step 7. Returns whether it was not there yet. Sets `*slot`. */
__device__ __forceinline__ bool
sg_add_pair (const SgWork &work, unsigned long long key, unsigned weak, unsigned *slot)
{
  unsigned at = sg_hash (key) & (work.slots - 1);
  unsigned long long old;

  while ((old = atomicCAS (&work.key[at], sg_none_64, key)) != sg_none_64 && old != key)
    at = (at + 1) & (work.slots - 1);
  if (weak)
    atomicAdd (work.weak_count + at, weak);
  *slot = at;
  return old == sg_none_64;
}

/* Adds up the perimeter of a region inside the block. Otherwise a large region would wait for each of its neighbours
 * one by one. */
__device__ __forceinline__ void
sg_add_perimeter (const SgWork &work, SgTilePairs *tile, unsigned root, unsigned n)
{
  unsigned at = root * 2654435769u >> 22;

  for (int i = 0; i < 4; i++, at = (at + 1) % sg_perimeters) {
    unsigned there = sg_peek (tile->region + at);

    if (there == sg_none)
      there = atomicCAS (&tile->region[at], sg_none, root);
    if (there == sg_none || there == root) {
      atomicAdd (&tile->perimeter[at], n);
      return;
    }
  }
  atomicAdd (work.perimeter + root, n);
}
static_assert (sg_perimeters == 1u << (32 - 22), "its hash has as many values");

__device__ __forceinline__ void
sg_offer (unsigned long long *best, unsigned region, unsigned long long key)
{
  if (key < __ldcg (best + region))
    atomicMin (best + region, key);
}

/* Offers two regions that touch to each other. */
__device__ __forceinline__ void
sg_offer_edge (const SgWork &work, const SgMerge &m, unsigned a, unsigned b)
{
  unsigned long long *best = work.best[m.round & 1];
  const SgRecord ra = sg_load_record (work.record + a), rb = sg_load_record (work.record + b);
  const unsigned ma = sg_mean (ra), mb = sg_mean (rb), na = sg_weight (ra), nb = sg_weight (rb);
  const unsigned least = sg_least (na, nb), distance = sg_distance (ma, mb), cost = sg_cost (distance, least);
  const unsigned long long key = (unsigned long long) (m.grows ? distance : cost) << 32;
  const bool joins
      = sg_may_join (work, m, ma, mb, (ra.x & rb.x & sg_old) != 0, (na & nb & sg_marked) != 0, least, cost);
  const bool a_first = na < nb || (na == nb && a > b);

  if ((joins && a_first) || na < m.min_cells || (m.grows && !(ra.x & sg_seeded)))
    sg_offer (best, a, key | b);
  if ((joins && !a_first) || nb < m.min_cells || (m.grows && !(rb.x & sg_seeded)))
    sg_offer (best, b, key | a);
}

/* Returns the state in which merging begins. Its first round is 2: the list of regions then is root_list[1]. */
__device__ __forceinline__ SgMerge
sg_first_round (const SgWork &work, bool grows)
{
  return SgMerge { 2, grows, work.rises, work.control->slots, work.control->roots[1], 0, 0 };
}

/* Returns whether the picks of the first round are made where pairs are counted: a single block cannot make that round,
 * because there are too many regions. */
__device__ __forceinline__ bool
sg_picks_early (const SgWork &work, bool grows)
{
  return !grows && !work.weak_borders && work.control->seeded > sg_local_max;
}

/* Adds a touching pair of cells of two regions to the batch's table, or, where that is crowded, to the frame's table or
 * list. */
__device__ void
sg_count_pair (const SgWork &work, SgBlock *block, SgTilePairs *tile, unsigned a, unsigned b, unsigned weak,
    bool picks)
{
  const unsigned long long key = (unsigned long long) min (a, b) << 32 | max (a, b);
  unsigned at = sg_hash (key) % sg_pair_slots, slot;

  for (int i = 0; i < 16; i++, at = (at + 1) % sg_pair_slots) {
    unsigned long long there = sg_peek (tile->key + at);

    if (there == sg_none_64) {
      there = atomicCAS (&tile->key[at], sg_none_64, key);
      if (there == sg_none_64)
        tile->used[atomicAdd (&block->used, 1u)] = (uint16_t) at;
    }
    if (there == sg_none_64 || there == key) {
      atomicAdd (&tile->count[at], 1u << 16 | weak);
      return;
    }
  }
  if (!work.weak_borders) {
    work.edge[atomicAdd (&work.control->slots, 1u)] = key;
    if (picks)
      sg_offer_edge (work, sg_first_round (work, false), a, b);
    return;
  }
  atomicAdd (work.perimeter + a, 1u);
  atomicAdd (work.perimeter + b, 1u);
  if (sg_add_pair (work, key, weak, &slot)) {
    at = atomicAdd (&work.control->slots, 1u);
    work.slot_list[at] = slot;
    work.edge[at] = key;
  }
}

/* Returns the cell at (x, y) of tile k of a batch, sg_none outside the frame or if there is no such tile. */
__device__ __forceinline__ unsigned
sg_cell_of (const SgWork &work, SgBatch batch, unsigned k, unsigned x, unsigned y)
{
  const unsigned columns = (unsigned) work.columns, tiles_x = (columns + sg_tile - 1) / sg_tile;
  const unsigned row = (batch.first + k) / tiles_x, column = batch.first + k - row * tiles_x;

  x += column * sg_tile;
  y += row * sg_tile;
  return k < batch.n && x < columns && y < (unsigned) work.rows ? y * columns + x : sg_none;
}

/* Finds the roots of the cells of a batch and of the cells right of and below its tiles. Attaches each cell to its
 * root. Sets `cell` to the thread's own cells and returns a bit for each that is a root. */
__device__ __forceinline__ unsigned
sg_find_batch (const SgWork &work, SgTilePairs *tile, SgBatch batch, unsigned (&cell)[sg_batch_tiles + 1])
{
  const unsigned t = threadIdx.x, x = t % sg_tile, y = t / sg_tile;
  /* the first threads also have one cell each on a tile's margin */
  const unsigned k_margin = t / sg_margin_cells, i = t % sg_margin_cells;
  const unsigned x_margin = i <= sg_tile ? i : sg_tile, y_margin = i <= sg_tile ? sg_tile : i - sg_tile - 1;
  unsigned from[sg_batch_tiles + 1], root[sg_batch_tiles + 1], roots = 0;

#pragma unroll
  for (unsigned k = 0; k < sg_batch_tiles; k++)
    cell[k] = sg_cell_of (work, batch, k, x, y);
  cell[sg_batch_tiles] = k_margin < sg_batch_tiles ? sg_cell_of (work, batch, k_margin, x_margin, y_margin) : sg_none;
#pragma unroll
  for (unsigned k = 0; k <= sg_batch_tiles; k++)
    from[k] = cell[k] != sg_none ? cell[k] : 0;
  sg_find<sg_batch_tiles + 1> (work.parent, from, root);
#pragma unroll
  for (unsigned k = 0; k < sg_batch_tiles; k++) {
    const unsigned r = cell[k] != sg_none ? root[k] & ~sg_settled : sg_none;

    tile->root[k][y * sg_tile_pitch + x] = r;
    if (r != sg_none)
      work.parent[cell[k]] = r;
    if (r != sg_none && r == cell[k]) {
      if (!(root[k] & sg_settled)) /* the others: sg_settle */
        work.best[0][r] = work.best[1][r] = sg_none_64;
      roots |= 1u << k;
    }
  }
  if (k_margin < sg_batch_tiles)
    tile->root[k_margin][y_margin * sg_tile_pitch + x_margin]
        = cell[sg_batch_tiles] != sg_none ? root[sg_batch_tiles] & ~sg_settled : sg_none;
  return roots;
}

/* Returns a value other than 0 if the region continues old ones. That matters only in recurrent frames. */
__device__ __forceinline__ unsigned
sg_old_of (const SgWork &work, unsigned root)
{
  return work.recurrent && root != sg_none ? (unsigned) (work.record[root].x >> 32) & (unsigned) (sg_old >> 32) : 0;
}

/* Finds the pairs of this thread's cells with the right and the lower neighbour in each tile: a bit per border, and for
 * step 7 a bit per similar pair. All loads are issued at once, also for pairs that are no border. */
__device__ __forceinline__ void
sg_find_pairs (const SgWork &work, const SgTilePairs *tile, const unsigned (&cell)[sg_batch_tiles + 1],
    unsigned *borders, unsigned *weak)
{
  const unsigned at = threadIdx.x / sg_tile * sg_tile_pitch + threadIdx.x % sg_tile, columns = (unsigned) work.columns;
  unsigned p[sg_batch_tiles][3], old[sg_batch_tiles][3], is_border = 0, is_weak = 0;

#pragma unroll
  for (unsigned k = 0; k < sg_batch_tiles; k++) {
    const unsigned root = tile->root[k][at], right = tile->root[k][at + 1], below = tile->root[k][at + sg_tile_pitch];

    is_border |= (unsigned) (root != sg_none && right != sg_none && right != root) << 2 * k;
    is_border |= (unsigned) (root != sg_none && below != sg_none && below != root) << (2 * k + 1);
  }
  *borders = is_border;
  *weak = 0;
  if (!work.weak_borders)
    return;
#pragma unroll
  for (unsigned k = 0; k < sg_batch_tiles; k++) {
    const unsigned root = tile->root[k][at], right = tile->root[k][at + 1], below = tile->root[k][at + sg_tile_pitch];
    const unsigned c = root != sg_none ? cell[k] : 0;
    const bool across = is_border >> 2 * k & 1, down = is_border >> (2 * k + 1) & 1;

    p[k][0] = __ldg (work.after.p + c);
    p[k][1] = __ldg (work.after.p + (across ? c + 1 : c));
    p[k][2] = __ldg (work.after.p + (down ? c + columns : c));
    old[k][0] = sg_old_of (work, across || down ? root : sg_none);
    old[k][1] = sg_old_of (work, across ? right : sg_none);
    old[k][2] = sg_old_of (work, down ? below : sg_none);
  }
#pragma unroll
  for (unsigned k = 0; k < sg_batch_tiles; k++)
#pragma unroll
    for (unsigned d = 1; d <= 2; d++)
      is_weak |= (unsigned) sg_near (p[k][0], p[k][d], work.weak[(old[k][0] & old[k][d]) != 0]) << (2 * k + d - 1);
  *weak = is_weak;
}

/* Adds the pairs of the batch's table to the frame's of step 7. */
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
      tile->added[atomicAdd (&tile->n_added, 1u)] = (uint16_t) at;
      tile->count[at] = slot;
    }
  }
}

/* Lists the pairs of the batch's table: for step 7 those that are new in the frame's, with their slots. Adds the
 * perimeters. `picks`: sg_picks_early. */
__device__ void
sg_list_added (const SgWork &work, const SgBlock *block, const SgTilePairs *tile, bool picks)
{
  if (!work.weak_borders) {
    for (unsigned i = threadIdx.x; i < block->used; i += sg_threads) {
      const unsigned long long key = tile->key[tile->used[i]];

      work.edge[tile->added_at + i] = key;
      if (picks)
        sg_offer_edge (work, sg_first_round (work, false), (unsigned) (key >> 32), (unsigned) key);
    }
    return;
  }
  for (unsigned i = threadIdx.x; i < tile->n_added; i += sg_threads) {
    work.slot_list[tile->added_at + i] = tile->count[tile->added[i]];
    work.edge[tile->added_at + i] = tile->key[tile->added[i]];
  }
  for (unsigned i = threadIdx.x; i < sg_perimeters; i += sg_threads)
    if (tile->region[i] != sg_none)
      atomicAdd (work.perimeter + tile->region[i], tile->perimeter[i]);
}

__device__ void
sg_clear_pairs (SgBlock *block, SgTilePairs *tile)
{
  for (unsigned i = threadIdx.x; i < sg_pair_slots; i += sg_threads) {
    tile->key[i] = sg_none_64;
    tile->count[i] = 0;
  }
  for (unsigned i = threadIdx.x; i < sg_perimeters; i += sg_threads) {
    tile->region[i] = sg_none;
    tile->perimeter[i] = 0;
  }
  if (threadIdx.x == 0)
    block->used = tile->roots = tile->n_added = 0;
}

/* Counts the pairs of a batch, which waits for memory no more often than a single tile would. All blocks request the
 * lengths of the frame's lists, so a batch does that once. */
__device__ void
sg_count_batch (const SgWork &work, SgBlock *block, SgTilePairs *tile, SgBatch batch, bool picks)
{
  const unsigned at = threadIdx.x / sg_tile * sg_tile_pitch + threadIdx.x % sg_tile;
  unsigned cell[sg_batch_tiles + 1], borders, weak, positions;
  const unsigned roots = sg_find_batch (work, tile, batch, cell);
  const int list = !work.weak_borders; /* of roots */

  __syncthreads ();
  sg_find_pairs (work, tile, cell, &borders, &weak);
  for (; borders; borders &= borders - 1) {
    const unsigned i = (unsigned) __ffs ((int) borders) - 1;
    const unsigned *root = tile->root[i / 2] + at;

    sg_count_pair (work, block, tile, root[0], i & 1 ? root[sg_tile_pitch] : root[1], weak >> i & 1, picks);
  }
  __syncwarp ();
  const unsigned first = sg_reserve_each<sg_batch_tiles> (&tile->roots, roots, &positions);

  __syncthreads ();
  if (work.weak_borders)
    sg_add_batch (work, block, tile);
  __syncthreads ();
  if (threadIdx.x == 0)
    tile->added_at = atomicAdd (&work.control->slots, work.weak_borders ? tile->n_added : block->used);
  if (threadIdx.x == 32)
    tile->roots_at = atomicAdd (&work.control->roots[list], tile->roots);
  __syncthreads ();
  sg_list_added (work, block, tile, picks);
#pragma unroll
  for (unsigned k = 0; k < sg_batch_tiles; k++)
    if (roots >> k & 1)
      work.root_list[list][tile->roots_at + first + (positions >> 8 * k & 0xff)] = cell[k];
}

__device__ void
sg_count_pairs (const SgWork &work, SgBlock *block, SgTilePairs *tile, bool grows)
{
  const bool picks = sg_picks_early (work, grows);
  const SgGathered gathered = sg_gathered (work);
  const unsigned tiles = (unsigned) ((work.columns + sg_tile - 1) / sg_tile * ((work.rows + sg_tile - 1) / sg_tile));
  const unsigned first = (unsigned) ((unsigned long long) tiles * blockIdx.x / gridDim.x);
  const unsigned end = (unsigned) ((unsigned long long) tiles * (blockIdx.x + 1) / gridDim.x);

  for (unsigned number = first; number < end; number += sg_batch_tiles) {
    __syncthreads ();
    sg_clear_pairs (block, tile);
    sg_count_batch (work, block, tile, SgBatch { number, min (end - number, sg_batch_tiles) }, picks);
  }
  for (unsigned i = blockIdx.x * sg_threads + threadIdx.x; i < min (sg_local_max, (unsigned) work.n);
      i += gridDim.x * sg_threads)
    gathered.best[i] = sg_none; /* for the single block */
}

/* ---- step 7: weak borders ----------------------------------------------- */

/* Joins regions with weak borders. The pairs leave the table, which is empty then, and become the list of edges. */
__device__ void
sg_join_weak (const SgWork &work, const SgGrid &grid)
{
  const unsigned n = work.control->slots;

  for (unsigned i = sg_spread (); i < n; i += grid.step ()) {
    const unsigned slot = work.slot_list[i];
    const unsigned long long key = work.edge[i];
    const unsigned a = (unsigned) (key >> 32), b = (unsigned) key, weak = work.weak_count[slot];
    const unsigned perimeter = min (work.perimeter[a], work.perimeter[b]);
    const bool marked
        = work.n_clicks > 0 && ((sg_weight (work.record[a]) | sg_weight (work.record[b])) & sg_marked);

    work.key[slot] = sg_none_64;
    work.weak_count[slot] = 0;
    if (!marked && (unsigned long long) weak << 16 > (unsigned long long) work.fraction * perimeter)
      sg_unite (work.parent, a, b);
  }
}

/* Passes on the old regions that r continues to its new root. */
__device__ __forceinline__ void
sg_pass_on_claim (const SgWork &work, unsigned r, unsigned to)
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
    const unsigned r = i < n ? work.root_list[0][i] : 0, to = i < n ? sg_find_halving (work.parent, r) : 0;
    const bool joined = i < n && to != r;

    if (joined)
      sg_pass_on_claim (work, r, to);
    sg_add_record (block->sums, work.record, joined, to, sg_record_if (work.record, joined, r));
    sg_append (work.root_list[1], &work.control->roots[1], i < n && !joined, r);
  }
  sg_flush_sums (block->sums, work.record);
}

/* ---- steps 8 and 9: rounds of all blocks -------------------------------- */

/* Phase A over the edges. The ends of an edge become the roots of their regions; an edge inside a region stays listed.
 * */
__device__ void
sg_pick_edges (const SgWork &work, const SgGrid &grid, const SgMerge &m)
{
  unsigned long long *list = work.edge;

  for (unsigned i = sg_spread (); i < m.edges; i += grid.step ()) {
    const unsigned cell[2] = { (unsigned) (list[i] >> 32), (unsigned) list[i] };
    unsigned root[2];

    sg_find<2> (work.parent, cell, root);
    const unsigned a = root[0] & ~sg_settled, b = root[1] & ~sg_settled;

    list[i] = (unsigned long long) a << 32 | b;
    if (a != b)
      sg_offer_edge (work, m, a, b);
  }
}

/* Phase B: returns where the picks lead from r, whose own pick is `to`. */
__device__ __forceinline__ unsigned
sg_end_of_picks (const unsigned long long *best, unsigned r, unsigned to)
{
  for (;;) {
    const unsigned long long next = best[to];

    if (next == sg_none_64)
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
  const unsigned *list = work.root_list[~m.round & 1];
  const unsigned long long *best = work.best[m.round & 1];
  unsigned long long *other = work.best[~m.round & 1];

  for (unsigned i = sg_spread (); i - (threadIdx.x & 31) < m.roots; i += grid.step ()) {
    const unsigned r = i < m.roots ? list[i] : 0;
    const unsigned long long pick = i < m.roots ? best[r] : sg_none_64;
    const unsigned to = pick != sg_none_64 ? sg_end_of_picks (best, r, (unsigned) pick) : r;
    const bool joined = i < m.roots && to != r;

    if (joined) {
      work.parent[r] = to;
      sg_pass_on_claim (work, r, to);
      work.control->picks[m.round % 3] = 1;
    } else if (i < m.roots) {
      other[r] = sg_none_64;
    }
    sg_add_record (block->sums, work.record, joined, to, sg_record_if (work.record, joined, r));
    sg_append (work.root_list[m.round & 1], next_n, i < m.roots && !joined, r);
  }
  sg_flush_sums (block->sums, work.record);
}

/* Makes one round and goes on to the next stage if it changed nothing and the threshold has not risen. Returns false
 * after the last stage. `picked`: the picks have been made. */
__device__ bool
sg_merge_round (const SgWork &work, const SgGrid &grid, SgBlock *block, SgMerge *m, bool picked)
{
  SgControl *control = work.control;
  const int now = m->round % 3, next = (m->round + 1) % 3;

  if (!picked) {
    if (grid.first () == 0)
      control->roots[next] = control->picks[now] = 0;
    sg_pick_edges (work, grid, *m);
    grid.barrier ();
  }
  sg_join_picks (work, grid, block, *m, &control->roots[next]);
  grid.barrier ();
  m->roots = control->roots[next];
  m->round++;
  return sg_rise (m) || control->picks[now] || sg_next_stage (work, m);
}

/* Merges all regions; `grows`: growth has not ended. Returns true if a single block has finished the merging: then
 * `merged` has the regions in the order of their indices, and the indices of the ranks. Else the regions are listed in
 * root_list[parity]. */
__device__ bool
sg_merge_all (const SgWork &work, const SgGrid &grid, SgBlock *block, bool grows, unsigned char *memory, size_t size,
    SgGathered *merged)
{
  SgMerge m = sg_first_round (work, grows);
  bool again = true;

  while (again && !sg_fits_local (m.roots, m.edges, size))
    again = sg_merge_round (work, grid, block, &m, m.round == 2 && sg_picks_early (work, grows));
  if (!again) {
    if (grid.first () == 0) {
      work.control->regions = m.roots;
      work.control->parity = (unsigned) ~m.round & 1;
    }
    return false;
  }
  unsigned *edges = &work.control->gathered;

  sg_gather (work, grid, m, (SgRoots *) (memory + sizeof (SgSums)), edges);
  grid.barrier ();
  sg_clear_table (work, grid, m);
  if (blockIdx.x == 0)
    sg_merge_single_block (work, block, memory, size, m, *edges);
  *merged = sg_gathered (work);
  return true;
}

} // namespace cf

#endif
