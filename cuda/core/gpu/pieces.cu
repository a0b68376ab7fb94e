/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * core/gpu/pieces.cu: copies of rectangles of an image (cf_stream_copy_pieces), all of them and all planes in one
 * launch: a copy by the driver for each would take longer than the bytes do. Pinned memory of the host is read and
 * written where it lies. */
#include "core/gpu/launch.cuh"

namespace {

using namespace cf;

constexpr int warps = 8;

struct Piece {
  int16_t x, y, width, height, to_x, to_y; /* in pixels */
};

struct Sides {
  const uint8_t *from;
  uint8_t *to;
  long long from_pitch, to_pitch;
  int columns, rows; /* of `from`; a column is 1 << w_sub pixels */
  int group;         /* bytes of a column */
  int w_sub, h_sub;
};

struct Work {
  int n_planes;
  int chunks; /* blocks of the highest piece in a plane */
  bool interlaced;
  Sides plane[CF_MAX_PLANES];
  Piece piece[CF_PIECES];
};

static_assert (sizeof (Work) <= 4096, "the kernel's argument is too large");

/* Copies `n` bytes beside each other, 16 at once where both sides lie alike, else one by one. All loads of 2 KB come
 * before the stores: a load from the host's memory takes as long as all of them. */
__device__ __forceinline__ void
copy_row (const uint8_t *from, uint8_t *to, int n, int lane)
{
  constexpr int batch = 4;
  const bool alike = (((uintptr_t) from ^ (uintptr_t) to) & 15) == 0;
  const int head = min ((int) (-(intptr_t) to & 15), n), body = (n - head) & ~15, tail = n - head - body;
  const int at = lane < 16 ? lane : head + body + lane - 16; /* of a byte before or behind the body */
  const bool edge = lane < 16 ? lane < head : lane - 16 < tail;
  uint8_t byte = 0;

  if (!alike) {
#pragma unroll 4
    for (int i = lane; i < n; i += 32)
      to[i] = from[i];
    return;
  }
  if (edge)
    byte = from[at];
#pragma unroll 1
  for (int i = head + 16 * lane; i < head + body; i += 512 * batch) {
    uint4 v[batch];

#pragma unroll
    for (int k = 0; k < batch; k++)
      if (i + 512 * k < head + body)
        v[k] = *reinterpret_cast<const uint4 *> (from + i + 512 * k);
#pragma unroll
    for (int k = 0; k < batch; k++)
      if (i + 512 * k < head + body)
        *reinterpret_cast<uint4 *> (to + i + 512 * k) = v[k];
  }
  if (edge)
    to[at] = byte;
}

/* Copies `n` columns from column `x` on of a row; those beyond its ends are the nearest ones. */
__device__ __forceinline__ void
copy_beyond (const Sides &plane, const uint8_t *row, int x, int n, uint8_t *to, int lane)
{
  for (int i = lane; i < n * plane.group; i += 32)
    to[i] = row[min (max (x + i / plane.group, 0), plane.columns - 1) * plane.group + i % plane.group];
}

/* Returns the row that stands for row `y`: where there is none, the nearest one, of the same field. */
__device__ __forceinline__ int
row_for (int y, int rows, bool interlaced)
{
  if (interlaced)
    y = 2 * min (max (y >> 1, 0), (rows - (y & 1) - 1) >> 1) + (y & 1);
  return min (max (y, 0), rows - 1);
}

/* Map: a warp copies a row of a piece in a plane; blocks below the end of a piece have nothing to do. Bound by the link
 * where one side is the host's memory, else by the launch. */
__global__ void __launch_bounds__ (32 * warps)
copy_pieces (const __grid_constant__ Work work)
{
  const int z = (int) blockIdx.x / work.chunks, chunk = (int) blockIdx.x % work.chunks;
  const Sides &plane = work.plane[z % work.n_planes];
  const Piece &piece = work.piece[z / work.n_planes];
  const int y = chunk * warps + (int) threadIdx.x / 32, lane = (int) threadIdx.x & 31;

  if (y >= (piece.height + (1 << plane.h_sub) - 1) >> plane.h_sub)
    return;
  const int x = piece.x >> plane.w_sub, n = (piece.width + (1 << plane.w_sub) - 1) >> plane.w_sub;
  const int row = row_for ((piece.y >> plane.h_sub) + y, plane.rows, work.interlaced);
  const uint8_t *from = plane.from + row * plane.from_pitch;
  uint8_t *to = plane.to + ((piece.to_y >> plane.h_sub) + y) * plane.to_pitch
      + (piece.to_x >> plane.w_sub) * plane.group;

  if (x >= 0 && x + n <= plane.columns)
    copy_row (from + x * plane.group, to, n * plane.group, lane);
  else
    copy_beyond (plane, from, x, n, to, lane);
}

} // namespace

CfCode
cf_cuda_load_pieces (bool *dependent, CfStatus *status)
{
  cudaFuncAttributes attributes = { };
  const CfCode code = cf_cuda_check (cudaFuncGetAttributes (&attributes, (const void *) copy_pieces),
      "loading a kernel", status);

  *dependent = attributes.ptxVersion >= 90; /* what it was compiled for, not the device that runs it */
  return code;
}

CfCode
cf_cuda_copy_pieces (CfStream *stream, CfDirection direction, const CfImage *to, const CfImage *from, bool interlaced,
    const CfPiece *piece, unsigned n, CfStatus *status)
{
  const CfFormatInfo *info = cf_format_info (from->format);
  int height = 1;
  Work work = { };
  void *arguments[] = { &work };

  (void) direction;
  work.n_planes = info->n_planes;
  work.interlaced = interlaced;
  for (int p = 0; p < info->n_planes; p++) {
    Sides &plane = work.plane[p];

    plane.from = static_cast<const uint8_t *> (from->plane[p].data);
    plane.to = static_cast<uint8_t *> (to->plane[p].data);
    plane.from_pitch = (long long) from->plane[p].pitch;
    plane.to_pitch = (long long) to->plane[p].pitch;
    for (int i = 0; i < info->n_components; i++)
      if (info->comp[i].plane == p) {
        plane.w_sub = info->comp[i].w_sub > plane.w_sub ? info->comp[i].w_sub : plane.w_sub;
        plane.h_sub = info->comp[i].h_sub;
      }
    plane.group = (int) cf_plane_row_bytes (from->format, 1 << plane.w_sub, p);
    plane.columns = (int) cf_plane_row_bytes (from->format, from->width, p) / plane.group;
    plane.rows = cf_plane_rows (from->format, from->height, p);
  }
  for (unsigned i = 0; i < n; i++) {
    const CfPiece &c = piece[i];

    work.piece[i] = { (int16_t) c.from.x, (int16_t) c.from.y, (int16_t) c.from.width, (int16_t) c.from.height,
      (int16_t) c.x, (int16_t) c.y };
    height = c.from.height > height ? c.from.height : height;
  }
  work.chunks = (height + warps - 1) / warps;
  return launch_kernel ("copying pieces", (const void *) copy_pieces, work.chunks * work.n_planes * (int) n,
      dim3 (32 * warps), arguments, 0, false, static_cast<cudaStream_t> (cf_stream_handle (stream)), status);
}
