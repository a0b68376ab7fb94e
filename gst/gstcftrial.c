/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * gstcftrial.c: the trial of ways. */
#include "gstcftrial.h"

#include <string.h>

/* A trial begins after so many frames, and tries each way so many times. */
#define FRAMES_BEFORE_TRIAL 3
#define ROUNDS 5

void
gst_cf_trial_begin (GstCfTrial *trial, GstCfWay sides, gint wait)
{
  memset (trial, 0, sizeof *trial);
  trial->sides = sides;
  trial->n = -wait;
}

GstCfWay
gst_cf_trial_choose (GstCfTrial *trial, GstCfWay sides, gboolean bands)
{
  GstCfWay way;

  if (sides != trial->sides)
    gst_cf_trial_begin (trial, sides, FRAMES_BEFORE_TRIAL);
  if (trial->decided || trial->n < 0)
    return trial->chosen;
  way = (GstCfWay) (trial->n % GST_CF_N_WAYS);
  if (trial->best[way] > 2 * trial->best[GST_CF_COPY])
    return GST_CF_COPY;
  if (way >= GST_CF_BANDS_2)
    return bands && sides == GST_CF_DIRECT_BOTH ? way : GST_CF_COPY;
  return (way & sides) == way ? way : GST_CF_COPY;
}

gboolean
gst_cf_trial_note (GstCfTrial *trial, GstCfWay way, guint64 ns)
{
  if (trial->decided || trial->sides == GST_CF_COPY || trial->n++ < 0 || ns == 0)
    return FALSE;
  if (trial->best[way] == 0 || ns < trial->best[way])
    trial->best[way] = ns;
  if (trial->n < ROUNDS * GST_CF_N_WAYS)
    return FALSE;
  /* Copies leave the GPU to others: what is to be used instead has to be worth it. */
  for (int w = GST_CF_COPY + 1; w < GST_CF_N_WAYS; w++)
    if (trial->best[w] && trial->best[w] < trial->best[trial->chosen] - trial->best[trial->chosen] / 32)
      trial->chosen = (GstCfWay) w;
  trial->decided = TRUE;
  return TRUE;
}
