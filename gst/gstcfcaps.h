/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfcaps.h: the caps of the elements' pads. Input and output caps are the same, except that the memory of the frames
 * may differ. */
#ifndef GST_CF_CAPS_H
#define GST_CF_CAPS_H

#include "gstcfplans.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

/* Returns all caps of a pad: system memory; with `cuda`, CUDA memory first; NVMM last, where its library is there. */
GstCaps *gst_cf_caps_all (gboolean cuda);
/* Returns the caps of the pad templates: those that this build supports on a host with a GPU. */
GstCaps *gst_cf_caps_template (void);
/* Returns whether the caps name CUDA memory. FALSE for ANY caps and ANY features. */
gboolean gst_cf_caps_name_cuda (const GstCaps *caps);
/* Returns whether these are fixed caps with CUDA memory. */
gboolean gst_cf_caps_is_cuda (const GstCaps *caps);
/* The same for NVMM. */
gboolean gst_cf_caps_is_nvmm (const GstCaps *caps);

/* Returns the caps of the other pad for `caps` on one pad. `cuda`: a GPU can be used. `prefer_cuda`: offers CUDA memory
 * for system memory, too, and CUDA memory first; otherwise offers CUDA memory only for CUDA memory, after system
 * memory. NVMM is for NVMM alone. */
GstCaps *gst_cf_caps_transform (GstCaps *caps, gboolean cuda, gboolean prefer_cuda);

/* Fills the video of caps and the modes of their frames (bits 1 << GstCfMode); a filter of whole frames treats all
 * frames as progressive. Returns FALSE with a status, and posts nothing, for caps that the library does not support. */
gboolean gst_cf_video_from_info (const CfFilter *filter, const GstVideoInfo *info, CfVideo *video, guint *modes,
    CfStatus *status);
/* Returns how the video of caps writes colours, as its colorimetry says. */
CfColors gst_cf_colors_from_info (const GstVideoInfo *info);

G_END_DECLS
#endif
