/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * index.c: writes the index. Once a second its thread takes what has come and writes it in one transaction.
 *
 * Which piece a frame lies in is known later: a recording begins with what came before the motion, and a piece is
 * reported when a group of pictures is whole. So what has come is held for some seconds. A clock that is set back makes
 * pieces of the same time. They differ by what the clock was ahead of the monotonic one, which all that comes is noted
 * with. */
#include "index.h"

#include "events.h"
#include "packets.h"
#include "search.h"
#include "state.h"
#include "threads.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <gst/video/video.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define HELD (5 * G_USEC_PER_SEC)        /* a piece is reported so much later than its frames */
#define UNRECORDED (30 * G_USEC_PER_SEC) /* what is in no piece by then never will be */
#define MOST 4096                        /* items that wait: a minute of a building, 2 MB */
#define MOST_PIECES (4 * MOST)           /* if pieces are among them */
#define AT_ONCE 4000                     /* rows that a transaction deletes, twice as many at most */
#define STOPS_WITHIN G_USEC_PER_SEC

/* Something that came. */
typedef struct {
  const char *type; /* CELLS, or an event's */
  char *camera, *line;
  gint64 time, clock; /* µs since 1970; µs that the clock is ahead of the monotonic one */
  Cells cells;
  gboolean done; /* in the transaction that is under way */
  /* Of an event: */
  JsonObject *event;
  const char *file; /* NULL: it names none */
  const char *kind; /* motion, zone or region; NULL: it is none of these */
  const char *zone; /* "": none */
  gint64 region;    /* its number; 0: none */
  gboolean begins;
  double box[4]; /* around all: left, top, right, bottom, in fractions of the frame */
} Item;

static const char CELLS[] = "cells";

static char *path;   /* of the file; NULL: there is no index */
static Watch *watch; /* main thread */
static struct {
  GMutex lock;
  GCond changed;
  GQueue items;
  GHashTable *newest; /* camera -> its newest item of CELLS in `items` */
  gboolean ending, ended;
} queue;
static _Atomic guint n_waiting;
static _Atomic guint64 n_dropped;

/* ---- what comes ---------------------------------------------------------- */

static Item *
item_new (const char *type, const char *camera, gint64 time)
{
  Item *item = g_new0 (Item, 1);

  item->type = type;
  item->camera = g_strdup (camera);
  item->time = time;
  item->clock = g_get_real_time () - g_get_monotonic_time ();
  atomic_fetch_add (&n_waiting, 1);
  return item;
}

static void
item_free (Item *item)
{
  g_free (item->camera);
  g_free (item->line);
  g_clear_pointer (&item->event, json_object_unref);
  g_free (item);
  atomic_fetch_sub (&n_waiting, 1);
}

/* Queues the item, unless too many wait. Pieces are few, and count more; but the disk may be full for days. */
static void
push (Item *item)
{
  Item *newest;

  g_mutex_lock (&queue.lock);
  newest = item->type == CELLS ? g_hash_table_lookup (queue.newest, item->camera) : NULL;
  if (newest && newest->time / G_USEC_PER_SEC == item->time / G_USEC_PER_SEC) {
    cells_merge (&newest->cells, &item->cells);
    g_clear_pointer (&item, item_free);
  } else if (atomic_load (&n_waiting) > (g_str_has_prefix (item->type, "piece-") ? MOST_PIECES : MOST)) {
    g_clear_pointer (&item, item_free);
    atomic_fetch_add (&n_dropped, 1);
  } else {
    g_queue_push_tail (&queue.items, item);
    if (item->type == CELLS)
      g_hash_table_insert (queue.newest, item->camera, item);
  }
  g_mutex_unlock (&queue.lock);
}

void
index_frame (const char *camera, GstElement *pipeline, GstPad *pad, GstBuffer *buffer)
{
  g_autoptr (GstEvent) event = gst_pad_get_sticky_event (pad, GST_EVENT_SEGMENT, 0);
  g_autoptr (GstCaps) caps = NULL;
  const GstSegment *segment;
  gpointer state = NULL;
  Item *item = NULL;
  GstVideoInfo info;
  GstMeta *next;

  while (path && event &&
      (next = gst_buffer_iterate_meta_filtered (buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))) {
    const GstVideoRegionOfInterestMeta *meta = (const GstVideoRegionOfInterestMeta *) next;

    if (!meta->w || !meta->h || meta->roi_type != g_quark_from_static_string ("motion"))
      continue;
    if (!item) {
      if (!(caps = gst_pad_get_current_caps (pad)) || !gst_video_info_from_caps (&info, caps))
        return;
      gst_event_parse_segment (event, &segment);
      item = item_new (CELLS, camera,
          wall_time (
              age_of (pipeline, gst_segment_to_running_time (segment, GST_FORMAT_TIME, GST_BUFFER_PTS (buffer)))));
    }
    cells_add_box (&item->cells, (double) meta->x / info.width, (double) meta->y / info.height,
        (double) meta->w / info.width, (double) meta->h / info.height);
  }
  if (item)
    push (item);
}

void
index_event (const char *line, const char *camera, const char *type)
{
  static const char *const types[] = { "element", "motion", "piece-begun", "piece-finished", "piece-deleted",
    "recording-failed", "lost", "ended", "failed", "removed", "started", "back", NULL };
  const gboolean may_be_many = !strcmp (type, "element") || !strcmp (type, "motion");
  const Camera *from = path && may_be_many ? watch_find (watch, camera) : NULL;
  Item *item;

  if (!path || !g_strv_contains (types, type) || (may_be_many && !(from && from->settings->record.folder)))
    return;
  item = item_new (g_intern_string (type), camera, g_get_real_time ());
  item->line = g_strdup (line);
  push (item);
}

const char *
index_path (void)
{
  return path;
}

guint64
index_dropped (void)
{
  return atomic_load (&n_dropped);
}

/* ---- the file ------------------------------------------------------------ */

/* The rows of a piece whose camera is "" are being deleted. Times are µs since 1970, `clock` what the clock was ahead
 * of the monotonic one; `second` and `minute` count those since 1970; `box` is as the property roi has it. */
static const char tables[] =
    "BEGIN; CREATE TABLE piece (id INTEGER PRIMARY KEY AUTOINCREMENT, camera TEXT NOT NULL, file TEXT NOT NULL UNIQUE, "
    "start INTEGER NOT NULL, \"end\" INTEGER, clock INTEGER);"
    "CREATE INDEX piece_time ON piece (camera, start);"
    "CREATE TABLE second (piece INTEGER, second INTEGER, cells BLOB, PRIMARY KEY (piece, second)) WITHOUT ROWID;"
    "CREATE TABLE minute (piece INTEGER, minute INTEGER, cells BLOB, PRIMARY KEY (piece, minute)) WITHOUT ROWID;"
    "CREATE TABLE event (piece INTEGER, begin INTEGER, \"end\" INTEGER, kind TEXT, zone TEXT, region INTEGER, "
    "box TEXT);"
    "CREATE INDEX event_time ON event (piece, begin);"
    "CREATE INDEX event_open ON event (kind) WHERE \"end\" IS NULL;"
    "PRAGMA user_version = " G_STRINGIFY (SEARCH_FORM) "; COMMIT";

/* Run once: ends what an earlier process has left, and finds pieces that were deleted meanwhile. Where all of a
 * camera's are missing, it is their disk that is away. */
static const char left[] =
    "UPDATE piece SET \"end\" = coalesce ((SELECT max (second) + 1 FROM second WHERE piece = id) "
    "* 1000000, start) WHERE \"end\" IS NULL;"
    "UPDATE event SET \"end\" = max (begin, ifnull ((SELECT \"end\" FROM piece WHERE id = piece), 0)) "
    "WHERE \"end\" IS NULL;"
    "UPDATE piece SET camera = '' WHERE NOT is_there (file) AND "
    "camera IN (SELECT camera FROM piece WHERE is_there (file))";

/* Of the writer's thread. */
static struct {
  GQueue held;     /* of Item, in the order in which they came */
  sqlite3 *db;     /* NULL: it is not open */
  int lock;        /* the open file: as long as this process writes it, no other one does; -1: not open */
  int status;      /* SQLite's; after a failure nothing more is done */
  gboolean gone;   /* pieces may have rows that are to be deleted */
  gboolean looked; /* `left` is done */
  gboolean reported;
  guint64 dropped; /* as reported */
} writer = { .lock = -1 };

/* Returns the time that an event names, µs since 1970. */
static gint64
time_of (JsonObject *event, const char *member)
{
  g_autoptr (GDateTime) time = g_date_time_new_from_iso8601 (json_object_get_string_member (event, member), NULL);

  return g_date_time_to_unix (time) * G_USEC_PER_SEC + g_date_time_get_microsecond (time);
}

static gboolean
post (gpointer event)
{
  g_autofree char *type = g_strdup (json_object_get_string_member (event, "type"));

  json_object_remove_member (event, "type");
  event_post_object (NULL, type, event);
  return G_SOURCE_REMOVE;
}

/* Executes a statement with its values: i a gint64, d a double, t a text, c Cells. Returns the first column of its
 * first row, 0: there is none. */
static gint64
execute (const char *sql, const char *types, ...)
{
  sqlite3_stmt *statement = NULL;
  guint8 packed[CELLS_PACKED];
  gint64 answer = 0;
  va_list args;

  if (!writer.status)
    writer.status = sqlite3_prepare_v2 (writer.db, sql, -1, &statement, NULL);
  if (writer.status)
    return 0;
  va_start (args, types);
  for (int i = 1; *types; types++, i++)
    if (*types == 'i')
      sqlite3_bind_int64 (statement, i, va_arg (args, gint64));
    else if (*types == 'd')
      sqlite3_bind_double (statement, i, va_arg (args, double));
    else if (*types == 't')
      sqlite3_bind_text (statement, i, va_arg (args, const char *), -1, SQLITE_TRANSIENT);
    else
      sqlite3_bind_blob (statement, i, packed, (int) cells_pack (va_arg (args, const Cells *), packed),
          SQLITE_TRANSIENT);
  va_end (args);
  if (sqlite3_step (statement) == SQLITE_ROW)
    answer = sqlite3_column_int64 (statement, 0);
  writer.status = sqlite3_finalize (statement);
  return answer;
}

/* The functions of SQL: merged (cells, cells), is_there (file). */
static void
merged (sqlite3_context *context, int n, sqlite3_value **value)
{
  guint8 packed[CELLS_PACKED];
  Cells cells[2];

  for (int i = 0; i < n; i++)
    cells_unpack (&cells[i], sqlite3_value_blob (value[i]), (gsize) sqlite3_value_bytes (value[i]));
  cells_merge (&cells[0], &cells[1]);
  sqlite3_result_blob (context, packed, (int) cells_pack (&cells[0], packed), SQLITE_TRANSIENT);
}

static void
is_there (sqlite3_context *context, int n, sqlite3_value **value)
{
  (void) n;
  sqlite3_result_int (context, access ((const char *) sqlite3_value_text (value[0]), F_OK) == 0);
}

static void
close_file (void)
{
  sqlite3_close (g_steal_pointer (&writer.db));
  if (writer.lock >= 0)
    close (writer.lock);
  writer.lock = -1;
}

/* Says once that the file cannot be written. */
static void
report (const char *reason)
{
  g_autofree char *why = g_strdup_printf ("%s: %s", path, reason);

  if (!writer.reported)
    in_main (post, object_of ("type", word_node ("index-failed"), "reason", text_node (why), NULL));
  writer.reported = TRUE;
}

/* Closes the file after a failure. If it is broken, it is moved aside, and another one begins. */
static void
give_up (const char *reason)
{
  const int status = writer.status & 0xff;
  g_autofree char *why = g_strdup (reason ? reason : sqlite3_errmsg (writer.db)), *aside = NULL;

  close_file ();
  if (reason || status == SQLITE_CORRUPT || status == SQLITE_NOTADB || status == SQLITE_ERROR) {
    aside = g_strconcat (path, ".broken", NULL);
    if (g_rename (path, aside))
      g_clear_pointer (&aside, g_free);
    for (guint i = 0; i < 2; i++) {
      g_autofree char *other = g_strconcat (path, i ? "-wal" : "-shm", NULL);

      g_unlink (other);
    }
    in_main (post,
        object_of ("type", word_node ("index-broken"), "reason", text_node (why), "file",
            aside ? text_node (aside) : NULL, NULL));
  } else {
    report (why);
  }
}

static void
run (const char *text)
{
  if (!writer.status)
    writer.status = sqlite3_exec (writer.db, text, NULL, NULL, NULL);
}

/* Opens the file, or begins it. */
static void
open_file (void)
{
  const int wrong = state_make_folder (path);
  gint64 form;

  writer.lock = open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0600); /* SQLite would let others read it */
  if (writer.lock < 0) {
    report (g_strerror (wrong ? wrong : errno));
    return;
  }
  if (flock (writer.lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
    report ("another cf-watch with the same file of cameras writes it");
    close_file ();
    return;
  }
  writer.status = sqlite3_open_v2 (path, &writer.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
  sqlite3_busy_timeout (writer.db, 500);
  sqlite3_create_function (writer.db, "merged", 2, SQLITE_UTF8, NULL, merged, NULL, NULL);
  sqlite3_create_function (writer.db, "is_there", 1, SQLITE_UTF8, NULL, is_there, NULL, NULL);
  run ("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 16777216");
  if (!(form = execute ("PRAGMA user_version", "")))
    run (tables);
  if (writer.status || (form && form != SEARCH_FORM))
    give_up (form && form != SEARCH_FORM ? "it is of another version of cf-watch" : NULL);
}

/* ---- the writer ---------------------------------------------------------- */

/* Adds the rectangle of a box or a region in a frame of this size. */
static void
add_box (Item *item, JsonObject *box, double width, double height)
{
  const double x = json_object_get_double_member (box, "x") / width;
  const double y = json_object_get_double_member (box, "y") / height;
  const double w = json_object_get_double_member (box, "width") / width;
  const double h = json_object_get_double_member (box, "height") / height;

  cells_add_box (&item->cells, x, y, w, h);
  item->box[0] = item->box[2] > 0 ? MIN (item->box[0], x) : x;
  item->box[1] = item->box[3] > 0 ? MIN (item->box[1], y) : y;
  item->box[2] = MAX (item->box[2], x + w);
  item->box[3] = MAX (item->box[3], y + h);
}

/* Reads what an element of the filter says: what has begun, or ended, where. */
static void
read_element (Item *item, JsonObject *fields)
{
  static const struct {
    const char *event, *kind;
    gboolean begins;
  } names[] = { { "motion-start", "motion", TRUE }, { "motion-stop", "motion" }, { "enter-zone", "zone", TRUE },
    { "leave-zone", "zone" }, { "appear", "region", TRUE }, { "leave", "region" } };
  const char *event = json_object_get_string_member_with_default (fields, "event", "");
  const double width = json_object_has_member (fields, "width") ? json_object_get_double_member (fields, "width") : 0;
  const double height = width > 0 ? json_object_get_double_member (fields, "height") : 0;

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (!strcmp (event, names[i].event)) {
      item->kind = names[i].kind;
      item->begins = names[i].begins;
    }
  item->zone = json_object_get_string_member_with_default (fields, "zone", "");
  if (json_object_has_member (item->event, "frame"))
    item->time = time_of (item->event, "frame");
  if (json_object_has_member (fields, "boxes")) {
    JsonArray *boxes = json_object_get_array_member (fields, "boxes");

    for (guint i = 0; i < json_array_get_length (boxes); i++)
      add_box (item, json_array_get_object_element (boxes, i), width, height);
  } else if (json_object_has_member (fields, "region")) {
    JsonObject *region = json_object_get_object_member (fields, "region");

    item->region = json_object_get_int_member (region, "id");
    add_box (item, region, width, height);
  }
}

/* Holds an item. */
static void
take (Item *item)
{
  g_autoptr (JsonNode) node = item->line ? json_from_string (item->line, NULL) : NULL;

  g_queue_push_tail (&writer.held, item);
  if (!node)
    return;
  item->event = json_object_ref (json_node_get_object (node));
  item->file = json_object_get_string_member_with_default (item->event, "file", NULL);
  if (!strcmp (item->type, "element"))
    read_element (item, json_object_get_object_member (item->event, "fields"));
  else if (!strcmp (item->type, "motion") && strcmp (json_object_get_string_member (item->event, "by"), "cudamedian")) {
    /* Of a trigger, and of motioncells, nobody knows where it is. */
    item->kind = "motion";
    item->zone = "";
    item->begins = !strcmp (json_object_get_string_member (item->event, "state"), "start");
    item->box[2] = item->box[3] = 1;
    cells_add_box (&item->cells, 0, 0, 1, 1);
  }
}

#define WRITE_CELLS(table) \
  "INSERT INTO " table " VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET cells = merged (cells, excluded.cells)"

/* Writes what lies in a piece. Returns FALSE if there is no such piece yet. Readings of the clock for one frame differ
 * by less than 50 ms, and where the clock goes astray by two seconds, a piece begins. */
static gboolean
write_moving (const Item *item)
{
  const gint64 second = item->time / G_USEC_PER_SEC;
  const gint64 piece = execute (
      "SELECT id FROM piece WHERE camera = ?1 AND start BETWEEN ?2 - ?4 AND ?2 + 50000 AND (\"end\" IS NULL OR "
      "\"end\" > ?2) AND abs (clock - ?3) < 4000000 ORDER BY start DESC LIMIT 1",
      "tiii", item->camera, item->time, item->clock, LONGEST_PIECE);

  if (!piece)
    return FALSE;
  execute (WRITE_CELLS ("second"), "iic", piece, second, &item->cells);
  execute (WRITE_CELLS ("minute"), "iic", piece, second / 60, &item->cells);
  if (item->begins)
    execute ("INSERT INTO event VALUES (?1, ?2, NULL, ?3, ?4, ?5, printf ('%.3f,%.3f,%.3f,%.3f', ?6, ?7, ?8, ?9))",
        "iittidddd", piece, item->time, item->kind, item->zone, item->region, item->box[0], item->box[1],
        item->box[2] - item->box[0], item->box[3] - item->box[1]);
  return TRUE;
}

/* Ends events by the clock that their piece began with: the clock may have been set since. */
#define END_EVENTS \
  "UPDATE event SET \"end\" = max (begin, ?1 - ?2 + ifnull ((SELECT clock FROM piece WHERE id = piece), ?2)) " \
  "WHERE \"end\" IS NULL"
#define OF_CAMERA " AND (SELECT camera FROM piece WHERE id = piece) = ?3"

/* Begins a piece, or begins it again where it was taken for ended. Rows of another piece of this name are deleted. */
static void
begin_piece (const Item *item)
{
  const gint64 start = time_of (item->event, "start");

  execute (
      "UPDATE piece SET camera = '', file = file || ' ' || id WHERE file = ?1 AND (start <> ?2 OR clock IS NOT ?3)",
      "tii", item->file, start, item->clock);
  writer.gone |= sqlite3_changes (writer.db) > 0;
  execute ("INSERT INTO piece VALUES (NULL, ?1, ?2, ?3, NULL, ?4) ON CONFLICT DO UPDATE SET \"end\" = NULL WHERE "
           "\"end\" IS NOT NULL",
      "ttii", item->camera, item->file, start, item->clock);
}

/* Ends the piece with this file (NULL: any) of the camera. */
static void
end_piece (const Item *item, gint64 end)
{
  execute ("UPDATE piece SET \"end\" = ?1 WHERE camera = ?2 AND \"end\" IS NULL AND file = ifnull (?3, file)", "itt",
      end, item->camera, item->file);
  for (GList *l = writer.held.head; l->data != item; l = l->next) {
    Item *begun = l->data;

    if (!strcmp (begun->type, "piece-begun") && !strcmp (begun->camera, item->camera))
      begun->done |= !item->file || !strcmp (begun->file, item->file);
  }
}

/* Writes an item that has come. Returns FALSE if that is to be tried again; `all`: there is no later. A piece that was
 * begun is tried until it ends: the file may be another one by then. */
static gboolean
write_item (const Item *item, gboolean all)
{
  const gint64 age = g_get_monotonic_time () - (item->time - item->clock);

  if (!strcmp (item->type, "piece-begun")) {
    begin_piece (item);
    return FALSE;
  } else if (!strcmp (item->type, "piece-finished"))
    end_piece (item,
        time_of (item->event, "start") +
            (gint64) (json_object_get_double_member (item->event, "duration_s") * G_USEC_PER_SEC));
  else if (!strcmp (item->type, "recording-failed"))
    end_piece (item, item->time);
  else if (!strcmp (item->type, "piece-deleted"))
    execute ("UPDATE piece SET camera = '' WHERE file = ?1", "t", item->file);
  else if (!all && age < HELD)
    return FALSE;
  else if (item->type == CELLS || item->begins)
    return write_moving (item) || all || age > UNRECORDED;
  else if (item->kind) {
    execute (END_EVENTS OF_CAMERA " AND kind = ?4 AND zone = ?5 AND region = ?6", "iittti", item->time, item->clock,
        item->camera, item->kind, item->zone, item->region);
    return sqlite3_changes (writer.db) || all || age > UNRECORDED;
  } else if (strcmp (item->type, "element") && strcmp (item->type, "motion"))
    execute (END_EVENTS OF_CAMERA, "iit", item->time, item->clock, item->camera);
  return TRUE;
}

/* Deletes rows of a piece that is gone, some at a time. */
static void
prune (void)
{
  const gint64 piece = execute ("SELECT id FROM piece WHERE camera = '' LIMIT 1", "");

  writer.gone = piece != 0;
  execute ("DELETE FROM event WHERE rowid IN (SELECT rowid FROM event WHERE piece = ?1 LIMIT 4000)", "i", piece);
  if (!sqlite3_changes (writer.db))
    execute (
        "DELETE FROM second WHERE piece = ?1 AND second < (SELECT min (second) FROM second WHERE piece = ?1) + 4000",
        "i", piece);
  if (sqlite3_changes (writer.db))
    return;
  execute ("DELETE FROM minute WHERE piece = ?1", "i", piece);
  execute ("DELETE FROM piece WHERE id = ?1", "i", piece);
}

/* Writes what there is to be written, all of it or nothing. */
static void
write_all (gboolean all)
{
  int moved = 0, before;

  writer.status = SQLITE_OK;
  if (writer.db && !sqlite3_file_control (writer.db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) && moved)
    give_up ("somebody has taken the file away");
  if (!writer.db)
    open_file ();
  if (!writer.db)
    return;
  run ("BEGIN IMMEDIATE");
  if (!writer.looked) {
    run (left);
    writer.gone = TRUE;
  }
  for (GList *l = writer.held.head; l && !writer.status; l = l->next) {
    Item *item = l->data;

    item->done = write_item (item, all);
    writer.gone |= item->done && !strcmp (item->type, "piece-deleted");
  }
  before = sqlite3_total_changes (writer.db);
  while (writer.gone && !writer.status && sqlite3_total_changes (writer.db) - before < AT_ONCE)
    prune ();
  if (all)
    execute (END_EVENTS, "ii", g_get_real_time (), g_get_real_time () - g_get_monotonic_time ());
  run ("COMMIT");
  if (writer.status) {
    give_up (NULL);
    return;
  }
  writer.reported = FALSE;
  writer.looked = TRUE;
  for (GList *l = writer.held.head, *next; l; l = next) {
    next = l->next;
    if (!((Item *) l->data)->done)
      continue;
    item_free (l->data);
    g_queue_delete_link (&writer.held, l);
  }
}

static gpointer
write_in_thread (gpointer unused)
{
  gboolean ending = FALSE;

  writer.gone = g_file_test (path, G_FILE_TEST_EXISTS);
  while (!ending) {
    const gint64 until = g_get_monotonic_time () + G_USEC_PER_SEC;
    const guint64 dropped = index_dropped ();
    GQueue items;

    if (dropped > writer.dropped)
      in_main (post,
          object_of ("type", word_node ("index-dropped"), "count", int_node ((gint64) (dropped - writer.dropped)),
              NULL));
    writer.dropped = dropped;
    g_mutex_lock (&queue.lock);
    while (!queue.ending && g_cond_wait_until (&queue.changed, &queue.lock, until))
      ;
    ending = queue.ending;
    items = queue.items;
    g_queue_init (&queue.items);
    g_hash_table_remove_all (queue.newest);
    g_mutex_unlock (&queue.lock);
    while (items.head)
      take (g_queue_pop_head (&items));
    if (writer.held.head || writer.gone || (ending && writer.db))
      write_all (ending);
  }
  close_file ();
  g_mutex_lock (&queue.lock);
  queue.ended = TRUE;
  g_cond_broadcast (&queue.changed);
  g_mutex_unlock (&queue.lock);
  return unused;
}

void
index_start (Watch *of, const char *config)
{
  watch = of;
  queue.newest = g_hash_table_new (g_str_hash, g_str_equal);
  path = state_file_of (config, "index", "db");
  g_thread_unref (g_thread_new ("index", write_in_thread, NULL));
}

void
index_stop (void)
{
  const gint64 until = g_get_monotonic_time () + STOPS_WITHIN;

  g_mutex_lock (&queue.lock);
  queue.ending = TRUE;
  g_cond_broadcast (&queue.changed);
  while (path && !queue.ended && g_cond_wait_until (&queue.changed, &queue.lock, until))
    ;
  g_mutex_unlock (&queue.lock);
}
