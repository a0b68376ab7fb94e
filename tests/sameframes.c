/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * sameframes.c: do two pipelines make the same frames, byte for byte?
 *
 *   sameframes [--hash] [--all-on-gpu NAME] [--quick-exit] 'PIPELINE A' ['PIPELINE B']
 *
 * Each ends in "appsink name=out". With one pipeline, or --hash, the number
 * of frames and the SHA-256 of all of them is printed. --all-on-gpu: the
 * element of that name in A must say in its stats that the GPU made every
 * frame, or it is a failure: else the CPU was compared with itself. Samples
 * count, not what lies beside the rows.
 *
 * --quick-exit ends the process without exit handlers, for pipelines with NVIDIA's
 * decoders: a thread that the driver's video library starts (libnvidia-eglcore
 * 580.159) crashed while they ran in 6 of 94 short processes on an H200, in
 * half of them with no element of ours. */
#include "stats.h"

#include <gst/app/gstappsink.h>
#include <gst/video/video.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  GstElement *pipeline;
  GstAppSink *sink;
  GChecksum *sum;
  guint64 frames;
} Side;

static gboolean
side_open (Side *side, const char *line)
{
  GError *error = NULL;
  GstElement *out;

  side->pipeline = gst_parse_launch (line, &error);
  out = side->pipeline && GST_IS_BIN (side->pipeline) ? gst_bin_get_by_name (GST_BIN (side->pipeline), "out") : NULL;
  if (error || !out || !GST_IS_APP_SINK (out)) {
    printf ("%s: %s\n", line, error ? error->message : "does not end in \"appsink name=out\"");
    g_clear_error (&error);
    return FALSE;
  }
  side->sink = GST_APP_SINK (out);
  g_object_set (out, "sync", FALSE, "max-buffers", 4, "emit-signals", FALSE, NULL);
  side->sum = g_checksum_new (G_CHECKSUM_SHA256);
  return gst_element_set_state (side->pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE;
}

/* Prints what went wrong in the pipeline, if something did. */
static gboolean
side_failed (Side *side)
{
  GstBus *bus = gst_element_get_bus (side->pipeline);
  GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  GError *error = NULL;

  gst_object_unref (bus);
  if (!message)
    return FALSE;
  gst_message_parse_error (message, &error, NULL);
  printf ("%s: %s\n", GST_OBJECT_NAME (message->src), error->message);
  g_clear_error (&error);
  gst_message_unref (message);
  return TRUE;
}

static gboolean
side_all_on_gpu (Side *side, const char *name)
{
  GstElement *element = gst_bin_get_by_name (GST_BIN (side->pipeline), name);
  guint64 frames = element ? stat_of (element, "frames") : 0, gpu = element ? stat_of (element, "frames-gpu") : 0;

  if (element)
    gst_object_unref (element);
  if (frames == 0 || gpu != frames || frames != side->frames) {
    printf ("the GPU made %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " frames\n", gpu, side->frames);
    return FALSE;
  }
  return TRUE;
}

static void
side_close (Side *side)
{
  if (side->pipeline)
    gst_element_set_state (side->pipeline, GST_STATE_NULL);
  if (side->sink)
    gst_object_unref (side->sink);
  if (side->pipeline)
    gst_object_unref (side->pipeline);
  if (side->sum)
    g_checksum_free (side->sum);
}

static gboolean
map_sample (GstSample *sample, GstVideoFrame *frame)
{
  GstVideoInfo info;

  return gst_video_info_from_caps (&info, gst_sample_get_caps (sample)) &&
      gst_video_frame_map (frame, &info, gst_sample_get_buffer (sample), GST_MAP_READ);
}

/* Bytes of a row of a plane up to the end of its last sample. */
static gsize
row_bytes (const GstVideoFrame *frame, guint plane)
{
  gsize bytes = 0;

  for (gint c = 0; c < (gint) GST_VIDEO_FRAME_N_COMPONENTS (frame); c++)
    if (GST_VIDEO_FRAME_COMP_PLANE (frame, c) == plane) {
      gsize end = (gsize) (GST_VIDEO_FRAME_COMP_WIDTH (frame, c) - 1) * (gsize) GST_VIDEO_FRAME_COMP_PSTRIDE (frame, c) +
          (gsize) GST_VIDEO_FRAME_COMP_POFFSET (frame, c) + (gsize) (GST_VIDEO_FRAME_COMP_DEPTH (frame, c) + 7) / 8;

      bytes = MAX (bytes, end);
    }
  return bytes;
}

static guint
plane_rows (const GstVideoFrame *frame, guint plane)
{
  for (gint c = 0; c < (gint) GST_VIDEO_FRAME_N_COMPONENTS (frame); c++)
    if (GST_VIDEO_FRAME_COMP_PLANE (frame, c) == plane)
      return (guint) GST_VIDEO_FRAME_COMP_HEIGHT (frame, c);
  return 0;
}

static const guint8 *
plane_row (const GstVideoFrame *frame, guint plane, guint y)
{
  return (const guint8 *) GST_VIDEO_FRAME_PLANE_DATA (frame, plane) +
      (gsize) y * (gsize) GST_VIDEO_FRAME_PLANE_STRIDE (frame, plane);
}

static gboolean
same (GstSample *a, GstSample *b, guint64 frame)
{
  GstVideoFrame in, out;
  gboolean equal = FALSE;

  if (!gst_caps_is_equal (gst_sample_get_caps (a), gst_sample_get_caps (b))) {
    gchar *x = gst_caps_to_string (gst_sample_get_caps (a)), *y = gst_caps_to_string (gst_sample_get_caps (b));

    printf ("frame %" G_GUINT64_FORMAT ": the caps are %s and %s\n", frame, x, y);
    g_free (x);
    g_free (y);
    return FALSE;
  }
  if (!map_sample (a, &in))
    return FALSE;
  if (map_sample (b, &out)) {
    equal = TRUE;
    for (guint p = 0; equal && p < GST_VIDEO_FRAME_N_PLANES (&in); p++)
      for (guint y = 0; equal && y < plane_rows (&in, p); y++)
        equal = memcmp (plane_row (&in, p, y), plane_row (&out, p, y), row_bytes (&in, p)) == 0;
    if (!equal)
      printf ("frame %" G_GUINT64_FORMAT " differs\n", frame);
    gst_video_frame_unmap (&out);
  }
  gst_video_frame_unmap (&in);
  return equal;
}

static void
add_to_sum (Side *side, GstSample *sample)
{
  GstVideoFrame map;

  if (!map_sample (sample, &map))
    return;
  for (guint p = 0; p < GST_VIDEO_FRAME_N_PLANES (&map); p++)
    for (guint y = 0; y < plane_rows (&map, p); y++)
      g_checksum_update (side->sum, plane_row (&map, p, y), (gssize) row_bytes (&map, p));
  gst_video_frame_unmap (&map);
}

static gboolean
run_sides (Side *a, Side *b, gboolean hash)
{
  for (;;) {
    GstSample *x = gst_app_sink_pull_sample (a->sink), *y = b ? gst_app_sink_pull_sample (b->sink) : NULL;
    gboolean good = b ? !x == !y : TRUE, end = !x;

    if (!good)
      printf ("one of the pipelines ends after %" G_GUINT64_FORMAT " frames, the other does not\n", a->frames);
    if (x && y)
      good = same (x, y, a->frames);
    if (x && hash)
      add_to_sum (a, x);
    if (x) {
      a->frames++;
      gst_sample_unref (x);
    }
    if (y)
      gst_sample_unref (y);
    if (!good || end)
      return good;
  }
}

int
main (int argc, char **argv)
{
  gboolean hash = FALSE, quick_exit = FALSE, good;
  gchar *gpu = NULL;
  Side a = { NULL }, b = { NULL };
  GOptionEntry entries[] = {
    { "hash", 0, 0, G_OPTION_ARG_NONE, &hash, "print the SHA-256 of the frames", NULL },
    { "all-on-gpu", 0, 0, G_OPTION_ARG_STRING, &gpu, "the element that must have used the GPU", "NAME" },
    { "quick-exit", 0, 0, G_OPTION_ARG_NONE, &quick_exit, "end without exit handlers", NULL },
    { NULL }
  };
  GOptionContext *options = g_option_context_new ("A [B]");
  GError *error = NULL;

  g_option_context_add_main_entries (options, entries, NULL);
  g_option_context_add_group (options, gst_init_get_option_group ());
  if (!g_option_context_parse (options, &argc, &argv, &error) || argc < 2 || argc > 3) {
    printf ("%s\n", error ? error->message : "one or two pipelines");
    return 2;
  }
  g_option_context_free (options);
  good = side_open (&a, argv[1]) && (argc < 3 || side_open (&b, argv[2]));
  good = good && run_sides (&a, argc == 3 ? &b : NULL, hash || argc == 2);
  good = good && !side_failed (&a) && (argc < 3 || !side_failed (&b));
  if (!good && a.pipeline)
    side_failed (&a);
  if (good && a.frames == 0) {
    printf ("no frame came\n");
    good = FALSE;
  }
  good = good && (!gpu || side_all_on_gpu (&a, gpu));
  if (good)
    printf ("%" G_GUINT64_FORMAT " frames %s\n", a.frames, hash || argc == 2 ? g_checksum_get_string (a.sum) : "the same");
  side_close (&a);
  side_close (&b);
  g_free (gpu);
  (void) fflush (stdout);
  if (quick_exit)
    _exit (good ? 0 : 1);
  return good ? 0 : 1;
}
