/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/slices.c: a frame cut into slices of rows, with one plan per slice.
 *
 * A slice is filtered together with its halo, the rows that its samples depend on, and the results in the halo are
 * discarded. Slices alternate between two output images, because the discarded rows of a slice are rows of its
 * neighbour. */
#include "device.h"

#include <stdlib.h>

#define MAX_SLICES 4

/* The events of a slice. */
enum { UPLOADED, FILTERED, N_EVENTS };

/* Slices begin at multiples of this many rows, so at rows of all planes, and copies begin on a cache line. */
#define STEP 16

typedef struct {
  int begin, end;            /* the slice has the rows begin .. end - 1 */
  int first_read, last_read; /* it depends on the rows first_read .. last_read - 1 */
  CfPlan *plan;
  CfEvents *events;
} Slice;

struct CfSlices {
  unsigned n;
  Slice slice[MAX_SLICES];
};

/* Returns the halo in rows of luma, an even number; -1 if a row depends on all rows. A halo in chroma of half the
 * height is twice as many rows of luma. */
static int
luma_halo (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params)
{
  const CfFormatInfo *info = cf_format_info (video->format);
  const CfTraits traits = cf_filter_traits (filter, video, common, params);
  int halo = traits.anchored ? -1 : traits.halo, sub = 0;

  for (int i = 0; i < info->n_components; i++)
    if (info->comp[i].h_sub > sub)
      sub = info->comp[i].h_sub;
  return halo < 0 ? -1 : ((halo << sub) + 1) / 2 * 2;
}

/* Returns whether the frame can be cut into `n` slices. A slice is at least as high as two halos, so that the rows of
 * two slices that write to the same image do not overlap. */
static bool
fits (unsigned n, const CfVideo *video, int halo)
{
  int rows = video->height / (int) n - STEP, least = 2 * halo > 4 * STEP ? 2 * halo : 4 * STEP;

  return n <= MAX_SLICES && !video->interlaced && halo >= 0 && rows >= least;
}

CfSlices *
cf_slices_new (unsigned n, CfContext *context, const CfFilter *filter, const CfVideo *video, const CfCommon *common,
    const void *params, CfStatus *status)
{
  int halo = luma_halo (filter, video, common, params), height = video->height;
  CfSlices *slices;
  bool good = true;

  if (!fits (n, video, halo)) {
    cf_fail (status, CF_UNSUPPORTED, "the frame cannot be cut into %u slices", n);
    return NULL;
  }
  slices = calloc (1, sizeof *slices);
  if (!slices) {
    cf_fail (status, CF_NO_MEMORY, "out of memory");
    return NULL;
  }
  slices->n = n;
  for (unsigned i = 0; good && i < n; i++) {
    Slice *s = &slices->slice[i];
    CfVideo part = *video;

    s->begin = height * (int) i / (int) n / STEP * STEP;
    s->end = i + 1 == n ? height : height * (int) (i + 1) / (int) n / STEP * STEP;
    s->first_read = s->begin > halo ? s->begin - halo : 0;
    s->last_read = s->end + halo < height ? s->end + halo : height;
    part.height = s->last_read - s->first_read;
    good = (s->events = cf_events_new (N_EVENTS, status)) != NULL &&
        (s->plan = cf_plan_new (context, filter, &part, common, params, status)) != NULL;
  }
  if (good)
    return slices;
  cf_slices_free (slices);
  return NULL;
}

void
cf_slices_free (CfSlices *slices)
{
  for (unsigned i = 0; slices && i < slices->n; i++) {
    cf_plan_free (slices->slice[i].plan);
    cf_events_free (slices->slice[i].events);
  }
  free (slices);
}

/* Queues the copy of the rows begin..end - 1 (cf_image_rows) of an image, and of no other bytes. */
static CfCode
copy_rows (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from, int begin, int end,
    CfStatus *status)
{
  CfImage to_rows, from_rows;

  cf_image_rows (&to_rows, to, begin, end);
  cf_image_rows (&from_rows, from, begin, end);
  return cf_stream_copy_planes (stream, direction, &to_rows, &from_rows, false, status);
}

/* Uploads the rows that the slice depends on and the slices before it did not need. */
static CfCode
upload (const CfSlices *slices, unsigned i, const CfSlicesRequest *r, CfStatus *status)
{
  const Slice *s = &slices->slice[i];
  int begin = i == 0 ? 0 : slices->slice[i - 1].last_read;
  CfCode code = copy_rows (r->up, CF_UPLOAD, r->device_in, r->host_in, begin, s->last_read, status);

  return code == CF_OK ? cf_stream_record (r->up, s->events, UPLOADED, status) : code;
}

static CfCode
filter (const CfSlices *slices, unsigned i, const CfSlicesRequest *r, CfStatus *status)
{
  const Slice *s = &slices->slice[i];
  CfImage in, out;
  CfCode code = cf_stream_wait_event (r->kernels, s->events, UPLOADED, status);

  cf_image_rows (&in, r->device_in, s->first_read, s->last_read);
  cf_image_rows (&out, r->device_out[i % 2], s->first_read, s->last_read);
  if (code == CF_OK)
    code = cf_plan_enqueue (s->plan, r->kernels, &(CfFrame) { .in = &in, .out = &out }, status);
  return code == CF_OK ? cf_stream_record (r->kernels, s->events, FILTERED, status) : code;
}

static CfCode
download (const CfSlices *slices, unsigned i, const CfSlicesRequest *r, CfStatus *status)
{
  const Slice *s = &slices->slice[i];
  CfCode code = cf_stream_wait_event (r->down, s->events, FILTERED, status);

  return code == CF_OK ? copy_rows (r->down, CF_DOWNLOAD, r->host_out, r->device_out[i % 2], s->begin, s->end, status)
                       : code;
}

CfCode
cf_slices_enqueue (CfSlices *slices, const CfSlicesRequest *request, CfStatus *status)
{
  CfCode code = upload (slices, 0, request, status);

  for (unsigned i = 0; code == CF_OK && i < slices->n; i++) {
    if (i + 1 < slices->n)
      code = upload (slices, i + 1, request, status);
    if (code == CF_OK)
      code = filter (slices, i, request, status);
    if (code == CF_OK)
      code = download (slices, i, request, status);
  }
  return code;
}
