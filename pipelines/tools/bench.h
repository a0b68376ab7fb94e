/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench.h: types and functions that the parts of bench share. The parent process
 * plans one CASE per row of the table. Child processes, forked before GStreamer or
 * CUDA starts, measure the cases and fill the ROWS, in memory that all processes share.
 * Therefore each row can have its own number of CPU cores, and a crash costs one row.
 * What lies in shared memory is plain data without pointers. */
#ifndef PIPELINES_TOOLS_BENCH_H
#define PIPELINES_TOOLS_BENCH_H

#include <glib.h>
#include <stdint.h>

#define BENCH_ELEMENTS 8    /* elements of a filter line that a row reports, at most */
#define BENCH_GPUS 16       /* GPUs, at most */
#define BENCH_PROCESSES 256 /* processes that share the cameras, at most */
#define BENCH_BUCKETS 1024
#define BENCH_TEXT 240

typedef enum { BENCH_STUDY_NONE, BENCH_STUDY_SIZE, BENCH_STUDY_CAMERAS, BENCH_STUDY_SPEEDUP } BenchStudy;

/* Where frames are at both ends of the line: in buffers of the pool that the filter
 * proposes, in ordinary memory whatever it proposes, or in CUDA memory. */
typedef enum { BENCH_PROPOSED, BENCH_PLAIN, BENCH_CUDA } BenchMemory;

extern const char *const bench_memory_names[]; /* the words of --memory; ends with NULL */

typedef struct {
  int width, height;
} BenchSize;

/* The command line. Lists that were not typed have their defaults. */
typedef struct {
  char **lines, **formats;
  GArray *sizes;                                         /* of BenchSize */
  GArray *cameras, *cores, *processes, *gpus, *memories; /* of int, as in BenchCase */
  char *property, **values; /* the property is set to each of the values in turn; NULL: none */
  double rate;              /* frames/s of each camera; 0: as many frames as possible */
  double seconds, warm_up;
  int frames; /* per camera, instead of seconds; 0: not given */
  int regions;
  char *video;
  gboolean queue, baselines, kernels_only, no_limits, force;
  char *json;
  BenchStudy study;
} BenchOptions;

typedef struct {
  const char *line, *format;
  BenchSize size;
  int cameras, cores; /* cores 0: all */
  int processes;      /* processes that share the cameras */
  int gpus;           /* GPUs that share the cameras; 0: the elements choose */
  BenchMemory memory;
  double rate;           /* frames/s of each camera; 0: as many frames as possible */
  int regions;           /* moving ones that each frame carries, whose memory is the frame's alone then; 0: none */
  const char *video;     /* file of the frames; NULL: made ones */
  gboolean cpu;          /* this project's elements get backend=cpu */
  gboolean baseline;     /* a foreign element for comparison, in a format that it supports */
  gboolean kernels_only; /* the filters are called directly, without GStreamer */
  gboolean naive;        /* sequential C does what the line does */
  const char *property, *value;
} BenchCase;

typedef struct {
  char name[32], backend[8];
  uint64_t frames, gpu, cpu, fallback, passed;            /* during the measurement */
  double upload_p50, kernel_p50, download_p50, total_p50; /* us, of the last frames */
} BenchElement;

typedef enum { BENCH_GOOD, BENCH_FAILED, BENCH_LEFT_OUT } BenchState;

typedef struct {
  gboolean done; /* measured, or failed */
  BenchState state;
  gboolean interrupted;
  char note[BENCH_TEXT]; /* the reason of a failure, or a warning of the pipeline */
  char format[24], memory[48];
  int rotating; /* number of different frames that a source sends */
  uint64_t frame_bytes;
  uint64_t frames;
  double seconds, fps, ms;     /* ms: time between two frames, 1000 / fps */
  double p50, p99, max;        /* ms from source to sink */
  gboolean over_naive;         /* speedup is over naive C */
  double cores, cpu_ms;        /* CPU cores in use; CPU time per frame */
  uint64_t due, late, dropped; /* real time only */
  double speedup;              /* over the same case in naive C or, without that, on one CPU core; 0: not measured */
  double of_kernels;           /* p50 over the p50 of the kernels only; 0: not measured */
  double over_kernels;         /* CUDA memory: us per frame more than the kernels only; 0: not measured */
  int n_elements;
  BenchElement element[BENCH_ELEMENTS];
  uint32_t histogram[BENCH_BUCKETS]; /* of latencies, so that rows of several processes can be added */
} BenchRow;

/* The machine's limits for frames of one size, in GB/s; 0: not measured. */
typedef struct {
  BenchSize size;
  char format[24];
  uint64_t frame_bytes;
  double copy_one, copy_all; /* memcpy, one thread and all */
  double up, down, both;     /* the link to the GPU; both: each direction while both are busy */
  double trip;               /* us, median: one frame is uploaded, downloaded and waited for */
} BenchLimit;

typedef struct {
  char cpu[128], isa[16], gstreamer[64], why_no_gpu[BENCH_TEXT];
  int cores, gpus;
  char gpu[128];
} BenchMachine;

/* Set by SIGINT and SIGTERM. Measurements end early and are reported as far as they got. */
extern volatile int bench_stop;

/* ---- bench-options.c ---------------------------------------------------- */

/* Reads and checks the command line. Returns FALSE after a message on stderr. */
gboolean bench_options_parse (BenchOptions *opt, int argc, char **argv);

/* ---- bench-plan.c ------------------------------------------------------- */

/* Returns an array of BenchCase, in the order in which they are measured. */
GArray *bench_plan (const BenchOptions *opt, const BenchMachine *machine);

/* ---- called in child processes ------------------------------------------- */

/* A barrier for children that measure together, in memory that they share. */
typedef struct {
  gint arrived, expected; /* atomic */
} BenchBarrier;

/* bench-machine.c: starts GStreamer with the plugin beside this program. */
void bench_init (void);
void bench_machine (BenchMachine *machine);
/* Measures the limits for limit->size and limit->format. */
void bench_limit (BenchLimit *limit);
/* bench-line.c: return FALSE after a message on stderr if the line or the format is invalid. */
gboolean bench_line_check (const char *line);
gboolean bench_format_check (const char *format);
/* bench-run.c: measures pipelines. `barrier`: shared with processes that measure at the same time, or NULL. */
void bench_run (const BenchOptions *opt, const BenchCase *c, BenchBarrier *barrier, BenchRow *row);
/* bench-ffmpeg.c: measures a filter of FFmpeg, a line that begins with BENCH_FFMPEG. */
#define BENCH_FFMPEG "ffmpeg:"
void bench_ffmpeg (const BenchOptions *opt, const BenchCase *c, BenchRow *row);
/* bench-naive.c: measures naive C that does what the line does; the row is left out for lines that it cannot do. */
void bench_naive (const BenchOptions *opt, const BenchCase *c, BenchRow *row);
/* bench-kernels.c: measures the kernels only. */
void bench_kernels_only (const BenchOptions *opt, const BenchCase *c, BenchRow *row);

/* ---- bench-numbers.c ----------------------------------------------------- */

static inline gboolean
bench_is_ffmpeg (const char *line)
{
  return g_str_has_prefix (line, BENCH_FFMPEG);
}

/* Returns the state of a case that cannot be measured: a foreign element that cannot run here is not our failure. */
static inline BenchState
bench_failure (const BenchCase *c)
{
  return c->baseline ? BENCH_LEFT_OUT : BENCH_FAILED;
}

/* Sets the row's state and note unless it has failed before; returns FALSE. */
gboolean bench_fail (BenchRow *row, BenchState state, const char *format, ...) G_GNUC_PRINTF (3, 4);
void bench_sort (guint64 *values, gsize n);
/* Returns the smallest of the sorted values that `percent` % of them do not exceed (nearest
 * rank); 0 if n is 0. */
guint64 bench_percentile (const guint64 *sorted, gsize n, double percent);
/* Sorts latencies in ns (guint64) and fills the row's p50, p99 and max. */
void bench_set_latencies (BenchRow *row, GArray *latencies);
/* Adds a latency to the histogram, whose buckets are 2 % wide. */
void bench_add_latency (BenchRow *row, guint64 ns);
/* Adds the row of one process to `sum`, the row of all processes. */
void bench_add_row (BenchRow *sum, const BenchRow *row);
/* Parses "1,4,16": whole numbers from `low` to `high`. Returns an array of int, or NULL. */
GArray *bench_parse_ints (const char *text, int low, int high);
/* Parses "640x480,1920x1080": sides from 1 to `high`. Returns an array of pairs of int, or NULL. */
GArray *bench_parse_sizes (const char *text, int high);

/* ---- bench-results.c ----------------------------------------------------- */

typedef struct {
  const BenchOptions *opt;
  GArray *cases; /* of BenchCase */
  /* in shared memory */
  BenchMachine *machine;
  BenchLimit *limits;
  guint n_limits;
  BenchRow *rows; /* one per case */
} BenchReport;

#define bench_case(report, row) (&g_array_index ((report)->cases, BenchCase, (row) - (report)->rows))

/* Returns whether both cases filter the same video by the same line. */
gboolean bench_same_video (const BenchCase *a, const BenchCase *b);
/* Returns the limits for frames of that size and format, or NULL. */
const BenchLimit *bench_find_limit (const BenchReport *report, const BenchSize *size, const char *format);
void bench_table_machine (const BenchReport *report);
void bench_table_limit (const BenchLimit *limit);
void bench_table_row (const BenchReport *report, const BenchRow *row);
/* Returns FALSE after a message on stderr. */
gboolean bench_json_write (const BenchReport *report);

/* On a terminal: prints a line that the next one overwrites; NULL removes it. */
void bench_progress (const char *format, ...) G_GNUC_PRINTF (1, 2);

#endif
