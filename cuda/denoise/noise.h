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

/* What a level's noise makes: 2 max (17, g - 38), and r. */
typedef struct {
  uint16_t reach, inverse;
} CfDenoiseLevel;

/* The places of the views' states in one block of memory, bytes: 2 a sample for formats of 8 bits, else 4. */
typedef struct {
  size_t offset[CF_MAX_VIEWS], pitch[CF_MAX_VIEWS]; /* pitch: a multiple of 64 */
} CfDenoiseLayout;

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

/* Step 3 for a level, from the sigma a and b of its zones. */
static inline CF_DENOISE_BOTH CfDenoiseLevel
cf_denoise_level (int a, int b, int strength)
{
  const int g = cf_denoise_least (8191, cf_denoise_most (17, ((a + b) / 2 * strength + 50) / 100));

  CfDenoiseLevel level;

  level.reach = (uint16_t) (2 * cf_denoise_most (17, g - 38));
  level.inverse = (uint16_t) ((1 << 19) / g);
  return level;
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

  return est > s ? 2 * est - s : est;
}

/* Returns the new sigma of zone z. n: the blocks of all zones; est: their estimates, if they are known. */
static inline CF_DENOISE_BOTH int
cf_denoise_learn (const int n[CF_DENOISE_ZONES], const int est[CF_DENOISE_ZONES], int z, bool first, int sigma)
{
  int all = 0, distance = CF_DENOISE_ZONES, found = -1;

  for (int i = 0; i < CF_DENOISE_ZONES; i++)
    all += n[i];
  for (int i = 0; i < CF_DENOISE_ZONES; i++) {
    const int away = i < z ? z - i : i - z;

    if (n[i] >= 16 && 32 * n[i] >= all && away < distance) {
      distance = away;
      found = est[i];
    }
  }
  if (found < 0)
    return sigma;
  return first ? found : sigma + (found - sigma) / 4;
}

CF_BEGIN_DECLS

extern const CfDenoiseTables cf_denoise_tables;

/* Sets the places of the states of all components, whatever apply-to will be. Returns the bytes of all. */
size_t cf_denoise_lay_out (const CfVideo *video, CfDenoiseLayout *layout);

CF_END_DECLS
#endif
