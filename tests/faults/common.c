/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * common.c: checks, GStreamer and the bus, for all programs that use the fake GPU. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* sched_setaffinity */
#endif
#include "common.h"
#include "fake.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int passed, failed;
static unsigned one_in = 1, n_cases;

gboolean
faults_count (gboolean good)
{
  passed += good;
  failed += !good;
  return !good;
}

gboolean
faults_take_share (int argc, char **argv)
{
  if (argc != 3 || strcmp (argv[1], "--one-in") != 0)
    return FALSE;
  one_in = (unsigned) MAX (atoi (argv[2]), 1);
  return TRUE;
}

gboolean
faults_is_ours (void)
{
  return n_cases++ % one_in == 0;
}

void
faults_stop (void)
{
  exit (faults_end ());
}

void
faults_check (gboolean good, const gchar *what)
{
  if (!faults_count (good))
    return;
  printf ("FAIL %s\n", what);
  faults_stop ();
}

int
faults_end (void)
{
  printf ("%d passed, %d failed, 0 skipped\n", passed, failed);
  return failed > 0;
}

void
faults_without_workers (void)
{
  cpu_set_t all, one;
  int threads; /* the library counts the processors once, here */

  CPU_ZERO (&one);
  CPU_SET (sched_getcpu (), &one);
  if (sched_getaffinity (0, sizeof all, &all) != 0 || sched_setaffinity (0, sizeof one, &one) != 0)
    return;
  cf_cpu_info (&threads);
  sched_setaffinity (0, sizeof all, &all);
}

void
faults_start (void)
{
  setvbuf (stdout, NULL, _IOLBF, 0); /* prints lines even if the program crashes */
  /* No plugin is needed, so none is searched for. */
  g_setenv ("GST_REGISTRY_DISABLE", "yes", TRUE);
  gst_init (NULL, NULL);
  g_log_set_always_fatal (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR);
}

void
faults_push_segment (GstPad *src)
{
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_pad_push_event (src, gst_event_new_segment (&segment));
}

GstBufferPool *
faults_proposed_pool (GstPad *src, GstCaps *caps)
{
  GstQuery *query = gst_query_new_allocation (caps, TRUE);
  GstBufferPool *pool = NULL;
  guint size = 0, min = 0;

  if (gst_pad_peer_query (src, query) && gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, NULL);
  if (pool) {
    GstStructure *config = gst_buffer_pool_get_config (pool);

    gst_buffer_pool_config_set_params (config, caps, size, min, 0);
    if (!gst_buffer_pool_set_config (pool, config) || !gst_buffer_pool_set_active (pool, TRUE))
      gst_clear_object (&pool);
  }
  gst_query_unref (query);
  return pool;
}

void
faults_count_messages (GstBus *bus, int *errors, int *warnings)
{
  GstMessage *message;

  while ((message = gst_bus_pop (bus))) {
    *errors += GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR;
    *warnings += GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING;
    gst_message_unref (message);
  }
}

/* A template answers queries of caps. Without one GStreamer answers with the caps that the pad has just now, and reads
 * them although another thread may bring new ones and free them. */
GstPad *
faults_pad (const gchar *name, GstPadDirection direction)
{
  GstPadTemplate *any = gst_object_ref_sink (gst_pad_template_new (name, direction, GST_PAD_ALWAYS, GST_CAPS_ANY));
  GstPad *pad = gst_object_ref_sink (gst_pad_new_from_template (any, name));

  gst_object_unref (any);
  return pad;
}

void
faults_link (GstElement *element, GstPad **src, GstPad **sink, GstPadChainFunction take, gpointer user)
{
  GstPad *pad;

  *src = faults_pad ("src", GST_PAD_SRC);
  *sink = faults_pad ("sink", GST_PAD_SINK);
  gst_pad_set_element_private (*sink, user);
  gst_pad_set_chain_function (*sink, take);
  pad = gst_element_get_static_pad (element, "sink");
  gst_pad_link (*src, pad);
  gst_object_unref (pad);
  pad = gst_element_get_static_pad (element, "src");
  gst_pad_link (pad, *sink);
  gst_object_unref (pad);
  gst_pad_set_active (*sink, TRUE);
  gst_pad_set_active (*src, TRUE);
}
