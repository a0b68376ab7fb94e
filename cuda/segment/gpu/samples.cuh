/* SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 the gst-cuda-filters authors
 *
 * segment/gpu/samples.cuh: reads squares and rows of 8-bit pixels by words that hold several samples. Most of the
 * samples that the segmentation adds up lie in cells of 2 x 2 or 4 x 4 such pixels. Planes that are read by words
 * are smaller than 4 GB (sg_layout_of in plan.cu), for 32-bit offsets to suffice. */
#ifndef CF_SEGMENT_GPU_SAMPLES_CUH
#define CF_SEGMENT_GPU_SAMPLES_CUH

#include "internal.cuh"

namespace cf {

/* Returns BYTES bytes at p, which must be aligned to BYTES. */
template<int BYTES> __device__ __forceinline__ unsigned
sg_load_bytes (const uint8_t *p)
{
  return BYTES == 4 ? *(const unsigned *) p : BYTES == 2 ? *(const uint16_t *) p : *p;
}

/* Returns how many samples of each chroma component belong to a square of n pixels. */
__device__ __forceinline__ unsigned
sg_square_chroma (SgLayout layout, unsigned n)
{
  return layout == SG_PACKED || layout == SG_GRAY ? n : n / 4;
}

template<int SIZE> __device__ __forceinline__ void
sg_sum_packed (const SgWork &work, int x, int y, unsigned (&sum)[3])
{
  const unsigned pitch = (unsigned) work.component[0].in_pitch, at = (unsigned) y * pitch + 4 * (unsigned) x;
  unsigned even = 0, odd = 0; /* sums of bytes 0 and 2, of bytes 1 and 3 */

#pragma unroll
  for (unsigned j = 0; j < SIZE; j++)
#pragma unroll
    for (int i = 0; i < SIZE; i++) {
      const unsigned word = sg_load_bytes<4> (work.words + (at + j * pitch) + 4 * i);

      even += word & 0xff00ffu;
      odd += word >> 8 & 0xff00ffu;
    }
#pragma unroll
  for (int k = 0; k < 3; k++) {
    const unsigned byte = (unsigned) (work.component[k].in - work.words);

    sum[k] = (byte & 1 ? odd : even) >> 8 * (byte & 2) & 0xffffu;
  }
}

template<int SIZE> __device__ __forceinline__ void
sg_sum_chroma (const SgWork &work, SgLayout layout, int x, int y, unsigned (&sum)[3])
{
  const SgComponent &u = work.component[1], &v = work.component[2];
  const unsigned across = (unsigned) x, down = (unsigned) y / 2, pitch = (unsigned) u.in_pitch;
  const unsigned v_pitch = (unsigned) v.in_pitch;
  const bool swapped = v.in < u.in;

  sum[1] = sum[2] = 0;
#pragma unroll
  for (unsigned j = 0; j < SIZE / 2; j++)
    if (layout == SG_PLANAR_420) {
      sum[1] = __dp4a (sg_load_bytes<SIZE / 2> (u.in + ((down + j) * pitch + across / 2)), 0x01010101u, sum[1]);
      sum[2] = __dp4a (sg_load_bytes<SIZE / 2> (v.in + ((down + j) * v_pitch + across / 2)), 0x01010101u, sum[2]);
    } else {
      const unsigned word = sg_load_bytes<SIZE> ((swapped ? v.in : u.in) + ((down + j) * pitch + across));

      sum[1] = __dp4a (word, swapped ? 0x01000100u : 0x00010001u, sum[1]);
      sum[2] = __dp4a (word, swapped ? 0x00010001u : 0x01000100u, sum[2]);
    }
}

/* Sets `sum` to the sums of the three components over SIZE x SIZE pixels (SIZE is 2 or 4) from (x, y), both
 * multiples of SIZE. `layout` is work.layout and not SG_ANY. */
template<int SIZE> __device__ __forceinline__ void
sg_sum_square (const SgWork &work, SgLayout layout, int x, int y, unsigned (&sum)[3])
{
  const unsigned pitch = (unsigned) work.component[0].in_pitch, at = (unsigned) y * pitch + (unsigned) x;

  if (layout == SG_PACKED) {
    sg_sum_packed<SIZE> (work, x, y, sum);
    return;
  }
  sum[0] = 0;
#pragma unroll
  for (unsigned j = 0; j < SIZE; j++)
    sum[0] = __dp4a (sg_load_bytes<SIZE> (work.component[0].in + (at + j * pitch)), 0x01010101u, sum[0]);
  if (layout == SG_GRAY)
    sum[1] = sum[2] = 0;
  else
    sg_sum_chroma<SIZE> (work, layout, x, y, sum);
}

/* Loads the samples of SIZE pixels of a row (SIZE is 2 or 4) from (x, y), x a multiple of SIZE. The bytes of word[i]
 * are the components of pixel i, the first one in the lowest byte. */
template<int SIZE> __device__ __forceinline__ void
sg_load_row (const SgWork &work, int x, int y, unsigned (&word)[SIZE])
{
  const SgComponent *c = work.component;

  const unsigned across = (unsigned) x, down = (unsigned) y, pitch = (unsigned) c[1].in_pitch;

  if (work.layout == SG_PACKED) {
    const uint8_t *at = work.words + (down * (unsigned) c[0].in_pitch + 4 * across);
    const unsigned order = (unsigned) ((c[0].in - work.words) | (c[1].in - work.words) << 4
        | (c[2].in - work.words) << 8 | 0x4000);

#pragma unroll
    for (int i = 0; i < SIZE; i++)
      word[i] = __byte_perm (sg_load_bytes<4> (at + 4 * i), 0, order);
    return;
  }
  const unsigned luma = sg_load_bytes<SIZE> (c[0].in + (down * (unsigned) c[0].in_pitch + across));
  unsigned u = 0, v = 0, step = 1;

  if (work.layout == SG_PLANAR_420) {
    u = sg_load_bytes<SIZE / 2> (c[1].in + (down / 2 * pitch + across / 2));
    v = sg_load_bytes<SIZE / 2> (c[2].in + (down / 2 * (unsigned) c[2].in_pitch + across / 2));
  } else if (work.layout == SG_SEMI_420) {
    const bool swapped = c[2].in < c[1].in;
    const unsigned both = sg_load_bytes<SIZE> ((swapped ? c[2].in : c[1].in) + (down / 2 * pitch + across));

    u = swapped ? both >> 8 : both;
    v = swapped ? both : both >> 8;
    step = 2;
  }
#pragma unroll
  for (unsigned i = 0; i < SIZE; i++)
    word[i] = (luma >> 8 * i & 255) | (u >> 8 * step * (i / 2) & 255) << 8 | (v >> 8 * step * (i / 2) & 255) << 16;
}

} // namespace cf

#endif
