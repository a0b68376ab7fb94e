/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * bench-video.c: images from a video file, for bench --video. */

#include "bench-camera.h"
#include "line.h"

/* The images that have been taken so far. */
typedef struct {
  const GstVideoInfo *info;
  GstBuffer **images;
  int n, wanted;
} Taken;

static GstBuffer *
copy_of (GstBuffer *buffer, const GstVideoInfo *from_info, const GstVideoInfo *to_info)
{
  GstBuffer *image = gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (to_info), NULL);
  GstVideoFrame from, to;
  gboolean good = FALSE;

  if (image && gst_video_frame_map (&from, from_info, buffer, GST_MAP_READ)) {
    if (gst_video_frame_map (&to, to_info, image, GST_MAP_WRITE)) {
      good = gst_video_frame_copy (&to, &from);
      gst_video_frame_unmap (&to);
    }
    gst_video_frame_unmap (&from);
  }
  if (!good)
    g_clear_pointer (&image, gst_buffer_unref);
  return image;
}

static void
take (GstElement *sink, GstBuffer *buffer, GstPad *pad, gpointer data)
{
  Taken *taken = data;
  GstCaps *caps = gst_pad_get_current_caps (pad);
  GstVideoInfo info;

  if (taken->n < taken->wanted && caps && gst_video_info_from_caps (&info, caps) &&
      (taken->images[taken->n] = copy_of (buffer, &info, taken->info)) != NULL && ++taken->n == taken->wanted)
    gst_element_post_message (sink, gst_message_new_application (GST_OBJECT (sink), gst_structure_new_empty ("taken")));
  g_clear_pointer (&caps, gst_caps_unref);
}

/* Runs the pipeline until it has sent enough frames or all that it has. Returns whether there were any, and says why
 * not. */
static gboolean
run (GstElement *pipeline, const char *file, const Taken *taken)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message;
  GError *error = NULL;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (bus, GST_CLOCK_TIME_NONE,
      GST_MESSAGE_ERROR | GST_MESSAGE_EOS | GST_MESSAGE_APPLICATION);
  if (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, &error, NULL);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  if (taken->n == 0)
    complain ("--video %s: no frames can be read: %s", file, error ? error->message : "there is no video in it");
  g_clear_error (&error);
  g_clear_pointer (&message, gst_message_unref);
  gst_object_unref (bus);
  return taken->n > 0;
}

gboolean
bench_video_images (const char *file, const GstVideoInfo *info, GstBuffer **images, int n)
{
  Taken taken = { .info = info, .images = images, .wanted = (n + 1) / 2 };
  g_autofree char *caps = g_strdup_printf ("video/x-raw,format=%s,width=%d,height=%d,pixel-aspect-ratio=1/1",
      GST_VIDEO_INFO_NAME (info), GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info));
  g_autofree char *line = g_strdup_printf ("filesrc name=source ! decodebin ! videoconvert ! videoscale ! %s ! "
                                           "fakesink name=sink signal-handoffs=true sync=false",
      caps);
  g_autoptr (GError) error = NULL;
  GstElement *pipeline = gst_parse_launch (line, &error), *source, *sink;
  gboolean good;

  if (!pipeline || error) {
    g_clear_object (&pipeline);
    return complain ("--video %s: %s", file, error ? error->message : line);
  }
  source = gst_bin_get_by_name (GST_BIN (pipeline), "source");
  sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  g_object_set (source, "location", file, NULL);
  g_signal_connect (sink, "handoff", G_CALLBACK (take), &taken);
  good = run (pipeline, file, &taken);
  gst_object_unref (source);
  gst_object_unref (sink);
  gst_object_unref (pipeline);
  if (!good)
    return FALSE;
  /* there and back again, as often as there is room: the picture never jumps */
  for (int i = taken.n, period = MAX (1, 2 * taken.n - 1); i < n; i++) {
    int at = i % period;

    images[i] = gst_buffer_ref (images[at < taken.n ? at : period - at]);
  }
  return TRUE;
}
