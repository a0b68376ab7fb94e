/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcudasegment.h: the cudasegment element. */
#ifndef GST_CUDA_SEGMENT_H
#define GST_CUDA_SEGMENT_H

#include "gstcffilter.h"

G_BEGIN_DECLS

#define GST_TYPE_CUDA_SEGMENT (gst_cuda_segment_get_type ())
G_DECLARE_FINAL_TYPE (GstCudaSegment, gst_cuda_segment, GST, CUDA_SEGMENT, GstCfFilter)

GST_ELEMENT_REGISTER_DECLARE (cudasegment)

G_END_DECLS
#endif
