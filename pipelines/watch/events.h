/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * events.h: what the program reports: one JSON object a line, on standard output and to the broker. The main thread
 * calls these functions; none of them waits for a reader. docs/watch.md has the types of events. */
#ifndef PIPELINES_WATCH_EVENTS_H
#define PIPELINES_WATCH_EVENTS_H

#include <gst/gst.h>
#include <json-glib/json-glib.h>

#define EVENT_SCHEMA 1

/* Starts the thread that writes standard output. */
void events_start (void);
/* Writes what is queued and ends the thread; waits a second at most for a reader that has stopped. */
void events_stop (void);
/* Each event goes to this function as well: its line, its camera (or NULL) and its type. */
typedef void (*EventSink) (const char *line, const char *camera, const char *type);
void events_set_sink (EventSink sink);
/* Returns an event of a camera (NULL: of the process). event_post () takes it. */
JsonObject *event_new (const char *camera, const char *type);
/* Numbers the event and sends it. Takes the object. */
void event_post (JsonObject *event);
/* Queues a line of standard output that is no event: the answer to a command of standard input. Takes the text. */
void events_answer (char *line);
/* How many events there were, and how many lines standard output lost since its reader was too slow. */
guint64 events_count (void);
guint64 events_lost (void);

/* Sets a member to a text without passwords and, if need be, without bytes that are no UTF-8. */
void set_text (JsonObject *object, const char *member, const char *text);
/* Sets a member to a time, in µs since 1970, as RFC 3339 with ms. */
void set_time (JsonObject *object, const char *member, gint64 time);
/* Returns µs since 1970 as "2026-11-23T04:55:12.345Z"; `compact`: "20261123T045512.345Z". Free it. */
char *time_text (gint64 time, gboolean compact);
/* Returns the object as one line without an end of line. Takes the object. Free the line. */
char *json_line (JsonObject *object);
/* Returns the text of an error or a warning, with GStreamer's details where they say more. Free it. */
char *message_text (GstMessage *message);
/* Returns whether an error or a warning is about the value of a property. */
gboolean is_about_settings (GstMessage *message);
/* Returns a GstStructure's fields as an object, and any value as a node. */
JsonObject *structure_to_json (const GstStructure *structure);
JsonNode *value_to_json (const GValue *value);

#endif
