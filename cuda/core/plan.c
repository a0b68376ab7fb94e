/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/plan.c: contexts, and the part of plans that all filters and both backends share: packed formats, areas, checks
 * of images. */
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

/* ---- packed formats: planes in their place ------------------------------ */

/* Sets plan->video, and makes the images of planes of a packed format. */
static CfCode
init_planes (CfPlan *plan, const CfVideo *video, CfStatus *status)
{
  const bool cuda = plan->context->backend == CF_BACKEND_CUDA;
  CfImage layout;
  size_t size;

  plan->video = cf_unpacked_video (video);
  if (plan->video.format == video->format)
    return CF_OK;
  size = cf_image_layout (&layout, plan->video.format, video->width, video->height, 256);
  plan->planes_memory = cuda ? cf_gpu_alloc (CF_DEVICE, 2 * size, status) : aligned_alloc (256, 2 * size);
  if (!plan->planes_memory)
    return cuda ? CF_NO_MEMORY : cf_fail (status, CF_NO_MEMORY, "out of memory");
  plan->packed = video->format;
  cf_image_at (&plan->planes[0], &layout, plan->planes_memory);
  cf_image_at (&plan->planes[1], &layout, (char *) plan->planes_memory + size);
  return CF_OK;
}

static void
free_planes (CfPlan *plan)
{
  if (plan->planes_memory && plan->context->backend == CF_BACKEND_CUDA)
    cf_gpu_free (CF_DEVICE, plan->planes_memory);
  else
    free (plan->planes_memory);
}

static CfCode
repack (const CfPlan *plan, CfStream *stream, const CfImage *from, const CfImage *alpha, const CfImage *to,
    CfStatus *status)
{
  if (plan->context->backend == CF_BACKEND_CUDA)
    return cf_device_repack (stream, from, alpha, to, status);
  cf_repack (from, alpha, to);
  return CF_OK;
}

/* Sets `planes` to the images of planes, as large as `in`, and takes `in` apart into the first one. */
static CfCode
unpack (const CfPlan *plan, CfStream *stream, const CfImage *in, CfImage planes[2], CfStatus *status)
{
  for (int i = 0; i < 2; i++) {
    planes[i] = plan->planes[i];
    planes[i].width = in->width;
    planes[i].height = in->height;
  }
  return repack (plan, stream, in, NULL, &planes[0], status);
}

/* Calls `enqueue` of the plan's filter with images of planes, of the size of `in`. */
static CfCode
enqueue_whole (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  CfImage planes[2];
  CfCode code;

  if (!plan->packed)
    return plan->ops->enqueue (plan, stream, in, out, status);
  code = unpack (plan, stream, in, planes, status);
  if (code == CF_OK)
    code = plan->ops->enqueue (plan, stream, &planes[0], &planes[1], status);
  return code == CF_OK ? repack (plan, stream, &planes[1], in, out, status) : code;
}

/* Calls `push_history`, which the filter has, in the same way. */
static CfCode
push_history (CfPlan *plan, CfStream *stream, const CfImage *in, CfStatus *status)
{
  CfImage planes[2];
  CfCode code;

  if (!plan->packed)
    return plan->ops->push_history (plan, stream, in, status);
  code = unpack (plan, stream, in, planes, status);
  return code == CF_OK ? plan->ops->push_history (plan, stream, &planes[0], status) : code;
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
  if (init_planes (plan, video, status) != CF_OK || (ops->init && ops->init (plan, status ? status : &local))) {
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
  free_planes (plan);
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

void
cf_plan_reset (CfPlan *plan)
{
  if (plan->ops->reset)
    plan->ops->reset (plan);
}

/* ---- parts of frames ---------------------------------------------------- */

static void
set_size (CfPlan *plan, int width, int height)
{
  plan->video.width = width;
  plan->video.height = height;
  if (plan->ops->resize)
    plan->ops->resize (plan);
}

/* Filters rectangle `rect` of a frame as a frame of its own. The plan has the rectangle's size afterwards. */
static CfCode
filter_rect (CfPlan *plan, CfStream *stream, const CfRect *rect, const CfImage *in, const CfImage *out,
    CfStatus *status)
{
  CfImage from, to;

  set_size (plan, rect->width, rect->height);
  cf_image_part (&from, in, rect);
  cf_image_part (&to, out, rect);
  return enqueue_whole (plan, stream, &from, &to, status);
}

/* ---- several parts at once ---------------------------------------------- */

/* On the GPU, launches for a small box take as long as those for a large image. So boxes are copied beside each other
 * into one image, the sheet, which is filtered as a frame. Each box brings the pixels around it that the filter reads
 * (beyond the border: copies of the nearest ones), so its neighbours in the sheet do not matter. */

/* With fewer boxes the two copies cost as much as the launches that they save. */
#define FEWEST 3
/* Boxes begin at multiples of these, so that rows are aligned and all planes and fields begin there. */
#define COLUMN 32
#define ROW 4

typedef struct {
  const CfBox *box[CF_AREA_BOXES]; /* the highest first */
  int x[CF_AREA_BOXES], y[CF_AREA_BOXES];
  unsigned n;
  int width, height;
} Sheet;

static void
take_boxes (const CfArea *area, Sheet *s)
{
  s->n = 0;
  for (unsigned i = 0; i < area->n_boxes; i++) {
    unsigned k = s->n;

    if (area->box[i].sheet.width == 0)
      continue;
    for (; k > 0 && s->box[k - 1]->sheet.height < area->box[i].sheet.height; k--)
      s->box[k] = s->box[k - 1];
    s->box[k] = &area->box[i];
    s->n++;
  }
}

/* Lays the boxes in rows from left to right. Returns false where they do not fit an image of the frame's size. */
static bool
lay_out (const CfArea *area, Sheet *s)
{
  int x = 0, y = 0, height = 0; /* of the row */

  s->width = s->height = 0;
  for (unsigned i = 0; i < s->n; i++) {
    const CfRect *part = &s->box[i]->sheet;

    if (x + part->width > area->width) {
      y += height;
      x = height = 0;
    }
    if (y + part->height > area->height)
      return false;
    s->x[i] = x;
    s->y[i] = y;
    s->width = cf_max (s->width, x + part->width);
    s->height = cf_max (s->height, y + part->height);
    x += cf_divide_up (part->width, COLUMN) * COLUMN;
    height = cf_max (height, cf_divide_up (part->height, ROW) * ROW);
  }
  return true;
}

/* Copies the boxes into the sheet. */
static CfCode
gather (CfStream *stream, const Sheet *s, const CfImage *in, bool interlaced, const CfImage *sheet, CfStatus *status)
{
  CfPiece piece[CF_PIECES];

  for (unsigned i = 0; i < s->n; i++)
    piece[i] = (CfPiece) { s->box[i]->sheet, s->x[i], s->y[i] };
  return cf_stream_copy_pieces (stream, CF_ON_DEVICE, sheet, in, interlaced, piece, s->n, status);
}

/* Copies the boxes' `write` rectangles from the sheet. */
static CfCode
scatter (CfStream *stream, const Sheet *s, const CfImage *sheet, const CfImage *out, CfStatus *status)
{
  CfPiece piece[CF_PIECES];

  for (unsigned i = 0; i < s->n; i++) {
    const CfRect *part = &s->box[i]->sheet, *write = &s->box[i]->write;

    piece[i] = (CfPiece) { { s->x[i] + write->x - part->x, s->y[i] + write->y - part->y, write->width, write->height },
      write->x, write->y };
  }
  return cf_stream_copy_pieces (stream, CF_ON_DEVICE, out, sheet, false, piece, s->n, status);
}

/* On CUDA, filters boxes of an area in a sheet if that pays, and marks them in `done`. May change the plan's size. */
static CfCode
filter_sheet (CfPlan *plan, CfStream *stream, const CfArea *area, const CfImage *in, const CfImage *out,
    bool done[CF_AREA_BOXES], CfStatus *status)
{
  CfImage layout, from, to;
  size_t bytes;
  CfCode code;
  Sheet s;

  take_boxes (area, &s);
  if (plan->context->backend != CF_BACKEND_CUDA || s.n < FEWEST || !lay_out (area, &s))
    return CF_OK;
  bytes = cf_image_layout (&layout, area->format, area->width, area->height, 256);
  if (!plan->sheets && !(plan->sheets = cf_gpu_alloc (CF_DEVICE, 2 * bytes, status)))
    return status->code;
  cf_image_at (&from, &layout, plan->sheets);
  cf_image_at (&to, &layout, (uint8_t *) plan->sheets + bytes);
  code = gather (stream, &s, in, area->interlaced, &from, status);
  if (code == CF_OK)
    code = filter_rect (plan, stream, &(CfRect) { 0, 0, s.width, s.height }, &from, &to, status);
  if (code == CF_OK)
    code = scatter (stream, &s, &to, out, status);
  for (unsigned i = 0; i < s.n; i++)
    done[s.box[i] - area->box] = true;
  return code;
}

/* ---- frames ------------------------------------------------------------- */

/* Checks that an image has the plan's format and size, and memory for all samples. `which` names it in the message. */
static CfCode
check_image (const CfPlan *plan, const CfImage *image, const char *which, CfStatus *status)
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

/* Does the filter take all boxes of an area at once? */
static bool
filters_boxes (const CfPlan *plan, const CfArea *area)
{
  return area->anchored && plan->ops->enqueue_boxes && !plan->packed && area->n_boxes > 0;
}

/* Filters all boxes into `scratch`: at once, in a sheet, or one after the other. */
static CfCode
filter_boxes (CfPlan *plan, CfStream *stream, const CfArea *area, const CfImage *in, const CfImage *scratch,
    CfStatus *status)
{
  const int width = plan->video.width, height = plan->video.height;
  bool done[CF_AREA_BOXES] = { false };
  CfCode code;

  if (filters_boxes (plan, area))
    return plan->ops->enqueue_boxes (plan, stream, area, false, in, scratch, status);
  code = filter_sheet (plan, stream, area, in, scratch, done, status);
  for (unsigned i = 0; code == CF_OK && i < area->n_boxes; i++)
    if (!done[i])
      code = filter_rect (plan, stream, &area->box[i].read, in, scratch, status);
  set_size (plan, width, height);
  return code;
}

/* Filters the area of a frame whose input and output are checked. `status` is not NULL. */
static CfCode
enqueue_area (CfPlan *plan, CfStream *stream, const CfFrame *frame, CfStatus *status)
{
  const CfArea *area = frame->area;
  CfCode code = check_image (plan, frame->scratch, "scratch", status);

  if (code == CF_OK &&
      (area->format != frame->in->format || area->width != plan->video.width || area->height != plan->video.height ||
          area->interlaced != plan->video.interlaced))
    code = cf_fail (status, CF_BAD_VALUE, "the area is for another format or size than the plan: %d x %d, not %d x %d",
        area->width, area->height, plan->video.width, plan->video.height);
  if (code == CF_OK && frame->out->plane[0].data == frame->scratch->plane[0].data && !cf_area_info (area).solid)
    code = cf_fail (status, CF_BAD_VALUE, "the output is the scratch image, but the area has strengths below 255");
  if (code == CF_OK && filters_boxes (plan, area) && area->plain)
    return plan->ops->enqueue_boxes (plan, stream, area, frame->copies, frame->in, frame->out, status);
  if (code == CF_OK)
    code = area->by_halo ? filter_boxes (plan, stream, area, frame->in, frame->scratch, status)
                         : enqueue_whole (plan, stream, frame->in, frame->scratch, status);
  if (code != CF_OK || frame->out->plane[0].data == frame->scratch->plane[0].data ||
      (area->n_boxes == 0 && !frame->copies))
    return code;
  if (plan->context->backend == CF_BACKEND_CUDA)
    return cf_device_blend (plan, stream, frame, status);
  if (frame->copies)
    cf_image_copy (frame->out, frame->in, NULL);
  cf_area_blend (area, frame->in, frame->scratch, frame->out);
  return CF_OK;
}

CfCode
cf_plan_enqueue (CfPlan *plan, CfStream *stream, const CfFrame *frame, CfStatus *status)
{
  CfCode code = check_image (plan, frame->in, "input", status);
  CfStatus local;

  if (code == CF_OK && frame->out)
    code = check_image (plan, frame->out, "output", status);
  if (code == CF_OK)
    code = usable (plan->context, status);
  if (code != CF_OK)
    return code;
  if (!frame->out)
    return plan->ops->push_history ? push_history (plan, stream, frame->in, status) : CF_OK;
  if (frame->area)
    return enqueue_area (plan, stream, frame, status ? status : &local);
  return enqueue_whole (plan, stream, frame->in, frame->out, status);
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

bool
cf_plan_noise (CfPlan *plan, double noise[CF_NOISE_ZONES])
{
  return plan->ops->noise && plan->ops->noise (plan, noise);
}

/* ---- for tests ---------------------------------------------------------- */

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
