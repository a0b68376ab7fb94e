/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * parts.c: JPEGs out of a stream over HTTP.
 *
 * A part has header lines, an empty line, and a body of "Content-Length" bytes or up to the next boundary. What the
 * stream calls its boundary counts, not what the server has announced; a part that is no JPEG is skipped. The source's
 * bytes are limited (source.c), so that a part without an end does not fill the memory. */
#define _GNU_SOURCE /* memmem */
#include "parts.h"

#include <string.h>

typedef struct {
  GstElement parent;
  GstPad *sink, *src;
  PartsEnd end;
  gpointer end_data;

  /* Of the streaming thread. */
  GByteArray *data;
  gsize at, scanned; /* where the next line or body begins; up to where its end was looked for */
  enum { FIRST, BARE, HEADERS, BODY } state;
  gboolean begun, started; /* a boundary or a header was there; downstream has caps and segment */
  gint64 length;           /* of the body; -1: not given */
  GString *boundary;       /* "\n--NAME"; empty: not known */
} Parts;

typedef GstElementClass PartsClass;

GType parts_get_type (void);
G_DEFINE_TYPE (Parts, parts, GST_TYPE_ELEMENT)

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
    GST_STATIC_CAPS ("multipart/x-mixed-replace"));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS,
    GST_STATIC_CAPS ("image/jpeg"));

/* ---- JPEG ---------------------------------------------------------------- */

static gboolean
is_jpeg (const guint8 *data, gsize n)
{
  return n >= 2 && data[0] == 0xff && data[1] == 0xd8;
}

/* Returns how many bytes the JPEG at the beginning of the data has; 0: its end is not there yet. `from` says where to
 * go on with the search. */
static gsize
find_end (const guint8 *data, gsize n, gsize *from)
{
  gsize i = MAX (*from, 2);

  while (i + 1 < n) {
    const guint8 *next = memchr (data + i, 0xff, n - i), marker = data[i + 1];

    if (data[i] != 0xff)
      i = next ? (gsize) (next - data) : n;
    else if (marker == 0xd9)
      return i + 2;
    else if (marker == 0xd8) /* the next one: this one was cut */
      return i;
    else if (marker == 0xff)
      i++;
    else if (marker <= 1 || (marker >= 0xd0 && marker <= 0xd7))
      i += 2;
    else if (i + 3 < n) /* a segment, whose length follows */
      i += 2 + ((gsize) data[i + 2] << 8 | data[i + 3]);
    else
      break;
  }
  *from = i;
  return 0;
}

/* ---- parts --------------------------------------------------------------- */

static void
start (Parts *self)
{
  GstCaps *caps = gst_caps_new_empty_simple ("image/jpeg");
  GstSegment segment;

  if (!self->started) {
    gst_segment_init (&segment, GST_FORMAT_TIME);
    gst_pad_push_event (self->src, gst_event_new_caps (caps));
    gst_pad_push_event (self->src, gst_event_new_segment (&segment));
  }
  self->started = TRUE;
  gst_caps_unref (caps);
}

/* Sends the next n bytes, if they are a JPEG, and goes on behind them. */
static GstFlowReturn
take (Parts *self, gsize n)
{
  const guint8 *data = self->data->data + self->at;
  GstFlowReturn flow = GST_FLOW_OK;

  if (is_jpeg (data, n)) {
    start (self);
    flow = gst_pad_push (self->src, gst_buffer_new_memdup (data, n));
  }
  self->at += n;
  self->scanned = 0;
  return flow;
}

/* Reads a header line, without its end. Returns whether the body comes next. */
static gboolean
read_line (Parts *self, const char *line, gsize n)
{
  static const char length[] = "content-length:";

  while (n && g_ascii_isspace (line[n - 1]))
    n--;
  if (n == 0)
    return self->begun;
  if (n > 2 && line[0] == '-' && line[1] == '-') {
    if (!self->boundary->len) {
      g_string_append_c (self->boundary, '\n');
      g_string_append_len (self->boundary, line, (gssize) n);
    }
    self->begun = TRUE;
    self->length = -1;
  } else if (memchr (line, ':', n)) {
    self->begun = TRUE;
    if (n > strlen (length) && !g_ascii_strncasecmp (line, length, strlen (length))) {
      g_autofree char *number = g_strndup (line + strlen (length), n - strlen (length));
      gint64 value;

      if (g_ascii_string_to_signed (g_strstrip (number), 10, 1, G_MAXINT64, &value, NULL))
        self->length = value;
    }
  }
  return FALSE;
}

/* Takes what is complete of a body, a header line or a JPEG. Returns FALSE if nothing is. */
static gboolean
step (Parts *self, GstFlowReturn *flow)
{
  const guint8 *data = self->data->data + self->at, *end = NULL;
  const gsize n = self->data->len - self->at;
  gsize length;

  if (n < 2)
    return FALSE;
  switch (self->state) {
    case FIRST:
      self->state = is_jpeg (data, n) ? BARE : HEADERS;
      return TRUE;
    case BARE:
      if (!is_jpeg (data, n) && (end = memmem (data, n, "\xff\xd8", 2)))
        self->at += (gsize) (end - data);
      else if (!is_jpeg (data, n))
        self->at += n - 1;
      else if ((length = find_end (data, n, &self->scanned)))
        *flow = take (self, length);
      else
        return FALSE;
      return TRUE;
    case HEADERS:
      if (!(end = memchr (data + self->scanned, '\n', n - self->scanned))) {
        self->scanned = n;
        return FALSE;
      }
      self->at += (gsize) (end + 1 - data);
      self->scanned = 0;
      if (read_line (self, (const char *) data, (gsize) (end - data)))
        self->state = BODY;
      return TRUE;
    default:
      if (self->length >= 0) {
        if (n < (guint64) self->length)
          return FALSE;
        length = (gsize) self->length;
      } else if (self->boundary->len) {
        if (!(end = memmem (data + self->scanned, n - self->scanned, self->boundary->str, self->boundary->len))) {
          self->scanned = n > self->boundary->len ? n - self->boundary->len : 0;
          return FALSE;
        }
        length = (gsize) (end - data);
      } else if (!(length = find_end (data, n, &self->scanned)))
        return FALSE;
      *flow = take (self, length);
      self->state = HEADERS;
      self->begun = FALSE;
      self->length = -1;
      return TRUE;
  }
}

static GstFlowReturn
chain (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  Parts *self = (Parts *) parent;
  GstFlowReturn flow = GST_FLOW_OK;
  GstMapInfo map;

  (void) pad;
  if (gst_buffer_map (buffer, &map, GST_MAP_READ)) {
    g_byte_array_append (self->data, map.data, (guint) map.size);
    gst_buffer_unmap (buffer, &map);
  }
  gst_buffer_unref (buffer);
  while (flow == GST_FLOW_OK && step (self, &flow))
    ;
  g_byte_array_remove_range (self->data, 0, (guint) self->at);
  self->at = 0;
  return flow;
}

static void
reset (Parts *self)
{
  g_byte_array_set_size (self->data, 0);
  g_string_truncate (self->boundary, 0);
  self->at = self->scanned = 0;
  self->state = FIRST;
  self->begun = FALSE;
  self->length = -1;
}

static gboolean
on_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  Parts *self = (Parts *) parent;

  switch (GST_EVENT_TYPE (event)) {
    case GST_EVENT_STREAM_START: /* once; a source that was started again has another */
      if (!self->started)
        break;
      gst_event_unref (event);
      return TRUE;
    case GST_EVENT_CAPS:
    case GST_EVENT_SEGMENT: /* of bytes */
      gst_event_unref (event);
      return TRUE;
    case GST_EVENT_EOS:
      if (self->state == BARE || (self->state == BODY && self->length < 0)) /* nothing but the end ends the last one */
        take (self, self->data->len);
      reset (self);
      if (!self->end)
        break;
      gst_event_unref (event);
      self->end (self->end_data);
      return TRUE;
    default:
      break;
  }
  return gst_pad_event_default (pad, parent, event);
}

/* ---- the element --------------------------------------------------------- */

static GstStateChangeReturn
change_state (GstElement *element, GstStateChange change)
{
  Parts *self = (Parts *) element;
  GstStateChangeReturn result = GST_ELEMENT_CLASS (parts_parent_class)->change_state (element, change);

  if (change == GST_STATE_CHANGE_PAUSED_TO_READY) {
    reset (self);
    self->started = FALSE;
  }
  return result;
}

static void
finalize (GObject *object)
{
  Parts *self = (Parts *) object;

  g_byte_array_unref (self->data);
  g_string_free (self->boundary, TRUE);
  G_OBJECT_CLASS (parts_parent_class)->finalize (object);
}

static void
parts_init (Parts *self)
{
  self->data = g_byte_array_new ();
  self->boundary = g_string_new (NULL);
  self->sink = gst_pad_new_from_static_template (&sink_template, "sink");
  self->src = gst_pad_new_from_static_template (&src_template, "src");
  gst_pad_set_chain_function (self->sink, chain);
  gst_pad_set_event_function (self->sink, on_event);
  gst_element_add_pad (GST_ELEMENT (self), self->sink);
  gst_element_add_pad (GST_ELEMENT (self), self->src);
  reset (self);
}

static void
parts_class_init (PartsClass *class)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (class);

  G_OBJECT_CLASS (class)->finalize = finalize;
  element_class->change_state = change_state;
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "JPEGs of a camera", "Codec/Parser/Image",
      "Finds the JPEGs that a camera sends over HTTP", "the gst-cuda-filters authors");
}

/* Finds a stream of parts, also without a first boundary, and JPEGs without parts. */
static void
find_type (GstTypeFind *find, gpointer data)
{
  const guint8 *begin = gst_type_find_peek (find, 0, 12);

  (void) data;
  for (guint i = 0; begin && i < 4 && g_ascii_isspace (*begin); i++) /* empty lines */
    begin = gst_type_find_peek (find, (gint64) i + 1, 12);
  if (begin &&
      (!memcmp (begin, "\xff\xd8\xff", 3) || !memcmp (begin, "--", 2) ||
          !g_ascii_strncasecmp ((const char *) begin, "content-", 8)))
    gst_type_find_suggest_empty_simple (find, GST_TYPE_FIND_MAXIMUM, "multipart/x-mixed-replace");
}

void
parts_register (void)
{
  gst_element_register (NULL, "cf-watch-parts", GST_RANK_PRIMARY + 1, parts_get_type ());
  gst_type_find_register (NULL, "cf-watch-parts-type", GST_RANK_PRIMARY + 1, find_type, NULL,
      gst_static_pad_template_get_caps (&sink_template), NULL, NULL);
}

void
parts_keep_open (GstElement *parts, PartsEnd end, gpointer data)
{
  ((Parts *) parts)->end = end;
  ((Parts *) parts)->end_data = data;
}
