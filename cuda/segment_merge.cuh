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

/* Regions are numbered as listed. Their best partners are found in three steps, the least
 * distance, the least root at that distance, and its number: an atomic minimum of 32
 * bits is an instruction in shared memory, one of 64 bits is a loop, and half of the edges
 * may be one large region's. */
struct SgLocal {
  unsigned *distance, *partner; /* of the best; sg_none: there is none */
  unsigned *cells, *luma, *cb, *cr; /* cells with old_bit where it carries old regions on */
  unsigned *mean, *root, *edge;     /* edge: two numbers of 16 bits */
  uint16_t *pick, *parent;
};
constexpr unsigned sg_old_bit = 1u << 30;
constexpr size_t sg_local_region = 8 * 4 + 2 * 2, sg_local_edge = 4;

__host__ __device__ inline size_t
sg_local_bytes (unsigned regions, unsigned edges)
{
  return (regions + 8) * sg_local_region + edges * sg_local_edge;
}

__device__ SgLocal
sg_lay_out (unsigned char *memory, unsigned regions, unsigned edges)
{
  const unsigned n = (regions + 7) / 8 * 8; /* each array begins at a multiple of 16 bytes */
  SgLocal l;

  l.distance = (unsigned *) memory;
  l.partner = l.distance + n;
  l.cells = l.partner + n;
  l.luma = l.cells + n;
  l.cb = l.luma + n;
  l.cr = l.cb + n;
  l.mean = l.cr + n;
  l.root = l.mean + n;
  l.edge = l.root + n;
  l.parent = (uint16_t *) (l.edge + edges);
  l.pick = l.parent + n;
  return l;
}

__device__ __forceinline__ unsigned
sg_local_find (const SgLocal &l, unsigned i)
{
  while (l.parent[i] != i)
    i = l.parent[i];
  return i;
}

/* Regions and edges to shared memory; how many edges this thread has: every 1024th one. */
__device__ unsigned
sg_load_local (const SgWork &work, const SgLocal &l, const SgMerge &m)
{
  constexpr unsigned each = 4;
  unsigned mine = 0;
  const unsigned *roots = work.root_list[~m.turn & 1];
  const unsigned long long *edges = work.edge[m.turn & 1];

  for (unsigned i = threadIdx.x; i < m.roots; i += sg_threads) {
    const unsigned r = roots[i];
    const SgRecord record = sg_load_record (work.record + r);

    l.root[i] = r;
    l.parent[i] = (uint16_t) i;
    l.cells[i] = sg_cells (record) | (record.x & sg_old ? sg_old_bit : 0);
    l.luma[i] = (unsigned) record.x;
    l.cb[i] = (unsigned) (record.y >> 32);
    l.cr[i] = (unsigned) record.y;
    work.count[r] = i;
  }
  __syncthreads ();
  for (unsigned i = threadIdx.x; i < m.edges; i += each * sg_threads) {
    unsigned ends[2 * each], root[2 * each], number[2 * each];

#pragma unroll
    for (unsigned k = 0; k < each; k++) {
      const unsigned long long edge = edges[min (i + k * sg_threads, m.edges - 1)];

      ends[2 * k] = (unsigned) (edge >> 32);
      ends[2 * k + 1] = (unsigned) edge;
    }
    sg_find<2 * each> (work.parent, ends, root);
#pragma unroll
    for (unsigned k = 0; k < 2 * each; k++)
      number[k] = work.count[root[k]];
#pragma unroll
    for (unsigned k = 0; k < each; k++)
      if (i + k * sg_threads < m.edges && number[2 * k] != number[2 * k + 1])
        l.edge[threadIdx.x + mine++ * sg_threads] = number[2 * k] | number[2 * k + 1] << 16;
  }
  __syncthreads ();
  return mine;
}

/* What an edge offers to its two ends. */
struct SgOffer {
  unsigned end[2], distance;
  bool to[2];
};

__device__ __forceinline__ SgOffer
sg_local_offer (const SgWork &work, const SgLocal &l, const SgMerge &m, unsigned edge)
{
  const unsigned a = edge & 0xffff, b = edge >> 16, ca = l.cells[a], cb = l.cells[b];
  const bool alike = m.min_cells == 0 && sg_near (l.mean[a], l.mean[b], work.merge[(ca & cb & sg_old_bit) != 0]);

  return SgOffer { { a, b }, sg_distance (l.mean[a], l.mean[b]),
    { alike || (ca & ~sg_old_bit) < m.min_cells, alike || (cb & ~sg_old_bit) < m.min_cells } };
}

/* How many edges are left of the thread's own. */
__device__ unsigned
sg_local_pick (const SgWork &work, const SgLocal &l, const SgMerge &m, unsigned mine)
{
  unsigned left = 0;

  for (unsigned i = threadIdx.x; i < m.roots; i += sg_threads) {
    const unsigned n = l.cells[i] & ~sg_old_bit;

    l.distance[i] = l.partner[i] = sg_none;
    if (l.parent[i] == i)
      l.mean[i] = sg_divide (l.luma[i], n) | sg_divide (l.cb[i], n) << 8 | sg_divide (l.cr[i], n) << 16;
  }
  __syncthreads ();
  for (unsigned k = 0; k < mine; k++) {
    const unsigned edge = l.edge[threadIdx.x + k * sg_threads];
    const unsigned a = sg_local_find (l, edge & 0xffff), b = sg_local_find (l, edge >> 16);

    if (a == b)
      continue;
    l.edge[threadIdx.x + left++ * sg_threads] = a | b << 16;
    const SgOffer o = sg_local_offer (work, l, m, a | b << 16);

    for (int e = 0; e < 2; e++)
      if (o.to[e])
        atomicMin (l.distance + o.end[e], o.distance);
  }
  __syncthreads ();
  for (int step = 0; step < 2; step++) {
    for (unsigned k = 0; k < left; k++) {
      const SgOffer o = sg_local_offer (work, l, m, l.edge[threadIdx.x + k * sg_threads]);

      for (int e = 0; e < 2; e++) {
        const unsigned to = o.end[e], with = o.end[1 - e];

        if (!o.to[e] || l.distance[to] != o.distance)
          continue;
        if (step == 0)
          atomicMin (l.partner + to, l.root[with]);
        else if (l.partner[to] == l.root[with])
          l.pick[to] = (uint16_t) with;
      }
    }
    __syncthreads ();
  }
  return left;
}

/* Where the picks lead from r, whose own is `to`. */
__device__ __forceinline__ unsigned
sg_local_end (const SgLocal &l, unsigned r, unsigned to)
{
  while (l.distance[to] != sg_none) {
    const unsigned next = l.pick[to];

    if (next == r)
      return l.root[r] < l.root[to] ? r : to;
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
    const bool picks = i < m.roots && l.parent[i] == i && l.distance[i] != sg_none;
    const unsigned to = picks ? sg_local_end (l, i, l.pick[i]) : i;

    if (to != i) {
      l.parent[i] = (uint16_t) to;
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
    const unsigned i = base + (threadIdx.x & 31);
    const bool stays = i < m.roots && l.parent[i] == i;

    if (stays) {
      const unsigned long long flags = sg_seeded | (l.cells[i] & sg_old_bit ? sg_old : 0);

      work.record[l.root[i]] = SgRecord { flags | (unsigned long long) (l.cells[i] & ~sg_old_bit) << 32 | l.luma[i],
        (unsigned long long) l.cb[i] << 32 | l.cr[i] };
    } else if (i < m.roots) {
      const unsigned r = l.root[i], to = l.root[sg_local_find (l, i)];

      work.parent[r] = to;
      if (work.record[r].x & sg_old)
        atomicMax (work.claim + to, work.claim[r]);
    }
    sg_append (list, n, stays, stays ? l.root[i] : 0);
  }
}

__device__ void
sg_merge_alone (const SgWork &work, SgBlock *block, unsigned char *memory, SgMerge m)
{
  const SgLocal l = sg_lay_out (memory, m.roots, m.edges);
  const unsigned listed = m.roots;

  if (threadIdx.x == 0)
    block->roots = 0;
  unsigned mine = sg_load_local (work, l, m);

  for (unsigned left = m.roots;;) {
    m.roots = listed;
    mine = sg_local_pick (work, l, m, mine);
    const unsigned joined = sg_local_join (l, m);

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

  while (again && !(m.roots < 65536 && sg_local_bytes (m.roots, m.edges) <= size)) {
    if (m.turn == 2 && grid.first () == 0)
      work.control->roots[0] = 0;
    again = sg_merge_round (work, grid, block, &m);
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
