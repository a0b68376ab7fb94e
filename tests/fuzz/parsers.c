/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * parsers.c: the texts and files that a filter takes, one target for each; FUZZ_TARGET names it. The input is the text.
 * A fraction is the numerator, '|' and the denominator. What a filter accepts then filters a small frame. */
#define _GNU_SOURCE /* memfd_create */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct {
  const char *name, *stem, *param;
  const char *param2; /* takes the text behind the first '|' */
  bool file;
} targets[] = {
  { "kernel", "convolve", "kernel" },
  { "kernel_file", "convolve", "kernel-file", .file = true },
  { "fraction", "irfilter", "numerator", "denominator" },
  { "coefficients", "irfilter", "coefficients", .file = true },
  { "seeds", "segment", "seeds" },
  { "zones", "median", "zones" },
};

static const CfFormat formats[] = { CF_FORMAT_GRAY8, CF_FORMAT_NV12, CF_FORMAT_RGB, CF_FORMAT_GRAY16_LE,
  CF_FORMAT_I420_10LE };

static int file = -1;
static unsigned target;

int
LLVMFuzzerInitialize (int *argc, char ***argv)
{
  (void) argc;
  (void) argv;
  while (strcmp (targets[target].name, FUZZ_TARGET) != 0)
    target++;
  if (targets[target].file)
    file = memfd_create ("fuzz", MFD_CLOEXEC);
  return 0;
}

/* Writes the input into the file and returns its path. */
static const char *
path_of (const uint8_t *data, size_t size)
{
  static char path[40];

  if (file < 0 || ftruncate (file, 0) != 0 || pwrite (file, data, size, 0) != (ssize_t) size)
    fuzz_fail ("the file for the input cannot be written");
  snprintf (path, sizeof path, "/proc/self/fd/%d", file);
  return path;
}

static void
set (const CfFilter *filter, void *params, const char *name, const char *text)
{
  CfStatus status = { 0 }, again = { 0 };
  CfCode code = cf_params_set (filter, params, name, text, &status);

  fuzz_check_status (code, &status);
  if (cf_params_set (filter, params, name, text, &again) != code || strcmp (status.message, again.message) != 0)
    fuzz_fail ("the second time %s gives another result: %s / %s", name, status.message, again.message);
}

/* Reads zones as an element does. What is accepted are polygons in the frame, with names. */
static void
check_zones (const char *text)
{
  CfStatus status = { 0 };
  CfZones *zones = cf_zones_new (text, &status);

  if (!zones)
    fuzz_check_status (status.code, &status);
  for (unsigned i = 0; zones && i < zones->n; i++) {
    const CfZone *zone = &zones->zone[i];

    if (!zone->name[0] || strlen (zone->name) >= sizeof zone->name || zone->n < 3)
      fuzz_fail ("zone %u, \"%s\", has %u corners", i, zone->name, zone->n);
    for (unsigned k = 0; k < zone->n; k++)
      if (!(zone->corner[k].x >= 0 && zone->corner[k].x <= 1 && zone->corner[k].y >= 0 && zone->corner[k].y <= 1))
        fuzz_fail ("zone \"%s\" leaves the frame: %g,%g", zone->name, zone->corner[k].x, zone->corner[k].y);
  }
  cf_zones_free (zones);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const CfFilter *filter = cf_filter_find (targets[target].stem);
  void *params = cf_params_new (filter, NULL);
  const char *text2 = NULL;
  char *text = malloc (size + 1), *bar;
  FuzzFrames frames = { .filter = filter, .video = { .width = 9, .height = 7 } };

  if (!params || !text)
    abort ();
  if (size > 0)
    memcpy (text, data, size);
  text[size] = '\0';
  bar = targets[target].param2 ? strchr (text, '|') : NULL;
  if (bar) {
    *bar = '\0';
    text2 = bar + 1;
  }
  set (filter, params, targets[target].param, targets[target].file ? path_of (data, size) : text);
  if (text2)
    set (filter, params, targets[target].param2, text2);
  if (strcmp (targets[target].param, "zones") == 0)
    check_zones (text);
  frames.video.format = formats[fuzz_hash (0, data, size) % (sizeof formats / sizeof formats[0])];
  fuzz_frame (&frames, params);
  set (filter, params, targets[target].param, NULL);
  fuzz_frame (&frames, params);
  fuzz_frames_end (&frames);
  cf_params_free (filter, params);
  free (text);
  return 0;
}
