/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * http.h: serves HTTP with libsoup: connections, their limits, who may ask, and what each answer has. Main thread. */
#ifndef PIPELINES_WATCH_HTTP_H
#define PIPELINES_WATCH_HTTP_H

#include <glib.h>
#ifdef HAVE_SOUP
#include "json.h"
#include "users.h"

#include <libsoup/soup.h>

#define HTTP_TOO_MANY_REQUESTS 429 /* libsoup has no name for it */

typedef struct Http Http;

typedef struct {
  const char *what; /* the setting, for errors */
  const char *address;
  guint port;
  GTlsCertificate *certificate; /* NULL: no TLS */
  const char *token;            /* opens all from this machine; NULL: anybody may read */
  char **names;                 /* that the machine has besides its addresses, NULL-terminated; NULL: none */
  /* What a request may have without a login, NULL-terminated; NULL: nothing. */
  const char *const *open;
} HttpPlan;

/* Serves. With a token, a request reaches the handler only if it names this machine, comes from the server's own page
 * or from no page, and has the token or a login of users.h, or is for an open path. Returns NULL with what is wrong.
 * The plan's texts stay the caller's. */
Http *http_start (const HttpPlan *plan, SoupServerCallback handler, gpointer data, GString *wrong);
guint http_port (const Http *http);
/* New connections get this certificate. */
void http_set_certificate (Http *http, GTlsCertificate *certificate);
/* Ends it. Also NULL. */
void http_stop (Http *http);

/* Returns who asks; NULL: nobody has logged in. The message keeps the login; who keeps the connection open asks
 * login_holds (). */
Login *http_login (SoupServerMessage *message);
/* Returns the client's address as text, "" when it has gone; where wrong passwords of it are counted: all addresses
 * that a machine with IPv6 may choose from are one. */
const char *http_address (SoupServerMessage *message);
const char *http_place (SoupServerMessage *message);
/* Gives the browser the secret as a cookie that no script can read; "": takes it away. `more`: "" or attributes. */
void http_give_cookie (const Http *http, SoupServerMessage *message, const char *secret, const char *more);

void http_answer (SoupServerMessage *message, guint status, const char *type, GBytes *body);
/* Answers with the object, which it takes. */
void http_answer_json (SoupServerMessage *message, guint status, JsonObject *object);
/* Lets the message's connection, which another protocol is going to use, last. Returns FALSE if it has gone. */
gboolean http_keep (SoupServerMessage *message);
/* Gives the message's request, whose answer comes in parts, as long again as any other has, and keeps few parts waiting
 * for its client. */
void http_extend (SoupServerMessage *message);
/* Answers {"ok":false,"error":"..."}. */
#define http_refuse(message, status, ...) http_answer_json (message, status, error_of (__VA_ARGS__))
#endif

#endif
