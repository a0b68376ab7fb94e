/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * events.h: what the program reports: one JSON object a line, on standard output and to the broker. The main thread
 * calls these functions; none but events_stop () waits for a reader. docs/watch.md has the types of events. */
#ifndef PIPELINES_WATCH_EVENTS_H
#define PIPELINES_WATCH_EVENTS_H

#include "json.h"

#define EVENT_SCHEMA 1

/* Gets each event as well: its line, its camera (or NULL) and its type. */
typedef void (*EventSink) (const char *line, const char *camera, const char *type);
/* Starts the thread that writes standard output; `quiet`: no events. */
void events_start (EventSink sink, gboolean quiet);
gboolean events_are_quiet (void);
/* Writes what is queued and ends the thread; waits a second at most for a reader that has stopped. */
void events_stop (void);
/* Sends an event of a camera (NULL: of the process): `seq`, `time` and so on, and `members`, which it takes. */
void event_post_object (const char *camera, const char *type, JsonObject *members);
/* Does so with the members that follow as in object_of (). */
#define event_post(camera, type, ...) event_post_object (camera, type, object_of (__VA_ARGS__))
/* Queues a line of standard output that is no event: the answer to a command of standard input. Takes the text. */
void events_answer (char *line);
/* How many events there were, and how many lines standard output lost since its reader was too slow. */
guint64 events_count (void);
guint64 events_lost (void);

#endif
