/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * store.h: keeps what commands have set on cameras in a file of the state directory, so that a restart does not show
 * what was hidden. A thread of the pool writes it; a disk that is full or does not answer stops nothing, and an event
 * says so. The file belongs to the path of the configuration: each has its own. Main thread. */
#ifndef PIPELINES_WATCH_STORE_H
#define PIPELINES_WATCH_STORE_H

#include <json-glib/json-glib.h>

/* Reads the file of the configuration with this path. Waits for the disk, so call it before cameras start. NULL:
 * nothing is read, and nothing outlives the process. */
void store_open (const char *config);
/* Returns the file's name. */
const char *store_path (void);
/* Returns why nobody knows what was set on the camera: the file cannot be read, and store_forget () was not called for
 * this camera. NULL: it is known. */
const char *store_trouble (const char *camera);
/* Returns what was set on a camera, NULL: nothing. It is not a copy. */
JsonObject *store_get (const char *camera);
/* Takes what is set on a camera now, and begins to write the file. */
void store_set (const char *camera, JsonObject *set);
void store_forget (const char *camera);
/* The file may be written again, though it could not be read: nothing that it may have is wanted. */
void store_give_up (void);
/* Is everything in the file? */
gboolean store_is_saved (void);
/* Is the file being written? */
gboolean store_is_busy (void);
/* Tries again what failed; call it once a second. */
void store_tick (void);

#endif
