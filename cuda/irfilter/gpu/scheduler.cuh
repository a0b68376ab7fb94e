/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/gpu/scheduler.cuh: the strip scheduler of the recursive filter: which block
 * works on which strip of columns, and when.
 *
 * The work is a set of STRIPS, each a sequence of CHUNKS of rows. Chunk c of a strip needs chunk c - 1 of the same
 * strip and, if there is a strip to its left, chunk c of that one. A block is not bound to a strip: it claims a free
 * strip whose next chunk can be computed, computes as many chunks as are certain to become ready, releases the strip
 * and claims another one, until no strip is left to claim.
 *
 * Each strip has one word: FREE or LOCKED, and a TARGET. All chunks below the target
 * are finished, or will be by the block that holds the strip. To claim a strip is to
 * change its word from (FREE, p) to (LOCKED, t) by compare-and-swap, where
 * p < t <= the left strip's target at that moment. The swap fails if another block was first, so it is the lock and
 * the second check for readiness in one. To release a strip is to change its word to (FREE, t).
 *
 * Invariants. (1) A target never decreases. (2) target (s) <= target (s - 1). (3) A
 * chunk below a FREE strip's target is finished, and its handover values are visible.
 *
 * No block waits forever. A block that holds strip s waits only for chunks of strip s - 1 below the target of s, which
 * by (2) are below the target of s - 1: they are finished, or strip s - 1 is LOCKED by a block that has started.
 * Follow the waits to the left: each ends at a block that has started; the last one ends at a strip that has no left
 * neighbour or a FREE one, and so waits for nothing. Started blocks are never suspended forever, so all blocks from
 * there to the right go on. No step of this argument asks which blocks are resident or in which order they were
 * launched: a single block alone completes all strips.
 *
 * Every chunk is computed. Take the leftmost strip whose target is not its end. If it is LOCKED, it will be released
 * (above) with a greater target. If it is FREE, its left neighbour's target is the end, so it can be claimed; and
 * blocks leave only when every strip's target is its end. Each claim increases a target, so that moment comes.
 *
 * The scheduler does not transport what a chunk hands over to the right neighbour. The filter does (edge.cuh): words
 * that carry their own validity need no fence and no flag.
 *
 * Source: A. Nikonorov, S. Popov, V. Fursov, "two-dimensional recursive filtering in GPU systems by non-rigid
 * following": columns, locks, progress words, and the argument above. Differences: there a block takes one sample a
 * claim; here a claim covers as many chunks as possible, mostly the whole strip, whose left neighbour has already been
 * claimed to its end. There a row's progress is read once, before the lock is taken. */
#ifndef CF_IRFILTER_GPU_SCHEDULER_CUH
#define CF_IRFILTER_GPU_SCHEDULER_CUH

#include <cuda_runtime.h>

namespace cf {

struct IrScheduler {
  unsigned *word; /* [n] of the strips; word[n] counts the strips whose target is their end. All 0 before a launch */
  int n;          /* strips, including those with no chunks */
  int strips;     /* strips that have chunks */
  int max_chunks; /* of one claim */
};

constexpr unsigned ir_locked = 1u << 31;
constexpr unsigned ir_complete = ir_locked - 1; /* the target of a strip of which no chunk is left to claim */

struct IrClaim {
  int strip;        /* -1: no strip is left to claim */
  int from, to;     /* chunks from .. to - 1 */
  unsigned release; /* the strip's word once these chunks are finished */
};

struct IrStrip {
  int chunks;    /* 0: there is no such strip */
  bool has_left; /* a strip to its left, in the quadrant's direction */
};

__device__ __forceinline__ unsigned
ir_load_word (const unsigned *word)
{
  return *(const volatile unsigned *) word;
}

/* Returns whether strip s can be claimed; fills `claim` where it is free. */
template<class Strips> __device__ __forceinline__ bool
ir_can_claim (const IrScheduler &f, const Strips &strips, int s, IrClaim *claim)
{
  const unsigned mine = ir_load_word (&f.word[s]), left = s > 0 ? ir_load_word (&f.word[s - 1]) : 0;

  if (mine >= ir_complete) /* locked, or complete */
    return false;
  const IrStrip strip = strips (s);
  const unsigned end = (unsigned) strip.chunks;
  const unsigned limit = (unsigned) f.max_chunks < end ? mine + (unsigned) f.max_chunks : end;
  const unsigned to = min (min (limit, end), strip.has_left ? left & ir_complete : end);

  claim->strip = s;
  claim->from = (int) mine;
  claim->to = (int) to;
  claim->release = to == end ? ir_complete : to;
  return to > mine;
}

/* Claims a strip, searching from strip `hint` to the left, where work is ready first, and then on from the last strip.
 * Call it with a whole warp; all lanes return the same claim. Returns strip -1 when every strip's target is its end. */
template<class Strips> __device__ __forceinline__ IrClaim
ir_claim_strip (const IrScheduler &f, const Strips &strips, int hint)
{
  const int lane = (int) (threadIdx.x & 31), groups = (f.n + 31) / 32;

  for (int i = 0;; i++) {
    /* odd rounds look at the groups of 32 strips one after another, even rounds at the hint's group again */
    const int back = (i & 1 ? (i >> 1) % groups : 0) * 32 + lane, s = hint - back + (back > hint ? f.n : 0);
    const unsigned closed = ir_load_word (&f.word[f.n]);
    IrClaim claim = { -1, 0, 0, 0 };
    const bool may = back < f.n && ir_can_claim (f, strips, s, &claim);
    const unsigned all = __ballot_sync (~0u, may);
    const int first = __ffs ((int) all) - 1;
    int claimed = 0;

    if (lane == first) {
      claimed = atomicCAS (&f.word[s], (unsigned) claim.from, ir_locked | claim.release) == (unsigned) claim.from;
      if (claimed && claim.release == ir_complete)
        atomicAdd (&f.word[f.n], 1);
      if (claim.from > 0)
        __threadfence (); /* makes the writes of the strip's last owner visible to the reads that follow */
    }
    if (all && __shfl_sync (~0u, claimed, first)) {
      claim.strip = __shfl_sync (~0u, claim.strip, first);
      claim.from = __shfl_sync (~0u, claim.from, first);
      claim.to = __shfl_sync (~0u, claim.to, first);
      claim.release = __shfl_sync (~0u, claim.release, first);
      return claim;
    }
    if (__shfl_sync (~0u, closed, 0) == (unsigned) f.strips)
      return IrClaim { -1, 0, 0, 0 };
  }
}

/* Releases the strip. One thread calls it, after a barrier of the whole block. */
__device__ __forceinline__ void
ir_release_strip (const IrScheduler &f, const IrClaim &claim)
{
  __threadfence ();
  atomicExch (&f.word[claim.strip], claim.release);
}

} // namespace cf

#endif
