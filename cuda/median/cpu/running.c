/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/cpu/running.c: the running background on the CPU. motion.c finds what moves; here a task is a row of cells of
 * all components. */
#include "motion.h"

#include "core/cpu.h"
#include "core/threads.h"

#include <stdlib.h>
#include <string.h>

static const CfMedianSimd *const simd[] = CF_ISA_TABLES (cf_median_simd);

typedef struct {
  CfRunning running; /* first */
  CfMotion motion;
  uint8_t *background;
  size_t offset[CF_MAX_VIEWS], pitch[CF_MAX_VIEWS];
  uint8_t *scratch; /* scratch_size bytes per thread: rows of samples of a component, of distances of three, and of
                       masked blocks */
  size_t scratch_size, row_size;
  bool copies; /* result: component by component, where rows have more than samples */

  /* of the frame */
  CfRunningFrame frame;
  const CfFormatInfo *info;
  int size, largest; /* bytes of a sample - 1; the largest sample value */
  int n_views;
  CfView in[CF_MAX_VIEWS], out[CF_MAX_VIEWS];
} CfRunningCpu;

static CfCode
init (CfPlan *plan, CfStatus *status)
{
  CfRunningCpu *m = plan->state;

  m->motion.simd = simd[cf_cpu_isa_number ()];
  if (cf_running_init (plan, status) != CF_OK ||
      cf_motion_init (&m->motion, &m->running, cf_format_info (plan->video.format), status) != CF_OK)
    return status->code;
  m->row_size = ((size_t) plan->video.width * 2 + 63) / 64 * 64;
  m->scratch_size = 4 * m->row_size + (2 * (size_t) m->motion.blocks_x + 2 + 63) / 64 * 64;
  m->copies = !cf_running_rows_are_full (plan);
  m->background = calloc (1, cf_running_layout (plan, m->offset, m->pitch));
  m->scratch = aligned_alloc (64, m->scratch_size * (size_t) cf_cpu_threads ());
  if (!m->background || !m->scratch)
    return cf_fail (status, CF_NO_MEMORY, "out of memory: the background of %d x %d pixels", plan->video.width,
        plan->video.height);
  return CF_OK;
}

static void
release (CfPlan *plan)
{
  CfRunningCpu *m = plan->state;

  free (m->background);
  free (m->scratch);
  cf_motion_free (&m->motion);
  cf_running_free (plan);
}

/* Returns the blocks of row y of a view, and sets how many of its samples a block has in a row. */
static const uint16_t *
blocks_of (const CfRunningCpu *m, int view, int y, int *samples)
{
  const CfComponent *comp = &m->info->comp[m->in[view].component];

  *samples = CF_RUNNING_BLOCK >> comp->w_sub;
  return m->motion.block + (size_t) ((y << comp->h_sub) / CF_RUNNING_BLOCK) * (size_t) m->motion.blocks_x;
}

/* Sets masked[x] for the blocks of the row at `block` that are masked. `masked` has room for two blocks more. */
static void
mask_blocks (const CfRunningCpu *m, const uint16_t *block, uint8_t *restrict masked)
{
  const CfMotion *motion = &m->motion;
  const int n = motion->blocks_x, y = (int) ((block - motion->block) / n);
  const uint16_t *above = y > 0 ? block - n : block, *below = y < motion->blocks_y - 1 ? block + n : block;
  uint8_t *restrict column = masked + n + 2; /* of three blocks each, with one more on either side */

  column[0] = column[n + 1] = 0;
  for (int x = 0; x < n; x++)
    column[x + 1] = (uint8_t) ((above[x] | block[x] | below[x]) & CF_MOTION_MASKS);
  for (int x = 0; x < n; x++)
    masked[x] = column[x] | column[x + 1] | column[x + 2];
}

/* Takes row y of a component: moves its background, and leaves the samples and the distances. Returns the row of the
 * background. */
static const uint8_t *
follow_row (const CfRunningCpu *m, int view, int y, uint8_t *row, uint8_t *distance)
{
  const int n = m->in[view].width, bytes = m->size + 1;
  uint8_t *background = m->background + m->offset[view] + (size_t) y * m->pitch[view];
  int samples;
  const uint16_t *block = blocks_of (m, view, y, &samples);

  m->motion.simd->unpack[m->size](&m->in[view], y, 0, n, row);
  /* Neighbouring blocks with the same fate are one run. */
  for (int x = 0, end; x < n; x = end) {
    const int fate = m->frame.begins ? CF_RUNNING_TAKE : block[x / samples] & 3;
    const int step = fate == CF_RUNNING_TAKE ? m->largest : fate == CF_RUNNING_HOLD ? m->frame.hold : m->frame.step;

    for (end = x + samples; end < n && (m->frame.begins || (block[end / samples] & 3) == fate);)
      end += samples;
    end = cf_min (end, n);
    m->motion.simd->follow[m->size](background + x * bytes, row + x * bytes, distance + x * bytes, end - x, step,
        m->largest);
  }
  return background;
}

static void
put (const CfRunningCpu *m, void *row, int x, int value)
{
  if (m->size == 0)
    ((uint8_t *) row)[x] = (uint8_t) value;
  else
    ((uint16_t *) row)[x] = (uint16_t) value;
}

static int
get (const CfRunningCpu *m, const void *row, int x)
{
  return m->size == 0 ? ((const uint8_t *) row)[x] : ((const uint16_t *) row)[x];
}

static void
write_row (const CfRunningCpu *m, int view, int y, const void *row)
{
  m->motion.simd->pack[m->size](&m->out[view], y, 0, m->out[view].width, row);
}

/* Replaces the samples of a row whose blocks are masked by the background. */
static void
still_row (const CfRunningCpu *m, int view, int y, uint8_t *row, const uint8_t *background, uint8_t *masked)
{
  const int n = m->in[view].width, bytes = m->size + 1;
  int samples;
  const uint16_t *block = blocks_of (m, view, y, &samples);

  mask_blocks (m, block, masked);
  for (int x = 0; x < n; x += samples)
    if (masked[x / samples])
      memcpy (row + x * bytes, background + x * bytes, (size_t) (cf_min (samples, n - x) * bytes));
}

/* Writes the mask of row y: the distances of the colors that decide are at `distance`. */
static void
mask_row (const CfRunningCpu *m, int y, uint8_t *row, const uint8_t *distance, uint8_t *masked)
{
  const int n = m->in[0].width;
  int samples;
  const uint16_t *block = blocks_of (m, 0, y, &samples);

  mask_blocks (m, block, masked);
  memset (row, 0, (size_t) n * (size_t) (m->size + 1));
  for (int x = 0; x < n; x++) {
    const int least = (block[x / samples] >> CF_MOTION_LEVEL) * m->frame.step;
    bool moves = false;

    if (!masked[x / samples]) {
      x += samples - 1;
      continue;
    }
    for (int i = 0; i < m->motion.n_colors; i++)
      moves |= get (m, distance + (size_t) i * m->row_size, x) > least;
    if (moves)
      put (m, row, x, m->largest);
  }
  for (int i = 0; i < m->motion.n_colors; i++)
    write_row (m, i, y, row);
}

/* Takes row y of the components that decide, or of one of chroma. */
static void
run_row (const CfRunningCpu *m, int view, int y, uint8_t *row)
{
  const bool chroma = m->info->comp[m->in[view].component].role == CF_ROLE_CHROMA;
  uint8_t *distance = row + m->row_size;

  for (int i = view; i < (chroma ? view + 1 : m->motion.n_colors); i++, distance += m->row_size) {
    const uint8_t *background = follow_row (m, i, y, row, distance);

    if (m->frame.output == CF_MEDIAN_BACKGROUND)
      write_row (m, i, y, background);
    else if (m->frame.output == CF_MEDIAN_STILL) {
      still_row (m, i, y, row, background, row + 4 * m->row_size);
      write_row (m, i, y, row);
    } else if (chroma) {
      for (int x = 0; x < m->in[i].width; x++)
        put (m, row, x, (m->largest + 1) / 2);
      write_row (m, i, y, row);
    } else if (m->frame.output == CF_MEDIAN_DIFFERENCE)
      write_row (m, i, y, distance);
  }
  if (m->frame.output == CF_MEDIAN_MASK && !chroma)
    mask_row (m, y, row, row + m->row_size, row + 4 * m->row_size);
}

static void
run_task (void *data, int index, int thread)
{
  const CfRunningCpu *m = data;
  uint8_t *scratch = m->scratch + (size_t) thread * m->scratch_size;

  for (int i = 0; i < m->n_views; i++) {
    const CfView *view = &m->in[i];
    const int rows = CF_RUNNING_CELL >> m->info->comp[view->component].h_sub;
    const int begin = index * rows, end = cf_min (begin + rows, view->height);

    if (!m->frame.back || !view->filtered)
      cf_view_copy (&m->out[i], view, begin, end);
    else if (i == 0 || i >= m->motion.n_colors)
      for (int y = begin; y < end; y++)
        run_row (m, i, y, scratch);
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
  m->info = info;
  m->size = info->bytes - 1;
  m->largest = (1 << info->bits) - 1;
  m->n_views = cf_running_views (plan, in, m->in);
  cf_running_views (plan, out, m->out);
  cf_motion_frame (&m->motion, m->in, &m->frame);
  if (!m->frame.back && !m->copies)
    cf_image_copy (out, in, NULL);
  else
    cf_parallel_for (m->running.rows, run_task, m);
  return CF_OK;
}

static CfCode
regions (CfPlan *plan, CfRegions *found, CfStatus *status)
{
  const CfMotion *motion = &((CfRunningCpu *) plan->state)->motion;

  (void) status;
  cf_running_regions (plan, motion->state, &motion->scene, found);
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
