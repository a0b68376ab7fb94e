/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment/cpu/plan.c: the segmentation's plan on the CPU: its memory, all of it for
 * the worst picture (most of it is never touched), and a frame's steps. */
#include "internal.h"

#include "core/cpu.h"
#include "core/threads.h"

#include <stdlib.h>
#include <string.h>

static const CfSgSimd *const simd[] = {
#if defined __x86_64__ || defined __i386__
  [CF_ISA_AVX512BW] = &cf_sg_simd_avx512bw,
  [CF_ISA_AVX2] = &cf_sg_simd_avx2,
  [CF_ISA_SSE4_1] = &cf_sg_simd_sse4_1,
#endif
  [CF_ISA_BASELINE] = &cf_sg_simd_baseline,
};

/* ---- jobs ---------------------------------------------------------------- */

typedef struct {
  CfSgCpu *m;
  CfSgJob job;
} Call;

static void
run_job (void *data, int job, int thread)
{
  const Call *call = data;

  call->job (call->m, job, call->m->scratch + (size_t) thread * call->m->scratch_size);
}

void
cf_sg_run (CfSgCpu *m, int n, CfSgJob job)
{
  Call call = { m, job };

  cf_parallel_for (n, run_job, &call);
}

/* ---- memory -------------------------------------------------------------- */

/* Hands out parts of a block; without one it only counts. 64 bits, for what no
 * machine has. */
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

/* What depends on how many cells there are. */
static void
lay_cells (CfSgCpu *m, Memory *memory)
{
  const size_t n = m->places, rows = (size_t) m->setup.rows;
  const size_t most = n < 65536 ? n : 65536; /* regions that a frame leaves */

  for (int i = 0; i < 2; i++) {
    m->color[i] = take (memory, n, sizeof *m->color[i]);
    m->label[i] = take (memory, n, sizeof *m->label[i]);
    m->found_mean[i] = take (memory, most, sizeof *m->found_mean[i]);
    m->found_id[i] = take (memory, most, sizeof *m->found_id[i]);
    m->found_birth[i] = take (memory, most, sizeof *m->found_birth[i]);
  }
  m->largest = take (memory, most, sizeof *m->largest);
  m->mean = take (memory, n, sizeof *m->mean);
  m->root = take (memory, n, sizeof *m->root);
  m->picked = take (memory, n, sizeof *m->picked);
  m->run = take (memory, n, sizeof *m->run);
  m->joined = take (memory, n, sizeof *m->joined);
  m->row_runs = take (memory, rows, sizeof *m->row_runs);
  m->gap = take (memory, n, sizeof *m->gap);
  m->row_gaps = take (memory, rows, sizeof *m->row_gaps);
  m->row_first = take (memory, rows, sizeof *m->row_first);
  m->sum = take (memory, n, sizeof *m->sum);
  m->node = take (memory, n, sizeof *m->node);
  m->claim = take (memory, n, sizeof *m->claim);
  m->live = take (memory, n, sizeof *m->live);
  m->touched = take (memory, n, sizeof *m->touched);
  m->is_touched = take (memory, n, sizeof *m->is_touched);
  m->strip_edges = take (memory, (size_t) m->n_strips, sizeof *m->strip_edges);
  m->border = take (memory, 4 * n, sizeof *m->border);
  m->sorted = m->border ? m->border + 2 * n : NULL;
  /* one is done with before the next begins */
  _Static_assert (sizeof *m->component <= 4 * sizeof *m->border, "components fit where borders do");
  m->rough = (uint16_t *) m->border;
  m->component = (CfSgComponent *) m->border;
  m->edge = (CfSgEdge *) m->border;
}

/* The cells outside, which nothing writes later. */
static void
set_outside (CfSgCpu *m)
{
  const size_t rows = (size_t) m->setup.rows + 2;

  for (size_t row = 0; row < rows; row++)
    for (size_t x = 0; x < m->pitch; x += row == 0 || row == rows - 1 ? 1 : m->pitch - 1) {
      const size_t i = row * m->pitch + x;

      m->color[0][i] = m->color[1][i] = m->label[0][i] = m->label[1][i] = m->mean[i] = CF_SG_OUTSIDE;
      m->root[i] = 0;
    }
}

/* New cells for the setup, without a state. The old ones are not freed. */
static CfCode
make_cells (CfSgCpu *m, CfStatus *status)
{
  Memory memory = { NULL, 0 };

  m->pitch = (size_t) m->setup.columns + 2;
  m->places = m->pitch * ((size_t) m->setup.rows + 2);
  m->n_strips = (m->setup.rows + CF_SG_STRIP - 1) / CF_SG_STRIP;
  m->has_state = false;
  lay_cells (m, &memory);
  m->memory = new_block (memory.used, status);
  if (!m->memory)
    return CF_NO_MEMORY;
  memory = (Memory) { m->memory, 0 };
  lay_cells (m, &memory);
  set_outside (m);
  return CF_OK;
}

/* What depends on the picture and on what is asked for. */
static void
lay_pixels (CfSgCpu *m, const CfSegmentParams *p, Memory *memory)
{
  const uint64_t pixels = (uint64_t) m->video.width * (uint64_t) m->video.height;

  m->region = take (memory, (uint64_t) m->most * (uint64_t) m->n_slices, sizeof *m->region);
  for (int i = 0; i < 4; i++)
    m->palette[i] = take (memory, m->most, sizeof *m->palette[i]);
  m->told = take (memory, m->setup.reports ? m->most : 0, sizeof *m->told);
  m->row_pixel_run = take (memory, 2 * (uint64_t) m->video.height, sizeof *m->row_pixel_run);
  m->scratch = take (memory, (uint64_t) cf_cpu_threads (), m->scratch_size);
  m->pixel_run = take (memory, pixels, sizeof *m->pixel_run);
  m->label_map = take (memory, p->label_meta ? pixels : 0, sizeof *m->label_map);
  if (!p->label_meta)
    m->label_map = NULL;
}

/* The old memory is not freed where it is too small, or too large. */
static CfCode
make_pixels (CfSgCpu *m, const CfSegmentParams *p, CfStatus *status)
{
  const uint64_t cells = (uint64_t) m->setup.columns * (uint64_t) m->setup.rows;
  const uint64_t by_size = cells / m->setup.min_cells;
  Memory memory = { NULL, 0 };

  m->most = by_size < 1 ? 1 : by_size < (uint64_t) m->setup.max_regions ? (uint32_t) by_size
                                                                        : (uint32_t) m->setup.max_regions;
  m->n_slices = 2 * cf_cpu_threads () < CF_SG_SLICES ? 2 * cf_cpu_threads () : CF_SG_SLICES;
  m->scratch_size = 32 * ((size_t) m->video.width + 64);
  lay_pixels (m, p, &memory);
  if (memory.used != m->pixel_bytes) {
    m->pixel_memory = new_block (memory.used, status);
    if (!m->pixel_memory)
      return CF_NO_MEMORY;
    m->pixel_bytes = memory.used;
  }
  memory = (Memory) { m->pixel_memory, 0 };
  lay_pixels (m, p, &memory);
  memset (m->scratch, 0, (size_t) cf_cpu_threads () * m->scratch_size);
  m->is_told = false;
  return CF_OK;
}

/* ---- the plan ------------------------------------------------------------ */

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
    plane->painting = plane->uneven ? CF_SG_APART : painted == step ? CF_SG_FILL : CF_SG_BLEND;
  m->painted = m->painted || painted > 0;
}

static int
by_place (const void *a, const void *b)
{
  return *(const int *) a - *(const int *) b;
}

/* Everything that follows from `m->setup`; `old` is what there was before. */
static CfCode
make (CfSgCpu *m, const CfSgCpu *old, const CfPlan *plan, CfStatus *status)
{
  CfCode code = CF_OK;
  CfImage image;

  cf_image_layout (&image, m->video.format, m->video.width, m->video.height, 1);
  cf_image_views (&m->video, &plan->common, &image, m->in);
  m->painted = false;
  for (int p = 0; p < m->info->n_planes; p++)
    set_plane (m, p);
  if (!old->memory || old->setup.size != m->setup.size)
    code = make_cells (m, status);
  for (int i = 0; i < m->setup.n_seeds; i++)
    m->setup.seeds[i] = (int) cf_sg_place (m, m->setup.seeds[i] / m->setup.columns)
        + m->setup.seeds[i] % m->setup.columns;
  qsort (m->setup.seeds, (size_t) m->setup.n_seeds, sizeof m->setup.seeds[0], by_place);
  return code == CF_OK ? make_pixels (m, plan->params, status) : code;
}

/* What there is stays until all that is new could be had, the state too. */
static CfCode
update (CfPlan *plan, CfStatus *status)
{
  CfSgCpu *m = plan->state, next = *m;
  CfCode code = cf_segment_setup (&next.video, plan->params, &next.setup, status);
  const CfSgCpu *drop = m;

  if (code != CF_OK)
    return code;
  code = make (&next, m, plan, status);
  if (code != CF_OK)
    drop = &next;
  if (next.memory != m->memory)
    free (drop->memory);
  if (next.pixel_memory != m->pixel_memory)
    free (drop->pixel_memory);
  if (code == CF_OK)
    *m = next;
  return code;
}

static CfCode
init (CfPlan *plan, CfStatus *status)
{
  CfSgCpu *m = calloc (1, sizeof *m);

  if (!m)
    return cf_fail (status, CF_NO_MEMORY, "out of memory");
  plan->state = m;
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

  if (!m)
    return;
  free (m->memory);
  free (m->pixel_memory);
  free (m);
  plan->state = NULL;
}

static void
reset (CfPlan *plan)
{
  CfSgCpu *m = plan->state;

  m->has_state = false;
}

static CfCode
enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  CfSgCpu *m = plan->state;
  bool count;

  (void) stream;
  (void) status;
  cf_image_views (&m->video, &plan->common, in, m->in);
  m->in_image = in;
  m->out_image = out;
  m->now = 1 - m->now;
  m->n_before = m->n_found;
  m->follows = !m->setup.afresh && m->has_state;
  cf_sg_find_components (m);
  cf_sg_grow (m);
  cf_sg_merge (m);
  m->has_state = true;
  count = m->setup.reports || (m->painted && m->setup.output == CF_SEGMENT_MEAN);
  m->has_runs = count || m->painted;
  if (m->has_runs)
    cf_sg_find_pixels (m, count);
  cf_sg_paint (m);
  m->is_told = m->setup.reports;
  return CF_OK;
}

static CfCode
regions (CfPlan *plan, CfRegions *to, CfStatus *status)
{
  CfSgCpu *m = plan->state;

  (void) status;
  memset (to, 0, sizeof *to);
  if (!m->is_told)
    return CF_OK;
  cf_segment_describe (m->video.format, m->region, m->n_found, m->frame, m->told);
  to->n = m->n_found;
  to->region = m->told;
  to->label = m->label_map;
  to->pitch = (size_t) m->video.width * sizeof *m->label_map;
  return CF_OK;
}

const CfOps cf_segment_cpu = {
  .init = init,
  .update = update,
  .enqueue = enqueue,
  .reset = reset,
  .free = release,
  .regions = regions,
};
