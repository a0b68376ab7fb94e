/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * topics.h: commands from a broker, and what it retains of the cameras. Main thread. */
#ifndef PIPELINES_WATCH_TOPICS_H
#define PIPELINES_WATCH_TOPICS_H

#include "watch.h"

#ifdef HAVE_MOSQUITTO
/* Connects to the broker, if the configuration has one. */
void topics_start (Watch *watch, const Config *config);
/* Each event may be about something that the broker retains. */
void topics_see_event (const char *type);
#else /* config.c refuses the setting */
#define topics_start(watch, config) ((void) (watch), (void) (config))
#define topics_see_event(type) ((void) (type))
#endif

#endif
