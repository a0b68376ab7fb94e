/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * pictures.c: cameras that send one picture when they are asked. The source is stopped and started for each, behind
 * which the pipeline goes on. */
#include "parts.h"
#include "run-private.h"

static void
ask_in_thread (gpointer data)
{
  Run *run = data;

  g_mutex_lock (&run->starting);
  if (!run->ended && gst_element_set_state (run->source, GST_STATE_READY) != GST_STATE_CHANGE_FAILURE) {
    run->asked = g_get_monotonic_time ();
    gst_element_sync_state_with_parent (run->source);
  }
  g_mutex_unlock (&run->starting);
  run_unref (run);
}

static gboolean
on_ask (gpointer run)
{
  in_pool (ask_in_thread, run_ref (run));
  return G_SOURCE_REMOVE;
}

/* Asks for the next picture when it is time for it. */
static void
on_answered (gpointer data)
{
  Run *run = data;
  gint64 wait = run->asked + (gint64) run->settings->every * G_USEC_PER_SEC - g_get_monotonic_time ();

  g_timeout_add_full (G_PRIORITY_DEFAULT, (guint) (MAX (wait, 0) / 1000), on_ask, run_ref (run),
      (GDestroyNotify) run_unref);
}

void
run_ask_again (Run *run, GstElement *parts)
{
  run->asked = g_get_monotonic_time ();
  parts_keep_open (parts, on_answered, run);
}
