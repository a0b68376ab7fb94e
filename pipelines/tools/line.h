/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * line.h: what cf-demo and bench share: a word to people, and filter lines. */
#ifndef PIPELINES_TOOLS_LINE_H
#define PIPELINES_TOOLS_LINE_H

#include <gst/gst.h>

/* A line for people, on stderr. */
void say (const char *format, ...) G_GNUC_PRINTF (1, 2);
/* A bin of the filter line, with one pad on each side; NULL after a message that
 * says what is wrong. `option` stands in front of the line there: "--filter ", or "". */
GstElement *parse_filter (const char *option, const char *line);
/* The elements of this project in the bin; free with the references in it. */
GList *find_filters (GstElement *bin);

#endif
