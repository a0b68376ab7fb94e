/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/cpu/plan.c: the CPU plan of the segmentation: its memory, allocated for the worst frame
 * (most of it is never touched), and the sequence of steps of a frame. */
#include "internal.h"

#include "core/cpu.h"
#include "core/threads.h"

#include <stdlib.h>
#include <string.h>

static const CfSgSimd *const simd[] = CF_ISA_TABLES (cf_sg_simd);

/* ---- tasks --------------------------------------------------------------- */

typedef struct {
  CfSgCpu *m;
  CfSgTask task;
} Call;

static void
run_task (void *data, int task, int thread)
{
  const Call *call = data;

  call->task (call->m, task, call->m->scratch + (size_t) thread * call->m->scratch_size);
}

void
cf_sg_run (CfSgCpu *m, int n, CfSgTask task)
{
  Call call = { m, task };

  cf_parallel_for (n, run_task, &call);
}

/* ---- memory -------------------------------------------------------------- */

/* An arena: take () hands out parts of the block, or with block = NULL only adds up their sizes. Sizes have 64 bits:
 * new_block () refuses those that the address space cannot hold. */
typedef struct {
  uint8_t *block;
  uint64_t used;
} Memory;

static void *
take (Memory *memory, uint64_t n, size_t size)
{
  const uint64_t at = memory->used;

  memory->used = (at + n * size + 63) & ~(uint64_t) 63;
  return memory->block ? memory->block + at : NULL;
}

static uint8_t *
new_block (uint64_t size, CfStatus *status)
{
  uint8_t *block = size <= SIZE_MAX / 2 ? aligned_alloc (64, (size_t) size) : NULL;

  if (!block)
    cf_fail (status, CF_NO_MEMORY, "out of memory: the segmentation needs %llu MB; a larger cell-size needs less",
        (unsigned long long) (size >> 20));
  return block;
}

/* Takes the arrays whose size depends on the number of cells. */
static void
lay_out_cells (CfSgCpu *m, Memory *memory)
{
  const size_t n = m->n_padded, rows = (size_t) m->setup.rows;
  const size_t max_kept = n < 65536 ? n : 65536; /* regions in the state of a frame */

  for (int i = 0; i < 2; i++) {
    m->color[i] = take (memory, n, sizeof *m->color[i]);
    m->label[i] = take (memory, n, sizeof *m->label[i]);
    m->found_mean[i] = take (memory, max_kept, sizeof *m->found_mean[i]);
    m->found_cells[i] = take (memory, max_kept, sizeof *m->found_cells[i]);
    m->found_id[i] = take (memory, max_kept, sizeof *m->found_id[i]);
    m->found_birth[i] = take (memory, max_kept, sizeof *m->found_birth[i]);
  }
  m->carrier = take (memory, max_kept, sizeof *m->carrier);
  m->mean = take (memory, n, sizeof *m->mean);
  m->root = take (memory, n, sizeof *m->root);
  m->own = take (memory, n, sizeof *m->own);
  m->picked = take (memory, n, sizeof *m->picked);
  m->run = take (memory, n, sizeof *m->run);
  m->run_parent = take (memory, n, sizeof *m->run_parent);
  m->row_runs = take (memory, rows, sizeof *m->row_runs);
  m->free_run = take (memory, n, sizeof *m->free_run);
  m->row_free_runs = take (memory, rows, sizeof *m->row_free_runs);
  m->row_first_region = take (memory, rows, sizeof *m->row_first_region);
  m->sum = take (memory, n, sizeof *m->sum);
  m->node = take (memory, n, sizeof *m->node);
  m->claim = take (memory, n, sizeof *m->claim);
  m->live = take (memory, n, sizeof *m->live);
  m->touched = take (memory, n, sizeof *m->touched);
  m->is_touched = take (memory, n, sizeof *m->is_touched);
  m->moved = take (memory, n, sizeof *m->moved);
  m->strip_edges = take (memory, (size_t) m->n_strips, sizeof *m->strip_edges);
  m->border = take (memory, 4 * n, sizeof *m->border);
  m->sorted = m->border ? m->border + 2 * n : NULL;
  /* each is no longer used when the next is first written */
  _Static_assert (sizeof *m->component <= 4 * sizeof *m->border, "components fit where borders do");
  m->roughness = (uint16_t *) m->border;
  m->component = (CfSgComponent *) m->border;
  m->edge = (CfSgEdge *) m->border;
}

/* Fills the padding, which no step writes. */
static void
set_outside (CfSgCpu *m)
{
  const size_t rows = (size_t) m->setup.rows + 2;

  for (size_t row = 0; row < rows; row++)
    for (size_t x = 0; x < m->pitch; x += row == 0 || row == rows - 1 ? 1 : m->pitch - 1) {
      const size_t i = row * m->pitch + x;

      m->color[0][i] = m->color[1][i] = m->label[0][i] = m->label[1][i] = m->mean[i] = CF_SG_OUTSIDE;
      m->root[i] = m->moved[i] = 0;
    }
}

/* Allocates the arrays of cells for m->setup and drops the state. Does not free the old arrays. */
static CfCode
allocate_cells (CfSgCpu *m, CfStatus *status)
{
  Memory memory = { NULL, 0 };

  m->pitch = (size_t) m->setup.columns + 2;
  m->n_padded = m->pitch * ((size_t) m->setup.rows + 2);
  m->n_strips = (m->setup.rows + CF_SG_STRIP_ROWS - 1) / CF_SG_STRIP_ROWS;
  m->has_state = false;
  lay_out_cells (m, &memory);
  m->memory = new_block (memory.used, status);
  if (!m->memory)
    return CF_NO_MEMORY;
  memory = (Memory) { m->memory, 0 };
  lay_out_cells (m, &memory);
  set_outside (m);
  return CF_OK;
}

/* Takes the arrays whose size depends on the frame size and on the requested outputs. */
static void
lay_out_pixels (CfSgCpu *m, const CfSegmentParams *p, Memory *memory)
{
  const uint64_t pixels = (uint64_t) m->video.width * (uint64_t) m->video.height;

  m->region = take (memory, (uint64_t) m->region_capacity * (uint64_t) m->n_slices, sizeof *m->region);
  for (int i = 0; i < 4; i++)
    m->palette[i] = take (memory, m->region_capacity, sizeof *m->palette[i]);
  m->report = take (memory, m->setup.reports ? m->region_capacity : 0, sizeof *m->report);
  m->row_pixel_run = take (memory, 2 * (uint64_t) m->video.height, sizeof *m->row_pixel_run);
  m->scratch = take (memory, (uint64_t) cf_cpu_threads (), m->scratch_size);
  m->pixel_run = take (memory, pixels, sizeof *m->pixel_run);
  m->label_map = take (memory, p->label_meta ? pixels : 0, sizeof *m->label_map);
  if (!p->label_meta)
    m->label_map = NULL;
}

/* Allocates the arrays of pixels where their size has changed. Does not free the old memory. */
static CfCode
allocate_pixels (CfSgCpu *m, const CfSegmentParams *p, CfStatus *status)
{
  const uint64_t cells = (uint64_t) m->setup.columns * (uint64_t) m->setup.rows;
  const uint64_t by_size = cells / m->setup.min_cells + (uint64_t) m->setup.n_seeds; /* marked ones may be smaller */
  Memory memory = { NULL, 0 };

  m->region_capacity = by_size < 1                ? 1
      : by_size < (uint64_t) m->setup.max_regions ? (uint32_t) by_size
                                                  : (uint32_t) m->setup.max_regions;
  m->n_slices = 2 * cf_cpu_threads () < CF_SG_MAX_SLICES ? 2 * cf_cpu_threads () : CF_SG_MAX_SLICES;
  m->scratch_size = 32 * ((size_t) m->video.width + 64);
  lay_out_pixels (m, p, &memory);
  if (memory.used != m->pixel_bytes) {
    m->pixel_memory = new_block (memory.used, status);
    if (!m->pixel_memory)
      return CF_NO_MEMORY;
    m->pixel_bytes = memory.used;
  }
  memory = (Memory) { m->pixel_memory, 0 };
  lay_out_pixels (m, p, &memory);
  memset (m->scratch, 0, (size_t) cf_cpu_threads () * m->scratch_size);
  m->has_report = false;
  return CF_OK;
}

/* ---- the plan ------------------------------------------------------------ */

/* Decides how plane `p` is painted. */
static void
set_plane (CfSgCpu *m, int p)
{
  CfSgPlane *plane = &m->plane[p];
  int n = 0, painted = 0, step = 1;

  *plane = (CfSgPlane) { .painting = CF_SG_COPY };
  for (int k = 0; k < m->info->n_components; k++) {
    const CfComponent *c = &m->info->comp[k];

    if (c->plane != p)
      continue;
    plane->uneven = plane->uneven || (n > 0 && c->w_sub != plane->w_sub);
    plane->w_sub = c->w_sub;
    plane->h_sub = c->h_sub;
    step = c->step > step ? c->step : step;
    n++;
    if (m->in[k].filtered && m->setup.output != CF_SEGMENT_PASSTHROUGH) {
      painted++;
      plane->mask |= (m->info->bytes == 2 ? 0xffffu : 0xffu) << (8 * m->info->bytes * c->offset);
    }
  }
  plane->group = step * m->info->bytes;
  if (painted > 0)
    plane->painting = plane->uneven ? CF_SG_PER_COMPONENT : painted == step ? CF_SG_FILL : CF_SG_BLEND;
  m->painted = m->painted || painted > 0;
}

/* Derives everything else from m->setup; `old` is the plan before the update. */
static CfCode
prepare (CfSgCpu *m, const CfSgCpu *old, const CfPlan *plan, CfStatus *status)
{
  CfCode code = CF_OK;
  CfImage image;

  cf_image_layout (&image, m->video.format, m->video.width, m->video.height, 1);
  cf_image_views (&m->video, &plan->common, &image, m->in);
  m->painted = false;
  for (int p = 0; p < m->info->n_planes; p++)
    set_plane (m, p);
  if (!old->memory || old->setup.size != m->setup.size)
    code = allocate_cells (m, status);
  for (int i = 0; i < m->setup.n_seeds; i++)
    m->setup.seeds[i] = (int) cf_sg_row_start (m, m->setup.seeds[i] / m->setup.columns) +
        m->setup.seeds[i] % m->setup.columns;
  return code == CF_OK ? allocate_pixels (m, plan->params, status) : code;
}

/* Works on a copy: the plan and its state change only after all new memory is allocated. */
static CfCode
update (CfPlan *plan, CfStatus *status)
{
  CfSgCpu *m = plan->state, next = *m;
  CfCode code = cf_segment_setup (&next.video, &plan->common, plan->params, &next.setup, status);
  const CfSgCpu *obsolete = m;

  if (code != CF_OK)
    return code;
  code = prepare (&next, m, plan, status);
  if (code != CF_OK)
    obsolete = &next;
  if (next.memory != m->memory)
    free (obsolete->memory);
  if (next.pixel_memory != m->pixel_memory)
    free (obsolete->pixel_memory);
  if (code == CF_OK)
    *m = next;
  return code;
}

static CfCode
init (CfPlan *plan, CfStatus *status)
{
  CfSgCpu *m = plan->state;

  m->simd = simd[cf_cpu_isa_number ()];
  m->video = plan->video;
  m->video.interlaced = false;
  m->info = cf_format_info (m->video.format);
  m->n_colors = m->info->n_components == 1 ? 1 : 3;
  return update (plan, status);
}

static void
release (CfPlan *plan)
{
  CfSgCpu *m = plan->state;

  free (m->memory);
  free (m->pixel_memory);
}

static void
reset (CfPlan *plan)
{
  ((CfSgCpu *) plan->state)->has_state = false;
}

static CfCode
enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  CfSgCpu *m = plan->state;
  bool need_sums;

  (void) stream;
  (void) status;
  cf_image_views (&m->video, &plan->common, in, m->in);
  m->in_image = in;
  m->out_image = out;
  m->now = 1 - m->now;
  m->n_before = m->n_found;
  m->use_state = !m->setup.stateless && m->has_state;
  cf_sg_find_components (m);
  cf_sg_merge (m);
  m->has_state = true;
  m->last = m->setup;
  need_sums = m->setup.reports || (m->painted && m->setup.output == CF_SEGMENT_MEAN);
  m->has_runs = need_sums || m->painted;
  if (m->has_runs)
    cf_sg_find_pixels (m, need_sums);
  cf_sg_paint (m);
  m->has_report = m->setup.reports;
  return CF_OK;
}

static CfCode
regions (CfPlan *plan, CfRegions *to, CfStatus *status)
{
  CfSgCpu *m = plan->state;

  (void) status;
  memset (to, 0, sizeof *to);
  if (!m->has_report)
    return CF_OK;
  cf_segment_describe (m->video.format, m->region, m->n_found, m->frame, m->report);
  to->n = m->n_found;
  to->region = m->report;
  to->label = m->label_map;
  to->pitch = (size_t) m->video.width * sizeof *m->label_map;
  return CF_OK;
}

/* next-id: the next free id, since no test can wait for 2^31 regions. */
static CfCode
set_override (CfPlan *plan, const char *name, int value, CfStatus *status)
{
  if (strcmp (name, "next-id") != 0)
    return cf_fail (status, CF_UNSUPPORTED, "the segmentation has no test override %s here; it has next-id", name);
  ((CfSgCpu *) plan->state)->next_id = (uint32_t) value;
  return CF_OK;
}

const CfOps cf_segment_cpu = {
  .state_size = sizeof (CfSgCpu),
  .init = init,
  .update = update,
  .enqueue = enqueue,
  .reset = reset,
  .free = release,
  .set_override = set_override,
  .regions = regions,
};
