/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * metrics.c: Prometheus' text by HTTP, with libsoup where it is found at build time. */
#include "status.h"

#ifdef HAVE_SOUP
#include <libsoup/soup.h>

static SoupServer *server;

static void
on_request (SoupServer *soup, SoupServerMessage *message, const char *path, GHashTable *query, gpointer data)
{
  const char *method = soup_server_message_get_method (message);
  char *text;

  (void) soup;
  (void) query;
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

gboolean
metrics_start (Watch *watch, const Config *config, GString *wrong)
{
  g_autoptr (GSocketAddress)
      address = g_inet_socket_address_new_from_string (config->metrics.address, config->metrics.port);
  g_autoptr (GError) error = NULL;
  GSList *uris;

  server = soup_server_new ("server-header", "cf-watch", NULL);
  soup_server_add_handler (server, NULL, on_request, watch, NULL);
  if (!soup_server_listen (server, address, 0, &error)) {
    g_string_append_printf (wrong, "metrics: %s port %u: %s", config->metrics.address, config->metrics.port,
        error->message);
    return FALSE;
  }
  uris = soup_server_get_uris (server);
  watch->metrics_port = uris ? (guint) g_uri_get_port (uris->data) : config->metrics.port;
  g_slist_free_full (uris, (GDestroyNotify) g_uri_unref);
  return TRUE;
}

void
metrics_stop (void)
{
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
