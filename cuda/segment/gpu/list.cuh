/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/gpu/list.cuh: device functions that the segmentation's kernels share: lists to which warps append, the
 * union-find forest of cells, and sums that a block collects.
 *
 * Race free: entries of a list are reserved by one atomicAdd per warp. Trees are joined by an atomic minimum over
 * their roots, so the root of a joined tree does not depend on the order of joins. A walk through a forest that other
 * threads change meanwhile reads past the first-level cache and ends at a node that was a root; the join then checks
 * by the result of its atomic whether that node still is one, and else goes on from there. Sums are integer atomics. */
#ifndef CF_SEGMENT_GPU_LIST_CUH
#define CF_SEGMENT_GPU_LIST_CUH

#include "internal.cuh"

namespace cf {

constexpr int sg_threads = 1024; /* threads of a block of the graph kernel */

/* Returns the sum over the lanes of `peers`. Each of them must call with the same mask. The next two return the
 * minimum and the maximum. */
__device__ __forceinline__ unsigned
sg_reduce (unsigned peers, unsigned v)
{
#if !defined (__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  return __reduce_add_sync (peers, v);
#else
  unsigned sum = 0;

  for (unsigned rest = peers; rest; rest &= rest - 1)
    sum += __shfl_sync (peers, v, __ffs (rest) - 1);
  return sum;
#endif
}

__device__ __forceinline__ unsigned
sg_reduce_min (unsigned peers, unsigned v)
{
#if !defined (__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  return __reduce_min_sync (peers, v);
#else
  unsigned least = ~0u;

  for (unsigned rest = peers; rest; rest &= rest - 1)
    least = min (least, __shfl_sync (peers, v, __ffs (rest) - 1));
  return least;
#endif
}

__device__ __forceinline__ unsigned
sg_reduce_max (unsigned peers, unsigned v)
{
#if !defined (__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  return __reduce_max_sync (peers, v);
#else
  unsigned most = 0;

  for (unsigned rest = peers; rest; rest &= rest - 1)
    most = max (most, __shfl_sync (peers, v, __ffs (rest) - 1));
  return most;
#endif
}

/* Reads a word that other threads change by atomics at the same time, past the first-level cache. What the caller
 * concludes must hold for the old and the new value. The race checker of compute-sanitizer cannot know that; therefore
 * these accesses are atomic in the build for it (CF_WATCHED). sg_poke is the same for a store. */
__device__ __forceinline__ unsigned
sg_peek (unsigned *p)
{
#ifdef CF_WATCHED
  return atomicOr (p, 0u);
#else
  return *(volatile unsigned *) p;
#endif
}

__device__ __forceinline__ void
sg_poke (unsigned *p, unsigned value)
{
#ifdef CF_WATCHED
  atomicExch (p, value);
#else
  *(volatile unsigned *) p = value;
#endif
}

/* Returns the first item of a thread where warps of all blocks take items in rotation, `warp` being the number of this
 * one; the next is grid.step () further. A single multiprocessor is slow at loading from scattered addresses, so every
 * list is spread over all. */
__device__ __forceinline__ unsigned
sg_spread (unsigned warp)
{
  return (warp * gridDim.x + blockIdx.x) * 32 + (threadIdx.x & 31);
}

__device__ __forceinline__ unsigned
sg_spread ()
{
  return sg_spread (threadIdx.x / 32);
}

/* Appends a value of each lane for which `has` is set. All lanes of the warp must call. The order in the list is
 * arbitrary, so nothing may depend on it. `length` may be shared memory. */
template<typename T> __device__ __forceinline__ void
sg_append (T *list, unsigned *length, bool has, T value)
{
  const unsigned mask = __ballot_sync (~0u, has), lane = threadIdx.x & 31;
  unsigned at = 0;

  if (!mask)
    return;
  if (lane == 0)
    at = atomicAdd (length, (unsigned) __popc (mask));
  at = __shfl_sync (~0u, at, 0) + (unsigned) __popc (mask & ((1u << lane) - 1));
  if (has)
    list[at] = value;
}

/* Appends up to N values a lane: bit k of `has` selects value[k]. All lanes of the warp must call. */
template<int N, typename T> __device__ __forceinline__ void
sg_append_each (T *list, unsigned *length, unsigned has, const unsigned (&value)[N])
{
  const unsigned lane = threadIdx.x & 31, below = (1u << lane) - 1;
  unsigned n = 0, at = 0, mask[N];

#pragma unroll
  for (int k = 0; k < N; k++) {
    mask[k] = __ballot_sync (~0u, has >> k & 1);
    n += (unsigned) __popc (mask[k]);
  }
  if (n == 0)
    return;
  if (lane == 0)
    at = atomicAdd (length, n);
  at = __shfl_sync (~0u, at, 0);
#pragma unroll
  for (int k = 0; k < N; k++) {
    if (has >> k & 1)
      list[at + (unsigned) __popc (mask[k] & below)] = (T) value[k];
    at += (unsigned) __popc (mask[k]);
  }
}

/* Reserves entries for up to N values a lane: bit k of `has` stands for value k. All lanes of the warp must call.
 * Returns where the warp's begin. `*positions`: those of the lane's behind that, 8 bits each. */
template<int N> __device__ __forceinline__ unsigned
sg_reserve_each (unsigned *length, unsigned has, unsigned *positions)
{
  const unsigned lane = threadIdx.x & 31;
  unsigned mine = 0, all = 0, at = 0;

  static_assert (N <= 4, "a position has 8 bits");
#pragma unroll
  for (int k = 0; k < N; k++) {
    const unsigned mask = __ballot_sync (~0u, has >> k & 1);

    mine |= (all + (unsigned) __popc (mask & ((1u << lane) - 1))) << 8 * k;
    all += (unsigned) __popc (mask);
  }
  if (lane == 0 && all)
    at = atomicAdd (length, all);
  *positions = mine;
  return __shfl_sync (~0u, at, 0);
}

/* ---- the forest --------------------------------------------------------- */

/* The parent of a cell is a cell nearer to its root. With this bit it is the root itself, which is a region with a
 * seed; a walk then ends without loading the root's own entry. */
constexpr unsigned sg_settled = 1u << 31;

/* Returns the root of cell c while other blocks join trees. Loads bypass the first-level cache. Each step halves the
 * path for the next walk. If another thread has attached a cell below another one meanwhile, that thread completes
 * the join of their trees. */
__device__ __forceinline__ unsigned
sg_find_halving (unsigned *parent, unsigned c)
{
  unsigned to = __ldcg (parent + c);

  while (to != c) {
    const unsigned next = __ldcg (parent + to);

    if (next != to)
      parent[c] = next;
    c = to;
    to = next;
  }
  return c;
}

/* Joins two trees. The smaller root stays. */
__device__ __forceinline__ void
sg_unite (unsigned *parent, unsigned a, unsigned b)
{
  for (;;) {
    a = sg_find_halving (parent, a);
    b = sg_find_halving (parent, b);
    if (a == b)
      return;
    const unsigned low = min (a, b), high = max (a, b), old = atomicMin (parent + high, low);

    if (old == high)
      return;
    a = old;
    b = low;
  }
}

/* While the components of tiles are joined, the root of a tree is the one whose number is smallest after sg_mix.
 * Otherwise the tiles of a row, which are all joined at once, would form a chain, and some thread would have to walk
 * it. Parents of this forest are stored mixed, so that atomicMin still joins. */
__device__ __forceinline__ unsigned
sg_mix (unsigned c)
{
  return c * 0x9e3779b1u;
}

__device__ __forceinline__ unsigned
sg_unmix (unsigned h)
{
  return h * 0xe8b2f51u; /* the inverse of the factor, modulo 2 to the 32 */
}

/* Makes one step of a walk: h is the mixed parent of c, `next` that of its parent. */
__device__ __forceinline__ void
sg_step_mixed (unsigned *mixed, unsigned *c, unsigned *h, unsigned next)
{
  if (*h == sg_mix (*c))
    return;
  if (next != *h)
    sg_poke (mixed + *c, next);
  *c = sg_unmix (*h);
  *h = next;
}

/* Finds the roots of both nodes. The two walks run at once, because each step waits for memory. */
__device__ __forceinline__ void
sg_find_mixed (unsigned *mixed, unsigned *a, unsigned *b)
{
  unsigned ha = sg_peek (mixed + *a), hb = sg_peek (mixed + *b);

  while (ha != sg_mix (*a) || hb != sg_mix (*b)) {
    const unsigned next_a = sg_peek (mixed + sg_unmix (ha)), next_b = sg_peek (mixed + sg_unmix (hb));

    sg_step_mixed (mixed, a, &ha, next_a);
    sg_step_mixed (mixed, b, &hb, next_b);
  }
}

/* Returns the root of node c without changing the path. It is for the phase in which each thread attaches its own
 * node to the root: a path halving that another thread had begun before could revert that. */
__device__ __forceinline__ unsigned
sg_root_mixed (unsigned *mixed, unsigned c)
{
  for (;;) {
    const unsigned to = sg_unmix (sg_peek (mixed + c));

    if (to == c)
      return c;
    c = to;
  }
}

__device__ __forceinline__ void
sg_unite_mixed (unsigned *mixed, unsigned a, unsigned b)
{
  for (;;) {
    sg_find_mixed (mixed, &a, &b);
    if (a == b)
      return;
    const unsigned ma = sg_mix (a), mb = sg_mix (b);
    const unsigned low = min (ma, mb), high = max (ma, mb), old = atomicMin (mixed + sg_unmix (high), low);

    if (old == high)
      return;
    a = sg_unmix (old);
    b = sg_unmix (low);
  }
}

/* Finds the roots of N cells. The walks run at once, because each step waits for memory. COMPRESS: attaches each
 * cell to its root; no thread may join trees meanwhile. */
template<int N, bool COMPRESS = false> __device__ __forceinline__ void
sg_find (unsigned *parent, const unsigned (&cell)[N], unsigned (&root)[N])
{
  unsigned at[N], far = 0;
  bool again = false;

#pragma unroll
  for (int k = 0; k < N; k++) {
    at[k] = cell[k];
    root[k] = parent[at[k]];
    again = again || (!(root[k] & sg_settled) && root[k] != at[k]);
  }
  while (again) {
    again = false;
#pragma unroll
    for (int k = 0; k < N; k++)
      if (!(root[k] & sg_settled) && root[k] != at[k]) {
        at[k] = root[k];
        root[k] = parent[at[k]];
        far |= (unsigned) (root[k] != at[k]) << k;
        again = again || (!(root[k] & sg_settled) && root[k] != at[k]);
      }
  }
#pragma unroll
  for (int k = 0; k < N; k++)
    if (COMPRESS && (far >> k & 1))
      parent[cell[k]] = root[k];
}

__device__ __forceinline__ unsigned
sg_find (unsigned *parent, unsigned cell)
{
  const unsigned cells[1] = { cell };
  unsigned roots[1];

  sg_find<1> (parent, cells, roots);
  return roots[0] & ~sg_settled;
}

/* ---- records ------------------------------------------------------------ */

__device__ __forceinline__ SgRecord
sg_load_record (const SgRecord *p)
{
  const ulonglong2 v = *(const ulonglong2 *) p;

  return SgRecord { v.x, v.y };
}

__device__ __forceinline__ SgRecord
sg_record_of (unsigned p)
{
  return SgRecord { 1ull << 32 | (p & 255), (unsigned long long) (p >> 8 & 255) << 32 | p >> 16 };
}

/* Sums that a block collects before it adds them to the records of regions. Many cells belong to a few large
 * regions, and atomic additions to one address wait for each other. It is a hash table; what finds no free slot goes
 * to the record directly. */
constexpr int sg_sums = 512;
struct SgSums {
  unsigned root[sg_sums], cells[sg_sums], luma[sg_sums], cb[sg_sums], cr[sg_sums];
};

/* What the threads of a block share. `sums` lies in the memory that counting pairs and the last rounds use, too. */
struct SgBlock {
  SgSums *sums;
  unsigned cells, roots, used; /* lengths of the block's lists */
  unsigned at; /* where the block's entries of a common list begin */
};

/* Appends up to N values a lane to a common list: bit k of `has` selects value[k]. All threads of the block must call,
 * and the block reserves its entries at once: requests of many warps for one address wait for each other. */
template<int N> __device__ __forceinline__ void
sg_append_block (unsigned *list, unsigned *length, SgBlock *block, unsigned has, const unsigned (&value)[N])
{
  unsigned positions;

  if (threadIdx.x == 0)
    block->cells = 0;
  __syncthreads ();
  const unsigned first = sg_reserve_each<N> (&block->cells, has, &positions);

  __syncthreads ();
  if (threadIdx.x == 0 && block->cells)
    block->at = atomicAdd (length, block->cells);
  __syncthreads ();
#pragma unroll
  for (int k = 0; k < N; k++)
    if (has >> k & 1)
      list[block->at + first + (positions >> 8 * k & 0xff)] = value[k];
}

__device__ __forceinline__ void
sg_clear_sums (SgSums *sums)
{
  for (unsigned i = threadIdx.x; i < sg_sums; i += blockDim.x) {
    sums->root[i] = sg_none;
    sums->cells[i] = sums->luma[i] = sums->cb[i] = sums->cr[i] = 0;
  }
}

__device__ __forceinline__ void
sg_add_sums (SgSums *sums, SgRecord *record, unsigned root, unsigned cells, unsigned luma, unsigned cb, unsigned cr)
{
  unsigned at = root * 2654435769u >> 23;

  for (int i = 0; i < 4; i++, at = (at + 1) % sg_sums) {
    unsigned there = sg_peek (sums->root + at);

    if (there == sg_none)
      there = atomicCAS (&sums->root[at], sg_none, root);
    if (there == sg_none || there == root) {
      atomicAdd (&sums->cells[at], cells);
      atomicAdd (&sums->luma[at], luma);
      atomicAdd (&sums->cb[at], cb);
      atomicAdd (&sums->cr[at], cr);
      return;
    }
  }
  atomicAdd (&record[root].x, (unsigned long long) cells << 32 | luma);
  atomicAdd (&record[root].y, (unsigned long long) cb << 32 | cr);
}

/* Returns the record of region r if it is joined, else one that adds nothing. */
__device__ __forceinline__ SgRecord
sg_record_if (const SgRecord *record, bool joined, unsigned r)
{
  return joined ? sg_load_record (record + r) : SgRecord { 0, 0 };
}

/* Adds records of regions to those of their new roots. All lanes of the warp must call. The lanes with the same root
 * as the first one are summed up before. The others are not grouped: a vote for all groups goes through them one by
 * one, and takes longer than the atomics. */
__device__ __forceinline__ void
sg_add_record (SgSums *sums, SgRecord *record, bool has, unsigned root, const SgRecord &r)
{
  const unsigned all = __ballot_sync (~0u, has), lane = threadIdx.x & 31;
  const unsigned first = all ? (unsigned) __ffs ((int) all) - 1 : 0;
  const unsigned root_0 = __shfl_sync (~0u, root, (int) first);
  const bool small = sg_cells (r) < 1u << 16;
  const unsigned peers = __ballot_sync (~0u, has && small && root == root_0);

  if (!has)
    return;
  if (!(peers >> lane & 1)) {
    sg_add_sums (sums, record, root, sg_cells (r), (unsigned) r.x, (unsigned) (r.y >> 32), (unsigned) r.y);
    return;
  }
  const unsigned n = sg_reduce (peers, sg_cells (r)), luma = sg_reduce (peers, (unsigned) r.x);
  const unsigned cb = sg_reduce (peers, (unsigned) (r.y >> 32)), cr = sg_reduce (peers, (unsigned) r.y);

  if (lane == (unsigned) __ffs ((int) peers) - 1)
    sg_add_sums (sums, record, root, n, luma, cb, cr);
}

/* Adds the collected sums to the records and clears them. All threads of the block must call. */
__device__ __forceinline__ void
sg_flush_sums (SgSums *sums, SgRecord *record)
{
  __syncthreads ();
  for (unsigned i = threadIdx.x; i < sg_sums; i += blockDim.x) {
    const unsigned root = sums->root[i];

    if (root == sg_none)
      continue;
    atomicAdd (&record[root].x, (unsigned long long) sums->cells[i] << 32 | sums->luma[i]);
    atomicAdd (&record[root].y, (unsigned long long) sums->cb[i] << 32 | sums->cr[i]);
    sums->root[i] = sg_none;
    sums->cells[i] = sums->luma[i] = sums->cb[i] = sums->cr[i] = 0;
  }
  __syncthreads ();
}

} // namespace cf

#endif
