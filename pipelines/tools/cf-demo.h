/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cf-demo.h: what the two files of cf-demo share. */
#ifndef PIPELINES_TOOLS_CF_DEMO_H
#define PIPELINES_TOOLS_CF_DEMO_H

#include "line.h"

#include <gst/gst.h>

typedef struct {
  char *input, *filter, *output;
  int frames;   /* 0 = until the input ends */
  double noise; /* % of the pixels; < 0 = not given */
  gboolean live, window;
} Options;

/* All below: NULL or FALSE after a message that says what is wrong. */

/* The description of the source; sets opt->live, and *uri (to be freed) where
 * the source has one. */
const char *choose_source (Options *opt, char **uri);
/* The first window sink that opens here; silent. */
const char *choose_window (void);
/* The name of the file to write where none was given. */
const char *default_output (void);
/* May the file be written? Never over the input. */
gboolean check_output (const Options *opt);
/* Encoder, muxer and file sink for the file's name; *note: what it is, for
 * people. Both to be freed. */
char *choose_writer (const char *path, char **note);

#endif
