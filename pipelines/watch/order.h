/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * order.h: the times of a camera's own packets. They come in the order in which they are decoded. Many have a PTS only;
 * the hub and the muxers need a DTS as well, which rises and is never later than the PTS. */
#ifndef PIPELINES_WATCH_ORDER_H
#define PIPELINES_WATCH_ORDER_H

#include <gst/gst.h>

#define ORDER_MAX 16                   /* pictures that may stand before one that is shown earlier */
#define ORDER_EARLIER (1 * GST_SECOND) /* all times are so much later: the first DTS is before the first picture */

typedef struct {
  GQueue held;                   /* of GstBuffer: the first packets, until the depth is known */
  gboolean settled;              /* it is */
  guint depth;                   /* the most packets that came before one and are shown after it */
  GstClockTime shown[ORDER_MAX]; /* the latest `depth` PTS, rising */
  GstClockTime decoded;          /* the last DTS; NONE: there was none */
  GstClockTime raw, newest;      /* the last PTS as it came; the latest one that was given */
  GstClockTimeDiff shift;        /* is added to the PTS as they come */
  guint standing;                /* packets in a row without a new PTS */
  guint late;                    /* packets in a row that are shown before the last DTS */
} Order;

void order_init (Order *order);
void order_clear (Order *order);
/* Takes a packet. Its PTS (NONE: unknown) and DTS and `now` (NONE as well) are running times plus ORDER_EARLIER.
 * `plain`: the stream shows its pictures in the order in which they come. Returns FALSE if the packets have no PTS, so
 * that the order of the pictures is unknown. */
gboolean order_push (Order *order, GstBuffer *packet, GstClockTime now, gboolean plain);
/* Says that no packet follows: the held ones may go. */
void order_end (Order *order);
/* Returns the next packet with both times, NULL: none is ready. */
GstBuffer *order_pop (Order *order);

#endif
