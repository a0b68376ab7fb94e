/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * median/gpu/running.cu: the running median on CUDA: its plan and its kernel.
 *
 * A block of 256 threads has 64 x 16 samples of a view, four neighbours of a row per thread; of luma, or of red, green
 * and blue together, these are four whole cells, whose moving pixels it counts.
 *
 * Shared memory: four counts.
 * Races: none; a thread writes only its own samples, whose background no other thread reads; counts are added in shared
 * memory with atomics and written after a barrier. Frames follow each other on one stream.
 * Bound: memory: each sample is read, its background is read and written, and the output is written. */
#include "internal.h"
#include "median/running.h"

#include <string.h>

namespace {

using namespace cf;

constexpr int running_threads = 256, tile_w = 64, tile_h = 16, tile_cells = tile_w / CF_RUNNING_CELL;

struct RunningWork {
  Launch launch; /* `threshold` is T */
  uint8_t *background;
  long long offset[CF_MAX_VIEWS]; /* of the background of a view, bytes */
  int pitch[CF_MAX_VIEWS];        /* bytes, a multiple of 64 */
  int step, largest;
  int n_colors; /* views that decide: the first 1 or 3 */
  int output;   /* CfMedianOutput */
  bool copies;  /* result: component by component */
  uint16_t *count;
  int count_pitch; /* a multiple of 4 */
};

/* Loads the samples x .. x + 3, where x is inside the row; those beyond its end are equal to the last one. */
template<int BYTES> __device__ __forceinline__ Quad
load_samples (const Plane &plane, const uint8_t *row, int x)
{
  if (!plane.in_words || x + 3 >= plane.width)
    return load_quad_clamped (plane, row, x);
  if (plane.step == 1)
    return load_quad_words<BYTES, 1> (plane, row, x);
  if (plane.step == 2)
    return load_quad_words<BYTES, 2> (plane, row, x);
  if (BYTES == 2)
    return load_quad_clamped (plane, row, x);
  return plane.step == 3 ? load_quad_words<1, 3> (plane, row, x) : load_quad_words<1, 4> (plane, row, x);
}

template<int BYTES> __device__ __forceinline__ int
quad_sample (const Quad &q, int i)
{
  return BYTES == 1 ? (int) (q.lo >> (8 * i) & 0xff) : (int) ((i < 2 ? q.lo : q.hi) >> (16 * (i & 1)) & 0xffff);
}

template<int BYTES> __device__ __forceinline__ Quad
make_quad (const int v[4])
{
  if (BYTES == 1)
    return Quad { (unsigned) (v[0] | v[1] << 8 | v[2] << 16 | v[3] << 24), 0 };
  return Quad { (unsigned) (v[0] | v[1] << 16), (unsigned) (v[2] | v[3] << 16) };
}

/* Moves the background of four samples of a view. Leaves it in `to` and the distances in `distance`. */
template<int BYTES> __device__ __forceinline__ void
follow (const RunningWork &w, int view, int x, int y, int to[4], int distance[4])
{
  const Plane &plane = w.launch.plane[view];
  const Quad q = load_samples<BYTES> (plane, plane.in + y * plane.in_pitch, x);
  uint8_t *at = w.background + w.offset[view] + (long long) y * w.pitch[view] + x * BYTES;
  Quad b;

  if (BYTES == 1) {
    b.lo = *(unsigned *) at;
    b.hi = 0;
  } else {
    b.lo = ((uint2 *) at)->x;
    b.hi = ((uint2 *) at)->y;
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int sample = quad_sample<BYTES> (q, i), before = quad_sample<BYTES> (b, i);

    to[i] = before + min (max (sample - before, -w.step), w.step);
    distance[i] = abs (sample - to[i]);
  }
  b = make_quad<BYTES> (to);
  if (BYTES == 1)
    *(unsigned *) at = b.lo;
  else
    *(uint2 *) at = make_uint2 (b.lo, b.hi);
}

template<int BYTES> __device__ __forceinline__ void
store (const Plane &plane, int x, int y, const int v[4])
{
  store_quad (plane, plane.out + y * plane.out_pitch, x, make_quad<BYTES> (v));
}

/* Takes four pixels of the views that decide. Returns a bit for each that moves. */
template<int BYTES> __device__ __forceinline__ unsigned
decide (const RunningWork &w, int x, int y)
{
  unsigned moves = 0;

  for (int view = 0; view < w.n_colors; view++) {
    const Plane &plane = w.launch.plane[view];
    int to[4], distance[4];

    follow<BYTES> (w, view, x, y, to, distance);
#pragma unroll
    for (int i = 0; i < 4; i++)
      moves |= (unsigned) (distance[i] > w.launch.threshold && x + i < plane.width) << i;
    if (w.output == CF_MEDIAN_BACKGROUND)
      store<BYTES> (plane, x, y, to);
    else if (w.output == CF_MEDIAN_DIFFERENCE)
      store<BYTES> (plane, x, y, distance);
  }
  for (int view = 0; w.output == CF_MEDIAN_MASK && view < w.n_colors; view++) {
    int mask[4];

#pragma unroll
    for (int i = 0; i < 4; i++)
      mask[i] = moves >> i & 1 ? w.largest : 0;
    store<BYTES> (w.launch.plane[view], x, y, mask);
  }
  return moves;
}

template<int BYTES> __global__ void __launch_bounds__ (running_threads)
median_running_kernel (const __grid_constant__ RunningWork w)
{
  __shared__ int moving[tile_cells];
  const Plane &plane = plane_of_block (w.launch, (int) blockIdx.x);
  const int block = (int) blockIdx.x - plane.first_block, view = (int) (&plane - w.launch.plane);
  const int thread = (int) threadIdx.x;
  const int x0 = block % plane.blocks_x * tile_w, y0 = block / plane.blocks_x * tile_h;
  const int x = x0 + thread % (tile_w / 4) * 4, y = y0 + thread / (tile_w / 4);
  const bool inside = x < plane.width && y < plane.height;

  if (w.output == CF_MEDIAN_RESULT ? w.copies : !plane.filtered)
    copy_tile (plane, x0, y0, tile_w, tile_h, thread, running_threads);
  if (!plane.filtered)
    return;
  if (view >= w.n_colors) { /* chroma */
    int to[4], distance[4];

    if (!inside)
      return;
    follow<BYTES> (w, view, x, y, to, distance);
    if (w.output == CF_MEDIAN_DIFFERENCE || w.output == CF_MEDIAN_MASK)
      to[0] = to[1] = to[2] = to[3] = (w.largest + 1) / 2;
    if (w.output != CF_MEDIAN_RESULT)
      store<BYTES> (plane, x, y, to);
    return;
  }
  const unsigned moves = inside ? decide<BYTES> (w, x, y) : 0;

  if (!w.count)
    return;
  if (thread < tile_cells)
    moving[thread] = 0;
  __syncthreads ();
  int n = __popc (moves);

  /* A warp has two rows of 16 threads, a cell 4 threads of each. */
  n += __shfl_xor_sync (0xffffffff, n, 1);
  n += __shfl_xor_sync (0xffffffff, n, 2);
  n += __shfl_xor_sync (0xffffffff, n, 16);
  if ((thread & 0x13) == 0)
    atomicAdd (&moving[thread >> 2 & 3], n);
  __syncthreads ();
  if (thread == 0)
    *(ushort4 *) (w.count + (long long) (y0 / CF_RUNNING_CELL) * w.count_pitch + x0 / CF_RUNNING_CELL)
        = make_ushort4 ((unsigned short) moving[0], (unsigned short) moving[1], (unsigned short) moving[2],
            (unsigned short) moving[3]);
}

/* ---- the plan ----------------------------------------------------------- */

struct RunningState {
  CfRunning running; /* first */
  uint8_t *background;
  uint16_t *count; /* pinned host memory, which the kernel writes */
  RunningWork work; /* all but what changes with each frame */
};

RunningState *
running_state (const CfPlan *plan)
{
  return static_cast<RunningState *> (plan->state);
}

CfCode
running_init (CfPlan *plan, CfStatus *status)
{
  const CfFormatInfo *info = cf_format_info (plan->video.format);
  RunningState *s = running_state (plan);
  RunningWork &w = s->work;
  size_t offset[CF_MAX_VIEWS] = { }, pitch[CF_MAX_VIEWS] = { };
  CfCode code = cf_running_init (plan, status);
  const size_t counts = cf_running_counts (&s->running) * sizeof *s->count;

  if (code == CF_OK)
    code = load_kernels ({ (const void *) median_running_kernel<1>, (const void *) median_running_kernel<2> },
        median_loading, status);
  if (code != CF_OK)
    return code;
  s->background = static_cast<uint8_t *> (cf_gpu_alloc (CF_DEVICE, cf_running_layout (plan, offset, pitch), status));
  s->count = s->background ? static_cast<uint16_t *> (cf_gpu_alloc (CF_PINNED, counts, status)) : NULL;
  if (!s->count)
    return status->code;
  memset (s->count, 0, counts);
  for (int i = 0; i < CF_MAX_VIEWS; i++) {
    w.offset[i] = (long long) offset[i];
    w.pitch[i] = (int) pitch[i];
  }
  w.background = s->background;
  w.largest = (1 << info->bits) - 1;
  w.n_colors = info->rgb ? 3 : 1;
  w.copies = !cf_running_rows_are_full (plan);
  w.count_pitch = s->running.pitch;
  return CF_OK;
}

void
running_free (CfPlan *plan)
{
  if (running_state (plan)->count)
    cf_gpu_free (CF_PINNED, running_state (plan)->count);
  cf_gpu_free (CF_DEVICE, running_state (plan)->background);
  cf_running_free (plan);
}

/* Copies all stored words. The images may be in pinned host memory. */
CfCode
copy_image (const CfImage *to, const CfImage *from, cudaStream_t stream, CfStatus *status)
{
  CfCode code = CF_OK;

  for (int p = 0; code == CF_OK && p < cf_format_info (from->format)->n_planes; p++)
    code = cf_cuda_check (cudaMemcpy2DAsync (to->plane[p].data, to->plane[p].pitch, from->plane[p].data,
        from->plane[p].pitch, cf_plane_row_bytes (from->format, from->width, p),
        (size_t) cf_plane_rows (from->format, from->height, p), cudaMemcpyDefault, stream), "copying a frame", status);
  return code;
}

CfCode
running_enqueue (CfPlan *plan, CfStream *stream, const CfImage *in, const CfImage *out, CfStatus *status)
{
  const CfMedianParams *params = static_cast<const CfMedianParams *> (plan->params);
  RunningState *s = running_state (plan);
  cudaStream_t handle = static_cast<cudaStream_t> (cf_stream_handle (stream));
  const CfRunningFrame frame = cf_running_frame (plan);
  CfPlan whole = *plan; /* for the views of whole frames */
  RunningWork w = s->work;

  whole.video.interlaced = false;
  make_launch (&whole, in, out, frame.threshold, &w.launch);
  deal_blocks (&w.launch, tile_w, tile_h, w.n_colors == 3 ? 1 : 0);
  w.step = frame.step;
  w.output = params->output;
  w.count = s->running.fresh ? s->count : NULL;
  if (params->output == CF_MEDIAN_RESULT && !w.copies) {
    const CfCode code = copy_image (out, in, handle, status);

    if (code != CF_OK)
      return code;
  }
  if (cf_format_info (plan->video.format)->bytes == 1)
    median_running_kernel<1><<<w.launch.blocks, running_threads, 0, handle>>> (w);
  else
    median_running_kernel<2><<<w.launch.blocks, running_threads, 0, handle>>> (w);
  return cf_cuda_launched ("median: the running median", status);
}

CfCode
running_regions (CfPlan *plan, CfRegions *found, CfStatus *status)
{
  (void) status;
  cf_running_regions (plan, running_state (plan)->count, found);
  return CF_OK;
}

const char *const running_variants[] = { "running", NULL };

} // namespace

extern "C" const CfOps cf_running_cuda = {
  .state_size = sizeof (RunningState),
  .init = running_init,
  .update = cf_running_update,
  .enqueue = running_enqueue,
  .reset = cf_running_reset,
  .free = running_free,
  .variants = running_variants,
  .regions = running_regions,
};
