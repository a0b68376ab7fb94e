/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * convolve/gpu/store.cuh: stores filtered samples to the output image, two whole pixels at a time where
 * the alignment permits it. */
#ifndef CF_CONVOLVE_GPU_STORE_CUH
#define CF_CONVOLVE_GPU_STORE_CUH

#include "internal.cuh"

namespace cf {

/* Stores a sample of 1 or 2 bytes. */
static __device__ __forceinline__ void
store_value (const Group &g, uint8_t *p, unsigned value)
{
  if (g.bytes == 1)
    *p = (uint8_t) value;
  else
    *(uint16_t *) p = (uint16_t) (value << g.shift);
}

/* Stores pixel (x, y) sample by sample; v0, v1, v2: the values of the planes 0, 1, 2. Does nothing outside
 * the image. */
static __device__ __noinline__ void
store_pixel (const Work &work, int group, int x, int y, unsigned v0, unsigned v1, unsigned v2)
{
  const Group &g = work.group[group];

  if (x >= g.width || y >= g.height)
    return;
  const uint8_t *from = g.in + y * g.in_pitch + (long long) x * g.step * g.bytes;
  uint8_t *to = g.out + y * g.out_pitch + (long long) x * g.step * g.bytes;

#pragma unroll 1
  for (int i = 0; i < g.step; i++, from += g.bytes, to += g.bytes) {
    const unsigned v = g.plane[i] == 0 ? v0 : g.plane[i] == 1 ? v1 : v2;

    switch (g.action[i]) {
      case CF_ACTION_COPY:
        if (g.bytes == 1)
          *to = *from;
        else
          *(uint16_t *) to = *(const uint16_t *) from;
        break;
      case CF_ACTION_MID:
        store_value (g, to, (unsigned) work.rounding.mid);
        break;
      case CF_ACTION_FILTER:
      case CF_ACTION_GRAY:
        store_value (g, to, v);
        break;
      default:
        break;
    }
  }
  for (int i = 0; g.gray && g.in2[0] && i < 2; i++)
    store_value (g, g.out2[i] + y * g.out_pitch2[i] + x * g.bytes, v0);
}

/* How two pixels are assembled in words; the same for the whole group. */
struct Assembly {
  unsigned pick;      /* selector of a pixel's bytes: 0..2 from the planes, 4..7 from the base pixel */
  unsigned mid;       /* a word of mid-level samples */
  bool words, copies; /* words: the group's out_words; copies: the base pixel is the input's */
};

static __device__ __forceinline__ Assembly
assembly_of (const Work &work, const Group &g)
{
  Assembly a = { 0, 0x01010101u * (unsigned) work.rounding.mid, g.out_words, false };

#pragma unroll
  for (int i = 0; i < 4; i++) {
    a.pick |= (g.action[i] == CF_ACTION_FILTER ? g.plane[i] : g.action[i] == CF_ACTION_GRAY ? 0 : 4 + i) << 4 * i;
    /* with `words`, a copy occurs in step 4 only, and never beside mid-level: set_alignment () */
    a.copies = a.copies || g.action[i] == CF_ACTION_COPY;
  }
  return a;
}

/* Stores the two pixels from x on, sample by sample: at edges and where the output is not aligned. */
static __device__ __noinline__ void
store_pair_samples (const Work &work, int group, int x, int y, unsigned v0, unsigned v1, unsigned v2)
{
#pragma unroll 1
  for (int i = 0; i < 2; i++)
    store_pixel (work, group, x + i, y, v0 >> 8 * i & 0xff, v1 >> 8 * i & 0xff, v2 >> 8 * i & 0xff);
}

/* Stores the four samples of a word from x on, in a plane of step 1. */
static __device__ __noinline__ void
store_samples (const Work &work, int group, int x, int y, unsigned word)
{
#pragma unroll 1
  for (int i = 0; i < 4; i++)
    store_pixel (work, group, x + i, y, word >> 8 * i & 0xff, 0, 0);
}

/* Returns the words of two pixels before the filtered planes are inserted: the input's (of step 4, at
 * `from`), or mid-level. */
static __device__ __forceinline__ uint2
base_of (const Assembly &a, const uint8_t *from)
{
  return a.copies ? *(const uint2 *) from : make_uint2 (a.mid, a.mid);
}

/* Assembles two pixels, a word each; the low two bytes of v[p] are their samples of plane p. */
template<int PLANES> __device__ __forceinline__ void
assemble (const Assembly &a, uint2 base, const unsigned *v, unsigned *pixel)
{
#pragma unroll
  for (int i = 0; i < 2; i++) {
    unsigned c = PLANES > 1 ? __byte_perm (v[0], v[1], i ? 0x51 : 0x40) : v[0] >> 8 * i;

    c = PLANES > 2 ? __byte_perm (c, v[2], i ? 0x0510 : 0x0410) : c;
    pixel[i] = __byte_perm (c, i ? base.y : base.x, a.pick);
  }
}

/* Assembles two pixels and stores them at `to`. */
template<int PLANES> __device__ __forceinline__ void
put_pair (const Assembly &a, int step, uint8_t *to, uint2 base, const unsigned *v)
{
  unsigned pixel[2];

  if (step == 1) {
    *(uint16_t *) to = (uint16_t) v[0];
    return;
  }
  assemble<PLANES> (a, base, v, pixel);
  if (step == 4)
    *(uint2 *) to = make_uint2 (pixel[0], pixel[1]);
  else if (step == 2)
    *(unsigned *) to = __byte_perm (pixel[0], pixel[1], 0x5410);
  else {
    ((uint16_t *) to)[0] = (uint16_t) pixel[0];
    ((uint16_t *) to)[1] = (uint16_t) __byte_perm (pixel[0], pixel[1], 0x42);
    ((uint16_t *) to)[2] = (uint16_t) (pixel[1] >> 8);
  }
}

/* Stores the two 8-bit pixels from x (even) on; v as in assemble (). */
template<int PLANES> __device__ __forceinline__ void
store_pair (const Work &work, const Group &g, const Assembly &a, int x, int y, const unsigned *v)
{
  if (y >= g.height)
    return;
  if (a.words && x + 1 < g.width)
    put_pair<PLANES> (a, g.step, g.out + y * g.out_pitch + x * g.step, base_of (a, g.in + y * g.in_pitch + x * 4), v);
  else
    store_pair_samples (work, g.index, x, y, v[0], v[PLANES > 1 ? 1 : 0], v[PLANES > 2 ? 2 : 0]);
}

/* Makes the block's tile of a group without filtered planes: copies, or writes mid-level. */
static __device__ __forceinline__ void
copy_group (const Work &work, const Group &g, int x0, int y0, int tile_w, int tile_h, int thread, int threads)
{
  const int pixel = g.step * g.bytes, vectors = tile_w * pixel / 16;
  const Assembly a = assembly_of (work, g);

  for (int i = thread; g.copy_vectors && i < vectors * tile_h; i += threads) {
    const int y = y0 + i / vectors, at = x0 * pixel + 16 * (i % vectors);

    if (y < g.height && at + 16 <= g.width * pixel)
      *(uint4 *) (g.out + y * g.out_pitch + at) = *(const uint4 *) (g.in + y * g.in_pitch + at);
    else if (y < g.height)
      for (int b = at; b < g.width * pixel; b++)
        g.out[y * g.out_pitch + b] = g.in[y * g.in_pitch + b];
  }
  for (int i = thread; !g.copy_vectors && i < tile_w / 2 * tile_h; i += threads) {
    const int x = x0 + i % (tile_w / 2) * 2, y = y0 + i / (tile_w / 2);

    if (g.out_words && (g.step > 1 || g.action[0] == CF_ACTION_MID))
      store_pair<1> (work, g, a, x, y, &a.mid);
    else
#pragma unroll 1
      for (int k = 0; k < 2; k++)
        store_pixel (work, g.index, x + k, y, 0, 0, 0);
  }
}

} // namespace cf

#endif
