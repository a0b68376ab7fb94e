/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * check.c: what --check looks at beyond the file itself. */
#include "check.h"

#include "../tools/line.h"
#include "certificate.h"
#include "codec.h"
#include "elements.h"
#include "filter.h"
#include "json.h"
#include "overrides.h"
#include "pipeline.h"
#include "secrets.h"
#include "sign.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

/* A camera's place in the file. */
typedef struct {
  Reader *reader;
  JsonObject *object, *defaults;
  const CameraSettings *settings;
} Place;

/* Adds a fault of the camera's member, or of a member of its `record`. Its line is where it stands: in the camera or in
 * the defaults. `more`: the number of other cameras with the same fault. */
static void G_GNUC_PRINTF (5, 6)
    fault (const Place *place, gboolean record, const char *member, guint more, const char *format, ...)
{
  JsonObject *objects[] = { place->object, place->defaults }, *found = place->object;
  GString *title = g_string_new (NULL);
  gboolean in_defaults = FALSE;
  g_autofree char *text = NULL;
  va_list args;

  for (guint i = G_N_ELEMENTS (objects); i-- > 0;) {
    JsonObject *object = objects[i];

    if (object && record)
      object = json_object_has_member (object, "record") ? json_object_get_object_member (object, "record") : NULL;
    if (object && json_object_has_member (object, member))
      found = object, in_defaults = i == 1;
  }
  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  /* What only the defaults have wrong is reported once. What a filter lacks is the camera's. */
  if (in_defaults && strcmp (member, "filter") && strcmp (member, "when"))
    g_string_append (title, "defaults.");
  else
    g_string_append_printf (title, "cameras.%s.", place->settings->name);
  g_string_append_printf (title, "%s%s", record ? "record." : "", member);
  if (more)
    g_string_append_printf (title, " (and that of %u more)", more);
  g_string_append (title, ": ");
  reader_fault_at (place->reader, found, member, title->str, text);
  g_string_free (title, TRUE);
}

/* Returns how many of the cameras from `begin` on have that filter line. */
static guint
count_line (const Config *config, const char *line, guint begin)
{
  guint n = 0;

  for (guint i = begin; i < config->cameras->len; i++)
    n += g_str_equal (((const CameraSettings *) config->cameras->pdata[i])->filter, line);
  return n;
}

static void
clear_filter (gpointer filter)
{
  gst_clear_object ((GstElement **) &filter);
}

/* Starts the bin's elements on the CPU, which checks what only all values together can say, and files that they name;
 * adds what they say to `wrong`. */
static void
check_values (GstElement *filter, GString *wrong)
{
  g_autolist (GstElement) elements = find_filters (filter);
  GstBus *bus = gst_bus_new ();
  GstMessage *message;

  gst_element_set_bus (filter, bus);
  for (GList *l = elements; l; l = l->next) {
    gst_util_set_object_arg (l->data, "backend", "cpu");
    gst_element_set_state (l->data, GST_STATE_PAUSED);
    gst_element_set_state (l->data, GST_STATE_NULL);
  }
  while ((message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING))) {
    g_autofree char *text = message_text (message);

    g_string_append_printf (wrong, "%s%s: %s", wrong->len ? "; " : "", GST_OBJECT_NAME (GST_MESSAGE_SRC (message)),
        text);
    gst_message_unref (message);
  }
  gst_element_set_bus (filter, NULL);
  gst_object_unref (bus);
}

/* Returns the bin of the filter line, which `more` other cameras have as well, or NULL where it is wrong. */
static GstElement *
check_filter (const Place *place, guint more)
{
  g_autoptr (GString) text = g_string_new (NULL);
  const char *line = *place->settings->filter ? place->settings->filter : "identity";
  GstElement *filter = filter_new ("", line, text);

  if (filter) {
    gst_object_ref_sink (filter);
    check_values (filter, text);
  }
  if (text->len == 0)
    return filter;
  fault (place, FALSE, "filter", more, "%s", text->str);
  gst_clear_object (&filter);
  return NULL;
}

static void
check_source (const Place *place)
{
  const CameraSettings *settings = place->settings;
  g_autofree char *file = settings->kind == SOURCE_URI ? g_filename_from_uri (settings->place, NULL, NULL) : NULL;

  if (file && g_file_test (file, G_FILE_TEST_IS_DIR))
    fault (place, FALSE, "source", 0, "%s is a folder", file);
  else if (file && access (file, R_OK))
    fault (place, FALSE, "source", 0, "%s: %s; the address of a camera begins with rtsp:// or http://", file,
        g_strerror (errno));
}

/* Tries whether the folder can be written to, or made in the first one above it that there is. */
static void
check_folder (const Place *place)
{
  const char *folder = place->settings->record.folder;
  g_autofree char *above = g_strdup (folder), *trial = NULL;

  if (g_file_test (folder, G_FILE_TEST_EXISTS) && !g_file_test (folder, G_FILE_TEST_IS_DIR)) {
    fault (place, TRUE, "folder", 0, "%s is no folder", folder);
    return;
  }
  while (!g_file_test (above, G_FILE_TEST_EXISTS)) {
    char *next = g_path_get_dirname (above);

    g_free (above);
    above = next;
  }
  trial = g_build_filename (above, ".cf-watch-XXXXXX", NULL);
  if (!g_mkdtemp (trial))
    fault (place, TRUE, "folder", 0, "%s cannot be %s: %s: %s", folder,
        g_str_equal (above, folder) ? "written to" : "made", above, g_strerror (errno));
  else
    g_rmdir (trial);
}

static void
check_recording (const Place *place)
{
  const RecordSettings *record = &place->settings->record;
  g_autoptr (GString) missing = g_string_new (NULL), wrong = g_string_new (NULL);
  g_autoptr (SignKey) key = NULL;

  if (record->folder || place->settings->shown || place->settings->on_page)
    elements_for_encoding (place->settings, missing);
  if (missing->len)
    fault (place, FALSE, record->folder ? "record" : "live", 0, "nothing can be %s: %s",
        record->folder ? "recorded" : "shown", missing->str);
  if (!record->folder)
    return;
  check_folder (place);
  if (record->sign && !(key = sign_read_key (record->sign, TRUE, wrong)))
    fault (place, TRUE, "sign", 0, "%s", wrong->str);
}

/* Checks the names of what an operator may set: one that is wrong would be found when somebody is refused. */
static void
check_may_set (const Place *place, GstElement *filter)
{
  g_autolist (GstElement) elements = find_elements (filter, "name");
  int index;

  for (char **one = place->settings->may_set; one && *one; one++) {
    g_autoptr (GString) wrong = g_string_new (NULL);
    GParamSpec *spec = overrides_find (elements, *one, &index, wrong);

    if (spec)
      overrides_check_changeable (spec, wrong);
    if (wrong->len)
      fault (place, FALSE, "page", 0, "may_set: %s", wrong->str);
  }
}

/* Adds what is allowed but can hardly be meant. */
static void
add_notes (const Place *place, GstElement *filter, gboolean page_is_on, GString *notes)
{
  const RecordSettings *record = &place->settings->record;
  GString *wrong = place->reader->wrong;
  JsonObject *from = json_object_has_member (place->object, "live") ? place->object : place->defaults;

  place->reader->wrong = notes;
  if (record->folder && record->when == WHEN_MOTION && filter && !filter_reports_motion (filter))
    fault (place, TRUE, "when", 0, "note: " FILTER_NO_MOTION);
  if (json_object_get_boolean_member_with_default (from, "live", FALSE) && !place->settings->shown &&
      !place->settings->on_page)
    fault (place, FALSE, "live", 0, "note: nobody can watch, since the file has neither \"rtsp\" nor \"page\"");
  if (place->settings->own && (record->folder || place->settings->shown || place->settings->on_page) &&
      !codec_has_encoder (&codecs[place->settings->codec]))
    fault (place, FALSE, record->folder ? "record" : "live", 0,
        "note: this GStreamer has no encoder for %s, so of this camera only its own H.264 or H.265 can be %s",
        codecs[place->settings->codec].title, record->folder ? "recorded" : "shown");
  if (place->settings->audio && record->folder && record->format == 1)
    fault (place, FALSE, "audio", 0,
        "note: a file of MP4 has sound only if the camera sends AAC; MKV takes G.711 as well");
  if (place->settings->original && page_is_on)
    fault (place, FALSE, "page", 0, "note: the page may show unfiltered pictures of %s (\"original\")",
        place->settings->name);
  place->reader->wrong = wrong;
}

static void
check_pipeline (const Place *place, JsonObject *cameras)
{
  const PipelinePlan plan = { .settings = place->settings, .gpu = -1 };
  g_autoptr (GString) text = g_string_new (NULL);
  Pipeline *pipeline = pipeline_new (&plan, text, NULL); /* nothing is recorded, so that there is nothing to note */

  if (pipeline)
    pipeline_unref (pipeline);
  else
    reader_fault (place->reader, cameras, "cameras", place->settings->name, "%s", text->str);
}

/* Adds what is wrong with the files of users and of TLS that a server names; all of them may be NULL. Notes users who
 * cannot log in there. */
static void
check_server (Reader *reader, JsonObject *top, const char *server, const char *users, const char *certificate,
    const char *key, GString *notes)
{
  JsonNode *node = json_object_get_member (top, server);
  JsonObject *object = node && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : top;
  g_autoptr (GString) wrong = g_string_new (NULL);
  g_autoptr (GTlsCertificate) loaded = NULL;
  g_autoptr (GDateTime) ends = NULL, now = g_date_time_new_now_utc ();
  JsonObject *read = users ? secrets_read_users (users, wrong) : NULL;
  g_autoptr (GList) names = read ? json_object_get_members (read) : NULL;
  GString *faults = reader->wrong;

  if (wrong->len)
    reader_fault (reader, object, server, "users", "%s", wrong->str);
  g_string_truncate (wrong, 0);
  if (certificate && key && !(loaded = certificate_load (certificate, key, wrong)))
    reader_fault (reader, object, server, "tls", "%s", wrong->str);
  reader->wrong = notes;
  if (loaded && (ends = g_tls_certificate_get_not_valid_after (loaded)) && g_date_time_compare (ends, now) < 0) {
    g_autofree char *day = g_date_time_format (ends, "%F");

    reader_fault (reader, object, server, "tls", "note: %s was valid until %s only", certificate, day);
  }
  if (read && !names)
    reader_fault (reader, object, server, "users", "note: %s has no users, so nobody can log in", users);
  for (GList *l = names; l && !strcmp (server, "rtsp"); l = l->next)
    if (!json_object_has_member (json_object_get_object_member (read, l->data), "password"))
      reader_fault (reader, object, server, "users", "note: %s cannot watch: RTSP needs a \"password\", not a \"hash\"",
          (const char *) l->data);
  reader->wrong = faults;
  g_clear_pointer (&read, json_object_unref);
}

void
check_config (Reader *reader, JsonObject *top, const Config *config, gpointer notes)
{
  g_autoptr (GString) wrong = g_string_new (NULL), missing = g_string_new (NULL);
  const gboolean has_secrets = secrets_load (config->secrets, TRUE, wrong);
  /* Filter line -> its bin, NULL where it is wrong. */
  g_autoptr (GHashTable) filters = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, clear_filter);

  if (!has_secrets)
    reader_fault (reader, top, "", "secrets", "%s", wrong->str);
  if (config->page.on)
    elements_for_pictures (missing);
  if (missing->len)
    reader_fault (reader, top, "", "page", "no picture can be shown: %s", missing->str);
  check_server (reader, top, "page", config->page.users, config->page.certificate, config->page.key, notes);
  check_server (reader, top, "rtsp", config->rtsp.users, config->rtsp.certificate, config->rtsp.key, notes);
  for (guint i = 0; i < config->cameras->len; i++) {
    const CameraSettings *settings = config->cameras->pdata[i];
    JsonObject *cameras = json_object_get_object_member (top, "cameras");
    const Place place = { reader, json_object_get_object_member (cameras, settings->name), config->defaults, settings };
    gpointer filter;

    if (!g_hash_table_lookup_extended (filters, settings->filter, NULL, &filter)) {
      filter = check_filter (&place, count_line (config, settings->filter, i + 1));
      g_hash_table_insert (filters, settings->filter, filter);
    }
    check_source (&place);
    check_recording (&place);
    if (filter)
      check_may_set (&place, filter);
    add_notes (&place, filter, config->page.on, notes);
    if (has_secrets && filter)
      check_pipeline (&place, cameras);
  }
}
