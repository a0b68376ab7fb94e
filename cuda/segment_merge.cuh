/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment_merge.cuh: the graph of regions: steps 7 to 9 of the segmentation.
 *
 * The pairs of touching regions are counted a tile at a time in shared memory and then
 * in a hash table of the frame. Where regions and edges fit the shared memory of
 * one block, that block makes the rounds of merging alone: its barrier takes a tenth
 * of all blocks'. Until then all blocks make rounds, as in segment_grow.cuh. */
#ifndef SEGMENT_MERGE_CUH
#define SEGMENT_MERGE_CUH

#include "segment_grow.cuh"

namespace cf {

/* ---- pairs -------------------------------------------------------------- */

__device__ __forceinline__ unsigned
sg_hash (unsigned long long key)
{
  return (unsigned) (key * 0x9e3779b97f4a7c15ull >> 32);
}

/* A touching pair of cells of two regions to the tile's table. */
__device__ void
sg_count_pair (const SgWork &work, SgBlock *block, SgTilePairs *tile, unsigned a, unsigned b, unsigned p, unsigned q)
{
  const unsigned long long key = (unsigned long long) min (a, b) << 32 | max (a, b);
  const bool both = (work.record[a].x & work.record[b].x & sg_old) != 0;
  unsigned at = sg_hash (key) % sg_pairs;
  unsigned long long old;

  while ((old = atomicCAS (&tile->key[at], sg_never, key)) != sg_never && old != key)
    at = (at + 1) % sg_pairs;
  if (old == sg_never)
    tile->used[atomicAdd (&block->used, 1u)] = (uint16_t) at;
  atomicAdd (&tile->count[at], 1u << 16 | (unsigned) sg_near (p, q, work.weak[both]));
}

/* A tile's pair of regions to the frame's table; true: it is the first of its kind. */
__device__ bool
sg_add_pair (const SgWork &work, unsigned long long key, unsigned count, unsigned *slot)
{
  unsigned at = sg_hash (key) & (work.slots - 1);
  unsigned long long old;

  while ((old = atomicCAS (&work.key[at], sg_never, key)) != sg_never && old != key)
    at = (at + 1) & (work.slots - 1);
  if (count & 0xffff)
    atomicAdd (work.weak_count + at, count & 0xffff);
  atomicAdd (work.count + (unsigned) (key >> 32), count >> 16);
  atomicAdd (work.count + (unsigned) key, count >> 16);
  *slot = at;
  return old == sg_never;
}

__device__ void
sg_flush_tile (const SgWork &work, SgBlock *block, SgTilePairs *tile)
{
  for (unsigned base = threadIdx.x & ~31u; base < block->used; base += sg_threads) {
    const unsigned i = base + (threadIdx.x & 31);
    unsigned slot = 0;
    bool fresh = false;

    if (i < block->used) {
      const unsigned at = tile->used[i];

      fresh = sg_add_pair (work, tile->key[at], tile->count[at], &slot);
      tile->key[at] = sg_never;
      tile->count[at] = 0;
    }
    sg_append (work.slot_list, &work.control->slots, fresh, slot);
  }
  __syncthreads ();
  if (threadIdx.x == 0)
    block->used = 0;
}

/* The roots of a tile's cells and of those right of it and below. Each cell is put right below
 * its root; the roots are listed. */
__device__ void
sg_find_tile (const SgWork &work, SgTilePairs *tile, unsigned x0, unsigned y0)
{
  constexpr unsigned wide = sg_tile + 1;
  const unsigned t = threadIdx.x, columns = (unsigned) work.columns, rows = (unsigned) work.rows;
  /* its own, and, of the first threads, one on the margin */
  const unsigned x[2] = { t % sg_tile, t <= sg_tile ? t : sg_tile };
  const unsigned y[2] = { t / sg_tile, t <= sg_tile ? sg_tile : t - sg_tile - 1 };
  const bool inside[2] = { x0 + x[0] < columns && y0 + y[0] < rows,
    t < 2 * sg_tile + 1 && x0 + x[1] < columns && y0 + y[1] < rows };
  const unsigned cell[2] = { inside[0] ? (y0 + y[0]) * columns + x0 + x[0] : 0,
    inside[1] ? (y0 + y[1]) * columns + x0 + x[1] : 0 };
  unsigned root[2];

  sg_find<2> (work.parent, cell, root);
  root[0] &= ~sg_settled;
  tile->root[y[0] * wide + x[0]] = inside[0] ? root[0] : sg_none;
  if (t < 2 * sg_tile + 1)
    tile->root[y[1] * wide + x[1]] = inside[1] ? root[1] & ~sg_settled : sg_none;
  if (inside[0])
    work.parent[cell[0]] = root[0];
  if (inside[0] && root[0] == cell[0])
    work.best[0][cell[0]] = work.best[1][cell[0]] = sg_never;
  sg_append (work.root_list[0], &work.control->roots[0], inside[0] && root[0] == cell[0], cell[0]);
  __syncthreads ();
}

__device__ void
sg_count_tile (const SgWork &work, SgBlock *block, SgTilePairs *tile, unsigned number)
{
  const unsigned tiles_x = (unsigned) (work.columns + sg_tile - 1) / sg_tile, t = threadIdx.x;
  const unsigned x0 = number % tiles_x * sg_tile, y0 = number / tiles_x * sg_tile;
  const unsigned columns = (unsigned) work.columns, c = (y0 + t / sg_tile) * columns + x0 + t % sg_tile;
  const unsigned at = t / sg_tile * (sg_tile + 1) + t % sg_tile;

  sg_find_tile (work, tile, x0, y0);
  const unsigned root = tile->root[at], right = tile->root[at + 1], below = tile->root[at + sg_tile + 1];
  const bool across = root != sg_none && right != sg_none && right != root;
  const bool down = root != sg_none && below != sg_none && below != root;

  if (across)
    sg_count_pair (work, block, tile, root, right, work.after.p[c], work.after.p[c + 1]);
  if (down)
    sg_count_pair (work, block, tile, root, below, work.after.p[c], work.after.p[c + columns]);
  if (__syncthreads_or (across || down))
    sg_flush_tile (work, block, tile);
}

__device__ void
sg_count_pairs (const SgWork &work, SgBlock *block, SgTilePairs *tile)
{
  const unsigned tiles = (unsigned) ((work.columns + sg_tile - 1) / sg_tile * ((work.rows + sg_tile - 1) / sg_tile));

  for (unsigned i = threadIdx.x; i < sg_pairs; i += sg_threads) {
    tile->key[i] = sg_never;
    tile->count[i] = 0;
  }
  if (threadIdx.x == 0)
    block->used = 0;
  for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x) {
    __syncthreads ();
    sg_count_tile (work, block, tile, number);
  }
}

/* ---- step 7: weak borders ----------------------------------------------- */

/* The pairs leave the table, which is empty then, and become the list of edges. */
__device__ void
sg_join_weak (const SgWork &work, const SgGrid &grid)
{
  const unsigned n = work.control->slots;

  for (unsigned i = grid.first (); i < n; i += grid.step ()) {
    const unsigned slot = work.slot_list[i];
    const unsigned long long key = work.key[slot];
    const unsigned a = (unsigned) (key >> 32), b = (unsigned) key, weak = work.weak_count[slot];
    const unsigned perimeter = min (work.count[a], work.count[b]);

    work.edge[0][i] = key;
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

  for (unsigned i = grid.first (); i - threadIdx.x < n; i += grid.step ()) {
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

/* How far the merging is. The lists are edge[turn & 1] and root_list[~turn & 1]. */
struct SgMerge {
  int turn;
  unsigned edges, roots;
  unsigned min_cells; /* 0: by mean */
};

/* After a round in which none has picked: what comes next; false: nothing. */
__device__ __forceinline__ bool
sg_next_stage (const SgWork &work, SgMerge *m)
{
  if (m->min_cells == 0)
    m->min_cells = work.min_cells;
  else if (m->roots <= work.max_regions)
    return false;
  else
    m->min_cells = min (m->min_cells, 0x7fffffffu) * 2;
  return true;
}

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

  for (unsigned i = grid.first (); i - threadIdx.x < m.edges; i += grid.step ()) {
    unsigned a = 0, b = 0;

    if (i < m.edges) {
      const unsigned long long edge = list[i];

      a = sg_find (work.parent, (unsigned) (edge >> 32));
      b = sg_find (work.parent, (unsigned) edge);
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

  for (unsigned i = grid.first (); i - threadIdx.x < m.roots; i += grid.step ()) {
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

/* ---- steps 8 and 9: one block's rounds in shared memory ----------------- */

/* Regions are numbered in the order of their roots, so that a partner's distance and number
 * are one word, whose least is found by an atomic minimum of 32 bits: that is an
 * instruction in shared memory, one of 64 bits is a loop. What is asked of a region for each
 * of its edges is one access; these accesses, at random over the banks, are what a
 * round costs. So edges between the same two regions are told apart from the second
 * round on, by a table that need not catch all of them. */
struct SgLocal {
  uint2 *info;                      /* mean; number of the region it has joined, or its own, and bits */
  unsigned *best;                   /* distance << sg_local_bits | number; sg_none: there is none */
  unsigned *cells, *luma, *cb, *cr; /* cells with sg_old_bit where it carries old regions on */
  unsigned *edge;                   /* two numbers of 16 bits */
  unsigned *table;                  /* edges seen in this round */
};
constexpr unsigned sg_old_bit = 1u << 30, sg_small_bit = 1u << 31;
constexpr unsigned sg_local_bits = 13, sg_local_most = 1u << sg_local_bits; /* a distance has 18 bits */
constexpr unsigned sg_seen_bits = 12, sg_seen = 1u << sg_seen_bits;
constexpr size_t sg_local_region = 8 + 5 * 4, sg_local_edge = 4;

__host__ __device__ inline bool
sg_fits_local (unsigned regions, unsigned edges, size_t size)
{
  return regions <= sg_local_most
      && sg_seen * sizeof (unsigned) + (regions + 8) * sg_local_region + edges * sg_local_edge <= size;
}

__device__ SgLocal
sg_lay_out (unsigned char *memory, unsigned regions)
{
  const unsigned n = (regions + 7) / 8 * 8; /* each array begins at a multiple of 16 bytes */
  SgLocal l;

  l.info = (uint2 *) memory;
  l.best = (unsigned *) (l.info + n);
  l.cells = l.best + n;
  l.luma = l.cells + n;
  l.cb = l.luma + n;
  l.cr = l.cb + n;
  l.table = l.cr + n;
  l.edge = l.table + sg_seen;
  return l;
}

/* The number of the region that it has joined, or its own. */
__device__ __forceinline__ unsigned
sg_local_parent (uint2 info)
{
  return info.y % sg_local_most;
}

/* How many of `roots` are smaller than each of two; for a warp. */
__device__ __forceinline__ uint2
sg_count_smaller (const unsigned *roots, unsigned n, unsigned a, unsigned b)
{
  const uint4 *fours = (const uint4 *) roots;
  const unsigned lane = threadIdx.x & 31;
  uint2 smaller = { 0, 0 };

  for (unsigned j = lane; j < n / 4; j += 32) {
    const uint4 r = fours[j];

    smaller.x += (r.x < a) + (r.y < a) + (r.z < a) + (r.w < a);
    smaller.y += (r.x < b) + (r.y < b) + (r.z < b) + (r.w < b);
  }
  if (n / 4 * 4 + lane < n) {
    smaller.x += roots[n / 4 * 4 + lane] < a;
    smaller.y += roots[n / 4 * 4 + lane] < b;
  }
  return make_uint2 (sg_reduce (~0u, smaller.x), sg_reduce (~0u, smaller.y));
}

/* All blocks, before one goes on alone: each region's place among the roots, a warp two
 * regions. `smallest` is free by now: it gets the root of each place. */
__device__ void
sg_rank (const SgWork &work, const SgGrid &grid, const SgMerge &m)
{
  const unsigned *roots = work.root_list[~m.turn & 1];
  const unsigned warps = grid.step () / 32;

  for (unsigned i = grid.first () / 32; i < m.roots; i += 2 * warps) {
    const unsigned a = roots[i], b = i + warps < m.roots ? roots[i + warps] : 0;
    const uint2 smaller = sg_count_smaller (roots, m.roots, a, b);

    if ((threadIdx.x & 31) == 0) {
      work.count[a] = smaller.x;
      work.smallest[smaller.x] = a;
    }
    if ((threadIdx.x & 31) == 0 && i + warps < m.roots) {
      work.count[b] = smaller.y;
      work.smallest[smaller.y] = b;
    }
  }
}

/* Where regions are put in their order for the block that goes on: the list of edges that is
 * not in use, which has room for one a cell. */
__device__ __forceinline__ uint4 *
sg_ranked (const SgWork &work, const SgMerge &m)
{
  return (uint4 *) work.edge[~m.turn & 1];
}

/* All blocks: what the one that goes on alone will load, in the order in which it does. A
 * multiprocessor by itself is slow at fetching what lies anywhere. */
__device__ void
sg_gather (const SgWork &work, const SgGrid &grid, const SgMerge &m)
{
  unsigned long long *edges = work.edge[m.turn & 1];

  for (unsigned i = grid.first (); i < m.roots; i += grid.step ()) {
    const SgRecord record = sg_load_record (work.record + work.smallest[i]);

    sg_ranked (work, m)[i] = make_uint4 (sg_cells (record) | (record.x & sg_old ? sg_old_bit : 0), (unsigned) record.x,
        (unsigned) (record.y >> 32), (unsigned) record.y);
  }
  for (unsigned i = grid.first (); i < m.edges; i += grid.step ()) {
    const unsigned cell[2] = { (unsigned) (edges[i] >> 32), (unsigned) edges[i] };
    unsigned root[2];

    sg_find<2> (work.parent, cell, root);
    edges[i] = work.count[root[0] & ~sg_settled] | work.count[root[1] & ~sg_settled] << 16;
  }
}

/* Regions and edges to shared memory; how many edges this thread has: every 1024th one. */
__device__ unsigned
sg_load_local (const SgWork &work, const SgLocal &l, const SgMerge &m)
{
  const unsigned long long *edges = work.edge[m.turn & 1];
  unsigned mine = 0;

#pragma unroll 4
  for (unsigned i = threadIdx.x; i < m.roots; i += sg_threads) {
    const uint4 region = sg_ranked (work, m)[i];

    l.info[i].y = i;
    l.cells[i] = region.x;
    l.luma[i] = region.y;
    l.cb[i] = region.z;
    l.cr[i] = region.w;
  }
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < m.edges; i += sg_threads) {
    const unsigned edge = (unsigned) edges[i];

    if ((edge & 0xffff) != edge >> 16)
      l.edge[threadIdx.x + mine++ * sg_threads] = edge;
  }
  return mine;
}

/* What the round's edges ask of a region. */
__device__ void
sg_local_means (const SgLocal &l, const SgMerge &m)
{
  for (unsigned i = threadIdx.x; i < m.roots; i += sg_threads) {
    const unsigned cells = l.cells[i], n = cells & ~sg_old_bit;

    if (sg_local_parent (l.info[i]) != i)
      continue;
    l.best[i] = sg_none;
    l.info[i] = make_uint2 (sg_divide (l.luma[i], n) | sg_divide (l.cb[i], n) << 8 | sg_divide (l.cr[i], n) << 16,
        i | (cells & sg_old_bit) | (n < m.min_cells ? sg_small_bit : 0));
  }
  for (unsigned i = threadIdx.x; i < sg_seen; i += sg_threads)
    l.table[i] = sg_none;
  __syncthreads ();
}

/* Edges end at regions of the round before: these are roots or right below one. */
__device__ __forceinline__ uint2
sg_local_root (const SgLocal &l, unsigned i)
{
  const uint2 info = l.info[i];
  const unsigned to = sg_local_parent (info);

  return to == i ? info : l.info[to];
}

__device__ __forceinline__ void
sg_local_offer (const SgLocal &l, unsigned to, unsigned distance, unsigned partner)
{
  const unsigned key = distance << sg_local_bits | partner;

  if (key < sg_peek (l.best + to))
    atomicMin (l.best + to, key);
}

/* How many edges are left of the thread's own. `twins`: regions have joined, so that edges may
 * have become the same. */
__device__ unsigned
sg_local_pick (const SgWork &work, const SgLocal &l, const SgMerge &m, bool twins, unsigned mine)
{
  unsigned left = 0;

  sg_local_means (l, m);
  for (unsigned k = 0; k < mine; k++) {
    const unsigned old = l.edge[threadIdx.x + k * sg_threads];
    const uint2 ia = sg_local_root (l, old & 0xffff), ib = sg_local_root (l, old >> 16);
    const unsigned a = sg_local_parent (ia), b = sg_local_parent (ib), edge = min (a, b) | max (a, b) << 16;

    if (a == b)
      continue;
    if (twins && atomicCAS (l.table + (edge * 2654435769u >> (32 - sg_seen_bits)), sg_none, edge) == edge)
      continue;
    l.edge[threadIdx.x + left++ * sg_threads] = edge;
    const unsigned distance = sg_distance (ia.x, ib.x);
    const bool alike = m.min_cells == 0 && sg_near (ia.x, ib.x, work.merge[(ia.y & ib.y & sg_old_bit) != 0]);

    if (alike || (ia.y & sg_small_bit))
      sg_local_offer (l, a, distance, b);
    if (alike || (ib.y & sg_small_bit))
      sg_local_offer (l, b, distance, a);
  }
  __syncthreads ();
  return left;
}

/* Where the picks lead from r, whose own is `to`. */
__device__ __forceinline__ unsigned
sg_local_end (const SgLocal &l, unsigned r, unsigned to)
{
  while (l.best[to] != sg_none) {
    const unsigned next = l.best[to] % sg_local_most;

    if (next == r)
      return min (r, to);
    r = to;
    to = next;
  }
  return to;
}

/* How many have joined another one. */
__device__ unsigned
sg_local_join (const SgLocal &l, const SgMerge &m)
{
  unsigned joined = 0;

  for (unsigned base = 0; base < m.roots; base += sg_threads) {
    const unsigned i = base + threadIdx.x;
    const bool picks = i < m.roots && sg_local_parent (l.info[i]) == i && l.best[i] != sg_none;
    const unsigned to = picks ? sg_local_end (l, i, l.best[i] % sg_local_most) : i;

    if (to != i) {
      l.info[i].y = to;
      atomicAdd (&l.cells[to], l.cells[i] & ~sg_old_bit);
      atomicAdd (&l.luma[to], l.luma[i]);
      atomicAdd (&l.cb[to], l.cb[i]);
      atomicAdd (&l.cr[to], l.cr[i]);
      if (l.cells[i] & sg_old_bit)
        atomicOr (&l.cells[to], sg_old_bit);
    }
    joined += (unsigned) __syncthreads_count (to != i);
  }
  return joined;
}

/* Back to where the others look for it. */
__device__ void
sg_store_local (const SgWork &work, const SgLocal &l, const SgMerge &m, unsigned *list, unsigned *n)
{
  for (unsigned base = threadIdx.x & ~31u; base < m.roots; base += sg_threads) {
    const unsigned i = base + (threadIdx.x & 31), r = i < m.roots ? work.smallest[i] : 0;
    const bool stays = i < m.roots && sg_local_parent (l.info[i]) == i;

    if (stays) {
      const unsigned long long flags = sg_seeded | (l.cells[i] & sg_old_bit ? sg_old : 0);

      work.record[r] = SgRecord { flags | (unsigned long long) (l.cells[i] & ~sg_old_bit) << 32 | l.luma[i],
        (unsigned long long) l.cb[i] << 32 | l.cr[i] };
    } else if (i < m.roots) {
      unsigned end = i;

      while (sg_local_parent (l.info[end]) != end)
        end = sg_local_parent (l.info[end]);
      const unsigned to = work.smallest[end];

      work.parent[r] = to;
      if (work.record[r].x & sg_old)
        atomicMax (work.claim + to, work.claim[r]);
    }
    sg_append (list, n, stays, r);
  }
}

__device__ void
sg_merge_alone (const SgWork &work, SgBlock *block, unsigned char *memory, SgMerge m)
{
  const SgLocal l = sg_lay_out (memory, m.roots);
  const unsigned listed = m.roots;

  if (threadIdx.x == 0)
    block->roots = 0;
  unsigned mine = sg_load_local (work, l, m), joined = 0;

  for (unsigned left = m.roots;;) {
    m.roots = listed;
    mine = sg_local_pick (work, l, m, joined > 0, mine);
    joined = sg_local_join (l, m);
    left -= joined;
    m.roots = left;
    if (joined == 0 && !sg_next_stage (work, &m))
      break;
    __syncthreads ();
  }
  m.roots = listed;
  __syncthreads ();
  sg_store_local (work, l, m, work.root_list[m.turn & 1], &block->roots);
  __syncthreads ();
  if (threadIdx.x == 0) {
    work.control->regions = block->roots;
    work.control->turn = (unsigned) m.turn;
  }
}

/* From the edges to the last merge: the list of what is left is root_list[turn & 1]. */
__device__ void
sg_merge_all (const SgWork &work, SgGrid &grid, SgBlock *block, unsigned char *memory, size_t size)
{
  /* turns begin with 2: its lists are edge[0] and root_list[1] */
  SgMerge m = { 2, work.control->slots, work.control->roots[1], 0 };
  bool again = true;

  while (again && !sg_fits_local (m.roots, m.edges, size)) {
    if (m.turn == 2 && grid.first () == 0)
      work.control->roots[0] = 0;
    again = sg_merge_round (work, grid, block, &m);
  }
  if (again) {
    sg_rank (work, grid, m);
    grid.barrier ();
    sg_gather (work, grid, m);
    grid.barrier ();
  }
  if (again && blockIdx.x == 0)
    sg_merge_alone (work, block, memory, m);
  if (!again && grid.first () == 0) {
    work.control->regions = m.roots;
    work.control->turn = (unsigned) ~m.turn & 1;
  }
}

} // namespace cf

#endif
