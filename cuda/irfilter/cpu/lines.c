/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/cpu/lines.c: the tasks of a frame that is filtered along lines: first all blocks of columns, then all rows.
 * The tasks of one pass do not depend on each other. */
#include "internal.h"
#include "lines.h"

#include "core/cpu.h"
#include "core/threads.h"

static const CfIrLinesSimd *const simd[] = CF_ISA_TABLES (cf_ir_lines);

typedef struct {
  const CfIrCpu *m;
  bool rows;
} Pass;

static int
tasks_of (const Pass *pass, int view)
{
  const CfView *v = &pass->m->in[view];

  if (!v->filtered)
    return pass->rows ? cf_ir_copy_tasks (v) : 0;
  return pass->rows ? cf_ir_segments (v->height) : (v->width + CF_IR_LINES_COLUMNS - 1) / CF_IR_LINES_COLUMNS;
}

static void
run_task (void *data, int task, int thread)
{
  const Pass *pass = data;
  const CfIrCpu *m = pass->m;
  const CfIrLinesSimd *functions = simd[cf_cpu_isa_number ()];
  CfIrLinesTask t = { &m->design.lines, m->design.border == CF_IR_ZERO };
  int view = 0;

  for (; task >= tasks_of (pass, view); view++)
    task -= tasks_of (pass, view);
  if (!m->in[view].filtered) {
    cf_ir_copy (m, view, task);
    return;
  }
  t.chroma = cf_ir_is_chroma (m, view);
  t.in = &m->in[view];
  t.out = &m->out[view];
  t.between = m->plane[0][view];
  t.scratch = m->scratch + (size_t) thread * m->scratch_size;
  if (pass->rows)
    functions->rows (&t, task * CF_IR_LINES_ROWS);
  else
    functions->columns (&t, task * CF_IR_LINES_COLUMNS);
}

void
cf_ir_run_lines (const CfIrCpu *m)
{
  for (int rows = 0; rows < 2; rows++) {
    Pass pass = { m, rows };
    int tasks = 0;

    for (int v = 0; v < m->n_views; v++)
      tasks += tasks_of (&pass, v);
    cf_parallel_for (tasks, run_task, &pass);
  }
}
