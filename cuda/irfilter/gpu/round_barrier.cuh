/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/gpu/round_barrier.cuh: the barriers between the warps of quadrants.cu. For each pass i of the chain there
 * are two rounds: FULL (i), at which the edge and the helper of chunk i arrive and the chain waits, and DONE (i), at
 * which the chain arrives after the pass, when lane 31 has left chunk i - lag, and the edge and the helper of chunk
 * i + lag wait, which follows in the slot. Before them there is one round FIRST: the helper of chunk 0 arrives when its
 * sums are in the slot, and the chain waits, which adds the row above the window while the edge waits for other strips.
 *   The data that warps exchange and the order of rounds are the same in both of the
 * implementations below; only the barriers differ. */
#ifndef CF_IRFILTER_GPU_ROUND_BARRIER_CUH
#define CF_IRFILTER_GPU_ROUND_BARRIER_CUH

#include "internal.cuh"

namespace cf {

namespace {

constexpr int ir_slots = 8;
constexpr int ir_warps = 2 + ir_helpers, ir_threads = 32 * ir_warps;
constexpr int ir_lag = 4; /* chunks that lane 31 is behind lane 0 */

#ifdef CF_WATCHED

/* For compute-sanitizer's racecheck: barriers in shared memory, whose arrivals and waits racecheck understands. It
 * loses arrivals at named barriers: where a warp arrives at two of them in a row, racecheck takes everything written
 * before as unordered, and where a warp goes on to another barrier, part of it. Every lane arrives: if one lane
 * arrived for its warp after __syncwarp (), racecheck would take the other lanes' writes as unordered. Slower than
 * named barriers, and needs compute capability 8.0. */
struct IrBarriers {
  uint64_t full[ir_slots], done[ir_slots], first;
};

class IrRoundBarrier {
public:
  __device__ __forceinline__ explicit
  IrRoundBarrier (IrBarriers &barriers) : r (&barriers)
  {
    if (threadIdx.x < ir_slots) {
      asm volatile ("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at (r->full, (int) threadIdx.x)), "n"(64) : "memory");
      asm volatile ("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at (r->done, (int) threadIdx.x)), "n"(32) : "memory");
    }
    if (threadIdx.x == 0)
      asm volatile ("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at (&r->first, 0)), "n"(32) : "memory");
  }

  __device__ __forceinline__ void
  wait_full (int chunk) const
  {
    wait (r->full + chunk % ir_slots, parity (chunk));
  }

  __device__ __forceinline__ void
  wait_done (int chunk) const
  {
    wait (r->done + chunk % ir_slots, parity (chunk));
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

  __device__ __forceinline__ void
  wait_first () const
  {
    wait (&r->first, first_parity);
  }

  __device__ __forceinline__ void
  arrive_first () const
  {
    arrive (at (&r->first, 0));
  }

  /* Ends a run of so many passes: the next run's passes are counted from 0 again. */
  __device__ __forceinline__ void
  end_run (int passes)
  {
    first_parity ^= 1;
    parity_bits ^= (passes / ir_slots % 2 ? (1u << ir_slots) - 1 : 0) ^ ((1u << passes % ir_slots) - 1);
  }

private:
  IrBarriers *r;
  unsigned parity_bits = 0; /* bit s: slot s has completed an odd number of rounds before this run */
  unsigned first_parity = 0; /* of FIRST */

  static __device__ __forceinline__ unsigned
  at (uint64_t *barriers, int chunk)
  {
    return (unsigned) __cvta_generic_to_shared (barriers + chunk % ir_slots);
  }

  static __device__ __forceinline__ void
  arrive (unsigned barrier)
  {
    asm volatile ("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(barrier) : "memory");
  }

  __device__ __forceinline__ unsigned
  parity (int chunk) const
  {
    return (parity_bits >> chunk % ir_slots ^ (unsigned) (chunk / ir_slots)) & 1;
  }

  static __device__ __forceinline__ void
  wait (uint64_t *barrier, unsigned parity)
  {
    unsigned completed;

    do
      asm volatile ("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
          : "=r"(completed) : "r"(at (barrier, 0)), "r"(parity) : "memory");
    while (!completed);
  }
};

#else

/* Named barriers. Two rounds may share a name only if no warp reaches the second round before the first is complete.
 * Here lag, slots and helpers are ir_lag, ir_slots and ir_helpers.
 *   FULL: a warp that arrives at FULL (i) has passed DONE (i - lag), at which the chain arrives after FULL (i - lag):
 * so that one is complete, and as many names as the lag, used cyclically, are enough.
 *   DONE: the rounds complete in order, because the edge takes part in all of them, one after the other. A helper that
 * waits at DONE (i) has passed DONE (i - helpers); the chain arrives there after FULL (i), which the edge reaches after
 * DONE (i - lag). So as many names as there are slots are enough.
 *   FIRST: one round a run, and __syncthreads () stands between two runs.
 *   Name 0 is the one of __syncthreads (). */
struct IrBarriers {
};

class IrRoundBarrier {
public:
  __device__ __forceinline__ explicit
  IrRoundBarrier (IrBarriers &)
  {
  }

  __device__ __forceinline__ void
  wait_full (int chunk) const
  {
    asm volatile ("bar.sync %0, %1;" ::"r"(full (chunk)), "n"(parties) : "memory");
  }

  /* barrier.sync, because edge and helper wait at different instructions: bar.sync, which
   * is barrier.sync.aligned, does not allow that. */
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
  wait_first () const
  {
    asm volatile ("bar.sync %0, %1;" ::"n"(first), "n"(64) : "memory");
  }

  __device__ __forceinline__ void
  arrive_first () const
  {
    asm volatile ("bar.arrive %0, %1;" ::"n"(first), "n"(64) : "memory");
  }

  __device__ __forceinline__ void
  end_run (int)
  {
  }

private:
  static constexpr int parties = 96; /* threads: the chain, the edge and one helper */
  static constexpr int first = 1 + ir_lag + ir_slots;

  static_assert (first < 16, "a block has 16 barriers");
  static_assert (ir_helpers <= ir_slots && ir_lag <= ir_slots, "the names suffice");

  static __device__ __forceinline__ int
  full (int chunk)
  {
    return 1 + (int) ((unsigned) chunk % ir_lag);
  }

  static __device__ __forceinline__ int
  done (int chunk)
  {
    return 1 + ir_lag + (int) ((unsigned) chunk % ir_slots);
  }
};

#endif

} // namespace

} // namespace cf

#endif
