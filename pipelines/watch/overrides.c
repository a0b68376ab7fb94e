/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * overrides.c: what was set by command on a camera's filter.
 *
 * Nothing that was hidden by command may show again by itself. A value that a new element refuses (a mask whose file is
 * away) is not forgotten: the element gets no other value in its place, so that it filters the whole frame, and the
 * value is tried again. */
#include "overrides.h"

#include "elements.h"
#include "events.h"
#include "look.h"
#include "may.h"
#include "reader.h"
#include "threads.h"

#include <gst/video/video.h>
#include <stdatomic.h>
#include <string.h>

/* Which element of a line: by its name, or else as the nth of its kind. */
typedef struct {
  char *kind, *name; /* name NULL: the line gives it none */
  guint nth;
} Key;

/* Sets a property in a thread of its own, since reading a mask may wait for a disk. */
typedef struct {
  gatomicrefcount count;
  GstElement *element;
  char *property, *value;
  _Atomic int done;
} Retry;

typedef struct {
  Key key;
  char *property, *value;
  gboolean refused; /* the element filters the whole frame instead, or does not start */
  gboolean loaded;  /* from a file, and no pipeline has had it yet */
  gboolean gone;    /* the line has no such element */
  gboolean open;    /* an operator has set it where nothing hid */
  Retry *retry;     /* NULL: none is under way */
} Override;

/* Where a region in pixels was set. */
typedef struct {
  Key key;
  char *roi, *size, *frames; /* size: the frames that roi counts in; frames: the last ones */
} Place;

struct Overrides {
  char *camera;
  GPtrArray *list;   /* of Override, in the order in which they were set */
  GPtrArray *places; /* of Place */
};

static void
clear_key (Key *key)
{
  g_free (key->kind);
  g_free (key->name);
}

static void
retry_unref (Retry *retry)
{
  if (!retry || !g_atomic_ref_count_dec (&retry->count))
    return;
  gst_object_unref (retry->element);
  g_free (retry->property);
  g_free (retry->value);
  g_free (retry);
}

static void
override_free (gpointer data)
{
  Override *override = data;

  clear_key (&override->key);
  g_free (override->property);
  g_free (override->value);
  retry_unref (override->retry);
  g_free (override);
}

static void
place_free (gpointer data)
{
  Place *place = data;

  clear_key (&place->key);
  g_free (place->roi);
  g_free (place->size);
  g_free (place->frames);
  g_free (place);
}

Overrides *
overrides_new (const char *camera)
{
  Overrides *overrides = g_new (Overrides, 1);

  overrides->camera = g_strdup (camera);
  overrides->list = g_ptr_array_new_with_free_func (override_free);
  overrides->places = g_ptr_array_new_with_free_func (place_free);
  return overrides;
}

void
overrides_free (Overrides *overrides)
{
  g_free (overrides->camera);
  g_ptr_array_unref (overrides->list);
  g_ptr_array_unref (overrides->places);
  g_free (overrides);
}

/* ---- elements ------------------------------------------------------------ */

/* Returns whether the line gives the element its name. Others are made of the type: GstCudaMedian, cudamedian0. */
static gboolean
has_own_name (GstElement *element)
{
  const char *type = G_OBJECT_TYPE_NAME (element), *name = GST_OBJECT_NAME (element);
  const gsize n = strlen (type) - (g_str_has_prefix (type, "Gst") ? 3 : 0);

  type += strlen (type) - n;
  return g_ascii_strncasecmp (name, type, n) || !name[n] || strspn (name + n, "0123456789") != strlen (name + n);
}

static Key
key_of (GList *elements, guint index)
{
  GstElement *element = g_list_nth_data (elements, index);
  Key key = { g_strdup (element_kind (element)), has_own_name (element) ? g_strdup (GST_OBJECT_NAME (element)) : NULL,
    0 };

  for (GList *l = elements; l->data != element; l = l->next)
    key.nth += !strcmp (element_kind (l->data), key.kind);
  return key;
}

/* Returns the index of the key's element in the list, -1: it is not there. If no element of its kind has its name, the
 * nth of the kind counts. */
static int
find (GList *elements, const Key *key)
{
  int index = 0, found = -1;
  guint n = 0;

  for (GList *l = elements; l; l = l->next, index++) {
    if (strcmp (element_kind (l->data), key->kind))
      continue;
    if (key->name && !strcmp (GST_OBJECT_NAME (l->data), key->name))
      return index;
    if (n++ == key->nth)
      found = index;
  }
  return found;
}

static GParamSpec *
find_property (gpointer element, const char *property)
{
  return g_object_class_find_property (G_OBJECT_GET_CLASS (element), property);
}

/* ---- values -------------------------------------------------------------- */

static gboolean
read_value (GParamSpec *spec, const char *text, GValue *value)
{
  g_value_init (value, spec->value_type);
  if (spec->value_type != G_TYPE_STRING)
    return gst_value_deserialize (value, text);
  g_value_set_string (value, text);
  return TRUE;
}

static void
set_property (GObject *element, const char *property, const char *text)
{
  GParamSpec *spec = find_property (element, property);
  GValue value = G_VALUE_INIT;

  if (read_value (spec, text, &value) && !g_param_value_validate (spec, &value))
    g_object_set_property (element, spec->name, &value);
  g_value_unset (&value);
}

/* Returns whether the element has the value. */
static gboolean
has_value (GObject *element, GParamSpec *spec, const GValue *value)
{
  GValue now = G_VALUE_INIT;
  gboolean same;

  g_value_init (&now, spec->value_type);
  g_object_get_property (element, spec->name, &now);
  same = g_param_values_cmp (spec, value, &now) == 0;
  g_value_unset (&now);
  return same;
}

static gboolean
is_in_force (GObject *element, const Override *override)
{
  GParamSpec *spec = find_property (element, override->property);
  GValue value = G_VALUE_INIT;
  gboolean same = read_value (spec, override->value, &value) && has_value (element, spec, &value);

  g_value_unset (&value);
  return same;
}

/* Sets a value on an element that has not started. If the element refuses it, clears the property, sets it again and
 * returns whether the element takes it now: without a former value, an element filters the whole frame. */
static gboolean
put (GObject *element, const Override *override)
{
  GParamSpec *spec = find_property (element, override->property);

  set_property (element, override->property, override->value);
  if (spec->value_type != G_TYPE_STRING || !find_property (element, "active-backend") ||
      is_in_force (element, override))
    return TRUE;
  g_object_set (element, override->property, NULL, NULL);
  set_property (element, override->property, override->value);
  return is_in_force (element, override);
}

/* ---- reports ------------------------------------------------------------- */

static void
add_name (JsonArray *names, const Override *override, int index)
{
  g_autofree char *name = index < 0
      ? g_strdup_printf ("%s.%s", override->key.name ? override->key.name : override->key.kind, override->property)
      : g_strdup_printf ("%d.%s", index, override->property);

  json_array_add_string_element (names, name);
}

/* Posts the event if there are names. Takes them. */
static void
report (const Overrides *overrides, const char *type, JsonArray *names, const char *reason)
{
  if (json_array_get_length (names) == 0)
    json_array_unref (names);
  else
    event_post (overrides->camera, type, "settings", array_node (names), "reason", reason ? text_node (reason) : NULL,
        NULL);
}

/* ---- commands ------------------------------------------------------------ */

/* Returns the element's index, -1: there is none. */
static int
find_element (GList *elements, const char *name)
{
  char *end;
  guint64 place = g_ascii_strtoull (name, &end, 10);
  int index = 0, kind = -1;

  if (g_ascii_isdigit (name[0]) && !*end)
    return place < g_list_length (elements) ? (int) place : -1;
  for (GList *l = elements; l; l = l->next, index++) {
    if (!strcmp (GST_OBJECT_NAME (l->data), name))
      return index;
    if (kind < 0 && !strcmp (element_kind (l->data), name))
      kind = index;
  }
  return kind;
}

GParamSpec *
overrides_find (GList *elements, const char *target, int *index, GString *wrong)
{
  const char *dot = strrchr (target, '.');
  g_autofree char *name = dot ? g_strndup (target, (gsize) (dot - target)) : NULL;
  GParamSpec *spec = NULL;

  if (!dot || dot == target || !dot[1]) {
    g_string_append_printf (wrong, "\"%s\" is not ELEMENT.PROPERTY, as in cudamedian.kernel-size", target);
    return NULL;
  }
  *index = find_element (elements, name);
  if (*index < 0) {
    g_string_append_printf (wrong, "the filter has no element \"%s\"; it has", name);
    for (GList *l = elements; l; l = l->next)
      g_string_append_printf (wrong, " %s",
          has_own_name (l->data) ? GST_OBJECT_NAME (l->data) : element_kind (l->data));
  } else if (!(spec = find_property (g_list_nth_data (elements, (guint) *index), dot + 1)))
    g_string_append_printf (wrong, "%s has no property \"%s\"",
        element_kind (g_list_nth_data (elements, (guint) *index)), dot + 1);
  return spec;
}

/* Keeps a value that was set on an element of the list. Returns whether the value before it was refused. */
static gboolean
keep (Overrides *overrides, GList *elements, guint index, const char *property, const char *value, gboolean open)
{
  Override *override = g_new0 (Override, 1);
  gboolean was_refused = FALSE;

  override->key = key_of (elements, index);
  override->property = g_strdup (property);
  override->value = g_strdup (value);
  override->open = open;
  for (guint i = 0; i < overrides->list->len; i++) {
    Override *old = overrides->list->pdata[i];

    if (find (elements, &old->key) != (int) index || strcmp (old->property, property))
      continue;
    was_refused = old->refused;
    /* A retry of the old value that still waits for the disk may come after the new one. */
    override->retry = g_steal_pointer (&old->retry);
    override->refused = override->retry != NULL;
    g_ptr_array_remove_index (overrides->list, i);
    break;
  }
  g_ptr_array_add (overrides->list, override);
  for (guint i = 0; i < overrides->places->len; i++) {
    Place *place = overrides->places->pdata[i];

    /* What is set while the camera is away is meant for the frames that it had. */
    if (!strcmp (property, "roi") && find (elements, &place->key) == (int) index) {
      g_free (place->roi);
      g_free (place->size);
      place->roi = g_strdup (value);
      place->size = g_strdup (place->frames);
    }
  }
  return was_refused;
}

/* Makes the text a value of the property's type and range. */
static gboolean
check_value (GParamSpec *spec, const char *text, GValue *value, GString *wrong)
{
  if (!read_value (spec, text, value))
    g_string_append_printf (wrong, "\"%s\" is no value of %s (%s)", text, spec->name, g_type_name (spec->value_type));
  else if (g_param_value_validate (spec, value))
    g_string_append_printf (wrong, "%s cannot be \"%s\": out of range", spec->name, text);
  return wrong->len == 0;
}

gboolean
overrides_check_changeable (GParamSpec *spec, GString *wrong)
{
  guint flags = (guint) spec->flags;

  if (!(flags & G_PARAM_WRITABLE) || flags & G_PARAM_CONSTRUCT_ONLY || !strcmp (spec->name, "name"))
    g_string_append_printf (wrong, "%s cannot be set", spec->name);
  else if (flags & (GST_PARAM_MUTABLE_READY | GST_PARAM_MUTABLE_PAUSED) && !(flags & GST_PARAM_MUTABLE_PLAYING))
    g_string_append_printf (wrong, "%s cannot change while frames come: change it in the file, and reload", spec->name);
  return wrong->len == 0;
}

/* What an element says while this thread sets its property. Warnings from other threads are about frames, and do not
 * count. */
static _Thread_local struct {
  GstElement *element;
  char *text; /* NULL: nothing yet */
} asked;

static void
on_sync_warning (GstBus *bus, GstMessage *message, gpointer data)
{
  (void) bus;
  (void) data;
  if (asked.element && GST_MESSAGE_SRC (message) == GST_OBJECT (asked.element) && !asked.text &&
      is_about_settings (message))
    asked.text = message_text (message);
}

/* Sets a property of an element, whose pipeline has the bus (NULL: it has none). Returns FALSE if the element keeps the
 * value that it had, and says why. What it only advises against is set. */
static gboolean
try_value (GstElement *element, GstBus *bus, GParamSpec *spec, const GValue *value, GString *wrong)
{
  g_autofree char *text = NULL;
  gulong handler = 0;

  if (bus) {
    gst_bus_enable_sync_message_emission (bus);
    handler = g_signal_connect (bus, "sync-message::warning", G_CALLBACK (on_sync_warning), NULL);
  }
  asked.element = element;
  g_object_set_property (G_OBJECT (element), spec->name, value);
  asked.element = NULL;
  text = g_steal_pointer (&asked.text);
  if (bus) {
    g_signal_handler_disconnect (bus, handler);
    gst_bus_disable_sync_message_emission (bus);
  }
  if (!text || has_value (G_OBJECT (element), spec, value))
    return TRUE;
  g_string_append (wrong, text);
  return FALSE;
}

gboolean
overrides_set (Overrides *overrides, GList *elements, GstBus *bus, const char *target, const char *value, gboolean open,
    gboolean *was_refused, GString *wrong)
{
  GValue read = G_VALUE_INIT;
  GParamSpec *spec;
  gboolean ok;
  int index;

  if (!(spec = overrides_find (elements, target, &index, wrong)) || !overrides_check_changeable (spec, wrong))
    return FALSE;
  ok = check_value (spec, value, &read, wrong) &&
      try_value (g_list_nth_data (elements, (guint) index), bus, spec, &read, wrong);
  if (ok) {
    *was_refused = keep (overrides, elements, (guint) index, spec->name, value, open);
    if (bus) /* in the file a region has the size of the frames that it was set for */
      overrides_note_sizes (overrides, elements);
  }
  g_value_unset (&read);
  return ok;
}

void
overrides_enable (Overrides *overrides, GList *elements, gboolean on, gboolean open, GString *wrong)
{
  gboolean any = FALSE;
  guint index = 0;

  for (GList *l = elements; l; l = l->next, index++) {
    GParamSpec *spec = find_property (l->data, "enabled");

    if (!spec || spec->value_type != G_TYPE_BOOLEAN)
      continue;
    g_object_set (l->data, "enabled", on, NULL);
    keep (overrides, elements, index, "enabled", on ? "true" : "false", open);
    any = TRUE;
  }
  if (elements && !any)
    g_string_append (wrong, "no element of the filter has the property \"enabled\"");
}

JsonNode *
overrides_get (GList *elements, const char *target, GString *wrong)
{
  GValue value = G_VALUE_INIT;
  GParamSpec *spec;
  JsonNode *node;
  int index;

  if (!(spec = overrides_find (elements, target, &index, wrong)))
    return NULL;
  if (!(spec->flags & G_PARAM_READABLE)) {
    g_string_append_printf (wrong, "%s cannot be read", spec->name);
    return NULL;
  }
  g_value_init (&value, spec->value_type);
  g_object_get_property (g_list_nth_data (elements, (guint) index), spec->name, &value);
  node = value_node (&value);
  g_value_unset (&value);
  return node;
}

/* ---- files --------------------------------------------------------------- */

static JsonObject *
key_json (const Key *key)
{
  return object_of ("kind", word_node (key->kind), "nth", int_node (key->nth), "name",
      key->name ? word_node (key->name) : NULL, NULL);
}

JsonObject *
overrides_json (const Overrides *overrides)
{
  JsonArray *values = json_array_new (), *sizes = json_array_new ();

  for (guint i = 0; i < overrides->list->len; i++) {
    const Override *override = overrides->list->pdata[i];
    JsonObject *object = key_json (&override->key);

    json_object_set_string_member (object, "property", override->property);
    json_object_set_string_member (object, "value", override->value);
    if (override->open)
      json_object_set_boolean_member (object, "open", TRUE);
    json_array_add_object_element (values, object);
  }
  for (guint i = 0; i < overrides->places->len; i++) {
    const Place *place = overrides->places->pdata[i];
    JsonObject *object = key_json (&place->key);

    json_object_set_string_member (object, "roi", place->roi);
    json_object_set_string_member (object, "size", place->size ? place->size : "");
    json_object_set_string_member (object, "frames", place->frames);
    json_array_add_object_element (sizes, object);
  }
  return object_of ("values", array_node (values), "sizes", array_node (sizes), NULL);
}

#define KEY(type) \
  { "kind", FIELD_TEXT, G_STRUCT_OFFSET (type, key.kind) }, { "name", FIELD_TEXT, G_STRUCT_OFFSET (type, key.name) }, \
      { "nth", FIELD_UINT, G_STRUCT_OFFSET (type, key.nth), 0, 1000 }

static const Field override_fields[] = {
  KEY (Override),
  { "property", FIELD_TEXT, G_STRUCT_OFFSET (Override, property) },
  { "value", FIELD_TEXT, G_STRUCT_OFFSET (Override, value) },
  { "open", FIELD_BOOL, G_STRUCT_OFFSET (Override, open) },
  { NULL },
};

static const Field place_fields[] = {
  KEY (Place),
  { "roi", FIELD_TEXT, G_STRUCT_OFFSET (Place, roi) },
  { "size", FIELD_TEXT, G_STRUCT_OFFSET (Place, size) },
  { "frames", FIELD_TEXT, G_STRUCT_OFFSET (Place, frames) },
  { NULL },
};

/* Adds structs of this size, filled by the objects of a list. An object has to have all members but the name. */
static void
load_list (Reader *reader, JsonObject *object, const char *list, const Field *fields, gsize size, GPtrArray *to)
{
  JsonNode *node = json_object_get_member (object, list);
  JsonArray *array = node && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;

  if (!array)
    reader_fault (reader, object, "", list, "has to be a list");
  for (guint i = 0; array && i < json_array_get_length (array); i++) {
    JsonNode *element = json_array_get_element (array, i);
    gpointer one = g_malloc0 (size);

    g_ptr_array_add (to, one);
    if (!JSON_NODE_HOLDS_OBJECT (element))
      reader_fault (reader, object, "", list, "has to be a list of objects");
    else if (reader_fill (reader, json_node_get_object (element), list, fields, one))
      for (const Field *field = fields; field->name; field++)
        if (field->kind == FIELD_TEXT && strcmp (field->name, "name") && !G_STRUCT_MEMBER (char *, one, field->offset))
          reader_fault (reader, object, list, field->name, "is missing");
  }
}

gboolean
overrides_load (Overrides *overrides, JsonObject *object, GString *wrong)
{
  static const Field fields[] = { { "values", FIELD_OTHER }, { "sizes", FIELD_OTHER }, { NULL } };
  Reader reader;

  reader_init (&reader, NULL, NULL, wrong);
  if (reader_fill (&reader, object, "", fields, NULL)) {
    load_list (&reader, object, "values", override_fields, sizeof (Override), overrides->list);
    load_list (&reader, object, "sizes", place_fields, sizeof (Place), overrides->places);
  }
  reader_clear (&reader);
  for (guint i = 0; i < overrides->list->len; i++)
    ((Override *) overrides->list->pdata[i])->loaded = TRUE;
  for (guint i = 0; i < overrides->places->len; i++) {
    Place *place = overrides->places->pdata[i];

    if (place->size && !*place->size)
      g_clear_pointer (&place->size, g_free);
  }
  if (wrong->len) { /* nothing of it counts; the camera stays closed */
    overrides_forget (overrides);
    g_ptr_array_set_size (overrides->places, 0);
  }
  return wrong->len == 0;
}

gboolean
overrides_check (const Overrides *overrides, GList *elements, GString *wrong)
{
  for (guint i = 0; i < overrides->list->len && !wrong->len; i++) {
    const Override *override = overrides->list->pdata[i];
    GObject *element = g_list_nth_data (elements, (guint) find (elements, &override->key));
    GParamSpec *spec = element && override->loaded ? find_property (element, override->property) : NULL;
    GValue value = G_VALUE_INIT;

    if (!element || !override->loaded)
      continue;
    if (!spec)
      g_string_append_printf (wrong, "%s has no property \"%s\"", override->key.kind, override->property);
    else if (overrides_check_changeable (spec, wrong))
      check_value (spec, override->value, &value, wrong);
    if (G_IS_VALUE (&value))
      g_value_unset (&value);
  }
  return wrong->len == 0;
}

JsonArray *
overrides_list (const Overrides *overrides)
{
  JsonArray *list = json_array_new ();

  for (guint i = 0; i < overrides->list->len; i++) {
    const Override *override = overrides->list->pdata[i];
    const Key *key = &override->key;

    json_array_add_object_element (list,
        object_of ("element", text_node (key->name ? key->name : key->kind), "nth",
            !key->name && key->nth ? int_node (key->nth) : NULL, "property", text_node (override->property), "value",
            text_node (override->value), "refused", override->refused ? bool_node (TRUE) : NULL, "missing",
            override->gone ? bool_node (TRUE) : NULL, NULL));
  }
  return list;
}

gboolean
overrides_is_empty (const Overrides *overrides)
{
  return overrides->list->len == 0;
}

void
overrides_forget (Overrides *overrides)
{
  g_ptr_array_set_size (overrides->list, 0);
}

/* ---- for pipelines ------------------------------------------------------- */

/* Forgets what an operator has set where nothing hid, if the line itself hides: it would show more than the line does.
 * The elements have the line's values. */
static void
drop_open (Overrides *overrides, GList *elements)
{
  const gboolean hides = any_hides (elements);
  JsonArray *dropped = json_array_new ();

  for (guint i = overrides->list->len; hides && i-- > 0;) {
    const Override *override = overrides->list->pdata[i];

    if (!override->open)
      continue;
    add_name (dropped, override, find (elements, &override->key));
    g_ptr_array_remove_index (overrides->list, i);
  }
  report (overrides, "settings-dropped", dropped,
      "an operator has set it while the filter hid nothing, and its line hides now");
}

/* Sets the frame sizes that regions refer to, unless the regions are others now. */
static void
restore_sizes (Overrides *overrides, GList *elements)
{
  for (guint i = 0; i < overrides->places->len; i++) {
    Place *place = overrides->places->pdata[i];
    GObject *element = g_list_nth_data (elements, (guint) find (elements, &place->key));
    g_autofree char *roi = NULL;

    if (element)
      g_object_get (element, "roi", &roi, NULL);
    if (roi && !strcmp (roi, place->roi))
      g_object_set (element, "roi-size", place->size, NULL);
  }
}

void
overrides_apply (Overrides *overrides, GList *elements)
{
  drop_open (overrides, elements);
  for (guint i = 0; i < overrides->list->len; i++) {
    Override *override = overrides->list->pdata[i];
    GObject *element = g_list_nth_data (elements, (guint) find (elements, &override->key));

    if (element && find_property (element, override->property))
      put (element, override);
  }
  restore_sizes (overrides, elements);
}

void
overrides_start (Overrides *overrides, GList *elements)
{
  JsonArray *loaded = json_array_new (), *gone = json_array_new (), *refused = json_array_new ();

  drop_open (overrides, elements);
  for (guint i = 0; i < overrides->list->len; i++) {
    Override *override = overrides->list->pdata[i];
    const int index = find (elements, &override->key);
    const gboolean was_refused = override->refused, was_gone = override->gone;

    g_clear_pointer (&override->retry, retry_unref);
    override->gone = index < 0;
    if (override->gone) {
      if (!was_gone)
        add_name (gone, override, index);
      continue;
    }
    if (override->loaded || was_gone)
      add_name (loaded, override, index);
    override->loaded = FALSE;
    override->refused = !put (g_list_nth_data (elements, (guint) index), override) || was_refused;
    if (override->refused && !was_refused)
      add_name (refused, override, index);
  }
  restore_sizes (overrides, elements);
  report (overrides, "settings-restored", loaded, NULL);
  report (overrides, "settings-dropped", gone,
      "the filter has no such element; what was set counts again if it gets one");
  report (overrides, "settings-refused", refused,
      "the filter refuses now what was set by command: the whole frame is filtered until it takes it");
}

gboolean
overrides_refuse (Overrides *overrides, GList *elements, GstObject *element, const char *text)
{
  const int place = element ? g_list_index (elements, element) : -1;
  JsonArray *refused = json_array_new ();
  gboolean any = FALSE;

  for (guint i = 0; place >= 0 && i < overrides->list->len; i++) {
    Override *override = overrides->list->pdata[i];

    if (find (elements, &override->key) != place)
      continue;
    any = TRUE;
    if (override->refused || !g_str_has_prefix (text, override->property))
      continue;
    override->refused = TRUE;
    add_name (refused, override, place);
  }
  report (overrides, "settings-refused", refused, text);
  return any;
}

static void
retry_in_thread (gpointer data)
{
  Retry *retry = data;

  set_property (G_OBJECT (retry->element), retry->property, retry->value);
  atomic_store (&retry->done, 1);
  retry_unref (retry);
}

static Retry *
retry_start (GstElement *element, const Override *override)
{
  Retry *retry = g_new0 (Retry, 1);

  g_atomic_ref_count_init (&retry->count);
  g_atomic_ref_count_inc (&retry->count);
  retry->element = gst_object_ref (element);
  retry->property = g_strdup (override->property);
  retry->value = g_strdup (override->value);
  in_pool (retry_in_thread, retry);
  return retry;
}

void
overrides_retry (Overrides *overrides, GList *elements)
{
  JsonArray *applied = json_array_new ();

  for (guint i = 0; i < overrides->list->len; i++) {
    Override *override = overrides->list->pdata[i];
    int index = find (elements, &override->key);
    GstElement *element = g_list_nth_data (elements, (guint) index);

    if (!override->refused || !element || (override->retry && !atomic_load (&override->retry->done)))
      continue;
    g_clear_pointer (&override->retry, retry_unref);
    override->refused = !is_in_force (G_OBJECT (element), override);
    if (override->refused)
      override->retry = retry_start (element, override);
    else
      add_name (applied, override, index);
  }
  report (overrides, "settings-applied", applied, NULL);
}

/* ---- sizes ----------------------------------------------------------------- */

/* Returns the size of the element's frames as text (free it), NULL: it has none. */
static char *
frame_size (GstElement *element)
{
  g_autoptr (GstPad) pad = gst_element_get_static_pad (element, "sink");
  g_autoptr (GstCaps) caps = pad ? gst_pad_get_current_caps (pad) : NULL;
  GstVideoInfo info;

  return caps && gst_video_info_from_caps (&info, caps)
      ? g_strdup_printf ("%dx%d", GST_VIDEO_INFO_WIDTH (&info), GST_VIDEO_INFO_HEIGHT (&info))
      : NULL;
}

void
overrides_note_sizes (Overrides *overrides, GList *elements)
{
  guint index = 0;

  for (GList *l = elements; l; l = l->next, index++) {
    g_autofree char *roi = NULL, *size = NULL, *frames = frame_size (l->data);
    Place *place;

    if (!frames || !find_property (l->data, "roi-size")) /* no frame came, and what is known of earlier ones counts */
      continue;
    g_object_get (l->data, "roi", &roi, "roi-size", &size, NULL);
    for (guint i = overrides->places->len; i-- > 0;)
      if (find (elements, &((Place *) overrides->places->pdata[i])->key) == (int) index)
        g_ptr_array_remove_index (overrides->places, i);
    place = g_new (Place, 1);
    *place = (Place) { key_of (elements, index), g_strdup (roi ? roi : ""), g_strdup (size),
      g_steal_pointer (&frames) };
    g_ptr_array_add (overrides->places, place);
  }
}

void
overrides_add_files (const Overrides *overrides, GPtrArray *paths)
{
  for (guint i = 0; i < overrides->list->len; i++)
    look_add (paths, ((const Override *) overrides->list->pdata[i])->value);
}
