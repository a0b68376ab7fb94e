/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * transfer/trial.c: the trial of ways. */
#include "trial.h"

#include <string.h>

/* A trial begins after so many frames, and tries each way so many times. */
#define FRAMES_BEFORE_TRIAL 3
#define ROUNDS 5
/* us: who has not sent a frame for so long lets another try. */
#define PAUSED 1000000

/* Shared by all elements that have the same work on the same sides. */
typedef struct _GstCfTried {
  gchar *work;
  GstCfWay sides, chosen;
  guint refs;
  const GstCfTrial *trying; /* who tries, and when it did last */
  gint64 time;
  guint n; /* frames that tried, of this one */
  guint64 best[GST_CF_N_WAYS];
  gboolean decided;
} GstCfTried;

static GMutex lock;
static GSList *all;

/* Lock held in those that follow. */

static GstCfTried *
find (const gchar *work, GstCfWay sides)
{
  for (GSList *i = all; i; i = i->next) {
    GstCfTried *tried = i->data;

    if (tried->sides == sides && strcmp (tried->work, work) == 0)
      return tried;
  }
  return NULL;
}

static void
join (GstCfTrial *trial)
{
  GstCfTried *tried = find (trial->work, trial->sides);

  if (!tried) {
    tried = g_new0 (GstCfTried, 1);
    tried->work = g_strdup (trial->work);
    tried->sides = trial->sides;
    all = g_slist_prepend (all, tried);
  }
  tried->refs++;
  trial->tried = tried;
}

static void
leave (GstCfTrial *trial)
{
  GstCfTried *tried = trial->tried;

  trial->tried = NULL;
  if (!tried)
    return;
  if (tried->trying == trial)
    tried->trying = NULL;
  if (--tried->refs > 0)
    return;
  all = g_slist_remove (all, tried);
  g_free (tried->work);
  g_free (tried);
}

/* Is it this one's turn to try? Whoever begins does from the start. */
static gboolean
may_try (const GstCfTrial *trial, GstCfTried *tried)
{
  gint64 now = g_get_monotonic_time ();

  if (tried->trying != trial) {
    if (tried->trying && now - tried->time < PAUSED)
      return FALSE;
    tried->trying = trial;
    tried->n = 0;
    memset (tried->best, 0, sizeof tried->best);
  }
  tried->time = now;
  return TRUE;
}

static GstCfWay
next_way (const GstCfTried *tried, gboolean bands)
{
  GstCfWay way = (GstCfWay) (tried->n % GST_CF_N_WAYS);

  if (tried->best[way] > 2 * tried->best[GST_CF_COPY])
    return GST_CF_COPY;
  if (way >= GST_CF_BANDS_2)
    return bands && tried->sides == GST_CF_DIRECT_BOTH ? way : GST_CF_COPY;
  return (way & tried->sides) == way ? way : GST_CF_COPY;
}

static void
learn (GstCfTrial *trial, const GstCfTried *tried)
{
  trial->decided = TRUE;
  trial->chosen = tried->chosen;
  memcpy (trial->best, tried->best, sizeof trial->best);
}

static void
note (GstCfTried *tried, GstCfWay way, guint64 ns)
{
  if (tried->best[way] == 0 || ns < tried->best[way])
    tried->best[way] = ns;
  if (++tried->n < ROUNDS * GST_CF_N_WAYS)
    return;
  /* Copies leave the GPU to others: what is to be used instead has to be worth it. */
  for (int w = GST_CF_COPY + 1; w < GST_CF_N_WAYS; w++)
    if (tried->best[w] && tried->best[w] < tried->best[tried->chosen] - tried->best[tried->chosen] / 32)
      tried->chosen = (GstCfWay) w;
  tried->decided = TRUE;
}

/* ---- without the lock --------------------------------------------------- */

static void
start_over (GstCfTrial *trial, gint wait)
{
  g_mutex_lock (&lock);
  leave (trial);
  g_mutex_unlock (&lock);
  trial->wait = wait;
  trial->tries = FALSE;
  trial->decided = trial->told = FALSE;
  trial->chosen = GST_CF_COPY;
}

void
gst_cf_trial_begin (GstCfTrial *trial, const gchar *work, gint wait)
{
  start_over (trial, wait);
  g_free (trial->work);
  trial->work = g_strdup (work);
}

void
gst_cf_trial_end (GstCfTrial *trial)
{
  start_over (trial, 0);
  g_free (trial->work);
  memset (trial, 0, sizeof *trial);
}

GstCfWay
gst_cf_trial_choose (GstCfTrial *trial, GstCfWay sides, gboolean bands, gboolean alone)
{
  GstCfWay way = GST_CF_COPY;

  trial->tries = FALSE;
  if (sides != trial->sides) {
    start_over (trial, FRAMES_BEFORE_TRIAL);
    trial->sides = sides;
  }
  if (trial->decided || trial->wait > 0 || sides == GST_CF_COPY)
    return trial->chosen;
  g_mutex_lock (&lock);
  if (!trial->tried)
    join (trial);
  if (trial->tried->decided) {
    learn (trial, trial->tried);
  } else if (alone && may_try (trial, trial->tried)) {
    way = next_way (trial->tried, bands);
    trial->tries = TRUE;
  }
  g_mutex_unlock (&lock);
  return trial->decided ? trial->chosen : way;
}

gboolean
gst_cf_trial_note (GstCfTrial *trial, GstCfWay way, guint64 ns, gboolean alone)
{
  if (trial->wait > 0) {
    trial->wait--;
    return FALSE;
  }
  if (trial->tries && alone && ns > 0) {
    g_mutex_lock (&lock);
    if (trial->tried->trying == trial) /* nobody took over */
      note (trial->tried, way, ns);
    if (trial->tried->decided)
      learn (trial, trial->tried);
    g_mutex_unlock (&lock);
  }
  if (!trial->decided || trial->told)
    return FALSE;
  trial->told = TRUE;
  return TRUE;
}
