/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/gpu/graph.cu: steps 4 to 10 of the segmentation, but for the moves of borders, in one cooperative launch. Its
 * blocks wait for each other at a grid barrier, so that no step needs the host.
 *
 * Map: one block of 1024 threads per multiprocessor, or fewer where plans share the device. Cells, tiles and lists
 * are divided among the blocks; warps of all blocks take the entries of common lists in rotation (sg_spread). Each
 * block joins the components of tiles by itself (components.cuh). Growth begins with each block's own rows (chunk.cuh)
 * and goes on with its part of the pairs of regions (grow.cuh), pairs of all regions are counted by batches of tiles
 * (merge.cuh), and the last rounds of growth and merging run in a single block (gather.cuh, single_block.cuh).
 * Shared memory: one dynamic piece of all that a block may have. In each phase it holds SgSums and what a file's
 * comment says, SgTilePairs, or SgLocal.
 * Race free: what a phase writes, another block reads only after a grid barrier. Inside a phase all shared words are
 * changed by atomics whose result no order changes (sums, minima, bit-wise or), or by stores that shorten a path of
 * the forest to the same root. Lists get their entries in an arbitrary order, and nothing depends on it.
 * Late blocks: one word is a sum and a gate, control->arrived (SgGrid says why a block may be late there). The other
 * counters of SgControl are sums only. A phase adds to them, later ones read them behind a grid barrier, and none adds
 * again. In merging, roots and picks have three entries that take turns: what a late block still reads of a round is
 * written again three rounds later.
 * Bound by latency: each phase is a chain of dependent accesses to the second-level cache. Therefore several chains
 * run at once in a thread (sg_find), cells of settled regions are one step from their root, and a block reserves its
 * entries of common lists at once. Sums are collected in shared memory first, because additions
 * to one address wait for each other. Times and what was tried: docs/notes/segment.md. */
#include "merge.cuh"

namespace cf {

namespace {

/* ---- step 10: numbers --------------------------------------------------- */

/* Stores the region of an index. `new_before`: how many regions before it continue no old one. */
__device__ void
sg_number_region (const SgWork &work, unsigned index, unsigned root, unsigned mean, unsigned cells, bool old,
    unsigned new_before)
{
  const unsigned free_id = work.recurrent ? work.before.scalars[1] : 1;
  const unsigned from = old ? 0xffffffffu - (unsigned) work.claim[root] : 0;
  const unsigned id = old ? work.before.id[from] : free_id + new_before;
  const unsigned birth = old ? work.before.birth[from] : work.frame;

  work.after.mean[index] = mean;
  work.after.cells[index] = cells;
  work.after.id[index] = id;
  work.after.birth[index] = birth;
  work.found[index] = CfSegmentRegion { { 0, 0, 0 }, 0, 0, { 0, 0, 0 }, sg_none, sg_none, 0, 0, id, birth };
  if (index == work.control->regions - 1) {
    work.after.scalars[0] = index + 1;
    work.after.scalars[1] = free_id + new_before + !old;
  }
}

/* Numbers the regions of an unordered list: a warp finds the rank of one region among all. */
__device__ void
sg_number_listed (const SgWork &work, const unsigned *list, unsigned n)
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

      work.rank[r] = smaller;
      sg_number_region (work, smaller, r, sg_mean (record), sg_cells (record), (record.x & sg_old) != 0, smaller_new);
    }
  }
}

__device__ void
sg_number_merged (const SgWork &work, const SgGrid &grid, const uint4 *merged, unsigned n)
{
  for (unsigned i = sg_spread (); i < n; i += grid.step ())
    sg_number_region (work, i, merged[i].x, merged[i].y, merged[i].z & ~(sg_old_bit | sg_marked),
        (merged[i].z & sg_old_bit) != 0, merged[i].w);
}

/* Stores the index of each cell before the borders move. `index`: the index of each value in `rank`; NULL: those values
 * are indices. */
__device__ void
sg_label_cells (const SgWork &work, const SgGrid &grid, const unsigned *index)
{
  constexpr unsigned per_thread = 4;

  for (unsigned base = grid.first (); base < (unsigned) work.n; base += per_thread * grid.step ()) {
    unsigned cell[per_thread], root[per_thread];

#pragma unroll
    for (unsigned k = 0; k < per_thread; k++)
      cell[k] = base + k * grid.step () < (unsigned) work.n ? base + k * grid.step () : base;
    sg_find<per_thread> (work.parent, cell, root);
#pragma unroll
    for (unsigned k = 0; k < per_thread; k++)
      root[k] = work.rank[root[k] & ~sg_settled];
#pragma unroll
    for (unsigned k = 0; k < per_thread && index; k++)
      root[k] = index[root[k]];
#pragma unroll
    for (unsigned k = 0; k < per_thread; k++)
      work.unmoved[cell[k]] = (uint16_t) root[k];
  }
}

/* ---- the kernel --------------------------------------------------------- */

__global__ void __launch_bounds__ (sg_threads, 1)
sg_graph_kernel (const __grid_constant__ SgWork work, unsigned size)
{
  extern __shared__ __align__ (16) unsigned char memory[];
  __shared__ SgBlock block;
  __shared__ SgGate gate;
  const SgGrid grid = { work.control, &gate };
  SgGathered merged;

  if (threadIdx.x == 0) {
    block.sums = (SgSums *) memory;
    gate = SgGate { };
    if (work.late.ns > 0)
      gate = SgGate { 0, 0, late_ns (work.late, 0), late_ns (work.late, 1) };
  }
  sg_clear_sums ((SgSums *) memory);
  __syncthreads ();
  sg_find_components (work, grid, &block, memory, size);
  const bool grows = sg_grow (work, grid, &block, memory, size);

  if (work.n_clicks > 0) {
    sg_mark_regions (work, grid);
    grid.barrier ();
  }
  sg_count_pairs (work, &block, (SgTilePairs *) memory, grows);
  grid.barrier ();
  sg_clear_sums ((SgSums *) memory);
  __syncthreads ();
  if (work.weak_borders) {
    sg_join_weak (work, grid);
    grid.barrier ();
    sg_add_weak (work, grid, &block);
    grid.barrier ();
  }
  const bool by_single_block = sg_merge_all (work, grid, &block, grows, memory, size, &merged);

  grid.barrier ();
  if (by_single_block) {
    sg_number_merged (work, grid, merged.region, work.control->regions);
  } else {
    sg_number_listed (work, work.root_list[work.control->parity & 1], work.control->regions);
    grid.barrier ();
  }
  sg_label_cells (work, grid, by_single_block ? merged.index : NULL);
}

/* Sets `*bytes` to the dynamic shared memory that a block may have. The size only decides where the merging runs. */
CfCode
sg_shared_size (unsigned *bytes, CfStatus *status)
{
  cudaFuncAttributes attributes;
  int device = 0, most = 0;
  CfCode code = cf_cuda_check (cudaGetDevice (&device), "asking for the device", status);

  if (code == CF_OK)
    code = cf_cuda_check (cudaDeviceGetAttribute (&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "asking for the shared memory", status);
  if (code == CF_OK)
    code = cf_cuda_check (cudaFuncGetAttributes (&attributes, sg_graph_kernel), sg_loading, status);
  if (code == CF_OK)
    *bytes = (unsigned) most - (unsigned) attributes.sharedSizeBytes;
  return code;
}

} // namespace

CfCode
sg_launch_graph (const SgWork &work, int blocks, unsigned size, cudaStream_t stream, CfStatus *status)
{
  void *arguments[] = { const_cast<SgWork *> (&work), &size };
  const cudaError_t error = cudaLaunchCooperativeKernel ((const void *) sg_graph_kernel, dim3 ((unsigned) blocks),
      dim3 (sg_threads), arguments, size, stream);
  const CfCode code = cf_cuda_check (error, "launching sg_graph_kernel", status);

  return code == CF_OK ? cf_cuda_launched ("sg_graph_kernel", status) : code;
}

CfCode
sg_init_graph (unsigned *size, CfStatus *status)
{
  int per_sm = 0;
  CfCode code = sg_shared_size (size, status);

  if (code == CF_OK && *size < sizeof (SgTilePairs))
    return cf_fail (status, CF_UNSUPPORTED, "this GPU's blocks have too little shared memory for the segmentation");
  if (code == CF_OK)
    code = cf_cuda_check (cudaFuncSetAttribute (sg_graph_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
        (int) *size), sg_loading, status);
  if (code == CF_OK)
    code = cf_cuda_check (cudaOccupancyMaxActiveBlocksPerMultiprocessor (&per_sm, sg_graph_kernel, sg_threads, *size),
        "asking how many blocks fit", status);
  if (code == CF_OK && per_sm < 1)
    return cf_fail (status, CF_UNSUPPORTED, "this GPU's multiprocessors have too few resources for the segmentation");
  return code;
}

} // namespace cf
