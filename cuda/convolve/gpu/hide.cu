/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/hide.cu: the presets that hide what is in a frame. sum_kernel makes the means of the cells, paint_kernel
 * paints with them; a fill needs the latter alone. One launch each takes all components of a frame, or of several boxes
 * of one. Sizes and numbers of cells come with each launch, so frames of any size up to that at init can follow each
 * other. */
#include "core/area.h"
#include "internal.cuh"

namespace cf {

namespace {

constexpr int warps = 8;
/* Samples of a warp's part of a cell: about 32 loads a lane. */
constexpr int part_words = 4096, part_samples = 1024;
/* Samples and rows of a block of paint_kernel, rows of one of its warps. */
constexpr int tile_w = 128, warp_rows = 8, tile_h = warps * warp_rows;
/* Views of a launch: those of a frame, or of as many boxes as have no more together. */
constexpr int max_views = 24;

/* The cells of a component of a field. */
struct Cells {
  const uint8_t *in;
  long long pitch;
  int width, height, nx, ny;
  int rows, parts; /* a cell is summed in `parts` parts of `rows` rows */
  int first_item;  /* a warp's item is a part of a cell */
  int first;       /* its first cell among those of all components */
  int max;
  uint8_t step, bytes, shift;
};

struct SumWork {
  int n, items;
  unsigned long long *sums; /* of each cell; all are 0 between frames */
  uint16_t *means;
  Cells cells[max_views];
};

/* A sample of a pixel group, which has up to 4: the component that it belongs to. */
struct Slot {
  int width, nx, first;
  unsigned fill;
  uint8_t step;
  bool filtered;
};

/* A plane of a field: rows of `samples` samples, as they lie there. */
struct Strip {
  const uint8_t *in;
  uint8_t *out;
  long long in_pitch, out_pitch;
  int samples, height, ny;
  int first_block, blocks_x;
  uint8_t group, bytes, shift;
  bool copies;              /* some samples are copied from the input */
  bool in_quads, out_quads; /* four samples from a multiple of 4 on can be loaded, and stored, at once */
  Slot slot[4];
};

struct PaintWork {
  int n, blocks;
  CfConvolveOp op;
  const uint16_t *means;
  Strip strip[max_views];
};

static_assert (sizeof (SumWork) <= 4096 && sizeof (PaintWork) <= 4096, "the kernels' arguments are too large");

/* ---- sums --------------------------------------------------------------- */

/* Returns this lane's share of the sum of bytes beside each other: aligned words, then the up to three bytes before and
 * behind them in each row. */
__device__ __forceinline__ unsigned
sum_bytes (const Cells &c, int x0, int n, int y0, int y1, int lane)
{
  const uint8_t *from = c.in + y0 * c.pitch + x0;
  const int rows = y1 - y0, words = n / 4;
  unsigned sum = 0;

  if (words > 0) {
    const int steps = (words * rows - lane + 31) / 32, dy = 32 / words, dk = 32 % words;
    int y = lane / words, k = lane % words;

#pragma unroll 8
    for (int i = 0; i < steps; i++) {
      const uint8_t *row = from + y * c.pitch;
      const int at = (int) (-(intptr_t) row & 3) + 4 * k;
      const unsigned word = at + 4 <= n ? *(const unsigned *) (row + at) : 0;

      sum = __dp4a (word, 0x01010101u, sum);
      k += dk;
      y += dy;
      if (k >= words) {
        k -= words;
        y++;
      }
    }
  }
  for (int i = lane; i < 8 * rows; i += 32) {
    const uint8_t *row = from + (i >> 3) * c.pitch;
    const int head = min ((int) (-(intptr_t) row & 3), n), e = i & 7, tail = head + ((n - head) & ~3) + e - 4;

    if (e < 4 ? e < head : tail < n)
      sum += row[e < 4 ? e : tail];
  }
  return sum;
}

/* The same for other samples, one by one. */
template<int BYTES> __device__ __forceinline__ unsigned
sum_samples (const Cells &c, int x0, int n, int y0, int y1, int lane)
{
  const uint8_t *from = c.in + y0 * c.pitch + (long long) x0 * c.step * BYTES;
  const int steps = (n * (y1 - y0) - lane + 31) / 32, dy = 32 / n, dx = 32 % n;
  int y = lane / n, x = lane % n;
  unsigned sum = 0;

#pragma unroll 8
  for (int i = 0; i < steps; i++) {
    const uint8_t *at = from + y * c.pitch + x * c.step * BYTES;

    sum += BYTES == 1 ? *at : min ((unsigned) *(const uint16_t *) at >> c.shift, (unsigned) c.max);
    x += dx;
    y += dy;
    if (x >= n) {
      x -= n;
      y++;
    }
  }
  return sum;
}

/* Makes the means of all cells.
 *
 * Map: a warp sums a part of a cell, some of its rows; a block has 8 warps with nothing in common.
 *
 * The parts of a cell meet in one atomic addition each of their sum and, in the upper 16 bits, of 1. So what the
 * addition returns shows a part that it is the last one, and the sum of all: that part's warp writes the mean and
 * clears the sum for the next frame, when no other warp touches it any more. So the word is a sum and a gate, but no
 * warp waits at it: a part may be as late as it likes, it is the last one then. A sum has at most 2^28 samples of
 * 16 bits, and a cell at most 16384 parts. A part's sum fits 32 bits: it has up to 4096 samples, or one row.
 *
 * Bound by the latency of loads, of which each lane has 8 under way. */
__global__ void __launch_bounds__ (32 * warps)
sum_kernel (const __grid_constant__ SumWork work)
{
  const int lane = (int) threadIdx.x & 31, item = (int) blockIdx.x * warps + ((int) threadIdx.x >> 5);
  unsigned long long total;
  unsigned sum;
  int v = 0;

  if (item >= work.items)
    return;
  while (v + 1 < work.n && item >= work.cells[v + 1].first_item)
    v++;
  const Cells &c = work.cells[v];
  const int cell = (item - c.first_item) / c.parts, part = (item - c.first_item) % c.parts;
  const int i = cell % c.nx, j = cell / c.nx;
  const int x0 = i * c.width / c.nx, n = (i + 1) * c.width / c.nx - x0;
  const int top = j * c.height / c.ny, bottom = (j + 1) * c.height / c.ny;
  const int y0 = min (top + part * c.rows, bottom), y1 = min (y0 + c.rows, bottom);

  if (c.bytes == 2)
    sum = sum_samples<2> (c, x0, n, y0, y1, lane);
  else if (c.step == 1)
    sum = sum_bytes (c, x0, n, y0, y1, lane);
  else
    sum = sum_samples<1> (c, x0, n, y0, y1, lane);
#pragma unroll
  for (int d = 16; d > 0; d /= 2)
    sum += __shfl_xor_sync (0xffffffffu, sum, d);
  if (lane != 0)
    return;
  const unsigned long long mine = (1ull << 48) + sum;
  total = c.parts > 1 ? mine + atomicAdd (&work.sums[c.first + cell], mine) : mine;
  if ((int) (total >> 48) == c.parts) {
    const unsigned long long count = (unsigned long long) n * (unsigned long long) (bottom - top);

    if (c.parts > 1)
      work.sums[c.first + cell] = 0;
    total &= (1ull << 48) - 1;
    work.means[c.first + cell] = (uint16_t) ((2 * total + count) / (2 * count));
  }
}

/* ---- painting ----------------------------------------------------------- */

/* Four samples: bytes of x, or halves of x and y. */
__device__ __forceinline__ unsigned
pick (uint2 v, int bytes, int e)
{
  return bytes == 1 ? v.x >> 8 * e & 0xff : (e & 2 ? v.y : v.x) >> 16 * (e & 1) & 0xffff;
}

__device__ __forceinline__ void
put (uint2 &v, int bytes, int e, unsigned word)
{
  if (bytes == 1)
    v.x |= word << 8 * e;
  else if (e & 2)
    v.y |= word << 16 * (e & 1);
  else
    v.x |= word << 16 * (e & 1);
}

/* Loads the samples k .. k + 3 of a row, those of `mask`; `quads`: all at once. */
__device__ __forceinline__ uint2
load_four (const uint8_t *row, int bytes, int k, unsigned mask, bool quads)
{
  uint2 v = make_uint2 (0, 0);

  if (quads && mask == 15) {
    if (bytes == 1)
      v.x = *(const unsigned *) (row + k);
    else
      v = *(const uint2 *) (row + 2 * k);
    return v;
  }
#pragma unroll
  for (int e = 0; e < 4; e++)
    if (mask >> e & 1)
      put (v, bytes, e, bytes == 1 ? row[k + e] : ((const uint16_t *) row)[k + e]);
  return v;
}

__device__ __forceinline__ void
store_four (uint8_t *row, int bytes, int k, unsigned mask, bool quads, uint2 v)
{
  if (quads && mask == 15) {
    if (bytes == 1)
      *(unsigned *) (row + k) = v.x;
    else
      *(uint2 *) (row + 2 * k) = v;
    return;
  }
#pragma unroll
  for (int e = 0; e < 4; e++)
    if (mask >> e & 1) {
      if (bytes == 1)
        row[k + e] = (uint8_t) pick (v, 1, e);
      else
        ((uint16_t *) row)[k + e] = (uint16_t) pick (v, 2, e);
    }
}

/* Returns 256 times the mean at `place` (cf_convolve_place) of a row of nx cells. */
__device__ __forceinline__ unsigned
between_cells (const uint16_t *means, int nx, unsigned place)
{
  const int i = (int) (place >> 8);
  const unsigned f = place & 255, left = means[i];

  return f ? (256 - f) * left + f * means[min (i + 1, nx - 1)] : 256 * left;
}

/* Writes all samples of a frame.
 *
 * Map: a block paints 128 samples x 64 rows of a plane of a field, a warp 8 of these rows, a lane 4 samples beside each
 * other in each. The samples of a pixel may be of several components; those that are not filtered are loaded from the
 * input, one row ahead. A lane keeps the values of its columns in the rows of cells above and below it, which change
 * seldom.
 *
 * Shared memory: the places of the tile's columns and rows among the cells, each computed by one thread before the only
 * barrier and read after it.
 *
 * Bound by the stores. */
__global__ void __launch_bounds__ (32 * warps)
paint_kernel (const __grid_constant__ PaintWork work)
{
  __shared__ unsigned column[tile_w], line[tile_h];
  const int thread = (int) threadIdx.x, block = (int) blockIdx.x;
  int v = 0;

  while (v + 1 < work.n && block >= work.strip[v + 1].first_block)
    v++;
  const Strip &s = work.strip[v];
  const int x0 = (block - s.first_block) % s.blocks_x * tile_w, top = (block - s.first_block) / s.blocks_x * tile_h;
  const int k = x0 + 4 * (thread & 31), first_row = thread / 32 * warp_rows, bytes = s.bytes;
  const int rows = min (warp_rows, s.height - top - first_row);

  if (thread < tile_w) {
    const Slot &slot = s.slot[(x0 + thread) % s.group];
    const int x = (x0 + thread) / slot.step;

    column[thread] = x < slot.width ? cf_convolve_place (work.op, x, slot.width, slot.nx) : 0;
  } else if (thread < tile_w + tile_h && top + thread - tile_w < s.height)
    line[thread - tile_w] = cf_convolve_place (work.op, top + thread - tile_w, s.height, s.ny);
  __syncthreads ();

  const uint8_t *in = s.in + (top + first_row) * s.in_pitch;
  uint8_t *out = s.out + (top + first_row) * s.out_pitch;
  unsigned inside = 0, filtered = 0, above[4] = { }, below[4] = { };
  uint2 ahead = make_uint2 (0, 0);
  int at = -1;

#pragma unroll
  for (int e = 0; e < 4; e++) {
    const Slot &slot = s.slot[(k + e) % s.group];

    inside |= (k + e < s.samples && (k + e) / slot.step < slot.width ? 1u : 0u) << e;
    filtered |= (slot.filtered ? 1u : 0u) << e;
  }
  filtered &= inside;
  if (s.copies && rows > 0)
    ahead = load_four (in, bytes, k, inside, s.in_quads);
#pragma unroll 1
  for (int r = 0; r < rows; r++) {
    const unsigned place = line[first_row + r], g = place & 255;
    const int j = (int) (place >> 8);
    const uint2 old = ahead;
    uint2 now = make_uint2 (0, 0);

    in += s.in_pitch;
    if (s.copies && r + 1 < rows)
      ahead = load_four (in, bytes, k, inside, s.in_quads);
    if (j != at) {
#pragma unroll
      for (int e = 0; e < 4; e++)
        if (filtered >> e & 1) {
          const Slot &slot = s.slot[(k + e) % s.group];
          const uint16_t *means = work.means + slot.first;
          const unsigned x = column[4 * (thread & 31) + e];

          if (work.op == CF_CONVOLVE_FILL)
            above[e] = 256 * slot.fill;
          else
            above[e] = between_cells (means + j * slot.nx, slot.nx, x);
          if (work.op == CF_CONVOLVE_PRIVACY)
            below[e] = between_cells (means + min (j + 1, s.ny - 1) * slot.nx, slot.nx, x);
        }
      at = j;
    }
#pragma unroll
    for (int e = 0; e < 4; e++)
      put (now, bytes, e, filtered >> e & 1 ? ((256 - g) * above[e] + g * below[e] + 32768) >> 16 << s.shift
                                            : pick (old, bytes, e));
    store_four (out, bytes, k, inside, s.out_quads, now);
    out += s.out_pitch;
  }
}

/* ---- the launch --------------------------------------------------------- */

int
ceil_div (int whole, int part)
{
  return (whole + part - 1) / part;
}

/* Describes the cells of a component, and deals its parts to warps. */
void
make_cells (const CfVideo &video, const CfConvolution &c, const CfView &view, Cells *cells)
{
  int width, height;

  *cells = Cells ();
  cells->in = view.data;
  cells->pitch = (long long) view.pitch;
  cells->width = view.width;
  cells->height = view.height;
  cells->step = view.step;
  cells->bytes = view.bytes;
  cells->shift = view.shift;
  cells->max = c.max;
  cf_convolve_cells (&c, &video, view.width, view.height, &cells->nx, &cells->ny);
  width = ceil_div (view.width, cells->nx);
  height = ceil_div (view.height, cells->ny);
  cells->rows = (view.bytes == 1 && view.step == 1 ? part_words : part_samples) / width;
  cells->rows = cells->rows > 0 ? cells->rows : 1;
  cells->parts = ceil_div (height, cells->rows);
}

/* Describes the plane and field of view `first`, of n; `cells` are those of all views. */
void
make_strip (const CfVideo &video, const CfConvolution &c, const CfView *in, const CfView *out, int n, int first,
    const Cells *cells, Strip *s)
{
  const CfFormatInfo *info = cf_format_info (video.format);
  const CfView &lead = in[first];
  uintptr_t quad = 4u * lead.bytes - 1;

  *s = Strip ();
  s->samples = (int) (cf_plane_row_bytes (video.format, video.width, lead.plane) / lead.bytes);
  s->height = lead.height;
  s->ny = cells[first].ny;
  s->in_pitch = (long long) lead.pitch;
  s->out_pitch = (long long) out[first].pitch;
  s->bytes = lead.bytes;
  s->shift = lead.shift;
  for (int i = first; i < n; i++)
    if (in[i].plane == lead.plane && in[i].field == lead.field && in[i].step > s->group)
      s->group = in[i].step;
  for (int i = first; i < n; i++) {
    const int offset = info->comp[in[i].component].offset;

    if (in[i].plane != lead.plane || in[i].field != lead.field)
      continue;
    if (offset == 0) {
      s->in = in[i].data;
      s->out = out[i].data;
    }
    s->copies = s->copies || !in[i].filtered;
    for (int at = offset; at < s->group; at += in[i].step)
      s->slot[at] = Slot { in[i].width, cells[i].nx, cells[i].first, c.fill[in[i].component], in[i].step,
        in[i].filtered };
  }
  s->in_quads = (((uintptr_t) s->in | (uintptr_t) s->in_pitch) & quad) == 0;
  s->out_quads = (((uintptr_t) s->out | (uintptr_t) s->out_pitch) & quad) == 0;
}

/* What one launch of each kernel takes. */
struct Batch {
  SumWork sums;
  PaintWork paint;
  int cells; /* of all components */
};

/* Adds a frame. Returns false, and adds nothing, where the batch has no room for it. */
bool
add_frame (Batch *b, const CfVideo &video, const CfCommon &common, const CfConvolution &c, size_t capacity,
    const CfImage *in, const CfImage *out)
{
  CfView from[CF_MAX_VIEWS], to[CF_MAX_VIEWS];
  Cells cells[CF_MAX_VIEWS];
  bool done[CF_MAX_VIEWS] = { };
  const int n = cf_image_views (&video, &common, in, from);
  int first = b->cells;

  cf_image_views (&video, &common, out, to);
  for (int i = 0; i < n; i++) {
    make_cells (video, c, from[i], &cells[i]);
    cells[i].first = first;
    first += cells[i].nx * cells[i].ny;
  }
  if (b->sums.n + n > max_views || b->paint.n + n > max_views || (size_t) first > capacity)
    return false;
  b->cells = first;
  for (int i = 0; i < n; i++) {
    Strip &s = b->paint.strip[b->paint.n];

    if (from[i].filtered && c.op != CF_CONVOLVE_FILL) {
      b->sums.cells[b->sums.n] = cells[i];
      b->sums.cells[b->sums.n++].first_item = b->sums.items;
      b->sums.items += cells[i].nx * cells[i].ny * cells[i].parts;
    }
    if (done[i])
      continue;
    make_strip (video, c, from, to, n, i, cells, &s);
    s.first_block = b->paint.blocks;
    s.blocks_x = ceil_div (s.samples, tile_w);
    b->paint.blocks += s.blocks_x * ceil_div (s.height, tile_h);
    b->paint.n++;
    for (int k = i; k < n; k++)
      done[k] = done[k] || (from[k].plane == from[i].plane && from[k].field == from[i].field);
  }
  return true;
}

/* Launches a batch, and empties it. */
CfCode
launch_batch (Batch *b, cudaStream_t stream, CfStatus *status)
{
  void *sums[] = { &b->sums }, *paint[] = { &b->paint };
  CfCode code = CF_OK;

  if (b->sums.items > 0)
    code = launch_kernel ("the sums of cells", (const void *) sum_kernel, ceil_div (b->sums.items, warps),
        dim3 (32 * warps), sums, 0, false, stream, status);
  if (code == CF_OK && b->paint.n > 0)
    code = launch_kernel ("hide", (const void *) paint_kernel, b->paint.blocks, dim3 (32 * warps), paint, 0, false,
        stream, status);
  b->sums.n = b->sums.items = b->paint.n = b->paint.blocks = b->cells = 0;
  return code;
}

/* Returns the most cells that all components together can have. */
size_t
all_cells (const CfVideo *largest)
{
  return cf_convolve_max_cells (largest) * cf_format_info (largest->format)->n_components
      * (largest->interlaced ? 2 : 1);
}

} // namespace

size_t
convolve_hide_bytes (const CfVideo *largest)
{
  return all_cells (largest) * (sizeof (unsigned long long) + sizeof (uint16_t));
}

CfCode
convolve_hide_launch (const CfPlan *plan, const CfConvolution &c, const CfVideo *largest, void *memory,
    const CfArea *area, const CfImage *in, const CfImage *out, cudaStream_t stream, CfStatus *status)
{
  const size_t capacity = all_cells (largest);
  const CfRect frame = { 0, 0, plan->video.width, plan->video.height };
  CfVideo video = plan->video;
  Batch batch = { };
  CfCode code = CF_OK;

  batch.sums.sums = static_cast<unsigned long long *> (memory);
  batch.sums.means = reinterpret_cast<uint16_t *> (batch.sums.sums + capacity);
  batch.paint.means = batch.sums.means;
  batch.paint.op = c.op;
  for (unsigned i = 0; code == CF_OK && i < (area ? area->n_boxes : 1); i++) {
    const CfRect &rect = area ? area->box[i].read : frame;
    CfImage from, to;

    cf_image_part (&from, in, &rect);
    cf_image_part (&to, out, &rect);
    video.width = rect.width;
    video.height = rect.height;
    if (add_frame (&batch, video, plan->common, c, capacity, &from, &to))
      continue;
    code = launch_batch (&batch, stream, status); /* an empty batch has room for any frame */
    add_frame (&batch, video, plan->common, c, capacity, &from, &to);
  }
  return code == CF_OK ? launch_batch (&batch, stream, status) : code;
}

CfCode
convolve_hide_init (int max_shared, CfStatus *status)
{
  (void) max_shared;
  return load_kernels ({ (const void *) sum_kernel, (const void *) paint_kernel }, "loading the convolution's kernels",
      status);
}

} // namespace cf
