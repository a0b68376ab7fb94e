/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * control.h: the commands, wherever they come from. docs/watch.md lists them. */
#ifndef PIPELINES_WATCH_CONTROL_H
#define PIPELINES_WATCH_CONTROL_H

#include "watch.h"

/* Takes the answer to a line, which comes later than the call. */
typedef void (*ControlAnswer) (gpointer from, JsonObject *answer);

/* Executes a line. Returns the answer; NULL: `answer` is called with it, and with `from`. Main thread. */
JsonObject *control_line (Watch *watch, char *line, ControlAnswer answer, gpointer from);

#endif
