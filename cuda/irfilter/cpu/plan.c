/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/cpu/plan.c: the recursive filter's plan on the CPU: its memory, its passes, which run one after another, and
 * their tasks. By quadrants a task is one core of a view; along lines there are a pass over all blocks of columns and
 * one over all rows. */
#include "internal.h"

#include "core/cpu.h"
#include "core/threads.h"

#include <stdlib.h>
#include <string.h>

static const CfIrSimd *const simd[] = CF_ISA_TABLES (cf_ir_simd);
static const CfIrLinesSimd *const lines[] = CF_ISA_TABLES (cf_ir_lines);

#define COPIED_ROWS 64 /* by one task */

/* ---- tasks --------------------------------------------------------------- */

/* One pass over a frame. Its tasks do not depend on each other. */
typedef struct {
  const CfIrCpu *m;
  int number; /* along lines: 0 columns, 1 rows */
} Pass;

/* Returns the number of tasks of a view: slices of rows where it is copied, in the first pass; along lines, blocks of
 * columns, or rows; else its cores, *nx along its width. */
static int
tasks_of (const CfIrCpu *m, int pass, int view, int *nx)
{
  const CfView *v = &m->in[view];
  int margin;

  *nx = 1;
  if (!v->filtered)
    return pass == 0 ? cf_divide_up (v->height, COPIED_ROWS) : 0;
  if (m->design.by_lines)
    return pass == 0 ? cf_divide_up (v->width, CF_IR_LINES_COLUMNS) : cf_ir_segments (v->height);
  margin = m->design.pass[pass].warmup_margin;
  *nx = cf_ir_grid (v->width, margin);
  return *nx * cf_ir_grid (v->height, margin);
}

static void
filter_lines (const CfIrCpu *m, int pass, int view, int task, float *scratch)
{
  const CfIrLinesTask t = {
    .lines = &m->design.lines,
    .zero = m->design.border == CF_IR_ZERO,
    .chroma = cf_ir_is_chroma (m, view),
    .in = &m->in[view],
    .out = &m->out[view],
    .between = m->plane[0][view],
    .scratch = scratch,
  };

  if (pass == 0)
    m->lines->columns (&t, task * CF_IR_LINES_COLUMNS);
  else
    m->lines->rows (&t, task * CF_IR_LINES_ROWS);
}

static void
run_task (void *data, int task, int thread)
{
  const Pass *pass = data;
  const CfIrCpu *m = pass->m;
  float *scratch;
  int view = 0, nx, n;

  while (task >= (n = tasks_of (m, pass->number, view, &nx))) {
    task -= n;
    view++;
  }
  if (!m->in[view].filtered) {
    cf_view_copy (&m->out[view], &m->in[view], task * COPIED_ROWS,
        cf_min ((task + 1) * COPIED_ROWS, m->in[view].height));
    return;
  }
  scratch = m->scratch + (size_t) thread * m->scratch_size; /* NULL where no view is filtered */
  if (m->design.by_lines)
    filter_lines (m, pass->number, view, task, scratch);
  else
    cf_ir_core (m, pass->number, view, task % nx, task / nx, scratch);
}

/* ---- the plan ------------------------------------------------------------ */

/* Returns the floats of a plane of a filtered view, and of the scratch memory that it needs. */
static size_t
plane_size (const CfIrCpu *m, int view, size_t *scratch)
{
  const CfView *v = &m->in[view];

  *scratch = 0;
  if (m->design.by_lines) {
    *scratch = cf_ir_lines_scratch (v) / sizeof (float);
    return cf_ir_lines_between (v) / sizeof (float);
  }
  for (int p = 0; p < m->design.n; p++) {
    size_t needed = cf_ir_scratch (m, p, view);

    *scratch = needed > *scratch ? needed : *scratch;
  }
  return (size_t) v->width * (size_t) v->height;
}

/* Reserves memory for the threads' scratch and for the planes of each filtered view.
 * Keeps the present memory if it is large enough, or if the allocation fails. */
static CfCode
reserve_memory (CfIrCpu *m, CfStatus *status)
{
  size_t samples = 0, scratch = 0, size, needed;
  int planes = m->design.n < 2 || m->design.by_lines ? 1 : 2;
  float *at;

  for (int v = 0; v < m->n_views; v++)
    if (m->in[v].filtered) {
      samples += plane_size (m, v, &needed);
      scratch = needed > scratch ? needed : scratch;
    }
  scratch = (scratch + 1023) & ~(size_t) 1023;
  size = scratch * (size_t) cf_cpu_threads () + ((planes * samples + 15) & ~(size_t) 15);
  if (size == 0) /* nothing is filtered */
    return CF_OK;
  if (size > m->size) {
    float *memory = aligned_alloc (64, (size * sizeof *memory + 63) & ~(size_t) 63);

    if (!memory)
      return cf_fail (status, CF_NO_MEMORY, "out of memory: the recursive filter needs %zu MB for sums and windows",
          (size * sizeof *memory) >> 20);
    free (m->memory);
    m->memory = memory;
    m->size = size;
  }
  m->scratch = m->memory;
  m->scratch_size = scratch;
  if (scratch)
    memset (m->scratch, 0, scratch * (size_t) cf_cpu_threads () * sizeof *m->scratch);
  at = m->memory + scratch * (size_t) cf_cpu_threads ();
  for (int k = 0; k < planes; k++)
    for (int v = 0; v < m->n_views; v++)
      if (m->in[v].filtered) {
        m->plane[k][v] = at;
        at += plane_size (m, v, &needed);
      }
  return CF_OK;
}

static CfCode
update (CfPlan *plan, CfStatus *status)
{
  CfIrCpu *m = plan->state;
  CfImage image;
  CfCode code = cf_ir_design (plan->params, plan->video.format, &m->design, status);

  if (code != CF_OK)
    return code;
  cf_image_layout (&image, plan->video.format, plan->video.width, plan->video.height, 1);
  m->n_views = cf_image_views (&plan->video, &plan->common, &image, m->in);
  return reserve_memory (m, status);
}

static CfCode
init (CfPlan *plan, CfStatus *status)
{
  CfIrCpu *m = plan->state;

  m->simd = simd[cf_cpu_isa_number ()];
  m->lines = lines[cf_cpu_isa_number ()];
  m->format = plan->video.format;
  return update (plan, status);
}

static void
release (CfPlan *plan)
{
  free (((CfIrCpu *) plan->state)->memory);
}

static CfCode
enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  CfIrCpu *m = plan->state;

  (void) stream;
  (void) status;
  cf_image_views (&plan->video, &plan->common, in, m->in);
  cf_image_views (&plan->video, &plan->common, out, m->out);
  for (int p = 0; p < (m->design.by_lines ? 2 : m->design.n); p++) {
    Pass pass = { m, p };
    int tasks = 0, nx;

    for (int v = 0; v < m->n_views; v++)
      tasks += tasks_of (m, p, v, &nx);
    cf_parallel_for (tasks, run_task, &pass);
  }
  return CF_OK;
}

const CfOps cf_irfilter_cpu = {
  .state_size = sizeof (CfIrCpu),
  .init = init,
  .update = update,
  .enqueue = enqueue,
  .free = release,
};
