/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * params.c: sets, reads and randomizes a filter's parameter struct through its parameter table. */
#include "kernelcheck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const CfParam *
find_param (const CfFilter *filter, const char *name, size_t length)
{
  unsigned n;
  const CfParam *table = cf_filter_params (filter, &n);

  for (unsigned i = 0; i < n; i++)
    if (strlen (table[i].name) == length && strncmp (table[i].name, name, length) == 0)
      return &table[i];
  return NULL;
}

/* Parses flags such as "se+nw"; an empty text sets none. */
static bool
set_flags (const CfParam *param, int *flags, const char *value)
{
  for (*flags = 0; *value; value += *value == '+') {
    size_t n = strcspn (value, "+");
    const CfEnumValue *v = param->values;

    while (v->name && (strlen (v->name) != n || strncmp (v->name, value, n) != 0))
      v++;
    if (!v->name)
      return false;
    *flags |= v->value;
    value += n;
  }
  return true;
}

/* Sets one parameter from text. The number must end where the text ends. */
static bool
set_one (const CfParam *param, void *params, const char *value)
{
  char *field = (char *) params + param->offset, *end = NULL;

  if (param->readonly)
    return false;
  if (param->type == CF_TYPE_DOUBLE) {
    *(double *) (void *) field = strtod (value, &end);
    return end != value && *end == '\0';
  }
  if (param->type == CF_TYPE_STRING) {
    char **text = (char **) (void *) field;

    free (*text);
    return (*text = strdup (value)) != NULL;
  }
  if (param->type == CF_TYPE_FLAGS)
    return set_flags (param, (int *) (void *) field, value);
  for (const CfEnumValue *v = param->type == CF_TYPE_ENUM ? param->values : NULL; v && v->name; v++)
    if (strcmp (v->name, value) == 0) {
      *(int *) (void *) field = v->value;
      return true;
    }
  if (param->type == CF_TYPE_COLOR)
    *(uint32_t *) (void *) field = (uint32_t) strtoul (value, &end, 0);
  else
    *(int *) (void *) field = (int) strtol (value, &end, 10);
  return end != value && *end == '\0';
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

static CfCode
set_text (const CfFilter *filter, void *params, const char *text, size_t length, char *error)
{
  unsigned n;
  const CfParam *table = cf_filter_params (filter, &n), *param = NULL;
  const char *equals = memchr (text, '=', length);
  char *value = equals ? strndup (equals + 1, length - (size_t) (equals + 1 - text)) : NULL;
  CfStatus status = { 0 };
  CfCode code = CF_UNSUPPORTED;

  if (value)
    param = find_param (filter, text, (size_t) (equals - text));
  if (param && set_one (param, params, value)) {
    code = cf_filter_param_changed (filter, params, (unsigned) (param - table), &status);
    if (code != CF_OK)
      snprintf (error, KC_TEXT, "%s", status.message);
  } else {
    snprintf (error, KC_TEXT, "\"%.*s\" is no parameter of %s with a valid value",
        length < 200 ? (int) length : 200, text, cf_filter_stem (filter));
  }
  free (value);
  return code;
}

CfCode
kc_params_set (const CfFilter *filter, void *params, const char *text, char *error)
{
  const KcFilter *kc = kc_filter_of (filter);
  char *expanded = kc && kc->expand ? kc->expand (text) : NULL;
  const char *at = expanded ? expanded : text;
  CfCode code = CF_OK;

  for (at += strspn (at, " "); code == CF_OK && *at; at += strspn (at, " ")) {
    size_t length = setting_length (at);

    code = set_text (filter, params, at, length, error);
    at += length;
  }
  free (expanded);
  return code;
}

void
kc_params_free (const CfFilter *filter, void *params)
{
  unsigned n;
  const CfParam *table = cf_filter_params (filter, &n);

  for (unsigned i = 0; params && i < n; i++)
    if (table[i].type == CF_TYPE_STRING)
      free (*(char **) (void *) ((char *) params + table[i].offset));
  free (params);
}

const KcFilter *
kc_filter_of (const CfFilter *filter)
{
  for (const KcFilter *const *kc = kc_filters; *kc; kc++)
    if (strcmp ((*kc)->stem, cf_filter_stem (filter)) == 0)
      return *kc;
  return NULL;
}

int
kc_param_int (const CfFilter *filter, const void *params, const char *name, int fallback)
{
  const CfParam *param = find_param (filter, name, strlen (name));

  if (!param || param->type == CF_TYPE_DOUBLE || param->type == CF_TYPE_STRING)
    return fallback;
  return *(const int *) (const void *) ((const char *) params + param->offset);
}

double
kc_param_double (const CfFilter *filter, const void *params, const char *name)
{
  const CfParam *param = find_param (filter, name, strlen (name));

  return param && param->type == CF_TYPE_DOUBLE
      ? *(const double *) (const void *) ((const char *) params + param->offset) : 0;
}

const char *
kc_param_text (const CfFilter *filter, const void *params, const char *name)
{
  const CfParam *param = find_param (filter, name, strlen (name));

  return param && param->type == CF_TYPE_STRING
      ? *(const char *const *) (const void *) ((const char *) params + param->offset) : NULL;
}

const char *
kc_param_name (const CfFilter *filter, const void *params, const char *name)
{
  const CfParam *param = find_param (filter, name, strlen (name));
  int value = kc_param_int (filter, params, name, 0);

  for (const CfEnumValue *v = param && param->type == CF_TYPE_ENUM ? param->values : NULL; v && v->name; v++)
    if (v->value == value)
      return v->name;
  return "";
}

/* Writes a random value of one parameter: sometimes the default, sometimes a limit of the range,
 * else any value, small ones more often than large ones. Strings and flags keep their defaults: a
 * filter with such parameters has its own random_setting. */
static void
random_value (const CfParam *param, char *text, size_t size, uint64_t *state)
{
  unsigned how = (unsigned) (kc_random (state) % 8);
  double u = (double) (kc_random (state) >> 11) / 9007199254740992.0;
  double value = how < 3 ? param->def : how == 3 ? param->min : how == 4 ? param->max
      : param->min + (how == 5 ? u : u * u * u) * (param->max - param->min);
  unsigned n_values = 0;

  if (param->readonly) {
    text[0] = '\0';
  } else if (param->type == CF_TYPE_ENUM) {
    while (param->values[n_values].name)
      n_values++;
    snprintf (text, size, "%s=%s ", param->name, param->values[kc_random (state) % n_values].name);
  } else if (param->type == CF_TYPE_BOOL) {
    snprintf (text, size, "%s=%d ", param->name, (int) (kc_random (state) & 1));
  } else if (param->type == CF_TYPE_DOUBLE) {
    snprintf (text, size, "%s=%.17g ", param->name, value);
  } else if (param->type == CF_TYPE_INT) {
    snprintf (text, size, "%s=%d ", param->name, (int) value);
  } else {
    text[0] = '\0';
  }
}

static void
random_text (const CfFilter *filter, char *text, uint64_t *state)
{
  const KcFilter *kc = kc_filter_of (filter);
  unsigned n;
  const CfParam *table = cf_filter_params (filter, &n);
  size_t used = 0;

  text[0] = '\0';
  if (kc && kc->random_setting) {
    kc->random_setting (text, KC_TEXT, state);
    return;
  }
  for (unsigned i = 0; i < n && used < KC_TEXT - 80; i++) {
    random_value (&table[i], text + used, KC_TEXT - used, state);
    used += strlen (text + used);
  }
}

bool
kc_params_random (const CfFilter *filter, const CfVideo *video, const CfCommon *common, char *text, uint64_t *state,
    char *error)
{
  const KcFilter *kc = kc_filter_of (filter);
  bool good = false;

  error[0] = '\0';
  for (int tries = 0; !good && tries < 1000; tries++) {
    void *params = malloc (cf_filter_params_size (filter));
    CfStatus status = { 0 };

    if (!params)
      return false;
    cf_filter_defaults (filter, params);
    random_text (filter, text, state);
    good = kc_params_set (filter, params, text, error) == CF_OK;
    if (good) {
      good = cf_filter_check (filter, video, common, params, &status) == CF_OK;
      if (kc && kc->accepts && kc->accepts (filter, video, params) != good) {
        snprintf (error, KC_TEXT, "%s, but not by the reference: %.120s", good ? "accepted" : "refused",
            status.message);
        kc_params_free (filter, params);
        return false;
      }
    }
    kc_params_free (filter, params);
  }
  return good;
}
