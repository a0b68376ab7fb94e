/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/gpu/gather.cuh: what the single block (single_block.cuh) loads: regions in the order of their roots, edges
 * without duplicates, and the picks of the first round.
 *
 * Map: warps of all blocks take regions and edges in rotation. Each block sorts all roots by itself, which takes less
 * time than a grid barrier: it counts them by their upper bits.
 * Shared memory: SgRoots, behind SgSums.
 * Race free: block barriers stand between counting, adding up and placing the roots. Picks and the table of edges are
 * changed by atomics, and no result depends on which of two equal edges stays.
 * Bound by latency: a chain of accesses to the second-level cache. */
#ifndef CF_SEGMENT_GPU_GATHER_CUH
#define CF_SEGMENT_GPU_GATHER_CUH

#include "grow.cuh"

namespace cf {

/* State of the merging. The regions are listed in root_list[~round & 1]. */
struct SgMerge {
  int round;
  bool grows; /* step 6 has not ended */
  int shift; /* of step 8: N of T(k) is >> shift in this round */
  unsigned edges, roots;
  unsigned min_cells, limit; /* of step 9: M, then L; both are 0 in merging by mean */
};

/* Returns the cells of the smaller of two regions, given with sg_marked. */
__device__ __forceinline__ unsigned
sg_least (unsigned na, unsigned nb)
{
  return min (na & ~sg_marked, nb & ~sg_marked);
}

/* Returns whether two regions may join by mean, or by cost. The smaller of the two then picks the other. In growth only
 * regions without a seed pick, whatever they touch. */
__device__ __forceinline__ bool
sg_may_join (const SgWork &work, const SgMerge &m, unsigned p, unsigned q, bool both_old, bool both_marked,
    unsigned cells, unsigned cost)
{
  if (both_marked)
    return false;
  if (m.limit)
    return cost < m.limit;
  return m.min_cells == 0 && !m.grows && !both_old && sg_near (p, q, work.merge[31 - __clz ((int) cells)] >> m.shift);
}

/* Raises the threshold of step 8 after a round of it. Returns false if it applies in full already. */
__device__ __forceinline__ bool
sg_rise (SgMerge *m)
{
  const bool rises = m->shift > 0 && !m->grows;

  m->shift -= rises;
  return rises;
}

/* Goes on to the next stage after a round in which no region has picked and the threshold has not risen. Returns false
 * if there is none. */
__device__ __forceinline__ bool
sg_next_stage (const SgWork &work, SgMerge *m)
{
  if (m->grows) {
    m->grows = false;
  } else if (m->min_cells == 0 && m->limit == 0) {
    m->min_cells = work.min_cells;
  } else if (m->roots <= work.max_regions) {
    return false;
  } else {
    m->limit = m->limit ? m->limit + CF_SEGMENT_LIMIT_STEP : CF_SEGMENT_LIMIT;
    m->min_cells = 0;
  }
  return true;
}

/* The graph in shared memory. Regions are numbered in the order of their roots: cost and number of a partner
 * then fit one word, and the best partner is found by a 32-bit atomic minimum. That is one instruction in shared
 * memory; a 64-bit one is a loop. */
struct SgLocal {
  unsigned *mean;                   /* colour and flags */
  unsigned *link;                   /* number of the region that it has joined, or its own; << 16 the round in which
                                     * it joined or was joined by others */
  unsigned *best;                   /* cost << sg_local_bits | number of the partner; sg_none: no pick */
  unsigned *cells, *luma, *cb, *cr; /* cells: with sg_old_bit if the region continues old ones, and sg_marked */
  unsigned *table;                  /* edges seen in this round */
  unsigned *edge, *spare;           /* two 16-bit numbers, 0: removed; room for as many */
  uint16_t *living, *living_spare;  /* regions that had not joined another when last listed; room for as many */
  unsigned n_edges, n_living;
};
constexpr unsigned sg_old_bit = 1u << 30;
/* sg_free_mean: the region has no seed */
constexpr unsigned sg_color_bits = 0xffffff, sg_old_mean = 1u << 24, sg_small_mean = 1u << 25, sg_free_mean = 1u << 26;
/* The most regions: with more of them a round of all blocks takes less time. */
constexpr unsigned sg_local_bits = 11, sg_local_max = 1u << sg_local_bits; /* a cost has 19 bits, a distance 20 */
constexpr unsigned sg_seen_bits = 12, sg_seen = 1u << sg_seen_bits;
constexpr unsigned sg_rebuild_min = 128; /* threads with a join in a round, from which on the lists are rebuilt */

/* Returns the bytes that are needed besides the edges. */
__host__ __device__ inline size_t
sg_local_size (unsigned regions)
{
  return sizeof (unsigned) * (sg_seen + 8 * (size_t) ((regions + 7) / 8 * 8));
}

/* Returns whether a graph fits. A planar graph has less than three edges per region. If this one has more (the
 * pieces of an old region may lie apart), the edges stay in device memory. */
__host__ __device__ inline bool
sg_fits_local (unsigned regions, unsigned edges, size_t size)
{
  return regions <= sg_local_max
      && sg_local_size (regions) + 2 * sizeof (unsigned) * (size_t) min (edges, 3 * regions) <= size;
}

/* Arrays of the frame's memory that are free during the last rounds: regions in their order, their means and first
 * picks, edges, and room for as many edges. */
struct SgGathered {
  uint4 *region; /* cells with sg_old_bit and sg_marked, then the three sums */
  unsigned *mean, *best, *edge, *spare;
  unsigned *index; /* result: the index of each rank */
};

__device__ __forceinline__ SgGathered
sg_gathered (const SgWork &work)
{
  SgGathered g;

  g.region = (uint4 *) work.paint;
  g.mean = work.local;
  g.best = g.index = work.kind;
  g.edge = (unsigned *) work.best[0];
  g.spare = (unsigned *) work.best[1];
  return g;
}

__device__ __forceinline__ SgLocal
sg_lay_out (unsigned char *memory, unsigned regions, unsigned edges)
{
  const unsigned n = (regions + 7) / 8 * 8; /* each array begins at a multiple of 16 bytes */
  SgLocal l;

  l.mean = (unsigned *) memory;
  l.link = l.mean + n;
  l.best = l.link + n;
  l.cells = l.best + n;
  l.luma = l.cells + n;
  l.cb = l.luma + n;
  l.cr = l.cb + n;
  l.living = (uint16_t *) (l.cr + n);
  l.living_spare = l.living + n;
  l.table = (unsigned *) (l.living_spare + n);
  l.edge = l.table + sg_seen;
  l.spare = l.edge + edges;
  l.n_edges = edges;
  l.n_living = regions;
  return l;
}

/* The roots of all regions in shared memory, for ranks: those whose upper bits are b are root[start[b]] to
 * root[start[b + 1] - 1], in an arbitrary order. */
struct SgRoots {
  unsigned start[sg_local_max + 1], root[sg_local_max], of_warp[sg_threads / 32];
};

/* Returns the upper bits of a root. */
__device__ __forceinline__ unsigned
sg_bucket (const SgWork &work, unsigned root)
{
  return root >> max (32 - __clz (work.n - 1) - (int) sg_local_bits, 0);
}

/* Fills `roots`. All threads of the block must call. */
__device__ void
sg_sort_roots (const SgWork &work, const SgMerge &m, SgRoots *roots)
{
  constexpr unsigned each = sg_local_max / sg_threads; /* of roots, and of buckets */
  const unsigned lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  unsigned root[each], bucket[each], at[each], count[each], sum = 0;

#pragma unroll
  for (unsigned k = 0; k < each; k++) {
    roots->start[each * threadIdx.x + k] = 0;
    root[k] = threadIdx.x + k * sg_threads < m.roots
        ? work.root_list[~m.round & 1][threadIdx.x + k * sg_threads] : sg_none;
    bucket[k] = sg_bucket (work, root[k]);
  }
  __syncthreads ();
#pragma unroll
  for (unsigned k = 0; k < each; k++)
    at[k] = root[k] != sg_none ? atomicAdd (roots->start + bucket[k], 1u) : 0;
  __syncthreads ();
#pragma unroll
  for (unsigned k = 0; k < each; k++)
    sum += count[k] = roots->start[each * threadIdx.x + k];
  for (unsigned i = 1; i < 32; i *= 2) {
    const unsigned lower = __shfl_up_sync (~0u, sum, i);

    sum += lane >= i ? lower : 0;
  }
  if (lane == 31)
    roots->of_warp[warp] = sum;
  __syncthreads ();
  sum += sg_reduce (~0u, lane < warp ? roots->of_warp[lane] : 0);
#pragma unroll
  for (int k = each - 1; k >= 0; k--)
    roots->start[each * threadIdx.x + (unsigned) k] = sum -= count[k];
  if (threadIdx.x == 0)
    roots->start[sg_local_max] = m.roots;
  __syncthreads ();
#pragma unroll
  for (unsigned k = 0; k < each; k++)
    if (root[k] != sg_none)
      roots->root[roots->start[bucket[k]] + at[k]] = root[k];
  __syncthreads ();
}
static_assert (sg_threads / 32 == 32 && sg_local_max % sg_threads == 0, "a thread's share of the roots");

/* Returns how many roots are smaller. */
__device__ __forceinline__ unsigned
sg_rank (const SgWork &work, const SgRoots *roots, unsigned root)
{
  const unsigned bucket = sg_bucket (work, root), from = roots->start[bucket], to = roots->start[bucket + 1];
  unsigned rank = from;

  for (unsigned i = from; i < to; i++)
    rank += roots->root[i] < root;
  return rank;
}

/* Returns the number of bits of an index into the table that finds duplicates of edges. */
__device__ __forceinline__ int
sg_table_bits (const SgWork &work, const SgMerge &m)
{
  return min (32 - __clz ((int) (2 * m.edges)), 31 - __clz ((int) work.seen_slots));
}

/* Returns whether it is the first such edge, as far as there is room in the table. A free entry of it is 0, which is no
 * edge. */
__device__ bool
sg_is_first (unsigned *table, int bits, unsigned edge)
{
  unsigned at = edge * 2654435769u >> (32 - bits);

  for (int i = 0; i < 32; i++, at = (at + 1) & ((1u << bits) - 1)) {
    const unsigned old = atomicCAS (table + at, 0u, edge);

    if (old == 0 || old == edge)
      return old == 0;
  }
  return true;
}

/* Offers the two regions of an edge to each other for the first round. rank: their ranks. */
__device__ __forceinline__ void
sg_offer_first (const SgWork &work, const SgMerge &m, unsigned *best, uint2 rank, const SgRecord &ra,
    const SgRecord &rb)
{
  const unsigned ma = sg_mean (ra), mb = sg_mean (rb), na = sg_weight (ra), nb = sg_weight (rb);
  const unsigned least = sg_least (na, nb), distance = sg_distance (ma, mb), cost = sg_cost (distance, least);
  const unsigned key = (m.grows ? distance : cost) << sg_local_bits;
  const bool joins
      = sg_may_join (work, m, ma, mb, (ra.x & rb.x & sg_old) != 0, (na & nb & sg_marked) != 0, least, cost);
  const bool a_first = na < nb || (na == nb && rank.x > rank.y);

  if ((joins && a_first) || na < m.min_cells || (m.grows && !(ra.x & sg_seeded)))
    atomicMin (best + rank.x, key | rank.y);
  if ((joins && !a_first) || nb < m.min_cells || (m.grows && !(rb.x & sg_seeded)))
    atomicMin (best + rank.y, key | rank.x);
}

__device__ void
sg_gather_edges (const SgWork &work, const SgGrid &grid, const SgMerge &m, const SgRoots *roots, const SgGathered &to,
    unsigned *length)
{
  const unsigned long long *list = work.edge;
  const int bits = sg_table_bits (work, m);

  for (unsigned i = sg_spread (); i - (threadIdx.x & 31) < m.edges; i += grid.step ()) {
    unsigned edge = 0;

    if (i < m.edges) {
      const unsigned cell[2] = { (unsigned) (list[i] >> 32), (unsigned) list[i] };
      unsigned root[2];

      sg_find<2> (work.parent, cell, root);
      const unsigned a = root[0] & ~sg_settled, b = root[1] & ~sg_settled;
      const SgRecord ra = sg_load_record (work.record + a), rb = sg_load_record (work.record + b);
      const uint2 rank = { sg_rank (work, roots, a), sg_rank (work, roots, b) };

      edge = a != b ? min (rank.x, rank.y) | max (rank.x, rank.y) << 16 : 0;
      if (edge && !sg_is_first (work.seen, bits, edge))
        edge = 0;
      if (edge)
        sg_offer_first (work, m, to.best, rank, ra, rb);
    }
    sg_append (to.edge, length, edge != 0, edge);
  }
}

/* Stores what the single block will load, in the order in which it does: that of the roots, which each block finds by
 * itself. All blocks call. `smallest`, which is free by now, gets the root of each rank. */
__device__ void
sg_gather (const SgWork &work, const SgGrid &grid, const SgMerge &m, SgRoots *roots, unsigned *edges)
{
  const SgGathered to = sg_gathered (work);

  sg_sort_roots (work, m, roots);
  sg_gather_edges (work, grid, m, roots, to, edges);
  /* By the last warps, as the first ones have the edges; not in the order of `roots`, in which each block has the roots
   * of a bucket in an order of its own. */
  for (unsigned i = sg_spread (sg_threads / 32 - 1 - threadIdx.x / 32); i < m.roots; i += grid.step ()) {
    const unsigned root = work.root_list[~m.round & 1][i], rank = sg_rank (work, roots, root);
    const SgRecord record = sg_load_record (work.record + root);
    const bool old = (record.x & sg_old) != 0;

    work.rank[root] = rank;
    work.smallest[rank] = root;
    to.region[rank] = make_uint4 (sg_weight (record) | (old ? sg_old_bit : 0), (unsigned) record.x,
        (unsigned) (record.y >> 32), (unsigned) record.y);
    to.mean[rank] = sg_mean (record) | (old ? sg_old_mean : 0) | (record.x & sg_seeded ? 0 : sg_free_mean);
  }
}

__device__ void
sg_clear_table (const SgWork &work, const SgGrid &grid, const SgMerge &m)
{
  for (unsigned i = grid.first (); i < 1u << sg_table_bits (work, m); i += grid.step ())
    work.seen[i] = 0;
}

} // namespace cf

#endif
