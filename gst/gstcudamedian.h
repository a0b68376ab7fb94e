/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcudamedian.h: the cudamedian element. */
#ifndef GST_CUDA_MEDIAN_H
#define GST_CUDA_MEDIAN_H

#include "gstcffilter.h"

G_BEGIN_DECLS

#define GST_TYPE_CUDA_MEDIAN (gst_cuda_median_get_type ())
G_DECLARE_FINAL_TYPE (GstCudaMedian, gst_cuda_median, GST, CUDA_MEDIAN, GstCfFilter)

GST_ELEMENT_REGISTER_DECLARE (cudamedian)

G_END_DECLS
#endif
