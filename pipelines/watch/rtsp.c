/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * rtsp.c: bounds the memory that an RTSP server, or a viewer, can make the process hold. GStreamer allocates whatever
 * size the server declares for a description, and collects header lines without an end. A connection can be limited,
 * but rtspsrc does not show the one that it makes, and gst-rtsp-server not what it receives. So the functions here have
 * the names of the libraries' functions, and the dynamic linker finds them first. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <gst/rtsp/gstrtspconnection.h>
#include <sys/socket.h>

#define MAX_BODY (1 << 20)             /* a description has a few kilobytes */
#define MAX_MESSAGE (MAX_BODY + 65536) /* with its header lines */
#define MAX_REQUEST 65536              /* of a viewer */
#define LATE (5 * G_USEC_PER_SEC)      /* a whole message may take so much longer than `timeout` */
#define VISIBLE __attribute__ ((visibility ("default")))

/* Of the message that this thread receives. */
static _Thread_local gssize receivable = -1; /* bytes that may still come; -1: it receives none */
static _Thread_local gint64 until;           /* monotonic µs */

VISIBLE GstRTSPResult
gst_rtsp_connection_create (const GstRTSPUrl *url, GstRTSPConnection **connection)
{
  GstRTSPResult (*create) (const GstRTSPUrl *, GstRTSPConnection **) = (GstRTSPResult (*) (const GstRTSPUrl *,
      GstRTSPConnection **)) dlsym (RTLD_NEXT, "gst_rtsp_connection_create");
  GstRTSPResult result = create ? create (url, connection) : GST_RTSP_ENOTIMPL;

  if (result == GST_RTSP_OK)
    gst_rtsp_connection_set_content_length_limit (*connection, MAX_BODY);
  return result;
}

VISIBLE GstRTSPResult
gst_rtsp_connection_receive_usec (GstRTSPConnection *connection, GstRTSPMessage *message, gint64 timeout)
{
  GstRTSPResult (*receive) (GstRTSPConnection *, GstRTSPMessage *, gint64) = (GstRTSPResult (*) (GstRTSPConnection *,
      GstRTSPMessage *, gint64)) dlsym (RTLD_NEXT, "gst_rtsp_connection_receive_usec");
  GstRTSPResult result;

  if (!receive)
    return GST_RTSP_ENOTIMPL;
  receivable = MAX_MESSAGE;
  until = timeout > 0 ? g_get_monotonic_time () + timeout + LATE : G_MAXINT64; /* 0: it may wait for ever */
  result = receive (connection, message, timeout);
  receivable = -1;
  return result;
}

/* Of gst-rtsp-server's connections, which all have the same function and are served by one thread. */
static GstRTSPResult (*message_received) (GstRTSPWatch *, GstRTSPMessage *, gpointer);
static _Thread_local GHashTable *requested; /* descriptor -> bytes of a request that is not complete; NULL: none */
static _Thread_local int reading;           /* the descriptor that was read last */

/* Drops RTP and RTCP that a viewer sends: gst-rtsp-server never frees the one, and remembers each sender that the other
 * names. */
static GstRTSPResult
drop_data (GstRTSPWatch *watch, GstRTSPMessage *message, gpointer data)
{
  g_hash_table_remove (requested, GINT_TO_POINTER (reading));
  return message->type == GST_RTSP_MESSAGE_DATA ? GST_RTSP_OK : message_received (watch, message, data);
}

VISIBLE GstRTSPWatch *
gst_rtsp_watch_new (GstRTSPConnection *connection, GstRTSPWatchFuncs *funcs, gpointer data, GDestroyNotify notify)
{
  GstRTSPWatch *(*create) (GstRTSPConnection *, GstRTSPWatchFuncs *, gpointer, GDestroyNotify) = (GstRTSPWatch *
      (*) (GstRTSPConnection *, GstRTSPWatchFuncs *, gpointer, GDestroyNotify)) dlsym (RTLD_NEXT, "gst_rtsp_watch_new");
  GstRTSPWatchFuncs ours = *funcs;

  if (!requested)
    requested = g_hash_table_new (NULL, NULL);
  g_hash_table_remove (requested, GINT_TO_POINTER (g_socket_get_fd (gst_rtsp_connection_get_read_socket (connection))));
  message_received = funcs->message_received;
  ours.message_received = drop_data;
  return create ? create (connection, &ours, data, notify) : NULL;
}

/* Receives of a viewer's request. One that is too long ends as if the viewer had closed the connection. */
static ssize_t
receive_request (int file, void *data, size_t size, int flags)
{
  gsize before = GPOINTER_TO_SIZE (g_hash_table_lookup (requested, GINT_TO_POINTER (file)));
  ssize_t n = before < MAX_REQUEST ? recvfrom (file, data, size, flags, NULL, NULL) : 0;

  reading = file;
  if (n > 0)
    g_hash_table_insert (requested, GINT_TO_POINTER (file), GSIZE_TO_POINTER (before + (gsize) n));
  return n;
}

/* GLib receives by this function. A message that is too long, or takes too long, ends as if the server had closed the
 * connection. */
VISIBLE ssize_t
recv (int file, void *data, size_t size, int flags)
{
  ssize_t n;

  if (requested)
    return receive_request (file, data, size, flags);
  if (receivable < 0)
    return recvfrom (file, data, size, flags, NULL, NULL);
  if (receivable == 0 || g_get_monotonic_time () > until)
    return 0;
  n = recvfrom (file, data, MIN (size, (size_t) receivable), flags, NULL, NULL);
  receivable -= MAX (n, 0);
  return n;
}
