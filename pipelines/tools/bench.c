/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench: measures frames per second and the latency of a filter line on this
 * machine, as many frames as possible or with cameras in real time, beside the
 * machine's limits and other elements of GStreamer. --help explains the options.
 *
 *   bench-options.c  command line             bench-run.c      one row: pipelines
 *   bench-plan.c     the cases to measure     bench-camera.c   source and sink of a pipeline
 *   bench-machine.c  the machine's limits     bench-frames.c   frame buffers and their images
 *   bench-numbers.c  percentiles, sums        bench-line.c     the filter line
 *   bench-results.c  table and JSON           bench-kernels.c  one row: kernels only
 *   bench-naive.c    one row: naive C         bench-ffmpeg.c   one row: a filter of FFmpeg
 */

#define _GNU_SOURCE 1 /* sched_setaffinity */
#include "bench.h"
#include "cf.h"
#include "line.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* ---- child processes ------------------------------------------------------
 *
 * The parent never starts a thread, GStreamer or CUDA, because these do not survive a fork. */

/* The work of child process `number`. Returns the exit status. */
typedef int (*Work) (gpointer data, int number);

/* Allocates memory that later children share, filled with zeros and kept until the process ends. */
static gpointer
share (gsize size)
{
  gpointer memory = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

  if (memory == MAP_FAILED)
    g_error ("no memory that processes can share: %s", g_strerror (errno));
  return memory;
}

static gboolean *unprinted; /* shared: a child could not print some of the table */

/* Restricts the process to the first `cores` CPUs that it may run on; later threads inherit that. */
static void
take_cores (int cores)
{
  cpu_set_t all, some;

  if (cores <= 0 || sched_getaffinity (0, sizeof all, &all))
    return;
  CPU_ZERO (&some);
  for (int i = 0; i < CPU_SETSIZE && cores > 0; i++)
    if (CPU_ISSET (i, &all)) {
      CPU_SET (i, &some);
      cores--;
    }
  if (sched_setaffinity (0, sizeof some, &some))
    complain ("the number of cores could not be set");
}

static void
start_child (pid_t *child, int cores, Work work, gpointer data, int number)
{
  int status;

  flush_output (); /* or the child would print it again */
  if ((*child = fork ()) < 0)
    complain ("no process can be started: %s", g_strerror (errno));
  if (*child)
    return;
  prctl (PR_SET_PDEATHSIG, SIGTERM);
  take_cores (cores);
  status = work (data, number);
  if (!flush_output ())
    *unprinted = TRUE;
  _exit (status); /* without exit handlers: those of drivers may crash, and all rows are stored */
}

/* Runs `work` in `n` children at once, each on `cores` CPU cores (0: all), and waits for them. Returns
 * the largest exit status, which is 128 + the signal where a signal ended a child. */
static int
run_children (int n, int cores, Work work, gpointer data)
{
  g_autofree pid_t *child = g_new0 (pid_t, n); /* 0 or less: the child has ended */
  int running = 0, worst = 0, signalled = FALSE, status;

  for (int i = 0; i < n; i++) {
    start_child (&child[i], cores, work, data, i);
    running += child[i] > 0;
    worst |= child[i] < 0;
  }
  while (running > 0) {
    gboolean stop = bench_stop && !signalled;

    for (int i = 0; i < n; i++) {
      if (child[i] > 0 && waitpid (child[i], &status, WNOHANG) > 0) {
        worst = MAX (worst, WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status));
        child[i] = 0;
        running--;
      }
      if (child[i] > 0 && stop) /* a child may not have received the signal from the terminal */
        kill (child[i], SIGINT);
    }
    signalled = signalled || stop;
    g_usleep (running ? 10000 : 0);
  }
  return worst;
}

/* ---- results ------------------------------------------------------------- */

gboolean
bench_same_video (const BenchCase *a, const BenchCase *b)
{
  return a->line == b->line && !g_strcmp0 (a->format, b->format) && !memcmp (&a->size, &b->size, sizeof a->size);
}

/* Compares the row with one that was measured before it, or with itself: with the same case in naive C, which comes
 * first, or else on one CPU core, and with the kernels only. Rows of the kernels only have the same value of the
 * property, or lack a property that only the element has. */
static void
compare (const BenchReport *report, BenchRow *row, const BenchRow *base)
{
  const BenchCase *c = bench_case (report, row), *other = bench_case (report, base);
  gboolean same_value = !g_strcmp0 (c->value, other->value);

  if (!base->done || base->state != BENCH_GOOD || !bench_same_video (c, other))
    return;
  if ((other->naive || (other->cpu && other->cores == 1 && !row->over_naive)) && same_value &&
      c->cameras == other->cameras && base->fps > 0) {
    row->speedup = row->fps / base->fps;
    row->over_naive = other->naive;
  }
  if (other->kernels_only && !c->kernels_only && c->cameras == 1 && row->p50 > 0 &&
      (c->memory == BENCH_CUDA) == (other->memory == BENCH_CUDA) && (same_value || !other->value)) {
    row->of_kernels = row->p50 / base->p50;
    row->over_kernels = (row->ms - base->ms) * 1e3;
  }
}

static void
finish_row (BenchReport *report, guint number)
{
  BenchRow *row = &report->rows[number];

  row->done = TRUE;
  for (guint i = 0; i <= number && row->state == BENCH_GOOD; i++)
    compare (report, row, &report->rows[i]);
  bench_table_row (report, row);
}

/* Finishes a row whose process failed. */
static void
fail_row (BenchReport *report, guint number, int status)
{
  BenchRow *row = &report->rows[number];
  const BenchState failure = bench_failure (&g_array_index (report->cases, BenchCase, number));

  if (status > 128)
    bench_fail (row, failure, "the process was ended by signal %d", status - 128);
  else
    bench_fail (row, failure, "the process ended with status %d", status);
  finish_row (report, number);
}

/* ---- work of the child processes ----------------------------------------- */

/* Returns FALSE after a message where a number of GPUs is larger than the machine's. */
static gboolean
check_gpus (const GArray *numbers, const BenchMachine *machine)
{
  for (guint i = 0; i < numbers->len; i++) {
    const int gpus = g_array_index (numbers, int, i);

    if (gpus > 0 && machine->gpus == 0)
      return complain ("--gpus %d: no usable GPU: %s", gpus, machine->why_no_gpu);
    if (gpus > machine->gpus)
      return complain ("--gpus %d: this machine has %d", gpus, machine->gpus);
  }
  return TRUE;
}

/* Checks all lines and formats before the first case is measured, and describes the machine. */
static int
check_request (gpointer data, int number)
{
  const BenchReport *report = data;

  (void) number;
  bench_init ();
  for (char **line = report->opt->lines; *line; line++)
    if (!bench_line_check (*line))
      return 2;
  for (char **format = report->opt->formats; *format; format++)
    if (!bench_format_check (*format))
      return 2;
  bench_machine (report->machine);
  return check_gpus (report->opt->gpus, report->machine) ? 0 : 2;
}

static int
measure_limits (gpointer data, int number)
{
  const BenchReport *report = data;

  (void) number;
  for (guint i = 0; i < report->n_limits && !bench_stop; i++)
    bench_limit (&report->limits[i]);
  return 0;
}

/* Consecutive cases that one child can measure, or one case that several children share. */
typedef struct {
  BenchReport *report;
  guint next, end;
  BenchBarrier *barrier; /* shared, as the rows of the children are */
  BenchRow *parts;
} Batch;

static int
measure_rows (gpointer data, int number)
{
  Batch *batch = data;

  (void) number;
  bench_init ();
  /* After the loss of the GPU the next case needs a new process. */
  for (; batch->next < batch->end && !bench_stop && !cf_gpu_lost (); batch->next++) {
    const BenchCase *c = &g_array_index (batch->report->cases, BenchCase, batch->next);
    BenchRow *row = &batch->report->rows[batch->next];

    if (bench_is_ffmpeg (c->line))
      bench_ffmpeg (batch->report->opt, c, row);
    else if (c->naive)
      bench_naive (batch->report->opt, c, row);
    else if (c->kernels_only)
      bench_kernels_only (batch->report->opt, c, row);
    else
      bench_run (batch->report->opt, c, NULL, row);
    finish_row (batch->report, batch->next);
  }
  return 0;
}

/* Measures one process's share of a case. */
static int
measure_part (gpointer data, int number)
{
  Batch *batch = data;
  BenchCase c = g_array_index (batch->report->cases, BenchCase, batch->next);

  c.cameras = c.cameras * (number + 1) / c.processes - c.cameras * number / c.processes;
  bench_init ();
  bench_run (batch->report->opt, &c, batch->barrier, &batch->parts[number]);
  batch->parts[number].done = TRUE;
  if (batch->parts[number].state != BENCH_GOOD)
    g_atomic_int_add (&batch->barrier->expected, -1); /* the other processes must not wait for this one */
  return 0;
}

/* ---- the order of measurements ------------------------------------------- */

/* Measures the limits for each size and format once. */
static void
run_limits (BenchReport *report)
{
  report->limits = share (report->cases->len * sizeof *report->limits);
  for (guint i = 0; i < report->cases->len; i++) {
    const BenchCase *c = &g_array_index (report->cases, BenchCase, i);

    if (!bench_find_limit (report, &c->size, c->format)) {
      BenchLimit *limit = &report->limits[report->n_limits++];

      limit->size = c->size;
      g_strlcpy (limit->format, c->format, sizeof limit->format);
    }
  }
  run_children (1, 0, measure_limits, report);
}

static gboolean
same_but_cameras (const BenchCase *a, const BenchCase *b)
{
  return bench_same_video (a, b) && a->cores == b->cores && a->value == b->value && a->processes == b->processes &&
      a->gpus == b->gpus && a->memory == b->memory;
}

/* In a study of cameras, returns whether fewer cameras already lost most frames: more cameras
 * would add no information. */
static gboolean
overloaded (const BenchReport *report, const BenchCase *c)
{
  for (guint i = 0; i < report->cases->len && report->opt->study == BENCH_STUDY_CAMERAS; i++) {
    const BenchRow *row = &report->rows[i];
    const BenchCase *other = bench_case (report, row);

    if (row->done && same_but_cameras (other, c) && other->cameras < c->cameras &&
        (row->state != BENCH_GOOD || row->dropped * 2 > row->due))
      return TRUE;
  }
  return FALSE;
}

/* Measures one case whose cameras are shared by several processes. */
static void
measure_shared_row (Batch *batch)
{
  const BenchCase *c = &g_array_index (batch->report->cases, BenchCase, batch->next);
  BenchRow *row = &batch->report->rows[batch->next];
  int status;

  *batch->barrier = (BenchBarrier) { 0, c->processes };
  memset (batch->parts, 0, c->processes * sizeof *batch->parts);
  status = run_children (c->processes, c->cores, measure_part, batch);
  for (int i = 0; i < c->processes; i++)
    if (batch->parts[i].done)
      bench_add_row (row, &batch->parts[i]);
  if (status && row->state == BENCH_GOOD)
    fail_row (batch->report, batch->next, status);
  else
    finish_row (batch->report, batch->next);
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
  guint n = report->cases->len;
  Batch batch = { report, 0, 0, share (sizeof *batch.barrier), share (BENCH_PROCESSES * sizeof *batch.parts) };

  report->rows = share (n * sizeof *report->rows);
  while (batch.next < n && !bench_stop) {
    const BenchCase *c = &g_array_index (report->cases, BenchCase, batch.next);

    batch.end = batch.next + 1;
    if (c->processes > 1 && !overloaded (report, c)) {
      measure_shared_row (&batch);
    } else if (!overloaded (report, c)) {
      int status;

      batch.end = batch_end (report, batch.next);
      status = run_children (1, c->cores, measure_rows, &batch);
      while (batch.next < batch.end && report->rows[batch.next].done)
        batch.next++;
      if (!status || batch.next == batch.end || bench_stop)
        continue;
      fail_row (report, batch.next, status);
    }
    batch.next++;
  }
}

int
main (int argc, char **argv)
{
  BenchOptions opt;
  BenchReport report = { .opt = &opt };
  gboolean good = FALSE, failed = FALSE;
  int status;

  if (!bench_options_parse (&opt, argc, argv))
    return 2;
  catch_signals ();
  report.machine = share (sizeof *report.machine);
  unprinted = share (sizeof *unprinted);
  status = run_children (1, 0, check_request, &report);
  if (status)
    return status;
  report.cases = bench_plan (&opt, report.machine);
  bench_table_machine (&report);
  if (!opt.no_limits)
    run_limits (&report);
  run_cases (&report);
  bench_progress (NULL);
  for (guint i = 0; i < report.cases->len; i++) {
    good = good || (report.rows[i].done && report.rows[i].state == BENCH_GOOD);
    failed = failed || report.rows[i].state == BENCH_FAILED;
  }
  if (!good)
    complain ("nothing could be measured");
  if (opt.json)
    good = bench_json_write (&report) && good;
  if (*unprinted && !ferror (stdout))
    failed = !complain ("some of the table could not be written to the standard output");
  return good && !failed ? 0 : 1;
}
