/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfparams.c: types, specs and values of properties for the rows of a parameter table. */
#include "gstcfparams.h"

#include <gst/gst.h>

GType
gst_cf_register_enum (const gchar *name, const GEnumValue *values)
{
  GType type = g_enum_register_static (name, values);

  gst_type_mark_as_plugin_api (type, 0);
  return type;
}

/* Returns "Kernel size" for "kernel-size". */
static gchar *
nick_of (const gchar *name)
{
  gchar *nick = g_strdelimit (g_strdup (name), "-", ' ');

  nick[0] = g_ascii_toupper (nick[0]);
  return nick;
}

/* Returns "GstCfMedianColorOrder" for color-order of the median. */
static gchar *
type_name (const CfFilter *filter, const CfParam *param)
{
  GString *name = g_string_new ("GstCf-");

  g_string_append_printf (name, "%s-%s", cf_filter_info (filter)->stem, param->name);
  for (gsize i = 0; i < name->len;) {
    if (name->str[i] == '-') {
      g_string_erase (name, (gssize) i, 1);
      name->str[i] = g_ascii_toupper (name->str[i]);
    } else {
      i++;
    }
  }
  return g_string_free (name, FALSE);
}

/* Returns the GEnum of an enum row or the GFlags of a flags row. A registered type is never removed, so its values are
 * not freed. */
static GType
values_type (const CfFilter *filter, const CfParam *param)
{
  gchar *name = type_name (filter, param);
  GType type = g_type_from_name (name);
  GFlagsValue *flags;
  GEnumValue *values;
  guint n = 0;

  while (!type && param->values[n].name)
    n++;
  if (!type && param->type == CF_TYPE_FLAGS) {
    flags = g_new0 (GFlagsValue, n + 1);
    for (guint i = 0; i < n; i++)
      flags[i] = (GFlagsValue) { (guint) param->values[i].value, param->values[i].blurb, param->values[i].name };
    type = g_flags_register_static (name, flags);
    gst_type_mark_as_plugin_api (type, 0);
  } else if (!type) {
    values = g_new0 (GEnumValue, n + 1);
    for (guint i = 0; i < n; i++)
      values[i] = (GEnumValue) { param->values[i].value, param->values[i].blurb, param->values[i].name };
    type = gst_cf_register_enum (name, values);
  }
  g_free (name);
  return type;
}

GParamSpec *
gst_cf_param_spec (const CfFilter *filter, const CfParam *p)
{
  const GParamFlags flags = p->readonly ? G_PARAM_READABLE : G_PARAM_READWRITE | GST_PARAM_MUTABLE_PLAYING;
  const GParamFlags live = p->readonly ? flags : flags | GST_PARAM_CONTROLLABLE;
  gchar *nick = nick_of (p->name);
  gchar *blurb = p->unit && p->unit[0] ? g_strdup_printf ("%s [%s]", p->blurb, p->unit) : g_strdup (p->blurb);
  GParamSpec *spec = NULL;

  switch (p->type) {
    case CF_TYPE_INT:
      spec = g_param_spec_int (p->name, nick, blurb, (gint) p->min, (gint) p->max, (gint) p->def, live);
      break;
    case CF_TYPE_DOUBLE:
      spec = g_param_spec_double (p->name, nick, blurb, p->min, p->max, p->def, live);
      break;
    case CF_TYPE_BOOL:
      spec = g_param_spec_boolean (p->name, nick, blurb, p->def != 0, live);
      break;
    case CF_TYPE_ENUM:
      spec = g_param_spec_enum (p->name, nick, blurb, values_type (filter, p), (gint) p->def, live);
      break;
    case CF_TYPE_FLAGS:
      spec = g_param_spec_flags (p->name, nick, blurb, values_type (filter, p), (guint) p->def, flags);
      break;
    case CF_TYPE_STRING:
      spec = g_param_spec_string (p->name, nick, blurb, NULL, flags);
      break;
    case CF_TYPE_COLOR:
      spec = g_param_spec_uint (p->name, nick, blurb, 0, G_MAXUINT32, (guint) p->def, live);
      break;
  }
  g_free (nick);
  g_free (blurb);
  return spec;
}

gboolean
gst_cf_param_is_equal (const CfParam *p, gconstpointer a, gconstpointer b)
{
  if (p->type == CF_TYPE_STRING)
    return g_strcmp0 (G_STRUCT_MEMBER (const gchar *const, a, p->offset),
               G_STRUCT_MEMBER (const gchar *const, b, p->offset)) == 0;
  if (p->type == CF_TYPE_DOUBLE)
    return !(G_STRUCT_MEMBER (const double, a, p->offset) < G_STRUCT_MEMBER (const double, b, p->offset)) &&
        !(G_STRUCT_MEMBER (const double, a, p->offset) > G_STRUCT_MEMBER (const double, b, p->offset));
  return G_STRUCT_MEMBER (const int, a, p->offset) == G_STRUCT_MEMBER (const int, b, p->offset);
}

CfValue
gst_cf_param_value (const CfParam *p, const GValue *value)
{
  switch (p->type) {
    case CF_TYPE_INT:
      return (CfValue) { .number = g_value_get_int (value) };
    case CF_TYPE_DOUBLE:
      return (CfValue) { .real = g_value_get_double (value) };
    case CF_TYPE_BOOL:
      return (CfValue) { .number = g_value_get_boolean (value) };
    case CF_TYPE_ENUM:
      return (CfValue) { .number = g_value_get_enum (value) };
    case CF_TYPE_FLAGS:
      return (CfValue) { .number = (gint) g_value_get_flags (value) };
    case CF_TYPE_COLOR:
      return (CfValue) { .color = g_value_get_uint (value) };
    default:
      return (CfValue) { .text = g_value_get_string (value) };
  }
}

void
gst_cf_param_get (const CfParam *p, gconstpointer params, GValue *value)
{
  switch (p->type) {
    case CF_TYPE_INT:
      g_value_set_int (value, G_STRUCT_MEMBER (const int, params, p->offset));
      break;
    case CF_TYPE_DOUBLE:
      g_value_set_double (value, G_STRUCT_MEMBER (const double, params, p->offset));
      break;
    case CF_TYPE_BOOL:
      g_value_set_boolean (value, G_STRUCT_MEMBER (const int, params, p->offset) != 0);
      break;
    case CF_TYPE_ENUM:
      g_value_set_enum (value, G_STRUCT_MEMBER (const int, params, p->offset));
      break;
    case CF_TYPE_FLAGS:
      g_value_set_flags (value, (guint) G_STRUCT_MEMBER (const int, params, p->offset));
      break;
    case CF_TYPE_STRING:
      g_value_set_string (value, G_STRUCT_MEMBER (const gchar *const, params, p->offset));
      break;
    case CF_TYPE_COLOR:
      g_value_set_uint (value, G_STRUCT_MEMBER (const uint32_t, params, p->offset));
      break;
  }
}
