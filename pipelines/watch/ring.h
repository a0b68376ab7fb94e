/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * ring.h: the last encoded frames of a camera. They begin with a key frame. The caller locks. */
#ifndef PIPELINES_WATCH_RING_H
#define PIPELINES_WATCH_RING_H

#include <gst/gst.h>

typedef struct {
  GstBuffer *buffer;
  gint64 wall; /* µs since 1970 */
} Packet;

typedef struct {
  GQueue packets; /* of Packet */
  gsize bytes;
} Ring;

gboolean packet_is_key (const Packet *packet);
/* Adds a frame. Returns NULL if the ring is empty and this is no key frame. The ring keeps the packet. */
Packet *ring_add (Ring *ring, GstBuffer *buffer, gint64 wall);
void ring_clear (Ring *ring);
/* Drops the oldest frames, up to a key frame: those that are not needed for the last `keep` ns, and those above
 * 64 MiB. */
void ring_trim (Ring *ring, gint64 keep);
/* Returns where a recording begins: with the oldest key frame, or no earlier than what was recorded up to the time
 * stamp `recorded` (-1: nothing was). NULL: there is no key frame. */
GList *ring_first (Ring *ring, gint64 recorded);

#endif
