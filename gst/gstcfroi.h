/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfroi.h: what of each frame is filtered: the properties for regions and `enabled`, the regions that detectors
 * attach to buffers, and the area (cf.h) that is made of both.
 *
 * Threads. Properties are set and read by any thread, under the object lock of the element. The streaming thread takes
 * a snapshot of them for each frame; the functions that say so work with that, and are called by this thread only. */
#ifndef GST_GSTCFROI_H
#define GST_GSTCFROI_H

#include "cf.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

typedef struct _GstCfRoi GstCfRoi;

/* The number of properties. */
#define GST_CF_ROI_N_PROPERTIES 13

/* Makes the regions of an element, which has to outlive them. */
GstCfRoi *gst_cf_roi_new (GstElement *element);
void gst_cf_roi_free (GstCfRoi *roi);

/* Installs the properties with the numbers from `first` on. */
void gst_cf_roi_install_properties (GObjectClass *klass, guint first);
/* Set and get the property with the number `first` + `i`. A value that is refused leaves the old one in place, with a
 * warning on the bus; before the start, gst_cf_roi_start posts it. The object lock is not held. */
void gst_cf_roi_set_property (GstCfRoi *roi, guint i, const GValue *value);
void gst_cf_roi_get_property (GstCfRoi *roi, guint i, GValue *value);

/* Start and stop, while there is no streaming thread. */
void gst_cf_roi_start (GstCfRoi *roi);
void gst_cf_roi_stop (GstCfRoi *roi);

/* Takes the snapshot for the next frame. Streaming thread. */
void gst_cf_roi_sync (GstCfRoi *roi);
/* Returns the snapshot of `enabled`. Streaming thread. */
gboolean gst_cf_roi_is_enabled (GstCfRoi *roi);
/* Returns whether gst_cf_roi_area must be called: there is a source of regions, one was refused, or `enabled` is false.
 * Streaming thread. */
gboolean gst_cf_roi_is_used (GstCfRoi *roi);
/* Records a frame's regions (for roi-hold, roi-missing) if the frame passes unfiltered or is dropped: in place of
 * gst_cf_roi_area. Streaming thread. */
void gst_cf_roi_see (GstCfRoi *roi, GstBuffer *in, const GstSegment *segment, const GstVideoInfo *info);
/* Returns a new reference to the area of a frame. NULL: filter the whole frame; `status` is CF_NO_MEMORY if memory is
 * out, else CF_OK. `info`: of the caps; `video`, `traits`: of the plan. Call this or gst_cf_roi_see once for each
 * frame, in order. Streaming thread. */
CfArea *gst_cf_roi_area (GstCfRoi *roi, GstBuffer *in, const GstSegment *segment, const GstVideoInfo *info,
    const CfVideo *video, const CfTraits *traits, CfStatus *status);
/* Forgets the frames seen so far (flush, stop). Streaming thread. */
void gst_cf_roi_reset (GstCfRoi *roi);
/* Sets the size of the next frames, in pixels. If `roi` was set before any size was known, it counts pixels of this
 * size. The regions of earlier frames are scaled to it. If the aspect ratio changes, their places are lost, and the
 * whole frame is filtered until regions come, or for as long as they are held. Streaming thread. */
void gst_cf_roi_resize (GstCfRoi *roi, gint width, gint height);

G_END_DECLS
#endif
