/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cf-search: says in which pieces, and where in them, something moved in a part of the picture. */
#include "../tools/line.h"
#include "search.h"
#include "state.h"

#include <glob.h>
#include <locale.h>
#include <stdio.h>
#include <unistd.h>

static const char summary[] =
    "Searches what cf-watch has recorded: prints when something moved in a part of the picture, a line for each time: "
    "the file, the seconds from its beginning, begin and end.";
static const char description[] =
    "WHAT is \"CAMERA: x,y x,y x,y, FROM, TO\": a polygon in fractions of the frame (without it, the whole frame), and "
    "two times: 2026-11-23T04:55:12 (UTC), 2026-11-23, -2h (s, m, h, d), now.\n"
    "Exit status: 0: found; 1: nothing found; 2: something is wrong.\n"
    "Example: cf-search \"door: 0.1,0.2 0.4,0.2 0.4,0.6, -1d, now\"";

static void
print (JsonNode *node, gboolean json)
{
  JsonObject *found = json_node_get_object (node);
  g_autofree char *text = json ? json_to_string (node, FALSE) : NULL;

  if (json)
    printf ("%s\n", text);
  else
    printf ("%s  %.3f s  %s  %s\n", json_object_get_string_member (found, "piece"),
        json_object_get_double_member (found, "offset"), json_object_get_string_member (found, "begin"),
        json_object_get_string_member (found, "end"));
}

/* Searches an index, an answer after the other, so that the first ones are there at once. Returns what the program ends
 * with: 0, 1 or 2. */
static int
search (const char *index, const char *what, gboolean json)
{
  g_autofree char *next = g_strdup (what);
  gboolean any = FALSE;

  while (next && flush_output ()) {
    g_autoptr (GString) wrong = g_string_new (NULL);
    g_autoptr (JsonObject) answer = search_index (index, next, NULL, NULL, wrong);
    JsonArray *found = answer ? json_object_get_array_member (answer, "found") : NULL;

    if (!found) {
      complain ("%s", wrong->str);
      return 2;
    }
    for (guint i = 0; i < json_array_get_length (found); i++)
      print (json_array_get_element (found, i), json);
    any |= json_array_get_length (found) > 0;
    g_free (next);
    next = g_strdup (json_object_get_string_member_with_default (answer, "next", NULL));
  }
  return any ? 0 : 1;
}

int
main (int argc, char **argv)
{
  g_autofree char *state = NULL, *config = NULL, *full = NULL, *pattern = NULL;
  gboolean json = FALSE;
  const GOptionEntry entries[] = {
    { "config", 'c', 0, G_OPTION_ARG_FILENAME, &config, "the file with the cameras that cf-watch runs", "FILE" },
    { "state", 's', 0, G_OPTION_ARG_FILENAME, &state, "cf-watch's state directory, if it is not this user's own",
        "FOLDER" },
    { "json", 'j', 0, G_OPTION_ARG_NONE, &json, "print a JSON object for each time, with the events", NULL },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  glob_t indexes;
  int status = 2;

  setlocale (LC_ALL, "");
  setlocale (LC_NUMERIC, "C");
  g_set_prgname ("cf-search");
  if (!parse_command_line (entries, "WHAT", summary, description, &argc, &argv))
    return 2;
  if (argc != 2) {
    complain ("WHAT is missing, or not one argument: put it in quotes; --help shows an example");
    return 2;
  }
  if (state)
    g_setenv ("STATE_DIRECTORY", state, TRUE);
  full = config ? g_canonicalize_filename (config, NULL) : NULL;
  pattern = full ? state_file_of (full, "index", "db") : state_file ("index-*.db");
  if (glob (pattern, 0, NULL, &indexes) || indexes.gl_pathc != 1)
    complain (full && access (full, F_OK) ? "%s: there is no such file"
            : indexes.gl_pathc            ? "%s: there are several; name the file with the cameras by --config"
                               : "there is no %s: nothing that moves was recorded, or in another folder (--state)",
        full && access (full, F_OK) ? full : pattern);
  else
    status = search (indexes.gl_pathv[0], argv[1], json);
  globfree (&indexes);
  return status;
}
