/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-numbers.c: the benchmark's percentiles and lists of numbers. */
#include "bench-numbers.h"

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

int
main (void)
{
  check_percentiles ();
  check_lists ();
  printf ("%d passed, %d failed, 0 skipped\n", passed, failed);
  return failed > 0;
}
