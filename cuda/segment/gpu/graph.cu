/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment/gpu/graph.cu: steps 4 to 10 of the segmentation, in one cooperative launch: its
 * blocks wait for each other at a barrier, so that no step needs the host.
 *
 * What it learned. Little here is bound by how much is moved: each phase is a chain of dependent
 * accesses to the second-level cache, a quarter to half a microsecond each, and a barrier of all
 * blocks is one microsecond. So several cells' chains run at once (sg_find), cells of settled regions are
 * one step from their root, lists belong to a block and need no barrier to be appended to, growth looks
 * at neighbours in shared memory (chunk.cuh), and the last rounds run in one block's (single_block.cuh).
 * Lists that all blocks share are walked by warps of all blocks in turns, for a multiprocessor by
 * itself is slow at fetching what lies anywhere. What many add to is collected in shared memory first.
 *
 * An H200 takes 194 us afresh and 137 following at 1080p (4K: 235 and 176; 480p: 182 and 134), GRAY8 of
 * `kernelcheck --bench`, 2026-11-22: 288,000 of 518,000 cells are free. Of the 194 this launch has 165:
 * components 19, of which the joining of tiles is 10; growth 73 in five rounds, of which the first takes 25;
 * pairs 15, weak borders 9, a round of all blocks 9, then rank 3, gathering 6 and the lone block 27; numbers and
 * labels 5. The other kernels: cells 15, pixels 15, table 3, picture 4. Growth issues instructions
 * a third of its time; at the joining of tiles all blocks wait for the longest chain of joined ones.
 *
 * What helped: one lane joins for all of a warp that would join the same two components, and both ends are
 * walked at once (23 us to 18, before tiles were 32 x 32); a barrier that releases and acquires instead of
 * fences (a quarter of a microsecond each); edges that have become the same told apart, what one block
 * loads put in its order by all before, its first picks made by all (59 us to 27); pairs of four tiles
 * counted at once (23 us to 15); growth in chunks (93 us to 73). A vote for lanes with the same root
 * (__match_any_sync) and a sum for each group took longer than the atomics it saved (a round of
 * merging 13 instead of 5 us): it goes by the groups one by one. One division of each
 * multiprocessor's memory for all kernels (the carve-out), launches that begin before the one before
 * has ended: the same (1 % at 4K). Not tried: growth's late rounds in one block, two launches, so that
 * growth has more of the first-level cache. */
#include "merge.cuh"

namespace cf {

namespace {

/* ---- step 10: numbers --------------------------------------------------- */

/* The region of an index. `new_before`: how many before it carry no old one on. */
__device__ void
number_region (const SgWork &work, unsigned index, unsigned root, unsigned mean, bool old, unsigned new_before)
{
  const unsigned free_id = work.follow ? work.before.scalars[1] : 1;
  const unsigned from = old ? 0xffffffffu - (unsigned) work.claim[root] : 0;
  const unsigned id = old ? work.before.id[from] : free_id + new_before;
  const unsigned birth = old ? work.before.birth[from] : work.frame;

  work.after.mean[index] = mean;
  work.after.id[index] = id;
  work.after.birth[index] = birth;
  work.found[index] = CfSegmentRegion { { 0, 0, 0 }, 0, 0, { 0, 0, 0 }, sg_none, sg_none, 0, 0, id, birth };
  if (index == work.control->regions - 1) {
    work.after.scalars[0] = index + 1;
    work.after.scalars[1] = free_id + new_before + !old;
  }
}

/* Of a list without order: a warp a region, its place among all. */
__device__ void
number_listed (const SgWork &work, const unsigned *list, unsigned n)
{
  const unsigned lane = threadIdx.x & 31, warps = gridDim.x * sg_threads / 32;

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

      work.count[r] = smaller;
      number_region (work, smaller, r, sg_mean (record), (record.x & sg_old) != 0, smaller_new);
    }
  }
}

__device__ void
number_told (const SgWork &work, const SgGrid &grid, const uint4 *told, unsigned n)
{
  for (unsigned i = sg_spread (); i < n; i += grid.step ())
    number_region (work, i, told[i].x, told[i].y, told[i].z != 0, told[i].w);
}

/* `index`: of what is in `count`; NULL: those are indices. */
__device__ void
label_cells (const SgWork &work, const SgGrid &grid, const unsigned *index)
{
  constexpr unsigned each = 4;

  for (unsigned base = grid.first (); base < (unsigned) work.n; base += each * grid.step ()) {
    unsigned cell[each], root[each];

#pragma unroll
    for (unsigned k = 0; k < each; k++)
      cell[k] = base + k * grid.step () < (unsigned) work.n ? base + k * grid.step () : base;
    sg_find<each> (work.parent, cell, root);
#pragma unroll
    for (unsigned k = 0; k < each; k++)
      root[k] = work.count[root[k] & ~sg_settled];
#pragma unroll
    for (unsigned k = 0; k < each && index; k++)
      root[k] = index[root[k]];
#pragma unroll
    for (unsigned k = 0; k < each; k++)
      work.after.label[cell[k]] = (uint16_t) root[k];
  }
}

/* ---- all ---------------------------------------------------------------- */

__global__ void __launch_bounds__ (sg_threads, 1)
segment_graph (const __grid_constant__ SgWork work, unsigned size)
{
  extern __shared__ __align__ (16) unsigned char memory[];
  __shared__ SgBlock block;
  SgGrid grid = { work.control, 0 };
  SgGathered told;

  if (threadIdx.x == 0)
    block.sums = (SgSums *) memory;
  sg_clear_sums ((SgSums *) memory);
  __syncthreads ();
  sg_find_components (work, grid, &block);
  sg_grow (work, grid, &block, memory, size);
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
  const bool is_told = sg_merge_all (work, grid, &block, memory, size, &told);

  grid.barrier ();
  if (is_told) {
    number_told (work, grid, told.region, work.control->regions);
  } else {
    number_listed (work, work.root_list[work.control->turn & 1], work.control->regions);
    grid.barrier ();
  }
  label_cells (work, grid, is_told ? told.index : NULL);
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
