/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/text.c: reads numbers from text that users type or store in a file. */
#define _GNU_SOURCE /* strtod_l */
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *
cf_text_show (const char *text, size_t length, bool tail, char *out, size_t n)
{
  size_t room = n - 1 - 3, start = tail && length > room ? length - room : 0, used = 0;

  if (start > 0) {
    memcpy (out, "...", 3);
    used = 3;
  }
  for (size_t i = start; i < length && i < start + room; i++)
    out[used++] = text[i] > ' ' && text[i] < 127 ? text[i] : text[i] == ' ' ? ' ' : '?';
  if (!tail && length > room) {
    memcpy (out + used, "...", 3);
    used += 3;
  }
  out[used] = '\0';
  return out;
}

/* ---- files -------------------------------------------------------------- */

static char *
read_all (int file, size_t size, int *error)
{
  char *text = malloc (size + 1);
  size_t have = 0;

  *error = text ? 0 : ENOMEM;
  while (text && have < size) {
    ssize_t n = read (file, text + have, size - have);

    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      *error = errno;
    if (n <= 0)
      break;
    have += (size_t) n;
  }
  if (*error) {
    free (text);
    return NULL;
  }
  text[have] = '\0';
  if (strlen (text) != have) {
    free (text);
    *error = EILSEQ;
    return NULL;
  }
  return text;
}

static bool
is_digit (char c)
{
  return c >= '0' && c <= '9';
}

void
cf_text_advise (const char *what, const char *text, CfStatus *status)
{
  bool comma = false, blank = false;
  int row = 1;

  for (const char *at = text; at && *at; at++) {
    const char before = at > text ? at[-1] : ' ';

    if (*at == ';' || *at == '\n') {
      comma = blank = false;
      row++;
    }
    comma = comma || (*at == ',' && is_digit (before) && is_digit (at[1]));
    blank = blank || (*at == ' ' && is_digit (before) && (is_digit (at[1]) || (at[1] && strchr (".+-", at[1]))));
    if (comma && blank) {
      cf_fail (status, CF_OK,
          "row %d of %s has both ',' and blanks between its numbers; "
          "if the ',' is meant as a decimal sign, use a point, as in 0.5",
          row, what);
      return;
    }
  }
}

char *
cf_text_read (const char *what, const char *path, CfStatus *status)
{
  char shown[120], *text = NULL;
  const char *reason = NULL;
  struct stat info;
  int error = 0;
  /* O_NONBLOCK: a pipe without a writer must not block the caller. */
  int file = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

  cf_text_show (path, strlen (path), true, shown, sizeof shown);
  if (file < 0 || fstat (file, &info) != 0)
    error = errno;
  else if (!S_ISREG (info.st_mode))
    reason = S_ISDIR (info.st_mode) ? "it is a directory" : "it is not a regular file";
  else if (info.st_size > CF_TEXT_MAX)
    reason = "it is larger than 1 MB";
  else
    text = read_all (file, (size_t) info.st_size, &error);
  if (file >= 0)
    close (file);
  if (error == EILSEQ)
    reason = "it is not a text: it has a zero byte";
  if (error == ENOMEM) {
    cf_fail (status, CF_NO_MEMORY, "out of memory");
  } else if (reason) {
    cf_fail (status, CF_BAD_VALUE, "%s \"%s\" cannot be used: %s", what, shown, reason);
  } else if (error) {
    locale_t plain = newlocale (LC_ALL_MASK, "C", (locale_t) 0); /* strerror is not thread-safe */

    cf_fail (status, CF_BAD_VALUE, "%s \"%s\" cannot be read: %s", what, shown,
        plain != (locale_t) 0 ? strerror_l (error, plain) : "out of memory");
    if (plain != (locale_t) 0)
      freelocale (plain);
  }
  return text;
}

void
cf_text_drop (const char **text)
{
  free ((void *) *text);
  *text = NULL;
}

CfCode
cf_text_unread (const char *what, const char *path, CfStatus *status)
{
  CfStatus why;
  char shown[120], *now = cf_text_read (what, path, &why);

  if (!now) {
    if (status)
      *status = why;
    return why.code;
  }
  free (now);
  cf_text_show (path, strlen (path), true, shown, sizeof shown);
  return cf_fail (status, CF_BAD_VALUE, "%s \"%s\" could not be read when it was set; set it again", what, shown);
}

/* ---- numbers ------------------------------------------------------------ */

#define BLANKS " \t\r\n\v\f"

static const char *
skip_digits (const char *s)
{
  while (is_digit (*s))
    s++;
  return s;
}

/* Returns the end of the decimal number at `s`, which may have an exponent if `exponent` says so; `s` if there is none.
 */
static const char *
number_end (const char *s, bool exponent)
{
  const char *digits = *s == '+' || *s == '-' ? s + 1 : s;
  const char *end = skip_digits (digits);
  bool any = end > digits;

  if (*end == '.') {
    digits = end + 1;
    end = skip_digits (digits);
    any = any || end > digits;
  }
  if (!any)
    return s;
  if (exponent && (*end == 'e' || *end == 'E')) {
    digits = end[1] == '+' || end[1] == '-' ? end + 2 : end + 1;
    if (is_digit (*digits))
      end = skip_digits (digits);
  }
  return end;
}

/* ---- lists -------------------------------------------------------------- */

bool
cf_text_next (CfTextList *list)
{
  if (!list->text)
    return false;
  list->text += strspn (list->text, BLANKS ";");
  list->entry = list->text;
  list->number += *list->text != '\0';
  return *list->text != '\0';
}

CfCode
cf_text_refuse (const CfTextList *list, const char *wrong, CfStatus *status)
{
  char shown[48];

  cf_text_show (list->entry, strcspn (list->entry, ";"), false, shown, sizeof shown);
  return cf_fail (status, CF_BAD_VALUE, "%s: number %u, \"%s\", %s; an example is %s", list->what, list->number, shown,
      wrong, list->example);
}

/* Reads a number without an exponent. Returns the text behind it and the blanks, or NULL. */
static const char *
read_decimal (const char *text, double *number, bool *point)
{
  const char *end = number_end (text, false);
  double value = 0, unit = 1; /* both exact */
  bool fraction = false;

  if (end == text || !strchr (BLANKS ",;", *end))
    return NULL;
  for (const char *at = text; at < end; at++) {
    fraction = fraction || *at == '.';
    if (is_digit (*at) && unit < 1e12) {
      value = 10 * value + (*at - '0');
      unit *= fraction ? 10 : 1;
    }
  }
  *number = (*text == '-' ? -value : value) / unit;
  *point = *point || fraction;
  return end + strspn (end, BLANKS);
}

int
cf_text_tuples (CfTextList *list, unsigned n, double *number, unsigned most, bool *point)
{
  const char *at = list->text + strspn (list->text, BLANKS);
  unsigned tuples = 0;

  *point = false;
  for (; *at && *at != ';'; tuples++) {
    if (tuples == most)
      return -1;
    for (unsigned i = 0; i < n; i++) {
      if (i > 0 && *at++ != ',')
        return -1;
      at = read_decimal (at + strspn (at, BLANKS), number++, point);
      if (!at)
        return -1;
    }
    if (*at == ',')
      at += 1 + strspn (at + 1, BLANKS);
  }
  list->text = at;
  return (int) tuples;
}

/* ---- rows --------------------------------------------------------------- */

typedef struct {
  const CfTextKind *kind;
  const char *at;
  locale_t c_locale;
  int row, column; /* of the current number, counted from 0 */
  CfStatus *status;
} Reader;

static bool
is_blank (char c)
{
  return c != '\n' && c != '\0' && strchr (BLANKS, c);
}

static bool
ends_row (char c)
{
  return c == ';' || c == '\n' || c == '\0';
}

static void
skip_blanks (Reader *r)
{
  while (is_blank (*r->at))
    r->at++;
}

#define FAIL(r, ...) (cf_fail ((r)->status, CF_BAD_VALUE, __VA_ARGS__))

static CfCode
read_number (Reader *r, double *value)
{
  const char *start = r->at, *stop = start, *end = number_end (start, true);
  char shown[40];

  while (!ends_row (*stop) && !is_blank (*stop) && *stop != ',')
    stop++;
  if (stop == start)
    return FAIL (r, "%s, row %d, column %d: a number is missing before the comma; write numbers, as in %s",
        r->kind->what, r->row + 1, r->column + 1, r->kind->example);
  cf_text_show (start, (size_t) (stop - start), false, shown, sizeof shown);
  if (end != stop)
    return FAIL (r, "%s, row %d, column %d: \"%s\" is not a number; use decimal numbers, as in %s", r->kind->what,
        r->row + 1, r->column + 1, shown, r->kind->example);
  *value = strtod_l (start, NULL, r->c_locale);
  if (!isfinite (*value))
    return FAIL (r, "%s, row %d, column %d: %s is too large; use a number below 1e300", r->kind->what, r->row + 1,
        r->column + 1, shown);
  r->at = stop;
  return CF_OK;
}

/* Reads one row to `t`, up to the character that ends it, and sets `*n` to the count of its numbers. All rows after the
 * first must have `w` numbers. */
static CfCode
read_row (Reader *r, double *t, int w, int *n)
{
  skip_blanks (r);
  for (r->column = 0; !ends_row (*r->at); r->column++) {
    double value = 0;
    CfCode code = read_number (r, &value);

    if (code != CF_OK)
      return code;
    if (r->row > 0 && r->column >= w)
      return FAIL (r, "%s, row %d, column %d: there is a number too many; row 1 has %d, so every row must have %d",
          r->kind->what, r->row + 1, r->column + 1, w, w);
    if (r->column >= r->kind->max)
      return FAIL (r, "%s, row %d, column %d: the row is too long; %s has at most %d rows and %d columns",
          r->kind->what, r->row + 1, r->column + 1, r->kind->thing, r->kind->max, r->kind->max);
    t[r->column] = value;
    skip_blanks (r);
    if (*r->at == ',') {
      r->at++;
      skip_blanks (r);
    }
  }
  *n = r->column;
  if (*n == 0)
    return FAIL (r, "%s, row %d, column 1: the row is empty; write numbers, as in %s", r->kind->what, r->row + 1,
        r->kind->example);
  if (r->row > 0 && *n < w)
    return FAIL (r, "%s, row %d, column %d: a number is missing; row 1 has %d, so every row must have %d",
        r->kind->what, r->row + 1, *n + 1, w, w);
  return CF_OK;
}

/* Skips the end of a row: a semicolon, a line end, or both in this order. Returns false after the last row. */
static bool
next_row (Reader *r)
{
  const char *rest;

  if (*r->at == ';') {
    r->at++;
    skip_blanks (r);
  }
  if (*r->at == '\n')
    r->at++;
  /* Blank lines at the end of a file are ignored. */
  for (rest = r->at; is_blank (*rest) || *rest == '\n';)
    rest++;
  return *rest != '\0';
}

CfCode
cf_text_parse (const CfTextKind *kind, const char *text, double *t, int *w, int *h, CfStatus *status)
{
  Reader r = { .kind = kind, .at = text, .status = status };
  CfCode code = CF_OK;
  bool more = true;

  *w = *h = 0;
  r.c_locale = newlocale (LC_ALL_MASK, "C", (locale_t) 0);
  if (r.c_locale == (locale_t) 0)
    return cf_fail (status, CF_NO_MEMORY, "out of memory");
  for (r.row = 0; code == CF_OK && more; r.row++) {
    int n = 0;

    if (r.row >= kind->max)
      code = FAIL (&r, "%s, row %d, column 1: there is a row too many; %s has at most %d rows and %d columns",
          kind->what, r.row + 1, kind->thing, kind->max, kind->max);
    else
      code = read_row (&r, t + r.row * *w, *w, &n);
    if (code != CF_OK)
      break;
    if (r.row == 0)
      *w = n;
    more = next_row (&r);
  }
  freelocale (r.c_locale);
  if (code == CF_OK && strnlen (text, CF_TEXT_MAX + 1) > CF_TEXT_MAX)
    code = FAIL (&r, "%s, row %d, column %d: the text is longer than 1 MB; use shorter numbers and fewer blanks",
        kind->what, r.row, *w);
  *h = r.row;
  return code;
}
