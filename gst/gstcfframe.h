/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfframe.h: maps a buffer as an image of the filter library and checks that every plane lies inside its memory. */
#ifndef GST_CF_FRAME_H
#define GST_CF_FRAME_H

#include "cf.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

typedef struct {
  CfImage image;
  GstBuffer *buffer;
  GstVideoMeta *meta;
  guint n_maps;
  GstMapInfo map[CF_MAX_PLANES];
  gpointer surfaces; /* of NVMM, with its flags; else NULL */
  GstMapFlags flags;
} GstCfFrame;

/* Maps `buffer`, which has the caps of `info`. `flags`: read or write, with GST_CF_MAP_CUDA for device addresses,
 * and with GST_CF_MAP_NVMM for NVMM. Takes
 * offsets and strides from the GstVideoMeta if there is one. A frame larger than the caps is cropped to their size, at
 * the position of the GstVideoCropMeta if that has the size of the caps. Returns FALSE with a status if a plane does
 * not fit its memory. */
gboolean gst_cf_frame_map (GstCfFrame *frame, GstBuffer *buffer, const GstVideoInfo *info, CfFormat format,
    GstMapFlags flags, CfStatus *status);
/* Unmaps the planes that are mapped. */
void gst_cf_frame_unmap (GstCfFrame *frame);

/* Returns whether the size in the GstVideoMeta differs from that of the caps, so that mapping crops the frame. */
gboolean gst_cf_frame_crops (GstBuffer *buffer, const GstVideoInfo *info);
/* Sets x and y to where in the buffer's frame the mapped one begins: 0, 0 unless mapping crops. */
void gst_cf_frame_origin (GstBuffer *buffer, const GstVideoInfo *info, guint *x, guint *y);

G_END_DECLS
#endif
