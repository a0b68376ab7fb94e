/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * status.h: the state of all cameras: as JSON, as a line on a terminal, and as Prometheus' text. Main thread. */
#ifndef PIPELINES_WATCH_STATUS_H
#define PIPELINES_WATCH_STATUS_H

#include "watch.h"

/* Returns the status of one camera, or of all (NULL). */
JsonObject *status_json (Watch *watch, Camera *only);
/* Writes the line to standard error. */
void status_print (Watch *watch);
#ifdef HAVE_SOUP
/* Serves Prometheus' text at http://ADDRESS:PORT/metrics. Sets watch->metrics_port. Returns FALSE with what is
 * wrong. */
gboolean metrics_start (Watch *watch, const Config *config, GString *wrong);
void metrics_stop (void);
#else /* config.c refuses the setting */
#define metrics_start(watch, config, wrong) FALSE
#define metrics_stop() ((void) 0)
#endif

#endif
