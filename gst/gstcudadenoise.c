/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcudadenoise.c: the cudadenoise element. The filter is cuda/denoise/denoise.h. */

/**
 * SECTION:element-cudadenoise
 * @title: cudadenoise
 * @short_description: removes the noise of cameras at night, on the GPU or the CPU
 *
 * Removes the noise of a camera in little light. What stands still becomes the mean of up to 16 frames; what moves
 * is not averaged with what was there before, so it leaves no trail. Then each sample is averaged with those around
 * it that differ by no more than noise, so edges stay. Frames come out at once: no later frame is waited for.
 *
 * How strong the noise is, is estimated from the video itself, for eight zones of brightness, because cameras have
 * more of it where it is bright than where it is dark, and follows what the camera does. #GstCudaDenoise:noise sets
 * it by hand, #GstCudaDenoise:strength weakens or strengthens the result. The property stats has what was
 * estimated, in noise-estimate. With #GstCudaDenoise:message-interval the element message "cudadenoise" is posted
 * when the estimate of a zone has changed by more than a third, with the array `noise` of the eight standard
 * deviations, in levels of 8 bits, the darkest zone first.
 *
 * Single samples that are far off (salt and pepper, dead pixels) stay as they are: #cudamedian removes those.
 *
 * In a pipeline it stands behind the decoder, and before everything that looks for motion, hides or encodes. Masks
 * and blurs that hide come behind it, because it remembers earlier frames.
 *
 * What it knows of earlier frames begins anew at the start, with new caps, after a flush, after frames that passed
 * (enabled=false, strength=0, noise=0), with another apply-to, and where the CPU takes over from a GPU that has failed.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 v4l2src ! decodebin ! videoconvert ! cudadenoise ! videoconvert ! autovideosink
 * ]| Shows a camera at night without its noise.
 * |[
 * gst-launch-1.0 filesrc location=night.mp4 ! decodebin ! videoconvert ! cudadenoise ! x264enc ! h264parse ! \
 *   matroskamux ! filesink location=out.mkv
 * ]| Makes a recording much smaller: noise is what takes most of its bits.
 * |[
 * gst-launch-1.0 -m v4l2src ! decodebin ! videoconvert ! cudadenoise ! \
 *   cudamedian temporal-method=running motion-meta=true ! fakesink
 * ]| Reports motion, and not the noise.
 * |[
 * gst-launch-1.0 filesrc location=night.mp4 ! decodebin ! videoconvert ! cudadenoise noise=12 strength=80 ! \
 *   videoconvert ! autovideosink
 * ]| Takes the noise for known, and leaves some of it.
 *
 * Since: 0.2
 */
#include "gstcffilter.h"
#include "gstcfstats.h"

#include <math.h>

GST_DEBUG_CATEGORY_STATIC (gst_cuda_denoise_debug);
#define GST_CAT_DEFAULT gst_cuda_denoise_debug

#define GST_TYPE_CUDA_DENOISE (gst_cuda_denoise_get_type ())
G_DECLARE_FINAL_TYPE (GstCudaDenoise, gst_cuda_denoise, GST, CUDA_DENOISE, GstCfFilter)
GST_ELEMENT_REGISTER_DECLARE (cudadenoise)

struct _GstCudaDenoise {
  GstCfFilter parent;
  /* of the thread that finishes frames */
  GstCfInterval interval;
  gdouble posted[CF_NOISE_ZONES]; /* of the last message */
};

G_DEFINE_TYPE_WITH_CODE (GstCudaDenoise, gst_cuda_denoise, GST_TYPE_CF_FILTER,
    GST_DEBUG_CATEGORY_INIT (gst_cuda_denoise_debug, "cudadenoise", 0, "denoiser"))
GST_ELEMENT_REGISTER_DEFINE (cudadenoise, "cudadenoise", GST_RANK_NONE, GST_TYPE_CUDA_DENOISE)

static gboolean
has_changed (const GstCudaDenoise *self, const gdouble noise[CF_NOISE_ZONES])
{
  for (int z = 0; z < CF_NOISE_ZONES; z++)
    if (fabs (noise[z] - self->posted[z]) > self->posted[z] / 3)
      return TRUE;
  return FALSE;
}

static gboolean
frame_done (GstCfFilter *filter, GstBuffer *buffer, const GstVideoInfo *info, const CfRegions *regions,
    gconstpointer params)
{
  GstCudaDenoise *self = GST_CUDA_DENOISE (filter);
  const gint interval = gst_cf_filter_int_param (filter, params, "message-interval");
  gdouble noise[CF_NOISE_ZONES];

  (void) info;
  (void) regions;
  if (interval > 0 && gst_cf_filter_noise (filter, noise) && has_changed (self, noise) &&
      gst_cf_interval_is_over (&self->interval, buffer, &GST_BASE_TRANSFORM (filter)->segment,
          (GstClockTime) interval * GST_MSECOND)) {
    GstStructure *message = gst_structure_new ("cudadenoise", "timestamp", GST_TYPE_CLOCK_TIME, GST_BUFFER_PTS (buffer),
        NULL);

    gst_cf_stats_add_noise (message, "noise", noise);
    memcpy (self->posted, noise, sizeof noise);
    gst_element_post_message (GST_ELEMENT (self), gst_message_new_element (GST_OBJECT (self), message));
  }
  return TRUE;
}

static GstStateChangeReturn
change_state (GstElement *element, GstStateChange transition)
{
  GstCudaDenoise *self = GST_CUDA_DENOISE (element);

  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED) {
    gst_cf_interval_reset (&self->interval);
    memset (self->posted, 0, sizeof self->posted);
  }
  return GST_ELEMENT_CLASS (gst_cuda_denoise_parent_class)->change_state (element, transition);
}

static void
gst_cuda_denoise_class_init (GstCudaDenoiseClass *klass)
{
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass), "CUDA denoiser", "Filter/Effect/Video/Hardware",
      "Removes the noise of cameras at night and keeps what moves, on the GPU, or on the CPU if there is no GPU",
      "The gst-cuda-filters authors");
  GST_ELEMENT_CLASS (klass)->change_state = GST_DEBUG_FUNCPTR (change_state);
  GST_CF_FILTER_CLASS (klass)->regions = GST_DEBUG_FUNCPTR (frame_done);
  gst_cf_filter_class_setup (GST_CF_FILTER_CLASS (klass), "denoise");
}

static void
gst_cuda_denoise_init (GstCudaDenoise *self)
{
  (void) self;
}
