/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * turn.c: pictures that lie on their side, as a file's display matrix or EXIF says, are turned upright before the
 * filter: recordings and snapshots have nowhere to say it. */
#include "elements.h"
#include "pipeline-private.h"

#include <gst/tag/tag.h>
#include <string.h>

/* Puts videoflip behind the pad, which is in the middle of pushing a frame. */
static void
insert (Pipeline *pipeline, GstPad *pad)
{
  g_autoptr (GstPad) head = gst_element_get_static_pad (pipeline->head, "sink"), first = NULL;
  g_autoptr (GString) wrong = g_string_new ("The pictures are not turned upright");
  GstElement *flip = gst_element_factory_make ("videoflip", "turn"), *convert, *download;

  if (!flip) {
    element_missing ("videoflip", wrong);
    GST_ELEMENT_WARNING (pipeline->bin, CORE, MISSING_PLUGIN, ("%s", wrong->str), (NULL));
    return;
  }
  gst_util_set_object_arg (G_OBJECT (flip), "video-direction", "auto"); /* as the tags say */
  convert = gst_element_factory_make ("videoconvert", NULL);            /* videoflip does not have all formats */
  download = gst_element_factory_make ("cudadownload", NULL);           /* nor CUDA memory */
  download = download ? download : gst_element_factory_make ("identity", NULL);
  gst_bin_add_many (GST_BIN (pipeline->bin), download, convert, flip, NULL);
  first = gst_element_get_static_pad (download, "sink");
  gst_pad_unlink (pad, head);
  if (!gst_element_link_many (download, convert, flip, pipeline->head, NULL) ||
      GST_PAD_LINK_FAILED (gst_pad_link (pad, first)) || !gst_element_sync_state_with_parent (flip) ||
      !gst_element_sync_state_with_parent (convert) || !gst_element_sync_state_with_parent (download))
    GST_ELEMENT_ERROR (pipeline->bin, STREAM, FORMAT, ("%s", wrong->str), (NULL));
}

static gboolean
is_turned (GstEvent *event)
{
  g_autofree char *orientation = NULL;
  GstTagList *tags;

  if (GST_EVENT_TYPE (event) != GST_EVENT_TAG)
    return FALSE;
  gst_event_parse_tag (event, &tags);
  return gst_tag_list_get_string (tags, GST_TAG_IMAGE_ORIENTATION, &orientation) && g_strcmp0 (orientation, "rotate-0");
}

/* Waits for a frame behind such a tag: GStreamer sends the events before it again to what is linked then. */
static GstPadProbeReturn
on_data (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Pipeline *pipeline = data;

  if (info->type & GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM) {
    pipeline->turned |= is_turned (GST_PAD_PROBE_INFO_EVENT (info));
    return GST_PAD_PROBE_OK;
  }
  if (!pipeline->turned)
    return GST_PAD_PROBE_OK;
  insert (pipeline, pad);
  return GST_PAD_PROBE_REMOVE;
}

void
pipeline_turn_pictures (Pipeline *pipeline, GstPad *pad)
{
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_data, pipeline, NULL);
}

/* Returns the orientation of the EXIF that follows its head in an APP1 of this size. */
static const char *
read_exif (const guint8 *data, gsize size)
{
  g_autoptr (GstBuffer) buffer = gst_buffer_new_memdup (data, size);
  g_autoptr (GstTagList) tags = gst_tag_list_from_exif_buffer_with_tiff_header (buffer);
  g_autofree char *orientation = NULL;

  if (tags)
    gst_tag_list_get_string (tags, GST_TAG_IMAGE_ORIENTATION, &orientation);
  return g_intern_string (orientation);
}

void
pipeline_note_exif (Pipeline *pipeline, GstPad *pad, const guint8 *data, gsize size)
{
  const char *found = NULL;

  if (size < 4 || data[0] != 0xff || data[1] != 0xd8) /* a later part of a picture */
    return;
  /* The segments before the samples: FF, kind, length with its own two bytes. */
  for (gsize at = 2, length; at + 4 <= size && data[at] == 0xff && data[at + 1] != 0xda && !found; at += 2 + length) {
    length = (gsize) data[at + 2] << 8 | data[at + 3];
    if (data[at + 1] == 0xe1 && length >= 8 && at + 2 + length <= size && !memcmp (data + at + 4, "Exif\0", 6))
      found = read_exif (data + at + 10, length - 8);
  }
  if (found == pipeline->exif)
    return;
  pipeline->exif = found;
  gst_pad_send_event (pad,
      gst_event_new_tag (gst_tag_list_new (GST_TAG_IMAGE_ORIENTATION, found ? found : "rotate-0", NULL)));
}
