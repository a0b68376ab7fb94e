/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * linkslots.c: many threads share the link: at most as many at a time as slots, in the order of their calls, each on
 * the streams of its slot. When a frame does not end before its deadline, no thread continues to wait; a thread whose
 * element is flushed stops waiting at once, and any thread at its deadline. */
#include "common.h"
#include "fake.h"
#include "gstcfcuda.h"
#include "transfer/linkslots.h"

#define THREADS 40
#define ROUNDS 25

static GstCfLinkSlots *slots;
static gint taken[GST_CF_LINK_SLOTS]; /* atomic */
static gint busy, wrong, came;
static gint ended[CF_CANCELLED + 1]; /* atomic: how many waits ended with each code */
static gint order[THREADS];
static gint flag[2]; /* atomic: the elements of threads with even and odd numbers are flushing */

#define FOREVER (600 * G_GUINT64_CONSTANT (1000000000))

static gboolean
take (guint *slot, gboolean *alone)
{
  CfStatus status = { 0 };

  return gst_cf_link_slots_take (slots, &flag[0], FOREVER, slot, alone, &status) == CF_OK;
}

/* Takes and releases a slot again and again. */
static gpointer
worker (gpointer user)
{
  (void) user;
  for (int i = 0; i < ROUNDS; i++) {
    gboolean alone, good;
    guint slot;

    good = take (&slot, &alone);
    good = good && g_atomic_int_add (&busy, 1) < GST_CF_LINK_SLOTS && g_atomic_int_add (&taken[slot], 1) == 0;
    if (!good)
      g_atomic_int_inc (&wrong);
    g_thread_yield ();
    g_atomic_int_add (&taken[slot], -1);
    g_atomic_int_add (&busy, -1);
    gst_cf_link_slots_release (slots, slot);
  }
  return NULL;
}

/* Takes a slot and records the order. */
static gpointer
waiter (gpointer number)
{
  CfStatus status = { 0 };
  gboolean alone;
  CfCode code;
  guint slot;

  code = gst_cf_link_slots_take (slots, &flag[GPOINTER_TO_INT (number) % 2], FOREVER, &slot, &alone, &status);
  g_atomic_int_inc (&ended[code]);
  if (code != CF_OK)
    return NULL;
  order[g_atomic_int_add (&came, 1)] = GPOINTER_TO_INT (number);
  gst_cf_link_slots_release (slots, slot);
  return NULL;
}

/* Starts threads, each when the one before it waits in the queue. */
static void
start_waiters (GThread **thread, guint n)
{
  for (guint i = 0; i < n; i++) {
    thread[i] = g_thread_new ("waiter", waiter, GINT_TO_POINTER (i));
    while (gst_cf_link_slots_waiting (slots) <= i)
      g_thread_yield ();
  }
}

static void
join (GThread **thread, guint n)
{
  for (guint i = 0; i < n; i++)
    g_thread_join (thread[i]);
}

static void
take_all (guint *slot)
{
  gboolean alone, good = TRUE;

  for (gint i = 0; i < GST_CF_LINK_SLOTS; i++) {
    good = good && take (&slot[i], &alone);
    good = good && alone == (i == 0);
  }
  faults_check (good, "a slot is refused, or it is not reported whether it is the only one taken");
  faults_check (!gst_cf_link_slots_idle (slots), "the link is idle with all slots taken");
}

static void
together (void)
{
  GThread *thread[THREADS];

  for (gint i = 0; i < THREADS; i++)
    thread[i] = g_thread_new ("worker", worker, NULL);
  join (thread, THREADS);
  faults_check (wrong == 0, "more slots taken than exist, or a slot taken twice");
}

static void
in_order (void)
{
  guint slot[GST_CF_LINK_SLOTS];
  GThread *thread[THREADS];
  gboolean good = TRUE;

  take_all (slot);
  came = 0;
  start_waiters (thread, 10);
  faults_check (g_atomic_int_get (&came) == 0, "one more slot taken than exist");
  gst_cf_link_slots_release (slots, slot[0]);
  join (thread, 10);
  for (gint i = 0; i < 10; i++)
    good = good && order[i] == i;
  faults_check (good && came == 10, "slots not taken in the order of the calls");
  for (gint i = 1; i < GST_CF_LINK_SLOTS; i++)
    gst_cf_link_slots_release (slots, slot[i]);
  faults_check (gst_cf_link_slots_idle (slots), "the link is not idle with no slot taken");
}

/* Checks that waiting threads are refused a slot after one is abandoned, and that later threads are not. */
static void
abandoned (void)
{
  guint slot[GST_CF_LINK_SLOTS];
  CfStatus status = { 0 };
  GThread *thread[THREADS];
  CfStream *first;

  take_all (slot);
  first = gst_cf_link_slots_stream (slots, slot[0], GST_CF_LINK_UP, &status);
  came = ended[CF_TIMEOUT] = 0;
  start_waiters (thread, 5);
  gst_cf_link_slots_abandon (slots, slot[0]);
  join (thread, 5);
  faults_check (ended[CF_TIMEOUT] == 5 && came == 0, "a thread that waited was not refused");
  for (gint i = 1; i < GST_CF_LINK_SLOTS; i++)
    gst_cf_link_slots_release (slots, slot[i]);
  take_all (slot);
  for (gint i = 0; i < GST_CF_LINK_SLOTS; i++) {
    CfStream *stream = gst_cf_link_slots_stream (slots, slot[i], GST_CF_LINK_UP, &status);

    faults_check (stream != NULL && stream != first, "no stream, or the one that was abandoned");
    faults_check (stream == gst_cf_link_slots_stream (slots, slot[i], GST_CF_LINK_UP, &status), "another stream");
    gst_cf_link_slots_release (slots, slot[i]);
  }
  cf_stream_free (first);
}

/* Checks that a flush ends the waits of its element alone, whose places in the queue go to nothing; and that a wait
 * ends at its deadline. */
static void
given_up (void)
{
  guint slot[GST_CF_LINK_SLOTS], another = 0;
  CfStatus status = { 0 };
  GThread *thread[THREADS];
  gint64 begin, took;
  gboolean alone;

  take_all (slot);
  came = 0;
  start_waiters (thread, 6);
  g_atomic_int_set (&flag[1], TRUE);
  gst_cf_link_slots_cancel (&flag[1]);
  for (gint i = 1; i < 6; i += 2)
    g_thread_join (thread[i]);
  faults_check (ended[CF_CANCELLED] == 3 && came == 0, "a flush did not end the waits of its element");
  faults_check (gst_cf_link_slots_waiting (slots) == 3, "a flush ended the waits of other elements");
  faults_check (gst_cf_link_slots_take (slots, &flag[1], FOREVER, &another, &alone, &status) == CF_CANCELLED,
      "a frame of an element that is flushing waits");
  g_atomic_int_set (&flag[1], FALSE);
  gst_cf_link_slots_release (slots, slot[0]);
  for (gint i = 0; i < 6; i += 2)
    g_thread_join (thread[i]);
  faults_check (came == 3 && order[0] == 0 && order[1] == 2 && order[2] == 4, "slots are lost with a flush");
  for (gint i = 1; i < GST_CF_LINK_SLOTS; i++)
    gst_cf_link_slots_release (slots, slot[i]);
  take_all (slot);
  begin = g_get_monotonic_time ();
  faults_check (gst_cf_link_slots_take (slots, &flag[0], 50000000, &another, &alone, &status) == CF_GPU_ERROR &&
          status.message[0],
      "a wait does not end at its deadline");
  took = g_get_monotonic_time () - begin;
  faults_check (took >= 50000 && took < 50000 * 50, "a wait does not end at its deadline"); /* on a busy machine, too */
  faults_check (gst_cf_link_slots_waiting (slots) == 0, "a thread that is gone is in the queue");
  for (gint i = 0; i < GST_CF_LINK_SLOTS; i++)
    gst_cf_link_slots_release (slots, slot[i]);
}

int
main (void)
{
  GstObject *context = NULL, *other = NULL;
  GstCfLinkSlots *others;

  faults_start ();
  fake_arm (-1, 0, false);
  gst_cf_cuda_ensure_context (NULL, 0, &context);
  gst_cf_cuda_ensure_context (NULL, 0, &other);
  slots = gst_cf_link_slots_open (context);
  others = gst_cf_link_slots_open (other);
  faults_check (slots != others && slots == gst_cf_link_slots_open (context), "not one set of slots for each context");
  gst_cf_link_slots_close (slots);
  gst_cf_link_slots_close (others);
  gst_cf_cuda_push (context);
  together ();
  in_order ();
  given_up ();
  abandoned ();
  gst_cf_cuda_pop ();
  gst_cf_link_slots_close (slots);
  faults_check (fake.live == 0, "streams are left");
  gst_object_unref (context);
  gst_object_unref (other);
  faults_check (fake.contexts == 0, "a context is left");
  return faults_end ();
}
