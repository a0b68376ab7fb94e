/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-plan.c: turns the command line into the list of cases. */

#include "bench.h"

#include <string.h>

static const BenchSize usual_size[] = { { 1920, 1080 } };
static const BenchSize study_sizes[] = { { 320, 240 }, { 640, 480 }, { 1280, 720 }, { 1920, 1080 }, { 2560, 1440 },
  { 3840, 2160 }, { 7680, 4320 } };
static const int study_cameras[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256 };

/* Elements of GStreamer that do comparable work; each supports one or two formats only. */
static const char *const baselines[] = { "videomedian filtersize=5", "videomedian filtersize=9",
  "gaussianblur sigma=1.2", "cvsmooth type=median kernel-width=5",
  "cvsmooth type=gaussian kernel-width=5 kernel-height=5" };

/* Each case has one entry of each list. */
typedef struct {
  const BenchSize *sizes;
  guint n_sizes;
  const int *cameras, *cores, *processes, *gpus, *memories;
  guint n_cameras, n_cores, n_processes, n_gpus, n_memories;
  const char *property;
  char *const *values;
} Lists;

/* Replaces the list by the typed one, if there is one. */
static void
use_typed (const GArray *typed, const int **list, guint *n)
{
  if (typed) {
    *list = (const int *) typed->data;
    *n = typed->len;
  }
}

static void
choose_lists (Lists *lists, const BenchOptions *opt)
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
  use_typed (opt->cameras, &lists->cameras, &lists->n_cameras);
  use_typed (opt->cores, &lists->cores, &lists->n_cores);
  use_typed (opt->processes, &lists->processes, &lists->n_processes);
  use_typed (opt->gpus, &lists->gpus, &lists->n_gpus);
  use_typed (opt->memories, &lists->memories, &lists->n_memories);
}

/* Adds a case for each number of processes, GPUs and cameras. */
static void
add_cameras (GArray *cases, const Lists *lists, BenchCase c)
{
  for (guint p = 0; p < lists->n_processes; p++)
    for (guint g = 0; g < lists->n_gpus; g++)
      for (guint n = 0; n < lists->n_cameras; n++) {
        c.cameras = lists->cameras[n];
        c.processes = MIN (lists->processes[p], c.cameras);
        c.gpus = lists->gpus[g];
        g_array_append_val (cases, c);
      }
}

/* Adds a case of the kernels only, unless the list has it: one for all kinds of host memory,
 * one for CUDA memory. */
static void
add_kernels_only (GArray *cases, const BenchOptions *opt, BenchCase c)
{
  gboolean cuda = c.memory == BENCH_CUDA;

  if (!opt->kernels_only || c.baseline || c.cpu)
    return;
  c.kernels_only = TRUE;
  c.memory = cuda ? BENCH_CUDA : BENCH_PROPOSED;
  for (guint i = 0; i < cases->len; i++) {
    const BenchCase *other = &g_array_index (cases, BenchCase, i);

    if (other->kernels_only && other->line == c.line && other->format == c.format && other->memory == c.memory &&
        other->value == c.value && !memcmp (&other->size, &c.size, sizeof c.size))
      return;
  }
  c.cameras = c.processes = 1;
  g_array_append_val (cases, c);
}

/* Adds the cases of one line at one size: each value of the property in each kind of memory. */
static void
add_values (GArray *cases, const BenchOptions *opt, const Lists *lists, BenchCase c)
{
  gboolean use = !g_strcmp0 (lists->property, "frames-in-flight");

  for (guint m = 0; m < (c.baseline ? 1 : lists->n_memories); m++) {
    c.memory = (BenchMemory) lists->memories[m];
    if (!lists->values || c.baseline || use)
      add_kernels_only (cases, opt, c);
    for (guint v = 0; v == 0 || (lists->values && lists->values[v] && !c.baseline); v++) {
      BenchCase own = c;

      if (lists->values && !c.baseline) {
        own.property = lists->property;
        own.value = lists->values[v];
        if (!use)
          add_kernels_only (cases, opt, own);
      }
      add_cameras (cases, lists, own);
    }
  }
}

static void
add_cases (GArray *cases, const BenchOptions *opt, const Lists *lists, BenchCase c)
{
  c.rate = opt->rate;
  for (guint k = 0; k < lists->n_cores; k++) {
    c.cores = lists->cores[k];
    add_values (cases, opt, lists, c);
  }
}

/* Adds cases on one CPU core, which the others are compared with, then on all or the typed numbers
 * of cores, then on the GPU. */
static void
add_speedup (GArray *cases, const BenchOptions *opt, const BenchMachine *machine, const Lists *lists, BenchCase c)
{
  static const int one = 1;
  Lists own = *lists;

  c.cpu = TRUE;
  if (lists->cores[0] != 1) {
    own.cores = &one;
    own.n_cores = 1;
    add_cases (cases, opt, &own, c);
  }
  add_cases (cases, opt, lists, c);
  c.cpu = FALSE;
  if (machine->gpus > 0)
    add_cases (cases, opt, lists, c);
}

static void
add_line (GArray *cases, const BenchOptions *opt, const BenchMachine *machine, const Lists *lists, BenchCase c)
{
  for (char **format = opt->formats; *format; format++) {
    c.format = *format;
    for (guint s = 0; s < lists->n_sizes; s++) {
      c.size = lists->sizes[s];
      if (opt->study == BENCH_STUDY_SPEEDUP)
        add_speedup (cases, opt, machine, lists, c);
      else
        add_cases (cases, opt, lists, c);
    }
    if (c.baseline)
      break; /* a baseline chooses its own format */
  }
}

/* Moves the cases of the kernels only to the front: one process measures them all. */
static void
put_kernels_only_first (GArray *cases)
{
  GArray *sorted = g_array_sized_new (FALSE, TRUE, sizeof (BenchCase), cases->len);

  for (int only = TRUE; only >= FALSE; only--)
    for (guint i = 0; i < cases->len; i++)
      if (g_array_index (cases, BenchCase, i).kernels_only == only)
        g_array_append_val (sorted, g_array_index (cases, BenchCase, i));
  g_array_set_size (cases, 0);
  g_array_append_vals (cases, sorted->data, sorted->len);
  g_array_unref (sorted);
}

GArray *
bench_plan (const BenchOptions *opt, const BenchMachine *machine)
{
  GArray *cases = g_array_new (FALSE, TRUE, sizeof (BenchCase));
  Lists lists;

  choose_lists (&lists, opt);
  for (char **line = opt->lines; *line; line++)
    add_line (cases, opt, machine, &lists, (BenchCase) { .line = *line });
  for (guint i = 0; opt->baselines && i < G_N_ELEMENTS (baselines); i++)
    add_line (cases, opt, machine, &lists, (BenchCase) { .line = baselines[i], .baseline = TRUE });
  put_kernels_only_first (cases);
  return cases;
}
