/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * irfilter/gpu/quadrants.cu: the recursive filter's quadrants, all at once, for windows
 * of one size: compiled once for each m (CF_IR_M).
 *
 * A block works on the strip that it has claimed (scheduler.cuh): 32 lanes of C
 * columns, in chunks of 8 rows. Warp 0 is the chain: lane i is i rows behind lane
 * 0, so that in each step it takes the sample to its left from the lane beside it
 * as that was made one step before; rows above stay in registers. Warp 1 is the
 * edge: it fetches what the strip to the left hands over, or makes what the
 * border rule says stands there. The other warps are helpers: they take turns to
 * make a chunk's sums over the input, and to write finished chunks to memory, so
 * that the chain does nothing but recursion.
 *
 * Shared memory: a ring of 8 chunks. A helper puts a chunk's input sums there, the
 * chain reads them and puts its results in their place, a helper takes those out
 * and fills the slot again. Two rounds a chunk: FULL (helper and edge
 * arrive, the chain waits) and DONE (the chain arrives, helper and edge wait): no
 * two warps ever touch a slot between the same two rounds (round_barrier.cuh says
 * at which barriers). Rows that lie 128 or 64 words apart and
 * lanes a row apart meet no bank twice in a phase.
 *
 * Hand-over: lane 31 writes the end of each row to memory, whose words all were a
 * NaN that no operation makes; the edge of the right neighbour looks until each
 * word is another one, and puts the NaN back. A word is whole by itself, so there
 * is no fence and no flag on the way (0.29 instead of 0.55 us a hop on an H200).
 *
 * Time on an H200 (1.98 GHz), 1080p, four quadrants, m = 3, one core: 127 us, of
 * which 11 are irfilter_sum's. A row of a chain takes about 90 cycles (45
 * instructions; its dependent operations alone, a shuffle and five multiply-adds,
 * take 50), and a strip begins 3 us behind its left neighbour: the time of 39 rows,
 * a chunk of 8 and 31 lanes, and 0.5 us on the way. Where there are more strips than
 * the chip has room for (cores, several planes, 4K), the helpers' instructions bound
 * it, about 150 a row, of which 36 are the sums.
 * What helped: u and edge loaded a row ahead (from 143 to 100 cycles a row), words
 * that need no fence, rows fetched into the L1 before a helper needs them, loads
 * that all lanes make where a strip begins (lanes that have not begun read what is
 * there and keep nothing), nothing but the steps in the chain's loop, results taken
 * out of the ring by halves (139 to 127 us: registers). What did not: 3 helpers and
 * 3 blocks on an SM (93 instead of 105 us with cores, 168 instead of 127 without);
 * running the code once without memory to have it in the instruction cache. */
#include "chain.cuh"
#include "edge.cuh"
#include "helper.cuh"

namespace cf {

namespace {

enum { EDGE = -2, CHAIN = -1 }; /* and the helpers from 0 */

template<IrSource SOURCE> __global__ void __launch_bounds__ (threads, M == 8 ? 1 : 2)
irfilter_follow (const __grid_constant__ IrWork work)
{
  __shared__ __align__ (16) Shared sh;
  /* Warps i and i + 4 share a scheduler; the chains of blocks on one SM take turns. */
  const int turn = (int) (blockIdx.x / (unsigned) work.sms & 3), warp = (int) (threadIdx.x >> 5);
  const int part = warp == turn ? CHAIN : warp == warps - 1 ? EDGE : warp - (warp > turn);
  int wish = (int) (blockIdx.x % (unsigned) work.follow.n);
  Meet meet (sh.rounds);

  for (;;) {
    Run run = { meet };

    if (warp == 0) {
      const FollowClaim claim = follow_claim (work.follow, [&] (int s) { return ir_strip (work, s); }, wish);

      if (threadIdx.x == 0)
        sh.claim = claim;
    }
    __syncthreads ();
    run.strip = sh.claim.strip;
    if (run.strip < 0)
      return;
    run.from = sh.claim.from;
    run.n = sh.claim.to - sh.claim.from;
    run.to_end = sh.claim.release == follow_end;
    run.w = ir_window (work, run.strip);
    run.zero_top = work.zero && run.w.y.outer;
    run.zero_left = work.zero && run.w.x.outer;
    if (part == CHAIN)
      run_chain (work, run, sh);
    else if (part == EDGE && run.w.column == 0)
      run_border<SOURCE> (work, run, sh);
    else if (part == EDGE)
      run_follower (work, run, sh);
    else
      run_helper<SOURCE> (work, run, sh, part);
    wish = (int) ((unsigned) (run.strip + (int) gridDim.x) % (unsigned) work.follow.n);
    meet.end_strip (run.n);
    __syncthreads ();
    if (threadIdx.x == 0)
      follow_release (work.follow, sh.claim);
  }
}

template<IrSource SOURCE> CfCode
launch (const IrWork &work, cudaStream_t stream, CfStatus *status)
{
  const int blocks = work.test.blocks ? work.test.blocks : work.n_strips;

  irfilter_follow<SOURCE><<<blocks, threads, 0, stream>>> (work);
  return cf_cuda_launched ("filtering the quadrants", status);
}

} // namespace

#define NAME_(stem, m) stem##m
#define NAME(stem, m) NAME_ (stem, m)

CfCode
NAME (irfilter_launch_follow_, CF_IR_M) (const IrWork &work, IrSource source, cudaStream_t stream, CfStatus *status)
{
  switch (source) {
    case IR_BYTES:
      return launch<IR_BYTES> (work, stream, status);
    case IR_WORDS:
      return launch<IR_WORDS> (work, stream, status);
    default:
      return launch<IR_FLOATS> (work, stream, status);
  }
}

CfCode
NAME (irfilter_init_follow_, CF_IR_M) (CfStatus *status)
{
  struct cudaFuncAttributes attributes;
  CfCode code = cf_cuda_check (cudaFuncGetAttributes (&attributes, irfilter_follow<IR_BYTES>),
      "loading the recursive filter's kernels", status);

  if (code == CF_OK)
    code = cf_cuda_check (cudaFuncGetAttributes (&attributes, irfilter_follow<IR_WORDS>),
        "loading the recursive filter's kernels", status);
  if (code == CF_OK)
    code = cf_cuda_check (cudaFuncGetAttributes (&attributes, irfilter_follow<IR_FLOATS>),
        "loading the recursive filter's kernels", status);
  return code;
}

} // namespace cf
