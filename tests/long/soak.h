/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * soak.h: the parts of soak: its options, counts of results, and the resources of the process. */
#ifndef TESTS_LONG_SOAK_H
#define TESTS_LONG_SOAK_H

#include <glib.h>

typedef struct {
  gboolean changes;
  gchar *format;
  gint frames, cycles; /* without changes */
  gchar *element;
  gint seconds, fps, hz, width, height; /* with changes */
  gchar *filter, *backend;
} SoakOptions;

extern SoakOptions options;

typedef struct {
  long rss_kb, heap_kb, descriptors, threads, gpu_mb;
} Usage;

/* Results so far, for the line `N passed, N failed, N skipped`. */
extern int passed, failed, skipped;

/* Counts one check; prints `what` and `detail` if it failed. */
void result (gboolean good, const char *what, const char *detail);
/* Returns the resources in use now, without threads of GLib's pools that only wait for more work. `before` is NULL, or
 * what the threads must not exceed: the function then waits for those that end late. */
Usage usage_now (const Usage *before);
void print_usage (const char *when, const Usage *u);
/* Counts one result per resource: none may have grown between the two. */
void compare_usage (const char *what, const Usage *before, const Usage *after);

/* Runs video while the settings change, for options.seconds. */
void many_changes (void);

#endif
