/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/gpu/line.cuh: what the kernels of columns.cu and rows.cu share: the parameters of a launch and the scan of a
 * line's segments.
 *
 * Map: a thread holds a segment of 16 samples in registers: ir_columns of 4 columns side by side (of 1 where the
 * frame is too high for that), ir_rows of one row. A block has all segments of its columns, or of its row, so that a
 * plane is read once and written once by each launch, also for three rounds.
 * A round: each thread sums its segment from zero in both directions; the sums go to shared memory, where a thread
 * scans eight of them, and another one the eights; each thread filters its segment again from its carries.
 * Shared memory: the powers of nu, the edges, the sums, [direction][segment][column], and the totals of the eights; the
 * rows' kernels also stage samples there that cannot be loaded or stored 16 bytes at a time, and pixels.
 * Race free: a barrier between the sums, the scan of the eights, the scan of their totals, and their use; a word is
 * written by one thread between two barriers.
 * Bound by latency at 1080p (one block of columns on each SM: loads, three barriers, the chains of 16), by the loads
 * and stores of the plane between the launches at 4K. The contract fixes the order of every sum: the bytes do not
 * depend on the grid. docs/notes/irfilter.md has figures and what was tried. */
#ifndef CF_IRFILTER_GPU_LINE_CUH
#define CF_IRFILTER_GPU_LINE_CUH

#include "lines.cuh"

namespace cf {

constexpr int ir_seg = CF_IR_SEGMENT, ir_eight = CF_IR_EIGHT;
constexpr float ir_magic = 8388608.0f; /* 2^23: from here on floats are integers */

constexpr int ir_columns_threads = 576; /* at most, with 4 columns a thread */
constexpr int ir_tall_threads = 1024;   /* at most, with 1 column a thread: CF_MAX_SIZE rows */
constexpr int ir_row_threads = 256, ir_wide_row_threads = 1024; /* at most: up to 4096 columns; any width */

/* Blocks of ir_row_threads that share an SM. */
#if defined (__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int ir_row_blocks = 4; /* it has room for 1024 threads */
#else
constexpr int ir_row_blocks = 5;
#endif
constexpr int ir_row_edges = 4; /* floats: two edges of a row; what follows is aligned */

/* A view as the kernels see it. */
struct IrLinesView {
  Plane plane;
  void *between;  /* 16-bit integers (8 bits a sample) or floats */
  int pitch;      /* of `between`, elements: a multiple of 16 */
  int first_columns, first_rows; /* its first block in each launch */
  uint8_t lanes_log2; /* threads side by side in a block of columns */
  bool chroma;
  bool load_16, store_16; /* whole segments, 16 bytes at a time */
  bool pixels_16;         /* pixels of 4 bytes, 16 bytes of them at a time */
  uint8_t offset;         /* of the first sample from the row's beginning, bytes */
};

struct IrLinesWork {
  CfIrLines lines;
  bool zero; /* border */
  int n, fields; /* views: [component][field] */
  IrLinesView view[CF_MAX_VIEWS];
};
static_assert (sizeof (IrLinesWork) < 4000, "is a kernel parameter");

__host__ __device__ constexpr int
ir_segments (int n)
{
  return (n + ir_seg - 1) / ir_seg;
}

__host__ __device__ constexpr int
ir_eights (int segments)
{
  return (segments + ir_eight - 1) / ir_eight;
}

/* Returns the totals that are stored for the eights: read four at a time. */
__host__ __device__ constexpr int
ir_totals (int segments)
{
  return (ir_eights (segments) + 3) / 4 * 4;
}

/* Returns the floats of one direction of a line: the sums of its segments, and the totals of their eights. */
__host__ __device__ constexpr int
ir_line_floats (int segments)
{
  return ir_eights (segments) * ir_eight + ir_totals (segments);
}

/* The kernels; `tall`: with 1 column a thread, `wide`: with more than 256 threads. `bytes`: of a sample; 4: of a pixel
 * of four components, which ir_pixel_rows filters together. */
enum IrRowsKind { IR_ROWS_ONE_ROUND, IR_ROWS_SOFT, IR_ROWS_MIXED, IR_ROWS_KINDS };
const void *ir_columns_kernel (bool tall, int bytes, bool soft);
const void *ir_rows_kernel (bool wide, int bytes, IrRowsKind kind);

#ifdef __CUDACC__

/* ---- shared by both kernels ---------------------------------------------- */

extern __shared__ float4 ir_lines_shared[];

/* Fills the end of a line's last segment, behind its first n samples. */
template<int STRIDE> __device__ __forceinline__ void
ir_pad (float *y, int n, bool zero, float outside)
{
#pragma unroll
  for (int j = 1; j < ir_seg; j++)
    y[j * STRIDE] = j < n ? y[j * STRIDE] : zero ? outside : y[(j - 1) * STRIDE];
}

/* Filters a segment from its carries. */
template<int STRIDE> __device__ __forceinline__ void
ir_filter_segment (float nu, float *y, float c, float d)
{
  float seen[ir_seg];

#pragma unroll
  for (int j = 0; j < ir_seg; j++)
    seen[j] = c = __fmaf_rn (nu, c, y[j * STRIDE]);
#pragma unroll
  for (int j = ir_seg - 1; j >= 0; j--) {
    const float x = y[j * STRIDE];

    y[j * STRIDE] = __fmaf_rn (nu, d, seen[j]);
    d = __fmaf_rn (nu, d, x);
  }
}

/* Scans an eight of segments, whose sums are `stride` floats apart: replaces each sum by that of the segments before
 * it. Returns the total. */
__device__ __forceinline__ float
ir_scan_eight (float q, float *sum, int stride)
{
  float s[ir_eight], u = 0;

#pragma unroll
  for (int j = 0; j < ir_eight; j++)
    s[j] = sum[j * stride];
#pragma unroll
  for (int j = 0; j < ir_eight; j++) {
    sum[j * stride] = u;
    u = __fmaf_rn (q, u, s[j]);
  }
  return u;
}

/* Scans n totals (a multiple of 4): replaces each by what its eight starts from. */
__device__ __forceinline__ void
ir_scan_totals (float q, float g, float *total, int n, int stride)
{
#pragma unroll 1
  for (int i = 0; i < n; i += 4) {
    float s[4];

#pragma unroll
    for (int j = 0; j < 4; j++)
      s[j] = total[(i + j) * stride];
#pragma unroll
    for (int j = 0; j < 4; j++) {
      total[(i + j) * stride] = g;
      g = __fmaf_rn (q, g, s[j]);
    }
  }
}

#endif /* __CUDACC__ */

} // namespace cf

#endif
