/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/gpu/running.cu: the running background and motion on CUDA (median/running.h), in up to three kernels.
 *
 * blocks: steps 1 and 2 of the contract. A warp has two neighbouring cells, a thread a block of 4 x 4 pixels: lane l
 * has block (l & 7, l >> 3) of the 8 x 4 blocks. A block of 256 threads has 16 cells of a row. Sums of a cell are
 * counted in the bits of votes, and added up by tile.
 * cells: steps 3 to 5, with the same map. Every block of threads finds out by itself which tiles are smooth. For output
 * result these threads also copy the frame, while blocks still runs.
 * pixels: what the outputs other than result need. A block of 256 threads has 128 x 32 samples of a view, a thread four
 * neighbours of four rows: of luma, or of all three colors, one block of the contract.
 *
 * Shared memory: a few sums.
 * Races: none. A thread writes only its own blocks and samples; sums of tiles are added with atomics by blocks, read by
 * cells, and cleared by the cells of another frame: there are two sets, used in turn, as is what the next frame reads
 * of a frame's levels. Kernels of one stream follow each other: each waits (griddep_wait ()) before it reads what an
 * earlier one wrote or writes what an earlier one reads. Only the copy of the frame does not wait: cells starts when
 * all blocks of threads of blocks have waited, so what came before the frame has completed.
 * Bound: blocks by memory, one read of what decides; cells by latency, or by the copy; pixels by memory: a sample is
 * read, its background read and written, and the output written. */
#include "internal.h"
#include "median/running.h"

#include <string.h>

namespace {

using namespace cf;

constexpr int threads = 256, warp_cells = 2, block_cells = threads / 32 * warp_cells;
constexpr int side = CF_RUNNING_CELL / CF_RUNNING_BLOCK; /* blocks of a cell's side */
constexpr int tile_w = 128, tile_h = 32;                 /* samples of a block of `pixels` */
constexpr unsigned all_lanes = 0xffffffff, first_cell = 0x0f0f0f0f;
constexpr int sums = 8; /* of a tile: two words of 16 bytes */

/* Sums of a tile, and of its window. The first two are read together. */
enum { sum_changed, sum_edges, sum_drift, sum_steady, sum_cells, sum_distinct, sum_restless };

/* Sums of the frame. They follow the sums of the tiles. The sum of x has 64 bits. */
enum { scene_x, scene_equal = 2, scene_dark, scene_bright, scene_edges, scene_back, scene_same };

/* What `blocks` leaves of a cell, in two words: L, U, D, E of 5 bits each, Y + 32; the drift. */
enum { restless_at = 5, distinct_at = 10, edges_at = 15, balance_at = 20 };
enum { ghost_bit = 128 }; /* beside q */

/* What `cells` leaves of a block for `pixels`: its CF_RUNNING_FOLLOW, _HOLD or _TAKE, whether it is changed in a cell
 * that moves, and 3 T >> 4. */
enum { fate_of = 3, masks = 4, level_at = 8 };

/* A frame to copy. */
struct Copy {
  int n; /* planes; 0: nothing to copy */
  struct {
    const uint8_t *from;
    uint8_t *to;
    long long from_pitch, to_pitch; /* bytes */
    int bytes, rows;                /* bytes: of a row */
    int words;                      /* of 16 bytes, which are copied at once */
  } plane[CF_MAX_PLANES];
};

struct RunningWork {
  Plane color[3]; /* what decides */
  Copy copy;
  int n_colors, shift;
  int columns, rows, tile, tiles_x, tiles_y;
  int across; /* blocks of threads of a row of cells */
  int real_x, real_y; /* blocks that have pixels of the frame */
  int blocks_x; /* columns x side: blocks of a row */
  bool first, wants_blocks;
  uint16_t *x, *before, *back, *noise; /* of each block */
  uint16_t *block;                     /* of each block */
  int2 *cell;
  uint2 *bits;      /* of two cells of a warp: lanes whose blocks are changed, distinct */
  uint2 *counted;   /* of two cells: c1, c2 */
  uint8_t *still, *stood; /* of each cell: q, up to CF_RUNNING_STILL, and whether it is a ghost; in the frame before */
  int *sum, *clear; /* of each tile: this frame's sums, and those to clear */
  const CfRunningLevel *level;
  CfRunningLevel *next;
  uint16_t *state; /* pinned host memory: of each cell */
  CfScene *scene;  /* pinned host memory */
};

struct PixelWork {
  Launch launch;
  uint8_t *background;
  long long offset[CF_MAX_VIEWS]; /* of the background of a view, bytes */
  int pitch[CF_MAX_VIEWS];        /* bytes, a multiple of 64 */
  uint8_t w_sub[CF_MAX_VIEWS], h_sub[CF_MAX_VIEWS];
  const uint16_t *block;
  int blocks_x, blocks_y;
  int step, hold, largest;
  int n_colors; /* views that decide: the first 1 or 3 */
  int output;   /* CfMedianOutput */
  bool begins;
};

/* Loads four samples of four rows from (x, y) on, which is inside the plane; those beyond its right or lower edge are
 * equal to the nearest one. All rows are loaded before one is used. */
template<int BYTES> __device__ __forceinline__ void
load_square (const Plane &plane, int x, int y, Quad q[4])
{
  const uint8_t *first = plane.in + y * plane.in_pitch;
  const auto load_rows = [&] (auto load) {
#pragma unroll
    for (int i = 0; i < 4; i++)
      q[i] = load (plane, first + (unsigned) min (i, plane.height - 1 - y) * (unsigned) plane.in_pitch, x);
  };

  if (!plane.in_words || x + 3 >= plane.width || (BYTES == 2 && plane.step > 2))
    load_rows (load_quad_clamped);
  else if (plane.step == 1)
    load_rows (load_quad_words<BYTES, 1>);
  else if (plane.step == 2)
    load_rows (load_quad_words<BYTES, 2>);
  else if (plane.step == 3)
    load_rows (load_quad_words<1, 3>);
  else
    load_rows (load_quad_words<1, 4>);
}

/* ---- blocks ------------------------------------------------------------- */

struct Place {
  int first_cx;   /* of the block of threads */
  int lane, pair; /* in the warp; the warp's number in the row: it has two cells */
  int cx, cy;     /* the thread's cell */
  int bx, by, at; /* the thread's block; at: its neighbours below are blocks_x apart */
  bool inside, real; /* the cell, and the block, which has pixels of the frame */
  unsigned mine; /* the lanes of the thread's cell */
};

__device__ __forceinline__ Place
place_of (const RunningWork &w)
{
  Place p;

  p.first_cx = (int) blockIdx.x % w.across * block_cells;
  p.lane = (int) threadIdx.x % 32;
  p.pair = p.first_cx / warp_cells + (int) threadIdx.x / 32;
  p.bx = p.pair * warp_cells * side + (p.lane & 7);
  p.cx = p.bx / side;
  p.cy = (int) blockIdx.x / w.across;
  p.by = p.cy * side + (p.lane >> 3);
  p.at = p.by * w.blocks_x + p.bx;
  p.inside = p.cx < w.columns;
  p.real = p.bx < w.real_x && p.by < w.real_y;
  p.mine = p.lane & side ? ~first_cell : first_cell;
  return p;
}

template<int BYTES> __device__ __forceinline__ int
sum_of (const Plane &plane, int bx, int by)
{
  unsigned sum = 0;
  Quad q[CF_RUNNING_BLOCK];

  load_square<BYTES> (plane, min (bx * CF_RUNNING_BLOCK, plane.width - 1),
      min (by * CF_RUNNING_BLOCK, plane.height - 1), q);
#pragma unroll
  for (int i = 0; i < CF_RUNNING_BLOCK; i++)
    if (BYTES == 1)
      sum = __dp4a (q[i].lo, 0x01010101u, sum);
    else
      sum += (q[i].lo & 0xffff) + (q[i].lo >> 16) + (q[i].hi & 0xffff) + (q[i].hi >> 16);
  return (int) sum;
}

template<int BYTES> __device__ __forceinline__ int
value_of (const RunningWork &w, const Place &p)
{
  const int sum = sum_of<BYTES> (w.color[0], p.bx, p.by);

  if (w.n_colors == 1)
    return sum >> w.shift;
  return (2 * sum + 5 * sum_of<BYTES> (w.color[1], p.bx, p.by) + sum_of<BYTES> (w.color[2], p.bx, p.by)) >> w.shift;
}

__device__ __forceinline__ int
clamped (int v, int s)
{
  return min (max (v, -s), s);
}

__device__ __forceinline__ bool
is_distinct (const RunningWork &w, const Place &p, int x, int threshold)
{
  int low = 65535, high = 0;

#pragma unroll
  for (int v = -1; v <= 1; v++)
#pragma unroll
    for (int u = -1; u <= 1; u++) {
      const int at = min (max (p.by + v, 0), w.real_y - 1) * w.blocks_x + min (max (p.bx + u, 0), w.real_x - 1);
      const int b = w.back[at];

      low = min (low, b);
      high = max (high, b);
    }
  return max (low - x, x - high) > threshold;
}

/* Compares a thread's block with the block of the lane `away`. Returns 0 if the edge between them has not changed.
 * Otherwise returns 1, plus 2 if the edge is stronger than the background's, plus 4 if it is weaker. All lanes call
 * it. */
__device__ __forceinline__ int
edge (int x, int back, int threshold, int away)
{
  const int xb = __shfl_down_sync (all_lanes, x, away), bb = __shfl_down_sync (all_lanes, back, away);
  const int t = max (threshold, __shfl_down_sync (all_lanes, threshold, away)), te = t + t / 4 + t / 8;
  const int now = abs (xb - x), then = abs (bb - back);

  if (abs (xb - x - (bb - back)) <= te || abs (xb * back - x * bb) <= te * max (16, min (back, bb)))
    return 0;
  return 1 + (now > then ? 2 : 0) + (now < then ? 4 : 0);
}

/* Returns the number of votes of the thread's cell. */
__device__ __forceinline__ int
votes (bool vote, unsigned mine)
{
  return __popc (__ballot_sync (all_lanes, vote) & mine);
}

/* Adds a warp's blocks to the sums of the frame. */
__device__ __forceinline__ void
survey (const Place &p, int x, int before, int back, int threshold, int scene[sums])
{
  const int xb = __shfl_down_sync (all_lanes, x, 1), bb = __shfl_down_sync (all_lanes, back, 1);
  const int t = max (threshold, __shfl_down_sync (all_lanes, threshold, 1)), te = t + t / 4 + t / 8;
  const int next_is_real = __shfl_down_sync (all_lanes, p.real, 1);
  const bool pair = p.lane % side < side - 1 && next_is_real;
  const bool up = pair && xb - x > te, down = pair && xb - x < -te;
  const bool back_up = pair && bb - back > te, back_down = pair && bb - back < -te;
  const int n[] = { 0, 0, votes (p.real && x == before, all_lanes), votes (p.real && x < CF_RUNNING_DARK, all_lanes),
    votes (p.real && x >= CF_RUNNING_BRIGHT, all_lanes), votes (up || down, all_lanes),
    votes (back_up || back_down, all_lanes), votes ((up && back_up) || (down && back_down), all_lanes) };
  int sum = x; /* 0 outside */

#pragma unroll
  for (int i = 16; i > 0; i /= 2)
    sum += __shfl_xor_sync (all_lanes, sum, i);
  if (p.lane == 0) {
    atomicAdd (&scene[scene_x], sum);
#pragma unroll
    for (int i = scene_equal; i < sums; i++)
      if (n[i])
        atomicAdd (&scene[i], n[i]);
  }
}

/* Takes a thread's block of frame 0. */
__device__ __forceinline__ void
begin (const RunningWork &w, const Place &p, int x)
{
  if (p.inside) {
    w.x[p.at] = w.back[p.at] = (uint16_t) x;
    w.noise[p.at] = CF_RUNNING_NOISE;
    w.block[p.at] = CF_RUNNING_TAKE;
    if ((p.lane & ~side) == 0) {
      w.still[p.cy * w.columns + p.cx] = 0;
      w.state[p.cy * w.columns + p.cx] = 0;
    }
    if (p.lane == 0)
      w.counted[p.cy * ((w.columns + 1) / 2) + p.pair] = make_uint2 (0, 0);
  }
  if (blockIdx.x == 0) {
    for (int i = (int) threadIdx.x; i < (w.tiles_x * w.tiles_y + 1) * sums; i += threads)
      w.clear[i] = 0;
    if (threadIdx.x == 0) {
      *w.next = CfRunningLevel { 0, 0 };
      *w.scene = CfScene ();
    }
  }
}

/* Adds the sums of a block of threads to the sums of its tiles and of the frame. */
__device__ __forceinline__ void
add_sums (const RunningWork &w, const Place &p, const int *tile_sum, const int *scene)
{
  for (int i = (int) threadIdx.x; i < (block_cells / 2 + 1) * sums; i += threads)
    if (tile_sum[i])
      atomicAdd (&w.sum[(p.cy / w.tile * w.tiles_x + p.first_cx / w.tile) * sums + i], tile_sum[i]);
  if (threadIdx.x < sums && scene[threadIdx.x]) {
    int *to = w.sum + w.tiles_x * w.tiles_y * sums;

    if (threadIdx.x == scene_x)
      atomicAdd ((unsigned long long *) to, (unsigned long long) scene[scene_x]);
    else
      atomicAdd (&to[threadIdx.x], scene[threadIdx.x]);
  }
}

template<int BYTES> __global__ void __launch_bounds__ (threads)
median_blocks_kernel (const __grid_constant__ RunningWork w)
{
  __shared__ int tile_sum[block_cells / 2 + 1][sums], scene[sums];
  const Place p = place_of (w);

  griddep_wait ();
  const bool has_past = p.inside && !w.first;
  const int back = has_past ? w.back[p.at] : 0, before = has_past ? w.before[p.at] : 0;
  const int noise = has_past ? w.noise[p.at] : 0, floor = has_past ? w.level->floor : 0;
  const int x = p.real ? value_of<BYTES> (w, p) : 0;

  if (w.first) {
    begin (w, p, x);
    return;
  }
  for (int i = (int) threadIdx.x; i < (block_cells / 2 + 1) * sums; i += threads)
    tile_sum[0][i] = 0;
  if (threadIdx.x < sums)
    scene[threadIdx.x] = 0;
  __syncthreads ();

  const int threshold = max (max (CF_RUNNING_LEAST, floor), noise);
  const bool changed = abs (x - back) > threshold;
  const unsigned changed_lanes = __ballot_sync (all_lanes, changed);
  const int n_changed = __popc (changed_lanes & p.mine), n_restless = votes (abs (x - before) > threshold, p.mine);
  int drift = changed || !p.inside ? 0 : clamped (x - back, CF_RUNNING_STEP);
  int n_distinct = 0, n_edges = 0, balance = 0;
  unsigned distinct_lanes = 0;

  drift += __shfl_xor_sync (all_lanes, drift, 1);
  drift += __shfl_xor_sync (all_lanes, drift, 2);
  drift += __shfl_xor_sync (all_lanes, drift, 8);
  drift += __shfl_xor_sync (all_lanes, drift, 16);
  survey (p, x, before, back, threshold, scene);
  if (__any_sync (all_lanes, n_changed >= CF_RUNNING_NEED)) {
    const int right = edge (x, back, threshold, 1), below = edge (x, back, threshold, 8);
    const int across = p.lane % side < side - 1 ? right : 0, down = p.lane >> 3 < side - 1 ? below : 0;

    distinct_lanes = __ballot_sync (all_lanes, changed && is_distinct (w, p, x, threshold));
    n_edges = votes (across & 1, p.mine) + votes (down & 1, p.mine);
    /* pairs with one changed block */
    const unsigned one = changed_lanes >> p.lane, one_across = (one ^ one >> 1) & 1, one_down = (one ^ one >> 8) & 1;

    balance = votes (one_across && across & 2, p.mine) + votes (one_down && down & 2, p.mine)
        - votes (one_across && across & 4, p.mine) - votes (one_down && down & 4, p.mine);
    n_distinct = __popc (distinct_lanes & p.mine);
    if (n_changed < CF_RUNNING_NEED)
      n_edges = balance = n_distinct = 0;
  }
  if (p.inside) {
    w.x[p.at] = (uint16_t) x;
    if (p.lane == 0)
      w.bits[p.cy * ((w.columns + 1) / 2) + p.pair] = make_uint2 (changed_lanes, distinct_lanes);
    if ((p.lane & ~side) == 0) {
      int *to = tile_sum[p.cx / w.tile - p.first_cx / w.tile];

      w.cell[p.cy * w.columns + p.cx] = make_int2 (n_changed | n_restless << restless_at | n_distinct << distinct_at |
              n_edges << edges_at | (balance + 32) << balance_at,
          drift);
      if (drift)
        atomicAdd (&to[sum_drift], drift);
      atomicAdd (&to[sum_steady], side * side - n_changed);
      if (n_restless)
        atomicAdd (&to[sum_restless], n_restless);
      if (n_changed) {
        atomicAdd (&to[sum_changed], n_changed);
        atomicAdd (&to[sum_edges], n_edges);
        atomicAdd (&to[sum_cells], n_changed >= CF_RUNNING_NEED);
        atomicAdd (&to[sum_distinct], n_distinct >= CF_RUNNING_NEED);
      }
    }
  }
  __syncthreads ();
  add_sums (w, p, tile_sum[0], scene);
}

/* ---- cells -------------------------------------------------------------- */

/* Returns the sum of two neighbouring sums over a tile's window. */
__device__ __forceinline__ int2
window_of (const RunningWork &w, int tile, int first)
{
  const int tx = tile % w.tiles_x, ty = tile / w.tiles_x;
  int2 sum = make_int2 (0, 0);

#pragma unroll
  for (int v = -1; v <= 1; v++)
#pragma unroll
    for (int u = -1; u <= 1; u++)
      if ((unsigned) (tx + u) < (unsigned) w.tiles_x && (unsigned) (ty + v) < (unsigned) w.tiles_y) {
        const int2 s = *(const int2 *) (w.sum + (tile + v * w.tiles_x + u) * sums + first);

        sum.x += s.x;
        sum.y += s.y;
      }
  return sum;
}

__device__ __forceinline__ bool
is_smooth (const RunningWork &w, int tile)
{
  const int2 s = window_of (w, tile, sum_changed);

  return s.x >= 32 && s.x > 3 * s.y;
}

/* Decides what the frame is; the first block of threads also leaves the levels of the next one. */
__device__ __forceinline__ CfRunningMode
decide (const RunningWork &w, int shared[4])
{
  const int n = w.columns * w.rows, lit = w.level->lit;
  int all[4] = {}; /* cells, distinct cells, restless blocks, cells in smooth tiles */
  CfRunningMode mode;

  if (threadIdx.x < 4)
    shared[threadIdx.x] = 0;
  __syncthreads ();
  for (int i = (int) threadIdx.x; i < w.tiles_x * w.tiles_y; i += threads) {
    const int4 s = *(const int4 *) (w.sum + i * sums + sum_cells);

    all[0] += s.x;
    all[1] += s.y;
    all[2] += s.z;
    if (s.x && is_smooth (w, i))
      all[3] += s.x;
  }
  for (int i = 0; i < 4; i++)
    if (all[i])
      atomicAdd (&shared[i], all[i]);
  __syncthreads ();
  mode.anew = 5 * shared[0] > 3 * n;
  mode.loose = !mode.anew && 20 * shared[0] > n && 2 * shared[1] < shared[0];
  mode.lights = !mode.anew && (long long) shared[3] * (lit > 0 ? 128 : 8) >= n;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    const int floor = w.level->floor;

    w.next->lit = mode.anew ? lit : max (0, (8 * shared[3] >= n ? 45 : lit) - 1);
    w.next->floor = 50ll * shared[2] > 16ll * n ? min (CF_RUNNING_FLOOR, floor + 8) : max (0, floor - 1);
    const int *s = w.sum + w.tiles_x * w.tiles_y * sums;
    const unsigned blocks = (unsigned) w.real_x * (unsigned) w.real_y;

    *w.scene = CfScene { blocks, (unsigned) s[scene_equal], (unsigned) s[scene_dark], (unsigned) s[scene_bright],
      (unsigned) s[scene_edges], (unsigned) s[scene_back], (unsigned) s[scene_same],
      (unsigned) (*(const unsigned long long *) s / blocks), mode.anew, mode.loose,
      !mode.anew && 8ll * shared[3] >= n };
  }
  return mode;
}

__device__ __forceinline__ int
tile_of (const RunningWork &w, int cx, int cy)
{
  return cy / w.tile * w.tiles_x + cx / w.tile;
}

/* Returns whether a cell counts, ghost or not. */
__device__ __forceinline__ bool
counts (const CfRunningMode &mode, int cell, bool lit)
{
  if (mode.anew)
    return false;
  if (mode.loose)
    return (cell >> distinct_at & 31) >= CF_RUNNING_NEED;
  return (cell & 31) >= CF_RUNNING_NEED && !lit;
}

/* Returns whether a cell that stands still is a ghost. */
__device__ __noinline__ bool
is_ghost (const RunningWork &w, const CfRunningMode &mode, int cx, int cy)
{
  bool beside = false;
  int sum = 0;

  for (int v = max (cy - 1, 0); v <= min (cy + 1, w.rows - 1); v++)
    for (int u = max (cx - 1, 0); u <= min (cx + 1, w.columns - 1); u++) {
      const int cell = w.cell[v * w.columns + u].x;

      if (counts (mode, cell, mode.lights && is_smooth (w, tile_of (w, u, v))))
        sum += (cell >> balance_at) - 32;
      beside |= (u != cx || v != cy) && w.stood[v * w.columns + u] & ghost_bit;
    }
  return sum < 0 || (sum == 0 && beside);
}

/* Copies a frame. The loads are past the L1 cache, which may have older bytes. */
__device__ __forceinline__ void
copy_frame (const Copy &copy)
{
  for (int i = 0; i < copy.n; i++) {
    const auto &plane = copy.plane[i];
    const int words = plane.words;

    for (int at = (int) blockIdx.x * threads + (int) threadIdx.x; at < words * plane.rows;
        at += (int) gridDim.x * threads) {
      const int y = at / words, x = at % words;

      ((uint4 *) (plane.to + y * plane.to_pitch))[x] = __ldcg ((const uint4 *) (plane.from + y * plane.from_pitch) + x);
    }
    for (int y = (int) blockIdx.x; y < plane.rows; y += (int) gridDim.x)
      for (int x = words * (int) sizeof (uint4) + (int) threadIdx.x; x < plane.bytes; x += threads)
        plane.to[y * plane.to_pitch + x] = __ldcg (plane.from + y * plane.from_pitch + x);
  }
}

/* So many blocks of threads on a multiprocessor, for many streams at once; 7.5 has room for 1024 threads. */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 800
constexpr int cells_blocks = 4;
#else
constexpr int cells_blocks = 6;
#endif

__global__ void __launch_bounds__ (threads, cells_blocks)
median_cells_kernel (const __grid_constant__ RunningWork w)
{
  __shared__ int shared[4];
  __shared__ uint16_t state[block_cells];
  const Place p = place_of (w);

  copy_frame (w.copy);
  griddep_wait ();
  /* what does not depend on the mode is loaded first */
  const int tile = tile_of (w, min (p.cx, w.columns - 1), p.cy);
  const int at = p.cy * w.columns + min (p.cx, w.columns - 1), pair = p.cy * ((w.columns + 1) / 2) + p.pair;
  const bool warp_inside = p.pair * warp_cells < w.columns;
  const uint2 bits = warp_inside ? w.bits[pair] : make_uint2 (0, 0);
  const uint2 then = warp_inside ? w.counted[pair] : make_uint2 (0, 0);
  const int cell = p.inside ? w.cell[at].x : 0;
  const int x = p.inside ? w.x[p.at] : 0, back = p.inside ? w.back[p.at] : 0, noise = p.inside ? w.noise[p.at] : 0;
  const CfRunningMode mode = decide (w, shared);
  const bool changed = (cell & 31) >= CF_RUNNING_NEED, lit = changed && mode.lights && is_smooth (w, tile);
  const bool counted = counts (mode, cell, lit);
  const int q = counted && (cell >> restless_at & 31) < 2 ? min ((w.stood[at] & ~ghost_bit) + 1, CF_RUNNING_STILL) : 0;
  const bool ghost = q >= CF_RUNNING_STILL && is_ghost (w, mode, p.cx, p.cy);
  const bool now = counted && !ghost, moves = now || (mode.loose && changed && !lit && !ghost);
  const bool take = ghost || (changed && lit);

  for (int i = (int) blockIdx.x * threads + (int) threadIdx.x; i < (w.tiles_x * w.tiles_y + 1) * sums;
      i += (int) gridDim.x * threads)
    w.clear[i] = 0;
  /* The warp's two cells share the words of bits: lanes of a cell that does not count are 0. */
  const unsigned now_lanes = __ballot_sync (all_lanes, now && p.inside);
  const unsigned k = (mode.loose ? bits.y : bits.x) & now_lanes;
  const bool sure = now && __popc (k & then.x & then.y & p.mine) >= CF_RUNNING_SURE;

  __syncwarp ();
  if (p.lane == 0 && warp_inside)
    w.counted[pair] = make_uint2 (k, then.x);
  if (p.inside) {
    const bool block_changed = bits.x >> p.lane & 1;
    int fate = take || mode.anew ? CF_RUNNING_TAKE : CF_RUNNING_FOLLOW;

    if (mode.loose || (now && block_changed))
      fate = CF_RUNNING_HOLD;
    if (w.wants_blocks) {
      const int threshold = max (max (CF_RUNNING_LEAST, w.level->floor), noise);

      w.block[p.at] = (uint16_t) (fate | (moves && block_changed ? masks : 0) | (3 * threshold >> 4) << level_at);
    }
    if (!mode.loose) {
      int to = fate == CF_RUNNING_TAKE ? x : back + clamped (x - back, CF_RUNNING_STEP);

      if (fate == CF_RUNNING_HOLD) {
        const int2 drift = window_of (w, tile, sum_drift);

        to = min (max (back + clamped (x - back, 1) + drift.x / max (1, drift.y), 0), 4095);
      }
      w.back[p.at] = (uint16_t) to;
      if (!mode.anew) {
        const int t = abs (x - (int) w.before[p.at]);
        const int v = 7 * t > 4 * noise ? noise + (noise >> 4) + 2 : noise - (noise >> 6) - 1;

        w.noise[p.at] = (uint16_t) min (max (v, CF_RUNNING_NOISE_MIN), CF_RUNNING_NOISE_MAX);
      }
    }
  }
  __syncwarp ();
  if ((p.lane & ~side) == 0) {
    if (p.inside)
      w.still[at] = (uint8_t) (q | (ghost ? ghost_bit : 0));
    state[p.cx % block_cells] = (uint16_t) ((cell & 31) | (moves ? CF_RUNNING_MOVES : 0) |
        (now ? CF_RUNNING_COUNTS : 0) | (sure ? CF_RUNNING_IS_SURE : 0));
  }
  __syncthreads ();
  if ((int) threadIdx.x < block_cells) {
    const int cx = p.first_cx + (int) threadIdx.x;

    if (cx < w.columns)
      w.state[p.cy * w.columns + cx] = state[threadIdx.x];
  }
}

/* ---- pixels ------------------------------------------------------------- */

/* Returns word k of four neighbours, a word of four samples of 8 bits or two of 16: two of each value. */
template<int BYTES> __device__ __forceinline__ unsigned
word_of (const int (&value)[2], int k)
{
  return BYTES == 1 ? __byte_perm (value[0], value[1], 0x4400) : __byte_perm (value[k], 0, 0x1010);
}

/* Moves a word of a background, each sample by at most its step. The largest step takes the sample. */
template<int BYTES> __device__ __forceinline__ unsigned
follow (unsigned back, unsigned sample, unsigned step)
{
  const auto half = [=] (unsigned pick) { /* two of the four samples of 8 bits */
    const unsigned b = __byte_perm (back, 0, pick), z = __byte_perm (sample, 0, pick), s = __byte_perm (step, 0, pick);

    return __viaddmax_s16x2 (b, __vneg2 (s), __viaddmin_s16x2 (b, s, z));
  };

  if (BYTES == 1)
    return __byte_perm (half (0x4240), half (0x4341), 0x6240);
  return __vmaxu2 (__vsubus2 (back, step), __vminu2 (__vaddus2 (back, step), sample));
}

__device__ __forceinline__ bool
is_masked (const PixelWork &w, int x, int y)
{
  int found = 0;

#pragma unroll
  for (int v = -1; v <= 1; v++)
#pragma unroll
    for (int u = -1; u <= 1; u++)
      found |= w.block[min (max (y + v, 0), w.blocks_y - 1) * w.blocks_x + min (max (x + u, 0), w.blocks_x - 1)];
  return found & masks;
}

__device__ __forceinline__ void
store (const Plane &plane, int x, int y, const Quad out[4])
{
#pragma unroll
  for (int i = 0; i < 4; i++)
    if (y + i < plane.height)
      store_quad (plane, plane.out + (y + i) * plane.out_pitch, x, out[i]);
}

/* Takes a thread's samples of a view. Leaves the words to store; for a mask it sets all bits of the samples whose
 * distance counts as motion. Where chroma is subsampled, the samples have two columns or rows of blocks. */
template<int BYTES, bool CHROMA> __device__ __forceinline__ void
take (const PixelWork &w, int view, int x, int y, Quad out[4])
{
  const Plane &plane = w.launch.plane[view];
  const int bx = CHROMA ? (x << w.w_sub[view]) / CF_RUNNING_BLOCK : x / CF_RUNNING_BLOCK;
  const int by = CHROMA ? (y << w.h_sub[view]) / CF_RUNNING_BLOCK : y / CF_RUNNING_BLOCK;
  const int right = CHROMA ? min (bx + w.w_sub[view], w.blocks_x - 1) : bx;
  const int below = CHROMA ? min (by + w.h_sub[view], w.blocks_y - 1) : by;
  const int rows = min (4, plane.height - y), gray = (w.largest + 1) / 2;
  uint8_t *at = w.background + w.offset[view] + (long long) y * w.pitch[view] + x * BYTES;
  int level = 0, step[2][2], masked[2][2] = { };
  Quad sample[4], back[4];

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const uint8_t *from = at + (unsigned) min (i, rows - 1) * (unsigned) w.pitch[view];
    const int u = i % 2 ? right : bx, v = i / 2 ? below : by, block = w.block[v * w.blocks_x + u];
    const int fate = w.begins ? CF_RUNNING_TAKE : block & fate_of;

    back[i] = BYTES == 1 ? Quad { *(unsigned *) from, 0 } : Quad { ((uint2 *) from)->x, ((uint2 *) from)->y };
    step[i / 2][i % 2] = fate == CF_RUNNING_TAKE ? 0xffff : fate == CF_RUNNING_HOLD ? w.hold : w.step;
    level = (block >> level_at) * w.step;
    if (w.output == CF_MEDIAN_STILL)
      masked[i / 2][i % 2] = is_masked (w, u, v) ? 0xffff : 0;
  }
  load_square<BYTES> (plane, x, y, sample);
#pragma unroll
  for (int i = 0; i < 4; i++, at += w.pitch[view]) {
#pragma unroll
    for (int k = 0; k < BYTES; k++) {
      const unsigned z = k ? sample[i].hi : sample[i].lo, mask = word_of<BYTES> (masked[i / 2], k);
      unsigned &b = k ? back[i].hi : back[i].lo, &v = k ? out[i].hi : out[i].lo;

      b = follow<BYTES> (b, z, word_of<BYTES> (step[i / 2], k));
      if (w.output == CF_MEDIAN_BACKGROUND)
        v = b;
      else if (w.output == CF_MEDIAN_STILL)
        v = (b & mask) | (z & ~mask);
      else if (CHROMA)
        v = word_of<BYTES> ({ gray, gray }, k);
      else if (w.output == CF_MEDIAN_DIFFERENCE)
        v = BYTES == 1 ? __vabsdiffu4 (z, b) : __vabsdiffu2 (z, b);
      else if (BYTES == 1)
        v |= __vcmpgtu4 (__vabsdiffu4 (z, b), word_of<1> ({ level, level }, k));
      else
        v |= __vcmpgtu2 (__vabsdiffu2 (z, b), word_of<2> ({ level, level }, k));
    }
    if (i < rows && BYTES == 1)
      *(unsigned *) at = back[i].lo;
    else if (i < rows)
      *(uint2 *) at = make_uint2 (back[i].lo, back[i].hi);
  }
}

template<int BYTES> __global__ void __launch_bounds__ (threads)
median_pixels_kernel (const __grid_constant__ PixelWork w)
{
  const Plane &plane = plane_of_block (w.launch, (int) blockIdx.x);
  const int block = (int) blockIdx.x - plane.first_block, view = (int) (&plane - w.launch.plane);
  const int thread = (int) threadIdx.x;
  const int x0 = block % plane.blocks_x * tile_w, y0 = block / plane.blocks_x * tile_h;
  const int x = x0 + thread % (tile_w / 4) * 4, y = y0 + thread / (tile_w / 4) * 4;
  unsigned any = 0;
  Quad out[4] = { };

  griddep_wait ();
  if (!plane.filtered || w.output == CF_MEDIAN_RESULT) {
    copy_tile (plane, x0, y0, tile_w, tile_h, thread, threads);
    return;
  }
  if (x >= plane.width || y >= plane.height)
    return;
  if (view >= w.n_colors) {
    take<BYTES, true> (w, view, x, y, out);
    return store (plane, x, y, out);
  }
  for (int i = view; i < w.n_colors; i++) {
    take<BYTES, false> (w, i, x, y, out);
    if (w.output != CF_MEDIAN_MASK)
      store (w.launch.plane[i], x, y, out);
  }
  if (w.output != CF_MEDIAN_MASK)
    return;
#pragma unroll
  for (int i = 0; i < 4; i++)
    any |= out[i].lo | out[i].hi;
  const int mask = any && is_masked (w, x / CF_RUNNING_BLOCK, y / CF_RUNNING_BLOCK) ? w.largest : 0;
  const unsigned all = word_of<BYTES> ({ mask, mask }, 0);

#pragma unroll
  for (int i = 0; i < 4; i++)
    out[i] = Quad { out[i].lo & all, out[i].hi & all };
  for (int i = 0; i < w.n_colors; i++)
    store (w.launch.plane[i], x, y, out);
}

/* ---- the plan ----------------------------------------------------------- */

struct RunningState {
  CfRunning running; /* first */
  uint8_t *background, *memory;
  CfScene *scene; /* pinned host memory, which the kernels write; the cells' states are behind it */
  uint16_t *value[2];
  int *sum[2];
  CfRunningLevel *level[2];
  uint8_t *still[2];
  int turn;         /* which of two the last frame wrote */
  bool pdl;         /* see griddep_wait () */
  RunningWork work; /* all but what changes with each frame */
  PixelWork pixels;
};

RunningState *
running_state (const CfPlan *plan)
{
  return static_cast<RunningState *> (plan->state);
}

/* Gives a plan what it keeps of blocks, cells and tiles, in one piece of memory. */
CfCode
allocate_motion (RunningState *s, CfStatus *status)
{
  const CfRunning &r = s->running;
  const size_t cells = (size_t) r.n_cells, blocks = cells * side * side, tiles = (size_t) (r.tiles_x * r.tiles_y) + 1;
  const size_t pairs = (size_t) r.rows * (size_t) ((r.columns + 1) / 2);
  RunningWork &w = s->work;
  const struct {
    void **at;
    size_t size;
  } pieces[] = { { (void **) &s->value[0], blocks * 2 }, { (void **) &s->value[1], blocks * 2 },
    { (void **) &w.back, blocks * 2 }, { (void **) &w.noise, blocks * 2 }, { (void **) &w.block, blocks * 2 },
    { (void **) &w.cell, cells * sizeof *w.cell }, { (void **) &w.bits, pairs * sizeof *w.bits },
    { (void **) &w.counted, pairs * sizeof *w.counted }, { (void **) &s->still[0], cells },
    { (void **) &s->still[1], cells },
    { (void **) &s->sum[0], tiles * sums * sizeof (int) }, { (void **) &s->sum[1], tiles * sums * sizeof (int) },
    { (void **) &s->level[0], sizeof *s->level[0] }, { (void **) &s->level[1], sizeof *s->level[1] } };
  size_t size = 0;

  for (const auto &piece : pieces)
    size += (piece.size + 255) / 256 * 256;
  s->memory = static_cast<uint8_t *> (cf_gpu_alloc (CF_DEVICE, size, status));
  if (!s->memory)
    return status->code;
  size = 0;
  for (const auto &piece : pieces) {
    *piece.at = s->memory + size;
    size += (piece.size + 255) / 256 * 256;
  }
  return CF_OK;
}

CfCode
running_init (CfPlan *plan, CfStatus *status)
{
  const CfFormatInfo *info = cf_format_info (plan->video.format);
  RunningState *s = running_state (plan);
  RunningWork &w = s->work;
  PixelWork &pixels = s->pixels;
  size_t offset[CF_MAX_VIEWS] = {}, pitch[CF_MAX_VIEWS] = {};
  CfCode code = cf_running_init (plan, status);
  const CfRunning &r = s->running;
  const size_t found = sizeof *s->scene + (size_t) r.n_cells * sizeof *w.state;
  cudaFuncAttributes attributes = { };

  if (code == CF_OK)
    code = load_kernels ({ (const void *) median_blocks_kernel<1>, (const void *) median_blocks_kernel<2>,
                             (const void *) median_cells_kernel, (const void *) median_pixels_kernel<1>,
                             (const void *) median_pixels_kernel<2> },
        median_loading, status);
  if (code == CF_OK)
    code = cf_cuda_check (cudaFuncGetAttributes (&attributes, (const void *) median_cells_kernel), median_loading,
        status);
  s->pdl = attributes.ptxVersion >= 90;
  if (code == CF_OK)
    code = allocate_motion (s, status);
  if (code != CF_OK)
    return code;
  s->background = static_cast<uint8_t *> (cf_gpu_alloc (CF_DEVICE, cf_running_layout (plan, offset, pitch), status));
  s->scene = s->background ? static_cast<CfScene *> (cf_gpu_alloc (CF_PINNED, found, status)) : NULL;
  if (!s->scene)
    return status->code;
  memset (s->scene, 0, found);
  w.n_colors = pixels.n_colors = info->rgb ? 3 : 1;
  w.shift = info->bits - (info->rgb ? 5 : 8);
  w.columns = r.columns;
  w.across = cf_divide_up (r.columns, block_cells);
  w.rows = r.rows;
  w.real_x = r.real_x;
  w.real_y = r.real_y;
  w.tile = r.tile;
  w.tiles_x = r.tiles_x;
  w.tiles_y = r.tiles_y;
  w.blocks_x = pixels.blocks_x = r.columns * side;
  w.scene = s->scene;
  w.state = (uint16_t *) (s->scene + 1);
  for (int i = 0; i < CF_MAX_VIEWS; i++) {
    pixels.offset[i] = (long long) offset[i];
    pixels.pitch[i] = (int) pitch[i];
  }
  pixels.background = s->background;
  pixels.block = w.block;
  pixels.blocks_y = r.rows * side;
  pixels.largest = (1 << info->bits) - 1;
  return CF_OK;
}

void
running_free (CfPlan *plan)
{
  RunningState *s = running_state (plan);

  if (s->scene)
    cf_gpu_free (CF_PINNED, s->scene);
  cf_gpu_free (CF_DEVICE, s->background);
  cf_gpu_free (CF_DEVICE, s->memory);
  cf_running_free (plan);
}

/* Copies all stored words. The images may be in pinned host memory. */
CfCode
copy_image (const CfImage *to, const CfImage *from, cudaStream_t stream, CfStatus *status)
{
  CfCode code = CF_OK;

  for (int p = 0; code == CF_OK && p < cf_format_info (from->format)->n_planes; p++)
    code = cf_cuda_check (cudaMemcpy2DAsync (to->plane[p].data, to->plane[p].pitch, from->plane[p].data,
                              from->plane[p].pitch, cf_plane_row_bytes (from->format, from->width, p),
                              (size_t) cf_plane_rows (from->format, from->height, p), cudaMemcpyDefault, stream),
        "copying a frame", status);
  return code;
}

/* Returns what to copy from one image to another. */
Copy
make_copy (const CfImage *to, const CfImage *from)
{
  Copy copy = { };

  for (copy.n = 0; copy.n < cf_format_info (from->format)->n_planes; copy.n++) {
    auto &plane = copy.plane[copy.n];
    const auto &in = from->plane[copy.n], &out = to->plane[copy.n];

    plane.from = static_cast<const uint8_t *> (in.data);
    plane.to = static_cast<uint8_t *> (out.data);
    plane.from_pitch = (long long) in.pitch;
    plane.to_pitch = (long long) out.pitch;
    plane.bytes = (int) cf_plane_row_bytes (from->format, from->width, copy.n);
    plane.rows = cf_plane_rows (from->format, from->height, copy.n);
    if ((((uintptr_t) in.data | (uintptr_t) out.data | in.pitch | out.pitch) & (sizeof (uint4) - 1)) == 0)
      plane.words = plane.bytes / (int) sizeof (uint4);
  }
  return copy;
}

/* Finds what moves, and copies what s->work.copy says, but not of the first frame. */
CfCode
enqueue_motion (RunningState *s, const Launch &launch, int bytes, cudaStream_t stream, CfStatus *status)
{
  const int turn = s->turn = !s->turn;
  RunningWork &w = s->work;
  const int blocks = w.across * w.rows;
  void *arguments[] = { &w };
  CfCode code;

  for (int i = 0; i < w.n_colors; i++)
    w.color[i] = launch.plane[i];
  w.x = s->value[turn];
  w.before = s->value[!turn];
  w.sum = s->sum[turn];
  w.clear = s->sum[!turn];
  w.still = s->still[turn];
  w.stood = s->still[!turn];
  w.next = s->level[turn];
  w.level = s->level[!turn];
  code = launch_kernel ("median: blocks of motion",
      bytes == 1 ? (const void *) median_blocks_kernel<1> : (const void *) median_blocks_kernel<2>, blocks,
      dim3 (threads), arguments, 0, s->pdl, stream, status);
  if (code != CF_OK || w.first)
    return code;
  return launch_kernel ("median: cells of motion", (const void *) median_cells_kernel, blocks, dim3 (threads),
      arguments, 0, s->pdl, stream, status);
}

CfCode
running_enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  const CfFormatInfo *info = cf_format_info (plan->video.format);
  RunningState *s = running_state (plan);
  cudaStream_t handle = static_cast<cudaStream_t> (cf_stream_handle (stream));
  const CfRunningFrame frame = cf_running_frame (plan);
  const bool copies = !frame.back && cf_running_rows_are_full (plan);
  CfPlan whole = *plan; /* for the views of whole frames */
  PixelWork &w = s->pixels;
  void *arguments[] = { &w };
  CfView views[CF_MAX_VIEWS];
  CfCode code;

  whole.video.interlaced = false;
  make_launch (&whole, in, out, 0, &w.launch);
  s->work.first = frame.first;
  s->work.wants_blocks = frame.back;
  s->work.copy = copies ? make_copy (out, in) : Copy { };
  code = enqueue_motion (s, w.launch, info->bytes, handle, status);
  if (code != CF_OK)
    return code;
  if (copies)
    return frame.first ? copy_image (out, in, handle, status) : CF_OK;
  deal_blocks (&w.launch, tile_w, tile_h, w.n_colors == 3 ? 1 : 0);
  for (int i = 0; i < cf_running_views (plan, in, views); i++) {
    w.w_sub[i] = info->comp[views[i].component].w_sub;
    w.h_sub[i] = info->comp[views[i].component].h_sub;
  }
  w.begins = frame.begins;
  w.output = frame.output;
  w.step = frame.step;
  w.hold = frame.hold;
  return launch_kernel ("median: the running background",
      info->bytes == 1 ? (const void *) median_pixels_kernel<1> : (const void *) median_pixels_kernel<2>,
      w.launch.blocks, dim3 (threads), arguments, 0, s->pdl, handle, status);
}

CfCode
running_regions (CfPlan *plan, CfRegions *found, CfStatus *status)
{
  (void) status;
  cf_running_regions (plan, running_state (plan)->work.state, running_state (plan)->scene, found);
  return CF_OK;
}

const char *const running_variants[] = { "running", NULL };

} // namespace

extern "C" const CfOps cf_running_cuda = {
  .state_size = sizeof (RunningState),
  .init = running_init,
  .update = cf_running_update,
  .enqueue = running_enqueue,
  .reset = cf_running_reset,
  .free = running_free,
  .variants = running_variants,
  .regions = running_regions,
};
