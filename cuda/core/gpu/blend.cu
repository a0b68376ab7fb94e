/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/gpu/blend.cu: the blend of core/area.c on the GPU, and the copy of the rest of the frame: one launch for all
 * boxes and planes of a frame. */
#include "core/area.h"
#include "core/gpu/launch.cuh"

namespace {

using namespace cf;

constexpr int block_w = 32, block_h = 8;
/* Bytes of a row, and rows, that a block copies: a warp 4 rows. */
constexpr int window = 512, batch = 4, window_h = batch * block_h;

struct Box {
  int16_t x, y, width, height; /* in pixels */
  uint16_t shape, n;
  int16_t across; /* blocks side by side in a plane */
  bool solid;
  int first_block;
};

struct Image {
  const uint8_t *in, *filtered;
  uint8_t *out;
  long long in_pitch, filtered_pitch, out_pitch;
  int row_bytes, rows;
  int group, w_sub, h_sub;  /* `group` bytes have 1 << w_sub pixels */
  int first_block, windows; /* of the copy of the rest, side by side */
};

struct Component {
  uint8_t plane, offset, step, w_sub, h_sub, bit, bits;
};

struct Work {
  int width, height; /* of the frame */
  int copies; /* the first blocks copy the rest of the frame */
  int blocks; /* all */
  int n_boxes;
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

/* The bytes of a plane that are in a box. */
struct Part {
  int left, right, top, below;
};

__device__ __forceinline__ Part
part_of (const Image &plane, const Box &box)
{
  const int left = (box.x >> plane.w_sub) * plane.group, top = box.y >> plane.h_sub;

  return Part { left, left + ((box.width + (1 << plane.w_sub) - 1) >> plane.w_sub) * plane.group, top,
    top + ((box.height + (1 << plane.h_sub) - 1) >> plane.h_sub) };
}

/* Copies the x-th window of the y-th 32 rows of a part of a plane, but not what lies in the boxes of `but`, a bit each.
 * Windows begin where the address of the output is a multiple of 16, up to 15 bytes before the part. A lane has 16
 * bytes of each row of its warp, and loads all of them before it stores the first; beyond the part it reads what lies
 * there, but not behind the plane. */
__device__ __forceinline__ void
copy_window (const Work &work, const Image &plane, const uint8_t *from, long long from_pitch, const Part &part, int x,
    int y, unsigned long long but)
{
  const int first = part.top + y * window_h + (int) threadIdx.y;
  unsigned mask[batch];
  uint8_t *to[batch];
  uint4 v[batch];

#pragma unroll
  for (int i = 0; i < batch; i++) {
    const int row = first + i * block_h;
    const long long lead = (uintptr_t) (plane.out + row * plane.out_pitch + part.left) & 15;
    const int at = part.left - (int) lead + x * window + 16 * (int) threadIdx.x;
    const uint8_t *source = from + row * from_pitch + at;
    const bool whole = ((uintptr_t) source & 15) == 0 && (row + 1 < plane.rows || at + 16 <= plane.row_bytes);

    to[i] = plane.out + row * plane.out_pitch + at;
    mask[i] = row < part.below ? bytes_within (at, part.left, part.right) : 0;
    for (unsigned long long rest = but; rest; rest &= rest - 1) {
      const Part hole = part_of (plane, work.box[__ffsll ((long long) rest) - 1]);

      if (row >= hole.top && row < hole.below)
        mask[i] &= ~bytes_within (at, hole.left, hole.right);
    }
    v[i] = load_bytes (source, mask[i], whole);
  }
#pragma unroll
  for (int i = 0; i < batch; i++)
    store_bytes (to[i], mask[i], true, v[i]);
}

/* Copies a block's part of what no box has. It reads what was complete before the filter's kernels began, and writes
 * what they do not touch: it does not wait for them. */
__device__ __forceinline__ void
copy_rest (const Work &work, int block)
{
  unsigned long long meets = 0;
  int p = 0;

  while (p + 1 < work.n_planes && block >= work.plane[p + 1].first_block)
    p++;
  const Image &plane = work.plane[p];
  const int x = (block - plane.first_block) % plane.windows, y = (block - plane.first_block) / plane.windows;

  for (int i = 0; i < work.n_boxes; i++) {
    const Part part = part_of (plane, work.box[i]);

    if (part.left < (x + 1) * window && part.right > x * window - 16 && part.top < (y + 1) * window_h
        && part.below > y * window_h)
      meets |= 1ull << i;
  }
  copy_window (work, plane, plane.in, plane.in_pitch, Part { 0, plane.row_bytes, 0, plane.rows }, x, y, meets);
}

/* Map: the first blocks copy the rest of the frame (copy_rest ()), while the filter's kernels still run. The others
 * wait for these kernels. Each has a part of a box in a plane: a window, where the strength is 255 everywhere; else 32
 * columns of 8 rows, and a thread has one column and its components there. Strengths come from the shapes, an argument
 * of the kernel, and from the map. No byte is read behind its own store. None is stored twice: so a box never shows the
 * input alone, not even meanwhile. */
__global__ void __launch_bounds__ (block_w *block_h)
blend (const __grid_constant__ Work work)
{
  int b = 0;

  if ((int) blockIdx.x < work.copies) {
    copy_rest (work, (int) blockIdx.x);
    return;
  }
  while (b + 1 < work.n_boxes && (int) blockIdx.x >= work.box[b + 1].first_block)
    b++;
  const Box &box = work.box[b];
  const int p = ((int) blockIdx.x - box.first_block) % work.n_planes;
  const int block = ((int) blockIdx.x - box.first_block) / work.n_planes;
  const int x = block % box.across, y = block / box.across;
  const Image &plane = work.plane[p];
  int strength = 0, w_sub = -1;

  griddep_wait ();
  if (box.solid) {
    copy_window (work, plane, plane.filtered, plane.filtered_pitch, part_of (plane, box), x, y, 0);
    return;
  }
  for (int i = 0; i < work.n_components; i++) {
    const Component &c = work.comp[i];
    const int column = x * block_w + (int) threadIdx.x, row = y * block_h + (int) threadIdx.y;

    if (c.plane != p || column >= (box.width + (1 << c.w_sub) - 1) >> c.w_sub
        || row >= (box.height + (1 << c.h_sub) - 1) >> c.h_sub)
      continue;
    const int at_x = (box.x >> c.w_sub) + column, at_y = (box.y >> c.h_sub) + row;
    const long long at = ((long long) at_x * c.step + c.offset) * work.bytes;
    const uint8_t *in = plane.in + at_y * plane.in_pitch + at;
    const uint8_t *filtered = plane.filtered + at_y * plane.filtered_pitch + at;
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
  const CfImage *in = frame->in, *filtered = frame->scratch, *out = frame->out;
  const CfFormatInfo *info = cf_format_info (area->format);
  int bytes = 0; /* of a pixel in a plane, at most */

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
  for (int i = 0; i < info->n_components; i++) {
    const CfComponent &c = info->comp[i];
    Image &plane = work->plane[c.plane];

    work->comp[i] = { c.plane, c.offset, c.step, c.w_sub, c.h_sub, c.bit, c.bits };
    plane.w_sub = c.w_sub > plane.w_sub ? c.w_sub : plane.w_sub;
    plane.h_sub = c.h_sub;
  }
  for (int p = 0; p < info->n_planes; p++) {
    Image &plane = work->plane[p];

    plane.in = static_cast<const uint8_t *> (in->plane[p].data);
    plane.filtered = static_cast<const uint8_t *> (filtered->plane[p].data);
    plane.out = static_cast<uint8_t *> (out->plane[p].data);
    plane.in_pitch = (long long) in->plane[p].pitch;
    plane.filtered_pitch = (long long) filtered->plane[p].pitch;
    plane.out_pitch = (long long) out->plane[p].pitch;
    plane.group = (int) cf_plane_row_bytes (info->format, 1 << plane.w_sub, p);
    bytes = plane.group >> plane.w_sub > bytes ? plane.group >> plane.w_sub : bytes;
    plane.row_bytes = (int) cf_plane_row_bytes (info->format, area->width, p);
    plane.rows = cf_plane_rows (info->format, area->height, p);
    plane.windows = (plane.row_bytes + (plane.out_pitch % 16 ? 15 : (int) ((uintptr_t) plane.out % 16)) + window - 1)
        / window;
    plane.first_block = work->copies;
    if (frame->copies)
      work->copies += plane.windows * ((plane.rows + window_h - 1) / window_h);
  }
  work->blocks = work->copies;
  for (unsigned i = 0; i < area->n_boxes; i++) {
    const CfBox &b = area->box[i];
    const int across = b.solid ? (bytes * (b.write.width + 1) + 15 + window - 1) / window
                               : (b.write.width + block_w - 1) / block_w;
    const int down = (b.write.height + (b.solid ? window_h : block_h) - 1) / (b.solid ? window_h : block_h);

    work->box[i] = { (int16_t) b.write.x, (int16_t) b.write.y, (int16_t) b.write.width, (int16_t) b.write.height,
      (uint16_t) b.shape, (uint16_t) b.n, (int16_t) across, b.solid, work->blocks };
    work->blocks += across * down * work->n_planes;
  }
  work->n_boxes = (int) area->n_boxes;
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
      work.blocks, dim3 (block_w, block_h), arguments, 0, dependent && work.n_boxes > 0,
      static_cast<cudaStream_t> (cf_stream_handle (stream)), status);
}
