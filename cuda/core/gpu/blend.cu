/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/gpu/blend.cu: the blend of core/area.c on the GPU: one launch for all boxes and planes of a frame. A thread has
 * one column of a plane and its components there; strengths come from the shapes, which are an argument of the kernel,
 * and from the map. */
#include "core/area.h"
#include "core/gpu/launch.cuh"

namespace {

using namespace cf;

constexpr int block_w = 32, block_h = 8;

struct Box {
  int16_t x, y, width, height; /* in pixels */
  uint16_t shape, n;
  bool solid;
};

struct Image {
  const uint8_t *in, *filtered;
  uint8_t *out;
  long long in_pitch, filtered_pitch, out_pitch;
};

struct Component {
  uint8_t plane, offset, step, w_sub, h_sub, bit, bits;
};

struct Work {
  int width, height; /* of the frame */
  int columns, rows; /* blocks of the largest box */
  uint8_t n_planes, n_components, bytes, bits, shift;
  bool ellipses, invert, interlaced;
  const uint8_t *map;
  Image plane[CF_MAX_PLANES];
  Component comp[4];
  Box box[CF_AREA_BOXES];
  CfShape shape[CF_AREA_SHAPES];
};

static_assert (sizeof (Work) <= 4096, "the kernel's argument is too large");

__device__ __forceinline__ bool
is_inside (const CfShape &s, int x, int y, bool ellipse)
{
  if (x < s.x || x >= s.x + s.width || y < s.y || y >= s.y + s.height)
    return false;
  if (!ellipse)
    return true;
  const long long w = s.width, h = s.height, dx = 2 * (x - s.x) + 1 - w, dy = 2 * (y - s.y) + 1 - h;

  return dx * dx * (h * h) + dy * dy * (w * w) <= w * w * (h * h);
}

__device__ __forceinline__ int
strength_of_pixel (const Work &work, const Box &box, int x, int y)
{
  int strength = work.map ? work.map[(long long) y * work.width + x] : 0;

  for (int i = 0; i < box.n && strength < 255; i++)
    if (is_inside (work.shape[box.shape + i], x, y, work.ellipses))
      strength = 255;
  return work.invert ? 255 - strength : strength;
}

/* The largest strength of a sample's pixels. */
__device__ int
strength_of_sample (const Work &work, const Box &box, const Component &c, int x, int y)
{
  const int fields = c.h_sub && work.interlaced ? 2 : 1, unit = fields << c.h_sub;
  const int top = y / fields * unit, left = x << c.w_sub;
  const int below = min (top + unit, work.height), right = min (left + (1 << c.w_sub), work.width);
  int strength = 0;

  for (int py = top; py < below; py++)
    for (int px = left; px < right; px++)
      strength = max (strength, strength_of_pixel (work, box, px, py));
  return strength;
}

__device__ __forceinline__ unsigned
mix (unsigned in, unsigned filtered, unsigned strength)
{
  return (in * (255 - strength) + filtered * strength + 127) / 255;
}

template <typename T>
__device__ __forceinline__ void
blend_sample (const Work &work, const uint8_t *in, const uint8_t *filtered, uint8_t *out, unsigned strength)
{
  const T a = *reinterpret_cast<const T *> (in), b = *reinterpret_cast<const T *> (filtered);
  T result = strength ? b : a;

  if (strength != 0 && strength != 255) {
    const unsigned most = (1u << work.bits) - 1;

    result = (T) (mix (min ((unsigned) a >> work.shift, most), min ((unsigned) b >> work.shift, most), strength)
        << work.shift);
  }
  *reinterpret_cast<T *> (out) = result;
}

/* Blends the samples of a pixel of a packed format. */
__device__ __forceinline__ void
blend_word (const Work &work, const uint8_t *in, const uint8_t *filtered, uint8_t *out, unsigned strength)
{
  const unsigned a = *reinterpret_cast<const unsigned *> (in), b = *reinterpret_cast<const unsigned *> (filtered);
  unsigned word = 0;

  for (int i = 0; i < work.n_components; i++) {
    const Component &c = work.comp[i];
    const unsigned most = (1u << c.bits) - 1;

    word |= mix (a >> c.bit & most, b >> c.bit & most, strength) << c.bit;
  }
  *reinterpret_cast<unsigned *> (out) = word;
}

__global__ void __launch_bounds__ (block_w *block_h)
blend (const __grid_constant__ Work work)
{
  const int blocks = work.columns * work.rows, z = blockIdx.x / blocks, block = blockIdx.x % blocks;
  const int p = z % work.n_planes;
  const Box &box = work.box[z / work.n_planes];
  const Image &plane = work.plane[p];
  const int column = block % work.columns * block_w + (int) threadIdx.x;
  const int row = block / work.columns * block_h + (int) threadIdx.y;
  int strength = 0, w_sub = -1;

  for (int i = 0; i < work.n_components; i++) {
    const Component &c = work.comp[i];

    if (c.plane != p || column >= (box.width + (1 << c.w_sub) - 1) >> c.w_sub
        || row >= (box.height + (1 << c.h_sub) - 1) >> c.h_sub)
      continue;
    const int x = (box.x >> c.w_sub) + column, y = (box.y >> c.h_sub) + row;
    const long long at = ((long long) x * c.step + c.offset) * work.bytes;
    const uint8_t *in = plane.in + y * plane.in_pitch + at;
    const uint8_t *filtered = plane.filtered + y * plane.filtered_pitch + at;
    uint8_t *out = plane.out + y * plane.out_pitch + at;

    if (box.solid)
      strength = 255;
    else if (w_sub != c.w_sub)
      strength = strength_of_sample (work, box, c, x, y);
    w_sub = c.w_sub;
    if (work.bytes == 4) { /* all components at once */
      blend_word (work, in, filtered, out, (unsigned) strength);
      break;
    }
    if (work.bytes == 1)
      blend_sample<uint8_t> (work, in, filtered, out, (unsigned) strength);
    else
      blend_sample<uint16_t> (work, in, filtered, out, (unsigned) strength);
  }
}

void
fill_work (Work *work, const CfArea *area, const void *map, const CfImage *in, const CfImage *filtered,
    const CfImage *out)
{
  const CfFormatInfo *info = cf_format_info (area->format);
  int width = 1, height = 1;

  *work = Work ();
  work->width = area->width;
  work->height = area->height;
  work->n_planes = info->n_planes;
  work->n_components = info->n_components;
  work->bytes = info->bytes;
  work->bits = info->bits;
  work->shift = info->shift;
  work->ellipses = area->ellipses;
  work->invert = area->invert;
  work->interlaced = area->interlaced;
  work->map = static_cast<const uint8_t *> (map);
  for (int p = 0; p < info->n_planes; p++)
    work->plane[p] = { static_cast<const uint8_t *> (in->plane[p].data),
      static_cast<const uint8_t *> (filtered->plane[p].data), static_cast<uint8_t *> (out->plane[p].data),
      (long long) in->plane[p].pitch, (long long) filtered->plane[p].pitch, (long long) out->plane[p].pitch };
  for (int i = 0; i < info->n_components; i++) {
    const CfComponent &c = info->comp[i];

    work->comp[i] = { c.plane, c.offset, c.step, c.w_sub, c.h_sub, c.bit, c.bits };
  }
  for (unsigned i = 0; i < area->n_boxes; i++) {
    const CfBox &b = area->box[i];

    work->box[i] = { (int16_t) b.write.x, (int16_t) b.write.y, (int16_t) b.write.width, (int16_t) b.write.height,
      (uint16_t) b.shape, (uint16_t) b.n, b.solid };
    width = b.write.width > width ? b.write.width : width;
    height = b.write.height > height ? b.write.height : height;
  }
  memcpy (work->shape, area->shape, area->n_shapes * sizeof *area->shape);
  work->columns = (width + block_w - 1) / block_w;
  work->rows = (height + block_h - 1) / block_h;
}

} // namespace

CfCode
cf_cuda_blend (CfStream *stream, const CfArea *area, const void *map, const CfImage *in, const CfImage *filtered,
    const CfImage *out, CfStatus *status)
{
  Work work;
  void *arguments[] = { &work };

  fill_work (&work, area, map, in, filtered, out);
  return launch_kernel ("blend", (const void *) blend, work.columns * work.rows * (int) area->n_boxes * work.n_planes,
      dim3 (block_w, block_h), arguments, 0, false, static_cast<cudaStream_t> (cf_stream_handle (stream)), status);
}
