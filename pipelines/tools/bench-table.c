/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-table.c: what is seen on the terminal, row by row as they are done. */

#include "bench.h"

#include <stdio.h>
#include <string.h>

const BenchLimit *
bench_find_limit (const BenchReport *report, const BenchRow *row)
{
  const BenchJob *job = bench_job (report, row);

  for (guint i = 0; i < report->limits->len; i++) {
    const BenchLimit *limit = &g_array_index (report->limits, BenchLimit, i);

    if (limit->size.width == job->size.width && limit->size.height == job->size.height &&
        !strcmp (limit->format, row->format))
      return limit;
  }
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
  if (!gpu && !cpu && !passed && row->n_elements) /* nothing was done yet: what it would be */
    return strcmp (row->element[0].backend, "cuda") ? "CPU" : "GPU";
  return gpu && cpu ? "GPU+CPU" : gpu ? "GPU" : cpu ? "CPU" : passed ? "passed" : "-";
}

double
bench_of_limit (const BenchReport *report, const BenchRow *row, const char **which)
{
  const BenchLimit *limit = bench_find_limit (report, row);
  double most = limit ? on_gpu (row) ? limit->both : limit->copy_all : 0;

  if (bench_job (report, row)->memory == BENCH_CUDA) /* it crosses no link */
    most = 0;
  *which = on_gpu (row) ? "link" : "memcpy";
  return most > 0 ? row->fps * (double) row->frame_bytes / 1e9 / most : 0;
}

double
bench_of_memcpy (const BenchReport *report, const BenchRow *row)
{
  const BenchLimit *limit = bench_find_limit (report, row);

  return limit && limit->copy_one > 0 ? row->fps * (double) row->frame_bytes / 1e9 / limit->copy_one : 0;
}

double
bench_gpu_mean (const BenchRow *row)
{
  double sum = 0;

  for (int i = 0; i < row->n_gpus; i++)
    sum += row->gpu[i].use;
  return row->n_gpus ? sum / row->n_gpus : -1;
}

/* ---- before the rows ---------------------------------------------------- */

void
bench_table_machine (const BenchReport *report)
{
  const BenchMachine *m = &report->machine;

  printf ("%s, %d core%s, %s; %s\n", m->cpu, m->cores, m->cores == 1 ? "" : "s", m->isa, m->gstreamer);
  if (m->gpus > 0)
    printf ("%d GPU%s, %s\n", m->gpus, m->gpus == 1 ? "" : "s, the first one", m->gpu);
  else
    printf ("no GPU here: %s\n", m->why_no_gpu);
}

static double
frames (const BenchLimit *limit, double gb)
{
  return gb * 1e9 / (double) limit->frame_bytes;
}

void
bench_table_limit (const BenchLimit *limit)
{
  printf ("limits at %dx%d %s, %.2f MB: memcpy %.1f GB/s by one thread (%.0f frames/s), %.1f by all (%.0f frames/s)\n",
      limit->size.width, limit->size.height, limit->format, (double) limit->frame_bytes / 1e6, limit->copy_one,
      frames (limit, limit->copy_one), limit->copy_all, frames (limit, limit->copy_all));
  if (limit->both > 0)
    printf ("  link up %.1f GB/s, down %.1f, both at once %.1f each way (%.0f frames/s); a frame up, down and waited "
        "for: %.0f us\n", limit->up, limit->down, limit->both, frames (limit, limit->both), limit->trip);
}

/* ---- the rows ------------------------------------------------------------ */

static void
head (const BenchReport *report, const BenchJob *job)
{
  printf ("\n%s%s\n", job->line, job->peer ? "  (not ours)" : "");
  if (report->opt->rate > 0)
    printf ("%22s %8s %8s %8s %7s %6s %6s %8s %8s %8s %6s\n", "", "backend", "cameras", "frames/s", "due/s", "late",
        "drop", "p50 ms", "p99", "max", "cores");
  else
    printf ("%22s %8s %8s %8s %8s %8s %8s %6s %8s %8s %8s  %s\n", "", "backend", "frames/s", "ms", "p50", "p99", "max",
        "cores", "up us", "k", "down", "limit");
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
  const BenchJob *job = bench_job (report, row);
  const char *which;
  double part = job->bare ? 0 : bench_of_limit (report, row, &which);

  printf (" %8s %8.1f %8.3f", job->bare ? "bare" : bench_backend (row), row->fps, row->ms);
  if (row->max > 0)
    printf (" %8.3f %8.3f %8.3f %6.2f", row->p50, row->p99, row->max, row->cores);
  else /* the line has changed the time stamps that frames are known by */
    printf (" %8s %8s %8s %6.2f", "-", "-", "-", row->cores);
  print_element_times (row);
  if (part > 0)
    printf ("  %.1f%% %s", 100 * part, which);
  if (job->memory == BENCH_PLAIN && on_gpu (row) && bench_of_memcpy (report, row) > 0)
    printf ("  %.1f%% memcpy by one", 100 * bench_of_memcpy (report, row));
  if (row->of_bare > 0 && job->memory == BENCH_CUDA)
    printf ("  %+.1f us", row->over_bare);
}

static void
print_real_time (const BenchReport *report, const BenchRow *row, const BenchJob *job)
{
  const char *which;
  double part = bench_of_limit (report, row, &which);

  printf (" %8s %8d %8.1f %7.0f %6" G_GUINT64_FORMAT " %6" G_GUINT64_FORMAT " %8.2f %8.2f %8.2f %6.2f",
      bench_backend (row), job->cameras, row->fps, job->cameras * job->rate, row->late, row->dropped, row->p50,
      row->p99, row->max, row->cores);
  for (int i = 0; i < row->n_gpus; i++) {
    g_autofree char *number = row->n_gpus > 1 ? g_strdup_printf (" %d", i) : g_strdup ("");

    printf ("  GPU%s %.0f%%, %.0f MB", number, row->gpu[i].use, row->gpu[i].memory);
  }
  if (part > 0)
    printf ("  %.1f%% %s", 100 * part, which);
}

/* What is different about this row. */
static void
print_differences (const BenchReport *report, const BenchRow *row, const BenchJob *job)
{
  guint64 fallback = 0;

  if (job->property)
    printf ("  %s=%s", job->property, job->value);
  if (!job->bare && report->opt->memories->len > 1)
    printf ("  %s memory", bench_memory_names[job->memory]);
  if (job->processes > 1)
    printf ("  in %d processes", job->processes);
  if (job->gpus)
    printf ("  on %d GPU%s", job->gpus, job->gpus == 1 ? "" : "s");
  if (row->of_bare > 0)
    printf ("  x%.2f bare", row->of_bare);
  if (job->cores)
    printf ("  on %d core%s", job->cores, job->cores == 1 ? "" : "s");
  if (job->cameras > 1 && report->opt->rate == 0)
    printf ("  %d at once", job->cameras);
  if (row->speedup > 0)
    printf ("  x%.2f", row->speedup);
  for (int i = 0; i < row->n_elements; i++)
    fallback += row->element[i].fallback;
  if (fallback)
    printf ("  %" G_GUINT64_FORMAT " frames that the GPU failed on", fallback);
  if (row->interrupted)
    printf ("  (ended early)");
  if (row->note[0])
    printf ("  note: %s", row->note);
}

void
bench_table_row (const BenchReport *report, const BenchRow *row)
{
  static const char *last;
  const BenchJob *job = bench_job (report, row);
  g_autofree char *size = g_strdup_printf ("%dx%d %s", job->size.width, job->size.height,
      row->format[0] ? row->format : job->format);

  bench_progress (NULL);
  if (job->line != last)
    head (report, job);
  last = job->line;
  printf ("%22s", size);
  if (row->state == BENCH_GOOD) {
    if (report->opt->rate > 0)
      print_real_time (report, row, job);
    else
      print_flat_out (report, row);
    print_differences (report, row, job);
  } else {
    if (job->property)
      printf ("  %s=%s", job->property, job->value);
    if (report->opt->memories->len > 1)
      printf ("  %s memory", bench_memory_names[job->memory]);
    printf ("  %s: %s", row->state == BENCH_FAILED ? "failed" : "left out", row->note);
  }
  putchar ('\n');
  fflush (stdout);
}
