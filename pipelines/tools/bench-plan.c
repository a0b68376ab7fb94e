/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-plan.c: turns the command line into the list of cases. */

#include "bench.h"

/* Elements of GStreamer and filters of FFmpeg that do comparable work; most elements take one or two formats only. */
static const char *const baselines[] = { "videomedian filtersize=5 lum-only=false",
  "videomedian filtersize=9 lum-only=false", "gaussianblur sigma=1.2", "cvsmooth type=median kernel-width=5",
  "cvsmooth type=gaussian kernel-width=5 kernel-height=5", "ffmpeg:median=radius=1", "ffmpeg:median=radius=2",
  "ffmpeg:gblur=sigma=1.2", "ffmpeg:avgblur=sizeX=2" };

typedef struct {
  const BenchOptions *opt;
  const BenchMachine *machine;
  GArray *cases;
  gboolean kernels_only; /* adds these cases, or all others */
} Plan;

/* Adds a case for each number of processes, GPUs and cameras. */
static void
add_cameras (Plan *plan, BenchCase c)
{
  const BenchOptions *opt = plan->opt;

  c.cameras = c.processes = 1;
  if (bench_is_ffmpeg (c.line) || c.naive) { /* one stream of the program ffmpeg, one thread */
    g_array_append_val (plan->cases, c);
    return;
  }
  for (guint p = 0; p < opt->processes->len; p++)
    for (guint g = 0; g < opt->gpus->len; g++)
      for (guint n = 0; n < opt->cameras->len; n++) {
        c.cameras = g_array_index (opt->cameras, int, n);
        c.processes = MIN (g_array_index (opt->processes, int, p), c.cameras);
        c.gpus = g_array_index (opt->gpus, int, g);
        g_array_append_val (plan->cases, c);
      }
}

/* Adds a case of the kernels only, unless the list has it: one for all kinds of host memory,
 * one for CUDA memory. */
static void
add_kernels_only (Plan *plan, BenchCase c)
{
  if (c.baseline || c.cpu || c.naive || bench_is_ffmpeg (c.line))
    return;
  c.kernels_only = TRUE;
  c.memory = c.memory == BENCH_CUDA ? BENCH_CUDA : BENCH_PROPOSED;
  c.cameras = c.processes = 1;
  for (guint i = 0; i < plan->cases->len; i++) {
    const BenchCase *other = &g_array_index (plan->cases, BenchCase, i);

    if (bench_same_video (other, &c) && other->memory == c.memory && other->value == c.value)
      return;
  }
  g_array_append_val (plan->cases, c);
}

/* Adds the cases of one line at one size: each number of cores, each kind of memory, each value of the
 * property. Baselines have neither the property nor other memory. */
static void
add_values (Plan *plan, BenchCase c)
{
  const BenchOptions *opt = plan->opt;
  const gboolean foreign = c.baseline || bench_is_ffmpeg (c.line), sweep = opt->values && !foreign;
  const gboolean of_filter = sweep && g_strcmp0 (opt->property, "frames-in-flight"); /* kernels have no such property */

  for (guint m = 0; m < (foreign || c.naive ? 1 : opt->memories->len); m++) {
    c.memory = (BenchMemory) g_array_index (opt->memories, int, m);
    for (guint v = 0; v == 0 || (sweep && opt->values[v]); v++) {
      c.property = sweep && (of_filter || !plan->kernels_only) ? opt->property : NULL;
      c.value = c.property ? opt->values[v] : NULL;
      if (plan->kernels_only)
        add_kernels_only (plan, c);
      else
        add_cameras (plan, c);
    }
  }
}

static void
add_cores (Plan *plan, BenchCase c)
{
  for (guint k = 0; k < plan->opt->cores->len; k++) {
    c.cores = g_array_index (plan->opt->cores, int, k);
    add_values (plan, c);
  }
}

/* Adds naive C, which the others are compared with, then cases on one CPU core, on all or the typed numbers of cores,
 * and on the GPU. */
static void
add_speedup (Plan *plan, BenchCase c)
{
  c.cores = 1;
  c.naive = TRUE;
  if (!c.baseline && !bench_is_ffmpeg (c.line))
    add_values (plan, c);
  c.naive = FALSE;
  c.cpu = TRUE;
  if (g_array_index (plan->opt->cores, int, 0) != 1)
    add_values (plan, c);
  add_cores (plan, c);
  c.cpu = FALSE;
  if (plan->machine->gpus > 0)
    add_cores (plan, c);
}

static void
add_line (Plan *plan, BenchCase c)
{
  c.rate = plan->opt->rate;
  c.regions = plan->opt->regions;
  c.video = plan->opt->video;
  for (char **format = plan->opt->formats; *format; format++) {
    c.format = *format;
    for (guint s = 0; s < plan->opt->sizes->len; s++) {
      c.size = g_array_index (plan->opt->sizes, BenchSize, s);
      if (plan->opt->study == BENCH_STUDY_SPEEDUP)
        add_speedup (plan, c);
      else
        add_cores (plan, c);
    }
    if (c.baseline)
      break; /* a baseline chooses its own format */
  }
}

static void
add_lines (Plan *plan)
{
  for (char **line = plan->opt->lines; *line; line++)
    add_line (plan, (BenchCase) { .line = *line });
  for (guint i = 0; plan->opt->baselines && i < G_N_ELEMENTS (baselines); i++)
    add_line (plan, (BenchCase) { .line = baselines[i], .baseline = TRUE });
}

GArray *
bench_plan (const BenchOptions *opt, const BenchMachine *machine)
{
  Plan plan = { opt, machine, g_array_new (FALSE, TRUE, sizeof (BenchCase)), opt->kernels_only };

  if (opt->kernels_only) /* these cases are the first: one process measures them all */
    add_lines (&plan);
  plan.kernels_only = FALSE;
  add_lines (&plan);
  return plan.cases;
}
