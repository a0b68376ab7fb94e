/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/gpu/grow.cuh: the grid barrier, components and growth: steps 4 to 6 of the segmentation.
 *
 * A round has two phases. In phase A each cell or region with a border stores the best partner of its region in
 * `best`, by an atomic minimum over distance and root, whose result no order changes. In phase B the root of each
 * region follows the picks to their end, adds its sums there and attaches itself below. `best` is used alternately,
 * so that phase B can clear the other one.
 * Map: cells and lists are divided among all blocks. In the first round of growth each block has its own rows
 * (chunk.cuh). That round leaves a list of the cells that are still without a seed, of which each block has a part in
 * the other rounds. Where few cells are without a seed from the start, they are listed while components are settled,
 * and no round looks at all cells. With a short list a single block makes all rounds: its barrier takes far less time
 * than the grid barrier.
 * Shared memory: SgSums, behind it the chunks of growth (sg_open_chunk).
 * Race free: a grid barrier stands between phases; means are frozen within a round, because records change in phase
 * B only, by integer atomics.
 * Bound by the latency of the second-level cache, and by the instructions of a round's live cells: so a block's part of
 * the list is written anew in each round, without gaps (docs/notes/segment.md). */
#ifndef CF_SEGMENT_GPU_GROW_CUH
#define CF_SEGMENT_GPU_GROW_CUH

#include "chunk.cuh"

namespace cf {

/* Up to how many free cells are listed from the start; up to how long a list is left to a single block. */
constexpr unsigned sg_few_cells = 1 << 14, sg_alone_cells = 1 << 9;

/* The blocks of the launch. */
struct SgGrid {
  SgControl *control;
  unsigned arrivals; /* arrivals that open the next barrier */

  __device__ unsigned first () const { return blockIdx.x * sg_threads + threadIdx.x; }
  __device__ unsigned step () const { return gridDim.x * sg_threads; }

  /* Waits for all blocks. What a block has written before the barrier, every block reads behind it: the release by
   * the first thread covers its whole block because of the block barrier before it, and the acquire invalidates the
   * first-level cache of the multiprocessor. */
  __device__ void
  barrier ()
  {
    arrivals += gridDim.x;
    __syncthreads ();
    if (threadIdx.x == 0) {
      unsigned arrived;

      asm volatile ("red.release.gpu.global.add.u32 [%0], 1;" :: "l" (&control->arrived) : "memory");
      do
        asm volatile ("ld.acquire.gpu.global.u32 %0, [%1];" : "=r" (arrived) : "l" (&control->arrived) : "memory");
      while (arrived < arrivals);
    }
    __syncthreads ();
  }

  /* Waits for all blocks. Returns whether `flag` is set for any of their threads. Calls are numbered one by one. */
  __device__ bool
  any (bool flag, int number)
  {
    const bool here = __syncthreads_or (flag);

    if (first () == 0)
      control->picks[(number + 1) % 3] = 0;
    if (here && threadIdx.x == 0)
      control->picks[number % 3] = 1;
    barrier ();
    return control->picks[number % 3] != 0;
  }
};

/* A single block that does the work of all, with the same functions. */
struct SgAlone {
  __device__ void barrier () { __syncthreads (); }
  __device__ bool any (bool flag, int) { return __syncthreads_or (flag); }
};

/* ---- step 4: components ------------------------------------------------- */

/* Joins the pairs of cells of the lanes. The components of their tiles are often the same for many lanes, which
 * would wait for each other at the root: one lane joins for all lanes with the same two components. */
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

/* Joins cell c at the edge of a tile with its neighbour (dx, dy) outside the tile. If that is of another kind, joins
 * it with the two cells beside that neighbour. (ex, ey) points along the edge. All
 * lanes of the warp must call. */
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
  const bool same = kind && at == kind, differs = kind && !same;

  sg_unite_lanes (work, same || (differs && one == kind), c, same ? other : other - along);
  sg_unite_lanes (work, differs && two == kind, c, other + along);
}

__device__ void
sg_join_tiles (const SgWork &work, const SgGrid &grid)
{
  const unsigned columns = (unsigned) work.columns, rows = (unsigned) work.rows;
  const unsigned across = (rows - 1) / sg_tile_rows * columns, down = (columns - 1) / sg_tile * rows;

  /* one warp of each block after another, so that all blocks have some */
  for (unsigned base = sg_spread () - threadIdx.x % 32; base < across; base += grid.step ()) {
    const unsigned i = base + (threadIdx.x & 31);

    sg_join_across (work, i < across, (i / columns + 1) * sg_tile_rows * columns + i % columns, 0, -1, 1, 0);
  }
  for (unsigned base = sg_spread () - threadIdx.x % 32; base < down; base += grid.step ()) {
    const unsigned i = base + (threadIdx.x & 31);

    sg_join_across (work, i < down, i % rows * columns + (i / rows + 1) * sg_tile, -1, 0, 0, 1);
  }
}

/* Adds the sums of the tiles' components to those of their roots, and finds the smallest cell of each root. */
__device__ void
sg_add_locals (const SgWork &work, const SgGrid &grid, SgBlock *block)
{
  const unsigned n = work.control->locals;

  for (unsigned i = sg_spread (); i - threadIdx.x % 32 < n; i += grid.step ()) {
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

/* Returns whether so many cells are at least one part in `parts` of those of an old region. */
__device__ __forceinline__ bool
sg_is_share (const SgWork &work, unsigned cells, unsigned old, unsigned parts)
{
  return (unsigned long long) parts * cells >= work.before.cells[old];
}

/* Returns whether a component of so many cells is one of the pieces of an old region that may continue it. */
__device__ __forceinline__ bool
sg_is_piece (const SgWork &work, unsigned cells, unsigned old)
{
  return cells >= work.min_cells || sg_is_share (work, cells, old, CF_SEGMENT_PIECE);
}

/* Adds up the pieces of each old region. */
__device__ void
sg_find_pieces (const SgWork &work, const SgGrid &grid)
{
  const unsigned n = work.control->locals;

  for (unsigned i = sg_spread (); i < n; i += grid.step ()) {
    const unsigned c = work.local_list[i], kind = work.kind[c];

    if (kind < sg_kept || work.joined[c] != sg_mix (c))
      continue;
    const SgRecord record = sg_load_record (work.record + c);

    if (sg_is_piece (work, sg_cells (record), kind - sg_kept)) {
      atomicAdd (&work.pieces[kind - sg_kept].x, record.x & ~sg_flags);
      atomicAdd (&work.pieces[kind - sg_kept].y, record.y);
      atomicMax (work.first_piece + (kind - sg_kept), ~work.smallest[c]);
    }
  }
}

/* Returns whether cell c belongs to a fragment of an old region and so is free again. Sets `*root` to the root of the
 * region; that of the pieces of an old region is the same. `record` is that of the component; the cell that becomes the
 * root takes it over, or the sums of all pieces. */
__device__ __forceinline__ bool
sg_settle_cell (const SgWork &work, unsigned c, unsigned *root, unsigned kind, SgRecord record)
{
  const unsigned old = kind - sg_kept, cells = sg_cells (record);
  bool continues = false;

  if (kind >= sg_kept && sg_is_piece (work, cells, old)) {
    const SgRecord all = sg_load_record (work.pieces + old);

    continues = sg_is_share (work, sg_cells (all), old, 4);
    if (continues) {
      *root = ~work.first_piece[old];
      record = SgRecord { all.x | sg_flags, all.y };
    }
  }
  if (c == *root) {
    if (continues)
      work.claim[c] = (unsigned long long) sg_cells (record) << 32 | (0xffffffffu - old);
    work.mean[c] = sg_mean (record);
    work.record[c] = record;
  }
  return kind >= sg_kept && !continues && cells < work.min_cells;
}

/* Returns whether growth begins with a list of the cells without a seed. */
__device__ __forceinline__ bool
sg_is_listed (const SgWork &work)
{
  return work.control->free <= sg_few_cells;
}

/* Attaches each cell of a component to the smallest cell of it, which is the root from here on. Cells of fragments
 * become free again and are listed; where there are few free cells, all are. */
__device__ void
sg_settle (const SgWork &work, const SgGrid &grid, SgBlock *block)
{
  const unsigned n = (unsigned) work.n, step = grid.step ();
  const bool all = sg_is_listed (work);
  constexpr int each = 4;

  for (unsigned base = grid.first () - threadIdx.x; base < n; base += each * step) {
    unsigned cell[each], at[each], root[each], kind[each], listed = 0;

#pragma unroll
    for (int k = 0; k < each; k++) {
      cell[k] = base + threadIdx.x + (unsigned) k * step;
      kind[k] = cell[k] < n ? work.kind[cell[k]] : 0;
      at[k] = kind[k] ? work.joined[cell[k]] : 0;
    }
#pragma unroll
    for (int k = 0; k < each; k++) /* sg_add_locals has left two steps */
      at[k] = kind[k] ? sg_unmix (work.joined[sg_unmix (at[k])]) : 0;
#pragma unroll
    for (int k = 0; k < each; k++)
      root[k] = kind[k] ? work.smallest[at[k]] : 0;
#pragma unroll
    for (int k = 0; k < each; k++) {
      bool freed = false;

      if (kind[k] >= sg_kept || (kind[k] && root[k] == cell[k]))
        freed = sg_settle_cell (work, cell[k], &root[k], kind[k], sg_load_record (work.record + at[k]));
      if (kind[k])
        work.parent[cell[k]] = freed ? cell[k] : root[k] | sg_settled;
      freed = freed || (all && cell[k] < n && !kind[k]);
      listed |= (unsigned) freed << k;
      if (all && freed)
        work.best[0][cell[k]] = work.best[1][cell[k]] = sg_none_64;
    }
    if (all || work.recurrent)
      sg_append_block<each> (work.cell_list, &work.control->listed, block, listed, cell);
  }
}

/* What has to wait until all blocks have settled their cells. Nothing before the end of growth's first phase reads what
 * is written here. */
__device__ void
sg_free_fragments (const SgWork &work, const SgGrid &grid)
{
  for (unsigned i = sg_spread (); !sg_is_listed (work) && i < work.control->listed; i += grid.step ()) {
    const unsigned c = work.cell_list[i];

    work.record[c] = sg_record_of (work.after.p[c]);
  }
  for (unsigned i = grid.first (); i < work.before.scalars[0]; i += grid.step ()) {
    work.pieces[i] = SgRecord { 0, 0 }; /* for the next frame */
    work.first_piece[i] = 0;
  }
}

__device__ void
sg_find_components (const SgWork &work, SgGrid &grid, SgBlock *block)
{
  sg_join_tiles (work, grid);
  grid.barrier ();
  sg_add_locals (work, grid, block);
  grid.barrier ();
  if (work.recurrent) {
    sg_find_pieces (work, grid);
    grid.barrier ();
  }
  sg_settle (work, grid, block);
  grid.barrier ();
  if (work.recurrent)
    sg_free_fragments (work, grid);
}

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
sg_grow_chunks (const SgWork &work, SgGrid &grid, SgBlock *block, unsigned char *memory, size_t size)
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

/* Returns the mean of a region, which is given as sg_pick_of returns it. Before the first round a region without a seed
 * is one cell. */
__device__ __forceinline__ unsigned
sg_mean_of (const SgWork &work, unsigned region, bool first)
{
  return first && !(region & 1) ? work.after.p[region >> 1] : sg_mean (sg_load_record (work.record + (region >> 1)));
}

/* Phase A for a listed cell: offers its region the best region beside it. Returns that region if this offer is its
 * first in this round, else sg_none. Sets `*done` if neither this round nor a later one finds an offer: the region has
 * a seed now, or no other one is beside the cell. */
__device__ __forceinline__ unsigned
sg_offer_cell (const SgWork &work, unsigned c, int round, bool *done)
{
  const unsigned columns = (unsigned) work.columns, n = (unsigned) work.n, x = c % columns;
  const unsigned cell[5] = { x > 0 ? c - 1 : c, x + 1 < columns ? c + 1 : c, c >= columns ? c - columns : c,
    c + columns < n ? c + columns : c, c };
  unsigned long long *best = work.best[round & 1], key = sg_none_64;
  unsigned root[5], region[5], mean[5];
  bool border = false;

  sg_find<5, true> (work.parent, cell, root);
#pragma unroll
  for (int k = 0; k < 5; k++) {
    region[k] = sg_pick_of (root[k]);
    border = border || region[k] != sg_pick_of (root[4]);
  }
  *done = (region[4] & 1) || !border;
  if (*done)
    return sg_none;
#pragma unroll
  for (int k = 0; k < 5; k++)
    mean[k] = sg_mean_of (work, region[k], round == 0);
#pragma unroll
  for (int k = 0; k < 4; k++)
    key = sg_better (key, region[4], mean[4], region[k], mean[k]);
  best += region[4] >> 1;
  return key < __ldcg (best) && atomicMin (best, key) == sg_none_64 ? region[4] >> 1 : sg_none;
}

/* Phase A for n listed cells. Lists those that go on in block->cells entries of `next`, and the regions that have
 * picked in block->roots entries of `picking`. */
__device__ void
sg_pick_listed (const SgWork &work, SgBlock *block, const unsigned *list, unsigned n, int round, unsigned *next,
    unsigned *picking)
{
  if (threadIdx.x == 0)
    block->cells = block->roots = 0;
  __syncthreads ();
  for (unsigned i = threadIdx.x; i - threadIdx.x % 32 < n; i += sg_threads) {
    const unsigned c = i < n ? list[i] : sg_none;
    unsigned region = sg_none;
    bool done = c == sg_none;

    if (!done && round == 0)
      work.record[c] = sg_record_of (work.after.p[c]);
    if (!done)
      region = sg_offer_cell (work, c, round, &done);
    sg_append (next, &block->cells, !done, c);
    sg_append (picking, &block->roots, region != sg_none, region);
  }
}

/* Phase B: each region that has picked joins where the picks lead, or stays. Returns whether one of this thread's does.
 * All threads of the block must call. */
__device__ bool
sg_join_listed (const SgWork &work, SgBlock *block, const unsigned *picking, unsigned n, int round)
{
  const unsigned long long *best = work.best[round & 1];
  bool any_stays = false;

  for (unsigned i = threadIdx.x; i - threadIdx.x % 32 < n; i += sg_threads) {
    const bool has = i < n;
    const unsigned r = has ? picking[i] : 0;
    const unsigned end = has ? sg_walk_picks (best, r, (unsigned) best[r]) : 0, to = end & ~sg_settled;
    const bool joins = has && to != r, stays = has && !joins;

    if (joins)
      work.parent[r] = end;
    if (stays)
      work.best[~round & 1][r] = sg_none_64;
    any_stays = any_stays || stays;
    sg_add_record (block->sums, work.record, joins, to, sg_record_if (work.record, joins, r));
  }
  sg_flush_sums (block->sums, work.record);
  return any_stays;
}

/* Makes all rounds from `round` on, with n entries of the list from `from` on. */
template<typename Team> __device__ void
sg_grow_listed (const SgWork &work, Team &team, SgBlock *block, unsigned from, unsigned n, int round)
{
  unsigned *list = work.cell_list + from, *next = (unsigned *) work.edge + from, *picking = work.region_list + from;

  for (bool again = true; again; round++) {
    sg_pick_listed (work, block, list, n, round, next, picking);
    team.barrier ();
    unsigned *spare = list;

    list = next;
    next = spare;
    n = block->cells;
    again = team.any (sg_join_listed (work, block, picking, block->roots, round), round);
  }
}

/* Step 6. */
__device__ void
sg_grow (const SgWork &work, SgGrid &grid, SgBlock *block, unsigned char *memory, size_t size)
{
  const bool listed = sg_is_listed (work);

  if (!listed)
    sg_grow_chunks (work, grid, block, memory, size);
  const unsigned n = listed ? work.control->listed : work.control->left;

  if (n > sg_alone_cells) {
    const unsigned from = (unsigned) ((unsigned long long) n * blockIdx.x / gridDim.x);
    const unsigned to = (unsigned) ((unsigned long long) n * (blockIdx.x + 1) / gridDim.x);

    sg_grow_listed (work, grid, block, from, to - from, !listed);
  } else if (n > 0) {
    SgAlone alone;

    if (blockIdx.x == 0)
      sg_grow_listed (work, alone, block, 0, n, !listed);
    grid.barrier ();
  }
}

} // namespace cf

#endif
