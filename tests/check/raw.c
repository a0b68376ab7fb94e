/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * raw.c: filters a file of raw frames with no multimedia framework around:
 *   kernelcheck --filter median --set kernel-size=5 --format GRAY8
 *     --size 640x480 --in FILE --out FILE [--backend cpu|cuda|reference]
 *     [--apply-to all|luma|chroma] [--interlaced] [--isa NAME] [--variant NAME]
 * --set may come often and have several settings; a kernel's text may have
 * spaces, as in --set 'kernel=0 -1 0; -1 5 -1; 0 -1 0 bias=3'.
 * Frames follow each other without padding. For other programs that check the
 * filters from outside. */
#include "kernelcheck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *filter, *set, *format, *size, *in, *out, *backend, *apply, *isa, *variant;
  bool interlaced;
} Raw;

typedef struct {
  const KcFilter *kc;
  const CfFilter *filter;
  CfVideo video;
  CfCommon common;
  void *params;
  KcRun run;
  CfContext *context; /* NULL: the reference */
  void *state;        /* what that one leaves to the next frame, where it follows */
  CfPlan *plan;
  CfImage layout;
  size_t bytes;
  uint8_t *in[16], *out; /* in[0] the newest: the reference looks at the others */
  uint8_t *device_in, *device_out;
  int n_seen;
} Job;

static int
fail (const char *what, const char *why)
{
  fprintf (stderr, "kernelcheck: %s: %s\n", what, why);
  return 1;
}

static int
job_open (Job *j, const Raw *raw)
{
  char error[KC_TEXT];
  CfStatus status = { 0 };

  for (const KcFilter *const *kc = kc_filters; *kc; kc++)
    if (strcmp ((*kc)->stem, raw->filter) == 0)
      j->kc = *kc;
  j->filter = cf_filter_find (raw->filter);
  if (!j->kc || !j->filter)
    return fail (raw->filter, "is no filter");
  j->video.format = cf_format_from_name (raw->format);
  if (!cf_format_info (j->video.format))
    return fail (raw->format, "is no format; NV12 is one");
  if (sscanf (raw->size, "%dx%d", &j->video.width, &j->video.height) != 2)
    return fail (raw->size, "is no size; 640x480 is one");
  j->video.interlaced = raw->interlaced;
  j->common.apply_to = strcmp (raw->apply, "luma") == 0 ? CF_APPLY_LUMA : strcmp (raw->apply, "chroma") == 0
      ? CF_APPLY_CHROMA : CF_APPLY_ALL;
  j->params = malloc (cf_filter_params_size (j->filter));
  if (!j->params)
    return fail ("parameters", "out of memory");
  cf_filter_defaults (j->filter, j->params);
  if (kc_params_set (j->filter, j->params, raw->set, error) != CF_OK)
    return fail ("--set", error);
  if (cf_filter_check (j->filter, &j->video, &j->common, j->params, &status) != CF_OK)
    return fail ("--set", status.message);
  if (raw->isa && !cf_cpu_limit (raw->isa))
    return fail (raw->isa, "this machine does not have these instructions");
  if (strcmp (raw->backend, "reference") != 0) {
    j->context = cf_context_new (strcmp (raw->backend, "cuda") == 0 ? CF_BACKEND_CUDA : CF_BACKEND_CPU, &status);
    if (!j->context)
      return fail (raw->backend, status.message);
    j->plan = cf_plan_new (j->context, j->filter, &j->video, &j->common, j->params, &status);
    if (!j->plan || (raw->variant && cf_plan_prefer (j->plan, raw->variant, &status) != CF_OK))
      return fail ("plan", status.message);
  }
  j->bytes = cf_image_layout (&j->layout, j->video.format, j->video.width, j->video.height, 1);
  for (int i = 0; i < 16; i++)
    if (!(j->in[i] = calloc (1, j->bytes)))
      return fail ("frames", "out of memory");
  j->out = calloc (1, j->bytes);
  if (j->context && cf_context_backend (j->context) == CF_BACKEND_CUDA) {
    j->run.stream = cf_stream_new (NULL, &status);
    j->device_in = cf_device_alloc (j->bytes, &status);
    j->device_out = cf_device_alloc (j->bytes, &status);
    if (!j->run.stream || !j->device_in || !j->device_out)
      return fail ("device memory", status.message);
  }
  return j->out ? 0 : fail ("frames", "out of memory");
}

static void
job_close (Job *j)
{
  cf_plan_free (j->plan);
  cf_device_free (j->device_in);
  cf_device_free (j->device_out);
  cf_stream_free (j->run.stream);
  if (j->context)
    cf_context_free (j->context);
  for (int i = 0; i < 16; i++)
    free (j->in[i]);
  free (j->out);
  if (j->state)
    j->kc->forget (j->state);
  if (j->filter)
    kc_params_free (j->filter, j->params);
}

static int
job_frame (Job *j)
{
  CfStatus status = { 0 };
  CfImage in[16], out;
  const CfImage *seen[16];

  for (int i = 0; i < 16; i++) {
    cf_image_at (&in[i], &j->layout, i == 0 && j->device_in ? j->device_in : j->in[i]);
    seen[i] = &in[i];
  }
  cf_image_at (&out, &j->layout, j->device_out ? j->device_out : j->out);
  if (!j->context && j->kc->follow)
    return j->kc->follow (j->filter, &j->video, &j->common, j->params, &j->state, &in[0], &out, NULL) ? 0
        : fail ("reference", "out of memory");
  if (!j->context)
    return j->kc->reference (j->filter, &j->video, &j->common, j->params, seen, j->n_seen, &out) ? 0
        : fail ("reference", "out of memory");
  if (j->device_in && !kc_upload (&j->run, j->device_in, j->in[0], j->bytes, &status))
    return fail ("upload", status.message);
  if (cf_plan_enqueue (j->plan, j->run.stream, &in[0], &out, &status) != CF_OK)
    return fail ("enqueue", status.message);
  if (j->device_in && !kc_download (&j->run, j->out, j->device_out, j->bytes, &status))
    return fail ("download", status.message);
  return 0;
}

static int
job_run (Job *j, FILE *in, FILE *out)
{
  int frames = 0;

  for (;;) {
    uint8_t *oldest = j->in[15];
    size_t got;

    memmove (j->in + 1, j->in, 15 * sizeof *j->in);
    j->in[0] = oldest;
    got = fread (j->in[0], 1, j->bytes, in);
    if (got == 0 && frames > 0)
      return 0;
    if (got != j->bytes)
      return fail ("--in", "does not hold whole frames of this format and size");
    j->n_seen += j->n_seen < 16;
    if (job_frame (j) != 0)
      return 1;
    if (fwrite (j->out, 1, j->bytes, out) != j->bytes)
      return fail ("--out", "cannot be written");
    frames++;
  }
}

int
kc_raw_main (int argc, char **argv)
{
  Raw raw = { .filter = "median", .set = "", .backend = "cpu", .apply = "all" };
  static Job job;
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
      return fail (argv[i], "what value?");
    while (o < sizeof options / sizeof *options && strcmp (options[o].name, argv[i]) != 0)
      o++;
    if (strcmp (argv[i], "--set") == 0) {
      if (strlen (set) + strlen (argv[i + 1]) + 2 > sizeof set)
        return fail ("--set", "all of them together are too long");
      snprintf (set + strlen (set), sizeof set - strlen (set), "%s ", argv[i + 1]);
    }
    else if (o < sizeof options / sizeof *options)
      *options[o].value = argv[i + 1];
    else
      return fail (argv[i], "is no option here");
    i++;
  }
  raw.set = set;
  if (!raw.format || !raw.size || !raw.in || !raw.out)
    return fail ("options", "--format, --size, --in and --out are needed");
  in = fopen (raw.in, "rb");
  out = in ? fopen (raw.out, "wb") : NULL;
  rc = out ? job_open (&job, &raw) : fail (in ? raw.out : raw.in, "cannot be opened");
  rc = rc == 0 ? job_run (&job, in, out) : rc;
  job_close (&job);
  if (in)
    (void) fclose (in);
  if (out && fclose (out) != 0 && rc == 0)
    rc = fail (raw.out, "cannot be written");
  return rc;
}
