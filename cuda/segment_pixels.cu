/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment_pixels.cu: steps 11 and 12 of the segmentation: each pixel's region and
 * what is counted of it, a table of what to paint, and the picture. */
#include "segment_list.cuh"

namespace cf {

namespace {

constexpr int rows_each = 4; /* of a lane */
constexpr int warps = 16;

/* Step 11: the pixel's own cell's region, or one beside it that is nearer in colour. */
struct Column {
  int cell, beside; /* columns of cells */
};

__device__ __forceinline__ int
beside (int at, int rest, int size, int end)
{
  const int other = 2 * rest + 1 < size ? at - 1 : 2 * rest + 1 > size ? at + 1 : at;

  return other < 0 || other >= end ? at : other;
}

__device__ __forceinline__ unsigned
pixel_color (const SgWork &work, int x, int y)
{
  const unsigned a = sg_sample (work, work.component[0], x, y);

  if (work.n_colors == 1)
    return sg_color (work, a, 0, 0);
  return sg_color (work, a, sg_sample (work, work.component[1], x, y), sg_sample (work, work.component[2], x, y));
}

/* Step 11 for rows_each pixels below each other; all loads go before the first is needed. */
__device__ __forceinline__ void
pixel_labels (const SgWork &work, const Column &column, int x, int y0, unsigned (&label)[rows_each])
{
  unsigned across[rows_each], above[rows_each];

  int row = y0 / work.size, rest = y0 - row * work.size;

#pragma unroll
  for (int i = 0; i < rows_each; i++) {
    const int near_row = min (row, work.rows - 1);
    const uint16_t *cells = work.after.label + (long long) near_row * work.columns;
    const int other = beside (near_row, rest, work.size, work.rows);

    label[i] = cells[column.cell];
    across[i] = work.size == 1 ? label[i] : cells[column.beside];
    above[i] = work.size == 1 ? label[i] : work.after.label[(long long) other * work.columns + column.cell];
    rest = rest + 1 == work.size ? 0 : rest + 1;
    row += rest == 0;
  }
#pragma unroll
  for (int i = 0; i < rows_each; i++)
    if (across[i] != label[i] || above[i] != label[i]) {
      const unsigned p = pixel_color (work, x, min (y0 + i, work.height - 1));
      const unsigned own = sg_distance (p, work.after.mean[label[i]]);
      const unsigned d = sg_distance (p, work.after.mean[across[i]]), e = sg_distance (p, work.after.mean[above[i]]);

      if (d < own)
        label[i] = across[i];
      if (e < min (own, d))
        label[i] = above[i];
    }
}

/* What a lane has counted of one region. */
struct Sums {
  unsigned label, n, n_chroma, sum[3], sum_y, top, bottom;
};

/* What a block has, before it adds it to the regions': additions to one place in memory
 * wait for each other, and all blocks have some to a large region's. */
constexpr int places = 64;
struct Place {
  unsigned label, n, n_chroma, sum[3], sum_x, sum_y, left, right, top, bottom;
};

__device__ __forceinline__ Place
no_place ()
{
  return Place { sg_none, 0, 0, { 0, 0, 0 }, 0, 0, 0xffffffffu, 0, 0xffffffffu, 0 };
}

__device__ void
add_to_region (const SgWork &work, const Place &s)
{
  CfSegmentRegion *r = work.found + s.label;

#pragma unroll
  for (int k = 0; k < 3; k++)
    if (k < work.n_colors) {
      atomicAdd ((unsigned long long *) &r->sum[k], (unsigned long long) s.sum[k]);
      atomicAdd (&r->n[k], k == 0 ? s.n : s.n_chroma);
    }
  if (!work.reports)
    return;
  atomicAdd ((unsigned long long *) &r->sum_x, (unsigned long long) s.sum_x);
  atomicAdd ((unsigned long long *) &r->sum_y, (unsigned long long) s.sum_y);
  atomicMin (&r->left, s.left);
  atomicMax (&r->right, s.right);
  atomicMin (&r->top, s.top);
  atomicMax (&r->bottom, s.bottom);
}

__device__ void
add_to_place (const SgWork &work, Place *place, const Place &s)
{
  Place *to = place + s.label % places;
  const unsigned old = atomicCAS (&to->label, sg_none, s.label);

  if (old != sg_none && old != s.label) {
    add_to_region (work, s);
    return;
  }
  atomicAdd (&to->n, s.n);
  atomicAdd (&to->n_chroma, s.n_chroma);
#pragma unroll
  for (int k = 0; k < 3; k++)
    atomicAdd (&to->sum[k], s.sum[k]);
  if (!work.reports)
    return;
  atomicAdd (&to->sum_x, s.sum_x);
  atomicAdd (&to->sum_y, s.sum_y);
  atomicMin (&to->left, s.left);
  atomicMax (&to->right, s.right);
  atomicMin (&to->top, s.top);
  atomicMax (&to->bottom, s.bottom);
}

/* The lanes that have something add it to the block's sums, those of one region together. */
__device__ void
flush (const SgWork &work, Place *place, bool has, const Sums &s, int x)
{
  const unsigned peers = __match_any_sync (~0u, has ? s.label : sg_none);
  Place all = no_place ();

  if (!has)
    return;
  all.label = s.label;
  all.n = sg_reduce (peers, s.n);
  all.n_chroma = sg_reduce (peers, s.n_chroma);
#pragma unroll
  for (int k = 0; k < 3; k++)
    all.sum[k] = k < work.n_colors ? sg_reduce (peers, s.sum[k]) : 0;
  if (work.reports) {
    all.sum_x = sg_reduce (peers, s.n * (unsigned) x);
    all.sum_y = sg_reduce (peers, s.sum_y);
    all.top = sg_reduce_min (peers, s.top);
    all.bottom = sg_reduce_max (peers, s.bottom);
    all.left = (unsigned) (x - (int) (threadIdx.x & 31)) + (unsigned) __ffs (peers) - 1;
    all.right = (unsigned) (x - (int) (threadIdx.x & 31)) + 31 - (unsigned) __clz ((int) peers);
  }
  if ((threadIdx.x & 31) == (unsigned) __ffs (peers) - 1)
    add_to_place (work, place, all);
}

/* The samples that a lane counts, one of each component a row; 0 where a row has none. */
struct Samples {
  unsigned luma[rows_each], u[rows_each], v[rows_each];
};

__device__ __forceinline__ bool
has_chroma (const SgWork &work, int x, int y)
{
  const SgComponent &c = work.component[1];

  return work.n_colors > 1 && (x & ((1 << c.w_sub) - 1)) == 0 && (y & ((1 << c.h_sub) - 1)) == 0;
}

__device__ __forceinline__ void
load_samples (const SgWork &work, int x, int y0, Samples *s)
{
#pragma unroll
  for (int i = 0; i < rows_each; i++) {
    const int y = min (y0 + i, work.height - 1);
    const bool chroma = has_chroma (work, x, y);

    s->luma[i] = sg_sample (work, work.component[0], x, y);
    s->u[i] = chroma ? sg_sample (work, work.component[1], x, y) : 0;
    s->v[i] = chroma ? sg_sample (work, work.component[2], x, y) : 0;
  }
}

/* A lane counts as long as it stays in a region. */
__device__ __forceinline__ void
count_rows (const SgWork &work, Place *place, int x, int y0, const unsigned (&label)[rows_each], const Samples &samples)
{
  Sums s = { sg_none, 0, 0, { 0, 0, 0 }, 0, 0xffffffffu, 0 };

#pragma unroll
  for (int i = 0; i < rows_each; i++) {
    const int y = y0 + i;
    const bool inside = x < work.width && y < work.height, leaves = s.n > 0 && inside && label[i] != s.label;

    if (__any_sync (~0u, leaves))
      flush (work, place, leaves, s, x);
    if (!inside)
      continue;
    if (label[i] != s.label)
      s = Sums { label[i], 0, 0, { 0, 0, 0 }, 0, (unsigned) y, 0 };
    s.n++;
    s.n_chroma += has_chroma (work, x, y);
    s.sum[0] += samples.luma[i];
    s.sum[1] += samples.u[i];
    s.sum[2] += samples.v[i];
    s.sum_y += (unsigned) y;
    s.bottom = (unsigned) y;
  }
  flush (work, place, s.n > 0, s, x);
}

/* A warp makes 32 columns of rows_each rows. */
template<bool COUNT> __global__ void __launch_bounds__ (32 * warps, 2)
segment_pixels (const __grid_constant__ SgWork work)
{
  const int x = (int) (blockIdx.x * 32 + threadIdx.x % 32), near_x = min (x, work.width - 1);
  const int y0 = (int) (blockIdx.y * warps + threadIdx.x / 32) * rows_each;
  __shared__ Place place[places];
  Column column = { near_x / work.size, 0 };
  unsigned label[rows_each];
  Samples samples;

  if (COUNT) {
    if (threadIdx.x < places)
      place[threadIdx.x] = no_place ();
    load_samples (work, near_x, y0, &samples);
  }
  column.beside = beside (column.cell, near_x - column.cell * work.size, work.size, work.columns);
  pixel_labels (work, column, near_x, y0, label);
#pragma unroll
  for (int i = 0; i < rows_each; i++)
    if (x < work.width && y0 + i < work.height)
      work.map[(long long) (y0 + i) * work.width + x] = (uint16_t) label[i];
  if (COUNT) {
    __syncthreads ();
    count_rows (work, place, x, y0, label, samples);
    __syncthreads ();
    if (threadIdx.x < places && place[threadIdx.x].label != sg_none)
      add_to_region (work, place[threadIdx.x]);
  }
}

/* ---- the table ---------------------------------------------------------- */

__device__ unsigned
label_color (const SgWork &work, unsigned id)
{
  const unsigned h = id * 2654435769u;
  const unsigned r = 64 + 3 * (h >> 24) / 4, g = 64 + 3 * (h >> 16 & 255) / 4, b = 64 + 3 * (h >> 8 & 255) / 4;

  if (work.rgb)
    return r | g << 8 | b << 16;
  return (19595 * r + 38470 * g + 7471 * b + 32768) >> 16
      | (unsigned) ((-11059 * (int) r - 21709 * (int) g + 32768 * (int) b + 8421375) >> 16) << 8
      | (unsigned) ((32768 * (int) r - 27439 * (int) g - 5329 * (int) b + 8421375) >> 16) << 16;
}

/* A thread a region: what is painted of it, and what is told. The counters are cleared
 * for the next frame. */
__global__ void
segment_table (const __grid_constant__ SgWork work)
{
  const unsigned n = work.after.scalars[0], first = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned *control = (unsigned *) work.control;

  for (unsigned i = first; i < n; i += gridDim.x * blockDim.x) {
    const CfSegmentRegion r = work.found[i];
    const unsigned color = label_color (work, r.id);

    for (int k = 0; k < 3; k++) {
      const unsigned long long count = r.n[k] ? r.n[k] : 1;

      work.paint[3 * i + k] = work.output == CF_SEGMENT_LABELS ? (color >> 8 * k & 255) << (work.bits - 8)
          : work.output == CF_SEGMENT_MEAN ? (unsigned) ((2 * r.sum[k] + count) / (2 * count)) : 0;
    }
    if (work.reports)
      work.told[i] = r;
  }
  if (work.reports && first == 0)
    *work.told_n = n;
  for (unsigned i = first; i < sizeof (SgControl) / 4; i += gridDim.x * blockDim.x)
    control[i] = 0;
}

/* ---- the picture -------------------------------------------------------- */

__device__ __forceinline__ bool
is_border (const SgWork &work, int x, int y)
{
  const uint16_t *at = work.map + (long long) y * work.width + x;

  return (x + 1 < work.width && at[1] != at[0]) || (y + 1 < work.height && at[work.width] != at[0]);
}

/* A component's words, each thread `each` of them in a column. */
__device__ __forceinline__ unsigned
load_word (const SgWork &work, const uint8_t *p)
{
  return work.bytes == 1 ? *p : *(const uint16_t *) p;
}

__global__ void __launch_bounds__ (256)
segment_paint (const __grid_constant__ SgWork work)
{
  constexpr int each = 8;
  const int k = (int) blockIdx.z, x = (int) (blockIdx.x * 32 + threadIdx.x % 32);
  const int y0 = (int) (blockIdx.y * 8 + threadIdx.x / 32) * each;
  const SgComponent &c = work.component[k];
  const bool copied = !c.filtered || work.output == CF_SEGMENT_PASSTHROUGH;
  unsigned word[each];

  if (x >= c.width)
    return;
#pragma unroll
  for (int i = 0; i < each; i++) {
    const int y = min (y0 + i, c.height - 1);

    word[i] = copied || work.output == CF_SEGMENT_BOUNDARIES
        ? load_word (work, c.in + y * c.in_pitch + (long long) x * c.step)
        : work.map[(long long) (y << c.h_sub) * work.width + (x << c.w_sub)];
  }
#pragma unroll
  for (int i = 0; i < each; i++) {
    const int y = min (y0 + i, c.height - 1);

    if (!copied && work.output != CF_SEGMENT_BOUNDARIES)
      word[i] = work.paint[3 * word[i] + k] << work.shift;
    else if (!copied && is_border (work, x << c.w_sub, y << c.h_sub))
      word[i] = (work.color >> 8 * k & 255) << (work.bits - 8 + work.shift);
  }
#pragma unroll
  for (int i = 0; i < each; i++) {
    uint8_t *to = c.out + (y0 + i) * c.out_pitch + (long long) x * c.step;

    if (y0 + i >= c.height)
      break;
    if (work.bytes == 1)
      *to = (uint8_t) word[i];
    else
      *(uint16_t *) to = (uint16_t) word[i];
  }
}

} // namespace

CfCode
segment_launch_pixels (const SgWork &work, cudaStream_t stream, CfStatus *status)
{
  const dim3 tiles ((unsigned) (work.width + 31) / 32,
      (unsigned) (work.height + warps * rows_each - 1) / (warps * rows_each));
  const dim3 grid ((unsigned) (work.width + 31) / 32, (unsigned) (work.height + 63) / 64,
      (unsigned) work.n_components);
  CfCode code;

  if (work.output == CF_SEGMENT_MEAN || work.reports)
    segment_pixels<true><<<tiles, 32 * warps, 0, stream>>> (work);
  else
    segment_pixels<false><<<tiles, 32 * warps, 0, stream>>> (work);
  code = cf_cuda_launched ("segment_pixels", status);
  if (code != CF_OK)
    return code;
  segment_table<<<32, 128, 0, stream>>> (work);
  code = cf_cuda_launched ("segment_table", status);
  if (code != CF_OK)
    return code;
  segment_paint<<<grid, 256, 0, stream>>> (work);
  return cf_cuda_launched ("segment_paint", status);
}

CfCode
segment_init_pixels (CfStatus *status)
{
  const void *const kernels[] = { (const void *) segment_pixels<false>, (const void *) segment_pixels<true>,
    (const void *) segment_table, (const void *) segment_paint };
  cudaFuncAttributes attributes;

  for (const void *kernel : kernels) {
    const CfCode code = cf_cuda_check (cudaFuncGetAttributes (&attributes, kernel),
        "loading the segmentation's kernels", status);

    if (code != CF_OK)
      return code;
  }
  return CF_OK;
}

} // namespace cf
