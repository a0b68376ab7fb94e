/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * filter.h: a camera's filter line as a bin, what can be wrong with it, and which frame it gets next. */
#ifndef PIPELINES_WATCH_FILTER_H
#define PIPELINES_WATCH_FILTER_H

#include <gst/gst.h>

/* Returns a bin as make_filter () of line.h does, whose elements are all linked and whose ends have raw video, or NULL
 * with what is wrong. Any thread. */
GstElement *filter_new (const char *option, const char *line, GString *wrong);
/* Returns whether an element of the line reports what moves, as its properties are now. */
gboolean filter_reports_motion (GstElement *filter);
/* What users read where none does. */
#define FILTER_NO_MOTION \
  "nothing in the filter reports motion, as \"cudamedian temporal-method=running motion-meta=true\" and motioncells " \
  "do: only the command trigger begins a recording"

/* Takes the frame's time of day, as recordings have it, µs since 1970. 0: none has come. */
typedef void (*FilterNext) (gint64 wall, gpointer data);

/* Waits for the next frame that enters the filter, a second at most. It and all later ones have what was set before the
 * call; some before it may have it, too. `next` is called later, once, in the order of the calls. Where 32 wait for a
 * frame of this filter, the first of them waits no longer. Main thread. */
void filter_next (GstElement *filter, FilterNext next, gpointer data);
/* The filter is being stopped: tells everybody who waits now. */
void filter_stop (GstElement *filter);

#endif
