/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * overrides.h: sets and gets properties of a camera's filter. Keeps the values that were set, and the frame sizes that
 * regions in pixels refer to. Each new pipeline gets both again; another filter line, too, if it has the element.
 * `elements`: the filter's, in the order of the line. Main thread. */
#ifndef PIPELINES_WATCH_OVERRIDES_H
#define PIPELINES_WATCH_OVERRIDES_H

#include <gst/gst.h>
#include <json-glib/json-glib.h>

typedef struct Overrides Overrides;

Overrides *overrides_new (const char *camera);
void overrides_free (Overrides *overrides);

/* Returns the property of "ELEMENT.PROPERTY", which belongs to its class, and the element's index, or NULL with what is
 * wrong. */
GParamSpec *overrides_find (GList *elements, const char *target, int *index, GString *wrong);
/* Set and get "ELEMENT.PROPERTY"; ELEMENT is a name=, a kind (the first such) or an index. Return FALSE or NULL with
 * what is wrong. `bus`: their pipeline's, NULL: there is none. `open`: an operator sets it where nothing
 * hides, so it does not count with a line that hides. `was_refused`: an element had refused the value before. */
gboolean overrides_set (Overrides *overrides, GList *elements, GstBus *bus, const char *target, const char *value,
    gboolean open, gboolean *was_refused, GString *wrong);
JsonNode *overrides_get (GList *elements, const char *target, GString *wrong);
/* Returns whether the property can be set while frames come, or FALSE with why not. */
gboolean overrides_check_changeable (GParamSpec *spec, GString *wrong);
/* Sets `enabled` of all elements that have it. */
void overrides_enable (Overrides *overrides, GList *elements, gboolean on, gboolean open, GString *wrong);

/* What was set, for a file, and back. overrides_load () returns FALSE with what is wrong. */
JsonObject *overrides_json (const Overrides *overrides);
gboolean overrides_load (Overrides *overrides, JsonObject *object, GString *wrong);
/* Returns FALSE with why a value of the file can be none of the elements. */
gboolean overrides_check (const Overrides *overrides, GList *elements, GString *wrong);
/* Returns what was set, for users. */
JsonArray *overrides_list (const Overrides *overrides);
gboolean overrides_is_empty (const Overrides *overrides);
/* Forgets all values. */
void overrides_forget (Overrides *overrides);

/* Sets all values on the elements of a filter. */
void overrides_apply (Overrides *overrides, GList *elements);
/* Does the same for a new pipeline. A value whose element the line has no more waits for one. Reports on that, on
 * values of a file, and on values that an element refuses. */
void overrides_start (Overrides *overrides, GList *elements);
/* Notes and reports that an element refuses a value: `text` begins with its property. Returns whether any value of the
 * element was set by command. */
gboolean overrides_refuse (Overrides *overrides, GList *elements, GstObject *element, const char *text);
/* Adds the values that may be names of files (look.h). */
void overrides_add_files (const Overrides *overrides, GPtrArray *paths);
/* Tries once more what was refused, in another thread; reports what is in force again. Call it while frames come. */
void overrides_retry (Overrides *overrides, GList *elements);
/* Notes the sizes of regions and of frames before the elements go. */
void overrides_note_sizes (Overrides *overrides, GList *elements);

#endif
