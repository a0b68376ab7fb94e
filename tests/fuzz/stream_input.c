/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * stream_input.c: see stream.h. */
#include "stream.h"

#include <math.h>
#include <string.h>

#define DECLARE(stem) GST_ELEMENT_REGISTER_DECLARE (cuda##stem)
CF_FILTERS (DECLARE)

/* ---- start -------------------------------------------------------------- */

/* With this GObject refuses a value. */
#define OUT_OF_RANGE "is invalid or out of range for property"

static const gchar *const *tolerated_texts;

static void
on_log (const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer user)
{
  (void) user;
  if (strstr (message, OUT_OF_RANGE))
    return;
  for (const gchar *const *text = tolerated_texts; text && *text; text++)
    if (strstr (message, *text))
      return;
  if (level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING))
    fuzz_fail ("%s: %s", domain ? domain : "", message);
}

void
stream_init (const gchar *const *tolerated)
{
  tolerated_texts = tolerated;
  g_log_set_default_handler (on_log, NULL);
  /* No plugin is needed, so none is searched for. */
  g_setenv ("GST_REGISTRY_DISABLE", "yes", TRUE);
  gst_init (NULL, NULL);
#define ADD(stem) GST_ELEMENT_REGISTER (cuda##stem, NULL);
  CF_FILTERS (ADD)
}

GstElement *
stream_element (guint i, gint frames_in_flight)
{
#define NAME(stem) "cuda" #stem,
  static const gchar *const names[] = { CF_FILTERS (NAME) };
  GstElement *element = gst_element_factory_make (names[i % CF_N_FILTERS], NULL);

  gst_util_set_object_arg (G_OBJECT (element), "backend", "cpu");
  g_object_set (element, "frames-in-flight", frames_in_flight, NULL);
  return gst_object_ref_sink (element);
}

/* A template answers queries of caps, see tests/faults/common.c. */
GstPad *
stream_pad (GstElement *element, const gchar *name, GstPadDirection direction, gpointer user)
{
  GstPadTemplate *any = gst_object_ref_sink (gst_pad_template_new (name, direction, GST_PAD_ALWAYS, GST_CAPS_ANY));
  GstPad *pad = gst_object_ref_sink (gst_pad_new_from_template (any, name));
  GstPad *peer = gst_element_get_static_pad (element, direction == GST_PAD_SRC ? "sink" : "src");

  gst_pad_set_element_private (pad, user);
  if (direction == GST_PAD_SRC)
    gst_pad_link (pad, peer);
  else
    gst_pad_link (peer, pad);
  gst_object_unref (peer);
  gst_object_unref (any);
  return pad;
}

/* ---- caps --------------------------------------------------------------- */

static const gint sides[] = { 16, 1, 2, 3, 4, 5, 7, 8, 9, 15, 17, 24, 31, 33, 40 };

static gint
side (FuzzBytes *bytes)
{
  return sides[fuzz_below (bytes, G_N_ELEMENTS (sides))];
}

/* Spoils caps in one way. */
static void
spoil_caps (FuzzBytes *bytes, GstCaps *caps)
{
  static const gchar *const other[] = { "v210", "GRAY16_BE", "BGR16", "ENCODED", "", "nothing", "NV12_64Z32" };
  static const gint odd_sides[] = { 0, -1, G_MAXINT, G_MININT, CF_MAX_SIZE + 1, CF_MAX_SIZE };
  static const gchar *const fields[] = { "format", "width", "height", "framerate" };
  gint number = odd_sides[fuzz_below (bytes, G_N_ELEMENTS (odd_sides))];

  switch (fuzz_below (bytes, 9)) {
    case 0:
      gst_caps_set_simple (caps, "format", G_TYPE_STRING, other[fuzz_below (bytes, G_N_ELEMENTS (other))], NULL);
      break;
    case 1:
      gst_caps_set_simple (caps, "width", G_TYPE_INT, number, "height", G_TYPE_INT, 1, NULL);
      break;
    case 2:
      gst_caps_set_simple (caps, "height", G_TYPE_INT, number, "width", G_TYPE_INT, 1, NULL);
      break;
    case 3:
      gst_structure_remove_field (gst_caps_get_structure (caps, 0), fields[fuzz_below (bytes, G_N_ELEMENTS (fields))]);
      break;
    case 4:
      gst_caps_set_simple (caps, "width", G_TYPE_STRING, "16", NULL);
      break;
    case 5:
      gst_structure_set_name (gst_caps_get_structure (caps, 0), "audio/x-raw");
      break;
    case 6:
      gst_caps_set_features (caps, 0, gst_caps_features_new_single ("memory:CUDAMemory"));
      break;
    case 7:
      gst_caps_set_simple (caps, "interlace-mode", G_TYPE_STRING, "alternate", NULL);
      gst_caps_set_features (caps, 0, gst_caps_features_new_single (GST_CAPS_FEATURE_FORMAT_INTERLACED));
      break;
    default:
      gst_caps_set_simple (caps, "pixel-aspect-ratio", GST_TYPE_FRACTION, 0, 1, "colorimetry", G_TYPE_STRING, "none",
          "chroma-site", G_TYPE_STRING, "", NULL);
      break;
  }
}

GstCaps *
stream_caps (FuzzBytes *bytes)
{
  static const gchar *const modes[] = { "progressive", "interleaved", "mixed", "fields" };
  CfFormat format = (CfFormat) (1 + fuzz_below (bytes, CF_N_FORMATS - 1));
  gint width = side (bytes), height = side (bytes);
  guint more = fuzz_byte (bytes);
  GstCaps *caps = gst_caps_new_simple ("video/x-raw", "format", G_TYPE_STRING, cf_format_info (format)->name, "width",
      G_TYPE_INT, width, "height", G_TYPE_INT, height, "framerate", GST_TYPE_FRACTION, more & 1 ? 0 : 25, 1, NULL);

  if (more & 2)
    gst_caps_set_simple (caps, "interlace-mode", G_TYPE_STRING, modes[more >> 2 & 3], NULL);
  if ((more & 0x70) == 0x70)
    spoil_caps (bytes, caps);
  return caps;
}

/* ---- buffers ------------------------------------------------------------ */

static GstMemory *
new_memory (gsize size, guint32 seed)
{
  gsize room = MAX (size, 1);
  guint8 *data = g_malloc (room);

  fuzz_fill (data, room, seed);
  return gst_memory_new_wrapped (0, data, room, 0, size, data, g_free);
}

static gint
odd_stride (FuzzBytes *bytes, gint stride)
{
  const gint strides[] = { stride + 1, stride + 2, stride + 64, stride, stride - 1, -stride, 0, G_MAXINT, G_MININT,
    2 * stride };

  return strides[fuzz_below (bytes, G_N_ELEMENTS (strides))];
}

static gsize
odd_offset (FuzzBytes *bytes, gsize offset, gsize size)
{
  const gsize offsets[] = { offset + 1, offset + 2, offset + 32, offset, 0, size, size - 1, G_MAXSIZE, G_MAXSIZE / 2,
    G_MAXUINT32, offset - 1 };

  return offsets[fuzz_below (bytes, G_N_ELEMENTS (offsets))];
}

/* Adds a video meta whose planes lie one behind the other with `pad` more bytes per row, in a frame that is `extra`
 * samples wider and higher, and memory for it. Returns the meta. */
static GstVideoMeta *
add_layout (GstBuffer *buffer, const GstVideoInfo *info, gint pad, gint extra, gboolean split, guint32 seed)
{
  gsize offset[GST_VIDEO_MAX_PLANES] = { 0 }, at = 0;
  gint stride[GST_VIDEO_MAX_PLANES] = { 0 };
  GstVideoInfo larger;

  gst_video_info_set_interlaced_format (&larger, GST_VIDEO_INFO_FORMAT (info), GST_VIDEO_INFO_INTERLACE_MODE (info),
      (guint) (GST_VIDEO_INFO_WIDTH (info) + extra), (guint) (GST_VIDEO_INFO_HEIGHT (info) + extra));
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&larger); p++) {
    gint comp[GST_VIDEO_MAX_COMPONENTS];
    gsize size;

    gst_video_format_info_component (larger.finfo, p, comp);
    stride[p] = GST_VIDEO_INFO_PLANE_STRIDE (&larger, p) + pad;
    offset[p] = at;
    size = (gsize) stride[p] * (gsize) GST_VIDEO_INFO_COMP_HEIGHT (&larger, comp[0]);
    at += size;
    if (split)
      gst_buffer_append_memory (buffer, new_memory (size, seed + p));
  }
  if (!split)
    gst_buffer_append_memory (buffer, new_memory (at, seed));
  return gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT (info),
      (guint) GST_VIDEO_INFO_WIDTH (&larger), (guint) GST_VIDEO_INFO_HEIGHT (&larger),
      GST_VIDEO_INFO_N_PLANES (&larger), offset, stride);
}

static void
spoil_meta (FuzzBytes *bytes, GstVideoMeta *meta, gsize size)
{
  guint plane = fuzz_below (bytes, GST_VIDEO_MAX_PLANES);

  switch (fuzz_below (bytes, 6)) {
    case 0:
      meta->stride[plane] = odd_stride (bytes, meta->stride[plane]);
      break;
    case 1:
      meta->offset[plane] = odd_offset (bytes, meta->offset[plane], size);
      break;
    case 2:
      meta->width = fuzz_byte (bytes) & 1 ? G_MAXUINT : meta->width - 1;
      break;
    case 3:
      meta->height = fuzz_byte (bytes) & 1 ? G_MAXUINT : meta->height - 1;
      break;
    case 4:
      meta->format = (GstVideoFormat) fuzz_below (bytes, 100);
      break;
    default:
      meta->n_planes = fuzz_below (bytes, GST_VIDEO_MAX_PLANES + 1);
      break;
  }
}

static GstBuffer *
odd_buffer (FuzzBytes *bytes, const GstVideoInfo *info, guint32 seed)
{
  GstBuffer *buffer = gst_buffer_new ();
  guint kind = fuzz_byte (bytes), size = (guint) GST_VIDEO_INFO_SIZE (info), at;
  GstVideoMeta *meta;

  switch (kind % 6) {
    case 0: /* too short, or too long */
      gst_buffer_append_memory (buffer, new_memory (fuzz_below (bytes, size + 64), seed));
      break;
    case 1: /* in two pieces */
      at = fuzz_below (bytes, size);
      gst_buffer_append_memory (buffer, new_memory (at, seed));
      gst_buffer_append_memory (buffer, new_memory (size - at, seed));
      break;
    case 2: /* nothing */
      break;
    case 3: /* padded rows */
      add_layout (buffer, info, (gint) (2 * fuzz_below (bytes, 40)), 0, kind & 64, seed);
      break;
    case 4: { /* to be cropped */
      GstVideoCropMeta *crop;

      add_layout (buffer, info, 0, 1 + (gint) fuzz_below (bytes, 20), kind & 64, seed);
      crop = gst_buffer_add_video_crop_meta (buffer);
      crop->x = fuzz_below (bytes, 24);
      crop->y = fuzz_below (bytes, 24);
      crop->width = (guint) GST_VIDEO_INFO_WIDTH (info) + (kind & 128 ? fuzz_below (bytes, 3) - 1 : 0);
      crop->height = (guint) GST_VIDEO_INFO_HEIGHT (info);
      break;
    }
    default:
      at = fuzz_below (bytes, 5);
      meta = add_layout (buffer, info, (gint) at, (gint) fuzz_below (bytes, 3), kind & 64, seed);
      spoil_meta (bytes, meta, gst_buffer_get_size (buffer));
      break;
  }
  return buffer;
}

/* Attaches what a detector may: regions of any size, some of them with a confidence of any type. */
static void
add_regions (FuzzBytes *bytes, GstBuffer *buffer, guint64 number)
{
  static const gchar *const types[] = { "face", "car", "", "motion" };
  const gdouble confidences[] = { 0.5, 0, 1, (gdouble) NAN, -1, 2, (gdouble) INFINITY, 0.9 };

  for (guint n = 1 + fuzz_below (bytes, 3); n-- > 0;) {
    const guint how = fuzz_byte (bytes);
    const guint size = how & 64 ? G_MAXUINT - how : 1 + (guint) (number + 5 * n) % 17;
    const gdouble confidence = confidences[how % G_N_ELEMENTS (confidences)];
    GstVideoRegionOfInterestMeta *meta = gst_buffer_add_video_region_of_interest_meta (buffer, types[how >> 4 & 3],
        (guint) (number * 3 + n) % 48, how & 128 ? G_MAXUINT / 2 : (guint) number % 24, size, (guint) number % 9);

    if (how & 8)
      gst_video_region_of_interest_meta_add_param (meta,
          how & 1 ? gst_structure_new ("detection", "confidence", G_TYPE_FLOAT, (gfloat) confidence, NULL)
                  : gst_structure_new ("detection", "confidence", G_TYPE_DOUBLE, confidence, NULL));
  }
}

GstBuffer *
stream_buffer (FuzzBytes *bytes, const GstVideoInfo *info, gboolean odd, guint64 number)
{
  GstBuffer *buffer;
  guint how = fuzz_byte (bytes);

  if (odd) {
    buffer = odd_buffer (bytes, info, (guint32) number);
  } else {
    buffer = gst_buffer_new ();
    gst_buffer_append_memory (buffer, new_memory (GST_VIDEO_INFO_SIZE (info), (guint32) number));
  }
  GST_BUFFER_OFFSET (buffer) = number;
  if (!(how & 1))
    GST_BUFFER_PTS (buffer) = number * 40 * GST_MSECOND;
  if ((how & 3) == 2)
    GST_BUFFER_PTS (buffer) += fuzz_byte (bytes) * GST_SECOND;
  if (how & 4)
    GST_BUFFER_DURATION (buffer) = 40 * GST_MSECOND;
  if (how & 8)
    GST_BUFFER_FLAG_SET (buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);
  if (how & 16)
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
  if (how & 32)
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_GAP | GST_BUFFER_FLAG_CORRUPTED | GST_VIDEO_BUFFER_FLAG_ONEFIELD);
  if (how & 64)
    add_regions (bytes, buffer, number);
  if (how & 128 && gst_buffer_n_memory (buffer) > 0)
    GST_MINI_OBJECT_FLAG_SET (gst_buffer_peek_memory (buffer, 0), GST_MEMORY_FLAG_READONLY);
  return buffer;
}

/* ---- properties --------------------------------------------------------- */

static gdouble
any_double (FuzzBytes *bytes, gdouble min, gdouble max, gdouble def)
{
  const guint n = fuzz_byte (bytes);
  const gdouble values[] = { def, min, max, (gdouble) NAN, (gdouble) INFINITY, -G_MAXDOUBLE, G_MINDOUBLE,
    min + (max - min) * n / 255, def * n / 64 };

  return values[fuzz_below (bytes, G_N_ELEMENTS (values))];
}

static gint
any_int (FuzzBytes *bytes, gint min, gint max, gint def)
{
  const gint n = (gint) fuzz_byte (bytes);
  const gint values[] = { def, min, max, G_MININT, G_MAXINT, n % 8 * 2 + 1, min + n, 256 * n };

  return values[fuzz_below (bytes, G_N_ELEMENTS (values))];
}

static const gchar *
any_text (FuzzBytes *bytes)
{
  static const gchar *const texts[] = { "1 2 1; 2 4 2; 1 2 1", "", "1;", "nan", "1e999", "0 0; 0 0", "0.1 0; 0 0",
    "0 0.5; 0.4 -0.2", "0 2; 2 0", "1,1;2,2", "1,1;-5,99;400,3", "9,9;", "/", "/dev/null", "/nonexistent", "1 -1",
    "1e300 1e300", "\xc3\xa4\x01", "1 2;3", "1,1,9,5; 0.25,0.5,0.5,0.25", "-3,-3,7,40", "0.0,0.0,1.0,1.0",
    "0.1,0.1 0.9,0.2 0.5,0.9", "0,0 1,1 1,0 0,1; 0.2,0.2 0.3,0.2 0.3,0.3", "face, car", "door: 0.1,0.1 0.9,0.2 0.5,0.9",
    "a: 0,0 1,0 1,1; b: 0,0 0.5,0 0.5,1", "strongest", "0000:01:00.0", NULL };

  return texts[fuzz_below (bytes, G_N_ELEMENTS (texts))];
}

/* Returns a property that may be set, or NULL. */
static GParamSpec *
any_property (FuzzBytes *bytes, GstElement *element)
{
  GParamSpec **specs, *spec;
  guint n;

  specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);
  spec = specs[fuzz_below (bytes, n)];
  g_free (specs);
  if (!(spec->flags & G_PARAM_WRITABLE) || spec->owner_type == GST_TYPE_OBJECT)
    return NULL;
  return spec;
}

void
stream_property (FuzzBytes *bytes, GstElement *element)
{
  GParamSpec *spec = any_property (bytes, element);
  GValue value = G_VALUE_INIT;
  guint number;

  if (!spec)
    return;
  g_value_init (&value, spec->value_type);
  if (G_IS_PARAM_SPEC_INT (spec)) {
    GParamSpecInt *s = G_PARAM_SPEC_INT (spec);

    g_value_set_int (&value, any_int (bytes, s->minimum, s->maximum, s->default_value));
  } else if (G_IS_PARAM_SPEC_DOUBLE (spec)) {
    GParamSpecDouble *s = G_PARAM_SPEC_DOUBLE (spec);

    g_value_set_double (&value, any_double (bytes, s->minimum, s->maximum, s->default_value));
  } else if (G_IS_PARAM_SPEC_STRING (spec)) {
    g_value_set_static_string (&value, any_text (bytes));
  } else {
    number = fuzz_byte (bytes);
    if (G_IS_PARAM_SPEC_ENUM (spec)) {
      GEnumClass *values = G_PARAM_SPEC_ENUM (spec)->enum_class;

      g_value_set_enum (&value, values->values[number % values->n_values].value);
    } else if (G_IS_PARAM_SPEC_FLAGS (spec))
      g_value_set_flags (&value, number & G_PARAM_SPEC_FLAGS (spec)->flags_class->mask);
    else if (G_IS_PARAM_SPEC_BOOLEAN (spec))
      g_value_set_boolean (&value, number & 1);
    else if (G_IS_PARAM_SPEC_UINT (spec))
      g_value_set_uint (&value, number * 0x01020408);
  }
  g_object_set_property (G_OBJECT (element), spec->name, &value);
  g_value_unset (&value);
}

void
stream_defaults (GstElement *element)
{
  guint n;
  GParamSpec **specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);

  for (guint i = 0; i < n; i++)
    if (specs[i]->flags & G_PARAM_WRITABLE && specs[i]->owner_type != GST_TYPE_OBJECT)
      g_object_set_property (G_OBJECT (element), specs[i]->name, g_param_spec_get_default_value (specs[i]));
  g_free (specs);
  gst_util_set_object_arg (G_OBJECT (element), "backend", "cpu");
}

/* ---- events and messages ------------------------------------------------ */

GstEvent *
stream_event_down (FuzzBytes *bytes)
{
  GstClockTime time = fuzz_byte (bytes) * 40 * GST_MSECOND;
  GstSegment segment;

  switch (fuzz_below (bytes, 7)) {
    case 0:
      return gst_event_new_gap (time, fuzz_byte (bytes) & 1 ? GST_CLOCK_TIME_NONE : GST_SECOND);
    case 1:
      return gst_event_new_tag (gst_tag_list_new (GST_TAG_TITLE, "fuzz", NULL));
    case 2:
      return gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_new_empty ("fuzz"));
    case 3:
      return gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM_OOB, gst_structure_new_empty ("fuzz"));
    case 4:
      return gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, gst_structure_new_empty ("fuzz"));
    case 5:
      return gst_event_new_segment_done (GST_FORMAT_TIME, (gint64) time);
    default:
      gst_segment_init (&segment, fuzz_byte (bytes) & 1 ? GST_FORMAT_BYTES : GST_FORMAT_TIME);
      segment.start = segment.time = time;
      segment.rate = fuzz_byte (bytes) & 1 ? -1 : 1;
      segment.stop = fuzz_byte (bytes) & 1 && segment.rate > 0 ? GST_CLOCK_TIME_NONE : time + GST_SECOND;
      return gst_event_new_segment (&segment);
  }
}

GstEvent *
stream_event_up (FuzzBytes *bytes)
{
  gint64 time = fuzz_byte (bytes) * 40 * (gint64) GST_MSECOND;

  switch (fuzz_below (bytes, 6)) {
    case 0:
      return gst_event_new_qos (GST_QOS_TYPE_UNDERFLOW, 2, time, 2 * (GstClockTime) time);
    case 1:
      return gst_event_new_seek (1, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_SET, time, GST_SEEK_TYPE_NONE,
          -1);
    case 2:
      return gst_event_new_latency (GST_SECOND);
    case 3:
      return gst_event_new_custom (GST_EVENT_CUSTOM_UPSTREAM, gst_structure_new_empty ("fuzz"));
    case 4:
      return gst_event_new_navigation (gst_structure_new ("application/x-gst-navigation", "event", G_TYPE_STRING,
          "mouse-move", "pointer_x", G_TYPE_DOUBLE, 3.5, "pointer_y", G_TYPE_DOUBLE, (gdouble) NAN, NULL));
    default:
      return gst_event_new_reconfigure ();
  }
}

static void
check_error (GError *error, gchar *debug)
{
  if (!error || !error->message[0] || !g_utf8_validate (error->message, -1, NULL) ||
      (debug && !g_utf8_validate (debug, -1, NULL)))
    fuzz_fail ("a message has no good text: %s", error ? error->message : "none");
  g_clear_error (&error);
  g_free (debug);
}

guint
stream_check_bus (GstBus *bus)
{
  GstMessage *message;
  guint errors = 0;

  while ((message = gst_bus_pop (bus))) {
    GError *error = NULL;
    gchar *debug = NULL;

    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
      gst_message_parse_error (message, &error, &debug);
      check_error (error, debug);
      errors++;
    } else if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING) {
      gst_message_parse_warning (message, &error, &debug);
      check_error (error, debug);
    }
    gst_message_unref (message);
  }
  return errors;
}
