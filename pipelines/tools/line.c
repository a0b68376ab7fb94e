/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * line.c: messages, command lines, and filter lines with an explanation of their errors. */

#include "line.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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

gboolean
complain (const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  say ("%s: %s", g_get_prgname (), text);
  return FALSE;
}

/* ---- standard output ------------------------------------------------------ */

static int output_error; /* errno of the first write that failed */

gboolean
flush_output (void)
{
  if (fflush (stdout) && !output_error)
    output_error = errno;
  return !ferror (stdout);
}

static void
check_output (void)
{
  if (flush_output ())
    return;
  complain ("the output cannot be written%s%s", output_error ? ": " : "",
      output_error ? g_strerror (output_error) : "");
  _exit (1);
}

/* Keeps the numbers 0 to 2 of descriptors that the caller has closed. Otherwise a file or a socket would get one of
 * them, and with it what the program prints. Writing there fails, as to a closed descriptor. */
static void
occupy_closed_descriptors (void)
{
  int fd;

  do
    fd = open ("/dev/null", O_RDONLY);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0)
    close (fd);
}

/* ---- command lines -------------------------------------------------------- */

gboolean
parse_command_line (const GOptionEntry *entries, const char *usage, const char *summary, const char *description,
    int *argc, char ***argv)
{
  static gboolean version;
  static const GOptionEntry common[] = {
    { "version", 0, 0, G_OPTION_ARG_NONE, &version, "print the version", NULL },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  g_autoptr (GOptionContext) context = g_option_context_new (usage);
  g_autoptr (GError) error = NULL;
  gboolean good;

  occupy_closed_descriptors ();
  atexit (check_output);
  g_option_context_set_summary (context, summary);
  g_option_context_set_description (context, description);
  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_add_main_entries (context, common, NULL);
  good = g_option_context_parse (context, argc, argv, &error) ||
      complain ("%s; --help lists the options", error->message);
  if (version) {
    printf ("%s (gst-cuda-filters) %s\n", g_get_prgname (), PACKAGE_VERSION);
    exit (0);
  }
  return good;
}

/* ---- filter lines --------------------------------------------------------- */

/* GObject reports a value out of range by a log message only. Streaming threads may log at the same time. */
static _Thread_local char *range_warning;
static _Thread_local gboolean catching;
static gsize writer_is_set;

static GLogWriterOutput
catch_warning (GLogLevelFlags level, const GLogField *fields, gsize n, gpointer data)
{
  gsize i;

  if (!catching || !(level & (G_LOG_LEVEL_WARNING | G_LOG_LEVEL_CRITICAL)))
    return g_log_writer_default (level, fields, n, data);
  for (i = 0; i < n; i++)
    if (!strcmp (fields[i].key, "MESSAGE") && !range_warning)
      range_warning = g_strdup (fields[i].value);
  return G_LOG_WRITER_HANDLED;
}

/* Adds a line to the text. */
static void G_GNUC_PRINTF (2, 3) add_line (GString *text, const char *format, ...)
{
  va_list args;

  if (text->len)
    g_string_append_c (text, '\n');
  va_start (args, format);
  g_string_append_vprintf (text, format, args);
  va_end (args);
}

static void
add_our_elements (GString *text)
{
  GList *features = gst_registry_get_feature_list_by_plugin (gst_registry_get (), "cudafilters"), *l;
  g_autoptr (GString) names = g_string_new (NULL);

  for (l = features; l; l = l->next)
    g_string_append_printf (names, " %s", GST_OBJECT_NAME (l->data));
  gst_plugin_feature_list_free (features);
  if (names->len)
    add_line (text, "the elements of this project:%s; any other element that gst-inspect-1.0 lists works, too",
        names->str);
  else
    add_line (text, "the plugin is not found: set GST_PLUGIN_PATH to the directory of libgstcudafilters.so");
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

/* Adds one line per writable property that the element itself adds; `only` NULL: all of them. */
static void
add_properties (GString *text, GstElement *element, const char *only)
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
      add_line (text, "  %s=%s  %s", specs[i]->name, range, blurb ? blurb : "");
  }
  g_free (specs);
}

/* Adds the properties of the element called `name` ("cudamedian" or "cudamedian0"). */
static void
add_right_properties (GString *text, const char *name, const char *only)
{
  g_autofree char *factory = g_strdup (name);
  GstElement *element = gst_element_factory_make (factory, NULL);

  if (!element) { /* try it without the instance number */
    factory[strcspn (factory, "0123456789")] = '\0';
    element = gst_element_factory_make (factory, NULL);
  }
  if (!element)
    return;
  add_line (text, "%s takes:", factory);
  add_properties (text, element, only);
  gst_object_unref (element);
}

/* Returns the quoted text behind `word` (free it), or NULL. */
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

/* Adds what is wrong with the line, and what it could be instead. */
static void
add_bad_line (GString *text, const char *option, const char *line, GstElement *bin, const GError *error)
{
  const char *message = error ? error->message : range_warning ? range_warning : "not an element line";
  g_autofree char *element = quoted (message, "element ");
  g_autofree char *property = quoted (message, "property ");

  add_line (text, "%s'%s': %s", option, line, message);
  if (g_error_matches (error, GST_PARSE_ERROR, GST_PARSE_ERROR_NO_SUCH_ELEMENT) && !g_strcmp0 (element, "video"))
    add_line (text, "at either end of the line, caps are written as: capsfilter caps=video/x-raw,format=GRAY8");
  else if (g_error_matches (error, GST_PARSE_ERROR, GST_PARSE_ERROR_NO_SUCH_ELEMENT))
    add_our_elements (text);
  else if (g_error_matches (error, GST_PARSE_ERROR, GST_PARSE_ERROR_NO_SUCH_PROPERTY) && element)
    add_right_properties (text, element, NULL);
  else if (element && property)
    add_right_properties (text, element, property);
  else if (property && bin) {
    g_autolist (GstElement) elements = find_elements (bin, property);

    for (GList *l = elements; l; l = l->next)
      add_properties (text, l->data, property);
  } else
    add_line (text, "a valid line would be, for example: %s'cudamedian kernel-size=5'", option);
}

GstElement *
make_filter (const char *option, const char *line, GString *wrong)
{
  g_autoptr (GError) error = NULL;
  GstElement *bin;
  GstPad *sink, *src;

  if (g_once_init_enter (&writer_is_set)) { /* GLib allows one writer function per process */
    g_log_set_writer_func (catch_warning, NULL, NULL);
    g_once_init_leave (&writer_is_set, 1);
  }
  catching = TRUE;
  bin = gst_parse_bin_from_description_full (line, TRUE, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  catching = FALSE;
  if (error || !bin || range_warning) {
    add_bad_line (wrong, option, line, bin, error);
    g_clear_pointer (&range_warning, g_free);
    g_clear_object (&bin);
    return NULL;
  }
  sink = gst_element_get_static_pad (bin, "sink");
  src = gst_element_get_static_pad (bin, "src");
  if (!sink || !src) {
    add_line (wrong, "%s'%s': a filter needs a sink and a source pad; this line has no free %s pad", option, line,
        sink ? "source" : "sink");
    g_clear_object (&bin);
  }
  g_clear_object (&sink);
  g_clear_object (&src);
  return bin;
}

GstElement *
parse_filter (const char *option, const char *line)
{
  g_autoptr (GString) wrong = g_string_new (NULL);
  GstElement *bin = make_filter (option, line, wrong);

  if (!bin)
    complain ("%s", wrong->str);
  return bin;
}

GList *
find_elements (GstElement *bin, const char *property)
{
  GstIterator *it = gst_bin_iterate_recurse (GST_BIN (bin));
  GValue item = G_VALUE_INIT;
  GList *found = NULL;

  while (gst_iterator_next (it, &item) == GST_ITERATOR_OK) {
    GstElement *element = g_value_get_object (&item);

    if (g_object_class_find_property (G_OBJECT_GET_CLASS (element), property))
      found = g_list_prepend (found, gst_object_ref (element)); /* the iterator begins at the last */
    g_value_reset (&item);
  }
  gst_iterator_free (it);
  return found;
}

GList *
find_filters (GstElement *bin)
{
  return find_elements (bin, "active-backend");
}

char *
active_backend (GstElement *element)
{
  GValue value = G_VALUE_INIT;
  char *text;

  g_object_get_property (G_OBJECT (element), "active-backend", &value);
  text = gst_value_serialize (&value);
  g_value_unset (&value);
  return text;
}
