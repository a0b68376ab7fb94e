/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench: how many frames a second a filter line makes here, and how long each of
 * them takes, flat out or with cameras in real time, beside what the machine can
 * do at all and what else GStreamer has. --help tells how.
 *
 *   bench-options.c  what is asked for        bench-run.c      one row of it
 *   bench-plan.c     the rows to measure      bench-camera.c   source and sink of a pipeline
 *   bench-worker.c   children that do them    bench-frames.c   the frames, bench-picture.c what they show
 *   bench-limits.c   memcpy and the link      bench-line.c     the filter line
 *   bench-bare.c     the filter by itself     bench-context.c  one CUDA context for all pipelines
 *   bench-sum.c      rows of several processes as one
 *   bench-table.c, bench-json.c, bench-plot.c what is told     bench-gpu.c, bench-machine.c
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

/* Reads and waits are to end by it, so nothing is restarted. */
static void
catch_signals (void)
{
  struct sigaction action = { .sa_handler = on_signal };

  sigaction (SIGINT, &action, NULL);
  sigaction (SIGTERM, &action, NULL);
}

/* ---- what children do --------------------------------------------------- */

/* All lines are looked at before the first is measured. */
static int
look (gpointer data, int fd)
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

/* As many rows as can be done on this child's cores. */
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
    const BenchJob *job = &g_array_index (batch->report->jobs, BenchJob, batch->next);
    BenchRow row = { .job = (int) batch->next };

    if (job->bare)
      bench_bare (batch->report->opt, job, &row);
    else
      bench_run (batch->report->opt, job, NULL, &row);
    if (!bench_send (fd, &row, sizeof row))
      return 1;
    if (cf_gpu_lost ()) /* a new process is needed for the next one */
      break;
  }
  return 0;
}

/* A process's part of one row. */
typedef struct {
  BenchReport *report;
  BenchJob job;
  BenchMeeting *meeting;
} Part;

static int
measure_part (gpointer data, int fd)
{
  Part *part = data;
  BenchRow row = { .job = 0 };

  bench_init ();
  bench_run (part->report->opt, &part->job, part->meeting, &row);
  if (row.state != BENCH_GOOD)
    g_atomic_int_add (&part->meeting->expected, -1); /* nobody shall wait for it */
  return bench_send (fd, &row, sizeof row) ? 0 : 1;
}

/* ---- what comes of it ---------------------------------------------------- */

static void
got_machine (const void *thing, gpointer data)
{
  ((BenchReport *) data)->machine = *(const BenchMachine *) thing;
}

static void
got_limit (const void *thing, gpointer data)
{
  const BenchLimit *limit = thing;

  bench_progress (NULL);
  if (limit->frame_bytes)
    bench_table_limit (limit);
  g_array_append_val ((GArray *) data, *limit);
}

static gboolean
same_pictures (const BenchJob *a, const BenchJob *b)
{
  return a->line == b->line && !g_strcmp0 (a->format, b->format) && a->size.width == b->size.width &&
      a->size.height == b->size.height;
}

/* The filters by themselves, which came before: with the same value, or with any of how
 * the elements are used. */
static void
find_bare (BenchReport *report, BenchRow *row)
{
  const BenchJob *job = bench_job (report, row);

  for (guint i = 0; i < report->rows->len && row->state == BENCH_GOOD && row->p50 > 0; i++) {
    const BenchRow *bare = &g_array_index (report->rows, BenchRow, i);
    const BenchJob *other = bench_job (report, bare);

    if (!other->bare || job->bare || job->cameras != 1 || bare->state != BENCH_GOOD || !same_pictures (job, other) ||
        (job->memory == BENCH_CUDA) != (other->memory == BENCH_CUDA) ||
        (other->value && g_strcmp0 (job->value, other->value)))
      continue;
    row->of_bare = row->p50 / bare->p50;
    row->over_bare = (row->ms - bare->ms) * 1e3;
  }
}

/* The same job on one core of the CPU, which came before. */
static void
find_speedup (BenchReport *report, BenchRow *row)
{
  const BenchJob *job = bench_job (report, row);

  for (guint i = 0; i < report->rows->len && row->state == BENCH_GOOD && row->fps > 0; i++) {
    const BenchRow *base = &g_array_index (report->rows, BenchRow, i);
    const BenchJob *other = bench_job (report, base);

    if (other->cpu && other->cores == 1 && base->state == BENCH_GOOD && base->fps > 0 &&
        !g_strcmp0 (job->line, other->line) && !strcmp (job->format, other->format) &&
        !g_strcmp0 (job->value, other->value) && job->cameras == other->cameras &&
        job->size.width == other->size.width && job->size.height == other->size.height)
      row->speedup = row->fps / base->fps;
  }
}

static void
got_row (const void *thing, gpointer data)
{
  Batch *batch = data;
  BenchReport *report = batch->report;
  BenchRow row = *(const BenchRow *) thing;

  batch->next = (guint) row.job + 1;
  g_array_append_val (report->rows, row);
  find_speedup (report, &g_array_index (report->rows, BenchRow, report->rows->len - 1));
  find_bare (report, &g_array_index (report->rows, BenchRow, report->rows->len - 1));
  bench_table_row (report, &g_array_index (report->rows, BenchRow, report->rows->len - 1));
}

static void
got_part (const void *thing, gpointer data)
{
  bench_add_row (data, thing);
}

/* ---- the order of it ----------------------------------------------------- */

/* Each size and format once. */
static void
list_limits (BenchReport *report)
{
  for (guint i = 0; i < report->jobs->len; i++) {
    const BenchJob *job = &g_array_index (report->jobs, BenchJob, i);
    BenchLimit limit = { .size = job->size };
    gboolean have = FALSE;

    for (guint k = 0; k < report->limits->len && !have; k++) {
      const BenchLimit *other = &g_array_index (report->limits, BenchLimit, k);

      have = other->size.width == job->size.width && other->size.height == job->size.height &&
          !strcmp (other->format, job->format);
    }
    g_strlcpy (limit.format, job->format, sizeof limit.format);
    if (!have)
      g_array_append_val (report->limits, limit);
  }
}

static void
find_limits (BenchReport *report)
{
  GArray *found = g_array_new (FALSE, TRUE, sizeof (BenchLimit));

  if (!report->opt->no_limits) {
    list_limits (report);
    bench_worker (0, measure_limits, report, sizeof (BenchLimit), got_limit, found);
  }
  g_array_unref (report->limits);
  report->limits = found;
}

static gboolean
same_but_cameras (const BenchJob *a, const BenchJob *b)
{
  return same_pictures (a, b) && a->cores == b->cores && a->value == b->value && a->processes == b->processes &&
      a->gpus == b->gpus && a->memory == b->memory;
}

/* A camera study ends where most frames are lost: more cameras would tell nothing. */
static gboolean
drowned (const BenchReport *report, const BenchJob *job)
{
  for (guint i = 0; i < report->rows->len && report->opt->study == BENCH_STUDY_CAMERAS; i++) {
    const BenchRow *row = &g_array_index (report->rows, BenchRow, i);

    if (same_but_cameras (bench_job (report, row), job) && bench_job (report, row)->cameras < job->cameras &&
        (row->state != BENCH_GOOD || row->dropped * 2 > row->due))
      return TRUE;
  }
  return FALSE;
}

static void
say_status (BenchRow *row, int status)
{
  row->state = BENCH_FAILED;
  g_snprintf (row->note, sizeof row->note, status > 128 ? "the process was ended by signal %d" :
      "the process ended with status %d", status > 128 ? status - 128 : status);
}

/* A row whose cameras are dealt to several processes. */
static void
find_shared_row (Batch *batch)
{
  const BenchJob *job = &g_array_index (batch->report->jobs, BenchJob, batch->next);
  BenchMeeting *meeting = mmap (NULL, sizeof *meeting, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  g_autofree Part *parts = g_new0 (Part, job->processes);
  g_autofree gpointer *data = g_new0 (gpointer, job->processes);
  BenchRow row = { .job = (int) batch->next };
  int status = 1;

  for (int i = 0; i < job->processes; i++) {
    parts[i] = (Part) { batch->report, *job, meeting };
    parts[i].job.cameras = job->cameras * (i + 1) / job->processes - job->cameras * i / job->processes;
    data[i] = &parts[i];
  }
  if (meeting != MAP_FAILED) {
    meeting->here = 0;
    meeting->expected = job->processes;
    status = bench_workers (job->processes, job->cores, measure_part, data, sizeof row, got_part, &row);
    munmap (meeting, sizeof *meeting);
  }
  row.job = (int) batch->next;
  if (status && row.state == BENCH_GOOD)
    say_status (&row, status);
  got_row (&row, batch);
}

/* How far the rows go that one child can do: on the same cores; the filters by
 * themselves apart, whose context is another, and those of many cameras each alone. */
static guint
batch_end (const BenchReport *report, guint first)
{
  const BenchJob *job = &g_array_index (report->jobs, BenchJob, first);
  guint end = first + 1;

  if (!job->bare && report->opt->study == BENCH_STUDY_CAMERAS)
    return end;
  for (; end < report->jobs->len; end++) {
    const BenchJob *next = &g_array_index (report->jobs, BenchJob, end);

    if (next->cores != job->cores || next->bare != job->bare || next->processes > 1)
      break;
  }
  return end;
}

static void
find_rows (BenchReport *report)
{
  Batch batch = { report, 0, 0 };

  while (batch.next < report->jobs->len && !bench_stop) {
    const BenchJob *job = &g_array_index (report->jobs, BenchJob, batch.next);
    int status;

    if (drowned (report, job)) {
      batch.next++;
      continue;
    }
    if (job->processes > 1) {
      find_shared_row (&batch);
      continue;
    }
    batch.end = batch_end (report, batch.next);
    status = bench_worker (job->cores, measure_rows, &batch, sizeof (BenchRow), got_row, &batch);
    if (status && batch.next < batch.end && !bench_stop) {
      BenchRow row = { .job = (int) batch.next };

      say_status (&row, status);
      got_row (&row, &batch);
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
  status = bench_worker (0, look, &opt, sizeof (BenchMachine), got_machine, &report);
  if (status)
    return status;
  report.jobs = bench_plan (&opt, &report.machine);
  report.limits = g_array_new (FALSE, TRUE, sizeof (BenchLimit));
  report.rows = g_array_new (FALSE, TRUE, sizeof (BenchRow));
  bench_table_machine (&report);
  find_limits (&report);
  find_rows (&report);
  bench_progress (NULL);
  good = any_good (&report, &failed);
  if (!good)
    say ("bench: nothing could be measured");
  if (opt.json)
    good = bench_json_write (&report, opt.json) && good;
  if (opt.plot && good)
    good = bench_plot (&report, opt.plot) && good;
  return good && !failed ? 0 : 1;
}
