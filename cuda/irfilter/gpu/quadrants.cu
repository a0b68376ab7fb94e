/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/gpu/quadrants.cu: filters all quadrants of a pass in one launch, for windows of one size: compiled once
 * for each m (CF_IR_M).
 *
 * Map: a block works on the strip of columns that it has claimed (scheduler.cuh): 32 lanes of C columns, in chunks of
 * 8 rows. One warp is the CHAIN, which computes the recursion: lane i is i rows behind lane 0, so that in each step it
 * gets the samples to its left by a shuffle from lane i - 1, which computed them one step before; the rows above stay
 * in registers. One warp is the EDGE: it provides the values to the left of the strip, received from the strip to the
 * left (handover) or computed by the border rule. The other six are HELPERS: in rotation they compute a chunk's sums
 * over the input and write finished chunks to memory, so that the chain executes nothing but the recursion.
 * Shared memory: a ring of 8 slots, one chunk each. A helper stores a chunk's input sums in its slot, the chain
 * replaces them by its results, a helper takes those out and fills the slot again. Rows that lie 128 or 64 words
 * apart, with lanes one row apart, hit no bank twice in a phase.
 * Race free: two rounds of barriers a chunk, FULL (helper and edge arrive, the chain waits) and DONE (the chain
 * arrives, helper and edge wait): no two warps touch a slot between the same two rounds (round_barrier.cuh).
 * Handover: all words in memory hold a NaN that no operation produces; lane 31 overwrites them with the end of each
 * row; the edge of the right neighbour polls each word until it has changed and restores the NaN. Each word is valid
 * by itself, so the handover needs no fence and no flag.
 * Bounds: with one core a plane, the latency of the chain's dependent operations (for m = 3 a shuffle and five
 * multiply-adds) and the lag of each strip behind its left neighbour; with more strips than fit on the GPU (cores,
 * several planes, 4K), the helpers' instructions. docs/notes/irfilter.md has figures and what was tried. */
#include "chain.cuh"
#include "edge.cuh"
#include "helper.cuh"

namespace cf {

namespace {

/* A warp's role; helpers have the numbers from 0 on. */
enum { IR_EDGE = -2, IR_CHAIN = -1 };

template<IrSource SOURCE> __global__ void __launch_bounds__ (ir_threads, M == 8 ? 1 : 2)
ir_quadrants (const __grid_constant__ IrWork work)
{
  __shared__ __align__ (16) IrShared sh;
  /* Warps i and i + 4 share a warp scheduler of the SM: a rotation gives the chain warps of
   * the blocks on one SM different ones. */
  const int rotation = (int) (blockIdx.x / (unsigned) work.sms & 3), warp = (int) (threadIdx.x >> 5);
  const int role = warp == rotation ? IR_CHAIN : warp == ir_warps - 1 ? IR_EDGE : warp - (warp > rotation);
  int hint = (int) (blockIdx.x % (unsigned) work.scheduler.n);
  IrRoundBarrier barrier (sh.barriers);

  for (;;) {
    IrRun run = { barrier };

    if (warp == 0) {
      const IrClaim claim = ir_claim_strip (work.scheduler, [&] (int s) { return ir_strip (work, s); }, hint);

      if (threadIdx.x == 0)
        sh.claim = claim;
    }
    __syncthreads ();
    run.strip = sh.claim.strip;
    if (run.strip < 0)
      return;
    run.from = sh.claim.from;
    run.n = sh.claim.to - sh.claim.from;
    run.to_end = sh.claim.release == ir_complete;
    run.w = ir_window (work, run.strip);
    run.zero_top = work.zero && run.w.y.outer;
    run.zero_left = work.zero && run.w.x.outer;
    if (role == IR_CHAIN)
      ir_run_chain (work, run, sh);
    else if (role == IR_EDGE && run.w.index == 0)
      ir_run_border_edge<SOURCE> (work, run, sh);
    else if (role == IR_EDGE)
      ir_run_inner_edge (work, run, sh);
    else
      ir_run_helper<SOURCE> (work, run, sh, role);
    hint = (int) ((unsigned) (run.strip + (int) gridDim.x) % (unsigned) work.scheduler.n);
    barrier.end_run (run.n);
    __syncthreads ();
    if (threadIdx.x == 0)
      ir_release_strip (work.scheduler, sh.claim);
  }
}

template<IrSource SOURCE> CfCode
ir_launch (const IrWork &work, cudaStream_t stream, CfStatus *status)
{
  const int blocks = work.test.blocks ? work.test.blocks : work.n_strips;

  ir_quadrants<SOURCE><<<blocks, ir_threads, 0, stream>>> (work);
  return cf_cuda_launched ("filtering the quadrants", status);
}

CfCode
ir_launch_source (const IrWork &work, IrSource source, cudaStream_t stream, CfStatus *status)
{
  switch (source) {
    case IR_BYTES:
      return ir_launch<IR_BYTES> (work, stream, status);
    case IR_WORDS:
      return ir_launch<IR_WORDS> (work, stream, status);
    default:
      return ir_launch<IR_FLOATS> (work, stream, status);
  }
}

CfCode
ir_load (CfStatus *status)
{
  return load_kernels ({ (const void *) ir_quadrants<IR_BYTES>, (const void *) ir_quadrants<IR_WORDS>,
      (const void *) ir_quadrants<IR_FLOATS> }, ir_loading, status);
}

} // namespace

#define NAME_(stem, m) stem##m
#define NAME(stem, m) NAME_ (stem, m)

const IrQuadrants NAME (ir_quadrants_, CF_IR_M) = { CF_IR_M, ir_load, ir_launch_source };

} // namespace cf
