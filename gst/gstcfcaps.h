/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfcaps.h: which caps the elements take and give. A filter changes nothing
 * of a picture's caps but, perhaps, the memory it lies in. */
#ifndef GST_CF_CAPS_H
#define GST_CF_CAPS_H

#include <gst/gst.h>

G_BEGIN_DECLS

/* All caps of a pad: system memory, and with `cuda` CUDA memory before it. */
GstCaps *gst_cf_caps_all (gboolean cuda);
/* The pad templates' caps: what this build can do where there is a GPU. */
GstCaps *gst_cf_caps_template (void);
/* Do these caps name CUDA memory? ANY caps and ANY features do not. */
gboolean gst_cf_caps_name_cuda (const GstCaps *caps);
/* Are these fixed caps of CUDA memory? */
gboolean gst_cf_caps_is_cuda (const GstCaps *caps);

/* The other pad's caps for `caps` on one pad. `cuda`: there is a GPU.
 * `prefer_cuda`: system memory turns into CUDA memory as well, and CUDA memory
 * comes first; without it CUDA memory is only kept, behind system memory. */
GstCaps *gst_cf_caps_transform (GstCaps *caps, gboolean cuda, gboolean prefer_cuda);

G_END_DECLS
#endif
