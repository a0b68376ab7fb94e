/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-plan.c: from what is asked for to the rows of the table. */

#include "bench.h"

#include <string.h>

static const BenchSize usual_size[] = { { 1920, 1080 } };
static const BenchSize study_sizes[] = { { 320, 240 }, { 640, 480 }, { 1280, 720 }, { 1920, 1080 }, { 2560, 1440 },
  { 3840, 2160 }, { 7680, 4320 } };
static const int study_cameras[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256 };
static char *const study_values[] = { (char *) "3", (char *) "5", (char *) "7", (char *) "9", (char *) "11",
  (char *) "15", (char *) "21", (char *) "31", (char *) "45", (char *) "63", NULL };

/* What users of GStreamer have instead; each takes one or two formats only. */
static const char *const peers[] = { "videomedian filtersize=5", "videomedian filtersize=9", "gaussianblur sigma=1.2",
  "cvsmooth type=median kernel-width=5", "cvsmooth type=gaussian kernel-width=5 kernel-height=5" };

/* What each row has one of. */
typedef struct {
  const BenchSize *sizes;
  guint n_sizes;
  const int *cameras, *cores, *processes, *gpus, *memories;
  guint n_cameras, n_cores, n_processes, n_gpus, n_memories;
  const char *property;
  char *const *values;
} Lists;

static void
choose_cores (Lists *lists, const BenchMachine *machine, int *cores)
{
  guint n = 0;

  for (int c = 1; c < machine->cores && n < 30; c *= 2)
    cores[n++] = c;
  cores[n++] = machine->cores;
  lists->cores = cores;
  lists->n_cores = n;
}

/* What was typed, where it was. */
static void
take (const GArray *typed, const int **list, guint *n)
{
  if (typed) {
    *list = (const int *) typed->data;
    *n = typed->len;
  }
}

static void
choose_lists (Lists *lists, const BenchOptions *opt, const BenchMachine *machine, int *cores)
{
  static const int one = 1, all = 0;
  gboolean by_size = opt->study == BENCH_STUDY_SIZE || opt->study == BENCH_STUDY_SPEEDUP;

  *lists = (Lists) { .sizes = by_size ? study_sizes : usual_size, .n_sizes = by_size ? G_N_ELEMENTS (study_sizes) : 1,
    .cameras = &one, .cores = &all, .processes = &one, .gpus = &all, .n_cameras = 1, .n_cores = 1, .n_processes = 1,
    .n_gpus = 1, .property = opt->property, .values = opt->values };
  if (opt->sizes) {
    lists->sizes = (const BenchSize *) opt->sizes->data;
    lists->n_sizes = opt->sizes->len;
  }
  if (opt->study == BENCH_STUDY_CAMERAS) {
    lists->cameras = study_cameras;
    lists->n_cameras = G_N_ELEMENTS (study_cameras);
  }
  if (opt->study == BENCH_STUDY_THREADS)
    choose_cores (lists, machine, cores);
  take (opt->cameras, &lists->cameras, &lists->n_cameras);
  take (opt->cores, &lists->cores, &lists->n_cores);
  take (opt->processes, &lists->processes, &lists->n_processes);
  take (opt->gpus, &lists->gpus, &lists->n_gpus);
  take (opt->memories, &lists->memories, &lists->n_memories);
  if (opt->study == BENCH_STUDY_KERNEL && !opt->property) {
    lists->property = "kernel-size";
    lists->values = study_values;
  }
}

/* For each number of processes and GPUs, each number of cameras. */
static void
add_cameras (GArray *jobs, const Lists *lists, BenchJob job)
{
  for (guint p = 0; p < lists->n_processes; p++)
    for (guint g = 0; g < lists->n_gpus; g++)
      for (guint n = 0; n < lists->n_cameras; n++) {
        job.cameras = lists->cameras[n];
        job.processes = MIN (lists->processes[p], job.cameras);
        job.gpus = lists->gpus[g];
        g_array_append_val (jobs, job);
      }
}

/* The filters by themselves, once for rows that differ only in how elements are used:
 * from the host's memory, whichever, or in the GPU's. */
static void
add_bare (GArray *jobs, const BenchOptions *opt, BenchJob job)
{
  gboolean cuda = job.memory == BENCH_CUDA;

  if (!opt->bare || job.peer || job.cpu)
    return;
  job.bare = TRUE;
  job.memory = cuda ? BENCH_CUDA : BENCH_PROPOSED;
  for (guint i = 0; i < jobs->len; i++) {
    const BenchJob *other = &g_array_index (jobs, BenchJob, i);

    if (other->bare && other->line == job.line && other->format == job.format && other->memory == job.memory &&
        other->value == job.value && !memcmp (&other->size, &job.size, sizeof job.size))
      return;
  }
  job.cameras = job.processes = 1;
  g_array_append_val (jobs, job);
}

/* One line at one size: each value, in each kind of memory. */
static void
add_values (GArray *jobs, const BenchOptions *opt, const Lists *lists, BenchJob job)
{
  gboolean use = !g_strcmp0 (lists->property, "frames-in-flight");

  for (guint m = 0; m < (job.peer ? 1 : lists->n_memories); m++) {
    job.memory = (BenchMemory) lists->memories[m];
    if (!lists->values || job.peer || use)
      add_bare (jobs, opt, job);
    for (guint v = 0; v == 0 || (lists->values && lists->values[v] && !job.peer); v++) {
      BenchJob own = job;

      if (lists->values && !job.peer) {
        own.property = lists->property;
        own.value = lists->values[v];
        if (!use)
          add_bare (jobs, opt, own);
      }
      add_cameras (jobs, lists, own);
    }
  }
}

static void
add_jobs (GArray *jobs, const BenchOptions *opt, const Lists *lists, BenchJob job)
{
  job.rate = opt->rate;
  for (guint c = 0; c < lists->n_cores; c++) {
    job.cores = lists->cores[c];
    add_values (jobs, opt, lists, job);
  }
}

/* On one core, then on all, then on the GPU: the first is what the others are compared with. */
static void
add_speedup (GArray *jobs, const BenchOptions *opt, const BenchMachine *machine, const Lists *lists, BenchJob job)
{
  static const int one = 1;
  Lists own = *lists;

  job.cpu = TRUE;
  if (opt->study == BENCH_STUDY_SPEEDUP) {
    own.cores = &one;
    own.n_cores = 1;
    add_jobs (jobs, opt, &own, job);
  }
  add_jobs (jobs, opt, lists, job);
  job.cpu = FALSE;
  if (opt->study == BENCH_STUDY_SPEEDUP && machine->gpus > 0)
    add_jobs (jobs, opt, lists, job);
}

static void
add_line (GArray *jobs, const BenchOptions *opt, const BenchMachine *machine, const Lists *lists, BenchJob job)
{
  for (char **format = opt->formats; *format; format++) {
    job.format = *format;
    for (guint s = 0; s < lists->n_sizes; s++) {
      job.size = lists->sizes[s];
      if (opt->study == BENCH_STUDY_SPEEDUP || opt->study == BENCH_STUDY_THREADS)
        add_speedup (jobs, opt, machine, lists, job);
      else
        add_jobs (jobs, opt, lists, job);
    }
    if (job.peer)
      break; /* it chooses its own */
  }
}

/* The filters by themselves come first: one process can do them, away from the others. */
static void
put_bare_first (GArray *jobs)
{
  GArray *sorted = g_array_sized_new (FALSE, TRUE, sizeof (BenchJob), jobs->len);

  for (int bare = TRUE; bare >= FALSE; bare--)
    for (guint i = 0; i < jobs->len; i++)
      if (g_array_index (jobs, BenchJob, i).bare == bare)
        g_array_append_val (sorted, g_array_index (jobs, BenchJob, i));
  g_array_set_size (jobs, 0);
  g_array_append_vals (jobs, sorted->data, sorted->len);
  g_array_unref (sorted);
}

GArray *
bench_plan (const BenchOptions *opt, const BenchMachine *machine)
{
  GArray *jobs = g_array_new (FALSE, TRUE, sizeof (BenchJob));
  int cores[32];
  Lists lists;

  choose_lists (&lists, opt, machine, cores);
  for (char **line = opt->lines; *line; line++)
    add_line (jobs, opt, machine, &lists, (BenchJob) { .line = *line });
  for (guint i = 0; opt->peers && i < G_N_ELEMENTS (peers); i++)
    add_line (jobs, opt, machine, &lists, (BenchJob) { .line = peers[i], .peer = TRUE });
  put_bare_first (jobs);
  return jobs;
}

BenchX
bench_plan_x (const BenchOptions *opt, const GArray *jobs)
{
  static const BenchX of_study[] = { BENCH_X_NONE, BENCH_X_SIZE, BENCH_X_VALUE, BENCH_X_CAMERAS, BENCH_X_SIZE,
    BENCH_X_CORES };
  const BenchJob *first = &g_array_index (jobs, BenchJob, 0);
  BenchX x = of_study[opt->study];

  for (guint i = 1; x == BENCH_X_NONE && i < jobs->len; i++) {
    const BenchJob *job = &g_array_index (jobs, BenchJob, i);

    if (job->bare || first->bare) {
      first = first->bare ? job : first;
      continue;
    }
    if (job->cameras != first->cameras)
      x = BENCH_X_CAMERAS;
    else if (job->cores != first->cores)
      x = BENCH_X_CORES;
    else if (g_strcmp0 (job->value, first->value) && !job->peer)
      x = BENCH_X_VALUE;
    else if (job->size.width != first->size.width || job->size.height != first->size.height)
      x = BENCH_X_SIZE;
  }
  return x;
}
