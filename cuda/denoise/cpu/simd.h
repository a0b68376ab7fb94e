/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * denoise/cpu/simd.h: the denoiser's loops over rows on the CPU. simd.c is compiled once per instruction set. The names
 * are those of denoise.h; rows of c have c - 1.
 *
 * A row has CF_DENOISE_PAD values before its first one and behind its last one: loops run over whole vectors, and read
 * the neighbours of the outermost samples. The functions have no state; threads may call them at once. */
#ifndef CF_DENOISE_CPU_SIMD_H
#define CF_DENOISE_CPU_SIMD_H

#include "denoise/noise.h"

#define CF_DENOISE_PAD 64

/* Those of all levels. */
typedef struct {
  uint16_t reach[CF_DENOISE_LEVELS], inverse[CF_DENOISE_LEVELS];
} CfDenoiseLevels;

/* The sums of a row of blocks, of each two columns; cleared before its first row. */
typedef struct {
  uint32_t *t, *s, *w, *sum;
  int16_t *extreme; /* samples with S = 0 or the largest S, of each column */
} CfDenoiseSums;

typedef struct {
  /* S of n samples of row y of a view. scratch: a row. */
  void (*load) (const CfView *view, int y, int n, int16_t *S, void *scratch);
  /* Step 6 for n samples of row y. */
  void (*store) (const CfView *out, const CfView *in, int y, int n, const int16_t *o, const int16_t *S, void *scratch);

  /* The state of a row: 16 bits a sample for formats of 8 bits, else 32. */
  void (*unpack[2]) (const void *state, int n, int16_t *m, int16_t *c);
  void (*pack[2]) (void *state, int n, const int16_t *m, const int16_t *c);

  /* e of a row. */
  void (*compare) (const int16_t *S, const int16_t *m, const CfDenoiseLevels *levels, int n, int16_t *e);
  /* The sums of e over 5 samples and of |e| over 7. */
  void (*sum) (const int16_t *e, int n, int16_t *sum5, int16_t *sum7);
  /* `moved`, from the sums of 5 and of 7 rows. */
  void (*decide) (const int16_t *const sum5[5], const int16_t *const sum7[7], const int16_t *c, int n, int16_t *moved);
  /* The new m and c, and m >> 1, from `moved` of three rows. coarse: 12 bits of m are kept. */
  void (*follow) (const int16_t *const moved[3], const int16_t *S, const int16_t *m, const int16_t *c, bool coarse,
      int n, int16_t *new_m, int16_t *new_c, int16_t *half);
  /* o, from m >> 1 of five rows. */
  void (*smooth) (const int16_t *const half[5], const int16_t *m, const int16_t *c, const CfDenoiseLevels *levels,
      int n, int16_t *o);
  /* Adds a row of samples to the sums of its blocks. S: of five rows. m: NULL in the first frame. bends: a row. */
  void (*count) (const int16_t *const S[5], const int16_t *m, const int16_t *c, int largest, int n, int16_t *bends,
      const CfDenoiseSums *sums);
} CfDenoiseSimd;

extern const CfDenoiseSimd cf_denoise_simd_avx512bw, cf_denoise_simd_avx2, cf_denoise_simd_sse4_1,
    cf_denoise_simd_baseline;

#endif
