/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * state.c: the state directory. */
#include "state.h"

#include <errno.h>
#include <string.h>

char *
state_file (const char *name)
{
  const char *state = g_getenv ("STATE_DIRECTORY"); /* the first of several */
  g_autofree char *folder = state ? g_strndup (state, strcspn (state, ":"))
                                  : g_build_filename (g_get_user_state_dir (), "cf-watch", NULL);

  return g_build_filename (folder, name, NULL);
}

char *
state_file_of (const char *config, const char *kind, const char *end)
{
  g_autofree char *sum = g_compute_checksum_for_string (G_CHECKSUM_SHA256, config, -1);
  g_autofree char *name = g_strdup_printf ("%s-%.16s.%s", kind, sum, end);

  return state_file (name);
}

int
state_make_folder (const char *path)
{
  g_autofree char *folder = g_path_get_dirname (path);

  return g_getenv ("STATE_DIRECTORY") || g_mkdir_with_parents (folder, 0700) == 0 ? 0 : errno;
}
