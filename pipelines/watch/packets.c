/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * packets.c: what of a camera is passed on as it comes. */
#include "packets.h"

#include "hub.h"
#include "order.h"
#include "pipeline.h"
#include "session.h"

#include <gst/app/gstappsink.h>
#include <stdatomic.h>

struct Packets {
  GstElement *pipeline; /* not a reference */
  CameraSettings *settings;
  PacketsCalls calls;
  gpointer data;

  /* Of the thread of the packets. */
  _Atomic (const Codec *) codec; /* NULL: none have come */
  Order order;
  GstCaps *caps;                         /* of the last one */
  gboolean plain;                        /* their pictures are shown in the order in which they come */
  gint64 last_key;                       /* ns */
  gint64 least, usual, seen, first_seen; /* µs: ages, and the monotonic times of packets */

  /* Of the thread of the sound. */
  GQueue early;  /* of GstBuffer: what waits for the first picture */
  gint64 second; /* monotonic µs: since when packets are counted */
  guint number;  /* of packets since then */

  _Atomic int shows; /* a picture was given */
};

/* ---- times --------------------------------------------------------------- */

#define UNDER_WAY (30 * G_USEC_PER_SEC) /* a frame, at most */

gint64
age_of (GstElement *pipeline, GstClockTime running)
{
  GstClockTime now = gst_element_get_current_running_time (pipeline);

  return GST_CLOCK_TIME_IS_VALID (now) ? GST_CLOCK_DIFF (running, now) / 1000 : 0;
}

gint64
wall_time (gint64 age)
{
  return g_get_real_time () - CLAMP (age, 0, UNDER_WAY);
}

#define SLOWER 1000                       /* a camera's clock loses at most one part of so many */
#define KNOWN_AFTER (10 * G_USEC_PER_SEC) /* of packets, how long they are under way */

/* Returns the time of day of a packet. Its time is the camera's, whose clock goes slower or faster than this one: after
 * days, its age would be wrong by many seconds. So the least age, which goes with that clock, counts as the one that
 * packets had at first. */
static gint64
packet_wall_time (Packets *packets, GstClockTime time)
{
  const gint64 now = g_get_monotonic_time (), age = age_of (packets->pipeline, time - MIN (time, ORDER_EARLIER));

  packets->least = packets->seen ? MIN (packets->least + (now - packets->seen) / SLOWER, age) : age;
  packets->seen = now;
  if (!packets->first_seen)
    packets->first_seen = now;
  if (now - packets->first_seen < KNOWN_AFTER)
    packets->usual = MAX (packets->least, 0);
  return wall_time (age - packets->least + packets->usual);
}

/* ---- packets ------------------------------------------------------------- */

#define KEY_WITHIN (30 * GST_SECOND) /* after so long without a key frame, the parser's word counts */

/* Marks the packets with which decoding can begin. */
static void
mark_key (Packets *packets, GstBuffer *buffer)
{
  const gint64 pts = (gint64) GST_BUFFER_PTS (buffer);
  gboolean is_key = FALSE;
  GstMapInfo map;

  if (gst_buffer_map (buffer, &map, GST_MAP_READ)) {
    is_key = atomic_load (&packets->codec)->is_entry (map.data, map.size);
    gst_buffer_unmap (buffer, &map);
  }
  if (!GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_DELTA_UNIT))
    is_key |= pts - packets->last_key > (gint64) KEY_WITHIN;
  if (is_key) {
    packets->last_key = pts;
    GST_BUFFER_FLAG_UNSET (buffer, GST_BUFFER_FLAG_DELTA_UNIT);
  } else
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DELTA_UNIT);
}

/* Gives the packets whose times are known. */
static void
give_packets (Packets *packets)
{
  GstBuffer *buffer;

  while ((buffer = order_pop (&packets->order))) {
    mark_key (packets, buffer);
    packets->calls.take (buffer, packets->caps, packet_wall_time (packets, GST_BUFFER_PTS (buffer)), packets->data);
    gst_buffer_unref (buffer);
  }
}

/* Returns a time of the segment as order.h has it. */
static GstClockTime
order_time (const GstSegment *segment, GstClockTime time)
{
  guint64 running;
  const int sign = gst_segment_to_running_time_full (segment, GST_FORMAT_TIME, time, &running);

  return sign == 0 ? GST_CLOCK_TIME_NONE
      : sign > 0   ? ORDER_EARLIER + running
                   : ORDER_EARLIER - MIN (running, ORDER_EARLIER);
}

/* Notes what stream the packets are of. Those of the former one go first. */
static void
begin_packets (Packets *packets, GstCaps *caps)
{
  const char *profile = gst_structure_get_string (gst_caps_get_structure (caps, 0), "profile");

  order_end (&packets->order);
  give_packets (packets);
  gst_caps_replace (&packets->caps, caps);
  packets->plain = !g_strcmp0 (profile, "baseline") || !g_strcmp0 (profile, "constrained-baseline");
}

static GstFlowReturn
on_packet (GstAppSink *sink, gpointer data)
{
  Packets *packets = data;
  GstSample *sample = gst_app_sink_pull_sample (sink);
  const GstSegment *segment;
  GstClockTime now;
  GstBuffer *buffer;
  GstCaps *caps;

  if (!sample)
    return GST_FLOW_EOS;
  segment = gst_sample_get_segment (sample);
  caps = gst_sample_get_caps (sample);
  now = gst_element_get_current_running_time (packets->pipeline);
  if (!packets->caps || !gst_caps_is_equal (packets->caps, caps))
    begin_packets (packets, caps);
  buffer = gst_buffer_copy (gst_sample_get_buffer (sample)); /* shares the memory */
  GST_BUFFER_PTS (buffer) = order_time (segment, GST_BUFFER_PTS (buffer));
  GST_BUFFER_DTS (buffer) = order_time (segment, GST_BUFFER_DTS (buffer));
  if (GST_CLOCK_TIME_IS_VALID (now))
    now += ORDER_EARLIER;
  if (order_push (&packets->order, buffer, now, packets->plain))
    give_packets (packets);
  else
    packets->calls.refuse (packets->data);
  gst_sample_unref (sample);
  return GST_FLOW_OK;
}

static void
on_packets_end (GstAppSink *sink, gpointer data)
{
  Packets *packets = data;

  (void) sink;
  order_end (&packets->order);
  give_packets (packets);
}

void
packets_begin (Packets *packets, GstElement *tee, const Codec *codec)
{
  GstAppSinkCallbacks callbacks = { .new_sample = on_packet, .eos = on_packets_end };
  g_autofree char *line = g_strdup_printf ("%s ! %s, %s ! appsink name = packets sync = false async = false",
      codec->parser, codec->kind, codec->form);
  GstElement *part = gst_parse_bin_from_description (line, TRUE, NULL);
  g_autoptr (GstElement) sink = part ? gst_bin_get_by_name (GST_BIN (part), "packets") : NULL;

  if (sink) {
    gst_app_sink_set_callbacks (GST_APP_SINK (sink), &callbacks, packets, NULL);
    atomic_store (&packets->codec, codec);
  }
  if (!sink || !gst_bin_add (GST_BIN (packets->pipeline), part) || !gst_element_link (tee, part) ||
      !gst_element_sync_state_with_parent (part))
    GST_ELEMENT_ERROR (packets->pipeline, STREAM, FORMAT, ("The camera's packets cannot be taken"), (NULL));
}

const Codec *
packets_codec (Packets *packets)
{
  return atomic_load (&packets->codec);
}

/* ---- sound --------------------------------------------------------------- */

#define EARLY 256 /* packets of it that wait for the first picture */
#define MOST 500  /* a second: any more would push the pictures out of the hub */

/* Gives a packet of sound, which it takes. What comes before the first picture waits for that; the takers learn from
 * the first one that there is sound. */
static void
give_sound (Packets *packets, GstBuffer *buffer, GstCaps *caps)
{
  const gboolean shows = atomic_load (&packets->shows), first = g_queue_is_empty (&packets->early);

  g_queue_push_tail (&packets->early, buffer);
  if (packets->early.length > EARLY)
    gst_buffer_unref (g_queue_pop_head (&packets->early));
  if (!shows && !first)
    return;
  for (GList *l = packets->early.head; l; l = l->next) {
    GstBuffer *copy = gst_buffer_copy (l->data);
    const gint64 wall = wall_time (age_of (packets->pipeline, GST_BUFFER_PTS (copy) - ORDER_EARLIER));

    if (!atomic_load (&packets->codec)) /* pictures that are encoded here have running times */
      GST_BUFFER_PTS (copy) -= ORDER_EARLIER;
    GST_BUFFER_DTS (copy) = GST_BUFFER_PTS (copy);
    packets->calls.take (copy, caps, wall, packets->data);
    gst_buffer_unref (copy);
  }
  if (shows)
    g_queue_clear_full (&packets->early, (GDestroyNotify) gst_buffer_unref);
}

static GstFlowReturn
on_sound (GstAppSink *sink, gpointer data)
{
  Packets *packets = data;
  GstSample *sample = gst_app_sink_pull_sample (sink);
  const gint64 now = g_get_monotonic_time ();
  GstClockTime time;
  GstBuffer *buffer;

  if (!sample)
    return GST_FLOW_EOS;
  buffer = gst_buffer_copy (gst_sample_get_buffer (sample)); /* shares the memory */
  time = order_time (gst_sample_get_segment (sample), GST_BUFFER_PTS (buffer));
  GST_BUFFER_PTS (buffer) = time;
  GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DELTA_UNIT | HUB_SOUND);
  if (now - packets->second > G_USEC_PER_SEC) {
    packets->second = now;
    packets->number = 0;
  }
  if (GST_CLOCK_TIME_IS_VALID (time) && time >= ORDER_EARLIER && packets->number++ < MOST)
    give_sound (packets, g_steal_pointer (&buffer), gst_sample_get_caps (sample));
  gst_clear_buffer (&buffer);
  gst_sample_unref (sample);
  return GST_FLOW_OK;
}

void
packets_take_sound (GstPad *pad, GstCaps *caps, gpointer data)
{
  GstAppSinkCallbacks callbacks = { .new_sample = on_sound };
  Packets *packets = data;
  const Sound *sound = sound_of (caps);
  const char *kind = gst_structure_get_name (gst_caps_get_structure (caps, 0));
  const RecordSettings *record = &packets->settings->record;
  g_autofree char *line = NULL, *reason = NULL;
  g_autoptr (GstElement) sink = NULL;
  g_autoptr (GstPad) input = NULL;
  GstElement *part;

  if (!sound)
    reason = g_strdup_printf ("sound of the kind %s is not passed on; AAC and G.711 are", kind);
  else if (record->folder && !session_takes_sound (record->format, caps))
    reason = g_strdup_printf (
        "a file of MP4 cannot have %s, so the recordings are without sound: set \"format\": \"mkv\"", sound->title);
  if (reason)
    gst_element_post_message (packets->pipeline,
        gst_message_new_application (GST_OBJECT (packets->pipeline),
            gst_structure_new (PIPELINE_NO_SOUND, "reason", G_TYPE_STRING, reason, NULL)));
  if (!sound)
    return;
  /* As the pictures: a file's sound comes at its own speed. */
  line = g_strdup_printf ("%s ! %s ! appsink name = sound sync = false async = false",
      packets->settings->live ? "queue leaky = downstream" : "queue ! identity sync = true", sound->form);
  part = gst_parse_bin_from_description (line, TRUE, NULL);
  if (!part || !gst_bin_add (GST_BIN (packets->pipeline), part))
    return;
  sink = gst_bin_get_by_name (GST_BIN (part), "sound");
  gst_app_sink_set_callbacks (GST_APP_SINK (sink), &callbacks, packets, NULL);
  input = gst_element_get_static_pad (part, "sink");
  if (gst_element_sync_state_with_parent (part))
    gst_pad_link (pad, input);
}

void
packets_let_sound (Packets *packets)
{
  atomic_store (&packets->shows, 1);
}

/* ---- the object ----------------------------------------------------------- */

Packets *
packets_new (GstElement *pipeline, CameraSettings *settings, const PacketsCalls *calls, gpointer data)
{
  Packets *packets = g_new0 (Packets, 1);

  packets->pipeline = pipeline;
  packets->settings = camera_settings_ref (settings);
  packets->calls = *calls;
  packets->data = data;
  order_init (&packets->order);
  return packets;
}

void
packets_free (Packets *packets)
{
  order_clear (&packets->order);
  g_queue_clear_full (&packets->early, (GDestroyNotify) gst_buffer_unref);
  gst_caps_replace (&packets->caps, NULL);
  camera_settings_unref (packets->settings);
  g_free (packets);
}
