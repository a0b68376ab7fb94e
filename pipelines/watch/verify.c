/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cf-verify: checks the pieces that cf-watch has recorded against their records. It trusts nothing in a folder: with a
 * key, it does not even parse what is not signed. */
#include "../tools/line.h"
#include "chain.h"
#include "hashes.h"
#include "reader.h"
#include "replay.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

/* The characters of a camera's name. */
#define NAME "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

static const char summary[] =
    "Checks pieces that cf-watch has recorded: whether each is as its record says, whether the record is signed by one "
    "of the keys, and, in a FOLDER, whether pieces are missing. docs/watch.md says what that proves.";
static const char description[] = "Exit status: 0: all is right; 1: something is wrong; 2: a wrong command line.\n"
                                  "Example: cf-verify --key public.pem /srv/recordings";

#define MAX_HASHES (256 << 20) /* bytes: a day of 30 frames a second */
#define NO_RECORD "it has no record: it is still being written, or cf-watch was killed, or it is not from there"

typedef struct {
  char *name, *folder;
  GString *wrong; /* what is, separated by "; " */
  char *sum;      /* of the record; NULL: there is none that can be used */
  char *camera, *chain, *previous;
  gboolean part;                   /* the record is still FILE.json.part */
  gint64 number, frames, unmasked; /* unmasked -1: nothing there hides */
  gboolean replayed;               /* the filter makes its frames of the original */
  guint64 left_out;                /* frames of the original between the piece's */
} Piece;

typedef struct {
  GPtrArray *keys; /* of SignKey; empty: signatures are not checked */
  guint good, bad; /* pieces */
  guint faults;    /* of chains */
  guint64 frames, unmasked, pruned;
  char **originals; /* NULL: nothing is filtered again */
} Count;

static void
piece_free (gpointer data)
{
  Piece *piece = data;

  g_free (piece->name);
  g_free (piece->folder);
  g_string_free (piece->wrong, TRUE);
  g_free (piece->sum);
  g_free (piece->camera);
  g_free (piece->chain);
  g_free (piece->previous);
  g_free (piece);
}

static void G_GNUC_PRINTF (2, 3) add_fault (Piece *piece, const char *format, ...)
{
  va_list args;

  g_string_append (piece->wrong, piece->wrong->len ? "; " : "");
  va_start (args, format);
  g_string_append_vprintf (piece->wrong, format, args);
  va_end (args);
}

/* ---- a piece ------------------------------------------------------------- */

static gboolean
is_signed (const Count *count, const char *text, gsize length, const guchar *signature)
{
  for (guint i = 0; i < count->keys->len; i++)
    if (sign_check (count->keys->pdata[i], text, length, signature))
      return TRUE;
  return FALSE;
}

static gboolean
check_signature (const Count *count, Piece *piece, const char *text, gsize length)
{
  g_autofree char *path = g_strdup_printf ("%s/%s.json.sig", piece->folder, piece->name);
  gsize n = 0;
  g_autofree char *signature = chain_read (path, CHAIN_MAX, &n);

  if (count->keys->len == 0)
    return TRUE;
  if (!signature || n != SIGNATURE_BYTES)
    add_fault (piece, signature ? "its signature has not %d bytes" : "its record is not signed", SIGNATURE_BYTES);
  else if (!is_signed (count, text, length, (const guchar *) signature))
    add_fault (piece, "its record is not as it was signed, or by another key");
  return piece->wrong->len == 0;
}

/* Compares the piece with what its record says. */
static void
check_content (Piece *piece, JsonObject *record)
{
  g_autofree char *path = g_build_filename (piece->folder, piece->name, NULL), *sum = NULL;
  g_autoptr (GString) wrong = g_string_new (NULL);
  const char *camera = chain_text (record, "camera");
  guint64 bytes;

  if (chain_number (record, "format") != CHAIN_FORMAT)
    add_fault (piece, "its record is of a format that this cf-verify does not know");
  if (g_strcmp0 (chain_text (record, "file"), piece->name))
    add_fault (piece, "its record is of another piece");
  if (!(sum = sign_hash_file (path, &bytes, wrong)))
    add_fault (piece, "it cannot be read: %s", wrong->str);
  else if ((gint64) bytes != chain_number (record, "bytes") || g_strcmp0 (sum, chain_text (record, "sha256")))
    add_fault (piece, "it is not as it was recorded");
  if (camera && strspn (camera, NAME) == strlen (camera))
    piece->camera = g_strdup (camera);
  piece->chain = g_strdup (chain_text (record, "chain"));
  piece->previous = g_strdup (chain_text (record, "previous"));
  piece->number = chain_number (record, "number");
  piece->frames = chain_number (record, "frames");
  piece->unmasked = chain_number (record, "unmasked");
  if (!piece->camera || !piece->chain || piece->number < 1 || piece->frames < 0)
    add_fault (piece, "its record lacks what belongs into it");
}

/* Compares the list of hashes with what the record says. */
static void
check_hashes (Piece *piece, JsonObject *record)
{
  g_autofree char *path = g_strdup_printf ("%s/%s" HASHES_END, piece->folder, piece->name), *sum = NULL;
  g_autoptr (GString) wrong = g_string_new (NULL);
  guint64 bytes;

  if (!json_object_has_member (record, "hashes"))
    return;
  if (!(sum = sign_hash_file (path, &bytes, wrong)))
    add_fault (piece, "the hashes of its frames cannot be read: %s", wrong->str);
  else if (g_strcmp0 (sum, chain_text (record, "hashes")))
    add_fault (piece, "the hashes of its frames are not as they were recorded");
}

/* Filters the original again. The piece and its record are good. */
static void
check_original (const Count *count, Piece *piece, JsonObject *record)
{
  g_autofree char *path = g_strdup_printf ("%s/%s" HASHES_END, piece->folder, piece->name), *text = NULL, *sum = NULL;
  gsize length;

  if (!chain_text (record, "hashes")) {
    add_fault (piece, "it cannot be filtered again, because its record has no hashes of frames (\"hashes\": true)");
    return;
  }
  /* Somebody may have changed the file since it was checked. */
  if ((text = chain_read (path, MAX_HASHES, &length)))
    sum = g_compute_checksum_for_data (G_CHECKSUM_SHA256, (const guchar *) text, length);
  if (!text || g_strcmp0 (sum, chain_text (record, "hashes")))
    add_fault (piece,
        "it cannot be filtered again, because the list of its hashes is too long, or was changed just now");
  else
    piece->replayed = replay (record, text, count->originals, &piece->left_out, piece->wrong);
}

static Piece *
piece_new (const Count *count, const char *folder, const char *name)
{
  g_autofree char *path = g_strdup_printf ("%s/%s.json", folder, name), *part = g_strconcat (path, ".part", NULL);
  g_autoptr (GString) wrong = g_string_new (NULL);
  Piece *piece = g_new0 (Piece, 1);
  g_autofree char *text = NULL;
  JsonObject *record;
  Reader reader;
  gsize length;

  piece->name = g_strdup (name);
  piece->folder = g_strdup (folder);
  piece->wrong = g_string_new (NULL);
  text = chain_read (path, CHAIN_MAX, &length);
  if (!text) { /* cf-watch was killed before the record got its name */
    text = chain_read (part, CHAIN_MAX, &length);
    piece->part = TRUE;
  }
  if (!text) {
    g_autofree char *file = g_build_filename (folder, name, NULL);

    add_fault (piece, g_file_test (file, G_FILE_TEST_EXISTS) ? NO_RECORD : "there is no such file");
    return piece;
  }
  if (!check_signature (count, piece, text, length))
    return piece;
  reader_init (&reader, NULL, NULL, wrong);
  if ((record = reader_parse (&reader, text, (gssize) length))) {
    piece->sum = g_compute_checksum_for_data (G_CHECKSUM_SHA256, (const guchar *) text, length);
    check_content (piece, record);
    check_hashes (piece, record);
    if (count->originals && !piece->wrong->len)
      check_original (count, piece, record);
  } else
    add_fault (piece, "its record is no JSON");
  reader_clear (&reader);
  return piece;
}

static void
print (Count *count, const Piece *piece)
{
  g_autofree char *name = g_strescape (piece->name, NULL);

  if (piece->wrong->len) {
    printf ("%s: WRONG: %s\n", name, piece->wrong->str);
    count->bad++;
    return;
  }
  printf ("%s: good, %" G_GINT64_FORMAT " frames", name, piece->frames);
  if (piece->unmasked >= 0)
    printf (", %" G_GINT64_FORMAT " unmasked", piece->unmasked);
  if (piece->replayed)
    printf (", %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " are what the filter makes of the original", piece->frames,
        piece->frames);
  if (piece->left_out)
    printf (" (%" G_GUINT64_FORMAT " of its frames in between are left out)", piece->left_out);
  printf ("\n");
  count->good++;
  count->frames += (guint64) piece->frames;
  count->unmasked += (guint64) MAX (piece->unmasked, 0);
}

/* ---- chains -------------------------------------------------------------- */

static int
by_place (gconstpointer a, gconstpointer b)
{
  const Piece *one = *(Piece *const *) a, *other = *(Piece *const *) b;
  int order = g_strcmp0 (one->camera, other->camera);

  if (!order)
    order = g_strcmp0 (one->chain, other->chain);
  if (!order)
    order = one->number < other->number ? -1 : one->number > other->number;
  return order ? order : strcmp (one->name, other->name);
}

/* Returns what CAMERA.chain says, or NULL after a message. */
static ChainState *
read_chain (Count *count, const char *folder, const char *camera)
{
  g_autofree char *path = g_strdup_printf ("%s/%s.chain", folder, camera);
  gsize length = 0, n;
  g_autofree char *text = chain_read (path, CHAIN_MAX, &length);
  guchar signature[SIGNATURE_BYTES];
  ChainState *state = NULL;

  n = text ? chain_signature (text, length, signature) : 0;
  if (!text)
    printf ("%s.chain: WRONG: it is missing", camera);
  else if (count->keys->len && (!n || !is_signed (count, text, n, signature)))
    printf ("%s.chain: WRONG: it is not as it was signed, or by another key", camera);
  else if (!(state = chain_parse (text)))
    printf ("%s.chain: WRONG: it is no chain", camera);
  if (state)
    return state;
  printf (": so nobody can tell whether pieces are missing before the first or behind the last one\n");
  count->faults++;
  return NULL;
}

/* Returns whether retention has deleted the records `from` to `to`. `before`: the SHA-256 of the record before them;
 * `after`: the one that the record behind them names. */
static gboolean
is_pruned (Count *count, const ChainState *state, guint64 from, guint64 to, const char *before, const char *after)
{
  for (guint i = 0; state && i < state->pruned->len; i++) {
    const ChainGap *gap = &g_array_index (state->pruned, ChainGap, i);

    if (gap->from == from && gap->to == to && !g_strcmp0 (gap->previous, before) && !g_strcmp0 (gap->last, after)) {
      count->pruned += to - from + 1;
      return TRUE;
    }
  }
  return FALSE;
}

/* Returns whether retention was about to delete the piece when cf-watch was killed. */
static gboolean
is_left_over (const ChainState *state, const Piece *piece)
{
  for (guint i = 0; state && i < state->pruned->len; i++) {
    const ChainGap *gap = &g_array_index (state->pruned, ChainGap, i);

    if (gap->from <= (guint64) piece->number && gap->to >= (guint64) piece->number)
      return TRUE;
  }
  return FALSE;
}

/* Looks whether the piece follows the one before it in its chain (NULL: it is the first one there). */
static void
check_link (Count *count, const ChainState *state, Piece *piece, const Piece *before)
{
  const gint64 last = before ? before->number : 0;
  const char *sum = before ? before->sum : NULL;

  if (piece->number == last)
    add_fault (piece, "%s has the same number", before->name);
  else if (piece->number == last + 1 && g_strcmp0 (piece->previous, sum))
    add_fault (piece, before ? "it does not follow %s" : "another one was before it", sum ? before->name : "");
  else if (piece->number > last + 1 &&
      !is_pruned (count, state, (guint64) last + 1, (guint64) piece->number - 1, sum, piece->previous))
    add_fault (piece, "%" G_GINT64_FORMAT " before it are missing, numbers %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
        piece->number - last - 1, last + 1, piece->number - 1);
}

/* Looks whether the last piece of the chain is the newest one; NULL: there is none. If not, `place` gets the fault. */
static void
check_end (Count *count, const ChainState *state, const Piece *last, Piece *place)
{
  const guint64 number = last ? (guint64) last->number : 0;
  const char *sum = last ? last->sum : NULL;

  if (last && g_strcmp0 (state->id, last->chain))
    add_fault (place, "another chain begins behind it");
  else if (state->number > number && !is_pruned (count, state, number + 1, state->number, sum, state->last))
    add_fault (place, "%" G_GUINT64_FORMAT " behind it are missing", state->number - number);
  else if (state->number < number || (state->number == number && g_strcmp0 (state->last, sum)))
    add_fault (place, "%s.chain is older", place->camera);
}

/* Checks the pieces of one chain, which are sorted by their numbers. */
static void
check_chain (Count *count, const ChainState *state, Piece *const *pieces, guint n)
{
  const ChainState *own = state && !g_strcmp0 (state->id, pieces[0]->chain) ? state : NULL;
  const Piece *before = NULL;

  for (guint i = 0; i < n; i++) {
    if (is_left_over (own, pieces[i]))
      continue;
    if (pieces[i]->part && (!own || g_strcmp0 (own->last, pieces[i]->sum))) {
      add_fault (pieces[i], NO_RECORD);
      continue;
    }
    check_link (count, own, pieces[i], before);
    before = pieces[i];
  }
  if (own || (state && before))
    check_end (count, state, before, pieces[n - 1]);
}

/* Checks the chains of a camera. The pieces have records, and are sorted. */
static void
check_camera (Count *count, const char *folder, const char *camera, GPtrArray *pieces)
{
  ChainState *state = read_chain (count, folder, camera);

  for (guint i = 0, n; i < pieces->len; i += n) {
    Piece **first = (Piece **) pieces->pdata + i;

    for (n = 1; i + n < pieces->len && !g_strcmp0 (first[0]->chain, first[n]->chain); n++)
      ;
    check_chain (count, state, first, n);
  }
  if (state && pieces->len == 0 && state->number && !is_pruned (count, state, 1, state->number, NULL, state->last)) {
    printf ("%s.chain: WRONG: all %" G_GUINT64_FORMAT " pieces are missing\n", camera, state->number);
    count->faults++;
  }
  chain_state_free (state);
}

/* Checks the chains of all cameras that have pieces or a chain; the pieces are sorted. */
static void
check_cameras (Count *count, const char *folder, GPtrArray *pieces, GHashTable *cameras)
{
  GHashTableIter iter;
  gpointer camera;

  for (guint i = 0; i < pieces->len; i++)
    if (((Piece *) pieces->pdata[i])->camera)
      g_hash_table_add (cameras, g_strdup (((Piece *) pieces->pdata[i])->camera));
  g_hash_table_iter_init (&iter, cameras);
  while (g_hash_table_iter_next (&iter, &camera, NULL)) {
    g_autoptr (GPtrArray) own = g_ptr_array_new ();

    for (guint i = 0; i < pieces->len; i++)
      if (!g_strcmp0 (((Piece *) pieces->pdata[i])->camera, camera) && ((Piece *) pieces->pdata[i])->chain)
        g_ptr_array_add (own, pieces->pdata[i]);
    check_camera (count, folder, camera, own);
  }
}

/* ---- the command line ---------------------------------------------------- */

/* Returns the length of the piece's name in a file's name, 0: it is neither a piece nor a record. */
static gsize
piece_length (const char *name)
{
  static const char *const ends[] = { "", ".json", ".json.part" };

  for (guint i = 0; i < G_N_ELEMENTS (ends); i++) {
    const gsize length = strlen (name) - MIN (strlen (name), strlen (ends[i]));

    if (length > 4 && !strcmp (name + length, ends[i]) &&
        (!strncmp (name + length - 4, ".mkv", 4) || !strncmp (name + length - 4, ".mp4", 4)))
      return length;
  }
  return 0;
}

static gboolean
check_folder (Count *count, const char *path)
{
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) cameras = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GPtrArray) pieces = g_ptr_array_new_with_free_func (piece_free);
  g_autoptr (GError) error = NULL;
  GDir *folder = g_dir_open (path, 0, &error);
  GHashTableIter iter;
  const char *file;
  gpointer name;

  if (!folder)
    return complain ("%s", error->message);
  while ((file = g_dir_read_name (folder)))
    if (piece_length (file))
      g_hash_table_add (names, g_strndup (file, piece_length (file)));
    else if (g_str_has_suffix (file, ".chain") && strspn (file, NAME) == strlen (file))
      g_hash_table_add (cameras, g_strndup (file, strlen (file) - strlen (".chain")));
  g_dir_close (folder);
  g_hash_table_iter_init (&iter, names);
  while (g_hash_table_iter_next (&iter, &name, NULL))
    g_ptr_array_add (pieces, piece_new (count, path, name));
  g_ptr_array_sort (pieces, by_place);
  check_cameras (count, path, pieces, cameras);
  for (guint i = 0; i < pieces->len; i++)
    print (count, pieces->pdata[i]);
  return TRUE;
}

static void
check_file (Count *count, const char *path)
{
  g_autofree char *folder = g_path_get_dirname (path), *file = g_path_get_basename (path);
  g_autofree char *name = g_strndup (file, piece_length (file) ? piece_length (file) : strlen (file));
  Piece *piece = piece_new (count, folder, name);

  print (count, piece);
  piece_free (piece);
}

static void
free_key (gpointer key)
{
  sign_key_free (key);
}

static gboolean
read_keys (Count *count, char **paths)
{
  for (char **path = paths; path && *path; path++) {
    g_autoptr (GString) wrong = g_string_new (NULL);
    SignKey *key = sign_read_key (*path, FALSE, wrong);

    if (!key)
      return complain ("--key %s", wrong->str);
    g_ptr_array_add (count->keys, key);
  }
  return TRUE;
}

static void
print_sum (const Count *count)
{
  printf ("%u good, %u wrong, %" G_GUINT64_FORMAT " deleted by retention; %" G_GUINT64_FORMAT
          " frames, %" G_GUINT64_FORMAT " unmasked\n",
      count->good, count->bad, count->pruned, count->frames, count->unmasked);
  if (count->good + count->bad + count->faults == 0)
    printf ("There is no piece: give the \"folder\" of a camera's \"record\".\n");
  if (count->keys->len == 0)
    printf ("Without --key nobody can tell who has written the records.\n");
}

int
main (int argc, char **argv)
{
  g_auto (GStrv) keys = NULL, originals = NULL;
  const GOptionEntry entries[] = {
    { "key", 'k', 0, G_OPTION_ARG_FILENAME_ARRAY, &keys, "public key of Ed25519 in PEM; may be given several times",
        "PUBLIC.pem" },
    { "original", 'o', 0, G_OPTION_ARG_FILENAME_ARRAY, &originals,
        "filter this video again as the record of the one FILE says, and compare; may be given several times, in the "
        "order of their frames",
        "VIDEO" },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  Count count = { .keys = g_ptr_array_new_with_free_func (free_key) };
  gboolean ok = TRUE;

  setlocale (LC_ALL, "");
  g_set_prgname ("cf-verify");
  if (!parse_command_line (entries, "FILE|FOLDER...", summary, description, &argc, &argv) || !read_keys (&count, keys))
    return 2;
  if (argc < 2) {
    complain ("which FILE or FOLDER is to be checked? --help shows an example");
    return 2;
  }
  if (originals && (count.keys->len == 0 || argc > 2 || g_file_test (argv[1], G_FILE_TEST_IS_DIR))) {
    complain (count.keys->len ? "--original is for one FILE"
                              : "--original needs --key: a filter is run only if its record is signed");
    return 2;
  }
  count.originals = originals;
  if (originals)
    gst_init (NULL, NULL);
  for (int i = 1; i < argc && ok; i++)
    if (g_file_test (argv[i], G_FILE_TEST_IS_DIR))
      ok = check_folder (&count, argv[i]);
    else
      check_file (&count, argv[i]);
  if (ok)
    print_sum (&count);
  ok = flush_output () && ok && !count.bad && !count.faults && count.good;
  g_ptr_array_unref (count.keys);
  return ok ? 0 : 1;
}
