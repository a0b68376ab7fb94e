/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * transfer/linkslots.c: turns and their streams, one set for each CUDA context. */
#include "linkslots.h"
#include "gstcfcuda.h"

#include <string.h>

struct _GstCfTurns {
  guint refs;
  GstObject *context;
  guint n_idle, idle[GST_CF_TURNS]; /* the one used last is taken first */
  CfStream *stream[GST_CF_TURNS][GST_CF_N_TURN_STREAMS]; /* made when first needed; the turn's */
  GQueue waiting;                   /* Waiter */
};

typedef struct {
  GCond cond;
  gboolean go, refused;
  guint turn;
} Waiter;

static GMutex lock;
static GSList *all;

GstCfTurns *
gst_cf_turns_open (GstObject *context)
{
  GstCfTurns *turns = NULL;

  g_mutex_lock (&lock);
  for (GSList *i = all; i && !turns; i = i->next)
    if (((GstCfTurns *) i->data)->context == context)
      turns = i->data;
  if (!turns) {
    turns = g_new0 (GstCfTurns, 1);
    turns->context = gst_object_ref (context);
    g_queue_init (&turns->waiting);
    for (guint t = GST_CF_TURNS; t-- > 0;)
      turns->idle[turns->n_idle++] = t;
    all = g_slist_prepend (all, turns);
  }
  turns->refs++;
  g_mutex_unlock (&lock);
  return turns;
}

void
gst_cf_turns_close (GstCfTurns *turns)
{
  gboolean last;

  g_mutex_lock (&lock);
  last = --turns->refs == 0;
  if (last)
    all = g_slist_remove (all, turns);
  g_mutex_unlock (&lock);
  if (!last)
    return;
  if (gst_cf_cuda_push (turns->context)) { /* else out of reach, after a fork */
    for (guint t = 0; t < GST_CF_TURNS; t++)
      for (int s = 0; s < GST_CF_N_TURN_STREAMS; s++)
        cf_stream_free (turns->stream[t][s]);
    gst_cf_cuda_pop ();
  }
  gst_object_unref (turns->context);
  g_free (turns);
}

/* Lock held. */
static void
wait_for_turn (GstCfTurns *turns, Waiter *waiter)
{
  g_cond_init (&waiter->cond);
  g_queue_push_tail (&turns->waiting, waiter);
  while (!waiter->go)
    g_cond_wait (&waiter->cond, &lock);
  g_cond_clear (&waiter->cond);
}

gboolean
gst_cf_turns_enter (GstCfTurns *turns, guint *turn, gboolean *alone)
{
  Waiter waiter = { .go = FALSE };

  g_mutex_lock (&lock);
  if (turns->n_idle > 0)
    waiter.turn = turns->idle[--turns->n_idle];
  else
    wait_for_turn (turns, &waiter);
  *turn = waiter.turn;
  *alone = turns->n_idle == GST_CF_TURNS - 1;
  g_mutex_unlock (&lock);
  return !waiter.refused;
}

gboolean
gst_cf_turns_idle (GstCfTurns *turns)
{
  gboolean idle;

  g_mutex_lock (&lock);
  idle = turns->n_idle == GST_CF_TURNS;
  g_mutex_unlock (&lock);
  return idle;
}

/* Lock held. */
static gboolean
wake (GstCfTurns *turns, gboolean refused, guint turn)
{
  Waiter *next = g_queue_pop_head (&turns->waiting);

  if (!next)
    return FALSE;
  next->turn = turn;
  next->refused = refused;
  next->go = TRUE;
  g_cond_signal (&next->cond);
  return TRUE;
}

void
gst_cf_turns_leave (GstCfTurns *turns, guint turn)
{
  g_mutex_lock (&lock);
  if (!wake (turns, FALSE, turn))
    turns->idle[turns->n_idle++] = turn;
  g_mutex_unlock (&lock);
}

CfStream *
gst_cf_turns_stream (GstCfTurns *turns, guint turn, GstCfTurnStream which, CfStatus *status)
{
  CfStream **stream = &turns->stream[turn][which];

  if (!*stream)
    *stream = cf_stream_new (NULL, status);
  return *stream;
}

void
gst_cf_turns_give_up (GstCfTurns *turns, guint turn)
{
  memset (turns->stream[turn], 0, sizeof turns->stream[turn]);
  g_mutex_lock (&lock);
  while (wake (turns, TRUE, 0))
    ;
  turns->idle[turns->n_idle++] = turn;
  g_mutex_unlock (&lock);
}
