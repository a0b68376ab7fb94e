/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * watch.h: all cameras of the process, from ready to stopped. Main thread. */
#ifndef PIPELINES_WATCH_WATCH_H
#define PIPELINES_WATCH_WATCH_H

#include "camera.h"

typedef struct {
  Config *config;
  GPtrArray *cameras; /* of Camera, in the file's order */
  GPtrArray *leaving; /* of Camera: removed, but still being stopped */
  GMainLoop *loop;
  gint64 begun;       /* monotonic µs */
  const char *socket; /* its path; NULL: none */
  guint metrics_port; /* 0: none */
  guint page_port;    /* 0: none */
  guint rtsp_port;    /* the same */
  gboolean ending, clean;
  gint64 end_by; /* monotonic µs */
} Watch;

/* Starts all cameras of the configuration, which the watch takes. */
void watch_start (Watch *watch, Config *config);
Camera *watch_find (Watch *watch, const char *name);
/* Adds a camera from the text of its JSON object, or what is wrong to `wrong`. */
void watch_add (Watch *watch, const char *name, const char *json, GString *wrong);
/* Adds the files that watch_reload () reads, so that they can be read ahead (look.h). */
void watch_add_files (Watch *watch, GPtrArray *paths);
/* Reads the file again. Returns the names of the cameras that were added, removed, changed and kept, and the parts of
 * the file that only a new process takes up; NULL with what is wrong. `by`: who wants it. */
JsonObject *watch_reload (Watch *watch, const char *by, GString *wrong);
/* Gives the camera another filter line until the file is read again, or adds what is wrong with it. */
void watch_set_filter (Watch *watch, Camera *camera, const char *line, const char *by, GString *wrong);
void watch_remove (Watch *watch, Camera *camera);
/* Begins to end: finishes files and stops cameras, within 10.5 s. `reason` is for the event. */
void watch_end (Watch *watch, const char *reason);
/* Finds cameras that are lost, and frees cameras that have gone; call it once a second. */
void watch_tick (Watch *watch);

#endif
