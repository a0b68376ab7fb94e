/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/passes.cuh: the two passes that passes.cu and packed_passes.cu share: their products, the rounding, and
 * the fragments of the weights, which the host makes. passes.cu says how they work. */
#ifndef CF_CONVOLVE_GPU_PASSES_CUH
#define CF_CONVOLVE_GPU_PASSES_CUH

#include "byte_tile.cuh"
#include "sums.cuh"

namespace cf {

/* ---- products ----------------------------------------------------------- */

/* Makes the sums of the columns of a block. low and high: their bytes, as left operands of the row pass. */
template<int ROW_PARTS> __device__ __forceinline__ void
filter_columns (const unsigned (*column)[4], const uint2 *weights, unsigned *low, unsigned *high)
{
  const int zero[4] = { };
  int sum[4][4];

#pragma unroll
  for (int j = 0; j < 4; j++)
#pragma unroll
    for (int h = 0; h < ROW_PARTS; h += 2) {
      const uint2 next = h + 1 < ROW_PARTS ? weights[h + 1] : make_uint2 (0, 0);
      const unsigned a[4] = { weights[h].x, weights[h].y, next.x, next.y };

      multiply<false> (sum[j], h == 0 ? zero : sum[j], a, column[h][j],
          h + 1 < ROW_PARTS ? column[h + 1][j] : 0);
    }
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const int j = 2 * (k >> 1), e = 2 * (k & 1);
    const unsigned a = __byte_perm ((unsigned) sum[j][e], (unsigned) sum[j][e + 1], 0x5140);
    const unsigned b = __byte_perm ((unsigned) sum[j + 1][e], (unsigned) sum[j + 1][e + 1], 0x5140);

    low[k] = __byte_perm (a, b, 0x5410);
    high[k] = __byte_perm (a, b, 0x7632);
  }
}

/* Makes the sums of a block, of which blocks first .. first + REACH of the ring of operands are read. sum[q] are those
 * of the bytes 8 t + 2 q and the next one, of row g and of row g + 8. */
template<int REACH> __device__ __forceinline__ void
filter_rows (const unsigned (*low)[4], const unsigned (*high)[4], int first, const uint2 (*weights)[REACH + 1],
    const int *init, int (*sum)[4])
{
  const int zero[4] = { };

#pragma unroll
  for (int q = 0; q < 4; q++) {
    const int begin[4] = { init[q % 2 * 2], init[q % 2 * 2 + 1], init[q % 2 * 2], init[q % 2 * 2 + 1] };
    int top[4];

#pragma unroll
    for (int k = 0; k <= REACH; k++) {
      const int at = (first + k) % (REACH + 1);

      multiply<false> (sum[q], k == 0 ? begin : sum[q], low[at], weights[q][k].x, weights[q][k].y);
      multiply<false> (top, k == 0 ? zero : top, high[at], weights[q][k].x, weights[q][k].y);
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
      sum[q][i] += top[i] << 8;
  }
}

/* Rounds a block's sums: word[e][k] are the bytes 4 k .. 4 k + 3 of the lane's eight in row g + 8 e. SHIFT: by
 * RULE_SHIFT, which is gauss's; else by any other. */
template<Rule RULE> __device__ __forceinline__ void
round_block_ruled (const Rounding &k, const int (*sum)[4], unsigned (*word)[2])
{
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int q = i % 2 * 2, e = i / 2 * 2, four[4] = { sum[q][e], sum[q][e + 1], sum[q + 1][e], sum[q + 1][e + 1] };

    word[i / 2][i % 2] = round_four_ruled<RULE> (k, four);
  }
}

template<bool SHIFT> __device__ __forceinline__ void
round_block (const Rounding &k, int (*sum)[4], unsigned (*word)[2])
{
  if (k.clips)
#pragma unroll
    for (int i = 0; i < 16; i++)
      sum[i / 4][i % 4] = max (sum[i / 4][i % 4], 0);
  if (SHIFT)
    round_block_ruled<RULE_SHIFT> (k, sum, word);
  else if (k.rule == RULE_ONE)
    round_block_ruled<RULE_ONE> (k, sum, word);
  else if (k.rule == RULE_EVEN)
    round_block_ruled<RULE_EVEN> (k, sum, word);
  else
    round_block_ruled<RULE_DIVIDE> (k, sum, word);
}

/* Takes a block's results from its sums, of which they are the third bytes. */
__device__ __forceinline__ void
take_block (const int (*sum)[4], unsigned (*word)[2])
{
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int q = i % 2 * 2, e = i / 2 * 2;

    word[i / 2][i % 2] = __byte_perm (__byte_perm ((unsigned) sum[q][e], (unsigned) sum[q][e + 1], 0x62),
        __byte_perm ((unsigned) sum[q + 1][e], (unsigned) sum[q + 1][e + 1], 0x62), 0x5410);
  }
}

/* Rounds a block's sums. TAKES: results are bytes of the sums, as gauss's are (takes_bytes ()). */
template<bool TAKES> __device__ __forceinline__ void
round_sums (const Rounding &k, int (*sum)[4], unsigned (*word)[2])
{
  if (TAKES)
    take_block (sum, word);
  else if (k.rule == RULE_SHIFT)
    round_block<true> (k, sum, word);
  else
    round_block<false> (k, sum, word);
}

/* ---- fragments --------------------------------------------------------- */

/* The operands with the weights, for the columns and for the rows ([step][quarter][block][lane]). */
template<int ROW_PARTS, int REACH, int SPREADS> struct PassFragments {
  uint2 column[ROW_PARTS][32];
  uint2 row[SPREADS][4][REACH + 1][32];
};

/* Returns true if the results are the third bytes of the sums: D is 65536, and no result is above 255 or negative. The
 * weights are not. */
static inline bool
takes_bytes (const CfConvolution &c, const Rounding &k)
{
  int64_t row = 0, col = 0; /* the sums of the weights; those of `c` may have been reduced */

  for (int i = 0; i < c.w; i++)
    row += c.row[i];
  for (int i = 0; i < c.h; i++)
    col += c.col[i];
  return k.rule == RULE_SHIFT && k.rule_shift == 16 && k.init[0] >= 0 && k.init[1] >= 0
      && row * col * c.max + (k.init[0] > k.init[1] ? k.init[0] : k.init[1]) < 1 << 24;
}

/* Fills the operand of the columns: a lane has rows lane / 4 and 8 further, and of each part every fourth tap from
 * lane % 4 on. */
static inline void
fill_column_operand (const CfConvolution &c, int row_parts, uint2 *fragments)
{
  for (int i = 0; i < 32 * row_parts; i++) {
    unsigned half[2] = { 0, 0 };

    for (int k = 0; k < 8; k++) {
      const int tap = 16 * (i / 32) + 4 * (k % 4) + i % 4 - (i % 32 / 4 + k / 4 * 8);

      half[k / 4] |= (tap >= 0 && tap < c.h ? (unsigned) c.col[tap] : 0u) << 8 * (k % 4);
    }
    fragments[i] = make_uint2 (half[0], half[1]);
  }
}

/* Fills the operands of the rows for a step. A lane's bytes of an operand of sums are the columns 8 t + order[].
 * packed: a lane ends up with the outputs 4 t .. 4 t + 3 and 16 further, not with 8 t .. 8 t + 7. */
static inline void
fill_row_operands (const CfConvolution &c, int reach, int step, bool packed, uint2 *fragments)
{
  const int order[8] = { 0, 4, 1, 5, 2, 6, 3, 7 };

  for (int i = 0; i < 32 * 4 * (reach + 1); i++) {
    const int n = i % 32 / 4, t = i % 4, block = i / 32 % (reach + 1), q = i / 32 / (reach + 1);
    const int output = 16 * reach + n % 2 + (packed ? 4 * (n / 2) + 2 * (q % 2) + 16 * (q / 2) : 8 * (n / 2) + 2 * q);
    unsigned half[2] = { 0, 0 };

    for (int k = 0; k < 8; k++) {
      const int from_anchor = 32 * block + 8 * t + order[k] - output, tap = from_anchor / step + c.ax;

      half[k / 4] |= (from_anchor % step == 0 && tap >= 0 && tap < c.w ? (unsigned) c.row[tap] : 0u) << 8 * (k % 4);
    }
    fragments[i] = make_uint2 (half[0], half[1]);
  }
}

} // namespace cf

#endif
