/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * filter.h: a camera's filter line as a bin, and what can be wrong with it. */
#ifndef PIPELINES_WATCH_FILTER_H
#define PIPELINES_WATCH_FILTER_H

#include <gst/gst.h>

/* Returns a bin as make_filter () of line.h does, whose elements are all linked and whose ends have raw video, or NULL
 * with what is wrong. Any thread. */
GstElement *filter_new (const char *option, const char *line, GString *wrong);
/* Returns whether an element of the line reports what moves, as its properties are now. */
gboolean filter_reports_motion (GstElement *filter);
/* What follows from there being none. */
#define FILTER_NO_MOTION \
  "nothing in the filter reports motion, as \"cudamedian temporal-method=running motion-meta=true\" and motioncells " \
  "do: only the command trigger begins a recording"

#endif
