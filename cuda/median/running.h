/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/running.h: the contract of the running median and of motion (temporal-method=running), and the part of their
 * plans that both backends share.
 *
 * Background. Each filtered component has a background B of its own size. With x(t) a sample of frame t (clamped as in
 * median.h), frame 0 the first one after the start or a reset, and clamp (v, s) the nearest value to v in -s .. s:
 *   B(0) = x(0)
 *   B(t) = B(t - 1) + clamp (x(t) - B(t - 1), s(t))
 * s(t) is the same for all samples of a frame. With M = 2^bits - 1 the largest sample value:
 *   a(0) = 0,   a(t) = a(t - 1) + floor (rate 2^24 + 1/2) M
 *   s(t) = floor (a(t) / 2^24) - floor (a(t - 1) / 2^24)
 * So B moves by rate M levels a frame on average, and has reached what stays after 1 / rate frames. It converges to the
 * median over time. A new rate counts from the next frame on; rate 0 stops the background.
 *
 * Motion. d = |x(t) - B(t)| of a sample; T = threshold, or floor (2^bits / 16) where the threshold is 0. A pixel MOVES
 * if d > T for its luma sample, or for its red, green or blue one. Chroma does not decide, so with apply-to=chroma no
 * pixel moves.
 *
 * Output. result: the frame as stored. background: B. difference: d for luma, red, green and blue. mask: M for luma,
 * red, green and blue of a pixel that moves, else 0. Chroma of difference and mask is 2^(bits - 1), gray. Components
 * that are not filtered are copied as stored.
 *
 * Cells. The frame is divided into CELLS of 16 x 16 pixels from its first pixel on; those at the right and at the
 * bottom may be smaller. A cell is ACTIVE if at least one eighth of its pixels move. Cells touch if they are neighbours
 * in one of eight directions. Of groups of touching active cells those with fewer moving pixels than motion-min-area,
 * counted in their cells, are dropped. A cell is IN MOTION in a frame that leaves it active, and in motion-hold frames
 * after that; turning motion-meta on begins with no cell in motion. The regions of a frame are its groups of touching
 * cells in motion, in the order of their first cells, row by row: id 1, 2, ..., numbered anew in each frame; age 0; the
 * rectangle, the number and the mean position of the pixels of its cells; mean 0.
 *
 * Interlaced frames are taken as a whole: samples are compared with those at the same place. A stream of interlaced and
 * progressive frames has a background for each of the two.
 *
 * State: background and cells begin anew with new caps, a flush, another apply-to, and where the CPU takes over. A
 * discontinuity changes nothing: what a camera sees stays the same where frames are lost. A plan takes new parameters
 * with the next frame.
 *
 * Source. N. McFarlane and C. Schofield, "Segmentation and tracking of piglets in images" (Machine Vision and
 * Applications 8, 1995). */
#ifndef CF_MEDIAN_RUNNING_H
#define CF_MEDIAN_RUNNING_H

#include "median.h"

CF_BEGIN_DECLS

#define CF_RUNNING_CELL 16

/* What a plan knows of a stream, besides the background. */
typedef struct {
  uint64_t carry; /* the fraction of a(t), 24 bits */
  bool begun;
  bool compares; /* the last frame was compared with earlier ones */
  CfApplyTo apply_to;

  int width, height;    /* of the frame */
  int columns, rows;    /* cells */
  int pitch;            /* counts in a row of cells: columns, rounded up to a multiple of 4 */
  bool fresh;           /* the counts of the last frame are not in `left` yet */
  int *left;            /* frames for which a cell stays in motion, this one included */
  int *parent, *pixels; /* scratch: groups of cells; moving pixels of a group */
  CfRegion *region;
  unsigned n_regions;
} CfRunning;

/* A frame's s(t) and T. The first frame has s = M. */
typedef struct {
  int step, threshold;
} CfRunningFrame;

/* Sets up the CfRunning with which the plan's state begins. */
CfCode cf_running_init (CfPlan *plan, CfStatus *status);
/* Prepare for a frame, for new parameters, and for a new stream. */
CfRunningFrame cf_running_frame (CfPlan *plan);
CfCode cf_running_update (CfPlan *plan, CfStatus *status);
void cf_running_reset (CfPlan *plan);
void cf_running_free (CfPlan *plan);
/* Returns the number of counts of a frame: `rows` rows of `pitch`. */
size_t cf_running_counts (const CfRunning *r);
/* Finds the regions of the last frame from the moving pixels of its cells. */
void cf_running_regions (CfPlan *plan, const uint16_t *count, CfRegions *regions);
/* Returns the views of an image for the running method: whole frames. */
int cf_running_views (const CfPlan *plan, const CfImage *image, CfView views[CF_MAX_VIEWS]);
/* Returns whether the rows of all planes have only samples, so that they can be copied as bytes: not those of YUY2 and
 * UYVY with odd widths. */
bool cf_running_rows_are_full (const CfPlan *plan);
/* Sets the place of the background of each filtered view, in bytes, and the bytes from row to row, which are a multiple
 * of 64. Returns the bytes of all. */
size_t cf_running_layout (const CfPlan *plan, size_t offset[CF_MAX_VIEWS], size_t pitch[CF_MAX_VIEWS]);

/* What the median is with temporal-method=running (CfFilter.method). */
extern const CfFilter cf_running;
extern const CfOps cf_running_cpu;
extern const CfOps cf_running_cuda; /* only in a build with CUDA */

CF_END_DECLS
#endif
