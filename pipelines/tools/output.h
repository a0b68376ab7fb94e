/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * output.h: files that programs write without destroying others. A result is written to another name beside its
 * place, and gets its name when it is complete. No file is replaced without --force, and the input never. */
#ifndef PIPELINES_TOOLS_OUTPUT_H
#define PIPELINES_TOOLS_OUTPUT_H

#include <glib.h>

/* What --help says of --force. */
#define OUTPUT_FORCE_HELP "replace the file to write if it exists"

/* Returns whether `path` can be written: its folder is there and writable, nothing has that name (with `force`: nothing
 * but a file), and it is none of the `inputs` (NULL-terminated, or NULL), by no other name either. Otherwise returns
 * FALSE after a message, which begins with `option` and the path. */
gboolean output_check (const char *option, const char *path, gboolean force, const char *const *inputs);
/* Writes the text to the path, which then has the whole text, or is left as it was. Returns FALSE after a message. */
gboolean output_write (const char *option, const char *path, gboolean force, const char *text, gsize length);
/* Checks as output_check () does, and returns the name of the unfinished file, "FILE.part" (free it), which exists and
 * is this program's until the program ends. Returns NULL after a message; another program may be writing it, or an
 * earlier one have left something in it. */
char *output_part_new (const char *option, const char *path, gboolean force, const char *const *inputs);
/* Gives the unfinished file its name. Returns FALSE after a message; the unfinished file is left. */
gboolean output_part_done (const char *option, const char *part, const char *path, gboolean force);

#endif
