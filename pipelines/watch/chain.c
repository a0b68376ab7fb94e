/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * chain.c: the records of a camera's pieces on the disk.
 *
 * A crash leaves no record that the chain does not know, nor the other way round. A record is written as
 * FILE.json.part, then CAMERA.chain names it, then it gets its name; the next start makes up for the last step. */
#include "chain.h"

#include "hashes.h"
#include "reader.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

/* A chain that this process writes. It lives as long, so that no older file can take the place of what it knows. */
typedef struct {
  GMutex lock;
  char *path;
  ChainState *state; /* NULL: not read yet */
  gboolean trusted;  /* it was begun here, or its signature was right */
  gboolean unsaved;  /* the disk has not taken the state */
  char *note;        /* why it was begun, for the next record's event; NULL: nothing to say */
} Chain;

/* ---- the state as text --------------------------------------------------- */

const char *
chain_text (JsonObject *object, const char *member)
{
  JsonNode *node = object ? json_object_get_member (object, member) : NULL;

  return node && json_node_get_value_type (node) == G_TYPE_STRING ? json_node_get_string (node) : NULL;
}

gint64
chain_number (JsonObject *object, const char *member)
{
  JsonNode *node = object ? json_object_get_member (object, member) : NULL;

  return node && json_node_get_value_type (node) == G_TYPE_INT64 ? json_node_get_int (node) : -1;
}

JsonObject *
chain_object (JsonArray *array, guint i)
{
  JsonNode *node = json_array_get_element (array, i);

  return JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
}

static void
clear_gap (gpointer data)
{
  ChainGap *gap = data;

  g_free (gap->previous);
  g_free (gap->last);
}

static ChainState *
state_new (void)
{
  ChainState *state = g_new0 (ChainState, 1);

  state->id = g_uuid_string_random ();
  state->pruned = g_array_new (FALSE, FALSE, sizeof (ChainGap));
  g_array_set_clear_func (state->pruned, clear_gap);
  return state;
}

void
chain_state_free (ChainState *state)
{
  if (!state)
    return;
  g_free (state->id);
  g_free (state->last);
  g_free (state->file);
  g_array_unref (state->pruned);
  g_free (state);
}

static gboolean
parse_gap (JsonObject *object, ChainState *state)
{
  const gint64 from = chain_number (object, "from"), to = chain_number (object, "to");
  ChainGap gap = { .from = (guint64) from, .to = (guint64) to };

  if (from < 1 || to < from || !chain_text (object, "last"))
    return FALSE;
  gap.previous = g_strdup (chain_text (object, "previous"));
  gap.last = g_strdup (chain_text (object, "last"));
  g_array_append_val (state->pruned, gap);
  return TRUE;
}

static ChainState *
state_of (JsonObject *top)
{
  JsonNode *pruned = json_object_get_member (top, "pruned");
  ChainState *state;
  gboolean ok = chain_number (top, "format") == CHAIN_FORMAT && chain_text (top, "chain") &&
      chain_number (top, "number") >= 0 && pruned && JSON_NODE_HOLDS_ARRAY (pruned);

  if (!ok)
    return NULL;
  state = state_new ();
  g_free (state->id);
  state->id = g_strdup (chain_text (top, "chain"));
  state->number = (guint64) chain_number (top, "number");
  state->last = g_strdup (chain_text (top, "last"));
  state->file = g_strdup (chain_text (top, "file"));
  for (guint i = 0; ok && i < json_array_get_length (json_node_get_array (pruned)); i++)
    ok = parse_gap (chain_object (json_node_get_array (pruned), i), state);
  if (ok)
    return state;
  chain_state_free (state);
  return NULL;
}

ChainState *
chain_parse (const char *text)
{
  g_autofree char *line = g_strndup (text, strcspn (text, "\n"));
  g_autoptr (GString) wrong = g_string_new (NULL);
  ChainState *state = NULL;
  JsonObject *top;
  Reader reader;

  reader_init (&reader, NULL, NULL, wrong);
  if ((top = reader_parse (&reader, line, -1)))
    state = state_of (top);
  reader_clear (&reader);
  return state;
}

static void
set_text (JsonObject *object, const char *member, const char *text)
{
  if (text)
    json_object_set_string_member (object, member, text);
  else
    json_object_set_null_member (object, member);
}

/* Returns the object as text. Takes it. */
static char *
text_of (JsonObject *object, gboolean pretty)
{
  JsonNode *node = json_node_init_object (json_node_alloc (), object);
  g_autofree char *text = json_to_string (node, pretty);

  json_node_unref (node);
  json_object_unref (object);
  return g_strconcat (text, "\n", NULL);
}

static char *
state_text (const char *camera, const ChainState *state)
{
  JsonObject *top = json_object_new ();
  JsonArray *pruned = json_array_new ();

  for (guint i = 0; i < state->pruned->len; i++) {
    const ChainGap *gap = &g_array_index (state->pruned, ChainGap, i);
    JsonObject *object = json_object_new ();

    json_object_set_int_member (object, "from", (gint64) gap->from);
    json_object_set_int_member (object, "to", (gint64) gap->to);
    set_text (object, "previous", gap->previous);
    set_text (object, "last", gap->last);
    json_array_add_object_element (pruned, object);
  }
  json_object_set_int_member (top, "format", CHAIN_FORMAT);
  json_object_set_string_member (top, "camera", camera);
  json_object_set_string_member (top, "chain", state->id);
  json_object_set_int_member (top, "number", (gint64) state->number);
  set_text (top, "last", state->last);
  set_text (top, "file", state->file);
  json_object_set_array_member (top, "pruned", pruned);
  return text_of (top, FALSE);
}

gsize
chain_signature (const char *text, gsize length, guchar signature[SIGNATURE_BYTES])
{
  const char *end = memchr (text, '\n', length);
  g_autofree char *line = end ? g_strndup (end + 1, length - (gsize) (end + 1 - text)) : NULL;
  g_autofree guchar *bytes = NULL;
  gsize n = 0;

  if (!line || !*line)
    return 0;
  bytes = g_base64_decode (line, &n);
  if (n != SIGNATURE_BYTES)
    return 0;
  memcpy (signature, bytes, n);
  return (gsize) (end + 1 - text);
}

/* ---- files --------------------------------------------------------------- */

char *
chain_read (const char *path, gint64 max, gsize *length)
{
  GStatBuf info;
  char *text = NULL;

  if (g_lstat (path, &info) || !S_ISREG (info.st_mode) || info.st_size > max)
    return NULL;
  return g_file_get_contents (path, &text, length, NULL) ? text : NULL;
}

/* Writes all of it or nothing. */
static gboolean
write_text (const char *path, const char *text, gsize length, GString *wrong)
{
  g_autoptr (GError) error = NULL;

  if (g_file_set_contents_full (path, text, (gssize) length,
          G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE, 0666, &error))
    return TRUE;
  g_string_append (wrong, error->message);
  return FALSE;
}

static gboolean
save (Chain *chain, const char *camera, SignKey *key, GString *wrong)
{
  g_autofree char *line = state_text (camera, chain->state), *text = NULL, *coded = NULL;
  guchar signature[SIGNATURE_BYTES];

  if (key && sign_text (key, line, strlen (line), signature))
    coded = g_base64_encode (signature, sizeof signature);
  text = g_strconcat (line, coded, coded ? "\n" : NULL, NULL);
  chain->unsaved = !write_text (chain->path, text, strlen (text), wrong);
  return !chain->unsaved;
}

/* Gives the newest record its name, if the process before has ended just then. */
static void
finish_newest (Chain *chain)
{
  g_autofree char *folder = g_path_get_dirname (chain->path), *sum = NULL, *part = NULL, *record = NULL;
  g_autoptr (GString) wrong = g_string_new (NULL);
  guint64 bytes;

  if (!chain->state->file || strchr (chain->state->file, '/'))
    return;
  record = g_strdup_printf ("%s/%s.json", folder, chain->state->file);
  part = g_strconcat (record, ".part", NULL);
  if (!g_file_test (record, G_FILE_TEST_EXISTS) && (sum = sign_hash_file (part, &bytes, wrong)) &&
      !g_strcmp0 (sum, chain->state->last))
    g_rename (part, record);
}

/* Sees to it that the chain is known, and is one that the key may go on with. What somebody else has written is not
 * signed: a new chain begins, and cf-verify says so. */
static void
load (Chain *chain, SignKey *key)
{
  guchar signature[SIGNATURE_BYTES];
  g_autofree char *text = NULL;
  gsize length = 0, n;

  if (!chain->state && (text = chain_read (chain->path, CHAIN_MAX, &length))) {
    chain->state = chain_parse (text);
    n = chain_signature (text, length, signature);
    chain->trusted = key && n && sign_check (key, text, n, signature);
  }
  if (chain->state && text)
    finish_newest (chain);
  if (chain->state && (!key || chain->trusted))
    return;
  g_clear_pointer (&chain->note, g_free);
  if (chain->state || g_file_test (chain->path, G_FILE_TEST_EXISTS))
    chain->note = g_strdup_printf ("%s %s: a new chain begins", chain->path,
        chain->state ? "is not signed by this key" : "is no chain");
  chain_state_free (chain->state);
  chain->state = state_new ();
  chain->trusted = TRUE;
}

/* Returns the chain for pieces in this folder, and locks it. */
static Chain *
take (const ChainOwner *owner, const char *piece)
{
  static GMutex lock;
  static GHashTable *chains;
  g_autofree char *folder = g_path_get_dirname (piece), *path = g_strdup_printf ("%s/%s.chain", folder, owner->camera);
  Chain *chain;

  g_mutex_lock (&lock);
  if (!chains)
    chains = g_hash_table_new (g_str_hash, g_str_equal);
  if (!(chain = g_hash_table_lookup (chains, path))) {
    chain = g_new0 (Chain, 1);
    g_mutex_init (&chain->lock);
    chain->path = g_steal_pointer (&path);
    g_hash_table_insert (chains, chain->path, chain);
  }
  g_mutex_unlock (&lock);
  g_mutex_lock (&chain->lock);
  return chain;
}

/* ---- a new record -------------------------------------------------------- */

static char *
complete (Chain *chain, JsonObject *record, SignKey *key)
{
  g_autofree char *name = key ? sign_key_name (key) : NULL;

  json_object_set_string_member (record, "chain", chain->state->id);
  json_object_set_int_member (record, "number", (gint64) chain->state->number + 1);
  set_text (record, "previous", chain->state->last);
  if (name)
    json_object_set_string_member (record, "key", name);
  return text_of (json_object_ref (record), TRUE);
}

/* Writes the record and its signature, and lets the chain name it. */
static gboolean
write_record (Chain *chain, const ChainOwner *owner, const char *piece, const char *text, const char *sum, SignKey *key,
    GString *wrong)
{
  g_autofree char *record = g_strconcat (piece, ".json", NULL), *part = g_strconcat (record, ".part", NULL);
  g_autofree char *sig = g_strconcat (record, ".sig", NULL), *last = chain->state->last, *file = chain->state->file;
  guchar signature[SIGNATURE_BYTES];
  gboolean ok = TRUE;

  if (key && sign_text (key, text, strlen (text), signature))
    ok = write_text (sig, (const char *) signature, sizeof signature, wrong);
  chain->state->last = g_strdup (sum);
  chain->state->file = g_path_get_basename (piece);
  chain->state->number++;
  if (ok && write_text (part, text, strlen (text), wrong) && save (chain, owner->camera, key, wrong)) {
    if (!g_rename (part, record))
      return TRUE;
    g_string_append_printf (wrong, "%s: %s", record, g_strerror (errno)); /* the chain names it: it stays */
    return FALSE;
  }
  chain->state->number--;
  g_free (chain->state->last);
  g_free (chain->state->file);
  chain->state->last = g_steal_pointer (&last);
  chain->state->file = g_steal_pointer (&file);
  g_unlink (part);
  g_unlink (sig);
  return FALSE;
}

/* Adds the SHA-256 of the list of hashes. */
static void
add_hashes (const char *piece, JsonObject *record, GString *wrong)
{
  g_autofree char *path = g_strconcat (piece, HASHES_END, NULL), *hash = NULL;
  guint64 bytes;

  if ((hash = sign_hash_file (path, &bytes, wrong)))
    json_object_set_string_member (record, "hashes", hash);
}

char *
chain_add (const ChainOwner *owner, const char *piece, JsonObject *record, GString *wrong)
{
  guint64 bytes;
  g_autofree char *hash = sign_hash_file (piece, &bytes, wrong), *text = NULL, *sum = NULL;
  g_autoptr (SignKey) key = NULL;
  Chain *chain;
  gboolean ok;

  if (!hash)
    return NULL;
  json_object_set_int_member (record, "bytes", (gint64) bytes);
  json_object_set_string_member (record, "sha256", hash);
  if (owner->hashes)
    add_hashes (piece, record, wrong);
  key = owner->sign ? sign_read_key (owner->sign, TRUE, wrong) : NULL;
  chain = take (owner, piece);
  load (chain, key);
  if (chain->note)
    g_string_append_printf (wrong, "%s%s", wrong->len ? "; " : "", chain->note);
  g_clear_pointer (&chain->note, g_free);
  text = complete (chain, record, key);
  sum = g_compute_checksum_for_string (G_CHECKSUM_SHA256, text, -1);
  ok = write_record (chain, owner, piece, text, sum, key, wrong);
  g_mutex_unlock (&chain->lock);
  return ok ? g_steal_pointer (&sum) : NULL;
}

/* ---- retention ----------------------------------------------------------- */

static gboolean
follows (const ChainGap *gap, const ChainGap *next)
{
  return gap->to + 1 == next->from && !g_strcmp0 (gap->last, next->previous);
}

/* Adds a record to the gaps. Those that follow each other become one. Somebody may have put another record in the place
 * of this one: then it follows none, and cf-verify does not take it for an explanation. */
static void
add_gap (GArray *pruned, guint64 number, const char *previous, const char *sum)
{
  ChainGap new = { number, number, NULL, NULL };
  guint i = 0;

  while (i < pruned->len && g_array_index (pruned, ChainGap, i).to < number)
    i++;
  if (i < pruned->len && g_array_index (pruned, ChainGap, i).from <= number)
    return;
  new.previous = g_strdup (previous);
  new.last = g_strdup (sum);
  g_array_insert_val (pruned, i, new);
  for (guint at = i + 1; at >= MAX (i, 1); at--) {
    ChainGap *gap = &g_array_index (pruned, ChainGap, at - 1);

    if (at >= pruned->len || !follows (gap, gap + 1))
      continue;
    gap->to = gap[1].to;
    g_free (gap->last);
    gap->last = g_strdup (gap[1].last);
    g_array_remove_index (pruned, at);
  }
}

void
chain_prune (const ChainOwner *owner, const char *piece)
{
  g_autofree char *path = g_strconcat (piece, ".json", NULL), *name = g_path_get_basename (piece), *sum = NULL;
  g_autoptr (GString) wrong = g_string_new (NULL);
  g_autoptr (SignKey) key = NULL;
  gsize length;
  g_autofree char *text = chain_read (path, CHAIN_MAX, &length);
  JsonObject *record;
  Reader reader;
  Chain *chain;

  reader_init (&reader, NULL, NULL, wrong);
  if (!text || !(record = reader_parse (&reader, text, (gssize) length))) {
    reader_clear (&reader);
    return;
  }
  sum = g_compute_checksum_for_data (G_CHECKSUM_SHA256, (const guchar *) text, length);
  key = owner->sign ? sign_read_key (owner->sign, TRUE, wrong) : NULL;
  chain = take (owner, piece);
  load (chain, key);
  if (!g_strcmp0 (chain_text (record, "chain"), chain->state->id) && !g_strcmp0 (chain_text (record, "file"), name) &&
      chain_number (record, "number") > 0) {
    add_gap (chain->state->pruned, (guint64) chain_number (record, "number"), chain_text (record, "previous"), sum);
    save (chain, owner->camera, key, wrong);
  }
  g_mutex_unlock (&chain->lock);
  reader_clear (&reader);
}

void
chain_delete (const ChainOwner *owner, const char *piece)
{
  static const char *const ends[] = { ".json", ".json.sig", ".json.part", HASHES_END };
  g_autoptr (GString) wrong = g_string_new (NULL);
  g_autoptr (SignKey) key = NULL;
  Chain *chain = take (owner, piece);

  for (guint i = 0; i < G_N_ELEMENTS (ends); i++) {
    g_autofree char *path = g_strconcat (piece, ends[i], NULL);

    g_unlink (path);
  }
  if (chain->state && chain->unsaved) { /* the disk was full */
    key = owner->sign ? sign_read_key (owner->sign, TRUE, wrong) : NULL;
    save (chain, owner->camera, key, wrong);
  }
  g_mutex_unlock (&chain->lock);
}
