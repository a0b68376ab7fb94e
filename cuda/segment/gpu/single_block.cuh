/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/gpu/single_block.cuh: the last rounds of growth and merging (steps 6, 8 and 9 of the segmentation) in the
 * shared memory of a single block, whose barrier takes far less time than the grid barrier.
 *
 * Map: a thread has every 1024th region and every 1024th edge of the lists that all blocks have gathered (gather.cuh).
 * Shared memory: SgLocal, one array after the other, each a multiple of 16 bytes. Edges stay in device memory if
 * they do not fit.
 * Race free: `best` is changed by atomicMin over distance and number of the partner, sums by integer atomics, and a
 * block barrier stands between picking and joining. `link` of a region that others join is stored by several threads
 * with the same value.
 * Bound by the passes over regions and edges. While the threshold of step 8 rises, all edges count; from then on only
 * those that end at a region which the last round has changed: two unchanged regions are known not to be similar, and
 * a small region with any edge always picks. So the last rounds, in which little happens, cost little more than one
 * look at each edge. */
#ifndef CF_SEGMENT_GPU_SINGLE_BLOCK_CUH
#define CF_SEGMENT_GPU_SINGLE_BLOCK_CUH

#include "gather.cuh"

namespace cf {

__device__ __forceinline__ void
sg_load_region (const SgLocal &l, const SgMerge &m, unsigned i, uint4 region, unsigned mean, unsigned best)
{
  l.mean[i] = mean | ((region.x & ~sg_old_bit) < m.min_cells ? sg_small_mean : 0);
  l.best[i] = best;
  l.link[i] = i;
  l.living[i] = (uint16_t) i;
  l.cells[i] = region.x;
  l.luma[i] = region.y;
  l.cb[i] = region.z;
  l.cr[i] = region.w;
}

/* Loads regions and edges into shared memory, several of each at once. */
__device__ __forceinline__ void
sg_load_local (const SgLocal &l, const SgGathered &from, const SgMerge &m)
{
  for (unsigned i = threadIdx.x; i < m.roots; i += 2 * sg_threads) {
    const unsigned j = i + sg_threads < m.roots ? i + sg_threads : i; /* without a second region: the first one twice */
    const uint4 region[2] = { from.region[i], from.region[j] };
    const unsigned mean[2] = { from.mean[i], from.mean[j] }, best[2] = { from.best[i], from.best[j] };

    sg_load_region (l, m, i, region[0], mean[0], best[0]);
    sg_load_region (l, m, j, region[1], mean[1], best[1]);
  }
  if (l.edge == from.edge)
    return;
  for (unsigned i = threadIdx.x; i < l.n_edges; i += 4 * sg_threads) {
    unsigned edge[4];

#pragma unroll
    for (unsigned k = 0; k < 4; k++)
      edge[k] = i + k * sg_threads < l.n_edges ? from.edge[i + k * sg_threads] : 0;
#pragma unroll
    for (unsigned k = 0; k < 4; k++)
      if (i + k * sg_threads < l.n_edges)
        l.edge[i + k * sg_threads] = edge[k];
  }
}

/* ---- rounds ------------------------------------------------------------- */

/* A round. By the numbers in SgLocal.link the next round finds what this one has changed. */
struct SgRound {
  unsigned number;
  bool rises;   /* the first of step 8, or its threshold is higher than in the round before */
  bool stage;   /* first round of a stage: nothing has changed, but other regions pick */
  bool rebuild; /* much has changed: lists are rebuilt without edges and regions that are gone */
};

/* Reserves entries of a list for the lanes of a warp, up to two each. Returns where those of this lane begin. */
__device__ __forceinline__ unsigned
sg_reserve_lanes (unsigned *length, bool has, bool has_more)
{
  const unsigned mask = __ballot_sync (~0u, has), more = __ballot_sync (~0u, has_more);
  const unsigned lower = (1u << (threadIdx.x & 31)) - 1, n = (unsigned) (__popc (mask) + __popc (more));
  unsigned at = 0;

  if (n == 0)
    return 0;
  if (lower == 0)
    at = atomicAdd (length, n);
  return __shfl_sync (~0u, at, 0) + (unsigned) (__popc (mask & lower) + __popc (more & lower));
}

/* Returns the number of the region that region i has joined, or i. */
__device__ __forceinline__ unsigned
sg_local_parent (const SgLocal &l, unsigned i)
{
  return l.link[i] & 0xffff;
}

/* Updates the mean of a region that others have joined. */
__device__ __forceinline__ void
sg_local_update_mean (const SgLocal &l, const SgMerge &m, unsigned i)
{
  const unsigned cells = l.cells[i], n = cells & ~sg_old_bit;

  l.mean[i] = sg_mean_of_sums (n & ~sg_marked, l.luma[i], l.cb[i], l.cr[i])
      | (cells & sg_old_bit ? sg_old_mean : 0) | (n < m.min_cells ? sg_small_mean : 0) | (l.mean[i] & sg_free_mean);
}

/* Updates the regions that the round before has changed. With round.rebuild, lists those that are left. */
__device__ __forceinline__ void
sg_local_regions (const SgLocal &l, SgBlock *block, const SgMerge &m, SgRound round)
{
  /* the last warps first, because the first warps have the edges */
  for (unsigned base = ~threadIdx.x & (sg_threads - 32); base < l.n_living; base += sg_threads) {
    const unsigned k = base + (threadIdx.x & 31), i = k < l.n_living ? l.living[k] : 0;
    const unsigned link = l.link[i];
    const bool lives = k < l.n_living && (link & 0xffff) == i;

    if (k < l.n_living && link >> 16 == round.number - 1) {
      l.best[i] = sg_none; /* only such regions have picked */
      if (lives)
        sg_local_update_mean (l, m, i);
    }
    if (round.rebuild) {
      const unsigned at = sg_reserve_lanes (&block->roots, lives, false);

      if (lives)
        l.living_spare[at] = (uint16_t) i;
    }
  }
}

/* Returns whether another edge has become the same one. The table need not find all of them. */
__device__ __forceinline__ bool
sg_local_seen (const SgLocal &l, unsigned edge)
{
  const unsigned at = edge * 2654435769u >> (32 - sg_seen_bits);
  const unsigned first = atomicCAS (l.table + at, 0u, edge);

  return first == edge || (first != 0 && atomicCAS (l.table + (at ^ 1), 0u, edge) == edge);
}

/* Returns what an edge has become, 0: it is removed. Its ends are roots or one step below a root. `*counts`: the
 * round before has changed one of its ends, the threshold has risen, or a stage begins in which one of them may pick.
 * */
__device__ __forceinline__ unsigned
sg_local_update_edge (const SgLocal &l, const SgMerge &m, SgRound round, unsigned edge, unsigned la, unsigned lb,
    bool *counts)
{
  const unsigned a = la & 0xffff, b = lb & 0xffff;

  if (round.stage) {
    *counts = edge && (m.min_cells == 0 || ((l.mean[a] | l.mean[b]) & sg_small_mean));
    return edge;
  }
  const bool changed = la >> 16 == round.number - 1 || lb >> 16 == round.number - 1;

  *counts = edge && (changed || round.rises);
  if (!edge || !changed)
    return edge;
  edge = min (a, b) | max (a, b) << 16;
  return a == b || sg_local_seen (l, edge) ? 0 : edge;
}

/* Appends the edges that count to the other list; with round.rebuild, all that are left. A lane has two edges at
 * once, so that a short list occupies few warps. */
__device__ __forceinline__ void
sg_local_edges (const SgLocal &l, SgBlock *block, const SgMerge &m, SgRound round)
{
  for (unsigned base = (threadIdx.x & ~31u) * 2; base < l.n_edges; base += 2 * sg_threads) {
    const unsigned i = base + (threadIdx.x & 31), j = i + 32;
    const unsigned old_i = i < l.n_edges ? l.edge[i] : 0, old_j = j < l.n_edges ? l.edge[j] : 0;
    const unsigned ai = l.link[old_i & 0xffff], bi = l.link[old_i >> 16];
    const unsigned aj = l.link[old_j & 0xffff], bj = l.link[old_j >> 16];
    bool counts_i, counts_j;
    const unsigned edge_i = sg_local_update_edge (l, m, round, old_i, ai, bi, &counts_i);
    const unsigned edge_j = sg_local_update_edge (l, m, round, old_j, aj, bj, &counts_j);
    const bool has_i = edge_i && (counts_i || round.rebuild), has_j = edge_j && (counts_j || round.rebuild);
    const unsigned at = sg_reserve_lanes (&block->used, has_i, has_j);

    if (has_i)
      l.spare[at] = edge_i;
    if (has_j)
      l.spare[at + has_i] = edge_j;
    if (counts_i && !round.rebuild)
      l.edge[i] = edge_i;
    if (counts_j && !round.rebuild)
      l.edge[j] = edge_j;
  }
}

__device__ __forceinline__ void
sg_local_offer (const SgLocal &l, unsigned to, unsigned key)
{
  if (key < sg_peek (l.best + to))
    atomicMin (l.best + to, key);
}

/* Offers the ends of each edge to each other. */
__device__ __forceinline__ void
sg_local_pick (const SgWork &work, const SgLocal &l, const SgMerge &m, unsigned n)
{
  for (unsigned i = threadIdx.x; i < n; i += sg_threads) {
    const unsigned edge = l.spare[i], a = edge & 0xffff, b = edge >> 16, ma = l.mean[a], mb = l.mean[b];
    const unsigned ca = ma & sg_color_bits, cb = mb & sg_color_bits;
    const unsigned na = l.cells[a] & ~sg_old_bit, nb = l.cells[b] & ~sg_old_bit, least = sg_least (na, nb);
    const unsigned distance = sg_distance (ca, cb), cost = sg_cost (distance, least);
    const unsigned key = (m.grows ? distance : cost) << sg_local_bits;
    const bool joins
        = sg_may_join (work, m, ca, cb, (ma & mb & sg_old_mean) != 0, (na & nb & sg_marked) != 0, least, cost);
    const bool a_first = na < nb || (na == nb && a > b);

    if ((joins && a_first) || (ma & sg_small_mean) || (m.grows && (ma & sg_free_mean)))
      sg_local_offer (l, a, key | b);
    if ((joins && !a_first) || (mb & sg_small_mean) || (m.grows && (mb & sg_free_mean)))
      sg_local_offer (l, b, key | a);
  }
}

/* Returns where the picks lead from r, whose own pick is `to`. */
__device__ __forceinline__ unsigned
sg_local_end (const SgLocal &l, unsigned r, unsigned to)
{
  for (;;) {
    const unsigned pick = l.best[to], next = pick % sg_local_max;

    if (pick == sg_none)
      return to;
    if (next == r)
      return min (r, to);
    r = to;
    to = next;
  }
}

/* Joins regions where their picks lead. Returns how many threads have joined any. Growth ends when no region is left
 * that has picked. */
__device__ __forceinline__ unsigned
sg_local_join (const SgLocal &l, SgRound round, bool *grows)
{
  bool joined = false, stays = false;

  ((uint4 *) l.table)[threadIdx.x] = make_uint4 (0, 0, 0, 0);
  for (unsigned k = threadIdx.x; k < l.n_living; k += sg_threads) {
    const unsigned i = l.living[k], pick = l.best[i];
    const unsigned to = pick != sg_none ? sg_local_end (l, i, pick % sg_local_max) : i;

    stays = stays || (to == i && pick != sg_none);
    if (to == i)
      continue;
    const unsigned cells = l.cells[i], luma = l.luma[i], cb = l.cb[i], cr = l.cr[i];

    joined = true;
    l.link[i] = to | round.number << 16;
    sg_poke (l.link + to, to | round.number << 16);
    atomicAdd (&l.cells[to], cells & ~sg_old_bit);
    atomicAdd (&l.luma[to], luma);
    atomicAdd (&l.cb[to], cb);
    atomicAdd (&l.cr[to], cr);
    if (cells & sg_old_bit)
      atomicOr (&l.cells[to], sg_old_bit);
  }
  *grows = *grows && __syncthreads_or (stays);
  return (unsigned) __syncthreads_count (joined);
}
static_assert (sg_seen == 4 * sg_threads, "each thread clears four of the table");

/* Goes on after a round in which no region has picked. Returns false if that was the last stage. */
__device__ __forceinline__ bool
sg_local_next_stage (const SgWork &work, const SgLocal &l, SgMerge *m)
{
  const unsigned listed = m->roots;

  m->roots = 0;
  for (unsigned base = 0; base < l.n_living; base += sg_threads) {
    const unsigned k = base + threadIdx.x, i = k < l.n_living ? l.living[k] : 0;

    m->roots += (unsigned) __syncthreads_count (k < l.n_living && sg_local_parent (l, i) == i);
  }
  const bool again = sg_next_stage (work, m);

  m->roots = listed;
  for (unsigned i = threadIdx.x; again && i < listed; i += sg_threads)
    l.mean[i] = (l.mean[i] & ~sg_small_mean) | ((l.cells[i] & ~sg_old_bit) < m->min_cells ? sg_small_mean : 0);
  __syncthreads ();
  return again;
}

/* Makes the picks of each round except the first. */
__device__ __forceinline__ void
sg_local_picks (const SgWork &work, SgLocal *l, SgBlock *block, const SgMerge &m, SgRound round)
{
  sg_local_regions (*l, block, m, round);
  sg_local_edges (*l, block, m, round);
  __syncthreads ();
  const unsigned counting = block->used, living = block->roots;

  sg_local_pick (work, *l, m, counting);
  __syncthreads ();
  if (threadIdx.x == 0)
    block->used = block->roots = 0;
  if (!round.rebuild)
    return;
  unsigned *edges = l->spare;
  uint16_t *regions = l->living_spare;

  l->spare = l->edge;
  l->edge = edges;
  l->n_edges = counting;
  l->living_spare = l->living;
  l->living = regions;
  l->n_living = living;
}

/* ---- the result -------------------------------------------------------- */

/* Returns the entry of a region that is left, for the list in the order of the indices. `cells`: as in SgLocal. */
__device__ __forceinline__ uint4
sg_merged_region (unsigned root, unsigned mean, unsigned cells, unsigned new_before)
{
  return make_uint4 (root, mean & sg_color_bits, cells, new_before);
}

/* Stores indices in `best` and roots in `luma`. Returns the number of regions that are left. */
__device__ unsigned
sg_local_indices (const SgWork &work, const SgLocal &l, const SgGathered &to, const SgMerge &m)
{
  const unsigned lane = threadIdx.x & 31, lower = (1u << lane) - 1;
  unsigned before = 0; /* regions, << 16 the new ones */

  for (unsigned base = 0; base < m.roots; base += sg_threads) {
    const unsigned i = base + threadIdx.x;
    const bool stays = i < m.roots && sg_local_parent (l, i) == i;
    const unsigned mean = stays ? l.mean[i] : sg_old_mean, root = i < m.roots ? work.smallest[i] : 0;
    const unsigned mask = __ballot_sync (~0u, stays), new_mask = __ballot_sync (~0u, !(mean & sg_old_mean));

    if (i < m.roots)
      l.luma[i] = root;
    __syncthreads ();
    if (lane == 0)
      l.table[threadIdx.x / 32] = (unsigned) (__popc (mask) | __popc (new_mask) << 16);
    __syncthreads ();
    const unsigned of_warp = l.table[lane], all = sg_reduce (~0u, of_warp);
    const unsigned at = before + sg_reduce (~0u, lane < threadIdx.x / 32 ? of_warp : 0)
        + (unsigned) (__popc (mask & lower) | __popc (new_mask & lower) << 16);

    if (stays) {
      l.best[i] = at & 0xffff;
      to.region[at & 0xffff] = sg_merged_region (root, mean, l.cells[i], at >> 16);
    }
    before += all;
  }
  __syncthreads ();
  return before & 0xffff;
}

/* Stores the index of each rank in `index`. */
__device__ void
sg_store_local (const SgWork &work, const SgLocal &l, const SgGathered &to, const SgMerge &m)
{
  for (unsigned i = threadIdx.x; i < m.roots; i += sg_threads) {
    unsigned end = i;

    while (sg_local_parent (l, end) != end)
      end = sg_local_parent (l, end);
    to.index[i] = l.best[end];
    if (work.recurrent && end != i && (to.mean[i] & sg_old_mean))
      atomicMax (work.claim + l.luma[end], work.claim[l.luma[i]]);
  }
}

__device__ __forceinline__ void
sg_local_rounds (const SgWork &work, SgBlock *block, const SgGathered &gathered, SgLocal l, SgMerge m)
{
  sg_load_local (l, gathered, m);
  __syncthreads ();
  for (SgRound round = { 1, false, false, false };; round.number++) {
    if (round.number > 1)
      sg_local_picks (work, &l, block, m, round);
    const bool grew = m.grows;
    const unsigned joined = sg_local_join (l, round, &m.grows);

    round.rises = grew ? !m.grows : sg_rise (&m);
    round.stage = joined == 0 && !round.rises;
    round.rebuild = joined >= sg_rebuild_min;
    if (round.stage && !sg_local_next_stage (work, l, &m))
      break;
  }
}

/* Makes the last rounds; only one block calls. sg_gathered ().region gets the regions that are left, sg_gathered
 * ().index the index of each rank. */
__device__ void
sg_merge_single_block (const SgWork &work, SgBlock *block, unsigned char *memory, size_t size, const SgMerge &m,
    unsigned edges)
{
  const SgGathered gathered = sg_gathered (work);
  SgLocal l = sg_lay_out (memory, m.roots, edges);

  if (threadIdx.x == 0)
    block->used = block->roots = 0;
  /* two calls of the same function, for the compiler to know the address space */
  if (sg_local_size (m.roots) + 2 * sizeof (unsigned) * (size_t) edges <= size) {
    sg_local_rounds (work, block, gathered, l, m);
  } else {
    l.edge = gathered.edge;
    l.spare = gathered.spare;
    sg_local_rounds (work, block, gathered, l, m);
  }
  const unsigned left = sg_local_indices (work, l, gathered, m);

  sg_store_local (work, l, gathered, m);
  if (threadIdx.x == 0)
    work.control->regions = left;
}

} // namespace cf

#endif
