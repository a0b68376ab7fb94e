/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * filter.c: a camera's filter line. */
#include "filter.h"

#include "../tools/line.h"
#include "elements.h"
#include "packets.h"
#include "threads.h"

#include <stdatomic.h>

#define WITHIN 1000    /* ms for the next frame to come */
#define MAX_WAITING 32 /* that wait for one, of a filter */
#define WAITS "cf-watch-waits"

/* Returns whether the caps may be raw video, in system memory or any other. */
static gboolean
may_be_raw_video (GstCaps *caps)
{
  g_autoptr (GstCaps) video = gst_caps_from_string ("video/x-raw(ANY)");

  return gst_caps_can_intersect (caps, video);
}

/* Returns what the element's pads of this direction have instead of raw video. NULL: one of them can have raw video, or
 * there are no such pads. */
static GstCaps *
other_caps (GstElement *element, GstPadDirection direction)
{
  GList *l = gst_element_class_get_pad_template_list (GST_ELEMENT_GET_CLASS (element));
  GstCaps *caps = gst_caps_new_empty ();

  for (; l; l = l->next)
    if (GST_PAD_TEMPLATE_DIRECTION (l->data) == direction)
      caps = gst_caps_merge (caps, gst_pad_template_get_caps (l->data));
  if (gst_caps_is_empty (caps) || may_be_raw_video (caps))
    gst_clear_caps (&caps);
  return caps;
}

/* Returns whether this end of the bin can have raw video. If not, adds a sentence that names the nearest element
 * without. */
static gboolean
check_end (GstElement *bin, gboolean input, const char *option, const char *line, GString *wrong)
{
  g_autoptr (GstPad) pad = gst_element_get_static_pad (bin, input ? "sink" : "src");
  g_autoptr (GstCaps) caps = gst_pad_query_caps (pad, NULL);
  g_autolist (GstElement) elements = find_elements (bin, "name");
  GstElement *culprit = NULL;

  if (may_be_raw_video (caps))
    return TRUE;
  if (!input)
    elements = g_list_reverse (elements);
  for (GList *l = elements; l && !culprit; l = l->next) {
    GstCaps *other = other_caps (l->data, input ? GST_PAD_SINK : GST_PAD_SRC);

    if (!other)
      continue;
    culprit = l->data;
    gst_caps_take (&caps, other);
  }
  if (!culprit) /* each could have raw video, but their settings forbid it */
    culprit = elements->data;
  g_string_append_printf (wrong, "%s'%s': %s %s %s, not raw video", option, line, element_kind (culprit),
      input ? "takes" : "makes",
      gst_caps_is_empty (caps) ? "nothing" : gst_structure_get_name (gst_caps_get_structure (caps, 0)));
  return FALSE;
}

/* Returns whether the element has pads of this direction, and none of them is linked. Some elements have more than they
 * need: textoverlay, for example. */
static gboolean
is_loose (GstElement *element, GstPadDirection direction)
{
  gboolean any = FALSE, linked = FALSE;

  GST_OBJECT_LOCK (element);
  for (GList *l = direction == GST_PAD_SINK ? element->sinkpads : element->srcpads; l; l = l->next) {
    any = TRUE;
    linked |= gst_pad_is_linked (l->data);
  }
  GST_OBJECT_UNLOCK (element);
  return any && !linked;
}

/* Finds parts of the line that no frame reaches: GStreamer takes "a b" for two pipelines, and would use one. */
static gboolean
check_links (GstElement *bin, const char *option, const char *line, GString *wrong)
{
  g_autolist (GstElement) elements = find_elements (bin, "name");

  for (GList *l = elements; l; l = l->next) {
    const gboolean input = is_loose (l->data, GST_PAD_SINK);

    if (!input && !is_loose (l->data, GST_PAD_SRC))
      continue;
    g_string_append_printf (wrong, "%s'%s': nothing is linked to the %s of %s; is there a ! missing?", option, line,
        input ? "input" : "output", element_kind (l->data));
    return FALSE;
  }
  return TRUE;
}

GstElement *
filter_new (const char *option, const char *line, GString *wrong)
{
  GstElement *bin = make_filter (option, line, wrong);

  if (bin &&
      (!check_links (bin, option, line, wrong) || !check_end (bin, TRUE, option, line, wrong) ||
          !check_end (bin, FALSE, option, line, wrong)))
    gst_clear_object (&bin);
  return bin;
}

gboolean
filter_reports_motion (GstElement *filter)
{
  g_autolist (GstElement) elements = find_elements (filter, "name");
  gboolean found = FALSE;

  for (GList *l = elements; l && !found; l = l->next) {
    const char *factory = element_kind (l->data);
    int method = 0; /* 1: running */
    gboolean meta = FALSE;

    if (g_str_equal (factory, "cudamedian"))
      g_object_get (l->data, "temporal-method", &method, "motion-meta", &meta, NULL);
    found = (method == 1 && meta) || g_str_equal (factory, "motioncells");
  }
  return found;
}

/* ---- the next frame ------------------------------------------------------ */

/* The main thread, the probe and a call of on_entered () that is under way have a reference each. */
typedef struct {
  gatomicrefcount count;
  FilterNext next; /* NULL: it was called */
  gpointer data;
  GstElement *pipeline;
  GstPad *pad;
  gulong probe;
  guint timer;
  _Atomic gint64 wall; /* of the first frame; 0: none has come */
} Wait;

/* Returns the list of waits for a frame at the pad, the oldest first. */
static GQueue *
waits_at (GstPad *pad)
{
  GQueue *waits = g_object_get_data (G_OBJECT (pad), WAITS);

  if (!waits)
    g_object_set_data_full (G_OBJECT (pad), WAITS, waits = g_queue_new (), (GDestroyNotify) g_queue_free);
  return waits;
}

static void
wait_unref (gpointer data)
{
  Wait *wait = data;

  if (!g_atomic_ref_count_dec (&wait->count))
    return;
  gst_object_unref (wait->pipeline);
  gst_object_unref (wait->pad);
  g_free (wait);
}

static void
finish (Wait *wait)
{
  const FilterNext next = g_steal_pointer (&wait->next);

  if (!next)
    return;
  g_queue_remove (waits_at (wait->pad), wait);
  g_clear_handle_id (&wait->timer, g_source_remove);
  gst_pad_remove_probe (wait->pad, wait->probe);
  next (atomic_load (&wait->wall), wait->data);
  wait_unref (wait);
}

static gboolean
on_late (gpointer data)
{
  Wait *wait = data;

  wait->timer = 0;
  finish (wait);
  return G_SOURCE_REMOVE;
}

static gboolean
on_entered (gpointer data)
{
  finish (data);
  wait_unref (data);
  return G_SOURCE_REMOVE;
}

/* Notes the frame. Called from a streaming thread. */
static GstPadProbeReturn
on_input (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  g_autoptr (GstEvent) event = gst_pad_get_sticky_event (pad, GST_EVENT_SEGMENT, 0);
  const GstSegment *segment;
  GstClockTime running;
  Wait *wait = data;

  if (atomic_load (&wait->wall) || !event)
    return GST_PAD_PROBE_OK;
  gst_event_parse_segment (event, &segment);
  running = gst_segment_to_running_time (segment, GST_FORMAT_TIME, GST_BUFFER_PTS (GST_PAD_PROBE_INFO_BUFFER (info)));
  atomic_store (&wait->wall, wall_time (GST_CLOCK_TIME_IS_VALID (running) ? age_of (wait->pipeline, running) : 0));
  g_atomic_ref_count_inc (&wait->count);
  in_main (on_entered, wait);
  return GST_PAD_PROBE_OK;
}

void
filter_next (GstElement *filter, FilterNext next, gpointer data)
{
  Wait *wait = g_new0 (Wait, 1);
  GQueue *waits;

  g_atomic_ref_count_init (&wait->count);
  g_atomic_ref_count_inc (&wait->count);
  wait->next = next;
  wait->data = data;
  wait->pipeline = GST_ELEMENT (gst_object_get_parent (GST_OBJECT (filter)));
  wait->pad = gst_element_get_static_pad (filter, "sink");
  wait->timer = g_timeout_add (WITHIN, on_late, wait);
  waits = waits_at (wait->pad);
  if (waits->length >= MAX_WAITING)
    finish (waits->head->data);
  g_queue_push_tail (waits, wait);
  wait->probe = gst_pad_add_probe (wait->pad, GST_PAD_PROBE_TYPE_BUFFER, on_input, wait, wait_unref);
}

void
filter_stop (GstElement *filter)
{
  g_autoptr (GstPad) pad = gst_element_get_static_pad (filter, "sink");

  for (Wait *wait; (wait = g_queue_peek_head (waits_at (pad)));)
    finish (wait);
}
