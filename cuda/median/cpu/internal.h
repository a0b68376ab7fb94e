/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * median/cpu/internal.h: the median filter's plan on the CPU, between plan.c (the
 * plan, its tasks, the history) and the variants that do the work. */
#ifndef CF_MEDIAN_CPU_INTERNAL_H
#define CF_MEDIAN_CPU_INTERNAL_H

#include "simd.h"
#include "median/networks.h"

#define CF_MEDIAN_MAX_DEPTH 15
#define CF_MEDIAN_MAX_LEVELS 3

typedef enum { CF_MEDIAN_DIRECT, CF_MEDIAN_NETWORK, CF_MEDIAN_HISTOGRAM, CF_MEDIAN_N_VARIANTS } CfMedianVariant;

/* A network as the inner loop runs it: per thread an arena with the samples of
 * a block of tiles, the slots, and the outputs. Samples lie in PARTS, part p of
 * a row holding every tile_w-th one from p on, so that the same sample of
 * neighbouring tiles is a vector. */
typedef struct {
  int tile_w, tile_h;
  int lanes;          /* tiles of a block */
  int fw, fh, extra;  /* footprint; what a part has beyond the lanes */
  CfMedianStep *steps;
  int n_steps;
  size_t out_at, arena_size; /* bytes */
  int max_cols;       /* outputs of a task along x */
  size_t part_pitch;  /* bytes of a part of a row of a task */
  int row_length;     /* samples of a row of a task, with the apron */
} CfMedianProgram;

typedef struct {
  int levels;
  struct {
    int bits, shift;
  } level[CF_MEDIAN_MAX_LEVELS];
  int wide;               /* which columns and sweep */
  int max_cols, max_rows; /* outputs of a task */
} CfMedianDigits;

/* A rectangle of outputs of one view, or a copy of it. */
typedef struct {
  uint8_t view;
  bool copy;
  bool flat; /* direct: all components of the plane at once */
  int x0, x1, y0, y1;
} CfMedianTask;

typedef struct {
  const CfMedianSimd *simd;
  CfMedianWindow win;
  int size;      /* class: 0, 1, 2 for numbers of 1, 2, 4 bytes */
  int bits;      /* of the numbers */
  int threshold;
  bool packed;
  CfMedianVariant variant;
  int preferred; /* CfMedianVariant, -1: whatever is best */
  CfMedianProgram program;
  CfMedianDigits digits;
  CfMedianTask *tasks;
  int n_tasks;
  uint8_t *scratch; /* scratch_size bytes a thread */
  size_t scratch_size;

  /* the last input frames, a ring */
  uint8_t *history;
  size_t frame_size;
  CfImage layout;
  int n_kept, newest;

  /* of the frame in work: [0] is the current one, then ever older */
  CfView in[CF_MEDIAN_MAX_DEPTH][CF_MAX_VIEWS], out[CF_MAX_VIEWS];
  int n_views;
} CfMedianCpu;

/* Each: prepare for the plan's window (CF_NO_MEMORY, CF_UNSUPPORTED) and set
 * the largest task; bytes of scratch; one task. */
CfCode cf_median_network_prepare (CfMedianCpu *m, CfStatus *status);
size_t cf_median_network_scratch (const CfMedianCpu *m);
void cf_median_network_task (const CfMedianCpu *m, const CfMedianTask *task, uint8_t *scratch);

void cf_median_histogram_prepare (CfMedianCpu *m);
size_t cf_median_histogram_scratch (const CfMedianCpu *m);
void cf_median_histogram_task (const CfMedianCpu *m, const CfMedianTask *task, uint8_t *scratch);

size_t cf_median_direct_scratch (const CfMedianCpu *m, int width);
void cf_median_direct_task (const CfMedianCpu *m, const CfMedianTask *task, uint8_t *scratch);

/* Takes `size` bytes off the front of scratch memory, aligned to a cache line. */
static inline void *
cf_take (uint8_t **scratch, size_t size)
{
  uint8_t *taken = *scratch;

  *scratch += (size + 63) & ~(size_t) 63;
  return taken;
}

#endif
