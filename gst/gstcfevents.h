/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfevents.h: element messages about what happens in the frames: one an event, instead of a list a frame.
 *
 * An event is posted once the new state has lasted for min-age frames after the first one. A region is in a zone if its
 * centroid is, motion is in a zone if one of its boxes overlaps the zone. Only confirmed motion counts
 * (CfRegion.confirmed). Of its frames, min-age counts those that confirm some (CfRegion.fresh): the frames between do
 * not count, and the count goes on after them; a frame without confirmed motion begins it anew. One thread at a time
 * uses a GstCfEvents: the one that finishes frames. */
#ifndef GST_CF_EVENTS_H
#define GST_CF_EVENTS_H

#include "cf.h"

#include <gst/video/video.h>

G_BEGIN_DECLS

typedef struct _GstCfEvents GstCfEvents;

/* Returns the structure of a region, with its rectangle. */
typedef GstStructure *(*GstCfDescribe) (const CfRegion *region);

/* `name`: of the messages' structures. */
GstCfEvents *gst_cf_events_new (GstElement *element, const gchar *name, GstCfDescribe describe);
void gst_cf_events_free (GstCfEvents *e);
/* Forgets all states; posts nothing. */
void gst_cf_events_reset (GstCfEvents *e);
/* Takes the time and the size of a frame, and the settings. Zones that have changed begin empty. */
void gst_cf_events_frame (GstCfEvents *e, GstBuffer *buffer, const GstSegment *segment, const GstVideoInfo *info,
    const gchar *zones, gint min_age);
/* Posts motion-start, enter-zone, leave-zone and motion-stop. `regions`: NULL ends motion at once. */
void gst_cf_events_motion (GstCfEvents *e, const CfRegions *regions);
/* Posts appear, enter-zone, leave-zone and leave. */
void gst_cf_events_regions (GstCfEvents *e, const CfRegions *regions);
/* Posts an event of the last frame, with more fields as for gst_structure_set(), NULL at their end. */
void gst_cf_events_post (const GstCfEvents *e, const gchar *event, const gchar *field, ...);
/* Returns the running time of the last frame, or GST_CLOCK_TIME_NONE. */
GstClockTime gst_cf_events_running_time (const GstCfEvents *e);

G_END_DECLS
#endif
