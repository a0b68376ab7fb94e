/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convolve/cpu/tile.h: a task of the convolution on the CPU, between tile.c
 * (the sums) and samples.c (samples from the picture and back). */
#ifndef CF_CONVOLVE_CPU_TILE_H
#define CF_CONVOLVE_CPU_TILE_H

#include "internal.h"

/* Something of each of the last rows. */
typedef struct {
  uint8_t *data;
  size_t pitch;
  int rows;
} Ring;

typedef struct {
  const CfConvolveCpu *m;
  const CfConvolvePart *part;
  const CfRounding *rounding;
  CfConvolvePath path;
  int t;            /* bytes of a sample - 1 */
  bool at_once;     /* rounding goes with the last sums, and blending with it */
  int channels;
  int x0, y0, rows; /* outputs, in pixels */
  int cols;
  int n, n_in;      /* samples of a row of outputs, of inputs */
  Ring x;           /* inputs */
  Ring a, b;        /* what the path makes of them */
  CfTap *taps;
  CfPairTap *pair_taps;
  int32_t *s[2], *upper[2], *high[2]; /* sums of two rows of outputs */
  int64_t *wide;    /* sums of one */
  uint8_t *out;     /* n samples */
} Tile;

static inline void *
ring_row (const Ring *ring, int i)
{
  return ring->data + ring->pitch * (size_t) (i % ring->rows);
}

/* Row y of the picture's samples, which may lie outside, as plain numbers, with
 * what the kernel sees on both sides: n_in of them. */
void cf_tile_fetch (const Tile *tile, int y, uint8_t *row);
/* Where outputs of row y go: the picture itself, where nothing is left to do, or
 * tile->out, for cf_tile_store. */
void *cf_tile_target (const Tile *tile, int y);
/* What outputs of row y keep of the picture, where that is done at once. */
CfKeep cf_tile_kept (const Tile *tile, int y);
/* Outputs of row y from cf_tile_target to the picture. */
void cf_tile_store (const Tile *tile, int y, const uint8_t *row);
/* Sets n samples of t + 1 bytes to a value. */
void cf_tile_fill (void *row, int t, int n, int value);

#endif
