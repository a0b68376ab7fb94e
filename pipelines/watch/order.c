/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * order.c: the times of a camera's own packets. With pictures that are shown in another order than they are decoded,
 *
 *   PTS   0 3 1 2 6 4 5     one picture, 3, stands before earlier ones: the depth is 1
 *   DTS  -1 0 1 2 3 4 5     the PTS in rising order, one packet later
 *
 * The depth is not in the packets. It is taken from the first half second of them, which is held back for that. */
#include "order.h"

#include <string.h>

#define LEARNS (500 * GST_MSECOND)
#define STEP_BACK GST_SECOND /* a larger one: the camera's clock was set */
#define USUAL (40 * GST_MSECOND)
#define MAX_STANDING 8 /* packets in a row without a new PTS: then they get the time at which they come */
#define MAX_LATE 3     /* packets in a row that are shown before the last DTS: the clock was set as well */
#define NEXT 1000      /* ns: the least step of the DTS */
#define LATEST ((GstClockTimeDiff) 1 << 61) /* a time that is later is none */

void
order_init (Order *order)
{
  *order = (Order) { .decoded = GST_CLOCK_TIME_NONE, .raw = GST_CLOCK_TIME_NONE, .newest = GST_CLOCK_TIME_NONE };
}

void
order_clear (Order *order)
{
  g_queue_clear_full (&order->held, (GDestroyNotify) gst_buffer_unref);
}

/* Sets the packet's PTS: its own, or one behind the newest where that is missing, was there before, or goes back
 * further than pictures are reordered. */
static void
date (Order *order, GstBuffer *packet, GstClockTime pts, GstClockTime now)
{
  const GstClockTime duration = GST_BUFFER_DURATION_IS_VALID (packet) ? GST_BUFFER_DURATION (packet) : USUAL;
  const GstClockTimeDiff own = pts < LATEST ? (GstClockTimeDiff) pts + order->shift : LATEST;
  GstClockTime next = GST_CLOCK_TIME_IS_VALID (order->newest)
      ? order->newest + CLAMP (duration, 2 * GST_MSECOND, 2 * USUAL) / 2
      : ORDER_EARLIER;

  if (own < 0 || own >= LATEST || pts == order->raw) {
    if (++order->standing > MAX_STANDING && GST_CLOCK_TIME_IS_VALID (now))
      next = MAX (next, now);
  } else {
    order->raw = pts;
    order->standing = 0;
    order->late = order->settled && own <= (GstClockTimeDiff) order->decoded ? order->late + 1 : 0;
    if (order->late > MAX_LATE)
      order->shift += (GstClockTimeDiff) next - own;
    else if (!GST_CLOCK_TIME_IS_VALID (order->newest) || own > (GstClockTimeDiff) (order->newest - STEP_BACK))
      next = (GstClockTime) own;
    else
      order->shift += (GstClockTimeDiff) next - own;
  }
  order->newest = GST_CLOCK_TIME_IS_VALID (order->newest) ? MAX (order->newest, next) : next;
  GST_BUFFER_PTS (packet) = next;
}

/* Takes the depth from the packets that are held. */
static void
settle (Order *order)
{
  GstClockTime step = ORDER_EARLIER / (ORDER_MAX + 1);
  GstBuffer *first = g_queue_peek_head (&order->held);

  for (GList *l = order->held.head; l; l = l->next) {
    guint later = 0;

    for (GList *before = order->held.head; before != l; before = before->next) {
      const GstClockTimeDiff ahead = GST_CLOCK_DIFF (GST_BUFFER_PTS (l->data), GST_BUFFER_PTS (before->data));

      later += ahead > 0;
      if (ahead)
        step = MIN (step, (GstClockTime) ABS (ahead));
    }
    order->depth = MIN (MAX (order->depth, later), ORDER_MAX);
  }
  for (guint i = 0; i < order->depth; i++)
    order->shown[i] = GST_BUFFER_PTS (first) - (order->depth - i) * step;
  order->settled = TRUE;
}

gboolean
order_push (Order *order, GstBuffer *packet, GstClockTime now, gboolean plain)
{
  GstClockTime pts = GST_BUFFER_PTS (packet);

  if (!GST_CLOCK_TIME_IS_VALID (pts) && GST_BUFFER_DTS_IS_VALID (packet)) {
    if (!plain) {
      gst_buffer_unref (packet);
      return FALSE;
    }
    pts = GST_BUFFER_DTS (packet);
  }
  date (order, packet, pts, now);
  g_queue_push_tail (&order->held, packet);
  if (!order->settled &&
      (plain || order->held.length > ORDER_MAX ||
          order->newest - GST_BUFFER_PTS (g_queue_peek_head (&order->held)) >= LEARNS))
    settle (order);
  return TRUE;
}

void
order_end (Order *order)
{
  if (!order->settled && !g_queue_is_empty (&order->held))
    settle (order);
}

/* Puts the PTS in the place of the first one that is shown, and sorts them. */
static void
keep (Order *order, GstClockTime pts)
{
  guint i = 0;

  for (; i + 1 < order->depth && order->shown[i + 1] < pts; i++)
    order->shown[i] = order->shown[i + 1];
  order->shown[i] = pts;
}

GstBuffer *
order_pop (Order *order)
{
  GstBuffer *packet = order->settled ? g_queue_pop_head (&order->held) : NULL;
  GstClockTime pts, dts;

  if (!packet)
    return NULL;
  pts = dts = GST_BUFFER_PTS (packet);
  if (GST_CLOCK_TIME_IS_VALID (order->decoded) && pts < order->decoded && order->depth < ORDER_MAX) {
    memmove (order->shown + 1, order->shown, order->depth * sizeof *order->shown);
    order->depth++; /* it stands deeper than any before */
    keep (order, pts);
  } else if (order->depth && pts > order->shown[0]) {
    dts = order->shown[0];
    keep (order, pts);
  }
  if (GST_CLOCK_TIME_IS_VALID (order->decoded))
    dts = MAX (dts, order->decoded + NEXT);
  order->decoded = dts;
  GST_BUFFER_DTS (packet) = dts;
  GST_BUFFER_PTS (packet) = MAX (pts, dts);
  return packet;
}
