/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * websocket.c: a fuzz target: the bytes that a client sends on a WebSocket of cf-watch. They arrive at once, and then
 * in pieces: both have to give the same messages and the same answer, of frames that a client can read. */
#include "../../pipelines/watch/websocket.h"
#include "fuzz.h"

#include <gio/gio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_MESSAGE 4096

typedef struct {
  uint32_t hash; /* of the messages and where each ends, then of the answer */
  guint closed;
} Result;

int
LLVMFuzzerInitialize (int *argc, char ***argv)
{
  (void) argc;
  (void) argv;
  g_log_set_always_fatal (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
  return 0;
}

static void
on_text (const char *text, gsize n, gpointer data)
{
  Result *result = data;

  if (n > MAX_MESSAGE || text[n] || result->closed)
    fuzz_fail ("a message of %zu bytes", n);
  result->hash = fuzz_hash (fuzz_hash (result->hash, text, n), &n, sizeof n);
}

static void
on_closed (gpointer data)
{
  ((Result *) data)->closed++;
}

static void
iterate (void)
{
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

/* Fails unless the bytes are whole frames without masks: pongs, and a last one that says why the connection ends. */
static void
check_answer (const guint8 *data, gsize n)
{
  for (gsize at = 0, size; at < n; at += 2 + size) {
    size = n - at < 2 ? 0 : data[at + 1];
    if (n - at < 2 + size || size > 125 || (data[at] != 0x8a && data[at] != 0x88))
      fuzz_fail ("byte %zu of the answer is no frame", at);
    if (data[at] == 0x88 && (size != 2 || at + 4 != n))
      fuzz_fail ("something follows the end");
  }
}

/* Lets the bytes arrive, so many at a time. */
static Result
serve (const guint8 *data, gsize size, gsize step)
{
  static const WebSocketCalls calls = { .text = on_text, .closed = on_closed };
  g_autoptr (GByteArray) answer = g_byte_array_new ();
  Result result = { 0, 0 };
  guint8 bytes[65536];
  WebSocket *web_socket;
  GSocket *server;
  int ends[2];

  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) ||
      !(server = g_socket_new_from_fd (ends[0], NULL)))
    fuzz_fail ("no sockets");
  web_socket = websocket_new (G_IO_STREAM (g_socket_connection_factory_create_connection (server)), &calls, &result);
  g_object_unref (server);
  for (gsize at = 0; at < size && !result.closed; at += step) {
    if (send (ends[1], data + at, MIN (step, size - at), MSG_NOSIGNAL) < 0)
      fuzz_fail ("it does not read");
    iterate ();
  }
  for (gssize n; (n = recv (ends[1], bytes, sizeof bytes, 0)) > 0;)
    g_byte_array_append (answer, bytes, (guint) n);
  check_answer (answer->data, answer->len);
  result.hash = fuzz_hash (result.hash, answer->data, answer->len);
  close (ends[1]);
  iterate ();
  if (result.closed != 1)
    fuzz_fail ("it has ended %u times", result.closed);
  websocket_unref (web_socket);
  iterate ();
  return result;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const gsize step = size > 0 ? 1 + data[size - 1] % 64 : 1; /* also of the bytes themselves: any will do */

  if (serve (data, size, size).hash != serve (data, size, step).hash)
    fuzz_fail ("%zu bytes at a time give another result", step);
  return 0;
}
