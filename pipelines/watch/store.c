/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * store.c: what commands have set, in a file.
 *
 *   { "config": "/etc/cf-watch/watch.json", "cameras": { "door": what overrides.c has of it } }
 *
 * A file that cannot be read is not replaced before all its cameras were forgotten: it may say what has to be
 * hidden. */
#include "store.h"

#include "events.h"
#include "reader.h"
#include "state.h"
#include "threads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BYTES (16 << 20)
#define ANSWERS_WITHIN (5 * G_USEC_PER_SEC) /* the disk; then an event says that it does not */
#define TRIES_AGAIN (10 * G_USEC_PER_SEC)

static struct {
  char *config, *path;
  JsonObject *cameras;
  char *trouble;         /* why the file could not be read; NULL: it could */
  GHashTable *forgotten; /* cameras, while there is trouble */
  char *text;            /* what the file is to have; NULL: there is none yet */
  char *there;           /* what it has; the same */
  gboolean writing, reported;
  gboolean force;      /* the next text replaces whatever is there */
  gint64 begun, again; /* monotonic µs */
} store;

/* A text on its way to the disk. */
typedef struct {
  char *path, *text, *there;
  gboolean force;
  char *wrong; /* NULL: it is there */
} Write;

const char *
store_path (void)
{
  return store.path;
}

/* ---- the file ------------------------------------------------------------ */

/* Returns the file's text; NULL with what is wrong, or without: there is no file. A folder that the environment names
 * has to be there: a disk that is away may have the file. */
static char *
read_file (const char *path, GString *wrong)
{
  g_autofree char *folder = g_path_get_dirname (path);
  const int file = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  g_autoptr (GString) text = g_string_new (NULL);
  char bytes[65536];
  struct stat info;
  gssize n = 1;

  if (file < 0 && (errno == ENOENT || errno == ENOTDIR)) {
    if (g_getenv ("STATE_DIRECTORY") && !g_file_test (folder, G_FILE_TEST_IS_DIR))
      g_string_append_printf (wrong, "there is no folder %s, which STATE_DIRECTORY names: its disk may be away",
          folder);
    return NULL;
  }
  if (file < 0 || fstat (file, &info))
    g_string_append_printf (wrong, "%s: %s", path, errno == ELOOP ? "it is a link" : g_strerror (errno));
  else if (!S_ISREG (info.st_mode) || info.st_uid != geteuid ())
    g_string_append_printf (wrong, "%s: it is not a file of this user", path);
  else if (info.st_mode & (S_IRWXG | S_IRWXO))
    g_string_append_printf (wrong, "%s: others may read or write it (mode %04o)", path, (guint) info.st_mode & 07777);
  while (!wrong->len && n > 0 && text->len <= MAX_BYTES)
    if ((n = read (file, bytes, sizeof bytes)) > 0)
      g_string_append_len (text, bytes, n);
  if (!wrong->len && (n < 0 || text->len > MAX_BYTES))
    g_string_append_printf (wrong, "%s: %s", path, n < 0 ? g_strerror (errno) : "it is too large");
  if (!wrong->len && strlen (text->str) != text->len)
    g_string_append_printf (wrong, "%s: it is not UTF-8 text", path);
  if (file >= 0)
    close (file);
  return wrong->len ? NULL : g_steal_pointer (&text->str);
}

static int
write_file (const char *path, const char *text)
{
  gsize rest = strlen (text);
  int file, wrong = 0;

  if (unlink (path) && errno != ENOENT) /* one that was not finished */
    return errno;
  if ((file = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) < 0)
    return errno;
  while (rest > 0 && !wrong) {
    const gssize n = write (file, text, rest);

    wrong = n < 0 && errno != EINTR ? errno : 0;
    text += MAX (n, 0);
    rest -= (gsize) MAX (n, 0);
  }
  if (!wrong && fsync (file))
    wrong = errno;
  if (close (file) && !wrong)
    wrong = errno;
  return wrong;
}

/* Sees to it that a power cut does not take the file's new name back. */
static int
sync_folder (const char *path)
{
  g_autofree char *folder = g_path_get_dirname (path);
  const int file = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int wrong = file < 0 || fsync (file) ? errno : 0;

  if (file >= 0)
    close (file);
  return wrong;
}

/* Replaces the file. Runs in a thread of the pool. */
static void
replace (Write *write)
{
  g_autofree char *part = g_strconcat (write->path, ".part", NULL);
  g_autoptr (GString) wrong = g_string_new (NULL);
  g_autofree char *there = NULL;
  int error = state_make_folder (write->path);

  there = write->force ? NULL : read_file (write->path, wrong);
  if (!wrong->len && there && g_strcmp0 (there, write->there))
    g_string_append_printf (wrong,
        "%s: somebody else has changed it, such as another cf-watch with the same file: "
        "start cf-watch anew",
        write->path);
  if (!wrong->len &&
      (error || (error = write_file (part, write->text)) || (rename (part, write->path) && (error = errno)) ||
          (error = sync_folder (write->path))))
    g_string_append_printf (wrong, "%s: %s", write->path, g_strerror (error));
  write->wrong = wrong->len ? g_strdup (wrong->str) : NULL;
}

static gboolean
is_there (void)
{
  return !g_strcmp0 (store.text, store.there);
}

/* ---- writing ------------------------------------------------------------- */

static void begin (void);

/* Reports once that what is set is not in the file. */
static void
report (const char *reason)
{
  if (!store.reported)
    event_post (NULL, "overrides-failed", "reason", text_node (reason), NULL);
  store.reported = TRUE;
}

static gboolean
on_written (gpointer data)
{
  Write *write = data;

  store.writing = FALSE;
  if (write->wrong) {
    report (write->wrong);
    store.again = g_get_monotonic_time () + TRIES_AGAIN;
    g_free (write->text);
  } else {
    g_free (store.there);
    store.there = write->text;
    store.force = FALSE;
    if (store.reported && is_there ()) {
      store.reported = FALSE;
      event_post_object (NULL, "overrides-saved", json_object_new ());
    }
    begin ();
  }
  g_free (write->path);
  g_free (write->there);
  g_free (write->wrong);
  g_free (write);
  return G_SOURCE_REMOVE;
}

static void
write_in_thread (gpointer data)
{
  replace (data);
  in_main (on_written, data);
}

/* Begins to write what waits, one text at a time. */
static void
begin (void)
{
  Write *write;

  if (store.writing || is_there ())
    return;
  if (strlen (store.text) > MAX_BYTES) {
    report ("what commands have set has more than 16 MiB");
    return;
  }
  write = g_new0 (Write, 1);
  write->path = g_strdup (store.path);
  write->text = g_strdup (store.text);
  write->there = g_strdup (store.there);
  write->force = store.force;
  store.writing = TRUE;
  store.begun = g_get_monotonic_time ();
  in_pool (write_in_thread, write);
}

static void
save (void)
{
  JsonNode *node;

  if (store.trouble) {
    report (store.trouble);
    return;
  }
  if (!store.config)
    return;
  node = object_node (
      object_of ("config", word_node (store.config), "cameras", object_node (json_object_ref (store.cameras)), NULL));
  g_free (store.text);
  store.text = json_to_string (node, TRUE);
  json_node_unref (node);
  if (!store.reported) /* else store_tick () tries again */
    begin ();
}

gboolean
store_is_saved (void)
{
  return is_there () && !store.reported;
}

gboolean
store_is_busy (void)
{
  return store.writing;
}

void
store_tick (void)
{
  const gint64 now = g_get_monotonic_time ();

  if (store.writing && now - store.begun > ANSWERS_WITHIN) {
    g_autofree char *reason = g_strdup_printf ("%s: the disk does not answer", store.path);

    report (reason);
  }
  if (store.reported && !store.trouble && now > store.again) {
    store.again = now + TRIES_AGAIN;
    begin ();
  }
}

/* ---- what was set -------------------------------------------------------- */

const char *
store_trouble (const char *camera)
{
  return store.trouble && !g_hash_table_contains (store.forgotten, camera) ? store.trouble : NULL;
}

JsonObject *
store_get (const char *camera)
{
  return json_object_has_member (store.cameras, camera) ? json_object_get_object_member (store.cameras, camera) : NULL;
}

void
store_set (const char *camera, JsonObject *set)
{
  json_object_set_object_member (store.cameras, camera, set);
  save ();
}

void
store_forget (const char *camera)
{
  if (store.trouble)
    g_hash_table_add (store.forgotten, g_strdup (camera));
  if (!store_get (camera))
    return;
  json_object_remove_member (store.cameras, camera);
  save ();
}

void
store_give_up (void)
{
  if (!store.trouble)
    return;
  g_clear_pointer (&store.trouble, g_free);
  store.force = TRUE;
  store.reported = FALSE;
  save ();
}

/* Returns the cameras of the text; NULL with what is wrong. */
static JsonObject *
parse (const char *text, GString *wrong)
{
  char *config = NULL;
  const Field fields[] = { { "config", FIELD_TEXT, 0 }, { "cameras", FIELD_OTHER }, { NULL } };
  JsonObject *top, *cameras = NULL, *copy = json_object_new ();
  Reader reader;

  reader_init (&reader, store.path, NULL, wrong);
  if ((top = reader_parse (&reader, text, (gssize) strlen (text))) && reader_fill (&reader, top, "", fields, &config) &&
      !(cameras = reader_object (&reader, top, "", "cameras")))
    reader_fault (&reader, top, "", "cameras", "is missing");
  if (cameras && g_strcmp0 (config, store.config))
    reader_fault (&reader, top, "", "config", "is not %s", store.config);
  if (cameras) {
    g_autoptr (GList) names = json_object_get_members (cameras);

    for (GList *l = names; l; l = l->next)
      if (reader_object (&reader, cameras, "cameras", l->data))
        json_object_set_member (copy, l->data, json_object_dup_member (cameras, l->data));
  }
  reader_clear (&reader);
  g_free (config);
  return copy;
}

void
store_open (const char *config)
{
  g_autoptr (GString) wrong = g_string_new (NULL);

  store.config = g_strdup (config);
  store.path = config ? state_file_of (config, "overrides", "json") : g_strdup ("");
  store.forgotten = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  if (!config) {
    store.cameras = json_object_new ();
    return;
  }
  store.there = read_file (store.path, wrong);
  store.text = g_strdup (store.there);
  store.cameras = store.there ? parse (store.there, wrong) : json_object_new ();
  if (wrong->len)
    store.trouble = g_strdup_printf ("nobody knows what commands have hidden: %s; put the file right and start "
                                     "cf-watch anew, or have it forgotten by: forget CAMERA",
        wrong->str);
}
