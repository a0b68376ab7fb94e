/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * stats.h: reads a field of an element's property "stats", for tests. */
#ifndef TESTS_ELEMENTS_STATS_H
#define TESTS_ELEMENTS_STATS_H

#include <gst/gst.h>

/* Returns 0 if the element has no stats, or they have no such 64 bit field. */
static inline guint64
stat_of (GstElement *element, const gchar *name)
{
  GstStructure *stats = NULL;
  guint64 value = 0;

  g_object_get (element, "stats", &stats, NULL);
  if (stats) {
    (void) gst_structure_get_uint64 (stats, name, &value);
    gst_structure_free (stats);
  }
  return value;
}

#endif
