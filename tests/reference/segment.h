/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment/segment.h: the naive segmentation, in two halves: labels
 * (segment.c), and what is painted and told of them
 * (segment_paint.c). segment_known.c holds it against cases
 * worked out by hand, segment_cases.c says with what it is tried. */
#ifndef TESTS_REFERENCE_SEGMENT_H
#define TESTS_REFERENCE_SEGMENT_H

#include "check/kernelcheck.h"

typedef struct {
  int c[3];
} SgColor;

/* A picture and the parameters, as the contract's step 1 to 4 work them out. */
typedef struct {
  int width, height, size, columns, rows;
  int bits, n_components; /* without alpha: 1 or 3 */
  bool rgb;
  int w_sub[3], h_sub[3];
  KcPlane plane[3];
  double seed_threshold, merge_threshold, weak_difference, weak_fraction, temporal;
  bool similarity;
  uint32_t min_cells;
  int max_regions;
  int n_seeds;
  const int *seeds; /* cells */
} SgSetup;

typedef struct {
  SgColor mean;
  uint32_t id, birth;
} SgRegion;

/* What a frame leaves to the next. All zero: nothing. */
typedef struct {
  int n_cells, columns, size, n_regions;
  uint32_t frame, next_id;
  SgColor *p; /* of each cell */
  int *label; /* of each cell: the index of its region */
  SgRegion *region;
} SgState;

/* Segments one frame; `after` is to be freed. false: memory is out. */
bool sg_segment (const SgSetup *setup, const SgState *before, SgState *after);
void sg_state_free (SgState *state);
/* Step 11: the index of a pixel's region. */
int sg_pixel_label (const SgSetup *setup, const SgState *state, int x, int y);
/* Full range BT.601, 8 bits. */
SgColor sg_ycbcr (SgColor rgb);
/* Cases worked out by hand; how many of them failed. */
int sg_check (void);

extern const KcContent sg_contents[];
extern const int sg_n_contents;
extern const char *const sg_settings[], *const sg_frame_settings[], *const sg_large_settings[];
extern const char *const sg_sanitize_settings[], *const sg_bad_settings[];
extern const int sg_more_sizes[][2];
/* Random parameters as text. */
void sg_random (char *text, size_t size, uint64_t *state);
/* Turns the words that segment_cases.c explains into parameters; NULL where
 * there are none. To be freed. */
char *sg_expand (const char *text);

#endif
