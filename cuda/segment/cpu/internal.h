/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment/cpu/internal.h: the segmentation's plan on the CPU, between plan.c (the
 * plan and its memory), seeds.c (steps 1 to 4: cells, components),
 * grow.c (5 and 6), merge.c (7 to 10),
 * pixels.c (11) and paint.c (12).
 *
 * Cells have PLACES: row by row, with a cell more at either end of a row and a
 * row above and below, which are outside; so a place is (row + 1) pitch + column + 1
 * and the places' order is that of the cells' numbers. Jobs are STRIPS, rows of
 * cells, as many whatever the number of threads. */
#ifndef CF_SEGMENT_CPU_INTERNAL_H
#define CF_SEGMENT_CPU_INTERNAL_H

#include "simd.h"

#define CF_SG_STRIP 16 /* rows of cells */
#define CF_SG_SLICES 16 /* at most so many parts of the picture are summed by themselves */
#define CF_SG_NEVER UINT64_MAX
#define CF_SG_LEAVE 0xffffu /* of a run: nothing is painted */

/* Cells of a row, one beside the other, that are of one kind. Numbers of runs
 * are in the order of the places, those of a strip begin with its first place. */
typedef struct {
  uint16_t from, to; /* columns */
  uint32_t kind;
} CfSgRun;

typedef struct {
  uint32_t first, end;
} CfSgRange;

typedef struct {
  uint64_t cells, sum[3];
} CfSgSum;

typedef struct {
  uint16_t from, to;
} CfSgGap;

/* What rounds ask a region for. */
typedef struct {
  uint64_t best; /* the pick: distance << 32 | region */
  uint32_t next; /* the region that it is part of, itself if none */
  uint32_t tone; /* mean */
} CfSgNode;

/* Seeds, or kept cells, that touch. */
typedef struct {
  CfSgSum sum;
  uint32_t kind, root, mean;
  bool free; /* a fragment: its cells are free again */
  uint64_t claim;
} CfSgComponent;

/* Two regions that touch, by their numbers. */
typedef struct {
  uint32_t a, b;
} CfSgEdge;

/* Pairs of touching cells of two regions: how many, how many of them weak. */
typedef struct {
  uint32_t a, b;
  uint32_t pairs, weak;
} CfSgBorder;

/* How samples of a plane are painted. */
typedef enum {
  CF_SG_COPY,  /* not at all */
  CF_SG_FILL,  /* all bytes of a group, which is one pixel's samples */
  CF_SG_BLEND, /* those of mask; groups of 4 bytes */
  CF_SG_APART, /* each component by itself */
} CfSgPainting;

typedef struct {
  CfSgPainting painting;
  int group;     /* bytes */
  uint32_t mask;
  int w_sub, h_sub; /* w_sub: where it is the same for all */
  bool uneven;   /* its components are not subsampled alike */
} CfSgPlane;

typedef struct {
  const CfSgSimd *simd;
  CfVideo video;  /* as a progressive one: a frame is segmented as a whole */
  CfSegmentSetup setup; /* its seeds are places, in order */
  const CfFormatInfo *info;
  int n_colors;   /* components that count, 1 or 3 */
  CfSgPlane plane[CF_MAX_PLANES];
  bool painted;   /* some component is */
  CfView in[CF_MAX_VIEWS]; /* of the frame in work */
  const CfImage *in_image, *out_image;

  size_t pitch, places;
  int n_strips;
  void *memory;   /* of the cells, all that follows */
  uint32_t *color[2], *label[2]; /* [now]: this frame's; the other: the one before's, whose labels are indices */
  int now;
  uint32_t *mean, *root; /* of each cell's region; root then becomes the number of the region that begins there */
  uint32_t *picked;      /* of each cell the place of its region's root */
  CfSgRun *run;
  uint32_t *joined;      /* runs that are one component: a run before */
  CfSgRange *row_runs;   /* of each row */
  CfSgGap *gap;          /* runs of free cells: those of a row begin at its first place */
  uint32_t *row_gaps, *row_first; /* how many; the number of the first region that begins in a row */
  CfSgComponent *component; /* in the memory of border, as are rough and edge: one after the other */
  uint32_t n_components;
  uint16_t *rough;
  int roughest, threshold;

  /* regions, numbered by their roots */
  uint32_t n_regions;
  CfSgSum *sum;
  CfSgNode *node;
  uint64_t *claim;       /* cells of the largest old component << 32 | ~its index; 0: none */
  uint32_t *live, n_live, *touched, n_touched;
  bool *is_touched, any; /* any: there was a pick */
  CfSgBorder *border, *sorted;
  CfSgEdge *edge;
  CfSgRange *strip_edges; /* of each strip, where its edges, or its borders, are */
  uint32_t n_borders;

  /* the result and what the next frame needs */
  uint32_t n_found, n_before;
  uint32_t *found_mean[2], *found_id[2], *found_birth[2], *largest;
  uint32_t frame, next_id;
  bool follows;          /* this frame follows the one before */
  bool has_state;

  /* pixels */
  void *pixel_memory;
  uint64_t pixel_bytes;
  int n_slices;
  uint32_t most;         /* regions that there can be */
  CfSegmentRegion *region; /* n_slices times `most` */
  uint32_t *palette[4];  /* of each region, by plane or (CF_SG_APART) component */
  uint32_t *pixel_run;   /* x << 16 | region; those of a strip of rows of cells begin with its first pixel's number */
  size_t *row_pixel_run; /* where those of a row begin, and end */
  bool has_runs;         /* of this frame */
  uint16_t *label_map;
  CfRegion *told;
  bool is_told;          /* of the last frame the regions are known */

  uint8_t *scratch;
  size_t scratch_size;   /* a thread's */
} CfSgCpu;

/* ---- helpers ------------------------------------------------------------- */

typedef void (*CfSgJob) (CfSgCpu *m, int job, uint8_t *scratch);
/* Runs jobs 0 .. n - 1 on the threads there are. */
void cf_sg_run (CfSgCpu *m, int n, CfSgJob job);

static inline size_t
cf_sg_place (const CfSgCpu *m, int row)
{
  return (size_t) (row + 1) * m->pitch + 1;
}

static inline int
cf_sg_strip_end (const CfSgCpu *m, int strip)
{
  return (strip + 1) * CF_SG_STRIP < m->setup.rows ? (strip + 1) * CF_SG_STRIP : m->setup.rows;
}

/* The first x that has its flag, from x on; n where none has. Flags are read a
 * few bytes beyond n. */
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

/* The quotients in floating point are exact: see divide () in simd.c. */
static inline uint32_t
cf_sg_mean (const CfSgSum *s)
{
  const double n = (double) s->cells, half = (double) (s->cells / 2);

  return (uint32_t) (int32_t) (((double) (int64_t) s->sum[0] + half) / n)
      | (uint32_t) (int32_t) (((double) (int64_t) s->sum[1] + half) / n) << 8
      | (uint32_t) (int32_t) (((double) (int64_t) s->sum[2] + half) / n) << 16;
}

/* ---- the steps ----------------------------------------------------------- */

void cf_sg_find_components (CfSgCpu *m); /* 1 to 4 */
void cf_sg_grow (CfSgCpu *m);            /* 5 and 6 */
void cf_sg_merge (CfSgCpu *m);           /* 7 to 10 */
void cf_sg_find_pixels (CfSgCpu *m, bool count); /* 11; with or without the sums of regions */
void cf_sg_paint (CfSgCpu *m);           /* 12 */

/* A round, once the live regions have their picks: joins them; false if
 * there were none. Live ones are all that may pick. What was a region before is
 * now part of its node's next. */
bool cf_sg_join (CfSgCpu *m);
/* The part of it that follows once next is known. */
void cf_sg_gather_live (CfSgCpu *m);
/* Numbers the regions that are left, and the cells' labels, anew, in the same order. */
void cf_sg_renumber (CfSgCpu *m);

#endif
