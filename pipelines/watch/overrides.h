/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * overrides.h: what was set by command on a camera's filter, and the frame sizes of its regions in pixels. Each
 * new pipeline gets both again, also with another filter line, as long as it has the element. Main thread. */
#ifndef PIPELINES_WATCH_OVERRIDES_H
#define PIPELINES_WATCH_OVERRIDES_H

#include <gst/gst.h>
#include <json-glib/json-glib.h>

typedef struct Overrides Overrides;

Overrides *overrides_new (void);
void overrides_free (Overrides *overrides);
/* Returns the element's kind, as in gst-launch-1.0. */
const char *kind_of (GstElement *element);
/* Keeps a value that was set on an element of the list. Returns whether an element had refused the value before it. */
gboolean overrides_keep (Overrides *overrides, GList *elements, guint index, const char *property, const char *value);
/* Sets all values on the elements of a filter. */
void overrides_apply (Overrides *overrides, GList *elements);
/* Does the same for a new pipeline. Drops the values of elements that the line has no more. Reports on both, and on
 * values that an element refuses. */
void overrides_start (Overrides *overrides, GList *elements, const char *camera);
/* Notes and reports that an element refuses a value: `text` begins with its property. Returns whether any value of the
 * element was set by command. */
gboolean
overrides_refuse (Overrides *overrides, GList *elements, GstObject *element, const char *text, const char *camera);
/* Adds the values that may be names of files (look.h). */
void overrides_add_files (const Overrides *overrides, GPtrArray *paths);
/* Tries once more what was refused, in another thread; reports what is in force again. Call it while frames come. */
void overrides_retry (Overrides *overrides, GList *elements, const char *camera);
/* Notes the sizes of regions and of frames before the elements go. */
void overrides_note_sizes (Overrides *overrides, GList *elements);

#endif
