/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/gpu/moves.cu: the last part of step 10 of the segmentation: the borders move.
 *
 * Map: a block makes a tile of 32 x 32 cells. It reads the indices of as many more cells around it as there are moves;
 * each move makes one ring of cells less. A thread takes a cell after another.
 * Shared memory: the regions of cells before a move and behind it, which take turns.
 * Race free: what is read of other tiles is what the graph kernel left, in another array than the result; a block
 * barrier stands between two moves.
 * Bound: no profile is recorded; a tile without a border, or where none moves, ends early. */
#include "internal.cuh"

namespace cf {

namespace {

constexpr int move_width = sg_tile + 2 * CF_SEGMENT_MOVES; /* of the tile with its rings */
constexpr int move_cells = move_width * move_width;
constexpr int move_rounds = 5, move_threads = move_cells / move_rounds;
static_assert (move_threads * move_rounds == move_cells && move_threads % 32 == 0, "all threads have cells");
/* In place of an index: outside the frame. There are at most 65535 regions, so no index is as large. */
constexpr unsigned sg_no_cell = 0xffff;

/* The cells of a tile and of the rings around it: the index and the mean of the region of each. */
struct SgMoveTile {
  unsigned mean[move_cells];
  uint16_t index[move_cells];
};

/* Returns the entry, `at` or one beside it, whose region cell c takes. q is the own colour of the cell. */
__device__ __forceinline__ int
sg_nearest_entry (const SgWork &work, const SgMoveTile &tile, int at, unsigned c, unsigned q)
{
  const int entry[5] = { at, at - move_width, at - 1, at + 1, at + move_width };
  const unsigned own = tile.index[at];
  unsigned least = sg_distance (q, tile.mean[at]);
  int best = at;

#pragma unroll
  for (int k = 1; k < 5; k++) {
    const unsigned beside = tile.index[entry[k]];
    const unsigned distance = beside != own && beside != sg_no_cell ? sg_distance (q, tile.mean[entry[k]]) : ~0u;

    best = distance < least ? entry[k] : best;
    least = min (least, distance);
  }
  return best != at && work.recurrent && work.after.id[own] == work.before.id[work.before.label[c]] ? at : best;
}

__global__ void __launch_bounds__ (move_threads)
sg_moves_kernel (const __grid_constant__ SgWork work)
{
  __shared__ SgMoveTile tile[2];
  const int x0 = (int) blockIdx.x * sg_tile - CF_SEGMENT_MOVES, y0 = (int) blockIdx.y * sg_tile - CF_SEGMENT_MOVES;
  const unsigned first = work.unmoved[(y0 + CF_SEGMENT_MOVES) * work.columns + x0 + CF_SEGMENT_MOVES];
  unsigned q[move_rounds];
  bool differs = false;
  int now = 0;

#pragma unroll
  for (int r = 0; r < move_rounds; r++) {
    const int i = (int) threadIdx.x + r * move_threads, x = x0 + i % move_width, y = y0 + i / move_width;
    const bool inside = x >= 0 && y >= 0 && x < work.columns && y < work.rows;
    const int c = inside ? y * work.columns + x : 0;
    const unsigned index = work.unmoved[c];

    q[r] = work.raw[c];
    differs = differs || (inside && index != first);
    tile[0].index[i] = (uint16_t) (inside ? index : sg_no_cell);
    tile[0].mean[i] = work.after.mean[index];
  }
  for (int ring = 1; ring <= CF_SEGMENT_MOVES && __syncthreads_or (differs); ring++) {
    differs = false;
#pragma unroll
    for (int r = 0; r < move_rounds; r++) {
      const int i = (int) threadIdx.x + r * move_threads, x = i % move_width, y = i / move_width;
      const bool moves = x >= ring && y >= ring && x < move_width - ring && y < move_width - ring
          && tile[now].index[i] != sg_no_cell;
      const unsigned c = (unsigned) ((y0 + y) * work.columns + x0 + x);
      const int from = moves ? sg_nearest_entry (work, tile[now], i, c, q[r]) : i;

      tile[now ^ 1].index[i] = tile[now].index[from];
      tile[now ^ 1].mean[i] = tile[now].mean[from];
      differs = differs || from != i;
    }
    now ^= 1;
  }
  __syncthreads ();
  for (int i = (int) threadIdx.x; i < sg_tile * sg_tile; i += move_threads) {
    const int x = CF_SEGMENT_MOVES + i % sg_tile, y = CF_SEGMENT_MOVES + i / sg_tile;

    if (x0 + x < work.columns && y0 + y < work.rows)
      work.after.label[(y0 + y) * work.columns + x0 + x] = tile[now].index[y * move_width + x];
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
