/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * segment/gpu/plan.cu: the segmentation on CUDA: plans, memory, a frame's launches. */
#include "internal.cuh"

#include <algorithm>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

namespace {

using namespace cf;

constexpr size_t max_regions = 65536; /* indices are 16 bits */

struct State {
  CfSegmentSetup setup;
  SgWork work;       /* all but what is a frame's */
  SgState kept[2];   /* in turns */
  int turn;          /* kept[turn] is what the last frame left */
  bool has_kept;     /* that counts for the next frame */
  bool fresh;        /* nothing in memory counts: first frame, or after a failed one */
  bool ready;        /* the memory holds what the setup needs */
  bool new_clicks;
  uint32_t frame;
  size_t cells;      /* that the memory is for */
  void *memory;      /* of the device, one piece */
  int *clicks;
  uint16_t *map;
  CfSegmentRegion *found, *told; /* told, told_n, told_map: pinned host memory */
  unsigned *told_n;
  uint16_t *told_map;
  CfRegion *regions;
  bool regions_told, map_told; /* of the last frame */
  int blocks, most_blocks;
  unsigned shared;   /* bytes, of a block of the graph's launch */
};

State *
state_of (const CfPlan *plan)
{
  return static_cast<State *> (plan->state);
}

/* ---- memory ------------------------------------------------------------- */

/* Hands out pieces of one allocation; without a base it only adds up. */
struct Pieces {
  char *base;
  size_t used;

  template<typename T> void
  take (T **to, size_t n)
  {
    *to = base ? reinterpret_cast<T *> (base + used) : NULL;
    used += (n * sizeof (T) + 255) / 256 * 256;
  }
};

unsigned
table_slots (size_t cells)
{
  unsigned slots = 1024;

  while (slots < 4 * cells)
    slots *= 2;
  return slots;
}

void
lay_out (State *s, Pieces *p, size_t n)
{
  SgWork &w = s->work;

  w.slots = table_slots (n);
  for (SgState &k : s->kept) {
    p->take (&k.p, n);
    p->take (&k.label, n);
    p->take (&k.mean, max_regions);
    p->take (&k.id, max_regions);
    p->take (&k.birth, max_regions);
    p->take (&k.scalars, 2);
  }
  p->take (&w.control, 1);
  p->take (&w.largest, max_regions);
  p->take (&s->clicks, CF_SEGMENT_MAX_SEEDS);
  p->take (&s->found, max_regions);
  p->take (&w.paint, 3 * max_regions);
  p->take (&w.parent, n);
  p->take (&w.kind, n);
  p->take (&w.joined, n);
  p->take (&w.smallest, n);
  p->take (&w.rough, n);
  p->take (&w.count, n);
  p->take (&w.mean, n);
  p->take (&w.record, n);
  p->take (&w.claim, n);
  p->take (&w.freed_list, n);
  p->take (&w.local_list, n);
  for (int i = 0; i < 2; i++) {
    p->take (&w.best[i], n);
    p->take (&w.root_list[i], n);
    p->take (&w.edge[i], 2 * n);
  }
  p->take (&w.slot_list, 2 * n);
  p->take (&w.key, w.slots);
  p->take (&w.weak_count, w.slots);
}

CfCode
reserve_cells (State *s, size_t cells, CfStatus *status)
{
  Pieces pieces = { NULL, 0 };

  if (s->memory && cells == s->cells)
    return CF_OK;
  cf_device_free (s->memory);
  s->memory = NULL;
  s->fresh = true;
  lay_out (s, &pieces, cells);
  s->memory = cf_device_alloc (pieces.used, status);
  if (!s->memory)
    return status->code;
  s->cells = cells;
  pieces = Pieces { static_cast<char *> (s->memory), 0 };
  lay_out (s, &pieces, cells);
  return CF_OK;
}

/* What is told of the regions, and where to. */
CfCode
reserve_reports (State *s, const CfVideo *video, bool label_meta, CfStatus *status)
{
  const size_t pixels = (size_t) video->width * (size_t) video->height;

  if (s->setup.reports && !s->told) {
    s->told = static_cast<CfSegmentRegion *> (cf_pinned_alloc (max_regions * sizeof *s->told + sizeof (unsigned),
        status));
    if (!s->told)
      return status->code;
    s->told_n = reinterpret_cast<unsigned *> (s->told + max_regions);
    *s->told_n = 0;
  }
  if (s->setup.reports && !s->regions) {
    s->regions = static_cast<CfRegion *> (malloc (max_regions * sizeof *s->regions));
    if (!s->regions)
      return cf_fail (status, CF_NO_MEMORY, "out of memory");
  }
  if (label_meta && !s->told_map) {
    s->told_map = static_cast<uint16_t *> (cf_pinned_alloc (pixels * sizeof *s->told_map, status));
    if (!s->told_map)
      return status->code;
  }
  return CF_OK;
}

/* ---- plan --------------------------------------------------------------- */

void
describe (const CfVideo *video, const CfSegmentSetup &u, SgWork *w)
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
  w->color = u.color;
  w->n_clicks = u.n_seeds;
}

CfCode
set_up (CfPlan *plan, CfStatus *status)
{
  const CfSegmentParams *params = static_cast<const CfSegmentParams *> (plan->params);
  State *s = state_of (plan);
  CfStatus local, *why = status ? status : &local;
  CfSegmentSetup *setup = static_cast<CfSegmentSetup *> (malloc (sizeof *setup));
  CfCode code;

  if (!setup)
    return cf_fail (why, CF_NO_MEMORY, "out of memory");
  code = cf_segment_setup (&plan->video, params, setup, why);
  if (code == CF_OK && (long long) setup->columns * setup->rows > sg_max_cells)
    code = cf_fail (why, CF_UNSUPPORTED, "cell-size %d makes %d x %d cells; on the GPU there can be %lld",
        setup->size, setup->columns, setup->rows, sg_max_cells);
  if (code != CF_OK) {
    free (setup);
    return code;
  }
  s->ready = false;
  s->has_kept = s->has_kept && s->setup.columns == setup->columns && s->setup.rows == setup->rows
      && s->setup.size == setup->size;
  s->new_clicks = true;
  s->setup = *setup;
  free (setup);
  code = reserve_cells (s, (size_t) s->setup.columns * (size_t) s->setup.rows, why);
  if (code == CF_OK)
    code = reserve_reports (s, &plan->video, params->label_meta != 0, why);
  describe (&plan->video, s->setup, &s->work);
  s->work.label_meta = params->label_meta != 0;
  s->ready = code == CF_OK;
  return code;
}

CfCode
segment_init (CfPlan *plan, CfStatus *status)
{
  CfStatus local, *why = status ? status : &local;
  CfCode code;
  State *s;

  plan->state = calloc (1, sizeof (State));
  if (!plan->state)
    return cf_fail (why, CF_NO_MEMORY, "out of memory");
  s = state_of (plan);
  s->fresh = true;
  s->work.collect = true;
  s->work.warps = 8;
  code = segment_init_cells (why);
  if (code == CF_OK)
    code = segment_init_graph (&s->shared, why);
  if (code == CF_OK)
    code = segment_init_pixels (why);
  if (code != CF_OK)
    return code;
  s->blocks = s->most_blocks = plan->context->sms;
  s->map = static_cast<uint16_t *> (cf_device_alloc ((size_t) plan->video.width * (size_t) plan->video.height
      * sizeof *s->map, why));
  return s->map ? set_up (plan, why) : why->code;
}

void
segment_free (CfPlan *plan)
{
  State *s = state_of (plan);

  if (!s)
    return;
  cf_device_free (s->memory);
  cf_device_free (s->map);
  cf_pinned_free (s->told);
  cf_pinned_free (s->told_map);
  free (s->regions);
  free (s);
}

void
segment_reset (CfPlan *plan)
{
  state_of (plan)->has_kept = false;
}

/* ---- frames ------------------------------------------------------------- */

/* As each frame leaves it. */
CfCode
start_afresh (State *s, cudaStream_t stream, CfStatus *status)
{
  const SgWork &w = s->work;
  const struct { void *at; int byte; size_t size; } pieces[] = {
    { w.control, 0, sizeof *w.control },
    { w.largest, 0, max_regions * sizeof *w.largest },
    { w.key, 0xff, w.slots * sizeof *w.key },
    { w.weak_count, 0, w.slots * sizeof *w.weak_count },
  };

  s->has_kept = false;
  for (const auto &p : pieces) {
    const CfCode code = cf_cuda_check (cudaMemsetAsync (p.at, p.byte, p.size, stream),
        "clearing the segmentation's memory", status);

    if (code != CF_OK)
      return code;
  }
  return CF_OK;
}

CfCode
send_clicks (State *s, cudaStream_t stream, CfStatus *status)
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
is_aligned (const void *p, long long pitch, unsigned bytes)
{
  return reinterpret_cast<uintptr_t> (p) % bytes == 0 && pitch % bytes == 0;
}

bool
is_420 (const SgWork &w, int step)
{
  const SgComponent *c = w.component;

  return c[0].wide && c[1].step == step && c[2].step == step && c[1].w_sub == 1 && c[2].w_sub == 1
      && c[1].h_sub == 1 && c[2].h_sub == 1;
}

/* How the samples may be read; for cells that are made of squares of 2 or 4 pixels. */
SgLayout
layout_of (const SgWork &w)
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
  if (is_420 (w, 1) && is_aligned (c[1].in, c[1].in_pitch, 2) && is_aligned (c[2].in, c[2].in_pitch, 2))
    return SG_PLANAR_420;
  if (is_420 (w, 2) && is_aligned (pair, c[1].in_pitch, 4) && std::max (c[1].in, c[2].in) == pair + 1)
    return SG_SEMI_420;
  return c[0].step == 4 && c[1].step == 4 && c[2].step == 4 && is_aligned (w.words, c[0].in_pitch, 4) ? SG_PACKED
      : SG_ANY;
}

/* Whether pixels are painted by words, and what those are. */
void
choose_words (const CfPlan *plan, const CfImage *out, SgWork *w)
{
  const SgComponent *c = w->component;
  uint8_t *pair = std::min (c[1].out, c[2].out);

  w->quick = SG_ANY;
  for (int k = 0; k < 3; k++)
    w->place[k] = (uint8_t) (8 * k);
  if (w->bytes != 1 || w->width % 4 != 0 || plan->common.apply_to != CF_APPLY_ALL
      || (w->output != CF_SEGMENT_MEAN && w->output != CF_SEGMENT_LABELS))
    return;
  w->out_words = static_cast<uint8_t *> (out->plane[0].data);
  if (w->n_components == 1 && c[0].wide) {
    w->quick = SG_GRAY;
  } else if (w->n_components == 3 && is_420 (*w, 1) && is_aligned (c[1].out, c[1].out_pitch, 2)
      && is_aligned (c[2].out, c[2].out_pitch, 2)) {
    w->quick = SG_PLANAR_420;
  } else if (w->n_components == 3 && is_420 (*w, 2) && is_aligned (pair, c[1].out_pitch, 4)
      && std::max (c[1].out, c[2].out) == pair + 1) {
    w->quick = SG_SEMI_420;
    w->out_words = pair;
    w->place[1] = c[1].out < c[2].out ? 8 : 16;
    w->place[2] = c[1].out < c[2].out ? 16 : 8;
  } else if (w->n_colors == 3 && c[0].step == 4 && c[1].step == 4 && c[2].step == 4
      && is_aligned (w->words, c[0].in_pitch, 4) && is_aligned (w->out_words, c[0].out_pitch, 4)) {
    w->quick = SG_PACKED;
    w->kept = ~0u;
    for (int k = 0; k < 3; k++) {
      w->place[k] = (uint8_t) (8 * (c[k].out - w->out_words));
      w->kept &= ~(0xffu << w->place[k]);
    }
  }
}

void
add_pictures (const CfPlan *plan, const CfImage *in, const CfImage *out, SgWork *w)
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
    c.wide = c.step == 1 && is_aligned (c.in, c.in_pitch, 4) && is_aligned (c.out, c.out_pitch, 4);
  }
  w->words = static_cast<const uint8_t *> (in->plane[0].data);
  w->layout = layout_of (*w);
  choose_words (plan, out, w);
}

CfCode
launch (State *s, const SgWork &work, cudaStream_t stream, CfStatus *status)
{
  CfCode code = segment_launch_cells (work, stream, status);

  if (code == CF_OK)
    code = segment_launch_graph (work, s->blocks, s->shared, stream, status);
  if (code == CF_OK)
    code = segment_launch_pixels (work, stream, status);
  if (code == CF_OK && work.label_meta)
    code = cf_cuda_check (cudaMemcpyAsync (s->told_map, s->map, (size_t) work.width * (size_t) work.height
        * sizeof *s->map, cudaMemcpyDeviceToHost, stream), "copying the labels from the GPU", status);
  return code;
}

CfCode
segment_enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  State *s = state_of (plan);
  cudaStream_t handle = static_cast<cudaStream_t> (cf_stream_handle (stream));
  SgWork work;
  CfCode code;

  if (!s->ready)
    return cf_fail (status, CF_NO_MEMORY, "the GPU had no memory left for these settings of the segmentation");
  code = s->fresh ? start_afresh (s, handle, status) : CF_OK;
  s->fresh = true; /* until all is launched */
  if (code == CF_OK)
    code = send_clicks (s, handle, status);
  if (code != CF_OK)
    return code;
  work = s->work;
  work.follow = s->has_kept && !s->setup.afresh;
  s->frame = work.follow ? s->frame + 1 : 0;
  work.frame = s->frame;
  work.before = s->kept[s->turn];
  work.after = s->kept[s->turn ^ 1];
  work.clicks = s->clicks;
  work.map = s->map;
  work.found = s->found;
  work.told = s->told;
  work.told_n = s->told_n;
  add_pictures (plan, in, out, &work);
  code = launch (s, work, handle, status);
  s->turn ^= 1;
  s->regions_told = code == CF_OK && work.reports;
  s->map_told = code == CF_OK && work.label_meta;
  s->has_kept = code == CF_OK;
  s->fresh = code != CF_OK;
  return code;
}

CfCode
segment_regions (CfPlan *plan, CfRegions *regions, CfStatus *status)
{
  State *s = state_of (plan);

  if (!s->told || !s->ready)
    return cf_fail (status, CF_NO_MEMORY, "the GPU had no memory left to tell the regions");
  /* none where the last frame was made before they were asked for */
  regions->n = s->regions_told ? *s->told_n : 0;
  cf_segment_describe (plan->video.format, s->told, regions->n, s->frame, s->regions);
  regions->region = s->regions;
  regions->label = s->work.label_meta && s->map_told ? s->told_map : NULL;
  regions->pitch = (size_t) plan->video.width * sizeof *s->told_map;
  return CF_OK;
}

/* ---- tests -------------------------------------------------------------- */

/* blocks: of the graph's launch, 0 = as many as there are multiprocessors. collect: whether the
 * blocks that count pixels add up their own before they add to the regions'. warps: of
 * such a block, 4 to 16. */
CfCode
segment_tune (CfPlan *plan, const char *knob, int value, CfStatus *status)
{
  State *s = state_of (plan);
  const bool blocks = strcmp (knob, "blocks") == 0, collect = strcmp (knob, "collect") == 0;
  const int least = !blocks && !collect ? 4 : 0, most = blocks ? INT_MAX : collect ? 1 : 16;

  if (!blocks && !collect && strcmp (knob, "warps") != 0)
    return cf_fail (status, CF_UNSUPPORTED, "the segmentation has no knob %s; it has blocks, collect and warps", knob);
  if (value < least || value > most)
    return cf_fail (status, CF_BAD_VALUE, "knob %s is %d; it must be %d to %d", knob, value, least, most);
  if (blocks)
    s->blocks = value == 0 ? s->most_blocks : std::min (value, s->most_blocks);
  else if (collect)
    s->work.collect = value != 0;
  else
    s->work.warps = value;
  return CF_OK;
}

} // namespace

CfCode
cf::segment_load (std::initializer_list<const void *> kernels, CfStatus *status)
{
  CfCode code = CF_OK;

  for (const void *kernel : kernels) {
    cudaFuncAttributes attributes;

    if (code == CF_OK)
      code = cf_cuda_check (cudaFuncGetAttributes (&attributes, kernel), "loading the segmentation's kernels", status);
  }
  return code;
}

extern "C" const CfOps cf_segment_cuda = {
  segment_init, set_up, segment_enqueue, NULL, segment_reset, segment_free, NULL, NULL, NULL, segment_tune, NULL,
  segment_regions,
};
