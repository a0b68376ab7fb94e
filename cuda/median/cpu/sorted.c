/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/sorted.c: rank filters of values of more than ten bits. The samples under a task's windows are sorted
 * once. The result of an output is then found in the sorted list, from where its neighbour's was: blocks of samples are
 * tested for being in the window, until as many as the rank lie below. A window that moves on by a column changes the
 * number of its samples in the blocks before by those of two columns. Neither the bits nor the picture matter much. */
#include "internal.h"

#include <string.h>

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

  return length_of (m) * (2 * sizeof (uint64_t) + sizeof (uint32_t) + 2 * sizeof (uint16_t)) +
      columns * pitch_of (m) * sizeof (uint16_t) + (columns + 3 * m->max_cols) * sizeof (uint32_t) + 16 * 64;
}

typedef struct {
  const CfMedianCpu *m;
  const CfMedianTask *task;
  uint64_t *list, *other; /* of samples: value << 32 | x << 16 | y * depth + s */
  uint32_t *value;        /* sorted, as x and y of the search */
  void *row;
  CfMedianSearch search;
} Work;

/* Lists the samples under the task's windows, counts the low bytes of their values, and returns how many there are. */
static size_t
list_samples (const Work *w, uint32_t count[256])
{
  const CfMedianCpu *m = w->m;
  const CfMedianTask *t = w->task;
  const int cols = t->x1 - t->x0 + m->win.w - 1, rows = t->y1 - t->y0 + m->win.h - 1;
  uint64_t *list = w->list;

  for (int y = 0; y < rows; y++)
    for (int s = 0; s < m->win.depth; s++) {
      const uint64_t at = (uint64_t) (y * m->win.depth + s);

      m->simd->unpack[m->size](&m->in[s][t->view], t->y0 - m->win.h / 2 + y, t->x0 - m->win.w / 2, cols, w->row);
      for (int x = 0; x < cols; x++) {
        const uint32_t value = m->size == 1 ? ((const uint16_t *) w->row)[x] : ((const uint32_t *) w->row)[x];

        count[value & 255]++;
        *list++ = (uint64_t) value << 32 | (uint64_t) x << 16 | at;
      }
    }
  return (size_t) (list - w->list);
}

/* Makes of counts the index of the first sample of each. */
static void
add_up (uint32_t count[256])
{
  for (uint32_t i = 0, sum = 0; i < 256; i++) {
    sum += count[i];
    count[i] = sum - count[i];
  }
}

/* Sorts the samples by value (a radix sort). The last pass writes them apart. */
static void
sort (Work *w)
{
  const CfMedianCpu *m = w->m;
  const CfMedianSearch s = w->search;
  uint32_t counts[3][256] = { 0 }, *at = counts[0];
  const size_t n = list_samples (w, at);
  int shift = 32;

  for (add_up (at); shift < 32 + 8 * m->size; shift += 8) {
    uint64_t *const list = w->list, *const other = w->other;

    for (size_t i = 0; i < n; i++) {
      const uint64_t sample = list[i];

      at[256 + (sample >> shift >> 8 & 255)]++;
      other[at[sample >> shift & 255]++] = sample;
    }
    w->list = other;
    w->other = list;
    at += 256;
    add_up (at);
  }
  for (size_t i = 0; i < n; i++) {
    const uint64_t sample = w->list[i];
    const uint32_t row = sample & 0xffff, x = sample >> 16 & 0xffff, p = at[sample >> shift]++;

    w->value[p] = (uint32_t) (sample >> 32);
    s.blocks[x * s.pitch + row] = (int16_t) (p / CF_MEDIAN_LISTED);
    if (m->wide) {
      ((uint16_t *) s.x)[p] = (uint16_t) x;
      ((uint16_t *) s.y)[p] = (uint16_t) row;
    } else {
      ((uint8_t *) s.x)[p] = (uint8_t) x;
      ((uint8_t *) s.y)[p] = (uint8_t) row;
    }
  }
}

void
cf_median_sorted_task (const CfMedianCpu *m, const CfMedianTask *task, uint8_t *scratch)
{
  const size_t length = length_of (m), columns = (size_t) (m->max_cols + m->win.w);
  Work w = { .m = m,
    .task = task,
    .list = cf_median_take (&scratch, length * sizeof *w.list),
    .other = cf_median_take (&scratch, length * sizeof *w.other),
    .value = cf_median_take (&scratch, length * sizeof *w.value),
    .row = cf_median_take (&scratch, columns * sizeof (uint32_t)) };
  uint32_t *result = cf_median_take (&scratch, m->max_cols * sizeof *result);
  void *input = cf_median_take (&scratch, m->max_cols * sizeof (uint32_t));
  CfMedianSearch *const s = &w.search;

  *s = (CfMedianSearch) { .x = cf_median_take (&scratch, length * sizeof (uint16_t)),
    .y = cf_median_take (&scratch, length * sizeof (uint16_t)),
    .blocks = cf_median_take (&scratch, columns * pitch_of (m) * sizeof *s->blocks),
    .pitch = pitch_of (m),
    .w = m->win.w,
    .depth = m->win.depth,
    .h = m->win.h * m->win.depth,
    .rank = m->win.rank,
    .n = task->x1 - task->x0,
    .result = result };
  memset (s->x, 0xff, length * (m->wide ? 2 : 1)); /* what lies behind the samples is in no window */
  sort (&w);
  for (; s->top < task->y1 - task->y0; s->top++) {
    m->simd->search[m->wide](s);
    for (int i = 0; i < s->n; i++)
      if (m->size == 1)
        ((uint16_t *) w.row)[i] = (uint16_t) w.value[result[i]];
      else
        ((uint32_t *) w.row)[i] = w.value[result[i]];
    cf_median_write (m, task, task->y0 + s->top, w.row, input);
  }
}
