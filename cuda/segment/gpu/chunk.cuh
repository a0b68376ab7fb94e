/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/gpu/chunk.cuh: how a block of the graph kernel processes its part of the frame in the first round of growth.
 *
 * Map: the frame is cut into strips of 32 cells in a row, and the rows of all strips are numbered strip by strip.
 * Each block has an equal share of these rows, one below the other, and loads it chunk by chunk. A warp has
 * sg_thread_rows rows of a chunk, a lane one column; the first threads also have one cell of the margin.
 * Shared memory: SgChunk, with a margin of one cell around the chunk.
 * Race free: in phase A a cell's region and mean are stored by its own thread, then a block barrier, then read by
 * all. In phase B each thread changes the link of its own cells only; a walk that meets a link which was shortened
 * meanwhile ends at the same position. Sums are integer atomics.
 * Bound by instructions as much as by memory: each row costs a pass over all of its cells. Therefore phase B skips rows
 * without a cell that picks, and processes further only the last cell of each walk. Times: docs/notes/segment.md. */
#ifndef CF_SEGMENT_GPU_CHUNK_CUH
#define CF_SEGMENT_GPU_CHUNK_CUH

#include "list.cuh"

namespace cf {

constexpr int sg_chunk_rows = 128; /* rows of a chunk, at most */
constexpr unsigned sg_chunk_pitch = 34; /* cells of a row with its margin */
constexpr int sg_thread_rows = sg_chunk_rows * 32 / sg_threads; /* of a chunk, below each other */
constexpr unsigned sg_tracked_chunks = 8; /* chunks for which the rows with cells that pick are tracked */

/* The rows of this block: [from, to). */
struct SgPart {
  unsigned from, to;

  __device__
  SgPart (const SgWork &work)
  {
    const unsigned rows = (unsigned) work.rows, columns = (unsigned) work.columns, all = (columns + 31) / 32 * rows;

    from = (unsigned) ((unsigned long long) all * blockIdx.x / gridDim.x);
    to = (unsigned) ((unsigned long long) all * (blockIdx.x + 1) / gridDim.x);
  }
};

/* Some rows of a part. The arrays lie in shared memory. */
struct SgChunk {
  unsigned from, n;
  unsigned *row;   /* first cell | (cells - 1) << 24 | sg_below | sg_above */
  uint8_t *picks;  /* by row: whether the row has a cell that picks; NULL: not tracked */
  uint16_t *list;  /* cells as row * 32 + lane */
  /* (n + 2) x sg_chunk_pitch, from the corner of the margin: the region of a cell as sg_pick_of, and its mean */
  unsigned *region, *mean;
  /* or, at the end of the first round, by row * 32 + lane: */
  unsigned *to;    /* where a cell's pick leads: a position in the chunk, or a cell with sg_outside or sg_settled */
  unsigned *luma, *cb, *cr; /* sums of what joins a cell; luma: up to 4095 cells << 20 | Y */
};
constexpr unsigned sg_below = 1u << 30, sg_above = 1u << 31; /* the frame has a row below, a row above */
constexpr unsigned sg_outside = 1u << 30; /* the other bits are a cell beyond the chunk */

/* Returns a root as it is picked: shifted by one, bit 0 set if the region has a seed. So the smallest root is the
 * least pick. `root` is as sg_find returns it. */
__device__ __forceinline__ unsigned
sg_pick_of (unsigned root)
{
  return root << 1 | root >> 31;
}

__device__ __forceinline__ unsigned
sg_first_cell (unsigned row)
{
  return row & 0xffffffu;
}

/* Returns the number in the chunk of the k-th row of this thread. */
__device__ __forceinline__ unsigned
sg_own_row (int k)
{
  return threadIdx.x / 32 * sg_thread_rows + (unsigned) k;
}

/* Fills chunk.row. All threads of the block must call. */
__device__ void
sg_list_rows (const SgWork &work, const SgChunk &chunk)
{
  const unsigned rows = (unsigned) work.rows, columns = (unsigned) work.columns;

  for (unsigned i = threadIdx.x; i < chunk.n; i += sg_threads) {
    const unsigned strip = (chunk.from + i) / rows, y = chunk.from + i - strip * rows, x = strip * 32;

    chunk.row[i] = y * columns + x | (min (32u, columns - x) - 1) << 24 | (y > 0 ? sg_above : 0)
        | (y + 1 < rows ? sg_below : 0);
  }
  __syncthreads ();
}

/* ---- phase A ------------------------------------------------------------ */

/* Returns the margin cell of this thread, sg_none if that lies outside the frame. Sets `*at` to its position, sg_none
 * if the thread has none. */
__device__ unsigned
sg_margin_cell (const SgWork &work, const SgChunk &chunk, unsigned *at)
{
  const unsigned t = threadIdx.x, sides = 2 * sg_chunk_rows, columns = (unsigned) work.columns;
  const unsigned number = t < sides ? t / 2 : t < sides + 32 ? 0 : chunk.n - 1;
  unsigned row, cell, lane;

  *at = sg_none;
  if (t >= sides + 64 || number >= chunk.n)
    return sg_none;
  row = chunk.row[number];
  cell = sg_first_cell (row);
  if (t < sides) {
    const unsigned x = cell % columns, right = t % 2;

    *at = (number + 1) * sg_chunk_pitch + right * 33;
    return right ? (x + 32 < columns ? cell + 32 : sg_none) : x > 0 ? cell - 1 : sg_none;
  }
  lane = t % 32;
  *at = (t < sides + 32 ? 0 : chunk.n + 1) * sg_chunk_pitch + lane + 1;
  if (lane > (row >> 24 & 31) || !(row & (t < sides + 32 ? sg_above : sg_below)))
    return sg_none;
  return t < sides + 32 ? cell - columns + lane : cell + columns + lane;
}

/* Finds the thread's cells and its margin cell, whose position goes to `*margin`. sg_none: no such cell. */
__device__ __forceinline__ void
sg_own_cells (const SgWork &work, const SgChunk &chunk, unsigned (&cell)[sg_thread_rows + 1], unsigned *margin)
{
  const unsigned lane = threadIdx.x % 32;

#pragma unroll
  for (int k = 0; k < sg_thread_rows; k++) {
    const unsigned row = sg_own_row (k) < chunk.n ? chunk.row[sg_own_row (k)] : 0;

    cell[k] = sg_own_row (k) < chunk.n && lane <= (row >> 24 & 31) ? sg_first_cell (row) + lane : sg_none;
  }
  cell[sg_thread_rows] = sg_margin_cell (work, chunk, margin);
}

/* Stores a value of one of the thread's cells in an array of the chunk. */
__device__ __forceinline__ void
sg_store_in_chunk (const SgChunk &chunk, unsigned *array, int k, unsigned margin, unsigned value)
{
  if (k < sg_thread_rows && sg_own_row (k) < chunk.n)
    array[(sg_own_row (k) + 1) * sg_chunk_pitch + threadIdx.x % 32 + 1] = value;
  else if (k == sg_thread_rows && margin != sg_none)
    array[margin] = value;
}

/* Returns the better of a pick and the pick of region `other`. */
__device__ __forceinline__ unsigned long long
sg_better (unsigned long long best, unsigned own, unsigned mean, unsigned other, unsigned other_mean)
{
  const unsigned long long key = (unsigned long long) sg_distance (mean, other_mean) << 32 | other;

  return other != own && other != sg_none ? min (best, key) : best;
}

/* Phase A: a region without a seed is one cell, and regions with a seed have their means in work.mean. */
__device__ void
sg_pick_first (const SgWork &work, const SgChunk &chunk)
{
  constexpr int n = sg_thread_rows + 1;
  unsigned cell[n], region[n], mean[n], margin;

  sg_own_cells (work, chunk, cell, &margin);
#pragma unroll
  for (int k = 0; k < n; k++) {
    region[k] = cell[k] != sg_none ? sg_pick_of (work.parent[cell[k]]) : sg_none;
    mean[k] = cell[k] != sg_none ? work.after.p[cell[k]] : 0;
  }
#pragma unroll
  for (int k = 0; k < n; k++)
    if (cell[k] != sg_none && (region[k] & 1))
      mean[k] = work.mean[region[k] >> 1];
#pragma unroll
  for (int k = 0; k < n; k++) {
    sg_store_in_chunk (chunk, chunk.region, k, margin, region[k]);
    sg_store_in_chunk (chunk, chunk.mean, k, margin, mean[k]);
  }
  __syncthreads ();
#pragma unroll
  for (int k = 0; k < sg_thread_rows; k++) {
    const unsigned at = (sg_own_row (k) + 1) * sg_chunk_pitch + threadIdx.x % 32 + 1;
    const bool free = !(region[k] & 1), any = __any_sync (~0u, free); /* sg_none has that bit */
    unsigned long long key = sg_none_64;

    if (free) {
      const unsigned row = chunk.row[sg_own_row (k)], r = region[k], m = mean[k];

      key = sg_better (key, r, m, chunk.region[at - 1], chunk.mean[at - 1]);
      key = sg_better (key, r, m, chunk.region[at + 1], chunk.mean[at + 1]);
      if (row & sg_above)
        key = sg_better (key, r, m, chunk.region[at - sg_chunk_pitch], chunk.mean[at - sg_chunk_pitch]);
      if (row & sg_below)
        key = sg_better (key, r, m, chunk.region[at + sg_chunk_pitch], chunk.mean[at + sg_chunk_pitch]);
    }
    if (cell[k] != sg_none && (any || !chunk.picks))
      work.best[0][cell[k]] = key; /* for all cells of such a row: phase B takes the cells with a pick as free */
    if (chunk.picks && sg_own_row (k) < chunk.n && threadIdx.x % 32 == 0)
      chunk.picks[sg_own_row (k)] = any;
  }
  __syncthreads ();
}

/* ---- phase B ------------------------------------------------------------ */

/* Returns the link of a cell, from the lower half of its pick. */
__device__ __forceinline__ unsigned
sg_link (const SgChunk &chunk, unsigned columns, unsigned cell, unsigned at, unsigned best)
{
  const unsigned to = best >> 1, lane = at % 32;

  if (best & 1)
    return to | sg_settled;
  if (to == cell + columns && at / 32 + 1 < chunk.n)
    return at + 32;
  if (to == cell - columns && at >= 32)
    return at - 32;
  if (to == cell + 1 && columns > 1 && lane < 31)
    return at + 1;
  if (to == cell - 1 && columns > 1 && lane > 0)
    return at - 1;
  return to | sg_outside;
}

/* Returns where the picks lead from r, whose own pick is `pick`; with sg_settled if that region has a seed. */
__device__ __forceinline__ unsigned
sg_walk_picks (const unsigned long long *best, unsigned r, unsigned pick)
{
  for (;;) {
    const unsigned to = pick >> 1;

    if (pick & 1)
      return to | sg_settled;
    pick = (unsigned) best[to];
    if (pick == (unsigned) sg_none_64)
      return to;
    if (pick == r << 1)
      return min (r, to);
    r = to;
  }
}

/* Makes one step of a walk from *at, whose link is *to. Returns false at its end. Other threads may shorten the
 * links meanwhile; the walk ends at the same position. */
__device__ __forceinline__ bool
sg_step_link (const SgChunk &chunk, unsigned *at, unsigned *to)
{
  if ((*to & (sg_settled | sg_outside)) || *to == *at)
    return false;
  const unsigned next = sg_peek (chunk.to + *to);

  if (next == *at) {
    *at = *to = min (*at, *to);
    return false;
  }
  *at = *to;
  *to = next;
  return true;
}

/* Finds the last positions to which the links of the thread's cells lead, sg_none for cells with a seed. The walks
 * run at once, because each step waits for the one before. */
__device__ __forceinline__ void
sg_walk_links (const SgChunk &chunk, unsigned free, unsigned (&at)[sg_thread_rows])
{
  unsigned to[sg_thread_rows];
  bool again = free != 0;

#pragma unroll
  for (int k = 0; k < sg_thread_rows; k++) {
    at[k] = free >> k & 1 ? sg_own_row (k) * 32 + threadIdx.x % 32 : sg_none;
    to[k] = free >> k & 1 ? sg_peek (chunk.to + at[k]) : sg_none;
  }
  while (again) {
    again = false;
#pragma unroll
    for (int k = 0; k < sg_thread_rows; k++)
      again |= sg_step_link (chunk, at + k, to + k);
  }
#pragma unroll
  for (int k = 0; k < sg_thread_rows; k++)
    if ((free >> k & 1) && at[k] != sg_own_row (k) * 32 + threadIdx.x % 32)
      sg_poke (chunk.to + sg_own_row (k) * 32 + threadIdx.x % 32, at[k]);
}

/* Returns the sums of the cell at a position, whose colour is p, and of the chunk's cells that have joined it. */
__device__ __forceinline__ SgRecord
sg_joined_record (const SgChunk &chunk, unsigned at, unsigned p)
{
  const unsigned luma = chunk.luma[at];

  return SgRecord { (unsigned long long) ((luma >> 20) + 1) << 32 | ((luma & 0xfffff) + (p & 255)),
    (unsigned long long) (chunk.cb[at] + (p >> 8 & 255)) << 32 | (chunk.cr[at] + (p >> 16)) };
}

/* Stores the links of the thread's cells. Returns which of them have no seed. */
__device__ __forceinline__ unsigned
sg_link_cells (const SgWork &work, const SgChunk &chunk, const unsigned (&cell)[sg_thread_rows])
{
  unsigned free = 0, best[sg_thread_rows];

#pragma unroll
  for (int k = 0; k < sg_thread_rows; k++)
    best[k] = cell[k] != sg_none ? (unsigned) work.best[0][cell[k]] : (unsigned) sg_none_64;
#pragma unroll
  for (int k = 0; k < sg_thread_rows; k++) {
    const unsigned at = sg_own_row (k) * 32 + threadIdx.x % 32;

    if (best[k] == (unsigned) sg_none_64)
      continue;
    free |= 1u << k;
    chunk.to[at] = sg_link (chunk, (unsigned) work.columns, cell[k], at, best[k]);
    chunk.luma[at] = chunk.cb[at] = chunk.cr[at] = 0;
  }
  __syncthreads ();
  return free;
}

/* Lets the cell at which links end join what it picks, or stay a root. Its link becomes the result. All lanes of the
 * warp must call. */
__device__ __forceinline__ void
sg_join_end (const SgWork &work, const SgChunk &chunk, SgBlock *block, bool has, unsigned at, unsigned cell)
{
  const unsigned link = has ? chunk.to[at] : 0, p = has ? work.after.p[cell] : 0;
  unsigned end = cell;

  if (has && (link & sg_settled))
    end = link;
  else if (has && (link & sg_outside))
    end = sg_walk_picks (work.best[0], cell, (link & ~sg_outside) << 1);
  const bool stays = has && end == cell, joins = has && !stays;
  const SgRecord record = has ? sg_joined_record (chunk, at, p) : SgRecord { 0, 0 };

  sg_add_record (block->sums, work.record, joins, end & ~sg_settled, record);
  if (stays && chunk.luma[at]) {
    const SgRecord own = sg_record_of (p);

    atomicAdd (&work.record[cell].x, record.x - own.x);
    atomicAdd (&work.record[cell].y, record.y - own.y);
  }
  if (stays)
    work.best[1][cell] = sg_none_64;
  if (joins)
    work.parent[cell] = end;
  if (has)
    chunk.to[at] = end;
}

/* Phase B: each cell without a seed joins where its picks lead, or stays. Those still without one are listed. */
__device__ void
sg_join_chunk (const SgWork &work, const SgChunk &chunk, SgBlock *block)
{
  const unsigned lane = threadIdx.x % 32;
  unsigned cell[sg_thread_rows], end[sg_thread_rows], position[sg_thread_rows], free, ends = 0, left = 0;

  if (threadIdx.x == 0)
    block->cells = 0;
#pragma unroll
  for (int k = 0; k < sg_thread_rows; k++) {
    const bool any = sg_own_row (k) < chunk.n && (!chunk.picks || chunk.picks[sg_own_row (k)]);
    const unsigned row = any ? chunk.row[sg_own_row (k)] : 0;

    cell[k] = any && lane <= (row >> 24 & 31) ? sg_first_cell (row) + lane : sg_none;
  }
  free = sg_link_cells (work, chunk, cell);
  sg_walk_links (chunk, free, end);
  __syncthreads (); /* the sums of warps that have ended would slow the walks of the others down */
#pragma unroll
  for (int k = 0; k < sg_thread_rows; k++) {
    const unsigned at = sg_own_row (k) * 32 + lane, p = free >> k & 1 ? work.after.p[cell[k]] : 0;

    if (end[k] != sg_none && end[k] != at) {
      atomicAdd (chunk.luma + end[k], 1u << 20 | (p & 255));
      atomicAdd (chunk.cb + end[k], p >> 8 & 255);
      atomicAdd (chunk.cr + end[k], p >> 16);
    }
    ends |= (unsigned) (end[k] == at) << k;
    position[k] = at;
  }
  sg_append_each<sg_thread_rows> (chunk.list, &block->cells, ends, position);
  __syncthreads ();
  for (unsigned i = threadIdx.x; i - threadIdx.x % 32 < block->cells; i += sg_threads) {
    const bool has = i < block->cells;
    const unsigned at = has ? chunk.list[i] : 0;

    sg_join_end (work, chunk, block, has, at, sg_first_cell (chunk.row[at / 32]) + at % 32);
  }
  __syncthreads ();
#pragma unroll
  for (int k = 0; k < sg_thread_rows; k++)
    if (free >> k & 1) {
      const unsigned to = chunk.to[end[k]];

      if (end[k] != sg_own_row (k) * 32 + lane)
        work.parent[cell[k]] = to;
      left |= (unsigned) !(to & sg_settled) << k;
    }
  sg_append_block<sg_thread_rows> (work.cell_list, &work.control->left, block, left, cell);
  __syncthreads ();
}

} // namespace cf

#endif
