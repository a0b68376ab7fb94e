/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * source.c: what a camera's pipeline has before its filter: the source, the decoder, their limits, and a queue. Cameras
 * are not trusted: what one of them sends may not harm the others. */
#include "elements.h"
#include "parts.h"
#include "pipeline-private.h"
#include "secrets.h"
#include "trust.h"

#include <cf.h>

#include <gst/tag/tag.h>
#include <gst/video/video.h>
#include <string.h>

#define QUEUED 10 /* frames that may wait for the filter: a third of a second, as an encoder needs to start */
#define QUEUED_BYTES (512 << 20) /* of them: ten of the largest pictures would be gigabytes */
#define MAX_STREAMS 16           /* of one server: pictures, sound, what it sees in them */
#define MAX_SENDERS 64           /* that packets may name between two pictures */
/* How much later than the frame before a frame becomes whose own time does not rise. Matroska has ms. */
#define NEAREST GST_MSECOND          /* at least */
#define FARTHEST (100 * GST_MSECOND) /* at most */
#define STEP_BACK GST_SECOND         /* of the source's clock: it was set */
#define MAX_STANDING 8               /* frames after which a time that does not rise is none */

/* ---- times and colours --------------------------------------------------- */

/* What sources leave open about their frames. */

/* Returns the running time that a frame goes on with: its own, or a later one where that is missing (NONE) or no later
 * than that of the frame before. Half a frame later, the next one still finds its place. */
static GstClockTime
rise (Pipeline *pipeline, GstClockTime time, GstClockTime duration)
{
  GstClockTime now = gst_element_get_current_running_time (pipeline->bin), next;
  gboolean known = GST_CLOCK_TIME_IS_VALID (time);

  duration = GST_CLOCK_TIME_IS_VALID (duration) ? CLAMP (duration, 2 * NEAREST, FARTHEST) : 2 * NEAREST;
  next = GST_CLOCK_TIME_IS_VALID (pipeline->stamped) ? pipeline->stamped + duration / 2 : 0;
  if (known)
    time += pipeline->shift;
  if (known && (!next || time > pipeline->stamped)) {
    pipeline->standing = 0;
  } else if (!known || ++pipeline->standing > MAX_STANDING) {
    time = known ? next + duration / 2 : next;
    if (GST_CLOCK_TIME_IS_VALID (now)) /* before the pipeline plays it has no clock */
      time = MAX (now, time);
  } else {
    if (pipeline->stamped - time > STEP_BACK) /* the distances from here on are right again */
      pipeline->shift += next - time;
    time = next;
  }
  return pipeline->stamped = time;
}

/* Completes a colorimetry that has no matrix, as of H.264 that says that its range is full and no more: what follows
 * would not believe the range either. */
static GstEvent *
complete_color (GstEvent *event)
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

/* Sees what enters the line. A picture has come: the counts of what comes without one begin anew. The times of frames
 * rise: JPEGs over HTTP have none; some cameras and files give several frames the same, or step back; and an encoder or
 * a muxer would lose these frames. */
static GstPadProbeReturn
on_input (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstBuffer *buffer = info->data;
  const GstSegment *segment;
  GstClockTime own, time;
  GstEvent *event;
  Pipeline *pipeline = data;

  if (info->type & GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM) {
    if (GST_EVENT_TYPE (info->data) == GST_EVENT_CAPS)
      info->data = complete_color (info->data);
    return GST_PAD_PROBE_OK;
  }
  atomic_store (&pipeline->unseen, 0);
  atomic_store (&pipeline->senders, 0);
  if (!(event = gst_pad_get_sticky_event (pad, GST_EVENT_SEGMENT, 0)))
    return GST_PAD_PROBE_OK;
  gst_event_parse_segment (event, &segment);
  own = gst_segment_to_running_time (segment, GST_FORMAT_TIME, GST_BUFFER_PTS (buffer));
  time = rise (pipeline, own, GST_BUFFER_DURATION (buffer));
  time = time == own ? GST_CLOCK_TIME_NONE : gst_segment_position_from_running_time (segment, GST_FORMAT_TIME, time);
  if (GST_CLOCK_TIME_IS_VALID (time)) { /* NONE as well where it would be behind the segment's end */
    info->data = buffer = gst_buffer_make_writable (buffer);
    GST_BUFFER_PTS (buffer) = time;
  }
  gst_event_unref (event);
  return GST_PAD_PROBE_OK;
}

/* ---- pictures that lie on their side ------------------------------------- */

/* As a file's display matrix or EXIF says. They are turned upright before the filter: recordings and snapshots have
 * nowhere to say it. */

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

/* Has the pictures from this pad, which is linked to the line's first one, turned upright where they say that they are
 * not. */
static void
turn_pictures (Pipeline *pipeline, GstPad *pad)
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

/* Sends a decoder what the EXIF of a JPEG that comes to its pad says about its sides. */
static void
note_exif (Pipeline *pipeline, GstPad *pad, const guint8 *data, gsize size)
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

/* ---- limits -------------------------------------------------------------- */

/* All cameras share the process. A camera can make it hold: bytes without a picture, which a demuxer or a decoder
 * collects; streams of an RTSP server, a thread each; and as much as a picture declares, which a decoder allocates. */

/* Counts what comes from the source since the last picture. When it is too much, nothing more of it passes. */
static GstPadProbeReturn
on_bytes (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Pipeline *pipeline = data;
  const guint64 max = pipeline->settings->max_bytes;
  const gsize size = info->type & GST_PAD_PROBE_TYPE_BUFFER_LIST
      ? gst_buffer_list_calculate_size (GST_PAD_PROBE_INFO_BUFFER_LIST (info))
      : gst_buffer_get_size (GST_PAD_PROBE_INFO_BUFFER (info));
  const guint64 before = atomic_fetch_add (&pipeline->unseen, size);

  (void) pad;
  if (before + size <= max)
    return GST_PAD_PROBE_OK;
  if (before <= max)
    GST_ELEMENT_ERROR (pipeline->bin, STREAM, FAILED,
        ("The camera has sent %" G_GUINT64_FORMAT " bytes without a picture; \"max_bytes\" is %" G_GUINT64_FORMAT,
            before + size, max),
        (NULL));
  return GST_PAD_PROBE_DROP;
}

static void
count_pad (GstElement *source, GstPad *pad, gpointer pipeline)
{
  (void) source;
  if (GST_PAD_IS_SRC (pad))
    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, on_bytes, pipeline, NULL);
}

static gboolean
count_present_pad (GstElement *source, GstPad *pad, gpointer pipeline)
{
  count_pad (source, pad, pipeline);
  return TRUE;
}

/* Has the pipeline fail when more than the camera's `max_bytes` come from the source without a picture. */
static void
limit_bytes (Pipeline *pipeline, GstElement *source)
{
  gst_element_foreach_src_pad (source, count_present_pad, pipeline);
  g_signal_connect (source, "pad-added", G_CALLBACK (count_pad), pipeline);
}

static gboolean
select_stream (GstElement *source, guint number, GstCaps *caps, gpointer pipeline)
{
  (void) source;
  (void) caps;
  (void) pipeline;
  return number < MAX_STREAMS;
}

/* Counts the senders of packets. The session keeps each for a while, whatever becomes of its packets. */
static void
on_sender (GstElement *manager, guint session, guint sender, gpointer data)
{
  Pipeline *pipeline = data;

  (void) manager;
  (void) session;
  (void) sender;
  if (atomic_fetch_add (&pipeline->senders, 1) == MAX_SENDERS)
    GST_ELEMENT_ERROR (pipeline->bin, STREAM, FAILED,
        ("The camera has sent packets of more than %d senders (SSRC) without a picture", MAX_SENDERS), (NULL));
}

static void
limit_manager (GstElement *source, GstElement *manager, gpointer pipeline)
{
  (void) source;
  if (!g_object_class_find_property (G_OBJECT_GET_CLASS (manager), "max-streams")) /* it is no rtpbin */
    return;
  g_object_set (manager, "max-streams", MAX_STREAMS, NULL);
  g_signal_connect (manager, "on-new-ssrc", G_CALLBACK (on_sender), pipeline);
}

/* Bounds the streams that an rtspsrc takes from its server. */
static void
limit_streams (Pipeline *pipeline, GstElement *source)
{
  g_signal_connect (source, "select-stream", G_CALLBACK (select_stream), NULL);
  g_signal_connect (source, "new-manager", G_CALLBACK (limit_manager), pipeline);
}

/* Sees what a decoder is about to get. Frame sizes are in its caps or, of a JPEG, in its bytes. */
static GstPadProbeReturn
on_compressed (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  guint width = 0, height = 0;
  gboolean larger = FALSE;
  Pipeline *pipeline = data;

  if (info->type & GST_PAD_PROBE_TYPE_BUFFER) {
    GstMapInfo map;

    if (gst_buffer_map (GST_PAD_PROBE_INFO_BUFFER (info), &map, GST_MAP_READ)) {
      larger = parts_find_larger (map.data, map.size, CF_MAX_SIZE, &width, &height);
      note_exif (pipeline, pad, map.data, map.size);
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
  GST_ELEMENT_ERROR (pipeline->bin, STREAM, DECODE,
      ("A picture says it has %u x %u pixels; it may have %d x %d", width, height, CF_MAX_SIZE, CF_MAX_SIZE), (NULL));
  return GST_PAD_PROBE_DROP;
}

/* Has the pipeline fail, where the element is a decoder, before it gets a picture larger than the filters take. */
static void
limit_size (Pipeline *pipeline, GstElement *element)
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
  gst_pad_add_probe (pad, type, on_compressed, pipeline, NULL);
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
  Pipeline *pipeline = data;

  g_mutex_lock (&pipeline->starting);
  if (!pipeline->ended && gst_element_set_state (pipeline->source, GST_STATE_READY) != GST_STATE_CHANGE_FAILURE) {
    pipeline->asked = g_get_monotonic_time ();
    gst_element_sync_state_with_parent (pipeline->source);
  }
  g_mutex_unlock (&pipeline->starting);
  pipeline_unref (pipeline);
}

static gboolean
on_ask (gpointer pipeline)
{
  in_pool (ask_in_thread, pipeline_ref (pipeline));
  return G_SOURCE_REMOVE;
}

/* Asks for the next picture when it is time for it. */
static void
on_answered (gpointer data)
{
  Pipeline *pipeline = data;
  gint64 wait = pipeline->asked + (gint64) pipeline->settings->every * G_USEC_PER_SEC - g_get_monotonic_time ();

  g_timeout_add_full (G_PRIORITY_DEFAULT, (guint) (MAX (wait, 0) / 1000), on_ask, pipeline_ref (pipeline),
      (GDestroyNotify) pipeline_unref);
}

/* Has the source started again each time its stream has ended, when it is time for the next picture. */
static void
ask_again (Pipeline *pipeline, GstElement *parts)
{
  pipeline->asked = g_get_monotonic_time ();
  parts_keep_open (parts, on_answered, pipeline);
}

/* ---- sources ------------------------------------------------------------- */

static void
set_if_there (GObject *object, const char *property, const char *value)
{
  if (g_object_class_find_property (G_OBJECT_GET_CLASS (object), property))
    gst_util_set_object_arg (object, property, value);
}

/* Sets what a source of this kind has. */
static void
set_up_source (GstElement *decoder, GstElement *source, gpointer data)
{
  static const char *const protocols
      [] = { [TRANSPORT_TCP] = "tcp", [TRANSPORT_UDP] = "udp+udp-mcast", [TRANSPORT_AUTO] = "tcp+udp+udp-mcast" };
  Pipeline *pipeline = data;
  const CameraSettings *s = pipeline->settings;
  GObject *object = G_OBJECT (source);
  GstElementFactory *factory = gst_element_get_factory (source);
  g_autofree char *latency = g_strdup_printf ("%u", s->latency), *us = g_strdup_printf ("%u000000", s->timeout);

  (void) decoder;
  if (s->live || s->http) /* a file is no longer than it is */
    limit_bytes (pipeline, source);
  trust_set_up (source, pipeline->bin, s);
  if (!factory || g_strcmp0 (GST_OBJECT_NAME (factory), "rtspsrc"))
    return;
  limit_streams (pipeline, source);
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
  GstElementFactory *factory = gst_element_get_factory (element);
  Pipeline *pipeline = data;

  (void) decoder;
  (void) bin;
  limit_size (pipeline, element);
  if (pipeline->settings->http && factory && !g_strcmp0 (GST_OBJECT_NAME (factory), "cf-watch-parts"))
    gst_util_set_object_arg (G_OBJECT (pipeline->input.queue), "leaky", "downstream");
}

/* Has only what may hold pictures decoded. The first kind that may not is for the sentence of on_no_more_pads (). */
static gboolean
continue_decoding (GstElement *decoder, GstPad *pad, GstCaps *caps, gpointer data)
{
  const char *none = NULL;
  Pipeline *pipeline = data;

  (void) decoder;
  (void) pad;
  if (trust_caps (caps))
    return TRUE;
  atomic_compare_exchange_strong (&pipeline->refused, &none,
      g_intern_string (gst_structure_get_name (gst_caps_get_structure (caps, 0))));
  return FALSE;
}

/* Links the first picture that a decoder finds; everything else that it finds ends nowhere. */
static void
on_pad (GstElement *decoder, GstPad *pad, gpointer data)
{
  Pipeline *pipeline = data;
  GstPad *sink = gst_element_get_static_pad (pipeline->head, "sink");
  GstCaps *caps = gst_pad_get_current_caps (pad);

  (void) decoder;
  if (!caps)
    caps = gst_pad_query_caps (pad, NULL);
  if (gst_caps_get_size (caps) > 0 && !gst_pad_is_linked (sink) &&
      g_str_has_prefix (gst_structure_get_name (gst_caps_get_structure (caps, 0)), "video/x-raw")) {
    turn_pictures (pipeline, pad);
    if (GST_PAD_LINK_FAILED (gst_pad_link (pad, sink)))
      GST_ELEMENT_ERROR (pipeline->bin, STREAM, FORMAT, ("The pictures have a format that nothing here takes"), (NULL));
  }
  gst_caps_unref (caps);
  gst_object_unref (sink);
}

/* Sees that a file has no more streams. */
static void
on_no_more_pads (GstElement *decoder, gpointer data)
{
  Pipeline *pipeline = data;
  const char *refused = atomic_load (&pipeline->refused);
  GstPad *sink = gst_element_get_static_pad (pipeline->head, "sink");

  (void) decoder;
  if (!gst_pad_is_linked (sink))
    GST_ELEMENT_ERROR (pipeline->bin, STREAM, WRONG_TYPE,
        ("There is no picture in it%s%s%s", refused ? ", but " : "", refused ? refused : "",
            refused && !g_str_has_prefix (refused, "audio/") ? "; playlists and the like are not followed" : ""),
        (NULL));
  gst_object_unref (sink);
}

static GstElement *
add_size (Pipeline *pipeline, gboolean jpeg, GString *wrong)
{
  const CameraSettings *s = pipeline->settings;
  GstElement *filter = pipeline_add (pipeline, "capsfilter", NULL, wrong);
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
add_test (Pipeline *pipeline, GString *wrong)
{
  GstElement *source = pipeline_add (pipeline, "videotestsrc", "source", wrong),
             *size = add_size (pipeline, FALSE, wrong);
  GValue value = G_VALUE_INIT;

  if (!source || !size)
    return FALSE;
  g_value_init (&value, g_object_class_find_property (G_OBJECT_GET_CLASS (source), "pattern")->value_type);
  if (!gst_value_deserialize (&value, pipeline->settings->place)) {
    g_string_append_printf (wrong, "videotestsrc has no pattern \"%s\"; gst-inspect-1.0 videotestsrc lists them",
        pipeline->settings->place);
    return FALSE;
  }
  g_object_set_property (G_OBJECT (source), "pattern", &value);
  g_object_set (source, "is-live", TRUE, NULL);
  if (gst_element_link_many (source, size, pipeline->head, NULL))
    return TRUE;
  g_string_append_printf (wrong, "filter '%s': it takes no pictures of %u x %u with %u a second",
      pipeline->settings->filter, pipeline->settings->width, pipeline->settings->height, pipeline->settings->rate);
  return FALSE;
}

static gboolean
add_device (Pipeline *pipeline, GString *wrong)
{
  GstElement *source = pipeline_add (pipeline, "v4l2src", "source", wrong),
             *size = source ? add_size (pipeline, TRUE, wrong) : NULL;
  GstElement *decoder = size ? pipeline_add (pipeline, "decodebin", "decoder", wrong) : NULL;

  if (!decoder)
    return FALSE;
  g_object_set (source, "device", pipeline->settings->place, NULL);
  g_signal_connect (decoder, "deep-element-added", G_CALLBACK (set_up_part), pipeline);
  g_signal_connect (decoder, "pad-added", G_CALLBACK (on_pad), pipeline);
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
make_uri (Pipeline *pipeline, GString *wrong)
{
  const CameraSettings *s = pipeline->settings;
  g_autofree char *user = s->user ? g_strdup (s->user) : secrets_user (s->name), *password = secrets_password (s->name);
  g_autoptr (GString) uri = g_string_new (s->place);

  if (!fill_in (uri, "{user}", user, wrong) || !fill_in (uri, "{password}", password, wrong))
    return NULL;
  return g_steal_pointer (&uri->str);
}

/* A camera that sends one picture when it is asked. */
static gboolean
add_pictures (Pipeline *pipeline, GString *wrong)
{
  g_autofree char *uri = make_uri (pipeline, wrong);
  g_autoptr (GError) error = NULL;
  GstElement *parts, *decoder;

  if (!uri)
    return FALSE;
  if (!(pipeline->source = gst_element_make_from_uri (GST_URI_SRC, uri, "source", &error))) {
    g_string_append (wrong, error->message);
    return FALSE;
  }
  gst_bin_add (GST_BIN (pipeline->bin), pipeline->source);
  parts = pipeline_add (pipeline, "cf-watch-parts", "parts", wrong);
  decoder = pipeline_add (pipeline, "decodebin", "decoder", wrong);
  if (!parts || !decoder)
    return FALSE;
  set_up_source (NULL, pipeline->source, pipeline);
  ask_again (pipeline, parts);
  gst_util_set_object_arg (G_OBJECT (pipeline->input.queue), "leaky", "downstream");
  g_signal_connect (decoder, "deep-element-added", G_CALLBACK (set_up_part), pipeline);
  g_signal_connect (decoder, "pad-added", G_CALLBACK (on_pad), pipeline);
  return gst_element_link_many (pipeline->source, parts, decoder, NULL);
}

static gboolean
add_uri (Pipeline *pipeline, GString *wrong)
{
  GstElement *source = pipeline_add (pipeline, "uridecodebin", "source", wrong);
  g_autofree char *uri = source ? make_uri (pipeline, wrong) : NULL;

  if (!uri)
    return FALSE;
  g_object_set (source, "uri", uri, NULL);
  g_signal_connect (source, "source-setup", G_CALLBACK (set_up_source), pipeline);
  g_signal_connect (source, "deep-element-added", G_CALLBACK (set_up_part), pipeline);
  g_signal_connect (source, "autoplug-continue", G_CALLBACK (continue_decoding), pipeline);
  g_signal_connect (source, "pad-added", G_CALLBACK (on_pad), pipeline);
  if (!pipeline->settings->live)
    g_signal_connect (source, "no-more-pads", G_CALLBACK (on_no_more_pads), pipeline);
  return TRUE;
}

gboolean
source_add (Pipeline *pipeline, GString *wrong)
{
  switch (pipeline->settings->kind) {
    case SOURCE_TEST:
      return add_test (pipeline, wrong);
    case SOURCE_DEVICE:
      return add_device (pipeline, wrong);
    default:
      return pipeline->settings->every ? add_pictures (pipeline, wrong) : add_uri (pipeline, wrong);
  }
}

/* ---- the head ------------------------------------------------------------ */

/* Makes what stands between source and filter. Files are played at their own speed, and wait for the filter; a
 * camera's frame is dropped if the filter has no time for it. */
gboolean
source_add_head (Pipeline *pipeline, GstElement **last, GString *wrong)
{
  GstElement *clock = pipeline->settings->live ? NULL : pipeline_add (pipeline, "identity", "pace", wrong);
  GstElement *convert = pipeline_add (pipeline, "videoconvert", "convert", wrong);

  pipeline->input.queue = pipeline_add (pipeline, "queue", "input", wrong);
  if (!pipeline->input.queue || !convert || (!pipeline->settings->live && !clock))
    return FALSE;
  g_object_set (pipeline->input.queue, "max-size-buffers", QUEUED, "max-size-bytes", QUEUED_BYTES, "max-size-time",
      (guint64) 0, NULL);
  if (pipeline->settings->live)
    gst_util_set_object_arg (G_OBJECT (pipeline->input.queue), "leaky", "downstream");
  if (clock) {
    g_object_set (clock, "sync", TRUE, NULL);
    if (!gst_element_link (clock, pipeline->input.queue))
      return FALSE;
  }
  pipeline->head = clock ? clock : pipeline->input.queue;
  pipeline_add_probe (pipeline->head, "sink", GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_input,
      pipeline);
  pipeline_count_queue (&pipeline->input);
  *last = convert;
  return gst_element_link (pipeline->input.queue, convert);
}
