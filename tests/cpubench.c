/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cpubench.c: times the median filter on the CPU, for bench_cpu_opencv.py.
 *
 *   cpubench [-f FORMAT] [-v VARIANT] [-i ISA] [-n REPEATS] [-d DEPTH] [-c ORDER] -s WIDTHxHEIGHT [-o OUTPUT] [FRAME] SIZE...
 *
 * FRAME is a raw picture without padding; without one (or "-") it is noise.
 * Prints one line a window size: size, best microseconds a frame, variant,
 * instruction set. OUTPUT gets the result of the last size. */
#include "cf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct {
  const char *format, *variant, *output;
  int width, height, repeats, depth, packed;
} Options;

static double
now_us (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (double) t.tv_sec * 1e6 + (double) t.tv_nsec / 1e3;
}

static void
set_int (const CfFilter *filter, void *params, const char *name, int value)
{
  unsigned n;
  const CfParam *p = cf_filter_params (filter, &n);

  for (unsigned i = 0; i < n; i++)
    if (strcmp (p[i].name, name) == 0)
      *(int *) ((char *) params + p[i].offset) = value;
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
  const CfFilter *filter = cf_filter_find ("median");
  CfVideo video = { in->format, in->width, in->height, false };
  CfCommon common = { CF_APPLY_ALL };
  CfStatus status = { 0 };
  void *params = malloc (cf_filter_params_size (filter));
  double best = 1e30, total = 0;
  CfPlan *plan;

  if (!params)
    return -1;
  cf_filter_defaults (filter, params);
  set_int (filter, params, "kernel-size", size);
  set_int (filter, params, "temporal-depth", o->depth);
  set_int (filter, params, "color-order", o->packed);
  plan = cf_plan_new (context, filter, &video, &common, params, &status);
  free (params);
  if (!plan || (o->variant && cf_plan_prefer (plan, o->variant, &status) != CF_OK)) {
    fprintf (stderr, "cpubench: %s\n", status.message);
    cf_plan_free (plan);
    return -1;
  }
  for (int i = 0; i < 1 + o->repeats && (i < 4 || total < 3e6); i++) {
    double t = now_us ();

    if (cf_plan_enqueue (plan, NULL, in, out, &status) != CF_OK)
      fprintf (stderr, "cpubench: %s\n", status.message);
    t = now_us () - t;
    total += t;
    best = t < best ? t : best;
  }
  printf ("%d %.1f %s %s\n", size, best, cf_plan_variant (plan), cf_cpu_isa ());
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

int
main (int argc, char **argv)
{
  Options o = { .format = "GRAY8", .width = 1920, .height = 1080, .repeats = 20, .depth = 1 };
  int c;

  while ((c = getopt (argc, argv, "f:v:i:n:d:c:s:o:")) != -1) {
    switch (c) {
      case 'f': o.format = optarg; break;
      case 'v': o.variant = optarg; break;
      case 'n': o.repeats = atoi (optarg); break;
      case 'd': o.depth = atoi (optarg); break;
      case 'c': o.packed = strcmp (optarg, "packed") == 0; break;
      case 'o': o.output = optarg; break;
      case 'i':
        if (!cf_cpu_limit (optarg)) {
          fprintf (stderr, "cpubench: this machine has no %s\n", optarg);
          return 2;
        }
        break;
      case 's':
        if (sscanf (optarg, "%dx%d", &o.width, &o.height) == 2)
          break;
        /* fall through */
      default:
        fprintf (stderr, "usage: cpubench [-f FORMAT] [-v VARIANT] [-i ISA] [-n REPEATS] [-d DEPTH] [-c ORDER] "
            "[-s WIDTHxHEIGHT] [-o OUTPUT] FRAME|- SIZE...\n");
        return 2;
    }
  }
  if (argc - optind < 2) {
    fprintf (stderr, "cpubench: give a raw frame (or -) and at least one window size\n");
    return 2;
  }
  return run (&o, argv[optind], argv + optind + 1, argc - optind - 1);
}
