/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * serve.h: filtered video for viewers, at rtsp://HOST:PORT/CAMERA. The main thread calls all functions; viewers are
 * served by other threads. */
#ifndef PIPELINES_WATCH_SERVE_H
#define PIPELINES_WATCH_SERVE_H

#include "config.h"
#include "hub.h"

#ifdef HAVE_RTSP_SERVER
/* Begins to serve. Returns the port, 0 with what is wrong. */
guint serve_start (const Config *config, GString *wrong);
/* Reads the users' file again. If it has changed and `take`, everybody has to log in again. Returns FALSE with what is
 * wrong; the old users stay then. */
gboolean serve_read_users (gboolean take, GString *wrong);
/* Shows the hub's stream under the camera's name; NULL: the camera is not shown any more, but for those who look at it
 * until its stream ends. */
void serve_camera (const char *name, Hub *hub);
#else /* config.c refuses the setting */
#define serve_start(config, wrong) 0
#define serve_read_users(take, wrong) TRUE
#define serve_camera(name, hub) ((void) 0)
#endif

#endif
