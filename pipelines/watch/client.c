/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * client.c: connections that commands come from. */
#define _GNU_SOURCE /* accept4, struct ucred */
#include "client.h"

#include "control.h"
#include "events.h"

#include <errno.h>
#include <glib-unix.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_LINE (64 << 10)   /* bytes */
#define MAX_ANSWERS (1 << 20) /* bytes that a client has not read */
#define MAX_CLIENTS 32
#define LINES_AT_ONCE 64 /* then cameras have their turn */

typedef struct {
  int in, out;                     /* out -1: standard output, by way of the events' thread */
  char *by;                        /* who it is, for events */
  guint watch_in, watch_out, turn; /* sources */
  GString *line, *answers;
  gboolean too_long; /* the rest of the line is skipped */
  gboolean waits;    /* for a later answer */
  gboolean at_end, closed;
  Watch *watch;
} Client;

static struct {
  int socket;
  char *path;
  guint source, clients;
} listener = { .socket = -1 };

static void
client_clear (gpointer data)
{
  Client *client = data;

  g_string_free (client->line, TRUE);
  g_string_free (client->answers, TRUE);
  g_free (client->by);
}

static void
client_unref (Client *client)
{
  g_rc_box_release_full (client, client_clear);
}

static void
client_close (Client *client)
{
  if (client->closed)
    return;
  client->closed = TRUE;
  g_clear_handle_id (&client->watch_in, g_source_remove);
  g_clear_handle_id (&client->watch_out, g_source_remove);
  g_clear_handle_id (&client->turn, g_source_remove);
  if (client->out >= 0) {
    close (client->in);
    listener.clients--;
  }
  client_unref (client);
}

/* ---- out ----------------------------------------------------------------- */

/* Sends what the socket takes now. Returns FALSE when the client has gone. */
static gboolean
send_answers (Client *client)
{
  while (client->answers->len > 0) {
    gssize n = send (client->out, client->answers->str, client->answers->len, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return errno == EAGAIN || errno == EWOULDBLOCK;
    g_string_erase (client->answers, 0, n);
  }
  return TRUE;
}

static gboolean
on_writable (int fd, GIOCondition condition, gpointer data)
{
  Client *client = data;

  (void) fd;
  if (condition & (G_IO_ERR | G_IO_HUP) || !send_answers (client)) {
    client->watch_out = 0;
    client_close (client);
    return G_SOURCE_REMOVE;
  }
  if (client->answers->len > 0)
    return G_SOURCE_CONTINUE;
  client->watch_out = 0;
  if (client->at_end && !client->waits)
    client_close (client);
  return G_SOURCE_REMOVE;
}

/* Takes the answer. May close the client. */
static void
send_answer (Client *client, JsonObject *answer)
{
  char *text;

  json_object_remove_member (answer, CONTROL_CODE);
  text = json_line (answer);
  if (client->out < 0) {
    events_answer (text);
    return;
  }
  g_string_append (client->answers, text);
  g_string_append_c (client->answers, '\n');
  g_free (text);
  if (!send_answers (client) || client->answers->len > MAX_ANSWERS)
    client_close (client);
  else if (client->answers->len > 0 && !client->watch_out)
    client->watch_out = g_unix_fd_add (client->out, G_IO_OUT, on_writable, client);
}

/* ---- in ------------------------------------------------------------------ */

static gboolean on_readable (int fd, GIOCondition condition, gpointer data);
static void take_lines (Client *client);

static gboolean
answer_read_on (gpointer data)
{
  Client *client = data;

  if (!client->closed)
    take_lines (client);
  client_unref (client);
  return G_SOURCE_REMOVE;
}

/* A ControlAnswer. Gives a reference back. */
static void
answer_later (gpointer from, JsonObject *answer)
{
  Client *client = from;

  client->waits = FALSE;
  if (client->closed)
    json_object_unref (answer);
  else
    send_answer (client, answer);
  g_idle_add_full (G_PRIORITY_DEFAULT, answer_read_on, client, NULL);
}

static void
take_line (Client *client, char *line, gsize n)
{
  JsonObject *answer;

  if (n > 0 && line[n - 1] == '\r')
    line[--n] = '\0';
  if (n != strlen (line) || !g_utf8_validate (line, (gssize) n, NULL))
    answer = error_of ("the line is not UTF-8 text");
  else {
    g_strstrip (line);
    if (!line[0] || line[0] == '#')
      return;
    client->waits = TRUE; /* so that an answer that comes at once finds it */
    answer = control_line (client->watch, client->by, line, answer_later, g_rc_box_acquire (client));
    if (!answer)
      return;
    client->waits = FALSE;
    client_unref (client); /* take_lines has another one */
  }
  send_answer (client, answer);
}

static gboolean take_turn (gpointer data);

/* Takes the lines that are there, one after the other, until one is answered later. */
static void
take_lines (Client *client)
{
  char *end;
  int n = 0;

  g_rc_box_acquire (client);
  while (!client->closed && !client->waits && (end = memchr (client->line->str, '\n', client->line->len))) {
    gsize length = (gsize) (end - client->line->str);
    g_autofree char *line = g_strndup (client->line->str, length);

    if (n++ == LINES_AT_ONCE) {
      client->turn = g_timeout_add (0, take_turn, client);
      break;
    }
    if (memchr (client->line->str, '\0', length)) /* g_strndup ends there */
      length++;
    g_string_erase (client->line, 0, (gssize) (end - client->line->str) + 1);
    if (client->too_long)
      client->too_long = FALSE;
    else
      take_line (client, line, length);
  }
  if (!client->closed && client->line->len > MAX_LINE && !memchr (client->line->str, '\n', client->line->len)) {
    if (!client->too_long)
      send_answer (client, error_of ("the line is longer than %d KiB", MAX_LINE >> 10));
    client->too_long = TRUE;
    g_string_truncate (client->line, 0);
  }
  if (!client->closed && !client->waits && !client->turn) {
    if (client->at_end && client->answers->len == 0)
      client_close (client);
    else if (!client->at_end && !client->watch_in)
      client->watch_in = g_unix_fd_add (client->in, G_IO_IN | G_IO_HUP | G_IO_ERR, on_readable, client);
  }
  client_unref (client);
}

static gboolean
take_turn (gpointer data)
{
  Client *client = data;

  client->turn = 0;
  take_lines (client);
  return G_SOURCE_REMOVE;
}

static gboolean
on_readable (int fd, GIOCondition condition, gpointer data)
{
  char bytes[16 << 10];
  Client *client = data;
  gssize n = read (fd, bytes, sizeof bytes);

  (void) condition;
  if (n < 0 && (errno == EINTR || errno == EAGAIN))
    return G_SOURCE_CONTINUE;
  client->watch_in = 0; /* take_lines adds it again, unless an answer is to come first */
  if (n > 0)
    g_string_append_len (client->line, bytes, n);
  else {
    client->at_end = TRUE;
    if (client->line->len > 0) /* a last line without an end */
      g_string_append_c (client->line, '\n');
  }
  take_lines (client);
  return G_SOURCE_REMOVE;
}

static char *
client_name (int out)
{
  struct ucred user = { .uid = (uid_t) -1 };
  socklen_t n = sizeof user;

  if (out < 0)
    return g_strdup ("stdin");
  if (getsockopt (out, SOL_SOCKET, SO_PEERCRED, &user, &n))
    return g_strdup ("socket");
  return g_strdup_printf ("socket uid %u", user.uid);
}

static void
client_new (Watch *watch, int in, int out)
{
  Client *client = g_rc_box_new0 (Client);

  client->in = in;
  client->out = out;
  client->by = client_name (out);
  client->line = g_string_new (NULL);
  client->answers = g_string_new (NULL);
  client->watch = watch;
  client->watch_in = g_unix_fd_add (in, G_IO_IN | G_IO_HUP | G_IO_ERR, on_readable, client);
}

/* ---- the socket ---------------------------------------------------------- */

static gboolean
on_connection (int fd, GIOCondition condition, gpointer data)
{
  int client = accept4 (fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

  (void) condition;
  if (client < 0)
    return G_SOURCE_CONTINUE;
  if (listener.clients >= MAX_CLIENTS) {
    close (client);
    return G_SOURCE_CONTINUE;
  }
  listener.clients++;
  client_new (data, client, client);
  return G_SOURCE_CONTINUE;
}

/* The mode of the socket is not enough: a user that may write to the folder could put another one there. */
static gboolean
check_folder (const char *path, GString *wrong)
{
  g_autofree char *folder = g_path_get_dirname (path);
  GStatBuf info;

  if (g_stat (folder, &info))
    g_string_append_printf (wrong, "control.socket: %s: %s", folder, g_strerror (errno));
  else if (info.st_uid != geteuid () && info.st_uid != 0)
    g_string_append_printf (wrong, "control.socket: the folder %s belongs to another user", folder);
  else if (info.st_mode & (S_IWGRP | S_IWOTH))
    g_string_append_printf (wrong,
        "control.socket: others may write to the folder %s (mode %04o): take one of your own", folder,
        (guint) info.st_mode & 07777);
  return wrong->len == 0;
}

/* Removes a socket that no process listens on any more. */
static gboolean
remove_stale (const char *path, const struct sockaddr_un *address, GString *wrong)
{
  int probe;
  GStatBuf info;

  if (g_lstat (path, &info))
    return TRUE;
  if (!S_ISSOCK (info.st_mode)) {
    g_string_append_printf (wrong, "control.socket: %s is there, and is not a socket", path);
    return FALSE;
  }
  probe = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe >= 0 && connect (probe, (const struct sockaddr *) address, sizeof *address) && errno == ECONNREFUSED)
    g_unlink (path);
  else
    g_string_append_printf (wrong, "control.socket: another process listens on %s", path);
  if (probe >= 0)
    close (probe);
  return wrong->len == 0;
}

/* A name without a folder lies in the folder of the systemd unit. Without a unit it lies in a folder of our own, in the
 * user's folder for such files: in a container that one is often everybody's. */
static char *
full_path (const char *path)
{
  const char *folder = g_getenv ("RUNTIME_DIRECTORY"); /* the first of several */
  g_autofree char *own = NULL;

  if (strchr (path, '/'))
    return g_strdup (path);
  own = folder ? g_strndup (folder, strcspn (folder, ":"))
               : g_build_filename (g_get_user_runtime_dir (), "cf-watch", NULL);
  if (!folder)
    g_mkdir_with_parents (own, 0700); /* where that fails, check_folder says why */
  return g_build_filename (own, path, NULL);
}

static gboolean
listen_at (Watch *watch, const char *path, GString *wrong)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  g_autofree char *full = full_path (path);
  mode_t mask;
  int ok;

  if (strlen (full) >= sizeof address.sun_path) {
    g_string_append_printf (wrong, "control.socket: %s is longer than a socket's name can be", full);
    return FALSE;
  }
  strcpy (address.sun_path, full);
  if (!check_folder (full, wrong) || !remove_stale (full, &address, wrong))
    return FALSE;
  listener.socket = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  mask = umask (0177);
  ok = listener.socket >= 0 && bind (listener.socket, (struct sockaddr *) &address, sizeof address) == 0 &&
      listen (listener.socket, 8) == 0;
  umask (mask);
  if (!ok) {
    g_string_append_printf (wrong, "control.socket: %s: %s", full, g_strerror (errno));
    return FALSE;
  }
  watch->socket = listener.path = g_steal_pointer (&full);
  listener.source = g_unix_fd_add (listener.socket, G_IO_IN, on_connection, watch);
  return TRUE;
}

gboolean
clients_start (Watch *watch, const Config *config, GString *wrong)
{
  if (config->control.socket && !listen_at (watch, config->control.socket, wrong))
    return FALSE;
  if (config->control.standard_input)
    client_new (watch, STDIN_FILENO, -1);
  return TRUE;
}

void
clients_stop (void)
{
  if (listener.socket < 0 || !listener.path)
    return;
  g_clear_handle_id (&listener.source, g_source_remove);
  close (listener.socket);
  listener.socket = -1;
  g_unlink (listener.path);
  g_clear_pointer (&listener.path, g_free);
}
