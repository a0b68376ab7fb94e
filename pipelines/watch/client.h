/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * client.h: a connection that commands come from: standard input, or one of the socket's. Lines in, lines out; nothing
 * here waits for the other side. Main thread. */
#ifndef PIPELINES_WATCH_CLIENT_H
#define PIPELINES_WATCH_CLIENT_H

#include <json-glib/json-glib.h>

typedef struct Client Client;

/* Called for each line. It answers now or, by client_answer (), later: until then no further line is read. Returns the
 * answer, or NULL: later. */
typedef JsonObject *(*ClientLine) (Client *client, char *line, gpointer data);

/* Reads standard input, and answers on standard output between the events. */
void client_read_input (ClientLine on_line, gpointer data);
/* Listens on the socket, whose folder has to be the user's own. Returns FALSE with what is wrong. */
gboolean client_listen (const char *path, ClientLine on_line, gpointer data, GString *wrong);
/* Returns the path of the socket; NULL: there is none. */
const char *client_socket (void);
/* Closes the socket and removes it. */
void client_stop_listening (void);
/* Answers a line later. Takes the answer and gives back the reference of client_ref (). */
void client_answer (Client *client, JsonObject *answer);
Client *client_ref (Client *client);
void client_unref (Client *client);
/* Returns {"ok":false,"error":"..."}. */
JsonObject *client_error (const char *format, ...) G_GNUC_PRINTF (1, 2);

#endif
