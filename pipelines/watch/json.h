/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * json.h: what the program writes as JSON: objects, their values, and what GStreamer says. */
#ifndef PIPELINES_WATCH_JSON_H
#define PIPELINES_WATCH_JSON_H

#include <gst/gst.h>
#include <json-glib/json-glib.h>

/* Returns an object of pairs, each a name and a node, which it takes; NULL ends them. A node that is NULL leaves its
 * member out:
 *
 *   object_of ("width", int_node (width), "gpu", gpu >= 0 ? int_node (gpu) : NULL, NULL) */
JsonObject *object_of (const char *name, ...) G_GNUC_NULL_TERMINATED;
/* Returns {"ok":false,"error":"..."}. */
JsonObject *error_of (const char *format, ...) G_GNUC_PRINTF (1, 2);
/* Adds the members of another object, which it takes. */
void object_add_members (JsonObject *object, JsonObject *members);

/* Nodes: a boolean, an integer, and a word that the program chose: no password can be in it. */
#define bool_node(value) json_node_init_boolean (json_node_alloc (), value)
#define int_node(value) json_node_init_int (json_node_alloc (), value)
#define word_node(word) json_node_init_string (json_node_alloc (), word)
/* An infinite number has no place in JSON: null. */
JsonNode *number_node (double value);
/* Any other text (NULL: ""), without passwords and, if need be, without bytes that are no UTF-8. */
JsonNode *text_node (const char *text);
/* A time, in µs since 1970, as RFC 3339 with ms. */
JsonNode *time_node (gint64 time);
JsonNode *object_node (JsonObject *object); /* takes it */
JsonNode *array_node (JsonArray *array);    /* takes it */
JsonNode *value_node (const GValue *value);
/* Returns a structure's fields as an object. */
JsonNode *structure_node (const GstStructure *structure);

/* Returns µs since 1970 as "2026-11-23T04:55:12.345Z"; `compact`: "20261123T045512.345Z". Free it. */
char *time_text (gint64 time, gboolean compact);
/* Returns the object as one line without an end of line. Takes the object. Free the line. */
char *json_line (JsonObject *object);
/* Returns the text of an error or a warning, with GStreamer's details where they say more. Free it. */
char *message_text (GstMessage *message);
/* Is an error or a warning about the value of a property? */
gboolean is_about_settings (GstMessage *message);

#endif
