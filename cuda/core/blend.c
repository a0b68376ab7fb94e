/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/blend.c: frames of which only an area is filtered: the boxes through the plan, and the blend on the CPU. */
#include "blend.h"
#include "cf-test.h"
#include "cpu.h"
#include "device.h"
#include "threads.h"

static const CfBlendSimd *const simd[] = CF_ISA_TABLES (cf_blend_simd);

/* ---- the blend ---------------------------------------------------------- */

typedef struct {
  CfBlend blend;
  const CfBlendSimd *simd;
  int n; /* rows of tasks a box */
} Work;

static void
blend_task (void *data, int task, int thread)
{
  const Work *w = data;
  const CfArea *area = w->blend.area;
  const CfBox *box = &area->box[task / w->n];
  const CfFormatInfo *info = cf_format_info (area->format);

  (void) thread;
  for (int p = 0; p < info->n_planes; p++) {
    const int top = cf_plane_rows (info->format, box->write.y, p);
    const int rows = cf_plane_rows (info->format, box->write.height, p), part = task % w->n;

    w->simd->rows (&w->blend, box, p, top + (int) ((int64_t) rows * part / w->n),
        top + (int) ((int64_t) rows * (part + 1) / w->n));
  }
}

void
cf_area_blend (const CfArea *area, const CfImage *in, const CfImage *filtered, const CfImage *out)
{
  Work work = { { area, in, filtered, out }, simd[cf_cpu_isa_number ()], area->n_boxes < 4 ? 8 : 1 };

  cf_parallel_for ((int) area->n_boxes * work.n, blend_task, &work);
}

/* ---- a frame ------------------------------------------------------------ */

static CfCode
set_size (CfPlan *plan, int width, int height, CfStatus *status)
{
  plan->video.width = width;
  plan->video.height = height;
  return plan->ops->resize ? plan->ops->resize (plan, status) : CF_OK;
}

CfCode
cf_area_filter (CfPlan *plan, CfStream *stream, const CfRect *rect, const CfImage *in, const CfImage *out,
    CfStatus *status)
{
  CfImage from, to;
  CfCode code = set_size (plan, rect->width, rect->height, status);

  cf_image_part (&from, in, rect);
  cf_image_part (&to, out, rect);
  return code == CF_OK ? cf_packed_enqueue (plan, stream, &from, &to, status) : code;
}

/* Filters all boxes, those that remain one after the other. */
static CfCode
filter_boxes (CfPlan *plan, CfStream *stream, const CfArea *area, const CfImage *in, const CfImage *scratch,
    CfStatus *status)
{
  const int width = plan->video.width, height = plan->video.height;
  bool done[CF_AREA_BOXES] = { false };
  CfCode code, back;

  if (area->anchored && plan->ops->enqueue_boxes && !plan->packed)
    return plan->ops->enqueue_boxes (plan, stream, area, in, scratch, status);
  code = cf_sheet_filter (plan, stream, area, in, scratch, done, status);
  for (unsigned i = 0; code == CF_OK && i < area->n_boxes; i++)
    if (!done[i])
      code = cf_area_filter (plan, stream, &area->box[i].read, in, scratch, status);
  back = set_size (plan, width, height, code == CF_OK ? status : NULL);
  return code == CF_OK ? back : code;
}

CfCode
cf_area_enqueue (CfPlan *plan, CfStream *stream, const CfFrame *frame, CfStatus *status)
{
  const CfArea *area = frame->area;
  CfCode code = cf_plan_check_image (plan, frame->scratch, "scratch", status);

  if (code == CF_OK &&
      (area->format != frame->in->format || area->width != plan->video.width || area->height != plan->video.height ||
          area->interlaced != plan->video.interlaced))
    code = cf_fail (status, CF_BAD_VALUE, "the area is for another format or size than the plan: %d x %d, not %d x %d",
        area->width, area->height, plan->video.width, plan->video.height);
  if (code == CF_OK && frame->out->plane[0].data == frame->scratch->plane[0].data && !cf_area_info (area).solid)
    code = cf_fail (status, CF_BAD_VALUE, "the output is the scratch image, but the area has strengths below 255");
  if (code == CF_OK)
    code = area->by_halo ? filter_boxes (plan, stream, area, frame->in, frame->scratch, status)
                         : cf_packed_enqueue (plan, stream, frame->in, frame->scratch, status);
  if (code != CF_OK || area->n_boxes == 0 || frame->out->plane[0].data == frame->scratch->plane[0].data)
    return code;
  if (plan->context->backend == CF_BACKEND_CUDA)
    return cf_device_blend (plan, stream, frame, status);
  cf_area_blend (area, frame->in, frame->scratch, frame->out);
  return CF_OK;
}
