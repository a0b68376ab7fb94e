/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/packed_rgb.cuh: pixels of four 8-bit samples of which three are filtered and one is copied: splitting
 * them into planes and assembling them again in registers, and those beside the image. */
#ifndef CF_CONVOLVE_GPU_PACKED_RGB_CUH
#define CF_CONVOLVE_GPU_PACKED_RGB_CUH

#include "byte_tile.cuh"

#include <limits.h>

namespace cf {

/* Selectors (of __byte_perm) that split pixels into planes and assemble them again. */
struct Selectors {
  unsigned two, third; /* from two pixels: the bytes of the planes 0 and 1; those of plane 2 */
  unsigned fourth;     /* from a word of plane 2 and an input pixel: the fourth byte, which is copied */
  unsigned put[2];     /* how pack () assembles the left and the right pixel of a pair */
};

static __device__ __forceinline__ Selectors
selectors_of (const Group &g)
{
  const unsigned o0 = (unsigned) g.plane_offset (0), o1 = (unsigned) g.plane_offset (1),
      o2 = (unsigned) g.plane_offset (2), o3 = (unsigned) g.plane_offset (3);

  return Selectors { o0 | (o0 + 4) << 4 | o1 << 8 | (o1 + 4) << 12, o2 | (o2 + 4) << 4, (o3 + 4) << 4,
    { 1u << 4 * o1 | 4u << 4 * o2 | 5u << 4 * o3, 2u << 4 * o0 | 3u << 4 * o1 | 4u << 4 * o2 | 5u << 4 * o3 } };
}

/* Splits four pixels into a word of each plane. */
static __device__ __forceinline__ void
unpack (const Selectors &p, uint4 w, unsigned &plane0, unsigned &plane1, unsigned &plane2)
{
  const unsigned low = __byte_perm (w.x, w.y, p.two), high = __byte_perm (w.z, w.w, p.two);

  plane0 = __byte_perm (low, high, 0x5410);
  plane1 = __byte_perm (low, high, 0x7632);
  plane2 = __byte_perm (__byte_perm (w.x, w.y, p.third), __byte_perm (w.z, w.w, p.third), 0x5410);
}

/* Returns a pixel outside the image, with a constant border. */
static __device__ __forceinline__ unsigned
outside_pixel (const Work &work, const Group &g)
{
  unsigned pixel = 0;

#pragma unroll
  for (int i = 0; i < 3; i++)
    pixel |= (unsigned) (g.plane_chroma (i) ? work.outside[1] : work.outside[0]) << 8 * g.plane_offset (i);
  return pixel;
}

/* Returns where a tile of such pixels comes from. */
static __device__ __forceinline__ TileSource
packed_source (const Work &work, const Group &g)
{
  return TileSource { g.in, (int) g.in_pitch, 4 * g.width, g.height, 4, work.border, outside_pixel (work, g),
    work.border == CF_BORDER_REPLICATE && g.width % 4 == 0, { 0x3210, 0x3210 } };
}

/* Loads the four pixels from x on of row y (already mapped; -1: outside), mapped by the border. */
static __device__ __noinline__ uint4
load_edge_pixels (const Work &work, int index, int x, int y)
{
  const Group &g = work.group[index];
  const unsigned *row = (const unsigned *) (g.in + (long long) max (y, 0) * g.in_pitch),
      outside = outside_pixel (work, g);
  int at[4];
  unsigned pixel[4];

#pragma unroll
  for (int i = 0; i < 4; i++)
    at[i] = cf_border_map ((CfBorder) work.border, x + i, g.width);
#pragma unroll
  for (int i = 0; i < 4; i++)
    pixel[i] = row[max (at[i], 0)];
#pragma unroll
  for (int i = 0; i < 4; i++)
    pixel[i] = y < 0 || at[i] < 0 ? outside : pixel[i];
  return make_uint4 (pixel[0], pixel[1], pixel[2], pixel[3]);
}

/* Returns four pixels, or four times the outermost pixel if they are beside the image. */
static __device__ __forceinline__ uint4
repeat_pixels (uint4 w, int x, int width)
{
  const unsigned pixel = x < 0 ? w.x : w.w;

  return x < 0 || x >= width ? make_uint4 (pixel, pixel, pixel, pixel) : w;
}

/* Returns two pixels from the words of three planes and the fourth bytes of the input's pixels; side: from the lower
 * (0) or the upper (1) two bytes of the words. */
static __device__ __forceinline__ uint2
pack (const Selectors &p, unsigned plane0, unsigned plane1, unsigned plane2, uint2 input, int side)
{
  const unsigned two = __byte_perm (plane0, plane1, side ? 0x7362 : 0x5140);
  const unsigned low = __byte_perm (plane2, input.x, p.fourth | (side ? 2 : 0)),
      high = __byte_perm (plane2, input.y, p.fourth | (side ? 3 : 1));

  return make_uint2 (__byte_perm (two, low, p.put[0]), __byte_perm (two, high, p.put[1]));
}

/* Returns four pixels; v[p]: a word of plane p. */
static __device__ __forceinline__ uint4
pack_four (const Selectors &s, const unsigned *v, uint4 input)
{
  const uint2 left = pack (s, v[0], v[1], v[2], make_uint2 (input.x, input.y), 0);
  const uint2 right = pack (s, v[0], v[1], v[2], make_uint2 (input.z, input.w), 1);

  return make_uint4 (left.x, left.y, right.x, right.y);
}

/* Stores those of four pixels that are inside the image. */
static __device__ __forceinline__ void
store_pixels (const Group &g, int x, int y, uint4 pixels)
{
  uint8_t *to = g.out + (long long) y * g.out_pitch + 4 * x;

  if (x >= g.width || y >= g.height)
    return;
  if (x + 4 <= g.width) {
    *(uint4 *) to = pixels;
    return;
  }
  ((unsigned *) to)[0] = pixels.x;
  if (x + 1 < g.width)
    ((unsigned *) to)[1] = pixels.y;
  if (x + 2 < g.width)
    ((unsigned *) to)[2] = pixels.z;
}

/* Returns true if all groups have such pixels, at least four in a row, and rows that begin on 16 bytes in the input and
 * on `align` in the output, 8 or 16. */
inline bool
is_packed_rgb (const Work &work, unsigned align)
{
  for (int i = 0; i < work.n; i++) {
    const Group &g = work.group[i];
    int copied = 0;

    for (int k = 0; k < 4; k++)
      copied += g.action[k] == CF_ACTION_COPY;
    if (g.step != 4 || g.planes != 3 || copied != 1 || g.gray || !g.in_vectors || !g.out_words || g.in_pitch > INT_MAX
        || g.out_pitch > INT_MAX || g.width < 4 || (((uintptr_t) g.out | (uintptr_t) g.out_pitch) & (align - 1)) != 0)
      return false;
  }
  return true;
}

} // namespace cf

#endif
