/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstcfparams.c: parameter table to GObject properties. */
#include "gstcfparams.h"

#include <string.h>

static const CfParam *
row_of (const CfFilter *filter, guint row)
{
  unsigned n;
  const CfParam *table = cf_filter_params (filter, &n);

  g_return_val_if_fail (row < n, NULL);
  return &table[row];
}

/* "kernel-size" to "Kernel size" */
static gchar *
nick_of (const gchar *name)
{
  gchar *nick = g_strdelimit (g_strdup (name), "-", ' ');

  nick[0] = g_ascii_toupper (nick[0]);
  return nick;
}

/* "GstCfMedianColorOrder" for color-order of the median. */
static gchar *
type_name (const CfFilter *filter, const CfParam *param)
{
  GString *name = g_string_new ("GstCf-");

  g_string_append_printf (name, "%s-%s", cf_filter_stem (filter), param->name);
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

/* The GEnum of an enum row, the GFlags of a flags row. Types stay registered for
 * good, so does what they point to. */
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
    type = g_enum_register_static (name, values);
    gst_type_mark_as_plugin_api (type, 0);
  }
  g_free (name);
  return type;
}

static GParamSpec *
make_spec (const CfFilter *filter, const CfParam *p)
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

void
gst_cf_params_install (GObjectClass *klass, const CfFilter *filter, guint first_id)
{
  unsigned n;
  const CfParam *table = cf_filter_params (filter, &n);

  for (unsigned i = 0; i < n; i++)
    if (!table[i].hidden)
      g_object_class_install_property (klass, first_id + i, make_spec (filter, &table[i]));
}

gpointer
gst_cf_params_new (const CfFilter *filter)
{
  gpointer params = g_malloc (cf_filter_params_size (filter));

  cf_filter_defaults (filter, params);
  return params;
}

gpointer
gst_cf_params_copy (const CfFilter *filter, gconstpointer params)
{
  gpointer copy = g_memdup2 (params, cf_filter_params_size (filter));
  unsigned n;
  const CfParam *table = cf_filter_params (filter, &n);

  for (unsigned i = 0; i < n; i++)
    if (table[i].type == CF_TYPE_STRING) {
      gchar **field = G_STRUCT_MEMBER_P (copy, table[i].offset);

      *field = g_strdup (*field);
    }
  return copy;
}

void
gst_cf_params_free (const CfFilter *filter, gpointer params)
{
  unsigned n;
  const CfParam *table = cf_filter_params (filter, &n);

  for (unsigned i = 0; params && i < n; i++)
    if (table[i].type == CF_TYPE_STRING)
      g_free (G_STRUCT_MEMBER (gchar *, params, table[i].offset));
  g_free (params);
}

void
gst_cf_params_set (const CfFilter *filter, guint row, gpointer params, const GValue *value)
{
  const CfParam *p = row_of (filter, row);

  switch (p->type) {
    case CF_TYPE_INT:
      G_STRUCT_MEMBER (int, params, p->offset) = g_value_get_int (value);
      break;
    case CF_TYPE_DOUBLE:
      G_STRUCT_MEMBER (double, params, p->offset) = g_value_get_double (value);
      break;
    case CF_TYPE_BOOL:
      G_STRUCT_MEMBER (int, params, p->offset) = g_value_get_boolean (value);
      break;
    case CF_TYPE_ENUM:
      G_STRUCT_MEMBER (int, params, p->offset) = g_value_get_enum (value);
      break;
    case CF_TYPE_FLAGS:
      G_STRUCT_MEMBER (int, params, p->offset) = (int) g_value_get_flags (value);
      break;
    case CF_TYPE_STRING:
      g_free (G_STRUCT_MEMBER (gchar *, params, p->offset));
      G_STRUCT_MEMBER (gchar *, params, p->offset) = g_value_dup_string (value);
      break;
    case CF_TYPE_COLOR:
      G_STRUCT_MEMBER (uint32_t, params, p->offset) = g_value_get_uint (value);
      break;
  }
}

gboolean
gst_cf_params_equal (const CfFilter *filter, guint row, gconstpointer a, gconstpointer b)
{
  const CfParam *p = row_of (filter, row);

  if (p->type == CF_TYPE_STRING)
    return g_strcmp0 (G_STRUCT_MEMBER (const gchar *const, a, p->offset),
        G_STRUCT_MEMBER (const gchar *const, b, p->offset)) == 0;
  if (p->type == CF_TYPE_DOUBLE)
    return !(G_STRUCT_MEMBER (const double, a, p->offset) < G_STRUCT_MEMBER (const double, b, p->offset))
        && !(G_STRUCT_MEMBER (const double, a, p->offset) > G_STRUCT_MEMBER (const double, b, p->offset));
  return G_STRUCT_MEMBER (const int, a, p->offset) == G_STRUCT_MEMBER (const int, b, p->offset);
}

void
gst_cf_params_get (const CfFilter *filter, guint row, gconstpointer params, GValue *value)
{
  const CfParam *p = row_of (filter, row);

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
