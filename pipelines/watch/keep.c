/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * keep.c: deletes a camera's oldest pieces. */
#include "keep.h"

#include "events.h"
#include "run.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
  char *path, *time; /* the time is part of the path */
  guint64 bytes;
  const char *reason; /* NULL: it stays */
} Piece;

typedef struct {
  CameraSettings *settings;
  GPtrArray *open, *pieces;
  void (*deleted) (const char *file, guint64 bytes, const char *reason, gpointer data);
  GDestroyNotify done;
  gpointer data;
} Prune;

static void
piece_free (gpointer data)
{
  Piece *piece = data;

  g_free (piece->path);
  g_free (piece);
}

/* Returns the time in the name "NAME-20261123T045512.345Z.mkv", or NULL for another name. */
static const char *
time_of (const char *file, const char *camera)
{
  static const char pattern[] = "00000000T000000.000Z.";
  gsize n = strlen (camera);
  const char *time = file + n + 1;

  if (strncmp (file, camera, n) || file[n] != '-' || strlen (time) != sizeof pattern - 1 + 3)
    return NULL;
  for (gsize i = 0; i < sizeof pattern - 1; i++)
    if (pattern[i] == '0' ? !g_ascii_isdigit (time[i]) : time[i] != pattern[i])
      return NULL;
  return !strcmp (time + sizeof pattern - 1, "mkv") || !strcmp (time + sizeof pattern - 1, "mp4") ? time : NULL;
}

static int
by_time (gconstpointer a, gconstpointer b)
{
  return strcmp ((*(Piece *const *) a)->time, (*(Piece *const *) b)->time);
}

static void
list_pieces (Prune *prune)
{
  const char *folder = prune->settings->record.folder, *name, *time;
  GDir *dir = g_dir_open (folder, 0, NULL);

  while (dir && (name = g_dir_read_name (dir))) {
    g_autofree char *path = g_build_filename (folder, name, NULL);
    struct stat info;
    Piece *piece;

    if (!(time = time_of (name, prune->settings->name)) || lstat (path, &info) || !S_ISREG (info.st_mode) ||
        g_ptr_array_find_with_equal_func (prune->open, path, g_str_equal, NULL))
      continue;
    piece = g_new0 (Piece, 1);
    piece->bytes = (guint64) info.st_size;
    piece->path = g_steal_pointer (&path);
    piece->time = piece->path + strlen (piece->path) - strlen (time);
    g_ptr_array_add (prune->pieces, piece);
  }
  if (dir)
    g_dir_close (dir);
  g_ptr_array_sort (prune->pieces, by_time);
}

static gboolean
report (gpointer data)
{
  Prune *prune = data;

  for (guint i = 0; i < prune->pieces->len; i++) {
    Piece *piece = prune->pieces->pdata[i];

    if (piece->reason)
      prune->deleted (piece->path, piece->bytes, piece->reason, prune->data);
  }
  prune->done (prune->data);
  camera_settings_unref (prune->settings);
  g_ptr_array_unref (prune->open);
  g_ptr_array_unref (prune->pieces);
  g_free (prune);
  return G_SOURCE_REMOVE;
}

static void
prune_in_thread (gpointer data)
{
  Prune *prune = data;
  const RecordSettings *record = &prune->settings->record;
  g_autofree char *oldest = time_text (g_get_real_time () - (gint64) record->keep_days * 24 * 3600 * G_USEC_PER_SEC,
      TRUE);
  guint64 bytes = 0;

  list_pieces (prune);
  /* From the newest on: what exceeds the bytes is older. */
  for (guint i = prune->pieces->len; i-- > 0;) {
    Piece *piece = prune->pieces->pdata[i];

    bytes += piece->bytes;
    if (record->keep_days && strcmp (piece->time, oldest) < 0)
      piece->reason = "days";
    else if (record->keep_bytes && bytes > record->keep_bytes)
      piece->reason = "bytes";
    if (piece->reason && g_unlink (piece->path))
      piece->reason = NULL;
  }
  in_main (report, prune);
}

void
keep_prune (CameraSettings *settings, GPtrArray *open,
    void (*deleted) (const char *file, guint64 bytes, const char *reason, gpointer data), GDestroyNotify done,
    gpointer data)
{
  Prune *prune = g_new0 (Prune, 1);

  prune->settings = camera_settings_ref (settings);
  prune->open = g_ptr_array_new_with_free_func (g_free);
  prune->pieces = g_ptr_array_new_with_free_func (piece_free);
  for (guint i = 0; i < open->len; i++)
    g_ptr_array_add (prune->open, g_strdup (open->pdata[i]));
  prune->deleted = deleted;
  prune->done = done;
  prune->data = data;
  in_pool (prune_in_thread, prune);
}
