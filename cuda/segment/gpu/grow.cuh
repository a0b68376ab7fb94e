/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/gpu/grow.cuh: the grid barrier, components and growth: steps 4 to 6 of the segmentation.
 *
 * A round has two phases. In phase A each cell or region with a border stores the best partner of its region in
 * `best`, by an atomic minimum over distance and root, whose result no order changes. In phase B the root of each
 * region follows the picks to their end, adds its sums there and attaches itself below. `best` is used alternately,
 * so that phase B can clear the other one.
 * Map: cells and lists are divided among all blocks; in growth each block has its own rows (chunk.cuh) and its own
 * part of the lists of roots.
 * Shared memory: SgSums, behind it the chunks of growth (sg_open_chunk).
 * Race free: a grid barrier stands between phases; means are frozen within a round, because records change in phase
 * B only, by integer atomics.
 * Bound by instructions and by the latency of the second-level cache (docs/notes/segment.md). */
#ifndef CF_SEGMENT_GPU_GROW_CUH
#define CF_SEGMENT_GPU_GROW_CUH

#include "chunk.cuh"

namespace cf {

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

/* Attaches each cell of a component to the smallest cell of it, which is the root from here on. Cells of fragments
 * become free again and are listed. */
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
      if (work.recurrent)
        sg_append (work.freed_list, &work.control->freed, freed, cell[k]);
    }
  }
}

__device__ void
sg_free_fragments (const SgWork &work, const SgGrid &grid)
{
  for (unsigned i = sg_spread (); i < work.control->freed; i += grid.step ()) {
    const unsigned c = work.freed_list[i];

    work.record[c] = sg_record_of (work.after.p[c]); /* before the last barrier other threads still read it */
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
  sg_settle (work, grid);
  grid.barrier ();
  if (work.recurrent) {
    sg_free_fragments (work, grid);
    grid.barrier ();
  }
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

/* Phase A. `done`: chunks without any cell left that would pick; no new ones can appear. */
__device__ void
sg_pick_chunks (const SgWork &work, SgBlock *block, const SgPart &part, SgGrowth *g, int round,
    unsigned long long *done)
{
  for (unsigned i = 0; i < g->n; i++)
    if (i >= 64 || !(*done >> i & 1)) {
      const SgChunk chunk = sg_open_chunk (work, part, g, i);
      const bool any = round ? sg_pick_next (work, chunk, block, work.best[round & 1]) : sg_pick_first (work, chunk);

      *done |= i < 64 && !any ? 1ull << i : 0;
    }
}

/* Phase B: the root r of a region without a seed joins where its picks lead, or stays. */
__device__ __forceinline__ void
sg_grow_root (const SgWork &work, SgBlock *block, int round, bool has, unsigned r, unsigned *roots)
{
  const unsigned long long *best = work.best[round & 1];
  const unsigned pick = has ? (unsigned) best[r] : (unsigned) sg_none_64;
  const unsigned end = pick != (unsigned) sg_none_64 ? sg_walk_picks (best, r, pick) : r;
  const unsigned to = end & ~sg_settled;
  const bool joined = has && to != r;

  if (joined)
    work.parent[r] = end;
  else if (has)
    work.best[~round & 1][r] = sg_none_64;
  sg_add_record (block->sums, work.record, joined, to, sg_record_if (work.record, joined, r));
  if (__any_sync (~0u, joined) && (threadIdx.x & 31) == 0)
    sg_poke (&block->picks, 1);
  sg_append (roots, &block->roots, has && !joined, r);
}

/* Step 6. Each block has its own part of all lists, which only shrink. */
__device__ void
sg_grow (const SgWork &work, SgGrid &grid, SgBlock *block, unsigned char *memory, size_t size)
{
  const SgPart part (work);
  SgGrowth g = sg_split_memory (part, memory, size);
  SgControl *control = work.control;
  unsigned long long done = 0;
  unsigned roots = 0, going = control->free + control->freed ? 3 : 0;

  for (unsigned i = threadIdx.x; i < sg_tracked_chunks * (sg_chunk_rows + 4); i += sg_threads)
    g.memory[4 * sg_chunk_rows + i] = i % (sg_chunk_rows + 4) > 0 && i % (sg_chunk_rows + 4) <= g.rows; /* any row
                                                                                                         * may have
                                                                                                         * cells that
                                                                                                         * pick */
  for (int round = 0; going == 3; round++) {
    unsigned *roots_before = work.root_list[round & 1] + part.listed;
    unsigned *roots_after = work.root_list[~round & 1] + part.listed;

    if (threadIdx.x == 0)
      block->roots = block->picks = 0;
    sg_pick_chunks (work, block, part, &g, round, &done);
    grid.barrier ();
    if (grid.first () == 0)
      control->picks[(round + 1) % 3] = 0;
    if (round == 0)
      for (unsigned i = 0; i < g.n; i++)
        sg_join_chunk (work, sg_open_chunk (work, part, &g, i), block, roots_after);
    else
      for (unsigned i = threadIdx.x; i - threadIdx.x < roots; i += sg_threads)
        sg_grow_root (work, block, round, i < roots, i < roots ? roots_before[i] : 0, roots_after);
    sg_flush_sums (block->sums, work.record);
    roots = block->roots;
    if (threadIdx.x == 0 && (block->picks || roots))
      atomicOr (&control->picks[round % 3], (unsigned) (block->picks != 0) | (roots != 0) << 1);
    grid.barrier ();
    going = control->picks[round % 3];
  }
}

} // namespace cf

#endif
