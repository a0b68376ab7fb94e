/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment/gpu/grow.cuh: the graph kernel's frame, its components and growth: steps 4 to 6
 * of the segmentation.
 *
 * A round is two phases. In A what has a border puts the best partner of its region
 * into `best`, by an atomic minimum over distance and root, which no order changes. In B
 * each region's root follows the picks to where they end, adds its sums there and hangs
 * itself below. `best` is used in turns, so that B can clear the other one. */
#ifndef CF_SEGMENT_GPU_GROW_CUH
#define CF_SEGMENT_GPU_GROW_CUH

#include "chunk.cuh"

namespace cf {

/* All blocks of the launch. */
struct SgGrid {
  SgControl *control;
  unsigned arrivals; /* that open the next barrier */

  __device__ unsigned first () const { return blockIdx.x * sg_threads + threadIdx.x; }
  __device__ unsigned step () const { return gridDim.x * sg_threads; }

  /* What a block wrote before it, every block reads behind it: the first thread's release is its whole
   * block's, by the block's own barrier, and its acquire clears the multiprocessor's first-level cache.
   * Two fences of all memory instead took a quarter of a microsecond more. */
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

__device__ __forceinline__ unsigned long long
sg_key (unsigned p, unsigned q, unsigned root)
{
  return (unsigned long long) sg_distance (p, q) << 32 | root;
}

/* ---- step 4: components ------------------------------------------------- */

/* Joins the lanes' pairs of cells. Their tiles' components are the same for many lanes, which
 * would else wait for each other at the root: one lane joins for all of them. */
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

/* Joins cell c of a tile's edge with its neighbour outside, (dx, dy) away, or, where that is of
 * another kind, with the two beside that one; (ex, ey) is along the edge. All lanes call. */
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
  const bool same = kind && at == kind, apart = kind && !same;

  sg_unite_lanes (work, same || (apart && one == kind), c, same ? other : other - along);
  sg_unite_lanes (work, apart && two == kind, c, other + along);
}

__device__ void
sg_join_tiles (const SgWork &work, const SgGrid &grid)
{
  const unsigned columns = (unsigned) work.columns, rows = (unsigned) work.rows;
  const unsigned across = (rows - 1) / sg_tile_rows * columns, down = (columns - 1) / sg_tile * rows;

  /* a warp of each block after the other, so that all have some */
  for (unsigned base = sg_spread () - threadIdx.x % 32; base < across; base += grid.step ()) {
    const unsigned i = base + (threadIdx.x & 31);

    sg_join_across (work, i < across, (i / columns + 1) * sg_tile_rows * columns + i % columns, 0, -1, 1, 0);
  }
  for (unsigned base = sg_spread () - threadIdx.x % 32; base < down; base += grid.step ()) {
    const unsigned i = base + (threadIdx.x & 31);

    sg_join_across (work, i < down, i % rows * columns + (i / rows + 1) * sg_tile, -1, 0, 0, 1);
  }
}

/* The sums of the tiles' components to their roots, and each root's smallest cell. */
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

__device__ void
sg_find_largest (const SgWork &work, const SgGrid &grid)
{
  const unsigned n = work.control->locals;

  for (unsigned i = sg_spread (); i < n; i += grid.step ()) {
    const unsigned c = work.local_list[i];

    if (work.kind[c] >= 2 && work.joined[c] == sg_mix (c))
      atomicMax (work.largest + (work.kind[c] - 2),
          (unsigned long long) sg_cells (sg_load_record (work.record + c)) << 32 | (0xffffffffu - work.smallest[c]));
  }
}

/* Is cell c of a component a fragment's, and so free again? The largest component of an old
 * region carries it on. `record`: the component's. The root takes it over. */
__device__ __forceinline__ bool
sg_settle_cell (const SgWork &work, unsigned c, unsigned root, unsigned kind, SgRecord record)
{
  const unsigned long long largest = kind >= 2 ? work.largest[kind - 2] : 0;
  const bool carries = kind >= 2 && 0xffffffffu - (unsigned) largest == root;

  if (c == root) {
    if (carries)
      work.claim[c] = largest >> 32 << 32 | (0xffffffffu - (kind - 2));
    record.x |= carries ? sg_old : 0;
    work.mean[c] = sg_mean (record);
    work.record[c] = record;
  }
  return kind >= 2 && !carries && sg_cells (record) < work.min_cells;
}

/* Each cell of a component right below its smallest cell, which is its root from here on;
 * those that are free again are listed. */
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
    for (int k = 0; k < each; k++) /* add_locals has left two steps */
      at[k] = kind[k] ? sg_unmix (work.joined[sg_unmix (at[k])]) : 0;
#pragma unroll
    for (int k = 0; k < each; k++)
      root[k] = kind[k] ? work.smallest[at[k]] : 0;
#pragma unroll
    for (int k = 0; k < each; k++) {
      bool freed = false;

      if (kind[k] >= 2 || (kind[k] && root[k] == cell[k]))
        freed = sg_settle_cell (work, cell[k], root[k], kind[k], sg_load_record (work.record + at[k]));
      if (kind[k])
        work.parent[cell[k]] = freed ? cell[k] : root[k] | sg_settled;
      if (work.follow)
        sg_append (work.freed_list, &work.control->freed, freed, cell[k]);
    }
  }
}

__device__ void
sg_free_fragments (const SgWork &work, const SgGrid &grid)
{
  for (unsigned i = sg_spread (); i < work.control->freed; i += grid.step ()) {
    const unsigned c = work.freed_list[i];

    work.record[c] = sg_record_of (work.after.p[c]); /* others have looked at its component's till now */
  }
  for (unsigned i = grid.first (); i < work.before.scalars[0]; i += grid.step ())
    work.largest[i] = 0; /* for the next frame */
}

__device__ void
sg_find_components (const SgWork &work, SgGrid &grid, SgBlock *block)
{
  sg_join_tiles (work, grid);
  grid.barrier ();
  sg_add_locals (work, grid, block);
  grid.barrier ();
  if (work.follow) {
    sg_find_largest (work, grid);
    grid.barrier ();
  }
  sg_settle (work, grid);
  grid.barrier ();
  if (work.follow) {
    sg_free_fragments (work, grid);
    grid.barrier ();
  }
}

/* ---- step 6: growth ----------------------------------------------------- */

/* The block's chunks in the shared memory behind the sums. */
struct SgGrowth {
  unsigned rows, n; /* of a chunk, and how many there are */
  unsigned listed;  /* the chunk whose rows are listed; sg_none: of none */
  unsigned char *memory;
};

/* As many rows as there is shared memory for. */
__device__ __forceinline__ SgGrowth
sg_share_memory (const SgPart &part, unsigned char *memory, size_t size)
{
  const size_t fixed = sizeof (SgSums) + sg_watched * (sg_rows + 4) + (4 + 64) * sg_rows;
  const unsigned rows = min ((unsigned) ((size - fixed) / (4 * 32 * sizeof (unsigned))), (unsigned) sg_rows) / 32 * 32;

  return SgGrowth { rows, (part.to - part.from + rows - 1) / rows, sg_none, memory + sizeof (SgSums) };
}

/* Makes a chunk ready to look at. */
__device__ __forceinline__ SgChunk
sg_open_chunk (const SgWork &work, const SgPart &part, SgGrowth *g, unsigned number)
{
  SgChunk chunk;

  chunk.from = part.from + number * g->rows;
  chunk.n = min (g->rows, part.to - chunk.from);
  chunk.row = (unsigned *) g->memory;
  chunk.picks = number < sg_watched ? g->memory + 4 * sg_rows + number * (sg_rows + 4) : NULL;
  chunk.list = (uint16_t *) (g->memory + 4 * sg_rows + sg_watched * (sg_rows + 4));
  chunk.to = (unsigned *) (chunk.list + 32 * sg_rows);
  chunk.luma = chunk.to + 32 * g->rows;
  chunk.cb = chunk.luma + 32 * g->rows;
  chunk.cr = chunk.cb + 32 * g->rows;
  chunk.region = chunk.to;
  chunk.mean = chunk.region + (g->rows + 2) * sg_chunk_wide;
  if (g->listed != number)
    sg_list_rows (work, chunk);
  g->listed = number;
  return chunk;
}

/* Phase A. `done`: chunks that have no cell left that would pick; there are none to come. */
__device__ void
sg_pick_chunks (const SgWork &work, SgBlock *block, const SgPart &part, SgGrowth *g, int turn, unsigned long long *done)
{
  for (unsigned i = 0; i < g->n; i++)
    if (i >= 64 || !(*done >> i & 1)) {
      const SgChunk chunk = sg_open_chunk (work, part, g, i);
      const bool any = turn ? sg_pick_next (work, chunk, block, work.best[turn & 1]) : sg_pick_first (work, chunk);

      *done |= i < 64 && !any ? 1ull << i : 0;
    }
}

/* Phase B: a free region's root r joins where its picks lead, or stays. */
__device__ __forceinline__ void
sg_grow_root (const SgWork &work, SgBlock *block, int turn, bool has, unsigned r, unsigned *roots)
{
  const unsigned long long *best = work.best[turn & 1];
  const unsigned pick = has ? (unsigned) best[r] : (unsigned) sg_never;
  const unsigned end = pick != (unsigned) sg_never ? sg_follow_picks (best, r, pick) : r;
  const unsigned to = end & ~sg_settled;
  const bool joined = has && to != r;

  if (joined)
    work.parent[r] = end;
  else if (has)
    work.best[~turn & 1][r] = sg_never;
  sg_add_record (block->sums, work.record, joined, to, sg_record_if (work.record, joined, r));
  if (__any_sync (~0u, joined) && (threadIdx.x & 31) == 0)
    sg_poke (&block->picks, 1);
  sg_append (roots, &block->roots, has && !joined, r);
}

/* Each block has its share of all lists, which only shrink. */
__device__ void
sg_grow (const SgWork &work, SgGrid &grid, SgBlock *block, unsigned char *memory, size_t size)
{
  const SgPart part (work);
  SgGrowth g = sg_share_memory (part, memory, size);
  SgControl *control = work.control;
  unsigned long long done = 0;
  unsigned roots = 0, going = control->free + control->freed ? 3 : 0;

  for (unsigned i = threadIdx.x; i < sg_watched * (sg_rows + 4); i += sg_threads)
    g.memory[4 * sg_rows + i] = i % (sg_rows + 4) > 0 && i % (sg_rows + 4) <= g.rows; /* all may */
  for (int turn = 0; going == 3; turn++) {
    unsigned *roots_before = work.root_list[turn & 1] + part.listed;
    unsigned *roots_after = work.root_list[~turn & 1] + part.listed;

    if (threadIdx.x == 0)
      block->roots = block->picks = 0;
    sg_pick_chunks (work, block, part, &g, turn, &done);
    grid.barrier ();
    if (grid.first () == 0)
      control->picks[(turn + 1) % 3] = 0;
    if (turn == 0)
      for (unsigned i = 0; i < g.n; i++)
        sg_join_chunk (work, sg_open_chunk (work, part, &g, i), block, roots_after);
    else
      for (unsigned i = threadIdx.x; i - threadIdx.x < roots; i += sg_threads)
        sg_grow_root (work, block, turn, i < roots, i < roots ? roots_before[i] : 0, roots_after);
    sg_flush_sums (block->sums, work.record);
    roots = block->roots;
    if (threadIdx.x == 0 && (block->picks || roots))
      atomicOr (&control->picks[turn % 3], (unsigned) (block->picks != 0) | (roots != 0) << 1);
    grid.barrier ();
    going = control->picks[turn % 3];
  }
}

} // namespace cf

#endif
