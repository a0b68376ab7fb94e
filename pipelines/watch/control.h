/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * control.h: the commands. docs/watch.md lists them. */
#ifndef PIPELINES_WATCH_CONTROL_H
#define PIPELINES_WATCH_CONTROL_H

#include "client.h"

/* A ClientLine; `watch` is the Watch. */
JsonObject *control_line (Client *client, char *line, gpointer watch);

#endif
