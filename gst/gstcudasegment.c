/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcudasegment.c: the cudasegment element. The filter is cuda/segment/segment.h. */

/**
 * SECTION:element-cudasegment
 * @title: cudasegment
 * @short_description: segmentation by region growing on the GPU or the CPU
 *
 * Divides frames into regions of similar colour: seeds are placed where the frame is smooth, all other pixels join the
 * seeded regions whose mean colour is nearest, and similar regions merge. The output is each region in its mean colour,
 * the input with the borders drawn in, a colour per region, or the unchanged input. Regions are followed from frame to
 * frame: a region keeps its id, and its border does not flicker (#GstCudaSegment:temporal). Ids begin again with 1 at
 * the start, with new caps, after a flush, where the size of the cells changes, and where the CPU takes over from a
 * GPU that has failed.
 *
 * Applications receive the regions in three ways, each with the `id` of a region, its `age` in frames, its `area` in
 * pixels, its bounding box, its centroid and its mean colour:
 *
 * * #GstCudaSegment:region-meta attaches one #GstVideoRegionOfInterestMeta per region, of type "region", with a
 *   parameter structure "cudasegment".
 * * #GstCudaSegment:label-meta attaches the #GstCustomMeta "GstCudaSegmentMeta", with the label of each pixel and the
 *   list of the regions. The header gstcudasegmentmeta.h reads it; an application does not link the plugin.
 * * #GstCudaSegment:message-interval posts the element message "cudasegment", at most once per interval, with
 *   timestamp, stream-time, running-time and duration, width and height of the frame, and the array "regions".
 *
 * With #GstCudaSegment:events the element also posts one message "cudasegment" an event, with the fields above, but
 * `event` and the structure `region` in place of the array. `event` is "appear", "leave", or "enter-zone" and
 * "leave-zone" with the field `zone`, the name of one of #GstCudaSegment:zones: a region is in a zone if its centroid
 * is. What an event reports has lasted for #GstCudaSegment:min-age frames before, so regions that flicker post none.
 *
 * The GPU segments where there is one, otherwise the CPU, with identical frames and ids.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 filesrc location=street.mp4 ! decodebin ! videoconvert ! cudasegment ! videoconvert ! autovideosink
 * ]| Paints each region in its mean colour: a video like a poster.
 * |[
 * gst-launch-1.0 v4l2src ! decodebin ! videoconvert ! cudasegment output=boundaries boundary-color=0xffff0000 ! \
 *   videoconvert ! autovideosink
 * ]| Draws red borders between the regions into the video of a camera.
 * |[
 * gst-launch-1.0 v4l2src ! decodebin ! videoconvert ! cudasegment output=labels max-regions=30 ! \
 *   videoconvert ! autovideosink
 * ]| Paints a few large regions, each in a colour that it keeps.
 * |[
 * gst-launch-1.0 -m videotestsrc num-buffers=100 ! cudasegment output=passthrough message-interval=1000 ! fakesink
 * ]| Prints the list of regions once a second and leaves the video unchanged.
 *
 * Since: 0.1
 */
#include "gstcudasegment.h"
#include "gstcfevents.h"
#include "gstcudasegmentreport.h"

GST_DEBUG_CATEGORY_STATIC (gst_cuda_segment_debug);
#define GST_CAT_DEFAULT gst_cuda_segment_debug

struct _GstCudaSegment {
  GstCfFilter parent;
  GstCfInterval interval; /* of messages */
  GstCudaSegmentMaps *maps;
  GstCfEvents *events;
};

G_DEFINE_TYPE_WITH_CODE (GstCudaSegment, gst_cuda_segment, GST_TYPE_CF_FILTER,
    GST_DEBUG_CATEGORY_INIT (gst_cuda_segment_debug, "cudasegment", 0, "segmentation"))
GST_ELEMENT_REGISTER_DEFINE (cudasegment, "cudasegment", GST_RANK_NONE, GST_TYPE_CUDA_SEGMENT)

static gboolean
regions_found (GstCfFilter *filter, GstBuffer *buffer, const GstVideoInfo *info, const CfRegions *regions,
    gconstpointer params)
{
  GstCudaSegment *self = GST_CUDA_SEGMENT (filter);
  const GstSegment *segment = &GST_BASE_TRANSFORM (filter)->segment;
  gint interval;

  if (!regions || !gst_cf_filter_int_param (filter, params, "events"))
    gst_cf_events_reset (self->events);
  if (!regions)
    return TRUE;
  interval = gst_cf_filter_int_param (filter, params, "message-interval");
  if (gst_cf_filter_int_param (filter, params, "region-meta"))
    gst_cuda_segment_add_regions (buffer, regions);
  if (gst_cf_filter_int_param (filter, params, "label-meta") &&
      !gst_cuda_segment_add_labels (buffer, self->maps, info, regions)) {
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT,
        ("There is no memory for the label map of a frame of %d x %d pixels (label-meta=true)",
            GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info)),
        (NULL));
    return FALSE;
  }
  if (gst_cf_filter_int_param (filter, params, "events")) {
    gst_cf_events_frame (self->events, buffer, segment, info, gst_cf_filter_text_param (filter, params, "zones"),
        gst_cf_filter_int_param (filter, params, "min-age"));
    gst_cf_events_regions (self->events, regions);
  }
  if (interval > 0 && gst_cf_interval_is_over (&self->interval, buffer, segment, (GstClockTime) interval * GST_MSECOND))
    gst_element_post_message (GST_ELEMENT (self),
        gst_message_new_element (GST_OBJECT (self), gst_cuda_segment_describe (buffer, segment, info, regions)));
  return TRUE;
}

static GstStateChangeReturn
change_state (GstElement *element, GstStateChange transition)
{
  GstCudaSegment *self = GST_CUDA_SEGMENT (element);
  GstStateChangeReturn result;

  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED) {
    gst_cf_events_reset (self->events);
    gst_cf_interval_reset (&self->interval);
  }
  result = GST_ELEMENT_CLASS (gst_cuda_segment_parent_class)->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    gst_cuda_segment_maps_trim (self->maps);
  return result;
}

static void
finalize (GObject *object)
{
  GstCudaSegment *self = GST_CUDA_SEGMENT (object);

  gst_cuda_segment_maps_unref (self->maps);
  gst_cf_events_free (self->events);
  G_OBJECT_CLASS (gst_cuda_segment_parent_class)->finalize (object);
}

static void
gst_cuda_segment_class_init (GstCudaSegmentClass *klass)
{
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass), "CUDA segmentation", "Filter/Effect/Video/Hardware",
      "Finds regions of similar colour and tracks them over time, on the GPU, or on the CPU if there is no GPU",
      "The gst-cuda-filters authors");
  G_OBJECT_CLASS (klass)->finalize = finalize;
  GST_ELEMENT_CLASS (klass)->change_state = GST_DEBUG_FUNCPTR (change_state);
  GST_CF_FILTER_CLASS (klass)->regions = GST_DEBUG_FUNCPTR (regions_found);
  gst_cuda_segment_register_meta ();
  gst_cf_filter_class_setup (GST_CF_FILTER_CLASS (klass), "segment");
}

static void
gst_cuda_segment_init (GstCudaSegment *self)
{
  self->maps = gst_cuda_segment_maps_new ();
  self->events = gst_cf_events_new (GST_ELEMENT (self), "cudasegment", gst_cuda_segment_describe_region);
}
