/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * kernels-fake.c: what stands for the kernels on the fake GPU: the functions of every filter, which are those of the
 * CPU, and the kernels of cuda/core/gpu/. */
#include "core/area.h"
#include "core/gpu/cuda.h"
#include "fake-private.h"

#include <stdlib.h>
#include <string.h>

#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))

/* ---- the core's ---------------------------------------------------------------- */

typedef struct {
  CfImage to, from;
  CfPiece piece[CF_PIECES];
  unsigned n;
  bool interlaced;
} Pieces;

/* Copies a rectangle of plane `p`. */
static void
copy_piece (const Pieces *c, const CfPiece *piece, int p)
{
  const CfImage *from = &c->from;
  const CfFormatInfo *info = cf_format_info (from->format);
  const int rows = cf_plane_rows (info->format, from->height, p), fields = c->interlaced && rows > 1 ? 2 : 1;
  int w_sub = 0, h_sub = 0, columns, group;

  for (int i = 0; i < info->n_components; i++)
    if (info->comp[i].plane == p) {
      w_sub = MAX (w_sub, info->comp[i].w_sub);
      h_sub = info->comp[i].h_sub;
    }
  group = (int) cf_plane_row_bytes (info->format, 1 << w_sub, p);
  columns = (int) cf_plane_row_bytes (info->format, from->width, p) / group;
  for (int y = 0; y < cf_plane_rows (info->format, piece->from.height, p); y++) {
    uint8_t *to = (uint8_t *) c->to.plane[p].data + (size_t) ((piece->y >> h_sub) + y) * c->to.plane[p].pitch +
        (piece->x >> w_sub) * group;
    int row = (piece->from.y >> h_sub) + y;

    while (row < 0)
      row += fields;
    while (row >= rows)
      row -= fields;
    for (int x = 0; x < (piece->from.width + (1 << w_sub) - 1) >> w_sub; x++)
      memcpy (to + x * group,
          (const uint8_t *) from->plane[p].data + (size_t) row * from->plane[p].pitch +
              MAX (MIN ((piece->from.x >> w_sub) + x, columns - 1), 0) * group,
          (size_t) group);
  }
}

static void
run_pieces (const void *arguments)
{
  const Pieces *c = arguments;

  for (unsigned i = 0; i < c->n; i++)
    for (int p = 0; p < cf_format_info (c->from.format)->n_planes; p++)
      copy_piece (c, &c->piece[i], p);
}

unsigned fake_unfit;

CfCode
cf_cuda_load_pieces (bool *dependent, CfStatus *status)
{
  *dependent = false;
  return cf_cuda_check (fake_unfit >> fake_number_now () & 1 ? 209 : 0, "loading a kernel", status);
}

CfCode
cf_cuda_copy_pieces (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from, bool interlaced,
    const CfPiece *piece, unsigned n, CfStatus *status)
{
  static const FakeKind
      kinds[] = { [CF_UPLOAD] = FAKE_UPLOAD, [CF_DOWNLOAD] = FAKE_DOWNLOAD, [CF_ON_DEVICE] = FAKE_LAUNCH };
  Pieces copy = { .to = *to, .from = *from, .n = n, .interlaced = interlaced };

  memcpy (copy.piece, piece, n * sizeof *piece);
  fake_launch (kinds[direction], cf_stream_handle (stream), run_pieces, &copy, sizeof copy, to->plane[0].data,
      from->plane[0].data);
  return cf_cuda_launched (FAKE_KERNEL, status);
}

typedef struct {
  CfArea *area;
  const void *map;
  CfImage in, filtered, out;
  bool copies;
} Blend;

static void
run_blend (const void *arguments)
{
  const Blend *b = arguments;

  /* The kernel reads the copy of the map. */
  if (b->area->map)
    fake.misuse += !b->map ||
        memcmp (b->map, b->area->map->strength, (size_t) b->area->width * (size_t) b->area->height) != 0;
  if (b->copies)
    cf_image_copy (&b->out, &b->in, NULL);
  cf_area_blend (b->area, &b->in, &b->filtered, &b->out);
  cf_area_unref (b->area);
}

CfCode
cf_cuda_blend (CfStream *stream, const CfFrame *frame, const void *map, bool dependent, CfStatus *status)
{
  const Blend blend = { cf_area_ref ((CfArea *) frame->area), map, *frame->in, *frame->scratch, *frame->out,
    frame->copies };
  CfCode code;

  (void) dependent;
  fake_launch (FAKE_LAUNCH, cf_stream_handle (stream), run_blend, &blend, sizeof blend, frame->out->plane[0].data,
      frame->in->plane[0].data);
  code = cf_cuda_launched (FAKE_KERNEL, status);
  if (code != CF_OK)
    cf_area_unref (blend.area);
  return code;
}

typedef struct {
  CfImage from, alpha, to;
} Repack;

static void
run_repack (const void *arguments)
{
  const Repack *r = arguments;

  cf_repack (&r->from, r->alpha.format ? &r->alpha : NULL, &r->to);
}

CfCode
cf_cuda_repack (CfStream *stream, const CfImage *from, const CfImage *alpha, const CfImage *to, CfStatus *status)
{
  const Repack repack = { *from, alpha ? *alpha : (CfImage) { 0 }, *to };

  fake_launch (FAKE_LAUNCH, cf_stream_handle (stream), run_repack, &repack, sizeof repack, to->plane[0].data,
      from->plane[0].data);
  return cf_cuda_launched (FAKE_KERNEL, status);
}

/* ---- the filters' -------------------------------------------------------------- */

static CfContext cpu = { .backend = CF_BACKEND_CPU };

typedef struct {
  CfPlan *plan; /* of the CPU backend */
  void *scratch;
} State;

typedef struct {
  CfPlan *plan;
  CfImage in, out;
} Frame;

/* Filters an image of any size up to the plan's, as a part of a frame. */
static void
run_filter (const void *arguments)
{
  const Frame *f = arguments;
  CfPlan *plan = f->plan;
  const CfVideo video = plan->video;
  const bool part = f->in.width != video.width || f->in.height != video.height;

  plan->video.width = f->in.width;
  plan->video.height = f->in.height;
  if (part && plan->ops->resize)
    plan->ops->resize (plan);
  fake.misuse += cf_plan_enqueue (plan, NULL, &(CfFrame) { .in = &f->in, .out = &f->out }, NULL) != CF_OK;
  plan->video = video;
  if (part && plan->ops->resize)
    plan->ops->resize (plan);
}

static void
run_history (const void *arguments)
{
  const Frame *f = arguments;

  fake.misuse += cf_plan_enqueue (f->plan, NULL, &(CfFrame) { .in = &f->in }, NULL) != CF_OK;
}

static CfCode
init (CfPlan *plan, CfStatus *status)
{
  State *s = plan->state;

  if (cf_cuda_check (fake_call (FAKE_KERNELS), "loading kernels", status) != CF_OK ||
      !(s->scratch = cf_gpu_alloc (CF_DEVICE, 1000, status)))
    return status->code;
  s->plan = cf_plan_new (&cpu, plan->filter, &plan->video, &plan->common, plan->params, status);
  return s->plan ? CF_OK : status->code;
}

/* Allocates scratch memory again, because new parameters may need more. */
static CfCode
update (CfPlan *plan, CfStatus *status)
{
  State *s = plan->state;
  void *scratch = cf_gpu_alloc (CF_DEVICE, 2000, status);

  if (!scratch)
    return status->code;
  cf_gpu_free (CF_DEVICE, s->scratch);
  s->scratch = scratch;
  return cf_plan_update (s->plan, &plan->common, plan->params, status);
}

static CfCode
enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  const Frame frame = { ((State *) plan->state)->plan, *in, *out };

  fake_launch (FAKE_LAUNCH, cf_stream_handle (stream), run_filter, &frame, sizeof frame, out->plane[0].data,
      in->plane[0].data);
  return cf_cuda_launched (FAKE_KERNEL, status);
}

static CfCode
push_history (CfPlan *plan, CfStream *stream, const CfImage *in, CfStatus *status)
{
  const Frame frame = { .plan = ((State *) plan->state)->plan, .in = *in };

  fake_launch (FAKE_LAUNCH, cf_stream_handle (stream), run_history, &frame, sizeof frame, NULL, in->plane[0].data);
  return cf_cuda_launched (FAKE_KERNEL, status);
}

static void
reset (CfPlan *plan)
{
  cf_plan_reset (((State *) plan->state)->plan);
}

static CfCode
regions (CfPlan *plan, CfRegions *found, CfStatus *status)
{
  const CfCode code = cf_cuda_check (fake_call (FAKE_REGIONS), "reading regions", status);

  return code == CF_OK ? cf_plan_regions (((State *) plan->state)->plan, found, status) : code;
}

static void
free_state (CfPlan *plan)
{
  State *s = plan->state;

  cf_gpu_free (CF_DEVICE, s->scratch);
  cf_plan_free (s->plan);
}

/* In the place of every filter's `cuda` (meson.build). */
extern const CfOps fake_ops;
const CfOps fake_ops = { .state_size = sizeof (State),
  .init = init,
  .update = update,
  .enqueue = enqueue,
  .push_history = push_history,
  .reset = reset,
  .regions = regions,
  .free = free_state };
