/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cf-demo-setup.c: what a person asks cf-demo for, checked: the input, the
 * filter line, the window or the file. */

#include "cf-demo.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void
say (const char *format, ...)
{
  va_list args;

  va_start (args, format);
  vfprintf (stderr, format, args);
  va_end (args);
  fputc ('\n', stderr);
}

/* ---- input -------------------------------------------------------------- */

static void
list_cameras (GString *text)
{
  GDir *dir = g_dir_open ("/dev", 0, NULL);
  const char *name;
  gsize before = text->len;

  while (dir && (name = g_dir_read_name (dir)))
    if (g_str_has_prefix (name, "video") && g_ascii_isdigit (name[5]))
      g_string_append_printf (text, " /dev/%s", name);
  if (dir)
    g_dir_close (dir);
  if (text->len == before)
    g_string_append (text, " none");
}

/* Is there such a camera, and may we read it? */
static gboolean
check_camera (const char *path)
{
  if (!g_file_test (path, G_FILE_TEST_EXISTS)) {
    g_autoptr (GString) cameras = g_string_new (NULL);

    list_cameras (cameras);
    say ("no camera %s; cameras here:%s", path, cameras->str);
    return FALSE;
  }
  if (access (path, R_OK | W_OK)) {
    say ("%s cannot be opened: %s; belonging to the group \"video\" would help", path, g_strerror (errno));
    return FALSE;
  }
  return TRUE;
}

/* The URI of a file that can be read, or NULL and a message. */
static char *
file_uri (const char *path)
{
  g_autoptr (GError) error = NULL;
  char *uri;

  if (!g_file_test (path, G_FILE_TEST_EXISTS)) {
    say ("no file \"%s\"; --input takes a file, a camera such as /dev/video0 or an address such as rtsp://host/stream",
        path);
    return NULL;
  }
  if (g_file_test (path, G_FILE_TEST_IS_DIR)) {
    say ("\"%s\" is a directory; --input takes one video file of it", path);
    return NULL;
  }
  if (access (path, R_OK)) {
    say ("\"%s\" cannot be read: %s", path, g_strerror (errno));
    return NULL;
  }
  uri = gst_filename_to_uri (path, &error);
  if (!uri)
    say ("\"%s\": %s", path, error->message);
  return uri;
}

const char *
choose_source (Options *opt, char **uri)
{
  const char *input = opt->input;

  *uri = NULL;
  if (!input)
    return "videotestsrc name=source pattern=smpte horizontal-speed=3 ! "
        "video/x-raw, format=I420, width=640, height=480, framerate=30/1";
  if (g_str_has_prefix (input, "/dev/video")) {
    opt->live = TRUE;
    return check_camera (input) ? "v4l2src name=source ! decodebin" : NULL;
  }
  *uri = strstr (input, "://") ? g_strdup (input) : file_uri (input);
  opt->live = g_str_has_prefix (input, "rtsp");
  return *uri ? "uridecodebin name=source" : NULL;
}

/* ---- the filter line ---------------------------------------------------- */

/* GObject says with a log message only that a value is out of range. */
static char *range_warning;

static GLogWriterOutput
catch_warning (GLogLevelFlags level, const GLogField *fields, gsize n, gpointer data)
{
  gsize i;

  for (i = 0; i < n && level & (G_LOG_LEVEL_WARNING | G_LOG_LEVEL_CRITICAL); i++)
    if (!strcmp (fields[i].key, "MESSAGE") && !range_warning)
      range_warning = g_strdup (fields[i].value);
  if (level & (G_LOG_LEVEL_WARNING | G_LOG_LEVEL_CRITICAL))
    return G_LOG_WRITER_HANDLED;
  return g_log_writer_default (level, fields, n, data);
}

static void
say_our_elements (void)
{
  GList *features = gst_registry_get_feature_list_by_plugin (gst_registry_get (), "cudafilters"), *l;
  g_autoptr (GString) names = g_string_new (NULL);

  for (l = features; l; l = l->next)
    g_string_append_printf (names, " %s", GST_OBJECT_NAME (l->data));
  gst_plugin_feature_list_free (features);
  if (names->len)
    say ("the elements of this project:%s; every other one that gst-inspect-1.0 lists will do as well", names->str);
  else
    say ("the plugin itself is not found: GST_PLUGIN_PATH has to name the directory of libgstcudafilters.so");
}

/* "1..255", "all | luma | chroma" or nothing. */
static char *
range_text (GParamSpec *spec)
{
  if (G_IS_PARAM_SPEC_INT (spec))
    return g_strdup_printf ("%d..%d", G_PARAM_SPEC_INT (spec)->minimum, G_PARAM_SPEC_INT (spec)->maximum);
  if (G_IS_PARAM_SPEC_UINT (spec))
    return g_strdup_printf ("%u..%u", G_PARAM_SPEC_UINT (spec)->minimum, G_PARAM_SPEC_UINT (spec)->maximum);
  if (G_IS_PARAM_SPEC_DOUBLE (spec))
    return g_strdup_printf ("%g..%g", G_PARAM_SPEC_DOUBLE (spec)->minimum, G_PARAM_SPEC_DOUBLE (spec)->maximum);
  if (G_IS_PARAM_SPEC_BOOLEAN (spec))
    return g_strdup ("true | false");
  if (G_IS_PARAM_SPEC_ENUM (spec)) {
    GEnumClass *values = G_PARAM_SPEC_ENUM (spec)->enum_class;
    GString *text = g_string_new (NULL);
    guint i;

    for (i = 0; i < values->n_values; i++)
      g_string_append_printf (text, "%s%s", i ? " | " : "", values->values[i].value_nick);
    return g_string_free (text, FALSE);
  }
  return g_strdup ("");
}

/* One line a property of its own that can be set; `only` NULL: all of them. */
static void
say_properties (GstElement *element, const char *only)
{
  guint n, i;
  GParamSpec **specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);

  for (i = 0; i < n; i++) {
    g_autofree char *range = range_text (specs[i]);
    const char *blurb = g_param_spec_get_blurb (specs[i]);

    if (!(specs[i]->flags & G_PARAM_WRITABLE) || g_type_is_a (GST_TYPE_ELEMENT, specs[i]->owner_type) ||
        !strcmp (g_type_name (specs[i]->owner_type), "GstBaseTransform"))
      continue;
    if (!only || !strcmp (only, specs[i]->name))
      say ("  %s=%s  %s", specs[i]->name, range, blurb ? blurb : "");
  }
  g_free (specs);
}

/* What the element called `name` ("cudamedian" or "cudamedian0") would take. */
static void
say_right_properties (const char *name, const char *only)
{
  g_autofree char *factory = g_strdup (name);
  GstElement *element = gst_element_factory_make (factory, NULL);

  if (!element) { /* without the number that an instance gets */
    factory[strcspn (factory, "0123456789")] = '\0';
    element = gst_element_factory_make (factory, NULL);
  }
  if (!element)
    return;
  say ("%s takes:", factory);
  say_properties (element, only);
  gst_object_unref (element);
}

/* The text in quotes behind `word`, to be freed, or NULL. */
static char *
quoted (const char *message, const char *word)
{
  const char *start = strstr (message, word), *end;

  if (!start)
    return NULL;
  start += strlen (word);
  end = start[0] ? strchr (start + 1, start[0]) : NULL;
  return end ? g_strndup (start + 1, end - start - 1) : NULL;
}

/* Says what is wrong with the line, and what would be right. */
static void
say_bad_line (const char *line, GstElement *bin, const GError *error)
{
  const char *message = error ? error->message : range_warning ? range_warning : "not an element line";
  g_autofree char *element = quoted (message, "element ");
  g_autofree char *property = quoted (message, "property ");

  say ("--filter '%s': %s", line, message);
  if (g_error_matches (error, GST_PARSE_ERROR, GST_PARSE_ERROR_NO_SUCH_ELEMENT) && !g_strcmp0 (element, "video"))
    say ("at either end of the line, caps are written as: capsfilter caps=video/x-raw,format=GRAY8");
  else if (g_error_matches (error, GST_PARSE_ERROR, GST_PARSE_ERROR_NO_SUCH_ELEMENT))
    say_our_elements ();
  else if (g_error_matches (error, GST_PARSE_ERROR, GST_PARSE_ERROR_NO_SUCH_PROPERTY) && element)
    say_right_properties (element, NULL);
  else if (element && property)
    say_right_properties (element, property);
  else if (property && bin) {
    GstIterator *it = gst_bin_iterate_recurse (GST_BIN (bin));
    GValue item = G_VALUE_INIT;

    while (gst_iterator_next (it, &item) == GST_ITERATOR_OK) {
      say_properties (g_value_get_object (&item), property);
      g_value_reset (&item);
    }
    gst_iterator_free (it);
  } else
    say ("right would be, for example: --filter 'cudamedian kernel-size=5'");
}

GstElement *
parse_filter (const char *line)
{
  g_autoptr (GError) error = NULL;
  GstElement *bin;
  GstPad *sink, *src;

  g_log_set_writer_func (catch_warning, NULL, NULL);
  bin = gst_parse_bin_from_description_full (line, TRUE, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (error || !bin || range_warning) {
    say_bad_line (line, bin, error);
    g_clear_object (&bin);
    return NULL;
  }
  sink = gst_element_get_static_pad (bin, "sink");
  src = gst_element_get_static_pad (bin, "src");
  if (!sink || !src) {
    say ("--filter '%s': a filter takes video and gives video; this line has no free %s pad", line,
        sink ? "source" : "sink");
    g_clear_object (&bin);
  }
  g_clear_object (&sink);
  g_clear_object (&src);
  return bin;
}

/* They are known by their property active-backend. */
GList *
find_filters (GstElement *bin)
{
  GstIterator *it = gst_bin_iterate_recurse (GST_BIN (bin));
  GValue item = G_VALUE_INIT;
  GList *found = NULL;

  while (gst_iterator_next (it, &item) == GST_ITERATOR_OK) {
    GstElement *element = g_value_get_object (&item);

    if (g_object_class_find_property (G_OBJECT_GET_CLASS (element), "active-backend"))
      found = g_list_prepend (found, gst_object_ref (element)); /* the iterator begins at the last */
    g_value_reset (&item);
  }
  gst_iterator_free (it);
  return found;
}

/* ---- output ------------------------------------------------------------- */

static gboolean
have (const char *factory)
{
  GstElementFactory *found = gst_element_factory_find (factory);

  if (found)
    gst_object_unref (found);
  return found != NULL;
}

/* autovideosink is no help: it
 * takes a fakesink where nothing opens. */
const char *
choose_window (void)
{
  static const char *const sinks[] = { "waylandsink", "xvimagesink", "ximagesink", "glimagesink", NULL };
  gboolean wayland = g_getenv ("WAYLAND_DISPLAY") != NULL, x11 = g_getenv ("DISPLAY") != NULL;
  int i;

  for (i = 0; sinks[i]; i++) {
    GstElement *sink;
    gboolean opens;

    if (i == 0 ? !wayland : i < 3 ? !x11 : !x11 && !wayland)
      continue;
    sink = gst_element_factory_make (sinks[i], NULL);
    if (!sink)
      continue;
    opens = gst_element_set_state (sink, GST_STATE_READY) == GST_STATE_CHANGE_SUCCESS;
    gst_element_set_state (sink, GST_STATE_NULL);
    gst_object_unref (sink);
    if (opens)
      return sinks[i];
  }
  return NULL;
}

static const char *
choose_h264 (void)
{
  if (have ("x264enc"))
    return "x264enc speed-preset=ultrafast bitrate=8000 key-int-max=60";
  if (have ("openh264enc") && have ("h264parse"))
    return "openh264enc bitrate=8000000 complexity=low ! h264parse";
  return NULL;
}

const char *
default_output (void)
{
  return choose_h264 () ? "cudafilters-demo.mp4" : "cudafilters-demo.avi";
}

char *
choose_writer (const char *path, char **note)
{
  const char *dot = strrchr (path, '.'), *h264 = choose_h264 (), *mux = NULL, *encoder;

  if (dot && !g_ascii_strcasecmp (dot, ".mp4"))
    mux = "mp4mux";
  else if (dot && !g_ascii_strcasecmp (dot, ".mkv"))
    mux = "matroskamux";
  else if (dot && !g_ascii_strcasecmp (dot, ".avi"))
    mux = "avimux";
  if (!mux) {
    say ("--output \"%s\": its name has to end in .mp4, .mkv or .avi", path);
    return NULL;
  }
  encoder = !strcmp (mux, "avimux") ? NULL : h264;
  if (!encoder && !strcmp (mux, "mp4mux")) {
    say ("--output \"%s\": there is no H.264 encoder here (gstreamer1.0-plugins-ugly has x264enc); .mkv and .avi "
        "can do without",
        path);
    return NULL;
  }
  *note = g_strdup_printf ("writing \"%s\": original left, filtered right; %s by %.*s", path,
      encoder ? "H.264" : "Motion JPEG", encoder ? (int) strcspn (encoder, " ") : 7, encoder ? encoder : "jpegenc");
  return g_strdup_printf ("videoconvert ! video/x-raw, format=I420 ! %s ! %s name=mux ! filesink name=out",
      encoder ? encoder : "jpegenc quality=90", mux);
}

gboolean
check_output (const Options *opt)
{
  const char *path = opt->output;
  g_autofree char *dir = g_path_get_dirname (path);
  GStatBuf in, out;

  if (!g_file_test (dir, G_FILE_TEST_IS_DIR)) {
    say ("--output \"%s\": there is no directory \"%s\"", path, dir);
    return FALSE;
  }
  if (g_file_test (path, G_FILE_TEST_IS_DIR)) {
    say ("--output \"%s\" is a directory; a file's name is needed", path);
    return FALSE;
  }
  if (access (g_file_test (path, G_FILE_TEST_EXISTS) ? path : dir, W_OK)) {
    say ("--output \"%s\" cannot be written: %s", path, g_strerror (errno));
    return FALSE;
  }
  if (opt->input && !g_stat (opt->input, &in) && !g_stat (path, &out) && in.st_dev == out.st_dev &&
      in.st_ino == out.st_ino) {
    say ("--output \"%s\" is the input; another name is needed", path);
    return FALSE;
  }
  return TRUE;
}
