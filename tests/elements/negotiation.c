/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * negotiation.c: caps on offer, backends, the choice of the GPU for the next element
 * (with made-up counts). flight.c has new caps, states, events and latency. */
#include "common.h"
#include "cf.h"
#include "gstcfdevices.h"

static gboolean
names_cuda (GstCaps *caps)
{
  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    GstCapsFeatures *f = gst_caps_get_features (caps, i);

    if (!gst_caps_features_is_any (f) && gst_caps_features_contains (f, CUDA_FEATURE))
      return TRUE;
  }
  return FALSE;
}

static GstCaps *
query_pad (GstElement *element, const gchar *name, const gchar *filter)
{
  GstCaps *caps = filter ? gst_caps_from_string (filter) : NULL, *result;
  GstPad *pad = gst_element_get_static_pad (element, name);

  result = gst_pad_query_caps (pad, caps);
  if (caps)
    gst_caps_unref (caps);
  gst_object_unref (pad);
  return result;
}

static gboolean
offers_cuda (GstElement *element, const gchar *pad)
{
  GstCaps *caps = query_pad (element, pad, NULL);
  gboolean offers = names_cuda (caps);

  fail_if (gst_caps_is_empty (caps));
  gst_caps_unref (caps);
  return offers;
}

/* On the CPU neither pad offers CUDA memory. On the GPU the sink pad does, and the src pad for
 * system memory input only if downstream names it. */
GST_START_TEST (memory_on_offer)
{
  static const gchar *const silent[] = { "ANY", "video/x-raw(ANY)", "video/x-raw", "video/x-raw;video/x-raw(ANY)" };
  static const gchar *const naming[] = { "video/x-raw(" CUDA_FEATURE ")", "video/x-raw;video/x-raw(" CUDA_FEATURE ")" };
  GstElement *element = new_element (NULL);

  fail_unless (offers_cuda (element, "sink") == on_gpu ());
  gst_object_unref (element);
  for (gsize i = 0; i < G_N_ELEMENTS (silent) + G_N_ELEMENTS (naming); i++) {
    gboolean named = i >= G_N_ELEMENTS (silent), cuda;
    GstHarness *h = new_harness (new_element (NULL));
    GstVideoInfo info;
    GstCaps *caps;

    if (i == G_N_ELEMENTS (silent) && !on_gpu ()) { /* only CUDA memory: nothing to negotiate */
      free_harness (h);
      continue;
    }
    gst_harness_set_sink_caps_str (h, named ? naming[i - G_N_ELEMENTS (silent)] : silent[i]);
    fail_unless (offers_cuda (h->element, "sink") == on_gpu (), "input before %u", (guint) i);
    set_caps (h, video_caps ("NV12", 64, 48, NULL), &info);
    fail_unless (offers_cuda (h->element, "src") == (on_gpu () && named), "output before %u", (guint) i);
    /* If downstream names both, it is CUDA memory. */
    gst_buffer_unref (push_pull (h, random_frame (&info, 1, 0)));
    caps = gst_pad_get_current_caps (h->sinkpad);
    cuda = names_cuda (caps);
    gst_caps_unref (caps);
    fail_unless (cuda == (on_gpu () && named), "output caps before %u", (guint) i);
    close_harness (h, 1);
  }
}
GST_END_TEST

/* Sizes and formats pass from pad to pad; unsupported formats are removed. */
GST_START_TEST (caps_go_through)
{
  GstElement *element = new_element (NULL);
  GstCaps *caps = query_pad (element, "sink", "video/x-raw,format={NV12,RGB16,v210},width=[1,100000],height=7");
  GstStructure *s = gst_caps_get_structure (caps, gst_caps_get_size (caps) - 1);
  GstCaps *wrong = query_pad (element, "src", "video/x-raw,format=v210");

  fail_unless_equals_string (gst_structure_get_string (s, "format"), "NV12");
  fail_unless_equals_int (gst_value_get_int_range_max (gst_structure_get_value (s, "width")), 16384);
  fail_unless (gst_caps_is_empty (wrong));
  gst_caps_unref (wrong);
  gst_caps_unref (caps);
  gst_object_unref (element);
}
GST_END_TEST

GST_START_TEST (active_backend)
{
  GstElement *element = new_element (NULL);
  gint before, active;

  g_object_get (element, "active-backend", &before, NULL);
  fail_unless_equals_int (before, 0);
  fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
  g_object_get (element, "active-backend", &active, NULL);
  fail_unless_equals_int (active, on_gpu () ? 1 : 2);
  gst_element_set_state (element, GST_STATE_NULL);
  /* backend=auto posts no message: it uses what is available. */
  gst_util_set_object_arg (G_OBJECT (element), "backend", "auto");
  fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
  g_object_get (element, "active-backend", &active, NULL);
  if (on_gpu ())
    fail_unless_equals_int (active, 1);
  expect_no_messages (element);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_object_unref (element);
}
GST_END_TEST

GST_START_TEST (no_such_gpu)
{
  GstElement *element = new_element ("backend", "cuda", "cuda-device-id", "1000", NULL);
  gchar *text;

  fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  if (on_gpu ())
    text = only_message (element, GST_MESSAGE_ERROR, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_INIT);
  else
    text = only_message (element, GST_MESSAGE_ERROR, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND);
  fail_unless (strstr (text, "GPU") != NULL);
  g_free (text);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_object_unref (element);
}
GST_END_TEST

GST_START_TEST (fewest)
{
  static const struct {
    guint n, numbers[4], unfit;
    gint right;
  } rows[] = { { 0, { 0 }, 0, -1 }, { 1, { 7 }, 0, 0 }, { 2, { 0, 0 }, 0, 0 }, { 2, { 3, 2 }, 0, 1 },
    { 4, { 5, 1, 1, 2 }, 0, 1 }, { 4, { 9, 9, 9, 8 }, 0, 3 }, { 3, { 0, 1, 2 }, 0, 0 }, { 3, { 0, 1, 2 }, 1, 1 },
    { 4, { 5, 1, 1, 2 }, 6, 3 }, { 2, { 0, 1 }, 3, -1 } };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    fail_unless_equals_int (cf_gpu_fewest (rows[i].numbers, rows[i].n, rows[i].unfit), rows[i].right);
}
GST_END_TEST

/* New elements are distributed evenly; a device that loses an element is next. */
GST_START_TEST (dealt_out)
{
  gint given[4] = { 0 };

  for (gint i = 0; i < 10; i++) {
    gint device = gst_cf_devices_choose (4, 0);

    fail_unless_equals_int (device, i % 4);
    gst_cf_devices_count (device, 1);
    given[device]++;
  }
  gst_cf_devices_count (3, -1);
  fail_unless_equals_int (gst_cf_devices_choose (4, 0), 3);
  gst_cf_devices_count (0, 5); /* elements with a device number, or on a neighbour's device */
  fail_unless_equals_int (gst_cf_devices_choose (2, 0), 1);
  fail_unless_equals_int (gst_cf_devices_choose (1, 0), 0);
  fail_unless_equals_int (gst_cf_devices_choose (0, 0), -1);
  fail_unless_equals_int (gst_cf_devices_choose (4, 1 << 3), 2); /* not one that hangs */
  fail_unless_equals_int (gst_cf_devices_choose (2, 3), -1);
  gst_cf_devices_count (-1, 1);
  gst_cf_devices_count (GST_CF_MAX_DEVICES, 1);
  fail_unless_equals_int (gst_cf_devices_choose (1000, 0), 4);
  fail_unless_equals_int (given[0] + given[1] + given[2] + given[3], 10);
}
GST_END_TEST

int
main (int argc, char **argv)
{
  TCase *tests = tcase_create ("negotiation");

  tcase_add_test (tests, memory_on_offer);
  tcase_add_test (tests, caps_go_through);
  tcase_add_test (tests, active_backend);
  tcase_add_test (tests, fewest);
  tcase_add_test (tests, dealt_out);
  /* On a host with a GPU whose CPU is tested this would find the GPU. */
  if (on_gpu ())
    tcase_add_test (tests, no_such_gpu);
  return run_suite (argc, argv, "negotiation", tests, FALSE);
}
