/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/param.c: parameter blocks: defaults, copies, and setting a parameter from text. */
#define _GNU_SOURCE /* strtod_l */
#include "filter.h"
#include "text.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

static void *
field_of (const CfParam *p, void *params)
{
  return (char *) params + p->offset;
}

void
cf_params_free (const CfFilter *filter, void *params)
{
  for (unsigned i = 0; params && i < filter->info.n_params; i++)
    if (filter->info.params[i].type == CF_TYPE_STRING)
      free (*(char **) field_of (&filter->info.params[i], params));
  free (params);
}

static void *
copy_params (const CfFilter *filter, const void *params)
{
  void *copy = malloc (filter->params_size);
  bool complete = copy != NULL;

  if (!copy)
    return NULL;
  memcpy (copy, params, filter->params_size);
  for (unsigned i = 0; i < filter->info.n_params; i++) {
    char **field = field_of (&filter->info.params[i], copy);

    if (filter->info.params[i].type == CF_TYPE_STRING && *field) {
      *field = strdup (*field);
      complete = complete && *field;
    }
  }
  if (complete)
    return copy;
  cf_params_free (filter, copy);
  return NULL;
}

void *
cf_params_new (const CfFilter *filter, const void *from)
{
  void *params = from ? copy_params (filter, from) : calloc (1, filter->params_size);

  for (unsigned i = 0; params && !from && i < filter->info.n_params; i++) {
    const CfParam *p = &filter->info.params[i];
    void *field = field_of (p, params);

    if (p->type == CF_TYPE_DOUBLE)
      *(double *) field = p->def;
    else if (p->type == CF_TYPE_COLOR)
      *(uint32_t *) field = (uint32_t) p->def;
    else if (p->type != CF_TYPE_STRING)
      *(int *) field = (int) p->def;
  }
  return params;
}

/* ---- text --------------------------------------------------------------- */

static bool
find_value (const CfParam *p, const char *name, size_t length, int *value)
{
  for (const CfEnumValue *v = p->values; v->name; v++)
    if (strlen (v->name) == length && strncmp (v->name, name, length) == 0) {
      *value = v->value;
      return true;
    }
  return false;
}

/* Reads "se+nw"; an empty text sets no flag. */
static bool
parse_flags (const CfParam *p, const char *text, int *flags)
{
  for (*flags = 0; *text; text += *text == '+') {
    size_t length = strcspn (text, "+");
    int value;

    if (!find_value (p, text, length, &value))
      return false;
    *flags |= value;
    text += length;
  }
  return true;
}

static bool
parse_double (const char *text, double *value)
{
  locale_t plain = newlocale (LC_ALL_MASK, "C", (locale_t) 0);
  char *end = NULL;

  if (plain == (locale_t) 0)
    return false;
  *value = strtod_l (text, &end, plain);
  freelocale (plain);
  return end != text && *end == '\0';
}

static bool
parse_int (const char *text, int *value)
{
  char *end = NULL;
  long number;

  errno = 0;
  number = strtol (text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || number < INT_MIN || number > INT_MAX)
    return false;
  *value = (int) number;
  return true;
}

static bool
parse_color (const char *text, uint32_t *value)
{
  char *end = NULL;
  unsigned long long number;

  errno = 0;
  number = strtoull (text, &end, 0);
  if (end == text || *end != '\0' || *text == '-' || errno != 0 || number > UINT32_MAX)
    return false;
  *value = (uint32_t) number;
  return true;
}

static bool
parse_bool (const char *text, int *value)
{
  bool yes = strcmp (text, "true") == 0 || strcmp (text, "1") == 0;

  if (!yes && strcmp (text, "false") != 0 && strcmp (text, "0") != 0)
    return false;
  *value = yes;
  return true;
}

static CfCode
set_string (char **field, const char *text, CfStatus *status)
{
  char *copy = text ? strdup (text) : NULL;

  if (text && !copy)
    return cf_fail (status, CF_NO_MEMORY, "out of memory");
  free (*field);
  *field = copy;
  return CF_OK;
}

/* Sets the field of one row, without effect on other rows. */
static CfCode
set_field (const CfParam *p, void *params, const char *text, CfStatus *status)
{
  void *field = field_of (p, params);
  char shown[80] = "";
  bool good = false;

  if (p->type == CF_TYPE_STRING)
    return set_string (field, text, status);
  if (text && p->type == CF_TYPE_INT)
    good = parse_int (text, field);
  else if (text && p->type == CF_TYPE_DOUBLE)
    good = parse_double (text, field);
  else if (text && p->type == CF_TYPE_BOOL)
    good = parse_bool (text, field);
  else if (text && p->type == CF_TYPE_ENUM)
    good = find_value (p, text, strlen (text), field) || parse_int (text, field);
  else if (text && p->type == CF_TYPE_FLAGS)
    good = parse_flags (p, text, field);
  else if (text && p->type == CF_TYPE_COLOR)
    good = parse_color (text, field);
  if (good)
    return CF_OK;
  if (text)
    cf_text_show (text, strlen (text), false, shown, sizeof shown);
  return cf_fail (status, CF_BAD_VALUE, "\"%s\" is no value for %s", shown, p->name);
}

CfCode
cf_params_set (const CfFilter *filter, void *params, const char *name, const char *text, CfStatus *status)
{
  unsigned row = 0;
  CfStatus local;
  char shown[80];
  CfCode code;

  while (row < filter->info.n_params && strcmp (filter->info.params[row].name, name) != 0)
    row++;
  if (row == filter->info.n_params)
    return cf_fail (status, CF_BAD_VALUE, "the %s filter has no parameter %s", filter->info.stem,
        cf_text_show (name, strlen (name), false, shown, sizeof shown));
  if (filter->info.params[row].readonly)
    return cf_fail (status, CF_BAD_VALUE, "%s can only be read", name);
  code = set_field (&filter->info.params[row], params, text, status);
  return code == CF_OK && filter->changed ? filter->changed (params, row, status ? status : &local) : code;
}
