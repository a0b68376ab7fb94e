/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/dense.cu: any kernel up to 63 x 63, 8 and 16 bit, on the integer tensor units.
 *
 * Map: 4 warps a block, a block makes 128 x 32 pixels, plane after plane; warp i makes the rows 8 i .. 8 i + 7.
 *
 * Shared memory: the tile of a plane (16 bit: its low bytes, then its high bytes), the weights of a limb, the
 * fragments of the right operands made of them ([row][step][lane]), and the results of the planes. Barriers
 * separate writing and reading of each; a thread reads only its own results.
 *
 * One mma makes 128 outputs of a row from one row of samples: row g of its left operand is the 32 bytes from
 * 8 g on, column n of its right operand a kernel row, shifted down by n bytes. Kernels wider than 22 take
 * STEPS of 32 bytes, so h STEPS mma make 128 outputs. Eight rows of samples stay in registers and each
 * kernel row is multiplied with all of them: 6 loads for 8 mma.
 *
 * 16 bit: bytes of samples times limbs of weights, by falling powers of 256. Each power is summed in 32 bits
 * (at most 2 x 3969 x 255 x 128), the powers in 64 bits.
 *
 * Bound by the tensor units, with two instructions per mma in the inner loop. Above that floor because the
 * registers leave too few warps to hide the latencies, and because tile and fragments are filled between
 * barriers. Times: docs/notes/convolve.md. */
#include "tile.cuh"
#include "sums.cuh"
#include "store.cuh"

#include <stdlib.h>

namespace cf {

namespace {

constexpr int warps = 4, rows_of_warp = 8, tile_w = 128, tile_h = warps * rows_of_warp;
constexpr int threads = 32 * warps;

/* Sizes of a launch's shared memory and loops. */
struct Layout {
  int steps, pitch, left; /* left: columns of the tile before x0, a multiple of 16 */
  int rows, planes;       /* of the tile; 4 planes: room for all samples of pixels of step 4 */
  int row_bytes;          /* bytes of a row of weights */
};

__host__ __device__ inline int
tile_bytes (const Layout &l)
{
  return l.planes * l.rows * l.pitch;
}

/* Returns the bytes of a limb's weights. */
__host__ __device__ inline int
raw_bytes (const Layout &l, int h)
{
  return (h * l.row_bytes + 15) & ~15;
}

/* Makes the fragments of a limb: tap i of a row is byte i + pad + n of column n. */
template<int STEPS> __device__ __forceinline__ void
make_fragments (uint2 *fragments, const unsigned *raw, const Layout &l, int h, int pad, int thread)
{
  const int lane = thread & 31, words = l.row_bytes >> 2, start = 4 * (lane & 3) - (lane >> 2) - pad;

#pragma unroll 2
  for (int row = thread >> 5; row < h; row += warps) {
    const unsigned *taps = raw + row * words;

#pragma unroll
    for (int s = 0; s < STEPS; s++) {
      unsigned b[2];

#pragma unroll
      for (int half = 0; half < 2; half++) {
        const int word = (start >> 2) + 8 * s + 4 * half;
        const unsigned lo = (unsigned) word < (unsigned) words ? taps[word] : 0;
        const unsigned hi = (unsigned) (word + 1) < (unsigned) words ? taps[word + 1] : 0;

        b[half] = __funnelshift_r (lo, hi, 8 * (start & 3));
      }
      fragments[(row * STEPS + s) * 32 + lane] = make_uint2 (b[0], b[1]);
    }
  }
}

/* Loads the left operands of a row of samples. */
template<int STEPS> __device__ __forceinline__ void
load_samples (const unsigned *row, unsigned (*a)[4])
{
#pragma unroll
  for (int s = 0; s < STEPS; s++) {
    a[s][0] = row[8 * s];
    a[s][1] = row[8 * s + 16];
    a[s][2] = row[8 * s + 4];
    a[s][3] = row[8 * s + 20];
  }
}

/* Loads the right operands of a kernel row. */
template<int STEPS> __device__ __forceinline__ void
load_fragments (const uint2 *row, uint2 *b)
{
#pragma unroll
  for (int s = 0; s < STEPS; s++)
    b[s] = row[32 * s];
}

/* Adds the products of all kernel rows to eight rows of 128 outputs. Kernel row j is multiplied with the eight
 * rows of samples from j on; they are in registers, where the oldest row is replaced by the next. The samples
 * and fragments of a kernel row are loaded during the products of the one before. */
template<int STEPS> __device__ __forceinline__ void
add_products (int (*sum)[4], const unsigned *samples, int pitch_words, const uint2 *fragments, int h)
{
  unsigned a[rows_of_warp][STEPS][4];
  uint2 b[2][STEPS];

#pragma unroll
  for (int r = 0; r < rows_of_warp; r++)
    load_samples<STEPS> (samples + r * pitch_words, a[r]);
  load_fragments<STEPS> (fragments, b[0]);
#pragma unroll 1
  for (int first = 0; first < h; first += rows_of_warp)
#pragma unroll
    for (int j = 0; j < rows_of_warp; j++)
      if (first + j < h) {
        samples += pitch_words;
        fragments += first + j + 1 < h ? 32 * STEPS : 0;
        load_fragments<STEPS> (fragments, b[~j & 1]);
#pragma unroll
        for (int r = 0; r < rows_of_warp; r++) {
#pragma unroll
          for (int s = 0; s < STEPS; s++)
            multiply<false, true> (sum[r], a[(j + r) % rows_of_warp][s], b[j & 1][s].x, b[j & 1][s].y);
          if (r == 0)
            load_samples<STEPS> (samples + (rows_of_warp - 1) * pitch_words, a[j]);
        }
      }
}

/* Copies a limb's weights from the kernel's arguments to shared memory and makes its fragments. The caller
 * must have a barrier before they are read. */
template<int STEPS, int SIZE> __device__ __forceinline__ void
stage_limb (const DenseWeights<SIZE> &weights, int limb, unsigned *raw, unsigned *fragments, const Layout &l,
    const Work &work, int thread)
{
  const int vectors = raw_bytes (l, work.h) / 16;

  __syncthreads ();
  for (int i = thread; i < vectors; i += threads)
    ((uint4 *) raw)[i] = weights.bytes[limb * vectors + i];
  __syncthreads ();
  make_fragments<STEPS> ((uint2 *) fragments, raw, l, work.h, ((work.ax + 3) & ~3) - work.ax, thread);
}

/* The parts of the block's dynamic shared memory. */
struct Shared {
  uint8_t *tile;
  unsigned *raw, *fragments, *results;
};

/* Makes a thread's results of plane p of 8-bit samples, a word per row. For the first plane the caller has
 * staged the first limb. */
template<int STEPS, int SIZE> __device__ __forceinline__ void
make_8bit (const Work &work, const Group &g, const DenseWeights<SIZE> &weights, const Layout &l, const Shared &s,
    const Tile &t, int p, int thread, unsigned *result)
{
  const int lane = thread & 31, group = lane >> 2, in_group = lane & 3, row = rows_of_warp * (thread >> 5);
  const bool all_planes = l.planes == 4 && g.step == 4 && g.planes == 3;
  const uint8_t *corner = s.tile + ((all_planes ? p * l.rows : 0) + row) * l.pitch + l.left;
  const unsigned *samples = (const unsigned *) (corner - ((work.ax + 3) & ~3)) + 2 * group + in_group;
  int sum[rows_of_warp][4] = { };

  __syncthreads (); /* all warps have read the tile of the plane before */
  if (!all_planes)
    fill_tile<0, 1> (work, g, t, p, thread, threads);
  else if (p == 0)
    fill_tile<4, 3> (work, g, t, 0, thread, threads);
  for (int limb = work.limbs - 1; limb >= 0; limb--) {
    if (work.limbs > 1 && (p > 0 || limb < work.limbs - 1))
      stage_limb<STEPS> (weights, limb, s.raw, s.fragments, l, work, thread);
    __pipeline_wait_prior (0);
    __syncthreads ();
#pragma unroll
    for (int i = 0; i < 4 * rows_of_warp; i++)
      sum[i / 4][i % 4] <<= 8;
    add_products<STEPS> (sum, samples, l.pitch / 4, (const uint2 *) s.fragments + lane, work.h);
  }
  corner += work.ay * l.pitch + 8 * group + 2 * in_group;
  round_words<rows_of_warp, 64, true> (work.rounding, g.plane_chroma (p), sum, result,
      [&] (int r) { return corner + r * l.pitch; });
}

/* Filters the block at 8 bit. A thread's results stay in shared memory, a word per plane and row, until all
 * planes are done; then it stores whole pixels. */
template<int STEPS, int SIZE> __device__ __forceinline__ void
make_pixels (const Work &work, const Group &g, const DenseWeights<SIZE> &weights, const Layout &l, const Shared &s,
    const Tile &t, int x0, int y0, int thread)
{
  const int lane = thread & 31, x = x0 + 8 * (lane >> 2) + 2 * (lane & 3), y = y0 + rows_of_warp * (thread >> 5);
  const Assembly a = assembly_of (work, g);
  unsigned result[rows_of_warp];

  stage_limb<STEPS> (weights, work.limbs - 1, s.raw, s.fragments, l, work, thread);
  griddep_wait ();
#pragma unroll 1
  for (int p = 0; p < g.planes; p++) {
    make_8bit<STEPS> (work, g, weights, l, s, t, p, thread, result);
#pragma unroll
    for (int r = 0; r < rows_of_warp; r++)
      s.results[(p * rows_of_warp + r) * threads + thread] = result[r];
  }
  const bool whole = a.words && x0 + tile_w <= g.width && y0 + tile_h <= g.height;
  uint8_t *to = g.out + y * g.out_pitch + x * g.step;
  const uint8_t *from = g.in + y * g.in_pitch + x * 4;

#pragma unroll 4
  for (int r = 0; r < rows_of_warp; r++, to += g.out_pitch, from += g.in_pitch)
#pragma unroll
    for (int side = 0; side < 2; side++) {
      unsigned v[3];

#pragma unroll
      for (int p = 0; p < 3; p++)
        v[p] = s.results[(p < g.planes ? p * rows_of_warp + r : r) * threads + thread] >> 16 * side & 0xffff;
      if (whole)
        put_pair<3> (a, g.step, to + 64 * side * g.step, base_of (a, from + 64 * 4 * side), v);
      else
        store_pair<3> (work, g, a, x + 64 * side, y + r, v);
    }
}

/* Filters the block at 16 bit, where a group has one plane. */
template<int STEPS, int SIZE> __device__ __forceinline__ void
make_16bit (const Work &work, const Group &g, const DenseWeights<SIZE> &weights, const Layout &l, const Shared &s,
    const Tile &t, int x0, int y0, int thread)
{
  const int lane = thread & 31, group = lane >> 2, in_group = lane & 3, row = rows_of_warp * (thread >> 5);
  const int plane_bytes = l.rows * l.pitch;
  const uint8_t *corner = s.tile + row * l.pitch + l.left;
  long long sum[rows_of_warp][4] = { };

  __syncthreads ();
  fill_16bit (work, g, t, 0, thread, threads);
  for (int power = work.limbs; power >= 0; power--) {
    int part[rows_of_warp][4] = { };

    for (int byte = 0; byte < 2; byte++) {
      const int limb = power - byte;

      if (limb < 0 || limb >= work.limbs)
        continue;
      stage_limb<STEPS> (weights, limb, s.raw, s.fragments, l, work, thread);
      __syncthreads ();
      add_products<STEPS> (part, (const unsigned *) (corner + byte * plane_bytes - ((work.ax + 3) & ~3))
          + 2 * group + in_group,
          l.pitch / 4, (const uint2 *) s.fragments + lane, work.h);
    }
#pragma unroll
    for (int i = 0; i < 4 * rows_of_warp; i++)
      sum[i / 4][i % 4] = (sum[i / 4][i % 4] << 8) + part[i / 4][i % 4];
  }
#pragma unroll
  for (int i = 0; i < 4 * rows_of_warp; i++) {
    const int r = i / 4, column = 8 * group + 2 * in_group + (i & 1) + 32 * (i & 2);
    const uint8_t *centre = corner + (r + work.ay) * l.pitch + column;

    store_pixel (work, g.index, x0 + column, y0 + row + r,
        (unsigned) round_sum (work.rounding, sum[r][i % 4], centre[0] | centre[plane_bytes] << 8, g.plane_chroma (0)),
            0, 0);
  }
}

template<int STEPS, int SIZE, bool WIDE> __global__ void __launch_bounds__ (threads, WIDE ? 2 : STEPS > 2 ? 3 : 4)
convolve_dense_kernel (const __grid_constant__ Work work, const __grid_constant__ Layout l,
    const __grid_constant__ DenseWeights<SIZE> weights)
{
  extern __shared__ __align__ (16) uint8_t memory[];
  const Group g = group_of_block (work, (int) blockIdx.x);
  const int2 position = block_position (g, (int) blockIdx.x);
  const int thread = (int) threadIdx.x, x0 = position.x * tile_w, y0 = position.y * tile_h;
  __shared__ int rows[max_rows];
  const Tile t = tile_of (work, g, memory, rows, l.pitch, l.rows, l.left, x0, y0, thread);
  const Shared s = { memory, (unsigned *) (memory + tile_bytes (l)),
    (unsigned *) (memory + tile_bytes (l) + raw_bytes (l, work.h)),
    (unsigned *) (memory + tile_bytes (l) + raw_bytes (l, work.h)) + work.h * l.steps * 64 };

  if (WIDE || g.planes == 0)
    griddep_wait ();
  if (g.planes == 0)
    copy_group (work, g, x0, y0, tile_w, tile_h, thread, threads);
  else if (WIDE)
    make_16bit<STEPS> (work, g, weights, l, s, t, x0, y0, thread);
  else
    make_pixels<STEPS> (work, g, weights, l, s, t, x0, y0, thread);
}

/* One step, with a short and a long argument, two steps, and three; at 16 bit one and three. A kernel with more
 * steps than needed makes the same sums: the weights of the others are 0. */
struct Variant {
  const void *kernel;
  int steps;
};

/* Splits the weights into limbs, signed digits of base 256. */
void
split_weights (const CfConvolution &c, const Layout &l, int limbs, uint8_t *bytes)
{
  const int limb_bytes = raw_bytes (l, c.h);

  for (int j = 0; j < c.h; j++)
    for (int i = 0; i < c.w; i++) {
      int64_t remainder = c.weights[j * c.w + i];

      for (int limb = 0; limb < limbs; limb++) {
        const int8_t digit = (int8_t) (remainder & 0xff);

        bytes[limb * limb_bytes + j * l.row_bytes + i] = (uint8_t) digit;
        remainder = (remainder - digit) / 256;
      }
    }
}

const Variant variants[] = {
  { (const void *) convolve_dense_kernel<1, dense_small, false>, 1 },
  { (const void *) convolve_dense_kernel<1, dense_large, false>, 1 },
  { (const void *) convolve_dense_kernel<2, dense_large, false>, 2 },
  { (const void *) convolve_dense_kernel<3, dense_large, false>, 3 },
  { (const void *) convolve_dense_kernel<1, dense_large, true>, 1 },
  { (const void *) convolve_dense_kernel<3, dense_large, true>, 3 },
};

/* The shared memory of a block with which an SM still holds four, in bytes. */
constexpr int four_blocks = 56 * 1024;

int
shared_of (const Layout &l, const CfConvolution &c)
{
  const int results = c.bits > 8 ? 0 : 3 * rows_of_warp * threads * 4;

  return tile_bytes (l) + raw_bytes (l, c.h) + c.h * l.steps * 256 + results;
}

template<int SIZE> CfCode
launch (Work *work, const CfConvolution &c, Layout l, const void *kernel, cudaStream_t stream, CfStatus *status)
{
  DenseWeights<SIZE> weights = { };
  void *arguments[] = { work, &l, &weights };

  split_weights (c, l, work->limbs, (uint8_t *) &weights);
  return launch_kernel ("convolve dense", kernel, work->blocks, threads, arguments, (size_t) shared_of (l, c),
      work->pdl, stream, status);
}

} // namespace

CfCode
convolve_dense_init (int max_shared, CfStatus *status)
{
  return convolve_load_variants (variants, max_shared, status);
}

CfCode
convolve_dense_launch (Work *work, const CfConvolution &c, cudaStream_t stream, CfStatus *status)
{
  const bool wide = c.bits > 8;
  const int pad = ((c.ax + 3) & ~3) - c.ax, steps = (8 + c.w - 1 + pad + 31) / 32;
  Layout l = { steps, 0, (c.ax + 15) & ~15, 0, wide ? 2 : 1, (c.w + 3) & ~3 };
  const bool is_short = raw_bytes (l, c.h) * work->limbs <= dense_small;
  const Variant &v = variants[wide ? (steps > 1 ? 5 : 4) : steps == 1 && is_short ? 0 : steps];

  l.steps = v.steps;
  l.pitch = (l.left + tile_w + 24 + 32 * (l.steps - 1) + 15) & ~15;
  l.rows = tile_h + c.h; /* with the one that is loaded last and not used */
  convolve_assign_blocks (work, tile_w, tile_h);
  for (int i = 0; i < work->n && !wide; i++)
    if (work->group[i].step == 4 && work->group[i].planes == 3)
      l.planes = 4;
  if (shared_of (l, c) > four_blocks && !wide)
    l.planes = 1;
  return &v == variants ? launch<dense_small> (work, c, l, v.kernel, stream, status)
      : launch<dense_large> (work, c, l, v.kernel, stream, status);
}

} // namespace cf
