/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstcudairfilter.c: the cudairfilter element. The filter is cuda/irfilter/irfilter.h. */

/**
 * SECTION:element-cudairfilter
 * @title: cudairfilter
 * @short_description: two-dimensional recursive filter on the GPU or the CPU
 *
 * A recursive filter makes each sample from the input and from the samples that
 * it has made just before, and so sees far with few sums: a blur of sigma 50
 * takes no more of them than one of sigma 1. This one takes any two-dimensional
 * set of up to 8 x 8 weights, separable or not, in four quadrants that run from
 * the four corners of the picture, and has presets for soft blurs, for taking
 * uneven light away, for sharpening, and for undoing a blur.
 *
 * Everything may be changed while the stream runs and counts from the next
 * frame on. A set that is not stable, whose output would grow without end, is
 * refused with a sentence that says in which quadrant and at which frequency;
 * the one before it stays. #GstCudaIrFilter:pole-radius says how near to that a
 * set is. Setting #GstCudaIrFilter:numerator, #GstCudaIrFilter:denominator or
 * #GstCudaIrFilter:coefficients makes #GstCudaIrFilter:preset custom.
 *
 * The GPU, which filters where there is one, gives the same bytes as the CPU,
 * which filters where there is none.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc ! cudairfilter sigma=50 ! videoconvert ! autovideosink
 * ]| A very wide blur.
 * |[
 * gst-launch-1.0 v4l2src ! videoconvert ! video/x-raw,format=I420 ! cudairfilter preset=highpass sigma=40 apply-to=luma ! videoconvert ! autovideosink
 * ]| Takes shadows and vignetting out of a camera's picture.
 * |[
 * gst-launch-1.0 filesrc location=street.mp4 ! decodebin ! videoconvert ! cudairfilter preset=motion-deblur length=9 ! videoconvert ! autovideosink
 * ]| Undoes the blur of a camera that moved sideways by nine samples.
 * |[
 * gst-launch-1.0 videotestsrc ! cudairfilter numerator=0.05 denominator="0 0.9; 0 0" quadrants=se ! videoconvert ! autovideosink
 * ]| A filter as it is typed: along the rows, y(n) = 0.05 x(n) + 0.9 y(n - 1).
 * |[
 * gst-launch-1.0 filesrc location=street.mp4 ! decodebin ! videoconvert ! cudairfilter coefficients=coefficients.json ! videoconvert ! autovideosink
 * ]| A filter from a file, as cf-identify writes it.
 *
 * Since: 0.1
 */
#include "gstcudairfilter.h"

GST_DEBUG_CATEGORY_STATIC (gst_cuda_ir_filter_debug);
#define GST_CAT_DEFAULT gst_cuda_ir_filter_debug

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
      "Wide blurs, even light, sharpening or any recursive filter, on the GPU, or on the CPU where there is none",
      "The gst-cuda-filters authors");
  gst_cf_filter_class_setup (GST_CF_FILTER_CLASS (klass), "irfilter");
}

static void
gst_cuda_ir_filter_init (GstCudaIrFilter *self)
{
  (void) self;
}
