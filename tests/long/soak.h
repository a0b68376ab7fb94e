/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * soak.h: the options and parts of soak. */
#ifndef TESTS_LONG_SOAK_H
#define TESTS_LONG_SOAK_H

#include "usage.h"

typedef struct {
  gboolean changes;
  gchar *format;
  gint frames, cycles; /* without changes */
  gchar *element;
  gint seconds, fps, hz, width, height; /* with changes */
  gchar *filter, *backend;
} SoakOptions;

extern SoakOptions options;

/* Runs video while the settings change, for options.seconds. */
void many_changes (void);

#endif
