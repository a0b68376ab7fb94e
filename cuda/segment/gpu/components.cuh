/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/gpu/components.cuh: the grid barrier, and components of the frame: step 4 of the segmentation.
 *
 * The components in tiles are numbered. All blocks list the pairs of them that touch across the tiles' edges. Then each
 * block joins all of them by itself: they are few, and a block barrier takes far less time than a grid barrier. Where
 * they do not fit its shared memory, all blocks join them together in device memory.
 * Map: edges of tiles and cells are divided among all blocks; of the sums of components each block makes its share.
 * Shared memory: SgSums; behind it the pairs that the block has listed, later SgLocals.
 * Race free: a barrier (of the block or of the grid) stands between listing, joining, sums and cells. Joins as in
 * list.cuh; the first cell of a component is found by an atomic minimum, sums are integer atomics.
 * Bound by latency: so loads that do not depend on each other are issued at once (docs/notes/segment.md). */
#ifndef CF_SEGMENT_GPU_COMPONENTS_CUH
#define CF_SEGMENT_GPU_COMPONENTS_CUH

#include "list.cuh"

namespace cf {

/* Up to how many free cells are listed from the start. */
constexpr unsigned sg_few_cells = 1 << 14;

/* What a block's first thread knows of the grid barrier. In shared memory, where it takes no register of the others. */
struct alignas (16) SgGate {
  unsigned arrivals; /* that opened the last barrier */
  unsigned passed;   /* what blocks had passed in all when the last sum was returned */
  unsigned early, late; /* ns that it sleeps before it arrives, and before it looks: a test override */
};

/* The blocks of the launch.
 *
 * control->arrived counts in its lower half the arrivals at all barriers, which is the gate: a block goes on when it
 * finds as many as the barrier needs. In its upper half it adds up what blocks pass. A block that is late to look finds
 * both as they are then. More arrivals do no harm, since the gate is a least number. More in the sum would be wrong, so
 * only sum () reads it, and a barrier () stands between two of those: a block can pass something for the next sum only
 * behind that barrier, where every block has arrived, and so has left the sum before. */
struct SgGrid {
  SgControl *control;
  SgGate *gate;

  __device__ unsigned first () const { return blockIdx.x * sg_threads + threadIdx.x; }
  __device__ unsigned step () const { return gridDim.x * sg_threads; }

  /* Waits for all blocks. What a block has written before the barrier, every block reads behind it: the release by the
   * first thread covers its whole block because of the block barrier before it, and the acquire invalidates the
   * first-level cache of the multiprocessor. */
  __device__ void
  barrier () const
  {
    wait (0);
    __syncthreads ();
  }

  /* The same, and returns the sum of what the blocks' first threads pass. */
  __device__ unsigned
  sum (unsigned n) const
  {
    __shared__ unsigned all;
    const unsigned now = wait (n);

    if (threadIdx.x == 0) {
      all = now - gate->passed;
      gate->passed = now;
    }
    __syncthreads ();
    return all;
  }

private:
  /* Lets the first thread wait for all blocks. Returns there what blocks have passed in all, or, at a barrier (), maybe
   * more. */
  __device__ unsigned
  wait (unsigned n) const
  {
    unsigned long long arrived = 0;

    __syncthreads ();
    if (threadIdx.x == 0) {
      const unsigned arrivals = gate->arrivals + gridDim.x;

      gate->arrivals = arrivals;
      sleep_ns (gate->early);
      asm volatile ("red.release.gpu.global.add.u64 [%0], %1;" :: "l" (&control->arrived),
          "l" ((unsigned long long) n << 32 | 1) : "memory");
      sleep_ns (gate->late);
      do
        asm volatile ("ld.acquire.gpu.global.u64 %0, [%1];" : "=l" (arrived) : "l" (&control->arrived) : "memory");
      while ((unsigned) arrived < arrivals);
    }
    return (unsigned) (arrived >> 32);
  }
};

/* ---- step 4: components ------------------------------------------------- */

/* Lists the pairs of components that touch where lanes have a pair of cells a, b. The components are often the same for
 * many lanes; one of these lists them. */
__device__ __forceinline__ void
sg_list_lanes (unsigned long long *list, unsigned *length, bool has, unsigned a, unsigned b)
{
  const unsigned lane = threadIdx.x & 31;
  unsigned rest = __ballot_sync (~0u, has);
  bool lists = false;

  while (rest) {
    const int leader = __ffs ((int) rest) - 1;
    const unsigned la = __shfl_sync (~0u, a, leader), lb = __shfl_sync (~0u, b, leader);

    lists = lists || lane == (unsigned) leader;
    rest &= ~__ballot_sync (~0u, has && a == la && b == lb);
  }
  sg_append (list, length, lists, (unsigned long long) a << 32 | b);
}

/* Lists the join of cell c at the edge of a tile with its neighbour `other` outside the tile. All lanes of the warp
 * must call. */
__device__ __forceinline__ void
sg_list_across (const SgWork &work, unsigned long long *list, unsigned *length, bool inside, unsigned c,
    unsigned other)
{
  const unsigned at = inside ? c : 0, beside = inside ? other : 0;
  const unsigned kind = work.kind[at], near = work.kind[beside], a = work.local[at], b = work.local[beside];

  sg_list_lanes (list, length, inside && kind && near == kind, a, b);
}

/* Lists the pairs of components in tiles that touch, by their numbers, in work.edge. Only kept cells touch across
 * tiles: a tile has whole blocks of seeds. */
static_assert (sg_tile % CF_SEGMENT_BLOCK == 0 && sg_tile_rows % CF_SEGMENT_BLOCK == 0, "whole blocks");

__device__ void
sg_list_joins (const SgWork &work, const SgGrid &grid, SgBlock *block, unsigned char *memory, size_t size)
{
  const unsigned columns = (unsigned) work.columns, rows = (unsigned) work.rows;
  const unsigned across = (rows - 1) / sg_tile_rows * columns, down = (columns - 1) / sg_tile * rows;
  /* One a cell. They are collected in the block first, because requests of many warps for one address wait. */
  const bool fits = sizeof (SgSums)
      + ((across + down) / gridDim.x + 4 * sg_threads) * sizeof (unsigned long long) <= size;
  unsigned long long *list = fits ? (unsigned long long *) (memory + sizeof (SgSums)) : work.edge;
  unsigned *length = fits ? &block->used : &work.control->joins;

  if (threadIdx.x == 0)
    block->used = 0;
  __syncthreads ();
  /* one warp of each block after another, so that all blocks have some */
  for (unsigned base = sg_spread () - threadIdx.x % 32; base < across; base += grid.step ()) {
    const unsigned i = base + (threadIdx.x & 31), c = (i / columns + 1) * sg_tile_rows * columns + i % columns;

    sg_list_across (work, list, length, i < across, c, c - columns);
  }
  for (unsigned base = sg_spread () - threadIdx.x % 32; base < down; base += grid.step ()) {
    const unsigned i = base + (threadIdx.x & 31), c = i % rows * columns + (i / rows + 1) * sg_tile;

    sg_list_across (work, list, length, i < down, c, c - 1);
  }
  __syncthreads ();
  if (threadIdx.x == 0 && block->used)
    block->at = atomicAdd (&work.control->joins, block->used);
  __syncthreads ();
  for (unsigned i = threadIdx.x; i < block->used; i += sg_threads)
    work.edge[block->at + i] = list[i];
}

/* The components in tiles, by their numbers. */
struct SgLocals {
  unsigned *parent; /* mixed */
  unsigned *cell;   /* the first cell; at a root that of the whole component */
};

/* A team joins all components in tiles: each block by itself, in its shared memory, or all blocks together. Of the sums
 * of components, a block makes those of the roots [from, to), or all blocks together make those of all. */
struct SgEachBlock {
  unsigned from, to;

  __device__ unsigned first () const { return threadIdx.x; }
  __device__ unsigned step () const { return sg_threads; }
  __device__ void barrier () { __syncthreads (); }
};

struct SgAllBlocks {
  const SgGrid &grid;
  unsigned from, to;

  __device__ unsigned first () const { return grid.first (); }
  __device__ unsigned step () const { return grid.step (); }
  __device__ void barrier () { grid.barrier (); }
};

/* Joins the components in tiles, and finds the first cell of each root, which is the root of the region. */
template<typename Team> __device__ __forceinline__ void
sg_join_locals (const SgWork &work, Team &team, const SgLocals &l)
{
  const unsigned n = work.control->locals, joins = work.control->joins;

  for (unsigned i = team.first (); i < n; i += team.step ()) {
    l.parent[i] = sg_mix (i);
    l.cell[i] = work.local_list[i];
  }
  team.barrier ();
  for (unsigned i = team.first (); i < joins; i += team.step ())
    sg_unite_mixed (l.parent, (unsigned) (work.edge[i] >> 32), (unsigned) work.edge[i]);
  team.barrier ();
  for (unsigned i = team.first (); i < n; i += team.step ()) {
    const unsigned root = sg_root_mixed (l.parent, i);

    if (root == i)
      continue;
    sg_poke (l.parent + i, sg_mix (root));
    if (l.cell[i] < sg_peek (l.cell + root))
      atomicMin (l.cell + root, l.cell[i]);
  }
  team.barrier ();
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

/* Adds the piece of an old region whose first cell is c, if the component there is one. */
__device__ __forceinline__ void
sg_add_piece (const SgWork &work, unsigned c, SgRecord record)
{
  const unsigned kind = work.kind[c], old = kind - sg_kept;

  if (kind < sg_kept || !sg_is_piece (work, sg_cells (record), old))
    return;
  atomicAdd (&work.pieces[old].x, record.x & ~sg_flags);
  atomicAdd (&work.pieces[old].y, record.y);
  atomicMax (work.first_piece + old, ~c);
}

/* Adds the sums of the components in tiles to the records of the joined components' first cells. Then adds up the
 * pieces of old regions; without old regions each component is a region, and gets its mean. */
template<typename Team> __device__ __forceinline__ void
sg_add_locals (const SgWork &work, Team &team, SgBlock *block, const SgLocals &l)
{
  const unsigned n = work.control->locals;

  for (unsigned i = team.first (); i - threadIdx.x % 32 < n; i += team.step ()) {
    const unsigned root = i < n ? sg_unmix (l.parent[i]) : sg_none, to = i < n ? l.cell[root] : 0;
    const bool adds = root >= team.from && root < team.to;
    const unsigned c = !adds ? to : root == i ? work.local_list[i] : l.cell[i];

    sg_add_record (block->sums, work.record, c != to, to, sg_record_if (work.record, c != to, c));
  }
  sg_flush_sums (block->sums, work.record);
  team.barrier ();
  for (unsigned i = team.from + team.first (); i < team.to; i += team.step ()) {
    if (l.parent[i] != sg_mix (i))
      continue;
    const unsigned c = l.cell[i];
    const ulonglong2 sums = __ldcg ((const ulonglong2 *) (work.record + c));

    if (work.recurrent)
      sg_add_piece (work, c, SgRecord { sums.x, sums.y });
    else
      work.mean[c] = sg_mean (SgRecord { sums.x, sums.y });
  }
}

/* Returns whether cell c of a kept component belongs to a fragment of an old region and so is free again. Sets `*root`,
 * the root of the component, to that of the region; that of the pieces of an old region is the same. `record` is that
 * of the component; the root of the region gets the sums of all pieces. A cell that reads them as those of its
 * component finds a piece as well. */
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

/* Attaches each cell of a component to the first cell of it, which is the root from here on. Cells of fragments become
 * free again and are listed; where there are few free cells, all are. */
__device__ void
sg_settle (const SgWork &work, const SgGrid &grid, SgBlock *block, const SgLocals &l)
{
  const unsigned n = (unsigned) work.n, step = grid.step ();
  const bool all = sg_is_listed (work);
  unsigned regions = 0;
  constexpr int each = 4;

  if (threadIdx.x == 0)
    block->roots = 0;
  for (unsigned base = grid.first () - threadIdx.x; base < n; base += each * step) {
    unsigned cell[each], root[each], kind[each], listed = 0;

#pragma unroll
    for (int k = 0; k < each; k++) {
      cell[k] = base + threadIdx.x + (unsigned) k * step;
      root[k] = cell[k] < n ? work.local[cell[k]] : sg_none;
      kind[k] = cell[k] < n && work.recurrent ? work.kind[cell[k]] : 0;
    }
#pragma unroll
    for (int k = 0; k < each; k++)
      root[k] = root[k] != sg_none ? l.cell[sg_unmix (l.parent[root[k]])] : sg_none;
#pragma unroll
    for (int k = 0; k < each; k++) {
      const bool has = root[k] != sg_none;
      bool freed = false;

      if (kind[k] >= sg_kept || (kind[k] && root[k] == cell[k]))
        freed = sg_settle_cell (work, cell[k], &root[k], kind[k], sg_load_record (work.record + root[k]));
      if (has)
        work.parent[cell[k]] = freed ? cell[k] : root[k] | sg_settled;
      regions += has && !freed && root[k] == cell[k];
      if (has && !freed && root[k] == cell[k]) /* for the first round of merging */
        work.best[0][cell[k]] = work.best[1][cell[k]] = sg_none_64;
      freed = freed || (all && cell[k] < n && !has);
      listed |= (unsigned) freed << k;
      if (all && freed)
        work.best[0][cell[k]] = work.best[1][cell[k]] = sg_none_64;
    }
    if (all || work.recurrent)
      sg_append_block<each> (work.cell_list, &work.control->listed, block, listed, cell);
  }
  __syncthreads ();
  regions = sg_reduce (~0u, regions);
  if (regions && threadIdx.x % 32 == 0)
    atomicAdd (&block->roots, regions);
  __syncthreads ();
  if (threadIdx.x == 0 && block->roots)
    atomicAdd (&work.control->seeded, block->roots);
}

/* What has to wait until all blocks have settled their cells. Nothing before the end of growth's first phase reads what
 * is written here. */
__device__ void
sg_free_fragments (const SgWork &work, const SgGrid &grid)
{
  for (unsigned i = sg_spread (); i < work.control->listed; i += grid.step ()) {
    const unsigned c = work.cell_list[i];

    work.record[c] = sg_record_of (work.after.p[c]);
  }
  for (unsigned i = grid.first (); i < work.before.scalars[0]; i += grid.step ()) {
    work.pieces[i] = SgRecord { 0, 0 }; /* for the next frame */
    work.first_piece[i] = 0;
  }
}

__device__ void
sg_find_components (const SgWork &work, const SgGrid &grid, SgBlock *block, unsigned char *memory, size_t size)
{
  if (work.recurrent) {
    sg_list_joins (work, grid, block, memory, size);
    grid.barrier ();
  }
  const unsigned n = work.control->locals;
  SgLocals l = { (unsigned *) (memory + sizeof (SgSums)), (unsigned *) (memory + sizeof (SgSums)) + n };

  if (sizeof (SgSums) + 2ull * n * sizeof (unsigned) <= size) {
    SgEachBlock team = { (unsigned) ((unsigned long long) n * blockIdx.x / gridDim.x),
      (unsigned) ((unsigned long long) n * (blockIdx.x + 1) / gridDim.x) };

    sg_join_locals (work, team, l);
    sg_add_locals (work, team, block, l);
  } else {
    SgAllBlocks team = { grid, 0, n };

    l = SgLocals { (unsigned *) (work.edge + work.n), work.smallest };
    sg_join_locals (work, team, l);
    sg_add_locals (work, team, block, l);
  }
  if (work.recurrent)
    grid.barrier ();
  sg_settle (work, grid, block, l);
  grid.barrier ();
  if (work.recurrent)
    sg_free_fragments (work, grid);
}

} // namespace cf

#endif
