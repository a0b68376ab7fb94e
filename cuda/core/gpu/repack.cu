/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/gpu/repack.cu: cf_repack of core/packed.c on the GPU. A thread has two pixels beside each other in a row: two
 * words of the packed image, and a word of two samples in each plane, which begins at a multiple of 256 bytes and whose
 * pitch is one, so that there is room for the second sample of the last thread of a row. Each thread writes words that
 * no other one reads or writes. The memory's rate bounds it: 20 bytes a thread each way. */
#include "core/gpu/launch.cuh"

namespace {

constexpr int block_w = 32, block_h = 8;

struct Work {
  const uint8_t *in, *alpha; /* alpha: NULL to take pixels apart */
  uint8_t *out;
  long long in_pitch, alpha_pitch, out_pitch; /* in, out: of the packed image */
  uint8_t *plane[3];
  long long pitch[3];
  int bit[3];
  int width, height, columns; /* columns: blocks beside each other */
  unsigned rest;              /* the bits of alpha */
};

__global__ void __launch_bounds__ (block_w *block_h)
repack (const __grid_constant__ Work work)
{
  const int x = 2 * ((int) blockIdx.x % work.columns * block_w + (int) threadIdx.x);
  const int y = (int) blockIdx.x / work.columns * block_h + (int) threadIdx.y;
  const bool two = x + 1 < work.width;
  unsigned low = 0, high = 0;

  if (x >= work.width || y >= work.height)
    return;
  if (!work.alpha) {
    const unsigned *from = reinterpret_cast<const unsigned *> (work.in + y * work.in_pitch) + x;

    low = from[0];
    high = two ? from[1] : 0;
#pragma unroll
    for (int i = 0; i < 3; i++)
      *reinterpret_cast<unsigned *> (work.plane[i] + y * work.pitch[i] + 2 * x) = (low >> work.bit[i] & 1023)
          | (high >> work.bit[i] & 1023) << 16;
    return;
  }
#pragma unroll
  for (int i = 0; i < 3; i++) {
    const unsigned both = *reinterpret_cast<const unsigned *> (work.plane[i] + y * work.pitch[i] + 2 * x);

    low |= (both & 0xffff) << work.bit[i];
    high |= (both >> 16) << work.bit[i];
  }
  const unsigned *alpha = reinterpret_cast<const unsigned *> (work.alpha + y * work.alpha_pitch) + x;
  unsigned *to = reinterpret_cast<unsigned *> (work.out + y * work.out_pitch) + x;

  to[0] = low | (alpha[0] & work.rest);
  if (two)
    to[1] = high | (alpha[1] & work.rest);
}

} // namespace

CfCode
cf_cuda_repack (CfStream *stream, const CfImage *from, const CfImage *alpha, const CfImage *to, CfStatus *status)
{
  const CfImage *packed = alpha ? to : from, *planes = alpha ? from : to;
  const CfFormatInfo *info = cf_format_info (packed->format), *unpacked = cf_format_info (planes->format);
  Work work = { };
  void *arguments[] = { &work };

  work.in = static_cast<const uint8_t *> (from->plane[0].data);
  work.in_pitch = (long long) from->plane[0].pitch;
  work.out = static_cast<uint8_t *> (to->plane[0].data);
  work.out_pitch = (long long) to->plane[0].pitch;
  work.alpha = alpha ? static_cast<const uint8_t *> (alpha->plane[0].data) : NULL;
  work.alpha_pitch = alpha ? (long long) alpha->plane[0].pitch : 0;
  for (int i = 0; i < 3; i++) {
    work.plane[i] = static_cast<uint8_t *> (planes->plane[unpacked->comp[i].plane].data);
    work.pitch[i] = (long long) planes->plane[unpacked->comp[i].plane].pitch;
    work.bit[i] = info->comp[i].bit;
  }
  work.rest = ((1u << info->comp[3].bits) - 1) << info->comp[3].bit;
  work.width = from->width;
  work.height = from->height;
  work.columns = (from->width + 2 * block_w - 1) / (2 * block_w);
  return cf::launch_kernel ("repack", (const void *) repack, work.columns * ((from->height + block_h - 1) / block_h),
      dim3 (block_w, block_h), arguments, 0, false, static_cast<cudaStream_t> (cf_stream_handle (stream)), status);
}
