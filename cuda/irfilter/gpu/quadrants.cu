/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/gpu/quadrants.cu: filters all quadrants of a pass in one launch, for windows of one size: compiled once
 * for each m (CF_IR_M).
 *
 * Map: a block works on the strip of columns that it has claimed (scheduler.cuh): 32 lanes of C columns, in chunks of
 * 8 rows. One warp is the CHAIN, which computes the recursion: lane i is i rows behind lane 0, so that in each step it
 * gets the samples to its left by a shuffle from lane i - 1, which computed them one step before; while the shuffles
 * are under way it adds the row before to the sums of the rows below. One warp is the EDGE: it provides the values to
 * the left of the strip, received from the strip to the left (handover) or computed by the border rule. The others are
 * HELPERS: in rotation they compute a chunk's sums over the input and write finished chunks to memory, so that the
 * chain executes nothing but the recursion; before that, while the helpers compute the first sums, it computes the row
 * above the window, which it adds to the sums of the first rows (border.cuh).
 * Rows: in a strip's row r the chain receives the sums of the window's row r and completes row r - (m - 2). In the
 * first m - 2 rows and before a lane begins, its state is 0, which changes no sum. In PASS i of the chain, eight steps,
 * lane 0 is in the rows of chunk i (from the row before on, so that what a pass begins with is loaded in the pass
 * before), lane 31 in those of chunk i - 4; a strip has four more passes than chunks.
 * Shared memory: a ring of 8 slots, one chunk each. A helper stores a chunk's input sums in its slot, the chain
 * replaces them by its results, a helper takes those out and fills the slot again. A lane's columns lie in the ring as
 * many rows further down as the lane is behind: in each step all lanes are in the same row of the ring, so a step
 * computes no address, and a lane that has not begun or has ended needs no code of its own: it works on zeros, or on
 * what nothing reads.
 * Race free: two rounds of barriers a pass, FULL (helper and edge arrive, the chain waits) and DONE (the chain
 * arrives, the edge and the helper of the chunk that follows in the slot wait): no two warps touch a slot between the
 * same two rounds (round_barrier.cuh).
 * Handover: all words in memory hold a NaN that no operation produces; lane 31 overwrites them with the end of each
 * row; the edge of the right neighbour polls each word until it has changed and restores the NaN. Each word is valid
 * by itself, so the handover needs no fence and no flag. The row above the window is handed over alike.
 * Late blocks: a word that is handed over is its own gate. It is written once and restored by the one edge that reads
 * it, so it waits for that edge however late this is, and the next launch begins behind both. A strip's word (the
 * target) is a gate, and no sum: it is only raised, so a late block claims less than it might, and a claim by an old
 * word fails. word[n] is a sum and a gate: it counts the strips that are claimed to their end. Blocks only add to it,
 * each strip once, and a block that finds it complete leaves, now or later. The next launch (sum.cu) sets it to 0.
 * Bounds: with one core a plane, the latency of the chain's dependent operations (for m = 3 a shuffle and five
 * multiply-adds; for m = 8 its instructions) and the lag of each strip behind its left neighbour; with more strips than
 * fit on the GPU (cores, several planes, 4K), the helpers' instructions; in all of them the instruction cache, so loops
 * are unrolled only as far as IrShape says. docs/notes/irfilter.md has figures and what was tried. */
#include "chain.cuh"
#include "edge.cuh"
#include "helper.cuh"

namespace cf {

namespace {

/* A warp's role; helpers have the numbers from 0 on. */
enum { IR_EDGE = -2, IR_CHAIN = -1 };

/* Returns the role of this warp. Warps i and i + 4 of a block share a warp scheduler of the SM: the chain shares its
 * own with the edge, which mostly waits. A rotation gives the chains of the blocks on one SM different ones. */
__device__ __forceinline__ int
ir_role (int rotation)
{
  const int warp = (int) (threadIdx.x >> 5), chain = rotation, edge = rotation + 4;

  return warp == chain ? IR_CHAIN : warp == edge ? IR_EDGE : warp - (warp > chain) - (warp > edge);
}

/* Returns the rotation, from where the block's warps are among all that are resident on the SM. Call it with one
 * thread: the answer might differ between warps. */
__device__ __forceinline__ int
ir_rotation ()
{
  unsigned slot;

  asm ("mov.u32 %0, %%warpid;" : "=r"(slot));
  return (int) (slot / ir_warps % (ir_warps - 4));
}

/* Returns the strip that block b tries to claim first. The first blocks get the first strips of all windows: where not
 * all blocks are resident at once, few of them wait for a left neighbour. */
__device__ __forceinline__ int
ir_first_hint (const IrWork &work, int b)
{
  int i = 0;

  b %= work.scheduler.n;
  while (i + 1 < work.n_views && b >= work.view[i + 1].first_strip)
    i++;
  const IrView &v = work.view[i];
  const int windows = work.n_quadrants * v.nx * v.ny, local = b - v.first_strip;

  return v.first_strip + local % windows * v.strips + local / windows;
}

template<IrSource SOURCE, bool SAME> __global__ void __launch_bounds__ (ir_threads, ir_sm_blocks)
ir_quadrants (const __grid_constant__ IrWork work)
{
  __shared__ __align__ (16) IrShared sh;
  int hint = ir_first_hint (work, (int) blockIdx.x);
  IrRoundBarrier barrier (sh.barriers);

  if (threadIdx.x == 0)
    sh.rotation = ir_rotation ();
  for (;;) {
    IrRun run = { barrier };

    if (threadIdx.x < 32) {
      if (work.test.late.ns > 0)
        sleep_ns (late_ns (work.test.late, (unsigned) hint));
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
    const int role = ir_role (sh.rotation);

    if (role == IR_CHAIN)
      ir_run_chain<SOURCE, SAME> (work, run, sh);
    else if (role == IR_EDGE && run.w.index == 0)
      ir_run_border_edge<SOURCE> (work, run, sh);
    else if (role == IR_EDGE)
      ir_run_inner_edge (work, run, sh);
    else
      ir_run_helper<SOURCE, SAME> (work, run, sh, role);
    hint = (int) ((unsigned) (run.strip + (int) gridDim.x) % (unsigned) work.scheduler.n);
    barrier.end_run (run.n + ir_lag);
    __syncthreads ();
    if (threadIdx.x == 0) {
      ir_be_late (work, run, -2);
      ir_release_strip (work.scheduler, sh.claim);
    }
  }
}

/* Where the quadrants' sets are the same, the kernel may know that: not for m = 8, whose weights are too many for the
 * uniform registers. */
constexpr bool ir_may_know_same = M <= 5;

template<IrSource SOURCE> CfCode
ir_launch (const IrWork &work, cudaStream_t stream, CfStatus *status)
{
  if (ir_may_know_same && work.same)
    ir_quadrants<SOURCE, ir_may_know_same><<<work.blocks, ir_threads, 0, stream>>> (work);
  else
    ir_quadrants<SOURCE, false><<<work.blocks, ir_threads, 0, stream>>> (work);
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
  return load_kernels ({ (const void *) ir_quadrants<IR_BYTES, false>, (const void *) ir_quadrants<IR_WORDS, false>,
      (const void *) ir_quadrants<IR_FLOATS, false>, (const void *) ir_quadrants<IR_BYTES, ir_may_know_same>,
      (const void *) ir_quadrants<IR_WORDS, ir_may_know_same>,
      (const void *) ir_quadrants<IR_FLOATS, ir_may_know_same> }, ir_loading, status);
}

} // namespace

#define NAME_(stem, m) stem##m
#define NAME(stem, m) NAME_ (stem, m)

const IrQuadrants NAME (ir_quadrants_, CF_IR_M) = { CF_IR_M, ir_load, ir_launch_source };

} // namespace cf
