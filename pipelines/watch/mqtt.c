/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * mqtt.c: events to a broker, and messages from it, with libmosquitto where it is found at build time. Each connection
 * has a client of its own; what the broker has not acknowledged goes to the head of the queue again, so events arrive
 * in order, at least once.
 *
 * With subscriptions it speaks MQTT 5: only this says of a message that came just now whether it is retained, does not
 * send back what we have sent, and keeps large messages away. */
#include "mqtt.h"

#ifdef HAVE_MOSQUITTO
#include "events.h"
#include "threads.h"
#include "secrets.h"

#include <errno.h>
#include <linux/tcp.h> /* netinet/tcp.h lacks tcpi_bytes_received */
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_QUEUED 10000
#define MAX_UNACKNOWLEDGED 50
#define KEEP_ALIVE 20     /* s */
#define ANSWERS_WITHIN 10 /* s, for the broker to accept a connection */
#define FIRST_DELAY 1000  /* ms */
#define LAST_DELAY 30000
#define MAX_UNASKED (1 << 20) /* bytes that a broker may send without an answer in them */
#define MAX_WAITING 64        /* messages that wait for the main thread: then no more are read */
#define MAX_TEXT (64 << 10)   /* bytes of a message */
#define END_WITHIN (2 * G_USEC_PER_SEC)

typedef struct {
  char *topic, *text;
  gboolean retained; /* by the broker */
  gboolean answer;   /* to a command: it is not acknowledged, so that events do not wait behind answers */
  int id;            /* of libmosquitto, while it is not acknowledged */
} Item;

static struct {
  /* Written before the thread starts. */
  char *host, *prefix, *user, *ca;
  char **subscriptions; /* NULL-terminated; NULL: none; the thread's from then on */
  MqttTaker take;
  int port;
  gboolean tls, on;
  int wake; /* an eventfd */

  GMutex lock; /* of what follows, up to `end_by` */
  GCond ended;
  GQueue queue, received; /* received: messages that `take` has not taken yet */
  gboolean taking;        /* the main thread is to take them */
  guint64 lost;
  _Atomic gboolean ending, connected; /* read without the lock as well */
  gboolean over;
  gint64 end_by;

  /* Of the thread. */
  GQueue sent; /* not acknowledged */
  gboolean accepted, refused, answered;
  char *why;
} mqtt;

static void
item_free (Item *item)
{
  g_free (item->topic);
  g_free (item->text);
  g_free (item);
}

static void
wake (void)
{
  if (eventfd_write (mqtt.wake, 1))
    return; /* it is awake already */
}

/* ---- events about the broker --------------------------------------------- */

typedef struct {
  gboolean connected;
  char *reason;
  guint64 lost;
} News;

static gboolean
post_news (gpointer data)
{
  News *news = data;

  event_post (NULL, news->connected ? "broker-connected" : "broker-lost", "host", text_node (mqtt.host), "reason",
      news->reason ? text_node (news->reason) : NULL, NULL);
  if (news->lost)
    event_post (NULL, "events-lost", "count", int_node ((gint64) news->lost), "where", word_node ("mqtt"), NULL);
  g_free (news->reason);
  g_free (news);
  return G_SOURCE_REMOVE;
}

static void
set_connected (gboolean connected, const char *reason)
{
  News *news = g_new0 (News, 1);

  g_mutex_lock (&mqtt.lock);
  mqtt.connected = connected;
  if (connected) {
    news->lost = mqtt.lost;
    mqtt.lost = 0;
  }
  g_mutex_unlock (&mqtt.lock);
  news->connected = connected;
  news->reason = g_strdup (reason);
  in_main (post_news, news);
}

/* ---- one connection ------------------------------------------------------ */

static void
on_connect (struct mosquitto *client, void *data, int code)
{
  (void) data;
  mqtt.answered = TRUE;
  mqtt.accepted = code == 0;
  mqtt.refused = code != 0;
  if (code) {
    g_free (mqtt.why);
    mqtt.why = g_strdup (mqtt.subscriptions ? mosquitto_reason_string (code) : mosquitto_connack_string (code));
    return;
  }
  for (char **topic = mqtt.subscriptions; topic && *topic; topic++)
    mosquitto_subscribe_v5 (client, NULL, *topic, 1, MQTT_SUB_OPT_NO_LOCAL | MQTT_SUB_OPT_RETAIN_AS_PUBLISHED, NULL);
}

/* Takes the next message; then cameras have their turn. */
static gboolean
take_message (gpointer data)
{
  Item *item;

  (void) data;
  g_mutex_lock (&mqtt.lock);
  item = g_queue_pop_head (&mqtt.received);
  mqtt.taking = item != NULL;
  if (g_queue_get_length (&mqtt.received) == MAX_WAITING - 1)
    wake ();
  g_mutex_unlock (&mqtt.lock);
  if (!item)
    return G_SOURCE_REMOVE;
  mqtt.take (item->topic, item->text, item->retained);
  item_free (item);
  return G_SOURCE_CONTINUE;
}

static void
on_message (struct mosquitto *client, void *data, const struct mosquitto_message *message)
{
  Item *item;

  (void) client;
  (void) data;
  mqtt.answered = TRUE; /* this was asked for */
  if (mqtt.ending || !g_utf8_validate (message->topic, -1, NULL))
    return;
  item = g_new0 (Item, 1);
  item->topic = g_strdup (message->topic);
  item->retained = message->retain;
  if (message->payloadlen == 0)
    item->text = g_strdup ("");
  else if (message->payloadlen <= MAX_TEXT && g_utf8_validate (message->payload, message->payloadlen, NULL))
    item->text = g_strndup (message->payload, (gsize) message->payloadlen);
  g_mutex_lock (&mqtt.lock);
  g_queue_push_tail (&mqtt.received, item);
  if (!mqtt.taking)
    in_main (take_message, NULL);
  mqtt.taking = TRUE;
  g_mutex_unlock (&mqtt.lock);
}

static gboolean
may_read (void)
{
  gboolean may;

  g_mutex_lock (&mqtt.lock);
  may = mqtt.ending || g_queue_get_length (&mqtt.received) < MAX_WAITING;
  g_mutex_unlock (&mqtt.lock);
  return may;
}

static void
on_published (struct mosquitto *client, void *data, int id)
{
  (void) client;
  (void) data;
  for (GList *l = mqtt.sent.head; l; l = l->next) {
    Item *item = l->data;

    if (item->id != id)
      continue;
    mqtt.answered = TRUE;
    item_free (item);
    g_queue_delete_link (&mqtt.sent, l);
    return;
  }
}

/* An idle broker answers pings only, for which there is no other callback. */
static void
on_log (struct mosquitto *client, void *data, int level, const char *text)
{
  (void) client;
  (void) data;
  (void) level;
  mqtt.answered |= strstr (text, "received PINGRESP") != NULL;
}

/* The bytes that this thread may still read from the broker, -1: what it reads is not limited. */
static _Thread_local gssize readable = -1;

/* In one call libmosquitto reads a whole message, up to 256 MB. The dynamic linker finds this function before the C
 * library's: after `readable` bytes there is nothing more to read in this call. */
__attribute__ ((visibility ("default"))) ssize_t
read (int file, void *data, size_t size)
{
  gssize n;

  if (readable < 0)
    return syscall (SYS_read, file, data, size);
  if (readable == 0) {
    errno = EAGAIN;
    return -1;
  }
  n = syscall (SYS_read, file, data, MIN (size, (gsize) readable));
  readable -= MAX (n, 0);
  return n;
}

static int
read_some (struct mosquitto *client)
{
  int status;

  readable = MAX_UNASKED;
  status = mosquitto_loop_read (client, 1);
  readable = -1;
  return status;
}

/* Breaks a connection over which the broker sends more than answers and what is subscribed to: libmosquitto would
 * collect a message of any size. Returns libmosquitto's status. */
static int
check_amount (struct mosquitto *client, guint64 *before)
{
  struct tcp_info info = { 0 };
  socklen_t n = sizeof info;

  if (getsockopt (mosquitto_socket (client), IPPROTO_TCP, TCP_INFO, &info, &n))
    return MOSQ_ERR_SUCCESS; /* it is closed; the next call reports why */
  if (mqtt.answered)
    *before = info.tcpi_bytes_received;
  mqtt.answered = FALSE;
  if (info.tcpi_bytes_received - *before <= MAX_UNASKED)
    return MOSQ_ERR_SUCCESS;
  mqtt.accepted = FALSE; /* the next attempts come less and less often */
  mqtt.refused = TRUE;
  g_free (mqtt.why);
  mqtt.why = g_strdup ("it sends what it was not asked for");
  return MOSQ_ERR_PROTOCOL;
}

static void
publish_available (struct mosquitto *client, const char *text)
{
  g_autofree char *topic = g_strconcat (mqtt.prefix, "/available", NULL);

  mosquitto_publish (client, NULL, topic, (int) strlen (text), text, 1, TRUE);
}

static struct mosquitto *
make_client (void)
{
  g_autofree char *topic = g_strconcat (mqtt.prefix, "/available", NULL), *password = secrets_password ("mqtt");
  g_autofree char *user = mqtt.user ? g_strdup (mqtt.user) : secrets_user ("mqtt");
  struct mosquitto *client = mosquitto_new (NULL, TRUE, NULL);

  if (!client)
    return NULL;
  mosquitto_connect_callback_set (client, on_connect);
  mosquitto_publish_callback_set (client, on_published);
  mosquitto_log_callback_set (client, on_log);
  mosquitto_message_callback_set (client, on_message);
  if (mqtt.subscriptions)
    mosquitto_int_option (client, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
  mosquitto_will_set (client, topic, 7, "offline", 1, TRUE);
  if ((user && mosquitto_username_pw_set (client, user, password)) ||
      (mqtt.tls && mosquitto_tls_set (client, mqtt.ca, mqtt.ca ? NULL : "/etc/ssl/certs", NULL, NULL, NULL))) {
    mosquitto_destroy (client);
    return NULL;
  }
  return client;
}

/* Takes a message that the broker will not get. */
static void
lose (Item *item)
{
  g_mutex_lock (&mqtt.lock);
  mqtt.lost += !item->retained;
  g_mutex_unlock (&mqtt.lock);
  item_free (item);
}

/* Returns libmosquitto's status. */
static int
open_connection (struct mosquitto *client)
{
  mosquitto_property *limits = NULL;
  int status;

  if (mqtt.subscriptions)
    mosquitto_property_add_int32 (&limits, MQTT_PROP_MAXIMUM_PACKET_SIZE, 2 * MAX_TEXT);
  status = mosquitto_connect_bind_v5 (client, mqtt.host, mqtt.port, KEEP_ALIVE, NULL, limits);
  mosquitto_property_free_all (&limits);
  return status;
}

/* Hands queued messages to the client while it can send them. Returns libmosquitto's status. */
static int
send_queued (struct mosquitto *client)
{
  int status = MOSQ_ERR_SUCCESS;

  while (status == MOSQ_ERR_SUCCESS && !mosquitto_want_write (client) &&
      g_queue_get_length (&mqtt.sent) < MAX_UNACKNOWLEDGED) {
    Item *item;

    g_mutex_lock (&mqtt.lock);
    item = g_queue_pop_head (&mqtt.queue);
    g_mutex_unlock (&mqtt.lock);
    if (!item)
      break;
    if (item->answer) {
      mosquitto_publish (client, NULL, item->topic, (int) strlen (item->text), item->text, 0, FALSE);
      item_free (item);
      continue;
    }
    g_queue_push_tail (&mqtt.sent, item);
    status = mosquitto_publish (client, &item->id, item->topic, (int) strlen (item->text), item->text, 1,
        item->retained);
    /* The broker takes no such message, or MQTT has no such topic. The next ones are to arrive all the same. */
    if (status == MOSQ_ERR_OVERSIZE_PACKET || status == MOSQ_ERR_RETAIN_NOT_SUPPORTED || status == MOSQ_ERR_INVAL ||
        status == MOSQ_ERR_MALFORMED_UTF8 || status == MOSQ_ERR_PAYLOAD_SIZE) {
      lose (g_queue_pop_tail (&mqtt.sent));
      status = MOSQ_ERR_SUCCESS;
    }
  }
  return status;
}

/* Returns whether the program ends, and all is sent or it is too late for it. */
static gboolean
may_end (void)
{
  gboolean end;

  g_mutex_lock (&mqtt.lock);
  end = mqtt.ending &&
      ((mqtt.connected && g_queue_is_empty (&mqtt.queue) && g_queue_is_empty (&mqtt.sent)) ||
          g_get_monotonic_time () > mqtt.end_by);
  g_mutex_unlock (&mqtt.lock);
  return end;
}

/* Waits for the network, a new event, or some time. */
static void
wait_for (struct mosquitto *client, int ms)
{
  struct pollfd fds[2] = { { .fd = mqtt.wake, .events = POLLIN }, { .fd = -1 } };
  eventfd_t count;

  if (client) {
    fds[1].fd = mosquitto_socket (client);
    fds[1].events = (short) ((may_read () ? POLLIN : 0) | (mosquitto_want_write (client) ? POLLOUT : 0));
  }
  if (poll (fds, 2, ms) > 0 && fds[0].revents & POLLIN && eventfd_read (mqtt.wake, &count))
    return; /* another call has read it */
}

/* The broker's acknowledgements come behind the messages that it has sent before. When the program ends these stop, so
 * that an endless flood of commands does not take the time that there is for the last event. */
static void
unsubscribe (struct mosquitto *client)
{
  for (char **topic = mqtt.subscriptions; topic && *topic; topic++)
    mosquitto_unsubscribe (client, NULL, *topic);
  g_clear_pointer (&mqtt.subscriptions, g_strfreev);
}

/* Serves a connection until it breaks or the program ends. Returns libmosquitto's status. */
static int
serve (struct mosquitto *client)
{
  gint64 deadline = g_get_monotonic_time () + ANSWERS_WITHIN * G_USEC_PER_SEC;
  gboolean known = FALSE;
  guint64 before = 0; /* bytes up to the last answer */
  int status = MOSQ_ERR_SUCCESS;

  while (status == MOSQ_ERR_SUCCESS && !mqtt.refused && !may_end ()) {
    if (mqtt.accepted && !known) {
      known = TRUE;
      publish_available (client, "online");
      set_connected (TRUE, NULL);
    }
    if (known && mqtt.ending)
      unsubscribe (client);
    if (known)
      status = send_queued (client);
    else if (g_get_monotonic_time () > deadline)
      return MOSQ_ERR_CONN_LOST;
    if (status == MOSQ_ERR_SUCCESS) {
      wait_for (client, mqtt.ending ? 100 : 1000);
      if (may_read ())
        status = read_some (client);
    }
    if (status == MOSQ_ERR_SUCCESS)
      status = check_amount (client, &before);
    if (status == MOSQ_ERR_SUCCESS && mosquitto_want_write (client))
      status = mosquitto_loop_write (client, 1);
    if (status == MOSQ_ERR_SUCCESS)
      status = mosquitto_loop_misc (client);
  }
  return status;
}

/* What the broker has not acknowledged is sent again, before what is newer. */
static void
take_back (void)
{
  Item *item;

  g_mutex_lock (&mqtt.lock);
  while ((item = g_queue_pop_tail (&mqtt.sent)))
    g_queue_push_head (&mqtt.queue, item);
  g_mutex_unlock (&mqtt.lock);
}

/* Returns whether the broker accepted the connection. */
static gboolean
connect_once (void)
{
  struct mosquitto *client = make_client ();
  int status = client ? open_connection (client) : MOSQ_ERR_NOMEM;

  mqtt.accepted = mqtt.refused = FALSE;
  if (client && status == MOSQ_ERR_SUCCESS)
    status = serve (client);
  /* The program ends. If it does before all is acknowledged, libmosquitto may keep "offline" back. The connection then
   * ends without a good-bye, and the broker publishes the will. */
  if (client && status == MOSQ_ERR_SUCCESS && mqtt.accepted && g_queue_is_empty (&mqtt.sent)) {
    publish_available (client, "offline");
    mosquitto_disconnect (client);
  }
  if (!mqtt.refused) { /* else the broker has given its reason */
    g_free (mqtt.why);
    mqtt.why = g_strdup (!client       ? "the settings for TLS or the login were refused"
            : status == MOSQ_ERR_ERRNO ? g_strerror (errno)
            : status == MOSQ_ERR_MALFORMED_PACKET
            ? "what the broker has sent is malformed, or of another protocol version"
            : mosquitto_strerror (status));
  }
  mosquitto_destroy (client);
  take_back ();
  return mqtt.accepted;
}

static gpointer
mqtt_thread (gpointer data)
{
  gboolean reported = FALSE;
  int delay = FIRST_DELAY;

  (void) data;
  while (!mqtt.ending) {
    gint64 until;

    if (connect_once ()) {
      delay = FIRST_DELAY;
      reported = FALSE;
    }
    if (!mqtt.ending && !reported)
      set_connected (FALSE, mqtt.why);
    reported = TRUE; /* once, however many attempts fail */
    until = g_get_monotonic_time () + (gint64) delay * g_random_int_range (800, 1200);
    while (!mqtt.ending && g_get_monotonic_time () < until) /* events wake it, too */
      wait_for (NULL, (int) ((until - g_get_monotonic_time ()) / 1000) + 1);
    delay = MIN (delay * 2, LAST_DELAY);
  }
  g_mutex_lock (&mqtt.lock);
  mqtt.over = TRUE;
  g_cond_signal (&mqtt.ended);
  g_mutex_unlock (&mqtt.lock);
  return NULL;
}

/* ---- the main thread ----------------------------------------------------- */

void
mqtt_start (const Config *config, char **subscriptions, MqttTaker take)
{
  if (!config->mqtt.host)
    return;
  mosquitto_lib_init ();
  mqtt.on = TRUE;
  mqtt.host = g_strdup (config->mqtt.host);
  mqtt.prefix = g_strdup (config->mqtt.topic);
  mqtt.user = g_strdup (config->mqtt.user);
  mqtt.ca = g_strdup (config->mqtt.ca);
  mqtt.subscriptions = g_strdupv (subscriptions);
  mqtt.take = take;
  mqtt.port = (int) config->mqtt.port;
  mqtt.tls = config->mqtt.tls;
  mqtt.wake = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  g_thread_unref (g_thread_new ("mqtt", mqtt_thread, NULL));
}

/* Takes the topic. Returns the message, for its members. Call it with the lock held. */
static Item *
queue (char *topic, const char *text)
{
  Item *item = g_new0 (Item, 1);

  item->topic = topic;
  item->text = g_strdup (text);
  g_queue_push_tail (&mqtt.queue, item);
  return item;
}

void
mqtt_publish (const char *line, const char *camera, const char *type)
{
  if (!mqtt.on)
    return;
  g_mutex_lock (&mqtt.lock);
  queue (camera ? g_strdup_printf ("%s/%s/%s", mqtt.prefix, camera, type)
                : g_strdup_printf ("%s/%s", mqtt.prefix, type),
      line);
  if (g_queue_get_length (&mqtt.queue) > MAX_QUEUED) {
    item_free (g_queue_pop_head (&mqtt.queue)); /* the oldest */
    mqtt.lost++;
  }
  g_mutex_unlock (&mqtt.lock);
  wake ();
}

gboolean
mqtt_send (const char *topic, const char *text, gboolean retained)
{
  gboolean room;

  g_mutex_lock (&mqtt.lock);
  room = mqtt.connected && g_queue_get_length (&mqtt.queue) < MAX_QUEUED / 10;
  if (room) {
    Item *item = queue (g_strdup (topic), text);

    item->retained = retained;
    item->answer = !retained;
  }
  g_mutex_unlock (&mqtt.lock);
  if (room)
    wake ();
  return room;
}

void
mqtt_stop (void)
{
  if (!mqtt.on)
    return;
  g_mutex_lock (&mqtt.lock);
  mqtt.ending = TRUE;
  mqtt.end_by = g_get_monotonic_time () + END_WITHIN;
  wake ();
  while (!mqtt.over && g_cond_wait_until (&mqtt.ended, &mqtt.lock, mqtt.end_by + G_USEC_PER_SEC / 2))
    ;
  g_mutex_unlock (&mqtt.lock);
}

const char *
mqtt_state (void)
{
  return !mqtt.on ? "off" : mqtt.connected ? "connected" : "away";
}
#endif
