/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-numbers.h: percentiles, and lists of numbers on the command line. */
#ifndef PIPELINES_TOOLS_BENCH_NUMBERS_H
#define PIPELINES_TOOLS_BENCH_NUMBERS_H

#include <glib.h>

void bench_sort (guint64 *values, gsize n);
/* Returns the smallest of the sorted values that `percent` % of them do not exceed (nearest
 * rank); 0 if n is 0. */
guint64 bench_percentile (const guint64 *sorted, gsize n, double percent);

/* Parses "1,4,16": whole numbers from `low` to `high`. Returns an array of int, or NULL. */
GArray *bench_parse_ints (const char *text, int low, int high);
/* Parses "640x480,1920x1080": sides from 1 to `high`. Returns an array of pairs of int, or NULL. */
GArray *bench_parse_sizes (const char *text, int high);

#endif
