/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfoutput.c: the ring of pending frames and the output thread. */
#include "gstcfoutput.h"

#include <string.h>

void
gst_cf_output_init (GstCfOutput *output, GstCfFinish finish, GstCfPush push, gpointer user)
{
  memset (output, 0, sizeof *output);
  output->finish = finish;
  output->push = push;
  output->user = user;
  g_mutex_init (&output->lock);
  g_cond_init (&output->changed);
}

void
gst_cf_output_clear (GstCfOutput *output)
{
  gst_cf_output_stop (output);
  g_mutex_clear (&output->lock);
  g_cond_clear (&output->changed);
}

/* Returns whether the next frame is dropped unfiltered. Frames after an error are not filtered on the CPU; frames after
 * any other flow are filtered, so that the history of the filter is complete. */
static gboolean
to_be_dropped (const GstCfOutput *output)
{
  return output->flushing || output->stopping || output->flow == GST_FLOW_ERROR;
}

/* Finishes the oldest frame and pushes it. The lock is held on entry and return, and released in between. */
static void
finish_oldest (GstCfOutput *output)
{
  GstCfPendingFrame *frame = &output->frame[output->first];
  gboolean drop = to_be_dropped (output);
  GstFlowReturn flow;
  GstBuffer *out;

  g_mutex_unlock (&output->lock);
  flow = output->finish (output->user, frame, drop);
  g_mutex_lock (&output->lock);
  /* The slot is free once the frame is finished, so that the next frame need not wait for the push. */
  out = frame->out;
  output->first = (output->first + 1) % output->size;
  output->n--;
  output->pushing = TRUE;
  drop = drop || to_be_dropped (output) || flow != GST_FLOW_OK || output->flow != GST_FLOW_OK;
  g_cond_broadcast (&output->changed);
  g_mutex_unlock (&output->lock);
  if (drop)
    gst_clear_buffer (&out);
  else if (out)
    flow = output->push (output->user, out);
  g_mutex_lock (&output->lock);
  output->pushing = FALSE;
  if (output->flow == GST_FLOW_OK)
    output->flow = flow;
  g_cond_broadcast (&output->changed);
}

static gpointer
output_thread (gpointer data)
{
  GstCfOutput *output = data;

  g_mutex_lock (&output->lock);
  while (output->n > 0 || !output->stopping)
    if (output->n > 0)
      finish_oldest (output);
    else
      g_cond_wait (&output->changed, &output->lock);
  g_mutex_unlock (&output->lock);
  return NULL;
}

gboolean
gst_cf_output_start (GstCfOutput *output, guint size, const gchar *name)
{
  output->size = size;
  output->first = output->n = 0;
  output->flushing = output->stopping = output->pushing = FALSE;
  output->flow = GST_FLOW_OK;
  output->thread = g_thread_try_new (name, output_thread, output, NULL);
  return output->thread != NULL;
}

void
gst_cf_output_stop (GstCfOutput *output)
{
  if (!output->thread)
    return;
  g_mutex_lock (&output->lock);
  output->stopping = TRUE;
  g_cond_broadcast (&output->changed);
  g_mutex_unlock (&output->lock);
  g_thread_join (output->thread);
  output->thread = NULL;
}

GstCfPendingFrame *
gst_cf_output_begin (GstCfOutput *output, guint max_pending, guint *slot)
{
  GstCfPendingFrame *frame = NULL;

  g_mutex_lock (&output->lock);
  while (output->n >= max_pending && !output->flushing && output->flow == GST_FLOW_OK)
    g_cond_wait (&output->changed, &output->lock);
  if (!output->flushing && output->flow == GST_FLOW_OK) {
    *slot = (output->first + output->n) % output->size;
    frame = &output->frame[*slot];
  }
  g_mutex_unlock (&output->lock);
  return frame;
}

void
gst_cf_output_add (GstCfOutput *output)
{
  g_mutex_lock (&output->lock);
  output->n++;
  g_cond_broadcast (&output->changed);
  g_mutex_unlock (&output->lock);
}

GstFlowReturn
gst_cf_output_take_flow (GstCfOutput *output)
{
  GstFlowReturn flow;

  g_mutex_lock (&output->lock);
  /* Before that, the frames after one that downstream did not accept are dropped. */
  while (output->flow != GST_FLOW_OK && !output->flushing && (output->n > 0 || output->pushing))
    g_cond_wait (&output->changed, &output->lock);
  flow = output->flushing ? GST_FLOW_FLUSHING : output->flow;
  output->flow = GST_FLOW_OK;
  g_mutex_unlock (&output->lock);
  return flow;
}

void
gst_cf_output_drain (GstCfOutput *output)
{
  if (!output->thread)
    return;
  g_mutex_lock (&output->lock);
  while (output->n > 0 || output->pushing)
    g_cond_wait (&output->changed, &output->lock);
  g_mutex_unlock (&output->lock);
}

void
gst_cf_output_set_flushing (GstCfOutput *output, gboolean flushing)
{
  if (!output->thread)
    return;
  if (!flushing)
    gst_cf_output_drain (output);
  g_mutex_lock (&output->lock);
  output->flushing = flushing;
  output->flow = GST_FLOW_OK;
  g_cond_broadcast (&output->changed);
  g_mutex_unlock (&output->lock);
}
