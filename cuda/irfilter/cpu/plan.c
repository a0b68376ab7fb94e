/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/cpu/plan.c: the recursive filter's plan on the CPU: its memory and its tasks by quadrants. A task is one
 * core of a view and independent of all other tasks of its pass; the passes run one after another. lines.c has the
 * tasks of a filter along lines. */
#include "internal.h"
#include "lines.h"

#include "core/cpu.h"
#include "core/threads.h"

#include <stdlib.h>
#include <string.h>

static const CfIrSimd *const simd[] = CF_ISA_TABLES (cf_ir_simd);

#define COPIED_ROWS 64 /* by one task */

/* ---- tasks --------------------------------------------------------------- */

int
cf_ir_copy_tasks (const CfView *view)
{
  return (view->height + COPIED_ROWS - 1) / COPIED_ROWS;
}

void
cf_ir_copy (const CfIrCpu *m, int view, int task)
{
  int row = task * COPIED_ROWS, height = m->in[view].height;

  cf_view_copy (&m->out[view], &m->in[view], row, row + COPIED_ROWS < height ? row + COPIED_ROWS : height);
}

/* One pass over a frame. */
typedef struct {
  const CfIrCpu *m;
  int pass;
} Pass;

/* Returns the number of tasks of a view: its cores, *nx along its width; for a view that is copied (in the
 * first pass), slices of rows. */
static int
tasks_of (const CfIrCpu *m, int pass, int view, int *nx)
{
  const CfView *v = &m->in[view];
  int margin = m->design.pass[pass].warmup_margin;

  *nx = 1;
  if (!v->filtered)
    return pass == 0 ? cf_ir_copy_tasks (v) : 0;
  *nx = cf_ir_grid (v->width, margin);
  return *nx * cf_ir_grid (v->height, margin);
}

static void
run_task (void *data, int task, int thread)
{
  const Pass *pass = data;
  const CfIrCpu *m = pass->m;
  int view = 0, nx, n;

  while (task >= (n = tasks_of (m, pass->pass, view, &nx))) {
    task -= n;
    view++;
  }
  if (m->in[view].filtered)
    cf_ir_core (m, pass->pass, view, task % nx, task / nx, m->scratch + (size_t) thread * m->scratch_size);
  else
    cf_ir_copy (m, view, task);
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
  if (m->design.by_lines) {
    cf_ir_run_lines (m);
    return CF_OK;
  }
  for (int p = 0; p < m->design.n; p++) {
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
