/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * hub.h: a camera's encoded frames, and who takes them. It holds the last frames: seconds for the recorder, and
 * for each other taker the newest group of pictures, so that its first picture is whole at once. It outlives the
 * camera's pipelines. Only what has left the filter comes here; of a camera without a filter, its own packets. */
#ifndef PIPELINES_WATCH_HUB_H
#define PIPELINES_WATCH_HUB_H

#include <gst/gst.h>

typedef struct {
  GstBuffer *buffer; /* PTS and DTS: running times of the pipeline */
  gint64 wall;       /* µs since 1970 */
  guint64 segment;   /* the number of the segment that begins with it; 0: none does */
} Packet;

/* Segments (hls.h) begin with a key frame, a second or more after the one before. While somebody asks for them, so many
 * are kept. */
#define HUB_SEGMENTS 6

typedef struct {
  gatomicrefcount count;
  GMutex lock;     /* of all that follows, and of the recorder */
  GQueue packets;  /* of Packet: the last ones; they begin with a key frame */
  gsize bytes;     /* of all packets */
  GstCaps *caps;   /* of the stream; NULL: there is none */
  GstCaps *sound;  /* of its sound; NULL: it has none */
  gint64 heard;    /* monotonic µs: when the last sound came */
  GArray *takers;  /* of hub.c's Taker */
  guint64 dropped; /* frames that takers had no time for */

  /* For segments. */
  GQueue past;          /* of Packet: those before `packets`, while somebody asks */
  gint64 asked;         /* monotonic µs: when somebody has; 0: nobody has */
  guint64 segments;     /* the number of the newest; it rises from one stream, and one process, to the next */
  guint64 begun, shown; /* the first of the stream, and the first that may be seen */
  GstClockTime cut;     /* DTS before which no other one begins */
} Hub;

/* A flag of buffers: it is sound. Such a buffer also counts as one that needs those before it. */
#define HUB_SOUND GST_BUFFER_FLAG_LAST
/* Bytes that a packet counts beside its own, wherever it waits: very many small ones need as much memory, and more of
 * the same memory than GStreamer can count (65535). */
#define HUB_OVERHEAD 4096

/* What a taker does. All is called from the camera's thread, with the lock held, and may not wait. */
typedef struct {
  /* Takes a frame, a copy that is its own. Time stamps begin with 0. Older frames get stamps close to each other, so
   * that a viewer is not behind. The caps never change; sound has its own. */
  void (*take) (GstBuffer *buffer, GstCaps *caps, gpointer data);
  /* Returns how many bytes it has taken and not dealt with, as hub_level () does. If they are too many, it gets no
   * frame before the next key frame. */
  gsize (*level) (gpointer data);
  /* The stream has ended: nothing follows. */
  void (*end) (gpointer data);
  gboolean sound; /* it takes sound as well */
} HubCalls;

Hub *hub_new (void);
Hub *hub_ref (Hub *hub);
void hub_unref (Hub *hub);

/* Gives the taker the newest group of pictures, and then each frame. Returns FALSE if there is no stream, or if too
 * much waits for other takers. Any thread. */
gboolean hub_add_taker (Hub *hub, const HubCalls *calls, gpointer data);
/* When it returns, no call of the taker is under way, and none follows. */
void hub_remove_taker (Hub *hub, gpointer data);
/* What was filtered up to now may show more than from now on: no segment has it any more. Any thread. */
void hub_hide_past (Hub *hub);
/* Returns how many bytes wait in an appsrc, with HUB_OVERHEAD for each packet. Any thread. */
gsize hub_level (gpointer source);
/* Returns the caps of the stream, NULL: there is none. `sound`: the caps of its sound, NULL: none has come lately.
 * Any thread. */
GstCaps *hub_get_caps (Hub *hub, GstCaps **sound);
/* Sets how many takers there are, and how many frames they had no time for in all. */
void hub_count (Hub *hub, guint *takers, guint64 *dropped);

/* For the recorder, which holds the lock. */
gboolean packet_is_key (const Packet *packet);
gboolean packet_is_sound (const Packet *packet);
/* Begins another stream; NULL: none. The takers' streams end. The packets stay until hub_clear (). */
void hub_set_caps (Hub *hub, GstCaps *caps);
void hub_clear (Hub *hub);
/* Gives a frame to the takers and keeps it. Returns FALSE if it is not kept, since there are no packets and this is no
 * key frame. */
gboolean hub_add (Hub *hub, GstBuffer *buffer, gint64 wall);
/* Drops the oldest packets, up to a key frame: what is older than the last `keep` ns, and what is above 64 MiB. */
void hub_trim (Hub *hub, gint64 keep);

#endif
