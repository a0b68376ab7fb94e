/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * source.h: what a camera's pipeline has before its filter: the source, the decoder, their limits, and a queue. Main
 * thread. */
#ifndef PIPELINES_WATCH_SOURCE_H
#define PIPELINES_WATCH_SOURCE_H

#include "config.h"

typedef struct Source Source;

/* Adds what stands between source and filter to the pipeline. The filter is to be linked behind `last`. Returns NULL
 * with what is wrong. */
Source *source_new (GstElement *pipeline, CameraSettings *settings, GstElement **last, GString *wrong);
void source_unref (Source *source);
/* Adds the source itself. Call it when the filter is linked. */
gboolean source_link (Source *source, GString *wrong);
/* Returns how many frames were dropped because the filter was too slow. */
guint64 source_dropped (Source *source);

#endif
