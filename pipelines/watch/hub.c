/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * hub.c: a camera's encoded frames, and who takes them. */
#include "hub.h"

#include <gst/app/gstappsrc.h>

#define SILENT (G_USEC_PER_SEC / 2) /* after so long, a taker that comes is not promised any sound */
#define MAX_BYTES (64 << 20)        /* of frames that are held */
#define MAX_WAITING (1 << 20) /* bytes that may wait for a taker, beside the group of pictures that it began with */
#define MAX_ALL (128 << 20)   /* bytes that may wait for all takers before another one begins */
#define UNASKED (15 * G_USEC_PER_SEC) /* segments are kept for so long after somebody has asked for them */
#define SQUEEZE 32                    /* the frames that a taker begins with come so many times closer */

typedef struct {
  const HubCalls *calls;
  gpointer data;
  GstClockTime first, newest; /* DTS of the frames that it began with */
  GstClockTime key;           /* PTS of the key frame that it began with, or begins with again */
  gsize bound;                /* bytes that may wait */
  gboolean waits_for_key;
} Taker;

Hub *
hub_new (void)
{
  Hub *hub = g_new0 (Hub, 1);

  g_atomic_ref_count_init (&hub->count);
  g_mutex_init (&hub->lock);
  hub->takers = g_array_new (FALSE, FALSE, sizeof (Taker));
  hub->segments = (guint64) (g_get_real_time () / G_USEC_PER_SEC); /* an earlier process has had smaller numbers */
  return hub;
}

Hub *
hub_ref (Hub *hub)
{
  g_atomic_ref_count_inc (&hub->count);
  return hub;
}

void
hub_unref (Hub *hub)
{
  if (!g_atomic_ref_count_dec (&hub->count))
    return;
  hub_clear (hub);
  gst_caps_replace (&hub->caps, NULL);
  gst_caps_replace (&hub->sound, NULL);
  g_array_unref (hub->takers);
  g_mutex_clear (&hub->lock);
  g_free (hub);
}

/* ---- takers -------------------------------------------------------------- */

/* Returns the taker's time of a time stamp. It rises with the time stamp, also where frames are reordered. */
static GstClockTime
rebase (const Taker *taker, GstClockTime time)
{
  GstClockTime begun = (MIN (time, taker->newest) - MIN (time, taker->first)) / SQUEEZE;

  return time > taker->newest ? begun + (time - taker->newest) : begun;
}

/* Gives a frame to a taker. */
static void
give (Hub *hub, Taker *taker, GstBuffer *buffer)
{
  const gboolean sound = GST_BUFFER_FLAG_IS_SET (buffer, HUB_SOUND);
  gboolean full;

  if (sound && !taker->calls->sound)
    return;
  full = taker->calls->level (taker->data) > taker->bound;
  if (full || (taker->waits_for_key && GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_DELTA_UNIT))) {
    taker->waits_for_key = TRUE;
    hub->dropped += !sound;
    return;
  }
  if (taker->waits_for_key)
    taker->key = GST_BUFFER_PTS (buffer);
  taker->waits_for_key = FALSE;
  if (GST_BUFFER_PTS (buffer) < taker->key) /* it refers to a picture from before that key frame */
    return;
  buffer = gst_buffer_copy (buffer); /* shares the memory */
  GST_BUFFER_PTS (buffer) = rebase (taker, GST_BUFFER_PTS (buffer));
  GST_BUFFER_DTS (buffer) = rebase (taker, GST_BUFFER_DTS (buffer));
  taker->calls->take (buffer, sound ? hub->sound : hub->caps, taker->data);
}

gboolean
hub_add_taker (Hub *hub, const HubCalls *calls, gpointer data)
{
  Taker taker = { .calls = calls, .data = data, .bound = MAX_WAITING, .waits_for_key = TRUE };
  GList *first = NULL;
  gsize waiting = 0;

  g_mutex_lock (&hub->lock);
  for (guint i = 0; i < hub->takers->len; i++) {
    const Taker *other = &g_array_index (hub->takers, Taker, i);

    waiting += other->calls->level (other->data);
  }
  if (hub->caps && waiting < MAX_ALL)
    for (first = hub->packets.tail; first && !packet_is_key (first->data);)
      first = first->prev;
  if (first) {
    taker.first = GST_BUFFER_DTS (((Packet *) first->data)->buffer);
    taker.newest = GST_BUFFER_DTS (((Packet *) hub->packets.tail->data)->buffer);
    for (GList *l = first; l; l = l->next)
      taker.bound += gst_buffer_get_size (((Packet *) l->data)->buffer) + HUB_OVERHEAD;
    for (GList *l = first; l; l = l->next)
      give (hub, &taker, ((Packet *) l->data)->buffer);
    g_array_append_val (hub->takers, taker);
  }
  g_mutex_unlock (&hub->lock);
  return first != NULL;
}

void
hub_remove_taker (Hub *hub, gpointer data)
{
  g_mutex_lock (&hub->lock);
  for (guint i = hub->takers->len; i-- > 0;)
    if (g_array_index (hub->takers, Taker, i).data == data)
      g_array_remove_index (hub->takers, i);
  g_mutex_unlock (&hub->lock);
}

gsize
hub_level (gpointer source)
{
  return gst_app_src_get_current_level_bytes (source) + gst_app_src_get_current_level_buffers (source) * HUB_OVERHEAD;
}

GstCaps *
hub_get_caps (Hub *hub, GstCaps **sound)
{
  GstCaps *caps;

  g_mutex_lock (&hub->lock);
  caps = hub->caps ? gst_caps_ref (hub->caps) : NULL;
  *sound = hub->sound && g_get_monotonic_time () - hub->heard < SILENT ? gst_caps_ref (hub->sound) : NULL;
  g_mutex_unlock (&hub->lock);
  return caps;
}

void
hub_count (Hub *hub, guint *takers, guint64 *dropped)
{
  g_mutex_lock (&hub->lock);
  *takers = hub->takers->len;
  *dropped = hub->dropped;
  g_mutex_unlock (&hub->lock);
}

/* ---- packets ------------------------------------------------------------- */

gboolean
packet_is_key (const Packet *packet)
{
  return !GST_BUFFER_FLAG_IS_SET (packet->buffer, GST_BUFFER_FLAG_DELTA_UNIT);
}

gboolean
packet_is_sound (const Packet *packet)
{
  return GST_BUFFER_FLAG_IS_SET (packet->buffer, HUB_SOUND);
}

void
hub_set_caps (Hub *hub, GstCaps *caps)
{
  for (guint i = 0; i < hub->takers->len; i++) {
    const Taker *taker = &g_array_index (hub->takers, Taker, i);

    taker->calls->end (taker->data);
  }
  g_array_set_size (hub->takers, 0);
  gst_caps_replace (&hub->caps, caps);
  hub->begun = hub->segments + 1;
  hub->shown = MAX (hub->shown, hub->begun);
  hub->cut = 0;
}

/* The next segment as well: its first frame may have left the filter before. */
void
hub_hide_past (Hub *hub)
{
  g_mutex_lock (&hub->lock);
  hub->shown = hub->segments + 2;
  g_mutex_unlock (&hub->lock);
}

static void
drop_from (Hub *hub, GQueue *packets)
{
  Packet *packet = g_queue_pop_head (packets);

  hub->bytes -= gst_buffer_get_size (packet->buffer) + HUB_OVERHEAD;
  gst_buffer_unref (packet->buffer);
  g_free (packet);
}

void
hub_clear (Hub *hub)
{
  while (!g_queue_is_empty (&hub->past))
    drop_from (hub, &hub->past);
  while (!g_queue_is_empty (&hub->packets))
    drop_from (hub, &hub->packets);
}

gboolean
hub_add (Hub *hub, GstBuffer *buffer, gint64 wall)
{
  Packet *packet;

  if (GST_BUFFER_FLAG_IS_SET (buffer, HUB_SOUND))
    hub->heard = g_get_monotonic_time ();
  for (guint i = 0; i < hub->takers->len; i++)
    give (hub, &g_array_index (hub->takers, Taker, i), buffer);
  if (g_queue_is_empty (&hub->packets) && GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_DELTA_UNIT))
    return FALSE;
  packet = g_new0 (Packet, 1);
  packet->buffer = gst_buffer_ref (buffer);
  packet->wall = wall;
  if (packet_is_key (packet) && GST_BUFFER_DTS (buffer) >= hub->cut) {
    packet->segment = ++hub->segments;
    hub->cut = GST_BUFFER_DTS (buffer) + GST_SECOND;
  }
  g_queue_push_tail (&hub->packets, packet);
  hub->bytes += gst_buffer_get_size (buffer) + HUB_OVERHEAD;
  return TRUE;
}

/* Drops packets before the first segment that somebody may still ask for. */
static void
trim_past (Hub *hub)
{
  const gboolean asked = hub->asked && g_get_monotonic_time () - hub->asked < UNASKED && hub->bytes <= MAX_BYTES;
  const Packet *oldest;

  while ((oldest = g_queue_peek_head (&hub->past)) &&
      !(asked && oldest->segment >= hub->shown && oldest->segment + HUB_SEGMENTS > hub->segments))
    drop_from (hub, &hub->past);
}

void
hub_trim (Hub *hub, gint64 keep)
{
  trim_past (hub);
  for (;;) {
    GList *second = hub->packets.head ? hub->packets.head->next : NULL;
    Packet *newest = g_queue_peek_tail (&hub->packets);

    while (second && !packet_is_key (second->data))
      second = second->next;
    if (!second) {
      if (hub->bytes > MAX_BYTES) /* a group without end */
        hub_clear (hub);
      return;
    }
    if (hub->bytes <= MAX_BYTES &&
        GST_CLOCK_DIFF (GST_BUFFER_PTS (((Packet *) second->data)->buffer), GST_BUFFER_PTS (newest->buffer)) < keep)
      return;
    do {
      if (hub->bytes > MAX_BYTES)
        drop_from (hub, &hub->packets);
      else
        g_queue_push_tail (&hub->past, g_queue_pop_head (&hub->packets));
    } while (!packet_is_key (g_queue_peek_head (&hub->packets)));
  }
}
