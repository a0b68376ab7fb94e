/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * rtsp.c: what an RTSP server may have the process hold. GStreamer allocates as much for a description as the server
 * says it has, and collects header lines without an end, for which no stop is soon enough. Its connections can be
 * limited, but rtspsrc gives no access to the one that it makes. The dynamic linker finds the functions here, of the
 * same names, before those of GStreamer's library. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "rtsp.h"

#include <dlfcn.h>
#include <gst/rtsp/gstrtspconnection.h>

#define MAX_BODY (1 << 20)        /* a description has a few kilobytes */
#define LATE (5 * G_USEC_PER_SEC) /* so much longer than it may wait for bytes a whole message may take */
#define VISIBLE __attribute__ ((visibility ("default")))

typedef struct {
  GstRTSPConnection *connection;
  gint64 until; /* monotonic µs */
} Receive;

static GMutex lock;
static GSList *receives; /* of Receive: those under way */

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
  Receive entry = { connection, g_get_monotonic_time () + timeout + LATE };
  GstRTSPResult result;

  if (!receive)
    return GST_RTSP_ENOTIMPL;
  if (timeout <= 0) /* it may wait for ever */
    return receive (connection, message, timeout);
  g_mutex_lock (&lock);
  receives = g_slist_prepend (receives, &entry);
  g_mutex_unlock (&lock);
  result = receive (connection, message, timeout);
  g_mutex_lock (&lock);
  receives = g_slist_remove (receives, &entry);
  g_mutex_unlock (&lock);
  return result;
}

void
rtsp_check (void)
{
  gint64 now = g_get_monotonic_time ();

  g_mutex_lock (&lock);
  for (GSList *l = receives; l; l = l->next) {
    Receive *entry = l->data;
    GSocket *socket = gst_rtsp_connection_get_read_socket (entry->connection);

    if (now > entry->until && socket)
      g_socket_shutdown (socket, TRUE, TRUE, NULL);
  }
  g_mutex_unlock (&lock);
}
