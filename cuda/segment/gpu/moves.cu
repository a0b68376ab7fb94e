/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/gpu/moves.cu: the last part of step 10 of the segmentation: the borders move.
 *
 * Map: a block makes a tile of 64 x 32 cells. It reads so many more cells around it that what their moves miss does not
 * reach the tile. A thread loads four pairs of cells, then lists which cells of two squares of 2 x 2 are at a border
 * and may move, in a list for each turn; then it has every 480th cell of the list whose turn it is.
 * Shared memory: of each cell the index and the mean of the region, the own colour and flags; and the lists. Cells
 * beside one that moves are listed, too, if they are not yet.
 * Race free: what is read of other tiles is what the graph kernel left, in another array than the result. A cell that
 * has its turn reads its eight neighbours, none of which has, and lists neighbours for other turns only, by atomics; a
 * block barrier stands between two turns. The order of the lists is arbitrary, and nothing depends on it.
 * Bound by the instructions of loading and listing, and by the latency of twelve turns: a twentieth to an eighth of the
 * cells are listed, when a frame is followed nearly none, as most have the region that they had before. */
#include "internal.cuh"

namespace cf {

namespace {

/* Cells around a tile. A turn reads the cells beside its own; of the turns one behind the other, every second one is of
 * other columns, and so with rows. So what does not move at the outermost cells comes no nearer to the tile than the
 * turns change their columns, or rows: twice in four turns. Even, for cells of the tile and of the frame to have the
 * same turns. */
constexpr int move_margin = 2 * CF_SEGMENT_MOVES + 2;
constexpr int move_columns = 64, move_rows = 32; /* of a tile */
constexpr int move_width = move_columns + 2 * move_margin, move_height = move_rows + 2 * move_margin;
constexpr int move_across = move_width / 2, move_squares = move_across * move_height / 2;
constexpr int move_threads = move_squares / 2, move_lines = move_threads / move_across;
static_assert (move_lines * move_across == move_threads, "all pairs of cells of a thread have the same columns");
/* In place of an index: outside the frame. There are at most 65535 regions, so no index is as large. */
constexpr unsigned sg_no_cell = 0xffff;
/* Flags beside the own colour of a cell: it is listed; it never moves; it has another region than in the last frame. */
constexpr unsigned move_listed = 1u << 24, move_never = 1u << 25, move_away = 1u << 26;

/* The cells of a tile and of its margins. A row above and one below may be read, but are not used. */
struct SgMoveTile {
  alignas (8) unsigned mean[move_width * (move_height + 2)], q[move_width * (move_height + 2)];
  union {
    uint16_t index[move_width * (move_height + 2)];
    unsigned pair[move_across * (move_height + 2)]; /* the same: the right one << 16 */
  };
  uint16_t cell[4][move_squares]; /* lists by turn */
  unsigned n[4];
};

/* Loads the tile, whose first cell is at (x0, y0) of the frame. Returns whether the thread has a cell that is not of
 * region `first`. */
__device__ __forceinline__ bool
sg_load_tile (const SgWork &work, SgMoveTile *tile, int x0, int y0, unsigned first)
{
  const int column = (int) threadIdx.x % move_across * 2, row = (int) threadIdx.x / move_across;
  unsigned index[8], mean[8], q[8];
  bool inside[8], differs = false;

#pragma unroll
  for (int i = 0; i < 8; i++) {
    const int x = column + i % 2, y = row + i / 2 * move_lines;
    const bool outermost = x == 0 || y == 0 || x == move_width - 1 || y == move_height - 1;

    inside[i] = (unsigned) (x0 + x) < (unsigned) work.columns && (unsigned) (y0 + y) < (unsigned) work.rows;
    const unsigned c = inside[i] ? (unsigned) ((y0 + y) * work.columns + x0 + x) : 0;

    index[i] = work.unmoved[c];
    mean[i] = work.after.mean[index[i]];
    q[i] = work.raw[c] | (!inside[i] || outermost ? move_never : 0);
    differs = differs || (inside[i] && index[i] != first);
  }
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    const int at = (row + i / 2 * move_lines + 1) * move_width + column;

    tile->pair[at / 2] = (inside[i] ? index[i] : sg_no_cell) | (inside[i + 1] ? index[i + 1] : sg_no_cell) << 16;
    *(uint2 *) (tile->mean + at) = make_uint2 (mean[i], mean[i + 1]);
    *(uint2 *) (tile->q + at) = make_uint2 (q[i], q[i + 1]);
  }
  return differs;
}

/* Returns which of two cells side by side have a neighbour of another region, as a number of 16 bits for each. */
__device__ __forceinline__ unsigned
sg_at_border (const unsigned *pair)
{
  const unsigned own = pair[0];

  return (own ^ pair[-move_across]) | (own ^ pair[move_across]) | (own ^ __byte_perm (pair[-1], own, 0x5432))
      | (own ^ __byte_perm (own, pair[1], 0x5432));
}

/* Lists the cells at borders. All threads of the block must call. */
__device__ __forceinline__ void
sg_list_borders (SgMoveTile *tile)
{
  const unsigned lane = threadIdx.x & 31, lower = (1u << lane) - 1;
  const int first = ((int) threadIdx.x / move_across * 2 + 1) * move_width + (int) threadIdx.x % move_across * 2;
  unsigned mask[8], n = 0; /* n: of lanes 0 to 3: the warp's cells of a turn, then where they begin in the list */
  bool has[8];
  int at[8];

#pragma unroll
  for (int i = 0; i < 8; i++) {
    const int turn = i % 4, right = (turn ^ turn >> 1) & 1;
    const int left = first + (i / 4 * 2 * move_lines + turn / 2) * move_width;

    at[i] = left + right;
    has[i] = (sg_at_border (tile->pair + left / 2) >> 16 * right & 0xffff) != 0 && !(tile->q[at[i]] & move_never);
  }
#pragma unroll
  for (int i = 0; i < 8; i++) {
    mask[i] = __ballot_sync (~0u, has[i]);
    n += lane == i % 4 ? (unsigned) __popc (mask[i]) : 0;
  }
  if (lane < 4)
    n = atomicAdd (&tile->n[lane], n);
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const unsigned before = i < 4 ? 0 : (unsigned) __popc (mask[i - 4]);
    const unsigned to = __shfl_sync (~0u, n, i % 4) + before + (unsigned) __popc (mask[i] & lower);

    if (!has[i])
      continue;
    tile->cell[i % 4][to] = (uint16_t) at[i];
    tile->q[at[i]] |= move_listed;
  }
}

/* Has the cell `at` of the tile the region that it had in the last frame? */
__device__ __forceinline__ bool
sg_is_back (const SgWork &work, const SgMoveTile &tile, int at, int x0, int y0)
{
  const int c = (y0 + at / move_width - 1) * work.columns + x0 + at % move_width;

  return work.recurrent && work.after.id[tile.index[at]] == work.before.id[work.before.label[c]];
}

/* Finds out which of the listed cells stay where they are, three warps a list. Returns whether a cell of the thread
 * may move. */
__device__ __forceinline__ bool
sg_find_stays (const SgWork &work, SgMoveTile *tile, int x0, int y0)
{
  constexpr int lists = 4, each = move_threads / 32 / lists * 32; /* threads of a list */
  const unsigned turn = threadIdx.x / each % lists;
  bool any = false;

  for (unsigned k = threadIdx.x % each; threadIdx.x < lists * each && k < tile->n[turn]; k += each) {
    const int at = tile->cell[turn][k];
    const bool stays = sg_is_back (work, *tile, at, x0, y0);

    tile->q[at] |= stays ? move_never : move_away;
    any = any || !stays;
  }
  return any;
}

/* Lists two cells beside one that has moved, if they are not yet. */
__device__ __forceinline__ void
sg_list_cells (SgMoveTile *tile, int turn, int a, int b)
{
  const unsigned has_a = !(atomicOr (&tile->q[a], move_listed) & (move_listed | move_never));
  const unsigned has_b = !(atomicOr (&tile->q[b], move_listed) & (move_listed | move_never));
  const unsigned to = has_a | has_b ? atomicAdd (&tile->n[turn], has_a + has_b) : 0;

  if (has_a)
    tile->cell[turn][to] = (uint16_t) a;
  if (has_b)
    tile->cell[turn][to + has_a] = (uint16_t) b;
}

/* Returns the place in the tile, `at` or one beside it, whose region the cell there takes. */
__device__ __forceinline__ int
sg_nearest_cell (const SgWork &work, const SgMoveTile &tile, int at, int x0, int y0)
{
  const int place[4] = { at - move_width, at - 1, at + 1, at + move_width };
  const int around[5] = { 0, 2, 3, 1, 0 };
  const int corner[4] = { 1 - move_width, 1 + move_width, move_width - 1, -1 - move_width };
  const uint16_t *index = tile.index + at;
  const unsigned own = *index, q = tile.q[at] & 0xffffff;
  unsigned least = sg_distance (q, tile.mean[at]);
  bool same[4];
  int best = at, parts = 0;

#pragma unroll
  for (int k = 0; k < 4; k++) {
    const unsigned other = tile.index[place[k]], distance = sg_distance (q, tile.mean[place[k]]);
    const bool nearer = distance < least && other != sg_no_cell;

    best = nearer ? place[k] : best;
    least = nearer ? distance : least;
    same[k] = other == own;
  }
  if (best == at || (tile.q[at] & move_never))
    return at;
  /* would the region fall apart here? */
#pragma unroll
  for (int k = 0; k < 4; k++) /* above, right, below, left */
    parts += same[around[k]] & !(same[around[k + 1]] & (index[corner[k]] == own));

  return parts > 1 || (!(tile.q[at] & move_away) && sg_is_back (work, tile, at, x0, y0)) ? at : best;
}

/* Moves the cells whose turn it is. Returns whether the thread has moved any. */
__device__ __forceinline__ bool
sg_move_cells (const SgWork &work, SgMoveTile *tile, int turn, int x0, int y0)
{
  bool moved = false;

  for (unsigned k = threadIdx.x; k < tile->n[turn]; k += move_threads) {
    const int at = tile->cell[turn][k], from = sg_nearest_cell (work, *tile, at, x0, y0);

    if (from == at)
      continue;
    tile->index[at] = tile->index[from];
    tile->mean[at] = tile->mean[from];
    tile->q[at] &= ~move_away;
    sg_list_cells (tile, turn ^ 1, at - 1, at + 1);
    sg_list_cells (tile, turn ^ 3, at - move_width, at + move_width);
    moved = true;
  }
  return moved;
}

__global__ void __launch_bounds__ (move_threads, 2)
sg_moves_kernel (const __grid_constant__ SgWork work)
{
  __shared__ SgMoveTile tile;
  const int x0 = (int) blockIdx.x * move_columns - move_margin, y0 = (int) blockIdx.y * move_rows - move_margin;
  const unsigned first = work.unmoved[(y0 + move_margin) * work.columns + x0 + move_margin];

  if (threadIdx.x < 4)
    tile.n[threadIdx.x] = 0;
  if (__syncthreads_or (sg_load_tile (work, &tile, x0, y0, first))) {
    sg_list_borders (&tile);
    __syncthreads ();
    bool moved = sg_find_stays (work, &tile, x0, y0);

    for (int move = 0; move < CF_SEGMENT_MOVES && __syncthreads_or (moved); move++) {
      moved = false;
      for (int turn = 0; turn < 4; turn++) {
        if (turn > 0)
          __syncthreads ();
        moved = sg_move_cells (work, &tile, turn, x0, y0) || moved;
      }
    }
    __syncthreads ();
  }
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const int column = (int) threadIdx.x % move_across * 2 + i % 2;
    const int row = (int) threadIdx.x / move_across + i / 2 * move_lines;

    if ((unsigned) (column - move_margin) < move_columns && (unsigned) (row - move_margin) < move_rows
        && x0 + column < work.columns && y0 + row < work.rows)
      work.after.label[(y0 + row) * work.columns + x0 + column] = tile.index[(row + 1) * move_width + column];
  }
}

} // namespace

CfCode
sg_launch_moves (const SgWork &work, cudaStream_t stream, CfStatus *status)
{
  const dim3 grid ((unsigned) (work.columns + move_columns - 1) / move_columns,
      (unsigned) (work.rows + move_rows - 1) / move_rows);

  sg_moves_kernel<<<grid, move_threads, 0, stream>>> (work);
  return cf_cuda_launched ("sg_moves_kernel", status);
}

CfCode
sg_init_moves (CfStatus *status)
{
  return load_kernels ({ (const void *) sg_moves_kernel }, sg_loading, status);
}

} // namespace cf
