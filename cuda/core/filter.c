/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * core/filter.c: descriptors, parameter checks, contexts and plans: what is the same
 * for every filter and for both backends. */
#include "filter.h"
#include "convolve/convolve.h"
#include "irfilter/irfilter.h"
#include "median/median.h"
#include "segment/segment.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One row a filter. */
const CfFilter *const cf_filters[] = {
  &cf_median,
  &cf_convolve,
  &cf_irfilter,
  &cf_segment,
  NULL,
};

CfCode
cf_fail (CfStatus *status, CfCode code, const char *format, ...)
{
  va_list args;

  if (!status)
    return code;
  status->code = code;
  status->cuda = 0;
  va_start (args, format);
  vsnprintf (status->message, sizeof status->message, format, args);
  va_end (args);
  return code;
}

/* ---- descriptors -------------------------------------------------------- */

const CfFilter *
cf_filter_find (const char *stem)
{
  for (int i = 0; stem && cf_filters[i]; i++)
    if (strcmp (cf_filters[i]->stem, stem) == 0)
      return cf_filters[i];
  return NULL;
}

const char *
cf_filter_stem (const CfFilter *filter)
{
  return filter->stem;
}

const CfParam *
cf_filter_params (const CfFilter *filter, unsigned *n)
{
  *n = filter->n_params;
  return filter->params;
}

size_t
cf_filter_params_size (const CfFilter *filter)
{
  return filter->params_size;
}

int
cf_filter_halo (const CfFilter *filter, const void *params)
{
  return filter->halo && cf_filter_history (filter, params) == 0 ? filter->halo (params) : -1;
}

int
cf_filter_history (const CfFilter *filter, const void *params)
{
  return filter->history ? filter->history (params) : 0;
}

void
cf_filter_defaults (const CfFilter *filter, void *params)
{
  memset (params, 0, filter->params_size);
  for (unsigned i = 0; i < filter->n_params; i++) {
    const CfParam *p = &filter->params[i];
    void *field = (char *) params + p->offset;

    if (p->type == CF_TYPE_DOUBLE)
      *(double *) field = p->def;
    else if (p->type == CF_TYPE_COLOR)
      *(uint32_t *) field = (uint32_t) p->def;
    else if (p->type != CF_TYPE_STRING)
      *(int *) field = (int) p->def;
  }
}

static CfCode
check_param (const CfParam *p, const void *params, CfStatus *status)
{
  const void *field = (const char *) params + p->offset;

  if (p->type == CF_TYPE_INT || p->type == CF_TYPE_DOUBLE) {
    double value = p->type == CF_TYPE_INT ? *(const int *) field : *(const double *) field;

    if (!isfinite (value) || value < p->min || value > p->max)
      return cf_fail (status, CF_BAD_VALUE, "%s is %g; it must be between %g and %g%s%s", p->name, value, p->min, p->max,
          p->unit[0] ? " " : "", p->unit);
  } else if (p->type == CF_TYPE_ENUM) {
    for (const CfEnumValue *v = p->values; v->name; v++)
      if (v->value == *(const int *) field)
        return CF_OK;
    return cf_fail (status, CF_BAD_VALUE, "%s has no value number %d", p->name, *(const int *) field);
  } else if (p->type == CF_TYPE_FLAGS) {
    int unknown = *(const int *) field;

    for (const CfEnumValue *v = p->values; v->name; v++)
      unknown &= ~v->value;
    if (unknown)
      return cf_fail (status, CF_BAD_VALUE, "%s has no values that make up the number %d", p->name, unknown);
  }
  return CF_OK;
}

bool
cf_any_filtered (const CfVideo *video, const CfCommon *common)
{
  CfView views[CF_MAX_VIEWS];
  CfImage image;
  int n;

  cf_image_layout (&image, video->format, video->width, video->height, 1);
  n = cf_image_views (video, common, &image, views);
  for (int i = 0; i < n; i++)
    if (views[i].filtered)
      return true;
  return false;
}

CfCode
cf_check_odd (const char *name, int value, int max, CfStatus *status)
{
  if (value % 2)
    return CF_OK;
  if (value < 2)
    return cf_fail (status, CF_BAD_VALUE, "%s %d is even; use an odd one such as 1 or 3", name, value);
  if (value + 1 > max)
    return cf_fail (status, CF_BAD_VALUE, "%s %d is even; use an odd one such as %d", name, value, value - 1);
  return cf_fail (status, CF_BAD_VALUE, "%s %d is even; use an odd one such as %d or %d", name, value, value - 1,
      value + 1);
}

static CfCode
check_video (const CfVideo *video, const CfCommon *common, CfStatus *status)
{
  const CfFormatInfo *info = cf_format_info (video->format);

  if (!info)
    return cf_fail (status, CF_UNSUPPORTED, "unknown pixel format number %d", (int) video->format);
  if (video->width < 1 || video->height < 1 || video->width > CF_MAX_SIZE || video->height > CF_MAX_SIZE)
    return cf_fail (status, CF_BAD_VALUE, "the picture is %d x %d; sides go from 1 to %d", video->width, video->height,
        CF_MAX_SIZE);
  if (info->rgb && common->apply_to != CF_APPLY_ALL)
    return cf_fail (status, CF_BAD_VALUE, "apply-to is %s, but %s has neither luma nor chroma; use apply-to=all",
        common->apply_to == CF_APPLY_LUMA ? "luma" : "chroma", info->name);
  return CF_OK;
}

CfCode
cf_filter_check (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params,
    CfStatus *status)
{
  CfCode code = video ? check_video (video, common, status) : CF_OK;

  for (unsigned i = 0; code == CF_OK && i < filter->n_params; i++)
    code = check_param (&filter->params[i], params, status);
  if (code == CF_OK && filter->check)
    code = filter->check (video, common, params, status);
  if (code == CF_OK)
    cf_fail (status, CF_OK, "%s", "");
  return code;
}

CfCode
cf_filter_param_changed (const CfFilter *filter, void *params, unsigned row, CfStatus *status)
{
  return filter->changed && row < filter->n_params ? filter->changed (params, row, status) : CF_OK;
}

bool
cf_filter_passes (const CfFilter *filter, const CfVideo *video, const CfCommon *common, const void *params)
{
  return filter->passes && filter->passes (video, common, params);
}

bool
cf_filter_whole_frames (const CfFilter *filter)
{
  return filter->whole_frames;
}

bool
cf_filter_follows (const CfFilter *filter, const void *params)
{
  return filter->follows && filter->follows (params);
}

bool
cf_filter_reports (const CfFilter *filter, const void *params)
{
  return filter->reports && filter->reports (params);
}

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
  if (backend == CF_BACKEND_CUDA && cf_cuda_context_init (context, status) != CF_OK) {
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

CfBackend
cf_context_backend (const CfContext *context)
{
  return context->backend;
}

/* ---- plans -------------------------------------------------------------- */

static void
free_params (const CfFilter *filter, void *params)
{
  for (unsigned i = 0; params && i < filter->n_params; i++)
    if (filter->params[i].type == CF_TYPE_STRING)
      free (*(char **) ((char *) params + filter->params[i].offset));
  free (params);
}

/* The plan's own copy, strings too; NULL if memory is out. */
static void *
copy_params (const CfFilter *filter, const void *params)
{
  void *copy = malloc (filter->params_size);
  bool complete = copy != NULL;

  if (!copy)
    return NULL;
  memcpy (copy, params, filter->params_size);
  for (unsigned i = 0; i < filter->n_params; i++) {
    const CfParam *p = &filter->params[i];
    char **field = (char **) ((char *) copy + p->offset);

    if (p->type == CF_TYPE_STRING && *field) {
      *field = strdup (*field);
      complete = complete && *field;
    }
  }
  if (!complete) {
    free_params (filter, copy);
    return NULL;
  }
  return copy;
}

CfPlan *
cf_plan_new (CfContext *context, const CfFilter *filter, const CfVideo *video, const CfCommon *common,
    const void *params, CfStatus *status)
{
  const CfOps *ops = context->backend == CF_BACKEND_CUDA ? filter->cuda : filter->cpu;
  CfPlan *plan;

  if (cf_filter_check (filter, video, common, params, status) != CF_OK)
    return NULL;
  if (!ops) {
    cf_fail (status, CF_UNSUPPORTED, "the %s filter has no CUDA kernels in this build", filter->stem);
    return NULL;
  }
  plan = calloc (1, sizeof *plan);
  if (plan)
    plan->params = copy_params (filter, params);
  if (!plan || !plan->params) {
    free (plan);
    cf_fail (status, CF_NO_MEMORY, "out of memory");
    return NULL;
  }
  plan->context = context;
  plan->filter = filter;
  plan->ops = ops;
  plan->video = *video;
  plan->common = *common;
  if (ops->init && ops->init (plan, status) != CF_OK) {
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
  free_params (plan->filter, plan->params);
  free (plan);
}

CfCode
cf_plan_update (CfPlan *plan, const CfCommon *common, const void *params, CfStatus *status)
{
  CfCode code = cf_filter_check (plan->filter, &plan->video, common, params, status);
  CfCommon old_common = plan->common;
  void *old_params = plan->params, *copy;

  if (code != CF_OK)
    return code;
  if (plan->filter->replan && plan->filter->replan (plan->params, params))
    return cf_fail (status, CF_REPLAN, "these parameters need a new plan");
  copy = copy_params (plan->filter, params);
  if (!copy)
    return cf_fail (status, CF_NO_MEMORY, "out of memory");
  plan->params = copy;
  plan->common = *common;
  if (plan->ops->update)
    code = plan->ops->update (plan, status);
  if (code != CF_OK) {
    /* The old ones worked before: their scratch is still there. A lost GPU is
     * not asked again. */
    plan->params = old_params;
    plan->common = old_common;
    if (plan->ops->update && code != CF_GPU_LOST)
      plan->ops->update (plan, NULL);
    free_params (plan->filter, copy);
    return code;
  }
  free_params (plan->filter, old_params);
  return CF_OK;
}

/* Is this a picture that the plan was made for? */
static CfCode
check_image (const CfPlan *plan, const CfImage *image, const char *which, CfStatus *status)
{
  const CfFormatInfo *info = cf_format_info (plan->video.format);

  if (image->format != plan->video.format || image->width != plan->video.width || image->height != plan->video.height)
    return cf_fail (status, CF_BAD_VALUE, "the %s picture has another format or size than the plan: %d x %d, not %d x %d",
        which, image->width, image->height, plan->video.width, plan->video.height);
  for (int p = 0; p < info->n_planes; p++) {
    size_t need = cf_plane_row_bytes (info->format, image->width, p);

    if (!image->plane[p].data)
      return cf_fail (status, CF_BAD_VALUE, "plane %d of the %s picture has no memory", p, which);
    if (image->plane[p].pitch < need)
      return cf_fail (status, CF_BAD_VALUE, "plane %d of the %s picture has a pitch of %zu bytes; a row takes %zu", p,
          which, image->plane[p].pitch, need);
    if (info->bytes == 2 && ((uintptr_t) image->plane[p].data | image->plane[p].pitch) & 1)
      return cf_fail (status, CF_BAD_VALUE, "plane %d of the %s picture has 16-bit samples at an odd address or pitch",
          p, which);
  }
  return CF_OK;
}

CfCode
cf_plan_enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  CfCode code = check_image (plan, in, "input", status);

  if (code == CF_OK)
    code = check_image (plan, out, "output", status);
  return code == CF_OK ? plan->ops->enqueue (plan, stream, in, out, status) : code;
}

CfCode
cf_plan_push_history (CfPlan *plan, CfStream *stream, const CfImage *in, CfStatus *status)
{
  CfCode code = check_image (plan, in, "input", status);

  return code == CF_OK && plan->ops->push_history ? plan->ops->push_history (plan, stream, in, status) : code;
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
  return plan->ops->variant ? plan->ops->variant (plan) : plan->filter->stem;
}

const char *
cf_plan_variant_name (const CfPlan *plan, unsigned i)
{
  return plan->ops->variant_name ? plan->ops->variant_name (plan, i) : NULL;
}

CfCode
cf_plan_prefer_number (CfPlan *plan, const char *name, int *preferred,
    CfCode (*update) (CfPlan *plan, CfStatus *status), CfStatus *status)
{
  int old = *preferred, wanted = -1;
  const char *known;
  CfCode code;

  for (unsigned i = 0; name && (known = plan->ops->variant_name (plan, i)) != NULL; i++)
    if (strcmp (name, known) == 0)
      wanted = (int) i;
  if (name && wanted < 0)
    return cf_fail (status, CF_UNSUPPORTED, "the %s filter has no variant %s here", plan->filter->stem, name);
  *preferred = wanted;
  code = update (plan, status);
  if (code == CF_OK)
    return CF_OK;
  *preferred = old;
  return update (plan, NULL) == CF_OK ? code : CF_NO_MEMORY;
}

CfCode
cf_plan_prefer (CfPlan *plan, const char *variant, CfStatus *status)
{
  if (!plan->ops->prefer)
    return cf_fail (status, CF_UNSUPPORTED, "the %s filter has one variant only", plan->filter->stem);
  return plan->ops->prefer (plan, variant, status);
}

CfCode
cf_plan_override (CfPlan *plan, const char *name, int value, CfStatus *status)
{
  if (!plan->ops->set_override)
    return cf_fail (status, CF_UNSUPPORTED, "the %s filter has no name %s here", plan->filter->stem, name);
  return plan->ops->set_override (plan, name, value, status);
}

CfCode
cf_plan_trace (CfPlan *plan, CfStream *stream, int *table, size_t size, int *rows, int *columns, CfStatus *status)
{
  if (!plan->ops->trace)
    return cf_fail (status, CF_UNSUPPORTED, "the %s filter keeps no trace here", plan->filter->stem);
  return plan->ops->trace (plan, stream, table, size, rows, columns, status);
}

CfCode
cf_plan_regions (CfPlan *plan, CfRegions *regions, CfStatus *status)
{
  if (!plan->ops->regions)
    return cf_fail (status, CF_UNSUPPORTED, "the %s filter finds no regions", plan->filter->stem);
  if (!cf_filter_reports (plan->filter, plan->params))
    return cf_fail (status, CF_BAD_VALUE, "no regions were asked for: region-meta, label-meta and message-interval are off");
  return plan->ops->regions (plan, regions, status);
}
