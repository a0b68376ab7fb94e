/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench_tiles.cu: the median's networks with other tiles of outputs per thread and lane, and other blocks, than the
 * plans take: the time by the work of a thread and by the shape of a block. The kernels are those of
 * median/gpu/network.cuh, with networks that mknetworks writes for this file (tests/meson.build). */
#define CF_MEDIAN_WIDE 0
#define median_network_kernel median_tiles_kernel /* not the plans' kernels, which may have the same arguments */
#include "median/gpu/network.cuh"

#include "bench.h"

using namespace cf;

template<int K, int W, int H, int ROWS, int BLOCKS> static BenchTile
tile_of (void)
{
  typedef MedianNetworkBlock<K, W, H, ROWS, BLOCKS> B;

  return BenchTile { K, W, H, ROWS, (const void *) median_network_kernel<B>, B::SHARED };
}

/* Of each size the plans' own first. */
static BenchTile tiles[] = {
  tile_of<7, 4, 4, 8, 2> (), tile_of<7, 4, 4, 4, 4> (), tile_of<7, 4, 4, 16, 1> (),
  tile_of<7, 4, 2, 4, 5> (), tile_of<7, 4, 2, 8, 2> (), tile_of<7, 4, 2, 16, 1> (), tile_of<7, 4, 2, 24, 1> (),
  tile_of<9, 4, 2, 4, 5> (), tile_of<9, 4, 2, 8, 2> (), tile_of<9, 4, 3, 4, 4> (), tile_of<9, 4, 4, 8, 1> (),
  tile_of<11, 4, 3, 4, 3> (), tile_of<11, 4, 2, 4, 4> (), tile_of<11, 4, 2, 8, 2> (), tile_of<11, 4, 4, 8, 1> (),
};

BenchTile *
bench_tile (int i)
{
  return i < (int) (sizeof tiles / sizeof tiles[0]) ? &tiles[i] : NULL;
}

int
bench_tile_measure (BenchTile *t)
{
  cudaFuncAttributes attributes;

  if (cudaFuncGetAttributes (&attributes, t->kernel) != cudaSuccess
      || attributes.ptxVersion < CF_MEDIAN_LARGE_ARCH /* it has no body */
      || cudaFuncSetAttribute (t->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, t->shared) != cudaSuccess
      || cudaOccupancyMaxActiveBlocksPerMultiprocessor (&t->blocks, t->kernel, 32 * t->rows, (size_t) t->shared)
          != cudaSuccess)
    return 0;
  t->registers = attributes.numRegs;
  t->dependent = attributes.ptxVersion >= 90; /* it waits only where it was compiled for that */
  return 1;
}

int
bench_tile_enqueue (const BenchTile *t, const BenchFrames *f, int stream, const uint8_t *src, uint8_t *dst,
    size_t pitch)
{
  Launch launch = { };
  Plane &p = launch.plane[0];
  void *arguments[] = { &launch };

  launch.n = 1;
  p.in = src;
  p.out = dst;
  p.in_pitch = p.out_pitch = (long long) pitch;
  p.width = f->width;
  p.height = f->height;
  p.step = p.bytes = 1;
  p.bits = 8;
  p.filtered = p.in_words = p.out_words = true;
  deal_blocks (&launch, 32 * t->w, 2 * t->rows * t->h);
  return launch_kernel ("median: tiles", t->kernel, launch.blocks, dim3 (32, (unsigned) t->rows), arguments,
             (size_t) t->shared, t->dependent, static_cast<cudaStream_t> (f->stream[stream]), NULL) == CF_OK;
}
