/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * elements.h: makes elements, says in which packages those are that this GStreamer lacks, and counts what a queue
 * drops. */
#ifndef PIPELINES_WATCH_ELEMENTS_H
#define PIPELINES_WATCH_ELEMENTS_H

#include "config.h"

/* Makes an element and adds it to the bin. Returns NULL with a sentence if there is no such element. */
GstElement *element_add (GstElement *bin, const char *factory, const char *name, GString *wrong);
/* Adds which elements are missing to encode the camera's video, unless its own packets may pass, and to record and show
 * it; nothing if all are there. */
void elements_for_encoding (const CameraSettings *settings, GString *wrong);
/* Adds which elements are missing to make a JPEG of a frame. */
void elements_for_pictures (GString *wrong);
/* Returns the element's kind, as in gst-launch-1.0; "" where it has none. */
const char *element_kind (gpointer element);
void element_add_probe (GstElement *element, const char *pad, GstPadProbeType type, GstPadProbeCallback probe,
    gpointer data);

/* A queue that drops frames when what follows is too slow. */
typedef struct {
  GstElement *element;            /* NULL: there is none */
  _Atomic guint64 arrived, taken; /* written by streaming threads */
  guint64 dropped;                /* of the main thread */
} Queue;

/* Begins to count what passes; the element is set. */
void queue_count (Queue *queue);
/* Returns how many frames were dropped. Main thread. */
guint64 queue_dropped (Queue *queue);

#endif
