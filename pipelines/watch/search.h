/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * search.h: where something moved in a frame, as cells of a grid, and the search for it in the index that index.c
 * writes. Any thread. */
#ifndef PIPELINES_WATCH_SEARCH_H
#define PIPELINES_WATCH_SEARCH_H

#include <json-glib/json-glib.h>

#define CELL_ROWS 36
#define CELL_COLUMNS 64
#define CELLS_PACKED (1 + CELL_ROWS * 8) /* bytes, at most */
#define LONGEST_PIECE ((gint64) 25 * 3600 * G_USEC_PER_SEC)

/* Column c of a row is bit c; the first row is the frame's upper edge. */
typedef struct {
  guint64 row[CELL_ROWS];
} Cells;

/* Adds the cells that a rectangle, in fractions of the frame, overlaps. */
void cells_add_box (Cells *cells, double x, double y, double width, double height);
void cells_merge (Cells *cells, const Cells *more);
/* Writes the number of the first row that has a cell, and the rows from there to the last one that has. Returns how
 * many bytes that are. */
guint cells_pack (const Cells *cells, guint8 packed[CELLS_PACKED]);
/* Reads that; other bytes are no cells. */
void cells_unpack (Cells *cells, const guint8 *packed, gsize n);

/* The index's form, PRAGMA user_version, of the tables of index.c. */
#define SEARCH_FORM 1

/* Finds when something moved: one result for each event that the camera has told, and for what moved between them.
 * `text`: "CAMERA: x,y x,y x,y, FROM, TO", a polygon (without one: the frame) in fractions
 * of the frame and two times, "2026-11-23T04:55:12" (UTC, unless it says otherwise), "-2h" (s, m, h, d) or "now";
 * without FROM all, without TO up to now. Returns, in the order of the recordings:
 *
 *   { "found": [ { "piece": FILE, "offset": s, "begin": TIME, "end": TIME, "events": [...] } ], "next": TEXT }
 *
 * `next` is there if there is more: a text that finds it. Returns NULL with what is wrong; `unknown` (or NULL) becomes
 * TRUE if that is the camera: it is neither in the index nor one of `cameras` (or NULL). Another process may write the
 * file meanwhile; where there is none, nothing is found. */
JsonObject *
search_index (const char *file, const char *text, const char *const *cameras, gboolean *unknown, GString *wrong);

#endif
