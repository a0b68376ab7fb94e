/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * fmp4.c: writes what an encoder makes as fmp4.c of cf-watch does, and prints each frame's PTS and DTS in ns, in the
 * order of decoding, and whether it is a key frame.
 *
 * usage: fmp4 FILE ENCODER-LINE */
#include "../../pipelines/watch/fmp4.h"

#include <gst/app/gstappsink.h>
#include <stdio.h>

static void
write_sample (FILE *file, GstSample *sample, guint number)
{
  GstBuffer *buffer = gst_sample_get_buffer (sample);
  g_autofree guint8 *bytes = NULL;
  GstByteWriter head;
  GstMapInfo map;
  gsize n;

  gst_byte_writer_init (&head);
  if (number == 1)
    fmp4_begin (&head, gst_sample_get_caps (sample));
  /* x264enc counts from 1000 h on. */
  GST_BUFFER_PTS (buffer) -= GST_SECOND * 3600 * 1000;
  GST_BUFFER_DTS (buffer) -= GST_SECOND * 3600 * 1000 - GST_SECOND;
  GST_BUFFER_PTS (buffer) += GST_SECOND;
  fmp4_frame (&head, number, GST_BUFFER_DTS (buffer), FMP4_DURATION, buffer);
  n = gst_byte_writer_get_size (&head);
  bytes = gst_byte_writer_reset_and_get_data (&head);
  gst_buffer_map (buffer, &map, GST_MAP_READ);
  if (fwrite (bytes, 1, n, file) != n || fwrite (map.data, 1, map.size, file) != map.size)
    g_error ("the file cannot be written");
  gst_buffer_unmap (buffer, &map);
  printf ("%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %d\n", GST_BUFFER_PTS (buffer), GST_BUFFER_DTS (buffer),
      !GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_DELTA_UNIT));
}

int
main (int argc, char **argv)
{
  g_autofree char *line = NULL;
  GstElement *pipeline, *sink;
  GstSample *sample;
  FILE *file;
  guint number = 0;

  gst_init (&argc, &argv);
  if (argc != 3 || !(file = fopen (argv[1], "wb")))
    return 2;
  line = g_strdup_printf ("videotestsrc num-buffers=100 ! video/x-raw,format=I420,width=162,height=98,framerate=30/1 ! "
                          "%s ! h264parse ! video/x-h264,stream-format=avc,alignment=au ! appsink name=sink sync=false",
      argv[2]);
  pipeline = gst_parse_launch (line, NULL);
  if (!pipeline)
    return 77;
  sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while ((sample = gst_app_sink_pull_sample (GST_APP_SINK (sink)))) {
    write_sample (file, sample, ++number);
    gst_sample_unref (sample);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (sink);
  gst_object_unref (pipeline);
  return fclose (file) == 0 ? 0 : 1;
}
