/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench-private.h: what bench.c, which measures, and bench_report.c, which
 * writes, share. */
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
  double ours, copy, peer; /* us a frame; 0 = not measured */
  bool checked, right;
} BenchRow;

typedef struct {
  const char *filter, *sizes, *set, *format, *kinds, *resolution, *streams, *picture, *peer, *json, *markdown;
  bool all_variants;
  char command[512];
} BenchOptions;

typedef struct {
  BenchOptions o;
  const KcFilter *kc;
  const CfFilter *filter;
  CfContext *context;
  const BenchPeer *peer;
  CfGpuInfo gpu;
  BenchRow rows[BENCH_MAX_ROWS];
  int n_rows, failed;
} Bench;

/* Goals and arithmetic floors on one H200, us a frame of GRAY8; 0: none. */
void bench_target (const Bench *b, const BenchRow *row, double *goal, double *least);
void bench_print_head (const Bench *b);
void bench_print_row (const Bench *b, const BenchRow *row);
/* Writes the filter's own part of the file; what others wrote stays. */
bool bench_write_markdown (const Bench *b);
bool bench_write_json (const Bench *b);

#endif
