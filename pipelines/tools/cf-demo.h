/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cf-demo.h: types and functions that the two files of cf-demo share. */
#ifndef PIPELINES_TOOLS_CF_DEMO_H
#define PIPELINES_TOOLS_CF_DEMO_H

#include "line.h"

#include <gst/gst.h>

typedef struct {
  char *input, *filter, *output;
  int frames;   /* 0: until the input ends */
  double noise; /* % of the pixels; < 0: not given */
  gboolean live, window;
} Options;

/* All functions below return NULL or FALSE on failure, after a message on stderr unless noted. */

/* Returns the launch line of the source; sets opt->live, and *uri (free it) for sources that have one. */
const char *choose_source (Options *opt, char **uri);
/* Returns the first window sink that opens here; prints no message. */
const char *choose_window (void);
/* Returns the name of the output file if none was given. */
const char *default_output (void);
/* Returns whether the output file can be written; it must not be the input. */
gboolean check_output (const Options *opt);
/* Returns the launch line of encoder, muxer and file sink for the file's name, and sets *note to a
 * description for the user. Free both. */
char *choose_writer (const char *path, char **note);

#endif
