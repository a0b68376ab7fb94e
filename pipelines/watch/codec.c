/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * codec.c: the kinds of video that are recorded and shown, and their encoders. */
#include "codec.h"

#include "elements.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Frames a second. Of more than the stream names, converters leave some out; for more, x264 spends less on each. */
#define USUAL_RATE 30

/* Returns the length of the unit that begins there, of `rest` bytes with its length. */
static gsize
unit_length (const guint8 *data, gsize rest)
{
  const gsize length = (gsize) data[0] << 24 | (gsize) data[1] << 16 | (gsize) data[2] << 8 | data[3];

  return MIN (length, rest - 4);
}

/* Is the access unit an IDR, or does it say that decoding can begin here ("recovery point" after 0 frames)? h264parse
 * takes any I picture for a key frame, also where later pictures refer to earlier ones. */
static gboolean
is_h264_entry (const guint8 *data, gsize size)
{
  for (gsize at = 0, length; at + 4 < size; at += 4 + length) {
    const guint kind = data[at + 4] & 31;

    length = unit_length (data + at, size - at);
    if (kind == 5)
      return TRUE;
    /* Messages: kind, length, content. */
    for (gsize i = at + 5; kind == 6 && i + 2 < at + 4 + length; i += 2u + data[i + 1])
      if (data[i] == 6 && data[i + 2] & 0x80)
        return TRUE;
  }
  return FALSE;
}

/* Is it an IDR, or a picture behind which nothing that is shown later refers to what was before? */
static gboolean
is_h265_entry (const guint8 *data, gsize size)
{
  for (gsize at = 0; at + 4 < size; at += 4 + unit_length (data + at, size - at)) {
    const guint kind = data[at + 4] >> 1 & 63;

    if (kind >= 16 && kind <= 21)
      return TRUE;
  }
  return FALSE;
}

const Codec codecs[N_CODECS] = {
  { "H.264", "video/x-h264", "stream-format = avc, alignment = au", "h264parse", "rtph264pay",
      "x264enc (gstreamer1.0-plugins-ugly) or openh264enc (gstreamer1.0-plugins-bad)", is_h264_entry },
  { "H.265", "video/x-h265", "stream-format = hvc1, alignment = au", "h265parse", "rtph265pay",
      "x265enc (gstreamer1.0-plugins-bad)", is_h265_entry },
  { "AV1", "video/x-av1", "stream-format = obu-stream, alignment = tu", "av1parse", "rtpav1pay",
      "av1enc (gstreamer1.0-plugins-bad)", NULL },
};

typedef struct {
  const char *factory;
  gboolean on_gpu;
  const char *settings; /* properties; values: %u: the quality, %63 and %255: that with 63 or 255 as the worst */
} Encoder;

#define NVIDIA "rc-mode=constqp bframes=0 zerolatency=true gop-size=-1 "

/* In the order in which they are tried. Properties that a version lacks are left alone. Where the scene changes, x264
 * would make frames that h264parse calls key frames, though later ones refer to frames before them. av1enc makes no key
 * frame when it is asked for one, so one comes each 60 frames. */
static const Encoder encoders[N_CODECS][3] = {
  { { "nvh264enc", TRUE, NVIDIA "qp-const=%u qp-const-i=%u qp-const-p=%u" },
      { "x264enc", FALSE,
          "pass=qual quantizer=%u tune=zerolatency speed-preset=superfast key-int-max=600 threads=2 bframes=0 "
          "option-string=scenecut=0" },
      { "openh264enc", FALSE, "rate-control=off qp-min=%u qp-max=%u complexity=low gop-size=600 multi-thread=2" } },
  { { "nvh265enc", TRUE, NVIDIA "qp-const=%u qp-const-i=%u qp-const-p=%u" },
      { "x265enc", FALSE,
          "qp=%u tune=zerolatency speed-preset=superfast key-int-max=600 "
          "option-string=scenecut=0:bframes=0:open-gop=0:pools=2" } },
  { { "nvav1enc", TRUE, NVIDIA "qp-const=%255 qp-const-i=%255 qp-const-p=%255" },
      { "av1enc", FALSE,
          "usage-profile=realtime cpu-used=10 lag-in-frames=0 end-usage=q min-quantizer=%63 max-quantizer=%63 "
          "keyframe-max-dist=60 threads=2 row-mt=true" } },
};

const Codec *
codec_of (GstCaps *caps)
{
  for (guint i = 0; i < N_CODECS; i++)
    if (gst_structure_has_name (gst_caps_get_structure (caps, 0), codecs[i].kind))
      return &codecs[i];
  return NULL;
}

static void
set_properties (GstElement *element, const char *text, guint quality)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  GObjectClass *klass = G_OBJECT_GET_CLASS (element);

  for (char **word = words; *word; word++) {
    char *value = strchr (*word, '=');
    g_autofree char *number = NULL;

    *value++ = '\0';
    if (*value == '%')
      number = g_strdup_printf ("%u", value[1] == 'u' ? quality : quality * (guint) atoi (value + 1) / 51);
    if (g_object_class_find_property (klass, *word))
      gst_util_set_object_arg (G_OBJECT (element), *word, number ? number : value);
  }
}

/* Returns an event of the caps with so many frames a second, 0: unknown. Takes the event. */
static GstEvent *
with_rate (GstEvent *event, int rate)
{
  g_autoptr (GstCaps) caps = NULL;
  GstCaps *before;

  gst_event_parse_caps (event, &before);
  caps = gst_caps_copy (before);
  gst_caps_set_simple (caps, "framerate", GST_TYPE_FRACTION, rate, 1, NULL);
  gst_event_unref (event);
  return gst_event_new_caps (caps);
}

/* Names a usual rate where a camera names none. x265enc takes no frames without a rate. x264 would wait for the next
 * frame, to know how long this one lasts: 40 ms more for whoever watches. The frames keep their times. */
static GstPadProbeReturn
name_rate (GstPad *pad, GstPadProbeInfo *info, gpointer unknown)
{
  GstEvent *event = info->data;
  GstCaps *caps;
  int n = 0, d = 1;

  (void) pad;
  if (GST_EVENT_TYPE (event) != GST_EVENT_CAPS)
    return GST_PAD_PROBE_OK;
  gst_event_parse_caps (event, &caps);
  gst_structure_get_fraction (gst_caps_get_structure (caps, 0), "framerate", &n, &d);
  atomic_store ((_Atomic int *) unknown, n == 0);
  if (n > 0)
    return GST_PAD_PROBE_OK;
  info->data = with_rate (event, USUAL_RATE);
  return GST_PAD_PROBE_OK;
}

/* Takes that rate back from what leaves the parser, which reads it in the stream as well: a file that names it is
 * wrong about each frame. */
static GstPadProbeReturn
forget_rate (GstPad *pad, GstPadProbeInfo *info, gpointer unknown)
{
  (void) pad;
  if (!atomic_load ((_Atomic int *) unknown))
    return GST_PAD_PROBE_OK;
  if (info->type & GST_PAD_PROBE_TYPE_BUFFER) {
    info->data = gst_buffer_make_writable (info->data);
    GST_BUFFER_DURATION (info->data) = GST_CLOCK_TIME_NONE;
  } else if (GST_EVENT_TYPE (info->data) == GST_EVENT_CAPS) {
    info->data = with_rate (info->data, 0);
  }
  return GST_PAD_PROBE_OK;
}

void
codec_name_rate (GstElement *encoder, GstElement *parser)
{
  _Atomic int *unknown = g_new0 (_Atomic int, 1);

  g_object_set_data_full (G_OBJECT (parser), "cf-rate-unknown", unknown, g_free);
  element_add_probe (encoder, "sink", GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, name_rate, unknown);
  element_add_probe (parser, "src", GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, forget_rate,
      unknown);
}

GstElement *
codec_make_encoder (const Codec *codec, guint quality, gboolean gpu, gboolean *on_gpu)
{
  const Encoder *of = encoders[codec - codecs];
  GstElement *element = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (encoders[0]) && of[i].factory && !element; i++) {
    if ((of[i].on_gpu && !gpu) || !(element = gst_element_factory_make (of[i].factory, "encoder")))
      continue;
    set_properties (element, of[i].settings, quality);
    *on_gpu = of[i].on_gpu;
  }
  return element;
}

gboolean
codec_has_encoder (const Codec *codec)
{
  const Encoder *of = encoders[codec - codecs];
  gboolean found = FALSE;

  for (guint i = 0; i < G_N_ELEMENTS (encoders[0]) && of[i].factory && !found; i++) {
    g_autoptr (GstElementFactory) factory = gst_element_factory_find (of[i].factory);

    found = factory != NULL;
  }
  return found;
}

const Sound *
sound_of (GstCaps *caps)
{
  static const Sound sounds[] = {
    { "audio/mpeg, mpegversion = { 2, 4 }", "aacparse ! audio/mpeg, mpegversion = 4, stream-format = raw", "rtpmp4gpay",
        "AAC" },
    { "audio/x-alaw", "identity", "rtppcmapay", "G.711" },
    { "audio/x-mulaw", "identity", "rtppcmupay", "G.711" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (sounds); i++) {
    g_autoptr (GstCaps) kind = gst_caps_from_string (sounds[i].kind);

    if (gst_caps_can_intersect (caps, kind))
      return &sounds[i];
  }
  return NULL;
}
