/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/gpu/grow.cuh: growth: step 6 of the segmentation.
 *
 * A round has two phases. In phase A regions that touch offer themselves to each other: each without a seed gets the
 * best partner in `best`, by an atomic minimum over distance and root, whose result no order changes. In phase B each
 * of them follows the picks to their end, adds its sums there and attaches itself below. `best` is used alternately, so
 * that phase B can clear the other one.
 * Map: in the first round each block has its own rows (chunk.cuh). That round leaves a list of the cells that are still
 * without a seed. Each block has a part of it, and lists the pairs of regions that touch there once; the other rounds
 * work on these pairs. Where few cells are without a seed from the start, they are listed while components are
 * settled, and no round looks at all cells. If there are few regions, the single block that merges makes the rounds.
 * Shared memory: SgSums, behind it the chunks of growth (sg_open_chunk), later the pairs that the block has seen, and
 * its lists, if they fit.
 * Race free: a grid barrier stands between phases; means are frozen within a round, because records change in phase
 * B only, by integer atomics. A block's pairs are moved together where they are, behind a block barrier.
 * Bound by scattered accesses to the second-level cache and by the barriers (docs/notes/segment.md). */
#ifndef CF_SEGMENT_GPU_GROW_CUH
#define CF_SEGMENT_GPU_GROW_CUH

#include "chunk.cuh"
#include "components.cuh"

namespace cf {

/* Up to how many regions there are when those without a seed are left to the single block. */
constexpr unsigned sg_few_regions = 1 << 10;

/* ---- step 6: growth ----------------------------------------------------- */

/* The chunks of the block, in shared memory behind the sums. */
struct SgGrowth {
  unsigned rows, n; /* rows of a chunk; number of chunks */
  unsigned listed;  /* the chunk whose rows are listed; sg_none: no chunk */
  unsigned char *memory;
};

/* Divides the shared memory: a chunk gets as many rows as fit. */
__device__ __forceinline__ SgGrowth
sg_split_memory (const SgPart &part, unsigned char *memory, size_t size)
{
  const size_t fixed = sizeof (SgSums) + sg_tracked_chunks * (sg_chunk_rows + 4) + (4 + 64) * sg_chunk_rows;
  const unsigned rows
      = min ((unsigned) ((size - fixed) / (4 * 32 * sizeof (unsigned))), (unsigned) sg_chunk_rows) / 32 * 32;

  return SgGrowth { rows, (part.to - part.from + rows - 1) / rows, sg_none, memory + sizeof (SgSums) };
}

/* Returns a chunk with its rows listed. */
__device__ __forceinline__ SgChunk
sg_open_chunk (const SgWork &work, const SgPart &part, SgGrowth *g, unsigned number)
{
  SgChunk chunk;

  chunk.from = part.from + number * g->rows;
  chunk.n = min (g->rows, part.to - chunk.from);
  chunk.row = (unsigned *) g->memory;
  chunk.picks = number < sg_tracked_chunks ? g->memory + 4 * sg_chunk_rows + number * (sg_chunk_rows + 4) : NULL;
  chunk.list = (uint16_t *) (g->memory + 4 * sg_chunk_rows + sg_tracked_chunks * (sg_chunk_rows + 4));
  chunk.to = (unsigned *) (chunk.list + 32 * sg_chunk_rows);
  chunk.luma = chunk.to + 32 * g->rows;
  chunk.cb = chunk.luma + 32 * g->rows;
  chunk.cr = chunk.cb + 32 * g->rows;
  chunk.region = chunk.to;
  chunk.mean = chunk.region + (g->rows + 2) * sg_chunk_pitch;
  if (g->listed != number)
    sg_list_rows (work, chunk);
  g->listed = number;
  return chunk;
}

/* The first round, by chunks. */
__device__ void
sg_grow_chunks (const SgWork &work, const SgGrid &grid, SgBlock *block, unsigned char *memory, size_t size)
{
  const SgPart part (work);
  SgGrowth g = sg_split_memory (part, memory, size);

  for (unsigned i = 0; i < g.n; i++)
    sg_pick_first (work, sg_open_chunk (work, part, &g, i));
  grid.barrier ();
  for (unsigned i = 0; i < g.n; i++)
    sg_join_chunk (work, sg_open_chunk (work, part, &g, i), block);
  sg_flush_sums (block->sums, work.record);
  grid.barrier ();
}

/* Returns the record of a region, which is given as sg_pick_of returns it. Before the first round a region without a
 * seed is one cell, and has none. */
__device__ __forceinline__ SgRecord
sg_record_now (const SgWork &work, unsigned region, bool first)
{
  return first && !(region & 1) ? sg_record_of (work.after.p[region >> 1])
      : sg_load_record (work.record + (region >> 1));
}

/* A block's part of the graph that grows: its pairs of touching regions of which at least one has no seed, the smaller
 * number << 32 | the other, and its regions without a seed. Regions are given as sg_pick_of returns them. */
struct SgPairs {
  unsigned long long *pair, *seen; /* seen: table of sg_seen_pairs entries. Both in shared memory, if they fit */
  unsigned *region, *spare;        /* room for as many */
  unsigned n, regions;
};
constexpr unsigned sg_seen_pairs = 1 << 12;

/* Empties the table of pairs that have been seen and the block's lists. */
__device__ __forceinline__ void
sg_clear_seen (SgBlock *block, const SgPairs &p)
{
  for (unsigned i = threadIdx.x; i < sg_seen_pairs; i += sg_threads)
    p.seen[i] = sg_none_64;
  if (threadIdx.x == 0)
    block->cells = block->roots = 0;
  __syncthreads ();
}

/* Returns whether the block has not seen this pair yet, as far as there is room in the table. */
__device__ __forceinline__ bool
sg_is_new (unsigned long long *seen, unsigned long long pair)
{
  unsigned at = (unsigned) (pair * 0x9e3779b97f4a7c15ull >> 32) % sg_seen_pairs;

  for (int i = 0; i < 4; i++, at = (at + 1) % sg_seen_pairs) {
    const unsigned long long old = atomicCAS (seen + at, sg_none_64, pair);

    if (old == sg_none_64 || old == pair)
      return old == sg_none_64;
  }
  return true;
}

__device__ __forceinline__ unsigned long long
sg_pair_of (unsigned a, unsigned b)
{
  return (unsigned long long) min (a, b) << 32 | max (a, b);
}

/* Lists the pairs and the regions of n cells without a seed, whose parents are their roots. A pair of two such cells is
 * that of the first one. */
__device__ void
sg_list_pairs (const SgWork &work, SgBlock *block, const unsigned *list, unsigned n, SgPairs *p)
{
  const unsigned columns = (unsigned) work.columns;

  sg_clear_seen (block, *p);
  for (unsigned i = threadIdx.x; i - threadIdx.x % 32 < n; i += sg_threads) {
    const unsigned c = list[min (i, n - 1)], x = c % columns;
    const unsigned cell[4] = { x + 1 < columns ? c + 1 : c, c + columns < (unsigned) work.n ? c + columns : c,
      x > 0 ? c - 1 : c, c >= columns ? c - columns : c };
    unsigned region[4], has = 0, positions;
    const unsigned own = sg_pick_of (work.parent[c]);

#pragma unroll
    for (int k = 0; k < 4; k++)
      region[k] = sg_pick_of (work.parent[cell[k]]);
#pragma unroll
    for (int k = 0; k < 4; k++)
      if (i < n && region[k] != own && (k < 2 || (region[k] & 1)) && sg_is_new (p->seen, sg_pair_of (own, region[k])))
        has |= 1u << k;
    const unsigned first = sg_reserve_each<4> (&block->cells, has, &positions);

#pragma unroll
    for (int k = 0; k < 4; k++)
      if (has >> k & 1)
        p->pair[first + (positions >> 8 * k & 0xff)] = sg_pair_of (own, region[k]);
    sg_append (p->region, &block->roots, i < n && own == c << 1, c);
  }
  __syncthreads ();
  p->n = block->cells;
  p->regions = block->roots;
}

/* Returns what the region has become in the round before. */
__device__ __forceinline__ unsigned
sg_region_now (const SgWork &work, unsigned region)
{
  return region & 1 ? region : sg_pick_of (work.parent[region >> 1]);
}

/* Phase A: offers the regions of each pair to each other. `changed`: a round has been made since they were listed; so
 * pairs that are gone or have become the same are dropped. */
__device__ void
sg_offer_pairs (const SgWork &work, SgBlock *block, SgPairs *p, int round, bool changed)
{
  unsigned long long *best = work.best[round & 1];

  if (changed)
    sg_clear_seen (block, *p);
  for (unsigned base = 0; base < p->n; base += sg_threads) {
    const unsigned i = base + threadIdx.x;
    const unsigned long long pair = i < p->n ? p->pair[i] : 0;
    unsigned a = (unsigned) (pair >> 32), b = (unsigned) pair;
    bool has = i < p->n;

    if (changed) {
      a = has ? sg_region_now (work, a) : 0;
      b = has ? sg_region_now (work, b) : 0;
      has = has && a != b && !(a & b & 1);
    }
    /* loaded while the table is searched */
    const SgRecord ra = has ? sg_record_now (work, a, round == 0) : SgRecord { 0, 0 };
    const SgRecord rb = has ? sg_record_now (work, b, round == 0) : SgRecord { 0, 0 };

    if (changed) {
      has = has && sg_is_new (p->seen, sg_pair_of (a, b));
      __syncthreads (); /* these pairs have been read */
      sg_append (p->pair, &block->cells, has, sg_pair_of (a, b));
    }
    if (!has)
      continue;
    const unsigned long long key = (unsigned long long) sg_distance (sg_mean (ra), sg_mean (rb)) << 32;

    if (!(a & 1))
      atomicMin (best + (a >> 1), key | b);
    if (!(b & 1))
      atomicMin (best + (b >> 1), key | a);
  }
}

/* Phase B: each region that has picked joins where the picks lead, or stays. All threads of the block must call. */
__device__ void
sg_join_listed (const SgWork &work, SgBlock *block, SgPairs *p, int round)
{
  const unsigned long long *best = work.best[round & 1];

  for (unsigned i = threadIdx.x; i - threadIdx.x % 32 < p->regions; i += sg_threads) {
    const unsigned r = p->region[min (i, p->regions - 1)], pick = (unsigned) best[r];
    const SgRecord record = sg_load_record (work.record + r);
    const bool has = i < p->regions && pick != (unsigned) sg_none_64;
    const unsigned end = has ? sg_walk_picks (best, r, pick) : r, to = end & ~sg_settled;
    const bool joins = to != r, stays = has && !joins;

    if (joins)
      work.parent[r] = end;
    if (stays)
      work.best[~round & 1][r] = sg_none_64;
    sg_append (p->spare, &block->roots, stays, r);
    sg_add_record (block->sums, work.record, joins, to, record);
  }
  sg_flush_sums (block->sums, work.record);
  unsigned *spare = p->region;

  p->region = p->spare;
  p->spare = spare;
  p->regions = block->roots;
}

/* Makes the rounds by lists, each block with its part of the list of n cells, until no more than `few` regions without
 * a seed are left: the single block makes the other rounds. `first`: none has been made by chunks. Returns how many are
 * left, or more. */
__device__ unsigned
sg_grow_listed (const SgWork &work, const SgGrid &grid, SgBlock *block, unsigned char *memory, size_t size, unsigned n,
    bool first, unsigned few)
{
  const unsigned from = (unsigned) ((unsigned long long) n * blockIdx.x / gridDim.x);
  const unsigned to = (unsigned) ((unsigned long long) n * (blockIdx.x + 1) / gridDim.x);
  SgPairs p = { work.pair + 4ull * from, (unsigned long long *) (memory + sizeof (SgSums)), work.region_list + from,
    work.cell_list + from, 0, 0 };
  const size_t used = sizeof (SgSums) + sg_seen_pairs * sizeof *p.seen;

  if (used + (to - from) * (4 * sizeof *p.pair + 2 * sizeof *p.region) <= size) {
    p.pair = (unsigned long long *) (memory + used);
    p.region = (unsigned *) (p.pair + 4 * (to - from));
    p.spare = p.region + (to - from);
  }
  unsigned left = n;

  if (left > few)
    sg_list_pairs (work, block, work.cell_list + from, to - from, &p);
  for (int round = !first; left > few; round++) {
    sg_offer_pairs (work, block, &p, round, round > !first);
    grid.barrier ();
    if (round > !first)
      p.n = block->cells;
    if (threadIdx.x == 0)
      block->roots = 0;
    __syncthreads ();
    sg_join_listed (work, block, &p, round);
    left = grid.sum (p.regions);
  }
  return left;
}

/* Step 6. Returns whether regions without a seed are left to the single block. */
__device__ bool
sg_grow (const SgWork &work, const SgGrid &grid, SgBlock *block, unsigned char *memory, size_t size)
{
  const bool listed = sg_is_listed (work);
  const unsigned seeded = work.control->seeded;

  if (!listed)
    sg_grow_chunks (work, grid, block, memory, size);
  /* regions are marked, and weak borders looked for, when growth has ended */
  return sg_grow_listed (work, grid, block, memory, size, listed ? work.control->listed : work.control->left, listed,
      work.weak_borders || work.n_clicks > 0 || seeded > sg_few_regions ? 0 : sg_few_regions - seeded) > 0;
}

/* Marks the regions that hold cells of the `seeds` parameter. */
__device__ void
sg_mark_regions (const SgWork &work, const SgGrid &grid)
{
  for (unsigned i = sg_spread (); i < (unsigned) work.n_clicks; i += grid.step ())
    atomicOr (&work.record[sg_find (work.parent, (unsigned) work.clicks[i])].x, (unsigned long long) sg_marked << 32);
}

} // namespace cf

#endif
