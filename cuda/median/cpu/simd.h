/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/simd.h: the inner loops of the median filter on the CPU. simd.c is
 * compiled once per instruction set. The loops work on rows of values of 1, 2 or 4
 * bytes ("size class" 0, 1, 2); only unpack and pack know the layouts of images.
 *
 * Thread-safety: the functions have no state; threads may call them at once with memory of their own. */
#ifndef CF_MEDIAN_CPU_SIMD_H
#define CF_MEDIAN_CPU_SIMD_H

#include "median/running.h"

/* Bytes of the mask of median3: as many as the longest vector has. */
#define CF_MEDIAN_KEEP 64

/* ---- networks ----------------------------------------------------------- */

/* Bytes of one slot, which holds the same value of neighbouring tiles side by side. */
#define CF_MEDIAN_SLOT 256

/* d = min, e = max of a and b, all given as byte offsets of slots in the arena. A
 * result's slot is an operand's or does not overlap with it. */
typedef struct {
  uint32_t d, e, a, b;
} CfMedianStep;

/* The medians of 5 x 5, 7 x 7, ... 21 x 21 (values of 1 byte: 17 x 17) are compiled (mkcode.c), for tiles of this size,
 * the fastest measured; those after 9 x 9 only for vectors of more than 16 bytes, because with 16 they are slower as
 * code than as steps. Without optimisation, as under a sanitizer, those after 11 x 11 would take megabytes of stack. */
#define CF_MEDIAN_N_CODES 9
#define CF_MEDIAN_N_CODES_16 3
#define CF_MEDIAN_CODE_W 2
#define CF_MEDIAN_CODE_H(k) ((k) < 13 ? 4 : 8)

/* ---- histograms --------------------------------------------------------- */

/* Values below 1024 fall into GROUPS: group g has the values 31 g + 1 .. 31 g + 31, group 0 also the value 0. A SET of
 * column histograms has 32 entries for every column of the window. Entry i counts the column's samples
 *   up to the value 31 g + 31 - i     in the set of group g
 *   of the groups up to 31 - i        in the set CF_MEDIAN_COARSE, whose samples are such numbers (g = 0)
 * so that adding a sample is one vector addition, and a rank is found by counting the entries that are not above it:
 * with b of them the result is 31 g + b, unless b is 0 (it is in a group before, or group 0) or 32 (in one behind). An
 * entry of a column has 1 byte (narrow) or 2 (wide), and one of a sum of columns twice as many. Columns are counted by
 * BLOCKS, each up to the row of which an output needs it. */
#define CF_MEDIAN_GROUP 31
#define CF_MEDIAN_COARSE 33
#define CF_MEDIAN_SETS 34
#define CF_MEDIAN_BLOCK 32

typedef struct CfMedianSweep CfMedianSweep;

struct CfMedianSweep {
  uint8_t *sets; /* `set_size` bytes apart */
  size_t set_size;
  int w, n, rank;   /* columns of the window, outputs; the window of output x has columns x .. x + w - 1 */
  uint16_t *result; /* in: of the row before, as a guess */
  int *counted;     /* of each set and its n_blocks blocks: the row whose windows' samples it counts */
  int n_blocks, y;  /* y: this row */
  /* Makes a block of a set count this row's. */
  void (*ready) (CfMedianSweep *sweep, int set, int block);
};

/* ---- sorted samples ------------------------------------------------------ */

/* The search for the results of row `top` of a task, in its samples sorted by value, so many of them a BLOCK. */
#define CF_MEDIAN_LISTED 64
#define CF_MEDIAN_COLUMN (255 * 15 + 31) /* numbers that are read of a column at most */
typedef struct {
  void *x, *y;           /* of each sample: column, and row * depth + frame, from the task's first on */
  int16_t *blocks;       /* that each sample is in, by x and, in these, by y */
  size_t pitch;          /* of the columns */
  int w, h, depth, rank; /* h: of y, so of all frames */
  int top, n;            /* outputs */
  int block;             /* in and out: of the first output's result */
  uint32_t *result;      /* index of each result */
} CfMedianSearch;

/* ---- blocks of the running background ------------------------------------- */

/* Sums of blocks, see CfScene. */
typedef struct {
  uint32_t equal, dark, bright, edges, back_edges, same_edges, sum;
} CfMedianSurvey;

typedef struct {
  /* unpack reads n samples of row y of a component from column x0 on as values;
   * coordinates are clamped to the view. pack writes n values to it. choose
   * replaces results by the input where the two differ by at most `threshold`. */
  void (*unpack[3]) (const CfView *view, int y, int x0, int n, void *row);
  void (*pack[3]) (const CfView *view, int y, int x0, int n, const void *row);
  void (*choose[3]) (void *result, const void *input, int n, int threshold);

  /* split: part[p][i] = row[i * parts + p], join: the inverse; parts is 1, 2, 4 or 8.
   * The parts are `pitch` values apart. */
  void (*split[3]) (const void *row, int n, int parts, void *part, size_t pitch);
  void (*join[3]) (void *row, int n, int parts, const void *part, size_t pitch);
  /* Runs the n steps on at least the first `lanes` values of each slot. */
  void (*network[3]) (const CfMedianStep *steps, int n, uint8_t *arena, int lanes);

  /* Computes n tiles side by side with a compiled network, [size class][(k - 5) / 2], NULL: it is not compiled:
   * sample (x, y) of tile i is part x % CODE_W of row[y] at i + x / CODE_W, output o is part o of `out` at i. The parts
   * are `pitch` and `out_pitch` values apart. Reads and writes up to 64 bytes more than n tiles of each part. */
  void (*code[2][CF_MEDIAN_N_CODES]) (const void *const *row, size_t pitch, void *out, size_t out_pitch, int n);

  /* Filters two rows from four rows of n values with the 3x3 median; neighbours are `step` values apart. `keep`: NULL,
   * or, with a step of 4, a mask of CF_MEDIAN_KEEP bytes, the same for each pixel: values that are copied instead. */
  void (*median3[3]) (const void *const in[4], void *const out[2], int n, int step, const void *keep);

  /* Adds one sample to each column of a block and subtracts one. */
  void (*columns[2]) (void *columns, int set, const uint16_t *add, const uint16_t *sub);
  /* Finds the results of a row. */
  void (*sweep[2]) (CfMedianSweep *sweep);

  /* Finds the results of a row, positions have 1 or 2 bytes. */
  void (*search[2]) (CfMedianSearch *search);

  /* The running background. follow moves each value of `background` towards that of `x` by at most `step`, for values
   * of 1 and 2 bytes, and leaves the distance that remains. */
  void (*follow[2]) (void *background, const void *x, void *distance, int n, int step, int largest);
  /* Rows of blocks, see median/running.h. sum4 adds to each sum four values of 1 or 2 bytes. compare sets flags, 1
   * changed and 2 restless, and adds changed and restless blocks, and the part of a drift, to the sums of columns.
   * survey adds to sums. near and quiet make the next B and V of blocks that follow. */
  void (*sum4[2]) (const void *row, int n, uint32_t *sum);
  void (*compare) (const uint16_t *x, const uint16_t *before, const uint16_t *back, const uint16_t *noise, int n,
      int least, uint8_t *flags, uint8_t *changed, uint8_t *restless, int16_t *drift);
  void (*survey) (const uint16_t *x, const uint16_t *before, const uint16_t *back, const uint16_t *noise, int n,
      int least, CfMedianSurvey *survey);
  void (*near) (const uint16_t *x, const uint16_t *back, int n, int step, uint16_t *to);
  void (*quiet) (const uint16_t *x, const uint16_t *before, uint16_t *noise, int n);
} CfMedianSimd;

extern const CfMedianSimd cf_median_simd_avx512bw, cf_median_simd_avx2, cf_median_simd_sse4_1, cf_median_simd_baseline;

#endif
