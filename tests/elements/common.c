/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * common.c: shared by the element tests. */
#include "common.h"

#include <glib/gstdio.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

gboolean
on_gpu (void)
{
  return g_strcmp0 (g_getenv ("CF_TEST_BACKEND"), "cuda") == 0;
}

/* The CUDA context of a process that runs all tests, CK_FORK=no: to make and to free one takes .16 s, beside other
 * processes many times as long, and many tests need several. */
static GstContext *context_of_all;

static void
share_context (GstElement *element)
{
  if (!context_of_all && on_gpu () && g_strcmp0 (g_getenv ("CK_FORK"), "no") == 0)
    context_of_all = gst_element_get_context (element, "gst.cuda.context");
}

GstElement *
new_element_of (const gchar *factory, const gchar *first, ...)
{
  GstElement *element = gst_element_factory_make (factory, NULL);
  GstBus *bus = gst_bus_new ();
  va_list args;
  gint gpu;

  fail_unless (element != NULL, "no %s: is GST_PLUGIN_PATH set?", factory);
  gst_element_set_bus (element, bus);
  gst_object_unref (bus);
  gst_util_set_object_arg (G_OBJECT (element), "backend", on_gpu () ? "cuda" : "cpu");
  gst_util_set_object_arg (G_OBJECT (element), "on-gpu-error", "error");
  va_start (args, first);
  for (const gchar *name = first; name; name = va_arg (args, const gchar *))
    gst_util_set_object_arg (G_OBJECT (element), name, va_arg (args, const gchar *));
  va_end (args);
  g_object_get (element, "cuda-device-id", &gpu, NULL);
  if (context_of_all && gpu < 0) /* another GPU would have another context */
    gst_element_set_context (element, context_of_all);
  return element;
}

GstHarness *
new_harness (GstElement *element)
{
  GstHarness *h = gst_harness_new_with_element (element, "sink", "src");

  gst_object_unref (element);
  share_context (h->element);
  return h;
}

GstHarness *
parse_harness (const gchar *line)
{
  GError *error = NULL;
  GstElement *bin = gst_parse_bin_from_description (line, TRUE, &error);

  fail_unless (bin && !error, "%s: %s", line, error ? error->message : "");
  if (context_of_all)
    gst_element_set_context (bin, context_of_all);
  return new_harness (bin);
}

GstHarness *
new_stream (GstElement *element, const gchar *format, gint width, gint height, GstVideoInfo *info)
{
  GstHarness *h = new_harness (element);

  set_caps (h, video_caps (format, width, height, NULL), info);
  return h;
}

guint64
stat_of (GstElement *element, const gchar *name)
{
  GstStructure *stats = NULL;
  guint64 value = 0;

  g_object_get (element, "stats", &stats, NULL);
  fail_unless (stats && gst_structure_get_uint64 (stats, name, &value), "stats have no %s", name);
  gst_structure_free (stats);
  return value;
}

void
free_harness (GstHarness *h)
{
  GstElement *element = gst_object_ref (h->element);
  GstBus *bus = gst_element_get_bus (element);

  gst_harness_teardown (h);
  if (bus)
    gst_bus_set_flushing (bus, TRUE);
  gst_clear_object (&bus);
  fail_unless_equals_int (GST_OBJECT_REFCOUNT_VALUE (element), 1);
  gst_object_unref (element);
}

void
close_harness (GstHarness *h, gint frames)
{
  guint64 all = stat_of (h->element, "frames"), gpu = stat_of (h->element, "frames-gpu");
  guint64 filtered = all - stat_of (h->element, "frames-passed");

  if (frames >= 0)
    fail_unless_equals_uint64 (all, (guint64) frames);
  fail_unless_equals_uint64 (gpu, on_gpu () ? filtered : 0);
  fail_unless_equals_uint64 (stat_of (h->element, "frames-cpu"), filtered - gpu);
  fail_unless_equals_uint64 (stat_of (h->element, "frames-fallback"), 0);
  if (filtered > 0)
    fail_unless ((stat_of (h->element, "gpu-launches") > 0) == on_gpu (), "wrong number of launches");
  free_harness (h);
}

GstBuffer *
push_pull (GstHarness *h, GstBuffer *in)
{
  GstBuffer *out = gst_harness_push_and_pull (h, in);

  fail_unless (out != NULL, "no frame came out");
  return out;
}

void
flush_harness (GstHarness *h, GThread *pusher)
{
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  fail_unless (gst_harness_push_event (h, gst_event_new_flush_start ()));
  if (pusher)
    g_thread_join (pusher);
  fail_unless (gst_harness_push_event (h, gst_event_new_flush_stop (TRUE)));
  fail_unless (gst_harness_push_event (h, gst_event_new_segment (&segment)));
}

GstElement *
child_of (GstHarness *h, const gchar *name)
{
  GstElement *element = gst_bin_get_by_name (GST_BIN (h->element), name);

  fail_unless (element != NULL, "no element %s", name);
  gst_object_unref (element); /* the bin has another reference */
  return element;
}

void
add_probe (GstElement *element, const gchar *name, GstPadProbeCallback callback, gpointer data)
{
  GstPad *pad = gst_element_get_static_pad (element, name);

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, callback, data, NULL);
  gst_object_unref (pad);
}

GstMessage *
pop_message (GstElement *element, GstMessageType type)
{
  GstBus *bus = gst_element_get_bus (element);
  GstMessage *message = gst_bus_pop_filtered (bus, type);

  gst_object_unref (bus);
  return message;
}

void
expect_no_messages (GstElement *element)
{
  fail_unless (pop_message (element, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR) == NULL);
}

gchar *
only_message (GstElement *element, GstMessageType type, GQuark domain, gint code)
{
  GstMessage *message = pop_message (element, type), *more = pop_message (element, type);
  GError *error = NULL;
  gchar *text;

  fail_unless (message != NULL, "there is no %s message", gst_message_type_get_name (type));
  fail_unless (more == NULL, "there is more than one %s message", gst_message_type_get_name (type));
  if (type == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, &error, NULL);
  else
    gst_message_parse_warning (message, &error, NULL);
  fail_unless (error->domain == domain && error->code == code, "unexpected message: %s", error->message);
  text = g_strdup (error->message);
  g_error_free (error);
  gst_message_unref (message);
  return text;
}

static gchar *
nicks_of (GType type, guint flags)
{
  GFlagsClass *klass = g_type_class_ref (type);
  GString *nicks = g_string_new (NULL);

  for (guint i = 0; i < klass->n_values; i++)
    if (flags & klass->values[i].value)
      g_string_append_printf (nicks, "%s%s", nicks->len ? "+" : "", klass->values[i].value_nick);
  g_type_class_unref (klass);
  return g_string_free (nicks, FALSE);
}

void
expect_value (GstElement *element, const gchar *name, const gchar *right)
{
  GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), name);
  GValue value = G_VALUE_INIT;
  gchar *text;

  fail_unless (spec != NULL, "no property %s", name);
  g_value_init (&value, spec->value_type);
  g_object_get_property (G_OBJECT (element), name, &value);
  text = G_VALUE_HOLDS_STRING (&value) ? g_value_dup_string (&value)
      : G_VALUE_HOLDS_FLAGS (&value)   ? nicks_of (spec->value_type, g_value_get_flags (&value))
                                       : gst_value_serialize (&value);
  fail_unless (g_strcmp0 (text, right) == 0, "%s is %s, not %s", name, text ? text : "nothing",
      right ? right : "nothing");
  g_free (text);
  g_value_unset (&value);
}

void
set_value (GstElement *element, const gchar *name, const gchar *value)
{
  GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), name);

  fail_unless (spec != NULL, "no property %s", name);
  if (spec->value_type == G_TYPE_STRING)
    g_object_set (element, name, value, NULL);
  else
    gst_util_set_object_arg (G_OBJECT (element), name, value);
}

void
count_notify (GObject *object, GParamSpec *spec, gpointer count)
{
  (void) object;
  (void) spec;
  ++*(gint *) count;
}

gchar *
temporary_file (const gchar *text)
{
  gchar *path = g_build_filename (g_get_tmp_dir (), "cf-kernel-XXXXXX", NULL);
  gint file = g_mkstemp (path);

  fail_unless (file >= 0 && g_file_set_contents (path, text, -1, NULL));
  close (file);
  return path;
}

void
free_value (gchar *value, gboolean is_file)
{
  if (is_file)
    g_unlink (value);
  g_free (value);
}

void
expect_message (const gchar *text, const gchar *name, const gchar *where)
{
  fail_unless (strstr (text, where) && strstr (text, name), "not \"%s\", \"%s\": %s", name, where, text);
  fail_unless (strlen (text) < 300, "too long to read: %s", text);
}

/* Returns whether the locale is now one whose decimal sign is a comma; it is made in `folder`. */
static gboolean
set_comma_locale (const gchar *folder)
{
  gchar *path = g_build_filename (folder, "comma", NULL);
  gchar *command[] = { "localedef", "-c", "-i", "de_DE", "-f", "UTF-8", "--no-archive", path, NULL };

  (void) g_spawn_sync (NULL, command, NULL,
      G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL, NULL, NULL,
      NULL);
  g_free (path);
  g_setenv ("LOCPATH", folder, TRUE);
  return setlocale (LC_ALL, "comma") && strcmp (localeconv ()->decimal_point, ",") == 0;
}

void
in_comma_locale (void (*function) (void))
{
  gchar *folder = g_dir_make_tmp ("cf-locale-XXXXXX", NULL), *command[] = { "rm", "-r", folder, NULL };
  gchar *before = g_strdup (setlocale (LC_ALL, NULL));

  if (!set_comma_locale (folder))
    printf ("no locale with a decimal comma: only others are tested\n");
  function ();
  fail_unless (setlocale (LC_ALL, before) != NULL); /* tests may share a process (CK_FORK=no) */
  fail_unless (g_spawn_sync (NULL, command, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL));
  g_free (folder);
  g_free (before);
}

gchar *
repeated (const gchar *text, gsize n)
{
  GString *all = g_string_new (NULL);

  while (n--)
    g_string_append (all, text);
  return g_string_free (all, FALSE);
}

gchar **
formats_of (const gchar *factory_name, gboolean cuda, guint n)
{
  GstElementFactory *factory = gst_element_factory_find (factory_name);
  GPtrArray *formats = g_ptr_array_new ();
  GstStaticPadTemplate *pad;
  GstCaps *caps;

  fail_unless (factory != NULL, "no %s: is GST_PLUGIN_PATH set?", factory_name);
  pad = gst_element_factory_get_static_pad_templates (factory)->data;
  caps = gst_static_pad_template_get_caps (pad);
  for (guint i = 0; i < gst_caps_get_size (caps); i++)
    if (gst_caps_features_contains (gst_caps_get_features (caps, i), CUDA_FEATURE) == cuda) {
      const GValue *all = gst_structure_get_value (gst_caps_get_structure (caps, i), "format");

      for (guint j = 0; j < gst_value_list_get_size (all); j++)
        g_ptr_array_add (formats, g_value_dup_string (gst_value_list_get_value (all, j)));
    }
  fail_unless_equals_int (formats->len, n);
  g_ptr_array_add (formats, NULL);
  gst_caps_unref (caps);
  gst_object_unref (factory);
  return (gchar **) g_ptr_array_free (formats, FALSE);
}

GstCaps *
video_caps (const gchar *format, gint width, gint height, const gchar *more)
{
  gchar *text = g_strdup_printf ("video/x-raw,format=%s,width=%d,height=%d,framerate=25/1%s%s", format, width, height,
      more ? "," : "", more ? more : "");
  GstCaps *caps = gst_caps_from_string (text);

  fail_unless (caps != NULL, "bad caps %s", text);
  g_free (text);
  return caps;
}

void
set_caps (GstHarness *h, GstCaps *caps, GstVideoInfo *info)
{
  fail_unless (gst_video_info_from_caps (info, caps));
  gst_harness_set_src_caps (h, caps);
}

GstBuffer *
random_frame (const GstVideoInfo *info, guint seed, gint kind)
{
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (info), NULL);
  GRand *random = g_rand_new_with_seed (seed);
  GstMapInfo map;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  for (gsize i = 0; i < map.size; i++)
    map.data[i] = (guint8) (kind == 0 ? g_rand_int (random) : kind == 1 ? (g_rand_int (random) & 1) * 255 : i * 7);
  gst_buffer_unmap (buffer, &map);
  g_rand_free (random);
  GST_BUFFER_PTS (buffer) = seed * 40 * GST_MSECOND;
  GST_BUFFER_DURATION (buffer) = 40 * GST_MSECOND;
  return buffer;
}

GstBuffer *
frame_of (const GstVideoInfo *info, const guint8 *samples)
{
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (info), NULL);

  gst_buffer_fill (buffer, 0, samples, GST_VIDEO_INFO_SIZE (info));
  return buffer;
}

void
assert_samples (const GstVideoInfo *info, GstBuffer *frame, const guint8 *samples, const gchar *what)
{
  GstVideoFrame f;

  fail_unless (gst_video_frame_map (&f, info, frame, GST_MAP_READ));
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (info); p++)
    for (gint y = 0; y < GST_VIDEO_INFO_COMP_HEIGHT (info, p); y++)
      for (gint x = 0; x < GST_VIDEO_INFO_PLANE_STRIDE (info, p); x++, samples++) {
        guint8 got = *((guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&f, p) + y * GST_VIDEO_FRAME_PLANE_STRIDE (&f, p) + x);

        if (got != *samples)
          fail ("%s: byte %d of row %d of plane %u is %u, not %u", what, x, y, p, got, *samples);
      }
  gst_video_frame_unmap (&f);
}

/* ---- expected samples ------------------------------------------------- */

guint8 *
word_at (const GstVideoFrame *f, gint c, gint x, gint y)
{
  gint offset = GST_VIDEO_FRAME_COMP_POFFSET (f, c);

  /* GStreamer 1.22's table has offset 1 for V of these formats, which is inside U. */
  if (c == 2 &&
      (GST_VIDEO_FRAME_FORMAT (f) == GST_VIDEO_FORMAT_P010_10LE ||
          GST_VIDEO_FRAME_FORMAT (f) == GST_VIDEO_FORMAT_P012_LE ||
          GST_VIDEO_FRAME_FORMAT (f) == GST_VIDEO_FORMAT_P016_LE))
    offset = 2;
  return (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (f, GST_VIDEO_FRAME_COMP_PLANE (f, c)) +
      y * GST_VIDEO_FRAME_COMP_STRIDE (f, c) + x * GST_VIDEO_FRAME_COMP_PSTRIDE (f, c) + offset;
}

/* Returns the lowest bit of a component in the word of a pixel, -1 where components have words of their own. */
static gint
bit_of (const GstVideoFormatInfo *f, gint c)
{
  static const struct {
    GstVideoFormat format;
    gint bit[4];
  } packed[] = { { GST_VIDEO_FORMAT_Y410, { 10, 0, 20, 30 } }, { GST_VIDEO_FORMAT_RGB10A2_LE, { 0, 10, 20, 30 } },
    { GST_VIDEO_FORMAT_BGR10A2_LE, { 20, 10, 0, 30 } } };

  for (gsize i = 0; i < G_N_ELEMENTS (packed); i++)
    if (packed[i].format == GST_VIDEO_FORMAT_INFO_FORMAT (f))
      return packed[i].bit[c];
  return -1;
}

void
put_value (const GstVideoFrame *f, gint c, gint x, gint y, guint value)
{
  const GstVideoFormatInfo *info = f->info.finfo;
  const gint bit = bit_of (info, c);
  const guint most = (1u << GST_VIDEO_FORMAT_INFO_DEPTH (info, c)) - 1;
  guint8 *p = word_at (f, c, x, y);

  if (bit >= 0)
    GST_WRITE_UINT32_LE (p, (GST_READ_UINT32_LE (p) & ~(most << bit)) | (value & most) << bit);
  else if (most > 255)
    GST_WRITE_UINT16_LE (p, (guint16) (value << GST_VIDEO_FORMAT_INFO_SHIFT (info, c)));
  else
    *p = (guint8) value;
}

static guint
stored (const GstVideoFrame *f, gint c, gint x, gint y)
{
  const gint bit = bit_of (f->info.finfo, c);
  const guint8 *p = word_at (f, c, x, y);

  if (bit >= 0)
    return GST_READ_UINT32_LE (p) >> bit & ((1u << GST_VIDEO_FRAME_COMP_DEPTH (f, c)) - 1);
  return GST_VIDEO_FRAME_COMP_DEPTH (f, c) > 8 ? GST_READ_UINT16_LE (p) : *p;
}

guint
value_of (const GstVideoFrame *f, gint c, gint x, gint y)
{
  guint v = stored (f, c, x, y) >> GST_VIDEO_FORMAT_INFO_SHIFT (f->info.finfo, c);

  return MIN (v, (1u << GST_VIDEO_FRAME_COMP_DEPTH (f, c)) - 1);
}

static guint
packed_value (const GstVideoFrame *f, gint x, gint y)
{
  return stored (f, 0, x, y) << 16 | stored (f, 1, x, y) << 8 | stored (f, 2, x, y);
}

static int
compare (const void *a, const void *b)
{
  guint x = *(const guint *) a, y = *(const guint *) b;

  return x < y ? -1 : x > y;
}

/* Returns the ranked sample of the window at (x, y) of component `c`, or of whole pixels (c < 0). */
static guint
ranked (GstVideoFrame *const *in, gint n, gint c, gint x, gint y, const Expect *e, guint *window)
{
  gint step = e->interlaced ? 2 : 1, field = e->interlaced ? y % 2 : 0, plane = MAX (c, 0), k = 0;
  gint width = GST_VIDEO_FRAME_COMP_WIDTH (in[0], plane), height = GST_VIDEO_FRAME_COMP_HEIGHT (in[0], plane);
  gint rows = (height + step - 1 - field) / step, row = y / step;

  for (gint t = 0; t < e->depth; t++)
    for (gint j = -(e->height / 2); j <= e->height / 2; j++)
      for (gint i = -(e->width / 2); i <= e->width / 2; i++) {
        gint yy = CLAMP (row + j, 0, rows - 1) * step + field, xx = CLAMP (x + i, 0, width - 1);
        const GstVideoFrame *f = in[MIN (t, n - 1)];

        window[k++] = c < 0 ? packed_value (f, xx, yy) : value_of (f, c, xx, yy);
      }
  qsort (window, (size_t) k, sizeof *window, compare);
  return window[(2 * e->percentile * (k - 1) + 100) / 200];
}

static void
check_packed (const GstVideoFrame *out, GstVideoFrame *const *in, gint n, gint x, gint y, const Expect *e,
    guint *window)
{
  guint want = ranked (in, n, -1, x, y, e, window), have = packed_value (in[0], x, y);
  gboolean replace = FALSE;

  for (gint s = 0; s < 24; s += 8)
    replace = replace || ABS ((gint) (want >> s & 255) - (gint) (have >> s & 255)) > e->threshold;
  if (!replace)
    want = have;
  if (packed_value (out, x, y) != want)
    fail ("pixel (%d, %d) is %06x, not %06x", x, y, packed_value (out, x, y), want);
}

static void
check_component (const GstVideoFrame *out, GstVideoFrame *const *in, gint n, gint c, const Expect *e, guint *window)
{
  const GstVideoFormatInfo *f = in[0]->info.finfo;
  gboolean chroma = GST_VIDEO_FORMAT_INFO_IS_YUV (f) && c > 0;
  gboolean filtered = c < 3 && (chroma ? e->chroma : e->luma);

  for (gint y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT (in[0], c); y++)
    for (gint x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH (in[0], c); x++) {
      guint want = stored (in[0], c, x, y), got = stored (out, c, x, y);

      if (filtered) {
        guint v = value_of (in[0], c, x, y);

        want = ranked (in, n, c, x, y, e, window);
        if (ABS ((gint) want - (gint) v) <= e->threshold)
          want = v;
        want <<= GST_VIDEO_FORMAT_INFO_SHIFT (f, c);
      }
      if (got != want)
        fail ("%s %d x %d, window %d x %d x %d: component %d, sample (%d, %d) is %u, not %u",
            GST_VIDEO_FORMAT_INFO_NAME (f), in[0]->info.width, in[0]->info.height, e->width, e->height, e->depth, c, x,
            y, got, want);
    }
}

/* Checks the byte of a four-byte pixel that belongs to no component: it is copied. */
static void
check_padding (const GstVideoFrame *out, const GstVideoFrame *in)
{
  const GstVideoFormatInfo *f = in->info.finfo;
  gint sum = 0, x_byte;

  if (GST_VIDEO_FORMAT_INFO_N_COMPONENTS (f) != 3 || GST_VIDEO_FORMAT_INFO_N_PLANES (f) != 1 ||
      GST_VIDEO_FORMAT_INFO_PSTRIDE (f, 0) != 4 || GST_VIDEO_FORMAT_INFO_IS_YUV (f))
    return;
  for (gint c = 0; c < 3; c++)
    sum += GST_VIDEO_FORMAT_INFO_POFFSET (f, c);
  x_byte = 6 - sum;
  for (gint y = 0; y < in->info.height; y++)
    for (gint x = 0; x < in->info.width; x++) {
      const guint8 *a = (const guint8 *) in->data[0] + y * in->info.stride[0] + 4 * x + x_byte;
      const guint8 *b = (const guint8 *) out->data[0] + y * out->info.stride[0] + 4 * x + x_byte;

      if (*a != *b)
        fail ("the unused byte of pixel (%d, %d) is %u, not %u", x, y, *b, *a);
    }
}

void
assert_filtered (const GstVideoInfo *info, GstBuffer *out, GstBuffer *const *in, gint n, const Expect *e)
{
  guint *window = g_new (guint, e->width * e->height * e->depth);
  GstVideoFrame frame, past[63], *pasts[63];

  fail_unless (n <= 63);
  fail_unless (gst_video_frame_map (&frame, info, out, GST_MAP_READ));
  for (gint i = 0; i < n; i++) {
    fail_unless (gst_video_frame_map (&past[i], info, in[i], GST_MAP_READ));
    pasts[i] = &past[i];
  }
  if (e->packed) {
    for (gint y = 0; y < info->height; y++)
      for (gint x = 0; x < info->width; x++)
        check_packed (&frame, pasts, n, x, y, e, window);
    if (GST_VIDEO_INFO_N_COMPONENTS (info) > 3)
      check_component (&frame, pasts, n, 3, e, window);
  } else {
    for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (info); c++)
      check_component (&frame, pasts, n, (gint) c, e, window);
  }
  check_padding (&frame, pasts[0]);
  for (gint i = 0; i < n; i++)
    gst_video_frame_unmap (&past[i]);
  gst_video_frame_unmap (&frame);
  g_free (window);
}

void
expect_filtered (GstHarness *h, const GstVideoInfo *info, GstBuffer *in, const Expect *e)
{
  GstBuffer *out = push_pull (h, gst_buffer_ref (in));

  fail_unless_equals_uint64 (GST_BUFFER_PTS (out), GST_BUFFER_PTS (in));
  assert_filtered (info, out, &in, 1, e);
  gst_buffer_unref (in);
  gst_buffer_unref (out);
}

void
assert_same (const GstVideoInfo *info, GstBuffer *a, GstBuffer *b)
{
  Expect copy = EXPECT (1);

  copy.luma = copy.chroma = FALSE;
  assert_filtered (info, a, &b, 1, &copy);
}

void
expect_samples (GstHarness *h, const GstVideoInfo *info, const guint8 *in, const guint8 *right, const gchar *what)
{
  GstBuffer *out = push_pull (h, frame_of (info, in));

  assert_samples (info, out, right, what);
  gst_buffer_unref (out);
}

/* ---- the suite ---------------------------------------------------------- */

/* Returns whether the element finds a GPU. Runs in a child process, because CUDA does not survive
 * a fork and Check forks each test. */
static gboolean
gpu_is_here (void)
{
  pid_t child = fork ();
  int status = 1;

  if (child == 0) {
    GstElement *element = gst_element_factory_make ("cudamedian", NULL);

    if (!element)
      _exit (2);
    gst_util_set_object_arg (G_OBJECT (element), "backend", "cuda");
    status = gst_element_set_state (element, GST_STATE_PAUSED) == GST_STATE_CHANGE_FAILURE;
    gst_element_set_state (element, GST_STATE_NULL);
    gst_object_unref (element);
    _exit (status);
  }
  return child > 0 && waitpid (child, &status, 0) == child && WIFEXITED (status) && WEXITSTATUS (status) == 0;
}

void
push_ok (GstHarness *h, GstBuffer *buffer)
{
  fail_unless_equals_int (gst_harness_push (h, buffer), GST_FLOW_OK);
}

GstBuffer *
pull (GstHarness *h)
{
  GstBuffer *out = gst_harness_pull (h);

  fail_unless (out != NULL, "no frame has come");
  return out;
}

int
run_suite (int argc, char **argv, const gchar *name, TCase *tests, gboolean gpu_only)
{
  return run_cases (argc, argv, name, &tests, 1, gpu_only);
}

int
run_cases (int argc, char **argv, const gchar *name, TCase **tests, gint n, gboolean gpu_only)
{
  Suite *suite = suite_create (name);
  SRunner *runner;
  int run, failed;

  gst_check_init (&argc, &argv);
  for (gint i = 0; i < n; i++) {
    suite_add_tcase (suite, tests[i]);
    if (!g_getenv ("CK_DEFAULT_TIMEOUT"))
      tcase_set_timeout (tests[i], 60);
  }
  runner = srunner_create (suite);
  if (on_gpu () ? !gpu_is_here () : gpu_only) {
    printf ("%s: skipped, %s\n", name, on_gpu () ? "there is no GPU" : "CF_TEST_BACKEND is not cuda");
    srunner_free (runner);
    if (on_gpu () && g_getenv ("CF_TEST_REQUIRE_GPU")) {
      printf ("0 passed, 1 failed, 0 skipped\n");
      return 1;
    }
    printf ("0 passed, 0 failed, 1 skipped\n");
    return 77;
  }
  srunner_run_all (runner, CK_NORMAL);
  run = srunner_ntests_run (runner);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  printf ("%d passed, %d failed, 0 skipped\n", run - failed, failed);
  return failed || !run;
}
