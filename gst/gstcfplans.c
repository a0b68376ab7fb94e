/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfplans.c: the plans of all modes together. */
#include "gstcfplans.h"

static CfPlan *
make (const GstCfPlans *p, int mode, const CfCommon *common, gconstpointer params, CfStatus *status)
{
  CfVideo video = p->video;

  video.interlaced = mode == GST_CF_INTERLACED;
  return cf_plan_new (p->context, p->filter, &video, common, params, status);
}

gboolean
gst_cf_plans_make (GstCfPlans *p, const CfFilter *filter, CfVideo video, guint modes, const CfCommon *common,
    gconstpointer params, CfStatus *status)
{
  p->filter = filter;
  p->video = video;
  for (int m = 0; m < GST_CF_N_MODES; m++)
    if (modes & (1u << m) && !(p->plan[m] = make (p, m, common, params, status)))
      return FALSE;
  return TRUE;
}

void
gst_cf_plans_free (GstCfPlans *p)
{
  for (int m = 0; m < GST_CF_N_MODES; m++)
    g_clear_pointer (&p->plan[m], cf_plan_free);
}

gboolean
gst_cf_plans_update (GstCfPlans *p, const CfCommon *common, gconstpointer params, CfStatus *status)
{
  for (int m = 0; m < GST_CF_N_MODES; m++) {
    CfCode code = p->plan[m] ? cf_plan_update (p->plan[m], common, params, status) : CF_OK;

    if (code == CF_REPLAN) {
      CfPlan *fresh = make (p, m, common, params, status);

      if (!fresh)
        return FALSE;
      cf_plan_free (p->plan[m]);
      p->plan[m] = fresh;
    } else if (code != CF_OK) {
      return FALSE;
    }
  }
  return TRUE;
}

void
gst_cf_plans_reset (GstCfPlans *p)
{
  for (int m = 0; m < GST_CF_N_MODES; m++)
    if (p->plan[m])
      cf_plan_reset (p->plan[m]);
}

CfCode
gst_cf_plans_push (GstCfPlans *p, CfStream *stream, const CfImage *in, int but, CfStatus *status)
{
  CfCode code = CF_OK;

  for (int m = 0; code == CF_OK && m < GST_CF_N_MODES; m++)
    if (m != but && p->plan[m])
      code = cf_plan_enqueue (p->plan[m], stream, &(CfFrame) { .in = in }, status);
  return code;
}
