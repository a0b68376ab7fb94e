/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gate.c: see gate.h. */
#include "gate.h"

#include <string.h>

static GstPadProbeReturn
at_gate (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstPadProbeReturn what = GST_PAD_PROBE_OK;
  Gate *gate = data;

  (void) pad;
  g_mutex_lock (&gate->lock);
  if (info->type & GST_PAD_PROBE_TYPE_BUFFER) {
    gate->waiting++;
    g_cond_broadcast (&gate->changed);
    while (gate->closed && !gate->flushing)
      g_cond_wait (&gate->changed, &gate->lock);
    gate->waiting--;
    gate->passed++;
    if (gate->flow != GST_FLOW_OK || gate->flushing) {
      GST_PAD_PROBE_INFO_FLOW_RETURN (info) = gate->flushing ? GST_FLOW_FLUSHING : gate->flow;
      gst_buffer_unref (GST_PAD_PROBE_INFO_BUFFER (info));
      what = GST_PAD_PROBE_HANDLED;
    }
  } else if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_FLUSH_START) {
    gate->flushing = !gate->deaf;
  } else if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_FLUSH_STOP) {
    gate->flushing = FALSE;
  }
  g_cond_broadcast (&gate->changed);
  g_mutex_unlock (&gate->lock);
  return what;
}

void
gate_new (Gate *gate, GstHarness *h, gboolean closed)
{
  memset (gate, 0, sizeof *gate);
  g_mutex_init (&gate->lock);
  g_cond_init (&gate->changed);
  gate->closed = closed;
  gst_pad_add_probe (h->sinkpad,
      GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_FLUSH | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, at_gate, gate,
      NULL);
}

void
gate_set (Gate *gate, gboolean closed, GstFlowReturn flow)
{
  g_mutex_lock (&gate->lock);
  gate->closed = closed;
  gate->flow = flow;
  g_cond_broadcast (&gate->changed);
  g_mutex_unlock (&gate->lock);
}

gint
wait_for (Gate *gate, const gint *count, gint value, gint64 us)
{
  const gint64 end = g_get_monotonic_time () + us;
  gint reached;

  g_mutex_lock (&gate->lock);
  while (*count < value && g_cond_wait_until (&gate->changed, &gate->lock, end))
    continue;
  reached = *count;
  g_mutex_unlock (&gate->lock);
  return reached;
}

GstPadProbeReturn
count_frame (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Gate *gate = data;

  (void) pad;
  (void) info;
  g_mutex_lock (&gate->lock);
  gate->passed++;
  g_cond_broadcast (&gate->changed);
  g_mutex_unlock (&gate->lock);
  return GST_PAD_PROBE_OK;
}

static gint living; /* atomic */

gint
living_frames (void)
{
  return g_atomic_int_get (&living);
}

static void
note_end (gpointer data, GstMiniObject *frame)
{
  (void) data;
  (void) frame;
  g_atomic_int_add (&living, -1);
}

gpointer
push_all (gpointer data)
{
  Pusher *p = data;

  for (gint i = 0; i < p->frames; i++) {
    GstBuffer *frame = random_frame (p->info, (guint) i, 0);

    g_atomic_int_inc (&living);
    gst_mini_object_weak_ref (GST_MINI_OBJECT (frame), note_end, NULL);
    p->flow = gst_harness_push (p->h, frame);
    if (p->flow != GST_FLOW_OK)
      break;
    g_mutex_lock (&p->gate->lock);
    p->done++;
    p->most = MAX (p->most, p->done - p->gate->passed);
    g_cond_broadcast (&p->gate->changed);
    g_mutex_unlock (&p->gate->lock);
  }
  return NULL;
}
