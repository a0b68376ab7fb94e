/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcffilter.h: the base class of all elements of this plugin. */
#ifndef GST_CF_FILTER_H
#define GST_CF_FILTER_H

#include "gstcfbackend.h"

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

#define GST_TYPE_CF_FILTER (gst_cf_filter_get_type ())
G_DECLARE_DERIVABLE_TYPE (GstCfFilter, gst_cf_filter, GST, CF_FILTER, GstBaseTransform)

struct _GstCfFilterClass {
  GstBaseTransformClass parent_class;
  const CfFilter *filter;
  /* NULL, or for a filter that finds regions: they are those of `buffer`, which
   * is about to leave and may be given metas. Streaming thread; called after
   * each frame whose regions the properties ask for. */
  void (*regions) (GstCfFilter *self, GstBuffer *buffer, const GstVideoInfo *info, const CfRegions *regions);
};

/* All that an element's class_init has to call besides its metadata: makes the
 * properties out of the parameter table of the filter with that stem. */
void gst_cf_filter_class_setup (GstCfFilterClass *klass, const gchar *stem);

G_END_DECLS
#endif
