/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * usage.h: what a process holds, for the tests that let it run for long. */
#ifndef TESTS_LONG_USAGE_H
#define TESTS_LONG_USAGE_H

#include <glib.h>

typedef struct {
  long rss_kb, heap_kb, descriptors, threads, gpu_mb;
} Usage;

/* So far; the line `N passed, N failed, N skipped` is printed of them. */
extern int passed, failed, skipped;

/* Counts one check; says `what` and `detail` where it is not good. */
void result (gboolean good, const char *what, const char *detail);
/* Takes a second. */
Usage usage_now (void);
void print_usage (const char *when, const Usage *u);
/* Results: has anything grown between the two? */
void compare_usage (const char *what, const Usage *before, const Usage *after);

#endif
