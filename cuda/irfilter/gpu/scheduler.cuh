/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * irfilter/gpu/scheduler.cuh: the scheduler of recursive filters on the GPU: columns handed out
 * by non-rigid following.
 *
 * The work is rows of STRIPS, each a sequence of CHUNKS. Chunk c of a strip needs
 * chunk c - 1 of its own strip and chunk c of the strip to its left, if it has
 * one. A block is not bound to a strip: it claims one that is free and may go on,
 * works on it for as many chunks as are sure to come, gives it back, and looks
 * for another, until nothing is left to claim.
 *
 * A strip has one word: FREE or LOCKED, and its TARGET: all its chunks below that
 * are made, or will be by the block that holds it. To claim is to turn (FREE, p)
 * into (LOCKED, t) by compare-and-swap, p < t <= the target of the left strip at
 * that moment: the swap fails where another block was first, so it is the lock
 * and the second look in one. To release is to turn it into (FREE, t).
 *
 * Invariant. (1) A target never shrinks. (2) target (s) <= target (s - 1). (3) A
 * chunk below a FREE strip's target is made, and what it hands over can be seen.
 *
 * No block waits for ever. A block that holds strip s waits only for chunks of
 * strip s - 1 below s's target, by (2) below s - 1's: they are made, or strip
 * s - 1 is LOCKED by a block that has started. Follow the waits leftwards: each
 * ends at a block that has started, the last one at a strip without a left
 * neighbour or with a FREE one, which waits for nobody. Started blocks are never
 * stopped for good, so, from there to the right, all go on. No step of this asks
 * which blocks are resident or in which order they were launched: one block alone
 * makes everything.
 *
 * Every chunk is made. Take the leftmost strip whose target is not its end. If it
 * is LOCKED it will be released (above) with a greater target. If it is FREE, its
 * left neighbour's target is the end, so it may be claimed; and blocks leave only
 * once every strip's target is its end. Targets grow with each claim, so that
 * moment comes.
 *
 * How a chunk reaches the right neighbour is the filter's matter (words that
 * carry their own epoch need no fence and no flag, and cost half as much).
 *
 * From A. Nikonorov, S. Popov, V. Fursov, "two-dimensional recursive filtering in
 * GPU systems by non-rigid following" (columns, locks, progress, the argument).
 * There a block takes one sample a claim; here a claim costs about 1 us, so it is
 * good for as much as can be had: mostly the whole strip, whose left neighbour
 * has promised its own. There the row is read once, before the lock. */
#ifndef CF_IRFILTER_GPU_SCHEDULER_CUH
#define CF_IRFILTER_GPU_SCHEDULER_CUH

#include <cuda_runtime.h>

namespace cf {

struct Follow {
  unsigned *word; /* of each strip; behind them how many have their end as target. All 0 at the start of a launch */
  int n;          /* words of strips, those with no chunks too */
  int strips;     /* with chunks */
  int most;       /* chunks a claim, at most */
};

constexpr unsigned follow_locked = 1u << 31;
constexpr unsigned follow_end = follow_locked - 1; /* the target of a strip that nothing is left of */

struct FollowClaim {
  int strip; /* -1: nothing is left to claim */
  int from, to;
  unsigned release;
};

/* What a strip is: how many chunks (0: no such strip), and has it a left neighbour? */
struct FollowStrip {
  int chunks;
  bool has_left;
};

__device__ __forceinline__ unsigned
follow_load (const unsigned *word)
{
  return *(const volatile unsigned *) word;
}

/* May strip s be claimed, and how far? */
template<class Strips> __device__ __forceinline__ bool
follow_look (const Follow &f, const Strips &strips, int s, FollowClaim *claim)
{
  const unsigned mine = follow_load (&f.word[s]), left = s > 0 ? follow_load (&f.word[s - 1]) : 0;

  if (mine >= follow_end) /* locked, or nothing is left */
    return false;
  const FollowStrip strip = strips (s);
  const unsigned end = (unsigned) strip.chunks;
  const unsigned most = (unsigned) f.most < end ? mine + (unsigned) f.most : end;
  const unsigned to = min (min (most, end), strip.has_left ? left & follow_end : end);

  claim->strip = s;
  claim->from = (int) mine;
  claim->to = (int) to;
  claim->release = to == end ? follow_end : to;
  return to > mine;
}

/* Claims a strip, from the one that the block would like downwards: to the left,
 * where work is ready first. Called by a whole warp; the same answer in all lanes. */
template<class Strips> __device__ __forceinline__ FollowClaim
follow_claim (const Follow &f, const Strips &strips, int wish)
{
  const int lane = (int) (threadIdx.x & 31), windows = (f.n + 31) / 32;

  for (int i = 0;; i++) {
    /* the 32 about the wish every other time, all of them in turn */
    const int back = (i & 1 ? (i >> 1) % windows : 0) * 32 + lane, s = wish - back + (back > wish ? f.n : 0);
    const unsigned closed = follow_load (&f.word[f.n]);
    FollowClaim claim = { -1, 0, 0, 0 };
    const bool may = back < f.n && follow_look (f, strips, s, &claim);
    const unsigned all = __ballot_sync (~0u, may);
    const int first = __ffs ((int) all) - 1;
    int claimed = 0;

    if (lane == first) {
      claimed = atomicCAS (&f.word[s], (unsigned) claim.from, follow_locked | claim.release) == (unsigned) claim.from;
      if (claimed && claim.release == follow_end)
        atomicAdd (&f.word[f.n], 1);
      __threadfence (); /* what the strip's last owner wrote is seen from here on */
    }
    if (all && __shfl_sync (~0u, claimed, first)) {
      claim.strip = __shfl_sync (~0u, claim.strip, first);
      claim.from = __shfl_sync (~0u, claim.from, first);
      claim.to = __shfl_sync (~0u, claim.to, first);
      claim.release = __shfl_sync (~0u, claim.release, first);
      return claim;
    }
    if (__shfl_sync (~0u, closed, 0) == (unsigned) f.strips)
      return FollowClaim { -1, 0, 0, 0 };
  }
}

/* Behind a barrier of the block; by one thread. */
__device__ __forceinline__ void
follow_release (const Follow &f, const FollowClaim &claim)
{
  __threadfence ();
  atomicExch (&f.word[claim.strip], claim.release);
}

} // namespace cf

#endif
