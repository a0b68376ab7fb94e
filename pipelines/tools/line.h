/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * line.h: functions that the programs share: messages, command lines and filter lines. */
#ifndef PIPELINES_TOOLS_LINE_H
#define PIPELINES_TOOLS_LINE_H

#include <gst/gst.h>

/* Prints a line on stderr. */
void say (const char *format, ...) G_GNUC_PRINTF (1, 2);
/* Prints "PROGRAM: " and the text as a line on stderr and returns FALSE. */
gboolean complain (const char *format, ...) G_GNUC_PRINTF (1, 2);
/* Writes what was printed on stdout. Returns FALSE once any of it could not be written. */
gboolean flush_output (void);
/* Parses the command line. `usage` follows the program's name in --help, the other two texts (which may be
 * NULL) stand above and below the options. Returns FALSE after a message. With --version, prints it and ends the
 * program. To be called first: it also sees to it that the program ends with a message and status 1 if stdout could not
 * be written. */
gboolean parse_command_line (const GOptionEntry *entries, const char *usage, const char *summary,
    const char *description, int *argc, char ***argv);
/* Returns a bin of the filter line with a ghost pad on each side, or NULL with what is wrong in lines added to `wrong`,
 * in which `option` ("--filter " or "") precedes the line. Any thread. */
GstElement *make_filter (const char *option, const char *line, GString *wrong);
/* Returns a bin of the filter line with a ghost pad on each side, or NULL after a message on
 * stderr, in which `option` ("--filter " or "") precedes the line. */
GstElement *parse_filter (const char *option, const char *line);
/* Returns the elements in the bin that have the property, in the order of the line. Free the list with
 * its references. */
GList *find_elements (GstElement *bin, const char *property);
/* Returns the elements of this project in the bin, in the order of the line. Free the list with its
 * references. */
GList *find_filters (GstElement *bin);
/* Returns the value of an element's property active-backend as text. Free it. */
char *active_backend (GstElement *element);

#endif
