/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-numbers.h: percentiles, and lists of numbers as people type them. */
#ifndef PIPELINES_TOOLS_BENCH_NUMBERS_H
#define PIPELINES_TOOLS_BENCH_NUMBERS_H

#include <glib.h>

void bench_sort (guint64 *values, gsize n);
/* The smallest of the sorted values that `percent` % of them do not exceed (the
 * nearest rank); 0 of none. */
guint64 bench_percentile (const guint64 *sorted, gsize n, double percent);

/* "1,4,16": whole numbers from `low` to `high`; NULL if it is anything else. */
GArray *bench_parse_ints (const char *text, int low, int high);
/* "640x480,1920x1080": pairs of int, sides from 1 to `high`. */
GArray *bench_parse_sizes (const char *text, int high);

#endif
