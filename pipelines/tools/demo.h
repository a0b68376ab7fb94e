/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * demo.h: what the parts of cf-demo share. */
#ifndef PIPELINES_TOOLS_DEMO_H
#define PIPELINES_TOOLS_DEMO_H

#include <gst/gst.h>

/* ALONE: the filtered frame. BESIDE: the original on its left. GRID: one filter in each quarter. */
typedef enum { LAYOUT_ALONE, LAYOUT_BESIDE, LAYOUT_GRID } DemoLayout;

typedef struct {
  char *input, *filter, *before, *output;
  char *layout_name;
  DemoLayout layout;
  int frames;   /* 0: until the input ends */
  double noise; /* % of the pixels; < 0: not given */
  gboolean live, window, force, page;
} DemoOptions;

/* The launch lines of both ends. Free the strings. */
typedef struct {
  char *source;   /* its element "source" lacks the property that names the input; "decoder" is behind it, if any */
  char *property; /* that property, NULL: none */
  char *value;    /* its value */
  char *sink;     /* encoder and muxer, or a window; the caller adds the filesink of a file */
  char *part;     /* the unfinished file; NULL: a window */
} DemoEnds;

/* Chooses the source. Sets opt->live. Returns FALSE after a message. */
gboolean demo_choose_source (DemoOptions *opt, DemoEnds *ends);
/* Chooses the window, or encoder and muxer by the name of opt->output, which is chosen as well if there is neither
 * name nor display; checks that the file can be written. Sets opt->window. Returns FALSE after a message. */
gboolean demo_choose_sink (DemoOptions *opt, DemoEnds *ends);
/* Prints the same pipeline (of LAYOUT_ALONE) as a line of gst-launch-1.0 that a shell takes as it is. */
void demo_print_line (const DemoOptions *opt, const DemoEnds *ends);
/* Returns the name of the picture beside the video. Free it. */
char *demo_picture_name (const char *output);

#endif
