/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * stream.h: what upstream, an application and the command line may do to an element, chosen by bytes. */
#ifndef STREAM_H
#define STREAM_H

#include "fuzz.h"

#include <gst/video/video.h>

/* Initialises GStreamer without its registry; critical messages and warnings of GLib abort from then on. `tolerated`
 * (or NULL): not those that contain one of these texts. */
void stream_init (const gchar *const *tolerated);

/* Makes the element of filter `i` with backend=cpu and that number of frames in flight. */
GstElement *stream_element (guint i, gint frames_in_flight);
/* Returns a pad that takes any caps, linked to that element, with `user` as its private data. The caller unrefs it. */
GstPad *stream_pad (GstElement *element, const gchar *name, GstPadDirection direction, gpointer user);

/* Returns fixed caps, most of which the elements support. */
GstCaps *stream_caps (FuzzBytes *bytes);
/* Returns a frame for these caps: in the default layout where `odd` is FALSE, else in any other, good and bad. Its
 * offset is `number`. */
GstBuffer *stream_buffer (FuzzBytes *bytes, const GstVideoInfo *info, gboolean odd, guint64 number);
/* Sets one of the properties to a good or bad value. */
void stream_property (FuzzBytes *bytes, GstElement *element);
/* Sets all properties to their defaults, but backend=cpu. */
void stream_defaults (GstElement *element);
/* Return an event that an element further up or down may send at any time. */
GstEvent *stream_event_down (FuzzBytes *bytes);
GstEvent *stream_event_up (FuzzBytes *bytes);
/* Takes all messages off the bus and checks their texts. Returns how many were errors. */
guint stream_check_bus (GstBus *bus);

#endif
