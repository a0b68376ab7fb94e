/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/cpu/fast_fir.c: large dense kernels with fewer products.
 *
 * Let h0 be a kernel's even rows and h1 its odd rows, x0 and x1 the even and odd rows of samples, and x0' the rows x0
 * shifted down by one. The even and odd rows of outputs are
 *   y0 = h0 x0 + h1 x1   = h0 (x0 - x1) + (h0 + h1) x1
 *   y1 = h0 x1 + h1 x0'  = h1 (x0' - x1) + (h0 + h1) x1
 * which takes three kernels of half the height for two rows instead of four (a "fast FIR" of two phases: Winograd
 * 1980). Each of the three can be split again: `levels` times, for 2^levels phases and 3^levels STREAMS of rows.
 * Sums are correct modulo 2^32, so the only condition is that differences of samples and sums of weights fit signed
 * 16-bit numbers.
 *
 * The digits of a stream's number in base 3, the first level's digit the highest, name its kernel: 0 h0, 1 h0 + h1,
 * 2 h1. Row r of a stream is made of row 2^levels r of samples and the 2 (2^levels - 1) rows below it. Rows hold pairs
 * of neighbouring samples. */
#include "fast_fir.h"

static int
n_streams_of (int levels)
{
  static const int streams[] = { 1, 3, 9, 27 };

  return streams[levels];
}

/* Returns the weight in row j, column i of a stream's kernel. */
static int64_t
weight_of (const CfConvolution *c, int levels, int stream, int j, int i)
{
  int64_t sum = 0;

  if (i >= c->w)
    return 0;
  for (int phase = 0; phase < 1 << levels; phase++) {
    int row = (j << levels) + phase;
    bool is_in = row < c->h;

    for (int l = levels - 1, digits = stream; l >= 0; l--, digits /= 3)
      is_in = is_in && (digits % 3 == 1 || digits % 3 == 2 * (phase >> l & 1));
    if (is_in)
      sum += c->weights[row * c->w + i];
  }
  return sum;
}

/* Chooses the levels. Returns false if the kernel is not supported. */
static bool
set_levels (CfConvolveCpu *m)
{
  const CfConvolution *c = &m->c;
  int levels = c->h < 6 ? 1 : c->h < 20 ? 2 : 3;

  m->fast_levels = levels;
  m->fast_height = (c->h + (1 << levels) - 1) >> levels;
  m->fast_pairs = (c->w + 1) / 2;
  /* differences of 16-bit samples need 17 bits */
  return c->op == CF_CONVOLVE_LINEAR && c->dense && c->bits != 16 && m->fast_height <= CF_FAST_HEIGHT;
}

bool
cf_fast_prepare (CfConvolveCpu *m)
{
  const CfConvolution *c = &m->c;
  uint32_t *weights = m->fast_weights;

  if (!set_levels (m))
    return false;
  for (int t = 0; t < n_streams_of (m->fast_levels); t++)
    for (int i = 0; i < m->fast_pairs; i++)
      for (int j = 0; j < m->fast_height; j++) {
        int64_t a = weight_of (c, m->fast_levels, t, j, 2 * i);
        int64_t b = weight_of (c, m->fast_levels, t, j, 2 * i + 1);

        if (a > INT16_MAX || a < INT16_MIN || b > INT16_MAX || b < INT16_MIN)
          return false;
        *weights++ = (uint32_t) (a & 0xffff) | (uint32_t) b << 16;
      }
  return true;
}

/* The model counts products of pairs for one sample. A product in a stream costs 5/6 of one in CF_PATH_PAIRS, since
 * each load serves more products; making and joining the streams costs as much as 55 products, with three levels 70.
 * The constants fit measurements with all instruction sets: docs/notes/convolve-cpu.md. */
bool
cf_fast_is_faster (CfConvolveCpu *m)
{
  const CfConvolution *c = &m->c;
  int fast, direct = 0;

  if (!set_levels (m))
    return false;
  fast = n_streams_of (m->fast_levels) * m->fast_height * m->fast_pairs >> m->fast_levels;
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

/* Returns the number of rows of samples of which a row of each stream is made. */
static int
n_source_rows (const CfConvolveCpu *m)
{
  return (2 << m->fast_levels) - 1;
}

int
cf_fast_window (const CfConvolveCpu *m)
{
  return ((m->fast_height + CF_FAST_ROWS) << m->fast_levels) - 1;
}

void
cf_fast_rings (const CfConvolveCpu *m, int *x, int *a, int *b)
{
  *x = 1;
  *a = n_streams_of (m->fast_levels) * (m->fast_height + CF_FAST_ROWS - 1);
  *b = cf_fast_batch (m) + n_source_rows (m);
}

/* Returns the row of ring b, behind the sums, that holds row i of samples as pairs. */
static uint32_t *
pair_row (const Tile *tile, int i)
{
  return ring_row (&tile->b, cf_fast_batch (tile->m) + i % n_source_rows (tile->m));
}

void
cf_fast_push_row (const Tile *tile, int i, const uint8_t *x)
{
  const CfConvolveCpu *m = tile->m;
  int levels = m->fast_levels, streams = n_streams_of (levels), sources = n_source_rows (m), step = tile->channels;
  int first = i - sources + 1, n = tile->n + 2 * (m->fast_pairs - 1) * step;
  const uint32_t *rows[2 << CF_FAST_LEVELS] = { NULL };
  uint32_t *to[CF_FAST_MAX_STREAMS] = { NULL };

  m->simd->pair[tile->type](x, x + step * (tile->type + 1), n, pair_row (tile, i), false);
  if (first < 0 || first & ((1 << levels) - 1))
    return;
  for (int k = 0; k < sources; k++)
    rows[k] = pair_row (tile, first + k);
  for (int t = 0; t < streams; t++)
    to[t] = ring_row (&tile->a, (first >> levels) * streams + t);
  m->simd->make_streams (rows, levels, n, to);
}

void
cf_fast_sums (const Tile *tile, int o)
{
  const CfConvolveCpu *m = tile->m;
  int streams = n_streams_of (m->fast_levels), n_rows = m->fast_height + CF_FAST_ROWS - 1, first = o >> m->fast_levels;
  const uint32_t *rows[CF_FAST_MAX_STREAMS * (CF_FAST_HEIGHT + CF_FAST_ROWS - 1)];
  int32_t *s[CF_FAST_ROWS << CF_FAST_LEVELS];
  CfFast fast = {
    .levels = m->fast_levels,
    .height = m->fast_height,
    .pairs = m->fast_pairs,
    .step = tile->channels,
    .rows = rows,
    .weights = m->fast_weights,
  };

  for (int t = 0; t < streams; t++)
    for (int r = 0; r < n_rows; r++)
      rows[t * n_rows + r] = ring_row (&tile->a, (first + r) * streams + t);
  for (int k = 0; k < cf_fast_batch (m); k++)
    s[k] = ring_row (&tile->b, k);
  m->simd->fast (&fast, tile->n, s);
}
