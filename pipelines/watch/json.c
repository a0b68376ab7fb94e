/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * json.c: what the program writes as JSON. */
#include "json.h"

#include "secrets.h"
#include "trust.h"

#include <math.h>
#include <string.h>

char *
time_text (gint64 time, gboolean compact)
{
  g_autoptr (GDateTime) date = g_date_time_new_from_unix_utc (time / G_USEC_PER_SEC);
  g_autofree char *text = g_date_time_format (date, compact ? "%Y%m%dT%H%M%S" : "%Y-%m-%dT%H:%M:%S");

  return g_strdup_printf ("%s.%03dZ", text, (int) (time % G_USEC_PER_SEC / 1000));
}

/* ---- objects and nodes --------------------------------------------------- */

void
object_add_members (JsonObject *object, JsonObject *members)
{
  g_autoptr (GList) names = json_object_get_members (members);

  for (GList *l = names; l; l = l->next)
    json_object_set_member (object, l->data, json_object_dup_member (members, l->data));
  json_object_unref (members);
}

JsonObject *
object_of (const char *name, ...)
{
  JsonObject *object = json_object_new ();
  va_list list;

  va_start (list, name);
  for (; name; name = va_arg (list, const char *)) {
    JsonNode *node = va_arg (list, JsonNode *);

    if (node)
      json_object_set_member (object, name, node);
  }
  va_end (list);
  return object;
}

JsonObject *
error_of (const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  return object_of ("ok", bool_node (FALSE), "error", text_node (text), NULL);
}

JsonNode *
number_node (double value)
{
  return isfinite (value) ? json_node_init_double (json_node_alloc (), value) : json_node_new (JSON_NODE_NULL);
}

JsonNode *
text_node (const char *text)
{
  g_autofree char *clean = secrets_hide (text ? text : "");

  return word_node (clean);
}

JsonNode *
time_node (gint64 time)
{
  g_autofree char *text = time_text (time, FALSE);

  return word_node (text);
}

JsonNode *
object_node (JsonObject *object)
{
  JsonNode *node = json_node_new (JSON_NODE_OBJECT);

  json_node_take_object (node, object);
  return node;
}

JsonNode *
array_node (JsonArray *array)
{
  JsonNode *node = json_node_new (JSON_NODE_ARRAY);

  json_node_take_array (node, array);
  return node;
}

char *
json_line (JsonObject *object)
{
  JsonNode *node = json_node_init_object (json_node_alloc (), object);
  char *line = json_to_string (node, FALSE);

  json_node_unref (node);
  json_object_unref (object);
  return line;
}

/* JSON has no integers of 64 bits without a sign. */
static JsonNode *
uint64_node (guint64 value)
{
  if (value == GST_CLOCK_TIME_NONE)
    return json_node_new (JSON_NODE_NULL);
  if (value > G_MAXINT64)
    return number_node ((double) value);
  return int_node ((gint64) value);
}

static JsonNode *
list_node (const GValue *value)
{
  JsonArray *array = json_array_new ();
  gboolean list = GST_VALUE_HOLDS_LIST (value);
  guint n = list ? gst_value_list_get_size (value) : gst_value_array_get_size (value);

  for (guint i = 0; i < n; i++)
    json_array_add_element (array,
        value_node (list ? gst_value_list_get_value (value, i) : gst_value_array_get_value (value, i)));
  return array_node (array);
}

JsonNode *
value_node (const GValue *value)
{
  g_autofree char *text = NULL;

  if (GST_VALUE_HOLDS_ARRAY (value) || GST_VALUE_HOLDS_LIST (value))
    return list_node (value);
  if (G_VALUE_HOLDS (value, GST_TYPE_STRUCTURE))
    return gst_value_get_structure (value) ? structure_node (gst_value_get_structure (value))
                                           : json_node_new (JSON_NODE_NULL);
  switch (G_VALUE_TYPE (value)) {
    case G_TYPE_BOOLEAN:
      return bool_node (g_value_get_boolean (value));
    case G_TYPE_INT:
      return int_node (g_value_get_int (value));
    case G_TYPE_UINT:
      return int_node (g_value_get_uint (value));
    case G_TYPE_INT64:
      return int_node (g_value_get_int64 (value));
    case G_TYPE_UINT64:
      return uint64_node (g_value_get_uint64 (value));
    case G_TYPE_FLOAT:
      return number_node ((double) g_value_get_float (value));
    case G_TYPE_DOUBLE:
      return number_node (g_value_get_double (value));
    case G_TYPE_STRING:
      return g_value_get_string (value) ? text_node (g_value_get_string (value)) : json_node_new (JSON_NODE_NULL);
    default:
      break;
  }
  if (GST_VALUE_HOLDS_FRACTION (value))
    text = g_strdup_printf ("%d/%d", gst_value_get_fraction_numerator (value),
        gst_value_get_fraction_denominator (value));
  else
    text = gst_value_serialize (value); /* enumerations, caps and so on, as in a launch line; NULL: an object */
  return text ? text_node (text) : json_node_new (JSON_NODE_NULL);
}

static gboolean
add_field (GQuark field, const GValue *value, gpointer object)
{
  json_object_set_member (object, g_quark_to_string (field), value_node (value));
  return TRUE;
}

JsonNode *
structure_node (const GstStructure *structure)
{
  JsonObject *object = json_object_new ();

  gst_structure_foreach (structure, add_field, object);
  return object_node (object);
}

/* ---- messages ------------------------------------------------------------ */

char *
message_text (GstMessage *message)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *debug = NULL, *clean = NULL;
  const GstStructure *details = NULL;
  const char *detail;
  guint status = 0;

  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
    gst_message_parse_error (message, &error, &debug);
    gst_message_parse_error_details (message, &details);
    if (details && gst_structure_get_uint (details, "http-status-code", &status) && status >= 300 && status < 400)
      return g_strdup_printf ("The camera redirects to another address (%u): " TRUST_NO_REDIRECT, status);
  } else
    gst_message_parse_warning (message, &error, &debug);
  /* "file.c(123): function (): /path:" and, on a line of its own, what went wrong */
  detail = debug ? strchr (debug, '\n') : NULL;
  if (!detail || !detail[1])
    return g_strdup (error->message);
  if (g_str_has_prefix (detail + 1, "Failed to connect. (Generic error)")) /* all that rtspsrc says */
    return g_strdup ("Nothing answers at this address and port, or the name is not known (Failed to connect)");
  clean = secrets_hide (detail + 1); /* before it is cut, which may leave a part of a password */
  return g_strdup_printf ("%s (%.300s)", error->message, clean);
}

gboolean
is_about_settings (GstMessage *message)
{
  g_autoptr (GError) error = NULL;

  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, &error, NULL);
  else
    gst_message_parse_warning (message, &error, NULL);
  return g_error_matches (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
}
