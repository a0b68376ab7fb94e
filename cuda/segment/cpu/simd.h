/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment/cpu/simd.h: the segmentation's loops over rows on the CPU, compiled once an
 * instruction set from simd.c.
 *
 * A colour is Y | Cb << 8 | Cr << 16. Rows of cells have a cell more at either
 * end, and there are rows above and below, which are CF_SG_OUTSIDE; so no loop
 * asks where it is. */
#ifndef CF_SEGMENT_CPU_SIMD_H
#define CF_SEGMENT_CPU_SIMD_H

#include "segment/segment.h"

#define CF_SG_OUTSIDE 0x80000000u /* of a colour or a label: there is no such cell */
#define CF_SG_SEEDED 0x40000000u  /* of a mean or a label: the region holds a seed */
#define CF_SG_NUMBER 0x3fffffffu

/* Beside each flag of a row these many bytes may be read. */
#define CF_SG_PAD 16

/* One component of cells, from the sums of the picture's columns. */
typedef struct {
  const uint32_t *column; /* its first sample's */
  int step, w_sub;
  int size, width;        /* of cells, of the picture */
} CfSgColumns;

/* A row of a plane, whose samples are in groups of 1, 2 or 4, a group a pixel or,
 * with w_sub, two. */
typedef struct {
  const uint8_t *row;
  int group, w_sub, width; /* samples; width of the picture */
  int shift, max;
} CfSgSamples;

/* A cell and those it touches: their regions' means and roots. */
typedef struct {
  const uint32_t *mean, *root;
  ptrdiff_t pitch;
} CfSgAround;

typedef struct {
  /* sum[x] += weight times sample x of a row of words of 1 [0] or 2 [1] bytes. */
  void (*add[2]) (const void *row, int n, int shift, int max, uint32_t weight, uint32_t *sum);
  void (*gather) (const CfSgColumns *from, int n, uint32_t *cell);
  /* The colours of n cells of `area` pixels each, from the components' sums. */
  void (*color) (uint32_t *const sum[3], int n, uint32_t area, int bits, bool rgb, uint32_t *color);
  /* Squared lengths. */
  void (*lengths) (const uint32_t *color, int n, uint32_t *length);
  /* link[0] to the right, [1] below, [2] right below, [3] left below: is that
   * neighbour nearer than the threshold, or outside? Lengths of both rows. */
  void (*links) (const uint32_t *color, ptrdiff_t pitch, const uint32_t *const length[2], int n, uint32_t threshold,
      uint8_t *const link[4]);
  /* seed = all links of a cell, `up` being those of the row above. */
  void (*smooth) (uint8_t *const link[4], uint8_t *const up[4], int n, uint8_t *seed);
  /* Step 3's r. */
  void (*rough) (const uint32_t *const row[3], int n, uint16_t *rough);
  /* 0 free, 1 seed, 2 + label kept: means are those of the labels. */
  void (*keep) (const uint32_t *color, const uint32_t *before, const uint32_t *mean, const uint32_t *label,
      const uint8_t *seed, int n, const uint32_t threshold[3], uint32_t *kind);
  /* a[x] != b[x]; returns whether any is. */
  bool (*differ) (const uint32_t *a, const uint32_t *b, int n, uint8_t *differs);
  /* The first round: what free cells pick; the root of others. `first` is the first cell's place. */
  void (*pick) (const CfSgAround *at, uint32_t first, int n, uint32_t *picked);
  /* Which cells' neighbours to the right and below are of another region, unless
   * both have seeds or the same two touch to the left or above as well. */
  void (*grow) (const uint32_t *label, ptrdiff_t pitch, int n, uint8_t *right, uint8_t *below);
  /* Which cells have pixels that may go to another region: v is the row above or below. */
  bool (*mixed) (const uint32_t *label, const uint32_t *v, int n, uint8_t *mixed);
  /* Of each run (its first pixel << 16 | anything; it ends where the next begins)
   * the sums of the samples at each place of their group, in 4 words a run; of
   * samples of 1 [0] or 2 [1] bytes. */
  void (*sum_runs[2]) (const CfSgSamples *samples, const uint32_t *run, uint32_t n, uint32_t *sum);
} CfSgSimd;

extern const CfSgSimd cf_sg_simd_avx512bw, cf_sg_simd_avx2, cf_sg_simd_sse4_1, cf_sg_simd_baseline;

/* ---- colours, in integers of 32 bits ------------------------------------ */

static inline uint32_t
cf_sg_length (uint32_t p)
{
  const uint32_t y = p & 255, b = p >> 8 & 255, r = p >> 16 & 255;

  return y * y + b * b + r * r;
}

static inline uint32_t
cf_sg_distance (uint32_t p, uint32_t q)
{
  const int32_t y = (int32_t) (p & 255) - (int32_t) (q & 255), b = (int32_t) (p >> 8 & 255) - (int32_t) (q >> 8 & 255),
                r = (int32_t) (p >> 16 & 255) - (int32_t) (q >> 16 & 255);

  return (uint32_t) (y * y + b * b + r * r);
}

/* 131072 distance < threshold lengths, of numbers that need 35 bits: as both
 * sides are divided by 256 and the right one, in two halves, is rounded up. */
static inline bool
cf_sg_near (uint32_t distance, uint32_t lengths, uint32_t threshold)
{
  return distance << 9 < (threshold >> 8) * lengths + (((threshold & 255) * lengths + 255) >> 8);
}

static inline bool
cf_sg_rel (uint32_t p, uint32_t q, uint32_t threshold)
{
  return cf_sg_near (cf_sg_distance (p, q), cf_sg_length (p) + cf_sg_length (q), threshold);
}

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
