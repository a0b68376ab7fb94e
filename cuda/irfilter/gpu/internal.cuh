/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/gpu/internal.cuh: what the CUDA files of the recursive filter share: the
 * parameters of a launch, how the work is divided into strips, and the launch functions. */
#ifndef CF_IRFILTER_GPU_INTERNAL_CUH
#define CF_IRFILTER_GPU_INTERNAL_CUH

#include "core/gpu/late.cuh"
#include "core/gpu/launch.cuh"
#include "scheduler.cuh"
#include "irfilter/irfilter.h"

namespace cf {

constexpr int ir_chunk = 8; /* rows of a chunk, the unit that the warps of a block exchange */

/* Returns the columns of a lane, found by measurement: more columns lengthen a row's chain of
 * dependent operations, fewer columns need more strips (each starts 32 rows late). */
__host__ __device__ constexpr int
ir_lane_columns (int m)
{
  return m <= 4 ? 4 : 2;
}

__host__ __device__ constexpr int
ir_strip_columns (int m)
{
  return 32 * ir_lane_columns (m);
}

/* Returns how many floats of a row a strip hands over to the strip on its right. */
__host__ __device__ constexpr int
ir_handover_floats (int m)
{
  return m == 2 ? 1 : m == 3 ? 2 : m <= 5 ? 4 : 8;
}

/* Returns how many floats a lane of the chain saves when its block releases a strip: the sums of the m - 2 rows to
 * come, the results of the last row and the m - 1 to their left. */
__host__ __device__ constexpr int
ir_saved_by_lane (int m)
{
  return (m - 2) * ir_lane_columns (m) + m - 1 + ir_lane_columns (m);
}

/* Returns how many floats a block saves when it releases a strip, for the block that claims
 * it next: those of the chain's lanes, and the last m - 1 rows of the border rule's column. */
__host__ __device__ constexpr int
ir_saved (int m)
{
  return 32 * ir_saved_by_lane (m) + 8;
}

/* Blocks of quadrants.cu that share an SM; warps of a block beside the chain's and the edge's. With six of them a
 * thread has too few registers for a chunk's sums and results. */
constexpr int ir_sm_blocks = 2, ir_helpers = 4;

/* How quadrants.cu is built for windows of m x m, found by measurement. Straight code is fast only while the code of
 * all warps stays in the instruction cache. */
struct IrShape {
  int chain_rows, sum_rows; /* rows of a chunk that are straight code: of the chain, of the sums over the input */
};

__host__ __device__ constexpr IrShape
ir_shape (int m)
{
  return m <= 3 ? IrShape { 8, 8 } : m <= 5 ? IrShape { 8, 4 } : IrShape { 2, 4 };
}

/* A view (one component of one field) as the kernel sees it. */
struct IrView {
  const void *in;     /* samples; floats in all passes but the first */
  float *y;           /* results of the first quadrant in use */
  long long pitch;    /* of in, bytes */
  long long y_quadrant; /* floats from one quadrant's results to the next one's */
  int y_pitch;        /* floats */
  int width, height;
  int step;           /* bytes from one sample to the next */
  int shift, max, mid; /* mid: subtracted from each sample; 0 except for chroma */
  int nx, ny, strips; /* cores along the sides; the largest number of strips of a window */
  int first_strip;    /* number of the view's first strip */
};

/* Test overrides: they change how the kernel works, never what it computes. */
struct IrTestOverrides {
  int blocks;     /* of the grid; 0: as many as strips, or the plan's share of the device */
  int max_chunks; /* of one claim */
  Late late;
  int *owner;     /* the trace: [strip][owner_chunks], the block that computed a chunk; NULL: none */
  int owner_chunks;
};

/* The parameters of ir_quadrants, one pass of a frame. */
struct IrWork {
  int n_views, n_quadrants, n_strips;
  int blocks; /* of the grid: blocks that wait for strips keep their places on the SMs from other frames */
  int warmup_margin, m;
  bool zero, same; /* same: the quadrants in use have the same set, which set[0] is, too */
  uint8_t quadrant[CF_IR_QUADRANTS]; /* those in use */
  IrView view[CF_MAX_VIEWS];
  IrScheduler scheduler;
  float *handover; /* what strips hand over: [strip][1 + rows][ir_handover_floats (m)]; all bits set: empty */
  int rows;     /* of a strip, at most */
  float *saved; /* [strip][ir_saved (m)]: state of released strips */
  IrTestOverrides test;
  CfIrSet set[CF_IR_QUADRANTS];
};
static_assert (sizeof (IrWork) < 4000, "is a kernel parameter");

/* What a pass reads: samples of 1 or 2 bytes, or floats. */
enum IrSource { IR_BYTES, IR_WORDS, IR_FLOATS };

/* Where a strip lies: its window and core. */
struct IrWindow {
  int view, quadrant, index; /* index: the strip's number in its window */
  int strips;                 /* of the window */
  CfIrSpan x, y;
};

/* Returns where strip s of the launch lies; index >= strips: the window has no such strip. */
__host__ __device__ inline IrWindow
ir_window (const IrWork &work, int s)
{
  IrWindow w;
  int i = 0;

  while (i + 1 < work.n_views && s >= work.view[i + 1].first_strip)
    i++;
  const IrView &v = work.view[i];
  const int local = s - v.first_strip, rest = local / v.strips, cores = v.nx * v.ny;
  const int core = rest % cores, q = rest / cores;

  w.view = i;
  w.quadrant = work.quadrant[q];
  w.index = local - rest * v.strips;
  w.x = cf_ir_span (v.width, v.nx, core % v.nx, work.warmup_margin, cf_ir_sx (w.quadrant));
  w.y = cf_ir_span (v.height, v.ny, core / v.nx, work.warmup_margin, cf_ir_sy (w.quadrant));
  w.strips = (w.x.window_end - w.x.window + ir_strip_columns (work.m) - 1) / ir_strip_columns (work.m);
  return w;
}

/* Returns what the scheduler needs to know of strip s. Its chunks cover the window's rows and m - 2 rows before them,
 * in which the chain has received sums and no complete one. */
__host__ __device__ inline IrStrip
ir_strip (const IrWork &work, int s)
{
  const IrWindow w = ir_window (work, s);
  const int rows = w.y.window_end - w.y.window + work.m - 2;

  return IrStrip { w.index < w.strips ? (rows + ir_chunk - 1) / ir_chunk : 0, w.index > 0 };
}

/* The parameters of ir_sum (sum.cu), which adds up the quadrants' results. Arrays by view. */
struct IrSum {
  Launch launch;                /* all views, including those that are copied */
  const float *x[CF_MAX_VIEWS]; /* the pass's input; NULL: the samples */
  const float *y[CF_MAX_VIEWS]; /* as IrView.y */
  float *r[CF_MAX_VIEWS];       /* the pass's result, unless it is the last */
  long long y_quadrant[CF_MAX_VIEWS];
  int y_pitch[CF_MAX_VIEWS];
  float offset[CF_MAX_VIEWS];
  int mid[CF_MAX_VIEWS];
  int n_quadrants;
  float through;
  bool last;
  /* reset to 0 for the next launch of ir_quadrants */
  IrScheduler scheduler;
};

/* quadrants.cu for one m. */
struct IrQuadrants {
  int m;
  CfCode (*load) (CfStatus *status); /* the kernels; called once a plan */
  CfCode (*launch) (const IrWork &work, IrSource source, cudaStream_t stream, CfStatus *status);
};
extern const IrQuadrants ir_quadrants_2, ir_quadrants_3, ir_quadrants_4, ir_quadrants_5, ir_quadrants_8;

CfCode ir_load_sum (CfStatus *status);
CfCode ir_launch_sum (const IrSum &sum, cudaStream_t stream, CfStatus *status);

inline constexpr const char *ir_loading = "loading the recursive filter's kernels";

} // namespace cf

#endif
