/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * roi.c: the properties for regions, with the base class linked into the program: what of a frame they have filtered,
 * and what is refused. */
#include "roi.h"
#include "gstcudaconvolve.h"

#include <glib/gstdio.h>
#ifdef HAVE_GDK_PIXBUF
#include <gdk-pixbuf/gdk-pixbuf.h>
#endif
#include <string.h>
#include <sys/stat.h>

void
open_fixture (Fixture *f)
{
  const CfFilter *filter = cf_filter_find ("convolve");
  CfCommon common = { 0 };
  gpointer params = cf_params_new (filter, NULL);

  memset (f, 0, sizeof *f);
  f->element = new_convolve (NULL);
  f->roi = gst_cf_filter_private (GST_CF_FILTER (f->element))->roi;
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

void
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

void
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

CfArea *
area_of (Fixture *f, GstBuffer *in)
{
  CfStatus status;
  CfArea *area;

  gst_cf_roi_sync (f->roi);
  area = gst_cf_roi_area (f->roi, in, &f->segment, &f->info, &f->video, &f->traits, &status);
  fail_unless (status.code == CF_OK, "%s", status.message);
  return area;
}

void
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

void
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

GstBuffer *
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
  static const gchar *const formats[] = { "png", "jpeg", "bmp", "tiff", "gif" };
  guint8 rgb[16 * 16 * 3];
  Fixture f;

  for (guint i = 0; i < sizeof rgb; i++)
    rgb[i] = (guint8) (255 - i * 151 % 64);
  open_fixture (&f);
  for (gsize i = reads_pictures (&f) ? 0 : G_N_ELEMENTS (formats); i < G_N_ELEMENTS (formats); i++) {
    gchar *path = strcmp (formats[i], "gif") == 0 ? gif_file () : picture_file (formats[i], 16, 16, rgb), *data;
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
  add_meta_tests (tests);
  return run_suite (argc, argv, "roi", tests, FALSE);
}
