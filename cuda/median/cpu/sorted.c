/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/sorted.c: rank filters of values of more than ten bits. The samples under a task's windows are sorted
 * once. The result of an output is then found in the sorted list, from where its neighbour's was: blocks of samples are
 * tested for being in the window, until as many as the rank lie below. A window that moves on by a column changes the
 * number of its samples in the blocks before by those of two columns. Neither the bits nor the picture matter much. */
#include "internal.h"

#include <string.h>

void
cf_median_sorted_prepare (CfMedianCpu *m)
{
  const int side = m->win.w > m->win.h ? m->win.w : m->win.h;

  m->max_cols = side > 64 && m->win.depth == 1 ? 256 : 64;
  m->wide = m->max_cols + side > 256;
}

/* Returns the number of samples that a task's windows cover, in whole blocks. */
static size_t
length_of (const CfMedianCpu *m)
{
  const size_t n = (size_t) (m->max_cols + m->win.w - 1) * (size_t) ((m->max_cols + m->win.h - 1) * m->win.depth);

  return (n + CF_MEDIAN_LISTED - 1) / CF_MEDIAN_LISTED * CF_MEDIAN_LISTED;
}

/* Returns how far columns of block numbers are apart. The search reads up to 31 numbers behind a column. */
static size_t
pitch_of (const CfMedianCpu *m)
{
  return (size_t) ((m->max_cols + m->win.h - 1) * m->win.depth + 31);
}

size_t
cf_median_sorted_scratch (const CfMedianCpu *m)
{
  const size_t columns = (size_t) (m->max_cols + m->win.w);

  return length_of (m) * (2 * sizeof (uint64_t) + 2 * sizeof (uint16_t)) + columns * pitch_of (m) * sizeof (uint16_t) +
      (columns + 3 * m->max_cols) * sizeof (uint32_t) + 16 * 64;
}

/* Lists the n samples under the task's windows: value << 32 | x << 16 | y * depth + s, and returns n. */
static size_t
list_samples (const CfMedianCpu *m, const CfMedianTask *t, void *row, uint64_t *list)
{
  const int cols = t->x1 - t->x0 + m->win.w - 1, rows = t->y1 - t->y0 + m->win.h - 1;
  size_t n = 0;

  for (int y = 0; y < rows; y++)
    for (int s = 0; s < m->win.depth; s++) {
      const uint64_t at = (uint64_t) (y * m->win.depth + s);

      m->simd->unpack[m->size](&m->in[s][t->view], t->y0 - m->win.h / 2 + y, t->x0 - m->win.w / 2, cols, row);
      if (m->size == 1)
        for (int x = 0; x < cols; x++)
          list[n++] = (uint64_t) ((const uint16_t *) row)[x] << 32 | (uint64_t) x << 16 | at;
      else
        for (int x = 0; x < cols; x++)
          list[n++] = (uint64_t) ((const uint32_t *) row)[x] << 32 | (uint64_t) x << 16 | at;
    }
  return n;
}

/* Sorts a list by value (a radix sort) and returns it, or `other`. */
static uint64_t *
sort (uint64_t *list, uint64_t *other, size_t n, int bits)
{
  for (int shift = 32; shift < 32 + bits; shift += 8) {
    size_t at[257] = { 0 };
    uint64_t *sorted = other;

    for (size_t i = 0; i < n; i++)
      at[(list[i] >> shift & 255) + 1]++;
    for (int i = 0; i < 256; i++)
      at[i + 1] += at[i];
    for (size_t i = 0; i < n; i++)
      sorted[at[list[i] >> shift & 255]++] = list[i];
    other = list;
    list = sorted;
  }
  return list;
}

void
cf_median_sorted_task (const CfMedianCpu *m, const CfMedianTask *task, uint8_t *scratch)
{
  const size_t length = length_of (m), columns = (size_t) (m->max_cols + m->win.w);
  const int cols = task->x1 - task->x0;
  uint64_t *list = cf_median_take (&scratch, length * sizeof *list),
           *other = cf_median_take (&scratch, length * sizeof *list);
  void *x = cf_median_take (&scratch, length * sizeof (uint16_t)),
       *y = cf_median_take (&scratch, length * sizeof (uint16_t));
  uint16_t *blocks = cf_median_take (&scratch, columns * pitch_of (m) * sizeof (uint16_t));
  uint32_t *row = cf_median_take (&scratch, columns * sizeof *row);
  uint32_t *result = cf_median_take (&scratch, m->max_cols * sizeof *result);
  void *input = cf_median_take (&scratch, m->max_cols * sizeof (uint32_t));
  const size_t n = list_samples (m, task, row, list);
  CfMedianSearch search = { .x = x,
    .y = y,
    .blocks = blocks,
    .pitch = pitch_of (m),
    .w = m->win.w,
    .h = m->win.h,
    .depth = m->win.depth,
    .rank = m->win.rank,
    .n = cols,
    .result = result };

  list = sort (list, other, n, m->bits);
  memset (x, 0xff, length * (m->wide ? 2 : 1)); /* what lies behind the samples is in no window */
  for (size_t i = 0; i < n; i++) {
    const size_t at = list[i] & 0xffff, column = list[i] >> 16 & 0xffff;

    blocks[column * search.pitch + at] = (uint16_t) (i / CF_MEDIAN_LISTED);
    if (m->wide) {
      ((uint16_t *) x)[i] = (uint16_t) column;
      ((uint16_t *) y)[i] = (uint16_t) (at / (size_t) m->win.depth);
    } else {
      ((uint8_t *) x)[i] = (uint8_t) column;
      ((uint8_t *) y)[i] = (uint8_t) (at / (size_t) m->win.depth);
    }
  }
  for (search.top = 0; search.top < task->y1 - task->y0; search.top++) {
    m->simd->search[m->wide](&search);
    for (int i = 0; i < cols; i++)
      if (m->size == 1)
        ((uint16_t *) (void *) row)[i] = (uint16_t) (list[result[i]] >> 32);
      else
        row[i] = (uint32_t) (list[result[i]] >> 32);
    if (m->threshold)
      m->simd->unpack[m->size](&m->in[0][task->view], task->y0 + search.top, task->x0, cols, input);
    m->simd->pack[m->size](&m->out[task->view], task->y0 + search.top, task->x0, cols, row, m->threshold ? input : NULL,
        m->threshold);
  }
}
