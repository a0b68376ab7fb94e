/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-line.h: filter lines of a run: made, set, asked. */
#ifndef PIPELINES_TOOLS_BENCH_LINE_H
#define PIPELINES_TOOLS_BENCH_LINE_H

#include "bench.h"

#include <gst/gst.h>

/* The line's bin with what the job sets for this camera, or NULL and row->note (and state). */
GstElement *bench_line_new (const BenchJob *job, int camera, BenchRow *row);
/* The format for the job, one that the bin takes; NULL and row->note. */
const char *bench_line_format (GstElement *bin, const BenchJob *job, BenchRow *row);

/* What our elements of a line say of themselves; a mark, and later the difference. */
typedef struct {
  GstElement *element[BENCH_ELEMENTS];
  GstStructure *before[BENCH_ELEMENTS];
  int n;
} BenchStats;

void bench_stats_find (BenchStats *stats, GstElement *bin);
void bench_stats_mark (BenchStats *stats);
void bench_stats_read (BenchStats *stats, BenchRow *row);
void bench_stats_clear (BenchStats *stats);

#endif
