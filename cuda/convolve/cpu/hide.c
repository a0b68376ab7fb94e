/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/cpu/hide.c: the presets that hide what is in a frame. One loop paints all of them, a mosaic being cells that
 * are not interpolated and a fill one cell of a known mean: rows of interleaved samples between two rows of cells,
 * which are as wide as the frame and hold, for each sample, 256 times the mean interpolated along the row.
 *
 * A frame has three passes, each in tasks that write what is theirs alone: sums of the columns of a row of cells; from
 * them the row of means, in place; rows of the frame. */
#include "internal.h"

#include "core/threads.h"

#include <stdlib.h>
#include <string.h>

/* Samples of a task of the first pass, and about as many of the last. */
#define SUM_SAMPLES 1024
#define PAINT_SAMPLES 32768

static const CfComponent *
component_of (const CfConvolveCpu *m, const CfView *view)
{
  return &cf_format_info (m->format)->comp[view->component];
}

static bool
is_in (const CfConvolveCpu *m, const CfConvolveStrip *s, int view)
{
  return m->in[view].plane == m->in[s->first].plane && m->in[view].field == m->in[s->first].field;
}

/* ---- memory -------------------------------------------------------------- */

/* A row of cells has a number for each sample, so with cells along both sides of a frame of W x H there are ny W of
 * them for each sample of a pixel: less than n L + s / 2 (see cf_convolve_max_cells), whichever side is the longer. */
CfCode
cf_convolve_hide_init (CfConvolveCpu *m, CfStatus *status)
{
  const CfVideo *v = &m->largest;
  const CfFormatInfo *info = cf_format_info (v->format);
  size_t samples = 0, size;

  if (m->cells)
    return CF_OK;
  for (int p = 0; p < info->n_planes; p++)
    samples += cf_plane_row_bytes (v->format, 1, p) / info->bytes;
  size = (cf_convolve_max_cells (v) + (size_t) (v->width < v->height ? v->width : v->height)) * samples *
      (v->interlaced ? 2 : 1) * sizeof *m->cells;
  m->cells = malloc (size);
  return m->cells ? CF_OK : cf_fail (status, CF_NO_MEMORY, "out of memory: the cells need %zu MB", size >> 20);
}

/* A row of samples, or those that are summed, 16 bits each. */
size_t
cf_convolve_hide_scratch_size (const CfConvolveCpu *m)
{
  size_t size = 2 * SUM_SAMPLES;

  for (int p = 0; p < cf_format_info (m->format)->n_planes; p++) {
    size_t row = cf_plane_row_bytes (m->format, m->largest.width, p);

    size = row > size ? row : size;
  }
  return size + CF_ROW_SLACK;
}

/* ---- strips -------------------------------------------------------------- */

/* Fills a strip with the views of in[first]'s plane and field. */
static void
make_strip (const CfConvolveCpu *m, CfConvolveStrip *s)
{
  const CfView *lead = &m->in[s->first];
  int group = 1, nx;

  s->height = lead->height;
  s->samples = (int) (cf_plane_row_bytes (m->format, m->video->width, lead->plane) / lead->bytes);
  s->whole = s->samples;
  for (int i = 0; i < m->n_views; i++)
    if (is_in (m, s, i))
      group = m->in[i].step > group ? m->in[i].step : group;
  for (int i = 0; i < m->n_views; i++) {
    const CfView *view = &m->in[i];
    const int offset = component_of (m, view)->offset, whole = view->width * view->step / group * group;

    if (!is_in (m, s, i))
      continue;
    if (offset == 0) {
      s->in = view->data;
      s->out = m->out[i].data;
    }
    s->whole = whole < s->whole ? whole : s->whole;
    s->filtered = s->filtered || view->filtered;
    for (int at = offset; !view->filtered && at < 4; at += view->step)
      s->keep |= cf_convolve_byte_mask ((unsigned) at);
  }
  s->in_pitch = lead->pitch;
  s->out_pitch = m->out[s->first].pitch;
  cf_convolve_cells (&m->c, m->video, lead->width, lead->height, &nx, &s->ny);
}

static void
make_strips (CfConvolveCpu *m)
{
  uint32_t *cells = m->cells;

  m->n_strips = 0;
  for (int i = 0; i < m->n_views; i++) {
    CfConvolveStrip *s = &m->strips[m->n_strips];
    bool done = false;

    for (int k = 0; k < m->n_strips; k++)
      done = done || is_in (m, &m->strips[k], i);
    if (done)
      continue;
    *s = (CfConvolveStrip) { .first = i, .cells = cells };
    make_strip (m, s);
    cells += (size_t) s->ny * (size_t) s->samples;
    m->n_strips++;
  }
}

/* ---- sums ---------------------------------------------------------------- */

/* Sums columns of a row of cells. The bytes between samples, and samples that are copied, are summed with them. */
static void
sum_columns (const CfConvolveCpu *m, const CfConvolveStrip *s, int task, uint8_t *scratch)
{
  const CfView *view = &m->in[s->first];
  const int j = task % s->ny, x = task / s->ny * SUM_SAMPLES, bytes = view->bytes;
  const int n = s->samples - x < SUM_SAMPLES ? s->samples - x : SUM_SAMPLES;
  uint32_t *sums = s->cells + (size_t) j * (size_t) s->samples + x;

  memset (sums, 0, (size_t) n * sizeof *sums);
  for (int y = j * s->height / s->ny; y < (j + 1) * s->height / s->ny; y++) {
    const void *row = s->in + (size_t) y * s->in_pitch + (size_t) (x * bytes);

    if (view->bits < 8 * bytes) {
      m->simd->gather[1](row, 1, n, scratch, view->shift, m->c.max);
      row = scratch;
    }
    m->simd->update_columns32[bytes - 1](row, NULL, n, sums);
  }
}

/* ---- means --------------------------------------------------------------- */

/* Replaces the sums of a component's columns by 256 times the mean of their cell. */
static void
make_means (uint32_t *row, const CfView *view, int nx, int rows)
{
  for (int i = 0; i < nx; i++) {
    const int begin = i * view->width / nx, end = (i + 1) * view->width / nx;
    const uint64_t n = (uint64_t) rows * (uint64_t) (end - begin);
    uint64_t sum = 0;

    for (int x = begin; x < end; x++)
      sum += row[x * view->step];
    sum = (2 * sum + n) / (2 * n);
    for (int x = begin; x < end; x++)
      row[x * view->step] = (uint32_t) sum * 256;
  }
}

/* Interpolates them, from the left to the right. A cell's mean is read from its last column, at the column where its
 * left neighbour's centre has been reached: all columns before that one lie in that neighbour or left of it. */
static void
join_means (uint32_t *row, const CfView *view, int nx)
{
  uint32_t left = 0, right = row[0] / 256;
  int at = -1;

  for (int x = 0; x < view->width; x++) {
    const unsigned place = cf_convolve_place (CF_CONVOLVE_PRIVACY, x, view->width, nx), f = place & 255;
    const int i = (int) (place >> 8), last = (i + 2) * view->width / nx - 1;

    if (i > at) {
      left = right;
      right = i + 1 < nx ? row[last * view->step] / 256 : left;
      at = i;
    }
    row[x * view->step] = (256 - f) * left + f * right;
  }
}

static void
make_row (const CfConvolveCpu *m, const CfConvolveStrip *s, int j)
{
  uint32_t *cells = s->cells + (size_t) j * (size_t) s->samples;

  for (int i = 0; i < m->n_views; i++) {
    const CfView *view = &m->in[i];
    uint32_t *row = cells + component_of (m, view)->offset;
    int nx, ny;

    if (!is_in (m, s, i) || !view->filtered)
      continue;
    cf_convolve_cells (&m->c, m->video, view->width, view->height, &nx, &ny);
    for (int x = 0; m->c.op == CF_CONVOLVE_FILL && x < view->width; x++)
      row[x * view->step] = m->c.fill[view->component] * 256u;
    if (m->c.op != CF_CONVOLVE_FILL)
      make_means (row, view, nx, (j + 1) * s->height / ny - j * s->height / ny);
    if (m->c.op == CF_CONVOLVE_PRIVACY)
      join_means (row, view, nx);
  }
}

/* ---- painting ------------------------------------------------------------ */

static int
paint_rows (const CfConvolveStrip *s)
{
  return cf_divide_up (PAINT_SAMPLES, s->samples);
}

/* Paints the samples behind the last whole pixel group. */
static void
paint_rest (const CfConvolveCpu *m, const CfConvolveStrip *s, int y, const uint32_t *a, const uint32_t *b, uint32_t f)
{
  for (int i = 0; i < m->n_views; i++) {
    const CfView *view = &m->in[i];
    const int offset = component_of (m, view)->offset;

    for (int x = s->whole / view->step; is_in (m, s, i) && x < view->width; x++) {
      const int at = x * view->step; /* such a plane has samples of 8 bits */

      m->out[i].data[(size_t) y * s->out_pitch + (size_t) at] = !view->filtered
          ? view->data[(size_t) y * s->in_pitch + (size_t) at]
          : (uint8_t) (((256 - f) * a[at + offset] + f * b[at + offset] + 32768) >> 16);
    }
  }
}

static void
paint (const CfConvolveCpu *m, const CfConvolveStrip *s, int task, uint8_t *scratch)
{
  const CfView *view = &m->in[s->first];
  const int begin = task * paint_rows (s), bytes = view->bytes;
  const int end = cf_min (begin + paint_rows (s), s->height);
  unsigned before = 0;

  for (int i = 0; !s->filtered && i < m->n_views; i++)
    if (is_in (m, s, i))
      cf_view_copy (&m->out[i], &m->in[i], begin, end);
  for (int y = begin; s->filtered && y < end; y++) {
    const unsigned place = cf_convolve_place (m->c.op, y, s->height, s->ny), f = place & 255;
    const size_t j = place >> 8, below = j + 1 < (size_t) s->ny ? j + 1 : j;
    const uint32_t *a = s->cells + j * (size_t) s->samples, *b = s->cells + below * (size_t) s->samples;
    uint8_t *out = s->out + (size_t) y * s->out_pitch, *row = s->keep ? scratch : out;

    if (y == begin || place != before)
      m->simd->between[bytes - 1](a, b, f, s->whole, view->shift, row);
    else if (!s->keep)
      memcpy (out, out - s->out_pitch, (size_t) (s->whole * bytes));
    if (s->keep)
      m->simd->blend (out, s->in + (size_t) y * s->in_pitch, s->keep, s->whole / 4, scratch, false);
    if (s->whole < s->samples)
      paint_rest (m, s, y, a, b, f);
    before = place;
  }
}

/* ---- a frame ------------------------------------------------------------- */

enum { SUM, MEAN, PAINT, N_PASSES };

/* Returns the tasks of a strip. */
static int
n_tasks (const CfConvolveCpu *m, const CfConvolveStrip *s)
{
  if (m->pass == SUM)
    return s->filtered && m->c.op != CF_CONVOLVE_FILL ? s->ny * cf_divide_up (s->samples, SUM_SAMPLES) : 0;
  return m->pass == MEAN ? s->ny : cf_divide_up (s->height, paint_rows (s));
}

static void
run_task (void *data, int task, int thread)
{
  const CfConvolveCpu *m = data;
  const CfConvolveStrip *s = m->strips;
  uint8_t *scratch = m->scratch + (size_t) thread * m->scratch_size;

  for (; task >= n_tasks (m, s); s++)
    task -= n_tasks (m, s);
  if (m->pass == SUM)
    sum_columns (m, s, task, scratch);
  else if (m->pass == MEAN)
    make_row (m, s, task);
  else
    paint (m, s, task, scratch);
}

void
cf_convolve_hide (CfConvolveCpu *m, const CfVideo *video, int n)
{
  m->video = video;
  m->n_views = n;
  make_strips (m);
  for (m->pass = SUM; m->pass < N_PASSES; m->pass++) {
    int tasks = 0;

    for (int i = 0; i < m->n_strips; i++)
      tasks += n_tasks (m, &m->strips[i]);
    cf_parallel_for (tasks, run_task, m);
  }
}
