/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcudamedian.c: the cudamedian element. The filter is cuda/median/median.h. */

/**
 * SECTION:element-cudamedian
 * @title: cudamedian
 * @short_description: median and rank filter on the GPU or the CPU
 *
 * Replaces every sample by the median (or another rank) of the window around it: salt-and-pepper noise disappears, and
 * edges stay sharp. The window has up to 255 x 255 samples and spans up to 15 frames. The GPU filters where there is
 * one, otherwise the CPU, with identical results.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 filesrc location=street.mp4 ! decodebin ! videoconvert ! cudamedian kernel-size=5 ! \
 *   videoconvert ! autovideosink
 * ]| Removes impulse noise from a video.
 * |[
 * gst-launch-1.0 v4l2src ! decodebin ! videoconvert ! cudamedian kernel-size=1 temporal-depth=5 ! \
 *   videoconvert ! autovideosink
 * ]| Removes what is visible for one or two frames only: rain, snow, sensor noise.
 * |[
 * gst-launch-1.0 filesrc location=street.mp4 ! qtdemux ! h264parse ! nvh264dec ! cudamedian ! nvh264enc ! \
 *   h264parse ! matroskamux ! filesink location=out.mkv
 * ]| Decodes, filters and encodes on the GPU; frames stay in its memory.
 *
 * Since: 0.1
 */
#include "gstcudamedian.h"

GST_DEBUG_CATEGORY_STATIC (gst_cuda_median_debug);
#define GST_CAT_DEFAULT gst_cuda_median_debug

struct _GstCudaMedian {
  GstCfFilter parent;
};

G_DEFINE_TYPE_WITH_CODE (GstCudaMedian, gst_cuda_median, GST_TYPE_CF_FILTER,
    GST_DEBUG_CATEGORY_INIT (gst_cuda_median_debug, "cudamedian", 0, "median filter"))
GST_ELEMENT_REGISTER_DEFINE (cudamedian, "cudamedian", GST_RANK_NONE, GST_TYPE_CUDA_MEDIAN)

static void
gst_cuda_median_class_init (GstCudaMedianClass *klass)
{
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass), "CUDA median filter",
      "Filter/Effect/Video/Hardware", "Median and rank filter for video, on the GPU, or on the CPU if there is no GPU",
      "The gst-cuda-filters authors");
  gst_cf_filter_class_setup (GST_CF_FILTER_CLASS (klass), "median");
}

static void
gst_cuda_median_init (GstCudaMedian *self)
{
  (void) self;
}
