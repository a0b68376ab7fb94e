/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment_cells.cu: steps 1 to 3 of the segmentation, and its components inside
 * tiles of 32 x 16 cells: a block a tile, a thread a cell, a warp a row. Taller tiles
 * leave less to join between them, but wait longer for each other's warps. */
#include "segment_list.cuh"
#include "segment_samples.cuh"

namespace cf {

namespace {

constexpr int side = sg_tile, tall = sg_tile_rows, threads = side * tall, wide = side + 2;

struct Tile {
  unsigned p[wide * (tall + 2)]; /* sg_none outside the picture */
  unsigned kind[threads], label[threads];
  unsigned luma[threads], cb[threads], cr[threads]; /* sums at a root; luma: cells << 18 | Y */
  uint8_t clicked[threads];
  unsigned free, locals, free_at, locals_at; /* how many of the tile's, and where they go */
};

/* (sum + n / 2) / n of component c over a cell's pixels. Where the cell holds whole
 * samples of a subsampled component, each counts once instead of once a pixel. SIZE: the
 * cell's, for one that is not cut off, so that all loads go at once; 0: any. */
template<int SIZE> __device__ __forceinline__ unsigned
cell_mean (const SgWork &work, const SgComponent &c, int x0, int y0, int x1, int y1)
{
  const int dx = ((x0 | x1) & ((1 << c.w_sub) - 1)) == 0 ? 1 << c.w_sub : 1;
  const int dy = ((y0 | y1) & ((1 << c.h_sub) - 1)) == 0 ? 1 << c.h_sub : 1;
  unsigned sum = 0, n = 0;

  if (SIZE > 0) {
#pragma unroll
    for (int j = 0; j < SIZE; j++)
#pragma unroll
      for (int i = 0; i < SIZE; i++)
        if (i % dx == 0 && j % dy == 0) {
          sum += sg_sample (work, c, x0 + i, y0 + j);
          n++;
        }
  } else {
    for (int y = y0; y < y1; y += dy)
      for (int x = x0; x < x1; x += dx, n++)
        sum += sg_sample (work, c, x, y);
  }
  return (sum + n / 2) / n;
}

template<int SIZE> __device__ unsigned
cell_color (const SgWork &work, int x0, int y0, int x1, int y1)
{
  const unsigned a = cell_mean<SIZE> (work, work.component[0], x0, y0, x1, y1);

  if (work.n_colors == 1)
    return sg_color (work, a, 0, 0);
  return sg_color (work, a, cell_mean<SIZE> (work, work.component[1], x0, y0, x1, y1),
      cell_mean<SIZE> (work, work.component[2], x0, y0, x1, y1));
}

/* The same of a cell whose samples are read by words. */
template<int SIZE> __device__ __forceinline__ unsigned
square_color (const SgWork &work, int x, int y)
{
  constexpr unsigned n = SIZE * SIZE;
  const unsigned chroma = sg_square_chroma (work, n);
  unsigned sum[3];

  sg_sum_square<SIZE> (work, x, y, sum);
  return sg_color (work, (sum[0] + n / 2) / n, (sum[1] + chroma / 2) / chroma, (sum[2] + chroma / 2) / chroma);
}

/* Step 1, a thread a cell. */
__global__ void __launch_bounds__ (256, 4)
segment_colors (const __grid_constant__ SgWork work)
{
  const int column = (int) (blockIdx.x * 32 + threadIdx.x % 32), row = (int) (blockIdx.y * 8 + threadIdx.x / 32);
  const int size = work.size, x0 = column * size, y0 = row * size;
  const int x1 = min (x0 + size, work.width), y1 = min (y0 + size, work.height);
  const bool whole = x1 - x0 == size && y1 - y0 == size;

  if (column >= work.columns || row >= work.rows)
    return;
  work.after.p[row * work.columns + column] = !whole ? cell_color<0> (work, x0, y0, x1, y1)
      : work.layout && size == 2 ? square_color<2> (work, x0, y0)
      : work.layout && size == 4 ? square_color<4> (work, x0, y0)
      : size == 1 ? cell_color<1> (work, x0, y0, x1, y1)
      : size == 2 ? cell_color<2> (work, x0, y0, x1, y1)
      : size == 4 ? cell_color<4> (work, x0, y0, x1, y1)
      : cell_color<0> (work, x0, y0, x1, y1);
}

/* Step 2. */
__device__ __forceinline__ bool
is_kept (const SgWork &work, unsigned p, unsigned c, unsigned old)
{
  const unsigned mean = work.before.mean[old];

  return sg_near (p, mean, work.keep[0])
      || (sg_near (p, work.before.p[c], work.keep[1]) && sg_near (p, mean, work.keep[2]));
}

/* Step 3, the first part: is a cell alike all its neighbours? */
__device__ __forceinline__ bool
is_smooth (const SgWork &work, const unsigned *at)
{
  bool good = true;

#pragma unroll
  for (int dy = -1; dy <= 1; dy++)
#pragma unroll
    for (int dx = -1; dx <= 1; dx++)
      if (dx | dy) {
        const unsigned other = at[dy * wide + dx];

        good = good && (other == sg_none || sg_near (*at, other, work.seed));
      }
  return good;
}

__device__ unsigned
kind_of (const SgWork &work, const Tile *tile, int column, int row)
{
  const int t = (int) threadIdx.x;
  const unsigned *at = tile->p + (t / side + 1) * wide + t % side + 1;
  const unsigned c = (unsigned) (row * work.columns + column);

  if (tile->clicked[t])
    return 1;
  if (work.follow) {
    const unsigned old = work.before.label[c];

    if (is_kept (work, *at, c, old))
      return 2 + old;
  }
  if (!is_smooth (work, at))
    return 0;
  return !work.similarity || (int) work.rough[c] > work.control->threshold;
}

__device__ __forceinline__ unsigned
find (const volatile unsigned *label, unsigned t)
{
  while (label[t] != t)
    t = label[t];
  return t;
}

/* On the way each cell is hung one higher. */
__device__ __forceinline__ unsigned
find_now (unsigned *label, unsigned t)
{
  unsigned to = sg_peek (label + t);

  while (to != t) {
    const unsigned next = sg_peek (label + to);

    if (next != to)
      sg_poke (label + t, next);
    t = to;
    to = next;
  }
  return t;
}

__device__ __forceinline__ void
unite (unsigned *label, unsigned a, unsigned b)
{
  for (;;) {
    a = find_now (label, a);
    b = find_now (label, b);
    if (a == b)
      return;
    const unsigned low = min (a, b), high = max (a, b), old = atomicMin (label + high, low);

    if (old == high)
      return;
    a = old;
    b = low;
  }
}

/* Components of equal kinds inside the tile: rows are runs, found by a vote; a run
 * is joined with those above where it first touches them. Which lanes begin a run. */
__device__ unsigned
join_tile (Tile *tile, unsigned kind)
{
  const unsigned t = threadIdx.x, lane = t & 31;
  const unsigned *k = tile->kind + t;
  const bool west = kind && lane > 0 && k[-1] == kind;
  const unsigned starts = __ballot_sync (~0u, !west);

  tile->label[t] = t - lane + (31 - (unsigned) __clz ((int) (starts & (~0u >> (31 - lane)))));
  __syncthreads ();
  if (kind && t >= side) {
    const bool north_west = lane > 0 && k[-side - 1] == kind, north_east = lane < 31 && k[-side + 1] == kind;

    if (k[-side] == kind) {
      if (!(west && north_west))
        unite (tile->label, t, t - side);
    } else {
      if (north_west && !west)
        unite (tile->label, t, t - side - 1);
      if (north_east && !(lane < 31 && k[1] == kind))
        unite (tile->label, t, t - side + 1);
    }
  }
  __syncthreads ();
  return starts;
}

/* Adds the cells' colours to their root's sums, a run of a row at once. */
__device__ void
add_run (Tile *tile, unsigned kind, unsigned starts, unsigned root, unsigned p)
{
  const unsigned lane = threadIdx.x & 31, from = 31 - (unsigned) __clz ((int) (starts & (~0u >> (31 - lane))));
  const unsigned later = starts & ~(~0u >> (31 - from)), run = (later ? (later & -later) - 1 : ~0u) & (~0u << from);

  if (!kind)
    return;
  const unsigned luma = sg_reduce (run, 1u << 18 | (p & 255));
  const unsigned cb = sg_reduce (run, p >> 8 & 255), cr = sg_reduce (run, p >> 16);

  if (lane == from) {
    atomicAdd (&tile->luma[root], luma);
    atomicAdd (&tile->cb[root], cb);
    atomicAdd (&tile->cr[root], cr);
  }
}

/* The cells of the tile that the user's seeds are in. */
__device__ void
mark_clicks (const SgWork &work, Tile *tile, int x0, int y0)
{
  for (int i = (int) threadIdx.x; i < work.n_clicks; i += threads) {
    const int x = work.clicks[i] % work.columns - x0, y = work.clicks[i] / work.columns - y0;

    if ((unsigned) x < side && (unsigned) y < tall)
      tile->clicked[y * side + x] = 1;
  }
  __syncthreads ();
}

/* Free cells and local roots to their lists, for the block at once. */
__device__ void
list_cells (const SgWork &work, Tile *tile, bool free, bool local, unsigned c)
{
  const unsigned lane = threadIdx.x & 31, below = (1u << lane) - 1;
  const unsigned frees = __ballot_sync (~0u, free), locals = __ballot_sync (~0u, local);
  unsigned free_at = 0, local_at = 0;

  if (lane == 0) {
    free_at = frees ? atomicAdd (&tile->free, (unsigned) __popc (frees)) : 0;
    local_at = locals ? atomicAdd (&tile->locals, (unsigned) __popc (locals)) : 0;
  }
  free_at = __shfl_sync (~0u, free_at, 0) + (unsigned) __popc (frees & below);
  local_at = __shfl_sync (~0u, local_at, 0) + (unsigned) __popc (locals & below);
  __syncthreads ();
  if (threadIdx.x == 0 && tile->free)
    tile->free_at = atomicAdd (&work.control->free, tile->free);
  if (threadIdx.x == 32 && tile->locals)
    tile->locals_at = atomicAdd (&work.control->locals, tile->locals);
  __syncthreads ();
  if (free)
    work.free_list[tile->free_at + free_at] = c;
  if (local)
    work.local_list[tile->locals_at + local_at] = c;
}

__global__ void __launch_bounds__ (threads)
segment_cells (const __grid_constant__ SgWork work)
{
  __shared__ Tile tile;
  const int t = (int) threadIdx.x, x0 = (int) blockIdx.x * side, y0 = (int) blockIdx.y * tall;
  const int column = x0 + t % side, row = y0 + t / side;
  const bool inside = column < work.columns && row < work.rows;
  const unsigned c = (unsigned) (row * work.columns + column);

  for (int i = t; i < wide * (tall + 2); i += threads) {
    const int x = x0 + i % wide - 1, y = y0 + i / wide - 1;

    tile.p[i] = (unsigned) x < (unsigned) work.columns && (unsigned) y < (unsigned) work.rows
        ? work.after.p[y * work.columns + x] : sg_none;
  }
  if (t == 0)
    tile.free = tile.locals = 0;
  tile.clicked[t] = 0;
  tile.luma[t] = tile.cb[t] = tile.cr[t] = 0;
  __syncthreads ();
  if (work.n_clicks > 0)
    mark_clicks (work, &tile, x0, y0);
  const unsigned p = tile.p[(t / side + 1) * wide + t % side + 1];
  const unsigned kind = inside ? kind_of (work, &tile, column, row) : 0;

  tile.kind[t] = kind;
  __syncthreads ();
  const unsigned starts = join_tile (&tile, kind);
  const unsigned root = kind ? find (tile.label, (unsigned) t) : (unsigned) t;

  add_run (&tile, kind, starts, root, p);
  __syncthreads ();
  const bool local = kind && root == (unsigned) t;

  if (inside) {
    work.kind[c] = kind;
    work.parent[c] = c;
    if (kind)
      work.joined[c] = sg_mix ((unsigned) ((y0 + (int) root / side) * work.columns + x0 + (int) root % side));
    if (local) {
      const unsigned long long luma = tile.luma[t];

      work.record[c] = SgRecord { sg_seeded | luma >> 18 << 32 | (luma & 0x3ffff),
        (unsigned long long) tile.cb[t] << 32 | tile.cr[t] };
      work.claim[c] = 0;
      work.count[c] = 0;
      work.smallest[c] = sg_none;
      work.best[0][c] = work.best[1][c] = sg_never;
    } else if (!kind) {
      work.record[c] = sg_record_of (p);
    }
  }
  list_cells (work, &tile, inside && !kind, local, c);
}

/* ---- similarity, an option ---------------------------------------------- */

__device__ unsigned
square_root (unsigned v)
{
  unsigned r = (unsigned) sqrtf ((float) v);

  while (r * r > v)
    r--;
  while ((r + 1) * (r + 1) <= v)
    r++;
  return r;
}

__global__ void
segment_roughness (const __grid_constant__ SgWork work)
{
  const int c = (int) (blockIdx.x * blockDim.x + threadIdx.x), column = c % work.columns, row = c / work.columns;
  unsigned sum[3] = { 0 }, squares[3] = { 0 }, rough = 0;

  if (c < work.n) {
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++) {
        const int x = min (max (column + dx, 0), work.columns - 1), y = min (max (row + dy, 0), work.rows - 1);
        const unsigned p = work.after.p[y * work.columns + x];

        for (int k = 0; k < 3; k++) {
          const unsigned v = p >> 8 * k & 255;

          sum[k] += v;
          squares[k] += v * v;
        }
      }
    for (int k = 0; k < 3; k++)
      rough += square_root (9 * squares[k] - sum[k] * sum[k]);
    work.rough[c] = rough;
  }
  for (int i = 16; i > 0; i /= 2)
    rough = max (rough, __shfl_xor_sync (~0u, rough, i));
  if ((threadIdx.x & 31) == 0)
    atomicMax (&work.control->roughest, rough);
}

__global__ void
segment_histogram (const __grid_constant__ SgWork work)
{
  __shared__ unsigned count[256];
  const int c = (int) (blockIdx.x * blockDim.x + threadIdx.x);

  count[threadIdx.x] = 0;
  __syncthreads ();
  if (c < work.n) {
    const unsigned most = work.control->roughest;
    const unsigned h = most > 0 ? 255 - 255 * work.rough[c] / most : 255;

    work.rough[c] = h;
    atomicAdd (&count[h], 1u);
  }
  __syncthreads ();
  if (count[threadIdx.x])
    atomicAdd (&work.control->histogram[threadIdx.x], count[threadIdx.x]);
}

__global__ void
segment_otsu (const __grid_constant__ SgWork work)
{
  long long n0 = 0, s0 = 0, n = 0, s = 0;
  double best = -1;
  int threshold = -1;

  for (int i = 0; i < 256; i++) {
    n += work.control->histogram[i];
    s += (long long) i * work.control->histogram[i];
  }
  for (int t = 0; t < 255; t++) {
    n0 += work.control->histogram[t];
    s0 += (long long) t * work.control->histogram[t];
    if (n0 == 0 || n0 == n)
      continue;
    const double d = (double) s0 * (double) (n - n0) - (double) (s - s0) * (double) n0;
    const double v = d * d / ((double) n0 * (double) (n - n0));

    if (v > best) {
      best = v;
      threshold = t;
    }
  }
  work.control->threshold = threshold;
}

CfCode
launch_similarity (const SgWork &work, cudaStream_t stream, CfStatus *status)
{
  const unsigned blocks = (unsigned) (work.n + 255) / 256;
  CfCode code;

  segment_roughness<<<blocks, 256, 0, stream>>> (work);
  code = cf_cuda_launched ("segment_roughness", status);
  if (code != CF_OK)
    return code;
  segment_histogram<<<blocks, 256, 0, stream>>> (work);
  code = cf_cuda_launched ("segment_histogram", status);
  if (code != CF_OK)
    return code;
  segment_otsu<<<1, 1, 0, stream>>> (work);
  return cf_cuda_launched ("segment_otsu", status);
}

} // namespace

CfCode
segment_launch_cells (const SgWork &work, cudaStream_t stream, CfStatus *status)
{
  const dim3 grid ((unsigned) (work.columns + side - 1) / side, (unsigned) (work.rows + tall - 1) / tall);
  const dim3 cells ((unsigned) (work.columns + 31) / 32, (unsigned) (work.rows + 7) / 8);
  CfCode code;

  segment_colors<<<cells, 256, 0, stream>>> (work);
  code = cf_cuda_launched ("segment_colors", status);
  if (code == CF_OK && work.similarity)
    code = launch_similarity (work, stream, status);
  if (code != CF_OK)
    return code;
  segment_cells<<<grid, threads, 0, stream>>> (work);
  return cf_cuda_launched ("segment_cells", status);
}

CfCode
segment_init_cells (CfStatus *status)
{
  return segment_load ({ (const void *) segment_cells, (const void *) segment_colors, (const void *) segment_roughness,
      (const void *) segment_histogram, (const void *) segment_otsu }, status);
}

} // namespace cf
