/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * pictures.c: cameras that send one picture when they are asked. The source is stopped and started for each, behind
 * which the pipeline goes on. */
#include "parts.h"
#include "pipeline-private.h"

static void
ask_in_thread (gpointer data)
{
  Pipeline *pipeline = data;

  g_mutex_lock (&pipeline->starting);
  if (!pipeline->ended && gst_element_set_state (pipeline->source, GST_STATE_READY) != GST_STATE_CHANGE_FAILURE) {
    pipeline->asked = g_get_monotonic_time ();
    gst_element_sync_state_with_parent (pipeline->source);
  }
  g_mutex_unlock (&pipeline->starting);
  pipeline_unref (pipeline);
}

static gboolean
on_ask (gpointer pipeline)
{
  in_pool (ask_in_thread, pipeline_ref (pipeline));
  return G_SOURCE_REMOVE;
}

/* Asks for the next picture when it is time for it. */
static void
on_answered (gpointer data)
{
  Pipeline *pipeline = data;
  gint64 wait = pipeline->asked + (gint64) pipeline->settings->every * G_USEC_PER_SEC - g_get_monotonic_time ();

  g_timeout_add_full (G_PRIORITY_DEFAULT, (guint) (MAX (wait, 0) / 1000), on_ask, pipeline_ref (pipeline),
      (GDestroyNotify) pipeline_unref);
}

void
pipeline_ask_again (Pipeline *pipeline, GstElement *parts)
{
  pipeline->asked = g_get_monotonic_time ();
  parts_keep_open (parts, on_answered, pipeline);
}
