/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convolve/cpu/internal.h: the convolution's plan on the CPU, between plan.c
 * (the plan and its tasks) and tile.c, which does the work. */
#ifndef CF_CONVOLVE_CPU_INTERNAL_H
#define CF_CONVOLVE_CPU_INTERNAL_H

#include "simd.h"

/* Variants as they are called; each is one or more PATHS, which differ in the
 * width of the numbers that hold sums. */
typedef enum {
  CF_CONVOLVE_V_COPY,
  CF_CONVOLVE_V_BOX,
  CF_CONVOLVE_V_MAGNITUDE,
  CF_CONVOLVE_V_SEPARABLE,
  CF_CONVOLVE_V_FAST,
  CF_CONVOLVE_V_DIRECT,
  CF_CONVOLVE_V_SPLIT,
  CF_CONVOLVE_V_WIDE,
  CF_CONVOLVE_N_VARIANTS
} CfConvolveVariant;

typedef enum {
  CF_PATH_COPY,       /* words, or gray samples, as they are */
  CF_PATH_BOX,
  CF_PATH_BOX_16,     /* 16 bits to the end */
  CF_PATH_BOX_SCAN,   /* columns of 16 bits, then running sums of 32 */
  CF_PATH_MAGNITUDE,
  CF_PATH_ROWS_16,    /* separable: 16 bits across, 16 bits down */
  CF_PATH_ROWS_BYTES, /* the same of upper and lower bytes */
  CF_PATH_ROWS_PAIRS, /* 16 bits across, products of pairs down */
  CF_PATH_ROWS_32,
  CF_PATH_ROWS_SPLIT, /* 32 bits across, their halves' products of pairs down, 64 bits together */
  CF_PATH_ROWS_64,    /* 32 bits across, 64 bits down */
  CF_PATH_FAST,       /* dense: fewer products, of pairs */
  CF_PATH_PAIRS,      /* dense: products of pairs */
  CF_PATH_GROUPS,     /* the same of one or two groups of taps, 64 bits together */
  CF_PATH_SPLIT,      /* the same for upper and lower bytes, 64 bits together */
  CF_PATH_WIDE,       /* 64 bits */
} CfConvolvePath;

/* A tap of the kernel other than 0: row, column and weight. In paths of pairs j
 * counts pairs of rows, and the weights are 16 bits for each of the two, once
 * for an output that begins with the first of them and once for the output
 * below. */
typedef struct {
  uint8_t j, i;
  int32_t weight[2];
} CfConvolveTap;

/* What is filtered, copied or set to mid-level together: one component of one
 * field, or a plane's channels side by side, or three channels made gray. */
typedef struct {
  CfConvolveFate fate;
  uint8_t view;       /* GRAY: of R */
  uint8_t channels;   /* side by side in a row */
  uint8_t step;       /* from one to the next in the picture, in samples */
  uint8_t pixel;      /* and from pixel to pixel */
  uint8_t kind;       /* CF_CONVOLVE_LUMA, CF_CONVOLVE_CHROMA */
  uint32_t keep;      /* bytes of a pixel that are copied; 0: none */
  int width, height;
  int cols, rows;     /* of a task, in pixels */
  int n_cols, n_tasks;
} CfConvolvePart;

typedef struct {
  const CfConvolveSimd *simd;
  CfFormat format;
  CfConvolution c;
  CfConvolveVariant variant;
  int preferred;            /* CfConvolveVariant, -1: whatever is best */
  CfConvolvePath path[2];   /* for luma and chroma */
  CfRounding rounding[2];
  bool narrow[2];           /* round32 or unsharp32 will do */

  /* separable, with the powers of two in them that D has too taken out */
  int32_t row[CF_CONVOLVE_MAX], col[CF_CONVOLVE_MAX];
  bool even;                /* row is symmetric */
  bool rows_signed;         /* sums of a row can be negative */
  bool words;               /* across by products of pairs, of samples less 32768 */
  int32_t words_start;      /* and those sums begin with this */
  int64_t more;             /* ROWS_SPLIT, GROUPS: what that and the like took from the sums */
  bool halves[2];           /* ROWS_SPLIT: halves_out will do */
  bool minus;               /* pairs hold samples (or sums) less 32768 */
  int32_t start;            /* and so sums begin with this */

  int n_narrow;             /* box: levels (see simd.h) of 16 bits */

  /* of pairs or of single taps; high: what 16 bits did not hold */
  CfConvolveTap taps[CF_CONVOLVE_MAX * CF_CONVOLVE_MAX], high[CF_CONVOLVE_MAX * (CF_CONVOLVE_MAX + 1) / 2];
  bool paired;              /* rows of outputs are made two at a time */
  int n_taps, n_high;
  int n_groups, second[2];  /* GROUPS: where the second begins, in taps and in high */

  /* fast_fir.c: streams of kernels with so many rows of so many pairs */
  int fast_levels, fast_height, fast_pairs;
  uint32_t fast_weights[CF_FAST_MOST * 8 * 32];

  CfConvolvePart parts[CF_MAX_VIEWS];
  int n_parts, n_tasks;
  uint8_t *scratch;         /* scratch_size bytes a thread */
  size_t scratch_size;

  CfView in[CF_MAX_VIEWS], out[CF_MAX_VIEWS]; /* of the frame in work */
} CfConvolveCpu;

/* Samples of a row of a task, without and with what lies beside it, that scratch
 * memory is had for. Small kernels take wider tasks, which walk through the
 * picture's memory in fewer strides, up to CF_TILE_WIDEST. */
#define CF_TILE 2048
#define CF_TILE_FAST 512
#define CF_TILE_WIDEST 8192
#define CF_TILE_ROW (CF_TILE + 4 * 64 + 4 * CF_CONVOLVE_MAX)

/* -1: no power of two */
static inline int
cf_log2_of (int64_t v)
{
  return v & (v - 1) ? -1 : __builtin_ctzll ((unsigned long long) v);
}

/* How sums of a kind of component are rounded that are, as D is, 2^reduced times smaller than in the contract. */
void cf_convolve_set_rounding (CfConvolveCpu *m, int kind, int reduced);
/* Can 16 bits hold numerators up to `most` (S + add / 2), and divide them? Sets what that takes. */
bool cf_convolve_is_small (CfRounding *r, int64_t most);

/* Can halves of 32 bits be rounded, of sums up to `most`? */
bool cf_convolve_goes_by_halves (const CfConvolution *c, CfRounding *r, int64_t most);

/* Can 16 bits hold sums of the upper and of the lower bytes of 16 bit? Sets what rounding takes then. */
bool cf_convolve_goes_by_bytes (const CfConvolution *c, CfRounding *r, int64_t abs_sum);

/* Can they, of S, sharpen samples (rest16)? */
bool cf_convolve_sharpens_small (CfRounding *r, int64_t most);

/* Can running sums be made samples of 8 bit as they come? */
static inline bool
cf_scans_at_once (const CfConvolveCpu *m, int kind)
{
  return m->c.bits == 8 && m->narrow[kind] && m->rounding[kind].by_scale && m->rounding[kind].log2 < 0 &&
      !m->rounding[kind].ties;
}

/* Bytes of scratch memory that a task of rows of `samples` samples may need. */
size_t cf_convolve_scratch (int samples, int bytes);
/* Samples that a row of a task of this part should have at most. */
int cf_convolve_widest (const CfConvolveCpu *m, const CfConvolvePart *part);
/* Task `task` of a part. */
void cf_convolve_task (const CfConvolveCpu *m, const CfConvolvePart *part, int task, uint8_t *scratch);

#endif
