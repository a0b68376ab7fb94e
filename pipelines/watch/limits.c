/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * limits.c: what a camera may make the process hold, which all cameras share: bytes that come without a picture, which
 * a demuxer or a decoder collects, the streams of an RTSP server, each of which takes a thread, and the size that a
 * picture says it has, which a decoder allocates. */
#include "parts.h"
#include "pipeline-private.h"

#include "cf.h"

#define MAX_STREAMS 16 /* of one server: pictures, sound, what it sees in them */
#define MAX_SENDERS 64 /* that packets may name between two pictures */

/* Counts what comes from the source since the last picture. When it is too much, nothing more of it passes. */
static GstPadProbeReturn
on_bytes (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Pipeline *pipeline = data;
  const guint64 max = pipeline->settings->max_bytes;
  const gsize size = info->type & GST_PAD_PROBE_TYPE_BUFFER_LIST
      ? gst_buffer_list_calculate_size (GST_PAD_PROBE_INFO_BUFFER_LIST (info))
      : gst_buffer_get_size (GST_PAD_PROBE_INFO_BUFFER (info));
  const guint64 before = atomic_fetch_add (&pipeline->unseen, size);

  (void) pad;
  if (before + size <= max)
    return GST_PAD_PROBE_OK;
  if (before <= max)
    GST_ELEMENT_ERROR (pipeline->bin, STREAM, FAILED,
        ("The camera has sent %" G_GUINT64_FORMAT " bytes without a picture; \"max_bytes\" is %" G_GUINT64_FORMAT,
            before + size, max),
        (NULL));
  return GST_PAD_PROBE_DROP;
}

static void
count_pad (GstElement *source, GstPad *pad, gpointer pipeline)
{
  (void) source;
  if (GST_PAD_IS_SRC (pad))
    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, on_bytes, pipeline, NULL);
}

static gboolean
count_present_pad (GstElement *source, GstPad *pad, gpointer pipeline)
{
  count_pad (source, pad, pipeline);
  return TRUE;
}

void
pipeline_limit_bytes (Pipeline *pipeline, GstElement *source)
{
  gst_element_foreach_src_pad (source, count_present_pad, pipeline);
  g_signal_connect (source, "pad-added", G_CALLBACK (count_pad), pipeline);
}

static gboolean
select_stream (GstElement *source, guint number, GstCaps *caps, gpointer pipeline)
{
  (void) source;
  (void) caps;
  (void) pipeline;
  return number < MAX_STREAMS;
}

/* Counts the senders of packets. The session keeps each for a while, whatever becomes of its packets. */
static void
on_sender (GstElement *manager, guint session, guint sender, gpointer data)
{
  Pipeline *pipeline = data;

  (void) manager;
  (void) session;
  (void) sender;
  if (atomic_fetch_add (&pipeline->senders, 1) == MAX_SENDERS)
    GST_ELEMENT_ERROR (pipeline->bin, STREAM, FAILED,
        ("The camera has sent packets of more than %d senders (SSRC) without a picture", MAX_SENDERS), (NULL));
}

static void
limit_manager (GstElement *source, GstElement *manager, gpointer pipeline)
{
  (void) source;
  if (!g_object_class_find_property (G_OBJECT_GET_CLASS (manager), "max-streams")) /* it is no rtpbin */
    return;
  g_object_set (manager, "max-streams", MAX_STREAMS, NULL);
  g_signal_connect (manager, "on-new-ssrc", G_CALLBACK (on_sender), pipeline);
}

void
pipeline_limit_streams (Pipeline *pipeline, GstElement *source)
{
  g_signal_connect (source, "select-stream", G_CALLBACK (select_stream), NULL);
  g_signal_connect (source, "new-manager", G_CALLBACK (limit_manager), pipeline);
}

/* Sees what a decoder is about to get. Frame sizes are in its caps or, of a JPEG, in its bytes. */
static GstPadProbeReturn
on_compressed (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  guint width = 0, height = 0;
  gboolean larger = FALSE;
  Pipeline *pipeline = data;

  if (info->type & GST_PAD_PROBE_TYPE_BUFFER) {
    GstMapInfo map;

    if (gst_buffer_map (GST_PAD_PROBE_INFO_BUFFER (info), &map, GST_MAP_READ)) {
      larger = parts_find_larger (map.data, map.size, CF_MAX_SIZE, &width, &height);
      pipeline_note_exif (pipeline, pad, map.data, map.size);
      gst_buffer_unmap (GST_PAD_PROBE_INFO_BUFFER (info), &map);
    }
  } else if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_CAPS) {
    const GstStructure *structure;
    GstCaps *caps;

    gst_event_parse_caps (GST_PAD_PROBE_INFO_EVENT (info), &caps);
    structure = gst_caps_get_structure (caps, 0);
    gst_structure_get (structure, "width", G_TYPE_INT, (int *) &width, NULL);
    gst_structure_get (structure, "height", G_TYPE_INT, (int *) &height, NULL);
    larger = width > CF_MAX_SIZE || height > CF_MAX_SIZE;
  }
  if (!larger)
    return GST_PAD_PROBE_OK;
  GST_ELEMENT_ERROR (pipeline->bin, STREAM, DECODE,
      ("A picture says it has %u x %u pixels; it may have %d x %d", width, height, CF_MAX_SIZE, CF_MAX_SIZE), (NULL));
  return GST_PAD_PROBE_DROP;
}

void
pipeline_limit_size (Pipeline *pipeline, GstElement *element)
{
  GstElementFactory *factory = gst_element_get_factory (element);
  GstPadProbeType type = GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM;
  GstPad *pad;

  if (!factory || !gst_element_factory_list_is_type (factory, GST_ELEMENT_FACTORY_TYPE_DECODER) ||
      !(pad = gst_element_get_static_pad (element, "sink")))
    return;
  GstCaps *jpeg = gst_caps_new_empty_simple ("image/jpeg"), *caps = gst_pad_get_pad_template_caps (pad);

  if (!gst_caps_is_any (caps) && gst_caps_can_intersect (caps, jpeg))
    type |= GST_PAD_PROBE_TYPE_BUFFER;
  gst_pad_add_probe (pad, type, on_compressed, pipeline, NULL);
  gst_caps_unref (caps);
  gst_caps_unref (jpeg);
  gst_object_unref (pad);
}
