/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * page.c: the files of the page, and what it may ask: a table of routes to the commands of control.c, and pictures. */
#include "page.h"

#include "certificate.h"
#include "control.h"
#include "face.h"
#include "fmp4.h"
#include "hls.h"
#include "http.h"
#include "mjpeg.h"
#include "snapshot.h"
#include "token.h"
#include "users.h"
#include "ws.h"

#include <string.h>

/* Returns the host of an address of this machine that the token is good for; NULL: it is good for none. Free it. */
static char *
host_of_link (const char *text)
{
  g_autoptr (GInetAddress) address = g_inet_address_new_from_string (text);

  if (g_inet_address_get_is_any (address))
    return g_strdup (strchr (text, ':') ? "[::1]" : "127.0.0.1");
  if (!g_inet_address_get_is_loopback (address))
    return NULL;
  return g_strdup_printf (strchr (text, ':') ? "[%s]" : "%s", text);
}

char *
page_link (const Config *config, GString *wrong)
{
  const char *scheme = config->page.certificate ? "https" : "http";
  g_autofree char *token = NULL, *host = NULL;

  if (!config->page.on)
    g_string_append (wrong, "the file has no \"page\": { \"port\": 8080 }");
  else if (config->page.port == 0)
    g_string_append (wrong, "\"page\" has port 0, so the address is known only to the event \"ready\", as page_port");
  else if (!(host = host_of_link (config->page.address)))
    g_string_append_printf (wrong,
        "no address of loopback leads to the page: log in at %s://%s:%u/ as one of its users", scheme,
        config->page.address, config->page.port);
  else
    token = token_load (FALSE, wrong);
  return token ? g_strdup_printf ("%s://%s:%u/?token=%s", scheme, host, config->page.port, token) : NULL;
}

#ifdef HAVE_SOUP
#define API "/api/v1/"
#define FILES "/cf-watch/page/"
#define TRY_AGAIN 200  /* ms: whether there is a first segment */
#define MOST_TRIES 100 /* the camera decides when a key frame comes */

static Http *server;
static char *users_path;        /* NULL: only the token opens the page */
static char *certificate, *key; /* files; NULL: no TLS */

/* ---- answers that come later --------------------------------------------- */

typedef struct {
  SoupServerMessage *message;
  char *by;              /* who asks, for events */
  gboolean paused, gone; /* gone: its client is */
} Request;

/* Returns who asks, for events: "page anna 10.0.0.5"; "page": the holder of the token. Free it. */
static char *
by_of (SoupServerMessage *message)
{
  const char *user = http_login (message) ? login_user (http_login (message)) : NULL;

  return user ? g_strdup_printf ("page %s %s", user, http_address (message)) : g_strdup ("page");
}

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
  request->by = by_of (message);
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
  g_free (request->by);
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
  char **part;       /* of the path: where the route has * */
} Call;

/* The body of a request. */
typedef enum {
  BODY_ANY,    /* is not looked at */
  BODY_VALUE,  /* has the last argument: {"value":...} */
  BODY_OBJECT, /* is it */
  QUERY_WHAT,  /* is not there: the last argument is `what` of the query */
} Body;

typedef struct {
  const char *method, *path; /* behind API; *: any part */
  const char *command;       /* of control.c, whose first argument is the camera */
  Body body;
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

/* Only what has left the filter is shown: a camera without a running filter has no picture. Returns NULL where it has
 * refused that. */
static Camera *
find_camera_up (Watch *watch, const char *name, SoupServerMessage *message)
{
  Camera *camera = watch_find (watch, name);

  if (!camera)
    http_refuse (message, SOUP_STATUS_NOT_FOUND, "there is no such camera");
  else if (watch->ending)
    http_refuse (message, SOUP_STATUS_SERVICE_UNAVAILABLE, "the program is ending");
  else if (camera->state != CAMERA_UP)
    http_refuse (message, SOUP_STATUS_CONFLICT, "the camera is not up (%s)", camera_state_name (camera->state));
  else
    return camera;
  return NULL;
}

static void
answer_picture (const Call *call)
{
  const char *width = call->query ? g_hash_table_lookup (call->query, "width") : NULL;
  Camera *camera = find_camera_up (call->watch, call->part[0], call->message);
  Request *request;

  if (camera && width && strcmp (width, G_STRINGIFY (SNAPSHOT_SMALL))) {
    http_refuse (call->message, SOUP_STATUS_UNPROCESSABLE_ENTITY, "width can be %d, or is left out", SNAPSHOT_SMALL);
  } else if (camera) {
    request = request_new (call->message);
    request_pause (request);
    snapshot_show (camera_pictures (camera), width ? SNAPSHOT_SCALED : SNAPSHOT_LARGE, on_picture, request);
  }
}

/* How much of a face an element's setting leaves. */
static void
answer_face (const Call *call)
{
  const char *text = call->query ? g_hash_table_lookup (call->query, "width") : NULL;
  Camera *camera = watch_find (call->watch, call->part[0]);
  g_autofree char *target = g_strconcat (call->part[1], ".preset", NULL);
  g_autoptr (GString) wrong = g_string_new (NULL);
  g_autoptr (GstElement) element = camera ? camera_find_element (camera, target, wrong) : NULL;
  Request *request;
  guint64 width;

  if (!camera) {
    http_refuse (call->message, SOUP_STATUS_NOT_FOUND, "there is no such camera");
  } else if (!element) {
    http_refuse (call->message, SOUP_STATUS_NOT_FOUND, "%s", wrong->str);
  } else if (!text || !g_ascii_string_to_unsigned (text, 10, FACE_LEAST, FACE_MOST, &width, NULL)) {
    http_refuse (call->message, SOUP_STATUS_UNPROCESSABLE_ENTITY, "width has to be a number from %d to %d", FACE_LEAST,
        FACE_MOST);
  } else {
    request = request_new (call->message);
    request_pause (request);
    if (!face_show (element, (guint) width, on_picture, request))
      on_picture (request, NULL, "the element has no presets for areas");
  }
}

static void
answer_mjpeg (const Call *call)
{
  if (find_camera_up (call->watch, call->part[0], call->message))
    mjpeg_answer (call->watch, call->part[0], call->message);
}

/* Answers with a file of HLS. Returns FALSE where it is the list, and there is nothing in it yet. */
static gboolean
answer_file (Watch *watch, const char *name, const char *file, SoupServerMessage *message)
{
  Camera *camera = find_camera_up (watch, name, message);
  g_autoptr (GstCaps) caps = NULL, sound = NULL;
  g_autoptr (GPtrArray) parts = NULL;
  g_autofree char *codec = NULL;

  if (!camera)
    return TRUE;
  caps = hub_get_caps (camera->hub, &sound);
  codec = caps ? fmp4_codec (caps) : NULL;
  if (!camera_encodes (camera)) {
    http_refuse (message, SOUP_STATUS_CONFLICT, "the camera is not encoded: it has neither \"live\" nor \"record\"");
  } else if (caps && !codec) {
    http_refuse (message, SOUP_STATUS_CONFLICT, "the camera's video is no H.264");
  } else if ((parts = hls_file (camera->hub, file))) {
    for (guint i = 0; i + 1 < parts->len; i++)
      soup_message_body_append_bytes (soup_server_message_get_response_body (message), parts->pdata[i]);
    http_answer (message, SOUP_STATUS_OK, strcmp (file, HLS_LIST) ? "video/mp4" : "application/vnd.apple.mpegurl",
        parts->pdata[parts->len - 1]);
  } else if (strcmp (file, HLS_LIST)) {
    http_refuse (message, SOUP_STATUS_NOT_FOUND, "the stream has no such file, or not any more");
  } else {
    return FALSE;
  }
  return TRUE;
}

typedef struct {
  Request *request;
  Watch *watch;
  char *camera;
  guint tries;
} Waiting;

static gboolean
on_wait (gpointer data)
{
  Waiting *waiting = data;
  SoupServerMessage *message = waiting->request->message;

  if (!waiting->request->gone && !answer_file (waiting->watch, waiting->camera, HLS_LIST, message)) {
    if (++waiting->tries < MOST_TRIES)
      return G_SOURCE_CONTINUE;
    http_refuse (message, SOUP_STATUS_CONFLICT, "the camera has sent no key frame for too long");
  }
  request_end (waiting->request);
  g_free (waiting->camera);
  g_free (waiting);
  return G_SOURCE_REMOVE;
}

static void
answer_hls (const Call *call)
{
  Waiting *waiting;

  if (answer_file (call->watch, call->part[0], call->part[1], call->message))
    return;
  waiting = g_new0 (Waiting, 1);
  waiting->request = request_new (call->message);
  waiting->watch = call->watch;
  waiting->camera = g_strdup (call->part[0]);
  request_pause (waiting->request);
  g_timeout_add (TRY_AGAIN, on_wait, waiting);
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

/* Returns the body's object, which lives as long as the reader; NULL with what is wrong, in which none of it is
 * repeated. */
static JsonObject *
parse_body (Reader *reader, SoupServerMessage *message, GString *wrong)
{
  g_autoptr (GBytes) bytes = soup_message_body_flatten (soup_server_message_get_request_body (message));
  gsize n;
  const char *text = g_bytes_get_data (bytes, &n);

  reader_init (reader, NULL, "", wrong);
  reader->secret = TRUE;
  return reader_parse (reader, text ? text : "", (gssize) n);
}

/* Returns the argument that the body has: {"value":...} as text, as a launch line has it, or the whole object; NULL
 * with what is wrong. Free it. */
static char *
read_argument (Body body, SoupServerMessage *message, GString *wrong)
{
  Reader reader;
  JsonObject *object = parse_body (&reader, message, wrong);
  JsonNode *node = NULL;
  char *value = NULL;

  if (object && body == BODY_OBJECT) { /* as it was written: the command finds members that are there twice */
    g_autoptr (GBytes) bytes = soup_message_body_flatten (soup_server_message_get_request_body (message));

    value = g_strndup (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
  } else if (object) {
    node = json_object_get_member (object, "value");
  }
  if (object && !value && (!node || !JSON_NODE_HOLDS_VALUE (node) || json_object_get_size (object) != 1))
    g_string_append (wrong, "the body has to be {\"value\":...} with a text, a number, true or false");
  else if (node && json_node_get_value_type (node) == G_TYPE_STRING)
    value = g_strdup (json_node_get_string (node));
  else if (node)
    value = json_to_string (node, FALSE);
  reader_clear (&reader);
  return value;
}

/* ---- users --------------------------------------------------------------- */

static void
answer_user (SoupServerMessage *message, const Login *login)
{
  JsonNode *user = login_user (login) ? word_node (login_user (login)) : json_node_new (JSON_NODE_NULL);

  http_answer_json (message, SOUP_STATUS_OK,
      object_of ("ok", bool_node (TRUE), "user", user, "role", word_node (role_name (login_role (login))), NULL));
}

static void
answer_me (const Call *call)
{
  answer_user (call->message, http_login (call->message));
}

/* A UsersDone. */
static void
on_logged_in (Login *login, const char *secret, guint wait, gpointer from)
{
  Request *request = from;

  if (login) {
    if (http_login (request->message)) /* another one of this browser */
      login_end (http_login (request->message));
    http_give_cookie (server, request->message, secret, "");
    answer_user (request->message, login);
  } else if (wait) {
    g_autofree char *seconds = g_strdup_printf ("%u", wait);

    soup_message_headers_replace (soup_server_message_get_response_headers (request->message), "Retry-After", seconds);
    http_refuse (request->message, HTTP_TOO_MANY_REQUESTS, "too many passwords: wait for %u s", wait);
  } else {
    http_refuse (request->message, SOUP_STATUS_UNAUTHORIZED, "name or password is wrong");
  }
  request_end (request);
}

/* Returns a member that is a text; NULL: it is missing or something else. */
static const char *
text_of (JsonObject *object, const char *member)
{
  JsonNode *node = object ? json_object_get_member (object, member) : NULL;

  return node && JSON_NODE_HOLDS_VALUE (node) ? json_node_get_string (node) : NULL;
}

static void
answer_login (const Call *call)
{
  g_autoptr (GString) wrong = g_string_new (NULL);
  Reader reader;
  JsonObject *object = parse_body (&reader, call->message, wrong);
  const char *user = text_of (object, "user"), *password = text_of (object, "password");
  Request *request;

  if (!users_path) {
    http_refuse (call->message, SOUP_STATUS_NOT_FOUND, "the page has no \"users\"");
  } else if (!user || !password || json_object_get_size (object) != 2) {
    http_refuse (call->message, SOUP_STATUS_BAD_REQUEST, "the body has to be {\"user\":\"...\",\"password\":\"...\"}");
  } else {
    request = request_new (call->message);
    request_pause (request);
    users_log_in (user, password, http_place (call->message), on_logged_in, request);
  }
  reader_clear (&reader);
}

static void
answer_logout (const Call *call)
{
  login_end (http_login (call->message));
  http_give_cookie (server, call->message, "", "");
  http_answer_json (call->message, SOUP_STATUS_OK, object_of ("ok", bool_node (TRUE), NULL));
}

/* The same table as a file of OpenAPI. */
static void
answer_api (const Call *call)
{
  g_autoptr (GBytes) bytes = g_resources_lookup_data (FILES "api.json", G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);

  http_answer (call->message, SOUP_STATUS_OK, "application/json", bytes);
}

/* ---- the table ----------------------------------------------------------- */

static const Route routes[] = {
  { "GET", "api.json", .answer = answer_api },
  { "GET", "status", "status" },
  { "GET", "cameras", .answer = answer_cameras },
  { "GET", "cameras/*", "status" },
  { "GET", "cameras/*/elements", "elements" },
  { "GET", "cameras/*/elements/*/face.jpg", .answer = answer_face },
  { "GET", "cameras/*/elements/*/*", "get" },
  { "PUT", "cameras/*/elements/*/*", "set", BODY_VALUE },
  { "PUT", "cameras/*/filter", "filter", BODY_VALUE },
  { "POST", "cameras/*/enable", "enable", BODY_VALUE },
  { "POST", "cameras/*/record", "record", BODY_VALUE },
  { "POST", "cameras/*/trigger", "trigger" },
  { "POST", "cameras/*/restart", "restart" },
  { "GET", "cameras/*/snapshot.jpg", .answer = answer_picture },
  { "GET", "cameras/*/mjpeg", .answer = answer_mjpeg },
  { "GET", "cameras/*/hls/*", .answer = answer_hls },
  { "GET", "ws", .answer = answer_ws },
  { "GET", "search", "search", QUERY_WHAT },
  { "GET", "cameras/*/overrides", "overrides" },
  { "DELETE", "cameras/*/overrides", "forget" },
  { "PUT", "cameras/*", "add", BODY_OBJECT },
  { "DELETE", "cameras/*", "remove" },
  { "POST", "reload", "reload" },
  { "GET", "me", .answer = answer_me },
  { "POST", "login", .answer = answer_login },
  { "POST", "logout", .answer = answer_logout },
};

/* What whoever is going to log in may have; "/" has another page for them. */
static const char *const open_paths[] = { "/", "/user.js", "/page.css", "/favicon.ico", API "login", NULL };

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

static void
call_command (const Route *route, const Call *call)
{
  g_autoptr (GString) wrong = g_string_new (NULL);
  const gboolean in_body = route->body == BODY_VALUE || route->body == BODY_OBJECT;
  g_autofree char *value = in_body ? read_argument (route->body, call->message, wrong) : NULL, *target = NULL;
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
  if (route->body == QUERY_WHAT && !(words[n++] = call->query ? g_hash_table_lookup (call->query, "what") : NULL)) {
    http_refuse (call->message, SOUP_STATUS_UNPROCESSABLE_ENTITY,
        "what is to be found is missing: search?what=CAMERA: x,y x,y x,y, FROM, TO (percent-encoded)");
    return;
  }
  request = request_new (call->message);
  answer = control_call (call->watch, login_role (http_login (call->message)), request->by, words, on_answer, request);
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
  { "/search.js", "search.js", "text/javascript; charset=utf-8" },
  { "/live.js", "live.js", "text/javascript; charset=utf-8" },
  { "/user.js", "user.js", "text/javascript; charset=utf-8" },
  { "/page.css", "page.css", "text/css; charset=utf-8" },
  { "/favicon.ico", "favicon.svg", "image/svg+xml" },
};

static void
on_request (SoupServer *soup, SoupServerMessage *message, const char *path, GHashTable *query, gpointer watch)
{
  const char *method = soup_server_message_get_method (message);

  (void) soup;
  if (g_str_has_prefix (path, API) && g_utf8_validate (path, -1, NULL)) {
    on_api (message, path + strlen (API), query, watch);
    return;
  }
  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    const char *file = i > 0 || http_login (message) ? files[i].name : "login.html"; /* the first is the page itself */
    g_autofree char *name = g_strconcat (FILES, file, NULL);
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

/* Returns the certificate; NULL where there is none, or with what is wrong. */
static GTlsCertificate *
load_certificate (GString *wrong)
{
  g_autoptr (GString) why = g_string_new (NULL);
  GTlsCertificate *loaded = certificate ? certificate_load (certificate, key, why) : NULL;

  if (why->len)
    g_string_append_printf (wrong, "page.tls: %s", why->str);
  return loaded;
}

gboolean
page_start (Watch *watch, const Config *config, GString *wrong)
{
  g_autofree char *token = config->page.token ? g_strdup (config->page.token) : token_load (TRUE, wrong);
  HttpPlan plan = { "page", config->page.address, config->page.port, NULL, token, config->page.names, NULL };

  users_path = g_strdup (config->page.users);
  certificate = g_strdup (config->page.certificate);
  key = g_strdup (config->page.key);
  plan.certificate = load_certificate (wrong);
  if (users_path && users_read (users_path, TRUE, wrong))
    plan.open = open_paths;
  if (wrong->len == 0)
    server = http_start (&plan, on_request, watch, wrong);
  g_clear_object (&plan.certificate);
  if (server)
    watch->page_port = http_port (server);
  return server != NULL;
}

gboolean
page_reload (gboolean take, GString *wrong)
{
  g_autoptr (GTlsCertificate) loaded = server ? load_certificate (wrong) : NULL;

  if (!server || wrong->len || (users_path && !users_read (users_path, take, wrong)))
    return wrong->len == 0;
  if (loaded && take)
    http_set_certificate (server, loaded);
  return TRUE;
}

void
page_stop (void)
{
  ws_stop ();
  http_stop (server);
}
#endif
