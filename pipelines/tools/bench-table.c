/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-table.c: prints each row of the table when it has been measured. */

#include "bench.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const BenchLimit *
bench_find_limit (const BenchReport *report, const BenchSize *size, const char *format)
{
  for (guint i = 0; i < report->n_limits; i++)
    if (!memcmp (&report->limits[i].size, size, sizeof *size) && !strcmp (report->limits[i].format, format))
      return &report->limits[i];
  return NULL;
}

static gboolean
on_gpu (const BenchRow *row)
{
  for (int i = 0; i < row->n_elements; i++)
    if (row->element[i].gpu > 0)
      return TRUE;
  return FALSE;
}

const char *
bench_backend (const BenchRow *row)
{
  gboolean gpu = on_gpu (row), cpu = FALSE, passed = FALSE;

  for (int i = 0; i < row->n_elements; i++) {
    cpu = cpu || row->element[i].cpu > 0;
    passed = passed || row->element[i].passed > 0;
  }
  if (!gpu && !cpu && !passed && row->n_elements) /* no frame was processed: the active backend */
    return strcmp (row->element[0].backend, "cuda") ? "CPU" : "GPU";
  return gpu && cpu ? "GPU+CPU" : gpu ? "GPU" : cpu ? "CPU" : passed ? "passed" : "-";
}

/* Returns the row's share of a limit in GB/s; 0 if the limit is 0. */
static double
share (const BenchRow *row, double limit)
{
  return limit > 0 ? row->fps * (double) row->frame_bytes / 1e9 / limit : 0;
}

double
bench_of_limit (const BenchReport *report, const BenchRow *row, const char **which)
{
  const BenchCase *c = bench_case (report, row);
  const BenchLimit *limit = bench_find_limit (report, &c->size, row->format);

  *which = on_gpu (row) ? "link" : "memcpy";
  if (!limit || c->kernels_only || c->memory == BENCH_CUDA) /* frames in CUDA memory do not cross the link */
    return 0;
  return share (row, on_gpu (row) ? limit->both : limit->copy_all);
}

double
bench_of_memcpy (const BenchReport *report, const BenchRow *row)
{
  const BenchCase *c = bench_case (report, row);
  const BenchLimit *limit = bench_find_limit (report, &c->size, row->format);

  return limit && c->memory == BENCH_PLAIN ? share (row, limit->copy_one) : 0;
}

void
bench_progress (const char *format, ...)
{
  static int terminal = -1;
  va_list args;

  if (terminal < 0)
    terminal = isatty (STDERR_FILENO);
  if (!terminal)
    return;
  fputs ("\r\033[K", stderr);
  if (format) {
    g_autofree char *text = NULL;

    va_start (args, format);
    text = g_strdup_vprintf (format, args);
    va_end (args);
    fprintf (stderr, "%.78s", text);
  }
  fflush (stderr);
}

/* ---- machine and limits ------------------------------------------------- */

void
bench_table_machine (const BenchReport *report)
{
  const BenchMachine *m = report->machine;

  printf ("%s, %d core%s, %s; %s\n", m->cpu, m->cores, m->cores == 1 ? "" : "s", m->isa, m->gstreamer);
  if (m->gpus > 0)
    printf ("%d GPU%s, %s\n", m->gpus, m->gpus == 1 ? "" : "s, the first one", m->gpu);
  else
    printf ("no usable GPU: %s\n", m->why_no_gpu);
}

static double
frames (const BenchLimit *limit, double gb)
{
  return gb * 1e9 / (double) limit->frame_bytes;
}

void
bench_table_limit (const BenchLimit *limit)
{
  bench_progress (NULL);
  printf ("limits at %dx%d %s, %.2f MB: memcpy %.1f GB/s by one thread (%.0f frames/s), %.1f by all (%.0f frames/s)\n",
      limit->size.width, limit->size.height, limit->format, (double) limit->frame_bytes / 1e6, limit->copy_one,
      frames (limit, limit->copy_one), limit->copy_all, frames (limit, limit->copy_all));
  if (limit->both > 0)
    printf ("  link up %.1f GB/s, down %.1f, both at once %.1f each (%.0f frames/s); one frame up, down and waited "
            "for: %.0f us\n",
        limit->up, limit->down, limit->both, frames (limit, limit->both), limit->trip);
  fflush (stdout);
}

/* ---- the rows ------------------------------------------------------------ */

static void
head (const BenchReport *report, const BenchCase *c)
{
  printf ("\n%s%s\n", c->line, c->baseline ? "  (baseline)" : "");
  if (report->opt->rate > 0)
    printf ("%22s %8s %8s %8s %7s %6s %6s %8s %8s %8s %6s\n", "", "backend", "cameras", "frames/s", "due/s", "late",
        "drop", "p50 ms", "p99", "max", "cores");
  else
    printf ("%22s %8s %8s %8s %8s %8s %8s %6s %8s %8s %8s %8s  %s\n", "", "backend", "frames/s", "ms", "p50", "p99",
        "max", "cores", "CPU ms", "up us", "k", "down", "limit");
}

static void
print_element_times (const BenchRow *row)
{
  double up = 0, kernel = 0, down = 0;

  for (int i = 0; i < row->n_elements; i++) {
    up += row->element[i].upload_p50;
    kernel += row->element[i].kernel_p50;
    down += row->element[i].download_p50;
  }
  if (row->n_elements)
    printf (" %8.0f %8.0f %8.0f", up, kernel, down);
  else
    printf (" %8s %8s %8s", "-", "-", "-");
}

static void
print_flat_out (const BenchReport *report, const BenchRow *row)
{
  const BenchCase *c = bench_case (report, row);
  const char *which;
  double part = bench_of_limit (report, row, &which);
  const char *backend = c->kernels_only ? "kernels" : bench_backend (row);

  printf (" %8s %8.1f %8.3f", c->naive ? "naive C" : backend, row->fps, row->ms);
  if (row->max > 0)
    printf (" %8.3f %8.3f %8.3f", row->p50, row->p99, row->max);
  else /* the line changed the time stamps that identify frames, or is FFmpeg's */
    printf (" %8s %8s %8s", "-", "-", "-");
  printf (" %6.2f %8.3f", row->cores, row->cpu_ms);
  print_element_times (row);
  if (part > 0)
    printf ("  %.1f%% %s", 100 * part, which);
  if (on_gpu (row) && bench_of_memcpy (report, row) > 0)
    printf ("  %.1f%% memcpy, one thread", 100 * bench_of_memcpy (report, row));
  if (row->of_kernels > 0 && c->memory == BENCH_CUDA)
    printf ("  %+.1f us", row->over_kernels);
}

static void
print_real_time (const BenchReport *report, const BenchRow *row, const BenchCase *c)
{
  const char *which;
  double part = bench_of_limit (report, row, &which);

  printf (" %8s %8d %8.1f %7.0f %6" G_GUINT64_FORMAT " %6" G_GUINT64_FORMAT " %8.2f %8.2f %8.2f %6.2f",
      bench_backend (row), c->cameras, row->fps, c->cameras * c->rate, row->late, row->dropped, row->p50, row->p99,
      row->max, row->cores);
  if (part > 0)
    printf ("  %.1f%% %s", 100 * part, which);
}

/* Prints the settings in which this row differs from others of its line. */
static void
print_differences (const BenchReport *report, const BenchRow *row, const BenchCase *c)
{
  guint64 fallback = 0;

  if (c->property)
    printf ("  %s=%s", c->property, c->value);
  if (!c->kernels_only && report->opt->memories->len > 1)
    printf ("  %s memory", bench_memory_names[c->memory]);
  if (c->processes > 1)
    printf ("  in %d processes", c->processes);
  if (c->gpus)
    printf ("  on %d GPU%s", c->gpus, c->gpus == 1 ? "" : "s");
  if (row->of_kernels > 0)
    printf ("  x%.2f kernels only", row->of_kernels);
  if (c->cores)
    printf ("  on %d core%s", c->cores, c->cores == 1 ? "" : "s");
  if (c->cameras > 1 && report->opt->rate == 0)
    printf ("  %d at once", c->cameras);
  if (row->speedup > 0)
    printf ("  x%.2f %s", row->speedup, row->over_naive ? "naive C" : "one core");
  for (int i = 0; i < row->n_elements; i++)
    fallback += row->element[i].fallback;
  if (fallback)
    printf ("  %" G_GUINT64_FORMAT " frames on which the GPU failed", fallback);
  if (row->interrupted)
    printf ("  (ended early)");
  if (row->note[0])
    printf ("  note: %s", row->note);
}

void
bench_table_row (const BenchReport *report, const BenchRow *row)
{
  const BenchCase *c = bench_case (report, row);
  gssize last = row - report->rows - 1; /* the row printed before this one */
  g_autofree char *size = g_strdup_printf ("%dx%d %s", c->size.width, c->size.height,
      row->format[0] ? row->format : c->format);

  bench_progress (NULL);
  while (last >= 0 && !report->rows[last].done)
    last--;
  if (last < 0 || c->line != bench_case (report, &report->rows[last])->line)
    head (report, c);
  printf ("%22s", size);
  if (row->state == BENCH_GOOD) {
    if (report->opt->rate > 0)
      print_real_time (report, row, c);
    else
      print_flat_out (report, row);
    print_differences (report, row, c);
  } else {
    if (c->property)
      printf ("  %s=%s", c->property, c->value);
    if (report->opt->memories->len > 1)
      printf ("  %s memory", bench_memory_names[c->memory]);
    printf ("  %s: %s", row->state == BENCH_FAILED ? "failed" : "left out", row->note);
  }
  putchar ('\n');
  fflush (stdout);
}
