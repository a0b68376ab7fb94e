/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench: measures frames per second and the latency of a filter line on this
 * machine, as many frames as possible or with cameras in real time, beside the
 * machine's limits and other elements of GStreamer. --help explains the options.
 *
 *   bench-options.c  command line             bench-run.c      one row: pipelines
 *   bench-plan.c     the cases to measure     bench-camera.c   source and sink of a pipeline
 *   bench-worker.c   child processes          bench-frames.c   frame buffers, bench-images.c their images
 *   bench-machine.c  the machine's limits     bench-line.c     the filter line
 *   bench-table.c, bench-json.c  output       bench-kernels.c  one row: kernels only
 *   bench-numbers.c  percentiles, sums
 */

#include "bench.h"
#include "cf.h"
#include "line.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

volatile int bench_stop;

static void
on_signal (int number)
{
  (void) number;
  bench_stop = 1;
}

/* Without SA_RESTART: a signal has to end reads and waits. */
static void
catch_signals (void)
{
  struct sigaction action = { .sa_handler = on_signal };

  sigaction (SIGINT, &action, NULL);
  sigaction (SIGTERM, &action, NULL);
}

/* ---- work of the child processes ----------------------------------------- */

/* Checks all lines and formats before the first case is measured. */
static int
check_request (gpointer data, int fd)
{
  const BenchOptions *opt = data;
  BenchMachine machine;

  bench_init ();
  for (char **line = opt->lines; *line; line++)
    if (!bench_line_check (*line))
      return 2;
  for (char **format = opt->formats; *format; format++)
    if (!bench_format_check (*format))
      return 2;
  bench_machine (&machine);
  return bench_send (fd, &machine, sizeof machine) ? 0 : 1;
}

static int
measure_limits (gpointer data, int fd)
{
  BenchReport *report = data;

  for (guint i = 0; i < report->limits->len && !bench_stop; i++) {
    BenchLimit *limit = &g_array_index (report->limits, BenchLimit, i);

    bench_limit (limit);
    if (!bench_send (fd, limit, sizeof *limit))
      return 1;
  }
  return 0;
}

/* Consecutive cases that one child can measure. */
typedef struct {
  BenchReport *report;
  guint next, end;
} Batch;

static int
measure_rows (gpointer data, int fd)
{
  Batch *batch = data;

  bench_init ();
  for (; batch->next < batch->end && !bench_stop; batch->next++) {
    const BenchCase *c = &g_array_index (batch->report->cases, BenchCase, batch->next);
    BenchRow row = { .case_index = (int) batch->next };

    if (c->kernels_only)
      bench_kernels_only (batch->report->opt, c, &row);
    else
      bench_run (batch->report->opt, c, NULL, &row);
    if (!bench_send (fd, &row, sizeof row))
      return 1;
    if (cf_gpu_lost ()) /* the next case needs a new process */
      break;
  }
  return 0;
}

/* One process's share of a case. */
typedef struct {
  BenchReport *report;
  BenchCase c;
  BenchBarrier *barrier;
} Part;

static int
measure_part (gpointer data, int fd)
{
  Part *part = data;
  BenchRow row = { .case_index = 0 };

  bench_init ();
  bench_run (part->report->opt, &part->c, part->barrier, &row);
  if (row.state != BENCH_GOOD)
    g_atomic_int_add (&part->barrier->expected, -1); /* the other processes must not wait for this one */
  return bench_send (fd, &row, sizeof row) ? 0 : 1;
}

/* ---- messages of the child processes ------------------------------------- */

static void
on_machine (const void *message, gpointer data)
{
  ((BenchReport *) data)->machine = *(const BenchMachine *) message;
}

static void
on_limit (const void *message, gpointer data)
{
  const BenchLimit *limit = message;

  bench_progress (NULL);
  if (limit->frame_bytes)
    bench_table_limit (limit);
  g_array_append_val ((GArray *) data, *limit);
}

static gboolean
same_video (const BenchCase *a, const BenchCase *b)
{
  return a->line == b->line && !g_strcmp0 (a->format, b->format) && a->size.width == b->size.width &&
      a->size.height == b->size.height;
}

/* Finds the earlier row of the kernels only: with the same value of the property, or without
 * a property that only the element has. */
static void
compare_with_kernels (BenchReport *report, BenchRow *row)
{
  const BenchCase *c = bench_case (report, row);

  for (guint i = 0; i < report->rows->len && row->state == BENCH_GOOD && row->p50 > 0; i++) {
    const BenchRow *kernels = &g_array_index (report->rows, BenchRow, i);
    const BenchCase *other = bench_case (report, kernels);

    if (!other->kernels_only || c->kernels_only || c->cameras != 1 || kernels->state != BENCH_GOOD ||
        !same_video (c, other) || (c->memory == BENCH_CUDA) != (other->memory == BENCH_CUDA) ||
        (other->value && g_strcmp0 (c->value, other->value)))
      continue;
    row->of_kernels = row->p50 / kernels->p50;
    row->over_kernels = (row->ms - kernels->ms) * 1e3;
  }
}

/* Finds the earlier row of the same case on one CPU core. */
static void
find_speedup (BenchReport *report, BenchRow *row)
{
  const BenchCase *c = bench_case (report, row);

  for (guint i = 0; i < report->rows->len && row->state == BENCH_GOOD && row->fps > 0; i++) {
    const BenchRow *base = &g_array_index (report->rows, BenchRow, i);
    const BenchCase *other = bench_case (report, base);

    if (other->cpu && other->cores == 1 && base->state == BENCH_GOOD && base->fps > 0 &&
        !g_strcmp0 (c->line, other->line) && !strcmp (c->format, other->format) &&
        !g_strcmp0 (c->value, other->value) && c->cameras == other->cameras &&
        c->size.width == other->size.width && c->size.height == other->size.height)
      row->speedup = row->fps / base->fps;
  }
}

static void
on_row (const void *message, gpointer data)
{
  Batch *batch = data;
  BenchReport *report = batch->report;
  BenchRow row = *(const BenchRow *) message;

  batch->next = (guint) row.case_index + 1;
  g_array_append_val (report->rows, row);
  find_speedup (report, &g_array_index (report->rows, BenchRow, report->rows->len - 1));
  compare_with_kernels (report, &g_array_index (report->rows, BenchRow, report->rows->len - 1));
  bench_table_row (report, &g_array_index (report->rows, BenchRow, report->rows->len - 1));
}

static void
on_part (const void *message, gpointer data)
{
  bench_add_row (data, message);
}

/* ---- the order of measurements ------------------------------------------- */

/* Lists each size and format once. */
static void
list_limits (BenchReport *report)
{
  for (guint i = 0; i < report->cases->len; i++) {
    const BenchCase *c = &g_array_index (report->cases, BenchCase, i);
    BenchLimit limit = { .size = c->size };
    gboolean have = FALSE;

    for (guint k = 0; k < report->limits->len && !have; k++) {
      const BenchLimit *other = &g_array_index (report->limits, BenchLimit, k);

      have = other->size.width == c->size.width && other->size.height == c->size.height &&
          !strcmp (other->format, c->format);
    }
    g_strlcpy (limit.format, c->format, sizeof limit.format);
    if (!have)
      g_array_append_val (report->limits, limit);
  }
}

static void
run_limits (BenchReport *report)
{
  GArray *found = g_array_new (FALSE, TRUE, sizeof (BenchLimit));

  if (!report->opt->no_limits) {
    list_limits (report);
    bench_worker (0, measure_limits, report, sizeof (BenchLimit), on_limit, found);
  }
  g_array_unref (report->limits);
  report->limits = found;
}

static gboolean
same_but_cameras (const BenchCase *a, const BenchCase *b)
{
  return same_video (a, b) && a->cores == b->cores && a->value == b->value && a->processes == b->processes &&
      a->gpus == b->gpus && a->memory == b->memory;
}

/* In a study of cameras, returns whether fewer cameras already lost most frames: more cameras
 * would add no information. */
static gboolean
overloaded (const BenchReport *report, const BenchCase *c)
{
  for (guint i = 0; i < report->rows->len && report->opt->study == BENCH_STUDY_CAMERAS; i++) {
    const BenchRow *row = &g_array_index (report->rows, BenchRow, i);

    if (same_but_cameras (bench_case (report, row), c) && bench_case (report, row)->cameras < c->cameras &&
        (row->state != BENCH_GOOD || row->dropped * 2 > row->due))
      return TRUE;
  }
  return FALSE;
}

static void
note_status (BenchRow *row, int status)
{
  row->state = BENCH_FAILED;
  g_snprintf (row->note, sizeof row->note, status > 128 ? "the process was ended by signal %d" :
      "the process ended with status %d", status > 128 ? status - 128 : status);
}

/* Measures one case whose cameras are shared by several processes. */
static void
measure_shared_row (Batch *batch)
{
  const BenchCase *c = &g_array_index (batch->report->cases, BenchCase, batch->next);
  BenchBarrier *barrier = mmap (NULL, sizeof *barrier, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  g_autofree Part *parts = g_new0 (Part, c->processes);
  g_autofree gpointer *data = g_new0 (gpointer, c->processes);
  BenchRow row = { .case_index = (int) batch->next };
  int status = 1;

  for (int i = 0; i < c->processes; i++) {
    parts[i] = (Part) { batch->report, *c, barrier };
    parts[i].c.cameras = c->cameras * (i + 1) / c->processes - c->cameras * i / c->processes;
    data[i] = &parts[i];
  }
  if (barrier != MAP_FAILED) {
    barrier->arrived = 0;
    barrier->expected = c->processes;
    status = bench_workers (c->processes, c->cores, measure_part, data, sizeof row, on_part, &row);
    munmap (barrier, sizeof *barrier);
  }
  row.case_index = (int) batch->next;
  if (status && row.state == BENCH_GOOD)
    note_status (&row, status);
  on_row (&row, batch);
}

/* Returns the end of the cases that one child can measure. They have the same number of
 * cores. Cases of the kernels only, which have another CUDA context, are separate. In a
 * study of cameras each case has a process of its own. */
static guint
batch_end (const BenchReport *report, guint first)
{
  const BenchCase *c = &g_array_index (report->cases, BenchCase, first);
  guint end = first + 1;

  if (!c->kernels_only && report->opt->study == BENCH_STUDY_CAMERAS)
    return end;
  for (; end < report->cases->len; end++) {
    const BenchCase *next = &g_array_index (report->cases, BenchCase, end);

    if (next->cores != c->cores || next->kernels_only != c->kernels_only || next->processes > 1)
      break;
  }
  return end;
}

static void
run_cases (BenchReport *report)
{
  Batch batch = { report, 0, 0 };

  while (batch.next < report->cases->len && !bench_stop) {
    const BenchCase *c = &g_array_index (report->cases, BenchCase, batch.next);
    int status;

    if (overloaded (report, c)) {
      batch.next++;
      continue;
    }
    if (c->processes > 1) {
      measure_shared_row (&batch);
      continue;
    }
    batch.end = batch_end (report, batch.next);
    status = bench_worker (c->cores, measure_rows, &batch, sizeof (BenchRow), on_row, &batch);
    if (status && batch.next < batch.end && !bench_stop) {
      BenchRow row = { .case_index = (int) batch.next };

      note_status (&row, status);
      on_row (&row, &batch);
    }
  }
}

static gboolean
any_good (const BenchReport *report, gboolean *failed)
{
  gboolean good = FALSE;

  *failed = FALSE;
  for (guint i = 0; i < report->rows->len; i++) {
    good = good || g_array_index (report->rows, BenchRow, i).state == BENCH_GOOD;
    *failed = *failed || g_array_index (report->rows, BenchRow, i).state == BENCH_FAILED;
  }
  return good;
}

int
main (int argc, char **argv)
{
  BenchOptions opt;
  BenchReport report = { &opt };
  gboolean good, failed;
  int status;

  if (!bench_options_parse (&opt, argc, argv))
    return 2;
  catch_signals ();
  status = bench_worker (0, check_request, &opt, sizeof (BenchMachine), on_machine, &report);
  if (status)
    return status;
  report.cases = bench_plan (&opt, &report.machine);
  report.limits = g_array_new (FALSE, TRUE, sizeof (BenchLimit));
  report.rows = g_array_new (FALSE, TRUE, sizeof (BenchRow));
  bench_table_machine (&report);
  run_limits (&report);
  run_cases (&report);
  bench_progress (NULL);
  good = any_good (&report, &failed);
  if (!good)
    say ("bench: nothing could be measured");
  if (opt.json)
    good = bench_json_write (&report, opt.json) && good;
  return good && !failed ? 0 : 1;
}
