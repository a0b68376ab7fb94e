/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * params.c: a filter's parameter struct through its parameter table. */
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

static bool
set_one (const CfParam *param, void *params, const char *value)
{
  char *field = (char *) params + param->offset, *end = NULL;

  if (param->type == CF_TYPE_DOUBLE) {
    *(double *) (void *) field = strtod (value, &end);
    return end != value && *end == '\0';
  }
  if (param->type == CF_TYPE_STRING)
    return false; /* a filter with strings brings its own cases */
  for (const CfEnumValue *v = param->type == CF_TYPE_ENUM ? param->values : NULL; v && v->name; v++)
    if (strcmp (v->name, value) == 0) {
      *(int *) (void *) field = v->value;
      return true;
    }
  *(int *) (void *) field = (int) strtol (value, &end, 10);
  return end != value && *end == '\0';
}

bool
kc_params_set (const CfFilter *filter, void *params, const char *text, char *error)
{
  char word[KC_TEXT];
  int taken;

  while (sscanf (text, " %319s%n", word, &taken) == 1) {
    char *equals = strchr (word, '=');
    const CfParam *param = equals ? find_param (filter, word, (size_t) (equals - word)) : NULL;

    text += taken;
    if (!param || !set_one (param, params, equals + 1)) {
      snprintf (error, KC_TEXT, "\"%.200s\" is no parameter of %s with a value it can take", word,
          cf_filter_stem (filter));
      return false;
    }
  }
  return true;
}

int
kc_param_int (const CfFilter *filter, const void *params, const char *name, int fallback)
{
  const CfParam *param = find_param (filter, name, strlen (name));

  if (!param || param->type == CF_TYPE_DOUBLE || param->type == CF_TYPE_STRING)
    return fallback;
  return *(const int *) (const void *) ((const char *) params + param->offset);
}

/* One parameter's random value: now the default, now an end of the range, and
 * else anything, more often small than large. */
static void
random_value (const CfParam *param, char *text, size_t size, uint64_t *state)
{
  unsigned how = (unsigned) (kc_random (state) % 8);
  double u = (double) (kc_random (state) >> 11) / 9007199254740992.0;
  double value = how < 3 ? param->def : how == 3 ? param->min : how == 4 ? param->max
      : param->min + (how == 5 ? u : u * u * u) * (param->max - param->min);
  unsigned n_values = 0;

  if (param->type == CF_TYPE_ENUM) {
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

bool
kc_params_random (const CfFilter *filter, const CfVideo *video, const CfCommon *common, char *text, uint64_t *state)
{
  unsigned n;
  const CfParam *table = cf_filter_params (filter, &n);
  void *params = malloc (cf_filter_params_size (filter));
  bool good = false;

  for (int tries = 0; params && !good && tries < 1000; tries++) {
    size_t used = 0;
    char error[KC_TEXT];

    cf_filter_defaults (filter, params);
    text[0] = '\0';
    for (unsigned i = 0; i < n && used < KC_TEXT - 80; i++) {
      random_value (&table[i], text + used, KC_TEXT - used, state);
      used += strlen (text + used);
    }
    good = kc_params_set (filter, params, text, error) &&
        cf_filter_check (filter, video, common, params, NULL) == CF_OK;
  }
  free (params);
  return good;
}
