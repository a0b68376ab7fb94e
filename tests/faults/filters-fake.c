/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * filters-fake.c: the functions of every filter on the fake GPU: those of the CPU, as kernels; and what else the queued
 * work does. */
#include "fake.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

static CfContext cpu = { .backend = CF_BACKEND_CPU };

typedef struct {
  CfPlan *plan; /* of the CPU backend */
  void *scratch;
} State;

const char *
fake_kind_name (FakeKind kind)
{
  static const char *const names[] = { "count", "push", "init", "stream", "device-alloc", "pinned-alloc", "free",
    "kernels", "event", "upload", "launch", "download", "wait", "regions" };

  return names[kind];
}

void
fake_copy_piece (const CfImage *to_image, const CfImage *from, bool interlaced, const CfPiece *piece, int p)
{
  const CfFormatInfo *info = cf_format_info (from->format);
  const int rows = cf_plane_rows (info->format, from->height, p), fields = interlaced && rows > 1 ? 2 : 1;
  int w_sub = 0, h_sub = 0, columns, group;

  for (int i = 0; i < info->n_components; i++)
    if (info->comp[i].plane == p) {
      w_sub = MAX (w_sub, info->comp[i].w_sub);
      h_sub = info->comp[i].h_sub;
    }
  group = (int) cf_plane_row_bytes (info->format, 1 << w_sub, p);
  columns = (int) cf_plane_row_bytes (info->format, from->width, p) / group;
  for (int y = 0; y < cf_plane_rows (info->format, piece->from.height, p); y++) {
    uint8_t *to = (uint8_t *) to_image->plane[p].data + (size_t) ((piece->y >> h_sub) + y) * to_image->plane[p].pitch +
        (piece->x >> w_sub) * group;
    int row = (piece->from.y >> h_sub) + y;

    while (row < 0)
      row += fields;
    while (row >= rows)
      row -= fields;
    for (int x = 0; x < (piece->from.width + (1 << w_sub) - 1) >> w_sub; x++)
      memcpy (to + x * group,
          (const uint8_t *) from->plane[p].data + (size_t) row * from->plane[p].pitch +
              CLAMP ((piece->from.x >> w_sub) + x, 0, columns - 1) * group,
          (size_t) group);
  }
}

CfCode
fake_filter (CfPlan *plan, const CfImage *from, const CfImage *to)
{
  const CfVideo video = plan->video;
  CfCode code = CF_OK;

  plan->video.width = from->width;
  plan->video.height = from->height;
  if (from->width != video.width || from->height != video.height)
    code = plan->ops->resize ? plan->ops->resize (plan, NULL) : CF_OK;
  if (code == CF_OK)
    code = cf_plan_enqueue (plan, NULL, &(CfFrame) { .in = from, .out = to }, NULL);
  plan->video = video;
  if (plan->ops->resize && (from->width != video.width || from->height != video.height))
    plan->ops->resize (plan, NULL);
  return code;
}

static CfCode
init (CfPlan *plan, CfStatus *status)
{
  State *s = plan->state = calloc (1, sizeof *s);

  if (!s)
    return cf_fail (status, CF_NO_MEMORY, "out of memory");
  if (fake_call (FAKE_KERNELS, status) != CF_OK || !(s->scratch = cf_gpu_alloc (CF_DEVICE, 1000, status)))
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
    return status ? status->code : CF_NO_MEMORY;
  cf_gpu_free (CF_DEVICE, s->scratch);
  s->scratch = scratch;
  return cf_plan_update (s->plan, &plan->common, plan->params, status);
}

static CfCode
enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  return fake_launch (((State *) plan->state)->plan, stream, in, out, status);
}

static CfCode
push_history (CfPlan *plan, CfStream *stream, const CfImage *in, CfStatus *status)
{
  return fake_launch (((State *) plan->state)->plan, stream, in, NULL, status);
}

static void
reset (CfPlan *plan)
{
  cf_plan_reset (((State *) plan->state)->plan);
}

static CfCode
regions (CfPlan *plan, CfRegions *found, CfStatus *status)
{
  CfCode code = fake_call (FAKE_REGIONS, status);

  return code == CF_OK ? cf_plan_regions (((State *) plan->state)->plan, found, status) : code;
}

static void
free_state (CfPlan *plan)
{
  State *s = plan->state;

  if (!s)
    return;
  cf_gpu_free (CF_DEVICE, s->scratch);
  cf_plan_free (s->plan);
  free (s);
}

static const CfOps ops = { .init = init,
  .update = update,
  .enqueue = enqueue,
  .push_history = push_history,
  .reset = reset,
  .regions = regions,
  .free = free_state };

const CfOps *
fake_ops_of (const CfFilter *filter)
{
  (void) filter;
  return &ops;
}
