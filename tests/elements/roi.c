/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * roi.c: the properties for regions, with the base class linked into the program: what of a frame they have filtered,
 * and what is refused; then the regions that frames carry: which of them count, for how long, and where there are none;
 * and `enabled`. */
#include "cf.h"
#include "common.h"
#include "gstcffilter.h"
#include "gstcudaconvolve.h"

#include <glib/gstdio.h>
#ifdef HAVE_GST_ANALYTICS
#include <gst/analytics/analytics.h>
#endif
#ifdef HAVE_GDK_PIXBUF
#include <gdk-pixbuf/gdk-pixbuf.h>
#endif
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define WIDTH 16
#define HEIGHT 8
#define PIXELS (WIDTH * HEIGHT)

/* An element of which the tests look at what of a frame it filters, as strengths of the frame's pixels. Frames are
 * GRAY8, 16 x 8; the filter of the strengths makes 255 of 0. */
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

static void
open_fixture (Fixture *f)
{
  const CfFilter *filter = cf_filter_find ("convolve");
  CfCommon common = { 0 };
  gpointer params = cf_params_new (filter, NULL);

  memset (f, 0, sizeof *f);
  f->element = new_convolve (NULL);
  f->roi = gst_cf_filter_roi (GST_CF_FILTER (f->element));
  gst_video_info_set_format (&f->info, GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT);
  gst_segment_init (&f->segment, GST_FORMAT_TIME);
  f->video = (CfVideo) { CF_FORMAT_GRAY8, WIDTH, HEIGHT, false };
  fail_unless (cf_params_set (filter, params, "kernel", "1", NULL) == CF_OK);
  fail_unless (cf_params_set (filter, params, "bias", "255", NULL) == CF_OK);
  f->context = cf_context_new (CF_BACKEND_CPU, NULL);
  f->plan = cf_plan_new (f->context, filter, &f->video, &common, params, NULL);
  f->traits = cf_filter_traits (filter, &f->video, &common, params);
  fail_unless (f->plan != NULL);
  cf_params_free (filter, params);
}

static void
close_fixture (Fixture *f)
{
  GstBus *bus = gst_element_get_bus (f->element);

  expect_no_messages (f->element);
  cf_plan_free (f->plan);
  cf_context_free (f->context);
  gst_element_set_state (f->element, GST_STATE_NULL);
  gst_bus_set_flushing (bus, TRUE); /* messages have references to the element */
  gst_object_unref (bus);
  ASSERT_OBJECT_REFCOUNT (f->element, "element", 1);
  gst_object_unref (f->element);
}

/* Starts the element, so that refused values are posted at once. */
static void
start (Fixture *f)
{
  fail_unless_equals_int (gst_element_set_state (f->element, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
}

static void
image_at (CfImage *image, guint8 *pixels)
{
  CfImage layout;

  fail_unless_equals_int (cf_image_layout (&layout, CF_FORMAT_GRAY8, WIDTH, HEIGHT, 1), PIXELS);
  cf_image_at (image, &layout, pixels);
}

static CfArea *
area_of (Fixture *f, GstBuffer *in)
{
  CfStatus status;
  CfArea *area;

  gst_cf_roi_sync (f->roi);
  area = gst_cf_roi_area (f->roi, in, &f->segment, &f->info, &f->video, &f->traits, &status);
  fail_unless (status.code == CF_OK, "%s", status.message);
  return area;
}

/* Takes a frame, and fills the strengths of its pixels. */
static void
draw (Fixture *f, GstBuffer *in, guint8 *strength)
{
  CfArea *area = area_of (f, in);
  guint8 black[PIXELS] = { 0 }, scratch[PIXELS];
  CfImage from, between, to;

  gst_buffer_unref (in);
  memset (strength, area ? 0 : 255, PIXELS);
  if (!area)
    return;
  image_at (&from, black);
  image_at (&between, scratch);
  image_at (&to, strength);
  fail_unless (cf_plan_enqueue (f->plan, NULL,
                   &(CfFrame) { .in = &from, .out = &to, .area = area, .scratch = &between }, NULL) == CF_OK);
  cf_area_unref (area);
}

/* Fails unless of this frame the pixels in the rectangles "x,y,width,height ..." are filtered, and no other; "all",
 * "none". Takes the frame. */
static void
expect (Fixture *f, GstBuffer *in, const gchar *right)
{
  guint8 strength[PIXELS], wanted[PIXELS];
  gchar **rects = g_strsplit (right, " ", -1);

  memset (wanted, strcmp (right, "all") == 0 ? 255 : 0, PIXELS);
  for (guint i = 0; strchr (right, ',') && rects[i]; i++) {
    gint x, y, w, h;

    fail_unless (sscanf (rects[i], "%d,%d,%d,%d", &x, &y, &w, &h) == 4);
    for (gint row = y; row < y + h; row++)
      memset (wanted + row * WIDTH + x, 255, (gsize) w);
  }
  g_strfreev (rects);
  draw (f, in, strength);
  for (gint i = 0; i < PIXELS; i++)
    if (strength[i] != wanted[i])
      fail ("%s: strength %u at %d,%d", right, strength[i], i % WIDTH, i / WIDTH);
}

/* Adds a region of a type and with a confidence (< 0: none) to a frame, which it returns. */
static GstBuffer *
with (GstBuffer *in, const gchar *type, guint x, guint y, guint w, guint h, gdouble confidence)
{
  GstVideoRegionOfInterestMeta *meta = gst_buffer_add_video_region_of_interest_meta (in, type, x, y, w, h);

  if (confidence >= 0)
    gst_video_region_of_interest_meta_add_param (meta,
        gst_structure_new ("detection", "confidence", G_TYPE_DOUBLE, confidence, NULL));
  return in;
}

static void
expect_warning (GstElement *element, const gchar *name, const gchar *where)
{
  gchar *text = only_message (element, GST_MESSAGE_WARNING, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);

  expect_message (text, name, where);
  g_free (text);
}

/* ---- texts -------------------------------------------------------------- */

static const struct {
  const gchar *name, *value, *right;
  const gchar *warning; /* NULL: none */
} good[] = {
  { "roi", "2,1,4,3", "2,1,4,3" },
  { "roi", "  2 ,\t1, 4,3 ; 9,5,2,2; ", "2,1,4,3 9,5,2,2" },
  { "roi", "-2,-1,4,3;+15,7,100,100", "0,0,2,2 15,7,1,1" },
  { "roi", "20,20,4,4", "none", "number 1 lies outside" },
  { "roi", "1,1,2,2;-4,2,4,2", "1,1,2,2", "number 2 lies outside" },
  { "roi", "0.5,0,0.25,1", "8,0,4,8" },
  { "roi", "1,0,0.25,1", "none", "number 1 lies outside" },
  { "roi", "0.1,0.2,0.3,0.3", "1,1,6,3" },
  { "roi", ".25,0.,.5,.125;1,1,1,1", "4,0,8,1 1,1,1,1" },
  { "roi", "0,0,1.0,1", "all" },
  { "roi", "", "all" },
  { "roi", " ; ", "all" },
  { "mask-polygons", "0.25,0.25 0.5,0.25 0.5,0.75 0.25,0.75", "4,2,4,4" },
  { "mask-polygons", "0.25,0.25,0.5,0.25,0.5,0.75,0.25,0.75", "4,2,4,4" },
  { "mask-polygons", " 0,0 0.25,0 0.25,0.25 0,0.25; 0.5,0.5 1,0.5 1,1 0.5,1 ", "0,0,4,2 8,4,8,4" },
  { "mask-polygons", "0,0 0.5,0.5 1,1;0.5,0.5 1,0.5 1,1 0.5,1", "8,4,8,4", "number 1 has no area" },
  { "mask-polygons", "0,0 .5,0 .5,.5 0,.5 0,0 .5,0 .5,.5 0,.5", "none", "number 1 has no area" },
  { "mask-polygons", NULL, "all" },
};

GST_START_TEST (texts)
{
  Fixture f;

  open_fixture (&f);
  for (gint started = 0; started < 2; started++) {
    set_value (f.element, good[__i__].name, good[__i__].value);
    expect_value (f.element, good[__i__].name, good[__i__].value);
    expect (&f, gst_buffer_new (), good[__i__].right);
    if (good[__i__].warning)
      expect_warning (f.element, good[__i__].name, good[__i__].warning);
    expect (&f, gst_buffer_new (), good[__i__].right); /* it is said once */
    start (&f);
  }
  close_fixture (&f);
}
GST_END_TEST

static const struct {
  const gchar *name, *value, *where, *good, *right;
} bad[] = {
  { "roi", "1,2,3", "x,y,width,height", "1,1,2,2", "1,1,2,2" },
  { "roi", "1,2,3,4,5", "\"1,2,3,4,5\"", "1,1,2,2", "1,1,2,2" },
  { "roi", "1,2,3,4; 5,6,7,x", "number 2, \"5,6,7,x\"", "1,1,2,2", "1,1,2,2" },
  { "roi", "1,2,3,4; ;5,6,7,x", "number 2, \"5,6,7,x\"", "1,1,2,2", "1,1,2,2" }, /* empty entries do not count */
  { "roi", "1 2 3 4", "x,y,width,height", "1,1,2,2", "1,1,2,2" },
  { "roi", "0x1,2,3,4", "x,y,width,height", "1,1,2,2", "1,1,2,2" },
  { "roi", "1e1,2,3,4", "x,y,width,height", "1,1,2,2", "1,1,2,2" },
  { "roi", "nan,2,3,4", "x,y,width,height", "1,1,2,2", "1,1,2,2" },
  { "roi", "1,2,0,4", "more than 0", "1,1,2,2", "1,1,2,2" },
  { "roi", "1,2,3,-4", "more than 0", "1,1,2,2", "1,1,2,2" },
  { "roi", "0.5,0.5,100,100", "from 0 to 1", "1,1,2,2", "1,1,2,2" },
  { "roi", "0.5,0.5,1.5,0.5", "from 0 to 1", "1,1,2,2", "1,1,2,2" },
  { "roi", "1,2,3,99999", "32768", "1,1,2,2", "1,1,2,2" },
  { "roi", "\xff\xff\n,2,3,4", "x,y,width,height", "1,1,2,2", "1,1,2,2" },
  { "roi-size", "640", "WIDTHxHEIGHT", "16x8", "all" },
  { "roi-size", "640x480x2", "WIDTHxHEIGHT", "16x8", "all" },
  { "roi-size", "0x8", "WIDTHxHEIGHT", "16x8", "all" },
  { "roi-size", "99999x8", "WIDTHxHEIGHT", "16x8", "all" },
  { "mask-polygons", "0.1,0.1 0.2,0.2", "three corners", "0,0 0.5,0 0.5,0.5 0,0.5", "0,0,8,4" },
  { "mask-polygons", "0.1,0.1 0.2,0.2 3,0.4", "from 0 to 1", "0,0 0.5,0 0.5,0.5 0,0.5", "0,0,8,4" },
  { "mask-polygons", "0.1,0.1 0.2,0.2 1.5,0.4", "from 0 to 1", "0,0 0.5,0 0.5,0.5 0,0.5", "0,0,8,4" },
  { "mask-polygons", "0.1,0.1 0.2,0.2 0.3", "0.1,0.2 0.4,0.2", "0,0 0.5,0 0.5,0.5 0,0.5", "0,0,8,4" },
  { "mask-polygons", "0,0 1,0 1,1; a", "number 2, \"a\"", "0,0 0.5,0 0.5,0.5 0,0.5", "0,0,8,4" },
};

static void
set_numbers (void)
{
  const CfFilter *filter = cf_filter_find ("convolve");
  gpointer params = cf_params_new (filter, NULL);
  const CfFilterInfo *info = cf_filter_info (filter);
  guint row = 0;
  Fixture f;

  while (strcmp (info->params[row].name, "sigma") != 0)
    row++;
  fail_unless (cf_params_set (filter, params, "sigma", "1.25", NULL) == CF_OK);
  fail_unless (G_STRUCT_MEMBER (gdouble, params, info->params[row].offset) > 1.2);
  fail_unless (cf_params_set (filter, params, "sigma", "1,25", NULL) == CF_BAD_VALUE);
  cf_params_free (filter, params);
  open_fixture (&f);
  set_value (f.element, "roi", "0.25,0,0.25,0.5");
  expect (&f, gst_buffer_new (), "4,0,4,4");
  close_fixture (&f);
}

/* Numbers have a point as their decimal sign, in all locales. */
GST_START_TEST (decimal_comma)
{
  in_comma_locale (set_numbers);
}
GST_END_TEST

/* Without an older value the whole frame is filtered, whatever the other sources say. */
GST_START_TEST (bad_texts)
{
  Fixture f;

  for (gint started = 0; started < 2; started++) {
    open_fixture (&f);
    if (started)
      start (&f);
    set_value (f.element, strcmp (bad[__i__].name, "roi") ? "roi" : "mask-polygons",
        strcmp (bad[__i__].name, "roi") ? "1,1,1,1" : "0,0 0.1,0 0.1,0.1");
    set_value (f.element, "roi-invert", "true");
    set_value (f.element, bad[__i__].name, bad[__i__].value);
    expect_value (f.element, bad[__i__].name, NULL);
    expect (&f, gst_buffer_new (), "all");
    if (!started)
      start (&f);
    expect_warning (f.element, bad[__i__].name, bad[__i__].where);
    set_value (f.element, bad[__i__].name, "");
    set_value (f.element, strcmp (bad[__i__].name, "roi") ? "roi" : "mask-polygons", NULL);
    set_value (f.element, "roi-invert", "false");
    expect (&f, gst_buffer_new (), "all");

    set_value (f.element, bad[__i__].name, bad[__i__].good);
    expect (&f, gst_buffer_new (), bad[__i__].right);
    set_value (f.element, bad[__i__].name, bad[__i__].value);
    expect_warning (f.element, bad[__i__].name, "previous value is kept");
    expect_value (f.element, bad[__i__].name, bad[__i__].good);
    expect (&f, gst_buffer_new (), bad[__i__].right);
    close_fixture (&f);
  }
}
GST_END_TEST

/* A value that is replaced before the start is not complained about. */
GST_START_TEST (corrected_before_start)
{
  Fixture f;

  open_fixture (&f);
  set_value (f.element, "roi", "x");
  set_value (f.element, "roi", "1,1,2,2");
  start (&f);
  expect_no_messages (f.element);
  expect (&f, gst_buffer_new (), "1,1,2,2");
  close_fixture (&f);
}
GST_END_TEST

/* Pixels are those of the frames at which they were set, or of roi-size; fractions are of any. */
GST_START_TEST (pixels_of_a_size)
{
  Fixture f;

  open_fixture (&f);
  set_value (f.element, "roi", "4,2,4,2");
  expect_value (f.element, "roi-size", NULL);
  gst_cf_roi_resize (f.roi, WIDTH, HEIGHT);
  expect_value (f.element, "roi-size", "16x8");
  expect (&f, gst_buffer_new (), "4,2,4,2");
  gst_cf_roi_resize (f.roi, WIDTH / 2, HEIGHT * 2);
  set_value (f.element, "roi", "2,4,2,5");
  expect_value (f.element, "roi-size", "8x16");
  gst_cf_roi_resize (f.roi, WIDTH, HEIGHT);
  expect (&f, gst_buffer_new (), "4,2,4,3"); /* rounded outward */
  set_value (f.element, "roi-size", "160x80");
  set_value (f.element, "roi-grow", "100");
  expect (&f, gst_buffer_new (), "0,0,1,2");
  set_value (f.element, "roi-grow", "0");
  set_value (f.element, "roi", "0.25,0.25,0.25,0.25");
  expect (&f, gst_buffer_new (), "4,2,4,2");
  set_value (f.element, "roi-size", "2x1");
  expect (&f, gst_buffer_new (), "4,2,4,2");
  /* A size that was given lasts until frames come; one that was taken is forgotten with them. */
  gst_cf_roi_stop (f.roi);
  set_value (f.element, "roi", "1,1,1,1");
  expect_value (f.element, "roi-size", "2x1");
  set_value (f.element, "roi-size", "");
  gst_cf_roi_resize (f.roi, WIDTH, HEIGHT);
  gst_cf_roi_stop (f.roi);
  expect_value (f.element, "roi-size", "16x8");
  set_value (f.element, "roi", "4,2,4,2");
  expect_value (f.element, "roi-size", NULL);
  close_fixture (&f);
}
GST_END_TEST

/* ---- shapes ------------------------------------------------------------- */

GST_START_TEST (grow_shape_invert)
{
  guint8 strength[PIXELS];
  Fixture f;
  gint n = 0;

  open_fixture (&f);
  start (&f);
  fail_if (gst_cf_roi_is_used (f.roi));
  set_value (f.element, "roi-invert", "true");
  expect (&f, gst_buffer_new (), "all");
  set_value (f.element, "roi", "4,2,8,4");
  expect (&f, gst_buffer_new (), "0,0,16,2 0,6,16,2 0,0,4,8 12,0,4,8");
  fail_unless (gst_cf_roi_is_used (f.roi));
  set_value (f.element, "roi-invert", "false");
  set_value (f.element, "roi-grow", "50");
  expect (&f, gst_buffer_new (), "2,1,12,6");
  set_value (f.element, "roi-grow", "1");
  expect (&f, gst_buffer_new (), "3,1,10,6");
  set_value (f.element, "roi-grow", "1000");
  expect (&f, gst_buffer_new (), "all");
  set_value (f.element, "roi-grow", "0");
  set_value (f.element, "roi-shape", "ellipse");
  draw (&f, gst_buffer_new (), strength);
  for (gint i = 0; i < PIXELS; i++)
    n += strength[i] == 255;
  fail_unless (strength[4 * WIDTH + 8] == 255 && strength[2 * WIDTH + 4] == 0 && n > 16 && n < 32, "%d", n);
  close_fixture (&f);
}
GST_END_TEST

/* Rectangles, polygons and mask count together; areas are made again only where something has changed. */
GST_START_TEST (areas_are_kept)
{
  GstBuffer *in = gst_buffer_new ();
  CfArea *first, *again, *other;
  Fixture f;

  open_fixture (&f);
  set_value (f.element, "roi", "1,1,2,2");
  set_value (f.element, "mask-polygons", "0.5,0.5 1,0.5 1,1 0.5,1");
  expect (&f, gst_buffer_new (), "1,1,2,2 8,4,8,4");
  first = area_of (&f, in);
  again = area_of (&f, in);
  fail_unless (first == again);
  f.traits.halo++;
  other = area_of (&f, in);
  fail_unless (other != first);
  cf_area_unref (again);
  again = area_of (&f, in);
  fail_unless (other == again);
  cf_area_unref (first);
  f.video.interlaced = true;
  first = area_of (&f, in);
  fail_unless (other != first);
  cf_area_unref (first);
  cf_area_unref (again);
  cf_area_unref (other);
  gst_buffer_unref (in);
  close_fixture (&f);
}
GST_END_TEST

/* ---- masks -------------------------------------------------------------- */

/* Writes a picture of RGB pixels, and returns its path. Not called where the build reads no pictures. */
static gchar *
picture_file (const gchar *format, gint width, gint height, const guint8 *rgb)
{
  gchar *path = temporary_file ("");
#ifdef HAVE_GDK_PIXBUF
  GdkPixbuf *picture = gdk_pixbuf_new_from_data (rgb, GDK_COLORSPACE_RGB, FALSE, 8, width, height, 3 * width, NULL,
      NULL);

  fail_unless (gdk_pixbuf_save (picture, path, format, NULL, NULL));
  g_object_unref (picture);
#else
  fail ("%s: %p has %d x %d pixels", format, rgb, width, height);
#endif
  return path;
}

static gchar *
png_file (gint width, gint height, const guint8 *rgb)
{
  return picture_file ("png", width, height, rgb);
}

/* Returns whether the build reads pictures. */
static gboolean
reads_pictures (Fixture *f)
{
  GstMessage *warning;

  set_value (f->element, "mask", "/");
  start (f);
  warning = pop_message (f->element, GST_MESSAGE_WARNING);
  set_value (f->element, "mask", NULL);
  fail_unless (warning != NULL);
  gst_message_unref (warning);
#ifdef HAVE_GDK_PIXBUF
  return TRUE;
#else
  return FALSE;
#endif
}

GST_START_TEST (mask_values)
{
  static const guint8 two[2 * 3] = { 0, 0, 0, 255, 255, 255 };
  guint8 rgb[PIXELS * 3], strength[PIXELS];
  gchar *path;
  Fixture f;

  open_fixture (&f);
  if (reads_pictures (&f)) {
    for (guint i = 0; i < sizeof rgb; i++)
      rgb[i] = (guint8) (i * 151);
    path = png_file (WIDTH, HEIGHT, rgb);
    set_value (f.element, "mask", path);
    free_value (path, TRUE); /* it is read once */
    draw (&f, gst_buffer_new (), strength);
    for (gint i = 0; i < PIXELS; i++)
      fail_unless_equals_int (strength[i], (77 * rgb[3 * i] + 150 * rgb[3 * i + 1] + 29 * rgb[3 * i + 2] + 128) >> 8);
    /* A black and a white pixel: between their centres, at a quarter and three quarters of the frame, in steps. */
    path = png_file (2, 1, two);
    set_value (f.element, "mask", path);
    draw (&f, gst_buffer_new (), strength);
    for (gint i = 0; i < PIXELS; i++) {
      gint weight = CLAMP ((2 * (i % WIDTH) + 1) * 16 - 128, 0, 256);

      fail_unless_equals_int (strength[i], (255 * weight + 128) >> 8);
    }
    set_value (f.element, "roi-invert", "true");
    draw (&f, gst_buffer_new (), strength);
    fail_unless (strength[0] == 255 && strength[15] == 0);
    free_value (path, TRUE);
  }
  close_fixture (&f);
}
GST_END_TEST

/* Until there is a mask that can be read, the whole frame is filtered. */
GST_START_TEST (mask_vanishes)
{
  static const guint8 two[2 * 3] = { 0, 0, 0, 255, 255, 255 };
  gchar *path, *junk = temporary_file ("no picture");
  guint8 strength[PIXELS];
  Fixture f;

  open_fixture (&f);
  if (reads_pictures (&f)) {
    path = png_file (2, 1, two);
    fail_unless (g_unlink (path) == 0);
    set_value (f.element, "roi-meta", "true");
    set_value (f.element, "mask", path);
    expect_warning (f.element, "mask", "the whole frame is filtered");
    expect_value (f.element, "mask", NULL);
    expect (&f, with (gst_buffer_new (), "a", 1, 1, 1, 1, -1), "all");
    set_value (f.element, "mask", junk);
    expect_warning (f.element, "mask", "the whole frame is filtered");
    expect (&f, gst_buffer_new (), "all");
    g_free (path);
    set_value (f.element, "roi-meta", "false");
    path = png_file (2, 1, two);
    set_value (f.element, "mask", path);
    draw (&f, gst_buffer_new (), strength);
    fail_unless (strength[0] == 0 && strength[15] == 255);
    set_value (f.element, "mask", junk);
    expect_warning (f.element, "mask", "previous value is kept");
    expect_value (f.element, "mask", path);
    draw (&f, gst_buffer_new (), strength);
    fail_unless (strength[0] == 0 && strength[15] == 255);
    free_value (path, TRUE);
  }
  free_value (junk, TRUE);
  close_fixture (&f);
}
GST_END_TEST

/* Returns the path of a small GIF file with two white pixels. */
static gchar *
gif_file (void)
{
  static const gchar gif[] = "GIF89a\2\0\1\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\2\0\1\0\0\2\2\x4c\x0a\0;";
  gchar *path = temporary_file ("");

  fail_unless (g_file_set_contents (path, gif, sizeof gif - 1, NULL));
  return path;
}

/* Sets the mask to the first `size` bytes of a picture, at `path`, which must be refused. */
static void
expect_cut (Fixture *f, const gchar *path, const gchar *data, gsize size)
{
  fail_unless (g_file_set_contents (path, data, (gssize) size, NULL));
  set_value (f->element, "mask", path);
  expect_warning (f->element, "mask", "the whole frame is filtered");
  expect_value (f->element, "mask", NULL);
}

static void
expect_whole (Fixture *f, const gchar *path, const gchar *data, gsize size)
{
  fail_unless (g_file_set_contents (path, data, (gssize) size, NULL));
  set_value (f->element, "mask", path);
  expect_value (f->element, "mask", path);
  set_value (f->element, "mask", NULL);
}

/* A JPEG file may go on behind its picture, and its headers may hold the bytes that end one. */
static void
try_more_of_a_jpeg (Fixture *f, const gchar *path, const gchar *data, gsize size)
{
  static const gchar comment[] = "\xff\xfe\0\6\xff\xd9\xff\xd9";
  const gsize n = sizeof comment - 1;
  gchar *longer = g_malloc0 (size + 9), *commented = g_malloc (size + n);

  memcpy (longer, data, size);
  expect_whole (f, path, longer, size + 9);
  memcpy (commented, data, 2);
  memcpy (commented + 2, comment, n);
  memcpy (commented + 2 + n, data + 2, size - 2);
  expect_whole (f, path, commented, size + n);
  for (gsize at = 4; at < size + n; at++)
    expect_cut (f, path, commented, at);
  g_free (commented);
  g_free (longer);
}

/* A mask of which the last part is missing is not one whose last part is black, wherever the file ends. */
GST_START_TEST (mask_is_cut)
{
  static const gchar *const formats[] = { "png", "jpeg", "bmp", "tiff", "gif", "pnm" };
  guint8 rgb[16 * 16 * 3];
  Fixture f;

  for (guint i = 0; i < sizeof rgb; i++)
    rgb[i] = (guint8) (255 - i * 151 % 64);
  open_fixture (&f);
  for (gsize i = reads_pictures (&f) ? 0 : G_N_ELEMENTS (formats); i < G_N_ELEMENTS (formats); i++) {
    gchar *path = strcmp (formats[i], "gif") == 0 ? gif_file ()
        : strcmp (formats[i], "pnm") == 0         ? temporary_file ("P3 2 1 255\n9 99 99 255 255 254\n")
                                                  : picture_file (formats[i], 16, 16, rgb);
    gchar *data;
    gsize size;

    fail_unless (g_file_get_contents (path, &data, &size, NULL));
    expect_whole (&f, path, data, size);
    for (gsize at = 1; at < size; at++)
      expect_cut (&f, path, data, at);
    expect (&f, gst_buffer_new (), "all");
    if (strcmp (formats[i], "jpeg") == 0)
      try_more_of_a_jpeg (&f, path, data, size);
    set_value (f.element, "mask", NULL);
    g_free (data);
    free_value (path, TRUE);
  }
  close_fixture (&f);
}
GST_END_TEST

/* What is refused before it is decoded. */
GST_START_TEST (mask_is_refused)
{
  static const guint8 white[3] = { 255, 255, 255 };
  Fixture f;

  open_fixture (&f);
  if (reads_pictures (&f)) {
    gchar *icon = picture_file ("ico", 1, 1, white), *large = temporary_file ("P5 16384 16384 255\n"),
          *pipe = temporary_file ("");

    set_value (f.element, "mask", icon);
    expect_warning (f.element, "mask", "format ico; use PNG");
    set_value (f.element, "mask", large);
    expect_warning (f.element, "mask", "16384 x 16384 pixels; it may have 33554432 in all");
    fail_unless (g_unlink (pipe) == 0 && mkfifo (pipe, 0600) == 0);
    set_value (f.element, "mask", pipe);
    expect_warning (f.element, "mask", "not a regular file");
    expect (&f, gst_buffer_new (), "all");
    free_value (icon, TRUE);
    free_value (large, TRUE);
    free_value (pipe, TRUE);
  }
  close_fixture (&f);
}
GST_END_TEST

/* ---- regions that frames carry ------------------------------------------------ */

static GstBuffer *
at (guint ms)
{
  GstBuffer *in = gst_buffer_new ();

  GST_BUFFER_PTS (in) = ms * GST_MSECOND;
  return in;
}

GST_START_TEST (metadata)
{
  GstVideoRegionOfInterestMeta *meta;
  GstBuffer *in;
  Fixture f;

  open_fixture (&f);
  start (&f);
  expect (&f, with (gst_buffer_new (), "person", 1, 1, 2, 2, -1), "all");
  set_value (f.element, "roi-meta", "true");
  expect (&f, gst_buffer_new (), "none"); /* nothing was detected yet */
  expect (&f, with (with (gst_buffer_new (), "person", 1, 1, 2, 2, -1), "", 8, 4, 2, 2, 0.1), "1,1,2,2 8,4,2,2");
  expect (&f, with (gst_buffer_new (), "person", G_MAXUINT, 1, G_MAXUINT, 2, -1), "none");
  expect (&f, with (gst_buffer_new (), "person", 2, 1, G_MAXUINT, 2, -1), "2,1,14,2");
  expect (&f, with (gst_buffer_new (), "person", (guint) -3, (guint) -1, 5, 3, -1), "0,0,2,2");
  expect (&f, with (gst_buffer_new (), "person", (guint) -3, 1, 3, 2, -1), "none");
  set_value (f.element, "roi-grow", "100");
  expect (&f, with (gst_buffer_new (), "face", 4, 4, 2, 2, -1), "3,3,4,4");
  set_value (f.element, "roi-grow", "0");

  set_value (f.element, "roi-type", " face ,person,");
  expect (&f, with (with (gst_buffer_new (), "car", 1, 1, 2, 2, -1), "face", 8, 4, 2, 2, -1), "8,4,2,2");
  expect (&f, with (gst_buffer_new (), "car", 1, 1, 2, 2, -1), "none");
  set_value (f.element, "roi-type", NULL);

  set_value (f.element, "roi-min-confidence", "0.9");
  in = with (with (gst_buffer_new (), "a", 1, 1, 2, 2, 0.9), "b", 8, 4, 2, 2, 0.89);
  meta = gst_buffer_add_video_region_of_interest_meta (in, "c", 5, 1, 1, 1);
  gst_video_region_of_interest_meta_add_param (meta, gst_structure_new_empty ("detection"));
  gst_video_region_of_interest_meta_add_param (meta,
      gst_structure_new ("other", "confidence", G_TYPE_FLOAT, 0.9f, NULL));
  gst_video_region_of_interest_meta_add_param (meta,
      gst_structure_new ("third", "confidence", G_TYPE_FLOAT, 0.3f, NULL));
  expect (&f, with (in, "d", 12, 1, 1, 1, -1), "1,1,2,2 5,1,1,1 12,1,1,1");
  set_value (f.element, "roi-min-confidence", "0");

  /* With the other sources, and inverted. */
  set_value (f.element, "roi", "14,6,1,1");
  expect (&f, with (gst_buffer_new (), "a", 1, 1, 2, 2, -1), "1,1,2,2 14,6,1,1");
  set_value (f.element, "mask-polygons", "0.5,0 0.625,0 0.625,0.25 0.5,0.25");
  expect (&f, with (gst_buffer_new (), "a", 1, 1, 2, 2, -1), "1,1,2,2 14,6,1,1 8,0,2,2");
  set_value (f.element, "roi", "");
  set_value (f.element, "mask-polygons", "");
  set_value (f.element, "roi-invert", "true");
  expect (&f, with (gst_buffer_new (), "a", 0, 0, 8, 8, -1), "8,0,8,8");
  expect (&f, with (gst_buffer_new (), "a", 0, 0, 16, 8, -1), "none");
  close_fixture (&f);
}
GST_END_TEST

/* An area is kept for the frame behind only if that has the same rectangles: not where some come, go or move, or are
 * those of a frame long ago. */
GST_START_TEST (rectangles_change)
{
  static const struct {
    guint x[2]; /* of the rectangles of a frame; the second may be missing */
    const gchar *right;
  } rows[] = {
    { { 1 }, "1,1,2,2 15,7,1,1" },
    { { 1, 8 }, "1,1,2,2 8,1,2,2 15,7,1,1" },
    { { 4, 8 }, "4,1,2,2 8,1,2,2 15,7,1,1" },
    { { 1 }, "1,1,2,2 15,7,1,1" },
    { { 1, 8 }, "1,1,2,2 8,1,2,2 15,7,1,1" },
    { { 8, 1 }, "8,1,2,2 1,1,2,2 15,7,1,1" },
    { { 8 }, "8,1,2,2 15,7,1,1" },
    { { 9 }, "9,1,2,2 15,7,1,1" },
  };
  Fixture f;

  open_fixture (&f);
  set_value (f.element, "roi-meta", "true");
  set_value (f.element, "roi", "15,7,1,1");
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    GstBuffer *in = with (gst_buffer_new (), "a", rows[i].x[0], 1, 2, 2, -1);

    if (rows[i].x[1])
      with (in, "b", rows[i].x[1], 1, 2, 2, -1);
    expect (&f, in, rows[i].right);
  }
  close_fixture (&f);
}
GST_END_TEST

#ifdef HAVE_GST_ANALYTICS
static GstBuffer *
analysed (void)
{
  GstBuffer *in = gst_buffer_new ();
  GstAnalyticsRelationMeta *meta = gst_buffer_add_analytics_relation_meta (in);
  GstAnalyticsODMtd o;

  gst_analytics_relation_meta_add_od_mtd (meta, g_quark_from_string ("person"), 1, 1, 2, 2, 0.9f, &o);
  gst_analytics_relation_meta_add_od_mtd (meta, g_quark_from_string ("car"), -2, 4, 4, 9, 0.5f, &o);
#if GST_CHECK_VERSION(1, 26, 0)
  gst_analytics_relation_meta_add_oriented_od_mtd (meta, 0, 8, 3, 6, 2, (gfloat) G_PI_2, 0.9f, &o);
#else
  gst_analytics_relation_meta_add_od_mtd (meta, 0, 10, 1, 2, 6, 0.9f, &o);
#endif
  return in;
}

GST_START_TEST (analytics)
{
  Fixture f;

  open_fixture (&f);
  set_value (f.element, "roi-meta", "true");
  expect (&f, with (analysed (), "face", 15, 0, 1, 1, -1), "1,1,2,2 0,4,2,4 10,1,2,6 15,0,1,1");
  set_value (f.element, "roi-min-confidence", "0.7");
  expect (&f, analysed (), "1,1,2,2 10,1,2,6");
  set_value (f.element, "roi-type", "person,car");
  expect (&f, analysed (), "1,1,2,2");
  close_fixture (&f);
}
GST_END_TEST
#endif

/* Regions are in pixels of the frame in the buffer, of which a part is filtered. A meta of no format is not printed. */
GST_START_TEST (cropped)
{
  GstBuffer *in = gst_buffer_new_allocate (NULL, 32 * 16, NULL);
  GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta (in);
  GstVideoMeta *meta;
  Fixture f;

  crop->x = 10;
  crop->y = 5;
  crop->width = WIDTH;
  crop->height = HEIGHT;
  meta = gst_buffer_add_video_meta (in, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 32, 16);
  with (with (in, "a", 12, 6, 3, 2, -1), "b", 0, 0, 11, 6, -1);
  open_fixture (&f);
  set_value (f.element, "roi-meta", "true");
  expect (&f, gst_buffer_ref (in), "2,1,3,2 0,0,1,1");
  meta->format = GST_VIDEO_FORMAT_UNKNOWN;
  expect (&f, in, "12,6,3,2 0,0,11,6");
  close_fixture (&f);
}
GST_END_TEST

/* Returns a frame of which the part at (x, y) is filtered. */
static GstBuffer *
part_at (guint ms, guint x, guint y)
{
  GstBuffer *in = at (ms);
  GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta (in);

  crop->x = x;
  crop->y = y;
  crop->width = WIDTH;
  crop->height = HEIGHT;
  gst_buffer_add_video_meta (in, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 3 * WIDTH, 3 * HEIGHT);
  return in;
}

/* The regions of earlier frames are where they were in the larger frame, of which the next ones show another part, also
 * those outside of the part that was shown. A frame that is no such part says nothing of the place of the others, and
 * neither does a crop in frames of another size. */
GST_START_TEST (panned)
{
  const gboolean holds = __i__ > 0;
  Fixture f;

  open_fixture (&f);
  set_value (f.element, "roi-meta", "true");
  set_value (f.element, "roi-hold", holds ? "1000" : "0");
  set_value (f.element, "roi-missing", holds ? "pass" : "last");
  gst_cf_roi_resize (f.roi, WIDTH, HEIGHT);
  expect (&f, with (with (part_at (0, 10, 5), "a", 12, 6, 3, 2, -1), "b", 4, 8, 2, 2, -1), "2,1,3,2");
  expect (&f, part_at (10, 10, 5), "2,1,3,2");
  expect (&f, part_at (20, 4, 6), "8,0,3,2 0,2,2,2");
  expect (&f, at (30), "8,0,3,2 0,2,2,2");
  expect (&f, part_at (40, 0, 0), "12,6,3,2");
  expect (&f, part_at (50, 10, 5), "2,1,3,2");
  gst_cf_roi_resize (f.roi, 2 * WIDTH, 2 * HEIGHT);
  expect (&f, part_at (60, 20, 10), "4,2,6,4");
  close_fixture (&f);
}
GST_END_TEST

GST_START_TEST (missing)
{
  Fixture f;

  open_fixture (&f);
  set_value (f.element, "roi-meta", "true");
  set_value (f.element, "roi-type", "face");
  for (gint again = 0; again < 2; again++) {
    expect (&f, gst_buffer_new (), "none");
    expect (&f, with (gst_buffer_new (), "face", 1, 1, 2, 2, -1), "1,1,2,2");
    expect (&f, gst_buffer_new (), "1,1,2,2");
    expect (&f, gst_buffer_new (), "1,1,2,2");
    expect (&f, with (gst_buffer_new (), "car", 4, 1, 2, 2, -1), "none"); /* there is metadata, but no face */
    expect (&f, gst_buffer_new (), "none");
    expect (&f, with (gst_buffer_new (), "face", 1, 1, 2, 2, -1), "1,1,2,2");
    gst_cf_roi_reset (f.roi);
  }
  expect (&f, with (gst_buffer_new (), "face", 1, 1, 2, 2, -1), "1,1,2,2");
  set_value (f.element, "roi-missing", "pass");
  expect (&f, gst_buffer_new (), "none");
  set_value (f.element, "roi-missing", "all");
  expect (&f, gst_buffer_new (), "all");
  set_value (f.element, "roi-invert", "true");
  expect (&f, gst_buffer_new (), "all");
  set_value (f.element, "roi-invert", "false");
  set_value (f.element, "roi-missing", "last");
  expect (&f, gst_buffer_new (), "1,1,2,2");
  for (gint asks = 0; asks < 2; asks++) {
    expect (&f, with (gst_buffer_new (), "face", 1, 1, 2, 2, -1), "1,1,2,2");
    set_value (f.element, "roi-meta", "false");
    if (asks)
      expect (&f, gst_buffer_new (), "all");
    else
      gst_cf_roi_sync (f.roi); /* the element asks for no area, because there are no regions */
    set_value (f.element, "roi-meta", "true");
    expect (&f, gst_buffer_new (), "none");
  }
  close_fixture (&f);
}
GST_END_TEST

/* An empty region ends what stays of its type, and nothing else. With roi-type=motion a frame says what moves, or that
 * nothing does, or the whole frame is filtered. */
GST_START_TEST (empty_regions)
{
  Fixture f;

  open_fixture (&f);
  expect_value (f.element, "roi-missing", "auto");
  set_value (f.element, "roi-meta", "true");
  expect (&f, with (gst_buffer_new (), "motion", 0, 0, 0, 0, -1), "none");
  expect (&f, with (with (gst_buffer_new (), "motion", 1, 1, 2, 2, -1), "face", 8, 1, 2, 2, -1), "1,1,2,2 8,1,2,2");
  expect (&f, gst_buffer_new (), "1,1,2,2 8,1,2,2");
  expect (&f, with (gst_buffer_new (), "motion", 5, 5, 0, 2, -1), "8,1,2,2");
  expect (&f, gst_buffer_new (), "8,1,2,2");
  expect (&f, with (gst_buffer_new (), "face", 0, 0, 0, 0, -1), "none");
  set_value (f.element, "roi-type", "face,motion");
  expect (&f, gst_buffer_new (), "all");
  expect (&f, with (gst_buffer_new (), "face", 8, 1, 2, 2, -1), "all");
  expect (&f, with (gst_buffer_new (), "motion", 0, 0, 0, 0, -1), "8,1,2,2");
  expect (&f, with (gst_buffer_new (), "motion", 1, 1, 2, 2, -1), "1,1,2,2");
  set_value (f.element, "roi-invert", "true");
  expect (&f, gst_buffer_new (), "all");
  set_value (f.element, "roi-invert", "false");
  set_value (f.element, "roi-missing", "last");
  expect (&f, gst_buffer_new (), "1,1,2,2");
  set_value (f.element, "roi-missing", "all");
  expect (&f, with (gst_buffer_new (), "motion", 0, 0, 0, 0, -1), "all");
  set_value (f.element, "roi-missing", "auto");
  set_value (f.element, "roi-hold", "100");
  expect (&f, with (at (0), "motion", 1, 1, 2, 2, -1), "1,1,2,2");
  expect (&f, with (at (100), "motion", 0, 0, 0, 0, -1), "1,1,2,2");
  expect (&f, with (at (101), "motion", 0, 0, 0, 0, -1), "none");
  close_fixture (&f);
}
GST_END_TEST

GST_START_TEST (held)
{
  Fixture f;
  GstBuffer *in;

  open_fixture (&f);
  set_value (f.element, "roi-meta", "true");
  set_value (f.element, "roi-hold", "100");
  set_value (f.element, "roi-missing", "pass");
  expect (&f, with (at (0), "a", 1, 1, 2, 2, -1), "1,1,2,2");
  expect (&f, with (at (40), "a", 4, 1, 2, 2, -1), "1,1,2,2 4,1,2,2");
  expect (&f, at (80), "1,1,2,2 4,1,2,2");
  expect (&f, gst_buffer_new (), "1,1,2,2 4,1,2,2"); /* no time: that of the frame before */
  expect (&f, at (100), "1,1,2,2 4,1,2,2");
  expect (&f, at (101), "4,1,2,2");
  expect (&f, with (at (140), "a", 4, 1, 2, 2, -1), "4,1,2,2");
  expect (&f, at (240), "4,1,2,2");
  expect (&f, at (241), "none");
  expect (&f, with (at (300), "a", 1, 1, 2, 2, -1), "1,1,2,2");
  gst_cf_roi_reset (f.roi);
  expect (&f, with (gst_buffer_new (), "a", 4, 1, 2, 2, -1), "4,1,2,2");
  expect (&f, gst_buffer_new (), "4,1,2,2"); /* without any time it is held */
  expect (&f, at (310), "4,1,2,2");
  expect (&f, at (410), "4,1,2,2");
  expect (&f, at (411), "none");
  gst_cf_roi_reset (f.roi);
  expect (&f, at (310), "none");
  expect (&f, with (gst_buffer_new (), "a", 4, 1, 2, 2, -1), "4,1,2,2");
  expect (&f, at (410), "4,1,2,2");
  expect (&f, at (411), "none");
  gst_cf_roi_reset (f.roi);
  expect (&f, with (at (320), "a", 1, 1, 2, 2, -1), "1,1,2,2");
  set_value (f.element, "roi-hold", "0");
  expect (&f, at (330), "none");
  set_value (f.element, "roi-hold", "60000");
  expect (&f, at (340), "none");
  /* The time of a frame without a timestamp is that of the frame before, whether that was to be held or not. */
  gst_cf_roi_reset (f.roi);
  set_value (f.element, "roi-hold", "0");
  expect (&f, at (1000), "none");
  set_value (f.element, "roi-hold", "100");
  expect (&f, with (gst_buffer_new (), "a", 1, 1, 2, 2, -1), "1,1,2,2");
  expect (&f, at (1100), "1,1,2,2");
  expect (&f, at (1101), "none");
  gst_cf_roi_reset (f.roi);
  set_value (f.element, "roi-hold", "60000");
  /* Too many to hold each by itself: none is lost. */
  in = at (350);
  for (guint i = 0; i < 3000; i++)
    with (in, "a", 20 + i, 20, 1, 1, -1);
  expect (&f, in, "none");
  expect (&f, with (at (360), "a", 0, 0, 1, 1, -1), "0,0,16,8");
  expect (&f, at (60349), "0,0,16,8");
  close_fixture (&f);
}
GST_END_TEST

/* Where the time jumps back without a flush, what is held has the age that it had; small steps back are taken as they
 * are. */
GST_START_TEST (held_while_time_jumps)
{
  Fixture f;

  open_fixture (&f);
  set_value (f.element, "roi-meta", "true");
  set_value (f.element, "roi-hold", "100");
  set_value (f.element, "roi-missing", "pass");
  expect (&f, with (at (1000), "a", 1, 1, 2, 2, -1), "1,1,2,2");
  expect (&f, with (at (1060), "a", 4, 1, 2, 2, -1), "1,1,2,2 4,1,2,2");
  expect (&f, at (20), "1,1,2,2 4,1,2,2");
  expect (&f, at (60), "1,1,2,2 4,1,2,2");
  expect (&f, at (61), "4,1,2,2");
  expect (&f, at (120), "4,1,2,2");
  expect (&f, at (121), "none");
  expect (&f, with (at (500), "a", 1, 1, 2, 2, -1), "1,1,2,2");
  expect (&f, at (440), "1,1,2,2");
  expect (&f, at (400), "1,1,2,2");
  expect (&f, at (399), "none");
  expect (&f, with (at (500), "a", 1, 1, 2, 2, -1), "1,1,2,2");
  expect (&f, at (560), "1,1,2,2");
  f.segment.base = G_MAXUINT64 - 2000 * GST_MSECOND; /* a difference that no 64 bits hold */
  expect (&f, at (561), "none");
  f.segment.base = 0;
  expect (&f, with (at (0), "a", 1, 1, 2, 2, -1), "1,1,2,2");
  expect (&f, at (100), "1,1,2,2");
  expect (&f, at (101), "none");
  close_fixture (&f);
}
GST_END_TEST

/* The regions of frames of another size are rounded outward; those found since are not scaled. */
GST_START_TEST (resized)
{
  Fixture f;

  open_fixture (&f);
  set_value (f.element, "roi-meta", "true");
  set_value (f.element, "roi-hold", "100");
  set_value (f.element, "roi-missing", "pass");
  gst_cf_roi_resize (f.roi, WIDTH, HEIGHT);
  expect (&f, with (at (0), "a", 3, 1, 3, 3, -1), "3,1,3,3");
  gst_cf_roi_resize (f.roi, WIDTH, HEIGHT);
  expect (&f, at (10), "3,1,3,3");
  gst_cf_roi_resize (f.roi, WIDTH / 2, HEIGHT / 2);
  expect (&f, with (at (50), "a", 10, 1, 1, 1, -1), "1,0,2,2 10,1,1,1");
  expect (&f, with (at (60), "a", 1, 0, 2, 2, -1), "1,0,2,2 10,1,1,1"); /* held under its new rectangle */
  expect (&f, at (160), "1,0,2,2");
  gst_cf_roi_resize (f.roi, WIDTH, HEIGHT);
  expect (&f, at (160), "2,0,4,4");
  expect (&f, at (161), "none");
  set_value (f.element, "roi-hold", "0");
  set_value (f.element, "roi-missing", "last");
  expect (&f, with (gst_buffer_new (), "a", 3, 1, 3, 3, -1), "3,1,3,3");
  for (gint i = 0; i < 3; i++) { /* nothing is lost or added on the way back */
    gst_cf_roi_resize (f.roi, WIDTH / 3, HEIGHT / 2 - 1);
    expect (&f, gst_buffer_new (), "0,0,2,2");
    gst_cf_roi_resize (f.roi, WIDTH, HEIGHT);
    expect (&f, gst_buffer_new (), "3,1,3,3");
  }
  close_fixture (&f);
}
GST_END_TEST

/* In frames of another shape the regions of earlier ones may be anywhere. */
GST_START_TEST (reshaped)
{
  Fixture f;

  open_fixture (&f);
  set_value (f.element, "roi-meta", "true");
  set_value (f.element, "roi-shape", "ellipse");
  gst_cf_roi_resize (f.roi, WIDTH / 2, HEIGHT);
  gst_cf_roi_resize (f.roi, WIDTH, HEIGHT);
  expect (&f, gst_buffer_new (), "none");
  gst_cf_roi_resize (f.roi, WIDTH / 2, HEIGHT);
  expect (&f, with (gst_buffer_new (), "a", 3, 1, 1, 1, -1), "3,1,1,1");
  gst_cf_roi_resize (f.roi, WIDTH, HEIGHT);
  expect (&f, gst_buffer_new (), "all");
  set_value (f.element, "roi-invert", "true");
  expect (&f, gst_buffer_new (), "all");
  set_value (f.element, "roi-invert", "false");
  set_value (f.element, "roi-type", "b");
  expect (&f, gst_buffer_new (), "none");
  set_value (f.element, "roi-type", NULL);
  set_value (f.element, "roi-missing", "pass");
  expect (&f, gst_buffer_new (), "none");
  set_value (f.element, "roi-missing", "last");
  gst_cf_roi_resize (f.roi, WIDTH / 2, HEIGHT / 2);
  expect (&f, gst_buffer_new (), "all");
  expect (&f, with (gst_buffer_new (), "a", 3, 1, 1, 1, -1), "3,1,1,1");
  expect (&f, gst_buffer_new (), "3,1,1,1");

  gst_cf_roi_reset (f.roi);
  set_value (f.element, "roi-hold", "100");
  set_value (f.element, "roi-missing", "pass");
  expect (&f, with (at (0), "a", 3, 1, 1, 1, -1), "3,1,1,1");
  gst_cf_roi_resize (f.roi, WIDTH, HEIGHT);
  gst_cf_roi_resize (f.roi, WIDTH, HEIGHT - 5);
  expect (&f, with (at (50), "a", 6, 2, 2, 2, -1), "all"); /* what was held before may be elsewhere */
  expect (&f, at (100), "all");
  expect (&f, at (101), "6,2,2,2");
  expect (&f, at (151), "none");
  close_fixture (&f);
}
GST_END_TEST

/* The rectangle that more than 1024 regions end with is around the last of them: whichever side they are on, and no
 * larger. */
GST_START_TEST (held_too_many)
{
  static const struct {
    guint x, y, w, h;
    const gchar *right;
  } rows[] = {
    { 9, 4, 2, 1, "6,3,5,2" },
    { 1, 1, 2, 1, "1,1,7,3" },
    { 4, 2, 9, 5, "4,2,9,5" },
    { 7, 3, 1, 1, "6,3,2,1" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    GstBuffer *in = at (0);
    Fixture f;

    open_fixture (&f);
    set_value (f.element, "roi-meta", "true");
    set_value (f.element, "roi-hold", "100");
    set_value (f.element, "roi-missing", "pass");
    for (guint n = 0; n < 1023; n++)
      with (in, "outside", 20 + n, 20, 1, 1, -1);
    with (with (in, "last", 6, 3, 2, 1, -1), "more", rows[i].x, rows[i].y, rows[i].w, rows[i].h, -1);
    expect (&f, in, rows[i].right);
    expect (&f, at (100), rows[i].right);
    expect (&f, at (101), "none");
    close_fixture (&f);
  }
}
GST_END_TEST

/* Opens a fixture that holds faces for 100 ms. */
static void
open_faces (Fixture *f)
{
  open_fixture (f);
  set_value (f->element, "roi-meta", "true");
  set_value (f->element, "roi-type", "face");
  set_value (f->element, "roi-hold", "100");
  set_value (f->element, "roi-missing", "pass");
}

/* Adds a region of cudasegment's to a frame, which it returns. */
static GstBuffer *
region (GstBuffer *in, gint id, guint x, guint y, guint w, guint h)
{
  gst_buffer_add_video_region_of_interest_meta (in, "region", x, y, w, h)->id = id;
  return in;
}

/* A held face moves with its region and stays hidden where it was. */
GST_START_TEST (carried)
{
  Fixture f;

  open_faces (&f);
  expect (&f, region (with (at (0), "face", 2, 2, 2, 2, -1), 7, 1, 1, 4, 6), "2,2,2,2");
  expect (&f, region (at (10), 7, 3, 1, 4, 6), "2,2,2,2 2,0,6,6");
  expect (&f, region (at (20), 7, 6, 1, 4, 6), "2,2,2,2 5,0,6,6");
  expect (&f, region (at (30), 7, 6, 1, 5, 7), "2,2,2,2 5,0,7,7"); /* wider by 1: it may have moved by 5 or 6 */
  expect (&f, region (at (40), 7, 8, 2, 2, 5), "2,2,2,2 5,0,8,7"); /* narrower: by 7 or 5 */
  expect (&f, region (at (50), 7, 6, 1, 4, 6), "2,2,2,2 5,0,6,6"); /* no error adds up */
  expect (&f, region (gst_buffer_new (), 7, 5, 1, 4, 6), "2,2,2,2 4,0,6,6");
  expect (&f, region (at (100), 7, 6, 1, 4, 6), "2,2,2,2 5,0,6,6");
  expect (&f, region (at (101), 7, 6, 1, 4, 6), "none");
  gst_cf_roi_reset (f.roi);
  expect (&f, region (at (0), 7, 6, 1, 4, 6), "none");
  /* The region that fits best carries it; none does that does not cover its centre, or is of another type. */
  expect (&f,
      region (region (region (with (at (0), "face", 6, 2, 2, 2, -1), 1, 0, 0, 16, 8), 2, 5, 1, 4, 4), 3, 8, 3, 1, 1),
      "6,2,2,2");
  expect (&f, region (region (region (at (10), 1, 0, 0, 13, 8), 2, 6, 1, 4, 4), 3, 0, 3, 1, 1), "6,2,2,2 5,0,6,6");
  gst_cf_roi_reset (f.roi);
  expect (&f, with (with (at (0), "face", 6, 2, 2, 2, -1), "person", 5, 1, 4, 6, -1), "6,2,2,2");
  expect (&f, with (at (10), "person", 8, 1, 4, 6, -1), "6,2,2,2");
  close_fixture (&f);
}
GST_END_TEST

/* Motion is known by cells of 16 pixels, and its ids mean nothing. */
GST_START_TEST (carried_by_motion)
{
  Fixture f;

  open_faces (&f);
  expect (&f, with (with (at (0), "face", -30u, 2, 4, 2, -1), "motion", -32u, 0, 16, 8, -1), "none");
  expect (&f, with (at (10), "motion", -25u, 0, 16, 8, -1), "none"); /* up to -26 + 7 + 16 */
  expect (&f, with (at (20), "motion", -20u, 0, 16, 8, -1), "0,0,2,8");
  expect (&f, with (with (at (30), "motion", -20u, 0, 16, 8, -1), "motion", -15u, 0, 16, 8, -1), "0,0,7,8");
  /* From border to border it says nothing: a face may move by ten of its widths a second. */
  gst_cf_roi_reset (f.roi);
  expect (&f, with (with (at (0), "face", -40u, 2, 20, 2, -1), "motion", -50u, 0, 70, 8, -1), "none");
  expect (&f, with (at (20), "motion", -50u, 0, 70, 8, -1), "none");
  expect (&f, with (at (50), "motion", -50u, 0, 70, 8, -1), "0,0,6,8");
  expect (&f, with (at (60), "motion", -50u, 0, 65, 8, -1), "none");
  close_fixture (&f);
}
GST_END_TEST

/* People who meet are one region, without ids as well; who stands has none, and goes on with the next. A region with
 * another id is not the same. */
GST_START_TEST (carrier_changes)
{
  Fixture f;

  open_faces (&f);
  expect (&f, region (with (at (0), "face", 2, 2, 2, 2, -1), 0, 1, 1, 4, 6), "2,2,2,2");
  expect (&f, region (region (at (10), 0, 2, 1, 4, 6), 0, 12, 1, 4, 6), "2,2,2,2 1,0,6,6");
  expect (&f, region (at (20), 0, 3, 1, 9, 6), "2,2,2,2 2,0,11,6");
  expect (&f, region (region (at (30), 0, 4, 1, 3, 6), 0, 8, 1, 3, 6), "2,2,2,2 3,0,9,6");
  gst_cf_roi_reset (f.roi);
  expect (&f, region (with (at (0), "face", 2, 2, 2, 2, -1), 7, 1, 1, 4, 6), "2,2,2,2");
  expect (&f, region (at (10), 7, 6, 1, 4, 6), "2,2,2,2"); /* it has jumped: it is another one */
  expect (&f, region (with (at (20), "face", 2, 2, 2, 2, -1), 7, 1, 1, 4, 6), "2,2,2,2");
  expect (&f, region (at (30), 7, 4, 1, 4, 6), "2,2,2,2 3,0,6,6");
  expect (&f, at (40), "2,2,2,2 3,0,6,6");
  expect (&f, region (at (50), 8, 7, 1, 4, 6), "2,2,2,2 3,0,6,6"); /* not around the centre at 6, 3 */
  expect (&f, region (at (60), 8, 5, 1, 4, 6), "2,0,7,6 1,0,10,8");
  expect (&f, region (at (70), 8, 8, 1, 4, 6), "2,0,7,6 4,0,10,8");
  expect (&f, region (at (80), 9, 9, 1, 4, 6), "2,0,12,8 2,0,14,8"); /* the centre is 9, 3 */
  close_fixture (&f);
}
GST_END_TEST

/* A face that is found again replaces the older ones of the same object only. */
GST_START_TEST (carried_is_replaced)
{
  Fixture f;

  open_faces (&f);
  expect (&f, region (with (at (0), "face", 2, 2, 2, 2, -1), 7, 1, 1, 4, 6), "2,2,2,2");
  expect (&f, region (with (at (10), "face", 5, 2, 2, 2, -1), 7, 4, 1, 4, 6), "2,2,2,2 5,2,2,2");
  expect (&f, region (at (20), 7, 5, 1, 4, 6), "2,2,2,2 5,2,2,2 4,0,6,6");
  expect (&f, region (at (101), 7, 5, 1, 4, 6), "5,2,2,2 4,0,6,6");
  expect (&f, region (at (111), 7, 5, 1, 4, 6), "none");
  /* Another place in the same region; the same place in another region. */
  gst_cf_roi_reset (f.roi);
  expect (&f, region (with (at (0), "face", 2, 2, 2, 2, -1), 7, 1, 1, 6, 6), "2,2,2,2");
  expect (&f, region (with (at (10), "face", 6, 2, 2, 2, -1), 7, 2, 1, 6, 6), "2,2,2,2 6,2,2,2 1,0,6,6");
  gst_cf_roi_reset (f.roi);
  expect (&f, region (with (at (0), "face", 2, 2, 2, 2, -1), 7, 1, 1, 4, 6), "2,2,2,2");
  expect (&f, region (region (with (at (10), "face", 5, 2, 2, 2, -1), 7, 4, 1, 6, 7), 8, 4, 2, 4, 2),
      "2,2,2,2 5,2,2,2 3,0,8,7");
  expect (&f, region (region (at (20), 7, 4, 1, 6, 7), 8, 5, 2, 4, 2), "2,2,2,2 5,2,2,2 3,0,8,7 4,0,6,6");
  /* Of two, the nearer one: the other is hidden where it may be. */
  gst_cf_roi_reset (f.roi);
  expect (&f, region (with (with (at (0), "face", 2, 2, 2, 2, -1), "face", 6, 2, 2, 2, -1), 7, 1, 1, 8, 6),
      "2,2,2,2 6,2,2,2");
  expect (&f, region (with (at (10), "face", 8, 2, 2, 2, -1), 7, 2, 1, 12, 6), "2,2,2,2 6,2,2,2 8,2,2,2 1,0,10,6");
  /* Two that are found in one frame stay two. */
  gst_cf_roi_reset (f.roi);
  expect (&f, region (with (with (at (0), "face", 2, 2, 6, 4, -1), "face", 2, 2, 2, 2, -1), 7, 1, 1, 8, 6), "2,2,6,4");
  expect (&f, region (at (10), 7, 5, 1, 8, 6), "2,2,6,4 4,0,10,8");
  /* One that comes to where another was is no reason to forget that one. */
  gst_cf_roi_reset (f.roi);
  expect (&f, region (with (at (0), "face", 2, 2, 2, 2, -1), 7, 1, 1, 4, 6), "2,2,2,2");
  expect (&f, region (at (10), 7, 4, 1, 4, 6), "2,2,2,2 3,0,6,6");
  expect (&f, region (at (20), 7, 7, 1, 4, 6), "2,2,2,2 6,0,6,6");
  expect (&f, region (with (at (30), "face", 2, 2, 2, 2, -1), 7, 8, 1, 4, 6), "2,2,2,2 7,0,6,6");
  expect (&f, region (at (110), 7, 8, 1, 4, 6), "2,2,2,2");
  close_fixture (&f);
}
GST_END_TEST

/* What holds of held regions holds of those that move: times that jump, crops, sizes and shapes of the frame; without a
 * region, or with one that is filtered itself, and inverted they stay. */
GST_START_TEST (carried_elsewhere)
{
  Fixture f;

  open_faces (&f);
  gst_cf_roi_resize (f.roi, WIDTH, HEIGHT);
  expect (&f, region (with (at (1000), "face", 2, 2, 2, 2, -1), 7, 1, 1, 4, 6), "2,2,2,2");
  expect (&f, region (at (1060), 7, 3, 1, 4, 6), "2,2,2,2 2,0,6,6");
  expect (&f, region (at (20), 7, 4, 1, 4, 6), "2,2,2,2 3,0,6,6"); /* it keeps its age */
  expect (&f, region (at (60), 7, 4, 1, 4, 6), "2,2,2,2 3,0,6,6");
  expect (&f, region (at (61), 7, 4, 1, 4, 6), "none");

  expect (&f, region (with (part_at (70, 10, 5), "face", 12, 7, 2, 2, -1), 7, 11, 6, 4, 6), "2,2,2,2");
  expect (&f, region (part_at (80, 9, 5), 7, 13, 6, 4, 6), "3,2,2,2 3,0,6,6");
  expect (&f, region (part_at (90, 13, 5), 7, 14, 6, 4, 6), "0,0,6,6");

  gst_cf_roi_reset (f.roi);
  expect (&f, region (with (at (0), "face", 2, 2, 2, 2, -1), 7, 1, 1, 4, 6), "2,2,2,2");
  expect (&f, region (at (10), 7, 3, 1, 4, 6), "2,2,2,2 2,0,6,6");
  gst_cf_roi_resize (f.roi, WIDTH / 2, HEIGHT / 2);
  expect (&f, region (at (20), 7, 2, 0, 2, 4), "1,1,1,1 0,0,6,4");
  gst_cf_roi_resize (f.roi, WIDTH, HEIGHT / 2 - 1);
  expect (&f, region (at (30), 7, 2, 0, 2, 4), "all");

  gst_cf_roi_reset (f.roi);
  expect (&f, region (with (at (0), "face", 2, 2, 2, 2, -1), 7, 1, 1, 4, 6), "2,2,2,2");
  expect (&f, region (at (10), 7, 3, 1, 4, 6), "2,2,2,2 2,0,6,6");
  set_value (f.element, "roi-invert", "true");
  expect (&f, region (at (20), 7, 4, 1, 4, 6), "0,0,16,2 0,2,2,2 4,2,12,2 0,4,16,4");
  set_value (f.element, "roi-invert", "false");
  set_value (f.element, "roi-type", "face,region");
  expect (&f, region (with (at (30), "face", 2, 2, 2, 2, -1), 7, 1, 1, 4, 6), "1,1,4,6");
  expect (&f, region (at (40), 7, 5, 1, 4, 6), "1,1,4,6 5,1,4,6");
  set_value (f.element, "roi-type", NULL);
  expect (&f, region (at (50), 7, 8, 1, 4, 6), "1,1,4,6 5,1,4,6 8,1,4,6");
  close_fixture (&f);
}
GST_END_TEST

/* An ellipse holds that of the face in all of its places. */
GST_START_TEST (carried_ellipse)
{
  guint8 strength[PIXELS];
  Fixture f;

  open_faces (&f);
  set_value (f.element, "roi-shape", "ellipse");
  draw (&f, region (with (at (0), "face", 5, 3, 2, 2, -1), 7, 4, 1, 4, 6), strength);
  draw (&f, region (at (10), 7, 6, 1, 5, 6), strength);
  for (gint y = 1; y < 7; y++)
    for (gint x = 5; x < 12; x++)
      fail_unless_equals_int (strength[y * WIDTH + x], 255);
  fail_unless_equals_int (strength[4 * WIDTH + 1], 0);
  close_fixture (&f);
}
GST_END_TEST

/* A frame with 1024 held faces and 8000 regions takes 6 to 9 ms on a Xeon; a test does not fail for a slow machine. */
GST_START_TEST (carried_many)
{
  GstBuffer *in = at (0), *next = at (10);
  clock_t begin;
  Fixture f;

  open_faces (&f);
  for (guint i = 0; i < 1024; i++)
    with (in, "face", 20 + 8 * (i % 32), 20 + 8 * (i / 32), 2, 2, -1);
  for (guint i = 0; i < 8000; i++) {
    region (in, (gint) i, 16 + 3 * (i % 100), 16 + 3 * (i / 100), 6, 6);
    region (next, (gint) i, 17 + 3 * (i % 100), 16 + 3 * (i / 100), 6, 6);
  }
  begin = clock ();
  expect (&f, in, "none");
  expect (&f, next, "none");
  fail_unless (clock () - begin < CLOCKS_PER_SEC, "two frames took %g s",
      (gdouble) (clock () - begin) / CLOCKS_PER_SEC);
  close_fixture (&f);
}
GST_END_TEST

/* The regions of frames that pass count, too; a frame that cannot pass has an empty area. */
GST_START_TEST (not_enabled)
{
  GstBuffer *in;
  Fixture f;

  open_fixture (&f);
  set_value (f.element, "enabled", "false");
  expect (&f, gst_buffer_new (), "none");
  fail_unless (gst_cf_roi_is_used (f.roi) && !gst_cf_roi_is_enabled (f.roi));
  set_value (f.element, "roi-meta", "true");
  expect (&f, with (gst_buffer_new (), "a", 1, 1, 2, 2, -1), "none");
  in = with (gst_buffer_new (), "a", 4, 1, 2, 2, -1);
  gst_cf_roi_see (f.roi, in, &f.segment, &f.info);
  gst_buffer_unref (in);
  set_value (f.element, "enabled", "true");
  expect (&f, gst_buffer_new (), "4,1,2,2");
  close_fixture (&f);
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("roi");

  /* The elements are those of this program: no plugin is searched for. */
  g_setenv ("GST_REGISTRY_DISABLE", "yes", TRUE);
  gst_init (&argc, &argv);
  if (!gst_element_register (NULL, "cudaconvolve", GST_RANK_NONE, GST_TYPE_CUDA_CONVOLVE))
    return 1;
  tcase_add_loop_test (tests, texts, 0, G_N_ELEMENTS (good));
  tcase_add_loop_test (tests, bad_texts, 0, G_N_ELEMENTS (bad));
  tcase_add_test (tests, decimal_comma);
  tcase_add_test (tests, corrected_before_start);
  tcase_add_test (tests, pixels_of_a_size);
  tcase_add_test (tests, grow_shape_invert);
  tcase_add_test (tests, areas_are_kept);
  tcase_add_test (tests, mask_values);
  tcase_add_test (tests, mask_vanishes);
  tcase_add_test (tests, mask_is_cut);
  tcase_add_test (tests, mask_is_refused);
  tcase_add_test (tests, metadata);
  tcase_add_test (tests, rectangles_change);
#ifdef HAVE_GST_ANALYTICS
  tcase_add_test (tests, analytics);
#endif
  tcase_add_test (tests, cropped);
  tcase_add_loop_test (tests, panned, 0, 2);
  tcase_add_test (tests, missing);
  tcase_add_test (tests, empty_regions);
  tcase_add_test (tests, held);
  tcase_add_test (tests, held_while_time_jumps);
  tcase_add_test (tests, held_too_many);
  tcase_add_test (tests, resized);
  tcase_add_test (tests, reshaped);
  tcase_add_test (tests, carried);
  tcase_add_test (tests, carried_by_motion);
  tcase_add_test (tests, carrier_changes);
  tcase_add_test (tests, carried_is_replaced);
  tcase_add_test (tests, carried_elsewhere);
  tcase_add_test (tests, carried_ellipse);
  tcase_add_test (tests, carried_many);
  tcase_add_test (tests, not_enabled);
  return run_suite (argc, argv, "roi", tests, FALSE);
}
