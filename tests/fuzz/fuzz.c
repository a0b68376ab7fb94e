/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * fuzz.c: see fuzz.h. */
#include "fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
fuzz_fail (const char *format, ...)
{
  va_list args;

  va_start (args, format);
  fputs ("INVARIANT: ", stderr);
  vfprintf (stderr, format, args);
  fputc ('\n', stderr);
  va_end (args);
  abort ();
}

/* ---- bytes -------------------------------------------------------------- */

unsigned
fuzz_byte (FuzzBytes *bytes)
{
  if (bytes->left == 0)
    return 0;
  bytes->left--;
  return *bytes->at++;
}

unsigned
fuzz_below (FuzzBytes *bytes, unsigned n)
{
  unsigned value = fuzz_byte (bytes);

  if (n > 256)
    value = value << 8 | fuzz_byte (bytes);
  return value % n;
}

void
fuzz_fill (void *memory, size_t size, uint32_t seed)
{
  uint32_t x = seed * 2654435761u + 1;

  for (size_t i = 0; i < size; i++) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    ((uint8_t *) memory)[i] = (uint8_t) (x >> 8);
  }
}

uint32_t
fuzz_hash (uint32_t hash, const void *memory, size_t size)
{
  hash = hash ? hash : 2166136261u;
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ ((const uint8_t *) memory)[i]) * 16777619u;
  return hash;
}

/* ---- errors ------------------------------------------------------------- */

void
fuzz_check_text (const char *text, size_t max)
{
  size_t length = strlen (text);

  if (length == 0 || length >= max)
    fuzz_fail ("the text of an error has %zu bytes: %s", length, text);
  for (size_t i = 0; i < length; i++)
    if ((unsigned char) text[i] < ' ' || (unsigned char) text[i] > '~')
      fuzz_fail ("the text of an error has the byte %#x: %s", (unsigned char) text[i], text);
}

void
fuzz_check_status (CfCode code, const CfStatus *status)
{
  if (code == CF_OK)
    return;
  if (code != status->code || status->cuda != 0)
    fuzz_fail ("code %d, in the status %d and CUDA error %d", code, status->code, status->cuda);
  if (code != CF_BAD_VALUE && code != CF_UNSUPPORTED)
    fuzz_fail ("code %d: %s", code, status->message);
  fuzz_check_text (status->message, sizeof status->message - 1);
}

/* ---- frames ------------------------------------------------------------- */

/* Allocates each plane by itself and not one byte too many, so that the address sanitizer sees every access outside. */
static void
make_image (CfImage *image, const CfVideo *video, uint32_t seed)
{
  const CfFormatInfo *info = cf_format_info (video->format);

  *image = (CfImage) { .format = video->format, .width = video->width, .height = video->height };
  for (int p = 0; p < info->n_planes; p++) {
    size_t row = cf_plane_row_bytes (video->format, video->width, p);
    size_t size = row * (size_t) cf_plane_rows (video->format, video->height, p);

    image->plane[p].pitch = row;
    image->plane[p].data = malloc (size);
    if (!image->plane[p].data)
      abort ();
    fuzz_fill (image->plane[p].data, size, seed + (uint32_t) p);
  }
}

static void
free_image (CfImage *image)
{
  for (int p = 0; p < CF_MAX_PLANES; p++)
    free (image->plane[p].data);
}

/* Compares the samples. A row of YUY2 of odd width has one more luma sample, which is none of the image's. */
static bool
same_image (const CfImage *a, const CfImage *b)
{
  const CfFormatInfo *info = cf_format_info (a->format);

  for (int i = 0; i < info->n_components; i++) {
    const CfComponent *c = &info->comp[i];
    const int width = (a->width + (1 << c->w_sub) - 1) >> c->w_sub,
              height = (a->height + (1 << c->h_sub) - 1) >> c->h_sub;

    for (int y = 0; y < height; y++)
      for (int x = 0; x < width; x++) {
        const size_t at = (size_t) y * a->plane[c->plane].pitch + (size_t) (c->offset + x * c->step) * info->bytes;

        if (memcmp ((char *) a->plane[c->plane].data + at, (char *) b->plane[c->plane].data + at, info->bytes) != 0)
          return false;
      }
  }
  return true;
}

/* Gives the plan these parameters, which are good. */
static void
take_params (FuzzFrames *f, const void *params)
{
  CfStatus status = { 0 };
  CfCode code = CF_REPLAN;

  if (!f->context)
    f->context = cf_context_new (CF_BACKEND_CPU, &status);
  if (f->plan)
    code = cf_plan_update (f->plan, &f->common, params, &status);
  if (code == CF_REPLAN) {
    cf_plan_free (f->plan);
    f->plan = cf_plan_new (f->context, f->filter, &f->video, &f->common, params, &status);
    code = f->plan ? CF_OK : status.code;
  }
  if (code != CF_OK)
    fuzz_fail ("checked parameters are refused with code %d: %s", code, status.message);
}

/* A segmentation has regions in each frame, motion may have none. */
static void
check_regions (FuzzFrames *f)
{
  CfRegions regions = { 0 };
  CfStatus status = { 0 };

  if (cf_plan_regions (f->plan, &regions, &status) != CF_OK ||
      (regions.n == 0 && strcmp (cf_filter_info (f->filter)->stem, "segment") == 0))
    fuzz_fail ("no regions: %s", status.message);
  for (unsigned i = 0; i < regions.n; i++) {
    const CfRegion *r = &regions.region[i];

    if (r->area > 0 &&
        (r->x < 0 || r->y < 0 || r->width < 1 || r->height < 1 || r->x + r->width > f->video.width ||
            r->y + r->height > f->video.height || r->area > (uint32_t) r->width * (uint32_t) r->height))
      fuzz_fail ("region %u: %d,%d %d x %d, %u pixels", r->id, r->x, r->y, r->width, r->height, r->area);
  }
}

void
fuzz_frame (FuzzFrames *f, const void *params)
{
  void *copy = cf_params_new (f->filter, params);
  CfStatus status = { 0 }, again = { 0 };
  CfCode code = cf_filter_check (f->filter, &f->video, &f->common, params, &status);
  CfTraits traits;
  CfImage in, out;

  if (!copy || cf_filter_check (f->filter, &f->video, &f->common, copy, &again) != code ||
      strcmp (status.message, again.message) != 0)
    fuzz_fail ("a copy gives another result: %s / %s", status.message, again.message);
  cf_params_free (f->filter, copy);
  fuzz_check_status (code, &status);
  if (code != CF_OK)
    return;
  if (cf_filter_check (f->filter, NULL, &f->common, params, &status) != CF_OK)
    fuzz_fail ("refused as long as the video is not known: %s", status.message);
  take_params (f, params);
  traits = cf_filter_traits (f->filter, &f->video, &f->common, params);
  make_image (&in, &f->video, f->frames);
  make_image (&out, &f->video, ~f->frames);
  if (cf_plan_enqueue (f->plan, NULL, &(CfFrame) { .in = &in, .out = &out }, &status) != CF_OK)
    fuzz_fail ("a frame is refused: %s", status.message);
  if (traits.identity && !same_image (&in, &out))
    fuzz_fail ("an identity of %s changes a frame in %s", cf_filter_info (f->filter)->stem,
        cf_format_info (f->video.format)->name);
  if (traits.has_regions)
    check_regions (f);
  free_image (&in);
  free_image (&out);
  f->frames++;
}

void
fuzz_frames_end (FuzzFrames *f)
{
  cf_plan_free (f->plan);
  cf_context_free (f->context);
}
