/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * bench.h: what the parts of bench share. The program asks a JOB a row of the
 * table; children of it, forked before anything of GStreamer or CUDA began, do
 * the jobs and send ROWS back, so that a row can have its own number of cores and
 * a crash costs one row. Rows and what else goes through the pipe are plain data. */
#ifndef PIPELINES_TOOLS_BENCH_H
#define PIPELINES_TOOLS_BENCH_H

#include <glib.h>
#include <stdint.h>

#define BENCH_ELEMENTS 8 /* of a filter line that are told of */
#define BENCH_GPUS 16    /* that are told of */
#define BENCH_BUCKETS 1024
#define BENCH_TEXT 240

/* What is on the plots' x axis. */
typedef enum { BENCH_X_NONE, BENCH_X_SIZE, BENCH_X_CAMERAS, BENCH_X_CORES, BENCH_X_VALUE } BenchX;

typedef enum { BENCH_STUDY_NONE, BENCH_STUDY_SIZE, BENCH_STUDY_KERNEL, BENCH_STUDY_CAMERAS, BENCH_STUDY_SPEEDUP,
  BENCH_STUDY_THREADS } BenchStudy;

/* Where frames are: in the buffers that the filter proposes, in ordinary memory
 * whatever it proposes, or in CUDA memory, at both ends of the line. */
typedef enum { BENCH_PROPOSED, BENCH_PLAIN, BENCH_CUDA } BenchMemory;

extern const char *const bench_memory_names[]; /* as they are typed; NULL at the end */

typedef struct {
  int width, height;
} BenchSize;

/* What a person asks for. */
typedef struct {
  char **lines;
  GArray *sizes; /* of BenchSize */
  GArray *cameras, *cores, *processes, *gpus, *memories; /* of int */
  char **formats, **values;
  char *property; /* gets the values, one after the other */
  double rate;    /* frames a second that cameras give; 0: flat out */
  double seconds, warm_up;
  int frames;     /* instead of seconds; 0: not given */
  gboolean queue, peers, bare, no_limits;
  char *json, *plot;
  BenchStudy study;
} BenchOptions;

typedef struct {
  const char *line, *format;
  BenchSize size;
  int cameras, cores; /* cores 0: all */
  int processes;      /* that the cameras are dealt to */
  int gpus;           /* that the cameras are dealt to; 0: the elements choose */
  BenchMemory memory;
  double rate;
  gboolean cpu;    /* our elements get backend=cpu */
  gboolean peer;   /* a stranger, takes the format it likes */
  gboolean bare;   /* the filter called directly, without GStreamer */
  const char *property, *value;
} BenchJob;

typedef struct {
  char name[32], backend[8];
  uint64_t frames, gpu, cpu, fallback, passed; /* in the time measured */
  double upload_p50, kernel_p50, download_p50, total_p50; /* of the last frames, us */
} BenchElement;

typedef enum { BENCH_GOOD, BENCH_FAILED, BENCH_LEFT_OUT } BenchState;

typedef struct {
  int job;
  BenchState state;
  gboolean interrupted;
  char note[BENCH_TEXT]; /* why it failed, or a warning that came on the way */
  char format[24], memory[48];
  int rotating;           /* different frames a source hands out */
  uint64_t frame_bytes;
  uint64_t frames;
  double seconds, fps, ms; /* ms: seconds / frames */
  double p50, p99, max;   /* ms from source to sink */
  double cores, cpu_ms;   /* cores in use; CPU time of a frame */
  uint64_t due, late, dropped; /* real time */
  int n_gpus;             /* 0: nothing is known of any */
  struct {
    double use, memory;   /* %, MB */
  } gpu[BENCH_GPUS];
  double speedup;         /* over the same job on one core; 0: there is none */
  double of_bare;         /* p50 over that of the filters called directly; 0: not measured */
  double over_bare;       /* in CUDA memory: us a frame more than they take; 0: not measured */
  int n_elements;
  BenchElement element[BENCH_ELEMENTS];
  uint32_t took[BENCH_BUCKETS]; /* how many frames took how long, for rows that are added up */
} BenchRow;

/* What this machine does at best with frames of one size, in GB/s; 0: not measured. */
typedef struct {
  BenchSize size;
  char format[24];
  uint64_t frame_bytes;
  double copy_one, copy_all;       /* memcpy, one thread and all */
  double up, down, both;           /* the link to the GPU; both: each way */
  double trip;                     /* one frame up, down, and waited for: us, half of them take no longer */
} BenchLimit;

typedef struct {
  char cpu[128], isa[16], gstreamer[64], why_no_gpu[BENCH_TEXT];
  int cores, gpus;
  char gpu[128];
} BenchMachine;

/* Set by Ctrl-C: what has been measured is told, and that is the end. */
extern volatile int bench_stop;

/* ---- bench-options.c ---------------------------------------------------- */

/* FALSE after a sentence. */
gboolean bench_options_parse (BenchOptions *opt, int argc, char **argv);

/* ---- bench-plan.c ------------------------------------------------------- */

/* The jobs, in the order they are done: of BenchJob. */
GArray *bench_plan (const BenchOptions *opt, const BenchMachine *machine);
/* What the plots have as x: what the jobs differ in. */
BenchX bench_plan_x (const BenchOptions *opt, const GArray *jobs);

/* ---- bench-worker.c ----------------------------------------------------- */

/* Does `work` in a child on `cores` cores (0: all); each thing it writes to `fd`
 * is handed to `got`, `size` bytes at a time. What the child exits with, or 128 and
 * more where it ended by a signal. */
typedef int (*BenchWork) (gpointer data, int fd);
typedef void (*BenchGot) (const void *thing, gpointer data);
int bench_worker (int cores, BenchWork work, gpointer data, gsize size, BenchGot got, gpointer got_data);
/* The same `n` times at once, each with its own element of `data`; things are handed
 * over as they come. The worst of what they ended with. */
int bench_workers (int n, int cores, BenchWork work, gpointer *data, gsize size, BenchGot got, gpointer got_data);
/* In the child: sends one thing. */
gboolean bench_send (int fd, const void *thing, gsize size);

/* Where children that measure together wait for each other; in memory that they share. */
typedef struct {
  gint here, expected; /* atomic */
} BenchMeeting;

/* ---- in the child -------------------------------------------------------- */

/* GStreamer, and the plugin beside this program. */
void bench_init (void);
/* bench-machine.c */
void bench_machine (BenchMachine *machine);
/* bench-limits.c: of one size. */
void bench_limit (BenchLimit *limit);
/* bench-line.c: FALSE after a sentence about a line, a format that cannot be. */
gboolean bench_line_check (const char *line);
gboolean bench_format_check (const char *format);
/* bench-run.c: `meeting` NULL: nobody else measures at the same time. */
void bench_run (const BenchOptions *opt, const BenchJob *job, BenchMeeting *meeting, BenchRow *row);
/* bench-bare.c */
void bench_bare (const BenchOptions *opt, const BenchJob *job, BenchRow *row);
/* bench-sum.c: how long frames took, by buckets of 2 % width. */
void bench_took (BenchRow *row, guint64 ns);
/* Adds a row of another process to the one that tells of all. */
void bench_add_row (BenchRow *sum, const BenchRow *row);

/* ---- bench-table.c, bench-json.c, bench-plot.c --------------------------- */

typedef struct {
  const BenchOptions *opt;
  BenchMachine machine;
  GArray *jobs, *limits, *rows; /* of BenchJob, BenchLimit, BenchRow */
} BenchReport;

#define bench_job(report, row) (&g_array_index ((report)->jobs, BenchJob, (row)->job))

const BenchLimit *bench_find_limit (const BenchReport *report, const BenchRow *row);
/* The part of the machine's limit that the row reaches, and which limit; 0: none known. */
double bench_of_limit (const BenchReport *report, const BenchRow *row, const char **which);
/* The part of one thread's memcpy that it reaches; 0: not measured. */
double bench_of_memcpy (const BenchReport *report, const BenchRow *row);
/* Mean % of the GPUs' time that was used, below 0: not known. */
double bench_gpu_mean (const BenchRow *row);
/* "GPU", "CPU" or what a mixture there is; "-" of strangers. */
const char *bench_backend (const BenchRow *row);
void bench_table_machine (const BenchReport *report);
void bench_table_limit (const BenchLimit *limit);
void bench_table_row (const BenchReport *report, const BenchRow *row);
/* FALSE after a sentence. */
gboolean bench_json_write (const BenchReport *report, const char *path);
gboolean bench_plot (const BenchReport *report, const char *prefix);
/* Can the plots be made here at all? Says so if not. */
gboolean bench_plot_check (const char *prefix);

/* A line that is written over by the next one, on a terminal only; NULL: away with it. */
void bench_progress (const char *format, ...) G_GNUC_PRINTF (1, 2);

#endif
