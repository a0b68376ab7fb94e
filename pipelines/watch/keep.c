/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * keep.c: a camera's folder: whether its disk is there, and which of its pieces are from this process. */
#include "keep.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file of this process. Its age and its place in the order do not depend on the clock. */
typedef struct {
  gint64 begun; /* monotonic µs */
  gboolean open;
} Own;

struct Keep {
  gatomicrefcount count;
  GMutex lock;
  GHashTable *own;      /* path -> Own */
  char *folder, *mount; /* where the file system of the folder was mounted when it was last looked at; NULL: never */
  int clock;            /* as reported; main thread */
};

void
keep_begin (Keep *keep, const char *file)
{
  Own *own = g_new0 (Own, 1);

  own->begun = g_get_monotonic_time ();
  own->open = TRUE;
  g_mutex_lock (&keep->lock);
  g_hash_table_insert (keep->own, g_strdup (file), own);
  g_mutex_unlock (&keep->lock);
}

void
keep_end (Keep *keep, const char *file)
{
  Own *own;

  g_mutex_lock (&keep->lock);
  if ((own = g_hash_table_lookup (keep->own, file)))
    own->open = FALSE;
  g_mutex_unlock (&keep->lock);
}

gboolean
keep_is_open (Keep *keep, const char *file, gint64 *begun)
{
  gboolean open;
  Own *own;

  g_mutex_lock (&keep->lock);
  own = g_hash_table_lookup (keep->own, file);
  *begun = own ? own->begun : 0;
  open = own && own->open;
  g_mutex_unlock (&keep->lock);
  return open;
}

static gboolean
is_closed (gpointer file, gpointer own, gpointer data)
{
  (void) file;
  (void) data;
  return !((Own *) own)->open;
}

void
keep_forget (Keep *keep, const char *file)
{
  g_mutex_lock (&keep->lock);
  if (file)
    g_hash_table_remove (keep->own, file);
  else
    g_hash_table_foreach_remove (keep->own, is_closed, NULL);
  g_mutex_unlock (&keep->lock);
}

gboolean
keep_note_clock (Keep *keep, int clock)
{
  gboolean changed = keep->clock != clock;

  keep->clock = clock;
  return changed;
}

static gboolean
is_mount (const char *path)
{
  g_autofree char *parent = g_path_get_dirname (path);
  struct stat here, above;

  return !strcmp (path, "/") || (stat (path, &here) == 0 && stat (parent, &above) == 0 && here.st_dev != above.st_dev);
}

/* Returns where the file system of the folder is mounted. Free it. */
static char *
mount_of (const char *folder)
{
  char *path = realpath (folder, NULL), *slash;

  while (path && !is_mount (path)) {
    slash = strrchr (path, '/');
    slash[slash == path] = '\0';
  }
  return path;
}

char *
keep_check_folder (Keep *keep, const char *folder)
{
  char *mount = NULL, *wrong = NULL;

  g_mutex_lock (&keep->lock);
  if (!g_strcmp0 (folder, keep->folder) && keep->mount)
    mount = strdup (keep->mount);
  g_mutex_unlock (&keep->lock);
  if (mount && !is_mount (mount))
    wrong = g_strdup_printf ("the disk of %s is gone: nothing is mounted at %s any more", folder, mount);
  else if (g_mkdir_with_parents (folder, 0750))
    wrong = g_strdup_printf ("%s cannot be made: %s", folder, g_strerror (errno));
  else if (access (folder, W_OK | X_OK))
    wrong = g_strdup_printf ("%s cannot be written to: %s", folder, g_strerror (errno));
  free (mount);
  if (wrong)
    return wrong;
  mount = mount_of (folder);
  g_mutex_lock (&keep->lock);
  free (keep->mount);
  keep->mount = mount;
  g_free (keep->folder);
  keep->folder = g_strdup (folder);
  g_mutex_unlock (&keep->lock);
  return NULL;
}

Keep *
keep_new (void)
{
  Keep *keep = g_new0 (Keep, 1);

  g_atomic_ref_count_init (&keep->count);
  g_mutex_init (&keep->lock);
  keep->own = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  return keep;
}

Keep *
keep_ref (Keep *keep)
{
  g_atomic_ref_count_inc (&keep->count);
  return keep;
}

void
keep_unref (Keep *keep)
{
  if (!g_atomic_ref_count_dec (&keep->count))
    return;
  g_hash_table_unref (keep->own);
  free (keep->mount);
  g_free (keep->folder);
  g_mutex_clear (&keep->lock);
  g_free (keep);
}
