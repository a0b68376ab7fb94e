/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * irfilter/gpu/round_barrier.cuh: where the warps of quadrants.cu meet. For each chunk
 * there are two rounds of chain, edge and the chunk's helper: FULL (helper and edge
 * arrive, the chain waits) and DONE (the chain arrives, helper and edge wait).
 *   What goes from one warp to another, and when, is the same in both of the ways
 * below; only the barriers differ. */
#ifndef CF_IRFILTER_GPU_ROUND_BARRIER_CUH
#define CF_IRFILTER_GPU_ROUND_BARRIER_CUH

#include "internal.cuh"

namespace cf {

namespace {

constexpr int slots = 8, helpers = 6, warps = 2 + helpers, threads = 32 * warps;
constexpr int lag = 4; /* chunks, of lane 31 behind lane 0 */

#ifdef CF_WATCHED

/* For compute-sanitizer's racecheck: it follows arrivals and waits at barriers in
 * shared memory, but loses arrivals at named ones. Of a warp that arrives at two in a
 * row it takes all that was written before for unordered, of one that goes on to
 * another barrier some of it. Each lane arrives, for where one does for its warp, after
 * __syncwarp (), what the others wrote is unordered to it. Slower than named barriers,
 * and needs compute capability 8.0. */
struct Rounds {
  uint64_t full[slots], done[slots];
};

class Meet {
public:
  __device__ __forceinline__ explicit
  Meet (Rounds &rounds) : r (&rounds)
  {
    if (threadIdx.x < slots) {
      asm volatile ("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at (r->full, (int) threadIdx.x)), "n"(64) : "memory");
      asm volatile ("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at (r->done, (int) threadIdx.x)), "n"(32) : "memory");
    }
  }

  __device__ __forceinline__ void
  wait_full (int chunk) const
  {
    wait (r->full, chunk);
  }

  __device__ __forceinline__ void
  wait_done (int chunk) const
  {
    wait (r->done, chunk);
  }

  __device__ __forceinline__ void
  arrive_full (int chunk) const
  {
    arrive (at (r->full, chunk));
  }

  __device__ __forceinline__ void
  arrive_done (int chunk) const
  {
    arrive (at (r->done, chunk));
  }

  /* The strip at hand has had so many chunks. */
  __device__ __forceinline__ void
  end_strip (int chunks)
  {
    odd ^= (chunks / slots % 2 ? (1u << slots) - 1 : 0) ^ ((1u << chunks % slots) - 1);
  }

private:
  Rounds *r;
  unsigned odd = 0; /* a bit a slot: its barriers have been round an odd number of times when the strip begins */

  static __device__ __forceinline__ unsigned
  at (uint64_t *barriers, int chunk)
  {
    return (unsigned) __cvta_generic_to_shared (barriers + chunk % slots);
  }

  static __device__ __forceinline__ void
  arrive (unsigned barrier)
  {
    asm volatile ("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(barrier) : "memory");
  }

  __device__ __forceinline__ void
  wait (uint64_t *barriers, int chunk) const
  {
    const unsigned parity = (odd >> chunk % slots ^ (unsigned) (chunk / slots)) & 1;
    unsigned over;

    do
      asm volatile ("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
          : "=r"(over) : "r"(at (barriers, chunk)), "r"(parity) : "memory");
    while (!over);
  }
};

#else

/* Named barriers. Two rounds may share a name only if nobody comes to the
 * second one before the first is over. Rounds of DONE end in order, for the edge
 * takes part in all of them and takes them in turn, and the chain arrives at DONE
 * (i) after FULL (i + lag), or FULL of the last chunk.
 *   DONE: who waits for DONE (i) as a helper has passed DONE (i - helpers), so all
 * before that are over. The chain arrives at the last four without a wait, after
 * FULL (n - 1), whose edge has passed DONE (n - 1 - slots).
 *   FULL: who arrives at FULL (i) has passed DONE (i - slots), so FULL (i - slots +
 * lag) is over: four names go round. But the first `slots` chunks wait for nothing:
 * the second four of them take the names of DONE (6) to DONE (9), each of which is
 * waited for by helpers that have passed DONE (0) to DONE (3) first; so DONE has
 * ten names that go round.
 *   Name 0 is __syncthreads ()'s. */
struct Rounds {
};

class Meet {
public:
  __device__ __forceinline__ explicit
  Meet (Rounds &)
  {
  }

  __device__ __forceinline__ void
  wait_full (int chunk) const
  {
    asm volatile ("bar.sync %0, %1;" ::"r"(full (chunk)), "n"(parties) : "memory");
  }

  /* Edge and helper wait at different instructions, which bar.sync, that is
   * barrier.sync.aligned, does not allow. */
  __device__ __forceinline__ void
  wait_done (int chunk) const
  {
    asm volatile ("barrier.sync %0, %1;" ::"r"(done (chunk)), "n"(parties) : "memory");
  }

  __device__ __forceinline__ void
  arrive_full (int chunk) const
  {
    asm volatile ("bar.arrive %0, %1;" ::"r"(full (chunk)), "n"(parties) : "memory");
  }

  __device__ __forceinline__ void
  arrive_done (int chunk) const
  {
    asm volatile ("bar.arrive %0, %1;" ::"r"(done (chunk)), "n"(parties) : "memory");
  }

  __device__ __forceinline__ void
  end_strip (int)
  {
  }

private:
  static constexpr int parties = 96; /* chain, edge and one helper */
  static constexpr int full_names = slots - lag, done_names = slots + helpers - lag;

  static_assert (1 + full_names + done_names <= 16, "a block has 16 barriers");
  static_assert (slots == 2 * lag && done_names >= slots, "the first chunks' names");

  static __device__ __forceinline__ int
  done (int chunk)
  {
    return 1 + full_names + (int) ((unsigned) chunk % done_names);
  }

  static __device__ __forceinline__ int
  full (int chunk)
  {
    return chunk >= full_names && chunk < slots ? done (done_names - slots + chunk) : 1 + chunk % full_names;
  }
};

#endif

} // namespace

} // namespace cf

#endif
