/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment/gpu/chunk.cuh: how a block of the graph's launch looks at its part of the picture while
 * regions grow. The picture is cut into strips of 32 cells in a row, and the strips' rows are numbered
 * strip by strip; each block has as many as any other, one below the other, and takes them into
 * shared memory chunk by chunk, with a margin of one cell.
 *
 * A phase over all cells is bound by its instructions as much as by its accesses: a multiprocessor has 123
 * rows of 1080p, and 100 instructions more for each are a microsecond and a half. So rows in which nothing is
 * left to pick are passed over, only cells with a border are listed to compute means for (a mean is 50
 * instructions), and of the first round's cells only the last one of each walk is worked on any
 * further. What helped little: all means of a chunk at once instead of those listed, a walk a cell. */
#ifndef CF_SEGMENT_GPU_CHUNK_CUH
#define CF_SEGMENT_GPU_CHUNK_CUH

#include "list.cuh"

namespace cf {

constexpr int sg_rows = 128; /* of a chunk, at most */
constexpr unsigned sg_chunk_wide = 34; /* a row with its margin */
constexpr int sg_each = sg_rows * 32 / sg_threads; /* cells of a thread, below each other */
constexpr unsigned sg_watched = 8; /* chunks of which it is known where cells are left that pick */

/* The rows of this block. */
struct SgPart {
  unsigned from, to;
  unsigned listed; /* cells in all rows before */

  __device__
  SgPart (const SgWork &work)
  {
    const unsigned rows = (unsigned) work.rows, columns = (unsigned) work.columns, all = (columns + 31) / 32 * rows;

    from = (unsigned) ((unsigned long long) all * blockIdx.x / gridDim.x);
    to = (unsigned) ((unsigned long long) all * (blockIdx.x + 1) / gridDim.x);
    listed = from / rows * 32 * rows + from % rows * min (32u, columns - min (columns, from / rows * 32));
  }
};

/* Rows of a part. In shared memory: */
struct SgChunk {
  unsigned from, n;
  unsigned *row;   /* its first cell | its cells - 1 << 24 | sg_below | sg_above */
  uint8_t *picks;  /* by row + 1: whether it has a cell that picks; NULL: not known */
  uint16_t *list;  /* of cells: row * 32 + lane */
  /* (n + 2) x sg_chunk_wide, from the margin's corner: a cell's region as it is picked, and its mean */
  unsigned *region, *mean;
  /* or, at the end of the first round, by row * 32 + lane: */
  unsigned *to;    /* where a cell's pick leads: a cell here; or sg_outside, sg_settled */
  unsigned *luma, *cb, *cr; /* what joins a cell: up to 4095 cells << 20 | their Y */
};
constexpr unsigned sg_below = 1u << 30, sg_above = 1u << 31; /* has the picture such a row? */
constexpr unsigned sg_outside = 1u << 30; /* with a cell beyond the chunk */

/* A region as it is picked, with bit 0 where it has a seed: the smallest root is the least. From its
 * root as it is found. */
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

/* A row's number in its chunk that is the k-th of this thread. */
__device__ __forceinline__ unsigned
sg_own_row (int k)
{
  return threadIdx.x / 32 * sg_each + (unsigned) k;
}

/* The chunk's rows; all threads call. */
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

/* The thread's cell on the margin, sg_none: it is beyond the picture; and its place, sg_none: the thread has none,
 * or the row beside it has nothing to pick. */
__device__ unsigned
sg_margin_cell (const SgWork &work, const SgChunk &chunk, unsigned *at)
{
  const unsigned t = threadIdx.x, sides = 2 * sg_rows, columns = (unsigned) work.columns;
  const unsigned number = t < sides ? t / 2 : t < sides + 32 ? 0 : chunk.n - 1;
  unsigned row, cell, lane;

  *at = sg_none;
  if (t >= sides + 64 || number >= chunk.n || (chunk.picks && !chunk.picks[number + 1]))
    return sg_none;
  row = chunk.row[number];
  cell = sg_first_cell (row);
  if (t < sides) {
    const unsigned x = cell % columns, right = t % 2;

    *at = (number + 1) * sg_chunk_wide + right * 33;
    return right ? (x + 32 < columns ? cell + 32 : sg_none) : x > 0 ? cell - 1 : sg_none;
  }
  lane = t % 32;
  *at = (t < sides + 32 ? 0 : chunk.n + 1) * sg_chunk_wide + lane + 1;
  if (lane > (row >> 24 & 31) || !(row & (t < sides + 32 ? sg_above : sg_below)))
    return sg_none;
  return t < sides + 32 ? cell - columns + lane : cell + columns + lane;
}

/* Which of the thread's rows and of those beside them have had cells that pick: bit 1 + k. */
__device__ __forceinline__ unsigned
sg_rows_that_pick (const SgChunk &chunk)
{
  unsigned mask = 0;

  if (!chunk.picks)
    return ~0u;
#pragma unroll
  for (int k = 0; k < sg_each + 2; k++)
    mask |= (unsigned) chunk.picks[sg_own_row (k)] << k;
  return mask;
}

/* The thread's cells in rows that pick or are beside one, and the one on the margin, of which
 * *margin is the place; sg_none: there is none. */
__device__ __forceinline__ void
sg_cells_asked_for (const SgWork &work, const SgChunk &chunk, unsigned picks, unsigned (&cell)[sg_each + 1],
    unsigned *margin)
{
  const unsigned lane = threadIdx.x % 32, asked = picks | picks << 1 | picks >> 1;

#pragma unroll
  for (int k = 0; k < sg_each; k++) {
    const unsigned row = sg_own_row (k) < chunk.n ? chunk.row[sg_own_row (k)] : 0;
    const bool inside = sg_own_row (k) < chunk.n && lane <= (row >> 24 & 31);

    cell[k] = inside && (asked >> (k + 1) & 1) ? sg_first_cell (row) + lane : sg_none;
  }
  cell[sg_each] = sg_margin_cell (work, chunk, margin);
}

/* What is known of one of the thread's cells to an array of the chunk. */
__device__ __forceinline__ void
sg_put (const SgChunk &chunk, unsigned *array, int k, unsigned margin, unsigned value)
{
  if (k < sg_each && sg_own_row (k) < chunk.n)
    array[(sg_own_row (k) + 1) * sg_chunk_wide + threadIdx.x % 32 + 1] = value;
  else if (k == sg_each && margin != sg_none)
    array[margin] = value;
}

/* The better one of a pick and that of region `other`. */
__device__ __forceinline__ unsigned long long
sg_better (unsigned long long best, unsigned own, unsigned mean, unsigned other, unsigned other_mean)
{
  const unsigned long long key = (unsigned long long) sg_distance (mean, other_mean) << 32 | other;

  return other != own && other != sg_none ? min (best, key) : best;
}

/* Before the first round a region without a seed is a cell, and those with one have left their
 * means. Is there any such cell? */
__device__ bool
sg_pick_first (const SgWork &work, const SgChunk &chunk)
{
  constexpr int n = sg_each + 1;
  unsigned cell[n], region[n], mean[n], margin;
  bool some = false;

  sg_cells_asked_for (work, chunk, ~0u, cell, &margin);
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
    sg_put (chunk, chunk.region, k, margin, region[k]);
    sg_put (chunk, chunk.mean, k, margin, mean[k]);
  }
  __syncthreads ();
#pragma unroll
  for (int k = 0; k < sg_each; k++) {
    const unsigned at = (sg_own_row (k) + 1) * sg_chunk_wide + threadIdx.x % 32 + 1;
    const bool free = !(region[k] & 1), any = __any_sync (~0u, free); /* sg_none has that bit */
    unsigned long long key = sg_never;

    if (free) {
      const unsigned row = chunk.row[sg_own_row (k)], r = region[k], m = mean[k];

      key = sg_better (key, r, m, chunk.region[at - 1], chunk.mean[at - 1]);
      key = sg_better (key, r, m, chunk.region[at + 1], chunk.mean[at + 1]);
      if (row & sg_above)
        key = sg_better (key, r, m, chunk.region[at - sg_chunk_wide], chunk.mean[at - sg_chunk_wide]);
      if (row & sg_below)
        key = sg_better (key, r, m, chunk.region[at + sg_chunk_wide], chunk.mean[at + sg_chunk_wide]);
    }
    if (cell[k] != sg_none && (any || !chunk.picks))
      work.best[0][cell[k]] = key; /* of a row with any: phase B takes those for free that pick */
    if (chunk.picks && sg_own_row (k) < chunk.n && threadIdx.x % 32 == 0)
      chunk.picks[sg_own_row (k) + 1] = any;
    some = some || any;
  }
  return __syncthreads_or (some);
}

/* The regions beside a cell, or its own where there is none, and its own. */
__device__ __forceinline__ void
sg_regions_about (const SgChunk &chunk, unsigned row, unsigned place, unsigned (&region)[5])
{
  const unsigned own = chunk.region[place];

  region[0] = chunk.region[place - 1];
  region[1] = chunk.region[place + 1];
  region[2] = row & sg_above ? chunk.region[place - sg_chunk_wide] : own;
  region[3] = row & sg_below ? chunk.region[place + sg_chunk_wide] : own;
  region[4] = own;
}

/* Lists the cells of regions without a seed that touch another one. */
__device__ __forceinline__ void
sg_list_borders (const SgChunk &chunk, unsigned picks, unsigned *length)
{
  unsigned borders = 0, at[sg_each];

#pragma unroll
  for (int k = 0; k < sg_each; k++) {
    const unsigned number = sg_own_row (k);
    bool border = false;
    unsigned region[5];

    at[k] = number * 32 + threadIdx.x % 32;
    if (number >= chunk.n || !(picks >> (k + 1) & 1))
      continue;
    sg_regions_about (chunk, chunk.row[number], (number + 1) * sg_chunk_wide + threadIdx.x % 32 + 1, region);
#pragma unroll
    for (int i = 0; i < 4; i++)
      border = border || (region[i] != region[4] && region[i] != sg_none);
    border = border && !(region[4] & 1);
    borders |= (unsigned) border << k;
    if (chunk.picks) {
      const bool some = __any_sync (~0u, border);

      if (threadIdx.x % 32 == 0)
        chunk.picks[number + 1] = some;
    }
  }
  sg_append_each<sg_each> (chunk.list, length, borders, at);
}

/* What has a border picks for its region. Is there any such cell? */
__device__ bool
sg_pick_next (const SgWork &work, const SgChunk &chunk, SgBlock *block, unsigned long long *best)
{
  constexpr int n = sg_each + 1;
  const unsigned picks = sg_rows_that_pick (chunk);
  unsigned cell[n], from[n], root[n], margin;

  if (threadIdx.x == 0)
    block->cells = 0;
  sg_cells_asked_for (work, chunk, picks, cell, &margin);
#pragma unroll
  for (int k = 0; k < n; k++)
    from[k] = cell[k] != sg_none ? cell[k] : 0;
  sg_find<n, true> (work.parent, from, root);
#pragma unroll
  for (int k = 0; k < n; k++)
    sg_put (chunk, chunk.region, k, margin, cell[k] != sg_none ? sg_pick_of (root[k]) : sg_none);
  __syncthreads ();
  sg_list_borders (chunk, picks, &block->cells);
  __syncthreads ();
  for (unsigned i = threadIdx.x; i < block->cells; i += sg_threads) {
    const unsigned at = chunk.list[i];
    unsigned region[5], mean[5];
    unsigned long long key = sg_never;
    SgRecord record[5];

    sg_regions_about (chunk, chunk.row[at / 32], (at / 32 + 1) * sg_chunk_wide + at % 32 + 1, region);
#pragma unroll
    for (int k = 0; k < 5; k++)
      record[k] = sg_load_record (work.record + (region[k] == sg_none ? region[4] >> 1 : region[k] >> 1));
#pragma unroll
    for (int k = 0; k < 5; k++)
      mean[k] = sg_mean (record[k]);
#pragma unroll
    for (int k = 0; k < 4; k++)
      key = sg_better (key, region[4], mean[4], region[k], mean[k]);
    if (key < __ldcg (best + (region[4] >> 1)))
      atomicMin (best + (region[4] >> 1), key);
  }
  const bool some = block->cells > 0;

  __syncthreads ();
  return some;
}

/* ---- phase B of the first round ----------------------------------------- */

/* Where a cell's pick leads; `best`: the lower half of it. */
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

/* Where the picks lead from r, whose own is `pick`; with sg_settled where that has a seed. */
__device__ __forceinline__ unsigned
sg_follow_picks (const unsigned long long *best, unsigned r, unsigned pick)
{
  for (;;) {
    const unsigned to = pick >> 1;

    if (pick & 1)
      return to | sg_settled;
    pick = (unsigned) best[to];
    if (pick == (unsigned) sg_never)
      return to;
    if (pick == r << 1)
      return min (r, to);
    r = to;
  }
}

/* One step of a walk along the links from *at, whose link is *to; false: it is at its end. What it meets
 * may be hung higher by others meanwhile: that ends at the same place. */
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

/* The last places that the links of the thread's cells lead to; sg_none for those with a seed. All
 * at once: a step waits for the one before. */
__device__ __forceinline__ void
sg_follow_links (const SgChunk &chunk, unsigned free, unsigned (&at)[sg_each])
{
  unsigned to[sg_each];
  bool again = free != 0;

#pragma unroll
  for (int k = 0; k < sg_each; k++) {
    at[k] = free >> k & 1 ? sg_own_row (k) * 32 + threadIdx.x % 32 : sg_none;
    to[k] = free >> k & 1 ? sg_peek (chunk.to + at[k]) : sg_none;
  }
  while (again) {
    again = false;
#pragma unroll
    for (int k = 0; k < sg_each; k++)
      again |= sg_step_link (chunk, at + k, to + k);
  }
#pragma unroll
  for (int k = 0; k < sg_each; k++)
    if ((free >> k & 1) && at[k] != sg_own_row (k) * 32 + threadIdx.x % 32)
      sg_poke (chunk.to + sg_own_row (k) * 32 + threadIdx.x % 32, at[k]);
}

/* The sums of the chunk's cells that have joined the one at a place, and of itself; p: its colour. */
__device__ __forceinline__ SgRecord
sg_joined_record (const SgChunk &chunk, unsigned at, unsigned p)
{
  const unsigned luma = chunk.luma[at];

  return SgRecord { (unsigned long long) ((luma >> 20) + 1) << 32 | ((luma & 0xfffff) + (p & 255)),
    (unsigned long long) (chunk.cb[at] + (p >> 8 & 255)) << 32 | (chunk.cr[at] + (p >> 16)) };
}

/* The links of the thread's cells; which of them have no seed. */
__device__ __forceinline__ unsigned
sg_link_cells (const SgWork &work, const SgChunk &chunk, const unsigned (&cell)[sg_each])
{
  unsigned free = 0, best[sg_each];

#pragma unroll
  for (int k = 0; k < sg_each; k++)
    best[k] = cell[k] != sg_none ? (unsigned) work.best[0][cell[k]] : (unsigned) sg_never;
#pragma unroll
  for (int k = 0; k < sg_each; k++) {
    const unsigned at = sg_own_row (k) * 32 + threadIdx.x % 32;

    if (best[k] == (unsigned) sg_never)
      continue;
    free |= 1u << k;
    chunk.to[at] = sg_link (chunk, (unsigned) work.columns, cell[k], at, best[k]);
    chunk.luma[at] = chunk.cb[at] = chunk.cr[at] = 0;
  }
  __syncthreads ();
  return free;
}

/* The place at which the cell's links end joins what it picks, or stays and is listed; what that
 * came to is its link then. All lanes call. */
__device__ __forceinline__ void
sg_join_end (const SgWork &work, const SgChunk &chunk, SgBlock *block, bool has, unsigned at, unsigned cell,
    unsigned *roots)
{
  const unsigned link = has ? chunk.to[at] : 0, p = has ? work.after.p[cell] : 0;
  unsigned end = cell;

  if (has && (link & sg_settled))
    end = link;
  else if (has && (link & sg_outside))
    end = sg_follow_picks (work.best[0], cell, (link & ~sg_outside) << 1);
  const bool stays = has && end == cell, joins = has && !stays;
  const SgRecord record = has ? sg_joined_record (chunk, at, p) : SgRecord { 0, 0 };

  sg_add_record (block->sums, work.record, joins, end & ~sg_settled, record);
  if (stays && chunk.luma[at]) {
    const SgRecord own = sg_record_of (p);

    atomicAdd (&work.record[cell].x, record.x - own.x);
    atomicAdd (&work.record[cell].y, record.y - own.y);
  }
  if (stays)
    work.best[1][cell] = sg_never;
  if (joins)
    work.parent[cell] = end;
  if (has)
    chunk.to[at] = end;
  if (__any_sync (~0u, joins) && (threadIdx.x & 31) == 0)
    sg_poke (&block->picks, 1);
  sg_append (roots, &block->roots, stays, cell);
}

/* Each cell without a seed joins where its picks lead, or stays. */
__device__ void
sg_join_chunk (const SgWork &work, const SgChunk &chunk, SgBlock *block, unsigned *roots)
{
  const unsigned lane = threadIdx.x % 32;
  unsigned cell[sg_each], end[sg_each], place[sg_each], free, ends = 0;
  bool joined = false;

  if (threadIdx.x == 0)
    block->cells = 0;
#pragma unroll
  for (int k = 0; k < sg_each; k++) {
    const bool any = sg_own_row (k) < chunk.n && (!chunk.picks || chunk.picks[sg_own_row (k) + 1]);
    const unsigned row = any ? chunk.row[sg_own_row (k)] : 0;

    cell[k] = any && lane <= (row >> 24 & 31) ? sg_first_cell (row) + lane : sg_none;
  }
  free = sg_link_cells (work, chunk, cell);
  sg_follow_links (chunk, free, end);
#pragma unroll
  for (int k = 0; k < sg_each; k++) {
    const unsigned at = sg_own_row (k) * 32 + lane, p = free >> k & 1 ? work.after.p[cell[k]] : 0;

    if (end[k] != sg_none && end[k] != at) {
      atomicAdd (chunk.luma + end[k], 1u << 20 | (p & 255));
      atomicAdd (chunk.cb + end[k], p >> 8 & 255);
      atomicAdd (chunk.cr + end[k], p >> 16);
      joined = true;
    }
    ends |= (unsigned) (end[k] == at) << k;
    place[k] = at;
  }
  sg_append_each<sg_each> (chunk.list, &block->cells, ends, place);
  if (__any_sync (~0u, joined) && lane == 0)
    sg_poke (&block->picks, 1);
  __syncthreads ();
  for (unsigned i = threadIdx.x; i - threadIdx.x % 32 < block->cells; i += sg_threads) {
    const bool has = i < block->cells;
    const unsigned at = has ? chunk.list[i] : 0;

    sg_join_end (work, chunk, block, has, at, sg_first_cell (chunk.row[at / 32]) + at % 32, roots);
  }
  __syncthreads ();
#pragma unroll
  for (int k = 0; k < sg_each; k++)
    if ((free >> k & 1) && end[k] != sg_own_row (k) * 32 + lane)
      work.parent[cell[k]] = chunk.to[end[k]];
  __syncthreads ();
}

} // namespace cf

#endif
