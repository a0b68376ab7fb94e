/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * source.c: what a camera's pipeline has before its filter: the source, the decoder, their limits, and a queue. Cameras
 * are not trusted: what one of them sends may not harm the others. */
#include "source.h"

#include "codec.h"
#include "elements.h"
#include "parts.h"
#include "secrets.h"
#include "threads.h"
#include "trust.h"

#include <cf.h>

#include <gst/tag/tag.h>
#include <gst/video/video.h>
#include <stdatomic.h>
#include <string.h>

#define QUEUED 10 /* frames that may wait for the filter: a third of a second, as an encoder needs to start */
#define QUEUED_BYTES (512 << 20) /* of them: ten of the largest pictures would be gigabytes */
#define MAX_STREAMS 16           /* of one server: pictures, sound, what it sees in them */
#define MAX_SENDERS 64           /* that packets may name between two pictures */
/* A frame whose time does not rise gets a later one: half a frame after the frame before, within these bounds. */
#define NEAREST GST_MSECOND /* Matroska counts in ms */
#define FARTHEST (100 * GST_MSECOND)
#define STEP_BACK GST_SECOND /* a larger one: the source's clock was set */
#define MAX_STANDING 8       /* after so many such frames in a row, their times count as missing */

struct Source {
  gatomicrefcount count;
  GstElement *bin; /* the pipeline */
  CameraSettings *settings;
  gboolean own;           /* the camera's own packets may come */
  SourceSound take_sound; /* NULL: it is not wanted, or was taken */
  gpointer sound_data;
  GstElement *head; /* the first one behind the source */
  Queue input;

  /* The frames' running times; of the source's thread. */
  GstClockTime stamped; /* the last one, NONE: there was none */
  GstClockTime shift;   /* what is added to the source's own */
  gboolean turned;      /* the pictures lie on their side */
  gboolean packets;     /* what comes is not decoded; order.h gives it its times */
  const char *exif;     /* the orientation of the last JPEG; NULL: it has none */
  guint standing;       /* frames in a row whose time was not later than the last one */

  /* Written by streaming threads. */
  _Atomic guint64 unseen;      /* bytes that came since the last picture */
  gboolean counts_packets;     /* when they come, before they are put in order */
  _Atomic guint senders;       /* that came since then */
  const char *_Atomic refused; /* the first kind of stream in it that is not decoded; NULL: none */

  GstElement *asked_source; /* of single pictures over HTTP, which is asked again and again; NULL: of another kind */
  gint64 asked;             /* monotonic µs; guarded by the bin's state lock, but for its first value */
};

static Source *
source_ref (Source *self)
{
  g_atomic_ref_count_inc (&self->count);
  return self;
}

/* ---- times and colours --------------------------------------------------- */

/* What sources leave open about their frames. */

/* Returns the running time that a frame gets: its own, or a later one if that is missing (NONE) or not later than the
 * frame before. Half a frame later, so that the next frame may still keep its own. */
static GstClockTime
rise (Source *self, GstClockTime time, GstClockTime duration)
{
  GstClockTime now = gst_element_get_current_running_time (self->bin), next;
  gboolean known = GST_CLOCK_TIME_IS_VALID (time);

  duration = GST_CLOCK_TIME_IS_VALID (duration) ? CLAMP (duration, 2 * NEAREST, FARTHEST) : 2 * NEAREST;
  next = GST_CLOCK_TIME_IS_VALID (self->stamped) ? self->stamped + duration / 2 : 0;
  if (known)
    time += self->shift;
  if (known && (!next || time > self->stamped)) {
    self->standing = 0;
  } else if (!known || ++self->standing > MAX_STANDING) {
    time = known ? next + duration / 2 : next;
    if (GST_CLOCK_TIME_IS_VALID (now)) /* before the pipeline plays it has no clock */
      time = MAX (now, time);
  } else {
    if (self->stamped - time > STEP_BACK) /* shift all later times as well, so that their distances are right */
      self->shift += next - time;
    time = next;
  }
  return time;
}

/* Completes a colorimetry without a matrix, as H.264 has it that declares its full range and nothing else. Without a
 * matrix the next elements would ignore the range, too. */
GstEvent *
source_complete_color (GstEvent *event)
{
  g_autofree char *whole = NULL;
  GstVideoColorimetry color;
  GstVideoInfo info;
  GstCaps *caps;
  const char *text;

  gst_event_parse_caps (event, &caps);
  text = gst_structure_get_string (gst_caps_get_structure (caps, 0), "colorimetry");
  if (!text || !gst_video_colorimetry_from_string (&color, text) || color.range != GST_VIDEO_COLOR_RANGE_0_255 ||
      color.matrix != GST_VIDEO_COLOR_MATRIX_UNKNOWN || !gst_video_info_from_caps (&info, caps) ||
      !GST_VIDEO_INFO_IS_YUV (&info))
    return event;
  color.matrix = info.colorimetry.matrix; /* what is usual at this size */
  caps = gst_caps_copy (caps);
  whole = gst_video_colorimetry_to_string (&color);
  gst_caps_set_simple (caps, "colorimetry", G_TYPE_STRING, whole, NULL);
  gst_event_unref (event);
  event = gst_event_new_caps (caps);
  gst_caps_unref (caps);
  return event;
}

/* Sees each picture that enters the line. The counts of what comes without a picture begin anew. A time that is missing
 * (JPEGs over HTTP) or does not rise (some cameras and files) is replaced: an encoder or a muxer would lose the frame.
 * Where the segment has ended by the new time, the frame is dropped: snapshots would take it for a later one. */
static GstPadProbeReturn
on_input (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstBuffer *buffer = info->data;
  g_autoptr (GstEvent) event = NULL;
  const GstSegment *segment;
  GstClockTime own, time, pts;
  Source *self = data;

  if (info->type & GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM) {
    if (GST_EVENT_TYPE (info->data) == GST_EVENT_CAPS)
      info->data = source_complete_color (info->data);
    return GST_PAD_PROBE_OK;
  }
  atomic_store (&self->unseen, 0);
  atomic_store (&self->senders, 0);
  if (self->packets || !(event = gst_pad_get_sticky_event (pad, GST_EVENT_SEGMENT, 0)))
    return GST_PAD_PROBE_OK;
  gst_event_parse_segment (event, &segment);
  own = gst_segment_to_running_time (segment, GST_FORMAT_TIME, GST_BUFFER_PTS (buffer));
  time = rise (self, own, GST_BUFFER_DURATION (buffer));
  if (time != own) {
    pts = gst_segment_position_from_running_time (segment, GST_FORMAT_TIME, time);
    if (pts >= segment->stop) /* NONE, outside of the segment, is the largest */
      return GST_PAD_PROBE_DROP;
    info->data = buffer = gst_buffer_make_writable (buffer);
    GST_BUFFER_PTS (buffer) = pts;
  }
  self->stamped = time;
  return GST_PAD_PROBE_OK;
}

/* ---- pictures that lie on their side ------------------------------------- */

/* A file's display matrix or EXIF says it. They are turned upright before the filter, because recordings and snapshots
 * carry no such mark. */

/* Puts videoflip behind the pad, which is in the middle of pushing a frame. */
static void
insert (Source *self, GstPad *pad)
{
  g_autoptr (GstPad) head = gst_element_get_static_pad (self->head, "sink"), first = NULL;
  g_autoptr (GString) wrong = g_string_new ("The pictures are not turned upright");
  GstElement *flip = element_add (self->bin, "videoflip", "turn", wrong), *convert, *download;

  if (!flip) {
    GST_ELEMENT_WARNING (self->bin, CORE, MISSING_PLUGIN, ("%s", wrong->str), (NULL));
    return;
  }
  gst_util_set_object_arg (G_OBJECT (flip), "video-direction", "auto"); /* as the tags say */
  convert = gst_element_factory_make ("videoconvert", NULL);            /* videoflip does not have all formats */
  download = gst_element_factory_make ("cudadownload", NULL);           /* nor CUDA memory */
  download = download ? download : gst_element_factory_make ("identity", NULL);
  gst_bin_add_many (GST_BIN (self->bin), download, convert, NULL);
  first = gst_element_get_static_pad (download, "sink");
  gst_pad_unlink (pad, head);
  if (!gst_element_link_many (download, convert, flip, self->head, NULL) ||
      GST_PAD_LINK_FAILED (gst_pad_link (pad, first)) || !gst_element_sync_state_with_parent (flip) ||
      !gst_element_sync_state_with_parent (convert) || !gst_element_sync_state_with_parent (download))
    GST_ELEMENT_ERROR (self->bin, STREAM, FORMAT, ("%s", wrong->str), (NULL));
}

gboolean
source_is_turned (GstEvent *event)
{
  g_autofree char *orientation = NULL;
  GstTagList *tags;

  if (GST_EVENT_TYPE (event) != GST_EVENT_TAG)
    return FALSE;
  gst_event_parse_tag (event, &tags);
  return gst_tag_list_get_string (tags, GST_TAG_IMAGE_ORIENTATION, &orientation) && g_strcmp0 (orientation, "rotate-0");
}

/* Waits for the first frame after such a tag to insert videoflip: GStreamer sends the sticky events again to a new
 * peer. */
static GstPadProbeReturn
on_data (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Source *self = data;

  if (info->type & GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM) {
    self->turned |= source_is_turned (GST_PAD_PROBE_INFO_EVENT (info));
    return GST_PAD_PROBE_OK;
  }
  if (!self->turned)
    return GST_PAD_PROBE_OK;
  insert (self, pad);
  return GST_PAD_PROBE_REMOVE;
}

/* Turns the pictures of this pad upright if they lie on their side. The caller links it to the head. */
static void
turn_pictures (Source *self, GstPad *pad)
{
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_data, self, NULL);
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

/* Sends a decoder the orientation that the EXIF of a JPEG has, as a tag. */
static void
note_exif (Source *self, GstPad *pad, const guint8 *data, gsize size)
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
  if (found == self->exif)
    return;
  self->exif = found;
  gst_pad_send_event (pad,
      gst_event_new_tag (gst_tag_list_new (GST_TAG_IMAGE_ORIENTATION, found ? found : "rotate-0", NULL)));
}

/* ---- limits -------------------------------------------------------------- */

/* All cameras share the process. A camera can fill its memory by bytes without a picture, which a demuxer or a decoder
 * collects; by streams of an RTSP server, a thread each; and by the size of a picture, which a decoder allocates. */

/* Counts what comes from the source since the last picture. When it is too much, nothing more of it passes. */
static GstPadProbeReturn
on_bytes (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Source *self = data;
  const guint64 max = self->settings->max_bytes;
  const gsize size = info->type & GST_PAD_PROBE_TYPE_BUFFER_LIST
      ? gst_buffer_list_calculate_size (GST_PAD_PROBE_INFO_BUFFER_LIST (info))
      : gst_buffer_get_size (GST_PAD_PROBE_INFO_BUFFER (info));
  const guint64 before = atomic_fetch_add (&self->unseen, size);

  (void) pad;
  if (before + size <= max)
    return GST_PAD_PROBE_OK;
  if (before <= max)
    GST_ELEMENT_ERROR (self->bin, STREAM, FAILED,
        ("The camera has sent %" G_GUINT64_FORMAT " bytes without a picture; \"max_bytes\" is %" G_GUINT64_FORMAT,
            before + size, max),
        (NULL));
  return GST_PAD_PROBE_DROP;
}

static void
count_pad (GstElement *source, GstPad *pad, gpointer data)
{
  Source *self = data;

  (void) source;
  if (GST_PAD_IS_SRC (pad) && !self->counts_packets)
    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, on_bytes, self, NULL);
}

static gboolean
count_present_pad (GstElement *source, GstPad *pad, gpointer self)
{
  count_pad (source, pad, self);
  return TRUE;
}

/* Has the pipeline fail when more than the camera's `max_bytes` come from the source without a picture. */
static void
limit_bytes (Source *self, GstElement *source)
{
  gst_element_foreach_src_pad (source, count_present_pad, self);
  g_signal_connect (source, "pad-added", G_CALLBACK (count_pad), self);
}

static void
set_if_there (GObject *object, const char *property, const char *value)
{
  if (g_object_class_find_property (G_OBJECT_GET_CLASS (object), property))
    gst_util_set_object_arg (object, property, value);
}

static gboolean
select_stream (GstElement *source, guint number, GstCaps *caps, gpointer self)
{
  const char *encoding = gst_structure_get_string (gst_caps_get_structure (caps, 0), "encoding-name");

  /* To follow the camera's clock, packets are taken to come in the order of their times. With pictures that are shown
   * in another order, those times would be wrong, and no decoder is there to put them right. */
  if (((Source *) self)->own && (!g_strcmp0 (encoding, "H264") || !g_strcmp0 (encoding, "H265")))
    set_if_there (G_OBJECT (source), "buffer-mode", "none");
  return number < MAX_STREAMS;
}

/* Counts what comes before it waits for packets that are late: as long as they may be, and however many. */
static void
count_packets (GstElement *manager, GstPad *pad, gpointer self)
{
  (void) manager;
  if (g_str_has_prefix (GST_PAD_NAME (pad), "recv_rtp_sink"))
    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, on_bytes, self, NULL);
}

/* Counts the senders of packets. The session keeps each for a while, whatever becomes of its packets. */
static void
on_sender (GstElement *manager, guint session, guint sender, gpointer data)
{
  Source *self = data;

  (void) manager;
  (void) session;
  (void) sender;
  if (atomic_fetch_add (&self->senders, 1) == MAX_SENDERS)
    GST_ELEMENT_ERROR (self->bin, STREAM, FAILED,
        ("The camera has sent packets of more than %d senders (SSRC) without a picture", MAX_SENDERS), (NULL));
}

static void
limit_manager (GstElement *source, GstElement *manager, gpointer data)
{
  Source *self = data;

  (void) source;
  if (!g_object_class_find_property (G_OBJECT_GET_CLASS (manager), "max-streams")) /* it is no rtpbin */
    return;
  g_object_set (manager, "max-streams", MAX_STREAMS, NULL);
  g_signal_connect (manager, "on-new-ssrc", G_CALLBACK (on_sender), self);
  g_signal_connect (manager, "pad-added", G_CALLBACK (count_packets), self);
  self->counts_packets = TRUE;
}

/* Bounds the streams that an rtspsrc takes from its server. */
static void
limit_streams (Source *self, GstElement *source)
{
  g_signal_connect (source, "select-stream", G_CALLBACK (select_stream), self);
  g_signal_connect (source, "new-manager", G_CALLBACK (limit_manager), self);
}

/* Is there the header of a JPEG frame with more than `max` columns or rows? Returns its size. Looks everywhere in the
 * bytes: a decoder may see the picture begin elsewhere than we do. */
static gboolean
find_larger (const guint8 *data, gsize size, guint max, guint *width, guint *height)
{
  const guint8 *end = data + size, *at = data;

  for (; size && (at = memchr (at, 0xff, (gsize) (end - at))) && end - at >= 10; at++) {
    const guint marker = at[1], length = (guint) at[2] << 8 | at[3];

    /* c4, c8 and cc are no frames. A frame is as long as its components. In samples no such byte follows ff. */
    if (marker < 0xc0 || marker > 0xcf || (marker > 0xc0 && marker % 4 == 0))
      continue;
    *height = (guint) at[5] << 8 | at[6];
    *width = (guint) at[7] << 8 | at[8];
    if (length == 8 + 3u * at[9] && (*width > max || *height > max))
      return TRUE;
  }
  return FALSE;
}

/* Sees what a decoder is about to get. Frame sizes are in its caps or, of a JPEG, in its bytes. */
static GstPadProbeReturn
on_compressed (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  guint width = 0, height = 0;
  gboolean larger = FALSE;
  Source *self = data;

  if (info->type & GST_PAD_PROBE_TYPE_BUFFER) {
    GstMapInfo map;

    if (gst_buffer_map (GST_PAD_PROBE_INFO_BUFFER (info), &map, GST_MAP_READ)) {
      larger = find_larger (map.data, map.size, CF_MAX_SIZE, &width, &height);
      note_exif (self, pad, map.data, map.size);
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
  GST_ELEMENT_ERROR (self->bin, STREAM, DECODE,
      ("A picture says it has %u x %u pixels; it may have %d x %d", width, height, CF_MAX_SIZE, CF_MAX_SIZE), (NULL));
  return GST_PAD_PROBE_DROP;
}

/* Has the pipeline fail, where the element is a decoder, before it gets a picture larger than the filters take. */
static void
limit_size (Source *self, GstElement *element)
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
  gst_pad_add_probe (pad, type, on_compressed, self, NULL);
  gst_caps_unref (caps);
  gst_caps_unref (jpeg);
  gst_object_unref (pad);
}

/* ---- pictures on request ------------------------------------------------- */

/* Cameras that send one picture when they are asked. The source is stopped and started for each, behind which the
 * pipeline goes on. */

static void
ask_in_thread (gpointer data)
{
  Source *self = data;

  /* The pipeline is neither started nor stopped meanwhile. */
  GST_STATE_LOCK (self->bin);
  if (GST_STATE_TARGET (self->bin) == GST_STATE_PLAYING &&
      gst_element_set_state (self->asked_source, GST_STATE_READY) != GST_STATE_CHANGE_FAILURE) {
    self->asked = g_get_monotonic_time ();
    gst_element_sync_state_with_parent (self->asked_source);
  }
  GST_STATE_UNLOCK (self->bin);
  source_unref (self);
}

static gboolean
on_ask (gpointer self)
{
  in_pool (ask_in_thread, source_ref (self));
  return G_SOURCE_REMOVE;
}

/* Asks for the next picture when it is time for it. */
static void
on_answered (gpointer data)
{
  Source *self = data;
  gint64 wait = self->asked + (gint64) self->settings->every * G_USEC_PER_SEC - g_get_monotonic_time ();

  g_timeout_add_full (G_PRIORITY_DEFAULT, (guint) (MAX (wait, 0) / 1000), on_ask, source_ref (self),
      (GDestroyNotify) source_unref);
}

/* Has the source started again each time its stream has ended, when it is time for the next picture. */
static void
ask_again (Source *self, GstElement *parts)
{
  self->asked = g_get_monotonic_time ();
  parts_keep_open (parts, on_answered, self);
}

/* ---- sources ------------------------------------------------------------- */

/* Sets what a source of this kind has. */
static void
set_up_source (GstElement *decoder, GstElement *source, gpointer data)
{
  static const char *const protocols
      [] = { [TRANSPORT_TCP] = "tcp", [TRANSPORT_UDP] = "udp+udp-mcast", [TRANSPORT_AUTO] = "tcp+udp+udp-mcast" };
  Source *self = data;
  const CameraSettings *s = self->settings;
  GObject *object = G_OBJECT (source);
  g_autofree char *latency = g_strdup_printf ("%u", s->latency), *us = g_strdup_printf ("%u000000", s->timeout);

  (void) decoder;
  if (s->live || s->http) /* a file has an end */
    limit_bytes (self, source);
  trust_set_up (source, self->bin, s);
  if (strcmp (element_kind (source), "rtspsrc"))
    return;
  limit_streams (self, source);
  set_if_there (object, "protocols", protocols[s->transport]);
  set_if_there (object, "latency", latency);
  set_if_there (object, "tcp-timeout", us); /* a server that does not answer */
  set_if_there (object, "timeout", us);
}

/* Sees each element that a decoder takes. A camera over HTTP has no clock of its own, and its JPEGs are not waited
 * for. */
static void
set_up_part (GstBin *decoder, GstBin *bin, GstElement *element, gpointer data)
{
  Source *self = data;

  (void) decoder;
  (void) bin;
  limit_size (self, element);
  if (self->settings->http && !strcmp (element_kind (element), "cf-watch-parts"))
    gst_util_set_object_arg (G_OBJECT (self->input.element), "leaky", "downstream");
}

/* May the stream be decoded? Playlists and descriptions of other streams may not: their elements would open any address
 * and any file. */
static gboolean
may_hold_pictures (GstCaps *caps)
{
  static const char *const kinds[] = { "video/", "image/", "multipart/x-mixed-replace", "application/x-rtp",
    "application/ogg", "application/mxf" };
  const char *name = gst_structure_get_name (gst_caps_get_structure (caps, 0));

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (g_str_has_prefix (name, kinds[i]))
      return TRUE;
  return FALSE;
}

gboolean
source_are_packets (GstCaps *caps)
{
  const Codec *codec = codec_of (caps);

  return codec && codec->is_entry && gst_structure_has_field (gst_caps_get_structure (caps, 0), "parsed");
}

/* Lets decodebin go on with pictures only, and not where their packets are to come. Notes the first other kind for the
 * error of on_no_more_pads (). */
static gboolean
continue_decoding (GstElement *decoder, GstPad *pad, GstCaps *caps, gpointer data)
{
  const char *none = NULL;
  Source *self = data;

  (void) decoder;
  (void) pad;
  if (self->own && source_are_packets (caps))
    return FALSE;
  if (may_hold_pictures (caps))
    return TRUE;
  atomic_compare_exchange_strong (&self->refused, &none,
      g_intern_string (gst_structure_get_name (gst_caps_get_structure (caps, 0))));
  return FALSE;
}

/* Links the first picture that a decoder finds, or its packets; everything else that it finds ends nowhere. */
static void
on_pad (GstElement *decoder, GstPad *pad, gpointer data)
{
  Source *self = data;
  GstPad *sink = gst_element_get_static_pad (self->head, "sink");
  GstCaps *caps = gst_pad_get_current_caps (pad);

  (void) decoder;
  if (!caps)
    caps = gst_pad_query_caps (pad, NULL);
  if (self->take_sound && gst_caps_is_fixed (caps) &&
      g_str_has_prefix (gst_structure_get_name (gst_caps_get_structure (caps, 0)), "audio/")) {
    self->take_sound (pad, caps, self->sound_data);
    self->take_sound = NULL;
  }
  if (gst_caps_get_size (caps) > 0 && !gst_pad_is_linked (sink) &&
      (gst_structure_has_name (gst_caps_get_structure (caps, 0), "video/x-raw") ||
          (self->own && source_are_packets (caps)))) {
    self->packets = source_are_packets (caps);
    if (self->packets) /* none may be missing, and nothing behind them takes time */
      gst_util_set_object_arg (G_OBJECT (self->input.element), "leaky", "no");
    else
      turn_pictures (self, pad);
    if (GST_PAD_LINK_FAILED (gst_pad_link (pad, sink)))
      GST_ELEMENT_ERROR (self->bin, STREAM, FORMAT, ("The pictures have a format that nothing here takes"), (NULL));
  }
  gst_caps_unref (caps);
  gst_object_unref (sink);
}

/* Sees that a file has no more streams. */
static void
on_no_more_pads (GstElement *decoder, gpointer data)
{
  Source *self = data;
  const char *refused = atomic_load (&self->refused);
  GstPad *sink = gst_element_get_static_pad (self->head, "sink");

  (void) decoder;
  if (!gst_pad_is_linked (sink))
    GST_ELEMENT_ERROR (self->bin, STREAM, WRONG_TYPE,
        ("There is no picture in it%s%s%s", refused ? ", but " : "", refused ? refused : "",
            refused && !g_str_has_prefix (refused, "audio/") ? "; playlists and the like are not followed" : ""),
        (NULL));
  gst_object_unref (sink);
}

static GstElement *
add_size (Source *self, gboolean jpeg, GString *wrong)
{
  const CameraSettings *s = self->settings;
  GstElement *filter = element_add (self->bin, "capsfilter", NULL, wrong);
  GstCaps *caps = gst_caps_new_empty_simple ("video/x-raw");

  if (!jpeg) /* what decoders make; of test pictures any format could come */
    gst_caps_set_simple (caps, "format", G_TYPE_STRING, "I420", NULL);
  else
    gst_caps_append (caps, gst_caps_new_empty_simple ("image/jpeg"));
  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    GstStructure *structure = gst_caps_get_structure (caps, i);

    if (s->width)
      gst_structure_set (structure, "width", G_TYPE_INT, (int) s->width, NULL);
    if (s->height)
      gst_structure_set (structure, "height", G_TYPE_INT, (int) s->height, NULL);
    if (s->rate)
      gst_structure_set (structure, "framerate", GST_TYPE_FRACTION, (int) s->rate, 1, NULL);
  }
  if (filter)
    g_object_set (filter, "caps", caps, NULL);
  gst_caps_unref (caps);
  return filter;
}

static gboolean
add_test (Source *self, GString *wrong)
{
  GstElement *source = element_add (self->bin, "videotestsrc", "source", wrong), *size = add_size (self, FALSE, wrong);
  GValue value = G_VALUE_INIT;

  if (!source || !size)
    return FALSE;
  g_value_init (&value, g_object_class_find_property (G_OBJECT_GET_CLASS (source), "pattern")->value_type);
  if (!gst_value_deserialize (&value, self->settings->place)) {
    g_string_append_printf (wrong, "videotestsrc has no pattern \"%s\"; gst-inspect-1.0 videotestsrc lists them",
        self->settings->place);
    return FALSE;
  }
  g_object_set_property (G_OBJECT (source), "pattern", &value);
  g_object_set (source, "is-live", TRUE, NULL);
  if (gst_element_link_many (source, size, self->head, NULL))
    return TRUE;
  g_string_append_printf (wrong, "filter '%s': it takes no pictures of %u x %u with %u a second",
      self->settings->filter, self->settings->width, self->settings->height, self->settings->rate);
  return FALSE;
}

static gboolean
add_device (Source *self, GString *wrong)
{
  GstElement *source = element_add (self->bin, "v4l2src", "source", wrong),
             *size = source ? add_size (self, TRUE, wrong) : NULL;
  GstElement *decoder = size ? element_add (self->bin, "decodebin", "decoder", wrong) : NULL;

  if (!decoder)
    return FALSE;
  g_object_set (source, "device", self->settings->place, NULL);
  g_signal_connect (decoder, "deep-element-added", G_CALLBACK (set_up_part), self);
  g_signal_connect (decoder, "pad-added", G_CALLBACK (on_pad), self);
  return gst_element_link_many (source, size, decoder, NULL);
}

/* Puts the secret in the place of its name in braces: some cameras want it in the address. Returns FALSE if it is
 * missing. */
static gboolean
fill_in (GString *uri, const char *braced, const char *secret, GString *wrong)
{
  g_autofree char *escaped = secret ? g_uri_escape_string (secret, NULL, FALSE) : NULL;

  if (!strstr (uri->str, braced))
    return TRUE;
  if (escaped)
    g_string_replace (uri, braced, escaped, 0);
  else
    g_string_append_printf (wrong, "the source has %s, and the secrets have none for this camera", braced);
  return escaped != NULL;
}

/* Returns the address, with its secrets; NULL with what is wrong. */
static char *
make_uri (Source *self, GString *wrong)
{
  const CameraSettings *s = self->settings;
  g_autofree char *user = s->user ? g_strdup (s->user) : secrets_user (s->name), *password = secrets_password (s->name);
  g_autoptr (GString) uri = g_string_new (s->place);

  if (!fill_in (uri, "{user}", user, wrong) || !fill_in (uri, "{password}", password, wrong))
    return NULL;
  return g_steal_pointer (&uri->str);
}

/* A camera that sends one picture when it is asked. */
static gboolean
add_pictures (Source *self, GString *wrong)
{
  g_autofree char *uri = make_uri (self, wrong);
  g_autoptr (GError) error = NULL;
  GstElement *parts, *decoder;

  if (!uri)
    return FALSE;
  if (!(self->asked_source = gst_element_make_from_uri (GST_URI_SRC, uri, "source", &error))) {
    g_string_append (wrong, error->message);
    return FALSE;
  }
  gst_bin_add (GST_BIN (self->bin), self->asked_source);
  parts = element_add (self->bin, "cf-watch-parts", "parts", wrong);
  decoder = element_add (self->bin, "decodebin", "decoder", wrong);
  if (!parts || !decoder)
    return FALSE;
  set_up_source (NULL, self->asked_source, self);
  ask_again (self, parts);
  gst_util_set_object_arg (G_OBJECT (self->input.element), "leaky", "downstream");
  g_signal_connect (decoder, "deep-element-added", G_CALLBACK (set_up_part), self);
  g_signal_connect (decoder, "pad-added", G_CALLBACK (on_pad), self);
  return gst_element_link_many (self->asked_source, parts, decoder, NULL);
}

static gboolean
add_uri (Source *self, GString *wrong)
{
  GstElement *source = element_add (self->bin, "uridecodebin", "source", wrong);
  g_autofree char *uri = source ? make_uri (self, wrong) : NULL;

  if (!uri)
    return FALSE;
  g_object_set (source, "uri", uri, NULL);
  g_signal_connect (source, "source-setup", G_CALLBACK (set_up_source), self);
  g_signal_connect (source, "deep-element-added", G_CALLBACK (set_up_part), self);
  g_signal_connect (source, "autoplug-continue", G_CALLBACK (continue_decoding), self);
  g_signal_connect (source, "pad-added", G_CALLBACK (on_pad), self);
  if (!self->settings->live)
    g_signal_connect (source, "no-more-pads", G_CALLBACK (on_no_more_pads), self);
  return TRUE;
}

gboolean
source_link (Source *self, GString *wrong)
{
  switch (self->settings->kind) {
    case SOURCE_TEST:
      return add_test (self, wrong);
    case SOURCE_DEVICE:
      return add_device (self, wrong);
    default:
      return self->settings->every ? add_pictures (self, wrong) : add_uri (self, wrong);
  }
}

/* ---- the head ------------------------------------------------------------ */

/* Makes what stands between source and filter. Files are played at their own speed, and wait for the filter; a
 * camera's frame is dropped if the filter has no time for it. */
static gboolean
add_head (Source *self, GstElement **last, GString *wrong)
{
  GstElement *clock = self->settings->live ? NULL : element_add (self->bin, "identity", "pace", wrong);
  /* Without a filter there is nothing to convert for; what may come need not be pictures. */
  GstElement *convert = self->own ? NULL : element_add (self->bin, "videoconvert", "convert", wrong);

  self->input.element = element_add (self->bin, "queue", "input", wrong);
  if (!self->input.element || (!convert && !self->own) || (!self->settings->live && !clock))
    return FALSE;
  g_object_set (self->input.element, "max-size-buffers", QUEUED, "max-size-bytes", QUEUED_BYTES, "max-size-time",
      (guint64) 0, NULL);
  if (self->settings->live)
    gst_util_set_object_arg (G_OBJECT (self->input.element), "leaky", "downstream");
  if (clock) {
    g_object_set (clock, "sync", TRUE, NULL);
    if (!gst_element_link (clock, self->input.element))
      return FALSE;
  }
  self->head = clock ? clock : self->input.element;
  element_add_probe (self->head, "sink", GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_input,
      self);
  queue_count (&self->input);
  *last = convert ? convert : self->input.element;
  return !convert || gst_element_link (self->input.element, convert);
}

Source *
source_new (GstElement *pipeline, CameraSettings *settings, gboolean own, GstElement **last, GString *wrong)
{
  Source *self = g_new0 (Source, 1);

  g_atomic_ref_count_init (&self->count);
  self->bin = gst_object_ref (pipeline);
  self->settings = camera_settings_ref (settings);
  self->stamped = GST_CLOCK_TIME_NONE;
  self->own = own;
  if (!add_head (self, last, wrong))
    g_clear_pointer (&self, source_unref);
  return self;
}

void
source_unref (Source *self)
{
  if (!g_atomic_ref_count_dec (&self->count))
    return;
  gst_object_unref (self->bin);
  camera_settings_unref (self->settings);
  g_free (self);
}

guint64
source_dropped (Source *self)
{
  return queue_dropped (&self->input);
}

void
source_take_sound (Source *self, SourceSound take, gpointer data)
{
  self->take_sound = take;
  self->sound_data = data;
}
