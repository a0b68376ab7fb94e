/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * denoise/noise.h: the denoiser's tables and the estimate of noise, for the CPU and for kernels. The names are those of
 * denoise.h. */
#ifndef CF_DENOISE_NOISE_H
#define CF_DENOISE_NOISE_H

#include "denoise.h"

#ifdef __CUDACC__
#define CF_DENOISE_BOTH __host__ __device__
#else
#define CF_DENOISE_BOTH
#endif

/* Tables of c, at c - 1, and of levels. */
typedef struct {
  uint16_t a1[CF_DENOISE_FRAMES], a2[CF_DENOISE_FRAMES], b1[CF_DENOISE_FRAMES], b2[CF_DENOISE_FRAMES];
  uint16_t part[CF_DENOISE_FRAMES];  /* 2^15 / c; 2^15 - 1 for c = 1, which no sample takes */
  uint16_t left[CF_DENOISE_FRAMES];  /* K */
  uint16_t still[CF_DENOISE_FRAMES]; /* R */
} CfDenoiseTables;

typedef struct {
  uint16_t reach[CF_DENOISE_LEVELS];   /* 8 max (17, g - 38) */
  uint16_t inverse[CF_DENOISE_LEVELS]; /* r */
} CfDenoiseLevels;

/* What the blocks of a component's field count: T, N and W. */
typedef struct {
  uint32_t bin[3][CF_DENOISE_ZONES][CF_DENOISE_BINS];
} CfDenoiseCounts;

static inline CF_DENOISE_BOTH int
cf_denoise_least (int a, int b)
{
  return a < b ? a : b;
}

static inline CF_DENOISE_BOTH int
cf_denoise_most (int a, int b)
{
  return a > b ? a : b;
}

/* Step 3, for one level. */
static inline CF_DENOISE_BOTH void
cf_denoise_level (const int32_t sigma[CF_DENOISE_ZONES], int strength, int level, CfDenoiseLevels *levels)
{
  const int a = sigma[cf_denoise_most (0, level - 1) / 2];
  const int b = sigma[cf_denoise_least (CF_DENOISE_LEVELS - 1, level + 1) / 2];
  const int g = cf_denoise_least (8191, cf_denoise_most (17, ((a + b) / 2 * strength + 50) / 100));

  levels->reach[level] = (uint16_t) (8 * cf_denoise_most (17, g - 38));
  levels->inverse[level] = (uint16_t) cf_denoise_least (32767, (1 << 19) / g);
}

/* Q of a histogram: `first` is the first bin at which the running sum is larger than k. */
static inline CF_DENOISE_BOTH int
cf_denoise_quantile (int first)
{
  return 16 * first + 8;
}

/* Returns `est` of a zone that is known, in a frame that is not the first one (step 7), from its quantiles. */
static inline CF_DENOISE_BOTH int
cf_denoise_zone (int quantile_n, int quantile_t, int quantile_w)
{
  const int s = quantile_n * 430 >> 8, t = quantile_t * 350 >> 8, w = quantile_w * 430 >> 8;
  const int spare = cf_denoise_most (0, s - 384);
  const int top = cf_denoise_most (s, cf_denoise_least (w, s + cf_denoise_least (s / 2, spare))), limit = 9 * top / 8;
  const int est = t <= limit ? cf_denoise_least (t, top) : cf_denoise_most (s, top - (t - limit));

  return est > s ? est + cf_denoise_least (est - s, spare) : est;
}

/* Takes the estimates of all zones into sigma; -1: the zone is not known. */
static inline CF_DENOISE_BOTH void
cf_denoise_learn (const int est[CF_DENOISE_ZONES], bool first, int32_t sigma[CF_DENOISE_ZONES])
{
  for (int z = 0; z < CF_DENOISE_ZONES; z++) {
    int found = -1;

    for (int k = 0; k < CF_DENOISE_ZONES && found < 0; k++)
      if (z - k >= 0 && est[z - k] >= 0)
        found = est[z - k];
      else if (z + k < CF_DENOISE_ZONES && est[z + k] >= 0)
        found = est[z + k];
    if (found >= 0)
      sigma[z] = first ? found : sigma[z] + (found - sigma[z]) / 4;
  }
}

CF_BEGIN_DECLS

extern const CfDenoiseTables cf_denoise_tables;

CF_END_DECLS
#endif
