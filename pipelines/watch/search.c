/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * search.c: finds when something moved where.
 *
 * A camera's month has some 300,000 seconds in which something moves. Their cells are not looked at one by one: a
 * minute has the cells of all its seconds. Where a minute has no cell of the polygon, none of its seconds has; where it
 * has one, a second has it. An answer reads all minutes of the time (43,200 in a month), but seconds only where there
 * is something to be found. */
#include "search.h"

#include "json.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
#define MOST_POINTS 256
#define MOST_FOUND 500     /* in an answer */
#define MOST_SECONDS 20000 /* that it is made of */
#define MOST_EVENTS "20"   /* of a result */
#define AROUND 5           /* seconds: what moves so near to an event is a part of it */

/* ---- cells --------------------------------------------------------------- */

void
cells_add_box (Cells *cells, double x, double y, double width, double height)
{
  const int left = (int) CLAMP (floor (x * CELL_COLUMNS), 0, CELL_COLUMNS);
  const int right = (int) CLAMP (ceil ((x + width) * CELL_COLUMNS), 0, CELL_COLUMNS);
  const int bottom = (int) CLAMP (ceil ((y + height) * CELL_ROWS), 0, CELL_ROWS);

  for (int i = (int) CLAMP (floor (y * CELL_ROWS), 0, CELL_ROWS); i < bottom && left < right; i++)
    cells->row[i] |= (~G_GUINT64_CONSTANT (0) >> (CELL_COLUMNS - (right - left))) << left;
}

void
cells_merge (Cells *cells, const Cells *more)
{
  for (guint i = 0; i < CELL_ROWS; i++)
    cells->row[i] |= more->row[i];
}

guint
cells_pack (const Cells *cells, guint8 packed[CELLS_PACKED])
{
  guint first = 0, end = CELL_ROWS;

  while (end > 0 && !cells->row[end - 1])
    end--;
  while (first < end && !cells->row[first])
    first++;
  packed[0] = (guint8) first;
  for (guint i = first; i < end; i++) {
    const guint64 row = GUINT64_TO_LE (cells->row[i]);

    memcpy (&packed[1 + (i - first) * sizeof row], &row, sizeof row);
  }
  return 1 + (end - first) * (guint) sizeof (guint64);
}

void
cells_unpack (Cells *cells, const guint8 *packed, gsize n)
{
  *cells = (Cells) { { 0 } };
  for (gsize i = n > 0 ? packed[0] : 0, at = 1; at + sizeof (guint64) <= n && i < CELL_ROWS; i++) {
    memcpy (&cells->row[i], &packed[at], sizeof (guint64));
    cells->row[i] = GUINT64_FROM_LE (cells->row[i]);
    at += sizeof (guint64);
  }
}

typedef struct {
  double x, y;
} Point;

static void
add_point (Cells *cells, double x, double y)
{
  cells->row[MIN ((int) (y * CELL_ROWS), CELL_ROWS - 1)] |= G_GUINT64_CONSTANT (1)
      << MIN ((int) (x * CELL_COLUMNS), CELL_COLUMNS - 1);
}

/* Is the point in the polygon (even-odd)? */
static gboolean
has_point (const Point *corner, guint n, double x, double y)
{
  gboolean inside = FALSE;

  for (guint i = 0, j = n - 1; i < n; j = i++) {
    const Point a = corner[i], b = corner[j];

    if ((a.y > y) != (b.y > y) && x < (b.x - a.x) * (y - a.y) / (b.y - a.y) + a.x)
      inside = !inside;
  }
  return inside;
}

/* Adds the cells whose middle is in the polygon, and the cells on its edges. Looks at four points of an edge a cell. */
static void
add_polygon (Cells *cells, const Point *corner, guint n)
{
  for (guint i = 0, j = n - 1; i < n; j = i++)
    for (guint step = 0; step <= 4 * CELL_COLUMNS; step++) {
      const double part = step / (4.0 * CELL_COLUMNS);

      add_point (cells, corner[j].x + part * (corner[i].x - corner[j].x),
          corner[j].y + part * (corner[i].y - corner[j].y));
    }
  for (guint i = 0; i < CELL_ROWS * CELL_COLUMNS; i++) {
    const double x = (i % CELL_COLUMNS + 0.5) / CELL_COLUMNS, y = (i / CELL_COLUMNS + 0.5) / CELL_ROWS;

    if (has_point (corner, n, x, y))
      add_point (cells, x, y);
  }
}

/* ---- what is asked ------------------------------------------------------- */

#define FORM "CAMERA: x,y x,y x,y, FROM, TO"

typedef struct {
  char *camera;
  gsize where; /* bytes of the text before the times, and before what parts them from it */
  Cells cells;
  gint64 from, to; /* µs since 1970 */
  gint64 after[3]; /* where a further answer begins: the piece's start, its number, the second */
} Query;

/* Reads a number without a sign. Returns what follows, behind blanks; NULL: there is none. */
static const char *
read_number (const char *text, double *number)
{
  char *end;

  text += strspn (text, " \t");
  if (!g_ascii_isdigit (*text) && *text != '.')
    return NULL;
  *number = g_ascii_strtod (text, &end);
  return end + strspn (end, " \t");
}

/* Reads "x,y". Returns what follows; NULL: it is no point, but perhaps a time. */
static const char *
read_point (const char *text, Point *point)
{
  const char *comma = read_number (text, &point->x);
  const char *end = comma && *comma == ',' ? read_number (comma + 1, &point->y) : NULL;

  if (!end || (*end && *end != ',' && end[-1] != ' ' && end[-1] != '\t'))
    return NULL;
  return end + strspn (end, " \t,");
}

static gboolean
read_time (const char *text, gint64 *time)
{
  static const char *const more[] = { "", ":00", "T00:00:00" };
  static const char units[] = "smhd";
  static const gint64 seconds[] = { 1, 60, 3600, 86400, 0 };
  g_autoptr (GTimeZone) utc = g_time_zone_new_utc ();
  char *end = NULL;
  const double number = *text == '-' ? g_ascii_strtod (text, &end) : 0;
  const char *unit = end && *end && !end[1] ? strchr (units, *end) : NULL;

  *time = g_get_real_time ();
  if (unit) /* NaN is not above anything */
    *time += (gint64) ((number > -1e6 ? number : -1e6) * (double) seconds[unit - units] * G_USEC_PER_SEC);
  if (unit || !strcmp (text, "now"))
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (more); i++) {
    g_autofree char *whole = g_strconcat (text, more[i], NULL);
    g_autoptr (GDateTime) date = g_date_time_new_from_iso8601 (whole, utc);

    if (date) {
      *time = g_date_time_to_unix (date) * G_USEC_PER_SEC + g_date_time_get_microsecond (date);
      return TRUE;
    }
  }
  return FALSE;
}

static void
read_times (const char *text, Query *query, GString *wrong)
{
  g_auto (GStrv) part = g_strsplit (text, ",", 3);
  gint64 *const times[] = { &query->from, &query->to }, *after = query->after;

  query->to = g_get_real_time () + G_USEC_PER_SEC;
  for (guint i = 0; part[i]; i++) {
    const char *word = g_strstrip (part[i]);

    if (i < G_N_ELEMENTS (times) && (*word || i > 0) && !read_time (word, times[i]))
      g_string_printf (wrong,
          "\"%s\" is neither a point (0.1,0.2) nor a time (2026-11-23T04:55:12, 2026-11-23, -2h, now)", word);
    else if (i == G_N_ELEMENTS (times) &&
        sscanf (word, "%" G_GINT64_FORMAT ".%" G_GINT64_FORMAT ".%" G_GINT64_FORMAT, &after[0], &after[1], &after[2]) !=
            3)
      g_string_printf (wrong, "\"%s\" is too much: it has to be " FORM, word);
  }
  query->from = MAX (query->from, 0);
  if (!wrong->len && query->from >= query->to)
    g_string_append (wrong, "the first time has to be before the second one");
}

static void
read_query (const char *text, Query *query, GString *wrong)
{
  const char *at = text + strspn (text, " \t"), *next;
  Point corner[MOST_POINTS];
  guint n = 0;

  query->camera = g_strndup (at, strspn (at, NAME));
  at += strlen (query->camera);
  if (!*query->camera || (*at && !strchr (":, \t", *at)))
    g_string_append (wrong, "it has to begin with a camera's name: " FORM);
  for (at += strspn (at, ":, \t"); n < MOST_POINTS && (next = read_point (at, &corner[n])); at = next, n++)
    if (!wrong->len && (corner[n].x > 1 || corner[n].y > 1))
      g_string_append (wrong, "a point is two fractions of the frame, from 0 to 1");
  if (!wrong->len && (n == MOST_POINTS || n == 1 || n == 2))
    g_string_printf (wrong, "a polygon has 3 to %d points", MOST_POINTS - 1);
  for (query->where = (gsize) (at - text); query->where && strchr (":, \t", text[query->where - 1]);)
    query->where--;
  if (!wrong->len)
    read_times (at, query, wrong);
  if (!wrong->len && n)
    add_polygon (&query->cells, corner, n);
  else
    cells_add_box (&query->cells, 0, 0, 1, 1);
}

/* ---- what is found ------------------------------------------------------- */

/* The function meets (cells) of SQL: has it one of the query's cells? */
static void
meets (sqlite3_context *context, int n, sqlite3_value **value)
{
  const Cells *wanted = sqlite3_user_data (context);
  gboolean any = FALSE;
  Cells cells;

  (void) n;
  cells_unpack (&cells, sqlite3_value_blob (value[0]), (gsize) sqlite3_value_bytes (value[0]));
  for (guint i = 0; i < CELL_ROWS && !any; i++)
    any = (cells.row[i] & wanted->row[i]) != 0;
  sqlite3_result_int (context, any);
}

/* Seconds that follow each other in a piece. */
typedef struct {
  gint64 piece, start, first, last; /* its number; µs since 1970; seconds since 1970 */
  gint64 part;                      /* of the piece, see part_of () */
  char *file;
} Span;

/* An event that the camera has told, or several at a time: seconds since 1970. */
typedef struct {
  gint64 first, last;
} Told;

/* Reads the events of a piece. They are in order, and none has a second of another one. */
static void
read_told (sqlite3_stmt *events, gint64 piece, GArray *told)
{
  g_array_set_size (told, 0);
  sqlite3_bind_int64 (events, 1, piece);
  sqlite3_bind_int64 (events, 2, g_get_real_time ()); /* the end of what has not ended */
  while (sqlite3_step (events) == SQLITE_ROW) {
    const Told one = { sqlite3_column_int64 (events, 0), sqlite3_column_int64 (events, 1) };
    Told *before = told->len > 0 ? &g_array_index (told, Told, told->len - 1) : NULL;

    if (before && one.first <= before->last)
      before->last = MAX (before->last, one.last);
    else
      g_array_append_val (told, one);
  }
  sqlite3_reset (events);
}

/* Returns the part of its piece that a second lies in: 0 before the first event, 1 in it or near it, 2 between it and
 * the next one, and so on. `at`: how many events lie before the second; it only grows. */
static gint64
part_of (const GArray *told, gint64 second, guint *at)
{
  for (; *at < told->len; ++*at) {
    const Told *now = &g_array_index (told, Told, *at);
    const gint64 next = *at + 1 < told->len ? now[1].first - 1 : G_MAXINT64; /* it is told a moment late */

    if (second <= MAX (now->last, MIN (now->last + AROUND, next - 1)))
      return 2 * *at + (second >= now->first - AROUND);
  }
  return 2 * *at;
}

/* Returns the events that began in the span. */
static JsonNode *
events_of (sqlite3_stmt *events, const Span *span)
{
  JsonNode *node = NULL;

  sqlite3_bind_int64 (events, 1, span->piece);
  sqlite3_bind_int64 (events, 2, span->first * G_USEC_PER_SEC);
  sqlite3_bind_int64 (events, 3, (span->last + 1) * G_USEC_PER_SEC);
  if (sqlite3_step (events) == SQLITE_ROW)
    node = json_from_string ((const char *) sqlite3_column_text (events, 0), NULL);
  sqlite3_reset (events);
  return node;
}

/* Adds the span, if there is one. */
static void
add_found (JsonArray *found, sqlite3_stmt *events, Span *span)
{
  const gint64 begin = MAX (span->first * G_USEC_PER_SEC, span->start);

  if (!span->file)
    return;
  json_array_add_object_element (found,
      object_of ("piece", text_node (span->file), "offset",
          number_node ((double) (begin - span->start) / G_USEC_PER_SEC), "begin", time_node (begin), "end",
          time_node ((span->last + 1) * G_USEC_PER_SEC), "events", events_of (events, span), NULL));
  g_clear_pointer (&span->file, g_free);
}

/* CROSS JOIN: SQLite takes the tables in this order. The results are in the same order. */
static const char seconds_sql[] =
    "SELECT p.id, p.start, p.file, s.second FROM piece p CROSS JOIN minute m ON m.piece = p.id "
    "CROSS JOIN second s ON s.piece = p.id AND s.second BETWEEN m.minute * 60 AND m.minute * 60 + 59 "
    "WHERE p.camera = ?1 AND p.start BETWEEN ?2 AND ?3 AND m.minute BETWEEN ?4 / 60 AND ?5 / 60 AND meets (m.cells) "
    "AND s.second BETWEEN ?4 AND ?5 AND (p.start, p.id, s.second) >= (?6, ?7, ?8) AND meets (s.cells) "
    "ORDER BY p.start, p.id, m.minute, s.second";
#define TIME(column) "strftime ('%Y-%m-%dT%H:%M:%fZ', " column " / 1e6, 'unixepoch')"
static const char events_sql[] =
    "SELECT json_group_array (json_object ('kind', kind, 'zone', zone, 'region', region, 'begin', begun, 'end', ended, "
    "'box', box)) FROM (SELECT *, " TIME ("begin") " AS begun, " TIME (
        "\"end\"") " AS ended FROM event "
                   "WHERE piece = ?1 AND begin >= ?2 AND begin < ?3 ORDER BY begin LIMIT " MOST_EVENTS ")";

static const char told_sql[] = "SELECT begin / 1000000, ifnull (\"end\", ?2) / 1000000 FROM event WHERE piece = ?1 AND "
                               "kind <> 'zone' ORDER BY begin"; /* what is in a zone is in a motion */

/* Reads the rows. Returns SQLite's status. If there is more, `next` gets where the next answer begins. */
static int
read_rows (sqlite3_stmt *seconds, sqlite3_stmt *events, sqlite3_stmt *pieces, JsonArray *found, gint64 next[3])
{
  g_autoptr (GArray) told = g_array_new (FALSE, FALSE, sizeof (Told));
  Span span = { 0 };
  guint at = 0;
  int status;

  for (guint n = 0; (status = sqlite3_step (seconds)) == SQLITE_ROW; n++) {
    const gint64 piece = sqlite3_column_int64 (seconds, 0), start = sqlite3_column_int64 (seconds, 1);
    const gint64 second = sqlite3_column_int64 (seconds, 3);
    gboolean follows = piece == span.piece && second <= span.last + 2;
    gint64 part;

    if (piece != span.piece) {
      read_told (pieces, piece, told);
      at = 0;
    }
    part = part_of (told, second, &at);
    follows &= part == span.part;
    if (!follows)
      add_found (found, events, &span);
    if (n >= MOST_SECONDS || json_array_get_length (found) >= MOST_FOUND) {
      memcpy (next, (gint64[]) { start, piece, second }, 3 * sizeof *next);
      status = SQLITE_DONE;
      break;
    }
    if (!follows)
      span = (Span) { piece, start, second, second, part, g_strdup ((const char *) sqlite3_column_text (seconds, 2)) };
    span.last = second;
  }
  add_found (found, events, &span);
  return status;
}

static void
find (sqlite3 *db, const Query *query, JsonArray *found, gint64 next[3], GString *wrong)
{
  const gint64 from = query->from / G_USEC_PER_SEC, last = (query->to - 1) / G_USEC_PER_SEC;
  const gint64 *after = query->after;
  const gint64 values[] = { MAX (query->from - LONGEST_PIECE, after[0]), query->to, from, last, after[0], after[1],
    after[2] };
  sqlite3_stmt *seconds = NULL, *events = NULL, *pieces = NULL;

  sqlite3_create_function (db, "meets", 1, SQLITE_UTF8, (gpointer) &query->cells, meets, NULL, NULL);
  sqlite3_prepare_v2 (db, events_sql, -1, &events, NULL);
  sqlite3_prepare_v2 (db, told_sql, -1, &pieces, NULL);
  if (events && pieces)
    sqlite3_prepare_v2 (db, seconds_sql, -1, &seconds, NULL);
  sqlite3_bind_text (seconds, 1, query->camera, -1, SQLITE_STATIC);
  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    sqlite3_bind_int64 (seconds, (int) i + 2, values[i]);
  if (!seconds || read_rows (seconds, events, pieces, found, next) != SQLITE_DONE)
    g_string_printf (wrong, "the index cannot be read: %s", sqlite3_errmsg (db));
  sqlite3_finalize (seconds);
  sqlite3_finalize (events);
  sqlite3_finalize (pieces);
}

/* Is there such a camera, in the index (or NULL) or among these (or NULL)? If not, says which there are. */
static gboolean
check_camera (sqlite3 *db, const char *camera, const char *const *cameras, GString *wrong)
{
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GList) sorted = NULL;
  sqlite3_stmt *recorded = NULL;

  for (; cameras && *cameras; cameras++)
    g_hash_table_add (names, g_strdup (*cameras));
  if (db)
    sqlite3_prepare_v2 (db, "SELECT DISTINCT camera FROM piece WHERE camera <> ''", -1, &recorded, NULL);
  while (recorded && sqlite3_step (recorded) == SQLITE_ROW)
    g_hash_table_add (names, g_strdup ((const char *) sqlite3_column_text (recorded, 0)));
  sqlite3_finalize (recorded);
  if (g_hash_table_contains (names, camera))
    return TRUE;
  g_string_printf (wrong, "there is no camera \"%.64s\"; there are:", camera);
  sorted = g_list_sort (g_hash_table_get_keys (names), (GCompareFunc) strcmp);
  for (GList *l = sorted; l; l = l->next)
    g_string_append_printf (wrong, "%s %s", l == sorted ? "" : ",", (const char *) l->data);
  return FALSE;
}

/* Returns whether the index's writer has made its tables; also where that cannot be read. */
static gboolean
has_tables (sqlite3 *db)
{
  sqlite3_stmt *version = NULL;
  gboolean none;

  sqlite3_prepare_v2 (db, "PRAGMA user_version", -1, &version, NULL);
  none = sqlite3_step (version) == SQLITE_ROW && sqlite3_column_int (version, 0) == 0;
  sqlite3_finalize (version);
  return !none;
}

JsonObject *
search_index (const char *file, const char *text, const char *const *cameras, gboolean *unknown, GString *wrong)
{
  g_autoptr (JsonArray) found = json_array_new ();
  g_autofree char *from = NULL, *to = NULL, *more = NULL;
  gint64 next[3] = { 0 };
  Query query = { 0 };
  sqlite3 *db = NULL;

  read_query (text, &query, wrong);
  if (!wrong->len && !access (file, F_OK) && /* or else nothing has moved yet */
      sqlite3_open_v2 (file, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL))
    g_string_printf (wrong, "%s: %s", file, sqlite3_errmsg (db));
  if (db)
    sqlite3_busy_timeout (db, 1000);
  if (db && !has_tables (db)) { /* the file was made just now */
    sqlite3_close (db);
    db = NULL;
  }
  if (!wrong->len && db)
    find (db, &query, found, next, wrong);
  if (!wrong->len && (db || cameras) && json_array_get_length (found) == 0 &&
      !check_camera (db, query.camera, cameras, wrong) && unknown)
    *unknown = TRUE;
  sqlite3_close (db);
  g_free (query.camera);
  if (wrong->len)
    return NULL;
  from = time_text (query.from, FALSE);
  to = time_text (query.to, FALSE);
  more = g_strdup_printf ("%.*s, %s, %s, %" G_GINT64_FORMAT ".%" G_GINT64_FORMAT ".%" G_GINT64_FORMAT,
      (int) query.where, text, from, to, next[0], next[1], next[2]);
  return object_of ("found", array_node (g_steal_pointer (&found)), "next", next[1] ? text_node (more) : NULL, NULL);
}
