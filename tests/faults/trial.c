/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * trial.c: elements that have the same work: one of them tries the ways of a frame, the
 * others copy meanwhile and take what it has found. */
#include "common.h"
#include "transfer/trial.h"

/* What a frame takes by each way, us. */
typedef guint64 Times[GST_CF_N_WAYS];

static const Times bands_win = { 100, 300, 120, 400, 90, 70 }, copies_win = { 100, 99, 98, 101, 99, 97 };

/* One frame. */
static GstCfWay
push (GstCfTrial *trial, GstCfWay sides, const Times times, gboolean alone, guint *told)
{
  GstCfWay way = gst_cf_trial_choose (trial, sides, TRUE, alone);

  if (gst_cf_trial_note (trial, way, times[way] * 1000, alone))
    ++*told;
  return way;
}

/* So many frames of host memory, alone. How many of them were not copied. */
static guint
push_many (GstCfTrial *trial, guint n, const Times times, guint *told)
{
  guint other = 0;

  for (guint i = 0; i < n; i++)
    other += push (trial, GST_CF_DIRECT_BOTH, times, TRUE, told) != GST_CF_COPY;
  return other;
}

static void
decides (void)
{
  GstCfTrial trial = { 0 };
  guint told = 0;

  gst_cf_trial_begin (&trial, "a", 0);
  faults_check (push_many (&trial, 3, bands_win, &told) == 0, "the first frames are tried with");
  faults_check (push_many (&trial, 40, bands_win, &told) > 10, "nothing is tried");
  faults_check (trial.decided && trial.chosen == GST_CF_BANDS_4 && told == 1, "not the quickest, or not told once");
  faults_check (trial.best[GST_CF_BANDS_4] == 70000 && trial.best[GST_CF_COPY] == 100000, "not the times");
  faults_check (push_many (&trial, 10, bands_win, &told) == 10, "what was found is not used");
  gst_cf_trial_begin (&trial, "b", 32);
  faults_check (push_many (&trial, 32, copies_win, &told) == 0, "tried before it may");
  push_many (&trial, 40, copies_win, &told);
  faults_check (trial.decided && trial.chosen == GST_CF_COPY && told == 2, "what wins by a hair is used instead of copies");
  gst_cf_trial_end (&trial);
}

/* Only what is in host memory can be read or written there, and bands want both. */
static void
sides (void)
{
  GstCfTrial trial = { 0 };
  gboolean good = TRUE;
  guint told = 0;

  gst_cf_trial_begin (&trial, "a", 0);
  for (gint i = 0; i < 40; i++) {
    GstCfWay way = push (&trial, GST_CF_DIRECT_OUT, bands_win, TRUE, &told);

    good = good && (way == GST_CF_COPY || way == GST_CF_DIRECT_OUT);
  }
  faults_check (good && trial.decided, "a way that there is not");
  faults_check (push (&trial, GST_CF_DIRECT_BOTH, bands_win, TRUE, &told) == GST_CF_COPY && !trial.decided,
      "other sides, and no trial");
  for (gint i = 0; i < 40; i++)
    good = good && push (&trial, GST_CF_COPY, bands_win, TRUE, &told) == GST_CF_COPY;
  faults_check (good, "frames on the GPU are not left there");
  gst_cf_trial_end (&trial);
}

/* Many start at a time. */
static void
one_for_all (void)
{
  GstCfTrial trial[10] = { { 0 } };
  guint tried[10] = { 0 }, told[10] = { 0 };
  gboolean good = TRUE;

  for (gint t = 0; t < 10; t++)
    gst_cf_trial_begin (&trial[t], t < 9 ? "a" : "b", 0);
  for (gint i = 0; i < 33; i++)
    for (gint t = 0; t < 10; t++)
      tried[t] += push_many (&trial[t], 1, bands_win, &told[t]);
  for (gint t = 1; t < 9; t++)
    good = good && tried[t] <= 1; /* of its own, or in the last round */
  faults_check (good && tried[0] > 10, "not one that tries for all");
  faults_check (tried[9] > 10, "who has other work waits for it");
  for (gint t = 0; t < 10; t++)
    push_many (&trial[t], 1, bands_win, &told[t]);
  for (gint t = 0; t < 10; t++)
    good = good && trial[t].decided && trial[t].chosen == GST_CF_BANDS_4 && told[t] == 1;
  faults_check (good, "not all know it, or are told once");
  for (gint t = 0; t < 9; t++)
    gst_cf_trial_end (&trial[t]);
  gst_cf_trial_begin (&trial[0], "b", 0);
  faults_check (push_many (&trial[0], 5, bands_win, &told[0]) == 2, "who comes later does not take what is known");
  gst_cf_trial_end (&trial[9]);
  gst_cf_trial_end (&trial[0]);
  gst_cf_trial_begin (&trial[0], "b", 0);
  push_many (&trial[0], 5, bands_win, &told[0]);
  faults_check (!trial[0].decided, "known after all have gone");
  gst_cf_trial_end (&trial[0]);
}

static void
another_goes_on (void)
{
  GstCfTrial a = { 0 }, b = { 0 };
  guint told = 0;

  gst_cf_trial_begin (&a, "a", 0);
  gst_cf_trial_begin (&b, "a", 0);
  push_many (&a, 10, copies_win, &told);
  faults_check (push_many (&b, 40, bands_win, &told) == 0 && !b.decided, "two try at a time");
  gst_cf_trial_end (&a);
  push_many (&b, 30, bands_win, &told);
  faults_check (b.decided && b.chosen == GST_CF_BANDS_4 && b.best[GST_CF_COPY] == 100000,
      "nobody goes on, or not from the start");
  gst_cf_trial_end (&b);

  gst_cf_trial_begin (&a, "a", 0);
  gst_cf_trial_begin (&b, "a", 0);
  push_many (&a, 10, copies_win, &told);
  push_many (&b, 4, copies_win, &told);
  g_usleep (1100000); /* the first pauses */
  push_many (&b, 20, bands_win, &told);
  push_many (&a, 20, copies_win, &told);
  push_many (&b, 10, bands_win, &told);
  faults_check (b.decided && b.chosen == GST_CF_BANDS_4, "who pauses is waited for");
  push_many (&a, 1, copies_win, &told);
  faults_check (a.decided && a.chosen == GST_CF_BANDS_4, "who paused does not take what is known");
  gst_cf_trial_end (&a);
  gst_cf_trial_end (&b);
}

/* Where the link is busy times say nothing. */
static void
alone (void)
{
  static const Times noise = { 1, 1, 1, 1, 1, 1 };
  GstCfTrial trial = { 0 };
  guint told = 0, other = 0;

  gst_cf_trial_begin (&trial, "a", 0);
  for (gint i = 0; i < 100; i++)
    other += push (&trial, GST_CF_DIRECT_BOTH, noise, FALSE, &told) != GST_CF_COPY;
  faults_check (other == 0 && !trial.decided, "tries among others");
  for (gint i = 0; i < 30; i++) {
    GstCfWay way = gst_cf_trial_choose (&trial, GST_CF_DIRECT_BOTH, TRUE, TRUE);

    gst_cf_trial_note (&trial, way, 1, FALSE); /* somebody came */
    push_many (&trial, 1, bands_win, &told);
  }
  faults_check (trial.decided && trial.best[GST_CF_COPY] == 100000 && trial.chosen == GST_CF_BANDS_4,
      "frames among others count");
  gst_cf_trial_end (&trial);
}

int
main (void)
{
  decides ();
  sides ();
  one_for_all ();
  another_goes_on ();
  alone ();
  return faults_end ();
}
