/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * rtsp.c: bounds the memory that an RTSP server can make the process hold. GStreamer allocates whatever size the server
 * declares for a description, and collects header lines without an end. A connection can be limited, but rtspsrc does
 * not show the one that it makes. So the functions here have the names of the libraries' functions, and the dynamic
 * linker finds them first. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <gst/rtsp/gstrtspconnection.h>
#include <sys/socket.h>

#define MAX_BODY (1 << 20)             /* a description has a few kilobytes */
#define MAX_MESSAGE (MAX_BODY + 65536) /* with its header lines */
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

/* GLib receives by this function. A message that is too long, or takes too long, ends as if the server had closed the
 * connection. */
VISIBLE ssize_t
recv (int file, void *data, size_t size, int flags)
{
  ssize_t n;

  if (receivable < 0)
    return recvfrom (file, data, size, flags, NULL, NULL);
  if (receivable == 0 || g_get_monotonic_time () > until)
    return 0;
  n = recvfrom (file, data, MIN (size, (size_t) receivable), flags, NULL, NULL);
  receivable -= MAX (n, 0);
  return n;
}
