/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/cpu/tile.h: a tile is the rectangle of outputs that one task makes. tile.c and fast_fir.c make its sums,
 * samples.c fetches samples and stores outputs. */
#ifndef CF_CONVOLVE_CPU_TILE_H
#define CF_CONVOLVE_CPU_TILE_H

#include "internal.h"

/* Data of the last `rows` rows; `pitch` in bytes. */
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
  int type;   /* of samples: 0 uint8_t, 1 uint16_t */
  bool fused; /* the loop that makes the last sums also rounds and blends them */
  int channels;
  int x0, y0, rows; /* the rectangle of outputs, in pixels */
  int cols;
  int n, n_in;        /* samples in a row of outputs, in a row of inputs */
  int before, inside; /* pixels of a row of inputs beyond the image's left side, and inside the image */
  bool direct;        /* rows need no conversion and no border but copies: a box sums columns out of the image */
  uint8_t *columns;   /* box: sums of columns, of 16 bits if n_narrow, else of 32 */
  Ring x;             /* rows of inputs */
  Ring a, b;          /* what the path makes of them: pairs, columns or sums */
  CfTap *taps;
  CfPairTap *pair_taps;
  int32_t *s[2], *upper[2], *high[2]; /* sums of two rows of outputs */
  int64_t *wide;                      /* sums of one row */
  uint8_t *out;                       /* n samples of one row */
} Tile;

static inline void *
ring_row (const Ring *ring, int i)
{
  return ring->data + ring->pitch * (size_t) (i % ring->rows);
}

/* Sets before, inside and direct. */
void cf_tile_place (Tile *tile);
/* Fetches n_in samples of row y, which may lie outside the image, as plain
 * numbers, with the kernel's margins on both sides. */
void cf_tile_fetch (const Tile *tile, int y, uint8_t *row);
/* Box: adds row i of the inputs to the columns and subtracts the row that leaves the window. */
void cf_tile_add_row (const Tile *tile, int i);
/* Returns where to write the outputs of row y: the output image, if they need no
 * further step, or tile->out, from which cf_tile_store stores them. */
void *cf_tile_output (const Tile *tile, int y);
/* Returns the bytes that row y of the outputs keeps of the input, for fused loops; else none. */
CfKeep cf_tile_keep (const Tile *tile, int y);
/* Stores the outputs of row y, which are in `row`, if that is tile->out; else they are in the image already. */
void cf_tile_store (const Tile *tile, int y, const uint8_t *row);
/* Copies rows y0 .. y1 - 1 of a part to the output image, or sets them to the middle value. */
void cf_tile_copy_rows (const CfConvolveCpu *m, const CfConvolvePart *part, int y0, int y1);
void cf_tile_fill_mid_rows (const CfConvolveCpu *m, const CfConvolvePart *part, int y0, int y1);
/* Sets n samples of a type to a value. */
void cf_tile_fill (void *row, int type, int n, int value);

#endif
