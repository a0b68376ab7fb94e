/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/running.h: the contract of the running background and of motion (temporal-method=running), and the part of
 * their plans that both backends share.
 *
 * All values are integers; / rounds towards zero, >> is a shift of a value that is not negative, [c] is 1 where c holds
 * and else 0, clamp (v, s) the nearest value to v in -s .. s. Frame 0 is the first one after the start or a reset.
 *
 * BLOCKS. The frame is divided into CELLS of 16 x 16 pixels from its first pixel on, H rows of W cells, and each cell
 * into BLOCKS of 4 x 4 pixels. Pixels of a block beyond the frame are equal to the nearest pixel of the frame; a block
 * without a pixel of the frame has x = 0 always. A pixel's samples are clamped as in median.h. The value x of a block
 * is the sum of its 16 luma samples >> (bits - 8), so that a level of 8 bits counts 16; in RGB formats (2 sum R + 5 sum
 * G + sum B) >> (bits - 5). What moves follows from these values alone, whatever apply-to says.
 *
 * A block has a background B, the value X that x had in the frame before, and a noise level V; a cell has the 16 bits
 * c1 and c2 (the blocks that counted in the last frame, and in the frame before), q (for how many frames it has stood
 * still), and whether it was a ghost in the frame before. The frame has a floor G, and lit. In frame 0 B = X = x, V =
 * 256, all others 0, and nothing moves.
 *
 * 1. Changed blocks. d = x - B, t = |x - X|, T = max (112, V, G). A block is
 *      CHANGED if |d| > T,   RESTLESS if t > T,
 *      DISTINCT if max (lo - x, x - hi) > T, with lo and hi the least and the largest B in the 3 x 3 blocks around it,
 *      blocks beyond the frame left out: a small shift of the picture makes few blocks distinct.
 *    In a cell: L changed blocks, U restless ones, D distinct ones.
 * 2. Edges. Of a cell's 24 pairs of neighbouring blocks (a, b), the one to the left or above first, with
 *    Te = m + m / 4 + m / 8, m the larger T of the two, a pair is an EDGE THAT CHANGED if
 *      |(xb - xa) - (Bb - Ba)| > Te   and   |xb Ba - xa Bb| > Te max (16, min (Ba, Bb)):
 *    neither more light nor a larger gain explains it. E is their number in the cell. Y is a sum over
 *    the edges that changed with one changed block: + 1 where |xb - xa| > |Bb - Ba|, - 1 where |xb - xa| < |Bb - Ba|:
 *    a thing that came has edges at its border, a thing that went had some there. In cells with L < 2 both are 0.
 * 3. Tiles. The cells are divided into TILES of S x S from the first one on, S = max (2, (H + 3) / 7). The WINDOW of a
 *    tile is it and its up to eight neighbours. N = W H. In the frame:
 *      P = number of cells with L >= 2,   R = number of cells with D >= 2.
 *    ANEW if 5 P > 3 N: the picture is another one. Then B = x for all blocks; L, D, U and Y count as 0 below.
 *    LOOSE if not anew, 20 P > N and 2 R < P: the picture shakes, or something small disturbs it everywhere.
 *    A tile is SMOOTH if in its window the sum of L is at least 32 and more than 3 times the sum of E. Z = number of
 *    cells with L >= 2 in smooth tiles. Tiles are LIT if they are smooth and Z (lit > 0 ? 128 : 8) >= N, not anew.
 *    The DRIFT of a tile is (sum of clamp (d, 24)) / max (1, n), over the n blocks of its window that are not
 *    changed.
 *    Afterwards lit = 45 if 8 Z >= N, then lit = max (0, lit - 1); unchanged if anew. G = min (256, G + 8) if 50 times
 *    the sum of U (before it counts as 0) is more than 16 N, else G = max (0, G - 1).
 * 4. Cells. A cell COUNTS if L >= 2 and its tile is not lit; if loose, if D >= 2, lit or not.
 *    q = q + 1 if it counts and U < 2, else 0. It is a GHOST if q >= 6 and the sum of Y over the cells that count of
 *    the 3 x 3 around it is negative, or 0 where one of its up to eight neighbours was a ghost in the frame before. A
 *    ghost does not count any more (but still does for its neighbours' sums).
 *    k = the bits of its blocks that are changed (if loose, distinct); its blocks are bits 0 .. 15, row by row.
 *    It is SURE if it counts and k & c1 & c2 has at least 3 bits. Then c2 = c1, c1 = k if it counts, else 0.
 *    It MOVES if it counts, or if loose and L >= 2 and its tile is not lit and it is no ghost.
 * 5. Update; not if loose or anew. The blocks of a ghost, and of a cell with L >= 2 in a lit tile, TAKE: B = x.
 *    The changed blocks of a cell that counts HOLD: B = B + clamp (d, 1) + its tile's drift, but stays in 0 .. 4095.
 *    All others FOLLOW: B = B + clamp (d, 24). Then V = V + (V >> 4) + 2 if 7 t > 4 V, else V - (V >> 6) - 1;
 *    at least 16, at most 1280. X = x.
 *    If loose, all blocks hold, B and V stay, X = x. If anew, all take, V stays, X = x.
 *
 * MOTION. Groups are cells that touch, in one of eight directions. A group of cells that move is dropped if 16 times
 * the sum of its L is less than motion-min-area. A group of cells that count and were not dropped is CONFIRMED if it
 * has a sure cell, and if a quarter of its cells or more are sure. A cell is IN MOTION in a frame that leaves it
 * moving, and in motion-hold frames after that; its motion is confirmed in a frame that confirms
 * its group, and in motion-hold frames after that. Turning motion-meta on begins with no cell in motion. The regions of
 * a frame are its groups of cells in motion, in the order of their first cells, row by row: id 1, 2, ..., numbered anew
 * in each frame; age 0; the rectangle, the number and the mean position of the pixels of its cells; mean 0;
 * `confirmed`, the pixels of its cells whose motion is confirmed; `fresh`, the pixels of cells that this frame
 * confirms. Frame 0 and frames anew do not know what moves (CfRegions.unknown).
 *
 * OUTPUT. result: the frame as stored. The others need a background p of each filtered component, which begins with the
 * first frame whose output is not result, p = z with z its sample, clamped as in median.h. A sample belongs to the
 * block of its pixel (of the first one, where chroma is subsampled). Later, with u = 1 << (bits - 8): p = z where its
 * block takes, p = p + clamp (z - p, u) where it follows, and where it holds in frames whose number is a multiple of
 * 16. A block is MASKED if it is changed and its cell moves, or if one of the up to eight blocks around it is such a
 * block. A pixel MOVES if its block is masked and |z - p| > u (3 T >> 4) for its luma sample, or for its red, green or
 * blue one. With M = 2^bits - 1:
 *   background: p.   still: p where the block is masked, z elsewhere.   difference: |z - p| for luma, red, green, blue.
 *   mask: M for luma, red, green and blue of a pixel that moves, else 0.
 * Chroma of difference and mask is 2^(bits - 1), gray. Components that are not filtered are copied as stored.
 *
 * SCENE (CfScene). Of the pairs of blocks side by side in a cell (a left of b), 12 a cell, and Te of step 2: a pair has
 * a strong edge if |xb - xa| > Te; the background has one there if |Bb - Ba| > Te; they are the same if both are strong
 * and xb - xa and Bb - Ba have one sign. A block is equal if x = X, dark if x < 384, bright if x >= 3760. Only blocks
 * with pixels of the frame count; blocks is their number, mean the sum of x / blocks, lit whether 8 Z >= N in a frame
 * that is not anew. B, V and G are as before the update. In frame 0 all are 0.
 *
 * Interlaced frames are taken as a whole: a sample is compared with the one at its place. A stream of interlaced and
 * progressive frames has a state for each of the two.
 *
 * State: it begins anew with new caps, a flush, another apply-to, and where the CPU takes over. A discontinuity changes
 * nothing: what a camera sees stays the same where frames are lost. A plan takes new parameters with the next frame.
 *
 * Sources. Backgrounds and noise levels that follow by small steps: N. McFarlane and C. Schofield, "Segmentation and
 * tracking of piglets in images" (Machine Vision and Applications 8, 1995); A. Manzanera and J. Richefeu, "A robust and
 * computationally efficient motion detection algorithm based on sigma-delta background estimation" (2004). The rest was
 * found on drawn scenes, see docs/notes/motion.md. */
#ifndef CF_MEDIAN_RUNNING_H
#define CF_MEDIAN_RUNNING_H

#include "median.h"

CF_BEGIN_DECLS

#define CF_RUNNING_CELL 16 /* pixels */
#define CF_RUNNING_BLOCK 4

/* Constants of the contract, used by both backends. Levels count 16 in blocks. */
enum {
  CF_RUNNING_NEED = 2,    /* changed blocks of a cell that counts */
  CF_RUNNING_SURE = 3,    /* blocks that counted in three frames */
  CF_RUNNING_STILL = 6,   /* frames until a cell may be a ghost */
  CF_RUNNING_LEAST = 112, /* the least threshold */
  CF_RUNNING_FLOOR = 256, /* the largest G */
  CF_RUNNING_STEP = 24,   /* of B that follows */
  CF_RUNNING_NOISE = 256, /* V at first; its least and its largest value: */
  CF_RUNNING_NOISE_MIN = 16,
  CF_RUNNING_NOISE_MAX = 1280,
  CF_RUNNING_DARK = 384, /* below this and from that on */
  CF_RUNNING_BRIGHT = 3760,
};

/* What the backends report of a cell. */
enum {
  CF_RUNNING_CHANGED = 31, /* L */
  CF_RUNNING_MOVES = 32,
  CF_RUNNING_COUNTS = 64,
  CF_RUNNING_IS_SURE = 128
};

/* What happens to the background of a block. */
enum { CF_RUNNING_FOLLOW, CF_RUNNING_HOLD, CF_RUNNING_TAKE };

/* Sums of a tile or of its window. */
typedef struct {
  int changed, edges, restless, cells, distinct; /* L; E; U; cells with L >= 2; with D >= 2 */
  int drift, steady;                             /* sum and number of the blocks that are not changed */
} CfRunningSums;

/* What changes from frame to frame for all blocks. */
typedef struct {
  int floor, lit; /* G, lit */
} CfRunningLevel;

/* What follows from the tiles of a frame. */
typedef struct {
  bool anew, loose, lights; /* lights: smooth tiles are lit */
} CfRunningMode;

/* What a plan knows of a stream, besides what is known of samples and blocks. */
typedef struct {
  bool begun;     /* there was a frame 0 */
  bool has_back;  /* p has begun */
  uint64_t frame; /* its number */
  CfApplyTo apply_to;

  int width, height;          /* of the frame */
  int columns, rows, n_cells; /* cells */
  int real_x, real_y;         /* blocks that have pixels of the frame, side by side and one below the other */
  int tile, tiles_x, tiles_y; /* S; tiles */
  bool fresh;                 /* the cells of the last frame are not in `left` yet */
  int *left,
      *sure_left; /* one behind the other: frames for which a cell stays in motion, and confirmed, this one included */
  int *parent, *pixels; /* scratch: groups of cells; a number for each group */
  CfRegion *region;
  unsigned n_regions;
} CfRunning;

/* A frame, for a backend. */
typedef struct {
  bool first;  /* frame 0 */
  bool begins; /* p begins */
  bool back;   /* p is needed */
  int output;  /* CfMedianOutput */
  int step;    /* of p where it follows; and where it holds: */
  int hold;
} CfRunningFrame;

/* Sets up the CfRunning with which the plan's state begins. */
CfCode cf_running_init (CfPlan *plan, CfStatus *status);
/* Prepare for a frame, for new parameters, and for a new stream. */
CfRunningFrame cf_running_frame (CfPlan *plan);
CfCode cf_running_update (CfPlan *plan, CfStatus *status);
void cf_running_reset (CfPlan *plan);
void cf_running_free (CfPlan *plan);
/* Finds the regions of the last frame. `cell`: what is reported of its n_cells cells. */
void cf_running_regions (CfPlan *plan, const uint16_t *cell, const CfScene *scene, CfRegions *regions);
/* Returns the views of an image for the running method: whole frames. */
int cf_running_views (const CfPlan *plan, const CfImage *image, CfView views[CF_MAX_VIEWS]);
/* Returns whether the rows of all planes have only samples, so that they can be copied as bytes. Rows of YUY2 and UYVY
 * with odd widths have more. */
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
