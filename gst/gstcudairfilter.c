/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcudairfilter.c: the cudairfilter element. The filter is cuda/irfilter/irfilter.h. */

/**
 * SECTION:element-cudairfilter
 * @title: cudairfilter
 * @short_description: two-dimensional recursive filter on the GPU or the CPU
 *
 * A recursive filter computes each sample from the input and from the outputs beside it. Those hold the rest of the
 * frame already, so the number of operations does not depend on the reach: a blur of sigma 50 needs as many as one of
 * sigma 1. This element applies any stable two-dimensional set of up to 8 x 8 weights, separable or not, in four
 * quadrants that run from the four corners of the frame. Its presets are soft blurs, the removal of uneven light,
 * sharpening, and the restoration of blurred video.
 *
 * All properties of the filter may change while the stream runs and take effect with the next frame. A set of weights
 * that is not stable, so that its output would grow without end, is refused with a message that names the quadrant and
 * the frequency; the previous filter stays in use. #GstCudaIrFilter:pole-radius is below 1 for a stable filter.
 * Setting #GstCudaIrFilter:numerator, #GstCudaIrFilter:denominator or #GstCudaIrFilter:coefficients sets
 * #GstCudaIrFilter:preset to custom.
 *
 * The GPU filters where there is one, otherwise the CPU, with identical results.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc ! cudairfilter sigma=50 ! videoconvert ! autovideosink
 * ]| Blurs very wide.
 * |[
 * gst-launch-1.0 v4l2src ! decodebin ! videoconvert ! video/x-raw,format=I420 ! \
 *   cudairfilter preset=highpass sigma=40 apply-to=luma ! videoconvert ! autovideosink
 * ]| Removes shadows and vignetting from the video of a camera.
 * |[
 * gst-launch-1.0 filesrc location=street.mp4 ! decodebin ! videoconvert ! \
 *   cudairfilter preset=motion-deblur length=9 ! videoconvert ! autovideosink
 * ]| Undoes the blur of a camera that moved sideways by nine samples.
 * |[
 * gst-launch-1.0 videotestsrc ! cudairfilter numerator=0.1 denominator="0 0.9; 0 0" quadrants=se ! \
 *   videoconvert ! autovideosink
 * ]| Applies a filter that is given as text: y(n) = 0.1 x(n) + 0.9 y(n - 1) along the rows.
 * |[
 * gst-launch-1.0 filesrc location=street.mp4 ! decodebin ! videoconvert ! \
 *   cudairfilter coefficients=coefficients.json ! videoconvert ! autovideosink
 * ]| Applies a filter from a file, as cf-identify writes it.
 *
 * Since: 0.1
 */
#include "gstcffilter.h"

GST_DEBUG_CATEGORY_STATIC (gst_cuda_ir_filter_debug);
#define GST_CAT_DEFAULT gst_cuda_ir_filter_debug

#define GST_TYPE_CUDA_IR_FILTER (gst_cuda_ir_filter_get_type ())
G_DECLARE_FINAL_TYPE (GstCudaIrFilter, gst_cuda_ir_filter, GST, CUDA_IR_FILTER, GstCfFilter)
GST_ELEMENT_REGISTER_DECLARE (cudairfilter)

struct _GstCudaIrFilter {
  GstCfFilter parent;
};

G_DEFINE_TYPE_WITH_CODE (GstCudaIrFilter, gst_cuda_ir_filter, GST_TYPE_CF_FILTER,
    GST_DEBUG_CATEGORY_INIT (gst_cuda_ir_filter_debug, "cudairfilter", 0, "recursive filter"))
GST_ELEMENT_REGISTER_DEFINE (cudairfilter, "cudairfilter", GST_RANK_NONE, GST_TYPE_CUDA_IR_FILTER)

static void
gst_cuda_ir_filter_class_init (GstCudaIrFilterClass *klass)
{
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass), "CUDA recursive filter",
      "Filter/Effect/Video/Hardware",
      "Wide blur, illumination correction, sharpening, restoration or any recursive filter, on the GPU or the CPU",
      "The gst-cuda-filters authors");
  gst_cf_filter_class_setup (GST_CF_FILTER_CLASS (klass), "irfilter");
}

static void
gst_cuda_ir_filter_init (GstCudaIrFilter *self)
{
  (void) self;
}
