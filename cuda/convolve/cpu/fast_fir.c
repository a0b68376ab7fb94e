/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * convolve/cpu/fast_fir.c: the convolution on the CPU with fewer products, for large dense kernels.
 *
 * Let a kernel's even rows be h0 and its odd ones h1, the picture's x0 and x1, and x0' x0 one row further down. The even
 * and odd rows of outputs are
 *   y0 = h0 x0 + h1 x1   = h0 (x0 - x1) + (h0 + h1) x1
 *   y1 = h0 x1 + h1 x0'  = h1 (x0' - x1) + (h0 + h1) x1
 * which is three kernels of half the height for two rows, where there were four (a "fast FIR" of two phases: Winograd
 * 1980). Each of the three can be taken apart again: `levels` times, 2^levels phases, 3^levels STREAMS of rows. Sums
 * are right modulo 2^32, so all that must hold is that differences of samples and sums of weights are signed
 * numbers of 16 bits.
 *
 * A stream's digits in base 3, the first level's the highest, say what it is of: 0 h0, 1 h0 + h1, 2 h1. Row r of
 * it is made of the rows 2^levels r and the 2 (2^levels - 1) below. Samples lie in pairs of neighbours in a row. */
#include "fast_fir.h"

static int
streams_of (int levels)
{
  static const int streams[] = { 1, 3, 9, 27 };

  return streams[levels];
}

/* Weight of row j, column i in a stream's kernel. */
static int64_t
weight_of (const CfConvolution *c, int levels, int stream, int j, int i)
{
  int64_t sum = 0;

  if (i >= c->w)
    return 0;
  for (int phase = 0; phase < 1 << levels; phase++) {
    int row = (j << levels) + phase;
    bool is_in = row < c->h;

    for (int l = levels - 1, rest = stream; l >= 0; l--, rest /= 3)
      is_in = is_in && (rest % 3 == 1 || rest % 3 == 2 * (phase >> l & 1));
    if (is_in)
      sum += c->weights[row * c->w + i];
  }
  return sum;
}

static bool
list_weights (CfConvolveCpu *m, int levels)
{
  const CfConvolution *c = &m->c;
  uint32_t *weights = m->fast_weights;

  m->fast_levels = levels;
  m->fast_height = (c->h + (1 << levels) - 1) >> levels;
  m->fast_pairs = (c->w + 1) / 2;
  if (m->fast_height > CF_FAST_HEIGHT)
    return false;
  for (int t = 0; t < streams_of (levels); t++)
    for (int i = 0; i < m->fast_pairs; i++)
      for (int j = 0; j < m->fast_height; j++) {
        int64_t a = weight_of (c, levels, t, j, 2 * i), b = weight_of (c, levels, t, j, 2 * i + 1);

        if (a > INT16_MAX || a < INT16_MIN || b > INT16_MAX || b < INT16_MIN)
          return false;
        *weights++ = (uint32_t) (a & 0xffff) | (uint32_t) b << 16;
      }
  return true;
}

bool
cf_fast_prepare (CfConvolveCpu *m)
{
  const CfConvolution *c = &m->c;
  int levels = c->h < 6 ? 1 : c->h < 20 ? 2 : 3;

  /* samples of 16 bit fill 16 bits, which do not hold their differences then */
  if (c->op != CF_CONVOLVE_LINEAR || !c->dense || c->bits == 16)
    return false;
  return list_weights (m, levels);
}

/* As measured with each instruction set, in products of a pair for a sample: those in streams come a sixth cheaper,
 * since what is loaded serves more of them; making and joining the streams takes as long as 55 and 70. */
bool
cf_fast_pays (const CfConvolveCpu *m)
{
  const CfConvolution *c = &m->c;
  int fast = streams_of (m->fast_levels) * m->fast_height * m->fast_pairs >> m->fast_levels, direct = 0;

  for (int j = 0; j <= c->h / 2; j++)
    for (int i = 0; i < c->w; i++) {
      bool any = false;

      for (int row = 2 * j - 1; row < 2 * j + 2; row++)
        any = any || (row >= 0 && row < c->h && c->weights[row * c->w + i]);
      direct += any;
    }
  return 6 * direct > 5 * fast + 6 * (m->fast_levels == 3 ? 70 : 55);
}

int
cf_fast_batch (const CfConvolveCpu *m)
{
  return CF_FAST_ROWS << m->fast_levels;
}

/* Rows out of which each stream gets one. */
static int
sources_of (const CfConvolveCpu *m)
{
  return (2 << m->fast_levels) - 1;
}

int
cf_fast_span (const CfConvolveCpu *m)
{
  return ((m->fast_height + CF_FAST_ROWS) << m->fast_levels) - 1;
}

void
cf_fast_rings (const CfConvolveCpu *m, int *x, int *a, int *b)
{
  *x = 1;
  *a = streams_of (m->fast_levels) * (m->fast_height + CF_FAST_ROWS - 1);
  *b = cf_fast_batch (m) + sources_of (m);
}

/* Row i of samples as pairs; behind the sums. */
static uint32_t *
pairs_of (const Tile *tile, int i)
{
  return ring_row (&tile->b, cf_fast_batch (tile->m) + i % sources_of (tile->m));
}

/* Row i of samples: as pairs, and where it is the last that a row of the streams waits for, that row. */
void
cf_fast_take (const Tile *tile, int i, const uint8_t *x)
{
  const CfConvolveCpu *m = tile->m;
  int levels = m->fast_levels, streams = streams_of (levels), sources = sources_of (m), step = tile->channels;
  int first = i - sources + 1, n = tile->n + 2 * (m->fast_pairs - 1) * step;
  const uint32_t *rows[2 << CF_FAST_LEVELS] = { NULL };
  uint32_t *to[CF_FAST_MOST] = { NULL };

  m->simd->pair[tile->t] (x, x + step * (tile->t + 1), n, pairs_of (tile, i), false);
  if (first < 0 || first & ((1 << levels) - 1))
    return;
  for (int k = 0; k < sources; k++)
    rows[k] = pairs_of (tile, first + k);
  for (int t = 0; t < streams; t++)
    to[t] = ring_row (&tile->a, (first >> levels) * streams + t);
  m->simd->differ (rows, levels, n, to);
}

/* The sums of rows o .. o + cf_fast_batch () - 1, in the first rows of b. */
void
cf_fast_sums (const Tile *tile, int o)
{
  const CfConvolveCpu *m = tile->m;
  int streams = streams_of (m->fast_levels), n_rows = m->fast_height + CF_FAST_ROWS - 1, first = o >> m->fast_levels;
  const uint32_t *rows[CF_FAST_MOST * (CF_FAST_HEIGHT + CF_FAST_ROWS - 1)];
  int32_t *s[CF_FAST_ROWS << CF_FAST_LEVELS];
  CfFast fast = {
    .levels = m->fast_levels, .height = m->fast_height, .pairs = m->fast_pairs, .step = tile->channels, .rows = rows,
    .weights = m->fast_weights,
  };

  for (int t = 0; t < streams; t++)
    for (int r = 0; r < n_rows; r++)
      rows[t * n_rows + r] = ring_row (&tile->a, (first + r) * streams + t);
  for (int k = 0; k < cf_fast_batch (m); k++)
    s[k] = ring_row (&tile->b, k);
  m->simd->fast (&fast, tile->n, s);
}
