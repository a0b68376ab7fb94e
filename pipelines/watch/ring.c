/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * ring.c: the last encoded frames of a camera. */
#include "ring.h"

#define MAX_BYTES (64 << 20)

gboolean
packet_is_key (const Packet *packet)
{
  return !GST_BUFFER_FLAG_IS_SET (packet->buffer, GST_BUFFER_FLAG_DELTA_UNIT);
}

Packet *
ring_add (Ring *ring, GstBuffer *buffer, gint64 wall)
{
  Packet *packet;

  if (g_queue_is_empty (&ring->packets) && GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_DELTA_UNIT))
    return NULL;
  packet = g_new (Packet, 1);
  packet->buffer = gst_buffer_ref (buffer);
  packet->wall = wall;
  g_queue_push_tail (&ring->packets, packet);
  ring->bytes += gst_buffer_get_size (buffer);
  return packet;
}

static void
drop_head (Ring *ring)
{
  Packet *packet = g_queue_pop_head (&ring->packets);

  ring->bytes -= gst_buffer_get_size (packet->buffer);
  gst_buffer_unref (packet->buffer);
  g_free (packet);
}

void
ring_clear (Ring *ring)
{
  while (!g_queue_is_empty (&ring->packets))
    drop_head (ring);
}

void
ring_trim (Ring *ring, gint64 keep)
{
  for (;;) {
    GList *second = ring->packets.head ? ring->packets.head->next : NULL;
    Packet *newest = g_queue_peek_tail (&ring->packets);

    while (second && !packet_is_key (second->data))
      second = second->next;
    if (!second) {
      if (ring->bytes > MAX_BYTES) /* a group without end */
        ring_clear (ring);
      return;
    }
    if (ring->bytes <= MAX_BYTES &&
        GST_CLOCK_DIFF (GST_BUFFER_PTS (((Packet *) second->data)->buffer), GST_BUFFER_PTS (newest->buffer)) < keep)
      return;
    do
      drop_head (ring);
    while (!packet_is_key (g_queue_peek_head (&ring->packets)));
  }
}

GList *
ring_first (Ring *ring, gint64 recorded)
{
  GList *first = ring->packets.head;

  for (GList *l = first; l && recorded >= 0; l = l->next) {
    Packet *packet = l->data;

    if (packet_is_key (packet))
      first = l;
    if ((gint64) GST_BUFFER_PTS (packet->buffer) > recorded)
      break;
  }
  return first;
}
