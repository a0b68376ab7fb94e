/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/dense.cu: any kernel up to 63 x 63, 8 and 16 bit, on the integer tensor units.
 *
 * Map: 4 warps a block, a warp makes two groups of four rows of 128 pixels, plane after plane. As in quads.cu, one mma
 * makes 128 outputs, four rows of 32, from a set of four rows of samples and 8 columns of the window, which are PARTS
 * parts of 8: row g of its left operand holds such columns of four rows of samples for the outputs from 16 g + 4 i on,
 * row g + 8 those two further on; column n of its right operand are the taps, n / 2 rows down and n % 2 columns to the
 * right. Lane 4 g + t ends up with 16 neighbours of row t. So PARTS (h + 3) / 4 mma make 128 outputs.
 *
 * The sums of all groups stay in registers; each set of rows is loaded once, its parts are cut by byte permutation, and
 * it is multiplied with the kernel rows of every group that it meets.
 *
 * Shared memory: the tile of a plane (16 bit: its low bytes, then its high bytes), the weights of a limb, the fragments
 * of the right operands made of them ([set][part][lane]; those of one limb up to 31 x 33 are made by the host), and the
 * results of the planes. A block that may not have that much makes the fragments of one run of sets after the other.
 * Rows of tile and results are an odd multiple of 32 bytes apart, so that no two lanes of a quarter of a warp share a
 * bank. Barriers separate writing and reading of tile and fragments; a warp reads only its own results.
 *
 * 16 bit: bytes of samples times limbs of weights, by falling powers of 256. Each power is summed in 32 bits
 * (at most 2 x 3969 x 255 x 128), the powers in 64 bits.
 *
 * Bound by the tensor units and by the latencies around them, as tile and fragments are filled between barriers. Times:
 * docs/notes/convolve.md. */
#include "dense.cuh"
#include "sums.cuh"
#include "tile.cuh"

namespace cf {

namespace {

constexpr int warps = 4, threads = 32 * warps, groups = 2, tile_w = 128, tile_h = 4 * groups * warps;
constexpr int result_pitch = 160; /* bytes of a row of results */

/* Sizes of a launch's shared memory and loops. */
struct Layout {
  int pitch, left;       /* left: columns of the tile before x0, a multiple of 16 */
  int rows, tile_planes; /* of the tile: one, or as many as the group with most planes has */
  int sets;              /* of four rows of samples that meet an output */
  int run;               /* sets whose fragments are in shared memory at a time */
  int row_bytes;         /* bytes of a row of weights */
  unsigned cut[2];       /* selectors of the two words of a part */
};

__host__ __device__ inline int
tile_bytes (const Layout &l)
{
  return l.tile_planes * l.rows * l.pitch;
}

/* Returns the bytes of a limb's weights. */
__host__ __device__ inline int
raw_bytes (const Layout &l, int h)
{
  return (h * l.row_bytes + 15) & ~15;
}

/* Makes the fragments of a limb for the run of sets that begins with `first_set`. The windows begin 4 PARTS - 1 columns
 * before an output. */
template<int PARTS> __device__ __forceinline__ void
make_fragments (uint2 *fragments, const unsigned *raw, const Layout &l, int h, int ax, int first_set, int thread)
{
  const int lane = thread & 31, t = lane & 3, down = lane >> 3, right = lane >> 2 & 1, words = l.row_bytes >> 2;
  const int start = ax - (4 * PARTS - 1) - right;

#pragma unroll 2
  for (int i = thread >> 5; i < l.run * PARTS; i += warps) {
    const int set = i / PARTS, row = 4 * (first_set + set) + t - down, first = start + 8 * (i - set * PARTS);
    const unsigned *taps = raw + min (max (row, 0), h - 1) * words;
    unsigned b[2];

#pragma unroll
    for (int half = 0; half < 2; half++) {
      const int word = (first >> 2) + half;
      const unsigned lo = (unsigned) word < (unsigned) words ? taps[word] : 0;
      const unsigned hi = (unsigned) (word + 1) < (unsigned) words ? taps[word + 1] : 0;

      b[half] = (unsigned) row < (unsigned) h ? __funnelshift_r (lo, hi, 8 * (first & 3)) : 0;
    }
    fragments[i * 32 + lane] = make_uint2 (b[0], b[1]);
  }
}

/* The words of a set that a lane loads: from the vector on in which its windows begin, `skipped` words after its start,
 * to the vector in which they end. */
template<int PARTS> struct SetWords {
  static constexpr int skipped = (4 - PARTS % 4) % 4, vectors = (skipped + 2 * PARTS + 4 + 3) / 4;
  unsigned at[4 * vectors];
};

/* Adds the products of a set to group 0 (FIRST), with the fragments at `fragments`, and to group 1 (SECOND), with those
 * of the set before. The registers of an operand lie one after the other. So the parts are cut once for operands that
 * begin with a part of even number and again for the others: moving them would take as many instructions. `cut` are the
 * selectors for the others, so that the compiler does not know that they are the same. */
template<int PARTS, bool FIRST, bool SECOND> __device__ __forceinline__ void
add_set (int (*sum)[4], const SetWords<PARTS> &w, const uint2 *fragments, const unsigned *cut)
{
  unsigned a[2 * PARTS + 2][4];
  uint2 b[2][PARTS];

#pragma unroll
  for (int s = 0; s < PARTS; s++) {
    b[0][s] = FIRST ? fragments[32 * s] : make_uint2 (0, 0);
    b[1][s] = SECOND ? fragments[32 * (s - PARTS)] : make_uint2 (0, 0);
  }
#pragma unroll
  for (int n = 0; n < 2 * PARTS + 2; n++)
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const unsigned *from = w.at + w.skipped + n + i;

      a[n][2 * i] = __byte_perm (from[0], from[1], n % 2 ? cut[0] : 0x4321);
      a[n][2 * i + 1] = __byte_perm (from[0], from[1], n % 2 ? cut[1] : 0x6543);
    }
#pragma unroll
  for (int n = 0; n < 2 * PARTS + 2; n++)
#pragma unroll
    for (int s = 0; s < PARTS; s++)
#pragma unroll
      for (int q = FIRST ? 0 : 1; q < (SECOND ? 2 : 1); q++) {
        const int i = n - 2 * s;

        if (i >= 0 && i < 4)
          multiply<true> (sum[4 * q + i], sum[4 * q + i], a[n], b[q][s].x, b[q][s].y);
      }
}

/* Adds the products of a run of sets to two groups. sum[4 q + i]: four neighbours of group q, those of the lane's
 * word i. The samples of the next set are loaded during the products. */
template<int PARTS> __device__ __forceinline__ void
add_products (int (*sum)[4], const uint8_t *samples, const Layout &l, int sets, const uint2 *fragments)
{
  const unsigned cut[2] = { l.cut[0], l.cut[1] };
  constexpr int words = 4 * SetWords<PARTS>::vectors;
  SetWords<PARTS> w, next;

  load_words<words, 4> (samples, w.at);
  load_words<words, 4> (samples + 4 * l.pitch, next.at);
  add_set<PARTS, true, false> (sum, w, fragments, cut);
#pragma unroll 1
  for (int r = 1; r < sets; r++) {
    w = next;
    load_words<words, 4> (samples + 4 * (r + 1) * l.pitch, next.at);
    add_set<PARTS, true, true> (sum, w, fragments + r * PARTS * 32, cut);
  }
  add_set<PARTS, false, true> (sum, next, fragments + sets * PARTS * 32, cut);
}

/* The parts of the block's dynamic shared memory. */
struct Shared {
  uint8_t *tile;
  unsigned *raw, *fragments;
  uint8_t *results;
};

/* Makes a limb's fragments for the run from `first_set` on in shared memory of the kernel's arguments; small ones hold
 * the fragments themselves. The caller must have a barrier before they are read. */
template<int PARTS, int SIZE> __device__ __forceinline__ void
stage_limb (const DenseWeights<SIZE> &weights, int limb, int first_set, const Shared &s, const Layout &l,
    const Work &work, int thread)
{
  const int vectors = SIZE == dense_large ? raw_bytes (l, work.h) / 16 : l.sets * PARTS * 16;

  __syncthreads ();
  for (int i = thread; i < vectors; i += threads)
    ((uint4 *) s.raw)[i] = read_argument (&weights.bytes[limb * vectors + i]);
  if (SIZE != dense_large)
    return;
  __syncthreads ();
  make_fragments<PARTS> ((uint2 *) s.fragments, s.raw, l, work.h, work.ax, first_set, thread);
}

/* Adds the products of a limb and a plane of the tile. `staged`: the fragments of the first run are there. */
template<int PARTS, int SIZE> __device__ __forceinline__ void
add_limb (int (*sum)[4], const Work &work, const DenseWeights<SIZE> &weights, int limb, bool staged, const Layout &l,
    const Shared &s, const uint8_t *plane, int thread)
{
  /* the lane's of set 0: row t of the warp's, from the vector on in which its windows begin */
  const int row = 4 * groups * (thread >> 5) + (thread & 3), left = (4 * PARTS + 15) & ~15;
  const uint8_t *samples = plane + row * l.pitch + l.left - left + 16 * (thread >> 2 & 7);

#pragma unroll 1
  for (int first = 0; first < l.sets; first += l.run) {
    if (!staged || first > 0)
      stage_limb<PARTS> (weights, limb, first, s, l, work, thread);
    __pipeline_wait_prior (0);
    __syncthreads ();
    add_products<PARTS> (sum, samples + 4 * first * l.pitch, l, min (l.run, l.sets - first),
        (const uint2 *) s.fragments + (thread & 31));
  }
}

/* Fills the tile with `count` planes from plane p on. */
__device__ __forceinline__ void
fill_planes (const Work &work, const Group &g, const Layout &l, Tile t, int p, int count, int thread)
{
  if (g.step == 4 && count == 3) {
    fill_tile<4, 3> (work, g, t, 0, thread, threads);
    return;
  }
#pragma unroll 1
  for (int i = 0; i < count; i++, t.at += l.rows * l.pitch)
    fill_tile<0, 1> (work, g, t, p + i, thread, threads);
}

/* Makes a thread's results of plane p of 8-bit samples, 16 bytes per group; plane: its tile, which has been filled or
 * is being. For the first plane the caller has staged the first limb. */
template<int PARTS, int SIZE> __device__ __forceinline__ void
make_8bit (const Work &work, const Group &g, const DenseWeights<SIZE> &weights, const Layout &l, const Shared &s,
    const uint8_t *plane, int p, int thread, unsigned *result)
{
  const int lane = thread & 31, row = 4 * groups * (thread >> 5) + (lane & 3);
  const uint8_t *centre = plane + (row + work.ay) * l.pitch + l.left + 16 * (lane >> 2);
  int sum[4 * groups][4] = { };

  for (int limb = work.limbs - 1; limb >= 0; limb--) {
    const bool first = p == 0 && limb == work.limbs - 1, only = work.limbs == 1 && l.run == l.sets;

#pragma unroll
    for (int i = 0; i < 16 * groups; i++)
      sum[i / 4][i % 4] <<= 8;
    add_limb<PARTS> (sum, work, weights, limb, first || only, l, s, plane, thread);
  }
  round_words<4 * groups, 2, true> (work.rounding, g.plane_chroma (p), sum, result,
      [&] (int i) { return centre + i / 4 * 4 * l.pitch + 4 * (i % 4); });
}

/* Filters the block at 8 bit. Where the tile has all planes, a plane's results take the place of its samples; else they
 * have one of their own. In the end a warp stores whole pixels. */
template<int PARTS, int SIZE> __device__ __forceinline__ void
make_pixels (const Work &work, const Group &g, const DenseWeights<SIZE> &weights, const Layout &l, const Shared &s,
    const Tile &t, int x0, int y0, int thread)
{
  const int lane = thread & 31, row = 4 * groups * (thread >> 5), in_row = row + (lane & 3);
  const bool all_planes = l.tile_planes >= g.planes, whole = x0 + tile_w <= g.width && y0 + tile_h <= g.height;
  const int pitch = all_planes ? l.pitch : result_pitch, plane_bytes = (all_planes ? l.rows : tile_h) * pitch;
  uint8_t *results = all_planes ? s.tile : s.results;
  unsigned result[4 * groups];

  stage_limb<PARTS> (weights, work.limbs - 1, 0, s, l, work, thread);
  griddep_wait ();
#pragma unroll 1
  for (int p = 0; p < g.planes; p++) {
    uint8_t *to = results + p * plane_bytes + in_row * pitch + 16 * (lane >> 2);

    if (p == 0 || !all_planes) {
      if (p > 0)
        __syncthreads (); /* all warps have read the tile of the plane before */
      fill_planes (work, g, l, t, p, all_planes ? g.planes : 1, thread);
    }
    make_8bit<PARTS> (work, g, weights, l, s, s.tile + (all_planes ? p * plane_bytes : 0), p, thread, result);
    if (g.step == 1 && whole && (((uintptr_t) g.out | (uintptr_t) g.out_pitch) & 15) == 0 && !g.in2[0]) {
#pragma unroll
      for (int q = 0; q < groups; q++)
        *(uint4 *) (g.out + (y0 + in_row + 4 * q) * g.out_pitch + x0 + 16 * (lane >> 2))
            = make_uint4 (result[4 * q], result[4 * q + 1], result[4 * q + 2], result[4 * q + 3]);
      return;
    }
    if (all_planes)
      __syncthreads (); /* all warps have read the plane */
#pragma unroll
    for (int q = 0; q < groups; q++)
      *(uint4 *) (to + 4 * q * pitch)
          = make_uint4 (result[4 * q], result[4 * q + 1], result[4 * q + 2], result[4 * q + 3]);
  }
  __syncwarp ();
  results += row * pitch;
  store_results<4 * groups> (work, g, x0, y0 + row, lane,
      [&] (int r, int p, int column) { return results + p * plane_bytes + r * pitch + column; });
}

/* Filters the block at 16 bit, where a group has one plane. */
template<int PARTS, int SIZE> __device__ __forceinline__ void
make_16bit (const Work &work, const Group &g, const DenseWeights<SIZE> &weights, const Layout &l, const Shared &s,
    const Tile &t, int x0, int y0, int thread)
{
  const int lane = thread & 31, row = 4 * groups * (thread >> 5) + (lane & 3), plane_bytes = l.rows * l.pitch;
  long long sum[4 * groups][4] = { };

  __syncthreads ();
  fill_16bit (work, g, t, 0, thread, threads);
  for (int power = work.limbs; power >= 0; power--) {
    int part[4 * groups][4] = { };

    for (int byte = 0; byte < 2; byte++) {
      const int limb = power - byte;

      if (limb < 0 || limb >= work.limbs)
        continue;
      add_limb<PARTS> (part, work, weights, limb, false, l, s, s.tile + byte * plane_bytes, thread);
    }
#pragma unroll
    for (int i = 0; i < 16 * groups; i++)
      sum[i / 4][i % 4] = (sum[i / 4][i % 4] << 8) + part[i / 4][i % 4];
  }
#pragma unroll
  for (int i = 0; i < 16 * groups; i++) {
    const int r = row + i / 16 * 4, column = 16 * (lane >> 2) + i % 16;
    const uint8_t *centre = s.tile + (r + work.ay) * l.pitch + l.left + column;

    store_pixel (work, g.index, x0 + column, y0 + r,
        (unsigned) round_sum (work.rounding, sum[i / 4][i % 4], centre[0] | centre[plane_bytes] << 8,
            g.plane_chroma (0)), 0, 0);
  }
}

/* As many blocks as an SM shall hold bound the registers of a thread. */
template<int PARTS, int SIZE, bool WIDE> __global__ void
__launch_bounds__ (threads, WIDE ? 2 : PARTS > 4 ? 3 : 4)
convolve_dense_kernel (const __grid_constant__ Work work, const __grid_constant__ Layout l,
    const __grid_constant__ DenseWeights<SIZE> weights)
{
  extern __shared__ __align__ (16) uint8_t memory[];
  const Group g = group_of_block (work, (int) blockIdx.x);
  const int2 position = block_position (g, (int) blockIdx.x);
  const int thread = (int) threadIdx.x, x0 = position.x * tile_w, y0 = position.y * tile_h;
  __shared__ int rows[max_rows];
  const Tile t = tile_of (work, g, memory, rows, l.pitch, l.rows, l.left, x0, y0, thread);
  unsigned *raw = (unsigned *) (memory + tile_bytes (l));
  unsigned *fragments = raw + (SIZE == dense_large ? raw_bytes (l, work.h) / 4 : 0);
  const Shared s = { memory, raw, fragments, (uint8_t *) (fragments + l.run * PARTS * 64) };

  if (WIDE || g.planes == 0)
    griddep_wait ();
  if (g.planes == 0)
    copy_group (work, g, x0, y0, tile_w, tile_h, thread, threads);
  else if (WIDE)
    make_16bit<PARTS> (work, g, weights, l, s, t, x0, y0, thread);
  else
    make_pixels<PARTS> (work, g, weights, l, s, t, x0, y0, thread);
}

/* A kernel with more parts than needed makes the same sums: the weights of the others are 0. */
#define CF_DENSE(parts, size, wide) { parts, size, wide, (const void *) convolve_dense_kernel<parts, size, wide> }
const struct Variant {
  int parts, size;
  bool wide;
  const void *kernel;
} variants[] = {
  CF_DENSE (2, dense_small, false), CF_DENSE (2, dense_large, false), CF_DENSE (4, dense_medium, false),
  CF_DENSE (4, dense_large, false), CF_DENSE (8, dense_large, false), CF_DENSE (2, dense_large, true),
  CF_DENSE (4, dense_large, true), CF_DENSE (8, dense_large, true),
};
#undef CF_DENSE

/* The shared memory of a block with which an SM still holds four, in bytes. */
constexpr int four_blocks = 56 * 1024;

int
shared_of (const Layout &l, const CfConvolution &c, const Variant &v, int planes)
{
  const int results = v.wide || l.tile_planes >= planes ? 0 : planes * tile_h * result_pitch;

  return tile_bytes (l) + (v.size == dense_large ? raw_bytes (l, c.h) : 0) + l.run * v.parts * 256 + results;
}

} // namespace

const Load convolve_load_dense = convolve_load<variants, true>;

bool
convolve_dense_launch (Frame *f)
{
  const CfConvolution &c = f->c;
  const int sets = (c.h + 6) / 4, limbs = f->work.limbs, planes = convolve_most_planes (f->work);
  Layout l = { 0, 0, 0, c.bits > 8 ? 2 : 1, sets, sets, (c.w + 3) & ~3, { 0x4321, 0x6543 } };
  const int reach = c.ax > c.w - 1 - c.ax ? c.ax : c.w - 1 - c.ax;
  const Variant *v = variants;

  while (v->wide != (c.bits > 8) || reach > 4 * v->parts - 1
      || (v->size != dense_large && (limbs > 1 || l.sets * v->parts * 256 > v->size)))
    v++;
  l.left = (4 * v->parts + 15) & ~15;
  l.pitch = v->parts > 4 ? 224 : 160;
  l.rows = tile_h + 4 * (l.sets - 1);
  convolve_assign_blocks (&f->work, tile_w, tile_h);
  if (!v->wide)
    l.tile_planes = planes;
  if (shared_of (l, c, *v, planes) > four_blocks && !v->wide)
    l.tile_planes = 1;
  /* with 64 KB, which every device has, windows of 63 x 63 take three runs */
  for (int runs = 2; l.run > 1 && shared_of (l, c, *v, planes) > f->max_shared - fixed_shared; runs++)
    l.run = (sets + runs - 1) / runs;

  const bool fresh = convolve_renew (f->operands, v->kernel, NULL, 0);
  uint8_t *bytes = f->operands->bytes;

  if (fresh && v->size == dense_large)
    convolve_split_weights (c.weights, c.w, c.h, limbs, 1, l.row_bytes, raw_bytes (l, c.h), bytes);
  else if (fresh)
    convolve_fill_quads (c, 2 * v->parts, l.sets, 1, 0, (uint2 *) bytes);
  return f->launch ("convolve dense", v->kernel, f->work.blocks, threads, shared_of (l, c, *v, planes), &f->work, &l,
      bytes);
}

} // namespace cf
