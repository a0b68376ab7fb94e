/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * soak.c: runs many frames and many starts of an element. Afterwards the process must not hold
 * more memory, descriptors, threads and GPU memory than after the first tenth of them.
 *
 *   soak [--frames N] [--cycles N] [--element 'cudamedian kernel-size=5'] [--format NV12] */
#include "usage.h"

#include <gst/gst.h>
#include <malloc.h>
#include <stdio.h>

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
      "video/x-raw,format=%s,width=64,height=48,framerate=100000/1 ! %s ! fakesink sync=false", buffers, format,
      element);
  GstElement *pipeline = gst_parse_launch (line, &error);

  if (error)
    printf ("%s: %s\n", line, error->message);
  if (error && pipeline)
    g_clear_pointer (&pipeline, gst_object_unref);
  g_clear_error (&error);
  g_free (line);
  return pipeline;
}

static gulong seen;
static Usage at_tenth;

static GstPadProbeReturn
count_frame (GstPad *pad, GstPadProbeInfo *info, gpointer user)
{
  gulong tenth = *(gulong *) user;

  (void) pad;
  (void) info;
  if (++seen == tenth)
    at_tenth = usage_now ();
  return GST_PAD_PROBE_OK;
}

static void
many_frames (const char *element, const char *format, int frames)
{
  GstElement *pipeline = launch (element, format, frames);
  GstIterator *sinks = pipeline ? gst_bin_iterate_sinks (GST_BIN (pipeline)) : NULL;
  GValue item = G_VALUE_INIT;
  gulong tenth = (gulong) frames / 10 + 1;
  Usage end;

  if (sinks && gst_iterator_next (sinks, &item) == GST_ITERATOR_OK) {
    GstPad *pad = gst_element_get_static_pad (g_value_get_object (&item), "sink");

    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, count_frame, &tenth, NULL);
    gst_object_unref (pad);
    g_value_unset (&item);
  }
  if (sinks)
    gst_iterator_free (sinks);
  result (pipeline && gst_element_set_state (pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE &&
      wait_for (pipeline, GST_MESSAGE_EOS, GST_CLOCK_TIME_NONE), "frames", "the pipeline failed");
  end = usage_now ();
  result (seen == (gulong) frames, "frames", "not every frame came through");
  print_usage ("a tenth of the frames:", &at_tenth);
  print_usage ("all of the frames:", &end);
  compare_usage ("frames", &at_tenth, &end);
  if (pipeline) {
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (pipeline);
  }
}

static void
many_cycles (const char *element, const char *format, int cycles)
{
  GstElement *pipeline = launch (element, format, -1);
  Usage early = { 0 }, end;
  int done = 0;

  for (; pipeline && done < cycles; done++) {
    if (gst_element_set_state (pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE ||
        !wait_for (pipeline, GST_MESSAGE_ASYNC_DONE, 30 * GST_SECOND))
      break;
    gst_element_set_state (pipeline, GST_STATE_NULL);
    if (done == cycles / 10)
      early = usage_now ();
  }
  end = usage_now ();
  result (done == cycles, "cycles", "a start failed");
  print_usage ("a tenth of the cycles:", &early);
  print_usage ("all of the cycles:", &end);
  compare_usage ("cycles", &early, &end);
  if (pipeline) {
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (pipeline);
  }
}

int
main (int argc, char **argv)
{
  gchar *element = NULL, *format = NULL;
  gint frames = 100000, cycles = 200;
  GOptionEntry entries[] = {
    { "frames", 0, 0, G_OPTION_ARG_INT, &frames, "frames through one pipeline", "N" },
    { "cycles", 0, 0, G_OPTION_ARG_INT, &cycles, "times from NULL to PLAYING and back", "N" },
    { "element", 0, 0, G_OPTION_ARG_STRING, &element, "the element line", "LINE" },
    { "format", 0, 0, G_OPTION_ARG_STRING, &format, "the pixel format", "FORMAT" },
    { NULL }
  };
  GOptionContext *options = g_option_context_new (NULL);
  GError *error = NULL;

  /* Each start has new threads, and a thread that finds no free malloc arena gets a new one, whose
   * pages stay: that would look like growth. */
  (void) mallopt (M_ARENA_MAX, 1);
  g_option_context_add_main_entries (options, entries, NULL);
  g_option_context_add_group (options, gst_init_get_option_group ());
  if (!g_option_context_parse (options, &argc, &argv, &error)) {
    printf ("%s\n", error->message);
    return 2;
  }
  g_option_context_free (options);
  /* GLib keeps idle threads of its pools for a while; they are not leaks. */
  g_thread_pool_set_max_unused_threads (0);
  many_frames (element ? element : "cudamedian", format ? format : "NV12", frames);
  many_cycles (element ? element : "cudamedian", format ? format : "NV12", cycles);
  printf ("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  g_free (element);
  g_free (format);
  return failed ? 1 : 0;
}
