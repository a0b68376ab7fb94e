/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/cpu/simd.h: the CPU segmentation's loops over rows; simd.c is compiled once for each instruction set.
 *
 * A colour is Y | Cb << 8 | Cr << 16. Arrays of cells are padded with CF_SG_OUTSIDE on all
 * four sides (internal.h), so no loop tests for the edge of the frame. */
#ifndef CF_SEGMENT_CPU_SIMD_H
#define CF_SEGMENT_CPU_SIMD_H

#include "segment/segment.h"

#define CF_SG_OUTSIDE 0x80000000u /* a colour, mean or label: this entry is padding, not a cell */
#define CF_SG_SEEDED 0x40000000u  /* flag in a mean or a label: the region has a seed (step 6) */
#define CF_SG_MARKED CF_SG_SEEDED /* flag in a mean when growth has ended: the region is marked (step 6) */
#define CF_SG_NUMBER 0x3fffffffu  /* the other bits of a label: the region number */

/* Kinds of cells: 0 free, below CF_SG_KEPT the class of a seed and the parity of its block (step 4), from there on the
 * index of a kept cell's old region. */
#define CF_SG_KEPT 512

/* Bytes of padding beside a row of flags, which may be read. */
#define CF_SG_PAD 16

/* One component of the cells of a row, given as sums over the columns of pixels. */
typedef struct {
  const uint32_t *column; /* the sum of the component's first column */
  int step, w_sub;
  int size, width; /* of a cell and of the frame, in pixels */
} CfSgColumns;

/* A row of a plane. Its samples form groups of 1, 2 or 4; a group covers one pixel or, with w_sub = 1, two. */
typedef struct {
  const uint8_t *row;
  int group, w_sub, width; /* samples of a group; width of the frame in pixels */
  int shift, max;
} CfSgSamples;

/* Means and roots of the regions of a cell and, by `pitch`, of its neighbours. */
typedef struct {
  const uint32_t *mean, *root;
  ptrdiff_t pitch;
} CfSgNeighbours;

typedef struct {
  /* Adds `weight` times sample x to sum[x], for a row of words of 1 [0] or 2 [1] bytes. */
  void (*add[2]) (const void *row, int n, int shift, int max, uint32_t weight, uint32_t *sum);
  /* Sums the columns of each of n cells of a row to one value a cell. */
  void (*gather) (const CfSgColumns *from, int n, uint32_t *cell);
  /* Computes the colours of n cells of `area` pixels each from the sums of their components (step 1); sum[1] and
   * sum[2] are NULL for gray. Overwrites the sums. */
  void (*color) (uint32_t *const sum[3], int n, uint32_t area, int bits, bool rgb, uint32_t *color);
  /* Computes p of step 1 from the own colours of the row above, the row itself and the row below. Uses sums[-1 .. n] of
   * both arrays. */
  void (*mean) (const uint32_t *const row[3], int n, uint32_t *const sums[2], uint32_t *color);
  /* Computes the squared lengths of n colours. */
  void (*lengths) (const uint32_t *color, int n, uint32_t *length);
  /* Sets link[i][x] to whether the neighbour of cell x to the right [0], below [1], right below [2], left below [3]
   * is within the threshold, or outside the frame. length[] has the squared lengths of this row and the one below. */
  void (*links) (const uint32_t *color, ptrdiff_t pitch, const uint32_t *const length[2], int n, uint32_t threshold,
      uint8_t *const link[4]);
  /* Sets seed[x] to whether cell x is linked to all 8 neighbours; `up` has the links of the row above. */
  void (*smooth) (uint8_t *const link[4], uint8_t *const up[4], int n, uint8_t *seed);
  /* Computes r of step 3 from the row above, the row itself and the row below. */
  void (*roughness) (const uint32_t *const row[3], int n, uint16_t *roughness);
  /* Sets kind[x] to the kind of a seed (cf_sg_kind), or to 0 where seed[x] is not set. */
  void (*kinds) (const uint32_t *color, const uint8_t *seed, int row, int n, uint32_t *kind);
  /* Sets kind[x], where the cell is kept, to CF_SG_KEPT + label[x]; mean[x] belongs to label[x]. */
  void (*keep) (const uint32_t *color, const uint32_t *before, const uint32_t *mean, const uint32_t *label, int n,
      const uint32_t threshold[3], uint32_t *kind);
  /* Sets differs[x] to a[x] != b[x]; returns whether any is set. */
  bool (*differ) (const uint32_t *a, const uint32_t *b, int n, uint8_t *differs);
  /* The picks of the first round of growth: a free cell picks a root, another cell has its own. `first` is the
   * padded index of the first cell. */
  void (*pick) (const CfSgNeighbours *at, uint32_t first, int n, uint32_t *picked);
  /* Flags the cells whose neighbour to the right, or below, is of another region; not where both regions have
   * seeds, nor where the same two regions also touch one cell earlier (above, or to the left). */
  void (*grow) (const uint32_t *label, ptrdiff_t pitch, int n, uint8_t *right, uint8_t *below);
  /* Flags the cells some of whose pixels may take another region's label (step 11); v is the row above or
   * below. Returns whether any is flagged. */
  bool (*mixed) (const uint32_t *label, const uint32_t *v, int n, uint8_t *mixed);
  /* Flags the cells that touch another region or the frame's edge (4 neighbours). */
  void (*border) (const uint32_t *label, ptrdiff_t pitch, int n, uint8_t *border);
  /* Flags the cells that have a flagged neighbour (4 neighbours). */
  void (*beside) (const uint8_t *flag, ptrdiff_t pitch, int n, uint8_t *beside);
  /* Sums the samples of each of n runs of pixels (first pixel << 16 | label; a run ends where the next begins), for
   * each position in a group separately: sum[4 * run + position]. Samples of 1 [0] or 2 [1] bytes. */
  void (*sum_runs[2]) (const CfSgSamples *samples, const uint32_t *run, uint32_t n, uint32_t *sum);
} CfSgSimd;

extern const CfSgSimd cf_sg_simd_avx512bw, cf_sg_simd_avx2, cf_sg_simd_sse4_1, cf_sg_simd_baseline;

/* ---- colours, in integers of 32 bits ------------------------------------ */

/* Returns |p|^2 of a colour. */
static inline uint32_t
cf_sg_length (uint32_t p)
{
  const uint32_t y = p & 255, b = p >> 8 & 255, r = p >> 16 & 255;

  return y * y + b * b + r * r;
}

/* Returns the squared distance of two colours. */
static inline uint32_t
cf_sg_distance (uint32_t p, uint32_t q)
{
  const int32_t y = (int32_t) (p & 255) - (int32_t) (q & 255), b = (int32_t) (p >> 8 & 255) - (int32_t) (q >> 8 & 255),
                r = (int32_t) (p >> 16 & 255) - (int32_t) (q >> 16 & 255);

  return (uint32_t) (y * y + 4 * (b * b + r * r));
}

/* Returns whether 131072 distance < threshold lengths. The products need 35 bits; to stay within 32, both sides
 * are divided by 256, the right one in two halves and rounded up, which is exact because the left one is a multiple
 * of 256. */
static inline bool
cf_sg_near (uint32_t distance, uint32_t lengths, uint32_t threshold)
{
  return distance << 9 < (threshold >> 8) * lengths + (((threshold & 255) * lengths + 255) >> 8);
}

/* rel of the contract; `threshold` is its N. */
static inline bool
cf_sg_rel (uint32_t p, uint32_t q, uint32_t threshold)
{
  return cf_sg_near (cf_sg_distance (p, q), cf_sg_length (p) + cf_sg_length (q), threshold);
}

/* Returns the kind of a seed: its class, 1 to 125, and the parity of its block in x and y, by which neighbours in
 * different blocks differ. */
static inline uint32_t
cf_sg_kind (uint32_t p, int x, int y)
{
  const uint32_t l = p & 255, b = p >> 8 & 255, r = p >> 16 & 255, level = l < 64 ? l >> 5 : (l >> 6) + 1;

  return 1 + level + 5 * ((b + 32) >> 6) + 25 * ((r + 32) >> 6) + 128 * ((uint32_t) x / CF_SEGMENT_BLOCK & 1) +
      256 * ((uint32_t) y / CF_SEGMENT_BLOCK & 1);
}

/* Returns the cost of joining two regions of step 5; `cells` is the size of the smaller one. */
static inline uint32_t
cf_sg_cost (uint32_t distance, uint64_t cells)
{
  const uint64_t n = cells < CF_SEGMENT_COST_CELLS ? cells : CF_SEGMENT_COST_CELLS,
                 c = (uint64_t) distance * distance * n;
  const int e = c >> 14 ? 50 - __builtin_clzll (c) : 0;

  return ((uint32_t) e << 13) + (uint32_t) (c >> e);
}

/* Returns the colour of 8-bit RGB values, by step 1. */
static inline uint32_t
cf_sg_ycbcr (uint32_t red, uint32_t green, uint32_t blue)
{
  const int32_t r = (int32_t) red, g = (int32_t) green, b = (int32_t) blue;
  const int32_t y = (19595 * r + 38470 * g + 7471 * b + 32768) >> 16;
  const int32_t cb = (-11059 * r - 21709 * g + 32768 * b + 8421375) >> 16;
  const int32_t cr = (32768 * r - 27439 * g - 5329 * b + 8421375) >> 16;

  return (uint32_t) (y | cb << 8 | cr << 16);
}

#endif
