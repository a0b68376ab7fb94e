/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/gpu/rows.cu: filters the rows of all views of a frame (line.cuh), rounds and stores the result; a block is a
 * row. Views that are not filtered are copied. Of pixels of four bytes a block takes all components, one after the
 * other, in a copy of the row in shared memory: single bytes there cost less than in memory. */
#include "line.cuh"

namespace cf {

namespace {

/* The samples of a segment as stored words. */
template<int BYTES> struct IrSegmentWords {
  unsigned w[4 * BYTES];
};

/* Reads or writes a segment, 16 bytes at a time. */
template<int BYTES> __device__ __forceinline__ IrSegmentWords<BYTES>
ir_get_words (const void *from)
{
  IrSegmentWords<BYTES> s;

#pragma unroll
  for (int i = 0; i < BYTES; i++) {
    const uint4 q = ((const uint4 *) from)[i];

    s.w[4 * i] = q.x, s.w[4 * i + 1] = q.y, s.w[4 * i + 2] = q.z, s.w[4 * i + 3] = q.w;
  }
  return s;
}

template<int BYTES> __device__ __forceinline__ void
ir_put_words (void *to, const IrSegmentWords<BYTES> &s)
{
#pragma unroll
  for (int i = 0; i < BYTES; i++)
    ((uint4 *) to)[i] = make_uint4 (s.w[4 * i], s.w[4 * i + 1], s.w[4 * i + 2], s.w[4 * i + 3]);
}

/* Returns sample j of a segment of valid samples as a float. */
template<int BYTES> __device__ __forceinline__ float
ir_sample_of (const IrSegmentWords<BYTES> &s, int j)
{
  const unsigned word = BYTES == 1 ? __byte_perm (s.w[j / 4], 0x4b000000u, 0x7440 + j % 4)
      : __byte_perm (s.w[BYTES * j / 4], 0x4b000000u, j & 1 ? 0x7632 : 0x7610);

  return __fadd_rn (__uint_as_float (word), -ir_magic);
}

/* Loads the samples of the whole row into `staged`; all threads of the block. */
template<int BYTES> __device__ __forceinline__ void
ir_stage_row (const Plane &p, int row, uint8_t *staged)
{
  const uint8_t *from = p.in + row * p.in_pitch;

  for (int x = (int) threadIdx.x; x < p.width; x += (int) blockDim.x)
    if (BYTES == 1)
      staged[x] = (uint8_t) load_sample (p, from, x);
    else
      ((uint16_t *) staged)[x] = (uint16_t) load_sample (p, from, x);
}

/* Stores the row that lies in `staged`; all threads of the block. */
template<int BYTES> __device__ __forceinline__ void
ir_store_staged (const Plane &p, int row, const uint8_t *staged)
{
  uint8_t *to = p.out + row * p.out_pitch;
  const int words = p.out_words ? p.width * BYTES / 4 : 0;

  for (int i = (int) threadIdx.x; i < words; i += (int) blockDim.x)
    ((unsigned *) to)[i] = ((const unsigned *) staged)[i] << p.shift;
  for (int x = words * 4 / BYTES + (int) threadIdx.x; x < p.width; x += (int) blockDim.x)
    store_sample (p, to, x, BYTES == 1 ? staged[x] : ((const uint16_t *) staged)[x]);
}

template<int BYTES> __device__ __forceinline__ void
ir_load_between (const IrLinesView &v, int row, int segment, float (&y)[ir_seg])
{
  const long long at = (long long) row * v.pitch + segment * ir_seg;

  if (BYTES == 1) {
    const IrSegmentWords<2> s = ir_get_words<2> ((const uint16_t *) v.between + at);

#pragma unroll
    for (int j = 0; j < ir_seg; j++)
      y[j] = ir_sample_of<2> (s, j);
  } else
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const float4 f = ((const float4 *) ((const float *) v.between + at))[i];

      y[4 * i] = f.x, y[4 * i + 1] = f.y, y[4 * i + 2] = f.z, y[4 * i + 3] = f.w;
    }
}

/* Returns the row's own samples of a segment; all threads. */
template<int BYTES> __device__ __forceinline__ IrSegmentWords<BYTES>
ir_load_own (const IrLinesView &v, int row, int segment, bool active, uint8_t *staged)
{
  const Plane &p = v.plane;
  IrSegmentWords<BYTES> own = { };

  if (v.load_16) {
    if (active)
      own = ir_get_words<BYTES> (p.in + row * p.in_pitch + segment * ir_seg * BYTES);
    return own;
  }
  ir_stage_row<BYTES> (p, row, staged);
  __syncthreads ();
  if (active)
    own = ir_get_words<BYTES> (staged + segment * ir_seg * BYTES);
  return own;
}

/* Turns sums of a row into carries, a warp for each direction; all threads. */
__device__ __forceinline__ void
ir_scan_row (const IrLinesWork &w, const float *edge, float *sum, int segments)
{
  const int warp = (int) threadIdx.x >> 5, lane = (int) threadIdx.x & 31, eights = ir_eights (segments);

  __syncthreads ();
  if (warp < 2) {
    float *s = sum + warp * ir_line_floats (segments), *total = s + eights * ir_eight;

#pragma unroll 1
    for (int i = lane; i < eights; i += 32)
      total[i] = ir_scan_eight (w.lines.power[1], s + i * ir_eight, 1);
    __syncwarp ();
    if (lane == 0)
      ir_scan_totals (w.lines.eight, edge[warp], total, ir_totals (segments), 1);
  }
  __syncthreads ();
}

/* Runs all rounds of a row. */
template<int ROUNDS> __device__ __forceinline__ void
ir_filter_row (const IrLinesWork &w, const IrLinesView &v, const float *power, float *edge, float *sum,
    float (&y)[ir_seg])
{
  const int segment = (int) threadIdx.x, segments = ir_segments (v.plane.width), back = segments - 1 - segment;
  const int each = ir_line_floats (segments);
  const float *total = sum + ir_eights (segments) * ir_eight;
  const bool active = segment < segments;

#pragma unroll 1
  for (int round = 0; round < ROUNDS; round++) {
    const float outside = w.lines.outside[v.chroma][1][round];

    if (active) {
      if (back == 0)
        ir_pad<1> (y, v.plane.width - segment * ir_seg, w.zero, outside);
      float c = y[0], d = y[ir_seg - 1];

      if (segment == 0)
        edge[0] = __fmul_rn (w.lines.settled, w.zero ? outside : c);
      if (back == 0)
        edge[1] = __fmul_rn (w.lines.settled, w.zero ? outside : d);
#pragma unroll
      for (int j = 1; j < ir_seg; j++) {
        c = __fmaf_rn (w.lines.nu, c, y[j]);
        d = __fmaf_rn (w.lines.nu, d, y[ir_seg - 1 - j]);
      }
      sum[segment] = c;
      sum[each + back] = d;
    }
    ir_scan_row (w, edge, sum, segments);
    if (active)
      ir_filter_segment<1> (w.lines.nu, y,
          __fmaf_rn (power[segment & (ir_eight - 1)], total[segment / ir_eight], sum[segment]),
          __fmaf_rn (power[back & (ir_eight - 1)], total[each + back / ir_eight], sum[each + back]));
    if (ROUNDS > 1) /* the sums are written again */
      __syncthreads ();
  }
}

/* Returns the result's words, not shifted. `own`: the row's own samples, if MIXED. */
template<int BYTES, bool MIXED> __device__ __forceinline__ IrSegmentWords<BYTES>
ir_round_segment (const CfIrLines &l, const Plane &p, const float (&y)[ir_seg], const IrSegmentWords<BYTES> &own)
{
  const float max = (float) ((1u << p.bits) - 1);
  IrSegmentWords<BYTES> s;
  unsigned r[ir_seg];

#pragma unroll
  for (int j = 0; j < ir_seg; j++)
    if (MIXED) {
      const float x = fminf (ir_sample_of<BYTES> (own, j), max);
      const float f = __fmaf_rn (l.gain, y[j], __fmaf_rn (l.through, x, l.offset));

      r[j] = __float_as_uint (__fadd_rn (fminf (fmaxf (f, 0.0f), max), ir_magic));
    } else
      r[j] = __float_as_uint (__fmaf_rn (l.gain, y[j], ir_magic - 1));
#pragma unroll
  for (int i = 0; i < 4 * BYTES; i++)
    if (BYTES == 1)
      s.w[i] = __byte_perm (__byte_perm (r[4 * i], r[4 * i + 1], 0x40),
          __byte_perm (r[4 * i + 2], r[4 * i + 3], 0x40), 0x5410);
    else
      s.w[i] = __byte_perm (r[4 * i / BYTES], r[4 * i / BYTES + 1], 0x5410);
  return s;
}

/* Stores a row; all threads. */
template<int BYTES> __device__ __forceinline__ void
ir_store_row (const IrLinesView &v, int row, int segment, bool active, IrSegmentWords<BYTES> s, uint8_t *staged)
{
  const Plane &p = v.plane;

  if (v.store_16) {
    if (!active)
      return;
    if (BYTES == 2)
#pragma unroll
      for (int i = 0; i < 4 * BYTES; i++)
        s.w[i] <<= p.shift;
    ir_put_words<BYTES> (p.out + row * p.out_pitch + segment * ir_seg * BYTES, s);
    return;
  }
  if (active)
    ir_put_words<BYTES> (staged + segment * ir_seg * BYTES, s);
  __syncthreads ();
  ir_store_staged<BYTES> (p, row, staged);
}

template<int BYTES, int ROUNDS, bool MIXED, int THREADS> __global__ void
__launch_bounds__ (THREADS, THREADS > ir_row_threads ? 1 : BYTES == 1 && !MIXED ? ir_row_blocks : 4)
ir_rows (const __grid_constant__ IrLinesWork w)
{
  const int block = (int) blockIdx.x, segment = (int) threadIdx.x;
  int number = 0;

  while (number + 1 < w.n && block >= w.view[number + 1].first_rows)
    number++;
  const IrLinesView &v = w.view[number];
  const int row = block - v.first_rows, segments = ir_segments (v.plane.width);
  const bool active = segment < segments;
  float *power = (float *) ir_lines_shared, *edge = power + ir_eight, *sum = edge + ir_row_edges;
  uint8_t *staged = (uint8_t *) (sum + 2 * ir_line_floats (segments));
  IrSegmentWords<BYTES> own = { };
  float y[ir_seg];

  if (segment < ir_eight)
    power[segment] = w.lines.power[segment];
  griddep_wait_only ();
  if (!v.plane.filtered) {
    copy_tile (v.plane, 0, row, v.plane.width, 1, (int) threadIdx.x, (int) blockDim.x);
    return;
  }
  if (active)
    ir_load_between<BYTES> (v, row, segment, y);
  if (MIXED)
    own = ir_load_own<BYTES> (v, row, segment, active, staged);
  ir_filter_row<ROUNDS> (w, v, power, edge, sum, y);
  griddep_start_next ();
  if (active)
    own = ir_round_segment<BYTES, MIXED> (w.lines, v.plane, y, own);
  ir_store_row (v, row, segment, active, own, staged);
}

/* Where pixel i of a row lies in shared memory: segments are 17 words apart, so that lanes hit different banks. */
__device__ __forceinline__ int
ir_pixel_at (int i)
{
  return i + i / ir_seg;
}

/* Replaces the samples of a component in a segment of the copied row. */
template<bool MIXED> __device__ __forceinline__ void
ir_round_pixels (const CfIrLines &l, const float (&y)[ir_seg], uint8_t *at)
{
#pragma unroll
  for (int j = 0; j < ir_seg; j++)
    if (MIXED) {
      const float f = __fmaf_rn (l.gain, y[j], __fmaf_rn (l.through, (float) at[4 * j], l.offset));

      at[4 * j] = (uint8_t) __float_as_uint (__fadd_rn (fminf (fmaxf (f, 0.0f), 255.0f), ir_magic));
    } else
      at[4 * j] = (uint8_t) __float_as_uint (__fmaf_rn (l.gain, y[j], ir_magic - 1));
}

/* One view of each field stands for all components. */
template<int ROUNDS, bool MIXED, int THREADS> __global__ void
__launch_bounds__ (THREADS, THREADS > ir_row_threads ? 1 : ir_row_blocks)
ir_pixel_rows (const __grid_constant__ IrLinesWork w)
{
  const int block = (int) blockIdx.x, segment = (int) threadIdx.x;
  const int field = w.fields > 1 && block >= w.view[1].first_rows;
  const IrLinesView &first = w.view[field];
  const int row = block - first.first_rows, width = first.plane.width, segments = ir_segments (width);
  float *power = (float *) ir_lines_shared, *edge = power + ir_eight, *sum = edge + ir_row_edges;
  unsigned *pixels = (unsigned *) (sum + 2 * ir_line_floats (segments));
  const unsigned *from = (const unsigned *) (first.plane.in - first.offset + row * first.plane.in_pitch);
  unsigned *to = (unsigned *) (first.plane.out - first.offset + row * first.plane.out_pitch);
  float y[ir_seg];

  if (segment < ir_eight)
    power[segment] = w.lines.power[segment];
  griddep_wait_only ();
  for (int i = segment; i < width; i += (int) blockDim.x)
    pixels[ir_pixel_at (i)] = from[i];
#pragma unroll 1
  for (int n = field; n < w.n; n += w.fields) {
    const IrLinesView &v = w.view[n];

    if (!v.plane.filtered)
      continue;
    if (segment < segments)
      ir_load_between<1> (v, row, segment, y);
    __syncthreads (); /* the row is copied; nothing reads the sums of the component before */
    ir_filter_row<ROUNDS> (w, v, power, edge, sum, y);
    if (segment < segments)
      ir_round_pixels<MIXED> (w.lines, y, (uint8_t *) &pixels[ir_pixel_at (segment * ir_seg)] + v.offset);
  }
  griddep_start_next ();
  __syncthreads ();
  for (int i = segment; i < width; i += (int) blockDim.x)
    to[i] = pixels[ir_pixel_at (i)];
}

template<int THREADS> const void *
ir_pixel_rows_of_kind (IrRowsKind kind)
{
  return kind == IR_ROWS_SOFT ? (const void *) ir_pixel_rows<CF_IR_ROUNDS, false, THREADS>
      : kind == IR_ROWS_MIXED ? (const void *) ir_pixel_rows<1, true, THREADS>
                              : (const void *) ir_pixel_rows<1, false, THREADS>;
}

template<int BYTES, int THREADS> const void *
ir_rows_of_kind (IrRowsKind kind)
{
  return kind == IR_ROWS_SOFT ? (const void *) ir_rows<BYTES, CF_IR_ROUNDS, false, THREADS>
      : kind == IR_ROWS_MIXED ? (const void *) ir_rows<BYTES, 1, true, THREADS>
                              : (const void *) ir_rows<BYTES, 1, false, THREADS>;
}

} // namespace

const void *
ir_rows_kernel (bool wide, int bytes, IrRowsKind kind)
{
  if (bytes == 4)
    return wide ? ir_pixel_rows_of_kind<ir_wide_row_threads> (kind) : ir_pixel_rows_of_kind<ir_row_threads> (kind);
  if (wide)
    return bytes == 1 ? ir_rows_of_kind<1, ir_wide_row_threads> (kind) : ir_rows_of_kind<2, ir_wide_row_threads> (kind);
  return bytes == 1 ? ir_rows_of_kind<1, ir_row_threads> (kind) : ir_rows_of_kind<2, ir_row_threads> (kind);
}

} // namespace cf
