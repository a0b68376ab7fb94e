/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cpubench.c: times a filter on the CPU, for bench_cpu_opencv.py.
 *
 *   cpubench [-F FILTER] [-p NAME=VALUE]... [-f FORMAT] [-v VARIANT] [-i ISA] [-n REPEATS] [-d DEPTH] [-c ORDER]
 *     [-s WIDTHxHEIGHT] [-o OUTPUT] [-t] FRAME|- SIZE...
 *
 * FILTER is a stem (median); -p sets a parameter; -d and -c set temporal-depth and color-order of
 * the median; SIZE is the kernel-size, 0 the default one. -t measures the process' CPU time over
 * all processors instead of the elapsed time, for a machine that is shared. FRAME is a raw frame
 * without padding; "-" stands for noise. Prints one line per SIZE: size, shortest microseconds per
 * frame, variant, instruction set. OUTPUT receives the result of the last size. */
#include "cf-test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_SET 16

typedef struct {
  const char *filter, *format, *variant, *output;
  const char *set[MAX_SET];
  int n_set, width, height, repeats;
  clockid_t clock;
} Options;

static double
now_us (clockid_t clock)
{
  struct timespec t;

  clock_gettime (clock, &t);
  return (double) t.tv_sec * 1e6 + (double) t.tv_nsec / 1e3;
}

/* Sets "NAME=VALUE". Returns whether that worked. */
static bool
set_param (const CfFilter *filter, void *params, const char *setting, CfStatus *status)
{
  char *name = strdup (setting), *equals = name ? strchr (name, '=') : NULL;
  bool good = false;

  if (equals) {
    *equals = '\0';
    good = cf_params_set (filter, params, name, equals + 1, status) == CF_OK;
  } else {
    snprintf (status->message, sizeof status->message, "\"%.100s\" is not NAME=VALUE", setting);
  }
  free (name);
  return good;
}

static CfPlan *
make_plan (const Options *o, CfContext *context, const CfVideo *video, int size, CfStatus *status)
{
  const CfFilter *filter = cf_filter_find (o->filter);
  void *params = filter ? cf_params_new (filter) : NULL;
  CfCommon common = { CF_APPLY_ALL };
  char setting[40];
  CfPlan *plan = NULL;
  bool good = true;

  if (!params) {
    snprintf (status->message, sizeof status->message, "%s is not a filter", o->filter);
    return NULL;
  }
  snprintf (setting, sizeof setting, "kernel-size=%d", size);
  if (size)
    good = set_param (filter, params, setting, status);
  for (int i = 0; i < o->n_set && good; i++)
    good = set_param (filter, params, o->set[i], status);
  if (good)
    plan = cf_plan_new (context, filter, video, &common, params, status);
  cf_params_free (filter, params);
  if (plan && o->variant && cf_plan_prefer (plan, o->variant, status) != CF_OK) {
    cf_plan_free (plan);
    return NULL;
  }
  return plan;
}

static int
read_frame (const char *path, uint8_t *data, size_t size)
{
  FILE *file;
  size_t n;

  if (!path || strcmp (path, "-") == 0) {
    uint32_t seed = 1;

    for (size_t i = 0; i < size; i++)
      data[i] = (uint8_t) ((seed = seed * 1664525 + 1013904223) >> 24);
    return 0;
  }
  file = fopen (path, "rb");
  n = file ? fread (data, 1, size, file) : 0;
  if (file)
    fclose (file);
  if (n != size)
    fprintf (stderr, "cpubench: %s: wanted %zu bytes, got %zu\n", path, size, n);
  return n == size ? 0 : -1;
}

static int
write_frame (const char *path, const uint8_t *data, size_t size)
{
  FILE *file = fopen (path, "wb");
  size_t n = file ? fwrite (data, 1, size, file) : 0;

  if (!file || fclose (file) != 0 || n != size) {
    fprintf (stderr, "cpubench: cannot write %s\n", path);
    return -1;
  }
  return 0;
}

static int
bench (const Options *o, CfContext *context, const CfImage *in, const CfImage *out, int size)
{
  CfVideo video = { in->format, in->width, in->height, false };
  CfStatus status = { 0 };
  double best = 1e30, total = 0;
  CfPlan *plan = make_plan (o, context, &video, size, &status);

  if (!plan) {
    fprintf (stderr, "cpubench: %s\n", status.message);
    return -1;
  }
  for (int i = 0; i < 1 + o->repeats && (i < 4 || total < 3e6); i++) {
    double t = now_us (o->clock);

    if (cf_plan_enqueue (plan, NULL, in, out, &status) != CF_OK)
      fprintf (stderr, "cpubench: %s\n", status.message);
    t = now_us (o->clock) - t;
    total += t;
    best = t < best ? t : best;
  }
  printf ("%d %.1f %s %s\n", size, best, cf_plan_variant (plan), cf_cpu_info (NULL));
  fflush (stdout);
  cf_plan_free (plan);
  return 0;
}

static int
run (const Options *o, const char *frame, char **sizes, int n_sizes)
{
  CfImage layout, in, out;
  CfFormat format = cf_format_from_name (o->format);
  size_t bytes = cf_image_layout (&layout, format, o->width, o->height, 1);
  uint8_t *memory = bytes ? malloc (2 * bytes) : NULL;
  CfContext *context = cf_context_new (CF_BACKEND_CPU, NULL);
  int failed = !memory || !context || read_frame (frame, memory, bytes) != 0;

  if (!failed) {
    cf_image_at (&in, &layout, memory);
    cf_image_at (&out, &layout, memory + bytes);
    for (int i = 0; i < n_sizes && !failed; i++)
      failed = bench (o, context, &in, &out, atoi (sizes[i])) != 0;
    if (!failed && o->output)
      failed = write_frame (o->output, memory + bytes, bytes) != 0;
  }
  cf_context_free (context);
  free (memory);
  return failed;
}

static int
add_setting (Options *o, const char *setting)
{
  if (o->n_set == MAX_SET)
    return -1;
  o->set[o->n_set++] = setting;
  return 0;
}

int
main (int argc, char **argv)
{
  Options o = { .filter = "median", .format = "GRAY8", .width = 1920, .height = 1080, .repeats = 20,
    .clock = CLOCK_MONOTONIC };
  char depth[60], order[60];
  int c, bad = 0;

  while ((c = getopt (argc, argv, "F:p:f:v:i:n:d:c:s:o:t")) != -1) {
    switch (c) {
      case 'F': o.filter = optarg; break;
      case 'p': bad |= add_setting (&o, optarg); break;
      case 'f': o.format = optarg; break;
      case 'v': o.variant = optarg; break;
      case 'n': o.repeats = atoi (optarg); break;
      case 'd':
        snprintf (depth, sizeof depth, "temporal-depth=%.20s", optarg);
        bad |= add_setting (&o, depth);
        break;
      case 'c':
        snprintf (order, sizeof order, "color-order=%.20s", optarg);
        bad |= add_setting (&o, order);
        break;
      case 'o': o.output = optarg; break;
      case 't': o.clock = CLOCK_PROCESS_CPUTIME_ID; break;
      case 'i':
        if (!cf_cpu_limit (optarg)) {
          fprintf (stderr, "cpubench: this machine has no %s\n", optarg);
          return 2;
        }
        break;
      case 's':
        bad |= sscanf (optarg, "%dx%d", &o.width, &o.height) != 2;
        break;
      default:
        bad = 1;
    }
  }
  if (bad || argc - optind < 2) {
    fprintf (stderr, "usage: cpubench [-F FILTER] [-p NAME=VALUE] [-f FORMAT] [-v VARIANT] [-i ISA] [-n REPEATS] "
        "[-d DEPTH] [-c ORDER]\n  [-s WIDTHxHEIGHT] [-o OUTPUT] [-t] FRAME|- SIZE...\n");
    return 2;
  }
  return run (&o, argv[optind], argv + optind + 1, argc - optind - 1);
}
