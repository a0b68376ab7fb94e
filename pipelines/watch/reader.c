/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * reader.c: fills structs from JSON objects, as tables of their members say. */
#include "reader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_DEPTH 16                   /* of brackets; FILE needs four */
#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* some editors begin a file with it, and json-glib takes it */
#define NO_OBJECT "it has to be a JSON object: { ... }"

static char *
member_key (JsonObject *object, const char *member)
{
  return g_strdup_printf ("%p %s", (void *) object, member);
}

/* Returns the line that a member stands in, for NULL the line of the object's first member; 0: not known. */
static guint
line_of (Reader *reader, JsonObject *object, const char *member)
{
  g_autofree char *key = member_key (object, member ? member : "");

  return GPOINTER_TO_UINT (g_hash_table_lookup (reader->lines, key));
}

/* Notes the line of a member, and a name that comes twice: json-glib keeps the last one only. The parser's
 * line is where the value ends; for an object we take the line of its first member. */
static void
on_member (JsonParser *parser, JsonObject *object, const char *member, gpointer data)
{
  Reader *reader = data;
  JsonNode *node = json_object_get_member (object, member);
  JsonObject *value = JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  guint line = value ? line_of (reader, value, NULL) : 0;
  char *key = member_key (object, member);

  line = line ? line : json_parser_get_current_line (parser);
  if (value)
    g_hash_table_insert (reader->lines, member_key (value, ""), GUINT_TO_POINTER (line));
  if (!line_of (reader, object, NULL))
    g_hash_table_insert (reader->lines, member_key (object, ""), GUINT_TO_POINTER (line));
  if (g_hash_table_contains (reader->lines, key))
    g_hash_table_add (reader->twice, g_strdup (key));
  g_hash_table_replace (reader->lines, key, GUINT_TO_POINTER (line));
}

gboolean
reader_fault_at (Reader *reader, JsonObject *object, const char *member, const char *title, const char *text)
{
  const guint at = line_of (reader, object, member);
  g_autofree char *line = g_strdup_printf ("%u:", at ? at : line_of (reader, object, NULL));
  g_autofree char *fault = g_strdup_printf ("%s%s%s%s%s%s", reader->path ? reader->path : "", reader->path ? ":" : "",
      reader->path && *line != '0' ? line : "", reader->path ? " " : "", title, text);
  const char *same = strstr (reader->wrong->str, fault);

  /* Each camera has the faults of the defaults again. */
  if (same && strchr ("\n", same[strlen (fault)]))
    return FALSE;
  g_string_append_printf (reader->wrong, "%s%s", reader->wrong->len ? "\n" : "", fault);
  return FALSE;
}

gboolean
reader_fault (Reader *reader, JsonObject *object, const char *where, const char *member, const char *format, ...)
{
  g_autofree char *text = NULL,
                  *title = g_strdup_printf ("%s%s%s%s", where, *where && member ? "." : "", member ? member : "",
                      *where || member ? ": " : "");
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  return reader_fault_at (reader, object, member ? member : "", title, text);
}

gboolean
reader_is_twice (Reader *reader, JsonObject *object, const char *member)
{
  g_autofree char *key = member_key (object, member);

  return g_hash_table_contains (reader->twice, key);
}

static const Field *
find_field (const Field *fields, const char *name)
{
  for (; fields->name; fields++)
    if (!strcmp (fields->name, name))
      return fields;
  return NULL;
}

/* Returns the index of the word in "a|b|c", or -1. */
static int
find_choice (const char *choices, const char *word)
{
  g_auto (GStrv) words = g_strsplit (choices, "|", -1);

  for (int i = 0; words[i]; i++)
    if (!strcmp (words[i], word))
      return i;
  return -1;
}

static gboolean
read_number (Reader *reader, JsonObject *object, const char *where, const Field *field, JsonNode *node, char *to)
{
  double value = json_node_get_double (node);

  if (json_node_get_value_type (node) == G_TYPE_INT64)
    value = (double) json_node_get_int (node);
  else if (json_node_get_value_type (node) != G_TYPE_DOUBLE || value != floor (value))
    return reader_fault (reader, object, where, field->name, "has to be a whole number");
  if (!(value >= field->min && value <= field->max))
    return reader_fault (reader, object, where, field->name, "has to be %.0f to %.0f", field->min, field->max);
  if (field->kind == FIELD_INT)
    *(int *) to = (int) value;
  else if (field->kind == FIELD_UINT)
    *(guint *) to = (guint) value;
  else
    *(guint64 *) to = (guint64) value;
  return TRUE;
}

static gboolean
read_text (Reader *reader, JsonObject *object, const char *where, const Field *field, JsonNode *node, char *to)
{
  const char *text = json_node_get_value_type (node) == G_TYPE_STRING ? json_node_get_string (node) : NULL;
  int choice;

  if (!text)
    return reader_fault (reader, object, where, field->name, "has to be text in quotes");
  if (field->kind == FIELD_CHOICE) {
    if ((choice = find_choice (field->choices, text)) < 0)
      return reader_fault (reader, object, where, field->name, "\"%s\" is none of %s", text, field->choices);
    *(guint *) to = (guint) choice;
    return TRUE;
  }
  if (field->kind == FIELD_PATH && !*text)
    return reader_fault (reader, object, where, field->name, "is empty");
  if (field->kind == FIELD_PATH && g_str_has_prefix (text, "~"))
    return reader_fault (reader, object, where, field->name, NO_HOME);
  g_free (*(char **) to);
  *(char **) to = field->kind == FIELD_PATH ? g_canonicalize_filename (text, reader->folder) : g_strdup (text);
  return TRUE;
}

gboolean
reader_fill (Reader *reader, JsonObject *object, const char *where, const Field *fields, gpointer to)
{
  g_autoptr (GList) members = json_object_get_members (object);
  gboolean ok = TRUE;

  for (GList *l = members; l; l = l->next) {
    const Field *field = find_field (fields, l->data);
    JsonNode *node = json_object_get_member (object, l->data);

    if (reader_is_twice (reader, object, l->data))
      ok = reader_fault (reader, object, where, l->data, "stands here twice");
    else if (!field) {
      g_autoptr (GString) names = g_string_new (NULL);

      for (field = fields; field->name; field++)
        g_string_append_printf (names, "%s%s", names->len ? ", " : "", field->name);
      ok = reader_fault (reader, object, where, l->data, "there is no such setting here; there are %s", names->str);
    } else if (field->kind == FIELD_OTHER)
      continue;
    else if (!JSON_NODE_HOLDS_VALUE (node))
      ok = reader_fault (reader, object, where, l->data, "has to be one value");
    else if (field->kind == FIELD_BOOL && json_node_get_value_type (node) != G_TYPE_BOOLEAN)
      ok = reader_fault (reader, object, where, l->data, "has to be true or false");
    else if (field->kind == FIELD_BOOL)
      G_STRUCT_MEMBER (gboolean, to, field->offset) = json_node_get_boolean (node);
    else if (field->kind <= FIELD_BYTES)
      ok &= read_number (reader, object, where, field, node, (char *) to + field->offset);
    else
      ok &= read_text (reader, object, where, field, node, (char *) to + field->offset);
  }
  return ok;
}

JsonObject *
reader_object (Reader *reader, JsonObject *object, const char *where, const char *member)
{
  JsonNode *node = json_object_get_member (object, member);

  if (node && !JSON_NODE_HOLDS_OBJECT (node))
    reader_fault (reader, object, where, member, "has to be an object: { ... }");
  return node && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
}

void
reader_init (Reader *reader, const char *path, const char *folder, GString *wrong)
{
  reader->path = path;
  reader->folder = g_strdup (folder);
  reader->lines = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  reader->twice = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  reader->parser = json_parser_new_immutable ();
  reader->wrong = wrong;
  reader->secret = FALSE;
  g_signal_connect (reader->parser, "object-member", G_CALLBACK (on_member), reader);
}

void
reader_clear (Reader *reader)
{
  g_free (reader->folder);
  g_hash_table_unref (reader->lines);
  g_hash_table_unref (reader->twice);
  g_object_unref (reader->parser);
}

/* Returns the length of the token at the beginning of the text: a comment as in C, text in double or single quotes
 * (json-glib takes both), a word, a number, or one character. */
static gsize
token_length (const char *text)
{
  const char *end = text + 1;

  if (g_str_has_prefix (text, "/*")) {
    end = strstr (text + 2, "*/");
    return end ? (gsize) (end + 2 - text) : strlen (text);
  }
  if (*text == '"' || *text == '\'') {
    for (; *end && *end != *text; end++)
      end += *text == '"' && *end == '\\' && end[1]; /* in single quotes \\ is a character like others */
    return (gsize) (end + (*end != '\0') - text);
  }
  if (g_ascii_isalnum (*text))
    while (g_ascii_isalnum (*end) || *end == '.' || (strchr ("eE", end[-1]) && strchr ("+-", *end) && *end))
      end++;
  return (gsize) (end - text);
}

/* Returns why json-glib may not be given the text, and the line; NULL if it may. The text is valid UTF-8. json-glib
 * recurses at each bracket, so many brackets use up the stack. Some versions abort the process at a second value, and
 * read a character that JSON lacks as another one. */
static const char *
json_trouble (const char *text, guint *line)
{
  guint depth = 0;
  gboolean closed = FALSE, blank;

  *line = 1;
  text += g_str_has_prefix (text, BYTE_ORDER_MARK) ? strlen (BYTE_ORDER_MARK) : 0;
  for (gsize n; *text; text += n) {
    n = token_length (text);
    blank = g_ascii_isspace (*text) || g_str_has_prefix (text, "/*");
    if (closed && !blank)
      return "something is behind the } of the object";
    if (depth == 0 && !blank && *text != '{' && *text != '[')
      return NO_OBJECT;
    if (!blank && !g_ascii_isalnum (*text) && !strchr ("{}[]:,\"'+-.", *text))
      return "a character is here that JSON has in quotes only";
    depth += *text == '{' || *text == '[';
    if (depth > MAX_DEPTH)
      return "its brackets are nested deeper than " G_STRINGIFY (MAX_DEPTH);
    if (*text == '}' || *text == ']')
      closed = --depth == 0;
    for (gsize i = 0; i < n; i++)
      *line += text[i] == '\n';
  }
  return NULL;
}

/* Returns what is wrong with a number that json-glib may take for another one, or NULL. */
static char *
check_number (const char *token, gsize n)
{
  g_autofree char *number = g_strndup (token, n);

  if (token[0] == '0' && n > 1 && g_ascii_isalnum (token[1]) && g_ascii_tolower (token[1]) != 'e')
    return g_strdup_printf ("%.40s is no number of JSON", number);
  if (g_ascii_isdigit (token[0]) && n > 18 && !strpbrk (number, ".eE"))
    return g_strdup_printf ("%.40s is too large a number", number);
  return NULL;
}

/* Adds a fault of a line. Returns FALSE. */
static gboolean
add_fault (Reader *reader, guint line, const char *what)
{
  g_string_append_printf (reader->wrong, "%s%s%u: %s", reader->path ? reader->path : "line ", reader->path ? ":" : "",
      line, what);
  return FALSE;
}

/* Finds numbers that some versions of json-glib do not read as they stand there: 010 is 8 for them, and those
 * larger than 64 bits can become others. Returns FALSE after a fault. */
static gboolean
check_numbers (Reader *reader, const char *text)
{
  guint line = 1;

  for (gsize n; *text; text += n) {
    g_autofree char *what = check_number (text, n = token_length (text));

    if (what)
      return add_fault (reader, line, what);
    for (gsize i = 0; i < n; i++)
      line += text[i] == '\n';
  }
  return TRUE;
}

/* Adds a parser's error, whose message begins with "<data>:LINE:COLUMN: Parse error: "; `line` is used without that. */
static void
add_parse_error (Reader *reader, const GError *error, guint line)
{
  static const char separator[] = "Parse error: ";
  const char *text = g_str_has_prefix (error->message, "<data>:") ? error->message + 7 : error->message;
  const char *what = strstr (text, separator);

  if (reader->secret) { /* the message repeats parts of the text */
    sscanf (text, "%u:", &line);
    add_fault (reader, line, "it is not JSON");
    return;
  }
  g_string_append_printf (reader->wrong, "%s%s", reader->path ? reader->path : "line ", reader->path ? ":" : "");
  /* Its own words are about what it expected instead, which is wrong where the comma is in an object. */
  if (what && g_error_matches (error, JSON_PARSER_ERROR, JSON_PARSER_ERROR_TRAILING_COMMA))
    g_string_append_printf (reader->wrong, "%.*sa comma has nothing behind it", (int) (what - text), text);
  else if (what && g_error_matches (error, JSON_PARSER_ERROR, JSON_PARSER_ERROR_MISSING_COMMA))
    g_string_append_printf (reader->wrong, "%.*sa comma is missing behind this", (int) (what - text), text);
  else
    g_string_append (reader->wrong, text);
}

JsonObject *
reader_parse (Reader *reader, const char *text, gssize length)
{
  g_autoptr (GError) error = NULL;
  const char *trouble;
  JsonNode *root;
  guint line;

  if (!g_utf8_validate (text, length, NULL)) {
    reader_fault (reader, NULL, "", NULL, "it is not UTF-8 text");
    return NULL;
  }
  if ((trouble = json_trouble (text, &line))) {
    add_fault (reader, line, trouble);
    return NULL;
  }
  if (!reader->secret && !check_numbers (reader, text))
    return NULL;
  if (!json_parser_load_from_data (reader->parser, text, length, &error)) {
    add_parse_error (reader, error, line);
    return NULL;
  }
  root = json_parser_get_root (reader->parser);
  if (!root || !JSON_NODE_HOLDS_OBJECT (root)) {
    reader_fault (reader, NULL, "", NULL, NO_OBJECT);
    return NULL;
  }
  return json_node_get_object (root);
}
