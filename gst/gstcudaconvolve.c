/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcudaconvolve.c: the cudaconvolve element. The filter is cuda/convolve/convolve.h. */

/**
 * SECTION:element-cudaconvolve
 * @title: cudaconvolve
 * @short_description: convolution with any kernel on the GPU or the CPU
 *
 * Blurs, sharpens, finds edges, or applies any kernel of up to 63 x 63 weights, given as text or by a file. Sums are
 * exact integers and are rounded once: a blur leaves flat areas unchanged, and kernels of integers give the results of
 * OpenCV's filter2D. The GPU filters where there is one, otherwise the CPU, with identical results.
 *
 * All properties of the filter may change while the stream runs and take effect with the next frame. An invalid kernel
 * is refused with a message that names the row and the column; the previous kernel stays in use. Setting
 * #GstCudaConvolve:kernel or #GstCudaConvolve:kernel-file sets #GstCudaConvolve:preset to custom. Where the kernel
 * would change nothing, buffers pass through untouched.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc ! cudaconvolve preset=gauss kernel-size=15 ! videoconvert ! autovideosink
 * ]| Blurs.
 * |[
 * gst-launch-1.0 filesrc location=street.mp4 ! decodebin ! videoconvert ! \
 *   cudaconvolve preset=unsharp kernel-size=7 amount=1.5 ! videoconvert ! autovideosink
 * ]| Sharpens a video by an unsharp mask.
 * |[
 * gst-launch-1.0 videotestsrc ! cudaconvolve kernel="0 -1 0; -1 5 -1; 0 -1 0" ! videoconvert ! autovideosink
 * ]| Applies a kernel that is given as text.
 * |[
 * gst-launch-1.0 v4l2src ! decodebin ! videoconvert ! cudaconvolve preset=sobel divisor=2 ! \
 *   videoconvert ! autovideosink
 * ]| Shows the edges in the video of a camera, at half their strength.
 * |[
 * gst-launch-1.0 videotestsrc ! cudaconvolve preset=emboss angle=45 gray=luma ! \
 *   videoconvert ! autovideosink
 * ]| Shows a gray relief.
 * |[
 * gst-launch-1.0 filesrc location=street.mp4 ! qtdemux ! h264parse ! nvh264dec ! cudaconvolve preset=sharpen ! \
 *   nvh264enc ! h264parse ! matroskamux ! filesink location=out.mkv
 * ]| Decodes, sharpens and encodes on the GPU; frames stay in its memory.
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
      "Blurs, sharpens, finds edges or applies any kernel, on the GPU, or on the CPU if there is no GPU",
      "The gst-cuda-filters authors");
  gst_cf_filter_class_setup (GST_CF_FILTER_CLASS (klass), "convolve");
}

static void
gst_cuda_convolve_init (GstCudaConvolve *self)
{
  (void) self;
}
