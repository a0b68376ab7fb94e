/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * naive_segment.cuh: the segmentation by kernels as one first writes them. Each step of the contract
 * (segment/segment.h) is a launch over all cells in global memory, the sums of a region are made by atomics, and after
 * each round the host asks whether it has changed anything. Frames are GRAY8, with temporal=0 and everything else by
 * default, and have fewer regions than max-regions. */
constexpr int SIZES_OF_REGIONS = 32, RISES = 5, MOVES = 4, BLOCK_OF_CELLS = 16; /* k and R of step 8, steps 10 and 4 */

struct Cells {
  const uint8_t *in;
  uint8_t *out;
  size_t pitch;
  int width, height, size, columns, rows;
  uint32_t merge[SIZES_OF_REGIONS]; /* N of step 8 */
  uint32_t limit;                   /* of the round: in merging by mean bits to shift N by, by size M */
  uint8_t *q, *p, *is_seed;         /* of each cell: its colours are q and p */
  int *root, *next, *label;               /* the last one of each pixel */
  /* Of each region, at its root's number: */
  uint8_t *mean, *seeded;
  uint32_t *n, *sum;
  unsigned long long *best; /* cost << 32 | root of the pick; ~0: it picks none */
  int *changed;
};

/* ---- what a thread does for a cell -------------------------------------- */

/* Returns the i-th of the 8 neighbours of a cell, -1 outside the frame. The first 4 are above, left, right, below. */
__device__ static int
neighbour (const Cells &c, int cell, int i)
{
  constexpr int dx[8] = { 0, -1, 1, 0, -1, 1, -1, 1 }, dy[8] = { -1, 0, 0, 1, -1, -1, 1, 1 };
  const int x = cell % c.columns + dx[i], y = cell / c.columns + dy[i];

  return x < 0 || y < 0 || x >= c.columns || y >= c.rows ? -1 : y * c.columns + x;
}

__device__ static uint64_t
distance (int a, int b)
{
  return (uint64_t) ((a - b) * (a - b));
}

/* rel of the contract, for grays. */
__device__ static bool
rel (int a, int b, uint32_t n)
{
  return 131072 * distance (a, b) < n * (uint64_t) (a * a + b * b + 4 * 128 * 128);
}

__device__ static void
make_cell (const Cells &c, int i)
{
  const int left = i % c.columns * c.size, top = i / c.columns * c.size;
  int sum = 0, n = 0;

  for (int y = top; y < min (top + c.size, c.height); y++)
    for (int x = left; x < min (left + c.size, c.width); x++, n++)
      sum += c.in[y * c.pitch + x];
  c.q[i] = (uint8_t) ((sum + n / 2) / n);
}

__device__ static void
smooth (const Cells &c, int i)
{
  int sum = 0;

  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      sum += (dx ? 1 : 2) * (dy ? 1 : 2) * c.q[min (max (i / c.columns + dy, 0), c.rows - 1) * c.columns +
          min (max (i % c.columns + dx, 0), c.columns - 1)];
  c.p[i] = (uint8_t) ((sum + 8) / 16);
}

__device__ static void
find_seed (const Cells &c, int i)
{
  bool seed = true;

  for (int k = 0; k < 8; k++) {
    const int other = neighbour (c, i, k);

    seed = seed && (other < 0 || rel (c.p[i], c.p[other], 65536));
  }
  c.is_seed[i] = seed;
  c.root[i] = i;
}

__device__ static int
kind_of (const Cells &c, int i)
{
  const int y = c.p[i], column = i % c.columns / BLOCK_OF_CELLS, row = i / c.columns / BLOCK_OF_CELLS;

  return (row * c.columns + column) * 8 + (y < 64 ? y / 32 : y / 64 + 1);
}

/* A component's smallest number spreads by a cell. */
__device__ static void
spread (const Cells &c, int i)
{
  for (int k = 0; k < 4 && c.is_seed[i]; k++) {
    const int other = neighbour (c, i, k);

    if (other >= 0 && c.is_seed[other] && c.root[other] < c.root[i] && kind_of (c, i) == kind_of (c, other)) {
      c.root[i] = c.root[other];
      *c.changed = 1;
    }
  }
}

__device__ static void
clear_region (const Cells &c, int i)
{
  c.n[i] = c.sum[i] = 0;
  c.seeded[i] = 0;
}

__device__ static void
count_cell (const Cells &c, int i)
{
  const int root = c.root[i];

  atomicAdd (&c.n[root], 1);
  atomicAdd (&c.sum[root], c.p[i]);
  if (c.is_seed[i])
    c.seeded[root] = 1;
}

__device__ static void
make_mean (const Cells &c, int i)
{
  if (c.n[i] > 0)
    c.mean[i] = (uint8_t) ((c.sum[i] + c.n[i] / 2) / c.n[i]);
}

__device__ static void
clear_pick (const Cells &c, int i)
{
  c.best[i] = ~0ull;
}

enum Kind { GROW, BY_MEAN, BY_SIZE };

template<Kind K> __device__ void
pick (const Cells &c, int i)
{
  const int a = c.root[i];

  for (int k = 0; k < 4; k++) {
    const int other = neighbour (c, i, k), b = other >= 0 ? c.root[other] : a;
    const uint64_t d = distance (c.mean[a], c.mean[b]);
    const uint32_t fewer = min (c.n[a], c.n[b]);
    const bool smaller = c.n[a] < c.n[b] || (c.n[a] == c.n[b] && a > b);
    uint64_t cost = K == GROW ? d : d * d * min (fewer, 1u << 24), others = 0;

    if (a == b || (K == GROW && c.seeded[a]) || (K == BY_SIZE && c.n[a] >= c.limit) ||
        (K == BY_MEAN && (!smaller || !rel (c.mean[a], c.mean[b], c.merge[31 - __clz (fewer)] >> c.limit))))
      continue;
    for (; K != GROW && cost >= 16384; cost /= 2)
      others++;
    atomicMin (&c.best[a], (8192 * others + cost) << 32 | (unsigned) b);
  }
}

/* Sets next[] of a root to the root of the region that it joins. */
__device__ static void
follow_picks (const Cells &c, int i)
{
  int r = i;

  if (c.root[i] != i)
    return;
  while (c.best[r] != ~0ull) {
    const int to = (int) (uint32_t) c.best[r];

    if (c.best[to] != ~0ull && (int) (uint32_t) c.best[to] == r) {
      r = min (r, to);
      break;
    }
    r = to;
  }
  c.next[i] = r;
  if (r != i)
    *c.changed = 1;
}

__device__ static void
relabel (const Cells &c, int i)
{
  c.root[i] = c.next[c.root[i]];
}

__device__ static void
move_border (const Cells &c, int i)
{
  int to = c.root[i];

  for (int k = 0; k < 4; k++) {
    const int other = neighbour (c, i, k), label = other >= 0 ? c.root[other] : to;

    if (distance (c.q[i], c.mean[label]) < distance (c.q[i], c.mean[to]))
      to = label;
  }
  c.next[i] = to;
}

/* ---- what a thread does for a pixel ------------------------------------- */

__device__ static void
count_pixel (const Cells &c, int i)
{
  const int x = i % c.width, y = i / c.width, v = c.in[y * c.pitch + x], s = c.size;
  const int column = x / s, row = y / s, at = 2 * (x % s) + 1, down = 2 * (y % s) + 1;
  const int beside = min (max (column + (at > s) - (at < s), 0), c.columns - 1);
  const int above = min (max (row + (down > s) - (down < s), 0), c.rows - 1);
  const int others[2] = { c.root[row * c.columns + beside], c.root[above * c.columns + column] };
  int to = c.root[row * c.columns + column];

  for (int other : others)
    if (distance (v, c.mean[other]) < distance (v, c.mean[to]))
      to = other;
  c.label[i] = to;
  atomicAdd (&c.n[to], 1);
  atomicAdd (&c.sum[to], v);
}

__device__ static void
paint (const Cells &c, int i)
{
  const int region = c.label[i];

  c.out[i / c.width * c.pitch + i % c.width] = (uint8_t) ((2 * c.sum[region] + c.n[region]) / (2 * c.n[region]));
}

/* ---- the host ----------------------------------------------------------- */

template<void (*STEP) (const Cells &, int)> __global__ void
each (Cells c, int n, int per_thread)
{
  const int from = (blockIdx.x * blockDim.x + threadIdx.x) * per_thread;

  for (int i = from; i < min (n, from + per_thread); i++)
    STEP (c, i);
}

struct Segmentation {
  Cells c;
  uint32_t min_cells; /* M */
  bool rows;          /* a thread does a row of cells or pixels, not one of them */
  cudaStream_t stream;

  void set (int width, int height, int size)
  {
    c.width = width;
    c.height = height;
    c.size = size;
    c.columns = (width + size - 1) / size;
    c.rows = (height + size - 1) / size;
    min_cells = (width * height / 10000 + size * size - 1) / (size * size);
    for (int k = 0; k < SIZES_OF_REGIONS; k++)
      c.merge[k] = (uint32_t) (65536 * std::min (1., .12 * .12 * sqrt (c.columns * c.rows / (1000 * exp2 (k)))) + .5);
  }

  template<void (*STEP) (const Cells &, int)> void launch (bool pixels = false)
  {
    const int columns = pixels ? c.width : c.columns, n = columns * (pixels ? c.height : c.rows);
    const int per_thread = rows ? columns : 1, threads = rows ? 32 : 256;

    each<STEP><<<(n / per_thread + threads - 1) / threads, threads, 0, stream>>> (c, n, per_thread);
  }

  /* Returns whether a kernel has changed anything since the last call. An error ends the rounds; run () finds it. */
  bool changed ()
  {
    int word = 0;

    return cudaMemcpyAsync (&word, c.changed, sizeof word, cudaMemcpyDeviceToHost, stream) == cudaSuccess &&
        cudaMemsetAsync (c.changed, 0, sizeof word, stream) == cudaSuccess &&
        cudaStreamSynchronize (stream) == cudaSuccess && word;
  }

  void count ()
  {
    launch<clear_region> ();
    launch<count_cell> ();
    launch<make_mean> ();
  }

  template<Kind K> bool round (uint32_t limit)
  {
    c.limit = limit;
    launch<clear_pick> ();
    launch<pick<K>> ();
    launch<follow_picks> ();
    if (!changed ())
      return false;
    launch<relabel> ();
    count ();
    return true;
  }

  bool run ()
  {
    launch<make_cell> ();
    launch<smooth> ();
    launch<find_seed> ();
    do
      launch<spread> ();
    while (changed ());
    count ();
    while (round<GROW> (0))
      ;
    for (int r = 0; round<BY_MEAN> ((uint32_t) std::max (0, RISES - r)) || r < RISES; r++)
      ;
    while (round<BY_SIZE> (min_cells))
      ;
    for (int i = 0; i < MOVES; i++) {
      launch<move_border> ();
      std::swap (c.root, c.next);
    }
    launch<clear_region> ();
    launch<count_pixel> (true);
    launch<paint> (true);
    return cudaGetLastError () == cudaSuccess;
  }
};
