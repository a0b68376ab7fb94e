/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cf-demo: shows or writes filtered video: alone, beside the original, or filtered by each element in a quarter of the
 * frame. demo.sh builds and runs it; effect.sh and restore.sh run it.
 *
 *   source ! queue ! videoconvert [! BEFORE ! videoconvert] ! salted ! LAYOUT ! size ! window or encoder ! muxer ! file
 *
 *   LAYOUT of beside:  tee ! queue ---------- ! compositor
 *                      tee ! queue ! FILTER ! compositor
 *
 * report () also shows how an application reads a filter's active-backend and stats. */

#include "demo.h"
#include "line.h"
#include "output.h"

#include <gst/video/video.h>
#include <gst/video/videooverlay.h>

#include <errno.h>
#include <glib-unix.h>
#include <glib/gstdio.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_HALF_WIDTH 1920 /* of each half of a frame with the original; larger input is scaled down */
#define MAX_HALF_HEIGHT 2160
#define MAX_CELL_WIDTH 640
#define MAX_CELL_HEIGHT 360
#define SNAPSHOT 30              /* number of the frame that becomes the PNG; of a shorter video, the last one */
#define ENDED_WITHIN 5           /* seconds for frames under way to arrive */
#define NOT_GIVEN (-G_MAXDOUBLE) /* an option */
#define NO_DECODER 3             /* exit status: GStreamer lacks what the input needs */

/* Formats that salt () supports: 8 bits per sample. */
#define SALT_CAPS \
  "video/x-raw, format = { I420, YV12, NV12, NV21, Y42B, Y444, GRAY8, YUY2, UYVY, RGB, BGR, RGBx, BGRx, RGBA, BGRA }"

/* What each element does with clean video, in three columns and two rows. */
static const struct {
  const char *name, *line;
} cells[] = {
  { "the video", "identity" },
  { "cudadenoise: less noise", "cudadenoise" },
  { "cudamedian: no speckles", "cudamedian kernel-size=3" },
  { "cudaconvolve: sharper", "cudaconvolve preset=unsharp kernel-size=7 amount=1.5" },
  { "cudairfilter: local contrast", "cudairfilter preset=sharpen sigma=30 amount=0.6 apply-to=luma" },
  { "cudasegment: regions", "cudasegment output=boundaries boundary-color=0xffffff00" },
};

typedef struct {
  DemoOptions opt;
  DemoEnds ends;
  GstElement *pipeline, *before, *filter[G_N_ELEMENTS (cells)];
  int n_filters;
  GstPad *tap; /* before the tee */
  GstElement *comp, *size;
  GMainLoop *loop;
  gboolean failed;   /* an error was printed */
  gboolean stopped;  /* by Ctrl-C */
  gboolean cut;      /* the file cannot be written any more */
  gboolean complete; /* all frames and the index are in the file */
  gboolean undecoded;
  char *missing;     /* what GStreamer lacks to read the input */
  gint stop;         /* atomic: end the stream with the next frame */
  gint ended;        /* atomic: EOS has been pushed at the tap */
  guint n_in, n_out; /* frames before and after the first filter; written by streaming threads */
  gint64 first, last;
  GstVideoInfo info;
  gboolean sized;
  guint64 random;
  GMutex lock; /* of shot */
  GstBuffer *shot;
  GstCaps *shot_caps;
  guint n_shot;
} Demo;

/* ---- pad probes --------------------------------------------------------- */

static guint32
next_random (Demo *demo)
{
  demo->random ^= demo->random << 13;
  demo->random ^= demo->random >> 7;
  demo->random ^= demo->random << 17;
  return demo->random >> 32;
}

/* Adds salt-and-pepper noise: random pixels become black or white. In YUV only their luma
 * changes, as with a defective sensor cell. */
static void
salt (Demo *demo, GstBuffer *buffer)
{
  int width = GST_VIDEO_INFO_WIDTH (&demo->info), height = GST_VIDEO_INFO_HEIGHT (&demo->info), c;
  gint64 n = (gint64) (demo->opt.noise / 100 * width * height);
  GstVideoFrame frame;

  if (!gst_video_frame_map (&frame, &demo->info, buffer, GST_MAP_READWRITE))
    return;
  for (; n > 0; n--) {
    int x = next_random (demo) % width, y = next_random (demo) % height;
    guint8 value = next_random (demo) & 1 ? 255 : 0;

    for (c = 0; c < (GST_VIDEO_INFO_IS_RGB (&demo->info) ? 3 : 1); c++) {
      guint8 *row = (guint8 *) GST_VIDEO_FRAME_COMP_DATA (&frame, c) + y * GST_VIDEO_FRAME_COMP_STRIDE (&frame, c);

      row[x * GST_VIDEO_FRAME_COMP_PSTRIDE (&frame, c)] = value;
    }
  }
  gst_video_frame_unmap (&frame);
}

/* Makes each part of the frame as large as the input, or smaller if it exceeds the size that encoders take;
 * with even sides, which 4:2:0 encoders need. */
static void
set_size (Demo *demo)
{
  const DemoLayout layout = demo->opt.layout;
  int width = GST_VIDEO_INFO_WIDTH (&demo->info), height = GST_VIDEO_INFO_HEIGHT (&demo->info);
  int max_w = layout == LAYOUT_GRID ? MAX_CELL_WIDTH : layout == LAYOUT_BESIDE ? MAX_HALF_WIDTH : width;
  int max_h = layout == LAYOUT_GRID ? MAX_CELL_HEIGHT : layout == LAYOUT_BESIDE ? MAX_HALF_HEIGHT : height;
  double scale = MIN (1.0, MIN ((double) max_w / width, (double) max_h / height));
  int w = ((int) (width * scale) + 1) & ~1, h = ((int) (height * scale) + 1) & ~1;
  int columns = layout == LAYOUT_ALONE ? 1 : layout == LAYOUT_BESIDE ? 2 : 3, rows = layout == LAYOUT_GRID ? 2 : 1;
  g_autoptr (GstCaps) caps = gst_caps_new_simple ("video/x-raw", "width", G_TYPE_INT, columns * w, "height", G_TYPE_INT,
      rows * h, "pixel-aspect-ratio", GST_TYPE_FRACTION, GST_VIDEO_INFO_PAR_N (&demo->info),
      GST_VIDEO_INFO_PAR_D (&demo->info), NULL);

  if (GST_VIDEO_INFO_FPS_N (&demo->info) > 0)
    gst_caps_set_simple (caps, "framerate", GST_TYPE_FRACTION, GST_VIDEO_INFO_FPS_N (&demo->info),
        GST_VIDEO_INFO_FPS_D (&demo->info), NULL);
  for (int i = 0; demo->comp && i < columns * rows; i++) {
    g_autofree char *name = g_strdup_printf ("sink_%d", i);
    g_autoptr (GstPad) pad = gst_element_get_static_pad (demo->comp, name);

    g_object_set (pad, "xpos", i % columns * w, "ypos", i / columns * h, "width", w, "height", h, NULL);
  }
  g_object_set (demo->size, "caps", caps, NULL);
}

/* Ends the stream at the tap, as if the input had ended: frames under way are drained and the
 * file gets its index. */
static void
end_stream (Demo *demo)
{
  if (g_atomic_int_compare_and_exchange (&demo->ended, 0, 1))
    gst_pad_push_event (demo->tap, gst_event_new_eos ());
}

static GstPadProbeReturn
before_filter (GstPad *pad, GstPadProbeInfo *probe, gpointer data)
{
  Demo *demo = data;
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT (probe);

  (void) pad;
  if (GST_PAD_PROBE_INFO_TYPE (probe) & GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM) {
    GstCaps *caps;

    if (GST_EVENT_TYPE (event) != GST_EVENT_CAPS)
      return GST_PAD_PROBE_OK;
    gst_event_parse_caps (event, &caps);
    if (gst_video_info_from_caps (&demo->info, caps) && !demo->sized) {
      demo->sized = TRUE;
      set_size (demo);
    }
    return GST_PAD_PROBE_OK;
  }
  if (g_atomic_int_get (&demo->stop) || (demo->opt.frames > 0 && demo->n_in >= (guint) demo->opt.frames)) {
    end_stream (demo);
    return GST_PAD_PROBE_DROP;
  }
  demo->n_in++;
  if (demo->opt.noise > 0) {
    GST_PAD_PROBE_INFO_DATA (probe) = gst_buffer_make_writable (GST_PAD_PROBE_INFO_BUFFER (probe));
    salt (demo, GST_PAD_PROBE_INFO_BUFFER (probe));
  }
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn
behind_filter (GstPad *pad, GstPadProbeInfo *probe, gpointer data)
{
  Demo *demo = data;

  (void) pad;
  (void) probe;
  demo->last = g_get_monotonic_time ();
  if (demo->n_out++ == 0)
    demo->first = demo->last;
  return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn
keep_shot (GstPad *pad, GstPadProbeInfo *probe, gpointer data)
{
  Demo *demo = data;

  g_mutex_lock (&demo->lock);
  if (!demo->shot_caps)
    demo->shot_caps = gst_pad_get_current_caps (pad);
  if (demo->n_shot++ < SNAPSHOT)
    gst_buffer_replace (&demo->shot, GST_PAD_PROBE_INFO_BUFFER (probe));
  g_mutex_unlock (&demo->lock);
  return demo->n_shot < SNAPSHOT ? GST_PAD_PROBE_OK : GST_PAD_PROBE_REMOVE;
}

/* ---- the run ------------------------------------------------------------ */

static void
end_stream_async (GstElement *pipeline, gpointer data)
{
  (void) pipeline;
  end_stream (data);
}

static gboolean
on_no_frame (gpointer data)
{
  Demo *demo = data;

  /* No frame arrives whose probe would end the stream. Runs in another thread, because the push
   * waits until the streaming thread has released the pad. */
  gst_element_call_async (demo->pipeline, end_stream_async, demo, NULL);
  return G_SOURCE_REMOVE;
}

static gboolean
on_stuck (gpointer data)
{
  Demo *demo = data;

  if (!demo->failed)
    say ("the pipeline did not end in time");
  demo->failed = TRUE;
  g_main_loop_quit (demo->loop);
  return G_SOURCE_REMOVE;
}

/* Ends the stream; the output keeps the frames made so far. */
static void
stop (Demo *demo)
{
  if (demo->n_in == 0) {
    g_main_loop_quit (demo->loop);
    return;
  }
  if (!g_atomic_int_compare_and_exchange (&demo->stop, 0, 1))
    return;
  g_timeout_add (500, on_no_frame, demo);
  g_timeout_add_seconds (ENDED_WITHIN, on_stuck, demo);
}

static gboolean
on_signal (gpointer data)
{
  ((Demo *) data)->stopped = TRUE;
  stop (data);
  return G_SOURCE_CONTINUE;
}

/* Returns the element's additional text, which follows the source location in the debug string. */
static const char *
detail (const char *debug)
{
  const char *line = debug ? strchr (debug, '\n') : NULL;

  return line && line[1] ? line + 1 : NULL;
}

/* Returns whether the message comes from the source or the decoder. */
static gboolean
is_of_input (GstMessage *message, GstElement *pipeline)
{
  g_autoptr (GstElement) source = gst_bin_get_by_name (GST_BIN (pipeline), "source");
  g_autoptr (GstElement) decoder = gst_bin_get_by_name (GST_BIN (pipeline), "decoder");

  return gst_object_has_as_ancestor (GST_MESSAGE_SRC (message), GST_OBJECT (source)) ||
      (decoder && gst_object_has_as_ancestor (GST_MESSAGE_SRC (message), GST_OBJECT (decoder)));
}

static void
print_error (Demo *demo, GstMessage *message)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *debug = NULL;

  gst_message_parse_error (message, &error, &debug);
  /* The user closed the window: a normal end. */
  if (demo->opt.window && g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND) &&
      GST_IS_VIDEO_OVERLAY (GST_MESSAGE_SRC (message)))
    return;
  if (!demo->failed) { /* later errors are consequences of the first */
    gboolean input = demo->opt.input && is_of_input (message, demo->pipeline);

    say ("error: %s: %s", input ? demo->opt.input : GST_MESSAGE_SRC_NAME (message), error->message);
    demo->undecoded = demo->missing && (input || GST_MESSAGE_SRC (message) == GST_OBJECT (demo->pipeline));
    if (demo->undecoded)
      say ("  GStreamer lacks: %s; most decoders are in gstreamer1.0-libav, others in gstreamer1.0-plugins-bad",
          demo->missing);
    else if (detail (debug))
      say ("  %s", detail (debug));
  }
  demo->failed = TRUE;
  demo->cut = demo->cut || !strcmp (GST_MESSAGE_SRC_NAME (message), "out");
}

/* Keeps the name of a decoder or demuxer that GStreamer looked for; those of sound are not needed. */
static void
note_missing (Demo *demo, const GstStructure *message)
{
  const GValue *wanted = gst_structure_get_value (message, "detail");
  const GstCaps *caps = wanted && GST_VALUE_HOLDS_CAPS (wanted) ? gst_value_get_caps (wanted) : NULL;
  const char *kind = caps ? gst_structure_get_name (gst_caps_get_structure (caps, 0)) : "";

  if (gst_structure_has_name (message, "missing-plugin") && !demo->missing && !g_str_has_prefix (kind, "audio/"))
    demo->missing = g_strdup (gst_structure_get_string (message, "name"));
}

static gboolean
on_message (GstBus *bus, GstMessage *message, gpointer data)
{
  Demo *demo = data;

  (void) bus;
  switch (GST_MESSAGE_TYPE (message)) {
    case GST_MESSAGE_EOS:
      demo->complete = !demo->cut;
      g_main_loop_quit (demo->loop);
      break;
    case GST_MESSAGE_ERROR:
      print_error (demo, message);
      if (demo->opt.window)
        g_main_loop_quit (demo->loop);
      else
        stop (demo); /* what is written already stays playable */
      break;
    case GST_MESSAGE_WARNING: {
      g_autoptr (GError) error = NULL;

      gst_message_parse_warning (message, &error, NULL);
      /* The audio of a file finds no place here, and so it should be. */
      if (!g_error_matches (error, GST_PARSE_ERROR, GST_PARSE_ERROR_DELAYED_LINK))
        say ("warning: %s: %s", GST_MESSAGE_SRC_NAME (message), error->message);
      break;
    }
    case GST_MESSAGE_ELEMENT:
      note_missing (demo, gst_message_get_structure (message));
      break;
    case GST_MESSAGE_LATENCY:
      gst_bin_recalculate_latency (GST_BIN (demo->pipeline));
      break;
    default:
      break;
  }
  return G_SOURCE_CONTINUE;
}

static void
on_no_more_pads (GstElement *source, gpointer data)
{
  Demo *demo = data;
  g_autoptr (GstElement) in = gst_bin_get_by_name (GST_BIN (demo->pipeline), "in");
  g_autoptr (GstPad) sink = gst_element_get_static_pad (in, "sink");

  (void) source;
  if (!gst_pad_is_linked (sink))
    GST_ELEMENT_ERROR (demo->pipeline, STREAM, WRONG_TYPE, ("there is no video in \"%s\"", demo->opt.input), (NULL));
}

static void
add_probe (GstElement *element, const char *pad_name, int types, GstPadProbeCallback callback, Demo *demo)
{
  GstPad *pad = gst_element_get_static_pad (element, pad_name);

  gst_pad_add_probe (pad, types, callback, demo, NULL);
  gst_object_unref (pad);
}

/* Links the filter between the elements FROM and TO of the pipeline, whose names end in the number. */
static gboolean
insert (Demo *demo, GstElement *filter, const char *text, int number)
{
  g_autofree char *to_name = g_strdup_printf ("to%d", number), *from_name = g_strdup_printf ("from%d", number);
  g_autoptr (GstElement) to = gst_bin_get_by_name (GST_BIN (demo->pipeline), to_name);
  g_autoptr (GstElement) from = gst_bin_get_by_name (GST_BIN (demo->pipeline), from_name);

  gst_bin_add (GST_BIN (demo->pipeline), filter);
  return (gst_element_link (to, filter) && gst_element_link (filter, from)) ||
      complain ("--filter '%s' does not take and give raw video", text);
}

/* Returns the launch line from the tap to the size. Free it. */
static char *
layout_line (const Demo *demo)
{
  g_autoptr (GstElementFactory) overlay = gst_element_factory_find ("textoverlay");
  GString *line;

  if (demo->opt.layout == LAYOUT_ALONE)
    return g_strdup ("queue name=to0 videoconvert name=from0 ! videoscale ! capsfilter name=size");
  if (demo->opt.layout == LAYOUT_BESIDE)
    return g_strdup ("tee name=t t. ! queue ! videoconvert ! comp.sink_0 "
                     "t. ! queue name=to0 videoconvert name=from0 ! comp.sink_1 "
                     "compositor name=comp background=black start-time-selection=first ! capsfilter name=size");
  line = g_string_new ("tee name=t ");
  for (guint i = 0; i < G_N_ELEMENTS (cells); i++) {
    g_string_append_printf (line, "t. ! queue name=to%u videoconvert name=from%u ! ", i, i);
    if (overlay)
      g_string_append_printf (line, "textoverlay text=\"%s\" valignment=top halignment=left shaded-background=true ! ",
          cells[i].name);
    g_string_append_printf (line, "comp.sink_%u ", i);
  }
  g_string_append (line, "compositor name=comp background=black start-time-selection=first ! capsfilter name=size");
  return g_string_free (line, FALSE);
}

static gboolean
parse_pipeline (Demo *demo)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *layout = layout_line (demo);
  g_autofree char *line = g_strdup_printf (
      "%s ! queue name=in %s ! videoconvert %s ! capsfilter name=tap caps=\"%s\" ! %s ! %s ! %s%s", demo->ends.source,
      demo->opt.live ? "leaky=downstream max-size-buffers=4" : "",
      demo->before ? "name=to9 videoconvert name=from9" : "",
      demo->opt.noise > 0                   ? SALT_CAPS
          : demo->opt.layout == LAYOUT_GRID ? "video/x-raw,format=I420"
                                            : "video/x-raw",
      layout, demo->opt.window ? "videoconvert" : "videoconvert ! video/x-raw,format=I420", demo->ends.sink,
      demo->opt.window ? "" : " ! filesink name=out");

  demo->pipeline = gst_parse_launch_full (line, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  return demo->pipeline || complain ("GStreamer lacks something: %s", error->message);
}

static gboolean
build (Demo *demo)
{
  g_autoptr (GstElement) tap = NULL, source = NULL, decoder = NULL, out = NULL;
  GstBin *bin;

  if (!parse_pipeline (demo))
    return FALSE;
  bin = GST_BIN (demo->pipeline);
  if (demo->before && !insert (demo, demo->before, demo->opt.before, 9))
    return FALSE;
  for (int i = 0; i < demo->n_filters; i++)
    if (!insert (demo, demo->filter[i], demo->opt.layout == LAYOUT_GRID ? cells[i].line : demo->opt.filter, i))
      return FALSE;
  tap = gst_bin_get_by_name (bin, "tap");
  demo->comp = gst_bin_get_by_name (bin, "comp");
  demo->size = gst_bin_get_by_name (bin, "size");
  source = gst_bin_get_by_name (bin, "source");
  decoder = gst_bin_get_by_name (bin, "decoder");
  out = gst_bin_get_by_name (bin, "out");
  if (demo->opt.input)
    g_signal_connect (decoder ? decoder : source, "no-more-pads", G_CALLBACK (on_no_more_pads), demo);
  if (out)
    g_object_set (out, "location", demo->ends.part, NULL);
  if (demo->ends.property)
    g_object_set (source, demo->ends.property, demo->ends.value, NULL);
  demo->tap = gst_element_get_static_pad (tap, "src");
  add_probe (tap, "src", GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, before_filter, demo);
  add_probe (demo->filter[0], "src", GST_PAD_PROBE_TYPE_BUFFER, behind_filter, demo);
  if (demo->ends.part && demo->opt.layout != LAYOUT_ALONE)
    add_probe (demo->size, "src", GST_PAD_PROBE_TYPE_BUFFER, keep_shot, demo);
  return TRUE;
}

/* Writes the kept frame as NAME.png beside the file NAME.mp4. */
static void
write_picture (Demo *demo)
{
  g_autoptr (GstCaps) png = gst_caps_new_empty_simple ("image/png");
  g_autofree char *path = demo_picture_name (demo->opt.output);
  g_autoptr (GstSample) shot = NULL, image = NULL;
  g_autoptr (GError) error = NULL;
  const gboolean force = demo->opt.force;
  GstMapInfo map;

  if (!demo->shot || !demo->shot_caps || !output_check ("the picture", path, force, NULL))
    return;
  shot = gst_sample_new (demo->shot, demo->shot_caps, NULL, NULL);
  image = gst_video_convert_sample (shot, png, 10 * GST_SECOND, &error);
  if (image && gst_buffer_map (gst_sample_get_buffer (image), &map, GST_MAP_READ)) {
    if (output_write ("the picture", path, force, (const char *) map.data, map.size))
      say ("one frame of it: \"%s\"", path);
    gst_buffer_unmap (gst_sample_get_buffer (image), &map);
  }
  if (error)
    say ("the PNG could not be made: %s", error->message);
}

/* Gives the complete file its name; says what is left of another one. */
static void
finish_file (Demo *demo)
{
  const DemoOptions *opt = &demo->opt;
  GStatBuf info;

  if (demo->complete && demo->n_out > 0) {
    if (!output_part_done ("--output", demo->ends.part, opt->output, opt->force)) {
      demo->failed = TRUE;
      return;
    }
    say ("\"%s\": %u frames%s", opt->output, demo->n_out,
        demo->failed        ? ", those before the error"
            : demo->stopped ? ", ended by Ctrl-C"
                            : "");
    if (opt->layout != LAYOUT_ALONE)
      write_picture (demo);
  } else if (demo->n_out == 0 || g_stat (demo->ends.part, &info) || info.st_size == 0) {
    g_unlink (demo->ends.part);
    say ("nothing was written");
  } else {
    say ("\"%s\" has what was written; most players show it, but it lacks its end", demo->ends.part);
  }
}

/* Prints the element's times, and adds its backend. */
static void
report_element (GstElement *element, GString *backends)
{
  g_autoptr (GstStructure) stats = NULL;
  g_autofree char *name = active_backend (element);
  guint64 fallback = 0, mean = 0, p99 = 0;

  if (!strstr (backends->str, name))
    g_string_append_printf (backends, "%s%s", backends->len ? "+" : "", name);
  g_object_get (element, "stats", &stats, NULL);
  if (stats &&
      gst_structure_get (stats, "frames-fallback", G_TYPE_UINT64, &fallback, "total-mean", G_TYPE_UINT64, &mean,
          "total-p99", G_TYPE_UINT64, &p99, NULL))
    say ("%s only: %.2f ms per frame, 99%% within %.2f ms", GST_OBJECT_NAME (element), mean / 1e6, p99 / 1e6);
  if (fallback)
    say ("%s: the GPU failed on %" G_GUINT64_FORMAT " frames; the CPU filtered them", GST_OBJECT_NAME (element),
        fallback);
}

/* Prints each filter's times. Returns the last line: backend, frames, frames per second. Free it. */
static char *
report (Demo *demo)
{
  g_autoptr (GString) backends = g_string_new (NULL);
  double seconds = (demo->last - demo->first) / 1e6;

  for (int i = 0; i < demo->n_filters; i++) {
    g_autolist (GstElement) filters = find_filters (demo->filter[i]);

    for (GList *l = filters; l; l = l->next)
      report_element (l->data, backends);
  }
  return g_strdup_printf ("backend %s, %u frames, %.1f frames/s",
      backends->len ? backends->str : "none (no element of this project)", demo->n_out,
      demo->n_out > 1 && seconds > 0 ? (demo->n_out - 1) / seconds : 0.0);
}

static int
run (Demo *demo)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (demo->pipeline);
  g_autofree char *result = NULL;

  demo->loop = g_main_loop_new (NULL, FALSE);
  gst_bus_add_watch (bus, on_message, demo);
  g_unix_signal_add (SIGINT, on_signal, demo);
  g_unix_signal_add (SIGTERM, on_signal, demo);
  if (demo->opt.live && !demo->opt.window && demo->opt.frames == 0)
    say ("recording until Ctrl-C (or use --frames N)");
  gst_element_set_state (demo->pipeline, GST_STATE_PLAYING); /* a failure arrives as a message */
  g_main_loop_run (demo->loop);
  if (demo->n_out == 0 && !demo->failed && !demo->stopped) {
    say ("no frame came out of the filter");
    demo->failed = TRUE;
  }
  if (demo->n_out > 0)
    result = report (demo);
  gst_element_set_state (demo->pipeline, GST_STATE_NULL);
  if (demo->ends.part)
    finish_file (demo);
  if (result)
    printf ("%s\n", result);
  gst_bus_remove_watch (bus);
  g_main_loop_unref (demo->loop);
  return demo->undecoded ? NO_DECODER : demo->failed ? 1 : 0;
}

static gboolean
parse_options (DemoOptions *opt, int argc, char **argv)
{
  static const char *const names[] = { "alone", "beside", "grid" };
  const GOptionEntry entries[] = {
    { "input", 'i', 0, G_OPTION_ARG_FILENAME, &opt->input, "video file, rtsp://... or /dev/videoN", "INPUT" },
    { "filter", 'f', 0, G_OPTION_ARG_STRING, &opt->filter, "element line (cudamedian kernel-size=5)", "LINE" },
    { "before", 0, 0, G_OPTION_ARG_STRING, &opt->before, "element line that spoils the original as well", "LINE" },
    { "layout", 'l', 0, G_OPTION_ARG_STRING, &opt->layout_name,
        "alone: the filtered frame; beside: the original on its left; grid: what each element of this project does "
        "(beside; with an input and no filter: grid)",
        "NAME" },
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &opt->output, "write this .mp4, .mkv, .webm or .avi and no window",
        "FILE" },
    { "force", 0, 0, G_OPTION_ARG_NONE, &opt->force, OUTPUT_FORCE_HELP, NULL },
    { "frames", 'n', 0, G_OPTION_ARG_INT, &opt->frames, "end after N frames", "N" },
    { "page", 0, 0, G_OPTION_ARG_NONE, &opt->page,
        "show it on a page for a browser, where the filter can be changed: cf-watch --try", NULL },
    { "noise", 0, 0, G_OPTION_ARG_DOUBLE, &opt->noise, "salt and pepper on that many % of the pixels", "PERCENT" },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  guint layout = 0;

  if (!parse_command_line (entries, "[INPUT [FILE]] - video through filters, in a window or a file", NULL, NULL, &argc,
          &argv))
    return FALSE;
  if (argc > 1 && !opt->input)
    opt->input = g_strdup (argv[1]), argc--, argv++;
  if (argc > 1 && !opt->output)
    opt->output = g_strdup (argv[1]), argc--, argv++;
  if (argc > 1)
    return complain ("\"%s\" is one too many; --help lists the options", argv[1]);
  if (opt->page && (opt->before || opt->output || opt->layout_name || opt->frames || opt->noise != NOT_GIVEN))
    return complain ("--page goes with --input and --filter only");
  if (opt->frames < 0)
    return complain ("--frames %d: expected 0 (until the end) or more", opt->frames);
  if (opt->noise == NOT_GIVEN)
    opt->noise = opt->input ? 0 : 5;
  if (!(opt->noise >= 0 && opt->noise <= 100))
    return complain ("--noise %g: expected 0 to 100 (percent)", opt->noise);
  while (opt->layout_name && layout < G_N_ELEMENTS (names) && strcmp (opt->layout_name, names[layout]))
    layout++;
  if (layout == G_N_ELEMENTS (names))
    return complain ("--layout %s: expected alone, beside or grid", opt->layout_name);
  opt->layout = opt->layout_name ? (DemoLayout) layout : opt->input && !opt->filter ? LAYOUT_GRID : LAYOUT_BESIDE;
  if (opt->layout == LAYOUT_GRID && opt->filter)
    return complain ("--layout grid has filters of its own; it goes without --filter");
  return TRUE;
}

/* Becomes cf-watch, which lies beside this program, or in its own folder of a build. Returns after a message. */
static void
show_page (const DemoOptions *opt)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL), *folder = g_path_get_dirname (self ? self : "");
  g_autofree char *installed = g_build_filename (folder, "cf-watch", NULL);
  g_autofree char *built = g_build_filename (folder, "watch", "cf-watch", NULL);
  char *const words[] = { "cf-watch", "--try", opt->input ? opt->input : "test", opt->filter, NULL };

  execv (installed, words);
  execv (built, words);
  complain ("--page needs cf-watch beside this program: %s: %s", installed, g_strerror (errno));
}

static gboolean
parse_filters (Demo *demo)
{
  DemoOptions *opt = &demo->opt;

  if (!opt->filter)
    opt->filter = g_strdup ("cudamedian kernel-size=5");
  if (opt->before && !(demo->before = parse_filter ("--before ", opt->before)))
    return FALSE;
  demo->n_filters = opt->layout == LAYOUT_GRID ? G_N_ELEMENTS (cells) : 1;
  for (int i = 0; i < demo->n_filters; i++)
    if (!(demo->filter[i] = parse_filter ("--filter ", demo->n_filters > 1 ? cells[i].line : opt->filter)))
      return FALSE;
  return TRUE;
}

/* Says what is shown, and where. */
static void
announce (const Demo *demo)
{
  static const char *const columns[] = { "left", "middle", "right" };
  const DemoOptions *opt = &demo->opt;

  if (opt->layout == LAYOUT_ALONE && opt->noise == 0)
    demo_print_line (opt, &demo->ends);
  if (opt->layout == LAYOUT_BESIDE)
    say ("original left, filtered right");
  for (int i = 0; i < (opt->layout == LAYOUT_GRID ? demo->n_filters : 0); i++)
    say ("%s %s: %s", i < 3 ? "top" : "bottom", columns[i % 3], cells[i].line);
  if (opt->window)
    say ("close the window or type Ctrl-C to end");
  else
    say ("writing \"%s\" (%.*s)", opt->output, (int) strcspn (demo->ends.sink, " "), demo->ends.sink);
}

int
main (int argc, char **argv)
{
  Demo demo = { .opt = { .noise = NOT_GIVEN }, .random = 0x9e3779b97f4a7c15u };

  setlocale (LC_ALL, "");
  if (!parse_options (&demo.opt, argc, argv))
    return 2;
  if (demo.opt.page) {
    show_page (&demo.opt);
    return 2;
  }
  gst_init (NULL, NULL);
  if (!parse_filters (&demo) || !demo_choose_source (&demo.opt, &demo.ends) ||
      !demo_choose_sink (&demo.opt, &demo.ends))
    return 2;
  if (!build (&demo)) {
    if (demo.ends.part)
      g_unlink (demo.ends.part);
    return 2;
  }
  announce (&demo);
  return run (&demo);
}
