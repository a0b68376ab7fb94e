/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-numbers.c: percentiles, and lists of numbers on the command line. */

#include "bench-numbers.h"

#include <math.h>
#include <stdlib.h>

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
  return sorted[rank < 1 ? 0 : rank > (double) n ? n - 1 : (gsize) rank - 1];
}

/* Reads one whole number at *text and moves *text behind it. */
static gboolean
parse_int (const char **text, int low, int high, int *value)
{
  char *end;
  gint64 number;

  if (!g_ascii_isdigit (**text))
    return FALSE;
  number = g_ascii_strtoll (*text, &end, 10);
  *text = end;
  *value = (int) CLAMP (number, low, high);
  return number >= low && number <= high;
}

/* Expects a comma, which *text is moved behind, or the end. */
static gboolean
at_end (const char **text, gboolean *end)
{
  *end = **text == '\0';
  if (!*end && **text != ',')
    return FALSE;
  *text += !*end;
  return TRUE;
}

GArray *
bench_parse_ints (const char *text, int low, int high)
{
  GArray *list = g_array_new (FALSE, FALSE, sizeof (int));
  gboolean end = FALSE;
  int value;

  while (!end && parse_int (&text, low, high, &value) && at_end (&text, &end))
    g_array_append_val (list, value);
  if (!end)
    g_clear_pointer (&list, g_array_unref);
  return list;
}

GArray *
bench_parse_sizes (const char *text, int high)
{
  GArray *list = g_array_new (FALSE, FALSE, 2 * sizeof (int));
  gboolean end = FALSE;
  int side[2];

  while (!end) {
    if (!parse_int (&text, 1, high, &side[0]) || *text++ != 'x' || !parse_int (&text, 1, high, &side[1]) ||
        !at_end (&text, &end))
      break;
    g_array_append_val (list, side);
  }
  if (!end)
    g_clear_pointer (&list, g_array_unref);
  return list;
}
