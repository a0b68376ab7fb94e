/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * control.h: the commands, wherever they come from. docs/watch.md lists them. */
#ifndef PIPELINES_WATCH_CONTROL_H
#define PIPELINES_WATCH_CONTROL_H

#include "users.h"
#include "watch.h"

/* Takes the answer to a line, which comes later than the call. */
typedef void (*ControlAnswer) (gpointer from, JsonObject *answer);

/* A member of errors that the fronts take out: the status of HTTP. */
#define CONTROL_CODE "code"

/* Executes a command: its name and arguments, NULL-terminated, if the role may. Returns the answer; NULL: `answer` is
 * called with it, and with `from`. `by`: who it is, for the event "command" of what changes something; a text that
 * stays until then. Main thread. */
JsonObject *control_call (Watch *watch, Role role, const char *by, char **words, ControlAnswer answer, gpointer from);
/* Executes a line of the program's owner in the same way. */
JsonObject *control_line (Watch *watch, const char *by, char *line, ControlAnswer answer, gpointer from);

#endif
