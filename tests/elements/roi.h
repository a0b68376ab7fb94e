/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * roi.h: an element of which the tests look at what of a frame it filters, as strengths of the frame's pixels. Frames
 * are GRAY8, 16 x 8; the filter of the strengths makes 255 of 0. */
#ifndef ROI_H
#define ROI_H

#include "cf.h"
#include "common.h"
#include "gstcffilter-private.h"

#define WIDTH 16
#define HEIGHT 8
#define PIXELS (WIDTH * HEIGHT)

typedef struct {
  GstElement *element;
  GstCfRoi *roi;
  GstVideoInfo info;
  GstSegment segment;
  CfVideo video;
  CfTraits traits;
  CfContext *context;
  CfPlan *plan;
} Fixture;

void open_fixture (Fixture *f);
void close_fixture (Fixture *f);
/* Starts the element, so that refused values are posted at once. */
void start (Fixture *f);
CfArea *area_of (Fixture *f, GstBuffer *in);
/* Takes a frame, and fills the strengths of its pixels. */
void draw (Fixture *f, GstBuffer *in, guint8 *strength);
/* Fails unless of this frame the pixels in the rectangles "x,y,width,height ..." are filtered, and no other; "all",
 * "none". Takes the frame. */
void expect (Fixture *f, GstBuffer *in, const gchar *right);
/* Adds a region of a type and with a confidence (< 0: none) to a frame, which it returns. */
GstBuffer *with (GstBuffer *in, const gchar *type, guint x, guint y, guint w, guint h, gdouble confidence);

/* Adds the tests of regions that frames carry (roi_metas.c). */
void add_meta_tests (TCase *tests);

#endif
