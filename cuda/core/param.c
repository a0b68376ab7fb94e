/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/param.c: parameter blocks: defaults, copies, and setting a parameter, from text or by its value. */
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

static bool
parse_value (const CfParam *p, const char *text, CfValue *value)
{
  value->text = text;
  if (p->type == CF_TYPE_STRING || !text)
    return p->type == CF_TYPE_STRING;
  if (p->type == CF_TYPE_DOUBLE)
    return parse_double (text, &value->real);
  if (p->type == CF_TYPE_BOOL)
    return parse_bool (text, &value->number);
  if (p->type == CF_TYPE_FLAGS)
    return parse_flags (p, text, &value->number);
  if (p->type == CF_TYPE_COLOR)
    return parse_color (text, &value->color);
  return (p->type == CF_TYPE_ENUM && find_value (p, text, strlen (text), &value->number)) ||
      parse_int (text, &value->number);
}

CfCode
cf_params_set (const CfFilter *filter, void *params, const char *name, const char *text, CfStatus *status)
{
  const CfParam *p;
  unsigned row = 0;
  CfValue value = { 0 };
  char shown[80] = "";

  while (row < filter->info.n_params && strcmp (filter->info.params[row].name, name) != 0)
    row++;
  if (row == filter->info.n_params)
    return cf_fail (status, CF_BAD_VALUE, "the %s filter has no parameter %s", filter->info.stem,
        cf_text_show (name, strlen (name), false, shown, sizeof shown));
  p = &filter->info.params[row];
  if (!p->readonly && !parse_value (p, text, &value)) {
    if (text)
      cf_text_show (text, strlen (text), false, shown, sizeof shown);
    return cf_fail (status, CF_BAD_VALUE, "\"%s\" is no value for %s", shown, p->name);
  }
  return cf_params_set_value (filter, params, row, value, status);
}

/* ---- values ------------------------------------------------------------- */

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

CfCode
cf_params_set_value (const CfFilter *filter, void *params, unsigned row, CfValue value, CfStatus *status)
{
  const CfParam *p = &filter->info.params[row];
  void *field = field_of (p, params);
  CfCode code = CF_OK;
  CfStatus local;

  if (p->readonly)
    return cf_fail (status, CF_BAD_VALUE, "%s can only be read", p->name);
  if (p->type == CF_TYPE_STRING)
    code = set_string (field, value.text, status);
  else if (p->type == CF_TYPE_DOUBLE)
    *(double *) field = value.real;
  else if (p->type == CF_TYPE_COLOR)
    *(uint32_t *) field = value.color;
  else
    *(int *) field = value.number;
  return code == CF_OK && filter->changed ? filter->changed (params, row, status ? status : &local) : code;
}
