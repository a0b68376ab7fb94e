/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-sum.c: adds the rows of processes that measured at the same time. */

#include "bench.h"

#include <math.h>
#include <string.h>

#define WIDTH 1.02 /* end of a bucket over its beginning; the first begins at 1 us */

void
bench_add_latency (BenchRow *row, guint64 ns)
{
  double bucket = ns > 1000 ? log ((double) ns / 1000) / log (WIDTH) : 0;

  row->histogram[(int) CLAMP (bucket, 0, BENCH_BUCKETS - 1)]++;
}

/* Returns the ms that `percent` % of the frames do not exceed, to a bucket's width. */
static double
percentile (const BenchRow *row, double percent)
{
  guint64 sum = 0, n = 0;
  int i = 0;

  for (int b = 0; b < BENCH_BUCKETS; b++)
    n += row->histogram[b];
  for (; i < BENCH_BUCKETS - 1; i++) {
    sum += row->histogram[i];
    if ((double) sum * 100 >= percent * (double) n)
      break;
  }
  return n ? MIN (pow (WIDTH, i + 0.5) / 1e3, row->max) : 0;
}

/* Returns the mean of two means, weighted by their numbers of frames. */
static double
mean (double a, guint64 n_a, double b, guint64 n_b)
{
  return n_a + n_b ? (a * (double) n_a + b * (double) n_b) / (double) (n_a + n_b) : 0;
}

static void
add_element (BenchElement *sum, const BenchElement *e)
{
  guint64 a = sum->gpu + sum->cpu, b = e->gpu + e->cpu;
  const struct {
    double *sum, value;
  } times[] = { { &sum->upload_p50, e->upload_p50 }, { &sum->kernel_p50, e->kernel_p50 },
    { &sum->download_p50, e->download_p50 }, { &sum->total_p50, e->total_p50 } };

  for (guint i = 0; i < G_N_ELEMENTS (times); i++)
    *times[i].sum = mean (*times[i].sum, a, times[i].value, b);
  sum->frames += e->frames;
  sum->gpu += e->gpu;
  sum->cpu += e->cpu;
  sum->fallback += e->fallback;
  sum->passed += e->passed;
}

void
bench_add_row (BenchRow *sum, const BenchRow *row)
{
  if (sum->state != BENCH_GOOD)
    return;
  if (row->state != BENCH_GOOD || sum->frame_bytes == 0) {
    *sum = *row;
    return;
  }
  sum->interrupted = sum->interrupted || row->interrupted;
  sum->seconds = mean (sum->seconds, sum->frames, row->seconds, row->frames);
  sum->frames += row->frames;
  sum->fps += row->fps;
  sum->ms = sum->fps > 0 ? 1e3 / sum->fps : 0;
  sum->cores += row->cores;
  sum->cpu_ms = sum->fps > 0 ? 1e3 * sum->cores / sum->fps : 0;
  sum->due += row->due;
  sum->late += row->late;
  sum->dropped += row->dropped;
  sum->max = MAX (sum->max, row->max);
  for (int b = 0; b < BENCH_BUCKETS; b++)
    sum->histogram[b] += row->histogram[b];
  sum->p50 = percentile (sum, 50);
  sum->p99 = percentile (sum, 99);
  /* All processes have seen the same GPUs. */
  for (int i = 0; i < MIN (sum->n_gpus, row->n_gpus); i++) {
    sum->gpu[i].use = MAX (sum->gpu[i].use, row->gpu[i].use);
    sum->gpu[i].memory = MAX (sum->gpu[i].memory, row->gpu[i].memory);
  }
  for (int i = 0; i < MIN (sum->n_elements, row->n_elements); i++)
    add_element (&sum->element[i], &row->element[i]);
  if (!sum->note[0])
    g_strlcpy (sum->note, row->note, sizeof sum->note);
}
