/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * websocket.h: a WebSocket's connection (RFC 6455), at the server. libsoup 3.2 makes the handshake, but its own
 * connection queues whatever is sent, answers every ping, and joins the parts of a message, all without a bound. */
#ifndef PIPELINES_WATCH_WEBSOCKET_H
#define PIPELINES_WATCH_WEBSOCKET_H

#include <gio/gio.h>

typedef struct WebSocket WebSocket;

/* Both are called in the main thread. */
typedef struct {
  /* A message has come, of up to 4 KiB; a zero follows. */
  void (*text) (const char *text, gsize n, gpointer data);
  /* The connection has ended; nothing follows. */
  void (*closed) (gpointer data);
} WebSocketCalls;

enum { WEBSOCKET_TEXT = 1, WEBSOCKET_BINARY = 2 }; /* kinds of messages */

/* Begins to serve the connection, which it takes. Main thread. */
WebSocket *websocket_new (GIOStream *stream, const WebSocketCalls *calls, gpointer data);
#define websocket_ref(socket) ((WebSocket *) g_atomic_rc_box_acquire (socket))
void websocket_unref (WebSocket *socket);
/* Sends a message of one or two parts, which it takes; `body` may be NULL. It waits for nothing. Any thread. */
void websocket_send (WebSocket *socket, guint8 kind, GBytes *head, GBytes *body);
/* Returns how many bytes the client's machine has not taken yet. Any thread. */
gsize websocket_waiting (WebSocket *socket);
/* Looks whether the client is still there, and lets it send again; call it once a second. Main thread. */
void websocket_tick (WebSocket *socket);
/* Ends the connection; `closed` is called before it returns, unless it has been. Main thread. */
void websocket_close (WebSocket *socket);

#endif
