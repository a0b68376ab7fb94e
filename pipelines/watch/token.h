/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * token.h: the secret that opens the page: in the file "page-token" of the state directory, for its user alone. */
#ifndef PIPELINES_WATCH_TOKEN_H
#define PIPELINES_WATCH_TOKEN_H

#include <glib.h>

/* Returns the token, or NULL with what is wrong. `make`: if there is none yet, makes one that stays. Free it. */
char *token_load (gboolean make, GString *wrong);
/* Returns a secret that nobody can guess, or NULL: the system has no random numbers. Free it. */
char *token_random (void);
/* Returns a token of this process alone, or NULL with what is wrong. Free it. */
char *token_make (GString *wrong);

#endif
