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
  guint n_idle, idle[GST_CF_LINK_SLOTS];                      /* the slot used last is taken first */
  CfStream *stream[GST_CF_LINK_SLOTS][GST_CF_N_LINK_STREAMS]; /* made when a holder of the slot first needs them */
  GQueue waiting;                                             /* Waiter */
};

typedef struct {
  GCond cond;
  const gint *cancelled;
  enum { WAITS, HAS_SLOT, REFUSED } state;
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
static CfCode
wait_for_slot (GstCfLinkSlots *slots, Waiter *waiter, guint64 deadline_ns, CfStatus *status)
{
  const gint64 end = g_get_monotonic_time () + (gint64) (deadline_ns / 1000);
  gboolean in_time = TRUE, cancelled = FALSE;

  g_cond_init (&waiter->cond);
  g_queue_push_tail (&slots->waiting, waiter);
  while (waiter->state == WAITS && in_time && !(cancelled = g_atomic_int_get (waiter->cancelled)))
    in_time = g_cond_wait_until (&waiter->cond, &lock, end);
  g_cond_clear (&waiter->cond);
  if (waiter->state == HAS_SLOT)
    return CF_OK;
  if (waiter->state == REFUSED)
    return cf_fail (status, CF_TIMEOUT, "the GPU did not finish another element's frame in time");
  g_queue_remove (&slots->waiting, waiter);
  if (cancelled)
    return cf_fail (status, CF_CANCELLED, "the element is flushing");
  return cf_fail (status, CF_GPU_ERROR, "the GPU was busy with frames of other elements for %.1f s",
      (double) deadline_ns / 1e9);
}

CfCode
gst_cf_link_slots_take (GstCfLinkSlots *slots, const gint *cancelled, guint64 deadline_ns, guint *slot, gboolean *alone,
    CfStatus *status)
{
  Waiter waiter = { .cancelled = cancelled };
  CfCode code = CF_OK;

  g_mutex_lock (&lock);
  if (slots->n_idle > 0)
    waiter.slot = slots->idle[--slots->n_idle];
  else
    code = wait_for_slot (slots, &waiter, deadline_ns, status);
  *slot = waiter.slot;
  *alone = slots->n_idle == GST_CF_LINK_SLOTS - 1;
  g_mutex_unlock (&lock);
  return code;
}

void
gst_cf_link_slots_cancel (const gint *cancelled)
{
  g_mutex_lock (&lock);
  for (GSList *i = all; i; i = i->next)
    for (GList *w = ((GstCfLinkSlots *) i->data)->waiting.head; w; w = w->next)
      if (((Waiter *) w->data)->cancelled == cancelled)
        g_cond_signal (&((Waiter *) w->data)->cond);
  g_mutex_unlock (&lock);
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
  next->state = refused ? REFUSED : HAS_SLOT;
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
