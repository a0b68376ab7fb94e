/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/gpu/paint.cuh: step 12 of the segmentation: the table of what is painted for each region, and the output
 * image.
 *
 * Map: sg_table_kernel has a thread per region. In sg_paint_kernel a block makes 128 x 32 samples of one component
 * (blockIdx.z), a warp four rows; a lane makes four neighbouring bytes where words may be stored, else every 32nd
 * sample. In sg_paint_words_kernel a block makes 128 x 32 pixels with all of their components, a lane four pixels of
 * four rows: the table holds a whole pixel as one word there, so one look-up serves all components.
 * Layout: no shared memory. The table is work.paint, indexed by the labels in work.map.
 * Race free: each thread writes its own samples, and the launches follow each other in one stream. sg_table_kernel
 * clears the counters that no later kernel of the frame reads.
 * Bound: no profile is recorded; docs/notes/segment.md has the times. */
#ifndef CF_SEGMENT_GPU_PAINT_CUH
#define CF_SEGMENT_GPU_PAINT_CUH

#include "internal.cuh"

namespace cf {

namespace {

/* ---- the table ---------------------------------------------------------- */

__device__ unsigned
sg_label_color (const SgWork &work, unsigned id)
{
  const unsigned h = id * 2654435769u;
  const unsigned r = 64 + 3 * (h >> 24) / 4, g = 64 + 3 * (h >> 16 & 255) / 4, b = 64 + 3 * (h >> 8 & 255) / 4;

  if (work.rgb)
    return r | g << 8 | b << 16;
  return (19595 * r + 38470 * g + 7471 * b + 32768) >> 16
      | (unsigned) ((-11059 * (int) r - 21709 * (int) g + 32768 * (int) b + 8421375) >> 16) << 8
      | (unsigned) ((32768 * (int) r - 27439 * (int) g - 5329 * (int) b + 8421375) >> 16) << 16;
}

/* Divides in 32 bits where both numbers fit. */
__device__ __forceinline__ unsigned
sg_divide_64 (unsigned long long a, unsigned long long b)
{
  return (a | b) >> 32 ? (unsigned) (a / b) : (unsigned) a / (unsigned) b;
}

/* Makes the entries of the table and copies the regions into host memory for the report, one thread per region.
 * Clears the counters for the next frame. */
__global__ void
sg_table_kernel (const __grid_constant__ SgWork work)
{
  const unsigned first = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned *control = (unsigned *) work.control, n = work.after.scalars[0];

  for (unsigned i = first; i < n; i += gridDim.x * blockDim.x) {
    CfSegmentRegion r = work.found[i];
    const unsigned color = sg_label_color (work, r.id);
    unsigned word = 0;

    r.n[2] = r.n[1]; /* only n[1] is counted */
#pragma unroll
    for (int k = 0; k < 3; k++) {
      const unsigned long long count = r.n[k] ? r.n[k] : 1;
      const unsigned sample = work.output == CF_SEGMENT_LABELS ? (color >> 8 * k & 255) << (work.bits - 8)
          : work.output == CF_SEGMENT_MEAN ? sg_divide_64 (2 * r.sum[k] + count, 2 * count) : 0;

      word |= k < work.n_colors ? sample << work.bit_shift[k] : 0;
      if (!work.out_layout)
        work.paint[3 * i + k] = sample;
    }
    if (work.out_layout)
      work.paint[i] = word;
    if (work.reports)
      work.reported[i] = r;
  }
  if (work.reports && first == 0)
    *work.reported_n = n;
  for (unsigned i = first; i < sizeof (SgControl) / 4; i += gridDim.x * blockDim.x)
    control[i] = 0;
}

/* ---- the image ---------------------------------------------------------- */

__device__ __forceinline__ bool
sg_is_border (const SgWork &work, int x, int y)
{
  const uint16_t *at = work.map + (long long) y * work.width + x;

  return (x + 1 < work.width && at[1] != at[0]) || (y + 1 < work.height && at[work.width] != at[0]);
}

__device__ __forceinline__ unsigned
sg_load_word (const SgWork &work, const uint8_t *p)
{
  return work.bytes == 1 ? *p : *(const uint16_t *) p;
}

__device__ __forceinline__ void
sg_store_word (const SgWork &work, uint8_t *p, unsigned word)
{
  if (work.bytes == 1)
    *p = (uint8_t) word;
  else
    *(uint16_t *) p = (uint16_t) word;
}

/* Returns a word of component k. copied: that of the input; else the painted one. */
__device__ __forceinline__ unsigned
sg_painted_word (const SgWork &work, int k, bool copied, int x, int y)
{
  const SgComponent &c = work.component[k];
  const int at_x = x << c.w_sub, at_y = y << c.h_sub;

  if (!copied && work.output != CF_SEGMENT_BOUNDARIES)
    return work.paint[3 * work.map[(long long) at_y * work.width + at_x] + k] << work.shift;
  if (!copied && sg_is_border (work, at_x, at_y))
    return (work.color >> 8 * k & 255) << (work.bits - 8 + work.shift);
  return sg_load_word (work, c.in + y * c.in_pitch + (long long) x * c.step);
}

/* Returns four painted bytes of component k. x and the map's width must be multiples of 4. */
__device__ __forceinline__ unsigned
sg_painted_bytes (const SgWork &work, int k, int x, int y)
{
  const SgComponent &c = work.component[k];
  const uint16_t *map = work.map + (long long) (y << c.h_sub) * work.width + (x << c.w_sub);
  const unsigned *paint = work.paint + k;
  uint2 label = *(const uint2 *) map;

  if (c.w_sub == 1) {
    const uint2 more = *(const uint2 *) (map + 4);

    label = make_uint2 (__byte_perm (label.x, label.y, 0x5410), __byte_perm (more.x, more.y, 0x5410));
  }
  return paint[3 * (label.x & 0xffff)] | paint[3 * (label.x >> 16)] << 8 | paint[3 * (label.y & 0xffff)] << 16
      | paint[3 * (label.y >> 16)] << 24;
}

/* Paints a component whose bytes lie side by side: a thread makes four bytes in each of sg_paint_rows rows. Words
 * that reach beyond the right edge are made byte by byte. */
constexpr int sg_paint_rows = 4;

__device__ __forceinline__ void
sg_paint_wide (const SgWork &work, int k, bool copied, int x, int y0)
{
  const SgComponent &c = work.component[k];
  const bool by_words = x + 4 <= c.width && (copied || work.output != CF_SEGMENT_BOUNDARIES);
  const int rows = min (c.height - y0, sg_paint_rows);
  unsigned words[sg_paint_rows];

  if (!by_words) {
    for (int i = 0; i < rows; i++)
      for (int at = x; at < min (x + 4, c.width); at++)
        sg_store_word (work, c.out + (y0 + i) * c.out_pitch + at, sg_painted_word (work, k, copied, at, y0 + i));
    return;
  }
#pragma unroll
  for (int i = 0; i < sg_paint_rows; i++) {
    const int y = min (y0 + i, c.height - 1);

    words[i] = copied ? *(const unsigned *) (c.in + y * c.in_pitch + x) : sg_painted_bytes (work, k, x, y);
  }
#pragma unroll
  for (int i = 0; i < sg_paint_rows; i++)
    if (i < rows)
      *(unsigned *) (c.out + (y0 + i) * c.out_pitch + x) = words[i];
}

/* Paints one component; a block makes 128 x 32 samples. */
__global__ void __launch_bounds__ (256)
sg_paint_kernel (const __grid_constant__ SgWork work)
{
  const int k = (int) blockIdx.z, lane = (int) (threadIdx.x % 32), warp = (int) (threadIdx.x / 32);
  const SgComponent &c = work.component[k];
  const bool copied = !c.filtered || work.output == CF_SEGMENT_PASSTHROUGH;
  const bool wide = c.wide && work.bytes == 1 && c.w_sub <= 1 && work.width % 8 == 0;
  const int x0 = (int) blockIdx.x * 128, y0 = (int) blockIdx.y * 32 + warp * sg_paint_rows;

  if (wide) {
    if (x0 + 4 * lane < c.width)
      sg_paint_wide (work, k, copied, x0 + 4 * lane, y0);
    return;
  }
  for (int x = x0 + lane; x < min (x0 + 128, c.width); x += 32) {
    unsigned words[sg_paint_rows];

#pragma unroll
    for (int i = 0; i < sg_paint_rows; i++)
      words[i] = sg_painted_word (work, k, copied, x, min (y0 + i, c.height - 1));
#pragma unroll
    for (int i = 0; i < sg_paint_rows; i++)
      if (y0 + i < c.height)
        sg_store_word (work, c.out + (y0 + i) * c.out_pitch + (long long) x * c.step, words[i]);
  }
}

/* ---- the image where a pixel of the table is one word ------------------------ */

constexpr int sg_word_rows = 4;

/* Paints pixels of four bytes: a lane makes every 32nd of 128 pixels in each of sg_word_rows rows. */
__device__ __forceinline__ void
sg_paint_packed (const SgWork &work, int x0, int y0)
{
  const SgComponent &c = work.component[0];
  const int lane = (int) (threadIdx.x % 32);

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int x = x0 + 32 * i + lane;
    unsigned words[sg_word_rows];

    if (x >= work.width)
      return;
#pragma unroll
    for (int j = 0; j < sg_word_rows; j++) {
      const int y = min (y0 + j, work.height - 1);
      const unsigned preserved
          = work.preserved ? *(const unsigned *) (work.words + y * c.in_pitch + 4ll * x) & work.preserved : 0;

      words[j] = preserved | work.paint[work.map[y * (long long) work.width + x]];
    }
#pragma unroll
    for (int j = 0; j < sg_word_rows; j++)
      if (y0 + j < work.height)
        *(unsigned *) (work.out_words + (y0 + j) * c.out_pitch + 4ll * x) = words[j];
  }
}

/* Returns the words of the regions of four pixels of a row. */
__device__ __forceinline__ uint4
sg_painted_words (const SgWork &work, int x, int y)
{
  const uint2 label = *(const uint2 *) (work.map + (long long) y * work.width + x);

  return make_uint4 (work.paint[label.x & 0xffff], work.paint[label.x >> 16], work.paint[label.y & 0xffff],
      work.paint[label.y >> 16]);
}

/* Returns byte k of each word. */
__device__ __forceinline__ unsigned
sg_bytes_of (const uint4 &words, unsigned k)
{
  const unsigned both = k * 0x11 + 0x40;

  return __byte_perm (__byte_perm (words.x, words.y, both), __byte_perm (words.z, words.w, both), 0x5410);
}

/* Paints planes of bytes: a lane makes four luma samples in each of sg_word_rows rows, and their chroma. */
__device__ __forceinline__ void
sg_paint_planes (const SgWork &work, int x, int y0)
{
  const SgComponent *c = work.component;
  uint4 words[sg_word_rows];

#pragma unroll
  for (int j = 0; j < sg_word_rows; j++)
    words[j] = sg_painted_words (work, x, min (y0 + j, work.height - 1));
#pragma unroll
  for (int j = 0; j < sg_word_rows; j++) {
    if (y0 + j >= work.height)
      return;
    *(unsigned *) (c[0].out + (y0 + j) * c[0].out_pitch + x) = sg_bytes_of (words[j], 0);
    if (j % 2 || work.out_layout == SG_GRAY)
      continue;
    const unsigned both = __byte_perm (words[j].x, words[j].z, 0x6521); /* chroma of the first, chroma of the third
                                                                         * pixel */
    const long long row = (y0 + j) / 2;

    if (work.out_layout == SG_SEMI_420) {
      *(unsigned *) (work.out_words + row * c[1].out_pitch + x) = both;
    } else {
      *(uint16_t *) (c[1].out + row * c[1].out_pitch + x / 2) = (uint16_t) __byte_perm (both, 0, 0x4420);
      *(uint16_t *) (c[2].out + row * c[2].out_pitch + x / 2) = (uint16_t) __byte_perm (both, 0, 0x4431);
    }
  }
}

/* Paints all components; a block makes 128 x 32 pixels. */
__global__ void __launch_bounds__ (256)
sg_paint_words_kernel (const __grid_constant__ SgWork work)
{
  const int x0 = (int) blockIdx.x * 128, x = x0 + 4 * (int) (threadIdx.x % 32);
  const int y0 = (int) (blockIdx.y * 8 + threadIdx.x / 32) * sg_word_rows;

  if (y0 >= work.height)
    return;
  if (work.out_layout == SG_PACKED)
    sg_paint_packed (work, x0, y0);
  else if (x < work.width)
    sg_paint_planes (work, x, y0);
}

} // namespace

} // namespace cf

#endif
