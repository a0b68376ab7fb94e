/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/hide.cu: the presets that hide what is in a frame. sum_kernel makes the means of the cells, paint_kernel
 * paints with them; fill_kernel is a fill. One launch each takes all planes of a frame, or of several boxes of one.
 * Sizes and numbers of cells come with each launch, so frames of any size up to that at init can follow each other. The
 * first blocks of the launch that writes copy the rest of a frame beside its boxes, if that is asked for.
 *
 * The kernels see a plane of a field as it lies in memory, a strip, whatever its components are. A block has a window
 * of 512 bytes and of some rows, which are all of one row of cells (paint_kernel: between the same two). A lane has 16
 * bytes of each row of its warp. Windows begin where a row's address is a multiple of 16, up to 15 bytes before the
 * row. Vectors are loaded with what lies beside the row, but not behind the strip, and stored without. Where rows do
 * not lie alike, all goes byte by byte. */
#include "core/gpu/rest.cuh"
#include "internal.cuh"

namespace cf {

namespace {

constexpr int warps = 8, threads = 32 * warps, window = 512;
/* Rows of a window. A frame has no more blocks than run at once; a fill, which is over soon, has 8 blocks an SM. Sums
 * of 8 bits in 16 permit 257 rows. */
constexpr int fewest_rows = 32, most_rows = 256;
/* Strips of a launch, at most. It takes a frame, or as many boxes as fit. */
constexpr int max_strips = 16;
constexpr int batch = 4; /* rows that a lane loads at once */

/* A sample of a pixel group, which has up to 4: the component that it belongs to. */
struct Slot {
  int width, nx;
  int first; /* number of the component's first cell; all components count on */
  uint8_t step;
  bool filtered;
};

/* A plane of a field. It has `parts` blocks a window and row of cells, from block `first_sum`, or `first_paint`, on. */
struct Strip {
  const uint8_t *in;
  uint8_t *out;
  long long in_pitch, out_pitch;
  int row_bytes, height, ny, parts;
  int first_sum, sum_windows, first_paint, paint_windows;
  uint8_t group;
  uint8_t in_lead, out_lead;       /* bytes from a multiple of 16 to the first sample */
  bool in_vectors, out_vectors;    /* in all rows alike */
  uint8_t left, right, top, below; /* bytes and rows at its edges that are not written */
  bool copies;                     /* some samples are copied from the input */
  int gap;                         /* the byte of a row that no component has; < 0: none */
  /* The bytes of a pixel group again and again: the colour of a fill, and 255 in samples that are copied. */
  unsigned color[6], copied[6];
  Slot slot[4];
};

struct Hiding {
  int n, sum_blocks, paint_blocks; /* rest.blocks are the first of paint_blocks */
  int cells; /* of all components */
  CfConvolveOp op;
  int shift, max;
  unsigned long long *sums; /* of each cell; all are 0 between frames */
  uint16_t *means;
  Rest rest;
  Strip strip[max_strips];
};

static_assert (sizeof (Hiding) <= 4096, "the kernels' argument is too large");

/* Returns the strip of a block of a launch. FIRST: where the number of a strip's first block is. */
template<int Strip::*FIRST> __device__ __forceinline__ const Strip &
strip_of_block (const Hiding &work)
{
  int v = 0;

  while (v + 1 < work.n && (int) blockIdx.x >= work.strip[v + 1].*FIRST)
    v++;
  return work.strip[v];
}

/* ---- sums --------------------------------------------------------------- */

/* Adds a lane's samples of a row to the sums of its columns. Of bytes, sum 2 k has the columns 4 k and 4 k + 2, 2 k + 1
 * the two behind them, 16 bits each. */
template<int BYTES> __device__ __forceinline__ void
add_row (const Hiding &work, uint4 v, unsigned sum[8])
{
  const unsigned word[4] = { v.x, v.y, v.z, v.w };

#pragma unroll
  for (int k = 0; k < 4; k++)
    if (BYTES == 1) {
      sum[2 * k] += word[k] & 0xff00ff;
      sum[2 * k + 1] += word[k] >> 8 & 0xff00ff;
    } else {
      sum[2 * k] += min ((word[k] & 0xffff) >> work.shift, (unsigned) work.max);
      sum[2 * k + 1] += min (word[k] >> 16 >> work.shift, (unsigned) work.max);
    }
}

/* Loads 16 bytes of row y from byte `at` on. `mask` marks the bytes of the row. */
__device__ __forceinline__ uint4
load_vector (const Strip &s, int y, int at, unsigned mask)
{
  return load_bytes (s.in + y * s.in_pitch + at, mask, s.in_vectors && (y + 1 < s.height || at + 16 <= s.row_bytes));
}

/* What 16 lanes add up when their block has the sums of the columns: the columns of one cell in the window. */
struct Job {
  int offset, step; /* of the component's samples */
  int x0, x1;       /* from x0 on, up to x1 */
  int cell;
  unsigned parts;   /* jobs that the cell has, in all blocks */
  unsigned samples; /* of the cell */
};

/* Fills in job `number` of a window whose first sample is `first`, in row j of the cells. Returns how many jobs there
 * are from this one on: 0 or less behind the last. */
template<int BYTES> __device__ __forceinline__ int
find_job (const Strip &s, int first, int j, int number, Job *job)
{
  bool found = false;

#pragma unroll 1
  for (int offset = 0; offset < s.group; offset++) {
    const Slot &slot = s.slot[offset];
    const int step = slot.step, width = slot.width, nx = slot.nx;
    const int xa = max ((first - offset + step - 1) / step, 0);
    const int xb = min ((first + window / BYTES - 1 - offset) / step, width - 1);
    const int i = ((xa + 1) * nx - 1) / width + number, n = ((xb + 1) * nx - 1) / width + 1 - (i - number);

    if (!slot.filtered || offset >= step || xa > xb)
      continue;
    if (!found && number < n) {
      const int x0 = i * width / nx, x1 = (i + 1) * width / nx, y0 = j * s.height / s.ny;
      const int from = (step * x0 + offset) * BYTES + s.in_lead, to = (step * (x1 - 1) + offset) * BYTES + s.in_lead;

      *job = Job { offset, step, max (xa, x0), min (xb + 1, x1), slot.first + j * nx + i,
        (unsigned) ((to / window - from / window + 1) * s.parts),
        (unsigned) ((x1 - x0) * ((j + 1) * s.height / s.ny - y0)) };
      found = true;
    }
    number -= n;
  }
  return -number;
}

/* Adds a job's sum to its cell.
 *
 * The jobs of a cell meet in one atomic addition each of their sum and, in the upper 16 bits, of 1. So what the
 * addition returns shows a job that it is the last one, and the sum of all: it writes the mean and clears the sum for
 * the next frame, when no other job touches it any more. So the word is a sum and a gate, but nobody waits at it: a job
 * may be as late as it likes, it is the last one then. A sum has at most 2^28 samples of 16 bits; a cell has at most 65
 * windows beside each other, of 256 parts. */
__device__ __forceinline__ void
add_to_cell (const Hiding &work, const Job &job, unsigned sum)
{
  const unsigned long long mine = (1ull << 48) + sum;
  unsigned long long total = job.parts > 1 ? mine + atomicAdd (work.sums + job.cell, mine) : mine;

  if (total >> 48 != job.parts)
    return;
  if (job.parts > 1)
    work.sums[job.cell] = 0;
  total &= (1ull << 48) - 1;
  /* the quotient is below 2^17, and an integer or at least 2^-29 from one: the double's integer part is exact */
  work.means[job.cell] = (uint16_t) ((double) (2 * total + job.samples) / (2.0 * job.samples));
}

/* Makes the means of all cells.
 *
 * Map: a block sums a window; warp w has its rows w, w + 8 ...; a lane adds up its 16 columns. The warps' sums of a
 * column are added in shared memory, then each 16 lanes add up the columns of some of the window's cells.
 *
 * Shared memory: `part`, written by each lane for itself, read behind the first barrier; `column`, written by one
 * thread a column before the second one, read behind it.
 *
 * Bound by the loads: a lane has 4 under way. Then a sum has to go to the L2 cache and back. */
template<int BYTES> __global__ void __launch_bounds__ (threads)
sum_kernel (const __grid_constant__ Hiding work)
{
  __shared__ uint4 part[warps][64];
  __shared__ unsigned column[window / BYTES];
  const int thread = (int) threadIdx.x, warp = thread / 32, lane = thread & 31;
  unsigned sum[8] = { };
  int number = thread / 16;
  Job job = { };
  const Strip &s = strip_of_block<&Strip::first_sum> (work);
  const int block = (int) blockIdx.x - s.first_sum, first_byte = block % s.sum_windows * window - s.in_lead;
  const int k = block / s.sum_windows % s.parts, j = block / s.sum_windows / s.parts;
  const int top = j * s.height / s.ny, n = (j + 1) * s.height / s.ny - top, first = first_byte / BYTES;
  const int y1 = top + (k + 1) * n / s.parts, at = first_byte + 16 * lane;
  const unsigned mask = bytes_within (at, 0, s.row_bytes);
  const int jobs = number + find_job<BYTES> (s, first, j, number, &job);

  griddep_wait ();
#pragma unroll 1
  for (int y = top + k * n / s.parts + warp; y < y1; y += batch * warps) {
    uint4 row[batch];

#pragma unroll
    for (int i = 0; i < batch; i++)
      row[i] = load_vector (s, y + i * warps, at, y + i * warps < y1 ? mask : 0);
#pragma unroll
    for (int i = 0; i < batch; i++)
      add_row<BYTES> (work, row[i], sum);
  }
  part[warp][2 * lane] = make_uint4 (sum[0], sum[1], sum[2], sum[3]);
  part[warp][2 * lane + 1] = make_uint4 (sum[4], sum[5], sum[6], sum[7]);
  __syncthreads ();
  sum[0] = 0;
#pragma unroll
  for (int w = 0; w < warps; w++)
    sum[0] += ((const unsigned *) part[w])[thread];
  if (BYTES == 1) {
    const int c = 2 * (thread & ~1) + (thread & 1);

    column[c] = sum[0] & 0xffff;
    column[c + 2] = sum[0] >> 16;
  } else
    column[thread] = sum[0];
  __syncthreads ();

#pragma unroll 1
  for (int turn = 0; turn < jobs; turn += threads / 16, number += threads / 16) {
    unsigned cell = 0;

    if (turn > 0 && number < jobs)
      find_job<BYTES> (s, first, j, number, &job);
#pragma unroll 4
    for (int x = job.x0 + (lane & 15); x < job.x1; x += 16)
      cell += column[job.step * x + job.offset - first];
#pragma unroll
    for (int d = 8; d > 0; d /= 2)
      cell += __shfl_xor_sync (0xffffffffu, cell, d);
    if ((lane & 15) == 0 && number < jobs)
      add_to_cell (work, job, cell);
  }
}

/* ---- painting ----------------------------------------------------------- */

/* Returns the first of the rows whose cf_convolve_place has cell j. */
__host__ __device__ __forceinline__ int
first_row (CfConvolveOp op, int j, int height, int ny)
{
  if (j == 0 || j == ny)
    return j == 0 ? 0 : height;
  return op == CF_CONVOLVE_PRIVACY ? ((2 * j + 1) * height + ny - 1) / (2 * ny) : j * height / ny;
}

/* Writes the samples of a row: 16 bytes of words, two of 16 bits each, or four bytes. */
template<int BYTES> __device__ __forceinline__ uint4
paint (const Hiding &work, const unsigned *base, const unsigned *slope, unsigned g)
{
  unsigned word[4];

#pragma unroll
  for (int k = 0; k < 4; k++) {
    constexpr int n = 4 / BYTES;
    unsigned e[n];

#pragma unroll
    for (int i = 0; i < n; i++)
      e[i] = base[n * k + i] + g * slope[n * k + i];
    if (BYTES == 1)
      word[k] = __byte_perm (__byte_perm (e[0], e[1], 0x62), __byte_perm (e[2 % n], e[3 % n], 0x62), 0x5410);
    else
      word[k] = __byte_perm (e[0], e[1], 0x7632) << work.shift;
  }
  return make_uint4 (word[0], word[1], word[2], word[3]);
}

/* Returns 16 bytes of a pattern, of those from `phase`, 0 .. 7, on. */
__device__ __forceinline__ uint4
from_phase (const unsigned pattern[6], int phase)
{
  const unsigned *p = pattern + phase / 4, bits = phase % 4 * 8;

  return make_uint4 (__funnelshift_r (p[0], p[1], bits), __funnelshift_r (p[1], p[2], bits),
      __funnelshift_r (p[2], p[3], bits), __funnelshift_r (p[3], p[4], bits));
}

/* Writes a lane's 16 bytes, from byte `at` of a row on, in every eighth of `rows` rows from y0 on: what value (r)
 * returns for the r-th of the rows, and what is copied, which is loaded a row ahead. */
template<class VALUE> __device__ __forceinline__ void
write_rows (const Strip &s, int at, int y0, int rows, int phase, VALUE value)
{
  const unsigned mask = bytes_within (at, s.left, s.row_bytes - s.right) & ~bytes_within (at, s.gap, s.gap + 1);
  const bool whole = mask == 0xffff && s.in_vectors && s.in_lead == s.out_lead;
  const uint4 copied = from_phase (s.copied, phase);
  const uint8_t *in = s.in + y0 * s.in_pitch + at;
  uint8_t *out = s.out + y0 * s.out_pitch + at;
  uint4 ahead = make_uint4 (0, 0, 0, 0);

  if (s.copies && rows > 0)
    ahead = load_bytes (in, mask, whole);
#pragma unroll 1
  for (int r = 0; r < rows; r += warps, out += warps * s.out_pitch) {
    const uint4 old = ahead, v = value (r);

    in += warps * s.in_pitch;
    if (s.copies && r + warps < rows)
      ahead = load_bytes (in, mask, whole);
    store_bytes (out, y0 + r >= s.top && y0 + r < s.height - s.below ? mask : 0, s.out_vectors,
        make_uint4 ((v.x & ~copied.x) | (old.x & copied.x), (v.y & ~copied.y) | (old.y & copied.y),
            (v.z & ~copied.z) | (old.z & copied.z), (v.w & ~copied.w) | (old.w & copied.w)));
  }
}

/* Returns which byte of a pixel group is `at` of a row, which may be before the row. */
__device__ __forceinline__ int
phase_of (const Strip &s, int bytes, int at)
{
  return (at + 48) % (s.group * bytes); /* 48: a multiple of all sizes of a group */
}

/* Fills a frame. Map: as paint_kernel's. No shared memory. Bound by the stores. */
template<int BYTES> __global__ void __launch_bounds__ (threads)
fill_kernel (const __grid_constant__ Hiding work)
{
  if ((int) blockIdx.x < work.rest.blocks) {
    copy_rest (work.rest, (int) blockIdx.x, (int) threadIdx.x / 32, (int) threadIdx.x & 31, true);
    return;
  }
  const Strip &s = strip_of_block<&Strip::first_paint> (work);
  const int block = (int) blockIdx.x - s.first_paint, warp = (int) threadIdx.x / 32;
  const int at = block % s.paint_windows * window - s.out_lead + 16 * (threadIdx.x & 31);
  const int part = block / s.paint_windows, y0 = part * s.height / s.parts;
  const int rows = (part + 1) * s.height / s.parts - y0, phase = phase_of (s, BYTES, at);
  const uint4 color = from_phase (s.color, phase);

  griddep_wait ();
  write_rows (s, at, y0 + warp, rows - warp, phase, [=] (int) { return color; });
}

/* Writes all samples of a frame.
 *
 * Map: a block paints a window; warp w has its rows w, w + 8 ... All of them lie between the same two rows of cells (a
 * mosaic: in one), so a lane keeps what its samples are in the upper one, and by how much they differ in the lower one.
 *
 * Shared memory: the places of the rows, and of the window's columns among the cells, each written by one thread before
 * the first barrier; where these were, 256 times the means there in both rows, each written by the thread that read the
 * place, before the second barrier. Samples beside the row have the place of some cell, and are not stored.
 *
 * The blocks that copy do not wait for the sums of the same frame.
 *
 * Bound by the stores. */
template<int BYTES> __global__ void __launch_bounds__ (threads)
paint_kernel (const __grid_constant__ Hiding work)
{
  constexpr int n_samples = 16 / BYTES;
  __shared__ __align__ (16) unsigned above[window / BYTES], below[window / BYTES];
  __shared__ uint8_t line[3 * most_rows / 2 + 4];
  const int thread = (int) threadIdx.x, warp = thread / 32, lane = thread & 31;

  if ((int) blockIdx.x < work.rest.blocks) {
    copy_rest (work.rest, (int) blockIdx.x, warp, lane, work.sum_blocks == 0);
    return;
  }
  const Strip &s = strip_of_block<&Strip::first_paint> (work);
  const int block = (int) blockIdx.x - s.first_paint;
  const int first_byte = block % s.paint_windows * window - s.out_lead, first = first_byte / BYTES;
  const int part = block / s.paint_windows % s.parts, j = block / s.paint_windows / s.parts;
  const int top = first_row (work.op, j, s.height, s.ny), n = first_row (work.op, j + 1, s.height, s.ny) - top;
  const int y0 = top + part * n / s.parts, rows = top + (part + 1) * n / s.parts - y0;
  const bool between = work.op == CF_CONVOLVE_PRIVACY && j + 1 < s.ny;

  for (int y = thread; y < rows; y += threads)
    line[y] = (uint8_t) cf_convolve_place (work.op, y0 + y, s.height, s.ny);
#pragma unroll 1
  for (int offset = 0; offset < s.group; offset++) {
    const Slot &slot = s.slot[offset];
    const int step = slot.step, width = slot.width, nx = slot.nx;

    for (int c = ((offset - first) % step + step) % step + step * thread; c < window / BYTES && offset < step;
        c += step * threads) {
      const int x = (first + c - offset) / step;
      const unsigned place = slot.filtered && x >= 0 && x < width ? cf_convolve_place (work.op, x, width, nx) : 0;

      /* the left cell and the share of the one beside it, which behind the last is the same */
      above[c] = (unsigned) (slot.first + j * nx) * 256 + ((int) (place >> 8) + 1 < nx ? place : place & ~255u);
      below[c] = (unsigned) nx;
    }
  }
  __syncthreads ();
  griddep_wait ();
#pragma unroll
  for (int c = thread; c < window / BYTES; c += threads) {
    const unsigned f = above[c] & 255, beside = f ? 1 : 0;
    const uint16_t *upper = work.means + (above[c] >> 8), *lower = upper + (between ? below[c] : 0);

    above[c] = (256 - f) * upper[0] + f * upper[beside];
    below[c] = (256 - f) * lower[0] + f * lower[beside];
  }
  __syncthreads ();

  unsigned base[n_samples], slope[n_samples], g = ~0u;
  uint4 now;

#pragma unroll
  for (int e = 0; e < n_samples; e++) {
    base[e] = above[n_samples * lane + e];
    slope[e] = below[n_samples * lane + e] - base[e];
    base[e] = 256 * base[e] + 32768;
  }
  write_rows (s, first_byte + 16 * lane, y0 + warp, rows - warp, phase_of (s, BYTES, first_byte + 16 * lane),
      [&] (int r) {
        if (line[warp + r] != g) {
          g = line[warp + r];
          now = paint<BYTES> (work, base, slope, g);
        }
        return now;
      });
}

/* ---- the launch --------------------------------------------------------- */

/* Returns whether rows lie alike from one to the next, and the bytes to their first sample from a multiple of 16. */
bool
rows_alike (const void *data, size_t pitch, uint8_t *lead)
{
  *lead = pitch % 16 == 0 ? (uint8_t) ((uintptr_t) data % 16) : 0;
  return pitch % 16 == 0;
}

/* Describes the plane and field of view `first`, of n; `cells` are the first cells of all views. */
void
make_strip (const CfVideo &video, const CfConvolution &c, const CfView *in, const CfView *out, int n, int first,
    const int *cells, Strip *s)
{
  const CfFormatInfo *info = cf_format_info (video.format);
  const CfView &lead = in[first];

  *s = Strip ();
  s->gap = -1;
  s->row_bytes = (int) cf_plane_row_bytes (video.format, video.width, lead.plane);
  s->height = lead.height;
  s->in_pitch = (long long) lead.pitch;
  s->out_pitch = (long long) out[first].pitch;
  for (int i = first; i < n; i++)
    if (in[i].plane == lead.plane && in[i].field == lead.field && in[i].step > s->group)
      s->group = in[i].step;
  for (int i = first; i < n; i++) {
    const int offset = info->comp[in[i].component].offset;
    int nx;

    if (in[i].plane != lead.plane || in[i].field != lead.field)
      continue;
    if (offset == 0) {
      s->in = in[i].data;
      s->out = out[i].data;
    }
    s->copies = s->copies || !in[i].filtered;
    cf_convolve_cells (&c, &video, in[i].width, in[i].height, &nx, &s->ny);
    for (int at = offset; at < s->group; at += in[i].step) {
      const unsigned color = in[i].filtered ? (unsigned) c.fill[in[i].component] << lead.shift : 0;

      s->slot[at] = Slot { in[i].width, nx, cells[i], in[i].step, in[i].filtered };
      for (int b = at * lead.bytes; b < 24; b += s->group * lead.bytes)
        for (int k = 0; k < lead.bytes; k++) {
          s->color[(b + k) / 4] |= (color >> 8 * k & 255) << (b + k) % 4 * 8;
          s->copied[(b + k) / 4] |= (in[i].filtered ? 0u : 255u) << (b + k) % 4 * 8;
        }
    }
    if (in[i].step < s->group && in[i].width % 2) /* luma beside chroma: the last pixel's pair has one */
      s->gap = ((in[i].width * in[i].step) + offset) * lead.bytes;
  }
  s->in_vectors = rows_alike (s->in, lead.pitch, &s->in_lead);
  s->out_vectors = rows_alike (s->out, out[first].pitch, &s->out_lead);
  s->sum_windows = cf_divide_up (s->in_lead + s->row_bytes, window);
  s->paint_windows = cf_divide_up (s->out_lead + s->row_bytes, window);
}

/* Gives a strip its blocks. `rows`: of a block, about. */
void
deal_strip (Hiding *w, Strip *s, int rows)
{
  bool sums = false;

  for (int i = 0; w->op != CF_CONVOLVE_FILL && i < s->group; i++)
    sums = sums || s->slot[i].filtered;
  s->parts = cf_divide_up (s->height, s->ny * rows);
  s->first_sum = w->sum_blocks;
  s->first_paint = w->paint_blocks;
  w->sum_blocks += sums ? s->sum_windows * s->parts * s->ny : 0;
  w->paint_blocks += s->paint_windows * s->parts * s->ny;
}

/* Adds a frame, which is `box` of an area if there is one. Returns false, and adds nothing, where the launch has no
 * room for it. */
bool
add_frame (Hiding *w, const CfVideo &video, const CfCommon &common, const CfConvolution &c, int sms, size_t capacity,
    const CfBox *box, const CfImage *in, const CfImage *out)
{
  CfView from[CF_MAX_VIEWS], to[CF_MAX_VIEWS];
  int cells[CF_MAX_VIEWS], first = w->cells, rows, strips = w->n;
  long long all_rows = 0; /* of all windows */
  bool done[CF_MAX_VIEWS] = { };
  const int n = cf_image_views (&video, &common, in, from);

  cf_image_views (&video, &common, out, to);
  for (int i = 0; i < n; i++) {
    int nx, ny;

    cf_convolve_cells (&c, &video, from[i].width, from[i].height, &nx, &ny);
    cells[i] = first;
    first += nx * ny;
  }
  if (w->n + cf_format_info (video.format)->n_planes * (video.interlaced ? 2 : 1) > max_strips
      || (size_t) first > capacity)
    return false;
  w->cells = first;
  w->shift = from[0].shift;
  for (int i = 0; i < n; i++) {
    if (done[i])
      continue;
    make_strip (video, c, from, to, n, i, cells, &w->strip[strips]);
    if (box && box->full.width > 0) {
      const RestPlane &plane = w->rest.plane[from[i].plane];
      const Part all = part_of (plane, hole_of (box->write)), part = part_of (plane, hole_of (box->full));
      Strip &s = w->strip[strips];

      s.left = (uint8_t) (part.left - all.left);
      s.right = (uint8_t) (all.right - part.right);
      s.top = (uint8_t) (part.top - all.top);
      s.below = (uint8_t) (all.below - part.below);
    }
    all_rows += (long long) w->strip[strips].paint_windows * w->strip[strips].height;
    strips++;
    for (int k = i; k < n; k++)
      done[k] = done[k] || (from[k].plane == from[i].plane && from[k].field == from[i].field);
  }
  all_rows /= w->op == CF_CONVOLVE_FILL ? 8 * sms : 5 * sms / 2;
  rows = (int) std::min<long long> (std::max<long long> (all_rows, fewest_rows), most_rows);
  for (; w->n < strips; w->n++)
    deal_strip (w, &w->strip[w->n], rows);
  return true;
}

/* For samples of 1 and of 2 bytes. */
const Kernel kernels[] = { { (const void *) sum_kernel<1> }, { (const void *) sum_kernel<2> },
  { (const void *) paint_kernel<1> }, { (const void *) paint_kernel<2> }, { (const void *) fill_kernel<1> },
  { (const void *) fill_kernel<2> } };

/* Launches what was added, and leaves nothing; bytes: of a sample. */
CfCode
launch (Hiding *w, int bytes, bool pdl, cudaStream_t stream, CfStatus *status)
{
  void *arguments[] = { w };
  CfCode code = CF_OK;

  if (w->sum_blocks > 0)
    code = launch_kernel ("the sums of cells", kernels[bytes - 1].kernel, w->sum_blocks, dim3 (threads), arguments, 0,
        pdl, stream, status);
  if (code == CF_OK && w->paint_blocks > 0)
    code = launch_kernel ("hide", kernels[bytes + (w->op == CF_CONVOLVE_FILL ? 3 : 1)].kernel, w->paint_blocks,
        dim3 (threads), arguments, 0, pdl, stream, status);
  w->n = w->sum_blocks = w->paint_blocks = w->cells = w->rest.blocks = 0;
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
convolve_hide_launch (const CfPlan *plan, const CfConvolution &c, const CfVideo *largest, void *memory, bool pdl,
    const CfArea *area, bool copies, const CfImage *in, const CfImage *out, cudaStream_t stream, CfStatus *status)
{
  const size_t capacity = all_cells (largest);
  const CfRect frame = { 0, 0, plan->video.width, plan->video.height };
  const int bytes = cf_format_info (plan->video.format)->bytes, sms = plan->context->sms;
  CfVideo video = plan->video;
  Hiding work = { };
  CfCode code = CF_OK;

  work.op = c.op;
  work.max = c.max;
  work.sums = static_cast<unsigned long long *> (memory);
  work.means = reinterpret_cast<uint16_t *> (work.sums + capacity);
  if (area)
    make_rest (area, in, out, copies, &work.rest);
  work.paint_blocks = work.rest.blocks;
  for (unsigned i = 0; code == CF_OK && i < (area ? area->n_boxes : 1); i++) {
    const CfBox *box = area ? &area->box[i] : NULL;
    const CfRect &rect = box ? box->write : frame;
    CfImage from, to;

    cf_image_part (&from, in, &rect);
    cf_image_part (&to, out, &rect);
    video.width = rect.width;
    video.height = rect.height;
    if (add_frame (&work, video, plan->common, c, sms, capacity, box, &from, &to))
      continue;
    code = launch (&work, bytes, pdl, stream, status); /* an empty launch has room for any frame */
    add_frame (&work, video, plan->common, c, sms, capacity, box, &from, &to);
  }
  return code == CF_OK ? launch (&work, bytes, pdl, stream, status) : code;
}

const Load convolve_load_hide = convolve_load<kernels, false>;

} // namespace cf
