/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * mjpeg.c: filtered pictures without an end (multipart/x-mixed-replace). */
#include "mjpeg.h"

#ifdef HAVE_SOUP
#include "http.h"
#include "snapshot.h"

#include <string.h>

#define MAX_STREAMS 16 /* others of the server's connections stay for requests */
#define TICK 200       /* ms */

typedef struct {
  SoupServerMessage *message;
  Watch *watch;
  char *camera;
  gboolean asked, gone; /* a picture is being made; the client has gone */
  guint writing;        /* parts of a picture that the client's machine has not taken */
} Stream;

static GPtrArray *streams; /* of Stream; NULL: there have been none yet */
static guint timer;

static void
stream_free (Stream *stream)
{
  g_signal_handlers_disconnect_by_data (stream->message, stream);
  g_object_unref (stream->message);
  g_free (stream->camera);
  g_free (stream);
}

static void
on_gone (SoupServerMessage *message, gpointer data)
{
  Stream *stream = data;

  (void) message;
  stream->gone = TRUE;
  if (g_ptr_array_remove (streams, stream) && !stream->asked)
    stream_free (stream);
}

static void
on_written (SoupServerMessage *message, gpointer data)
{
  (void) message;
  ((Stream *) data)->writing--;
}

/* A SnapshotPicture. */
static void
on_picture (gpointer from, GBytes *picture, const char *wrong)
{
  Stream *stream = from;
  SoupMessageBody *body = soup_server_message_get_response_body (stream->message);
  char *head;

  (void) wrong; /* the camera is away, or sends seldom: the next tick knows */
  stream->asked = FALSE;
  if (stream->gone) {
    stream_free (stream);
  } else if (picture) {
    head = g_strdup_printf ("--frame\r\nContent-Type: image/jpeg\r\nContent-Length: %" G_GSIZE_FORMAT "\r\n\r\n",
        g_bytes_get_size (picture));
    soup_message_body_append_take (body, (guchar *) head, strlen (head));
    soup_message_body_append_bytes (body, picture);
    soup_message_body_append (body, SOUP_MEMORY_STATIC, "\r\n", 2);
    stream->writing = 3;
    http_extend (stream->message);
    soup_server_message_unpause (stream->message);
  }
}

/* Asks for the next picture, if the client has taken the last one. All streams ask at the same time: two clients of one
 * camera get the same picture. */
static void
go_on (Stream *stream)
{
  Camera *camera = watch_find (stream->watch, stream->camera);

  if (stream->asked || stream->writing)
    return;
  if (stream->watch->ending || !camera || camera->state != CAMERA_UP || !login_holds (http_login (stream->message))) {
    soup_message_body_complete (soup_server_message_get_response_body (stream->message));
    soup_server_message_unpause (stream->message);
  } else {
    stream->asked = TRUE;
    snapshot_show (camera_pictures (camera), SNAPSHOT_LARGE, on_picture, stream);
  }
}

static gboolean
on_tick (gpointer data)
{
  (void) data;
  for (guint i = streams->len; i-- > 0;)
    go_on (streams->pdata[i]);
  if (streams->len > 0)
    return G_SOURCE_CONTINUE;
  timer = 0;
  return G_SOURCE_REMOVE;
}

void
mjpeg_answer (Watch *watch, const char *camera, SoupServerMessage *message)
{
  SoupMessageHeaders *out = soup_server_message_get_response_headers (message);
  Stream *stream;

  if (!streams)
    streams = g_ptr_array_new ();
  if (streams->len >= MAX_STREAMS) {
    http_refuse (message, SOUP_STATUS_SERVICE_UNAVAILABLE, "%d streams are open, and no more are served", MAX_STREAMS);
    return;
  }
  soup_server_message_set_status (message, SOUP_STATUS_OK, NULL);
  soup_message_headers_set_encoding (out, SOUP_ENCODING_EOF);
  soup_message_headers_replace (out, "Content-Type", "multipart/x-mixed-replace; boundary=frame");
  soup_message_body_set_accumulate (soup_server_message_get_response_body (message), FALSE);
  stream = g_new0 (Stream, 1);
  stream->message = g_object_ref (message);
  stream->watch = watch;
  stream->camera = g_strdup (camera);
  g_signal_connect (message, "wrote-chunk", G_CALLBACK (on_written), stream);
  g_signal_connect (message, "finished", G_CALLBACK (on_gone), stream);
  g_signal_connect (message, "disconnected", G_CALLBACK (on_gone), stream);
  g_ptr_array_add (streams, stream);
  if (!timer)
    timer = g_timeout_add (TICK, on_tick, NULL);
}
#endif
