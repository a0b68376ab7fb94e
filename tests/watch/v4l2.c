/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * v4l2.c: a plugin with a stand-in for v4l2src, for machines without a camera: what the launch line of FAKE_V4L2 makes,
 * and a `device`, which has to be the one of FAKE_DEVICE. With FAKE_CRASH its exit handler crashes. */
#include <gst/gst.h>
#include <stdlib.h>

#define PACKAGE "v4l2"

typedef struct {
  GstBin parent;
  char *device;
} Source;

typedef GstBinClass SourceClass;

GType source_get_type (void);
G_DEFINE_TYPE (Source, source, GST_TYPE_BIN)

static void
set_property (GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
  (void) id;
  (void) spec;
  ((Source *) object)->device = g_value_dup_string (value);
}

static GstStateChangeReturn
change_state (GstElement *element, GstStateChange change)
{
  if (change == GST_STATE_CHANGE_NULL_TO_READY && g_strcmp0 (((Source *) element)->device, g_getenv ("FAKE_DEVICE"))) {
    GST_ELEMENT_ERROR (element, RESOURCE, NOT_FOUND, ("Cannot identify device '%s'.", ((Source *) element)->device),
        (NULL));
    return GST_STATE_CHANGE_FAILURE;
  }
  return GST_ELEMENT_CLASS (source_parent_class)->change_state (element, change);
}

static void
finalize (GObject *object)
{
  g_free (((Source *) object)->device);
  G_OBJECT_CLASS (source_parent_class)->finalize (object);
}

static void
source_class_init (SourceClass *class)
{
  G_OBJECT_CLASS (class)->set_property = set_property;
  G_OBJECT_CLASS (class)->finalize = finalize;
  GST_ELEMENT_CLASS (class)->change_state = change_state;
  g_object_class_install_property (G_OBJECT_CLASS (class), 1,
      g_param_spec_string ("device", "device", "the camera", NULL, G_PARAM_WRITABLE | G_PARAM_STATIC_STRINGS));
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (class), "a stand-in", "Source/Video", "for tests",
      "the gst-cuda-filters authors");
}

static void
source_init (Source *source)
{
  GstElement *line = gst_parse_bin_from_description (g_getenv ("FAKE_V4L2"), TRUE, NULL);
  GstPad *pad = gst_element_get_static_pad (line, "src");

  gst_bin_add (GST_BIN (source), line);
  gst_element_add_pad (GST_ELEMENT (source), gst_ghost_pad_new ("src", pad));
  gst_object_unref (pad);
  GST_OBJECT_FLAG_SET (source, GST_ELEMENT_FLAG_SOURCE);
}

static gboolean
plugin_init (GstPlugin *plugin)
{
  if (g_getenv ("FAKE_CRASH")) /* as a driver's library does that is loaded with its plugin */
    atexit (abort);
  return gst_element_register (plugin, "v4l2src", GST_RANK_NONE, source_get_type ());
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, fakev4l2, "a stand-in for v4l2src", plugin_init, "1.0", "LGPL",
    PACKAGE, "https://example.org")
