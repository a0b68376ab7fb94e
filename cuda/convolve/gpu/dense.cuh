/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/dense.cuh: the products that dense.cu, dense_planes.cu and dense_pixels.cu share; dense.cu says how they
 * work. */
#ifndef CF_CONVOLVE_GPU_DENSE_CUH
#define CF_CONVOLVE_GPU_DENSE_CUH

#include "tile.cuh"
#include "sums.cuh"

namespace cf {

/* A block has 4 warps; a warp makes two groups of four rows of 128 pixels. */
namespace dense {

constexpr int warps = 4, threads = 32 * warps, groups = 2, tile_w = 128, tile_h = 4 * groups * warps;

} // namespace dense

/* Sizes of a launch's shared memory and loops. */
struct Layout {
  int pitch, left;       /* left: columns of the tile before x0, a multiple of 16 */
  int rows, tile_planes; /* of the tile: one, or as many as the group with most planes has */
  int sets;              /* of four rows of samples that meet an output */
  int row_bytes;         /* bytes of a row of weights */
  unsigned cut[2];       /* selectors of the two words of a part */
};

/* The words of a set that a lane loads: from the vector on in which its windows begin, `skipped` words after its start,
 * to the vector in which they end. */
template<int PARTS> struct SetWords {
  static constexpr int skipped = (4 - PARTS % 4) % 4, vectors = (skipped + 2 * PARTS + 4 + 3) / 4;
  unsigned at[4 * vectors];
};

/* Loads the words of a set. */
template<int PARTS> __device__ __forceinline__ void
load_set (const uint8_t *samples, SetWords<PARTS> &w)
{
#pragma unroll
  for (int i = 0; i < w.vectors; i++) {
    const uint4 v = ((const uint4 *) samples)[i];

    w.at[4 * i] = v.x, w.at[4 * i + 1] = v.y, w.at[4 * i + 2] = v.z, w.at[4 * i + 3] = v.w;
  }
}

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
          multiply<false, true> (sum[4 * q + i], a[n], b[q][s].x, b[q][s].y);
      }
}

/* Adds the products of all kernel rows to two groups. sum[4 q + i]: four neighbours of group q, those of the lane's
 * word i. The samples of the next set are loaded during the products. */
template<int PARTS> __device__ __forceinline__ void
add_products (int (*sum)[4], const uint8_t *samples, const Layout &l, const uint2 *fragments)
{
  const unsigned cut[2] = { l.cut[0], l.cut[1] };
  SetWords<PARTS> w, next;

  load_set (samples, w);
  load_set (samples + 4 * l.pitch, next);
  add_set<PARTS, true, false> (sum, w, fragments, cut);
#pragma unroll 1
  for (int r = 1; r < l.sets; r++) {
    w = next;
    load_set (samples + 4 * (r + 1) * l.pitch, next);
    add_set<PARTS, true, true> (sum, w, fragments + r * PARTS * 32, cut);
  }
  add_set<PARTS, false, true> (sum, next, fragments + l.sets * PARTS * 32, cut);
}

/* Rounds the sums of both groups to words. */
template<Rule RULE> __device__ __forceinline__ void
round_groups (const Rounding &k, const int (*sum)[4], unsigned *word)
{
#pragma unroll
  for (int i = 0; i < 4 * dense::groups; i++)
    word[i] = round_four_ruled<RULE> (k, sum[i]);
}

__device__ __forceinline__ void
round_sums (const Rounding &k, int (*sum)[4], unsigned *word)
{
  if (k.clips)
#pragma unroll
    for (int i = 0; i < 16 * dense::groups; i++)
      sum[i / 4][i % 4] = max (sum[i / 4][i % 4], 0);
  if (k.rule == RULE_ONE)
    round_groups<RULE_ONE> (k, sum, word);
  else if (k.rule == RULE_EVEN)
    round_groups<RULE_EVEN> (k, sum, word);
  else if (k.rule == RULE_SHIFT)
    round_groups<RULE_SHIFT> (k, sum, word);
  else
    round_groups<RULE_DIVIDE> (k, sum, word);
}

/* Enqueues the kernel of dense_planes.cu for a frame. Returns false, and launches nothing, if it cannot filter that. */
bool convolve_dense_planes_launch (const Work &work, const CfConvolution &c, Operands *operands, cudaStream_t stream,
    CfCode *code, CfStatus *status);
CfCode convolve_dense_planes_init (CfStatus *status);
/* The same of dense_pixels.cu; sets the grid of `work`. */
bool convolve_dense_pixels_launch (Work *work, const CfConvolution &c, Operands *operands, cudaStream_t stream,
    CfCode *code, CfStatus *status);
CfCode convolve_dense_pixels_init (int max_shared, CfStatus *status);

} // namespace cf

#endif
