/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * camera-set.c: properties of a camera's filter while it runs. */
#include "camera.h"

#include "../tools/line.h"
#include "events.h"

#include <string.h>

/* ---- elements ------------------------------------------------------------ */

/* Returns the filter's elements, in the order of the line. Free the list with its references. A camera that is away has
 * no pipeline, but a filter made for the question can be asked and set: the next pipeline gets it. */
static GList *
camera_elements (Camera *camera, GString *wrong)
{
  const char *line = *camera->settings->filter ? camera->settings->filter : "identity";
  GstElement *bin;
  GList *elements;

  if (camera_runs (camera))
    return find_elements (pipeline_filter (camera->pipeline), "name");
  if (!(bin = make_filter ("filter ", line, wrong)))
    return NULL;
  gst_object_ref_sink (bin);
  elements = find_elements (bin, "name");
  overrides_apply (camera->overrides, elements);
  gst_object_unref (bin);
  return elements;
}

/* Returns the element's index, -1: there is none. */
static int
find_element (GList *elements, const char *name)
{
  char *end;
  guint64 index = g_ascii_strtoull (name, &end, 10);
  guint n = g_list_length (elements), i = 0;

  if (g_ascii_isdigit (name[0]) && !*end)
    return index < n ? (int) index : -1;
  for (GList *l = elements; l; l = l->next, i++)
    if (!strcmp (GST_OBJECT_NAME (l->data), name))
      return (int) i;
  i = 0;
  for (GList *l = elements; l; l = l->next, i++)
    if (!strcmp (kind_of (l->data), name))
      return (int) i;
  return -1;
}

/* Finds element and property of "ELEMENT.PROPERTY". Returns the property, which belongs to its class, or NULL. */
static GParamSpec *
find_target (GList *elements, const char *target, int *index, GString *wrong)
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
      g_string_append_printf (wrong, " %s", kind_of (l->data));
  } else if (!(spec = g_object_class_find_property (G_OBJECT_GET_CLASS (g_list_nth_data (elements, (guint) *index)),
                   dot + 1)))
    g_string_append_printf (wrong, "%s has no property \"%s\"", kind_of (g_list_nth_data (elements, (guint) *index)),
        dot + 1);
  return spec;
}

/* ---- set ----------------------------------------------------------------- */

/* Makes the text a value of the property's type and range. */
static gboolean
read_value (GParamSpec *spec, const char *text, GValue *value, GString *wrong)
{
  g_value_init (value, spec->value_type);
  if (spec->value_type == G_TYPE_STRING)
    g_value_set_string (value, text);
  else if (!gst_value_deserialize (value, text)) {
    g_string_append_printf (wrong, "\"%s\" is no value of %s (%s)", text, spec->name, g_type_name (spec->value_type));
    return FALSE;
  }
  if (g_param_value_validate (spec, value)) {
    g_string_append_printf (wrong, "%s cannot be \"%s\": out of range", spec->name, text);
    return FALSE;
  }
  return TRUE;
}

static gboolean
check_changeable (GParamSpec *spec, GString *wrong)
{
  guint flags = (guint) spec->flags;

  if (!(flags & G_PARAM_WRITABLE) || flags & G_PARAM_CONSTRUCT_ONLY || !strcmp (spec->name, "name"))
    g_string_append_printf (wrong, "%s cannot be set", spec->name);
  else if (flags & (GST_PARAM_MUTABLE_READY | GST_PARAM_MUTABLE_PAUSED) && !(flags & GST_PARAM_MUTABLE_PLAYING))
    g_string_append_printf (wrong, "%s cannot change while frames come: change it in the file, and reload", spec->name);
  return wrong->len == 0;
}

/* Returns whether the element's property has this value. */
static gboolean
is_in_force (GObject *element, GParamSpec *spec, const GValue *value)
{
  GValue now = G_VALUE_INIT;
  gboolean same;

  g_value_init (&now, spec->value_type);
  g_object_get_property (element, spec->name, &now);
  same = g_param_values_cmp (spec, value, &now) == 0;
  g_value_unset (&now);
  return same;
}

/* What the element that this thread sets says meanwhile. Other threads, whose warnings are about frames, have none. */
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

/* Sets a property of an element. Returns FALSE if the element keeps the value that it had, and says why. What it only
 * advises against is set. */
static gboolean
set_property (Camera *camera, GstElement *element, GParamSpec *spec, const GValue *value, GString *wrong)
{
  GstBus *bus = camera_runs (camera) ? pipeline_bus (camera->pipeline) : NULL;
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
  if (!text || is_in_force (G_OBJECT (element), spec, value))
    return TRUE;
  g_string_append (wrong, text);
  return FALSE;
}

gboolean
camera_set (Camera *camera, const char *target, const char *value, GString *wrong)
{
  g_autolist (GstElement) elements = camera_elements (camera, wrong);
  GValue read = G_VALUE_INIT;
  gboolean ok, waits = camera->state == CAMERA_FAILED;
  GParamSpec *spec;
  int index;

  if (!elements || !(spec = find_target (elements, target, &index, wrong)) || !check_changeable (spec, wrong))
    return FALSE;
  ok = read_value (spec, value, &read, wrong) &&
      set_property (camera, g_list_nth_data (elements, (guint) index), spec, &read, wrong);
  if (ok)
    waits |= overrides_keep (camera->overrides, elements, (guint) index, spec->name, value) &&
        camera->state == CAMERA_WAITING;
  if (ok && waits) /* this may be the value that was wrong */
    camera_restart (camera, NULL);
  g_value_unset (&read);
  return ok;
}

gboolean
camera_enable (Camera *camera, gboolean on, GString *wrong)
{
  g_autolist (GstElement) elements = camera_elements (camera, wrong);
  gboolean any = FALSE;
  guint index = 0;

  for (GList *l = elements; l; l = l->next, index++) {
    GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (l->data), "enabled");

    if (!spec || spec->value_type != G_TYPE_BOOLEAN)
      continue;
    g_object_set (l->data, "enabled", on, NULL);
    overrides_keep (camera->overrides, elements, index, "enabled", on ? "true" : "false");
    any = TRUE;
  }
  if (elements && !any)
    g_string_append (wrong, "no element of the filter has the property \"enabled\"");
  return any;
}

JsonNode *
camera_get (Camera *camera, const char *target, GString *wrong)
{
  g_autolist (GstElement) elements = camera_elements (camera, wrong);
  GValue value = G_VALUE_INIT;
  GParamSpec *spec;
  JsonNode *node;
  int index;

  if (!elements || !(spec = find_target (elements, target, &index, wrong)))
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

/* ---- status -------------------------------------------------------------- */

char *
camera_backend (Camera *camera)
{
  g_autolist (GstElement) filters = camera->pipeline ? find_filters (pipeline_filter (camera->pipeline)) : NULL;
  gboolean cuda = FALSE, cpu = FALSE;

  for (GList *l = filters; l; l = l->next) {
    g_autofree char *backend = active_backend (l->data);

    cuda |= !strcmp (backend, "cuda");
    cpu |= !strcmp (backend, "cpu");
  }
  return g_strdup (cuda && cpu ? "cuda+cpu" : cuda ? "cuda" : cpu ? "cpu" : "none");
}

static JsonArray *
elements_status (Camera *camera)
{
  g_autolist (GstElement) elements = find_elements (pipeline_filter (camera->pipeline), "name");
  JsonArray *array = json_array_new ();
  guint index = 0;

  for (GList *l = elements; l; l = l->next, index++) {
    gboolean ours = g_object_class_find_property (G_OBJECT_GET_CLASS (l->data), "active-backend") != NULL;
    g_autofree char *backend = ours ? active_backend (l->data) : NULL;
    GstStructure *stats = NULL;

    if (ours)
      g_object_get (l->data, "stats", &stats, NULL);
    json_array_add_object_element (array,
        object_of ("name", text_node (GST_OBJECT_NAME (l->data)), "kind", word_node (kind_of (l->data)), "index",
            int_node (index), "backend", ours ? word_node (backend) : NULL, "stats",
            stats ? structure_node (stats) : NULL, NULL));
    gst_clear_structure (&stats);
  }
  return array;
}

const char *
camera_state_name (CameraState state)
{
  static const char *const names[] = {
    [CAMERA_NEW] = "waiting",
    [CAMERA_WAITING] = "waiting",
    [CAMERA_LOOKING] = "starting",
    [CAMERA_STARTING] = "starting",
    [CAMERA_UP] = "up",
    [CAMERA_STOPPING] = "stopping",
    [CAMERA_STUCK] = "stuck",
    [CAMERA_FAILED] = "failed",
    [CAMERA_ENDED] = "ended",
    [CAMERA_GONE] = "ended",
  };

  return names[state];
}

JsonObject *
camera_status (Camera *camera)
{
  JsonObject *record = recorder_status (camera->recorder);
  gboolean runs = camera_runs (camera), sized = camera->width > 0;
  const double up = camera->state == CAMERA_UP ? (double) (g_get_monotonic_time () - camera->since) : 0;
  const PipelineCounts counts = camera_counts (camera);
  g_autofree char *backend = camera_backend (camera);

  json_object_set_int_member (record, "dropped",
      json_object_get_int_member (record, "dropped") + (gint64) counts.not_encoded);
  return object_of ("state", word_node (camera_state_name (camera->state)), "frames", int_node ((gint64) counts.frames),
      "fps", number_node (camera->fps), "dropped", int_node ((gint64) counts.dropped), "restarts",
      int_node ((gint64) camera->restarts), "aside", camera->aside ? int_node (g_slist_length (camera->aside)) : NULL,
      "reason", camera->reason ? text_node (camera->reason) : NULL, "width", sized ? int_node (camera->width) : NULL,
      "height", sized ? int_node (camera->height) : NULL, "backend", word_node (backend), "gpu",
      camera->gpu >= 0 ? int_node (camera->gpu) : NULL, "uptime_s", number_node (up / G_USEC_PER_SEC), "record",
      object_node (record), "elements", runs ? array_node (elements_status (camera)) : NULL, NULL);
}
