/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/gpu/plan.cu: the segmentation on CUDA: the plan, its memory and the launches of a frame. */
#include "core/gpu/shares.cuh"
#include "internal.cuh"

#include <algorithm>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

namespace {

using namespace cf;

constexpr size_t max_regions = 65536; /* an index has 16 bits */
constexpr size_t max_seen = 1 << 17;  /* slots of the table of edges seen; what finds no slot is kept */

PlanShares shares;
constexpr int most_shares = 5;

struct SgPlanState {
  CfSegmentSetup setup, last; /* last: of the previous frame */
  SgWork work;       /* all members except those that change with each frame */
  SgState history[2]; /* used alternately */
  int parity;        /* history[parity] is what the last frame left */
  bool has_history;  /* the next frame may use the history */
  bool needs_clear;  /* the device memory has undefined contents: before the first frame and after a failed one */
  bool ready;        /* the memory has been allocated for the setup */
  bool new_clicks;
  uint32_t frame;
  size_t cells;      /* for which the memory was allocated */
  void *memory;      /* one device allocation */
  void *weak_memory; /* another one, for step 7; NULL where that is off */
  bool new_weak;     /* it has undefined contents */
  int *clicks;
  uint16_t *map;
  CfSegmentRegion *found, *reported; /* reported, reported_n, reported_map: pinned host memory */
  unsigned *reported_n;
  uint16_t *reported_map;
  CfRegion *regions;
  bool has_regions, has_map; /* the last frame reported its regions, its label map */
  int blocks, max_blocks; /* of the graph kernel; blocks: test override, 0: by the number of plans */
  bool counted;           /* in `shares` */
  unsigned shared;        /* bytes of dynamic shared memory of a block of the graph kernel */
};

SgPlanState *
sg_state (const CfPlan *plan)
{
  return static_cast<SgPlanState *> (plan->state);
}

/* ---- memory ------------------------------------------------------------- */

/* Cuts one allocation into pieces. Without a base it only adds up their sizes. */
struct SgPieces {
  char *base;
  size_t used;

  template<typename T> void
  take (T **to, size_t n)
  {
    *to = base ? reinterpret_cast<T *> (base + used) : NULL;
    used += (n * sizeof (T) + 255) / 256 * 256;
  }
};

/* Returns the least power of two from 1024 on that is not below n. */
unsigned
sg_table_slots (size_t n)
{
  unsigned slots = 1024;

  while (slots < n)
    slots *= 2;
  return slots;
}

void
sg_assign_memory (SgPlanState *s, SgPieces *p, size_t n)
{
  SgWork &w = s->work;

  w.seen_slots = sg_table_slots (std::min (2 * n, max_seen));
  for (SgState &k : s->history) {
    p->take (&k.p, n);
    p->take (&k.label, n);
    p->take (&k.mean, max_regions);
    p->take (&k.cells, max_regions);
    p->take (&k.id, max_regions);
    p->take (&k.birth, max_regions);
    p->take (&k.scalars, 2);
  }
  p->take (&w.control, 1);
  p->take (&w.pieces, max_regions);
  p->take (&w.first_piece, max_regions);
  p->take (&s->clicks, CF_SEGMENT_MAX_SEEDS);
  p->take (&s->found, max_regions);
  p->take (&w.paint, 3 * max_regions);
  p->take (&w.raw, n);
  p->take (&w.parent, n);
  p->take (&w.pair, 4 * n);
  p->take (&w.record, n);
  p->take (&w.claim, n);
  p->take (&w.best[0], n);
  p->take (&w.best[1], n);
  p->take (&w.root_list[0], 2 * n);
  p->take (&w.seen, w.seen_slots);
  w.edge = w.pair + 2 * n;
  w.unmoved = reinterpret_cast<uint16_t *> (w.edge);
  w.kind = reinterpret_cast<unsigned *> (w.pair);
  w.local = w.kind + n;
  w.smallest = w.local + n;
  w.mean = w.smallest + n;
  w.rough = w.smallest;
  w.rank = w.mean;
  w.root_list[1] = w.root_list[0] + n;
  w.local_list = w.root_list[0];
}

/* The memory of step 7. */
void
sg_assign_weak (SgPlanState *s, SgPieces *p, size_t n)
{
  SgWork &w = s->work;

  w.slots = sg_table_slots (4 * n);
  p->take (&w.key, w.slots);
  p->take (&w.weak_count, w.slots);
  p->take (&w.slot_list, 2 * n);
  p->take (&w.perimeter, n);
}

/* Makes `*memory` an allocation of what `assign` takes, if it is none yet. */
CfCode
sg_reserve (SgPlanState *s, void **memory, size_t cells, void (*assign) (SgPlanState *, SgPieces *, size_t),
    CfStatus *status)
{
  SgPieces pieces = { NULL, 0 };

  if (*memory)
    return CF_OK;
  assign (s, &pieces, cells);
  *memory = cf_gpu_alloc (CF_DEVICE, pieces.used, status);
  if (!*memory)
    return status->code;
  pieces = SgPieces { static_cast<char *> (*memory), 0 };
  assign (s, &pieces, cells);
  return CF_OK;
}

void
sg_release (void **memory)
{
  cf_gpu_free (CF_DEVICE, *memory);
  *memory = NULL;
}

/* Allocates the memory of a frame of so many cells. The history outlasts a change of weak_borders. */
CfCode
sg_reserve_cells (SgPlanState *s, size_t cells, bool weak_borders, CfStatus *status)
{
  CfCode code;

  if (cells != s->cells) {
    sg_release (&s->memory);
    sg_release (&s->weak_memory);
    s->cells = cells;
  }
  if (!weak_borders)
    sg_release (&s->weak_memory);
  s->work.weak_borders = weak_borders;
  s->needs_clear = s->needs_clear || !s->memory;
  s->new_weak = weak_borders && (s->new_weak || !s->weak_memory);
  code = sg_reserve (s, &s->memory, cells, sg_assign_memory, status);
  return code == CF_OK && weak_borders ? sg_reserve (s, &s->weak_memory, cells, sg_assign_weak, status) : code;
}

/* Allocates the host memory into which a frame reports its regions and its label map. */
CfCode
sg_reserve_reports (SgPlanState *s, const CfVideo *video, bool label_meta, CfStatus *status)
{
  const size_t pixels = (size_t) video->width * (size_t) video->height;

  if (s->setup.reports && !s->reported) {
    s->reported = static_cast<CfSegmentRegion *> (cf_gpu_alloc (CF_PINNED, max_regions * sizeof *s->reported
        + sizeof (unsigned), status));
    if (!s->reported)
      return status->code;
    s->reported_n = reinterpret_cast<unsigned *> (s->reported + max_regions);
    *s->reported_n = 0;
  }
  if (s->setup.reports && !s->regions) {
    s->regions = static_cast<CfRegion *> (malloc (max_regions * sizeof *s->regions));
    if (!s->regions)
      return cf_fail (status, CF_NO_MEMORY, "out of memory");
  }
  if (label_meta && !s->reported_map) {
    s->reported_map = static_cast<uint16_t *> (cf_gpu_alloc (CF_PINNED, pixels * sizeof *s->reported_map, status));
    if (!s->reported_map)
      return status->code;
  }
  return CF_OK;
}

/* ---- plan --------------------------------------------------------------- */

void
sg_describe (const CfVideo *video, const CfSegmentSetup &u, SgWork *w)
{
  const CfFormatInfo *info = cf_format_info (video->format);

  w->width = video->width;
  w->height = video->height;
  w->n_components = info->n_components;
  w->n_colors = info->n_components < 3 ? 1 : 3;
  w->bytes = info->bytes;
  w->bits = info->bits;
  w->shift = info->shift;
  w->rgb = info->rgb;
  w->size = u.size;
  w->columns = u.columns;
  w->rows = u.rows;
  w->n = u.columns * u.rows;
  w->seed = u.seed;
  memcpy (w->keep, u.keep, sizeof w->keep);
  memcpy (w->merge, u.merge, sizeof w->merge);
  memcpy (w->weak, u.weak, sizeof w->weak);
  w->fraction = u.fraction;
  w->min_cells = u.min_cells;
  w->max_regions = (unsigned) u.max_regions;
  w->similarity = u.similarity;
  w->reports = u.reports;
  w->output = u.output;
  w->rises = u.rises;
  w->color = u.color;
  w->n_clicks = u.n_seeds;
}

CfCode
sg_update (CfPlan *plan, CfStatus *status)
{
  const CfSegmentParams *params = static_cast<const CfSegmentParams *> (plan->params);
  SgPlanState *s = sg_state (plan);
  CfSegmentSetup *setup = static_cast<CfSegmentSetup *> (malloc (sizeof *setup));
  CfCode code;

  if (!setup)
    return cf_fail (status, CF_NO_MEMORY, "out of memory");
  code = cf_segment_setup (&plan->video, &plan->common, params, setup, status);
  if (code == CF_OK && (long long) setup->columns * setup->rows > sg_max_cells)
    code = cf_fail (status, CF_UNSUPPORTED, "cell-size %d makes %d x %d cells; on the GPU at most %lld are supported",
        setup->size, setup->columns, setup->rows, sg_max_cells);
  if (code != CF_OK) {
    free (setup);
    return code;
  }
  s->ready = false;
  s->has_history = s->has_history && s->setup.columns == setup->columns && s->setup.rows == setup->rows
      && s->setup.size == setup->size;
  s->new_clicks = true;
  s->setup = *setup;
  free (setup);
  code = sg_reserve_cells (s, (size_t) s->setup.columns * (size_t) s->setup.rows,
      s->setup.fraction < CF_SEGMENT_NO_WEAK, status);
  if (code == CF_OK)
    code = sg_reserve_reports (s, &plan->video, params->label_meta != 0, status);
  sg_describe (&plan->video, s->setup, &s->work);
  s->work.label_meta = params->label_meta != 0;
  s->ready = code == CF_OK;
  return code;
}

CfCode
sg_init (CfPlan *plan, CfStatus *status)
{
  SgPlanState *s = sg_state (plan);
  CfCode code;

  s->needs_clear = true;
  s->work.block_sums = true;
  s->work.warps = 8;
  code = sg_init_cells (status);
  if (code == CF_OK)
    code = sg_init_graph (&s->shared, status);
  if (code == CF_OK)
    code = sg_init_moves (status);
  if (code == CF_OK)
    code = sg_init_pixels (status);
  if (code != CF_OK)
    return code;
  s->max_blocks = plan->context->sms;
  shares.count (plan, true, &s->counted);
  s->map = static_cast<uint16_t *> (cf_gpu_alloc (CF_DEVICE, (size_t) plan->video.width * (size_t) plan->video.height
      * sizeof *s->map, status));
  return s->map ? sg_update (plan, status) : status->code;
}

void
sg_free (CfPlan *plan)
{
  SgPlanState *s = sg_state (plan);

  shares.count (plan, false, &s->counted);
  cf_gpu_free (CF_DEVICE, s->memory);
  cf_gpu_free (CF_DEVICE, s->weak_memory);
  cf_gpu_free (CF_DEVICE, s->map);
  cf_gpu_free (CF_PINNED, s->reported);
  cf_gpu_free (CF_PINNED, s->reported_map);
  free (s->regions);
}

void
sg_reset (CfPlan *plan)
{
  sg_state (plan)->has_history = false;
}

/* ---- frames ------------------------------------------------------------- */

/* Sets the memory to the state in which each frame leaves it for the next one; where `all` is false, only that of step
 * 7. */
CfCode
sg_clear_memory (SgPlanState *s, bool all, cudaStream_t stream, CfStatus *status)
{
  const SgWork &w = s->work;
  const struct { void *at; int byte; size_t size; bool weak; } pieces[] = {
    { w.control, 0, sizeof *w.control, false },
    { w.pieces, 0, max_regions * sizeof *w.pieces, false },
    { w.first_piece, 0, max_regions * sizeof *w.first_piece, false },
    { w.seen, 0, w.seen_slots * sizeof *w.seen, false },
    { w.key, 0xff, w.slots * sizeof *w.key, true },
    { w.weak_count, 0, w.slots * sizeof *w.weak_count, true },
  };

  s->has_history = s->has_history && !all;
  for (const auto &p : pieces) {
    if (p.weak ? !w.weak_borders : !all)
      continue;
    const CfCode code = cf_cuda_check (cudaMemsetAsync (p.at, p.byte, p.size, stream),
        "clearing the segmentation's memory", status);

    if (code != CF_OK)
      return code;
  }
  return CF_OK;
}

CfCode
sg_send_clicks (SgPlanState *s, cudaStream_t stream, CfStatus *status)
{
  CfCode code = CF_OK;

  if (s->new_clicks && s->setup.n_seeds > 0)
    code = cf_cuda_check (cudaMemcpyAsync (s->clicks, s->setup.seeds, (size_t) s->setup.n_seeds * sizeof *s->clicks,
        cudaMemcpyHostToDevice, stream), "copying the seeds to the GPU", status);
  if (code == CF_OK)
    s->new_clicks = false;
  return code;
}

bool
sg_is_aligned (const void *p, long long pitch, unsigned bytes)
{
  return reinterpret_cast<uintptr_t> (p) % bytes == 0 && pitch % bytes == 0;
}

bool
sg_is_420 (const SgWork &w, int step)
{
  const SgComponent *c = w.component;

  return c[0].wide && c[1].step == step && c[2].step == step && c[1].w_sub == 1 && c[2].w_sub == 1
      && c[1].h_sub == 1 && c[2].h_sub == 1;
}

/* Returns how samples may be read. Word access needs cells that consist of squares of 2 or 4 pixels. */
SgLayout
sg_layout_of (const SgWork &w)
{
  const SgComponent *c = w.component;
  const uint8_t *pair = std::min (c[1].in, c[2].in);

  if (w.bytes != 1 || (w.size != 2 && w.size % 4 != 0))
    return SG_ANY;
  for (int i = 0; i < w.n_colors; i++)
    if (c[i].in_pitch > UINT32_MAX / c[i].height)
      return SG_ANY;
  if (w.n_colors == 1)
    return c[0].wide ? SG_GRAY : SG_ANY;
  if (sg_is_420 (w, 1) && sg_is_aligned (c[1].in, c[1].in_pitch, 2) && sg_is_aligned (c[2].in, c[2].in_pitch, 2))
    return SG_PLANAR_420;
  if (sg_is_420 (w, 2) && sg_is_aligned (pair, c[1].in_pitch, 4) && std::max (c[1].in, c[2].in) == pair + 1)
    return SG_SEMI_420;
  return c[0].step == 4 && c[1].step == 4 && c[2].step == 4 && sg_is_aligned (w.words, c[0].in_pitch, 4) ? SG_PACKED
      : SG_ANY;
}

/* Chooses whether pixels are painted by words, and where the samples lie in such a word. */
void
sg_choose_out_layout (const CfPlan *plan, const CfImage *out, SgWork *w)
{
  const SgComponent *c = w->component;
  uint8_t *pair = std::min (c[1].out, c[2].out);

  w->out_layout = SG_ANY;
  for (int k = 0; k < 3; k++)
    w->bit_shift[k] = (uint8_t) (8 * k);
  if (w->bytes != 1 || w->width % 4 != 0 || plan->common.apply_to != CF_APPLY_ALL
      || (w->output != CF_SEGMENT_MEAN && w->output != CF_SEGMENT_LABELS))
    return;
  w->out_words = static_cast<uint8_t *> (out->plane[0].data);
  if (w->n_components == 1 && c[0].wide) {
    w->out_layout = SG_GRAY;
  } else if (w->n_components == 3 && sg_is_420 (*w, 1) && sg_is_aligned (c[1].out, c[1].out_pitch, 2)
      && sg_is_aligned (c[2].out, c[2].out_pitch, 2)) {
    w->out_layout = SG_PLANAR_420;
  } else if (w->n_components == 3 && sg_is_420 (*w, 2) && sg_is_aligned (pair, c[1].out_pitch, 4)
      && std::max (c[1].out, c[2].out) == pair + 1) {
    w->out_layout = SG_SEMI_420;
    w->out_words = pair;
    w->bit_shift[1] = c[1].out < c[2].out ? 8 : 16;
    w->bit_shift[2] = c[1].out < c[2].out ? 16 : 8;
  } else if (w->n_colors == 3 && c[0].step == 4 && c[1].step == 4 && c[2].step == 4
      && sg_is_aligned (w->words, c[0].in_pitch, 4) && sg_is_aligned (w->out_words, c[0].out_pitch, 4)) {
    w->out_layout = SG_PACKED;
    w->preserved = ~0u;
    for (int k = 0; k < 3; k++) {
      w->bit_shift[k] = (uint8_t) (8 * (c[k].out - w->out_words));
      w->preserved &= ~(0xffu << w->bit_shift[k]);
    }
  }
}

void
sg_add_images (const CfPlan *plan, const CfImage *in, const CfImage *out, SgWork *w)
{
  const CfFormatInfo *info = cf_format_info (plan->video.format);

  for (int i = 0; i < info->n_components; i++) {
    const CfComponent &from = info->comp[i];
    const int sub_x = (1 << from.w_sub) - 1, sub_y = (1 << from.h_sub) - 1;
    const bool luma = plan->common.apply_to != CF_APPLY_CHROMA, chroma = plan->common.apply_to != CF_APPLY_LUMA;
    SgComponent &c = w->component[i];

    c.in = static_cast<const uint8_t *> (in->plane[from.plane].data) + from.offset * info->bytes;
    c.out = static_cast<uint8_t *> (out->plane[from.plane].data) + from.offset * info->bytes;
    c.in_pitch = (long long) in->plane[from.plane].pitch;
    c.out_pitch = (long long) out->plane[from.plane].pitch;
    c.width = (plan->video.width + sub_x) >> from.w_sub;
    c.height = (plan->video.height + sub_y) >> from.h_sub;
    c.step = from.step * info->bytes;
    c.w_sub = from.w_sub;
    c.h_sub = from.h_sub;
    c.filtered = from.role == CF_ROLE_LUMA ? luma : from.role == CF_ROLE_CHROMA ? chroma : from.role != CF_ROLE_ALPHA;
    c.wide = c.step == 1 && sg_is_aligned (c.in, c.in_pitch, 4) && sg_is_aligned (c.out, c.out_pitch, 4);
  }
  w->words = static_cast<const uint8_t *> (in->plane[0].data);
  w->layout = sg_layout_of (*w);
  sg_choose_out_layout (plan, out, w);
}

CfCode
sg_launch (const CfPlan *plan, const SgWork &work, cudaStream_t stream, CfStatus *status)
{
  const SgPlanState *s = sg_state (plan);
  const int blocks = s->blocks ? s->blocks : shares.of (plan, s->max_blocks, most_shares);
  CfCode code = sg_launch_cells (work, stream, status);

  if (code == CF_OK)
    code = sg_launch_graph (work, blocks, s->shared, stream, status);
  if (code == CF_OK)
    code = sg_launch_moves (work, stream, status);
  if (code == CF_OK)
    code = sg_launch_pixels (work, stream, status);
  if (code == CF_OK && work.label_meta)
    code = cf_cuda_check (cudaMemcpyAsync (s->reported_map, s->map, (size_t) work.width * (size_t) work.height
        * sizeof *s->map, cudaMemcpyDeviceToHost, stream), "copying the labels from the GPU", status);
  return code;
}

CfCode
sg_enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  SgPlanState *s = sg_state (plan);
  cudaStream_t handle = static_cast<cudaStream_t> (cf_stream_handle (stream));
  SgWork work;
  CfCode code;

  if (!s->ready)
    return cf_fail (status, CF_NO_MEMORY, "the GPU had no memory left for these settings of the segmentation");
  code = s->needs_clear || s->new_weak ? sg_clear_memory (s, s->needs_clear, handle, status) : CF_OK;
  s->needs_clear = true; /* until all launches have succeeded */
  if (code == CF_OK)
    code = sg_send_clicks (s, handle, status);
  if (code != CF_OK)
    return code;
  s->new_weak = false;
  work = s->work;
  work.recurrent = s->has_history && !s->setup.stateless;
  work.divides = work.recurrent && !cf_segment_same_seeds (&s->setup, &s->last);
  s->last = s->setup;
  s->frame = work.recurrent ? s->frame + 1 : 0;
  work.frame = s->frame;
  work.cell_list = work.root_list[work.recurrent ? 0 : 1];
  work.region_list = work.root_list[work.recurrent ? 1 : 0];
  work.before = s->history[s->parity];
  work.after = s->history[s->parity ^ 1];
  work.clicks = s->clicks;
  work.map = s->map;
  work.found = s->found;
  work.reported = s->reported;
  work.reported_n = s->reported_n;
  sg_add_images (plan, in, out, &work);
  code = sg_launch (plan, work, handle, status);
  s->parity ^= 1;
  s->has_regions = code == CF_OK && work.reports;
  s->has_map = code == CF_OK && work.label_meta;
  s->has_history = code == CF_OK;
  s->needs_clear = code != CF_OK;
  return code;
}

CfCode
sg_regions (CfPlan *plan, CfRegions *regions, CfStatus *status)
{
  SgPlanState *s = sg_state (plan);

  if (!s->reported || !s->ready)
    return cf_fail (status, CF_NO_MEMORY, "the GPU had no memory left to report the regions");
  /* no regions if the last frame was processed before a report was requested */
  regions->n = s->has_regions ? *s->reported_n : 0;
  cf_segment_describe (plan->video.format, s->reported, regions->n, s->frame, s->regions);
  regions->region = s->regions;
  regions->label = s->work.label_meta && s->has_map ? s->reported_map : NULL;
  regions->pitch = (size_t) plan->video.width * sizeof *s->reported_map;
  return CF_OK;
}

/* ---- tests -------------------------------------------------------------- */

/* Sets a test override. "blocks": blocks of the graph kernel, 0 = by the number of plans. "collect": 1 if a block of
 * the pixel kernel adds up its own pixels before it adds to the regions' sums. "warps": warps of such a block. "delay"
 * and "seed": late blocks of the graph kernel. */
CfCode
sg_set_override (CfPlan *plan, const char *name, int value, CfStatus *status)
{
  static const struct {
    const char *name;
    int least, most;
  } overrides[] = { { "blocks", 0, INT_MAX }, { "collect", 0, 1 }, { "warps", 4, 16 }, { "delay", 0, late_most_ns },
    { "seed", 0, INT_MAX } };
  SgPlanState *s = sg_state (plan);

  for (const auto &o : overrides) {
    if (strcmp (name, o.name) != 0)
      continue;
    if (value < o.least || value > o.most)
      return cf_fail (status, CF_BAD_VALUE, "test override %s is %d; it must be %d to %d", name, value, o.least,
          o.most);
    if (strcmp (name, "blocks") == 0)
      s->blocks = std::min (value, s->max_blocks);
    else if (strcmp (name, "collect") == 0)
      s->work.block_sums = value != 0;
    else if (strcmp (name, "warps") == 0)
      s->work.warps = value;
    else
      set_late (&s->work.late, name, value);
    return CF_OK;
  }
  return cf_fail (status, CF_UNSUPPORTED,
      "the segmentation has no test override %s; it has blocks, collect, warps, delay and seed", name);
}

} // namespace

extern "C" const CfOps cf_segment_cuda = {
  .state_size = sizeof (SgPlanState),
  .init = sg_init,
  .update = sg_update,
  .enqueue = sg_enqueue,
  .reset = sg_reset,
  .free = sg_free,
  .set_override = sg_set_override,
  .regions = sg_regions,
};
