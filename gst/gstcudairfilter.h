/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcudairfilter.h: the cudairfilter element. */
#ifndef GST_CUDA_IR_FILTER_H
#define GST_CUDA_IR_FILTER_H

#include "gstcffilter.h"

G_BEGIN_DECLS

#define GST_TYPE_CUDA_IR_FILTER (gst_cuda_ir_filter_get_type ())
G_DECLARE_FINAL_TYPE (GstCudaIrFilter, gst_cuda_ir_filter, GST, CUDA_IR_FILTER, GstCfFilter)

GST_ELEMENT_REGISTER_DECLARE (cudairfilter)

G_END_DECLS
#endif
