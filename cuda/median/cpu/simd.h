/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * median/cpu/simd.h: the inner loops of the median filter on the CPU, compiled once
 * an instruction set from simd.c. They work on rows of plain numbers of
 * 1, 2 or 4 bytes ("size class" 0, 1, 2), never on pictures' layouts, but for
 * unpack and pack, which go between the two. */
#ifndef CF_MEDIAN_CPU_SIMD_H
#define CF_MEDIAN_CPU_SIMD_H

#include "median/median.h"

/* ---- networks ----------------------------------------------------------- */

/* Bytes of one value of a network: this many neighbouring tiles at a time. */
#define CF_SLOT 256

/* Byte offsets in the arena of CF_SLOT bytes each: d = min, e = max of a, b. A
 * result's slot is an operand's or lies apart from it. */
typedef struct {
  uint32_t d, e, a, b;
} CfMedianStep;

/* ---- histograms --------------------------------------------------------- */

/* A digit of a sample, below 1024, is 32 BINS in each of up to 32 GROUPS. Of
 * every column of the window we keep, in cumulative form,
 *   coarse[x][g]     samples of the column in groups before g
 *   fine[g][x][b]    samples in group g in bins up to b
 * so that one sample more is one vector addition in each, and the place of a
 * rank is found by counting the entries that are not above it. Columns are
 * `count` bytes wide (1, 2), and sums of columns 2 count bytes. */
#define CF_NO_DIGIT 0xffff /* a sample that does not count */

typedef struct {
  void *coarse, *fine;
  int n; /* columns; output x looks at columns x .. x + w - 1 */
} CfMedianColumns;

typedef struct {
  const CfMedianColumns *columns;
  int w, n;               /* window, outputs */
  /* the only digit: the rank of all outputs, and where their digits go */
  uint32_t first_rank;
  uint16_t *digit;
  /* one of several: outputs with this prefix are looked for, if not NULL */
  const uint32_t *found;  /* the outputs' prefixes */
  uint32_t prefix;
  int digit_bits;
  uint32_t *next;         /* the prefixes with the digit behind */
  uint32_t *rank;         /* in and out: rank among the samples of the prefix */
} CfMedianSweep;

typedef struct {
  /* One row of a component, from sample x0 (clamped) on, as numbers; and `n`
   * numbers to it. `keep`: the threshold rule with the input's numbers. */
  void (*unpack[3]) (const CfView *view, int y, int x0, int n, void *row);
  void (*pack[3]) (const CfView *view, int y, int x0, int n, const void *row, const void *input, int threshold);

  /* row[i * parts + p] <-> part[p][i]; parts is 1, 2, 4 or 8. */
  void (*split[3]) (const void *row, int n, int parts, void *part, size_t pitch, void *scratch);
  void (*join[3]) (void *row, int n, int parts, const void *part, size_t pitch, void *scratch);
  /* the first `lanes` values of each slot at least */
  void (*network[3]) (const CfMedianStep *steps, int n, uint8_t *arena, int lanes);

  /* 3x3 medians of two rows between four, by rows of n numbers; neighbours are
   * `step` apart. `scratch` holds 6 rows of n + 2 step numbers. */
  void (*median3[3]) (const void *const in[4], void *const out[2], int n, int step, void *scratch);

  /* digit[i] = (row[i] >> shift) & mask where row[i] >> prefix_shift is
   * prefix, else CF_NO_DIGIT. */
  void (*digits[3]) (const void *row, int n, int shift, uint32_t mask, uint32_t prefix, uint16_t *digit);
  /* Counts the samples `add` in and `sub` (or NULL) out. */
  void (*columns[2]) (const CfMedianColumns *columns, const uint16_t *add, const uint16_t *sub);
  void (*sweep[2]) (const CfMedianSweep *sweep);
} CfMedianSimd;

extern const CfMedianSimd cf_median_simd_avx512bw, cf_median_simd_avx2, cf_median_simd_sse4_1, cf_median_simd_baseline;

#endif
