/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment_alone.cuh: steps 8 and 9 of the segmentation in one block's shared memory, whose
 * barrier takes a tenth of all blocks'.
 *
 * All blocks bring regions and edges into the order in which the one loads them, and tell
 * edges apart that have become the same. From the second round on only those edges count
 * that end at a region which the round before has changed: of two regions that have not, it is
 * known that they are not alike, and a small region that has any edge always picks. So the last
 * rounds, in which little happens, cost little more than a look at each edge. */
#ifndef SEGMENT_ALONE_CUH
#define SEGMENT_ALONE_CUH

#include "segment_grow.cuh"

namespace cf {

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

/* The first of a thread's items where warps of all blocks take them in turns: a multiprocessor
 * by itself is slow at fetching what lies anywhere. The next is grid.step () further. */
__device__ __forceinline__ unsigned
sg_spread ()
{
  return (threadIdx.x / 32 * gridDim.x + blockIdx.x) * 32 + (threadIdx.x & 31);
}

/* ---- what the block loads ----------------------------------------------- */

/* Regions are numbered in the order of their roots, so that a partner's distance and number
 * are one word, whose least is found by an atomic minimum of 32 bits: that is an
 * instruction in shared memory, one of 64 bits is a loop. */
struct SgLocal {
  unsigned *mean;                   /* colour and bits */
  unsigned *link;                   /* number of the region it has joined, or its own; << 16 the round of that,
                                     * or in which others have joined it */
  unsigned *best;                   /* distance << sg_local_bits | number; sg_none: there is none */
  unsigned *cells, *luma, *cb, *cr; /* cells with sg_old_bit where it carries old regions on */
  unsigned *table;                  /* edges seen in this round */
  unsigned *edge, *spare;           /* two numbers of 16 bits, 0: it is gone; room for as many */
};
constexpr unsigned sg_old_bit = 1u << 30;
constexpr unsigned sg_color_bits = 0xffffff, sg_old_mean = 1u << 24, sg_small_mean = 1u << 25;
constexpr unsigned sg_local_bits = 13, sg_local_most = 1u << sg_local_bits; /* a distance has 18 bits */
constexpr unsigned sg_seen_bits = 12, sg_seen = 1u << sg_seen_bits;
constexpr unsigned sg_many = 128; /* who join in a round after which all edges are looked at closely */

/* Bytes besides the edges. */
__host__ __device__ inline size_t
sg_local_size (unsigned regions)
{
  return sizeof (unsigned) * (sg_seen + 7 * (size_t) ((regions + 7) / 8 * 8));
}

/* A graph that could be drawn has less than three edges a region. Where this one has more (seeds that
 * touch by corners may cross), they stay in the frame's memory. */
__host__ __device__ inline bool
sg_fits_local (unsigned regions, unsigned edges, size_t size)
{
  return regions <= sg_local_most
      && sg_local_size (regions) + 2 * sizeof (unsigned) * (size_t) min (edges, 3 * regions) <= size;
}

/* What is free of the frame's memory in the last rounds: regions in their order, their means,
 * edges and as much room again. */
struct SgGathered {
  uint4 *region; /* cells, with sg_old_bit, and sums */
  unsigned *mean, *edge, *spare;
};

__device__ __forceinline__ SgGathered
sg_gathered (const SgWork &work, const SgMerge &m)
{
  SgGathered g;

  g.region = (uint4 *) work.edge[~m.turn & 1]; /* room for one a cell */
  g.mean = work.joined;
  g.edge = work.slot_list;
  g.spare = (unsigned *) work.edge[m.turn & 1];
  return g;
}

__device__ SgLocal
sg_lay_out (unsigned char *memory, size_t size, const SgGathered &g, unsigned regions, unsigned edges)
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
  l.table = l.cr + n;
  l.edge = l.table + sg_seen;
  l.spare = l.edge + edges;
  if (sg_local_size (regions) + 2 * sizeof (unsigned) * (size_t) edges > size) {
    l.edge = g.edge;
    l.spare = g.spare;
  }
  return l;
}

/* How many of `roots` are smaller than each of two; for a warp. */
__device__ __forceinline__ uint2
sg_count_smaller (const unsigned *roots, unsigned n, unsigned a, unsigned b)
{
  const uint4 *fours = (const uint4 *) roots;
  const unsigned lane = threadIdx.x & 31;
  uint2 smaller = { 0, 0 };

  for (unsigned j = lane; j < n / 4; j += 32) {
    const uint4 r = fours[j];

    smaller.x += (r.x < a) + (r.y < a) + (r.z < a) + (r.w < a);
    smaller.y += (r.x < b) + (r.y < b) + (r.z < b) + (r.w < b);
  }
  if (n / 4 * 4 + lane < n) {
    smaller.x += roots[n / 4 * 4 + lane] < a;
    smaller.y += roots[n / 4 * 4 + lane] < b;
  }
  return make_uint2 (sg_reduce (~0u, smaller.x), sg_reduce (~0u, smaller.y));
}

/* All blocks, before one goes on alone: each region's place among the roots, a warp two
 * regions. `smallest` is free by now: it gets the root of each place. */
__device__ void
sg_rank (const SgWork &work, const SgGrid &grid, const SgMerge &m)
{
  const unsigned *roots = work.root_list[~m.turn & 1];
  const unsigned warps = grid.step () / 32;

  for (unsigned i = sg_spread () / 32; i < m.roots; i += 2 * warps) {
    const unsigned a = roots[i], b = i + warps < m.roots ? roots[i + warps] : 0;
    const uint2 smaller = sg_count_smaller (roots, m.roots, a, b);

    if ((threadIdx.x & 31) == 0) {
      work.count[a] = smaller.x;
      work.smallest[smaller.x] = a;
    }
    if ((threadIdx.x & 31) == 0 && i + warps < m.roots) {
      work.count[b] = smaller.y;
      work.smallest[smaller.y] = b;
    }
  }
}

/* Edges are told apart in a table of 2 to the power of this, which is free after the weak borders. */
__device__ __forceinline__ int
sg_table_bits (const SgWork &work, const SgMerge &m)
{
  return min (32 - __clz ((int) (2 * m.edges)), 31 - __clz ((int) work.slots));
}

/* Is it the first such edge? The table's words are 0 where they are free; no edge is. */
__device__ bool
sg_is_first (unsigned *table, int bits, unsigned edge)
{
  unsigned at = edge * 2654435769u >> (32 - bits), old;

  while ((old = atomicCAS (table + at, 0u, edge)) != 0 && old != edge)
    at = (at + 1) & ((1u << bits) - 1);
  return old == 0;
}

/* All blocks: what the one that goes on alone will load, in the order in which it does. */
__device__ void
sg_gather (const SgWork &work, const SgGrid &grid, const SgMerge &m, unsigned *edges)
{
  const unsigned long long *list = work.edge[m.turn & 1];
  const SgGathered to = sg_gathered (work, m);
  const int bits = sg_table_bits (work, m);

  for (unsigned i = sg_spread (); i < m.roots; i += grid.step ()) {
    const SgRecord record = sg_load_record (work.record + work.smallest[i]);
    const bool old = (record.x & sg_old) != 0;

    to.region[i] = make_uint4 (sg_cells (record) | (old ? sg_old_bit : 0), (unsigned) record.x,
        (unsigned) (record.y >> 32), (unsigned) record.y);
    to.mean[i] = sg_mean (record) | (old ? sg_old_mean : 0);
  }
  for (unsigned i = sg_spread (); i - (threadIdx.x & 31) < m.edges; i += grid.step ()) {
    unsigned edge = 0;

    if (i < m.edges) {
      const unsigned cell[2] = { (unsigned) (list[i] >> 32), (unsigned) list[i] };
      unsigned root[2];

      sg_find<2> (work.parent, cell, root);
      const unsigned a = work.count[root[0] & ~sg_settled], b = work.count[root[1] & ~sg_settled];

      edge = a != b ? min (a, b) | max (a, b) << 16 : 0;
    }
    sg_append (to.edge, edges, edge && sg_is_first (work.weak_count, bits, edge), edge);
  }
}

__device__ void
sg_clear_table (const SgWork &work, const SgGrid &grid, const SgMerge &m)
{
  for (unsigned i = grid.first (); i < 1u << sg_table_bits (work, m); i += grid.step ())
    work.weak_count[i] = 0;
}

/* Regions and edges to shared memory. */
__device__ void
sg_load_local (const SgLocal &l, const SgGathered &from, const SgMerge &m, unsigned edges)
{
#pragma unroll 2
  for (unsigned i = threadIdx.x; i < m.roots; i += sg_threads) {
    const uint4 region = from.region[i];

    l.mean[i] = from.mean[i] | ((region.x & ~sg_old_bit) < m.min_cells ? sg_small_mean : 0);
    l.link[i] = i;
    l.best[i] = sg_none;
    l.cells[i] = region.x;
    l.luma[i] = region.y;
    l.cb[i] = region.z;
    l.cr[i] = region.w;
  }
  if (l.edge == from.edge)
    return;
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < edges; i += sg_threads)
    l.edge[i] = from.edge[i];
}

/* ---- rounds ------------------------------------------------------------- */

/* A round's number, by which it is known what the one before has changed. */
struct SgRound {
  unsigned number;
  bool stage; /* a stage's first: nothing has changed, but what has to pick has */
  bool close; /* all edges are looked at closely, not those alone that count */
};

/* The number of the region that it has joined, or its own. */
__device__ __forceinline__ unsigned
sg_local_parent (const SgLocal &l, unsigned i)
{
  return l.link[i] & 0xffff;
}

__device__ __forceinline__ bool
sg_local_changed (const SgLocal &l, SgRound round, unsigned i)
{
  return l.link[i] >> 16 == round.number - 1;
}

/* What the round before has changed; only its regions have picked. */
__device__ void
sg_local_renew (const SgLocal &l, const SgMerge &m, SgRound round)
{
  for (unsigned i = threadIdx.x; i < m.roots; i += sg_threads) {
    if (!sg_local_changed (l, round, i))
      continue;
    l.best[i] = sg_none;
    if (sg_local_parent (l, i) != i)
      continue;
    const unsigned cells = l.cells[i], n = cells & ~sg_old_bit;

    l.mean[i] = sg_divide (l.luma[i], n) | sg_divide (l.cb[i], n) << 8 | sg_divide (l.cr[i], n) << 16
        | (cells & sg_old_bit ? sg_old_mean : 0) | (n < m.min_cells ? sg_small_mean : 0);
  }
  if (!round.stage)
    for (unsigned i = threadIdx.x; i < sg_seen / 4; i += sg_threads)
      ((uint4 *) l.table)[i] = make_uint4 (0, 0, 0, 0);
}

/* The places of the edges that count. */
__device__ void
sg_local_scan (const SgLocal &l, SgBlock *block, SgRound round, unsigned n)
{
  for (unsigned base = threadIdx.x & ~31u; base < n; base += sg_threads) {
    const unsigned i = base + (threadIdx.x & 31), edge = i < n ? l.edge[i] : 0, a = edge & 0xffff, b = edge >> 16;
    const bool counts = edge && (round.stage ? ((l.mean[a] | l.mean[b]) & sg_small_mean) != 0
        : sg_local_changed (l, round, a) || sg_local_changed (l, round, b));

    sg_append (l.spare, &block->cells, counts, i);
  }
}

__device__ __forceinline__ void
sg_local_offer (const SgLocal &l, unsigned to, unsigned distance, unsigned partner)
{
  const unsigned key = distance << sg_local_bits | partner;

  if (key < sg_peek (l.best + to))
    atomicMin (l.best + to, key);
}

/* Has another edge become the same? The table need not catch all of them. */
__device__ __forceinline__ bool
sg_local_seen (const SgLocal &l, unsigned edge)
{
  const unsigned at = edge * 2654435769u >> (32 - sg_seen_bits);
  const unsigned first = atomicCAS (l.table + at, 0u, edge);

  return first == edge || (first != 0 && atomicCAS (l.table + (at ^ 1), 0u, edge) == edge);
}

/* An edge's offers to its ends; what becomes of it, 0: it goes. Its ends are roots or right below one. */
__device__ __forceinline__ unsigned
sg_local_pick (const SgWork &work, const SgLocal &l, const SgMerge &m, SgRound round, unsigned edge)
{
  const unsigned a = sg_local_parent (l, edge & 0xffff), b = sg_local_parent (l, edge >> 16);
  const unsigned ma = l.mean[a], mb = l.mean[b], ca = ma & sg_color_bits, cb = mb & sg_color_bits;
  const unsigned distance = sg_distance (ca, cb);

  edge = min (a, b) | max (a, b) << 16;
  if (a == b || (!round.stage && sg_local_seen (l, edge)))
    return 0;
  const bool alike = m.min_cells == 0 && sg_near (ca, cb, work.merge[(ma & mb & sg_old_mean) != 0]);

  if (alike || (ma & sg_small_mean))
    sg_local_offer (l, a, distance, b);
  if (alike || (mb & sg_small_mean))
    sg_local_offer (l, b, distance, a);
  return edge;
}

/* All edges, of which those that are left go to the other list. */
__device__ void
sg_local_pick_all (const SgWork &work, const SgLocal &l, SgBlock *block, const SgMerge &m, SgRound round, unsigned n)
{
  for (unsigned base = threadIdx.x & ~31u; base < n; base += sg_threads) {
    const unsigned i = base + (threadIdx.x & 31);
    unsigned edge = i < n ? l.edge[i] : 0;

    if (edge && (round.stage || sg_local_changed (l, round, edge & 0xffff) || sg_local_changed (l, round, edge >> 16)))
      edge = sg_local_pick (work, l, m, round, edge);
    sg_append (l.spare, &block->used, edge != 0, edge);
  }
}

/* Where the picks lead from r, whose own is `to`. */
__device__ __forceinline__ unsigned
sg_local_end (const SgLocal &l, unsigned r, unsigned to)
{
  for (;;) {
    const unsigned pick = l.best[to], next = pick % sg_local_most;

    if (pick == sg_none)
      return to;
    if (next == r)
      return min (r, to);
    r = to;
    to = next;
  }
}

/* How many threads' regions have joined others. */
__device__ unsigned
sg_local_join (const SgLocal &l, const SgMerge &m, SgRound round)
{
  bool joined = false;

  for (unsigned i = threadIdx.x; i < m.roots; i += sg_threads) {
    const unsigned pick = l.best[i], to = pick != sg_none ? sg_local_end (l, i, pick % sg_local_most) : i;

    if (to == i)
      continue;
    joined = true;
    l.link[i] = to | round.number << 16;
    sg_poke (l.link + to, to | round.number << 16);
    atomicAdd (&l.cells[to], l.cells[i] & ~sg_old_bit);
    atomicAdd (&l.luma[to], l.luma[i]);
    atomicAdd (&l.cb[to], l.cb[i]);
    atomicAdd (&l.cr[to], l.cr[i]);
    if (l.cells[i] & sg_old_bit)
      atomicOr (&l.cells[to], sg_old_bit);
  }
  return (unsigned) __syncthreads_count (joined);
}

/* After a round in which none has picked; false: that was the last. */
__device__ bool
sg_local_next_stage (const SgWork &work, const SgLocal &l, SgMerge m, unsigned *min_cells)
{
  const unsigned listed = m.roots;

  m.roots = 0;
  for (unsigned base = 0; base < listed; base += sg_threads)
    m.roots += (unsigned) __syncthreads_count (base + threadIdx.x < listed
        && sg_local_parent (l, base + threadIdx.x) == base + threadIdx.x);
  if (!sg_next_stage (work, &m))
    return false;
  *min_cells = m.min_cells;
  for (unsigned i = threadIdx.x; i < listed; i += sg_threads)
    l.mean[i] = (l.mean[i] & ~sg_small_mean) | ((l.cells[i] & ~sg_old_bit) < m.min_cells ? sg_small_mean : 0);
  __syncthreads ();
  return true;
}

/* A round; how many threads' regions have joined others. `n`: the edges, of which fewer may be left. */
__device__ unsigned
sg_local_round (const SgWork &work, SgLocal *l, SgBlock *block, const SgMerge &m, SgRound round, unsigned *n)
{
  if (threadIdx.x == 0)
    block->used = 0;
  sg_local_renew (*l, m, round);
  if (!round.close)
    sg_local_scan (*l, block, round, *n);
  __syncthreads ();
  if (round.close) {
    sg_local_pick_all (work, *l, block, m, round, *n);
  } else {
    for (unsigned i = threadIdx.x; i < block->cells; i += sg_threads)
      l->edge[l->spare[i]] = sg_local_pick (work, *l, m, round, l->edge[l->spare[i]]);
  }
  __syncthreads ();
  if (threadIdx.x == 0)
    block->cells = 0;
  if (round.close) {
    unsigned *left = l->spare;

    *n = block->used;
    l->spare = l->edge;
    l->edge = left;
  }
  return sg_local_join (*l, m, round);
}

/* ---- the end ------------------------------------------------------------ */

/* What is told of a region that is left, in the order of the indices. */
__device__ __forceinline__ uint4
sg_told (unsigned root, unsigned mean, unsigned new_before)
{
  return make_uint4 (root, mean & sg_color_bits, (mean & sg_old_mean) != 0, new_before);
}

/* Indices to `best`; how many regions are left. */
__device__ unsigned
sg_local_indices (const SgWork &work, const SgLocal &l, const SgGathered &to, const SgMerge &m)
{
  const unsigned lane = threadIdx.x & 31, lower = (1u << lane) - 1;
  unsigned before = 0; /* regions, << 16 new ones */

  for (unsigned base = 0; base < m.roots; base += sg_threads) {
    const unsigned i = base + threadIdx.x;
    const bool stays = i < m.roots && sg_local_parent (l, i) == i;
    const unsigned mean = stays ? l.mean[i] : sg_old_mean;
    const unsigned mask = __ballot_sync (~0u, stays), fresh = __ballot_sync (~0u, !(mean & sg_old_mean));

    __syncthreads ();
    if (lane == 0)
      l.table[threadIdx.x / 32] = (unsigned) (__popc (mask) | __popc (fresh) << 16);
    __syncthreads ();
    const unsigned of_warp = l.table[lane], all = sg_reduce (~0u, of_warp);
    const unsigned at = before + sg_reduce (~0u, lane < threadIdx.x / 32 ? of_warp : 0)
        + (unsigned) (__popc (mask & lower) | __popc (fresh & lower) << 16);

    if (stays) {
      l.best[i] = at & 0xffff;
      to.region[at & 0xffff] = sg_told (work.smallest[i], mean, at >> 16);
    }
    before += all;
  }
  __syncthreads ();
  return before & 0xffff;
}

/* Back to where the others look for it: each region's index, to `count`. */
__device__ void
sg_store_local (const SgWork &work, const SgLocal &l, const SgGathered &from, const SgMerge &m)
{
  for (unsigned i = threadIdx.x; i < m.roots; i += sg_threads) {
    const unsigned r = work.smallest[i];
    unsigned end = i;

    while (sg_local_parent (l, end) != end)
      end = sg_local_parent (l, end);
    work.count[r] = l.best[end];
    if (work.follow && end != i && (from.mean[i] & sg_old_mean))
      atomicMax (work.claim + work.smallest[end], work.claim[r]);
  }
}

/* The block that goes on alone. What is told of the regions left is in sg_gathered ().region. */
__device__ void
sg_merge_alone (const SgWork &work, SgBlock *block, unsigned char *memory, size_t size, SgMerge m, unsigned edges)
{
  const SgGathered gathered = sg_gathered (work, m);
  SgLocal l = sg_lay_out (memory, size, gathered, m.roots, edges);

  if (threadIdx.x == 0)
    block->cells = 0;
  sg_load_local (l, gathered, m, edges);
  __syncthreads ();
  for (SgRound round = { 2, true, true };; round.number++) {
    const unsigned joined = sg_local_round (work, &l, block, m, round, &edges);

    round.stage = joined == 0;
    round.close = joined >= sg_many;
    if (joined == 0 && !sg_local_next_stage (work, l, m, &m.min_cells))
      break;
  }
  const unsigned left = sg_local_indices (work, l, gathered, m);

  sg_store_local (work, l, gathered, m);
  if (threadIdx.x == 0)
    work.control->regions = left;
}

} // namespace cf

#endif
