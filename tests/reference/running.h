/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * running.h: what the files of the running background's reference share. The names are those of the contract,
 * cuda/median/running.h. */
#ifndef TESTS_REFERENCE_RUNNING_H
#define TESTS_REFERENCE_RUNNING_H

#include "check/kernelcheck.h"

#define RN_CELL 16  /* side of a cell in pixels */
#define RN_BLOCK 4  /* side of a block in pixels */
#define RN_BLOCKS 4 /* side of a cell in blocks */

typedef enum { RN_FOLLOWS, RN_HOLDS, RN_TAKES } RnAction;

typedef struct {
  int B, X, V; /* of the frames before; the others are the frame's */
  int x, d, t, T;
  bool real; /* has pixels of the frame */
  bool changed, restless, distinct, masked;
  RnAction action;
} RnBlock;

typedef struct {
  unsigned c1, c2; /* of the frames before, as the next three */
  int q;
  int motion,
      confirmed; /* frames for which the cell stays in motion, and its motion confirmed, the last one included */
  int L, U, D, E, Y;
  unsigned k;
  bool candidate; /* counts, as long as it is no ghost */
  bool counts, ghost, was_ghost, sure, moves;
  bool fresh; /* this frame confirms its motion */
} RnCell;

typedef struct {
  bool smooth, lit;
  int drift;
} RnTile;

/* A stream. columns x rows cells. */
typedef struct {
  int columns, rows, side; /* side: S */
  RnBlock *block;
  RnCell *cell;
  RnTile *tile;
  uint64_t number; /* of the next frame */
  int lit, G;
  bool anew, loose, widely_lit;
  CfScene scene;
  KcPlane p[4];
} RnState;

/* What the sequences of a test must reach. */
typedef enum {
  RN_LIT,
  RN_LIT_AGAIN, /* by fewer cells, because the frame was lit before */
  RN_LOOSE,
  RN_LOOSE_COUNTS,
  RN_LOOSE_MOVES, /* a cell that does not count */
  RN_ANEW,
  RN_GHOST,
  RN_GHOST_BESIDE, /* a ghost before */
  RN_SURE,
  RN_CONFIRMED,
  RN_UNCONFIRMED, /* a group that has a sure cell, but too few */
  RN_DROPPED,
  RN_DRIFT,
  RN_DRIFT_DOWN,
  RN_TAKE,
  RN_HOLD,
  RN_HOLD_16, /* a background that moves while its block holds */
  RN_STRONGER_EDGE,
  RN_WEAKER_EDGE,
  RN_EDGE_BY_GAIN, /* one that a gain explains, but no offset */
  RN_FLOOR,        /* T = G */
  RN_LEAST_T,      /* T = 96 */
  RN_NOISE_UP,
  RN_NOISE_DOWN,
  RN_NOISE_MOST,
  RN_NOISE_LEAST,
  RN_LARGE_TILES,    /* S > 2 */
  RN_SEVERAL_TILES,  /* whose drifts differ */
  RN_MASK,           /* a pixel that moves */
  RN_MASKED_AT_REST, /* a pixel of a masked block that does not */
  RN_N_BRANCHES
} RnBranch;

/* How often each was reached since the program began. */
extern unsigned long rn_reached[RN_N_BRANCHES];

/* As KcFilter has them. */
void rn_filter (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params, void **state,
    const CfImage *in, const CfImage *out, KcRegions *regions);
void rn_free_state (void *state);
void rn_draw (const CfImage *image, int frame, uint64_t seed);
int rn_check (void);

#endif
