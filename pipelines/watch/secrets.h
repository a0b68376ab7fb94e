/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * secrets.h: passwords of cameras, of the broker and of users. They come from files or the environment; all text that
 * leaves the program passes secrets_hide (). */
#ifndef PIPELINES_WATCH_SECRETS_H
#define PIPELINES_WATCH_SECRETS_H

#include <json-glib/json-glib.h>

/* Reads the file (NULL: only the environment), and has what it says count, if `take`. Returns FALSE with what is wrong;
 * the old ones are kept then. Main thread. */
gboolean secrets_load (const char *path, gboolean take, GString *wrong);
/* Returns the users that a file has, each as { "password" or "hash": "...", "role": "..." }, perhaps without a role;
 * NULL with what is wrong. Free it. */
JsonObject *secrets_read_users (const char *path, GString *wrong);
/* Return what belongs to a camera, or to "mqtt"; NULL: nothing. Free it. */
char *secrets_user (const char *name);
char *secrets_password (const char *name);
/* Has secrets_hide () hide one more. NULL: none. */
void secrets_add (const char *secret);
/* Returns the text as valid UTF-8 without control characters, with *** in place of every password. Any thread. Free
 * it. */
char *secrets_hide (const char *text);

#endif
