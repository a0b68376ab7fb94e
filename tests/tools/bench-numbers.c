/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-numbers.c: tests the benchmark's percentiles, its lists of numbers, and the sum of several
 * processes' rows. */
#include "tools/bench.h"

#include <stdio.h>

static int passed, failed;

#define CHECK(condition) check (condition, #condition)

static void
check (gboolean good, const char *what)
{
  if (good)
    passed++;
  else
    failed++;
  if (!good)
    printf ("FAIL %s\n", what);
}

static void
check_percentiles (void)
{
  guint64 five[] = { 50, 20, 40, 10, 30 }, many[1000];

  CHECK (bench_percentile (NULL, 0, 50) == 0);
  CHECK (bench_percentile (five, 1, 0) == 50 && bench_percentile (five, 1, 50) == 50);
  CHECK (bench_percentile (five, 1, 100) == 50);
  bench_sort (five, 5);
  CHECK (five[0] == 10 && five[1] == 20 && five[2] == 30 && five[3] == 40 && five[4] == 50);
  CHECK (bench_percentile (five, 5, 50) == 30);
  CHECK (bench_percentile (five, 5, 20) == 10 && bench_percentile (five, 5, 21) == 20);
  CHECK (bench_percentile (five, 5, 99) == 50 && bench_percentile (five, 5, 100) == 50);
  CHECK (bench_percentile (five, 2, 50) == 10);
  for (int i = 0; i < 1000; i++)
    many[i] = (guint64) ((i * 7) % 1000) + 1; /* 1 to 1000, mixed */
  bench_sort (many, 1000);
  CHECK (bench_percentile (many, 1000, 50) == 500);
  CHECK (bench_percentile (many, 1000, 99) == 990);
  CHECK (bench_percentile (many, 1000, 100) == 1000);
  CHECK (bench_percentile (many, 1000, 0) == 1);
}

static gboolean
refuses_ints (const char *text)
{
  return bench_parse_ints (text, 1, 100) == NULL;
}

static gboolean
refuses_sizes (const char *text)
{
  return bench_parse_sizes (text, 100) == NULL;
}

static void
check_lists (void)
{
  GArray *ints = bench_parse_ints ("1,4,100", 1, 100), *sizes = bench_parse_sizes ("64x48,1x100", 100);

  CHECK (ints && ints->len == 3 && g_array_index (ints, int, 1) == 4 && g_array_index (ints, int, 2) == 100);
  CHECK (sizes && sizes->len == 2 && ((int *) sizes->data)[0] == 64 && ((int *) sizes->data)[3] == 100);
  CHECK (refuses_ints ("") && refuses_ints ("0") && refuses_ints ("101") && refuses_ints ("1,") && refuses_ints (",1"));
  CHECK (refuses_ints ("1 ,2") && refuses_ints ("-1") && refuses_ints ("x") && refuses_ints ("99999999999999999999"));
  CHECK (refuses_sizes ("") && refuses_sizes ("64") && refuses_sizes ("64x") && refuses_sizes ("64x48,"));
  CHECK (refuses_sizes ("0x48") && refuses_sizes ("64x101") && refuses_sizes ("64x48x2") && refuses_sizes ("x48"));
  g_clear_pointer (&ints, g_array_unref);
  g_clear_pointer (&sizes, g_array_unref);
}

/* 500 frames of 1 to 500 ms in one process, the next 500 in the other. */
static void
check_sum (void)
{
  BenchRow part[2] = { { .state = BENCH_GOOD } }, sum = { .state = BENCH_GOOD };

  for (int i = 0; i < 1000; i++)
    bench_add_latency (&part[i / 500], (guint64) (i + 1) * 1000000);
  for (int i = 0; i < 2; i++) {
    part[i].frame_bytes = 100;
    part[i].frames = 500;
    part[i].due = 501 + (guint64) i;
    part[i].dropped = 1 + (guint64) i;
    part[i].fps = 15;
    part[i].cores = 0.5;
    part[i].max = 500 * (i + 1);
    part[i].n_elements = 1;
    part[i].element[0].gpu = 100 + 200 * (guint64) i;
    part[i].element[0].kernel_p50 = 10 * (i + 1);
    bench_add_row (&sum, &part[i]);
  }
  CHECK (sum.frames == 1000 && sum.due == 1003 && sum.dropped == 3);
  CHECK (sum.fps > 29.9 && sum.fps < 30.1 && sum.cores > 0.99 && sum.cores < 1.01 && sum.max > 999);
  CHECK (sum.p50 > 485 && sum.p50 < 515 && sum.p99 > 960 && sum.p99 <= 1000); /* accurate to a bucket */
  CHECK (sum.element[0].gpu == 400);
  CHECK (sum.element[0].kernel_p50 > 17.4 && sum.element[0].kernel_p50 < 17.6); /* weighted by frames */
  part[1].state = BENCH_FAILED;
  bench_add_row (&sum, &part[1]);
  bench_add_row (&sum, &part[0]);
  CHECK (sum.state == BENCH_FAILED); /* and stays failed */
}

int
main (void)
{
  check_percentiles ();
  check_sum ();
  check_lists ();
  printf ("%d passed, %d failed, 0 skipped\n", passed, failed);
  return failed > 0;
}
