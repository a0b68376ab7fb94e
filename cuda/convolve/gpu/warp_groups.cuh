/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/warp_groups.cuh: what only capability 9.0 has: the product of a warp group with a sparse left operand,
 * and a ring of stages between warp groups. */
#ifndef CF_CONVOLVE_GPU_WARP_GROUPS_CUH
#define CF_CONVOLVE_GPU_WARP_GROUPS_CUH

#include "tile.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

namespace cf {

constexpr int product_sums = 64; /* of a lane */

/* sum += a b; a: 64 x 64 signed bytes, sparse, b: 64 x 128 unsigned ones, described as in descriptor (). positions: of
 * the elements of a, see tap_positions () in sparse.cu. In warp w, sum[4 i + 2 k + e] of lane 4 g + t is row
 * 16 w + 8 k + g, column 8 i + 2 t + e. Queued: nothing may touch `sum` before wait_for_products (). */
static __device__ __forceinline__ void
queue_product (int *sum, unsigned long long a, unsigned long long b, unsigned positions)
{
#define CF_SUMS(i) "+r" (sum[i]), "+r" (sum[i + 1]), "+r" (sum[i + 2]), "+r" (sum[i + 3]), "+r" (sum[i + 4]), \
  "+r" (sum[i + 5]), "+r" (sum[i + 6]), "+r" (sum[i + 7])
  asm volatile ("{\n.reg .pred add;\nsetp.ne.b32 add, 1, 0;\nwgmma.mma_async.sp.sync.aligned.m64n128k64.s32.s8.u8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "
      "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, %66, 0, "
      "add;\n}"
      : CF_SUMS (0), CF_SUMS (8), CF_SUMS (16), CF_SUMS (24), CF_SUMS (32), CF_SUMS (40), CF_SUMS (48), CF_SUMS (56)
      : "l" (a), "l" (b), "r" (positions));
#undef CF_SUMS
}

/* Hands the sums over to the tensor units, or takes them back. */
static __device__ __forceinline__ void
pass_sums (int *sum)
{
#pragma unroll
  for (int i = 0; i < product_sums; i++)
    asm volatile ("" : "+r" (sum[i]) : : "memory");
}

static __device__ __forceinline__ void
begin_products (int *sum)
{
  pass_sums (sum);
  asm volatile ("wgmma.fence.sync.aligned;" : : : "memory");
}

static __device__ __forceinline__ void
wait_for_products (int *sum)
{
  asm volatile ("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" : : : "memory");
  pass_sums (sum);
}

/* What a thread has written to shared memory is seen by the tensor units after the next barrier. */
static __device__ __forceinline__ void
fence_shared ()
{
  asm volatile ("fence.proxy.async.shared::cta;" : : : "memory");
}

/* Waits at a named barrier. */
static __device__ __forceinline__ void
wait_for_threads (int barrier, int count)
{
  asm volatile ("bar.sync %0, %1;" : : "r" (barrier), "r" (count) : "memory");
}

/* Stores four words of a lane: the halves of its two columns for two neighbours. Lane 8 i + j has the address of the
 * neighbours of column j in word i. */
static __device__ __forceinline__ void
store_transposed (uint8_t *to, const unsigned *word)
{
  asm volatile ("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
      : : "r" (shared_address (to)), "r" (word[0]), "r" (word[1]), "r" (word[2]), "r" (word[3]) : "memory");
}

/* Returns a descriptor (PTX ISA, "Matrix Descriptor Format"). at, next: where the first 16 bytes of its rows or columns
 * begin, and how much further the next 16; group: the step from eight of them to the next eight; all in bytes. */
static __device__ __forceinline__ unsigned long long
descriptor (const uint8_t *at, int next, int group)
{
  return (unsigned long long) (group >> 4) << 32 | (unsigned) (next >> 4) << 16 | shared_address (at) >> 4;
}

/* Lanes of a warp that arrive at a barrier. One is enough: __syncwarp () orders the other lanes' writes before it.
 * racecheck does not see that, so in the build for it (CF_WATCHED) all lanes arrive. */
#ifdef CF_WATCHED
constexpr int arrivals = 32;
#else
constexpr int arrivals = 1;
#endif

/* The ring of stages, as one of its users sees it. Barriers: `full` of each stage, then `empty`. */
struct Ring {
  uint8_t *memory;
  unsigned barriers;
  int stages, bytes, stage, round;
  unsigned late; /* ns that the warp sleeps at a stage: a test override */

  __device__ __forceinline__ uint8_t *
  at () const
  {
    return memory + stage * bytes;
  }
  __device__ __forceinline__ void
  next ()
  {
    if (++stage == stages)
      stage = 0, round ^= 1;
  }
  __device__ __forceinline__ void
  wait (unsigned barrier, int parity) const
  {
    asm volatile ("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
        "@!done bra again;\n}" : : "r" (barrier), "r" (parity) : "memory");
  }
  __device__ __forceinline__ void
  wait_full () const
  {
    wait (barriers + 8 * stage, round);
  }
  __device__ __forceinline__ void
  wait_empty () const
  {
    wait (barriers + 8 * (stages + stage), round ^ 1);
  }
  /* These are called by the lanes below `arrivals` of each warp. */
  __device__ __forceinline__ void
  arrive (unsigned barrier) const
  {
    asm volatile ("mbarrier.arrive.shared.b64 _, [%0];" : : "r" (barrier) : "memory");
  }
  __device__ __forceinline__ void
  set_full () const
  {
    arrive (barriers + 8 * stage);
  }
  __device__ __forceinline__ void
  set_empty () const
  {
    arrive (barriers + 8 * (stages + stage));
  }
};

} // namespace cf

#endif

#endif
