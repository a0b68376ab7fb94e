/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * properties_denoise.c: the table of cudadenoise. */
#include "properties.h"

/* Flat, but for two samples. */
static const guint8 flat[16] = { 100, 100, 100, 106, 100, 100, 100, 100, 100, 100, 100, 100, 100, 200, 100, 100 };

static const Setting by_hand[] = { { "noise", "8" }, { NULL } };

static const Step steps[] = { { "strength", "0",
                                  { 100, 100, 100, 106, 100, 100, 100, 100, 100, 100, 100, 100, 100, 200, 100, 100 } },
  { "noise", "0", { 100, 100, 100, 106, 100, 100, 100, 100, 100, 100, 100, 100, 100, 200, 100, 100 } }, { NULL } };

static const Pass passes[] = { { NULL, "the defaults", FALSE, FALSE }, { "strength", "0", TRUE, TRUE },
  { "strength", "100", FALSE, FALSE }, { "noise", "0", TRUE, TRUE }, { "apply-to", "chroma", TRUE, TRUE },
  { "noise", "5", FALSE, FALSE }, { NULL } };

static const Bad bad[] = { { "noise", "-0.5", "-1" }, { NULL } };

static const Setting kept[] = { { "noise", "8" }, { "strength", "100" }, { NULL } };
static const Setting good[] = { { "noise", "3" }, { NULL } };

static void
show (GstHarness *h, const GstVideoInfo *info, const Refusal *r, guint n)
{
  (void) r;
  gst_buffer_unref (push_pull (h, regions_frame (info, n)));
}

/* Returns the noise of a zone in a list of stats or of a message. */
static gdouble
noise_of (const GstStructure *from, const gchar *name, guint zone)
{
  const GValue *list = gst_structure_get_value (from, name);

  fail_unless (list && gst_value_array_get_size (list) == 8, "no %s", name);
  return g_value_get_double (gst_value_array_get_value (list, zone));
}

/* A gray frame with noise of `sigma`, and nothing else. */
static GstBuffer *
noisy_frame (const GstVideoInfo *info, gdouble sigma, GRand *random)
{
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (info), NULL);
  GstMapInfo map;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  for (gsize i = 0; i < map.size; i++) {
    gdouble sum = -6;

    for (guint k = 0; k < 12; k++) /* nearly a normal distribution, of deviation 1 */
      sum += g_rand_double (random);
    map.data[i] = (guint8) (100.5 + sigma * sum);
  }
  gst_buffer_unmap (buffer, &map);
  return buffer;
}

/* Returns the mean distance of a frame's samples from 100. */
static gdouble
distance_of (GstBuffer *buffer)
{
  GstMapInfo map;
  gdouble sum = 0;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  for (gsize i = 0; i < map.size; i++)
    sum += ABS (map.data[i] - 100);
  sum /= (gdouble) map.size;
  gst_buffer_unmap (buffer, &map);
  return sum;
}

/* The noise of a picture is found, most of it goes, and a message tells when it changes. */
GST_START_TEST (noise_is_found_and_goes)
{
  GstElement *element = gst_element_factory_make ("cudadenoise", NULL);
  GRand *random = g_rand_new_with_seed (1);
  GstBus *bus = gst_bus_new ();
  GstStructure *stats;
  GstVideoInfo info;
  GstHarness *h;
  guint messages = 0;

  gst_element_set_bus (element, bus);
  g_object_set (element, "message-interval", 1, NULL);
  h = new_stream (element, "GRAY8", 320, 240, &info);
  for (guint n = 0; n < 40; n++) {
    const gdouble sigma = n < 20 ? 5 : 15;
    GstBuffer *in = noisy_frame (&info, sigma, random), *out;
    GstMessage *message;
    gdouble found;

    GST_BUFFER_PTS (in) = n * 40 * GST_MSECOND;
    out = push_pull (h, in);
    g_object_get (element, "stats", &stats, NULL);
    found = noise_of (stats, "noise-estimate", 3);
    if (n == 19 || n == 39) {
      fail_unless (ABS (found - sigma) < sigma / 10, "the noise is %g, found was %g", sigma, found);
      fail_unless (distance_of (out) < sigma / 8, "noise %g: %g is left", sigma, distance_of (out));
    }
    gst_structure_free (stats);
    gst_buffer_unref (out);
    while ((message = gst_bus_pop_filtered (bus, GST_MESSAGE_ELEMENT))) {
      const GstStructure *s = gst_message_get_structure (message);

      fail_unless_equals_string (gst_structure_get_name (s), "cudadenoise");
      noise_of (s, "noise", 7);
      messages++;
      gst_message_unref (message);
    }
  }
  /* one for the first frame, and from 5 to 15 some, each for a third more */
  fail_unless (messages >= 3 && messages <= 6, "%u messages", messages);
  /* noise that is set is no estimate */
  g_object_set (element, "noise", 8.0, NULL);
  gst_buffer_unref (push_pull (h, noisy_frame (&info, 15, random)));
  g_object_get (element, "stats", &stats, NULL);
  fail_if (gst_structure_has_field (stats, "noise-estimate"));
  gst_structure_free (stats);
  gst_element_set_bus (element, NULL);
  close_harness (h, 41);
  gst_object_unref (bus);
  g_rand_free (random);
}
GST_END_TEST

/* Frames that pass end what is known: the first one behind them is filtered as the first of a stream. */
GST_START_TEST (passing_begins_anew)
{
  GRand *random = g_rand_new_with_seed (2);
  GstElement *element = gst_element_factory_make ("cudadenoise", NULL);
  GstElement *fresh = gst_element_factory_make ("cudadenoise", NULL);
  GstVideoInfo info;
  GstHarness *h, *other;
  GstBuffer *in, *out, *expected;
  GstSegment segment;

  g_object_set (element, "noise", 8., NULL);
  g_object_set (fresh, "noise", 8., NULL);
  h = new_stream (element, "GRAY8", 64, 48, &info);
  other = new_stream (fresh, "GRAY8", 64, 48, &info);
  for (guint way = 0; way < 2; way++) {
    for (guint n = 0; n < 3; n++)
      gst_buffer_unref (push_pull (h, noisy_frame (&info, 8, random)));
    if (way == 0)
      g_object_set (element, "enabled", FALSE, NULL);
    else
      g_object_set (element, "strength", 0, NULL);
    gst_buffer_unref (push_pull (h, noisy_frame (&info, 8, random)));
    g_object_set (element, "enabled", TRUE, "strength", 100, NULL);
    in = noisy_frame (&info, 8, random);
    out = push_pull (h, gst_buffer_ref (in));
    if (way == 1) {
      gst_harness_push_event (other, gst_event_new_flush_start ());
      gst_harness_push_event (other, gst_event_new_flush_stop (TRUE));
      gst_segment_init (&segment, GST_FORMAT_TIME);
      gst_harness_push_event (other, gst_event_new_segment (&segment));
    }
    expected = push_pull (other, in);
    assert_same (&info, out, expected);
    gst_buffer_unref (out);
    gst_buffer_unref (expected);
  }
  close_harness (h, 10);
  close_harness (other, 2);
  g_rand_free (random);
}
GST_END_TEST

static void
add (TCase *tests)
{
  tcase_add_test (tests, noise_is_found_and_goes);
  tcase_add_test (tests, passing_begins_anew);
}

const Properties denoise_properties = {
  .factory = "cudadenoise",
  .start = by_hand,
  .format = "GRAY8",
  .width = 16,
  .height = 1,
  .samples = flat,
  .steps = steps,
  .passes = passes,
  .bad = bad,
  .good_start = good,
  .bad_format = "I420",
  .bad_width = 64,
  .bad_height = 48,
  .refusal = { by_hand, kept, NULL },
  .good = good,
  .show = show,
  .add = add,
};
