/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/gpu/round_barrier.cuh: the barriers between the warps of quadrants.cu. For each chunk there are two rounds
 * in which the chain warp, the edge warp and the chunk's helper warp take part: FULL (helper and edge arrive, the
 * chain waits) and DONE (the chain arrives, helper and edge wait).
 *   The data that warps exchange and the order of rounds are the same in both of the
 * implementations below; only the barriers differ. */
#ifndef CF_IRFILTER_GPU_ROUND_BARRIER_CUH
#define CF_IRFILTER_GPU_ROUND_BARRIER_CUH

#include "internal.cuh"

namespace cf {

namespace {

constexpr int ir_slots = 8, ir_helpers = ir_shape (CF_IR_M).helpers;
constexpr int ir_warps = 2 + ir_helpers, ir_threads = 32 * ir_warps;
constexpr int ir_lag = 4; /* chunks that lane 31 is behind lane 0 */

#ifdef CF_WATCHED

/* For compute-sanitizer's racecheck: barriers in shared memory, whose arrivals and waits racecheck understands. It
 * loses arrivals at named barriers: where a warp arrives at two of them in a row, racecheck takes everything written
 * before as unordered, and where a warp goes on to another barrier, part of it. Every lane arrives: if one lane
 * arrived for its warp after __syncwarp (), racecheck would take the other lanes' writes as unordered. Slower than
 * named barriers, and needs compute capability 8.0. */
struct IrBarriers {
  uint64_t full[ir_slots], done[ir_slots];
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

  /* Ends a run of so many chunks: the next run's chunks are counted from 0 again. */
  __device__ __forceinline__ void
  end_run (int chunks)
  {
    parity_bits ^= (chunks / ir_slots % 2 ? (1u << ir_slots) - 1 : 0) ^ ((1u << chunks % ir_slots) - 1);
  }

private:
  IrBarriers *r;
  unsigned parity_bits = 0; /* bit s: slot s has completed an odd number of rounds before this run */

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

  __device__ __forceinline__ void
  wait (uint64_t *barriers, int chunk) const
  {
    const unsigned parity = (parity_bits >> chunk % ir_slots ^ (unsigned) (chunk / ir_slots)) & 1;
    unsigned completed;

    do
      asm volatile ("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
          : "=r"(completed) : "r"(at (barriers, chunk)), "r"(parity) : "memory");
    while (!completed);
  }
};

#else

/* Named barriers. Two rounds may share a name only if no warp reaches the second round before the first is complete.
 * Here lag, slots and helpers are ir_lag, ir_slots and ir_helpers, and n is the number of chunks of the run. The
 * rounds DONE complete in order, because the edge warp takes part in all of them, one after the other; and the chain
 * arrives at DONE (i) after FULL (i + lag), or after FULL of the last chunk.
 *   DONE: a helper that waits at DONE (i) has passed DONE (i - helpers), so all rounds
 * DONE up to that one are complete. The chain arrives at the last four without waiting,
 * after FULL (n - 1), before which the edge has passed DONE (n - 1 - slots).
 *   FULL: a warp that arrives at FULL (i) has passed DONE (i - slots), so FULL (i - slots
 * + lag) is complete: four names, used cyclically, are enough. But the first `slots`
 * chunks wait at no DONE: the second four of them use the names of DONE (helpers) to DONE (helpers + 3). The helpers
 * that wait at those have passed DONE (0) to DONE (3) before; so DONE has slots + helpers - lag names, used cyclically.
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
  end_run (int)
  {
  }

private:
  static constexpr int parties = 96; /* threads: the chain, the edge and one helper */
  static constexpr int full_names = ir_slots - ir_lag, done_names = ir_slots + ir_helpers - ir_lag;

  static_assert (1 + full_names + done_names <= 16, "a block has 16 barriers");
  static_assert (ir_slots == 2 * ir_lag && done_names >= ir_slots, "the first chunks' names");

  static __device__ __forceinline__ int
  done (int chunk)
  {
    return 1 + full_names + (int) ((unsigned) chunk % done_names);
  }

  static __device__ __forceinline__ int
  full (int chunk)
  {
    return chunk >= full_names && chunk < ir_slots ? done (done_names - ir_slots + chunk) : 1 + chunk % full_names;
  }
};

#endif

} // namespace

} // namespace cf

#endif
