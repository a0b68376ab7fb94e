/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * http.c: serves HTTP with libsoup, where it is found at build time. Each connection has one request. */
#include "http.h"

#include <string.h>
#include <sys/socket.h>

#ifdef HAVE_SOUP
#define SILENT 5                /* s, until a connection is closed: its client may have gone without a word */
#define LASTS 30                /* s that a connection has, whatever its client does */
#define MAX_CONNECTIONS 64      /* any other is closed at once */
#define MAX_BODY (64 << 10)     /* bytes of a request */
#define MAX_EXCESS (1 << 20)    /* bytes that are read on, and dropped, so that the client sees the answer */
#define SEND_BUFFER (256 << 10) /* bytes of a connection that lasts: what waits there comes late */
#define RECEIVED "cf-watch-received"
#define CONNECTION "cf-watch-connection"
#define CLIENT "cf-watch-client"

struct Http {
  SoupServer *server;
  GSocketService *service;
  char *token; /* NULL: none is needed */
  guint port, connections;
};

/* ---- answers ------------------------------------------------------------- */

/* No page of another origin shows what comes from here, and the own page loads nothing from elsewhere. */
static const char *const headers[][2] = {
  /* libsoup 3.2 keeps the descriptor of a connection that waits for a next request when its client has gone. */
  { "Connection", "close" },
  { "Cache-Control", "no-store" },
  { "X-Content-Type-Options", "nosniff" },
  { "Referrer-Policy", "no-referrer" },
  { "Cross-Origin-Resource-Policy", "same-origin" },
  { "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src blob:; "
      "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'" },
};

static void
add_headers (SoupServerMessage *message)
{
  SoupMessageHeaders *out = soup_server_message_get_response_headers (message);

  for (guint i = 0; i < G_N_ELEMENTS (headers); i++)
    soup_message_headers_replace (out, headers[i][0], headers[i][1]);
}

void
http_answer (SoupServerMessage *message, guint status, const char *type, GBytes *body)
{
  SoupMessageHeaders *out = soup_server_message_get_response_headers (message);

  /* libsoup 3.2 has no words for this one. */
  soup_server_message_set_status (message, status,
      status == SOUP_STATUS_MISDIRECTED_REQUEST ? "Misdirected Request" : NULL);
  soup_message_headers_set_content_type (out, type, NULL);
  soup_message_body_append_bytes (soup_server_message_get_response_body (message), body);
}

void
http_answer_json (SoupServerMessage *message, guint status, JsonObject *object)
{
  char *line = json_line (object);
  g_autoptr (GBytes) body = g_bytes_new_take (line, strlen (line));

  http_answer (message, status, "application/json", body);
}

/* ---- checks -------------------------------------------------------------- */

/* Returns whether the request is for this machine by a name that only this machine has. A name of somebody else's that
 * leads here (DNS rebinding) would give their page the cookie. Any port: a tunnel may have another. */
static gboolean
is_local (const char *host)
{
  static const char *const names[] = { "127.0.0.1", "localhost" };

  for (guint i = 0; host && i < G_N_ELEMENTS (names); i++) {
    const gsize n = strlen (names[i]);

    if (g_ascii_strncasecmp (host, names[i], n))
      continue;
    if (!host[n] || (host[n] == ':' && host[n + 1] && strspn (host + n + 1, "0123456789") == strlen (host + n + 1)))
      return TRUE;
  }
  return FALSE;
}

/* Takes the same time wherever the two differ. */
static gboolean
is_token (const Http *http, const char *word)
{
  const gsize n = strlen (http->token);
  guint different = 0;

  if (strlen (word) != n)
    return FALSE;
  for (gsize i = 0; i < n; i++)
    different |= (guint) (word[i] ^ http->token[i]);
  return different == 0;
}

/* Cookies belong to a host, whatever the port, so each port has one of its own name. */
static char *
cookie_name (const Http *http)
{
  return g_strdup_printf ("cf-watch-%u", http->port);
}

static gboolean
is_logged_in (const Http *http, SoupMessageHeaders *in)
{
  const char *bearer = soup_message_headers_get_one (in, "Authorization");
  const char *cookies = soup_message_headers_get_list (in, "Cookie");
  g_auto (GStrv) list = g_strsplit (cookies ? cookies : "", ";", -1);
  g_autofree char *name = cookie_name (http), *begin = g_strconcat (name, "=", NULL);

  if (bearer && g_str_has_prefix (bearer, "Bearer ") && is_token (http, bearer + strlen ("Bearer ")))
    return TRUE;
  for (char **one = list; *one; one++)
    if (g_str_has_prefix (g_strstrip (*one), begin) && is_token (http, *one + strlen (begin)))
      return TRUE;
  return FALSE;
}

/* Gives the browser that followed the link the token as a cookie, and the page's address without it. */
static void
log_in (const Http *http, SoupServerMessage *message)
{
  g_autofree char *name = cookie_name (http);
  g_autofree char *cookie = g_strdup_printf ("%s=%s; Path=/; Max-Age=31536000; HttpOnly; SameSite=Strict", name,
      http->token);
  SoupMessageHeaders *out = soup_server_message_get_response_headers (message);

  soup_message_headers_replace (out, "Set-Cookie", cookie);
  soup_message_headers_replace (out, "Location", "/");
  soup_server_message_set_status (message, SOUP_STATUS_SEE_OTHER, NULL);
}

/* Decides whether the request may reach the handler; else answers it. Cheap checks that need no secret come first. */
static void
allow (const Http *http, SoupServerMessage *message, const char *path, GHashTable *query)
{
  SoupMessageHeaders *in = soup_server_message_get_request_headers (message);
  const char *method = soup_server_message_get_method (message), *host = soup_message_headers_get_one (in, "Host");
  const char *origin = soup_message_headers_get_one (in, "Origin");
  const char *token = query && !strcmp (path, "/") ? g_hash_table_lookup (query, "token") : NULL;
  const gboolean reads = method == SOUP_METHOD_GET || method == SOUP_METHOD_HEAD;

  if (!is_local (host)) {
    http_refuse (message, SOUP_STATUS_MISDIRECTED_REQUEST,
        "this server is for 127.0.0.1 and localhost: no other name or address leads to it");
  } else if (origin && (!g_str_has_prefix (origin, "http://") || strcmp (origin + strlen ("http://"), host))) {
    http_refuse (message, SOUP_STATUS_FORBIDDEN, "a page of another server has sent this");
  } else if (!reads && g_strcmp0 (soup_message_headers_get_content_type (in, NULL), "application/json")) {
    http_refuse (message, SOUP_STATUS_UNSUPPORTED_MEDIA_TYPE, "the Content-Type has to be application/json");
  } else if (token && reads && is_token (http, token)) {
    log_in (http, message);
  } else if (!is_logged_in (http, in)) {
    http_refuse (message, SOUP_STATUS_UNAUTHORIZED,
        "open the link that cf-watch --page-link FILE prints; a program sends what is behind token= in it as "
        "Authorization: Bearer");
  }
}

static void
refuse_size (SoupServerMessage *message)
{
  soup_message_body_set_accumulate (soup_server_message_get_request_body (message), FALSE);
  if (soup_server_message_get_status (message) == SOUP_STATUS_NONE)
    http_refuse (message, SOUP_STATUS_REQUEST_ENTITY_TOO_LARGE, "a request has %d KiB at most", MAX_BODY >> 10);
}

static void
hang_up (GSocketConnection *connection)
{
  g_socket_shutdown (g_socket_connection_get_socket (connection), TRUE, TRUE, NULL);
}

/* A part of the body has come. */
static void
on_chunk (SoupServerMessage *message, GBytes *chunk, gpointer data)
{
  const gsize n = GPOINTER_TO_SIZE (g_object_get_data (G_OBJECT (message), RECEIVED)) + g_bytes_get_size (chunk);

  (void) data;
  g_object_set_data (G_OBJECT (message), RECEIVED, GSIZE_TO_POINTER (n));
  if (n > MAX_BODY)
    refuse_size (message);
  if (n > MAX_EXCESS)
    hang_up (g_object_get_data (G_OBJECT (soup_server_message_get_remote_address (message)), CONNECTION));
}

/* The headers have come, and the body has not been read. */
static void
on_headers (SoupServer *server, SoupServerMessage *message, const char *path, GHashTable *query, gpointer data)
{
  const Http *http = data;
  const char *method = soup_server_message_get_method (message);

  (void) server;
  add_headers (message);
  g_signal_connect (message, "got-chunk", G_CALLBACK (on_chunk), NULL);
  if (http->token)
    allow (http, message, path, query);
  else if (method != SOUP_METHOD_GET && method != SOUP_METHOD_HEAD)
    soup_server_message_set_status (message, SOUP_STATUS_METHOD_NOT_ALLOWED, NULL);
  if (soup_message_headers_get_content_length (soup_server_message_get_request_headers (message)) > MAX_BODY)
    refuse_size (message);
}

/* ---- connections --------------------------------------------------------- */

typedef struct {
  Http *http;
  GSocketConnection *connection;
  guint timer;
} Client;

static gboolean
on_too_long (gpointer data)
{
  Client *client = data;

  client->timer = 0;
  hang_up (client->connection);
  return G_SOURCE_REMOVE;
}

static void
on_closed (gpointer data, GObject *connection)
{
  Client *client = data;

  (void) connection;
  g_clear_handle_id (&client->timer, g_source_remove);
  client->http->connections--;
  g_free (client);
}

static gboolean
on_connection (GSocketService *from, GSocketConnection *connection, GObject *source, gpointer data)
{
  g_autoptr (GSocketAddress) local = g_socket_connection_get_local_address (connection, NULL);
  g_autoptr (GSocketAddress) remote = g_socket_connection_get_remote_address (connection, NULL);
  Http *http = data;
  Client *client;

  (void) from;
  (void) source;
  /* The service closes what is not taken here. Without an address, the client has gone already. */
  if (!local || !remote || http->connections >= MAX_CONNECTIONS)
    return FALSE;
  client = g_new (Client, 1);
  *client = (Client) { http, connection, g_timeout_add_seconds (LASTS, on_too_long, client) };
  http->connections++;
  g_object_weak_ref (G_OBJECT (connection), on_closed, client);
  g_object_set_data (G_OBJECT (connection), CLIENT, client);
  /* libsoup does not tell the socket of a connection that it has not accepted, but has this very object. */
  g_object_set_data (G_OBJECT (remote), CONNECTION, connection);
  g_socket_set_timeout (g_socket_connection_get_socket (connection), SILENT);
  return soup_server_accept_iostream (http->server, G_IO_STREAM (connection), local, remote, NULL);
}

void
http_keep (SoupServerMessage *message)
{
  GObject *connection = g_object_get_data (G_OBJECT (soup_server_message_get_remote_address (message)), CONNECTION);
  Client *client = g_object_get_data (connection, CLIENT);
  GSocket *socket = g_socket_connection_get_socket (client->connection);

  g_clear_handle_id (&client->timer, g_source_remove);
  g_socket_set_timeout (socket, 0);
  g_socket_set_option (socket, SOL_SOCKET, SO_SNDBUF, SEND_BUFFER, NULL);
}

/* libsoup serves the connections, but does not accept them: libsoup 3.2 never frees the GSocket of one that it has
 * accepted. */
Http *
http_start (const char *what, const char *address, guint port, const char *token, SoupServerCallback handler,
    gpointer data, GString *wrong)
{
  g_autoptr (GSocketAddress) at = g_inet_socket_address_new_from_string (address, port), bound = NULL;
  g_autoptr (GSocketService) service = g_socket_service_new ();
  g_autoptr (GError) error = NULL;
  Http *http;

  if (!g_socket_listener_add_address (G_SOCKET_LISTENER (service), at, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP,
          NULL, &bound, &error)) {
    g_string_append_printf (wrong, "%s: %s port %u: %s", what, address, port, error->message);
    return NULL;
  }
  http = g_new0 (Http, 1);
  http->token = g_strdup (token);
  http->port = g_inet_socket_address_get_port (G_INET_SOCKET_ADDRESS (bound));
  http->server = soup_server_new ("server-header", "cf-watch", NULL);
  http->service = g_steal_pointer (&service);
  soup_server_add_early_handler (http->server, NULL, on_headers, http, NULL);
  soup_server_add_handler (http->server, NULL, handler, data, NULL);
  g_signal_connect (http->service, "incoming", G_CALLBACK (on_connection), http);
  return http;
}

guint
http_port (const Http *http)
{
  return http->port;
}

/* Connections may outlive the server, and count themselves in it. */
void
http_stop (Http *http)
{
  if (!http)
    return;
  g_socket_service_stop (http->service);
  g_clear_object (&http->service);
  g_clear_object (&http->server);
}
#endif
