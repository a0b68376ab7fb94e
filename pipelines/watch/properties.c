/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * properties.c: the properties of a filter's elements as JSON. */
#include "properties.h"

#include "elements.h"
#include "overrides.h"

#include <string.h>

static const char *
type_name (GParamSpec *spec)
{
  switch (G_TYPE_FUNDAMENTAL (spec->value_type)) {
    case G_TYPE_BOOLEAN:
      return "boolean";
    case G_TYPE_INT:
    case G_TYPE_UINT:
    case G_TYPE_INT64:
    case G_TYPE_UINT64:
      return "integer";
    case G_TYPE_FLOAT:
    case G_TYPE_DOUBLE:
      return "number";
    case G_TYPE_ENUM:
      return "enum";
    default:
      return "text"; /* as in a launch line */
  }
}

static void
add_range (JsonObject *object, GParamSpec *spec)
{
#define RANGE(TYPE, type) \
  if (G_IS_PARAM_SPEC_##TYPE (spec)) { \
    GValue end = G_VALUE_INIT; \
    g_value_init (&end, spec->value_type); \
    g_value_set_##type (&end, G_PARAM_SPEC_##TYPE (spec)->minimum); \
    json_object_set_member (object, "min", value_node (&end)); \
    g_value_set_##type (&end, G_PARAM_SPEC_##TYPE (spec)->maximum); \
    json_object_set_member (object, "max", value_node (&end)); \
  }
  RANGE (INT, int)
  RANGE (UINT, uint)
  RANGE (INT64, int64)
  RANGE (UINT64, uint64)
  RANGE (FLOAT, float)
  RANGE (DOUBLE, double)
#undef RANGE
}

/* Adds what an enumeration has: the words of a launch line, each with its sentence. */
static void
add_words (JsonObject *object, GParamSpec *spec)
{
  GEnumClass *class = g_type_class_ref (spec->value_type);
  JsonArray *words = json_array_new ();

  for (guint i = 0; i < class->n_values; i++)
    json_array_add_object_element (words,
        object_of ("value", text_node (class->values[i].value_nick), "blurb", text_node (class->values[i].value_name),
            NULL));
  json_object_set_array_member (object, "values", words);
  g_type_class_unref (class);
}

static JsonObject *
property_json (GObject *element, GParamSpec *spec)
{
  g_autoptr (GString) why = g_string_new (NULL);
  GValue value = G_VALUE_INIT;
  JsonObject *object;

  g_value_init (&value, spec->value_type);
  g_object_get_property (element, spec->name, &value);
  object = object_of ("name", text_node (spec->name), "type", word_node (type_name (spec)), "blurb",
      text_node (g_param_spec_get_blurb (spec)), "default", value_node (g_param_spec_get_default_value (spec)), "value",
      value_node (&value), "live", bool_node (overrides_check_changeable (spec, why)), NULL);
  g_value_unset (&value);
  add_range (object, spec);
  if (G_IS_PARAM_SPEC_ENUM (spec))
    add_words (object, spec);
  return object;
}

/* Can it be set and read as text, and is it about the video? */
static gboolean
is_shown (GParamSpec *spec)
{
  return (spec->flags & G_PARAM_READWRITE) == G_PARAM_READWRITE &&
      !(spec->flags & (G_PARAM_CONSTRUCT_ONLY | G_PARAM_DEPRECATED)) && strcmp (spec->name, "name") &&
      strcmp (spec->name, "qos") && !g_type_is_a (spec->value_type, G_TYPE_OBJECT);
}

JsonArray *
properties_json (GList *elements)
{
  JsonArray *list = json_array_new ();
  guint index = 0;

  for (GList *l = elements; l; l = l->next, index++) {
    guint n;
    g_autofree GParamSpec **specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (l->data), &n);
    JsonArray *properties = json_array_new ();

    for (guint i = 0; i < n; i++)
      if (is_shown (specs[i]))
        json_array_add_object_element (properties, property_json (l->data, specs[i]));
    json_array_add_object_element (list,
        object_of ("index", int_node (index), "kind", text_node (element_kind (l->data)), "name",
            text_node (GST_OBJECT_NAME (l->data)), "properties", array_node (properties), NULL));
  }
  return list;
}

JsonArray *
properties_set_json (GList *elements)
{
  JsonArray *list = json_array_new ();

  for (GList *l = elements; l; l = l->next) {
    guint n;
    g_autofree GParamSpec **specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (l->data), &n);
    JsonObject *values = json_object_new ();

    for (guint i = 0; i < n; i++) {
      GValue value = G_VALUE_INIT;

      if (!is_shown (specs[i]))
        continue;
      g_value_init (&value, specs[i]->value_type);
      g_object_get_property (l->data, specs[i]->name, &value);
      if (!g_param_value_defaults (specs[i], &value))
        json_object_set_member (values, specs[i]->name, value_node (&value));
      g_value_unset (&value);
    }
    json_array_add_object_element (list,
        object_of ("kind", text_node (element_kind (l->data)), "name", text_node (GST_OBJECT_NAME (l->data)), "values",
            object_node (values), NULL));
  }
  return list;
}

/* ---- the line ------------------------------------------------------------ */

/* Returns whether at most one pad of each direction is linked. */
static gboolean
is_in_chain (GstElement *element)
{
  guint n[2] = { 0 };

  GST_OBJECT_LOCK (element);
  for (GList *l = element->pads; l; l = l->next)
    if (gst_pad_is_linked (l->data))
      n[GST_PAD_IS_SRC (l->data)]++;
  GST_OBJECT_UNLOCK (element);
  return n[0] <= 1 && n[1] <= 1;
}

/* Returns whether the name is the line's own: GStreamer numbers the others, "cudamedian0". */
static gboolean
is_named (const char *name, const char *kind)
{
  const gsize n = strlen (kind);

  return strncmp (name, kind, n) || !name[n] || strspn (name + n, "0123456789") != strlen (name + n);
}

/* Adds " name=value", in quotes where a line needs them. */
static void
add_value (GString *line, const char *name, const char *value)
{
  const gboolean plain = *value &&
      strspn (value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,_+-/:") == strlen (value);

  g_string_append_printf (line, " %s=%s", name, plain ? "" : "\"");
  for (; *value; value++) {
    if (strchr ("\\\"", *value))
      g_string_append_c (line, '\\');
    g_string_append_c (line, *value);
  }
  g_string_append (line, plain ? "" : "\"");
}

/* What differs from the default. Which GPU it is, cf-watch has chosen. */
static void
add_values (GString *line, GObject *element)
{
  guint n;
  g_autofree GParamSpec **specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);

  for (guint i = 0; i < n; i++) {
    g_auto (GValue) value = G_VALUE_INIT;
    g_autofree char *text = NULL;

    if (!is_shown (specs[i]) || !strcmp (specs[i]->name, "cuda-device-id"))
      continue;
    g_value_init (&value, specs[i]->value_type);
    g_object_get_property (element, specs[i]->name, &value);
    if (g_param_value_defaults (specs[i], &value))
      continue;
    if (G_VALUE_HOLDS_UINT (&value) && g_str_has_suffix (specs[i]->name, "color"))
      text = g_strdup_printf ("0x%08x", g_value_get_uint (&value));
    else
      text = G_VALUE_HOLDS_STRING (&value) ? g_value_dup_string (&value) : gst_value_serialize (&value);
    if (text)
      add_value (line, specs[i]->name, text);
  }
}

char *
properties_line (GList *elements)
{
  g_autoptr (GString) line = g_string_new (NULL);

  for (GList *l = elements; l; l = l->next) {
    const char *kind = element_kind (l->data), *name = GST_OBJECT_NAME (l->data);

    if (GST_OBJECT_PARENT (l->data) != GST_OBJECT_PARENT (elements->data)) /* a part of one that is a bin */
      continue;
    if (!is_in_chain (l->data))
      return NULL;
    g_string_append_printf (line, "%s%s", line->len ? " ! " : "", kind);
    if (is_named (name, kind))
      add_value (line, "name", name);
    add_values (line, l->data);
  }
  return g_steal_pointer (&line->str);
}
