/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * rerun.c: a filter made from its record. It has no threads: when gst_pad_push () returns, the frame has come out, or
 * is in the filter's history. */
#include "rerun.h"

#include "chain.h"
#include "hashes.h"

#include <string.h>

#define MAX_ELEMENTS 64

struct Rerun {
  GList *elements; /* in the order of the line; they belong to the bin */
  GstElement *bin;
  GstBus *bus;
  GstPad *in, *out; /* to its first element, from its last one */
  GQueue frames;    /* that have come out */
  GstCaps *caps;    /* of the frames that go in; NULL: none has */
};

/* ---- values -------------------------------------------------------------- */

/* What changes no byte of a frame: where the filter runs, and how many frames at a time. */
static const char *const neutral[] = { "backend", "cuda-device", "cuda-device-id", "frames-in-flight", "on-gpu-error",
  NULL };
/* Properties of text that name no file. */
static const char *const texts[] = { "denominator", "kernel", "mask-polygons", "numerator", "roi", "roi-size",
  "roi-type", "seeds", "zones", NULL };

static gboolean
has_value (GstElement *element, GParamSpec *spec, const GValue *value)
{
  g_auto (GValue) now = G_VALUE_INIT;

  g_value_init (&now, spec->value_type);
  g_object_get_property (G_OBJECT (element), spec->name, &now);
  return g_param_values_cmp (spec, value, &now) == 0;
}

/* Returns the property. NULL: it changes no byte, or it may not be set, and `wrong` says why. */
static GParamSpec *
find_property (GstElement *element, const char *name, GString *wrong)
{
  const char *kind = GST_OBJECT_NAME (gst_element_get_factory (element));
  GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), name);

  if (g_strv_contains (neutral, name))
    return NULL;
  if (!spec || (spec->flags & G_PARAM_READWRITE) != G_PARAM_READWRITE ||
      g_type_is_a (spec->owner_type, GST_TYPE_OBJECT) == FALSE)
    g_string_append_printf (wrong, "%s has no property \"%s\"", kind, name);
  else if (spec->value_type == G_TYPE_STRING && !g_strv_contains (texts, name))
    g_string_append_printf (wrong, "%s has read a file (%s), which is not in the record", kind, name);
  return wrong->len ? NULL : spec;
}

/* Sets the property unless it has the value. */
static gboolean
set (GstElement *element, const char *name, const char *text, GString *wrong)
{
  const char *kind = GST_OBJECT_NAME (gst_element_get_factory (element));
  g_auto (GValue) value = G_VALUE_INIT;
  GParamSpec *spec = find_property (element, name, wrong);

  if (!spec)
    return !wrong->len;
  g_value_init (&value, spec->value_type);
  if (spec->value_type == G_TYPE_STRING)
    g_value_set_string (&value, text);
  else if (!gst_value_deserialize (&value, text) || g_param_value_validate (spec, &value))
    g_string_append_printf (wrong, "\"%s\" is no value of %s", text, name);
  else if (!strcmp (name, "roi-meta") && g_value_get_boolean (&value))
    g_string_append_printf (wrong, "a detector has told %s what to filter (roi-meta)", kind);
  if (!wrong->len && !has_value (element, spec, &value))
    g_object_set_property (G_OBJECT (element), spec->name, &value);
  if (!wrong->len && !has_value (element, spec, &value))
    g_string_append_printf (wrong, "%s refuses %s=%s", kind, name, text);
  return !wrong->len;
}

/* Returns the value as a launch line has it. Free it. NULL: it is none. */
static char *
text_of (JsonNode *node)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  if (!JSON_NODE_HOLDS_VALUE (node))
    return NULL;
  switch (json_node_get_value_type (node)) {
    case G_TYPE_STRING:
      return json_node_dup_string (node);
    case G_TYPE_BOOLEAN:
      return g_strdup (json_node_get_boolean (node) ? "true" : "false");
    case G_TYPE_INT64:
      return g_strdup_printf ("%" G_GINT64_FORMAT, json_node_get_int (node));
    default:
      return g_strdup (g_ascii_dtostr (number, sizeof number, json_node_get_double (node)));
  }
}

/* Sets all values of an element, several times, since one may change others: a kernel changes the preset. */
static gboolean
set_values (GstElement *element, JsonObject *description, GString *wrong)
{
  JsonNode *node = json_object_get_member (description, "values");
  g_autoptr (GList)
      names = node && JSON_NODE_HOLDS_OBJECT (node) ? json_object_get_members (json_node_get_object (node)) : NULL;

  for (guint pass = 0; pass < 3; pass++)
    for (GList *l = names; l && !wrong->len; l = l->next) {
      g_autofree char *text = text_of (json_object_get_member (json_node_get_object (node), l->data));

      if (!text)
        g_string_append_printf (wrong, "%s has no value", (const char *) l->data);
      else
        set (element, l->data, text, wrong);
    }
  return !wrong->len;
}

/* ---- changes ------------------------------------------------------------- */

/* Returns the place of the element that `set` names: by its name, its kind (the first one) or its place. -1: none. */
static int
find_element (JsonArray *elements, const char *name)
{
  char *end;
  const guint64 place = g_ascii_strtoull (name, &end, 10);
  int kind = -1;

  if (g_ascii_isdigit (name[0]) && !*end)
    return place < json_array_get_length (elements) ? (int) place : -1;
  for (guint i = 0; i < json_array_get_length (elements); i++) {
    if (!g_strcmp0 (chain_text (chain_object (elements, i), "name"), name))
      return (int) i;
    if (kind < 0 && !g_strcmp0 (chain_text (chain_object (elements, i), "kind"), name))
      kind = (int) i;
  }
  return kind;
}

static gboolean
change (Rerun *rerun, JsonArray *elements, JsonObject *one, GString *wrong)
{
  const char *target = chain_text (one, "set"), *value = chain_text (one, "value"),
             *dot = target ? strrchr (target, '.') : NULL;
  g_autofree char *name = dot ? g_strndup (target, (gsize) (dot - target)) : NULL;
  const int place = name ? find_element (elements, name) : -1;

  if (!target || !value || (strcmp (target, "enabled") && place < 0)) {
    g_string_append (wrong, "one of its changes is not of this filter");
    return FALSE;
  }
  if (place >= 0)
    return set (g_list_nth_data (rerun->elements, (guint) place), dot + 1, value, wrong);
  for (GList *l = rerun->elements; l && !wrong->len; l = l->next)
    set (l->data, target, value, wrong);
  return !wrong->len;
}

/* ---- the filter ---------------------------------------------------------- */

static GstFlowReturn
on_frame (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  Rerun *rerun = gst_pad_get_element_private (pad);

  (void) parent;
  g_queue_push_tail (&rerun->frames, buffer);
  return GST_FLOW_OK;
}

static gboolean
on_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  (void) pad;
  (void) parent;
  gst_event_unref (event);
  return TRUE;
}

static void
add_error (Rerun *rerun, GString *wrong)
{
  g_autoptr (GstMessage) message = gst_bus_pop_filtered (rerun->bus, GST_MESSAGE_ERROR);
  g_autoptr (GError) error = NULL;

  if (message)
    gst_message_parse_error (message, &error, NULL);
  g_string_append_printf (wrong, "the filter fails: %s", error ? error->message : "it takes no such frames");
}

static gboolean
add_element (Rerun *rerun, JsonObject *description, GString *wrong)
{
  static const char *const ours[] = { "cudaconvolve", "cudadenoise", "cudairfilter", "cudamedian", "cudasegment",
    NULL };
  const char *kind = chain_text (description, "kind");
  GstElement *element, *last = rerun->elements ? g_list_last (rerun->elements)->data : NULL;

  if (!kind || !g_strv_contains (ours, kind))
    g_string_append_printf (wrong, "its filter has %s, which is none of this project's elements",
        kind ? kind : "an element of no kind");
  else if (!(element = gst_element_factory_make (kind, NULL)))
    g_string_append_printf (wrong,
        "this GStreamer does not find %s: set GST_PLUGIN_PATH to the directory of "
        "libgstcudafilters.so",
        kind);
  else {
    gst_bin_add (GST_BIN (rerun->bin), element);
    rerun->elements = g_list_append (rerun->elements, element);
    if (last && !gst_element_link (last, element))
      g_string_append_printf (wrong, "%s cannot stand there", kind);
    else
      set_values (element, description, wrong);
  }
  return !wrong->len;
}

static gboolean
start (Rerun *rerun, GString *wrong)
{
  static GstStaticPadTemplate raw = GST_STATIC_PAD_TEMPLATE ("out", GST_PAD_SINK, GST_PAD_ALWAYS,
      GST_STATIC_CAPS ("video/x-raw"));
  static GstStaticPadTemplate given = GST_STATIC_PAD_TEMPLATE ("in", GST_PAD_SRC, GST_PAD_ALWAYS,
      GST_STATIC_CAPS ("video/x-raw"));
  g_autoptr (GstPad) first = gst_element_get_static_pad (rerun->elements->data, "sink");
  g_autoptr (GstPad) last = gst_element_get_static_pad (g_list_last (rerun->elements)->data, "src");

  rerun->in = gst_object_ref_sink (gst_pad_new_from_static_template (&given, "in"));
  rerun->out = gst_object_ref_sink (gst_pad_new_from_static_template (&raw, "out"));
  gst_pad_set_element_private (rerun->out, rerun);
  gst_pad_set_chain_function (rerun->out, on_frame);
  gst_pad_set_event_function (rerun->out, on_event);
  gst_pad_set_event_function (rerun->in, on_event);
  gst_pad_set_active (rerun->in, TRUE);
  gst_pad_set_active (rerun->out, TRUE);
  if (GST_PAD_LINK_FAILED (gst_pad_link (rerun->in, first)) || GST_PAD_LINK_FAILED (gst_pad_link (last, rerun->out)) ||
      gst_element_set_state (rerun->bin, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE)
    add_error (rerun, wrong);
  return !wrong->len;
}

Rerun *
rerun_new (JsonArray *elements, JsonArray *changes, guint first, guint last, GString *wrong)
{
  Rerun *rerun = g_new0 (Rerun, 1);
  const guint n = json_array_get_length (elements);

  rerun->bin = gst_object_ref_sink (gst_bin_new ("rerun"));
  rerun->bus = gst_bus_new ();
  gst_element_set_bus (rerun->bin, rerun->bus);
  if (n == 0 || n > MAX_ELEMENTS)
    g_string_append (wrong, n ? "its filter has too many elements" : "it has no filter");
  for (guint i = 0; i < n && !wrong->len; i++)
    add_element (rerun, chain_object (elements, i), wrong);
  for (guint i = first; i < last && !wrong->len; i++)
    change (rerun, elements, chain_object (changes, i), wrong);
  if (!wrong->len && start (rerun, wrong))
    return rerun;
  rerun_free (rerun);
  return NULL;
}

void
rerun_free (Rerun *rerun)
{
  if (!rerun)
    return;
  gst_element_set_state (rerun->bin, GST_STATE_NULL);
  for (guint i = 0; i < 2; i++) {
    GstPad *pad = i ? rerun->out : rerun->in;

    if (pad)
      gst_pad_set_active (pad, FALSE);
    gst_clear_object (i ? &rerun->out : &rerun->in);
  }
  g_queue_clear_full (&rerun->frames, (GDestroyNotify) gst_buffer_unref);
  gst_element_set_bus (rerun->bin, NULL);
  gst_object_unref (rerun->bus);
  gst_object_unref (rerun->bin);
  gst_clear_caps (&rerun->caps);
  g_list_free (rerun->elements);
  g_free (rerun);
}

gboolean
rerun_is_pure (Rerun *rerun)
{
  for (GList *l = rerun->elements; l; l = l->next) {
    const char *kind = GST_OBJECT_NAME (gst_element_get_factory (l->data));
    int method = 0; /* none */

    if (!strcmp (kind, "cudamedian"))
      g_object_get (l->data, "temporal-method", &method, NULL);
    if (method || !strcmp (kind, "cudadenoise") || !strcmp (kind, "cudasegment"))
      return FALSE;
  }
  return TRUE;
}

gboolean
rerun_push (Rerun *rerun, GstCaps *caps, GstBuffer *frame, GString *wrong)
{
  GstSegment segment;

  if (!frame) {
    gst_pad_push_event (rerun->in, gst_event_new_eos ());
    return TRUE;
  }
  if (!rerun->caps) {
    rerun->caps = gst_caps_ref (caps);
    gst_segment_init (&segment, GST_FORMAT_TIME);
    gst_pad_push_event (rerun->in, gst_event_new_stream_start ("rerun"));
    gst_pad_push_event (rerun->in, gst_event_new_caps (caps));
    gst_pad_push_event (rerun->in, gst_event_new_segment (&segment));
  }
  if (gst_pad_push (rerun->in, gst_buffer_ref (frame)) != GST_FLOW_OK)
    add_error (rerun, wrong);
  return !wrong->len;
}

char *
rerun_take (Rerun *rerun)
{
  g_autoptr (GstBuffer) frame = g_queue_pop_head (&rerun->frames);
  g_autoptr (GstCaps) caps = frame ? gst_pad_get_current_caps (rerun->out) : NULL;
  GstVideoInfo info;

  return caps && gst_video_info_from_caps (&info, caps) ? hash_frame (frame, &info) : NULL;
}
