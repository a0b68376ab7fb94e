/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * source.h: what a camera's pipeline has before its filter: the source, the decoder, their limits, and a queue. Main
 * thread. */
#ifndef PIPELINES_WATCH_SOURCE_H
#define PIPELINES_WATCH_SOURCE_H

#include "config.h"

typedef struct Source Source;

/* Adds what stands between source and filter to the pipeline. The filter is to be linked behind `last`. `own`: there is
 * no filter, and where the camera sends packets that can be recorded, they come instead of pictures. Returns NULL with
 * what is wrong. */
Source *source_new (GstElement *pipeline, CameraSettings *settings, gboolean own, GstElement **last, GString *wrong);
/* Are these caps of such packets? */
gboolean source_are_packets (GstCaps *caps);
void source_unref (Source *source);
/* Is this a tag that says the pictures lie on their side? */
gboolean source_is_turned (GstEvent *event);
/* Completes the caps event of pictures whose colours are not described as a whole; takes it and returns one. */
GstEvent *source_complete_color (GstEvent *event);
/* Takes a pad with the camera's sound. Called from a streaming thread, once at most. */
typedef void (*SourceSound) (GstPad *pad, GstCaps *caps, gpointer data);
/* Has the camera's sound given to the function. Without it, no pad with sound is ever linked. */
void source_take_sound (Source *source, SourceSound take, gpointer data);
/* Adds the source itself. Call it when the filter is linked. */
gboolean source_link (Source *source, GString *wrong);
/* Returns how many frames were dropped because the filter was too slow. */
guint64 source_dropped (Source *source);

#endif
