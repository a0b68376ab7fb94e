/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/gpu/lines.cu: the launches of the separable presets: all columns of a frame (columns.cu), then all rows
 * (rows.cu). */
#include "line.cuh"

#include <algorithm>

namespace cf {

namespace {

int
ir_between_pitch (int width)
{
  return ir_segments (width) * ir_seg;
}

/* What a launch of a frame needs beside IrLinesWork. */
struct IrLinesGrid {
  bool tall, wide;
  int threads[2], blocks[2]; /* columns, rows */
  size_t shared[2];
};

bool
ir_is_aligned_16 (const void *data, long long pitch, const Plane &p)
{
  return p.step == 1 && ((uintptr_t) data & 15) == 0 && (pitch & 15) == 0 && p.width % ir_seg == 0;
}

/* Chooses the kernels and the threads of their blocks for the segments of the highest and of the widest view. */
void
ir_choose_threads (int highest, int widest, IrLinesGrid *grid)
{
  int lanes_log2 = 2; /* 16 columns a block are the best that was measured, if there is room for them */

  grid->tall = highest > ir_columns_threads;
  grid->wide = widest > ir_row_threads;
  while (lanes_log2 > 0 && highest << lanes_log2 > ir_columns_threads)
    lanes_log2--;
  grid->threads[0] = grid->tall ? ir_tall_threads : std::max (highest << lanes_log2, 128);
  grid->threads[0] = (grid->threads[0] + 31) / 32 * 32;
  grid->threads[1] = std::max ((widest + 31) / 32 * 32, 64); /* two warps scan */
}

/* Fills the views of `w` and the grid. */
void
ir_lay_out (const CfPlan *plan, const CfImage *in, const CfImage *out, void *between, IrLinesWork *w, IrLinesGrid *grid)
{
  const CfFormatInfo *info = cf_format_info (plan->video.format);
  CfView views[CF_MAX_VIEWS];
  Launch launch;
  uint8_t *at = static_cast<uint8_t *> (between);
  int highest = 0, widest = 0;

  make_launch (plan, in, out, 0, &launch);
  cf_image_views (&plan->video, &plan->common, in, views);
  for (int i = 0; i < launch.n; i++)
    if (launch.plane[i].filtered) {
      highest = std::max (highest, ir_segments (launch.plane[i].height));
      widest = std::max (widest, ir_segments (launch.plane[i].width));
    }
  *grid = IrLinesGrid ();
  ir_choose_threads (highest, widest, grid);
  grid->shared[1] = sizeof (float) * (ir_eight + ir_row_edges); /* where all views are copied */
  w->n = launch.n;
  for (int i = 0; i < launch.n; i++) {
    IrLinesView &v = w->view[i];
    const Plane &p = v.plane = launch.plane[i];
    const int high = ir_segments (p.height), wide = ir_segments (p.width);
    int log2 = 0;

    v.first_columns = grid->blocks[0];
    v.first_rows = grid->blocks[1];
    grid->blocks[1] += p.height;
    if (!p.filtered)
      continue;
    while (log2 < 5 && high << (log2 + 1) <= grid->threads[0])
      log2++;
    const int columns = (grid->tall ? 1 : 4) << log2;

    v.lanes_log2 = (uint8_t) log2;
    v.chroma = info->comp[views[i].component].role == CF_ROLE_CHROMA;
    v.load_16 = ir_is_aligned_16 (p.in, p.in_pitch, p) && p.shift == 0;
    v.store_16 = ir_is_aligned_16 (p.out, p.out_pitch, p);
    v.pitch = ir_between_pitch (p.width);
    v.between = at;
    at += (size_t) v.pitch * (size_t) p.height * 2 * p.bytes;
    grid->blocks[0] += (p.width + columns - 1) / columns;
    grid->shared[0] = std::max (grid->shared[0],
        sizeof (float) * (size_t) (ir_eight + 2 * columns * (1 + ir_line_floats (high))));
    grid->shared[1] = std::max (grid->shared[1], (size_t) (wide * ir_seg * p.bytes)
        + sizeof (float) * (size_t) (ir_eight + ir_row_edges + 2 * ir_line_floats (wide)));
  }
}

} // namespace

size_t
ir_lines_memory (const CfView *views, int n)
{
  size_t size = 0;

  for (int i = 0; i < n; i++)
    if (views[i].filtered)
      size += (size_t) ir_between_pitch (views[i].width) * (size_t) views[i].height * 2 * views[i].bytes;
  return size;
}

CfCode
ir_load_lines (bool *pdl, CfStatus *status)
{
  static const char what[] = "loading the recursive filter's kernels";
  CfCode code = CF_OK;
  cudaFuncAttributes attributes;

  for (int i = 0; i < 8 && code == CF_OK; i++)
    code = load_kernels ({ ir_columns_kernel (i & 1, 1 + (i >> 1 & 1), i >> 2) }, what, status);
  for (int i = 0; i < 4 * IR_ROWS_KINDS && code == CF_OK; i++)
    code = load_kernels ({ ir_rows_kernel (i & 1, 1 + (i >> 1 & 1), (IrRowsKind) (i >> 2)) }, what, status);
  if (code == CF_OK)
    code = cf_cuda_check (cudaFuncGetAttributes (&attributes, ir_columns_kernel (false, 1, false)), what, status);
  /* what the kernels do depends on what they were compiled for, not on the device that runs them */
  *pdl = code == CF_OK && attributes.ptxVersion >= 90;
  return code;
}

CfCode
ir_launch_lines (const CfPlan *plan, const CfIrDesign &design, const CfImage *in, const CfImage *out, void *between,
    bool pdl, cudaStream_t stream, CfStatus *status)
{
  const bool soft = design.lines.rounds > 1;
  const int bytes = cf_format_info (plan->video.format)->bytes;
  const IrRowsKind kind = soft ? IR_ROWS_SOFT : design.lines.mixed ? IR_ROWS_MIXED : IR_ROWS_ONE_ROUND;
  IrLinesWork work = { };
  IrLinesGrid grid;
  void *arguments[] = { &work };
  CfCode code = CF_OK;

  work.lines = design.lines;
  work.zero = design.border == CF_IR_ZERO;
  ir_lay_out (plan, in, out, between, &work, &grid);
  if (grid.blocks[0] > 0)
    code = launch_kernel ("recursive filter, columns", ir_columns_kernel (grid.tall, bytes, soft), grid.blocks[0],
        grid.threads[0], arguments, grid.shared[0], pdl, stream, status);
  if (code != CF_OK)
    return code;
  return launch_kernel ("recursive filter, rows", ir_rows_kernel (grid.wide, bytes, kind), grid.blocks[1],
      grid.threads[1], arguments, grid.shared[1], pdl, stream, status);
}

} // namespace cf
