/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * rerun.h: a filter made from its record. No line is parsed. Only this project's elements are made, and no property
 * that names a file is set. */
#ifndef PIPELINES_WATCH_RERUN_H
#define PIPELINES_WATCH_RERUN_H

#include <gst/gst.h>
#include <json-glib/json-glib.h>

typedef struct Rerun Rerun;

/* Returns a filter of these elements, as properties_set_json () describes them, with the changes `first` to `last` - 1.
 * NULL with what is wrong. */
Rerun *rerun_new (JsonArray *elements, JsonArray *changes, guint first, guint last, GString *wrong);
void rerun_free (Rerun *rerun);
/* Is each frame that comes out made of one frame alone? */
gboolean rerun_is_pure (Rerun *rerun);
/* Filters a frame, NULL: the last one was there. What comes out is to be taken by rerun_take (). Returns FALSE with
 * what is wrong. */
gboolean rerun_push (Rerun *rerun, GstCaps *caps, GstBuffer *frame, GString *wrong);
/* Returns the SHA-256 of the next frame that has come out. Free it. NULL: there is none. */
char *rerun_take (Rerun *rerun);

#endif
