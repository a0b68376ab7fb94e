/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * regions.h: what the tests of cudasegment share: pictures with regions in
 * them, and what is told of regions, from wherever it is told. */
#ifndef REGIONS_H
#define REGIONS_H

#include "common.h"
#include "gstcudasegmentmeta.h"

#define MAX_REGIONS 4096

typedef struct {
  guint n;
  GstCudaSegmentRegion region[MAX_REGIONS];
} Found;

/* Rectangles on a ground, with a little noise, that have moved for `n` frames. */
GstBuffer *regions_frame (const GstVideoInfo *info, guint n);

/* What the buffer's region metas, its label map, a message say; the caller frees
 * it. Fails the test where there is no map; other things than regions are left out. */
Found *found_in_metas (GstBuffer *buffer);
Found *found_in_map (GstBuffer *buffer);
Found *found_in_message (GstMessage *message);
/* Fails unless both are the same, but for the regions without pixels in `all`. */
void assert_same_regions (const Found *all, const Found *told);
/* The next message "cudasegment", NULL if there is none. */
GstMessage *pop_regions (GstElement *element);

/* Fails unless `all`, the map of `out` and its picture (output=labels) agree with
 * each other, and with the input. */
void assert_regions (const GstVideoInfo *info, GstBuffer *in, GstBuffer *out, const Found *all);

#endif
