/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/internal.h: the median filter's plan on the CPU, shared by plan.c (the
 * plan, its tasks, the history) and the variants that filter. */
#ifndef CF_MEDIAN_CPU_INTERNAL_H
#define CF_MEDIAN_CPU_INTERNAL_H

#include "simd.h"
#include "median/networks.h"

typedef enum { CF_MEDIAN_DIRECT, CF_MEDIAN_NETWORK, CF_MEDIAN_HISTOGRAM, CF_MEDIAN_SORTED } CfMedianVariant;

/* A network as the inner loop runs it. Each thread has an arena with the samples of a block of neighbouring tiles, the
 * slots, and the outputs. Samples lie in PARTS: part p of a row holds every tile_w-th sample from p on, so that the
 * same sample of neighbouring tiles forms a vector. */
typedef struct {
  CfMedianWindow win; /* of which it is, w = 0: of none */
  size_t bytes;       /* of a value */
  int tile_w, tile_h;
  int lanes;  /* tiles of a block */
  int fw, fh; /* sides of a tile's footprint, samples */
  int extra;  /* samples of a part of a block beyond the lanes */
  int code;   /* index in CfMedianSimd.code, -1: the steps are run */
  CfMedianStep *steps;
  int n_steps;
  size_t out_at, arena_size; /* bytes */
  int max_cols;              /* outputs of a task along x */
  size_t part_pitch;         /* bytes of a part of a row of a task */
  int row_length;            /* samples of a row of a task, with the halo */
} CfMedianProgram;

/* A rectangle of outputs of one view, to be filtered or copied. */
typedef struct {
  uint8_t view;
  bool copy;
  bool flat; /* direct, compiled network: filters all components of the plane together */
  int x0, x1, y0, y1;
} CfMedianTask;

typedef struct {
  const CfMedianSimd *simd;
  const CfMedianSimd *stepper; /* of the network's steps: most vectors of 64 bytes would cross a cache line */
  CfMedianWindow win;
  int size; /* class of the values: 0, 1, 2 for 1, 2, 4 bytes */
  int bits; /* of a value */
  int threshold;
  bool packed;
  CfMedianVariant variant;
  CfMedianProgram program;
  int wide;     /* index of CfMedianSimd's columns, sweep and search: 1 for counts or positions of 16 bits, else 0 */
  int max_cols; /* histogram, sorted: outputs of a row of a task; sorted: and of a column */
  CfMedianTask *tasks;
  int n_tasks, max_tasks; /* max_tasks: for how many there is memory */
  int channels;           /* samples of a pixel of a flat task at most, 1 if there is none */
  uint8_t *scratch;       /* scratch_size bytes per thread */
  size_t scratch_size, allocated;

  /* the last input frames, in a ring: with win.ahead all of a window, else all but the one that is filtered */
  uint8_t *history;
  int n_slots;
  size_t frame_size;
  CfImage layout;
  int n_kept, newest; /* frames in the ring, slot of the newest */

  /* views of the window's frames, the one that is filtered first, and of the output */
  CfView in[CF_MEDIAN_MAX_DEPTH][CF_MAX_VIEWS], out[CF_MAX_VIEWS];
  int n_views;
} CfMedianCpu;

/* Each variant has _scratch, which returns the bytes of scratch memory that a task needs, and _task, which filters one
 * task; tasks of a plan may run in different threads at once, each with its own scratch memory. */
size_t cf_median_direct_scratch (const CfMedianCpu *m);
void cf_median_direct_task (const CfMedianCpu *m, const CfMedianTask *task, uint8_t *scratch);
size_t cf_median_network_scratch (const CfMedianCpu *m);
void cf_median_network_task (const CfMedianCpu *m, const CfMedianTask *task, uint8_t *scratch);
size_t cf_median_histogram_scratch (const CfMedianCpu *m);
void cf_median_histogram_task (const CfMedianCpu *m, const CfMedianTask *task, uint8_t *scratch);
size_t cf_median_sorted_scratch (const CfMedianCpu *m);
void cf_median_sorted_task (const CfMedianCpu *m, const CfMedianTask *task, uint8_t *scratch);

/* Makes the program for the plan's window. Fails with CF_NO_MEMORY, or with CF_UNSUPPORTED if the window is too large,
 * and then changes nothing; else the caller frees the program that it replaced. */
CfCode cf_median_network_prepare (CfMedianCpu *m, CfStatus *status);
/* Returns the index in CfMedianSimd.code of the plan's window, -1: it is not compiled. */
int cf_median_network_code (const CfMedianCpu *m);

/* Returns the first component's sample 0 of row 0 of the plane of `view`. */
uint8_t *cf_median_first (const CfView *views, int n_views, const CfView *view);

/* Writes the results of row y of a task, or the input where they differ by no more than the threshold. Changes `row`;
 * `input` has room for as much. */
void cf_median_write (const CfMedianCpu *m, const CfMedianTask *task, int y, void *row, void *input);

/* Takes `size` bytes from the front of scratch memory and advances `scratch` by whole cache lines. */
static inline void *
cf_median_take (uint8_t **scratch, size_t size)
{
  uint8_t *taken = *scratch;

  *scratch += (size + 63) & ~(size_t) 63;
  return taken;
}

#endif
