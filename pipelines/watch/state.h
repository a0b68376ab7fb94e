/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * state.h: where files lie that outlive the process. Any thread. */
#ifndef PIPELINES_WATCH_STATE_H
#define PIPELINES_WATCH_STATE_H

#include <glib.h>

/* Returns the path of a file in the folder of the systemd unit, or in the user's own for such files. Free it. */
char *state_file (const char *name);
/* Does so for the file that a configuration has for itself: KIND-0123456789abcdef.END. `config`: its whole path. */
char *state_file_of (const char *config, const char *kind, const char *end);
/* Makes the folder of the file, the user's own. That of a unit has been made, or its disk is away. Returns what errno
 * was, 0: done. */
int state_make_folder (const char *path);

#endif
