/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcffilter.h: the base class of all elements of this plugin. */
#ifndef GST_CF_FILTER_H
#define GST_CF_FILTER_H

#include "gstcfroi.h"

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

#define GST_TYPE_CF_FILTER (gst_cf_filter_get_type ())
G_DECLARE_DERIVABLE_TYPE (GstCfFilter, gst_cf_filter, GST, CF_FILTER, GstBaseTransform)

struct _GstCfFilterClass {
  GstBaseTransformClass parent_class;
  const CfFilter *filter;
  /* For a filter that may find regions, else NULL: receives the regions of `buffer` before it is pushed, and may add
   * metas to it; NULL where the frame passes, or where the properties request no regions. `params`: the frame's. Called
   * by the finishing thread for each frame. Returns FALSE after an element error. */
  gboolean (*regions) (GstCfFilter *self, GstBuffer *buffer, const GstVideoInfo *info, const CfRegions *regions,
      gconstpointer params);
};

/* Sets the filter of a class and installs the properties of its parameter table. An element's class_init calls it after
 * setting the metadata. */
void gst_cf_filter_class_setup (GstCfFilterClass *klass, const gchar *stem);
/* Returns the value of the row `name` of the filter's table in `params`, which must be of type int, bool or enum. */
gint gst_cf_filter_int_param (GstCfFilter *self, gconstpointer params, const gchar *name);
/* The same for a row of type string. */
const gchar *gst_cf_filter_text_param (GstCfFilter *self, gconstpointer params, const gchar *name);

/* Sets the noise that the frames so far have shown. Returns FALSE where it is not known. */
gboolean gst_cf_filter_noise (GstCfFilter *self, gdouble noise[CF_NOISE_ZONES]);

/* The time from one message to the next, in running time and by the clock. */
typedef struct {
  GstClockTime running, clock; /* of the last message */
} GstCfInterval;

void gst_cf_interval_reset (GstCfInterval *last);
/* Returns whether the interval is over, by the running time of a frame, or by the clock if this frame or the last one
 * has none; then the next one begins. If the time goes back, after a flush, a new interval begins. */
gboolean
gst_cf_interval_is_over (GstCfInterval *last, GstBuffer *buffer, const GstSegment *segment, GstClockTime interval);

/* Waits until no frame is pending. Called by the streaming thread, or with the stream lock held. */
void gst_cf_filter_drain (GstCfFilter *self);

/* For tests: the CUDA context in use (NULL: none), and what of each frame is filtered. */
GstObject *gst_cf_filter_context (GstCfFilter *self);
GstCfRoi *gst_cf_filter_roi (GstCfFilter *self);

G_END_DECLS
#endif
