/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * look.c: reads files ahead. */
#include "look.h"

#include "threads.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANSWERS_WITHIN 5000 /* ms */
#define MOST (32 << 20)     /* bytes of a file: no setting names larger ones */

struct Look {
  GPtrArray *paths;
  _Atomic guint at; /* the one that the thread is at */
  LookDone done;    /* NULL: it was called, or is not wanted */
  gpointer data;
  guint timer;
  char *late; /* the path that did not answer in time; NULL: all did */
};

static GHashTable *hanging; /* paths that a thread waits for: a second one would wait as well */

void
look_add (GPtrArray *paths, const char *value)
{
  for (const char *c = value; *c; c++)
    if (g_ascii_isalpha (*c) || *c & 0x80) { /* numbers are no files */
      g_ptr_array_add (paths, g_strdup (value));
      return;
    }
}

void
look_add_line (GPtrArray *paths, const char *line)
{
  g_auto (GStrv) words = NULL;

  if (!g_shell_parse_argv (line, NULL, &words, NULL)) /* a quote is missing: no pipeline is made of it */
    return;
  for (char **word = words; *word; word++) {
    const char *value = strchr (*word, '=');

    if (value)
      look_add (paths, value + 1);
  }
}

static void
read_file (const char *path)
{
  struct stat info;
  char bytes[65536];
  int file;

  /* Devices and pipes may change by being opened, or have it wait. */
  if (stat (path, &info) || !S_ISREG (info.st_mode) || (file = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) < 0)
    return;
  for (gssize n = 1, all = 0; n > 0 && all < MOST; all += n)
    n = read (file, bytes, sizeof bytes);
  close (file);
}

static gboolean
on_read (gpointer data)
{
  Look *look = data;

  if (look->late)
    g_hash_table_remove (hanging, look->late);
  g_clear_handle_id (&look->timer, g_source_remove);
  if (look->done)
    look->done (NULL, look->data);
  g_free (look->late);
  g_ptr_array_unref (look->paths);
  g_free (look);
  return G_SOURCE_REMOVE;
}

static void
read_in_thread (gpointer data)
{
  Look *look = data;

  for (guint i = 0; i < look->paths->len; i++) {
    atomic_store (&look->at, i);
    read_file (look->paths->pdata[i]);
  }
  in_main (on_read, look);
}

static void
report_late (Look *look, const char *path)
{
  g_autofree char *wrong = g_strdup_printf ("%s does not answer: the disk that it is on may be away", path);

  if (look->done)
    look->done (wrong, look->data);
  look->done = NULL;
}

static gboolean
on_late (gpointer data)
{
  Look *look = data;

  look->timer = 0;
  look->late = g_strdup (look->paths->pdata[atomic_load (&look->at)]);
  g_hash_table_add (hanging, g_strdup (look->late));
  report_late (look, look->late);
  return G_SOURCE_REMOVE;
}

static gboolean
on_hanging (gpointer data)
{
  Look *look = data;

  look->timer = 0;
  report_late (look, look->paths->pdata[look->at]);
  on_read (look);
  return G_SOURCE_REMOVE;
}

Look *
look_start (GPtrArray *paths, LookDone done, gpointer data)
{
  Look *look = g_new0 (Look, 1);

  if (!hanging)
    hanging = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  look->paths = paths;
  look->done = done;
  look->data = data;
  for (; look->at < paths->len; look->at++)
    if (g_hash_table_contains (hanging, paths->pdata[look->at])) {
      look->timer = g_idle_add (on_hanging, look);
      return look;
    }
  look->timer = g_timeout_add (ANSWERS_WITHIN, on_late, look);
  in_pool (read_in_thread, look);
  return look;
}

void
look_cancel (Look *look)
{
  look->done = NULL;
}
