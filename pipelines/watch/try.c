/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * try.c: --try: one source of the command line on the page, without a file. Nothing outlives the process. */
#include "try.h"

#include "../tools/line.h"
#include "elements.h"
#include "json.h"
#include "pipeline.h"
#include "token.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CAMERA "try"

/* A shell has taken the quotes of a word that has spaces: kernel="0 1 0". */
char *
try_join (char **words)
{
  g_autoptr (GString) line = g_string_new (NULL);

  for (char **word = words; *word; word++) {
    const char *value = words[1] && strchr (*word, ' ') ? strchr (*word, '=') : NULL;

    if (line->len)
      g_string_append_c (line, ' ');
    if (value && value[1] != '"')
      g_string_append_printf (line, "%.*s=\"%s\"", (int) (value - *word), *word, value + 1);
    else
      g_string_append (line, *word);
  }
  return g_steal_pointer (&line->str);
}

/* Finds what a camera would be tried again for: a file that is not there, a filter line that is wrong. */
static gboolean
check (const CameraSettings *settings, GString *wrong)
{
  g_autofree char *file = settings->kind == SOURCE_URI ? g_filename_from_uri (settings->place, NULL, NULL) : NULL;
  const char *path = settings->kind == SOURCE_DEVICE ? settings->place : file;
  const PipelinePlan plan = { .settings = settings, .gpu = -1 };
  Pipeline *pipeline;

  if (path && access (path, R_OK)) {
    g_string_append_printf (wrong, "%s: %s", settings->source, g_strerror (errno));
    return FALSE;
  }
  if (!(pipeline = pipeline_new (&plan, wrong, NULL)))
    return FALSE;
  pipeline_unref (pipeline);
  elements_for_pictures (wrong);
  return wrong->len == 0;
}

Config *
try_config (const char *source, const char *line, GString *wrong)
{
  g_autoptr (Config) config = config_new ("--try");
  CameraSettings *settings;
  g_autofree char *json = json_line (object_of ("source", json_node_init_string (json_node_alloc (), source), "filter",
      json_node_init_string (json_node_alloc (), *line ? line : TRY_LINE), "live", bool_node (TRUE), "loop",
      bool_node (TRUE), "page", object_node (object_of ("original", bool_node (TRUE), NULL)), NULL));

#ifndef HAVE_SOUP
  g_string_append (wrong, "this cf-watch was built without libsoup, so it has no page to try a filter on");
  return NULL;
#endif
  config->trial = config->page.on = TRUE;
  config->control.standard_input = FALSE;
  if (!(config->page.token = token_make (wrong)))
    return NULL;
  if (!(settings = config_read_camera (config, CAMERA, json, wrong))) {
    g_string_replace (wrong, "camera " CAMERA ".", "", 0);
    if (strchr (source, '@'))
      g_string_append (wrong, "; of --try, both are in the environment: CF_WATCH_USER_TRY, CF_WATCH_PASSWORD_TRY");
    return NULL;
  }
  g_ptr_array_add (config->cameras, settings);
  return check (settings, wrong) ? g_steal_pointer (&config) : NULL;
}

void
try_show_link (const Config *config, guint port)
{
  const CameraSettings *settings = config->cameras->pdata[0];

  say ("%s through %s; Ctrl-C ends it. Open in a browser of this machine:", settings->source, settings->filter);
  printf ("http://127.0.0.1:%u/?token=%s#" CAMERA "\n", port, config->page.token);
  fflush (stdout);
}

void
try_show_event (const char *line, const char *type)
{
  static const char *const bad[] = { "lost", "failed", "warning", "stuck", "settings-refused", "recording-failed",
    NULL };
  g_autoptr (JsonNode) node = g_strv_contains (bad, type) ? json_from_string (line, NULL) : NULL;
  JsonObject *event = node ? json_node_get_object (node) : NULL;
  const char *reason = event ? json_object_get_string_member_with_default (event, "reason", NULL) : NULL;

  if (event)
    say ("%s: %s", type, reason ? reason : json_object_get_string_member_with_default (event, "text", ""));
}
