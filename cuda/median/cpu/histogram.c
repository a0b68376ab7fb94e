/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/histogram.c: rank filters of values of up to 10 bits by histograms of columns (simd.h), whose cost does
 * not grow with the window. A task's columns stay in the caches; of their sets only those that results need are kept up
 * to date, which are few in a task of natural pictures. */
#include "internal.h"

#include <string.h>

/* Returns the number of columns that the windows of n outputs cover, in whole blocks. */
static size_t
columns_of (const CfMedianCpu *m, int n)
{
  return (size_t) cf_divide_up (n + m->win.w - 1, CF_MEDIAN_BLOCK) * CF_MEDIAN_BLOCK;
}

static size_t
set_size (const CfMedianCpu *m)
{
  return columns_of (m, m->max_cols) * (m->wide ? 64 : 32);
}

/* Returns how many rows are kept of each frame, a power of two: those of a window, and half as many that a block may be
 * behind. */
static int
kept_rows (const CfMedianCpu *m)
{
  int rows = 1;

  while (rows < m->win.h + m->win.h / 2 + 1)
    rows *= 2;
  return rows;
}

size_t
cf_median_histogram_scratch (const CfMedianCpu *m)
{
  const size_t columns = columns_of (m, m->max_cols), rows = (size_t) (kept_rows (m) * m->win.depth);

  return CF_MEDIAN_SETS * (set_size (m) + columns / CF_MEDIAN_BLOCK * sizeof (int)) +
      (rows + 3) * columns * sizeof (uint16_t) + 16 * 64;
}

typedef struct {
  CfMedianSweep sweep;
  const CfMedianCpu *m;
  const CfMedianTask *task;
  void *row, *input;
  uint16_t *kept; /* the rows read last */
  int rows;       /* kept of each frame */
  size_t pitch;   /* of a row, values */
  int columns;    /* of the task's windows, in whole blocks */
} Work;

/* Returns row y of frame s. */
static uint16_t *
kept_row (const Work *w, int s, int y)
{
  return w->kept + (size_t) (s * w->rows + (y & (w->rows - 1))) * w->pitch;
}

static void
read_rows (const Work *w, int from, int to)
{
  const CfMedianCpu *m = w->m;
  const int n = w->columns;

  for (int s = 0; s < m->win.depth; s++)
    for (int y = from; y < to; y++) {
      uint16_t *const row = kept_row (w, s, y);
      const uint8_t *const bytes = w->row;

      m->simd->unpack[m->size](&m->in[s][w->task->view], y, w->task->x0 - m->win.w / 2, n, m->size == 0 ? w->row : row);
      for (int i = 0; m->size == 0 && i < n; i++)
        row[i] = bytes[i];
    }
}

/* Moves the columns of a block on to the rows of this row's windows, or counts these anew where this is shorter. */
static void
ready (CfMedianSweep *sweep, int set, int block)
{
  Work *w = (Work *) (void *) sweep;
  const CfMedianCpu *m = w->m;
  const size_t x = (size_t) block * CF_MEDIAN_BLOCK, size = m->wide ? 64 : 32;
  const int ry = m->win.h / 2, y = sweep->y;
  int *counted = &sweep->counted[set * sweep->n_blocks + block];
  uint8_t *columns = sweep->sets + sweep->set_size * (size_t) set + x * size;
  const bool anew = 2 * (y - *counted) > m->win.h;

  if (anew && m->wide)
    for (int i = 0; i < 32 * CF_MEDIAN_BLOCK; i++)
      ((int16_t *) (void *) columns)[i] = (int16_t) (m->win.h * m->win.depth);
  else if (anew)
    memset (columns, m->win.h * m->win.depth, 32 * CF_MEDIAN_BLOCK);
  for (int s = 0; s < m->win.depth; s++)
    for (int j = anew ? y - ry : *counted + 1 + ry; j <= y + ry; j++)
      m->simd->columns[m->wide](columns, set, kept_row (w, s, j) + x, anew ? NULL : kept_row (w, s, j - m->win.h) + x);
  *counted = y;
}

static void
narrow (const uint16_t *restrict from, int n, uint8_t *restrict to)
{
  for (int i = 0; i < n; i++)
    to[i] = (uint8_t) from[i];
}

void
cf_median_histogram_task (const CfMedianCpu *m, const CfMedianTask *task, uint8_t *scratch)
{
  const size_t columns = columns_of (m, m->max_cols), blocks = CF_MEDIAN_SETS * columns / CF_MEDIAN_BLOCK;
  const int ry = m->win.h / 2, n = task->x1 - task->x0;
  Work w = { .m = m, .task = task, .rows = kept_rows (m), .pitch = columns, .columns = (int) columns_of (m, n) };

  w.sweep = (CfMedianSweep) { .sets = cf_median_take (&scratch, CF_MEDIAN_SETS * set_size (m)),
    .set_size = set_size (m),
    .w = m->win.w,
    .n = n,
    .rank = m->win.rank,
    .result = cf_median_take (&scratch, columns * sizeof (uint16_t)),
    .n_blocks = (int) columns / CF_MEDIAN_BLOCK,
    .ready = ready };
  w.row = cf_median_take (&scratch, columns * sizeof (uint16_t));
  w.input = cf_median_take (&scratch, columns * sizeof (uint16_t));
  w.kept = cf_median_take (&scratch, (size_t) (kept_rows (m) * m->win.depth) * columns * sizeof (uint16_t));
  w.sweep.counted = cf_median_take (&scratch, blocks * sizeof (int));
  for (size_t i = 0; i < blocks; i++)
    w.sweep.counted[i] = task->y0 - m->win.h;
  memset (w.sweep.result, 0, columns * sizeof (uint16_t));
  read_rows (&w, task->y0 - ry, task->y0 + ry);
  for (w.sweep.y = task->y0; w.sweep.y < task->y1; w.sweep.y++) {
    read_rows (&w, w.sweep.y + ry, w.sweep.y + ry + 1);
    m->simd->sweep[m->wide](&w.sweep);
    if (m->size == 0)
      narrow (w.sweep.result, n, w.row);
    cf_median_write (m, task, w.sweep.y, m->size == 0 ? w.row : w.sweep.result, w.input);
  }
}
