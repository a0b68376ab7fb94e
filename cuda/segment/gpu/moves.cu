/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/gpu/moves.cu: the last part of step 10 of the segmentation: the borders move.
 *
 * Map: a block makes a tile of 32 x 32 cells. It reads the indices of as many more cells around it as there are moves;
 * each move makes one ring of cells less. A thread takes a cell after another.
 * Shared memory: the indices before a move and behind it, which take turns.
 * Race free: what is read of other tiles is what the graph kernel left, in another array than the result; a block
 * barrier stands between two moves.
 * Bound: no profile is recorded; a tile without a border, or where none moves, ends early. */
#include "internal.cuh"

namespace cf {

namespace {

constexpr int move_threads = 256;
constexpr int move_width = sg_tile + 2 * CF_SEGMENT_MOVES; /* of the tile with its rings */
constexpr int move_cells = move_width * move_width;
/* In place of an index: outside the frame. There are at most 65535 regions, so no index is as large. */
constexpr unsigned sg_no_cell = 0xffff;

/* Returns the region that a cell takes: that of the entry `at` or of an entry beside it. c is the cell. */
__device__ __forceinline__ unsigned
sg_nearest_region (const SgWork &work, const uint16_t *at, unsigned c)
{
  const unsigned own = *at, beside[4] = { at[-move_width], at[-1], at[1], at[move_width] };
  const bool border = (beside[0] != own && beside[0] != sg_no_cell) || (beside[1] != own && beside[1] != sg_no_cell)
      || (beside[2] != own && beside[2] != sg_no_cell) || (beside[3] != own && beside[3] != sg_no_cell);
  unsigned best = own;

  if (!border || (work.recurrent && work.after.id[own] == work.before.id[work.before.label[c]]))
    return own;
  const unsigned q = work.raw[c];
  unsigned least = sg_distance (q, work.after.mean[own]);

#pragma unroll
  for (int k = 0; k < 4; k++) {
    const unsigned distance = beside[k] != sg_no_cell ? sg_distance (q, work.after.mean[beside[k]]) : ~0u;

    best = distance < least ? beside[k] : best;
    least = min (least, distance);
  }
  return best;
}

__global__ void __launch_bounds__ (move_threads)
sg_moves_kernel (const __grid_constant__ SgWork work)
{
  __shared__ uint16_t index[2][move_cells];
  const int x0 = (int) blockIdx.x * sg_tile - CF_SEGMENT_MOVES, y0 = (int) blockIdx.y * sg_tile - CF_SEGMENT_MOVES;
  const unsigned first = work.unmoved[(y0 + CF_SEGMENT_MOVES) * work.columns + x0 + CF_SEGMENT_MOVES];
  bool differs = false;
  int now = 0;

#pragma unroll
  for (int i = (int) threadIdx.x; i < move_cells; i += move_threads) {
    const int x = x0 + i % move_width, y = y0 + i / move_width;
    const bool inside = x >= 0 && y >= 0 && x < work.columns && y < work.rows;

    index[0][i] = inside ? work.unmoved[y * work.columns + x] : (uint16_t) sg_no_cell;
    differs = differs || (inside && index[0][i] != first);
  }
  for (int ring = 1; ring <= CF_SEGMENT_MOVES && __syncthreads_or (differs); ring++) {
    differs = false;
    for (int i = (int) threadIdx.x; i < move_cells; i += move_threads) {
      const int x = i % move_width, y = i / move_width;
      const bool has_all = x >= ring && y >= ring && x < move_width - ring && y < move_width - ring;
      const unsigned own = index[now][i];
      const unsigned to = has_all && own != sg_no_cell
          ? sg_nearest_region (work, index[now] + i, (unsigned) ((y0 + y) * work.columns + x0 + x)) : own;

      index[now ^ 1][i] = (uint16_t) to;
      differs = differs || to != own;
    }
    now ^= 1;
  }
  __syncthreads ();
  for (int i = (int) threadIdx.x; i < sg_tile * sg_tile; i += move_threads) {
    const int x = CF_SEGMENT_MOVES + i % sg_tile, y = CF_SEGMENT_MOVES + i / sg_tile;

    if (x0 + x < work.columns && y0 + y < work.rows)
      work.after.label[(y0 + y) * work.columns + x0 + x] = index[now][y * move_width + x];
  }
}

} // namespace

CfCode
sg_launch_moves (const SgWork &work, cudaStream_t stream, CfStatus *status)
{
  const dim3 grid ((unsigned) (work.columns + sg_tile - 1) / sg_tile, (unsigned) (work.rows + sg_tile - 1) / sg_tile);

  sg_moves_kernel<<<grid, move_threads, 0, stream>>> (work);
  return cf_cuda_launched ("sg_moves_kernel", status);
}

CfCode
sg_init_moves (CfStatus *status)
{
  return load_kernels ({ (const void *) sg_moves_kernel }, sg_loading, status);
}

} // namespace cf
