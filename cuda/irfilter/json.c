/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * irfilter/json.c: reads a recursive filter from a JSON file, in the format of irfilter.h. json-glib parses the JSON,
 * which is why this file, the only one in this folder, includes GLib. */
#include "design.h"
#include "core/text.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#define EXAMPLE "{ \"m\": 2, \"se\": { \"a\": [[1, 0], [0, 0]], \"b\": [[0, 0.5], [0.4, -0.2]] } }"
/* A valid file has fewer than a hundred brackets. The parser recurses at each one, and the stack is limited. */
#define MAX_BRACKETS 1000
/* Any integer of so many digits fits into 64 bits. */
#define MAX_DIGITS 18

typedef struct {
  CfIrTaps *taps;
  const char *quadrant; /* the one being read; NULL: none */
  CfStatus *status;
  int open;     /* objects and lists that have not ended yet */
  bool ended;   /* whether the first has */
  guint behind; /* the line of one behind it; 0: there is none */
} Reader;

#define FAIL(...) (cf_fail (r->status, CF_BAD_VALUE, __VA_ARGS__))

/* Prints the position: `coefficients, "se"` */
static const char *
describe_position (const Reader *r, char out[40])
{
  g_snprintf (out, 40, r->quadrant ? "coefficients, \"%s\"" : "coefficients", r->quadrant);
  return out;
}

static bool
is_number (JsonNode *node)
{
  GType type = JSON_NODE_HOLDS_VALUE (node) ? json_node_get_value_type (node) : G_TYPE_NONE;

  return type == G_TYPE_INT64 || type == G_TYPE_DOUBLE;
}

/* Fails if the object has members of other names; the list ends with NULL. */
static CfCode
check_names (Reader *r, JsonObject *object, const char *const *names)
{
  GList *members = json_object_get_members (object);
  char shown[40], where[40], right[80] = "";
  CfCode code = CF_OK;

  for (GList *member = members; member && code == CF_OK; member = member->next) {
    const char *name = member->data;

    if (g_strv_contains (names, name))
      continue;
    for (int i = 0; names[i]; i++) {
      g_strlcat (right, i ? ", " : "", sizeof right);
      g_strlcat (right, names[i], sizeof right);
    }
    code = FAIL ("%s: \"%s\" is not known; the names are %s", describe_position (r, where),
        cf_text_show (name, strlen (name), false, shown, sizeof shown), right);
  }
  g_list_free (members);
  return code;
}

/* Reads an m x m matrix; taps->m is already set. */
static CfCode
read_matrix (Reader *r, JsonNode *node, const char *name, double max, double out[CF_IR_MAX][CF_IR_MAX])
{
  JsonArray *rows = JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
  int m = r->taps->m, n = rows ? (int) json_array_get_length (rows) : -1;

  if (n != m)
    return FAIL ("coefficients, \"%s\", \"%s\": %s; since \"m\" is %d, it must be a list of %d rows, each a list of %d "
                 "numbers",
        r->quadrant, name,
        n < 0       ? "it is not a list"
            : n < m ? "rows are missing"
                    : "it has too many rows",
        m, m, m);
  for (int k = 0; k < m; k++) {
    JsonNode *row_node = json_array_get_element (rows, (guint) k);
    JsonArray *row = JSON_NODE_HOLDS_ARRAY (row_node) ? json_node_get_array (row_node) : NULL;

    n = row ? (int) json_array_get_length (row) : -1;
    if (n != m)
      return FAIL ("coefficients, \"%s\", \"%s\", row %d: %s; since \"m\" is %d, it must be a list of %d numbers",
          r->quadrant, name, k + 1,
          n < 0       ? "it is not a list"
              : n < m ? "numbers are missing"
                      : "it has too many numbers",
          m, m);
    for (int l = 0; l < m; l++) {
      JsonNode *number = json_array_get_element (row, (guint) l);

      if (!is_number (number))
        return FAIL ("coefficients, \"%s\", \"%s\", row %d, column %d: it is not a number", r->quadrant, name, k + 1,
            l + 1);
      out[k][l] = json_node_get_double (number);
      if (!(fabs (out[k][l]) <= max))
        return FAIL ("coefficients, \"%s\", \"%s\", row %d, column %d: %g is too large; the maximum is %g", r->quadrant,
            name, k + 1, l + 1, out[k][l], max);
    }
  }
  return CF_OK;
}

static CfCode
read_quadrant (Reader *r, JsonNode *node, int q)
{
  static const char *const names[] = { "a", "b", NULL };
  JsonObject *object = JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  CfCode code;

  r->quadrant = cf_ir_quadrant_names[q];
  if (!object || !json_object_has_member (object, "a"))
    return FAIL ("coefficients, \"%s\": there is no \"a\"; it must be { \"a\": [[..], ..], \"b\": [[..], ..] }",
        r->quadrant);
  code = check_names (r, object, names);
  if (code == CF_OK)
    code = read_matrix (r, json_object_get_member (object, "a"), "a", CF_IR_MAX_A, r->taps->a[q]);
  if (code == CF_OK && json_object_has_member (object, "b"))
    code = read_matrix (r, json_object_get_member (object, "b"), "b", CF_IR_MAX_B, r->taps->b[q]);
  if (code == CF_OK && r->taps->b[q][0][0] != 0)
    return FAIL ("coefficients, \"%s\", \"b\", row 1, column 1: %g must be 0, because an output sample cannot "
                 "depend on itself",
        r->quadrant, r->taps->b[q][0][0]);
  r->taps->used[q] = true;
  r->quadrant = NULL;
  return code;
}

/* Reads a number; leaves *out if it is missing. */
static CfCode
read_number (Reader *r, JsonObject *object, const char *name, double *out)
{
  JsonNode *node = json_object_get_member (object, name);

  if (!node)
    return CF_OK;
  if (!is_number (node))
    return FAIL ("coefficients: \"%s\" is not a number", name);
  *out = json_node_get_double (node);
  if (!(fabs (*out) <= CF_IR_MAX_A))
    return FAIL ("coefficients: \"%s\": %g is too large; the maximum is %g", name, *out, CF_IR_MAX_A);
  return CF_OK;
}

static CfCode
read_root (Reader *r, JsonNode *root)
{
  static const char *const names[] = { "m", "se", "sw", "ne", "nw", "offset", "passthrough", "comment", NULL };
  JsonObject *object = root && JSON_NODE_HOLDS_OBJECT (root) ? json_node_get_object (root) : NULL;
  CfCode code = CF_OK;
  double m = 0;
  bool any = false;

  if (!object)
    return FAIL ("coefficients: the file contains no object; an example is " EXAMPLE);
  code = check_names (r, object, names);
  if (code == CF_OK)
    code = read_number (r, object, "m", &m);
  if (code != CF_OK)
    return code;
  if (!(m >= 1 && m <= CF_IR_MAX && m == floor (m)))
    return FAIL ("coefficients: \"m\" is %g; it must be given, as the side of all windows, and be 1 to %d", m,
        CF_IR_MAX);
  r->taps->m = (int) m;
  code = read_number (r, object, "offset", &r->taps->offset);
  if (code == CF_OK)
    code = read_number (r, object, "passthrough", &r->taps->through);
  for (int q = 0; q < CF_IR_QUADRANTS && code == CF_OK; q++) {
    JsonNode *node = json_object_get_member (object, cf_ir_quadrant_names[q]);

    if (node) {
      code = read_quadrant (r, node, q);
      any = true;
    }
  }
  if (code == CF_OK && !any)
    code = FAIL ("coefficients: there is no quadrant in the file; give at least one of \"se\", \"sw\", \"ne\", \"nw\"");
  return code;
}

/* Checks what the parser does not: so many brackets that its recursion would overflow the
 * stack, and integers that it would read as different ones. */
static CfCode
check_text (Reader *r, const char *text)
{
  int brackets = 0, digits = 0, line = 1;

  for (const char *at = text; *at; at++) {
    line += *at == '\n';
    brackets += *at == '[' || *at == '{';
    digits = g_ascii_isdigit (*at) ? digits + 1 : *at == '.' ? -MAX_DIGITS : 0;
    if (digits > MAX_DIGITS)
      return FAIL ("coefficients, line %d: there is a number with more than %d digits; write it with an exponent, such "
                   "as 1e20",
          line, MAX_DIGITS);
    if (brackets > MAX_BRACKETS)
      return FAIL ("coefficients, line %d: there are more than %d brackets; an example is " EXAMPLE, line,
          MAX_BRACKETS);
  }
  return CF_OK;
}

/* Signal handler: the parser knows its position only while it is parsing. */
static void
report_position (JsonParser *parser, const GError *error, Reader *r)
{
  (void) error;
  FAIL ("coefficients, line %u, character %u: this is not JSON; an example is " EXAMPLE,
      json_parser_get_current_line (parser), json_parser_get_current_pos (parser));
}

/* Signal handlers: an object or a list begins or has ended. The parser takes several. Which of them it keeps depends on
 * its version. */
static void
note_start (JsonParser *parser, Reader *r)
{
  if (r->ended && !r->behind)
    r->behind = json_parser_get_current_line (parser);
  r->open++;
}

static void
note_end (JsonParser *parser, gpointer value, Reader *r)
{
  (void) parser;
  (void) value;
  r->ended |= --r->open == 0;
}

CfCode
cf_ir_read_json (const char *text, CfIrTaps *taps, CfStatus *status)
{
  Reader reader = { .taps = taps, .status = status }, *r = &reader;
  JsonParser *parser;
  CfCode code = check_text (r, text);

  memset (taps, 0, sizeof *taps);
  if (code != CF_OK)
    return code;
  FAIL ("coefficients: this is not JSON; an example is " EXAMPLE);
  parser = json_parser_new ();
  g_signal_connect (parser, "error", G_CALLBACK (report_position), r);
  g_signal_connect (parser, "object-start", G_CALLBACK (note_start), r);
  g_signal_connect (parser, "array-start", G_CALLBACK (note_start), r);
  g_signal_connect (parser, "object-end", G_CALLBACK (note_end), r);
  g_signal_connect (parser, "array-end", G_CALLBACK (note_end), r);
  if (!json_parser_load_from_data (parser, text, -1, NULL))
    code = CF_BAD_VALUE;
  else if (r->behind)
    code = FAIL ("coefficients, line %u: something is behind the object; an example is " EXAMPLE, r->behind);
  else
    code = read_root (r, json_parser_get_root (parser));
  g_object_unref (parser);
  if (code == CF_OK)
    cf_fail (status, CF_OK, "%s", "");
  return code;
}
