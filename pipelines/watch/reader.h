/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * reader.h: fills structs from JSON objects, as tables of their members say, and collects what is wrong. */
#ifndef PIPELINES_WATCH_READER_H
#define PIPELINES_WATCH_READER_H

#include <json-glib/json-glib.h>

/* Why a path is refused that begins with ~. */
#define NO_HOME "begins with ~, which only shells replace by a folder: write the folder's whole path"

typedef enum {
  FIELD_BOOL,
  FIELD_UINT,
  FIELD_INT,
  FIELD_BYTES,
  FIELD_TEXT,
  FIELD_PATH,
  FIELD_CHOICE,
  FIELD_OTHER
} FieldKind;

typedef struct {
  const char *name;
  FieldKind kind;
  gsize offset;
  double min, max;
  const char *choices; /* FIELD_CHOICE: "tcp|udp|auto"; the value is the index */
} Field;

typedef struct {
  const char *path;  /* of the file */
  char *folder;      /* that relative paths begin in */
  GHashTable *lines; /* "object member" -> line */
  GHashTable *twice; /* the same, of members that an object has twice */
  JsonParser *parser;
  GString *wrong;
  gboolean secret; /* faults repeat nothing of the text */
} Reader;

/* `path` NULL: the text is no file. Texts that are passed are not copied, but for the folder. */
void reader_init (Reader *reader, const char *path, const char *folder, GString *wrong);
void reader_clear (Reader *reader);
/* Returns the object that the text is, or NULL after a fault. It lives as long as the reader. */
JsonObject *reader_parse (Reader *reader, const char *text, gssize length);
/* Reads the members of an object into the struct; the kind FIELD_OTHER is left to the caller. `where`: the
 * object's name for messages, "cameras.door". Returns FALSE after a fault. */
gboolean reader_fill (Reader *reader, JsonObject *object, const char *where, const Field *fields, gpointer to);
/* Returns the member, an object; NULL if it is missing or, after a fault, if it is something else. */
JsonObject *reader_object (Reader *reader, JsonObject *object, const char *where, const char *member);
/* Returns whether the object had two members of this name: json-glib keeps only one. */
gboolean reader_is_twice (Reader *reader, JsonObject *object, const char *member);
/* Adds a fault: "FILE:LINE: cameras.door.timeout: ..."; `member` NULL: of the object itself. Returns FALSE. */
gboolean reader_fault (Reader *reader, JsonObject *object, const char *where, const char *member, const char *format,
    ...) G_GNUC_PRINTF (5, 6);
/* The same with the line of the member, under a name for people ("cameras.door.timeout: "). A fault that is there
 * already is not added again. */
gboolean reader_fault_at (Reader *reader, JsonObject *object, const char *member, const char *title, const char *text);

#endif
