/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstcfparams.h: a filter's parameter table as GObject properties. The values
 * lie in the filter's own parameter struct, so that the element and the filter
 * library share one block of them. Strings in a block belong to it. */
#ifndef GST_CF_PARAMS_H
#define GST_CF_PARAMS_H

#include "cf.h"

#include <gst/gst.h>

G_BEGIN_DECLS

/* One property a row, with the ids first_id, first_id + 1 and so on; none for
 * the rows that are hidden. */
void gst_cf_params_install (GObjectClass *klass, const CfFilter *filter, guint first_id);

/* A block with the defaults; a copy of one; and the end of it. */
gpointer gst_cf_params_new (const CfFilter *filter);
gpointer gst_cf_params_copy (const CfFilter *filter, gconstpointer params);
void gst_cf_params_free (const CfFilter *filter, gpointer params);

/* Row `row` of the table. */
void gst_cf_params_set (const CfFilter *filter, guint row, gpointer params, const GValue *value);
gboolean gst_cf_params_equal (const CfFilter *filter, guint row, gconstpointer a, gconstpointer b);
void gst_cf_params_get (const CfFilter *filter, guint row, gconstpointer params, GValue *value);

G_END_DECLS
#endif
