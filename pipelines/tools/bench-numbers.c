/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-numbers.c: rows' failures, percentiles and sums, and lists of numbers on the command line. */

#include "bench.h"

#include <math.h>
#include <stdlib.h>

#define WIDTH 1.02 /* end of a bucket over its beginning; the first begins at 1 us */

static int
compare (const void *a, const void *b)
{
  guint64 x = *(const guint64 *) a, y = *(const guint64 *) b;

  return x < y ? -1 : x > y;
}

void
bench_sort (guint64 *values, gsize n)
{
  if (n > 1)
    qsort (values, n, sizeof *values, compare);
}

guint64
bench_percentile (const guint64 *sorted, gsize n, double percent)
{
  double rank = ceil (percent * (double) n / 100);

  if (n == 0)
    return 0;
  if (rank < 1)
    return sorted[0];
  return sorted[rank > (double) n ? n - 1 : (gsize) rank - 1];
}

gboolean
bench_fail (BenchRow *row, BenchState state, const char *format, ...)
{
  va_list args;

  if (row->state != BENCH_GOOD)
    return FALSE;
  row->state = state;
  va_start (args, format);
  g_vsnprintf (row->note, sizeof row->note, format, args);
  va_end (args);
  return FALSE;
}

void
bench_set_latencies (BenchRow *row, GArray *latencies)
{
  const guint64 *sorted = (const guint64 *) latencies->data;

  bench_sort ((guint64 *) latencies->data, latencies->len);
  row->p50 = (double) bench_percentile (sorted, latencies->len, 50) / 1e6;
  row->p99 = (double) bench_percentile (sorted, latencies->len, 99) / 1e6;
  row->max = (double) bench_percentile (sorted, latencies->len, 100) / 1e6;
}

/* ---- rows of several processes ------------------------------------------- */

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
  for (int i = 0; i < MIN (sum->n_elements, row->n_elements); i++)
    add_element (&sum->element[i], &row->element[i]);
  if (!sum->note[0])
    g_strlcpy (sum->note, row->note, sizeof sum->note);
}

/* ---- lists --------------------------------------------------------------- */

/* Appends the whole numbers between the separators to the list. Returns their number, 0 if one is
 * none or out of range. */
static int
append_ints (GArray *list, const char *text, const char *separator, int low, int high)
{
  g_auto (GStrv) words = g_strsplit (text, separator, -1);
  int n = 0;

  for (; words[n]; n++) {
    guint64 number;
    int value;

    if (!g_ascii_string_to_unsigned (words[n], 10, low, high, &number, NULL))
      return 0;
    value = (int) number;
    g_array_append_val (list, value);
  }
  return n;
}

GArray *
bench_parse_ints (const char *text, int low, int high)
{
  GArray *list = g_array_new (FALSE, FALSE, sizeof (int));

  if (!append_ints (list, text, ",", low, high))
    g_clear_pointer (&list, g_array_unref);
  return list;
}

GArray *
bench_parse_sizes (const char *text, int high)
{
  g_autoptr (GArray) sides = g_array_new (FALSE, FALSE, sizeof (int));
  GArray *list = g_array_new (FALSE, FALSE, sizeof (BenchSize));
  g_auto (GStrv) words = g_strsplit (text, ",", -1);
  gboolean good = words[0] != NULL;

  for (char **word = words; *word && good; word++)
    good = append_ints (sides, *word, "x", 1, high) == 2;
  if (!good)
    g_clear_pointer (&list, g_array_unref);
  return list ? g_array_append_vals (list, sides->data, sides->len / 2) : NULL;
}
