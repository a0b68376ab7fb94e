/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * input.c: what sources leave open about their frames: when, and in which colours. */
#include "pipeline-private.h"

#include <gst/video/video.h>

/* How much later than the one before a frame is at least and at most whose own time is not later. Matroska has ms. */
#define NEAREST GST_MSECOND
#define FARTHEST (100 * GST_MSECOND)
#define STEP_BACK GST_SECOND /* of the source's clock: it was set */
#define MAX_STANDING 8       /* frames after which a time that does not rise is none */

/* Returns the running time that a frame goes on with: its own, or a later one where that is missing (NONE) or no later
 * than that of the frame before. Half a frame later, the next one still finds its place. */
static GstClockTime
rise (Pipeline *pipeline, GstClockTime time, GstClockTime duration)
{
  GstClockTime now = gst_element_get_current_running_time (pipeline->bin), next;
  gboolean known = GST_CLOCK_TIME_IS_VALID (time);

  duration = GST_CLOCK_TIME_IS_VALID (duration) ? CLAMP (duration, 2 * NEAREST, FARTHEST) : 2 * NEAREST;
  next = GST_CLOCK_TIME_IS_VALID (pipeline->stamped) ? pipeline->stamped + duration / 2 : 0;
  if (known)
    time += pipeline->shift;
  if (known && (!next || time > pipeline->stamped)) {
    pipeline->standing = 0;
  } else if (!known || ++pipeline->standing > MAX_STANDING) {
    time = known ? next + duration / 2 : next;
    if (GST_CLOCK_TIME_IS_VALID (now)) /* before the pipeline plays it has no clock */
      time = MAX (now, time);
  } else {
    if (pipeline->stamped - time > STEP_BACK) /* the distances from here on are right again */
      pipeline->shift += next - time;
    time = next;
  }
  return pipeline->stamped = time;
}

/* Completes a colorimetry that has no matrix, as of H.264 that says that its range is full and no more: what follows
 * would not believe the range either. */
static GstEvent *
complete_color (GstEvent *event)
{
  g_autofree char *whole = NULL;
  GstVideoColorimetry color;
  GstVideoInfo info;
  GstCaps *caps;
  const char *text;

  gst_event_parse_caps (event, &caps);
  text = gst_structure_get_string (gst_caps_get_structure (caps, 0), "colorimetry");
  if (!text || !gst_video_colorimetry_from_string (&color, text) || color.range != GST_VIDEO_COLOR_RANGE_0_255 ||
      color.matrix != GST_VIDEO_COLOR_MATRIX_UNKNOWN || !gst_video_info_from_caps (&info, caps) ||
      !GST_VIDEO_INFO_IS_YUV (&info))
    return event;
  color.matrix = info.colorimetry.matrix; /* what is usual at this size */
  caps = gst_caps_copy (caps);
  whole = gst_video_colorimetry_to_string (&color);
  gst_caps_set_simple (caps, "colorimetry", G_TYPE_STRING, whole, NULL);
  gst_event_unref (event);
  event = gst_event_new_caps (caps);
  gst_caps_unref (caps);
  return event;
}

/* Sees what enters the line. A picture has come: the counts of what comes without one begin anew. The times of frames
 * rise: JPEGs over HTTP have none; some cameras and files give several frames the same, or step back; and an encoder or
 * a muxer would lose these frames. */
GstPadProbeReturn
pipeline_on_input (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstBuffer *buffer = info->data;
  const GstSegment *segment;
  GstClockTime own, time;
  GstEvent *event;
  Pipeline *pipeline = data;

  if (info->type & GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM) {
    if (GST_EVENT_TYPE (info->data) == GST_EVENT_CAPS)
      info->data = complete_color (info->data);
    return GST_PAD_PROBE_OK;
  }
  atomic_store (&pipeline->unseen, 0);
  atomic_store (&pipeline->senders, 0);
  if (!(event = gst_pad_get_sticky_event (pad, GST_EVENT_SEGMENT, 0)))
    return GST_PAD_PROBE_OK;
  gst_event_parse_segment (event, &segment);
  own = gst_segment_to_running_time (segment, GST_FORMAT_TIME, GST_BUFFER_PTS (buffer));
  time = rise (pipeline, own, GST_BUFFER_DURATION (buffer));
  time = time == own ? GST_CLOCK_TIME_NONE : gst_segment_position_from_running_time (segment, GST_FORMAT_TIME, time);
  if (GST_CLOCK_TIME_IS_VALID (time)) { /* NONE as well where it would be behind the segment's end */
    info->data = buffer = gst_buffer_make_writable (buffer);
    GST_BUFFER_PTS (buffer) = time;
  }
  gst_event_unref (event);
  return GST_PAD_PROBE_OK;
}
