/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/plan.c: contexts, and the part of plans that all filters and both backends share. */
#include "area.h"
#include "cf-test.h"
#include "device.h"

#include <stdlib.h>
#include <string.h>

/* ---- contexts ----------------------------------------------------------- */

CfContext *
cf_context_new (CfBackend backend, CfStatus *status)
{
  CfContext *context = calloc (1, sizeof *context);

  if (!context) {
    cf_fail (status, CF_NO_MEMORY, "out of memory");
    return NULL;
  }
  context->backend = backend;
  if (backend == CF_BACKEND_CUDA && cf_device_context_init (context, status) != CF_OK) {
    free (context);
    return NULL;
  }
  return context;
}

void
cf_context_free (CfContext *context)
{
  free (context);
}

CfCode
cf_gpu_check (const CfGpuInfo *info, const char *archs, CfStatus *status)
{
  const int capability = info->major * 10 + info->minor;

  if (cf_archs_run (archs, capability))
    return CF_OK;
  if (capability < CF_OLDEST_CAPABILITY)
    return cf_fail (status, CF_UNSUPPORTED, "%s has compute capability %d.%d; the kernels need 7.5 (Turing) or newer",
        info->name, info->major, info->minor);
  return cf_fail (status, CF_UNSUPPORTED,
      "%s has compute capability %d.%d, and this build's kernels are for %s; build with -Dcuda-archs=%d,%s", info->name,
      info->major, info->minor, archs, capability, archs);
}

/* ---- plans -------------------------------------------------------------- */

/* Returns CF_OK where the functions of the context's plans may be called: not on a GPU that hangs, where each may
 * block, nor after its loss. */
static CfCode
usable (const CfContext *context, CfStatus *status)
{
  return context->backend == CF_BACKEND_CUDA ? cf_device_usable (status) : CF_OK;
}

CfPlan *
cf_plan_new (CfContext *context, const CfFilter *filter, const CfVideo *video, const CfCommon *common,
    const void *params, CfStatus *status)
{
  const CfFilter *method = filter->method ? filter->method (params) : filter;
  const CfOps *ops = context->backend == CF_BACKEND_CUDA ? method->cuda : method->cpu;
  CfStatus local;
  CfPlan *plan;
  void *params_copy, *state;

  if (cf_filter_check (filter, video, common, params, status) != CF_OK || usable (context, status) != CF_OK)
    return NULL;
  if (!ops) {
    cf_fail (status, CF_UNSUPPORTED, "the %s filter has no CUDA kernels in this build", filter->info.stem);
    return NULL;
  }
  plan = calloc (1, sizeof *plan);
  params_copy = cf_params_new (filter, params);
  state = ops->state_size ? calloc (1, ops->state_size) : NULL;
  if (!plan || !params_copy || (ops->state_size && !state)) {
    free (plan);
    cf_params_free (filter, params_copy);
    free (state);
    cf_fail (status, CF_NO_MEMORY, "out of memory");
    return NULL;
  }
  plan->context = context;
  plan->filter = filter;
  plan->ops = ops;
  plan->params = params_copy;
  plan->state = state;
  plan->common = *common;
  plan->preferred = -1;
  if (cf_packed_init (plan, video, status) != CF_OK || (ops->init && ops->init (plan, status ? status : &local))) {
    cf_plan_free (plan);
    return NULL;
  }
  return plan;
}

void
cf_plan_free (CfPlan *plan)
{
  if (!plan)
    return;
  if (plan->ops->free)
    plan->ops->free (plan);
  cf_packed_free (plan);
  cf_gpu_free (CF_DEVICE, plan->map);
  cf_gpu_free (CF_DEVICE, plan->sheets);
  for (int i = 0; i < 2; i++) {
    cf_events_free (plan->pinned_map[i].uploaded);
    cf_gpu_free (CF_PINNED, plan->pinned_map[i].memory);
  }
  if (plan->ops->state_size)
    free (plan->state);
  cf_params_free (plan->filter, plan->params);
  free (plan);
}

CfCode
cf_plan_update (CfPlan *plan, const CfCommon *common, const void *params, CfStatus *status)
{
  CfCode code = cf_filter_check (plan->filter, &plan->video, common, params, status);
  CfCommon old_common = plan->common;
  void *old_params = plan->params, *copy;
  CfStatus local;

  if (code == CF_OK)
    code = usable (plan->context, status);
  if (code != CF_OK)
    return code;
  if (cf_filter_traits (plan->filter, &plan->video, common, params).kept !=
      cf_filter_traits (plan->filter, &plan->video, &plan->common, plan->params).kept)
    return cf_fail (status, CF_REPLAN, "these parameters need a new plan");
  copy = cf_params_new (plan->filter, params);
  if (!copy)
    return cf_fail (status, CF_NO_MEMORY, "out of memory");
  plan->params = copy;
  plan->common = *common;
  if (plan->ops->update)
    code = plan->ops->update (plan, status ? status : &local);
  if (code != CF_OK) {
    /* Returning to the old parameters succeeds, because their scratch memory still exists. No call is made on a lost
     * GPU. */
    plan->params = old_params;
    plan->common = old_common;
    if (plan->ops->update && code != CF_GPU_LOST && usable (plan->context, NULL) == CF_OK)
      plan->ops->update (plan, &local);
    cf_params_free (plan->filter, copy);
    return code;
  }
  cf_params_free (plan->filter, old_params);
  return CF_OK;
}

CfCode
cf_plan_check_image (const CfPlan *plan, const CfImage *image, const char *which, CfStatus *status)
{
  const CfFormatInfo *info = cf_format_info (plan->packed ? plan->packed : plan->video.format);

  if (image->format != info->format || image->width != plan->video.width || image->height != plan->video.height)
    return cf_fail (status, CF_BAD_VALUE, "the %s image has another format or size than the plan: %d x %d, not %d x %d",
        which, image->width, image->height, plan->video.width, plan->video.height);
  for (int p = 0; p < info->n_planes; p++) {
    size_t need = cf_plane_row_bytes (info->format, image->width, p);

    if (!image->plane[p].data)
      return cf_fail (status, CF_BAD_VALUE, "plane %d of the %s image has no memory", p, which);
    if (image->plane[p].pitch < need)
      return cf_fail (status, CF_BAD_VALUE, "plane %d of the %s image has a pitch of %zu bytes; a row needs %zu", p,
          which, image->plane[p].pitch, need);
    if (((uintptr_t) image->plane[p].data | image->plane[p].pitch) & (info->bytes - 1u))
      return cf_fail (status, CF_BAD_VALUE,
          "plane %d of the %s image needs an address and a pitch in steps of %d bytes", p, which, info->bytes);
  }
  return CF_OK;
}

CfCode
cf_plan_enqueue (CfPlan *plan, CfStream *stream, const CfFrame *frame, CfStatus *status)
{
  CfCode code = cf_plan_check_image (plan, frame->in, "input", status);
  CfStatus local;

  if (code == CF_OK && frame->out)
    code = cf_plan_check_image (plan, frame->out, "output", status);
  if (code == CF_OK)
    code = usable (plan->context, status);
  if (code != CF_OK)
    return code;
  if (!frame->out)
    return plan->ops->push_history ? cf_packed_push_history (plan, stream, frame->in, status) : CF_OK;
  if (frame->area)
    return cf_area_enqueue (plan, stream, frame, status ? status : &local);
  return cf_packed_enqueue (plan, stream, frame->in, frame->out, status);
}

void
cf_plan_reset (CfPlan *plan)
{
  if (plan->ops->reset)
    plan->ops->reset (plan);
}

const char *
cf_plan_variant (const CfPlan *plan)
{
  return plan->ops->variants ? plan->ops->variants[plan->variant] : plan->filter->info.stem;
}

const char *
cf_plan_variant_name (const CfPlan *plan, unsigned i)
{
  const char *const *name = plan->ops->variants;

  while (name && *name && i-- > 0)
    name++;
  return name ? *name : NULL;
}

CfCode
cf_plan_prefer (CfPlan *plan, const char *variant, CfStatus *status)
{
  int old = plan->preferred, wanted = -1;
  const char *known;
  CfStatus local;
  CfCode code;

  if (!plan->ops->variants)
    return cf_fail (status, CF_UNSUPPORTED, "the %s filter has only one variant", plan->filter->info.stem);
  for (unsigned i = 0; variant && (known = cf_plan_variant_name (plan, i)) != NULL; i++)
    if (strcmp (variant, known) == 0)
      wanted = (int) i;
  if (variant && wanted < 0)
    return cf_fail (status, CF_UNSUPPORTED, "the %s filter has no variant %s", plan->filter->info.stem, variant);
  plan->preferred = wanted;
  code = plan->ops->update (plan, status ? status : &local);
  if (code == CF_OK)
    return CF_OK;
  plan->preferred = old;
  return plan->ops->update (plan, &local) == CF_OK ? code : CF_NO_MEMORY;
}

CfCode
cf_plan_override (CfPlan *plan, const char *name, int value, CfStatus *status)
{
  CfStatus local;

  if (!plan->ops->set_override)
    return cf_fail (status, CF_UNSUPPORTED, "the %s filter has no override %s for this plan", plan->filter->info.stem,
        name);
  return plan->ops->set_override (plan, name, value, status ? status : &local);
}

CfCode
cf_plan_trace (CfPlan *plan, CfStream *stream, int *table, size_t size, int *rows, int *columns, CfStatus *status)
{
  if (!plan->ops->trace)
    return cf_fail (status, CF_UNSUPPORTED, "the %s filter records no trace on this backend", plan->filter->info.stem);
  return plan->ops->trace (plan, stream, table, size, rows, columns, status);
}

CfCode
cf_plan_regions (CfPlan *plan, CfRegions *regions, CfStatus *status)
{
  if (!plan->ops->regions)
    return cf_fail (status, CF_UNSUPPORTED, "the %s filter finds no regions", plan->filter->info.stem);
  if (!cf_filter_traits (plan->filter, &plan->video, &plan->common, plan->params).has_regions)
    return cf_fail (status, CF_BAD_VALUE, "the parameters request no regions");
  return plan->ops->regions (plan, regions, status);
}
