/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * labels.c: the segmentation of pictures, on the CPU, for programs that measure it (tests/oracle/borders.py):
 *   labels [NAME=VALUE...] < PICTURES > LABELS
 * PICTURES: PPM files (P6, 255) behind each other, the frames of a video; where the size changes, another video begins.
 * LABELS: for each pixel of each picture the id of its region, an int32, little endian, row by row. NAME=VALUE:
 * parameters of cuda/segment. The last line of standard error is the processor time of a picture, "N us". */
#include "cf.h"

#include <stdio.h>
#include <time.h>

typedef struct {
  const CfFilter *filter;
  CfVideo video;
  CfCommon common;
  void *params;
  CfContext *context;
  CfPlan *plan;
  uint8_t *in, *out; /* RGB */
  int32_t *label;
} Run;

static bool
set (Run *run, char *setting, CfStatus *status)
{
  char *value = strchr (setting, '=');

  if (!value)
    return cf_fail (status, CF_BAD_VALUE, "%s is no setting; one is max-regions=50", setting) == CF_OK;
  *value++ = '\0';
  return cf_params_set (run->filter, run->params, setting, value, status) == CF_OK;
}

/* Makes a plan and memory for pictures of another size. */
static bool
resize (Run *run, int width, int height, CfStatus *status)
{
  const size_t pixels = (size_t) width * height;

  cf_plan_free (run->plan);
  free (run->in);
  free (run->out);
  free (run->label);
  run->video.width = width;
  run->video.height = height;
  run->in = malloc (3 * pixels);
  run->out = malloc (3 * pixels);
  run->label = malloc (pixels * sizeof *run->label);
  run->plan = cf_plan_new (run->context, run->filter, &run->video, &run->common, run->params, status);
  if (run->plan && (!run->in || !run->out || !run->label))
    cf_fail (status, CF_NO_MEMORY, "no memory for a picture of %d x %d", width, height);
  return run->plan && run->in && run->out && run->label;
}

/* Sets `label` to the ids of the picture `in`. Returns the processor time in microseconds, -1 on failure. */
static double
segment (Run *run, CfStatus *status)
{
  CfImage in, out;
  CfRegions regions;
  clock_t begin;
  double us;

  cf_image_layout (&in, run->video.format, run->video.width, run->video.height, 1);
  cf_image_at (&out, &in, run->out);
  cf_image_at (&in, &in, run->in);
  begin = clock ();
  if (cf_plan_enqueue (run->plan, NULL, &(CfFrame) { .in = &in, .out = &out }, status) != CF_OK ||
      cf_plan_regions (run->plan, &regions, status) != CF_OK)
    return -1;
  us = 1e6 * (double) (clock () - begin) / CLOCKS_PER_SEC;
  for (int y = 0; y < run->video.height; y++) {
    const uint16_t *index = (const uint16_t *) ((const char *) regions.label + y * regions.pitch);

    for (int x = 0; x < run->video.width; x++)
      run->label[(size_t) y * run->video.width + x] = (int32_t) regions.region[index[x]].id;
  }
  return us;
}

/* Segments all pictures. Returns the processor time of one in microseconds, -1 on failure. */
static double
segment_all (Run *run, CfStatus *status)
{
  int width, height, read, pictures = 0;
  double us, total = 0;

  while ((read = scanf ("P6 %d %d 255%*c", &width, &height)) == 2) {
    const size_t pixels = (size_t) width * height;

    if ((width != run->video.width || height != run->video.height) && !resize (run, width, height, status))
      return -1;
    if (fread (run->in, 3, pixels, stdin) != pixels)
      return cf_fail (status, CF_BAD_VALUE, "picture %d is cut off", pictures + 1), -1;
    if ((us = segment (run, status)) < 0)
      return -1;
    if (fwrite (run->label, sizeof *run->label, pixels, stdout) != pixels)
      return cf_fail (status, CF_BAD_VALUE, "the labels cannot be written"), -1;
    total += us;
    pictures++;
  }
  if (read != EOF || pictures == 0 || fflush (stdout) != 0)
    return cf_fail (status, CF_BAD_VALUE, "behind %d pictures: no PPM file of 8 bits (P6, 255)", pictures), -1;
  return total / pictures;
}

int
main (int argc, char **argv)
{
  Run run = { .filter = cf_filter_find ("segment"), .video.format = CF_FORMAT_RGB };
  CfStatus status = { .message = "no memory" };
  char fixed[][32] = { "output=passthrough", "label-meta=true" };
  bool good = (run.params = cf_params_new (run.filter, NULL)) &&
      (run.context = cf_context_new (CF_BACKEND_CPU, &status));
  double us = -1;

  for (size_t i = 0; good && i < sizeof fixed / sizeof fixed[0]; i++)
    good = set (&run, fixed[i], &status);
  for (int i = 1; good && i < argc; i++)
    good = set (&run, argv[i], &status);
  if (good)
    us = segment_all (&run, &status);
  if (us < 0)
    fprintf (stderr, "labels: %s\n", status.message);
  else
    fprintf (stderr, "%.0f us\n", us);
  cf_plan_free (run.plan);
  if (run.context)
    cf_context_free (run.context);
  cf_params_free (run.filter, run.params);
  free (run.in);
  free (run.out);
  free (run.label);
  return us < 0;
}
