/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * transfer/linkslots.c: link slots and their streams, one set for each CUDA context. */
#include "linkslots.h"
#include "gstcfcuda.h"

#include <string.h>

struct _GstCfLinkSlots {
  guint refs;
  GstObject *context;
  guint n_idle, idle[GST_CF_LINK_SLOTS]; /* the slot used last is taken first */
  CfStream *stream[GST_CF_LINK_SLOTS][GST_CF_N_LINK_STREAMS]; /* made when a holder of the slot first needs them */
  GQueue waiting;                   /* Waiter */
};

typedef struct {
  GCond cond;
  gboolean go, refused;
  guint slot;
} Waiter;

static GMutex lock;
static GSList *all;

GstCfLinkSlots *
gst_cf_link_slots_open (GstObject *context)
{
  GstCfLinkSlots *slots = NULL;

  g_mutex_lock (&lock);
  for (GSList *i = all; i && !slots; i = i->next)
    if (((GstCfLinkSlots *) i->data)->context == context)
      slots = i->data;
  if (!slots) {
    slots = g_new0 (GstCfLinkSlots, 1);
    slots->context = gst_object_ref (context);
    g_queue_init (&slots->waiting);
    for (guint t = GST_CF_LINK_SLOTS; t-- > 0;)
      slots->idle[slots->n_idle++] = t;
    all = g_slist_prepend (all, slots);
  }
  slots->refs++;
  g_mutex_unlock (&lock);
  return slots;
}

void
gst_cf_link_slots_close (GstCfLinkSlots *slots)
{
  gboolean last;

  g_mutex_lock (&lock);
  last = --slots->refs == 0;
  if (last)
    all = g_slist_remove (all, slots);
  g_mutex_unlock (&lock);
  if (!last)
    return;
  if (gst_cf_cuda_push (slots->context)) { /* else out of reach, after a fork */
    for (guint t = 0; t < GST_CF_LINK_SLOTS; t++)
      for (int s = 0; s < GST_CF_N_LINK_STREAMS; s++)
        cf_stream_free (slots->stream[t][s]);
    gst_cf_cuda_pop ();
  }
  gst_object_unref (slots->context);
  g_free (slots);
}

/* Lock held. */
static void
wait_for_slot (GstCfLinkSlots *slots, Waiter *waiter)
{
  g_cond_init (&waiter->cond);
  g_queue_push_tail (&slots->waiting, waiter);
  while (!waiter->go)
    g_cond_wait (&waiter->cond, &lock);
  g_cond_clear (&waiter->cond);
}

gboolean
gst_cf_link_slots_take (GstCfLinkSlots *slots, guint *slot, gboolean *alone)
{
  Waiter waiter = { .go = FALSE };

  g_mutex_lock (&lock);
  if (slots->n_idle > 0)
    waiter.slot = slots->idle[--slots->n_idle];
  else
    wait_for_slot (slots, &waiter);
  *slot = waiter.slot;
  *alone = slots->n_idle == GST_CF_LINK_SLOTS - 1;
  g_mutex_unlock (&lock);
  return !waiter.refused;
}

gboolean
gst_cf_link_slots_idle (GstCfLinkSlots *slots)
{
  gboolean idle;

  g_mutex_lock (&lock);
  idle = slots->n_idle == GST_CF_LINK_SLOTS;
  g_mutex_unlock (&lock);
  return idle;
}

guint
gst_cf_link_slots_waiting (GstCfLinkSlots *slots)
{
  guint n;

  g_mutex_lock (&lock);
  n = g_queue_get_length (&slots->waiting);
  g_mutex_unlock (&lock);
  return n;
}

/* Lock held. */
static gboolean
wake (GstCfLinkSlots *slots, gboolean refused, guint slot)
{
  Waiter *next = g_queue_pop_head (&slots->waiting);

  if (!next)
    return FALSE;
  next->slot = slot;
  next->refused = refused;
  next->go = TRUE;
  g_cond_signal (&next->cond);
  return TRUE;
}

void
gst_cf_link_slots_release (GstCfLinkSlots *slots, guint slot)
{
  g_mutex_lock (&lock);
  if (!wake (slots, FALSE, slot))
    slots->idle[slots->n_idle++] = slot;
  g_mutex_unlock (&lock);
}

CfStream *
gst_cf_link_slots_stream (GstCfLinkSlots *slots, guint slot, GstCfLinkStream which, CfStatus *status)
{
  CfStream **stream = &slots->stream[slot][which];

  if (!*stream)
    *stream = cf_stream_new (NULL, status);
  return *stream;
}

void
gst_cf_link_slots_abandon (GstCfLinkSlots *slots, guint slot)
{
  memset (slots->stream[slot], 0, sizeof slots->stream[slot]);
  g_mutex_lock (&lock);
  while (wake (slots, TRUE, 0))
    ;
  slots->idle[slots->n_idle++] = slot;
  g_mutex_unlock (&lock);
}
