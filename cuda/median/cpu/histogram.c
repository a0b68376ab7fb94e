/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/histogram.c: rank filters by histograms of columns, whose cost does not grow with the window. Values of
 * more than ten bits are found digit by digit: once the first digit of each output of a task is known, a pass for
 * every first digit that occurs finds the second digit among the samples that begin with it, and so on. The digits
 * before the wanted one are its prefix. Packed pixels (24 bits) have so many prefixes that the results of those with
 * few samples are looked up in a sorted list of the samples instead. */
#include "internal.h"

#include <string.h>

#define NOT_FOUND 0xffffffffu /* output without its next digit */

/* The list serves the last digit of values with digits of 4, 10 and 10 bits. */
#define LIST_LEVELS 3
#define LIST_PREFIXES (1 << 14)
#define LIST_SHORT 1024 /* samples of a prefix; with more of them a pass is faster */

void
cf_median_histogram_prepare (CfMedianCpu *m)
{
  CfMedianDigits *d = &m->digits;
  int first = m->bits <= 10 ? m->bits : (m->bits - 1) % 10 + 1, shift = m->bits - first;

  memset (d, 0, sizeof *d);
  d->wide = m->win.h * m->win.depth > 255 || m->win.n > 65535;
  d->level[0].bits = first;
  d->level[0].shift = shift;
  for (d->levels = 1; shift > 0; d->levels++) {
    shift -= 10;
    d->level[d->levels].bits = 10;
    d->level[d->levels].shift = shift;
  }
  d->max_cols = m->bits <= 8 ? 2048 : d->levels == 1 ? 512 : d->levels == 2 ? 256 : 128;
  d->max_rows = d->levels == 1 ? CF_MAX_SIZE : d->max_cols;
}

static int
groups_of (int bits)
{
  return bits > 5 ? 1 << (bits - 5) : 1;
}

/* Returns the maximum number of columns that the windows of a task cover. */
static size_t
columns_of (const CfMedianCpu *m)
{
  return (size_t) (m->digits.max_cols + m->win.w - 1);
}

static size_t
fine_size (const CfMedianCpu *m)
{
  int groups = groups_of (m->digits.level[m->digits.levels - 1].bits);

  return (size_t) groups * columns_of (m) * 32 * (m->digits.wide ? 2 : 1);
}

/* Returns the maximum number of samples that the windows of a task cover; 0 if no list is needed. */
static size_t
list_length (const CfMedianCpu *m)
{
  size_t rows = (size_t) (m->digits.max_rows + m->win.h - 1);

  return m->digits.levels < LIST_LEVELS ? 0 : columns_of (m) * rows * (size_t) m->win.depth;
}

size_t
cf_median_histogram_scratch (const CfMedianCpu *m)
{
  const CfMedianDigits *d = &m->digits;
  size_t columns = columns_of (m), rows = d->levels == 1 ? 0 : (size_t) d->max_rows;
  size_t outputs = 3 * sizeof (uint32_t) * rows * (size_t) d->max_cols;
  size_t lines = columns * (2 * sizeof (uint32_t) + 3 * sizeof (uint16_t));

  return fine_size (m) + columns * 64 + outputs + lines + 2 * sizeof (uint64_t) * list_length (m) +
      sizeof (uint32_t) * (LIST_PREFIXES + 1) + 16 * 64;
}

typedef struct {
  const CfMedianCpu *m;
  const CfMedianTask *task;
  CfMedianColumns columns;
  uint32_t *found, *next, *rank; /* of the task's outputs, as in CfMedianSweep */
  void *row, *input;
  uint16_t *add, *sub, *digit;
  uint64_t *list, *other; /* samples: value << 32 | y << 16 | x */
  uint32_t *start;        /* index of each prefix's first sample in the list */
  size_t pitch;           /* of found, next and rank, outputs */
  int x0, x1, y0, y1;     /* the outputs of this pass, in the frame */
} Work;

/* Reads row y of frame s, from the first column of the pass on, as digits of the samples with the prefix. */
static void
digits_of_row (const Work *w, int s, int y, int level, uint32_t prefix, uint16_t *digits)
{
  const CfMedianCpu *m = w->m;
  int bits = m->digits.level[level].bits;

  m->simd->unpack[m->size](&m->in[s][w->task->view], y, w->x0 - m->win.w / 2, w->columns.n, w->row);
  m->simd->digits[m->size](w->row, w->columns.n, m->digits.level[level].shift, (1u << bits) - 1, prefix << bits,
      digits);
}

/* Writes the results of a row: `digit` for values of one digit, else `result`. */
static void
write_row (const Work *w, int y, const uint32_t *result)
{
  const CfMedianCpu *m = w->m;
  const CfMedianTask *t = w->task;
  int n = t->x1 - t->x0;
  const void *row = m->size == 2 ? (const void *) result : result || m->size == 0 ? w->row : w->digit;

  if (m->threshold)
    m->simd->unpack[m->size](&m->in[0][t->view], y, t->x0, n, w->input);
  if (m->size == 0)
    for (int i = 0; i < n; i++)
      ((uint8_t *) w->row)[i] = (uint8_t) w->digit[i];
  else if (m->size == 1 && result)
    for (int i = 0; i < n; i++)
      ((uint16_t *) w->row)[i] = (uint16_t) result[i];
  m->simd->pack[m->size](&m->out[t->view], y, t->x0, n, row, m->threshold ? w->input : NULL, m->threshold);
}

/* Finds the next digit of the outputs of the pass that have this prefix. */
static void
pass (Work *w, int level, uint32_t prefix)
{
  const CfMedianCpu *m = w->m;
  const CfMedianDigits *d = &m->digits;
  int ry = m->win.h / 2, count = d->wide ? 2 : 1;
  CfMedianSweep sweep = { .columns = &w->columns,
    .w = m->win.w,
    .n = w->x1 - w->x0,
    .prefix = prefix,
    .digit_bits = d->level[level].bits,
    .first_rank = (uint32_t) m->win.rank,
    .digit = w->digit };

  w->columns.n = sweep.n + m->win.w - 1;
  memset (w->columns.coarse, 0, (size_t) (w->columns.n * 32 * count));
  memset (w->columns.fine, 0, (size_t) (groups_of (sweep.digit_bits) * 32 * count) * (size_t) w->columns.n);
  for (int y = w->y0; y < w->y1; y++) {
    for (int s = 0; s < m->win.depth; s++) {
      for (int j = y == w->y0 ? -ry : ry; j < ry; j++) {
        digits_of_row (w, s, y + j, level, prefix, w->add);
        m->simd->columns[d->wide](&w->columns, w->add, NULL);
      }
      digits_of_row (w, s, y + ry, level, prefix, w->add);
      if (y > w->y0)
        digits_of_row (w, s, y - ry - 1, level, prefix, w->sub);
      m->simd->columns[d->wide](&w->columns, w->add, y > w->y0 ? w->sub : NULL);
    }
    if (d->levels > 1) {
      size_t at = (size_t) (y - w->task->y0) * w->pitch + (size_t) (w->x0 - w->task->x0);

      sweep.found = w->found + at;
      sweep.next = w->next + at;
      sweep.rank = w->rank + at;
    }
    m->simd->sweep[d->wide](&sweep);
    if (d->levels == 1)
      write_row (w, y, NULL);
  }
}

/* Sets the pass to the smallest rectangle with all outputs of a prefix. */
static void
bound (Work *w, uint32_t prefix)
{
  const CfMedianTask *t = w->task;
  int cols = t->x1 - t->x0, left = cols, right = -1, top = -1, bottom = -1;

  for (int y = 0; y < t->y1 - t->y0; y++) {
    const uint32_t *found = w->found + (size_t) y * w->pitch;
    int first = 0, last = cols - 1;

    while (first < cols && found[first] != prefix)
      first++;
    if (first == cols)
      continue;
    while (found[last] != prefix)
      last--;
    top = top < 0 ? y : top;
    bottom = y;
    left = first < left ? first : left;
    right = last > right ? last : right;
  }
  w->x0 = t->x0 + left;
  w->x1 = t->x0 + right + 1;
  w->y0 = t->y0 + top;
  w->y1 = t->y0 + bottom + 1;
}

/* Lists the samples of the task's windows, sorted by value (a radix sort). */
static void
make_list (Work *w)
{
  const CfMedianCpu *m = w->m;
  const CfMedianTask *t = w->task;
  int cols = t->x1 - t->x0 + m->win.w - 1, rows = t->y1 - t->y0 + m->win.h - 1;
  uint32_t *row = w->row;
  size_t n = 0;

  for (int s = 0; s < m->win.depth; s++)
    for (int y = 0; y < rows; y++) {
      m->simd->unpack[m->size](&m->in[s][t->view], t->y0 - m->win.h / 2 + y, t->x0 - m->win.w / 2, cols, row);
      for (int x = 0; x < cols; x++)
        w->list[n++] = (uint64_t) row[x] << 32 | (uint64_t) y << 16 | (uint64_t) x;
    }
  for (int shift = 32; shift < 32 + 24; shift += 8) {
    size_t at[257] = { 0 };
    uint64_t *sorted = w->other;

    for (size_t i = 0; i < n; i++)
      at[(w->list[i] >> shift & 255) + 1]++;
    for (int i = 0; i < 256; i++)
      at[i + 1] += at[i];
    for (size_t i = 0; i < n; i++)
      sorted[at[w->list[i] >> shift & 255]++] = w->list[i];
    w->other = w->list;
    w->list = sorted;
  }
  for (uint32_t prefix = 0, i = 0; prefix <= LIST_PREFIXES; prefix++) {
    while (i < n && w->list[i] >> (32 + 10) < prefix)
      i++;
    w->start[prefix] = i;
  }
}

/* Returns the value of rank `rank` among the samples with the prefix in the window of the task's output (x, y). */
static uint32_t
look_up (const Work *w, int x, int y, uint32_t prefix, uint32_t rank)
{
  const uint64_t *sample = w->list + w->start[prefix];
  unsigned width = (unsigned) w->m->win.w, height = (unsigned) w->m->win.h;

  for (uint32_t left = rank + 1;; sample++) {
    unsigned dx = (unsigned) (*sample & 0xffff) - (unsigned) x, dy = (unsigned) (*sample >> 16 & 0xffff) - (unsigned) y;

    left -= (dx < width) & (dy < height);
    if (left == 0)
      return (uint32_t) (*sample >> 32);
  }
}

/* Finds all digits but the first for all outputs of the task. */
static void
further_levels (Work *w)
{
  const CfMedianTask *t = w->task;
  int cols = t->x1 - t->x0, rows = t->y1 - t->y0;

  for (int level = 1; level < w->m->digits.levels; level++) {
    uint32_t *found = w->next;
    bool listed = level == LIST_LEVELS - 1;

    w->next = w->found;
    w->found = found;
    memset (w->next, 0xff, sizeof *w->next * w->pitch * (size_t) rows);
    if (listed)
      make_list (w);
    for (int y = 0; y < rows; y++)
      for (int x = 0; x < cols; x++) {
        size_t at = (size_t) y * w->pitch + (size_t) x;
        uint32_t prefix = found[at];

        if (w->next[at] != NOT_FOUND)
          continue;
        if (listed && w->start[prefix + 1] - w->start[prefix] <= LIST_SHORT) {
          w->next[at] = look_up (w, x, y, prefix, w->rank[at]);
          continue;
        }
        bound (w, prefix);
        pass (w, level, prefix);
      }
  }
}

void
cf_median_histogram_task (const CfMedianCpu *m, const CfMedianTask *task, uint8_t *scratch)
{
  int cols = task->x1 - task->x0, rows = task->y1 - task->y0;
  size_t columns = columns_of (m);
  size_t n = m->digits.levels == 1 ? 0 : (size_t) cols * (size_t) rows;
  Work w = { .m = m,
    .task = task,
    .pitch = (size_t) cols,
    .x0 = task->x0,
    .x1 = task->x1,
    .y0 = task->y0,
    .y1 = task->y1 };

  w.columns.coarse = cf_median_take (&scratch, columns * 64);
  w.columns.fine = cf_median_take (&scratch, fine_size (m));
  w.found = cf_median_take (&scratch, sizeof (uint32_t) * n);
  w.next = cf_median_take (&scratch, sizeof (uint32_t) * n);
  w.rank = cf_median_take (&scratch, sizeof (uint32_t) * n);
  w.row = cf_median_take (&scratch, columns * sizeof (uint32_t));
  w.input = cf_median_take (&scratch, columns * sizeof (uint32_t));
  w.add = cf_median_take (&scratch, columns * sizeof (uint16_t));
  w.sub = cf_median_take (&scratch, columns * sizeof (uint16_t));
  w.digit = cf_median_take (&scratch, columns * sizeof (uint16_t));
  w.list = cf_median_take (&scratch, sizeof (uint64_t) * list_length (m));
  w.other = cf_median_take (&scratch, sizeof (uint64_t) * list_length (m));
  w.start = cf_median_take (&scratch, sizeof (uint32_t) * (LIST_PREFIXES + 1));
  memset (w.found, 0, sizeof (uint32_t) * n);
  for (size_t i = 0; i < n; i++)
    w.rank[i] = (uint32_t) m->win.rank;
  pass (&w, 0, 0);
  if (m->digits.levels == 1)
    return;
  further_levels (&w);
  for (int y = 0; y < rows; y++)
    write_row (&w, task->y0 + y, w.next + (size_t) y * w.pitch);
}
