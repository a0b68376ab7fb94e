/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * page.c: the files of the page, and what it may ask: a table of routes to the commands of control.c, and pictures. */
#include "page.h"

#include "control.h"
#include "http.h"
#include "snapshot.h"
#include "token.h"
#include "ws.h"

#include <string.h>

char *
page_link (const Config *config, GString *wrong)
{
  g_autofree char *token = NULL;

  if (!config->page.on)
    g_string_append (wrong, "the file has no \"page\": { \"port\": 8080 }");
  else if (config->page.port == 0)
    g_string_append (wrong, "\"page\" has port 0, so the address is known only to the event \"ready\", as page_port");
  else
    token = token_load (FALSE, wrong);
  return token ? g_strdup_printf ("http://%s:%u/?token=%s", config->page.address, config->page.port, token) : NULL;
}

#ifdef HAVE_SOUP
#define API "/api/v1/"
#define BY "page"

static Http *server;

/* ---- answers that come later --------------------------------------------- */

typedef struct {
  SoupServerMessage *message;
  gboolean paused, gone; /* gone: its client is */
} Request;

static void
on_gone (SoupServerMessage *message, gpointer data)
{
  Request *request = data;

  (void) message;
  request->gone = TRUE;
}

static Request *
request_new (SoupServerMessage *message)
{
  Request *request = g_new0 (Request, 1);

  request->message = g_object_ref (message);
  g_signal_connect (message, "finished", G_CALLBACK (on_gone), request);
  g_signal_connect (message, "disconnected", G_CALLBACK (on_gone), request);
  return request;
}

/* Waits for the answer, which request_end () ends. */
static void
request_pause (Request *request)
{
  request->paused = TRUE;
  soup_server_message_pause (request->message);
}

/* Lets the answer go, and frees the request. */
static void
request_end (Request *request)
{
  g_signal_handlers_disconnect_by_data (request->message, request);
  if (request->paused && !request->gone)
    soup_server_message_unpause (request->message);
  g_object_unref (request->message);
  g_free (request);
}

/* A ControlAnswer. */
static void
on_answer (gpointer from, JsonObject *answer)
{
  const gboolean ok = json_object_get_boolean_member (answer, "ok");
  const gint64 code = json_object_get_int_member_with_default (answer, CONTROL_CODE, 422);
  Request *request = from;

  json_object_remove_member (answer, CONTROL_CODE);
  http_answer_json (request->message, ok ? SOUP_STATUS_OK : (guint) code, answer);
  request_end (request);
}

/* A SnapshotPicture. */
static void
on_picture (gpointer from, GBytes *picture, const char *wrong)
{
  Request *request = from;

  if (picture)
    http_answer (request->message, SOUP_STATUS_OK, "image/jpeg", picture);
  else
    http_refuse (request->message, SOUP_STATUS_CONFLICT, "%s", wrong);
  request_end (request);
}

/* ---- routes -------------------------------------------------------------- */

typedef struct {
  Watch *watch;
  SoupServerMessage *message;
  GHashTable *query; /* NULL: none */
  char **part;       /* those of the path that the route has * for */
} Call;

typedef struct {
  const char *method, *path;         /* behind API; *: any part */
  const char *command;               /* of control.c, whose first argument is the camera */
  gboolean value;                    /* the body has the last argument: {"value":...} */
  void (*answer) (const Call *call); /* in place of a command */
} Route;

static void
answer_cameras (const Call *call)
{
  JsonArray *names = json_array_new ();

  for (guint i = 0; i < call->watch->cameras->len; i++)
    json_array_add_string_element (names, ((const Camera *) call->watch->cameras->pdata[i])->settings->name);
  http_answer_json (call->message, SOUP_STATUS_OK,
      object_of ("ok", bool_node (TRUE), "cameras", array_node (names), NULL));
}

/* Only what has left the filter is shown: a camera without a running filter has no picture. */
static void
answer_picture (const Call *call)
{
  const char *width = call->query ? g_hash_table_lookup (call->query, "width") : NULL;
  const Camera *camera = watch_find (call->watch, call->part[0]);
  Request *request;

  if (!camera) {
    http_refuse (call->message, SOUP_STATUS_NOT_FOUND, "there is no such camera");
  } else if (call->watch->ending) {
    http_refuse (call->message, SOUP_STATUS_SERVICE_UNAVAILABLE, "the program is ending");
  } else if (width && strcmp (width, G_STRINGIFY (SNAPSHOT_SMALL))) {
    http_refuse (call->message, SOUP_STATUS_UNPROCESSABLE_ENTITY, "width can be %d, or is left out", SNAPSHOT_SMALL);
  } else if (camera->state != CAMERA_UP) {
    http_refuse (call->message, SOUP_STATUS_CONFLICT, "the camera is not up (%s)", camera_state_name (camera->state));
  } else {
    request = request_new (call->message);
    request_pause (request);
    snapshot_show (pipeline_filter (camera->pipeline), width != NULL, on_picture, request);
  }
}

/* Live pictures, events and states: ws.h. */
static void
answer_ws (const Call *call)
{
  g_autoptr (GString) wrong = g_string_new (NULL);
  guint status = SOUP_STATUS_SERVICE_UNAVAILABLE;

  if (call->watch->ending)
    g_string_append (wrong, "the program is ending");
  if (wrong->len || !ws_open (call->watch, call->message, &status, wrong))
    http_refuse (call->message, status, "%s", wrong->str);
}

static const Route routes[] = {
  { "GET", "status", "status" },
  { "GET", "cameras", .answer = answer_cameras },
  { "GET", "cameras/*", "status" },
  { "GET", "cameras/*/elements", "elements" },
  { "GET", "cameras/*/elements/*/*", "get" },
  { "PUT", "cameras/*/elements/*/*", "set", TRUE },
  { "POST", "cameras/*/enable", "enable", TRUE },
  { "POST", "cameras/*/record", "record", TRUE },
  { "POST", "cameras/*/trigger", "trigger" },
  { "POST", "cameras/*/restart", "restart" },
  { "GET", "cameras/*/snapshot.jpg", .answer = answer_picture },
  { "GET", "ws", .answer = answer_ws },
};

/* Returns the parts of the path that the route has * for (free them), or NULL: it is another path. */
static char **
match (const char *route, char **path)
{
  g_auto (GStrv) parts = g_strsplit (route, "/", -1);
  GPtrArray *any = g_ptr_array_new_with_free_func (g_free);
  gboolean same = g_strv_length (parts) == g_strv_length (path);

  for (guint i = 0; same && parts[i]; i++) {
    if (strcmp (parts[i], "*"))
      same = !strcmp (parts[i], path[i]);
    else if ((same = *path[i] != '\0'))
      g_ptr_array_add (any, g_strdup (path[i]));
  }
  if (!same) {
    g_ptr_array_unref (any);
    return NULL;
  }
  g_ptr_array_add (any, NULL);
  return (char **) g_ptr_array_free (any, FALSE);
}

/* Returns {"value":...} of the body as text, as a launch line has it; NULL with what is wrong. Free it. */
static char *
read_value (SoupServerMessage *message, GString *wrong)
{
  g_autoptr (GBytes) bytes = soup_message_body_flatten (soup_server_message_get_request_body (message));
  gsize n;
  const char *text = g_bytes_get_data (bytes, &n);
  JsonObject *object;
  JsonNode *node = NULL;
  char *value = NULL;
  Reader reader;

  reader_init (&reader, NULL, "", wrong);
  object = reader_parse (&reader, text ? text : "", (gssize) n);
  if (object)
    node = json_object_get_member (object, "value");
  if (object && (!node || !JSON_NODE_HOLDS_VALUE (node) || json_object_get_size (object) != 1))
    g_string_append (wrong, "the body has to be {\"value\":...} with a text, a number, true or false");
  else if (node && json_node_get_value_type (node) == G_TYPE_STRING)
    value = g_strdup (json_node_get_string (node));
  else if (node)
    value = json_to_string (node, FALSE);
  reader_clear (&reader);
  return value;
}

static void
call_command (const Route *route, const Call *call)
{
  g_autoptr (GString) wrong = g_string_new (NULL);
  g_autofree char *value = route->value ? read_value (call->message, wrong) : NULL, *target = NULL;
  char *words[5] = { (char *) route->command };
  Request *request;
  JsonObject *answer;
  guint n = 1;

  if (wrong->len) {
    http_refuse (call->message, SOUP_STATUS_BAD_REQUEST, "%s", wrong->str);
    return;
  }
  if (call->part[0])
    words[n++] = call->part[0];
  if (call->part[0] && call->part[1])
    words[n++] = target = g_strconcat (call->part[1], ".", call->part[2], NULL);
  if (value)
    words[n++] = value;
  request = request_new (call->message);
  answer = control_call (call->watch, !strcmp (route->method, "GET") ? NULL : BY, words, on_answer, request);
  if (answer)
    on_answer (request, answer);
  else
    request_pause (request);
}

static void
on_api (SoupServerMessage *message, const char *path, GHashTable *query, Watch *watch)
{
  const char *method = soup_server_message_get_method (message);
  g_auto (GStrv) parts = g_strsplit (path, "/", -1);
  gboolean found = FALSE;

  if (method == SOUP_METHOD_HEAD)
    method = SOUP_METHOD_GET;
  for (guint i = 0; i < G_N_ELEMENTS (routes); i++) {
    g_auto (GStrv) any = match (routes[i].path, parts);
    const Call call = { watch, message, query, any };

    found |= any != NULL;
    if (!any || strcmp (method, routes[i].method))
      continue;
    if (routes[i].answer)
      routes[i].answer (&call);
    else
      call_command (&routes[i], &call);
    return;
  }
  if (found)
    http_refuse (message, SOUP_STATUS_METHOD_NOT_ALLOWED, "%s is not for this address", method);
  else
    http_refuse (message, SOUP_STATUS_NOT_FOUND, "there is no such address");
}

/* ---- files --------------------------------------------------------------- */

/* They are in the program. */
static const struct {
  const char *path, *name, *type;
} files[] = {
  { "/", "index.html", "text/html; charset=utf-8" },
  { "/page.js", "page.js", "text/javascript; charset=utf-8" },
  { "/draw.js", "draw.js", "text/javascript; charset=utf-8" },
  { "/live.js", "live.js", "text/javascript; charset=utf-8" },
  { "/page.css", "page.css", "text/css; charset=utf-8" },
  { "/favicon.ico", "favicon.svg", "image/svg+xml" },
};

static void
on_request (SoupServer *soup, SoupServerMessage *message, const char *path, GHashTable *query, gpointer watch)
{
  const char *method = soup_server_message_get_method (message);

  (void) soup;
  if (g_str_has_prefix (path, API)) {
    on_api (message, path + strlen (API), query, watch);
    return;
  }
  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    g_autofree char *name = g_strconcat ("/cf-watch/page/", files[i].name, NULL);
    g_autoptr (GBytes) bytes = NULL;

    if (strcmp (path, files[i].path))
      continue;
    bytes = g_resources_lookup_data (name, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
    if (method == SOUP_METHOD_GET || method == SOUP_METHOD_HEAD)
      http_answer (message, SOUP_STATUS_OK, files[i].type, bytes);
    else
      http_refuse (message, SOUP_STATUS_METHOD_NOT_ALLOWED, "%s is not for this address", method);
    return;
  }
  http_refuse (message, SOUP_STATUS_NOT_FOUND, "there is no such address");
}

gboolean
page_start (Watch *watch, const Config *config, GString *wrong)
{
  g_autofree char *token = token_load (TRUE, wrong);

  if (token)
    server = http_start ("page", config->page.address, config->page.port, token, on_request, watch, wrong);
  if (server)
    watch->page_port = http_port (server);
  return server != NULL;
}

void
page_stop (void)
{
  ws_stop ();
  http_stop (server);
}
#endif
