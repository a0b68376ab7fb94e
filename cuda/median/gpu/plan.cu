/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * median/gpu/plan.cu: the median on CUDA: plans, the choice of the variant, launches.
 *
 * | variant | windows | what it is |
 * | network KxK | square 3..17, median, one frame | network.cuh |
 * | select | any | select.cu; loads grow with the window |
 * | tree | any of up to 255 rows of all frames together | tree.cu; time constant in the window |
 * The first that fits is taken: a network; for others select while it costs less
 * than the tree, measured on an H200. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

namespace {

using namespace cf;

enum Kind { NETWORK, SELECT, TREE };

struct State {
  CfMedianWindow window;
  Kind kind;
  int network;        /* its row of the table */
  const char *prefer; /* a variant's name, or NULL */
  Padded padded;      /* the planes' places; frame[] is filled for each launch */
  uint8_t *ring;      /* depth frames of padded planes, or NULL while only networks run */
  size_t frame_bytes;
  int newest, seen;   /* of the ring: the slot of the last frame, and how many there are */
};

/* Kernels take their arguments by value, so a frame's launch are host memory. */
State *
state_of (const CfPlan *plan)
{
  return static_cast<State *> (plan->state);
}

const CfMedianParams *
params_of (const CfPlan *plan)
{
  return static_cast<const CfMedianParams *> (plan->params);
}

bool
is_wide (const CfPlan *plan)
{
  return cf_format_info (plan->video.format)->bits > 10;
}

const NetworkVariant *
networks (const CfPlan *plan)
{
  return is_wide (plan) ? median_network_wide () : median_network_narrow ();
}

/* Smaller networks only where the lanes' minimum has to be put together. */
bool
network_fits (const CfPlan *plan, const CfMedianWindow &window, int k)
{
  const CfContext *context = plan->context;
  const bool native = context->major >= 9 || (context->major == 8 && !is_wide (plan));

  return window.w == k && window.h == k && window.depth == 1 && window.rank == (window.n - 1) / 2
      && params_of (plan)->color_order == CF_ORDER_PER_CHANNEL && (native || k <= 5);
}

/* ---- padded planes ------------------------------------------------------ */

void
place_planes (const CfPlan *plan, State *s)
{
  const CfFormatInfo *info = cf_format_info (plan->video.format);
  CfImage image = { };
  CfView views[CF_MAX_VIEWS];
  const int n = cf_image_views (&plan->video, &plan->common, &image, views);
  Padded &p = s->padded;

  p.primary = 0;
  while (params_of (plan)->color_order == CF_ORDER_PACKED && views[p.primary].component == 0)
    p.primary++;
  p.element = p.primary ? 4 : info->bytes;
  p.bits = p.primary ? 24 : info->bits;
  s->frame_bytes = 0;
  for (int i = 0; i < n; i++) {
    const size_t columns = (size_t) (pad + views[i].width + pad_right), rows = (size_t) (pad + views[i].height + pad_below);

    p.offset[i] = (long long) s->frame_bytes;
    p.pitch[i] = (int) ((columns * (size_t) p.element + 15) & ~(size_t) 15);
    if (views[i].filtered && (p.primary == 0 || i < p.primary))
      s->frame_bytes += (size_t) p.pitch[i] * rows;
  }
}

/* What the ring's layout depends on: another needs new memory. */
CfCode
make_ring (const CfPlan *plan, State *s, CfStatus *status)
{
  const size_t before = s->ring ? s->frame_bytes : 0;
  const int element = s->padded.element;

  place_planes (plan, s);
  if (s->kind == NETWORK || s->frame_bytes == 0 || (s->ring && before == s->frame_bytes && element == s->padded.element))
    return CF_OK;
  cf_device_free (s->ring);
  s->seen = 0;
  s->ring = static_cast<uint8_t *> (cf_device_alloc (s->frame_bytes * (size_t) s->window.depth, status));
  return s->ring ? CF_OK : CF_NO_MEMORY;
}

/* ---- the choice --------------------------------------------------------- */

bool
fits (const CfPlan *plan, State *s, Kind kind)
{
  Padded p = s->padded;

  if (kind == NETWORK) {
    for (s->network = 0; s->network < n_network_variants; s->network++)
      if (network_fits (plan, s->window, networks (plan)[s->network].k))
        return true;
    return false;
  }
  p.w = s->window.w;
  p.h = s->window.h;
  p.depth = s->window.depth;
  return kind == SELECT || median_tree_fits (p, plan->context->max_shared);
}

const char *
name_of (const CfPlan *plan, Kind kind, int network)
{
  return kind == NETWORK ? networks (plan)[network].name : kind == SELECT ? "select" : "tree";
}

bool
is_preferred (const CfPlan *plan, const State *s, Kind kind)
{
  return strcmp (s->prefer, name_of (plan, kind, s->network)) == 0;
}

/* Loads an output of the select kernel may make before the tree is faster. At
 * 1080p on an H200 the tree takes 220 to 245 us from 5 x 5 to 31 x 31, select
 * 114 us at 3 x 3, 185 at 5 x 5, 315 at 7 x 7. 16-bit samples have more nodes. */
constexpr int select_loads_8 = 300, select_loads_16 = 3200;

CfCode
choose (const CfPlan *plan, State *s, CfStatus *status)
{
  const Kind kinds[] = { NETWORK, SELECT, TREE };
  const int loads = s->window.n * s->padded.bits;
  const int worth = s->padded.bits <= 10 ? select_loads_8 : select_loads_16;

  if (s->prefer) {
    for (Kind kind : kinds)
      if (fits (plan, s, kind) && is_preferred (plan, s, kind)) {
        s->kind = kind;
        return CF_OK;
      }
    return cf_fail (status, CF_UNSUPPORTED, "variant %s cannot filter a %d x %d window of %d frames, rank %d, in %s",
        s->prefer, s->window.w, s->window.h, s->window.depth, s->window.rank, cf_format_info (plan->video.format)->name);
  }
  if (fits (plan, s, NETWORK))
    s->kind = NETWORK;
  else if (loads > worth && fits (plan, s, TREE))
    s->kind = TREE;
  else
    s->kind = SELECT;
  return CF_OK;
}

CfCode
set_up (CfPlan *plan, CfStatus *status)
{
  State *s = state_of (plan);
  State next = *s;
  CfCode code;

  next.window = cf_median_window (params_of (plan));
  place_planes (plan, &next);
  code = choose (plan, &next, status);
  /* keep what the ring was made for, to see whether it still fits */
  next.padded.element = s->padded.element;
  next.frame_bytes = s->frame_bytes;
  if (code == CF_OK)
    code = make_ring (plan, &next, status);
  if (code == CF_OK || next.ring != s->ring)
    *s = next;
  return code;
}

CfCode
load_kernels (const CfPlan *plan, CfStatus *status)
{
  CfCode code = median_general_init (status);

  for (int i = 0; code == CF_OK && i < n_network_variants; i++) {
    cudaFuncAttributes attributes;

    code = cf_cuda_check (cudaFuncGetAttributes (&attributes, networks (plan)[i].kernel), "loading the median's kernels",
        status);
  }
  return code == CF_OK ? median_tree_init (plan->context->max_shared, status) : code;
}

CfCode
median_init (CfPlan *plan, CfStatus *status)
{
  CfCode code;

  plan->state = calloc (1, sizeof (State));
  if (!plan->state)
    return cf_fail (status, CF_NO_MEMORY, "out of memory");
  code = load_kernels (plan, status);
  return code == CF_OK ? set_up (plan, status) : code;
}

void
median_free (CfPlan *plan)
{
  if (plan->state)
    cf_device_free (state_of (plan)->ring);
  free (plan->state);
}

/* ---- a frame ------------------------------------------------------------ */

/* The frame's padded planes into the ring. */
CfCode
take_in (CfPlan *plan, cudaStream_t stream, Launch *launch, CfStatus *status)
{
  State *s = state_of (plan);
  const int depth = s->window.depth, slot = (s->newest + 1) % depth;
  CfCode code = median_launch_pad (launch, s->padded, s->ring + (size_t) slot * s->frame_bytes, stream, status);

  if (code != CF_OK)
    return code;
  s->newest = slot;
  if (s->seen < depth)
    s->seen++;
  return CF_OK;
}

/* The window's frames, newest first; those not yet seen are the oldest seen. */
void
window_frames (State *s)
{
  const int depth = s->window.depth;

  for (int i = 0; i < depth; i++) {
    const int back = i < s->seen ? i : s->seen - 1;

    s->padded.frame[i] = s->ring + (size_t) ((s->newest - back + depth) % depth) * s->frame_bytes;
  }
  s->padded.w = s->window.w;
  s->padded.h = s->window.h;
  s->padded.depth = depth;
  s->padded.rank = s->window.rank;
}

CfCode
launch_network (const CfPlan *plan, cudaStream_t stream, Launch *launch, CfStatus *status)
{
  const NetworkVariant &v = networks (plan)[state_of (plan)->network];
  void *arguments[] = { launch };
  CfCode code;

  deal_blocks (launch, v.tile_w, v.tile_h);
  code = cf_cuda_check (cudaLaunchKernel (v.kernel, dim3 ((unsigned) launch->blocks), dim3 (32, (unsigned) v.block_y), arguments,
          0, stream), v.name, status);
  return code == CF_OK ? cf_cuda_launched (v.name, status) : code;
}

CfCode
median_enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  State *s = state_of (plan);
  cudaStream_t handle = static_cast<cudaStream_t> (cf_stream_handle (stream));
  Launch launch;
  CfCode code;

  make_launch (plan, in, out, params_of (plan)->threshold, &launch);
  if (s->kind == NETWORK)
    return launch_network (plan, handle, &launch, status);
  if (s->frame_bytes) { /* else nothing is filtered: apply-to=chroma of a gray picture */
    code = take_in (plan, handle, &launch, status);
    if (code != CF_OK)
      return code;
    window_frames (s);
  }
  return s->kind == TREE ? median_launch_tree (&launch, s->padded, handle, status)
      : median_launch_select (&launch, s->padded, handle, status);
}

CfCode
median_push_history (CfPlan *plan, CfStream *stream, const CfImage *in, CfStatus *status)
{
  State *s = state_of (plan);
  Launch launch;

  if (s->window.depth == 1 || !s->frame_bytes)
    return CF_OK;
  make_launch (plan, in, in, 0, &launch);
  return take_in (plan, static_cast<cudaStream_t> (cf_stream_handle (stream)), &launch, status);
}

void
median_reset (CfPlan *plan)
{
  state_of (plan)->seen = 0;
}

/* ---- variants by name --------------------------------------------------- */

const char *
median_variant (const CfPlan *plan)
{
  const State *s = state_of (plan);

  return name_of (plan, s->kind, s->network);
}

const char *
median_variant_name (const CfPlan *plan, unsigned i)
{
  if (i < (unsigned) n_network_variants)
    return networks (plan)[i].name;
  return i == n_network_variants ? "select" : i == n_network_variants + 1 ? "tree" : NULL;
}

CfCode
median_prefer (CfPlan *plan, const char *variant, CfStatus *status)
{
  State *s = state_of (plan);
  const char *before = s->prefer, *known = NULL;
  CfCode code;

  for (unsigned i = 0; variant && median_variant_name (plan, i); i++)
    if (strcmp (median_variant_name (plan, i), variant) == 0)
      known = median_variant_name (plan, i);
  if (variant && !known)
    return cf_fail (status, CF_UNSUPPORTED, "the median has no variant \"%s\"", variant);
  s->prefer = known;
  code = set_up (plan, status);
  if (code != CF_OK)
    s->prefer = before;
  return code;
}

} // namespace

extern "C" const CfOps cf_median_cuda = {
  median_init, set_up, median_enqueue, median_push_history, median_reset, median_free, median_variant, median_variant_name,
  median_prefer,
};
