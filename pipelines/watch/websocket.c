/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * websocket.c: a WebSocket's connection. Whoever sends leaves the message in a queue, from any thread; the main thread
 * writes what the connection takes. What comes is read no faster than a page needs, and is small: anything else ends
 * the connection. */
#include "websocket.h"

#include "threads.h"

#include <string.h>

#define MAX_MESSAGE 4096    /* bytes, from the client */
#define MAX_HEADER 14       /* of a frame from the client */
#define A_SECOND (64 << 10) /* bytes that are read in a second */
#define MAX_TEXTS (1 << 20) /* bytes of texts, and of answers to pings, that wait */
#define PING_AFTER 20       /* s without a byte from the client */
#define GONE_AFTER 45
#define AT_ONCE 48 /* parts of messages that are written by one call */

enum { CONTINUED = 0, CLOSE = 8, PING = 9, PONG = 10, LAST = 0x80 };
/* Why a connection is closed: RFC 6455, 7.4.1. */
enum { GOING_AWAY = 1001, PROTOCOL_ERROR = 1002, NOT_ACCEPTED = 1003, TOO_BIG = 1009 };

/* A part of a message: its header, or some of its bytes. */
typedef struct {
  GBytes *bytes;
  gboolean is_text; /* or one of the protocol's own */
} Part;

struct WebSocket {
  GIOStream *stream;
  WebSocketCalls calls;
  gpointer data;

  GMutex lock; /* of what follows, up to `closed` */
  GQueue parts;
  _Atomic gsize waiting, texts; /* bytes that are not written; of texts among them; read without the lock */
  gboolean woken;               /* the main thread is going to write */
  gboolean closed;              /* nothing is sent any more */

  /* Of the main thread. */
  GSource *reading, *writing; /* NULL: it waits for nothing */
  gsize written;              /* of the first part */
  guint8 in[MAX_HEADER + MAX_MESSAGE];
  gsize have;    /* bytes in it */
  gssize budget; /* bytes that may still be read in this second */
  guint silent;  /* s */
};

static void
part_free (gpointer part)
{
  g_bytes_unref (((Part *) part)->bytes);
  g_free (part);
}

static void
clear (gpointer data)
{
  WebSocket *socket = data;

  g_queue_clear_full (&socket->parts, part_free);
  g_mutex_clear (&socket->lock);
  g_object_unref (socket->stream);
}

void
websocket_unref (WebSocket *socket)
{
  g_atomic_rc_box_release_full (socket, clear);
}

static void
clear_source (GSource **source)
{
  if (*source)
    g_source_destroy (*source);
  g_clear_pointer (source, g_source_unref);
}

void
websocket_close (WebSocket *socket)
{
  g_autoptr (GIOStream) base = NULL;
  gboolean closed;

  g_mutex_lock (&socket->lock);
  closed = socket->closed;
  socket->closed = TRUE;
  g_queue_clear_full (&socket->parts, part_free);
  socket->waiting = 0;
  g_mutex_unlock (&socket->lock);
  clear_source (&socket->reading);
  clear_source (&socket->writing);
  if (closed)
    return;
  if (G_IS_TLS_CONNECTION (socket->stream)) { /* it would send a word more, and wait for a client that reads nothing */
    g_object_get (socket->stream, "base-io-stream", &base, NULL);
    g_socket_shutdown (g_socket_connection_get_socket (G_SOCKET_CONNECTION (base)), TRUE, TRUE, NULL);
  }
  g_io_stream_close_async (socket->stream, G_PRIORITY_DEFAULT, NULL, NULL, NULL);
  socket->calls.closed (socket->data);
}

/* ---- out ------------------------------------------------------------------ */

static gboolean on_writable (GObject *stream, gpointer data);

/* Fills the list with the first parts, less what is written. Returns how many there are. */
static guint
gather (WebSocket *socket, GOutputVector *parts)
{
  guint n = 0;

  for (GList *l = socket->parts.head; l && n < AT_ONCE; l = l->next, n++)
    parts[n].buffer = g_bytes_get_data (((Part *) l->data)->bytes, &parts[n].size);
  if (n > 0)
    parts[0] = (GOutputVector) { (const char *) parts[0].buffer + socket->written, parts[0].size - socket->written };
  return n;
}

/* Drops what has been written. */
static void
advance (WebSocket *socket, gsize n)
{
  Part *first;
  gsize size;

  socket->waiting -= n;
  socket->written += n;
  while ((first = g_queue_peek_head (&socket->parts)) && (size = g_bytes_get_size (first->bytes)) <= socket->written) {
    socket->written -= size;
    socket->texts -= first->is_text ? size : 0;
    part_free (g_queue_pop_head (&socket->parts));
  }
}

/* Writes what the connection takes at once. Returns FALSE where it has ended. */
static gboolean
write_some (WebSocket *socket)
{
  GPollableOutputStream *out = G_POLLABLE_OUTPUT_STREAM (g_io_stream_get_output_stream (socket->stream));
  GOutputVector parts[AT_ONCE];
  GPollableReturn result;
  gsize written;
  guint n;

  for (;;) {
    g_mutex_lock (&socket->lock); /* parts are only added meanwhile */
    n = gather (socket, parts);
    if (n == 0)
      socket->woken = FALSE;
    g_mutex_unlock (&socket->lock);
    if (n == 0)
      return TRUE;
    written = 0;
    result = g_pollable_output_stream_writev_nonblocking (out, parts, n, &written, NULL, NULL);
    g_mutex_lock (&socket->lock);
    advance (socket, written);
    g_mutex_unlock (&socket->lock);
    if (result == G_POLLABLE_RETURN_FAILED)
      return FALSE;
    if (result == G_POLLABLE_RETURN_WOULD_BLOCK) {
      socket->writing = g_pollable_output_stream_create_source (out, NULL);
      g_source_set_callback (socket->writing, G_SOURCE_FUNC (on_writable), socket, NULL);
      g_source_attach (socket->writing, NULL);
      return TRUE;
    }
  }
}

static gboolean
on_writable (GObject *stream, gpointer data)
{
  WebSocket *socket = data;

  (void) stream;
  clear_source (&socket->writing);
  if (!write_some (socket))
    websocket_close (socket);
  return G_SOURCE_REMOVE;
}

static gboolean
on_woken (gpointer data)
{
  WebSocket *socket = data;

  if (!socket->closed && !write_some (socket))
    websocket_close (socket);
  websocket_unref (socket);
  return G_SOURCE_REMOVE;
}

/* Takes a part. Call it with the lock held. */
static void
queue (WebSocket *socket, GBytes *bytes, gboolean is_text)
{
  const gsize n = g_bytes_get_size (bytes);

  if (socket->closed || n == 0) {
    g_bytes_unref (bytes);
    return;
  }
  g_queue_push_tail (&socket->parts, g_memdup2 (&(Part) { bytes, is_text }, sizeof (Part)));
  socket->waiting += n;
  socket->texts += is_text ? n : 0;
}

void
websocket_send (WebSocket *socket, guint8 kind, GBytes *head, GBytes *body)
{
  const guint64 n = g_bytes_get_size (head) + (body ? g_bytes_get_size (body) : 0), big = GUINT64_TO_BE (n);
  const gsize n_header = n < 126 ? 2 : n < 65536 ? 4 : 10;
  guint8 header[10] = { LAST | kind, n < 126 ? (guint8) n : n < 65536 ? 126 : 127 };
  gboolean is_text = kind != WEBSOCKET_BINARY, wake;

  memcpy (header + 2, (const guint8 *) &big + 10 - n_header, n_header - 2);
  g_mutex_lock (&socket->lock);
  queue (socket, g_bytes_new (header, n_header), is_text);
  queue (socket, head, is_text);
  if (body)
    queue (socket, body, is_text);
  wake = !socket->closed && !socket->woken;
  socket->woken |= wake;
  g_mutex_unlock (&socket->lock);
  if (wake)
    in_main (on_woken, websocket_ref (socket));
}

gsize
websocket_waiting (WebSocket *socket)
{
  return socket->waiting;
}

/* Do too many texts wait? */
static gboolean
is_behind (const WebSocket *socket)
{
  return socket->texts > MAX_TEXTS;
}

/* ---- in ------------------------------------------------------------------- */

/* Tells the client why the connection ends, if the connection takes that at once. */
static gboolean
fail (WebSocket *socket, guint16 reason)
{
  const guint16 big = GUINT16_TO_BE (reason);

  websocket_send (socket, CLOSE, g_bytes_new (&big, sizeof big), NULL);
  if (!socket->writing)
    write_some (socket);
  websocket_close (socket);
  return FALSE;
}

/* Deals with a frame that is complete. Returns FALSE where it has ended the connection. */
static gboolean
take (WebSocket *socket, guint8 kind, const guint8 *payload, gsize n)
{
  if (kind == CLOSE)
    return fail (socket, GOING_AWAY);
  if (kind == PING && !is_behind (socket))
    websocket_send (socket, PONG, g_bytes_new (payload, n), NULL);
  if (kind == WEBSOCKET_TEXT)
    socket->calls.text ((const char *) payload, n, socket->data);
  return !socket->closed;
}

/* Takes the first frame off what has been read. Returns FALSE if there is no whole one any more, or the connection has
 * ended. */
static gboolean
take_frame (WebSocket *socket)
{
  const guint8 *in = socket->in, kind = in[0] & 15;
  const gboolean control = kind >= CLOSE;
  guint8 payload[MAX_MESSAGE + 1];
  gsize n = in[1] & 127, at = n == 126 ? 4 : 2;

  if (socket->have < at || socket->have < 2)
    return FALSE;
  if ((in[0] & 0x70) || !(in[1] & 0x80) || kind > PONG || (kind > WEBSOCKET_BINARY && !control) ||
      (control && (n > 125 || !(in[0] & LAST))))
    return fail (socket, PROTOCOL_ERROR);
  if (kind == WEBSOCKET_BINARY)
    return fail (socket, NOT_ACCEPTED);
  if (n == 126)
    n = (gsize) in[2] << 8 | in[3];
  else if (n == 127)
    n = G_MAXSIZE;
  if (n > MAX_MESSAGE || kind == CONTINUED || !(in[0] & LAST)) /* nobody needs more, nor sends this in parts */
    return fail (socket, TOO_BIG);
  if (socket->have < at + 4 + n)
    return FALSE;
  for (gsize i = 0; i < n; i++)
    payload[i] = in[at + 4 + i] ^ in[at + i % 4];
  payload[n] = '\0';
  at += 4 + n;
  memmove (socket->in, in + at, socket->have -= at);
  return take (socket, kind, payload, n);
}

static gboolean on_readable (GObject *stream, gpointer data);

static void
begin_reading (WebSocket *socket)
{
  GInputStream *in = g_io_stream_get_input_stream (socket->stream);

  socket->reading = g_pollable_input_stream_create_source (G_POLLABLE_INPUT_STREAM (in), NULL);
  g_source_set_callback (socket->reading, G_SOURCE_FUNC (on_readable), socket, NULL);
  g_source_attach (socket->reading, NULL);
}

static gboolean
on_readable (GObject *stream, gpointer data)
{
  g_autoptr (GError) error = NULL;
  WebSocket *socket = websocket_ref (data);
  const gssize n = g_pollable_input_stream_read_nonblocking (G_POLLABLE_INPUT_STREAM (stream),
      socket->in + socket->have, sizeof socket->in - socket->have, NULL, &error);

  if (n > 0) {
    socket->have += (gsize) n;
    socket->budget -= n;
    socket->silent = 0;
    while (take_frame (socket))
      ;
  } else if (n == 0 || !g_error_matches (error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK)) {
    websocket_close (socket);
  }
  if (socket->budget <= 0) /* until the next second */
    clear_source (&socket->reading);
  websocket_unref (socket);
  return G_SOURCE_CONTINUE;
}

void
websocket_tick (WebSocket *socket)
{
  if (socket->closed)
    return;
  socket->silent++;
  socket->budget = A_SECOND;
  if (!socket->reading)
    begin_reading (socket);
  if (socket->silent == PING_AFTER)
    websocket_send (socket, PING, g_bytes_new (NULL, 0), NULL);
  if (socket->silent >= GONE_AFTER || is_behind (socket))
    websocket_close (socket);
}

WebSocket *
websocket_new (GIOStream *stream, const WebSocketCalls *calls, gpointer data)
{
  WebSocket *socket = g_atomic_rc_box_new0 (WebSocket);

  g_mutex_init (&socket->lock);
  socket->stream = stream;
  socket->calls = *calls;
  socket->data = data;
  websocket_tick (socket);
  return socket;
}
