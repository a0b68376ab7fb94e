/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * regions.c: the texts that an element takes by itself, and not its filter: the first byte chooses roi, mask-polygons
 * or cuda-device, the rest is the value. What is accepted stays the value, and decides about a small frame,
 * most of which is as it was before; what is refused is said in one sentence, and leaves the value before. */
#include "gstcfdevicename.h"
#include "gstcffilter.h"
#include "stream.h"

#include <string.h>

#define WIDTH 40
#define HEIGHT 24
#define PIXELS (WIDTH * HEIGHT)

static GstElement *element;
static GstBus *bus;
static GstVideoInfo info;

int
LLVMFuzzerInitialize (int *argc, char ***argv)
{
  (void) argc;
  (void) argv;
  stream_init (NULL);
  element = stream_element (1, 1);
  bus = gst_bus_new ();
  gst_element_set_bus (element, bus);
  gst_element_set_state (element, GST_STATE_PAUSED); /* from now on refusals are posted */
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT);
  return 0;
}

static void
check_device (const gchar *text)
{
  CfStatus status = { 0 }, again = { 0 };
  const CfCode code = gst_cf_device_name_check (text, &status);
  gint device = 0;

  if (code != CF_OK)
    fuzz_check_text (status.message, sizeof status.message);
  if (code != CF_OK && code != CF_BAD_VALUE)
    fuzz_fail ("cuda-device: code %d", code);
  /* Without a GPU only a name of none in particular is found. */
  if (gst_cf_device_name_find (text, 0, 0, &device, &again) == CF_BAD_VALUE && code != CF_BAD_VALUE)
    fuzz_fail ("cuda-device: accepted and refused: %s", text);
  if (device != -1)
    fuzz_fail ("cuda-device: GPU %d of none", device);
}

/* Returns the area of a frame. */
static CfArea *
area_now (void)
{
  GstCfRoi *roi = gst_cf_filter_roi (GST_CF_FILTER (element));
  const CfVideo video = { CF_FORMAT_GRAY8, WIDTH, HEIGHT, false };
  const CfTraits traits = { .halo = 1, .halo_columns = 1 };
  GstBuffer *frame = gst_buffer_new ();
  CfStatus status = { 0 };
  GstSegment segment;
  CfArea *area;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_cf_roi_sync (roi);
  area = gst_cf_roi_area (roi, frame, &segment, &info, &video, &traits, &status);
  if (status.code != CF_OK)
    fuzz_fail ("no area: %s", status.message);
  gst_buffer_unref (frame);
  return area;
}

/* Copies what an area is of a white frame into a black one. Returns the number of pixels. */
static guint
n_white (CfArea *area)
{
  guint8 white[PIXELS], black[PIXELS] = { 0 };
  CfImage from, to, layout;
  guint n = 0;

  memset (white, 255, PIXELS);
  cf_image_layout (&layout, CF_FORMAT_GRAY8, WIDTH, HEIGHT, 1);
  cf_image_at (&from, &layout, white);
  cf_image_at (&to, &layout, black);
  cf_image_copy (&to, &from, &(CfPart) { area, CF_AREA_WRITE });
  for (guint i = 0; i < PIXELS; i++)
    n += black[i] == 255;
  return n;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static const gchar *const names[] = { "roi", "mask-polygons", "cuda-device" };
  const gchar *name = names[size > 0 ? data[0] % G_N_ELEMENTS (names) : 0];
  gchar *text = size > 0 ? g_strndup ((const gchar *) data + 1, size - 1) : g_strdup (""), *now;
  CfArea *area;

  if (g_str_equal (name, "cuda-device")) {
    check_device (text);
    g_free (text);
    return 0;
  }
  g_object_set (element, name, text, NULL);
  g_object_get (element, name, &now, NULL);
  if (now && strcmp (now, text) != 0)
    fuzz_fail ("%s is \"%s\", not \"%s\"", name, now, text);
  stream_check_bus (bus);
  area = area_now ();
  if (area && (cf_area_info (area).empty != (n_white (area) == 0) || cf_area_info (area).pixels != n_white (area)))
    fuzz_fail ("%s: %u pixels of %" G_GUINT64_FORMAT, name, n_white (area), cf_area_info (area).pixels);
  if (area && !now)
    fuzz_fail ("%s is refused, but the frame has an area", name);
  cf_area_unref (area);
  g_object_set (element, name, NULL, NULL);
  if (area_now ())
    fuzz_fail ("%s cannot be cleared", name);
  g_free (now);
  g_free (text);
  return 0;
}
