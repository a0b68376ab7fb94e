/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * hls.c: the frames of a hub as HLS. Nothing is made before it is asked for: a segment is the frames from a packet with
 * a number up to the next one, and their data is shared. */
#include "hls.h"

#include "fmp4.h"
#include "json.h"

#include <string.h>

#define LISTED (HUB_SEGMENTS / 2) /* clients may still get the others, which were in the list before */

/* What follows is called with the hub's lock held. */

static GList *
next_packet (const Hub *hub, GList *l)
{
  return l == hub->past.tail ? hub->packets.head : l->next;
}

/* Returns the packet that begins the next segment; NULL: this one is not complete. */
static GList *
next_segment (const Hub *hub, GList *l)
{
  do
    l = next_packet (hub, l);
  while (l && !((Packet *) l->data)->segment);
  return l;
}

static GList *
next_frame (const Hub *hub, GList *l)
{
  do
    l = next_packet (hub, l);
  while (packet_is_sound (l->data));
  return l;
}

static GstClockTime
dts_of (const GList *l)
{
  return GST_BUFFER_DTS (((Packet *) l->data)->buffer);
}

/* Returns the time from one frame to a later one. */
static GstClockTime
time_between (const GList *from, const GList *to)
{
  return MAX (dts_of (from), dts_of (to)) - dts_of (from);
}

/* Returns the first segment from this number on; NULL: there is none. */
static GList *
find_segment (const Hub *hub, guint64 number)
{
  GList *l = hub->past.head ? hub->past.head : hub->packets.head;

  while (l && ((Packet *) l->data)->segment < MAX (number, hub->shown))
    l = next_packet (hub, l);
  return l;
}

static void
add_list (GPtrArray *parts, const Hub *hub)
{
  GList *first = find_segment (hub, hub->segments - LISTED);
  g_autoptr (GString) text = g_string_new (NULL);
  GstClockTime longest = GST_SECOND;

  for (GList *l = first, *end; l && (end = next_segment (hub, l)); l = end) {
    const GstClockTime time = time_between (l, end);
    g_autofree char *wall = time_text (((Packet *) l->data)->wall, FALSE);

    longest = MAX (longest, time);
    g_string_append_printf (text, "#EXT-X-PROGRAM-DATE-TIME:%s\n", wall);
    g_string_append_printf (text, "#EXTINF:%u.%03u,\n%" G_GUINT64_FORMAT ".m4s\n", (guint) (time / GST_SECOND),
        (guint) (time % GST_SECOND / GST_MSECOND), ((Packet *) l->data)->segment);
  }
  if (text->len > 0) {
    GString *all = g_string_new (NULL);

    g_string_printf (all,
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:%u\n#EXT-X-MEDIA-SEQUENCE:%" G_GUINT64_FORMAT
        "\n#EXT-X-DISCONTINUITY-SEQUENCE:%" G_GUINT64_FORMAT "\n#EXT-X-MAP:URI=\"%" G_GUINT64_FORMAT ".mp4\"\n%s",
        (guint) ((longest + GST_SECOND - 1) / GST_SECOND), ((Packet *) first->data)->segment, hub->begun, hub->begun,
        text->str);
    g_ptr_array_add (parts, g_string_free_to_bytes (all));
  }
}

static GBytes *
take_bytes (GstByteWriter *writer)
{
  const gsize n = gst_byte_writer_get_size (writer);

  return g_bytes_new_take (gst_byte_writer_reset_and_get_data (writer), n);
}

static void
add_beginning (GPtrArray *parts, GstCaps *caps)
{
  GstByteWriter out;

  gst_byte_writer_init (&out);
  fmp4_begin (&out, caps);
  g_ptr_array_add (parts, take_bytes (&out));
}

static void
add_segment (GPtrArray *parts, const Hub *hub, GList *first)
{
  GList *end = next_segment (hub, first);
  GstByteWriter out;
  guint32 n = 0;

  for (GList *l = first, *next; end && l != end; l = next) {
    GstBuffer *frame = ((Packet *) l->data)->buffer;

    next = next_frame (hub, l);
    gst_byte_writer_init (&out);
    fmp4_frame (&out, ++n, dts_of (l), time_between (l, next), frame);
    g_ptr_array_add (parts, take_bytes (&out));
    g_ptr_array_add (parts, fmp4_data (gst_buffer_ref (frame)));
  }
}

GPtrArray *
hls_file (Hub *hub, const char *file)
{
  g_autoptr (GPtrArray) parts = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  const guint64 number = g_ascii_strtoull (file, NULL, 10);
  GList *segment;

  g_mutex_lock (&hub->lock);
  if (!strcmp (file, HLS_LIST)) {
    hub->asked = g_get_monotonic_time ();
    if (hub->caps)
      add_list (parts, hub);
  } else if (hub->caps && g_str_has_suffix (file, ".mp4") && number == hub->begun) {
    add_beginning (parts, hub->caps);
  } else if (hub->caps && g_str_has_suffix (file, ".m4s") && (segment = find_segment (hub, number)) &&
      ((Packet *) segment->data)->segment == number) {
    add_segment (parts, hub, segment);
  }
  g_mutex_unlock (&hub->lock);
  return parts->len > 0 ? g_steal_pointer (&parts) : NULL;
}
