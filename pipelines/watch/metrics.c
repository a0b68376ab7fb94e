/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * metrics.c: Prometheus' text by HTTP, with libsoup where it is found at build time. */
#include "status.h"

#ifdef HAVE_SOUP
#include <libsoup/soup.h>

#define SILENT 5 /* s, until a connection is closed: its client may have gone without a word */

static SoupServer *server;
static GSocketService *service;

static void
on_request (SoupServer *soup, SoupServerMessage *message, const char *path, GHashTable *query, gpointer data)
{
  const char *method = soup_server_message_get_method (message);
  char *text;

  (void) soup;
  (void) query;
  /* libsoup 3.2 keeps the descriptor of a connection that waits for a next request when its client has gone. */
  soup_message_headers_replace (soup_server_message_get_response_headers (message), "Connection", "close");
  if (method != SOUP_METHOD_GET && method != SOUP_METHOD_HEAD) {
    soup_server_message_set_status (message, SOUP_STATUS_METHOD_NOT_ALLOWED, NULL);
  } else if (g_str_equal (path, "/metrics")) {
    text = status_metrics (data);
    soup_server_message_set_status (message, SOUP_STATUS_OK, NULL);
    soup_server_message_set_response (message, "text/plain; version=0.0.4", SOUP_MEMORY_TAKE, text, strlen (text));
  } else if (g_str_equal (path, "/healthz")) {
    soup_server_message_set_status (message, SOUP_STATUS_OK, NULL);
    soup_server_message_set_response (message, "text/plain", SOUP_MEMORY_STATIC, "ok\n", 3);
  } else {
    soup_server_message_set_status (message, SOUP_STATUS_NOT_FOUND, NULL);
  }
}

static gboolean
on_connection (GSocketService *from, GSocketConnection *connection, GObject *source, gpointer data)
{
  g_autoptr (GSocketAddress) local = g_socket_connection_get_local_address (connection, NULL);
  g_autoptr (GSocketAddress) remote = g_socket_connection_get_remote_address (connection, NULL);

  (void) from;
  (void) source;
  (void) data;
  g_socket_set_timeout (g_socket_connection_get_socket (connection), SILENT);
  /* The service closes what is not taken here, because its client has gone already. */
  return local && remote && soup_server_accept_iostream (server, G_IO_STREAM (connection), local, remote, NULL);
}

/* libsoup serves the connections, but does not accept them: libsoup 3.2 never frees the GSocket of one that it has
 * accepted. */
gboolean
metrics_start (Watch *watch, const Config *config, GString *wrong)
{
  g_autoptr (GSocketAddress)
      address = g_inet_socket_address_new_from_string (config->metrics.address, config->metrics.port);
  g_autoptr (GSocketAddress) bound = NULL;
  g_autoptr (GError) error = NULL;

  service = g_socket_service_new ();
  if (!g_socket_listener_add_address (G_SOCKET_LISTENER (service), address, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP,
          NULL, &bound, &error)) {
    g_string_append_printf (wrong, "metrics: %s port %u: %s", config->metrics.address, config->metrics.port,
        error->message);
    return FALSE;
  }
  watch->metrics_port = g_inet_socket_address_get_port (G_INET_SOCKET_ADDRESS (bound));
  server = soup_server_new ("server-header", "cf-watch", NULL);
  soup_server_add_handler (server, NULL, on_request, watch, NULL);
  g_signal_connect (service, "incoming", G_CALLBACK (on_connection), NULL);
  return TRUE;
}

void
metrics_stop (void)
{
  if (service)
    g_socket_service_stop (service);
  g_clear_object (&service);
  g_clear_object (&server);
}
#else
/* config.c refuses the setting. */
gboolean
metrics_start (Watch *watch, const Config *config, GString *wrong)
{
  (void) watch;
  (void) config;
  (void) wrong;
  return FALSE;
}

void
metrics_stop (void)
{
}
#endif
