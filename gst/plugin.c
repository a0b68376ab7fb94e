/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * plugin.c: registers the elements, on every host, with a GPU or without: GStreamer's registry is a cache that is kept
 * when a driver is installed or removed. */
#include "gstcudaconvolve.h"
#include "gstcudairfilter.h"
#include "gstcudamedian.h"
#include "gstcudasegment.h"

static const struct {
  const gchar *stem; /* names the filter in the filter library */
  gboolean (*add) (GstPlugin *plugin);
} elements[] = {
  { "convolve", gst_element_register_cudaconvolve },
  { "irfilter", gst_element_register_cudairfilter },
  { "median", gst_element_register_cudamedian },
  { "segment", gst_element_register_cudasegment },
};

static gboolean
plugin_init (GstPlugin *plugin)
{
  gboolean any = FALSE;

  for (gsize i = 0; i < G_N_ELEMENTS (elements); i++)
    if (cf_filter_find (elements[i].stem))
      any |= elements[i].add (plugin);
  return any;
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, cudafilters,
    "Video filters on the GPU, with the same results on the CPU", plugin_init, PACKAGE_VERSION, "LGPL", PACKAGE_NAME,
    PACKAGE_ORIGIN)
