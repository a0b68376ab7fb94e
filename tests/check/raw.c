/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * raw.c: filters a file of raw frames without any multimedia framework:
 *   kernelcheck --filter median --set kernel-size=5 --format GRAY8
 *     --size 640x480 --in FILE --out FILE [--backend cpu|cuda|reference]
 *     [--apply-to all|luma|chroma] [--interlaced] [--isa NAME] [--variant NAME]
 * --set may be repeated and may hold several settings; a kernel's text may have spaces, as in
 * --set 'kernel=0 -1 0; -1 5 -1; 0 -1 0 bias=3'. Frames follow one another without padding. For
 * programs that check the filters from outside (tests/oracle). */
#include "kernelcheck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *filter, *set, *format, *size, *in, *out, *backend, *apply, *isa, *variant;
  bool interlaced;
} RawOptions;

typedef struct {
  const KcFilter *kc;
  const CfFilter *filter;
  CfVideo video;
  CfCommon common;
  void *params;
  KcRun run;
  CfContext *context; /* NULL: filter with the reference */
  void *state;        /* of a stateful reference */
  CfPlan *plan;
  CfImage layout;
  size_t bytes;
  uint8_t *in[16], *out; /* in[0] is the newest; only the reference needs the others */
  uint8_t *device_in, *device_out;
  int n_seen;
} RawRun;

static int
fail (const char *what, const char *why)
{
  fprintf (stderr, "kernelcheck: %s: %s\n", what, why);
  return 1;
}

static int
raw_open (RawRun *r, const RawOptions *options)
{
  char error[KC_TEXT];
  CfStatus status = { 0 };

  for (const KcFilter *const *kc = kc_filters; *kc; kc++)
    if (strcmp ((*kc)->stem, options->filter) == 0)
      r->kc = *kc;
  r->filter = cf_filter_find (options->filter);
  if (!r->kc || !r->filter)
    return fail (options->filter, "is not a filter");
  r->video.format = cf_format_from_name (options->format);
  if (!cf_format_info (r->video.format))
    return fail (options->format, "is not a format; NV12 is one");
  if (sscanf (options->size, "%dx%d", &r->video.width, &r->video.height) != 2)
    return fail (options->size, "is not a size; 640x480 is one");
  r->video.interlaced = options->interlaced;
  r->common.apply_to = strcmp (options->apply, "luma") == 0 ? CF_APPLY_LUMA : strcmp (options->apply, "chroma") == 0
      ? CF_APPLY_CHROMA : CF_APPLY_ALL;
  r->params = cf_params_new (r->filter);
  if (!r->params)
    return fail ("parameters", "out of memory");
  if (kc_params_set (r->filter, r->params, options->set, error) != CF_OK)
    return fail ("--set", error);
  if (cf_filter_check (r->filter, &r->video, &r->common, r->params, &status) != CF_OK)
    return fail ("--set", status.message);
  if (options->isa && !cf_cpu_limit (options->isa))
    return fail (options->isa, "this machine lacks this instruction set");
  if (strcmp (options->backend, "reference") != 0) {
    r->context = cf_context_new (strcmp (options->backend, "cuda") == 0 ? CF_BACKEND_CUDA : CF_BACKEND_CPU, &status);
    if (!r->context)
      return fail (options->backend, status.message);
    r->plan = cf_plan_new (r->context, r->filter, &r->video, &r->common, r->params, &status);
    if (!r->plan || (options->variant && cf_plan_prefer (r->plan, options->variant, &status) != CF_OK))
      return fail ("plan", status.message);
  }
  r->bytes = cf_image_layout (&r->layout, r->video.format, r->video.width, r->video.height, 1);
  for (int i = 0; i < 16; i++)
    if (!(r->in[i] = calloc (1, r->bytes)))
      return fail ("frames", "out of memory");
  r->out = calloc (1, r->bytes);
  if (r->context && strcmp (options->backend, "cuda") == 0) {
    r->run.stream = cf_stream_new (NULL, &status);
    r->device_in = cf_device_alloc (r->bytes, &status);
    r->device_out = cf_device_alloc (r->bytes, &status);
    if (!r->run.stream || !r->device_in || !r->device_out)
      return fail ("device memory", status.message);
  }
  return r->out ? 0 : fail ("frames", "out of memory");
}

static void
raw_close (RawRun *r)
{
  cf_plan_free (r->plan);
  cf_device_free (r->device_in);
  cf_device_free (r->device_out);
  cf_stream_free (r->run.stream);
  if (r->context)
    cf_context_free (r->context);
  for (int i = 0; i < 16; i++)
    free (r->in[i]);
  free (r->out);
  if (r->state)
    r->kc->free_state (r->state);
  if (r->filter)
    cf_params_free (r->filter, r->params);
}

static int
raw_frame (RawRun *r)
{
  CfStatus status = { 0 };
  CfImage in[16], out;
  const CfImage *seen[16];

  for (int i = 0; i < 16; i++) {
    cf_image_at (&in[i], &r->layout, i == 0 && r->device_in ? r->device_in : r->in[i]);
    seen[i] = &in[i];
  }
  cf_image_at (&out, &r->layout, r->device_out ? r->device_out : r->out);
  if (!r->context && r->kc->stateful_reference)
    return r->kc->stateful_reference (r->filter, &r->video, &r->common, r->params, &r->state, &in[0], &out, NULL) ? 0
        : fail ("reference", "out of memory");
  if (!r->context)
    return r->kc->reference (r->filter, &r->video, &r->common, r->params, seen, r->n_seen, &out) ? 0
        : fail ("reference", "out of memory");
  if (r->device_in && !kc_upload (&r->run, r->device_in, r->in[0], r->bytes, &status))
    return fail ("upload", status.message);
  if (cf_plan_enqueue (r->plan, r->run.stream, &in[0], &out, &status) != CF_OK)
    return fail ("enqueue", status.message);
  if (r->device_in && !kc_download (&r->run, r->out, r->device_out, r->bytes, &status))
    return fail ("download", status.message);
  return 0;
}

static int
raw_run (RawRun *r, FILE *in, FILE *out)
{
  int frames = 0;

  for (;;) {
    uint8_t *oldest = r->in[15];
    size_t got;

    memmove (r->in + 1, r->in, 15 * sizeof *r->in);
    r->in[0] = oldest;
    got = fread (r->in[0], 1, r->bytes, in);
    if (got == 0 && frames > 0)
      return 0;
    if (got != r->bytes)
      return fail ("--in", "does not hold whole frames of this format and size");
    r->n_seen += r->n_seen < 16;
    if (raw_frame (r) != 0)
      return 1;
    if (fwrite (r->out, 1, r->bytes, out) != r->bytes)
      return fail ("--out", "cannot be written");
    frames++;
  }
}

int
kc_raw_main (int argc, char **argv)
{
  RawOptions raw = { .filter = "median", .set = "", .backend = "cpu", .apply = "all" };
  static RawRun run;
  struct { const char *name; const char **value; } options[] = {
    { "--filter", &raw.filter }, { "--format", &raw.format }, { "--size", &raw.size }, { "--in", &raw.in },
    { "--out", &raw.out }, { "--backend", &raw.backend }, { "--apply-to", &raw.apply }, { "--isa", &raw.isa },
    { "--variant", &raw.variant },
  };
  static char set[1 << 17]; /* a whole kernel of 63 x 63 */
  FILE *in, *out;
  int rc;

  for (int i = 1; i < argc; i++) {
    size_t o = 0;

    if (strcmp (argv[i], "--interlaced") == 0) {
      raw.interlaced = true;
      continue;
    }
    if (i + 1 == argc)
      return fail (argv[i], "needs a value");
    while (o < sizeof options / sizeof *options && strcmp (options[o].name, argv[i]) != 0)
      o++;
    if (strcmp (argv[i], "--set") == 0) {
      if (strlen (set) + strlen (argv[i + 1]) + 2 > sizeof set)
        return fail ("--set", "the settings together are too long");
      snprintf (set + strlen (set), sizeof set - strlen (set), "%s ", argv[i + 1]);
    }
    else if (o < sizeof options / sizeof *options)
      *options[o].value = argv[i + 1];
    else
      return fail (argv[i], "is not an option of --in");
    i++;
  }
  raw.set = set;
  if (!raw.format || !raw.size || !raw.in || !raw.out)
    return fail ("options", "--format, --size, --in and --out are needed");
  in = fopen (raw.in, "rb");
  out = in ? fopen (raw.out, "wb") : NULL;
  rc = out ? raw_open (&run, &raw) : fail (in ? raw.out : raw.in, "cannot be opened");
  rc = rc == 0 ? raw_run (&run, in, out) : rc;
  raw_close (&run);
  if (in)
    (void) fclose (in);
  if (out && fclose (out) != 0 && rc == 0)
    rc = fail (raw.out, "cannot be written");
  return rc;
}
