/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * cf-demo-setup.c: chooses and checks the input and the output of cf-demo, a window
 * or a file; line.c has the filter line. */

#include "cf-demo.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

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
        "rtsp://host/stream", path);
  else if (g_file_test (path, G_FILE_TEST_IS_DIR))
    complain ("\"%s\" is a directory; --input takes one video file", path);
  else if (access (path, R_OK))
    complain ("\"%s\" cannot be read: %s", path, g_strerror (errno));
  else if (!(uri = gst_filename_to_uri (path, &error)))
    complain ("\"%s\": %s", path, error->message);
  return uri;
}

const char *
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

/* Does not use autovideosink, which falls back to a fakesink if no window opens. */
const char *
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

const char *
default_output (void)
{
  return choose_h264 () ? "cudafilters-demo.mp4" : "cudafilters-demo.avi";
}

char *
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

gboolean
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
