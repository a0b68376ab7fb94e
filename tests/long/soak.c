/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * soak.c: runs many frames and many starts of an element. Afterwards the process must not hold
 * more memory, descriptors, threads and GPU memory than after the first tenth of them.
 *
 *   soak [--frames N] [--cycles N] [--element 'cudamedian kernel-size=5'] [--format NV12]
 *   soak --changes [--filter segment] [--seconds 60] [--fps 60] [--hz 100] [--backend cuda] [--format NV12]
 *     [--width 320] [--height 240]
 *
 * --changes: runs video while another thread changes the settings (changes.c). */
#include "soak.h"

#include <gst/gst.h>
#include <malloc.h>
#include <stdio.h>

SoakOptions
    options = { .frames = 100000, .cycles = 200, .seconds = 5, .fps = 60, .hz = 100, .width = 320, .height = 240 };

/* Waits for a message; returns FALSE on an error, which it prints. */
static gboolean
wait_for (GstElement *pipeline, GstMessageType type, GstClockTime timeout)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message = gst_bus_timed_pop_filtered (bus, timeout, type | GST_MESSAGE_ERROR);
  gboolean good = message && GST_MESSAGE_TYPE (message) != GST_MESSAGE_ERROR;

  if (message && !good) {
    GError *error = NULL;
    gchar *debug = NULL;

    gst_message_parse_error (message, &error, &debug);
    printf ("%s (%s)\n", error->message, debug ? debug : "");
    g_clear_error (&error);
    g_free (debug);
  }
  if (message)
    gst_message_unref (message);
  gst_object_unref (bus);
  return good;
}

static GstElement *
launch (const char *element, const char *format, int buffers)
{
  GError *error = NULL;
  gchar *line = g_strdup_printf ("videotestsrc num-buffers=%d pattern=snow ! "
                                 "video/x-raw,format=%s,width=64,height=48,framerate=100000/1 ! %s ! "
                                 "fakesink name=sink signal-handoffs=true sync=false",
      buffers, format, element);
  GstElement *pipeline = gst_parse_launch (line, &error);

  if (error)
    printf ("%s: %s\n", line, error->message);
  if (error && pipeline)
    g_clear_pointer (&pipeline, gst_object_unref);
  g_clear_error (&error);
  g_free (line);
  return pipeline;
}

static gint seen;
static Usage early; /* after a tenth */

static void
count_frame (GstElement *sink, GstBuffer *buffer, GstPad *pad, gpointer frames)
{
  (void) sink;
  (void) buffer;
  (void) pad;
  if (++seen == GPOINTER_TO_INT (frames) / 10 + 1)
    early = usage_now (NULL);
}

/* Compares the resources of now with `early`, and ends the pipeline. */
static void
end (GstElement *pipeline, const char *what)
{
  Usage now = usage_now (&early);
  g_autofree gchar *tenth = g_strdup_printf ("a tenth of the %s:", what);
  g_autofree gchar *all = g_strdup_printf ("all of the %s:", what);

  print_usage (tenth, &early);
  print_usage (all, &now);
  compare_usage (what, &early, &now);
  if (pipeline) {
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (pipeline);
  }
}

static void
many_frames (const char *element, const char *format, int frames)
{
  GstElement *pipeline = launch (element, format, frames);
  GstElement *sink = pipeline ? gst_bin_get_by_name (GST_BIN (pipeline), "sink") : NULL;

  if (sink)
    g_signal_connect (sink, "handoff", G_CALLBACK (count_frame), GINT_TO_POINTER (frames));
  g_clear_object (&sink);
  result (pipeline && gst_element_set_state (pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE &&
          wait_for (pipeline, GST_MESSAGE_EOS, GST_CLOCK_TIME_NONE),
      "frames", "the pipeline failed");
  result (seen == frames, "frames", "not every frame came through");
  end (pipeline, "frames");
}

static void
many_cycles (const char *element, const char *format, int cycles)
{
  GstElement *pipeline = launch (element, format, -1);
  int done = 0;

  for (; pipeline && done < cycles; done++) {
    if (gst_element_set_state (pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE ||
        !wait_for (pipeline, GST_MESSAGE_ASYNC_DONE, 30 * GST_SECOND))
      break;
    gst_element_set_state (pipeline, GST_STATE_NULL);
    if (done == cycles / 10)
      early = usage_now (NULL);
  }
  result (done == cycles, "cycles", "a start failed");
  end (pipeline, "cycles");
}

static gboolean
parse (int *argc, char ***argv)
{
  const GOptionEntry entries[] = { { "frames", 0, 0, G_OPTION_ARG_INT, &options.frames,
                                       "frames through one pipeline (100000)", "N" },
    { "cycles", 0, 0, G_OPTION_ARG_INT, &options.cycles, "times from NULL to PLAYING and back (200)", "N" },
    { "element", 0, 0, G_OPTION_ARG_STRING, &options.element, "the element line (cudamedian)", "LINE" },
    { "format", 0, 0, G_OPTION_ARG_STRING, &options.format, "the pixel format (NV12)", "FORMAT" },
    { "changes", 0, 0, G_OPTION_ARG_NONE, &options.changes, "change settings all the time, with the options below",
        NULL },
    { "filter", 0, 0, G_OPTION_ARG_STRING, &options.filter, "convolve or segment (convolve)", "NAME" },
    { "seconds", 0, 0, G_OPTION_ARG_INT, &options.seconds, "how long (5)", "N" },
    { "fps", 0, 0, G_OPTION_ARG_INT, &options.fps, "frames per second (60); 0: as many as possible", "N" },
    { "hz", 0, 0, G_OPTION_ARG_INT, &options.hz, "changes per second (100)", "N" },
    { "width", 0, 0, G_OPTION_ARG_INT, &options.width, "width of the frames (320)", "N" },
    { "height", 0, 0, G_OPTION_ARG_INT, &options.height, "height of the frames (240)", "N" },
    { "backend", 0, 0, G_OPTION_ARG_STRING, &options.backend, "cpu or cuda (cpu)", "NAME" }, { NULL } };
  GOptionContext *context = g_option_context_new (NULL);
  GError *error = NULL;
  gboolean good;

  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_add_group (context, gst_init_get_option_group ());
  good = g_option_context_parse (context, argc, argv, &error);
  if (!good)
    printf ("%s\n", error->message);
  g_clear_error (&error);
  g_option_context_free (context);
  options.element = options.element ? options.element : g_strdup ("cudamedian");
  options.format = options.format ? options.format : g_strdup ("NV12");
  options.backend = options.backend ? options.backend : g_strdup ("cpu");
  return good && options.seconds > 0 && options.hz > 0;
}

int
main (int argc, char **argv)
{
  if (!parse (&argc, &argv))
    return 2;
  if (options.changes) {
    /* Large blocks return to the system when freed; otherwise the resident pages of a plan depend on
     * earlier plans. */
    (void) mallopt (M_MMAP_THRESHOLD, 65536);
  } else {
    /* Each start has new threads, and a thread that finds no free malloc arena gets a new one, whose
     * pages stay: that would look like growth. */
    (void) mallopt (M_ARENA_MAX, 1);
  }
  /* GLib keeps idle threads of its pools for a while; they are not leaks. */
  g_thread_pool_set_max_unused_threads (0);
  if (options.changes) {
    many_changes ();
  } else {
    many_frames (options.element, options.format, options.frames);
    many_cycles (options.element, options.format, options.cycles);
  }
  printf ("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  return failed ? 1 : 0;
}
