/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * settings.c: parameters by name and text, for all filters. The input is text: a line
 *   median NV12 17x9 interlaced luma
 * names the filter and what it filters (what is missing or wrong is chosen), a line "name=text" sets a parameter, a
 * line "name" clears it, and "!" filters a frame. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT 4096
#define MAX_FRAMES 8
#define MAX_SIDE 40

int
LLVMFuzzerInitialize (int *argc, char ***argv)
{
  (void) argc;
  (void) argv;
  return 0;
}

/* Reads the first line. */
static void
begin (FuzzFrames *f, const char *line)
{
  char stem[12] = "", format[12] = "";
  int width = 0, height = 0;

  sscanf (line, "%11s %11s %dx%d", stem, format, &width, &height);
  f->filter = cf_filter_find (stem);
  if (!f->filter)
    f->filter = cf_filters[(unsigned char) stem[0] % CF_N_FILTERS];
  f->video.format = cf_format_from_name (format);
  if (f->video.format == CF_FORMAT_NONE)
    f->video.format = (CfFormat) (1 + (unsigned char) format[0] % (CF_N_FORMATS - 1));
  f->video.width = 1 + (int) (((unsigned) width - 1) % MAX_SIDE);
  f->video.height = 1 + (int) (((unsigned) height - 1) % MAX_SIDE);
  f->video.interlaced = strstr (line, "interlaced") != NULL;
  f->common.apply_to = strstr (line, "luma") ? CF_APPLY_LUMA : strstr (line, "chroma") ? CF_APPLY_CHROMA : CF_APPLY_ALL;
}

/* Returns the row of that name, NULL if there is none. */
static const CfParam *
row_of (const CfFilter *filter, const char *name)
{
  const CfFilterInfo *info = cf_filter_info (filter);

  for (unsigned i = 0; i < info->n_params; i++)
    if (strcmp (info->params[i].name, name) == 0)
      return &info->params[i];
  return NULL;
}

static void
set (const CfFilter *filter, void *params, char *line)
{
  char *text = strchr (line, '=');
  CfStatus status = { 0 };
  const CfParam *row;
  CfCode code;

  if (text)
    *text++ = '\0';
  row = row_of (filter, line);
  code = cf_params_set (filter, params, line, text, &status);
  if (code == CF_OK && (!row || row->readonly))
    fuzz_fail ("%s can be set", line);
  if (code != CF_OK && row && row->type == CF_TYPE_STRING && !text)
    fuzz_fail ("%s cannot be cleared: %s", line, status.message);
  fuzz_check_status (code, &status);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  size_t length = size < MAX_TEXT ? size : MAX_TEXT;
  char *copy = malloc (length + 1), *rest = copy, *line;
  FuzzFrames frames = { 0 };
  void *params;

  if (!copy)
    abort ();
  if (length > 0)
    memcpy (copy, data, length);
  copy[length] = '\0';
  line = strsep (&rest, "\n");
  begin (&frames, line);
  params = cf_params_new (frames.filter, NULL);
  while ((line = strsep (&rest, "\n")) != NULL)
    if (strcmp (line, "!") != 0)
      set (frames.filter, params, line);
    else if (frames.frames < MAX_FRAMES)
      fuzz_frame (&frames, params);
  fuzz_frame (&frames, params);
  fuzz_frames_end (&frames);
  cf_params_free (frames.filter, params);
  free (copy);
  return 0;
}
