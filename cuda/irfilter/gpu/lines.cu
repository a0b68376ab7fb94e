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
  bool tall, wide, pixels; /* pixels: ir_pixel_rows */
  int threads[2], blocks[2]; /* columns, rows */
  size_t shared[2];
};

bool
ir_is_aligned_16 (const void *data, long long pitch, const Plane &p)
{
  return p.step == 1 && ((uintptr_t) data & 15) == 0 && (pitch & 15) == 0 && p.width % ir_seg == 0;
}

/* Returns the address of a view's first pixel. */
uintptr_t
ir_pixel_address (const void *data, const IrLinesView &v)
{
  return (uintptr_t) data - v.offset;
}

/* Returns whether pixels of 4 bytes, each a component, can be read and written as words. */
bool
ir_has_pixels (const CfFormatInfo *info, const IrLinesWork &w)
{
  bool pixels = info->n_planes == 1 && info->n_components == 4 && info->bytes == 1;

  for (int i = 0; i < w.n; i++) {
    const Plane &p = w.view[i].plane;

    pixels = pixels && p.step == 4
        && ((ir_pixel_address (p.in, w.view[i]) | ir_pixel_address (p.out, w.view[i])) & 3) == 0
        && ((p.in_pitch | p.out_pitch) & 3) == 0;
  }
  return pixels;
}

/* Returns the shared memory of a block of rows. */
size_t
ir_rows_shared (int segments, int bytes, bool pixels)
{
  const size_t staged = pixels ? (size_t) segments * (ir_seg + 1) * 4 : (size_t) segments * ir_seg * (size_t) bytes;

  return sizeof (float) * (size_t) (ir_eight + ir_row_edges + 2 * ir_line_floats (segments)) + staged;
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
  w->n = launch.n;
  w->fields = launch.n / info->n_components;
  for (int i = 0; i < launch.n; i++) {
    w->view[i].plane = launch.plane[i];
    w->view[i].offset = info->comp[views[i].component].offset;
  }
  grid->shared[1] = ir_rows_shared (widest, info->bytes, true);
  grid->pixels = widest > 0 && ir_has_pixels (info, *w) && grid->shared[1] <= 48 << 10;
  if (!grid->pixels)
    grid->shared[1] = ir_rows_shared (widest, info->bytes, false);
  for (int i = 0; i < launch.n; i++) {
    IrLinesView &v = w->view[i];
    const Plane &p = v.plane;
    const int high = ir_segments (p.height);
    int log2 = 0;

    v.first_columns = grid->blocks[0];
    v.first_rows = grid->blocks[1];
    if (!grid->pixels || i < w->fields)
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
    v.pixels_16 = info->bytes == 1 && p.step == 4 && (ir_pixel_address (p.in, v) & 15) == 0 && (p.in_pitch & 15) == 0;
    v.pitch = ir_between_pitch (p.width);
    v.between = at;
    at += (size_t) v.pitch * (size_t) p.height * 2 * p.bytes;
    grid->blocks[0] += (p.width + columns - 1) / columns;
    grid->shared[0] = std::max (grid->shared[0],
        sizeof (float) * (size_t) (ir_eight + 2 * columns * (1 + ir_line_floats (high))));
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
  for (int bytes = 1; bytes <= 4; bytes *= 2)
    for (int i = 0; i < 2 * IR_ROWS_KINDS && code == CF_OK; i++)
      code = load_kernels ({ ir_rows_kernel (i & 1, bytes, (IrRowsKind) (i >> 1)) }, what, status);
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
  return launch_kernel ("recursive filter, rows", ir_rows_kernel (grid.wide, grid.pixels ? 4 : bytes, kind),
      grid.blocks[1], grid.threads[1], arguments, grid.shared[1], pdl, stream, status);
}

} // namespace cf
