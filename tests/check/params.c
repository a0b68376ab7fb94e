/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * params.c: sets, reads and randomizes a filter's parameter struct through its parameter table. */
#include "kernelcheck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const CfParam *
find_param (const CfFilter *filter, const char *name)
{
  const CfFilterInfo *info = cf_filter_info (filter);

  for (unsigned i = 0; i < info->n_params; i++)
    if (g_str_equal (info->params[i].name, name))
      return &info->params[i];
  return NULL;
}

/* Returns the length of the "name=value" at `text`, which extends to the next word with a '='. */
static size_t
setting_length (const char *text)
{
  size_t length = strcspn (text, " ");

  for (size_t at = length; text[at];) {
    size_t word;

    at += strspn (text + at, " ");
    word = strcspn (text + at, " ");
    if (memchr (text + at, '=', word))
      break;
    at += word;
    length = word ? at : length;
  }
  return length;
}

/* Sets "name=value", `length` bytes of `text`. */
static CfCode
set_text (const CfFilter *filter, void *params, const char *text, size_t length, CfStatus *status)
{
  g_autofree char *name = g_strndup (text, length);
  char *equals = strchr (name, '=');
  CfStatus why = { .message = "there is no '='" };
  CfCode code = CF_UNSUPPORTED;

  if (equals) {
    *equals = '\0';
    code = cf_params_set (filter, params, name, equals + 1, &why);
  }
  /* A name or a value that does not exist is a mistake of the test, not a value to be refused. */
  if (code == CF_BAD_VALUE && (!find_param (filter, name) || strstr (why.message, "is no value for")))
    code = CF_UNSUPPORTED;
  return code == CF_OK ? CF_OK : cf_fail (status, code, "%.*s: %.130s", (int) MIN (length, 100), text, why.message);
}

CfCode
kc_params_set (const CfFilter *filter, void *params, const char *text, CfStatus *status)
{
  const KcFilter *kc = kc_filter_find (cf_filter_info (filter)->stem);
  g_autofree char *expanded = kc && kc->expand ? kc->expand (text) : NULL;
  const char *at = expanded ? expanded : text;
  CfCode code = CF_OK;

  for (at += strspn (at, " "); code == CF_OK && *at; at += strspn (at, " ")) {
    size_t length = setting_length (at);

    code = set_text (filter, params, at, length, status);
    at += length;
  }
  return code;
}

void *
kc_params_new (const CfFilter *filter, const char *text, CfStatus *status)
{
  void *params = cf_params_new (filter, NULL);

  g_assert (params);
  if (kc_params_set (filter, params, text, status) == CF_OK)
    return params;
  cf_params_free (filter, params);
  return NULL;
}

const KcFilter *
kc_filter_find (const char *stem)
{
  for (const KcFilter *const *kc = kc_filters; *kc; kc++)
    if (g_str_equal ((*kc)->stem, stem))
      return *kc;
  return NULL;
}

/* Returns where a parameter of that type is stored; NULL if there is none. */
static const void *
value_of (const CfFilter *filter, const void *params, const char *name, CfType type)
{
  const CfParam *param = find_param (filter, name);

  return param && param->type == type ? (const char *) params + param->offset : NULL;
}

bool
kc_read_matrix (const char *text, const char *ends, bool empty, int most, double *v, int *w, int *h)
{
  g_auto (GStrv) rows = g_strsplit_set (text, ends, -1);

  *w = *h = 0;
  for (char **row = rows; *row; row++) {
    int n = 0;

    for (char *at = *row + strspn (*row, " ,\t\r\n"), *end; *at; at = end + strspn (end, " ,\t\r\n")) {
      const double value = strtod (at, &end);

      if (end == at || n == most || *h == most || !isfinite (value))
        return false;
      v[*h * *w + n++] = value;
    }
    if (n == 0 && empty)
      continue;
    if (n == 0 || (*h > 0 && n != *w))
      return false;
    *w = n;
    ++*h;
  }
  return *h > 0;
}

int
kc_param_int (const CfFilter *filter, const void *params, const char *name, int fallback)
{
  const CfParam *param = find_param (filter, name);

  if (!param || param->type == CF_TYPE_DOUBLE || param->type == CF_TYPE_STRING)
    return fallback;
  return *(const int *) (const void *) ((const char *) params + param->offset);
}

double
kc_param_double (const CfFilter *filter, const void *params, const char *name)
{
  const double *value = value_of (filter, params, name, CF_TYPE_DOUBLE);

  return value ? *value : 0;
}

const char *
kc_param_text (const CfFilter *filter, const void *params, const char *name)
{
  const char *const *value = value_of (filter, params, name, CF_TYPE_STRING);

  return value ? *value : NULL;
}

const char *
kc_param_name (const CfFilter *filter, const void *params, const char *name)
{
  const CfParam *param = find_param (filter, name);
  int value = kc_param_int (filter, params, name, 0);

  for (const CfEnumValue *v = param && param->type == CF_TYPE_ENUM ? param->values : NULL; v && v->name; v++)
    if (v->value == value)
      return v->name;
  return "";
}

/* Writes a random value of one parameter: sometimes the default, sometimes a limit of the range, else any value, small
 * ones more often than large ones. Strings and flags keep their defaults: a filter with such parameters has its own
 * random_setting. */
static void
random_value (const CfParam *param, GString *text, uint64_t *state)
{
  unsigned how = (unsigned) (kc_random (state) % 8), n_values = 0;
  double u = kc_random_double (state);
  double value = how < 3 ? param->def
      : how == 3         ? param->min
      : how == 4         ? param->max
                         : param->min + (how == 5 ? u : u * u * u) * (param->max - param->min);

  if (param->readonly) {
    return;
  } else if (param->type == CF_TYPE_ENUM) {
    while (param->values[n_values].name)
      n_values++;
    g_string_append_printf (text, "%s=%s ", param->name, param->values[kc_random (state) % n_values].name);
  } else if (param->type == CF_TYPE_BOOL) {
    g_string_append_printf (text, "%s=%d ", param->name, (int) (kc_random (state) & 1));
  } else if (param->type == CF_TYPE_DOUBLE) {
    g_string_append_printf (text, "%s=%.17g ", param->name, value);
  } else if (param->type == CF_TYPE_INT) {
    g_string_append_printf (text, "%s=%d ", param->name, (int) value);
  }
}

static void
random_text (const KcFilter *kc, const CfFilterInfo *info, char *text, uint64_t *state)
{
  g_autoptr (GString) all = g_string_new ("");

  if (kc->random_setting)
    kc->random_setting (all, state);
  for (unsigned i = 0; !kc->random_setting && i < info->n_params; i++)
    random_value (&info->params[i], all, state);
  g_assert (all->len < KC_TEXT);
  strcpy (text, all->str);
}

bool
kc_params_random (const KcFilter *kc, const CfVideo *video, const CfCommon *common, char *text, uint64_t *state,
    CfStatus *status)
{
  const CfFilter *filter = cf_filter_find (kc->stem);
  bool good = false;

  for (int tries = 0; !good && tries < 1000; tries++) {
    CfStatus why = { 0 };
    void *params;

    random_text (kc, cf_filter_info (filter), text, state);
    params = kc_params_new (filter, text, status);
    if (!params)
      return false;
    good = cf_filter_check (filter, video, common, params, &why) == CF_OK;
    if (kc->accepts && kc->accepts (filter, video, params) != good) {
      cf_fail (status, CF_BAD_VALUE, "%s, but not by the reference: %.120s", good ? "accepted" : "refused",
          why.message);
      good = false;
      tries = 1000;
    }
    cf_params_free (filter, params);
  }
  return good;
}
