/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * http.c: a fuzz target: the bytes of a request to cf-watch's page: its checks, routes, arguments and JSON, over a
 * connection on loopback. Instead of the cameras there is what follows here. No request may reach a command without the
 * token, nor under another machine's name, and what is answered in JSON says whether it went well. */
#include "../../pipelines/watch/control.h"
#include "../../pipelines/watch/events.h"
#include "../../pipelines/watch/face.h"
#include "../../pipelines/watch/fmp4.h"
#include "../../pipelines/watch/hls.h"
#include "../../pipelines/watch/http.h"
#include "../../pipelines/watch/mjpeg.h"
#include "../../pipelines/watch/page.h"
#include "../../pipelines/watch/secrets.h"
#include "../../pipelines/watch/snapshot.h"
#include "../../pipelines/watch/threads.h"
#include "../../pipelines/watch/ws.h"
#include "fuzz.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glib-unix.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOKEN "0123456789abcdef"
#define MAX_DESCRIPTOR 200 /* that a connection may have: all before it are closed */

static Watch watch;
static CameraSettings settings = { .name = "door" };
static Camera door = { .settings = &settings, .state = CAMERA_UP };
static guint commands, requests;

/* ---- what stands for the cameras ----------------------------------------- */

Camera *
watch_find (Watch *of, const char *name)
{
  (void) of;
  return !strcmp (name, "door") ? &door : NULL;
}

const char *
camera_state_name (CameraState state)
{
  return state == CAMERA_UP ? "up" : "lost";
}

GstElement *
camera_pictures (Camera *camera)
{
  (void) camera;
  return NULL;
}

GstElement *
camera_find_element (Camera *camera, const char *target, GString *wrong)
{
  (void) camera;
  g_string_append_printf (wrong, "%s has no element", target);
  return NULL;
}

gboolean
face_show (GstElement *element, guint width, SnapshotPicture done, gpointer from)
{
  (void) element;
  (void) done;
  (void) from;
  fuzz_fail ("a face of %u pixels of no element", width);
}

gboolean
camera_encodes (const Camera *camera)
{
  return camera != &door;
}

GstCaps *
hub_get_caps (Hub *hub, GstCaps **sound)
{
  (void) hub;
  *sound = NULL;
  return NULL;
}

char *
fmp4_codec (const GstCaps *caps)
{
  (void) caps;
  return NULL;
}

GPtrArray *
hls_file (Hub *hub, const char *file)
{
  (void) hub;
  fuzz_fail ("%s of no hub", file);
}

void
mjpeg_answer (Watch *of, const char *camera, SoupServerMessage *message)
{
  (void) of;
  http_refuse (message, SOUP_STATUS_CONFLICT, "%s has no pictures", camera);
}

typedef struct {
  SnapshotPicture done;
  ControlAnswer answer;
  gpointer from;
} Later;

static gboolean
on_later (gpointer data)
{
  g_autofree Later *later = data;

  if (later->answer) {
    later->answer (later->from, error_of ("it comes later"));
  } else {
    g_autoptr (GBytes) picture = g_bytes_new_static ("\xff\xd8", 2);

    later->done (later->from, picture, NULL);
  }
  return G_SOURCE_REMOVE;
}

void
snapshot_show (GstElement *filter, SnapshotKind kind, SnapshotPicture done, gpointer from)
{
  (void) filter;
  if (kind > SNAPSHOT_SCALED)
    fuzz_fail ("a picture of the kind %u", kind);
  in_main (on_later, g_memdup2 (&(Later) { done, NULL, from }, sizeof (Later)));
}

JsonObject *
control_call (Watch *of, Role role, const char *by, char **words, ControlAnswer answer, gpointer from)
{
  static const char *const known[] = { "status", "elements", "get", "set", "filter", "enable", "record", "trigger",
    "restart", "overrides", "forget", "add", "remove", "reload", "search", NULL };

  (void) of;
  commands++;
  if (!g_strv_contains (known, words[0]) || g_strv_length (words) > 4 || role != ROLE_ADMIN || strcmp (by, "page"))
    fuzz_fail ("%s, with %u words, by %s", words[0], g_strv_length (words), by);
  for (char **word = words; *word; word++)
    if (!g_utf8_validate (*word, -1, NULL))
      fuzz_fail ("a word that is no text");
  if (!strcmp (words[0], "set")) {
    in_main (on_later, g_memdup2 (&(Later) { NULL, answer, from }, sizeof (Later)));
    return NULL;
  }
  return words[1] && *words[1] == 'd' ? object_of ("ok", bool_node (TRUE), NULL) : error_of ("there is no such camera");
}

gboolean
ws_open (Watch *of, SoupServerMessage *message, guint *status, GString *wrong)
{
  (void) of;
  (void) message;
  *status = SOUP_STATUS_BAD_REQUEST;
  g_string_append (wrong, "another target has it");
  return FALSE;
}

void
ws_stop (void)
{
}

void
event_post_object (const char *camera, const char *type, JsonObject *members)
{
  (void) camera;
  (void) type;
  json_object_unref (members);
}

/* ---- the server ---------------------------------------------------------- */

/* Returns the name of a file with a user. */
static char *
write_users (void)
{
  static const char users[] = "{ \"anna\": { \"password\": \"a-secret\" } }";
  char *path;
  const int file = g_file_open_tmp ("fuzz-XXXXXX", &path, NULL);

  if (file < 0 || write (file, users, strlen (users)) != (gssize) strlen (users) || close (file))
    fuzz_fail ("no file can be written");
  return path;
}

/* libsoup warns of a Content-Length below 0, which it takes for none. */
static GLogWriterOutput
on_message (GLogLevelFlags level, const GLogField *fields, gsize n, gpointer data)
{
  g_autofree char *text = g_log_writer_format_fields (level, fields, n, FALSE);

  (void) data;
  if (level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING) && !strstr (text, "for property 'content-length'"))
    fuzz_fail ("%s", text);
  return G_LOG_WRITER_HANDLED;
}

int
LLVMFuzzerInitialize (int *argc, char ***argv)
{
  Config config = { 0 };
  g_autoptr (GString) wrong = g_string_new (NULL);

  (void) argc;
  (void) argv;
  g_log_set_writer_func (on_message, NULL, NULL);
  watch.cameras = g_ptr_array_new ();
  g_ptr_array_add (watch.cameras, &door);
  config.page.address = (char *) "127.0.0.1";
  config.page.token = (char *) TOKEN;
  secrets_add (TOKEN); /* as token_load () does */
  config.page.users = write_users ();
  if (!page_start (&watch, &config, wrong))
    fuzz_fail ("%s", wrong->str);
  g_unlink (config.page.users);
  g_free (config.page.users);
  return 0;
}

/* ---- a request ----------------------------------------------------------- */

typedef struct {
  int socket;
  GString *answer;
  gboolean ended;
} Client;

static gboolean
on_answer (int socket, GIOCondition condition, gpointer data)
{
  Client *client = data;
  char bytes[65536];
  const gssize n = recv (socket, bytes, sizeof bytes, MSG_DONTWAIT);

  (void) condition;
  if (n > 0)
    g_string_append_len (client->answer, bytes, n);
  client->ended = n == 0 || (n < 0 && errno != EAGAIN);
  return !client->ended;
}

/* Each request comes from another address of loopback: one has not enough ports for very many. */
static int
connect_to_page (void)
{
  const int client = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (0x7f000001 + ++requests % 1000) };
  struct sockaddr_in to = { .sin_family = AF_INET,
    .sin_port = htons ((guint16) watch.page_port),
    .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };

  if (client < 0 || client > MAX_DESCRIPTOR || bind (client, (struct sockaddr *) &from, sizeof from) ||
      connect (client, (struct sockaddr *) &to, sizeof to))
    fuzz_fail ("request %u, on descriptor %d, does not reach the server: %s", requests, client, g_strerror (errno));
  return client;
}

/* Fails unless what has come is nothing or an answer of HTTP; one in JSON has its form. */
static void
check_answer (const char *answer)
{
  const char *body = strstr (answer, "\r\n\r\n");
  const guint status = strlen (answer) > 12 ? (guint) atoi (answer + 9) : 0;

  if (!*answer)
    return;
  if (!g_str_has_prefix (answer, "HTTP/1.") || !body || status < 100 || status > 505)
    fuzz_fail ("the answer is %.40s", answer);
  if (status == 100) { /* it may go on, and the answer follows */
    check_answer (body + 4);
    return;
  }
  if (strstr (answer, TOKEN) && status != SOUP_STATUS_SEE_OTHER)
    fuzz_fail ("the token is shown");
  if (strstr (answer, "Content-Type: application/json") && body[4]) { /* HEAD has no body */
    g_autoptr (JsonNode) node = json_from_string (body + 4, NULL);

    if (!node || json_object_get_boolean_member (json_node_get_object (node), "ok") != (status == SOUP_STATUS_OK))
      fuzz_fail ("%u has the answer %s", status, body + 4);
  }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (GString) text = g_string_new_len ((const char *) data, (gssize) size);
  Client client = { connect_to_page (), g_string_new (NULL), FALSE };

  commands = 0;
  if (send (client.socket, data, size, MSG_NOSIGNAL) < 0 && size > 0)
    fuzz_fail ("it does not read");
  shutdown (client.socket, SHUT_WR);
  g_unix_fd_add (client.socket, G_IO_IN, on_answer, &client);
  while (!client.ended)
    g_main_context_iteration (NULL, TRUE);
  close (client.socket);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  check_answer (client.answer->str);
  for (char *c = text->str; c < text->str + size; c++) /* a name may be written in any way */
    *c = *c ? g_ascii_tolower (*c) : ' ';
  if (commands > 1 ||
      (commands &&
          (!strstr (text->str, TOKEN) || !(strstr (text->str, "localhost") || strstr (text->str, "127.0.0.1")))))
    fuzz_fail ("a command is called");
  g_string_free (client.answer, TRUE);
  return 0;
}
