/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * topics.c: what a broker is for besides events.
 *
 *   house/door/enable/set off              a command, with `control`
 *   house/door/hide/roi/set 0.1,0.1,0.3,1  a property
 *   house/door/refused {"topic":...        why it is not done
 *   house/door/enable off                  what is so now, retained
 *   homeassistant/device/ID/config {...    a document for each camera, retained, with `discovery`
 *
 * All that is to be retained is listed anew when something may have changed, and what differs from the last list is
 * sent: so nothing stays of a camera that has left. */
#include "topics.h"

#include "mqtt.h"

#ifdef HAVE_MOSQUITTO
#include "../tools/line.h"
#include "control.h"
#include "elements.h"
#include "events.h"
#include "secrets.h"

#include <string.h>

#define SOON 50                            /* ms: what has changed is sent; several changes together */
#define EVERY 10                           /* s: so is the number of frames a second */
#define SAME_REFUSAL (60 * G_USEC_PER_SEC) /* a retained command is no event sooner */
#define MAX_VALUE (16 << 10)               /* bytes of a property that has a topic */
#define MAX_ZONES 64                       /* of a document */
#define MAX_SENDERS 64                     /* commands whose answers are to come */
#define ON_OFF(on) g_strdup ((on) ? "on" : "off")

static struct {
  Watch *watch;
  char *topic, *prefix; /* prefix: of Home Assistant; NULL: it is told nothing */
  gboolean control;
  GHashTable *now;  /* topic -> what is so, as it was listed last; NULL: there is no broker, or only events go there */
  GHashTable *sent; /* topic -> what the broker has; "": it may have anything */
  guint soon, senders;
  gboolean again; /* Home Assistant was there anew since the timer */
  gint64 refused_at;
} house;

/* ---- what is so now ------------------------------------------------------ */

static char *
topic_of (const Camera *camera, const char *what)
{
  return g_strdup_printf ("%s/%s/%s", house.topic, camera->settings->name, what);
}

/* Takes the text; NULL: it is not known, and stays what it was. */
static void
list (GHashTable *now, char *topic, char *text)
{
  if (!text)
    text = g_strdup (g_hash_table_lookup (house.now, topic));
  if (text)
    g_hash_table_replace (now, topic, text);
  else
    g_free (topic);
}

/* Returns "on" where all elements filter that can be switched; NULL: nobody knows. Free it. */
static char *
enabled_text (Camera *camera)
{
  g_autolist (GstElement) elements = NULL;
  gboolean all = TRUE;

  if (camera->state != CAMERA_UP)
    return NULL;
  elements = find_elements (pipeline_filter (camera->pipeline), "enabled");
  for (GList *l = elements; l; l = l->next) {
    gboolean on;

    g_object_get (l->data, "enabled", &on, NULL);
    all &= on;
  }
  return elements ? ON_OFF (all) : NULL;
}

/* Lists what commands have set, each at the topic without /set. */
static void
list_set (GHashTable *now, Camera *camera)
{
  JsonArray *set = overrides_list (camera->overrides);

  for (guint i = 0; i < json_array_get_length (set); i++) {
    JsonObject *one = json_array_get_object_element (set, i);
    const char *element = json_object_get_string_member (one, "element");
    const char *value = json_object_get_string_member (one, "value");
    g_autofree char *what = g_strdup_printf ("%s/%s", element, json_object_get_string_member (one, "property"));

    /* The second of a kind has no topic, nor has what is not in force. */
    if (!strpbrk (element, "/+#") && !json_object_has_member (one, "nth") && !json_object_has_member (one, "refused") &&
        !json_object_has_member (one, "missing") && strlen (value) <= MAX_VALUE)
      list (now, topic_of (camera, what), g_strdup (value));
  }
  json_array_unref (set);
}

static void
list_state (GHashTable *now, Camera *camera, gboolean count)
{
  JsonObject *record = recorder_status (camera->recorder);
  const int when = recorder_when (camera->recorder);

  list (now, topic_of (camera, "state"), g_strdup (camera_state_name (camera->state)));
  list (now, topic_of (camera, "fps"), count ? g_strdup_printf ("%.0f", camera->fps) : NULL);
  list (now, topic_of (camera, "moving"), ON_OFF (json_object_get_boolean_member (record, "motion")));
  list (now, topic_of (camera, "enable"), enabled_text (camera));
  if (camera->settings->record.folder)
    list (now, topic_of (camera, "record"), when < 0 ? g_strdup ("auto") : ON_OFF (when == WHEN_ALWAYS));
  list_set (now, camera);
  json_object_unref (record);
}

/* ---- Home Assistant ------------------------------------------------------ */

/* Returns the camera's id. Only letters, digits, - and _ may be in it; whatever else is, and _ as well, is _ and two
 * digits. Free it. */
static char *
id_of (const Camera *camera)
{
  g_autofree char *name = topic_of (camera, "");
  GString *id = g_string_new (NULL);

  for (const char *c = name; c[1]; c++) /* without the last / */
    if (g_ascii_isalnum (*c) || *c == '-')
      g_string_append_c (id, *c);
    else
      g_string_append_printf (id, "_%02x", (guint) (guchar) *c);
  return g_string_free (id, FALSE);
}

/* Adds what Home Assistant calls an entity. `state`, `command`: parts of topics; NULL: it has none. Returns it, for
 * more members. */
static JsonObject *
add_entity (JsonObject *entities, const Camera *camera, const char *id, const char *platform, const char *key,
    const char *name, const char *state, const char *command)
{
  g_autofree char *unique = g_strdup_printf ("%s_%s", id, key), *read = state ? topic_of (camera, state) : NULL;
  g_autofree char *set = command ? topic_of (camera, command) : NULL;
  JsonObject *entity = object_of ("platform", word_node (platform), "unique_id", text_node (unique), "name",
      text_node (name), "state_topic", read ? text_node (read) : NULL, "command_topic", set ? text_node (set) : NULL,
      NULL);

  json_object_set_object_member (entities, key, entity);
  return entity;
}

static void
add_words (JsonObject *entity, const char *on, const char *off)
{
  json_object_set_string_member (entity, "payload_on", on);
  json_object_set_string_member (entity, "payload_off", off);
}

/* Adds a sensor of motion for each zone of cudamedian. Its state is what the last event said. */
static void
add_zones (JsonObject *entities, Camera *camera, const char *id)
{
  g_autolist (GstElement) elements = find_elements (pipeline_filter (camera->pipeline), "zones");

  for (GList *l = elements; l; l = l->next) {
    g_autofree char *text = NULL;
    g_auto (GStrv) zones = NULL;

    g_object_get (l->data, "zones", &text, NULL);
    zones = g_strsplit (text && !strcmp (element_kind (l->data), "cudamedian") ? text : "", ";", -1);
    for (guint i = 0; zones[i] && i < MAX_ZONES; i++) {
      g_auto (GStrv) part = g_strsplit (zones[i], ":", 2);
      g_autofree char *key = NULL, *quoted = NULL, *template = NULL;
      g_autoptr (JsonNode) name = NULL;
      JsonObject *entity;

      if (g_strv_length (part) < 2)
        continue;
      name = text_node (g_strstrip (part[0]));
      quoted = json_to_string (name, FALSE); /* a text of JSON is one of the templates' language, too */
      key = g_strdup_printf ("zone_%s", json_node_get_string (name));
      template = g_strdup_printf ("{%% if value_json.name == 'cudamedian' and value_json.fields.zone == %s %%}"
                                  "{{ value_json.fields.event }}{%% endif %%}",
          quoted);
      entity = add_entity (entities, camera, id, "binary_sensor", key, json_node_get_string (name), "element", NULL);
      json_object_set_string_member (entity, "value_template", template);
      json_object_set_string_member (entity, "device_class", "motion");
      add_words (entity, "enter-zone", "leave-zone");
    }
  }
}

/* Adds a sensor of what happens to the camera, if a cudamedian reports that. It is on from the start of a state to the
 * next end of one. */
static void
add_tamper (JsonObject *entities, Camera *camera, const char *id)
{
  g_autolist (GstElement) elements = find_elements (pipeline_filter (camera->pipeline), "tamper");
  gboolean tamper = FALSE;
  JsonObject *entity;

  for (GList *l = elements; l && !tamper; l = l->next)
    g_object_get (l->data, "tamper", &tamper, NULL);
  if (!tamper)
    return;
  entity = add_entity (entities, camera, id, "binary_sensor", "tamper", "Tamper", "element", NULL);
  json_object_set_string_member (entity, "value_template",
      "{% set e = value_json.fields.event | default('') %}"
      "{% if value_json.name == 'cudamedian' and not e.startswith('motion') %}"
      "{{ 'on' if e.endswith('-start') else 'off' if e.endswith('-stop') else '' }}{% endif %}");
  json_object_set_string_member (entity, "device_class", "tamper");
  add_words (entity, "on", "off");
}

static JsonObject *
entities_of (Camera *camera, const char *id)
{
  JsonObject *entities = json_object_new (), *entity;

  entity = add_entity (entities, camera, id, "binary_sensor", "motion", "Motion", "moving", NULL);
  json_object_set_string_member (entity, "device_class", "motion");
  add_words (entity, "on", "off");
  entity = add_entity (entities, camera, id, "sensor", "fps", "Frames", "fps", NULL);
  json_object_set_string_member (entity, "unit_of_measurement", "fps");
  json_object_set_string_member (entity, "state_class", "measurement");
  json_object_set_string_member (entity, "entity_category", "diagnostic");
  if (camera->state == CAMERA_UP) {
    add_zones (entities, camera, id);
    add_tamper (entities, camera, id);
  }
  if (!house.control)
    return entities;
  if (*camera->settings->filter) {
    entity = add_entity (entities, camera, id, "switch", "filter", "Filter", "enable", "enable/set");
    add_words (entity, "on", "off");
  }
  if (camera->settings->record.folder) {
    entity = add_entity (entities, camera, id, "select", "record", "Recording", "record", "record/set");
    json_object_set_member (entity, "options", json_from_string ("[\"on\",\"off\",\"auto\"]", NULL));
  }
  entity = add_entity (entities, camera, id, "button", "trigger", "Trigger", NULL, "trigger/set");
  json_object_set_string_member (entity, "payload_press", "");
  return entities;
}

/* Returns the two topics that say whether the others are up to date: the process's and the camera's. */
static JsonArray *
availability_of (const Camera *camera)
{
  g_autofree char *process = g_strconcat (house.topic, "/available", NULL), *state = topic_of (camera, "state");
  JsonArray *topics = json_array_new ();

  json_array_add_object_element (topics, object_of ("topic", text_node (process), NULL));
  json_array_add_object_element (topics,
      object_of ("topic", text_node (state), "value_template",
          word_node ("{{ 'online' if value == 'up' else 'offline' }}"), NULL));
  return topics;
}

/* Lists the camera's document. While the camera is away nobody knows its zones, and the last one stays. */
static void
list_document (GHashTable *now, Camera *camera)
{
  g_autofree char *id = id_of (camera), *topic = g_strdup_printf ("%s/device/%s/config", house.prefix, id);
  JsonArray *ids;
  JsonObject *document;

  if (camera->state != CAMERA_UP && g_hash_table_contains (house.now, topic)) {
    list (now, g_steal_pointer (&topic), NULL);
    return;
  }
  ids = json_array_new ();
  json_array_add_string_element (ids, id);
  document = object_of ("device",
      object_node (object_of ("identifiers", array_node (ids), "name", text_node (camera->settings->name), "model",
          word_node ("cf-watch"), "sw_version", word_node (PACKAGE_VERSION), NULL)),
      "origin",
      object_node (object_of ("name", word_node ("cf-watch"), "sw_version", word_node (PACKAGE_VERSION), NULL)),
      "availability", array_node (availability_of (camera)), "availability_mode", word_node ("all"), "components",
      object_node (entities_of (camera, id)), NULL);
  list (now, g_steal_pointer (&topic), json_line (document));
}

/* ---- sending ------------------------------------------------------------- */

/* Sends what differs from what the broker has. What finds no room is sent later. */
static void
send_changes (void)
{
  GHashTableIter iter;
  gpointer topic, text;

  g_hash_table_iter_init (&iter, house.sent);
  while (g_hash_table_iter_next (&iter, &topic, NULL))
    if (!g_hash_table_contains (house.now, topic) && mqtt_send (topic, "", TRUE))
      g_hash_table_iter_remove (&iter);
  g_hash_table_iter_init (&iter, house.now);
  while (g_hash_table_iter_next (&iter, &topic, &text))
    if (g_strcmp0 (text, g_hash_table_lookup (house.sent, topic)) && mqtt_send (topic, text, TRUE))
      g_hash_table_replace (house.sent, g_strdup (topic), g_strdup (text));
}

/* When the process ends, its cameras go, but not for good. */
static void
refresh (gboolean count)
{
  GHashTable *now;

  if (house.watch->ending)
    return;
  now = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  for (guint i = 0; i < house.watch->cameras->len; i++) {
    Camera *camera = house.watch->cameras->pdata[i];

    list_state (now, camera, count);
    if (house.prefix)
      list_document (now, camera);
  }
  g_hash_table_unref (house.now);
  house.now = now;
  send_changes ();
}

static gboolean
on_soon (gpointer data)
{
  (void) data;
  house.soon = 0;
  refresh (FALSE);
  return G_SOURCE_REMOVE;
}

static void
refresh_soon (void)
{
  if (!house.soon)
    house.soon = g_timeout_add (SOON, on_soon, NULL);
}

/* Has everything sent again. */
static void
send_again (void)
{
  GHashTableIter iter;

  g_hash_table_iter_init (&iter, house.sent);
  while (g_hash_table_iter_next (&iter, NULL, NULL))
    g_hash_table_iter_replace (&iter, g_strdup (""));
  refresh_soon ();
}

/* ---- commands ------------------------------------------------------------ */

/* Returns the beginning of a topic. Passwords are hidden before it is cut: a part of one would not be recognised. Free
 * it. */
static char *
start_of (const char *topic)
{
  g_autofree char *clean = secrets_hide (topic);

  return g_strdup_printf ("%.200s", clean);
}

/* Says at the broker why a message is not done. Takes the answer. */
static void
refuse (const char *topic, const char *camera, JsonObject *answer)
{
  g_autofree char *at = camera ? g_strdup_printf ("%s/%s/refused", house.topic, camera)
                               : g_strdup_printf ("%s/refused", house.topic);
  g_autofree char *start = start_of (topic), *text = NULL;

  text = json_line (object_of ("topic", text_node (start), "error",
      text_node (json_object_get_string_member (answer, "error")), NULL));
  json_object_unref (answer);
  mqtt_send (at, text, FALSE); /* whoever floods it with commands gets no answers */
}

/* Who gave a command whose answer comes later. */
typedef struct {
  char *topic, *camera;
} Sender;

/* A ControlAnswer. */
static void
on_answer (gpointer from, JsonObject *answer)
{
  Sender *sender = from;

  if (json_object_get_boolean_member (answer, "ok"))
    json_object_unref (answer);
  else
    refuse (sender->topic, watch_find (house.watch, sender->camera) ? sender->camera : NULL, answer);
  house.senders--;
  g_free (sender->topic);
  g_free (sender->camera);
  g_free (sender);
}

/* A broker gives a retained message to each new connection: a command of last year would come again and again. */
static void
refuse_retained (const char *topic, const char *camera)
{
  static const char reason[] = "it is retained, so it would come again with each connection: publish it without";
  const gint64 now = g_get_monotonic_time ();
  g_autofree char *start = start_of (topic);

  refuse (topic, camera, error_of ("%s", reason));
  if (house.refused_at && now - house.refused_at < SAME_REFUSAL)
    return;
  house.refused_at = now;
  event_post (camera, "command-refused", "topic", text_node (start), "reason", text_node (reason), NULL);
}

/* Executes the message at CAMERA/COMMAND/set or CAMERA/ELEMENT/PROPERTY/set, whose parts these are. */
static void
take_command (const char *topic, char **part, const char *text, gboolean retained)
{
  const gboolean property = g_strv_length (part) == 4;
  const char *camera = watch_find (house.watch, part[0]) ? part[0] : NULL;
  g_autofree char *target = property ? g_strconcat (part[1], ".", part[2], NULL) : NULL;
  char *words[5] = { property ? (char *) "set" : part[1], part[0] };
  JsonObject *answer;
  Sender *sender;

  if (retained) {
    if (!text || *text) /* else somebody takes one back */
      refuse_retained (topic, camera);
    return;
  }
  if (!text || house.senders >= MAX_SENDERS) {
    refuse (topic, camera,
        text ? error_of ("%d commands wait already", MAX_SENDERS)
             : error_of ("it is not UTF-8 text, or longer than 64 KiB"));
    return;
  }
  if (property)
    words[2] = target;
  if (property || *text)
    words[property ? 3 : 2] = (char *) text;
  house.senders++;
  sender = g_new0 (Sender, 1);
  sender->topic = g_strdup (topic);
  sender->camera = g_strdup (part[0]);
  if ((answer = control_call (house.watch, ROLE_OPERATOR, "mqtt", words, on_answer, sender)))
    on_answer (sender, answer);
}

/* An MqttTaker. */
static void
take_message (const char *topic, const char *text, gboolean retained)
{
  const gsize n = strlen (house.topic);
  g_auto (GStrv) part = NULL;
  guint parts;

  if (house.prefix && g_str_has_prefix (topic, house.prefix) && !strcmp (topic + strlen (house.prefix), "/status")) {
    if (!g_strcmp0 (text, "online") && !house.again) { /* once in a while, whoever says so */
      house.again = TRUE;
      send_again ();
    }
    return;
  }
  if (!house.control || strncmp (topic, house.topic, n) || topic[n] != '/')
    return;
  part = g_strsplit (topic + n + 1, "/", 5);
  parts = g_strv_length (part);
  if ((parts == 3 || parts == 4) && !strcmp (part[parts - 1], "set"))
    take_command (topic, part, text, retained);
}

/* ---- the broker ---------------------------------------------------------- */

static gboolean
on_timer (gpointer data)
{
  (void) data;
  house.again = FALSE;
  refresh (TRUE);
  return G_SOURCE_CONTINUE;
}

void
topics_see_event (const char *type)
{
  if (!house.now)
    return;
  if (!strcmp (type, "broker-connected"))
    send_again ();
  else if (strcmp (type, "element")) /* which may come with each frame */
    refresh_soon ();
}

void
topics_start (Watch *watch, const Config *config)
{
  g_autoptr (GPtrArray) topics = g_ptr_array_new_with_free_func (g_free);

  house.watch = watch;
  house.topic = g_strdup (config->mqtt.topic);
  house.prefix = g_strdup (config->mqtt.discovery);
  house.control = config->mqtt.control;
  if (house.control) {
    g_ptr_array_add (topics, g_strdup_printf ("%s/+/+/set", house.topic));
    g_ptr_array_add (topics, g_strdup_printf ("%s/+/+/+/set", house.topic));
  }
  if (house.prefix)
    g_ptr_array_add (topics, g_strdup_printf ("%s/status", house.prefix));
  if (topics->len > 0) {
    house.now = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
    house.sent = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
    g_timeout_add_seconds (EVERY, on_timer, NULL);
  }
  g_ptr_array_add (topics, NULL);
  mqtt_start (config, topics->len > 1 ? (char **) topics->pdata : NULL, take_message);
}
#endif
