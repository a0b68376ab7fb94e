/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * proof.c: what can be said of a camera's hiding afterwards.
 *
 * The elements count, cf-watch only asks: before a value changes, every few seconds, and when a piece is finished. The
 * count of a piece is never too small: it begins a few seconds before the first frame. */
#include "proof.h"

#include "chain.h"
#include "elements.h"
#include "events.h"
#include "properties.h"
#include "threads.h"

#include <string.h>

#define MARGIN (10 * G_USEC_PER_SEC)    /* a frame may have left the filter so long before its time of day */
#define REMEMBER (600 * G_USEC_PER_SEC) /* a piece may begin with frames that are so old */
#define MAX_NOTED (1 << 20)             /* bytes of settings that are remembered for pieces to come */
#define LINE "filter"  /* what a change of the filter line sets; others name an element's property, or "enabled" */
#define NOTE_BYTES 200 /* of a change, beside its value */
#define MAX_CHANGES (1 << 20)             /* bytes in one record, about */
#define MAX_OPEN 16                       /* pieces; failed recordings have left the older ones */
#define MAX_JOBS 256                      /* records that wait for the disk */
#define ENDS_WITHIN (10 * G_USEC_PER_SEC) /* how long a disk that hangs delays the camera's end */

/* A pipeline. All its frames count if nothing in it hides, or did, but something in an earlier one of the camera. */
typedef struct {
  Pipeline *pipeline;
  guint64 frames; /* when it was asked last */
} Filter;

/* An element that may hide. */
typedef struct {
  const Pipeline *pipeline;
  GstElement *element;
  gboolean counts;        /* it is set to hide, or was: a frame that it lets pass is unmasked */
  gboolean hides;         /* it did when it was asked last */
  guint64 frames, passed; /* of its `stats`, when it was asked last */
  guint64 under_way;      /* frames that may still have the values from before it hid */
} Hiding;

typedef struct {
  gint64 time; /* monotonic µs */
  guint64 unmasked;
} Count;

/* The values from a time on. */
typedef struct {
  gint64 time;
  CameraSettings *of; /* which the pipeline was made of: its filter line */
  char *settings;     /* of all elements, as JSON */
  JsonObject *change; /* NULL: a new pipeline */
  gsize bytes;        /* of the change, about */
} Note;

typedef struct {
  char *file, *settings;
  CameraSettings *of; /* NULL: unknown */
  gint64 clock;       /* the time of day less the monotonic time, µs */
  guint64 before;
  JsonArray *changes;
  gsize bytes; /* of the changes, about */
  guint left_out;
} Open;

typedef struct {
  Proof *proof;
  CameraSettings *settings;
  char *file, *sum;
  JsonObject *record;
  GString *wrong;
  void (*done) (const char *file, gpointer data);
  gpointer data;
} Job;

struct Proof {
  guint count;        /* of references */
  GArray *filters;    /* of Filter */
  GPtrArray *hiding;  /* of Hiding */
  gboolean any;       /* something hides, or did */
  gboolean recorded;  /* FALSE: nothing is remembered for pieces */
  CameraSettings *of; /* which the newest pipeline was made of; NULL: none yet */
  guint64 unmasked;
  GArray *counts; /* of Count, where it has changed */
  GQueue notes;   /* of Note */
  gsize noted;    /* bytes of their settings */
  GPtrArray *open;
  GQueue jobs;
  gint64 writing; /* monotonic µs: since when the first job is under way, 0: it is not */
};

/* ---- frames that left unmasked ------------------------------------------- */

static gboolean
has_word (GstElement *element, const char *property, const char *const *words)
{
  g_autofree char *word = NULL;
  GValue value = G_VALUE_INIT;

  g_object_get_property (G_OBJECT (element), property, &value);
  word = gst_value_serialize (&value);
  g_value_unset (&value);
  return word && g_strv_contains (words, word);
}

/* Returns whether the element hides what its regions cover, as it is set now; `on`: whether it is enabled, too. */
static gboolean
is_to_hide (GstElement *element, gboolean *on)
{
  static const char *const presets[] = { "fill", "mosaic", "privacy", NULL }, *const all[] = { "all", NULL };
  const gboolean hides = has_word (element, "preset", presets) && has_word (element, "apply-to", all);

  g_object_get (element, "enabled", on, NULL);
  *on = *on && hides;
  return hides;
}

static void
hiding_free (gpointer data)
{
  Hiding *hiding = data;

  gst_object_unref (hiding->element);
  g_free (hiding);
}

/* Returns how many frames have left the element unmasked since it was asked last. */
static guint64
ask (Hiding *hiding)
{
  guint64 frames = 0, passed = 0, left;
  GstStructure *stats = NULL;
  gboolean now = FALSE, is_to;
  int in_flight = 1;

  g_object_get (hiding->element, "stats", &stats, "frames-in-flight", &in_flight, NULL);
  is_to = is_to_hide (hiding->element, &now);
  if (stats)
    gst_structure_get (stats, "frames", G_TYPE_UINT64, &frames, "frames-passed", G_TYPE_UINT64, &passed, NULL);
  gst_clear_structure (&stats);
  if (frames < hiding->frames) /* it has started anew */
    hiding->frames = hiding->passed = 0;
  left = now && hiding->hides ? passed - hiding->passed : frames - hiding->frames;
  left = MAX (left, MIN (frames - hiding->frames, hiding->under_way));
  if (now && !hiding->hides)
    hiding->under_way = (guint64) in_flight;
  else if (frames > hiding->frames)
    hiding->under_way = 0;
  if (!hiding->counts)
    left = 0;
  hiding->counts |= is_to;
  hiding->hides = now;
  hiding->frames = frames;
  hiding->passed = passed;
  return left;
}

/* Returns how many frames have left the pipeline since it was asked last; 0 if an element of it is set to hide, or
 * was. */
static guint64
ask_filter (Proof *proof, Filter *filter)
{
  const guint64 frames = pipeline_counts (filter->pipeline).frames, left = frames - filter->frames;

  filter->frames = frames;
  for (guint i = 0; i < proof->hiding->len; i++) {
    const Hiding *hiding = proof->hiding->pdata[i];

    if (hiding->pipeline == filter->pipeline && hiding->counts)
      return 0;
  }
  return proof->any ? left : 0;
}

gboolean
proof_count (Proof *proof, guint64 *unmasked)
{
  const gint64 now = g_get_monotonic_time ();
  guint64 left = 0;

  for (guint i = 0; i < proof->filters->len; i++)
    left += ask_filter (proof, &g_array_index (proof->filters, Filter, i));
  for (guint i = 0; i < proof->hiding->len; i++) {
    Hiding *hiding = proof->hiding->pdata[i];

    left += ask (hiding);
    proof->any |= hiding->counts;
  }
  while (proof->counts->len > 1 && g_array_index (proof->counts, Count, 1).time < now - REMEMBER)
    g_array_remove_index (proof->counts, 0);
  proof->unmasked += left;
  if (left && proof->recorded)
    g_array_append_vals (proof->counts, &(Count) { now, proof->unmasked }, 1);
  if (unmasked)
    *unmasked = proof->unmasked;
  return proof->any;
}

/* Returns how many frames were counted up to this time. */
static guint64
count_at (Proof *proof, gint64 time)
{
  guint64 found = 0;

  for (guint i = 0; i < proof->counts->len && g_array_index (proof->counts, Count, i).time <= time; i++)
    found = g_array_index (proof->counts, Count, i).unmasked;
  return found;
}

void
proof_attach (Proof *proof, Pipeline *pipeline, GList *elements)
{
  g_array_append_vals (proof->filters, &(Filter) { pipeline, 0 }, 1);
  for (GList *l = elements; l; l = l->next) {
    Hiding *hiding;

    if (strcmp (element_kind (l->data), "cudaconvolve"))
      continue;
    hiding = g_new0 (Hiding, 1);
    hiding->pipeline = pipeline;
    hiding->element = gst_object_ref (l->data);
    hiding->counts = is_to_hide (l->data, &hiding->hides);
    g_ptr_array_add (proof->hiding, hiding);
  }
}

void
proof_detach (Proof *proof, Pipeline *pipeline)
{
  proof_count (proof, NULL);
  for (guint i = proof->hiding->len; i-- > 0;)
    if (((Hiding *) proof->hiding->pdata[i])->pipeline == pipeline)
      g_ptr_array_remove_index (proof->hiding, i);
  for (guint i = proof->filters->len; i-- > 0;)
    if (g_array_index (proof->filters, Filter, i).pipeline == pipeline)
      g_array_remove_index (proof->filters, i);
}

/* ---- settings ------------------------------------------------------------ */

static void
note_free (gpointer data)
{
  Note *note = data;

  camera_settings_unref (note->of);
  g_free (note->settings);
  if (note->change)
    json_object_unref (note->change);
  g_free (note);
}

/* Adds a note's change, with its time of day. */
static void
add_change (Open *open, const Note *note)
{
  JsonObject *change;

  if (open->bytes + note->bytes > MAX_CHANGES) {
    open->left_out++;
    return;
  }
  open->bytes += note->bytes;
  change = object_of ("time", time_node (note->time + open->clock), NULL);
  object_add_members (change, json_object_ref (note->change));
  json_array_add_object_element (open->changes, change);
}

/* Returns the values of the elements as JSON. Free it. */
static char *
settings_of (GList *elements)
{
  JsonNode *node = array_node (properties_set_json (elements));
  char *text = json_to_string (node, FALSE);

  json_node_unref (node);
  return text;
}

/* Takes the text and the change, which has about so many bytes. */
static void
add_note (Proof *proof, char *settings, JsonObject *change, gsize bytes)
{
  Note *note = g_new0 (Note, 1), *next;

  note->time = g_get_monotonic_time ();
  note->of = camera_settings_ref (proof->of);
  note->settings = settings;
  note->change = change;
  note->bytes = bytes + NOTE_BYTES;
  proof->noted += note->bytes + strlen (settings);
  g_queue_push_tail (&proof->notes, note);
  while ((next = g_queue_peek_nth (&proof->notes, 1)) &&
      (proof->noted > MAX_NOTED || next->time < note->time - REMEMBER)) {
    Note *oldest = g_queue_pop_head (&proof->notes);

    proof->noted -= oldest->bytes + strlen (oldest->settings);
    note_free (oldest);
  }
  for (guint i = 0; change && i < proof->open->len; i++)
    add_change (proof->open->pdata[i], note);
}

void
proof_begin (Proof *proof, GList *elements, CameraSettings *settings)
{
  const gboolean recorded = settings->record.folder != NULL;

  g_clear_pointer (&proof->of, camera_settings_unref);
  proof->of = camera_settings_ref (settings);
  if (recorded && !proof->recorded) {
    g_array_set_size (proof->counts, 0);
    g_array_append_vals (proof->counts, &(Count) { 0, proof->unmasked }, 1);
  }
  proof->recorded = recorded;
  for (guint i = 0; i < proof->hiding->len; i++) {
    Hiding *hiding = proof->hiding->pdata[i];

    if (!g_list_find (elements, hiding->element))
      continue;
    hiding->counts |= is_to_hide (hiding->element, &hiding->hides);
    proof->any |= hiding->counts;
  }
  if (recorded)
    add_note (proof, settings_of (elements), NULL, 0);
}

void
proof_look (Proof *proof, GList *elements)
{
  g_autofree char *settings = settings_of (elements);
  const Note *last = g_queue_peek_tail (&proof->notes);

  proof_count (proof, NULL);
  if (last && strcmp (last->settings, settings))
    add_note (proof, g_strdup (settings), object_of ("settings", json_from_string (settings, NULL), NULL),
        strlen (settings));
}

void
proof_note (Proof *proof, GList *elements, const char *target, const char *value, const char *by)
{
  proof_count (proof, NULL);
  if (!proof->recorded)
    return;
  add_note (proof, settings_of (elements),
      object_of ("set", text_node (target), "value", text_node (value), "by", text_node (by), NULL),
      strlen (target) + strlen (value));
}

void
proof_note_line (Proof *proof, const char *line, const char *by)
{
  const Note *last = g_queue_peek_tail (&proof->notes);

  proof_count (proof, NULL);
  if (proof->recorded && last)
    add_note (proof, g_strdup (last->settings),
        object_of ("set", word_node (LINE), "value", text_node (line), "by", text_node (by), NULL), strlen (line));
}

/* ---- pieces -------------------------------------------------------------- */

static void
open_free (gpointer data)
{
  Open *open = data;

  g_free (open->file);
  g_clear_pointer (&open->of, camera_settings_unref);
  g_free (open->settings);
  json_array_unref (open->changes);
  g_free (open);
}

/* Removes the changes of an earlier pipeline. Changes of the line stay: they have led to this one. */
static void
keep_lines (JsonArray *changes)
{
  for (guint i = json_array_get_length (changes); i-- > 0;) {
    JsonObject *change = json_array_get_object_element (changes, i);

    if (g_strcmp0 (json_object_get_string_member_with_default (change, "set", NULL), LINE))
      json_array_remove_element (changes, i);
  }
}

/* Finds the values with which the piece's first frames were filtered. All of them are of one pipeline: a later one
 * may be there before a slow disk begins the piece, and its values do not count. */
static Open *
open_new (Proof *proof, const SessionPiece *piece)
{
  const gint64 now = g_get_monotonic_time (), clock = g_get_real_time () - now;
  const gint64 start = MIN (piece->start - clock, now), from = start - MARGIN;
  Open *open = g_new0 (Open, 1);

  open->file = g_strdup (piece->file);
  open->clock = clock;
  open->changes = json_array_new ();
  open->before = count_at (proof, from);
  for (GList *l = proof->notes.head; l; l = l->next) {
    const Note *note = l->data;

    if (open->settings && !note->change && note->time > start + G_USEC_PER_SEC)
      break;
    if (open->settings && note->change && note->time > from) {
      add_change (open, note);
      continue;
    }
    g_free (open->settings);
    open->settings = g_strdup (note->settings);
    g_clear_pointer (&open->of, camera_settings_unref);
    open->of = camera_settings_ref (note->of);
    keep_lines (open->changes);
  }
  return open;
}

void
proof_piece_begun (Proof *proof, const SessionPiece *piece)
{
  proof_count (proof, NULL);
  if (proof->open->len >= MAX_OPEN)
    g_ptr_array_remove_index (proof->open, 0);
  g_ptr_array_add (proof->open, open_new (proof, piece));
}

static Open *
take_open (Proof *proof, const SessionPiece *piece)
{
  for (guint i = 0; i < proof->open->len; i++)
    if (g_str_equal (((Open *) proof->open->pdata[i])->file, piece->file))
      return g_ptr_array_steal_index (proof->open, i);
  return open_new (proof, piece);
}

static JsonObject *
record_of (Proof *proof, const CameraSettings *settings, const SessionPiece *piece)
{
  Open *open = take_open (proof, piece);
  g_autofree char *file = g_path_get_basename (piece->file);
  guint64 unmasked = 0;
  const gboolean any = proof_count (proof, &unmasked);
  JsonObject *record = object_of ("format", int_node (CHAIN_FORMAT), "camera", text_node (settings->name), "program",
      word_node ("cf-watch " PACKAGE_VERSION), "file", word_node (file), "first", time_node (piece->start), "last",
      time_node (piece->last), "frames", int_node ((gint64) piece->frames), "unmasked",
      any ? int_node ((gint64) (unmasked - open->before)) : NULL, "filter",
      text_node (open->of ? open->of->filter : settings->filter), "settings",
      open->settings ? json_from_string (open->settings, NULL) : NULL, "changes",
      array_node (json_array_ref (open->changes)), "changes_left_out",
      open->left_out ? int_node (open->left_out) : NULL, NULL);

  open_free (open);
  return record;
}

static void write_next (Proof *proof);

/* Ends the first job. */
static void
finish (Job *job)
{
  const char *camera = job->settings->name;

  if (job->sum)
    event_post (camera, "record-written", "file", text_node (job->file), "number",
        int_node (chain_number (job->record, "number")), "sha256", word_node (job->sum), NULL);
  if (job->wrong->len)
    event_post (camera, "record-failed", "file", text_node (job->file), "reason", text_node (job->wrong->str), NULL);
  job->done (job->file, job->data);
  camera_settings_unref (job->settings);
  json_object_unref (job->record);
  g_string_free (job->wrong, TRUE);
  g_free (job->file);
  g_free (job->sum);
  proof_unref (job->proof);
  g_free (job);
}

static gboolean
after_write (gpointer data)
{
  Job *job = data;
  Proof *proof = proof_ref (job->proof);

  g_queue_pop_head (&proof->jobs);
  proof->writing = 0;
  finish (job);
  write_next (proof);
  proof_unref (proof);
  return G_SOURCE_REMOVE;
}

static void
write_in_thread (gpointer data)
{
  Job *job = data;
  const ChainOwner owner = { job->settings->name, job->settings->record.sign,
    job->settings->record.hashes && *job->settings->filter };

  job->sum = chain_add (&owner, job->file, job->record, job->wrong);
  in_main (after_write, job);
}

static void
write_next (Proof *proof)
{
  if (proof->writing || g_queue_is_empty (&proof->jobs))
    return;
  proof->writing = g_get_monotonic_time ();
  in_pool (write_in_thread, g_queue_peek_head (&proof->jobs));
}

void
proof_piece_finished (Proof *proof, CameraSettings *settings, const SessionPiece *piece,
    void (*done) (const char *file, gpointer data), gpointer data)
{
  Job *job = g_new0 (Job, 1);

  job->proof = proof_ref (proof);
  job->settings = camera_settings_ref (settings);
  job->file = g_strdup (piece->file);
  job->record = record_of (proof, settings, piece);
  job->wrong = g_string_new (NULL);
  job->done = done;
  job->data = data;
  if (proof->jobs.length >= MAX_JOBS) {
    g_string_append (job->wrong, "too many records wait for the disk");
    finish (job);
    return;
  }
  g_queue_push_tail (&proof->jobs, job);
  write_next (proof);
}

gboolean
proof_is_busy (Proof *proof)
{
  return proof->writing && g_get_monotonic_time () - proof->writing < ENDS_WITHIN;
}

/* ---- the object ---------------------------------------------------------- */

Proof *
proof_new (void)
{
  Proof *proof = g_new0 (Proof, 1);

  proof->count = 1;
  proof->filters = g_array_new (FALSE, FALSE, sizeof (Filter));
  proof->hiding = g_ptr_array_new_with_free_func (hiding_free);
  proof->counts = g_array_new (FALSE, FALSE, sizeof (Count));
  proof->open = g_ptr_array_new_with_free_func (open_free);
  g_queue_init (&proof->notes);
  g_queue_init (&proof->jobs);
  return proof;
}

Proof *
proof_ref (Proof *proof)
{
  proof->count++;
  return proof;
}

void
proof_unref (Proof *proof)
{
  if (--proof->count)
    return;
  g_array_unref (proof->filters);
  g_ptr_array_unref (proof->hiding);
  g_clear_pointer (&proof->of, camera_settings_unref);
  g_array_unref (proof->counts);
  g_ptr_array_unref (proof->open);
  g_queue_clear_full (&proof->notes, note_free);
  g_free (proof);
}
