/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * certificate.c: what a server shows its clients for TLS. */
#include "certificate.h"

#include <sys/socket.h>

#define SHAKES_WITHIN 5 /* s */

/* Returns one end of a connection within the process. Takes the socket. */
static GIOStream *
end_of (int fd)
{
  g_autoptr (GSocket) socket = g_socket_new_from_fd (fd, NULL);

  g_socket_set_timeout (socket, SHAKES_WITHIN);
  return G_IO_STREAM (g_socket_connection_factory_create_connection (socket));
}

static gpointer
shake_hands (gpointer server)
{
  g_tls_connection_handshake (server, NULL, NULL);
  return NULL;
}

static gboolean
accept_any (GTlsConnection *client, GTlsCertificate *certificate, GTlsCertificateFlags flags, gpointer data)
{
  (void) client;
  (void) certificate;
  (void) flags;
  (void) data;
  return TRUE;
}

/* Tries the certificate and its key, which GLib does not compare, on a client of our own. */
static gboolean
works (GTlsCertificate *certificate, GError **error)
{
  g_autoptr (GIOStream) near = NULL, far = NULL, server = NULL, client = NULL;
  GThread *thread;
  gboolean ok;
  int fds[2];

  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
    return TRUE;
  near = end_of (fds[0]);
  far = end_of (fds[1]);
  if (!(server = g_tls_server_connection_new (near, certificate, error)) ||
      !(client = g_tls_client_connection_new (far, NULL, error)))
    return FALSE;
  g_signal_connect (client, "accept-certificate", G_CALLBACK (accept_any), NULL);
  thread = g_thread_new ("handshake", shake_hands, server);
  ok = g_tls_connection_handshake (G_TLS_CONNECTION (client), NULL, error);
  g_io_stream_close (far, NULL, NULL);
  g_thread_join (thread);
  return ok;
}

GTlsCertificate *
certificate_load (const char *path, const char *key, GString *wrong)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GTlsCertificate) certificate = g_tls_certificate_new_from_files (path, key, &error);

  if (certificate && works (certificate, &error))
    return g_steal_pointer (&certificate);
  if (certificate)
    g_string_append_printf (wrong, "%s: %s is not its key (%s)", path, key, error->message);
  else
    g_string_append_printf (wrong, "%s: %s", path, error->message);
  return NULL;
}
