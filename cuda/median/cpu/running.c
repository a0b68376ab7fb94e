/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/running.c: the running median on the CPU: a task is a row of cells of all components. */
#include "simd.h"
#include "median/running.h"

#include "core/cpu.h"
#include "core/threads.h"

#include <stdlib.h>
#include <string.h>

static const CfMedianSimd *const simd[] = CF_ISA_TABLES (cf_median_simd);

typedef struct {
  CfRunning running; /* first */
  const CfMedianSimd *simd;
  uint8_t *background;
  size_t offset[CF_MAX_VIEWS], pitch[CF_MAX_VIEWS];
  uint16_t *count;
  uint8_t *scratch; /* scratch_size bytes per thread: rows of samples, of distances of three components, of moves */
  size_t scratch_size, row_size;
  bool copies; /* result: component by component */

  /* of the frame */
  CfRunningFrame frame;
  CfMedianOutput output;
  const CfFormatInfo *info;
  int size, largest; /* bytes of a sample - 1; the largest sample value */
  int n_views, n_colors;
  CfView in[CF_MAX_VIEWS], out[CF_MAX_VIEWS];
} CfRunningCpu;

static CfCode
init (CfPlan *plan, CfStatus *status)
{
  CfRunningCpu *m = plan->state;

  if (cf_running_init (plan, status) != CF_OK)
    return status->code;
  m->simd = simd[cf_cpu_isa_number ()];
  m->row_size = ((size_t) plan->video.width * 2 + 63) / 64 * 64;
  m->scratch_size = 5 * m->row_size;
  m->copies = !cf_running_rows_are_full (plan);
  m->background = calloc (1, cf_running_layout (plan, m->offset, m->pitch));
  m->count = malloc (cf_running_counts (&m->running) * sizeof *m->count);
  m->scratch = aligned_alloc (64, m->scratch_size * (size_t) cf_cpu_threads ());
  if (!m->background || !m->count || !m->scratch)
    return cf_fail (status, CF_NO_MEMORY, "out of memory: the background of %d x %d pixels", plan->video.width,
        plan->video.height);
  return CF_OK;
}

static void
release (CfPlan *plan)
{
  CfRunningCpu *m = plan->state;

  free (m->background);
  free (m->count);
  free (m->scratch);
  cf_running_free (plan);
}

/* Takes row y of a component: moves its background, and leaves the distances. Returns the row of the background. */
static const void *
follow_row (const CfRunningCpu *m, int view, int y, void *samples, void *distance)
{
  void *background = m->background + m->offset[view] + (size_t) y * m->pitch[view];

  m->simd->unpack[m->size](&m->in[view], y, 0, m->in[view].width, samples);
  m->simd->follow[m->size](background, samples, distance, m->in[view].width, m->frame.step, m->largest);
  return background;
}

static void
fill_row (const CfRunningCpu *m, void *row, int n, int value)
{
  if (m->size == 0)
    memset (row, value, (size_t) n);
  else
    for (int i = 0; i < n; i++)
      ((uint16_t *) row)[i] = (uint16_t) value;
}

static void
mask_row (const CfRunningCpu *m, const uint8_t *restrict moves, int n, void *row)
{
  const uint16_t largest = (uint16_t) m->largest;
  uint8_t *restrict bytes = row;
  uint16_t *restrict words = row;

  if (m->size == 0)
    for (int i = 0; i < n; i++)
      bytes[i] = moves[i] ? 255 : 0;
  else
    for (int i = 0; i < n; i++)
      words[i] = moves[i] ? largest : 0;
}

static void
write_row (const CfRunningCpu *m, int view, int y, const void *row)
{
  m->simd->pack[m->size](&m->out[view], y, 0, m->out[view].width, row, NULL, 0);
}

/* Adds the pixels of a row that move to the counts of their cells. */
static void
count_moves (const uint8_t *moves, int n, uint16_t *count)
{
  for (; n > 0; n -= CF_RUNNING_CELL, moves += CF_RUNNING_CELL, count++) {
    unsigned sum = 0;

    for (int i = 0; i < (n < CF_RUNNING_CELL ? n : CF_RUNNING_CELL); i++)
      sum += moves[i];
    *count = (uint16_t) (*count + sum);
  }
}

/* Takes row y of the components that decide what moves: luma, or red, green and blue. */
static void
deciding_row (const CfRunningCpu *m, int y, uint8_t *scratch, uint16_t *count)
{
  uint8_t *moves = scratch + 4 * m->row_size, *distance = scratch + m->row_size;
  const bool decides = m->running.fresh || m->output == CF_MEDIAN_MASK;
  const int n = m->in[0].width;

  memset (moves, 0, (size_t) n);
  for (int i = 0; i < m->n_colors; i++, distance += m->row_size) {
    const void *background = follow_row (m, i, y, scratch, distance);

    if (decides)
      m->simd->exceed[m->size](distance, moves, n, m->frame.threshold);
    if (m->output == CF_MEDIAN_BACKGROUND)
      write_row (m, i, y, background);
    else if (m->output == CF_MEDIAN_DIFFERENCE)
      write_row (m, i, y, distance);
  }
  if (m->running.fresh)
    count_moves (moves, n, count);
  if (m->output == CF_MEDIAN_MASK)
    mask_row (m, moves, n, scratch);
  for (int i = 0; m->output == CF_MEDIAN_MASK && i < m->n_colors; i++)
    write_row (m, i, y, scratch);
}

static void
chroma_row (const CfRunningCpu *m, int view, int y, uint8_t *scratch)
{
  const void *row = follow_row (m, view, y, scratch, scratch + m->row_size);

  if (m->output == CF_MEDIAN_RESULT)
    return;
  if (m->output != CF_MEDIAN_BACKGROUND) {
    fill_row (m, scratch, m->in[view].width, (m->largest + 1) / 2);
    row = scratch;
  }
  write_row (m, view, y, row);
}

static void
run_task (void *data, int index, int thread)
{
  const CfRunningCpu *m = data;
  uint8_t *scratch = m->scratch + (size_t) thread * m->scratch_size;
  uint16_t *count = m->count + (size_t) index * (size_t) m->running.pitch;

  memset (count, 0, (size_t) m->running.pitch * sizeof *count);
  for (int i = 0; i < m->n_views; i++) {
    const CfView *view = &m->in[i];
    const int rows = CF_RUNNING_CELL >> m->info->comp[view->component].h_sub;
    const int begin = index * rows, end = begin + rows < view->height ? begin + rows : view->height;

    if (m->output == CF_MEDIAN_RESULT ? m->copies : !view->filtered)
      cf_view_copy (&m->out[i], view, begin, end);
    if (!view->filtered || (i > 0 && i < m->n_colors))
      continue;
    for (int y = begin; y < end; y++)
      if (i == 0)
        deciding_row (m, y, scratch, count);
      else
        chroma_row (m, i, y, scratch);
  }
}

static CfCode
enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  const CfFormatInfo *info = cf_format_info (plan->video.format);
  CfRunningCpu *m = plan->state;

  (void) stream;
  (void) status;
  m->frame = cf_running_frame (plan);
  m->output = (CfMedianOutput) ((const CfMedianParams *) plan->params)->output;
  m->info = info;
  m->size = info->bytes - 1;
  m->largest = (1 << info->bits) - 1;
  m->n_colors = info->rgb ? 3 : 1;
  m->n_views = cf_running_views (plan, in, m->in);
  cf_running_views (plan, out, m->out);
  if (m->output == CF_MEDIAN_RESULT && !m->copies)
    cf_image_copy (out, in, NULL);
  cf_parallel_for (m->running.rows, run_task, m);
  return CF_OK;
}

static CfCode
regions (CfPlan *plan, CfRegions *found, CfStatus *status)
{
  (void) status;
  cf_running_regions (plan, ((CfRunningCpu *) plan->state)->count, found);
  return CF_OK;
}

static const char *const variants[] = { "running", NULL };

const CfOps cf_running_cpu = {
  .state_size = sizeof (CfRunningCpu),
  .init = init,
  .update = cf_running_update,
  .enqueue = enqueue,
  .reset = cf_running_reset,
  .free = release,
  .variants = variants,
  .regions = regions,
};
