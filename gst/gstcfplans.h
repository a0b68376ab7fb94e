/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * gstcfplans.h: a filter's plans on the CPU or on a GPU, one for each mode of the frames. For a GPU, its CUDA context
 * is current. One thread at a time. */
#ifndef GST_GSTCFPLANS_H
#define GST_GSTCFPLANS_H

#include "cf.h"

#include <gst/gst.h>

G_BEGIN_DECLS

/* How the lines of a frame are filtered; each mode has a plan. */
typedef enum { GST_CF_PROGRESSIVE, GST_CF_INTERLACED, GST_CF_N_MODES } GstCfMode;

typedef struct {
  CfContext *context; /* the owner's */
  const CfFilter *filter;
  CfVideo video;                /* of progressive frames */
  CfPlan *plan[GST_CF_N_MODES]; /* NULL: no frame has this mode */
} GstCfPlans;

/* Makes plans for `modes` (bits 1 << GstCfMode); there are none yet. On failure some may be there. */
gboolean gst_cf_plans_make (GstCfPlans *plans, const CfFilter *filter, CfVideo video, guint modes,
    const CfCommon *common, gconstpointer params, CfStatus *status);
void gst_cf_plans_free (GstCfPlans *plans);
/* Updates each plan, or replaces it if the parameters need a new one. */
gboolean gst_cf_plans_update (GstCfPlans *plans, const CfCommon *common, gconstpointer params, CfStatus *status);
/* Has the plans forget earlier frames. */
void gst_cf_plans_reset (GstCfPlans *plans);
/* Adds a frame to the history of each plan. The plan of mode `but` filters the frame and is left out (-1: none is).
 * `stream`: for a GPU. */
CfCode gst_cf_plans_push (GstCfPlans *plans, CfStream *stream, const CfImage *in, int but, CfStatus *status);

G_END_DECLS
#endif
