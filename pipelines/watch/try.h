/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * try.h: --try: one source of the command line on the page, without a file. */
#ifndef PIPELINES_WATCH_TRY_H
#define PIPELINES_WATCH_TRY_H

#include "config.h"

/* The filter line where none is given: its effect is seen in any video, and it takes any. */
#define TRY_LINE "cudamedian kernel-size=5"

/* Returns the words as one filter line, as gst-launch-1.0 joins them. Free it. */
char *try_join (char **words);
/* Returns the settings; NULL with what is wrong. `line` "": TRY_LINE. */
Config *try_config (const char *source, const char *line, GString *wrong);
/* Prints the page's address, which opens it. */
void try_show_link (const Config *config, guint port);
/* Prints an event for people, if it is something that they have to know. */
void try_show_event (const char *line, const char *type);

#endif
