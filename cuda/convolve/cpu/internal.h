/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/cpu/internal.h: the state of a convolution plan on the CPU. plan.c fills it and cuts a frame into tasks,
 * tile.c runs a task, hide.c filters with the presets that hide. */
#ifndef CF_CONVOLVE_CPU_INTERNAL_H
#define CF_CONVOLVE_CPU_INTERNAL_H

#include "simd.h"

#include <string.h>

/* The variants that a user of the library can prefer by name, in measured order of speed. Each has one or more
 * arithmetic PATHS, which differ in the width of the integers that hold sums. */
typedef enum {
  CF_CONVOLVE_V_COPY,
  CF_CONVOLVE_V_HIDE,
  CF_CONVOLVE_V_MAGNITUDE,
  CF_CONVOLVE_V_BOX,
  CF_CONVOLVE_V_SEPARABLE,
  CF_CONVOLVE_V_FAST,
  CF_CONVOLVE_V_DIRECT,
  CF_CONVOLVE_V_SPLIT,
  CF_CONVOLVE_V_WIDE,
  CF_CONVOLVE_N_VARIANTS
} CfConvolveVariant;

typedef enum {
  CF_PATH_COPY,       /* copies words, or the samples of the gray plane */
  CF_PATH_BOX,        /* box: column sums in 16 or 32 bits, then sums of a few or running sums in 32 */
  CF_PATH_BOX_16,     /* box: all sums and the rounding in 16 bits */
  CF_PATH_SMALL,      /* box or separable, 3 x 3 or 5 x 5, 8 bit: both passes in 16 bits, in registers */
  CF_PATH_MAGNITUDE,  /* lengths of gradients */
  CF_PATH_ROWS_16,    /* separable: both passes and the rounding in 16 bits */
  CF_PATH_ROWS_BYTES, /* separable: the same for the upper and the lower bytes of 16-bit samples */
  CF_PATH_ROWS_PAIRS, /* separable: horizontal sums in 16 bits, vertical sums of products of pairs in 32 */
  CF_PATH_ROWS_32,    /* separable: both passes in 32 bits */
  CF_PATH_ROWS_SPLIT, /* separable: horizontal sums in 32 bits; vertical products of pairs for the upper and for the
                         lower halves of those sums, combined in 64 bits */
  CF_PATH_ROWS_64,    /* separable: horizontal sums in 32 bits, vertical sums in 64 */
  CF_PATH_FAST,       /* dense: products of pairs, fewer of them */
  CF_PATH_PAIRS,      /* dense: products of pairs, sums in 32 bits */
  CF_PATH_GROUPS,     /* dense: products of pairs in one or two groups of taps, combined in 64 bits */
  CF_PATH_SPLIT,      /* dense: products of pairs for upper and for lower bytes, combined in 64 bits */
  CF_PATH_WIDE,       /* dense: sums in 64 bits */
  CF_PATH_HIDE,       /* fill, mosaic, privacy: not in tiles but in hide.c */
} CfConvolvePath;

/* A non-zero tap of the kernel: row, column and weight. In paths of pairs j counts pairs of rows, and a weight holds
 * 16 bits for each of the two rows: weight[0] for the output whose window begins with the first row of a pair,
 * weight[1] for the output below it. */
typedef struct {
  uint8_t j, i;
  int32_t weight[2];
} CfConvolveTap;

/* Samples that share one action: one component of one field, the interleaved
 * channels of a plane, or R, G and B that become one gray plane. */
typedef struct {
  CfConvolveAction action;
  uint8_t view;        /* index into in[] and out[]; GRAY: the view of R */
  uint8_t channels;    /* interleaved in a row of samples */
  uint8_t step;        /* distance of neighbouring samples in the image, in samples */
  uint8_t pixel_step;  /* distance of pixels in the image, in samples */
  uint8_t kind;        /* CF_CONVOLVE_LUMA, CF_CONVOLVE_CHROMA */
  uint32_t keep;       /* mask of the bytes of a pixel that are copied from the input; 0: none */
  int width, height;   /* in pixels */
  int cols, rows;      /* of a task, in pixels */
  int n_cols, n_tasks; /* tasks side by side; all tasks */
} CfConvolvePart;

/* The components of one plane and field for hide.c, which takes the samples of a row as they lie there: those of a
 * plane of YUY2 are Y, Cb, Y, Cr. */
typedef struct {
  const uint8_t *in;
  uint8_t *out;
  size_t in_pitch, out_pitch;
  int first;          /* its views are those of first's plane and field */
  int samples, whole; /* in a row, and those before the last, incomplete pixel group: YUY2 of an odd width */
  int height, ny;     /* rows and rows of cells */
  bool filtered;      /* false: all of it is copied */
  uint32_t keep;      /* mask of the bytes of a pixel that are copied from the input; 0: none */
  uint32_t *cells;    /* for each row of cells: the sums of its columns, then 256 times the means (see between) */
} CfConvolveStrip;

typedef struct {
  const CfConvolveSimd *simd;
  CfFormat format;
  const void *params; /* of which c was made */
  CfConvolution c;
  CfConvolvePath path;
  CfRounding rounding[2]; /* for luma and chroma */

  /* separable: row and column without the powers of two that D contains, too */
  int32_t row[CF_CONVOLVE_LONG], col[CF_CONVOLVE_LONG];
  bool symmetric;   /* the row's weights are symmetric */
  bool rows_signed; /* sums of a row can be negative */
  bool words;       /* horizontal pass by products of pairs, of samples minus 32768 */
  bool centered;    /* pairs hold samples (or sums) minus 32768 */
  int32_t initial;  /* the initial value of sums (ROWS_32: horizontal ones), which undoes that subtraction */
  int64_t offset;   /* ROWS_SPLIT, SPLIT, GROUPS: added to the sums to undo it */

  bool columns16; /* box: 16 bits hold sums of columns */

  /* taps of pairs or single taps; high: the upper halves of weights that 16 bits do not hold */
  CfConvolveTap taps[CF_CONVOLVE_MAX * CF_CONVOLVE_MAX], high[CF_CONVOLVE_MAX * (CF_CONVOLVE_MAX + 1) / 2];
  bool paired; /* the path makes two rows of outputs at a time */
  int n_taps, n_high;
  int n_groups, begin[3][2]; /* groups of taps: where each begins in taps and in high, and where the last ends */
  int factor;                /* ROWS_SPLIT, SPLIT, GROUPS: of the upper sums, or of the second group's */

  /* PATH_FAST: 3^fast_levels streams, each with a kernel of fast_height rows of fast_pairs pairs */
  int fast_levels, fast_height, fast_pairs;
  uint32_t fast_weights[CF_FAST_MAX_STREAMS * 8 * 32];

  CfConvolvePart parts[CF_MAX_VIEWS];
  int n_parts, n_tasks;
  uint8_t *scratch;            /* scratch_size bytes for each thread */
  size_t scratch_size, needed; /* needed: by the widest task */

  CfView in[CF_MAX_VIEWS], out[CF_MAX_VIEWS]; /* of the frame that enqueue filters */

  /* hide.c; cells are allocated once a preset needs them, for all frames up to the size at init */
  CfVideo largest;
  uint32_t *cells;
  CfConvolveStrip strips[CF_MAX_VIEWS];
  int n_strips, n_views, pass;
  const CfVideo *video; /* of the frame */
} CfConvolveCpu;

#define CF_FEW_COLUMNS 7 /* up to this width a box adds up its columns without levels or running sums */

/* Returns the mask of a byte of a pixel, for `keep`. */
static inline uint32_t
cf_convolve_byte_mask (unsigned byte)
{
  uint8_t bytes[4] = { 0 };
  uint32_t mask;

  bytes[byte & 3] = 0xff;
  memcpy (&mask, bytes, 4);
  return mask;
}

/* Returns whether one loop can make running sums and round them to 8-bit samples (scan). */
static inline bool
cf_can_fuse_scan (const CfRounding *r)
{
  return r->max == 255 && r->narrow && r->by_scale && r->log2 < 0 && !r->ties;
}

/* Allocates the memory for cf_convolve_hide. Returns CF_NO_MEMORY where there is none. */
CfCode cf_convolve_hide_init (CfConvolveCpu *m, CfStatus *status);
/* Returns the bytes of scratch memory for cf_convolve_hide. */
size_t cf_convolve_hide_scratch_size (const CfConvolveCpu *m);
/* Filters the frame of m->in and m->out, n views, with fill, mosaic or privacy. */
void cf_convolve_hide (CfConvolveCpu *m, const CfVideo *video, int n);

/* Makes the weights of all streams. Returns false if the kernel is not supported or 16 bits do not hold the sums of
 * weights or the differences of samples. */
bool cf_fast_prepare (CfConvolveCpu *m);
/* Returns whether the kernel may be supported and this is faster than CF_PATH_PAIRS, by a model of the cost. */
bool cf_fast_is_faster (CfConvolveCpu *m);
/* Returns how many samples a row of a task of this part should have at most. Raises *scratch to the bytes of scratch
 * memory for a task of this part, or of the same part of a smaller frame. */
int cf_convolve_max_width (const CfConvolveCpu *m, const CfConvolvePart *part, size_t *scratch);
/* Returns how many rows of outputs the path makes at a time. */
int cf_convolve_batch (const CfConvolveCpu *m);
/* Runs one task of a frame, for cf_parallel_for; `data`: the CfConvolveCpu. Tasks are independent: each writes its own
 * outputs. */
void cf_convolve_run_task (void *data, int task, int thread);

#endif
