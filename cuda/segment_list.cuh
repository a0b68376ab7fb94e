/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment_list.cuh: what the segmentation's kernels share on the device: lists
 * that a block appends to, and the forest of cells. */
#ifndef SEGMENT_LIST_CUH
#define SEGMENT_LIST_CUH

#include "segment_cuda.h"

namespace cf {

/* Memory that other blocks write in the same launch is read past the first-level cache. */
template<typename T> __device__ __forceinline__ T
sg_load (const T *p)
{
  return __ldcg (p);
}

__device__ __forceinline__ SgRecord
sg_load_record (const SgRecord *p)
{
  const ulonglong2 v = __ldcg ((const ulonglong2 *) p);

  return SgRecord { v.x, v.y };
}

/* The sum over the lanes of `peers`, each of which calls with the same mask. */
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

/* A block's threads each append a value or none; all of them call it. The order
 * in a list is that of chance, so nothing may depend on it. */
struct SgAppender {
  unsigned count, base;
};

template<typename T> __device__ __forceinline__ void
sg_append (SgAppender *shared, T *list, unsigned *length, bool has, T value)
{
  const unsigned mask = __ballot_sync (~0u, has), lane = threadIdx.x & 31;
  unsigned at = 0;

  if (threadIdx.x == 0)
    shared->count = 0;
  __syncthreads ();
  if (lane == 0 && mask)
    at = atomicAdd (&shared->count, (unsigned) __popc (mask));
  at = __shfl_sync (~0u, at, 0) + (unsigned) __popc (mask & ((1u << lane) - 1));
  __syncthreads ();
  if (threadIdx.x == 0 && shared->count)
    shared->base = atomicAdd (length, shared->count);
  __syncthreads ();
  if (has)
    list[shared->base + at] = value;
}

/* The root of a cell's tree: parents have smaller numbers or are roots that never
 * change into another tree's inside, so the walk ends. */
__device__ __forceinline__ unsigned
sg_find (const unsigned *parent, unsigned c)
{
  unsigned to = sg_load (parent + c);

  while (to != c) {
    c = to;
    to = sg_load (parent + c);
  }
  return c;
}

/* Joins two trees; the smaller root stays. */
__device__ __forceinline__ void
sg_unite (unsigned *parent, unsigned a, unsigned b)
{
  for (;;) {
    a = sg_find (parent, a);
    b = sg_find (parent, b);
    if (a == b)
      return;
    const unsigned low = min (a, b), high = max (a, b), old = atomicMin (parent + high, low);

    if (old == high)
      return;
    a = old;
    b = low;
  }
}

/* Adds a joined region's sums to its new root's, for all that the warp's lanes
 * with the same root hold at once: neighbours mostly have the same. All lanes call. */
__device__ __forceinline__ void
sg_add_record (SgRecord *record, bool has, unsigned root, const SgRecord &r)
{
  const unsigned cells = sg_cells (r), peers = __match_any_sync (~0u, has ? root : sg_none);
  const bool small = cells < 1u << 16;
  const bool all_small = (__ballot_sync (~0u, small || !has) & peers) == peers;

  if (!has)
    return;
  if (!all_small) {
    atomicAdd (&record[root].x, r.x & ~sg_flags);
    atomicAdd (&record[root].y, r.y);
    return;
  }
  const unsigned n = sg_reduce (peers, cells), luma = sg_reduce (peers, (unsigned) r.x);
  const unsigned cb = sg_reduce (peers, (unsigned) (r.y >> 32)), cr = sg_reduce (peers, (unsigned) r.y);

  if ((threadIdx.x & 31) == (unsigned) __ffs (peers) - 1) {
    atomicAdd (&record[root].x, (unsigned long long) n << 32 | luma);
    atomicAdd (&record[root].y, (unsigned long long) cb << 32 | cr);
  }
}

} // namespace cf

#endif
