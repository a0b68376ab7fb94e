/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/motion.h: which blocks and cells of a frame move, on the CPU (steps 1 to 5 of median/running.h).
 *
 * Thread-safety: one thread at a time uses a CfMotion; its work is spread over the library's threads. */
#ifndef CF_MEDIAN_CPU_MOTION_H
#define CF_MEDIAN_CPU_MOTION_H

#include "median/running.h"
#include "simd.h"

/* What is known of a cell in a frame. */
typedef struct {
  uint16_t changed, apart; /* bits of the blocks that are changed, distinct; set where L >= 2 */
  uint8_t n_changed, n_restless, n_distinct, edges;
  int8_t balance; /* Y */
  int16_t drift;
} CfMotionCell;

/* What is kept of a cell. */
typedef struct {
  uint16_t mask[2];      /* c1, c2 */
  uint8_t still;         /* q, up to CF_RUNNING_STILL */
  bool ghost, was_ghost; /* in this frame, and in the one before */
} CfMotionPast;

typedef struct {
  const CfRunning *r;
  const CfMedianSimd *simd;
  int blocks_x, blocks_y;              /* blocks; a row of blocks has blocks_x values */
  uint16_t *x, *before, *back, *noise; /* x, X, B, V of each block */
  uint8_t *flags;                      /* of each block: 1 changed, 2 restless */
  CfMotionPast *past;                  /* of each cell */
  CfMotionCell *cell;
  CfRunningSums *tile, *window;
  CfMedianSurvey *survey; /* of each row of cells */
  CfScene scene;
  CfRunningLevel level;
  uint16_t *state; /* of each cell, see cf_running_regions */

  /* For outputs other than result: of each block, its CF_RUNNING_FOLLOW, _HOLD or _TAKE, CF_MOTION_MASKS where it is
   * changed in a cell that moves, and 3 T >> 4 above CF_MOTION_LEVEL bits. */
  uint16_t *block;

  /* of the frame */
  int threshold_least; /* max (CF_RUNNING_LEAST, G) */
  bool first, wants_blocks;
  bool lights;        /* smooth tiles are lit */
  int n_colors, size; /* views that decide: the first 1 or 3; bytes of a sample - 1 */
  int shift;          /* of a block's sum */
  const CfView *in;
  uint8_t *scratch; /* scratch_size bytes per thread */
  size_t scratch_size;
} CfMotion;

#define CF_MOTION_MASKS 4
#define CF_MOTION_LEVEL 8

CfCode cf_motion_init (CfMotion *m, const CfRunning *r, const CfFormatInfo *info, CfStatus *status);
void cf_motion_free (CfMotion *m);
/* Takes a frame, whose first views decide. */
void cf_motion_frame (CfMotion *m, const CfView *in, const CfRunningFrame *frame);

#endif
