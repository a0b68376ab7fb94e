/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfparams.h: a row of a filter's parameter table (cf.h) as a GObject property. Any thread. */
#ifndef GST_CF_PARAMS_H
#define GST_CF_PARAMS_H

#include "cf.h"

#include <glib-object.h>

G_BEGIN_DECLS

/* Registers an enum that belongs to the plugin's interface. */
GType gst_cf_register_enum (const gchar *name, const GEnumValue *values);
/* Returns a new spec: name, range and default of the row, with a type of its own for an enum or flags. */
GParamSpec *gst_cf_param_spec (const CfFilter *filter, const CfParam *p);
/* Converts a property's value to the row's. A text stays the GValue's. */
CfValue gst_cf_param_value (const CfParam *p, const GValue *value);
/* Sets a property's value to the row's in `params`. */
void gst_cf_param_get (const CfParam *p, gconstpointer params, GValue *value);
/* Has the row the same value in both? */
gboolean gst_cf_param_is_equal (const CfParam *p, gconstpointer a, gconstpointer b);

G_END_DECLS
#endif
