/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * elements.c: makes elements, and counts what a queue drops. */
#include "elements.h"

#include "codec.h"

#include <stdatomic.h>

static gboolean
is_there (const char *name)
{
  g_autoptr (GstElementFactory) factory = gst_element_factory_find (name);

  return factory != NULL;
}

/* Adds that this GStreamer has no such element, and in which package it is. */
static void
report_missing (const char *name, GString *wrong)
{
  static const struct {
    const char *package, *elements[13];
  } packages[] = {
    { "base", { "appsink", "appsrc", "decodebin", "uridecodebin", "videoconvert", "videoscale", "videotestsrc" } },
    { "good",
        { "jpegenc", "matroskamux", "mp4mux", "rtpbin", "rtph264pay", "rtph265pay", "rtspsrc", "souphttpsrc",
            "splitmuxsink", "v4l2src", "videocrop", "videoflip" } },
    { "bad", { "av1parse", "h264parse", "h265parse" } },
  };

  g_string_append_printf (wrong, "%sthis GStreamer has no element \"%s\"", wrong->len ? "; " : "", name);
  for (guint i = 0; i < G_N_ELEMENTS (packages); i++)
    if (g_strv_contains (packages[i].elements, name))
      g_string_append_printf (wrong, ", which is in gstreamer1.0-plugins-%s", packages[i].package);
}

void
elements_for_encoding (const CameraSettings *settings, GString *wrong)
{
  const Codec *codec = &codecs[settings->codec];
  const char *const encoding[] = { "queue", "videoconvert", "capsfilter", "videocrop", codec->parser, "appsink",
    "appsrc", NULL };
  const char *const recording[] = { "splitmuxsink", "filesink", settings->record.format ? "mp4mux" : "matroskamux",
    NULL };
  const char *const showing[] = { "rtpbin", codec->payloader, NULL };
  const char *const *const names[] = { encoding, settings->record.folder ? recording : NULL,
    settings->shown ? showing : NULL };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    for (const char *const *name = names[i]; name && *name; name++)
      if (!is_there (*name))
        report_missing (*name, wrong);
  if (!settings->own && !codec_has_encoder (codec))
    g_string_append_printf (wrong, "%sthis GStreamer has no encoder for %s: install %s", wrong->len ? "; " : "",
        codec->title, codec->install);
}

void
elements_for_pictures (GString *wrong)
{
  static const char *const names[] = { "videoconvert", "videoscale", "jpegenc" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (!is_there (names[i]))
      report_missing (names[i], wrong);
}

GstElement *
element_add (GstElement *bin, const char *factory, const char *name, GString *wrong)
{
  GstElement *element = gst_element_factory_make (factory, name);

  if (element)
    gst_bin_add (GST_BIN (bin), element);
  else
    report_missing (factory, wrong);
  return element;
}

const char *
element_kind (gpointer element)
{
  GstElementFactory *factory = gst_element_get_factory (element);

  return factory ? GST_OBJECT_NAME (factory) : "";
}

void
element_add_probe (GstElement *element, const char *pad_name, GstPadProbeType type, GstPadProbeCallback probe,
    gpointer data)
{
  g_autoptr (GstPad) pad = gst_element_get_static_pad (element, pad_name);

  gst_pad_add_probe (pad, type, probe, data, NULL);
}

/* ---- queues -------------------------------------------------------------- */

static GstPadProbeReturn
count (GstPad *pad, GstPadProbeInfo *info, gpointer counter)
{
  (void) pad;
  (void) info;
  atomic_fetch_add ((_Atomic guint64 *) counter, 1);
  return GST_PAD_PROBE_OK;
}

void
queue_count (Queue *queue)
{
  element_add_probe (queue->element, "sink", GST_PAD_PROBE_TYPE_BUFFER, count, &queue->arrived);
  element_add_probe (queue->element, "src", GST_PAD_PROBE_TYPE_BUFFER, count, &queue->taken);
}

guint64
queue_dropped (Queue *queue)
{
  guint64 taken = atomic_load (&queue->taken), arrived = atomic_load (&queue->arrived);
  guint waiting = 0;

  if (!queue->element)
    return 0;
  /* The three numbers are not read at the same moment, so the difference may be wrong by one frame. */
  g_object_get (queue->element, "current-level-buffers", &waiting, NULL);
  if (arrived > taken + waiting + 1)
    queue->dropped = MAX (queue->dropped, arrived - taken - waiting - 1);
  return queue->dropped;
}
