/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * keep.c: a camera's folder: whether its disk is there, which of its pieces are from this process, and which are too
 * old, or too many. */
#include "keep.h"

#include "chain.h"
#include "events.h"
#include "threads.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY ((gint64) 24 * 3600 * G_USEC_PER_SEC)
#define FIRST (G_GINT64_CONSTANT (1577836800) * G_USEC_PER_SEC) /* 2020: no recording is from before */

/* Why no piece is deleted for its age. */
typedef enum { CLOCK_GOOD, CLOCK_BEFORE_BUILD, CLOCK_BEHIND } ClockState;

/* A file of this process. Its age and its place in the order do not depend on the clock. */
typedef struct {
  gint64 begun; /* monotonic µs */
  gboolean open;
} Own;

struct Keep {
  gatomicrefcount count;
  GMutex pruning;       /* one clean-up of the folder at a time, so that the oldest pieces go first */
  GMutex lock;          /* guards the members below */
  GHashTable *own;      /* path -> Own */
  char *folder, *mount; /* where the file system of the folder was mounted when it was last looked at; NULL: never */
  ClockState clock;     /* as reported; main thread */
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
  g_mutex_init (&keep->pruning);
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
  g_mutex_clear (&keep->pruning);
  g_free (keep);
}

/* ---- what stays ---------------------------------------------------------- */

/* Is the file being written? `begun` gets the monotonic time of keep_begin () in µs; 0: it is from an earlier
 * process. */
static gboolean
is_open (Keep *keep, const char *file, gint64 *begun)
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

/* Forgets a file that was deleted; NULL: all that are not written any more. */
static void
forget (Keep *keep, const char *file)
{
  g_mutex_lock (&keep->lock);
  if (file)
    g_hash_table_remove (keep->own, file);
  else
    g_hash_table_foreach_remove (keep->own, is_closed, NULL);
  g_mutex_unlock (&keep->lock);
}

typedef struct {
  char *path;
  gint64 named, time; /* µs since 1970 in its name, and when it was recorded; 0: unknown */
  gint64 begun;       /* monotonic µs; 0: by an earlier process */
  guint64 bytes;
  const char *reason; /* NULL: it stays */
} Piece;

typedef struct {
  Keep *keep;
  CameraSettings *settings;
  GPtrArray *pieces;
  ClockState clock;
  char *why;
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

/* Returns such a time in µs since 1970, or 0 where there is none such. */
static gint64
read_time (const char *text)
{
  int year, month, day, hour, minute, second, ms;
  g_autoptr (GDateTime) time = NULL;

  if (sscanf (text, "%4d%2d%2dT%2d%2d%2d.%3d", &year, &month, &day, &hour, &minute, &second, &ms) == 7)
    time = g_date_time_new_utc (year, month, day, hour, minute, second);
  return time ? g_date_time_to_unix (time) * G_USEC_PER_SEC + ms * 1000 : 0;
}

/* Pieces of earlier processes come first, since they are older whatever their names say. */
static int
by_age (gconstpointer a, gconstpointer b)
{
  const Piece *one = *(Piece *const *) a, *other = *(Piece *const *) b;

  if (one->begun != other->begun)
    return one->begun < other->begun ? -1 : 1;
  if (one->time != other->time)
    return one->time < other->time ? -1 : 1;
  return strcmp (one->path, other->path);
}

/* Adds a file to the list. A file that is begun meanwhile is no danger: keep_begin () comes before it is in the
 * folder. */
static void
list_piece (Prune *prune, const char *name)
{
  const char *time = time_of (name, prune->settings->name);
  g_autofree char *path = g_build_filename (prune->settings->record.folder, name, NULL);
  struct stat info;
  Piece *piece;

  if (!time || lstat (path, &info) || !S_ISREG (info.st_mode))
    return;
  piece = g_new0 (Piece, 1);
  piece->bytes = (guint64) info.st_size;
  piece->named = read_time (time);
  piece->time = (gint64) info.st_mtim.tv_sec * G_USEC_PER_SEC;
  piece->path = g_steal_pointer (&path);
  if (is_open (prune->keep, piece->path, &piece->begun))
    piece_free (piece);
  else
    g_ptr_array_add (prune->pieces, piece);
}

static void
list_pieces (Prune *prune)
{
  const char *name;
  GDir *dir = g_dir_open (prune->settings->record.folder, 0, NULL);

  while (dir && (name = g_dir_read_name (dir)))
    list_piece (prune, name);
  if (dir)
    g_dir_close (dir);
}

/* Decides whether the clock can tell the age of what earlier processes recorded. It cannot if it was never set, or is
 * far behind the newest piece. */
static void
judge_clock (Prune *prune, gint64 now)
{
  g_autofree char *time = time_text (now, FALSE);
  const Piece *newest = NULL;
  struct stat info;

  for (guint i = 0; i < prune->pieces->len; i++) {
    const Piece *piece = prune->pieces->pdata[i];

    if (!piece->begun && (!newest || piece->named > newest->named))
      newest = piece;
  }
  if (now < FIRST || (!stat ("/proc/self/exe", &info) && now < (gint64) info.st_mtim.tv_sec * G_USEC_PER_SEC)) {
    prune->clock = CLOCK_BEFORE_BUILD;
    prune->why = g_strdup_printf ("the clock says %s, which is before this cf-watch was built", time);
  } else if (newest && newest->named - now > MAX (prune->settings->record.keep_days, 1) * DAY) {
    prune->clock = CLOCK_BEHIND;
    prune->why = g_strdup_printf ("the clock says %s, and %s is of a later time: set the clock, or delete the file",
        time, newest->path);
  }
}

/* Sorts the pieces by the time at which they were recorded: the time in the name; if that cannot be right, the file's
 * own time; if that cannot be right either, now. */
static void
date_pieces (Prune *prune, gint64 now)
{
  const gint64 last = prune->clock == CLOCK_BEFORE_BUILD ? G_MAXINT64 : now + DAY;
  const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_nsec = UTIME_NOW } };

  for (guint i = 0; i < prune->pieces->len; i++) {
    Piece *piece = prune->pieces->pdata[i];

    if (piece->named >= FIRST && piece->named <= last)
      piece->time = piece->named;
    else if (piece->time < FIRST || piece->time > last)
      piece->time = 0;
    if (!piece->time && !piece->begun && prune->clock == CLOCK_GOOD &&
        utimensat (AT_FDCWD, piece->path, times, AT_SYMLINK_NOFOLLOW) == 0)
      piece->time = now;
  }
  g_ptr_array_sort (prune->pieces, by_age);
}

static void
report_clock (Prune *prune)
{
  g_autofree char *reason = g_strconcat ("no piece of an earlier process is deleted for its age: ", prune->why, NULL);

  event_post (prune->settings->name, "retention", "state", word_node (prune->why ? "suspended" : "resumed"), "reason",
      prune->why ? text_node (reason) : NULL, NULL);
}

static gboolean
report (gpointer data)
{
  Prune *prune = data;

  if (prune->settings->record.keep_days && prune->keep->clock != prune->clock) {
    prune->keep->clock = prune->clock;
    report_clock (prune);
  }
  for (guint i = 0; i < prune->pieces->len; i++) {
    Piece *piece = prune->pieces->pdata[i];

    if (piece->reason)
      event_post (prune->settings->name, "piece-deleted", "file", text_node (piece->path), "bytes",
          int_node ((gint64) piece->bytes), "reason", word_node (piece->reason), NULL);
  }
  keep_unref (prune->keep);
  camera_settings_unref (prune->settings);
  g_ptr_array_unref (prune->pieces);
  g_free (prune->why);
  g_free (prune);
  return G_SOURCE_REMOVE;
}

static gboolean
is_too_old (const Prune *prune, const Piece *piece, gint64 now)
{
  const gint64 days = (gint64) prune->settings->record.keep_days * DAY;

  if (!days)
    return FALSE;
  if (piece->begun)
    return g_get_monotonic_time () - piece->begun > days;
  return prune->clock == CLOCK_GOOD && piece->time && now - piece->time > days;
}

static gboolean
delete_piece (Prune *prune, const Piece *piece)
{
  const ChainOwner owner = { prune->settings->name, prune->settings->record.sign };

  chain_prune (&owner, piece->path);
  if (g_unlink (piece->path))
    return FALSE;
  chain_delete (&owner, piece->path);
  forget (prune->keep, piece->path);
  return TRUE;
}

static void
prune_in_thread (gpointer data)
{
  Prune *prune = data;
  Keep *keep = keep_ref (prune->keep); /* report () frees the other one */
  const guint64 most = prune->settings->record.keep_bytes;
  const gint64 now = g_get_real_time ();
  guint64 bytes = 0;

  g_mutex_lock (&keep->pruning);
  list_pieces (prune);
  judge_clock (prune, now);
  date_pieces (prune, now);
  /* From the newest on: what exceeds the bytes is older. */
  for (guint i = prune->pieces->len; i-- > 0;) {
    Piece *piece = prune->pieces->pdata[i];

    bytes += piece->bytes;
    if (i + 1 == prune->pieces->len)
      continue;
    if (is_too_old (prune, piece, now))
      piece->reason = "days";
    else if (most && bytes > most)
      piece->reason = "bytes";
    if (piece->reason && !delete_piece (prune, piece))
      piece->reason = NULL;
  }
  in_main (report, prune);
  g_mutex_unlock (&keep->pruning);
  keep_unref (keep);
}

void
keep_prune (Keep *keep, CameraSettings *settings)
{
  Prune *prune;

  if (!settings->record.keep_days && !settings->record.keep_bytes) {
    forget (keep, NULL);
    return;
  }
  prune = g_new0 (Prune, 1);
  prune->keep = keep_ref (keep);
  prune->settings = camera_settings_ref (settings);
  prune->pieces = g_ptr_array_new_with_free_func (piece_free);
  in_pool (prune_in_thread, prune);
}
