/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcudasegmentreport.h: the outputs of cudasegment for the regions of a frame: one meta per region, the label map,
 * and the message. */
#ifndef GST_CUDA_SEGMENT_REPORT_H
#define GST_CUDA_SEGMENT_REPORT_H

#include "cf.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

/* Registers the meta of the label map, once per process. */
void gst_cuda_segment_register_meta (void);
/* Attaches one GstVideoRegionOfInterestMeta per region that has pixels, and what gst_cuda_segment_add_tracking adds. */
void gst_cuda_segment_add_regions (GstBuffer *buffer, const CfRegions *regions);
/* Where the plugin is built with GStreamer's library of analytics: attaches the 256 regions with most pixels to the
 * GstAnalyticsRelationMeta, each as an object of type "region" that is related to a track with the region's id. */
void gst_cuda_segment_add_tracking (GstBuffer *buffer, const CfRegions *regions);
/* The same of version 1.26 or newer: attaches a label map as the segmentation of the frame, without a copy; older ones
 * have no such metadata. */
void gst_cuda_segment_add_segmentation (GstBuffer *buffer, const GstVideoInfo *info, GBytes *labels,
    const CfRegions *regions);
/* Keeps the memory of label maps for the next frames. Thread-safe: buffers are freed in any thread, and may outlive the
 * element. */
typedef struct _GstCudaSegmentMaps GstCudaSegmentMaps;
GstCudaSegmentMaps *gst_cuda_segment_maps_new (void);
void gst_cuda_segment_maps_unref (GstCudaSegmentMaps *maps);
/* Frees the memory that no buffer uses. */
void gst_cuda_segment_maps_trim (GstCudaSegmentMaps *maps);
/* Attaches the label map, or replaces that of an earlier element. Returns FALSE, and attaches nothing, if there is no
 * memory. */
gboolean gst_cuda_segment_add_labels (GstBuffer *buffer, GstCudaSegmentMaps *maps, const GstVideoInfo *info,
    const CfRegions *regions);
/* Returns the structure of a region, as in the list of the bus message. */
GstStructure *gst_cuda_segment_describe_region (const CfRegion *r);
/* Returns the structure of the bus message. */
GstStructure *gst_cuda_segment_describe (GstBuffer *buffer, const GstSegment *segment, const GstVideoInfo *info,
    const CfRegions *regions);

G_END_DECLS
#endif
