/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * serve.c: filtered video for viewers, by gst-rtsp-server.
 *
 * Each viewer has a pipeline of its own, such as appsrc ! h264parse ! rtph264pay, which the camera's hub feeds. So one
 * that is slow loses frames for itself alone, and each begins with a key frame. RTP goes through the viewer's TCP
 * connection: no ports are open but the one that is configured, and with TLS all of it is encrypted. */
#include "serve.h"

#ifdef HAVE_RTSP_SERVER
#include "certificate.h"
#include "codec.h"
#include "secrets.h"
#include "threads.h"
#include "users.h"

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/rtsp-server/rtsp-server.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

#define SEND_BUFFER (256 << 10) /* bytes of a connection, which are late video for a slow viewer */
#define MAX_BODY 4096           /* bytes of a request's body */
#define KNOWN "cf-watch-known"
#define MAX_REFUSED 10             /* requests without a login, on one connection */
#define IDLE (10 * G_USEC_PER_SEC) /* a connection that asks for no stream is closed */
#define ENDS_WITHIN G_USEC_PER_SEC /* a viewer has so long for the end of a stream before it is disconnected */

/* A viewer's pipeline. */
typedef struct {
  Hub *hub;
  GstAppSrc *source, *sound; /* sound: NULL, if there is none */
  _Atomic gint64 ended;      /* monotonic µs; 0: the stream has not ended */
  GWeakRef client;           /* its connection */
} Viewer;

static GstRTSPServer *server;
static GMainContext *context; /* of the thread that serves */
static guint max_clients;
static char *users_path;  /* NULL: nobody has to log in */
static JsonObject *users; /* name -> { "password" } */
static GTlsCertificate *certificate;

static GMutex lock; /* of `viewers` */
static GList *viewers;

/* ---- a camera for a viewer ------------------------------------------------ */

static void
take (GstBuffer *buffer, GstCaps *caps, gpointer data)
{
  Viewer *viewer = data;

  GstAppSrc *source = GST_BUFFER_FLAG_IS_SET (buffer, HUB_SOUND) ? viewer->sound : viewer->source;
  GstCaps *before = source ? gst_app_src_get_caps (source) : NULL;

  if (source && !before)
    gst_app_src_set_caps (source, caps);
  g_clear_pointer (&before, gst_caps_unref);
  if (source)
    gst_app_src_push_buffer (source, buffer); /* it is refused when the pipeline has ended */
  else
    gst_buffer_unref (buffer);
}

static gsize
level (gpointer data)
{
  const Viewer *viewer = data;

  return hub_level (viewer->source) + (viewer->sound ? hub_level (viewer->sound) : 0);
}

static void
end (gpointer data)
{
  Viewer *viewer = data;

  gst_app_src_end_of_stream (viewer->source);
  if (viewer->sound)
    gst_app_src_end_of_stream (viewer->sound);
  atomic_store (&viewer->ended, g_get_monotonic_time ());
}

static void
viewer_free (gpointer data)
{
  Viewer *viewer = data;

  hub_remove_taker (viewer->hub, viewer);
  g_mutex_lock (&lock);
  viewers = g_list_remove (viewers, viewer);
  g_mutex_unlock (&lock);
  g_weak_ref_clear (&viewer->client);
  gst_object_unref (viewer->source);
  g_clear_object (&viewer->sound);
  hub_unref (viewer->hub);
  g_free (viewer);
}

/* Counts the viewer. Returns FALSE if there are too many: one connection may ask for many streams. */
static gboolean
admit (Viewer *viewer)
{
  gboolean room;

  g_mutex_lock (&lock);
  room = g_list_length (viewers) < max_clients;
  if (room)
    viewers = g_list_prepend (viewers, viewer);
  g_mutex_unlock (&lock);
  return room;
}

typedef struct {
  GstRTSPMediaFactory parent;
  Hub *hub;
} Mount;

typedef GstRTSPMediaFactoryClass MountClass;

GType mount_get_type (void);
G_DEFINE_TYPE (Mount, mount, GST_TYPE_RTSP_MEDIA_FACTORY)

/* Has each key frame come with the parameters, as who comes later needs them, and each packet at once. Free it. */
static char *
viewer_line (const Codec *codec, GstCaps *sound)
{
  const gboolean units = codec->is_entry != NULL; /* AV1 has no parameters beside */
  g_autofree char *more = sound
      ? g_strdup_printf ("appsrc name=sound format=time is-live=true max-bytes=0 ! %s name=pay1 pt=97",
            sound_of (sound)->payloader)
      : g_strdup ("");

  return g_strdup_printf (
      "( appsrc name=packets format=time is-live=true max-bytes=0 ! %s %s ! %s name=pay0 pt=96 %s %s )", codec->parser,
      units ? "config-interval=-1" : "", codec->payloader, units ? "aggregate-mode=zero-latency" : "", more);
}

/* Returns a viewer's pipeline; NULL: the camera has no stream now, or there are too many viewers. */
static GstElement *
make_viewer (Mount *mount)
{
  static const HubCalls calls = { .take = take, .level = level, .end = end, .sound = TRUE };
  g_autoptr (GstCaps) sound = NULL, caps = hub_get_caps (mount->hub, &sound);
  g_autofree char *line = caps ? viewer_line (codec_of (caps), sound) : NULL;
  GstElement *bin = line ? gst_parse_launch (line, NULL) : NULL;
  GstRTSPContext *request = gst_rtsp_context_get_current (); /* the one that is being answered */
  Viewer *viewer;

  if (!bin)
    return NULL;
  viewer = g_new0 (Viewer, 1);
  viewer->hub = hub_ref (mount->hub);
  viewer->source = GST_APP_SRC (gst_bin_get_by_name (GST_BIN (bin), "packets"));
  viewer->sound = sound ? GST_APP_SRC (gst_bin_get_by_name (GST_BIN (bin), "sound")) : NULL;
  g_weak_ref_init (&viewer->client, request->client);
  g_socket_set_option (gst_rtsp_connection_get_write_socket (request->conn), SOL_SOCKET, SO_SNDBUF, SEND_BUFFER, NULL);
  g_object_set_data_full (G_OBJECT (bin), "cf-viewer", viewer, viewer_free);
  if (admit (viewer) && hub_add_taker (viewer->hub, &calls, viewer))
    return bin;
  gst_object_unref (gst_object_ref_sink (bin));
  return NULL;
}

/* The hub's frames come at the speed of the camera already. From PLAY on, gst-rtsp-server has them wait for their times
 * besides, unless the client says not to: so each would be late by what it took to make the viewer's pipeline. */
static void
on_sync (GObject *sink, GParamSpec *spec, gpointer data)
{
  gboolean sync;

  (void) spec;
  (void) data;
  g_object_get (sink, "sync", &sync, NULL);
  if (sync)
    g_object_set (sink, "sync", FALSE, NULL);
}

static void
on_element (GstBin *pipeline, GstBin *bin, GstElement *element, gpointer data)
{
  (void) pipeline;
  (void) bin;
  (void) data;
  if (GST_IS_APP_SINK (element))
    g_signal_connect (element, "notify::sync", G_CALLBACK (on_sync), NULL);
}

/* Does what the parent's function does, which has a critical warning where there is no element. */
static GstRTSPMedia *
construct (GstRTSPMediaFactory *factory, const GstRTSPUrl *url)
{
  GstElement *bin = make_viewer ((Mount *) factory), *pipeline;
  GstRTSPMedia *media;

  (void) url;
  if (!bin)
    return NULL;
  media = gst_rtsp_media_new (bin);
  gst_rtsp_media_collect_streams (media);
  pipeline = GST_RTSP_MEDIA_FACTORY_GET_CLASS (factory)->create_pipeline (factory, media);
  g_signal_connect (pipeline, "deep-element-added", G_CALLBACK (on_element), NULL);
  return media;
}

static void
mount_finalize (GObject *object)
{
  g_clear_pointer (&((Mount *) object)->hub, hub_unref);
  G_OBJECT_CLASS (mount_parent_class)->finalize (object);
}

static void
mount_init (Mount *mount)
{
  gst_rtsp_media_factory_set_protocols (GST_RTSP_MEDIA_FACTORY (mount), GST_RTSP_LOWER_TRANS_TCP);
}

static void
mount_class_init (MountClass *class)
{
  G_OBJECT_CLASS (class)->finalize = mount_finalize;
  class->construct = construct;
}

void
serve_camera (const char *name, Hub *hub)
{
  g_autoptr (GstRTSPMountPoints) mounts = server ? gst_rtsp_server_get_mount_points (server) : NULL;
  g_autofree char *path = g_strconcat ("/", name, NULL);
  Mount *mount;

  if (!mounts)
    return;
  gst_rtsp_mount_points_remove_factory (mounts, path);
  if (!hub)
    return;
  mount = g_object_new (mount_get_type (), NULL);
  mount->hub = hub_ref (hub);
  gst_rtsp_mount_points_add_factory (mounts, path, GST_RTSP_MEDIA_FACTORY (mount));
}

/* ---- who may watch -------------------------------------------------------- */

typedef GstRTSPAuth ViewerLogin;
typedef GstRTSPAuthClass ViewerLoginClass;

GType login_get_type (void);
G_DEFINE_TYPE (ViewerLogin, login, GST_TYPE_RTSP_AUTH)

typedef struct {
  char *name, *from;
} Refused;

static gboolean
on_refused (gpointer data)
{
  g_autofree Refused *refused = data;

  users_report_failed (users, refused->name, "rtsp", refused->from);
  g_free (refused->name);
  g_free (refused->from);
  return G_SOURCE_REMOVE;
}

/* Reports who does not log in as he should; a client's first request has no login. */
static void
report_refused (const GstRTSPContext *request)
{
  GstRTSPAuthCredential **all = gst_rtsp_message_parse_auth_credentials (request->request, GST_RTSP_HDR_AUTHORIZATION);
  const char *name = NULL;

  for (GstRTSPAuthParam **one = all && *all ? (*all)->params : NULL; one && *one; one++)
    if (!strcmp ((*one)->name, "username"))
      name = (*one)->value;
  if (name)
    in_main (on_refused,
        g_memdup2 (&(Refused) { g_strdup (name), g_strdup (gst_rtsp_connection_get_ip (request->conn)) },
            sizeof (Refused)));
  gst_rtsp_auth_credentials_free (all);
}

/* Whoever has logged in may watch all cameras; others do not even learn which there are. */
static gboolean
login_check (GstRTSPAuth *login, GstRTSPContext *request, const char *what)
{
  GstRTSPAuthClass *parent = GST_RTSP_AUTH_CLASS (login_parent_class);
  gsize refused;

  if (g_str_equal (what, GST_RTSP_AUTH_CHECK_CONNECT))
    return parent->check (login, request, what);
  if (g_str_equal (what, GST_RTSP_AUTH_CHECK_TRANSPORT_CLIENT_SETTINGS)) /* nobody chooses where RTP goes to */
    return FALSE;
  if (!users_path || request->method == GST_RTSP_OPTIONS)
    return TRUE;
  refused = GPOINTER_TO_SIZE (g_object_get_data (G_OBJECT (request->client), "cf-refused"));
  if (refused >= MAX_REFUSED) /* each answer has a nonce that is kept; look_at_client () closes the connection */
    return FALSE;
  /* The one check that asks for a login, and for no more. */
  if (parent->check (login, request, GST_RTSP_AUTH_CHECK_TRANSPORT_CLIENT_SETTINGS))
    return TRUE;
  g_object_set_data (G_OBJECT (request->client), "cf-refused", GSIZE_TO_POINTER (refused + 1));
  report_refused (request);
  return FALSE;
}

static void
login_init (ViewerLogin *login)
{
  gst_rtsp_auth_set_supported_methods (login, GST_RTSP_AUTH_DIGEST);
  gst_rtsp_auth_set_realm (login, "cf-watch");
  gst_rtsp_auth_set_tls_certificate (login, certificate);
}

static void
login_class_init (ViewerLoginClass *class)
{
  class->check = login_check;
}

static GstRTSPFilterResult
close_client (GstRTSPServer *from, GstRTSPClient *client, gpointer data)
{
  (void) from;
  (void) client;
  (void) data;
  return GST_RTSP_FILTER_REMOVE;
}

static gboolean
close_all (gpointer data)
{
  (void) data;
  g_list_free_full (gst_rtsp_server_client_filter (server, close_client, NULL), g_object_unref);
  return G_SOURCE_REMOVE;
}

gboolean
serve_read_users (gboolean take, GString *wrong)
{
  JsonObject *read = users_path ? secrets_read_users (users_path, wrong) : NULL;
  g_autoptr (GList) names = read ? json_object_get_members (read) : NULL;
  g_autoptr (GstRTSPAuth) login = NULL;
  const gboolean same = read && users && json_object_equal (users, read);

  if (!read || same || !take) {
    g_clear_pointer (&read, json_object_unref);
    return wrong->len == 0;
  }
  login = g_object_new (login_get_type (), NULL);
  for (GList *l = names; l; l = l->next) {
    JsonObject *user = json_object_get_object_member (read, l->data);
    GstRTSPToken *token;

    if (!json_object_has_member (user, "password")) /* digest needs the password itself, not a hash of it */
      continue;
    token = gst_rtsp_token_new (GST_RTSP_TOKEN_TRANSPORT_CLIENT_SETTINGS, G_TYPE_BOOLEAN, TRUE, NULL);
    gst_rtsp_auth_add_digest (login, l->data, json_object_get_string_member (user, "password"), token);
    gst_rtsp_token_unref (token);
  }
  gst_rtsp_server_set_auth (server, login);
  g_main_context_invoke (context, close_all, NULL);
  g_clear_pointer (&users, json_object_unref);
  users = read;
  return TRUE;
}

/* ---- the server ----------------------------------------------------------- */

typedef GstRTSPServer Server;
typedef GstRTSPServerClass ServerClass;

GType server_get_type (void);
G_DEFINE_TYPE (Server, server, GST_TYPE_RTSP_SERVER)

/* What is known of a connection. */
typedef struct {
  GstRTSPClient *client;
  gint64 since; /* monotonic µs */
} Known;

/* The client is being freed. Where sending to it failed, GStreamer 1.22 is going to close it, without a reference. */
static void
forget_client (gpointer data)
{
  Known *known = data;
  GSource *source;

  while ((source = g_main_context_find_source_by_user_data (context, known->client)))
    g_source_destroy (source);
  g_free (known);
}

static GstRTSPClient *
create_client (GstRTSPServer *from)
{
  GList *clients = gst_rtsp_server_client_filter (from, NULL, NULL);
  gboolean room = g_list_length (clients) < max_clients;
  GstRTSPClient *client = room ? GST_RTSP_SERVER_CLASS (server_parent_class)->create_client (from) : NULL;
  const Known known = { client, g_get_monotonic_time () };

  g_list_free_full (clients, g_object_unref);
  if (client)
    g_object_set_data_full (G_OBJECT (client), KNOWN, g_memdup2 (&known, sizeof known), forget_client);
  return client; /* NULL: the connection is closed */
}

/* Where a camera is there but has no stream, gst-rtsp-server says "Bad Request". */
static GstRTSPStatusCode
adjust_error_code (GstRTSPClient *client, GstRTSPContext *request, GstRTSPStatusCode code)
{
  (void) client;
  return request->factory && code == GST_RTSP_STS_BAD_REQUEST ? GST_RTSP_STS_SERVICE_UNAVAILABLE : code;
}

/* GStreamer 1.22 puts this header into an answer that there is not yet: it warns, and never frees the text. */
static GstRTSPStatusCode
pre_play_request (GstRTSPClient *client, GstRTSPContext *request)
{
  (void) client;
  gst_rtsp_message_remove_header (request->request, GST_RTSP_HDR_SEEK_STYLE, -1);
  return GST_RTSP_STS_OK;
}

static void
server_init (Server *self)
{
  g_autoptr (GstRTSPThreadPool) threads = gst_rtsp_thread_pool_new ();

  gst_rtsp_thread_pool_set_max_threads (threads, 0); /* all connections in the thread that accepts them */
  gst_rtsp_server_set_thread_pool (self, threads);
  gst_rtsp_server_set_content_length_limit (self, MAX_BODY);
}

static void
server_class_init (ServerClass *class)
{
  GstRTSPClientClass *client_class = g_type_class_ref (GST_TYPE_RTSP_CLIENT); /* there is no other server here */

  class->create_client = create_client;
  client_class->adjust_error_code = adjust_error_code;
  client_class->pre_play_request = pre_play_request;
}

/* Closes a connection that asks for no stream, or does not log in. */
static GstRTSPFilterResult
look_at_client (GstRTSPServer *from, GstRTSPClient *client, gpointer now)
{
  GList *sessions = gst_rtsp_client_session_filter (client, NULL, NULL);
  const Known *known = g_object_get_data (G_OBJECT (client), KNOWN);
  gboolean idle = !sessions && *(gint64 *) now - known->since > IDLE;

  (void) from;
  g_list_free_full (sessions, g_object_unref);
  return idle || GPOINTER_TO_SIZE (g_object_get_data (G_OBJECT (client), "cf-refused")) >= MAX_REFUSED
      ? GST_RTSP_FILTER_REMOVE
      : GST_RTSP_FILTER_KEEP;
}

/* Forgets a session whose client has gone, or has ended its stream. */
static GstRTSPFilterResult
look_at_session (GstRTSPSessionPool *sessions, GstRTSPSession *session, gpointer data)
{
  GList *media = gst_rtsp_session_filter (session, NULL, NULL);
  const gboolean empty = !media;

  (void) sessions;
  (void) data;
  g_list_free_full (media, g_object_unref);
  return empty ? GST_RTSP_FILTER_REMOVE : GST_RTSP_FILTER_KEEP;
}

static gboolean
on_second (gpointer data)
{
  gint64 now = g_get_monotonic_time (), ended;
  GstRTSPSessionPool *sessions = data;
  GList *over = NULL;

  gst_rtsp_session_pool_cleanup (sessions);
  g_list_free_full (gst_rtsp_session_pool_filter (sessions, look_at_session, NULL), g_object_unref);
  g_list_free_full (gst_rtsp_server_client_filter (server, look_at_client, &now), g_object_unref);
  g_mutex_lock (&lock);
  for (GList *l = viewers; l; l = l->next) {
    Viewer *viewer = l->data;
    GstRTSPClient *client;

    if ((ended = atomic_load (&viewer->ended)) && now - ended > ENDS_WITHIN &&
        (client = g_weak_ref_get (&viewer->client)))
      over = g_list_prepend (over, client);
  }
  g_mutex_unlock (&lock);
  g_list_foreach (over, (GFunc) (void (*) (void)) gst_rtsp_client_close, NULL);
  g_list_free_full (over, g_object_unref);
  return G_SOURCE_CONTINUE;
}

static gpointer
run (gpointer loop)
{
  g_main_context_push_thread_default (context);
  g_main_loop_run (loop);
  return NULL;
}

guint
serve_start (const Config *config, GString *wrong)
{
  g_autofree char *port = g_strdup_printf ("%u", config->rtsp.port);
  g_autoptr (GstRTSPSessionPool) sessions = NULL;
  g_autoptr (GSource) source = NULL, timer = g_timeout_source_new_seconds (1);
  g_autoptr (GError) error = NULL;

  if (config->rtsp.certificate &&
      !(certificate = certificate_load (config->rtsp.certificate, config->rtsp.key, wrong))) {
    g_string_prepend (wrong, "rtsp.tls: ");
    return 0;
  }
  max_clients = config->rtsp.clients;
  users_path = g_strdup (config->rtsp.users);
  context = g_main_context_new ();
  server = g_object_new (server_get_type (), NULL);
  gst_rtsp_server_set_address (server, config->rtsp.address);
  gst_rtsp_server_set_service (server, port);
  sessions = gst_rtsp_server_get_session_pool (server);
  if (certificate && !users_path) {
    g_autoptr (GstRTSPAuth) login = g_object_new (login_get_type (), NULL);

    gst_rtsp_server_set_auth (server, login);
  }
  if (!serve_read_users (TRUE, wrong))
    return 0;
  if (!(source = gst_rtsp_server_create_source (server, NULL, &error))) {
    g_string_append_printf (wrong, "rtsp: %s port %s: %s", config->rtsp.address, port, error->message);
    return 0;
  }
  g_source_attach (source, context);
  g_source_set_callback (timer, on_second, sessions, NULL); /* the server keeps it */
  g_source_attach (timer, context);
  g_thread_unref (g_thread_new ("rtsp", run, g_main_loop_new (context, FALSE)));
  return (guint) gst_rtsp_server_get_bound_port (server);
}
#endif
