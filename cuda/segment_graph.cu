/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment_graph.cu: steps 4 to 10 of the segmentation, in one cooperative launch: its
 * blocks wait for each other at a barrier, so that no step needs the host.
 *
 * What it learned. Nothing here is bound by how much is moved or computed: each phase is
 * a chain of dependent accesses to the second-level cache, a quarter to half a microsecond
 * each, and a barrier of all blocks is one microsecond. So several cells' chains run at once
 * (sg_find), cells of settled regions are one step from their root, lists belong to a block
 * and need no barrier to be appended to, and the last rounds run in one block's
 * shared memory. A large region's record is asked for by every cell on its border:
 * the loads go through the first-level cache (a phase never reads what it changes, and the
 * barrier's fence clears it), and additions are collected in shared memory.
 *
 * An H200 takes, launches and all, 325 us afresh and 198 us following at 1080p (4K: 400 and 262;
 * 768 x 576: 341 and 169), NV12, a street with noise of sigma 2: 207,000 of 518,000 cells are free,
 * 2000 regions, 9000 edges. Of the 325 this launch has 240: to the first barrier 21,
 * components 16, growth 97 in seven rounds (half of it the first two), pairs 17, weak borders 15,
 * merging 66 in eight rounds, numbers and labels 8. The first version, with lists of all
 * blocks, barriers at each step of a list and one chain a thread, took 463.
 * A vote for lanes with the same root (__match_any_sync) and a sum for each group took longer than
 * the atomics it saved (a round of merging 13 instead of 5 us): it goes by the groups one by one.
 * Best partners in three steps of 32 bits, as now, take longer than one minimum of 64 bits
 * by compare-and-swap did (66 instead of 46 us in all): each step reckons its edges anew, and
 * what was expected to wait for a large region hardly does. To be taken back.
 * Roots by a mixed order, so that rows of tiles do not hang below each other, left the first
 * barrier where it was. What that one waits for is not known: it is the same for any picture,
 * so perhaps for blocks that start late, because the launch before divides the
 * multiprocessor's memory in another way.
 * Not tried: growth's late rounds in one block, weak borders in the last block's shared memory,
 * two launches, so that growth has more of the first-level cache. */
#include "segment_merge.cuh"

namespace cf {

namespace {

/* ---- step 10: numbers --------------------------------------------------- */

/* A warp a region: its place among all. */
__device__ void
number (const SgWork &work, const unsigned *list, unsigned n)
{
  const unsigned lane = threadIdx.x & 31, warps = gridDim.x * sg_threads / 32;
  const unsigned free_id = work.follow ? work.before.scalars[1] : 1;

  for (unsigned i = (blockIdx.x * sg_threads + threadIdx.x) / 32; i < n; i += warps) {
    const unsigned r = list[i];
    unsigned smaller = 0, smaller_new = 0;

    for (unsigned j = lane; j < n; j += 32) {
      const unsigned other = list[j];

      if (other < r) {
        smaller++;
        smaller_new += !(work.record[other].x & sg_old);
      }
    }
    smaller = sg_reduce (~0u, smaller);
    smaller_new = sg_reduce (~0u, smaller_new);
    if (lane == 0) {
      const SgRecord record = sg_load_record (work.record + r);
      const bool old = (record.x & sg_old) != 0;
      const unsigned from = old ? 0xffffffffu - (unsigned) work.claim[r] : 0;
      const unsigned id = old ? work.before.id[from] : free_id + smaller_new;
      const unsigned birth = old ? work.before.birth[from] : work.frame;

      work.count[r] = smaller;
      work.after.mean[smaller] = sg_mean (record);
      work.after.id[smaller] = id;
      work.after.birth[smaller] = birth;
      work.found[smaller] = CfSegmentRegion { { 0, 0, 0 }, 0, 0, { 0, 0, 0 }, sg_none, sg_none, 0, 0, id, birth };
      if (smaller == n - 1) {
        work.after.scalars[0] = n;
        work.after.scalars[1] = free_id + smaller_new + !old;
      }
    }
  }
}

__device__ void
label_cells (const SgWork &work, const SgGrid &grid)
{
  for (unsigned c = grid.first (); c < (unsigned) work.n; c += grid.step ())
    work.after.label[c] = (uint16_t) work.count[sg_find (work.parent, c)];
}

/* ---- all ---------------------------------------------------------------- */

__global__ void __launch_bounds__ (sg_threads, 1)
segment_graph (const __grid_constant__ SgWork work, unsigned size)
{
  extern __shared__ __align__ (16) unsigned char memory[];
  __shared__ SgBlock block;
  SgGrid grid = { work.control, 0 };

  if (threadIdx.x == 0)
    block.sums = (SgSums *) memory;
  sg_clear_sums ((SgSums *) memory);
  __syncthreads ();
  sg_find_components (work, grid, &block);
  sg_grow (work, grid, &block);
  sg_count_pairs (work, &block, (SgTilePairs *) memory);
  grid.barrier ();
  sg_clear_sums ((SgSums *) memory);
  sg_join_weak (work, grid);
  if (grid.first () == 0)
    for (int i = 0; i < 3; i++)
      work.control->picks[i] = 0;
  grid.barrier ();
  sg_add_weak (work, grid, &block);
  grid.barrier ();
  sg_merge_all (work, grid, &block, memory, size);
  grid.barrier ();
  number (work, work.root_list[work.control->turn & 1], work.control->regions);
  grid.barrier ();
  label_cells (work, grid);
}

/* As much shared memory as a block may have: it decides only where merging is done. */
CfCode
shared_size (unsigned *bytes, CfStatus *status)
{
  cudaFuncAttributes attributes;
  int device = 0, most = 0;
  CfCode code = cf_cuda_check (cudaGetDevice (&device), "asking for the device", status);

  if (code == CF_OK)
    code = cf_cuda_check (cudaDeviceGetAttribute (&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "asking for the shared memory", status);
  if (code == CF_OK)
    code = cf_cuda_check (cudaFuncGetAttributes (&attributes, segment_graph), "loading the segmentation's kernels",
        status);
  if (code == CF_OK)
    *bytes = (unsigned) most - (unsigned) attributes.sharedSizeBytes;
  return code;
}

} // namespace

CfCode
segment_launch_graph (const SgWork &work, int blocks, unsigned size, cudaStream_t stream, CfStatus *status)
{
  void *arguments[] = { const_cast<SgWork *> (&work), &size };
  const cudaError_t error = cudaLaunchCooperativeKernel ((const void *) segment_graph, dim3 ((unsigned) blocks),
      dim3 (sg_threads), arguments, size, stream);
  const CfCode code = cf_cuda_check (error, "launching segment_graph", status);

  return code == CF_OK ? cf_cuda_launched ("segment_graph", status) : code;
}

CfCode
segment_init_graph (unsigned *size, CfStatus *status)
{
  int each = 0;
  CfCode code = shared_size (size, status);

  if (code == CF_OK && *size < sizeof (SgTilePairs))
    return cf_fail (status, CF_UNSUPPORTED, "this GPU's blocks have too little shared memory for the segmentation");
  if (code == CF_OK)
    code = cf_cuda_check (cudaFuncSetAttribute (segment_graph, cudaFuncAttributeMaxDynamicSharedMemorySize,
        (int) *size), "loading the segmentation's kernels", status);
  if (code == CF_OK)
    code = cf_cuda_check (cudaOccupancyMaxActiveBlocksPerMultiprocessor (&each, segment_graph, sg_threads, *size),
        "asking how many blocks fit", status);
  if (code == CF_OK && each < 1)
    return cf_fail (status, CF_UNSUPPORTED, "this GPU has no room for a block of the segmentation");
  return code;
}

} // namespace cf
