/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstcfoutput.c: the ring of frames under way and its output thread. */
#include "gstcfoutput.h"

#include <string.h>

void
gst_cf_output_init (GstCfOutput *flight, GstCfFinish finish, GstCfPush push, gpointer user)
{
  memset (flight, 0, sizeof *flight);
  flight->finish = finish;
  flight->push = push;
  flight->user = user;
  g_mutex_init (&flight->lock);
  g_cond_init (&flight->changed);
}

void
gst_cf_output_clear (GstCfOutput *flight)
{
  gst_cf_output_stop (flight);
  g_mutex_clear (&flight->lock);
  g_cond_clear (&flight->changed);
}

/* Frames behind an error are not worth the CPU's work; behind all else the
 * filter goes on seeing them. */
static gboolean
to_be_dropped (const GstCfOutput *flight)
{
  return flight->flushing || flight->stopping || flight->flow == GST_FLOW_ERROR;
}

/* Finishes the oldest frame and pushes it. Lock held, but not meanwhile. */
static void
let_one_go (GstCfOutput *flight)
{
  GstCfJob *job = &flight->job[flight->first];
  gboolean drop = to_be_dropped (flight);
  GstFlowReturn flow;
  GstBuffer *out;

  g_mutex_unlock (&flight->lock);
  flow = flight->finish (flight->user, job, drop);
  g_mutex_lock (&flight->lock);
  /* Its place is free as soon as it is made: downstream may take its time. */
  out = job->out;
  flight->first = (flight->first + 1) % flight->size;
  flight->n--;
  flight->pushing = TRUE;
  drop = drop || to_be_dropped (flight) || flow != GST_FLOW_OK || flight->flow != GST_FLOW_OK;
  g_cond_broadcast (&flight->changed);
  g_mutex_unlock (&flight->lock);
  if (drop)
    gst_buffer_unref (out);
  else
    flow = flight->push (flight->user, out);
  g_mutex_lock (&flight->lock);
  flight->pushing = FALSE;
  if (flight->flow == GST_FLOW_OK)
    flight->flow = flow;
  g_cond_broadcast (&flight->changed);
}

static gpointer
output (gpointer data)
{
  GstCfOutput *flight = data;

  g_mutex_lock (&flight->lock);
  while (flight->n > 0 || !flight->stopping)
    if (flight->n > 0)
      let_one_go (flight);
    else
      g_cond_wait (&flight->changed, &flight->lock);
  g_mutex_unlock (&flight->lock);
  return NULL;
}

gboolean
gst_cf_output_start (GstCfOutput *flight, guint size, const gchar *name)
{
  flight->size = size;
  flight->first = flight->n = 0;
  flight->flushing = flight->stopping = flight->pushing = FALSE;
  flight->flow = GST_FLOW_OK;
  flight->thread = g_thread_try_new (name, output, flight, NULL);
  return flight->thread != NULL;
}

void
gst_cf_output_stop (GstCfOutput *flight)
{
  if (!flight->thread)
    return;
  g_mutex_lock (&flight->lock);
  flight->stopping = TRUE;
  g_cond_broadcast (&flight->changed);
  g_mutex_unlock (&flight->lock);
  g_thread_join (flight->thread);
  flight->thread = NULL;
}

GstCfJob *
gst_cf_output_begin (GstCfOutput *flight, guint most, guint *place)
{
  GstCfJob *job = NULL;

  g_mutex_lock (&flight->lock);
  while (flight->n >= most && !flight->flushing && flight->flow == GST_FLOW_OK)
    g_cond_wait (&flight->changed, &flight->lock);
  if (!flight->flushing && flight->flow == GST_FLOW_OK) {
    *place = (flight->first + flight->n) % flight->size;
    job = &flight->job[*place];
  }
  g_mutex_unlock (&flight->lock);
  return job;
}

void
gst_cf_output_add (GstCfOutput *flight)
{
  g_mutex_lock (&flight->lock);
  flight->n++;
  g_cond_broadcast (&flight->changed);
  g_mutex_unlock (&flight->lock);
}

GstFlowReturn
gst_cf_output_take_flow (GstCfOutput *flight)
{
  GstFlowReturn flow;

  g_mutex_lock (&flight->lock);
  /* Those behind a frame that was refused are dropped first. */
  while (flight->flow != GST_FLOW_OK && !flight->flushing && (flight->n > 0 || flight->pushing))
    g_cond_wait (&flight->changed, &flight->lock);
  flow = flight->flushing ? GST_FLOW_FLUSHING : flight->flow;
  flight->flow = GST_FLOW_OK;
  g_mutex_unlock (&flight->lock);
  return flow;
}

void
gst_cf_output_drain (GstCfOutput *flight)
{
  if (!flight->thread)
    return;
  g_mutex_lock (&flight->lock);
  while (flight->n > 0 || flight->pushing)
    g_cond_wait (&flight->changed, &flight->lock);
  g_mutex_unlock (&flight->lock);
}

void
gst_cf_output_set_flushing (GstCfOutput *flight, gboolean flushing)
{
  if (!flight->thread)
    return;
  if (!flushing)
    gst_cf_output_drain (flight);
  g_mutex_lock (&flight->lock);
  flight->flushing = flushing;
  flight->flow = GST_FLOW_OK;
  g_cond_broadcast (&flight->changed);
  g_mutex_unlock (&flight->lock);
}
