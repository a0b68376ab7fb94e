/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * plugin.c: registers the elements, on every host, with a GPU or without: GStreamer's registry is a cache that is kept
 * when a driver is installed or removed. */
#include "cf.h"

#include <gst/gst.h>

#define DECLARE(stem) GST_ELEMENT_REGISTER_DECLARE (cuda##stem)
CF_FILTERS (DECLARE)

static gboolean
plugin_init (GstPlugin *plugin)
{
  gboolean any = FALSE;

#define ADD(stem) any |= GST_ELEMENT_REGISTER (cuda##stem, plugin);
  CF_FILTERS (ADD)
  return any;
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, cudafilters,
    "Video filters on the GPU, with the same results on the CPU", plugin_init, PACKAGE_VERSION, "LGPL", PACKAGE_NAME,
    PACKAGE_ORIGIN)
