/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * elements.c: elements that this GStreamer lacks, and the packages that have them. */
#include "elements.h"

#include <gst/gst.h>

static gboolean
is_there (const char *name)
{
  g_autoptr (GstElementFactory) factory = gst_element_factory_find (name);

  return factory != NULL;
}

void
element_missing (const char *name, GString *wrong)
{
  static const struct {
    const char *package, *elements[10];
  } packages[] = {
    { "base", { "appsink", "appsrc", "decodebin", "uridecodebin", "videoconvert", "videotestsrc" } },
    { "good",
        { "matroskamux", "mp4mux", "rtspsrc", "souphttpsrc", "splitmuxsink", "v4l2src", "videocrop", "videoflip" } },
    { "bad", { "h264parse" } },
  };

  g_string_append_printf (wrong, "%sthis GStreamer has no element \"%s\"", wrong->len ? "; " : "", name);
  for (guint i = 0; i < G_N_ELEMENTS (packages); i++)
    if (g_strv_contains (packages[i].elements, name))
      g_string_append_printf (wrong, ", which is in gstreamer1.0-plugins-%s", packages[i].package);
}

void
elements_for_recording (gboolean mp4, GString *wrong)
{
  const char *const names[] = { "queue", "videoconvert", "capsfilter", "videocrop", "h264parse", "appsink", "appsrc",
    "splitmuxsink", "filesink", mp4 ? "mp4mux" : "matroskamux" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (!is_there (names[i]))
      element_missing (names[i], wrong);
  if (!is_there ("nvh264enc") && !is_there ("x264enc") && !is_there ("openh264enc"))
    g_string_append_printf (wrong,
        "%sthis GStreamer has no encoder for H.264: install x264enc (gstreamer1.0-plugins-ugly) or openh264enc "
        "(gstreamer1.0-plugins-bad)",
        wrong->len ? "; " : "");
}
