/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * search.c: a fuzz target: what is asked of the index. A question is answered, with nothing where there is no index, or
 * what is wrong is said. */
#include "../../pipelines/watch/search.h"
#include "../../pipelines/watch/secrets.h"

#include "fuzz.h"

char *
secrets_hide (const char *text)
{
  return g_strdup (text);
}

int
LLVMFuzzerInitialize (int *argc, char ***argv)
{
  (void) argc;
  (void) argv;
  g_log_set_always_fatal (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
  return 0;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (GString) wrong = g_string_new (NULL);
  g_autofree char *text = g_strndup (size ? (const char *) data : "", size);
  JsonObject *answer = search_index ("/no/index", text, NULL, NULL, wrong);

  if ((answer != NULL) == (wrong->len > 0))
    fuzz_fail ("\"%s\" has %s", text, answer ? "an answer with a fault" : "neither answer nor fault");
  g_clear_pointer (&answer, json_object_unref);
  return 0;
}
