/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/gpu/plan.cu: the median on CUDA: plans, the choice of the variant, launches.
 *
 * | variant | windows | cost | source |
 * | registers KxK | 3 x 3 and 5 x 5 of 8-bit planes, median, one frame | grows with the window | registers.cu |
 * | network KxK | square 3..17, median, one frame | grows with the window | network.cuh |
 * | small | up to 15 samples, one frame | grows with the window | select.cu |
 * | flat | 3 to 255 columns, 8 bit, one frame | grows with the window's width | flat.cu |
 * | sorted | the same, 10 to 16 bits or packed, up to 165 x 165 (9.0) | the same, and sorting | sort.cu, flat.cu |
 * | select | any | one load per bit and sample of the window | select.cu |
 * | tree | up to 255 rows, summed over the frames | hardly depends on the window | tree.cu |
 * A plan takes the first of `order` that fits, else select for small windows and the tree for the others. */
#include "internal.h"

namespace {

using namespace cf;

/* The variants: the registers' rows, those of the table of networks, then these. */
constexpr int NETWORK = median_n_registers, SMALL = NETWORK + median_n_networks, FLAT = SMALL + 1, SORTED = FLAT + 1,
    SELECT = SORTED + 1, TREE = SELECT + 1;

const char *const variants[] = { "registers 3x3", "registers 5x5", "network 3x3", "network 5x5", "network 7x7",
  "network 9x9", "network 11x11", "network 13x13", "network 15x15", "network 17x17", "small", "flat", "sorted",
  "select", "tree", NULL };

/* Fastest first (docs/notes/median.md). */
constexpr int network_13 = NETWORK + 5; /* behind flat where samples of a component lie apart */
const int order[] = { 0, 1, NETWORK, NETWORK + 1, NETWORK + 2, NETWORK + 3, NETWORK + 4, network_13, FLAT, SMALL,
  NETWORK + 6, NETWORK + 7, SORTED };
/* Bytes. The second-level caches of an H100 and an H200, of 50 and 60 MB, hold such a frame and its output. */
constexpr long long cached_frame = 16 << 20;

struct State {
  CfMedianWindow window;
  int variant;
  MedianPadded padded; /* layout of the padded planes; frame[] is filled for each launch */
  MedianTiles tiles;   /* of sorted */
  uint8_t *ring;       /* padded planes of `depth` frames, or tiles; NULL until select, tree or sorted needs them */
  size_t frame_bytes, ring_bytes; /* of a frame in the ring; that were allocated */
  int newest, n_seen;  /* of the ring: slot of the newest frame, number of frames in it */
  bool pdl;            /* programmatic dependent launch, see griddep_wait () */
  bool is_missing[TREE + 1]; /* networks that the code lacks which the device has loaded */
};

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

const MedianNetworkVariant *
networks (const CfPlan *plan)
{
  return cf_format_info (plan->video.format)->bits > 10 ? median_networks_wide () : median_networks_narrow ();
}

/* Returns whether the network for k x k samples can do this window. */
bool
network_fits (const CfPlan *plan, const CfMedianWindow &window, int k)
{
  return window.w == k && window.h == k && window.depth == 1 && window.rank == (window.n - 1) / 2
      && params_of (plan)->color_order == CF_MEDIAN_PER_CHANNEL;
}

/* Returns whether all planes are of one component of 8 bits, or of pairs of them as the chroma of NV12. */
bool
is_planar (const CfPlan *plan)
{
  CfImage image = { };
  CfView views[CF_MAX_VIEWS];
  const int n = cf_image_views (&plan->video, &plan->common, &image, views);
  bool planar = true;

  /* not YUY2, whose luma has step 2 and whose chroma has step 4 */
  for (int i = 0; i < n; i++)
    planar = planar && (!views[i].filtered || (views[i].step <= 2 && views[i].bytes == 1));
  return planar;
}

bool
flat_fits (const CfPlan *plan, const CfMedianWindow &window)
{
  return cf_format_info (plan->video.format)->bytes == 1 && params_of (plan)->color_order == CF_MEDIAN_PER_CHANNEL
      && median_flat_fits (window, plan->context->max_shared);
}

bool
sorted_fits (const CfPlan *plan, const State &s, MedianTiles *tiles)
{
  return s.padded.bytes > 1 && s.window.depth == 1
      && median_sorted_fits (s.window, s.padded.n_primary, s.padded.bits, plan->context->max_shared, tiles);
}

/* ---- padded planes ------------------------------------------------------ */

void
lay_out_planes (const CfPlan *plan, State *s)
{
  const CfFormatInfo *info = cf_format_info (plan->video.format);
  CfImage image = { };
  CfView views[CF_MAX_VIEWS];
  const int n = cf_image_views (&plan->video, &plan->common, &image, views);
  MedianPadded &p = s->padded;

  p.n_primary = 0;
  while (params_of (plan)->color_order == CF_MEDIAN_PACKED && views[p.n_primary].component == 0)
    p.n_primary++;
  p.bytes = p.n_primary ? 4 : info->bytes;
  p.bits = p.n_primary ? 24 : info->bits;
  p.w = s->window.w;
  p.h = s->window.h;
  p.depth = s->window.depth;
  p.rank = s->window.rank;
  s->frame_bytes = 0;
  for (int i = 0; i < n; i++) {
    const size_t columns = (size_t) (median_pad + views[i].width + median_pad_right);
    const size_t rows = (size_t) (median_pad + views[i].height + median_pad_below);

    p.offset[i] = (long long) s->frame_bytes;
    p.pitch[i] = (int) ((columns * (size_t) p.bytes + 15) & ~(size_t) 15);
    if (views[i].filtered && (p.n_primary == 0 || i < p.n_primary))
      s->frame_bytes += (size_t) p.pitch[i] * rows;
  }
  if (s->variant == SORTED)
    s->frame_bytes = (size_t) median_count_tiles (views, n, &s->tiles) * (size_t) s->tiles.bytes;
}

/* Lays out the padded planes, and allocates a new ring if their size changed. */
CfCode
allocate_ring (const CfPlan *plan, State *s, CfStatus *status)
{
  const size_t before = s->ring ? s->frame_bytes : 0;
  const int bytes = s->padded.bytes;

  lay_out_planes (plan, s);
  if (s->variant < SORTED || s->frame_bytes == 0 || (before == s->frame_bytes && bytes == s->padded.bytes
      && s->frame_bytes * (size_t) s->window.depth <= s->ring_bytes))
    return CF_OK;
  cf_gpu_free (CF_DEVICE, s->ring);
  s->n_seen = 0;
  s->ring_bytes = s->frame_bytes * (size_t) s->window.depth;
  s->ring = static_cast<uint8_t *> (cf_gpu_alloc (CF_DEVICE, s->ring_bytes, status));
  if (!s->ring)
    s->ring_bytes = 0;
  return s->ring ? CF_OK : CF_NO_MEMORY;
}

/* ---- the choice --------------------------------------------------------- */

bool
fits (const CfPlan *plan, const State &s, int variant)
{
  MedianTiles tiles;

  if (s.is_missing[variant])
    return false;
  if (variant < NETWORK) /* where the planes of a frame are not aligned, the network does that frame */
    return is_planar (plan) && params_of (plan)->threshold == 0
        && network_fits (plan, s.window, 3 + 2 * variant);
  if (variant < SMALL)
    return network_fits (plan, s.window, 3 + 2 * (variant - NETWORK));
  if (variant == SMALL)
    return s.window.n <= median_small && s.window.depth == 1;
  if (variant == FLAT)
    return flat_fits (plan, s.window);
  if (variant == SORTED)
    return sorted_fits (plan, s, &tiles);
  return variant == SELECT || median_tree_fits (s.padded, plan->context->max_shared);
}

/* Loads per output up to which select is faster than the tree, for samples of up
 * to 10 bits and of 16 bits, whose trees have more nodes (docs/notes/median.md). */
constexpr int select_loads_narrow = 300, select_loads_wide = 3200;

CfCode
choose (const CfPlan *plan, State *s, CfStatus *status)
{
  const int loads = s->window.n * s->padded.bits;
  const int limit = s->padded.bits <= 10 ? select_loads_narrow : select_loads_wide;

  if (plan->preferred >= 0 && s->is_missing[plan->preferred])
    return cf_fail (status, CF_UNSUPPORTED, "variant %s is not in the code that this GPU runs, which needs to be for "
        "capability %.1f or later", variants[plan->preferred], networks (plan)[plan->preferred - NETWORK].arch / 10.0);
  if (plan->preferred >= 0 && !fits (plan, *s, plan->preferred))
    return cf_fail (status, CF_UNSUPPORTED, "variant %s cannot filter a %d x %d window of %d frames, rank %d, in %s",
        variants[plan->preferred], s->window.w, s->window.h, s->window.depth, s->window.rank,
        cf_format_info (plan->video.format)->name);
  s->variant = loads > limit && s->window.n > s->window.depth && fits (plan, *s, TREE) ? TREE : SELECT;
  for (int i = (int) (sizeof order / sizeof order[0]) - 1; i >= 0; i--)
    if (fits (plan, *s, order[i]) && (order[i] != network_13 || is_planar (plan) || !flat_fits (plan, s->window)))
      s->variant = order[i];
  if (plan->preferred >= 0)
    s->variant = plan->preferred;
  return CF_OK;
}

CfCode
median_update (CfPlan *plan, CfStatus *status)
{
  State *s = state_of (plan);
  State next = *s;
  CfCode code;

  next.window = cf_median_window (params_of (plan));
  lay_out_planes (plan, &next);
  code = choose (plan, &next, status);
  if (next.variant == SORTED)
    (void) sorted_fits (plan, next, &next.tiles);
  /* allocate_ring compares the new layout with the one that the ring was allocated for */
  next.padded.bytes = s->padded.bytes;
  next.frame_bytes = s->frame_bytes;
  if (code == CF_OK)
    code = allocate_ring (plan, &next, status);
  if (code == CF_OK || next.ring != s->ring)
    *s = next;
  plan->variant = s->variant;
  return code;
}

/* Loads the kernels of the networks, and sets the limits of their shared memory. Which ones have a body depends on what
 * they were compiled for, not on the device: a driver also makes its code from PTX for an earlier architecture. */
CfCode
load_networks (const CfPlan *plan, CfStatus *status)
{
  CfCode code = CF_OK;

  for (int i = 0; code == CF_OK && i < median_n_networks; i++) {
    const MedianNetworkVariant &v = networks (plan)[i];
    cudaFuncAttributes attributes;

    code = cf_cuda_check (cudaFuncGetAttributes (&attributes, v.kernel), median_loading, status);
    if (code == CF_OK && attributes.ptxVersion < v.arch)
      state_of (plan)->is_missing[NETWORK + i] = true;
    else if (code == CF_OK)
      code = cf_cuda_check (cudaFuncSetAttribute (v.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, v.shared),
          median_loading, status);
  }
  return code;
}

CfCode
median_init (CfPlan *plan, CfStatus *status)
{
  const int max_shared = plan->context->max_shared;
  const bool loaded = median_registers_init (&state_of (plan)->pdl, status) == CF_OK
      && median_select_init (status) == CF_OK && load_networks (plan, status) == CF_OK
      && median_flat_init (max_shared, status) == CF_OK && median_tree_init (max_shared, status) == CF_OK;

  return loaded ? median_update (plan, status) : status->code;
}

void
median_free (CfPlan *plan)
{
  cf_gpu_free (CF_DEVICE, state_of (plan)->ring);
}

/* ---- a frame ------------------------------------------------------------ */

int
next_slot (const State *s)
{
  return (s->newest + 1) % s->window.depth;
}

/* Pads the frame into the ring's next slot, which holds the oldest frame once the ring is full. */
CfCode
pad_frame (const State *s, cudaStream_t stream, Launch *launch, CfStatus *status)
{
  return median_launch_pad (launch, s->padded, s->ring + (size_t) next_slot (s) * s->frame_bytes, stream, status);
}

CfCode
push_frame (State *s, cudaStream_t stream, Launch *launch, CfStatus *status)
{
  const CfCode code = pad_frame (s, stream, launch, status);

  if (code == CF_OK) {
    s->newest = next_slot (s);
    s->n_seen = cf_min (s->n_seen + 1, s->window.depth);
  }
  return code;
}

/* Returns whether the frame that is filtered is in the ring without being pushed: where the caller has taken it, and
 * `ahead` frames behind it. */
bool
was_taken (const State *s)
{
  return s->window.ahead > 0 && s->n_seen > s->window.ahead;
}

/* Lists the window's frames: the one that is filtered, `ahead` frames back, then the others, newest first. While the
 * ring is not full, the oldest frame stands for the missing ones. With `ahead`, a frame that was not taken is in the
 * next slot, which is free then, and is not one of those seen: back = -1. */
void
list_frames (State *s)
{
  const int depth = s->window.depth, ahead = s->window.ahead;

  for (int i = 0; i < depth; i++) {
    const int wanted = i == 0 ? (ahead == 0 || was_taken (s) ? ahead : -1) : i <= ahead ? i - 1 : i;
    const int back = wanted < s->n_seen ? wanted : s->n_seen - 1;

    s->padded.frame[i] = s->ring + (size_t) ((s->newest - back + depth) % depth) * s->frame_bytes;
  }
}

/* Launches the network of the window's size. Where the second-level cache holds the frame and its output, longer
 * networks are faster if the components of a pixel do not take turns. */
CfCode
launch_network (const CfPlan *plan, cudaStream_t stream, Launch *launch, CfStatus *status)
{
  const int k = state_of (plan)->window.w;
  const MedianNetworkVariant &v = networks (plan)[k / 2 - 1];
  void *arguments[] = { launch };

  deal_blocks (launch, v.tile_w, v.tile_h);
  if (k > 5 && launch->plane[0].in_pitch * launch->plane[0].height <= cached_frame)
    launch->turns = 1;
  return launch_kernel ("median: network", v.kernel, launch->blocks, dim3 (32, (unsigned) v.block_y), arguments,
      (size_t) v.shared, state_of (plan)->pdl, stream, status);
}

CfCode
median_enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  State *s = state_of (plan);
  cudaStream_t handle = static_cast<cudaStream_t> (cf_stream_handle (stream));
  Launch launch;
  CfCode code;

  make_launch (plan, in, out, params_of (plan)->threshold, &launch);
  if (s->variant < NETWORK && median_registers_fit (launch))
    return median_launch_registers (&launch, s->variant, s->pdl, handle, status);
  if (s->variant < SMALL)
    return launch_network (plan, handle, &launch, status);
  if (s->variant == SMALL)
    return median_launch_small (&launch, s->window, s->padded.n_primary, s->pdl, handle, status);
  if (s->variant == FLAT)
    return median_launch_flat (&launch, s->window, MedianTiles (), plan->context, s->pdl, handle, status);
  if (s->variant == SORTED) {
    s->tiles.memory = s->ring;
    return median_launch_sorted (&launch, s->window, &s->tiles, plan->context, s->pdl, handle, status);
  }
  if (s->frame_bytes) { /* 0: apply-to selects no component, as chroma of GRAY8; all is copied */
    code = s->window.ahead == 0 ? push_frame (s, handle, &launch, status)
        : was_taken (s) ? CF_OK : pad_frame (s, handle, &launch, status);
    if (code != CF_OK)
      return code;
    list_frames (s);
  }
  return s->variant == TREE ? median_launch_tree (&launch, s->padded, handle, status)
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
  return push_frame (s, static_cast<cudaStream_t> (cf_stream_handle (stream)), &launch, status);
}

/* The ring has room for the planes of any smaller frame. */
void
median_resize (CfPlan *plan)
{
  lay_out_planes (plan, state_of (plan));
}

void
median_reset (CfPlan *plan)
{
  state_of (plan)->n_seen = 0;
}

} // namespace

extern "C" const CfOps cf_median_cuda = {
  .state_size = sizeof (State),
  .init = median_init,
  .update = median_update,
  .enqueue = median_enqueue,
  .push_history = median_push_history,
  .resize = median_resize,
  .reset = median_reset,
  .free = median_free,
  .variants = variants,
};
