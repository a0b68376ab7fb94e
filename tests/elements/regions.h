/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * regions.h: shared by the tests of cudasegment: frames with regions in them, and the regions
 * reported by metas, label map and messages. */
#ifndef REGIONS_H
#define REGIONS_H

#include "common.h"
#include "gstcudasegmentmeta.h"

#define MAX_REGIONS 4096

typedef struct {
  guint n;
  GstCudaSegmentRegion region[MAX_REGIONS];
} Found;

/* Returns a frame with rectangles on a background, with a little noise, that have moved for `n`
 * frames. */
GstBuffer *regions_frame (const GstVideoInfo *info, guint n);

/* Return the regions of the buffer's region metas, of its label map, of a message; the caller
 * frees them. found_in_map fails if there is no map; found_in_metas ignores regions of interest of
 * other types. */
Found *found_in_metas (GstBuffer *buffer);
Found *found_in_map (GstBuffer *buffer);
Found *found_in_message (GstMessage *message);
/* Fails unless `reported` has the regions of `all` except those without pixels. */
void assert_same_regions (const Found *all, const Found *reported);
#ifdef HAVE_GST_ANALYTICS
/* Fails unless the GstAnalytics metadata of a buffer has the 256 largest regions of `all`, and the label map. */
void assert_analytics (GstBuffer *buffer, const Found *all);
#endif
/* Returns the next message "cudasegment"; NULL if there is none. */
GstMessage *pop_regions (GstElement *element);

/* Fails unless `all`, the label map of `out` and its image (output=labels) agree with each other
 * and with the input. */
void assert_regions (const GstVideoInfo *info, GstBuffer *in, GstBuffer *out, const Found *all);

#endif
