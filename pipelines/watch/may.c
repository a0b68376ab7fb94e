/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * may.c: what an operator may change of a camera's filter.
 *
 * Where a filter hides, any property of any of its elements may be what keeps something hidden: one that stands before
 * the mask can move the picture under it. So nothing may be set but what the file lists; areas may be added to those
 * that are filled. Files may not be named on any camera. */
#include "may.h"

#include "overrides.h"

#include <string.h>

#define FILL "fill"

/* Returns the preset by which an element hides; NULL: it does not. */
static const char *
hiding_preset (gpointer element)
{
  static const char *const presets[] = { FILL, "mosaic", "privacy", NULL };
  GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), "preset");
  const GEnumValue *value;
  int now;

  if (!spec || !G_IS_PARAM_SPEC_ENUM (spec))
    return NULL;
  g_object_get (element, "preset", &now, NULL);
  value = g_enum_get_value (G_PARAM_SPEC_ENUM (spec)->enum_class, now);
  return value && g_strv_contains (presets, value->value_nick) ? value->value_nick : NULL;
}

gboolean
any_hides (GList *elements)
{
  for (GList *l = elements; l; l = l->next)
    if (hiding_preset (l->data))
      return TRUE;
  return FALSE;
}

static gboolean
is_listed (char **list, GList *elements, int index, const GParamSpec *spec)
{
  g_autoptr (GString) unknown = g_string_new (NULL);
  int other;

  for (char **one = list; one && *one; one++)
    if (overrides_find (elements, *one, &other, unknown) == spec && other == index)
      return TRUE;
  return FALSE;
}

/* Returns the areas of the text, each a GArray of its numbers; NULL where one is not written in digits and decimal
 * points alone, or, of a rectangle, counts pixels: those would be of the frames' present size, and so another area. */
static GPtrArray *
read_areas (const char *text, gboolean rectangles)
{
  g_auto (GStrv) parts = g_strsplit (text, ";", -1);
  g_autoptr (GPtrArray) areas = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);

  for (char **part = parts; *part; part++) {
    g_auto (GStrv) words = g_strsplit_set (*part, ", \t", -1);
    GArray *numbers;

    if (!*g_strstrip (*part))
      continue;
    if (rectangles && !strchr (*part, '.'))
      return NULL;
    g_ptr_array_add (areas, numbers = g_array_new (FALSE, FALSE, sizeof (double)));
    for (char **word = words; *word; word++) {
      char *end;
      double number = g_ascii_strtod (*word, &end);

      if (!**word)
        continue;
      if (strspn (*word, "0123456789.") != strlen (*word) || *end)
        return NULL;
      g_array_append_val (numbers, number);
    }
  }
  return areas->len > 0 ? g_steal_pointer (&areas) : NULL;
}

static gboolean
is_same (const GArray *one, const GArray *other)
{
  return one->len == other->len && !memcmp (one->data, other->data, one->len * sizeof (double));
}

/* Returns whether the value has all areas that the element has, and perhaps more. Where an element fills, one more
 * never shows anything, since all areas together are filled. A mosaic divides each area into blocks: a small area in a
 * large one has smaller blocks, which would show more. */
static gboolean
is_addition (gpointer element, const GParamSpec *spec, const char *value)
{
  const gboolean rectangles = !strcmp (spec->name, "roi");
  g_autoptr (GPtrArray) old = NULL, new = NULL;
  g_autofree char *now = NULL;
  gboolean invert, same = TRUE;

  if (g_strcmp0 (hiding_preset (element), FILL) || (!rectangles && strcmp (spec->name, "mask-polygons")))
    return FALSE;
  g_object_get (element, "roi-invert", &invert, spec->name, &now, NULL);
  /* Without any area the whole frame is filtered, and so it is while a value is refused. */
  old = now && !invert ? read_areas (now, rectangles) : NULL;
  new = old ? read_areas (value, rectangles) : NULL;
  if (!new || new->len < old->len)
    return FALSE;
  for (guint i = 0; i < old->len; i++)
    same &= is_same (old->pdata[i], new->pdata[i]);
  return same;
}

/* Returns whether an element may read a file of this name. Then it says what it finds there. */
static gboolean
names_file (const GParamSpec *spec, const char *value)
{
  return spec->value_type == G_TYPE_STRING && (strchr (value, '/') || g_file_test (value, G_FILE_TEST_EXISTS));
}

gboolean
may_set_while_open (const CameraSettings *settings, GList *elements)
{
  return !settings->may_set_all && !settings->may_set && !any_hides (elements);
}

gboolean
may_set (const CameraSettings *settings, GList *elements, const char *target, const char *value, GString *wrong)
{
  g_autoptr (GString) unknown = g_string_new (NULL);
  const GParamSpec *spec = NULL;
  int index = 0;

  if (settings->may_set_all || (target && !(spec = overrides_find (elements, target, &index, unknown))) ||
      (spec && is_listed (settings->may_set, elements, index, spec)))
    return TRUE;
  /* The element in its place only passes frames on, and could write them to standard output, among the events. */
  if (spec && !*settings->filter)
    g_string_append (wrong, "the camera has no filter, so there is nothing that an operator may set; an admin may");
  else if (spec && names_file (spec, value))
    g_string_append (wrong,
        "an operator names no files, which the element would read: an admin may, or all whom the camera's "
        "\"page\": { \"may_set\": [...] } allows the property");
  else if (!may_set_while_open (settings, elements) &&
      !(spec && is_addition (g_list_nth_data (elements, (guint) index), spec, value)))
    g_string_append_printf (wrong,
        "an operator may not %s what this camera hides: only add areas, in fractions, behind those that roi or "
        "mask-polygons of an element with preset=fill have, and set what the camera's "
        "\"page\": { \"may_set\": [...] } lists; an admin may",
        target ? "change" : "switch");
  return wrong->len == 0;
}
