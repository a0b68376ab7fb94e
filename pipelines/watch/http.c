/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * http.c: serves HTTP with libsoup, where it is found at build time. Each connection has one request. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "http.h"

#include "password.h"
#include "threads.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/socket.h>

#ifdef HAVE_SOUP
#define SILENT 5                /* s, until a connection is closed: its client may have gone without a word */
#define HEADERS 5               /* s that a client has for TLS, and again for the headers of its request */
#define LASTS 30                /* s that a request has then, whatever its client does */
#define MAX_CONNECTIONS 64      /* any other is closed at once */
#define MAX_FAR 48              /* of them from other machines, which leave this one some */
#define MAX_OF_ONE 8            /* of those from one place */
#define MAX_BODY (64 << 10)     /* bytes of a request */
#define MAX_EXCESS (1 << 20)    /* bytes that are read on, and dropped, so that the client sees the answer */
#define SEND_BUFFER (256 << 10) /* bytes of a connection that lasts: what waits there comes late */
#define RECEIVED "cf-watch-received"
#define CLIENT "cf-watch-client"
#define LOGIN "cf-watch-login"

struct Http {
  SoupServer *server;
  GSocketService *service;
  GTlsCertificate *certificate; /* NULL: no TLS */
  char *token;                  /* NULL: none is needed */
  Login *owner;                 /* of whoever has the token */
  char **names;
  const char *const *open;
  guint port;
  GHashTable *clients; /* of Client */
};

/* A connection. */
typedef struct {
  Http *http;
  GSocketConnection *connection;
  GSocketAddress *remote; /* the object that its messages have, too */
  char *address, *place;  /* as http.h says */
  char *own;              /* the address of this machine that it has reached */
  gboolean local;         /* it comes from this machine */
  guint timer;
} Client;

/* libsoup 3.2 never frees the path, of up to 64 KiB, of a request that it refuses for its encoding or its Host, and
 * asks nobody before. So such requests are refused here: the dynamic linker finds this function first. */
__attribute__ ((visibility ("default"))) guint
soup_headers_parse_request (const char *text, int length, SoupMessageHeaders *in, char **method, char **path,
    SoupHTTPVersion *version)
{
  guint (
      *parse) (const char *, int, SoupMessageHeaders *, char **, char **, SoupHTTPVersion *) = (guint (*) (const char *,
      int, SoupMessageHeaders *, char **, char **, SoupHTTPVersion *)) dlsym (RTLD_NEXT, "soup_headers_parse_request");
  guint status = parse ? parse (text, length, in, method, path, version) : SOUP_STATUS_INTERNAL_SERVER_ERROR;
  const char *host = status == SOUP_STATUS_OK ? soup_message_headers_get_one (in, "Host") : NULL;

  if (status != SOUP_STATUS_OK)
    return status;
  if (soup_message_headers_get_encoding (in) == SOUP_ENCODING_UNRECOGNIZED)
    status = SOUP_STATUS_NOT_IMPLEMENTED;
  else if (host && strchr (host, '/'))
    status = SOUP_STATUS_BAD_REQUEST;
  if (status != SOUP_STATUS_OK) {
    g_clear_pointer (method, g_free);
    g_clear_pointer (path, g_free);
  }
  return status;
}

/* Returns NULL when the connection has gone. */
static Client *
client_of (SoupServerMessage *message)
{
  GSocketAddress *remote = soup_server_message_get_remote_address (message);

  return remote ? g_object_get_data (G_OBJECT (remote), CLIENT) : NULL;
}

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

  /* libsoup 3.2 has no words for these two. */
  soup_server_message_set_status (message, status,
      status == SOUP_STATUS_MISDIRECTED_REQUEST ? "Misdirected Request"
          : status == HTTP_TOO_MANY_REQUESTS    ? "Too Many Requests"
                                                : NULL);
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

Login *
http_login (SoupServerMessage *message)
{
  return g_object_get_data (G_OBJECT (message), LOGIN);
}

const char *
http_address (SoupServerMessage *message)
{
  const Client *client = client_of (message);

  return client ? client->address : "";
}

const char *
http_place (SoupServerMessage *message)
{
  const Client *client = client_of (message);

  return client ? client->place : "";
}

/* Returns whether the host, of a header, is this name and any port: a tunnel may have another. */
static gboolean
is_name (const char *host, const char *name)
{
  const gsize n = strlen (name);

  if (g_ascii_strncasecmp (host, name, n))
    return FALSE;
  return !host[n] || (host[n] == ':' && host[n + 1] && strspn (host + n + 1, "0123456789") == strlen (host + n + 1));
}

/* Returns whether the request calls this machine by a name that only this machine has: the address that it was sent to,
 * an address of loopback, or a name of the file. Somebody may lead another name here (DNS rebinding): their page would
 * get the cookie. */
static gboolean
is_own_name (const Http *http, const Client *client, const char *host)
{
  static const char *const local[] = { "127.0.0.1", "localhost" };

  for (guint i = 0; host && i < G_N_ELEMENTS (local); i++)
    if (is_name (host, local[i]))
      return TRUE;
  for (char **name = http->names; host && name && *name; name++)
    if (is_name (host, *name))
      return TRUE;
  return host && is_name (host, client->own);
}

/* Cookies belong to a host, whatever the port, so each port has one of its own name. What begins with __Host- can be
 * set by the host itself only, over TLS. */
static char *
cookie_name (const Http *http)
{
  return g_strdup_printf ("%scf-watch-%u", http->certificate ? "__Host-" : "", http->port);
}

/* Returns the login that a secret opens; NULL: none. The token does so for clients of this machine alone. */
static Login *
find_by_secret (const Http *http, const Client *client, const char *secret)
{
  return client->local && password_is_same (secret, http->token) ? http->owner : users_find (secret);
}

static Login *
find_in_headers (const Http *http, const Client *client, SoupMessageHeaders *in)
{
  const char *bearer = soup_message_headers_get_one (in, "Authorization");
  const char *cookies = soup_message_headers_get_list (in, "Cookie");
  g_auto (GStrv) list = g_strsplit (cookies ? cookies : "", ";", -1);
  g_autofree char *name = cookie_name (http), *begin = g_strconcat (name, "=", NULL);
  Login *login = NULL;

  if (bearer && g_str_has_prefix (bearer, "Bearer "))
    login = find_by_secret (http, client, bearer + strlen ("Bearer "));
  for (char **one = list; *one && !login; one++)
    if (g_str_has_prefix (g_strstrip (*one), begin))
      login = find_by_secret (http, client, *one + strlen (begin));
  return login;
}

void
http_give_cookie (const Http *http, SoupServerMessage *message, const char *secret, const char *more)
{
  g_autofree char *name = cookie_name (http);
  g_autofree char *cookie = g_strdup_printf ("%s=%s; Path=/; HttpOnly; SameSite=Strict%s%s%s", name, secret,
      http->certificate ? "; Secure" : "", *secret ? "" : "; Max-Age=0", more);

  soup_message_headers_replace (soup_server_message_get_response_headers (message), "Set-Cookie", cookie);
}

/* Gives the browser that followed the link the token as a cookie, and the page's address without it. */
static void
log_in (const Http *http, SoupServerMessage *message)
{
  http_give_cookie (http, message, http->token, "; Max-Age=31536000");
  soup_message_headers_replace (soup_server_message_get_response_headers (message), "Location", "/");
  soup_server_message_set_status (message, SOUP_STATUS_SEE_OTHER, NULL);
}

/* Returns whether a page of this server, or no page, has sent the request to the host. */
static gboolean
is_own_origin (const Http *http, const char *origin, const char *host)
{
  g_autofree char *own = g_strconcat (http->certificate ? "https://" : "http://", host, NULL);

  return !origin || !strcmp (origin, own);
}

/* Decides whether the request may reach the handler; else answers it. Cheap checks that need no secret come first. */
static void
allow (const Http *http, SoupServerMessage *message, const char *path, GHashTable *query)
{
  SoupMessageHeaders *in = soup_server_message_get_request_headers (message);
  const char *method = soup_server_message_get_method (message), *host = soup_message_headers_get_one (in, "Host");
  const char *token = query && !strcmp (path, "/") ? g_hash_table_lookup (query, "token") : NULL;
  const gboolean reads = method == SOUP_METHOD_GET || method == SOUP_METHOD_HEAD;
  const Client *client = client_of (message);
  Login *login;

  if (!is_own_name (http, client, host)) {
    http_refuse (message, SOUP_STATUS_MISDIRECTED_REQUEST,
        "this is not a name of this server: call it by its address, or by one of \"names\" of \"page\" in its file");
  } else if (!is_own_origin (http, soup_message_headers_get_one (in, "Origin"), host)) {
    http_refuse (message, SOUP_STATUS_FORBIDDEN, "a page of another server has sent this");
  } else if (!reads && g_strcmp0 (soup_message_headers_get_content_type (in, NULL), "application/json")) {
    http_refuse (message, SOUP_STATUS_UNSUPPORTED_MEDIA_TYPE, "the Content-Type has to be application/json");
  } else if (token && reads && client->local && password_is_same (token, http->token)) {
    log_in (http, message);
  } else if ((login = find_in_headers (http, client, in))) {
    g_object_set_data_full (G_OBJECT (message), LOGIN, login_ref (login), (GDestroyNotify) login_unref);
  } else if (!http->open) {
    http_refuse (message, SOUP_STATUS_UNAUTHORIZED,
        "open the link that cf-watch --page-link FILE prints; a program sends what is behind token= in it as "
        "Authorization: Bearer");
  } else if (!g_strv_contains (http->open, path)) {
    http_refuse (message, SOUP_STATUS_UNAUTHORIZED, "nobody has logged in, or has been away for too long");
  }
}

static void
refuse_size (SoupServerMessage *message)
{
  soup_message_body_set_accumulate (soup_server_message_get_request_body (message), FALSE);
  if (soup_server_message_get_status (message) == SOUP_STATUS_NONE)
    http_refuse (message, SOUP_STATUS_REQUEST_ENTITY_TOO_LARGE, "a request has %d KiB at most", MAX_BODY >> 10);
}

/* What the client has been sent still arrives. */
static void
hang_up (Client *client)
{
  g_socket_shutdown (g_socket_connection_get_socket (client->connection), TRUE, TRUE, NULL);
}

/* The answer has been written. libsoup closes the connection then, unless another protocol takes it. TLS would send a
 * word more for that, and wait for a client that reads nothing. */
static void
on_finished (SoupServerMessage *message, gpointer data)
{
  Client *client = client_of (message);

  (void) data;
  if (client && soup_server_message_get_status (message) != SOUP_STATUS_SWITCHING_PROTOCOLS)
    hang_up (client);
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
    hang_up (client_of (message));
}

static gboolean
on_too_long (gpointer data)
{
  Client *client = data;

  client->timer = 0;
  hang_up (client);
  return G_SOURCE_REMOVE;
}

static void
give_time (Client *client, guint seconds)
{
  g_clear_handle_id (&client->timer, g_source_remove);
  client->timer = g_timeout_add_seconds (seconds, on_too_long, client);
}

/* The headers have come, and the body has not been read. */
static void
on_headers (SoupServer *server, SoupServerMessage *message, const char *path, GHashTable *query, gpointer data)
{
  const Http *http = data;
  const char *method = soup_server_message_get_method (message);

  (void) server;
  give_time (client_of (message), LASTS);
  add_headers (message);
  if (http->certificate)
    g_signal_connect (message, "finished", G_CALLBACK (on_finished), NULL);
  g_signal_connect (message, "got-chunk", G_CALLBACK (on_chunk), NULL);
  if (http->token)
    allow (http, message, path, query);
  else if (method != SOUP_METHOD_GET && method != SOUP_METHOD_HEAD)
    soup_server_message_set_status (message, SOUP_STATUS_METHOD_NOT_ALLOWED, NULL);
  if (soup_message_headers_get_content_length (soup_server_message_get_request_headers (message)) > MAX_BODY)
    refuse_size (message);
}

/* ---- connections --------------------------------------------------------- */

static void
on_closed (gpointer data, GObject *connection)
{
  Client *client = data;

  (void) connection;
  g_clear_handle_id (&client->timer, g_source_remove);
  g_hash_table_remove (client->http->clients, client);
  g_object_set_data (G_OBJECT (client->remote), CLIENT, NULL);
  g_object_unref (client->remote);
  g_free (client->address);
  g_free (client->place);
  g_free (client->own);
  g_free (client);
}

/* Returns an address as text. One of IPv4 that has come to a socket of IPv6 is as it was. Free it. */
static char *
address_text (GSocketAddress *address)
{
  g_autofree char *text = g_inet_address_to_string (
      g_inet_socket_address_get_address (G_INET_SOCKET_ADDRESS (address)));
  const char *mapped = "::ffff:";

  return g_strdup (g_str_has_prefix (text, mapped) && strchr (text, '.') ? text + strlen (mapped) : text);
}

/* With IPv6 the first 64 bits are the network's; a machine may have any address behind them. */
static char *
place_of (const char *text)
{
  g_autoptr (GInetAddress) address = g_inet_address_new_from_string (text), network = NULL;
  guint8 bytes[16] = { 0 };

  if (!strchr (text, ':'))
    return g_strdup (text);
  memcpy (bytes, g_inet_address_to_bytes (address), 8);
  network = g_inet_address_new_from_bytes (bytes, G_SOCKET_FAMILY_IPV6);
  return g_inet_address_to_string (network);
}

static Client *
client_new (Http *http, GSocketConnection *connection, GSocketAddress *local, GSocketAddress *remote)
{
  Client *client = g_new0 (Client, 1);
  g_autofree char *own = address_text (local);
  g_autoptr (GInetAddress) address = NULL;

  client->http = http;
  client->connection = connection;
  client->remote = g_object_ref (remote);
  client->own = strchr (own, ':') ? g_strdup_printf ("[%s]", own) : g_steal_pointer (&own);
  client->address = address_text (remote);
  client->place = place_of (client->address);
  address = g_inet_address_new_from_string (client->address);
  client->local = g_inet_address_get_is_loopback (address);
  g_hash_table_add (http->clients, client);
  /* libsoup does not tell the socket of a connection that it has not accepted, but has this very object. */
  g_object_set_data (G_OBJECT (remote), CLIENT, client);
  g_object_weak_ref (G_OBJECT (connection), on_closed, client);
  return client;
}

/* Returns whether the client, which is counted already, is one too many. */
static gboolean
is_too_many (const Client *client)
{
  guint far = 0, same = 0;
  GHashTableIter iter;
  Client *other;

  g_hash_table_iter_init (&iter, client->http->clients);
  while (g_hash_table_iter_next (&iter, (gpointer *) &other, NULL)) {
    far += !other->local;
    same += !other->local && !strcmp (other->place, client->place);
  }
  return g_hash_table_size (client->http->clients) > MAX_CONNECTIONS ||
      (!client->local && (far > MAX_FAR || same > MAX_OF_ONE));
}

/* A connection on its way to libsoup. */
typedef struct {
  Http *http;
  GIOStream *stream; /* which keeps the connection, and so its client */
  Client *client;
  GSocketAddress *local, *remote;
  gboolean shaken;
} Arrival;

static gboolean
on_shaken (gpointer data)
{
  Arrival *arrival = data;

  give_time (arrival->client, HEADERS);
  if (!arrival->shaken)
    hang_up (arrival->client); /* so that TLS has nothing to say at the end */
  else if (arrival->http->server)
    soup_server_accept_iostream (arrival->http->server, arrival->stream, arrival->local, arrival->remote, NULL);
  g_object_unref (arrival->local);
  g_object_unref (arrival->remote);
  g_object_unref (arrival->stream);
  g_free (arrival);
  return G_SOURCE_REMOVE;
}

/* libsoup makes no handshake for a connection that it has not accepted. In its own place, GLib's threads, clients that
 * are slow would keep others of this program waiting. */
static void
shake_hands (gpointer data)
{
  Arrival *arrival = data;

  arrival->shaken = g_tls_connection_handshake (G_TLS_CONNECTION (arrival->stream), NULL, NULL);
  in_main (on_shaken, arrival);
}

static gboolean
on_connection (GSocketService *from, GSocketConnection *connection, GObject *source, gpointer data)
{
  g_autoptr (GSocketAddress) local = g_socket_connection_get_local_address (connection, NULL);
  g_autoptr (GSocketAddress) remote = g_socket_connection_get_remote_address (connection, NULL);
  Http *http = data;
  GIOStream *stream;
  Client *client;

  (void) from;
  (void) source;
  /* The service closes what is not taken here. Without an address, the client has gone already. */
  if (!local || !remote)
    return FALSE;
  client = client_new (http, connection, local, remote);
  if (is_too_many (client))
    return FALSE;
  give_time (client, HEADERS);
  g_socket_set_timeout (g_socket_connection_get_socket (connection), SILENT);
  if (!http->certificate)
    return soup_server_accept_iostream (http->server, G_IO_STREAM (connection), local, remote, NULL);
  stream = g_tls_server_connection_new (G_IO_STREAM (connection), http->certificate, NULL);
  if (!stream)
    return FALSE;
  in_pool (shake_hands,
      g_memdup2 (&(Arrival) { http, stream, client, g_steal_pointer (&local), g_steal_pointer (&remote), FALSE },
          sizeof (Arrival)));
  return TRUE;
}

void
http_extend (SoupServerMessage *message)
{
  Client *client = client_of (message);

  if (!client)
    return;
  give_time (client, LASTS);
  g_socket_set_option (g_socket_connection_get_socket (client->connection), SOL_SOCKET, SO_SNDBUF, SEND_BUFFER, NULL);
}

gboolean
http_keep (SoupServerMessage *message)
{
  Client *client = client_of (message);
  GSocket *socket = client ? g_socket_connection_get_socket (client->connection) : NULL;

  if (!client)
    return FALSE;
  g_clear_handle_id (&client->timer, g_source_remove);
  g_socket_set_timeout (socket, 0);
  return g_socket_set_option (socket, SOL_SOCKET, SO_SNDBUF, SEND_BUFFER, NULL);
}

/* libsoup serves the connections, but does not accept them: libsoup 3.2 never frees the GSocket of one that it has
 * accepted. */
Http *
http_start (const HttpPlan *plan, SoupServerCallback handler, gpointer data, GString *wrong)
{
  g_autoptr (GSocketAddress) at = g_inet_socket_address_new_from_string (plan->address, plan->port), bound = NULL;
  g_autoptr (GSocketService) service = g_socket_service_new ();
  g_autoptr (GError) error = NULL;
  Http *http;

  g_socket_listener_set_backlog (G_SOCKET_LISTENER (service), MAX_CONNECTIONS);
  if (!g_socket_listener_add_address (G_SOCKET_LISTENER (service), at, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP,
          NULL, &bound, &error)) {
    g_string_append_printf (wrong, "%s: %s port %u: %s", plan->what, plan->address, plan->port, error->message);
    return NULL;
  }
  http = g_new0 (Http, 1);
  http->token = g_strdup (plan->token);
  http->owner = login_of_token ();
  http->names = g_strdupv (plan->names);
  http->open = plan->open;
  http->certificate = plan->certificate ? g_object_ref (plan->certificate) : NULL;
  http->clients = g_hash_table_new (NULL, NULL);
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

void
http_set_certificate (Http *http, GTlsCertificate *certificate)
{
  g_set_object (&http->certificate, certificate);
}

/* Connections may outlive the server, and look at it. None of them may wait for its client when libsoup closes it. */
void
http_stop (Http *http)
{
  GHashTableIter iter;
  Client *client;

  if (!http)
    return;
  g_socket_service_stop (http->service);
  g_clear_object (&http->service);
  g_hash_table_iter_init (&iter, http->clients);
  while (g_hash_table_iter_next (&iter, (gpointer *) &client, NULL))
    hang_up (client);
  g_clear_object (&http->server);
}
#endif
