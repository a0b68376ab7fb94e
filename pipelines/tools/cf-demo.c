/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cf-demo: shows or writes video with the original frame on the left and the filtered
 * frame on the right. demo.sh builds and runs it.
 *
 *   source ! queue ! videoconvert ! salted ! tee ! queue ---------- ! compositor
 *                                            tee ! queue ! FILTER ! compositor
 *                       compositor ! size ! window, or encoder ! muxer ! filesink
 *
 * report () also shows how an application reads a filter's active-backend and stats. */

#include "line.h"

#include <gst/video/video.h>
#include <gst/video/videooverlay.h>

#include <glib-unix.h>
#include <glib/gstdio.h>
#include <errno.h>
#include <glob.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_HALF_WIDTH 1920 /* of each half of a written frame; larger input is scaled down */
#define MAX_HALF_HEIGHT 2160
#define TEST_FRAMES 200 /* frames of the test pattern that are written to a file */
#define SNAPSHOT 30     /* number of the frame that becomes the PNG; of a shorter video, the last one */

/* Formats that salt () supports: 8 bits per sample. */
#define SALT_CAPS \
  "video/x-raw, format = { I420, YV12, NV12, NV21, Y42B, Y444, GRAY8, YUY2, UYVY, RGB, BGR, RGBx, BGRx, RGBA, BGRA }"

typedef struct {
  char *input, *filter, *output;
  int frames;   /* 0: until the input ends */
  double noise; /* % of the pixels; < 0: not given */
  gboolean live, window;
} Options;

typedef struct {
  Options opt;
  GstElement *pipeline, *filter;
  GstPad *tap; /* before the tee */
  GstElement *comp, *size;
  GMainLoop *loop;
  gboolean failed;   /* an error was printed */
  gint stop;         /* atomic: end the stream with the next frame */
  gint ended;        /* atomic: EOS has been pushed at the tap */
  guint n_in, n_out; /* frames before and after the filter; written by streaming threads */
  gint64 first, last;
  GstVideoInfo info;
  gboolean sized;
  guint64 random;
  GMutex lock; /* of shot */
  GstBuffer *shot;
  guint n_shot;
} Demo;

/* ---- input -------------------------------------------------------------- */

/* Returns whether the camera exists and can be opened. */
static gboolean
check_camera (const char *path)
{
  glob_t found;

  if (access (path, F_OK)) {
    gboolean any = glob ("/dev/video[0-9]*", 0, NULL, &found) == 0;
    g_autofree char *cameras = any ? g_strjoinv (" ", found.gl_pathv) : g_strdup ("none");

    globfree (&found);
    return complain ("no camera %s; cameras here: %s", path, cameras);
  }
  if (access (path, R_OK | W_OK))
    return complain ("%s cannot be opened: %s; members of the group \"video\" can open it", path, g_strerror (errno));
  return TRUE;
}

/* Returns the URI of a readable file, or NULL after a message. */
static char *
file_uri (const char *path)
{
  g_autoptr (GError) error = NULL;
  char *uri = NULL;

  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    complain ("no file \"%s\"; --input takes a file, a camera such as /dev/video0 or an address such as "
              "rtsp://host/stream",
        path);
  else if (g_file_test (path, G_FILE_TEST_IS_DIR))
    complain ("\"%s\" is a directory; --input takes one video file", path);
  else if (access (path, R_OK))
    complain ("\"%s\" cannot be read: %s", path, g_strerror (errno));
  else if (!(uri = gst_filename_to_uri (path, &error)))
    complain ("\"%s\": %s", path, error->message);
  return uri;
}

/* Returns the launch line of the source, or NULL after a message. Sets opt->live, and *uri (free it) for
 * sources that have one. */
static const char *
choose_source (Options *opt, char **uri)
{
  const char *input = opt->input;

  *uri = NULL;
  if (!input)
    return "videotestsrc name=source pattern=smpte horizontal-speed=3 ! "
           "video/x-raw, format=I420, width=640, height=480, framerate=30/1";
  if (g_str_has_prefix (input, "/dev/video")) {
    opt->live = TRUE;
    return check_camera (input) ? "v4l2src name=source ! decodebin" : NULL;
  }
  *uri = strstr (input, "://") ? g_strdup (input) : file_uri (input);
  opt->live = g_str_has_prefix (input, "rtsp");
  return *uri ? "uridecodebin name=source" : NULL;
}

/* ---- output ------------------------------------------------------------- */

static gboolean
have (const char *factory)
{
  g_autoptr (GstElementFactory) found = gst_element_factory_find (factory);

  return found != NULL;
}

/* Returns the first window sink that opens here, or NULL. Does not use autovideosink, which falls back to
 * a fakesink. */
static const char *
choose_window (void)
{
  gboolean wayland = g_getenv ("WAYLAND_DISPLAY") != NULL, x11 = g_getenv ("DISPLAY") != NULL;
  const struct {
    const char *name;
    gboolean has_display;
  } sinks[] = { { "waylandsink", wayland }, { "xvimagesink", x11 }, { "ximagesink", x11 },
    { "glimagesink", wayland || x11 } };

  for (guint i = 0; i < G_N_ELEMENTS (sinks); i++) {
    GstElement *sink = sinks[i].has_display ? gst_element_factory_make (sinks[i].name, NULL) : NULL;
    gboolean opens = sink && gst_element_set_state (sink, GST_STATE_READY) == GST_STATE_CHANGE_SUCCESS;

    if (sink)
      gst_element_set_state (sink, GST_STATE_NULL);
    g_clear_pointer (&sink, gst_object_unref);
    if (opens)
      return sinks[i].name;
  }
  return NULL;
}

static const char *
choose_h264 (void)
{
  if (have ("x264enc"))
    return "x264enc speed-preset=ultrafast bitrate=8000 key-int-max=60";
  if (have ("openh264enc") && have ("h264parse"))
    return "openh264enc bitrate=8000000 complexity=low ! h264parse";
  return NULL;
}

/* Returns the name of the output file if none was given. */
static const char *
default_output (void)
{
  return choose_h264 () ? "cudafilters-demo.mp4" : "cudafilters-demo.avi";
}

/* Returns the launch line of encoder, muxer and file sink for the file's name, and sets *note to a
 * description for the user. Free both. Returns NULL after a message. */
static char *
choose_writer (const char *path, char **note)
{
  const char *dot = strrchr (path, '.'), *h264 = choose_h264 (), *mux = NULL, *encoder;

  if (dot && !g_ascii_strcasecmp (dot, ".mp4"))
    mux = "mp4mux";
  else if (dot && !g_ascii_strcasecmp (dot, ".mkv"))
    mux = "matroskamux";
  else if (dot && !g_ascii_strcasecmp (dot, ".avi"))
    mux = "avimux";
  if (!mux) {
    complain ("--output \"%s\": the name has to end in .mp4, .mkv or .avi", path);
    return NULL;
  }
  encoder = !strcmp (mux, "avimux") ? NULL : h264;
  if (!encoder && !strcmp (mux, "mp4mux")) {
    complain ("--output \"%s\": there is no H.264 encoder here (gstreamer1.0-plugins-ugly has x264enc); .mkv and .avi "
              "do not need one",
        path);
    return NULL;
  }
  *note = g_strdup_printf ("writing \"%s\": original left, filtered right; %s by %.*s", path,
      encoder ? "H.264" : "Motion JPEG", encoder ? (int) strcspn (encoder, " ") : 7, encoder ? encoder : "jpegenc");
  return g_strdup_printf ("videoconvert ! video/x-raw, format=I420 ! %s ! %s name=mux ! filesink name=out",
      encoder ? encoder : "jpegenc quality=90", mux);
}

/* Returns whether the output file can be written; it must not be the input. */
static gboolean
check_output (const Options *opt)
{
  const char *path = opt->output;
  g_autofree char *dir = g_path_get_dirname (path);
  GStatBuf in, out;

  if (!g_file_test (dir, G_FILE_TEST_IS_DIR))
    return complain ("--output \"%s\": there is no directory \"%s\"", path, dir);
  if (g_file_test (path, G_FILE_TEST_IS_DIR))
    return complain ("--output \"%s\" is a directory; a file name is needed", path);
  if (access (g_file_test (path, G_FILE_TEST_EXISTS) ? path : dir, W_OK))
    return complain ("--output \"%s\" cannot be written: %s", path, g_strerror (errno));
  if (opt->input && !g_stat (opt->input, &in) && !g_stat (path, &out) && in.st_dev == out.st_dev &&
      in.st_ino == out.st_ino)
    return complain ("--output \"%s\" is the input; another name is needed", path);
  return TRUE;
}

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

/* Makes both halves as large as the input, or smaller if it exceeds the size that encoders take;
 * with even sides, which 4:2:0 encoders need. */
static void
set_size (Demo *demo)
{
  double w = GST_VIDEO_INFO_WIDTH (&demo->info), h = GST_VIDEO_INFO_HEIGHT (&demo->info);
  double scale = MIN (1.0, MIN (MAX_HALF_WIDTH / w, MAX_HALF_HEIGHT / h));
  int half_w = ((int) (w * scale) + 1) & ~1, half_h = ((int) (h * scale) + 1) & ~1, i;
  g_autoptr (GstCaps) caps = gst_caps_new_simple ("video/x-raw", "width", G_TYPE_INT, 2 * half_w, "height", G_TYPE_INT,
      half_h, "pixel-aspect-ratio", GST_TYPE_FRACTION, GST_VIDEO_INFO_PAR_N (&demo->info),
      GST_VIDEO_INFO_PAR_D (&demo->info), NULL);

  if (GST_VIDEO_INFO_FPS_N (&demo->info) > 0)
    gst_caps_set_simple (caps, "framerate", GST_TYPE_FRACTION, GST_VIDEO_INFO_FPS_N (&demo->info),
        GST_VIDEO_INFO_FPS_D (&demo->info), NULL);
  for (i = 0; i < 2; i++) {
    GstPad *pad = gst_element_get_static_pad (demo->comp, i ? "sink_1" : "sink_0");

    g_object_set (pad, "xpos", i * half_w, "width", half_w, "height", half_h, NULL);
    gst_object_unref (pad);
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

  (void) pad;
  g_mutex_lock (&demo->lock);
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
    say ("the pipeline did not end in time; the file may lack its index");
  demo->failed = TRUE;
  g_main_loop_quit (demo->loop);
  return G_SOURCE_REMOVE;
}

/* Ends the stream; the output keeps the frames made so far. */
static void
stop (Demo *demo)
{
  if (demo->n_in == 0 || g_atomic_int_get (&demo->stop)) {
    g_main_loop_quit (demo->loop);
    return;
  }
  g_atomic_int_set (&demo->stop, 1);
  g_timeout_add (500, on_no_frame, demo);
  g_timeout_add_seconds (5, on_stuck, demo);
}

static gboolean
on_signal (gpointer data)
{
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
    g_autoptr (GstElement) source = gst_bin_get_by_name (GST_BIN (demo->pipeline), "source");
    gboolean input = demo->opt.input && gst_object_has_as_ancestor (GST_MESSAGE_SRC (message), GST_OBJECT (source));

    say ("error: %s: %s", input ? demo->opt.input : GST_MESSAGE_SRC_NAME (message), error->message);
    if (detail (debug))
      say ("  %s", detail (debug));
    if (g_error_matches (error, GST_CORE_ERROR, GST_CORE_ERROR_MISSING_PLUGIN) ||
        g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_CODEC_NOT_FOUND))
      say ("  most decoders are in gstreamer1.0-libav and gstreamer1.0-plugins-bad");
  }
  demo->failed = TRUE;
}

static gboolean
on_message (GstBus *bus, GstMessage *message, gpointer data)
{
  Demo *demo = data;

  (void) bus;
  switch (GST_MESSAGE_TYPE (message)) {
    case GST_MESSAGE_EOS:
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

static gboolean
build (Demo *demo, const char *source, const char *uri, const char *sink)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *line = g_strdup_printf (
      "%s ! queue name=in %s ! videoconvert ! capsfilter name=tap caps=\"%s\" ! tee name=t "
      "t. ! queue ! videoconvert ! comp.sink_0 "
      "t. ! queue name=to_filter "
      "videoconvert name=from_filter ! comp.sink_1 "
      "compositor name=comp background=black start-time-selection=first ! capsfilter name=size ! %s",
      source, demo->opt.live ? "leaky=downstream max-size-buffers=4" : "",
      demo->opt.noise > 0 ? SALT_CAPS : "video/x-raw", sink);
  g_autoptr (GstElement) tap = NULL, to = NULL, from = NULL, src = NULL, out = NULL;
  GstBin *bin;

  demo->pipeline = gst_parse_launch_full (line, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (!demo->pipeline)
    return complain ("GStreamer lacks something: %s", error->message);
  bin = GST_BIN (demo->pipeline);
  gst_bin_add (bin, demo->filter);
  src = gst_bin_get_by_name (bin, "source");
  tap = gst_bin_get_by_name (bin, "tap");
  to = gst_bin_get_by_name (bin, "to_filter");
  from = gst_bin_get_by_name (bin, "from_filter");
  out = gst_bin_get_by_name (bin, "out");
  demo->comp = gst_bin_get_by_name (bin, "comp");
  demo->size = gst_bin_get_by_name (bin, "size");
  if (!gst_element_link (to, demo->filter) || !gst_element_link (demo->filter, from))
    return complain ("--filter '%s' does not take and give raw video", demo->opt.filter);
  if (uri) {
    g_object_set (src, "uri", uri, NULL);
    g_signal_connect (src, "no-more-pads", G_CALLBACK (on_no_more_pads), demo);
  } else if (demo->opt.input)
    g_object_set (src, "device", demo->opt.input, NULL);
  if (!demo->opt.window)
    g_object_set (out, "location", demo->opt.output, NULL);

  demo->tap = gst_element_get_static_pad (tap, "src");
  add_probe (tap, "src", GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, before_filter, demo);
  add_probe (demo->filter, "src", GST_PAD_PROBE_TYPE_BUFFER, behind_filter, demo);
  if (!demo->opt.window)
    add_probe (demo->size, "src", GST_PAD_PROBE_TYPE_BUFFER, keep_shot, demo);
  return TRUE;
}

/* The kept frame as NAME.png beside the file NAME.mp4. */
static void
write_png (Demo *demo)
{
  g_autoptr (GstPad) pad = gst_element_get_static_pad (demo->size, "src");
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad), png = gst_caps_new_empty_simple ("image/png");
  g_autofree char *path = g_strdup_printf ("%.*s.png", (int) (strrchr (demo->opt.output, '.') - demo->opt.output),
      demo->opt.output);
  g_autoptr (GstSample) shot = NULL, image = NULL;
  g_autoptr (GError) error = NULL;
  GstMapInfo map;

  if (!demo->shot || !caps)
    return;
  shot = gst_sample_new (demo->shot, caps, NULL, NULL);
  image = gst_video_convert_sample (shot, png, 10 * GST_SECOND, &error);
  if (image && gst_buffer_map (gst_sample_get_buffer (image), &map, GST_MAP_READ)) {
    if (g_file_set_contents (path, (const char *) map.data, map.size, &error))
      say ("one frame of it: \"%s\"", path);
    gst_buffer_unmap (gst_sample_get_buffer (image), &map);
  }
  if (error)
    say ("the PNG could not be written: %s", error->message);
}

/* Prints each filter's times, then the last line: backend, frames, frames per second. */
static void
report (Demo *demo)
{
  g_autolist (GstElement) filters = find_filters (demo->filter);
  g_autoptr (GString) backends = g_string_new (NULL);
  double seconds = (demo->last - demo->first) / 1e6;

  for (GList *l = filters; l; l = l->next) {
    GstElement *element = l->data;
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
  printf ("backend %s, %u frames, %.1f frames/s\n", backends->len ? backends->str : "none (no element of this project)",
      demo->n_out, demo->n_out > 1 && seconds > 0 ? (demo->n_out - 1) / seconds : 0.0);
}

static int
run (Demo *demo)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (demo->pipeline);

  demo->loop = g_main_loop_new (NULL, FALSE);
  gst_bus_add_watch (bus, on_message, demo);
  g_unix_signal_add (SIGINT, on_signal, demo);
  g_unix_signal_add (SIGTERM, on_signal, demo);
  if (demo->opt.live && !demo->opt.window && demo->opt.frames == 0)
    say ("recording until Ctrl-C (or use --frames N)");
  gst_element_set_state (demo->pipeline, GST_STATE_PLAYING); /* a failure arrives as a message */
  g_main_loop_run (demo->loop);
  if (demo->n_out == 0 && !demo->failed) {
    say ("no frame came out of the filter");
    demo->failed = TRUE;
  }
  if (demo->n_out > 0) {
    if (!demo->opt.window)
      write_png (demo);
    report (demo);
  }
  gst_element_set_state (demo->pipeline, GST_STATE_NULL);
  if (demo->n_out == 0 && !demo->opt.window)
    g_unlink (demo->opt.output); /* it is empty */
  gst_bus_remove_watch (bus);
  g_main_loop_unref (demo->loop);
  return demo->failed ? 1 : 0;
}

static gboolean
parse_options (Options *opt, int argc, char **argv)
{
  const GOptionEntry entries[] = {
    { "input", 'i', 0, G_OPTION_ARG_FILENAME, &opt->input, "video file, rtsp://... or /dev/videoN", "INPUT" },
    { "filter", 'f', 0, G_OPTION_ARG_STRING, &opt->filter, "element line (cudamedian kernel-size=5)", "LINE" },
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &opt->output, "write this .mp4, .mkv or .avi and no window", "FILE" },
    { "frames", 'n', 0, G_OPTION_ARG_INT, &opt->frames, "end after N frames", "N" },
    { "noise", 0, 0, G_OPTION_ARG_DOUBLE, &opt->noise, "salt and pepper on that many % of the pixels", "PERCENT" },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };

  if (!parse_command_line (entries, "- video through a filter, original beside filtered", NULL, NULL, &argc, &argv))
    return FALSE;
  if (argc > 1)
    return complain ("\"%s\" is not an option%s; --help lists the options", argv[1],
        g_file_test (argv[1], G_FILE_TEST_EXISTS) ? " (a file is given as --input FILE)" : "");
  if (opt->frames < 0 || opt->noise > 100)
    return complain ("--frames has to be 0 or more (0: until the end), --noise 0 to 100");
  return TRUE;
}

int
main (int argc, char **argv)
{
  Demo demo = { .opt = { .noise = -1 }, .random = 0x9e3779b97f4a7c15u };
  g_autofree char *uri = NULL, *sink = NULL, *note = NULL;
  const char *source, *window = NULL;

  setlocale (LC_ALL, "");
  if (!parse_options (&demo.opt, argc, argv))
    return 2;
  gst_init (NULL, NULL);
  if (!demo.opt.filter)
    demo.opt.filter = g_strdup ("cudamedian kernel-size=5");
  if (demo.opt.noise < 0)
    demo.opt.noise = demo.opt.input ? 0 : 5;
  demo.filter = parse_filter ("--filter ", demo.opt.filter);
  source = demo.filter ? choose_source (&demo.opt, &uri) : NULL;
  if (!source)
    return 2;
  if (!demo.opt.output)
    window = choose_window ();
  demo.opt.window = window != NULL;
  if (!window && !demo.opt.output)
    demo.opt.output = g_strdup (default_output ());
  if (!window && !check_output (&demo.opt))
    return 2;
  if (!window && !demo.opt.input && demo.opt.frames == 0)
    demo.opt.frames = TEST_FRAMES;
  sink = window ? g_strdup_printf ("videoconvert ! %s name=out", window) : choose_writer (demo.opt.output, &note);
  if (!sink || !build (&demo, source, uri, sink))
    return 2;
  say ("%s", window ? "original left, filtered right; close the window or type Ctrl-C to end" : note);
  return run (&demo);
}
