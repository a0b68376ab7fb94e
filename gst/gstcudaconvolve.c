/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstcudaconvolve.c: the cudaconvolve element. The filter is cuda/convolve/convolve.h. */

/**
 * SECTION:element-cudaconvolve
 * @title: cudaconvolve
 * @short_description: convolution with any kernel on the GPU or the CPU
 *
 * Blurs, sharpens, finds edges, or does what a kernel of up to 63 x 63 weights
 * says that you type or keep in a file. Sums are exact integers with one
 * rounding, so that a blur leaves flat areas as they are, integer kernels give
 * what OpenCV's filter2D gives, and the GPU, which filters where there is one,
 * gives the same bytes as the CPU, which filters where there is none.
 *
 * Everything may be changed while the stream runs and counts from the next
 * frame on. A kernel that is wrong is refused with a sentence that says in which
 * row and column; the one before it stays. Setting #GstCudaConvolve:kernel or
 * #GstCudaConvolve:kernel-file makes #GstCudaConvolve:preset custom. Where the
 * kernel changes nothing, buffers go through untouched.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc ! cudaconvolve preset=gauss kernel-size=15 ! videoconvert ! autovideosink
 * ]| Blurs.
 * |[
 * gst-launch-1.0 filesrc location=street.mp4 ! decodebin ! videoconvert ! cudaconvolve preset=unsharp kernel-size=7 amount=1.5 ! videoconvert ! autovideosink
 * ]| Sharpens a film by an unsharp mask.
 * |[
 * gst-launch-1.0 videotestsrc ! cudaconvolve kernel="0 -1 0; -1 5 -1; 0 -1 0" ! videoconvert ! autovideosink
 * ]| A kernel as it is typed.
 * |[
 * gst-launch-1.0 v4l2src ! videoconvert ! cudaconvolve preset=sobel divisor=2 ! videoconvert ! autovideosink
 * ]| The edges in a camera's picture, at half their strength.
 * |[
 * gst-launch-1.0 videotestsrc ! cudaconvolve preset=emboss angle=45 bias=128 gray=luma ! videoconvert ! autovideosink
 * ]| A relief in gray.
 * |[
 * gst-launch-1.0 filesrc location=street.mp4 ! qtdemux ! h264parse ! nvh264dec ! cudaconvolve preset=sharpen ! nvh264enc ! h264parse ! matroskamux ! filesink location=out.mkv
 * ]| Decodes, sharpens and encodes without leaving the GPU.
 *
 * Since: 0.1
 */
#include "gstcudaconvolve.h"

GST_DEBUG_CATEGORY_STATIC (gst_cuda_convolve_debug);
#define GST_CAT_DEFAULT gst_cuda_convolve_debug

struct _GstCudaConvolve {
  GstCfFilter parent;
};

G_DEFINE_TYPE_WITH_CODE (GstCudaConvolve, gst_cuda_convolve, GST_TYPE_CF_FILTER,
    GST_DEBUG_CATEGORY_INIT (gst_cuda_convolve_debug, "cudaconvolve", 0, "convolution filter"))
GST_ELEMENT_REGISTER_DEFINE (cudaconvolve, "cudaconvolve", GST_RANK_NONE, GST_TYPE_CUDA_CONVOLVE)

static void
gst_cuda_convolve_class_init (GstCudaConvolveClass *klass)
{
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass), "CUDA convolution filter",
      "Filter/Effect/Video/Hardware",
      "Blur, sharpen, edges or any kernel, on the GPU, or on the CPU where there is none",
      "The gst-cuda-filters authors");
  gst_cf_filter_class_setup (GST_CF_FILTER_CLASS (klass), "convolve");
}

static void
gst_cuda_convolve_init (GstCudaConvolve *self)
{
  (void) self;
}
