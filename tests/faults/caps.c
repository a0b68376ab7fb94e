/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * caps.c: which memory the pads offer on a host with CUDA memory, the pool of output buffers, and other memory while
 * a frame waits. */
#include "common.h"
#include "fake.h"
#include "gstcudamedian.h"

#include <gst/base/gstbasetransform.h>
#include <stdio.h>

#define RAW "video/x-raw,format=I420,width=16,height=16,framerate=25/1"
#define CUDA "video/x-raw(memory:CUDAMemory),format=I420,width=16,height=16,framerate=25/1"

/* Returns the pad of a neighbour that accepts these caps, linked; NULL without caps. */
static GstPad *
link_neighbour (GstElement *element, const gchar *name, const gchar *text)
{
  GstPad *pad = gst_element_get_static_pad (element, name), *neighbour = NULL;

  if (text) {
    const GstPadDirection direction = gst_pad_get_direction (pad) == GST_PAD_SRC ? GST_PAD_SINK : GST_PAD_SRC;
    GstCaps *caps = gst_caps_from_string (text);
    GstPadTemplate *template = gst_pad_template_new ("neighbour", direction, GST_PAD_ALWAYS, caps);

    neighbour = gst_object_ref_sink (gst_pad_new_from_template (template, NULL));
    faults_check ((direction == GST_PAD_SINK ? gst_pad_link (pad, neighbour) : gst_pad_link (neighbour, pad)) ==
            GST_PAD_LINK_OK,
        "the pads cannot be linked");
    gst_object_unref (template);
    gst_caps_unref (caps);
  }
  gst_object_unref (pad);
  return neighbour;
}

/* Returns the order of the memories in the pad's caps: c CUDA memory, s system memory. */
static gchar *
memory_of (GstElement *element, const gchar *name)
{
  GstPad *pad = gst_element_get_static_pad (element, name);
  GstCaps *caps = gst_pad_query_caps (pad, NULL);
  GString *all = g_string_new (NULL);

  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    const gchar letter = gst_caps_features_contains (gst_caps_get_features (caps, i), "memory:CUDAMemory") ? 'c' : 's';

    if (all->len == 0 || all->str[all->len - 1] != letter)
      g_string_append_c (all, letter);
  }
  gst_caps_unref (caps);
  gst_object_unref (pad);
  return g_string_free (all, FALSE);
}

static void
check_offers (void)
{
  static const struct {
    const gchar *upstream, *downstream, *pad, *memory;
  } rows[] = {
    { NULL, NULL, "sink", "cs" },
    { NULL, NULL, "src", "cs" },
    { NULL, RAW, "sink", "cs" },
    /* A format that CUDA memory cannot hold. */
    { NULL, "video/x-raw,format=NV21,width=16,height=16", "sink", "s" },
    { RAW, NULL, "src", "cs" },
    { RAW, CUDA ";" RAW, "src", "cs" },
    /* CUDA memory that downstream does not name is offered only where it comes from upstream. */
    { RAW, RAW, "src", "s" },
    { RAW, "ANY", "src", "s" },
    { RAW, "video/x-raw(ANY)", "src", "s" },
    { CUDA, "ANY", "src", "sc" },
    { CUDA, CUDA, "src", "cs" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    GstElement *element = gst_object_ref_sink (g_object_new (gst_cuda_median_get_type (), NULL));
    GstPad *src = link_neighbour (element, "sink", rows[i].upstream);
    GstPad *sink = link_neighbour (element, "src", rows[i].downstream);
    gchar *memory = memory_of (element, rows[i].pad);

    if (g_strcmp0 (memory, rows[i].memory) != 0)
      printf ("row %d: %s pad: %s, not %s\n", (int) i, rows[i].pad, memory, rows[i].memory);
    faults_check (g_strcmp0 (memory, rows[i].memory) == 0, "a pad offers other memory");
    g_free (memory);
    g_clear_object (&src);
    g_clear_object (&sink);
    gst_object_unref (element);
  }
}

static GstFlowReturn
take (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  (void) pad;
  (void) parent;
  gst_buffer_unref (buffer);
  return GST_FLOW_OK;
}

/* The pool has a buffer for each frame in flight, for the one that is being pushed, and for the one that a sink
 * keeps, so that no frame waits for an allocation. */
static void
check_pool (gint in_flight)
{
  GstElement *element = gst_object_ref_sink (g_object_new (gst_cuda_median_get_type (), NULL));
  GstPad *src = link_neighbour (element, "sink", RAW), *sink = link_neighbour (element, "src", RAW);
  GstCaps *caps = gst_caps_from_string (RAW);
  GstStructure *config;
  GstBufferPool *pool;
  guint min = 0;

  g_object_set (element, "frames-in-flight", in_flight, NULL);
  gst_pad_set_chain_function (sink, take);
  gst_pad_set_active (sink, TRUE);
  gst_pad_set_active (src, TRUE);
  gst_element_set_state (element, GST_STATE_PLAYING);
  gst_pad_push_event (src, gst_event_new_stream_start ("caps"));
  gst_pad_push_event (src, gst_event_new_caps (caps));
  faults_push_segment (src);
  faults_check (gst_pad_push (src, gst_buffer_new_allocate (NULL, 16 * 24, NULL)) == GST_FLOW_OK, "no frame comes");
  pool = gst_base_transform_get_buffer_pool (GST_BASE_TRANSFORM (element));
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_get_params (config, NULL, NULL, &min, NULL);
  faults_check (min == (guint) in_flight + (in_flight > 1 ? 2 : 1), "the pool has other buffers at its start");
  gst_structure_free (config);
  gst_object_unref (pool);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_pad_set_active (src, FALSE);
  gst_pad_set_active (sink, FALSE);
  gst_caps_unref (caps);
  gst_object_unref (element);
  gst_object_unref (src);
  gst_object_unref (sink);
}

static const gchar *wanted;              /* the caps that downstream takes */
static guint n_came, n_caps, came_first; /* frames; caps events, and how many frames had come at the last one */

static GstFlowReturn
count_frame (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  n_came++;
  return take (pad, parent, buffer);
}

static gboolean
note_caps (GstPad *pad, GstObject *parent, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_CAPS) {
    n_caps++;
    came_first = n_came;
  }
  return gst_pad_event_default (pad, parent, event);
}

static gboolean
want (GstPad *pad, GstObject *parent, GstQuery *query)
{
  GstCaps *caps;

  if (GST_QUERY_TYPE (query) != GST_QUERY_CAPS)
    return gst_pad_query_default (pad, parent, query);
  caps = gst_caps_from_string (wanted);
  gst_query_set_caps_result (query, caps);
  gst_caps_unref (caps);
  return TRUE;
}

/* Downstream wants other memory while a frame waits for a later one: that frame still comes in the old memory. */
static void
check_held (void)
{
  GstElement *element = gst_object_ref_sink (
      g_object_new (gst_cuda_median_get_type (), "temporal-center", TRUE, "temporal-depth", 3, NULL));
  GstCaps *caps = gst_caps_from_string (RAW);
  GstPad *src, *sink;

  wanted = RAW;
  n_came = n_caps = 0;
  faults_link (element, &src, &sink, count_frame, NULL);
  gst_pad_set_query_function (sink, want);
  gst_pad_set_event_function (sink, note_caps);
  gst_element_set_state (element, GST_STATE_PLAYING);
  gst_pad_push_event (src, gst_event_new_stream_start ("caps"));
  gst_pad_push_event (src, gst_event_new_caps (caps));
  faults_push_segment (src);
  for (gint i = 0; i < 4; i++) {
    if (i == 2) {
      faults_check (n_came == 1 && n_caps == 1, "no frame waits");
      wanted = CUDA;
      gst_pad_push_event (sink, gst_event_new_reconfigure ());
    }
    faults_check (gst_pad_push (src, gst_buffer_new_allocate (NULL, 16 * 24, NULL)) == GST_FLOW_OK, "no frame comes");
  }
  faults_check (n_caps == 2 && came_first == 2, "a frame that waited comes in memory that it was not filtered for");
  gst_element_set_state (element, GST_STATE_NULL);
  gst_pad_set_active (src, FALSE);
  gst_pad_set_active (sink, FALSE);
  gst_caps_unref (caps);
  gst_object_unref (element);
  gst_object_unref (src);
  gst_object_unref (sink);
}

int
main (void)
{
  fake_cuda_memory = true;
  faults_start ();
  fake_arm (-1, 0, false);
  check_offers ();
  check_pool (1);
  check_pool (3);
  check_held ();
  return faults_end ();
}
