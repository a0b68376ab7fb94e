/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * turns.c: many threads take turns with the link: no more at a time than there are
 * turns, in the order in which they came, each with its own streams; and where a frame
 * does not end in time, nobody waits on. */
#include "common.h"
#include "fake.h"
#include "gstcfcuda.h"
#include "transfer/linkslots.h"

#define THREADS 40
#define ROUNDS 25

static GstCfTurns *turns;
static gint taken[GST_CF_TURNS]; /* atomic */
static gint busy, wrong, refused, came;
static gint order[THREADS];

/* Takes turns again and again. */
static gpointer
worker (gpointer user)
{
  (void) user;
  for (int i = 0; i < ROUNDS; i++) {
    gboolean alone, good;
    guint turn;

    good = gst_cf_turns_enter (turns, &turn, &alone);
    good = good && g_atomic_int_add (&busy, 1) < GST_CF_TURNS && g_atomic_int_add (&taken[turn], 1) == 0;
    if (!good)
      g_atomic_int_inc (&wrong);
    g_usleep (50);
    g_atomic_int_add (&taken[turn], -1);
    g_atomic_int_add (&busy, -1);
    gst_cf_turns_leave (turns, turn);
  }
  return NULL;
}

/* Takes one, and says when. */
static gpointer
waiter (gpointer number)
{
  gboolean alone;
  guint turn;

  if (!gst_cf_turns_enter (turns, &turn, &alone)) {
    g_atomic_int_inc (&refused);
    return NULL;
  }
  order[g_atomic_int_add (&came, 1)] = GPOINTER_TO_INT (number);
  gst_cf_turns_leave (turns, turn);
  return NULL;
}

static void
start_waiters (GThread **thread, gint n)
{
  for (gint i = 0; i < n; i++) {
    thread[i] = g_thread_new ("waiter", waiter, GINT_TO_POINTER (i));
    g_usleep (5000); /* it has come when the next one is started */
  }
}

static void
join (GThread **thread, gint n)
{
  for (gint i = 0; i < n; i++)
    g_thread_join (thread[i]);
}

static void
take_all (guint *turn)
{
  gboolean alone, good = TRUE;

  for (gint i = 0; i < GST_CF_TURNS; i++) {
    good = good && gst_cf_turns_enter (turns, &turn[i], &alone);
    good = good && alone == (i == 0);
  }
  faults_check (good, "a turn is refused, or not told whether it is the only one");
}

static void
together (void)
{
  GThread *thread[THREADS];

  for (gint i = 0; i < THREADS; i++)
    thread[i] = g_thread_new ("worker", worker, NULL);
  join (thread, THREADS);
  faults_check (wrong == 0, "more turns than there are, or one twice");
}

static void
in_order (void)
{
  guint turn[GST_CF_TURNS];
  GThread *thread[THREADS];
  gboolean good = TRUE;

  take_all (turn);
  came = 0;
  start_waiters (thread, 10);
  faults_check (g_atomic_int_get (&came) == 0, "a turn more than there are");
  gst_cf_turns_leave (turns, turn[0]);
  join (thread, 10);
  for (gint i = 0; i < 10; i++)
    good = good && order[i] == i;
  faults_check (good && came == 10, "not in the order in which they came");
  for (gint i = 1; i < GST_CF_TURNS; i++)
    gst_cf_turns_leave (turns, turn[i]);
}

/* Who waits is told; who comes later may try. */
static void
given_up (void)
{
  guint turn[GST_CF_TURNS];
  CfStatus status = { 0 };
  GThread *thread[THREADS];
  CfStream *first;

  take_all (turn);
  first = gst_cf_turns_stream (turns, turn[0], GST_CF_TURN_UP, &status);
  came = refused = 0;
  start_waiters (thread, 5);
  gst_cf_turns_give_up (turns, turn[0]);
  join (thread, 5);
  faults_check (refused == 5 && came == 0, "who waited was not refused");
  for (gint i = 1; i < GST_CF_TURNS; i++)
    gst_cf_turns_leave (turns, turn[i]);
  take_all (turn);
  for (gint i = 0; i < GST_CF_TURNS; i++) {
    CfStream *stream = gst_cf_turns_stream (turns, turn[i], GST_CF_TURN_UP, &status);

    faults_check (stream != NULL && stream != first, "no stream, or that which was given up");
    faults_check (stream == gst_cf_turns_stream (turns, turn[i], GST_CF_TURN_UP, &status), "another stream");
    gst_cf_turns_leave (turns, turn[i]);
  }
  cf_stream_free (first);
}

int
main (void)
{
  GstObject *context = NULL, *other = NULL;
  GstCfTurns *others;

  faults_start ();
  fake_arm (-1, 0, false);
  gst_cf_cuda_ensure_context (NULL, 0, &context);
  gst_cf_cuda_ensure_context (NULL, 0, &other);
  turns = gst_cf_turns_open (context);
  others = gst_cf_turns_open (other);
  faults_check (turns != others && turns == gst_cf_turns_open (context), "not one set of turns for each context");
  gst_cf_turns_close (turns);
  gst_cf_turns_close (others);
  gst_cf_cuda_push (context);
  together ();
  in_order ();
  given_up ();
  gst_cf_cuda_pop ();
  gst_cf_turns_close (turns);
  faults_check (fake.live == 0, "streams are left");
  gst_object_unref (context);
  gst_object_unref (other);
  faults_check (fake.contexts == 0, "a context is left");
  return faults_end ();
}
