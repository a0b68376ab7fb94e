/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * region-at: how an application reads the regions that cudasegment finds. For each
 * frame of a video it prints the region at a given pixel: its number, its age in
 * frames, its size, its bounding box and its colour. The data come from label-meta;
 * the program does not link the plugin. To compile it with the installed header:
 * cc region-at.c -o region-at $(pkg-config --cflags --libs gst-cuda-filters) */
#if __has_include("gstcudasegmentmeta.h") /* in the source tree */
#include "gstcudasegmentmeta.h"
#else
#include <gst/cudafilters/gstcudasegmentmeta.h>
#endif

#include <gst/gst.h>
#include <stdlib.h>

typedef struct {
  guint x, y, frames;
} Point;

static GstPadProbeReturn
print_region (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  const GstCudaSegmentRegion *r;
  GstCudaSegmentMap map;
  Point *point = data;

  (void) pad;
  if (!gst_cuda_segment_map_get (GST_PAD_PROBE_INFO_BUFFER (info), &map))
    return GST_PAD_PROBE_OK;
  r = gst_cuda_segment_map_region_at (&map, point->x, point->y);
  if (r)
    g_print ("frame %u: region %u, age %u, %u pixels in %u x %u at %u, %u; Y Cb Cr %.0f %.0f %.0f; %u regions in all\n",
        point->frames, r->id, r->age, r->area, r->width, r->height, r->x, r->y, r->mean_y, r->mean_cb, r->mean_cr,
        map.n_regions);
  else
    g_print ("frame %u: %u, %u is outside the frame of %u x %u\n", point->frames, point->x, point->y, map.width,
        map.height);
  point->frames++;
  return GST_PAD_PROBE_OK;
}

/* Plays until the end of the stream. Returns FALSE after an error. */
static gboolean
play (GstElement *pipeline)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  g_autoptr (GstMessage) message = NULL;
  g_autoptr (GError) error = NULL;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
    gst_message_parse_error (message, &error, NULL);
    g_printerr ("region-at: %s\n", error->message);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  return error == NULL;
}

int
main (int argc, char **argv)
{
  g_autoptr (GstElement) pipeline = NULL, source = NULL, sink = NULL;
  g_autoptr (GstPad) pad = NULL;
  g_autoptr (GError) error = NULL;
  Point point = { 0 };

  gst_init (&argc, &argv);
  if (argc != 4) {
    g_printerr ("usage: region-at FILE X Y\n");
    return 2;
  }
  pipeline = gst_parse_launch ("filesrc name=source ! decodebin ! videoconvert ! "
                               "cudasegment output=passthrough label-meta=true ! fakesink name=sink",
      &error);
  if (error) {
    g_printerr ("region-at: %s\n", error->message);
    return 1;
  }
  point.x = (guint) strtoul (argv[2], NULL, 10);
  point.y = (guint) strtoul (argv[3], NULL, 10);
  source = gst_bin_get_by_name (GST_BIN (pipeline), "source");
  g_object_set (source, "location", argv[1], NULL);
  sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  pad = gst_element_get_static_pad (sink, "sink");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, print_region, &point, NULL);
  return play (pipeline) ? 0 : 1;
}
