/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/gpu/rest.cuh: the copy of what no box of an area has, by blocks of a kernel that writes the boxes. */
#ifndef CF_CORE_GPU_REST_CUH
#define CF_CORE_GPU_REST_CUH

#include "core/area.h"
#include "core/gpu/launch.cuh"

namespace cf {

/* Bytes of a row, and rows, that a block of 8 warps copies: a warp 4 rows. */
constexpr int rest_w = 512, rest_batch = 4, rest_h = 8 * rest_batch;

struct RestPlane {
  const uint8_t *in;
  uint8_t *out;
  long long in_pitch, out_pitch;
  int row_bytes, rows;
  int group; /* so many bytes have 1 << w_sub pixels */
  uint8_t w_sub, h_sub;
  int first_block, windows; /* of the copy; windows lie side by side */
};

struct Hole {
  int16_t x, y, width, height; /* in pixels */
};

/* A frame, and the boxes of an area. */
struct Rest {
  int n_planes, n_holes;
  int blocks; /* that copy; 0: nothing is copied */
  RestPlane plane[CF_MAX_PLANES];
  Hole hole[CF_AREA_BOXES];
};

inline Hole
hole_of (const CfRect &r)
{
  return { (int16_t) r.x, (int16_t) r.y, (int16_t) r.width, (int16_t) r.height };
}

/* Fills it in. Without `copies` it has no blocks. */
inline void
make_rest (const CfArea *area, const CfImage *in, const CfImage *out, bool copies, Rest *rest)
{
  const CfFormatInfo *info = cf_format_info (area->format);

  *rest = Rest ();
  rest->n_planes = info->n_planes;
  rest->n_holes = (int) area->n_boxes;
  for (int i = 0; i < info->n_components; i++) {
    const CfComponent &c = info->comp[i];
    RestPlane &plane = rest->plane[c.plane];

    plane.w_sub = c.w_sub > plane.w_sub ? c.w_sub : plane.w_sub;
    plane.h_sub = c.h_sub;
  }
  for (int p = 0; p < info->n_planes; p++) {
    RestPlane &plane = rest->plane[p];

    plane.in = static_cast<const uint8_t *> (in->plane[p].data);
    plane.out = static_cast<uint8_t *> (out->plane[p].data);
    plane.in_pitch = (long long) in->plane[p].pitch;
    plane.out_pitch = (long long) out->plane[p].pitch;
    plane.group = (int) cf_plane_row_bytes (info->format, 1 << plane.w_sub, p);
    plane.row_bytes = (int) cf_plane_row_bytes (info->format, area->width, p);
    plane.rows = cf_plane_rows (info->format, area->height, p);
    plane.windows = (plane.row_bytes + (int) ((uintptr_t) plane.out % 16) + rest_w - 1) / rest_w;
    plane.first_block = rest->blocks;
    if (copies)
      rest->blocks += plane.windows * ((plane.rows + rest_h - 1) / rest_h);
  }
  for (unsigned i = 0; i < area->n_boxes; i++) {
    rest->hole[i] = hole_of (area->box[i].full.width > 0 ? area->box[i].full : area->box[i].write);
  }
}

#ifdef __CUDACC__

/* The bytes of a plane whose samples have pixels in a box. */
struct Part {
  int left, right, top, below;
};

__host__ __device__ __forceinline__ Part
part_of (const RestPlane &plane, const Hole &box)
{
  return Part { (box.x >> plane.w_sub) * plane.group, (((box.x + box.width - 1) >> plane.w_sub) + 1) * plane.group,
    box.y >> plane.h_sub, ((box.y + box.height - 1) >> plane.h_sub) + 1 };
}

/* Copies the x-th window of the y-th 32 rows of a part of a plane, but not what lies in the boxes of `but`, a bit each.
 * `wait`: waits (griddep_wait ()) before it reads.
 * Windows begin where the address of the output is a multiple of 16, up to 15 bytes before the part. A lane has 16
 * bytes of each row of its warp, and loads all of them before it stores the first; beyond the part it reads what lies
 * there, but not behind the plane. Where rows do not lie alike, all goes byte by byte. */
__device__ __forceinline__ void
copy_window (const Rest &rest, const RestPlane &plane, const uint8_t *from, long long from_pitch, const Part &part,
    int x, int y, int warp, int lane, unsigned long long but, bool wait)
{
  const int first = part.top + y * rest_h + warp;
  const int at = part.left - (int) ((uintptr_t) (plane.out + part.left) & 15) + x * rest_w + 16 * lane;
  const bool aligned = plane.out_pitch % 16 == 0, alike = aligned && ((from_pitch | (from - plane.out)) & 15) == 0;
  const int whole = !alike ? 0 : at + 16 <= plane.row_bytes ? plane.rows : plane.rows - 1; /* rows in vectors */
  const unsigned within = bytes_within (at, part.left, part.right);
  const uint8_t *in = from + first * from_pitch + at;
  uint8_t *to = plane.out + first * plane.out_pitch + at;
  unsigned mask[rest_batch];
  uint4 v[rest_batch];

#pragma unroll
  for (int i = 0; i < rest_batch; i++)
    mask[i] = first + 8 * i < part.below ? within : 0;
#pragma unroll 1
  for (; but; but &= but - 1) {
    const Part hole = part_of (plane, rest.hole[__ffsll ((long long) but) - 1]);
    const unsigned beside = ~bytes_within (at, hole.left, hole.right);

#pragma unroll
    for (int i = 0; i < rest_batch; i++)
      if (first + 8 * i >= hole.top && first + 8 * i < hole.below)
        mask[i] &= beside;
  }
  if (wait)
    griddep_wait ();
#pragma unroll
  for (int i = 0; i < rest_batch; i++)
    if (mask[i] && first + 8 * i < whole)
      v[i] = __ldcg ((const uint4 *) (in + 8 * i * from_pitch));
#pragma unroll
  for (int i = 0; i < rest_batch; i++)
    if (mask[i] && first + 8 * i >= whole)
      v[i] = load_one_by_one (in + 8 * i * from_pitch, mask[i]);
#pragma unroll
  for (int i = 0; i < rest_batch; i++)
    store_bytes (to + 8 * i * plane.out_pitch, mask[i], aligned, v[i]);
}

/* Copies a block's part of what no box has. It need not wait in a kernel that is queued behind others that filter the
 * frame: it reads what was complete before these began, and writes what they do not touch. */
__device__ __forceinline__ void
copy_rest (const Rest &rest, int block, int warp, int lane, bool wait)
{
  unsigned long long meets = 0;
  int p = 0;

  while (p + 1 < rest.n_planes && block >= rest.plane[p + 1].first_block)
    p++;
  const RestPlane &plane = rest.plane[p];
  const int y = (int) ((unsigned) (block - plane.first_block) / (unsigned) plane.windows);
  const int x = block - plane.first_block - y * plane.windows;

#pragma unroll 1
  for (int i = 0; i < rest.n_holes; i++) {
    const Part part = part_of (plane, rest.hole[i]);

    if (part.left < (x + 1) * rest_w && part.right > x * rest_w - 16 && part.top < (y + 1) * rest_h
        && part.below > y * rest_h)
      meets |= 1ull << i;
  }
  copy_window (rest, plane, plane.in, plane.in_pitch, Part { 0, plane.row_bytes, 0, plane.rows }, x, y, warp, lane,
      meets, wait);
}

#endif /* __CUDACC__ */

} // namespace cf

#endif
