/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * ws.c: live pictures for pages. A page watches cameras by channels, which it numbers:
 *
 *   {"watch":"door","channel":1,"as":"mp4"}                        the hub's frames, encoded once for all
 *   {"watch":"door","channel":2,"as":"jpeg","width":320,"rate":2}  pictures, the next one only after "ack"
 *   {"watch":"door","channel":3,"as":"both"}                       the same, of a frame before and after the filter
 *   {"ack":1,"bytes":81230}                                        it has got so many bytes of the channel in all
 *   {"stop":1}
 *
 * The messages of a channel are binary: a byte with the kind, a byte with the channel, and the picture. docs/watch.md
 * has all of them. Only what has left the filter comes here, but for "both" of a camera that has "original". */
#include "ws.h"

#ifdef HAVE_SOUP
#include "fmp4.h"
#include "http.h"
#include "reader.h"
#include "snapshot.h"
#include "websocket.h"

#include <stdatomic.h>
#include <string.h>

#define MAX_VIEWERS 32       /* others of the server's connections stay for requests */
#define MAX_CHANNELS 64      /* of a page */
#define MAX_LARGE 2          /* of them, whose messages may be large: mp4, and pictures of their own size */
#define MAX_UNREAD (1 << 20) /* bytes that wait for a page, above which no picture is made for it */
#define TICK 50              /* ms */
#define A_SECOND 20          /* ticks */
#define ALIVE (10 * A_SECOND)
#define PICTURES 4 /* a camera has one picture of each size made in so many ticks, for all who wait for one */
#define MAX_RATE (A_SECOND / PICTURES)

typedef enum { KIND_BEGIN, KIND_FRAME, KIND_JPEG, KIND_PAIR } Kind;

typedef struct {
  WebSocket *socket;
  Login *login;
  Watch *watch;
  GPtrArray *channels; /* of Channel */
} Viewer;

/* References are held by the viewer, and for a picture that is under way. */
typedef struct {
  Viewer *viewer; /* while it is not `stopped` */
  gboolean stopped;
  WebSocket *socket;
  guint8 number;
  char *camera;
  gboolean video;              /* mp4 */
  SnapshotKind kind;           /* else */
  _Atomic gsize sent, arrived; /* bytes of messages */

  /* Video: a taker of the hub while `hub` is there. The hub's lock guards what follows, up to `dts`. */
  Hub *hub;
  gboolean begun, unfit; /* unfit: browsers cannot play it */
  guint32 frames;
  GstClockTime dts; /* of the last one */
  _Atomic int ended;

  /* Pictures. */
  gboolean asked;    /* one is under way */
  guint next, every; /* ticks: not before, and from one to the next */
} Channel;

static GPtrArray *viewers; /* NULL: there have been none yet */
static guint ticks, timer;
static gboolean hurry;    /* a state may have changed */
static GHashTable *shown; /* camera -> the text of what was last shown of its state */

static void
channel_clear (gpointer data)
{
  Channel *channel = data;

  websocket_unref (channel->socket);
  g_free (channel->camera);
}

static void
send_text (WebSocket *socket, char *text)
{
  websocket_send (socket, WEBSOCKET_TEXT, g_bytes_new_take (text, strlen (text)), NULL);
}

/* Sends a picture or a part of a video. Its first part begins with put_head (). Any thread. */
static void
send (Channel *channel, GstByteWriter *head, GBytes *body)
{
  const gsize n = gst_byte_writer_get_size (head);

  atomic_fetch_add (&channel->sent, n + (body ? g_bytes_get_size (body) : 0));
  websocket_send (channel->socket, WEBSOCKET_BINARY, g_bytes_new_take (gst_byte_writer_reset_and_get_data (head), n),
      body);
}

static void
put_head (GstByteWriter *head, Kind kind, const Channel *channel)
{
  gst_byte_writer_init (head);
  gst_byte_writer_put_uint8 (head, kind);
  gst_byte_writer_put_uint8 (head, channel->number);
}

/* ---- video ---------------------------------------------------------------- */

/* What follows is called from the camera's thread, with the hub's lock held. */

static void
begin (Channel *channel, GstCaps *caps)
{
  g_autofree char *codec = fmp4_codec (caps);
  GstByteWriter head;

  channel->begun = TRUE;
  channel->unfit = !codec;
  send_text (channel->socket,
      g_strdup_printf ("{\"channel\":%u,\"codec\":\"%s\"}", channel->number, codec ? codec : ""));
  if (!codec)
    return;
  put_head (&head, KIND_BEGIN, channel);
  fmp4_begin (&head, caps);
  send (channel, &head, NULL);
}

static void
take (GstBuffer *buffer, GstCaps *caps, gpointer data)
{
  Channel *channel = data;
  const GstClockTime dts = GST_BUFFER_DTS (buffer);
  GstByteWriter head;

  if (!channel->begun)
    begin (channel, caps);
  if (channel->unfit) {
    gst_buffer_unref (buffer);
    return;
  }
  /* Browsers refuse a DTS that is not later than the last one. */
  channel->dts = channel->frames++ > 0 ? MAX (dts, channel->dts + 20 * GST_USECOND) : dts;
  put_head (&head, KIND_FRAME, channel);
  fmp4_frame (&head, channel->frames, channel->dts, FMP4_DURATION, buffer);
  send (channel, &head, fmp4_data (buffer));
}

/* A client may say that it has what its machine has not even taken. */
static gsize
level (gpointer data)
{
  Channel *channel = data;

  return MAX (atomic_load (&channel->sent) - atomic_load (&channel->arrived), websocket_waiting (channel->socket));
}

static void
end (gpointer data)
{
  Channel *channel = data;

  send_text (channel->socket, g_strdup_printf ("{\"channel\":%u,\"away\":true}", channel->number));
  atomic_store (&channel->ended, 1);
}

/* What follows is of the main thread again. */

static void
leave_hub (Channel *channel)
{
  if (channel->hub)
    hub_remove_taker (channel->hub, channel);
  g_clear_pointer (&channel->hub, hub_unref);
  channel->ended = 0;
}

/* Begins to take the camera's frames, if there are some; else the next tick tries it again. No other place does it:
 * each time the newest group of pictures is sent, which a page may not ask for a thousand times a second. */
static void
join_hub (Watch *watch, Channel *channel)
{
  static const HubCalls calls = { .take = take, .level = level, .end = end };
  const Camera *camera = watch_find (watch, channel->camera);

  if (!camera)
    return;
  channel->hub = hub_ref (camera->hub);
  channel->begun = FALSE;
  channel->frames = 0;
  if (!hub_add_taker (channel->hub, &calls, channel))
    g_clear_pointer (&channel->hub, hub_unref);
}

/* ---- pictures ------------------------------------------------------------- */

/* Returns whether the channel may have such pictures; asked again for each: the file may have changed. */
static gboolean
is_allowed (const Channel *channel, const Camera *camera)
{
  return channel->kind != SNAPSHOT_PAIR ||
      (camera && camera->settings->original && login_role (channel->viewer->login) >= ROLE_OPERATOR);
}

/* A SnapshotPicture. Why there is no picture the state says, but not why there is no pair. */
static void
on_picture (gpointer from, GBytes *picture, const char *wrong)
{
  Channel *channel = from;
  GstByteWriter head;

  channel->asked = FALSE;
  if (picture && !channel->stopped && is_allowed (channel, watch_find (channel->viewer->watch, channel->camera))) {
    put_head (&head, channel->kind == SNAPSHOT_PAIR ? KIND_PAIR : KIND_JPEG, channel);
    send (channel, &head, g_bytes_ref (picture));
  } else if (wrong && !channel->stopped && channel->kind == SNAPSHOT_PAIR) {
    send_text (channel->socket,
        json_line (object_of ("error", text_node (wrong), "channel", int_node (channel->number), NULL)));
  }
  g_rc_box_release_full (channel, channel_clear);
}

/* Asks for the next picture, if it is time for one. All who watch a camera ask in the same tick, and get the same
 * picture; each camera has ticks of its own. */
static void
ask (Watch *watch, Channel *channel)
{
  Camera *camera;

  if ((ticks + g_str_hash (channel->camera)) % PICTURES || channel->asked || ticks < channel->next ||
      atomic_load (&channel->sent) != atomic_load (&channel->arrived) ||
      websocket_waiting (channel->socket) > MAX_UNREAD) /* it may say that it has what its machine has not taken */
    return;
  camera = watch_find (watch, channel->camera);
  if (!camera || camera->state != CAMERA_UP || !is_allowed (channel, camera))
    return;
  channel->asked = TRUE;
  channel->next = ticks + channel->every;
  snapshot_show (camera_pictures (camera), channel->kind, on_picture, g_rc_box_acquire (channel));
}

/* ---- states --------------------------------------------------------------- */

/* Returns what the page shows of a camera's state. Free it. */
static char *
describe (Camera *camera)
{
  JsonObject *record = recorder_status (camera->recorder);
  JsonObject *state = object_of ("state", word_node (camera_state_name (camera->state)), "reason",
      camera->reason ? text_node (camera->reason) : NULL, "fps", int_node ((gint64) (camera->fps + 0.5)), "recorded",
      bool_node (json_object_get_boolean_member (record, "on")), "record",
      json_node_copy (json_object_get_member (record, "mode")), "video", bool_node (camera_encodes (camera)),
      "original", bool_node (camera->settings->original), NULL);

  json_object_unref (record);
  return json_line (state);
}

/* Returns a text with the states of those cameras that have changed, or of all; NULL: there are none. Free it. */
static char *
states (Watch *watch, gboolean all)
{
  GString *text = g_string_new ("{\"cameras\":{");
  const gsize begin = text->len;
  GHashTableIter old;
  gpointer name;

  g_hash_table_iter_init (&old, shown);
  while (g_hash_table_iter_next (&old, &name, NULL))
    if (!watch_find (watch, name)) {
      g_string_append_printf (text, "%s\"%s\":null", text->len > begin ? "," : "", (char *) name);
      g_hash_table_iter_remove (&old);
    }
  for (guint i = 0; i < watch->cameras->len; i++) {
    Camera *camera = watch->cameras->pdata[i];
    g_autofree char *now = describe (camera);
    const char *before = g_hash_table_lookup (shown, camera->settings->name);

    if (all || g_strcmp0 (before, now))
      g_string_append_printf (text, "%s\"%s\":%s", text->len > begin ? "," : "", camera->settings->name, now);
    if (!all || !before) /* "": the others have not been shown it */
      g_hash_table_replace (shown, g_strdup (camera->settings->name), all ? g_strdup ("") : g_steal_pointer (&now));
  }
  if (!all && text->len == begin) {
    g_string_free (text, TRUE);
    return NULL;
  }
  g_string_append (text, "}}");
  return g_string_free (text, FALSE);
}

/* ---- viewers -------------------------------------------------------------- */

static void
send_all (const char *text, Role role)
{
  for (guint i = 0; i < viewers->len; i++) {
    const Viewer *viewer = viewers->pdata[i];

    if (login_role (viewer->login) >= role)
      send_text (viewer->socket, g_strdup (text));
  }
}

void
ws_show_event (const char *line, const char *type)
{
  g_autofree char *text = NULL;

  if (!viewers || viewers->len == 0)
    return;
  hurry = TRUE;
  text = g_strdup_printf ("{\"event\":%s}", line);
  send_all (text, g_str_equal (type, "command") || g_str_equal (type, "login-failed") ? ROLE_ADMIN : ROLE_VIEWER);
}

/* Sends the states that have changed; an empty text now and then says that the connection is alive. */
static void
show_states (Watch *watch)
{
  g_autofree char *changed = states (watch, FALSE);

  hurry = FALSE;
  if (changed || ticks % ALIVE == 0)
    send_all (changed ? changed : "{}", ROLE_VIEWER);
}

static gboolean
on_tick (gpointer data)
{
  Watch *watch = data;

  ticks++;
  if (hurry || ticks % A_SECOND == 0)
    show_states (watch);
  for (guint i = viewers->len; ticks % A_SECOND == 0 && i-- > 0;) { /* it may close the connection */
    const Viewer *viewer = viewers->pdata[i];

    if (login_holds (viewer->login))
      websocket_tick (viewer->socket);
    else
      websocket_close (viewer->socket);
  }
  for (guint i = 0; i < viewers->len; i++) {
    const Viewer *viewer = viewers->pdata[i];

    for (guint j = 0; j < viewer->channels->len; j++) {
      Channel *channel = viewer->channels->pdata[j];

      if (channel->video && atomic_load (&channel->ended))
        leave_hub (channel);
      if (channel->video && !channel->hub)
        join_hub (watch, channel);
      else if (!channel->video)
        ask (watch, channel);
    }
  }
  if (viewers->len > 0)
    return G_SOURCE_CONTINUE;
  timer = 0;
  return G_SOURCE_REMOVE;
}

/* The viewer's channels hold references. */
static void
drop_channel (gpointer data)
{
  Channel *channel = data;

  channel->stopped = TRUE;
  leave_hub (channel);
  g_rc_box_release_full (channel, channel_clear);
}

static Channel *
find_channel (const Viewer *viewer, guint number)
{
  for (guint i = 0; i < viewer->channels->len; i++)
    if (((Channel *) viewer->channels->pdata[i])->number == number)
      return viewer->channels->pdata[i];
  return NULL;
}

static void
on_closed (gpointer data)
{
  Viewer *viewer = data;

  g_ptr_array_remove (viewers, viewer);
  g_ptr_array_unref (viewer->channels);
  websocket_unref (viewer->socket);
  login_unref (viewer->login);
  g_free (viewer);
}

/* ---- what a page asks ------------------------------------------------------ */

typedef struct {
  char *watch;
  guint channel, stop, ack, width, rate;
  int as; /* of AS */
  guint64 bytes;
} Ask;

enum { AS_MP4, AS_JPEG, AS_BOTH };

#define OF(member) G_STRUCT_OFFSET (Ask, member)

static const Field fields[] = {
  { "watch", FIELD_TEXT, OF (watch) },
  { "channel", FIELD_UINT, OF (channel), 1, 255 },
  { "as", FIELD_CHOICE, OF (as), .choices = "mp4|jpeg|both" },
  { "width", FIELD_UINT, OF (width), SNAPSHOT_SMALL, SNAPSHOT_SMALL },
  { "rate", FIELD_UINT, OF (rate), 1, MAX_RATE },
  { "ack", FIELD_UINT, OF (ack), 1, 255 },
  { "bytes", FIELD_BYTES, OF (bytes), 0, 9e15 },
  { "stop", FIELD_UINT, OF (stop), 1, 255 },
  { NULL },
};

static guint
count_large (const Viewer *viewer)
{
  guint n = 0;

  for (guint i = 0; i < viewer->channels->len; i++)
    n += ((Channel *) viewer->channels->pdata[i])->kind != SNAPSHOT_SCALED;
  return n;
}

static void
watch_camera (Viewer *viewer, const Ask *asked, GString *wrong)
{
  Camera *camera = watch_find (viewer->watch, asked->watch);
  const gboolean video = asked->as == AS_MP4, both = asked->as == AS_BOTH, small = !video && !both && asked->width > 0;
  Channel *channel;

  if (!camera)
    g_string_append (wrong, "there is no such camera");
  else if (!asked->channel || find_channel (viewer, asked->channel))
    g_string_append (wrong, "channel has to be a number from 1 to 255 that is not in use");
  else if (viewer->channels->len >= MAX_CHANNELS || (!small && count_large (viewer) >= MAX_LARGE))
    g_string_append_printf (wrong, "a page has %d channels at most, %d of them as mp4 or without a width", MAX_CHANNELS,
        MAX_LARGE);
  else if (video && !camera_encodes (camera))
    g_string_append (wrong, "the camera is not encoded: it has neither \"live\" nor \"record\"");
  else if (both && login_role (viewer->login) < ROLE_OPERATOR)
    g_string_append (wrong, "pictures before the filter need the role operator");
  else if (both && !camera->settings->original)
    g_string_append (wrong,
        "the file shows no picture of this camera before the filter: \"page\": { \"original\": true }");
  if (wrong->len)
    return;
  channel = g_rc_box_new0 (Channel);
  channel->viewer = viewer;
  channel->socket = websocket_ref (viewer->socket);
  channel->number = (guint8) asked->channel;
  channel->camera = g_strdup (asked->watch);
  channel->video = video;
  channel->kind = both ? SNAPSHOT_PAIR : small ? SNAPSHOT_SCALED : SNAPSHOT_LARGE;
  channel->every = A_SECOND / (asked->rate ? asked->rate : MAX_RATE);
  g_ptr_array_add (viewer->channels, channel); /* the next tick begins */
}

/* Notes what has arrived, but no more than was sent. A channel that has been stopped may still be named. */
static void
acknowledge (const Viewer *viewer, const Ask *asked)
{
  Channel *channel = find_channel (viewer, asked->ack);

  if (channel)
    atomic_store (&channel->arrived, MIN (asked->bytes, atomic_load (&channel->sent)));
}

static void
on_text (const char *text, gsize n, gpointer data)
{
  g_autoptr (GString) wrong = g_string_new (NULL);
  Viewer *viewer = data;
  Ask asked = { 0 };
  JsonObject *object;
  Reader reader;

  reader_init (&reader, NULL, "", wrong);
  object = reader_parse (&reader, text, (gssize) n);
  if (object && reader_fill (&reader, object, "message", fields, &asked)) {
    if (asked.watch)
      watch_camera (viewer, &asked, wrong);
    else if (asked.ack)
      acknowledge (viewer, &asked);
    else if (asked.stop)
      g_ptr_array_remove (viewer->channels, find_channel (viewer, asked.stop));
    else
      g_string_append (wrong, "it needs watch, ack or stop");
  }
  reader_clear (&reader);
  g_free (asked.watch);
  if (wrong->len)
    send_text (viewer->socket,
        json_line (object_of ("error", text_node (wrong->str), "channel", int_node (asked.channel), NULL)));
}

/* ---- the connection -------------------------------------------------------- */

/* The client has been told that this is a WebSocket from here on. */
static void
on_upgraded (SoupServerMessage *message, gpointer watch)
{
  static const WebSocketCalls calls = { .text = on_text, .closed = on_closed };
  Viewer *viewer;
  GIOStream *stream;

  if (!http_keep (message) || !(stream = soup_server_message_steal_connection (message)))
    return;
  viewer = g_new0 (Viewer, 1);
  viewer->login = login_ref (http_login (message));
  viewer->watch = watch;
  viewer->channels = g_ptr_array_new_with_free_func (drop_channel);
  viewer->socket = websocket_new (stream, &calls, viewer);
  g_ptr_array_add (viewers, viewer);
  send_text (viewer->socket, states (watch, TRUE));
  if (!timer)
    timer = g_timeout_add (TICK, on_tick, watch);
}

gboolean
ws_open (Watch *watch, SoupServerMessage *message, guint *status, GString *wrong)
{
  g_autoptr (GError) error = NULL;

  if (!viewers) {
    viewers = g_ptr_array_new ();
    shown = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  }
  if (viewers->len >= MAX_VIEWERS) {
    *status = SOUP_STATUS_SERVICE_UNAVAILABLE;
    g_string_append_printf (wrong, "%d pages are open, and no more are served", MAX_VIEWERS);
  } else if (!soup_websocket_server_check_handshake (message, NULL, NULL, NULL, &error)) {
    *status = SOUP_STATUS_BAD_REQUEST;
    g_string_append_printf (wrong, "this address is for a WebSocket: %s", error->message);
  } else {
    soup_message_headers_remove (soup_server_message_get_response_headers (message), "Connection");
    soup_websocket_server_process_handshake (message, NULL, NULL, NULL, NULL);
    g_signal_connect (message, "wrote-informational", G_CALLBACK (on_upgraded), watch);
  }
  return !wrong->len;
}

void
ws_stop (void)
{
  while (viewers && viewers->len > 0)
    websocket_close (((Viewer *) viewers->pdata[0])->socket);
}
#endif
