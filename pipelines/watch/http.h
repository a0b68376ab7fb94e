/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * http.h: serves HTTP with libsoup: connections, their limits, who may ask, and what each answer has. Main thread. */
#ifndef PIPELINES_WATCH_HTTP_H
#define PIPELINES_WATCH_HTTP_H

#include <glib.h>
#ifdef HAVE_SOUP
#include "json.h"

#include <libsoup/soup.h>

typedef struct Http Http;

/* Serves at the address. With a token, a request reaches the handler only if it names this machine, comes from the
 * server's own page or from no page, and has the token; without one, anybody may read. `what` is the setting, for
 * errors. Returns NULL with what is wrong. */
Http *http_start (const char *what, const char *address, guint port, const char *token, SoupServerCallback handler,
    gpointer data, GString *wrong);
guint http_port (const Http *http);
/* Ends it. Also NULL. */
void http_stop (Http *http);

void http_answer (SoupServerMessage *message, guint status, const char *type, GBytes *body);
/* Answers with the object, which it takes. */
void http_answer_json (SoupServerMessage *message, guint status, JsonObject *object);
/* Lets the message's connection, which another protocol is going to use, last. */
void http_keep (SoupServerMessage *message);
/* Answers {"ok":false,"error":"..."}. */
#define http_refuse(message, status, ...) http_answer_json (message, status, error_of (__VA_ARGS__))
#endif

#endif
