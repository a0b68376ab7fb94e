/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/gpu/launch.cuh: shared by the kernels of all filters: the description of a frame that is passed to a kernel,
 * launches, the wait of a dependent one, and loads and stores of four samples at once for any pixel format. */
#ifndef CF_CORE_GPU_LAUNCH_CUH
#define CF_CORE_GPU_LAUNCH_CUH

#include "core/gpu/cuda.h"

#include <cuda_runtime.h>

#include <initializer_list>

namespace cf {

/* One view (a component of a field) of the input and of the output image. One launch processes all views of a frame:
 * the blocks of the grid from first_block on process this view, blocks_x of them side by side. */
struct Plane {
  const uint8_t *in;
  uint8_t *out;
  long long in_pitch, out_pitch; /* bytes */
  int width, height;
  int first_block, blocks_x;
  uint8_t step, bytes, shift, bits;
  bool filtered;  /* false: copy the words */
  bool in_words;  /* load_quad may read aligned 32-bit words */
  bool out_words; /* step 1, and every fourth output sample begins an aligned word */
};

struct Launch {
  int n, blocks;
  int threshold;
  int turns; /* planes whose blocks take turns (block_in_turn ()); 1: those of one plane follow those of another */
  Plane plane[CF_MAX_VIEWS];
};

/* Fills a launch with the views of a frame; deal_blocks assigns the blocks. */
inline void
make_launch (const CfPlan *plan, const CfImage *in, const CfImage *out, int threshold, Launch *launch)
{
  CfView from[CF_MAX_VIEWS], to[CF_MAX_VIEWS];

  *launch = Launch ();
  launch->n = cf_image_views (&plan->video, &plan->common, in, from);
  cf_image_views (&plan->video, &plan->common, out, to);
  launch->threshold = threshold;
  for (int i = 0; i < launch->n; i++) {
    const CfView &v = from[i];
    Plane &j = launch->plane[i];
    unsigned offset = (unsigned) ((uintptr_t) v.data & 3);

    j.in = v.data;
    j.out = to[i].data;
    j.in_pitch = (long long) v.pitch;
    j.out_pitch = (long long) to[i].pitch;
    j.width = v.width;
    j.height = v.height;
    j.step = v.step;
    j.bytes = v.bytes;
    j.shift = v.shift;
    j.bits = v.bits;
    j.filtered = v.filtered;
    /* a quad's words begin at the word that holds its first sample */
    j.in_words = (v.pitch & 3) == 0 && (v.step == 4 || offset < v.step * v.bytes) && (v.bytes == 1 || v.step <= 2)
        && (v.bytes == 1 || (offset & 1) == 0);
    j.out_words = v.step == 1 && (to[i].pitch & 3) == 0 && ((uintptr_t) to[i].data & 3) == 0;
  }
}

/* Assigns blocks to all views, one after the other, one block for each tile of tile_w x tile_h outputs. With n_primary
 * > 0 the blocks of the first n_primary views also process the other filtered views. */
inline void
deal_blocks (Launch *launch, int tile_w, int tile_h, int n_primary = 0)
{
  const Plane &first = launch->plane[0];
  bool same = launch->n > 1 && first.step > 1 && n_primary == 0;

  launch->blocks = 0;
  for (int i = 0; i < launch->n; i++) {
    Plane &j = launch->plane[i];

    j.first_block = launch->blocks;
    j.blocks_x = (j.width + tile_w - 1) / tile_w;
    if (n_primary == 0 || i < n_primary || !j.filtered)
      launch->blocks += j.blocks_x * ((j.height + tile_h - 1) / tile_h);
    same = same && j.step == first.step && j.width == first.width && j.height == first.height;
  }
  launch->turns = same ? launch->n : 1;
}

/* Loads kernels; `what`: "loading the median's kernels". Without it CUDA loads each kernel, and waits, at its first
 * launch. */
inline CfCode
load_kernels (std::initializer_list<const void *> kernels, const char *what, CfStatus *status)
{
  CfCode code = CF_OK;

  for (const void *kernel : kernels) {
    cudaFuncAttributes attributes;

    if (code == CF_OK)
      code = cf_cuda_check (cudaFuncGetAttributes (&attributes, kernel), what, status);
  }
  return code;
}

/* Launches a kernel; `name` appears in error messages. pdl: the kernel may start before the work queued before it has
 * completed (programmatic dependent launch), because it waits by itself before it accesses an image. */
inline CfCode
launch_kernel (const char *name, const void *kernel, int blocks, dim3 threads, void **arguments, size_t shared,
    bool pdl, cudaStream_t stream, CfStatus *status)
{
  cudaLaunchAttribute attribute = { };
  cudaLaunchConfig_t config = { };
  CfCode code;

  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.gridDim = dim3 ((unsigned) blocks);
  config.blockDim = threads;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = pdl ? 1 : 0;
  code = cf_cuda_check (cudaLaunchKernelExC (&config, kernel, arguments), name, status);
  return code == CF_OK ? cf_cuda_launched (name, status) : code;
}

#ifdef __CUDACC__

/* True if griddep_wait () waits in this compilation. */
#if defined (__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
constexpr bool has_griddep = true;
#else
constexpr bool has_griddep = false;
#endif

/* The two halves of griddep_wait (), for kernels that let the next one start late. All threads wait; once a block has
 * waited, any of its threads may let the next kernel start. */
__device__ __forceinline__ void
griddep_wait_only ()
{
#if defined (__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile ("griddepcontrol.wait;" : : : "memory");
#endif
}

__device__ __forceinline__ void
griddep_start_next ()
{
#if defined (__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile ("griddepcontrol.launch_dependents;" : : : "memory");
#endif
}

/* Waits until all work queued before this kernel has completed and its memory is visible, then lets the next kernel
 * start; so at most two kernels of a stream run at the same time. All threads call this before they access an image.
 * With programmatic dependent launch a kernel starts while the work queued before it still runs, which hides the time
 * of its launch. It does nothing below capability 9.0, where kernels are launched without. Images must be read with
 * plain loads: read-only loads (__ldg) require that the memory does not change from the start of the kernel on. */
__device__ __forceinline__ void
griddep_wait ()
{
  griddep_wait_only ();
  griddep_start_next ();
}

/* Prefetches a block's rows of an image, `x` and `y` the first byte and row, into the L2 cache. All threads call it
 * before griddep_wait (): what DRAM has to deliver for the first blocks then comes while the work before still runs.
 * Nothing is read, and the L2 cache has what that work still writes. */
template<int BYTES, int ROWS, int THREADS> __device__ __forceinline__ void
prefetch_rows (const uint8_t *in, long long pitch, int bytes, int height, int x, int y)
{
  constexpr int line = BYTES < 128 ? BYTES : 128, across = BYTES / line;

  static_assert (BYTES % line == 0, "whole lines");
#pragma unroll
  for (int i = (int) threadIdx.x; has_griddep && i < across * ROWS; i += THREADS) {
    const int at = x + i % across * line, row = y + i / across;

    if (at < bytes && row < height)
      asm volatile ("prefetch.global.L2 [%0];" : : "l" (__cvta_generic_to_global (in + row * pitch + at)));
  }
}

/* load_bytes () byte by byte. Not inlined, see store_quad_samples (). */
static __device__ __noinline__ uint4
load_one_by_one (const uint8_t *from, unsigned mask)
{
  unsigned word[4] = { };

#pragma unroll
  for (int b = 0; b < 16; b++)
    if (mask >> b & 1)
      word[b / 4] |= (unsigned) __ldcg (from + b) << b % 4 * 8;
  return make_uint4 (word[0], word[1], word[2], word[3]);
}

/* Loads 16 bytes. `mask` has a bit for each that is wanted; the others are anything. `whole`: the address is a multiple
 * of 16, and all may be read. Past the L1 cache, so it may be called before griddep_wait () for what was complete
 * before the kernel started. */
__device__ __forceinline__ uint4
load_bytes (const uint8_t *from, unsigned mask, bool whole)
{
  if (mask && whole)
    return __ldcg ((const uint4 *) from);
  return mask ? load_one_by_one (from, mask) : make_uint4 (0, 0, 0, 0);
}

/* Stores them. `aligned`: the address is a multiple of 16. */
__device__ __forceinline__ void
store_bytes (uint8_t *to, unsigned mask, bool aligned, uint4 v)
{
  const unsigned word[4] = { v.x, v.y, v.z, v.w };

  if (aligned && mask == 0xffff)
    *(uint4 *) to = v;
  else if (mask)
#pragma unroll
    for (int w = 0; w < 4; w++)
      if (aligned && (mask >> 4 * w & 15) == 15)
        ((unsigned *) to)[w] = word[w];
      else
#pragma unroll
        for (int b = 0; b < 4; b++)
          if (mask >> (4 * w + b) & 1)
            to[4 * w + b] = (uint8_t) (word[w] >> 8 * b);
}

/* Returns a mask of the 16 bytes from `at` on: a bit is set if its byte is in left .. right - 1. */
__device__ __forceinline__ unsigned
bytes_within (int at, int left, int right)
{
  const int first = min (max (left - at, 0), 16), end = min (max (right - at, 0), 16);

  return end > first ? (1u << end) - (1u << first) : 0;
}

/* Returns a block's number for plane_of_block (). Components of the same pixels take turns, so that what one loads is
 * in the cache for the others, and their stores meet there. */
__device__ __forceinline__ int
block_in_turn (const Launch &launch, int block)
{
  return launch.turns == 1 ? block : block % launch.turns * (launch.blocks / launch.turns) + block / launch.turns;
}

/* Returns the view of a block. All threads of the block find the same one. */
__device__ __forceinline__ const Plane &
plane_of_block (const Launch &launch, int block)
{
  int i = 0;

  while (i + 1 < launch.n && block >= launch.plane[i + 1].first_block)
    i++;
  return launch.plane[i];
}

/* Four samples: 8-bit samples are the bytes of lo (hi is unused); 16-bit samples are the halves of lo (samples 0, 1)
 * and of hi (2, 3). */
struct Quad {
  unsigned lo, hi;
};

__device__ __forceinline__ unsigned
sample_value (const Plane &j, unsigned word)
{
  return min (word >> j.shift, (1u << j.bits) - 1);
}

__device__ __forceinline__ unsigned
load_sample (const Plane &j, const uint8_t *row, int x)
{
  const uint8_t *p = row + (long long) x * j.step * j.bytes;

  return sample_value (j, j.bytes == 1 ? *p : *(const uint16_t *) p);
}

/* Loads the samples x .. x + 3 one by one, each position clamped to the row. */
__device__ __forceinline__ Quad
load_quad_clamped (const Plane &j, const uint8_t *row, int x)
{
  unsigned s[4];

#pragma unroll
  for (int i = 0; i < 4; i++)
    s[i] = load_sample (j, row, min (max (x + i, 0), j.width - 1));
  if (j.bytes == 1)
    return Quad { s[0] | s[1] << 8 | s[2] << 16 | s[3] << 24, 0 };
  return Quad { s[0] | s[1] << 16, s[2] | s[3] << 16 };
}

/* Loads the samples x .. x + 3, which are inside the row, of a component with in_words set; x is a multiple of 4. Loads
 * aligned 32-bit words and selects the bytes of the component. */
template<int BYTES, int STEP> __device__ __forceinline__ Quad
load_quad_words (const Plane &j, const uint8_t *row, int x)
{
  const unsigned offset = (unsigned) ((uintptr_t) row & 3);
  const unsigned *w = (const unsigned *) (row - offset + x * STEP * BYTES);
  Quad q;

  if (BYTES == 1) {
    if (STEP == 1)
      return Quad { w[0], 0 };
    if (STEP == 2)
      return Quad { __byte_perm (w[0], w[1], 0x6420 + 0x1111 * offset), 0 };
    if (STEP == 3) {
      const unsigned low = __byte_perm (w[0], w[1], 0x30 + 0x11 * offset);  /* bytes offset, offset + 3 */
      const unsigned high = __byte_perm (w[1], w[2], 0x52 + 0x11 * offset); /* offset + 6, offset + 9 */

      return Quad { __byte_perm (low, high, 0x5410), 0 };
    }
    const unsigned low = __byte_perm (w[0], w[1], 0x40 + 0x11 * offset);
    const unsigned high = __byte_perm (w[2], w[3], 0x40 + 0x11 * offset);

    return Quad { __byte_perm (low, high, 0x5410), 0 };
  }
  if (STEP == 1)
    q = Quad { w[0], w[1] };
  else {
    const unsigned pick = offset ? 0x7632 : 0x5410;

    q = Quad { __byte_perm (w[0], w[1], pick), __byte_perm (w[2], w[3], pick) };
  }
  if (j.bits < 16) {
    const unsigned top = ((1u << j.bits) - 1) * 0x10001u, mask = (0xffffu >> j.shift) * 0x10001u;

    q.lo = __vminu2 (q.lo >> j.shift & mask, top);
    q.hi = __vminu2 (q.hi >> j.shift & mask, top);
  }
  return q;
}

/* The horizontal position of a quad, computed once for all rows: inside the image; left or right of it, where the
 * nearest quad is loaded and its outermost sample repeated; or across the edge, where samples are loaded one by one. */
struct QuadColumn {
  int x;         /* the position of the quad to load */
  unsigned pick; /* __byte_perm's selector that repeats samples; 0x3210: none */
  bool words;
};

__device__ __forceinline__ QuadColumn
quad_column (const Plane &j, int x)
{
  QuadColumn c = { x, 0x3210, j.in_words };

  if (x < 0) {
    c.x = 0;
    c.pick = 0;
    c.words = j.in_words && j.width >= 4;
  } else if (x + 3 >= j.width) {
    c.x = j.width - 4;
    c.pick = 0x3333;
    c.words = j.in_words && (j.width & 3) == 0;
  }
  if (!c.words)
    c.x = x;
  return c;
}

/* Loads the quad of a column with `words` set. */
template<int BYTES, int STEP> __device__ __forceinline__ Quad
load_quad (const Plane &j, const uint8_t *row, const QuadColumn &c)
{
  Quad q = load_quad_words<BYTES, STEP> (j, row, c.x);

  if (BYTES == 1)
    q.lo = __byte_perm (q.lo, 0, c.pick);
  else if (c.pick == 0)
    q.lo = q.hi = __byte_perm (q.lo, 0, 0x1010);
  else if (c.pick == 0x3333)
    q.lo = q.hi = __byte_perm (q.hi, 0, 0x3232);
  return q;
}

__device__ __forceinline__ void
store_sample (const Plane &j, uint8_t *row, int x, unsigned value)
{
  uint8_t *p = row + (long long) x * j.step * j.bytes;

  if (j.bytes == 1)
    *p = (uint8_t) value;
  else
    *(uint16_t *) p = (uint16_t) (value << j.shift);
}

/* Not inlined: instruction fetch bounds the kernels, so code that few threads execute must not be between the code that
 * all threads execute. */
static __device__ __noinline__ void
store_quad_samples (const Plane &j, uint8_t *row, int x, Quad q)
{
#pragma unroll 1
  for (int i = 0; i < 4 && x + i < j.width; i++) {
    store_sample (j, row, x + i, j.bytes == 1 ? q.lo & 0xff : q.lo & 0xffff);
    if (j.bytes == 1)
      q.lo >>= 8;
    else
      q.lo = i & 1 ? q.hi : q.lo >> 16;
  }
}

/* Stores the samples x .. x + 3; omits those beyond the end of the row. */
__device__ __forceinline__ void
store_quad (const Plane &j, uint8_t *row, int x, Quad q)
{
  if (!j.out_words || x + 3 >= j.width)
    store_quad_samples (j, row, x, q);
  else if (j.bytes == 1)
    *(unsigned *) (row + x) = q.lo;
  else {
    *(unsigned *) (row + 2 * x) = q.lo << j.shift;
    *(unsigned *) (row + 2 * x + 4) = q.hi << j.shift;
  }
}

/* Copies the stored words of the block's tile of a component that is not filtered. */
__device__ __forceinline__ void
copy_tile (const Plane &j, int x0, int y0, int tile_w, int tile_h, int thread, int threads)
{
  for (int i = thread; i < tile_w * tile_h; i += threads) {
    int x = x0 + i % tile_w, y = y0 + i / tile_w;

    if (x < j.width && y < j.height) {
      const uint8_t *from = j.in + y * j.in_pitch + (long long) x * j.step * j.bytes;
      uint8_t *to = j.out + y * j.out_pitch + (long long) x * j.step * j.bytes;

      if (j.bytes == 1)
        *to = *from;
      else
        *(uint16_t *) to = *(const uint16_t *) from;
    }
  }
}

#endif /* __CUDACC__ */

} // namespace cf

#endif
