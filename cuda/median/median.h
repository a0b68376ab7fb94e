/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/median.h: the contract of the median and rank filter.
 *
 * Window. The window of output sample (x, y) of a component has the samples
 *   (x + i, y + j, t - s)   -w/2 <= i <= w/2,  -h/2 <= j <= h/2,  0 <= s < N
 * of the same component of the same field, w and h odd, of the current input frame t and the N - 1 frames before it:
 * n = w h N samples. Coordinates outside the frame are clamped to it (border replicate); until N frames have come, the
 * oldest one stands for the missing ones.
 * With temporal-center the window has the frames t - s of -k <= s <= k, k = (N - 1) / 2, in place of those: frame t and
 * k frames on either side of it. The first frame of a stream stands for those before it, and the last one for those
 * after it. A plan sees later frames only if its caller takes them into the history before it filters frame t (CfFrame,
 * with CfTraits.ahead = k).
 *
 * Result. Of the n samples in ascending order, counted from 0, the result is sample number
 *   r = (2 p (n - 1) + 100) / 200     (integer division), p = percentile;
 * p = 50 gives the median, 0 the minimum, 100 the maximum.
 * Threshold. Let x be the input sample, of frame t. The output is the result if
 * |x - result| > threshold, else x. Where neither a window of one sample nor a threshold of at least the format's
 * largest value can change a frame, and there is no history to keep, an element passes its buffers on.
 *
 * Samples. 8 and 16 bit as stored. 10 and 12 bit: values above 1023 or 4095 count as that (an x that is kept is written
 * clamped, too). P010 stores value << 6, P012 value << 4: the low bits are ignored on load and 0 on store. Components
 * that are not filtered (alpha, padding, those that apply-to leaves out) are copied as stored.
 *
 * color-order packed (RGB formats of 8 bit only): a pixel is the number
 * (R << 16) | (G << 8) | B. Windows are sorted by this number, and the result is that whole pixel; it replaces the
 * input pixel if any of its channels differs by more than the threshold. It needs apply-to all, and is a bad value for
 * YUV and gray formats.
 *
 * | parameter | unit, range | takes effect |
 * | kernel-size | samples, odd 1..255 (3) | next frame |
 * | kernel-width, kernel-height | samples, 0 or odd 1..255 (0 = kernel-size) | next frame |
 * | percentile | %, 0..100 (50) | next frame |
 * | threshold | sample value, 0..65535 (0) | next frame |
 * | temporal-depth | frames, odd 1..63, up to 15 unless w = h = 1 (1) | next frame; the history starts anew |
 * | temporal-center | false, true (false) | next frame; the history starts anew |
 * | color-order | per-channel, packed (per-channel) | next frame; the history starts anew, as with apply-to |
 * | temporal-method | window, running (window) | next frame; the history starts anew |
 * | output | result, background, difference, mask, still (result) | next frame |
 * | motion-meta | false, true (false) | next frame |
 * | motion-min-area | pixels, 0..268435456 (0) | next frame |
 * | motion-hold | frames, 0..10000 (10) | next frame; cells in motion stay so for as many frames at most |
 * | zones | text: "name: x,y x,y x,y; ...", fractions of the frame | next frame |
 * | min-age | frames, 0..10000 (0) | next frame |
 * | tamper | false, true (false) | next frame |
 *
 * The above is temporal-method=window. The running method, whose contract is running.h, takes the parameters from
 * output on, and no other; zones, min-age and tamper are for the element's messages.
 *
 * Order statistics are exact integers, so every variant on either backend gives the same bytes.
 *
 * Sources. Selection networks by hierarchical tiling: L. Sugy, "Fast median filters using hierarchical tiling" (arXiv
 * 2507.19926); A. Adams, "Fast median filters using separable sorting networks" (SIGGRAPH 2021). Merging networks: K.
 * Batcher, "Sorting networks and their applications" (1968). Counting under thresholds with running sums: the
 * threshold decomposition of rank filters (Fitch, Coyle, Gallagher 1984) as a binary search. */
#ifndef CF_MEDIAN_MEDIAN_H
#define CF_MEDIAN_MEDIAN_H

#include "core/filter.h"

CF_BEGIN_DECLS

typedef enum { CF_MEDIAN_PER_CHANNEL, CF_MEDIAN_PACKED } CfMedianColorOrder;
typedef enum { CF_MEDIAN_WINDOW, CF_MEDIAN_RUNNING } CfMedianMethod;
typedef enum {
  CF_MEDIAN_RESULT,
  CF_MEDIAN_BACKGROUND,
  CF_MEDIAN_DIFFERENCE,
  CF_MEDIAN_MASK,
  CF_MEDIAN_STILL
} CfMedianOutput;

typedef struct {
  int kernel_size, kernel_width, kernel_height;
  int percentile;
  int threshold;
  int temporal_depth, temporal_center;
  int color_order;     /* CfMedianColorOrder */
  int temporal_method; /* CfMedianMethod */
  int output;          /* CfMedianOutput */
  int motion_meta, motion_min_area, motion_hold;
  char *zones;
  int min_age;
  int tamper;
} CfMedianParams;

/* The most frames of a window, and of one with more than a sample of each. */
#define CF_MEDIAN_MAX_DEPTH 63
#define CF_MEDIAN_MAX_WINDOWS 15

/* A window: sides in samples, frames, number of samples, wanted rank. */
typedef struct {
  int w, h, depth;
  int n;     /* w h depth */
  int rank;  /* counted from 0 */
  int ahead; /* how many of the frames come after the one that is filtered */
} CfMedianWindow;

/* Returns the window of valid parameters. Thread-safe. */
CfMedianWindow cf_median_window (const CfMedianParams *params);

extern const CfFilter cf_median;
extern const CfOps cf_median_cpu;
extern const CfOps cf_median_cuda; /* only in a build with CUDA */

CF_END_DECLS
#endif
