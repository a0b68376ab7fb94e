/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcudasegmentreport.h: what cudasegment makes of the regions of a frame: a
 * meta each, the label map, and the message. */
#ifndef GST_CUDA_SEGMENT_REPORT_H
#define GST_CUDA_SEGMENT_REPORT_H

#include "cf.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

/* Registers the label map's meta, once a process. */
void gst_cuda_segment_register_meta (void);
/* A GstVideoRegionOfInterestMeta for each region that has pixels. */
void gst_cuda_segment_add_regions (GstBuffer *buffer, const CfRegions *regions);
/* The label map, in place of an earlier element's. */
void gst_cuda_segment_add_labels (GstBuffer *buffer, const GstVideoInfo *info, const CfRegions *regions);
/* The structure of the bus message. */
GstStructure *gst_cuda_segment_describe (GstBuffer *buffer, const GstSegment *segment, const GstVideoInfo *info,
    const CfRegions *regions);

G_END_DECLS
#endif
