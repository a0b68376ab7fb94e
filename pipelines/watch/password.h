/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * password.h: hashes of passwords, by yescrypt of crypt(3). */
#ifndef PIPELINES_WATCH_PASSWORD_H
#define PIPELINES_WATCH_PASSWORD_H

#include <glib.h>

/* Returns a new hash of the password, or NULL with what is wrong. Free it. */
char *password_hash (const char *password, GString *wrong);
/* Returns whether the text can be such a hash and this build can check it, or FALSE with why not. */
gboolean password_check_hash (const char *text, GString *wrong);
/* Returns whether the password is the known one, or one with the known hash; NULL: nobody has that name. Takes as long
 * in each of these cases, some 50 ms. Any thread. */
gboolean password_is (const char *password, const char *known, gboolean is_hash);
/* Returns whether two texts are equal, in a time that does not depend on where they differ. */
gboolean password_is_same (const char *one, const char *other);
/* Returns a password that is typed twice on the terminal, where it is not shown, or the first line of another standard
 * input; NULL with what is wrong. Free it. */
char *password_ask (GString *wrong);

#endif
