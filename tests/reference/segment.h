/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * reference/segment.h: the reference of the segmentation: labels (segment.c), painting and reported regions
 * (segment_paint.c), a check against cases worked out by hand (segment_known.c), and the settings and contents of its
 * test cases (segment_cases.c). */
#ifndef TESTS_REFERENCE_SEGMENT_H
#define TESTS_REFERENCE_SEGMENT_H

#include "check/kernelcheck.h"

typedef struct {
  int c[3];
} SgColor;

/* A frame and the parameters, resolved by steps 1 to 4 of the contract. */
typedef struct {
  int width, height, size, columns, rows;
  int bits, n_components; /* components without alpha: 1 or 3 */
  bool rgb;
  int w_sub[3], h_sub[3];
  KcPlane plane[3];
  double seed_threshold, merge_threshold, weak_difference, weak_fraction, temporal;
  bool similarity;
  uint32_t min_cells;
  int max_regions;
  int n_seeds;
  const int *seeds; /* cell numbers */
} SgSetup;

typedef struct {
  SgColor mean;
  uint32_t n, id, birth; /* n: cells */
} SgRegion;

/* The state that a frame leaves to the next. All zero: no state. */
typedef struct {
  int n_cells, columns, size, n_regions;
  uint32_t frame, next_id;
  SgColor *p;   /* of each cell */
  bool *listed; /* whether the cell is one of seeds */
  int *label;   /* index of the region of each cell */
  SgRegion *region;
} SgState;

/* Segments one frame with the state `before`, and fills `after`, which the caller frees with sg_state_free. */
void sg_segment (const SgSetup *setup, const SgState *before, SgState *after);
void sg_state_free (SgState *state);
/* Returns the index of the region of a pixel (step 11). */
int sg_pixel_label (const SgSetup *setup, const SgState *state, int x, int y);
/* Converts 8-bit RGB to 8-bit YCbCr, full range BT.601 (step 1). */
SgColor sg_ycbcr (SgColor rgb);
/* Checks the reference against cases worked out by hand; returns the number of failures. */
int sg_check (void);

extern const KcContent sg_contents[];
extern const int sg_n_contents;
extern const char *const sg_settings[], *const sg_frame_settings[], *const sg_large_settings[];
extern const char *const sg_sanitize_settings[], *const sg_bad_settings[];
extern const int sg_more_sizes[][2];
/* Appends random parameters. */
void sg_random (GString *text, uint64_t *state);
/* Replaces clicks=N (segment_cases.c) in a setting by the parameter `seeds`; NULL where the setting has no clicks=N. */
char *sg_expand (const char *text);

#endif
