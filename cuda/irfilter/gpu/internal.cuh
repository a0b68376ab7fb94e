/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * irfilter/gpu/internal.cuh: what the CUDA files of the recursive filter share: a pass as
 * it travels with a launch, and the launches. */
#ifndef CF_IRFILTER_GPU_INTERNAL_CUH
#define CF_IRFILTER_GPU_INTERNAL_CUH

#include "core/gpu/launch.cuh"
#include "scheduler.cuh"
#include "irfilter/irfilter.h"

namespace cf {

constexpr int ir_chunk = 8; /* rows that a strip's warps hand to each other at once */

/* Columns of a lane, as measured: the row's chain of dependent operations and
 * the number of strips (each costs 32 rows' time) pull in opposite directions. */
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

/* Floats of a row that a strip hands to the next. */
__host__ __device__ constexpr int
ir_handed (int m)
{
  return m == 2 ? 1 : m == 3 ? 2 : m <= 5 ? 4 : 8;
}

/* Floats that a strip's owner leaves to the next: each lane's last m - 1 rows,
 * and those of the border on the left. */
__host__ __device__ constexpr int
ir_saved (int m)
{
  return 32 * (m - 1) * (m - 1 + ir_lane_columns (m)) + 8;
}

/* A component of a field. */
struct IrView {
  const void *in;     /* samples, or floats (a further pass's) */
  float *y;           /* of quadrant se; the next one's is y_quadrant floats on */
  long long pitch;    /* of in, bytes */
  long long y_quadrant;
  int y_pitch;        /* floats */
  int width, height;
  int step;           /* bytes from one sample to the next */
  int shift, max, mid; /* mid: what is taken off, 0 but for chroma */
  int nx, ny, strips; /* cores, and the most strips that a window has */
  int first_strip;
};

/* Knobs for tests: how, never what. */
struct IrTest {
  int blocks;     /* of the grid; 0: as many as strips */
  int most;       /* chunks a claim */
  int delay;      /* ns that a warp may sleep at a chunk, at random */
  unsigned seed;
  int *owner;     /* [strip][chunk]: which block made it, or NULL */
  int owner_chunks;
};

struct IrWork {
  int n_views, n_quadrants, n_strips;
  int warm, m;
  bool zero;
  uint8_t quadrant[CF_IR_QUADRANTS]; /* those in use */
  IrView view[CF_MAX_VIEWS];
  Follow follow;
  float *words; /* what strips hand over: [strip][row][ir_handed], all bits set where nothing is */
  int rows;     /* of a strip in `words` */
  int sms;
  float *saved;
  IrTest test;
  CfIrSet set[CF_IR_QUADRANTS];
};
static_assert (sizeof (IrWork) < 4000, "travels with a launch");

enum IrSource { IR_BYTES, IR_WORDS, IR_FLOATS };

/* One job of a launch: the strip's window, and what of it is kept. */
struct IrWindow {
  int view, quadrant, column; /* the strip's number in its window */
  int strips;                 /* of the window */
  CfIrSpan x, y;
};

/* Strip s of all. */
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
  w.column = local - rest * v.strips;
  w.x = cf_ir_span (v.width, v.nx, core % v.nx, work.warm, cf_ir_sx (w.quadrant));
  w.y = cf_ir_span (v.height, v.ny, core / v.nx, work.warm, cf_ir_sy (w.quadrant));
  w.strips = (w.x.window_end - w.x.window + ir_strip_columns (work.m) - 1) / ir_strip_columns (work.m);
  return w;
}

/* Chunks of a strip: its window's rows, and the row above them that the border
 * rule makes. 0: the window has fewer strips. */
__host__ __device__ inline FollowStrip
ir_strip (const IrWork &work, int s)
{
  const IrWindow w = ir_window (work, s);
  const int rows = w.y.window_end - w.y.window + 1;

  return FollowStrip { w.column < w.strips ? (rows + ir_chunk - 1) / ir_chunk : 0, w.column > 0 };
}

/* What a pass makes of the quadrants' results: sum.cu. */
struct IrSum {
  Launch launch;                   /* all views, those that are copied too */
  const float *x[CF_MAX_VIEWS]; /* NULL: the samples */
  const float *y[CF_MAX_VIEWS];
  float *r[CF_MAX_VIEWS];      /* NULL: to samples */
  long long y_quadrant[CF_MAX_VIEWS];
  int y_pitch[CF_MAX_VIEWS];
  float offset[CF_MAX_VIEWS];
  int mid[CF_MAX_VIEWS];
  int n_quadrants;
  float through;
  bool last;
  /* made ready for the next launch of irfilter_follow */
  Follow follow;
};

CfCode irfilter_launch_follow_2 (const IrWork &work, IrSource source, cudaStream_t stream, CfStatus *status);
CfCode irfilter_launch_follow_3 (const IrWork &work, IrSource source, cudaStream_t stream, CfStatus *status);
CfCode irfilter_launch_follow_4 (const IrWork &work, IrSource source, cudaStream_t stream, CfStatus *status);
CfCode irfilter_launch_follow_5 (const IrWork &work, IrSource source, cudaStream_t stream, CfStatus *status);
CfCode irfilter_launch_follow_8 (const IrWork &work, IrSource source, cudaStream_t stream, CfStatus *status);
CfCode irfilter_launch_sum (const IrSum &sum, cudaStream_t stream, CfStatus *status);
/* Load the kernels; once a plan. */
CfCode irfilter_init_follow_2 (CfStatus *status);
CfCode irfilter_init_follow_3 (CfStatus *status);
CfCode irfilter_init_follow_4 (CfStatus *status);
CfCode irfilter_init_follow_5 (CfStatus *status);
CfCode irfilter_init_follow_8 (CfStatus *status);
CfCode irfilter_init_sum (CfStatus *status);

} // namespace cf

#endif
