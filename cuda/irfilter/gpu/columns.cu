/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/gpu/columns.cu: filters the columns of all views of a frame (line.cuh). */
#include "line.cuh"

namespace cf {

namespace {

/* Loads the samples of a thread's columns, plus 1. */
template<int PER, int BYTES, int STEP> __device__ __forceinline__ void
ir_load_words (const Plane &p, int x, int row, float (&y)[ir_seg][PER])
{
  Quad q[ir_seg];

#pragma unroll
  for (int j = 0; j < ir_seg; j++)
    q[j] = load_quad_words<BYTES, STEP> (p, p.in + min (row + j, p.height - 1) * p.in_pitch, x);
#pragma unroll
  for (int j = 0; j < ir_seg; j++)
#pragma unroll
    for (int i = 0; i < PER; i++) {
      const unsigned word = BYTES == 1 ? __byte_perm (q[j].lo, 0x4b000000u, 0x7440 + i)
          : __byte_perm (i < 2 ? q[j].lo : q[j].hi, 0x4b000000u, i & 1 ? 0x7632 : 0x7610);

      y[j][i] = __fadd_rn (__uint_as_float (word), 1 - ir_magic);
    }
}

/* The same of pixels of 4 bytes. */
template<int PER> __device__ __forceinline__ void
ir_load_pixels (const IrLinesView &v, int x, int row, float (&y)[ir_seg][PER])
{
  const Plane &p = v.plane;
  const uint8_t *from = p.in - v.offset + 4 * x;
  uint4 q[ir_seg];

#pragma unroll
  for (int j = 0; j < ir_seg; j++)
    q[j] = *(const uint4 *) (from + min (row + j, p.height - 1) * p.in_pitch);
#pragma unroll
  for (int j = 0; j < ir_seg; j++) {
    const unsigned word[4] = { q[j].x, q[j].y, q[j].z, q[j].w };

#pragma unroll
    for (int i = 0; i < PER; i++)
      y[j][i] = __fadd_rn (__uint_as_float (__byte_perm (word[i], 0x4b000000u, 0x7440 + v.offset)), 1 - ir_magic);
  }
}

template<int PER, int BYTES> __device__ __forceinline__ void
ir_load_columns (const IrLinesView &v, int x, int row, float (&y)[ir_seg][PER])
{
  const Plane &p = v.plane;

  if (PER == 4 && BYTES == 1 && v.pixels_16 && x + 3 < p.width) {
    ir_load_pixels (v, x, row, y);
    return;
  }
  if (PER == 4 && p.in_words && x + 3 < p.width) {
    if (p.step == 1)
      ir_load_words<PER, BYTES, 1> (p, x, row, y);
    else if (p.step == 2)
      ir_load_words<PER, BYTES, 2> (p, x, row, y);
    else if (BYTES == 1 && p.step == 3)
      ir_load_words<PER, 1, 3> (p, x, row, y);
    else if (BYTES == 1)
      ir_load_words<PER, 1, 4> (p, x, row, y);
    return;
  }
#pragma unroll
  for (int j = 0; j < ir_seg; j++)
#pragma unroll
    for (int i = 0; i < PER; i++)
      y[j][i] = 1 + (float) load_sample (p, p.in + min (row + j, p.height - 1) * p.in_pitch, min (x + i, p.width - 1));
}

template<int PER, int BYTES> __device__ __forceinline__ void
ir_store_between (const IrLinesView &v, float scale, int x, int row, const float (&y)[PER])
{
  const long long at = (long long) row * v.pitch + x;

  if (BYTES == 1) {
    unsigned word[4];

#pragma unroll
    for (int i = 0; i < PER; i++)
      word[i] = __float_as_uint (__fmaf_rn (scale, y[i], ir_magic));
    if (PER == 4)
      *(uint2 *) ((uint16_t *) v.between + at) = make_uint2 (__byte_perm (word[0], word[1], 0x5410),
          __byte_perm (word[PER / 2], word[PER - 1], 0x5410));
    else
      ((uint16_t *) v.between)[at] = (uint16_t) word[0];
  } else if (PER == 4)
    *(float4 *) ((float *) v.between + at) = make_float4 (y[0], y[PER / 4], y[PER / 2], y[PER - 1]);
  else
    ((float *) v.between)[at] = y[0];
}

/* Reads or writes the values of a thread's columns in shared memory. */
template<int PER> __device__ __forceinline__ void
ir_put (float *to, const float (&v)[PER])
{
  if (PER == 4)
    *(float4 *) to = make_float4 (v[0], v[PER / 4], v[PER / 2], v[PER - 1]);
  else
    *to = v[0];
}

template<int PER> __device__ __forceinline__ void
ir_get (const float *from, float (&v)[PER])
{
  if (PER == 4) {
    const float4 f = *(const float4 *) from;

    v[0] = f.x, v[PER / 4] = f.y, v[PER / 2] = f.z, v[PER - 1] = f.w;
  } else
    v[0] = *from;
}

/* Where a thread works: its segment of its columns, and the words of shared memory that belong to it. */
struct IrColumnsPlace {
  int segments, segment, back; /* of the plane; the thread's, counted from the first and from the last one */
  int column, columns_log2;    /* the thread's first column in the block; of the block */
  float *power, *edge, *sum, *total; /* edge to total: [direction], then as in line.cuh, then [column] */
};

__device__ __forceinline__ IrColumnsPlace
ir_columns_place (const IrLinesView &v, int per_log2)
{
  const int t = (int) threadIdx.x;
  IrColumnsPlace p;

  p.segments = ir_segments (v.plane.height);
  p.segment = t >> v.lanes_log2;
  p.back = p.segments - 1 - p.segment;
  p.column = (t & ((1 << v.lanes_log2) - 1)) << per_log2;
  p.columns_log2 = v.lanes_log2 + per_log2;
  p.power = (float *) ir_lines_shared;
  p.edge = p.power + ir_eight;
  p.sum = p.edge + (2 << p.columns_log2);
  p.total = p.sum + (2 * ir_eights (p.segments) * ir_eight << p.columns_log2);
  return p;
}

/* Completes the last segment, sums each segment from zero, and keeps the edges. `here`: rows from the segment on. */
template<int PER> __device__ __forceinline__ void
ir_sum_columns (const IrLinesWork &w, const IrColumnsPlace &p, int here, float outside, float (&y)[ir_seg][PER])
{
  float c[PER], d[PER], edge[PER];

  if (p.back == 0)
#pragma unroll
    for (int i = 0; i < PER; i++)
      ir_pad<PER> (&y[0][i], here, w.zero, outside);
#pragma unroll
  for (int i = 0; i < PER; i++) {
    c[i] = y[0][i];
    d[i] = y[ir_seg - 1][i];
  }
  if (p.segment == 0) {
#pragma unroll
    for (int i = 0; i < PER; i++)
      edge[i] = __fmul_rn (w.lines.settled, w.zero ? outside : c[i]);
    ir_put (p.edge + p.column, edge);
  }
  if (p.back == 0) {
#pragma unroll
    for (int i = 0; i < PER; i++)
      edge[i] = __fmul_rn (w.lines.settled, w.zero ? outside : d[i]);
    ir_put (p.edge + (1 << p.columns_log2) + p.column, edge);
  }
#pragma unroll
  for (int j = 1; j < ir_seg; j++)
#pragma unroll
    for (int i = 0; i < PER; i++) {
      c[i] = __fmaf_rn (w.lines.nu, c[i], y[j][i]);
      d[i] = __fmaf_rn (w.lines.nu, d[i], y[ir_seg - 1 - j][i]);
    }
  ir_put (p.sum + (p.segment << p.columns_log2) + p.column, c);
  ir_put (p.sum + (ir_eights (p.segments) * ir_eight + p.back << p.columns_log2) + p.column, d);
}

/* Turns the sums and their eights into carries; all threads. */
__device__ __forceinline__ void
ir_scan_columns (const IrLinesWork &w, const IrColumnsPlace &p)
{
  const int columns = 1 << p.columns_log2, eights = ir_eights (p.segments), totals = ir_totals (p.segments);

  __syncthreads ();
#pragma unroll 1
  for (int i = (int) threadIdx.x; i < 2 * eights << p.columns_log2; i += (int) blockDim.x) {
    const int column = i & (columns - 1), eight = i >> p.columns_log2; /* the second direction's follow the first's */
    const int to = eight >= eights ? eight - eights + totals : eight;

    p.total[(to << p.columns_log2) + column]
        = ir_scan_eight (w.lines.power[1], p.sum + (eight * ir_eight << p.columns_log2) + column, columns);
  }
  __syncthreads ();
#pragma unroll 1
  for (int i = (int) threadIdx.x; i < 2 * columns; i += (int) blockDim.x) {
    const int direction = i >> p.columns_log2, column = i & (columns - 1);

    ir_scan_totals (w.lines.eight, p.edge[i], p.total + (direction * totals << p.columns_log2) + column, totals,
        columns);
  }
  __syncthreads ();
}

template<int PER> __device__ __forceinline__ void
ir_filter_columns (const IrLinesWork &w, const IrColumnsPlace &p, float (&y)[ir_seg][PER])
{
  const int eights = ir_eights (p.segments), totals = ir_totals (p.segments);
  const float q = p.power[p.segment & (ir_eight - 1)], back_q = p.power[p.back & (ir_eight - 1)];
  float c[PER], d[PER], g[PER], back_g[PER];

  ir_get (p.sum + (p.segment << p.columns_log2) + p.column, c);
  ir_get (p.total + (p.segment / ir_eight << p.columns_log2) + p.column, g);
  ir_get (p.sum + (eights * ir_eight + p.back << p.columns_log2) + p.column, d);
  ir_get (p.total + (totals + p.back / ir_eight << p.columns_log2) + p.column, back_g);
#pragma unroll
  for (int i = 0; i < PER; i++)
    ir_filter_segment<PER> (w.lines.nu, &y[0][i], __fmaf_rn (q, g[i], c[i]), __fmaf_rn (back_q, back_g[i], d[i]));
}

template<int PER, int BYTES, int ROUNDS> __global__ void
__launch_bounds__ (PER == 4 ? ir_columns_threads : ir_tall_threads, 1)
ir_columns (const __grid_constant__ IrLinesWork w)
{
  const int block = (int) blockIdx.x;
  int number = 0;

  while (number + 1 < w.n && block >= w.view[number + 1].first_columns)
    number++;
  const IrLinesView &v = w.view[number];
  const IrColumnsPlace p = ir_columns_place (v, PER == 4 ? 2 : 0);
  const int x = (block - v.first_columns << p.columns_log2) + p.column, y0 = p.segment * ir_seg;
  const int here = v.plane.height - y0;
  const bool active = p.segment < p.segments && x < v.plane.width;
  float y[ir_seg][PER];

  if (threadIdx.x < ir_eight)
    p.power[threadIdx.x] = w.lines.power[threadIdx.x];
  griddep_wait_only ();
  if (active)
    ir_load_columns<PER, BYTES> (v, x, y0, y);
#pragma unroll 1
  for (int round = 0; round < ROUNDS; round++) {
    if (active)
      ir_sum_columns (w, p, here, w.lines.outside[v.chroma][0][round], y);
    ir_scan_columns (w, p);
    if (active)
      ir_filter_columns (w, p, y);
    if (ROUNDS > 1) /* the sums are written again */
      __syncthreads ();
  }
  griddep_start_next ();
  if (!active)
    return;
#pragma unroll
  for (int j = 0; j < ir_seg; j++)
    if (j < here)
      ir_store_between<PER, BYTES> (v, w.lines.between, x, y0 + j, y[j]);
}

template<int PER, int BYTES> const void *
ir_columns_rounds (bool soft)
{
  return soft ? (const void *) ir_columns<PER, BYTES, CF_IR_ROUNDS> : (const void *) ir_columns<PER, BYTES, 1>;
}

} // namespace

const void *
ir_columns_kernel (bool tall, int bytes, bool soft)
{
  if (tall)
    return bytes == 1 ? ir_columns_rounds<1, 1> (soft) : ir_columns_rounds<1, 2> (soft);
  return bytes == 1 ? ir_columns_rounds<4, 1> (soft) : ir_columns_rounds<4, 2> (soft);
}

} // namespace cf
