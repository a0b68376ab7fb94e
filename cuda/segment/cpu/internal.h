/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/cpu/internal.h: the CPU plan of the segmentation, shared by plan.c (the plan and its memory), seeds.c (steps
 * 1 to 4 of segment.h: cells, seeds, components), merge.c (5 to 10), pixels.c (11) and paint.c (12).
 *
 * Arrays of cells are PADDED: each row has one more entry at either end, and there is one more
 * row above and below; colours, means and labels of these entries are CF_SG_OUTSIDE. The padded
 * index of a cell is (row + 1) pitch + column + 1, so padded indices have the order of the cell
 * numbers of the contract, and loops need no test for the edge.
 *
 * Work is divided into STRIPS of CF_SG_STRIP_ROWS rows of cells, one task each; the strips do not
 * depend on the number of threads. Where pixels are added up, consecutive strips form SLICES, one
 * task each with its own sums, which are added afterwards: integers, so the result is the same. */
#ifndef CF_SEGMENT_CPU_INTERNAL_H
#define CF_SEGMENT_CPU_INTERNAL_H

#include "simd.h"

#define CF_SG_STRIP_ROWS 16      /* rows of cells */
#define CF_SG_MAX_SLICES 16      /* each takes memory for the sums of all regions */
#define CF_SG_NO_PICK UINT64_MAX /* CfSgNode.best of a region that picks none */
#define CF_SG_UNPAINTED 0xffffu  /* label of a run of pixels that are not painted */

/* A run: consecutive cells of a row that have the same kind (simd.h).
 * Free cells are in no run. Run numbers have the order of the cells; those of a strip begin with the padded index
 * of the strip's first cell. */
typedef struct {
  uint16_t from, to; /* columns from .. to - 1 */
  uint32_t kind;
} CfSgRun;

/* Entries first .. end - 1 of an array. */
typedef struct {
  uint32_t first, end;
} CfSgRange;

/* Number of cells, and the sums of their Y, Cb and Cr. */
typedef struct {
  uint64_t cells, sum[3];
} CfSgSum;

/* A run of free cells: columns from .. to - 1. */
typedef struct {
  uint16_t from, to;
} CfSgFreeRun;

/* What rounds read and write of a region. */
typedef struct {
  uint64_t best; /* the pick: distance or cost << 32 | region, or CF_SG_NO_PICK; in step 7 the perimeter first */
  uint32_t next; /* the region of which this one has become a part; itself if of none */
  uint32_t mean; /* the mean colour; during growth with CF_SG_SEEDED, during merging with CF_SG_MARKED */
} CfSgNode;

/* A component of step 4: seeds, or kept cells of one old region, that touch. */
typedef struct {
  CfSgSum sum;
  uint32_t kind, root, mean;
  bool free;      /* a fragment of fewer than M cells: its cells are free again */
  uint64_t claim; /* as CfSgCpu.claim */
} CfSgComponent;

/* Two regions that touch: region numbers. */
typedef struct {
  uint32_t a, b;
} CfSgEdge;

/* The border of two regions: the number of pairs of touching cells, and how many of these are weak; in merging the cost
 * of joining the two, and for how many k from 0 on their means are similar with N >> k (step 8), as far as was asked.
 */
typedef struct {
  uint32_t a, b;
  union {
    uint32_t pairs, cost;
  };
  union {
    uint32_t weak, alike;
  };
} CfSgBorder;

/* How the samples of a plane are painted. */
typedef enum {
  CF_SG_COPY,          /* no component is painted */
  CF_SG_FILL,          /* all bytes of a group; a group is the samples of one pixel */
  CF_SG_BLEND,         /* the bits of mask; groups of 4 bytes */
  CF_SG_PER_COMPONENT, /* one component after the other */
} CfSgPainting;

typedef struct {
  CfSgPainting painting;
  int group; /* bytes */
  uint32_t mask;
  int w_sub, h_sub; /* w_sub is only valid where the plane is not uneven */
  bool uneven;      /* components of the plane differ in w_sub (4:2:2 packed in one plane) */
} CfSgPlane;

typedef struct {
  const CfSgSimd *simd;
  CfVideo video;              /* interlaced is false: a frame is segmented as a whole */
  CfSegmentSetup setup, last; /* last: of the previous frame. Their seeds are padded indices here */
  const CfFormatInfo *info;
  int n_colors; /* components that count for colours: 1 or 3 */
  CfSgPlane plane[CF_MAX_PLANES];
  bool painted;            /* at least one component is painted */
  CfView in[CF_MAX_VIEWS]; /* of the current frame */
  const CfImage *in_image, *out_image;

  size_t pitch, n_padded; /* entries of a padded row, and of all */
  int n_strips;
  void *memory; /* holds all arrays below, up to `largest` */
  /* One entry a cell. [now] is of the current frame, [1 - now] of the previous one, whose labels are indices. */
  uint32_t *color[2], *label[2];
  int now;
  uint32_t *mean, *root; /* of the cell's region; root[i] later is the number of the region whose root is cell i */
  uint32_t *own;         /* own colours q, with the nearest cell's in the padding to the left and right */
  uint32_t *picked;      /* padded index of the root of the cell's region; later scratch by region */
  CfSgRun *run;
  uint32_t *run_parent;  /* union-find of runs: an earlier run of the same component; later the component */
  CfSgRange *row_runs;   /* the runs of each row */
  CfSgFreeRun *free_run; /* those of a row begin at the padded index of the row's first cell */
  uint32_t *row_free_runs, *row_first_region; /* of each row: number of free runs; first region with its root there */
  CfSgComponent *component; /* shares the memory of border with roughness and edge; used one after the other */
  uint32_t n_components;
  uint16_t *roughness;          /* r of step 3 */
  int max_roughness, threshold; /* R and Otsu's threshold of step 3 */

  /* regions, numbered in the order of their roots */
  uint32_t n_regions;
  CfSgSum *sum;
  CfSgNode *node;
  uint64_t *claim;              /* step 10: cells of the components << 32 | ~index of their old region; 0: none */
  uint32_t *live, n_live;       /* regions that may pick in the next round; scratch between the steps */
  uint32_t *touched, n_touched; /* regions to which this round adds others; scratch between the steps */
  bool *is_touched, any;        /* any: at least one region has picked */
  CfSgBorder *border, *sorted;
  CfSgEdge *edge;
  CfSgRange *strip_edges; /* of each strip: the range of its edges, of its borders, or of its list of cells */
  uint32_t n_borders, least;
  uint8_t *moved; /* flags the cells to which the last move of the borders gave another region */
  int move;       /* number of the current move */

  /* the result, and the state for the next frame: one entry a region */
  uint32_t n_found, n_before; /* regions of the current and of the previous frame */
  uint32_t *found_mean[2], *found_cells[2], *found_id[2], *found_birth[2];
  uint32_t *carrier;       /* of each old region the first component that continues it */
  uint32_t frame, next_id; /* frame: number of the current frame since the state began */
  bool use_state;          /* the current frame uses the state of the previous one */
  bool has_state;

  /* pixels */
  void *pixel_memory;
  uint64_t pixel_bytes;
  int n_slices;
  uint32_t region_capacity; /* upper limit of the number of regions */
  CfSegmentRegion *region;  /* n_slices x region_capacity; the first slice then has the totals */
  uint32_t *palette[4];     /* the words to paint, one a region: by plane, or (CF_SG_PER_COMPONENT) by component */
  /* Runs of pixels with the same label, x << 16 | region; the runs of a strip begin at the number of its first
   * pixel. row_pixel_run[2 y] and [2 y + 1] are where the runs of row y begin and end. */
  uint32_t *pixel_run;
  size_t *row_pixel_run;
  bool has_runs;       /* the current frame has runs */
  uint16_t *label_map; /* width x height; NULL without label-meta */
  CfRegion *report;
  bool has_report; /* region[] holds the sums of the last frame */

  uint8_t *scratch; /* scratch_size bytes for each thread */
  size_t scratch_size;
} CfSgCpu;

/* ---- tasks, rows, sums --------------------------------------------------- */

typedef void (*CfSgTask) (CfSgCpu *m, int task, uint8_t *scratch);
/* Runs tasks 0 .. n - 1 on all threads and returns when all are done. Each task gets the scratch memory of the
 * thread that runs it. */
void cf_sg_run (CfSgCpu *m, int n, CfSgTask task);

/* Returns the padded index of the first cell of a row; row -1 and row `rows` are the padding. */
static inline size_t
cf_sg_row_start (const CfSgCpu *m, int row)
{
  return (size_t) (row + 1) * m->pitch + 1;
}

/* Returns the row behind the last one of a strip. */
static inline int
cf_sg_strip_end (const CfSgCpu *m, int strip)
{
  return (strip + 1) * CF_SG_STRIP_ROWS < m->setup.rows ? (strip + 1) * CF_SG_STRIP_ROWS : m->setup.rows;
}

/* Returns the first column from x on whose flag is set, n if there is none. Reads up to 7 flags behind flag[n - 1]. */
static inline int
cf_sg_next (const uint8_t *flag, int x, int n)
{
  for (; x < n; x += 8) {
    uint64_t eight;

    __builtin_memcpy (&eight, flag + x, 8);
    if (eight) {
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
      x += __builtin_clzll (eight) >> 3;
#else
      x += __builtin_ctzll (eight) >> 3;
#endif
      return x < n ? x : n;
    }
  }
  return n;
}

static inline void
cf_sg_add (CfSgSum *to, const CfSgSum *from)
{
  to->cells += from->cells;
  for (int k = 0; k < 3; k++)
    to->sum[k] += from->sum[k];
}

static inline void
cf_sg_add_color (CfSgSum *to, uint32_t p)
{
  to->cells++;
  to->sum[0] += p & 255;
  to->sum[1] += p >> 8 & 255;
  to->sum[2] += p >> 16 & 255;
}

/* Returns the mean of step 4. The floating point quotients are exact: see divide () in simd.c. */
static inline uint32_t
cf_sg_mean (const CfSgSum *s)
{
  const double n = (double) s->cells, half = (double) (s->cells / 2);

  return (uint32_t) (int32_t) (((double) (int64_t) s->sum[0] + half) / n) |
      (uint32_t) (int32_t) (((double) (int64_t) s->sum[1] + half) / n) << 8 |
      (uint32_t) (int32_t) (((double) (int64_t) s->sum[2] + half) / n) << 16;
}

/* ---- the steps ----------------------------------------------------------- */

/* Each runs the steps of segment.h that its comment names, on the current frame. */
void cf_sg_find_components (CfSgCpu *m);             /* 1 to 4 */
void cf_sg_merge (CfSgCpu *m);                       /* 5 to 10 */
void cf_sg_find_pixels (CfSgCpu *m, bool need_sums); /* 11; need_sums: with the sums in region[] */
void cf_sg_paint (CfSgCpu *m);                       /* 12 */

#endif
