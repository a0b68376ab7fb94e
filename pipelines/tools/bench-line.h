/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-line.h: the filter line of a case: its bin, its properties, its stats. */
#ifndef PIPELINES_TOOLS_BENCH_LINE_H
#define PIPELINES_TOOLS_BENCH_LINE_H

#include "bench.h"

#include <gst/gst.h>

/* Returns the line's bin with the properties of the case for this camera; on failure returns NULL
 * and sets row->note and row->state. */
GstElement *bench_line_new (const BenchCase *c, int camera, BenchRow *row);
/* Returns a format that the bin takes: that of the case, or any of a baseline's. On failure returns
 * NULL and sets row->note and row->state. */
const char *bench_line_format (GstElement *bin, const BenchCase *c, BenchRow *row);

/* The `stats` of this project's elements of a line, at the begin of the measurement and after it. */
typedef struct {
  GstElement *element[BENCH_ELEMENTS];
  GstStructure *before[BENCH_ELEMENTS];
  int n;
} BenchStats;

void bench_stats_find (BenchStats *stats, GstElement *bin);
void bench_stats_begin (BenchStats *stats);
/* Fills row->element with the differences since bench_stats_begin(). */
void bench_stats_read (BenchStats *stats, BenchRow *row);
void bench_stats_clear (BenchStats *stats);

#endif
