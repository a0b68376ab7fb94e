/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/gpu/blend.cu: the blend of core/area.c on the GPU, and the copy of the rest of the frame: one launch for all
 * boxes and planes of a frame. */
#include "core/gpu/rest.cuh"

namespace {

using namespace cf;

constexpr int block_w = 32, block_h = 8;

/* A box of the area, beside its Hole. */
struct Box {
  uint16_t shape, n;
  int16_t across; /* blocks side by side in a plane */
  bool full; /* the strength is 255 in all of its Hole */
  int first_block;
};

struct Component {
  uint8_t plane, offset, step, w_sub, h_sub, bit, bits;
};

struct Work {
  int width, height; /* of the frame */
  int blocks;        /* the first rest.blocks copy the rest of the frame */
  uint8_t n_components, bytes, bits, shift;
  bool ellipses, invert, interlaced;
  const uint8_t *map;
  const uint8_t *filtered[CF_MAX_PLANES];
  long long filtered_pitch[CF_MAX_PLANES];
  Rest rest;
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

/* Map: the first blocks copy the rest of the frame (copy_rest ()), while the filter's kernels still run. The others
 * wait for these kernels. Each has a part of a box in a plane: a window of what is written of a box that has a
 * CfBox.full; else 32 columns of 8 rows, and a thread has one column and its components there. Strengths come from the
 * shapes, an argument of the kernel, and from the map. No byte is read behind its own store. None is stored twice: so a
 * box never shows the input alone, not even meanwhile. */
__global__ void __launch_bounds__ (block_w *block_h)
blend (const __grid_constant__ Work work)
{
  const Rest &rest = work.rest;
  int b = 0;

  if ((int) blockIdx.x < rest.blocks) {
    copy_rest (rest, (int) blockIdx.x, (int) threadIdx.y, (int) threadIdx.x, false);
    return;
  }
  while (b + 1 < rest.n_holes && (int) blockIdx.x >= work.box[b + 1].first_block)
    b++;
  const Box &box = work.box[b];
  const Hole &hole = rest.hole[b];
  const int p = ((int) blockIdx.x - box.first_block) % rest.n_planes;
  const int block = ((int) blockIdx.x - box.first_block) / rest.n_planes;
  const int x = block % box.across, y = block / box.across;
  const RestPlane &plane = rest.plane[p];
  int strength = 0, w_sub = -1;

  if (box.full) {
    copy_window (rest, plane, work.filtered[p], work.filtered_pitch[p], part_of (plane, hole), x, y,
        (int) threadIdx.y, (int) threadIdx.x, 0, true);
    return;
  }
  griddep_wait ();
  for (int i = 0; i < work.n_components; i++) {
    const Component &c = work.comp[i];
    const int column = x * block_w + (int) threadIdx.x, row = y * block_h + (int) threadIdx.y;

    if (c.plane != p || column >= (hole.width + (1 << c.w_sub) - 1) >> c.w_sub
        || row >= (hole.height + (1 << c.h_sub) - 1) >> c.h_sub)
      continue;
    const int at_x = (hole.x >> c.w_sub) + column, at_y = (hole.y >> c.h_sub) + row;
    const long long at = ((long long) at_x * c.step + c.offset) * work.bytes;
    const uint8_t *in = plane.in + at_y * plane.in_pitch + at;
    const uint8_t *filtered = work.filtered[p] + at_y * work.filtered_pitch[p] + at;
    uint8_t *out = plane.out + at_y * plane.out_pitch + at;

    if (w_sub != c.w_sub)
      strength = strength_of_sample (work, box, c, at_x, at_y);
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
fill_work (Work *work, const CfFrame *frame, const void *map)
{
  const CfArea *area = frame->area;
  const CfFormatInfo *info = cf_format_info (area->format);
  int bytes = 0; /* of a pixel in a plane, at most */

  *work = Work ();
  make_rest (area, frame->in, frame->out, frame->copies, &work->rest);
  work->width = area->width;
  work->height = area->height;
  work->n_components = info->n_components;
  work->bytes = info->bytes;
  work->bits = info->bits;
  work->shift = info->shift;
  work->ellipses = area->ellipses;
  work->invert = area->invert;
  work->interlaced = area->interlaced;
  work->map = static_cast<const uint8_t *> (map);
  for (int i = 0; i < info->n_components; i++) {
    const CfComponent &c = info->comp[i];

    work->comp[i] = { c.plane, c.offset, c.step, c.w_sub, c.h_sub, c.bit, c.bits };
  }
  for (int p = 0; p < info->n_planes; p++) {
    const RestPlane &plane = work->rest.plane[p];

    work->filtered[p] = static_cast<const uint8_t *> (frame->scratch->plane[p].data);
    work->filtered_pitch[p] = (long long) frame->scratch->plane[p].pitch;
    bytes = plane.group >> plane.w_sub > bytes ? plane.group >> plane.w_sub : bytes;
  }
  work->blocks = work->rest.blocks;
  for (unsigned i = 0; i < area->n_boxes; i++) {
    const CfBox &b = area->box[i];
    const bool full = b.full.width > 0;
    const int across = full ? (bytes * (b.write.width + 1) + 15 + rest_w - 1) / rest_w
                            : (b.write.width + block_w - 1) / block_w;
    const int down = (b.write.height + (full ? rest_h : block_h) - 1) / (full ? rest_h : block_h);

    work->box[i] = { (uint16_t) b.shape, (uint16_t) b.n, (int16_t) across, full, work->blocks };
    work->blocks += across * down * info->n_planes;
  }
  memcpy (work->shape, area->shape, area->n_shapes * sizeof *area->shape);
}

} // namespace

CfCode
cf_cuda_blend (CfStream *stream, const CfFrame *frame, const void *map, bool dependent, CfStatus *status)
{
  Work work;
  void *arguments[] = { &work };

  fill_work (&work, frame, map);
  /* without a box no block would wait */
  return launch_kernel ("blend", (const void *) blend,
      work.blocks, dim3 (block_w, block_h), arguments, 0, dependent && work.rest.n_holes > 0,
      static_cast<cudaStream_t> (cf_stream_handle (stream)), status);
}
