/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * index.h: writes down when something moved where in what is recorded, for search.h: a file of SQLite in the state
 * directory. A thread of its own writes; nothing waits for it. What it has no time for is dropped and counted. What is
 * not in a piece is not in the index, and goes with its piece. */
#ifndef PIPELINES_WATCH_INDEX_H
#define PIPELINES_WATCH_INDEX_H

#include "watch.h"

/* Begins to write the index of these cameras, of the configuration with this path. Before, all else does nothing. */
void index_start (Watch *watch, const char *config);
/* Writes what is left, within a second. */
void index_stop (void);
/* Returns the path of the file; NULL: there is no index. */
const char *index_path (void);
/* Returns how much was dropped: seconds and events. */
guint64 index_dropped (void);
/* A frame of a recorded camera leaves the filter: notes its regions of interest of the type motion. Streaming
 * thread. */
void index_frame (const char *camera, GstElement *pipeline, GstPad *pad, GstBuffer *buffer);
/* Sees all events: an EventSink. */
void index_event (const char *line, const char *camera, const char *type);

#endif
