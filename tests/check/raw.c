/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * raw.c: filters a file of raw frames without any multimedia framework:
 *   kernelcheck --filter median --set kernel-size=5 --format GRAY8 --size 640x480 --in FILE --out FILE
 *     [--backend cpu|cuda|reference] [--apply-to all|luma|chroma] [--interlaced] [--limited] [--isa NAME]
 *     [--variant NAME] [--repeat N [--cpu-time]]
 * --set may be repeated and may hold several settings; a kernel's text may have spaces, as in
 * --set 'kernel=0 -1 0; -1 5 -1; 0 -1 0 bias=3'. Frames follow one another without padding. --repeat filters each
 * frame again N times, at most for some seconds, and prints the shortest time in microseconds, the variant and the
 * instruction set; --cpu-time counts the process' time on all processors instead, for a machine that is shared. For
 * programs that check the filters from outside (tests/oracle) or time them (tests/bench/bench_cpu_opencv.py). */
#include "kernelcheck.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define DEADLINE_NS 60000000000u
#define HISTORY 64 /* frames of the reference */

static struct {
  char *filter, *format, *size, *in, *out, *backend, *apply, *isa, *variant, **set;
  gboolean interlaced, limited, cpu_time;
  int repeat;
} o = { .filter = "median", .backend = "cpu", .apply = "all" };

static const GOptionEntry options[] = { { "filter", 0, 0, G_OPTION_ARG_STRING, &o.filter, "median, ...", "STEM" },
  { "set", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &o.set, "parameters", "NAME=VALUE..." },
  { "format", 0, 0, G_OPTION_ARG_STRING, &o.format, "as GStreamer spells it", "FORMAT" },
  { "size", 0, 0, G_OPTION_ARG_STRING, &o.size, "of the frames", "WIDTHxHEIGHT" },
  { "in", 0, 0, G_OPTION_ARG_FILENAME, &o.in, "raw frames", "FILE" },
  { "out", 0, 0, G_OPTION_ARG_FILENAME, &o.out, "filtered frames", "FILE" },
  { "backend", 0, 0, G_OPTION_ARG_STRING, &o.backend, "cpu, cuda, reference", "NAME" },
  { "apply-to", 0, 0, G_OPTION_ARG_STRING, &o.apply, "all, luma, chroma", "COMPONENTS" },
  { "interlaced", 0, 0, G_OPTION_ARG_NONE, &o.interlaced, "frames of two fields", NULL },
  { "limited", 0, 0, G_OPTION_ARG_NONE, &o.limited, "limited range: how colours are written", NULL },
  { "isa", 0, 0, G_OPTION_ARG_STRING, &o.isa, "instruction set", "NAME" },
  { "variant", 0, 0, G_OPTION_ARG_STRING, &o.variant, "variant of the filter", "NAME" },
  { "repeat", 0, 0, G_OPTION_ARG_INT, &o.repeat, "print the shortest time of N", "N" },
  { "cpu-time", 0, 0, G_OPTION_ARG_NONE, &o.cpu_time, "the processors' time", NULL }, { NULL } };

typedef struct {
  const KcFilter *kc;
  const CfFilter *filter;
  CfVideo video;
  CfCommon common;
  void *params;
  CfContext *context;
  void *state;  /* of a stateful reference */
  CfPlan *plan; /* NULL: filter with the reference */
  CfImage layout;
  size_t bytes;
  uint8_t *in[HISTORY], *out; /* in[0] is the newest */
  int ahead;                  /* in[ahead] is the frame that is filtered */
  int n_in, n_seen;           /* a plan has a history of its own */
  CfStream *stream;           /* CUDA only, as the following */
  uint8_t *device_in, *device_out;
} RawRun;

static bool
make_plan (RawRun *r, CfStatus *status)
{
  const bool cuda = g_str_equal (o.backend, "cuda");

  if (o.isa && !cf_cpu_limit (o.isa))
    return cf_fail (status, CF_UNSUPPORTED, "this machine has no %s", o.isa) == CF_OK;
  r->context = cf_context_new (cuda ? CF_BACKEND_CUDA : CF_BACKEND_CPU, status);
  if (r->context)
    r->plan = cf_plan_new (r->context, r->filter, &r->video, &r->common, r->params, status);
  if (!r->plan || (o.variant && cf_plan_prefer (r->plan, o.variant, status) != CF_OK))
    return false;
  return !cuda ||
      ((r->stream = cf_stream_new (NULL, status)) && (r->device_in = cf_gpu_alloc (CF_DEVICE, r->bytes, status)) &&
          (r->device_out = cf_gpu_alloc (CF_DEVICE, r->bytes, status)));
}

static bool
raw_open (RawRun *r, CfStatus *status)
{
  g_autofree char *set = o.set ? g_strjoinv (" ", o.set) : g_strdup ("");

  if (!o.format || !o.size || !o.in || !o.out)
    return cf_fail (status, CF_BAD_VALUE, "--format, --size, --in and --out are needed") == CF_OK;
  r->kc = kc_filter_find (o.filter);
  r->filter = cf_filter_find (o.filter);
  r->video = (CfVideo) { .format = cf_format_from_name (o.format), .interlaced = o.interlaced };
  if (!r->kc || !r->filter || !r->video.format || sscanf (o.size, "%dx%d", &r->video.width, &r->video.height) != 2)
    return cf_fail (status, CF_BAD_VALUE, "%s, %s or %s: no such filter, format (as NV12) or size (as 640x480)",
               o.filter, o.format, o.size) == CF_OK;
  r->common.apply_to = g_str_equal (o.apply, "luma") ? CF_APPLY_LUMA
      : g_str_equal (o.apply, "chroma")              ? CF_APPLY_CHROMA
                                                     : CF_APPLY_ALL;
  r->common.colors.limited = o.limited;
  r->params = kc_params_new (r->filter, set, status);
  if (!r->params || cf_filter_check (r->filter, &r->video, &r->common, r->params, status) != CF_OK)
    return false;
  r->ahead = r->kc->ahead ? r->kc->ahead (r->filter, r->params) : 0;
  r->bytes = cf_image_layout (&r->layout, r->video.format, r->video.width, r->video.height, 1);
  r->n_in = g_str_equal (o.backend, "reference") ? HISTORY : r->ahead + 1;
  r->out = g_malloc0 (r->bytes);
  return g_str_equal (o.backend, "reference") || make_plan (r, status);
}

static void
raw_close (RawRun *r)
{
  cf_plan_free (r->plan);
  cf_gpu_free (CF_DEVICE, r->device_in);
  cf_gpu_free (CF_DEVICE, r->device_out);
  cf_stream_free (r->stream);
  if (r->context)
    cf_context_free (r->context);
  for (int i = 0; i < HISTORY; i++)
    g_free (r->in[i]);
  g_free (r->out);
  if (r->state)
    r->kc->free_state (r->state);
  if (r->filter)
    cf_params_free (r->filter, r->params);
}

/* Passes frame `in` to the plan: `out` is NULL where the plan only takes it into its history. */
static bool
enqueue (RawRun *r, const CfImage *in, const CfImage *out, CfStatus *status)
{
  CfImage device_in, device_out;

  if (!r->stream)
    return cf_plan_enqueue (r->plan, NULL, &(CfFrame) { .in = in, .out = out }, status) == CF_OK;
  cf_image_at (&device_in, &r->layout, r->device_in);
  cf_image_at (&device_out, &r->layout, r->device_out);
  return cf_stream_copy (r->stream, CF_UPLOAD, &device_in, in, NULL, status) == CF_OK &&
      cf_plan_enqueue (r->plan, r->stream, &(CfFrame) { .in = &device_in, .out = out ? &device_out : NULL }, status) ==
      CF_OK &&
      (!out || cf_stream_copy (r->stream, CF_DOWNLOAD, out, &device_out, NULL, status) == CF_OK) &&
      cf_stream_wait (r->stream, DEADLINE_NS, NULL, status) == CF_OK;
}

/* Takes the newest frame into the history of a plan that looks ahead. */
static bool
take_frame (RawRun *r, CfStatus *status)
{
  CfImage in;

  cf_image_at (&in, &r->layout, r->in[0]);
  return r->ahead == 0 || !r->plan || enqueue (r, &in, NULL, status);
}

static bool
filter_frame (RawRun *r, CfStatus *status)
{
  CfImage in[HISTORY], out;
  const CfImage *seen[HISTORY];

  for (int i = 0; i < r->n_seen; i++)
    cf_image_at (&in[i], &r->layout, r->in[i]);
  seen[0] = &in[r->ahead];
  for (int i = 1; i < HISTORY; i++) /* the other frames; the oldest one stands for those that have not come */
    seen[i] = &in[MIN (i <= r->ahead ? i - 1 : i, r->n_seen - 1)];
  cf_image_at (&out, &r->layout, r->out);
  if (!r->plan && r->kc->stateful_reference) {
    r->kc->stateful_reference (r->filter, &r->video, &r->common, r->params, &r->state, &in[0], &out, NULL);
    return true;
  }
  if (!r->plan)
    return r->kc->reference (r->filter, &r->video, &r->common, r->params, seen, r->ahead ? HISTORY : r->n_seen, &out) ||
        cf_fail (status, CF_BAD_VALUE, "the reference refuses these settings") == CF_OK;
  return enqueue (r, seen[0], &out, status);
}

static double
now_us (void)
{
  struct timespec t;

  clock_gettime (o.cpu_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double) t.tv_sec * 1e6 + (double) t.tv_nsec / 1e3;
}

static bool
filter_repeatedly (RawRun *r, CfStatus *status)
{
  double best = INFINITY, total = 0;
  bool good = true;

  for (int i = 0; good && i <= o.repeat && (i < 4 || total < 3e6); i++) {
    double t = now_us ();

    good = filter_frame (r, status);
    t = now_us () - t;
    total += t;
    best = MIN (best, t);
  }
  if (good && o.repeat)
    printf ("%.1f %s %s\n", best, r->plan ? cf_plan_variant (r->plan) : "reference", cf_cpu_info (NULL));
  return good;
}

static bool
raw_run (RawRun *r, FILE *in, FILE *out, CfStatus *status)
{
  int behind = 0; /* how often the last frame came again */

  for (int frames = 0;; frames++) {
    uint8_t *oldest = r->in[r->n_in - 1];
    size_t got;

    memmove (r->in + 1, r->in, (size_t) (r->n_in - 1) * sizeof *r->in);
    r->in[0] = oldest ? oldest : g_malloc (r->bytes);
    got = fread (r->in[0], 1, r->bytes, in);
    if (got == 0 && frames > 0) {
      if (behind++ == r->ahead)
        return true;
      memcpy (r->in[0], r->in[1], r->bytes);
    } else if (got != r->bytes)
      return cf_fail (status, CF_BAD_VALUE, "%s does not hold whole frames", o.in) == CF_OK;
    r->n_seen = MIN (r->n_seen + 1, r->n_in);
    if (!take_frame (r, status))
      return false;
    if (frames < r->ahead)
      continue;
    if (!filter_repeatedly (r, status))
      return false;
    if (fwrite (r->out, 1, r->bytes, out) != r->bytes)
      return cf_fail (status, CF_BAD_VALUE, "%s cannot be written", o.out) == CF_OK;
  }
}

int
kc_raw_main (int argc, char **argv)
{
  RawRun run = { 0 };
  CfStatus status = { 0 };
  FILE *in = NULL, *out = NULL;
  bool good = kc_parse (argc, argv, options, "Filters raw frames.");

  if (!good)
    return 1;
  good = raw_open (&run, &status) && (in = fopen (o.in, "rb")) && (out = fopen (o.out, "wb")) &&
      raw_run (&run, in, out, &status);
  raw_close (&run);
  if (in)
    (void) fclose (in);
  if (out)
    good = fclose (out) == 0 && good;
  if (!good)
    fprintf (stderr, "kernelcheck: %s\n", status.code ? status.message : "a file cannot be opened or written");
  return !good;
}
