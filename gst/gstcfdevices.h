/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfdevices.h: which GPU an element takes that may take any. The rule: that of
 * a neighbour or of the application's context; where nobody has one, the GPU with
 * the fewest elements of this plugin in this process, the first of several. Any
 * thread. */
#ifndef GST_CF_DEVICES_H
#define GST_CF_DEVICES_H

#include <glib.h>

G_BEGIN_DECLS

#define GST_CF_MAX_DEVICES 64

/* One element more (1) or less (-1) on that GPU; numbers beyond the most are not
 * counted. */
void gst_cf_devices_count (gint device, gint change);
/* Of the GPUs 0..n - 1 the one for the next element; 0 where there is none. */
gint gst_cf_devices_choose (guint n);
/* The place of the smallest of n numbers, the first of several; 0 for none. */
guint gst_cf_devices_fewest (const guint *elements, guint n);

G_END_DECLS
#endif
