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
 * edges stay sharp. The window has up to 255 x 255 samples and spans up to 15 frames, or 63 if it has one sample in
 * each. The GPU filters where there is one, otherwise the CPU, with identical results.
 *
 * With temporal-method=running the element finds what moves before a camera that stands still, and it knows what the
 * camera sees when nothing moves: the background. It looks at blocks of 4 x 4 pixels. Where blocks differ from the
 * background, by more than 7 levels of 255 and by more than the place changes by itself (noise, leaves in the wind,
 * water), something moves. More or less light on a part of the frame is no motion, a lamp, clouds, the camera's own
 * gain: it changes the light, but not what is seen in it. A camera that shakes makes little motion. Where a thing was
 * and has gone, motion ends within some frames; what comes and stands still moves until the background has followed it,
 * by a level in 16 frames. #GstCudaMedian:output shows the frame as it is, the background, the frame with the
 * background where something moves, the difference of both, or what moves in white.
 *
 * With #GstCudaMedian:motion-meta applications receive what moves in two ways, one for hiding, which must not wait, and
 * one for alarms, which must not be false:
 *
 * * At once: a #GstVideoRegionOfInterestMeta of type "motion" for each place, around connected cells of 16 x 16 pixels,
 *   with a parameter structure "motion": the `area` of its cells in pixels, how much of it is `confirmed`, `centroid-x`
 *   and `centroid-y`. The properties for regions of the other elements read it, as in the line below. Where nothing
 *   moves, the frame carries one of 0 x 0 pixels that says so; where it is not known what moves, none.
 * * When it is confirmed: the element message "cudamedian" when motion starts and when it stops, with `event`
 *   ("motion-start" or "motion-stop"), timestamp, stream-time, running-time and duration, width and height of the
 *   frame, the `area` of all places with confirmed motion, and the array "boxes" of such structures plus x, y, width
 *   and height. Motion is confirmed where the same blocks have differed in three frames one after the other, so a
 *   flash, an insect or a drop is no event, and what moves is one in the third frame at the earliest. What ends the
 *   stream, or turns motion-meta off, stops motion as well. With #GstCudaMedian:zones there are also the events
 *   "enter-zone" and "leave-zone", with the name in the field `zone`, when confirmed motion begins and ends there;
 *   "boxes" then has those that overlap the zone. With #GstCudaMedian:min-age motion has to be confirmed in as many
 *   frames before it starts, and to be gone for as many before it stops.
 *
 * With #GstCudaMedian:tamper the element says what happens to the camera itself, with or without motion-meta: messages
 * "cudamedian" with timestamp, stream-time, running-time, duration, width and height, and `event`:
 *
 * * "light" when the light changes, at once: with the mean brightness before and after, `from` and `to`, in levels of
 *   255.
 * * "NAME-start" when a state has lasted for a second, and "NAME-stop" when it has been over for a second, with
 *   `seconds`, how long it lasted. NAME is shake (the camera moves), covered, blinded (half of the frame is nearly
 *   white), dark, defocused, turned (it sees something else; for 10 seconds, then that is its view, and its return is
 *   another turn of 10 seconds), or frozen (for two seconds all frames are the same: no camera is without noise).
 *   Nothing is posted in the first second.
 *
 * The background begins anew at the start, with new caps, after a flush, where the CPU takes over from a GPU that has
 * failed, and in a frame in which more than 60 % of the cells have changed: the camera was turned, or the picture was
 * switched. It is not known what moves in such a frame: filters with roi-type=motion filter all of it.
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
 * |[
 * gst-launch-1.0 v4l2src ! decodebin ! videoconvert ! cudamedian temporal-method=running motion-meta=true ! \
 *   cudaconvolve preset=privacy blocks=4 roi-meta=true roi-type=motion ! videoconvert ! autovideosink
 * ]| Covers whatever moves with 4 blocks; preset=fill leaves nothing of it.
 * |[
 * gst-launch-1.0 -m v4l2src ! decodebin ! videoconvert ! cudamedian temporal-method=running motion-meta=true ! fakesink
 * ]| Prints when motion starts and stops, and where.
 * |[
 * gst-launch-1.0 -m v4l2src ! decodebin ! videoconvert ! cudamedian temporal-method=running tamper=true ! fakesink
 * ]| Prints when the camera is covered, turned, blinded, out of focus, shakes or is frozen, and when the light changes.
 * |[
 * gst-launch-1.0 filesrc location=street.mp4 ! decodebin ! videoconvert ! \
 *   cudamedian temporal-method=running output=background ! videoconvert ! autovideosink
 * ]| Shows the background that the frames are compared with.
 * |[
 * gst-launch-1.0 v4l2src ! decodebin ! videoconvert ! cudamedian temporal-method=running output=still ! \
 *   videoconvert ! autovideosink
 * ]| Removes people from the live picture: where something moves it shows what is behind.
 *
 * Since: 0.1
 */
#include "gstcudamedian.h"
#include "gstcftamper.h"

GST_DEBUG_CATEGORY_STATIC (gst_cuda_median_debug);
#define GST_CAT_DEFAULT gst_cuda_median_debug

struct _GstCudaMedian {
  GstCfFilter parent;
  /* of the thread that finishes frames; while none is pending, of the streaming thread */
  GstCfEvents *events;
  GstCfTamper tamper;
};

G_DEFINE_TYPE_WITH_CODE (GstCudaMedian, gst_cuda_median, GST_TYPE_CF_FILTER,
    GST_DEBUG_CATEGORY_INIT (gst_cuda_median_debug, "cudamedian", 0, "median filter"))
GST_ELEMENT_REGISTER_DEFINE (cudamedian, "cudamedian", GST_RANK_NONE, GST_TYPE_CUDA_MEDIAN)

/* ---- motion -------------------------------------------------------------- */

/* Returns the structure of a place where something moves. */
static GstStructure *
describe_place (const CfRegion *r)
{
  return gst_structure_new ("motion", "area", G_TYPE_UINT, r->area, "confirmed", G_TYPE_UINT, r->confirmed,
      "centroid-x", G_TYPE_DOUBLE, r->centroid_x, "centroid-y", G_TYPE_DOUBLE, r->centroid_y, NULL);
}

/* Adds its box. */
static GstStructure *
describe_box (const CfRegion *r)
{
  GstStructure *s = describe_place (r);

  gst_structure_set (s, "x", G_TYPE_UINT, (guint) r->x, "y", G_TYPE_UINT, (guint) r->y, "width", G_TYPE_UINT,
      (guint) r->width, "height", G_TYPE_UINT, (guint) r->height, NULL);
  return s;
}

static void
add_metas (GstBuffer *buffer, const CfRegions *regions)
{
  if (regions->unknown) /* filters that hide what moves take all of a frame that says nothing about it */
    return;
  if (regions->n == 0) /* they need to know that nothing does */
    gst_video_region_of_interest_meta_add_param (
        gst_buffer_add_video_region_of_interest_meta (buffer, "motion", 0, 0, 0, 0),
        describe_place (&(CfRegion) { 0 }));
  for (unsigned i = 0; i < regions->n; i++) {
    const CfRegion *r = &regions->region[i];
    GstVideoRegionOfInterestMeta *meta = gst_buffer_add_video_region_of_interest_meta (buffer, "motion", (guint) r->x,
        (guint) r->y, (guint) r->width, (guint) r->height);

    meta->id = (gint) r->id;
    gst_video_region_of_interest_meta_add_param (meta, describe_place (r));
  }
}

static gboolean
regions_found (GstCfFilter *filter, GstBuffer *buffer, const GstVideoInfo *info, const CfRegions *regions,
    gconstpointer params)
{
  GstCudaMedian *self = GST_CUDA_MEDIAN (filter);
  const gboolean tamper = gst_cf_filter_int_param (filter, params, "tamper");
  const CfRegions *motion = gst_cf_filter_int_param (filter, params, "motion-meta") ? regions : NULL;

  if (motion)
    add_metas (buffer, motion);
  gst_cf_events_frame (self->events, buffer, &GST_BASE_TRANSFORM (self)->segment, info,
      gst_cf_filter_text_param (filter, params, "zones"), gst_cf_filter_int_param (filter, params, "min-age"));
  gst_cf_events_motion (self->events, motion);
  gst_cf_tamper_frame (&self->tamper, self->events, tamper && regions ? regions->scene : NULL);
  return TRUE;
}

static gboolean
sink_event (GstBaseTransform *trans, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_EOS) {
    GstCudaMedian *self = GST_CUDA_MEDIAN (trans);

    gst_cf_filter_drain (GST_CF_FILTER (trans));
    gst_cf_events_motion (self->events, NULL);
    gst_cf_tamper_frame (&self->tamper, self->events, NULL);
  }
  return GST_BASE_TRANSFORM_CLASS (gst_cuda_median_parent_class)->sink_event (trans, event);
}

static GstStateChangeReturn
change_state (GstElement *element, GstStateChange transition)
{
  GstCudaMedian *self = GST_CUDA_MEDIAN (element);

  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED) {
    gst_cf_events_reset (self->events);
    self->tamper = (GstCfTamper) { 0 };
  }
  return GST_ELEMENT_CLASS (gst_cuda_median_parent_class)->change_state (element, transition);
}

static void
finalize (GObject *object)
{
  GstCudaMedian *self = GST_CUDA_MEDIAN (object);

  gst_cf_events_free (self->events);
  G_OBJECT_CLASS (gst_cuda_median_parent_class)->finalize (object);
}

static void
gst_cuda_median_class_init (GstCudaMedianClass *klass)
{
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass), "CUDA median filter",
      "Filter/Effect/Video/Hardware", "Median and rank filter for video, on the GPU, or on the CPU if there is no GPU",
      "The gst-cuda-filters authors");
  G_OBJECT_CLASS (klass)->finalize = finalize;
  GST_ELEMENT_CLASS (klass)->change_state = GST_DEBUG_FUNCPTR (change_state);
  GST_BASE_TRANSFORM_CLASS (klass)->sink_event = GST_DEBUG_FUNCPTR (sink_event);
  GST_CF_FILTER_CLASS (klass)->regions = GST_DEBUG_FUNCPTR (regions_found);
  gst_cf_filter_class_setup (GST_CF_FILTER_CLASS (klass), "median");
}

static void
gst_cuda_median_init (GstCudaMedian *self)
{
  self->events = gst_cf_events_new (GST_ELEMENT (self), "cudamedian", describe_box);
}
