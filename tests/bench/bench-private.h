/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-private.h: shared by bench.c, which measures, and bench_report.c, which writes the results. */
#ifndef TESTS_BENCH_BENCH_PRIVATE_H
#define TESTS_BENCH_BENCH_PRIVATE_H

#include "bench.h"
#include "check/kernelcheck.h"

#define BENCH_MAX_ROWS 512

typedef struct {
  const KcBench *kind;
  const char *format, *resolution;
  int size, streams, width, height;
  char variant[48];
  double ours, singly, copy, baseline; /* microseconds per frame; 0 = not measured. singly: ours without a graph */
  bool checked, right;
} BenchRow;

typedef struct {
  char *filter, *sizes, *set, *format, *kinds, *resolution, *streams, *picture, *baseline, *json, *markdown, *command,
      *tiles, *blocks;
  gboolean all_variants;
} BenchOptions;

typedef struct {
  BenchOptions o;
  const KcFilter *kc;
  const CfFilter *filter;
  CfContext *context;
  const BenchBaseline *baseline;
  CfGpuInfo gpu;
  BenchRow rows[BENCH_MAX_ROWS];
  int n_rows, failed;
} Bench;

/* Sets the goal and the lower bound of a row on one H200, in microseconds per frame of GRAY8; 0: none. */
void bench_target (const Bench *b, const BenchRow *row, double *goal, double *least);
void bench_print_head (const Bench *b);
void bench_print_row (const Bench *b, const BenchRow *row);
/* Writes the filter's own section of the file and keeps the rest of it. */
bool bench_write_markdown (const Bench *b);
bool bench_write_json (const Bench *b);

#endif
